/** Returns a function that gives the targets of a lesson's links, as fragments that the page reads. `files`: the names of all lessons'
 * files, in order. */
export function resolveIn(lesson: number, files: string[]): (href: string) => string | null {
  return (href) => {
    if (/^https:/.test(href)) return href;
    if (href.startsWith("#")) return `#lesson=${lesson}&at=${href.slice(1)}`;
    if (/^README\.md/.test(href)) return "#lesson=1";
    const [name, at] = href.split("#");
    const other = files.indexOf(name!) + 1;
    return other ? `#lesson=${other}${at ? `&at=${at}` : ""}` : null;
  };
}

/** Returns a function that gives the target for the name of a puzzle or of a kernel's file, and null for other words. */
export function namedIn(puzzles: { number: number; name: string }[], kernels: { path: string }[]): (code: string) => string | null {
  return (code) => {
    const puzzle = /^(\d\d)_(\w+)$/.exec(code);
    if (puzzle && puzzles.some((p) => p.number === Number(puzzle[1]) && p.name === puzzle[2])) return `#puzzle=${Number(puzzle[1])}`;
    return kernels.some((k) => k.path === code) ? `#kernel=${code}` : null;
  };
}
