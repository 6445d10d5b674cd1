/** The one state that drives every view: the program, its sizes and choices, what is selected, and the engine's results. */
import { kernels as shipped } from "virtual:content";
import { Trace } from "$engine/trace.ts";
import {
  checkArgs,
  explainArgs,
  kernelsArgs,
  ptxExplainArgs,
  ptxRunArgs,
  runArgs,
  sizeNames,
  sizeOf,
  sweepArgs,
  sweepName,
  traceFile,
  whyArgs,
  valueOf,
  valueParameters,
  type CaseSizes,
  type Configuration,
  type PuzzleCase,
  type Settings,
} from "./asks.ts";
import { inputsOf, type CaseInputs } from "./case_inputs.ts";
import { subscript } from "../figures/step_sheet.ts";
import type { Why } from "../figures/why_path.ts";
import { ask, askExplanation, askJson, Refused, type Lane } from "./engine.ts";
import type {
  CheckedKernel,
  Edit,
  Explanation,
  Fault,
  Finding,
  Kernel,
  Message,
  Parameter,
  PtxKernel,
  Run,
  SimFinding,
} from "./results.ts";
import { applyFix, fixAll } from "./fixes.ts";
import type { Ran } from "./heat_of.ts";
import { findingsOf } from "./run_findings.ts";
import { Slot } from "./slot.svelte.ts";
import { isPtx, type PtxLaunch } from "./ptx.ts";
import type { Shared } from "./share.ts";

export interface Simulated extends Ran {
  trace: Trace | null;
  /** Errors of the run itself, as text; null if it ran to its end. */
  problem: string | null;
  key: string;
  /** A key that is equal for runs that differ only in the traced block. */
  of: string;
}
export interface WhyAnswer {
  why: Why;
  /** Simulated.of of the run that the answer is about. */
  of: string;
}
export interface Diagnosed {
  kernels: Kernel[];
  /** The kernels of a PTX program. */
  ptx: PtxKernel[];
  /** The text that the kernels were read from: an earlier one if the present text has mistakes. Places of kernels are places in it. */
  listed: string;
  findings: Finding[];
  /** The static check cannot decide the synchronisation of some kernel. */
  undecided: boolean;
  file: string;
  source: string;
}

/** A run that did not reach its end. */
export class RunFault extends Refused {
  constructor(
    status: number,
    text: string,
    readonly messages: Message[],
    /** Findings; the first is the access that ended the run. */
    readonly findings: SimFinding[],
    /** Events up to that access. */
    readonly trace: Trace | null,
    readonly key: string,
  ) {
    super(status, text, "");
  }
}

/** Returns whether the run reached its end, with right or wrong values. A run of PTX has `arguments` in place of `arrays`, even after a
 * fault. */
const cameToItsEnd = (run: Run | Fault): run is Run => "arrays" in run || ("arguments" in run && run.ended === null);

/** The largest product that a run simulates. Larger ones are counted by `explain`, which simulates some of the blocks. */
export const mostWork = 512 ** 3;

const first = "kernels/sgemm/tiled.tile";

export class Program {
  file = $state(first);
  /** The name that the engine gets, without leading dashes, because a name with a dash would be an option. */
  fileName = $derived(this.file.split("/").pop()!.replace(/^-+/, "") || "kernel.tile");
  source = $state(shipped.find((k) => k.path === first)?.text ?? "");
  /** The number of texts that were opened; the editor keeps a history for each. */
  opened = $state(0);
  /** The kernel of the file that the views show; null: its first. */
  chosen = $state<string | null>(null);
  sizes = $state<Settings>({});
  tune = $state<Record<string, number>>({});
  types = $state<Record<string, string>>({});
  /** The launch of a PTX program. */
  launch = $state<PtxLaunch | null>(null);
  device = $state("h200");
  seed = $state(1);
  /** The values of a run's inputs; a lesson's figure counts 0, 1, 2 …. */
  fill = $state<"rand" | "iota">("rand");
  /** The case of a puzzle that the sizes come from. */
  case = $state.raw<PuzzleCase | null>(null);
  #caseSizes = $state.raw<CaseSizes>({ sizes: {}, tune: {}, types: {} });
  #caseInputs = $state.raw<CaseInputs | null>(null);
  /** The reason that the arrays of the case are missing; null: they are loaded, or the engine is writing them. */
  caseProblem = $state<string | null>(null);
  /** True while the sizes are those of the case, so that runs get its arrays. */
  atCase = $derived.by(() => {
    const { sizes, tune, types } = this.#caseSizes;
    const same = <T>(of: Record<string, T>, now: (name: string) => T) => Object.entries(of).every(([n, v]) => now(n) === v);
    if (!this.case || this.caseProblem) return false;
    return (
      same(sizes, (n) => this.sizes[n] ?? this.sizeOf(n)) && same(tune, (n) => this.tuned(n)) && same(types, (n) => this.types[n] ?? "")
    );
  });
  inputs = $derived(this.atCase ? this.#caseInputs : null);

  /** The landing of asynchronous copies, in the form of `run --copies`: "early", "late", or a number of instructions after the issue. */
  landing = $state("early");
  /** The size of a square product for the roofline and the traffic. */
  scale = $state(1024);

  // The selected block, in every view.
  block = $state([0, 0, 0]);
  event = $state(0);
  line = $state<number | null>(null);
  thread = $state<number | null>(null);
  cell = $state<number[] | null>(null);
  /** The element that "why this number" explains: its array in global memory, by the trace's number, and its row-major number. */
  output = $state<{ array: number; element: number } | null>(null);

  diagnosed = new Slot<Diagnosed>("diagnosed", "the compiler", { grace: 1000 });
  simulated = new Slot<Simulated>("simulated", "the run in the simulator", { sizeOf: (s) => s.trace?.bytes ?? 0 });
  explained = new Slot<Explanation>("explained", "the model", {
    limit: {
      after: 10_000,
      hint: "Is a loop endless? If not, a smaller size takes less time.",
      then: () => this.swept.interrupt(),
    },
  });
  swept = new Slot<Explanation>("swept", "the model of each value", {
    limit: { after: 40_000, hint: "A smaller size takes less time." },
  });
  why = new Slot<WhyAnswer>("why", "the way of the value");
  /** The last run without an error of an earlier text, whose counters are compared with the present ones. */
  before = $state.raw<Ran | null>(null);
  pinned = $state.raw<Ran | null>(null);
  compare = $state<"good" | "pinned" | "none">("good");
  /** The run that counters are compared with. A run of other sizes is used only if the reader pinned it. */
  compared = $derived.by((): Ran | null => {
    if (this.compare !== "good") return this.compare === "pinned" ? this.pinned : null;
    const sizes = (r: Ran | null) => JSON.stringify(r?.run.parameters);
    return sizes(this.before) === sizes(this.simulated.value) ? this.before : null;
  });
  #good: Ran | null = null;

  kernel = $derived.by((): Kernel | null => {
    const list = this.diagnosed.value?.file === this.fileName ? this.diagnosed.value.kernels : [];
    return list.find((k) => k.kernel === this.chosen) ?? list[0] ?? null;
  });
  findings = $derived.by((): Finding[] => {
    const known = this.diagnosed.value;
    return known !== null && known.source === this.source ? known.findings : [];
  });
  /** The kernels of a PTX program. */
  ptxKernels = $derived(this.diagnosed.value?.file === this.fileName ? this.diagnosed.value.ptx : []);
  errors = $derived(this.findings.filter((f) => f.severity === "error"));
  /** True if the known kernels are those of the present text. Before that, an answer would be about a kernel of the text before. */
  known = $derived(this.diagnosed.value?.source === this.source);
  /** True if the static check cannot tell whether accesses race; runs then watch for races. */
  undecided = $derived(this.diagnosed.value?.source === this.source && (this.diagnosed.value?.undecided ?? false));
  /** Runs watch for races, whatever the static check finds. */
  watchRaces = $state(false);
  sizeNames = $derived(sizeNames(this.kernel));
  valueParameters = $derived(valueParameters(this.kernel));

  /** Shows another text. CUDA C is treated as a pasted kernel: the fixes of its messages make it a .tile file. */
  open(file: string, source: string): void {
    this.file = file.replace(/\.(cu|cuh)$/, ".tile");
    this.source = source;
    this.opened++;
    this.chosen = null;
    this.tune = {};
    this.types = {};
    this.launch = null;
    this.watchRaces = false;
    this.fill = "rand";
    this.leaveCase();
    this.block = [0, 0, 0];
    this.event = 0;
    this.line = this.thread = this.cell = this.output = null;
    this.before = this.#good = null;
  }

  /** Gives runs the arrays of a puzzle's case. The caller has set the case's sizes. */
  takeCase(of: PuzzleCase): void {
    this.case = of;
    this.#caseSizes = { sizes: this.sizes, tune: this.tune, types: this.types };
    this.#caseInputs = this.caseProblem = null;
    inputsOf(of, this.#caseSizes).then(
      (found) => this.case === of && (this.#caseInputs = found),
      (error) => this.case === of && (this.caseProblem = error instanceof Refused ? error.text : String(error)),
    );
  }

  leaveCase(): void {
    this.case = this.#caseInputs = this.caseProblem = null;
  }

  /** Sets the sizes of the case again. */
  backToCase(): void {
    this.sizes = this.#caseSizes.sizes;
    this.tune = this.#caseSizes.tune;
    this.types = this.#caseSizes.types;
  }

  sizeOf(name: string): number {
    return sizeOf(this.sizes, name);
  }

  valueOf(parameter: Parameter): string {
    return valueOf(this.sizes, parameter);
  }

  tuned(name: string): number {
    return this.tune[name] ?? this.kernel?.tune.find((t) => t.name === name)?.values[0] ?? 0;
  }

  get configuration(): Configuration {
    const { kernel, sizes, tune, types, seed, block, device, scale, fill, landing } = this;
    const races = this.errors.every((e) => e.kind === "race" || e.kind === "async-race");
    const despite = races && (this.errors.length > 0 || this.watchRaces || this.undecided);
    const inputs = this.inputs?.paths;
    return { file: this.fileName, kernel, sizes, tune, types, seed, block, device, scale, fill, inputs, despite, landing };
  }

  #files() {
    return { [this.fileName]: this.source };
  }

  /** Returns the files of a run. */
  get runFiles() {
    return { ...this.inputs?.files, ...this.#files() };
  }

  /** Asks for diagnostics and the list of kernels. Called at each change of the text. */
  diagnose(): void {
    const source = this.source;
    const files = this.#files();
    const name = this.fileName;
    this.diagnosed.ask(`${name}\n${source}`, async (signal) => {
      const accepts = [0, 1, 2];
      const asked = await askJson<Kernel[] | PtxKernel[] | Fault>("keys", kernelsArgs(name), files, { signal, urgent: true, accepts });
      const list = Array.isArray(asked) ? asked : null;
      const before = this.diagnosed.value?.file === name ? this.diagnosed.value : null;
      const listed = list || !before ? source : before.listed;
      if (isPtx(name)) {
        const findings = Array.isArray(asked) ? [] : findingsOf(asked.messages);
        return { kernels: [], ptx: (list as PtxKernel[]) ?? before?.ptx ?? [], listed, findings, undecided: false, file: name, source };
      }
      const checked = await askJson<CheckedKernel[]>("keys", checkArgs(name), files, {
        signal,
        urgent: true,
        accepts,
      });
      return {
        kernels: (list as Kernel[]) ?? before?.kernels ?? [],
        ptx: [],
        listed,
        findings: checked.flatMap((k) => k.findings ?? []),
        undecided: checked.some((k) => k.undecided !== null),
        file: name,
        source,
      };
    });
  }

  withFix(edits: Edit[]): string {
    return applyFix(this.source, edits);
  }

  /** Returns the text after all fixes of the compiler's messages, and of the messages that follow them. */
  fixed(): Promise<string> {
    const name = this.fileName;
    return fixAll(this.source, this.findings, async (source) => {
      const checked = await askJson<CheckedKernel[]>("keys", checkArgs(name), { [name]: source }, { accepts: [0, 1, 2] });
      return checked.flatMap((k) => k.findings ?? []);
    });
  }

  /** The words of the run's command; null: there is nothing to run yet. */
  runArgs = $derived.by((): string[] | null => {
    if (isPtx(this.fileName)) return this.launch && !this.errors.length ? ptxRunArgs(this.fileName, this.launch, this) : null;
    if (this.atCase && !this.inputs) return null; // the engine is still writing them
    return this.kernel ? runArgs(this.configuration) : null;
  });
  runKey = $derived.by(() => JSON.stringify([this.source, this.runArgs]));
  /** The errors of the run of the present text, such as an access outside of an array or wrong values. */
  runFindings = $derived.by((): Finding[] => {
    const { refused, value } = this.simulated;
    if (this.fault) return findingsOf(this.fault.messages);
    return value?.key === this.runKey && !refused ? findingsOf(value.run.messages ?? []) : [];
  });

  /** The fault of the run of the present text. */
  fault = $derived.by((): RunFault | null => {
    const { refused } = this.simulated;
    return refused instanceof RunFault && refused.key === this.runKey ? refused : null;
  });

  /** Returns the text of a card about a run if there is no run. */
  notRun(what: string): string {
    if (this.simulated.busy) return "Running…";
    return this.fault ? "The run ended in a fault. Step shows the events up to it." : `${what} appear when the kernel runs.`;
  }

  /** Runs the kernel in the simulator with all checks, counters and the trace of the selected block. */
  simulate(): void {
    const args = this.runArgs;
    if (!args) return this.simulated.outdate();
    const key = this.runKey;
    const of = this.#anyBlock(args);
    const work = this.sizeNames.reduce((product, n) => product * this.sizeOf(n), 1);
    const files = this.runFiles;
    const source = this.source;
    const file = this.fileName;
    const block = this.block;
    const known = this.diagnosed.value?.source === source && !this.errors.length;
    this.simulated.ask(key, async (signal, progress) => {
      if (work > mostWork)
        throw new Refused(
          2,
          "These sizes are too large to simulate every block here. Choose smaller sizes; the roofline and the traffic below count large ones.",
          "",
        );
      const answer = await ask("runs", args, files, {
        wants: [traceFile],
        signal,
        onProgress: (p) => progress(p.total ? p.done / p.total : 0),
      });
      if (answer.status === 2 && known && block.some((b) => b > 0)) this.#backToFirstBlock(block);
      if (answer.status === 2 || !answer.out.trim()) throw new Refused(answer.status, answer.err.trim(), answer.out);
      const run = JSON.parse(answer.out) as Run | Fault;
      const bytes = answer.files[traceFile];
      const trace = bytes ? new Trace(bytes) : null;
      if (!cameToItsEnd(run)) throw new RunFault(answer.status, answer.err.trim(), run.messages, run.findings ?? [], trace, key);
      return { run, file, source, trace, problem: run.ok ? null : answer.err.trim(), key, of };
    });
  }

  /** Selects the first block if the grid has become too small for the selected one. */
  #backToFirstBlock(block: number[]): void {
    if (this.block === block) this.block = [0, 0, 0];
  }

  #anyBlock(run: string[]): string {
    return JSON.stringify([this.source, whyArgs(run, "")]);
  }

  /** Asks how an element of an array got its value. */
  askWhy({ array: number, element }: { array: number; element: number }): void {
    const array = this.simulated.value?.trace?.head.arrays[number];
    const run = this.runArgs;
    if (!array || !run) return;
    const args = whyArgs(run, `${array.name}[${subscript(element, array.shape).join("][")}]`);
    const files = this.runFiles;
    const of = this.#anyBlock(run);
    this.why.ask(JSON.stringify([args, this.source]), async (signal) => {
      const { why } = await askJson<{ why: Why }>("runs", args, files, { signal });
      return { why, of };
    });
  }

  /** Keeps the last good run of the text before the shown one, for comparison. */
  keepGood(): void {
    const shown = this.simulated.value;
    if (!shown?.run.ok || this.simulated.stale || shown.file !== this.fileName) return;
    if (this.#good && this.#good.source !== shown.source) this.before = this.#good;
    this.#good = shown;
  }

  /** Keeps the shown run for comparison. */
  pin(): void {
    this.pinned = this.simulated.value;
    this.compare = this.pinned ? "pinned" : "good";
  }

  sweepName = $derived(sweepName(this.kernel));

  explainArgs = $derived.by((): string[] | null => {
    if (isPtx(this.fileName)) return this.launch ? ptxExplainArgs(this.fileName, this.launch, this.device) : null;
    return this.kernel ? explainArgs(this.configuration) : null;
  });

  explain(): void {
    const args = this.explainArgs;
    if (!args || this.errors.length) return this.explained.outdate();
    const files = this.#files();
    this.explained.ask(JSON.stringify([args, this.source]), (signal) => askExplanation("model", args, files, { signal }));
  }

  sweep(): void {
    const args = sweepArgs(this.configuration);
    if (!args || this.errors.length) return this.swept.outdate();
    const files = this.#files();
    this.swept.ask(JSON.stringify([args, this.source]), (signal) => askExplanation("model", args, files, { signal }));
  }

  toShared(): Shared {
    return {
      mode: "bench",
      file: this.file,
      source: this.source,
      kernel: this.chosen ?? undefined,
      sizes: this.sizes,
      tune: this.tune,
      types: this.types,
      launch: this.launch ?? undefined,
      device: this.device,
      scale: this.scale,
      seed: this.seed,
      landing: this.landing === "early" ? undefined : this.landing,
      fill: this.fill === "rand" ? undefined : this.fill,
      case: this.case && this.atCase ? [this.case.puzzle, this.case.number] : undefined,
      watch: this.watchRaces || undefined,
      block: this.block,
      event: this.event,
      line: this.line ?? undefined,
    };
  }

  fromShared(s: Partial<Shared>): void {
    if (s.source !== undefined) this.open(s.file ?? "kernel.tile", s.source);
    this.chosen = s.kernel ?? null;
    this.sizes = s.sizes ?? {};
    this.tune = s.tune ?? {};
    this.types = s.types ?? {};
    this.launch = s.launch ?? null;
    this.device = s.device ?? this.device;
    this.scale = s.scale ?? this.scale;
    this.seed = s.seed ?? 1;
    this.landing = s.landing ?? "early";
    this.fill = s.fill ?? "rand";
    if (s.case) this.takeCase({ puzzle: s.case[0]!, number: s.case[1]! });
    else this.leaveCase();
    this.watchRaces = s.watch ?? false;
    this.block = s.block ?? [0, 0, 0];
    this.event = s.event ?? 0;
    this.line = s.line ?? null;
  }
}

export const program = new Program();
export type { Lane };
