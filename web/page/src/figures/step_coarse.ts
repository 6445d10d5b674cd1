/** Large sheets are drawn as tiles of cells, so that a drawing is never finer than the screen, and the cost of a frame does not depend on
 * the array's size. */
import type { Sheets } from "./step_sheet.ts";

/** Rows and columns of cells in a tile, and tiles in a sheet. */
export interface Coarse {
  rows: number;
  cols: number;
  down: number;
  across: number;
}

export function coarseOf(s: Sheets, most: number): Coarse {
  const rows = Math.ceil(s.rows / most);
  const cols = Math.ceil(s.cols / most);
  return { rows, cols, down: Math.ceil(s.rows / rows), across: Math.ceil(s.cols / cols) };
}
export const isCoarse = (c: Coarse) => c.rows > 1 || c.cols > 1;

/** Returns the tile of a cell of the sheet. */
export function tileOf(c: Coarse, cols: number, cell: number): number {
  const row = Math.floor(cell / cols);
  return Math.floor(row / c.rows) * c.across + Math.floor((cell - row * cols) / c.cols);
}

/** Returns the tiles that hold some of the cells, ascending. */
export function tilesOf(c: Coarse, cols: number, cells: ArrayLike<number>): Uint32Array {
  const found = new Set<number>();
  for (let n = 0; n < cells.length; n++) found.add(tileOf(c, cols, cells[n]!));
  return Uint32Array.from(found).sort();
}

/** Returns the tiles of the cells, ascending, each with the least number of its cells. */
export function leastOf(
  c: Coarse,
  cols: number,
  cells: ArrayLike<number>,
  numbers: ArrayLike<number>,
): { tiles: Uint32Array; least: Uint32Array } {
  const least = new Map<number, number>();
  for (let n = 0; n < cells.length; n++) {
    const tile = tileOf(c, cols, cells[n]!);
    const known = least.get(tile);
    if (known === undefined || numbers[n]! < known) least.set(tile, numbers[n]!);
  }
  const tiles = Uint32Array.from(least.keys()).sort();
  return { tiles, least: tiles.map((t) => least.get(t)!) };
}

/** Returns the mean size of the known values of each tile; NaN: none is known. */
export function meansOf(c: Coarse, cols: number, values: Float64Array): Float64Array {
  const sums = new Float64Array(c.down * c.across);
  const known = new Uint32Array(c.down * c.across);
  for (let i = 0; i < values.length; i++) {
    if (Number.isNaN(values[i]!)) continue;
    const tile = tileOf(c, cols, i);
    sums[tile]! += Math.abs(values[i]!);
    known[tile]!++;
  }
  return sums.map((sum, t) => (known[t] ? sum / known[t]! : NaN));
}
