// Tests the timeline of asynchronous copies on traces: its depth is the simulator's, and if one wait is missing it shows reads before the
// copies land.
import assert from "node:assert/strict";
import { load } from "./typescript.mjs";
import { edited, json, traced } from "./traces.mjs";

const { NO_EVENT } = await load("web/engine/trace.ts");
const { AsyncTimeline } = await load("web/page/src/figures/async_timeline.ts");
const product = "--type T=f16 --set m=128,n=128,k=128 --fill rand";

// Each run has one block, so that the trace of the block has all that the counters count.
for (const [file, options, depth] of [
  ["kernels/matmul/async.tile", "", 0],
  ["kernels/matmul/async.tile", "--copies late", 0],
  ["kernels/matmul/stages.tile", "--tune STAGES=3", 2],
  ["kernels/matmul/stages.tile", "--tune STAGES=3 --copies late", 2],
  ["kernels/matmul/stages.tile", "--tune STAGES=5", 4],
]) {
  const timeline = new AsyncTimeline(traced(file, `${product} ${options}`));
  const { counters } = json("run", file, "--device sim --counters", `${product} ${options}`);
  assert.equal(timeline.depth, depth, `${file} ${options}`);
  assert.equal(timeline.depth, counters.async_depth, `${file} ${options}: depth`);
  assert.equal(Math.floor(timeline.overlap), counters.async_overlap, `${file} ${options}: bytes under way during compute`);
  assert.equal(timeline.groups.reduce((s, g) => s + g.copies, 0), counters.async_copies, `${file} ${options}: copies`);
  assert.ok(timeline.groups.every((g) => g.tooEarly === NO_EVENT), `${file} ${options}: each wait comes first`);
  for (const g of timeline.groups) assert.ok(g.issue <= g.land && g.land <= g.wait, `${file} ${options}: group ${g.number} lands in time`);
}

// The copies go to the stages of the ring in turn.
{
  const timeline = new AsyncTimeline(traced("kernels/matmul/stages.tile", `${product} --tune STAGES=3`));
  assert.equal(timeline.stages, 3);
  assert.deepEqual(timeline.of(0).slice(0, 5).map((g) => g.stage), [0, 1, 2, 0, 1]);
}

// If one group more may be under way, a group is read before the wait for it.
{
  const file = edited("kernels/matmul/stages.tile", "async_wait(STAGES - 2)", "async_wait(STAGES - 1)");
  for (const copies of ["early", "late"]) {
    const timeline = new AsyncTimeline(traced(file, `${product} --copies ${copies}`));
    const early = timeline.groups.filter((g) => g.tooEarly !== NO_EVENT);
    assert.ok(early.length > 0, copies);
    assert.ok(early.every((g) => g.issue < g.tooEarly && (g.wait === NO_EVENT || g.tooEarly < g.wait)));
    if (copies === "late") assert.ok(early.some((g) => g.tooEarly < g.land), "the bytes have not landed");
  }
}
