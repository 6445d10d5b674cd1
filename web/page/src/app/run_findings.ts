import type { Finding, Message } from "./results.ts";

/** Returns errors and warnings, each with the notes that follow it. */
export function findingsOf(messages: Message[]): Finding[] {
  const found: Finding[] = [];
  for (const m of messages)
    if (m.severity === "note") found.at(-1)?.notes.push(m);
    else found.push({ ...m, kind: m.code ?? "other", accesses: [], notes: [] });
  return found;
}
