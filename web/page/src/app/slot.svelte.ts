/** A result of the engine: the last good value, and the state of the latest question. */
import { Refused, Stopped } from "./engine.ts";
import { waiting, type Question } from "./waiting.svelte.ts";

export type Work<T> = (signal: AbortSignal, progress: (done: number) => void) => Promise<T>;

interface Options<T> {
  /** Milliseconds for which a question in progress may continue after a newer one comes. Stopping it costs the start of a worker. */
  grace?: number;
  /** Keeps at most `keep` answers, of at most `room` bytes if `sizeOf` returns their bytes. */
  keep?: number;
  room?: number;
  sizeOf?: (value: T) => number;
  /** Milliseconds after which a question is stopped, and advice to the reader: "Smaller sizes take less time." */
  limit?: { after: number; hint: string; then?: () => void };
}

export class Slot<T> implements Question {
  value = $state.raw<T | null>(null);
  /** The value belongs to an earlier question. */
  stale = $state(false);
  busy = $state(false);
  problem = $state<string | null>(null);
  /** The refusal whose text is `problem`. */
  refused = $state.raw<Refused | null>(null);
  /** Progress between 0 and 1 while the engine reports it, else null. */
  done = $state<number | null>(null);
  #running: { key: string; controller: AbortController } | null = null;
  #next: { key: string; work: Work<T>; asked: number } | null = null;
  #remembered = new Map<string, T>();
  #impatience: ReturnType<typeof setTimeout> | undefined;

  readonly #options: Options<T>;

  /** `name`: name of the time from question to answer in the browser's timeline. `what`: name of the answer in a card's text while it
   * waits. */
  constructor(
    readonly name: string,
    readonly what: string,
    options: Options<T> = {},
  ) {
    this.#options = options;
  }

  /** Asks the newest question. If several come while one is in progress, it asks only the last; the one in progress is not asked
   * again. */
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

  /** Marks the value as one of an earlier question, if there is no question to ask now. */
  outdate(): void {
    this.stop();
    this.stale = this.value !== null;
    this.problem = this.refused = null;
  }

  /** Stops the question at the reader's request, and shows that. */
  interrupt(): void {
    this.stop();
    this.#fail(new Error("Stopped before its end."));
  }

  /** Stops the question in progress and drops the next; the last good value stays. */
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
      // The problem of another text disappears if the answer takes long; if it did so at once, it would flicker while the reader types.
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
    // The newest answer always stays.
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
