#!/usr/bin/env python3
"""Each preset configures in an empty folder. With --all it tries every preset of CMakePresets.json, else the one that `./dev demo` builds."""
import json
import shutil
import subprocess
import sys
import tempfile

from tile_runner import PATIENCE, fail


def main():
    if not shutil.which("cmake") or not shutil.which("ninja"):
        print("skipped: cmake or ninja is not here")
        return 77
    presets = ["release"]
    if "--all" in sys.argv[2:]:
        with open("CMakePresets.json") as file:
            presets = [p["name"] for p in json.load(file)["configurePresets"]]
        if not shutil.which("clang"):
            presets.remove("libfuzzer")
    for preset in presets:
        with tempfile.TemporaryDirectory() as folder:
            compiler = ["-DCMAKE_C_COMPILER=clang"] if preset == "libfuzzer" else []
            done = subprocess.run(["cmake", "--preset", preset, "-B", folder, *compiler], capture_output=True, text=True, timeout=PATIENCE)
            if done.returncode:
                fail(f"cmake --preset {preset}: {done.stderr}{done.stdout}")
    print(f"ok: {', '.join(presets)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
