// Plays one run of Step by keyboard alone and writes what a screen reader announces: the focused element's name, role, state and value from
// the accessibility tree, and the texts of the live region. tests/web/page/step_spoken.txt holds the whole of it.
//
//     test_step_spoken.mjs TILEWRIGHT --bless    writes the file: read it aloud
import { readFileSync, writeFileSync } from "node:fs";
import { ok, root, setText, settled, test } from "./browser.mjs";

const file = root + "tests/web/page/step_spoken.txt";

await test(async ({ open }) => {
  const page = await open({ path: "#kernel=tiled" });
  await setText(page, readFileSync(root + "kernels/sgemm/tiled.tile", "utf8").replace("{32, 16, 8}", "{2}"));
  for (const [name, value] of [["m", "2"], ["n", "2"], ["k", "6"]]) {
    await page.getByLabel(name, { exact: true }).fill(value);
    await page.keyboard.press("Enter");
  }
  await settled(page);

  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Accessibility.enable");
  let within = "";
  async function focused() {
    const { nodes } = await devtools.send("Accessibility.getFullAXTree");
    const of = (node, name) => node.properties?.find((p) => p.name === name)?.value.value;
    const node = nodes.filter((n) => of(n, "focused")).at(-1);
    const words = [node.name?.value || "(no name)", node.role.value];
    if (of(node, "pressed") === "true") words.push("pressed");
    if (of(node, "expanded") !== undefined) words.push(of(node, "expanded") ? "open" : "closed");
    // The browser's accessibility tree does not hold aria-valuetext, so it is read from the element.
    const valueText = await page.evaluate(() => document.activeElement.getAttribute("aria-valuetext"));
    if (valueText ?? node.value) words.push(valueText ?? node.value.value);
    // A screen reader announces a group when the focus enters it.
    let group = node;
    do group = nodes.find((n) => n.nodeId === group.parentId);
    while (group && !(group.role?.value === "group" && group.name?.value));
    const entered = group && group.name.value !== within ? `${group.name.value}, group; ` : "";
    within = group?.name.value ?? "";
    return entered + words.join(", ");
  }

  // Records the texts of the card’s live region, each with its time.
  await page.evaluate(() => {
    const heard = (globalThis.heard = []);
    const region = document.querySelector("#step [aria-live]");
    new MutationObserver(() => heard.push({ text: region.textContent, at: performance.now() })).observe(region, {
      childList: true,
      characterData: true,
      subtree: true,
    });
  });
  const log = [];
  let told = 0;
  async function press(key, times = 1) {
    for (let i = 0; i < times; i++) await page.keyboard.press(key);
    await page.waitForTimeout(1300);
    log.push(`${key}${times > 1 ? `, ${times} times` : ""}: ${await focused()}`);
    const heard = await page.evaluate(() => globalThis.heard);
    for (const { text } of heard.slice(told)) log.push(`    says: ${text}`);
    told = heard.length;
  }

  // The run begins at the names of the cards, the last stop of Tab before the cards.
  await page.getByRole("navigation", { name: "Cards" }).getByRole("button").last().focus();
  await page.waitForTimeout(1300);
  told = (await page.evaluate(() => globalThis.heard)).length;
  for (let i = 0; i < 30 && !log.at(-1)?.includes("Event, slider"); i++) await press("Tab");
  ok("the keyboard comes to the events", log.at(-1).includes("Event, slider"), log.join("\n"));
  await press("ArrowRight");
  await press("ArrowRight");
  await press("ArrowLeft");
  await press("Shift+ArrowRight");
  await press("Shift+ArrowRight");
  await press("Alt+ArrowRight");
  await press("Alt+ArrowRight");
  await press("ArrowRight", 30);
  await press("End");
  await press("Home");
  await press("Tab");
  await press("ArrowRight");
  await press("ArrowDown");
  await press("Shift+Tab");
  const text = log.join("\n") + "\n";
  if (process.argv.includes("--bless")) writeFileSync(file, text);
  else {
    const wanted = readFileSync(file, "utf8");
    ok(`${file} (--bless writes it)`, text === wanted, `\n${text}`);
  }

  // While Step plays, the live region announces changes, at most once a second.
  await page.keyboard.press("Space");
  await page.waitForFunction((n) => globalThis.heard.length >= n + 4, told, { timeout: 40000 });
  await page.keyboard.press("Space");
  const heard = await page.evaluate(() => globalThis.heard);
  for (const [i, { text, at }] of heard.entries()) {
    ok("words of the state", /^(Step \d of \d, (load|sync|compute)|After the loop, (store|load|sync|compute)); reuse [\d.]+$/.test(text), text);
    if (i) ok("at most one a second", at - heard[i - 1].at > 980, `${at - heard[i - 1].at} ms before “${text}”`);
  }
});
