/** The events of a trace as a table. Its rows are made on demand, so that stepping does not wait for them. */
import type { CardData } from "../app/Card.svelte";
import { deed, lanesText } from "../figures/step_words.ts";
import type { Stepper } from "../figures/step_picture.ts";

/** Longer traces are cut, because a page cannot use a table of more rows; `run --trace` has them all. */
export const MOST_ROWS = 2000;

export function eventsTable(stepper: Stepper): CardData {
  const { trace, index } = stepper;
  return {
    columns: ["event", "time", "turn", "phase", "warp", "lanes", "line", "deed", "FLOPs", "bytes of threads", "bytes of warps"],
    get rows() {
      return Array.from({ length: Math.min(trace.count, MOST_ROWS) }, (_, e) => [
        e + 1,
        trace.time[e]!,
        index.turns > 1 ? index.turnOf(e) + 1 : null,
        index.phaseOf(e),
        trace.warp[e]!,
        lanesText(trace.mask[e]!).replace(/^lanes? /, ""),
        trace.siteOf(e).line || null,
        deed(stepper, e),
        index.flops[e + 1]!,
        index.byThread[e + 1]!,
        index.byRequest[e + 1]!,
      ]);
    },
  };
}
