/** The questions that the engine is at, in every mode: the page's one Stop ends them all. */
import { SvelteSet } from "svelte/reactivity";

export interface Question {
  /** "the run in the simulator" */
  readonly what: string;
  /** Between 0 and 1 if the engine says how far it is. */
  readonly done: number | null;
  /** Ends it at once. */
  interrupt(): void;
}

/** Milliseconds after which the page says that it waits. */
const patience = 1000;

class Waiting {
  #begun = new Map<Question, number>();
  #late = new SvelteSet<Question>();
  #now = $state(0);
  #clock: ReturnType<typeof setInterval> | undefined;

  /** Notes that the question was asked; the caller tells its end. */
  begin(question: Question): void {
    if (this.#begun.has(question)) return;
    this.#begun.set(question, performance.now());
    this.#clock ??= setInterval(() => this.#tick(), 100);
  }

  end(question: Question): void {
    this.#begun.delete(question);
    this.#late.delete(question);
    if (this.#begun.size) return;
    clearInterval(this.#clock);
    this.#clock = undefined;
  }

  #tick(): void {
    this.#now = performance.now();
    for (const [question, begun] of this.#begun) if (this.#now - begun >= patience) this.#late.add(question);
  }

  /** The questions that have been under way for more than a second, the oldest first. */
  get late(): Question[] {
    return [...this.#late].sort((a, b) => this.#begun.get(a)! - this.#begun.get(b)!);
  }

  /** "34 %, 12 s" */
  far(question: Question): string {
    const seconds = `${Math.floor((this.#now - (this.#begun.get(question) ?? this.#now)) / 1000)} s`;
    return question.done === null ? seconds : `${Math.min(99, Math.round(question.done * 100))} %, ${seconds}`;
  }

  stop(): void {
    for (const question of [...this.#begun.keys()]) question.interrupt();
  }
}

export const waiting = new Waiting();
