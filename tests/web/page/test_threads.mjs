// Tests the view of threads: it shows the thread that stores each element, as `print` tells it; ragged edges; the keyboard.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { equal, native, ok, root, setText, settled, test, violations } from "./browser.mjs";

const card = (page) => page.locator("#threads");
const readout = (page, name) => card(page).locator(".readouts div", { hasText: name }).first().locator("dd").innerText();

async function set(page, values) {
  for (const [name, value] of Object.entries(values)) {
    const field = page.locator("label", { hasText: new RegExp(`^\\s*${name}\\s`) }).locator("input, select").first();
    if ((await field.evaluate((e) => e.tagName)) === "SELECT") await field.selectOption(String(value));
    else {
      await field.fill(String(value));
      await field.press("Enter");
    }
  }
  await settled(page);
}

/** Goes to a block with the arrow keys. */
async function block(page, x, y) {
  const chosen = card(page).getByRole("gridcell", { name: /^block/ });
  await chosen.focus();
  const now = /\((\d+), (\d+)\)/.exec(await chosen.getAttribute("aria-label"));
  const press = async (key, times) => {
    for (let i = 0; i < times; i++) await page.keyboard.press(key);
  };
  await press(x > now[1] ? "ArrowRight" : "ArrowLeft", Math.abs(x - now[1]));
  await press(y > now[2] ? "ArrowDown" : "ArrowUp", Math.abs(y - now[2]));
  await settled(page);
}

/** Returns the rows of the card's table: element → [thread and register, lane and warp, PTX]. */
async function table(page) {
  await card(page).getByRole("button", { name: "Table" }).click();
  const rows = await card(page).locator("tbody tr").evaluateAll((list) => list.map((r) => [...r.children].map((c) => c.textContent)));
  await card(page).getByRole("button", { name: "Table" }).click();
  return new Map(rows.map(([element, ...rest]) => [element, rest]));
}

/** Runs the kernel with `print("C at", row, col)`. Returns a map from block "x,y" to a map from element "row,col" to its thread. */
function printed(tool, source, sizes, width) {
  const folder = mkdtempSync(tmpdir() + "/threads-");
  writeFileSync(`${folder}/who.tile`, source.replace(/^.*i32 row.*$/m, '$&\n    print("C at", row, col);'));
  const text = execFileSync(tool, ["run", `${folder}/who.tile`, ...sizes, "--fill", "iota"], { encoding: "utf8", cwd: root });
  const blocks = new Map();
  for (const [, bx, by, tx, ty, row, col] of text.matchAll(/block \((\d+),(\d+)\) thread \((\d+),(\d+)\) C at = (\d+), (\d+)/g)) {
    const key = `${bx},${by}`;
    if (!blocks.has(key)) blocks.set(key, new Map());
    blocks.get(key).set(`${row},${col}`, Number(tx) + width * Number(ty));
  }
  return blocks;
}

/** Checks for each tile of the layout the first and the last window of its elements. */
async function layoutAgrees(page, kernel) {
  await page.goto(page.url().replace(/#.*/, `#kernel=kernels/${kernel}.tile&embed=threads`));
  await settled(page);
  const file = `kernels/${kernel}.tile`;
  const found = native("show", file, "--kernels")[0];
  const sizes = found.parameters.filter((p) => !p.array && /^i/.test(p.type)).flatMap((p) => ["--set", `${p.name}=${/batch|heads/.test(p.name) ? 2 : 64}`]);
  const layout = native("show", `${file}:${found.kernel}`, "--stage", "layout", "--target", "sm_80", ...sizes);
  const chooser = card(page).locator("select");
  const last = layout.tiles.findLastIndex((t) => t.kind !== "scalar");
  await chooser.locator(`option[value="tile ${last} ${layout.tiles[last].name ?? layout.tiles[last].what}"]`).waitFor({ state: "attached" });
  await settled(page);
  let compared = 0;
  for (const [i, tile] of layout.tiles.entries()) {
    if (tile.kind === "scalar") continue;
    const option = await chooser.locator("option").evaluateAll((list, id) => list.find((o) => o.value.startsWith(id))?.value, `tile ${i} `);
    ok(`${kernel} shows ${tile.name ?? tile.what}`, option);
    await chooser.selectOption(option);
    for (const end of [false, true]) {
      if (end) {
        await card(page).getByRole("gridcell", { name: new RegExp(`^${(tile.name ?? tile.what).replaceAll("[", "\\[")}`) }).focus();
        await page.keyboard.press("Control+End");
      }
      for (const [name, [holder, , ptx]] of await table(page)) {
        const index = [...name.matchAll(/\[(\d+)\](?=\[|$)/g)].map((m) => Number(m[1]));
        const at = index.reduce((sum, v, axis) => sum * tile.shape[axis] + v, 0);
        if (tile.kind === "shared") {
          const byte = tile.offset + tile.places[at];
          equal(`${kernel} ${name}`, holder, `${byte} b${String((byte >> 2) % 32).padStart(2, "0")}`);
        } else {
          equal(`${kernel} ${name}`, holder, `T${tile.threads[at]}:R${tile.numbers[at]}`);
          equal(`${kernel} ${name} in PTX`, ptx, tile.registers[Math.floor(tile.numbers[at] / tile.in_register)] ?? "–");
        }
        compared++;
      }
    }
  }
  ok(`${kernel}: elements were compared`, compared > 100, compared);
}

await test(async ({ open }) => {
  const tool = process.argv[2];
  const naive = readFileSync(root + "kernels/sgemm/naive.tile", "utf8");
  const page = await open({ path: "#kernel=naive" });
  const edited = naive.replace("{32, 16, 8}", "{2, 4}");
  await setText(page, edited);
  await set(page, { m: 3, n: 5, k: 2 });
  equal("blocks", await readout(page, "blocks"), "3 × 2 = 6");
  equal("threads of a block", await readout(page, "threads of a block"), "2 × 2 = 4, 1 warp");
  equal("threads in all", await readout(page, "threads in all"), "24");

  const blocks = printed(tool, edited, ["--set", "m=3,n=5,k=2"], 2);
  equal("printed blocks", blocks.size, 6);
  for (const [key, threads] of blocks) {
    const [x, y] = key.split(",").map(Number);
    await block(page, x, y);
    equal("selected", await readout(page, "selected"), `block (${x}, ${y})`);
    const cells = await table(page);
    equal(`elements of block ${key}, with those beyond C`, cells.size, 4);
    for (const [place, thread] of threads) {
      const [row, col] = place.split(",").map(Number);
      const outside = row >= 3 || col >= 5;
      const got = cells.get(`C[${row}][${col}]${outside ? " (beyond)" : ""}`);
      ok(`block ${key}, C[${place}]`, got && (got[0] === `T${thread}` || (outside && got[0] === "")), JSON.stringify(got));
    }
    const beyond = [...threads.keys()].filter((p) => p.split(",")[0] >= 3 || p.split(",")[1] >= 5).length;
    equal(`hatched in block ${key}`, await card(page).locator("rect.out[data-beyond]").count(), beyond);
  }

  await set(page, { m: 64, n: 64, k: 64 });
  await block(page, 1, 1);
  await card(page).getByRole("gridcell", { name: /^C\[/ }).focus();
  await page.keyboard.press("ArrowDown");
  ok("the arrow keys walk the elements", (await card(page).locator(".lens h3").innerText()).startsWith("C[3]"));
  const kernels = ["matmul/shared", "matmul/registers", "matmul/stages", "matmul/auto", "matmul/tuned", "matmul/nt", "sgemm/transposed", "matmul/async", "fused/linear_gelu"];
  for (const kernel of kernels) await layoutAgrees(page, kernel);
  await page.goto(page.url().replace(/#.*/, "#kernel=kernels/matmul/shared.tile"));
  await settled(page);
  equal("axe", await violations(page), "");
});
