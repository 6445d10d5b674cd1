/** The way of a value from `run --why`, grouped by the turns of the loop, with elements as ranges. */
import { elementAt, elementBytes, type Trace } from "$engine/trace.ts";
import type { StepIndex } from "./step_index.ts";

/** A step in the JSON of `--why`. */
export interface WhyStep {
  kind: "read" | "write" | "update" | "compute" | "mma" | "release";
  time: number;
  warp: number;
  lanes: number;
  line: number;
  column: number;
  text: string | null;
  event: number | null;
  products: number;
  elements: string[];
  races: number | null;
  /** The writes of other blocks that the step reads: the way continues there. */
  writers: Writer[];
}
export interface Writer {
  block: number[];
  warp: number;
  lane: number;
  line: number;
  text: string | null;
  /** Number among the block's writes and updates of global memory. */
  write: number;
}
export interface Why {
  array: string;
  index: number[];
  block: number[];
  thread: number;
  products: number;
  global_reads: number;
  global_writes: number;
  shared_reads: number;
  shared_writes: number;
  complete: boolean;
  path: WhyStep[];
}

export interface Element {
  name: string;
  index: number[];
}
/** The name for the compiler's own memory, which has none. */
export const SCRATCH = "scratch";
export function parseElement(text: string): Element {
  const byte = /^shared memory, byte (\d+)$/.exec(text);
  if (byte) return { name: SCRATCH, index: [Number(byte[1])] };
  const name = /^[^[]*/.exec(text)![0];
  return { name, index: [...text.matchAll(/\[(-?\d+)\]/g)].map((m) => Number(m[1])) };
}

/** Returns elements of one variable as a box of ranges, "a[0][0…5]", if they fill one; else the first few. */
export function ranges(elements: string[]): string {
  const byName = new Map<string, Element[]>();
  for (const e of new Set(elements)) {
    const parsed = parseElement(e);
    byName.set(parsed.name, [...(byName.get(parsed.name) ?? []), parsed]);
  }
  return [...byName].map(([name, list]) => boxOf(name, list)).join(", ");
}

function boxOf(name: string, list: Element[]): string {
  const rank = list[0]!.index.length;
  const low = list[0]!.index.slice();
  const high = list[0]!.index.slice();
  for (const e of list)
    for (let d = 0; d < rank; d++) {
      low[d] = Math.min(low[d]!, e.index[d]!);
      high[d] = Math.max(high[d]!, e.index[d]!);
    }
  const size = low.reduce((p, l, d) => p * (high[d]! - l + 1), 1);
  if (size === list.length) return name + low.map((l, d) => (l === high[d] ? `[${l}]` : `[${l}…${high[d]}]`)).join("");
  const first = list.slice(0, 3).map((e) => `${name}[${e.index.join("][")}]`);
  return `${first.join(", ")}${list.length > 3 ? ` and ${list.length - 3} more` : ""}`;
}

/** Returns the event of the traced block's n-th write or update of global memory; null: the trace does not have it. */
export function writeEvent(trace: Trace, n: number): number | null {
  for (let e = 0; e < trace.count; e++)
    if ((trace.kind[e] === 1 || trace.kind[e] === 2) && trace.siteOf(e).space === "global" && n-- === 0) return e;
  return null;
}

/** A part of a turn's way: elements read from an array, written to and read from shared memory, or multiplied. */
export interface WhyNode {
  kind: "global" | "into" | "shared" | "products" | "store";
  text: string;
  /** The name of the variable, for its colour. */
  variable: string | null;
  event: number | null;
  line: number;
  races: number | null;
}
export interface WhyTurn {
  /** null: before or after the loop, or there is none. */
  turn: number | null;
  steps: WhyStep[];
  nodes: WhyNode[];
  /** The number of barriers that the reading warp left between the writes and the reads. */
  barriers: number;
}

export interface WhyPath {
  turns: WhyTurn[];
  store: WhyStep | null;
}

/** Groups the steps. `index`: of the trace of the same block and run; null: the steps are not grouped. */
export function pathOf(why: Why, index: StepIndex | null, isShared: (name: string) => boolean): WhyPath {
  const arrays = index?.trace.head.arrays.map((a) => a.name) ?? [];
  const shared = index?.trace.head.shared.map((v) => v.name) ?? [];
  const order = (n: WhyNode) => (n.variable === null ? 0 : Math.max(arrays.indexOf(n.variable), shared.indexOf(n.variable)));
  const groups = new Map<number, WhyTurn>();
  const last = why.path[why.path.length - 1];
  const stores = last && (last.kind === "write" || last.kind === "update") && last.elements.some((e) => parseElement(e).name === why.array);
  const store = stores ? last : null;
  const turnOf = index && index.turns > 1 ? turnsBy(why.path, index, isShared) : () => 0;
  for (const step of why.path) {
    if (step === store) continue;
    const turn = turnOf(step);
    const inLoop = index && index.turns > 1 && turn < index.turns;
    const group = groups.get(turn) ?? { turn: inLoop ? turn : null, steps: [], nodes: [], barriers: 0 };
    group.steps.push(step);
    groups.set(turn, group);
  }
  const turns = [...groups].sort((x, y) => x[0] - y[0]).map(([, group]) => group);
  for (const t of turns) {
    fill(t, isShared);
    t.nodes.sort((x, y) => order(x) - order(y));
  }
  return { turns, store };
}

/** Returns the turn of each step: the one in which its value is used. A copy belongs to the turn that reads its bytes. */
function turnsBy(path: WhyStep[], index: StepIndex, isShared: (name: string) => boolean): (step: WhyStep) => number {
  const turns = new Map<WhyStep, number>();
  const loading = new Map<number, WhyStep[]>();
  const loads = new Map<string, WhyStep[]>();
  for (const step of path) {
    turns.set(step, step.event === null ? 0 : index.ownTurn[step.event]!);
    if (step.kind === "read" && !step.elements.some((e) => isShared(parseElement(e).name)))
      loading.set(step.warp, [...(loading.get(step.warp) ?? []), step]);
    else if (step.kind === "write") {
      const load = [...(loading.get(step.warp) ?? []), step];
      loading.delete(step.warp);
      for (const e of step.elements) loads.set(e, load);
    } else if (step.kind === "read")
      for (const e of step.elements) {
        for (const s of loads.get(e) ?? []) turns.set(s, turns.get(step)!);
        loads.delete(e);
      }
  }
  return (step) => turns.get(step)!;
}

function fill(group: WhyTurn, isShared: (name: string) => boolean): void {
  const collected = new Map<string, { node: WhyNode; elements: string[]; products: number }>();
  const add = (kind: WhyNode["kind"], variable: string | null, step: WhyStep) => {
    const key = `${kind} ${variable}`;
    const entry = collected.get(key) ?? {
      node: { kind, variable, text: "", event: step.event, line: step.line, races: null },
      elements: [],
      products: 0,
    };
    if (step.races !== null) [entry.node.races, entry.node.event] = [step.races, step.event];
    entry.elements.push(...step.elements.filter((e) => parseElement(e).name === variable));
    entry.products += step.products;
    collected.set(key, entry);
  };
  for (const step of group.steps) {
    if (step.kind === "release") group.barriers++;
    else if (step.kind === "compute" || step.kind === "mma") add("products", null, step);
    else
      for (const name of new Set(step.elements.map((e) => parseElement(e).name))) {
        const reads = step.kind === "read";
        add(isShared(name) ? (reads ? "shared" : "into") : reads ? "global" : "store", name, step);
      }
  }
  for (const { node, elements, products } of collected.values()) {
    node.text = node.kind === "products" ? (products ? `${products} product${products === 1 ? "" : "s"}` : "arithmetic") : ranges(elements);
    group.nodes.push(node);
  }
}

/** Returns the elements on the way, by the name of their variable, as row-major numbers, ascending. */
export function marksOf(why: Why, trace: Trace): Map<string, Uint32Array> {
  const shapes = new Map([...trace.head.arrays, ...trace.head.shared].map((v) => [v.name, v.shape]));
  const found = new Map<string, Set<number>>();
  for (const step of why.path)
    for (const text of step.elements) {
      const { name, index } = parseElement(text);
      const shape = shapes.get(name);
      if (!shape || shape.length !== index.length) continue;
      const set = found.get(name) ?? new Set();
      set.add(index.reduce((e, i, d) => e * shape[d]! + i, 0));
      found.set(name, set);
    }
  return new Map([...found].map(([name, set]) => [name, Uint32Array.from(set).sort()]));
}

/** Returns the number that the trace's events leave in an element of an array; null: no event writes it. */
export function valueWritten(trace: Trace, array: number, element: number): number | null {
  const { address, type } = trace.head.arrays[array]!;
  const size = elementBytes(type);
  if (!type || !size) return null;
  const at = address + element * size;
  for (let n = trace.valueEvent.length - 1; n >= 0; n--) {
    const e = trace.valueEvent[n]!;
    const site = trace.siteOf(e);
    if (trace.kind[e] === 0 || site.space !== "global") continue;
    let from = trace.valueStart[n]!;
    for (let lane = 0; lane < 32; lane++) {
      if (!((trace.mask[e]! >>> lane) & 1)) continue;
      const begin = trace.address(e, lane);
      if (at >= begin && at < begin + site.bytes) {
        const bytes = trace.values.slice(from + at - begin, from + at - begin + size);
        return elementAt(new DataView(bytes.buffer), 0, type);
      }
      from += site.bytes;
    }
  }
  return null;
}
