/** The questions that the engine is working on, in every mode. The page's one Stop ends them all. */
import { SvelteSet } from "svelte/reactivity";

export interface Question {
  /** A name of the question: "the run in the simulator". */
  readonly what: string;
  /** Progress between 0 and 1 if the engine reports it, else null. */
  readonly done: number | null;
  /** Ends it at once. */
  interrupt(): void;
}

/** Milliseconds after which the page shows that it waits. */
const patience = 1000;

class Waiting {
  #begun = new Map<Question, number>();
  #late = new SvelteSet<Question>();
  #now = $state(0);
  #clock: ReturnType<typeof setInterval> | undefined;

  /** Adds a question that was asked; the caller reports its end. */
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

  /** Returns the questions that have taken more than a second, the oldest first. */
  get late(): Question[] {
    return [...this.#late].sort((a, b) => this.#begun.get(a)! - this.#begun.get(b)!);
  }

  /** Returns progress and time: "34 %, 12 s". */
  far(question: Question): string {
    const seconds = `${Math.floor((this.#now - (this.#begun.get(question) ?? this.#now)) / 1000)} s`;
    return question.done === null ? seconds : `${Math.min(99, Math.round(question.done * 100))} %, ${seconds}`;
  }

  stop(): void {
    for (const question of [...this.#begun.keys()]) question.interrupt();
  }
}

export const waiting = new Waiting();
