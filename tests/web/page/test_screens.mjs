// Checks that the page looks like its reference pictures (tests/web/page/screens, a quarter of the size): light, dark, and 320 pixels wide.
// The comparison is coarse, because fonts differ by machine. It finds a missing card, and a broken theme or layout.
//
//     test_screens.mjs TILEWRIGHT --bless    writes the pictures: look at each
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { ok, root, settled, test } from "./browser.mjs";

const folder = root + "tests/web/page/screens/";
const bless = process.argv.includes("--bless");
const shots = [
  ["bench", "#kernel=tiled", 1440, 2400],
  ["bench", "#kernel=tiled", 320, 2400],
  ["puzzle", "#puzzle=14", 1440, 900],
  ["puzzle", "#puzzle=14", 320, 1800],
  ["lesson", "#lesson=2", 1440, 900],
  ["lesson", "#lesson=2", 320, 900],
];
const most = 0.06; // largest mean difference of a colour; 1 is that of black and white

/** Returns the picture at a quarter of its size, and its mean difference from the other picture of that size. */
async function shrink(canvas, png, other) {
  return canvas.evaluate(
    async ([png, other]) => {
      const load = async (data) => createImageBitmap(await (await fetch(`data:image/png;base64,${data}`)).blob());
      const image = await load(png);
      const [w, h] = [image.width >> 2, image.height >> 2];
      const draw = (bitmap, width, height) => {
        const c = Object.assign(document.createElement("canvas"), { width, height });
        const context = c.getContext("2d");
        context.drawImage(bitmap, 0, 0, width, height);
        return c;
      };
      const small = draw(image, w, h);
      const result = { png: small.toDataURL("image/png").split(",")[1], difference: null };
      if (other) {
        const pixels = (c) =>
          draw(c, 40, Math.round((40 * h) / w))
            .getContext("2d")
            .getImageData(0, 0, 40, Math.round((40 * h) / w)).data;
        const [a, b] = [pixels(small), pixels(await load(other))];
        result.difference = a.reduce((sum, v, i) => sum + Math.abs(v - b[i]), 0) / a.length / 255;
      }
      return result;
    },
    [png, other],
  );
}

await test(async ({ open, browser }) => {
  mkdirSync(folder, { recursive: true });
  const canvas = await browser.newPage();
  for (const scheme of ["light", "dark"])
    for (const [name, path, width, height] of shots) {
      const page = await open({ path, width, height, scheme });
      await settled(page);
      const png = (await page.screenshot()).toString("base64");
      const file = `${folder}${name}-${width}-${scheme}.png`;
      const known = existsSync(file) && !bless ? readFileSync(file).toString("base64") : null;
      const small = await shrink(canvas, png, known);
      if (bless) writeFileSync(file, Buffer.from(small.png, "base64"));
      else {
        if (small.difference > most) writeFileSync(`${file.replace(/\.png$/, "")}.seen.png`, Buffer.from(small.png, "base64"));
        ok(
          `${file}: differs by ${small.difference}, more than ${most}; look at the new picture, .seen.png in the same folder.`,
          known && small.difference <= most,
        );
      }
      await page.context().close();
    }
});
