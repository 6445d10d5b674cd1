/** The page's engines: clients of the same module, so that a long simulation never delays the answer to a key. */
import { compile, EngineClient, type AskOptions } from "$engine/client.ts";
import { kernels, importable } from "virtual:content";
import type { Explanation } from "./results.ts";
import { underWay } from "./under_way.ts";
import type { Answer } from "$engine/engine.ts";

export type Files = Record<string, string | Uint8Array>;
/** `keys`: short questions while the reader types; `runs`: simulations; `model`: explain and its sweeps; `ladder`: explain of many kernels. */
export type Lane = "keys" | "runs" | "model" | "ladder";

export class Stopped extends Error {}
/** The engine answered without a result: `text` has the reason. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly text: string,
    readonly out: string,
  ) {
    super(text);
  }
}

const lanes = new Map<Lane, EngineClient>();
let compiled: Promise<WebAssembly.Module> | undefined;

/** Returns the engine's module. A page in one file contains it in base64. */
function engineModule(): Promise<WebAssembly.Module> {
  const inside = document.getElementById("engine")?.textContent;
  if (!inside) return compile(new URL("./engine.wasm", document.baseURI));
  return compile(Uint8Array.from(atob(inside), (c) => c.charCodeAt(0)));
}

let workerInside: string | undefined;
/** Starts a worker. A page in one file contains its code. */
function startWorker(): Worker {
  const inside = document.getElementById("worker")?.textContent;
  if (!inside) return new Worker(new URL("../../../engine/worker.ts", import.meta.url), { type: "module" });
  workerInside ??= URL.createObjectURL(new Blob([inside], { type: "text/javascript" }));
  return new Worker(workerInside);
}

function lane(name: Lane): EngineClient {
  let found = lanes.get(name);
  if (!found) {
    compiled ??= engineModule();
    found = new EngineClient(compiled, startWorker);
    lanes.set(name, found);
  }
  return found;
}

/** Answers to the opening's questions, made when the page was built: the page shows them before the engine is loaded. */
interface MadeAhead {
  args: string[];
  /** The path of the shipped kernel that the questions are about. */
  path: string;
  answer: { status: number; out: string; err: string; files: Record<string, string> };
}
let ahead: Promise<MadeAhead[]> | undefined;

async function madeAhead(args: string[], files: Files): Promise<Answer | null> {
  ahead ??= document.getElementById("engine")
    ? Promise.resolve([])
    : fetch(new URL("./ahead.json", document.baseURI)).then((r) => (r.ok ? (r.json() as Promise<MadeAhead[]>) : []));
  const found = (await ahead.catch(() => [])).find((a) => a.args.length === args.length && a.args.every((w, i) => w === args[i]));
  const name = found?.path.split("/").pop();
  if (!found || !name || files[name] !== kernels.find((k) => k.path === found.path)?.text) return null;
  const made = Object.entries(found.answer.files).map(([n, text]) => [n, Uint8Array.from(atob(text), (c) => c.charCodeAt(0))] as const);
  return { ...found.answer, files: Object.fromEntries(made) };
}

/** Asks the lane and returns the answer whatever its status is. Throws Stopped when the signal ends it. */
export function ask(name: Lane, args: string[], files: Files, options: AskOptions & { wants?: string[] } = {}): Promise<Answer> {
  return underWay(answerOf(name, args, files, options));
}

async function answerOf(name: Lane, args: string[], files: Files, options: AskOptions & { wants?: string[] }): Promise<Answer> {
  const { wants, ...rest } = options;
  const known = await madeAhead(args, files);
  if (known) return known;
  try {
    return await lane(name).ask({ args, files: { ...importable, ...files }, wants }, rest);
  } catch (error) {
    if (options.signal?.aborted) throw new Stopped();
    throw error;
  }
}

/** Asks for JSON. A command prints its JSON with status 1 and 2 too; `accepts` tells which statuses are results. */
export async function askJson<T>(
  name: Lane,
  args: string[],
  files: Files,
  { accepts = [0, 1], ...options }: AskOptions & { accepts?: number[] } = {},
): Promise<T> {
  const answer = await ask(name, args.includes("--json") ? args : [...args, "--json"], files, options);
  if (!accepts.includes(answer.status) || !answer.out.trim()) throw new Refused(answer.status, answer.err.trim(), answer.out);
  return JSON.parse(answer.out) as T;
}

/** Asks `explain`. If it cannot explain, its JSON has messages instead of kernels. */
export async function askExplanation(
  name: Lane,
  args: string[],
  files: Files,
  options: { signal?: AbortSignal } = {},
): Promise<Explanation> {
  const found = await askJson<Partial<Explanation>>(name, args, files, options);
  if (!found.kernels) throw new Refused(1, (found.messages ?? []).map((m) => m.text).join("\n") || "There is nothing to explain.", "");
  return found as Explanation;
}
