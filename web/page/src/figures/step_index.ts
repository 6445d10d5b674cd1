/** A trace, read once: the phase of each event, the turns of the main loop, sums up to each event, and the elements that the block
 * touches, with times. All of it is then a look-up for any event, so stepping forward and back gives the same. */
import { elementBytes, FLAG, NO_EVENT, type Trace, type TraceArray, type TraceLoop } from "$engine/trace.ts";
import { turnsOf } from "./step_turns.ts";

export const PHASES = ["load", "sync", "compute", "store"] as const;
export type Phase = (typeof PHASES)[number];
export type Role = "a" | "b" | "sum" | "shared" | "other";

const READ = 0;
const WRITE = 1;
const ARRIVE = 3;
const RELEASE = 4;
const WAIT = 10;
const SYNC = 1;
/** Arrays with more elements are not drawn. */
export const MOST_ELEMENTS = 1 << 22;

export function lanesIn(mask: number): number {
  let count = 0;
  for (let rest = mask >>> 0; rest; rest = (rest & (rest - 1)) >>> 0) count++;
  return count;
}

/** Returns the number of entries of an ascending list that are at most `value`. */
export function upTo(list: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle]! <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The elements that a turn of the main loop touches, ascending, each with the first event of the turn that touches it. */
export interface Touched {
  elements: Uint32Array;
  first: Uint32Array;
}

export const sharedName = (name: string) => name.replace("$smem", "scratch");

/** Returns a name without the number that the compiler adds if several variables have it. */
export const plainName = (name: string) => name.replace(/_\d+$/, "");

export class StepIndex {
  static readonly #known = new WeakMap<Trace, StepIndex>();
  /** Returns the index of a trace, which several views share. */
  static of(trace: Trace): StepIndex {
    let index = StepIndex.#known.get(trace);
    if (!index) StepIndex.#known.set(trace, (index = new StepIndex(trace)));
    return index;
  }

  readonly count: number;
  /** Segments of one phase: the beginning of each, and its phase. A barrier's segment begins when its last warp arrives. */
  readonly segmentFrom: number[] = [];
  readonly segmentPhase: number[] = [];
  /** The beginning of each turn of the main loop, counted by the warp that is ahead; [0] if there is no loop. */
  readonly turnFrom: number[];
  /** The first event after the loop. */
  readonly loopEnd: number;
  /** The turn of each event's own warp; another warp may be ahead. */
  readonly ownTurn: Uint32Array;
  /** Turns of the whole loop; more than `turns` if the trace ends before the loop does. */
  readonly totalTurns: number;
  /** The main loop, if the trace has its place in the source. */
  readonly loop: TraceLoop | null;
  /** Sums over earlier events: entry e counts the events 0 … e-1. */
  readonly flops: Float64Array;
  readonly byThread: Float64Array;
  readonly byRequest: Float64Array;
  readonly sharedRead: Float64Array;
  readonly sharedWritten: Float64Array;
  readonly arrays: ArrayIndex[];
  readonly sharedRoles: Role[];

  constructor(readonly trace: Trace) {
    const n = (this.count = trace.count);
    this.flops = new Float64Array(n + 1);
    this.byThread = new Float64Array(n + 1);
    this.byRequest = new Float64Array(n + 1);
    this.sharedRead = new Float64Array(n + 1);
    this.sharedWritten = new Float64Array(n + 1);
    this.#sum();
    this.#segments();
    const turns = turnsOf(trace);
    this.turnFrom = turns.from;
    this.loopEnd = turns.end;
    this.totalTurns = turns.total;
    this.loop = turns.loop;
    this.ownTurn = turns.own;
    this.arrays = trace.head.arrays.map((_, i) => new ArrayIndex(trace, i));
    let inputs = 0;
    for (const a of this.arrays) a.role = a.written ? "sum" : a.touched ? ((["a", "b"] as const)[inputs++] ?? "other") : "other";
    this.sharedRoles = sharedRoles(trace, this.arrays);
  }

  #sum(): void {
    const { trace, flops, byThread, byRequest, sharedRead, sharedWritten } = this;
    const sites = trace.head.sites;
    for (let e = 0; e < this.count; e++) {
      const site = sites[trace.site[e]!]!;
      const kind = trace.kind[e]!;
      const access = kind <= 2;
      const bytes = access ? site.bytes * lanesIn(trace.mask[e]!) : 0;
      const global = access && site.space === "global";
      const shared = access && site.space === "shared";
      flops[e + 1] = flops[e]! + (kind === 11 || kind === 12 ? trace.base[e]! : 0);
      byThread[e + 1] = byThread[e]! + (global ? bytes : 0);
      byRequest[e + 1] = byRequest[e]! + (global ? 32 * trace.units[e]! : 0);
      sharedRead[e + 1] = sharedRead[e]! + (shared && kind !== WRITE ? bytes : 0);
      sharedWritten[e + 1] = sharedWritten[e]! + (shared && kind !== READ ? bytes : 0);
    }
  }

  #segments(): void {
    const { trace } = this;
    const lastArrival = new Map<number, number>();
    const isBarrier = (e: number) => !(trace.flags[e]! & FLAG.mbarrier);
    for (let e = 0; e < this.count; e++)
      if (trace.kind[e] === ARRIVE && isBarrier(e)) lastArrival.set(trace.stride[e]! * 16 + trace.base[e]!, e);
    const completes = new Set(lastArrival.values());
    const phaseOfSite = trace.head.sites.map((s) =>
      s.phase === null ? -1 : PHASES.indexOf(s.phase === "store" && s.space === "shared" ? "compute" : s.phase),
    );
    const alone = trace.head.warps === 1;
    let now = -1;
    for (let e = 0; e < this.count; e++) {
      const kind = trace.kind[e]!;
      let phase = phaseOfSite[trace.site[e]!]!;
      if (kind === ARRIVE) phase = completes.has(e) ? SYNC : -1;
      else if (kind === RELEASE || phase < 0) phase = -1;
      // A barrier belongs to the block. If one warp waits for its copies, or its lanes synchronise, the other warps are not affected.
      else if (phase === SYNC && !(alone && kind === WAIT)) phase = -1;
      if (phase < 0 && now >= 0) continue;
      phase = Math.max(phase, 0);
      if (phase === now) continue;
      now = phase;
      this.segmentFrom.push(e);
      this.segmentPhase.push(phase);
    }
    if (this.segmentFrom[0] !== 0) this.segmentFrom[0] = 0;
    if (!this.segmentPhase.length) this.segmentPhase.push(0);
  }

  /** Returns the index of the segment that an event is in. */
  segmentOf(e: number): number {
    return Math.max(0, upTo(this.segmentFrom, e) - 1);
  }
  phaseOf(e: number): Phase {
    return PHASES[this.segmentPhase[this.segmentOf(e)]!]!;
  }
  get turns(): number {
    return this.turnFrom.length;
  }
  /** Returns the turn of the main loop that an event is in, from 0; `turns` after the loop. */
  turnOf(e: number): number {
    return e >= this.loopEnd ? this.turns : upTo(this.turnFrom, e) - 1;
  }
  /** Returns the loop's variable in a turn, as the source has it: "p = 32"; null: not known. */
  variableIn(turn: number): string | null {
    const { loop } = this;
    if (!loop?.variable || loop.from === null || loop.step === null) return null;
    return `${plainName(loop.variable)} = ${loop.from + turn * loop.step}`;
  }
  /** Returns the first event of a turn and the one after its last. */
  turnRange(turn: number): [number, number] {
    if (turn >= this.turns) return [this.loopEnd, this.count];
    return [this.turnFrom[turn]!, turn + 1 < this.turns ? this.turnFrom[turn + 1]! : this.loopEnd];
  }
  /** Reads of shared memory for each byte written to it, in the whole trace. */
  get reuse(): number {
    const written = this.sharedWritten[this.count]!;
    return written ? this.sharedRead[this.count]! / written : 0;
  }
  /** Returns the phases of a turn in order, each once, for the clock. */
  clock(e: number): { phases: Phase[]; at: number } {
    const [from, to] = this.turnRange(this.turnOf(e));
    const first = this.segmentOf(from);
    const last = this.segmentOf(Math.max(from, to - 1));
    let phases: Phase[] = [];
    // A turn begins when the warp that is ahead continues, so it contains the end of the last barrier.
    const begin = first < last && this.segmentPhase[first] === SYNC && this.segmentFrom[first]! < from ? first + 1 : first;
    if (last - begin < 8) {
      for (let s = begin; s <= last; s++) phases.push(PHASES[this.segmentPhase[s]!]!);
      return { phases, at: Math.max(0, this.segmentOf(e) - begin) };
    }
    phases = PHASES.filter((_, p) => this.segmentPhase.slice(begin, last + 1).includes(p));
    return { phases, at: phases.indexOf(this.phaseOf(e)) };
  }
}

/** An array in global memory, with the block's accesses. */
export class ArrayIndex {
  role: Role = "other";
  readonly array: TraceArray;
  readonly size: number;
  readonly elements: number;
  /** The events that access it. */
  readonly events: Uint32Array;
  readonly written: boolean;
  readonly touched: boolean;
  /** For each element, the first event that touches it, and the first that writes it; NO_EVENT: none. Empty for arrays too large to draw. */
  readonly first: Uint32Array;
  readonly firstWrite: Uint32Array;
  readonly #turns = new Map<number, Touched>();
  #seen: Uint32Array | null = null;

  constructor(
    readonly trace: Trace,
    readonly number: number,
  ) {
    this.array = trace.head.arrays[number]!;
    this.size = elementBytes(this.array.type) || 4;
    this.elements = Math.floor(this.array.bytes / this.size);
    const events: number[] = [];
    const sites = trace.head.sites;
    for (let e = 0; e < trace.count; e++) {
      if (trace.kind[e]! > 2) continue;
      const site = sites[trace.site[e]!]!;
      if (site.space === "global" && this.#isIn(e, site.variable)) events.push(e);
    }
    this.events = Uint32Array.from(events);
    this.touched = events.length > 0;
    this.written = events.some((e) => trace.kind[e] !== READ);
    const drawn = this.elements <= MOST_ELEMENTS ? this.elements : 0;
    this.first = new Uint32Array(drawn).fill(NO_EVENT);
    this.firstWrite = new Uint32Array(this.written ? drawn : 0).fill(NO_EVENT);
    for (const e of events) {
      const writes = trace.kind[e] !== READ;
      this.eachElement(e, (i) => {
        if (this.first[i] === NO_EVENT) this.first[i] = e;
        if (writes && this.firstWrite[i] === NO_EVENT) this.firstWrite[i] = e;
      });
    }
  }

  #isIn(e: number, variable: number | null): boolean {
    if (variable !== null) return variable === this.number;
    const at = this.trace.base[e]!;
    return at >= this.array.address && at < this.array.address + this.array.bytes;
  }

  /** Calls `visit` for each element that an event of this array touches, with the lane. */
  eachElement(e: number, visit: (element: number, lane: number) => void): void {
    const { trace } = this;
    const bytes = trace.head.sites[trace.site[e]!]!.bytes;
    const mask = trace.mask[e]!;
    for (let lane = 0; lane < 32; lane++) {
      if (!((mask >>> lane) & 1)) continue;
      const from = (trace.address(e, lane) - this.array.address) / this.size;
      const to = from + Math.max(1, bytes / this.size);
      for (let i = Math.max(0, Math.floor(from)); i < to && i < this.first.length; i++) visit(i, lane);
    }
  }

  /** Returns the elements that the events of a range touch; `turn` names the range. */
  touchedIn(turn: number, [from, to]: [number, number]): Touched {
    const known = this.#turns.get(turn);
    if (known) return known;
    this.#seen ??= new Uint32Array(this.first.length).fill(NO_EVENT);
    const seen = this.#seen;
    const list: number[] = [];
    for (let n = upTo(this.events, from - 1); n < this.events.length && this.events[n]! < to; n++) {
      const e = this.events[n]!;
      this.eachElement(e, (i) => {
        if (seen[i] !== NO_EVENT) return;
        seen[i] = e;
        list.push(i);
      });
    }
    const elements = Uint32Array.from(list).sort();
    const touched = { elements, first: elements.map((i) => seen[i]!) };
    for (const i of elements) seen[i] = NO_EVENT;
    if (this.#turns.size > 256) this.#turns.clear();
    this.#turns.set(turn, touched);
    return touched;
  }
}

/** Gives a shared variable the colour of the array that its values come from: an earlier read loaded the bytes of its write. */
function sharedRoles(trace: Trace, arrays: ArrayIndex[]): Role[] {
  const votes = trace.head.shared.map(() => new Map<number, number>());
  const cast = (shared: number, array: number) => votes[shared]!.set(array, (votes[shared]!.get(array) ?? 0) + 1);
  const sites = trace.head.sites;
  for (const copy of trace.copies().slice(0, 4096)) {
    if (copy.read === NO_EVENT || copy.write === NO_EVENT) continue;
    const from = sites[trace.site[copy.read]!]!.variable;
    const to = sites[trace.site[copy.write]!]!.variable;
    if (from !== null && to !== null) cast(to, from);
  }
  const recent = new Map<number, number[]>();
  let left = 512;
  for (let e = 0; e < trace.count && left; e++) {
    const site = sites[trace.site[e]!]!;
    if (trace.kind[e]! > 1 || trace.flags[e]! & FLAG.copy || site.variable === null) continue;
    const list = recent.get(trace.warp[e]!) ?? [];
    if (trace.kind[e] === READ && site.space === "global") recent.set(trace.warp[e]!, [e, ...list].slice(0, 32));
    if (trace.kind[e] !== WRITE || site.space !== "shared") continue;
    left--;
    const source = list.find((r) => sameValues(trace, r, e));
    if (source !== undefined) cast(site.variable, sites[trace.site[source]!]!.variable!);
  }
  return votes.map((counts) => {
    const best = [...counts].sort((x, y) => y[1] - x[1])[0];
    const role = best ? arrays[best[0]]!.role : "shared";
    return role === "other" ? "shared" : role;
  });
}

/** Returns the bytes that an event reads of global memory, lane by lane; null: not known. */
function bytesRead(trace: Trace, e: number): Uint8Array | null {
  const known = trace.valuesOf(e);
  const site = trace.siteOf(e);
  const array = site.variable === null ? null : trace.head.arrays[site.variable];
  if (known || !array || array.initial === null) return known;
  const bytes: number[] = [];
  for (let lane = 0; lane < 32; lane++) {
    if (!((trace.mask[e]! >>> lane) & 1)) continue;
    const at = array.initial + trace.address(e, lane) - array.address;
    bytes.push(...trace.initial.subarray(at, at + site.bytes));
  }
  return Uint8Array.from(bytes);
}

/** Returns whether each lane of `mask` reads the value that it then writes. The write's `mask` may be larger: a guarded load fills the
 * rest. */
function sameValues(trace: Trace, read: number, write: number): boolean {
  const from = bytesRead(trace, read);
  const to = trace.valuesOf(write);
  const mask = trace.mask[read]!;
  if (!from || !to || (mask & ~trace.mask[write]!) !== 0) return false;
  const [fromEach, toEach] = [from.length / lanesIn(mask), to.length / lanesIn(trace.mask[write]!)];
  let told = false;
  for (let lane = 0; lane < 32; lane++) {
    if (!((mask >>> lane) & 1)) continue;
    const below = (1 << lane) - 1;
    const [f, t] = [fromEach * lanesIn(mask & below), toEach * lanesIn(trace.mask[write]! & below)];
    for (let i = 0; i < Math.min(fromEach, toEach); i++) {
      if (from[f + i] !== to[t + i]) return false;
      told ||= from[f + i] !== 0;
    }
  }
  return told;
}
