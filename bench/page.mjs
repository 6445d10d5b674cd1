#!/usr/bin/env node
// Measures sizes and times of the page, medians in Chromium, with the budget of each: `./dev bench page`.
//
//   page.mjs TILEWRIGHT [--json] [--runs N]     (web/page/dist must be built)
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { cpus } from "node:os";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = join(root, "web/page/dist");
const runs = Number(process.argv[process.argv.indexOf("--runs") + 1]) || 9;
const require = createRequire(join(root, "web/package.json"));
const chromiumPath = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/google-chrome"].find((p) => p && existsSync(p));
if (!chromiumPath) throw new Error("there is no chromium (Debian's package chromium)");
const { chromium } = require("playwright-core");

const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];
const text = (path) => readFileSync(join(root, path), "utf8");
const tiled = text("kernels/sgemm/tiled.tile");
const v1 = text("kernels/matmul/shared.tile");

// The types of files; like a web host, the server sends files that were compressed ahead.
const types = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".wasm": "application/wasm",
  ".json": "application/json",
};
const compressed = new Map();
for (const name of readdirSync(dist, { recursive: true })) {
  const path = join(dist, name);
  if (!statSync(path).isFile()) continue;
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: 11,
    [constants.BROTLI_PARAM_LGWIN]: 24,
  };
  compressed.set("/" + name, brotliCompressSync(readFileSync(path), { params }));
}
compressed.set("/", compressed.get("/index.html"));
const server = createServer((request, response) => {
  const path = request.url.split(/[?#]/)[0];
  const body = compressed.get(path);
  response.writeHead(body ? 200 : 404, {
    "content-type": types[extname(path)] ?? "text/html",
    "content-encoding": "br",
  });
  response.end(body);
}).listen(0, "127.0.0.1");
await new Promise((r) => server.once("listening", r));
const url = `http://127.0.0.1:${server.address().port}/`;

const rows = [];
const row = (what, unit, goal, limit, value) => rows.push({ what, unit, goal, limit, value });
const mega = (names) => names.reduce((n, [, b]) => n + b.length, 0) / 1e6;
row("engine.wasm, brotli", "MB", 0.7, 0.9, mega([...compressed].filter(([n]) => n.endsWith(".wasm"))));
row("the rest of the page, brotli", "MB", 0.35, 0.5, mega([...compressed].filter(([n]) => n !== "/" && !n.endsWith(".wasm"))));

const browser = await chromium.launch({
  executablePath: chromiumPath,
  args: ["--no-sandbox"],
});
const context = await browser.newContext({
  viewport: { width: 1440, height: 900 },
  reducedMotion: "reduce",
});

async function firstView() {
  const page = await (await browser.newContext()).newPage();
  const line = await page.context().newCDPSession(page);
  await line.send("Network.enable");
  await line.send("Network.emulateNetworkConditions", {
    offline: false,
    latency: 20,
    downloadThroughput: 10e6 / 8,
    uploadThroughput: 10e6 / 8,
  });
  const began = performance.now();
  await page.goto(url, { waitUntil: "commit" });
  await page.waitForSelector("#roofline .readouts", { timeout: 60000 });
  const seen = (performance.now() - began) / 1000;
  await page.context().close();
  return seen;
}

/** Sets the text as one edit. Returns the milliseconds until the selector matches, or until all questions are answered. */
async function edit(page, next, until) {
  return page.evaluate(
    async ([next, until]) => {
      const content = document.querySelector(".left .cm-content");
      const view = content.cmView?.view ?? content.cmTile?.view;
      const began = performance.now();
      view.dispatch({
        changes: { from: 0, to: view.state.doc.length, insert: next },
      });
      const frame = () => new Promise((r) => setTimeout(r, 1));
      const answered = () => !document.querySelector("[aria-busy='true']");
      if (until) while (!document.querySelector(".left section").textContent.includes(until)) await frame();
      else {
        for (const until = performance.now() + 60; performance.now() < until || !answered();) await frame();
        return Math.max(...performance.getEntriesByType("measure").map((m) => m.startTime + m.duration)) - began;
      }
      return performance.now() - began;
    },
    [next, until],
  );
}
/** Returns the MB of the processes that hold pages, the engine's workers included; memory that processes share is divided among them. */
async function memory() {
  const devtools = await browser.newBrowserCDPSession();
  const { processInfo } = await devtools.send("SystemInfo.getProcessInfo");
  const kib = processInfo
    .filter((p) => p.type === "renderer")
    .map((p) => Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${p.id}/smaps_rollup`, "utf8"))?.[1] ?? NaN));
  await devtools.detach();
  return (kib.reduce((a, b) => a + b, 0) * 1024) / 1e6;
}
const measure = (page, name) => page.evaluate((name) => performance.getEntriesByName(name, "measure").at(-1)?.duration ?? NaN, name);

/** Returns the processor time in milliseconds that the page's thread needs for each frame while Step's strip is dragged from one end to
 * the other and back: script, style, layout and paint, not counting other work of the machine. */
async function scrub(kernel, query) {
  const page = await context.newPage();
  await page.goto(`${url}#kernel=${kernel}&${query}`);
  await page.waitForSelector("#step svg.figure");
  await page.waitForFunction(() => !document.querySelector("[aria-busy='true']"), null, { timeout: 120000 });
  await page.waitForTimeout(5000); // for the work that the page prepares when it is idle
  const strip = page.locator("#step [role=slider]");
  const events = Number(await strip.getAttribute("aria-valuemax")) + 1;
  await strip.scrollIntoViewIfNeeded();
  const line = await page.context().newCDPSession(page);
  await line.send("Performance.enable", { timeDomain: "threadTicks" });
  const busy = async () => {
    const { metrics } = await line.send("Performance.getMetrics");
    return metrics.find((m) => m.name === "TaskDuration").value * 1000;
  };
  await strip.evaluate((strip) => {
    const { left, top, width } = strip.getBoundingClientRect();
    const send = (type, x) =>
      strip.dispatchEvent(new PointerEvent(type, { bubbles: true, pointerId: 1, buttons: 1, clientX: left + x * width, clientY: top + 9 }));
    strip.setPointerCapture = () => {};
    strip.hasPointerCapture = () => true;
    const { port1, port2 } = new MessageChannel();
    window.dragTo = (x) =>
      new Promise((painted) =>
        requestAnimationFrame(() => {
          send("pointermove", x);
          port1.onmessage = painted; // after the frame
          port2.postMessage(0);
        }),
      ).then(() => {});
    send("pointerdown", 0);
  });
  const steps = 100;
  const frames = [];
  for (let i = 0; i <= 2 * steps; i++) {
    const before = await busy();
    await page.evaluate((x) => window.dragTo(x), (i <= steps ? i : 2 * steps - i) / steps);
    frames.push((await busy()) - before);
  }
  await page.close();
  return { events, frames };
}

const page = await context.newPage();
await page.goto(url);
await page.waitForSelector("#roofline .readouts");
await page.waitForTimeout(1500);
const marked = (source, i) => source.replace(/^\/\/.*/, `// ${i}`);

row("memory of the page and its workers, at first", "MB", 256, 256, await memory());
const times = { key: [], v1: [], race: [], large: [], stop: [] };
for (let i = 0; i < runs; i++) {
  await edit(page, marked(tiled, `a${i}`));
  times.key.push(await measure(page, "diagnosed"));
  const racy = marked(tiled, `r${i}`)
    .split("\n")
    .filter((_, n) => n !== 15)
    .join("\n");
  times.race.push(await edit(page, racy, "other threads may still be"));
}
// 64³ for the run and for the model.
const small = await context.newPage();
await small.goto(url + "#kernel=shared&scale=64&set=m:64,n:64,k:64");
await small.waitForSelector("#roofline .readouts");
await small.waitForTimeout(1500);
for (let i = 0; i < runs; i++) times.v1.push(await edit(small, marked(v1, `v${i}`)));
await small.close();
for (const name of ["m", "n", "k"])
  await page
    .getByLabel(name, { exact: true })
    .fill("256")
    .then(() => page.keyboard.press("Enter"));
for (let i = 0; i < Math.min(runs, 5); i++) {
  await edit(page, marked(tiled, `l${i}`));
  times.large.push(await measure(page, "simulated"));
}
row("the same, after runs of 256³", "MB", 256, 256, await memory());
// A run that takes seconds: the page shows Stop after one second.
for (const name of ["m", "n", "k"])
  await page
    .getByLabel(name, { exact: true })
    .fill("512")
    .then(() => page.keyboard.press("Enter"));
for (let i = 0; i < Math.min(runs, 5); i++) {
  await page.evaluate(() => performance.clearMeasures());
  edit(page, marked(tiled, `s${i}`)).catch(() => {});
  const stop = page.locator(".waiting button");
  await stop.waitFor({ timeout: 5000 }).catch(() => {});
  times.stop.push(
    await page.evaluate(async () => {
      const button = document.querySelector(".waiting button");
      if (!button) return NaN;
      const began = performance.now();
      button.click();
      while (document.querySelector(".waiting button")) await new Promise((r) => setTimeout(r, 1));
      return performance.now() - began;
    }),
  );
}
const seconds = (list) => median(list.filter(Number.isFinite)) / 1000;
row("diagnostics after a key", "ms", 30, 60, seconds(times.key) * 1000);
row("a deleted sync() shows its race", "s", 0.15, 0.4, seconds(times.race));
row("V1 64³, all cards", "s", 0.1, 0.3, seconds(times.v1));
row("tiled 256³ with all checks, counters and trace", "s", 0.6, 1.5, seconds(times.large));
row("stop", "ms", 100, 100, seconds(times.stop) * 1000);
for (const [what, kernel, query] of [
  ["tiled", "tiled", "set=m:64,n:64,k:4096"],
  ["V4", "stages", "set=m:128,n:128,k:8192"],
]) {
  const { events, frames } = await scrub(kernel, query);
  const most = frames.toSorted((a, b) => a - b)[Math.floor(frames.length * 0.95)];
  row(`scrub ${what}, ${events.toLocaleString("en-US")} events, a frame`, "ms", 8, 16, median(frames));
  row(`scrub ${what}, 19 of 20 frames`, "ms", 16, 33, most);
}
row("first view over 10 Mbit/s", "s", 1, 2, median([await firstView(), await firstView(), await firstView()]));
await browser.close();
server.close();

if (process.argv.includes("--json")) console.log(JSON.stringify({ processor: cpus()[0].model, runs, rows }, null, 2));
else {
  console.log(`${cpus()[0].model}; medians of ${runs}\n`);
  console.log(`${"".padEnd(48)}${"measured".padStart(10)}${"goal".padStart(8)}${"limit".padStart(8)}`);
  for (const r of rows) {
    const mark = r.value <= r.goal ? "" : r.value <= r.limit ? "  over the goal" : "  OVER THE LIMIT";
    console.log(
      `${r.what.padEnd(48)}${r.value.toFixed(r.unit === "ms" ? 0 : 2).padStart(7)} ${r.unit.padEnd(2)}${String(r.goal).padStart(8)}${String(r.limit).padStart(8)}${mark}`,
    );
  }
}
