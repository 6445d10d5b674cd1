/** The heat gutter: a bar for each line that costs something, and its change since the run before. */
import { RangeSet, StateEffect, StateField } from "@codemirror/state";
import { gutter, GutterMarker } from "@codemirror/view";

export interface Heat {
  /** Cost relative to the costliest line, 0 to 1. */
  share: number;
  /** Text of the title: "4 sectors". */
  text: string;
  /** Change since the run before, "−97 %"; empty: no change. */
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

/** Markers move with their lines, so that they stay right while the reader types and the next run is in progress. */
const heatField = StateField.define<RangeSet<GutterMarker>>({
  create: () => RangeSet.empty,
  update(markers, tr) {
    const heat = tr.effects.findLast((e) => e.is(setHeat))?.value as Map<number, Heat> | undefined;
    if (!heat) return markers.map(tr.changes);
    const { doc } = tr.state;
    const lines = [...heat].filter(([line]) => line >= 1 && line <= doc.lines).sort(([a], [b]) => a - b);
    return RangeSet.of(lines.map(([line, h]) => new HeatMarker(h).range(doc.line(line).from)));
  },
});

export const heatGutter = [
  heatField,
  gutter({
    class: "cm-heat",
    markers: (view) => view.state.field(heatField),
    initialSpacer: () => new HeatMarker({ share: 0, text: "", change: "−100 %" }),
  }),
];
