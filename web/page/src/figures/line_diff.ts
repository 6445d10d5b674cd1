/** The lines of two texts as one list: lines of both, of the first only (−), of the second only (+). */
export interface DiffLine {
  text: string;
  sign: "" | "+" | "−";
  /** The number of the line in the second text, from 1; null: only the first text has it. */
  number: number | null;
}

/** Finds the longest common subsequence by dynamic programming: the texts of passes have tens to hundreds of lines. */
export function diffLines(before: string[], after: string[]): DiffLine[] {
  const wide = after.length + 1;
  const length = new Uint32Array((before.length + 1) * wide);
  for (let i = before.length - 1; i >= 0; i--)
    for (let j = after.length - 1; j >= 0; j--)
      length[i * wide + j] =
        before[i] === after[j] ? length[(i + 1) * wide + j + 1]! + 1 : Math.max(length[(i + 1) * wide + j]!, length[i * wide + j + 1]!);
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push({ text: after[j]!, sign: "", number: ++j });
      i++;
    } else if (j >= after.length || (i < before.length && length[(i + 1) * wide + j]! >= length[i * wide + j + 1]!))
      lines.push({ text: before[i++]!, sign: "−", number: null });
    else lines.push({ text: after[j]!, sign: "+", number: ++j });
  }
  return lines;
}
