/** The program's state in the link's fragment: JSON, deflated, in the alphabet of URLs. */
import { deflateSync, inflateSync, strFromU8, strToU8 } from "fflate";
import { kernels } from "virtual:content";

export type Mode = "bench" | "lesson" | "puzzle";
export interface Shared {
  mode: Mode;
  /** Name of the file, and its text unless it is a shipped kernel that was not changed. */
  file: string;
  source?: string;
  kernel?: string;
  sizes?: Record<string, number>;
  tune?: Record<string, number>;
  types?: Record<string, string>;
  device?: string;
  scale?: number;
  seed?: number;
  block?: number[];
  event?: number;
  line?: number;
  lesson?: number;
  puzzle?: number;
  embed?: string;
}

/** Longer links are refused by some programs that pass them on: the caller offers a file. */
export const longest = 8192;

export function toFragment(state: Shared): string {
  const shipped = kernels.find((k) => k.path === state.file);
  const { source, ...rest } = state;
  const short = shipped && shipped.text === source ? rest : state;
  const bytes = deflateSync(strToU8(JSON.stringify(short)), { level: 9 });
  let text = "";
  for (const b of bytes) text += String.fromCharCode(b);
  return "1" + btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Returns null for a fragment that is none of ours. */
export function fromFragment(fragment: string): Shared | null {
  if (!fragment.startsWith("1")) return null;
  try {
    const text = atob(fragment.slice(1).replaceAll("-", "+").replaceAll("_", "/"));
    const state = JSON.parse(strFromU8(inflateSync(Uint8Array.from(text, (c) => c.charCodeAt(0))))) as Shared;
    const shipped = kernels.find((k) => k.path === state.file);
    return { ...state, source: state.source ?? shipped?.text };
  } catch {
    return null;
  }
}
