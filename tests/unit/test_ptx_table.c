/* The tables of PTX: properties that every row must have. */
#include "ptx/ptx_fragments.h"
#include "ptx/ptx_index.h"
#include "ptx/ptx_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arena_helper.h"

#include <stdio.h>
#include <string.h>

static void names_are_unique(void **state)
{
    (void)state;
    struct ptx_index index;
    ptx_index_init(&index, &arena);
    assert_int_equal(index.ops.count, PTX_OP_COUNT);
    assert_int_equal(index.mods.count, MOD_COUNT - 1);
    assert_int_equal(index.specials.count, PTX_SPECIAL_COUNT);
    for (int i = 0; i < PTX_OP_COUNT; i++)
        assert_int_equal(
            name_table_find(&index.ops, ptx_ops[i].name, strlen(ptx_ops[i].name))->number, i);
    for (int i = 1; i < MOD_COUNT; i++)
        assert_int_equal(
            name_table_find(&index.mods, ptx_mods[i].text, strlen(ptx_mods[i].text))->number, i);
}

static void forms_stand_with_their_instructions(void **state)
{
    (void)state;
    size_t total = 0;
    for (int op = 0; op < PTX_OP_COUNT; op++) {
        size_t count;
        const struct ptx_form *forms = ptx_forms_of((enum ptx_op)op, &count);
        assert_true(count > 0);
        assert_ptr_equal(forms, &ptx_forms[total]);
        total += count;
    }
    assert_int_equal(total, ptx_form_count);
}

static void check_groups(const struct ptx_form *form)
{
    assert_true(ptx_group_count(form) <= PTX_MOST_MODS);
    for (size_t g = 0; g < ptx_group_count(form); g++) {
        struct ptx_group group = ptx_group_at(form, g);
        assert_true(group.count > 0);
        for (int i = 0; i < group.count; i++) {
            assert_in_range(group.mods[i], 1, MOD_SAME0);
            for (int k = 0; k < i; k++)
                assert_int_not_equal(group.mods[i], group.mods[k]);
        }
    }
}

static void rows_make_sense(void **state)
{
    (void)state;
    for (size_t i = 0; i < ptx_form_count; i++) {
        const struct ptx_form *form = &ptx_forms[i];
        assert_in_range(form->version, 10, 99);
        assert_true(form->target <= 121 || form->target > PTX_OWN);
        assert_true(form->slots <= 16);
        check_groups(form);
    }
    for (int i = 1; i < MOD_COUNT; i++)
        assert_true(ptx_mods[i].class > PTX_CLASS_NONE);
}

static void modifiers_in_any_order(void **state)
{
    (void)state;
    size_t count;
    const struct ptx_form *atom = ptx_forms_of(PTX_ATOM, &count);
    uint16_t usual[] = {MOD_RELAXED, MOD_GPU, MOD_GLOBAL, MOD_AND, MOD_B32};
    uint16_t other[] = {MOD_GLOBAL, MOD_AND, MOD_RELAXED, MOD_GPU, MOD_B32};
    uint16_t twice[] = {MOD_RELAXED, MOD_RELAXED, MOD_AND, MOD_B32};
    uint16_t order[PTX_MOST_MODS];
    assert_true(ptx_form_takes(atom, usual, 5, NULL));
    assert_false(ptx_form_takes(atom, other, 5, NULL));
    assert_true(ptx_form_takes(atom, other, 5, order));
    assert_memory_equal(order, usual, sizeof usual);
    assert_false(ptx_form_takes(atom, twice, 4, order));
}

static void targets(void **state)
{
    (void)state;
    struct ptx_target t;
    char text[64];
    assert_true(ptx_target_parse("sm_90a", 6, &t));
    assert_int_equal(t.number, 90);
    assert_int_equal(t.suffix, 'a');
    assert_false(ptx_target_parse("sm_91", 5, &t));
    assert_false(ptx_target_parse("sm_80a", 6, &t));
    assert_false(ptx_target_parse("sm_900000", 9, &t));
    struct ptx_target sm80 = {80, 0}, sm90 = {90, 0}, sm90a = {90, 'a'}, sm100f = {100, 'f'};
    assert_true(ptx_target_has(sm90, 80));
    assert_false(ptx_target_has(sm80, 90));
    assert_false(ptx_target_has(sm90, PTX_OWN + PTX_A90));
    assert_true(ptx_target_has(sm90a, PTX_OWN + PTX_A90));
    assert_false(ptx_target_has(sm100f, PTX_OWN + PTX_A100));
    assert_true(ptx_target_has(sm100f, PTX_OWN + PTX_A100 + PTX_FAMILY));
    ptx_target_name(PTX_OWN + PTX_A100 + PTX_A103, text, sizeof text);
    assert_string_equal(text, "sm_100a, sm_103a");
    ptx_target_name(80, text, sizeof text);
    assert_string_equal(text, "sm_80");
}

static void shapes(void **state)
{
    (void)state;
    int m, n, k;
    assert_true(ptx_shape(MOD_M16N8K256, &m, &n, &k));
    assert_int_equal(m, 16);
    assert_int_equal(n, 8);
    assert_int_equal(k, 256);
    assert_true(ptx_shape(MOD_M8N8, &m, &n, &k));
    assert_int_equal(k, 0);
    assert_false(ptx_shape(MOD_T16X64B, &m, &n, &k));
    assert_false(ptx_shape(MOD_F32, &m, &n, &k));
}

/* Checks a fragment: the registers of A, B, C, D for a shape and its types. */
static void expect_fragments(enum ptx_op op, const uint16_t *mods, size_t count, const int *wanted)
{
    for (int i = 0; i < 4; i++)
        assert_int_equal(ptx_fragment_of(op, mods, count, "abcd"[i]).count, wanted[i]);
}

static void fragments(void **state)
{
    (void)state;
    uint16_t f16[] = {MOD_M16N8K16, MOD_F32, MOD_F16, MOD_F16, MOD_F32};
    expect_fragments(PTX_MMA, f16, 5, (const int[]){4, 2, 4, 4});
    uint16_t half_sums[] = {MOD_M16N8K8, MOD_F16, MOD_F16, MOD_F16, MOD_F16};
    expect_fragments(PTX_MMA, half_sums, 5, (const int[]){2, 1, 2, 2});
    uint16_t quads[] = {MOD_M8N8K4, MOD_F32, MOD_F16, MOD_F16, MOD_F16};
    expect_fragments(PTX_MMA, quads, 5, (const int[]){2, 2, 4, 8});
    uint16_t f64[] = {MOD_M16N8K16, MOD_F64, MOD_F64, MOD_F64, MOD_F64};
    expect_fragments(PTX_MMA, f64, 5, (const int[]){8, 4, 4, 4});
    uint16_t int4[] = {MOD_M16N8K64, MOD_S32, MOD_U4, MOD_S4, MOD_S32};
    expect_fragments(PTX_MMA, int4, 5, (const int[]){4, 2, 4, 4});
    uint16_t sparse[] = {MOD_SP, MOD_M16N8K32, MOD_F32, MOD_BF16, MOD_BF16, MOD_F32};
    expect_fragments(PTX_MMA, sparse, 6, (const int[]){4, 4, 4, 4});
    uint16_t small[] = {MOD_M16N8K32, MOD_KIND_F8F6F4, MOD_F32, MOD_E2M1, MOD_E3M2, MOD_F32};
    expect_fragments(PTX_MMA, small, 6, (const int[]){4, 2, 4, 4});
    uint16_t old[] = {MOD_M32N8K16, MOD_F32, MOD_F16};
    expect_fragments(PTX_WMMA_MMA, old, 3, (const int[]){8, 8, 4, 8});
    uint16_t group[] = {MOD_M64N128K16, MOD_F32, MOD_BF16, MOD_BF16};
    assert_int_equal(ptx_fragment_of(PTX_WGMMA_MMA_ASYNC, group, 4, 'd').count, 64);
    assert_int_equal(ptx_fragment_of(PTX_WGMMA_MMA_ASYNC, group, 4, 'a').count, 4);
    uint16_t tensor[] = {MOD_T16X256B, MOD_X4, MOD_B32};
    assert_int_equal(ptx_fragment_of(PTX_TCGEN05_LD, tensor, 3, 't').count, 16);
    assert_int_equal(ptx_fragment_of(PTX_ADD, tensor, 3, 't').count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_unique), cmocka_unit_test(forms_stand_with_their_instructions),
        cmocka_unit_test(rows_make_sense),  cmocka_unit_test(modifiers_in_any_order),
        cmocka_unit_test(targets),          cmocka_unit_test(shapes),
        cmocka_unit_test(fragments),
    };
    return cmocka_run_group_tests(tests, arena_set_up, arena_tear_down);
}
