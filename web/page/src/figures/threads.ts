/** The words and the cells of the card about threads. */
import type { TraceHead } from "$engine/trace.ts";
import type { Drawn } from "./ElementsFigure.svelte";
import { exists, indexOf, threadIndex, type Index, type Tile } from "./tiles.ts";

export interface Window {
  row: number;
  column: number;
  rows: number;
  columns: number;
}

/** Returns the part of the tile to draw: whole pages of `rows` × `columns`. */
export function windowOf(tile: Tile, element: number, rows: number, columns: number): Window {
  const row = Math.floor(Math.floor(element / tile.columns) / rows) * rows;
  const column = Math.floor((element % tile.columns) / columns) * columns;
  return { row, column, rows: Math.min(rows, tile.rows - row), columns: Math.min(columns, tile.columns - column) };
}

/** C[3][4] */
export const nameOf = (tile: Tile, element: number): string => {
  const index = indexOf(tile, element).map((i) => `[${i}]`);
  return tile.name + (tile.name.includes(" ") ? " " : "") + index.join("");
};

/** Returns the holder of an element: T4:R0, or T4 if the register is not known. */
export function holderOf(index: Index, element: number): string {
  const thread = index.threadOf(element);
  const register = index.registerOf(element);
  return thread < 0 ? "–" : register < 0 ? `T${thread}` : `T${thread}:R${register}`;
}

export const laneOf = (thread: number): string => `lane ${thread % 32} of warp ${Math.floor(thread / 32)}`;

/** Returns a thread's name: thread (1, 2) in a block of two axes. */
export function threadName(thread: number, block: number[]): string {
  const axes = block[2]! > 1 ? 3 : block[1]! > 1 ? 2 : 1;
  return `thread (${threadIndex(thread, block).slice(0, axes).join(", ")})`;
}

export interface Said {
  what: string;
  says: string;
  ptx: string | null;
}

/** True if two tiles have the same shape. A tile of the output's shape has its elements. */
export const sameShape = (a: Tile, b: Tile): boolean => a.rows === b.rows && a.columns === b.columns;

/** Names the holders of an element: the storing thread, the registers of tiles of its shape, a thread's scalars. */
export function lensOf(head: TraceHead, shown: Index, all: Index[], element: number): Said[] {
  const tile = shown.tile;
  const thread = shown.threadOf(element);
  const said: Said[] = [];
  if (tile.kind === "shared") {
    const address = tile.address(element);
    if (address !== null) said.push({ what: "in shared memory", says: `byte ${address}, bank ${Math.floor(address / 4) % 32}`, ptx: null });
    return said;
  }
  const several = (n: number) => (n > 1 ? `, the first of up to ${n}` : "");
  const held = (index: Index) => `${holderOf(index, element)}, ${laneOf(index.threadOf(element))}${several(index.tile.copies)}`;
  if (tile.kind === "output") {
    const outside = !exists(tile, element);
    const what = outside ? "would be stored by" : "stored by";
    said.push({
      what,
      says: thread < 0 ? "no thread of this block" : `T${thread}, ${laneOf(thread)}: ${threadName(thread, head.block)}`,
      ptx: null,
    });
    for (const other of all)
      if (other.tile.kind === "register" && other.tile.registers.length && sameShape(other.tile, tile))
        said.push({ what: `${other.tile.name} held by`, says: held(other), ptx: other.ptxOf(element) });
    if (!outside && thread >= 0)
      for (const v of head.variables.filter((v) => v.elements === null && v.registers.length === 1))
        said.push({ what: v.name, says: `of T${thread}`, ptx: v.registers[0]! });
  } else said.push({ what: "held by", says: held(shown), ptx: shown.ptxOf(element) });
  return said;
}

/** Returns the cells of the window. `thread`: the one whose elements are marked; -1: none. */
export function cellsOf(index: Index, window: Window, thread: number): Drawn[] {
  const tile = index.tile;
  const marked = index.elementsOf((t) => t === thread);
  const warp = Math.floor(thread / 32);
  const inWarp = thread < 0 ? new Set<number>() : index.elementsOf((t) => Math.floor(t / 32) === warp);
  const warpAt = (row: number, column: number) =>
    row < 0 || column < 0 ? -2 : Math.floor(index.threadOf(row * tile.columns + column) / 32);
  const cells: Drawn[] = [];
  for (let r = 0; r < window.rows; r++)
    for (let c = 0; c < window.columns; c++) {
      const row = window.row + r;
      const column = window.column + c;
      const element = row * tile.columns + column;
      const inside = exists(tile, element);
      const has = index.threadOf(element) >= 0;
      const own = warpAt(row, column);
      cells.push({
        element,
        row,
        column,
        lines: linesOf(index, element),
        says: `${nameOf(tile, element)}: ${inside ? "" : "beyond the array, "}${saidOf(index, element)}`,
        state: !inside
          ? "beyond"
          : marked.has(element)
            ? "thread"
            : inWarp.has(element)
              ? "warp"
              : has || tile.kind === "shared"
                ? "other"
                : "none",
        top: tile.kind !== "shared" && warpAt(row - 1, column) !== own,
        left: tile.kind !== "shared" && warpAt(row, column - 1) !== own,
      });
    }
  return cells;
}

function linesOf(index: Index, element: number): string[] {
  const tile = index.tile;
  if (tile.kind === "shared") {
    const address = exists(tile, element) ? tile.address(element) : null;
    return address === null ? [] : [String(address), `b${String(Math.floor(address / 4) % 32).padStart(2, "0")}`];
  }
  return index.threadOf(element) < 0 ? [] : holderOf(index, element).split(":");
}

function saidOf(index: Index, element: number): string {
  if (index.tile.kind === "shared") return linesOf(index, element).join(", bank ").replace("bank b", "bank ");
  const thread = index.threadOf(element);
  return thread < 0 ? "no thread" : `${holderOf(index, element)}, ${laneOf(thread)}`;
}
