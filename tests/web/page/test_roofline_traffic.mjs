// Tests Roofline and Traffic on an edited kernel: their numbers are those of `explain --json`.
import { readFileSync, writeFileSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { equal, native, ok, root, setText, settled, test } from "./browser.mjs";

const edited = readFileSync(root + "kernels/sgemm/tiled.tile", "utf8")
  .replace("{32, 16, 8}", "{16, 32}")
  .replaceAll("sgemm_tiled", "mine");
const file = mkdtempSync(tmpdir() + "/page") + "/tiled.tile";
writeFileSync(file, edited);

const readouts = (page, card) =>
  page.$$eval(`#${card} .readouts > div`, (list) =>
    Object.fromEntries(list.map((d) => [d.querySelector("dt").textContent, d.querySelector("dd").textContent])),
  );
const table = async (page, card) => {
  await page.locator(`#${card}`).getByRole("button", { name: "Table" }).click();
  const rows = await page.$$eval(`#${card} .body table tr`, (list) => list.map((r) => [...r.children].map((c) => c.textContent)));
  await page.locator(`#${card}`).getByRole("button", { name: "Table" }).click();
  return rows;
};

await test(async ({ open }) => {
  const page = await open();
  await setText(page, edited);
  const sizes = ["--set", "m=1024,n=1024,k=1024", "--device", "h100"];
  await page.getByLabel("Device").selectOption("h100");
  await settled(page);

  const swept = native("explain", file, ...sizes, "--sweep", "T=16,32,64");
  const shown = await table(page, "roofline");
  equal(
    "rows of the sweep",
    shown.slice(1).map((r) => r[0]),
    ["T=16", "T=32", "T=64"],
  );
  for (const [i, row] of swept.kernels.entries()) {
    const l2 = row.traffic.find((t) => t.level === "L2");
    equal(`FLOP/B of ${shown[i + 1][0]}`, Number(shown[i + 1][1]), row.flops / l2.read_by_thread);
    if (row.launches) equal(`rate of ${shown[i + 1][0]}`, Number(shown[i + 1][2]), row.flops_per_second[1]);
    else equal("why not", shown[i + 1][10], row.why_not);
  }
  equal(
    "intensities as the lesson has them",
    shown.slice(1).map((r) => Number(r[1])),
    [4, 8, 16],
  );
  ok("T=64 is hollow", (await page.locator("#roofline .point.hollow title").textContent()).includes("4096 threads"));

  const one = native("explain", file, ...sizes).kernels[0];
  equal("the verdict", await page.locator("#roofline .verdict").textContent(), one.verdict);
  await page.locator("#roofline").getByRole("button", { name: "T=64" }).click();
  await settled(page);
  ok("the reason why T=64 cannot launch", (await page.locator("#roofline .verdict").textContent()).includes("4096 threads a block"));
  equal("its shared memory", (await readouts(page, "roofline"))["shared memory"], "32 KiB");
  await page.locator("#roofline").getByRole("button", { name: "T=32" }).click();
  await settled(page);

  // The point moves to the right when bytes are counted at a level nearer to DRAM. A measured time is drawn at its rate.
  const at32 = native("explain", file, ...sizes, "--tune", "T=32").kernels[0];
  const traffic = (level) => at32.traffic.find((t) => t.level === level);
  const counted = { thread: traffic("L2").read_by_thread, warp: traffic("L2").read_by_request, L2: traffic("L2").moved[1], memory: traffic("HBM").moved[1] };
  let [from, start] = [0, 0];
  for (const [level, loads] of Object.entries(counted)) {
    await page.getByRole("group", { name: "Bytes counted by" }).getByRole("button", { name: level, exact: true }).click();
    const row = (await table(page, "roofline")).find((r) => r[0] === "T=32");
    equal(`FLOP/B counted by ${level}`, Number(row[1]), at32.flops / loads);
    const x = await page.locator("#roofline .point.current").first().evaluate((e) => e.getBoundingClientRect().x);
    from = x;
    start ||= x;
  }
  ok("the point walks to the right", from > start + 20, `${start} to ${from}`);
  await page.locator("#roofline").getByLabel("measured").fill("1");
  const tall = async () => page.locator("#roofline path.measured").evaluate((e) => e.getBoundingClientRect().y);
  const slow = await tall();
  await page.locator("#roofline").getByLabel("measured").fill("0.1");
  ok("a shorter time is drawn higher", (await tall()) < slow);

  const bytes = await table(page, "traffic");
  const l2 = native("explain", file, ...sizes, "--tune", "T=32").kernels[0].traffic.find((t) => t.level === "L2");
  equal("loads by threads", Number(bytes[1][1]), l2.read_by_thread);
  const naive = native("explain", "kernels/sgemm/naive.tile", ...sizes).kernels[0].traffic;
  const at = (level) => naive.find((t) => t.level === level);
  equal(
    "naive, counted in each way",
    bytes.slice(1, 6).map((r) => Number(r[3])),
    [at("L2").read_by_thread, at("L2").read_by_element, at("L2").read_by_request, at("L2").read[1], at("HBM").read[1]],
  );
  equal("naive, by threads, as the lesson has it", Number(bytes[1][3]), 2 * 1024 ** 3 * 4);

  // In the figure over T, the dots are counted bytes, and the line is 2 M N K / T elements.
  const dots = await page.locator("#traffic svg.figure[role=img]").last().getAttribute("aria-label");
  equal("a dot for each T", dots.match(/T=\d+/g), ["T=16", "T=32", "T=64"]);
  for (const row of swept.kernels) {
    const l2 = row.traffic.find((t) => t.level === "L2");
    equal(`bytes at T=${row.tune.T}`, l2.read_by_thread, (2 * 4 * 1024 ** 3) / row.tune.T);
  }
  equal("the line is there", await page.locator("#traffic path.line").count(), 1);
});
