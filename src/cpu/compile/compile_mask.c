/* Compiles conditions to masks of lanes.
 *
 * In general a condition is computed for each lane. Two forms are faster. If i is affine in the
 * thread's index and grows along one axis of the block, i < n holds for a rectangle of lanes,
 * and so does a conjunction of such tests; the rectangle is computed at once. If thread.x is
 * taken apart, a test of thread.x itself is computed at once if all lanes pass or none. */
#include "cpu/compile/compile.h"

enum { MOST_TESTS = 8 };

uint32_t compile_mask_new(struct compiler *c)
{
    return compile_memory_new(c, MASK_HEADER + c->lanes);
}

void compile_add_mask(struct compiler *c, step_fn *step, uint32_t dst, uint32_t mask,
                      uint32_t condition)
{
    struct instr *in = compile_add_step(c, step);
    in->dst = dst;
    in->mask = mask;
    in->a = condition;
}

/* --- rectangles --- */

static bool is_i32(const struct expr *e)
{
    return e->type.rank == 0 && e->type.dtype == DT_I32;
}

static bool is_half_plane(const struct compiler *c, const struct expr *e)
{
    int64_t a[3], b[3];
    bool compares = e->op == OP_LT || e->op == OP_LE || e->op == OP_GT || e->op == OP_GE;
    return compares && is_i32(e->args[0]) && is_i32(e->args[1]) &&
           compile_expr_affine(c, e->args[0], a) && compile_expr_affine(c, e->args[1], b) &&
           compile_expr_harmless(c, e) &&
           (a[0] == b[0] || a[1] == b[1] ||
            (c->split > 0 && a[1] - b[1] == (a[0] - b[0]) * c->split));
}

/* Splits a condition into the tests that must all hold, and stores them in `tests`. false: there
 * are too many, or tests of another kind. */
static bool split_condition(const struct compiler *c, const struct expr *e,
                            const struct expr **tests, int *count)
{
    if (e->type.rank > 0)
        return false;
    if (e->op == OP_LAND)
        return split_condition(c, e->args[0], tests, count) &&
               split_condition(c, e->args[1], tests, count);
    if (*count == MOST_TESTS ||
        !(compile_expr_varying(c, e) ? is_half_plane(c, e) : compile_expr_harmless(c, e)))
        return false;
    tests[(*count)++] = e;
    return true;
}

static void lay_test(struct compiler *c, const struct expr *e, struct box_test *out)
{
    int64_t step[3];
    *out = (struct box_test){.uniform = !compile_expr_varying(c, e)};
    if (out->uniform) {
        out->a = compile_value_convert(c, compile_expr(c, e, NULL), DT_BOOL).at;
        return;
    }
    out->op = e->op;
    out->a = compile_first_lane(c, e->args[0]).at;
    out->b = compile_first_lane(c, e->args[1]).at;
    compile_expr_affine(c, e->args[0], step);
    memcpy(out->step, step, sizeof out->step);
    compile_expr_affine(c, e->args[1], step);
    memcpy(out->step_b, step, sizeof out->step_b);
    for (int t = 0; t < 2; t++) {
        int64_t last = (int64_t)c->program->threads[t] - 1;
        *(out->step[t] < 0 ? &out->low[0] : &out->high[0]) += out->step[t] * last;
        *(out->step_b[t] < 0 ? &out->low[1] : &out->high[1]) += out->step_b[t] * last;
    }
}

void compile_masks(struct compiler *c, const struct expr *condition, uint32_t *yes, uint32_t *no)
{
    const struct expr *tests[MOST_TESTS];
    int count = 0;
    *yes = compile_mask_new(c);
    if (no)
        *no = compile_mask_new(c);
    uint32_t top = c->top;
    bool box =
        !c->plain && c->program->threads[2] == 1 && split_condition(c, condition, tests, &count);
    if (box) {
        struct box_detail *d = arena_alloc(c->arena, sizeof *d + (size_t)count * sizeof d->test[0]);
        d->count = count;
        for (int i = 0; i < count; i++)
            lay_test(c, tests[i], &d->test[i]);
        struct instr *in = compile_add_step(c, step_mask_box);
        in->detail = d;
        in->dst = *yes;
        in->b = no ? *no : NO_SLOT;
        in->mask = c->mask;
    } else {
        struct value v = compile_value_convert(c, compile_expr(c, condition, NULL), DT_BOOL);
        compile_add_mask(c, step_mask_and, *yes, c->mask, v.at);
        if (no)
            compile_add_mask(c, step_mask_and_not, *no, c->mask, v.at);
    }
    c->top = top;
}
