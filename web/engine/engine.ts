// One command of the command line at a time, in a fresh instance of engine.wasm with files in memory.
import { Exit, System } from "./wasi.ts";

/** A command: the words after `tilewright`, the files that are there, and those to hand back. Paths are seen from "/". */
export interface Call {
  args: string[];
  files?: Record<string, string | Uint8Array>;
  wants?: string[];
}

/** How far a command is, as it says itself: `done` of `total` blocks, runs or phases. total 0: that is not known. */
export interface Progress {
  done: number;
  total: number;
  doing: string;
}

/** What it wrote, and the files of `wants` that are there afterwards. */
export interface Answer {
  status: number;
  out: string;
  err: string;
  files: Record<string, Uint8Array>;
}

/** The status of a command that did not end by itself: a fault in the engine, or no memory or stack left. */
export const STOPPED = 70;

/** Where `learn` keeps its progress: hand it in, and want it back. */
export const LEARN_FILE = "/progress";

const variables = { NO_COLOR: "1", LC_ALL: "C.UTF-8", HOME: "/home", TILEWRIGHT_LEARN: LEARN_FILE };

/** Why an instance stopped, in words for its user. */
function why(error: unknown): string {
  if (error instanceof RangeError && /memory/i.test(error.message)) return "there is no memory left: try smaller sizes";
  if (error instanceof RangeError || (error instanceof Error && /recursion/.test(error.message)))
    return "the stack is used up: the program is nested too deep";
  if (error instanceof WebAssembly.RuntimeError) return `a fault of the engine itself (${error.message}): please report it`;
  return error instanceof Error ? error.message : String(error);
}

export class Engine {
  /** Memory of the latest command. It stays until the garbage collector comes, or its worker ends. */
  bytes = 0;
  private readonly module: WebAssembly.Module;
  private readonly progress: ((p: Progress) => void) | undefined;

  constructor(module: WebAssembly.Module, progress?: (p: Progress) => void) {
    this.module = module;
    this.progress = progress;
  }

  call(c: Call): Answer {
    const system = new System(["tilewright", ...c.args], variables);
    let status = STOPPED,
      stopped = "";
    try {
      for (const [path, content] of Object.entries(c.files ?? {})) system.write(path, content);
      status = this.run(system);
    } catch (error) {
      stopped = `tilewright: stopped: ${why(error)}\n`;
    }
    const files: Record<string, Uint8Array> = {};
    for (const path of c.wants ?? []) {
      const content = system.read(path);
      if (content) files[path] = content;
    }
    return { status, out: system.out.text(), err: system.err.text() + stopped, files };
  }

  private run(system: System): number {
    const instance = new WebAssembly.Instance(this.module, {
      wasi_snapshot_preview1: system.imports(),
      tilewright: {
        progress: (done: number, total: number, text: number, length: number) => {
          const doing = new TextDecoder().decode(new Uint8Array(system.memory.buffer, text, length));
          this.progress?.({ done, total, doing });
        },
      },
    } as WebAssembly.Imports);
    system.memory = instance.exports["memory"] as WebAssembly.Memory;
    try {
      (instance.exports["_start"] as () => void)();
    } catch (error) {
      if (error instanceof Exit) return error.status;
      throw error;
    } finally {
      this.bytes = system.memory.buffer.byteLength;
    }
    return 0;
  }
}
