// Hooks of Node's loader: TypeScript without its types, and the page's name for the engine's folder (typescript.mjs).
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const web = new URL("../../web/", import.meta.url);
const typescript = createRequire(web)("typescript");

export async function resolve(name, context, next) {
  return next(name.startsWith("$engine/") ? new URL(`engine/${name.slice(8)}`, web).href : name, context);
}

export async function load(url, context, next) {
  if (!url.endsWith(".ts")) return next(url, context);
  const options = { target: "ES2022", module: "ESNext", verbatimModuleSyntax: true };
  const { outputText } = typescript.transpileModule(await readFile(new URL(url), "utf8"), { compilerOptions: options });
  return { format: "module", source: outputText, shortCircuit: true };
}
