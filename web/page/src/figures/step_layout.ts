/** The places of the figure's panels: a product's arrays as on paper, A left of C and B above it; other arrays in rows. */

export interface Box {
  rows: number;
  cols: number;
  title: string;
  group: "array" | "shared" | "register";
}
export interface Placed {
  x: number;
  y: number;
  /** Width and height of a cell. */
  w: number;
  h: number;
}
export interface Layout {
  places: Placed[];
  /** The place of the legend: in the corner that a product leaves free, else below. */
  legend: { x: number; y: number; columns: number };
  width: number;
  height: number;
}

const GAP = 16;
const TITLE = 20;
const MOST_CELL = 40;
/** Width and height of the legend as one column. */
const LEGEND = [136, 120] as const;
export const LEGEND_LINE = 20;
export const LEGEND_ENTRIES = 5;
const titleWidth = (text: string) => text.length * 7.3;

/** Returns the size of a cell in a box of at most `width` × `height`. Long thin arrays get cells that are not square. */
function cellOf(b: Box, width: number, height: number): [number, number] {
  const square = Math.min(MOST_CELL, width / b.cols, height / b.rows);
  const least = 8;
  return [
    Math.max(square, Math.min(MOST_CELL, width / b.cols, least / b.cols)),
    Math.max(square, Math.min(b.rows > 1 ? square : 28, height / b.rows), Math.min(height / b.rows, least / b.rows)),
  ];
}

/** Places boxes from left to right in rows; returns the height. */
function flow(boxes: Box[], x: number, y: number, width: number, most: [number, number], places: Placed[], at: number[]): number {
  let left = x;
  let top = y;
  let tall = 0;
  boxes.forEach((b, i) => {
    const [w, h] = cellOf(b, Math.min(width, most[0]), most[1]);
    const wide = Math.max(w * b.cols, titleWidth(b.title));
    if (left > x && left + wide > x + width) {
      left = x;
      top += tall + GAP;
      tall = 0;
    }
    places[at[i]!] = { x: left, y: top + TITLE, w, h };
    left += wide + GAP;
    tall = Math.max(tall, TITLE + h * b.rows);
  });
  return boxes.length ? top + tall - y : 0;
}

/** Returns the indices of the arrays of a product C = A · B, by their shapes, or null. */
export function productOf(boxes: Box[], roles: string[]): [number, number, number] | null {
  const arrays = boxes.map((b, i) => i).filter((i) => boxes[i]!.group === "array");
  const find = (role: string) => arrays.filter((i) => roles[i] === role);
  const [a, b, c] = [find("a"), find("b"), find("sum")];
  if (arrays.length !== 3 || a.length !== 1 || b.length !== 1 || c.length !== 1) return null;
  const [A, B, C] = [boxes[a[0]!]!, boxes[b[0]!]!, boxes[c[0]!]!];
  if (Math.min(C.rows, C.cols, A.cols) < 2) return null;
  return A.rows === C.rows && B.cols === C.cols && A.cols === B.rows ? [a[0]!, b[0]!, c[0]!] : null;
}

export function layOut(boxes: Box[], roles: string[], width: number): Layout {
  const places: Placed[] = [];
  const pick = (group: Box["group"]) => boxes.map((_, i) => i).filter((i) => boxes[i]!.group === group);
  const list = (at: number[]) => at.map((i) => boxes[i]!);
  const [arrays, shared, registers] = [pick("array"), pick("shared"), pick("register")];
  const inside = [...shared, ...registers];
  const wide = width >= 560;
  const product = wide ? productOf(boxes, roles) : null;
  const leftWidth = !wide || !inside.length ? width : Math.floor(width * 0.55);
  let height: number;
  let legend: Layout["legend"] | null = null;
  if (product) {
    const [a, b, c] = product;
    const k = boxes[a]!.cols;
    const [m, n] = [boxes[c]!.rows, boxes[c]!.cols];
    const s = Math.min(MOST_CELL, (leftWidth - GAP) / (k + n), (inside.length ? 420 : 560) / (m + k));
    const corner = [Math.max(k * s, titleWidth(boxes[a]!.title)) + GAP, TITLE + k * s + GAP + TITLE] as const;
    places[a] = { x: corner[0] - GAP - k * s, y: corner[1], w: s, h: s };
    places[b] = { x: corner[0], y: TITLE, w: s, h: s };
    places[c] = { x: corner[0], y: corner[1], w: s, h: s };
    height = corner[1] + m * s;
    if (corner[0] - GAP >= LEGEND[0] && k * s + TITLE >= LEGEND[1]) legend = { x: 0, y: TITLE, columns: 1 };
  } else {
    const beside =
      arrays.length > 1 && wide ? Math.max(96, (leftWidth - GAP * (arrays.length - 1)) / Math.min(3, arrays.length)) : leftWidth;
    height = flow(list(arrays), 0, 0, leftWidth, [wide ? beside : width, wide ? 240 : 200], places, arrays);
  }
  const x = wide && inside.length ? leftWidth + 2 * GAP : 0;
  let y = wide ? 0 : height + (inside.length ? GAP : 0);
  const rest = width - x;
  for (const part of [shared, registers]) {
    if (!part.length) continue;
    // A ring has many stages: they are drawn smaller, so that the figure is not higher than a screen. A lone matrix is as wide as one of
    // two.
    const across = part.length > 2 ? 3 : inside.length > 1 && boxes[part[0]!]!.rows > 1 ? 2 : part.length;
    const most: [number, number] = [Math.max((rest - GAP * (across - 1)) / across, 88), wide ? (part.length > 2 ? 112 : 176) : 200];
    y += flow(list(part), x, y, rest, most, places, part) + GAP;
  }
  height = Math.ceil(Math.max(height, y - (inside.length ? GAP : 0)));
  if (legend) return { places, legend, width, height };
  const columns = Math.max(1, Math.min(LEGEND_ENTRIES, Math.floor(width / LEGEND[0])));
  const below = { x: 0, y: height + GAP, columns };
  return { places, legend: below, width, height: below.y + LEGEND_LINE * Math.ceil(LEGEND_ENTRIES / columns) };
}
