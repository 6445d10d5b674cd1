// Tests the view Step on traces: its sums are those of explain, a step back restores the picture, its text is lesson 2's.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { load, root } from "./typescript.mjs";
import { edited, json, traced, tracedAll } from "./traces.mjs";

const { Stepper } = await load("web/page/src/figures/step_picture.ts");
const { stepsText } = await load("web/page/src/figures/step_text.ts");
const { blocksOf } = await load("web/page/src/figures/step_blocks.ts");
const { neighbour } = await load("web/page/src/figures/step_walk.ts");

const total = (steppers, sum) => steppers.reduce((s, { index }) => s + index[sum][index.count], 0);

// At the end of all blocks, the bytes by thread and by request equal explain's, and the FLOPs are 2 m n k.
for (const [file, m, n, k, options] of [
  ["kernels/sgemm/naive.tile", 64, 64, 64, ""],
  ["kernels/sgemm/tiled.tile", 64, 64, 64, "--tune T=16"],
  ["kernels/matmul/shared.tile", 128, 64, 64, "--type T=f16"],
  ["kernels/matmul/async.tile", 128, 128, 64, "--type T=f16"],
  ["kernels/matmul/stages.tile", 128, 128, 96, "--type T=f16"],
]) {
  const all = `${options} --set m=${m},n=${n},k=${k}`;
  const steppers = tracedAll(file, `${all} --fill rand`).map((t) => new Stepper(t));
  const l2 = json("explain", file, all).kernels[0].traffic.find((t) => t.level === "L2");
  assert.equal(total(steppers, "byThread"), l2.by_thread, `${file}: bytes of threads`);
  assert.equal(total(steppers, "byRequest"), l2.by_request, `${file}: bytes of warps`);
  assert.equal(total(steppers, "flops"), 2 * m * n * k, `${file}: FLOPs`);
}

// Going back to an event, or jumping to it, gives exactly the picture that going forward gave.
for (const [file, options] of [
  ["kernels/sgemm/tiled.tile", "--set m=64,n=64,k=64 --tune T=8"],
  ["kernels/sgemm/naive.tile", "--set m=8,n=8,k=8 --tune T=8"],
  ["kernels/matmul/shared.tile", "--set m=64,n=64,k=32"],
  ["kernels/matmul/async.tile", "--set m=64,n=64,k=32 --type T=f16"],
  ["kernels/matmul/stages.tile", "--set m=64,n=64,k=64 --type T=f16"],
  ["kernels/fused/softmax.tile", "--set rows=4,cols=64"],
  ["puzzles/09_pooling/solution.tile", "--set n=64"],
  ["puzzles/20_async_copies/solution.tile", "--set n=64"],
]) {
  const trace = traced(file, `${options} --fill rand`);
  const stepper = new Stepper(trace);
  const seen = [];
  for (let e = 0; e < trace.count; e++) seen.push(JSON.stringify(stepper.picture(e, 760)));
  for (let e = trace.count - 1; e >= 0; e--) assert.equal(JSON.stringify(stepper.picture(e, 760)), seen[e], `${file}: back to event ${e}`);
  for (let n = 0; n < 8; n++) {
    const e = (n * 7919) % trace.count;
    assert.equal(JSON.stringify(new Stepper(trace).picture(e, 760)), seen[e], `${file}: a jump to event ${e}`);
  }
}

// For 2 × 2 × 6, the text is the output that lesson 2 shows.
{
  const lesson = readFileSync(`${root}docs/tutorial/2-tiled.md`, "utf8");
  const printed = /\$ tilewright run docs\/tutorial\/files\/tiled_steps\.tile .*\n([\s\S]*?)```/.exec(lesson)[1];
  const stepper = new Stepper(traced("kernels/sgemm/tiled.tile", "--tune T=2 --set m=2,n=2,k=6 --fill iota"));
  assert.equal(stepsText(stepper), printed);
  assert.equal(stepper.index.turns, 3);
  assert.deepEqual(stepper.index.clock(0), { phases: ["load", "sync", "compute", "sync"], at: 0 });
  assert.equal(stepper.reuse(stepper.index.turnRange(0)[1] - 1), 2, "each element serves two threads");
}

// Turns are the source's, though the compiler unrolls; the reuse of a tile of 32 is 32.
{
  const turns = (file, options) => new Stepper(traced(file, `${options} --fill rand`)).index.turns;
  assert.equal(turns("kernels/sgemm/double_buffered.tile", "--set m=32,n=32,k=128"), 4);
  assert.equal(turns("kernels/matmul/stages.tile", "--set m=128,n=128,k=128 --type T=f16"), 8);
  // All of a loop that the compiler writes out has turns, too, and the variable has the source's values.
  const whole = new Stepper(traced(edited("kernels/sgemm/tiled.tile", "    for (i32 p = 0; p < k;", "    unroll for (i32 p = 0; p < 128;"), "--set m=32,n=32,k=128 --fill rand"));
  assert.equal(whole.index.turns, 4);
  assert.deepEqual([0, 1, 2, 3].map((t) => whole.index.variableIn(t)), ["p = 0", "p = 32", "p = 64", "p = 96"]);
  const stages = new Stepper(traced("kernels/matmul/stages.tile", "--set m=128,n=128,k=128 --type T=f16 --fill rand"));
  assert.equal(stages.index.variableIn(7), "p = 112");
  for (const e of stages.trace.kind.keys())
    if (stages.trace.kindOf(e) === "mma") assert.ok(stages.index.ownTurn[e] < 8, "products are in a turn");
  const first = stages.trace.kind.indexOf(12);
  assert.equal(stages.index.ownTurn[first], 0, "the first products are the first turn's");
  // A cut trace knows how many turns the loop has.
  const cut = new Stepper(traced("kernels/sgemm/tiled.tile", "--set m=32,n=32,k=256 --fill rand --trace-events 5000"));
  assert.deepEqual([cut.index.totalTurns, cut.index.turns < 8], [8, true]);
  // An array that copies alone reach has its name of the source.
  assert.deepEqual([0, 1, 2].map((a) => stages.nameOf(a)), ["A", "B", "C"]);
  const stepper = new Stepper(traced("kernels/sgemm/tiled.tile", "--set m=64,n=64,k=64 --fill rand"));
  assert.deepEqual([stepper.index.reuse, stepper.reuse(stepper.index.turnRange(1)[1] - 1)], [32, 32]);
  assert.equal(new Stepper(traced("kernels/sgemm/double_buffered.tile", "--set m=64,n=64,k=64 --fill rand")).index.reuse, 32);
}

// A shared tile has the colour of the array that it is a part of.
{
  const { index } = new Stepper(traced("kernels/sgemm/tiled.tile", "--set m=64,n=64,k=64 --fill rand"));
  assert.deepEqual(index.arrays.map((a) => a.role), ["a", "b", "sum"]);
  assert.deepEqual(index.sharedRoles, ["a", "b"]);
}

// The grid of blocks over the output, for both ways of the source to go over it.
{
  const at = (file, options, block) => blocksOf(new Stepper(traced(file, `${options} --fill rand`, block)).index);
  const tiled = at("kernels/sgemm/tiled.tile", "--set m=96,n=64,k=32", "1,2");
  assert.deepEqual([tiled.rows, tiled.cols, tiled.row, tiled.col, tiled.xIsRow], [32, 32, 2, 1, false]);
  const v1 = at("kernels/matmul/shared.tile", "--set m=128,n=128,k=32", "0,1");
  assert.deepEqual([v1.rows, v1.cols, v1.row, v1.col, v1.xIsRow], [64, 64, 0, 1, true]);
  assert.ok(at("kernels/matmul/shared.tile", "--set m=128,n=128,k=32", "0,0").unsure);
}

// Steps by phase and by turn stop at both ends; forward and back they visit the same events.
{
  const { index } = new Stepper(traced("kernels/sgemm/tiled.tile", "--tune T=2 --set m=2,n=2,k=6 --fill iota"));
  const walk = (unit, direction, from) => {
    const at = [from];
    while (at.length < 100 && neighbour(index, at[at.length - 1], unit, direction) !== at[at.length - 1])
      at.push(neighbour(index, at[at.length - 1], unit, direction));
    return at;
  };
  const on = walk("turn", 1, 0);
  assert.deepEqual(on, [...index.turnFrom, index.loopEnd, index.count - 1]);
  assert.deepEqual(walk("turn", -1, index.count - 1).reverse(), on);
  assert.deepEqual(walk("phase", -1, index.count - 1).reverse(), walk("phase", 1, 0));
  assert.equal(walk("event", 1, 0).length, index.count);
}

// Without the first barrier, some warps read cells that no warp has written: these cells are marked, and the sentence names the mistake.
{
  const { sentence } = await load("web/page/src/figures/step_words.ts");
  const options = "--set m=64,n=64,k=64 --fill rand --seed 1";
  const marked = (file) => {
    const stepper = new Stepper(traced(file, options));
    const events = Array.from({ length: stepper.trace.count }, (_, e) => e).filter((e) => stepper.unset(e));
    for (const e of events.slice(0, 8)) {
      assert.ok(stepper.picture(e, 760).panels.some((p) => p.layers.some((l) => l.kind === "unset")));
      assert.match(sentence(stepper, e), /no warp has written/);
    }
    return events.length;
  };
  assert.equal(marked("kernels/sgemm/tiled.tile"), 0);
  assert.ok(marked(edited("kernels/sgemm/tiled.tile", "        sync();\n        unroll", "        unroll")) > 0);
}

// A large sheet is drawn as coarse tiles, so drawing a part of it costs no more than drawing a part of a small sheet.
{
  const { coarseOf, leastOf, meansOf, tilesOf } = await load("web/page/src/figures/step_coarse.ts");
  const c = coarseOf({ count: 1, rows: 5, cols: 7 }, 3);
  assert.deepEqual(c, { rows: 2, cols: 3, down: 3, across: 3 });
  assert.deepEqual([...tilesOf(c, 7, [0, 1, 7, 6, 34])], [0, 2, 8]);
  const { tiles, least } = leastOf(c, 7, [34, 0, 8], [5, 9, 4]);
  assert.deepEqual([[...tiles], [...least]], [[0, 8], [4, 5]]);
  const means = meansOf(c, 7, Float64Array.from({ length: 35 }, (_, i) => (i < 7 ? -2 : i < 14 ? NaN : 1)));
  assert.deepEqual([...means], [2, 2, 2, 1, 1, 1, 1, 1, 1]);
  const stepper = new Stepper(traced("kernels/sgemm/naive.tile", "--set m=32,n=32,k=600 --fill rand"));
  const last = stepper.picture(stepper.trace.count - 1, 760);
  const whole = last.panels.find((p) => p.name === "A");
  assert.ok(whole.layers.find((l) => l.kind === "block").d.length < 100, "one rectangle");
}
