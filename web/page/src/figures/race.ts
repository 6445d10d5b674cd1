/** The history of the bytes that two threads race for: the accesses of a trace that touch them, by warp and time. */
import type { Trace } from "$engine/trace.ts";

export interface Touch {
  event: number;
  time: number;
  warp: number;
  lane: number;
  what: "read" | "write" | "update" | "arrive" | "release";
  line: number;
}

/** Returns the flat address of an element of a variable, by the name that a finding gives it; null: the trace does not have it. */
export function addressOf(trace: Trace, name: string, index: number[]): { address: number; bytes: number } | null {
  const row = (shape: number[]) => index.reduce((at, i, axis) => at * (shape[axis] ?? 1) + i, 0);
  const shared = trace.head.shared.findIndex((v) => v.name === name);
  if (shared >= 0) {
    const v = trace.head.shared[shared]!;
    const count = v.shape.reduce((a, b) => a * b, 1) || 1;
    return { address: trace.sharedAddress(shared, row(v.shape)), bytes: Math.max(1, Math.floor(v.bytes / count)) };
  }
  const array = trace.head.arrays.find((a) => a.name === name);
  if (!array) return null;
  const count = array.shape.reduce((a, b) => a * b, 1) || 1;
  const bytes = Math.max(1, Math.floor(array.bytes / count));
  return { address: array.address + row(array.shape) * bytes, bytes };
}

/** Returns the accesses that touch those bytes, and the barriers of the same warps between them; at most `most`. */
export function touchesOf(trace: Trace, address: number, bytes: number, most = 400): Touch[] {
  const touches: Touch[] = [];
  const warps = new Set<number>();
  for (let e = 0; e < trace.count && touches.length < most; e++) {
    if (!trace.isAccess(e)) continue;
    const site = trace.siteOf(e);
    const mask = trace.mask[e]!;
    for (let lane = 0; lane < 32; lane++) {
      if (!((mask >>> lane) & 1)) continue;
      const at = trace.address(e, lane);
      if (at >= address + bytes || at + site.bytes <= address) continue;
      const what = trace.kindOf(e) as Touch["what"];
      touches.push({ event: e, time: trace.time[e]!, warp: trace.warp[e]!, lane, what, line: site.line });
      warps.add(trace.warp[e]!);
      break;
    }
  }
  const last = touches.at(-1)?.event ?? 0;
  for (let e = 0; e <= last; e++) {
    const kind = trace.kindOf(e);
    if ((kind !== "arrive" && kind !== "release") || !warps.has(trace.warp[e]!)) continue;
    touches.push({ event: e, time: trace.time[e]!, warp: trace.warp[e]!, lane: 0, what: kind, line: trace.siteOf(e).line });
  }
  return touches.sort((a, b) => a.event - b.event);
}

/** A read that saw the value of another turn of the loop, or no value: the effect of a missing barrier. */
export interface Stale {
  event: number;
  warp: number;
  lane: number;
  line: number;
  address: number;
  /** The warp that wrote too early, or writes later. */
  writer: number;
  /** "old": read before it was written for this turn; "new": already overwritten for the next turn. */
  seen: "old" | "new";
}

/** Returns the first such read of a shared variable whose writer is another warp. A warp's turns are counted from its events. */
export function staleOf(trace: Trace, name: string): Stale | null {
  const variable = trace.head.shared.findIndex((v) => v.name === name);
  if (variable < 0) return null;
  const turns = new Uint32Array(trace.head.warps);
  const written = new Map<number, { warp: number; turn: number }>();
  const early: (Stale & { turn: number })[] = [];
  for (let e = 0; e < trace.count; e++) {
    const warp = trace.warp[e]!;
    const kind = trace.kindOf(e);
    if (kind === "turn") turns[warp]!++;
    if (kind !== "read" && kind !== "write") continue;
    const site = trace.siteOf(e);
    if (site.space !== "shared" || site.variable !== variable) continue;
    const mask = trace.mask[e]!;
    for (let lane = 0; lane < 32; lane++) {
      if (!((mask >>> lane) & 1)) continue;
      const address = trace.address(e, lane);
      for (let at = address; at < address + site.bytes; at += 4) {
        const last = written.get(at);
        const turn = turns[warp]!;
        if (kind === "write") {
          const before = early.find((s) => s.address === at && s.turn === turn && s.warp !== warp);
          if (before) return { ...before, writer: warp };
          written.set(at, { warp, turn });
        } else if (last && last.turn > turn && last.warp !== warp) {
          return { event: e, warp, lane, line: site.line, address: at, writer: last.warp, seen: "new" };
        } else if ((!last || last.turn < turn) && early.length < 64) {
          early.push({ event: e, warp, lane, line: site.line, address: at, writer: -1, seen: "old", turn });
        }
      }
    }
  }
  return null;
}

/** Returns the name of the element of a shared variable at an address: "as[14][0]". */
export function elementName(trace: Trace, name: string, address: number): string {
  const variable = trace.head.shared.findIndex((v) => v.name === name);
  const v = trace.head.shared[variable];
  const site = trace.head.sites.find((s) => s.space === "shared" && s.variable === variable);
  const place = v && trace.locate(address, site);
  if (!v || !place || place.element < 0) return name;
  let left = place.element;
  const index = v.shape.toReversed().map((n) => {
    const i = left % n;
    left = Math.floor(left / n);
    return i;
  });
  return (
    name +
    index
      .reverse()
      .map((i) => `[${i}]`)
      .join("")
  );
}
