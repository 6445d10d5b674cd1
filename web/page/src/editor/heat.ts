/** The heat gutter: a bar for each line that costs something, and its change since the run before. */
import { StateEffect, StateField } from "@codemirror/state";
import { gutter, GutterMarker, type EditorView } from "@codemirror/view";

export interface Heat {
  /** Of the costliest line, 0 to 1. */
  share: number;
  /** "4 sectors", for the title. */
  text: string;
  /** "−97 %" compared with the run before; empty: no change. */
  change: string;
}

class HeatMarker extends GutterMarker {
  constructor(readonly heat: Heat) {
    super();
  }
  override eq(other: HeatMarker): boolean {
    return other.heat.share === this.heat.share && other.heat.text === this.heat.text && other.heat.change === this.heat.change;
  }
  override toDOM(): HTMLElement {
    const box = document.createElement("div");
    box.className = "heat";
    box.title = this.heat.text;
    const bar = box.appendChild(document.createElement("i"));
    bar.style.width = `${Math.max(4, Math.round(this.heat.share * 100))}%`;
    const change = box.appendChild(document.createElement("span"));
    change.textContent = this.heat.change;
    return box;
  }
}

export const setHeat = StateEffect.define<Map<number, Heat>>();

const heatField = StateField.define<Map<number, Heat>>({
  create: () => new Map(),
  update(heat, tr) {
    for (const e of tr.effects) if (e.is(setHeat)) return e.value;
    return heat;
  },
});

export const heatGutter = [
  heatField,
  gutter({
    class: "cm-heat",
    lineMarker(view: EditorView, line) {
      const heat = view.state.field(heatField).get(view.state.doc.lineAt(line.from).number);
      return heat ? new HeatMarker(heat) : null;
    },
    lineMarkerChange: (update) => update.startState.field(heatField) !== update.state.field(heatField),
    initialSpacer: () => new HeatMarker({ share: 0, text: "", change: "−100 %" }),
  }),
];
