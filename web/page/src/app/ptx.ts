/** PTX of other compilers: its kernels, and the launch that the reader says for one. */
export interface PtxEntry {
  name: string;
  params: { name: string; type: string }[];
  /** Threads of a block that .reqntid or .maxntid says; null: neither is there. */
  threads: number | null;
}
export interface PtxLaunch {
  kernel: string;
  grid: string;
  block: string;
  /** One for each parameter, as `--arg` takes it. */
  args: string[];
}

export function entriesOf(text: string): PtxEntry[] {
  return [...text.matchAll(/\.entry\s+([\w$]+)\s*(?:\(([^)]*)\))?([^{;]*)/g)].map((m) => ({
    name: m[1]!,
    params: [
      ...(m[2] ?? "").matchAll(/\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+(?:\.ptr\S*\s+(?:\.\w+\s+)*(?:\.align\s+\d+\s+)?)?([\w$]+)/g),
    ].map((p) => ({
      type: p[1]!,
      name: p[2]!,
    })),
    threads: Number(/\.(?:req|max)ntid\s+(\d+)/.exec(m[3] ?? "")?.[1] ?? 0) || null,
  }));
}

const elements = 1024;

/** A launch to begin with: one block, random arrays of 1,024 floats for 64-bit parameters, 1,024 for integers. */
export function firstLaunch(entry: PtxEntry): PtxLaunch {
  const args = entry.params.map(({ type }) => {
    if (/^[usb]64$/.test(type)) return `f32[${elements}]:rand`;
    if (/^f(16|32|64)$/.test(type)) return `${type}:1`;
    return /^[usb]32$/.test(type) ? `i32:${elements}` : `i16:1`;
  });
  return { kernel: entry.name, grid: "1", block: String(entry.threads ?? 128), args };
}

export const isPtx = (file: string) => /\.ptx$/.test(file);
