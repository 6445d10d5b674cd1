// Tests the page in a real browser: serves web/page/dist as `tilewright play` does and drives it with Playwright.
//
//     import { test } from "./browser.mjs";
//     await test(async ({ open, native }) => { const page = await open(); … });
//
// Exits with status 77 and the reason if the browser, the page or Playwright is missing.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../..", import.meta.url));
const tool = process.argv[2];
const require = createRequire(root + "web/package.json");

export function skip(why) {
  console.log(`skipped: ${why}`);
  process.exit(77);
}

/** Longest wait in milliseconds; only a hang takes longer, even on the busiest machine. */
export const longest = 300_000;

const chromium = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(
  (p) => p && existsSync(p),
);

export async function serve(args) {
  const server = spawn(tool, ["play", ...args, "--no-open", "--port", "0"], { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
  const address = await new Promise((resolve, reject) => {
    server.stdout.once("data", (text) => resolve(/http:\S+/.exec(String(text))[0]));
    server.once("exit", (status) => reject(new Error(`tilewright play ended with ${status}`)));
  });
  return { address, end: () => server.kill() };
}

/** Returns the JSON that a native command prints with --json, also if its status is not 0; throws if it prints none. */
export function native(...args) {
  try {
    return JSON.parse(
      execFileSync(tool, [...args, "--json"], { cwd: root, encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] }),
    );
  } catch (error) {
    if (error.stdout) return JSON.parse(error.stdout);
    throw error;
  }
}

export function equal(what, got, wanted) {
  if (JSON.stringify(got) !== JSON.stringify(wanted)) throw new Error(`${what}: ${JSON.stringify(got)}, not ${JSON.stringify(wanted)}`);
}
export function ok(what, condition, more = "") {
  if (!condition) throw new Error(`${what} ${more}`);
}

/** Returns the violations of WCAG 2.2 A and AA and of axe's best practices as text; the empty text if there are none. */
export async function violations(page) {
  await page.evaluate(readFileSync(require.resolve("axe-core/axe.min.js"), "utf8")); // the page's policy forbids script tags
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations
    .map(
      (v) =>
        `${v.id}: ${v.help}: ${v.nodes
          .slice(0, 3)
          .map(
            (n) =>
              `${n.html.slice(0, 160)} ${n.any
                .map((a) => a.message)
                .join("; ")
                .slice(0, 200)}`,
          )
          .join(" | ")}`,
    )
    .join("\n");
}

/** Checks that the page has no violations and does not scroll sideways, in both themes, wide and narrow. */
export async function looksRight(open, path = "") {
  for (const scheme of ["light", "dark"]) {
    const view = await open({ scheme, path });
    for (const width of [1440, 320]) {
      await view.setViewportSize({ width, height: 900 });
      await settled(view);
      equal(`violations, ${scheme}, ${width} pixels`, await violations(view), "");
      ok(`no sideways scrolling at ${width} pixels`, await view.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    }
    await view.context().close();
  }
}

/** Replaces the editor's text as typing does, and waits for the engine's answer. */
export async function setText(page, text, label = "Kernel source") {
  const editor = page.getByLabel(label, { exact: true });
  await editor.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
  await settled(page);
}

/** Waits until all work that the page has begun is done (web/page/src/app/under_way.ts) for three frames in a row, because cards that
 * come into view ask the engine one frame later. */
export async function settled(page) {
  await page.evaluate(async (longest) => {
    const until = performance.now() + longest;
    for (let quiet = 0; quiet < 3; ) {
      await new Promise(requestAnimationFrame);
      quiet = document.documentElement.hasAttribute("data-busy") ? 0 : quiet + 1;
      if (performance.now() > until) throw new Error("the page does not settle");
    }
  }, longest);
}

export async function test(body) {
  if (!chromium) skip("there is no chromium (Debian's package chromium)");
  if (!existsSync(root + "web/page/dist/index.html")) skip("web/page/dist was not built (./dev play builds it)");
  let playwright;
  try {
    playwright = require("playwright-core");
  } catch {
    skip("web/node_modules is not there (npm ci in web)");
  }
  const browser = await playwright.chromium.launch({ executablePath: chromium, args: ["--no-sandbox"], timeout: longest });
  const servers = [];
  const wrong = [];
  async function open({ args = [], path = "", width = 1440, height = 900, scheme = "light", reducedMotion = "reduce", settle = true } = {}) {
    const server = await serve(args);
    servers.push(server);
    const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, reducedMotion });
    const page = await context.newPage();
    page.setDefaultTimeout(longest);
    page.on("pageerror", (e) => wrong.push(`error in the page: ${e.stack ?? e.message}`));
    page.on("console", (m) => m.type() === "error" && wrong.push(`console: ${m.text()}`));
    page.on("request", (r) => {
      if (!r.url().startsWith(server.address) && !/^(blob|data):/.test(r.url()))
        wrong.push(`a request leaves the page's origin: ${r.url()}`);
    });
    await page.goto(server.address + path);
    if (settle) await settled(page);
    return page;
  }
  try {
    await body({ open, native, browser });
    if (wrong.length) throw new Error(wrong.join("\n"));
  } catch (error) {
    console.error(error.stack ?? error);
    if (wrong.length) console.error(wrong.join("\n"));
    process.exitCode = 1;
  } finally {
    await browser.close();
    for (const s of servers) s.end();
  }
}
