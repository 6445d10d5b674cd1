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

/** The words of a figure's comment: FILE, then NAME=VALUE. */
export interface FigureAsked {
  name: string;
  file: string | null;
  values: Record<string, number>;
  words: Record<string, string>;
}

export function readFigure(name: string, args: string[]): FigureAsked {
  const asked: FigureAsked = { name, file: null, values: {}, words: {} };
  for (const word of args) {
    const [key, value] = word.split("=");
    if (value === undefined) asked.file = word;
    else if (/^-?\d+$/.test(value)) asked.values[key!] = Number(value);
    else asked.words[key!] = value;
  }
  return asked;
}
