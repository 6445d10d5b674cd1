// Tests the heat gutter: its bars show the counters of `run --counters --json` for each line, in every unit; Alt-↑ changes a number in
// place.
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { equal, ok, root, setText, settled, test } from "./browser.mjs";

const units = ["global_sectors", "shared_wavefronts", "warp_instructions", "thread_instructions"];
const options = ["--set", "m=64,n=64,k=64", "--device", "sim", "--fill", "rand", "--seed", "1", "--counters"];
const folder = mkdtempSync(tmpdir() + "/heat-");
const text = (page) => page.$$eval(".left .cm-line", (lines) => lines.map((l) => l.textContent).join("\n"));

/** Returns the texts of the bars, from the first line on. */
const bars = (page) => page.$$eval(".cm-heat .heat", (l) => l.map((h) => h.title).filter(Boolean).map((t) => Number(/^[\d,]+/.exec(t)[0].replaceAll(",", ""))));

await test(async ({ open, native }) => {
  const page = await open({ path: "#kernel=tiled&set=m:64,n:64,k:64" });
  const tiled = await text(page);
  const edited = tiled.replace("sum += as[ty][q] * bs[q][tx];", "sum += bs[q][tx] * as[ty][q];").replace("{32, 16, 8}", "{16, 8}");
  ok("an edited kernel", edited !== tiled);
  await setText(page, edited);
  writeFileSync(`${folder}/tiled.tile`, edited);
  const { lines } = native("run", `${folder}/tiled.tile`, ...options).counters;
  for (const unit of units) {
    await page.locator("label", { hasText: /^\s*heat/ }).locator("select").selectOption(unit);
    const wanted = lines.filter((l) => l[unit]).sort((a, b) => a.line - b.line).map((l) => l[unit]);
    ok(`lines have ${unit}`, wanted.length > 1);
    equal(unit, await bars(page), wanted);
  }

  // Alt and an arrow key change the number at the cursor: up, down, and to twice its value; the page runs the new text.
  const line = edited.split("\n").findIndex((l) => l.includes("{16, 8}"));
  await page.locator(".left .cm-line").nth(line).click();
  await page.keyboard.press("Home");
  for (let i = edited.split("\n")[line].trimStart().indexOf("16"); i > 0; i--) await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Alt+ArrowUp");
  equal("Alt-↑", await text(page), edited.replace("{16, 8}", "{17, 8}"));
  await page.keyboard.press("Alt+ArrowDown");
  equal("Alt-↓", await text(page), edited);
  await page.keyboard.press("Alt+Shift+ArrowUp");
  await settled(page);
  equal("with Shift", await text(page), edited.replace("{16, 8}", "{32, 8}"));
  writeFileSync(`${folder}/tiled.tile`, await text(page));
  const counted = native("run", `${folder}/tiled.tile`, ...options).counters.lines;
  await page.locator("label", { hasText: /^\s*heat/ }).locator("select").selectOption("global_sectors");
  equal("bars after it", await bars(page), counted.filter((l) => l.global_sectors).sort((a, b) => a.line - b.line).map((l) => l.global_sectors));
  const changes = await page.$$eval(".cm-heat .heat", (l) => l.map((h) => h.textContent.trim()).filter(Boolean));
  ok("and what changed", changes.length > 0 && changes.every((c) => /^[+−]\d+ %$|^new$/.test(c)), JSON.stringify(changes));
});
