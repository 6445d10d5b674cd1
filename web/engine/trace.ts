/* Reads the traces that `tilewright run --trace` writes: docs/trace.md has the format. */

export const KINDS = [
  "read",
  "write",
  "update",
  "arrive",
  "release",
  "warp",
  "fence",
  "issue",
  "commit",
  "land",
  "wait",
  "compute",
  "mma",
  "turn",
  "exit",
  "fault",
] as const;
export type Kind = (typeof KINDS)[number];

/* Bits of the column `flags`. */
export const FLAG = {
  row: 1,
  copy: 2,
  pastL1: 4,
  matrix: 8,
  mbarrier: 16,
  again: 32,
  undefined: 64,
} as const;

export const NO_EVENT = 0xffffffff;

export interface TraceArray {
  name: string;
  /* The variable's name in the kernel's text; null: it has several, or none. */
  view: string | null;
  type: string | null;
  shape: number[];
  address: number;
  bytes: number;
  initial: number | null;
}

export interface TraceShared {
  name: string;
  type: string | null;
  shape: number[];
  address: number;
  bytes: number;
  layout: string | null;
  places: number | null;
}

export interface TraceSite {
  file: string | null;
  line: number;
  column: number;
  length: number;
  text: string | null;
  ptx: number;
  op: string;
  space: "global" | "shared" | null;
  variable: number | null;
  bytes: number;
  phase: "load" | "sync" | "compute" | "store" | null;
  /* The loops of the source around it, the outermost first, each with the turns since its last event `turn`. */
  loops: [loop: number, turns: number][] | null;
}

export interface TraceLoop {
  file: string | null;
  line: number;
  column: number;
  length: number;
  text: string | null;
  ptx: number;
  /* The variable that the condition compares with a bound: it takes the values from, from + step, … below `to` in this launch. */
  variable: string | null;
  from: number | null;
  to: number | null;
  step: number | null;
}

export interface TraceVariable {
  name: string;
  type: string;
  shape: number[];
  word_bytes: number;
  registers: string[];
  elements: number | null;
}

export interface TraceHead {
  version: number;
  tilewright: string;
  kernel: string;
  target: string;
  source: { file: string; hash: string };
  grid: [number, number, number];
  block: [number, number, number];
  traced: [number, number, number];
  threads: number;
  warps: number;
  shared_bytes: number;
  seed: number;
  late: boolean;
  events: number;
  total: number;
  truncated: boolean;
  from: number;
  time: number;
  flops: number;
  ended: string | null;
  /* The first fault of the launch; event null: it was in another block. */
  fault: { block: [number, number, number]; warp: number; lane: number; event: number | null } | null;
  kinds: string[];
  arrays: TraceArray[];
  shared: TraceShared[];
  sites: TraceSite[];
  loops: TraceLoop[];
  variables: TraceVariable[];
  sections: { name: string; type: "u8" | "u16" | "u32" | "i32"; offset: number; count: number }[];
}

/* The variable that an address is in, and the row-major number of the element there; element -1:
 * padding, or the element's type is not known. */
export interface Place {
  space: "global" | "shared";
  variable: number;
  element: number;
}

/* One asynchronous copy: its events, or NO_EVENT. */
export interface Copy {
  issue: number;
  commit: number;
  land: number;
  read: number;
  write: number;
  wait: number;
  group: number;
  bytes: number;
}

export interface Snapshot {
  event: number;
  variable: number;
  /* For each register of the variable, 32 lanes of word_bytes bytes. */
  bytes: Uint8Array;
}

const ELEMENT_BYTES: Readonly<Record<string, number>> = {
  f64: 8,
  f32: 4,
  tf32: 4,
  f16: 2,
  bf16: 2,
  e4m3: 1,
  e5m2: 1,
  i64: 8,
  i32: 4,
  i16: 2,
  i8: 1,
  u64: 8,
  u32: 4,
  u16: 2,
  u8: 1,
  bool: 1,
};

/* Returns the bytes of an element of a type; 0: not known. */
export function elementBytes(type: string | null): number {
  return type === null ? 0 : (ELEMENT_BYTES[type] ?? 0);
}

function halfToNumber(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

function eightToNumber(bits: number, exponentBits: number): number {
  const fractionBits = 7 - exponentBits;
  const bias = 2 ** (exponentBits - 1) - 1;
  const sign = bits & 0x80 ? -1 : 1;
  const exponent = (bits >> fractionBits) & (2 ** exponentBits - 1);
  const fraction = bits & (2 ** fractionBits - 1);
  if (exponentBits === 4 && (bits & 0x7f) === 0x7f) return NaN;
  if (exponentBits === 5 && exponent === 31) return fraction ? NaN : sign * Infinity;
  if (exponent === 0) return sign * fraction * 2 ** (1 - bias - fractionBits);
  return sign * (1 + fraction / 2 ** fractionBits) * 2 ** (exponent - bias);
}

/* Returns the element of that type at an offset, as a number; integers of 64 bits are rounded. */
export function elementAt(view: DataView, at: number, type: string): number {
  switch (type) {
    case "f64":
      return view.getFloat64(at, true);
    case "f32":
    case "tf32":
      return view.getFloat32(at, true);
    case "f16":
      return halfToNumber(view.getUint16(at, true));
    case "bf16": {
      const wide = new DataView(new ArrayBuffer(4));
      wide.setUint32(0, view.getUint16(at, true) << 16, true);
      return wide.getFloat32(0, true);
    }
    case "e4m3":
      return eightToNumber(view.getUint8(at), 4);
    case "e5m2":
      return eightToNumber(view.getUint8(at), 5);
    case "i64":
      return Number(view.getBigInt64(at, true));
    case "u64":
      return Number(view.getBigUint64(at, true));
    case "i32":
      return view.getInt32(at, true);
    case "u32":
      return view.getUint32(at, true);
    case "i16":
      return view.getInt16(at, true);
    case "u16":
      return view.getUint16(at, true);
    case "i8":
      return view.getInt8(at);
    default:
      return view.getUint8(at);
  }
}

function lanesOf(mask: number): number {
  let count = 0;
  for (let rest = mask >>> 0; rest; rest = (rest & (rest - 1)) >>> 0) count++;
  return count;
}

export class Trace {
  readonly head: TraceHead;
  readonly count: number;
  /* Bytes of the file. */
  readonly bytes: number;
  readonly time: Uint32Array;
  readonly warp: Uint16Array;
  readonly site: Uint16Array;
  readonly mask: Uint32Array;
  readonly base: Uint32Array;
  readonly stride: Int32Array;
  readonly kind: Uint8Array;
  readonly flags: Uint8Array;
  readonly units: Uint8Array;
  readonly least: Uint8Array;
  readonly rows: Int32Array;
  readonly servedEvent: Uint32Array;
  readonly servedRow: Uint32Array;
  readonly valueEvent: Uint32Array;
  readonly valueStart: Uint32Array;
  readonly values: Uint8Array;
  readonly initial: Uint8Array;
  readonly sharedAtStart: Uint8Array;
  readonly snapshotEvent: Uint32Array;
  readonly snapshotVariable: Uint16Array;
  readonly snapshotStart: Uint32Array;
  readonly snapshotBytes: Uint8Array;
  readonly copyRows: Uint32Array;
  readonly places: Uint32Array;
  readonly elements: Int32Array;
  private readonly elementOfPlace = new Map<number, Map<number, number>>();

  /* Takes the bytes of a trace, which it does not copy. Throws an Error if they are not a trace. */
  constructor(file: ArrayBuffer | Uint8Array) {
    const bytes = file instanceof Uint8Array ? file : new Uint8Array(file);
    /* Columns are views of the buffer: they must begin at multiples of 8. */
    const whole = bytes.byteOffset % 8 === 0 ? bytes : bytes.slice();
    const view = new DataView(whole.buffer, whole.byteOffset, whole.byteLength);
    if (whole.byteLength < 16 || view.getUint32(0, true) !== 0x52545754)
      throw new Error("this is not a trace of tilewright: it does not begin with TWTR");
    const version = view.getUint32(4, true);
    if (version !== 1) throw new Error(`this trace has version ${version}; this page reads version 1`);
    const length = view.getUint32(8, true);
    if (16 + length > whole.byteLength) throw new Error("this trace is cut off: its head is not complete");
    const head = JSON.parse(new TextDecoder().decode(whole.subarray(16, 16 + length))) as TraceHead;
    const data = (16 + length + 7) & ~7;
    const find = (name: string, type: string, size: number): [ArrayBuffer, number, number] => {
      const section = head.sections.find((s) => s.name === name);
      if (!section) return [new ArrayBuffer(0), 0, 0];
      if (section.type !== type) throw new Error(`section ${name} has type ${section.type}, not ${type}`);
      if (data + section.offset + section.count * size > whole.byteLength)
        throw new Error(`this trace is cut off: section ${name} is not complete`);
      return [whole.buffer as ArrayBuffer, whole.byteOffset + data + section.offset, section.count];
    };
    const u8 = (name: string) => new Uint8Array(...find(name, "u8", 1));
    const u16 = (name: string) => new Uint16Array(...find(name, "u16", 2));
    const u32 = (name: string) => new Uint32Array(...find(name, "u32", 4));
    const i32 = (name: string) => new Int32Array(...find(name, "i32", 4));
    this.head = head;
    this.bytes = whole.byteLength;
    this.count = head.events;
    this.time = u32("time");
    this.warp = u16("warp");
    this.site = u16("site");
    this.mask = u32("mask");
    this.base = u32("base");
    this.stride = i32("stride");
    this.kind = u8("kind");
    this.flags = u8("flags");
    this.units = u8("units");
    this.least = u8("least");
    this.rows = i32("rows");
    this.servedEvent = u32("served_event");
    this.servedRow = u32("served_row");
    this.valueEvent = u32("value_event");
    this.valueStart = u32("value_start");
    this.values = u8("values");
    this.initial = u8("initial");
    this.sharedAtStart = u8("shared");
    this.snapshotEvent = u32("snapshot_event");
    this.snapshotVariable = u16("snapshot_variable");
    this.snapshotStart = u32("snapshot_start");
    this.snapshotBytes = u8("snapshots");
    this.copyRows = u32("copies");
    this.places = u32("places");
    this.elements = i32("elements");
  }

  kindOf(event: number): Kind {
    return KINDS[this.kind[event]!]!;
  }

  siteOf(event: number): TraceSite {
    return this.head.sites[this.site[event]!]!;
  }

  /** Returns the instructions of the warp that an event represents. */
  instructionsOf(e: number): number {
    const kind = this.kindOf(e);
    return kind === "compute" || kind === "mma" ? this.stride[e]! : 1;
  }

  isAccess(event: number): boolean {
    return this.kind[event]! <= 2;
  }

  /* Returns the address that a lane in the event's mask accesses. */
  address(event: number, lane: number): number {
    const mask = this.mask[event]!;
    const base = this.base[event]!;
    if (this.flags[event]! & FLAG.row) return base + this.rows[32 * this.stride[event]! + lane]!;
    const lowest = 31 - Math.clz32(mask & -mask);
    return base + (lane - lowest) * this.stride[event]!;
  }

  /* Returns, for each lane, the wavefront of shared memory that serves it in this access, from 0; -1: none does. */
  wavefrontsOf(event: number): number[] {
    let low = 0;
    let high = this.servedEvent.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.servedEvent[middle]! <= event) low = middle + 1;
      else high = middle;
    }
    const site = this.site[event];
    do low--;
    while (low >= 0 && this.site[this.servedEvent[low]!] !== site);
    const row = low < 0 ? 0 : this.servedRow[low]!;
    return Array.from({ length: 32 }, (_, lane) => ((this.mask[event]! >>> lane) & 1 ? (row ? this.rows[32 * (row - 1) + lane]! : 0) : -1));
  }

  /* Returns the bytes that the lanes ask for, counted by thread. */
  bytesByThread(event: number): number {
    return this.siteOf(event).bytes * lanesOf(this.mask[event]!);
  }

  /* Returns the bytes that the request moves: sectors of 32, wavefronts of 128. */
  bytesByRequest(event: number): number {
    return this.units[event]! * (this.siteOf(event).space === "shared" ? 128 : 32);
  }

  /* Returns the values of an event: for each lane in its mask, ascending, its bytes. null: it has none. */
  valuesOf(event: number): Uint8Array | null {
    let low = 0;
    let high = this.valueEvent.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.valueEvent[middle]! < event) low = middle + 1;
      else high = middle;
    }
    if (this.valueEvent[low] !== event) return null;
    const start = this.valueStart[low]!;
    return this.values.subarray(start, start + this.bytesByThread(event));
  }

  /* Returns the variable and element at an address; null: it is in none. */
  locate(address: number, site?: TraceSite): Place | null {
    if (address < this.head.shared_bytes) return this.locateShared(address, site);
    const index = this.head.arrays.findIndex((a) => address >= a.address && address < a.address + a.bytes);
    const array = this.head.arrays[index];
    if (!array) return null;
    const size = elementBytes(array.type);
    const element = size ? Math.floor((address - array.address) / size) : -1;
    return { space: "global", variable: index, element };
  }

  /* Like locate, in shared memory. Variables with separate live ranges may share memory; the site tells which one is meant. */
  private locateShared(address: number, site?: TraceSite): Place | null {
    const meant = site?.space === "shared" ? site.variable : null;
    const holds = (v: TraceShared) => address >= v.address && address < v.address + v.bytes;
    const index = meant !== null ? meant : this.head.shared.findIndex(holds);
    const variable = this.head.shared[index];
    if (!variable || !holds(variable)) return null;
    const size = elementBytes(variable.type);
    if (!size) return { space: "shared", variable: index, element: -1 };
    if (variable.places === null) return { space: "shared", variable: index, element: Math.floor((address - variable.address) / size) };
    const at = address - ((address - variable.address) % size);
    return { space: "shared", variable: index, element: this.tableOf(index, variable).get(at) ?? -1 };
  }

  private tableOf(index: number, variable: TraceShared): Map<number, number> {
    let table = this.elementOfPlace.get(index);
    if (!table) {
      table = new Map();
      const count = variable.shape.reduce((a, b) => a * b, 1);
      for (let i = 0; i < count; i++) table.set(this.places[variable.places! + i]!, i);
      this.elementOfPlace.set(index, table);
    }
    return table;
  }

  /* Returns the address of an element of a shared variable. */
  sharedAddress(index: number, element: number): number {
    const variable = this.head.shared[index]!;
    if (variable.places !== null) return this.places[variable.places + element]!;
    return variable.address + element * elementBytes(variable.type);
  }

  copies(): Copy[] {
    const list: Copy[] = [];
    for (let i = 0; i + 8 <= this.copyRows.length; i += 8) {
      const [issue, commit, land, read, write, wait, group, bytes] = this.copyRows.subarray(i, i + 8) as unknown as [
        number,
        number,
        number,
        number,
        number,
        number,
        number,
        number,
      ];
      list.push({ issue, commit, land, read, write, wait, group, bytes });
    }
    return list;
  }

  snapshot(index: number): Snapshot {
    const variable = this.snapshotVariable[index]!;
    const v = this.head.variables[variable]!;
    const start = this.snapshotStart[index]!;
    const bytes = this.snapshotBytes.subarray(start, start + v.registers.length * 32 * v.word_bytes);
    return { event: this.snapshotEvent[index]!, variable, bytes };
  }
}

/* Shared memory and the arrays as the traced block sees them, after any number of its events. Steps back are as cheap as steps forward,
 * because each write keeps the bytes that it replaced. */
export class Memory {
  readonly shared: Uint8Array;
  readonly arrays: (Uint8Array | null)[];
  /* The number of events that are applied. */
  at = 0;
  private readonly undone: (Uint8Array | null)[] = [];

  constructor(readonly trace: Trace) {
    const head = trace.head;
    this.shared = new Uint8Array(head.shared_bytes);
    this.shared.set(trace.sharedAtStart.subarray(0, head.shared_bytes));
    this.arrays = head.arrays.map((a) => (a.initial === null ? null : trace.initial.slice(a.initial, a.initial + a.bytes)));
  }

  /* Goes to the state after the first `events` events. */
  seek(events: number): void {
    while (this.at < events && this.at < this.trace.count) this.forward();
    while (this.at > events && this.at > 0) this.back();
  }

  private region(address: number): [Uint8Array, number] | null {
    const head = this.trace.head;
    if (address < head.shared_bytes) return [this.shared, address];
    const index = head.arrays.findIndex((a) => address >= a.address && address < a.address + a.bytes);
    const bytes = index < 0 ? null : this.arrays[index];
    return bytes ? [bytes, address - head.arrays[index]!.address] : null;
  }

  private exchange(event: number, bytes: Uint8Array): Uint8Array {
    const each = this.trace.siteOf(event).bytes;
    const mask = this.trace.mask[event]!;
    const before = new Uint8Array(bytes.length);
    let from = 0;
    for (let lane = 0; lane < 32; lane++) {
      if (!((mask >>> lane) & 1)) continue;
      const place = this.region(this.trace.address(event, lane));
      if (place) {
        before.set(place[0].subarray(place[1], place[1] + each), from);
        place[0].set(bytes.subarray(from, from + each), place[1]);
      }
      from += each;
    }
    return before;
  }

  private forward(): void {
    const event = this.at++;
    const kind = this.trace.kind[event];
    const values = kind === 1 || kind === 2 ? this.trace.valuesOf(event) : null;
    this.undone.push(values ? this.exchange(event, values) : null);
  }

  private back(): void {
    const event = --this.at;
    const before = this.undone.pop();
    if (before) this.exchange(event, before);
  }
}
