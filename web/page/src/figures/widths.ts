/** Counts over the lines of PTX. */
import type { PtxLine } from "../app/results.ts";

export interface Width {
  /** ld.global, st.shared, ldmatrix … */
  name: string;
  /** Bytes that each lane moves, and the number of instructions that move them. */
  by: { bytes: number; count: number }[];
}

/** Counts the instructions that transfer bytes, by their first two words and their width. */
export function widthsOf(lines: PtxLine[]): Width[] {
  const found = new Map<string, Map<number, number>>();
  for (const l of lines) {
    if (!l.instruction || !l.bytes) continue;
    const words = l.instruction.split(".");
    const name = words[0] === "ldmatrix" || words[0] === "stmatrix" ? words[0] : words.slice(0, 2).join(".");
    const by = found.get(name) ?? found.set(name, new Map()).get(name)!;
    by.set(l.bytes, (by.get(l.bytes) ?? 0) + 1);
  }
  return [...found].map(([name, by]) => ({
    name,
    by: [...by].map(([bytes, count]) => ({ bytes, count })).sort((a, b) => b.bytes - a.bytes),
  }));
}
