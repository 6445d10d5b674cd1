/* The cost of accesses: wavefronts, vectors, sectors and matrix accesses, compared with an
 * enumeration lane by lane. */
#include "layout/layout_access.h"
#include "layout/layout_named.h"
#include "layout/layout_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "test_layout_random.h"

/* --- The bank rule in another way: mark words in a table of banks --- */

static int slow_wavefronts(const uint32_t *address, uint32_t active, int bytes)
{
    static unsigned char asked[1 << 16];
    int lanes = bytes == 16 ? 8 : bytes == 8 ? 16 : 32, sum = 0;
    for (int first = 0; first < 32; first += lanes) {
        int bank_load[32] = {0}, most = 0;
        memset(asked, 0, sizeof asked);
        for (int lane = first; lane < first + lanes; lane++)
            for (int b = 0; b < bytes && (active >> lane & 1); b++) {
                uint32_t word = (address[lane] + (uint32_t)b) / 4;
                assert_true(word < sizeof asked);
                bank_load[word % 32] += !asked[word];
                asked[word] = 1;
            }
        for (int bank = 0; bank < 32; bank++)
            most = bank_load[bank] > most ? bank_load[bank] : most;
        sum += most;
    }
    return sum;
}

static void wavefronts_of_known_patterns(void **state)
{
    (void)state;
    uint32_t a[32];
    for (uint32_t stride = 1; stride <= 32; stride *= 2) {
        for (uint32_t l = 0; l < 32; l++)
            a[l] = l * stride * 4;
        assert_int_equal(layout_shared_wavefronts(a, UINT32_MAX, 4), stride);
    }
    for (uint32_t l = 0; l < 32; l++)
        a[l] = l * 33 * 4; /* a padded column */
    assert_int_equal(layout_shared_wavefronts(a, UINT32_MAX, 4), 1);
    memset(a, 0, sizeof a);
    assert_int_equal(layout_shared_wavefronts(a, UINT32_MAX, 4), 1); /* all lanes read one word */
    for (uint32_t l = 0; l < 32; l++)
        a[l] = l * 16;
    assert_int_equal(layout_shared_wavefronts(a, UINT32_MAX, 16), 4);
    assert_int_equal(layout_shared_wavefronts_least(UINT32_MAX, 16), 4);
    for (uint32_t l = 0; l < 32; l++)
        a[l] = l * 128;
    assert_int_equal(layout_shared_wavefronts(a, UINT32_MAX, 16), 32);
    assert_int_equal(layout_matrix_wavefronts(a, 4), 32);
    assert_int_equal(layout_shared_wavefronts(a, 0x00010001, 8), 2);
    assert_int_equal(layout_shared_wavefronts_least(0x00010001, 8), 2);
    assert_int_equal(layout_shared_wavefronts(a, 0, 8), 0);
}

static void wavefronts_of_random_addresses(void **state)
{
    (void)state;
    uint64_t seed = 11;
    for (int n = random_rounds(2000); n > 0; n--) {
        uint32_t a[32], active = random_next(&seed) | random_next(&seed);
        int bytes = 1 << random_below(&seed, 5);
        uint32_t range = 1u << (1 + random_below(&seed, 11));
        for (int l = 0; l < 32; l++)
            a[l] = random_next(&seed) % range * (uint32_t)bytes;
        assert_int_equal(layout_shared_wavefronts(a, active, bytes),
                         slow_wavefronts(a, active, bytes));
    }
}

static void sectors_of_known_patterns(void **state)
{
    (void)state;
    uint64_t a[32];
    for (uint64_t l = 0; l < 32; l++)
        a[l] = 4096 + l * 4;
    assert_int_equal(layout_global_sectors(a, UINT32_MAX, 4), 4);
    for (uint64_t l = 0; l < 32; l++)
        a[l] = 4096 + l * 16;
    assert_int_equal(layout_global_sectors(a, UINT32_MAX, 16), 16);
    for (uint64_t l = 0; l < 32; l++)
        a[l] = l * 1024;
    assert_int_equal(layout_global_sectors(a, UINT32_MAX, 4), 32);
    assert_int_equal(layout_global_sectors(a, 1, 4), 1);
}

/* --- Accesses from maps --- */

/* Returns the place of a register's element by applying the two maps in turn; -1: masked. */
static int32_t place_of(const struct layout *regs, const struct layout *memory, int32_t reg,
                        int32_t lane, int32_t warp)
{
    int32_t at[LAYOUT_OUTS], place;
    if (!layout_element(regs, reg, lane, warp, at))
        return -1;
    layout_apply(memory, at, &place);
    return place;
}

/* Returns a register that an instruction moves: base + the sum of the chosen weights. */
static int32_t register_of(const struct access *a, int32_t base, int element)
{
    for (int b = 0; b < a->vector_bits; b++)
        base += (element >> b & 1) * a->vector[b];
    return base;
}

static void check_lanes(const struct layout *regs, const struct layout *memory, int bits,
                        const struct access *a)
{
    int64_t wavefronts = 0, instructions = 0, moved = 0;
    for (int32_t warp = 0; warp < layout_in_extent(regs, AXIS_WARP); warp++)
        for (int32_t reg = 0; reg < layout_in_extent(regs, AXIS_REG); reg++) {
            uint32_t address[32] = {0}, active = 0, said[32];
            if (!layout_access_base(regs, a, reg))
                continue;
            for (int32_t lane = 0; lane < 32; lane++) {
                int32_t place = place_of(regs, memory, reg, lane, warp);
                for (int e = 0; e < a->elements; e++)
                    assert_int_equal(place_of(regs, memory, register_of(a, reg, e), lane, warp),
                                     place < 0 ? -1 : place + e);
                if (place < 0)
                    continue;
                assert_int_equal(place % a->elements, 0);
                address[lane] = (uint32_t)place * (uint32_t)bits / 8;
                active |= 1u << lane;
            }
            wavefronts += slow_wavefronts(address, active, a->bytes);
            instructions += active != 0;
            moved += a->elements;
            assert_int_equal(layout_access_addresses(regs, memory, bits, a, reg, warp, said),
                             active);
            assert_memory_equal(said, address, sizeof said);
        }
    assert_int_equal(wavefronts, a->wavefronts);
    assert_int_equal(instructions, a->instructions);
    assert_int_equal(moved, (int64_t)layout_in_extent(regs, AXIS_REG) *
                                layout_in_extent(regs, AXIS_WARP) /
                                layout_free_extent(regs, AXIS_REG));
    assert_true(a->least <= a->wavefronts);
}

static void lane_accesses_of_random_layouts(void **state)
{
    (void)state;
    uint64_t seed = 12;
    int wide = 0;
    for (int n = random_rounds(600); n > 0; n--) {
        struct layout regs, memory;
        struct access a;
        int bits = 8 << random_below(&seed, 4);
        random_registers(&seed, random_below(&seed, 2), &regs);
        int32_t extents[2] = {regs.outs[0].extent, regs.outs[1].extent};
        random_shared(&seed, extents, &memory);
        if ((int64_t)memory.outs[0].extent * bits / 8 > 1 << 18)
            continue;
        layout_access_lanes(&regs, &memory, bits, 16, &a);
        check_lanes(&regs, &memory, bits, &a);
        wide += a.elements > 1;
    }
    assert_true(wide > 20);
}

static void lane_accesses_of_blocked_layouts(void **state)
{
    (void)state;
    static const int32_t sizes[] = {16, 32, 64, 80, 96, 128, 176};
    static const int warps[] = {1, 2, 4, 8, 12};
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 7; j++)
            for (int w = 0; w < 5; w++) {
                struct layout regs, memory;
                struct access a;
                int32_t extents[2] = {sizes[i], sizes[j]};
                assert_true(layout_blocked(extents, 2, 16, 8, warps[w], &regs));
                layout_rows(extents, 2, 0, &memory);
                layout_access_lanes(&regs, &memory, 16, 16, &a);
                assert_int_equal(a.elements, 8);
                check_lanes(&regs, &memory, 16, &a);
            }
}

/* Executes ldmatrix as the PTX ISA defines it, on places instead of values. */
static void check_matrices(const struct layout *regs, const struct layout *memory, int bits,
                           const struct access *a)
{
    int e = 32 / bits;
    int64_t wavefronts = 0, instructions = 0;
    for (int32_t warp = 0; warp < layout_in_extent(regs, AXIS_WARP); warp++)
        for (int32_t reg = 0; reg < layout_in_extent(regs, AXIS_REG); reg++) {
            uint32_t rows[32];
            if (!layout_access_base(regs, a, reg))
                continue;
            if (!layout_access_addresses(regs, memory, bits, a, reg, warp, rows)) {
                for (int l = 0; l < 32; l++)
                    assert_int_equal(place_of(regs, memory, reg, l, warp), -1);
                continue;
            }
            wavefronts += layout_matrix_wavefronts(rows, a->matrices);
            instructions++;
            for (int m = 0; m < a->matrices; m++)
                for (int lane = 0; lane < 32; lane++)
                    for (int i = 0; i < e; i++) {
                        bool trans = a->kind == ACCESS_MATRIX_TRANS;
                        int row = trans ? lane % 4 * 2 + i : lane / 4;
                        int column = trans ? lane / 4 : lane % 4 * e + i;
                        int32_t r = reg + (m & 1) * a->matrix[0] + (m >> 1) * a->matrix[1] + i;
                        assert_int_equal((int64_t)rows[8 * m + row] * 8 + column * bits,
                                         (int64_t)place_of(regs, memory, r, lane, warp) * bits);
                    }
        }
    assert_int_equal(wavefronts, a->wavefronts);
    assert_int_equal(instructions, a->instructions);
}

static void matrix_accesses_of_factors(void **state)
{
    (void)state;
    static const struct {
        int bits, k;
        int32_t m, n, kk;
        int warps_m, warps_n;
    } cases[] = {
        {16, 16, 128, 128, 32, 2, 2}, {16, 16, 128, 64, 64, 4, 2}, {16, 8, 64, 64, 32, 2, 2},
        {32, 8, 128, 64, 32, 2, 2},   {8, 32, 128, 128, 64, 2, 4}, {16, 16, 96, 96, 48, 3, 4},
        {16, 16, 80, 176, 16, 1, 11}, {16, 16, 80, 80, 32, 2, 2},  {16, 16, 176, 96, 64, 4, 5},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct mma_tiling t = {.shape = {16, 8, cases[c].k, cases[c].bits},
                               .warps_m = cases[c].warps_m,
                               .warps_n = cases[c].warps_n,
                               .scattered = c % 2 == 1};
        struct layout a, b, b_turned, memory;
        struct access access;
        int32_t a_extents[2] = {cases[c].m, cases[c].kk}, b_extents[2] = {cases[c].kk, cases[c].n};
        int32_t turned[2] = {cases[c].n, cases[c].kk};
        assert_true(layout_mma_tile(&t, MATRIX_A, a_extents, &a));
        assert_true(layout_mma_tile(&t, MATRIX_B, b_extents, &b));
        layout_rows(a_extents, 2, 0, &memory);
        assert_true(layout_access_matrix(&a, &memory, cases[c].bits, false, &access));
        assert_int_equal(access.matrices,
                         4); /* a mask keeps or drops 16 rows and 32 bytes as a whole */
        check_matrices(&a, &memory, cases[c].bits, &access);
        /* [n][k] in memory: no transposition; [k][n]: .trans, for 16 bits */
        layout_transpose(&b, &b_turned);
        layout_rows(turned, 2, 0, &memory);
        assert_true(layout_access_matrix(&b_turned, &memory, cases[c].bits, false, &access));
        check_matrices(&b_turned, &memory, cases[c].bits, &access);
        layout_rows(b_extents, 2, 0, &memory);
        assert_false(layout_access_matrix(&b, &memory, cases[c].bits, false, &access));
        assert_true(layout_access_matrix(&b, &memory, cases[c].bits, true, &access) ==
                    (cases[c].bits == 16));
        if (cases[c].bits == 16)
            check_matrices(&b, &memory, cases[c].bits, &access);
    }
}

/* Neighbouring registers that do not form a digit of their own cannot form a word of a fragment. */
static void odd_registers_are_no_fragment(void **state)
{
    (void)state;
    struct layout regs, memory;
    struct access a;
    layout_init(&regs);
    layout_add_out(&regs, AXIS_D0, 16);
    layout_add_out(&regs, AXIS_D1, 88);
    layout_add_digit(&regs, AXIS_REG, 11, AXIS_D1, 8);
    layout_add_digit(&regs, AXIS_REG, 2, AXIS_D0, 8);
    layout_add_digit(&regs, AXIS_LANE, 4, AXIS_D0, 1);
    layout_add_digit(&regs, AXIS_LANE, 8, AXIS_D1, 1);
    layout_normalise(&regs);
    layout_rows((const int32_t[]){16, 88}, 2, 0, &memory);
    assert_false(layout_access_matrix(&regs, &memory, 16, true, &a));
}

static void a_factor_in_plain_rows_conflicts(void **state)
{
    (void)state;
    struct mma_tiling t = {.shape = {16, 8, 16, 16}, .warps_m = 2, .warps_n = 2};
    struct layout a, memory;
    struct access access;
    int32_t extents[2] = {128, 64};
    layout_mma_tile(&t, MATRIX_A, extents, &a);
    layout_rows(extents, 2, 0, &memory);
    assert_true(layout_access_matrix(&a, &memory, 16, false, &access));
    assert_int_equal(access.instructions, 4 * 4 * 4);
    assert_int_equal(access.least, 4 * access.instructions);
    assert_int_equal(access.wavefronts, 32 * access.instructions);
    struct layout swizzled;
    assert_true(layout_swizzled(&memory, 3, 3, 3, &swizzled));
    assert_true(layout_access_matrix(&a, &swizzled, 16, false, &access));
    assert_int_equal(access.wavefronts, access.least);
}

static void sectors_of_blocked_layouts(void **state)
{
    (void)state;
    struct layout l;
    int64_t instructions, strides[2] = {4096, 1};
    layout_blocked((const int32_t[]){128, 32}, 2, 16, 8, 4, &l);
    assert_int_equal(layout_sectors(&l, strides, 16, &instructions), 128 * 32 * 2 / 32);
    assert_int_equal(instructions, 128 * 32 * 2 / 512);
    layout_blocked((const int32_t[]){64, 80}, 2, 16, 8, 4, &l); /* 160-byte rows: five sectors */
    assert_int_equal(layout_sectors(&l, strides, 16, &instructions), 64 * 5);
    assert_int_equal(instructions, 64 * 80 * 2 / 512);
    layout_blocked((const int32_t[]){96, 176}, 2, 16, 8, 12, &l);
    assert_int_equal(layout_sectors(&l, strides, 16, &instructions), 96 * 11);
}

/* Marks the elements that a warp holds, a bit each. */
static void held_by_warp(const struct layout *l, int warp, unsigned char *held)
{
    memset(held, 0, 64 * 64);
    for (int lane = 0; lane < LAYOUT_LANES; lane++)
        for (int reg = 0; reg < layout_in_extent(l, AXIS_REG); reg++) {
            int32_t at[LAYOUT_OUTS];
            layout_element(l, reg, lane, warp, at);
            held[at[0] * 64 + at[1]]++;
        }
}

static void check_widened(const struct layout *l, int vector)
{
    static unsigned char before[64 * 64], after[64 * 64];
    struct layout wide;
    int32_t weights[ACCESS_VECTOR_BITS];
    int bits, warps = layout_in_extent(l, AXIS_WARP);
    assert_true(layout_widen(l, 1, vector, &wide));
    assert_true(layout_vector(&wide, 1, vector, weights, &bits) == vector);
    assert_int_equal(layout_in_extent(&wide, AXIS_REG), layout_in_extent(l, AXIS_REG));
    for (int warp = 0; warp < warps; warp++) {
        held_by_warp(l, warp, before);
        held_by_warp(&wide, warp, after);
        assert_memory_equal(before, after, sizeof before);
    }
}

/* Sums of products: a thread holds two elements of a row, then four or eight; each warp keeps
 * its elements. */
static void vectors_are_widened_within_warps(void **state)
{
    (void)state;
    const int32_t extents[2] = {64, 64};
    for (int warps_m = 1; warps_m <= 4; warps_m *= 2)
        for (int warps_n = 1; warps_n <= 4; warps_n *= 2) {
            struct mma_tiling t = {{16, 8, 16, 16}, warps_m, warps_n, false};
            struct layout sum, none;
            assert_true(layout_mma_tile(&t, MATRIX_C, extents, &sum));
            check_widened(&sum, 2);
            check_widened(&sum, 4);
            check_widened(&sum, 8);
            assert_false(layout_widen(&sum, 1, 64 * 2, &none)); /* longer than a row */
        }
    struct layout rows; /* a thread has one element: it has none to exchange */
    assert_true(layout_blocked((const int32_t[2]){1, 64}, 2, 32, 1, 2, &rows));
    assert_false(layout_widen(&rows, 1, 4, &(struct layout){0}));
}

static void addresses_split_into_pointers_and_constants(void **state)
{
    (void)state;
    uint64_t seed = 13;
    for (int n = random_rounds(500); n > 0; n--) {
        struct layout regs, memory, all;
        struct address_split split;
        random_registers(&seed, random_below(&seed, 2), &regs);
        int32_t extents[2] = {regs.outs[0].extent, regs.outs[1].extent};
        random_shared(&seed, extents, &memory);
        if (!layout_compose(&memory, &regs, &all))
            continue;
        layout_split_addresses(&all, &split);
        if (split.variants > 16)
            continue;
        int32_t zero[LAYOUT_INS] = {0}, in[LAYOUT_INS] = {0}, at;
        int reg = layout_in_index(&all, AXIS_REG);
        for (in[2] = 0; in[2] < all.ins[2].extent; in[2]++)
            for (in[1] = 0; in[1] < 32; in[1]++) {
                /* a lane computes once: the bits to xor into the place, and the number to add */
                int32_t xors = all.flip[0], adds = 0;
                int32_t rest[LAYOUT_INS];
                memcpy(rest, in, sizeof rest);
                for (int d = 0; d < all.digit_count; d++) {
                    int32_t digit = rest[all.digits[d].in] % all.digits[d].extent;
                    rest[all.digits[d].in] /= all.digits[d].extent;
                    if (all.digits[d].in == reg)
                        continue;
                    xors ^= digit ? all.digits[d].xor [0] : 0;
                    adds += digit * all.digits[d].add[0];
                }
                for (int32_t r = 0; r < all.ins[reg].extent; r++) {
                    int variant;
                    int32_t constant = layout_split_constant(&all, &split, r, &variant);
                    in[reg] = r;
                    layout_apply(&all, in, &at);
                    in[reg] = 0;
                    assert_int_equal(at, (xors ^ split.variant[variant]) + adds + constant);
                }
            }
        (void)zero;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wavefronts_of_known_patterns),
        cmocka_unit_test(wavefronts_of_random_addresses),
        cmocka_unit_test(sectors_of_known_patterns),
        cmocka_unit_test(lane_accesses_of_random_layouts),
        cmocka_unit_test(lane_accesses_of_blocked_layouts),
        cmocka_unit_test(matrix_accesses_of_factors),
        cmocka_unit_test(odd_registers_are_no_fragment),
        cmocka_unit_test(a_factor_in_plain_rows_conflicts),
        cmocka_unit_test(sectors_of_blocked_layouts),
        cmocka_unit_test(vectors_are_widened_within_warps),
        cmocka_unit_test(addresses_split_into_pointers_and_constants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
