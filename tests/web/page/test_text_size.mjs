// Tests text at 200 %, with the browser's font size doubled and with its zoom at 200 %: all text grows, also in figures; no text is cut
// off, overlaps another, or is out of reach.
import { readFileSync } from "node:fs";
import { equal, ok, root, setText, settled, test } from "./browser.mjs";

/** Returns the problems of the texts in an element: too small, cut off by a box that does not scroll, or written over another text. */
function problems(element, least) {
  const found = [];
  const texts = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    const said = node.textContent.trim();
    if (!said || parent.closest("style, script, title, option, .unseen, [aria-hidden=true], .skip, .cm-editor, defs")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const style = getComputedStyle(parent);
    if (!parent.checkVisibility({ visibilityProperty: true })) continue;
    const scale = parent.ownerSVGElement ? parent.ownerSVGElement.getScreenCTM().a : 1;
    const size = parseFloat(style.fontSize) * scale;
    if (size < least - 0.1) found.push(`${size.toFixed(1)} px: “${said}”`);
    for (const box of range.getClientRects()) {
      if (box.width < 1 || box.height < 1) continue;
      let { left, right, top, bottom } = box;
      for (let e = parent; e && e !== document.body; e = e.parentElement) {
        const { overflowX, overflowY } = getComputedStyle(e);
        if (overflowX === "visible" && overflowY === "visible") continue;
        if (e.ownerSVGElement || e instanceof SVGElement) continue;
        const frame = e.getBoundingClientRect();
        const cut = /hidden|clip/;
        if (cut.test(overflowX) && (left < frame.left - 1.5 || right > frame.right + 1.5)) found.push(`cut off sideways: “${said}”`);
        if (cut.test(overflowY) && bottom > top && (top < frame.top - 3 || bottom > frame.bottom + 3)) found.push(`cut off: “${said}”`);
        const scrolls = /auto|scroll/;
        if (scrolls.test(overflowX)) [left, right] = [Math.max(left, frame.left), Math.min(right, frame.right)];
        if (scrolls.test(overflowY)) [top, bottom] = [Math.max(top, frame.top), Math.min(bottom, frame.bottom)];
      }
      if (right - left < 1 || bottom - top < 1) continue; // the reader can scroll to it
      if (right > innerWidth + 1) found.push(`out of reach: “${said}”`);
      // Rotated text is left out of the overlap check, because its box is much larger than the text.
      const matrix = parent.getScreenCTM?.();
      if (!matrix || Math.abs(matrix.b) < 0.01) texts.push({ said, node, left, right, top, bottom, high: box.height });
    }
    // If an SVG cuts off its contents at its frame, text outside the frame is invisible.
    const svg = parent.ownerSVGElement;
    if (svg && getComputedStyle(svg).overflow !== "visible") {
      const frame = svg.getBoundingClientRect();
      const box = parent.getBoundingClientRect();
      if (box.left < frame.left - 2 || box.right > frame.right + 2 || box.top < frame.top - 2 || box.bottom > frame.bottom + 2)
        found.push(`beyond its figure: “${said}”`);
    }
  }
  texts.forEach((a, i) => {
    for (const b of texts.slice(i + 1)) {
      if (a.node === b.node || a.node.parentElement.contains(b.node) || b.node.parentElement.contains(a.node)) continue;
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 3 && high > Math.min(a.high, b.high) * 0.35) found.push(`“${a.said}” is over “${b.said}”`);
    }
  });
  return [...new Set(found)].slice(0, 12);
}

const racy = (text) =>
  text
    .split("\n")
    .filter((_, i) => i !== 15)
    .join("\n");

/** Returns the problems of the texts in each card and bar. */
async function check(what, page, least) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  const wrong = wide > 0 ? [`${what}: ${wide} pixels wider than the window`] : [];
  for (const part of await page.locator("header:has(h1), .left, .cards > section, .lesson > *, .map, .puzzle > *").all()) {
    const name = (await part.getAttribute("id")) ?? (await part.getAttribute("class"));
    for (const p of await part.evaluate(problems, least)) wrong.push(`${what}, ${name}: ${p}`);
  }
  return wrong;
}

await test(async ({ open }) => {
  const tiled = readFileSync(root + "kernels/sgemm/tiled.tile", "utf8");
  const wrong = [];
  const states = [
    ["tiled, edited", "#kernel=tiled", tiled.replace("f32 sum = 0;", "f32 sum = 0; // edited")],
    ["a race", "#kernel=tiled", racy(tiled)],
    ["stages", "#kernel=stages", null],
    ["lesson", "#lesson=2", null],
    ["puzzle", "#puzzle=14", null],
  ];
  for (const [name, path, text] of states) {
    const page = await open({ path });
    if (text) await setText(page, text);
    for (const card of await page.locator(".cards > section").all()) {
      await card.scrollIntoViewIfNeeded(); // some cards compute only when they are in sight
      await settled(page);
    }
    const devtools = await page.context().newCDPSession(page);
    // At a zoom of 200 % the window is half as many pixels wide and high, and each pixel is twice as large.
    for (const [how, size, width, height] of [
      ["text of 200 %, 1440 pixels", 32, 1440, 900],
      ["text of 200 %, 640 pixels", 32, 640, 900],
      ["zoom of 200 %, 1440 pixels", 16, 720, 450],
      ["zoom of 200 %, 640 pixels", 16, 320, 450],
    ]) {
      await devtools.send("Page.setFontSizes", { fontSizes: { standard: size, fixed: (size * 13) / 16 } });
      await page.setViewportSize({ width, height });
      await settled(page);
      equal("the root's size of text", await page.evaluate(() => getComputedStyle(document.documentElement).fontSize), `${size}px`);
      wrong.push(...(await check(`${name}, ${how}`, page, (size * 13) / 16)));
    }
    await page.context().close();
  }
  ok("texts", !wrong.length, "\n" + wrong.join("\n"));
});
