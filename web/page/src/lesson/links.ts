/** Links between the lessons, their headings, puzzles and kernels, as fragments that the page reads. */
export function resolveIn(lesson: number): (href: string) => string | null {
  return (href) => {
    if (/^https:/.test(href)) return href;
    if (href.startsWith("#")) return `#lesson=${lesson}&at=${href.slice(1)}`;
    if (/^README\.md/.test(href)) return "#lesson=1";
    const other = /^(\d)-[\w-]+\.md(?:#(.*))?$/.exec(href);
    return other ? `#lesson=${other[1]}${other[2] ? `&at=${other[2]}` : ""}` : null;
  };
}

/** Where the name of a puzzle or of a kernel's file leads, or null for other words. */
export function namedIn(puzzles: { number: number; name: string }[], kernels: { path: string }[]): (code: string) => string | null {
  return (code) => {
    const puzzle = /^(\d\d)_(\w+)$/.exec(code);
    if (puzzle && puzzles.some((p) => p.number === Number(puzzle[1]) && p.name === puzzle[2])) return `#puzzle=${Number(puzzle[1])}`;
    return kernels.some((k) => k.path === code) ? `#kernel=${code}` : null;
  };
}
