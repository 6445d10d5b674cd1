/** Counts how often the threads of a launch read each element of its inputs, from the trace of its only block. */
import { elementBytes, type Trace } from "$engine/trace.ts";

export interface Reads {
  m: number;
  n: number;
  k: number;
  /** Row by row. */
  a: number[];
  b: number[];
}

export function readsOf(trace: Trace): Reads {
  const arrays = ["a", "b", "c"].map((name) => trace.head.arrays.find((x) => x.name === name)!);
  const counts = arrays.map((x) => new Array<number>(x.shape.reduce((p, q) => p * q, 1)).fill(0));
  for (let event = 0; event < trace.count; event++) {
    const site = trace.siteOf(event);
    if (trace.kindOf(event) !== "read" || site.space !== "global") continue;
    for (let lane = 0; lane < 32; lane++) if ((trace.mask[event]! >>> lane) & 1) count(trace.address(event, lane), site.bytes);
  }
  function count(address: number, bytes: number) {
    const i = arrays.findIndex((x) => address >= x.address && address < x.address + x.bytes);
    if (i < 0) return;
    const each = elementBytes(arrays[i]!.type);
    for (let at = 0; at < bytes; at += each) counts[i]![(address + at - arrays[i]!.address) / each]!++;
  }
  const [m, k] = arrays[0]!.shape as [number, number];
  return { m, k, n: arrays[1]!.shape[1]!, a: counts[0]!, b: counts[1]! };
}
