// Hooks of Node's loader (typescript.mjs): they remove types from TypeScript, turn Svelte's runes into plain values, resolve the page's
// name for the engine's folder, and give one kernel as the repository's content.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const web = new URL("../../web/", import.meta.url);
const require = createRequire(web);
const typescript = require("typescript");
const tiled = "kernels/sgemm/tiled.tile";

export async function resolve(name, context, next) {
  if (name === "virtual:content") return { url: "virtual:content", shortCircuit: true };
  return next(name.startsWith("$engine/") ? new URL(`engine/${name.slice(8)}`, web).href : name, context);
}

export async function load(url, context, next) {
  if (url === "virtual:content") {
    const kernels = [{ path: tiled, name: "tiled", text: await readFile(new URL(`../${tiled}`, web), "utf8") }];
    return { format: "module", source: `export const kernels = ${JSON.stringify(kernels)}, importable = {};`, shortCircuit: true };
  }
  if (!url.endsWith(".ts")) return next(url, context);
  const options = { target: "ES2022", module: "ESNext", verbatimModuleSyntax: true };
  const { outputText } = typescript.transpileModule(await readFile(new URL(url), "utf8"), { compilerOptions: options });
  if (!url.endsWith(".svelte.ts")) return { format: "module", source: outputText, shortCircuit: true };
  const { compileModule } = require("svelte/compiler");
  return { format: "module", source: compileModule(outputText, { generate: "server", filename: url }).js.code, shortCircuit: true };
}
