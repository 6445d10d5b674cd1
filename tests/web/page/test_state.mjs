// Tests the state that all cards share: links of any kind, files that do not hold a kernel, out-of-date answers, and the runs that are
// compared.
import { readFileSync } from "node:fs";
import { equal, native, ok, root, setText, settled, test } from "./browser.mjs";

const kernel = (path) => readFileSync(`${root}kernels/${path}.tile`, "utf8");
const tiled = kernel("sgemm/tiled");
const text = (page) => page.$$eval(".left .cm-line", (lines) => lines.map((l) => l.textContent).join("\n"));
const link = (state) => "#0" + Buffer.from(JSON.stringify(state)).toString("base64url");
const chooser = (page) => page.locator('select:has(option[value="kernels/sgemm/tiled.tile"])').first();
const stale = (page, card) => page.$eval(`#${card} .body`, (b) => b.classList.contains("stale"));
const idle = async (page) => page.waitForFunction(() => !document.querySelector("[aria-busy='true'], .stale"));

await test(async ({ open }) => {
  // --- links ---
  for (const path of [
    "#kernel=tiled&line=0&event=1.5&block=9,9&seed=-3&device=none&embed=nothing",
    link({ file: "k.tile", source: 5, launch: { kernel: "k", args: "no" }, block: 7, line: -1, event: 1e300, sizes: null, mode: "none" }),
    "#1AAAA",
    "?kernel=%",
  ]) {
    const page = await open({ path });
    ok(`the cards of ${path}`, (await page.$$("section[id]")).length > 5);
  }
  const name = '"><img src=x onerror=boom()>.tile';
  const evil = await open({ path: link({ file: name, source: `// ${name}\n<script>boom()</script>\n`, line: 1 }) });
  equal("names and texts are text", await evil.$$eval("img, .cards script", (found) => found.length), 0);

  // A link between lessons leaves the reader's text as it is, also in a page that `play` serves.
  const played = await open({ args: ["kernels/sgemm/naive.tile"] });
  const edited = "// mine\n" + kernel("sgemm/naive");
  await setText(played, edited);
  await played.evaluate(() => (location.hash = "#lesson=2"));
  await played.getByRole("heading", { level: 2 }).first().waitFor();
  await played.getByRole("button", { name: "Bench", exact: true }).click();
  await settled(played);
  equal("the text after a lesson", await text(played), edited);

  // --- files ---
  const page = await open();
  const give = (name, bytes) =>
    page.getByLabel("File to open").setInputFiles({ name, mimeType: "application/octet-stream", buffer: Buffer.from(bytes) });
  await give("a.out", [127, 69, 76, 70, 0, 1]);
  await page.getByText("a.out is not text").waitFor();
  await give("large.tile", "x".repeat(2 << 20));
  await page.getByText("large.tile has more than 1 MiB").waitFor();
  equal("the text stays", await text(page), tiled);
  await give("crlf.tile", tiled.replaceAll("\n", "\r\n"));
  await page.getByRole("option", { name: "crlf.tile" }).waitFor({ state: "attached" });
  await settled(page);
  equal("line ends", await text(page), tiled);
  ok("it runs", /No mistakes found/.test(await page.getByLabel("Messages").textContent()));

  await give("--help me.tile", tiled);
  await page.getByRole("option", { name: "--help me.tile" }).waitFor({ state: "attached" });
  await page.getByText("No mistakes found").waitFor();

  // Undo goes back to the text as it was opened, and no further.
  await page.getByLabel("Kernel source").click();
  await page.keyboard.press("Control+z");
  await page.keyboard.press("Control+z");
  equal("undo after opening", await text(page), tiled);

  // If the text has no kernel, the cards keep the results of the earlier text and mark them as stale.
  await idle(page);
  await give("empty.tile", "// nothing\n");
  await page.waitForFunction(() => document.querySelector("#step .body").classList.contains("stale"));
  await settled(page);
  for (const card of ["step", "counters", "roofline", "traffic"]) ok(`${card} is stale`, await stale(page, card));
  equal("no sizes of another kernel", await page.getByLabel("m", { exact: true }).count(), 0);

  // --- the selected block, when the grid becomes smaller ---
  await chooser(page).selectOption("kernels/sgemm/tiled.tile");
  await idle(page);
  await page.getByLabel("block.x, of 2").fill("1");
  await page.keyboard.press("Enter");
  await idle(page);
  for (const n of ["m", "n"]) {
    await page.getByLabel(n, { exact: true }).fill("16");
    await page.keyboard.press("Enter");
  }
  await idle(page);
  ok("the first block is shown", /block\s*0, 0 of 1 × 1/.test(await page.locator("#step .readouts").textContent()));
  for (const n of ["m", "n"]) {
    await page.getByLabel(n, { exact: true }).fill("64");
    await page.keyboard.press("Enter");
  }
  await idle(page);

  // --- the gutter compares a line with the same line of the earlier run, even if the line has moved ---
  await setText(page, "// one line more\n" + tiled);
  await idle(page);
  const bars = await page.$$eval(".cm-heat .heat", (list) => list.map((h) => [h.title, h.textContent]).filter(([t]) => t));
  ok("bars", bars.length > 2);
  equal("lines that only moved", bars.filter(([, change]) => change).length, 0);

  // --- the model uses the sizes that the reader enters ---
  await chooser(page).selectOption("kernels/matmul/batched.tile");
  await idle(page);
  const batches = page.getByLabel(/^(heads|batch|batches)$/).first();
  if (await batches.count()) {
    const flops = () => page.locator("#roofline .verdict").textContent();
    const [before, count] = [await flops(), await batches.inputValue()];
    await batches.fill(String(8 * Number(count)));
    await page.keyboard.press("Enter");
    await page.waitForFunction((b) => document.querySelector("#roofline .verdict").textContent !== b, before);
  }

  // --- a seed that is not a number ---
  await page.getByLabel("seed").first().fill("");
  await page.keyboard.press("Enter");
  await idle(page);

  // --- sizes that a matrix cannot have: the field goes back to the size in use ---
  const m = page.getByLabel("m", { exact: true }).first();
  const size = await m.inputValue();
  for (const typed of ["0", "-3", "", size]) {
    await m.fill(typed);
    await page.keyboard.press("Enter");
    equal(`the size for "${typed}"`, await m.inputValue(), typed === size ? size : "1");
  }
  await idle(page);

  // Parameters that are not sizes have fields, too; runs, cards and links use the values in these fields.
  const fused = await open({ path: "#kernel=kernels/fused/attention.tile&set=heads:1,nq:64,nk:64,d:64,causal:false,scale:0.25" });
  const values = async () => [await fused.getByLabel("causal").inputValue(), await fused.getByLabel("scale", { exact: true }).inputValue()];
  equal("from a link", await values(), ["false", "0.25"]);
  const instructions = (causal) =>
    native("run", "kernels/fused/attention.tile", "--device", "sim", "--fill", "rand", "--seed", "1", "--set", `heads=1,nq=64,nk=64,d=64,causal=${causal},scale=0.25`, "--counters").counters.warp_instructions;
  const ran = (count) => fused.locator(".state", { hasText: `ran ${count.toLocaleString("en-US")} instructions` }).waitFor();
  const [whole, causal] = [instructions(false), instructions(true)];
  ok("causal runs are others", whole !== causal);
  await ran(whole);
  await fused.getByLabel("causal").selectOption("true");
  await ran(causal);
  await fused.getByLabel("scale", { exact: true }).fill("0.125");
  await fused.keyboard.press("Tab");
  await settled(fused);
  await fused.getByRole("button", { name: "Share", exact: true }).click();
  const shared = fused.url();
  await fused.goto("about:blank");
  await fused.goto(shared);
  await settled(fused);
  equal("from its own link", await values(), ["true", "0.125"]);
  const started = await open({ args: ["kernels/fused/attention.tile", "--set", "heads=1,nq=64,nk=64,causal=false,scale=0.5"] });
  equal("from play --set", [await started.getByLabel("causal").inputValue(), await started.getByLabel("scale", { exact: true }).inputValue()], ["false", "0.5"]);
});
