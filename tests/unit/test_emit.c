/* PTX of whole kernels, control flow, scalars. Other files test tiles and memory. */
#include "emit_program.h"

#include "base/pointer_map.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- helpers --- */

#define HEAD "kernel f(i32 m, static i32 n, i32 k, f32 x, const f32 *a, f32 *c) "
#define THREADS HEAD "grid(cdiv(m, 32)) threads(32)\n"
#define VIEWS "global f32 A[m] = a, C[m] = c;\n"

static void open_kernel(struct program *p, const char *text, struct lowered *lowered)
{
    p->statics = p->statics ? p->statics : 64;
    program_open(p, text);
    if (!program_check(p, 0) || !program_emit(p, p->target ? p->target : "sm_80", lowered))
        fail_msg("%s\n%s", text, program_messages(p));
}

/* Returns a thread-level kernel's PTX, from the statements after its views. */
static const char *ptx_of(struct program *p, const char *statements)
{
    char text[4096];
    struct lowered lowered;
    snprintf(text, sizeof text, "%s{\n%s%s\n}\n", THREADS, VIEWS, statements);
    open_kernel(p, text, &lowered);
    return emitted_text(p, &lowered);
}

/* Checks the number of occurrences of each text in the statements' PTX: "text", number, …, NULL. */
static void expect_counts(const char *statements, ...)
{
    struct program p = {0};
    const char *text = ptx_of(&p, statements);
    va_list list;
    va_start(list, statements);
    expect_occurrences(statements, text, list);
    va_end(list);
    program_free(&p);
}

/* --- the kernel as a whole --- */

static void test_parameters(void **state)
{
    (void)state;
    struct program p = {.statics = 8};
    struct lowered l;
    open_kernel(&p,
                "kernel f(bool b, i8 i, static i32 n, f16 h, const f32 *a, u64 u, f32 *c) grid(1) "
                "threads(3, 2)\n{ global f32 A[4] = a, C[4] = c; global i32 W[n] = 0;\n"
                "lock(W[0], 0); if (b) C[0] = A[i] + h + u + W[1]; unlock(W[0], 1); }",
                &l);
    const enum lowered_param_kind kinds[] = {LOWERED_SCALAR,    LOWERED_SCALAR, LOWERED_SCALAR,
                                             LOWERED_POINTER,   LOWERED_SCALAR, LOWERED_POINTER,
                                             LOWERED_WORKSPACE, LOWERED_TICKET};
    assert_int_equal(l.params.count, 8);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(l.params.data[i].kind, kinds[i]);
    assert_int_equal(l.block[0] * 100 + l.block[1] * 10 + l.block[2], 321);
    const char *text = emitted_text(&p, &l);
    assert_non_null(strstr(text, ".param .u8 b,\n    .param .s8 i,\n    .param .b16 h,\n"));
    assert_non_null(strstr(text, ".reqntid 3, 2, 1"));
    assert_int_equal(occurrences(text, "atom."), 1);
    program_free(&p);
}

static void test_limits(void **state)
{
    (void)state;
    struct program p = {.statics = 64};
    struct lowered l;
    program_open(&p, "kernel f(const f32 *a, f32 *c) grid(1) warps(4)\n"
                     "{ global f32 A[256][128] = a, C[256][128] = c;\n"
                     "shared f32 s[256][64], t[256][64];\n"
                     "s = A[0 +: 256][0 +: 64]; t = A[0 +: 256][64 +: 64]; sync();\n"
                     "C[0 +: 256][0 +: 64] = s; C[0 +: 256][64 +: 64] = t; }");
    assert_true(program_check(&p, 0));
    assert_false(program_emit(&p, "sm_86", &l));
    assert_string_equal(program_messages(&p),
                        "1: error: `f` takes 131072 bytes of shared memory a block, sm_86 has "
                        "101376 | 3: `s` is f32[256][64]: 65536 bytes | 3: `t` is f32[256][64]: "
                        "65536 bytes | 0: smaller tiles and narrower types take less; after "
                        "`free`, other tiles may use a tile's place\n");
    program_free(&p);
    p = (struct program){0};
    program_open(&p, "kernel f(f32 x, e4m3 *c) grid(1) threads(32)\n"
                     "{ global e4m3 C[32] = c; C[thread.x] = (e4m3) x; }");
    assert_true(program_check(&p, 0));
    assert_false(program_emit(&p, "sm_86", &l));
    assert_string_equal(program_messages(&p),
                        "2: error: sm_86 has no `e4m3`: sm_89 is the first that has | "
                        "2: f16 has all of its values, in twice the space\n");
    assert_true(program_check(&p, 0) && program_emit(&p, "sm_89", &l));
    program_free(&p);
    assert_null(target_find((struct ptx_target){75, 0}));
    assert_int_equal(target_find((struct ptx_target){90, 'a'})->shared_bytes, 227 * 1024);
    assert_int_equal(target_find((struct ptx_target){89, 0})->shared_bytes, 99 * 1024);
}

static void test_map(void **state)
{
    (void)state;
    struct program p = {0};
    struct pointer_map m = {0};
    int keys[1000];
    program_open(&p, "");
    assert_null(pointer_map_get(&m, &keys[0]));
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 1000; i++)
            pointer_map_put(&p.arena, &m, &keys[i], &keys[(i + round) % 1000]);
    assert_int_equal(m.numbers.count, 1000);
    for (int i = 0; i < 1000; i++)
        assert_ptr_equal(pointer_map_get(&m, &keys[i]), &keys[(i + 1) % 1000]);
    assert_null(pointer_map_get(&m, &m));
    program_free(&p);
}

/* --- control flow --- */

static void test_branches(void **state)
{
    (void)state;
    expect_counts("i32 i = thread.x; if (i < k) C[i] = x;", "bra", 0, "    st.global", 0,
                  " st.global", 1, NULL);
    expect_counts("if (m < k) C[thread.x] = x; else C[thread.x] = 1;", "bra", 2, "$else_", 2, NULL);
    expect_counts("if (thread.x < 100) C[thread.x] = x;", "bra", 0, "setp", 0, NULL);
    expect_counts("if (thread.x > 99) C[thread.x] = x;", "st.global", 0, NULL);
    expect_counts("if (thread.x > k) return; C[thread.x] = x;", "ret;", 2, "bra", 0, NULL);
}

static void test_variables(void **state)
{
    (void)state;
    /* The value that an arm assigns is seen after the `if`; a constant is known until then. */
    expect_counts("i32 i = 1; if (m < k) i = 2; C[i] = x;", "mov.s32", 2, "bra", 0, "mad.wide.s32",
                  1, NULL);
    expect_counts("i32 i = 1; i = i + 1; C[i] = x;", "+8]", 1, "add.s32", 0, NULL);
    expect_counts("i32 i = m; i += 1; i += 2; C[i - m] = x;", "+12]", 1, "add.s32", 0, NULL);
}

static void test_loops(void **state)
{
    (void)state;
    /* A guard, a head, one branch back. */
    expect_counts("for (i32 i = thread.x; i < k; i += 32) { if (A[i] > 0) break; C[i] = x; }",
                  "bra $", 3, "$loop", 2, "$end", 3, "mul", 0, NULL);
    expect_counts("i32 i = 0; while (A[i] > 0) { i++; if (A[i] == 2) continue; C[i] = x; }",
                  "$end_2", 2, "$end_1", 2, "$loop", 2, NULL);
    expect_counts("i32 i = 0; do { C[i] = x; i++; } while (i < k);", "bra", 1, NULL);
    expect_counts("for (i32 i = 0; i < 0; i++) C[i] = x;", "st.global", 0, "bra", 0, NULL);
}

static void test_unrolling(void **state)
{
    (void)state;
    expect_counts("unroll for (i32 i = 0; i < 5; i++) C[i] = x;", "st.global.v4.f32", 1,
                  "st.global.f32", 1, "bra", 0, NULL);
    expect_counts("for (i32 i = 0; i < 3; i++) C[i] = x;", "st.global.v2.f32", 1, "st.global.f32",
                  1, "bra", 0, NULL);
    expect_counts("unroll for (i32 i = 0; i < 9; i++) { if (A[i] > 0) break; C[i] = x; }",
                  "st.global", 9, "$end_1", 10, "bra", 9, NULL);
    /* Sixteen iterations at a time, and the rest; addresses step by a constant. */
    expect_counts("f32 s = 0; for (i32 i = 0; i < k; i++) s += A[i]; C[0] = s;", "add.rn.f32", 17,
                  "$loop", 4, "bra", 4, "mul", 0, NULL);
    expect_counts("f32 s = 0; for (i32 i = 0; i < 400; i++) s += A[i]; C[0] = s;", "add.rn.f32", 16,
                  "bra", 1, NULL);
    /* Larger bodies are copied fewer times: a number that divides the iterations. */
    expect_counts("f32 s = 0; for (i32 i = 0; i < 408; i++) s += A[i]; C[0] = s;", "add.rn.f32", 8,
                  "bra", 1, NULL);
    expect_counts("f32 s = 0; for (i32 i = 0; i < k; i++) s += A[i] * A[i + m] + A[m * i] * x * m; "
                  "C[0] = s;",
                  "add.rn.f32", 9, NULL);
    expect_counts("f32 s = 0; unroll(2) for (i32 i = 0; i < k; i++) s += A[i]; C[0] = s;",
                  "add.rn.f32", 3, NULL);
    expect_counts("f32 s = 0; for (i32 i = 0, j = 1; i < k; i += j, j += 1) s += A[i]; C[0] = s;",
                  "add.rn.f32", 1, NULL);
    /* The counter cycles through constants: a copy for each. */
    expect_counts("shared f32 t[3][32]; for (i32 i = 0, s = 0; i < k; i++, s = (s + 1) % 3) { "
                  "t[s][thread.x] = A[i]; sync(); C[i] = t[s][0]; sync(); }",
                  "bar.sync", 6, "+128], ", 1, "+256], ", 1, "rem", 0, "$end", 4, NULL);
}

/* --- scalars --- */

static void test_lazy(void **state)
{
    (void)state;
    expect_counts("i32 i = thread.x; C[i] = i < k ? A[i] : 0;", "bra", 0, " ld.global", 1,
                  "    ld.global", 0, NULL);
    expect_counts("i32 i = thread.x; if (i < k && A[i] > 0) C[i] = x;", "bra", 0, "    ld.global",
                  0, NULL);
    expect_counts("i32 i = thread.x; f32 v = i < k ? A[i] + A[i + 1] : A[2 * i]; C[i] = v;", "bra",
                  0, "    ld.global", 0, " ld.global", 3, NULL);
    /* Atomics need a branch. */
    expect_counts("i32 i = thread.x; if (i < k && atomic_add(C[0], x) > 0) C[i] = x;", "bra", 2,
                  NULL);
}

static void test_grid(void **state)
{
    (void)state;
    expect_counts("C[block.y] = x;", "%ctaid", 0, NULL);
    expect_counts("C[block.x] = grid.x * 1.0;", "%ctaid.x", 1, "%nctaid.x", 1, NULL);
}

static void test_assume(void **state)
{
    (void)state;
    expect_counts("assume(m >= 64 && k % 4 == 0); if (m > 63) C[k % 4] = x;", "bra", 0, "rem", 0,
                  "and.b32", 0, NULL);
}

/* --- all kernels --- */

static const char *read_text(struct program *p, const char *path)
{
    FILE *f = fopen(path, "r");
    struct text t;
    char line[1024];
    assert_non_null(f);
    text_init(&t, &p->arena);
    text_add(&t, "");
    while (fgets(line, sizeof line, f))
        text_add(&t, line);
    fclose(f);
    return t.data;
}

/* Checks that printed PTX parses to the same module. */
static void expect_parses(struct program *p, const char *text)
{
    struct source source = {"t.ptx", text, strlen(text)};
    struct ptx_module *m = ptx_parse(&p->arena, &source, &p->diag);
    if (!m || !ptx_verify(m, &p->diag))
        fail_msg("%s", program_messages(p));
    struct text again;
    text_init(&again, &p->arena);
    ptx_print(&again, m);
    assert_string_equal(again.data, text);
}

static void compile_kernels(const char *path, const char *target, bool assembled)
{
    struct program file = {0}, p = {.name = path, .statics = 64, .target = target};
    program_open(&file, "");
    const char *source = read_text(&file, path);
    program_open(&p, source);
    for (int i = 0; i < program_kernels(&p); i++) {
        struct lowered l;
        if (!program_check(&p, i) || !program_emit(&p, target, &l))
            fail_msg("%s, %s:\n%s", path, target, program_messages(&p));
        const char *text = emitted_text(&p, &l);
        expect_parses(&p, text);
        const char *said = assembled && has_assembler() ? assemble(&p, target, text) : NULL;
        if (said)
            fail_msg("%s, %s:\n%s", path, target, said);
    }
    program_free(&p);
    program_free(&file);
}

/* The shipped kernels with their default choices; with TW_TEST_LONG they are assembled for all
 * targets. */
static void test_kernels(void **state)
{
    (void)state;
    static const char *const targets[] = {"sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"};
    bool all = getenv("TW_TEST_LONG") != NULL;
    glob_t files;
    assert_int_equal(glob(TW_TEST_ROOT "/kernels/*/*.tile", 0, NULL, &files), 0);
    for (size_t f = 0; f < files.gl_pathc; f++)
        for (size_t t = strstr(files.gl_pathv[f], "/fp8") ? 2 : 0; /* from sm_89 on */
             t < sizeof targets / sizeof targets[0] &&
             !strstr(files.gl_pathv[f], "/hopper/"); /* for sm_90a alone */
             t++)
            compile_kernels(files.gl_pathv[f], targets[t],
                            all || (t == 3 && strstr(files.gl_pathv[f], "sgemm")));
    globfree(&files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_map),        cmocka_unit_test(test_branches),
        cmocka_unit_test(test_variables),  cmocka_unit_test(test_loops),
        cmocka_unit_test(test_unrolling),  cmocka_unit_test(test_lazy),
        cmocka_unit_test(test_grid),       cmocka_unit_test(test_assume),
        cmocka_unit_test(test_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
