// Tests the editor: a long line continues in indented rows, its number, bars and marks are at the line, and the keyboard can leave the
// editor.
import { readFileSync } from "node:fs";
import { equal, ok, root, setText, settled, test } from "./browser.mjs";

/** Returns each line's box and text, the left edges of its rows, and the gutters' boxes. */
const layout = (page) =>
  page.evaluate(() => {
    const box = (e) => {
      const { left, top, height, width } = e.getBoundingClientRect();
      return { left, top, height, width };
    };
    const scroller = document.querySelector(".left .cm-scroller");
    const rows = (line) => {
      const range = document.createRange();
      range.selectNodeContents(line);
      const tops = new Map();
      for (const r of range.getClientRects()) {
        const key = Math.round(r.top / 8);
        if (r.width > 0.5) tops.set(key, Math.min(tops.get(key) ?? Infinity, r.left));
      }
      return [...tops.values()];
    };
    const gutter = (name) => [...document.querySelectorAll(`.left .${name} .cm-gutterElement`)].filter((e) => e.offsetHeight > 0).map((e) => ({ ...box(e), text: e.textContent, heat: Boolean(e.querySelector(".heat")) }));
    return {
      sideways: scroller.scrollWidth - scroller.clientWidth,
      lines: [...document.querySelectorAll(".left .cm-line")].map((e) => ({ ...box(e), text: e.textContent, rows: rows(e) })),
      numbers: gutter("cm-lineNumbers"),
      heats: gutter("cm-heat").filter((e) => e.heat),
      marked: [...document.querySelectorAll(".left .cm-marked")].map((e) => e.textContent),
    };
  });

await test(async ({ open }) => {
  const tiled = readFileSync(root + "kernels/sgemm/tiled.tile", "utf8");
  for (const width of [1440, 320]) {
    const page = await open({ path: "#kernel=tiled", width });
    await setText(page, tiled.replace("f32 sum = 0;", "f32 sum = 0; // edited, and much longer than the editor is wide: it goes on in the next rows of this line"));
    await page.waitForFunction(() => document.querySelectorAll(".left .heat i").length > 1);
    await page.locator(".left .cm-scroller").evaluate((e) => (e.scrollTop = 0));
    await settled(page);
    const { sideways, lines, numbers, heats } = await layout(page);
    equal(`${width}: nothing is beyond the editor's edge`, sideways, 0);
    const long = lines.find((l) => l.text.includes("edited"));
    ok(`${width}: a long line has several rows`, long.rows.length > 1, JSON.stringify(long));
    ok(`${width}: they hang below the first`, long.rows.slice(1).every((left) => left > long.rows[0] + 10), JSON.stringify(long));
    for (const line of lines) {
      const number = numbers.find((n) => Math.abs(n.top - line.top) < 1);
      ok(`${width}: “${line.text}” has a number of its height`, number && Math.abs(number.height - line.height) < 1, JSON.stringify({ line, number }));
    }
    for (const heat of heats) {
      const line = lines.find((l) => Math.abs(l.top - heat.top) < 1);
      ok(`${width}: a bar is at its line`, line && /[[\]]/.test(line.text), JSON.stringify({ heat, line }));
    }

    // A click on a message marks its line, with all rows of the line.
    await setText(page, tiled.replace("A[row][p + tx] : 0", "AA[row][p + tx] : 0"));
    await page.getByLabel("Messages").getByRole("button", { name: "14:" }).first().click();
    const marked = await layout(page);
    equal(`${width}: the marked line`, marked.marked.length, 1);
    ok(`${width}: the marked line`, marked.marked[0].includes("AA[row]"), marked.marked[0]);

    // Tab indents in the editor; Escape and then Tab leave it; Shift-Tab comes back.
    const within = () => page.evaluate(() => Boolean(document.activeElement.closest(".left .cm-editor")));
    await page.getByLabel("Kernel source", { exact: true }).focus();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Tab");
    ok(`${width}: Escape and Tab leave the editor`, !(await within()));
    await page.keyboard.press("Shift+Tab");
    ok(`${width}: Shift-Tab comes back`, await within());
    await page.keyboard.press("Escape");
    await page.keyboard.press("Shift+Tab");
    ok(`${width}: Escape and Shift-Tab leave it backwards`, !(await within()));
    await page.keyboard.press("?");
    const keys = page.getByRole("dialog", { name: "Keys" });
    ok(`${width}: ? lists the keys`, (await keys.innerText()).includes("Esc, then Tab"));
    await page.keyboard.press("Escape");
    equal(`${width}: Escape closes the list`, await keys.count(), 0);
    await page.context().close();
  }
});
