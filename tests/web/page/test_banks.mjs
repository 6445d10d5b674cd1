// The view of banks and lanes: wavefronts and sectors equal to `explain`'s accesses, on edited tiles; sliders edit the source.
import { readFileSync } from "node:fs";
import { equal, native, ok, root, setText, settled, test, violations } from "./browser.mjs";

const card = (page) => page.locator("#banks");
const chooser = (page) => card(page).getByLabel("access");
const verdict = (page) => card(page).locator(".verdict strong").innerText();
const readout = (page, name) => card(page).locator(".readouts div", { hasText: name }).first().locator("dd").innerText();
const source = (page) => page.$$eval(".left .cm-line", (lines) => lines.map((l) => l.textContent).join("\n"));

async function choose(page, text) {
  await chooser(page).locator("option", { hasText: text }).first().waitFor({ state: "attached" });
  const options = await chooser(page).locator("option").evaluateAll((list) => list.map((o) => [o.value, o.textContent]));
  const found = options.find(([, label]) => label.includes(text));
  ok(`an access ${text}`, found, JSON.stringify(options));
  await chooser(page).selectOption(found[0]);
}

const pressed = (page, group, value) => card(page).getByRole("group", { name: group }).getByRole("button", { name: value, exact: true }).click();

/** The picture has as many wavefronts as the simulator counted, for each access of the kernel. */
async function picturesAgree(page, kernel) {
  const values = await chooser(page).locator("option").evaluateAll((list) => list.map((o) => [o.value, o.textContent]));
  for (const [value, label] of values) {
    if (!label.includes(" shared ")) continue;
    await chooser(page).selectOption(value);
    const drawn = /(\d+) wavefronts of least (\d+)/.exec(await card(page).locator("svg").getAttribute("aria-label"));
    const said = /(\d+) wavefronts? of least (\d+)/.exec(await verdict(page));
    equal(`${kernel}: ${label}`, drawn.slice(1), said.slice(1));
  }
}

await test(async ({ open }) => {
  const page = await open({ path: "#kernel=transposed" });
  const wanted = { "32 0": "32 wavefronts of least 1.", "32 1": "1 wavefront of least 1.", "16 0": "8 wavefronts of least 1.", "16 1": "2 wavefronts of least 1." };
  await choose(page, "bs[tx][ty]");
  for (const [key, says] of Object.entries(wanted)) {
    const [T, pad] = key.split(" ");
    await pressed(page, "Value of T", T);
    await card(page).getByLabel(/added to each row/).fill(pad);
    await settled(page);
    equal(`T = ${T}, PAD = ${pad}`, await verdict(page), says);
    const all = native("explain", "kernels/sgemm/transposed.tile", "--tune", `T=${T}`, "--tune", `PAD=${pad}`, "--device", "h200", "--set", "m=1024,n=1024,k=1024");
    const store = all.kernels[0].accesses.find((a) => a.line === 18 && a.space === "shared");
    equal("ways", await readout(page, "conflict"), store.ways > 1 ? `${store.ways}-way` : "none");
    equal("wavefronts over requests", store.wavefronts / store.requests, Number(/^\d+/.exec(says)[0]));
    await choose(page, "bs[tx][q]");
    const load = all.kernels[0].accesses.find((a) => a.line === 21 && a.column === 32);
    const conflict = load.ways_by_element > 1 ? `${load.ways_by_element}-way` : "none";
    equal("ways of the load", await readout(page, "conflict"), load.ways === load.ways_by_element ? conflict : `${conflict}, ${load.ways}-way as vectors`);
    await choose(page, "bs[tx][ty]");
  }
  equal("settings that were tried", await card(page).locator("table.data tbody tr").count(), 4);

  // Padding that the text has as a number is edited there, and back byte for byte.
  await page.goto(page.url().replace(/#.*/, "#kernel=padded"));
  await settled(page);
  const before = await source(page);
  const padded = readFileSync(root + "kernels/sgemm/padded.tile", "utf8");
  equal("the kernel", before, padded);
  await choose(page, "bs[q][tx]");
  await settled(page);
  const slider = card(page).getByLabel(/added to each row/);
  equal("its padding", await slider.inputValue(), "1");
  await slider.fill("0");
  await settled(page);
  ok("edited", (await source(page)).includes("bs[T][T];"));
  await slider.fill("1");
  await settled(page);
  equal("and back", await source(page), before);

  // A column of global memory: of 32 sectors, 4 bytes each are asked for.
  await setText(page, padded.replace("A[row][p + tx]", "A[(p + tx) % m][row % k]"));
  await choose(page, "A[(p + tx) % m]");
  equal("sectors", await verdict(page), "32 sectors of least 4.");
  ok("wasted bytes", (await card(page).locator(".verdict").innerText()).includes("128 of 1,024 bytes"));

  for (const kernel of ["register_tiled", "vector_load", "kernels/matmul/shared.tile", "kernels/matmul/async.tile", "kernels/matmul/stages.tile", "kernels/fused/softmax.tile"]) {
    const before = await chooser(page).innerHTML();
    await page.goto(page.url().replace(/#.*/, `#kernel=${kernel}`));
    await page.waitForFunction((html) => document.querySelector("#banks select")?.innerHTML !== html, before);
    await settled(page);
    await picturesAgree(page, kernel);
  }
  equal("axe", await violations(page), "");

  // PTX of another compiler: its addresses are enough.
  await page.locator("input[type=file]").setInputFiles(root + "kernels/cuda/block_sum.ptx");
  await settled(page);
  await choose(page, "ld.global.f32");
  equal("PTX", await verdict(page), "4 sectors of least 4.");
  ok("the thread that stores", (await page.locator("#threads .lens").innerText()).includes("T0, lane 0 of warp 0"));
});
