/** Turns of a block's main loop. The compiler unrolls loops, so that one turn of its code is several turns of the source: where a
 * barrier of one place in the source is passed more often than the loop turns, the barrier counts the turns. */
import { FLAG, type Trace } from "$engine/trace.ts";

const ARRIVE = 3;
const TURN = 13;

export interface Turns {
  /** Where each turn begins, by the warp that is ahead; [0]: there is no loop. */
  from: number[];
  /** The first event after the loop. */
  end: number;
  /** The loop's line, or null. */
  line: number | null;
  /** The turn that each event's own warp is in. */
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
  const loop = mainLoop(trace);
  return (
    byBarrier(trace, loop) ??
    (loop ? byEvents(trace, loop) : { from: [0], end: trace.count, line: null, own: new Uint32Array(trace.count) })
  );
}

/** The loop whose turns span the most events. Loops of one place in the source are one: the compiler may make two of it. */
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
  if (trace.head.truncated) return { from, end: trace.count, line: loop.line, own };
  from.pop();
  return { from, end: loop.last + 1, line: loop.line, own };
}

/** Counts turns by the barrier of one place in the source. null: none is passed more often than the loop turns. */
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
  // A barrier of an inner loop has one instruction that is passed often; an unrolled one has several.
  const candidates = [...passed.values()].filter((p) => p.sites.size > 1 && p.line >= (loop?.line ?? 1) && Math.max(...p.counts) > least);
  const barrier = candidates.sort((x, y) => Math.max(...y.counts) - Math.max(...x.counts) || y.line - x.line)[0];
  return barrier ? between(trace, barrier.sites, barrier.line, loop?.line ?? null) : null;
}

/** A turn begins where a warp comes to a line above the barrier, after it; or at the barrier itself if no line of the body is above. */
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
  return { from, end: trace.head.truncated ? trace.count : end, line: loopLine, own };
}
