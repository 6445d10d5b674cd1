/** The rows of an array in shared memory in the text of a kernel, and the edits that make them longer. The compiler gives the places. */
import { textAt } from "../app/fixes.ts";
import type { Edit, Expression, Kernel, SharedArray } from "../app/results.ts";

/** The last extent of the declaration: `base`, and the sum added to it. `by`: the name of a tuned value or a constant; null: a number in
 * the text, or nothing, which an edit can change. */
export interface Padding {
  array: SharedArray;
  base: string;
  added: number;
  by: string | null;
  /** The whole extent, which an edit replaces. */
  extent: Expression;
  /** The names in all extents. */
  names: string[];
}

export function namesIn(e: Expression): string[] {
  if (e.name !== undefined) return [e.name];
  return [e.left, e.right].flatMap((x) => (x ? namesIn(x) : []));
}

/** Returns the operand on the left of the last `+`, as written; null: the right one is in parentheses. */
function leftOf(source: string, sum: Expression): string | null {
  const text = textAt(source, sum);
  const right = textAt(source, sum.right!);
  const before = text.slice(0, text.length - right.length).trimEnd();
  return text.endsWith(right) && before.endsWith("+") ? before.slice(0, -1).trimEnd() : null;
}

/** Returns whether a slider can set the name: it is a tuned value or a constant. */
export function isSettable(kernel: Kernel, name: string): boolean {
  return kernel.tune.some((t) => t.name === name) || kernel.numbers.some((n) => n.name === name);
}

export function paddingOf(source: string, kernel: Kernel, name: string): Padding | null {
  const array = kernel.shared.find((s) => s.name === name);
  const extent = array?.extents.at(-1);
  if (!array || !extent) return null;
  const right = extent.op === "+" ? extent.right! : null;
  const by = right?.name !== undefined && isSettable(kernel, right.name) ? right.name : null;
  const left = by !== null || right?.number !== undefined ? leftOf(source, extent) : null;
  return {
    array,
    base: left ?? textAt(source, extent),
    added: left === null || by !== null ? 0 : right!.number!,
    by: left === null ? null : by,
    extent,
    names: [...new Set(array.extents.flatMap(namesIn))],
  };
}

/** Returns the edit that makes each row `added` elements longer than its base. */
export function paddingEdit({ base, extent }: Padding, added: number): Edit {
  return { line: extent.line, column: extent.column, delete: extent.length, insert: added ? `${base} + ${added}` : base };
}
