/* The printer: printed kernels compile to the same kernel again, after every pass. */
#include "pass_helper.h"
#include "api/pass_order.h"

#include "base/platform.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Checks and prints the text: it must be `printed` (NULL: the text itself), and remain the same
 * when compiled again. */
static void expect_printed(const char *text, const char *printed)
{
    struct program p = {0}, again = {0};
    program_open(&p, text);
    if (!program_check(&p, 0))
        fail_msg("%s", program_messages(&p));
    const char *first = program_text(&p);
    assert_string_equal(first, printed ? printed : text);
    program_open(&again, first);
    if (!program_check(&again, 0))
        fail_msg("%s\n%s", first, program_messages(&again));
    assert_string_equal(program_text(&again), first);
    program_free(&again);
    program_free(&p);
}

/* Checks that a statement in a kernel with names of every type is printed as itself. */
static void expect_statement(const char *statement)
{
    char text[4096];
    int length = snprintf(
        text, sizeof text,
        "kernel f(i32 i, i64 l, u8 u, u64 w, f16 h, f32 x, f64 d, bool b, const f32 *a, f32 *c)\n"
        "    grid(1) warps(1)\n"
        "{\n"
        "    global f32 A[16][l] = a;\n"
        "    global f32 C[i][16] = c;\n"
        "    global i32 W[16] = 0;\n"
        "    i32 j = i;\n"
        "    i64 q = l;\n"
        "    u8 v = u;\n"
        "    u64 z = w;\n"
        "    f16 s = h;\n"
        "    f32 y = x;\n"
        "    f64 e = d;\n"
        "    bool o = b;\n"
        "    i32 n[4] = 0;\n"
        "    reg f32 t[16][16] = 0.0;\n"
        "    reg i32 r[16] = iota(16);\n"
        "    shared f32 sh[16][16];\n"
        "    %s\n"
        "}\n",
        statement);
    assert_true(length > 0 && (size_t)length < sizeof text);
    expect_printed(text, NULL);
}

static void test_precedence(void **state)
{
    (void)state;
    static const char *const statements[] = {
        "j = i + j * 2 - (i - j);",
        "j = (i + j) * 2 / (i * j) % 3;",
        "j = i - (j - 1) - 2;",
        "j = -i - -2;",
        "j = -(-i);",
        "j = ~(i & 3 | j ^ i << 2);",
        "j = (i | 1) & (j ^ 2);",
        "j = i + j << (i & 3) >> 1;",
        "o = !(i < j) && (b || i == 3 && l != q);",
        "o = (b ? i : j) < 3;",
        "j = b ? i : o ? j : 3;",
        "j = (b ? o : i < j) ? 1 : 2;",
        "y = -x * (y + 1.0);",
        "y = (f32) i / 2.0 + (f32) (i + 1);",
        "y = (f32) -i;",
        "t = trans(t) * (x * y) + sum(t, axis = 0);",
        "y = max(sum(t), 1.0);",
        "t = max(t, max(t, axis = 1));",
        "j = bits<i32>(x + y) >> 3;",
    };
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++)
        expect_statement(statements[i]);
}

static void test_literals(void **state)
{
    (void)state;
    static const char *const statements[] = {
        "j = 2147483647;",
        "j = -2147483648;",
        "q = 9223372036854775807;",
        "q = -9223372036854775808;",
        "z = 18446744073709551615;",
        "v = 255;",
        "q = l + 3;",
        "q = l + (i64) i;",
        "s = h * 0.1 + 1.0;",
        "e = d * 0.1;",
        "e = 0.1;",
        "y = 0.1;",
        "y = -inf;",
        "y = nan;",
        "y = exp(0.5);",
        "e = exp((f64) 0.1);",
        "e = b ? 0.1 : 0.2;",
        "y = b ? 1.0 : x;",
        "y = 1e-7;",
        "y = 3.4028235e38;",
        "o = true;",
        "o = i == 3 || false;",
        "j = 1 << i;",
        "q = (i64) 1 << (i64) i;",
        "q = l << 3;",
        "j = (i32) philox(1, w, 2);",
        "j += 3;",
        "j <<= 2;",
        "v += 1;",
        "q -= b ? l : 2;",
        "t *= 0.5;",
        "print(\"a \\\"quoted\\\" \\\\ label\\n\", j, 1.5);",
        "print(j);",
        "assume(i % 16 == 0 && l > 3);",
    };
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++)
        expect_statement(statements[i]);
}

static void test_accesses(void **state)
{
    (void)state;
    static const char *const statements[] = {
        "t = A[0 +: 16][i +: 16];",
        "t = A[i - 3 +: 16][l +: 16 inside];",
        "t = A[0 +: 16][i +: 16] else -inf;",
        "t = (A[0 +: 16][i +: 16] else y) + t;",
        "t = A[r][i +: 16];",
        "t = A[:][5 +: 16];",
        "y = A[i][j + 1];",
        "C[i +: 16] = t;",
        "C[i +: 16][0 +: 8] = t[0 +: 16][8 +: 8];",
        "C[r][j] = reshape(sum(t, axis = 1), 16);",
        "sh = t + sh;",
        "sh[i] = 0.0;",
        "sh[i][j] = y;",
        "sh[i][0 +: 4] = 1.0;",
        "async sh = A[0 +: 16][i +: 16];",
        "async sh[i] = A[i][l +: 16] hint(evict_first);",
        "async_commit();",
        "async_wait(1);",
        "sync();",
        "free(sh);",
        "atomic_add(C[i +: 16], t);",
        "j = atomic_cas(W[i], 1, 2);",
        "lock(W[0], i);",
        "unlock(W[0], (i + 1) % 4);",
        "n[i] = n[j] + 1;",
    };
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++)
        expect_statement(statements[i]);
}

static void test_calls(void **state)
{
    (void)state;
    static const char *const statements[] = {
        "t = reshape(reshape(t, 256), 16, 16);",
        "reg f32 k[32][16] = repeat(t, 2, 1);",
        "reg f32 k[16][32] = repeat_interleave(t, 1, 2);",
        "t = broadcast(x, 16, 16);",
        "t = broadcast(sum(t, axis = 1), 16, 16);",
        "reg i32 k[16][1] = iota(16, 1) + i;",
        "t = scan(add, t, axis = 1);",
        "t = scan(max, t, axis = 0, exclusive = true);",
        "o = any(t > 0.0) && all(t < 1.0);",
        "t = where(t < x, t, 0.0);",
        "t = dot(t, trans(t), t);",
        "t = dot(t, trans(t)) by(fma);",
        "t = exp(dot(t, t) by(mma.m16n8k16, halves, left staged)) + 1.0;",
        "t += dot(t, t) by(cp.async.16, of 128);",
        "t = A[0 +: 16][0 +: 16] by(ld.128) else 1.0;",
        "C[0 +: 16] by(st.64) += t;",
        "C[0 +: 16] by(st.64) = C[0 +: 16] by(ld.128) + t;",
        "W by(st.32) = W by(ld.32) + W;",
        "t = clip(fma(t, x, 1.0), 0.0, 6.0);",
        "j = cdiv(i, 16) * pow2_ceil(j);",
        "y = rsqrt(square(x) + abs(y));",
    };
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++)
        expect_statement(statements[i]);
}

static void test_statements(void **state)
{
    (void)state;
    expect_printed(
        "const i32 N = 8;\n"
        "const f32 SCALE = 0.1;\n"
        "\n"
        "kernel f(static i32 k, i32 m, const f32 *a, f32 *c)\n"
        "    grid(cdiv(m, N), 2) warps(4) cooperative\n"
        "{\n"
        "    global f32 A[k][m] = a + (k * 2 + 1) strides(m, 1);\n"
        "    global f32 C[m] = c;\n"
        "    global i32 turn[3] = 0;\n"
        "    global f32 work[m][k];\n"
        "    shared f32 s[8] at(128);\n"
        "    const i32 twice = m * 2;\n"
        "    i32 i = 0;\n"
        "    pipeline(3) for (i32 p = 0, q = 1; p < twice && p < k; p += N, q = (q + 1) % 3) {\n"
        "        shared f32 x[8] = A[0][p +: 8];\n"
        "        if (p == 3) {\n"
        "            continue;\n"
        "        }\n"
        "        i = q;\n"
        "    }\n"
        "    for (;;) {\n"
        "        break;\n"
        "    }\n"
        "    unroll for (i = 2; i < N; i += 1) {\n"
        "        s[i] = SCALE;\n"
        "    }\n"
        "    unroll(4) for (i32 z = 0; z < 8; z += 1) {\n"
        "    }\n"
        "    if (i < 3) {\n"
        "        {\n"
        "            i32 j = 4;\n"
        "            i += j;\n"
        "        }\n"
        "    } else if (i < 5) {\n"
        "        return;\n"
        "    } else {\n"
        "        do {\n"
        "            i += 1;\n"
        "        } while (i < 9);\n"
        "    }\n"
        "    while (i > 0) {\n"
        "        i -= 1;\n"
        "    }\n"
        "    C[0 +: 8] = s;\n"
        "    ensures for (i32 h < m) C[h] == A[0][h] * SCALE;\n"
        "}\n",
        NULL);
}

static void test_names_and_sugar(void **state)
{
    (void)state;
    expect_printed("tune B = {8, 16};\n"
                   "fn f32 twice(f32 x) { return 2 * x; }\n"
                   "kernel f(i32 m, f32 *c, const f32 *a) grid(m) threads(B, 2)\n"
                   "{\n"
                   "    global f32 C[m] = c, A[m] = a;\n"
                   "    i32 x = thread.x, y;\n"
                   "    for (i32 x = 0; x < B; x++) { C[x] = twice(A[x]); }\n"
                   "    y = x; y *= B - 1;\n"
                   "    if (y > 3) C[y] += 1; else if (y) ; else y--;\n"
                   "}\n",
                   "const i32 B = 8;\n"
                   "\n"
                   "kernel f(i32 m, f32 *c, const f32 *a)\n"
                   "    grid(m) threads(8, 2)\n"
                   "{\n"
                   "    global f32 C[m] = c;\n"
                   "    global f32 A[m] = a;\n"
                   "    i32 x = thread.x;\n"
                   "    i32 y;\n"
                   "    for (i32 x_1 = 0; x_1 < B; x_1 += 1) {\n"
                   "        C[x_1] = 2.0 * A[x_1];\n"
                   "    }\n"
                   "    y = x;\n"
                   "    y *= B - 1;\n"
                   "    if (y > 3) {\n"
                   "        C[y] += 1.0;\n"
                   "    } else if (y != 0) {\n"
                   "    } else {\n"
                   "        y -= 1;\n"
                   "    }\n"
                   "}\n");
}

/* Parameters go to a second line before column 100. */
static void test_long_parameters(void **state)
{
    (void)state;
    expect_printed("kernel with_a_long_name(i32 first, i32 second, static i32 third, const f32 "
                   "*alpha, const f32 *beta,\n"
                   "                        f32 *gamma)\n"
                   "    grid(1) warps(1)\n"
                   "{\n"
                   "}\n",
                   NULL);
}

/* --- every kernel of the tree, after every pass --- */

/* Prints the lines that differ first, because cmocka cuts long messages short. */
static void fail_at_difference(const char *what, const char *pass, const char *a, const char *b)
{
    size_t same = 0, line = 0;
    for (; a[same] && a[same] == b[same]; same++)
        if (a[same] == '\n')
            line = same + 1;
    fail_msg("%s after %s:\n%.*s\n%.*s", what, pass, (int)strcspn(a + line, "\n"), a + line,
             (int)strcspn(b + line, "\n"), b + line);
}

/* Prints the program, compiles this text and prints it again: both texts must be equal. Comments
 * are removed first, because printing them from a compiled text is not possible. */
static void expect_round_trip(struct program *p, const char *what, const char *pass)
{
    struct program again = {.statics = p->statics};
    const char *first = without_comments(&p->arena, program_text(p));
    program_open(&again, first);
    if (!program_check(&again, 0))
        fail_msg("%s after %s: %s", what, pass, program_messages(&again));
    const char *second = program_text(&again);
    second = without_comments(&again.arena, second);
    if (strcmp(first, second) != 0)
        fail_at_difference(what, pass, first, second);
    program_free(&again);
}

static void round_trips(const char *name, const char *text, int64_t statics, int divisor)
{
    struct program p = {.name = name, .statics = statics, .divisor = divisor};
    program_open(&p, text);
    if (p.diag.errors > 0)
        fail_msg("%s:\n%s", name, program_messages(&p));
    for (int kernel = 0; kernel < program_kernels(&p); kernel++) {
        if (!program_check(&p, kernel))
            fail_msg("%s:\n%s", name, program_messages(&p));
        expect_round_trip(&p, name, "check");
        for (int i = 0; i < pass_order_count; i++) {
            if (!program_pass(&p, pass_order_list[i].name))
                fail_msg("%s after %s:\n%s", name, pass_order_list[i].name, program_messages(&p));
            expect_round_trip(&p, name, pass_order_list[i].name);
        }
    }
    program_free(&p);
}

static void round_trips_of(const char *pattern)
{
    glob_t found;
    jmp_buf failed;
    struct arena a;
    char path[4096];
    arena_init(&a, &allocator_libc, &failed);
    if (setjmp(failed) != 0)
        fail_msg("out of memory");
    snprintf(path, sizeof path, "%s/%s", TW_TEST_ROOT, pattern);
    assert_int_equal(glob(path, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        size_t length;
        const char *why, *name = found.gl_pathv[i];
        char *text = platform_read_file(&a, name, &length, &why);
        if (!text)
            fail_msg("%s: %s", name, why);
        if (strstr(text, "expect-error"))
            continue;
        round_trips(name, text, 64, 0);
        round_trips(name, text, 100, 16);
    }
    globfree(&found);
    arena_free(&a);
}

static void test_every_kernel(void **state)
{
    (void)state;
    round_trips_of("kernels/*/*.tile");
    round_trips_of("tests/parity/*.tile");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_precedence),      cmocka_unit_test(test_literals),
        cmocka_unit_test(test_accesses),        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_statements),      cmocka_unit_test(test_names_and_sugar),
        cmocka_unit_test(test_long_parameters), cmocka_unit_test(test_every_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
