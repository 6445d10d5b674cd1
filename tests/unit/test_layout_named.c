/* Fragments compared with the formulae of the PTX ISA, section by section; coalesced and shared
 * layouts compared with their contracts. */
#include "layout/layout_access.h"
#include "layout/layout_named.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arena_helper.h"
#include "test_layout_random.h"

/* --- PTX ISA 9.2, "Matrix Fragments for mma…": row and column of element i of a lane --- */

struct place {
    int row, column;
};
typedef struct place formula(int lane, int i);

#define GROUP (lane >> 2)   /* groupID */
#define IN_GROUP (lane % 4) /* threadID_in_group */
#define FORMULA(name, r, c)                                                                        \
    static struct place name(int lane, int i)                                                      \
    {                                                                                              \
        (void)i;                                                                                   \
        return (struct place){(r), (c)};                                                           \
    }

/* m8n8k4 .f64 */
FORMULA(m8n8k4_f64_a, GROUP, IN_GROUP)
FORMULA(m8n8k4_f64_b, IN_GROUP, GROUP)
FORMULA(m8n8_c, GROUP, IN_GROUP * 2 + (i & 1))
/* m16n8k4 .tf32, .f64 */
FORMULA(m16n8k4_a, i == 0 ? GROUP : GROUP + 8, IN_GROUP)
FORMULA(m16n8k4_b, IN_GROUP, GROUP)
/* all m16n8: c0, c1 in row groupID, c2, c3 eight below */
FORMULA(m16n8_c, i < 2 ? GROUP : GROUP + 8, IN_GROUP * 2 + (i & 1))
/* m16n8k8 .f16, .bf16 */
FORMULA(m16n8k8_f16_a, i < 2 ? GROUP : GROUP + 8, IN_GROUP * 2 + (i & 1))
FORMULA(m16n8k8_f16_b, IN_GROUP * 2 + i, GROUP)
/* m16n8k8 .tf32, .f64 */
FORMULA(m16n8k8_a, i == 0 || i == 2 ? GROUP : GROUP + 8, i < 2 ? IN_GROUP : IN_GROUP + 4)
FORMULA(m16n8k8_b, i == 0 ? IN_GROUP : IN_GROUP + 4, GROUP)
/* m16n8k16 .f16, .bf16 */
FORMULA(m16n8k16_f16_a, (0 <= i && i < 2) || (4 <= i && i < 6) ? GROUP : GROUP + 8,
        i < 4 ? IN_GROUP * 2 + (i & 1) : IN_GROUP * 2 + (i & 1) + 8)
FORMULA(m16n8k16_f16_b, i < 2 ? IN_GROUP * 2 + (i & 1) : IN_GROUP * 2 + (i & 1) + 8, GROUP)
/* m16n8k16 .f64 */
FORMULA(m16n8k16_f64_a, i % 2 == 0 ? GROUP : GROUP + 8,
        i % 2 == 0 ? i * 2 + IN_GROUP : i * 2 - 2 + IN_GROUP)
FORMULA(m16n8k16_f64_b, IN_GROUP + i * 4, GROUP)
/* m8n8k16, m16n8k16 .s8 */
FORMULA(m8n8k16_s8_a, GROUP, IN_GROUP * 4 + i)
FORMULA(m8n8k16_s8_b, IN_GROUP * 4 + i, GROUP)
FORMULA(m16n8k16_s8_a, i < 4 ? GROUP : GROUP + 8, IN_GROUP * 4 + (i & 3))
/* m16n8k32 .s8, .e4m3, .e5m2 */
FORMULA(m16n8k32_s8_a, (0 <= i && i < 4) || (8 <= i && i < 12) ? GROUP : GROUP + 8,
        i < 8 ? IN_GROUP * 4 + (i & 3) : IN_GROUP * 4 + (i & 3) + 16)
FORMULA(m16n8k32_s8_b, i < 4 ? IN_GROUP * 4 + (i & 3) : IN_GROUP * 4 + (i & 3) + 16, GROUP)
/* m16n8k64 .s4 */
FORMULA(m16n8k64_s4_a, (0 <= i && i < 8) || (16 <= i && i < 24) ? GROUP : GROUP + 8,
        i < 16 ? IN_GROUP * 8 + (i & 7) : IN_GROUP * 8 + (i & 7) + 32)
FORMULA(m16n8k64_s4_b, i < 8 ? IN_GROUP * 8 + (i & 7) : IN_GROUP * 8 + (i & 7) + 32, GROUP)

static const struct {
    struct mma_shape shape;
    int elements[3]; /* elements of a lane: A, B, C */
    formula *at[3];
} sections[] = {
    {{8, 8, 4, 64}, {1, 1, 2}, {m8n8k4_f64_a, m8n8k4_f64_b, m8n8_c}},
    {{16, 8, 4, 32}, {2, 1, 4}, {m16n8k4_a, m16n8k4_b, m16n8_c}},
    {{16, 8, 4, 64}, {2, 1, 4}, {m16n8k4_a, m16n8k4_b, m16n8_c}},
    {{16, 8, 8, 16}, {4, 2, 4}, {m16n8k8_f16_a, m16n8k8_f16_b, m16n8_c}},
    {{16, 8, 8, 32}, {4, 2, 4}, {m16n8k8_a, m16n8k8_b, m16n8_c}},
    {{16, 8, 8, 64}, {4, 2, 4}, {m16n8k8_a, m16n8k8_b, m16n8_c}},
    {{16, 8, 16, 16}, {8, 4, 4}, {m16n8k16_f16_a, m16n8k16_f16_b, m16n8_c}},
    {{16, 8, 16, 64}, {8, 4, 4}, {m16n8k16_f64_a, m16n8k16_f64_b, m16n8_c}},
    {{8, 8, 16, 8}, {4, 4, 2}, {m8n8k16_s8_a, m8n8k16_s8_b, m8n8_c}},
    {{16, 8, 16, 8}, {8, 4, 4}, {m16n8k16_s8_a, m8n8k16_s8_b, m16n8_c}},
    {{16, 8, 32, 8}, {16, 8, 4}, {m16n8k32_s8_a, m16n8k32_s8_b, m16n8_c}},
    {{16, 8, 64, 4}, {32, 16, 4}, {m16n8k64_s4_a, m16n8k64_s4_b, m16n8_c}},
};

static void fragments_are_those_of_the_isa(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof sections / sizeof *sections; s++)
        for (int operand = 0; operand < 3; operand++) {
            struct layout l;
            assert_true(layout_mma(sections[s].shape, (enum matrix_operand)operand, &l));
            assert_int_equal(layout_in_extent(&l, AXIS_REG), sections[s].elements[operand]);
            assert_int_equal(layout_in_extent(&l, AXIS_LANE), 32);
            for (int lane = 0; lane < 32; lane++)
                for (int i = 0; i < sections[s].elements[operand]; i++) {
                    struct place p = sections[s].at[operand](lane, i);
                    int32_t at[LAYOUT_OUTS];
                    assert_true(layout_element(&l, i, lane, 0, at));
                    assert_int_equal(at[0], p.row);
                    assert_int_equal(at[1], p.column);
                }
            struct layout_census census;
            layout_take_census(&l, &arena, &census);
            assert_true(census.injective && census.surjective);
        }
    struct layout none;
    assert_false(layout_mma((struct mma_shape){8, 8, 4, 16}, MATRIX_A, &none));
}

/* "Register Fragments for wgmma.mma_async": the sum of figure 149. */
static void warpgroup_sums(void **state)
{
    (void)state;
    for (int n = 8; n <= 256; n += 8) {
        struct layout l;
        assert_true(layout_wgmma(n, &l));
        assert_int_equal(layout_in_extent(&l, AXIS_REG), n / 2);
        for (int warp = 0; warp < 4; warp++)
            for (int lane = 0; lane < 32; lane++)
                for (int i = 0; i < n / 2; i++) {
                    int32_t at[LAYOUT_OUTS];
                    assert_true(layout_element(&l, i, lane, warp, at));
                    assert_int_equal(at[0], warp * 16 + lane / 4 + i / 2 % 2 * 8);
                    assert_int_equal(at[1], i / 4 * 8 + lane % 4 * 2 + i % 2);
                }
    }
    struct layout a, warp, part, other;
    for (int bits = 8; bits <= 32;
         bits *= 2) { /* each warp's rows are those of mma.m16n8k(256 / bits) */
        assert_true(layout_wgmma_a(bits, &a));
        assert_true(layout_mma((struct mma_shape){16, 8, 256 / bits, bits}, MATRIX_A, &warp));
        assert_true(layout_fix(&a, AXIS_WARP, 0, &part));
        for (int i = 0; i < 32 * layout_in_extent(&a, AXIS_REG); i++) {
            int32_t at[LAYOUT_OUTS], from_warp[LAYOUT_OUTS];
            layout_element(&part, i / 32, i % 32, 0, at);
            layout_element(&warp, i / 32, i % 32, 0, from_warp);
            assert_int_equal(at[0], from_warp[0]);
            assert_int_equal(at[1], from_warp[1]);
        }
    }
    assert_false(layout_wgmma(12, &other));
}

/* ldmatrix: "each thread of a row's four holds two elements"; the rows' addresses come from
 * lanes 0-7, 8-15, … */
static void matrices_as_ldmatrix_gives_them(void **state)
{
    (void)state;
    for (int count = 1; count <= 4; count *= 2)
        for (int trans = 0; trans < 2; trans++) {
            struct layout l, rows;
            assert_true(layout_ldmatrix(count, trans, &l));
            assert_true(layout_ldmatrix_rows(count, &rows));
            for (int lane = 0; lane < 32; lane++) {
                int32_t at[LAYOUT_OUTS];
                bool gives = layout_element(&rows, 0, lane, 0, at);
                assert_true(gives == (lane < 8 * count));
                if (gives)
                    assert_int_equal(at[0], lane);
                for (int i = 0; i < 2 * count; i++) {
                    assert_true(layout_element(&l, i, lane, 0, at));
                    int row = lane / 4, column = lane % 4 * 2 + i % 2;
                    assert_int_equal(at[0], i / 2 * 8 + (trans ? column : row));
                    assert_int_equal(at[1], trans ? row : column);
                }
            }
        }
}

static void tiles_of_fragments_cover_their_tile(void **state)
{
    (void)state;
    static const int32_t sizes[] = {16, 80, 96, 176};
    static const struct mma_shape shapes[] = {
        {16, 8, 16, 16}, {16, 8, 8, 32}, {16, 8, 32, 8}, {8, 8, 4, 64}};
    for (int s = 0; s < 4; s++)
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++)
                for (int w = 0; w < 4; w++)
                    for (int operand = 0; operand < 3; operand++) {
                        struct mma_tiling t = {.shape = shapes[s],
                                               .warps_m = w == 0   ? 1
                                                          : w == 1 ? 2
                                                                   : 3,
                                               .warps_n = w == 3 ? 4 : 2,
                                               .scattered = (i + j) % 2};
                        int32_t extents[2] = {sizes[i], sizes[j]};
                        struct layout_census census;
                        struct layout l;
                        arena_free(&arena);
                        assert_true(layout_mma_tile(&t, (enum matrix_operand)operand, extents, &l));
                        assert_int_equal(layout_in_extent(&l, AXIS_WARP), t.warps_m * t.warps_n);
                        layout_take_census(&l, &arena, &census);
                        assert_true(census.injective && census.surjective);
                        assert_int_equal(census.holders, operand == MATRIX_A   ? t.warps_n
                                                         : operand == MATRIX_B ? t.warps_m
                                                                               : 1);
                    }
}

/* Every thread finds in its registers of A and B the factors of each of its elements of the sum. */
static void factors_of_multiply_adds_meet(void **state)
{
    (void)state;
    static const struct fma_tiling tilings[] = {
        {4, 8, 4, 4, 2, 2}, {8, 4, 8, 4, 1, 4}, {2, 16, 1, 2, 3, 4}};
    static const int32_t sizes[][3] = {{128, 128, 8}, {64, 80, 16}, {96, 176, 5}};
    for (int i = 0; i < 3; i++)
        for (int s = 0; s < 3; s++) {
            const struct fma_tiling *t = &tilings[i];
            int32_t m = sizes[s][0], n = sizes[s][1], k = sizes[s][2];
            int32_t at[LAYOUT_OUTS], at_a[LAYOUT_OUTS], at_b[LAYOUT_OUTS];
            struct layout a, b, c;
            struct layout_census census;
            arena_free(&arena);
            assert_true(layout_fma_tile(t, MATRIX_A, (const int32_t[]){m, k}, &a));
            assert_true(layout_fma_tile(t, MATRIX_B, (const int32_t[]){k, n}, &b));
            assert_true(layout_fma_tile(t, MATRIX_C, (const int32_t[]){m, n}, &c));
            layout_take_census(&c, &arena, &census);
            assert_true(census.surjective && census.holders == 1);
            layout_take_census(&a, &arena, &census);
            assert_int_equal(census.holders, t->lanes_n * t->warps_n);
            int32_t rows = layout_in_extent(&a, AXIS_REG) / k, reg_a, reg_b;
            int32_t columns = layout_in_extent(&b, AXIS_REG) / k;
            assert_int_equal(layout_in_extent(&c, AXIS_REG), rows * columns);
            for (int thread = 0; thread < 32 * t->warps_m * t->warps_n; thread += 7)
                for (int32_t reg = 0; reg < rows * columns; reg++) {
                    layout_element(&c, reg, thread % 32, thread / 32, at);
                    for (reg_a = 0; reg_a < rows; reg_a++) {
                        layout_element(&a, reg_a + rows * (k - 1), thread % 32, thread / 32, at_a);
                        if (at_a[0] == at[0] && at_a[1] == k - 1)
                            break;
                    }
                    for (reg_b = 0; reg_b < columns; reg_b++) {
                        layout_element(&b, reg_b + columns * (k - 1), thread % 32, thread / 32,
                                       at_b);
                        if (at_b[1] == at[1] && at_b[0] == k - 1)
                            break;
                    }
                    assert_true(reg_a < rows && reg_b < columns);
                }
        }
}

static void blocked_layouts_cover_their_tile(void **state)
{
    (void)state;
    static const int32_t sizes[] = {1, 8, 24, 32, 48, 80, 88, 128, 176};
    static const int warps[] = {1, 2, 4, 8, 12};
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 9; j++)
            for (int w = 0; w < 5; w++)
                for (int bits = 8; bits <= 64; bits *= 2) {
                    int32_t extents[2] = {sizes[i], sizes[j]};
                    struct layout l;
                    struct layout_census census;
                    int32_t weights[ACCESS_VECTOR_BITS];
                    int vector = layout_widest_vector(extents, 2, bits), count;
                    arena_free(&arena);
                    assert_true(layout_blocked(extents, 2, bits, vector, warps[w], &l));
                    assert_int_equal(layout_in_extent(&l, AXIS_LANE), 32);
                    assert_int_equal(layout_in_extent(&l, AXIS_WARP), warps[w]);
                    layout_take_census(&l, &arena, &census);
                    assert_true(census.injective && census.surjective);
                    assert_true(layout_vector(&l, 1, vector, weights, &count) == vector);
                    /* no thread repeats work that an idle thread could share */
                    int64_t threads = 32 * warps[w], vectors = sizes[i] * sizes[j] / vector;
                    assert_true(census.holders == 1 || threads > vectors);
                }
    struct layout l;
    struct layout_census census;
    assert_true(layout_blocked((const int32_t[]){3, 40, 48}, 3, 16, 8, 4, &l));
    layout_take_census(&l, &arena, &census);
    assert_true(census.injective && census.surjective);
    assert_true(layout_blocked((const int32_t[]){1000}, 1, 32, 4, 4, &l));
    layout_take_census(&l, &arena, &census);
    assert_true(census.injective && census.surjective);
    assert_int_equal(layout_widest_vector((const int32_t[]){1000}, 1, 32), 4);
}

static void three_stages(void **state)
{
    (void)state;
    struct layout tile, swizzled, stages, back;
    int32_t in[3], at, again[3];
    assert_true(layout_rows((const int32_t[]){96, 32}, 2, 0, &tile));
    assert_true(layout_swizzled(&tile, 2, 3, 3, &swizzled));
    with_stages(&swizzled, 3, 96 * 32, &stages);
    assert_int_equal(layout_out_extent(&stages, AXIS_AT), 3 * 96 * 32);
    assert_true(layout_invert(&stages, &back));
    for (in[0] = 0; in[0] < 3; in[0]++)
        for (in[1] = 0; in[1] < 96; in[1]++)
            for (in[2] = 0; in[2] < 32; in[2]++) {
                layout_apply(&stages, in, &at);
                int32_t plain = in[1] * 32 + in[2];
                assert_int_equal(at, in[0] * 96 * 32 + (plain ^ (plain >> 3 & 0x18)));
                layout_apply(&back, &at, again);
                assert_memory_equal(in, again, sizeof in);
            }
}

static void panels_are_row_major_each(void **state)
{
    (void)state;
    struct layout l;
    int32_t in[2], at;
    assert_true(layout_panels((const int32_t[]){24, 80}, 2, 16, &l));
    for (in[0] = 0; in[0] < 24; in[0]++)
        for (in[1] = 0; in[1] < 80; in[1]++) {
            layout_apply(&l, in, &at);
            assert_int_equal(at, in[1] / 16 * 24 * 16 + in[0] * 16 + in[1] % 16);
        }
    assert_false(layout_panels((const int32_t[]){24, 80}, 2, 32, &l));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fragments_are_those_of_the_isa),
        cmocka_unit_test(warpgroup_sums),
        cmocka_unit_test(matrices_as_ldmatrix_gives_them),
        cmocka_unit_test(tiles_of_fragments_cover_their_tile),
        cmocka_unit_test(factors_of_multiply_adds_meet),
        cmocka_unit_test(blocked_layouts_cover_their_tile),
        cmocka_unit_test(three_stages),
        cmocka_unit_test(panels_are_row_major_each),
    };
    return cmocka_run_group_tests(tests, arena_set_up, arena_tear_down);
}
