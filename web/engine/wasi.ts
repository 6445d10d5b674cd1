// The system that engine.wasm runs on: a file system in memory, the clock, arguments and environment variables, as in WASI preview 1
// (https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md). It has the functions that wasi-libc calls. Two systems share
// nothing.

interface File {
  kind: "file";
  data: Uint8Array; // the file's bytes are the first `size`; the rest is room to grow
  size: number;
  inode: bigint;
}
interface Folder {
  kind: "folder";
  entries: Map<string, Entry>;
  inode: bigint;
}
type Entry = File | Folder;

interface Opened {
  entry: Entry | null; // null: a stream
  at: number;
  appends: boolean;
}

/** Thrown by `proc_exit`: the program has ended with this status. */
export class Exit extends Error {
  readonly status: number;
  constructor(status: number) {
    super(`ended with status ${status}`);
    this.status = status;
  }
}

const OK = 0,
  BADF = 8,
  EXIST = 20,
  INVAL = 28,
  ISDIR = 31,
  NOENT = 44,
  NOSYS = 52,
  NOTDIR = 54,
  NOTEMPTY = 55;
const IS_STREAM = 0,
  IS_FOLDER = 3,
  IS_FILE = 4;
const ROOT = 3; // the descriptor of "/", which is open when the program starts
const CREATE = 1,
  FOLDER_ONLY = 2,
  EXCLUSIVE = 4,
  TRUNCATE = 8; // of path_open
const APPEND = 1;

const encoder = new TextEncoder(),
  decoder = new TextDecoder();

/** The text that a program writes to a stream, in pieces. */
class Output {
  private pieces: Uint8Array[] = [];
  add(piece: Uint8Array): void {
    this.pieces.push(piece);
  }
  text(): string {
    const streaming = new TextDecoder();
    return this.pieces.map((p) => streaming.decode(p, { stream: true })).join("") + streaming.decode();
  }
}

function parts(path: string): string[] {
  const out: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") out.pop();
    else if (part !== "" && part !== ".") out.push(part);
  }
  return out;
}

export class System {
  readonly out = new Output();
  readonly err = new Output();
  memory!: WebAssembly.Memory; // memory of the instance, set after the instance is made
  private inodes = 0n;
  private root = this.newFolder();
  private opened: (Opened | null)[] = [null, null, null, { entry: this.root, at: 0, appends: false }];
  private readonly words: Uint8Array[];
  private readonly variables: Uint8Array[];

  constructor(args: string[], variables: Record<string, string>) {
    this.words = args.map((a) => encoder.encode(a + "\0"));
    this.variables = Object.entries(variables).map(([name, value]) => encoder.encode(`${name}=${value}\0`));
  }

  // --- files, from outside ---

  /** Makes the file, and the folders above it. */
  write(path: string, content: string | Uint8Array): void {
    const way = parts(path),
      name = way.pop();
    if (name === undefined) throw new Error(`"${path}" is not the name of a file`);
    let folder = this.root;
    for (const part of way) {
      let next = folder.entries.get(part);
      if (!next) folder.entries.set(part, (next = this.newFolder()));
      if (next.kind !== "folder") throw new Error(`"${path}" goes through a file`);
      folder = next;
    }
    const data = typeof content === "string" ? encoder.encode(content) : content;
    folder.entries.set(name, { ...this.newFile(), data, size: data.length });
  }

  /** Returns the bytes of a file, which the caller may change, or undefined: there is none. */
  read(path: string): Uint8Array | undefined {
    const entry = this.find(this.root, path);
    return entry?.kind === "file" ? entry.data.slice(0, entry.size) : undefined;
  }

  // --- entries ---

  private newFolder(): Folder {
    return { kind: "folder", entries: new Map(), inode: ++this.inodes };
  }

  private newFile(): File {
    return { kind: "file", data: new Uint8Array(0), size: 0, inode: ++this.inodes };
  }

  private find(from: Folder, path: string): Entry | undefined {
    let at: Entry = from;
    for (const part of parts(path)) {
      if (at.kind !== "folder") return undefined;
      const next: Entry | undefined = at.entries.get(part);
      if (!next) return undefined;
      at = next;
    }
    return at;
  }

  /** Returns the folder of the path's last name, and that name. */
  private parent(from: Folder, path: string): { folder: Folder; name: string } | number {
    const way = parts(path),
      name = way.pop();
    if (name === undefined) return EXIST;
    const folder = this.find(from, way.join("/"));
    if (!folder) return NOENT;
    return folder.kind === "folder" ? { folder, name } : NOTDIR;
  }

  private folder(fd: number): Folder | null {
    const entry = this.opened[fd]?.entry;
    return entry?.kind === "folder" ? entry : null;
  }

  private file(fd: number): (Opened & { entry: File }) | null {
    const o = this.opened[fd];
    return o?.entry?.kind === "file" ? (o as Opened & { entry: File }) : null;
  }

  // --- the program's memory ---

  private view(): DataView {
    return new DataView(this.memory.buffer);
  }

  private bytes(at: number, length: number): Uint8Array {
    return new Uint8Array(this.memory.buffer, at, length);
  }

  private path(at: number, length: number): string {
    return decoder.decode(this.bytes(at, length));
  }

  private putList(list: Uint8Array[], pointers: number, texts: number): number {
    const view = this.view();
    for (const item of list) {
      view.setUint32(pointers, texts, true);
      this.bytes(texts, item.length).set(item);
      pointers += 4;
      texts += item.length;
    }
    return OK;
  }

  private putSizes(list: Uint8Array[], count: number, bytes: number): number {
    const view = this.view();
    view.setUint32(count, list.length, true);
    view.setUint32(
      bytes,
      list.reduce((sum, item) => sum + item.length, 0),
      true,
    );
    return OK;
  }

  private putStat(entry: Entry | null, at: number): number {
    const view = this.view();
    const kind = entry === null ? IS_STREAM : entry.kind === "file" ? IS_FILE : IS_FOLDER;
    this.bytes(at, 64).fill(0);
    view.setBigUint64(at + 8, entry?.inode ?? 0n, true);
    view.setUint8(at + 16, kind);
    view.setBigUint64(at + 24, 1n, true); // names
    view.setBigUint64(at + 32, BigInt(entry?.kind === "file" ? entry.size : 0), true);
    return OK;
  }

  // --- streams and files ---

  private readInto(o: Opened & { entry: File }, to: Uint8Array): number {
    const from = o.entry.data.subarray(o.at, Math.min(o.at + to.length, o.entry.size));
    to.set(from);
    o.at += from.length;
    return from.length;
  }

  private writeTo(o: Opened & { entry: File }, from: Uint8Array): void {
    const f = o.entry;
    if (o.appends) o.at = f.size;
    const end = o.at + from.length;
    if (end > f.data.length) {
      const larger = new Uint8Array(Math.max(end, 2 * f.data.length, 1024));
      larger.set(f.data.subarray(0, f.size));
      f.data = larger;
    }
    f.data.set(from, o.at);
    o.at = end;
    f.size = Math.max(f.size, end);
  }

  private *buffers(list: number, count: number): Generator<Uint8Array> {
    for (let i = 0; i < count; i++) {
      const view = this.view();
      yield this.bytes(view.getUint32(list + 8 * i, true), view.getUint32(list + 8 * i + 4, true));
    }
  }

  private read_(fd: number, list: number, count: number, got: number): number {
    const o = this.file(fd);
    let bytes = 0;
    if (!o && fd !== 0) return this.folder(fd) ? ISDIR : BADF;
    if (o) for (const b of this.buffers(list, count)) bytes += this.readInto(o, b);
    this.view().setUint32(got, bytes, true);
    return OK;
  }

  private write_(fd: number, list: number, count: number, put: number): number {
    const o = this.file(fd),
      stream = fd === 1 ? this.out : fd === 2 ? this.err : null;
    let bytes = 0;
    if (!o && !stream) return BADF;
    for (const b of this.buffers(list, count)) {
      if (o) this.writeTo(o, b);
      else if (b.length) stream!.add(b.slice());
      bytes += b.length;
    }
    this.view().setUint32(put, bytes, true);
    return OK;
  }

  private seek(fd: number, by: bigint, whence: number, out: number): number {
    const o = this.file(fd);
    if (!o) return BADF;
    const to = Number(by) + (whence === 0 ? 0 : whence === 1 ? o.at : o.entry.size);
    if (to < 0) return INVAL;
    o.at = to;
    this.view().setBigUint64(out, BigInt(to), true);
    return OK;
  }

  private readFolder(fd: number, at: number, room: number, cookie: bigint, used: number): number {
    const folder = this.folder(fd);
    if (!folder) return BADF;
    const names = [...folder.entries.entries()];
    let held = 0;
    for (let i = Number(cookie); i < names.length && held < room; i++) {
      const [name, entry] = names[i]!;
      const text = encoder.encode(name),
        one = new Uint8Array(24 + text.length),
        view = new DataView(one.buffer);
      view.setBigUint64(0, BigInt(i + 1), true);
      view.setBigUint64(8, entry.inode, true);
      view.setUint32(16, text.length, true);
      view.setUint8(20, entry.kind === "file" ? IS_FILE : IS_FOLDER);
      one.set(text, 24);
      const fits = one.subarray(0, room - held);
      this.bytes(at + held, fits.length).set(fits);
      held += fits.length;
    }
    this.view().setUint32(used, held, true);
    return OK;
  }

  // --- paths ---

  private open(fd: number, path: string, how: number, flags: number, out: number): number {
    const from = this.folder(fd);
    if (!from) return BADF;
    let entry = this.find(from, path);
    if (!entry) {
      const place = this.parent(from, path);
      if (typeof place === "number") return place;
      if (!(how & CREATE)) return NOENT;
      entry = this.newFile();
      place.folder.entries.set(place.name, entry);
    } else if (how & CREATE && how & EXCLUSIVE) {
      return EXIST;
    }
    if (how & FOLDER_ONLY && entry.kind !== "folder") return NOTDIR;
    if (how & TRUNCATE && entry.kind === "file") entry.size = 0;
    this.opened.push({ entry, at: 0, appends: (flags & APPEND) !== 0 });
    this.view().setUint32(out, this.opened.length - 1, true);
    return OK;
  }

  private makeFolder(fd: number, path: string): number {
    const from = this.folder(fd),
      place = from ? this.parent(from, path) : BADF;
    if (typeof place === "number") return place;
    if (place.folder.entries.has(place.name)) return EXIST;
    place.folder.entries.set(place.name, this.newFolder());
    return OK;
  }

  private remove(fd: number, path: string, kind: Entry["kind"]): number {
    const from = this.folder(fd),
      place = from ? this.parent(from, path) : BADF;
    if (typeof place === "number") return place;
    const entry = place.folder.entries.get(place.name);
    if (!entry) return NOENT;
    if (entry.kind !== kind) return kind === "file" ? ISDIR : NOTDIR;
    if (entry.kind === "folder" && entry.entries.size) return NOTEMPTY;
    place.folder.entries.delete(place.name);
    return OK;
  }

  private link(fromFd: number, path: string, toFd: number, name: string, moves: boolean): number {
    const from = this.folder(fromFd),
      to = this.folder(toFd);
    if (!from || !to) return BADF;
    const entry = this.find(from, path),
      there = this.find(to, name),
      old = this.parent(from, path),
      place = this.parent(to, name);
    if (!entry) return NOENT;
    if (typeof place === "number") return place;
    if (typeof old === "number") return old;
    if (there && !moves) return EXIST;
    if (there?.kind === "folder") return entry.kind === "folder" ? NOTEMPTY : ISDIR;
    if (moves) old.folder.entries.delete(old.name);
    place.folder.entries.set(place.name, entry);
    return OK;
  }

  // --- functions that the program imports ---

  imports(): Record<string, (...args: never[]) => unknown> {
    return {
      args_get: (pointers: number, texts: number) => this.putList(this.words, pointers, texts),
      args_sizes_get: (count: number, bytes: number) => this.putSizes(this.words, count, bytes),
      environ_get: (pointers: number, texts: number) => this.putList(this.variables, pointers, texts),
      environ_sizes_get: (count: number, bytes: number) => this.putSizes(this.variables, count, bytes),
      clock_time_get: (id: number, _precision: bigint, out: number) => {
        const milliseconds = id === 0 ? Date.now() : performance.now();
        this.view().setBigUint64(out, BigInt(Math.round(milliseconds * 1e6)), true);
        return OK;
      },
      fd_close: (fd: number) => {
        if (!this.opened[fd] || fd === ROOT) return fd < 3 ? OK : BADF;
        this.opened[fd] = null;
        return OK;
      },
      fd_fdstat_get: (fd: number, out: number) => {
        const o = this.opened[fd];
        if (!o && fd > 2) return BADF;
        this.bytes(out, 24).fill(0);
        this.view().setUint8(out, !o ? IS_STREAM : o.entry!.kind === "file" ? IS_FILE : IS_FOLDER);
        this.bytes(out + 8, 16).fill(0xff); // all rights
        return OK;
      },
      fd_fdstat_set_flags: (fd: number, flags: number) => {
        const o = this.opened[fd];
        if (!o) return BADF;
        o.appends = (flags & APPEND) !== 0;
        return OK;
      },
      fd_filestat_get: (fd: number, out: number) => (fd > 2 && !this.opened[fd] ? BADF : this.putStat(this.opened[fd]?.entry ?? null, out)),
      fd_prestat_get: (fd: number, out: number) => {
        if (fd !== ROOT) return BADF;
        this.view().setUint32(out, 0, true); // a folder
        this.view().setUint32(out + 4, 1, true);
        return OK;
      },
      fd_prestat_dir_name: (fd: number, at: number, _length: number) => {
        if (fd !== ROOT) return BADF;
        this.bytes(at, 1).set(encoder.encode("/"));
        return OK;
      },
      fd_read: (fd: number, list: number, count: number, got: number) => this.read_(fd, list, count, got),
      fd_write: (fd: number, list: number, count: number, put: number) => this.write_(fd, list, count, put),
      fd_seek: (fd: number, by: bigint, whence: number, out: number) => this.seek(fd, by, whence, out),
      fd_sync: () => OK,
      fd_readdir: (fd: number, at: number, room: number, cookie: bigint, used: number) => this.readFolder(fd, at, room, cookie, used),
      path_create_directory: (fd: number, at: number, length: number) => this.makeFolder(fd, this.path(at, length)),
      path_filestat_get: (fd: number, _flags: number, at: number, length: number, out: number) => {
        const from = this.folder(fd),
          entry = from && this.find(from, this.path(at, length));
        return !from ? BADF : entry ? this.putStat(entry, out) : NOENT;
      },
      path_link: (from: number, _flags: number, at: number, length: number, to: number, name: number, nameLength: number) =>
        this.link(from, this.path(at, length), to, this.path(name, nameLength), false),
      path_rename: (from: number, at: number, length: number, to: number, name: number, nameLength: number) =>
        this.link(from, this.path(at, length), to, this.path(name, nameLength), true),
      path_open: (
        fd: number,
        _look: number,
        at: number,
        length: number,
        how: number,
        _rights: bigint,
        _inherits: bigint,
        flags: number,
        out: number,
      ) => this.open(fd, this.path(at, length), how, flags, out),
      path_readlink: (fd: number, at: number, length: number) => {
        const from = this.folder(fd);
        return !from ? BADF : this.find(from, this.path(at, length)) ? INVAL : NOENT; // there are no links
      },
      path_remove_directory: (fd: number, at: number, length: number) => this.remove(fd, this.path(at, length), "folder"),
      path_unlink_file: (fd: number, at: number, length: number) => this.remove(fd, this.path(at, length), "file"),
      poll_oneoff: () => NOSYS, // nothing waits
      proc_exit: (status: number) => {
        throw new Exit(status);
      },
    };
  }
}
