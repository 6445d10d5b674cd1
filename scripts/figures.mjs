#!/usr/bin/env node
// Writes docs/figures: the pictures of `<!-- figure: NAME FILE NAME=VALUE… -->` in README.md, docs/suite.md and docs/tutorial.
//
//     node scripts/figures.mjs [TILEWRIGHT]             writes the pictures, and their names into the Markdown
//     node scripts/figures.mjs [TILEWRIGHT] --check     status 1 if one differs from the program's; 77 without web/node_modules
//     node scripts/figures.mjs [TILEWRIGHT] PAGE.md     those of one page, into the folder `figures` next to it
//
// A picture is the figure of the page (web/page/src/figures) with the numbers of the native program. `as=NAME` among the words of a comment
// names its file; by default the name is made of the figure's and the kernel's. Its colours are those of the page, light and dark.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const check = process.argv.includes("--check");
const words = process.argv.slice(2).filter((a) => !a.startsWith("--"));
const onePage = words.find((a) => a.endsWith(".md"));
const program = words.find((a) => a !== onePage) ?? join(root, "build/tilewright");
const folder = onePage ? join(dirname(resolve(onePage)), "figures") : "docs/figures";

if (!existsSync(join(root, "web/node_modules"))) {
  console.log("skipped: web/node_modules is not there (npm ci in web)");
  process.exit(77);
}

/** Starts Vite with the page's components; each renders with its own style sheet. */
async function figures() {
  const require = createRequire(join(root, "web/package.json"));
  const from = (name) => import(pathToFileURL(require.resolve(name)));
  const [{ createServer }, { svelte }] = [await from("vite"), await from("@sveltejs/vite-plugin-svelte")];
  const server = await createServer({
    root: join(root, "web/page"),
    configFile: false,
    logLevel: "error",
    appType: "custom",
    plugins: [svelte({ configFile: false, compilerOptions: { css: "injected" } })],
    resolve: { alias: { $engine: join(root, "web/engine") } },
    server: { middlewareMode: true, hmr: false, ws: false, watch: null },
    optimizeDeps: { noDiscovery: true },
  });
  const load = (path) => server.ssrLoadModule(path);
  return {
    pictures: (await load("/src/figures/pictures.ts")).pictures,
    readFigure: (await load("/src/figures/asked.ts")).readFigure,
    Trace: (await load("$engine/trace.ts")).Trace,
    end: () => server.close(),
  };
}

function toolFor(Trace) {
  const run = (args) => execFileSync(program, args, { cwd: root, encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "inherit"] });
  return {
    json: (args) => JSON.parse(run([...args, "--json"])),
    trace(args) {
      const place = mkdtempSync(join(tmpdir(), "figures"));
      try {
        run([...args, "--device", "sim", "--trace", join(place, "trace")]);
        return new Trace(new Uint8Array(readFileSync(join(place, "trace"))));
      } finally {
        rmSync(place, { recursive: true });
      }
    },
    read: (path) => readFileSync(join(root, path), "utf8"),
  };
}

/** Returns the page's colours that the picture uses, in both themes. */
function colours(used) {
  const theme = readFileSync(join(root, "web/page/src/app/theme.css"), "utf8");
  const block = (selector) => theme.slice(theme.indexOf(`\n${selector} {`)).match(/\{([^}]*)\}/)[1];
  const list = (text) => [...text.matchAll(/(--[\w-]+): ([^;]+);/g)].filter(([, name]) => used.has(name)).map(([, name, value]) => `${name}:${value}`).join(";");
  const light = list("\n" + block(":root").replace(/^/, "\n"));
  const dark = list(block('[data-theme="dark"]'));
  return `:root{${light}}@media (prefers-color-scheme:dark){:root{${dark}}}`;
}

const margin = 16;

/** Returns the picture as one file that needs no other, for an <img>. */
function standing(name, picture) {
  let { svg, style } = picture;
  for (const [, id] of svg.matchAll(/ id="([^"]*)"/g)) {
    // Several pictures may be in one page: each has ids of its own.
    svg = svg.replaceAll(`"${id}"`, `"${name}-${id}"`).replaceAll(`#${id})`, `#${name}-${id})`);
    style = style.replaceAll(`#${id})`, `#${name}-${id})`).replaceAll(`#${id}"`, `#${name}-${id}"`);
  }
  const [, , width, height] = /viewBox="([\d.]+) ([\d.]+) ([\d.]+) ([\d.]+)"/.exec(svg).slice(1).map(Number);
  // The style sheet ends with a comment that names files of this machine.
  const text = style.replace(/\/\*.*?\*\//gs, "").replace(/\s+/g, " ").trim();
  const used = new Set((text + svg).match(/--[\w-]+/g));
  used.add("--sheet");
  const [w, h] = [width + 2 * margin, height + 2 * margin];
  const head = svg
    .slice(0, svg.indexOf(">"))
    .replace("<svg", `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}"`)
    .replace(/viewBox="[^"]*"/, `viewBox="${-margin} ${-margin} ${w} ${h}"`);
  const body = svg
    .slice(svg.indexOf(">") + 1)
    .replace(/\d+\.\d{3,}/g, (v) => String(Number(Number(v).toFixed(2))))
    .replace(/\s*\n\s*/g, " ")
    .replace(/ (?=<|$)/g, "")
    .replace(/<(\w+)([^<>]*)><\/\1>/g, "<$1$2/>")
    .replaceAll("><", ">\n<");
  return `${head}>\n<style data-colours="">${colours(used)}</style>\n<style>${text}</style>\n<rect class="sheet" x="${-margin}" y="${-margin}" width="${w}" height="${h}" fill="var(--sheet)"/>\n${body.trim()}\n`;
}

const comment = /^<!-- figure: (\S+)([^\n]*?) ?-->\n(?:!\[[^\n]*\]\([^\n]*\)\n)?/gm;
const tutorial = readdirSync(join(root, "docs/tutorial")).filter((f) => f.endsWith(".md"));
const pages = onePage ? [resolve(onePage)] : ["README.md", "docs/suite.md", ...tutorial.map((f) => `docs/tutorial/${f}`)];

const { pictures, readFigure, Trace, end } = await figures();
const wrong = [];
const files = new Map();
const tool = toolFor(Trace);
for (const page of pages) {
  const text = readFileSync(resolve(root, page), "utf8");
  tool.page = text;
  const now = text.replace(comment, (found, name, words) => {
    const asked = readFigure(name, words.trim().split(/\s+/).filter(Boolean));
    if (!pictures[name]) {
      wrong.push(`${page}: there is no figure ${name}; there are ${Object.keys(pictures).join(", ")}`);
      return found;
    }
    const file = `${folder}/${asked.words.as ?? [name, asked.file?.split("/").pop().replace(/\.tile$/, "")].filter(Boolean).join("-")}.svg`;
    const picture = pictures[name](asked, tool);
    const svg = standing(basename(file, ".svg"), picture);
    if (files.has(file) && files.get(file) !== svg) wrong.push(`${page}: ${file} is two pictures; name one with as=NAME`);
    files.set(file, svg);
    const alt = picture.alt.replaceAll("&amp;", "&").replaceAll("&quot;", '"').replace(/[[\]]/g, "").replace(/\s+/g, " ");
    return `<!-- figure: ${name}${words} -->\n![${alt}](${relative(dirname(page), file)})\n`;
  });
  if (now === text) continue;
  if (check) wrong.push(`${page}: a figure has no picture, or another one`);
  else writeFileSync(resolve(root, page), now);
}
await end();

mkdirSync(resolve(root, folder), { recursive: true });
for (const [file, svg] of files) {
  if (existsSync(resolve(root, file)) && readFileSync(resolve(root, file), "utf8") === svg) continue;
  if (check) wrong.push(`${file} is not what the program says`);
  else writeFileSync(resolve(root, file), svg);
}
const others = onePage ? [] : readdirSync(join(root, folder)).map((f) => `${folder}/${f}`);
for (const file of others.filter((f) => !files.has(f))) {
  if (check) wrong.push(`${file} is in no page`);
  else rmSync(join(root, file));
}
for (const w of wrong) console.error(w + (check ? " (node scripts/figures.mjs writes it)" : ""));
console.log(`${files.size} pictures${wrong.length ? "" : check ? " are what the program says" : " written"}`);
process.exit(wrong.length ? 1 : 0);
