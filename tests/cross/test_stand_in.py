#!/usr/bin/env python3
"""The stand-in for cmocka, compiled for this machine: each way to fail is a failure, in a test and in its fixtures."""
import os
import shlex
import subprocess
import sys
import tempfile

from tile_runner import PATIENCE, expect, fail

FOLDER = os.path.dirname(os.path.abspath(__file__))
FAILING = ["fail()", 'fail_msg("%d", 3)', "assert_true(0)", "assert_false(1)", "assert_null(here)", "assert_non_null(NULL)",
           "assert_ptr_equal(here, NULL)", "assert_ptr_not_equal(here, here)", "assert_int_equal(-1, 1)", "assert_int_not_equal(2, 2)",
           "assert_in_range(5, 1, 4)", "assert_in_range(0, 1, 4)", "assert_float_equal(1, 2, 0.5)", 'assert_string_equal("a", "b")', 'assert_string_not_equal("a", "a")',
           'assert_memory_equal("ab", "ac", 2)', 'assert_memory_not_equal("ab", "ac", 1)']
PASSING = ["assert_true(here)", "assert_false(0)", "assert_null(NULL)", "assert_non_null(here)", "assert_ptr_equal(here, here)",
           "assert_ptr_not_equal(here, NULL)", "assert_int_equal(-1, -1)", "assert_int_not_equal(1, 2)", "assert_in_range(4, 1, 4)", "assert_float_equal(2, 1.5, 0.5)",
           'assert_string_equal("a", "a")', 'assert_string_not_equal("a", "b")', 'assert_memory_equal("ab", "ac", 1)',
           'assert_memory_not_equal("ab", "ac", 2)', "skip(); fail()"]
PROGRAM = """
#include "cmocka.h"
static int here_is, *here = &here_is;
static int bad(void **state) { (void)state; return 1; }
static int ends(void **state) { (void)state; fail(); }
static int gives(void **state) { *state = here; return 0; }
static void empty(void **state) { (void)state; }
static void given(void **state) { assert_ptr_equal(*state, here); }
%s
int main(void) { const struct CMUnitTest tests[] = {%s}; return cmocka_run_group_tests(tests, %s, %s); }
"""
# (tests, setup and teardown of all, number of failures)
FIXTURES = [("cmocka_unit_test_setup(given, gives)", "NULL", "NULL", 0), ("cmocka_unit_test(given)", "gives", "NULL", 0),
            ("cmocka_unit_test(given)", "NULL", "NULL", 1), ("cmocka_unit_test_setup_teardown(empty, NULL, bad)", "NULL", "NULL", 1),
            ("cmocka_unit_test_setup_teardown(empty, NULL, ends)", "NULL", "NULL", 1),
            *((f"cmocka_unit_test_setup(empty, {f})", "NULL", "NULL", 1) for f in ("bad", "ends")),
            *(("cmocka_unit_test(empty)", *pair, 1) for f in ("bad", "ends") for pair in ((f, "NULL"), ("NULL", f)))]


def failures(folder, functions, tests, setup="NULL", teardown="NULL"):
    """Returns the number of failures that a program with these tests reports."""
    with open(f"{folder}/tests.c", "w") as out:
        out.write(PROGRAM % ("\n".join(functions), tests, setup, teardown))
    command = [*shlex.split(os.environ.get("CC", "cc")), *shlex.split(os.environ.get("CFLAGS", "")), "-std=c17", "-I", FOLDER,
               f"{folder}/tests.c", f"{FOLDER}/cmocka.c", "-o", f"{folder}/tests"]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode != 0:
        fail(f"{command}: {made.stderr}")
    return subprocess.run([f"{folder}/tests"], capture_output=True, timeout=PATIENCE).returncode


def main():
    with tempfile.TemporaryDirectory() as folder:
        for statements, expected in ((FAILING, len(FAILING)), (PASSING, 0)):
            functions = [f"static void test{i}(void **state) {{ (void)state; {s}; }}" for i, s in enumerate(statements)]
            got = failures(folder, functions, ", ".join(f"cmocka_unit_test(test{i})" for i in range(len(statements))))
            expect(got == expected, f"{got} of {statements} fail")
        for *how, expected in FIXTURES:
            got = failures(folder, [], *how)
            expect(got == expected, f"{how}: {got} fail")


if __name__ == "__main__":
    sys.exit(main())
