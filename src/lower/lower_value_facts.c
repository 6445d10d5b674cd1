/* Facts about values: the rules of facts/facts.h, for polynomials and for ops. */
#include "base/grid.h"
#include "lower/lower_value_graph.h"
#include "tile/tile_facts.h"

struct facts facts_of_type(enum dtype t)
{
    return dtype_is_float(t) ? facts_between(INT64_MIN, INT64_MAX) : facts_any(facts_type_of(t));
}

struct facts facts_of_poly(const struct poly *p)
{
    struct facts sum = facts_exactly(p->constant);
    for (int i = 0; i < p->count; i++) {
        struct facts product = facts_exactly(p->terms[i].factor);
        for (int k = 0; k < p->terms[i].count; k++)
            product = facts_product(&product, &p->terms[i].atom[k]->facts);
        sum = facts_sum(&sum, &product);
    }
    return sum;
}

enum { MOST_OPERANDS = 3 };

struct facts facts_of_op(enum op op, enum dtype t, const struct value *const *args, int count)
{
    enum facts_op rule;
    struct facts x[MOST_OPERANDS];
    if (dtype_is_float(t) || t == DT_BOOL || count < 1 || count > MOST_OPERANDS)
        return facts_of_type(t);
    enum dtype from = args[0]->dtype;
    if (op == OP_CAST && !dtype_is_float(from))
        return facts_cast(&args[0]->facts, facts_type_of(t));
    bool chooses = op == OP_WHERE || op == OP_SELECT;
    if (!tile_facts_op(op, &rule) || (from != t && !chooses))
        return facts_of_type(t);
    for (int i = 0; i < count; i++)
        x[i] = args[i]->facts;
    return facts_of(rule, facts_type_of(t), x);
}

int64_t facts_grid(const struct lower *l, int axis)
{
    const int64_t most = grid_limits[axis];
    if (!l->kernel->grid[axis])
        return 1;
    int64_t greatest = tile_facts_of(NULL, l->kernel->grid[axis]).greatest;
    return greatest < 1 ? 1 : greatest < most ? greatest : most;
}
