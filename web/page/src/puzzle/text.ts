/** The parts of a puzzle.md: a title, the statement, hints, and the explanation of the solution. */
export interface PuzzleText {
  title: string;
  statement: string;
  hints: string[];
  solution: string;
}

export function readPuzzle(text: string): PuzzleText {
  const [head = "", ...sections] = text.split(/^## /m);
  const title = /^# (.*)/m.exec(head)?.[1] ?? "";
  const hints = sections.filter((s) => s.startsWith("Hint")).map(below);
  const solution = sections.find((s) => s.startsWith("Solution"));
  return { title, statement: below(head), hints, solution: solution ? below(solution) : "" };
}

const below = (section: string) => section.slice(section.indexOf("\n") + 1).trim();
