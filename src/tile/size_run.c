/* Runs programs of sizes in the library. */
#include "tile/size_run.h"
#include "tile/launch_sizes.h"

#include <string.h>

/* --- operations of floats, and rare ones of integers: as tile/eval.c has them --- */

static struct literal literal_of(enum dtype t, int64_t v)
{
    struct literal x = {.is_float = dtype_is_float(t)};
    if (x.is_float)
        memcpy(&x.f, &v, sizeof x.f);
    else
        x.i = v;
    return x;
}

/* The step of a sum that is contracted with its product has the operands of the product first. */
static int operate(const struct size_step *step, const int64_t *operands, int64_t *result)
{
    struct expr node[SIZE_OPERANDS], product = {.op = OP_MUL, .count = 2};
    struct expr *args[SIZE_OPERANDS], *factors[2] = {&node[0], &node[1]};
    struct expr whole = {.op = (enum op)step->detail,
                         .type.dtype = size_other_dtype(step, SIZE_OPERANDS),
                         .count = step->index,
                         .args = args};
    struct literal out;
    for (int i = 0; i < step->index; i++) {
        enum dtype t = size_other_dtype(step, i);
        const int64_t v = operands[size_other_place(step, i)];
        node[i] = (struct expr){.op = OP_LITERAL, .type.dtype = t, .literal = literal_of(t, v)};
        args[i] = &node[i];
    }
    if (step->index == 3 && (whole.op == OP_ADD || whole.op == OP_SUB)) {
        product.type = whole.type;
        product.args = factors;
        args[step->type] = &product;
        args[1 - step->type] = &node[2];
        whole.count = 2;
    }
    if (whole.op == OP_REF || !eval_scalar(&whole, NULL, &out)) /* a reference has no value */
        return 0;
    if (out.is_float)
        memcpy(result, &out.f, sizeof *result);
    else
        *result = out.i;
    return 1;
}

/* --- running --- */

uint64_t size_param(enum dtype t, struct literal v)
{
    uint64_t bytes = 0;
    if (!dtype_is_float(t))
        return (uint64_t)v.i;
    dtype_store_f64(t, &bytes, v.is_float ? v.f : (double)v.i);
    return bytes;
}

bool launch_sizes_run(const struct launch_sizes *s, const uint64_t *values, int64_t grid[3])
{
    struct size_fault ignored;
    grid[0] = grid[1] = grid[2] = 1;
    return size_run(s->steps, s->steps + s->count, values, grid, 3, operate, &ignored);
}

bool launch_derived_run(const struct launch_sizes *s, uint64_t *values, struct size_fault *fault)
{
    return size_run(s->steps, s->steps + s->count, values, (int64_t *)values, SIZE_NO_RESULT,
                    operate, fault);
}

/* Returns the last step of the root that has this step. */
static const struct size_step *root_end(const struct size_step *step)
{
    while (step->op < SIZE_GRID)
        step++;
    return step;
}

bool launch_sizes_part(const struct launch_sizes *s, int part, const uint64_t *values,
                       int64_t *results, void (*report)(void *user, const struct size_fault *fault),
                       void *user)
{
    const struct size_step *step = s->steps + s->starts[part];
    const struct size_step *end = s->steps + s->starts[part + 1];
    struct size_fault fault;
    bool known = true;
    while (!size_run(step, end, values, results, SIZE_NO_RESULT, operate, &fault)) {
        known = known && (fault.error == SIZE_NEGATIVE || fault.error == SIZE_TOO_MANY);
        if (report)
            report(user, &fault);
        step = root_end(fault.step) + 1;
    }
    return known;
}

bool launch_sizes_grid(const struct launch_sizes *s, const uint64_t *values, int64_t grid[3])
{
    grid[0] = grid[1] = grid[2] = 1;
    return launch_sizes_part(s, 0, values, grid, NULL, NULL);
}

bool launch_sizes_view(const struct launch_sizes *s, int view, const uint64_t *values,
                       struct view_sizes *out)
{
    *out = (struct view_sizes){.offset = 0};
    return launch_sizes_part(s, 1 + view, values, &out->offset, NULL, NULL);
}

/* --- faults --- */

const struct expr *size_fault_place(const struct launch_sizes *s, const struct size_fault *fault)
{
    return s->places[fault->step - s->steps];
}

const char *size_fault_message(struct arena *a, const struct launch_sizes *s,
                               const struct size_fault *fault, const char *code, size_t length,
                               const char *name)
{
    int shown = (int)length;
    if (fault->error == SIZE_OVERFLOWS)
        return overflow_message(a, size_fault_place(s, fault), code, length,
                                (int64_t[]){fault->a, fault->b}, name);
    if (fault->error == SIZE_BY_ZERO)
        return arena_printf(a, "`%.*s` divides by zero", shown, code);
    return arena_printf(a, "`%.*s` cannot be computed from the parameters", shown, code);
}
