/** The state of puzzle mode: the puzzle, the reader's answer, the judgement, and the progress. */
import { puzzles } from "virtual:content";
import { LEARN_FILE } from "$engine/engine.ts";
import { ask, askJson, Refused } from "../app/engine.ts";
import { page } from "../app/page.svelte.ts";
import type { CheckedKernel, Finding } from "../app/results.ts";
import { Slot } from "../app/slot.svelte.ts";
import { store, stored } from "../app/storage.ts";
import { afterPause, underWay } from "../app/under_way.ts";
import type { Judgement, ListedPuzzle } from "./judgement.ts";
import { isProgress, merged } from "./progress.ts";
import { readPuzzle } from "./text.ts";

const progressKey = "tilewright.learn";
const answerKey = (number: number) => `tilewright.answer.${number}`;
/** The number of failures of a hidden case after which it opens. */
export const openAfter = 3;

class Judge {
  puzzle = $derived(puzzles.find((p) => p.number === page.puzzle) ?? puzzles[0]!);
  text = $derived(readPuzzle(this.puzzle.text));
  fileName = $derived(`${String(this.puzzle.number).padStart(2, "0")}_${this.puzzle.name}.tile`);
  answer = $state("");
  progress = $state(stored(progressKey) ?? "");
  listed = $state.raw<ListedPuzzle[]>([]);
  /** The puzzle that `answer` and the judgement belong to. */
  opened = $state(0);
  said = $state("");
  /** The case that the reader has picked, or else the one that failed. */
  picked = $state<number | null>(null);

  /** The link that the shown answer came with. The answer is neither kept nor counted until the reader adopts it. */
  linked = $derived(page.linked?.puzzle === this.puzzle.number ? page.linked : null);

  diagnosed = new Slot<{ source: string; findings: Finding[] }>("diagnosed answer", "the compiler", { grace: 1000 });
  judged = new Slot<{ source: string; judgement: Judgement }>("judged", "the judge", { grace: 400 });
  /** The reader's own answers, in case the browser keeps none. */
  #typed = new Map<number, string>();
  /** Texts that failed in a hidden case of this puzzle since it was opened. */
  #failures = $state.raw<string[]>([]);
  #endPause = () => {};

  chosenCase = $derived.by(() => {
    const j = this.current?.judgement;
    if (!j) return 1;
    return this.picked !== null && this.picked <= j.cases ? this.picked : j.passed ? 1 : j.case || 1;
  });
  row = $derived(this.listed.find((p) => p.puzzle === this.puzzle.number) ?? null);
  current = $derived(this.judged.value?.judgement.puzzle === this.puzzle.number ? this.judged.value : null);
  stale = $derived(this.current !== null && this.current.source !== this.answer);
  findings = $derived.by(() => {
    const known = this.diagnosed.value;
    return known?.source === this.answer ? known.findings : [];
  });
  opens = $derived(this.#failures.length >= openAfter);

  /** Takes the page's present puzzle and answer. */
  open(): void {
    const { number } = this.puzzle;
    const own = this.own;
    if (this.linked?.text === own) page.linked = null;
    const text = this.linked?.text ?? own;
    if (this.opened === number) {
      this.answer = text;
      return;
    }
    this.opened = number;
    this.answer = text;
    this.picked = null;
    this.#failures = [];
    this.judged.stop();
    this.judged.value = null;
    this.judged.problem = null;
  }

  /** Returns the reader's own answer, which the browser keeps. */
  get own(): string {
    const { number, starter } = this.puzzle;
    return this.#typed.get(number) ?? (stored(answerKey(number)) || starter);
  }

  type(text: string): void {
    this.answer = text;
    if (this.linked) {
      page.linked = { puzzle: this.opened, text };
      return;
    }
    this.#typed.set(this.opened, text);
    store(answerKey(this.opened), text === this.puzzle.starter ? "" : text);
  }

  /** Keeps the link's answer in place of the reader's own. */
  adopt(): void {
    page.linked = null;
    this.type(this.answer);
    this.judge(true);
  }

  shared(): { answer?: string } {
    return this.answer === this.puzzle.starter ? {} : { answer: this.answer };
  }

  /** Underlines the places of the compiler's and the static check's messages. */
  diagnose(): void {
    const source = this.answer;
    const name = this.fileName;
    this.diagnosed.ask(`${name}\n${source}`, async (signal) => {
      const options = { signal, accepts: [0, 1, 2] };
      const checked = await askJson<CheckedKernel[]>("keys", ["check", name, "--no-run", "--no-sim"], { [name]: source }, options);
      return { source, findings: checked.flatMap((k) => k.findings ?? []) };
    });
  }

  /** Judges the answer after a pause in typing, unless it is judged before. Returns a function that ends the pause. */
  judgeAfter(milliseconds: number): () => void {
    this.#endPause();
    return (this.#endPause = afterPause(milliseconds, () => this.judge(false)));
  }

  /** Judges the present answer. A judgement that the reader did not ask for counts as a try only if the answer passes. */
  judge(asked: boolean): void {
    this.#endPause();
    const source = this.answer;
    const name = this.fileName;
    const number = this.puzzle.number;
    const opens = this.opens;
    const linked = this.linked !== null;
    this.judged.ask(JSON.stringify([name, source, opens, linked, asked ? Date.now() : 0]), async (signal) => {
      const files = { [name]: source, [LEARN_FILE]: this.progress };
      const answer = await ask("runs", ["learn", String(number), name, "--json", ...(opens ? ["--open"] : [])], files, {
        wants: [LEARN_FILE],
        signal,
      });
      if (!answer.out.trim()) throw new Refused(answer.status, answer.err.trim(), answer.out);
      const judgement = JSON.parse(answer.out) as Judgement;
      if (!linked && (asked || judgement.passed)) this.#keep(answer.files[LEARN_FILE]);
      if (!judgement.passed && judgement.case_is === "hidden" && !this.#failures.includes(source)) {
        this.#failures = [...this.#failures, source];
        if (this.opens && !opens && this.answer === source) this.judge(false); // now with the case's arrays
      }
      return { source, judgement };
    });
  }

  /** Records that the next hint, or the solution, was shown; the engine keeps the record. */
  async note(option: "--hint" | "--solution"): Promise<void> {
    const args = ["learn", String(this.puzzle.number), option];
    const answer = await ask("keys", args, { [LEARN_FILE]: this.progress }, { wants: [LEARN_FILE] });
    this.#keep(answer.files[LEARN_FILE]);
  }

  /** Adds the progress of a file, and tells the reader. */
  async take(file: File): Promise<void> {
    const text = await underWay(file.text());
    if (!isProgress(text)) this.said = `${file.name} is not a file of progress, which begins with “# tilewright learn”.`;
    else {
      this.#set(merged(this.progress, text));
      this.said = `Taken from ${file.name}.`;
    }
  }

  async list(): Promise<void> {
    this.listed = await askJson<ListedPuzzle[]>("keys", ["learn"], { [LEARN_FILE]: this.progress });
  }

  #keep(file: Uint8Array | undefined): void {
    if (file) this.#set(merged(this.progress, new TextDecoder().decode(file)));
  }

  #set(text: string): void {
    this.progress = text;
    store(progressKey, text);
    void this.list();
  }
}

export const judge = new Judge();
