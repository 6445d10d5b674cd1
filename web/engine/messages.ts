// The messages between a page and the worker that runs the engine. Both sides refuse a version other than their own.
import type { Answer, Call, Progress } from "./engine.ts";

export const VERSION = 1;

/** Messages to the worker: first the module, then calls, one at a time. */
export type ToWorker = { version: number; module: WebAssembly.Module } | { version: number; id: number; call: Call };

/** Messages from the worker: `ready` after its first command, then for each call any number of `progress`, then `answer`, with the memory
 * that the command took. */
export type FromWorker =
  | { version: number; ready: true }
  | { version: number; id: number; progress: Progress }
  | { version: number; id: number; answer: Answer; bytes: number };
