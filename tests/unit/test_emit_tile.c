/* Tile expressions: kernels over random extents, types and numbers of warps, compiled, executed
 * in lockstep, and compared with the CPU engine's results for the same text. */
#include "emit_compare.h"
#include "emit_program.h"
#include "random_tiles.h"
#include "test_layout_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

static void random_tiles(void **state)
{
    static const char *const targets[] = {"sm_80", "sm_90"};
    char text[4096];
    uint64_t seed = 41;
    (void)state;
    for (int round = random_rounds(250); round > 0; round--) {
        tile_kernel_random(text, sizeof text, &seed);
        compare_with_cpu(text, targets[random_below(&seed, 2)], seed, tile_kernel_number);
    }
}

/* The assembler accepts them without a warning. */
static void they_assemble(void **state)
{
    char text[4096];
    (void)state;
    for (int body = 0; body < TILE_BODIES && has_assembler(); body++) {
        struct program p = {0};
        struct lowered lowered;
        program_open(&p, tile_kernel_write(text, sizeof text, body, body % TILE_TYPES, 20, 33, 4));
        assert_true(program_check(&p, 0) && program_emit(&p, "sm_90", &lowered));
        const char *why = assemble(&p, "sm_90", emitted_text(&p, &lowered));
        if (why)
            fail_msg("%s\n%s", why, text);
        program_free(&p);
    }
}

/* --- The cost of tile ops --- */

static int instructions(const struct ptx_function *f, enum ptx_op op)
{
    int count = 0;
    for (size_t i = 0; i < f->body.count; i++)
        count +=
            f->body.data[i].kind == PTX_AT_INSTRUCTION && f->body.data[i].instruction->op == op;
    return count;
}

static void open_emitted(struct program *p, const char *text, struct lowered *out)
{
    *p = (struct program){0};
    program_open(p, text);
    if (!program_check(p, 0) || !program_emit(p, "sm_80", out))
        fail_msg("%s", program_messages(p));
}

static void a_sum_over_the_block_has_one_barrier(void **state)
{
    struct program p;
    struct lowered out;
    (void)state;
    open_emitted(&p,
                 "kernel t(const f32 *a, f32 *c) grid(1) warps(4)\n"
                 "{\n"
                 "    global f32 A[1024] = a, C[1] = c;\n"
                 "    C[0] = sum(A[0 +: 1024]);\n"
                 "}\n",
                 &out);
    assert_int_equal(instructions(out.function, PTX_SHFL), 5);
    assert_int_equal(instructions(out.function, PTX_BAR), 1);
    assert_int_equal(instructions(out.function, PTX_ADD), 7 + 5 + 3);
    program_free(&p);
}

static void what_does_not_move_costs_nothing(void **state)
{
    struct program p;
    struct lowered out;
    (void)state;
    open_emitted(&p,
                 "kernel t(const f32 *a, f32 *c) grid(1) warps(1)\n"
                 "{\n"
                 "    global f32 A[8][32] = a, C[8][32] = c;\n"
                 "    reg f32 x[8][32] = A;\n"
                 "    C = trans(trans(reshape(reshape(x, 256), 8, 32)));\n"
                 "}\n",
                 &out);
    assert_int_equal(instructions(out.function, PTX_SHFL), 0);
    assert_int_equal(instructions(out.function, PTX_SELP), 0);
    assert_int_equal(instructions(out.function, PTX_BAR), 0);
    program_free(&p);
}

/* A row's factor is computed once for all the registers of the row. */
static void operands_that_are_broadcast_are_computed_once(void **state)
{
    struct program p;
    struct lowered out;
    (void)state;
    open_emitted(&p,
                 "kernel t(const f32 *a, const f32 *b, f32 *c) grid(1) warps(1)\n"
                 "{\n"
                 "    global f32 A[4][128] = a, B[4][1] = b, C[4][128] = c;\n"
                 "    C[0 +: 4][0 +: 128] = A[0 +: 4][0 +: 128] * sqrt(B[0 +: 4][0 +: 1]);\n"
                 "}\n",
                 &out);
    assert_int_equal(instructions(out.function, PTX_MUL), 16);
    assert_int_equal(instructions(out.function, PTX_SQRT), 4);
    program_free(&p);
}

static void integers_are_reduced_by_redux(void **state)
{
    struct program p;
    struct lowered out;
    (void)state;
    open_emitted(&p,
                 "kernel t(const i32 *a, i32 *c) grid(1) warps(1)\n"
                 "{\n"
                 "    global i32 A[64] = a, C[1] = c;\n"
                 "    C[0] = max(A[0 +: 64]);\n"
                 "}\n",
                 &out);
    assert_int_equal(instructions(out.function, PTX_REDUX), 1);
    assert_int_equal(instructions(out.function, PTX_SHFL), 0);
    program_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_tiles),
        cmocka_unit_test(they_assemble),
        cmocka_unit_test(a_sum_over_the_block_has_one_barrier),
        cmocka_unit_test(what_does_not_move_costs_nothing),
        cmocka_unit_test(operands_that_are_broadcast_are_computed_once),
        cmocka_unit_test(integers_are_reduced_by_redux),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
