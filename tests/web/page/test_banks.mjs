// Tests the view of banks and lanes: its wavefronts and sectors equal the accesses of `explain`, also on edited tiles; its sliders edit the
// source.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

/** Checks that the picture shows the number of wavefronts that the simulator counted, for each shared access of the kernel. */
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

const swizzleSlider = (page) => card(page).getByLabel(/that move the columns/);
const folder = mkdtempSync(join(tmpdir(), "banks-"));

/** Returns the values that the native program computes from a text, as bytes, and the accesses in its explanation. */
function asNative(text, tune, out) {
  const file = join(folder, "text.tile");
  writeFileSync(file, text);
  const options = ["--tune", tune, "--set", "m=70,n=66,k=50", "--fill", "rand"];
  execFileSync(process.argv[2], ["run", file, "--device", "sim", ...options, "--verify", "--out", `c=${join(folder, out)}`], { stdio: "ignore" });
  const explained = native("explain", file, "--tune", tune, "--device", "h200", "--set", "m=1024,n=1024,k=1024");
  return { values: readFileSync(join(folder, out)), accesses: explained.kernels[0].accesses };
}

/** Checks that a link to the card opens at the card although the cards above it fill later, and that curing an access keeps it chosen. */
async function staysInPlace(page) {
  await settled(page);
  const [top, head] = await page.evaluate(() => [document.querySelector("#banks"), document.querySelector(".head")].map((e) => e.getBoundingClientRect()));
  ok("the link's card is at the top", Math.abs(top.top - head.bottom) < 2, `${top.top} ${head.bottom}`);
  const chosen = () => chooser(page).evaluate((e) => e.selectedOptions[0].text);
  ok("the worst access is chosen", (await chosen()).includes("bs[tx][q]"), await chosen());
  await card(page).getByLabel(/added to each row of bs/).fill("1");
  await settled(page);
  equal("and stays chosen when it is cured", (await chosen()).replace(/\s+/g, " "), "21 bs[tx][q] shared load");
}

/** Tests the swizzle slider: with enough bits no conflict is left, the values stay the same, and at 0 the text is the original. */
async function swizzles(page) {
  const transposed = readFileSync(root + "kernels/sgemm/transposed.tile", "utf8");
  await choose(page, "bs[tx][q]");
  equal("no swizzle", await swizzleSlider(page).inputValue(), "0");
  equal("before", await verdict(page), "32 wavefronts of least 4.");
  await choose(page, "bs[tx][ty]");
  equal("what padding costs", await card(page).locator(".cost").innerText(), "One more element in each row costs 128 bytes of shared memory in a block. A swizzle costs none: it exchanges elements within their rows.");
  for (const bits of [1, 5, 2]) {
    await swizzleSlider(page).fill(String(bits));
    await settled(page);
    const depth = 32 / 2 ** bits;
    equal(`${bits} bits`, await verdict(page), `${depth} ${depth === 1 ? "wavefront" : "wavefronts"} of least 1.`);
    equal(`${bits} bits are read`, await swizzleSlider(page).inputValue(), String(bits));
    const text = await source(page);
    for (const T of [32, 16, 8]) {
      const plain = asNative(transposed, `T=${T},PAD=0`, "plain.npy");
      const turned = asNative(text, `T=${T},PAD=0`, "turned.npy");
      ok(`T = ${T}, ${bits} bits: the same values`, plain.values.equals(turned.values));
      if (T !== 32) continue;
      const store = turned.accesses.find((a) => a.line === 18 && a.space === "shared");
      equal("wavefronts of explain", store.wavefronts / store.requests, depth);
      equal("ways", await readout(page, "conflict"), store.ways > 1 ? `${store.ways}-way` : "none");
    }
  }
  await swizzleSlider(page).fill("5");
  await settled(page);
  ok("the text", (await source(page)).includes("bs[tx][q ^ (tx & (T - 1))]"));
  ok("what it does", (await card(page).locator(".cost").innerText()).endsWith("The swizzle costs none: element (r, c ^ (r & 31)) holds what element (r, c) would."));
  ok("tried", (await card(page).locator("table.data").innerText()).includes("T 32, PAD 0, swizzle 5"));
  await choose(page, "bs[tx][q ^");
  equal("after", await verdict(page), "1 wavefront of least 1.");
  await swizzleSlider(page).fill("0");
  await settled(page);
  equal("the text as it was", await source(page), transposed);

  // Indices and extents in other forms: the compiler gives their places, so comments, names and line ends have no effect.
  const odd = transposed
    .replace("tune T = {32, 16, 8};\ntune PAD = {0, 1};", "const i32 T = 32; // not bs[T][T + 4]")
    .replace("bs[T][T + PAD]", "bs[T][ /* rows */ T+1 ]")
    .replace("bs[tx][ty]", "bs[thread.x] [ty + 0]")
    .replace("* bs[tx][q]", "* bs\n                [tx][(q)]");
  await setText(page, odd);
  await choose(page, "bs[thread.x] [ty + 0]");
  const slider = card(page).getByLabel(/added to each row/);
  equal("its padding", await slider.inputValue(), "1");
  await slider.fill("0");
  await settled(page);
  await swizzleSlider(page).fill("5");
  await settled(page);
  const swizzled = await source(page);
  ok("unpadded", swizzled.includes("bs[T][ /* rows */ T ];"), swizzled);
  ok("the store", swizzled.includes("bs[thread.x] [(ty + 0) ^ ((thread.x) & (T - 1))]"), swizzled);
  ok("the load", swizzled.includes("[tx][(q ^ (tx & (T - 1)))]"), swizzled);
  equal("no conflict", await verdict(page), "1 wavefront of least 1.");
  await pressed(page, "Value of T", "16");
  await settled(page);
  ok("the constant", (await source(page)).includes("const i32 T = 16; // not bs[T][T + 4]"));
  await pressed(page, "Value of T", "32");
  await swizzleSlider(page).fill("0");
  await settled(page);
  equal("back", await source(page), odd.replace("T+1 ]", "T ]"));

  await setText(page, transposed.replace("f32 sum = 0;", "f32 sum = 0;\n    bs[0][0 +: 4] = 0;\n    sync();"));
  await choose(page, "bs[tx][ty]");
  ok("why not", (await card(page).locator(".cost").innerText()).endsWith("No swizzle here: the text also uses bs in other ways than element by element."));
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
  // T = 16: the load has an 8-way conflict if it reads element by element, and a 4-way conflict if it reads vectors of 16 bytes.
  await card(page).getByLabel(/added to each row/).fill("0");
  await settled(page);
  await choose(page, "bs[tx][q]");
  equal("as vectors", await readout(page, "conflict"), "8-way, 4-way as vectors");
  ok("where elements lie", (await card(page).innerText()).includes("Element (r, c) of bs is in bank (16 r + c) mod 32: a column lies in 2 of the 32 banks."));
  await card(page).getByRole("button", { name: "Table", exact: true }).click();
  ok("the layout below Table", (await card(page).innerText()).includes("layout of bs: layout(d0(16:16), d1(16:1) -> 256)"), await card(page).innerText());
  await card(page).getByRole("button", { name: "Table", exact: true }).click();

  equal("settings that were tried", await card(page).locator("table.data tbody tr").count(), 4);
  await staysInPlace(await open({ path: "#kernel=transposed&card=banks" }));
  await swizzles(await open({ path: "#kernel=transposed" }));

  // If the text has its padding as a number, the slider edits that number, and restores the text byte for byte.
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

  // A column of global memory: the warp needs 4 bytes of each of 32 sectors.
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

  // The card also takes PTX of another compiler, because it needs nothing but addresses.
  await page.locator("input[type=file]").setInputFiles(root + "kernels/cuda/block_sum.ptx");
  await settled(page);
  await choose(page, "ld.global.f32");
  equal("PTX", await verdict(page), "4 sectors of least 4.");
  ok("the thread that stores", (await page.locator("#threads .lens").innerText()).includes("T0, lane 0 of warp 0"));
});
rmSync(folder, { recursive: true });
