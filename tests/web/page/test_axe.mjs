// Checks that the page violates neither WCAG nor axe's own rules: in every mode, both themes, wide and narrow, with all cards shown on an
// edited kernel.
import { readFileSync } from "node:fs";
import { equal, root, setText, settled, test, violations } from "./browser.mjs";

const tiled = readFileSync(root + "kernels/sgemm/tiled.tile", "utf8");
const lines = tiled.split("\n");
const racy = lines.filter((_, i) => i !== 15).join("\n");

/** Scrolls to each card, because some cards compute only when they are in sight. */
async function showAll(page) {
  for (const card of await page.locator(".cards > section").all()) {
    await card.scrollIntoViewIfNeeded();
    await settled(page);
  }
}

await test(async ({ open }) => {
  for (const scheme of ["light", "dark"])
    for (const width of [1440, 320]) {
      const where = `${scheme}, ${width} pixels`;
      const page = await open({ path: "#kernel=tiled", width, scheme });
      await setText(page, tiled.replace("f32 sum = 0;", "f32 sum = 0; // edited"));
      await showAll(page);
      equal(`cards, ${where}`, await violations(page), "");
      if (width === 1440) {
        await setText(page, racy); // cards without a new answer keep the old one
        await page.locator("#race").scrollIntoViewIfNeeded();
        await settled(page);
        equal(`a race, ${where}`, await violations(page), "");
        for (const table of await page.getByRole("button", { name: "Table", exact: true }).all()) await table.click();
        await page.getByRole("button", { name: "Keys", exact: true }).click();
        equal(`tables and keys, ${where}`, await violations(page), "");
        await page.keyboard.press("Escape");
      }

      await page.getByRole("button", { name: "Lessons", exact: true }).click();
      await page.getByRole("button", { name: "Make it live" }).first().click();
      await settled(page);
      equal(`a lesson, ${where}`, await violations(page), "");
      await page.getByRole("button", { name: "Puzzles", exact: true }).click();
      await settled(page);
      await setText(page, "kernel map(f32 *out, const f32 *a) {\n", "Your answer to puzzle 1");
      equal(`a puzzle, ${where}`, await violations(page), "");
      await page.context().close();
    }
});
