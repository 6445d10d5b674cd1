/** The heat gutter's rows: one counter of each line of the last run, compared with the run before. */
import type { Trace } from "$engine/trace.ts";
import { isPtx } from "./ptx.ts";
import type { Heat } from "../editor/heat.ts";
import { diffLines } from "../figures/line_diff.ts";
import type { LineCounters, Run } from "./results.ts";

/** A run, and the text of its program. */
export interface Ran {
  run: Run;
  file: string;
  source: string;
}

export const heatUnits = [
  { id: "global_sectors", name: "sectors of global memory" },
  { id: "shared_wavefronts", name: "wavefronts of shared memory" },
  { id: "warp_instructions", name: "instructions of warps" },
  { id: "thread_instructions", name: "instructions of threads" },
] as const;
export type HeatUnit = (typeof heatUnits)[number]["id"];

/** Returns the cost of the traced block by the line of each instruction, for a PTX program, whose lines have no counters. */
export function linesOfTrace(trace: Trace): LineCounters[] {
  const lines = new Map<number, LineCounters>();
  for (let e = 0; e < trace.count; e++) {
    const site = trace.siteOf(e);
    let line = lines.get(site.ptx);
    if (!line) lines.set(site.ptx, (line = { file: "", line: site.ptx, warp_instructions: 0, thread_instructions: 0 }));
    const instructions = trace.instructionsOf(e);
    line.warp_instructions += instructions;
    if (!trace.isAccess(e)) continue;
    const counter = site.space === "shared" ? "shared_wavefronts" : "global_sectors";
    line[counter] = Number(line[counter] ?? 0) + trace.units[e]!;
  }
  return [...lines.values()];
}

const valueOf = (l: LineCounters | undefined, unit: HeatUnit) => Number(l?.[unit] ?? 0);

const linesIn = ({ run, file }: Ran) => (run.counters?.lines ?? []).filter((l) => l.file === file || l.file.endsWith("/" + file));

/** Returns, for each line of the newer text, the line of the older one that it was: the same text, or the line that it replaced. */
export function linesBefore(older: string, newer: string): Map<number, number> {
  const known = new Map<number, number>();
  let at = 0;
  let replaced: number[] = [];
  for (const { sign, number } of diffLines(older.split("\n"), newer.split("\n"))) {
    if (sign !== "+") at++;
    if (sign === "−") replaced.push(at);
    else if (sign === "+") {
      const was = replaced.shift();
      if (was !== undefined) known.set(number!, was);
    } else {
      known.set(number!, at);
      replaced = [];
    }
  }
  return known;
}

export function heatOf(now: Ran | null, before: Ran | null, unit: HeatUnit, trace: Trace | null = null): Map<number, Heat> {
  const heat = new Map<number, Heat>();
  if (!now) return heat;
  const ptx = isPtx(now.file);
  const lines = ptx ? (trace ? linesOfTrace(trace) : []) : linesIn(now);
  const older = before && !ptx && before.file === now.file ? before : null;
  const old = new Map((older ? linesIn(older) : []).map((l) => [l.line, l]));
  const was = older ? linesBefore(older.source, now.source) : null;
  const most = Math.max(1, ...lines.map((l) => valueOf(l, unit)));
  const name = heatUnits.find((u) => u.id === unit)!.name;
  for (const l of lines) {
    const v = valueOf(l, unit);
    if (!v) continue;
    const b = valueOf(old.get(was?.get(l.line) ?? -1), unit);
    const change = !was || b === v ? "" : b === 0 ? "new" : `${v > b ? "+" : "−"}${Math.round(Math.abs(v / b - 1) * 100)} %`;
    heat.set(l.line, {
      share: v / most,
      text: `${v.toLocaleString("en-US")} ${name}${b && b !== v ? `, ${b.toLocaleString("en-US")} before` : ""}`,
      change,
    });
  }
  return heat;
}
