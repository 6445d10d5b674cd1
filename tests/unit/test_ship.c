/* The variants that a build ships, and their order at sizes, as properties. */
#include "base/octaves.h"
#include "store/ship.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

static struct arena memory(jmp_buf *recovery)
{
    struct arena a;
    arena_init(&a, &allocator_libc, recovery);
    return a;
}

/* --- the variants --- */

/* Variant 0 is never the fastest, but never far from it; each other one wins one place. */
static const float times[] = {
    11, 10, 40, 40, /**/ 11, 40, 10, 40, /**/ 11, 40, 40, 10,
};

static void the_first_one_is_good_everywhere(void **state)
{
    int chosen[4];
    double mean;
    (void)state;
    assert_int_equal(ship_choose(times, 3, 4, 1, chosen, &mean), 1);
    assert_int_equal(chosen[0], 0);
    assert_float_equal(mean, 1.1, 1e-5);
    assert_int_equal(ship_choose(times, 3, 4, 4, chosen, &mean), 4);
    assert_float_equal(mean, 1, 1e-5);
    assert_int_equal(ship_choose_few(times, 3, 4, 4, chosen, &mean), 3); /* 0 became useless */
    assert_float_equal(mean, 1, 1e-5);
    assert_float_equal(ship_mean(times, 3, 4, chosen, 3), 1, 1e-5);
    assert_float_equal(ship_mean(times, 3, 4, (int[]){0}, 1), 1.1, 1e-5);
}

/* More variants never cost time; scaling the times of a place changes nothing. */
static void more_variants_are_no_slower(void **state)
{
    float scaled[12];
    double before = 1e9, mean;
    int chosen[4], again[4];
    (void)state;
    for (int i = 0; i < 12; i++)
        scaled[i] = times[i] * (float)(1 + i / 4);
    for (int most = 1; most <= 4; most++) {
        int count = ship_choose(times, 3, 4, most, chosen, &mean);
        assert_true(mean <= before);
        before = mean;
        assert_int_equal(ship_choose(scaled, 3, 4, most, again, &mean), count);
        assert_memory_equal(chosen, again, (size_t)count * sizeof *chosen);
    }
}

static void a_variant_that_gains_nothing_is_not_chosen(void **state)
{
    static const float same[] = {10, 20, 10, /**/ 5, 6, 5};
    int chosen[3];
    double mean;
    (void)state;
    assert_int_equal(ship_choose(same, 2, 3, 3, chosen, &mean), 1);
    assert_int_equal(chosen[0], 0);
}

/* A place without a time costs 16 times the fastest, and no place at all chooses none. */
static void missing_times_cost(void **state)
{
    static const float some[] = {10, 0, /**/ 0, 10, /**/ 0, 30};
    int chosen[2];
    double mean;
    (void)state;
    assert_int_equal(ship_choose(some, 3, 2, 1, chosen, &mean), 1);
    assert_int_equal(chosen[0], 1);
    assert_float_equal(mean, 2.5198, 1e-3); /* the cube root of 16 */
    assert_int_equal(ship_choose(some, 0, 2, 2, chosen, &mean), 0);
}

/* A variant without a time is not chosen, even if no other one has a time. */
static void a_variant_without_a_time_is_not_chosen(void **state)
{
    static const float none[] = {0, 0, /**/ 0, 0}, second[] = {0, 10, /**/ 0, 0};
    int chosen[2];
    double mean;
    (void)state;
    assert_int_equal(ship_choose(none, 2, 2, 2, chosen, &mean), 0);
    assert_int_equal(ship_choose(second, 2, 2, 2, chosen, &mean), 1);
    assert_int_equal(chosen[0], 1);
}

/* --- their order --- */

static void the_order_begins_with_the_choice(void **state)
{
    static const int64_t sizes[][1] = {{64}, {1024}};
    static const float us[][4] = {{3, 1, 2, 0}, {10, 30, 20, 0}};
    static const struct predict_row rows[] = {{sizes[0], us[0]}, {sizes[1], us[1]}};
    const struct predict_table t = {1, 4, 2, rows};
    struct predict_facts facts[] = {
        {.usable = true}, {.usable = true}, {.usable = true}, {.usable = true}};
    int order[4];
    (void)state;
    assert_int_equal(ship_order(&t, sizes[0], facts, 4, order), 4);
    assert_memory_equal(order, ((int[]){1, 2, 0, 3}), sizeof order);
    assert_int_equal(ship_order(&t, sizes[1], facts, 1, order), 1);
    assert_int_equal(order[0], 0);
    facts[0].usable = false;
    assert_int_equal(ship_order(&t, sizes[1], facts, 4, order), 3);
    assert_memory_equal(order, ((int[]){2, 1, 3}), 3 * sizeof *order);
    for (int64_t size = 1; size < 4096; size += 7) {
        ship_order(&t, &size, facts, 4, order);
        assert_int_equal(order[0], predict_best(&t, &size, facts).variant);
        assert_true(facts[1].usable && facts[2].usable && facts[3].usable);
    }
}

/* --- points --- */

/* Variant 1 wins from 100 × 100 on, variant 2 where the first size is odd. */
static void order_of(void *user, const int64_t *sizes, bool all, int *order)
{
    int best = sizes[0] % 2 && sizes[0] > 1 ? 2 : sizes[0] * sizes[1] >= 10000;
    int *looks = user;
    ++*looks;
    order[0] = best;
    for (int i = 0, at = 1; i < 3 && all; i++)
        if (i != best)
            order[at++] = i;
}

static void order_of_none(void *user, const int64_t *sizes, bool all, int *order)
{
    (void)sizes;
    ++*(int *)user;
    for (int i = 0; i < (all ? 3 : 1); i++)
        order[i] = 2 - i;
}

static void order_of_parity(void *user, const int64_t *sizes, bool all, int *order)
{
    int first = sizes[0] > 100 ? 1 + (int)(sizes[0] % 2) : 0;
    ++*(int *)user;
    for (int i = 0; i < (all ? 3 : 1); i++)
        order[i] = (first + i) % 3;
}

static int winner_at(const struct ship_points *p, int64_t m, int64_t n)
{
    const int64_t sizes[] = {m, n};
    return p->list.data[ship_nearest(p, sizes)].order[0];
}

static void the_grid_finds_the_winners(void **state)
{
    jmp_buf recovery;
    assert_int_equal(setjmp(recovery), 0);
    struct arena a = memory(&recovery);
    struct ship_points p = {.size_count = 2, .variant_count = 3};
    static const int64_t least[] = {1, 16}, most[] = {4096, 1024};
    int order[3], looks = 0;
    (void)state;
    order_of(&looks, ((int64_t[]){33, 64}), true, order);
    ship_add(&a, &p, (int64_t[]){33, 64}, order);
    order_of(&looks, ((int64_t[]){64, 64}), true, order);
    ship_add(&a, &p, (int64_t[]){64, 64}, order);
    ship_fill(&a, &p, &(struct ship_space){least, most}, 500, order_of, &looks);
    assert_true(p.list.count > 4 && p.list.count < 100);
    for (int64_t m = 16; m <= 4096; m *= 2)
        for (int64_t n = 16; n <= 1024; n *= 2)
            for (int odd = 0; odd <= (m < 4096); odd++) {
                int64_t sizes[] = {m + odd, n};
                order_of(&looks, sizes, false, order);
                assert_int_equal(winner_at(&p, m + odd, n), order[0]);
            }
    for (size_t i = 0; i < p.list.count; i++)
        for (int s = 0; s < 2; s++)
            assert_in_range(p.list.data[i].sizes[s], least[s], most[s]);
    arena_free(&a);
}

static void the_grid_ends(void **state)
{
    jmp_buf recovery;
    assert_int_equal(setjmp(recovery), 0);
    struct arena a = memory(&recovery);
    static const int64_t least[] = {1, 1, 1, 1, 1, 1},
                         most[] = {1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20};
    int looks = 0;
    (void)state;
    struct ship_points p = {.size_count = 6, .variant_count = 3};
    ship_fill(&a, &p, &(struct ship_space){least, most}, 1 << 20, order_of, &looks);
    assert_true(looks <= 2 * 20000);
    p = (struct ship_points){.size_count = 2, .variant_count = 3};
    ship_fill(&a, &p, &(struct ship_space){least, most}, 3, order_of, &looks);
    assert_int_equal(p.list.count, 3);
    p = (struct ship_points){.size_count = 2, .variant_count = 3};
    ship_fill(&a, &p, &(struct ship_space){least, least}, 3, order_of, &looks);
    assert_int_equal(p.list.count, 1);
    arena_free(&a);
}

/* Without sizes, there is one point. */
static void no_sizes_have_a_point(void **state)
{
    jmp_buf recovery;
    assert_int_equal(setjmp(recovery), 0);
    struct arena a = memory(&recovery);
    static const int64_t none[1];
    int looks = 0;
    (void)state;
    struct ship_points p = {.size_count = 0, .variant_count = 3};
    ship_fill(&a, &p, &(struct ship_space){none, none}, 10, order_of_none, &looks);
    assert_int_equal(p.list.count, 1);
    assert_int_equal(ship_nearest(&p, none), 0);
    arena_free(&a);
}

/* Each point is its own nearest one, even if the octaves of its neighbours are the same. */
static void a_point_is_its_own_nearest(void **state)
{
    jmp_buf recovery;
    assert_int_equal(setjmp(recovery), 0);
    struct arena a = memory(&recovery);
    struct ship_points p = {.size_count = 2, .variant_count = 1};
    (void)state;
    for (int64_t size = 1; size < 6000; size += 1 + size / 16 % 3)
        ship_add(&a, &p, (int64_t[]){size, 1}, (int[]){0});
    for (size_t i = 0; i < p.list.count; i++)
        assert_int_equal(ship_nearest(&p, p.list.data[i].sizes), i);
    arena_free(&a);
}

/* The space may end at the largest size; the divisors of 16 lie below it. */
static void the_largest_sizes_do_not_overflow(void **state)
{
    jmp_buf recovery;
    assert_int_equal(setjmp(recovery), 0);
    struct arena a = memory(&recovery);
    static const int64_t least[] = {INT64_MAX - 3, 1}, most[] = {INT64_MAX, 1};
    int looks = 0;
    (void)state;
    struct ship_points p = {.size_count = 2, .variant_count = 3};
    for (int64_t size = 16; size < 20; size++)
        ship_add(&a, &p, (int64_t[]){size, 1}, (int[]){0, 1, 2});
    ship_fill(&a, &p, &(struct ship_space){least, most}, 20, order_of_parity, &looks);
    for (size_t i = 4; i < p.list.count; i++)
        assert_true(p.list.data[i].sizes[0] >= least[0]);
    assert_true(p.list.count > 4);
    arena_free(&a);
}

/* Octaves are exact at powers of two, grow with the size, and are right to a 128th. */
static void octaves_are_logarithms(void **state)
{
    int before = -256;
    (void)state;
    assert_int_equal(octaves_256(0), -256);
    for (int e = 0; e < 63; e++)
        assert_int_equal(octaves_256((int64_t)1 << e), e * 256);
    for (int64_t size = 1; size < INT64_MAX / 2; size += 1 + size / 100) {
        int now = octaves_256(size);
        assert_true(now >= before);
        assert_true(fabs(now / 256.0 - log2((double)size)) < 1 / 128.0);
        before = now;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_one_is_good_everywhere),
        cmocka_unit_test(more_variants_are_no_slower),
        cmocka_unit_test(a_variant_that_gains_nothing_is_not_chosen),
        cmocka_unit_test(missing_times_cost),
        cmocka_unit_test(a_variant_without_a_time_is_not_chosen),
        cmocka_unit_test(the_order_begins_with_the_choice),
        cmocka_unit_test(the_grid_finds_the_winners),
        cmocka_unit_test(the_grid_ends),
        cmocka_unit_test(no_sizes_have_a_point),
        cmocka_unit_test(a_point_is_its_own_nearest),
        cmocka_unit_test(the_largest_sizes_do_not_overflow),
        cmocka_unit_test(octaves_are_logarithms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
