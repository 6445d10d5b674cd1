/** The kernels of one ladder: measured times, and predictions of the model. */
import type { Lesson, Measured } from "../app/content_types.ts";
import type { Explained, Interval } from "../app/results.ts";

export interface Step {
  /** A name that is unique in the ladder. */
  key: string;
  name: string;
  measured: Measured | null;
  predicted: Explained | null;
  current: boolean;
}

export const plots = [
  { id: "rate", name: "rate", says: "operations a second" },
  { id: "share", name: "of peak", says: "share of what the units can do" },
  { id: "time", name: "time", says: "milliseconds, less is faster" },
] as const;
export type Plot = (typeof plots)[number]["id"];

/** FLOPs of a product of 4096³. */
const work = 2 * 4096 ** 3;

export const measuredKey = (m: Measured): string => `${m.path}:${m.kernel ?? ""} ${m.type}`;

/** Returns the kernels of the last lesson's picture, in its order. */
export function lessonLadder(lessons: Lesson[], all: Measured[], type: string): Measured[] {
  const asked = lessons.map((l) => /<!-- figure: ladder (.*?)-->/.exec(l.text)?.[1]).find((words) => words) ?? "";
  const names = new RegExp(`(?:^| )${type}=(\\S+)`).exec(asked)?.[1]?.split(",") ?? [];
  return names.map((n) => all.find((m) => m.path === `kernels/${n}.tile` && m.type === type)).filter((m) => m !== undefined);
}

/** Returns the value to plot. `peak`: operations a second of the units, of the device of the measurement or prediction. */
export function measuredValue(m: Measured, plot: Plot, peak: number | null): number | null {
  if (plot === "time") return m.ms;
  if (plot === "rate") return m.rate * 1e12;
  return peak ? (m.rate * 1e12) / peak : null;
}

/** Returns the least, likely and greatest value. */
export function predictedValue(e: Explained, plot: Plot): Interval | null {
  if (!e.launches) return null;
  if (plot === "time") return e.seconds.map((s) => s * 1000) as Interval;
  const rates = e.flops_per_second;
  return plot === "rate" ? rates : (rates.map((r) => r / (e.peak || Infinity)) as Interval);
}

/** True for products: only their rates are in operations a second. */
export const isProduct = (m: Measured): boolean => Math.abs((m.rate * 1e12 * m.ms) / 1e3 / work - 1) < 0.02;
