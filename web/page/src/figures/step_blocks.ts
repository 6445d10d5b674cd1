/** The output's grid of blocks: the number of its cells that a block writes, and the cells of each block. */
import { NO_EVENT } from "$engine/trace.ts";
import type { StepIndex } from "./step_index.ts";
import { sheetsOf } from "./step_sheet.ts";

export interface Blocks {
  array: number;
  /** Rows and columns of a block, in cells. */
  rows: number;
  cols: number;
  /** The traced block's place among the blocks. */
  row: number;
  col: number;
  /** True if block.x counts along the rows, as in `i = block.x * BM`. */
  xIsRow: boolean;
  /** True if the other way round would fit too, as for a block on the diagonal of a square grid. */
  unsure: boolean;
}

/** Returns null if the traced block's part of an output does not determine it. `before`: the answer from another block. */
export function blocksOf(index: StepIndex, before: boolean | null = null): Blocks | null {
  const { grid, traced } = index.trace.head;
  const [gx, gy] = grid;
  if (gx * gy < 2) return null;
  for (const a of index.arrays) {
    if (!a.written || !a.firstWrite.length) continue;
    const s = sheetsOf(a.array.shape, a.elements);
    let [top, left, bottom, right] = [s.rows, s.cols, -1, -1];
    a.firstWrite.forEach((e, i) => {
      if (e === NO_EVENT) return;
      const cell = i % (s.rows * s.cols);
      const [r, c] = [Math.floor(cell / s.cols), cell % s.cols];
      [top, left, bottom, right] = [Math.min(top, r), Math.min(left, c), Math.max(bottom, r), Math.max(right, c)];
    });
    if (bottom < 0) continue;
    const fits = (xIsRow: boolean): Omit<Blocks, "unsure"> | null => {
      const [row, col] = xIsRow ? [traced[0], traced[1]] : [traced[1], traced[0]];
      const [down, across] = xIsRow ? [gx, gy] : [gy, gx];
      const rows = row ? top / row : down === 1 ? s.rows : bottom + 1;
      const cols = col ? left / col : across === 1 ? s.cols : right + 1;
      const whole = Number.isInteger(rows) && Number.isInteger(cols) && rows > 0 && cols > 0;
      if (!whole || Math.ceil(s.rows / rows) !== down || Math.ceil(s.cols / cols) !== across) return null;
      return { array: a.number, rows, cols, row, col, xIsRow };
    };
    const [plain, swapped] = [fits(false), fits(true)];
    if (plain && swapped) return { ...(before ? swapped : plain), unsure: gx > 1 && before === null };
    if (plain || swapped) return { ...(plain ?? swapped)!, unsure: false };
  }
  return null;
}
