/** The questions to the engine, as words of the command line. This file has no state, because the build of the page also answers the
 * opening's questions (content.ts). */
import type { PtxLaunch } from "./ptx.ts";
import type { Kernel, Parameter } from "./results.ts";

/** A value that the reader gives for a parameter other than an array, in the form of `--set`. */
export type Setting = number | string;
export type Settings = Record<string, Setting>;

export interface Configuration {
  /** The file's name without folders. */
  file: string;
  kernel: Kernel | null;
  /** Values of all parameters that are not arrays. */
  sizes: Settings;
  tune: Record<string, number>;
  types: Record<string, string>;
  seed: number;
  /** The values of inputs; random numbers by default. */
  fill?: "rand" | "iota";
  /** The files of arrays that a run reads, by the names of their parameters. */
  inputs?: Record<string, string>;
  /** The landing of asynchronous copies, in the form of `run --copies`; absent: early. */
  landing?: string;
  block: number[];
  device: string;
  /** The size at which the model counts. */
  scale: number;
  /** Runs the kernel although the static check finds races, so that the reader can watch them. */
  despite?: boolean;
}

/** The file of a run's trace. */
export const traceFile = "block.trace";

/** Number of warp instructions after which a run counts as endless: the limit of `explain`. */
const stepLimit = "50000000";

const isInteger = (type: string) => /^[iu](8|16|32|64)$/.test(type);
const isCount = (name: string) => /^(batch|batches|heads)$/.test(name);

/** True if the launch computes the parameter. */
const isDerived = (p: Parameter) => p.derived !== undefined;

export function sizeNames(kernel: Kernel | null): string[] {
  return (kernel?.parameters ?? [])
    .filter((p) => !p.array && !isDerived(p) && isInteger(p.type) && p.default === undefined)
    .map((p) => p.name);
}

/** Returns the parameters of a kernel that are values, but not sizes. */
export function valueParameters(kernel: Kernel | null): Parameter[] {
  return (kernel?.parameters ?? []).filter((p) => !p.array && !isDerived(p) && (!isInteger(p.type) || p.default !== undefined));
}

/** Returns the given value of such a parameter; by default its own, true, or 1. */
export function valueOf(sizes: Settings, { name, type, default: own }: Parameter): string {
  const given = sizes[name] ?? own;
  if (type === "bool") return given === 0 || given === "false" ? "false" : "true";
  return given === undefined || given === "" || Number.isNaN(Number(given)) ? String(own ?? 1) : String(given);
}

function setValues(c: Configuration): string[] {
  return valueParameters(c.kernel).flatMap((p) => ["--set", `${p.name}=${valueOf(c.sizes, p)}`]);
}

export function sizeOf(sizes: Settings, name: string): number {
  const given = sizes[name];
  return typeof given === "number" && Number.isSafeInteger(given) && given >= 0 ? given : isCount(name) ? 2 : 64;
}

/** The key, among chosen types, of a type for every type variable that allows it and has no entry of its own, as in `--type f16`. */
export const everyType = "*";

/** Returns the type chosen for a type variable; undefined: none. */
export function chosenType(types: Record<string, string>, { name, choices }: Kernel["types"][number]): string | undefined {
  const every = types[everyType];
  return types[name] ?? (every !== undefined && choices.includes(every) ? every : undefined);
}

/** Returns the tuned name whose values the roofline's points have: the first with several values, else the first. */
export function sweepName(kernel: Kernel | null): string | null {
  return (kernel?.tune.find((t) => new Set(t.values).size > 1) ?? kernel?.tune[0])?.name ?? null;
}

/** Returns FILE:KERNEL, with the options that choose one configuration; without the name `less`. */
function target(c: Configuration, less: string | null = null): string[] {
  const args = [c.kernel ? `${c.file}:${c.kernel.kernel}` : c.file];
  for (const [name, value] of Object.entries(c.tune))
    if (name !== less && c.kernel?.tune.some((t) => t.name === name)) args.push("--tune", `${name}=${value}`);
  for (const t of c.kernel?.types ?? []) {
    const type = chosenType(c.types, t);
    if (type !== undefined) args.push("--type", `${t.name}=${type}`);
  }
  return args;
}

export const kernelsArgs = (file: string) => ["show", file, "--kernels", "--json"];
export const checkArgs = (file: string) => ["check", file, "--no-run", "--no-sim", "--json"];

/** Returns options with the sizes of a run. The code shows whether they are multiples of the tile. */
function setSizes(c: Configuration): string[] {
  return [...sizeNames(c.kernel).flatMap((n) => ["--set", `${n}=${sizeOf(c.sizes, n)}`]), ...setValues(c)];
}

/** Returns options with the files of arrays that a run reads. */
function filesIn(c: Configuration): string[] {
  return Object.entries(c.inputs ?? {}).flatMap(([name, path]) => ["--in", `${name}=${path}`]);
}

export interface PuzzleCase {
  puzzle: number;
  /** Its number among the puzzle's cases, from 1. */
  number: number;
}
/** Values of parameters, tuned names and type variables. */
export interface CaseSizes {
  sizes: Settings;
  tune: Record<string, number>;
  types: Record<string, string>;
}

/** Asks for the arrays of a puzzle's case at these sizes, in a folder of its own. */
export function caseArgs({ puzzle, number }: PuzzleCase, { sizes, tune, types }: CaseSizes): string[] {
  const args = ["learn", String(puzzle), "--inputs", `case${puzzle}.${number}`, "--case", String(number)];
  return [...args, ...Object.entries({ ...sizes, ...tune, ...types }).flatMap(([n, v]) => ["--set", `${n}=${v}`]), "--json"];
}

/** Asks for the program after each pass, the layouts of its tiles, or its PTX, for a GPU's target such as sm_90. */
export function showArgs(c: Configuration, stage: "tile" | "layout" | "ptx", gpu: string): string[] {
  return ["show", ...target(c), "--stage", stage, "--device", gpu, ...setSizes(c), "--json"];
}

/** Asks for a run in the simulator with all checks, counters and the trace of the selected block; compares its values with `ensures`. */
export function runArgs(c: Configuration): string[] {
  const args = [
    "run",
    ...target(c),
    "--device",
    "sim",
    "--fill",
    c.fill ?? "rand",
    "--seed",
    String(c.seed),
    ...filesIn(c),
    ...setSizes(c),
  ];
  if (c.landing && c.landing !== "early") args.push("--copies", c.landing);
  if (c.despite) args.push("--despite", "race");
  return [
    ...args,
    "--counters",
    ...(c.kernel?.ensures ? ["--verify"] : []),
    "--step-limit",
    stepLimit,
    "--trace",
    traceFile,
    "--trace-block",
    c.block.join(","),
    "--json",
  ];
}

/** Asks for the way of an element's value, such as "c[0][1]", in a run of runArgs or ptxRunArgs without its block. */
export function whyArgs(run: string[], element: string): string[] {
  return [...run.slice(0, run.indexOf("--counters")), "--why", element, "--json"];
}

function ptxTarget(file: string, launch: PtxLaunch): string[] {
  const args = [file, "--kernel", launch.kernel, "--grid", launch.grid, "--block", launch.block];
  for (const a of launch.args) args.push("--arg", a);
  return args;
}

/** Asks for the run of a PTX program, with the reader's launch. */
export function ptxRunArgs(file: string, launch: PtxLaunch, c: Pick<Configuration, "seed" | "block">): string[] {
  const args = ["run", ...ptxTarget(file, launch), "--seed", String(c.seed), "--counters"];
  return [...args, "--trace", traceFile, "--trace-block", c.block.join(","), "--json"];
}

export function ptxExplainArgs(file: string, launch: PtxLaunch, device: string): string[] {
  return ["explain", ...ptxTarget(file, launch), "--device", device, "--json"];
}

/** An order of warps: in turn, drawn with a seed, chosen, or the worst of several. */
export type Schedule = { kind: "turn" } | { kind: "seed"; seed: number } | { kind: "order"; order: string } | { kind: "worst" };

/** Asks for a run of a racy kernel in that order, compared with `ensures`. `fill`: values of arrays without a file. */
export function raceArgs(c: Configuration, s: Schedule, fill: string): string[] {
  const args = ["run", ...target(c), "--device", "sim", "--fill", fill, ...filesIn(c), "--despite", "race", "--verify", ...setSizes(c)];
  if (s.kind === "seed") args.push("--seed", String(s.seed));
  if (s.kind === "worst") args.push("--order", "worst");
  if (s.kind === "order") args.push("--order", s.order);
  return [...args, "--trace", traceFile, "--trace-block", c.block.join(","), "--json"];
}

export function explainArgs(c: Configuration, less: string | null = null): string[] {
  const args = ["explain", ...target(c, less), "--device", c.device];
  for (const n of sizeNames(c.kernel)) args.push("--set", `${n}=${isCount(n) ? sizeOf(c.sizes, n) : c.scale}`);
  return [...args, ...setValues(c), "--json"];
}

/** Asks for an explanation of each value of the swept name, and of twice the largest, which often cannot launch. Null: the kernel has no
 * tuned name. */
export function sweepArgs(c: Configuration): string[] | null {
  const name = sweepName(c.kernel);
  if (!name) return null;
  const listed = c.kernel!.tune.find((t) => t.name === name)!.values;
  const values = [...new Set([...listed, 2 * Math.max(...listed)])].filter((v) => Number.isInteger(v)).sort((x, y) => x - y);
  return [...explainArgs(c, name), "--sweep", `${name}=${values.join(",")}`];
}

/** The size of the ladder's kernels, that of docs/performance.md; batches have one. */
export const ladderSize = 4096;
export function ladderArgs(file: string, kernel: Kernel, type: string, device: string): string[] {
  const variable = kernel.types.find((t) => t.choices.includes(type));
  const sizes = sizeNames(kernel).flatMap((n) => ["--set", `${n}=${isCount(n) ? 1 : ladderSize}`]);
  return [
    "explain",
    `${file}:${kernel.kernel}`,
    "--device",
    device,
    ...(variable ? ["--type", `${variable.name}=${type}`] : []),
    ...sizes,
    "--json",
  ];
}

/** Returns the command that explains a product by another kernel, to compare its traffic. */
export function productArgs(file: string, device: string, scale: number): string[] {
  return ["explain", file, "--device", device, ...["m", "n", "k"].flatMap((n) => ["--set", `${n}=${scale}`]), "--json"];
}
