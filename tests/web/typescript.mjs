// Lets Node read the page's TypeScript through the compiler in web/node_modules:
//
//     import { load, root } from "./typescript.mjs";
//     const { Trace } = await load("web/engine/trace.ts");
//
// Exits with status 77 if that compiler is not installed, or if a test needs the engine's module and it is not built.
import { existsSync, readFileSync } from "node:fs";
import { register } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

if (!existsSync(`${root}web/node_modules/typescript`)) {
  console.log("skipped: web/node_modules is not there (npm ci in web)");
  process.exit(77);
}
register("./typescript_hooks.mjs", import.meta.url);

export const load = (path) => import(pathToFileURL(root + path).href);

export const engineFile = `${root}build-wasm/web/engine.wasm`;

export function engineModule() {
  if (!existsSync(engineFile)) {
    console.log("skipped: build-wasm/web/engine.wasm is not there (./dev build wasm)");
    process.exit(77);
  }
  return new WebAssembly.Module(readFileSync(engineFile));
}
