// Tests the page in Firefox, through WebDriver BiDi: the missing barrier is found, its fix mends it, and each card shows its figures.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { equal, longest, native, ok, root, serve, skip } from "./browser.mjs";

const firefox = [process.env.FIREFOX, "/usr/bin/firefox-esr", "/usr/bin/firefox"].find((p) => p && existsSync(p));
if (!firefox) skip("there is no Firefox (Debian's package firefox-esr)");
if (!existsSync(root + "web/page/dist/index.html")) skip("web/page/dist was not built (./dev play builds it)");
const require = createRequire(root + "web/package.json");
const puppeteer = (await import(pathToFileURL(require.resolve("puppeteer-core")))).default;

const tiled = readFileSync(root + "kernels/sgemm/tiled.tile", "utf8");
const browser = await puppeteer.launch({ browser: "firefox", executablePath: firefox, headless: true, timeout: longest, protocolTimeout: longest });
const server = await serve([]);
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(longest);
  const wrong = [];
  page.on("pageerror", (e) => wrong.push(e.message));
  await page.setViewport({ width: 1280, height: 900 });
  await page.goto(server.address);
  const until = (condition, ...values) => page.waitForFunction(condition, { timeout: longest }, ...values);
  const text = () => page.$$eval(".left .cm-line", (lines) => lines.map((l) => l.textContent).join("\n"));
  await until(() => document.querySelector("[aria-label=Messages]")?.textContent.includes("No mistakes found"));

  await page.click(".left .cm-line:nth-child(16)");
  await page.keyboard.press("Home");
  await page.keyboard.down("Shift");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.up("Shift");
  await page.keyboard.press("Delete");
  await until(() => document.querySelector("[aria-label=Messages]").textContent.includes("other threads may still be writing it"));
  const clicked = await page.$$eval("[aria-label=Messages] button", (list) => {
    const fix = list.find((b) => b.textContent.trim() === "Fix");
    fix?.click();
    return Boolean(fix);
  });
  ok("the message has a fix", clicked);
  await until(() => document.querySelector("[aria-label=Messages]").textContent.includes("No mistakes found"));
  equal("the text after the fix", await text(), tiled);

  await until(() => !document.documentElement.hasAttribute("data-busy"));
  const said = native("explain", "kernels/sgemm/tiled.tile", "--device", "h200", "--set", "m=1024,n=1024,k=1024").kernels[0];
  equal("the verdict", await page.$eval("#roofline .verdict", (e) => e.textContent), said.verdict);
  equal("errors in the page", wrong, []);
} finally {
  await browser.close();
  server.end();
}
