/* print() as PTX: rows are assembled in memory and passed to vprintf as a whole. A device is
 * needed to compare the texts with those of the CPU engine, digit by digit: tests/gpu. */
#include "emit_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *ptx_of(struct program *p, const char *text, struct lowered *lowered)
{
    memset(p, 0, sizeof *p);
    memset(lowered, 0, sizeof *lowered);
    program_open(p, text);
    if (!program_check(p, 0) || !program_emit(p, "sm_80", lowered))
        fail_msg("%s\n%s", text, program_messages(p));
    const char *ptx = emitted_text(p, lowered);
    const char *said = has_assembler() ? assemble(p, "sm_80", ptx) : NULL;
    if (said)
        fail_msg("%s\n%s\n%s", said, text, ptx);
    return ptx;
}

static void every_type_and_shape(void **state)
{
    struct program p;
    struct lowered l;
    (void)state;
    const char *ptx =
        ptx_of(&p,
               "kernel f(i32 n, f64 d, f16 h, bf16 q, u64 u, i8 i, bool b) grid(n, 2, 2) "
               "threads(8, 4)\n{\n"
               "    i32 x = thread.x;\n    f32 v[3] = x;\n    bool t[2] = b;\n"
               "    if (x > 3)\n        print(\"varying\", x, d, h, q, u, i, b, v, t);\n"
               "    print(x + 1, v);\n    print(\"nothing\");\n}\n",
               &l);
    assert_int_equal(occurrences(ptx, "call $print_show"), 3); /* one row each, for each thread */
    /* memory that the rows share, and vprintf's arguments */
    assert_int_equal(occurrences(ptx, ".local .align"), 2);
    assert_int_equal(l.shared_bytes, 0);
    program_free(&p);
}

static void tiles_by_one_thread(void **state)
{
    struct program p;
    struct lowered l;
    (void)state;
    const char *ptx =
        ptx_of(&p,
               "kernel f(i32 n, const f16 *a) grid(n) warps(4)\n{\n    global f16 A[n][n] = a;\n"
               "    reg f16 t[64][12] = A[0 +: 64][0 +: 12];\n    reg bool c[4] = iota() > 2;\n"
               "    print(\"t\", t, t[0 +: 2] * 2, c, n);\n    f32 v[2] = n;\n    print(v);\n}\n",
               &l);
    /* 8 rows of 12 are shown, 2 of 12, and 4 */
    assert_int_equal(occurrences(ptx, "ld.shared.b16"), 96 + 24);
    assert_int_equal(occurrences(ptx, "ld.shared.u8"), 4);
    assert_int_equal(occurrences(ptx, "call $print_show"), 2);
    program_free(&p);
}

static void too_much_is_refused(void **state)
{
    struct program p = {0};
    struct lowered l = {0};
    (void)state;
    program_open(&p, "kernel f(i32 n) grid(n) warps(16)\n{\n    reg i32 t[12][12][12][12] = 1;\n"
                     "    print(t);\n}\n");
    assert_true(program_check(&p, 0));
    assert_false(program_emit(&p, "sm_80", &l));
    if (!strstr(program_messages(&p), "print() would show 20736 elements"))
        fail_msg("%s", program_messages(&p));
    program_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_and_shape),
        cmocka_unit_test(tiles_by_one_thread),
        cmocka_unit_test(too_much_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
