/** Calls `tell` when an element comes into view or leaves it: `{@attach inView((v) => (visible = v))}`. Expensive cards compute only in
 * view. */
export function inView(tell: (visible: boolean) => void): (element: Element) => () => void {
  return (element) => {
    const observer = new IntersectionObserver((entries) => tell(entries.at(-1)!.isIntersecting), { rootMargin: "120px" });
    observer.observe(element);
    return () => observer.disconnect();
  };
}
