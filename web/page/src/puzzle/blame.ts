/** Finds the event of a trace for an access of a judgement or of a finding. */
import type { Trace } from "$engine/trace.ts";
import { addressOf } from "../figures/race.ts";

export interface Blamed {
  line: number;
  column: number;
  variable?: string | null;
  index?: number[] | null;
  /** The number of the thread in its block, and of the block in the grid; null: not known. */
  thread?: number | null;
  block?: number | null;
}

/** Returns the event at that place in the text, by that thread, of that element. If the trace has none of that element or thread, returns
 * the first one at that place; null: there is none. */
export function eventAt(trace: Trace, { line, column, variable, index, thread }: Blamed): number | null {
  const element = variable && index ? addressOf(trace, variable, index) : null;
  const ofLine = new Set(trace.head.sites.flatMap((s, i) => (s.line === line ? [i] : [])));
  const ofPlace = new Set(trace.head.sites.flatMap((s, i) => (s.line === line && s.column === column ? [i] : [])));
  const sites = ofPlace.size ? ofPlace : ofLine;
  let found: number | null = null;
  for (let e = 0; e < trace.count; e++) {
    if (!sites.has(trace.site[e]!)) continue;
    found ??= e;
    if (thread === null || thread === undefined) return found;
    const lane = thread % 32;
    if (trace.warp[e] !== Math.floor(thread / 32) || !((trace.mask[e]! >>> lane) & 1)) continue;
    if (!element || !trace.isAccess(e)) return e;
    const at = trace.address(e, lane);
    if (at < element.address + element.bytes && element.address < at + trace.siteOf(e).bytes) return e;
  }
  return found;
}

/** Returns the event of the line with the most wavefronts, or sectors of global memory, above the minimum; if there is none, its first
 * event. */
export function worstAt(trace: Trace, line: number, accesses: boolean): number | null {
  let worst: number | null = null;
  const waste = (e: number) => (accesses && trace.isAccess(e) ? trace.units[e]! - trace.least[e]! : 0);
  for (let e = 0; e < trace.count; e++) if (trace.siteOf(e).line === line && (worst === null || waste(e) > waste(worst))) worst = e;
  return worst;
}
