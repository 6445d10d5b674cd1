/** Reads a file that the reader chose or dropped. */
import { underWay } from "./under_way.ts";

const mostBytes = 1 << 20;

/** Returns the file's text, or null and the reason that the page cannot show it. */
export async function textOf(file: File): Promise<{ text: string; why: null } | { text: null; why: string }> {
  if (file.size > mostBytes) return { text: null, why: `${file.name} has more than 1 MiB: open a kernel’s source or its PTX.` };
  const text = await underWay(file.text());
  if (text.includes("\0")) return { text: null, why: `${file.name} is not text: open a .tile, .cu or .ptx file.` };
  return { text, why: null };
}
