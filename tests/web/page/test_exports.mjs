// Tests everything that the page exports: a single card (embed), figures as SVG, data as JSON and CSV, the page as one file, compared
// counters.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { equal, longest, native, ok, root, setText, settled, test } from "./browser.mjs";

const tiled = readFileSync(root + "kernels/sgemm/tiled.tile", "utf8");
const folder = mkdtempSync(tmpdir() + "/page");

async function saved(page, card, kind) {
  const menu = page.locator(`#${card}`);
  if (!(await menu.locator("details.save").getAttribute("open"))) await menu.locator("details.save summary").click();
  const [download] = await Promise.all([page.waitForEvent("download"), menu.getByRole("button", { name: kind, exact: true }).click()]);
  if (await menu.locator("details.save[open]").count()) await menu.locator("details.save summary").click();
  return readFileSync(await download.path(), "utf8");
}

await test(async ({ open, browser }) => {
  const page = await open();
  const svg = await saved(page, "roofline", "SVG");
  ok(
    "an SVG of its own",
    svg.startsWith("<svg") && svg.includes('xmlns="http://www.w3.org/2000/svg"') && !svg.includes("var(--"),
    svg.slice(0, 200),
  );
  ok("its colours are written out", /(fill|stroke)="rgb/.test(svg));
  const alone = await browser.newPage();
  await alone.setContent(svg);
  ok("it draws", (await alone.locator("svg").boundingBox()).width > 100);
  await alone.close();
  const row = native("explain", "kernels/sgemm/tiled.tile", "--device", "h200", "--set", "m=1024,n=1024,k=1024").kernels[0];
  const json = JSON.parse(await saved(page, "roofline", "JSON"));
  equal("its data", json.find((r) => r.configuration === "T=32")["likely FLOP/s"], row.flops_per_second[1]);
  const csv = (await saved(page, "traffic", "CSV")).trim().split("\n");
  equal("rows of the CSV", csv.length, 7);

  await setText(page, tiled.replace("{32, 16, 8}", "{16, 8}"));
  const counters = JSON.parse(await saved(page, "counters", "JSON"));
  const args = [
    "run",
    "kernels/sgemm/tiled.tile",
    "--device",
    "sim",
    "--set",
    "m=64,n=64,k=64",
    "--fill",
    "rand",
    "--seed",
    "1",
    "--counters",
  ];
  const of = (name) => counters.find((r) => r.counter === name);
  equal("sectors now", of("global_sectors").now, native(...args, "--tune", "T=16").counters.global_sectors);
  equal("sectors before", of("global_sectors").before, native(...args).counters.global_sectors);
  ok(
    "the gutter says the change",
    (await page.locator(".cm-heat .heat").allInnerTexts()).some((t) => /[+−]\d+ %/.test(t)),
  );

  for (const card of ["step", "threads", "banks", "roofline", "traffic"]) {
    const embedded = await open({ path: `#kernel=naive&embed=${card}`, width: 720 });
    equal(`${card} alone`, await embedded.$$eval("main section[id]", (l) => l.map((e) => e.id)), [card]);
    equal("no editor, no bar", await embedded.locator(".left, header nav").count(), 0);
  }

  execFileSync(process.argv[2], ["play", "kernels/sgemm/naive.tile", "--export", folder + "/naive.html"], { cwd: root });
  const file = await browser.newPage();
  file.setDefaultTimeout(longest);
  await file.goto("file://" + folder + "/naive.html");
  await settled(file);
  await file.waitForFunction(() => document.querySelector("[aria-label=Messages]").textContent.includes("No mistakes found"));
  await file.close();
});
