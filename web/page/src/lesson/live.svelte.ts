/** The live figure of the lesson. There is at most one, because every view shows the same program. */
import { kernels } from "virtual:content";
import { everyType } from "../app/asks.ts";
import { program } from "../app/program.svelte.ts";
import type { FigureAsked } from "../figures/asked.ts";

class Live {
  id = $state<string | null>(null);

  /** Makes the figure live. If the reader has its kernel open, the reader's text stays. */
  start(id: string, asked: FigureAsked): void {
    takeUp(asked);
    this.id = id;
  }
}

/** Gives the program the figure's kernel, sizes and choices. */
export function takeUp({ file, values, words }: FigureAsked): void {
  const shipped = kernels.find((k) => k.path === file);
  if (shipped && program.file !== shipped.path) program.open(shipped.path, shipped.text);
  const { N: scale, ...rest } = values;
  // Each name is a size or a tuned value: the program looks up those of its kernel.
  program.fill = "iota"; // as in the picture
  program.sizes = rest;
  program.tune = rest;
  if (scale !== undefined) program.scale = scale;
  if (words["device"]) program.device = words["device"];
  program.types = words["type"] ? { [everyType]: words["type"] } : {};
}

export const live = new Live();
