/** The answers of the engine, in the form of the command line's `--json`. Fields that the page does not read are left out. */

export interface Place {
  file: string | null;
  line: number;
  column: number;
  length?: number;
}
export interface Edit {
  line: number;
  column: number;
  insert: string;
  delete?: number;
}
export interface Access extends Place {
  what?: string;
  thread?: number[];
  block?: number[];
  variable?: string;
}
export interface Finding extends Place {
  severity: "error" | "warning" | "note";
  kind: string;
  text: string;
  message?: string;
  accesses: Access[];
  notes: (Place & { text: string })[];
  fix?: Edit[] | null;
  with?: string | null;
}
export interface CheckedKernel {
  file: string;
  kernel: string;
  ok: boolean;
  undecided: string | null;
  not_run: string | null;
  findings: Finding[];
}

export interface Parameter {
  name: string;
  array: boolean;
  const: boolean;
  static: boolean;
  ensured: boolean;
  type: string;
  shape: string[];
  default?: number;
  derived?: string;
}
/** An expression of the text: a name, a number, an operation of two operands, or another. */
export interface Expression {
  line: number;
  column: number;
  /** In bytes. */
  length: number;
  name?: string;
  number?: number;
  op?: string;
  left?: Expression;
  right?: Expression;
}
/** An array in shared memory that the program declares. */
export interface SharedArray {
  name: string;
  line: number;
  column: number;
  extents: Expression[];
  /** True if the program uses it only element by element. */
  by_element: boolean;
  /** The indices of each element that the program names. */
  elements: Expression[][];
}
export interface Kernel {
  kernel: string;
  ensures: boolean;
  thread_level: boolean;
  parameters: Parameter[];
  tune: { name: string; group: number; values: number[] }[];
  types: { name: string; choices: string[] }[];
  shared: SharedArray[];
  /** Constants with a literal value. */
  numbers: { name: string; value: Expression }[];
}
/** A kernel of a PTX program. */
export interface PtxKernel {
  kernel: string;
  called: string;
  /** The block's extents that the kernel asks for; empty: any. */
  block: number[];
  parameters: { name: string; type: string; bytes: number; alignment: number }[];
}

export interface LineCounters {
  file: string;
  line: number;
  warp_instructions: number;
  thread_instructions: number;
  shared_wavefronts?: number;
  shared_wavefronts_ideal?: number;
  global_sectors?: number;
  global_requests?: number;
  [counter: string]: number | string | undefined;
}
export interface Counters {
  warp_instructions: number;
  lines: LineCounters[];
  [counter: string]: unknown;
}
export interface SimFinding {
  kind: string;
  fails: boolean;
  count: number;
  message: string;
  accesses: (Place & { text?: string; block?: number | null; thread?: number | null; variable?: string | null; index?: number[] | null })[];
  steps?: string[];
}
/** A message of the command line. Notes follow their error or warning; without a place they have line 0. */
export interface Message extends Place {
  severity: "error" | "warning" | "note";
  text: string;
  code?: string;
  fix?: Edit[];
}
/** The answer of a run that did not reach its end, for example because of an access outside of an array. */
export interface Fault {
  ok: false;
  status: string;
  messages: Message[];
  /** The access that ended the run is the first one. Absent if the run did not begin. */
  findings?: SimFinding[];
  ended?: string | null;
}
export interface Run {
  kernel: string;
  ok: boolean;
  /** True if the values are those of `ensures`; absent if they were not compared. */
  verified?: boolean;
  messages?: Message[];
  /** The element with the largest error, if values were compared. */
  view?: string;
  at?: number[];
  wrong?: {
    view: string;
    shape: number[];
    wrong: number;
    cells: { at: number[]; got: number | string; want: number | string; written?: boolean }[];
  }[];
  parameters: Record<string, number>;
  tuned: Record<string, number>;
  arrays: Record<string, { type: string; shape: number[] }>;
  findings: SimFinding[];
  ended: string | null;
  counters: Counters;
}

/** `run --despite race --verify`. */
export interface RaceRun extends Omit<Run, "findings"> {
  findings: {
    kind: string;
    message: string;
    accesses: (Place & { what: string; variable: string | null; index: number[] | null; thread: number | null })[];
    steps: string[];
  }[];
  order: string | null;
  order_seed: number;
  in_turn: { array: string; elements: number; differ: number }[];
}

export type Interval = [number, number, number];
export interface Traffic {
  level: "registers" | "shared" | "L2" | "HBM";
  by_thread: number;
  read_by_thread: number;
  written_by_thread: number;
  by_request: number;
  read_by_request: number;
  written_by_request: number;
  read_by_element: number;
  written_by_element: number;
  moved: Interval;
  read: Interval;
  written: Interval;
  compulsory: number;
}
export interface Roof {
  name: string;
  title: string;
  unit: string;
  work: Interval;
  rate: number;
  seconds: Interval;
  share: number;
  flops: number;
}
export interface ExplainedAccess extends Place {
  space: string;
  store: boolean;
  copy: boolean;
  bytes: number;
  requests: number;
  sectors?: number;
  sectors_ideal?: number;
  wavefronts?: number;
  wavefronts_ideal?: number;
  ways: number;
  ways_by_element: number;
}
export interface Explained {
  name: string;
  kernel: string;
  set: Record<string, number>;
  tune: Record<string, number>;
  launches: boolean;
  why_not: string | null;
  grid: number[];
  block: number[];
  blocks: number;
  threads: number;
  shared_bytes: number;
  registers: number;
  resident_blocks: number;
  resident_warps: number;
  occupancy: number;
  limiter: string;
  blocks_by_registers: number;
  blocks_by_shared: number;
  blocks_by_threads: number;
  blocks_by_limit: number;
  waves: number;
  flops: number;
  peak: number;
  traffic: Traffic[];
  roofs: Roof[];
  accesses: ExplainedAccess[];
  bound: string;
  bound_title: string;
  seconds: Interval;
  flops_per_second: Interval;
  verdict: string;
  advice: string;
  notes: string[];
}
export interface Gpu {
  name: string;
  aliases: string;
  target: string;
  multiprocessors: number;
  clock: number;
  f32: number;
  tensor_f16: number;
  memory_bandwidth: number;
  l2_bandwidth: Interval;
  shared_bandwidth: number;
  shared_of_block: number;
  threads_of_block: number;
  l2_bytes: number;
  memory_bytes: number;
}
export interface Explanation {
  status: string;
  messages: { severity?: string; text: string }[];
  gpu: Gpu;
  kernels: Explained[];
}

/** `show --stage layout`: elements in row-major order. */
export interface LayoutTile {
  name: string | null;
  what: string | null;
  kind: "shared" | "registers" | "scalar";
  type: string | null;
  bits: number;
  shape: number[];
  layout: string | null;
  offset?: number;
  form?: string;
  places?: number[];
  held?: number;
  in_register?: number;
  registers?: string[];
  copies?: number;
  threads?: number[];
  numbers?: number[];
}
export interface Layout {
  block: number[];
  shared_bytes: number;
  registers: number;
  tiles: LayoutTile[];
}

/** `show --stage ptx`. Lines without an instruction have no place in the source. */
export interface PtxLine {
  text: string;
  file?: string;
  line?: number;
  column?: number;
  instruction?: string;
  bytes?: number;
}
export interface Ptx {
  registers: number;
  shared_bytes: number;
  lines: PtxLine[];
  instructions: Record<string, number>;
}

/** `show`: the program after each pass. */
export interface Pass {
  name: string;
  summary: string;
  changed: boolean;
  text: string;
  statements: { shown: number; line: number; column: number; added: boolean }[];
}
export interface Passes {
  kernel: string;
  target: string;
  passes: Pass[];
}
