/** Bytes that loads transfer, counted in the six ways of `explain`, each after another part of the GPU has merged requests. */
import type { Explained } from "../app/results.ts";

export interface Way {
  id: "thread" | "element" | "warp" | "L2" | "memory" | "compulsory";
  name: string;
  says: string;
  loads: number | null;
  /** Loads and stores. */
  both: number;
}

export function waysOf(row: Explained): Way[] {
  const l2 = row.traffic.find((t) => t.level === "L2")!;
  const memory = row.traffic.find((t) => t.level === "HBM")!;
  return [
    { id: "thread", name: "threads ask for", says: "each thread’s own elements", loads: l2.read_by_thread, both: l2.by_thread },
    {
      id: "element",
      name: "warps, by element",
      says: "sectors of 32 bytes, an element at a time",
      loads: l2.read_by_element,
      both: l2.read_by_element + l2.written_by_element,
    },
    { id: "warp", name: "warps, by request", says: "sectors of 32 bytes, each vector once", loads: l2.read_by_request, both: l2.by_request },
    { id: "L2", name: "from L2", says: "sectors that L1 did not have", loads: l2.read[1], both: l2.moved[1] },
    { id: "memory", name: "from memory", says: "sectors that L2 did not have", loads: memory.read[1], both: memory.moved[1] },
    { id: "compulsory", name: "compulsory", says: "each array once, outputs too", loads: null, both: memory.compulsory },
  ];
}

/** Bytes that threads load at each value of a tuned name. */
export interface Loads {
  value: number;
  loads: number;
}

/** Returns 2 M N K / T elements, the loads of square tiles, for each value T. `each`: bytes of an element of A and of B. Null unless the
 * counts agree within a hundredth at the smallest T, where other loads weigh least; otherwise the name is not a side of square tiles. */
export function closedForm(counted: Loads[], n: number, each: [number, number]): number[] | null {
  const line = counted.map((c) => ((each[0] + each[1]) * n ** 3) / c.value);
  const least = counted.findIndex((c) => c.value === Math.min(...counted.map((o) => o.value)));
  return counted.length > 1 && Math.abs(counted[least]!.loads / line[least]! - 1) < 0.01 ? line : null;
}
