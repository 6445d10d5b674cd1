/** The figure of the lesson that is live: one at a time, because every view shows the same program. */
import { kernels } from "virtual:content";
import { everyType } from "../app/asks.ts";
import { program } from "../app/program.svelte.ts";
import type { FigureAsked } from "../figures/asked.ts";

class Live {
  id = $state<string | null>(null);

  /** Makes the figure live. A kernel that the reader has open already keeps the reader's text. */
  start(id: string, asked: FigureAsked): void {
    takeUp(asked);
    this.id = id;
  }
}

/** Takes the figure's kernel, sizes and choices into the program. */
export function takeUp({ file, values, words }: FigureAsked): void {
  const shipped = kernels.find((k) => k.path === file);
  if (shipped && program.file !== shipped.path) program.open(shipped.path, shipped.text);
  const { N: scale, ...rest } = values;
  // Each name is a size or a tuned value: the program looks up those of its kernel.
  program.fill = "iota"; // as the picture has it
  program.sizes = rest;
  program.tune = rest;
  if (scale !== undefined) program.scale = scale;
  if (words["device"]) program.device = words["device"];
  program.types = words["type"] ? { [everyType]: words["type"] } : {};
}

export const live = new Live();
