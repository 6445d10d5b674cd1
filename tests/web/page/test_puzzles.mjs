// Tests puzzle mode: puzzle 14 is solved by keyboard alone, a racy answer with right values is refused and its race replayed, wrong answers
// are refused for the native judge's reasons, and progress is kept in the file format of `tilewright learn`.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { equal, looksRight, native, ok, root, settled, test } from "./browser.mjs";

const folder = mkdtempSync(tmpdir() + "/puzzles");
process.env.TILEWRIGHT_LEARN = `${folder}/native`; // progress of the native judge, with which the page's judgements are compared
const puzzles = readdirSync(root + "puzzles").filter((name) => /^\d\d_/.test(name));
const read = (path) => readFileSync(`${root}puzzles/${path}`, "utf8");

const sentence = (page) => page.locator(".sentence").textContent();
const judged = (page, start) => page.waitForFunction((s) => document.querySelector(".sentence")?.textContent.startsWith(s), start);

/** Returns a few words that describe the focused element. */
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
  throw new Error(`the keyboard does not reach ${words}`);
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
  // A long line has several rows, and the arrow keys move by rows.
  const walk = async (key, text) => {
    const here = () => page.locator(".cm-activeLine").first().textContent();
    for (let i = 0; i < 60 && !(await here()).includes(text); i++) await page.keyboard.press(key);
    ok(`${key} leads to ${text}`, (await here()).includes(text));
    await press(page, "End", 2);
  };
  await page.keyboard.press("Control+Home");
  await walk("ArrowDown", "// Yours");
  await line("if (i < SIZE && j < SIZE) { as[i][j] = A[i][j]; bs[i][j] = B[i][j]; }");
  await line("f32 acc = 0;");
  await line("if (i < SIZE && j < SIZE) for (i32 p = 0; p < SIZE; p++) acc += as[i][p] * bs[p][j];");
  await line("if (i < SIZE && j < SIZE) Out[i][j] = acc;");
  await page.keyboard.press("Control+Enter");
  await judged(page, "Not yet: a race");
  ok("the judge leaves the focus in the editor", (await focused(page)).includes("Your answer"));
  await walk("ArrowUp", "as[i][j] = A");
  await line("sync();");
  await judged(page, "Passed: right in all 7 cases"); // on the pause
  ok("and again", (await focused(page)).includes("Your answer"));
  await page.keyboard.press("Escape");
  await tabTo(page, "Next: puzzle 15");
  await page.keyboard.press("Enter");
  await judged(page, "Not begun");
  ok("the next puzzle", (await page.locator("#puzzle-title").textContent()).includes("Puzzle 15"));
}

/** Enters an answer and waits for its judgement. */
async function answer(page, puzzle, text) {
  await page.goto(`${page.base}#puzzle=${Number(puzzle.slice(0, 2))}`);
  await settled(page);
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
  await page.keyboard.press("Control+Enter");
  await settled(page);
}

/** Presses "Show me" and returns the texts that the bench then shows. */
async function shown(page, name = /^Show me in/) {
  const button = page.getByRole("button", { name });
  const card = (await button.textContent()).split(" ").at(-1);
  await button.click();
  await page.waitForFunction(() => document.querySelector("[aria-label='Inputs']")?.textContent.includes("Runs get the arrays"));
  await settled(page);
  const text = (selector) => page.locator(selector).first().textContent();
  return {
    card,
    inputs: (await text("[aria-label='Inputs'] p")).trim(),
    messages: await text("[aria-label='Messages']"),
    now: (await page.locator("#step p.now").count()) ? await text("#step p.now") : "",
    block: await page.locator("#step .readouts div", { has: page.locator("dt", { hasText: "block" }) }).locator("dd").allTextContents(),
  };
}

/** Checks that "Show me" opens the case that failed: its sizes, its arrays, and the event that causes the failure. */
async function atTheEvent(page) {
  const wrong = (puzzle, name) => answer(page, puzzle, read(`${puzzle}/wrong/${name}.tile`));

  // A hidden case with wrong values: the judge's wrong element is chosen, and the event is the write of this element.
  await wrong("14_single_block_matmul", "result_turned");
  const judged = native("learn", "14", "puzzles/14_single_block_matmul/wrong/result_turned.tile");
  let bench = await shown(page);
  equal("its card and inputs", [bench.card, bench.inputs], ["Why", "Runs get the arrays of case 2 of puzzle 14."]);
  const [element, got] = /^(\S+) is (\S+),/.exec(judged.wrong_values).slice(1);
  ok("the wrong element of the judge", bench.messages.includes(`${element} is ${got}, expected`), bench.messages);
  ok("its write is the event", /writes Out\[j\]\[i\]/.test(bench.now), bench.now);
  const way = await page.locator("#why").textContent();
  ok("and its way is shown", way.includes(`out[1][0] = ${Number(Number(got).toPrecision(7))}`), way.slice(0, 500));

  // A link names the case, and the page names it in words; at other sizes the case's arrays are not used.
  await page.getByRole("button", { name: "Share", exact: true }).click();
  const link = page.url();
  for (const address of [link, `${page.base}#kernel=tiled&case=14:2&set=m:8,n:8,k:8`]) {
    await page.goto("about:blank");
    await page.goto(address);
    await page.waitForFunction(() => /Runs get|inputs are random/.test(document.querySelector("[aria-label='Inputs'] p")?.textContent ?? ""));
    await settled(page);
    const said = await page.locator("[aria-label='Inputs'] p").textContent();
    if (address === link) {
      ok("a link keeps the case", said.includes("Runs get the arrays of case 2 of puzzle 14"), said);
      const messages = await page.locator("[aria-label='Messages']").textContent();
      ok("and the values", messages.includes(`${element} is ${got}, expected`), messages);
    } else ok("at other sizes the page says that inputs are random", /inputs are random.*--set/.test(said), said);
  }

  // Another size makes inputs random; the case's own sizes bring its arrays back.
  await wrong("03_guards", "one_too_many");
  await shown(page);
  await page.locator("label.size", { hasText: /^n/ }).locator("input").fill("6");
  await page.keyboard.press("Tab");
  await settled(page);
  ok("random inputs at another size", (await page.locator("[aria-label='Inputs'] p").textContent()).includes("Inputs are random"));
  await page.getByRole("button", { name: "Its sizes" }).click();
  await page.waitForFunction(() => document.querySelector("[aria-label='Inputs'] p").textContent.includes("Runs get"));
  ok("the case again", (await page.locator("[aria-label='Inputs'] p").textContent()).includes("Runs get the arrays of case 1"));

  // An access past the end: the run ends there, in the block that makes the access.
  await wrong("08_shared_memory", "off_by_one");
  bench = await shown(page);
  ok("the event of the fault", /^event 6 of 6/.test(bench.now) && /13:28/.test(bench.messages), `${bench.now} ${bench.messages}`);
  await wrong("06_blocks", "number_from_the_example");
  bench = await shown(page);
  equal("a race of blocks", bench.inputs, "Runs get the arrays of case 4 of puzzle 6.");
  // A read of memory that was never written: the event is the read that the judge names.
  await wrong("08_shared_memory", "not_filled");
  bench = await shown(page);
  ok("the read of what is not written", /lanes? 0.*reads tile\[TPB - 1 - t\].*no warp has written/.test(bench.now), bench.now);
  equal("in its block", bench.block, ["2, 0 of 3 × 1"]);
  // A bank conflict: the bench chooses the access on the line with the conflict.
  await wrong("18_bank_conflicts", "not_padded");
  bench = await shown(page);
  equal("its card", bench.card, "Banks");
  const conflict = native("learn", "18", "puzzles/18_bank_conflicts/wrong/not_padded.tile").line;
  const access = await page.locator("#banks select").first().evaluate((s) => s.selectedOptions[0].textContent);
  ok("the access in conflict", access.startsWith(`${conflict} `) && /× least/.test(access), access);
  ok("and its event", /[2-9]\d* wavefronts/.test(bench.now), bench.now);
}

/** Checks that lamps, counters as bars, hints, and the hidden case that opens after three failures agree with the native judge. */
async function judgement(page) {
  const wrong = (puzzle, name, more = "") => answer(page, puzzle, read(`${puzzle}/wrong/${name}.tile`) + more);
  const lamps = () => page.locator("ol[aria-label='Verdict'] li").evaluateAll((l) => l.map((e) => [...e.querySelectorAll("span")].map((s) => s.textContent).join("")));

  await wrong("18_bank_conflicts", "not_padded");
  const said = native("learn", "18", "puzzles/18_bank_conflicts/wrong/not_padded.tile");
  const states = { on: "kept", failed: "failed", "not reached": "not reached" };
  equal("five lamps in their order", await lamps(), said.lamps.map((l) => `${l.lamp}: ${states[l.state]}`));
  equal("their names", said.lamps.map((l) => l.lamp), ["compiles", "memory", "order", "values", "cost"]);
  const bars = page.locator("section[aria-label='Counters'] li");
  const shown = await bars.evaluateAll((l) =>
    l.map((e) => {
      const at = (s) => parseFloat(e.querySelector(s)?.style.left || "-1");
      return { name: e.querySelector(".name").textContent, bar: parseFloat(e.querySelector("i").style.width), tick: at("b"), limit: at("s"), failed: e.classList.contains("failed") };
    }),
  );
  const counted = said.counters.filter((c) => c.here.answer || c.here.solution);
  equal("a bar for each counter", shown.map((b) => b.name), counted.map((c) => c.counter.replaceAll("_", " ")));
  for (const [i, c] of counted.entries()) {
    const near = (a, b) => Math.abs(a - b) < 0.2;
    const { bar, tick, limit, failed } = shown[i];
    equal(`${c.counter} is beyond its limit`, failed, c.beyond);
    if (c.here.answer && c.here.solution) ok(`the solution's tick of ${c.counter}`, near(tick / bar, c.here.solution / c.here.answer), `${tick} of ${bar}`);
    if (c.beyond) ok(`the limit's line of ${c.counter}`, near(limit / bar, c.here.limit / c.here.answer), `${limit} of ${bar}`);
  }
  ok("one is beyond", shown.some((b) => b.failed && b.limit >= 0));

  // Hints open one at a time.
  const hint = (n) => page.getByRole("button", { name: `Hint ${n} of 3` });
  for (const n of [1, 2, 3]) {
    equal(`before hint ${n}`, await page.locator("section[aria-label='Hints'] h3").count(), n - 1);
    await hint(n).click();
    await page.waitForFunction((k) => document.querySelectorAll("section[aria-label='Hints'] h3").length === k, n);
    ok(`hint ${n} is counted`, (await page.evaluate(() => localStorage.getItem("tilewright.learn"))).includes(`hints=${n}`));
  }
  equal("no hint is left", await page.getByRole("button", { name: /^Hint \d of/ }).count(), 0);

  // Gives three different answers that fail in a hidden case.
  const arrays = () => page.locator("section[aria-label='Cases'] figure").count();
  await wrong("14_single_block_matmul", "result_turned");
  for (const n of [1, 2, 3]) {
    if (n > 1) {
      await page.locator(".cm-content").click();
      await page.keyboard.press("Control+End");
      await page.keyboard.insertText(`// ${n}\n`);
      await page.keyboard.press("Control+Enter");
      await page.waitForTimeout(50);
      await settled(page);
    }
    if (n < 3) equal(`the hidden case after ${n} answers`, await arrays(), 0);
  }
  await page.waitForFunction(() => document.querySelectorAll("section[aria-label='Cases'] figure").length === 3);
  const opened = native("learn", "14", "puzzles/14_single_block_matmul/wrong/result_turned.tile", "--open").case_list[1];
  const wrongs = opened.arrays.find((a) => a.name === "out").wrong.length;
  equal("its wrong elements", await page.locator("section[aria-label='Cases'] td.wrong").count(), wrongs);
  ok("and the drawing has it", (await page.getByRole("figure", { name: "The case drawn" }).textContent()).includes("Case 2"));
}

/** Checks that the puzzle's drawing shows the arrays of the chosen case, and names the elements from which an output is computed. */
async function drawings(page) {
  const drawing = page.getByRole("figure", { name: "The case drawn" });
  const open = async (puzzle) => {
    await page.goto("about:blank");
    await page.goto(`${page.base}#puzzle=${puzzle}`);
    await drawing.locator("svg").waitFor();
    await settled(page);
  };
  const made = () => drawing.locator(".made").textContent();
  /** Returns the input elements on the path that `run --why` prints for the solution on the same arrays. */
  const origins = (puzzle, element) => {
    const number = puzzle.slice(0, 2);
    const c = native("learn", number, "--inputs", `${folder}/${number}`);
    const options = (word, values) => Object.entries(values).flatMap(([n, v]) => [word, `${n}=${v}`]);
    const sizes = [...options("--set", c.set), ...options("--tune", c.tune), ...options("--type", c.type), ...options("--in", c.inputs)];
    const { why } = native("run", `puzzles/${puzzle}/solution.tile`, "--device", "sim", ...sizes, "--why", element);
    return new Set(why.path.flatMap((s) => s.elements).filter((e) => Object.keys(c.inputs).includes(e.split("[")[0])));
  };
  const marked = () => drawing.locator(".value.on").count();

  await open(14);
  equal("the values of the case", await drawing.locator("g.sum .value").allTextContents(), ["1", "3", "3", "13"]);
  equal("no drawing of characters is left", await page.locator("article .prose pre").count(), 0);
  ok("made of a row and a column", (await made()).includes("out[1][0] = 3 is made of a[1][0…1], b[0…1][0] by thread 3 of block 0"), await made());
  equal("marked as natively", await marked(), origins("14_single_block_matmul", "out[1][0]").size);
  await drawing.getByRole("gridcell").focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => document.querySelector(".made").textContent.includes("out[1][1] = 13 is made of a[1][0…1], b[0…1][1]"));
  equal("the focus goes with it", await focused(page), "rect out[1][1] is 13");
  await drawing.getByText("As text").click();
  ok("the drawing as text", (await drawing.locator("pre").textContent()).includes("b, column j"));
  await page.getByRole("button", { name: /^Case 3, hidden/ }).click();
  ok("a hidden case is not told", (await drawing.textContent()).includes("because case 3 is hidden"));

  await open(8);
  equal("ten elements", await drawing.locator("g.a .value").allTextContents(), ["1", "0", "2", "5", "3", "1", "4", "9", "7", "6"]);
  equal("partners", await marked(), origins("08_shared_memory", "out[5]").size);
  const last = await drawing.locator("g.sum .value").last().boundingBox();
  await page.mouse.click(last.x + last.width / 2, last.y + last.height / 2);
  await page.waitForFunction(() => document.querySelector(".made").textContent.includes("out[9] = 6 is made of a[9]"));

  // Every puzzle has its drawing.
  for (const [i, puzzle] of puzzles.entries()) {
    await page.locator("nav[aria-label='Puzzles'] button").nth(i).click();
    await page.waitForFunction(
      (n) => document.querySelector("#puzzle-title").textContent.startsWith(`Puzzle ${n} `) && document.querySelector(".made")?.textContent.includes("is made of"),
      i + 1,
      { timeout: 30000 },
    );
    const c = native("learn", puzzle.slice(0, 2), "--inputs", `${folder}/${i}`);
    const drawn = await drawing.locator("svg").getAttribute("aria-label");
    ok(`the inputs of ${puzzle}`, Object.keys(c.inputs).every((name) => drawn.includes(`${name}, input`)), drawn);
  }

  // The two shown cases: 3 × 3 elements with values, and 9 × 9 without.
  await open(15);
  equal("the first case", await drawing.locator("g.a .value").count(), 9);
  await page.getByRole("button", { name: /^Case 2, shown/ }).click();
  await page.waitForFunction(() => document.querySelector(".made").textContent.includes("out[4][4] = 360 is made of a[4][0…8], b[0…8][4]"));
  ok("the second", (await drawing.locator("svg").getAttribute("aria-label")).includes("a, input, 9 × 9"));
}

/** Checks that a link carries the answer and leaves the receiver's own answer as it is, and that the page takes a dropped file of
 * progress. */
async function links(page, open) {
  const mine = read("03_guards/starter.tile") + "// mine\n";
  const theirs = read("03_guards/solution.tile") + "// theirs\n";
  await answer(page, "03_guards", theirs);
  await page.getByRole("button", { name: "Share", exact: true }).click();
  const link = page.url().replace(/.*#/, "#");

  const other = await open();
  other.base = other.url().replace(/#.*/, "");
  await answer(other, "03_guards", mine);
  const bench = await other.evaluate(() => localStorage.length);
  const tries = () => other.evaluate(() => /03_guards.* tries=(\d+)/.exec(localStorage.getItem("tilewright.learn"))?.[1]);
  const before = await tries();
  const text = () => other.locator(".cm-content").evaluate((e) => [...e.querySelectorAll(".cm-line")].map((l) => l.textContent).join("\n"));
  const kept = () => other.evaluate(() => localStorage.getItem("tilewright.answer.3"));
  await other.goto("about:blank");
  await other.goto(other.base + link);
  await settled(other);
  equal("the answer of the link", await text(), theirs);
  await judged(other, "Passed");
  await other.locator(".cm-content").click();
  await other.keyboard.press("Control+End");
  await other.keyboard.insertText("// changed\n");
  await other.keyboard.press("Control+Enter");
  await settled(other);
  equal("the receiver's own is kept", await kept(), mine);
  equal("and nothing is counted", [await tries(), await other.evaluate(() => localStorage.length)], [before, bench]);
  await other.getByRole("button", { name: "Back to mine" }).click();
  await settled(other);
  equal("the receiver's own is shown", await text(), mine);
  await other.goto("about:blank");
  await other.goto(other.base + link);
  await settled(other);
  await other.getByRole("button", { name: "Make it mine" }).click();
  await judged(other, "Passed");
  await settled(other);
  equal("the answer of the link is taken over", await kept(), theirs);
  ok("and counts then", /03_guards passed/.test(await other.evaluate(() => localStorage.getItem("tilewright.learn"))));
  equal("no notice is left", await other.getByRole("button", { name: "Make it mine" }).count(), 0);

  const drop = (name, content) =>
    other.evaluate(
      ([file, data]) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([data], file));
        dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
      },
      [name, content],
    );
  await drop("learn", "# tilewright learn: puzzle, then what was done with it\n07_blocks_2d passed cuda tries=2\n");
  await other.waitForFunction(() => document.body.textContent.includes("2 of 29 passed"));
  ok("puzzles stay in sight", await other.locator("#puzzle-title").isVisible());
  ok("and the page names the file", (await other.locator("[role=status].said").textContent()).includes("Taken from learn"));
  await drop("k.tile", read("01_map/solution.tile"));
  await settled(other);
  ok("a kernel opens on the bench", (await other.locator(".left .cm-content").textContent()).includes("kernel map"));
}

await test(async ({ open }) => {
  const page = await open();
  page.base = page.url().replace(/#.*/, "");
  await byKeyboard(page);

  const kept = await page.evaluate(() => localStorage.getItem("tilewright.learn"));
  writeFileSync(`${folder}/learn`, kept);
  const list = native("learn"); // the native program's own file of progress, in which no puzzle is passed
  equal("nothing natively", list.filter((p) => p.passed).length, 0);
  process.env.TILEWRIGHT_LEARN = `${folder}/learn`;
  equal("the page's file, read natively", native("learn").filter((p) => p.passed).map((p) => p.puzzle), [14]);
  process.env.TILEWRIGHT_LEARN = `${folder}/native`;
  execFileSync(process.argv[2], ["learn", "2", "puzzles/02_zip/solution.tile"], { cwd: root, env: process.env });
  await page.locator("details summary", { hasText: "of 29 passed" }).click();
  await page.getByLabel("File of progress").setInputFiles(`${folder}/native`);
  await page.waitForFunction(() => document.body.textContent.includes("2 of 29 passed"));
  await page.locator("details summary", { hasText: "of 29 passed" }).click();

  // The page counts hints in the same file.
  await page.getByRole("button", { name: /^Hint 1 of/ }).click();
  await page.waitForFunction(() => document.querySelector("section[aria-label='Hints'] h3")?.textContent.startsWith("Hint 1"));
  ok("a hint is counted", /15_tiled_9x9.* hints=1/.test(await page.evaluate(() => localStorage.getItem("tilewright.learn"))));

  // For a sample of wrong answers, the page gives the native judge's reasons.
  for (const puzzle of puzzles.filter((_, i) => i % 5 === 3)) {
    const name = readdirSync(`${root}puzzles/${puzzle}/wrong`).find((f) => f.endsWith(".tile"));
    await answer(page, puzzle, read(`${puzzle}/wrong/${name}`));
    const said = native("learn", String(Number(puzzle.slice(0, 2))), `puzzles/${puzzle}/wrong/${name}`);
    const shown = await sentence(page);
    ok(`${puzzle}/${name}: ${said.reason}`, shown === `Not yet: ${said.reason === "values" ? said.wrong_values + "." : said.words}`, shown);
    const failed = await page.locator("ol[aria-label='Verdict'] li.failed").textContent();
    ok("a lamp shows the failure", /failed$/.test(failed.trim()), failed);
  }

  // The values are right by luck: the page refuses the answer and shows the order of warps that makes them wrong.
  await answer(page, "19_missing_barrier", read("19_missing_barrier/starter.tile") + "// mine\n");
  const lucky = native("learn", "19", "puzzles/19_missing_barrier/starter.tile");
  ok("right values", lucky.values_right && lucky.reason === "race");
  ok("and a race", (await sentence(page)).startsWith("Not yet: a race"), await sentence(page));
  const very = await shown(page);
  equal("the case that failed", [very.card, very.inputs], ["Race", "Runs get the arrays of case 1 of puzzle 19."]);
  await page.getByRole("button", { name: "To puzzle 19" }).click();
  await settled(page);
  await page.getByRole("button", { name: /^with more warps: case/ }).click();
  await page.waitForFunction(() => /before warp \d+ has written it/.test(document.querySelector("#race")?.textContent ?? ""));
  const wrong = await page.locator("#race .readouts").textContent();
  ok("elements become wrong in the replay", /wrong elements of Out\s*[1-9]/.test(wrong), wrong);

  // Every thread stores the same value: the values are right, but the answer has a race nevertheless.
  await answer(page, "10_dot", read("10_dot/wrong/everyone_stores.tile"));
  ok("a race of equal values", (await sentence(page)).startsWith("Not yet: a race"), await sentence(page));
  const line = await page.locator(".verdict .place").first().textContent();
  await page.getByRole("button", { name: /^Show me in/ }).click();
  await settled(page);
  ok("the bench has the answer", (await page.locator(".left .cm-content").textContent()).includes("kernel dot"));
  equal("its line", `line ${await page.$eval(".cm-marked", (l) => [...l.parentElement.children].filter((c) => c.matches(".cm-line")).indexOf(l) + 1)}`, line);

  await judgement(page);
  await drawings(page);
  await atTheEvent(page);
  await links(page, open);

  await looksRight(open, "#puzzle=14");
});
