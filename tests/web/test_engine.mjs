// Tests the engine under Node: commands, files, progress, faults, and the client with its two workers.
import assert from "node:assert/strict";
import fs from "node:fs";
import { Worker } from "node:worker_threads";
import zlib from "node:zlib";
import { engineFile, engineModule, load, root } from "./typescript.mjs";

const module = engineModule();
const { Engine, LEARN_FILE, STOPPED } = await load("web/engine/engine.ts");
const { EngineClient, compile } = await load("web/engine/client.ts");
const tiled = fs.readFileSync(`${root}kernels/sgemm/tiled.tile`, "utf8");
const MOST_BYTES = 965_000; // largest size of the module, compressed with brotli

// --- the module ---

const packed = zlib.brotliCompressSync(fs.readFileSync(engineFile), { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 11 } }).length;
console.log(`engine.wasm: ${packed} bytes as brotli`);
assert(packed <= MOST_BYTES, `the module has ${packed} bytes as brotli, and ${MOST_BYTES} are allowed`);

// --- commands and files ---

const engine = new Engine(module);
{
  const { status, out, err } = engine.call({ args: ["version"] });
  assert.match(out, /^tilewright \d+\.\d+\.\d+\n$/);
  assert.deepEqual([status, err], [0, ""]);
}
{
  const size = "m=8,n=8,k=8",
    files = { "a/k.tile": tiled };
  const { status, files: made } = engine.call({
    args: ["run", "a/k.tile", "--set", size, "--fill", "ones", "--out", "c=c.npy"],
    files,
    wants: ["c.npy", "absent"],
  });
  const npy = Buffer.from(made["c.npy"]);
  assert.equal(status, 0);
  assert.deepEqual(Object.keys(made), ["c.npy"]);
  assert.equal(npy.length, 128 + 8 * 8 * 4);
  for (let at = 128; at < npy.length; at += 4) assert.equal(npy.readFloatLE(at), 8);
  const again = engine.call({
    args: ["run", "k.tile", "--set", size, "--in", "a=c.npy", "--fill", "ones"],
    files: { "k.tile": tiled, "/c.npy": npy },
  });
  assert.equal(again.status, 0);
  assert.match(again.out, /64/);
}
assert.match(engine.call({ args: ["check", "k.tile"] }).err, /cannot read `k.tile`: No such file or directory/);
assert.match(engine.call({ args: ["tune", "k.tile"] }).err, /a browser cannot run 'tune'; the installed program can/);
assert.match(
  engine.call({ args: ["run", "k.tile", "--device", "cuda", "--set", "m=8,n=8,k=8", "--fill", "ones"], files: { "k.tile": tiled } }).err,
  /a browser has no NVIDIA driver/,
);
{
  const learnt = engine.call({ args: ["learn", "14"], wants: ["14_single_block_matmul.tile", LEARN_FILE] });
  assert.equal(learnt.status, 0);
  assert.match(Buffer.from(learnt.files["14_single_block_matmul.tile"]).toString(), /kernel/);
  const kept = Buffer.from(learnt.files[LEARN_FILE]).toString();
  assert.match(kept, /^# tilewright learn.*\n14_single_block_matmul tries=0 hints=0\n$/s);
  const tried = engine.call({ args: ["learn", "14", "--hint"], files: { [LEARN_FILE]: kept }, wants: [LEARN_FILE] });
  assert.match(Buffer.from(tried.files[LEARN_FILE]).toString(), /hints=1/);
}

// --- a command that cannot go on returns a status and a message ---

{
  const large = engine.call({ args: ["explain", "k.tile", "--set", "m=65536,n=65536,k=65536"], files: { "k.tile": tiled } });
  assert.equal(large.status, 1);
  assert.match(large.err, /no memory for `a`, which has 17179 MB/);
  const none = new Engine(new WebAssembly.Module(fs.readFileSync(engineFile))).call({ args: ["run", "x"], files: { "a/": "no name" } });
  assert.equal(none.status, 2);
  const deep = engine.call({
    args: ["check", "deep.tile"],
    files: { "deep.tile": `kernel k(i32 n) grid(1) warps(1)\n{\n    i32 x = ${"(".repeat(200000)}n${")".repeat(200000)};\n}\n` },
  });
  assert([2, STOPPED].includes(deep.status), deep.err);
  // A module whose _start traps: (module (func (export "_start") unreachable)) with a memory.
  const trap = new Uint8Array([
    0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 5, 3, 1, 0, 1, 7, 19, 2, 6, 109, 101, 109, 111, 114, 121, 2, 0, 6, 95, 115,
    116, 97, 114, 116, 0, 0, 10, 5, 1, 3, 0, 0, 11,
  ]);
  const stopped = new Engine(new WebAssembly.Module(trap)).call({ args: [] });
  assert.equal(stopped.status, STOPPED);
  assert.match(stopped.err, /^tilewright: stopped: a fault of the engine itself \(unreachable\): please report it\n$/);
}

// --- progress ---

{
  const told = [];
  new Engine(module, (p) => told.push(p)).call({
    args: ["run", "k.tile", "--set", "m=64,n=64,k=64", "--fill", "rand", "--device", "sim"],
    files: { "k.tile": tiled },
  });
  const blocks = told.filter((p) => p.doing === "simulating");
  assert(told.some((p) => p.doing === "compiling a kernel" && p.total === 0));
  assert(blocks.length > 0 && blocks.every((p) => p.total === blocks[0].total && p.done <= p.total));
  assert.equal(blocks.at(-1).done, blocks[0].total);
}

// --- the client ---

const started = [];
function start() {
  const thread = new Worker(new URL("./worker_thread.mjs", import.meta.url));
  const worker = { onmessage: null, onerror: null, postMessage: (m) => thread.postMessage(m), terminate: () => void thread.terminate() };
  thread.on("message", (data) => worker.onmessage?.({ data }));
  thread.on("error", (error) => worker.onerror?.({ message: error.message }));
  started.push(thread);
  return worker;
}
const endless =
  "kernel spin(i32 n, i32 *c) grid(1) warps(1)\n{\n    global i32 C[1] = c;\n    i32 x = n;\n    for (i32 i = 0; i >= 0; i = i & 1)\n        x = x ^ i;\n    C[0] = x;\n}\n";
const spin = { args: ["run", "spin.tile", "--set", "n=1"], files: { "spin.tile": endless } };

{
  const client = new EngineClient(compile(fs.readFileSync(engineFile)), start);
  assert.match((await client.ask({ args: ["version"] })).out, /^tilewright/);
  const seen = [];
  const run = await client.ask(
    {
      args: ["run", "k.tile", "--set", "m=64,n=64,k=64", "--fill", "rand", "--device", "sim", "--out", "c=c.npy"],
      files: { "k.tile": tiled },
      wants: ["c.npy"],
    },
    { onProgress: (p) => seen.push(p.doing) },
  );
  assert.equal(run.status, 0);
  assert.equal(run.files["c.npy"].length, 128 + 64 * 64 * 4);
  assert(seen.includes("simulating"), seen.join());

  // During an endless run, an urgent call is answered and another call waits; the run ends when it is stopped.
  const stop = new AbortController(),
    order = [];
  const spinning = client.ask(spin, { signal: stop.signal }).catch((reason) => order.push(reason.name));
  const second = client.ask({ args: ["version"] }).then(() => order.push("second"));
  await client.ask({ args: ["version"] }, { urgent: true });
  order.push("urgent");
  const gone = new AbortController(),
    never = client.ask({ args: ["version"] }, { signal: gone.signal }).catch(() => order.push("gone"));
  gone.abort();
  await never;
  stop.abort();
  await spinning;
  await second;
  assert.deepEqual(order, ["urgent", "gone", "AbortError", "second"]);
  await assert.rejects(client.ask({ args: ["version"] }, { signal: AbortSignal.abort() }), { name: "AbortError" });
  client.close();
  await assert.rejects(client.ask({ args: ["version"] }), /closed/);
}
{
  const client = new EngineClient(Promise.reject(new Error("engine.wasm: 404 Not Found")), start);
  await assert.rejects(client.ask({ args: ["version"] }), /404/);
}
await Promise.all(started.map((thread) => thread.terminate()));
console.log("all as they should be");
