/** Tours of a minute: each is a kernel, an edit for the reader to make, and a place to look at. A step is done when its condition holds. */
import { kernels } from "virtual:content";
import type { Program } from "./program.svelte.ts";

export interface TourStep {
  says: string;
  /** The card that shows it. */
  card?: string;
  line?: number;
  done: (p: Program) => boolean;
}
export interface Tour {
  id: string;
  name: string;
  kernel: string;
  steps: TourStep[];
}

const textOf = (path: string) => kernels.find((k) => k.path === path)!.text;
const tiled = "kernels/sgemm/tiled.tile";
const transposed = "kernels/sgemm/transposed.tile";

const conflicts = (p: Program) => Number(p.simulated.value?.key !== p.runKey ? NaN : p.simulated.value?.run.counters?.["bank_conflicts"]);

export const tours: Tour[] = [
  {
    id: "barrier",
    name: "The missing barrier",
    kernel: tiled,
    steps: [
      {
        says: "All threads fill the tiles, wait at sync(), and then read. Delete line 16.",
        line: 16,
        card: "step",
        done: (p) => p.source !== textOf(tiled) && p.errors.some((f) => f.kind === "race"),
      },
      {
        says: "A thread may now read an element before its neighbour has written it: the message names both lines, and Race shows an order of warps that goes wrong.",
        card: "race",
        done: (p) => !p.errors.length && p.diagnosed.value?.source === p.source,
      },
      { says: "The barrier is back: Fix put it where it was.", card: "step", done: () => false },
    ],
  },
  {
    id: "banks",
    name: "The 32-way conflict",
    kernel: transposed,
    steps: [
      {
        says: "The lanes of a warp read a column of the tile in line 21: 32 addresses in one bank, one after the other. Choose PAD = 1: each row gets one element more.",
        line: 21,
        card: "banks",
        done: (p) => conflicts(p) === 0,
      },
      {
        says: "No conflict is left: neighbours in a column are now in neighbouring banks. With T = 16 the same PAD does harm: try it.",
        card: "banks",
        done: () => false,
      },
    ],
  },
  {
    id: "roofline",
    name: "The walking point",
    kernel: tiled,
    steps: [
      {
        says: "Each element that is loaded serves T threads, so intensity is T / 4 FLOPs a byte. Choose T = 8 and watch the point.",
        card: "roofline",
        done: (p) => p.tuned("T") === 8,
      },
      { says: "Now T = 64.", card: "roofline", done: (p) => p.tuned("T") === 64 },
      {
        says: "The point moved up the roof, but one thread for each element is 4,096 threads, and a block has at most 1,024.",
        card: "roofline",
        done: (p) => p.tuned("T") === 32,
      },
      {
        says: "With T = 32 shared memory is the limit, not global memory. Look at register_tiled.tile next.",
        card: "roofline",
        done: () => false,
      },
    ],
  },
];
