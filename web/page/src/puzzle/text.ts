/** The parts of a puzzle.md: a title, the statement, the drawing of its case, hints, and the explanation of the solution. */
export interface PuzzleText {
  title: string;
  /** The text before the drawing of the case, and the text after it. */
  statement: [string, string];
  /** The drawing as characters; null: there is none, and its place is at the end. */
  drawing: string | null;
  hints: string[];
  solution: string;
}

export function readPuzzle(text: string): PuzzleText {
  const [head = "", ...sections] = text.split(/^## /m);
  const title = /^# (.*)/m.exec(head)?.[1] ?? "";
  const hints = sections.filter((s) => s.startsWith("Hint")).map(below);
  const solution = sections.find((s) => s.startsWith("Solution"));
  const whole = below(head);
  const fence = /^```case\n([\s\S]*?)\n```$/m.exec(whole);
  const statement: [string, string] = fence ? [whole.slice(0, fence.index), whole.slice(fence.index + fence[0].length)] : [whole, ""];
  return { title, statement, drawing: fence?.[1] ?? null, hints, solution: solution ? below(solution) : "" };
}

const below = (section: string) => section.slice(section.indexOf("\n") + 1).trim();
