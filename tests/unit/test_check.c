/* The checker: the Tile IR of a text, printed as text again, and queries about a module. */
#include "pass_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- helpers --- */

/* Returns a kernel of one warp over f32 views C[64] and A[m], with the given body, below the
 * text `module`. */
static char *wrap(const char *module, const char *body)
{
    static const char head[] =
        "kernel k(i32 m, static i32 d, const f32 *a, f32 *c) grid(1) warps(1)\n{\n"
        "global f32 A[m] = a, C[64] = c;\n";
    size_t size = strlen(module) + sizeof head + strlen(body) + 4;
    char *text = malloc(size);
    assert_non_null(text);
    strcpy(text, module);
    strcat(text, head);
    strcat(text, body);
    strcat(text, "\n}\n");
    return text;
}

/* Checks that the printed kernel has this line, which contains `part`, without its indent. */
static void expect_line(const char *module, const char *body, const char *line)
{
    char *text = wrap(module, body);
    struct program p = {.statics = 16};
    program_open(&p, text);
    if (!program_check(&p, 0))
        fail_msg("%s", program_messages(&p));
    assert_null(kernel_verify(&p.arena, p.kernel));
    const char *printed = program_text(&p);
    const char *found = strstr(printed, line);
    if (!found || (found[strlen(line)] != '\n' && found[strlen(line)] != '\0'))
        fail_msg("no line `%s` in\n%s", line, printed);
    program_free(&p);
    free(text);
}

/* The first error. */
static void expect_error(const char *module, const char *body, const char *message)
{
    char *text = wrap(module, body);
    struct program p = {.statics = 16};
    program_open(&p, text);
    assert_false(program_check(&p, 0));
    const char *all = program_messages(&p);
    if (!strstr(all, message))
        fail_msg("no `%s` in\n%s", message, all);
    program_free(&p);
    free(text);
}

static void expect_fine(const char *module, const char *body)
{
    expect_line(module, body, "{");
}

/* --- types --- */

static void test_literals_take_the_other_type(void **state)
{
    (void)state;
    expect_line("", "f32 x = 1; x = x * 2 + 1; C[0] = x;", "x = x * 2.0 + 1.0;");
    expect_line("", "u8 x = 200; i32 y = x + 1; C[0] = y;", "i32 y = (i32) (x + 1);");
    expect_line("", "C[0] = m + 0.5;", "C[0] = (f32) m + 0.5;");
    expect_line("", "i64 x = 2; x += 3000000000; C[0] = (f32) x;", "x += 3000000000;");
    expect_line("", "const i32 n = 1 << 4 | 3; C[0] = n;", "const i32 n = 19;");
    expect_line("", "f32 x = 1 / 2 + 1 / 2.0; C[0] = x;", "f32 x = 0.5;");
    expect_line("", "u32 x = 0xffffffff; C[0] = x;", "u32 x = 4294967295;");
    expect_line("", "i64 x = -9223372036854775807 - 1; C[0] = x > 0 ? 1 : 0;",
                "i64 x = -9223372036854775808;");
    expect_line("", "f16 x = m > 0 ? 1 : 0; C[0] = x;", "f16 x = m > 0 ? 1.0 : 0.0;");
    expect_line("", "i32 x = cdiv(100, 3) + max(1, 2); C[0] = x;", "i32 x = 36;");
    expect_line("", "u64 x = 18446744073709551615; C[0] = x;", "u64 x = 18446744073709551615;");
}

static void test_joins(void **state)
{
    (void)state;
    expect_line("", "f16 h = 1; f32 x = h * C[0]; C[0] = x;", "f32 x = (f32) h * C[0];");
    expect_line("", "f16 h = 1; bf16 b = 2; f32 x = h + b; C[0] = x;",
                "f32 x = (f32) h + (f32) b;");
    expect_line("", "bool b = m > 0; i32 n = b + b; C[0] = n;", "i32 n = (i32) b + (i32) b;");
    expect_line("", "u32 u = 1; u32 v = u + (u32) m; C[0] = v;", "u32 v = u + (u32) m;");
    expect_line("", "i64 x = m; C[0] = x;", "i64 x = (i64) m;");
    expect_line("", "bool b = m && !m || m > 3; C[0] = b;",
                "bool b = m != 0 && !(m != 0) || m > 3;");
    expect_line("", "bool b = true; b = b & (m > 0); C[0] = b;", "b &= m > 0;");
    expect_line("", "u8 s = 3; u8 t = s << 2; C[0] = t;", "u8 t = s << 2;");
    expect_line("", "i32 t = 1 << m; C[0] = t;", "i32 t = 1 << m;");
}

static void test_conversions_need_casts(void **state)
{
    (void)state;
    expect_error("", "i32 x = C[0];", "which `x` (i32) cannot always hold");
    expect_error("", "i64 b = m; i32 x = b;", "write the cast: `(i32) b`");
    expect_error("", "reg f32 t[4] = 0; reg f16 h[4] = t * 2;", "write the cast: `(f16) (t * 2)`");
    expect_error("", "u32 x = m;", "cannot always hold");
    expect_error("", "u8 x = 256;", "256 does not fit u8");
    expect_error("", "f16 x = 65520;", "65520 does not fit f16");
    expect_fine("", "f16 x = 65519; C[0] = x;");
    expect_fine("", "f16 x = -inf; C[0] = x;");
    expect_error("", "i32 x = inf;", "inf does not fit i32");
}

static void test_reductions_and_dot(void **state)
{
    (void)state;
    expect_line("", "reg f16 t[4][8] = 1; C[0] = sum(t);", "C[0] = sum((f32) t);");
    expect_line("", "reg i8 t[4][8] = 1; i32 s = sum(t); C[0] = s;", "i32 s = sum((i32) t);");
    expect_line("", "reg f16 t[4][8] = 1; f16 s = max(t); C[0] = s;", "f16 s = max(t);");
    expect_line("", "reg f32 t[4][8] = 1; reg f32 s[4][1] = sum(t, axis = 1); C[0] = sum(s);",
                "reg f32 s[4][1] = sum(t, axis = 1);");
    expect_line("", "reg i32 t[4] = 1; bool b = any(t); C[0] = b;", "bool b = any(t != 0);");
    expect_line(
        "", "reg i8 x[4][4] = 1; reg u8 y[4][4] = 1; reg i32 s[4][4] = dot(x, y); C[0] = sum(s);",
        "reg i32 s[4][4] = dot((i16) x, (i16) y);");
    expect_line("",
                "reg f16 x[4][4] = 1; reg f32 s[4][4] = 0; s += dot(x, trans(x)); C[0] = sum(s);",
                "s += dot(x, trans(x));");
    expect_line("", "reg i16 x[4][4] = 1; reg u16 y[4][4] = 1; C[0] = sum(dot(x, y));",
                "C[0] = (f32) sum(dot((i32) x, (i32) y));");
    expect_line("", "f32 x = exp(2) + sqrt(m); C[0] = x;", "f32 x = exp(2.0) + sqrt((f32) m);");
    expect_line("", "u32 r = philox(7, m, 3); C[0] = r;", "u32 r = philox(7, (u64) m, 3);");
    expect_line("", "shared f16 s[4][8]; i32 x = bytes(s) + bytes(s[0]); C[0] = x;", "i32 x = 80;");
    expect_line("", "reg f32 t[4] = 1; t = scan(add, t); C[0 +: 4] = t;",
                "t = scan(add, t, axis = 0);");
    expect_line("",
                "reg f32 t[4] = scan(mul, C[0 +: 4], axis = 0, exclusive = 1 < 2); C[0 +: 4] = t;",
                "reg f32 t[4] = scan(mul, C[0 +: 4], axis = 0, exclusive = true);");
}

static void test_iota_takes_the_shape_of_its_place(void **state)
{
    (void)state;
    expect_line("", "reg i32 r[8][1] = iota() + m; C[0] = sum(r);",
                "reg i32 r[8][1] = iota(8, 1) + m;");
    expect_line("", "reg f32 r[8] = where(iota() < m, 1, 0); C[0] = sum(r);",
                "reg f32 r[8] = where(iota(8) < m, 1.0, 0.0);");
    expect_line("", "C[0 +: 16] = iota() * 0.5;", "C[0 +: 16] = (f32) iota(16) * 0.5;");
    expect_error("", "C[0] = sum(iota());", "cannot take its shape from this place");
    expect_error("", "reg i32 r[8][8] = iota();", "rows are `iota(8, 1)`, columns `iota(1, 8)`");
}

static void test_type_variables_and_typeof(void **state)
{
    (void)state;
    struct program p = {.statics = 0};
    program_open(&p, "type T = {f16, f32};\n"
                     "kernel k(i32 n, const T *a, T *c) grid(1) warps(1)\n{\n"
                     "    global T A[n] = a, C[n] = c;\n"
                     "    reg typeof(A) t[8] = A[0 +: 8];\n"
                     "    typeof(a) u = 1;\n"
                     "    C[0 +: 8] = (T) (t + u);\n}\n");
    const struct lang_kernel *k = lang_kernel(&p.arena, p.module, 0, NULL);
    assert_int_equal(k->type_count, 1);
    assert_int_equal(k->types[0].count, 2);
    assert_int_equal(k->params[1].dtype, DT_NONE);
    assert_int_equal(k->params[1].type_variable, 0);
    assert_true(program_check(&p, 0));
    assert_non_null(strstr(program_text(&p), "reg f16 t[8] = A[0 +: 8];"));
    enum dtype f32 = DT_F32;
    p.kernel = lang_check(&p.arena, &p.diag, p.module, 0, &(struct lang_choice){.types = &f32});
    assert_non_null(p.kernel);
    assert_non_null(strstr(program_text(&p), "f32 u = 1.0;"));
    program_free(&p);
}

/* --- accesses --- */

static void test_accesses(void **state)
{
    (void)state;
    expect_line("", "shared f32 s[2][4][8]; s[m] = 1; C[0 +: 8] = s[0][1];", "s[m] = 1.0;");
    expect_line("", "reg f32 r[16] = C[8 +: 16] else -inf; C[0] = max(r);",
                "reg f32 r[16] = C[8 +: 16] else -inf;");
    expect_line("", "reg i32 i[4] = iota(); reg f32 r[4] = A[i[:]]; C[0 +: 4] = r;",
                "reg f32 r[4] = A[i];");
    expect_line("", "reg f32 r[16] = 0; C[0 +: 4] = r[4 +: 4];", "C[0 +: 4] = r[4 +: 4];");
    expect_line("", "C[m +: 4 inside] = 1;", "C[m +: 4 inside] = 1.0;");
    expect_line("", "C[(m + 1) * 2] = 1;", "C[(m + 1) * 2] = 1.0;");
    expect_line("", "C = 1;", "C = 1.0;");
    expect_error("", "A[0 +: 4] = 1;", "which is const");
    expect_error("", "C[0 +: 65 inside] = 1;", "the slice goes from 0 to 64");
    expect_error("", "C[9223372036854775807 +: 4 inside] = 1;", "the slice goes from");
    expect_error("", "reg f32 r[4] = A;", "`A` has 1 axis, and 0 are chosen");
}

static void test_conditions_of_statics(void **state)
{
    (void)state;
    expect_fine("", "static_assert(d % 16 == 0); require(d > 8);");
    expect_fine("", "const i32 both = d + d; static_assert(both == 32 || m > 3);");
    expect_error("", "static_assert(d % 32 == 0);", "`d % 32 == 0` does not hold");
    expect_error("", "require(d > 16);", "`d > 16` does not hold");
    expect_error("", "require(d < m);", "`m` is known only when the kernel is launched");

    char *text = wrap("", "const i32 both = d + d; static_assert(both % 3 == 0); require(d > 16);");
    struct program p = {.statics = 0};
    program_open(&p, text);
    assert_true(program_check(&p, 0)); /* they need a value of d first */
    program_free(&p);
    free(text);
}

static void test_statics(void **state)
{
    (void)state;
    expect_line("", "reg f32 r[d] = 1; C[0] = sum(r) / d;", "C[0] = sum(r) / (f32) d;");
    expect_line("", "const i32 w = pow2_ceil(d + 1); reg f32 r[w] = 1; C[0] = sum(r) + w;",
                "reg f32 r[32] = 1.0;");
    struct program p = {.statics = 0};
    char *text = wrap("", "const i32 w = d * 2; reg f32 r[w] = 1; C[0] = sum(r);");
    program_open(&p, text);
    assert_false(program_check(&p, 0));
    assert_non_null(strstr(program_messages(&p), "the static parameter `d` has no value yet"));
    program_free(&p);
    free(text);
}

/* --- inlining --- */

static void test_fn_that_only_returns(void **state)
{
    (void)state;
    static const char relu[] = "fn reg T[N] relu(reg T x[N]) { return max(x, 0); }\n"
                               "fn f32 cube(f32 x) { return x * x * x; }\n";
    expect_line(relu, "reg f32 r[8] = 1; r = relu(r + 1) * 2; C[0 +: 8] = r;",
                "r = max(r + 1.0, 0.0) * 2.0;");
    expect_line(relu, "f32 y = 1; C[0] = cube(y);", "C[0] = y * y * y;");
    expect_line(relu, "f32 y = 1; C[0] = cube(y + 1);", "f32 x = y + 1.0;");
    expect_line(relu, "f32 y = 1; C[0] = m > 0 ? cube(y + 1) : 0;",
                "C[0] = m > 0 ? (y + 1.0) * (y + 1.0) * (y + 1.0) : 0.0;");
    expect_line(relu, "f32 y = 1; while (cube(y) < 9) y += 1; C[0] = y;",
                "while (y * y * y < 9.0) {");
    expect_line(relu, "ensures C == relu(A);", "ensures C == max(A, 0.0);");
}

static void test_fn_with_statements(void **state)
{
    (void)state;
    static const char fns[] =
        "fn f32 norm(reg f32 v[N]) { f32 s = sum(v * v); s = s / N; return sqrt(s); }\n"
        "fn (i32, f32) two(i32 i) { f32 h = 0.5; return (i + 1, h * i); }\n"
        "fn f32 sum_of(shared f32 s[M][N], i32 row) { f32 t = 0;\n"
        "    for (i32 i = 0; i < N; i++) t += s[row][i];\n    return t; }\n"
        "fn i32 staged(reg i32 x[N]) { shared i32 t[N]; t = x; sync(); return t[0]; }\n";
    expect_line(fns, "f32 s = norm(C); C[0] = s;", "f32 s = sqrt(s_1);");
    expect_line(fns, "f32 s = norm(C); C[0] = s;", "s_1 /= 64.0;");
    expect_line(fns, "f32 (x, y) = two(m); C[0] = x * y;", "f32 x = (f32) (m + 1);");
    expect_line(fns, "shared f32 s[2][4][4]; s = 1; sync(); C[0] = sum_of(s[1], m);",
                "t += s[1][m][i];");
    expect_line(fns, "reg i32 x[4] = iota(); C[0] = staged(x) + staged(x + 1);",
                "C[0] = (f32) (staged + staged_1);");
    expect_error(fns, "C[0] = m > 0 && norm(C) > 1 ? 1 : 0;", "`norm` has statements");
    expect_error(fns, "reg f32 r[2][2] = 0; C[0] = norm(r);", "the parameter `v` has 1 axis");
}

static void test_fn_limits(void **state)
{
    (void)state;
    expect_error("fn i32 f(i32 n) { return g(n); }\nfn i32 g(i32 n) { return f(n); }\n",
                 "C[0] = f(m);", "`f` calls itself, through other fns");
    /* 2^40 calls */
    char text[4096];
    size_t used = (size_t)sprintf(text, "fn i32 h0(i32 x) { return x + 1; }\n");
    for (int i = 1; i <= 40; i++)
        used += (size_t)sprintf(text + used, "fn i32 h%d(i32 x) { return h%d(x) + h%d(x); }\n", i,
                                i - 1, i - 1);
    expect_error(text, "C[0] = h40(m);", "calls fns 4000 times and more");
    /* 3^30 copies */
    char nested[512] = "C[0] = m > 0 ? ";
    for (int i = 0; i < 30; i++)
        strcat(nested, "f(");
    strcat(nested, "m");
    for (int i = 0; i < 30; i++)
        strcat(nested, ")");
    strcat(nested, " : 0;");
    expect_error("fn i32 f(i32 x) { return x * x * x; }\n", nested,
                 "makes this expression too large");
}

static void test_calls_in_loop_heads(void **state)
{
    (void)state;
    static const char fn[] = "fn i32 f(i32 x) { i32 t = x; t = t * 2; return t; }\n";
    expect_line(fn, "for (i32 i = f(m), j = 0; i < 9; i++) C[j] = i;", "for (; i < 9; i += 1) {");
    expect_error(fn, "for (i32 i = 0; i < f(m); i++) C[i] = 1;", "`f` has statements");
    expect_error(fn, "for (i32 i = 0; i < m; i = f(i)) C[i] = 1;", "`f` has statements");
}

static void test_parameters_that_are_written_or_indexed(void **state)
{
    (void)state;
    static const char fns[] =
        "fn i32 down(i32 n) { i32 s = 0; while (n > 0) { s += n; n--; } return s; }\n"
        "fn f32 ends(reg f32 x[N]) { return sum(x[0 +: 1]) + sum(x[N - 1 +: 1]); }\n"
        "fn reg f32[M][N] whole(shared f32 s[M][N]) { return s * bytes(s); }\n"
        "fn f32 pick(global f32 V[M], i32 i) { return V[i] * M; }\n"
        "fn f32 of_row(reg f32 x[N]) { return x[1] + N; }\n";
    expect_line(fns, "i32 x = down(m); C[0] = x;", "i32 n = m;");
    expect_line(fns, "C[0] = ends(C * 2);", "reg f32 x[64] = C * 2.0;");
    expect_line(fns, "C[0] = ends(C * 2);", "C[0] = sum(x[0 +: 1]) + sum(x[63 +: 1]);");
    expect_line(fns, "shared f32 s[4][4]; s = 1; sync(); C[0] = sum(whole(s));",
                "C[0] = sum(s * 64.0);");
    expect_line(fns, "C[0] = pick(A, 3) + pick(C, 4);", "C[0] = A[3] * (f32) m + C[4] * 64.0;");
    expect_line(fns, "ensures C[0] == of_row(A);", "ensures C[0] == A[1] + (f32) m;");
}

static void test_extents_in_ensures(void **state)
{
    (void)state;
    static const char fns[] = "fn f32 rows(reg f32 x[M][N]) { return sum(x) / M; }\n"
                              "fn f32 columns(reg f32 x[M][N]) { return sum(x) / N; }\n";
    static const char views[] = "global f32 B[m][d] = a, D[d + 1][m] = a; ";
    char body[256];
    sprintf(body, "%sensures C[0] == rows(exp(B) * 2) + columns(trans(B));", views);
    expect_line(fns, body,
                "ensures C[0] == sum(exp(B) * 2.0) / (f32) m + sum(trans(B)) / (f32) m;");
    sprintf(body, "%sensures C[0] == rows(dot(B, trans(B)));", views);
    expect_line(fns, body, "ensures C[0] == sum(dot(B, trans(B))) / (f32) m;");
    expect_line(fns, "ensures C[0] == rows(iota(m, 1) * 0.5);",
                "ensures C[0] == sum((f32) iota(m, 1) * 0.5) / (f32) m;");
    expect_line("", "const i32 h = m / 2; ensures C[0] == h;", "ensures C[0] == m / 2;");
    expect_line("", "ensures C == iota(64);", "ensures C == iota(64);");
}

static void test_views(void **state)
{
    (void)state;
    expect_line(
        "",
        "const i32 h = m / 2; global f32 V[h][d] = a + m + h * 2 strides(h, 1); C[0] = V[1][2];",
        "global f32 V[m / 2][d] = a + (m + m / 2 * 2) strides(m / 2, 1);");
    expect_line("", "global f32 V[cdiv(m, 4)][2] = 0; V[0][0] = 1;",
                "global f32 V[cdiv(m, 4)][2] = 0;");
    expect_line("", "u32 z = 0; global f32 V[m][(i64) d] = a; C[z] = V[0][0];",
                "global f32 V[m][(i64) d] = a;");
}

/* Arrays of one thread are kept as arrays, not as tiles of the block. */
static void test_values_of_threads(void **state)
{
    (void)state;
    struct program p = {.statics = 0};
    program_open(&p, "fn reg f32[N] twice(reg f32 x[N]) { return x + x; }\n"
                     "fn f32 first(reg f32 x[N]) { f32 t = sum(x * x); return t; }\n"
                     "kernel k(i32 m, const f32 *a, f32 *c) grid(1) threads(4)\n{\n"
                     "    global f32 A[m] = a, C[m] = c;\n"
                     "    i32 i = thread.x * 4;\n"
                     "    C[i +: 4] = twice(A[i +: 4]);\n"
                     "    C[i] = first(A[i +: 4]);\n}\n");
    if (!program_check(&p, 0))
        fail_msg("%s", program_messages(&p));
    assert_non_null(strstr(program_text(&p), "\n    f32 x[4] = A[i +: 4];"));
    assert_true(program_passes(&p, "variance"));
    program_free(&p);
}

/* --- names --- */

static void test_names_are_unique_and_scopes_hold(void **state)
{
    (void)state;
    expect_line("", "i32 x = 1; { i32 x = 2; C[0] = x; } C[1] = x;", "C[0] = (f32) x_1;");
    expect_line("", "i32 x = 1; { i32 x = 2; C[0] = x; } C[1] = x;", "C[1] = (f32) x;");
    expect_line("", "i32 x_1 = 5; i32 x = 1; { i32 x = x + x_1; C[0] = x; }", "i32 x_2 = x + x_1;");
    expect_line("const i32 m = 3;\nfn i32 f() { return m; }\n", "C[0] = f() + m;",
                "C[0] = (f32) (m_1 + m);");
    expect_line("", "const i32 k = 3; C[0] = k;", "C[0] = (f32) k_1;");
    expect_error("", "i32 x = 1, x = 2;", "declared twice");
    expect_error("", "i32 m = 1;", "declared twice");
    expect_error("", "i32 x = x;", "`x` is not declared");
}

static void test_freed(void **state)
{
    (void)state;
    expect_fine("", "shared f32 s[4]; s = 1; sync(); C[0] = s[0]; sync(); free(s);");
    expect_error("", "shared f32 s[4]; free(s); free(s);", "used after it was freed");
    expect_fine("", "for (i32 i = 0; i < m; i++) { shared f32 s[4]; s = 1; sync(); free(s); }");
}

/* --- the module --- */

static const char tuned[] = "tune (BM, BN) = {(64, 64), (32, 64), (32, 16)};\n"
                            "tune(sm_90) (BM, BN) = {(128, 8)};\n"
                            "tune(cuda) W = {8};\n"
                            "tune W = {4, 2};\n"
                            "tune FAST = {false, true};\n"
                            "tune SCALE = {1, 0.5};\n"
                            "tune OTHER = {1};\n"
                            "const i32 AREA = BM * BN;\n"
                            "require(AREA <= 2048);\n"
                            "kernel one(i32 m, static i32 n, const f32 *a, f32 *c)\n"
                            "    grid(cdiv(m, BM)) warps(W)\n{\n"
                            "    require(W * BN < 256);\n"
                            "    global f32 A[m][n + 1] = a, C[n] = c, D[m] = a + m;\n"
                            "    i32 OTHER = 3;\n"
                            "    C[0 +: AREA] = FAST ? SCALE : OTHER;\n"
                            "    ensures C == 1;\n}\n"
                            "kernel two(f32 *c) grid(1) threads(OTHER) { global f32 C[1] = c; }\n";

static void test_what_a_kernel_takes(void **state)
{
    (void)state;
    struct program p = {.statics = 0};
    program_open(&p, tuned);
    if (!p.module)
        fail_msg("%s", program_messages(&p));
    assert_int_equal(lang_kernel_count(p.module), 2);
    const struct lang_kernel *k = lang_kernel(&p.arena, p.module, 0, NULL);
    assert_string_equal(k->name, "one");
    assert_true(k->has_ensures);
    assert_false(k->thread_level);
    assert_int_equal(k->param_count, 4);
    assert_true(k->params[1].is_static);
    assert_true(k->params[2].is_pointer && k->params[2].is_const);
    assert_int_equal(k->params[2].rank, 2);
    assert_int_equal(k->params[2].dim_param[0], 0);
    assert_int_equal(k->params[2].dim_param[1], -1);
    assert_string_equal(k->params[2].dim_text[1], "n + 1");
    assert_int_equal(k->params[3].rank, 1);
    assert_int_equal(k->params[3].dim_param[0], 1);

    assert_int_equal(k->tune_count, 5); /* OTHER is another's */
    assert_string_equal(k->tunes[0].name, "BM");
    assert_int_equal(k->tunes[0].group, k->tunes[1].group);
    assert_int_not_equal(k->tunes[1].group, k->tunes[2].group);
    assert_int_equal(k->tunes[1].values[2].i, 16);
    assert_int_equal(k->tunes[3].dtype, DT_BOOL);
    assert_int_equal(k->tunes[4].dtype, DT_F32);
    assert_true(k->tunes[4].values[0].is_float && k->tunes[4].values[0].f == 1);

    k = lang_kernel(&p.arena, p.module, 1, NULL);
    assert_true(k->thread_level);
    assert_int_equal(k->tune_count, 1);
    program_free(&p);
}

static void test_lists_of_targets(void **state)
{
    (void)state;
    struct program p = {.statics = 0};
    program_open(&p, tuned);
    const struct lang_kernel *k = lang_kernel(&p.arena, p.module, 0, "sm_90a");
    assert_int_equal(k->tunes[0].count, 1);
    assert_int_equal(k->tunes[0].values[0].i, 128);
    assert_int_equal(k->tunes[2].values[0].i, 8);
    k = lang_kernel(&p.arena, p.module, 0, "sm_80");
    assert_int_equal(k->tunes[0].count, 3);
    assert_int_equal(k->tunes[2].values[0].i, 8);
    k = lang_kernel(&p.arena, p.module, 0, "sim");
    assert_int_equal(k->tunes[2].values[0].i, 4);
    program_free(&p);
}

static void test_defaults_and_require(void **state)
{
    (void)state;
    struct program p = {.statics = 0};
    program_open(&p, tuned);
    struct literal tunes[5];
    assert_true(lang_default_tunes(&p.arena, &p.diag, p.module, 0, NULL, tunes));
    assert_int_equal(tunes[0].i, 32); /* 64 * 64 is too large, and so is 32 * 64 with 4 warps */
    assert_int_equal(tunes[1].i, 64);
    assert_int_equal(tunes[2].i, 2);
    struct loc violated = LOC_NONE;
    assert_true(lang_tunes_allowed(&p.arena, p.module, 0, NULL, tunes, &violated));
    tunes[2].i = 4;
    assert_false(lang_tunes_allowed(&p.arena, p.module, 0, NULL, tunes, &violated));
    assert_memory_equal(violated.source->text + violated.offset, "W * BN < 256", violated.length);
    tunes[2].i = 2;
    tunes[0].i = 33;
    assert_false(lang_tunes_allowed(&p.arena, p.module, 0, NULL, tunes, NULL));
    assert_null(lang_check(&p.arena, &p.diag, p.module, 0, &(struct lang_choice){.tunes = tunes}));
    assert_non_null(strstr(program_messages(&p), "these tuned values are not allowed"));
    program_free(&p);
}

static void test_nothing_satisfies(void **state)
{
    (void)state;
    struct program p = {.statics = 0};
    program_open(&p, "tune A = {1, 2};\nrequire(A > 2);\n"
                     "kernel k(f32 *c) grid(A) warps(1) { global f32 C[1] = c; }\n");
    assert_non_null(p.module);
    assert_false(program_check(&p, 0));
    assert_non_null(
        strstr(program_messages(&p), "no combination of tuned values of `k` is allowed"));
    program_free(&p);
}

static void test_constants_of_the_kernel_come_first(void **state)
{
    (void)state;
    char *text = wrap("const f32 B = 2;\nconst i32 A1 = 3;\n",
                      "i32 x = A1; const i32 W = 7; C[0] = B * x + W + A1;");
    struct program p = {.statics = 4};
    program_open(&p, text);
    assert_true(program_check(&p, 0));
    static const char *const order[] = {"m", "d", "a", "c", "B", "A1", "W", "A", "C", "x"};
    const struct sym *s = p.kernel->symbols;
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++, s = s->next) {
        assert_non_null(s);
        assert_string_equal(s->name, order[i]);
    }
    assert_null(s);
    program_free(&p);
    free(text);
}

static void test_unused_tuned_name(void **state)
{
    (void)state;
    struct program p = {.statics = 0};
    program_open(
        &p, "tune A = {1};\ntune B = {1};\nconst i32 U = B;\n"
            "kernel k(f32 *c) grid(1) warps(1) { global f32 C[1] = c; i32 A = 1; C[0] = A; }\n");
    assert_non_null(p.module);
    assert_int_equal(p.diag.warnings, 2);
    program_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_literals_take_the_other_type),
        cmocka_unit_test(test_joins),
        cmocka_unit_test(test_conversions_need_casts),
        cmocka_unit_test(test_reductions_and_dot),
        cmocka_unit_test(test_iota_takes_the_shape_of_its_place),
        cmocka_unit_test(test_type_variables_and_typeof),
        cmocka_unit_test(test_accesses),
        cmocka_unit_test(test_conditions_of_statics),
        cmocka_unit_test(test_statics),
        cmocka_unit_test(test_fn_that_only_returns),
        cmocka_unit_test(test_fn_with_statements),
        cmocka_unit_test(test_fn_limits),
        cmocka_unit_test(test_calls_in_loop_heads),
        cmocka_unit_test(test_parameters_that_are_written_or_indexed),
        cmocka_unit_test(test_extents_in_ensures),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_values_of_threads),
        cmocka_unit_test(test_names_are_unique_and_scopes_hold),
        cmocka_unit_test(test_freed),
        cmocka_unit_test(test_what_a_kernel_takes),
        cmocka_unit_test(test_lists_of_targets),
        cmocka_unit_test(test_defaults_and_require),
        cmocka_unit_test(test_nothing_satisfies),
        cmocka_unit_test(test_constants_of_the_kernel_come_first),
        cmocka_unit_test(test_unused_tuned_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
