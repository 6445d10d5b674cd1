/** The places of a case's arrays in its drawing: inputs first, then outputs with the expected values. */
import { valueText, type Value } from "./array_grid.ts";

export interface CaseArray {
  name: string;
  shape: number[];
  /** Values in row-major order; null: there are too many to show. */
  values: Value[] | null;
}
export interface DrawnArray {
  name: string;
  shape: number[];
  output: boolean;
  colour: "a" | "b" | "shared" | "sum";
  rows: number;
  cols: number;
  /** The corner of its elements, and their size. */
  x: number;
  y: number;
  w: number;
  h: number;
  /** The values as text; null: elements are too small for text, or the array is drawn as a tile. */
  texts: string[] | null;
  /** True if it is drawn as one rectangle, without its elements. */
  tile: boolean;
}
export interface CaseDrawing {
  arrays: DrawnArray[];
  /** Arrows from inputs to outputs, as an SVG path. */
  arrows: string;
  width: number;
  height: number;
}

/** The most elements of an axis that are drawn, and the most rows whose values are written. */
const most = 32;
const mostRows = 12;
const gap = 40;
const label = 22;
const index = 18;
const colours = ["a", "b", "shared"] as const;

interface Sized extends CaseArray {
  rows: number;
  cols: number;
  tile: boolean;
  texts: string[];
}

function sized(a: CaseArray, column: boolean): Sized {
  const last = a.shape.at(-1) ?? 1;
  const all = a.shape.reduce((p, n) => p * n, 1);
  const [rows, cols] = column ? [last, 1] : [last ? all / last : 0, last];
  return { ...a, rows, cols, tile: !a.values || rows > most || cols > most, texts: (a.values ?? []).map((v) => valueText(v)) };
}

/** Returns whether rows of the first input and columns of the second meet in the elements of the output, as in a product. */
function meets(inputs: CaseArray[], outputs: CaseArray[]): boolean {
  const [a, b] = inputs;
  const out = outputs[0]?.shape;
  if (inputs.length !== 2 || outputs.length !== 1 || out?.length !== 2 || !a || !b || a.shape.length !== b.shape.length) return false;
  const inner = a.shape.length === 1 || (a.shape.length === 2 && a.shape[1] === b.shape[0]);
  return inner && a.shape[0] === out[0] && b.shape.at(-1) === out[1];
}

export function drawCase(inputs: CaseArray[], outputs: CaseArray[], width: number): CaseDrawing {
  const cross = meets(inputs, outputs);
  const list = [...inputs.map((a, i) => sized(a, cross && i === 0 && a.shape.length === 1)), ...outputs.map((a) => sized(a, false))];
  const small = list.filter((a) => !a.tile);
  const written = 12 + 7.5 * Math.max(2, ...small.flatMap((a) => a.texts.map((t) => t.length)));
  // The number of columns next to each other: of all arrays in a product's rows, else of the widest array.
  const abreast = cross ? list[0]!.cols + list[2]!.cols : Math.max(1, ...small.map((a) => a.cols));
  const room = width - (cross ? gap + 2 * index : index);
  const comfortable = Math.max(32, written);
  const cell = comfortable * abreast <= room ? comfortable : written;
  const texts = written * abreast <= room && small.every((a) => a.rows <= mostRows);
  const unit = texts ? 0 : unitOf(small, cross ? abreast : small.reduce((sum, a) => sum + a.cols, 0), abreast, width);

  const arrays = list.map((a, i): DrawnArray => {
    const longest = Math.max(a.rows, a.cols);
    const tile = (n: number) => Math.max(32, (Math.min(128, room) * n) / longest) / n;
    const [w, h] = a.tile ? [tile(a.cols), tile(a.rows)] : texts ? [cell, 24] : [unit, unit];
    const output = i >= inputs.length;
    const colour = output ? "sum" : colours[Math.min(i, 2)]!;
    const { name, shape, rows, cols } = a;
    return { name, shape, output, colour, rows, cols, x: 0, y: 0, w, h, texts: texts && !a.tile ? a.texts : null, tile: a.tile };
  });
  const arrows = cross ? placeAcross(arrays) : placeInTurn(arrays, inputs.length, width);
  return {
    arrays,
    arrows,
    width: Math.max(...arrays.map((a) => a.x + Math.max(wide(a), labelled(a)))) + 2,
    height: Math.max(...arrays.map((a) => a.y + a.rows * a.h)) + 2,
  };
}

/** Returns the side of elements without text. All arrays are next to each other if their elements are then still visible, else one below
 * the other. */
function unitOf(small: Sized[], together: number, abreast: number, width: number): number {
  const side = (cols: number, arrays: number) => Math.floor((width - gap * (arrays - 1)) / cols);
  const abreastAll = side(together, small.length);
  const tallest = Math.max(1, ...small.map((a) => a.rows));
  return Math.max(5, Math.min(16, abreastAll >= 5 ? abreastAll : side(abreast, 1), Math.floor(320 / tallest)));
}

/** The width of an array's name and shape. */
const labelled = (a: DrawnArray) => 8.5 * (a.name.length + 1 + shapeText(a.shape).length);
/** Room left of and above the elements, for the numbers of rows and columns. */
const before = (a: DrawnArray) => (a.texts && a.rows > 1 ? index : 1);
const above = (a: DrawnArray) => label + (a.texts && a.cols > 1 ? index : 0);
const wide = (a: DrawnArray) => a.cols * a.w;
const tall = (a: DrawnArray) => a.rows * a.h;

/** Places the second input above the output, and the first to its left. */
function placeAcross([a, b, out]: DrawnArray[]): string {
  if (!a || !b || !out) return "";
  a.x = before(a);
  out.x = b.x = a.x + Math.max(wide(a) + gap, labelled(a) + 8) + before(out);
  b.y = above(b);
  out.y = a.y = Math.max(b.y + tall(b) + 28 + above(out), above(a));
  return (
    arrow(a.x + wide(a) + 6, a.y + tall(a) / 2, out.x - 6 - before(out), a.y + tall(a) / 2) +
    arrow(b.x + wide(b) / 2, b.y + tall(b) + 5, b.x + wide(b) / 2, b.y + tall(b) + 27)
  );
}

/** Places inputs in rows from left to right, vectors one below the other; outputs to the right if there is room, else below. */
function placeInTurn(arrays: DrawnArray[], inputs: number, width: number): string {
  const vectors = arrays.every((a) => a.shape.length < 2);
  let arrows = "";
  let x = 0;
  let y = 0;
  let bottom = 0;
  arrays.forEach((a, i) => {
    const first = i === inputs;
    const step = i ? gap : 0;
    const fits = i > 0 && !vectors && x + step + before(a) + Math.max(wide(a), labelled(a)) <= width;
    const top = y;
    if (i && !fits) {
      y = bottom + (first ? 32 : 12);
      x = 0;
    } else x += step;
    a.x = x + before(a);
    a.y = y + above(a);
    if (first && fits) arrows += arrow(x - gap + 8, top + above(a) + 12, x - 8, top + above(a) + 12);
    if (first && !fits) arrows += arrow(a.x + 12, bottom + 6, a.x + 12, bottom + 28);
    x = a.x + Math.max(wide(a), labelled(a));
    bottom = Math.max(bottom, a.y + tall(a));
  });
  return arrows;
}

function arrow(x0: number, y0: number, x1: number, y1: number): string {
  const head = x0 === x1 ? `M${x1 - 4},${y1 - 5}L${x1},${y1}L${x1 + 4},${y1 - 5}` : `M${x1 - 5},${y1 - 4}L${x1},${y1}L${x1 - 5},${y1 + 4}`;
  return `M${x0},${y0}L${x1},${y1}${head}`;
}

/** Returns the row-major number of an element from its indices. */
export const elementOf = (shape: number[], at: number[]) => at.reduce((e, i, axis) => e * (shape[axis] ?? 1) + i, 0);
/** "2 × 3" */
export const shapeText = (shape: number[]) => shape.join(" × ");
