/* Conversions between register layouts. Each plan is executed here on element numbers instead of
 * values, and every thread must end with the elements of the new layout. */
#include "layout/layout_convert.h"
#include "layout/layout_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arena_helper.h"
#include "test_layout_random.h"

enum { REGS = 2048, WARPS = 64, NOTHING_HELD = -1 };

/* Returns the number of the element that a register holds; NOTHING_HELD if masked. */
static int32_t held(const struct layout *l, int32_t reg, int32_t lane, int32_t warp)
{
    int32_t at[LAYOUT_OUTS], n = 0;
    if (!layout_element(l, reg, lane, warp, at))
        return NOTHING_HELD;
    for (int j = 0; j < l->out_count; j++)
        n = n * l->outs[j].extent + at[j];
    return n;
}

/* Registers of a block: [warp][lane][register]. */
struct block {
    int32_t warps, regs;
    int32_t *value;
};

static struct block new_block(const struct layout *l, bool full)
{
    struct block b = {layout_in_extent(l, AXIS_WARP), layout_in_extent(l, AXIS_REG), NULL};
    b.value = arena_array(&arena, int32_t, b.warps * 32 * b.regs);
    for (int32_t w = 0; w < b.warps; w++)
        for (int32_t lane = 0; lane < 32; lane++)
            for (int32_t r = 0; r < b.regs; r++)
                b.value[(w * 32 + lane) * b.regs + r] = full ? held(l, r, lane, w) : NOTHING_HELD;
    return b;
}

static int32_t *reg_at(const struct block *b, int32_t warp, int32_t lane, int32_t reg)
{
    assert_true(reg >= 0 && reg < b->regs && lane >= 0 && lane < 32 && warp < b->warps);
    return &b->value[(warp * 32 + lane) * b->regs + reg];
}

/* --- Executing plans --- */

static void run_shuffles(const struct convert_shuffles *s, const struct block *old,
                         struct block *new)
{
    for (int n = 1; n < s->rounds; n++) { /* all rounds treat the lane alike */
        assert_memory_equal(s->give[n].basis, s->give[0].basis, sizeof s->give[0].basis);
        assert_memory_equal(s->take[n].basis, s->take[0].basis, sizeof s->take[0].basis);
    }
    for (int32_t w = 0; w < new->warps; w++)
        for (int o = 0; o < s->outers; o++)
            for (int n = 0; n < s->rounds; n++)
                for (int p = 0; p < 1 << s->pack_bits; p++) {
                    int32_t within_old = 0, within_new = 0, sent[32];
                    for (int b = 0; b < s->pack_bits; b++) {
                        within_old += (p >> b & 1) * s->old_pack[b];
                        within_new += (p >> b & 1) * s->new_pack[b];
                    }
                    for (int32_t l = 0; l < 32; l++)
                        sent[l] = *reg_at(old, w, l,
                                          s->old_outer[o] + within_old +
                                              register_of(&s->old, lane_map_at(&s->give[n], l)));
                    for (int32_t l = 0; l < 32; l++) {
                        int32_t from = lane_map_at(&s->from[n], l);
                        assert_in_range(from, 0, 31);
                        assert_true(!s->stays || from == l);
                        *reg_at(new, w, l,
                                s->new_outer[o] + within_new +
                                    register_of(&s->new, lane_map_at(&s->take[n], l))) = sent[from];
                    }
                }
}

/* Returns the register of `whole` with the element that register `reg` of its part holds. */
static int32_t register_in_whole(const struct layout *whole, const struct layout *part, int axis,
                                 int32_t start, int32_t reg, int32_t lane, int32_t warp)
{
    int32_t at[LAYOUT_OUTS], other[LAYOUT_OUTS];
    if (!layout_element(part, reg, lane, warp, at))
        return -1;
    if (part->outs[axis].extent == whole->outs[axis].extent)
        return reg;
    at[axis] += start;
    for (int32_t r = 0; r < layout_in_extent(whole, AXIS_REG); r++)
        if (layout_element(whole, r, lane, warp, other) &&
            !memcmp(at, other, (size_t)whole->out_count * sizeof *at))
            return r;
    fail();
    return -1;
}

/* Executes one side of a conversion through memory: every instruction of the access, element by
 * element. */
static void run_access(const struct layout *whole, const struct layout *part, int axis,
                       int32_t start, const struct shared_choice *scratch, int bits,
                       const struct access *a, bool store, struct block *b, int32_t *memory)
{
    for (int32_t w = 0; w < b->warps; w++)
        for (int32_t reg = 0; reg < layout_in_extent(part, AXIS_REG); reg++) {
            uint32_t address[32];
            if (!layout_access_base(part, a, reg))
                continue;
            uint32_t active =
                layout_access_addresses(part, &scratch->layout, bits, a, reg, w, address);
            for (int32_t l = 0; l < 32; l++)
                for (int m = 0; m < a->matrices; m++)
                    for (int e = 0; e < a->elements; e++) {
                        int32_t r = reg, place = (int32_t)address[l] * 8 / bits + e;
                        for (int v = 0; v < a->vector_bits; v++)
                            r += (e >> v & 1) * a->vector[v];
                        if (a->kind == ACCESS_MATRIX)
                            place = (int32_t)address[8 * m + l / 4] * 8 / bits +
                                    l % 4 * a->elements + e;
                        if (a->kind == ACCESS_MATRIX_TRANS)
                            place = (int32_t)address[8 * m + l % 4 * 2 + e] * 8 / bits + l / 4;
                        r += (m & 1) * a->matrix[0] + (m >> 1) * a->matrix[1];
                        r = register_in_whole(whole, part, axis, start, r, l, w);
                        if (r < 0) {
                            assert_false(active >> l & 1);
                            continue;
                        }
                        assert_true(place >= 0 &&
                                    place < layout_out_extent(&scratch->layout, AXIS_AT));
                        if (store)
                            memory[place] = *reg_at(b, w, l, r);
                        else
                            *reg_at(b, w, l, r) = memory[place];
                    }
        }
}

/* Copies, within the thread, registers that hold the same element as another and were not moved. */
static void copy_duplicates(const struct layout *l, struct block *b)
{
    if (layout_free_extent(l, AXIS_REG) == 1)
        return;
    for (int32_t w = 0; w < b->warps; w++)
        for (int32_t lane = 0; lane < 32; lane++)
            for (int32_t r = 0; r < b->regs; r++)
                for (int32_t first = 0; first < r; first++)
                    if (held(l, r, lane, w) == held(l, first, lane, w)) {
                        *reg_at(b, w, lane, r) = *reg_at(b, w, lane, first);
                        break;
                    }
}

static void run_shared(const struct convert_plan *plan, const struct convert_wish *wish,
                       struct block *old, struct block *new)
{
    int32_t *memory =
        arena_array(&arena, int32_t, layout_out_extent(&plan->scratch.layout, AXIS_AT));
    assert_int_equal(plan->barriers, 2 * plan->passes - 1);
    for (int p = 0; p < plan->passes; p++) {
        struct layout from, to;
        enum layout_axis axis = wish->to->outs[plan->part_axis].axis;
        int32_t start = p * plan->part;
        assert_true(layout_slice_out(wish->from, axis, start, plan->part, &from));
        assert_true(layout_slice_out(wish->to, axis, start, plan->part, &to));
        run_access(wish->from, &from, plan->part_axis, start, &plan->scratch, wish->bits,
                   &plan->scratch.access[0], true, old, memory);
        run_access(wish->to, &to, plan->part_axis, start, &plan->scratch, wish->bits,
                   &plan->scratch.access[1], false, new, memory);
    }
    copy_duplicates(wish->to, new);
}

static void run(const struct convert_plan *plan, const struct convert_wish *wish)
{
    struct block old = new_block(wish->from, true), new = new_block(wish->to, false);
    switch (plan->kind) {
    case CONVERT_NOTHING:
    case CONVERT_MOVES:
        for (int32_t w = 0; w < new.warps; w++)
            for (int32_t l = 0; l < 32; l++)
                for (int32_t r = 0; r < new.regs; r++) {
                    assert_true(plan->kind == CONVERT_MOVES || plan->source[r] == r);
                    *reg_at(&new, w, l, r) = *reg_at(&old, w, l, plan->source[r]);
                }
        break;
    case CONVERT_SHUFFLES: run_shuffles(&plan->shuffles, &old, &new); break;
    case CONVERT_SHARED: run_shared(plan, wish, &old, &new); break;
    }
    for (int32_t w = 0; w < new.warps; w++)
        for (int32_t l = 0; l < 32; l++)
            for (int32_t r = 0; r < new.regs; r++) {
                int32_t wanted = held(wish->to, r, l, w);
                if (wanted != NOTHING_HELD && wanted != *reg_at(&new, w, l, r)) {
                    struct text t;
                    text_init(&t, &arena);
                    layout_print(&t, wish->from);
                    text_add(&t, "\n");
                    layout_print(&t, wish->to);
                    print_error("%s: warp %d lane %d register %d\n%s\n",
                                layout_convert_kind_names[plan->kind], (int)w, (int)l, (int)r,
                                t.data);
                    fail();
                }
            }
}

static enum convert_kind convert(const struct layout *from, const struct layout *to, int bits,
                                 int64_t shared_bytes, struct convert_plan *plan)
{
    struct convert_wish wish = {.from = from,
                                .to = to,
                                .bits = bits,
                                .shared_bytes = shared_bytes,
                                .store_kinds = 1u << ACCESS_MATRIX | 1u << ACCESS_MATRIX_TRANS,
                                .load_kinds = 1u << ACCESS_MATRIX | 1u << ACCESS_MATRIX_TRANS};
    assert_true(layout_plan_conversion(&wish, &arena, plan));
    run(plan, &wish);
    return plan->kind;
}

/* --- Cases --- */

static void attention_needs_no_move(void **state)
{
    (void)state;
    /* The product's sum, as f16, is the left factor of the next product. */
    struct mma_tiling t = {.shape = {16, 8, 16, 16}, .warps_m = 4, .warps_n = 1};
    struct layout sum, factor;
    struct convert_plan plan;
    layout_mma_tile(&t, MATRIX_C, (const int32_t[]){64, 64}, &sum);
    layout_mma_tile(&t, MATRIX_A, (const int32_t[]){64, 64}, &factor);
    assert_int_equal(convert(&sum, &factor, 16, 0, &plan), CONVERT_NOTHING);
    layout_mma_tile(&t, MATRIX_C, (const int32_t[]){64, 80}, &sum);
    layout_mma_tile(&t, MATRIX_A, (const int32_t[]){64, 80}, &factor);
    assert_int_equal(convert(&sum, &factor, 16, 0, &plan), CONVERT_NOTHING);
}

static void registers_in_another_order(void **state)
{
    (void)state;
    struct layout a, b;
    struct convert_plan plan;
    layout_init(&a);
    layout_add_out(&a, AXIS_D0, 8);
    layout_add_out(&a, AXIS_D1, 32);
    b = a;
    layout_add_digit(&a, AXIS_REG, 2, AXIS_D0, 1);
    layout_add_digit(&a, AXIS_REG, 4, AXIS_D0, 2);
    layout_add_digit(&b, AXIS_REG, 4, AXIS_D0, 2);
    layout_add_digit(&b, AXIS_REG, 2, AXIS_D0, 1);
    layout_add_digit(&a, AXIS_LANE, 32, AXIS_D1, 1);
    layout_add_digit(&b, AXIS_LANE, 32, AXIS_D1, 1);
    layout_normalise(&a);
    layout_normalise(&b);
    assert_int_equal(convert(&a, &b, 32, 0, &plan), CONVERT_MOVES);
    assert_int_equal(plan.cost, 0); /* words change their names only */
    assert_int_equal(convert(&a, &b, 16, 0, &plan), CONVERT_MOVES);
    assert_int_equal(plan.permutes, 4);
}

static void eight_bit_sums_to_factors_are_shuffled(void **state)
{
    (void)state;
    /* m16n8k32: a lane has two neighbouring elements of the sum, four of the factor. */
    struct mma_tiling t = {.shape = {16, 8, 32, 8}, .warps_m = 4, .warps_n = 1};
    struct layout sum, factor;
    struct convert_plan plan;
    layout_mma_tile(&t, MATRIX_C, (const int32_t[]){64, 64}, &sum);
    layout_mma_tile(&t, MATRIX_A, (const int32_t[]){64, 64}, &factor);
    assert_int_equal(convert(&sum, &factor, 8, 0, &plan), CONVERT_SHUFFLES);
    assert_true(plan.shuffles.pack_bits >= 1);
}

static void a_reduced_row_stays_with_its_lanes(void **state)
{
    (void)state;
    struct mma_tiling t = {.shape = {16, 8, 16, 16}, .warps_m = 4, .warps_n = 1};
    struct layout sum, row;
    struct convert_plan plan;
    layout_mma_tile(&t, MATRIX_C, (const int32_t[]){64, 64}, &sum);
    layout_drop_out(&sum, AXIS_D1, &row);
    assert_int_equal(convert(&row, &row, 32, 0, &plan), CONVERT_NOTHING);
    /* to one row a lane: a broadcast within the warp */
    struct layout each;
    layout_init(&each);
    layout_add_out(&each, AXIS_D0, 64);
    layout_add_digit(&each, AXIS_LANE, 16, AXIS_D0, 1);
    layout_add_free(&each, AXIS_LANE, 2);
    layout_add_digit(&each, AXIS_WARP, 4, AXIS_D0, 16);
    layout_normalise(&each);
    assert_int_equal(convert(&row, &each, 32, 0, &plan), CONVERT_SHUFFLES);
    assert_int_equal(convert(&each, &row, 32, 0, &plan), CONVERT_SHUFFLES);
}

static void a_sum_to_coalesced_rows_goes_through_memory(void **state)
{
    (void)state;
    static const int32_t sizes[][2] = {{128, 128}, {64, 128}, {128, 64}, {96, 80}, {80, 176}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int bits = 16; bits <= 32; bits *= 2) {
            struct mma_tiling t = {.shape = {16, 8, 16, 16}, .warps_m = 2, .warps_n = 2};
            struct layout sum, rows;
            struct convert_plan plan;
            layout_mma_tile(&t, MATRIX_C, sizes[i], &sum);
            layout_blocked(sizes[i], 2, bits, 128 / bits, 4, &rows);
            assert_int_equal(convert(&sum, &rows, bits, 99 * 1024, &plan), CONVERT_SHARED);
            assert_false(plan.within_warps);
            assert_int_equal(plan.scratch.access[1].bytes, 16);
            if (sizes[i][0] % 32 == 0 && sizes[i][1] % 32 == 0) {
                assert_int_equal(plan.scratch.access[0].wavefronts, plan.scratch.access[0].least);
                assert_int_equal(plan.scratch.access[1].wavefronts, plan.scratch.access[1].least);
            }
        }
}

static void little_memory_takes_several_passes(void **state)
{
    (void)state;
    struct mma_tiling t = {.shape = {16, 8, 16, 16}, .warps_m = 2, .warps_n = 2};
    struct layout sum, rows;
    struct convert_plan plan;
    int32_t extents[2] = {128, 128};
    layout_mma_tile(&t, MATRIX_C, extents, &sum);
    layout_blocked(extents, 2, 32, 4, 4, &rows);
    assert_int_equal(convert(&sum, &rows, 32, 20 * 1024, &plan), CONVERT_SHARED);
    assert_true(plan.passes >= 4);
    assert_true(plan.scratch.bytes <= 20 * 1024);
    struct convert_wish none = {.from = &sum, .to = &rows, .bits = 32};
    assert_false(layout_plan_conversion(&none, &arena, &plan));
}

static void random_layouts(void **state)
{
    (void)state;
    uint64_t seed = 31;
    int kinds[4] = {0};
    for (int n = random_rounds(600); n > 0; n--) {
        struct random_shape shape = random_shape(&seed);
        struct layout from, to;
        struct convert_plan plan;
        arena_free(&arena);
        random_of_shape(&seed, &shape, true, &from);
        random_of_shape(&seed, &shape, random_below(&seed, 2), &to);
        if (layout_in_extent(&from, AXIS_WARP) > WARPS || layout_in_extent(&to, AXIS_REG) > REGS)
            continue;
        kinds[convert(&from, &to, 8 << random_below(&seed, 4), 1 << 20, &plan)]++;
    }
    print_message("nothing %d, moves %d, shuffles %d, shared %d\n", kinds[0], kinds[1], kinds[2],
                  kinds[3]);
}

/* The new layout is the old one after a random exchange within warps, so memory is never needed. */
static void random_exchanges_within_warps(void **state)
{
    (void)state;
    uint64_t seed = 32;
    int kinds[4] = {0}, planned = 0, tried = random_rounds(600);
    for (int n = 0; n < tried; n++) {
        struct random_shape shape = random_shape(&seed);
        struct layout from, to, exchange, identity;
        struct convert_plan plan;
        arena_free(&arena);
        random_of_shape(&seed, &shape, true, &from);
        int32_t regs = layout_in_extent(&from, AXIS_REG),
                warps = layout_in_extent(&from, AXIS_WARP);
        int reg_bits = 0;
        while (regs % (2 << reg_bits) == 0 && reg_bits < 4)
            reg_bits++;
        /* the low bits of registers and the lanes mixed, the rest unchanged */
        struct layout mixed;
        random_atom(&seed, reg_bits, 0, reg_bits, 5, random_below(&seed, 4) != 0, &mixed);
        enum layout_axis map[AXIS_COUNT];
        for (int a = 0; a < AXIS_COUNT; a++)
            map[a] = (enum layout_axis)a;
        map[AXIS_D0] = AXIS_REG;
        map[AXIS_D1] = AXIS_LANE;
        layout_rename(&mixed, map, &exchange);
        layout_init(&identity);
        layout_add_out(&identity, AXIS_REG, regs >> reg_bits);
        layout_add_out(&identity, AXIS_WARP, warps);
        layout_add_digit(&identity, AXIS_REG, regs >> reg_bits, AXIS_REG, 1);
        layout_add_digit(&identity, AXIS_WARP, warps, AXIS_WARP, 1);
        layout_normalise(&identity);
        assert_true(layout_product(&exchange, &identity, &exchange));
        if (!layout_compose(&from, &exchange, &to))
            continue;
        struct convert_wish wish = {.from = &from, .to = &to, .bits = 8 << random_below(&seed, 4)};
        if (!layout_plan_conversion(&wish, &arena, &plan))
            continue;
        planned++;
        run(&plan, &wish);
        kinds[plan.kind]++;
    }
    print_message("of %d: nothing %d, moves %d, shuffles %d\n", tried, kinds[0], kinds[1],
                  kinds[2]);
    assert_true(planned > tried / 2);
    assert_int_equal(kinds[CONVERT_SHARED], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_needs_no_move),
        cmocka_unit_test(registers_in_another_order),
        cmocka_unit_test(eight_bit_sums_to_factors_are_shuffled),
        cmocka_unit_test(a_reduced_row_stays_with_its_lanes),
        cmocka_unit_test(a_sum_to_coalesced_rows_goes_through_memory),
        cmocka_unit_test(little_memory_takes_several_passes),
        cmocka_unit_test(random_layouts),
        cmocka_unit_test(random_exchanges_within_warps),
    };
    return cmocka_run_group_tests(tests, arena_set_up, arena_tear_down);
}
