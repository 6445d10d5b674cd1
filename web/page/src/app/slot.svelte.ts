/** A result of the engine: the last good value, and what became of the latest question. */
import { Refused, Stopped } from "./engine.ts";
import { waiting, type Question } from "./waiting.svelte.ts";

export type Work<T> = (signal: AbortSignal, progress: (done: number) => void) => Promise<T>;

interface Options<T> {
  /** Milliseconds that a question under way is given when a newer one comes, before it is stopped: stopping costs the start of a worker. */
  grace?: number;
  /** At most `keep` answers are remembered, of at most `room` bytes if `sizeOf` tells their bytes. */
  keep?: number;
  room?: number;
  sizeOf?: (value: T) => number;
  /** Milliseconds after which a question is stopped, and the way out: "Smaller sizes take less time." */
  limit?: { after: number; hint: string; then?: () => void };
}

export class Slot<T> implements Question {
  value = $state.raw<T | null>(null);
  /** The value is of an earlier question. */
  stale = $state(false);
  busy = $state(false);
  problem = $state<string | null>(null);
  /** The refusal that `problem` is the text of. */
  refused = $state.raw<Refused | null>(null);
  /** Between 0 and 1 while the engine says how far it is, else null. */
  done = $state<number | null>(null);
  #running: { key: string; controller: AbortController } | null = null;
  #next: { key: string; work: Work<T>; asked: number } | null = null;
  #remembered = new Map<string, T>();
  #impatience: ReturnType<typeof setTimeout> | undefined;

  readonly #options: Options<T>;

  /** `name`: of the measure in the browser's timeline, from the question to its answer. `what`: the answer as a card says that it
   * waits for it. */
  constructor(
    readonly name: string,
    readonly what: string,
    options: Options<T> = {},
  ) {
    this.#options = options;
  }

  /** Asks the newest question. Of several that come while one is under way, the last alone is asked; the one that is under way is
   * not asked again. */
  ask(key: string, work: Work<T>): void {
    if (this.#running?.key === key && !this.#running.controller.signal.aborted) {
      this.#next = null;
      this.#calm();
      return;
    }
    this.#next = { key, work, asked: performance.now() };
    if (!this.#running) void this.#start();
    else this.#impatience ??= setTimeout(() => this.#running?.controller.abort(), this.#options.grace ?? 150);
  }

  /** Marks the value as one of an earlier question: there is nothing to ask now. */
  outdate(): void {
    this.stop();
    this.stale = this.value !== null;
    this.problem = this.refused = null;
  }

  /** Stops at the reader's wish, and says so. */
  interrupt(): void {
    this.stop();
    this.#fail(new Error("Stopped before its end."));
  }

  /** Stops the question under way and forgets the next; the last good value stays. */
  stop(): void {
    this.#next = null;
    this.#running?.controller.abort();
  }

  #tooLong(): void {
    const { after, hint, then } = this.#options.limit!;
    this.stop();
    this.#fail(new Error(`Stopped after ${after / 1000} seconds. ${hint}`));
    then?.();
  }

  #calm(): void {
    clearTimeout(this.#impatience);
    this.#impatience = undefined;
  }

  async #start(): Promise<void> {
    while (this.#next) {
      const { key, work, asked } = this.#next;
      this.#next = null;
      const known = this.#remembered.get(key);
      if (known !== undefined) {
        this.#settle(known);
        continue;
      }
      const controller = new AbortController();
      this.#running = { key, controller };
      this.busy = true;
      this.done = null;
      this.stale = this.value !== null;
      waiting.begin(this);
      const { limit } = this.#options;
      const end = limit && setTimeout(() => this.#tooLong(), limit.after);
      // The problem of another text goes when the answer takes its time; at once, it would flicker while the reader types.
      const outdated = setTimeout(() => (this.problem = this.refused = null), 300);
      try {
        const value = await work(controller.signal, (done) => (this.done = done));
        this.#remember(key, value);
        performance.measure(this.name, { start: asked });
        if (!this.#next && !controller.signal.aborted) this.#settle(value);
      } catch (error) {
        if (!this.#next && !(error instanceof Stopped)) this.#fail(error);
      }
      this.#calm();
      clearTimeout(end);
      clearTimeout(outdated);
      waiting.end(this);
      this.#running = null;
    }
    this.busy = false;
    this.done = null;
  }

  #remember(key: string, value: T): void {
    this.#remembered.set(key, value);
    const { keep = 24, room = 32 << 20, sizeOf = () => 0 } = this.#options;
    let size = 0;
    // The newest always stays.
    for (const [old, kept] of [...this.#remembered].reverse()) {
      size += sizeOf(kept);
      if (old !== key && size > room) this.#remembered.delete(old);
    }
    if (this.#remembered.size > keep) this.#remembered.delete(this.#remembered.keys().next().value!);
  }

  #settle(value: T): void {
    this.value = value;
    this.stale = false;
    this.problem = this.refused = null;
  }

  #fail(error: unknown): void {
    this.stale = this.value !== null;
    this.refused = error instanceof Refused ? error : null;
    this.problem = error instanceof Refused ? error.text : error instanceof Error ? error.message : String(error);
  }
}
