/** Alt-↑ and Alt-↓ on a number change it in place. */
import type { EditorView, KeyBinding } from "@codemirror/view";

function scrub(view: EditorView, change: (n: number) => number): boolean {
  const { head } = view.state.selection.main;
  const line = view.state.doc.lineAt(head);
  for (const match of line.text.matchAll(/(?<![\w.])\d+(?![\w.])/g)) {
    const from = line.from + match.index;
    const to = from + match[0].length;
    if (head < from || head > to) continue;
    const insert = String(Math.max(0, Math.round(change(Number(match[0])))));
    view.dispatch({ changes: { from, to, insert }, selection: { anchor: from, head: from + insert.length }, userEvent: "input.scrub" });
    return true;
  }
  return false;
}

export const scrubKeys: KeyBinding[] = [
  { key: "Alt-ArrowUp", run: (v) => scrub(v, (n) => n + 1), shift: (v) => scrub(v, (n) => n * 2) },
  { key: "Alt-ArrowDown", run: (v) => scrub(v, (n) => n - 1), shift: (v) => scrub(v, (n) => n / 2) },
];
