/** The steps of a traced block as text: the output in lesson 2. */
import { elementAt, elementBytes, NO_EVENT } from "$engine/trace.ts";
import type { Stepper } from "./step_picture.ts";

/** Returns a number as the kernel's `print` writes it: the shortest text that reads back the same, with a point if the type has
 * fractions. */
export function printed(v: number, type: string): string {
  if (/^[iu]/.test(type) || type === "bool") return String(v);
  if (!Number.isFinite(v)) return Number.isNaN(v) ? "nan" : v < 0 ? "-inf" : "inf";
  let text = String(v);
  if (type !== "f64")
    for (let digits = 1; digits < 10; digits++) {
      const shorter = String(Number(v.toPrecision(digits)));
      if (Math.fround(Number(shorter)) === Math.fround(v)) {
        text = shorter;
        break;
      }
    }
  return /[.e]/.test(text) ? text : `${text}.0`;
}

/** Returns rows in brackets: [[0.0, 1.0], [6.0, 7.0]]. */
function nested(shape: number[], text: (i: number) => string, from = 0, separator = ", "): string {
  if (!shape.length) return text(from);
  const [n, ...rest] = shape as [number, ...number[]];
  const stride = rest.reduce((p, d) => p * d, 1);
  return `[${Array.from({ length: n }, (_, i) => nested(rest, text, from + i * stride)).join(separator)}]`;
}

/** The most values of a tile that are written; of larger tiles only the shape. */
const MOST = 4096;

export function stepsText(stepper: Stepper): string {
  const { trace, index, memory, registers } = stepper;
  const { head } = trace;
  const rank = Math.max(1, ...[head.grid, head.block].map((d) => (d[2] > 1 ? 3 : d[1] > 1 ? 2 : 1)));
  const block = `block (${head.traced.slice(0, rank).join(",")})`;
  const [bx, by] = head.block;
  const threadName = (t: number) => [t % bx, Math.floor(t / bx) % by, Math.floor(t / (bx * by))].slice(0, rank).join(",");
  const first = `${block} thread (${threadName(0)})`;
  const lines: string[] = [];

  const tiles = (e: number) => {
    memory.seek(e + 1);
    const view = new DataView(memory.shared.buffer, memory.shared.byteOffset, memory.shared.byteLength);
    const shown = head.shared.flatMap((v, i) => {
      if (!v.type || !v.shape.length) return [];
      const count = v.shape.reduce((p, d) => p * d, 1);
      if (count > MOST) return [`${v.type}[${v.shape.join("][")}]`];
      return [
        nested(v.shape, (n) => {
          const at = trace.sharedAddress(i, n);
          return memory.last[Math.floor(at / memory.grain)] === NO_EVENT ? "-" : printed(elementAt(view, at, v.type!), v.type!);
        }),
      ];
    });
    if (shown.length) lines.push(`${block} sync: tiles = ${shown.join(", ")}`);
  };
  const sums = (e: number) =>
    head.variables.forEach((v, i) => {
      if (registers.common[i]) return;
      const values = registers.at(i, e);
      if (v.shape.length) {
        if (values.length <= MOST) lines.push(`${block} compute: ${v.name} = ${nested(v.shape, (n) => printed(values[n]!, v.type))}`);
        return;
      }
      for (let t = 0; t < head.threads; t++)
        if (!Number.isNaN(values[t]!)) lines.push(`${block} thread (${threadName(t)}) compute: ${v.name} = ${printed(values[t]!, v.type)}`);
    });

  for (let turn = 0; turn < index.turns; turn++) {
    const [from, to] = index.turnRange(turn);
    if (from >= to) continue;
    lines.push(`${first} load: step = ${turn}`);
    const written = index.sharedWritten[to]! > index.sharedWritten[from]!;
    if (written) tiles(lastTileEvent(stepper, from, to));
    // A turn's snapshots are those of its own end, which the last warp reaches after the first has begun the next turn.
    sums(lastOfTurn(stepper, turn));
    lines.push(`${first} sync: operations so far = ${index.flops[to]!}`);
  }
  memory.seek(trace.count);
  for (const a of index.arrays) {
    const bytes = memory.arrays[a.number];
    if (!a.written || !bytes || !a.array.type) continue;
    const type = a.array.type;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const shape = a.array.shape;
    const text = nested(shape, (i) => printed(elementAt(view, i * elementBytes(type), type), type), 0, shape.length > 1 ? ",\n " : ", ");
    lines.push(`${a.array.name}: ${type}${shape.map((d) => `[${d}]`).join("")}`, text);
  }
  return lines.join("\n") + "\n";
}

/** Returns the last event of a turn at which its tiles are complete and not yet overwritten: the one before its first read of shared
 * memory. */
function lastTileEvent(stepper: Stepper, from: number, to: number): number {
  const { trace, index } = stepper;
  const before = index.sharedWritten;
  for (let e = to - 1; e >= from; e--) {
    const writes = before[e + 1]! > before[e]!;
    if (writes && trace.siteOf(e).space === "shared") return e;
  }
  return to - 1;
}

function lastOfTurn(stepper: Stepper, turn: number): number {
  const { trace } = stepper;
  const per = new Map<number, number>();
  let last = trace.count - 1;
  let found = false;
  const seen = new Set<number>();
  for (const e of trace.snapshotEvent) {
    if (seen.has(e) || trace.kindOf(e) !== "turn") continue;
    seen.add(e);
    const done = per.get(trace.warp[e]!) ?? 0;
    per.set(trace.warp[e]!, done + 1);
    if (done === turn) {
      last = e;
      found = true;
    }
  }
  return found ? last : trace.count - 1;
}
