/** The size of the browser's text. Figures measure in units, 16 of which are the root's font size, so their text grows with the reader's
 * setting. */
import { untrack } from "svelte";

class TextSize {
  /** Pixels of a unit: 1 by default in browsers, 2 if the reader doubled the size of text. */
  unit = $state(1);

  /** Follows the size of an element that is 16rem wide. */
  follow = (element: Element): (() => void) => {
    const observer = new ResizeObserver(() => (this.unit = element.getBoundingClientRect().width / 256 || 1));
    observer.observe(element);
    return () => observer.disconnect();
  };
}

export const textSize = new TextSize();

/** Calls `tell` with the width of an element, in units: `{@attach roomOf((w) => (width = w))}`. */
export function roomOf(tell: (units: number) => void): (element: Element) => () => void {
  return (element) => {
    const { unit } = textSize;
    const measure = () => tell(element.clientWidth / unit);
    untrack(measure);
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  };
}
