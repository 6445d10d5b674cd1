// Tests fixes: the fix for a deleted barrier restores the text byte for byte, and pasted CUDA C becomes a kernel that runs.
import { readFileSync } from "node:fs";
import { equal, ok, root, setText, settled, test } from "./browser.mjs";

const tiled = readFileSync(root + "kernels/sgemm/tiled.tile", "utf8");
const text = (page) => page.$$eval(".left .cm-line", (lines) => lines.map((l) => l.textContent).join("\n"));
const messages = (page) => page.getByLabel("Messages");

await test(async ({ open }) => {
  const page = await open();
  for (const line of [16, 19]) {
    await setText(
      page,
      tiled
        .split("\n")
        .filter((_, i) => i !== line - 1)
        .join("\n"),
    );
    ok(`the barrier of line ${line} is missed`, (await messages(page).textContent()).includes("other threads may still be"));
    await messages(page).getByRole("button", { name: "Fix", exact: true }).first().click();
    await settled(page);
    equal(`the text after the fix of line ${line}`, await text(page), tiled);
  }
  for (const name of ["naive", "tiled"]) {
    await setText(page, readFileSync(`${root}tests/pasted/${name}.cu`, "utf8"));
    await messages(page).getByRole("button", { name: "Make it a tile kernel" }).click();
    await page.waitForFunction(() => !document.querySelector(".left .cm-content").textContent.includes("__global__"));
    await settled(page);
    const fixed = await text(page);
    ok(`${name} of CUDA C is a kernel`, /\bkernel\b/.test(fixed) && !fixed.includes("threadIdx"), fixed);
    ok(`${name} has no errors`, (await messages(page).textContent()).includes("No mistakes found"), await messages(page).textContent());
  }
});
