/** Converts places of the compiler to places in an editor's document: lines count from 1, columns from 1 in bytes of UTF-8. */
import type { Text } from "@codemirror/state";

export function offsetOf(doc: Text, line: number, column: number): number {
  if (line < 1) return 0;
  if (line > doc.lines) return doc.length;
  const { from, text } = doc.line(line);
  let left = column - 1;
  let at = 0;
  for (const c of text) {
    if (left <= 0) break;
    left -= c.codePointAt(0)! < 0x80 ? 1 : c.codePointAt(0)! < 0x800 ? 2 : c.codePointAt(0)! < 0x10000 ? 3 : 4;
    at += c.length;
  }
  return from + at;
}

/** Returns the end of the word, call or access that begins there, for findings without a length. */
export function endOf(doc: Text, from: number): number {
  const line = doc.lineAt(from);
  const rest = line.text.slice(from - line.from);
  const word = /^(?:[\w.]+(?:\[[^\]]*\])*|\S)/.exec(rest);
  return from + (word ? word[0].length : 0);
}
