// The messages between a page and the worker that the engine runs in. Both sides refuse another version than theirs.
import type { Answer, Call, Progress } from "./engine.ts";

export const VERSION = 1;

/** To the worker: first the module, then calls, one at a time. */
export type ToWorker = { version: number; module: WebAssembly.Module } | { version: number; id: number; call: Call };

/** From it: `ready` once a first command has run, then for each call any number of `progress`, then `answer`, with the
 * memory that the command took. */
export type FromWorker =
  | { version: number; ready: true }
  | { version: number; id: number; progress: Progress }
  | { version: number; id: number; answer: Answer; bytes: number };
