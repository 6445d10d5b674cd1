// Runs the engine's worker in a thread of Node, which has a browser worker's two functions under other names.
import { parentPort } from "node:worker_threads";
import { load } from "./typescript.mjs";

globalThis.postMessage = (message, transfer) => parentPort.postMessage(message, transfer);
await load("web/engine/worker.ts");
parentPort.on("message", (data) => globalThis.onmessage({ data })); // messages that came earlier have waited until now
