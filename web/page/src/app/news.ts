/** Tells the changes between two lists of messages in one sentence, for a reader with a screen reader: the whole list at each edit would
 * be too much. */
export interface Said {
  line: number | null;
  text: string;
}

/** Returns the messages of `after` that `before` lacks. The line may differ, because lines move while the reader types. */
function newOnes(before: Said[], after: Said[]): Said[] {
  const left = before.map((m) => m.text);
  return after.filter((m) => {
    const at = left.indexOf(m.text);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

/** Returns the sentence; "" if the lists have the same messages. */
export function newsOf(before: Said[], after: Said[]): string {
  const added = newOnes(before, after);
  const count = after.length === 1 ? "1 message" : `${after.length} messages`;
  const [first] = added;
  if (!first) return after.length === before.length ? "" : after.length ? `${count} left.` : "No mistakes found.";
  const place = first.line ? `line ${first.line}: ` : "";
  const more = added.length > 1 ? `; ${added.length - 1} more ${added.length === 2 ? "is" : "are"} new` : "";
  return `${count}. New: ${place}${first.text.replaceAll("`", "").replace(/\.$/, "")}${more}.`;
}
