// Tests the ladder: its measured values equal the table of lesson 6, and its predictions `explain --compare`; it can be stopped, and a
// click opens a kernel.
import { readFileSync } from "node:fs";
import { equal, native, ok, root, settled, test, violations } from "./browser.mjs";

const card = (page) => page.locator("#ladder");
const press = (page, name) => card(page).getByRole("button", { name, exact: true }).click();

async function table(page) {
  await press(page, "Table");
  const rows = await card(page).locator("tbody tr").evaluateAll((list) => list.map((r) => [...r.children].map((c) => c.textContent)));
  await press(page, "Table");
  return rows;
}
async function predicted(page) {
  await card(page).getByRole("button", { name: /^Predict/ }).click();
  await card(page).and(page.locator("[aria-busy=false]")).waitFor();
}

/** Returns the rows of lesson 6's table: type → [ms, TFLOP/s]. */
function lesson() {
  const text = readFileSync(root + "docs/tutorial/6-async.md", "utf8").split("## All kernels, measured")[1];
  const rows = { f32: [], f16: [] };
  let type = "";
  for (const line of text.split("\n").filter((l) => /^\| (`f|\|)/.test(l))) {
    const cells = line.split("|").map((c) => c.trim());
    type = cells[1] ? cells[1].replaceAll("`", "") : type;
    if (type && Number(cells[3])) rows[type].push([cells[3], cells[4]]);
  }
  return rows;
}

await test(async ({ open }) => {
  const page = await open({ path: "#kernel=tiled" });
  const rows = lesson();
  for (const type of ["f32", "f16"]) {
    await press(page, type);
    const shown = (await table(page)).map((r) => [r[2], r[3]]);
    // The ladder has one kernel more than the lesson's table.
    equal(`the table of lesson 6, ${type}`, shown.filter(([ms]) => rows[type].some((r) => r[0] === ms)), rows[type]);
    ok("at most one kernel that the table lacks", shown.length - rows[type].length <= 1);
  }

  await press(page, "sgemm");
  await card(page).getByRole("button", { name: /^Predict/ }).click();
  await page.locator("header").getByRole("button", { name: "Stop", exact: true }).click();
  ok("stopped", (await card(page).getByRole("button", { name: /^Predict/ }).count()) === 1);
  await predicted(page);
  const names = (await table(page)).map((r) => r[0]);
  const size = ["--set", "m=4096,n=4096,k=4096", "--device", "h200"];
  const compare = native("explain", "--compare", names.map((n) => `kernels/sgemm/${n}.tile`).join(","), ...size).kernels;
  for (const [i, row] of (await table(page)).entries())
    equal(`${row[0]}: predicted ms`, [row[6], row[5], row[7]], compare[i].seconds.map((s) => String(s * 1000)));

  const naive = card(page).getByRole("button", { name: /^naive/ });
  const rate = /predicted ([\d.]+) TFLOP/.exec(await naive.getAttribute("aria-label"))[1];
  const wanted = compare[names.indexOf("naive")].flops_per_second[1] / 1e12;
  ok("the bar says it too", Math.abs(Number(rate) - wanted) < 0.006, `${rate}, not ${wanted}`);
  await naive.focus();
  await page.keyboard.press("Enter");
  await settled(page);
  ok("the kernel opens", (await page.locator(".left .cm-content").innerText()).includes("kernel sgemm_naive"));
  await press(page, "of peak");
  ok("shares", / %/.test(await naive.getAttribute("aria-label")));
  equal("axe", await violations(page), "");
});
