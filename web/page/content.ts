/** The repository's kernels, puzzles and lessons, and the language's words, as the module `virtual:content`. The page has no copies of
 * them: its build reads them. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";
import { Engine } from "../engine/engine.ts";
import { checkArgs, explainArgs, kernelsArgs, productArgs, runArgs, sweepArgs, traceFile } from "./src/app/asks.ts";
import type { Kernel } from "./src/app/results.ts";
import type { Lesson, Measured, Puzzle, ShippedKernel } from "./src/app/content_types.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");

/** Returns the kernels that ship, then those of the lessons. */
function kernels(): ShippedKernel[] {
  const kernel = (path: string, group: string): ShippedKernel => {
    const text = read(path);
    return { path, name: basename(path, ".tile"), group, text, about: /^\/\/ (.*)/.exec(text)?.[1] ?? "" };
  };
  return [
    ...filesOf("kernels", /\.tile$/)
      .filter((path) => !path.startsWith("kernels/lib/"))
      .map((path) => kernel(path, basename(dirname(path)))),
    ...filesOf("docs/tutorial/files", /\.tile$/).map((path) => kernel(path, "lessons")),
  ];
}

/** Returns the files that a kernel may import, by the path at which `import` finds them from any file of the page. */
function importable(): Record<string, string> {
  return Object.fromEntries(filesOf("kernels/lib", /\.tile$/).map((path) => [`lib/${basename(path)}`, read(path)]));
}

function puzzles(): Puzzle[] {
  return filesOf("puzzles", /\/puzzle\.md$/).map((path) => {
    const folder = dirname(path);
    const [number, ...name] = basename(folder).split("_");
    const cuda = `${folder}/starter.cu`;
    return {
      number: Number(number),
      name: name.join("_"),
      text: read(path),
      starter: read(`${folder}/starter.tile`),
      solution: read(`${folder}/solution.tile`),
      cuda: existsSync(join(root, cuda)),
    };
  });
}

/** Returns the lessons in their order, then the answers to their exercises. */
function lessons(): Lesson[] {
  return filesOf("docs/tutorial", /\/([0-9]-.*|answers)\.md$/).map((path) => {
    const text = read(path);
    return { path, title: /^# (.*)/m.exec(text)?.[1] ?? path, text };
  });
}

/** Returns the times of docs/performance.md, "Kernel by kernel". */
function measured(): Measured[] {
  const table = /## Kernel by kernel[\s\S]*?\n\n(\| kernel[\s\S]*?)\n\n/.exec(read("docs/performance.md"))?.[1] ?? "";
  const cells = (line: string) =>
    line
      .split("|")
      .slice(1, -1)
      .map((c) => c.trim());
  const [head, , ...rows] = table.split("\n").map(cells);
  const column = (name: string) => head!.indexOf(name);
  return rows.map((row) => {
    const [file, kernel] = row[column("kernel")]!.replaceAll("`", "").split(":");
    const [rate, unit] = row[column("rate")]!.split(" ");
    return {
      path: `kernels/${file}.tile`,
      kernel: kernel ?? null,
      type: row[column("type")]!,
      ms: Number(row[column("ms")]),
      rate: Number(rate),
      unit: unit!,
      bound: row[column("bound by")]!,
    };
  });
}

/** Returns the pictures of the lessons, by their addresses in the text. The page's colours replace their own. */
function pictures(): Record<string, string> {
  if (!existsSync(join(root, "docs/figures"))) return {};
  const colours = /<style data-colours[^>]*>[\s\S]*?<\/style>/;
  return Object.fromEntries(
    filesOf("docs/figures", /\.svg$/).map((path) => [`../figures/${basename(path)}`, read(path).replace(colours, "")]),
  );
}

/** Returns the files that the pattern allows, in the folders of the folder or in the folder itself. */
function filesOf(folder: string, allowed: RegExp): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .map((name) => `${folder}/${name}`)
    .filter((path) => allowed.test(path))
    .sort();
}

function words(): unknown {
  return JSON.parse(execFileSync("python3", ["scripts/editors.py", "--words"], { cwd: root, encoding: "utf8" }));
}

export function content(): Plugin {
  const id = "virtual:content";
  return {
    name: "tilewright-content",
    resolveId: (source) => (source === id ? "\0" + id : null),
    load(source) {
      if (source !== "\0" + id) return null;
      const parts = {
        kernels: kernels(),
        importable: importable(),
        puzzles: puzzles(),
        lessons: lessons(),
        pictures: pictures(),
        measured: measured(),
        words: words(),
      };
      return Object.entries(parts)
        .map(([name, value]) => `export const ${name} = ${JSON.stringify(value)};`)
        .join("\n");
    },
  };
}

/** Adds the engine's module to the page's files (`cmake --preset wasm && ninja -C build-wasm` makes it), and ahead.json with its answers
 * to the questions that the page asks when it opens. */
export function engine(): Plugin {
  const path = process.env["TILEWRIGHT_ENGINE"] ?? join(root, "build-wasm/web/engine.wasm");
  return {
    name: "tilewright-engine",
    buildStart() {
      if (!existsSync(path)) this.error(`there is no ${path}: build the engine first (./dev play does both)`);
    },
    async generateBundle() {
      this.emitFile({ type: "asset", fileName: "engine.wasm", source: readFileSync(path) });
      this.emitFile({ type: "asset", fileName: "ahead.json", source: JSON.stringify(await answersAhead(path)) });
    },
    configureServer(server) {
      server.middlewares.use("/engine.wasm", (_, response) => {
        response.setHeader("content-type", "application/wasm");
        response.end(readFileSync(path));
      });
    },
  };
}

async function answersAhead(module: string): Promise<unknown[]> {
  const engine = new Engine(await WebAssembly.compile(readFileSync(module)));
  const path = "kernels/sgemm/tiled.tile";
  const answers: unknown[] = [];
  const ask = (args: string[], of = path) => {
    const answer = engine.call({ args, files: { [basename(of)]: read(of) }, wants: [traceFile] });
    const files = Object.fromEntries(Object.entries(answer.files).map(([n, b]) => [n, Buffer.from(b).toString("base64")]));
    answers.push({ args, path: of, answer: { ...answer, files } });
    return answer.out;
  };
  const file = basename(path);
  const kernel = JSON.parse(ask(kernelsArgs(file)))[0] as Kernel;
  const opening = { file, kernel, sizes: {}, tune: {}, types: {}, seed: 1, block: [0, 0, 0], device: "h200", scale: 1024 };
  ask(checkArgs(file));
  ask(runArgs(opening));
  ask(explainArgs(opening));
  ask(sweepArgs(opening)!);
  ask(productArgs("naive.tile", opening.device, opening.scale), "kernels/sgemm/naive.tile");
  return answers;
}
