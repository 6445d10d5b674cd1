// Tests the code that reads lessons and puzzles: Markdown to HTML with few tags, separate figures and sources, merged files of progress,
// arrays as sheets.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { load, root } from "./typescript.mjs";
import { traced } from "./traces.mjs";

const { toHtml, toParts, anchorOf } = await load("web/page/src/text/markdown.ts");
const { readPuzzle } = await load("web/page/src/puzzle/text.ts");
const { isProgress, merged } = await load("web/page/src/puzzle/progress.ts");
const { namedIn, resolveIn } = await load("web/page/src/lesson/links.ts");
const { readFigure } = await load("web/page/src/figures/asked.ts");
const { readsOf } = await load("web/page/src/figures/reads.ts");
const { drawCase } = await load("web/page/src/figures/case_drawing.ts");
const { sheetsOf } = await load("web/page/src/figures/array_grid.ts");
const { wayOf } = await load("web/page/src/figures/way.ts");

// Tags in a text are shown as text and never become elements; only allowed targets become links.
const hostile = toHtml('a <img src=x onerror="alert(1)"> [x](javascript:alert(1)) ![y](https://elsewhere/y.png)\n\n<script>alert(1)</script>\n');
assert.ok(!/<(img|script|a)\b/.test(hostile), hostile);
assert.ok(hostile.includes("&lt;img") && hostile.includes("&lt;script&gt;"), hostile);
assert.ok(!/<a/.test(toHtml("[x](javascript:alert(1))", { resolve: (href) => href })));
assert.ok(toHtml("[x](#a\"b)", { resolve: (href) => href }).includes('href="#a&quot;b"'));

// Every lesson: code blocks are shown unchanged, each figure has its picture, and each link to a lesson or a heading has its target.
const lessons = readdirSync(`${root}docs/tutorial`).filter((f) => /^(\d-.*|answers)\.md$/.test(f)).sort();
const texts = lessons.map((f) => readFileSync(`${root}docs/tutorial/${f}`, "utf8"));
const anchors = texts.map((t) => new Set([...t.matchAll(/^#+ (.*)$/gm)].map((m) => anchorOf(m[1]))));
const unescaped = (html) => html.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&amp;", "&");
lessons.forEach((file, i) => {
  const seen = [];
  const resolve = resolveIn(i + 1, lessons);
  const parts = toParts(texts[i], { resolve: (href) => (seen.push(href), resolve(href)) });
  const shown = parts.map((p) => (p.kind === "html" ? unescaped(p.html) : p.kind === "source" ? p.code : "")).join("\n");
  for (const [, code] of texts[i].matchAll(/^```\w*\n([\s\S]*?)\n```$/gm)) assert.ok(shown.includes(code), `${file}: ${code}`);
  for (const p of parts) if (p.kind === "figure") assert.ok(p.picture && existsSync(`${root}docs/tutorial/${p.picture}`) && p.alt, `${file}: figure ${p.name}`);
  assert.equal(parts.filter((p) => p.kind === "figure").length, (texts[i].match(/<!-- figure:/g) ?? []).length);
  assert.equal(parts.filter((p) => p.kind === "source").length, (texts[i].match(/<!-- (source|diff):/g) ?? []).length);
  for (const p of parts) if (p.kind === "source") assert.ok(existsSync(`${root}${p.path}`), `${file}: ${p.path}`);
  for (const href of seen.filter((h) => /^(#|\d-|answers)/.test(h))) {
    assert.ok(resolve(href), `${file}: ${href}`);
    const words = new URLSearchParams(resolve(href).slice(1));
    const at = words.get("at");
    assert.ok(!at || anchors[words.get("lesson") - 1].has(at), `${file}: ${href}`);
  }
});
const named = namedIn([{ number: 14, name: "single_block_matmul" }], [{ path: "kernels/a.tile" }]);
assert.deepEqual(["14_single_block_matmul", "14_other", "kernels/a.tile", "x"].map(named), ["#puzzle=14", null, "#kernel=kernels/a.tile", null]);

// Every puzzle has its parts.
for (const folder of readdirSync(`${root}puzzles`).filter((f) => /^\d\d_/.test(f))) {
  const text = readFileSync(`${root}puzzles/${folder}/puzzle.md`, "utf8");
  const read = readPuzzle(text);
  assert.ok(read.title && read.statement[0] && read.solution, folder);
  assert.equal(read.hints.length, (text.match(/^## Hint/gm) ?? []).length, folder);
  assert.ok(!/^## |^```case/m.test(read.statement.join("")), folder);
  assert.equal(read.drawing !== null, text.includes("```case"), folder);
  if (read.drawing) assert.ok(text.startsWith(`# ${read.title}\n\n${read.statement[0]}\`\`\`case\n${read.drawing}\n\`\`\`${read.statement[1].trimEnd()}`), folder);
}

// Merged progress: a puzzle has every mark that either file has, and the larger of two counts; unknown words stay.
const first = "# tilewright learn: puzzle, then what was done with it\n";
assert.equal(
  merged(`${first}14_single_block_matmul tries=4 hints=1\n02_zip passed tries=1 hints=0\n`, `${first}14_single_block_matmul passed at-solution cuda later=3 tries=2 hints=3\n`),
  `${first}02_zip passed tries=1 hints=0\n14_single_block_matmul passed at-solution cuda later=3 tries=4 hints=3\n`,
);
assert.equal(merged("", ""), first);
assert.ok(isProgress(first) && isProgress("") && !isProgress("kernel a() {}"));

// Figures: the words that describe them, and the accesses that they count.
assert.deepEqual(readFigure("roofline", ["kernels/a.tile", "T=32", "device=h100", "sweep=T:16,32"]), {
  name: "roofline",
  file: "kernels/a.tile",
  values: { T: 32 },
  words: { device: "h100", sweep: "T:16,32" },
});
const reads = readsOf(traced("kernels/sgemm/naive.tile", "--tune T=4 --set m=3,n=4,k=2 --fill iota"));
assert.deepEqual(reads, { m: 3, n: 4, k: 2, a: Array(6).fill(4), b: Array(8).fill(3) });
const way = (file) => wayOf(traced(file, "--type f16 --set m=64,n=64,k=64 --fill rand --sm sm_90")).map((l) => l.by);
assert.deepEqual(way("kernels/matmul/shared.tile"), ["ld.global", "st.shared", "ldmatrix", "mma"]);
assert.deepEqual(way("kernels/matmul/async.tile"), ["cp.async", "ldmatrix", "mma"]);

// Arrays: a larger array is cut into matrices; a wrong or unwritten element has its expected value; a sheet has at most 32 × 32 elements.
const [zero, one] = sheetsOf("x", [1, 2, 3, 4, 5, 6, 7, 8], [2, 2, 2], { expected: [1, 2, 3, 4, 5, 6, 7, 9], wrong: [7], unwritten: [4] });
assert.deepEqual([zero.name, one.name, one.rows[1][1].expected, one.rows[0][0].unwritten, zero.rows[0][0].expected], ["x[0]", "x[1]", "9", true, null]);
const large = sheetsOf("y", Array(40 * 50).fill(0), [40, 50])[0];
assert.deepEqual([large.rows.length, large.rows[0].length, large.more], [32, 32, [8, 18]]);

// The drawing of a case: a product's inputs are left of and above the output, vectors one below the other; small elements have no text;
// large arrays are drawn as tiles.
const arraysOf = (...list) => list.map(([name, ...shape]) => ({ name, shape, values: Array(shape.reduce((p, n) => p * n, 1)).fill(1) }));
const drawnAt = (inputs, outputs, width = 440) => drawCase(arraysOf(...inputs), arraysOf(...outputs), width);
const inside = ({ arrays, width, height }, room) => {
  for (const a of arrays) assert.ok(a.x >= 0 && a.y > 0 && a.x + a.cols * a.w <= width && a.y + a.rows * a.h <= height && width <= room + 64, JSON.stringify(a));
  for (const a of arrays)
    for (const b of arrays.slice(arrays.indexOf(a) + 1))
      assert.ok(a.x + a.cols * a.w <= b.x || b.x + b.cols * b.w <= a.x || a.y + a.rows * a.h <= b.y || b.y + b.rows * b.h <= a.y, `${a.name} over ${b.name}`);
};
for (const width of [270, 440, 700])
  for (const [inputs, outputs] of [
    [[["a", 2, 2], ["b", 2, 2]], [["out", 2, 2]]],
    [[["down", 2], ["across", 3]], [["out", 2, 3]]],
    [[["a", 10]], [["out", 10]]],
    [[["a", 32, 32]], [["out", 32, 32]]],
    [[["a", 8, 8], ["b", 8, 8]], [["out", 8, 8]]],
    [[["table", 2, 2], ["code", 2, 4], ["mate", 4]], [["out", 4]]],
    [[["a", 1, 40]], [["out", 1, 40]]],
    [[["a", 34]], [["out", 34]]],
  ])
    inside(drawnAt(inputs, outputs, width), width);
const product = drawnAt([["a", 2, 4], ["b", 4, 3]], [["c", 2, 3]]).arrays;
assert.deepEqual([product[1].x, product[0].y, product[2].texts.length], [product[2].x, product[2].y, 6]);
const vectors = drawnAt([["a", 10], ["b", 10]], [["c", 10]]).arrays;
assert.ok(vectors[0].x === vectors[2].x && vectors[0].y < vectors[1].y && vectors[1].y < vectors[2].y);
assert.deepEqual(drawnAt([["a", 32, 32]], [["c", 32, 32]]).arrays.map((a) => [a.texts, a.tile]), [[null, false], [null, false]]);
assert.deepEqual(drawnAt([["a", 33]], [["c", 4]]).arrays.map((a) => a.tile), [true, false]);
assert.equal(drawCase([{ name: "a", shape: [64, 64], values: null }], [], 440).arrays[0].tile, true);
