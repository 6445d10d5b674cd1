#!/usr/bin/env python3
"""./dev: what it does not take is refused before anything is built or installed."""
import os

from tile_runner import call, expect


def refused(words, why, **variables):
    result = call(["./dev", *words], env={**os.environ, **variables})
    expect(result.status == 2 and result.err.startswith("dev: ") and why in result.err and not result.out, f"{words}: {result}")


refused(["build"], "CC is 'nocc', and there is no such program", CC="nocc")
refused(["demo"], "CC is 'nocc'", CC="nocc")
refused(["demo", "extra", "--x"], "demo does not take: extra --x")
refused(["build", "debug", "asan"], "build does not take: asan")
refused(["fmt", "--chek"], "fmt does not take: --chek")
