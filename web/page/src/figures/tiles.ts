/** Tiles of one block and the holders of their elements: for an output, the thread that stores; for registers, thread and register; for
 * shared memory, the place. Outputs come from the block's trace, other tiles from the compiler's layout. */
import { elementBytes, type Trace } from "$engine/trace.ts";
import type { Layout, LayoutTile } from "../app/results.ts";

export type TileKind = "output" | "register" | "shared";

/** Elements and their threads, three numbers each: element, thread, register; register -1: not known. */
export type Holders = Int32Array;

export interface Tile {
  id: string;
  name: string;
  kind: TileKind;
  type: string;
  /** The layout in words, if the compiler chose one. */
  layout: string | null;
  rows: number;
  columns: number;
  /** The shape of its declaration. */
  shape: number[];
  /** Elements of the array before the tile's first row and column; all 0 except for an output. */
  origin: [number, number];
  /** The array's rows and columns: elements of the tile beyond them do not exist. */
  extent: [number, number];
  /** Indices of the axes before the last two. */
  leading: number[];
  holders: Holders;
  /** The most threads that hold one element; `holders` has the first of them. */
  copies: number;
  /** PTX names of the registers, and the number of elements in one register. */
  registers: string[];
  perRegister: number;
  /** The byte address of each element in shared memory. */
  address: (element: number) => number | null;
}

/** Looks up the holders of an element, and the elements of a thread. */
export class Index {
  readonly first: Int32Array;

  constructor(readonly tile: Tile) {
    const h = tile.holders;
    const count = tile.rows * tile.columns;
    this.first = new Int32Array(count).fill(-1);
    for (let i = 0; i < h.length; i += 3) {
      const e = h[i + 2]!;
      if (this.first[e]! < 0 || h[i]! < h[this.first[e]!]!) this.first[e] = i;
    }
  }

  /** Returns the thread with the lowest number that has the element; -1: none. */
  threadOf(element: number): number {
    const at = this.first[element] ?? -1;
    return at < 0 ? -1 : this.tile.holders[at]!;
  }

  registerOf(element: number): number {
    const at = this.first[element] ?? -1;
    return at < 0 ? -1 : this.tile.holders[at + 1]!;
  }

  /** Returns the elements whose thread passes the test. */
  elementsOf(test: (thread: number) => boolean): Set<number> {
    const found = new Set<number>();
    const h = this.tile.holders;
    for (let i = 0; i < h.length; i += 3) if (test(h[i]!)) found.add(h[i + 2]!);
    return found;
  }

  /** Returns the PTX register that has the element in its first thread, or null. */
  ptxOf(element: number): string | null {
    const r = this.registerOf(element);
    return r < 0 ? null : (this.tile.registers[Math.floor(r / this.tile.perRegister)] ?? null);
  }
}

/** Arrays are drawn as a matrix: the last axis along rows; an array of one axis is folded into rows of 32. */
const fold = 32;
export function matrixOf(shape: number[]): [number, number] {
  if (shape.length === 0) return [1, 1];
  if (shape.length === 1) return shape[0]! <= fold ? [1, shape[0]!] : [Math.ceil(shape[0]! / fold), fold];
  return [shape.at(-2)!, shape.at(-1)!];
}

/** Returns the index, axis by axis, in the array that the tile is a part of. */
export function indexOf(tile: Tile, element: number): number[] {
  const row = tile.origin[0] + Math.floor(element / tile.columns);
  const column = tile.origin[1] + (element % tile.columns);
  return tile.shape.length <= 1 ? [row * fold * Number(tile.extent[0] > 1) + column] : [...tile.leading, row, column];
}

/** Returns the element of the tile with this index in the array; -1: it is not in the tile. */
export function elementOf(tile: Tile, index: number[]): number {
  let row = index.at(-2) ?? 0;
  let column = index.at(-1) ?? 0;
  if (tile.shape.length <= 1) [row, column] = tile.extent[0] > 1 ? [Math.floor(column / fold), column % fold] : [0, column];
  else if (tile.leading.some((v, i) => v !== index[i])) return -1;
  row -= tile.origin[0];
  column -= tile.origin[1];
  return row >= 0 && column >= 0 && row < tile.rows && column < tile.columns ? row * tile.columns + column : -1;
}

/** Returns false for an element of the tile that lies beyond the array. */
export function exists(tile: Tile, element: number): boolean {
  const index = indexOf(tile, element);
  return index.slice(-2).every((v, i) => v < tile.shape.slice(-2)[i]!);
}

/** Returns the numbers of a thread in its block, or of a block in the grid. */
export const threadIndex = (thread: number, block: number[]): number[] => [
  thread % block[0]!,
  Math.floor(thread / block[0]!) % block[1]!,
  Math.floor(thread / (block[0]! * block[1]!)),
];

interface Cell {
  thread: number;
  row: number;
  column: number;
}

/** Returns an array's element size and shape. PTX of other compilers has neither: there an element is as large as a store. */
function elementsOf(trace: Trace, array: number): { size: number; shape: number[] } {
  const a = trace.head.arrays[array]!;
  const known = elementBytes(a.type);
  if (known) return { size: known, shape: a.shape };
  const stores = trace.head.sites.filter((s) => s.space === "global" && s.variable === array && /^(st|red|atom)\b/.test(s.op));
  const size = Math.min(...stores.map((s) => s.bytes));
  return Number.isFinite(size) && size > 0 ? { size, shape: [Math.floor(a.bytes / size)] } : { size: 0, shape: [] };
}

/** Returns the block's stores to the array: each turn of each instruction is a group of one cell a thread. */
function storesTo(trace: Trace, array: number): { groups: Cell[][]; leading: number[]; name: string } {
  const a = trace.head.arrays[array]!;
  const { size, shape } = elementsOf(trace, array);
  const [rows, columns] = matrixOf(shape);
  const turns = new Map<string, number>();
  const groups = new Map<string, Cell[]>();
  let leading = -1;
  let name = a.name;
  for (let i = 0; i < trace.count && size; i++) {
    if (trace.kind[i] !== 1 && trace.kind[i] !== 2) continue;
    const site = trace.siteOf(i);
    if (site.space !== "global" || site.variable !== array) continue;
    name = /^[A-Za-z_]\w*(?=\[)/.exec(site.text ?? "")?.[0] ?? name;
    const key = `${trace.site[i]}.${trace.warp[i]}`;
    const turn = turns.get(key) ?? 0;
    turns.set(key, turn + 1);
    for (let lane = 0; lane < 32; lane++) {
      if (!((trace.mask[i]! >>> lane) & 1)) continue;
      const at = Math.floor((trace.address(i, lane) - a.address) / size);
      for (let v = 0; v < site.bytes / size; v++) {
        const element = at + v;
        if (leading < 0) leading = Math.floor(element / (rows * columns));
        if (Math.floor(element / (rows * columns)) !== leading) continue;
        const group = `${trace.site[i]}.${turn}.${v}`;
        if (!groups.has(group)) groups.set(group, []);
        const inside = element % (rows * columns);
        groups.get(group)!.push({
          thread: trace.warp[i]! * 32 + lane,
          row: Math.floor(inside / columns),
          column: inside % columns,
        });
      }
    }
  }
  const axes: number[] = [];
  let rest = Math.max(0, leading);
  for (const n of shape.slice(0, -2).reverse()) {
    axes.unshift(rest % n);
    rest = Math.floor(rest / n);
  }
  return { groups: [...groups.values()], leading: axes, name };
}

/** Returns the cells beyond the array that the group's other threads would have stored to. They are known if row and column are linear in
 * the numbers of the thread. */
export function beyond(group: Cell[], block: number[], extent: [number, number]): Cell[] {
  const threads = block[0]! * block[1]! * block[2]!;
  const origin = group[0];
  if (!origin || group.length >= threads) return [];
  const at = threadIndex(origin.thread, block);
  const slopes: [number, number][] = [];
  for (let axis = 0; axis < 3; axis++) {
    const other = group.find((c) => {
      const t = threadIndex(c.thread, block);
      return t[axis] !== at[axis] && [0, 1, 2].every((x) => x === axis || t[x] === at[x]);
    });
    if (!other && block[axis]! > 1) return [];
    const steps = other ? threadIndex(other.thread, block)[axis]! - at[axis]! : 1;
    slopes.push(other ? [(other.row - origin.row) / steps, (other.column - origin.column) / steps] : [0, 0]);
  }
  const place = (thread: number): Cell => {
    const t = threadIndex(thread, block);
    const sum = (k: 0 | 1) => slopes.reduce((s, slope, axis) => s + slope[k] * (t[axis]! - at[axis]!), 0);
    return { thread, row: origin.row + sum(0), column: origin.column + sum(1) };
  };
  if (group.some((c) => place(c.thread).row !== c.row || place(c.thread).column !== c.column)) return [];
  const has = new Set(group.map((c) => c.thread));
  return Array.from({ length: threads }, (_, t) => t)
    .filter((t) => !has.has(t))
    .map(place)
    .filter((c) => c.row >= extent[0] || c.column >= extent[1]);
}

/** Returns the part of an array that the block stores; null: none. */
export function outputTile(trace: Trace, array: number): Tile | null {
  const a = trace.head.arrays[array]!;
  const { shape } = elementsOf(trace, array);
  const extent = matrixOf(shape);
  const { groups, leading, name } = storesTo(trace, array);
  const cells = groups.flatMap((g) => [...g, ...(shape.length > 1 ? beyond(g, trace.head.block, extent) : [])]);
  if (!cells.length) return null;
  let [top, left, bottom, right] = [Infinity, Infinity, 0, 0];
  for (const c of cells) {
    top = Math.min(top, c.row);
    left = Math.min(left, c.column);
    bottom = Math.max(bottom, c.row + 1);
    right = Math.max(right, c.column + 1);
  }
  const columns = right - left;
  const holders = new Int32Array(3 * cells.length);
  cells.forEach((c, i) => holders.set([c.thread, -1, (c.row - top) * columns + c.column - left], 3 * i));
  return {
    id: `array ${array} ${a.name}`,
    name,
    kind: "output",
    type: a.type ?? "",
    layout: null,
    rows: bottom - top,
    columns,
    shape,
    origin: [top, left],
    extent,
    leading,
    holders,
    copies: 1,
    registers: [],
    perRegister: 1,
    address: () => null,
  };
}

/** Returns a tile of registers or of shared memory from the layout; null: it is a scalar of each thread. If a tile has stages, it returns the first. */
export function layoutTile(t: LayoutTile, number: number): Tile | null {
  if (t.kind === "scalar") return null;
  const [rows, columns] = matrixOf(t.shape);
  const holders: number[] = [];
  (t.threads ?? []).slice(0, rows * columns).forEach((thread, e) => thread >= 0 && holders.push(thread, t.numbers![e]!, e));
  const { places, offset } = t;
  return {
    id: `tile ${number} ${t.name ?? t.what}`,
    name: t.name ?? t.what ?? "",
    kind: t.kind === "shared" ? "shared" : "register",
    type: t.type ?? "",
    layout: t.layout,
    rows,
    columns,
    shape: t.shape,
    origin: [0, 0],
    extent: [rows, columns],
    leading: t.shape.slice(0, -2).map(() => 0),
    holders: Int32Array.from(holders),
    copies: t.copies ?? 1,
    registers: t.registers ?? [],
    perRegister: t.in_register ?? 1,
    address: (e) => (places?.[e] === undefined ? null : places[e]! + (offset ?? 0)),
  };
}

/** Returns the grid over an output of the trace. */
export function stepOver(trace: Trace, tile: Tile): { rows: number; columns: number } | null {
  const registers = trace.head.variables.filter((v) => v.elements !== null).map((v) => matrixOf(v.shape));
  return gridOver(tile, trace.head.grid, trace.head.traced, registers);
}

/** Returns an output's tile, made as large as those of other blocks, if blocks cover it as a grid. */
function wholeTile(trace: Trace, array: number): Tile | null {
  const tile = outputTile(trace, array);
  const step = tile && stepOver(trace, tile);
  return tile && step ? extended(tile, step.rows, step.columns) : tile;
}

/** Returns all tiles of the block: the outputs first, then those of the layout. */
export function tilesOf(trace: Trace, layout: Layout | null): Tile[] {
  return [...trace.head.arrays.map((_, i) => wholeTile(trace, i)), ...(layout?.tiles ?? []).map(layoutTile)].filter((t) => t !== null);
}

/** Returns the grid over an output: rows and columns of a block's tile. Null unless blocks cover it one after the other, x along columns
 * and y along rows. `registers`: rows and columns of the block's tiles of registers. If the grid has one block along an axis, the
 * block's size there is the smallest of these that holds its stores. */
export function gridOver(
  tile: Tile,
  grid: number[],
  block: number[],
  registers: [number, number][] = [],
): { rows: number; columns: number } | null {
  const holder = registers.filter((r) => r[0] >= tile.rows && r[1] >= tile.columns).sort((a, b) => a[0] * a[1] - b[0] * b[1])[0] ?? [
    tile.rows,
    tile.columns,
  ];
  const size = (axis: 0 | 1, along: number) => {
    const stored = axis === 0 ? tile.rows : tile.columns;
    return block[along]! > 0 ? tile.origin[axis] / block[along]! : grid[along]! > 1 ? stored : holder[axis];
  };
  const rows = size(0, 1);
  const columns = size(1, 0);
  const fits =
    Number.isInteger(rows) &&
    Number.isInteger(columns) &&
    rows >= Math.min(tile.rows, tile.extent[0]) &&
    columns >= Math.min(tile.columns, tile.extent[1]) &&
    tile.origin[0] === rows * block[1]! &&
    tile.origin[1] === columns * block[0]! &&
    Math.ceil(tile.extent[0] / rows) === grid[1] &&
    Math.ceil(tile.extent[1] / columns) === grid[0];
  return fits ? { rows, columns } : null;
}

/** Returns the tile with at least these rows and columns, for a block at the edge including the part beyond the array. */
export function extended(tile: Tile, rows: number, columns: number): Tile {
  const r = Math.max(rows, tile.rows);
  const c = Math.max(columns, tile.columns);
  if (r === tile.rows && c === tile.columns) return tile;
  const holders = tile.holders.map((v, i) => (i % 3 === 2 ? Math.floor(v / tile.columns) * c + (v % tile.columns) : v));
  return { ...tile, rows: r, columns: c, holders };
}

export interface Area {
  warp: number;
  row: number;
  column: number;
  rows: number;
  columns: number;
}

/** Returns rectangles of elements whose first thread is in one warp, rows of equal runs joined. */
export function warpAreas(index: Index): Area[] {
  const { rows, columns } = index.tile;
  const done: Area[] = [];
  let open: Area[] = [];
  for (let row = 0; row < rows; row++) {
    const runs: Area[] = [];
    for (let column = 0; column < columns; column++) {
      const warp = Math.floor(index.threadOf(row * columns + column) / 32);
      const last = runs.at(-1);
      if (last && last.warp === warp) last.columns++;
      else runs.push({ warp, row, column, rows: 1, columns: 1 });
    }
    const next: Area[] = [];
    for (const run of runs) {
      const above = open.find((a) => a.column === run.column && a.columns === run.columns && a.warp === run.warp);
      if (above) above.rows++;
      next.push(above ?? run);
    }
    done.push(...open.filter((a) => !next.includes(a)));
    open = next;
  }
  return [...done, ...open].filter((a) => a.warp >= 0);
}
