/** The file of progress, which `tilewright learn` keeps at the path $TILEWRIGHT_LEARN: one line a puzzle, its name and then words. The
 * page keeps the same text, and the engine in the page writes it. */

const first = "# tilewright learn: puzzle, then what was done with it\n";

export const isProgress = (text: string) => text === "" || text.startsWith("# tilewright learn");

type Words = Map<string, number | null>; // passed: null; tries: 3

function read(text: string): Map<string, Words> {
  const puzzles = new Map<string, Words>();
  for (const line of text.split("\n")) {
    const [puzzle, ...words] = line.trim().split(/\s+/);
    if (!puzzle || puzzle.startsWith("#")) continue;
    puzzles.set(
      puzzle,
      new Map(
        words.map((w) => {
          const [name, value] = w.split("=");
          return [name!, value === undefined ? null : Number(value) || 0];
        }),
      ),
    );
  }
  return puzzles;
}

/** Merges both files: a puzzle is passed if either file has it passed, and of counts the larger is kept. */
export function merged(mine: string, other: string): string {
  const all = read(other);
  for (const [puzzle, words] of read(mine)) {
    const known = all.get(puzzle) ?? new Map<string, number | null>();
    for (const [name, value] of words) known.set(name, value === null ? null : Math.max(value, known.get(name) ?? 0));
    all.set(puzzle, known);
  }
  const lines = [...all].sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }));
  return (
    first +
    lines.map(([puzzle, words]) => [puzzle, ...[...words].map(([n, v]) => (v === null ? n : `${n}=${v}`))].join(" ") + "\n").join("")
  );
}
