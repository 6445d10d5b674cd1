#!/usr/bin/env python3
"""Random kernels of clusters compute on the simulator what they compute on the CPU, and broken ones are found.

    test_random_clusters.py TILEWRIGHT [KERNELS [SEED [MUTANTS [cuda]]]]

A kernel is a list of steps: blocks of a cluster read and write each other's tiles and elements, arrive at each other's mbarriers, copy to
several blocks, add up their tiles, or run a ring of stages by roles that copies to several blocks. `cluster_sync()` separates steps that use
the same tile, and some others. The static check is silent for a kernel, and the arrays of the CPU and the simulator are equal.

Some mutants of each kernel, two unless MUTANTS says another number, lack a `cluster_sync`, `arrive`, `expect` or `wait`, or count other arrivals
or bytes, or copy to fewer blocks. The static check, the CPU engine or the simulator finds each. A mutant without a `cluster_sync` may be
harmless: `is_harmless` says when, and why. Nothing is found in such a mutant.

The static check finds nearly all of them, so the simulator gets the PTX of some kernels without one `barrier.cluster`, too, and with arrivals that
release to their own block alone. An arrival at a peer releases to the cluster if and only if the blocks access memory of each other by ordinary accesses;
the first kernel does not. With cuda the kernels run on the GPU instead, without mutants.
"""
import random
import re
import sys
import tempfile

from test_emit import assemble, compare
from tile_runner import call, fail

ROWS, COLUMNS = 32, 16  # of a block's tile
STATIC = ["--no-run", "--no-sim", "--strict"]  # of check: the static check alone, undecided kernels fail, too
# Uses of a tile: by the block itself; by a peer, and the block waits at an mbarrier until they are over; by a peer.
OWN, AWAITED, LASTING = range(3)
ARRIVED = None  # an event: a wait for what a peer has done
SIZES = {"n": [1, 2], "k": [8, 64, 136, 200, 448], "u": [0, 1, 3], "turns": [0, 1, 2, 3]}
SHAPES = [(2, 1, 1), (2, 1, 1), (2, 2, 1), (1, 2, 1), (3, 1, 1), (1, 1, 2), (4, 1, 1), (2, 1, 2), (1, 3, 2), (2, 2, 2)]


class Kernel:
    """The lines of a kernel's body. `text //@ kind` is a line that a mutant may lack or change. `events` are the uses of tiles and the barriers of
    the cluster in their order; those of `loop` are repeated."""

    def __init__(self, choose, quiet):
        self.choose, self.shape = choose, choose.choice(SHAPES)
        self.blocks = self.shape[0] * self.shape[1] * self.shape[2]
        self.only_ring = quiet or choose.random() < 0.15
        self.has_ring = self.only_ring or choose.random() < 0.3
        self.type, self.half = choose.choice([("f32", "0.5"), ("f32", "0.5"), ("f16", "0.5"), ("i32", "3"), ("u8", "3")])
        self.warps = choose.choice([4, 4, 8]) + 4 * self.has_ring
        self.declared, self.lines, self.events = [], [], []
        self.loop = slice(0, 0)
        self.publishes = not quiet
        self.names = self.barriers = 0

    def name(self, letter):
        self.names += 1
        return f"{letter}{self.names}"

    def other(self, by=None):
        return f"(cluster.rank + {by or self.choose.randrange(1, self.blocks)}) % {self.blocks}"

    def barrier(self):
        self.lines.append(f"cluster_sync(); //@ barrier {self.barriers}")
        self.events.append(self.barriers)
        self.barriers += 1

    def uses(self, tile, kind, of_peer):
        self.events.append((tile, kind, of_peer))

    def begins(self, tile, kind, of_peer):
        """Begins a step that uses a tile: with a barrier if the step before uses it, too, or if the peers may not have begun."""
        since = uses_since_barrier(self.events)
        begun = any(isinstance(e, int) for e in self.events)
        if (of_peer and not begun) or any(e[0] == tile for e in since) or self.choose.random() < 0.3:
            self.barrier()
        self.uses(tile, kind, of_peer)

    def gives(self, tile):
        """Writes x to a tile that the peers then use."""
        self.begins(tile, "write", OWN)
        self.lines.append(f"{tile} = x;")
        self.barrier()

    def takes(self, tile):
        """Adds a tile that the peers wrote to x."""
        self.uses(tile, "read", OWN)
        self.lines.append(f"x = x * {self.half} + {tile};")

    def is_harmless(self, number, rounds=range(3), by_peers=False):
        """Returns true if the kernel without this barrier is right for any number of rounds of its loop; None: perhaps."""
        e, loop = self.events, self.loop
        answers = [is_harmless(e[: loop.start] + n * e[loop] + e[loop.stop :], number, by_peers) for n in rounds]
        return False if False in answers else None if None in answers else True


def uses_since_barrier(events):
    last = max((i for i, e in enumerate(events) if isinstance(e, int)), default=-1)
    return [e for e in events[last + 1 :] if e is not ARRIVED]


def is_harmless(events, number, by_peers):
    """Returns true if a kernel with these uses of tiles is right without a barrier; None: perhaps. Nothing orders the uses before and after it.
    That matters if both use a tile and one writes to it. A barrier also lets peers begin, if it is the first one, and keeps them, if it is the
    last one, unless each block knows that the peers' uses of its tiles are over. Arrivals from a peer may order uses, or tell that they are over. by_peers: what a
    block's own threads do is right, as if each thread used its own elements."""
    kept = [i for i, e in enumerate(events) if isinstance(e, int) and e != number]
    first, last = min(kept, default=len(events)), max(kept, default=-1)
    if any(of_peer for _, _, of_peer in (e for e in events[:first] if isinstance(e, tuple))):
        return False
    doubts = False
    for i, e in enumerate(events[last + 1 :], last + 1):
        if isinstance(e, tuple) and e[2] == LASTING:
            if ARRIVED not in events[i:]:
                return False
            doubts = True
    start = 0
    for end in kept + [len(events)]:
        part, start = events[start:end], end + 1
        for i, a in enumerate(part):
            for j, b in enumerate(part[i + 1 :], i + 1):
                both = isinstance(a, tuple) and isinstance(b, tuple) and a[0] == b[0] and "write" in (a[1], b[1])
                if both and number in part[i:j] and not (by_peers and a[2] == b[2] == OWN):
                    if ARRIVED not in part[i:j]:
                        return False
                    doubts = True
    return None if doubts else True


# --- steps: each changes x, a register tile ---


def read_peer(p, tile):
    p.gives(tile)
    p.uses(tile, "read", LASTING)
    if p.choose.random() < 0.4:
        p.lines += [f"for (i32 r = 0; r < {p.blocks}; r++)", f"    x = x + peer({tile}, r) * {p.half};"]
    else:
        p.lines.append(f"x = x * {p.half} + peer({tile}, {p.other()});")


def write_peer(p, tile):
    p.begins(tile, "write", LASTING)
    p.lines.append(f"peer({tile}, {p.other()}) = x;")
    p.barrier()
    p.takes(tile)


def write_part(p, tile):
    """A part of the peer's tile at a place that the run decides, past the edge, too."""
    p.gives(tile)
    p.uses(tile, "write", LASTING)
    rows, columns, at = p.choose.choice([8, 13, 16]), p.choose.choice([5, 8, 16]), p.choose.choice(["0", "u", "u + 18"])
    p.lines.append(f"peer({tile}[{at} +: {rows}][0 +: {columns}], {p.other()}) = A[me][u +: {rows}][0 +: {columns}];")
    p.barrier()
    p.takes(tile)


def read_part(p, tile):
    p.gives(tile)
    p.uses(tile, "read", LASTING)
    at = p.choose.choice(["0", "u", "u + 22"])
    p.lines += [f"E[me][u +: 8][:] = peer({tile}[{at} +: 8][:], {p.other()});", "x = x + E[me][:][:];"]


def elements(p, tile):
    """Each block gives all of them a number."""
    of = p.name("e")
    p.declared.append(f"shared {p.type} {of}[{p.blocks}];")
    p.begins(of, "write", LASTING)
    p.lines += [f"for (i32 r = 0; r < {p.blocks}; r++)", f"    peer({of}[cluster.rank], r) = ({p.type}) (cluster.rank * 3 + me);"]
    p.barrier()
    p.uses(of, "read", OWN)
    p.lines += [f"for (i32 r = 0; r < {p.blocks}; r++)", f"    x = x + {of}[r];"]


def sum_at_one(p, tile):
    """The other blocks give one their parts, which lie next to each other."""
    of, one = p.name("g"), p.choose.randrange(p.blocks)
    p.declared.append(f"shared {p.type} {of}[{p.blocks}][{ROWS}][{COLUMNS}];")
    p.begins(of, "write", LASTING)
    p.lines.append(f"peer({of}[cluster.rank], {one}) = x;")
    p.barrier()
    p.uses(of, "read", OWN)
    p.lines += [f"if (cluster.rank == {one})", f"    for (i32 r = 0; r < {p.blocks}; r++)", f"        x = x + {of}[r] * {p.half};"]


def signal(p, tile):
    """A tile, and the arrival that says that it has come: of the block, or of one thread."""
    b, to, by_one = p.name("b"), p.other(), p.choose.random() < 0.5
    p.declared.append(f"mbarrier {b}({1 if by_one else p.warps // 4}); //@ count")
    p.begins(tile, "write", AWAITED)
    p.lines.append(f"peer({tile}, {to}) = x;")
    if by_one:
        p.lines += ["sync(); //@ sync", f"one_thread {{ arrive(peer({b}, {to})); }} //@ arrive"]
    else:
        p.lines.append(f"arrive(peer({b}, {to})); //@ arrive")
    p.lines.append(f"wait({b}); //@ wait")
    p.events.append(ARRIVED)
    p.takes(tile)


def axes(p):
    """Returns an axis of the cluster, or all of it: the bits of a block's own group, the blocks of a group, the block's number
    in it, and the step between ranks of neighbours."""
    found, step = [(str((1 << p.blocks) - 1), p.blocks, "cluster.rank", 1)], 1
    for extent in p.shape:
        if 1 < extent < p.blocks:
            number = f"(cluster.rank / {step} % {extent})"
            found.append((f"{sum(1 << step * i for i in range(extent))} << (cluster.rank - {number} * {step})", extent, number, step))
        step *= extent
    return p.choose.choice(found)


def multicast(p, tile):
    """Each block copies a part of a tile to its group."""
    f, t, (bits, parts, number, _) = p.name("f"), p.name("t"), axes(p)
    p.declared += [f"shared {p.type} {t}[{8 * parts}][32];", f"mbarrier {f}(1); //@ count"]
    p.begins(t, "write", AWAITED)
    p.lines += ["one_thread {", f"    expect({f}, bytes({t})); //@ expect",
                f"    async({f}) {t}[{number} * 8 +: 8] = B[me * 8 + u +: 8][:] multicast({bits}); //@ multicast", "}", f"wait({f}); //@ wait"]
    p.events.append(ARRIVED)
    p.uses(t, "read", OWN)
    p.lines += [f"for (i32 r = 0; r < {parts}; r++)", f"    x = x + {t}[r * 8 +: 1][u +: {COLUMNS}];"]


STEPS = [read_peer, write_peer, write_part, read_part, elements, sum_at_one, signal, multicast]


def ring(p):
    """A producer that copies to its group, and consumers that tell the group that they have read, in the background or not. The consumers may give a
    peer what they have added up. Returns the rows of a block."""
    choose = p.choose
    bits, parts, number, step = axes(p)
    stages, groups = choose.choice([1, 2, 3]), p.warps // 4 - 1
    rows, by_hand, gives, waits = 64 * groups, choose.random() < 0.4, p.publishes and choose.random() < 0.5, p.publishes and choose.random() < 0.3
    p.publishes = not p.only_ring or gives or waits
    replicas = groups if choose.random() < 0.4 else 1
    mine, first, g = rows // replicas, "g * 64" if replicas > 1 else "0", "g" if replicas > 1 else "0"
    head = f" for (i32 g < {replicas})" if replicas > 1 else ""
    p.declared += [f"shared f16 sa[{stages}][{replicas}][{mine}][64], sb[{stages}][{8 * parts}][64];", f"mbarrier full[{stages}](1); //@ count",
                   f"mbarrier empty[{stages}]({groups * parts}) ready; //@ count"]
    # A block of the group that gives its sums has arrived for its stages before, and the block waits for what it is given.
    by = choose.randrange(1, p.blocks)
    group = [{r + (i - r // step % parts) * step for i in range(parts)} for r in range(p.blocks)]
    awaited = gives and all(group[r] == {r, (r - by) % p.blocks} for r in range(p.blocks))
    p.begins("ring", "write", AWAITED if awaited else LASTING)
    q, turn = (", q", [f"            q = s == {stages - 1} ? 1 - q : q;"]) if by_hand else ("", [])
    start = ", q = 0" if by_hand else ""
    advance = [*turn, f"            s = s == {stages - 1} ? 0 : s + 1;"]
    p.lines += ["warps(0 +: 4) {", "    one_thread {", f"        for (i32 p = 0, s = 0{start}; p < k; p += 64) {{",
                f"            wait(empty[s]{q}); //@ wait", "            expect(full[s], bytes(sa[s]) + bytes(sb[s])); //@ expect",
                *(f"            async(full[s]) sa[s][{i}] = F[me * {rows} + {i * mine} +: {mine}][p +: 64];" for i in range(replicas)),
                f"            async(full[s]) sb[s][{number} * 8 +: 8] = G[me * 8 +: 8][p +: 64] multicast({bits}); //@ multicast",
                *advance, "        }", "    }", "}",
                f"warps(4 +: {4 * groups // replicas}){head} {{", f"    reg f32 acc[{mine}][{8 * parts}] = 0;",
                f"        for (i32 p = 0, s = 0{start}; p < k; p += 64) {{", f"            wait(full[s]{q}); //@ wait",
                *([f"            acc = dot(sa[s][{g}], trans(sb[s]), acc);"] if waits else
                  [f"            dot_async(acc, sa[s][{g}], trans(sb[s]));", "            dot_wait(0);"]),
                f"            for (i32 r = 0; r < {parts}; r++)",
                f"                arrive(peer(empty[s], cluster.rank + (r - {number}) * {step})); //@ arrive", *advance, "        }"]
    if gives:
        to = p.other(by)
        p.declared += [f"shared f32 given[{replicas}][{mine}][{8 * parts}];", f"mbarrier here[{replicas}]({groups // replicas}); //@ count"]
        p.uses("given", "write", AWAITED)
        p.lines += [f"    peer(given[{g}], {to}) = acc;", f"    arrive(peer(here[{g}], {to})); //@ arrive", f"    wait(here[{g}]); //@ wait",
                    f"    acc = acc + given[{g}] * 0.5;"]
    p.lines += [f"    D[me * {rows} + {first} +: {mine}][0 +: {8 * parts}] = acc;", "}"]
    return rows


def kernel(choose, quiet):
    """Returns a kernel and the rows of a block in D. quiet: its blocks access no memory of each other by ordinary accesses."""
    p = Kernel(choose, quiet)
    tiles, rows = choose.choice([1, 2]), 64
    p.declared.append(f"shared {p.type} {', '.join(f's{i}[{ROWS}][{COLUMNS}]' for i in range(tiles))};")
    loops = not p.only_ring and choose.random() < 0.3
    if choose.random() < 0.3:
        p.barrier()
    if loops:
        p.barrier()
        first, at = len(p.lines), len(p.events)
    for i in range(0 if p.only_ring else choose.choice([1, 2] if p.has_ring or loops else [1, 2, 3])):
        choose.choice(STEPS)(p, f"s{choose.randrange(tiles)}")
    if loops:
        p.barrier()
        p.lines[first:] = ["for (i32 t = 0; t < turns; t++) {", *("    " + line for line in p.lines[first:]), "}"]
        p.loop = slice(at, len(p.events))
    p.lines.append("C[me][:][:] = x;")
    if p.has_ring:
        if not loops:
            p.barrier()
        rows = ring(p)
    if any(of_peer == LASTING for _, _, of_peer in uses_since_barrier(p.events)) or choose.random() < 0.2:
        p.barrier()
    return p, rows


def write(path, p, rows, lines):
    """Writes the kernel to the file; returns its text."""
    (x, y, z), t = p.shape, p.type
    grid = f"n * {p.blocks * (2 if y > 1 else 1)}"
    body = "\n    ".join(re.sub(" //@.*", "", line) for line in lines)
    text = f"""kernel cluster_program(i32 n, i32 k, i32 u, i32 turns, const {t} *a, const {t} *b, const f16 *f, const f16 *g, {t} *c, f32 *d, {t} *e)
    grid(n * {x}, {2 * y if y > 1 else y}, {z}) warps({p.warps}) cluster({x}, {y}, {z}) target(sm_90a)
{{
    i32 me = block.x + grid.x * (block.y + grid.y * block.z);
    global {t} A[{grid}][{ROWS}][{COLUMNS}] = a, B[{grid} * 8][32] = b, C[{grid}][{ROWS}][{COLUMNS}] = c, E[{grid}][{ROWS}][{COLUMNS}] = e;
    global f32 D[{grid} * {rows}][64] = d;
    global f16 F[{grid} * {rows}][k] = f, G[{grid} * 8][k] = g;
    {body}
}}
"""
    with open(path, "w") as out:
        out.write(text)
    return text


def mutants(lines):
    """Yields what is changed, the lines, and the number of the removed `cluster_sync` or None."""
    for i, line in enumerate(lines):
        kind = line.split("//@ ")[1].split()[0] if "//@" in line else ""
        of_loop = lines[i - 1].strip().startswith("for") and not lines[i - 1].endswith("{")

        def changed(name, text):
            return f"{name}: {line.strip()}", [*lines[: i - (of_loop and text is None)], *([text] if text else []), *lines[i + 1 :]]

        if kind in ("barrier", "wait", "sync", "arrive", "expect"):
            yield *changed("removed", None), int(line.split()[-1]) if kind == "barrier" else None
        if kind == "arrive":
            yield *changed("its own", re.sub(r"peer\((.*?), .*\)\)", r"\1)", line)), None
        if kind == "expect":
            yield *changed("more", line.replace("));", ") + 16);")), None
            yield *changed("fewer", line.replace("));", ") - 16);")), None
        if kind == "count":
            yield *changed("more", re.sub(r"\((\d+)\)", lambda m: f"({int(m[1]) + 1})", line)), None
            if "(1)" not in line:
                yield *changed("fewer", re.sub(r"\((\d+)\)", lambda m: f"({int(m[1]) - 1})", line)), None
        if kind == "multicast":
            yield *changed("fewer", re.sub(r"multicast\((.*)\)", r"multicast((\1) & ~(1 << cluster.rank))", line)), None


def finding(tool, path, sizes):
    """Returns the message of the first of the static check, the CPU engine and the simulator that finds a fault, or None."""
    given = ["--set", sizes, "--fill", "rand"]
    for command in (["check", path, *STATIC], ["run", path, *given], ["run", path, *given, "--device", "sim"], ["check", path]):
        result = call([tool, *command])
        if result.status:
            return str(result)
    return None


def check_mutants(tool, path, sizes, p, rows, lines, most):
    """Checks some mutants; returns how many were found."""
    found, made = 0, list(mutants(lines))
    for what, changed, barrier in p.choose.sample(made, min(most, len(made))):
        text = write(path, p, rows, changed)
        message, harmless = finding(tool, path, sizes), barrier is not None and p.is_harmless(barrier)
        if harmless is not None and bool(message) == harmless:
            fail(f"{what}: {f'a false alarm: {message}' if message else 'not found'} at {sizes}\n{text}")
        found += bool(message)
    return found


RELEASE = "mbarrier.arrive.release.cluster.shared::cluster"
OF_BLOCK = "mbarrier.arrive.release.cta.shared::cluster"
BARRIER = "    barrier.cluster.arrive.release;\n    barrier.cluster.wait.acquire;\n"


def simulate(tool, path, p, rows):
    """Checks the PTX on the simulator: two clusters along x, two rounds of the loop. Returns the messages; None: there are none."""
    x, y, z = p.shape
    grid = (2 * x, 2 * y if y > 1 else y, z)
    blocks = grid[0] * grid[1] * grid[2]
    tile = f"{p.type}[{blocks * ROWS * COLUMNS}]"
    arguments = {"n": "i32:2", "k": "i32:8", "u": "i32:1", "turns": "i32:2", "a": f"{tile}:rand", "b": f"{p.type}[{blocks * 256}]:rand",
                 "f": f"f16[{blocks * rows * 8}]:rand", "g": f"f16[{blocks * 64}]:rand", "c": f"{tile}:zero", "d": f"f32[{blocks * rows * 64}]:zero",
                 "e": f"{tile}:zero"}
    command = ["check", path, "--grid", ",".join(map(str, grid)), "--block", str(p.warps * 32), "--cluster", ",".join(map(str, p.shape)),
               "--shared", "60000"]
    with open(path) as file:
        for name in re.findall(r"\.param \.\w+ (\w+)", file.read()):
            command += ["--arg", arguments[name]]
    result = call([tool, *command])
    return str(result) if result.status else None


def check_ptx(tool, folder, path, p, rows):
    """Checks the PTX of a kernel, without one of its barriers, and with arrivals that release too little. Returns whether the simulator has found the
    mutant without a barrier. Kernels with tensor copies are left out, because their maps cannot be given here."""
    whole = call([tool, "show", path, "--stage", "ptx"]).out
    if (OF_BLOCK if p.publishes else RELEASE) in whole or (not p.publishes and OF_BLOCK not in whole):
        fail(f"arrivals {'do not release' if p.publishes else 'release'} to the cluster: {open(path).read()}")
    barriers = [int(line.split()[-1]) for line in p.lines if "//@ barrier" in line]
    if p.has_ring or any("multicast" in line for line in p.lines) or not barriers:
        return False
    if RELEASE in whole:
        with open(f"{folder}/k.ptx", "w") as file:
            file.write(whole.replace(RELEASE, OF_BLOCK))
        if not simulate(tool, f"{folder}/k.ptx", p, rows):
            fail(f"the simulator finds nothing with arrivals that release to their own block: {open(path).read()}")
    parts = whole.split(BARRIER)
    if len(parts) != len(barriers) + 1:
        fail(f"{len(parts) - 1} barriers of the cluster in the PTX, not {len(barriers)}: {open(path).read()}")
    out = p.choose.randrange(len(barriers))
    for without in (None, out):
        with open(f"{folder}/k.ptx", "w") as file:
            file.write("".join(part + BARRIER * (i < len(barriers) and i != without) for i, part in enumerate(parts)))
        message = simulate(tool, f"{folder}/k.ptx", p, rows)
        harmless = without is None or p.is_harmless(barriers[out], (2,))
        if message and harmless:
            fail(f"the simulator finds a fault, without barrier {without} of the cluster: {message}\n{open(path).read()}")
        if not message and p.is_harmless(barriers[out], (2,), by_peers=True) is False and without is not None:
            fail(f"the simulator finds nothing without barrier {without} of the cluster\n{open(path).read()}")
    return message is not None


def main():
    tool = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 12
    choose = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    most = int(sys.argv[4]) if len(sys.argv) > 4 else 2
    device = sys.argv[5] if len(sys.argv) > 5 else "sim"
    found = simulated = 0
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/cluster.tile"
        for i in range(count):
            p, rows = kernel(choose, i == 0)
            lines = p.declared + [f"reg {p.type} x[{ROWS}][{COLUMNS}] = A[me][:][:];"] + p.lines
            sizes = ",".join(f"{name}={choose.choice(values)}" for name, values in SIZES.items())
            text = write(path, p, rows, lines)
            result = call([tool, "check", path, *STATIC])
            if result.status:
                fail(f"the static check refuses a right kernel: {result}\n{text}")
            compare(tool, folder, path, sizes, ["c", "d", "e"], 3e-3 if p.type == "f16" else 1e-5, device)
            if device == "cuda":
                continue
            assemble(tool, folder, path)
            simulated += check_ptx(tool, folder, path, p, rows)
            found += check_mutants(tool, path, sizes, p, rows, lines, most)
    if device == "sim" and (not found or not simulated):
        fail(f"{found} mutants were found, and {simulated} by the simulator")
    print(f"{count} kernels of clusters, {found} mutants found, {simulated} more by the simulator")


if __name__ == "__main__":
    main()
