/** Play, pause and steps of the selected event. Playing only changes `program.event`. */
import { program } from "../app/program.svelte.ts";
import type { StepIndex } from "../figures/step_index.ts";
import { neighbour, type Unit } from "../figures/step_walk.ts";

/** Seconds that playing a whole trace takes, at speed 1. */
const durationOf = (events: number) => Math.min(40, Math.max(12, events / 3));

export class Player {
  playing = $state(false);
  unit = $state<Unit>("event");
  speed = $state(1);
  #frame = 0;
  #before = 0;
  #owed = 0;

  constructor(readonly index: () => StepIndex | null) {}

  toggle(): void {
    if (this.playing) return this.stop();
    const index = this.index();
    if (!index) return;
    if (program.event >= index.count - 1) program.event = 0;
    this.playing = true;
    this.#before = performance.now();
    this.#owed = 0;
    this.#frame = requestAnimationFrame((now) => this.#tick(now));
  }

  stop(): void {
    this.playing = false;
    cancelAnimationFrame(this.#frame);
  }

  step(direction: 1 | -1, unit: Unit = this.unit): void {
    this.stop();
    const index = this.index();
    if (index) program.event = neighbour(index, program.event, unit, direction);
  }

  to(event: number): void {
    this.stop();
    const index = this.index();
    if (index) program.event = Math.max(0, Math.min(index.count - 1, event));
  }

  #tick(now: number): void {
    const index = this.index();
    if (!index || !this.playing) return this.stop();
    const seconds = Math.min(0.1, (now - this.#before) / 1000);
    this.#before = now;
    const each = this.unit === "event" ? index.count / durationOf(index.count) : this.unit === "phase" ? 1.5 : 1;
    this.#owed += seconds * each * this.speed;
    let event = program.event;
    for (; this.#owed >= 1 && event < index.count - 1; this.#owed--) event = neighbour(index, event, this.unit, 1);
    if (event !== program.event) program.event = event;
    if (event >= index.count - 1) return this.stop();
    this.#frame = requestAnimationFrame((t) => this.#tick(t));
  }
}
