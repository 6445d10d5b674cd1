/** The values of named registers, from the snapshots at the ends of turns. */
import { elementAt, elementBytes, type Trace } from "$engine/trace.ts";
import { upTo } from "./step_index.ts";

export class RegisterValues {
  /** For each variable and warp, the snapshots in order and their events. */
  readonly #events: number[][][];
  readonly #snapshots: number[][][];
  /** True for an integer that is equal in all threads of a warp, such as a stage's number. */
  readonly common: boolean[];

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
    this.common = head.variables.map((v, i) => {
      if (v.shape.length || !/^[iu]/.test(v.type)) return false;
      return this.#snapshots[i]!.every((list) => list.every((n) => this.#isCommon(n)));
    });
  }

  #isCommon(snapshot: number): boolean {
    const { bytes, event } = this.trace.snapshot(snapshot);
    const mask = this.trace.mask[event]!;
    const lowest = 31 - Math.clz32(mask & -mask);
    const each = bytes.length / 32;
    for (let lane = 0; lane < 32; lane++)
      if ((mask >>> lane) & 1) for (let b = 0; b < each; b++) if (bytes[lane * each + b] !== bytes[lowest * each + b]) return false;
    return true;
  }

  /** Returns a tile's own shape; for a scalar, one element for each thread of the block. */
  shapeOf(variable: number): number[] {
    const v = this.trace.head.variables[variable]!;
    if (v.shape.length) return v.shape;
    const [x, y, z] = this.trace.head.block;
    return z > 1 ? [z, y, x] : [y, x];
  }

  /** Returns a key of the newest snapshots at `e`: equal keys mean equal values. */
  keyOf(variable: number, e: number): string {
    return this.#events[variable]!.map((events) => upTo(events, e)).join();
  }

  /** Returns the values by element, or by thread, after the events up to `e`; NaN: not known. */
  at(variable: number, e: number): Float64Array {
    return this.#valuesAt(variable, e);
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
