/** The picture of a trace at one event, as data: panels of paths and numbers. It depends only on the trace, the event and the width, not
 * on the way to the event. */
import { elementAt, elementBytes, NO_EVENT, type Trace } from "$engine/trace.ts";
import { plainName, sharedName, StepIndex, upTo, type Role } from "./step_index.ts";
import { layOut, type Box, type Layout } from "./step_layout.ts";
import { StepMemory } from "./step_memory.ts";
import { RegisterValues } from "./step_registers.ts";
import { coarseOf, isCoarse, leastOf, meansOf, tilesOf, type Coarse } from "./step_coarse.ts";
import { gridPath, pathOf, sheetsOf, shortNumber, subscript, type Sheets } from "./step_sheet.ts";

/** Parts of a panel, the lowest first: the block's part; the turn's tile; its elements that were already touched; for shared memory,
 * bytes never written, held, written in this phase; four levels of a register's size; the event's reads and writes, and its reads of
 * bytes that were never written; the chosen thread's elements; the elements that a value comes from. */
export type LayerKind =
  "block" | "tile" | "done" | "never" | "held" | "fresh" | "l1" | "l2" | "l3" | "l4" | "read" | "write" | "unset" | "lane" | "why";

export interface Panel {
  key: string;
  group: Box["group"];
  /** The number of the array, shared variable or register variable, and the sheet of its pile. */
  number: number;
  sheet: number;
  name: string;
  about: string;
  role: Role;
  x: number;
  y: number;
  w: number;
  h: number;
  rows: number;
  cols: number;
  layers: { kind: LayerKind; d: string }[];
  grid: string;
  texts: { x: number; y: number; text: string; strong: boolean }[];
  label: string;
}
export interface Picture {
  legend: Layout["legend"];
  width: number;
  height: number;
  panels: Panel[];
}

const READ = 0;
/** The most cells in a row or column that are drawn one by one; of larger panels only parts are drawn. */
const MOST_CELLS = 32;
const MOST_SHEETS = 5;
/** A larger sheet is drawn as tiles; this is the most in a row or column. Registers, whose values differ everywhere, have fewer. */
const MOST_TILES = 256;
const MOST_MEANS = 32;
/** The narrowest cell that shows its number. */
const TEXT_CELL = 26;

interface Source extends Box {
  number: number;
  sheet: number;
  name: string;
  about: string;
  role: Role;
  sheets: Sheets;
  coarse: Coarse;
}

/** Cells of a sheet in the order in which events touch them. */
interface Touches {
  /** Cells or, of a large sheet, tiles, ascending, and the first event that touches each. */
  tiles: ArrayLike<number>;
  first: ArrayLike<number>;
  /** The events that first touch a cell, ascending: they tell the number of touched cells at any event. */
  order: Uint32Array;
  /** The path for the last event that was asked for: it stays the same until another cell is touched. */
  count: number;
  d: string;
}

export class Stepper {
  readonly index: StepIndex;
  readonly memory: StepMemory;
  readonly registers: RegisterValues;
  readonly #sources: Source[];
  /** The grains (see StepMemory) of the elements of each shared variable. */
  readonly #grains: Uint32Array[];
  readonly #names: string[];

  constructor(readonly trace: Trace) {
    this.index = StepIndex.of(trace);
    this.memory = new StepMemory(trace);
    this.registers = new RegisterValues(trace);
    this.#names = trace.head.arrays.map((a, i) => a.view ?? viewName(trace, i) ?? a.name);
    this.#grains = trace.head.shared.map((v, i) => {
      const size = elementBytes(v.type) || 4;
      const count = Math.floor(v.bytes / size);
      const elements = v.shape.length ? v.shape.reduce((p, d) => p * d, 1) : count;
      const at = (e: number) => (v.places === null ? v.address + e * size : trace.sharedAddress(i, e));
      return Uint32Array.from({ length: Math.min(elements, 1 << 18) }, (_, e) => Math.floor(at(e) / this.memory.grain));
    });
    this.#sources = this.#collect();
  }

  #collect(): Source[] {
    const { head } = this.trace;
    const list: Source[] = [];
    const add = (
      group: Box["group"],
      number: number,
      name: string,
      type: string | null,
      shape: number[],
      sheets: Sheets,
      role: Role,
      shown: number[],
    ) =>
      shown.slice(0, MOST_SHEETS).forEach((sheet) => {
        const title = sheets.count > 1 ? `${name}[${subscript(sheet, shape.slice(0, -2)).join("][")}]` : name;
        const about = sheets.count > 1 && sheet !== shown[0] ? "" : `${shape.join(" × ")} ${type ?? ""}`.trim();
        list.push({
          group,
          number,
          sheet,
          name: title,
          about,
          title: `${title}  ${about}`,
          role,
          sheets,
          coarse: coarseOf(sheets, group === "register" ? MOST_MEANS : MOST_TILES),
          rows: sheets.rows,
          cols: sheets.cols,
        });
      });
    const all = (sheets: Sheets) => Array.from({ length: sheets.count }, (_, i) => i);
    const order = this.index.arrays
      .map((_, i) => i)
      .sort((x, y) => Number(this.index.arrays[x]!.written) - Number(this.index.arrays[y]!.written));
    for (const i of order) {
      const a = this.index.arrays[i]!;
      const sheets = sheetsOf(a.array.shape, a.elements);
      const size = sheets.rows * sheets.cols;
      const used =
        sheets.count === 1 ? [0] : all(sheets).filter((s) => a.first.subarray(s * size, (s + 1) * size).some((e) => e !== NO_EVENT));
      if (a.touched || (sheets.count === 1 && a.first.length))
        add("array", i, this.#names[i]!, a.array.type, a.array.shape, sheets, a.role, used);
    }
    head.shared.forEach((v, i) => {
      const shape = v.shape.length ? v.shape : [this.#grains[i]!.length];
      const sheets = sheetsOf(shape, this.#grains[i]!.length);
      add("shared", i, sharedName(v.name), v.type, v.shape, sheets, this.index.sharedRoles[i]!, all(sheets));
    });
    head.variables.forEach((v, i) => {
      if (this.registers.common[i]) return;
      const shape = this.registers.shapeOf(i);
      const sheets = sheetsOf(
        shape,
        shape.reduce((p, d) => p * d, 1),
      );
      add("register", i, v.name, v.type, v.shape.length ? v.shape : [], sheets, "sum", all(sheets));
    });
    return list;
  }

  nameOf(array: number): string {
    return this.#names[array]!;
  }

  /** Returns the average reads of shared bytes since they were written, at the event. */
  reuse(e: number): number {
    this.memory.seek(e + 1);
    return this.memory.reuse();
  }

  /** Returns the bytes of shared memory that the event reads although the block has not written them: a race, or a mistake. */
  unset(e: number): number {
    const { trace, memory } = this;
    const site = trace.siteOf(e);
    if (trace.kind[e] !== READ || site.space !== "shared") return 0;
    memory.seek(e + 1); // a read does not change the state
    let bytes = 0;
    for (let lane = 0; lane < 32; lane++) {
      if (!((trace.mask[e]! >>> lane) & 1)) continue;
      const address = trace.address(e, lane);
      for (let at = address; at < address + site.bytes; at += memory.grain)
        if (memory.last[Math.floor(at / memory.grain)] === NO_EVENT) bytes += memory.grain;
    }
    return bytes;
  }

  /** Returns variables that are equal in all threads of a warp, with the value in the event's warp; null: no turn has ended yet. */
  scalars(e: number): { name: string; value: number | null }[] {
    const { head } = this.trace;
    const thread = 32 * this.trace.warp[e]!;
    return head.variables.flatMap((v, i) => {
      if (!this.registers.common[i]) return [];
      const value = this.registers.at(i, e)[thread]!;
      return [{ name: plainName(v.name), value: Number.isNaN(value) ? null : value }];
    });
  }

  /** Draws the picture. `marks`: elements to mark, by the name of their variable. */
  picture(event: number, width: number, thread: number | null = null, marks: Map<string, Uint32Array> | null = null): Picture {
    const { trace, memory } = this;
    const e = Math.max(0, Math.min(event, trace.count - 1));
    memory.seek(e + 1);
    const layout = layOut(
      this.#sources,
      this.#sources.map((s) => s.role),
      width,
    );
    const panels = this.#sources.map((s, i) => {
      const place = layout.places[i]!;
      const cells = new Cells(s, place.w, place.h);
      if (s.group === "array") this.#array(s, e, cells, thread);
      else if (s.group === "shared") this.#shared(s, e, cells, thread);
      else this.#register(s, e, cells);
      const marked = marks?.get(
        s.group === "array" ? trace.head.arrays[s.number]!.name : s.group === "shared" ? trace.head.shared[s.number]!.name : "",
      );
      if (marked) cells.add("why", marked, "on the way of the chosen value");
      return {
        key: `${s.group}${s.number}.${s.sheet}`,
        group: s.group,
        number: s.number,
        sheet: s.sheet,
        name: s.name,
        about: s.about,
        role: s.role,
        ...place,
        rows: s.rows,
        cols: s.cols,
        layers: cells.layers,
        grid: s.rows <= MOST_CELLS && s.cols <= MOST_CELLS && place.w >= 4 ? gridPath(s.rows, s.cols, place.w, place.h) : "",
        texts: cells.texts,
        label: `${s.name} ${s.about}: ${cells.says.join(", ") || "not touched"}`,
      };
    });
    return { legend: layout.legend, width: layout.width, height: layout.height, panels };
  }

  #array(s: Source, e: number, cells: Cells, thread: number | null): void {
    const { trace, index } = this;
    const a = index.arrays[s.number]!;
    const turn = index.turnOf(e);
    this.#once(s, cells, "block", -1, () => this.#footprint(s));
    if (!a.written && index.turns > 1) this.#once(s, cells, "tile", turn, () => a.touchedIn(turn, index.turnRange(turn)).elements);
    this.#done(s, e, turn, cells);
    this.#now(s, e, cells, thread, "global");
    const values = this.memory.arrays[s.number];
    const { type } = a.array;
    if (values && type) {
      const view = new DataView(values.buffer, values.byteOffset, values.byteLength);
      const known = (i: number) => !a.written || a.firstWrite[i]! <= e || a.events.some((x) => trace.kind[x] === 0);
      cells.numbers((i) => (known(i) && i < a.elements ? elementAt(view, i * a.size, type) : null));
    }
  }

  readonly #touches = new Map<string, Touches>();
  /** Adds the elements that the block has written, or has read in this turn. */
  #done(s: Source, e: number, turn: number, cells: Cells): void {
    const a = this.index.arrays[s.number]!;
    const key = `${s.number} ${s.sheet} ${a.written ? -1 : turn} ${cells.w} ${cells.h}`;
    let t = this.#touches.get(key);
    if (!t) {
      if (this.#touches.size > 512) this.#touches.clear();
      const found = a.written
        ? { elements: this.#footprint(s), first: this.#footprint(s).map((i) => a.firstWrite[i]!) }
        : a.touchedIn(turn, this.index.turnRange(turn));
      t = { ...cells.drawn(found.elements, found.first), count: 0, d: "" };
      this.#touches.set(key, t);
    }
    const count = upTo(t.order, e);
    if (count !== t.count) {
      const { tiles, first } = t;
      t.d = cells.pathOf(Array.from(tiles).filter((_, n) => first[n]! <= e));
      t.count = count;
    }
    if (!count) return;
    cells.layers.push({ kind: "done", d: t.d });
    cells.says.push(`${count} ${a.written ? "written" : "read in this turn"}`);
  }

  readonly #paths = new Map<string, string>();
  /** Adds a layer that is the same at all events of a turn (-1: of the trace). */
  #once(s: Source, cells: Cells, kind: LayerKind, turn: number, elements: () => ArrayLike<number>): void {
    const key = `${s.number} ${s.sheet} ${kind} ${turn} ${cells.w} ${cells.h}`;
    let d = this.#paths.get(key);
    if (d === undefined) {
      if (this.#paths.size > 1024) this.#paths.clear();
      d = cells.path(elements());
      this.#paths.set(key, d);
    }
    if (d) cells.layers.push({ kind, d });
  }

  readonly #footprints = new Map<Source, Uint32Array>();
  #footprint(s: Source): Uint32Array {
    let found = this.#footprints.get(s);
    if (!found) {
      const { first } = this.index.arrays[s.number]!;
      found = Uint32Array.from(first.keys()).filter((i) => first[i] !== NO_EVENT);
      this.#footprints.set(s, found);
    }
    return found;
  }

  /** Adds the elements that the event reads or writes. */
  #now(s: Source, e: number, cells: Cells, thread: number | null, space: "global" | "shared"): void {
    const { trace, index } = this;
    if (trace.kind[e]! > 2) return;
    const site = trace.siteOf(e);
    if (site.space !== space) return;
    const set = new Set<number>();
    const lane = new Set<number>();
    const chosen = thread !== null && Math.floor(thread / 32) === trace.warp[e] ? thread % 32 : -1;
    const visit = (i: number, l: number) => {
      set.add(i);
      if (l === chosen) lane.add(i);
    };
    if (space === "global") {
      const a = index.arrays[s.number]!;
      if (site.variable === s.number || (site.variable === null && a.events[upTo(a.events, e) - 1] === e)) a.eachElement(e, visit);
    } else this.#eachShared(s.number, e, visit);
    const kind = trace.kind[e] === 0 ? "read" : "write";
    cells.add(kind, Uint32Array.from(set).sort(), kind === "read" ? "being read" : "being written");
    cells.add("lane", Uint32Array.from(lane).sort());
  }

  #eachShared(variable: number, e: number, visit: (element: number, lane: number) => void): void {
    const { trace } = this;
    const site = trace.siteOf(e);
    if (site.variable !== null && site.variable !== variable) return;
    const v = trace.head.shared[variable]!;
    const size = elementBytes(v.type) || 4;
    for (let lane = 0; lane < 32; lane++) {
      if (!((trace.mask[e]! >>> lane) & 1)) continue;
      const address = trace.address(e, lane);
      for (let at = address; at < address + site.bytes; at += size) {
        if (at < v.address || at >= v.address + v.bytes) continue;
        const place = v.type === null ? { element: Math.floor((at - v.address) / 4) } : trace.locate(at, { ...site, variable });
        if (place && place.element >= 0) visit(place.element, lane);
      }
    }
  }

  #shared(s: Source, e: number, cells: Cells, thread: number | null): void {
    const { memory, index, trace } = this;
    const grains = this.#grains[s.number]!;
    const from = index.segmentFrom[index.segmentOf(e)]!;
    const base = s.sheet * s.sheets.rows * s.sheets.cols;
    const sets: Record<"never" | "held" | "fresh", number[]> = { never: [], held: [], fresh: [] };
    const end = Math.min(grains.length, base + s.sheets.rows * s.sheets.cols);
    for (let i = base; i < end; i++) {
      const last = memory.last[grains[i]!]!;
      sets[last === NO_EVENT ? "never" : last >= from ? "fresh" : "held"].push(i);
    }
    cells.add("never", sets.never, "never written");
    cells.add("held", sets.held, "held");
    cells.add("fresh", sets.fresh, "written in this phase");
    this.#now(s, e, cells, thread, "shared");
    if (trace.kind[e] === READ && trace.siteOf(e).space === "shared") {
      const unset = new Set<number>();
      this.#eachShared(s.number, e, (i) => memory.last[grains[i]!] === NO_EVENT && unset.add(i));
      cells.add("unset", Uint32Array.from(unset).sort(), "read and never written");
    }
    const { type } = trace.head.shared[s.number]!;
    if (!type) return;
    const view = new DataView(memory.shared.buffer, memory.shared.byteOffset, memory.shared.byteLength);
    cells.numbers((i) => {
      const grain = grains[i];
      return grain === undefined || memory.last[grain] === NO_EVENT ? null : elementAt(view, grain * memory.grain, type);
    });
  }

  readonly #levels = new Map<Source, number[]>();
  /** Returns the sizes that divide the shown final values other than 0 into four parts of about equal number. */
  #limits(s: Source, cells: Cells): number[] {
    let found = this.#levels.get(s);
    if (!found) {
      const sizes = cells
        .means(this.registers.at(s.number, this.trace.count))
        .map(Math.abs)
        .filter((v) => Number.isFinite(v) && v > 0)
        .sort();
      found = [0.25, 0.5, 0.75].map((q) => sizes[Math.floor(q * sizes.length)] ?? 0);
      this.#levels.set(s, found);
    }
    return found;
  }

  readonly #drawn = new Map<Source, { key: string; cells: Cells }>();
  /** Adds a register panel. Snapshots change only at the ends of turns; between them the panel is the same. */
  #register(s: Source, e: number, cells: Cells): void {
    const key = `${this.registers.keyOf(s.number, e)} ${cells.w} ${cells.h}`;
    let drawn = this.#drawn.get(s);
    if (drawn?.key !== key) {
      this.#snapshot(s, e, cells);
      drawn = { key, cells };
      this.#drawn.set(s, drawn);
    } else cells.like(drawn.cells);
  }

  #snapshot(s: Source, e: number, cells: Cells): void {
    const values = this.registers.at(s.number, e);
    const shown = cells.means(values);
    const limits = this.#limits(s, cells);
    const levels: number[][] = [[], [], [], []];
    const known = values.reduce((n, v) => n + Number(!Number.isNaN(v)), 0);
    shown.forEach((v, i) => {
      const size = Math.abs(v);
      if (!Number.isNaN(v)) levels[Number(size > limits[0]!) + Number(size > limits[1]!) + Number(size > limits[2]!)]!.push(i);
    });
    if (known === 0) cells.add("never", Uint32Array.from(values.keys()), "no turn has ended yet");
    else if (cells.showsNumbers) cells.add("l1", Uint32Array.from(values.keys()), `${known} values`);
    else {
      levels.forEach((set, n) => set.length && cells.layers.push({ kind: `l${n + 1}` as LayerKind, d: cells.pathOf(set) }));
      cells.says.push(`${known} values`);
    }
    cells.numbers((i) => (Number.isNaN(values[i]!) ? null : values[i]!));
  }
}

/** The content of one panel: sets of its cells become paths, numbers become texts. */
class Cells {
  layers: Panel["layers"] = [];
  texts: Panel["texts"] = [];
  says: string[] = [];
  readonly #from: number;
  readonly #size: number;
  readonly #strong = new Set<number>();

  constructor(
    readonly s: Source,
    readonly w: number,
    readonly h: number,
  ) {
    this.#size = s.sheets.rows * s.sheets.cols;
    this.#from = s.sheet * this.#size;
  }

  like(other: Cells): void {
    this.layers = other.layers;
    this.texts = other.texts;
    this.says = other.says;
  }

  get showsNumbers(): boolean {
    return this.w >= TEXT_CELL && this.h >= 18 && this.#size <= 256;
  }

  /** Returns the cells of this sheet among the elements. */
  #here(elements: ArrayLike<number>): ArrayLike<number> {
    if (this.s.sheets.count === 1) return elements;
    const cells: number[] = [];
    for (let n = 0; n < elements.length; n++) {
      const i = elements[n]! - this.#from;
      if (i >= 0 && i < this.#size) cells.push(i);
    }
    return cells;
  }

  path(elements: ArrayLike<number>): string {
    return this.pathOf(this.#tiles(this.#here(elements)));
  }

  /** Returns the path of cells or, of a large sheet, of tiles. */
  pathOf(tiles: ArrayLike<number>): string {
    const { coarse, rows, cols } = this.s;
    return pathOf(tiles, coarse.across, this.w * coarse.cols, this.h * coarse.rows, this.w * cols, this.h * rows);
  }

  #tiles(cells: ArrayLike<number>): ArrayLike<number> {
    return isCoarse(this.s.coarse) ? tilesOf(this.s.coarse, this.s.cols, cells) : cells;
  }

  /** Returns the cells or tiles to draw for the elements of this sheet, with the events that first touch them. */
  drawn(elements: Uint32Array, first: Uint32Array): Pick<Touches, "tiles" | "first" | "order"> {
    const [cells, events]: [number[], number[]] = [[], []];
    elements.forEach((e, n) => {
      const cell = e - this.#from;
      if (cell < 0 || cell >= this.#size) return;
      cells.push(cell);
      events.push(first[n]!);
    });
    const order = Uint32Array.from(events).sort();
    if (!isCoarse(this.s.coarse)) return { tiles: cells, first: events, order };
    const { tiles, least } = leastOf(this.s.coarse, this.s.cols, cells, events);
    return { tiles, first: least, order };
  }

  /** Returns the values to draw for a register tile. */
  means(values: Float64Array): Float64Array {
    return isCoarse(this.s.coarse) && !this.showsNumbers ? meansOf(this.s.coarse, this.s.cols, values) : values;
  }

  /** Adds the part of the elements, ascending, that is on this sheet. */
  add(kind: LayerKind, elements: ArrayLike<number>, says = ""): void {
    const cells = this.#here(elements);
    if (!cells.length) return;
    if (kind === "read" || kind === "write") for (let n = 0; n < cells.length; n++) this.#strong.add(cells[n]!);
    this.layers.push({ kind, d: this.pathOf(this.#tiles(cells)) });
    if (says) this.says.push(`${cells.length} ${says}`);
  }

  numbers(valueOf: (element: number) => number | null): void {
    if (!this.showsNumbers) return;
    const most = Math.floor((this.w - 4) / 6.6);
    for (let i = 0; i < this.#size; i++) {
      const value = valueOf(this.#from + i);
      if (value === null) continue;
      const [row, col] = [Math.floor(i / this.s.sheets.cols), i % this.s.sheets.cols];
      this.texts.push({ x: (col + 0.5) * this.w, y: (row + 0.5) * this.h, text: shortNumber(value, most), strong: this.#strong.has(i) });
    }
  }
}

/** Returns the source's name for an array of a parameter: the name with which its accesses are written. */
function viewName(trace: Trace, array: number): string | null {
  const counts = new Map<string, number>();
  for (const site of trace.head.sites) {
    // The expression of a copy names the tile that it writes, not the array.
    if (site.space !== "global" || site.variable !== array || !site.text || site.op.startsWith("cp.async")) continue;
    const name = /^([A-Za-z_]\w*)\s*\[/.exec(site.text)?.[1];
    if (name) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].sort((x, y) => y[1] - x[1])[0]?.[0] ?? null;
}
