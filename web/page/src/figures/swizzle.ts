/** A swizzle of an array in shared memory, as edits of a kernel's text: element (r, c) moves to the place of (r, c ^ (r & mask)). If the
 * length of a row is a power of two, this only exchanges elements of the row, so all values stay. The compiler gives the places. */
import { textAt } from "../app/fixes.ts";
import type { Edit, Expression, Kernel } from "../app/results.ts";
import type { Padding } from "./padding.ts";

export interface Swizzle {
  /** Bits of the row's number that move columns; 0: the text has no swizzle. */
  bits: number;
  most: number;
  /** The edits that set another number of bits. */
  edits: (bits: number) => Edit[];
}

const mostBits = 5;
const isPower = (n: number) => Number.isInteger(n) && n > 0 && Number.isInteger(Math.log2(n));

/** The length of a row without its padding: its text, and its values, which are all values listed if it is a tuned name. */
interface Row {
  text: string;
  named: boolean;
  values: number[];
}

function rowOf(source: string, kernel: Kernel, padding: Padding): Row | null {
  const padded = padding.base !== textAt(source, padding.extent);
  const base = padded ? padding.extent.left! : padding.extent;
  const named = base.name !== undefined;
  const constant = kernel.numbers.find((n) => n.name === base.name)?.value.number;
  const values = named ? (kernel.tune.find((t) => t.name === base.name)?.values ?? [constant ?? NaN]) : [base.number ?? NaN];
  return values.every(isPower) ? { text: padding.base, named, values } : null;
}

/** Returns a mask with that number of bits; if the length has a name, the mask is right for each value of that name. */
function maskOf(bits: number, row: Row): string {
  const mask = String(2 ** bits - 1);
  if (!row.named) return mask;
  const whole = `(${row.text} - 1)`;
  return Math.max(...row.values) <= 2 ** bits ? whole : `${mask} & ${whole}`;
}

const isShort = (e: Expression) => e.name !== undefined || e.number !== undefined;
const inParentheses = (e: Expression, text: string) => (isShort(e) ? text : `(${text})`);

/** Returns the column without its swizzle, if the text of the element's last index has one with that mask; else null. */
function plainColumn(source: string, [row, column]: Expression[], mask: string): string | null {
  if (column!.op !== "^") return null;
  const text = textAt(source, column!);
  const end = ` ^ (${inParentheses(row!, textAt(source, row!))} & ${mask})`;
  const left = textAt(source, column!.left!);
  return text === inParentheses(column!.left!, left) + end ? left : null;
}

/** Returns the swizzle, or the reason that this page cannot swizzle the array in this text. */
export function swizzleOf(source: string, kernel: Kernel, padding: Padding): Swizzle | string {
  const { array } = padding;
  if (!kernel.thread_level) return "the compiler chooses the places of a tile's elements";
  if (array.extents.length !== 2) return `${array.name} does not have two dimensions`;
  if (!array.by_element) return `the text also uses ${array.name} in other ways than element by element`;
  const row = rowOf(source, kernel, padding);
  if (!row) return `the length of a row, ${padding.base}, is not known to be a power of two`;
  const most = Math.min(mostBits, Math.log2(Math.max(...row.values)));
  const bitsOf = (e: Expression[]) =>
    Array.from({ length: mostBits }, (_, i) => i + 1).findLast((n) => plainColumn(source, e, maskOf(n, row)) !== null) ?? 0;
  const found = [...new Set(array.elements.map(bitsOf))];
  if (found.length > 1) return `the text swizzles some accesses of ${array.name} and not others`;
  const now = found[0] ?? 0;
  const edits = (bits: number) =>
    array.elements.map((e): Edit => {
      const [r, c] = [e[0]!, e[1]!];
      const plain = (now ? plainColumn(source, e, maskOf(now, row)) : null) ?? textAt(source, c);
      const of = now ? c.left! : c;
      const swizzled = `${inParentheses(of, plain)} ^ (${inParentheses(r, textAt(source, r))} & ${maskOf(bits, row)})`;
      return { line: c.line, column: c.column, delete: c.length, insert: bits ? swizzled : plain };
    });
  return { bits: Math.min(now, most), most, edits };
}
