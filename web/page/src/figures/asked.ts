/** The words of a figure's comment in Markdown: `<!-- figure: NAME FILE NAME=VALUE… -->`. */
export interface FigureAsked {
  name: string;
  file: string | null;
  /** Whole numbers: sizes, tuned values, and N, the size for the model. */
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
