/** The values of named registers, as the snapshots at the ends of turns have them. */
import { elementAt, elementBytes, type Trace } from "$engine/trace.ts";
import { upTo } from "./step_index.ts";

export class RegisterValues {
  /** For each variable and warp, the snapshots in order and their events. */
  readonly #events: number[][][];
  readonly #snapshots: number[][][];
  readonly #most: (number | null)[] = [];

  constructor(readonly trace: Trace) {
    const { head } = trace;
    const lists = () => head.variables.map(() => Array.from({ length: head.warps }, (): number[] => []));
    this.#events = lists();
    this.#snapshots = lists();
    trace.snapshotEvent.forEach((e, i) => {
      const variable = trace.snapshotVariable[i]!;
      const warp = trace.warp[e]!;
      this.#events[variable]?.[warp]?.push(e);
      this.#snapshots[variable]?.[warp]?.push(i);
    });
  }

  /** A tile's own shape; a scalar has one value for each thread of the block. */
  shapeOf(variable: number): number[] {
    const v = this.trace.head.variables[variable]!;
    if (v.shape.length) return v.shape;
    const [x, y, z] = this.trace.head.block;
    return z > 1 ? [z, y, x] : [y, x];
  }

  /** Names the snapshots that are the newest at `e`: equal keys have equal values. */
  keyOf(variable: number, e: number): string {
    return this.#events[variable]!.map((events) => upTo(events, e)).join();
  }

  /** The values by element, or by thread, once the events up to `e` are over; NaN: not known. `most`: the largest at the end. */
  at(variable: number, e: number): { values: Float64Array; most: number } {
    const values = this.#valuesAt(variable, e);
    let most = this.#most[variable];
    if (most === undefined || most === null) {
      const last = this.#valuesAt(variable, this.trace.count);
      most = last.reduce((m, v) => (Number.isFinite(v) ? Math.max(m, Math.abs(v)) : m), 0);
      this.#most[variable] = most;
    }
    return { values, most };
  }

  #valuesAt(variable: number, e: number): Float64Array {
    const { trace } = this;
    const v = trace.head.variables[variable]!;
    const values = new Float64Array(this.shapeOf(variable).reduce((p, d) => p * d, 1)).fill(NaN);
    const size = elementBytes(v.type) || v.word_bytes;
    const perWord = Math.max(1, Math.floor(v.word_bytes / size));
    const held = v.registers.length * perWord;
    for (let warp = 0; warp < trace.head.warps; warp++) {
      const known = upTo(this.#events[variable]![warp]!, e);
      if (!known) continue;
      const { bytes } = trace.snapshot(this.#snapshots[variable]![warp]![known - 1]!);
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      for (let lane = 0; lane < 32; lane++) {
        if (v.elements === null) {
          const thread = 32 * warp + lane;
          if (thread < values.length) values[thread] = elementAt(view, lane * v.word_bytes, v.type);
          continue;
        }
        for (let j = 0; j < held; j++) {
          const element = trace.elements[v.elements + (warp * 32 + lane) * held + j]!;
          if (element < 0) continue;
          const at = (Math.floor(j / perWord) * 32 + lane) * v.word_bytes + (j % perWord) * size;
          values[element] = elementAt(view, at, v.type);
        }
      }
    }
    return values;
  }
}
