// Checks that Step and Copies draw every shipped kernel and every puzzle's solution, wide and narrow, without NaN or infinite numbers.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { load, root } from "./typescript.mjs";
import { json, traced } from "./traces.mjs";

const { Stepper } = await load("web/page/src/figures/step_picture.ts");
const { AsyncTimeline } = await load("web/page/src/figures/async_timeline.ts");
const { sentence, stateText } = await load("web/page/src/figures/step_words.ts");
const { runArgs } = await load("web/page/src/app/asks.ts");

const files = (folder, end) => readdirSync(root + folder, { recursive: true, encoding: "utf8" }).filter((f) => f.endsWith(end)).map((f) => `${folder}/${f}`).sort();

let drawn = 0;
for (const file of [...files("kernels", ".tile"), ...files("puzzles", "solution.tile")]) {
  const kernel = json("show", file, "--kernels")[0];
  const configuration = { file, kernel, sizes: {}, tune: {}, types: {}, seed: 1, block: [0, 0, 0], device: "h200", scale: 64 };
  const options = runArgs(configuration).slice(2);
  let trace;
  try {
    trace = traced(file, options.slice(2, options.indexOf("--counters")).join(" "));
  } catch {
    continue; // the kernel needs a value from the reader, or another GPU
  }
  const stepper = new Stepper(trace);
  const timeline = new AsyncTimeline(trace);
  assert.ok(timeline.groups.every((g) => g.issue < trace.count), file);
  for (let n = 0; n < 20; n++) {
    const e = Math.floor((n * trace.count) / 20);
    assert.match(sentence(stepper, e), /^Warp \d+, lanes? .*: .+\.$/, file);
    assert.match(stateText(stepper, e), /load|sync|compute|store/, file);
    for (const width of [760, 288]) {
      const picture = stepper.picture(e, width);
      assert.ok(picture.height > 0 && picture.height < 4000, `${file}: ${picture.height} high`);
      for (const p of picture.panels) {
        assert.ok(p.x >= 0 && p.y >= 0 && p.w > 0 && p.h > 0, `${file}: ${p.key}`);
        assert.ok(p.x + p.w * p.cols <= width + 1, `${file}: ${p.key} ends at ${p.x + p.w * p.cols} of ${width}`);
        for (const l of p.layers) assert.doesNotMatch(l.d, /NaN|undefined|Infinity/, `${file}: ${p.key} ${l.kind}`);
      }
    }
  }
  drawn++;
}
assert.ok(drawn > 40, `${drawn} kernels`);
