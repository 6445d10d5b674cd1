/** Long lines continue in further rows, indented two columns more than the line's text. */
import { RangeSetBuilder, type EditorState } from "@codemirror/state";
import { Decoration, EditorView, ViewPlugin, type DecorationSet, type ViewUpdate } from "@codemirror/view";

/** Returns the number of columns of white space at the beginning of a line. */
export function indentOf(text: string, tab: number): number {
  let columns = 0;
  for (const c of text) {
    if (c === " ") columns++;
    else if (c === "\t") columns += tab - (columns % tab);
    else break;
  }
  return columns;
}

const hanging = (state: EditorState, text: string) =>
  Decoration.line({ attributes: { style: `--hang: ${indentOf(text, state.tabSize) + 2}` } });

function hangs({ state, visibleRanges }: EditorView): DecorationSet {
  const marks = new RangeSetBuilder<Decoration>();
  for (const { from, to } of visibleRanges)
    for (let line = state.doc.lineAt(from); ; line = state.doc.line(line.number + 1)) {
      marks.add(line.from, line.from, hanging(state, line.text));
      if (line.to >= to || line.number === state.doc.lines) break;
    }
  return marks.finish();
}

export const wrapped = [
  EditorView.lineWrapping,
  ViewPlugin.fromClass(
    class {
      decorations: DecorationSet;
      constructor(view: EditorView) {
        this.decorations = hangs(view);
      }
      update(update: ViewUpdate) {
        if (update.docChanged || update.viewportChanged) this.decorations = hangs(update.view);
      }
    },
    { decorations: (plugin) => plugin.decorations },
  ),
];
