/** Opens an answer on the bench at the sizes of the case that it failed in, at the event that is to blame. */
import { tick } from "svelte";
import { page } from "../app/page.svelte.ts";
import { program, type Simulated } from "../app/program.svelte.ts";
import type { JudgedCase, Judgement } from "./judgement.ts";

const patience = 10_000; // milliseconds until the run is there
const settling = 300; // milliseconds in which the cards draw it

export async function showMe(file: string, source: string, j: Judgement, card: string): Promise<void> {
  program.open(file, source);
  const { set, tune, type } = card === "race" ? widest(j) : j.case_list[Math.max(0, j.case - 1)]!;
  program.sizes = set;
  program.tune = tune;
  program.types = type;
  program.watchRaces = true;
  program.line = j.line || null;
  page.begun = true;
  page.mode = "bench";
  await tick();
  const show = () => document.getElementById(card)?.scrollIntoView({ block: "start" });
  show();
  const simulated = await runOf(source);
  const event = simulated ? eventAt(simulated, j.line) : null;
  if (program.source !== source) return;
  if (event !== null) program.event = event;
  await new Promise((resolve) => setTimeout(resolve, settling));
  show(); // cards above it have grown
}

/** The case with the largest tuned values: where a block has one warp, no order of warps shows a race. */
function widest(j: Judgement): JudgedCase {
  const size = (c: JudgedCase) => Object.values(c.tune).reduce((product, v) => product * v, 1);
  return j.case_list.reduce((best, c) => (size(c) > size(best) ? c : best));
}

/** The run of this text, once it is there; null: it did not come. */
async function runOf(source: string): Promise<Simulated | null> {
  const until = performance.now() + patience;
  while (performance.now() < until && program.source === source) {
    const s = program.simulated;
    if (s.value && !s.stale && !s.busy && s.value.key === program.runKey) return s.value;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return null;
}

/** The first event of the line in the traced block. */
function eventAt({ trace }: Simulated, line: number): number | null {
  if (!trace || !line) return null;
  const sites = new Set(trace.head.sites.flatMap((s, i) => (s.line === line ? [i] : [])));
  const at = trace.site.findIndex((s) => sites.has(s));
  return at < 0 ? null : at;
}
