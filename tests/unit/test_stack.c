/* A thread that calls the library needs 256 KiB of stack, whatever the program. Long and deeply
 * nested programs, each kind at several sizes, go through every phase in such a thread. A call
 * succeeds or gives a message. The library's own stack, on which calls work, is at most half
 * used. */
#include "api/objects.h"
#include "base/platform.h"
#include "tilewright_look.h"
#include "tilewright_model.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PROMISED = 256 << 10, SIZES = 4, LONG = 1000, REFUSED = 100000 };

/* --- texts --- */

struct string {
    char *data;
    size_t length, room;
};

static void add(struct string *s, const char *format, ...)
{
    char piece[512];
    va_list args;
    va_start(args, format);
    size_t length = (size_t)vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    assert_true(length < sizeof piece);
    if (s->length + length + 1 > s->room) {
        s->room = s->room * 2 + length + 1;
        s->data = realloc(s->data, s->room);
        assert_non_null(s->data);
    }
    memcpy(s->data + s->length, piece, length + 1);
    s->length += length;
}

static void repeat(struct string *s, const char *piece, int count)
{
    for (int i = 0; i < count; i++)
        add(s, "%s", piece);
}

static const char kernel_head[] = "kernel k(i32 n, const f32 *a, f32 *c) grid(1) warps(1)\n"
                                  "{\n"
                                  "    global f32 A[n] = a, C[n] = c;\n"
                                  "    i32 i = block.x * 32;\n";

/* Writes a kernel that stores an integer: `before`, then a repeated part, then its end. */
static void around(struct string *s, const char *before, int count, const char *middle,
                   const char *after)
{
    add(s, "%s    i32 x = n;\n    i32 y = ", kernel_head);
    repeat(s, before, count);
    add(s, "%s", middle);
    repeat(s, after, count);
    add(s, ";\n    C[i +: 32] = (f32) y;\n}\n");
}

static void terms(struct string *s, int n)
{
    around(s, "n + ", n, "n", "");
}

static void nested_sum(struct string *s, int n)
{
    around(s, "(n + ", n, "n", ")");
}

static void parentheses(struct string *s, int n)
{
    around(s, "(", n, "n", ")");
}

static void prefixes(struct string *s, int n)
{
    around(s, "- ", n, "n", "");
}

static void complements(struct string *s, int n)
{
    around(s, "~", n, "n", "");
}

static void casts(struct string *s, int n)
{
    around(s, "(i32)(i64)", n, "n", "");
}

static void choices(struct string *s, int n)
{
    around(s, "n == 7 ? 1 : ", n, "n", "");
}

static void choices_first(struct string *s, int n)
{
    around(s, "n == 7 ? ", n, "n", " : 1");
}

static void calls(struct string *s, int n)
{
    around(s, "max(n, ", n, "n", ")");
}

static void all_of(struct string *s, int n)
{
    around(s, "n > 3 && ", n, "n < 5 ? 1 : 2", "");
}

static void products(struct string *s, int n)
{
    around(s, "x * x + ", n, "n", "");
}

static void float_terms(struct string *s, int n)
{
    add(s, "%s    f32 x = (f32) n;\n    C[i +: 32] = x", kernel_head);
    repeat(s, " + x", n);
    add(s, ";\n}\n");
}

static void tile_terms(struct string *s, int n)
{
    add(s, "%s    reg f32 x[32] = A[i +: 32];\n    C[i +: 32] = x", kernel_head);
    repeat(s, " + x", n);
    add(s, ";\n}\n");
}

static void loads(struct string *s, int n)
{
    add(s, "%s    C[i +: 32] = A[i +: 32]", kernel_head);
    repeat(s, " + A[i +: 32]", n);
    add(s, ";\n}\n");
}

static void nested_tiles(struct string *s, int n)
{
    add(s, "%s    reg f32 x[32] = A[i +: 32];\n    C[i +: 32] = ", kernel_head);
    repeat(s, "(x * x + ", n);
    add(s, "x");
    repeat(s, ")", n);
    add(s, ";\n}\n");
}

static void nested_functions(struct string *s, int n)
{
    add(s, "%s    reg f32 x[32] = A[i +: 32];\n    C[i +: 32] = ", kernel_head);
    repeat(s, "exp(", n);
    add(s, "x");
    repeat(s, ")", n);
    add(s, ";\n}\n");
}

static void ensured(struct string *s, int n)
{
    add(s, "%s    C[i +: 32] = A[i +: 32];\n    ensures C == A", kernel_head);
    repeat(s, " + 0 * A", n);
    add(s, ";\n}\n");
}

static void ensured_nested(struct string *s, int n)
{
    add(s, "%s    C[i +: 32] = A[i +: 32];\n    ensures C == ", kernel_head);
    repeat(s, "(A * 0 + ", n);
    add(s, "A");
    repeat(s, ")", n);
    add(s, ";\n}\n");
}

static void indices(struct string *s, int n)
{
    add(s, "kernel k(i32 n, const i32 *a, f32 *c) grid(1) warps(1)\n"
           "{\n"
           "    global i32 A[n] = a;\n    global f32 C[n] = c;\n    i32 i = block.x * 32;\n"
           "    C[i +: 32] = (f32) ");
    repeat(s, "A[", n);
    add(s, "0");
    repeat(s, "]", n);
    add(s, ";\n}\n");
}

static void constants(struct string *s, int n)
{
    add(s, "const i32 c0 = 1;\n");
    for (int i = 1; i <= n; i++)
        add(s, "const i32 c%d = c%d + 1;\n", i, i - 1);
    add(s, "%s    C[i +: 32] = (f32) c%d;\n}\n", kernel_head, n);
}

/* Writes each constant before the one that it needs. */
static void constants_backward(struct string *s, int n)
{
    for (int i = n; i > 0; i--)
        add(s, "const i32 c%d = c%d + 1;\n", i, i - 1);
    add(s, "const i32 c0 = 1;\n");
    add(s, "%s    C[i +: 32] = (f32) c%d;\n}\n", kernel_head, n);
}

static void constant_terms(struct string *s, int n)
{
    add(s, "const i32 total = 0");
    repeat(s, " + 1", n);
    add(s, ";\n%s    C[i +: 32] = (f32) total;\n}\n", kernel_head);
}

static void tuned_constants(struct string *s, int n)
{
    add(s, "tune B = {1, 2};\nconst i32 c0 = B;\n");
    for (int i = 1; i <= n; i++)
        add(s, "const i32 c%d = c%d + 1;\n", i, i - 1);
    add(s, "require(c%d > 0);\n%s    C[i +: 32] = (f32) c%d;\n}\n", n, kernel_head, n);
}

static void declarations(struct string *s, int n)
{
    add(s, "%s    i32 x0 = n;\n", kernel_head);
    for (int i = 1; i <= n; i++)
        add(s, "    i32 x%d = x%d + n;\n", i, i - 1);
    add(s, "    C[i +: 32] = (f32) x%d;\n}\n", n);
}

static void local_constants(struct string *s, int n)
{
    add(s, "%s    const i32 x0 = 1;\n", kernel_head);
    for (int i = 1; i <= n; i++)
        add(s, "    const i32 x%d = x%d + 1;\n", i, i - 1);
    add(s, "    C[i +: x%d - x%d + 31] = (f32) x%d;\n}\n", n, n - 1, n);
}

static void run_time_constants(struct string *s, int n)
{
    add(s, "%s    const i32 x0 = n;\n", kernel_head);
    for (int i = 1; i <= n; i++)
        add(s, "    const i32 x%d = x%d + n;\n", i, i - 1);
    add(s, "    C[i +: 32] = (f32) x%d;\n}\n", n);
}

static void tiles(struct string *s, int n)
{
    add(s, "%s    reg f32 x0[32] = A[i +: 32];\n", kernel_head);
    for (int i = 1; i <= n; i++)
        add(s, "    reg f32 x%d[32] = x%d + x0;\n", i, i - 1);
    add(s, "    C[i +: 32] = x%d;\n}\n", n);
}

static void assignments(struct string *s, int n)
{
    add(s, "%s    i32 x = n;\n", kernel_head);
    repeat(s, "    x = x * 3 + n;\n", n);
    add(s, "    C[i +: 32] = (f32) x;\n}\n");
}

static void tile_assignments(struct string *s, int n)
{
    add(s, "%s    reg f32 x[32] = A[i +: 32];\n", kernel_head);
    repeat(s, "    x = x * 3 + x;\n", n);
    add(s, "    C[i +: 32] = x;\n}\n");
}

static void shared_copies(struct string *s, int n)
{
    add(s, "%s    shared f32 x[32];\n    x = A[i +: 32];\n", kernel_head);
    repeat(s, "    sync();\n    x += 1;\n", n);
    add(s, "    sync();\n    C[i +: 32] = x;\n}\n");
}

static void index_declarations(struct string *s, int n)
{
    add(s, "%s    i32 x0 = i;\n", kernel_head);
    for (int i = 1; i <= n; i++)
        add(s, "    i32 x%d = x%d + 32;\n", i, i - 1);
    add(s, "    C[x%d +: 32] = 0;\n}\n", n);
}

static void nested_in(struct string *s, const char *open, int n, const char *close)
{
    add(s, "%s    i32 x = n;\n", kernel_head);
    repeat(s, open, n);
    add(s, " x += 1; ");
    repeat(s, close, n);
    add(s, "\n    C[i +: 32] = (f32) x;\n}\n");
}

static void ifs(struct string *s, int n)
{
    nested_in(s, "if (n > 3) {", n, "}");
}

static void bare_ifs(struct string *s, int n)
{
    nested_in(s, "if (n > 3) ", n, "");
}

static void blocks(struct string *s, int n)
{
    nested_in(s, "{", n, "}");
}

static void nested_loops(struct string *s, int n)
{
    nested_in(s, "for (i32 q = 0; q < 1; q++) {", n, "}");
}

static void whiles(struct string *s, int n)
{
    nested_in(s, "do {", n, "} while (x < 0);");
}

static void else_ifs(struct string *s, int n)
{
    add(s, "%s    i32 x = n;\n    ", kernel_head);
    for (int i = 0; i < n; i++)
        add(s, "if (n == %d) x = %d; else ", i, i);
    add(s, "x = 3;\n    C[i +: 32] = (f32) x;\n}\n");
}

static void many_ifs(struct string *s, int n)
{
    add(s, "%s    i32 x = n;\n", kernel_head);
    for (int i = 0; i < n; i++)
        add(s, "    if (n == %d) x = %d;\n", i, i);
    add(s, "    C[i +: 32] = (f32) x;\n}\n");
}

static void many_loops(struct string *s, int n)
{
    add(s, "%s    i32 x = n;\n", kernel_head);
    for (int i = 0; i < n; i++)
        add(s, "    for (i32 q = 0; q < n; q++) x += q;\n");
    add(s, "    C[i +: 32] = (f32) x;\n}\n");
}

static void functions(struct string *s, int n)
{
    add(s, "fn i32 g0(i32 x) { return x + 1; }\n");
    for (int i = 1; i <= n; i++)
        add(s, "fn i32 g%d(i32 x) { return g%d(x + 1); }\n", i, i - 1);
    add(s, "%s    C[i +: 32] = (f32) g%d(n);\n}\n", kernel_head, n);
}

static void nested_inlining(struct string *s, int n)
{
    add(s, "fn i32 f(i32 x) { return x + 1; }\n%s    C[i +: 32] = (f32) ", kernel_head);
    repeat(s, "f(", n);
    add(s, "n");
    repeat(s, ")", n);
    add(s, ";\n}\n");
}

static void deep_functions(struct string *s, int n)
{
    add(s, "fn i32 g0(i32 x) { return x + 1; }\n");
    for (int i = 1; i <= 60; i++) {
        add(s, "fn i32 g%d(i32 x) { i32 y = ", i);
        repeat(s, "(x + ", n);
        add(s, "g%d(x)", i - 1);
        repeat(s, ")", n);
        add(s, "; return y; }\n");
    }
    add(s, "%s    C[i +: 32] = (f32) g60(n);\n}\n", kernel_head);
}

static void deep_shapes(struct string *s, int n)
{
    add(s, "fn reg f32[4][8] g0(reg f32 x[4][8]) { return x; }\n");
    for (int i = 1; i <= 60; i++) {
        add(s, "fn reg f32[4][8] g%d(reg f32 x[4][8]) { return ", i);
        repeat(s, "trans(trans(", n);
        add(s, "g%d(x)", i - 1);
        repeat(s, "))", n);
        add(s, "; }\n");
    }
    add(s,
        "%s    reg f32 x[32] = A[i +: 32];\n    C[i +: 32] = reshape(g60(reshape(x, 4, 8)), 32);\n"
        "}\n",
        kernel_head);
}

static void deep_statements(struct string *s, int n)
{
    add(s, "fn i32 g0(i32 x) { return x + 1; }\n");
    for (int i = 1; i <= 60; i++) {
        add(s, "fn i32 g%d(i32 x) { i32 y = x; ", i);
        repeat(s, "if (y > x - 1) { ", n);
        add(s, "y = g%d(x);", i - 1);
        repeat(s, "}", n);
        add(s, " return y; }\n");
    }
    add(s, "%s    C[i +: 32] = (f32) g60(n);\n}\n", kernel_head);
}

static void typeofs(struct string *s, int n)
{
    add(s, "%s    i32 x = n;\n    ", kernel_head);
    repeat(s, "typeof((", n);
    add(s, "i32");
    repeat(s, ") x)", n);
    add(s, " y = x;\n    C[i +: 32] = (f32) y;\n}\n");
}

static void results(struct string *s, int n)
{
    add(s, "fn ");
    repeat(s, "(", n);
    add(s, "i32");
    repeat(s, ")", n);
    add(s, " f(i32 x) { return x; }\n%s    C[i +: 32] = (f32) f(n);\n}\n", kernel_head);
}

static void extents(struct string *s, int n)
{
    add(s, "kernel k(i32 n, const f32 *a, f32 *c) grid(cdiv(n, 32)) warps(1)\n"
           "{\n    global f32 A[n");
    repeat(s, " + n - n", n);
    add(s, "] = a, C[n] = c;\n    i32 i = block.x * 32;\n    C[i +: 32] = A[i +: 32];\n}\n");
}

static void strides(struct string *s, int n)
{
    add(s, "kernel k(i32 n, const f32 *a, f32 *c) grid(1) warps(1)\n"
           "{\n    global f32 A[n] strides(1");
    repeat(s, " + n - n", n);
    add(s, ") = a, C[n] = c;\n    i32 i = 0;\n    C[i +: 32] = A[i +: 32];\n}\n");
}

static void offsets(struct string *s, int n)
{
    add(s, "kernel k(i32 n, const f32 *a, f32 *c) grid(1) warps(1)\n{\n    global f32 A[n] = a");
    repeat(s, " + 0 * n", n);
    add(s, ", C[n] = c;\n    i32 i = 0;\n    C[i +: 32] = A[i +: 32];\n}\n");
}

static void constant_extents(struct string *s, int n)
{
    add(s, "kernel k(i32 n, const f32 *a, f32 *c) grid(1) warps(1)\n{\n    const i32 x0 = n;\n");
    for (int i = 1; i <= n; i++)
        add(s, "    const i32 x%d = x%d + 0 * n;\n", i, i - 1);
    add(s,
        "    global f32 A[x%d] = a, C[n] = c;\n    i32 i = 0;\n    C[i +: 32] = A[i +: 32];\n}\n",
        n);
}

static void grids(struct string *s, int n)
{
    add(s, "kernel k(i32 n, const f32 *a, f32 *c) grid(cdiv(n");
    repeat(s, " + n - n", n);
    add(s, ", 32)) warps(1)\n{\n"
           "    global f32 A[n] = a, C[n] = c;\n    i32 i = block.x * 32;\n"
           "    C[i +: 32] = A[i +: 32];\n}\n");
}

static void loop_conditions(struct string *s, int n)
{
    add(s, "%s    i32 x = n;\n    while (x < n", kernel_head);
    repeat(s, " + x - x", n);
    add(s, ") x++;\n    C[i +: 32] = (f32) x;\n}\n");
}

static void requirements(struct string *s, int n)
{
    add(s, "tune B = {1, 2};\nrequire(B == 1");
    repeat(s, " || B == 2", n);
    add(s, ");\n%s    C[i +: 32] = (f32) B;\n}\n", kernel_head);
}

static void pipelines(struct string *s, int n)
{
    add(s,
        "%s    reg f32 x[32] = 0;\n    pipeline(2) for (i32 p = 0; p < n; p += 32) {\n"
        "        shared f32 sa[32];\n        sa = A[p",
        kernel_head);
    repeat(s, " + p - p", n);
    add(s, " +: 32];\n        x += sa;\n    }\n    C[i +: 32] = x;\n}\n");
}

struct kind {
    const char *name;
    void (*write)(struct string *s, int n);
    int sizes[SIZES]; /* 0: no more */
};

static const struct kind kinds[] = {
    {"terms", terms, {900, 10000, 100000}},
    {"nested_sum", nested_sum, {240, 1000, 100000}},
    {"parentheses", parentheses, {240, 1000, 100000}},
    {"prefixes", prefixes, {240, 1000, 100000}},
    {"complements", complements, {240, 1000, 100000}},
    {"casts", casts, {120, 1000, 100000}},
    {"choices", choices, {240, 1000, 100000}},
    {"choices_first", choices_first, {240, 1000, 100000}},
    {"calls", calls, {240, 1000, 100000}},
    {"all_of", all_of, {900, 10000, 100000}},
    {"products", products, {900, 10000, 100000}},
    {"float_terms", float_terms, {900, 10000, 100000}},
    {"tile_terms", tile_terms, {900, 10000, 100000}},
    {"loads", loads, {900, 3000}},
    {"nested_tiles", nested_tiles, {240, 1000, 100000}},
    {"nested_functions", nested_functions, {240, 1000, 100000}},
    {"ensured", ensured, {450, 5000, 100000}},
    {"ensured_nested", ensured_nested, {240, 1000, 100000}},
    {"indices", indices, {240, 1000, 100000}},
    {"constants", constants, {2000, 10000}},
    {"constants_backward", constants_backward, {2000, 10000}},
    {"constant_terms", constant_terms, {900, 10000, 100000}},
    {"tuned_constants", tuned_constants, {2000, 10000}},
    {"declarations", declarations, {2000, 10000}},
    {"local_constants", local_constants, {2000, 10000}},
    {"run_time_constants", run_time_constants, {2000, 10000}},
    {"tiles", tiles, {500, 2000}},
    {"assignments", assignments, {2000, 10000}},
    {"tile_assignments", tile_assignments, {2000, 10000}},
    {"shared_copies", shared_copies, {500, 2000}},
    {"index_declarations", index_declarations, {2000, 10000}},
    {"ifs", ifs, {100, 200, 1000, 100000}},
    {"bare_ifs", bare_ifs, {100, 240, 1000, 100000}},
    {"blocks", blocks, {100, 240, 1000, 100000}},
    {"nested_loops", nested_loops, {60, 120, 1000, 100000}},
    {"whiles", whiles, {60, 120, 1000, 100000}},
    {"else_ifs", else_ifs, {200, 1000, 5000, 100000}},
    {"many_ifs", many_ifs, {2000}},
    {"many_loops", many_loops, {1000}},
    {"functions", functions, {60, 300}},
    {"nested_inlining", nested_inlining, {200, 1000, 100000}},
    {"deep_functions", deep_functions, {16, 200}},
    {"deep_shapes", deep_shapes, {8, 60, 100}},
    {"deep_statements", deep_statements, {8, 60, 100}},
    {"typeofs", typeofs, {100, 1000, 100000}},
    {"results", results, {100, 1000, 100000}},
    {"extents", extents, {140, 450, 2500, 100000}},
    {"grids", grids, {140, 450, 2500, 100000}},
    {"strides", strides, {140, 450, 2500, 100000}},
    {"offsets", offsets, {140, 450, 2500, 100000}},
    {"constant_extents", constant_extents, {140, 2500}},
    {"loop_conditions", loop_conditions, {450, 5000, 100000}},
    {"requirements", requirements, {450, 5000, 100000}},
    {"pipelines", pipelines, {450, 5000}},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* --- PTX --- */

static const char ptx_head[] = ".version 8.0\n.target sm_90\n.address_size 64\n";
static const char ptx_entry[] =
    ".visible .entry k()\n{\n    .reg .u32 %r<9>;\n    .reg .pred %p<2>;\n"
    "    mov.u32 %r1, %tid.x;\n    mov.u32 %r2, 0;\n";

static void ptx_body(struct string *s, const char *before, int n, const char *middle,
                     const char *after)
{
    add(s, "%s%s", ptx_head, ptx_entry);
    repeat(s, before, n);
    add(s, "%s", middle);
    repeat(s, after, n);
    add(s, "    ret;\n}\n");
}

static void ptx_braces(struct string *s, int n)
{
    ptx_body(s, "{\n", n, "    add.u32 %r2, %r2, 1;\n", "}\n");
}

static void ptx_parentheses(struct string *s, int n)
{
    add(s, "%s%s    mov.u32 %%r3, ", ptx_head, ptx_entry);
    repeat(s, "(1 + ", n);
    add(s, "2");
    repeat(s, ")", n);
    add(s, ";\n    ret;\n}\n");
}

static void ptx_signs(struct string *s, int n)
{
    add(s, "%s.global .s32 g = ", ptx_head);
    repeat(s, "-", n);
    add(s, "2;\n%s    ret;\n}\n", ptx_entry);
}

static void ptx_questions(struct string *s, int n)
{
    add(s, "%s.global .s32 g = ", ptx_head);
    repeat(s, "1 ? 2 : ", n);
    add(s, "3;\n%s    ret;\n}\n", ptx_entry);
}

static void ptx_constant_sum(struct string *s, int n)
{
    add(s, "%s.global .s32 g = 1", ptx_head);
    repeat(s, " + 1", n);
    add(s, ";\n%s    ret;\n}\n", ptx_entry);
}

static void ptx_initial(struct string *s, int n)
{
    add(s, "%s.global .u32 g[1] = ", ptx_head);
    repeat(s, "{", n);
    add(s, "3");
    repeat(s, "}", n);
    add(s, ";\n%s    ret;\n}\n", ptx_entry);
}

static void ptx_vectors(struct string *s, int n)
{
    add(s, "%s%s    mov.b64 %%rd1, ", ptx_head, ptx_entry);
    repeat(s, "{", n);
    add(s, "%%r1, %%r2");
    repeat(s, "}", n);
    add(s, ";\n    ret;\n}\n");
}

static void ptx_branches(struct string *s, int n)
{
    add(s, "%s%s", ptx_head, ptx_entry);
    for (int i = 0; i < n; i++)
        add(s,
            "    setp.eq.u32 %%p1, %%r1, %d;\n    @%%p1 bra L%d;\n    add.u32 %%r2, %%r2, "
            "1;\nL%d:\n",
            i % 32, i, i);
    add(s, "    ret;\n}\n");
}

/* Each branches into the next one, which ends after it. */
static void ptx_nested_branches(struct string *s, int n)
{
    add(s, "%s%s", ptx_head, ptx_entry);
    for (int i = 0; i < n; i++)
        add(s, "    setp.eq.u32 %%p1, %%r1, %d;\n    @%%p1 bra L%d;\n", i % 32, i);
    for (int i = n; i-- > 0;)
        add(s, "    add.u32 %%r2, %%r2, 1;\nL%d:\n", i);
    add(s, "    ret;\n}\n");
}

static void ptx_calls(struct string *s, int n)
{
    add(s, "%s.func f0()\n{\n    ret;\n}\n", ptx_head);
    for (int i = 1; i <= n; i++)
        add(s, ".func f%d()\n{\n    call.uni f%d;\n    ret;\n}\n", i, i - 1);
    add(s, "%s    call.uni f%d;\n    ret;\n}\n", ptx_entry, n);
}

static void ptx_recursion(struct string *s, int n)
{
    (void)n;
    add(s,
        "%s.func f()\n{\n    .reg .u32 %%r<4>;\n    mov.u32 %%r1, 1;\n    call f;\n    ret;\n}\n",
        ptx_head);
    add(s, "%s    call f;\n    ret;\n}\n", ptx_entry);
}

static const struct kind ptx_kinds[] = {
    {"ptx_braces", ptx_braces, {60, 1000, 100000}},
    {"ptx_parentheses", ptx_parentheses, {60, 1000, 100000}},
    {"ptx_signs", ptx_signs, {60, 1000, 100000}},
    {"ptx_questions", ptx_questions, {60, 1000, 100000}},
    {"ptx_constant_sum", ptx_constant_sum, {60, 1000, 100000}},
    {"ptx_initial", ptx_initial, {1, 1000, 100000}},
    {"ptx_vectors", ptx_vectors, {1, 1000, 100000}},
    {"ptx_branches", ptx_branches, {60, 1000, 10000}},
    {"ptx_nested_branches", ptx_nested_branches, {60, 1000, 10000}},
    {"ptx_calls", ptx_calls, {60, 1000, 10000}},
    {"ptx_recursion", ptx_recursion, {1}},
};
enum { PTX_KINDS = sizeof ptx_kinds / sizeof *ptx_kinds };

/* --- phases --- */

struct work {
    const struct kind *kind;
    const char *text;
    size_t length;
    bool compiled; /* for the CPU */
    size_t used;   /* bytes of the library's own stack */
    char wrong[400];
};

/* Returns true if the call succeeded; a refusal must have a message. */
static bool went(struct work *w, tw_context *ctx, const char *call, tw_status status)
{
    size_t used = platform_stack_used(ctx->stack);
    w->used = used > w->used ? used : w->used;
    if (status != TW_OK && !tw_context_messages(ctx)[0])
        snprintf(w->wrong, sizeof w->wrong, "%s: %s without words", call, tw_status_name(status));
    if (status == TW_NO_MEMORY || status == TW_NOT_FOUND)
        snprintf(w->wrong, sizeof w->wrong, "%s: %s", call, tw_context_messages(ctx));
    return status == TW_OK;
}

enum { LENGTH = 64 };

static void give(tw_launch *l, float *a, float *c)
{
    tw_array in = {.size = sizeof in, .data = a, .dtype = TW_F32, .rank = 1, .shape = {LENGTH}},
             out = in;
    int32_t *whole = (int32_t *)a;
    if (tw_launch_array(l, "a", &in) != TW_OK) {
        in.dtype = TW_I32;
        for (int i = 0; i < LENGTH; i++)
            whole[i] = i;
        tw_launch_array(l, "a", &in);
    }
    out.data = c;
    tw_launch_array(l, "c", &out);
    tw_launch_set(l, "n", tw_int(LENGTH));
}

static void on_cpu(struct work *w, tw_context *ctx, tw_kernel *k)
{
    static _Thread_local float a[LENGTH], c[LENGTH];
    tw_launch *l;
    tw_entry *e;
    const char *text;
    if (!went(w, ctx, "tw_launch_new", tw_launch_new(k, &l)))
        return;
    give(l, a, c);
    went(w, ctx, "tw_launch_check", tw_launch_check(l));
    if (went(w, ctx, "tw_launch_show check", tw_launch_show(l, "check", &text))) {
        tw_module *again = NULL;
        went(w, ctx, "shown", tw_module_from_text(ctx, "shown", text, strlen(text), &again));
        tw_module_free(again);
    }
    went(w, ctx, "tw_launch_show", tw_launch_show(l, NULL, &text));
    w->compiled = went(w, ctx, "tw_launch_run", tw_launch_run(l));
    went(w, ctx, "tw_launch_verify", tw_launch_verify(l, NULL));
    if (w->compiled && went(w, ctx, "tw_entry_new", tw_entry_new(l, &e))) {
        tw_value args[] = {tw_int(LENGTH), tw_pointer(a), tw_pointer(c)};
        if (tw_entry_start(e, args, 3, NULL, NULL) != TW_OK)
            snprintf(w->wrong, sizeof w->wrong, "tw_entry_start");
        tw_entry_free(e);
    }
    tw_launch_free(l);
}

static void on_gpu(struct work *w, tw_context *ctx, tw_kernel *k, const char *target)
{
    static _Thread_local float a[LENGTH], c[LENGTH];
    tw_launch *l;
    tw_build *b;
    const char *text;
    if (!went(w, ctx, "tw_kernel_for_target", tw_kernel_for_target(k, target, &k)) ||
        !went(w, ctx, "tw_launch_new", tw_launch_new(k, &l)))
        return;
    give(l, a, c);
    went(w, ctx, "layout", tw_launch_show_stage(l, TW_STAGE_LAYOUT, &text));
    if (went(w, ctx, "ptx", tw_launch_show_stage(l, TW_STAGE_PTX, &text))) {
        tw_ptx *p;
        if (went(w, ctx, "tw_ptx_from_text", tw_ptx_from_text(ctx, "k", text, strlen(text), &p)))
            tw_ptx_free(p);
    }
    went(w, ctx, "tw_launch_simulate",
         tw_launch_simulate(
             l, &(tw_sim_options){.size = sizeof(tw_sim_options), .watch = TW_WATCH_ALL}, NULL));
    tw_explanation explained = tw_explanation_init();
    went(w, ctx, "tw_launch_explain", tw_launch_explain(l, NULL, &explained));
    if (went(w, ctx, "tw_build_new", tw_build_new(ctx, "built", &b))) {
        const char *header, *source;
        if (went(w, ctx, "tw_build_add", tw_build_add(b, l, NULL)))
            went(w, ctx, "tw_build_texts", tw_build_texts(b, &header, &source));
        tw_build_free(b);
    }
    tw_launch_free(l);
}

static void *all_phases(void *user)
{
    struct work *w = user;
    tw_context *ctx;
    tw_module *m;
    tw_config config = {.size = sizeof config, .threads = 2, .cache = ""};
    if (tw_context_new(&config, &ctx) != TW_OK) {
        snprintf(w->wrong, sizeof w->wrong, "tw_context_new");
        return NULL;
    }
    if (went(w, ctx, "tw_module_from_text",
             tw_module_from_text(ctx, w->kind->name, w->text, w->length, &m))) {
        on_cpu(w, ctx, tw_module_kernel_at(m, 0));
        on_gpu(w, ctx, tw_module_kernel_at(m, 0), "sm_90");
    }
    tw_context_free(ctx);
    return NULL;
}

static void *compile_and_run(void *user)
{
    static _Thread_local float a[LENGTH], c[LENGTH];
    struct work *w = user;
    tw_context *ctx;
    tw_module *m;
    tw_launch *l;
    if (tw_context_new(NULL, &ctx) != TW_OK)
        return NULL;
    if (went(w, ctx, "tw_module_from_text",
             tw_module_from_text(ctx, w->kind->name, w->text, w->length, &m)) &&
        went(w, ctx, "tw_launch_new", tw_launch_new(tw_module_kernel_at(m, 0), &l))) {
        give(l, a, c);
        w->compiled = went(w, ctx, "tw_launch_run", tw_launch_run(l));
    }
    tw_context_free(ctx);
    return NULL;
}

static void *ptx_phases(void *user)
{
    struct work *w = user;
    tw_context *ctx;
    tw_ptx *p;
    tw_config config = {.size = sizeof config, .threads = 2, .cache = ""};
    if (tw_context_new(&config, &ctx) != TW_OK) {
        snprintf(w->wrong, sizeof w->wrong, "tw_context_new");
        return NULL;
    }
    if (went(w, ctx, "tw_ptx_from_text",
             tw_ptx_from_text(ctx, w->kind->name, w->text, w->length, &p)))
        went(w, ctx, "tw_ptx_simulate",
             tw_ptx_simulate(p, &(tw_ptx_launch){.size = sizeof(tw_ptx_launch), .block = {32}},
                             &(tw_sim_options){.size = sizeof(tw_sim_options),
                                               .watch = TW_WATCH_ALL,
                                               .step_limit = 100000},
                             NULL));
    tw_context_free(ctx);
    return NULL;
}

static void in_small_thread(void *(*body)(void *), void *argument)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstacksize(&attributes, PROMISED), 0);
    assert_int_equal(pthread_create(&thread, &attributes, body, argument), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

static void run_one(const struct kind *kind, int n, void *(*phases)(void *), bool succeeds)
{
    struct string text = {0};
    kind->write(&text, n);
    struct work w = {.kind = kind, .text = text.data, .length = text.length};
    in_small_thread(phases, &w);
    if (w.wrong[0])
        fail_msg("%s of %d: %s", kind->name, n, w.wrong);
    if (w.used > STACK_BYTES / 2)
        fail_msg("%s of %d: %zu bytes of stack", kind->name, n, w.used);
    if (succeeds && !w.compiled)
        fail_msg("%s of %d is refused", kind->name, n);
    free(text.data);
}

/* Runs the kinds; leaves the largest of the slow programs to TW_TEST_LONG. */
static void run_kinds(const struct kind *list, int count, void *(*phases)(void *))
{
    bool all = getenv("TW_TEST_LONG") != NULL;
    for (int i = 0; i < count; i++)
        for (int s = 0; s < SIZES && list[i].sizes[s]; s++)
            if (all || list[i].sizes[s] <= LONG || list[i].sizes[s] >= REFUSED)
                run_one(&list[i], list[i].sizes[s], phases, false);
}

static void programs_need_little_stack(void **state)
{
    (void)state;
    run_kinds(kinds, KINDS, all_phases);
}

static void ptx_needs_little_stack(void **state)
{
    (void)state;
    run_kinds(ptx_kinds, PTX_KINDS, ptx_phases);
}

static void long_programs_run(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++)
        if (kinds[i].write == terms || kinds[i].write == constants)
            run_one(&kinds[i], 10000, compile_and_run, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs_need_little_stack),
                                       cmocka_unit_test(ptx_needs_little_stack),
                                       cmocka_unit_test(long_programs_run)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
