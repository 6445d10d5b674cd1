// Tests the view of passes and PTX: its texts, places and counts equal those of `show`; a pass's difference; links between the lists.
import { readFileSync } from "node:fs";
import { equal, native, ok, root, setText, settled, test, violations } from "./browser.mjs";

const card = (page) => page.locator("#passes");
const readout = (page, name) => card(page).locator(".readouts div", { has: page.locator("dt", { hasText: name }) }).first().locator("dd").innerText();

async function shown(page, kernel) {
  await page.goto(page.url().replace(/#.*/, `#kernel=kernels/${kernel}.tile`));
  await settled(page);
  const name = native("show", `kernels/${kernel}.tile`, "--kernels")[0].kernel;
  for (let i = 0; i < 60; i++) {
    await card(page).scrollIntoViewIfNeeded(); // the cards above it grow when they are filled
    await settled(page);
    if ((await card(page).locator(".list").allTextContents()).some((text) => text.includes(`kernel ${name}`))) return;
  }
  throw new Error(`the passes of ${kernel} do not appear`);
}

/** Returns all lines of a list in order; scrolls through the list, because it draws only the lines in view. */
async function lines(page, label) {
  return card(page)
    .getByRole("listbox", { name: label })
    .evaluate(async (list) => {
      const found = new Map();
      for (let top = 0; ; top += 200) {
        list.scrollTop = top;
        await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
        for (const o of list.querySelectorAll("[role=option]"))
          found.set(Number(o.dataset.index), ["sign", "text", "line"].map((c) => o.querySelector(`.${c}`).textContent));
        if (top > list.scrollHeight) break;
      }
      return [...found].sort((a, b) => a[0] - b[0]).map(([, line]) => line);
    });
}

const sizes = ["--set", "m=64", "--set", "n=64", "--set", "k=64"];

await test(async ({ open }) => {
  const page = await open({ path: "#kernel=tiled" });
  ok("nothing is computed before it is seen", (await card(page).locator("[role=listbox]").count()) === 0);
  for (const kernel of ["matmul/auto", "matmul/stages", "sgemm/tiled"]) {
    await shown(page, kernel);
    const file = `kernels/${kernel}.tile`;
    const tile = native("show", file, "--stage", "tile", "--target", "sm_90", ...sizes);
    for (const [i, pass] of tile.passes.entries()) {
      await card(page).locator("input[type=range]").fill(String(i));
      const got = await lines(page, /^The program after/);
      equal(`${kernel} after ${pass.name}`, got.filter(([sign]) => sign !== "−").map((l) => l[1]), pass.text.trimEnd().split("\n"));
      const before = tile.passes[Math.max(0, i - 1)].text.trimEnd().split("\n");
      equal(`${kernel} before ${pass.name}`, got.filter(([sign]) => sign !== "+").map((l) => l[1]), before);
      if (kernel === "matmul/auto" && pass.name === "pipeline")
        ok("pipeline adds stages", got.some(([sign, text]) => sign === "+" && text.includes("sa[3][128][16]")), JSON.stringify(got));
    }
    const ptx = native("show", file, "--stage", "ptx", "--target", "sm_90", ...sizes);
    const got = await lines(page, "PTX");
    let place = "";
    for (const [i, line] of ptx.lines.entries()) {
      const loc = /^\s*\.loc \d+ (\d+) \d+/.exec(line.text);
      if (loc) place = loc[1];
      // The page gives the file a name of its own, so the line with that name may differ.
      if (!line.text.startsWith(".file")) equal(`${kernel} PTX line ${i + 1}`, got[i][1], line.text);
      equal(`${kernel} source of PTX line ${i + 1}`, got[i][2], line.instruction ? place : "");
    }
    const count = Object.values(ptx.instructions).reduce((a, b) => a + b, 0);
    equal("instructions", await readout(page, "instructions"), count.toLocaleString("en-US"));
    equal("registers", await readout(page, "registers"), `about ${ptx.registers}`);
  }
  equal("widths", await readout(page, "ld.shared"), "8 × 16 B, 32 × 4 B");

  // A line of PTX chooses its source line, in the editor and in the other list.
  const list = card(page).getByRole("listbox", { name: "PTX" });
  await list.evaluate((l) => (l.scrollTop = 0));
  await list.focus();
  await page.keyboard.press("Home");
  while (!(await list.locator("[aria-selected=true] .line").innerText())) await page.keyboard.press("ArrowDown");
  const line = await list.locator("[aria-selected=true] .line").innerText();
  ok("the source is named", (await card(page).locator(".source").innerText()).startsWith(`line ${line}`));
  ok("its lines are marked", (await list.locator(".marked").count()) > 1);

  // Returns true if the list's active row is drawn and in sight.
  const active = () =>
    list.evaluate(async (l) => {
      await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
      const row = document.getElementById(l.getAttribute("aria-activedescendant"));
      const [outer, inner] = [l.getBoundingClientRect(), row?.getBoundingClientRect()];
      return Boolean(inner && inner.top >= outer.top - 1 && inner.bottom <= outer.bottom + 1);
    });
  for (const key of ["End", ...Array(30).fill("ArrowUp"), "PageUp", "PageUp", "Home", "PageDown", "ArrowDown"]) {
    await list.press(key);
    ok(`the active row after ${key}`, await active());
  }
  await list.evaluate((l) => l.blur());
  await list.evaluate((l) => (l.scrollTop = l.scrollHeight));
  await list.focus();
  ok("the active row of a list that gets the focus again", await active());

  // An edit is compiled again.
  const tiled = readFileSync(root + "kernels/sgemm/tiled.tile", "utf8");
  await setText(page, tiled.replace("f32 sum = 0;", "f32 sum = 0, other = 1;").replace("C[row][col] = sum;", "C[row][col] = sum * other;"));
  await card(page).scrollIntoViewIfNeeded();
  await settled(page);
  await card(page).locator("input[type=range]").fill("0");
  ok("the edit is there", (await lines(page, /^The program after/)).some(([, text]) => text.includes("sum * other")));
  equal("axe", await violations(page), "");
});
