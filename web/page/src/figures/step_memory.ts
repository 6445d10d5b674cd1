/** Shared memory at any event: its bytes, the event that last wrote each, and the number of reads of each since then. Copies of the state
 * every few events make a jump as cheap as a step; a step back is a jump. */
import { elementBytes, NO_EVENT, type Trace } from "$engine/trace.ts";

const READ = 0;
const BUDGET = 48 << 20;
/** The most elements of an array whose values are kept, so that cells can show them. */
const SMALL_ARRAY = 1024;

interface Keyframe {
  shared: Uint8Array;
  last: Uint32Array;
  reads: Uint16Array;
  arrays: (Uint8Array | null)[];
}

export class StepMemory {
  readonly shared: Uint8Array;
  /** Bytes that share an entry of `last` and `reads`: the smallest element. */
  readonly grain: number;
  readonly last: Uint32Array;
  readonly reads: Uint16Array;
  /** The values of small arrays; null: not known. */
  readonly arrays: (Uint8Array | null)[];
  /** The number of events that the state includes. */
  at = 0;
  readonly every: number;
  readonly #keyframes: Keyframe[] = [];
  readonly #valueRow: Uint32Array;

  constructor(readonly trace: Trace) {
    const { head } = trace;
    const sizes = head.shared.map((v) => elementBytes(v.type) || 4);
    const narrowest = head.sites.filter((s) => s.space === "shared" && s.bytes).map((s) => s.bytes);
    this.grain = Math.min(4, ...sizes, ...narrowest);
    this.shared = new Uint8Array(head.shared_bytes);
    this.shared.set(trace.sharedAtStart.subarray(0, head.shared_bytes));
    const grains = Math.ceil(head.shared_bytes / this.grain);
    this.last = new Uint32Array(grains).fill(NO_EVENT);
    this.reads = new Uint16Array(grains);
    this.arrays = head.arrays.map((a) =>
      a.initial !== null && a.bytes <= SMALL_ARRAY * (elementBytes(a.type) || 4)
        ? trace.initial.slice(a.initial, a.initial + a.bytes)
        : null,
    );
    const small = this.arrays.reduce((sum, a) => sum + (a?.length ?? 0), 0);
    const bytes = head.shared_bytes + 6 * grains + small + 64;
    this.every = Math.max(1024, Math.ceil((trace.count * bytes) / BUDGET));
    this.#valueRow = new Uint32Array(trace.count).fill(NO_EVENT);
    trace.valueEvent.forEach((e, i) => (this.#valueRow[e] = trace.valueStart[i]!));
    this.#keep();
  }

  #keep(): void {
    this.#keyframes.push({
      shared: this.shared.slice(),
      last: this.last.slice(),
      reads: this.reads.slice(),
      arrays: this.arrays.map((a) => a?.slice() ?? null),
    });
  }

  /** Goes to the state after the first `events` events. */
  seek(events: number): void {
    const target = Math.max(0, Math.min(events, this.trace.count));
    const frame = Math.min(this.#keyframes.length - 1, Math.floor(target / this.every));
    if (target < this.at || frame * this.every > this.at) {
      const kept = this.#keyframes[frame]!;
      this.shared.set(kept.shared);
      this.last.set(kept.last);
      this.reads.set(kept.reads);
      this.arrays.forEach((a, i) => a?.set(kept.arrays[i]!));
      this.at = frame * this.every;
    }
    while (this.at < target) {
      this.#apply(this.at++);
      if (this.at === this.#keyframes.length * this.every) this.#keep();
    }
  }

  /** Makes the next copy of the state, so that later jumps are short. Returns whether there are more to make. */
  prepare(): boolean {
    const next = this.#keyframes.length * this.every;
    if (next <= this.trace.count) this.seek(next);
    return this.#keyframes.length * this.every <= this.trace.count;
  }

  /** Returns the average number of reads, since they were written, of the bytes in shared memory. */
  reuse(): number {
    let held = 0;
    let reads = 0;
    for (let g = 0; g < this.last.length; g++) {
      if (this.last[g] === NO_EVENT) continue;
      held++;
      reads += this.reads[g]!;
    }
    return held ? reads / held : 0;
  }

  #apply(e: number): void {
    const { trace, grain } = this;
    const kind = trace.kind[e]!;
    if (kind > 2) return;
    const site = trace.head.sites[trace.site[e]!]!;
    if (site.space === "global") {
      if (kind !== READ) this.#store(e, site.bytes);
      return;
    }
    if (site.space !== "shared") return;
    const mask = trace.mask[e]!;
    let from = this.#valueRow[e]!;
    const known = kind !== READ && from !== NO_EVENT;
    for (let lane = 0; lane < 32; lane++) {
      if (!((mask >>> lane) & 1)) continue;
      const address = trace.address(e, lane);
      const end = Math.ceil((address + site.bytes) / grain);
      for (let g = Math.floor(address / grain); g < end; g++) {
        if (kind === READ) this.reads[g]!++;
        else {
          this.last[g] = e;
          this.reads[g] = 0;
        }
      }
      if (known) for (let i = 0; i < site.bytes; i++) this.shared[address + i] = trace.values[from + i]!;
      from += site.bytes;
    }
  }

  #store(e: number, bytes: number): void {
    const { trace } = this;
    const { arrays } = trace.head;
    let from = this.#valueRow[e]!;
    if (from === NO_EVENT) return;
    const mask = trace.mask[e]!;
    for (let lane = 0; lane < 32; lane++) {
      if (!((mask >>> lane) & 1)) continue;
      const address = trace.address(e, lane);
      const i = arrays.findIndex((a) => address >= a.address && address < a.address + a.bytes);
      const kept = i < 0 ? null : this.arrays[i];
      if (kept) kept.set(trace.values.subarray(from, from + bytes), address - arrays[i]!.address);
      from += bytes;
    }
  }
}
