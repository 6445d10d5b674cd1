#!/usr/bin/env python3
"""The library in a host program that has called setlocale(): it never reads or writes a decimal comma. The test makes the locale."""
import os
import shutil
import subprocess
import sys
import tempfile

from tile_runner import PATIENCE, fail

LOCALE = "de_DE.UTF-8"

CHILD = r'''
import ctypes, json, locale, sys
sys.path.insert(0, "python")
import tilewright as tw
if sys.argv[1] != "C":
    locale.setlocale(locale.LC_ALL, sys.argv[1])
said = ctypes.create_string_buffer(16)
ctypes.CDLL(None).snprintf(said, ctypes.c_size_t(16), b"%.1f", ctypes.c_double(0.5))
if said.value != (b"0.5" if sys.argv[1] == "C" else b"0,5"):
    sys.exit(f"this is not the locale: {said.value}")

TEXT = """tune F = {0.25, 1.5};
kernel f(f32 s, f64 t, f32 *c) grid(1) warps(1)
{
    global f32 C[2] = c;
    print("x", s, F, 1e-3, t);
    reg f32 r[2] = 2.5e-1;
    C[0 +: 2] = (r + s) * F + (f32) (t * 1.0625e-2);
    ensures C == (0.25 + s) * F;
}
kernel plain(f16 s, f32 *c) grid(1) warps(1)
{
    global f32 C[1] = c;
    C[0] = s;
    ensures C == 0.375;
}
"""
module = tw.compile(TEXT, "t")
f, c = module["f"], bytearray(8)
at = memoryview(c).cast("f")
f(0.5, 1.75, at)
print(list(at), f.show(), f.ptx())
for call in (lambda: f.verify(0.5, 1.75, at), lambda: f.verify(0.1, 1e30, at), lambda: f.with_(F=0.75, s=1e-9).verify(1.75, at),
             lambda: module["plain"](1e30, at), lambda: tw.compile("const f32 X = 1.5; kernel k() grid(X) warps(1) {}"),
             lambda: tw.compile("const i32 X = 2.25;")):
    try:
        print(call())
    except (tw.Error, ValueError, MemoryError) as error:
        print(error)

# The store of results, and the simulator: what Python has no name for.
native = tw._library()
for name in ("tw_launch_tuning_key", "tw_store_open", "tw_store_put", "tw_launch_simulate", "tw_launch_set"):
    getattr(native, name).argtypes = {"tw_launch_set": [ctypes.c_void_p, ctypes.c_char_p, tw._Value],
                                      "tw_launch_simulate": [ctypes.c_void_p] * 3}.get(name, [ctypes.c_void_p] * 3)
native.tw_store_put.argtypes = [ctypes.c_void_p, ctypes.POINTER(tw._Tuned)]
context = module._context(-1)
launch = context.launch(f.with_(F=1.5), "cpu", (True, True, True))
launch.set([0.5, 1.75, tw._describe(at)])
key, store = tw._Tuned(), ctypes.c_void_p()
context.check(native.tw_launch_tuning_key(launch.handle, None, ctypes.byref(key)))
print(key.tune, key.sizes, key.shape)
key.milliseconds, key.samples = 1.5, 2
context.check(native.tw_store_open(context.handle, sys.argv[2].encode(), ctypes.byref(store)))
context.check(native.tw_store_put(store, ctypes.byref(key)))
native.tw_store_close(store)
print(f.tuned(0.5, 1.75, at, store=sys.argv[2]))

class Result(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("failures", ctypes.c_int64), ("finding_count", ctypes.c_int), ("findings", ctypes.c_void_p),
                ("warp_instructions", ctypes.c_int64), ("seconds", ctypes.c_double), ("ended", ctypes.c_char_p),
                ("report", ctypes.c_char_p), ("counted", ctypes.c_void_p), ("counters", ctypes.c_char_p), ("counters_json", ctypes.c_char_p),
                ("json", ctypes.c_char_p), ("trace", ctypes.c_void_p), ("trace_bytes", ctypes.c_size_t), ("why", ctypes.c_void_p)]
class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("watch", ctypes.c_uint), ("seed", ctypes.c_uint64), ("late", ctypes.c_bool), ("late_by", ctypes.c_int64),
                ("step_limit", ctypes.c_int64),
                ("suppressions", ctypes.c_char_p), ("suppressions_name", ctypes.c_char_p), ("same_value", ctypes.c_int), ("volatiles", ctypes.c_int),
                ("trace", ctypes.c_void_p), ("order", ctypes.c_void_p), ("order_count", ctypes.c_int), ("source_only", ctypes.c_bool)]
found, options = Result(ctypes.sizeof(Result)), Options(ctypes.sizeof(Options), watch=15)
launch = context.launch(f, "sm_80", (True, True, True))
launch.set([0.5, 1.75, tw._describe(at)])
context.check(native.tw_launch_simulate(launch.handle, ctypes.byref(options), ctypes.byref(found)))
print(list(at), found.counters.decode(), json.loads(found.json), json.loads(found.counters_json))
'''


def make_locale(folder):
    """Makes a locale with a decimal comma in the folder. Returns None, or the reason why it cannot."""
    if not shutil.which("localedef"):
        return "there is no localedef"
    done = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", f"{folder}/{LOCALE}"], capture_output=True, text=True)
    if not os.path.exists(f"{folder}/{LOCALE}/LC_NUMERIC"):
        return f"localedef cannot make {LOCALE}: {done.stderr.strip()}"
    return None


def run_in(name, folder):
    library = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "libtilewright.so")
    environment = {**os.environ, "LOCPATH": folder, "PYTHONUTF8": "1", "LC_ALL": "C", "TILEWRIGHT_LIBRARY": library}
    store = f"{folder}/{'plain' if name == 'C' else 'comma'}.db"
    done = subprocess.run([sys.executable, "-c", CHILD, name, store], env=environment, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode:
        fail(f"in the locale {name}: {done.stderr}{done.stdout}")
    return done.stdout


def main():
    with tempfile.TemporaryDirectory() as folder:
        why = make_locale(folder)
        if why:
            print(f"skipped: {why}")
            return
        plain, comma = run_in("C", folder), run_in(LOCALE, folder)
        if "F=1.5" not in plain or "0.25" not in plain:
            fail(f"the program says too little: {plain}")
        if plain != comma:
            import difflib
            fail("\n".join(difflib.unified_diff(plain.splitlines(), comma.splitlines(), "C", LOCALE, lineterm="", n=1)))
    print("ok: the same in both locales")


if __name__ == "__main__":
    main()
