/* The choice among measured variants: properties that hold whatever the formula weighs. */
#include "store/predict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

enum { ROWS = 6, VARIANTS = 3 };

/* Sizes m, n; times of three variants: 0 for few rows, 1 for many, 2 in no case. */
static const int64_t sizes[ROWS][2] = {{16, 4096},   {64, 4096},   {256, 4096},
                                       {1024, 4096}, {4096, 4096}, {4096, 1001}};
static float times[ROWS][VARIANTS] = {{10, 40, 60},    {12, 30, 60},    {40, 42, 80},
                                      {300, 120, 400}, {900, 400, 999}, {700, 300, 290}};

struct case_of {
    struct predict_row rows[ROWS];
    struct predict_table table;
    struct predict_facts facts[VARIANTS];
};

static struct case_of *fresh(void)
{
    static struct case_of c;
    c.table = (struct predict_table){2, VARIANTS, ROWS, c.rows};
    for (int r = 0; r < ROWS; r++)
        c.rows[r] = (struct predict_row){sizes[r], times[r]};
    for (int v = 0; v < VARIANTS; v++)
        c.facts[v] = (struct predict_facts){.usable = true};
    return &c;
}

static struct predicted best(const struct case_of *c, int64_t m, int64_t n)
{
    return predict_best(&c->table, (const int64_t[]){m, n}, c->facts);
}

static void an_exact_row_wins(void **state)
{
    (void)state;
    for (int r = 0; r < ROWS; r++) {
        struct predicted p = best(fresh(), sizes[r][0], sizes[r][1]);
        int fastest = r < 3 ? 0 : r < 5 ? 1 : 2;
        assert_true(p.exact && p.variant == fastest && p.nearest == r && p.distance == 0);
        assert_true(p.us == (double)times[r][fastest] && p.compared == VARIANTS);
    }
}

static void the_nearest_rows_decide(void **state)
{
    (void)state;
    struct predicted p = best(fresh(), 32, 4096);
    assert_true(!p.exact && p.variant == 0 && p.nearest <= 1);
    assert_true(fabs(p.distance - 1) < 1e-9);
    p = best(fresh(), 2048, 4096);
    assert_true(p.variant == 1 && (p.nearest == 3 || p.nearest == 4));
    p = best(fresh(), 1, 4096); /* outside of all rows */
    assert_true(p.variant == 0 && p.nearest == 0);
    p = best(fresh(), 1 << 20, 1 << 20);
    assert_int_equal(p.variant, 1);
    p = best(fresh(), 4096, 999); /* a row of the same divisor is nearer than one of 4096 */
    assert_true(p.variant == 2 && p.nearest == 5);
}

static void a_time_grows_with_the_sizes(void **state)
{
    (void)state;
    double before = 0;
    for (int64_t m = 1024; m <= 1 << 16; m *= 2) {
        struct predicted p = best(fresh(), m, 4096);
        assert_true(p.us > before);
        before = p.us;
    }
}

static void unusable_variants_do_not_win(void **state)
{
    (void)state;
    struct case_of *c = fresh();
    c->facts[0].usable = false;
    assert_int_equal(best(c, 16, 4096).variant, 1);
    assert_int_equal(best(c, 32, 4096).variant, 1);
    assert_int_equal(best(c, 32, 4096).compared, 2);
    c->facts[1].usable = false;
    assert_int_equal(best(c, 32, 4096).variant, 2);
    c->facts[2].usable = false;
    struct predicted p = best(c, 32, 4096);
    assert_true(p.variant == -1 && p.compared == 0 && p.nearest == -1 && p.us == 0);
}

static void variants_that_failed_nearby_do_not_win(void **state)
{
    (void)state;
    struct case_of *c = fresh();
    float near[2][VARIANTS] = {{0, 40, 60}, {0, 30, 60}};
    c->rows[0].us = near[0];
    c->rows[1].us = near[1];
    assert_int_equal(best(c, 16, 4096).variant, 1);
    assert_int_equal(best(c, 32, 4096).variant, 1);
    float none[ROWS][VARIANTS];
    for (int r = 0; r < ROWS; r++) {
        none[r][0] = 0;
        none[r][1] = times[r][1];
        none[r][2] = times[r][2];
        c->rows[r].us = none[r];
    }
    for (int64_t m = 1; m < 10000; m += 37)
        assert_int_not_equal(best(c, m, 4096).variant, 0);
}

/* A row whose times are all multiplied by one number tells the same. */
static void scale_changes_nothing(void **state)
{
    (void)state;
    float scaled[ROWS][VARIANTS];
    struct case_of *c = fresh();
    for (int64_t m = 1; m < 9000; m += 113) {
        int before = best(fresh(), m, 4096).variant;
        for (int r = 0; r < ROWS; r++) {
            for (int v = 0; v < VARIANTS; v++)
                scaled[r][v] = times[r][v] * (float)(1 << (r % 4));
            c->rows[r].us = scaled[r];
        }
        assert_int_equal(best(c, m, 4096).variant, before);
    }
}

/* Equal variants: the first, whatever the order of the rows. */
static void ties_go_to_the_first(void **state)
{
    (void)state;
    struct case_of *c = fresh();
    float same[ROWS][VARIANTS];
    for (int r = 0; r < ROWS; r++) {
        same[r][0] = times[r][1];
        same[r][1] = same[r][2] = times[r][0];
        c->rows[ROWS - 1 - r] = (struct predict_row){sizes[r], same[r]};
    }
    assert_int_equal(best(c, 16, 4096).variant, 1);
    assert_int_equal(best(c, 20, 4000).variant, 1);
}

static void rows_in_any_order_choose_the_same(void **state)
{
    (void)state;
    for (int64_t m = 1; m < 9000; m += 113) {
        struct case_of *c = fresh();
        int before = best(c, m, 4096).variant;
        for (int r = 0; r < ROWS; r++)
            c->rows[ROWS - 1 - r] = (struct predict_row){sizes[r], times[r]};
        assert_int_equal(best(c, m, 4096).variant, before);
    }
}

/* A variant of which the model knows that it grows faster than the others does not win far away. */
static void the_model_leads_away_from_rows(void **state)
{
    (void)state;
    struct case_of *c = fresh();
    double steady[ROWS] = {10, 10, 10, 10, 10, 10};
    for (int v = 0; v < VARIANTS; v++) {
        c->facts[v].models = steady;
        c->facts[v].model = 10;
    }
    assert_int_equal(best(c, 12, 4096).variant, 0);
    c->facts[0].model = 100;
    assert_int_equal(best(c, 12, 4096).variant, 1);
    c->facts[2].model = 100;
    c->facts[1].model = 20; /* twice the model's time at the rows: twice theirs */
    struct predicted p = best(c, 12, 4096);
    assert_true(p.variant == 1 && p.us > 2 * 30 && p.us < 2 * 120);
}

static void few_rows_suffice(void **state)
{
    (void)state;
    struct case_of *c = fresh();
    c->table.row_count = 1;
    assert_int_equal(best(c, 4096, 4096).variant, 0);
    c->table.row_count = 0;
    assert_int_equal(best(c, 4096, 4096).variant, -1);
    c = fresh();
    c->table.size_count = 0;
    assert_true(best(c, 1, 1).exact);
    c = fresh();
    assert_true(best(c, 0, -5).variant >= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exact_row_wins),
        cmocka_unit_test(the_nearest_rows_decide),
        cmocka_unit_test(a_time_grows_with_the_sizes),
        cmocka_unit_test(unusable_variants_do_not_win),
        cmocka_unit_test(variants_that_failed_nearby_do_not_win),
        cmocka_unit_test(scale_changes_nothing),
        cmocka_unit_test(ties_go_to_the_first),
        cmocka_unit_test(rows_in_any_order_choose_the_same),
        cmocka_unit_test(the_model_leads_away_from_rows),
        cmocka_unit_test(few_rows_suffice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
