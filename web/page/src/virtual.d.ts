declare module "virtual:content" {
  import type { Lesson, Measured, Puzzle, ShippedKernel } from "./app/content_types.ts";
  export const kernels: ShippedKernel[];
  /** Files that kernels may import, by path. */
  export const importable: Record<string, string>;
  export const puzzles: Puzzle[];
  export const lessons: Lesson[];
  export const measured: Measured[];
  /** SVG by its address in a lesson's text. */
  export const pictures: Record<string, string>;
  export const words: Record<
    | "control"
    | "storage"
    | "declares"
    | "constant"
    | "type"
    | "attribute"
    | "modifier"
    | "hint"
    | "argument"
    | "index"
    | "function"
    | "effect",
    string[]
  >;
}
