/** The program's state in the link's fragment: JSON, deflated, in the alphabet of URLs. */
import { deflateSync, inflateSync, strFromU8, strToU8 } from "fflate";
import { kernels } from "virtual:content";
import type { PtxLaunch } from "./ptx.ts";

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
  launch?: PtxLaunch;
  device?: string;
  scale?: number;
  seed?: number;
  late?: boolean;
  block?: number[];
  event?: number;
  line?: number;
  lesson?: number;
  puzzle?: number;
  embed?: string;
  /** The card that is scrolled to. */
  card?: string;
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

/** Reads a link's fragment: deflated JSON behind "1", JSON behind "0" (both in base64), or words as in `kernel=tiled&line=17&set=m:64`.
 * Returns null if it is none of these. */
export function fromFragment(fragment: string): Partial<Shared> | null {
  try {
    if (fragment.startsWith("1")) return withSource(JSON.parse(strFromU8(inflateSync(bytesOf(fragment.slice(1))))));
    if (fragment.startsWith("0")) return withWords(JSON.parse(strFromU8(bytesOf(fragment.slice(1)))));
  } catch {
    return null;
  }
  return fragment.includes("=") ? fromWords(fragment) : null;
}

/** The state that `tilewright play` put into the page. */
export function fromGiven(): Partial<Shared> | null {
  const given = document.getElementById("given")?.textContent;
  if (!given) return null;
  return withWords(JSON.parse(given));
}

/** The words of `query` replace the members that they name. */
function withWords(given: Partial<Shared> & { query?: string }): Partial<Shared> {
  const { query, ...state } = given;
  return withSource({ ...state, ...(query ? fromWords(query) : {}) });
}

function withSource(state: Partial<Shared>): Partial<Shared> {
  const shipped = kernels.find((k) => k.path === state.file);
  return { ...state, source: state.source ?? shipped?.text };
}

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
}

function fromWords(text: string): Partial<Shared> {
  const words = new URLSearchParams(text);
  const number = (key: string) => (words.has(key) ? Number(words.get(key)) : undefined);
  const pairs = (key: string) =>
    Object.fromEntries(words.getAll(key).flatMap((v) => v.split(",").map((p) => p.split(":") as [string, string])));
  const numbers = (key: string) => Object.fromEntries(Object.entries(pairs(key)).map(([k, v]) => [k, Number(v)]));
  const kernel = kernels.find((k) => k.path === words.get("kernel") || k.name === words.get("kernel"));
  const state: Partial<Shared> = {
    ...(kernel ? { file: kernel.path, source: kernel.text } : {}),
    ...(words.has("set") ? { sizes: numbers("set") } : {}),
    ...(words.has("tune") ? { tune: numbers("tune") } : {}),
    ...(words.has("type") ? { types: pairs("type") } : {}),
    ...(words.has("block") ? { block: words.get("block")!.split(",").map(Number) } : {}),
    ...(words.has("device") ? { device: words.get("device")! } : {}),
    ...(words.has("embed") ? { embed: words.get("embed")! } : {}),
    ...(words.has("card") ? { card: words.get("card")! } : {}),
    line: number("line"),
    event: number("event"),
    seed: number("seed"),
    scale: number("scale"),
  };
  if (words.has("lesson")) Object.assign(state, { mode: "lesson", lesson: number("lesson")! - 1 });
  if (words.has("puzzle")) Object.assign(state, { mode: "puzzle", puzzle: number("puzzle") });
  return Object.fromEntries(Object.entries(state).filter(([, v]) => v !== undefined));
}
