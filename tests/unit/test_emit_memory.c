/* Global and shared memory, copies and barriers, as PTX: the instructions, their number, and
 * proof that they assemble. */
#include "emit_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* One kernel as PTX. */
struct made {
    struct program program;
    struct lowered out;
    const char *ptx;
};

static void make_at(struct made *m, const char *target, int divisor, const char *text)
{
    memset(m, 0, sizeof *m);
    program_open(&m->program, text);
    m->program.divisor = divisor;
    m->program.statics = 64;
    m->program.target = target;
    if (!program_check(&m->program, 0) || !program_emit(&m->program, target, &m->out))
        fail_msg("%s", program_messages(&m->program));
    m->ptx = emitted_text(&m->program, &m->out);
    const char *wrong = has_assembler() ? assemble(&m->program, target, m->ptx) : NULL;
    if (wrong)
        fail_msg("%s\n%s", wrong, m->ptx);
    for (size_t i = 0; i < m->out.accesses.count; i++) {
        const struct lowered_access *a = &m->out.accesses.data[i];
        assert_true(a->instructions > 0 && a->wavefronts >= a->least);
    }
}

static void free_made(struct made *m)
{
    program_free(&m->program);
}

/* Counts the instructions that have this text. */
static int count(const struct made *m, const char *text)
{
    int n = 0;
    for (const char *at = m->ptx; (at = strstr(at, text)); at += strlen(text))
        n++;
    return n;
}

static int count_in(const char *target, int divisor, const char *text, const char *what)
{
    struct made m;
    make_at(&m, target, divisor, text);
    int n = count(&m, what);
    if (n == 0 && strcmp(what, "bar.sync") != 0 && strcmp(what, "setp") != 0)
        print_message("%s is not in\n%s", what, m.ptx);
    free_made(&m);
    return n;
}

/* --- vectors --- */

static const char through[] =
    "kernel k(i32 m, i32 n, const f16 *a, f16 *c) grid(cdiv(m, 64), cdiv(n, 64)) warps(4)\n"
    "{\n"
    "    global f16 A[m][n] = a, C[m][n] = c;\n"
    "    i32 i = block.x * 64, j = block.y * 64;\n"
    "    C[i +: 64][j +: 64] = A[i +: 64][j +: 64];\n"
    "}\n";

static void test_vectors_by_divisibility(void **state)
{
    (void)state;
    assert_int_equal(count_in("sm_80", 16, through, "ld.global.nc.v4.b32"), 4);
    assert_int_equal(count_in("sm_80", 16, through, "st.global.v4.b32"), 4);
    assert_int_equal(count_in("sm_80", 1, through, "ld.global.nc.b16"), 32);
    assert_int_equal(count_in("sm_80", 4, through, "ld.global.nc.v2.b32"), 8);
}

static void test_every_type_and_width(void **state)
{
    static const char *const types[] = {"f64", "f32", "f16", "bf16", "i64", "i32", "i16",
                                        "i8",  "u64", "u32", "u16",  "u8",  "bool"};
    char text[600];
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (int divisor = 1; divisor <= 16; divisor *= 2) {
            struct made m;
            snprintf(text, sizeof text,
                     "kernel k(i32 n, const %s *a, %s *c) grid(n) warps(2)\n"
                     "{\n"
                     "    global %s A[n][n] = a, C[n][n] = c;\n"
                     "    shared %s s[24][48];\n"
                     "    s = A[block.x +: 24][0 +: 48];\n"
                     "    sync();\n"
                     "    C[block.x +: 24][0 +: 48] = s;\n"
                     "    sync();\n"
                     "    async s = A[block.x +: 24][8 +: 48];\n"
                     "    async_wait(0);\n"
                     "    sync();\n"
                     "    C[block.x +: 24][8 +: 48] = s;\n"
                     "}\n",
                     types[i], types[i], types[i], types[i]);
            make_at(&m, divisor > 4 ? "sm_90" : "sm_80", divisor, text);
            free_made(&m);
        }
}

static void test_inside_has_no_mask(void **state)
{
    (void)state;
    static const char inside[] =
        "kernel k(i32 n, const f32 *a, f32 *c) grid(4) warps(1)\n"
        "{\n"
        "    global f32 A[n][n] = a, C[n][n] = c;\n"
        "    C[block.x +: 8 inside][0 +: 16 inside] = A[block.x +: 8 inside][0 +: 16 inside];\n"
        "}\n";
    static const char below[] = "kernel k(i32 n, const f32 *a, f32 *c) grid(4) warps(1)\n"
                                "{\n"
                                "    global f32 A[64][64] = a, C[64][64] = c;\n"
                                "    C[0 +: 8][0 +: 16] = A[block.x - 2 +: 8][0 +: 16];\n"
                                "}\n";
    static const char whole[] =
        "kernel k(i32 n, const f32 *a, f32 *c) grid(4) warps(1)\n"
        "{\n"
        "    global f32 A[n][64] = a, C[n][64] = c;\n"
        "    C[block.x * 16 +: 16][0 +: 64] = A[block.x * 16 +: 16][0 +: 64];\n"
        "}\n";
    assert_int_equal(count_in("sm_80", 16, inside, "setp"), 0);
    assert_true(count_in("sm_80", 16, below, "setp.ge") > 0);
    assert_true(count_in("sm_80", 16, whole, "setp") <= 1); /* all rows or none */
}

/* --- copies --- */

static const char copies[] = "kernel k(i32 n, const f16 *a, f16 *c) grid(cdiv(n, 64)) warps(4)\n"
                             "{\n"
                             "    global f16 A[n][n] = a, C[n][n] = c;\n"
                             "    shared f16 s[64][64];\n"
                             "    async s = A[block.x * 64 +: 64][0 +: 64]%s;\n"
                             "    async_wait(0);\n"
                             "    sync();\n"
                             "    C[block.x * 64 +: 64][0 +: 64] = s;\n"
                             "}\n";

static void copy_is(const char *besides, int divisor, const char *what, int times)
{
    char text[600];
    snprintf(text, sizeof text, copies, besides);
    assert_int_equal(count_in("sm_80", divisor, text, what), times);
}

static void test_asynchronous_copies(void **state)
{
    (void)state;
    copy_is("", 16, "cp.async.cg.shared.global [", 4);
    copy_is("", 4, "cp.async.ca.shared.global [", 8);
    copy_is("", 2, "cp.async.ca.shared.global [", 16);
    copy_is("", 1, "st.shared", 32); /* rows of odd length: 2 bytes are too few for cp.async */
    copy_is(" else 1", 16, "ld.global.nc.v4.b32", 4);
    copy_is(" else 0", 16, "cp.async.cg", 4);
    copy_is(" hint(evict_first)", 16, "L2::cache_hint", 4);
    copy_is(" hint(evict_first)", 16, "createpolicy.fractional.L2::evict_first", 1);
}

static void test_wavefronts_are_least(void **state)
{
    static const char tiles[] =
        "kernel k(i32 n, const f16 *a, const f16 *b, f16 *c) grid(1) warps(4)\n"
        "{\n"
        "    global f16 A[n][n] = a, B[n][n] = b, C[n][n] = c;\n"
        "    shared f16 sa[64][32], sb[32][64];\n"
        "    reg f32 acc[64][64] = 0;\n"
        "    for (i32 p = 0; p < n; p += 32) {\n"
        "        async sa = A[0 +: 64][p +: 32];\n"
        "        async sb = B[p +: 32][0 +: 64];\n"
        "        async_wait(0);\n"
        "        sync();\n"
        "        acc += dot(sa, sb);\n"
        "        sync();\n"
        "    }\n"
        "    C[0 +: 64][0 +: 64] = (f16) acc;\n"
        "}\n";
    static const char *const targets[] = {"sm_80", "sm_90"};
    (void)state;
    for (int t = 0; t < 2; t++) {
        struct made m;
        make_at(&m, targets[t], 16, tiles);
        bool matrices = false;
        for (size_t i = 0; i < m.out.accesses.count; i++) {
            const struct lowered_access *a = &m.out.accesses.data[i];
            if (a->shared)
                assert_int_equal(a->wavefronts, a->least);
            matrices |= strncmp(a->how, "ldmatrix", 8) == 0;
        }
        assert_true(matrices);
        assert_int_equal(m.out.shared_bytes, m.program.kernel->shared_bytes);
        free_made(&m);
    }
}

/* --- parts of shared tiles --- */

static void test_parts_of_shared_tiles(void **state)
{
    static const char *const parts[] = {"s[block.x][:][:]",
                                        "s[n % 3]",
                                        "s[1][8 +: 16][0 +: 32]",
                                        "s[1][n % 17 +: 16][0 +: 32]",
                                        "s[1][n % 2 * 16 +: 16][n % 2 * 32 +: 32]",
                                        "s[1][rows[:]][0 +: 32]",
                                        "s[2][-3 +: 16][40 +: 32]"};
    char text[900];
    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct made m;
        bool whole = i < 2;
        snprintf(text, sizeof text,
                 "kernel k(i32 n, const f16 *a, f16 *c) grid(3) warps(2)\n"
                 "{\n"
                 "    global f16 A[n][n][n] = a, C[n][n] = c;\n"
                 "    shared f16 s[3][32][64];\n"
                 "    reg i32 rows[16] = iota() * 3 - 2;\n"
                 "    s = A[0 +: 3][0 +: 32][0 +: 64];\n"
                 "    sync();\n"
                 "    C[0 +: %d][0 +: %d] = %s;\n"
                 "}\n",
                 whole ? 32 : 16, whole ? 64 : 32, parts[i]);
        make_at(&m, "sm_80", 16, text);
        free_made(&m);
    }
}

static void test_stmatrix_from_sm_90(void **state)
{
    static const char text[] =
        "kernel k(i32 n, const f16 *a, f16 *c) grid(1) warps(4)\n"
        "{\n"
        "    global f16 A[n][n] = a, C[n][n] = c;\n"
        "    reg f16 x[64][16] = A[0 +: 64][0 +: 16], y[16][64] = A[0 +: 16][0 +: 64];\n"
        "    C[0 +: 64][0 +: 64] = (f16) dot(x, y);\n"
        "}\n";
    (void)state;
    assert_true(count_in("sm_90", 16, text, "st.global.v4.b32") > 0);
    assert_true(count_in("sm_80", 16, text, "st.global.v4.b32") > 0);
}

/* --- blocks that are not whole warps --- */

static void test_ragged_blocks(void **state)
{
    static const char text[] = "kernel k(i32 n, const f32 *a, f32 *c) grid(1) threads(3, 3)\n"
                               "{\n"
                               "    global f32 A[n][n] = a, C[n][n] = c;\n"
                               "    shared f32 s[%d][5];\n"
                               "    s = A[n - 4 +: %d][1 +: 5] else 2;\n"
                               "    sync();\n"
                               "    C[thread.y][thread.x] = s[thread.y][thread.x];\n"
                               "}\n";
    char few[600], many[600];
    (void)state;
    snprintf(few, sizeof few, text, 4, 4);
    snprintf(many, sizeof many, text, 40, 40);
    assert_int_equal(count_in("sm_80", 0, few, "ld.global.nc.f32"), 3); /* 20 elements, 9 threads */
    assert_int_equal(count_in("sm_80", 0, many, "ld.global.nc.f32"), 1); /* a loop */
}

/* --- barriers --- */

static int barriers(const char *body)
{
    char text[900];
    snprintf(text, sizeof text,
             "kernel k(i32 n, const f32 *a, f32 *c, f32 *d) grid(1) warps(4)\n"
             "{\n"
             "    global f32 A[n][n] = a, C[n][n] = c, D[n][n] = d;\n"
             "    shared f32 s[32][32];\n"
             "    s = 0;\n"
             "    sync();\n"
             "%s"
             "}\n",
             body);
    return count_in("sm_80", 16, text, "bar.sync") - 1;
}

static void test_views_in_program_order(void **state)
{
    (void)state;
    assert_int_equal(barriers("C[0 +: 32][0 +: 32] = A[0 +: 32][0 +: 32];"), 0);
    assert_int_equal(barriers("C[0 +: 32][0 +: 32] = A[0 +: 32][0 +: 32];"
                              "D[0 +: 32][0 +: 32] = A[0 +: 32][0 +: 32];"),
                     0);
    /* another part of the tile: other threads' elements */
    assert_int_equal(barriers("C[0 +: 32][0 +: 32] = A[0 +: 32][0 +: 32];"
                              "D[0 +: 32][0 +: 32] = C[1 +: 32][0 +: 32];"),
                     1);
    /* the same elements by the same threads */
    assert_int_equal(barriers("C[0 +: 32][0 +: 32] = A[0 +: 32][0 +: 32];"
                              "C[0 +: 32][0 +: 32] += A[0 +: 32][32 +: 32];"),
                     0);
    /* surely others */
    assert_int_equal(barriers("C[0 +: 32][0 +: 32] = A[0 +: 32][0 +: 32];"
                              "C[32 +: 32][0 +: 32] = A[0 +: 32][32 +: 32];"),
                     0);
}

/* The pass leaves a tile that goes back to its part to the operation: its layout decides. */
static void test_tiles_that_go_back(void **state)
{
    (void)state;
    assert_int_equal(barriers("reg f32 t[32][32] = C[0 +: 32][0 +: 32];"
                              "C[0 +: 32][0 +: 32] = t;"),
                     0);
    /* several threads have each element, and the first of them stores it */
    assert_int_equal(barriers("reg f32 t[4] = C[0][0 +: 4];"
                              "C[0][0 +: 4] = t;"),
                     1);
    /* another tile is stored: the pass adds the barrier */
    assert_int_equal(barriers("reg f32 t[32][32] = C[0 +: 32][0 +: 32], u[32][32] = 0;"
                              "C[0 +: 32][0 +: 32] = u;"
                              "D[0 +: 32][0 +: 32] = t;"),
                     1);
}

static void test_elements_of_views(void **state)
{
    (void)state;
    assert_int_equal(barriers("C[0][0] = 1; C[0][1] = 2;"), 0);
    assert_int_equal(barriers("C[0][0] = 1; C[0][0] = 2;"), 1);
    assert_int_equal(barriers("i32 i = n; C[i][0] = 1; i += 1; C[i][0] = 2;"), 1);
    assert_int_equal(barriers("C[n][0] = 1; C[n + 1][0] = 2;"), 0);
}

static void test_loops_over_views(void **state)
{
    (void)state;
    assert_int_equal(barriers("for (i32 p = 0; p < n; p += 32)"
                              "    C[0 +: 32][p +: 32] = A[0 +: 32][p +: 32];"),
                     0);
    assert_int_equal(barriers("for (i32 p = 0; p < n; p += 16)"
                              "    C[0 +: 32][p +: 32] = A[0 +: 32][p +: 32];"),
                     1);
    assert_int_equal(barriers("for (i32 p = 0; p < n; p += 32) {"
                              "    i32 q = 2 * p;"
                              "    C[0 +: 32][q +: 64] += A[0 +: 32][p +: 64];"
                              "}"),
                     0);
    assert_int_equal(barriers("for (i32 p = 0; p < n; p += 32) {"
                              "    C[0 +: 32][0 +: 32] = A[0 +: 32][p +: 32];"
                              "    sync();"
                              "}"),
                     1); /* the program's own */
    /* a loop that may have no turn */
    assert_int_equal(barriers("C[0 +: 32][0 +: 32] = A[0 +: 32][0 +: 32];"
                              "for (i32 p = 0; p < n; p++)"
                              "    sync();"
                              "D[0 +: 32][0 +: 32] = C[1 +: 32][0 +: 32];"),
                     2);
    /* the condition of a loop reads what its body writes */
    assert_int_equal(barriers("while (C[0][0] < 1)"
                              "    C[0][0] = 2;"),
                     2);
}

static void test_arms(void **state)
{
    (void)state;
    /* a barrier in one arm is not one in the other arm, nor certainly one after the `if` */
    assert_int_equal(
        barriers("C[0 +: 32][0 +: 32] = A[0 +: 32][0 +: 32];"
                 "if (n > 64) sync(); else D[0 +: 32][0 +: 32] = C[1 +: 32][0 +: 32];"),
        2);
    assert_int_equal(barriers("C[0 +: 32][0 +: 32] = A[0 +: 32][0 +: 32];"
                              "if (n > 64) sync();"
                              "D[0 +: 32][0 +: 32] = C[1 +: 32][0 +: 32];"),
                     2);
    assert_int_equal(barriers("C[0 +: 32][0 +: 32] = A[0 +: 32][0 +: 32];"
                              "if (n > 64) sync(); else sync();"
                              "D[0 +: 32][0 +: 32] = C[1 +: 32][0 +: 32];"),
                     2);
    assert_int_equal(barriers("if (n > 64) C[0 +: 32][0 +: 32] = A[0 +: 32][0 +: 32];"
                              "else C[32 +: 32][0 +: 32] = A[0 +: 32][0 +: 32];"
                              "C[0 +: 32][32 +: 32] = A[0 +: 32][0 +: 32];"),
                     0);
}

static void test_shared_within_a_statement(void **state)
{
    (void)state;
    assert_int_equal(barriers("s = s + 1; sync();"), 1);
    assert_true(barriers("s = trans(s); sync();") >= 2);
    assert_true(barriers("s[0 +: 16][:] = s[8 +: 16][:]; sync();") >= 2);
    assert_int_equal(barriers("s[0 +: 16][:] = s[16 +: 16][:]; sync();"), 1); /* surely others */
}

static void test_main_loops_have_no_more_barriers(void **state)
{
    static const char text[] =
        "kernel k(i32 n, const f16 *a, const f16 *b, f16 *c) grid(1) warps(4)\n"
        "{\n"
        "    global f16 A[n][n] = a, B[n][n] = b, C[n][n] = c;\n"
        "    shared f16 sa[64][16], sb[16][64];\n"
        "    reg f32 acc[64][64] = 0;\n"
        "    for (i32 p = 0; p < n; p += 16) {\n"
        "        sa = A[0 +: 64][p +: 16];\n"
        "        sb = B[p +: 16][0 +: 64];\n"
        "        sync();\n"
        "        reg f16 ra[64][16] = sa, rb[16][64] = sb;\n"
        "        acc += dot(ra, rb);\n"
        "        sync();\n"
        "    }\n"
        "    C[0 +: 64][0 +: 64] = (f16) acc;\n"
        "}\n";
    struct made m;
    (void)state;
    make_at(&m, "sm_80", 16, text);
    const char *loop = strstr(m.ptx, "$loop"), *end = strstr(m.ptx, "bra");
    for (const char *at = end; at; at = strstr(at + 1, "bra"))
        end = at;
    int inside = 0;
    assert_non_null(loop);
    for (const char *at = loop; (at = strstr(at + 1, "bar.sync")) && at < end;)
        inside++;
    assert_int_equal(inside, 2);
    free_made(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors_by_divisibility),
        cmocka_unit_test(test_every_type_and_width),
        cmocka_unit_test(test_inside_has_no_mask),
        cmocka_unit_test(test_asynchronous_copies),
        cmocka_unit_test(test_wavefronts_are_least),
        cmocka_unit_test(test_parts_of_shared_tiles),
        cmocka_unit_test(test_stmatrix_from_sm_90),
        cmocka_unit_test(test_ragged_blocks),
        cmocka_unit_test(test_views_in_program_order),
        cmocka_unit_test(test_tiles_that_go_back),
        cmocka_unit_test(test_elements_of_views),
        cmocka_unit_test(test_loops_over_views),
        cmocka_unit_test(test_arms),
        cmocka_unit_test(test_shared_within_a_statement),
        cmocka_unit_test(test_main_loops_have_no_more_barriers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
