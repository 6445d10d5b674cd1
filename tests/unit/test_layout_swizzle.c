/* The choice of a shared layout: it has no conflicts if they can be avoided, and is never worse
 * than the plain layout. */
#include "layout/layout_swizzle.h"
#include "layout/layout_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "test_layout_random.h"

enum { LANES = 1 << ACCESS_LANES, ANY = LANES | 1 << ACCESS_MATRIX | 1 << ACCESS_MATRIX_TRANS };

static struct shared_wish wish_for(int32_t rows, int32_t columns, int bits)
{
    return (struct shared_wish){.extents = {rows, columns}, .rank = 2, .bits = bits};
}

static void add_access(struct shared_wish *w, const struct layout *regs, unsigned kinds, int needed)
{
    w->access[w->count++] = (struct shared_access){regs, kinds, 16, needed, 1, 0};
}

static void check_bijective(const struct shared_wish *w, const struct layout *l)
{
    struct arena arena;
    jmp_buf failed;
    struct layout_census census;
    arena_init(&arena, NULL, &failed);
    assert_int_equal(setjmp(failed), 0);
    layout_take_census(l, &arena, &census);
    assert_true(census.injective && !census.masked);
    assert_int_equal(layout_size_in(l), (int64_t)w->extents[0] * w->extents[1]);
    arena_free(&arena);
}

/* Checks a tile that is copied asynchronously from global memory and read as a factor of mma, as
 * in the shipped kernels. */
static void check_factor(int32_t rows, int32_t columns, int bits, int k, int warps_m, int warps_n,
                         enum matrix_operand operand, bool turned)
{
    struct mma_tiling t = {.shape = {16, 8, k, bits}, .warps_m = warps_m, .warps_n = warps_n};
    struct layout copy, factor;
    int32_t extents[2] = {rows, columns}, back[2] = {columns, rows};
    struct shared_wish w = wish_for(rows, columns, bits);
    struct shared_choice c;
    assert_true(layout_mma_tile(&t, operand, turned ? back : extents, &factor));
    if (turned)
        layout_transpose(&factor, &factor);
    add_access(&w, NULL, LANES, 16);
    add_access(&w, &factor, ANY, 0);
    assert_true(layout_choose_with_copy(&w, 128 / bits, warps_m * warps_n, &copy, &c));
    check_bijective(&w, &c.layout);
    for (int i = 0; i < 2; i++)
        if (c.access[i].wavefronts != c.access[i].least) {
            print_error("%dx%d of %d bits: access %d takes %d wavefronts, not %d\n", (int)rows,
                        (int)columns, bits, i, (int)c.access[i].wavefronts, (int)c.access[i].least);
            fail();
        }
    assert_int_equal(c.bytes, (int64_t)rows * columns * bits / 8);
}

static void factors_have_no_conflicts(void **state)
{
    (void)state;
    static const int32_t m[] = {16, 32, 64, 80, 96, 128, 176, 256}, k[] = {16, 32, 48, 64, 80, 128};
    for (size_t i = 0; i < sizeof m / sizeof *m; i++)
        for (size_t j = 0; j < sizeof k / sizeof *k; j++) {
            int warps = m[i] % 64 == 0 ? 4 : m[i] % 32 == 0 ? 2 : 1;
            check_factor(m[i], k[j], 16, 16, warps, 2, MATRIX_A, false);
            check_factor(m[i], k[j], 16, 16, 2, warps, MATRIX_B, true);  /* [n][k] */
            check_factor(k[j], m[i], 16, 16, 2, warps, MATRIX_B, false); /* [k][n]: .trans */
            check_factor(k[j], m[i], 16, 16, warps, 2, MATRIX_A, true);  /* [k][m] */
            check_factor(m[i], k[j], 32, 8, warps, 2, MATRIX_A, false);
            check_factor(m[i], k[j], 32, 8, 2, warps, MATRIX_B, true);
            if (k[j] % 32 == 0) {
                check_factor(m[i], k[j], 8, 32, warps, 2, MATRIX_A, false);
                check_factor(m[i], k[j], 8, 32, 2, warps, MATRIX_B, true);
            }
        }
}

static void it_finds_the_usual_swizzles(void **state)
{
    (void)state;
    struct mma_tiling t = {.shape = {16, 8, 16, 16}, .warps_m = 2, .warps_n = 2};
    for (int columns = 16; columns <= 64; columns *= 2) {
        struct layout copy, factor, usual;
        int32_t extents[2] = {128, columns};
        struct shared_wish w = wish_for(128, columns, 16);
        struct shared_choice c;
        layout_mma_tile(&t, MATRIX_A, extents, &factor);
        layout_blocked(extents, 2, 16, 8, 4, &copy);
        add_access(&w, &copy, LANES, 16);
        add_access(&w, &factor, ANY, 0);
        assert_true(layout_choose_shared(&w, &c));
        assert_int_equal(c.form, SHARED_SWIZZLED);
        /* 32, 64, 128 bytes a row: the layout that a bulk tensor copy writes */
        assert_true(layout_tensor_box(extents, 2, 16, columns * 2, &usual));
        assert_true(layout_equal(&c.layout, &usual));
    }
}

static void a_transposed_read_of_f32(void **state)
{
    (void)state;
    struct layout by_row, by_column;
    struct shared_wish w = wish_for(32, 32, 32);
    struct shared_choice c;
    layout_blocked((const int32_t[]){32, 32}, 2, 32, 1, 4, &by_row);
    layout_transpose(&by_row, &by_column);
    add_access(&w, &by_row, LANES, 0);
    add_access(&w, &by_column, LANES, 0);
    assert_true(layout_choose_shared(&w, &c));
    assert_int_equal(c.form, SHARED_SWIZZLED);
    assert_int_equal(c.access[0].wavefronts, 32);
    assert_int_equal(c.access[1].wavefronts, 32);
}

static void where_vectors_are_needed_they_stay(void **state)
{
    (void)state;
    uint64_t seed = 21;
    for (int n = random_rounds(100); n > 0; n--) {
        struct layout copy, other;
        struct shared_choice c;
        random_registers(&seed, true, &other);
        int32_t extents[2] = {other.outs[0].extent, other.outs[1].extent};
        if (extents[1] % 8)
            continue;
        struct shared_wish w = wish_for(extents[0], extents[1], 16);
        layout_blocked(extents, 2, 16, 8, 4, &copy);
        add_access(&w, &other, LANES, 0);
        add_access(&w, &copy, LANES, 16);
        assert_true(layout_choose_shared(&w, &c));
        assert_int_equal(c.access[1].bytes, 16);
    }
}

static void print_forms(const int *forms)
{
    for (int f = 0; f < SHARED_FORMS; f++)
        print_message("%s %d%s", layout_shared_form_names[f], forms[f],
                      f + 1 < SHARED_FORMS ? ", " : "\n");
}

static void never_worse_than_plain(void **state)
{
    (void)state;
    uint64_t seed = 22;
    int64_t plain_sum = 0, chosen_sum = 0, least_sum = 0;
    int forms[SHARED_FORMS] = {0};
    for (int n = random_rounds(400); n > 0; n--) {
        struct layout a, b, plain;
        struct shared_choice rated, chosen;
        int bits = 8 << random_below(&seed, 3);
        random_registers(&seed, random_below(&seed, 2), &a);
        int32_t extents[2] = {a.outs[0].extent, a.outs[1].extent};
        layout_blocked(extents, 2, bits, layout_widest_vector(extents, 2, bits), 4, &b);
        struct shared_wish w = wish_for(extents[0], extents[1], bits);
        w.may_pad = random_below(&seed, 2);
        w.may_be_linear = random_below(&seed, 2);
        add_access(&w, &a, ANY, 0);
        add_access(&w, &b, LANES, 0);
        layout_rows(extents, 2, 0, &plain);
        assert_true(layout_rate_shared(&w, &plain, &rated));
        assert_true(layout_choose_shared(&w, &chosen));
        assert_true(chosen.cost <= rated.cost);
        forms[chosen.form]++;
        check_bijective(&w, &chosen.layout);
        for (int i = 0; i < 2; i++) {
            plain_sum += rated.access[i].wavefronts;
            chosen_sum += chosen.access[i].wavefronts;
            least_sum += chosen.access[i].least;
        }
    }
    print_message("wavefronts: plain %d, chosen %d, least %d\n", (int)plain_sum, (int)chosen_sum,
                  (int)least_sum);
    print_forms(forms);
    assert_true(chosen_sum < plain_sum);
}

/* Two linear accesses need not conflict, because two subspaces always have a common complement.
 * So the choice costs at most as much as accesses of single words without conflicts. */
static void two_linear_accesses_need_not_conflict(void **state)
{
    (void)state;
    uint64_t seed = 23;
    int forms[SHARED_FORMS] = {0};
    for (int n = random_rounds(200); n > 0; n--) {
        struct random_shape shape = random_shape(&seed);
        struct layout a, b;
        struct shared_choice c;
        shape.row_factor = shape.column_factor = 1;
        random_of_shape(&seed, &shape, true, &a);
        random_of_shape(&seed, &shape, true, &b);
        struct shared_wish w = wish_for(a.outs[0].extent, a.outs[1].extent, 32);
        w.may_be_linear = true;
        add_access(&w, &a, LANES, 0);
        add_access(&w, &b, LANES, 0);
        assert_true(layout_choose_shared(&w, &c));
        check_bijective(&w, &c.layout);
        forms[c.form]++;
        int64_t words = layout_size_out(&a) / 32; /* a wavefront moves 32 */
        assert_true(c.cost <= 2 * (2 * words + words));
    }
    print_forms(forms);
}

/* The linear method alone has no conflicts either, with the vectors that both accesses have. */
static void complements_have_no_conflicts(void **state)
{
    (void)state;
    uint64_t seed = 24;
    for (int n = random_rounds(200); n > 0; n--) {
        struct random_shape shape = random_shape(&seed);
        struct layout a, b, l;
        struct shared_choice c;
        int bits = 16 << random_below(&seed, 3);
        shape.row_factor = shape.column_factor = 1;
        random_of_shape(&seed, &shape, true, &a);
        random_of_shape(&seed, &shape, true, &b);
        struct shared_wish w = wish_for(a.outs[0].extent, a.outs[1].extent, bits);
        add_access(&w, &a, LANES, 0);
        add_access(&w, &b, LANES, 0);
        for (int leader = -1; leader < 2; leader++) {
            if (!layout_from_complement(&w, leader, &l)) {
                assert_true(leader >= 0);
                continue;
            }
            check_bijective(&w, &l);
            assert_true(layout_rate_shared(&w, &l, &c));
            for (int i = 0; i < 2 && leader < 0; i++)
                assert_int_equal(c.access[i].wavefronts, c.access[i].least);
        }
        w.extents[0] = 3 * w.extents[0];
        assert_false(layout_from_complement(&w, -1, &l));
    }
}

static void tensor_boxes_are_swizzled_in_chunks(void **state)
{
    (void)state;
    for (int span = 32; span <= 128; span *= 2)
        for (int bits = 8; bits <= 32; bits *= 2) {
            struct layout l;
            int width = span * 8 / bits;
            int32_t extents[2] = {48, 3 * width}, in[2], at;
            assert_true(layout_tensor_box(extents, 2, bits, span, &l));
            for (in[0] = 0; in[0] < extents[0]; in[0]++)
                for (in[1] = 0; in[1] < extents[1]; in[1]++) {
                    /* byte address in the panel, chunk number xored with line number */
                    int byte = (in[0] * width + in[1] % width) * bits / 8;
                    int chunk = byte >> 4, line = byte >> 7;
                    chunk ^= line & (span / 16 - 1);
                    byte = chunk << 4 | (byte & 15);
                    byte += in[1] / width * extents[0] * span;
                    layout_apply(&l, in, &at);
                    assert_int_equal(at * bits / 8, byte);
                }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_have_no_conflicts),
        cmocka_unit_test(it_finds_the_usual_swizzles),
        cmocka_unit_test(a_transposed_read_of_f32),
        cmocka_unit_test(where_vectors_are_needed_they_stay),
        cmocka_unit_test(never_worse_than_plain),
        cmocka_unit_test(two_linear_accesses_need_not_conflict),
        cmocka_unit_test(complements_have_no_conflicts),
        cmocka_unit_test(tensor_boxes_are_swizzled_in_chunks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
