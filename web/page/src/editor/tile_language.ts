/** Highlighting of .tile files. The words come from the compiler's own tables. */
import { HighlightStyle, indentService, StreamLanguage, syntaxHighlighting, type StreamParser } from "@codemirror/language";
import { Tag, tags } from "@lezer/highlight";
import { words } from "virtual:content";

const kinds = new Map<string, string>();
const says = (list: string[], kind: string) => list.forEach((w) => kinds.set(w, kind));
says(words.function, "builtin");
says(words.effect, "effect");
says(words.index, "builtin");
says(words.attribute, "keyword");
says(words.control, "keyword");
says(words.declares, "keyword");
says(words.storage, "keyword");
says(words.type, "type");
says(words.constant, "number");

const effect = Tag.define();

const parser: StreamParser<{ inComment: boolean }> = {
  name: "tile",
  startState: () => ({ inComment: false }),
  token(stream, state) {
    if (state.inComment) {
      if (stream.skipTo("*/")) {
        stream.match("*/");
        state.inComment = false;
      } else stream.skipToEnd();
      return "comment";
    }
    if (stream.eatSpace()) return null;
    if (stream.match("//")) {
      stream.skipToEnd();
      return "comment";
    }
    if (stream.match("/*")) {
      state.inComment = true;
      return "comment";
    }
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return "string";
    if (stream.match(/^(?:0x[\da-fA-F]+|\d+(?:\.\d*)?(?:e[+-]?\d+)?)/)) return "number";
    const word = stream.match(/^[A-Za-z_]\w*/) as RegExpMatchArray | null;
    if (word) return kinds.get(word[0]) ?? "variableName";
    stream.next();
    return null;
  },
  tokenTable: { effect, builtin: tags.standard(tags.name), type: tags.typeName },
  languageData: { commentTokens: { line: "//", block: { open: "/*", close: "*/" } }, indentOnInput: /^\s*\}$/ },
};

export const tileLanguage = StreamLanguage.define(parser);

/** Indents a line like the text above it, one unit more after an open brace and one unit less at a closing one. */
export const tileIndent = indentService.of((context, at) => {
  const { doc } = context.state;
  let number = doc.lineAt(at).number;
  let above = context.simulatedBreak === null ? "" : context.lineAt(at, -1).text;
  while (!above.trim() && number > 1) above = doc.line(--number).text;
  const opens = /\{\s*(\/\/.*)?$/.test(above) ? 1 : 0;
  const closes = /^\s*\}/.test(context.textAfterPos(at)) ? 1 : 0;
  return Math.max(0, /^ */.exec(above)![0].length + context.unit * (opens - closes));
});

/** Colours mean operands and sums in this page, so the text has few colours; weight and lightness mark the rest. */
export const tileHighlighting = syntaxHighlighting(
  HighlightStyle.define([
    { tag: tags.comment, color: "var(--ink-2)", fontStyle: "italic" },
    { tag: tags.keyword, fontWeight: "600" },
    { tag: tags.typeName, fontWeight: "600" },
    { tag: effect, color: "var(--shared)", fontWeight: "600" },
    { tag: tags.string, color: "var(--sum)" },
  ]),
);
