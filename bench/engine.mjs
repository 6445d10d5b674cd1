#!/usr/bin/env node
// Times the engine under Node, each command in a fresh instance as in the page: `./dev bench engine`.
//
//   engine.mjs [--runs N]     (build-wasm/web/engine.wasm and web/node_modules must exist)
//
// "first": in an engine that has run nothing yet, so the time includes compiling its code.
import { readdirSync, readFileSync } from "node:fs";
import { brotliCompressSync, constants } from "node:zlib";
import {
  engineFile,
  engineModule,
  load,
  root,
} from "../tests/web/typescript.mjs";

const runs = Number(process.argv[process.argv.indexOf("--runs") + 1]) || 9;
const { Engine } = await load("web/engine/engine.ts");
const text = (path) => readFileSync(root + path, "utf8");
const solution = (number) =>
  text(
    `puzzles/${readdirSync(`${root}puzzles`).find((p) => p.startsWith(number))}/solution.tile`,
  );
const tiled = text("kernels/sgemm/tiled.tile");
const files = {
  "v1.tile": text("kernels/matmul/shared.tile"),
  "tiled.tile": tiled,
  "broken.tile": tiled.replace(/^ *sync\(\);\n/m, ""),
  "14.tile": solution("14"),
};
const small = ["--set", "m=64,n=64,k=64", "--type", "f16", "--json"],
  simulated = ["--fill", "rand", "--device", "sim"];

// name, the budget in milliseconds (if any), commands
const rows = [
  ["an instance, nothing done", null, ["version"]],
  [
    "diagnostics: check --no-run --no-sim",
    60,
    ["check", "tiled.tile", "--no-run", "--no-sim", "--json"],
  ],
  ["a deleted sync(): check", 150, ["check", "broken.tile", "--json"]],
  [
    "V1 64^3: show --stage layout",
    null,
    ["show", "v1.tile", "--stage", "layout", "--type", "f16"],
  ],
  [
    "V1 64^3: run --counters",
    null,
    ["run", "v1.tile", ...small, ...simulated, "--counters"],
  ],
  [
    "V1 64^3: run --trace",
    null,
    ["run", "v1.tile", ...small, ...simulated, "--trace", "t.bin"],
  ],
  ["V1 64^3: explain", null, ["explain", "v1.tile", ...small]],
  [
    "tiled 256^3 with all checks",
    600,
    ["run", "tiled.tile", "--set", "m=256,n=256,k=256", ...simulated, "--json"],
  ],
  [
    "tiled 256^3 with all checks, --counters",
    null,
    [
      "run",
      "tiled.tile",
      "--set",
      "m=256,n=256,k=256",
      ...simulated,
      "--counters",
      "--json",
    ],
  ],
  [
    "tiled 1024^3: explain",
    1500,
    ["explain", "tiled.tile", "--set", "m=1024,n=1024,k=1024", "--json"],
  ],
  ["puzzle 14, all cases", 2000, ["learn", "14", "14.tile", "--json"]],
];

const packed = brotliCompressSync(readFileSync(engineFile), {
  params: { [constants.BROTLI_PARAM_QUALITY]: 11 },
}).length;
console.log(
  `engine.wasm: ${(packed / 1e6).toFixed(3)} MB as brotli (goal 0.7, limit 0.9); medians of ${runs} in ms`,
);
console.log(
  `${"".padEnd(42)}${"first".padStart(8)}${"median".padStart(8)}${"least".padStart(8)}${"budget".padStart(8)}`,
);
for (const [name, budget, args] of rows) {
  const engine = new Engine(engineModule()),
    times = [];
  for (let i = 0; i < runs; i++) {
    const began = performance.now(),
      { status, err } = engine.call({ args, files });
    times.push(performance.now() - began);
    if (status > 1) throw new Error(`${args.join(" ")}: ${err}`);
  }
  const [first] = times,
    sorted = times.toSorted((a, b) => a - b);
  const cell = (v) => (v === null ? "" : v.toFixed(v < 10 ? 1 : 0)).padStart(8);
  console.log(
    name.padEnd(42) +
      cell(first) +
      cell(sorted[runs >> 1]) +
      cell(sorted[0]) +
      cell(budget),
  );
}
