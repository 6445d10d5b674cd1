// The engine's worker in a thread of Node, which has the two functions of a browser's worker under other names.
import { parentPort } from "node:worker_threads";
import { load } from "./typescript.mjs";

globalThis.postMessage = (message, transfer) => parentPort.postMessage(message, transfer);
await load("web/engine/worker.ts");
parentPort.on("message", (data) => globalThis.onmessage({ data })); // those that came before wait until now
