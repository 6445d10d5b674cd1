#!/usr/bin/env python3
"""`tune`: found, disqualified, timed out and stored candidates; processes that are killed; files that are not stores; exports."""
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from tile_runner import PATIENCE, call, expect, fail
from tuner import Tuner, of_result

# W = 3 gives wrong values, LOOP = 1 never ends, EDGE = 1 reads beyond its view.
TWINS = """
tune W = {2, 3};
tune LOOP = {0, 1};
tune EDGE = {0, 1};
tune B = {32, 64};
require(W + LOOP + EDGE <= 3);

kernel twins(i32 m, const f32 *a, f32 *c) grid(cdiv(m, B)) warps(1)
{
    global f32 A[m] = a, C[m] = c;
    for (i32 i = 0; i < 1; i += 1 - LOOP)
        C[block.x * B +: B] = A[block.x * B +: B] * W;
    if (EDGE == 1 && A[m] > 0)
        C[block.x * B +: B] = 0;
    ensures C == A * 2;
}
"""
# 60 configurations of some tenths of a second each.
SLOW = """
tune ROUNDS = {%s};

kernel slow(i32 m, const f32 *a, f32 *c) grid(cdiv(m, 64)) warps(1)
{
    global f32 A[m] = a, C[m] = c;
    reg f32 x[64] = A[block.x * 64 +: 64];
    for (i32 i = 0; i < ROUNDS; i++)
        x = max(x, -x);
    C[block.x * 64 +: 64] = x;
    ensures C == max(A, -A);
}
""" % ", ".join(str(5000 + i) for i in range(60))
RACY = """kernel racy(i32 m, const f32 *a, f32 *c) grid(1) warps(4)
{
    global f32 A[m] = a, C[m] = c;
    shared f32 s[64];
    s = A[0 +: 64];
    C[0 +: 64] = s;
    ensures C == A;
}
"""
READER = r"""
#include <stdio.h>
#include "winners.h"

int main(void)
{
    for (int i = 0; i < tilewright_winner_count; i++) {
        const struct tilewright_winner *w = &tilewright_winners[i];
        printf("%s %s", w->kernel, w->types);
        for (size_t t = 0; t < sizeof w->tuned / sizeof *w->tuned && w->tuned[t].name; t++)
            printf(" %s=%g", w->tuned[t].name, w->tuned[t].value);
        for (size_t s = 0; s < sizeof w->sizes / sizeof *w->sizes && w->sizes[s].name; s++)
            printf(" %s:%lld..%lld/%d", w->sizes[s].name, w->sizes[s].low, w->sizes[s].high, w->sizes[s].divisor);
        puts("");
    }
    return 0;
}
"""
TUNED = ["kernels/matmul/tuned.tile", "--set", "m=96,n=64,k=64"]
# Seconds for a candidate when one of them never ends. Larger limits are tried if the others need them on a busy machine.
CANDIDATE_SECONDS = (0.7, 4, 20)


def check_space(t):
    """The tried and stored candidates; none is measured twice."""
    report = t.tune(0, *TUNED)
    measured = of_result(report, "measured")
    expect(len(report["candidates"]) == 12 and report["verified"], report)
    expect(len(measured) == 6 and len(of_result(report, "same")) == 6, report)  # the CPU ignores `warps`
    expect(measured[0]["ms"] == min(c["ms"] for c in measured) > 0, measured)
    expect(report["shape"] == "m=64..127/16,n=64,k=64" and report["types"] == "T=f32", report)
    again = t.tune(0, *TUNED)
    expect(all(c["stored"] for c in of_result(again, "measured")), again)
    expect(of_result(again, "measured")[0]["ms"] == measured[0]["ms"], again)
    anew = t.tune(0, *TUNED, "--again")
    expect(not any(c["stored"] for c in of_result(anew, "measured")), anew)
    narrow = t.tune(0, *TUNED, "--no-store", "--tune", "BM=32,128", "--tune", "BK=8,WARPS=4")
    values = sorted((c["tune"]["BM"], c["tune"]["BN"], c["tune"]["BK"]) for c in narrow["candidates"])
    expect(values == [(32, 64, 8), (32, 128, 8), (128, 64, 8), (128, 128, 8)], values)
    best = of_result(anew, "measured")[0]["tune"]
    ran = json.loads(t.command(0, *TUNED, "--tuned", "--fill", "rand", "--verify", "--json", program="run").out)
    expect(ran["tuned"] == best, f"{ran['tuned']} is not {best}")
    expect(" ms at m=" in ran["tuned_from"] and "by --tune" not in ran["tuned_from"], ran)
    by_hand = t.command(0, *TUNED, "--tuned", "--tune", f"BK={48 - best['BK']}", "--fill", "rand", program="run").out
    expect("by --tune instead of " in by_hand, by_hand)
    other = t.command(0, TUNED[0], "--set", "m=77,n=64,k=64", "--tuned", "--fill", "rand", program="run")
    expect("nearest" in other.out and "m=96" in other.out, other)
    missing = t.command(2, TUNED[0], "--set", "m=77,n=64,k=64", "--tuned", "--type", "f16", "--fill", "rand", program="run")
    expect("no tuned values are stored" in missing.err and "tilewright tune" in missing.err, missing)
    table = t.command(0, *TUNED).out
    expect("of best" in table and "blocks/SM" not in table and "noise" in table, table)
    alone = t.command(0, "kernels/matmul/shared.tile", "--set", "m=16,n=16,k=16", "--no-store").out
    expect("matmul_v1 has no tuned values" in alone and "nothing to choose" in alone and "to choose" not in t.command(0, *TUNED).out, alone)
    # too large for any machine: 8 petabytes
    huge = t.command(2, "kernels/matmul/shared.tile", "--set", "m=2000000000,n=4,k=1000000", "--no-store").err
    expect(huge.startswith("tilewright: no memory for `a`: f32[2000000000][1000000] takes 8e+06 GB\n"), huge)
    batch = t.command(0, "kernels/matmul/batched.tile", "--set", "batch=2,m=16,n=16,k=16", "--tune", "BM=64,BN=64,BK=16,STAGES=3", "--type",
                      "f32", "--no-store").out.splitlines()
    row = next(line.replace(" %", "%").split() for line in batch if line.strip().startswith("1 "))
    expect(abs(float(row[5]) * float(row[2]) / (2 * 2 * 16 ** 3 * 1e-9) - 1) < 0.01, batch)


def check_twins(t):
    """Candidates that give wrong values, fault or never end do not win, and the report gives the reason."""
    path = t.write("twins.tile", TWINS)
    for seconds in CANDIDATE_SECONDS:
        report = t.tune(None, path, "--set", "m=200", "--timeout", f"{seconds}s", "--again")
        why = {(c["tune"]["W"], c["tune"]["LOOP"], c["tune"]["EDGE"]): c.get("why", "") for c in report["candidates"]}
        if not any("took more" in text for (_, loop, _), text in why.items() if loop == 0):
            break
    expect(len(report["candidates"]) == 8 and report["forbidden"] == 8, report)
    expect("expected" in why[3, 0, 0] and why[2, 0, 0] == "", why)
    expect(f"took more than {seconds} s" in why[2, 1, 0], why)
    expect("outside" in why[2, 0, 1] or "beyond" in why[2, 0, 1], why)
    expect(len(of_result(report, "measured")) == 2 and len(of_result(report, "failed")) == 6, report)
    expect(len(t.rows("status <> 0 AND kernel = 'twins'")) == 6, t.rows())
    wrong = t.tune(1, path, "--set", "m=200", "--tune", "W=3")
    expect(len(of_result(wrong, "failed")) == 2, wrong)
    listed = t.command(0, path, "--list").out
    expect("2 measured, 6 failed" in listed, listed)


def start_slow(t, *arguments, **options):
    command = [t.tool, "tune", t.write("slow.tile", SLOW), "--set", "m=40000", "--timeout", "100s", *arguments]
    return subprocess.Popen(command, env=t.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def wait_for_rows(t, count):
    """Reads the store while the tuner writes."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if os.path.exists(t.store):
            try:
                rows = len(t.rows("kernel = 'slow'"))
            except sqlite3.OperationalError:  # no tables yet
                rows = 0
            if rows >= count:
                return rows
        time.sleep(0.05)
    fail(f"less than {count} results are stored within {PATIENCE} s")


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return "Z" not in stat.read().split(")")[1]
    except OSError:
        return False


def still_running(pids):
    """Waits, because a signal takes time; returns the processes that still run."""
    end = time.monotonic() + 60
    while (left := [p for p in pids if is_running(p)]) and time.monotonic() < end:
        time.sleep(0.05)
    return left


def children(pid):
    return subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout.split()


def check_killed(t):
    """kill -9 keeps all but the running measurement, and leaves no process; Ctrl-C prints the report."""
    tuner = start_slow(t)
    wait_for_rows(t, 3)
    others = children(tuner.pid)
    tuner.send_signal(signal.SIGKILL)
    tuner.wait()
    kept = len(t.rows("kernel = 'slow'"))
    expect(kept >= 3, kept)
    left = still_running(others)
    expect(others and not left, f"left over: {left} of {others}")
    tuner = start_slow(t)
    wait_for_rows(t, kept + 3)
    tuner.send_signal(signal.SIGINT)
    out, err = tuner.communicate(timeout=PATIENCE)
    expect(tuner.returncode == 1 and f"({kept} from the store)" in out and "not measured" in out, out + err)
    check_terminated(t)
    report = t.tune(0, os.path.join(t.folder, "slow.tile"), "--set", "m=40000", "--budget", "300ms")
    expect(of_result(report, "not measured"), "a budget of 0.3 s is too short for all")
    check_cut_off(t)


def check_cut_off(t):
    """The report names the candidate that uses up the rest of a budget, which is not a failure; --timeout makes it one."""
    with open("kernels/matmul/shared.tile") as shared:
        path = t.write("cut.tile", shared.read().replace("p += BK", "p += STEP").replace("kernel", "tune STEP = {16, 0};\nkernel", 1))
    arguments = [path, "--set", "m=32,n=32,k=32", "--no-store", "--budget", "5s"]
    said = t.command(0, *arguments, "--timeout", "100s").out
    expect(re.search(r"^STEP=0: not done after [1-5]\.\d s of measuring, when the budget ended \(--timeout ends one sooner\)$", said, re.M), said)
    expect("1 measured, 0 failed" in said and "1 not measured" in said and "not all were measured" in said, said)
    report = t.tune(0, *arguments)
    found, = of_result(report, "not measured")
    expect(found["tune"] == {"STEP": 0} and "not done after" in found["why"], report)
    expect("1 failed" in t.command(0, *arguments, "--timeout", "2s").out, "a timeout within the budget")


def check_terminated(t):
    """A whole job gets a signal to end, as from `timeout` and batch systems: no candidate is blamed for it."""
    for _ in range(4):
        t.command(0, os.path.join(t.folder, "slow.tile"), "--forget")
        tuner = start_slow(t, start_new_session=True)
        wait_for_rows(t, 3)
        os.killpg(tuner.pid, signal.SIGTERM)
        out, err = tuner.communicate(timeout=PATIENCE)
        expect(tuner.returncode == 1 and "interrupted" in out, out + err)
        expect(t.rows("status <> 0") == [], t.rows("status <> 0"))


def check_many(t):
    """Eight at once on a store that does not exist yet: no result is lost, and no process is locked out."""
    t.store = os.path.join(t.folder, "many", "folders", "tuned.db")
    t.environment["TILEWRIGHT_STORE"] = t.store
    tuners = [subprocess.Popen([t.tool, "tune", "kernels/matmul/tuned.tile", "--set", f"m={32 + i // 2},n=32,k=32", "-j", "1"],
                               env=t.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for i in range(8)]
    for tuner in tuners:
        out, err = tuner.communicate(timeout=PATIENCE)
        expect(tuner.returncode == 0, out + err)
    expect(len(t.rows("status = 0")) == 4 * 6, t.rows())


def check_stores(t):
    """A file that is not a store is refused, with the way out; a deleted store is made again."""
    damaged = t.write("damaged.db", "this is no database at all, but long enough to be looked at as one\n" * 20)
    said = t.command(2, "--list", "--store", damaged).err
    expect("damaged" in said and "move it away" in said, said)
    expect(open(damaged).read().startswith("this is no database"), "a damaged store is left as it is")
    foreign = os.path.join(t.folder, "foreign.db")
    sqlite3.connect(foreign).execute("CREATE TABLE other (a)")
    said = t.command(2, *TUNED, "--store", foreign).err
    expect("not a store of tuned values" in said and "--no-store" in said, said)
    expect(sqlite3.connect(foreign).execute("PRAGMA journal_mode").fetchone() == ("delete",), "another's file is left as it is")
    expect("newer" in t.command(2, "--list", "--store", newer_store(t)).err, "newer")
    for command, path, why in ((TUNED, f"{damaged}/tuned.db", "this user may write"), (["--list"], t.folder, "can be read and written")):
        said = t.command(2, *command, "--store", path).err
        expect(why in said and "name another store with --store" in said, said)
    for name in ("", ":memory:"):  # which SQLite stores in no file
        for command in (TUNED, ["--list"], ["--export", "c"]):
            said = t.command(2, *command, "--store", name)
            expect("names no file" in said.err and "kept in" not in said.out, said)
    for name in ("file:uri.db?mode=memory", ":colon.db"):  # ordinary file names
        expect(f"kept in {name}" in t.command(0, *TUNED, "--store", name).out and os.path.exists(name), name)
        for end in ("", "-wal", "-shm"):
            if os.path.exists(name + end):
                os.remove(name + end)
    homeless = {"TILEWRIGHT_STORE": "", "HOME": "", "XDG_DATA_HOME": "relative"}
    said = t.command(2, *TUNED, **homeless).err
    expect("no place for a store" in said and "--store" in said and "--no-store" in said, said)
    expect(not os.path.exists("relative") and not os.path.exists("tuned.db"), "kept in the working folder")
    said = t.command(0, "kernels/matmul/shared.tile", "--set", "m=16,n=16,k=16", "--store", os.path.join(t.folder, "none.db")).out
    expect("nothing to choose or to keep" in said and "kept in" not in said and not os.path.exists(os.path.join(t.folder, "none.db")), said)
    said = t.command(2, "--list", TILEWRIGHT_SQLITE="/no/such.so").err
    expect("TILEWRIGHT_SQLITE" in said, said)
    for name in (t.store, t.store + "-wal", t.store + "-shm"):
        if os.path.exists(name):
            os.remove(name)
    expect("nothing is stored" in t.command(0, "--list").out, "a new store")
    expect("nothing is stored" in t.command(1, "--export", "json").err, "nothing to export")
    check_absent(t)
    if os.geteuid() != 0:  # root may write anywhere
        check_read_only(t)


def check_bench(t):
    """`bench` uses results stored for its number of threads, and a message tells if there are none."""
    def bench(kernel, *arguments):
        ran = t.command(0, kernel, "-s", "64", "--peers", "none", "--warmup", "0", "--repeat", "1", "--tuned", "--json", *arguments, program="bench")
        return json.loads(ran.out)["rows"][0].get("config_from"), ran.err

    cores = json.loads(t.command(0, "--json", program="devices").out)[0]["cores"]
    tuned, size = TUNED[0], ("--set", "m=64,n=64,k=64", "--tune", "BK=8,BN=64")
    said = bench(tuned, "--type", "bf16")
    expect(said[0] == "default" and "nothing is stored yet: there is no " in said[1], said)
    for stored, taken, other in (([], ["--threads", str(cores)], str(cores + 1)), (["--threads", str(cores)], [], str(cores + 1)),
                                 (["--threads", str(cores + 1)], ["--threads", str(cores + 1)], str(cores))):
        t.command(None, tuned, "--forget")
        t.tune(0, tuned, *size, *stored)
        expect(bench(tuned, *taken) == ("tuned", ""), (stored, taken))
        origin, said = bench(tuned, "--threads", other)
        expect(origin == "default" and "no tuned values are stored for `matmul_v2` with T=f32, m=64,n=64,k=64" in said, said)
        expect("here it runs with its default values" in said, said)
    expect("here it runs with what --tune says" in bench(tuned, "--tune", "BM=64", "--type", "f16")[1], "--tune")
    expect(bench("kernels/matmul/shared.tile") == (None, ""), "a kernel without tuned values")


def check_absent(t):
    """Queries of a missing store do not make one; tuning makes no folder on a given path."""
    folder = os.path.join(t.folder, "typo")
    path = os.path.join(folder, "tuned.db")
    for asked in (["--list"], ["--forget"], ["--export", "c"]):
        said = t.command(2, *asked, "--store", path).err
        expect(f"there is no store {path}: name another" in said, said)
    for command in (["run", *TUNED, "--fill", "rand"], ["bench", *TUNED]):
        said = call([t.tool, *command, "--tuned", "--store", path], env=t.environment)
        expect(said.status == 2 and f"there is no store {path}" in said.err, said)
    said = t.command(2, *TUNED, "--store", path).err
    expect(path in said and "this user may write" in said, said)
    usual = {"TILEWRIGHT_STORE": path}
    said = call([t.tool, "run", *TUNED, "--fill", "rand", "--tuned"], env={**t.environment, **usual})
    expect(said.status == 2 and f"nothing is stored yet: there is no {path}" in said.err, said)
    expect("nothing is stored yet" in t.command(0, "--list", **usual).out, "the usual store")
    expect(not os.path.exists(folder), "a folder was made")


def newer_store(t):
    path = os.path.join(t.folder, "newer.db")
    t.command(0, *TUNED, "--store", path)
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 1000")
    return path


def check_read_only(t):
    folder = os.path.join(t.folder, "readonly")
    store = os.path.join(folder, "tuned.db")
    os.mkdir(folder)
    t.command(0, *TUNED, "--store", store)
    os.chmod(store, 0o400)
    os.chmod(folder, 0o500)
    expect("6 measured" in t.command(0, "--list", "--store", store).out, "a store that can only be read is read")
    said = t.command(1, *TUNED, "--again", "--store", store).err
    expect("cannot be written" in said, said)
    os.chmod(folder, 0o700)


def check_exports(t):
    """The same winners in C, compiled and read, and as JSON."""
    t.command(0, *TUNED)
    t.command(0, *TUNED, "--type", "f16")
    t.command(0, "kernels/matmul/tuned.tile", "--set", "m=97,n=64,k=64")
    lines = [json.loads(line) for line in t.command(0, "--export", "json").out.splitlines()]
    expect(len(lines) == 3 and {"device", "program", "ms", "sizes"} <= set(lines[0]), lines)
    expect({line["types"]["T"] for line in lines} == {"f16", "f32"}, lines)
    expect(t.command(0, "--export", "json", "--device", "cpu").out.count("\n") == 3, "the host's")
    t.command(1, "--export", "json", "--device", "Another GPU")
    winners = t.command(0, "--export", "c").out
    expect(" \n" not in winners, winners)
    t.write("winners.h", winners)
    reader, program = t.write("reader.c", READER), os.path.join(t.folder, "reader")
    subprocess.run([os.environ.get("CC", "cc"), "-std=c99", "-Wall", "-Werror", "-o", program, reader], check=True)
    read = call([program]).out.splitlines()
    want = []
    for line in lines:
        tuned = " ".join(f"{n}={v}" for n, v in line["tune"].items())
        sizes = " ".join(f"{n}:{r[0]}..{r[1]}/{r[2] if len(r) > 2 else 1}" for n, r in line["class"].items())
        want.append(f"{line['kernel']} T={line['types']['T']} {tuned} {sizes}")
    expect(read == want, f"{read}\n{want}")
    check_damaged(t, lines, winners)
    halves = t.command(0, "--export", "json", "--type", "f16", "--set", "m=0x60,n=64").out.splitlines()
    expect(len(halves) == 1 and json.loads(halves[0])["types"]["T"] == "f16", halves)
    expect("m=97" in t.command(0, "--list", "--set", "m=97").out, "of one size")
    expect("nothing is stored" in t.command(0, "--list", "--set", "m=98").out, "of no size")
    expect("6 results deleted" in t.command(0, "kernels/matmul/tuned.tile", "--forget", "--set", "m=97").out, t.rows())
    expect("6 results deleted" in t.command(0, "kernels/matmul/tuned.tile", "--forget", "--type", "T=f16").out, t.rows())
    expect("6 results deleted" in t.command(0, "kernels/matmul/tuned.tile", "--forget").out, t.rows())
    expect(t.rows() == [], t.rows())


def check_damaged(t, lines, winners):
    """Damaged rows are left out with a message; texts of any kind are quoted."""
    columns = "device, kernel, program, types, shape, sizes, tune, why, version, status, samples, milliseconds, measured"
    good = ["d", "k", "p", "T=f32", "m=16..31", "m=17", "B=2", "", "1", 0, 1, 1.0, 1]
    damaged = [("kernel", "k\""), ("types", "T=\"f32"), ("types", "f32"), ("shape", "m=16..x"), ("shape", "\"=1"), ("shape", "m="), ("tune", "B=2,C=;system"),
               ("tune", "B=\"}"), ("tune", "B\n=2"), ("tune", "B=inf"), ("sizes", "m=a"), ("milliseconds", float("inf"))]
    with sqlite3.connect(t.store) as db:
        for i, (name, value) in enumerate(damaged):
            row = dict(zip(columns.split(", "), good), program=f"damaged{i}", **{name: value})
            db.execute(f"INSERT INTO result ({columns}) VALUES ({', '.join('?' * 13)})", [row[c] for c in columns.split(", ")])
    for form, whole in (("json", lines), ("c", winners)):
        said = t.command(0, "--export", form)
        expect((said.out == whole) if form == "c" else [json.loads(line) for line in said.out.splitlines()] == whole, said)
        expect(said.err.count("not exported") == len(damaged), said)
    device = "quotes \" and ' and \\ and ??/ and \n\t"
    with sqlite3.connect(t.store) as db:
        db.execute("DELETE FROM result WHERE program LIKE 'damaged%'")
        db.execute(f"INSERT INTO result ({columns}) VALUES ({', '.join('?' * 13)})", [device, *good[1:6], "B=0.5,C=1e-07", *good[7:]])
    odd = [line for line in map(json.loads, t.command(0, "--export", "json").out.splitlines()) if line["kernel"] == "k"]
    expect(len(odd) == 1 and odd[0]["device"] == device and odd[0]["tune"] == {"B": 0.5, "C": 1e-7}, odd)
    t.write("winners.h", t.command(0, "--export", "c").out)
    source, program = t.write("device.c", '#include "winners.h"\n#include <stdio.h>\nint main(void) { for (int i = 0; i < tilewright_winner_count; i++)\n'
                              'if (tilewright_winners[i].kernel[0] == \'k\') fputs(tilewright_winners[i].device, stdout);\nreturn 0; }\n'), os.path.join(t.folder, "device")
    subprocess.run([os.environ.get("CC", "cc"), "-std=c99", "-Wall", "-Werror", "-o", program, source], check=True)
    expect(call([program]).out == device, "a device's name in C")
    with sqlite3.connect(t.store) as db:
        db.execute("DELETE FROM result WHERE device = ?", [device])
    t.write("winners.h", winners)


def check_old(t):
    """Results that another version measured are marked, and measured again; comments make no difference, code does."""
    text = open("kernels/matmul/tuned.tile").read()
    path = t.write("own.tile", text)
    sizes = ["--set", "m=96,n=64,k=64"]
    t.tune(0, path, *sizes)
    t.write("own.tile", "// another comment\n" + text.replace("BK = {16, 32}", "BK = {16, 32, 48}"))
    report = t.tune(0, path, *sizes)
    expect(sum(c["stored"] for c in of_result(report, "measured")) == 6 and len(of_result(report, "measured")) == 9, report)
    t.write("own.tile", text.replace("C[i +: BM][j +: BN] = (T) acc", "C[i +: BM][j +: BN] = (T) (acc + 0)"))
    report = t.tune(0, path, *sizes)
    expect(not any(c["stored"] for c in of_result(report, "measured")), report)
    with sqlite3.connect(t.store) as db:
        db.execute("UPDATE result SET version = '0.0.1'")
    expect("another version's" in t.command(0, "--list").out, "old results are shown as old")
    report = t.tune(0, path, *sizes)
    expect(not any(c["stored"] for c in of_result(report, "measured")), report)
    with sqlite3.connect(t.store) as db:
        own = "version <> '0.0.1' AND status = 0"
        slowest, = db.execute(f"SELECT tune FROM result WHERE {own} ORDER BY milliseconds DESC LIMIT 1").fetchone()
        db.execute(f"UPDATE result SET version = '0.0.1', milliseconds = 1e-9 WHERE {own} AND tune = ?", (slowest,))
    taken = t.command(0, path, *sizes, "--fill", "rand", "--tuned", program="run").out
    expect("tuned: " in taken and slowest not in taken, "another version's times count less: " + taken)
    expect("10 results deleted" in t.command(0, "--forget").out, t.rows())  # 9 of the first text, 1 of the last


def check_assembler_ends(t, arguments, gpu):
    """A process that takes too long is ended together with its ptxas."""
    pids = os.path.join(t.folder, "pids")
    slow = t.write("ptxas", f"#!/bin/sh\necho $$ >>{pids}\nexec sleep 1000\n")
    os.chmod(slow, 0o755)
    for seconds in CANDIDATE_SECONDS:
        report = t.tune(1, *arguments, "--tune", "BM=64,BK=16,STAGES=3,SPLIT=1", "--timeout", f"{seconds}s", "--no-store",
                        **{**gpu, "TILEWRIGHT_PTXAS": slow, "TILEWRIGHT_CACHE": os.path.join(t.folder, "empty"), "TMPDIR": t.folder})
        if os.path.exists(pids):  # the assembler took too long
            break
    expect(all("compiling took more" in c["why"] for c in of_result(report, "failed")), report)
    started = open(pids).read().split()
    left = still_running(started)
    expect(started and not left, f"left over: {left} of {started}")


def check_gpu(t):
    """The same through a driver; the target's refusals are counted."""
    gpu = {"TILEWRIGHT_CUDA_DRIVER": os.environ["FAKE_CUDA"], "FAKE_CUDA_SM": "90",
           "TILEWRIGHT_CACHE": os.path.join(t.folder, "cache")}
    arguments = ["kernels/matmul/split_k.tile", "--device", "cuda", "--type", "f16", "--set", "m=40,n=64,k=64"]
    report = t.tune(0, *arguments, "--tune", "BM=64,BK=16,STAGES=3", **gpu)
    expect(len(of_result(report, "measured")) == 8 and report["verified"], report)
    expect(len(os.listdir(gpu["TILEWRIGHT_CACHE"])) >= 8, "assembled kernels remain in the cache")
    said = t.command(0, *arguments, "--tune", "BM=64,BK=16,STAGES=3,SPLIT=1,WARPS=4", "--no-store", **{**gpu, "TILEWRIGHT_CACHE": ""})
    expect("not kept" in said.err and "1 measured" in said.out and "blocks/SM" in said.out, said)
    expect(all(c["resident"] > 0 and c["registers"] > 0 for c in report["candidates"]), report)
    two = {**gpu, "FAKE_CUDA_DEVICES": "2"}
    one = [*arguments[:1], *arguments[3:], "--tune", "BM=64,BK=16,STAGES=3,SPLIT=1,WARPS=4"]
    for name, model in (("cuda:1", "simulator 1"), ("cuda:0", "simulator"), ("sm_80", "simulator")):
        report = t.tune(0, *one, "--device", name, **two)
        expect(report["device"] == model and len(of_result(report, "measured")) == 1, report)
    listed = t.command(0, "--list", "--device", "cuda:1", **two).out
    expect("on simulator 1 " in listed and "on simulator  " not in listed, listed)
    said = t.command(2, *one, "--device", "h200").err
    expect("`tilewright explain FILE --sweep BM=32,64 --device h200` predicts times" in said, said)
    said = t.command(2, *one, "--device", "cuda:2", **two).err
    expect(said.startswith("tilewright: no GPU to run on: there is no GPU 2"), said)
    roles = ["kernels/hopper/matmul_roles.tile", "--device", "cuda", "--type", "f16", "--set", "m=128,n=128,k=64", "--tune", "BM=128,BN=128,BK=64,GROUP=8"]
    report = t.tune(0, *roles, **gpu)  # its grid is the device's, which only the child may open
    expect(len(of_result(report, "measured")) == 1, report)
    small = {**gpu, "FAKE_CUDA_SM": "86"}
    report = t.tune(1, arguments[0], "--device", "cuda", *arguments[5:],
                    "--tune", "BM=128,BN=128,BK=32,WARPS=4,SPLIT=1,STAGES=4,5", **small)
    refused = of_result(report, "refused")
    expect(len(refused) == 2 and all("shared memory" in c["why"] for c in refused), report)
    check_assembler_ends(t, arguments, gpu)
    broken = t.write("fault.tile", TWINS)
    for seconds in CANDIDATE_SECONDS:
        report = t.tune(None, broken, "--set", "m=70", "--device", "cuda", "--tune", "EDGE=0,B=64", "--timeout", f"{seconds}s", "--again", **gpu)
        if of_result(report, "measured"):
            break
    expect(len(of_result(report, "measured")) == 1 and len(of_result(report, "failed")) == 2, report)


def check_noise(t):
    """One disturbed sample, the first of a candidate or a later one, disqualifies no candidate; the report does not rank candidates that
    noise hides."""
    gpu = {"TILEWRIGHT_CUDA_DRIVER": os.environ["FAKE_CUDA"], "FAKE_CUDA_SM": "90"}
    arguments = ["kernels/matmul/split_k.tile", "--device", "cuda", "--type", "f16", "--set", "m=40,n=64,k=64", "--tune", "BM=64,BK=16,STAGES=3", "--no-store"]
    # a candidate has a verified run and a short sample; then come longer samples, and the finals
    for usual, count, disturbed in (("20", 14, "20,100"), ("20", 16, "20,20,100"), ("250", 14, "250,900")):
        times = ",".join([usual] * count + [disturbed, usual])
        report = t.tune(0, *arguments, *(["--finalists", "2"] if usual == "20" else []), FAKE_CUDA_TIMES=times, **gpu)
        expect([c["ms"] for c in report["candidates"]] == [float(usual)] * 8, (times, report))
    said = t.command(0, *arguments, FAKE_CUDA_TIMES="20", **gpu).out
    expect("the first 8 differ by no more than their noise: each of them may be the fastest" in said and " 0.0 % " in said, said)
    slow = t.tune(0, *arguments, FAKE_CUDA_TIMES="20,20,20,20,20,20,20,90,90,20", **gpu)
    expect(sorted(c["samples"] for c in slow["candidates"])[0] == 2 and slow["within_noise"] == 7, slow)


def check_refused(t):
    """For a kernel without tuned values that does not compile: the line, and the reason."""
    path = t.write("racy.tile", RACY)
    said = t.command(1, path, "--set", "m=64").out
    expect(f"1 failed:\n  {path}:6: `s` is read here while" in said, said)
    alike = t.write("alike.tile", "tune B = {8, 16, 32};\nkernel k(i32 n, const f32 *a, f32 *c) grid(1) warps(1)\n{\n"
                    "    global f32 A[n] = a, C[n] = c;\n    C[0 +: B] = A[0 +: B] + 1;\n    ensures C == A;\n}\n")
    said = t.command(1, alike, "--set", "n=8", "--device", "cpu").out
    expect(said.count("C[0] is") == 1 and "\n    2 others for the same reason (--json lists all)\n" in said, said)
    untuned = RACY.replace("s = A[0 +: 64];", "s = A[0 +: 64] * 2; sync();")
    t.command(1, t.write("untuned.tile", untuned), "--set", "m=64")
    expect("untuned.tile" not in t.command(0, "--list").out, "kept, of a kernel without tuned values")
    wrong = t.write("wrong.tile", "tune W = {2};\n" + untuned.replace("* 2", "* W"))
    t.command(1, wrong, "--set", "m=64")
    listed = t.command(0, "--list").out
    expect(f"(1 failed, {wrong}:8: C[" in listed or f"(1 failed, W=2: {wrong}:8: C[" in listed, listed)


def check_usage(t):
    said = t.command(2, "kernels/matmul/tuned.tile").err
    expect("--set m=…,n=…,k=…" in said, said)
    expect("did you mean 'BM'" in t.command(2, *TUNED, "--tune", "BN=64,bm=64").err, "names")
    expect("expected NAME=VALUE" in t.command(2, *TUNED, "--tune", "64").err, "values")
    expect(t.command(2, *TUNED, "--tune", "BM=1.5").err == "tilewright: tuned value `BM` takes a 32-bit integer\n", "of another kind")
    expect("--budget soon" in t.command(2, *TUNED, "--budget", "soon").err, "times")
    expect("cpu and cuda" in t.command(2, *TUNED, "--device", "tpu").err, "devices")
    t.command(2, "--export", "yaml")
    expect("takes no --budget" in t.command(2, "--forget", "--budget", "5s").err, "of tuning alone")
    expect("takes no --forget" in t.command(2, "--forget", "--list").err, "one at a time")
    expect("expected NAME=VALUE" in t.command(2, "--list", "--set", "m").err, "sizes of the store")
    expect("did you mean 'm'" in t.command(2, "kernels/matmul/tuned.tile", "--forget", "--set", "M=97").err, "their names")
    t.command(2, "no/such.tile", "--set", "m=1")


def main():
    tool = os.path.abspath(sys.argv[1])
    for check in (check_space, check_bench, check_twins, check_killed, check_many, check_stores, check_exports, check_old, check_gpu, check_noise, check_refused, check_usage):
        with tempfile.TemporaryDirectory() as folder:
            check(Tuner(tool, folder))


if __name__ == "__main__":
    main()
