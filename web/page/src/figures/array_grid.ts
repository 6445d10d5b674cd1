/** An array of a case as rows of cells, for a table. */
export type Value = number | string | boolean | null;

export interface ArrayCell {
  index: number[];
  text: string;
  /** The expected value, if it differs. */
  expected: string | null;
  unwritten: boolean;
}

/** The rows of one matrix of the array; an array with more axes has several. */
export interface Sheet {
  name: string;
  rows: ArrayCell[][];
  /** Numbers of rows and columns that are left out. */
  more: [number, number];
}

const most = 32;

export function valueText(v: Value | undefined): string {
  if (v === undefined || v === null) return "";
  if (typeof v !== "number") return String(v);
  return Number.isInteger(v) && Math.abs(v) < 1e6 ? String(v) : String(Number(v.toPrecision(4)));
}

export function sheetsOf(
  name: string,
  values: Value[],
  shape: number[],
  options: { expected?: Value[] | null; wrong?: number[]; unwritten?: number[] } = {},
): Sheet[] {
  const cols = shape[shape.length - 1]!;
  const rows = shape.length > 1 ? shape[shape.length - 2]! : 1;
  const outer = shape.slice(0, -2);
  const count = outer.reduce((a, b) => a * b, 1);
  const wrong = new Set(options.wrong);
  const unwritten = new Set(options.unwritten);
  return Array.from({ length: count }, (_, sheet) => {
    const before = places(sheet, outer);
    const grid = Array.from({ length: Math.min(rows, most) }, (_, r) =>
      Array.from({ length: Math.min(cols, most) }, (_, c): ArrayCell => {
        const at = (sheet * rows + r) * cols + c;
        return {
          index: shape.length > 1 ? [...before, r, c] : [c],
          text: valueText(values[at]),
          expected: wrong.has(at) || unwritten.has(at) ? valueText(options.expected?.[at]) : null,
          unwritten: unwritten.has(at),
        };
      }),
    );
    return {
      name: name + before.map((i) => `[${i}]`).join(""),
      rows: grid,
      more: [Math.max(0, rows - most), Math.max(0, cols - most)],
    };
  });
}

function places(sheet: number, outer: number[]): number[] {
  const index: number[] = [];
  let rest = sheet;
  for (const extent of [...outer].reverse()) {
    index.unshift(rest % extent);
    rest = Math.floor(rest / extent);
  }
  return index;
}
