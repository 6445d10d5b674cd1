/* The passes: small programs, and the result or message of each pass. */
#include "pass_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- helpers --- */

#define WARPS                                                                                      \
    "kernel f(i32 m, static i32 n, i32 k, f32 x, const f32 *a, f32 *c) grid(cdiv(m, 16), n) "      \
    "warps(1)\n"
#define THREADS                                                                                    \
    "kernel f(i32 m, static i32 n, i32 k, f32 x, const f32 *a, f32 *c) grid(cdiv(m, 16), n) "      \
    "threads(8, 4)\n"
#define VIEWS "global f32 A[m][k] = a, C[m][k] = c;\n"

/* Returns the text between the braces of the kernel, without its first `skip` lines. */
static const char *body_of(struct program *p, int skip)
{
    const char *text = strstr(program_text(p), "\n{\n") + 3;
    while (skip-- > 0)
        text = strchr(text, '\n') + 1;
    return arena_string(&p->arena, text, strlen(text) - 2);
}

/* Checks that, for VIEWS and then `statements`, the text below the two views is `expected` after
 * the passes up to `pass`. */
static void expect_after(const char *pass, const char *head, const char *statements, int divisor,
                         const char *expected)
{
    char text[4096];
    struct program p = {.statics = 64, .divisor = divisor};
    snprintf(text, sizeof text, "%s{\n%s%s\n}\n", head, VIEWS, statements);
    program_open(&p, text);
    if (!program_check(&p, 0) || !program_passes(&p, pass))
        fail_msg("%s\n%s", text, program_messages(&p));
    assert_string_equal(body_of(&p, 2), expected);
    program_free(&p);
}

/* Checks the messages of the passes up to variance. */
static void expect_messages(const char *statements, const char *expected)
{
    char text[4096];
    struct program p = {.statics = 64};
    snprintf(text, sizeof text, "%s{%s%s\n}\n", THREADS, "global f32 A[m][k] = a, C[m][k] = c;\n",
             statements);
    program_open(&p, text);
    if (!program_check(&p, 0))
        fail_msg("%s\n%s", text, program_messages(&p));
    program_passes(&p, "variance");
    assert_string_equal(program_messages(&p), expected);
    program_free(&p);
}

/* --- variance --- */

/* Checks the names of the varying symbols, in order. */
static void expect_varying(const char *statements, const char *expected)
{
    char text[4096];
    struct program p = {.statics = 64};
    struct text names;
    snprintf(text, sizeof text, "%s{%s%s\n}\n", THREADS, VIEWS, statements);
    program_open(&p, text);
    if (!program_check(&p, 0) || !program_passes(&p, "variance"))
        fail_msg("%s\n%s", text, program_messages(&p));
    text_init(&names, &p.arena);
    text_add(&names, "");
    for (const struct sym *s = p.kernel->symbols; s; s = s->next)
        if (s->type.varying)
            text_printf(&names, "%s ", s->name);
    assert_string_equal(names.data, expected);
    program_free(&p);
}

static void test_varying_values(void **state)
{
    (void)state;
    expect_varying("i32 i = block.x, j = thread.x + i, l = j * 2; f32 y = A[i][0], z = A[j][0];",
                   "j l z ");
    expect_varying("i32 i = thread.z;", "i "); /* varying by its kind, though it is 0 everywhere */
    expect_varying(
        "i32 i = atomic_add(C[0][0], 1.0) > 0 ? 1 : 0; f32 v[4] = atomic_add(C[0][0 +: 4], 1.0);",
        "i v "); /* an atomic happens in each thread, whatever its operands */
    expect_varying("f32 v[4] = 0, w[4] = 0, u[4] = A[thread.x][0 +: 4]; w[thread.x] = 1;", "w u ");
    expect_varying("shared f32 s[8]; f32 y = s[3], z = s[thread.x], t = atomic_add(C[0][0], 1.0);",
                   "z t ");
    /* Against the order of the text, around the loop. */
    expect_varying("i32 i = 0, j = 0; for (i32 p = 0; p < k; p++) { i = j; j = thread.x; }",
                   "i j ");
}

static void test_varying_control_flow(void **state)
{
    (void)state;
    expect_varying("i32 i = 0; if (thread.x < 3) i = 1;", "i ");
    expect_varying("i32 i = 0; if (block.x < 3) i = 1;", "");
    /* The counter is the same in all threads that reach the loop. */
    expect_varying("if (thread.x < 3) { f32 s = 0; for (i32 p = 0; p < k; p++) s += A[p][0]; "
                   "C[thread.x][0] = s; }",
                   "");
    expect_varying("i32 i = 0; for (i32 p = 0; p < thread.x; p++) i++;", "i ");
    expect_varying("i32 i = 0; while (true) { i++; if (A[thread.x][i] > 0) break; }", "i ");
    expect_varying(
        "i32 i = 0, j = 0; for (i32 p = 0; p < k; p++) { i++; if (thread.x == p) continue; j++; }",
        "j ");
    /* Threads that have returned do not count. */
    expect_varying("i32 i = 0; if (thread.x > 3) return; i = 1;", "");
}

static void test_barriers_need_all(void **state)
{
    (void)state;
    expect_messages(
        "i32 i = thread.x;\n"
        "if (i < 4)\n"
        "    sync();\n",
        "5: error: `sync()` needs all threads of the block, but only some of the threads reach it"
        " | 4: this condition differs between threads"
        " | 3: `i` differs between threads: it gets a varying value here"
        " | 3: `thread.x` is another number in each thread"
        " | 4: close the `if` before it, and open another one after it for what depends on the "
        "thread\n");
    expect_messages(
        "if (thread.x > 3) return;\n"
        "for (i32 p = 0; p < k; p++) { sync(); }\n",
        "4: error: `sync()` needs all threads of the block, but only some of the threads reach it"
        " | 3: some threads return here"
        " | 3: `thread.x` is another number in each thread"
        " | 3: let all threads stay, with an `if` around what depends on the thread\n");
    expect_messages(
        "for (i32 p = 0; p < k; p++) {\n"
        "    sync();\n"
        "    if (thread.x == p) break;\n"
        "}\n"
        "sync();\n",
        "4: error: `sync()` needs all threads of the block, but only some of the threads reach it"
        " | 5: some threads leave the loop here"
        " | 5: `thread.x` is another number in each thread"
        " | 5: let all threads stay in the loop, with an `if` around what depends on the thread\n");
    /* All threads reach it before the `continue`, and under uniform conditions. */
    expect_messages("for (i32 p = 0; p < k; p++) {\n"
                    "    sync();\n"
                    "    if (thread.x == p) continue;\n"
                    "    C[p][thread.x] = 0;\n"
                    "}\n"
                    "if (k > 3) sync();\n",
                    "");
}

static void test_tiles_need_all(void **state)
{
    (void)state;
    expect_messages(
        "shared f32 s[8];\n"
        "if (thread.x < 4) s = A[0][0 +: 8];\n",
        "4: error: all threads together copy this tile to `s`, but only some of the threads reach "
        "it"
        " | 4: this condition differs between threads"
        " | 4: `thread.x` is another number in each thread"
        " | 4: close the `if` before it, and open another one after it for what depends on the "
        "thread\n");
    expect_messages(
        "shared f32 s[4];\n"
        "s = A[0][thread.x +: 4];\n",
        "4: error: each thread would write a tile of its own to the same part of `s`"
        " | 4: `thread.x` is another number in each thread"
        " | 4: let all threads copy one tile, from a start that is the same for all; or give each "
        "thread its own part, `s[…thread.x…] = …`\n");
    expect_messages("shared f32 s[8][4]; f32 v[4] = A[thread.x][0 +: 4];\n"
                    "s[thread.x] = v; C[thread.x][0 +: 4] = v;\n"
                    "if (thread.x == 0) s[0] = v;\n",
                    "");
    expect_messages(
        "reg f32 t[4] = 0;\n"
        "f32 y = thread.x * 2.0;\n"
        "t = t * y;\n",
        "5: error: a register tile belongs to the whole block; it cannot take a value of each "
        "thread"
        " | 4: `y` differs between threads: it gets a varying value here"
        " | 4: `thread.x` is another number in each thread"
        " | 5: each thread can have an array of its own: `f32 x[…]`, without `reg`\n"
        "5: error: a register tile belongs to the whole block, so it cannot differ between threads"
        " | 4: `y` differs between threads: it gets a varying value here"
        " | 4: `thread.x` is another number in each thread\n");
    expect_messages("shared f32 s[8]; f32 y = 0;\n"
                    "y = thread.x > 3 ? sum(s) : 0;\n",
                    "4: error: `sum` of a tile is the work of the whole block, but only some of "
                    "the threads reach it"
                    " | 4: only some threads evaluate what follows here"
                    " | 4: `thread.x` is another number in each thread"
                    " | 4: evaluate it before, into a variable\n");
}

/* --- specialise, fold --- */

static void test_specialise(void **state)
{
    (void)state;
    expect_after("specialise", WARPS, "i32 i = n * 2; C[0][0] = x * n;", 16,
                 "    global f32 A[m][k] = a;\n"
                 "    global f32 C[m][k] = c;\n"
                 "    i32 i = 128;\n"
                 "    C[0][0] = x * 64.0;\n");
    expect_after("fold", WARPS, "i32 i = n * 2; C[i][0] = x * n;", 0,
                 "    C[128][0] = x * 64.0;\n");
}

static void expect_folded(const char *statement, const char *expected)
{
    char out[256];
    snprintf(out, sizeof out, "    i32 i = m;\n    i32 j = k;\n    f32 y = x;\n%s%s%s",
             *expected ? "    " : "", expected, *expected ? "\n" : "");
    char in[256];
    snprintf(in, sizeof in, "i32 i = m, j = k; f32 y = x; %s", statement);
    expect_after("fold", WARPS, in, 0, out);
}

static void test_fold_expressions(void **state)
{
    (void)state;
    expect_folded("i = j * (n / 64);", "i = j;");
    expect_folded("i = j * (n / 64 - 1);", "i = 0;");
    expect_folded("i = 0 + j - 0;", "i = j;");
    expect_folded("i = (j + n) - 60;", "i = j + 4;");
    expect_folded("i = (j - n) + 4;", "i = j - 60;");
    expect_folded("i = j * n / n;", "i = j * 64 / 64;"); /* the product may wrap */
    expect_folded("i = n > 3 ? j : 4;", "i = j;");
    expect_folded("i = cdiv(n + 1, 8) << 2;", "i = 36;");
    expect_folded("i = (j << (n - 64)) | (n - 64);", "i = j;");
    expect_folded("y = x + 0;", "y = x + 0.0;"); /* -0 + 0 is +0 */
    expect_folded("y = x - 0;", "y = x;");
    expect_folded("y = 1 * x / 1;", "y = x;");
    expect_folded("y = x * 0;", "y = x * 0.0;"); /* inf, nan, -1 */
    expect_folded("y = -(-x);", "y = x;");
    expect_folded("i *= n - 64;", "i = 0;");
    expect_folded("i = C[0][0] > 0 && n < 3 ? 1 : 2;", "i = C[0][0] > 0.0 && false ? 1 : 2;");
    expect_folded("i = n < 3 && C[0][0] > 0 ? 1 : 2;", "i = 2;");
    expect_folded("const i32 q = n + 1; i = q * j;", "i = 65 * j;");
    expect_folded("i32 q = n + 1; i = q * j;", "i = 65 * j;");
    expect_folded("i32 q = n + 1; q = q * j;", "i32 q = 65;\n    q *= j;");
}

static void test_fold_statements(void **state)
{
    (void)state;
    expect_folded("if (n > 3) i = j; else i = 2;", "i = j;");
    expect_folded("if (n < 3) i = j;", "");
    expect_folded("if (n > 3) { i32 q = j; i = q; }",
                  "{\n        i32 q = j;\n        i = q;\n    }");
    expect_folded("while (n < 3) i++;", "");
    expect_folded("for (i32 p = 0; n < 3; p++) i++;", "");
    expect_folded("for (i = j; n < 3; i++) j++;", "i = j;");
    expect_folded("do i++; while (n < 3);", "do {\n        i += 1;\n    } while (false);");
    expect_folded("assume(n % 16 == 0);", "");
    expect_folded("assume(m % n == 0);", "assume(m % 64 == 0);");
    expect_folded("{ }", "");
}

/* --- contract --- */

static void expect_contracted(const char *statement, const char *expected)
{
    char in[512], out[512];
    snprintf(in, sizeof in,
             "i32 i = m; f32 y = x; f64 z = y; reg f32 s[16][16] = y, t[16][16] = y; reg f16 "
             "h[16][16] = (f16) s; %s",
             statement);
    snprintf(out, sizeof out,
             "    i32 i = m;\n    f32 y = x;\n    f64 z = (f64) y;\n    reg f32 s[16][16] = y;\n"
             "    reg f32 t[16][16] = y;\n    reg f16 h[16][16] = (f16) s;\n    %s\n",
             expected);
    expect_after("contract", WARPS, in, 0, out);
}

static void test_contract(void **state)
{
    (void)state;
    expect_contracted("y = x * y + 1;", "y = fma(x, y, 1.0);");
    expect_contracted("y += x * y;", "y = fma(x, y, y);");
    expect_contracted("y = x * y - y;", "y = fma(x, y, -y);");
    expect_contracted("y = x * y - 1;", "y = fma(x, y, -1.0);");
    expect_contracted("y = 1 - x * y;", "y = fma(-x, y, 1.0);");
    expect_contracted("y = x * x + y * y;", "y = fma(x, x, y * y);");
    expect_contracted("y = x * 2 + y * 3 + 4;", "y = fma(x, 2.0, y * 3.0) + 4.0;");
    expect_contracted("i = i * i + 1;", "i = i * i + 1;");
    expect_contracted("z = z + x * y;", "z += (f64) (x * y);"); /* the cast rounds */
    expect_contracted("t += dot(h, h);", "t = dot(h, h, t);");
    expect_contracted("t = dot(h, h) + t * y;", "t = dot(h, h, t * y);");
    expect_contracted("t = dot(h, h) + dot(s, s);", "t = dot(h, h, dot(s, s));");
    expect_contracted("t = y + dot(h, h);", "t = y + dot(h, h);"); /* no tile */
    expect_contracted("t = s * y + t;", "t = fma(s, y, t);");
}

/* --- masks --- */

/* Checks the index of one slice of A's first axis (extent m) or of its second (extent k), after
 * the pass `masks`. */
static void expect_slice(const char *before, const char *slice, int divisor, bool inside)
{
    char text[2048], wanted[256];
    struct program p = {.statics = 64, .divisor = divisor};
    snprintf(text, sizeof text,
             "kernel f(i32 m, static i32 n, i32 k, f32 x, const f32 *a, f32 *c)\n"
             "    grid(cdiv(m, 16), k, n) warps(1)\n{\n"
             "global f32 A[m] = a, B[k] = a, D[n] = a, C[m] = c;\n%s C[0 +: 1] = sum(%s);\n}\n",
             before, slice);
    program_open(&p, text);
    if (!program_check(&p, 0) || !program_passes(&p, "masks"))
        fail_msg("%s\n%s", text, program_messages(&p));
    const char *sum = strstr(program_text(&p), "sum(");
    const char *end = strstr(sum, "]");
    snprintf(wanted, sizeof wanted, "%.*s", (int)(end - sum), sum);
    if ((strstr(wanted, "inside") != NULL) != inside)
        fail_msg("%s\n%s", text, program_text(&p));
    program_free(&p);
}

static void test_masks_of_blocks(void **state)
{
    (void)state;
    expect_slice("", "A[block.x * 16 +: 16]", 16, true);
    expect_slice("", "A[block.x * 16 +: 16]", 0, false);
    expect_slice("assume(m % 16 == 0);", "A[block.x * 16 +: 16]", 0, true);
    expect_slice("assume(m % 8 == 0);", "A[block.x * 16 +: 16]", 0, false);
    expect_slice("assume(m % 48 == 0 && k > 3);", "A[16 * block.x +: 16]", 0, true);
    expect_slice("i32 i = block.x * 16;", "A[i +: 16]", 16, true);
    expect_slice("i32 i = block.x * 16; i = i;", "A[i +: 16]", 16, true);
    expect_slice("i32 i = block.x * 16; i += 16;", "A[i +: 16]", 16, false);
    expect_slice("i32 i = block.x * 16; if (k > 3) i = 0;", "A[i +: 16]", 16, false);
    expect_slice("", "A[block.x * 16 +: 17]", 16, false);
    expect_slice("", "A[block.x * 16 + 8 +: 8]", 16, true);
    expect_slice("", "A[block.x * 16 + 8 +: 9]", 16, false);
    expect_slice("", "A[block.x * 16 - 1 +: 1]", 16, false);
    expect_slice("", "A[block.x * 32 +: 16]", 16, false); /* beyond the grid's extent */
    expect_slice("", "B[block.x * 16 +: 16]", 16, false); /* another axis */
    expect_slice("", "B[block.y +: 1]", 0, true);
    expect_slice("", "D[block.z +: 1]", 0, true);
    expect_slice("", "D[block.z +: 2]", 0, false);
    expect_slice("", "D[block.z / 16 * 16 +: 16]", 0, true);
    expect_slice("", "D[block.z % 4 * 16 +: 16]", 0, true);
}

static void test_masks_of_loops(void **state)
{
    (void)state;
    expect_slice("for (i32 p = 0; p < k; p += 16)", "B[p +: 16]", 16, true);
    expect_slice("for (i32 p = 0; p < k; p += 16)", "B[p +: 16]", 0, false);
    expect_slice("for (i32 p = 0; k > p; p += 16)", "B[p +: 16]", 16, true);
    expect_slice("for (i32 p = 0; p <= k; p += 16)", "B[p +: 16]", 16, false);
    expect_slice("for (i32 p = 0; p + 16 <= k; p += 16)", "B[p +: 16]", 16,
                 false); /* a form that the pass does not recognise */
    expect_slice("for (i32 p = 8; p < k; p += 16)", "B[p +: 16]", 16, false);
    expect_slice("for (i32 p = -16; p < k; p += 16)", "B[p +: 16]", 16, false);
    expect_slice("for (i32 p = 0; p < k; p += 32)", "B[p +: 16]", 16,
                 false); /* p + 32 might wrap */
    expect_slice("for (i32 p = 0; p < k; p += 16) { p += 1;",
                 "B[p +: 16]); } C[0 +: 1] = sum(A[0 +: 1]", 16, false);
    expect_slice("for (i32 p = 0; p < k && p < m; p += 16)", "B[p +: 16]", 16, true);
    expect_slice("for (i32 p = 0; p < min(k, m); p += 16)", "B[p +: 16]", 16, true);
    expect_slice("for (i32 p = 0; p < n; p += 16)", "D[p +: 16]", 0, true);
    expect_slice("for (i32 p = 0; p < n; p += 24)", "D[p +: 16]", 0, true); /* 0, 24, 48 */
    expect_slice("for (i32 p = 0; p < n; p += 24)", "D[p +: 17]", 0, false);
    expect_slice("for (i32 p = 0; p < n; p += 20)", "D[p +: 16]", 0, false); /* 60 + 16 */
    expect_slice("for (i64 p = 0; p < k; p += 16)", "B[p +: 16]", 16, true);
    expect_slice("for (i64 p = 0; p < k; p++)", "B[p +: 1]", 0, true);
    expect_slice("for (i32 p = 0; p < k; p += 16) { i32 q = p;",
                 "B[q +: 16]); } C[0 +: 1] = sum(A[0 +: 1]", 16, true);
    expect_slice("for (i32 p = block.x * 16; p < k; p += 16)", "B[p +: 16]", 16, true);
    expect_slice("for (i32 p = 48; p >= 0; p -= 16)", "D[p +: 16]", 0, true);
    expect_slice("for (i32 p = 48; p >= 0; p -= 16)", "D[p + 1 +: 16]", 0, false);
    expect_slice("i32 q = 0; for (i32 p = 0; p < k; p += 16) q = 48 - q;", "D[q +: 16]", 0, true);
    /* The condition runs once more than the body. */
    expect_slice("for (i32 p = 0; p < k && sum(B[p +: 16]) > 0; p += 16)", "B[0 +: 1]", 16, false);
}

/* --- plan --- */

/* Prints the planned kernel of these statements. */
static void plan(struct program *p, char *text, size_t size, const char *statements)
{
    snprintf(text, size,
             "kernel f(i32 m, const f32 *a, f32 *c) grid(1) warps(1)\n{\n"
             "global f32 A[m] = a, C[m] = c;\n%s\n}\n",
             statements);
    program_open(p, text);
    if (!program_check(p, 0))
        fail_msg("%s\n%s", text, program_messages(p));
    program_pass(p, "plan");
}

static void expect_plan(const char *statements, const char *expected)
{
    char text[4096];
    struct program p = {.statics = 64};
    plan(&p, text, sizeof text, statements);
    assert_string_equal(p.diag.errors ? program_messages(&p) : body_of(&p, 2), expected);
    program_free(&p);
}

static void test_plan_scopes(void **state)
{
    (void)state;
    /* Both alive at once: next to each other, at multiples of 128. */
    expect_plan("shared f32 s[8] = 1.0, t[8] = 2.0; sync(); C[0 +: 8] = s + t;",
                "    shared f32 s[8] at(0) = 1.0;\n"
                "    shared f32 t[8] at(128) = 2.0;\n"
                "    sync();\n"
                "    C[0 +: 8] = s + t;\n");
    /* One after the other, with the program's barrier in between. */
    expect_plan("{ shared f32 s[8] = 1.0; sync(); C[0 +: 8] = s; }\n"
                "sync();\n"
                "{ shared f32 t[8] = 1.0; sync(); C[0 +: 8] = t; }",
                "    {\n"
                "        shared f32 s[8] at(0) = 1.0;\n"
                "        sync();\n"
                "        C[0 +: 8] = s;\n"
                "    }\n"
                "    sync();\n"
                "    {\n"
                "        shared f32 t[8] at(0) = 1.0;\n"
                "        sync();\n"
                "        C[0 +: 8] = t;\n"
                "    }\n");
    /* Without a barrier, the pass adds one. */
    expect_plan("{ shared f32 s[8] = 1.0; sync(); C[0 +: 8] = s; }\n"
                "shared f32 t[16] = 1.0;",
                "    {\n"
                "        shared f32 s[8] at(0) = 1.0;\n"
                "        sync();\n"
                "        C[0 +: 8] = s;\n"
                "    }\n"
                "    sync() added;\n"
                "    shared f32 t[16] at(0) = 1.0;\n");
    /* A life that ends early. */
    expect_plan(
        "shared f32 s[8] = 1.0; sync(); C[0 +: 8] = s; sync(); free(s); shared f32 t[8] = 1.0;",
        "    shared f32 s[8] at(0) = 1.0;\n"
        "    sync();\n"
        "    C[0 +: 8] = s;\n"
        "    sync();\n"
        "    free(s);\n"
        "    shared f32 t[8] at(0) = 1.0;\n");
}

static void test_plan_loops(void **state)
{
    (void)state;
    /* Around the loop as well: t of one iteration, s of the next. */
    expect_plan("for (i32 p = 0; p < 8; p++) {\n"
                "  { shared f32 s[8] = 1.0; sync(); C[0 +: 8] = s; }\n"
                "  sync();\n"
                "  { shared f32 t[8] = 1.0; sync(); C[0 +: 8] = t; }\n"
                "}",
                "    for (i32 p = 0; p < 8; p += 1) {\n"
                "        {\n"
                "            sync() added;\n"
                "            shared f32 s[8] at(0) = 1.0;\n"
                "            sync();\n"
                "            C[0 +: 8] = s;\n"
                "        }\n"
                "        sync();\n"
                "        {\n"
                "            shared f32 t[8] at(0) = 1.0;\n"
                "            sync();\n"
                "            C[0 +: 8] = t;\n"
                "        }\n"
                "    }\n");
    /* The barrier may be skipped. */
    expect_plan("for (i32 p = 0; p < 8; p++) {\n"
                "  shared f32 s[8] = 1.0; sync(); C[0 +: 8] = s; if (p == m) break; sync();\n"
                "}\n"
                "shared f32 t[8] = 1.0;",
                "    for (i32 p = 0; p < 8; p += 1) {\n"
                "        shared f32 s[8] at(0) = 1.0;\n"
                "        sync();\n"
                "        C[0 +: 8] = s;\n"
                "        if (p == m) {\n"
                "            break;\n"
                "        }\n"
                "        sync();\n"
                "    }\n"
                "    sync() added;\n"
                "    shared f32 t[8] at(0) = 1.0;\n");
    /* In a pipeline no barrier is added inside; it comes before the loop. */
    expect_plan("{ shared f32 s[8] = 1.0; sync(); C[0 +: 8] = s; }\n"
                "pipeline(2) for (i32 p = 0; p < 8; p++) {\n"
                "  shared f32 t[8] = A[p +: 8], u[8] = A[p +: 8]; C[0 +: 8] = t;\n"
                "}\n",
                "    {\n"
                "        shared f32 s[8] at(0) = 1.0;\n"
                "        sync();\n"
                "        C[0 +: 8] = s;\n"
                "    }\n"
                "    sync() added;\n"
                "    pipeline(2) for (i32 p = 0; p < 8; p += 1) {\n"
                "        shared f32 t[8] at(0) = A[p +: 8];\n"
                "        shared f32 u[8] at(128) = A[p +: 8];\n"
                "        C[0 +: 8] = t;\n"
                "    }\n");
}

/* The condition of a loop is evaluated once more after its last iteration. */
static void test_plan_conditions(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{ shared f32 s[8] = 1.0; sync(); while (s[0] > 0.0) { sync(); s = s - 1.0; sync(); } }\n"
        "{ shared f32 t[8] = 2.0; sync(); C[0 +: 8] = t; }",
        "f32 x = 0.0; { shared f32 s[8] = 1.0; sync(); do { x += 1.0; sync(); } while (x < s[0]); "
        "}\n"
        "{ shared f32 t[8] = 2.0; sync(); C[0 +: 8] = t; }",
        "shared f32 s[8] = 1.0; sync();\n"
        "for (i32 i = 0; i < 4 && s[i] > 0.0; i++) sync();\n"
        "free(s); shared f32 t[8] = 2.0; sync(); C[0 +: 8] = t;",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[4096];
        struct program p = {.statics = 64};
        struct text printed;
        plan(&p, text, sizeof text, texts[i]);
        text_init(&printed, &p.arena);
        kernel_print(&printed, p.kernel);
        const char *added = strstr(printed.data, "sync() added;");
        assert_non_null(added);
        assert_non_null(strstr(added, "shared f32 t[8] at(0)"));
        program_free(&p);
    }
}

static void test_plan_copies_under_way(void **state)
{
    (void)state;
    /* The copy is waited for, and there is a barrier. */
    expect_plan(
        "{ shared f32 s[8]; async s = A[0 +: 8]; async_wait(0); sync(); C[0 +: 8] = s; sync(); }\n"
        "shared f32 t[8] = 1.0;",
        "    {\n"
        "        shared f32 s[8] at(0);\n"
        "        async s = A[0 +: 8];\n"
        "        async_wait(0);\n"
        "        sync();\n"
        "        C[0 +: 8] = s;\n"
        "        sync();\n"
        "    }\n"
        "    shared f32 t[8] at(0) = 1.0;\n");
    /* The copy may not have completed: the tiles stay apart. */
    expect_plan("{ shared f32 s[8]; async s = A[0 +: 8]; async_commit(); async_wait(1); sync(); }\n"
                "shared f32 t[8] = 1.0;",
                "    {\n"
                "        shared f32 s[8] at(0);\n"
                "        async s = A[0 +: 8];\n"
                "        async_commit();\n"
                "        async_wait(1);\n"
                "        sync();\n"
                "    }\n"
                "    shared f32 t[8] at(128) = 1.0;\n");
}

static void test_plan_fixed(void **state)
{
    (void)state;
    expect_plan("shared f32 s[8] at(128) = 1.0; shared f32 t[16] = 2.0, u[64] = 3.0;",
                "    shared f32 s[8] at(128) = 1.0;\n"
                "    shared f32 t[16] at(0) = 2.0;\n"
                "    shared f32 u[64] at(256) = 3.0;\n");
    expect_plan("shared f32 s[8] at(128) = 1.0;\n"
                "shared f32 t[8] at(132) = 1.0;\n",
                "5: error: `t` lies on bytes of `s`, which is still alive"
                " | 4: `s` takes the bytes from 128 to 159"
                " | 5: without `at(…)` the compiler finds a place for it\n");
}

/* If not all threads come there, no barrier is added: the tiles stay apart. */
static void test_plan_varying(void **state)
{
    (void)state;
    expect_after("plan", THREADS,
                 "{ shared f32 s[8]; s[thread.x] = 1.0; }\n"
                 "if (thread.x < 3) { shared f32 t[8]; t[thread.x] = 2.0; }\n"
                 "{ shared f32 u[8]; u[thread.x] = 1.0; }\n",
                 0,
                 "    {\n"
                 "        shared f32 s[8] at(0);\n"
                 "        s[thread.x] = 1.0;\n"
                 "    }\n"
                 "    sync() added;\n"
                 "    if (thread.x < 3) {\n"
                 "        shared f32 t[8] at(0);\n"
                 "        t[thread.x] = 2.0;\n"
                 "    }\n"
                 "    {\n"
                 "        sync() added;\n"
                 "        shared f32 u[8] at(0);\n"
                 "        u[thread.x] = 1.0;\n"
                 "    }\n");
    expect_after("plan", THREADS,
                 "if (thread.x < 3) { { shared f32 s[8]; s[thread.x] = 1.0; }\n"
                 "{ shared f32 t[8]; t[thread.x] = 2.0; } }\n",
                 0,
                 "    if (thread.x < 3) {\n"
                 "        {\n"
                 "            shared f32 s[8] at(0);\n"
                 "            s[thread.x] = 1.0;\n"
                 "        }\n"
                 "        {\n"
                 "            shared f32 t[8] at(128);\n"
                 "            t[thread.x] = 2.0;\n"
                 "        }\n"
                 "    }\n");
}

/* --- products --- */

/* Checks the first product that is marked after `statements`; "": none is. */
static void expect_product(const char *statements, const char *expected)
{
    char text[4096];
    struct program p = {.statics = 64};
    snprintf(text, sizeof text,
             "kernel f(i32 m, static i32 n, i32 k, const f32 *a, f32 *c) grid(m) threads(8, 4)\n{\n"
             "%sshared f32 s[16][16]; shared f16 h[16][16]; shared i32 g[16];\n"
             "i32 x = thread.x, y = thread.y, o = 0; f32 t = 0, v[4] = 0, w[4] = 0;\n%s\n"
             "o += 1; C[o][0] = t + v[1] + w[1];\n}\n",
             VIEWS, statements);
    program_open(&p, text);
    if (!program_check(&p, 0) || !program_pass(&p, "variance") || !program_pass(&p, "contract") ||
        !program_pass(&p, "fold") || !program_pass(&p, "products"))
        fail_msg("%s\n%s", text, program_messages(&p));
    const char *found = strstr(program_text(&p), "// product: ");
    const char *product = found ? found + strlen("// product: ") : "";
    product = arena_string(&p.arena, product, strcspn(product, "\n"));
    if (strcmp(product, expected) != 0)
        fail_msg("%s\nis marked `%s`, expected `%s`", statements, product, expected);
    program_free(&p);
}

/* Each condition of a mark: loops that meet it, and a twin that does not. */
static void test_products(void **state)
{
    static const struct {
        const char *loops, *product;
    } cases[] = {
        /* the sum */
        {"for (i32 p = 0; p < k; p++) t += s[y][p] * s[p][x];", "t += s[y][p] * s[p][x], over p"},
        {"for (i32 p = 0; p < k; p++) t -= s[y][p] * s[p][x];", ""},
        {"for (i32 p = 0; p < k; p++) t += s[y][p] / s[p][x];", ""},
        {"for (i32 p = 0; p < k; p++) t = v[0] + s[y][p] * s[p][x];", ""},
        {"for (i32 p = 0; p < k; p++) t += s[y][p] * t;", ""},
        {"for (i32 p = 0; p < k; p++) o += g[p] * g[x];", "o += g[p] * g[x], over p"},
        {"for (i32 p = 0; p < k; p++) s[y][x] += s[y][p] * s[p][x];", ""},
        /* several sums: none reads another one's target */
        {"for (i32 p = 0; p < 4; p++) { t += s[y][p] * 2.0; v[p] += s[p][x] * s[y][p]; }",
         "t += s[y][p] * 2.0, over p"},
        {"for (i32 p = 0; p < 4; p++) { t += s[y][p] * 2.0; v[p] += t * s[y][p]; }", ""},
        {"for (i32 p = 0; p < 4; p++) { v[0] += s[y][p] * 2.0; v[p] += s[p][x] * s[y][p]; }", ""},
        /* the loops */
        {"for (i32 p = 1; 9 >= p; p += 2) t += s[y][p] * s[p][x];",
         "t += s[y][p] * s[p][x], over p"},
        {"for (i32 p = 9; p > 0; p--) t += s[y][p] * s[p][x];", ""},
        {"for (i32 p = 0; p < o; p++) { t += s[y][p] * s[p][x]; }",
         "t += s[y][p] * s[p][x], over p"},
        {"for (i32 p = 0; p < o; p++) { o += g[p] * g[x]; }", ""},
        {"for (i32 p = 0; p < 8; p++) { t += s[y][p] * s[p][x]; if (t > 9.0) break; }", ""},
        {"for (i32 p = 0; p < 8; p++) for (i32 q = 0; q < p; q++) t += s[y][p] * s[q][x];",
         "t += s[y][p] * s[q][x], over q"}, /* the inner loop alone */
        /* indices */
        {"for (i32 p = 0; p < 8; p++) t += s[y][3 - 2 * p] * A[m / 2][x];",
         "t += s[y][3 - 2 * p] * A[m / 2][x], over p"},
        {"for (i32 p = 0; p < 8; p++) t += s[y][p * p] * s[p][x];", ""},
        {"for (i32 p = 0; p < 8; p++) t += s[y][p] * A[m / k][x];", ""},
        {"for (i32 p = 0; p < 8; p++) t += s[y][p] * s[g[x]][p];", ""},
        /* conversions */
        {"for (i32 p = 0; p < 8; p++) t += (f32) h[y][p] * s[p][x];",
         "t += (f32) h[y][p] * s[p][x], over p"},
        {"for (i32 p = 0; p < 8; p++) t += (f32) (h[y][p] + h[x][p]) * s[p][x];", ""},
        /* variables that a turn loads */
        {"for (i32 p = 0; p < 8; p++) { f32 b = s[y][p]; t += b * s[p][x]; }",
         "t += s[y][p] * s[p][x], over p"},
        {"f32 b; for (i32 p = 0; p < 8; p++) { b = s[y][p]; t += b * s[p][x]; }",
         "t += s[y][p] * s[p][x], over p"},
        {"f32 b; for (i32 p = 0; p < 8; p++) { b = s[y][p]; t += b * s[p][x]; } w[0] = b;", ""},
        {"f32 b = 0; for (i32 p = 0; p < 8; p++) { t += b * s[p][x]; b = s[y][p]; }", ""},
        {"for (i32 p = 0; p < 8; p++) { for (i32 q = 0; q < 4; q++) w[q] = s[q][p];\n"
         "for (i32 q = 0; q < 4; q++) v[q] += w[q] * s[p][x]; } w[1] = 0;",
         "v[q_1] += w[q_1] * s[p][x], over q_1"},
        {"for (i32 p = 0; p < 8; p++) { f32 u[4]; for (i32 q = 0; q < 4; q++) u[q] = s[q][p];\n"
         "for (i32 q = 0; q < 4; q++) v[q] += u[q] * s[p][x]; }",
         "v[q_1] += s[q_1][p] * s[p][x], over p, q_1"},
        {"for (i32 p = 0; p < 8; p++) { f32 u[4]; for (i32 q = 0; q < 3; q++) u[q] = s[q][p];\n"
         "for (i32 q = 0; q < 4; q++) v[q] += u[q] * s[p][x]; }",
         "v[q_1] += u[q_1] * s[p][x], over q_1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_product(cases[i].loops, cases[i].product);
}

/* --- rows --- */

#define ROWS                                                                                       \
    "kernel f(i32 m, static i32 n, const f32 *a, f32 *c) grid(m) warps(1)\n{\n"                    \
    "global f32 A[m][n] = a, C[m][n] = c; reg f32 v[64] = A[0], w[64] = A[1]; f32 t = A[2][3];\n"

/* Checks the marks of the statements, a line each. */
static void expect_rows(const char *statements, const char *expected)
{
    char text[4096], marks[512] = "";
    struct program p = {.statics = 64};
    snprintf(text, sizeof text, ROWS "%s\nC[block.x] = w;\n}\n", statements);
    program_open(&p, text);
    if (!program_check(&p, 0) || !program_passes(&p, "rows"))
        fail_msg("%s\n%s", text, program_messages(&p));
    const char *line = program_text(&p);
    while ((line = strstr(line, "// ")) != NULL) {
        size_t used = strlen(marks), length = strcspn(line, "\n") + 1;
        snprintf(marks + used, sizeof marks - used, "%.*s", (int)length, line);
        line += length;
    }
    if (strcmp(marks, expected) != 0)
        fail_msg("%s\nmarks:\n%s\nexpected:\n%s", statements, marks, expected);
    program_free(&p);
}

/* Each condition of a mark: statements that meet it, and a twin that does not. */
static void test_rows(void **state)
{
#define SUM "// in one pass with sum(v)\n"
#define SQUARES "// in one pass with sum(v * v)\n"
#define QUOTIENTS "// quotients of powers\n"
    (void)state;
    expect_rows("v = exp(v - max(v)); C[0] = v / sum(v);", SUM QUOTIENTS);
    expect_rows("v = exp2(v - max(v)); C[0] = v / sum(v);", "");
    expect_rows("v = exp(v - w); C[0] = v / sum(v);", "");
    expect_rows("v = exp(v - t); C[0] = v / max(v);", "");
    expect_rows("v = exp(v - t); C[0] = v * sum(v);", SUM);
    expect_rows("v = exp(v - t); t = sum(v); C[0] = v / t;", SUM QUOTIENTS);
    expect_rows("v = exp(v - t); t = sum(v); v += 1.0; C[0] = v / t;", SUM);
    expect_rows("v = exp(v - t); t = sum(w); C[0] = v / t;", "");
    expect_rows("v = exp(v - t); v = v / sum(v); C[0] = v / t;", SUM);
    expect_rows("v = exp(v - t); if (t > 1.0) v = w; C[0] = v / sum(v);", "");
    /* quotients divide the powers that were computed last */
    expect_rows("v = exp(v - t); t = sum(v); w = exp(w - t); C[0] = v / t;", SUM);
    expect_rows("reg f32 u[64] = v - t; t = sum(u * u); C[0] = u / t;",
                "// in one pass with sum(u * u)\n");
    expect_rows("v = v - t; t = sum(v * v);", SQUARES);
    expect_rows("v = v - t; t = sum(v * w);", "");
    expect_rows("v = v - t; t = sum(v);", "");
    expect_rows("v = t - v; t = sum(v * v);", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_varying_values),    cmocka_unit_test(test_varying_control_flow),
        cmocka_unit_test(test_barriers_need_all), cmocka_unit_test(test_tiles_need_all),
        cmocka_unit_test(test_specialise),        cmocka_unit_test(test_fold_expressions),
        cmocka_unit_test(test_fold_statements),   cmocka_unit_test(test_contract),
        cmocka_unit_test(test_masks_of_blocks),   cmocka_unit_test(test_masks_of_loops),
        cmocka_unit_test(test_plan_scopes),       cmocka_unit_test(test_plan_loops),
        cmocka_unit_test(test_plan_conditions),   cmocka_unit_test(test_plan_copies_under_way),
        cmocka_unit_test(test_plan_fixed),        cmocka_unit_test(test_plan_varying),
        cmocka_unit_test(test_products),          cmocka_unit_test(test_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
