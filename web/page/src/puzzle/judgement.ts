/** The judgement that `tilewright learn N FILE --json` prints (docs/learn.md). */
import type { Blamed } from "./blame.ts";

type Value = number | string | boolean;

export interface JudgedArray {
  name: string;
  type: string;
  shape: number[];
  /** null: the answer did not run, or there are too many to show. */
  values: Value[] | null;
  /** Only outputs have `expected` and the lists of indices `wrong` and `unwritten`. */
  expected?: Value[] | null;
  wrong?: number[];
  unwritten?: number[];
}
export interface Counts {
  answer: number | null;
  solution: number | null;
  limit: number | null;
}
export interface JudgedCounter extends Counts {
  counter: string;
  relation: "<=" | ">=";
  why: string;
  default: boolean;
  beyond: boolean;
  /** here: counts of the case that was counted last; above: of all counted cases. */
  here: Counts;
}
export interface JudgedCase {
  shown: boolean;
  state: "passed" | "failed" | "not tried";
  set: Record<string, number>;
  tune: Record<string, number>;
  type: Record<string, string>;
  arrays: JudgedArray[];
}
export interface Lamp {
  lamp: "compiles" | "memory" | "order" | "values" | "cost";
  state: "on" | "failed" | "not reached";
  says: string | null;
}
export interface Judgement {
  puzzle: number;
  name: string;
  title: string;
  passed: boolean;
  at_solution: boolean;
  is_starter: boolean;
  cases: number;
  /** The case that failed, else the last one; 0: none was tried. */
  case: number;
  case_is: "shown" | "hidden" | null;
  reason: string | null;
  /** True for a race in which all threads write the same value, so that the outcome is the same in any order. */
  same_value: boolean;
  line: number;
  column: number;
  other_line: number;
  code: string;
  /** The accesses of a race or of a copy in progress, the one at `line` first. */
  accesses: Blamed[];
  message: string | null;
  words: string | null;
  wrong_values: string | null;
  values_right: boolean | null;
  lamps: Lamp[];
  case_list: JudgedCase[];
  counters: JudgedCounter[];
  warnings: string | null;
  printed: string | null;
  next?: number;
}

/** A row of `tilewright learn --json`. */
export interface ListedPuzzle {
  puzzle: number;
  name: string;
  title: string;
  cuda: boolean;
  passed: boolean;
  at_solution: boolean;
  passed_in_cuda: boolean;
  tries: number;
  hints: number;
  hints_given: number;
  solution_shown: boolean;
}

/** Returns the values of a case as text: "SIZE = 2, TPB = 3". */
export function sizesText(c: JudgedCase): string {
  return Object.entries({ ...c.set, ...c.tune, ...c.type })
    .map(([name, value]) => `${name} = ${value}`)
    .join(", ");
}

/** Returns the card of the bench that best shows why the answer fails, or null if a run would show nothing. */
export function cardFor(j: Judgement): { id: string; name: string } | null {
  const failed = j.lamps.find((l) => l.state === "failed")?.lamp;
  if (!failed || failed === "compiles" || !j.case || refused.includes(j.code)) return null;
  if (j.reason === "race" && !j.same_value) return { id: "race", name: "Race" };
  if (j.reason === "async" || j.reason?.startsWith("async_")) return { id: "async", name: "Copies" };
  if (["bank_conflicts", "shared_wavefronts", "global_sectors", "block_sectors"].includes(j.reason!)) return { id: "banks", name: "Banks" };
  if (j.reason === "values" && !j.case_list[j.case - 1]!.arrays.some((a) => a.unwritten?.length)) return { id: "why", name: "Why" };
  return { id: "step", name: "Step" };
}
/** Messages of the compiler about programs that cannot run on any device. */
const refused = ["divergent-barrier"];

/** Returns the case with the most threads in a block, if it is not the one that failed: if a block has one warp, no order of warps shows
 * a race. */
export function widerCase(j: Judgement): number | null {
  const size = (c: JudgedCase) => Object.values(c.tune).reduce((product, v) => product * v, 1);
  const failed = j.case_list[j.case - 1];
  if (j.reason !== "race" || j.same_value || !failed) return null;
  const widest = j.case_list.reduce((best, c) => (size(c) > size(best) ? c : best));
  return size(widest) > size(failed) ? j.case_list.indexOf(widest) + 1 : null;
}
