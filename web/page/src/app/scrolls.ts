/** Lets the keyboard reach an element while it scrolls sideways: `{@attach scrolls}`. */
export function scrolls(element: HTMLElement): () => void {
  const observer = new ResizeObserver(() => {
    if (element.scrollWidth > element.clientWidth) element.tabIndex = 0;
    else element.removeAttribute("tabindex");
  });
  observer.observe(element);
  return () => observer.disconnect();
}
