/** Markdown of the repository as HTML. Tags in the text are shown as text, links and pictures lead only to allowed places, and comments
 * that name a figure or a source become parts of their own. */
import { Marked, type Token, type Tokens } from "marked";

export type Part =
  | { kind: "html"; html: string }
  | { kind: "figure"; name: string; args: string[]; picture: string | null; alt: string }
  | { kind: "source"; path: string; from: number; to: number; code: string };

export const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;").replaceAll("'", "&#39;");

/** Returns the anchor that GitHub makes of a heading. */
export const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replace(/\s/g, "-");

/** `resolve` returns the page's address for a link of the text; null: the link leads nowhere and is shown as text. */
export type Resolve = (href: string) => string | null;

export interface Options {
  resolve?: Resolve;
  /** Returns the address for a name in code: of a puzzle, of a kernel. */
  named?: Resolve;
  /** The number of levels by which headings are lowered. */
  raised?: number;
}

function markdown({ resolve = () => null, named = () => null, raised = 0 }: Options): Marked {
  return new Marked({
    async: false,
    renderer: {
      html: ({ text }) => (/^\s*<!--[\s\S]*-->\s*$/.test(text) ? "" : escaped(text)),
      heading({ tokens, depth, text }) {
        const level = Math.min(6, depth + raised);
        return `<h${level} id="${escaped(anchorOf(text))}">${this.parser.parseInline(tokens)}</h${level}>\n`;
      },
      link({ href, tokens }) {
        const to = resolve(href);
        const text = this.parser.parseInline(tokens);
        return to === null || !/^(#|https:\/\/)/.test(to) ? text : `<a href="${escaped(to)}">${text}</a>`;
      },
      image: ({ text }) => escaped(text),
      codespan({ text }) {
        const to = named(text);
        const code = `<code>${escaped(text)}</code>`;
        return to === null ? code : `<a href="${escaped(to)}">${code}</a>`;
      },
      code: ({ text, lang }) =>
        // A drawing has no language; the style sheet uses its width in characters to make it fit.
        `<pre tabindex="0"${lang ? ` data-lang="${escaped(lang.split(/\s/)[0]!)}"` : ` class="drawing"`}><code>${escaped(text)}\n</code></pre>\n`,
      table({ header, rows }) {
        const cell = (c: Tokens.TableCell, tag: string) =>
          `<${tag}${c.align ? ` class="${c.align}"` : ""}>${this.parser.parseInline(c.tokens)}</${tag}>`;
        // The corner of a table is not a heading.
        const cells = (row: Tokens.TableCell[], tag: string) =>
          `<tr>${row.map((c) => cell(c, c.text.trim() ? tag : "td")).join("")}</tr>\n`;
        return `<div class="wide" tabindex="0"><table class="data"><thead>${cells(header, "th")}</thead><tbody>${rows.map((r) => cells(r, "td")).join("")}</tbody></table></div>\n`;
      },
    },
  });
}

/** Returns the whole text as one piece of HTML. */
export function toHtml(text: string, options: Options = { raised: 1 }): string {
  return markdown(options).parse(text) as string;
}

const figureComment = /^\s*<!--\s*figure:\s*(\S+)([\s\S]*?)-->\s*$/;
const sourceComment = /^\s*<!--\s*source:\s*(\S+)(?:\s+(\d+)-(\d+))?\s*-->\s*$/;
const diffComment = /^\s*<!--\s*diff:\s*\S+\s+(\S+)\s*-->\s*$/; // the kernel that it leads to is its source

/** Returns the text as parts: figures and sources apart, without the picture that follows a figure's comment. */
export function toParts(text: string, options: Options): Part[] {
  const m = markdown(options);
  const tokens = m.lexer(text);
  const parts: Part[] = [];
  let run: Token[] = [];
  const flush = () => {
    if (run.length) parts.push({ kind: "html", html: m.parser(run) });
    run = [];
  };
  for (let i = 0; i < tokens.length; i++) {
    const t = tokens[i]!;
    const figure = t.type === "html" ? figureComment.exec(t.raw) : null;
    const source = t.type === "html" ? (sourceComment.exec(t.raw) ?? diffComment.exec(t.raw)) : null;
    const after = next(tokens, i);
    if (figure) {
      flush();
      const image = after === null ? null : pictureOf(tokens[after]!);
      const args = figure[2]!.trim().split(/\s+/).filter(Boolean);
      parts.push({ kind: "figure", name: figure[1]!, args, picture: image?.href ?? null, alt: image?.text ?? "" });
      if (image) i = after!;
    } else if (source && after !== null && tokens[after]!.type === "code") {
      flush();
      const code = (tokens[after] as Tokens.Code).text;
      parts.push({ kind: "source", path: source[1]!, from: Number(source[2] ?? 1), to: Number(source[3] ?? 0), code });
      i = after;
    } else run.push(t);
  }
  flush();
  return parts;
}

function next(tokens: Token[], i: number): number | null {
  let n = i + 1;
  while (tokens[n]?.type === "space") n++;
  return n < tokens.length ? n : null;
}

/** Returns the picture of a paragraph that contains nothing else. */
function pictureOf(t: Token): Tokens.Image | null {
  const only = t.type === "paragraph" && t.tokens?.length === 1 ? t.tokens[0]! : null;
  return only?.type === "image" ? (only as Tokens.Image) : null;
}
