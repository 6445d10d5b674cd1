/** PTX of other compilers: the launch that the reader chooses for one of its kernels. */
import type { PtxKernel } from "./results.ts";

export interface PtxLaunch {
  kernel: string;
  grid: string;
  block: string;
  /** One argument for each parameter, in the form of `--arg`. */
  args: string[];
}

const elements = 1024;

/** Returns the initial argument: a random array of 1,024 floats for 64 bits, 1,024 for 32, a struct of zeros. */
function firstArgument({ type, bytes }: PtxKernel["parameters"][number]): string {
  const element = type.slice(1);
  if (element.includes("[")) return `bytes:${"00".repeat(bytes)}`;
  if (element.startsWith("f")) return `${element}:1`;
  if (bytes === 8) return `f32[${elements}]:rand`;
  return bytes === 4 ? `i32:${elements}` : `i${8 * bytes}:1`;
}

/** Returns the initial launch: one block with the number of threads that the kernel asks for. */
export function firstLaunch(kernel: PtxKernel): PtxLaunch {
  const block = kernel.block.length ? kernel.block.join(",") : "128";
  return { kernel: kernel.kernel, grid: "1", block, args: kernel.parameters.map(firstArgument) };
}

export const isPtx = (file: string) => file.endsWith(".ptx");
