#!/usr/bin/env python3
"""`tune` for several kernels, sizes and types at once: the winner of each size, wrong candidates, results that are kept when the
program is killed, the budget, and programs that sizes share."""
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from tile_runner import PATIENCE, expect, fail
from tuner import Tuner, of_result

# The same product in two ways. W = 3 gives wrong values in `rows`. `cells` is wrong where m is above 300, which only the
# verification of a winner sees, because the others have smaller sizes.
ROWS = """
type T = {f32, f16};
tune W = {1, 3};
tune B = {16, 32};

kernel rows(i32 m, i32 n, i32 k, const T *a, const T *b, T *c) grid(cdiv(m, B)) warps(1)
{
    global T A[m][k] = a, B_[k][n] = b, C[m][n] = c;
    for (i32 j = 0; j < n; j += 16) {
        reg f32 acc[B][16] = 0;
        for (i32 p = 0; p < k; p += 16)
            acc += dot(A[block.x * B +: B][p +: 16], B_[p +: 16][j +: 16]);
        C[block.x * B +: B][j +: 16] = (T) (acc * W);
    }
    ensures C == dot(A, B_);
}
"""
CELLS = """
type T = {f32, f16};
tune LATE = {0, 1};

kernel cells(i32 m, i32 n, i32 k, const T *a, const T *b, T *c) grid(cdiv(m, 16), cdiv(n, 16)) warps(1)
{
    global T A[m][k] = a, B[k][n] = b, C[m][n] = c;
    reg f32 acc[16][16] = 0;
    i32 i = block.x * 16, j = block.y * 16;
    for (i32 p = 0; p < k; p += 16)
        acc += dot(A[i +: 16][p +: 16], B[p +: 16][j +: 16]);
    if (LATE == 1 && i >= 300)
        acc = acc + 1;
    C[i +: 16][j +: 16] = (T) acc;
    ensures C == dot(A, B);
}
"""
# device.sms is a parameter that no caller gives.
SHARES = """
type T = {f32, f16};
kernel shares(i32 m, i32 n, i32 k, const T *a, const T *b, T *c) grid(device.sms) warps(1)
{
    global T A[m][k] = a, B[k][n] = b, C[m][n] = c;
    for (i32 i = block.x * 16; i < m; i += grid.x * 16)
        for (i32 j = 0; j < n; j += 16) {
            reg f32 acc[16][16] = 0;
            for (i32 p = 0; p < k; p += 16)
                acc += dot(A[i +: 16][p +: 16], B[p +: 16][j +: 16]);
            C[i +: 16][j +: 16] = (T) acc;
        }
    ensures C == dot(A, B);
}
"""
# Two of the scalars are not sizes: one of a type variable, and a truth value.
SCALED = """
type T = {f32, f16};
tune B = {16, 32};

kernel scaled(i32 n, T alpha, bool keep, const T *a, T *c) grid(cdiv(n, B)) warps(1)
{
    global T A[n] = a, C[n] = c;
    C[block.x * B +: B] = keep ? A[block.x * B +: B] * alpha : A[block.x * B +: B];
    ensures C == (keep ? A * alpha : A);
}
"""


APART = "64,40"  # sizes m whose programs differ, so each is verified at its own size


def rounds_text(values, ends="ROUNDS < 1000"):
    """A candidate for each number of rounds; one never ends if the condition on m and ROUNDS does not hold."""
    return """
tune ROUNDS = {%s};

kernel rounds(i32 m, i32 n, i32 k, const f32 *a, f32 *c) grid(cdiv(m, 64)) warps(1)
{
    global f32 A[m] = a, C[m] = c;
    reg f32 x[64] = A[block.x * 64 +: 64];
    for (i32 i = 0; i < ROUNDS; i += %s ? 1 : 0)
        x = max(x, -x);
    C[block.x * 64 +: 64] = where(max(x) < inf, x, 0); // so that blocks are not joined, which would make it fast
    ensures C == max(A, -A);
}
""" % (", ".join(map(str, values)), ends)


def name_of(candidate):
    return candidate["kernel"] + " " + ",".join(f"{k}={v}" for k, v in candidate["tune"].items())


def check_winners(t):
    """Each size has a winner among all kernels; wrong candidates fail; the store serves the next run."""
    files = [t.write("rows.tile", ROWS), t.write("cells.tile", CELLS)]
    sizes = ["-m", "32,48", "-n", "32", "-k", "40"]
    report = t.tune(0, *files, *sizes)
    expect(report["kernels"] == ["rows", "cells"] and not report["interrupted"], report)
    expect([p["sizes"] for p in report["problems"]] == ["m=32,n=32,k=40", "m=48,n=32,k=40"], report)
    for p in report["problems"]:
        failed = {name_of(c) for c in of_result(p, "failed")}
        expect(failed == {"rows W=3,B=16", "rows W=3,B=32"}, failed)
        measured = of_result(p, "measured")
        expect(len(measured) == 4 and p["verified"], p)
        expect({k: p["winner"][k] for k in ("kernel", "tune", "ms")} == {k: measured[0][k] for k in ("kernel", "tune", "ms")}, p)
        expect(p["winner"]["ms"] == min(c["ms"] for c in measured), p)
        flops = 2 * int(p["sizes"].split(",")[0][2:]) * 32 * 40
        expect(abs(p["winner"]["tflops"] / (flops / p["winner"]["ms"] * 1e-9) - 1) < 1e-6, p)
    again = t.tune(0, *files, *sizes)
    expect(all(c["stored"] for p in again["problems"] for c in of_result(p, "measured")), again)
    more = t.tune(0, *files, "-m", "32,80", "-n", "32", "-k", "40")
    stored = [[c["stored"] for c in of_result(p, "measured")] for p in more["problems"]]
    expect(all(stored[0]) and not any(stored[1]), more)
    lines = t.command(0, *files, *sizes).out.splitlines()
    expect(lines[0].startswith("rows, cells on ") and lines[1] == "T=f32", lines)
    expect(lines[2].split() == ["sizes", "kernel", "ms", "TFLOP/s", "second", "seconds", "values"], lines)
    expect([line.split()[0] for line in lines[3:5]] == ["m=32,n=32,k=40", "m=48,n=32,k=40"], lines)
    one = t.command(0, *files, "-m", "32", "-n", "32", "-k", "40").out
    expect(re.search(r"^rank +kernel +values", one, re.M) and re.search(r"^ +1 +(rows|cells) ", one, re.M), one)
    ran = t.command(0, files[1], "--set", "m=48,n=32,k=40", "--fill", "rand", "--tuned", program="run").out
    expect("tuned: LATE=" in ran, ran)


def check_own_sizes(t):
    """A winner whose values are wrong at the sizes of its problem only is not the winner."""
    path = t.write("cells.tile", CELLS)
    report = t.tune(0, path, "-m", "80,624", "-n", "160", "-k", "272", "--no-store")
    small, large = report["problems"]
    expect(len(of_result(small, "failed")) == 0, small)
    expect(large["winner"]["tune"] == {"LATE": 0} or not of_result(large, "failed"), large)
    wrong = t.tune(1, path, "-m", "80,624", "-n", "160", "-k", "272", "--no-store", "--tune", "LATE=1")
    expect([c["result"] for p in wrong["problems"] for c in p["candidates"]] == ["measured", "failed"], wrong)
    expect(wrong["problems"][1]["winner"] is None and "expected" in wrong["problems"][1]["candidates"][0]["why"], wrong)


def check_types(t):
    """Types are tuned for one after the other; a name that only one kernel has narrows that one."""
    files = [t.write("rows.tile", ROWS), t.write("cells.tile", CELLS)]
    report = t.tune(0, *files, "-m", "32", "-n", "32", "-k", "32", "--type", "f16,f32", "--tune", "W=1,B=16", "--tune", "LATE=0")
    expect([p["types"] for p in report["problems"]] == ["T=f16", "T=f32"], report)
    expect([len(p["candidates"]) for p in report["problems"]] == [2, 2], report)
    listed = t.command(0, "--list").out
    expect(len(re.findall("T=f16", listed)) == 2 and len(re.findall("T=f32", listed)) == 2, listed)


def check_family(t):
    """The kernels of a family are tuned together; --list, --export and --forget take the family."""
    family = write_family(t)
    sizes = ["-m", "32", "-n", "32", "-k", "40"]
    report = t.tune(0, family, *sizes, "--tune", "W=1")
    expect(report["family"] == "product" and report["kernels"] == ["rows", "cells"], report)
    expect(len(of_result(report["problems"][0], "measured")) == 4, report)
    expect(t.command(0, family, *sizes, "--tune", "W=1").out.startswith("product on "), "the heading")
    t.tune(0, "kernels/matmul/tuned.tile", "--set", "m=32,n=32,k=40")
    listed = t.command(0, family, "--list").out
    expect(re.findall(r"^\w+", listed, re.M) == ["cells", "rows"], listed)
    lines = [json.loads(line) for line in t.command(0, family, "--export", "json").out.splitlines()]
    expect([line["kernel"] for line in lines] == ["cells", "rows"], lines)
    alone = t.command(0, os.path.join(t.folder, "rows.tile"), "--list").out
    expect(re.findall(r"^\w+", alone, re.M) == ["rows"], alone)
    expect("4 results deleted" in t.command(0, family, "--forget").out, t.rows())
    expect("nothing is stored of product in" in t.command(0, family, "--list").out, t.rows())
    expect({row[0].split("=")[0] for row in t.rows()} == {"BM"}, t.rows())


def check_device_numbers(t):
    """A kernel that asks for a number of its device is tuned together with one that does not."""
    write_family(t)
    t.write("shares.tile", SHARES)
    for order in (("rows", "shares"), ("shares", "rows")):
        family = t.write("both.tile", "family both {\n" + "".join(f'    "{name}.tile";\n' for name in order) + "}\n")
        report = t.tune(0, family, "-m", "32", "-n", "32", "-k", "40", "--tune", "W=1")
        expect(report["kernels"] == list(order) and len(of_result(report["problems"][0], "measured")) == 3, report)


def sections(path):
    """Returns the headers of a table, each with its rows."""
    found = []
    for line in map(json.loads, open(path)):
        if "family" in line:
            found.append((line, []))
        else:
            found[-1][1].append(line)
    return found


def write_family(t):
    t.write("rows.tile", ROWS)
    t.write("cells.tile", CELLS)
    return t.write("product.tile", 'family product {\n    "rows.tile";\n    "cells.tile";\n}\n')


def check_table(t):
    """A table has the best variants at every size; sections of other devices and types stay; the store alone gives the same table."""
    family, table = write_family(t), os.path.join(t.folder, "product.table")
    arguments = [family, "-m", "32,80", "-n", "32", "-k", "40", "--table", table]
    other = {"family": "product", "device": "another \\ \"GPU\"", "types": "T=f32", "version": "1", "sizes": ["m", "n", "k"], "variants": []}
    kept = json.dumps(other) + "\n" + json.dumps({"at": [1, 2, 3], "us": []}) + "\n"
    t.write("product.table", kept)
    said = t.command(0, *arguments).out
    expect(f"{table}: " in said and "at 2 sizes; the best of them takes 1.000 times the best of all" in said, said)
    (first, rows), (own, measured) = sections(table)
    expect(open(table).read().startswith(kept) and first == other and len(rows) == 1, open(table).read())
    expect(own["family"] == "product" and own["types"] == "T=f32" and own["sizes"] == ["m", "n", "k"] and own["version"], own)
    expect([r["at"] for r in measured] == [[32, 32, 40], [80, 32, 40]], measured)
    expect(1 <= len(own["variants"]) <= 2 and all(v["kernel"] in ("rows", "cells") for v in own["variants"]), own)
    expect(all(len(r["us"]) == len(own["variants"]) and min(r["us"]) > 0 for r in measured), measured)
    stored = t.tune(0, family, "-m", "32,80", "-n", "32", "-k", "40")
    for row, problem in zip(measured, stored["problems"]):
        best = of_result(problem, "measured")[0]["ms"] * 1e3
        expect(abs(min(row["us"]) / best - 1) < 1e-3, (row, best))
    whole = open(table).read()
    t.command(0, *arguments, "--type", "f16", "--variants", "1")
    headers = [header for header, _ in sections(table)]
    expect([h["types"] for h in headers] == ["T=f32", "T=f32", "T=f16"] and len(headers[2]["variants"]) == 1, headers)
    expect(open(table).read().startswith(whole), "the other sections")
    again = os.path.join(t.folder, "again.table")
    said = t.command(0, family, "--table", again, "--stored").out
    expect("the same command" not in said, said)
    expect(sections(again)[0] == sections(table)[1], open(again).read())
    t.command(0, family, "--table", table, "--stored", "-m", "80", "-n", "32", "-k", "40")
    expect([r["at"] for r in sections(table)[1][1]] == [[80, 32, 40]], open(table).read())
    check_table_refused(t, family, table)
    check_known(t, family, table)


def check_known(t, family, table):
    """--known: the variants of the family's table alone, all of them in the new one, also those that do not win."""
    other = os.path.join(t.folder, "known.table")
    t.command(0, family, "-m", "48", "-n", "32", "-k", "40", "--known", "--no-store", "--table", other)
    (header, rows), = sections(other)
    expect(len(header["variants"]) > 0 and len(rows) == 1 and all(rows[0]["us"]), (header, rows))
    names = [(v["kernel"], v["tune"]) for section, _ in sections(table) for v in section["variants"]]
    expect(all((v["kernel"], v["tune"]) in names for v in header["variants"]), (header, names))
    expect("--known is for a family" in t.command(2, os.path.join(t.folder, "rows.tile"), "-m", "32", "-n", "32", "-k", "32", "--known").err, "a kernel")
    check_known_budget(t, family, other)
    for path in (table, other):
        os.remove(path)
    expect("name no variant" in t.command(2, family, "-m", "48", "-n", "32", "-k", "40", "--known").err, "no table")


def check_known_budget(t, family, other):
    """--budget bounds --known, and sizes that it does not reach have no row; an interruption keeps what was measured."""
    before = open(other).read()
    said = t.command(1, family, "-m", "48,64", "-n", "32", "-k", "40", "--known", "--no-store", "--table", other, "--budget", "0.001s")
    expect("2 sizes were not reached before the budget ended" in said.out and "no size has a result" in said.err, said)
    expect(open(other).read() == before, "a table is left as it is if nothing was measured")
    (header, rows), = sections(other)
    alone = {**header, "variants": header["variants"][:1]}
    t.write("product.table", json.dumps(alone) + "\n" + json.dumps({**rows[0], "us": rows[0]["us"][:1]}) + "\n")
    said = t.command(0, family, "-m", "48", "-n", "32", "-k", "40", "--known", "--no-store").err
    left_out, = {"rows", "cells"} - {alone["variants"][0]["kernel"]}
    expect(f"{left_out} is left out: no table names a variant of it" in said, said)


def interrupt_known(t, table):
    """Interrupts a search among the variants after the first size, because no variant ends at the second; returns its messages."""
    family = t.write("several.tile", 'family several { "rounds.tile"; }\n')
    command = [t.tool, "tune", family, *rounds_command(t, range(1, 21), "m < 128", m="64,128,192")[3:], "--known", "--no-store", "--table", table]
    tuner = subprocess.Popen(command, env=t.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in tuner.stdout:
        if line.startswith("m="):
            tuner.send_signal(signal.SIGINT)
            break
    out, err = tuner.communicate(timeout=PATIENCE)
    expect(tuner.returncode == 1 and "interrupted" in out, out + err)
    return err


def check_known_interrupted(t):
    """An interruption keeps the times that were measured, unless the section then had fewer sizes."""
    names = [{"kernel": "rounds", "tune": f"ROUNDS={1 + i}"} for i in range(20)]
    head = {"family": "several", "device": "another", "types": "", "version": "1", "sizes": ["m", "n", "k"], "variants": names}
    t.write("several.table", json.dumps(head) + "\n" + json.dumps({"at": [64, 1, 1], "us": [1] * 20}) + "\n")
    table = os.path.join(t.folder, "kept.table")
    interrupt_known(t, table)
    (header, rows), = sections(table)
    expect(len(header["variants"]) == 20 and [r["at"] for r in rows] == [[64, 1, 1]] and all(rows[0]["us"]), (header, rows))
    longer = open(table).read() + "".join(json.dumps({"at": [m, 1, 1], "us": [1] * 20}) + "\n" for m in (1, 2, 3))
    t.write("kept.table", longer)
    err = interrupt_known(t, table)
    expect("left as it is: interrupted, and it has the times of more sizes" in err and open(table).read() == longer, err)


def check_table_refused(t, family, table):
    expect("--table is for a FAMILY" in t.command(2, os.path.join(t.folder, "rows.tile"), "-m", "32", "-n", "32", "-k", "32", "--table", table).err, "a kernel")
    expect("--stored is for --table" in t.command(2, family, "--stored").err, "--stored")
    expect("so it takes no --again" in t.command(2, family, "--stored", "--table", table, "--again").err, "--again")
    expect("--list takes no --table" in t.command(2, family, "--list", "--table", table).err, "--list")
    nothing = t.command(1, family, "--stored", "--table", table, "--device", "NVIDIA H200").err
    expect("nothing is stored of product for this device in" in nothing, nothing)
    for damage in ("{}", "nonsense", '{"at": [1], "us": [1]}'):
        path = t.write("damaged.table", damage + "\n")
        said = t.command(2, family, "--stored", "--table", path).err
        expect(f"{path}:1: this is not a line of a family's table" in said and open(path).read() == damage + "\n", said)


    other = write_scaled(t)
    whole = open(table).read()
    said = t.command(2, other, "--set", "n=64,alpha=1,keep=true", "--table", table).err
    expect(f"{table}:1: these are results of the family `product`, not of `scaled`" in said and open(table).read() == whole, said)


def write_scaled(t):
    t.write("scaled_by.tile", SCALED)
    return t.write("scaled.tile", 'family scaled {\n    "scaled_by.tile";\n}\n')


def check_table_scalars(t):
    """A table's sizes are the integers of the kernels, and the family loads with the table that `tune` wrote."""
    family, table = write_scaled(t), os.path.join(t.folder, "scaled.table")
    t.command(0, family, "--set", "n=64,alpha=1,keep=true", "--table", table)
    (header, rows), = sections(table)
    expect(header["sizes"] == ["n"] and [r["at"] for r in rows] == [[64]], (header, rows))
    ran = t.command(0, family, "--set", "n=64,alpha=1,keep=true", "--fill", "rand", program="run")
    expect("left out" not in ran.err, ran)
    crlf = open(table).read().replace("\n", "\r\n") + "\r\n"
    with open(table, "w", newline="") as out:
        out.write(crlf)
    t.command(0, family, "--set", "n=48,alpha=1,keep=true", "--table", table, "--no-store")
    expect([r["at"] for _, rows in sections(table) for r in rows] == [[48]], open(table).read())
    t.write("scaled.table", "{\n")
    ran = t.command(0, family, "--set", "n=64,alpha=1,keep=true", "--fill", "rand", program="run")
    expect("scaled.table:1:1: warning: the table of the family `scaled` is left out" in ran.err, ran)
    refused = t.command(2, family, "--set", "n=64,alpha=1,keep=true", "--table", table).err
    expect("scaled.table:1: this is not a line of a family's table" in refused and open(table).read() == "{\n", refused)


def check_table_gaps(t):
    """Variants that the budget left out at some size are measured there."""
    # At m = 64 the second candidate never ends, so the last two are left out there; at m = 40 it is slow, and the last one never ends.
    command = rounds_command(t, (1500, 3000, 1, 2), "(ROUNDS != 3000 || m < 64) && ROUNDS != 2", m=APART)
    family = t.write("gaps.tile", 'family gaps {\n    "rounds.tile";\n}\n')
    table = os.path.join(t.folder, "gaps.table")
    t.command(0, family, *command[3:], "--table", table, "--budget", "4s", "--variants", "2")
    (header, rows), = sections(table)
    expect([v["tune"] for v in header["variants"]] in (["ROUNDS=1500", "ROUNDS=1"], ["ROUNDS=1", "ROUNDS=1500"]), header)
    expect([r["at"][0] for r in rows] == [64, 40] and all(us and us > 0 for row in rows for us in row["us"]), rows)


def check_stored_gpu(t):
    """The results of a GPU make a table where that GPU is missing."""
    gpu = {"TILEWRIGHT_CUDA_DRIVER": os.environ["FAKE_CUDA"], "FAKE_CUDA_SM": "90", "TILEWRIGHT_CACHE": os.path.join(t.folder, "cache")}
    family, first, second = write_family(t), os.path.join(t.folder, "1.table"), os.path.join(t.folder, "2.table")
    sizes = ["--type", "f16", "-m", "16,40", "-n", "16", "-k", "32", "--tune", "W=1", "--tune", "B=16"]
    t.command(0, family, "--device", "cuda", *sizes, "--table", first, **gpu)
    (header, rows), = sections(first)
    expect(header["device"] == "simulator" and all(v["resident"] > 0 for v in header["variants"]) and len(rows) == 2, header)
    t.command(0, family, "--device", "simulator", *sizes, "--table", second, "--stored")
    expect(sections(second)[0][1] == rows, open(second).read())
    with sqlite3.connect(t.store) as db:
        db.execute("UPDATE result SET device = 'NVIDIA H200'")
    t.command(0, family, "--device", "NVIDIA H200", *sizes, "--table", second, "--stored")
    (own, again), = sections(second)[1:]
    expect(own["device"] == "NVIDIA H200" and again == rows and all(v["resident"] > 0 for v in own["variants"]), own)


def rounds_command(t, values, ends="ROUNDS < 1000", m="64"):
    return [t.tool, "tune", t.write("rounds.tile", rounds_text(values, ends)), "-m", m, "-n", "1", "-k", "1", "--timeout", f"{PATIENCE}s"]


def stored_rows(t, count):
    """Waits until `count` results are stored."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            rows = len(t.rows()) if os.path.exists(t.store) else 0
        except Exception:  # no tables yet
            rows = 0
        if rows >= count:
            return rows
        time.sleep(0.05)
    fail(f"less than {count} results are stored within {PATIENCE} s")


def check_killed_here(t, *options):
    """The last candidate of both searches never ends."""
    command = [*rounds_command(t, range(1, 11)), "-j", "1", *options]
    tuner = subprocess.Popen([*command, "--tune", "ROUNDS=1,2,3,4,5,1000"], env=t.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    stored_rows(t, 5)
    tuner.send_signal(signal.SIGKILL)
    tuner.communicate()
    expect(len(t.rows()) == 5, t.rows())
    tuner = subprocess.Popen([*command, "--tune", "ROUNDS=1,2,3,4,5,6,7,8,1000", "--json"], env=t.environment, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    stored_rows(t, 8)
    tuner.send_signal(signal.SIGINT)
    out, err = tuner.communicate(timeout=PATIENCE)
    report = json.loads(out)
    expect(tuner.returncode == 1 and report["interrupted"], out + err)
    measured = {c["tune"]["ROUNDS"]: c["stored"] for c in of_result(report, "measured")}
    expect(measured == {r: r <= 5 for r in range(1, 9)}, report)
    expect([c["tune"]["ROUNDS"] for c in of_result(report, "not measured")] == [1000], report)
    expect(len(t.rows()) == 8, t.rows())


def check_killed(t):
    """After kill -9, a search measures only what was not stored; Ctrl-C reports what there is. On the CPU, then on a GPU."""
    check_killed_here(t)
    t.command(0, os.path.join(t.folder, "rounds.tile"), "--forget")
    t.environment.update({"TILEWRIGHT_CUDA_DRIVER": os.environ["FAKE_CUDA"], "FAKE_CUDA_SM": "90", "TILEWRIGHT_CACHE": os.path.join(t.folder, "cache")})
    check_killed_here(t, "--device", "cuda")


def check_budget(t):
    """The sizes share the budget: at each of them a candidate never ends."""
    command = rounds_command(t, (1, 3000, 2), "(ROUNDS != 2 || m < 64) && (ROUNDS != 3000 || m >= 64)", m=APART)
    report = json.loads(t.command(0, *command[2:], "--no-store", "--budget", "6s", "--json").out)
    for p, left_out in zip(report["problems"], (2, 3000)):
        expect({c["tune"]["ROUNDS"] for c in of_result(p, "measured")} == {1, 2, 3000} - {left_out} and p["winner"], report)
        expect([c["tune"]["ROUNDS"] for c in of_result(p, "not measured")] == [left_out], report)


def check_gpu(t):
    """On a GPU, sizes with the same facts share a program, which is compiled and verified once."""
    gpu = {"TILEWRIGHT_CUDA_DRIVER": os.environ["FAKE_CUDA"], "FAKE_CUDA_SM": "90", "TILEWRIGHT_CACHE": os.path.join(t.folder, "cache")}
    path = t.write("cells.tile", CELLS)
    files = [path, t.write("rows.tile", ROWS)]
    arguments = ["--device", "cuda", "--type", "f16", "-m", "16,32,40", "-n", "16", "-k", "32", "--tune", "LATE=0", "--tune", "B=16"]
    report = t.tune(0, *files, *arguments, **gpu)
    expect([len(of_result(p, "measured")) for p in report["problems"]] == [2, 2, 2], report)
    expect([len(of_result(p, "failed")) for p in report["problems"]] == [1, 1, 1], report)
    expect(all(c["resident"] > 0 for p in report["problems"] for c in of_result(p, "measured")), report)
    cubins = [name for name in os.listdir(gpu["TILEWRIGHT_CACHE"]) if not name.startswith(".")]
    expect(len(cubins) == 2 * 3, cubins)  # 16 does not divide m = 40
    for pattern in ("20", "20,20,20,20,20,20,20,20,40,20"):
        times = t.tune(0, *files, *arguments, "--no-store", FAKE_CUDA_TIMES=pattern, **gpu)
        expect(all(p["winner"]["ms"] == 20 for p in times["problems"]), times)


def check_skipped(t):
    """A program that only one size needs is not compiled if the candidate was slow at two near sizes."""
    gpu = {"TILEWRIGHT_CUDA_DRIVER": os.environ["FAKE_CUDA"], "FAKE_CUDA_SM": "90", "TILEWRIGHT_CACHE": os.path.join(t.folder, "cache")}
    text = CELLS.replace("LATE = {0, 1}", "TIMES = {1, 20}").replace("    if (LATE == 1 && i >= 300)\n        acc = acc + 1;\n", "")
    text = text.replace("i32 n, i32 k", "static i32 n, i32 k").replace("    for (i32 p", "    for (i32 r = 0; r < TIMES; r++) {\n        acc = acc * 0;\n    for (i32 p")
    path = t.write("repeats.tile", text.replace("[j +: 16]);", "[j +: 16]);\n    }"))
    arguments = [path, "--device", "cuda", "--type", "f16", "-m", "16", "-k", "32"]
    t.tune(0, *arguments, "-n", "16,32", **gpu)
    report = t.tune(0, *arguments, "-n", "16,32,48,64", **gpu)
    expect([len(of_result(p, "measured")) for p in report["problems"]] == [2, 2, 1, 1], report)
    expect([c["tune"] for p in report["problems"] for c in of_result(p, "skipped")] == [{"TIMES": 20}] * 2, report)
    said = t.command(0, *arguments, "-n", "16,32,80", "--again", "--exhaustive", **gpu).out
    expect("6 measured" in said and "left out" not in said, said)
    said = t.command(0, *arguments, "-n", "16,32,96", **gpu).out
    expect("\n1 left out, because they were slow at the nearest sizes (--exhaustive compiles them)\n" in said, said)


def check_usage(t):
    rows, cells = t.write("rows.tile", ROWS), t.write("cells.tile", CELLS)
    other = t.write("rounds.tile", rounds_text((1, 2)))
    expect("their parameters differ" in t.command(2, rows, other, "-m", "16", "-n", "16", "-k", "16").err, "parameters")
    expect("-k is missing" in t.command(2, rows, "-m", "16", "-n", "16").err, "sizes go together")
    expect("given twice" in t.command(2, rows, "-m", "16", "-n", "16", "-k", "16", "--set", "m=3").err, "sizes given twice")
    expect("has no size `m`" in t.command(2, "kernels/recipes/argmax.tile", "-m", "16", "-n", "16", "-k", "16").err, "no such size")
    expect("there is no suite 'squars'" in t.command(2, rows, "--suite", "squars").err, "suites")
    expect("none of the kernels has a tuned value 'LAT'; did you mean 'LATE'?" in t.command(2, rows, cells, "-m", "16", "-n", "16", "-k", "16", "--tune", "LAT=1").err, "names")
    expect("none of the kernels has a type variable 'U'" in t.command(2, rows, cells, "-m", "16", "-n", "16", "-k", "16", "--type", "U=f16").err, "types")
    other = t.write("other.tile", CELLS.replace("{f32, f16}", "{bf16, f16}").replace("cells", "others"))
    left = t.command(0, rows, other, "-m", "16", "-n", "16", "-k", "16", "--tune", "W=1", "--no-store")
    expect("others is left out: it takes no elements of type f32" in left.err and "4 combinations: 2 measured" in left.out, left)
    expect("no kernel here takes elements of that type" in t.command(2, rows, "-m", "16", "-n", "16", "-k", "16", "--type", "bf16,fp8").err, "types")
    t.command(0, rows, "-m", "16", "-n", "16", "-k", "16", "--no-store", "--tune", "W=1")


def main():
    tool = os.path.abspath(sys.argv[1])
    for check in (check_winners, check_own_sizes, check_types, check_family, check_device_numbers, check_table, check_table_scalars, check_table_gaps, check_stored_gpu, check_killed, check_known_interrupted, check_budget, check_gpu, check_skipped, check_usage):
        with tempfile.TemporaryDirectory() as folder:
            check(Tuner(tool, folder))


if __name__ == "__main__":
    main()
