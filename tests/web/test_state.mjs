// Tests the state of the page without a browser: questions and their answers, links, and the comparison of two runs line by line.
import { deepStrictEqual as same, strictEqual as equal, ok } from "node:assert";
import { deflateSync } from "node:zlib";
import { load } from "./typescript.mjs";

const { Slot } = await load("web/page/src/app/slot.svelte.ts");
const { everyType, runArgs } = await load("web/page/src/app/asks.ts");
const { Refused, Stopped } = await load("web/page/src/app/engine.ts");
const { fromFragment, toFragment } = await load("web/page/src/app/share.ts");
const { heatOf, linesBefore } = await load("web/page/src/app/heat_of.ts");
const { closedForm } = await load("web/page/src/figures/traffic.ts");
const { newsOf } = await load("web/page/src/app/news.ts");
const { applyFix } = await load("web/page/src/app/fixes.ts");

// --- values of parameters ---
{
  const parameters = [["n", "i32"], ["causal", "bool"], ["scale", "f32"], ["alpha", "T"]].map(([name, type]) => ({ name, type, array: false }));
  const kernel = { kernel: "k", parameters, tune: [], types: [], ensures: false };
  const set = (sizes) => {
    const args = runArgs({ file: "k.tile", kernel, sizes, tune: {}, types: {}, seed: 1, block: [0, 0, 0] });
    return args.filter((_, i) => args[i - 1] === "--set");
  };
  same(set({}), ["n=64", "causal=true", "scale=1", "alpha=1"]);
  const linked = fromFragment("kernel=tiled&set=n:8,causal:false,scale:0.125,alpha:-2e3");
  same(set(linked.sizes), ["n=8", "causal=false", "scale=0.125", "alpha=-2000"]);
  same(set(fromFragment(toFragment({ mode: "bench", file: "k.tile", source: "", sizes: { causal: "false", scale: "1e-3" } })).sizes), ["n=64", "causal=false", "scale=1e-3", "alpha=1"]);
  same(set({ n: "x", causal: 0, scale: "", alpha: "x" }), ["n=64", "causal=false", "scale=1", "alpha=1"]);
}

// --- questions ---

/** Returns a question that the test answers by hand; when stopped, it ends as the engine's questions do. */
function question() {
  const q = { asked: 0 };
  q.work = (signal) => {
    q.asked++;
    return new Promise((resolve, reject) => {
      q.answer = resolve;
      q.refuse = () => reject(new Refused(2, "refused", ""));
      signal.addEventListener("abort", () => ((q.stopped = true), reject(new Stopped())));
    });
  };
  return q;
}
const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

{
  const slot = new Slot("test", "an answer", { grace: 0 });
  const [a, b] = [question(), question()];
  slot.ask("a", a.work);
  slot.ask("a", a.work); // the same question again: the first is not stopped
  await turn();
  await turn();
  equal(a.asked, 1);
  ok(!a.stopped);
  a.answer("A");
  await turn();
  same([slot.value, slot.stale, slot.busy], ["A", false, false]);

  slot.ask("b", b.work);
  same([slot.value, slot.stale, slot.busy], ["A", true, true]);
  slot.ask("a", a.work); // the first question again: its answer is known, and b is stopped
  await turn();
  await turn();
  ok(b.stopped);
  same([slot.value, slot.stale, slot.busy, a.asked], ["A", false, false, 1]);
}
{
  const slot = new Slot("test", "an answer", { grace: 1000 });
  const [a, b] = [question(), question()];
  slot.ask("a", a.work);
  slot.ask("b", b.work);
  a.refuse(); // a is not the newest question, so its problem is not shown
  await turn();
  same([slot.problem, slot.busy, b.asked], [null, true, 1]);
  b.answer("B");
  await turn();
  slot.outdate();
  same([slot.value, slot.stale], ["B", true]);
  slot.ask("c", question().work);
  slot.outdate();
  await turn();
  same([slot.value, slot.stale, slot.busy], ["B", true, false]);
}
{
  const slot = new Slot("test", "an answer", { grace: 0, sizeOf: (v) => v.length, room: 10 });
  let asked = 0;
  const get = async (key, value) => {
    slot.ask(key, async () => (asked++, value));
    await turn();
    equal(slot.value, value);
  };
  await get("a", "1234");
  await get("b", "12345");
  await get("a", "1234");
  equal(asked, 2);
  await get("c", "123456789012"); // more than the room for answers: the slot keeps this answer alone
  await get("c", "123456789012");
  equal(asked, 3);
  await get("a", "1234");
  equal(asked, 4);
}

// --- messages as texts for a screen reader ---

{
  const at = (line, text) => ({ line, text });
  const race = at(17, "`as` is read here while other threads may still be writing it.");
  equal(newsOf([], []), "");
  equal(newsOf([], [race]), "1 message. New: line 17: as is read here while other threads may still be writing it.");
  equal(newsOf([race], [{ ...race, line: 18 }]), "", "it has moved with its line");
  equal(newsOf([race], [at(3, "unknown name 'x'"), race]), "2 messages. New: line 3: unknown name 'x'.");
  equal(newsOf([race], [race, race, at(null, "stopped")]), "3 messages. New: line 17: as is read here while other threads may still be writing it; 1 more is new.");
  equal(newsOf([race, at(1, "a")], [race]), "1 message left.");
  equal(newsOf([race], []), "No mistakes found.");
}

// --- links ---

const whole = {
  mode: "puzzle",
  file: "köln 矩.tile",
  source: "// <script>alert(1)</script> 矩陣\r\n\tkernel k() {}\n",
  kernel: "k",
  sizes: { m: 3, n: 5 },
  tune: { T: 16, D: -1 },
  types: { T: "f16" },
  launch: { kernel: "k", grid: "2x3", block: "128", args: ["f32[8]:rand", "=0"] },
  device: "h100 pcie",
  scale: 2048,
  seed: 0,
  landing: "late",
  fill: "iota",
  case: [14, 2],
  watch: true,
  block: [1, 2, 0],
  event: 412,
  line: 17,
  lesson: 2,
  puzzle: 14,
  answer: "kernel k() {}\n",
  embed: "step",
  card: "race",
};
same(fromFragment(toFragment(whole)), whole);

const link = (state) => "1" + deflateSync(JSON.stringify(state)).subarray(2, -4).toString("base64url");
same(fromFragment(link(whole)), whole);
const wrong = {
  mode: "other",
  file: 5,
  source: {},
  kernel: [],
  sizes: "m",
  tune: { T: "16 --x" },
  types: 1,
  launch: { kernel: "k" },
  device: "<b>",
  scale: 0,
  seed: 1.5,
  landing: "soon",
  fill: "ones",
  case: [14, -1],
  watch: 1,
  block: [1],
  event: -1,
  line: 0,
  lesson: null,
  puzzle: "1",
  answer: 5,
  embed: 1,
  card: {},
  constructor: 1,
  __proto__: { x: 1 },
};
same(fromFragment(link(wrong)), {});
for (const broken of ["", "1", "1!!", "1AAAA", "0", "0e30x", "step", "%", link(null), link([1]), link("x")])
  same(Object.keys(fromFragment(broken) ?? {}), [], broken);
same(fromFragment("line=0&event=x&seed=-1&block=a&set=m:z&device=abacus&lesson=q"), { mode: "lesson" });
same(fromFragment("case=14:2"), { case: [14, 2] });
same(fromFragment("case=14"), {});
same(fromFragment("set=m:32,n:48&tune=T:16&type=T:f16&block=1,0&line=17"), {
  sizes: { m: 32, n: 48 },
  tune: { T: 16 },
  types: { T: "f16" },
  block: [1, 0, 0],
  line: 17,
});

// --- questions as command lines ---

// A type chosen for all variables applies to each variable that can have it, of any name; a variable's own entry takes precedence.
const variables = [
  { name: "E", choices: ["f32", "f16"] },
  { name: "S", choices: ["f32", "i32"] },
];
const typed = (types) => {
  const kernel = { kernel: "k", ensures: false, thread_level: true, parameters: [], tune: [], types: variables };
  const args = runArgs({ file: "k.tile", kernel, sizes: {}, tune: {}, types, seed: 1, block: [0, 0, 0], device: "h200", scale: 64 });
  return args.filter((_, i) => args[i - 1] === "--type");
};
same(typed({ [everyType]: "f16" }), ["E=f16"]);
same(typed({ [everyType]: "f32", S: "i32", T: "f16" }), ["E=f32", "S=i32"]);
same(typed({}), []);

// --- comparison of the lines of two runs ---

const lines = (...list) => list.map((l) => l + "\n").join("");
const before = lines("a", "b", "c", "d");
same([...linesBefore(before, lines("a", "c", "x", "d"))].filter(([n]) => n < 5), [
  [1, 1],
  [2, 3],
  [4, 4],
]);
same(linesBefore(before, lines("a", "B", "c", "d")).get(2), 2);

const ran = (source, sectors, file = "k.tile") => ({
  file,
  source,
  run: { counters: { lines: sectors.map(([line, n]) => ({ file: "k.tile", line, global_sectors: n })) } },
});
const older = ran(lines("load", "sync", "store"), [
  [1, 10],
  [3, 40],
]);
const newer = ran(lines("load", "store", "more"), [
  [1, 10],
  [2, 10],
  [3, 5],
]);
same(
  [...heatOf(newer, older, "global_sectors")].map(([line, h]) => [line, h.change]),
  [
    [1, ""],
    [2, "−75 %"],
    [3, "new"],
  ],
);
ok([...heatOf(newer, { ...older, file: "other.tile" }, "global_sectors").values()].every((h) => h.change === ""));

// --- fixes: columns count bytes ---

equal(applyFix("é\t矩 x\ny\n", [{ line: 1, column: 8, insert: "ü", delete: 1 }]), "é\t矩 ü\ny\n");
equal(applyFix("a", [{ line: 9, column: 3, insert: ";" }]), "a;");
// --- the formula for tiled loads ---

same(
  closedForm([{ value: 8, loads: 2 * 64 ** 3 / 2 }, { value: 16, loads: 2 * 64 ** 3 / 4 + 1000 }], 64, [4, 4]), // prettier-ignore
  [2 ** 18, 2 ** 17],
);
equal(closedForm([{ value: 8, loads: 1e6 }, { value: 16, loads: 1e6 }], 64, [4, 4]), null); // prettier-ignore
console.log("ok");
