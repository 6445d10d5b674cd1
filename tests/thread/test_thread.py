#!/usr/bin/env python3
"""Thread IR as text: programs print and read back the same, faults are found, and ptxas takes the PTX without a message. A product of warps gives
NumPy's values on the simulator, which finds no race in it. A pass makes of passes/PASS_NAME.thread the text of passes/PASS_NAME.after.

    test_thread.py TILEWRIGHT [--bless]

--bless writes these texts, and tests nothing else.

$THREAD_TEXT is tests/thread/thread_text.c.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

from thread_products import ATTENTION_SHARED, LOG2E, PRODUCTS, grid
from tile_runner import fail

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEAD = "kernel f(u64 %out, u32 %n) threads 128 target sm_90a {\n"
FLYING = """    shared bf16 a[8192] at 0
    %d = descriptor a[0], 16, 1024
    %none = undefined.f32 * 32
    %s1 = product.f32.bf16.bf16 %none, %d, %d, 0, 0
"""
# A body, or a whole kernel, and a part of the message; None: the program is right.
CASES = [
    ("%a = add.u32 %n, 1\n store.u32 %out, %a, 0, %a", None),
    ("%a = add.u32 %n, %m", "no value has this name"),
    ("%n = add.u32 %n, 1", "a value has this name already"),
    ("%a = add.f32 %n, 1", "expected a value or a constant of the operation's type"),
    ("%a = add.u32 %n, 1.5", "expected a value or a constant of the operation's type"),
    ("%a = add.u32 %n", "there are too few operands"),
    ("%a = add.u32 %n, 1, 2", "there are too many operands"),
    ("%a = frobnicate.u32 %n", "expected an operation"),
    ("%a = add %n, 1", "`add` needs a type after it"),
    ("add.u32 %n, 1", "this operation has one result"),
    ("%a = barrier 0, 0", "this operation has no result"),
    ("%a = eq.u32 %n, 1\n if %a { %b = add.u32 %n, 1 }\n %c = add.u32 %b, 1", "is not defined in every run that comes here"),
    ("%a = eq.u32 %n, 1\n %b = if %a { %c = add.u32 %n, 1 yield %c }", "an `if` with results needs an `else`"),
    ("%a = eq.u32 %n, 1\n %b = if %a { %c = add.u32 %n, 1 yield %c } else { %e = neg.f32 1.0 yield %e }", "the value's type is not that"),
    ("%a = eq.u32 %n, 1\n %b = if %a { %c = add.u32 %n, 1 yield %c } else { %e = add.u32 %n, 2 yield %e }", None),
    ("if %n { }", "expected a predicate"),
    ("loop (%i: u32 = 0) { %j = add.u32 %i, 1 }", "has to end with `continue`"),
    ("loop (%i: u32 = 0) { continue }", "the number of values is not that of their destinations"),
    ("loop (%i: u32 = 0.5) { continue %i }", "the value's type is not that of its destination"),
    ("loop (%i: u32 = 0) { break\n copy_out_commit continue %i }", "this operation is never reached"),
    ("%a = loop (%i: u32 = 0) { continue %i }", "as many results are needed as values leave it"),
    ("loop unroll 4 (%i: u32 = 0) { %d = ge.u32 %i, %n break_if %d %j = add.u32 %i, 1 continue %j }", None),
    ("loop unroll 4 (%i: u32 = 0) { %d = ge.u32 %i, %n if %d { continue %i } %j = add.u32 %i, 1 continue %j }", "its only `continue`"),
    ("loop unroll 4 (%i: u32 = 0) { continue 0 }", "which passes values"),
    ("loop unroll 4 (%i: u32 = 0) { break }", "its only `continue`"),
    ("loop unroll 1 (%i: u32 = 0) { continue %i }", "expected the iterations that become one, from 2 to 64"),
    (FLYING + "%e = eq.u32 %n, 1 if %e { return }\n %k = product_commit.f32 %s1 %w = product_wait.f32 %k, 0", "in flight where the run leaves"),
    (FLYING + "%k = product_commit.f32 %s1 %e = eq.u32 %n, 1 %w = product_wait.f32 %k, 0 if %e { return }", None),
    ("    shared bf16 a[8192] at 0\n %d = descriptor a[0], 16, 1024\n %none = undefined.f32 * 32\n %e = eq.u32 %n, 1\n"
     "%r = loop (%acc: f32*32 = %none) { %s = product.f32.bf16.bf16 %acc, %d, %d, 1, 0 break_if %e, %none\n"
     "%k = product_commit.f32 %s %w = product_wait.f32 %k, 0 continue %w }", "in flight where the run leaves"),
    ("break", "there is no loop around this"),
    ("yield %n", "`yield` is not in an `if`"),
    ("shared f32 x[4] at 0\n shared f32 y[4] at 8", "the array lies on `x`"),
    ("shared f32 x[4] at 0 overlays\n shared f32 y[4] at 8", "the array lies on `x`"),
    ("shared f32 x[4] at 0\n shared f64 y[4] at 8 overlays", None),
    ("shared f32 x[4] at 0\n mbarrier y[4] at 8 overlays", "the array lies on `x`"),
    ("shared f32 x[4] at 2", "does not begin at a multiple"),
    ("shared f32 x[4] at 0\n store_shared.f32 x[4], 1.0", "this element is outside of the array"),
    ("shared f32 x[4] at 0\n mbarrier_arrive x[0]", "expected an mbarrier"),
    ("roles { warps 0, 8 { } }", "a role's warps are not warps of the block"),
    ("roles { warps 0, 2 { } warps 1, 2 { } }", "two roles have the same warp"),
    ("roles { warps 0, 4 registers 30 { } }", "a multiple of 8 from 24 to 240"),
    ("roles { warps 0, 2 registers 32 { } }", "whole warpgroups"),
    ("%g = undefined.f32 * 8\n %h = undefined.f32 * 4\n %x = add.f32 %g, %h", "the groups have different lengths"),
    ("%g = undefined.f32 * 8\n %x = part.f32 %g, 1, 4, 2", None),
    ("%g = undefined.f32 * 8\n %x = part.f32 %g, 2, 4, 2", "the part ends after the group"),
    (FLYING + "%c = product_commit.f32 %s1\n %w = product_wait.f32 %c, 0\n %x = reduce_add.f32 %w\n store.f32 %out, %n, 0, %x", None),
    (FLYING + "%x = reduce_add.f32 %s1", "expected a value or a constant"),
    (FLYING + "%c = product_commit.f32 %s1\n %x = add.f32 %none, 1.0", "a product has taken it"),
    (FLYING + "%c = product_commit.f32 %s1\n %w = product_wait.f32 %c, 0\n %v = product_wait.f32 %c, 0", "a product has taken it"),
    (FLYING + "%c = product_commit.f32 %s1\n %w = product_wait.f32 %c, 1", "may still be under way"),
    (FLYING + "%c = product_commit.f32 %s1\n %e = undefined.f32 * 32\n %s2 = product.f32.bf16.bf16 %e, %d, %d, 0, 0\n"
              "%k = product_commit.f32 %s2\n %w = product_wait.f32 %c, 1\n %v = product_wait.f32 %k, 0", None),
    (FLYING + "loop () { %s2 = product_commit.f32 %s1 continue }", "would be taken in each iteration of the loop"),
    ("%g = load.f32 %out, %n, 0 * 4\n store.f32 %out, %n, 4, %g", None),
    ("%g = load.f32 %out, %n, 0 * 3", "one instruction moves 1, 2, 4, 8 or 16 bytes"),
    ("shared bool b[64] at 0\n %p = eq.u32 %n, 3\n %v = load_if.f16 %p, %out, %n, 1, 0.5\n %q = load_shared_if.bool %p, b[%n], %p\n"
     "%w = load_shared_if.bool %q, b[3], %q\n store.f16 %out, %n, 0, %v\n store.bool %out, %n, 8, %w", None),
    ("%v = load_if.f32 %n, %out, %n, 1, 0.5", "expected a predicate (bool)"),
    ("%a = atomic_add.f32 %out, %n, 0, 1.0 %b = atomic_max.i32 %out, %n, 1, -5 %c = atomic_cas.u64 %out, %n, 1, 0, 7 %d = atomic_add.bf16 %out, 3, 0, 0.5\n"
     "%e = atomic_exchange.f32 %out, %n, 0, %a %f = atomic_xor.u32 %out, %n, 0, %n %g = atomic_arrive.i64 %out, %n, 0, 1 store.i64 %out, %n, 9, %g", None),
    ("%g = undefined.f32 * 4\n %a = atomic_add.f32 %out, 4, 0, %g %h = undefined.bf16 * 8\n %b = atomic_add.bf16 %out, 8, 8, %h", None),
    ("%g = undefined.f32 * 4\n %a = atomic_max.f32 %out, %n, 0, %g", "an atomic has one element"),
    ("%g = undefined.f64 * 2\n %a = atomic_add.f64 %out, %n, 0, %g", "an atomic has one element"),
    ("shared f32 a[64] at 0\n %g = undefined.f32 * 4\n %a = atomic_add.f32 a[0], 0, 0, %g", "an atomic has one element"),
    ("%t = atomic_inc.u32 %out, 0, 0, %n store.u32 %out, %n, 1, %t", None),
    ("%a = atomic_max.f32 %out, %n, 0, 1.0 %b = atomic_min.bf16 %out, 3, 0, 0.5 %c = atomic_max.f64 %out, %n, 2, -1.0 store.f32 %out, %n, 9, %a", None),
    # the sums of a group that begins, and of one that an arm of an `if` commits
    ("%none = undefined.f32 * 32\n %b = product_begin.f32 %none %w = product_wait.f32 %b, 0 %x = reduce_add.f32 %w\n store.f32 %out, %n, 0, %x", None),
    ("%none = undefined.f32 * 32\n %b = product_begin.f32 %none", "nothing waits for these products"),
    ("%none = undefined.f32 * 32\n %b = product_begin.f32 %none %w = product_wait.f32 %b, 1", "may still be under way"),
    ("%p = eq.u32 %n, 3\n %g = undefined.f32 * 4\n %v = load_if.f32 %p, %out, %n, 1, %g", "a load under a predicate has one element"),
    ("shared f16 a[64] at 0\n %g = load_matrix.f16 a[%n], 1 * 8\n store_shared.f16 a[%n], %g", None),
    ("shared f16 a[64] at 0\n %g = load_matrix.f16 a[%n], 1 * 16", "one instruction moves 4, 8 or 16 bytes of a lane"),
    ("shared f16 a[64] at 0\n copy_async a[%n], %out, %n, 0, 12, 1", "one copy has 4, 8 or 16 bytes"),
    ("shared u32 a[64] at 0\n %o = atomic_add.u32 a[%n], 0, 0, %n %p = atomic_cas.u32 a[3], 0, 0, %o, 7 store.u32 %out, %n, 0, %p", None),
    ("shared f32 a[64] at 0\n %o = atomic_add.u32 a[%n], 0, 0, %n", "expected a u64"),
    ("shared u32 a[64] at 0\n %o = atomic_add.u32 a[0], %n, 0, %n", "expected 0, because the element has its index"),
    ("shared u32 a[64] at 0\n %o = atomic_add.u32 a[0], 0, 3, %n", "expected 0, because the element has its index"),
    ("shared f16 a[64] at 0\n %p = lt.u32 %n, 3 copy_async a[0], %out, %n, 0, 16, %p copy_async a[8], %out, %n, 0, 8, 0", None),
    ("shared f16 a[64] at 0\n copy_async a[%n], %out, %n, 0, 16, 2", "expected a predicate (bool), or 0 or 1"),
    ("shared f16 a[64] at 0\n %e = cache_policy \"evict_last\" copy_async a[0], %out, %n, 0, 16, 1, %e copy_async a[8], %out, %n, 0, 8, 0, %e", None),
    ("shared f16 a[64] at 0\n %e = cache_policy \"evict_never\" copy_async a[0], %out, %n, 0, 16, 1, %e", "the policies are evict_first"),
    ("shared f16 a[64] at 0\n copy_async a[0], %out, %n, 0, 16, 1, %out, %out", "there are too many operands"),
    ("shared f16 a[64] at 0\n copy_async a[0], %out, %n, 0, 16", "there are too few operands"),
    # text for the host
    ("shared u8 s[64] at 0\n %r = print_row 96 %a = print_text %r, \"a \\\"b\\\" \\\\ %d …\\n\" %v = convert.i64.u32 %n %b = print_value.i64 %a, %v\n"
     "%p = eq.u32 %n, 3 %c = print_value.bool %b, %p %d = print_value.f16 %c, 0.5 %e = print_text %d, \"\" print_show %r\n"
     "%s = print_row_shared s[16] print_store.u64 %s, 0, 7 print_store.f64 %s, 1, 0.5 print_format %s, \"%llu %g\\n\"", None),
    ("claim.u64 2, \"n is %d\", 0, 0, 0, 0", "from 0 to 1"),
    ("claim.i64 0, \"n is %d\", 0, 0, 0, 0", "the values of a claim are u64"),
    ("%r = print_row 90", "expected a constant from 16 to 262144, a multiple of 16"),
    ("%r = print_row 96 %a = print_text %r, 5", "expected a text, such as"),
    ("%r = print_row 96 %a = print_value.f32 %r, \"five\"", "expected a value or a constant of the operation's type"),
    ("%r = print_row 96 %a = print_text %r, \"five", "this text has no closing quote"),
    ("%r = print_row 96 %g = undefined.f32 * 4 %a = print_value.f32 %r, %g", "one element is printed at a time"),
    ("%r = print_row 256 print_store.f64 %r, 32, 0.5", "from 0 to 31"),
    ("%r = print_row 256 print_store.f32 %r, 0, 0.5", "a format's values are f64, i64 or u64"),
    # alignment in shared memory, where it is known
    ("shared f32 a[64] at 0\n %i = mul.u32 %n, 4\n %g = load_shared.f32 a[%i + 8] * 4\n store_shared.f32 a[%i + 4], %g", None),
    ("shared f32 a[64] at 0\n %i = mul.u32 %n, 4\n %g = load_shared.f32 a[%i + 2] * 4", "a multiple of 16 bytes"),
    ("shared f32 a[64] at 8\n %i = mul.u32 %n, 4\n %g = undefined.f32 * 4\n store_shared.f32 a[%i], %g", "a multiple of 16 bytes"),
    ("shared f32 a[64] at 8\n %i = mul.u32 %n, 4\n %g = undefined.f32 * 2\n store_shared.f32 a[%i], %g", None),
    ("shared f32 a[64] at 0\n loop (%i: u32 = 1) { %j = add.u32 %i, 4\n %g = load_shared.f32 a[%i] * 2\n %p = ge.u32 %j, 60\n break_if %p\n"
     "continue %j }", "a multiple of 8 bytes"),
    ("shared f32 a[64] at 0\n loop (%i: u32 = 1) { %j = add.u32 %i, 3\n %g = load_shared.f32 a[%i] * 2\n %p = ge.u32 %j, 60\n break_if %p\n"
     "continue %j }", None),
    ("shared f16 a[64] at 0\n %i = shl.u32 %n, 3\n %g = load_matrix.f16 a[%i + 4], 0 * 8", "a multiple of 16 bytes"),
    ("shared f16 a[64] at 0\n %i = shl.u32 %n, 3\n copy_async a[%i + 1], %out, %n, 0, 4, 1", "a multiple of 4 bytes"),
    ("shared f16 a[64] at 0\n %p = eq.u32 %n, 3\n if %p { %v = load_shared.f16 a[%n] * 2 }", "a multiple of 4 bytes"),
    ("shared bf16 a[64] at 0\n %d = descriptor a[4], 16, 1024", "a multiple of 16 bytes"),
    ("shared f32 a[64] at 0\n %i = clip.u32 %n, 9, 9 %j = cdiv.u32 %i, 3\n %g = load_shared.f32 a[%j] * 2", "a multiple of 8 bytes"),
    ("shared f32 a[64] at 0\n %i = clip.u32 %n, 9, 9 %j = pow2_ceil.u32 %i\n %g = load_shared.f32 a[%j] * 4", None),
    ("shared f32 a[64] at 0\n %i = shl.u32 %n, 1 %j = not.u32 %i %k = square.u32 %j\n %g = load_shared.f32 a[%k] * 2", "a multiple of 8 bytes"),
    ("%a = undefined.f16 * 8\n %b = undefined.f16 * 4\n %c = undefined.f32 * 4\n %d = mma.f32.f16.f16 %c, %a, %b", None),
    ("%a = undefined.f16 * 4\n %b = undefined.f16 * 4\n %c = undefined.f32 * 4\n %d = mma.f32.f16.f16 %c, %a, %b", "no unit has this product"),
    ("%a = undefined.f16 * 4\n %b = undefined.f16 * 2\n %c = undefined.f32 * 4\n %d = mma.f32.f16.f16 %c, %a, %b", None),
    ("%a = undefined.f16 * 8\n %b = undefined.bf16 * 4\n %c = undefined.f32 * 4\n %d = mma.f32.f16.bf16 %c, %a, %b", "no unit has this product"),
    ("%a = undefined.f16 * 8\n %b = undefined.bf16 * 4\n %c = undefined.f32 * 4\n %d = mma.f32.f16.f16 %c, %a, %b", "the operation's third type"),
    ("%a = undefined.i8 * 16\n %b = undefined.u8 * 8\n %c = undefined.i32 * 4\n %d = mma.i32.i8.u8 %c, %a, %b", None),
    ("%a = load.f64 %out, %n, 0\n %c = undefined.f64 * 2\n %d = mma.f64.f64.f64 %c, %a, %a", None),
    ("%e = undefined.f32 * 6\n %d = convert.u64.u32 %n\n %s = product.f32.bf16.bf16 %e, %d, %d, 0, 0", "4 to 128 sums"),
    ("%e = undefined.i32 * 12\n %d = convert.u64.u32 %n\n %s = product.i32.i8.i8 %e, %d, %d, 0, 0\n"
     "%c = product_commit.i32 %s %w = product_wait.i32 %c, 0", None),
    ("%e = undefined.i32 * 20\n %d = convert.u64.u32 %n\n %s = product.i32.i8.i8 %e, %d, %d, 0, 0", "a multiple of 8 above 16"),
    ("%e = undefined.f32 * 20\n %d = convert.u64.u32 %n\n %s = product.f32.e4m3.e5m2 %e, %d, %d, 0, 1", "only factors of 16 bits"),
    ("%e = undefined.f32 * 20\n %d = convert.u64.u32 %n\n %s = product.f32.f16.bf16 %e, %d, %d, 0, 0", "no unit of warpgroups has this product"),
    ("%e = undefined.f32 * 20\n %d = convert.u64.u32 %n\n %a = undefined.tf32 * 8\n %s = product_from.f32.tf32.tf32 %e, %a, %d, 0, 0",
     "a left factor of tf32 is in shared memory"),
    ("%e = undefined.i32 * 32\n %d = convert.u64.u32 %n\n %a = undefined.u8 * 8\n %s = product_from.i32.u8.i8 %e, %a, %d, 0, 0",
     "16 elements of the left operand"),
    ("%d = descriptor n[0], 16, 1024", "no array has this name"),
    ("mbarrier full[1] at 0\n %f = convert.f32.u32 %n\n %s = undefined.f32 * 8\n %d = convert.u64.u32 %n\n"
     "%x = product_from.f32.bf16.bf16 %s, 1, %d, 0, 0", "expected a value of the operation's second type"),
    # products under way
    (FLYING + "%w = product_wait.f32 %s1, 0", "these products are not committed"),
    (FLYING + "%c = product_commit.f32 %s1", "nothing waits for these products"),
    (FLYING + "%c = product_commit.f32 %s1\n %p = eq.u32 %n, 3\n loop () { break_if %p %e = undefined.f32 * 32 %s2 = product.f32.bf16.bf16 %e, %d, %d, 0, 0\n"
              "%k = product_commit.f32 %s2 %v = product_wait.f32 %k, 0 continue }\n %w = product_wait.f32 %c, 1", "may still be under way"),
    (FLYING + "%f = undefined.bf16 * 8\n %c = product_commit.f32 %s1\n %w = product_wait.f32 %c, 0\n %p = eq.u32 %n, 3\n"
              "%s2 = product_from.f32.bf16.bf16 %w, %f, %d, 1, 0 %k = product_commit.f32 %s2\n"
              "%r = loop (%g: flight f32*32 = %k) { break %g }\n %v = product_wait.f32 %r, 0", "registers that may be written here"),
    (FLYING + "%c = product_commit.f32 %s1\n %p = eq.u32 %n, 3\n %r, %q = loop (%g: flight f32*32 = %c) { break_if %p, %g, %g\n"
              "%w = product_wait.f32 %g, 0 return }\n %w1 = product_wait.f32 %r, 0 %w2 = product_wait.f32 %q, 0", "has one destination"),
    (FLYING + "%c = product_commit.f32 %s1\n %p = eq.u32 %n, 3\n %r = loop (%i: u32 = 0) { break_if %p, %c continue %i }\n"
              "%w = product_wait.f32 %r, 0 %v = product_wait.f32 %c, 0", "would be taken in each iteration of the loop"),
    (FLYING + "%c = product_commit.f32 %s1\n loop (%g: flight f32*32 = 0) { %w = product_wait.f32 %g, 0 break }\n %w1 = product_wait.f32 %c, 0",
     "the value's type is not that"),
    # constants
    ("%a = add.u32 %n, 4294967296", "expected a value or a constant"),
    ("%a = add.u32 %n, -1 %b = add.u32 %n, 4294967295", None),
    ("loop (%p: bool = 1) { break_if %p continue %p }", None),
    ("loop (%p: bool = 2) { break_if %p continue %p }", "the value's type is not that"),
    ("%a = eq.u32 %n, 1 %x = if %a { %y = neg.f32 1.0 yield %y } else { yield inf }\n store.f32 %out, 0, 0, %x", None),
    ("%a = shuffle_xor.u32 %n, 32", "from 0 to 31"),
    ("%a = shuffle_xor.u32 5, 1", None, "no instruction"),
    ("%a, %p = shuffle_up.u32 %n, 32, 32", "from 0 to 31"),
    ("%a, %p = shuffle_up.u32 %n, 1, 0", "from 1 to 32"),
    ("%a, %p = shuffle_up.u32 5, 1, 32", None, "no instruction"),
    ("%g = undefined.f32 * 2 %a, %p = shuffle_up.f32 %g, 1, 32", None, "no instruction"),
    ("%a = shuffle_up.u32 %n, 1, 32", "this operation has two results"),
    ("%a, %p = neg.u32 %n", "this operation has one result"),
    ("barrier 16, 0", "from 0 to 15"),
    ("copy_out_wait 4096", "from 0 to 4095"),
    ("copy_async_wait 4096", "from 0 to 4095"),
    ("barrier 1, 40", "a multiple of 32"),
    ("barrier 1, 256", "more threads than the block has"),
    ("barrier_arrive 1, 0", "from 32 to 1024"),
    ("mbarrier m[1] at 0\n mbarrier_init m[0], 0", "from 1 to 1048575"),
    ("shared bf16 a[64] at 0\n %d = descriptor a[0], 8, 1024", "a multiple of 16"),
    ("%g = undefined.f32 * 8 %x = part.f32 %g, 9223372036854775807, 2, 9223372036854775807", "from 0 to 255"),
    ("%g = undefined.f32 * 8 %x = part.f32 %g, 0.5, 2, 1", "expected a constant"),
    ("%a = neg.i64 - 9223372036854775808 %b = neg.f32 0f7FC00000", None),
    # types
    ("%g = undefined.f32 * 8 %p = eq.f32 %g, 1.0 %h = select.f32 %p, %g, 0.0 store.bool %out, %n, 0, %p", None),
    ("%g = undefined.f32 * 8 %p = eq.f32 %g, 1.0 if %p { }", "expected a predicate (bool)"),
    ("%g = undefined.f32 * 8 %p = eq.f32 %g, 1.0 %k = undefined.f32 * 4 %h = select.f32 %p, %k, 0.0", "the groups have different lengths"),
    ("%h = select.f32 %n, 1.0, 0.0", "expected a predicate (bool), or a group of them"),
    # elements of 1 and 2 bytes
    ("shared bool p[8] at 0\n shared i8 x[64] at 16\n shared f16 h[64] at 128\n %i = convert.i64.u32 %n\n"
     "%a = load.i8 %out, %i, 1 store_shared.i8 x[%n], %a %b = load_shared.i8 x[%n] store.i8 %out, %i, 3, %b store.i8 %out, %n, 0, -2\n"
     "%c = load.bf16 %out, %n, 1 %d = convert.f32.bf16 %c store.f32 %out, %n, 0, %d store.f16 %out, %i, 0, 1.5\n"
     "%e = load_shared.f16 h[%n] %f = shuffle_xor.f16 %e, 1 %g = join.f16 %e, %f, %f store_shared.f16 h[0], %f\n"
     "%j = load_shared.bool p[%n] %k = shuffle.bool %j, %n store_shared.bool p[1], %k %l = load.u8 %out, %n, 0 * 2 store_shared.i8 x[5], 100\n"
     "%o = part.f16 %g, 1, 2, 1 store.f16 %out, %n, 2, %o store.u8 %out, %n, 6, %l", None),
    ("%a = load.i64 %out, 5, 1 %b = shuffle_xor.i64 %a, 16 %c = shuffle.i64 %b, 3 store.i64 %out, %a, 0, %c %d = load.f64 %out, %a, 0 * 2\n"
     "%e = shuffle_xor.f64 %d, 1 %f = reduce_min.i64 %a store.f64 %out, %c, 0, %e store.i64 %out, %f, 0, %f", None),
    ("%i = convert.i32.u32 %n %a = load.f32 %out, %i, 0", "expected an index: a u32, a u64 or an i64"),
    ("shared f16 a[64] at 0\n %i = convert.u64.u32 %n copy_async a[0], %out, %i, 8, 16, 1", None),
    ("%a = load.u8 %out, %n, 0 * 3", "one instruction moves 1, 2, 4, 8 or 16 bytes"),
    ("shared f16 x[4] at 0\n %v = load_shared.f32 x[0]", "of the operation's type"),
    ("%g = undefined.f16 * 3 %h = join.f16 %g, %g", None),
    ("%g = undefined.u8 * 8 %h = part.u8 %g, 2, 4, 1", None),
    ("%g = undefined.u8 * 8 %h = part.u8 %g, 4, 4, 1 loop (%k: u8*8 = 7) { break }", None),
    ("%g = undefined.f32 * 0", "from 1 to 256"),
    ("shared map x[4] at 0", "expected a type"),
    ("local i32 x[40]\n local f16 y[2]\n shared i32 z[4] at 0\n %a = local x[0] %b = local y[0] %i = convert.i64.u32 %n store_local.i32 %a, %i, 3, 7\n"
     "%c = load_local.i32 %a, %n, 0 * 4 store_local.f16 %b, 0, 1, 1.5 %d = load_local.f16 %b, 0, 0 store.f16 %out, 0, 0, %d store.i32 %out, 0, 4, %c", None),
    ("local i32 x[4]\n %a = local x[1]", "expected the first element of a local array, such as seen[0]"),
    ("shared i32 x[4] at 0\n %a = local x[0]", "expected the first element of a local array, such as seen[0]"),
    ("local i32 x[4]\n %a = load_shared.i32 x[0]", "of the operation's type"),
    ("local i32 x[4]\n %a = atomic_add.i32 x[0], 0, 0, 1", "expected"),
    ("local i32 x[4]\n local i32 x[4]", "an array has this name already"),
    ("kernel f(f32*4 %x) threads 32 target sm_90a { }", "a parameter is a map, or a scalar"),
    ("kernel f(map %x) threads 32 target sm_90a { loop (%y: map = 0) { break } }", "the value's type is not that"),
    ("kernel f(map %x) threads 32 target sm_90a { loop (%y: map = 1.5) { break } }", "the value's type is not that"),
    ("kernel f(u64 %out, f16 %a, bf16 %b, i8 %c, u16 %d, bool %e, f64 %f, e4m3 %g, i16 %h) threads 32 target sm_90a {\n"
     "if %e { store.f16 %out, 0, 0, %a store.bf16 %out, 0, 1, %b store.i8 %out, 0, 4, %c store.u16 %out, 0, 3, %d store.f64 %out, 0, 1, %f\n"
     "store.e4m3 %out, 0, 16, %g store.bool %out, 0, 17, %e store.i16 %out, 0, 9, %h } }", None),
    ("kernel memory(u64 %memory) threads 32 target sm_90a { }", None),
    ("kernel %f() threads 32 target sm_90a { }", "expected the kernel's name"),
    ("%f = convert.f32.u32 %n %a = exp2_approx.f32 %f %b = reciprocal_approx.f32 %a store.f32 %out, %n, 0, %b", None),
    ("%s = convert.u64.u32 %n %g = join.u64 %s, %s %a = philox.u32.u64 %s, %g, 0 %b = philox.u32.u64 7, %s, %n\n"
     "store.u32 %out, %n, 0, %a store.u32 %out, %n, 4, %b", None),
    ("%a = reciprocal_approx.f64 1.0", None, "no instruction"),
    ("%a = exp.u32 %n", None, "no instruction"),
    ("%a = warp_add.u32 %n %i = convert.i32.u32 %a %b = warp_min.i32 %i store.i32 %out, %n, 0, %b", None),
    ("%f = convert.f32.u32 %n %a = warp_max.f32 %f", None, "no instruction"),
    ("%w = convert.u64.u32 %n %a = warp_or.u64 %w", None, "no instruction"),
    ("%a = warp_and.u32 7", None, "no instruction"),
    ("%f = convert.f32.u32 %n %a = and.f32 %f, %f", None, "no instruction"),
    ("%f = convert.f32.u32 %n %a = shl.f32 %f, %n", None, "no instruction"),
    ("%p = eq.u32 %n, 1 %a = add.bool %p, %p", None, "no instruction"),
    ("%a = pow.u32 %n, %n", None, "no instruction"),
    ("%a = shl.u32 %n, 1.5", "expected a u32, or a group of them"),
    ("%a = bits.f16.u32 %n", "the types have different sizes"),
    ("%a = philox.u64.u64 1, 2, 3", "the types are u32 and u64 or u32"),
    ("kernel f(u32 %n) threads 32 target sm_80 { %a = convert.e4m3.u32 %n }", None, "no instruction of sm_80 does"),
    ("kernel f(u32 %n) threads 32 target sm_75 { %a = convert.bf16.u32 %n }", None, "no instruction of sm_75 does"),
    # launches, targets
    ("kernel f() threads 0 target sm_90a { roles { warps 0, 1 { } } }", "from 1 to 1024"),
    ("kernel f() threads 32 target sm_91 { }", "expected a target"),
    ("kernel f(map %m) threads 32 target sm_80 { }", None, "sm_80 has no tensor maps"),
    ("kernel f() threads 32 target sm_80 { fence_async }", None, "no instruction of sm_80 does"),
    (HEAD.replace("sm_90a", "sm_100a") + FLYING + "%c = product_commit.f32 %s1 %w = product_wait.f32 %c, 0 }", None, "no instruction of sm_100a does"),
    ("table f32 t = 0.5, -1.0, 2 %a = table t[0] %i = rem.u32 %n, 3 %x = load_const.f32 %a, %i, 0 store.f32 %out, %n, 0, %x", None),
    ("table bool t = 1, 0 table i64 s = -1 %a = table t[0] %b = table s[0] %x = load_const.bool %a, %n, 0", None),
    ("table f32 t = 0.5, 1.0 %a = table t[1]", "expected the first element of a table"),
    ("shared f32 t[4] at 0 %a = table t[0]", "expected the first element of a table"),
    ("table f32 t = 0.5 %x = load_shared.f32 t[0]", "expected an element of a shared array"),
    ("table u8 t = 255, 256", "the table's elements have another type"),
    ("table u32 t = %n", "expected a number"),
    ("table u32 t = 1 table u32 t = 2", "an array has this name already"),
    ("shared f32 x[58113] at 0", "ends after the shared memory of a block"),
    ("shared f32 x[4294967295] at 4294967292", "ends after the shared memory of a block"),
    ("kernel f() threads 384 target sm_90a { roles { warps 0, 4 registers 48 { } warps 4, 8 registers 232 { } } }", "the roles have 128 * 48 + 256 * 232 = 65536 registers, more than their threads at the launch, 384 * 168 = 64512; 224 fit for warps 4 to 11"),
    ("kernel f() threads 128 target sm_90a { roles { warps 0, 4 registers 40 { roles { warps 0, 4 registers 48 { } } } } }", "roles in a role"),
    # a group that one branch takes and the other reads, and one that is taken only where the loop ends
    (FLYING + "%c = product_commit.f32 %s1\n %w = product_wait.f32 %c, 0\n %p = eq.u32 %n, 3\n"
              "if %p { %s2 = product.f32.bf16.bf16 %w, %d, %d, 1, 0 %k = product_commit.f32 %s2 %v = product_wait.f32 %k, 0 } else { %x = reduce_add.f32 %w }", None),
    (FLYING + "%c = product_commit.f32 %s1\n %p = eq.u32 %n, 3\n %r = loop (%g: flight f32*32 = %c) { if %p { break %g }\n"
              "%x = product_wait.f32 %g, 0 %y = product.f32.bf16.bf16 %x, %d, %d, 1, 0 %z = product_commit.f32 %y continue %z }\n"
              "%w = product_wait.f32 %r, 0", None),
    (FLYING + "%e = undefined.f32 * 32\n %c = product_commit.f32 %s1 %s2 = product.f32.bf16.bf16 %e, %d, %d, 0, 0 %k = product_commit.f32 %s2\n"
              "%p = eq.u32 %n, 3\n %r, %q = loop (%g: flight f32*32 = %c, %h: flight f32*32 = %k) { break_if %p, %g, %h continue %h, %g }\n"
              "%w = product_wait.f32 %r, 0 %v = product_wait.f32 %q, 0", None, "would have to be moved"),
]
FACTORS = FLYING + "%p = eq.u32 %n, 3\n %f = undefined.bf16 * 8\n %x = undefined.f32 * 8\n %c = product_commit.f32 %s1\n %w = product_wait.f32 %c, 0\n"
# A body, a pattern, and how often the PTX has it.
PATTERNS = [
    # bytes that are not read are zeros: under a predicate, or always
    ("shared f16 a[64] at 0\n %p = lt.u32 %n, 3 copy_async a[0], %out, 0, 0, 16, %p copy_async a[8], %out, 0, 0, 8, 0 copy_async a[16], %out, 0, 0, 8, 1",
     r"cp\.async\.c[ag]\.shared\.global \[%r\d+(\+16)?\], \[%rd\d+\], (16, !%p\d|8, 0);", 2),
    # a table is one array of the module; two parts of a word are taken apart together
    ("table u8 t = 7, 8 %a = table t[0] %b = table t[0] %x = load_const.u8 %a, %n, 0 %y = load_const.u8 %b, %n, 1 store.u8 %out, %n, 0, %x store.u8 %out, %n, 1, %y",
     r"\.global \.align 16 \.b8 f\$t\[2\] = \{7, 8\};", 1),
    ("%g = load.f16 %out, %n, 0 * 2 %x = part.f16 %g, 0, 1, 1 %y = part.f16 %g, 1, 1, 1 %s = add.f16 %x, %y store.f16 %out, %n, 0, %s",
     r"mov\.b32 \{%rs\d+, %rs\d+\}, %r\d+;|mov\.b16", 1),
    # parts of a group, and groups of whole words, are no moves
    ("%g = load.f32 %out, 0, 0 * 4 %x = part.f32 %g, 0, 1, 1 %y = part.f32 %g, 2, 2, 1 %h = join.f32 %y, %x, %x store.f32 %out, 0, 4, %h", r"mov\.f32", 0),
    ("%a = warp_add.u32 %n %i = convert.i32.u32 %a %b = warp_max.i32 %i %c = warp_or.i32 %b store.i32 %out, %n, 0, %c",
     r"redux\.sync\.(add\.u32|max\.s32|or\.b32) %r\d+, %r\d+, -1;", 3),
    # a commit is no fence
    (FLYING + "%f = undefined.bf16 * 8 %x = undefined.f32 * 8 %e = undefined.f32 * 32 product_fence %h = convert.bf16.f32 %x\n"
              "%c = product_commit.f32 %s1 %s2 = product_from.f32.bf16.bf16 %e, %h, %d, 0, 0 %k = product_commit.f32 %s2\n"
              "%w = product_wait.f32 %c, 1 %v = product_wait.f32 %k, 0", r"wgmma\.fence", 3),
    # a store reads sums before a product writes them
    (FACTORS + "product_fence store.f32 %out, 0, 0, 1.0 %w0 = part.f32 %w, 0, 1, 1 product_fence store.f32 %out, 0, 0, %w0\n"
               "%s2 = product.f32.bf16.bf16 %w, %d, %d, 1, 0 %k = product_commit.f32 %s2 %v = product_wait.f32 %k, 0", r"wgmma\.fence", 4),
    # the next factor is not written to the registers of the last one, which a product reads until the wait
    (FACTORS + "loop (%g: bf16*8 = %f, %acc: f32*32 = %w) { %s2 = product_from.f32.bf16.bf16 %acc, %g, %d, 1, 0 %k = product_commit.f32 %s2\n"
               "%h = convert.bf16.f32 %x %v = product_wait.f32 %k, 0 break_if %p continue %h, %v }", r"mov\.b32", 4),
]


TYPES = "f64 f32 f16 bf16 tf32 e4m3 e5m2 i64 i32 i16 i8 u64 u32 u16 u8 bool".split()
FUNCTIONS = "exp exp2 log log2 sin cos tanh erf erfc expm1 log1p sigmoid sqrt rsqrt round floor ceil".split()
# Operations by the types that they have, and the number of their operands.
OPERATIONS = [(name, 2, "fiub") for name in "eq ne lt le gt ge".split()] + [(name, 2, "iub") for name in "and or xor".split()] + \
    [(name, 2, "fiu") for name in "add sub mul div rem min max".split()] + [(name, 1, "fiu") for name in "neg abs square".split()] + \
    [("fma", 3, "fiu"), ("clip", 3, "fiu"), ("not", 1, "iub"), ("shl", 2, "iu"), ("shr", 2, "iu"), ("cdiv", 2, "iu"), ("pow2_ceil", 1, "iu"),
     ("pow", 2, "f")] + [(name, 1, "f") for name in FUNCTIONS]


def kind_of(dtype):
    return "b" if dtype == "bool" else dtype[0] if dtype[0] in "iu" else "f"


def bytes_of(dtype):
    digits = re.sub(r"\D", "", dtype)
    return 1 if dtype == "bool" or dtype[0] == "e" else 4 if dtype == "tf32" else int(digits) // 8


def on_type(dtype, target):
    """Returns a kernel with every operation, on scalars, a group of 5 and a constant of the type."""
    number = {"f": "0.5", "b": None}.get(kind_of(dtype), "3")
    lines = ["%p = load.bool %out, %n, 0 %c = join.bool %p, %p, %p, %p, %p"]
    for k in range(3):
        lines += [f"%x{k} = load.{dtype} %out, %n, {k}", f"%y{k} = load.{dtype} %out, %n, {k + 3}",
                  f"%g{k} = join.{dtype} %x{k}, %y{k}, %x{k}, %x{k}, %y{k}"]

    def add(i, text, operands, result):
        for form, count in zip(operands, (1, 5)):
            lines.append(f"%r{i}_{count} = {text} {', '.join(form)}")
        parts = [f"%r{i}_5_{j} = part.{result} %r{i}_5, {j}, 1, 1 store.{result} %out, %n, {i * 6 + j}, %r{i}_5_{j}" for j in range(5)]
        lines.extend([f"store.{result} %out, %n, {i * 6 + 5}, %r{i}_1", *parts])

    names = [(n, c) for n, c, kinds in OPERATIONS if kind_of(dtype) in kinds]
    for i, (name, count) in enumerate(names):
        scalars, groups = [f"%x{k}" for k in range(count)], [f"%g{k}" for k in range(count)]
        if name in ("shl", "shr"):
            scalars[1] = groups[1] = "%n"
        elif number and count > 1:
            groups[count - 1] = number
        add(i, f"{name}.{dtype}", (scalars, groups), "bool" if i < 6 else dtype)
    add(len(names), f"select.{dtype}", (["%p", "%x0", "%x1"], ["%c", "%g0", "%g1"]), dtype)
    others = [t for t in TYPES if target != "sm_80" or t[0] != "e"]
    for i, other in enumerate(others, len(names) + 1):
        add(i, f"convert.{other}.{dtype}", (["%x0"], ["%g0"]), other)
    same = [t for t in others if bytes_of(t) == bytes_of(dtype) and "bool" not in (t, dtype)]
    for i, other in enumerate(same, len(names) + len(others) + 1):
        add(i, f"bits.{other}.{dtype}", (["%x1"], ["%g1"]), other)
    return f"kernel f(u64 %out, u32 %n) threads 128 target {target} {{\n" + "\n".join(lines) + "\n}\n"


# Of optimised programs: the stages of four turns are constants, so the elements' places are; short `if`s have no branch.
OPTIMISED = [
    ("shared u32 x[4] at 0\n loop unroll 4 (%i: u32 = 0, %s: u32 = 0) { %d = ge.u32 %i, %n break_if %d store_shared.u32 x[%s], %i\n"
     "%t = add.u32 %s, 1 %u = and.u32 %t, 3 %j = add.u32 %i, 1 continue %j, %u }", r"st\.shared\.\w+ \[%r\d+(\+4|\+8|\+12)?\]", 4),
    ("%d = ge.u32 %n, 4 if %d { %j = add.u32 %n, 1 store.u32 %out, %j, 0, %j }", r"\bbra\b", 0),
    ("%d = ge.u32 %n, 4 if %d { barrier 0, 0 }", r"\bbra\b", 1),
    ("%d = ge.u32 %n, 4 if %d { %f = convert.f32.u32 %n %e = exp.f32 %f store.f32 %out, 0, 0, %e }", r"\bbra\b", 1),
]


def run(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True)


def write_case(folder, body):
    path = f"{folder}/case.thread"
    with open(path, "w") as file:
        file.write(body if body.startswith("kernel") else HEAD + body + "\n}\n")
    return path


def check_pattern(program, folder, form, body, pattern, count):
    done = run(program, form, write_case(folder, body))
    found = len(re.findall(pattern, done.stdout))
    if done.returncode or found != count:
        fail(f"{pattern} is {found} times, not {count}, in the PTX of\n{body}\n{done.stdout}{done.stderr}")


def check_case(program, folder, body, wanted, unfit=None):
    """unfit: a part of the message of the emitter, which refuses the program."""
    path = write_case(folder, body)
    done = run(program, path)
    if unfit:
        done = run(program, "--plain", path)
        if done.returncode != 1 or unfit not in done.stdout:
            fail(f"no message `{unfit}` for\n{body}\n{done.stdout}{done.stderr}")
    elif wanted is None:
        if done.returncode:
            fail(f"refused:\n{body}\n{done.stdout}")
        check_text(program, folder, path)
        check_assembled(program, folder, path)
    elif done.returncode != 1 or wanted not in done.stdout:
        fail(f"no message `{wanted}` for\n{body}\n{done.stdout}{done.stderr}")


def check_text(program, folder, path):
    printed = run(program, path)
    if printed.returncode:
        fail(f"{path}: {printed.stdout}{printed.stderr}")
    again = f"{folder}/again.thread"
    with open(again, "w") as file:
        file.write(printed.stdout)
    if run(program, again).stdout != printed.stdout:
        fail(f"{path} does not read back as it was printed")


def undocumented(names, document):
    """Returns the names that are in no code of the document; `_y` and `_z` are named with `_x`."""
    code = " ".join(re.findall(r"`[^`\n]+`", document))
    return [n for n in names if not re.search(rf"\b{re.sub('_[yz]$', '_x', n)}\b", code)]


def check_documented():
    """docs/thread-ir.md names each operation and each pass."""
    root = os.path.dirname(TESTS)
    names = re.findall(r'^THREAD_OP\(\w+, "(\w+)"', open(f"{root}/src/thread/thread_ops.def").read(), re.M)
    passes = re.findall(r"\b(thread_\w+)\(a, f\)", open(f"{root}/src/thread/thread_passes.c").read())
    document = open(f"{root}/docs/thread-ir.md").read()
    missing = undocumented(names + passes, document)
    if missing or len(names) < 100 or len(passes) < 8:
        fail(f"docs/thread-ir.md lacks {missing}")
    if undocumented(["load_const", "thread_reach"], document.replace("`load_const`", "").replace("`thread_reach`", "")) != ["load_const", "thread_reach"]:
        fail("a missing name is not found")


def check_pass(program, folder, path, bless):
    after = path.replace(".thread", ".after")
    done = run(program, f"--pass={os.path.basename(path).split('_')[0]}", path)
    if done.returncode == 0 and bless:
        with open(after, "w") as file:
            file.write(done.stdout)
    if done.returncode or done.stdout != open(after).read():
        fail(f"{path} does not become {after}:\n{done.stdout}{done.stderr}")
    check_text(program, folder, path)
    check_assembled(program, folder, path)
    with open(f"{folder}/after.thread", "w") as file:
        file.write(done.stdout)
    check_assembled(program, folder, f"{folder}/after.thread")


def check_passes(program, folder, bless):
    for path in sorted(glob.glob(f"{TESTS}/thread/passes/*.thread")):
        check_pass(program, folder, path, bless)


def check_assembled(program, folder, path):
    """A message of ptxas says that products wait for each other, or that the registers of roles are ignored."""
    done = run(program, "--ptx", path)
    if done.returncode:
        fail(f"{path}: {done.stdout}")
    ptxas = shutil.which("ptxas", path=os.environ["PATH"] + ":/usr/local/cuda/bin")
    if not ptxas:
        return
    with open(f"{folder}/out.ptx", "w") as file:
        file.write(done.stdout)
    target = re.search(r"^\.target (\w+)", done.stdout, re.M).group(1)
    done = run(ptxas, f"-arch={target}", "-v", f"{folder}/out.ptx", "-o", f"{folder}/out.cubin")
    if done.returncode or re.search(r"\(C\d+\)|warning", done.stderr) or " 0 bytes spill stores, 0 bytes spill loads" not in done.stderr:
        fail(f"{path}: ptxas: {done.stderr}")


def write_ptx(program, folder, name):
    path = f"{folder}/{name}.ptx"
    with open(path, "w") as file:
        file.write(run(program, "--ptx", f"{TESTS}/thread/{name}.thread").stdout)
    return path


def check_launch(tool, path, folder, arrays, launch, wanted, tolerance):
    """Runs a program on the simulator: its last array gets values near the wanted ones, and there is no race."""
    for i, array in enumerate(arrays):
        np.save(f"{folder}/{i}.npy", array)
    shape = "x".join(str(x) for x in wanted.shape)
    dtype = {"float16": "f16", "float32": "f32", "float64": "f64", "int64": "i64", "int8": "i8", "bool": "bool"}[str(arrays[0].dtype)]
    arguments = [x for i in range(len(arrays)) for x in ("--arg", f"@{folder}/{i}.npy")] + ["--arg", f"{dtype}[{shape}]:none"]
    grid_words, scalars = launch
    whole = [*grid_words, *arguments, *(x for s in scalars for x in ("--arg", s))]
    done = run(tool, "run", path, *whole, "--out", f"{len(arrays)}={folder}/out.npy")
    if done.returncode:
        fail(done.stdout + done.stderr)
    wrong = ~(np.abs(np.load(f"{folder}/out.npy").astype(np.float64) - wanted) <= tolerance)
    if wrong.any():
        fail(f"{path}: {wrong.sum()} wrong values, the first at {np.argwhere(wrong)[0]}")
    done = run(tool, "check", path, *whole)
    if done.returncode:
        fail(done.stdout + done.stderr)


def launch_words(blocks, threads, shared):
    return ["--grid", ",".join(str(x) for x in blocks), "--block", str(threads), "--shared", str(shared)]


def check_product(program, tool, folder, name, product):
    m, n, k = 256, 256, 160
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(shape).astype({"f16": "f2", "f32": "f4"}[product.dtype]) for shape in ((m, k), (n, k) if product.transposed else (k, n)))
    launch = launch_words(grid(product, m, n), product.threads, product.shared), [f"i32:{n}", f"i32:{k}"]
    wanted = a.astype(np.float64) @ (b.T if product.transposed else b).astype(np.float64)
    tolerance = 2 ** -10 * np.abs(wanted) + 1e-3 if product.dtype == "f16" else 1e-4
    check_launch(tool, write_ptx(program, folder, name), folder, [a, b], launch, wanted, tolerance)


def check_shuffles(program, tool, folder):
    """Each lane gets scalars and groups of two from others."""
    lanes, rng = np.arange(32), np.random.default_rng(3)
    for dtype, name in (("f2", "f16"), ("f4", "f32"), ("f8", "f64"), ("i8", "i64"), ("i1", "i8"), ("?", "bool")):
        body = f"""kernel f(u64 %in, u64 %out) threads 32 target sm_80 {{
            %lane = lane %twice = shl.u32 %lane, 1 %seven = mul.u32 %lane, 7
            %x = load.{name} %in, %twice, 0 %y = load.{name} %in, %twice, 1 %g = join.{name} %x, %y
            %a = shuffle_xor.{name} %x, 5 %b = shuffle.{name} %x, %seven store.{name} %out, %lane, 0, %a store.{name} %out, %lane, 32, %b
            %h = shuffle.{name} %g, 3 %c = part.{name} %h, 1, 1, 1 store.{name} %out, %lane, 64, %c
            %d, %p = shuffle_up.{name} %x, 3, 8 store.{name} %out, %lane, 96, %d
            %e, %q = shuffle_up.{name} %x, 3, 8 %f = select.{name} %q, %y, %x store.{name} %out, %lane, 128, %f
        }}"""
        with open(f"{folder}/shuffles.ptx", "w") as file:
            file.write(run(program, "--ptx", write_case(folder, body)).stdout)
        values = (rng.integers(0, 2, 64) if dtype == "?" else rng.integers(-100, 100, 64)).astype(dtype)
        even = values[::2]
        there, odd = lanes % 8 >= 3, values[1::2]
        above = [np.where(there, even[lanes - 3], even), np.where(there, odd, even)]
        wanted = np.stack([even[lanes ^ 5], even[lanes * 7 % 32], np.full(32, values[7]), *above]).astype(np.float64)
        check_launch(tool, f"{folder}/shuffles.ptx", folder, [values], (launch_words((1,), 32, 0), []), wanted, 0)


def check_attention(program, tool, folder):
    heads, nq, nk = 2, 128, 192
    rng = np.random.default_rng(2)
    q, k, v = (rng.standard_normal((heads, rows, 128)).astype("f2") for rows in (nq, nk, nk))
    scores = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) / 128 ** 0.5
    part = np.exp(scores - scores.max(axis=2, keepdims=True))
    wanted = part / part.sum(axis=2, keepdims=True) @ v.astype(np.float64)
    launch = launch_words((nq // 128, heads), 256, ATTENTION_SHARED), [f"i32:{nq}", f"i32:{nk}", f"f32:{LOG2E / 128 ** 0.5}"]
    check_launch(tool, write_ptx(program, folder, "attention_warps"), folder, [q, k, v], launch, wanted, 4e-3)


# The units of warpgroups: factors, sums, elements of a left factor in a thread's registers.
UNITS = [("f16", "f16", "f32", 8), ("bf16", "bf16", "f32", 8), ("tf32", "tf32", "f32", 4)] + [
    (a, b, total, 16) for pair, total in ((("e4m3", "e5m2"), "f32"), (("i8", "u8"), "i32")) for a in pair for b in pair]


def products_of(a, b, total, elements):
    """A product of each place that the left factor may have."""
    from_registers = f"%t = product_from.{total}.{a}.{b} %s, %f, %e, 1, 0\n" if a != "tf32" else f"%t = product.{total}.{a}.{b} %s, %d, %e, 1, 0\n"
    return (f"shared {a} a[8192] at 0\n shared {b} b[8192] at 32768\n %d = descriptor a[0], 16, 1024 %e = descriptor b[0], 16, 1024\n"
            f"%f = undefined.{a} * {elements}\n %none = undefined.{total} * 48\n %s = product.{total}.{a}.{b} %none, %d, %e, 0, 0\n"
            f"{from_registers} %c = product_commit.{total} %t %w = product_wait.{total} %c, 0\n"
            f"%x = reduce_add.{total} %w store.{total} %out, %n, 0, %x")


def check_command_line(program):
    """A misspelt pass or path is refused, rather than printed as the program without it."""
    path = f"{TESTS}/hopper/matmul.thread"
    for words, said in ((["--pass=hois", path], " --pass=hoist "), (["missing.thread"], "missing.thread: No such file"), ([], "FILE.thread")):
        done = run(program, *words)
        if done.returncode != 2 or done.stdout or said not in done.stderr:
            fail(f"{words}: {done}")


def main():
    program, tool = os.environ["THREAD_TEXT"], os.path.abspath(sys.argv[1])
    if "--bless" in sys.argv:
        with tempfile.TemporaryDirectory() as folder:
            check_passes(program, folder, True)
        return
    check_documented()
    check_command_line(program)
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            check_case(program, folder, *case)
        for unit in UNITS:
            check_case(program, folder, products_of(*unit), None)
        for dtype in TYPES:
            check_case(program, folder, on_type(dtype, "sm_90a"), None)
        for dtype in ("f16", "bf16"):  # computed in other ways there
            check_case(program, folder, on_type(dtype, "sm_80"), None)
        for case in PATTERNS:
            check_pattern(program, folder, "--plain", *case)
        for case in OPTIMISED:
            check_pattern(program, folder, "--ptx", *case)
        for name, product in PRODUCTS.items():
            check_product(program, tool, folder, name, product)
        check_attention(program, tool, folder)
        check_shuffles(program, tool, folder)
        check_passes(program, folder, False)
        files = sorted(glob.glob(f"{TESTS}/hopper/*.thread") + glob.glob(f"{TESTS}/thread/*.thread"))
        if not files:
            fail("there are no programs")
        for path in files:
            check_text(program, folder, path)
            check_assembled(program, folder, path)


if __name__ == "__main__":
    main()
