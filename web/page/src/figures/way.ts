/** The way of an operand's tile from global memory to the product, found in the instructions of a block's trace. */
import type { Trace } from "$engine/trace.ts";

export type Station = "global memory" | "registers" | "shared memory" | "dot";
export interface Leg {
  from: Station;
  to: Station;
  /** The PTX instruction without its types: `ld.global`. */
  by: string;
}

const legs: { test: RegExp; from: Station; to: Station }[] = [
  { test: /^cp\.async\.c/, from: "global memory", to: "shared memory" },
  { test: /^ld\.global/, from: "global memory", to: "registers" },
  { test: /^st\.shared/, from: "registers", to: "shared memory" },
  { test: /^ldmatrix|^ld\.shared/, from: "shared memory", to: "registers" },
  { test: /^mma/, from: "registers", to: "dot" },
];

const short = (op: string) => /^(cp\.async|ldmatrix|mma|\w+\.\w+)/.exec(op)![0];

/** Returns the legs of tiles that are loaded and multiplied, in their order. */
export function wayOf(trace: Trace): Leg[] {
  const found: Leg[] = [];
  for (const site of trace.head.sites) {
    const leg = site.phase === "load" || site.phase === "compute" ? legs.find((l) => l.test.test(site.op)) : undefined;
    if (leg && !found.some((f) => f.by === short(site.op))) found.push({ from: leg.from, to: leg.to, by: short(site.op) });
  }
  return found;
}
