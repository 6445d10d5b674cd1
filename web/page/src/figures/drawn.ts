/** Parts that pictures for Markdown share: the native program's answers, and a component drawn as SVG. */
import type { Trace } from "$engine/trace.ts";
import type { Component } from "svelte";
import { render } from "svelte/server";
import type { Kernel } from "../app/results.ts";
import type { FigureAsked } from "./asked.ts";

export interface Tool {
  json<T>(args: string[]): T;
  trace(args: string[]): Trace;
  /** Reads a file of the repository. */
  read(path: string): string;
  /** The text of the page that has the figure's comment. */
  page: string;
}

/** A picture drawn: its SVG, and the style sheet that it needs. */
export interface Picture {
  svg: string;
  style: string;
  alt: string;
}

/** Draws a component. `alt` replaces the figure's own label. */
export function drawn<Props extends Record<string, unknown>>(component: Component<Props>, props: NoInfer<Props>, alt?: string): Picture {
  const { body, head } = render(component as unknown as Component<Record<string, unknown>>, { props });
  const [, own, inner] = /<svg([^>]*)>([\s\S]*)<\/svg>/.exec(body.replace(/<!--[\s\S]*?-->/g, ""))!;
  const said = alt ?? /aria-label="([^"]*)"/.exec(own!)?.[1] ?? "";
  // A picture takes no keys, so its parts need neither roles nor a place in the order of the focus.
  const still = (text: string) => text.replace(/ (role|tabindex|aria-[\w-]+|data-[\w-]+)(="[^"]*")?(?=[\s/>])/g, "");
  const attributes = still(`${own!} `)
    .replace(/ (width|height)="[^"]*"/g, "")
    .trim();
  const svg = `<svg ${attributes} role="img" aria-label="${said}">${still(inner!)}</svg>`;
  const style = [...head.matchAll(/<style[^>]*>([\s\S]*?)<\/style>/g)]
    .map((m) => m[1]!)
    .join("\n")
    .replace(/\/\*# sourceMappingURL=[^*]*\*\//g, "");
  return { svg, style, alt: said };
}

export const nameOf = (path: string) =>
  path
    .split("/")
    .pop()!
    .replace(/\.tile$/, "");

/** Returns the values that are sizes, and those that are tuned, as options of a command for the file. */
export function configuration(tool: Tool, file: string, values: Record<string, number>, words: Record<string, string>): string[] {
  const kernel = tool.json<Kernel[]>(["show", file, "--kernels"])[0]!;
  const args: string[] = [];
  for (const [name, value] of Object.entries(values)) {
    if (kernel.tune.some((t) => t.name === name)) args.push("--tune", `${name}=${value}`);
    else if (kernel.parameters.some((p) => p.name === name)) args.push("--set", `${name}=${value}`);
  }
  if (words["type"]) args.push("--type", words["type"]);
  if (values["N"]) for (const p of kernel.parameters) if (!p.array) args.push("--set", `${p.name}=${values["N"]}`);
  return args;
}

export function traced(tool: Tool, asked: FigureAsked, file = asked.file!): Trace {
  const args = configuration(tool, file, asked.values, asked.words);
  if (asked.words["sm"]) args.push("--sm", asked.words["sm"]);
  return tool.trace(["run", file, ...args, "--fill", asked.words["fill"] ?? "iota"]);
}
