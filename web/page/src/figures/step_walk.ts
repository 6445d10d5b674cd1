/** Steps from event to event, by the units in which a block can be walked. */
import { upTo, type StepIndex } from "./step_index.ts";

export type Unit = "event" | "phase" | "turn";

/** Returns the events at which a unit begins. */
export function stopsOf(index: StepIndex, unit: Unit): ArrayLike<number> | null {
  if (unit === "event") return null;
  if (unit === "phase") return index.segmentFrom;
  return index.loopEnd < index.count ? [...index.turnFrom, index.loopEnd] : index.turnFrom;
}

/** Returns the event one unit before or after; the ends are the first and last event. */
export function neighbour(index: StepIndex, e: number, unit: Unit, direction: 1 | -1): number {
  const last = Math.max(0, index.count - 1);
  const stops = stopsOf(index, unit);
  if (!stops) return Math.max(0, Math.min(last, e + direction));
  if (direction > 0) return stops[upTo(stops, e)] ?? last;
  const n = upTo(stops, e - 1);
  return n ? stops[n - 1]! : 0;
}
