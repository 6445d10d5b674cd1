/** Applies the fixes of the compiler's messages: one, or all until no message has a fix. */
import type { Edit, Finding } from "./results.ts";

const encoder = new TextEncoder();

export interface Change {
  from: number;
  to: number;
  insert: string;
}

/** Converts edits. Lines and columns count from 1, columns in bytes of UTF-8. */
function changesOf(text: Uint8Array, edits: Edit[]): Change[] {
  const starts = [0];
  text.forEach((b, i) => b === 10 && starts.push(i + 1));
  return edits.map((e) => {
    const from = Math.min((starts[e.line - 1] ?? text.length) + e.column - 1, text.length);
    return { from, to: Math.min(from + (e.delete ?? 0), text.length), insert: e.insert };
  });
}

/** Returns the text of a place, whose columns and length count bytes. */
export function textAt(source: string, { line, column, length = 0 }: { line: number; column: number; length?: number }): string {
  const text = encoder.encode(source);
  const [c] = changesOf(text, [{ line, column, delete: length, insert: "" }]);
  return new TextDecoder().decode(text.subarray(c!.from, c!.to));
}

function apply(text: Uint8Array, changes: Change[]): Uint8Array {
  const pieces: Uint8Array[] = [];
  let at = 0;
  for (const c of changes.toSorted((a, b) => a.from - b.from)) {
    pieces.push(text.subarray(at, c.from), encoder.encode(c.insert));
    at = c.to;
  }
  pieces.push(text.subarray(at));
  const whole = new Uint8Array(pieces.reduce((n, p) => n + p.length, 0));
  let to = 0;
  for (const p of pieces) {
    whole.set(p, to);
    to += p.length;
  }
  return whole;
}

/** Returns the same edits as changes of a JavaScript string, for an editor. */
export function editorChanges(source: string, edits: Edit[]): Change[] {
  const text = encoder.encode(source);
  const units = (at: number) => new TextDecoder().decode(text.subarray(0, at)).length;
  return changesOf(text, edits).map((c) => ({ from: units(c.from), to: units(c.to), insert: c.insert }));
}

export function applyFix(source: string, edits: Edit[]): string {
  const text = encoder.encode(source);
  return new TextDecoder().decode(apply(text, changesOf(text, edits)));
}

/** Applies each fix that does not overlap an earlier one. */
export function applyFixes(source: string, fixes: Edit[][]): string {
  const text = encoder.encode(source);
  const taken: Change[] = [];
  for (const edits of fixes) {
    const changes = changesOf(text, edits);
    const meets = (a: Change, b: Change) => a.from <= b.to && b.from <= a.to;
    if (!changes.some((c) => taken.some((t) => meets(c, t)))) taken.push(...changes);
  }
  return new TextDecoder().decode(apply(text, taken));
}

export const fixesOf = (findings: Finding[]): Edit[][] => findings.flatMap((f) => (f.fix?.length ? [f.fix] : []));

/** Applies all fixes, asks for the messages of the new text, and repeats until no message has a fix. Returns the text. */
export async function fixAll(source: string, findings: Finding[], check: (source: string) => Promise<Finding[]>): Promise<string> {
  const seen = new Set([source]);
  for (let fixes = fixesOf(findings); fixes.length && seen.size < 20; fixes = fixesOf(await check(source))) {
    source = applyFixes(source, fixes);
    if (seen.has(source)) break;
    seen.add(source);
  }
  return source;
}
