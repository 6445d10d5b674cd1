// Tests the lessons: the page shows the text of docs/tutorial unchanged, its links stay inside the page, and its kernels open on the bench.
import { readFileSync } from "node:fs";
import { equal, looksRight, ok, root, settled, test, violations } from "./browser.mjs";

await test(async ({ open }) => {
  const page = await open({ path: "#lesson=2" });
  const base = page.url().replace(/#.*/, "");
  const text = readFileSync(root + "docs/tutorial/2-tiled.md", "utf8");
  const shown = await page.locator("article").evaluate((a) => a.textContent.replace(/\s+/g, " "));
  // The page shows code blocks as they are, and prose without its marks.
  for (const [, code] of text.matchAll(/^```\w*\n([\s\S]*?)^```/gm))
    ok("a piece of code", shown.includes(code.replace(/\s+/g, " ").trim()), code.slice(0, 80));
  const prose = text
    .replace(/^```[\s\S]*?^```/gm, "")
    .replace(/<!--[\s\S]*?-->/g, "")
    .replace(/\s+/g, " ");
  const plain = prose.match(/(?<=\. )[A-Z][\w ,-]{20,}\./g);
  ok("the lesson has sentences without marks", plain.length > 10, String(plain.length));
  for (const words of plain) ok(words, shown.includes(words));
  ok("no comment is shown", !/numbers|given:|keep:/.test(shown));

  await page.locator("article").getByRole("link", { name: "lesson 1" }).first().click();
  await page.waitForFunction(() => document.querySelector("article h2")?.textContent.startsWith("1 ·"));
  const top = await page.locator("#what-is-read").evaluate((h) => h.getBoundingClientRect().top);
  ok("a link comes to its heading", top >= 0 && top < 200, String(top));
  await page.goBack();
  await page.waitForFunction(() => document.querySelector("article h2")?.textContent.startsWith("2 ·"));

  await page.locator("article").getByRole("link", { name: "14_single_block_matmul" }).click();
  await page.waitForFunction(() => document.querySelector("#puzzle-title")?.textContent.includes("Puzzle 14"));
  await page.goBack();

  await page.getByRole("button", { name: "Open on the bench" }).first().click();
  await settled(page);
  ok("the kernel is on the bench", (await page.locator(".left .cm-content").textContent()).includes("sgemm_tiled"));

  // A picture of a lesson becomes the bench's card, with the sizes of the figure, and follows edits of its kernel.
  await page.goto("about:blank");
  await page.goto(`${base}#lesson=2`);
  await settled(page);
  const figure = page.locator(".figure", { has: page.getByRole("figure", { name: /sgemm_tiled/ }) });
  await figure.getByRole("button", { name: "Make it live" }).click();
  await settled(page);
  const live = page.locator(".live");
  ok(
    "the step card is there",
    /A2 × 6 f3201234567891011B6 × 2/.test(await live.locator("#step").textContent()),
    await live.locator("#step").textContent(),
  );
  equal("violations of a live figure", await violations(page), "");
  await live.getByText("The kernel’s text").click();
  await live.locator(".cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(readFileSync(root + "kernels/sgemm/tiled.tile", "utf8").replace(/ +sync\(\);\n/, ""));
  await settled(page);
  ok("a missing barrier is told there", (await live.getByLabel("Messages").textContent()).includes("may still be writing"));

  for (const lesson of [1, 3, 4, 5, 6, 7, 8, 9, 10]) {
    const view = await open({ path: `#lesson=${lesson}` });
    equal(`violations of lesson ${lesson}`, await violations(view), "");
  }
  await looksRight(open, "#lesson=2");
});
