/** The rows of a shared variable in the text of a kernel, and the edit that makes them longer. */

/** The last extent of the declaration: `base`, and what is added to it. `by` null: a number in the text, or nothing, which an
 * edit can change; else the name of a tuned value or a constant. */
export interface Padding {
  base: string;
  added: number;
  by: string | null;
  /** Offsets in the text of what an edit replaces: all after `base` up to the bracket. */
  from: number;
  to: number;
  /** Names in all extents. */
  names: string[];
}

/** The text with comments as blanks, so that offsets stay. */
function withoutComments(text: string): string {
  return text.replace(/\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (c) => c.replace(/[^\n]/g, " "));
}

/** The bracketed extents after the name: offsets of what is between the brackets. */
function extentsAt(text: string, at: number): [number, number][] {
  const found: [number, number][] = [];
  while (/\s/.test(text[at] ?? "")) at++;
  while (text[at] === "[") {
    let depth = 0;
    const from = at + 1;
    for (; at < text.length; at++) {
      if (text[at] === "[") depth++;
      else if (text[at] === "]" && --depth === 0) break;
    }
    found.push([from, at]);
    at++;
    while (/\s/.test(text[at] ?? "")) at++;
  }
  return found;
}

export function paddingOf(source: string, name: string, tuned: string[]): Padding | null {
  const text = withoutComments(source);
  for (const declaration of text.matchAll(/\bshared\s+\w+\s+[^;]*;/g)) {
    const use = new RegExp(`\\b${name}\\b(?=\\s*\\[)`).exec(declaration[0]);
    if (!use) continue;
    const extents = extentsAt(text, declaration.index + use.index + name.length);
    const last = extents.at(-1);
    if (!last) continue;
    const inside = text.slice(last[0], last[1]);
    const sum = /^(.*?)\s*\+\s*(\d+|[A-Za-z_]\w*)\s*$/s.exec(inside);
    const by = sum && (tuned.includes(sum[2]!) || constantOf(source, sum[2]!)) ? sum[2]! : null;
    const number = sum && /^\d/.test(sum[2]!) ? Number(sum[2]) : 0;
    const base = by !== null || number ? sum![1]! : inside.trimEnd();
    return {
      base,
      added: by === null ? number : NaN,
      by,
      from: last[0] + base.length,
      to: last[1],
      names: [...new Set(extents.flatMap(([a, b]) => text.slice(a, b).match(/[A-Za-z_]\w*/g) ?? []))],
    };
  }
  return null;
}

/** The source with `added` elements at the end of each row. */
export function padded(source: string, padding: Padding, added: number): string {
  const old = padding.from === padding.to ? "" : source.slice(padding.from, padding.to);
  const insert = added === 0 ? "" : ` + ${added}`;
  return old.trim() === insert.trim() ? source : source.slice(0, padding.from) + insert + source.slice(padding.to);
}

/** `const i32 NAME = 32;`: the offsets of the number, or null. */
export function constantOf(source: string, name: string): { value: number; from: number; to: number } | null {
  const found = new RegExp(`\\bconst\\s+\\w+\\s+[^;(){}]*?\\b${name}\\s*=\\s*(\\d+)\\s*(?=[,;])`).exec(withoutComments(source));
  if (!found) return null;
  const from = found.index + found[0].lastIndexOf(found[1]!);
  return { value: Number(found[1]), from, to: from + found[1]!.length };
}
