/** Requests of a warp to shared and global memory: the banks that serve its lanes in each wavefront, and the sectors that it touches. */
import { elementBytes, FLAG, type Trace, type TraceSite } from "$engine/trace.ts";

/** All requests of one place in the source to one variable, by all warps and turns of the traced block. */
export interface Access {
  key: string;
  site: TraceSite;
  space: "shared" | "global";
  store: boolean;
  copy: boolean;
  /** Events of the trace, in order. */
  events: number[];
  units: number;
  least: number;
}

export interface Lane {
  lane: number;
  address: number;
}

export function accessesOf(trace: Trace): Access[] {
  const found = new Map<string, Access>();
  for (let i = 0; i < trace.count; i++) {
    if (!trace.isAccess(i)) continue;
    const site = trace.siteOf(i);
    if (!site.space) continue;
    const store = trace.kind[i] !== 0;
    const key = [site.line, site.column, site.space, store, site.variable, site.bytes].join(" ");
    let a = found.get(key);
    if (!a) {
      const copy = (trace.flags[i]! & FLAG.copy) !== 0;
      found.set(key, (a = { key, site, space: site.space, store, copy, events: [], units: 0, least: 0 }));
    }
    a.events.push(i);
    a.units += trace.units[i]!;
    a.least += trace.least[i]!;
  }
  return [...found.values()].sort((x, y) => x.site.line - y.site.line || x.site.column - y.site.column);
}

/** Returns the request with the most units above the minimum; of equal ones, the first of the lowest warp. */
export function worstOf(trace: Trace, events: number[]): number {
  const above = (e: number) => trace.units[e]! - trace.least[e]!;
  let worst = events[0]!;
  for (const e of events) if (above(e) > above(worst) || (above(e) === above(worst) && trace.warp[e]! < trace.warp[worst]!)) worst = e;
  return worst;
}

export function lanesOf(trace: Trace, event: number): Lane[] {
  const lanes: Lane[] = [];
  for (let lane = 0; lane < 32; lane++) if ((trace.mask[event]! >>> lane) & 1) lanes.push({ lane, address: trace.address(event, lane) });
  return lanes;
}

/** Words of neighbouring banks that one wavefront gives to some lanes. */
export interface Served {
  wavefront: number;
  bank: number;
  banks: number;
  address: number;
  lanes: number[];
}

/** Returns the words that each wavefront gives to each lane, from the number of the wavefront that serves each lane. A lane's `bytes`
 * consist of units of 4, 8 or 16 bytes, each from a group of neighbouring banks. `matrix`: lanes give rows of 16 bytes. */
export function servedBy(lanes: Lane[], wavefrontOf: number[], bytes: number, matrix: boolean): Served[] {
  const unit = matrix || bytes > 8 ? 16 : bytes > 4 ? 8 : 4;
  const served = new Map<string, Served>();
  for (const { lane, address } of lanes) {
    const wavefront = wavefrontOf[lane]!;
    if (wavefront < 0) continue;
    const at = address - (address % unit);
    const known = served.get(`${wavefront} ${at}`);
    if (known) known.lanes.push(lane);
    else served.set(`${wavefront} ${at}`, { wavefront, bank: (at % 128) / 4, banks: unit / 4, address: at, lanes: [lane] });
  }
  return [...served.values()];
}

export const wavefrontsOf = (served: Served[]): number => 1 + Math.max(-1, ...served.map((s) => s.wavefront));

/** Returns, for each bank, the number of wavefronts in which it serves a lane. */
export function depths(served: Served[]): number[] {
  const depth = new Array<number>(32).fill(0);
  for (const s of served) for (let b = s.bank; b < s.bank + s.banks; b++) depth[b]!++;
  return depth;
}

/** A line of 128 bytes: for each of its words of 4 bytes the lanes that ask for a part of it, and for each sector whether it is
 * transferred. */
export interface Line {
  address: number;
  words: number[][];
  sectors: boolean[];
}

export function linesOf(lanes: Lane[], bytes: number): Line[] {
  const lines = new Map<number, Line>();
  for (const { lane, address } of lanes)
    for (let at = address - (address % 4); at < address + bytes; at += 4) {
      const start = at - (at % 128);
      let line = lines.get(start);
      if (!line)
        lines.set(start, (line = { address: start, words: Array.from({ length: 32 }, () => []), sectors: [false, false, false, false] }));
      line.words[(at % 128) / 4]!.push(lane);
      line.sectors[Math.floor((at % 128) / 32)] = true;
    }
  return [...lines.values()].sort((a, b) => a.address - b.address);
}

/** The places of the elements of an array in shared memory, as its addresses show. */
export interface Spread {
  /** Element (r, c) is element number `stride` · r + c of the array; null: the places follow another rule. */
  stride: number | null;
  /** Bytes of an element, and words of 4 bytes before the array's first. */
  bytes: number;
  first: number;
  /** The number of banks in which the elements of a column begin. */
  column: number;
  /** The bank in which element (r, c) begins, for the first rows and each `step`th column. */
  step: number;
  banks: number[][];
}

const mostRows = 8;
const mostColumns = 8;

/** Returns null if the array is not a matrix, or the type of its elements is not known. `variable`: its number in the trace. */
export function spreadOf(trace: Trace, variable: number): Spread | null {
  const v = trace.head.shared[variable]!;
  const bytes = elementBytes(v.type);
  const [rows, columns] = [v.shape.at(-2) ?? 0, v.shape.at(-1) ?? 0];
  if (!bytes || v.shape.length !== 2 || rows < 2 || !columns) return null;
  const at = (r: number, c: number) => trace.sharedAddress(variable, r * columns + c);
  const stride = (at(1, 0) - at(0, 0)) / bytes;
  let linear = true;
  for (let r = 0; r < rows && linear; r++)
    for (let c = 0; c < columns && linear; c++) linear = at(r, c) === at(0, 0) + (r * stride + c) * bytes;
  const unit = Math.max(1, 16 / bytes);
  const step = Math.max(unit, columns / mostColumns);
  const bank = (r: number, c: number) => Math.floor(at(r, c) / 4) % 32;
  const cells = (r: number) => Array.from({ length: Math.ceil(columns / step) }, (_, i) => bank(r, i * step));
  const column = new Set(Array.from({ length: rows }, (_, r) => bank(r, 0))).size;
  const banks = Array.from({ length: Math.min(rows, mostRows) }, (_, r) => cells(r));
  return { stride: linear ? stride : null, bytes, first: at(0, 0) / 4, column, step, banks };
}

/** Returns a formula for the bank of element (r, c), if it follows from its number: "(33 r + c) mod 32". */
export function bankText({ stride, bytes, first }: Spread): string {
  const number = `${stride} r + c`;
  const words = bytes === 4 ? number : bytes < 4 ? `⌊(${number}) / ${4 / bytes}⌋` : `${bytes / 4} (${number})`;
  const offset = first % 32;
  return `(${words}${offset ? ` + ${offset}` : ""}) mod 32`;
}

/** Returns lanes as a short text: 5, 0–7, 0 8 16. */
export function laneText(lanes: number[]): string {
  const distinct = [...new Set(lanes)].sort((a, b) => a - b);
  if (distinct.length > 1 && distinct.at(-1)! - distinct[0]! === distinct.length - 1) return `${distinct[0]}–${distinct.at(-1)}`;
  return distinct.join(" ");
}
