/* Conditions of single instructions. */
#include "lower/lower_value_graph.h"

#include <assert.h>

struct guard guard_always(void)
{
    return (struct guard){.always = true};
}

struct guard guard_of(struct lower *l, const struct value *condition)
{
    int64_t truth;
    if (!condition)
        return guard_always();
    if (value_known(condition, &truth))
        return (struct guard){.always = truth != 0, .never = truth == 0};
    if (condition->kind == VALUE_OP && condition->op == OP_NOT)
        return (struct guard){.predicate = ptx_not(value_operand(l, condition->args[0]))};
    return (struct guard){.predicate = value_operand(l, condition)};
}

struct ptx_instruction *guard_apply(struct ptx_instruction *ins, struct guard g)
{
    assert(!g.never);
    return g.always ? ins : ptx_when(ins, g.predicate);
}
