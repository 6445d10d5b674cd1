// Tests the path of a value, built from the output of `run --why`: its steps are grouped by turns, each step has its event, and a race is
// on the path.
import assert from "node:assert/strict";
import { load } from "./typescript.mjs";
import { edited, json, traced } from "./traces.mjs";

const { StepIndex } = await load("web/page/src/figures/step_index.ts");
const { marksOf, pathOf, ranges, SCRATCH, valueWritten, writeEvent } = await load("web/page/src/figures/why_path.ts");

function wayOf(file, options, element, block = "0,0,0") {
  const trace = traced(file, options, block);
  const { why } = json("run", file, "--device sim --despite race", options, `--why ${element}`);
  assert.equal(why.block.join(), block);
  const shared = (name) => name === SCRATCH || trace.head.shared.some((v) => v.name === name);
  return { trace, why, path: pathOf(why, new StepIndex(trace), shared) };
}
const texts = (turn) => turn.nodes.map((n) => `${n.kind} ${n.text}`);

// 2 × 2 × 6: 12 reads and 6 products; each of the three turns has four reads and two products.
{
  const { trace, why, path } = wayOf("kernels/sgemm/tiled.tile", "--tune T=2 --set m=2,n=2,k=6 --fill iota", "c[0][1]");
  assert.deepEqual([why.shared_reads, why.products], [12, 6]);
  assert.equal(valueWritten(trace, 2, 1), 125);
  assert.deepEqual(path.turns.map((t) => t.turn), [0, 1, 2]);
  assert.deepEqual(texts(path.turns[1]).sort(), [
    "global a[0][2…3]", "global b[2…3][1]", "into as[0][0…1]", "into bs[0…1][1]", "products 2 products", "shared as[0][0…1]", "shared bs[0…1][1]",
  ]);
  for (const step of why.path) {
    assert.ok(step.event !== null && trace.warp[step.event] === step.warp, `${step.kind} at ${step.time} has an event`);
    assert.equal(trace.kindOf(step.event), step.kind);
  }
  assert.deepEqual([...marksOf(why, trace).get("a")], [0, 1, 2, 3, 4, 5]);
  assert.deepEqual([...marksOf(why, trace).get("b")], [1, 3, 5, 7, 9, 11]);
}

// A copy that is under way for several turns belongs to the turn that multiplies its data; the path goes through matrix units.
{
  const { why, path } = wayOf("kernels/matmul/stages.tile", "--type T=f16 --set m=64,n=64,k=64 --fill rand", "c[3][5]");
  assert.equal(why.products, 64);
  const turns = path.turns.filter((t) => t.turn !== null);
  assert.equal(turns.length, 4);
  turns.forEach((t, i) => {
    for (const text of [`global a[3][${16 * i}…${16 * i + 15}]`, `global b[${16 * i}…${16 * i + 15}][5]`, "products 16 products"]) assert.ok(texts(t).includes(text), text);
  });
}

// Without the first barrier, the path holds the two accesses that race.
{
  const file = edited("kernels/sgemm/tiled.tile", "        sync();\n        unroll", "        unroll");
  const { trace, why } = wayOf(file, "--tune T=16 --set m=16,n=16,k=16 --fill ones", "c[15][15]");
  const race = why.path.find((s) => s.races !== null);
  assert.ok(race, "a step races");
  assert.equal(trace.siteOf(race.races).space, "shared");
  assert.notEqual(trace.warp[race.races], race.warp);
}

// The path goes on in another block, at the write that it names.
{
  const options = "--set m=64,n=64,k=128 --fill rand";
  const { why } = json("run", "kernels/matmul/split_k.tile", "--device sim", options, "--why c[5][7]");
  const writer = why.path.flatMap((s) => s.writers).at(-1);
  const trace = traced("kernels/matmul/split_k.tile", options, writer.block.join());
  const event = writeEvent(trace, writer.write);
  assert.deepEqual([trace.siteOf(event).line, trace.warp[event]], [writer.line, writer.warp]);
}

assert.equal(ranges(["a[0][0]", "a[0][1]", "a[1][0]", "a[1][1]"]), "a[0…1][0…1]");
assert.equal(ranges(["a[0]", "a[2]"]), "a[0], a[2]");
assert.equal(ranges(["shared memory, byte 4"]), "scratch[4]");
