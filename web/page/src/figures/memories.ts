/** The memories of a GPU from `explain --device --json`, from the nearest to the farthest. */
import type { Gpu } from "../app/results.ts";

export interface Memory {
  name: string;
  holder: string;
  bytes: number;
  /** Bytes a second of the whole GPU; null: the model has no roof for it. */
  bandwidth: number | null;
  /** Cycles from a load to its result; null: loads do not use it. */
  latency: number | null;
}

export type GpuWithLatencies = Gpu & {
  registers: number;
  shared_of_multiprocessor: number;
  l1_bytes: number;
  shared_latency: number;
  l1_latency: number;
  l2_latency: number;
  memory_latency: number;
};

export function memoriesOf(gpu: GpuWithLatencies): Memory[] {
  return [
    { name: "registers", holder: "of a multiprocessor", bytes: 4 * gpu.registers, bandwidth: null, latency: null },
    {
      name: "shared memory",
      holder: "of a multiprocessor",
      bytes: gpu.shared_of_multiprocessor,
      bandwidth: gpu.shared_bandwidth,
      latency: gpu.shared_latency,
    },
    { name: "L1", holder: "with shared memory", bytes: gpu.l1_bytes, bandwidth: gpu.shared_bandwidth, latency: gpu.l1_latency },
    { name: "L2", holder: "of the GPU", bytes: gpu.l2_bytes, bandwidth: gpu.l2_bandwidth[2], latency: gpu.l2_latency },
    { name: "memory", holder: "of the GPU", bytes: gpu.memory_bytes, bandwidth: gpu.memory_bandwidth, latency: gpu.memory_latency },
  ];
}
