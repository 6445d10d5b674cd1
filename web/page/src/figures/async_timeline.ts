/** The groups of asynchronous copies of a block: the events at which each is issued, committed, landed, waited for and read. */
import { elementBytes, NO_EVENT, type Copy, type Trace } from "$engine/trace.ts";
import { upTo } from "./step_index.ts";

const READ = 0;
const ISSUE = 7;
const COMMIT = 8;
const WAIT = 10;

export interface CopyGroup {
  warp: number;
  /** The group's number in its warp. Copies that a wait completes without a commit are a group, too. */
  number: number;
  /** Events: the group's first issue, its commit, the landing of its last copy, the wait that completes it; NO_EVENT: none. */
  issue: number;
  commit: number;
  land: number;
  wait: number;
  copies: number;
  bytes: number;
  /** The first and last read of its bytes before other copies overwrite them. */
  firstRead: number;
  lastRead: number;
  /** The first read of its bytes before their copy was complete. */
  tooEarly: number;
  /** The stage, if the variable is a ring of stages (its first dimension); null: it is not, or the stage is not known. */
  stage: number | null;
  variables: Set<number>;
}

/** The number of groups that a warp has in progress from an event on. */
export interface UnderWay {
  event: number;
  groups: number;
  bytes: number;
}

export class AsyncTimeline {
  readonly groups: CopyGroup[] = [];
  /** For each warp, the events at which its number of groups in progress changes. */
  readonly underWay: UnderWay[][];
  /** The most groups that a lane has in progress while it reads shared memory: the simulator's `async_depth`. */
  depth = 0;
  /** Bytes of a warp's copies in progress, averaged over its reads of shared memory: `async_overlap`. */
  overlap = 0;
  readonly stages: number;

  constructor(readonly trace: Trace) {
    this.underWay = Array.from({ length: trace.head.warps }, () => []);
    const rings = trace.head.shared.filter((v) => v.shape.length > 2);
    this.stages = rings.length ? Math.max(...rings.map((v) => v.shape[0]!)) : 0;
    if (!trace.copyRows.length) return;
    this.#collect();
    this.#uses();
    this.#count();
  }

  readonly #ofWarp = new Map<number, CopyGroup[]>();
  of(warp: number): CopyGroup[] {
    let list = this.#ofWarp.get(warp);
    if (!list) this.#ofWarp.set(warp, (list = this.groups.filter((g) => g.warp === warp)));
    return list;
  }

  underWayAt(warp: number, e: number): UnderWay {
    const list = this.underWay[warp] ?? [];
    let [low, high] = [0, list.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle]!.event <= e) low = middle + 1;
      else high = middle;
    }
    return list[low - 1] ?? { event: 0, groups: 0, bytes: 0 };
  }

  #collect(): void {
    const { trace } = this;
    const found = new Map<string, CopyGroup>();
    for (const c of trace.copies()) {
      const at = [c.issue, c.land, c.write].find((e) => e !== NO_EVENT);
      if (at === undefined) continue;
      const warp = trace.warp[at]!;
      const key = this.#keyOf(c, warp);
      const group = found.get(key) ?? {
        warp,
        number: c.group,
        issue: c.issue,
        commit: c.commit,
        land: c.land,
        wait: c.wait,
        copies: 0,
        bytes: 0,
        firstRead: NO_EVENT,
        lastRead: NO_EVENT,
        tooEarly: NO_EVENT,
        stage: null,
        variables: new Set<number>(),
      };
      group.issue = Math.min(group.issue, c.issue);
      group.land = group.land === NO_EVENT || c.land === NO_EVENT ? Math.min(group.land, c.land) : Math.max(group.land, c.land);
      group.copies++;
      group.bytes += c.bytes;
      if (c.write !== NO_EVENT) {
        const { variable } = trace.siteOf(c.write);
        if (variable !== null) group.variables.add(variable);
        group.stage ??= this.#stageOf(c.write);
      }
      found.set(key, group);
    }
    this.groups.push(...[...found.values()].sort((x, y) => x.issue - y.issue));
    const numbers = new Uint32Array(trace.head.warps);
    for (const g of this.groups) g.number = numbers[g.warp]!++;
    for (const [key, g] of found) this.#byKey.set(key, this.groups.indexOf(g));
  }

  readonly #byKey = new Map<string, number>();
  #keyOf(c: Copy, warp: number): string {
    return `${warp} ${c.group} ${c.commit === NO_EVENT ? c.wait : ""}`;
  }

  #stageOf(write: number): number | null {
    const site = this.trace.siteOf(write);
    const v = site.variable === null ? null : this.trace.head.shared[site.variable];
    if (!v || v.shape.length < 3) return null;
    const lane = 31 - Math.clz32(this.trace.mask[write]! & -this.trace.mask[write]!);
    const place = this.trace.locate(this.trace.address(write, lane), site);
    return place && place.element >= 0 ? Math.floor(place.element / v.shape.slice(1).reduce((p, d) => p * d, 1)) : null;
  }

  /** Finds the reads of each group's bytes, and the reads that come before the copy is complete. */
  #uses(): void {
    const { trace } = this;
    const { sites, shared_bytes } = trace.head;
    const grain = Math.min(4, ...trace.head.shared.map((v) => elementBytes(v.type) || 4));
    const owner = new Int32Array(Math.ceil(shared_bytes / grain)).fill(-1);
    const issued = new Map<number, { write: number; group: number }>();
    for (const c of trace.copies())
      if (c.issue !== NO_EVENT && c.write !== NO_EVENT)
        issued.set(c.issue, { write: c.write, group: this.#byKey.get(this.#keyOf(c, trace.warp[c.issue]!)) ?? -1 });
    const each = (e: number, visit: (g: number) => void) => {
      const { bytes } = sites[trace.site[e]!]!;
      for (let lane = 0; lane < 32; lane++) {
        if (!((trace.mask[e]! >>> lane) & 1)) continue;
        const address = trace.address(e, lane);
        for (let g = Math.floor(address / grain); g * grain < address + bytes; g++) visit(g);
      }
    };
    for (let e = 0; e < trace.count; e++) {
      const copy = trace.kind[e] === ISSUE ? issued.get(e) : undefined;
      if (copy) each(copy.write, (g) => (owner[g] = copy.group));
      if (trace.kind[e] !== READ || sites[trace.site[e]!]!.space !== "shared") continue;
      let before = -1;
      each(e, (g) => {
        if (owner[g] === before || owner[g]! < 0) return;
        before = owner[g]!;
        const group = this.groups[before]!;
        if (group.wait === NO_EVENT || group.wait > e) group.tooEarly = Math.min(group.tooEarly, e);
        else {
          if (group.firstRead === NO_EVENT) group.firstRead = e;
          group.lastRead = e;
        }
      });
    }
  }

  /** Counts groups in progress as the simulator does: by lane, with the copies that are not committed yet as one more group. */
  #count(): void {
    const { trace } = this;
    const { sites, warps } = trace.head;
    const lanes = Array.from({ length: 32 * warps }, () => ({ groups: [] as boolean[], open: false }));
    const pending = Array.from({ length: warps }, () => ({ groups: [] as number[], open: 0 }));
    const bytesOf = (w: number) => pending[w]!.groups.reduce((s, b) => s + b, 0) + pending[w]!.open;
    const depthOf = (w: number, mask: number) => {
      let most = 0;
      for (let l = 0; l < 32; l++) {
        const lane = lanes[32 * w + l]!;
        if ((mask >>> l) & 1) most = Math.max(most, lane.groups.filter(Boolean).length + (lane.open ? 1 : 0));
      }
      return most;
    };
    let [reads, sum] = [0, 0];
    for (let e = 0; e < trace.count; e++) {
      const kind = trace.kind[e]!;
      const w = trace.warp[e]!;
      const mask = trace.mask[e]!;
      if (kind === READ && sites[trace.site[e]!]!.space === "shared") {
        reads++;
        sum += bytesOf(w);
        this.depth = Math.max(this.depth, depthOf(w, mask));
      }
      if (kind !== ISSUE && kind !== COMMIT && kind !== WAIT) continue;
      const all = kind === WAIT && sites[trace.site[e]!]!.op.includes("wait_all");
      const keep = all ? 0 : trace.base[e]!;
      for (let l = 0; l < 32; l++) {
        if (!((mask >>> l) & 1)) continue;
        const lane = lanes[32 * w + l]!;
        if (kind === ISSUE) lane.open = true;
        else if (kind === COMMIT) {
          lane.groups.push(lane.open);
          lane.open = false;
        } else {
          lane.groups = keep ? lane.groups.slice(-keep) : [];
          if (all) lane.open = false;
        }
      }
      const p = pending[w]!;
      if (kind === ISSUE) p.open += trace.stride[e]!;
      else if (kind === COMMIT) [p.groups, p.open] = [[...p.groups, p.open], 0];
      else [p.groups, p.open] = [keep ? p.groups.slice(-keep) : [], all ? 0 : p.open];
      const here = { event: e, groups: depthOf(w, 0xffffffff), bytes: bytesOf(w) };
      const list = this.underWay[w]!;
      const last = list[list.length - 1];
      if (!last || last.groups !== here.groups || last.bytes !== here.bytes) list.push(here);
    }
    this.overlap = reads ? sum / reads : 0;
  }
}

/** Returns the event nearest to a time, one of the warp if it has one there. */
export function eventAt(trace: Trace, time: number, warp: number): number {
  const e = Math.max(0, upTo(trace.time, time) - 1);
  for (let back = e; back >= Math.max(0, e - 256); back--) if (trace.warp[back] === warp) return back;
  return e;
}

/** Returns the choices for the landing of copies, earliest first: "early", after a number of instructions of the warp, "late". */
export function landings(timeline: AsyncTimeline): string[] {
  const { trace, groups } = timeline;
  const done = new Float64Array(trace.head.warps);
  const before = Float64Array.from({ length: trace.count }, (_, e) => (done[trace.warp[e]!]! += trace.instructionsOf(e)));
  const waits = groups.filter((g) => g.wait !== NO_EVENT).map((g) => before[g.wait]! - before[g.issue]!);
  const longest = Math.max(0, ...waits);
  const between: string[] = [];
  for (let n = 1; n < longest; n *= 2) between.push(String(n));
  return ["early", ...between, "late"];
}
