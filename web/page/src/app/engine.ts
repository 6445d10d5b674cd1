/** The page's engines: two clients of the same module, so that a long simulation never delays the answer to a key. */
import { compile, EngineClient } from "$engine/client.ts";
import type { Answer, Progress } from "$engine/engine.ts";

export type Files = Record<string, string | Uint8Array>;
/** `keys`: short questions while the reader types; `runs`: simulations; `model`: explain and its sweeps. */
export type Lane = "keys" | "runs" | "model";

export class Stopped extends Error {}
/** The engine answered, and what it answered is no result: `text` says why. */
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

/** The engine's module. A page in one file has it inside, in base64. */
function engineModule(): Promise<WebAssembly.Module> {
  const inside = document.getElementById("engine")?.textContent;
  if (!inside) return compile(new URL("./engine.wasm", document.baseURI));
  return compile(Uint8Array.from(atob(inside), (c) => c.charCodeAt(0)));
}

/** Starts a worker. A page in one file has its code inside. */
function startWorker(): Worker {
  const inside = document.getElementById("worker")?.textContent;
  if (!inside) return new Worker(new URL("../../../engine/worker.ts", import.meta.url), { type: "module" });
  return new Worker(URL.createObjectURL(new Blob([inside], { type: "text/javascript" })));
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

/** Asks the lane and returns the answer whatever its status is. Throws Stopped when the signal ends it. */
export async function ask(
  name: Lane,
  args: string[],
  files: Files,
  options: { wants?: string[]; signal?: AbortSignal; onProgress?: (p: Progress) => void } = {},
): Promise<Answer> {
  const { wants, ...rest } = options;
  try {
    return await lane(name).ask({ args, files, wants }, rest);
  } catch (error) {
    if (options.signal?.aborted) throw new Stopped();
    throw error;
  }
}

/** Asks for JSON. A command prints its JSON with status 1 and 2 too; `accepts` says with which it is a result. */
export async function askJson<T>(
  name: Lane,
  args: string[],
  files: Files,
  options: { signal?: AbortSignal; onProgress?: (p: Progress) => void; accepts?: number[] } = {},
): Promise<T> {
  const answer = await ask(name, [...args, "--json"], files, options);
  if (!(options.accepts ?? [0, 1]).includes(answer.status)) throw new Refused(answer.status, answer.err.trim(), answer.out);
  return JSON.parse(answer.out) as T;
}
