/** Pictures of one block of a run: a step of it, the owners of elements, the banks of a request. */
import { FLAG, type Trace } from "$engine/trace.ts";
import type { Layout } from "../app/results.ts";
import type { FigureAsked } from "./asked.ts";
import { accessesOf, lanesOf, servedBy, worstOf } from "./banks.ts";
import AsyncFigure from "./AsyncFigure.svelte";
import { AsyncTimeline } from "./async_timeline.ts";
import BanksFigure from "./BanksFigure.svelte";
import BlocksFigure from "./BlocksFigure.svelte";
import { configuration, drawn, traced, type Picture, type Tool } from "./drawn.ts";
import ElementsFigure from "./ElementsFigure.svelte";
import { Stepper } from "./step_picture.ts";
import { stateText } from "./step_words.ts";
import StepFigure from "./StepFigure.svelte";
import { cellsOf, windowOf } from "./threads.ts";
import { Index, stepOver, type Tile, tilesOf } from "./tiles.ts";

const wide = 640;

/** turn: the turn of the main loop whose end is shown. */
export function step(asked: FigureAsked, tool: Tool): Picture {
  const trace = traced(tool, asked);
  const stepper = new Stepper(trace);
  const event = stepper.index.turnRange(asked.values["turn"] ?? 0)[1] - 1;
  return drawn(StepFigure, { picture: stepper.picture(event, wide) }, `One block of ${trace.head.kernel}: ${stateText(stepper, event)}`);
}

/** tile: its name, by default the output; height: the number of rows shown. `shows=blocks`: the blocks over the whole output. */
export function threads(asked: FigureAsked, tool: Tool): Picture {
  const trace = traced(tool, asked);
  const shown = ["show", asked.file!, "--stage", "layout", "--device", trace.head.target];
  const layout = tool.json<Layout>([...shown, ...configuration(tool, asked.file!, asked.values, asked.words)]);
  const tiles = tilesOf(trace, layout);
  const tile = tiles.find((t) => t.name === asked.words["tile"]) ?? tiles[0]!;
  if (asked.words["shows"] === "blocks") return blocks(trace, tile);
  const index = new Index(tile);
  const window = windowOf(tile, 0, asked.values["height"] ?? 8, 16);
  const cells = cellsOf(index, window, index.threadOf(0));
  const first = cells
    .slice(0, 4)
    .map((c) => c.lines.join(":"))
    .join(", ");
  return drawn(
    ElementsFigure,
    {
      name: tile.name,
      cells,
      rows: tile.rows,
      columns: tile.columns,
      window,
      firstRow: tile.origin[0],
      firstColumn: tile.origin[1],
      selected: { row: 0, column: 0 },
      colour: tile.kind === "shared" ? "shared" : "sum",
      lineCount: Math.max(1, ...cells.map((c) => c.lines.length)),
    },
    `Who holds the elements of ${tile.name}: its first row begins with ${first}`,
  );
}

function blocks(trace: Trace, tile: Tile): Picture {
  const { grid, traced: block } = trace.head;
  const [rows, columns] = tile.extent;
  const part = { row: tile.origin[0], column: tile.origin[1], rows: tile.rows, columns: tile.columns };
  return drawn(
    BlocksFigure,
    { name: tile.name, extent: tile.extent, tile: part, step: stepOver(trace, tile), grid, block, size: 320 },
    `${grid[0]} × ${grid[1]} blocks over the ${rows} × ${columns} elements of ${tile.name}; those at the edge reach beyond it`,
  );
}

/** line: of the access; the picture shows the worst one on the line. */
export function banks(asked: FigureAsked, tool: Tool): Picture {
  const trace = traced(tool, asked);
  const there = accessesOf(trace).filter((a) => a.space === "shared" && a.site.line === asked.values["line"]);
  const access = there.sort((a, b) => b.units - b.least - (a.units - a.least))[0]!;
  const event = worstOf(trace, access.events);
  const served = servedBy(lanesOf(trace, event), trace.wavefrontsOf(event), access.site.bytes, (trace.flags[event]! & FLAG.matrix) !== 0);
  return drawn(BanksFigure, { served, least: trace.least[event]!, width: wide });
}

/** Draws the copies of the first warp. */
export function async(asked: FigureAsked, tool: Tool): Picture {
  const timeline = new AsyncTimeline(traced(tool, asked));
  const groups = timeline.of(0);
  return drawn(
    AsyncFigure,
    { timeline, warp: 0, event: groups[Math.floor(groups.length / 2)]!.firstRead, width: wide },
    `Asynchronous copies of ${timeline.trace.head.kernel}: ${groups.length} groups of the first warp, each under way while others are read`,
  );
}
