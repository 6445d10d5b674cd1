// Tests the view Step: each step by keyboard, and the state restored on the way back; its sums; a click on C chooses a block.
import { readFileSync } from "node:fs";
import { equal, ok, root, setText, settled, test, violations } from "./browser.mjs";

const card = (page) => page.locator("#step");
const readout = (page, name) => card(page).locator(".readouts div", { hasText: name }).first().locator("dd").innerText();
const slider = (page) => card(page).getByRole("slider", { name: "Event" });
const at = async (page) => Number(await slider(page).getAttribute("aria-valuenow"));
const figure = (page) => card(page).locator("svg.figure").evaluate((e) => e.outerHTML);

async function sizes(page, values) {
  for (const [name, value] of Object.entries(values)) {
    const field = page.locator("label", { hasText: new RegExp(`^\\s*${name}\\s`) }).locator("input").first();
    await field.fill(String(value));
    await field.press("Enter");
  }
  await settled(page);
}

await test(async ({ open, native }) => {
  const tiled = readFileSync(root + "kernels/sgemm/tiled.tile", "utf8");
  const page = await open({ path: "#kernel=tiled" });
  equal("nothing moves by itself where motion is to be reduced", await at(page), 0);
  await setText(page, tiled.replace("{32, 16, 8}", "{2}"));
  await sizes(page, { m: 2, n: 2, k: 6 });

  await slider(page).focus();
  const last = Number(await slider(page).getAttribute("aria-valuemax"));
  const seen = [await figure(page)];
  for (let e = 1; e <= last; e++) {
    await page.keyboard.press("ArrowRight");
    equal("event", await at(page), e);
    seen.push(await figure(page));
  }
  equal("FLOPs", await readout(page, "FLOPs"), "48 (100.0 %)");
  equal("bytes of threads", await readout(page, "bytes of threads"), "112 B");
  for (let e = last - 1; e >= 0; e--) {
    await page.keyboard.press("ArrowLeft");
    ok(`the picture of event ${e} is restored`, (await figure(page)) === seen[e]);
  }
  await page.keyboard.press("End");
  equal("End", await at(page), last);
  await page.keyboard.press("Home");
  equal("Home", await at(page), 0);
  await page.keyboard.press("Alt+ArrowRight");
  equal("the second turn", await readout(page, "step of the loop"), "2 of 3, p = 2");
  await page.keyboard.press("Shift+ArrowRight");
  equal("the next phase", await card(page).locator("[aria-current=step]").innerText(), "sync");
  // The editor marks the line of the event, but not more than a few times a second.
  await page.locator(".cm-marked", { hasText: "sync();" }).waitFor();
  await page.waitForFunction(() => /Step 2 of 3, sync/.test(document.querySelector("#step [aria-live]").textContent));
  await page.keyboard.press("Space");
  await page.waitForFunction((from) => Number(document.querySelector("#step [role=slider]").ariaValueNow) > from, await at(page));
  await page.keyboard.press("Space");

  // A click on C chooses a block of another kernel; its FLOPs are those of all blocks, divided by their number.
  await setText(page, tiled);
  await sizes(page, { m: 64, n: 96, k: 64 });
  const run = native("explain", "kernels/sgemm/tiled.tile", "--set", "m=64,n=96,k=64").kernels[0];
  const output = card(page).getByRole("button", { name: /^C 64 × 96/ });
  const box = await output.boundingBox();
  await page.mouse.click(box.x + box.width * 0.9, box.y + box.height * 0.75);
  await settled(page);
  equal("the block", await readout(page, "block"), "2, 1 of 3 × 2");
  await slider(page).focus();
  await page.keyboard.press("End");
  equal("FLOPs of a block", await readout(page, "FLOPs"), `${(run.flops / run.blocks).toLocaleString("en-US")} (100.0 %)`);
  equal("axe", (await violations(page)).split("\n").filter((v) => !v.includes("cm-")).join("\n"), "");

  for (const name of ["naive", "shared", "async", "stages", "softmax", "double_buffered"]) {
    const other = await open({ path: `#kernel=${name}`, width: 320 });
    const shown = await card(other).locator("svg.figure").boundingBox();
    ok(`${name} is drawn in 320 pixels`, shown && shown.width <= 320, JSON.stringify(shown));
    await other.close();
  }
});
