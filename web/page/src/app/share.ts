/** The program's state in the link's fragment: JSON, deflated, in the alphabet of URLs. */
import { deflateSync, inflateSync, strFromU8, strToU8 } from "fflate";
import { kernels } from "virtual:content";
import type { Settings } from "./asks.ts";
import { devices } from "./devices.ts";
import type { PtxLaunch } from "./ptx.ts";

export type Mode = "bench" | "lesson" | "puzzle";
export interface Shared {
  mode: Mode;
  /** Name of the file, and its text unless it is an unchanged kernel that ships. */
  file: string;
  source?: string;
  kernel?: string;
  sizes?: Settings;
  tune?: Record<string, number>;
  types?: Record<string, string>;
  launch?: PtxLaunch;
  device?: string;
  scale?: number;
  seed?: number;
  landing?: string;
  fill?: "rand" | "iota";
  /** The puzzle and the number of the case that the sizes are from: runs get its arrays. */
  case?: number[];
  /** Runs watch for races, whatever the static check finds. */
  watch?: boolean;
  block?: number[];
  event?: number;
  line?: number;
  lesson?: number;
  puzzle?: number;
  /** An answer to that puzzle. */
  answer?: string;
  embed?: string;
  /** The card that the page scrolls to. */
  card?: string;
}

const isText = (v: unknown): v is string => typeof v === "string";
const isWhole = (v: unknown): v is number => Number.isSafeInteger(v) && (v as number) >= 0;
const isNumber = (v: unknown): v is number => Number.isSafeInteger(v);
/** True for a number, also as text, and for true and false. */
const isSetting = (v: unknown) => (isText(v) ? v === "true" || v === "false" || (v !== "" && Number.isFinite(+v)) : Number.isFinite(v));
const each = (is: (v: unknown) => boolean) => (v: unknown) => v !== null && typeof v === "object" && Object.values(v).every(is);
const listOf = (is: (v: unknown) => boolean) => (v: unknown) => Array.isArray(v) && v.every(is);
const oneOf =
  (...words: string[]) =>
  (v: unknown) =>
    isText(v) && words.includes(v);

/** A check for each member of a link, because a link may come from anywhere. */
const allowed: { [K in keyof Required<Shared>]: (v: unknown) => boolean } = {
  mode: oneOf("bench", "lesson", "puzzle"),
  file: (v) => isText(v) && /[^/]$/.test(v),
  source: isText,
  kernel: isText,
  sizes: each(isSetting),
  tune: each(isNumber),
  types: each(isText),
  launch: (v) => each(() => true)(v) && isLaunch(v as PtxLaunch),
  device: (v) => devices.some((d) => d.id === v),
  scale: (v) => isWhole(v) && v > 0,
  seed: isWhole,
  landing: (v) => typeof v === "string" && /^(early|late|[1-9]\d{0,8})$/.test(v),
  fill: oneOf("rand", "iota"),
  case: (v) => listOf(isWhole)(v) && (v as number[]).length === 2,
  watch: (v) => typeof v === "boolean",
  block: (v) => listOf(isWhole)(v) && (v as number[]).length === 3,
  event: isWhole,
  line: (v) => isWhole(v) && v > 0,
  lesson: isWhole,
  puzzle: isWhole,
  answer: isText,
  embed: isText,
  card: isText,
};

function isLaunch(l: PtxLaunch): boolean {
  return [l.kernel, l.grid, l.block].every(isText) && listOf(isText)(l.args);
}

/** Returns the members that pass their checks. */
function sound(state: Record<string, unknown>): Partial<Shared> {
  return Object.fromEntries(Object.entries(state).filter(([name, v]) => Object.hasOwn(allowed, name) && allowed[name as keyof Shared](v)));
}

/** The length from which some programs refuse to pass a link on; the caller then offers a file. */
export const longest = 8192;

export function toFragment(state: Partial<Shared>): string {
  const shipped = kernels.find((k) => k.path === state.file);
  const { source, ...rest } = state;
  const short = shipped && shipped.text === source ? rest : state;
  const bytes = deflateSync(strToU8(JSON.stringify(short)), { level: 9 });
  let text = "";
  for (const b of bytes) text += String.fromCharCode(b);
  return "1" + btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Reads a link's fragment: deflated JSON after "1", JSON after "0" (both in base64), or words as in `kernel=tiled&line=17&set=m:64`.
 * Returns null if it is none of these. */
export function fromFragment(fragment: string): Partial<Shared> | null {
  try {
    if (fragment.startsWith("1")) return withSource(JSON.parse(strFromU8(inflateSync(bytesOf(fragment.slice(1))))));
    if (fragment.startsWith("0")) return withWords(JSON.parse(strFromU8(bytesOf(fragment.slice(1)))));
  } catch {
    return null;
  }
  return fragment.includes("=") ? sound(fromWords(fragment) as Record<string, unknown>) : null;
}

/** Returns the state that `tilewright play` put into the page. */
export function fromGiven(): Partial<Shared> | null {
  const given = document.getElementById("given")?.textContent;
  if (!given) return null;
  return withWords(JSON.parse(given));
}

/** Returns the state in which the words of `query` replace the members that they name. */
function withWords(given: Partial<Shared> & { query?: string }): Partial<Shared> {
  const { query, ...state } = given;
  return withSource({ ...state, ...(query ? fromWords(query) : {}) });
}

function withSource(given: Record<string, unknown>): Partial<Shared> {
  const state = sound(given);
  const shipped = kernels.find((k) => k.path === state.file);
  const source = state.source ?? shipped?.text;
  return source === undefined ? state : { ...state, source };
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
  const settings = (key: string) => Object.fromEntries(Object.entries(pairs(key)).map(([k, v]) => [k, v && Number.isFinite(+v) ? +v : v]));
  const kernel = kernels.find((k) => k.path === words.get("kernel") || k.name === words.get("kernel"));
  const state: Partial<Shared> = {
    ...(kernel ? { file: kernel.path, source: kernel.text } : {}),
    ...(words.has("set") ? { sizes: settings("set") } : {}),
    ...(words.has("tune") ? { tune: numbers("tune") } : {}),
    ...(words.has("type") ? { types: pairs("type") } : {}),
    ...(words.has("block") ? { block: [...words.get("block")!.split(",").map(Number), 0, 0].slice(0, 3) } : {}),
    ...(words.has("case") ? { case: words.get("case")!.split(":").map(Number) } : {}),
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
