/** Opens an answer on the bench, run on the arrays of the case in which it failed, at the event that caused the failure. */
import { tick } from "svelte";
import type { Trace } from "$engine/trace.ts";
import { page } from "../app/page.svelte.ts";
import { program } from "../app/program.svelte.ts";
import { underWay } from "../app/under_way.ts";
import { eventAt, worstAt, type Blamed } from "./blame.ts";
import type { Judgement } from "./judgement.ts";

const patience = 10_000; // milliseconds to wait for the run
const settling = 300; // milliseconds that the cards need to draw it

/** Opens the answer. `number`: of the case. */
export function showMe(file: string, source: string, j: Judgement, card: string, number: number): Promise<void> {
  return underWay(show(file, source, j, card, number));
}

async function show(file: string, source: string, j: Judgement, card: string, number: number): Promise<void> {
  program.open(file, source);
  const { set, tune, type } = j.case_list[number - 1]!;
  program.sizes = set;
  program.tune = tune;
  program.types = type;
  program.takeCase({ puzzle: j.puzzle, number });
  program.watchRaces = true;
  program.landing = card === "async" ? "late" : "early";
  program.line = j.line || null;
  page.begun = true;
  page.mode = "bench";
  await tick();
  const toCard = () => document.getElementById(card)?.scrollIntoView({ block: "start" });
  toCard();
  if (await hasRun(source)) await find(source, j, card);
  if (program.source !== source) return;
  await new Promise((resolve) => setTimeout(resolve, settling));
  toCard(); // cards above it have become taller
}

/** Selects the event and the block that the judge, or else the run, has found. */
async function find(source: string, j: Judgement, card: string): Promise<void> {
  if (card === "why") return findWrong(source);
  const seen = program.fault?.findings ?? program.simulated.value?.run.findings.filter((f) => f.fails) ?? [];
  const blamed: Blamed | null =
    [...j.accesses, ...(seen[0]?.accesses ?? [])].find((a) => a.line === j.line) ?? seen[0]?.accesses[0] ?? null;
  const grid = traceNow()?.head.grid;
  if (blamed?.block && grid) {
    const { block } = blamed;
    program.block = [block % grid[0], Math.floor(block / grid[0]) % grid[1], Math.floor(block / grid[0] / grid[1])];
    await tick();
    if (!(await hasRun(source))) return;
  }
  const trace = traceNow();
  if (!trace || !trace.count) return;
  const event = program.fault
    ? (trace.head.fault?.event ?? trace.count - 1)
    : blamed
      ? eventAt(trace, blamed)
      : worstAt(trace, j.line, card === "banks");
  if (event !== null) program.event = event;
}

/** Selects the wrong element that the messages name, and the event that wrote it. */
async function findWrong(source: string): Promise<void> {
  const run = program.simulated.value?.run;
  const wrong = run?.wrong?.find((w) => w.view === run.view);
  const trace = traceNow();
  const outputs = program.kernel?.parameters.filter((p) => p.array && !p.const) ?? [];
  const number = trace?.head.arrays.findIndex((a) => a.name === outputs[0]?.name && a.shape.join() === wrong?.shape.join()) ?? -1;
  const at = run?.at;
  if (!wrong || !at || outputs.length !== 1 || number < 0) return;
  program.output = { array: number, element: at.reduce((e, i, axis) => e * wrong.shape[axis]! + i, 0) };
  await until(() => {
    const answer = program.why.value;
    return (
      program.source !== source ||
      (answer !== null && !program.why.stale && answer.of === program.simulated.value?.of && answer.why.index.join() === at.join())
    );
  });
  const why = program.why.value?.why;
  const write = why?.path.findLast((s) => s.kind === "write" || s.kind === "update");
  if (!why || !write || program.source !== source) return;
  await until(() => program.source !== source || traceNow()?.head.traced.join() === why.block.join());
  const { event } = write;
  if (event !== null) program.event = event;
}

/** Returns the trace of the run of the present program. */
function traceNow(): Trace | null {
  return program.fault?.trace ?? (program.simulated.stale ? null : (program.simulated.value?.trace ?? null));
}

/** Waits for the end of the run; returns false if there is none, or if the reader has moved on. */
async function hasRun(source: string): Promise<boolean> {
  const ended = () => {
    const s = program.simulated;
    return program.fault !== null || (!s.stale && !s.busy && s.value !== null && s.value.key === program.runKey);
  };
  await until(() => program.source !== source || program.caseProblem !== null || ended());
  return program.source === source && ended();
}

async function until(done: () => boolean): Promise<void> {
  const end = performance.now() + patience;
  while (performance.now() < end && !done()) await new Promise((resolve) => setTimeout(resolve, 30));
}
