// Runs one command of the command line at a time, each in a fresh instance of engine.wasm with files in memory.
import { Exit, System } from "./wasi.ts";

/** A command: the words after `tilewright`, the files that it can read, and the files to hand back. Paths start at "/". */
export interface Call {
  args: string[];
  files?: Record<string, string | Uint8Array>;
  wants?: string[];
}

/** The progress that a command reports: `done` of `total` blocks, runs or phases. total 0: not known. */
export interface Progress {
  done: number;
  total: number;
  doing: string;
}

/** The output of a command, and those files of `wants` that exist afterwards. */
export interface Answer {
  status: number;
  out: string;
  err: string;
  files: Record<string, Uint8Array>;
}

/** The status of a command that was stopped: by a fault in the engine, or because memory or stack ran out. */
export const STOPPED = 70;

/** The file in which `learn` keeps its progress: pass it with a call, and ask for it back. */
export const LEARN_FILE = "/progress";

const variables = { NO_COLOR: "1", LC_ALL: "C.UTF-8", HOME: "/home", TILEWRIGHT_LEARN: LEARN_FILE };

/** Returns the reason that an instance stopped, in words for its user. */
function why(error: unknown): string {
  if (error instanceof RangeError && /memory/i.test(error.message)) return "there is no memory left: try smaller sizes";
  if (error instanceof RangeError || (error instanceof Error && /recursion/.test(error.message)))
    return "the stack is full: the program nests too deeply";
  if (error instanceof WebAssembly.RuntimeError) return `a fault of the engine itself (${error.message}): please report it`;
  return error instanceof Error ? error.message : String(error);
}

export class Engine {
  /** Bytes of memory of the latest command. It is freed when the garbage collector runs, or when its worker ends. */
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
