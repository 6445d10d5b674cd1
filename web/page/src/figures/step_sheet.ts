/** Arrays of any rank as sheets of cells, and sets of cells as SVG paths of few rectangles. */

/** A shape as sheets of rows and columns: a vector is one row, wrapped if it is long; higher ranks are a pile of sheets. */
export interface Sheets {
  count: number;
  rows: number;
  cols: number;
}

export function sheetsOf(shape: number[], elements: number): Sheets {
  const dims = shape.length ? shape : [elements];
  if (dims.length > 1) {
    const [rows, cols] = [dims[dims.length - 2]!, dims[dims.length - 1]!];
    return { count: dims.slice(0, -2).reduce((p, d) => p * d, 1), rows, cols };
  }
  const n = Math.max(1, dims[0]!);
  const cols = n <= 64 ? n : n <= 2048 ? 32 : 32 * Math.ceil(Math.sqrt(n) / 32);
  return { count: 1, rows: Math.ceil(n / cols), cols };
}

/** Returns the subscript of an element, as in the source. */
export function subscript(element: number, shape: number[]): number[] {
  const at: number[] = [];
  let rest = element;
  for (let i = shape.length - 1; i >= 0; i--) {
    at.unshift(rest % shape[i]!);
    rest = Math.floor(rest / shape[i]!);
  }
  return at.length ? at : [element];
}

export interface Rect {
  row: number;
  col: number;
  rows: number;
  cols: number;
}

/** Returns ascending numbers of cells as rectangles: runs in a row, joined with equal runs in the row above. */
export function rectsOf(cells: ArrayLike<number>, cols: number): Rect[] {
  const done: Rect[] = [];
  let above = new Map<number, Rect>();
  let here = new Map<number, Rect>();
  let row = -1;
  for (let i = 0; i < cells.length;) {
    const start = cells[i]!;
    const r = Math.floor(start / cols);
    const limit = (r + 1) * cols;
    let end = start + 1;
    i++;
    while (i < cells.length && cells[i] === end && end < limit) {
      end++;
      i++;
    }
    if (r !== row) {
      above = r === row + 1 ? here : new Map();
      here = new Map();
      row = r;
    }
    const col = start - r * cols;
    const joined = above.get(col);
    if (joined && joined.cols === end - start) {
      joined.rows++;
      here.set(col, joined);
    } else {
      const rect = { row: r, col, rows: 1, cols: end - start };
      done.push(rect);
      here.set(col, rect);
    }
  }
  return done;
}

const round = (v: number) => Math.round(v * 100) / 100;

/** Returns the path of the cells, `w` × `h` each, within `right` and `bottom`. */
export function pathOf(cells: ArrayLike<number>, cols: number, w: number, h = w, right = Infinity, bottom = Infinity): string {
  let d = "";
  for (const r of rectsOf(cells, cols)) {
    const wide = round(Math.min(r.cols * w, right - r.col * w));
    d += `M${round(r.col * w)} ${round(r.row * h)}h${wide}v${round(Math.min(r.rows * h, bottom - r.row * h))}h${-wide}z`;
  }
  return d;
}

/** Returns the lines between cells as a path. */
export function gridPath(rows: number, cols: number, w: number, h = w, everyRow = 1, everyCol = 1): string {
  let d = "";
  for (let r = everyRow; r < rows; r += everyRow) d += `M0 ${round(r * h)}h${round(cols * w)}`;
  for (let c = everyCol; c < cols; c += everyCol) d += `M${round(c * w)} 0v${round(rows * h)}`;
  return d;
}

/** Returns a number in at most `most` characters, or "" if they are too few. */
export function shortNumber(v: number, most: number): string {
  if (Number.isNaN(v)) return most >= 3 ? "nan" : "";
  if (!Number.isFinite(v)) return v > 0 ? "∞" : most > 1 ? "−∞" : "";
  const exact = String(v);
  if (exact.length <= most) return exact;
  for (let digits = Math.min(most, 6); digits > 0; digits--) {
    const text = v
      .toPrecision(digits)
      .replace(/^(-?)0\./, "$1.")
      .replace(/e\+?/, "e");
    if (text.length <= most) return text;
  }
  if (Math.abs(v) < 1 && most >= 1) return "0";
  return "";
}
