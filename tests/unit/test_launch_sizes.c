/* Grids by compiled program, compared with grids by expression tree: random expressions on
 * random values. */
#include "tile/launch_sizes.h"

#include "arena_helper.h"
#include "base/grid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { PARAMS = 5, PROGRAMS = 4000, RUNS = 8 };
static const enum dtype dtypes[PARAMS] = {DT_I32, DT_I32, DT_I64, DT_U32, DT_F32};

static uint64_t seed;
static int pick(int below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)below);
}

static struct kernel *kernel_of_params(void)
{
    static const char *const names[PARAMS] = {"a", "b", "c", "d", "e"};
    struct kernel *k = kernel_new(&arena, "test", LOC_NONE);
    struct param **last = &k->params;
    for (int i = 0; i < PARAMS; i++) {
        struct param *p = arena_new(&arena, struct param);
        p->sym = sym_new(k, names[i], ST_PARAM, type_scalar(dtypes[i]), LOC_NONE);
        p->sym->index = i;
        *last = p;
        last = &p->next;
    }
    k->param_count = PARAMS;
    return k;
}

static struct expr *param_ref(struct kernel *k, int index)
{
    const struct param *p = k->params;
    while (p->sym->index != index)
        p = p->next;
    return expr_ref(k, p->sym, LOC_NONE);
}

static struct expr *random_expr(struct kernel *k, enum dtype t, int depth)
{
    static const enum op ops[] = {OP_ADD, OP_SUB, OP_MUL,  OP_DIV, OP_REM,
                                  OP_MIN, OP_MAX, OP_CDIV, OP_SHL};
    if (depth == 0 || pick(6) == 0) {
        if (pick(2))
            return expr_int(k, t, pick(200) - (t == DT_U32 ? 0 : 20), LOC_NONE);
        return expr_cast(k, param_ref(k, pick(PARAMS)), t);
    }
    if (pick(12) == 0) {
        struct expr *choice = expr_new(k, OP_SELECT, type_scalar(t), LOC_NONE, 3);
        choice->args[0] = expr_binary(k, OP_LT, type_scalar(DT_BOOL), LOC_NONE,
                                      random_expr(k, t, depth - 1), random_expr(k, t, depth - 1));
        choice->args[1] = random_expr(k, t, depth - 1);
        choice->args[2] = random_expr(k, t, depth - 1);
        return choice;
    }
    if (pick(8) == 0)
        return expr_cast(k, random_expr(k, t == DT_I32 ? DT_I64 : DT_I32, depth - 1), t);
    enum op op = ops[pick(sizeof ops / sizeof *ops)];
    return expr_binary(k, op, type_scalar(t), LOC_NONE, random_expr(k, t, depth - 1),
                       random_expr(k, t, depth - 1));
}

/* Fills both: by parameter, as a launch gives them. */
static void random_values(uint64_t *values, struct literal *literals)
{
    for (int i = 0; i < PARAMS; i++) {
        int64_t v = pick(3) ? pick(5000) : pick(20) - 10;
        if (pick(10) == 0)
            v = INT32_MAX - pick(3);
        if (dtypes[i] == DT_U32 && v < 0)
            v = -v;
        literals[i] = (struct literal){.i = v};
        values[i] = (uint64_t)v;
        if (!dtype_is_float(dtypes[i]))
            continue;
        literals[i] = (struct literal){.is_float = true, .f = (double)(float)v / 4};
        values[i] = 0;
        dtype_store_f64(dtypes[i], &values[i], literals[i].f);
    }
}

static bool has_division(const struct expr *e)
{
    bool found = e->op == OP_DIV || e->op == OP_REM || e->op == OP_CDIV;
    for (int i = 0; i < e->count; i++)
        found = found || has_division(e->args[i]);
    return found;
}

/* Returns the answer of a launch from a script for this kernel and these values. */
static bool expected_grid(const struct kernel *k, const struct sym *view, struct scalar_env *env,
                          int64_t grid[3])
{
    int64_t extent;
    for (int i = 0; i < 3; i++) {
        grid[i] = 1;
        if (k->grid[i] && (eval_overflow(k->grid[i], env, true) ||
                           !eval_int(k->grid[i], env, &grid[i]) || grid[i] > grid_limits[i]))
            return false;
    }
    if (eval_overflow(view->dims[0], env, true) || eval_overflow(view->strides[0], env, true) ||
        eval_overflow(view->base_offset, env, true))
        return false;
    return !eval_int(view->dims[0], env, &extent) || extent >= 0;
}

static void programs_are_the_trees(void **state)
{
    (void)state;
    static const bool known[PARAMS] = {true, true, true, true, true};
    int good = 0, agreed = 0;
    for (int n = 0; n < PROGRAMS; n++) {
        seed = (uint64_t)n;
        struct kernel *k = kernel_of_params();
        struct launch_sizes sizes;
        for (int i = 0; i < 3; i++)
            k->grid[i] = pick(4) ? random_expr(k, pick(2) ? DT_I32 : DT_I64, 3) : NULL;
        struct sym *view = sym_new(k, "v", ST_VIEW, type_tile(DT_F32, 1, (int64_t[]){1}), LOC_NONE);
        view->dims[0] = random_expr(k, DT_I32, 1);
        view->strides[0] = random_expr(k, DT_I64, 1);
        view->base_offset = pick(2) ? random_expr(k, DT_I32, 1) : NULL;
        launch_sizes_compile(&sizes, &arena, k);
        bool divides = has_division(view->dims[0]) || has_division(view->strides[0]) ||
                       (view->base_offset && has_division(view->base_offset));
        for (int i = 0; i < 3; i++)
            divides = divides || (k->grid[i] && has_division(k->grid[i]));
        for (int run = 0; run < RUNS; run++) {
            uint64_t values[PARAMS];
            struct literal literals[PARAMS];
            struct scalar_env env = {.values = literals, .known = known, .count = PARAMS};
            int64_t grid[3], wanted[3];
            random_values(values, literals);
            bool can = expected_grid(k, view, &env, wanted);
            bool did = launch_sizes_run(&sizes, values, grid);
            if (did)
                assert_memory_equal(grid, wanted, sizeof grid);
            if (did || !divides) /* it leaves the divisor 0 to the tree */
                assert_int_equal(did, can);
            good += did;
            agreed += did == can;
        }
    }
    assert_true(good > PROGRAMS * RUNS / 10);
    assert_true(agreed > PROGRAMS * RUNS * 9 / 10);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(programs_are_the_trees, arena_set_up, arena_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
