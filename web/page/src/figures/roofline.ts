/** The roofline of one GPU with a point for each configuration, counted at one level (Williams, Waterman, Patterson, 2009). */
import type { Explained, Explanation, Gpu } from "../app/results.ts";

export const levels = [
  { id: "thread", name: "thread", says: "each thread’s own loads" },
  { id: "warp", name: "warp", says: "loads of a warp, in sectors of 32 bytes" },
  { id: "L2", name: "L2", says: "bytes that L2 moves" },
  { id: "memory", name: "memory", says: "bytes that the memory moves" },
] as const;
export type Level = (typeof levels)[number]["id"];

export interface Point {
  label: string;
  /** FLOPs a byte at the level. */
  intensity: number;
  /** FLOPs a second: least, likely, most; all are the roof at the intensity if it cannot launch. */
  rate: [number, number, number];
  launches: boolean;
  current: boolean;
  why: string;
  row: Explained;
}

export function bytesAt(row: Explained, level: Level): number {
  const l2 = row.traffic.find((t) => t.level === "L2");
  const memory = row.traffic.find((t) => t.level === "HBM");
  if (!l2 || !memory) return 0;
  if (level === "thread") return l2.read_by_thread;
  if (level === "warp") return l2.read_by_request;
  return level === "L2" ? l2.moved[1] : memory.moved[1];
}

export function bandwidthOf(gpu: Gpu, level: Level): number {
  return level === "L2" ? gpu.l2_bandwidth[1] : gpu.memory_bandwidth;
}

export function pointsOf(e: Explanation, level: Level, name: string | null, current: number | null): Point[] {
  return e.kernels.flatMap((row) => {
    const bytes = bytesAt(row, level);
    if (!row.flops || !bytes) return [];
    const intensity = row.flops / bytes;
    const roof = Math.min(row.peak || e.gpu.f32, intensity * bandwidthOf(e.gpu, level));
    const value = name === null ? null : row.tune[name];
    if (value === undefined) return []; // the sweep still belongs to another kernel
    return [
      {
        label: name === null ? row.name : `${name}=${value}`,
        intensity,
        rate: row.launches ? row.flops_per_second : [roof, roof, roof],
        launches: row.launches,
        current: name === null || value === current,
        why: row.launches ? row.verdict : (row.why_not ?? ""),
        row,
      },
    ];
  });
}
