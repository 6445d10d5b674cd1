// Compares the program in WebAssembly with the native one: runs the same commands and compares the outputs byte for byte, except times.
//
//     equal.mjs TILEWRIGHT SUITE [--more | --all]
//
// Suites: show, run, explain, check, golden, errors, puzzles. --more adds the comparisons that take long: every kernel, and for every third
// kernel the slowest ones (checks with simulation, explanations as text); --all: the slowest ones for every kernel.
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { engineModule, load } from "./typescript.mjs";

const [tool, suite, option] = process.argv.slice(2);
const all = option === "--all";
const more = option === "--more" || all;
const { Engine, LEARN_FILE } = await load("web/engine/engine.ts");
const engine = new Engine(engineModule());
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "tilewright-web-"));
process.on("exit", () => fs.rmSync(scratch, { recursive: true, force: true }));

let wrong = 0,
  compared = 0,
  succeeded = 0,
  inEngine = 0;
// Values that differ between two runs. `simulated` is one of them, because `check` simulates launches until some seconds are over.
const TIMES = /("(?:milliseconds|median_ms|seconds|gflops|gbytes_per_s|simulated)": )[-+.e0-9]+/g;
// The slow paths that `check` lists depend on the instructions of the processor.
const SLOW = /("slow": )(?:null|"(?:\\.|[^"\\])*")/g;

function inNative(args, cwd) {
  const progress = path.join(fs.mkdtempSync(path.join(scratch, "home-")), "progress"); // nothing was learnt yet
  return new Promise((resolve) => {
    const env = {
      NO_COLOR: "1",
      LC_ALL: "C.UTF-8",
      PATH: "",
      HOME: scratch,
      TILEWRIGHT_LEARN: progress,
    };
    const child = spawn(path.resolve(tool), args, { cwd, env });
    const out = [],
      err = [];
    child.stdout.on("data", (d) => out.push(d));
    child.stderr.on("data", (d) => err.push(d));
    child.on("close", (status) =>
      resolve({
        status,
        out: Buffer.concat(out).toString(),
        err: Buffer.concat(err).toString(),
      }),
    );
    child.stdin.end();
  });
}

function firstDifference(a, b) {
  const x = a.split("\n"),
    y = b.split("\n");
  for (let i = 0; i < Math.max(x.length, y.length); i++)
    if (x[i] !== y[i]) return `line ${i + 1}:\n    native: ${y[i]}\n    engine: ${x[i]}`;
  return "nothing";
}

function report(what, text) {
  wrong++;
  console.log(`${what}: ${text}`);
}

const WIDTHS = { "<f8": 8, "<f4": 4, "<f2": 2 };

/** Returns true if two .npy files hold the same values; a NaN equals any NaN. */
function sameArrays(a, b) {
  if (Buffer.compare(a, b) === 0) return true;
  const header = 10 + a.readUInt16LE(8),
    width = WIDTHS[/'descr': '([^']*)'/.exec(a.toString("latin1", 10, header))?.[1]];
  if (!width || a.length !== b.length || Buffer.compare(a.subarray(0, header), b.subarray(0, header)) !== 0) return false;
  const isNan = (x, at) =>
    width === 8 ? Number.isNaN(x.readDoubleLE(at)) : width === 4 ? Number.isNaN(x.readFloatLE(at)) : (x.readUInt16LE(at) & 0x7fff) > 0x7c00;
  for (let at = header; at < a.length; at += width)
    if (Buffer.compare(a.subarray(at, at + width), b.subarray(at, at + width)) !== 0 && !(isNan(a, at) && isNan(b, at))) return false;
  return true;
}

/** Returns the paths, from `cwd`, of the file and of all files that it imports, directly or indirectly. */
function withImports(file, cwd, found = new Set()) {
  const name = path.normalize(file);
  if (found.has(name) || !fs.existsSync(path.join(cwd, name))) return found;
  found.add(name);
  const text = fs.readFileSync(path.join(cwd, name), "latin1");
  for (const [, other] of text.matchAll(/"([^"\n]*\.tile)"/g)) withImports(path.join(path.dirname(name), other), cwd, found);
  return found;
}

/** Runs a command both ways. `files`: paths from `cwd`; `texts`: files made for the command, name → text; `wants`: arrays that the
 * command writes. Returns the native answer. */
async function both(args, { cwd = ".", files = [], texts = {}, wants = [] } = {}) {
  const what = args.join(" ");
  let there = cwd;
  const given = { ...texts };
  for (const f of files.flatMap((f) => [...withImports(f, cwd)])) given[f] = fs.readFileSync(path.join(cwd, f));
  if (Object.keys(texts).length || wants.length) {
    there = fs.mkdtempSync(path.join(scratch, "run-"));
    for (const [name, text] of Object.entries(given)) {
      fs.mkdirSync(path.dirname(path.join(there, name)), { recursive: true });
      fs.writeFileSync(path.join(there, name), text);
    }
  }
  const native = inNative(args, there);
  await new Promise(setImmediate); // the native program starts before the engine occupies this thread
  const began = performance.now();
  const got = engine.call({ args, files: given, wants });
  inEngine += performance.now() - began;
  const want = await native;
  compared++;
  succeeded += want.status === 0 ? 1 : 0;
  if (got.status !== want.status) report(what, `status ${got.status}, but ${want.status} natively: ${got.err || want.err}`);
  for (const stream of ["out", "err"]) {
    const [a, b] = [got, want].map((answer) => answer[stream].replace(TIMES, "$1_").replace(SLOW, "$1_"));
    if (a !== b) report(what, `std${stream} differs: ${firstDifference(a, b)}`);
  }
  for (const name of wants) {
    const file = path.join(there, name),
      here = fs.existsSync(file);
    if (here !== name in got.files) report(what, `${name} is ${here ? "not " : ""}written`);
    else if (here && !sameArrays(Buffer.from(got.files[name]), fs.readFileSync(file))) report(what, `${name} has other values`);
  }
  return want;
}

function list(pattern, ending) {
  return fs
    .readdirSync(pattern)
    .filter((f) => f.endsWith(ending))
    .sort();
}

const kernels = ["fused", "matmul", "sgemm", "single_block"].flatMap((d) => list(`kernels/${d}`, ".tile").map((f) => `kernels/${d}/${f}`));
const few = ["kernels/sgemm/tiled.tile", "kernels/matmul/stages.tile", "kernels/fused/softmax.tile"];

/** Returns arguments that `run` takes for a kernel, with sizes that it accepts, and the options and files for its outputs. */
async function settings(kernel) {
  const listed = await inNative(["show", kernel, "--kernels", "--json"], ".");
  const { kernel: name, parameters } = JSON.parse(listed.out)[0];
  const scalars = parameters.filter((p) => !p.array);
  const wants = parameters.filter((p) => p.array && !p.const).map((p) => `${p.name}.npy`);
  const outputs = wants.length ? ["--out", wants.map((w) => `${w.slice(0, -4)}=${w}`).join(",")] : [];
  for (const size of [72, 64, 128, 16]) {
    const sizes = scalars
      .map((p) => `${p.name}=${p.type === "bool" ? "true" : p.type === "f32" ? 0.75 : p.name === "heads" || p.name === "batch" ? 2 : size}`)
      .join(",");
    const args = ["run", `${kernel}:${name}`, ...(sizes ? ["--set", sizes] : []), "--fill", "rand", "--json"];
    const plain = await inNative(args, ".");
    if (plain.status === 0) return { args, outputs, wants };
  }
  throw new Error(`${kernel}: no sizes that it takes are known here`);
}

/** Returns the kernel without its n-th sync() or async_wait(); null if it has fewer. */
function withoutSync(text, n) {
  let seen = 0,
    taken = false;
  const kept = text.split("\n").filter((line) => {
    const hit = /^\s*(sync|async_wait)\(.*\);/.test(line) && seen++ === n;
    taken ||= hit;
    return !hit;
  });
  return taken ? kept.join("\n") : null;
}

const suites = {
  async show() {
    for (const k of kernels)
      for (const how of [[], ["--stage", "ptx", "--target", "sm_90"], ["--stage", "layout"], ["--kernels", "--json"]])
        await both(["show", k, ...how], { files: [k] });
    for (const words of [["help", "run"], ["version"], ["learn"], ["run"], ["run", "absent.tile"], ["chek", "x"], ["show", "--passes"]])
      await both(words);
    await both(["learn", "14"], {
      texts: {},
      wants: ["14_single_block_matmul.tile"],
    });
    await both(["learn", "14", "--inputs", "case", "--case", "2"], {
      texts: {},
      wants: ["case/a.npy", "case/b.npy"],
    });
  },
  async run() {
    for (const k of kernels) {
      const { args, outputs, wants } = await settings(k);
      await both([...args, ...outputs], { files: [k], wants });
      if (!more && !few.includes(k)) continue;
      await both([...args, ...outputs, "--verify", "--seed", "7"], {
        files: [k],
        wants,
      });
      await both([...args, ...outputs, "--device", "sim", "--counters"], {
        files: [k],
        wants,
      });
      await both([...args, ...outputs, "--device", "sim", "--seed", "3", "--copies", "late"], { files: [k], wants });
    }
    const ptx = "kernels/cuda/block_sum.ptx";
    await both(["run", ptx, "--grid", "4", "--block", "256", "--arg", "f32[1024]:rand", "--arg", "f32[4]", "--arg", "i32:1024", "--json"], {
      files: [ptx],
    });
  },
  async explain() {
    for (const [i, k] of (more ? kernels : few).entries()) {
      await both(["explain", k, "--json"], { files: [k] });
      if (all || !more || i % 3 === 0) await both(["explain", k], { files: [k] });
    }
  },
  async check() {
    for (const [i, k] of (more ? kernels : few).entries()) {
      const text = fs.readFileSync(k, "utf8");
      if (all || (more && i % 3 === 0)) await both(["check", k, "--json"], { files: [k] });
      for (let n = 0, broken; n < (more ? 3 : 1) && (broken = withoutSync(text, n)); n++)
        await both(["check", "broken.tile", "--json"], {
          texts: { "broken.tile": broken },
        });
      await both(["check", k, "--json", "--no-run", "--no-sim"], {
        files: [k],
      });
    }
  },
  async golden() {
    for (const f of list("tests/golden", ".tile")) {
      const shown = [...fs.readFileSync(`tests/golden/${f}`, "utf8").matchAll(/^\/\/ show:(.*)$/gm)].map((m) => m[1].trim());
      for (const words of shown.length ? shown : [""])
        await both(["show", f, ...words.split(/\s+/).filter(Boolean)], {
          cwd: "tests/golden",
          files: [f],
        });
    }
  },
  async errors() {
    for (const f of list("tests/errors", ".tile")) {
      const command = /^\/\/ command:(.*)$/m.exec(fs.readFileSync(`tests/errors/${f}`, "latin1"))?.[1] ?? "check --no-run";
      const [name, ...words] = command.trim().split(/\s+/);
      await both([name, f, ...words, ...(name === "check" ? ["--json"] : [])], {
        cwd: "tests/errors",
        files: [f],
      });
    }
  },
  async puzzles() {
    const every = fs
      .readdirSync("puzzles")
      .filter((p) => /^\d\d_/.test(p))
      .sort();
    const names = more ? every : every.filter((_, i) => i % 3 === 0);
    for (const p of names) {
      const number = p.slice(0, 2),
        solution = await both(["learn", number, `puzzles/${p}/solution.tile`, "--json"], { files: [`puzzles/${p}/solution.tile`] });
      if (solution.status !== 0) report(p, "its solution does not pass");
      const answers = list(`puzzles/${p}/wrong`, ".tile");
      for (const w of more ? answers : answers.slice(0, 1)) {
        const refused = await both(["learn", number, `puzzles/${p}/wrong/${w}`, "--json"], { files: [`puzzles/${p}/wrong/${w}`] });
        const passes = fs.readFileSync(`puzzles/${p}/wrong/${w}`, "utf8").startsWith("// rejected:") === false;
        if ((refused.status === 0) !== passes) report(`${p}/${w}`, `status ${refused.status}`);
      }
    }
    const state = engine.call({
      args: ["learn", "1", "a.tile"],
      files: { "a.tile": fs.readFileSync(`puzzles/${names[0]}/solution.tile`) },
      wants: [LEARN_FILE],
    });
    if (
      !Buffer.from(state.files[LEARN_FILE] ?? [])
        .toString()
        .includes(`${names[0]} passed`)
    )
      report("progress", JSON.stringify(state));
  },
};

await suites[suite]();
console.log(
  `${compared} commands compared, ${succeeded} of them with status 0, ${(inEngine / 1000).toFixed(1)} s in the engine; ${wrong} differences`,
);
process.exit(wrong || !succeeded ? 1 : 0);
