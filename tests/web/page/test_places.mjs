// Checks that the page works from any static folder at any path, and that the engine never runs on the page's own thread.
import { execFileSync } from "node:child_process";
import { createReadStream, existsSync, mkdtempSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname } from "node:path";
import { equal, ok, root, setText, settled, test } from "./browser.mjs";

const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".json": "application/json", ".svg": "image/svg+xml" };
const folder = mkdtempSync(tmpdir() + "/places-");
execFileSync(process.argv[2], ["play", "kernels/sgemm/tiled.tile", "--export", `${folder}/page`], { cwd: root });

/** A plain web server that serves the folder at /of/mine/, and the paths that it was asked for. */
const asked = [];
const server = createServer((request, response) => {
  const path = decodeURIComponent(new URL(request.url, "http://x").pathname).replace(/\/$/, "/index.html");
  const file = path.startsWith("/of/mine/") ? `${folder}/page/${path.slice(9)}` : "";
  asked.push(path);
  if (!file || !existsSync(file) || statSync(file).isDirectory()) return response.writeHead(404).end();
  response.writeHead(200, { "content-type": types[extname(file)] ?? "application/octet-stream" });
  createReadStream(file).pipe(response);
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const address = `http://127.0.0.1:${server.address().port}/of/mine/`;

await test(async ({ browser }) => {
  const page = await browser.newPage();
  const beyond = [];
  page.on("request", (r) => r.url().startsWith(address) || /^(blob|data):/.test(r.url()) || beyond.push(r.url()));
  await page.addInitScript(() => {
    globalThis.engines = 0;
    for (const name of ["instantiate", "instantiateStreaming"])
      WebAssembly[name] = () => {
        globalThis.engines++;
        return Promise.reject(new Error("an engine on the page's thread"));
      };
    WebAssembly.Instance = class {
      constructor() {
        globalThis.engines++;
        throw new Error("an engine on the page's thread");
      }
    };
  });
  await page.goto(address);
  await settled(page);
  const tiled = readFileSync(root + "kernels/sgemm/tiled.tile", "utf8");
  await setText(page, tiled.replace("        sync();\n", ""));
  await page.waitForFunction(() => document.querySelector("[aria-label=Messages]").textContent.includes("may still be"));
  for (const card of await page.$$("section[id]")) await card.scrollIntoViewIfNeeded();
  await settled(page);
  equal("engines on the page's own thread", await page.evaluate(() => globalThis.engines), 0);
  ok("the engine came from the folder", asked.some((path) => path.endsWith(".wasm")), asked.join(" "));
  equal("requests beyond the folder", beyond, []);
  ok("nothing that is asked for is missing", asked.every((path) => path.startsWith("/of/mine/")), asked.join(" "));
  const refused = await page.evaluate(async () => {
    const violated = [];
    document.addEventListener("securitypolicyviolation", (e) => violated.push(e.effectiveDirective));
    await fetch("http://127.0.0.1:9/").catch(() => {});
    const script = document.createElement("script");
    script.textContent = "globalThis.engines = 1;";
    document.body.append(script);
    await new Promise((later) => setTimeout(later, 100));
    return [...violated, globalThis.engines];
  });
  equal("what the page's policy refuses: other places, scripts in the text", refused, ["connect-src", "script-src-elem", 0]);
});
server.close();
