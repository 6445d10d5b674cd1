/** The figures of Markdown, by name; the command line's output supplies their data. scripts/figures.mjs writes them to docs/figures. */
import type { Explanation } from "../app/results.ts";
import type { FigureAsked } from "./asked.ts";
import BlockProductFigure from "./BlockProductFigure.svelte";
import LadderFigure, { type Rung } from "./LadderFigure.svelte";
import { async, banks, step, threads } from "./block_pictures.ts";
import { configuration, drawn, nameOf, traced, type Picture, type Tool } from "./drawn.ts";
import { memoriesOf, type GpuWithLatencies } from "./memories.ts";
import MemoriesFigure from "./MemoriesFigure.svelte";
import { readsOf } from "./reads.ts";
import ReadsFigure from "./ReadsFigure.svelte";
import { pointsOf } from "./roofline.ts";
import RooflineFigure from "./RooflineFigure.svelte";
import { suiteGroups, suiteMeasured, suiteRows } from "./suite.ts";
import SuiteFigure from "./SuiteFigure.svelte";
import { waysOf } from "./traffic.ts";
import TrafficFigure from "./TrafficFigure.svelte";
import { wayOf } from "./way.ts";
import WayFigure from "./WayFigure.svelte";

/** Takes a file, then NAME=VALUE; the comments below name the words that a figure has of its own. */
export const pictures: Record<string, (asked: FigureAsked, tool: Tool) => Picture> = {
  /** sweep: the values of the name that the points have, `T=32` the present one. */
  roofline({ file, values, words }, tool) {
    const [name, list] = words["sweep"]!.split(":") as [string, string];
    const { [name]: current, ...rest } = values;
    const args = ["explain", file!, "--device", words["device"]!, ...configuration(tool, file!, rest, words)];
    const explanation = tool.json<Explanation>([...args, "--sweep", `${name}=${list}`]);
    const level = words["by"] === "memory" ? "memory" : "thread";
    const gpu = explanation.gpu;
    return drawn(RooflineFigure, {
      points: pointsOf(explanation, level, name, current ?? null),
      peak: explanation.kernels[0]!.peak || gpu.f32,
      roofs: [
        { name: "memory", bandwidth: gpu.memory_bandwidth, chosen: true },
        { name: "L2", bandwidth: gpu.l2_bandwidth[1], chosen: false },
      ],
    });
  },

  /** against: another kernel's file. */
  traffic({ file, values, words }, tool) {
    const row = (path: string) => {
      const args = ["explain", path, "--device", words["device"]!, ...configuration(tool, path, values, words)];
      return { name: nameOf(path), ways: waysOf(tool.json<Explanation>(args).kernels[0]!) };
    };
    return drawn(TrafficFigure, { rows: [file, words["against"]].filter((p) => p != null).map((p) => row(p!)) });
  },

  reads(asked, tool) {
    return drawn(ReadsFigure, { reads: readsOf(traced(tool, asked)) });
  },

  step,
  threads,
  banks,
  async,

  tiles: () => drawn(BlockProductFigure, {}),

  /** then: a second kernel's file. */
  way(asked, tool) {
    const files = [asked.file!, ...(asked.words["then"] ? [asked.words["then"]] : [])];
    return drawn(WayFigure, { ways: files.map((f) => ({ name: nameOf(f), legs: wayOf(traced(tool, asked, f)) })) });
  },

  memories({ words }, tool) {
    const gpu = tool.json<{ gpu: GpuWithLatencies }>(["explain", "--device", words["device"]!]).gpu;
    return drawn(MemoriesFigure, { name: gpu.name, memories: memoriesOf(gpu) });
  },

  /** f32, f16: kernels as the table of docs/performance.md names them, from slow to fast. */
  ladder({ words }, tool) {
    const table = tool.read("docs/performance.md");
    const rungs = ["f32", "f16"].flatMap((type) =>
      (words[type] ?? "").split(",").map((kernel): Rung => {
        const cells = table
          .split("\n")
          .find((line) => line.startsWith(`| \`${kernel}\` | ${type} |`))!
          .split("|")
          .map((c) => c.trim());
        return { type, name: nameOf(kernel), ms: parseFloat(cells[9]!), rate: parseFloat(cells[10]!) };
      }),
    );
    const { gpu } = tool.json<{ gpu: GpuWithLatencies }>(["explain", "--device", "h200"]);
    return drawn(LadderFigure, {
      rungs,
      title: "4096³ on one H200, measured",
      peaks: { f32: gpu.f32 / 1e12, f16: gpu.tensor_f16 / 1e12 },
    });
  },

  /** type: the rows of the comment's own page. */
  suite({ words }, tool) {
    const type = words["type"]!;
    const { device, date } = suiteMeasured(tool.page);
    return drawn(SuiteFigure, {
      groups: suiteGroups(suiteRows(tool.page, type)),
      title: `${type} on ${device}, ${date}: speed compared with the faster of cuBLAS and cuBLASLt`,
    });
  },
};
