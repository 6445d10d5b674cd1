/* Layouts as functions: the normal form, composition, inverse, product, quotient and parts, on
 * thousands of random layouts. */
#include "layout/layout.h"
#include "layout/layout_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arena_helper.h"
#include "test_layout_random.h"

#include <stdio.h>

/* Counts through all values of the counters. */
static bool next(const struct layout *l, int32_t *in)
{
    for (int i = 0; i < l->in_count; i++) {
        if (++in[i] < l->ins[i].extent)
            return true;
        in[i] = 0;
    }
    return false;
}

static const char *text_of(const struct layout *l)
{
    struct text t;
    text_init(&t, &arena);
    layout_print(&t, l);
    return t.data;
}

static void check_same_function(const struct layout *a, const struct layout *b)
{
    int32_t in[LAYOUT_INS] = {0}, from_a[LAYOUT_OUTS], from_b[LAYOUT_OUTS];
    assert_int_equal(a->out_count, b->out_count);
    assert_int_equal(layout_size_in(a), layout_size_in(b));
    do {
        layout_apply(a, in, from_a);
        layout_apply(b, in, from_b);
        if (memcmp(from_a, from_b, (size_t)a->out_count * sizeof *from_a)) {
            print_error("%s\n%s\n", text_of(a), text_of(b));
            fail();
        }
    } while (next(a, in));
}

/* Checks outer(inner(x)) by applying one after the other. */
static void check_composed(const struct layout *outer, const struct layout *inner,
                           const struct layout *composed)
{
    int32_t in[LAYOUT_INS] = {0}, middle[LAYOUT_OUTS], expected[LAYOUT_OUTS], got[LAYOUT_OUTS];
    do {
        layout_apply(inner, in, middle);
        if (!layout_inside(inner, middle))
            continue;
        layout_apply(outer, middle, expected);
        layout_apply(composed, in, got);
        if (memcmp(expected, got, (size_t)outer->out_count * sizeof *got)) {
            print_error("%s\n%s\n%s\n", text_of(outer), text_of(inner), text_of(composed));
            fail();
        }
    } while (next(inner, in));
}

static void digits_that_continue_each_other_are_one(void **state)
{
    (void)state;
    struct layout a, b;
    layout_init(&a);
    layout_add_out(&a, AXIS_D0, 96);
    layout_add_digit(&a, AXIS_REG, 3, AXIS_D0, 1);
    layout_add_digit(&a, AXIS_REG, 32, AXIS_D0, 3);
    layout_normalise(&a);
    layout_init(&b);
    layout_add_out(&b, AXIS_D0, 96);
    layout_add_digit(&b, AXIS_REG, 96, AXIS_D0, 1);
    layout_normalise(&b);
    assert_true(layout_same(&a, &b));
    assert_int_equal(a.digit_count, 6); /* five bits and a digit of 3 */
    assert_string_equal(text_of(&a), "layout(reg(96:[1]) -> [96])");
}

static void a_padded_row_is_no_power_of_two(void **state)
{
    (void)state;
    struct layout l;
    int32_t in[2] = {5, 7}, at;
    layout_rows((const int32_t[]){32, 32}, 2, 1, &l);
    layout_apply(&l, in, &at);
    assert_int_equal(at, 5 * 33 + 7);
    assert_string_equal(text_of(&l), "layout(d0(32:33), d1(32:1) -> 1056)");
}

static void a_random_layout_is_what_its_digits_say(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int n = random_rounds(1000); n > 0; n--) {
        struct layout l, again;
        random_registers(&seed, random_below(&seed, 2), &l);
        again = l;
        layout_runs(&again); /* joined and demoted: the same function */
        check_same_function(&l, &again);
        layout_normalise(&again);
        assert_true(layout_same(&l, &again));
        assert_true(layout_equal(&l, &again));
        again.offset[0] += 1;
        assert_false(layout_equal(&l, &again));
    }
}

static void ranges_and_masks_are_exact_enough(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int n = random_rounds(300); n > 0; n--) {
        struct layout l;
        int32_t in[LAYOUT_INS] = {0}, out[LAYOUT_OUTS], least, greatest;
        random_registers(&seed, false, &l);
        assert_false(layout_masked(&l));
        do {
            layout_apply(&l, in, out);
            for (int j = 0; j < l.out_count; j++) {
                layout_range(&l, j, &least, &greatest);
                assert_in_range(out[j], least, greatest);
            }
        } while (next(&l, in));
    }
}

static void composing_is_applying_one_after_the_other(void **state)
{
    (void)state;
    uint64_t seed = 3;
    int composed = 0, tried = random_rounds(1000);
    for (int n = 0; n < tried; n++) {
        struct layout registers, shared, both;
        random_registers(&seed, random_below(&seed, 2), &registers);
        int32_t extents[2] = {registers.outs[0].extent, registers.outs[1].extent};
        random_shared(&seed, extents, &shared);
        if (!layout_compose(&shared, &registers, &both))
            continue;
        composed++;
        check_composed(&shared, &registers, &both);
    }
    assert_true(composed > tried / 3); /* the others: random xors into padded rows */
}

static void composing_is_associative(void **state)
{
    (void)state;
    uint64_t seed = 4;
    int composed = 0;
    for (int n = random_rounds(1000); n > 0; n--) {
        struct layout registers, rows, swizzle, ab, abc, bc, abc2;
        random_registers(&seed, true, &registers);
        layout_rows((const int32_t[]){registers.outs[0].extent, registers.outs[1].extent}, 2, 0,
                    &rows);
        layout_init(&swizzle);
        layout_add_out(&swizzle, AXIS_AT, rows.outs[0].extent);
        for (int b = 0; b < 14; b++) {
            int32_t xor = 1 << b | (b > 6 && b < 10 ? 1 << (b - 4) : 0);
            layout_add_bit(&swizzle, AXIS_AT, &xor);
        }
        layout_normalise(&swizzle);
        if (!layout_compose(&rows, &registers, &ab) || !layout_compose(&swizzle, &ab, &abc) ||
            !layout_compose(&swizzle, &rows, &bc) || !layout_compose(&bc, &registers, &abc2))
            continue;
        composed++;
        check_same_function(&abc, &abc2);
        assert_true(layout_equal(&abc, &abc2));
    }
    assert_true(composed > 200);
}

static void an_inverse_leads_back(void **state)
{
    (void)state;
    uint64_t seed = 5;
    int inverted = 0, tried = random_rounds(1000);
    for (int n = 0; n < tried; n++) {
        struct layout l, inverse;
        bool bijective = random_below(&seed, 2);
        random_registers(&seed, bijective, &l);
        if (!layout_invert(&l, &inverse)) {
            continue;
        }
        inverted++;
        int32_t in[LAYOUT_INS] = {0}, out[LAYOUT_OUTS], back[LAYOUT_INS], again[LAYOUT_OUTS];
        do {
            layout_apply(&l, in, out);
            layout_apply(&inverse, out, back);
            layout_apply(&l, back, again);
            assert_memory_equal(out, again, (size_t)l.out_count * sizeof *out);
            if (bijective)
                assert_memory_equal(in, back, (size_t)l.in_count * sizeof *in);
        } while (next(&l, in));
    }
    assert_true(inverted > tried * 9 / 10);
}

static void inverse_composed_with_the_layout_is_the_identity(void **state)
{
    (void)state;
    uint64_t seed = 6;
    int done = 0;
    for (int n = random_rounds(1000); n > 0; n--) {
        struct layout l, inverse, identity, both;
        random_registers(&seed, true, &l);
        if (!layout_invert(&l, &inverse) || !layout_compose(&inverse, &l, &both))
            continue;
        layout_init(&identity);
        for (int i = 0; i < l.in_count; i++)
            layout_add_out(&identity, l.ins[i].axis, l.ins[i].extent);
        for (int i = 0; i < l.in_count; i++)
            layout_add_digit(&identity, l.ins[i].axis, l.ins[i].extent, l.ins[i].axis, 1);
        layout_normalise(&identity);
        assert_true(layout_equal(&both, &identity));
        done++;
    }
    assert_true(done > 500);
}

static void shared_layouts_invert(void **state)
{
    (void)state;
    struct layout l, plain, inverse;
    layout_rows((const int32_t[]){96, 64}, 2, 0, &plain);
    assert_true(layout_swizzled(&plain, 3, 3, 3, &l));
    assert_true(layout_invert(&l, &inverse));
    int32_t in[2], at, back[2];
    for (in[0] = 0; in[0] < 96; in[0]++)
        for (in[1] = 0; in[1] < 64; in[1]++) {
            layout_apply(&l, in, &at);
            layout_apply(&inverse, &at, back);
            assert_memory_equal(in, back, sizeof in);
        }
}

static void a_product_repeats_its_inner_layout(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (int n = random_rounds(1000); n > 0; n--) {
        static const int factors[] = {1, 2, 3, 4, 5, 11, 12};
        struct layout atom, outer, product;
        int rows = 1 + random_below(&seed, 4), columns = 4 + random_below(&seed, 3);
        random_atom(&seed, random_below(&seed, 4), random_below(&seed, 2), rows, columns, false,
                    &atom);
        random_outer(&seed, factors[random_below(&seed, 7)], factors[random_below(&seed, 7)],
                     &outer);
        assert_true(layout_product(&atom, &outer, &product));
        int32_t in[LAYOUT_INS] = {0}, low[LAYOUT_INS], high[LAYOUT_INS];
        int32_t a[LAYOUT_OUTS], b[LAYOUT_OUTS], got[LAYOUT_OUTS];
        do {
            for (int i = 0; i < product.in_count; i++) {
                int32_t extent = layout_in_extent(&atom, product.ins[i].axis);
                int at_atom = layout_in_index(&atom, product.ins[i].axis);
                int at_outer = layout_in_index(&outer, product.ins[i].axis);
                if (at_atom >= 0)
                    low[at_atom] = in[i] % extent;
                if (at_outer >= 0)
                    high[at_outer] = in[i] / extent;
            }
            layout_apply(&atom, low, a);
            layout_apply(&outer, high, b);
            layout_apply(&product, in, got);
            for (int j = 0; j < product.out_count; j++)
                assert_int_equal(got[j], a[j] + b[j] * atom.outs[j].extent);
        } while (next(&product, in));
    }
}

static void a_part_of_a_shared_tile(void **state)
{
    (void)state;
    uint64_t seed = 8;
    int parts = 0;
    for (int n = random_rounds(1000); n > 0; n--) {
        static const int32_t sizes[] = {16, 32, 48, 64, 80, 96, 176};
        struct layout l, part;
        int32_t extents[2] = {sizes[random_below(&seed, 7)], sizes[random_below(&seed, 7)]};
        random_shared(&seed, extents, &l);
        int axis = random_below(&seed, 2), unit = 1 << random_below(&seed, 5);
        int32_t extent = unit * (1 + random_below(&seed, extents[axis] / unit));
        int32_t start = unit * random_below(&seed, (extents[axis] - extent) / unit + 1);
        if (!layout_slice_in(&l, AXIS_DIM(axis), start, extent, &part))
            continue;
        parts++;
        int32_t in[LAYOUT_INS], of_part, of_all;
        for (in[0] = 0; in[0] < (axis == 0 ? extent : extents[0]); in[0]++)
            for (in[1] = 0; in[1] < (axis == 1 ? extent : extents[1]); in[1]++) {
                layout_apply(&part, in, &of_part);
                in[axis] += start;
                layout_apply(&l, in, &of_all);
                in[axis] -= start;
                assert_int_equal(of_part, of_all);
            }
    }
    assert_true(parts > 500);
}

static void a_part_of_a_register_tile(void **state)
{
    (void)state;
    struct layout tile, part;
    struct mma_tiling tiling = {.shape = {16, 8, 16, 16}, .warps_m = 2, .warps_n = 2};
    layout_mma_tile(&tiling, MATRIX_C, (const int32_t[]){64, 96}, &tile);
    assert_int_equal(layout_in_extent(&tile, AXIS_REG), 48);
    /* Columns 16 to 31 belong to the warps of the left half, and to 16 of their registers. */
    assert_true(layout_slice_out(&tile, AXIS_D1, 16, 16, &part));
    struct layout_census census;
    layout_take_census(&part, &arena, &census);
    assert_true(census.surjective && census.injective && census.masked);
    /* One row of blocks: one value of the upper register digit holds it. */
    assert_true(layout_slice_out(&tile, AXIS_D0, 32, 16, &part));
    layout_take_census(&part, &arena, &census);
    assert_true(census.surjective && census.injective && census.masked);
    assert_int_equal(layout_in_extent(&part, AXIS_REG), 24);
    int32_t source[24], at[LAYOUT_OUTS], at_part[LAYOUT_OUTS];
    int32_t *places = arena_array(&arena, int32_t, layout_in_extent(&tile, AXIS_REG) * LAYOUT_OUTS);
    layout_register_places(&tile, places);
    layout_slice_registers(&tile, places, &part, AXIS_D0, 32, source);
    for (int warp = 0; warp < 4; warp++)
        for (int lane = 0; lane < 32; lane++)
            for (int reg = 0; reg < 24; reg++) {
                layout_element(&tile, source[reg], lane, warp, at);
                layout_element(&part, reg, lane, warp, at_part);
                assert_int_equal(at[0], at_part[0] + 32);
                assert_int_equal(at[1], at_part[1]);
            }
}

static void fixing_and_dropping(void **state)
{
    (void)state;
    struct layout l, staged, one, column;
    int32_t in[LAYOUT_INS] = {2, 5, 9}, at, at_one;
    layout_rows((const int32_t[]){16, 80}, 2, 8, &l);
    with_stages(&l, 3, 1536, &staged);
    assert_true(layout_fix(&staged, AXIS_STAGE, 2, &one));
    layout_apply(&staged, in, &at);
    layout_apply(&one, in + 1, &at_one);
    assert_int_equal(at, 2 * 1536 + 5 * 88 + 9);
    assert_int_equal(at, at_one);
    layout_mma((struct mma_shape){16, 8, 16, 16}, MATRIX_C, &l);
    layout_drop_out(&l, AXIS_D1, &column); /* a row's sum: four lanes hold the same value */
    assert_int_equal(layout_free_extent(&column, AXIS_LANE), 4);
    assert_int_equal(layout_free_extent(&column, AXIS_REG), 2);
    layout_transpose(&l, &column);
    assert_int_equal(layout_out_extent(&column, AXIS_D0), 8);
    layout_transpose(&column, &one);
    assert_true(layout_equal(&l, &one));
}

static void a_census_counts_holders(void **state)
{
    (void)state;
    struct layout_census census;
    struct layout l;
    struct mma_tiling tiling = {.shape = {16, 8, 16, 16}, .warps_m = 2, .warps_n = 4};
    layout_mma_tile(&tiling, MATRIX_A, (const int32_t[]){64, 32}, &l);
    layout_take_census(&l, &arena, &census);
    assert_true(census.injective && census.surjective && !census.masked);
    assert_int_equal(census.holders, 4);
    layout_mma_tile(&tiling, MATRIX_C, (const int32_t[]){80, 176}, &l);
    layout_take_census(&l, &arena, &census);
    assert_true(census.injective && census.surjective && census.masked);
    assert_int_equal(census.holders, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits_that_continue_each_other_are_one),
        cmocka_unit_test(a_padded_row_is_no_power_of_two),
        cmocka_unit_test(a_random_layout_is_what_its_digits_say),
        cmocka_unit_test(ranges_and_masks_are_exact_enough),
        cmocka_unit_test(composing_is_applying_one_after_the_other),
        cmocka_unit_test(composing_is_associative),
        cmocka_unit_test(an_inverse_leads_back),
        cmocka_unit_test(inverse_composed_with_the_layout_is_the_identity),
        cmocka_unit_test(shared_layouts_invert),
        cmocka_unit_test(a_product_repeats_its_inner_layout),
        cmocka_unit_test(a_part_of_a_shared_tile),
        cmocka_unit_test(a_part_of_a_register_tile),
        cmocka_unit_test(fixing_and_dropping),
        cmocka_unit_test(a_census_counts_holders),
    };
    return cmocka_run_group_tests(tests, arena_set_up, arena_tear_down);
}
