/** The rows of docs/suite.md: the speed of the variants that a family chose, compared with the faster library. */

export interface SuiteRow {
  group: string;
  type: string;
  /** "16×4096×4096", "1024³", "512 of 128³". */
  size: string;
  /** How the variant was chosen: "measured", "nearest", "model". */
  chosen: string;
  /** The library's time over the kernel's. */
  ratio: number;
}

function sizeText(m: string, n: string, k: string, batch: string): string {
  const one = m === n && n === k ? `${m}³` : `${m}×${n}×${k}`;
  return batch === "1" ? one : `${batch} of ${one}`;
}

/** Reads the tables that bench/suite_page.py writes. */
export function suiteRows(page: string, type: string): SuiteRow[] {
  return [...page.matchAll(/^\| (\w+) \| (\w+) \|((?: [^|]+ \|){11})$/gm)]
    .filter(([, , rowType]) => rowType === type)
    .map(([, group, , rest]) => {
      const [m, n, k, batch, , chosen, , , , ratio] = rest!.split("|").map((c) => c.trim()) as [
        string,
        string,
        string,
        string,
        ...string[],
      ];
      return { group: group!, type, size: sizeText(m, n, k, batch), chosen: chosen!, ratio: Number(ratio) };
    });
}

/** Returns the device and the date of the page's measurement. */
export function suiteMeasured(page: string): { device: string; date: string } {
  const [, device, date] = /^Measured on (.+?) on (\d{4}-\d\d-\d\d)/m.exec(page)!;
  return { device: device!, date: date! };
}

export interface SuiteGroup {
  name: string;
  rows: SuiteRow[];
  /** Geometric mean of the ratios. */
  mean: number;
}

export function suiteGroups(rows: SuiteRow[]): SuiteGroup[] {
  return [...new Set(rows.map((r) => r.group))].map((name) => {
    const list = rows.filter((r) => r.group === name);
    return { name, rows: list, mean: Math.exp(list.reduce((sum, r) => sum + Math.log(r.ratio), 0) / list.length) };
  });
}
