/** The heat gutter's rows: one counter of each line of the last run, compared with the run before. */
import type { Trace } from "$engine/trace.ts";
import { isPtx } from "./ptx.ts";
import type { Heat } from "../editor/heat.ts";
import type { LineCounters, Run } from "./results.ts";

export const heatUnits = [
  { id: "global_sectors", name: "sectors of global memory" },
  { id: "shared_wavefronts", name: "wavefronts of shared memory" },
  { id: "warp_instructions", name: "instructions of warps" },
  { id: "thread_instructions", name: "instructions of threads" },
] as const;
export type HeatUnit = (typeof heatUnits)[number]["id"];

/** Of a PTX program, whose lines the counters do not know: what the traced block cost, by the line of each instruction. */
export function linesOfTrace(trace: Trace): LineCounters[] {
  const lines = new Map<number, LineCounters>();
  for (let e = 0; e < trace.count; e++) {
    const site = trace.siteOf(e);
    let line = lines.get(site.ptx);
    if (!line) lines.set(site.ptx, (line = { file: "", line: site.ptx, warp_instructions: 0, thread_instructions: 0 }));
    const kind = trace.kindOf(e);
    const instructions = kind === "compute" || kind === "mma" ? trace.stride[e]! : 1;
    line.warp_instructions += instructions;
    if (!trace.isAccess(e)) continue;
    const counter = site.space === "shared" ? "shared_wavefronts" : "global_sectors";
    line[counter] = Number(line[counter] ?? 0) + trace.units[e]!;
  }
  return [...lines.values()];
}

const valueOf = (l: LineCounters | undefined, unit: HeatUnit) => Number(l?.[unit] ?? 0);

export function heatOf(run: Run | null, before: Run | null, unit: HeatUnit, file: string, trace: Trace | null = null): Map<number, Heat> {
  const lines =
    isPtx(file) && trace ? linesOfTrace(trace) : (run?.counters?.lines ?? []).filter((l) => l.file === file || l.file.endsWith("/" + file));
  const most = Math.max(1, ...lines.map((l) => valueOf(l, unit)));
  const old = new Map((before?.counters?.lines ?? []).map((l) => [l.line, l]));
  const name = heatUnits.find((u) => u.id === unit)!.name;
  const heat = new Map<number, Heat>();
  for (const l of lines) {
    const v = valueOf(l, unit);
    if (!v) continue;
    const was = valueOf(old.get(l.line), unit);
    const change = !before || was === v ? "" : was === 0 ? "new" : `${v > was ? "+" : "−"}${Math.round(Math.abs(v / was - 1) * 100)} %`;
    heat.set(l.line, {
      share: v / most,
      text: `${v.toLocaleString("en-US")} ${name}${was && was !== v ? `, ${was.toLocaleString("en-US")} before` : ""}`,
      change,
    });
  }
  return heat;
}
