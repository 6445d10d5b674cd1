/* Sizes by compiled program, compared with tile/eval: random expressions on random values. */
#include "tile/launch_sizes.h"

#include "arena_helper.h"
#include "base/grid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { PARAMS = 6, PROGRAMS = 4000, RUNS = 8 };
static const enum dtype dtypes[PARAMS] = {DT_I32, DT_I32, DT_I64, DT_U32, DT_F32, DT_U64};

static uint64_t seed;
static int pick(int below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)below);
}

static struct kernel *kernel_of_params(void)
{
    static const char *const names[PARAMS] = {"a", "b", "c", "d", "e", "f"};
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

static const enum dtype integer_types[] = {DT_I64, DT_I32, DT_I16, DT_I8,
                                           DT_U64, DT_U32, DT_U16, DT_U8};

static struct expr *random_expr(struct kernel *k, enum dtype t, int depth);

static struct expr *random_condition(struct kernel *k, int depth)
{
    static const enum op compares[] = {OP_LT, OP_GT, OP_LE, OP_GE, OP_EQ, OP_NE};
    static const enum op joins[] = {OP_LAND, OP_LOR, OP_AND, OP_XOR};
    struct type is_bool = type_scalar(DT_BOOL);
    if (depth > 0 && pick(3) == 0)
        return expr_binary(k, joins[pick(4)], is_bool, LOC_NONE, random_condition(k, depth - 1),
                           random_condition(k, depth - 1));
    if (depth > 0 && pick(4) == 0)
        return expr_unary(k, pick(2) ? OP_NOT : OP_INVERT, is_bool, LOC_NONE,
                          random_condition(k, depth - 1));
    enum dtype t = integer_types[pick(8)];
    return expr_binary(k, compares[pick(6)], is_bool, LOC_NONE, random_expr(k, t, depth - 1),
                       random_expr(k, t, depth - 1));
}

static struct expr *random_expr(struct kernel *k, enum dtype t, int depth)
{
    static const enum op binary[] = {OP_ADD,  OP_SUB, OP_MUL, OP_DIV, OP_REM, OP_MIN, OP_MAX,
                                     OP_CDIV, OP_SHL, OP_SHR, OP_AND, OP_OR,  OP_XOR};
    static const enum op unary[] = {OP_NEG, OP_ABS, OP_SQUARE, OP_POW2_CEIL, OP_INVERT};
    bool is_unsigned = dtype_table[t].kind == DK_UINT;
    struct type type = type_scalar(t);
    if (depth <= 0 || pick(6) == 0) {
        if (pick(2))
            return expr_int(k, t, pick(120) - (is_unsigned ? 0 : 20), LOC_NONE);
        return expr_cast(k, param_ref(k, pick(PARAMS)), t);
    }
    int kind = pick(16);
    if (kind < 3) {
        enum op op = kind == 0 ? OP_WHERE : kind == 1 ? OP_SELECT : OP_CLIP;
        struct expr *e = expr_new(k, op, type, LOC_NONE, 3);
        e->args[0] = op == OP_CLIP ? random_expr(k, t, depth - 1) : random_condition(k, depth - 1);
        e->args[1] = random_expr(k, t, depth - 1);
        e->args[2] = random_expr(k, t, depth - 1);
        return e;
    }
    if (kind < 5)
        return expr_cast(k, random_expr(k, integer_types[pick(8)], depth - 1), t);
    if (kind < 6)
        return expr_cast(k, random_condition(k, depth - 1), t);
    if (kind < 8)
        return expr_unary(k, unary[pick(5)], type, LOC_NONE, random_expr(k, t, depth - 1));
    return expr_binary(k, binary[pick(13)], type, LOC_NONE, random_expr(k, t, depth - 1),
                       random_expr(k, t, depth - 1));
}

/* Fills both: by parameter, as a launch gives them. */
static void random_values(uint64_t *values, struct literal *literals)
{
    for (int i = 0; i < PARAMS; i++) {
        int64_t v = pick(3) ? pick(5000) : pick(20) - 10;
        if (pick(10) == 0)
            v = INT32_MAX - pick(3);
        if (pick(10) == 0 && dtype_size(dtypes[i]) == 8)
            v = pick(2) ? INT64_MAX - pick(3) : INT64_MIN + pick(3);
        if (dtypes[i] == DT_U32 && v < 0)
            v = -v;
        literals[i] = (struct literal){.i = v};
        if (dtype_is_float(dtypes[i]))
            literals[i] = (struct literal){.is_float = true, .f = (double)(float)v / 4};
        values[i] = size_param(dtypes[i], literals[i]);
    }
}

/* Returns true if the value of some part may not be needed. */
static bool is_lazy(const struct expr *e)
{
    bool lazy = e->op == OP_LAND || e->op == OP_LOR || e->op == OP_WHERE;
    for (int i = 0; i < e->count; i++)
        lazy = lazy || is_lazy(e->args[i]);
    return lazy;
}

static const bool all_known[PARAMS] = {true, true, true, true, true, true};

static bool expected_value(const struct expr *e, const struct literal *literals, int64_t *out)
{
    struct scalar_env env = {.values = literals, .known = all_known, .count = PARAMS};
    return !eval_overflow(e, &env, true) && eval_int(e, &env, out);
}

/* Compares a run of the program with tile/eval. Returns true if it has a value. */
static bool compare(const struct launch_sizes *s, const struct expr *e, uint64_t *values,
                    const struct literal *literals)
{
    struct scalar_env env = {.values = literals, .known = all_known, .count = PARAMS};
    int64_t wanted = 0, value = 0;
    struct size_fault fault;
    bool can = expected_value(e, literals, &wanted);
    values[PARAMS] = 0;
    bool did = launch_derived_run(s, values, &fault);
    if (did) {
        bool has = eval_int(e, &env, &value);
        assert_true(has ? (int64_t)values[PARAMS] == value : is_lazy(e));
    } else {
        assert_true(fault.error == SIZE_OVERFLOWS || fault.error == SIZE_BY_ZERO);
    }
    if (can || !is_lazy(e))
        assert_int_equal(did, can);
    return did;
}

static void programs_are_the_trees(void **state)
{
    (void)state;
    int good = 0;
    for (int n = 0; n < PROGRAMS; n++) {
        seed = (uint64_t)n;
        struct kernel *k = kernel_of_params();
        struct derived_param params[PARAMS + 1] = {{0}};
        struct launch_sizes s;
        enum dtype t = integer_types[pick(8)];
        params[PARAMS] = (struct derived_param){t, random_expr(k, t, 4)};
        launch_derived_compile(&s, &arena, params, PARAMS + 1);
        for (int run = 0; run < RUNS; run++) {
            uint64_t values[PARAMS + 1];
            struct literal literals[PARAMS];
            random_values(values, literals);
            good += compare(&s, params[PARAMS].value, values, literals);
        }
        if (n % 100 == 99)
            arena_free(&arena);
    }
    assert_true(good > PROGRAMS * RUNS / 10);
    arena_free(&arena);
}

/* Returns the answer of tile/eval for this kernel and these values. */
static bool expected_grid(const struct kernel *k, const struct sym *view,
                          const struct literal *literals, int64_t grid[3])
{
    int64_t ignored, extent;
    for (int i = 0; i < 3; i++) {
        grid[i] = 1;
        if (k->grid[i] && (!expected_value(k->grid[i], literals, &grid[i]) || grid[i] < 0 ||
                           grid[i] > grid_limits[i]))
            return false;
    }
    return expected_value(view->dims[0], literals, &extent) && extent >= 0 &&
           (view->strides[0]->count == 0 || expected_value(view->strides[0], literals, &ignored)) &&
           (!view->base_offset || view->base_offset->count == 0 ||
            expected_value(view->base_offset, literals, &ignored));
}

static bool kernel_is_lazy(const struct kernel *k, const struct sym *view)
{
    bool lazy = is_lazy(view->dims[0]) || is_lazy(view->strides[0]) ||
                (view->base_offset && is_lazy(view->base_offset));
    for (int i = 0; i < 3; i++)
        lazy = lazy || (k->grid[i] && is_lazy(k->grid[i]));
    return lazy;
}

static struct sym *random_kernel(struct kernel *k)
{
    for (int i = 0; i < 3; i++)
        k->grid[i] = pick(4) ? random_expr(k, pick(2) ? DT_I32 : DT_I64, 2) : NULL;
    struct sym *view = sym_new(k, "v", ST_VIEW, type_tile(DT_F32, 1, (int64_t[]){1}), LOC_NONE);
    view->base = k->params->sym;
    view->dims[0] = random_expr(k, DT_I32, 1);
    view->strides[0] = random_expr(k, DT_I64, 1);
    view->base_offset = pick(2) ? random_expr(k, DT_I32, 1) : NULL;
    return view;
}

/* The checks of a start, and the numbers that all other users compute, in all their parts. */
static void launches_agree(void **state)
{
    (void)state;
    int good = 0;
    for (int n = 0; n < PROGRAMS; n++) {
        seed = (uint64_t)n;
        struct kernel *k = kernel_of_params();
        struct sym *view = random_kernel(k);
        struct launch_sizes quick, all;
        launch_sizes_compile(&quick, &arena, k);
        launch_sizes_compile_all(&all, &arena, k, (const struct sym *const[]){view}, 1);
        for (int run = 0; run < RUNS; run++) {
            uint64_t values[PARAMS];
            struct literal literals[PARAMS];
            struct view_sizes sizes;
            int64_t grid[3], again[3], wanted[3];
            random_values(values, literals);
            bool can = expected_grid(k, view, literals, wanted);
            bool did = launch_sizes_run(&quick, values, grid);
            bool knows =
                launch_sizes_grid(&all, values, again) & launch_sizes_view(&all, 0, values, &sizes);
            if (did) {
                assert_true(knows && sizes.extent[0] >= 0);
                assert_memory_equal(grid, again, sizeof grid);
            }
            if (can)
                assert_memory_equal(grid, wanted, sizeof grid);
            if (can || !kernel_is_lazy(k, view))
                assert_int_equal(did, can);
            good += did;
        }
        if (n % 100 == 99)
            arena_free(&arena);
    }
    assert_true(good > PROGRAMS * RUNS / 10);
    arena_free(&arena);
}

/* --- single expressions --- */

static struct kernel *kernel;

static struct expr *num(int64_t v)
{
    return expr_int(kernel, DT_I32, v, LOC_NONE);
}

static struct expr *two(enum op op, enum dtype t, struct expr *a, struct expr *b)
{
    return expr_binary(kernel, op, type_scalar(t), LOC_NONE, a, b);
}

static struct expr *param(int i, enum dtype t)
{
    return expr_cast(kernel, param_ref(kernel, i), t);
}

/* Runs e with a = c = d = f = `v`, e = v / 4. */
static enum size_error run_one(const struct expr *e, int64_t v, int64_t *out,
                               struct size_fault *fault, const struct expr **place)
{
    struct derived_param params[PARAMS + 1] = {{0}};
    struct launch_sizes s;
    uint64_t values[PARAMS + 1];
    for (int i = 0; i < PARAMS; i++)
        values[i] =
            size_param(dtypes[i], dtype_is_float(dtypes[i])
                                      ? (struct literal){.is_float = true, .f = (double)v / 4}
                                      : (struct literal){.i = v});
    params[PARAMS] = (struct derived_param){e->type.dtype, e};
    launch_derived_compile(&s, &arena, params, PARAMS + 1);
    *place = NULL;
    if (!launch_derived_run(&s, values, fault)) {
        *place = size_fault_place(&s, fault);
        return fault->error;
    }
    *out = (int64_t)values[PARAMS];
    return SIZE_FITS;
}

static void has_value(const struct expr *e, int64_t v, int64_t wanted)
{
    int64_t value = 0;
    struct size_fault fault;
    const struct expr *place;
    assert_int_equal(run_one(e, v, &value, &fault, &place), SIZE_FITS);
    assert_true(value == wanted);
}

static void has_fault(const struct expr *e, int64_t v, enum size_error error, const struct expr *at,
                      int64_t a, int64_t b)
{
    int64_t value;
    struct size_fault fault;
    const struct expr *place;
    assert_int_equal(run_one(e, v, &value, &fault, &place), error);
    assert_ptr_equal(place, at);
    assert_true(fault.a == a && fault.b == b);
}

static void single_expressions(void **state)
{
    (void)state;
    kernel = kernel_of_params();
    struct expr *n = param(0, DT_I32), *wide = param(2, DT_I64), *u = param(3, DT_U32);
    struct expr *real = param(4, DT_F32), *huge = param(5, DT_U64);
    has_value(two(OP_CDIV, DT_I32, n, num(64)), 65, 2);
    has_value(two(OP_CDIV, DT_I32, n, num(-64)), -65, 2);
    has_value(two(OP_REM, DT_I32, n, num(4)), -7, -3);
    has_value(two(OP_SUB, DT_I32, num(1), two(OP_MUL, DT_I32, n, n)), 3, -8); /* in order */
    has_value(expr_cast(kernel, real, DT_I32), 10, 2);
    has_value(expr_cast(kernel, two(OP_ADD, DT_F32, two(OP_MUL, DT_F32, real, real), real), DT_I32),
              16, 20);
    has_value(two(OP_DIV, DT_U64, huge, expr_int(kernel, DT_U64, 2, LOC_NONE)), -2, INT64_MAX);
    has_value(two(OP_GT, DT_BOOL, huge, expr_int(kernel, DT_U64, 2, LOC_NONE)), -2, 1);
    struct expr *choice = expr_new(kernel, OP_SELECT, type_scalar(DT_I32), LOC_NONE, 3);
    choice->args[0] = two(OP_EQ, DT_BOOL, n, num(0));
    choice->args[1] = num(7);
    choice->args[2] = two(OP_DIV, DT_I32, num(100), n);
    has_value(choice, 0, 7);
    has_value(choice, 20, 5);
    has_value(two(OP_LAND, DT_BOOL, two(OP_NE, DT_BOOL, n, num(0)),
                  two(OP_EQ, DT_BOOL, two(OP_REM, DT_I32, num(8), n), num(0))),
              0, 0);
    struct expr *square = two(OP_MUL, DT_I32, n, n);
    has_fault(two(OP_ADD, DT_I32, num(1), square), 70000, SIZE_OVERFLOWS, square, 70000, 70000);
    struct expr *past = two(OP_MUL, DT_I64, wide, wide);
    has_fault(past, INT64_C(1) << 32, SIZE_OVERFLOWS, past, INT64_C(1) << 32, INT64_C(1) << 32);
    struct expr *below = two(OP_SUB, DT_U32, u, expr_int(kernel, DT_U32, 9, LOC_NONE));
    has_fault(below, 3, SIZE_OVERFLOWS, below, 3, 9);
    struct expr *narrow = expr_cast(kernel, wide, DT_I32);
    has_fault(narrow, INT64_C(1) << 40, SIZE_OVERFLOWS, narrow, INT64_C(1) << 40, 0);
    struct expr *by_zero = two(OP_REM, DT_I32, num(5), n);
    has_fault(two(OP_ADD, DT_I32, by_zero, num(1)), 0, SIZE_BY_ZERO, by_zero, 5, 0);
    struct expr *shifted = two(OP_SHL, DT_I64, wide, num(52));
    has_fault(shifted, 3110, SIZE_OVERFLOWS, shifted, 3110, 52);
    struct expr *least = two(OP_DIV, DT_I64, wide, expr_int(kernel, DT_I64, -1, LOC_NONE));
    has_fault(least, INT64_MIN, SIZE_OVERFLOWS, least, INT64_MIN, -1);
    arena_free(&arena);
}

static struct expr *clipped(struct expr *x, struct expr *least, struct expr *most)
{
    struct expr *e = expr_new(kernel, OP_CLIP, x->type, LOC_NONE, 3);
    e->args[0] = x;
    e->args[1] = least;
    e->args[2] = most;
    return e;
}

/* Operations that are not binary ones of integers need no more of the stack, either, at any operand. */
static void deep_operands(void **state)
{
    (void)state;
    enum { DEEP = 3000 };
    kernel = kernel_of_params();
    struct expr *n = param(0, DT_I32), *real = param(4, DT_F32);
    struct expr *unary[] = {n, n, n, n}, *clips[] = {n, n, n};
    struct expr *floats = real, *products = real, *conditions = expr_cast(kernel, n, DT_BOOL);
    struct expr *real_clips[] = {real, real, real};
    const enum op ops[] = {OP_NEG, OP_ABS, OP_SQUARE, OP_INVERT};
    for (int i = 0; i < DEEP; i++) {
        for (int j = 0; j < 4; j++)
            unary[j] = expr_unary(kernel, ops[j], n->type, LOC_NONE, unary[j]);
        for (int j = 0; j < 3; j++) {
            clips[j] = clipped(j == 0 ? clips[0] : n, j == 1 ? clips[1] : n, j == 2 ? clips[2] : n);
            real_clips[j] = clipped(j == 0 ? real_clips[0] : real, j == 1 ? real_clips[1] : real,
                                    j == 2 ? real_clips[2] : real);
        }
        floats = two(OP_SUB, DT_F32, param(4, DT_F32), floats);
        products = two(OP_SUB, DT_F32, param(4, DT_F32), two(OP_MUL, DT_F32, real, products));
        conditions = expr_unary(kernel, OP_NOT, type_scalar(DT_BOOL), LOC_NONE, conditions);
    }
    for (int j = 0; j < 4; j++)
        has_value(unary[j], 1, 1);
    for (int j = 0; j < 3; j++) {
        has_value(clips[j], 5, 5);
        has_value(expr_cast(kernel, real_clips[j], DT_I32), 20, 5);
    }
    has_value(expr_cast(kernel, floats, DT_I32), 20, 5);
    has_value(expr_cast(kernel, products, DT_I32), 4, 1);
    has_value(conditions, 3, 1);
    arena_free(&arena);
}

/* A sum that nests to the right needs no more of the stack than one that nests to the left. */
static void deep_expressions(void **state)
{
    (void)state;
    enum { DEEP = 3000 };
    kernel = kernel_of_params();
    struct expr *right = num(0), *mixed = num(0);
    for (int i = 0; i < DEEP; i++) {
        right = two(OP_SUB, DT_I32, num(i), right);
        mixed = i % 2 ? two(OP_ADD, DT_I32, mixed, num(1)) : two(OP_ADD, DT_I32, num(1), mixed);
    }
    has_value(right, 0, DEEP / 2);
    has_value(mixed, 0, DEEP);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(programs_are_the_trees, arena_set_up, arena_tear_down),
        cmocka_unit_test_setup_teardown(launches_agree, arena_set_up, arena_tear_down),
        cmocka_unit_test_setup_teardown(single_expressions, arena_set_up, arena_tear_down),
        cmocka_unit_test_setup_teardown(deep_expressions, arena_set_up, arena_tear_down),
        cmocka_unit_test_setup_teardown(deep_operands, arena_set_up, arena_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
