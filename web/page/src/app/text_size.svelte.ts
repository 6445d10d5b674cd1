/** The size of the browser's text. Figures measure in units of which 16 are the root's font size: their text grows as the reader wishes. */
import { untrack } from "svelte";

class TextSize {
  /** Pixels of a unit: 1 as browsers come, 2 if the reader doubled the size of text. */
  unit = $state(1);

  /** Follows the size of an element that is 16rem wide. */
  follow = (element: Element): (() => void) => {
    const observer = new ResizeObserver(() => (this.unit = element.getBoundingClientRect().width / 256 || 1));
    observer.observe(element);
    return () => observer.disconnect();
  };
}

export const textSize = new TextSize();

/** Tells how wide an element is, in units: `{@attach roomOf((w) => (width = w))}`. */
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
