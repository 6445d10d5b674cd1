/* The estimate of registers: small kernels whose live registers can be counted by hand. */
#include "ptx/ptx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arena_helper.h"

#include <string.h>

static const struct ptx_function *kernel(const char *body)
{
    struct diag d;
    char *text =
        arena_printf(&arena,
                     ".version 9.0\n.target sm_90\n.address_size 64\n"
                     ".entry k() {\n.reg .pred %%p<2>; .reg .b32 %%r<9>; .reg .b64 %%l<9>;\n"
                     ".shared .align 4 .b8 s[32];\n%s\nret;\n}\n",
                     body);
    struct source *source = arena_new(&arena, struct source);
    *source = (struct source){"k.ptx", text, strlen(text)};
    diag_init(&d, &arena);
    struct ptx_module *m = ptx_parse(&arena, source, &d);
    assert_non_null(m);
    return ptx_find_function(m, "k");
}

static void expect(const char *body, int registers)
{
    const int found = ptx_estimate_registers(&arena, kernel(body));
    if (found != registers)
        fail_msg("%d registers, not %d:\n%s", found, registers, body);
}

static void counts_words(void **state)
{
    (void)state;
    expect("mov.u32 %r0, 1; add.s32 %r1, %r0, 1; add.s32 %r2, %r1, %r0; st.shared.u32 [s], %r2;",
           2);
    expect("mov.u64 %l0, 1; mov.u32 %r0, 1; st.shared.u32 [s], %r0; st.shared.u64 [s], %l0;", 3);
    expect("setp.eq.u32 %p0, 1, 2; @%p0 st.shared.u32 [s], 1;", 0);
}

static void carries_through_loops(void **state)
{
    (void)state;
    expect("mov.u32 %r0, 1;\n"
           "loop: mov.u32 %r1, 2; add.s32 %r2, %r1, %r0; add.s32 %r3, %r2, %r1;\n"
           "st.shared.u32 [s], %r3; @%p0 bra loop;",
           3);
}

/* A sum that a chain of additions gives back to itself lives in one register at a time. */
static void chains_leave_holes(void **state)
{
    (void)state;
    expect("mov.u32 %r0, 0; mov.u32 %r1, 0;\n"
           "loop: add.s32 %r2, %r0, 1; add.s32 %r3, %r1, 1; add.s32 %r0, %r2, 1; add.s32 %r1, %r3, "
           "1;\n"
           "@%p0 bra loop; st.shared.u32 [s], %r0; st.shared.u32 [s], %r1;",
           2);
}

static void branches_out_of_a_hole(void **state)
{
    (void)state;
    static const char loop[] =
        "mov.u32 %r0, 0;\n"
        "loop: add.s32 %r1, %r0, 1; @%p0 bra done; add.s32 %r0, %r1, 1; bra loop;\n"
        "done: ";
    expect(loop, 1);
    expect(arena_printf(&arena, "%sst.shared.u32 [s], %%r0;", loop), 2);
}

/* Only a write that is always done ends a value. */
static void guarded_writes_keep_values(void **state)
{
    (void)state;
    static const char *const guards[] = {"", "@%p0"};
    for (int i = 0; i < 2; i++)
        expect(arena_printf(&arena,
                            "mov.u32 %%r0, 1; add.s32 %%r1, %%r0, 1; add.s32 %%r2, %%r1, 1;\n"
                            "add.s32 %%r1, %%r1, %%r2; %s mov.u32 %%r0, 5;\n"
                            "add.s32 %%r0, %%r0, %%r1; st.shared.u32 [s], %%r0;",
                            guards[i]),
               2 + i);
}

/* The next iteration reads what is written only after the loop. */
static void holes_begin_after_loops(void **state)
{
    (void)state;
    expect("mov.u32 %r0, 1;\n"
           "loop: add.s32 %r1, %r0, 1; add.s32 %r2, %r1, 1; add.s32 %r1, %r1, %r2; st.shared.u32 "
           "[s], %r1;\n"
           "@%p0 bra loop; mov.u32 %r0, 2; st.shared.u32 [s], %r0;",
           3);
}

static void instructions_above(void **state)
{
    (void)state;
    const struct ptx_function *f = kernel("mov.u32 %r0, 1; mov.u32 %r1, 1; mov.u32 %r2, 1;\n"
                                          "st.shared.u32 [s], %r2; st.shared.u32 [s], %r1;\n"
                                          "st.shared.u32 [s], %r0; bar.sync 0;");
    assert_true(ptx_share_above(&arena, f, 3) == 0); /* 8 instructions, the last is ret */
    assert_true(ptx_share_above(&arena, f, 2) == 1.0 / 8);
    assert_true(ptx_share_above(&arena, f, 1) == 3.0 / 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_words),
        cmocka_unit_test(carries_through_loops),
        cmocka_unit_test(chains_leave_holes),
        cmocka_unit_test(branches_out_of_a_hole),
        cmocka_unit_test(guarded_writes_keep_values),
        cmocka_unit_test(holes_begin_after_loops),
        cmocka_unit_test(instructions_above),
    };
    return cmocka_run_group_tests(tests, arena_set_up, arena_tear_down);
}
