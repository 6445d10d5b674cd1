/** Turns of a block's main loop, as the source counts them: the compiler may unroll it. The trace of another compiler's PTX does not tell
 * which loops of the source an instruction is in. There, the passes of a barrier are counted, if they outnumber the loop's turns. */
import { FLAG, type Trace, type TraceLoop } from "$engine/trace.ts";

const ARRIVE = 3;
const TURN = 13;

export interface Turns {
  /** The beginning of each turn, by the warp that is ahead; [0]: there is no loop. */
  from: number[];
  /** Turns of the whole loop; more than `from` has if the trace ends before the loop does. */
  total: number;
  /** The first event after the loop. */
  end: number;
  /** The loop, if the trace has its place in the source. */
  loop: TraceLoop | null;
  /** The turn of each event's own warp. */
  own: Uint32Array;
}

interface MainLoop {
  loops: Set<number>;
  line: number;
  /** Turn events of the warp that has the most. */
  turns: number;
  last: number;
}

export function turnsOf(trace: Trace): Turns {
  if (trace.head.sites[0]?.loops) return bySource(trace);
  const loop = mainLoop(trace);
  return (
    byBarrier(trace, loop) ??
    (loop ? byEvents(trace, loop) : { from: [0], total: 1, end: trace.count, loop: null, own: new Uint32Array(trace.count) })
  );
}

/** Returns the number of turns of the loop in this launch; null: its text does not determine it. */
export function turnsIn(loop: TraceLoop): number | null {
  const { from, to, step } = loop;
  return from === null || to === null || step === null ? null : Math.max(0, Math.ceil((to - from) / step));
}

/** Returns the loop of the source that spans the most events, among those whose turns the trace has; or a loop inside it, if it turns
 * once. */
function mainOf(trace: Trace): number | null {
  const spans = trace.head.loops.map(() => ({ first: -1, last: -1, turns: 0, around: new Set<number>() }));
  for (let e = 0; e < trace.count; e++) {
    const inside = trace.head.sites[trace.site[e]!]!.loops ?? [];
    inside.forEach(([loop], n) => {
      const span = spans[loop]!;
      if (span.first < 0) {
        span.first = e;
        for (const [outer] of inside.slice(0, n)) span.around.add(outer);
      }
      span.last = e;
    });
    if (trace.kind[e] === TURN) {
      const span = spans[trace.stride[e]!]!;
      span.turns = Math.max(span.turns, trace.base[e]! + 1);
    }
  }
  const order = spans.map((_, i) => i).filter((i) => spans[i]!.turns > 0 && spans[i]!.first >= 0);
  order.sort(
    (x, y) => spans[y]!.last - spans[y]!.first - (spans[x]!.last - spans[x]!.first) || spans[x]!.around.size - spans[y]!.around.size,
  );
  const best = order[0];
  if (best === undefined) return null;
  if (spans[best]!.turns > 1) return best;
  return order.find((i) => spans[i]!.around.has(best) && spans[i]!.turns > 1) ?? best;
}

function bySource(trace: Trace): Turns {
  const { sites, warps } = trace.head;
  const own = new Uint32Array(trace.count);
  const main = mainOf(trace);
  if (main === null) return { from: [0], total: 1, end: trace.count, loop: null, own };
  const loop = trace.head.loops[main]!;
  const at = sites.map((s) => s.loops?.find(([l]) => l === main)?.[1] ?? -1);
  // For each warp: its turns in earlier runs of the loop, its turns in the present run, and whether it is in the loop now.
  const before = new Uint32Array(warps);
  const done = new Uint32Array(warps);
  const inside = new Uint8Array(warps);
  const from = [0];
  let end = 0;
  for (let e = 0; e < trace.count; e++) {
    const warp = trace.warp[e]!;
    const ends = trace.kind[e] === TURN && trace.stride[e] === main;
    const within = at[trace.site[e]!]!;
    if (ends) done[warp] = trace.base[e]!;
    else if (within < 0 && inside[warp]) {
      before[warp] = before[warp]! + done[warp]!;
      done[warp] = inside[warp] = 0;
    }
    if (ends || within >= 0) {
      inside[warp] = 1;
      end = e + 1;
    }
    own[e] = before[warp]! + done[warp]! + (ends ? 0 : Math.max(0, within));
    while ((ends || within >= 0) && own[e]! >= from.length) from.push(e);
    if (ends) done[warp]!++;
  }
  const cut = trace.head.truncated || trace.head.ended !== null;
  return { from, total: Math.max(from.length, (cut && turnsIn(loop)) || 0), end: cut ? trace.count : end, loop, own };
}

/** Returns the loop whose turns span the most events. Loops of one place in the source count as one: the compiler may split a loop. */
function mainLoop(trace: Trace): MainLoop | null {
  const found = new Map<string, { first: number; last: number; loops: Set<number>; line: number; turns: Uint32Array }>();
  for (let e = 0; e < trace.count; e++) {
    if (trace.kind[e] !== TURN) continue;
    const number = trace.stride[e]!;
    const loop = trace.head.loops[number];
    if (!loop) continue;
    const key = `${loop.file}:${loop.line}:${loop.column}`;
    const span = found.get(key) ?? { first: e, last: e, loops: new Set(), line: loop.line, turns: new Uint32Array(trace.head.warps) };
    span.last = e;
    span.loops.add(number);
    span.turns[trace.warp[e]!]!++;
    found.set(key, span);
  }
  const best = [...found.values()].sort((x, y) => y.last - y.first - (x.last - x.first))[0];
  return best ? { loops: best.loops, line: best.line, turns: Math.max(...best.turns), last: best.last } : null;
}

function byEvents(trace: Trace, loop: MainLoop): Turns {
  const done = new Uint32Array(trace.head.warps);
  const from = [0];
  const own = new Uint32Array(trace.count);
  for (let e = 0; e < trace.count; e++) {
    own[e] = done[trace.warp[e]!]!;
    if (trace.kind[e] === TURN && loop.loops.has(trace.stride[e]!) && ++done[trace.warp[e]!]! >= from.length) from.push(e + 1);
  }
  if (trace.head.truncated) return { from, total: from.length, end: trace.count, loop: null, own };
  from.pop();
  return { from, total: from.length, end: loop.last + 1, loop: null, own };
}

/** Counts turns by a barrier of one place in the source. null: no barrier is passed more often than the loop turns. */
function byBarrier(trace: Trace, loop: MainLoop | null): Turns | null {
  const { sites, warps } = trace.head;
  const passed = new Map<string, { line: number; counts: Uint32Array; sites: Set<number> }>();
  for (let e = 0; e < trace.count; e++) {
    if (trace.kind[e] !== ARRIVE || trace.flags[e]! & FLAG.mbarrier) continue;
    const site = sites[trace.site[e]!]!;
    const key = `${site.line}:${site.column}`;
    const place = passed.get(key) ?? { line: site.line, counts: new Uint32Array(warps), sites: new Set() };
    place.counts[trace.warp[e]!]!++;
    place.sites.add(trace.site[e]!);
    passed.set(key, place);
  }
  const least = loop?.turns ?? 1;
  // A barrier of an inner loop is one instruction that is passed often; a barrier of an unrolled loop is several instructions.
  const candidates = [...passed.values()].filter((p) => p.sites.size > 1 && p.line >= (loop?.line ?? 1) && Math.max(...p.counts) > least);
  const barrier = candidates.sort((x, y) => Math.max(...y.counts) - Math.max(...x.counts) || y.line - x.line)[0];
  return barrier ? between(trace, barrier.sites, barrier.line, loop?.line ?? null) : null;
}

/** Finds the beginnings of turns: the first line above the barrier that a warp reaches after it, or the barrier itself if no line of the
 * body is above it. */
function between(trace: Trace, barrier: Set<number>, line: number, loopLine: number | null): Turns {
  const { sites, warps } = trace.head;
  const arrivals = new Uint32Array(warps);
  const total = new Uint32Array(warps);
  for (let e = 0; e < trace.count; e++) if (trace.kind[e] === ARRIVE && barrier.has(trace.site[e]!)) total[trace.warp[e]!]!++;
  let [lowest, highest] = [line, line];
  for (let e = 0; e < trace.count; e++) {
    const warp = trace.warp[e]!;
    if (trace.kind[e] === ARRIVE && barrier.has(trace.site[e]!)) arrivals[warp]!++;
    else if (arrivals[warp]! && arrivals[warp]! < total[warp]! && trace.kind[e] !== TURN) {
      const at = sites[trace.site[e]!]!.line;
      if (at > 0 && at !== loopLine) [lowest, highest] = [Math.min(lowest, at), Math.max(highest, at)];
    }
  }
  const from = [0];
  const begun = new Uint32Array(warps);
  const own = new Uint32Array(trace.count);
  arrivals.fill(0);
  let end = 0;
  for (let e = 0; e < trace.count; e++) {
    const warp = trace.warp[e]!;
    const at = sites[trace.site[e]!]!.line;
    const arrives = trace.kind[e] === ARRIVE && barrier.has(trace.site[e]!);
    const begins = lowest < line ? at >= lowest && at < line && arrivals[warp]! > begun[warp]! : arrives && arrivals[warp]! > begun[warp]!;
    if (begins && ++begun[warp]! >= from.length && from.length < Math.max(...total)) from.push(e);
    own[e] = at > highest && arrivals[warp] === total[warp] ? Math.max(...total) : begun[warp]!;
    if (arrives) arrivals[warp]!++;
    if (at >= lowest && at <= highest) end = e + 1;
  }
  return { from, total: from.length, end: trace.head.truncated ? trace.count : end, loop: null, own };
}
