/** The judgement as `tilewright learn N FILE --json` prints it (docs/learn.md). */
import type { Finding } from "../app/results.ts";

export interface JudgedArray {
  name: string;
  shape?: number[];
  values: (number | string | boolean | null)[];
  /** Of outputs alone. */
  expected?: (number | string | boolean | null)[];
  wrong?: number[];
  unwritten?: number[];
}
export interface JudgedCounter {
  counter: string;
  answer: number | null;
  solution: number | null;
  relation?: "<=" | ">=";
  limit?: number | null;
  why?: string | null;
  default?: boolean;
  kept?: boolean | null;
}
export interface JudgedCase {
  number: number;
  shown: boolean;
  sizes: Record<string, number>;
  types?: Record<string, string>;
  tune?: Record<string, number>;
  set?: Record<string, number>;
  state: "passed" | "failed" | "not tried";
  arrays?: JudgedArray[];
}
export interface Judgement {
  puzzle: number;
  name: string;
  title: string;
  passed: boolean;
  is_starter: boolean;
  cases: number;
  case: number;
  case_is: "shown" | "hidden" | null;
  sizes: string;
  reason: string | null;
  line: number;
  column: number;
  other_line: number;
  message: string | null;
  words: string | null;
  wrong_values: string | null;
  values_right: boolean | null;
  arrays: JudgedArray[];
  counters: JudgedCounter[];
  warnings: string | null;
  printed: string | null;
  next?: number;
  case_list?: JudgedCase[];
  lamps?: { lamp: LampName; state: "on" | "failed" | "unknown"; sentence: string | null }[];
  findings?: Finding[];
}

/** A row of `tilewright learn --json`. */
export interface ListedPuzzle {
  puzzle: number;
  name: string;
  title: string;
  cuda: boolean;
  passed: boolean;
  as_solution?: boolean;
  passed_cuda?: boolean;
  tries: number;
  hints: number;
  hints_given: number;
  solution_shown: boolean;
}

export type LampName = "compiles" | "memory" | "order" | "values" | "cost";
export interface Lamp {
  name: LampName;
  state: "on" | "failed" | "unknown";
}
const lampNames: LampName[] = ["compiles", "memory", "order", "values", "cost"];

/** The lamp of each reason that is no counter; a counter's is the cost. */
const lampOf: Record<string, LampName> = {
  compile: "compiles",
  signature: "compiles",
  word: "compiles",
  launch: "compiles",
  bounds: "memory",
  uninitialised: "memory",
  input: "memory",
  fault: "memory",
  barrier: "order",
  async: "order",
  race: "order",
  endless: "order",
  order: "order",
  values: "values",
};

/** Five lamps: those before the one that failed are on, those after it were not reached. */
export function lampsOf(j: Judgement): Lamp[] {
  if (j.lamps) return j.lamps.map((l) => ({ name: l.lamp, state: l.state }));
  const failed = j.passed ? lampNames.length : lampNames.indexOf(lampOf[j.reason ?? ""] ?? "cost");
  return lampNames.map((name, i) => ({ name, state: i < failed ? "on" : i === failed ? "failed" : "unknown" }));
}

export type CaseMark = { number: number; state: JudgedCase["state"]; shown: boolean | null };

export function caseMarks(j: Judgement): CaseMark[] {
  if (j.case_list) return j.case_list;
  return Array.from({ length: j.cases }, (_, i) => {
    const number = i + 1;
    const state = j.passed || number < j.case ? "passed" : number === j.case ? "failed" : "not tried";
    return { number, state, shown: number === j.case && j.case_is !== null ? j.case_is === "shown" : null };
  });
}

/** The values of the case at hand by name. */
export function sizesOf(j: Judgement): Record<string, number> {
  const listed = j.case_list?.find((c) => c.number === j.case);
  if (listed) return listed.sizes;
  const sizes: Record<string, number> = {};
  for (const [, name, value] of j.sizes.matchAll(/(\w+) = (-?\d+)/g)) sizes[name!] = Number(value);
  return sizes;
}

/** The card of the bench that shows best why the answer fails, or null if a run would show nothing. */
export function cardFor(j: Judgement): { id: string; name: string } | null {
  const failed = lampsOf(j).find((l) => l.state === "failed")?.name;
  if (!failed || failed === "compiles") return null;
  if (j.reason === "race") return { id: "race", name: "Race" };
  if (j.reason === "async" || j.reason?.startsWith("async_")) return { id: "timeline", name: "Timeline" };
  if (j.reason === "bank_conflicts" || j.reason === "global_sectors" || j.reason === "block_sectors") return { id: "banks", name: "Banks" };
  return { id: "step", name: "Step" };
}
