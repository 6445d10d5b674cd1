// Makes traces with the native program, for tests of the page's code that reads them.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { load, root } from "./typescript.mjs";

const tool = process.argv[2];
const { Trace } = await load("web/engine/trace.ts");
const folder = mkdtempSync(`${tmpdir()}/traces-`);
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

/** Splits options into words: "--set m=64,n=64,k=64 --tune T=16". */
const words = (text) => text.split(" ").filter(Boolean);

/** Runs the kernel and returns the trace of the block; a run that finds a race has a trace, too. */
export function traced(file, options = "", block = "0,0,0") {
  const args = ["run", file, "--device", "sim", "--despite", "race", ...words(options), "--trace", `${folder}/block.trace`, "--trace-block", block];
  try {
    execFileSync(tool, args, { cwd: root, stdio: ["ignore", "ignore", "pipe"], maxBuffer: 1 << 28 });
  } catch (error) {
    if (error.status !== 1) throw new Error(`tilewright ${args.join(" ")}: ${error.stderr}`);
  }
  return new Trace(readFileSync(`${folder}/block.trace`));
}

/** Returns the traces of all blocks. */
export function tracedAll(file, options) {
  const first = traced(file, options);
  const [x, y, z] = first.head.grid;
  const blocks = [];
  for (let b = 0; b < x * y * z; b++) blocks.push([b % x, Math.floor(b / x) % y, Math.floor(b / (x * y))].join());
  return blocks.map((b) => (b === "0,0,0" ? first : traced(file, options, b)));
}

export const json = (...args) => JSON.parse(execFileSync(tool, [...args.flatMap(words), "--json"], { cwd: root, encoding: "utf8", maxBuffer: 1 << 28 }));

/** Writes a copy of a kernel with an edit and returns the path of the copy. */
export function edited(file, from, to) {
  const text = readFileSync(root + file, "utf8");
  if (!text.includes(from)) throw new Error(`${file} does not have ${from}`);
  const path = `${folder}/${file.split("/").pop()}`;
  writeFileSync(path, text.replace(from, to));
  return path;
}
