// The worker that runs the engine, so that no command blocks the page.
import { Engine, type Answer, type Call, type Progress } from "./engine.ts";
import { VERSION, type FromWorker, type ToWorker } from "./messages.ts";

interface Scope {
  onmessage: ((event: { data: ToWorker }) => void) | null;
  postMessage(message: FromWorker, transfer?: Transferable[]): void;
}
const scope = globalThis as unknown as Scope;
let module: WebAssembly.Module | undefined;

const BETWEEN = 50; // least number of milliseconds between two reports of progress

function run(id: number, call: Call): { answer: Answer; bytes: number } {
  let told = 0,
    doing = "";
  const progress = (p: Progress): void => {
    const now = performance.now();
    if (p.doing === doing && now - told < BETWEEN) return;
    told = now;
    doing = p.doing;
    scope.postMessage({ version: VERSION, id, progress: p });
  };
  const engine = new Engine(module!, progress);
  return { answer: engine.call(call), bytes: engine.bytes };
}

scope.onmessage = ({ data }) => {
  if (data.version !== VERSION) throw new Error(`a message of version ${data.version}; this worker has ${VERSION}`);
  if ("module" in data) {
    module = data.module;
    new Engine(module).call({ args: ["version"] }); // so that the first call finds the module compiled
    scope.postMessage({ version: VERSION, ready: true });
    return;
  }
  const { answer, bytes } = run(data.id, data.call);
  scope.postMessage(
    { version: VERSION, id: data.id, answer, bytes },
    Object.values(answer.files).map((f) => f.buffer as ArrayBuffer),
  );
};
