/** Events and states of a trace in words. */
import { FLAG } from "$engine/trace.ts";
import { count } from "../app/format.ts";
import { lanesIn, sharedName, type StepIndex } from "./step_index.ts";
import type { Stepper } from "./step_picture.ts";

/** Returns the lanes of a mask: "lanes 0–31", "lane 4", "lanes 0, 2, 4 …". */
export function lanesText(mask: number): string {
  const lanes: number[] = [];
  for (let l = 0; l < 32; l++) if ((mask >>> l) & 1) lanes.push(l);
  const [first, last] = [lanes[0] ?? 0, lanes[lanes.length - 1] ?? 0];
  if (lanes.length === 1) return `lane ${first}`;
  if (last - first + 1 === lanes.length) return `lanes ${first}–${last}`;
  return `lanes ${lanes.slice(0, 4).join(", ")}${lanes.length > 4 ? " …" : ""}`;
}

const plural = (n: number, word: string) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;

/** Returns the event as a predicate of its warp: "reads A[row][p + tx]: 128 bytes, 4 sectors". */
export function deed(stepper: Stepper, e: number): string {
  const { trace } = stepper;
  const site = trace.siteOf(e);
  const base = trace.base[e]!;
  const kind = trace.kindOf(e);
  const inSource = site.text && site.text.length <= 40 ? site.text : null;
  switch (kind) {
    case "read":
    case "write":
    case "update": {
      const verb = { read: "reads", write: "writes", update: "updates" }[kind];
      const global = site.space === "global";
      const name =
        site.variable === null
          ? global
            ? "memory"
            : "scratch of the compiler"
          : global
            ? stepper.nameOf(site.variable)
            : sharedName(trace.head.shared[site.variable]?.name ?? "memory");
      const copy = trace.flags[e]! & FLAG.copy ? "its copy " : "";
      const unit = global ? "sector" : "wavefront";
      const units = trace.units[e]
        ? `, ${plural(trace.units[e]!, unit)}${trace.units[e]! > trace.least[e]! ? ` (${trace.least[e]} would do)` : ""}`
        : "";
      const stale = stepper.unset(e) ? "; no warp has written all of it yet" : "";
      return `${copy}${verb} ${inSource && inSource.includes("[") ? inSource : name}: ${plural(site.bytes * lanesIn(trace.mask[e]!), "byte")}${units}${stale}`;
    }
    case "arrive":
      return `arrives at the barrier${inSource ? ` of ${inSource}` : ""}`;
    case "release":
      return "leaves the barrier";
    case "warp":
      return "acts as one: its lanes exchange values";
    case "fence":
      return "orders its accesses by a fence";
    case "issue":
      return `begins a copy of ${plural(trace.stride[e]!, "byte")} in the background`;
    case "commit":
      return `closes group ${base} of its copies`;
    case "land":
      return `gets the ${plural(trace.stride[e]!, "byte")} of a copy`;
    case "wait":
      return base ? `has waited: at most ${plural(base, "group")} of its copies may be under way` : "has waited for all of its copies";
    case "compute":
      return `computes ${plural(base, "FLOP")} in ${plural(trace.stride[e]!, "instruction")}`;
    case "mma":
      return `multiplies in the matrix units: ${plural(base, "FLOP")}`;
    case "turn":
      return `ends turn ${base + 1} of the loop`;
    case "exit":
      return "is done";
    case "fault":
      return `faults${inSource ? ` at ${inSource}` : ""}`;
  }
}

/** Returns one sentence about the event. */
export function sentence(stepper: Stepper, e: number): string {
  const { trace } = stepper;
  return `Warp ${trace.warp[e]}, ${lanesText(trace.mask[e]!)}: ${deed(stepper, e)}.`;
}

/** Returns a turn as text: "3 of 8, p = 64". */
export function turnText(index: StepIndex, turn: number): string {
  if (turn >= index.turns) return `after ${index.turns}`;
  const value = index.variableIn(turn);
  return `${turn + 1} of ${index.totalTurns}${value ? `, ${value}` : ""}`;
}

/** Returns the block's state for a reader who does not see the figure: "Step 3 of 8, compute; reuse 16". */
export function stateText(stepper: Stepper, e: number): string {
  const { index } = stepper;
  const turn = index.turnOf(e);
  const step = index.totalTurns < 2 ? "" : turn >= index.turns ? "After the loop, " : `Step ${turn + 1} of ${index.totalTurns}, `;
  return `${step}${index.phaseOf(e)}${index.reuse ? `; reuse ${ratio(stepper.reuse(e))}` : ""}`;
}

export const ratio = (v: number) => (Number.isInteger(v) ? String(v) : v.toFixed(1));
