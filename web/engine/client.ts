// The page's side of the engine: it owns two workers. One works; the other is started and ready to replace it.
//
//     const engine = new EngineClient(compile("engine.wasm"), () => new Worker(new URL("./worker.ts", import.meta.url), { type: "module" }));
//     const answer = await engine.ask({ args: ["check", "k.tile"], files: { "k.tile": text } }, { signal });
//
// Aborting a running call ends its worker. That takes milliseconds, whatever the engine is doing.
import { STOPPED, type Answer, type Call, type Progress } from "./engine.ts";
import { VERSION, type FromWorker, type ToWorker } from "./messages.ts";

/** The members of a Worker that the client uses. */
export interface WorkerLike {
  onmessage: ((event: MessageEvent<FromWorker>) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
  postMessage(message: ToWorker): void;
  terminate(): void;
}

export interface AskOptions {
  signal?: AbortSignal;
  onProgress?: (p: Progress) => void;
  urgent?: boolean; // asks at once, on the other worker if need be, because the answer to a key must not wait for a long run
}

interface Job {
  id: number;
  call: Call;
  options: AskOptions;
  resolve: (answer: Answer) => void;
  reject: (reason: unknown) => void;
  forget: () => void; // removes the listener from the signal
}

interface Seat {
  worker: WorkerLike;
  job: Job | null;
}

/** Compiles the module once, for all workers: from an address, whatever type its server gives the file, or from its bytes. */
export async function compile(source: string | URL | BufferSource): Promise<WebAssembly.Module> {
  if (typeof source !== "string" && !(source instanceof URL)) return WebAssembly.compile(source);
  const response = await fetch(source);
  if (!response.ok) throw new Error(`${source}: ${response.status} ${response.statusText}`);
  if (response.headers.get("content-type")?.startsWith("application/wasm")) return WebAssembly.compileStreaming(response);
  return WebAssembly.compile(await response.arrayBuffer());
}

/** If a command took more memory, its worker is ended afterwards, which frees the memory at once. */
const MOST_BYTES = 32 << 20;

export class EngineClient {
  /** Fulfilled once the module is compiled; rejected with the reason if that fails. */
  readonly ready: Promise<void>;
  private readonly start: () => WorkerLike;
  private module: WebAssembly.Module | null = null;
  private failure: unknown = null;
  private seats: Seat[] = [];
  private waiting: Job[] = [];
  private last = 0;
  private closed = false;

  constructor(module: WebAssembly.Module | Promise<WebAssembly.Module>, start: () => WorkerLike) {
    this.start = start;
    this.ready = Promise.resolve(module).then(
      (compiled) => {
        this.module = compiled;
        if (this.closed) return;
        this.seats = [this.newSeat(), this.newSeat()];
        this.next();
      },
      (reason: unknown) => {
        this.failure = reason;
        for (const job of this.waiting.splice(0)) this.fail(job, reason);
        throw reason;
      },
    );
    this.ready.catch(() => undefined); // each call also reports the reason
  }

  /** Runs the command. Calls are answered in order, urgent ones at once; an aborted call rejects with the signal's reason. */
  ask(call: Call, options: AskOptions = {}): Promise<Answer> {
    const signal = options.signal;
    if (this.failure) return Promise.reject(this.failure);
    if (this.closed) return Promise.reject(new Error("the engine was closed"));
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const abort = (): void => this.abort(job, signal!.reason);
      const forget = (): void => signal?.removeEventListener("abort", abort);
      const job: Job = { id: ++this.last, call, options, resolve, reject, forget };
      signal?.addEventListener("abort", abort, { once: true });
      if (options.urgent) this.waiting.unshift(job);
      else this.waiting.push(job);
      this.next();
    });
  }

  /** Ends both workers. Rejects the calls that are not answered. */
  close(): void {
    this.closed = true;
    const reason = new Error("the engine was closed");
    for (const seat of this.seats) {
      seat.worker.terminate();
      if (seat.job) this.fail(seat.job, reason);
    }
    for (const job of this.waiting.splice(0)) this.fail(job, reason);
    this.seats = [];
  }

  private fail(job: Job, reason: unknown): void {
    job.forget();
    job.reject(reason);
  }

  private newSeat(): Seat {
    const worker = this.start(),
      seat: Seat = { worker, job: null };
    worker.onmessage = ({ data }) => this.take(seat, data);
    worker.onerror = (event) => this.broken(seat, event.message || "its worker could not be started");
    worker.postMessage({ version: VERSION, module: this.module! });
    return seat;
  }

  /** Gives waiting jobs to idle workers: an urgent one to any worker, the others one at a time. */
  private next(): void {
    for (;;) {
      const job = this.waiting[0],
        idle = this.seats.find((s) => !s.job);
      const busy = this.seats.some((s) => s.job && !s.job.options.urgent);
      if (!job || !idle || (busy && !job.options.urgent)) return;
      this.waiting.shift();
      idle.job = job;
      idle.worker.postMessage({ version: VERSION, id: job.id, call: job.call });
    }
  }

  private take(seat: Seat, data: FromWorker): void {
    const job = seat.job;
    if (data.version !== VERSION) {
      this.broken(seat, `its worker has version ${data.version} of the messages, and the page ${VERSION}: reload the page`);
    } else if ("progress" in data) {
      if (job?.id === data.id) job.options.onProgress?.(data.progress);
    } else if ("answer" in data && job?.id === data.id) {
      seat.job = null;
      job.forget();
      job.resolve(data.answer);
      if (data.bytes > MOST_BYTES) this.replace(seat);
      else this.next();
    }
  }

  private replace(seat: Seat): void {
    seat.worker.onmessage = seat.worker.onerror = null;
    seat.worker.terminate();
    seat.job = null;
    this.seats = this.seats.filter((s) => s !== seat);
    this.next(); // on the spare worker, while a new one starts
    this.seats.push(this.newSeat());
    this.next();
  }

  private abort(job: Job, reason: unknown): void {
    const seat = this.seats.find((s) => s.job === job);
    this.waiting = this.waiting.filter((j) => j !== job);
    this.fail(job, reason);
    if (seat) this.replace(seat);
  }

  /** Handles a failure of the worker itself; the engine in it answers in any case. */
  private broken(seat: Seat, message: string): void {
    const job = seat.job;
    if (!job) {
      // It failed while it started, and so would another.
      this.failure = new Error(`the engine does not run here: ${message}`);
      for (const waiting of this.waiting.splice(0)) this.fail(waiting, this.failure);
      return;
    }
    job.forget();
    job.resolve({ status: STOPPED, out: "", err: `tilewright: stopped: ${message}\n`, files: {} });
    this.replace(seat);
  }
}
