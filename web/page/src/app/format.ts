/** Formats numbers in the usual notation of the field. */
const units = ["", "k", "M", "G", "T", "P"];

/** Returns a number with three digits and a prefix: 8.59 G, 268 M, 12.6 k. */
export function scaled(value: number, unit = ""): string {
  if (!Number.isFinite(value)) return "–";
  let power = 0;
  let v = value;
  while (Math.abs(v) >= 999.5 && power < units.length - 1) {
    v /= 1000;
    power++;
  }
  const text = Math.abs(v) >= 99.95 || Number.isInteger(v) ? v.toFixed(0) : Math.abs(v) >= 9.995 ? v.toFixed(1) : v.toFixed(2);
  const suffix = units[power]! + unit;
  return suffix ? `${text} ${suffix}` : text;
}
export const bytes = (v: number) => scaled(v, "B");
const grouped = new Intl.NumberFormat("en-US");
export const count = (v: number) => grouped.format(v);
export function seconds(v: number): string {
  if (v < 1e-3) return `${significant(v * 1e6)} µs`;
  return v < 1 ? `${significant(v * 1e3)} ms` : `${significant(v)} s`;
}
export function significant(v: number, digits = 3): string {
  if (v === 0 || !Number.isFinite(v)) return v === 0 ? "0" : "–";
  const whole = Math.ceil(Math.log10(Math.abs(v) + Number.EPSILON));
  return v.toFixed(Math.max(0, Math.min(12, digits - Math.max(whole, Math.abs(v) < 1 ? whole : 1))));
}
export const percent = (v: number) => `${significant(v * 100)} %`;
/** Returns a size in kibibytes, for memory that is allocated in powers of two. */
export function kib(v: number): string {
  return v >= 1024 ? `${Number.isInteger(v / 1024) ? v / 1024 : (v / 1024).toFixed(1)} KiB` : `${v} B`;
}

/** Returns a message as a sentence, with a capital letter. */
export const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
