/** Saves a card's content: its figure as an SVG that needs no style sheet, its data as JSON or CSV. */
import type { CardData } from "./Card.svelte";

function save(name: string, type: string, text: string): void {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(new Blob([text], { type }));
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 1000);
}

const styles = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
  "dominant-baseline",
];

/** Returns the first figure below `body`, with its colours on the page written into it. */
export function svgText(body: HTMLElement): string | null {
  const figure = body.querySelector<SVGSVGElement>("svg.figure") ?? body.querySelector("svg");
  if (!figure) return null;
  const copy = figure.cloneNode(true) as SVGElement;
  const from = [figure, ...figure.querySelectorAll("*")];
  const to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((element, i) => {
    const computed = getComputedStyle(element);
    const target = to[i] as SVGElement;
    target.removeAttribute("class");
    target.removeAttribute("style");
    for (const s of styles) {
      const value = computed.getPropertyValue(s);
      if (value) target.setAttribute(s, value);
    }
  });
  const box = figure.getBoundingClientRect();
  // Outside of the page, a unit is a pixel.
  const { width, height } = figure.viewBox.baseVal;
  if (width) copy.setAttribute("width", String(width));
  if (height) copy.setAttribute("height", String(height));
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  if (!copy.getAttribute("viewBox")) copy.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
  copy.setAttribute("style", `background:${getComputedStyle(document.body).backgroundColor}`);
  return new XMLSerializer().serializeToString(copy);
}

export function saveSvg(body: HTMLElement, name: string): void {
  const text = svgText(body);
  if (text) save(`${name}.svg`, "image/svg+xml", text);
}

export function saveJson(data: CardData, name: string): void {
  const rows = data.rows.map((r) => Object.fromEntries(data.columns.map((c, i) => [c, r[i] ?? null])));
  save(`${name}.json`, "application/json", JSON.stringify(data.facts ? { ...data.facts, rows } : rows, null, 2) + "\n");
}

export function saveCsv(data: CardData, name: string): void {
  const quoted = (v: string | number | null) => (/[",\n]/.test(String(v)) ? `"${String(v).replaceAll('"', '""')}"` : String(v ?? ""));
  save(`${name}.csv`, "text/csv", [data.columns, ...data.rows].map((r) => r.map(quoted).join(",")).join("\n") + "\n");
}

export function saveText(text: string, name: string): void {
  save(name, "text/plain", text);
}
