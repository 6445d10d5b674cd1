// Tests Race: without its barrier, lesson 2's kernel shows 0 instead of 1 and 18 instead of 32, by a seed and by a chosen order of warps;
// the fix ends the race.
import { readFileSync, writeFileSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { equal, native, ok, root, settled, test, violations } from "./browser.mjs";

const tiled = readFileSync(root + "kernels/sgemm/tiled.tile", "utf8");
const without = (line) =>
  tiled
    .split("\n")
    .filter((_, i) => i !== line - 1)
    .join("\n");
const folder = mkdtempSync(tmpdir() + "/page");
const sizes = ["--set", "m=32,n=32,k=32", "--tune", "T=16"];

await test(async ({ open }) => {
  for (const line of [16, 19]) {
    const file = `${folder}/tiled.tile`;
    writeFileSync(file, without(line));
    const page = await open({ args: [file, ...sizes] });
    const card = page.locator("#race");
    await card.getByRole("button", { name: "Worst case" }).waitFor();
    await settled(page);
    const says = () => card.innerText();
    const wrong = async () => Number((await card.locator(".readouts dd").first().innerText()).replaceAll(",", ""));
    const asked = (...order) =>
      native("run", file, "--device", "sim", "--fill", "ones", "--despite", "race", "--verify", ...sizes, ...order);
    const count = (run) => (run.wrong ?? []).reduce((n, w) => n + w.wrong, 0);

    const worst = asked("--order", "worst");
    ok(`without line ${line} a value is wrong natively, or all are right`, line === 19 || count(worst) > 0);
    if (count(worst)) equal(`wrong elements in the worst order, without line ${line}`, await wrong(), count(worst));
    if (line === 16) {
      ok("what the read sees", (await says()).includes("it then gets 0"), await says());
      ok("C is 18 in place of 32", (await says()).includes("is 18, not 32"), await says());
      await card.getByLabel("seed").fill("3");
      await page.keyboard.press("Enter");
      await settled(page);
      equal("wrong elements with seed 3", await wrong(), count(asked("--seed", "3")));
      const warp = card.getByRole("button", { name: /^Warp 7,/ });
      await warp.focus();
      await page.keyboard.press("Home");
      await settled(page);
      equal("the warp came first", await card.locator(".order button").first().innerText(), "7");
      const order = await card.locator(".order button").allInnerTexts();
      equal("wrong elements in the chosen order", await wrong(), count(asked("--order", order.join(","))));
      equal("violations", await violations(page), "");
    }
    await card.getByRole("button", { name: "Make the fix" }).click();
    await settled(page);
    equal("the text after the fix", await page.$$eval(".left .cm-line", (l) => l.map((e) => e.textContent).join("\n")), tiled);
    ok("no race is left", (await says()).includes("No race"), await says());
  }
});
