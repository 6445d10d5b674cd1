/* The CPU engine: effects happen exactly as often as the language says, in an order that does
 * not show. Loops that only seem to wait, or to do nothing, are told from real ones. */
#include "cpu_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GIVEN(...) ((const struct given[]){__VA_ARGS__, {NULL, 0}})

/* Checks the kernel's array c of i32 after a run on zeros. */
static void expect_ints(const char *text, const struct given *given, int workers,
                        const int32_t *expected, size_t count)
{
    struct cpu_run r;
    cpu_open(&r, text, given);
    int32_t *c = cpu_array(&r, "c", count * sizeof *c);
    if (cpu_go(&r, workers) != CPU_OK)
        fail_msg("%s", r.fault.message);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(c[i], expected[i]);
    cpu_close(&r);
}

static bool is_serial(const char *text)
{
    struct cpu_run r;
    cpu_open(&r, text, NULL);
    assert_non_null(r.program);
    bool serial = r.program->serial;
    cpu_close(&r);
    return serial;
}

/* --- atomics --- */

/* Holds whatever the compiler learns about the operands. */
static void an_atomic_happens_once_a_thread(void **state)
{
    static const char *const values[] = {"thread.x * 0 + 1", "1", "thread.x - thread.x + n", "n"};
    static const int32_t fours[4] = {4, 4, 4, 4};
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "kernel k(i32 n, i32 *c) grid(1) threads(4)\n{\n    global i32 C[4] = c;\n"
                 "    atomic_add(C[0 +: 4], %s);\n}\n",
                 values[i]);
        expect_ints(text, GIVEN({"n", 1}), 1, fours, 4);
    }
}

/* Sums of floats, row by row and element by element: slices that begin before or after the edges,
 * rows that are not contiguous or lie over each other, one value for all, elements of other axes,
 * blocks that add to the same elements, old values. */
static void rows_are_added_as_elements_are(void **state)
{
    static const char *const adds[] = {
        "atomic_add(C[i - 5 +: 12][j - 3 +: 16], v);",
        "atomic_add(C[i +: 12][30 +: 16], v);",
        "atomic_add(C[2147483640 +: 12][2147483640 +: 16], v);",
        "atomic_add(C[i +: 12][-16 +: 16], v);",
        "atomic_add(C[7][0 +: 16], reshape(v[3 +: 1][:], 16));",
        "atomic_add(T[i +: 12][j +: 16], v);",
        "atomic_add(O[0 +: 12][0 +: 16], v);",
        "atomic_add(C[i +: 12][j +: 16], 3);",
        "atomic_add(C[:][5 +: 1], sum(v));",
        "atomic_max(C[i +: 12][j +: 16], v);",
        "reg %s o[12][16] = "
        "atomic_add(C[i +: 12][j +: 16], v);\natomic_add(C[0 +: 12][0 +: 16], o);",
        "atomic_add(C[i +: 12][j +: 16], v);\natomic_add(C[0 +: 12][0 +: 16], v);",
    };
    static const char *const types[] = {"f32", "f64"};
    static unsigned char out[2][37 * 41 * 8];
    (void)state;
    for (size_t i = 0; i < sizeof adds / sizeof *adds; i++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            char text[1024], add[256];
            snprintf(add, sizeof add, adds[i], types[t]);
            snprintf(text, sizeof text,
                     "kernel k(i32 n, %s *c) grid(3, 2) warps(1)\n{\n"
                     "    global %s C[37][41] = c, T[37][41] = c strides(1, 37);\n"
                     "    global %s O[12][16] = c strides(3, 1);\n"
                     "    i32 i = block.x * 12, j = block.y * 20;\n"
                     "    reg %s v[12][16] = (%s) (iota(12, 1) * 0.25 - iota(1, 16) * 1.5 + i);\n"
                     "    %s\n}\n",
                     types[t], types[t], types[t], types[t], types[t], add);
            for (int written = 0; written < 2; written++) {
                struct cpu_run r;
                written ? cpu_open_as_written(&r, text, GIVEN({"n", 1}))
                        : cpu_open(&r, text, GIVEN({"n", 1}));
                if (!r.program)
                    fail_msg("%s\n%s", r.why ? r.why : "", text);
                void *c = cpu_array(&r, "c", sizeof out[0]);
                memset(c, 0, sizeof out[0]);
                if (cpu_go(&r, 2) != CPU_OK)
                    fail_msg("%s\n%s", r.fault.message, text);
                memcpy(out[written], c, sizeof out[0]);
                cpu_close(&r);
            }
            if (memcmp(out[0], out[1], sizeof out[0]) != 0)
                fail_msg("other values\n%s", text);
        }
}

static void an_atomic_on_a_slice_happens_where_threads_run(void **state)
{
    static const int32_t expected[4] = {2, 2, 0, 3};
    (void)state;
    expect_ints("kernel k(i32 *c) grid(1) threads(4)\n{\n    global i32 C[4] = c;\n"
                "    if (thread.x < 2)\n        atomic_add(C[0 +: 2], 1);\n"
                "    i32 old[1] = atomic_max(C[3 +: 1], thread.x);\n}\n",
                NULL, 1, expected, 4);
}

static void a_warps_kernel_does_it_once_a_block(void **state)
{
    static const int32_t expected[2] = {3, 3};
    (void)state;
    expect_ints("kernel k(i32 *c) grid(3) warps(4)\n{\n    global i32 C[2] = c;\n"
                "    atomic_add(C[0 +: 2], 1);\n}\n",
                NULL, 2, expected, 2);
}

static void blocks_that_do_not_commute_run_in_order(void **state)
{
    (void)state;
#define TOUCHES(statements)                                                                        \
    "kernel k(i32 *c, i32 *d) grid(64) warps(1)\n{\n"                                              \
    "    global i32 C[8] = c, Same[8] = c, D[8] = d, W[8] = 0;\n    " statements "\n}\n"
    assert_false(is_serial(TOUCHES("atomic_add(C[0], 3); atomic_add(Same[1], 2);")));
    assert_false(is_serial(TOUCHES("atomic_add(C[0], 3); atomic_max(D[0], block.x);")));
    assert_false(is_serial(TOUCHES("atomic_add(C[0], 3); D[0 +: 8] = block.x;")));
    assert_false(is_serial(TOUCHES("C[block.x] = D[0];")));
    assert_true(is_serial(TOUCHES("atomic_add(C[0], 3); atomic_max(C[0], block.x);")));
    assert_true(is_serial(TOUCHES("atomic_add(C[0], 3); atomic_xor(Same[0], block.x);")));
    assert_true(is_serial(TOUCHES("atomic_add(C[0], 3); D[block.x] = Same[0];")));
    assert_true(is_serial(TOUCHES("atomic_add(C[D[0]], 3); atomic_add(D[0], 1);")));
    assert_true(is_serial(TOUCHES("atomic_or(W[0], 3); W[1 +: 2] = 1;")));
    assert_true(is_serial(TOUCHES("i32 old = atomic_add(C[0], 1);")));
    assert_false(is_serial(TOUCHES("i32 before = arrive(W[0]); if (before == 63) W[0] = 0;")));
    assert_false(is_serial(TOUCHES("arrive(C[0]); lock(C[0], 1); unlock(C[0], 0);")));
    assert_true(is_serial(TOUCHES("atomic_add(W[0], 1); arrive(W[1]);")));
}

/* --- waiting --- */

static void a_loop_with_an_atomic_changes_memory(void **state)
{
    static const int32_t six[1] = {6}, eight[1] = {8};
    (void)state;
    expect_ints("kernel k(i32 *c) grid(1) warps(1)\n{\n    global i32 C[1] = c;\n"
                "    while (atomic_add(C[0], 1) < 5) {\n    }\n}\n",
                NULL, 1, six, 1);
    expect_ints("kernel k(i32 *c) grid(1) warps(1)\n{\n    global i32 C[1] = c;\n"
                "    while (true) {\n        i32 x = 1 + atomic_add(C[0], 1);\n"
                "        if (x > 7)\n            break;\n    }\n}\n",
                NULL, 1, eight, 1);
    expect_ints("kernel k(i32 *c) grid(1) warps(1)\n{\n    global i32 C[1] = c;\n"
                "    while (true) {\n        if (atomic_add(C[0], 1) > 6)\n            break;\n"
                "    }\n}\n",
                NULL, 1, eight, 1);
}

/* --- faults --- */

static void expect_fault(const char *text, const struct given *given, enum cpu_fault_kind kind,
                         int thread)
{
    struct cpu_run r;
    cpu_open(&r, text, given);
    cpu_array(&r, "c", 64);
    assert_int_equal(cpu_go(&r, 1), kind);
    assert_int_equal(r.fault.thread[0], thread);
    cpu_close(&r);
}

static void folding_keeps_divisions_by_zero(void **state)
{
    static const char *const values[] = {"(5 / n) * 0", "0 * (5 % n)", "cdiv(5, n) & 0",
                                         "where(true, 1, 5 / n)"};
    static const int32_t zero[1] = {0};
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "kernel k(i32 n, i32 *c) grid(1) warps(1)\n{\n    global i32 C[4] = c;\n"
                 "    i32 x = %s;\n    C[0 +: 4] = x;\n}\n",
                 values[i]);
        expect_fault(text, GIVEN({"n", 0}), CPU_DIVIDE, -1);
    }
    expect_ints("kernel k(i32 n, i32 *c) grid(1) warps(1)\n{\n    global i32 C[1] = c;\n"
                "    C[0] = n / 3 * 0;\n}\n",
                GIVEN({"n", 7}), 1, zero, 1);
}

static void a_uniform_element_outside_names_the_first_thread_there(void **state)
{
    (void)state;
    expect_fault("kernel k(i32 n, i32 *c) grid(1) threads(8)\n{\n    global i32 C[4] = c;\n"
                 "    if (thread.x > 2)\n        C[n] = 1;\n}\n",
                 GIVEN({"n", 4}), CPU_BOUNDS, 3);
    expect_fault("kernel k(i32 n, i32 *c) grid(1) threads(8)\n{\n    global i32 C[4] = c;\n"
                 "    if (thread.x > 4)\n        C[thread.x - 5] = C[n];\n}\n",
                 GIVEN({"n", 4}), CPU_BOUNDS, 5);
}

/* The copy writes bytes 4 to 7 of the f64 that thread 0 reads. The pass `plan` would refuse it. */
static void a_wide_element_over_a_copy_is_a_fault(void **state)
{
    struct cpu_run r;
    (void)state;
    cpu_open_raw(&r,
                 "kernel k(const i8 *a, f64 *c) grid(1) threads(2)\n{\n"
                 "    global i8 A[4] = a;\n    global f64 C[2] = c;\n"
                 "    shared i8 bytes[8] at(0);\n    shared f64 wide[2] at(0);\n"
                 "    async bytes[4 +: 4] = A[0 +: 4];\n    C[thread.x] = wide[thread.x];\n"
                 "    async_wait(0);\n}\n",
                 NULL);
    cpu_array(&r, "a", 4);
    cpu_array(&r, "c", 16);
    assert_int_equal(cpu_go(&r, 1), CPU_ASYNC);
    assert_int_equal(r.fault.thread[0], 0);
    cpu_close(&r);
}

static void too_many_cooperative_blocks_are_refused(void **state)
{
    struct cpu_run r;
    (void)state;
    cpu_open(&r,
             "kernel k(i32 *c) grid(1000000) warps(1) cooperative\n{\n    global i32 C[1] = c;\n"
             "    shared i32 s[1024][16] = 0;\n    sync();\n    lock(C[0], 0);\n"
             "    unlock(C[0], 0);\n}\n",
             NULL);
    cpu_array(&r, "c", 4);
    assert_int_equal(cpu_go(&r, 1), CPU_NO_MEMORY);
    assert_non_null(strstr(r.fault.message, "cooperative"));
    cpu_close(&r);
}

/* --- scans --- */

/* An exclusive scan begins with the neutral element of the stored type. */
static void exclusive_scans_begin_in_the_stored_type(void **state)
{
    static const struct {
        const char *dtype;
        int64_t least, greatest;
    } types[] = {{"i8", INT8_MIN, INT8_MAX},    {"u8", 0, UINT8_MAX},
                 {"i16", INT16_MIN, INT16_MAX}, {"u16", 0, UINT16_MAX},
                 {"i32", INT32_MIN, INT32_MAX}, {"u32", 0, UINT32_MAX},
                 {"i64", INT64_MIN, INT64_MAX}};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char text[512];
        struct cpu_run r;
        snprintf(text, sizeof text,
                 "kernel k(const %s *a, i64 *c) grid(1) warps(1)\n{\n    global %s A[3] = a;\n"
                 "    global i64 C[4][3] = c;\n    reg %s x[3] = A[0 +: 3];\n"
                 "    C[0] = (i64) scan(min, x, axis = 0, exclusive = true);\n"
                 "    C[1] = (i64) scan(max, x, axis = 0, exclusive = true);\n"
                 "    C[2] = (i64) scan(mul, x, axis = 0, exclusive = true);\n"
                 "    C[3] = (i64) scan(and, x, axis = 0, exclusive = true);\n}\n",
                 types[i].dtype, types[i].dtype, types[i].dtype);
        cpu_open(&r, text, NULL);
        cpu_array(&r, "a", 3 * 8);
        int64_t *c = cpu_array(&r, "c", 12 * 8);
        assert_int_equal(cpu_go(&r, 1), CPU_OK);
        assert_true(c[0] == types[i].greatest && c[1] == 0);
        assert_true(c[3] == types[i].least && c[4] == 0);
        assert_true(c[6] == 1 && c[7] == 0);
        assert_true(c[9] == (types[i].least < 0 ? -1 : types[i].greatest) && c[10] == 0);
        cpu_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_atomic_happens_once_a_thread),
        cmocka_unit_test(rows_are_added_as_elements_are),
        cmocka_unit_test(an_atomic_on_a_slice_happens_where_threads_run),
        cmocka_unit_test(a_warps_kernel_does_it_once_a_block),
        cmocka_unit_test(blocks_that_do_not_commute_run_in_order),
        cmocka_unit_test(a_loop_with_an_atomic_changes_memory),
        cmocka_unit_test(folding_keeps_divisions_by_zero),
        cmocka_unit_test(a_uniform_element_outside_names_the_first_thread_there),
        cmocka_unit_test(a_wide_element_over_a_copy_is_a_fault),
        cmocka_unit_test(too_many_cooperative_blocks_are_refused),
        cmocka_unit_test(exclusive_scans_begin_in_the_stored_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
