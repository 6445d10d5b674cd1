/** Returns the cell that an arrow key, Home, End (with Ctrl: of the whole grid) or a page key leads to; null: another key. */
export function stepOf(
  { key, ctrlKey }: KeyboardEvent,
  row: number,
  column: number,
  rows: number,
  columns: number,
  page = 8,
): [number, number] | null {
  const to: Record<string, [number, number]> = {
    ArrowUp: [row - 1, column],
    ArrowDown: [row + 1, column],
    ArrowLeft: [row, column - 1],
    ArrowRight: [row, column + 1],
    Home: [ctrlKey ? 0 : row, 0],
    End: [ctrlKey ? rows - 1 : row, columns - 1],
    PageUp: [row - page, column],
    PageDown: [row + page, column],
  };
  const found = to[key];
  if (!found) return null;
  return [Math.min(rows - 1, Math.max(0, found[0])), Math.min(columns - 1, Math.max(0, found[1]))];
}

/** Returns the pointer's place in the drawing, in the drawing's units. */
export function pointIn(svg: SVGSVGElement, event: MouseEvent): [number, number] {
  const box = svg.getBoundingClientRect();
  const view = svg.viewBox.baseVal;
  return [((event.clientX - box.left) * view.width) / box.width, ((event.clientY - box.top) * view.height) / box.height];
}
