// Puzzle mode: puzzle 14 solved by keyboard alone, a racy answer with right values refused and replayed, wrong answers refused for the
// reason that the native judge gives, progress as the file of `tilewright learn`.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { equal, native, ok, root, settled, test, violations } from "./browser.mjs";

const folder = mkdtempSync(tmpdir() + "/puzzles");
process.env.TILEWRIGHT_LEARN = `${folder}/native`; // of the judge that answers are compared with
const puzzles = readdirSync(root + "puzzles").filter((name) => /^\d\d_/.test(name));
const read = (path) => readFileSync(`${root}puzzles/${path}`, "utf8");

const sentence = (page) => page.locator(".sentence").textContent();
const judged = (page, start) => page.waitForFunction((s) => document.querySelector(".sentence")?.textContent.startsWith(s), start, { timeout: 20000 });

/** The element with the focus, in a few words. */
const focused = (page) =>
  page.evaluate(() => {
    const e = document.activeElement;
    return `${e.tagName} ${e.getAttribute("aria-label") ?? e.textContent.trim()}`.slice(0, 60);
  });
async function tabTo(page, words) {
  for (let i = 0; i < 80; i++) {
    await page.keyboard.press("Tab");
    if ((await focused(page)).includes(words)) return;
  }
  throw new Error(`the keyboard does not come to ${words}`);
}
async function press(page, key, times = 1) {
  for (let i = 0; i < times; i++) await page.keyboard.press(key);
}

async function byKeyboard(page) {
  await tabTo(page, "Puzzles");
  await page.keyboard.press("Enter");
  await tabTo(page, "1, Map");
  await press(page, "ArrowRight", 13);
  await page.keyboard.press("Enter");
  await judged(page, "Not begun: 4 of the 4 elements of out are never written.");
  await tabTo(page, "Your answer to puzzle 14");
  const line = async (text) => {
    await page.keyboard.press("Enter");
    await page.keyboard.insertText(text);
  };
  await page.keyboard.press("Control+Home");
  await press(page, "ArrowDown", 10);
  await page.keyboard.press("End");
  await line("if (i < SIZE && j < SIZE) { as[i][j] = A[i][j]; bs[i][j] = B[i][j]; }");
  await line("f32 acc = 0;");
  await line("if (i < SIZE && j < SIZE) for (i32 p = 0; p < SIZE; p++) acc += as[i][p] * bs[p][j];");
  await line("if (i < SIZE && j < SIZE) Out[i][j] = acc;");
  await page.keyboard.press("Control+Enter");
  await judged(page, "Not yet: a race");
  ok("the judge leaves the focus in the editor", (await focused(page)).includes("Your answer"));
  await press(page, "ArrowUp", 2);
  await page.keyboard.press("End");
  await page.keyboard.press("Home");
  await press(page, "ArrowUp");
  await page.keyboard.press("End");
  await line("sync();");
  await judged(page, "Passed: right in all 7 cases"); // on the pause
  ok("and again", (await focused(page)).includes("Your answer"));
  await page.keyboard.press("Escape");
  await tabTo(page, "Next: puzzle 15");
  await page.keyboard.press("Enter");
  await judged(page, "Not begun");
  ok("the next puzzle", (await page.locator("#puzzle-title").textContent()).includes("Puzzle 15"));
}

/** Sets the answer, and waits for the judgement of it. */
async function answer(page, puzzle, text) {
  await page.goto("about:blank");
  await page.goto(`${page.base}#puzzle=${Number(puzzle.slice(0, 2))}`);
  await settled(page);
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
  await page.keyboard.press("Control+Enter");
  await page.waitForTimeout(50);
  await settled(page);
}

await test(async ({ open }) => {
  const page = await open();
  page.base = page.url().replace(/#.*/, "");
  await byKeyboard(page);

  const kept = await page.evaluate(() => localStorage.getItem("tilewright.learn"));
  writeFileSync(`${folder}/learn`, kept);
  const list = native("learn"); // of a file of its own: nothing is passed
  equal("nothing natively", list.filter((p) => p.passed).length, 0);
  process.env.TILEWRIGHT_LEARN = `${folder}/learn`;
  equal("the page's file, read natively", native("learn").filter((p) => p.passed).map((p) => p.puzzle), [14]);
  process.env.TILEWRIGHT_LEARN = `${folder}/native`;
  execFileSync(process.argv[2], ["learn", "2", "puzzles/02_zip/solution.tile"], { cwd: root, env: process.env });
  await page.locator("details summary", { hasText: "of 26 passed" }).click();
  await page.getByLabel("File of progress").setInputFiles(`${folder}/native`);
  await page.waitForFunction(() => document.body.textContent.includes("2 of 26 passed"));
  await page.locator("details summary", { hasText: "of 26 passed" }).click();

  // Hints are counted in the same file.
  await page.getByRole("button", { name: /^Hint 1 of/ }).click();
  await page.waitForFunction(() => document.querySelector("section[aria-label='Hints'] h3")?.textContent.startsWith("Hint 1"));
  ok("a hint is counted", /15_tiled_9x9.* hints=1/.test(await page.evaluate(() => localStorage.getItem("tilewright.learn"))));

  // A sample of wrong answers: the reasons are those of the native judge.
  for (const puzzle of puzzles.filter((_, i) => i % 5 === 3)) {
    const name = readdirSync(`${root}puzzles/${puzzle}/wrong`).find((f) => f.endsWith(".tile"));
    await answer(page, puzzle, read(`${puzzle}/wrong/${name}`));
    const said = native("learn", String(Number(puzzle.slice(0, 2))), `puzzles/${puzzle}/wrong/${name}`);
    const shown = await sentence(page);
    ok(`${puzzle}/${name}: ${said.reason}`, shown === `Not yet: ${said.reason === "values" ? said.wrong_values + "." : said.words}`, shown);
    const failed = await page.locator("ol[aria-label='Verdict'] li.failed").textContent();
    ok("a lamp says so", /failed$/.test(failed.trim()), failed);
  }

  // The values come out right, by luck: it is refused, and the order of warps that makes them wrong is shown.
  await answer(page, "19_missing_barrier", read("19_missing_barrier/starter.tile") + "// mine\n");
  const lucky = native("learn", "19", "puzzles/19_missing_barrier/starter.tile");
  ok("right values", lucky.values_right && lucky.reason === "race");
  ok("and a race", (await sentence(page)).startsWith("Not yet: a race"), await sentence(page));
  await page.getByRole("button", { name: "Show me in Race" }).click();
  await page.waitForFunction(() => /before warp \d+ has written it/.test(document.querySelector("#race")?.textContent ?? ""), null, { timeout: 30000 });
  const wrong = await page.locator("#race .readouts").textContent();
  ok("elements become wrong in the replay", /wrong elements of Out\s*[1-9]/.test(wrong), wrong);

  // Every thread stores the same value: the values are right, and it is a race all the same.
  await answer(page, "10_dot", read("10_dot/wrong/everyone_stores.tile"));
  ok("a race of equal values", (await sentence(page)).startsWith("Not yet: a race"), await sentence(page));
  const line = await page.locator(".verdict .place").first().textContent();
  await page.getByRole("button", { name: /^Show me in/ }).click();
  await settled(page);
  ok("the bench has the answer", (await page.locator(".left .cm-content").textContent()).includes("kernel dot"));
  equal("its line", `line ${await page.$eval(".cm-marked", (l) => [...l.parentElement.children].filter((c) => c.matches(".cm-line")).indexOf(l) + 1)}`, line);

  for (const scheme of ["light", "dark"])
    for (const width of [1440, 320]) {
      const view = await open({ width, scheme, path: "#puzzle=14" });
      equal(`violations, ${scheme}, ${width} pixels`, await violations(view), "");
      ok(`no sideways scrolling at ${width} pixels`, await view.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    }
});
