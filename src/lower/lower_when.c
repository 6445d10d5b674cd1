/* An `if` without branches. Where its arms only assign a few light values to what the thread holds
 * in registers, all threads evaluate them: loads and assignments have the condition as their
 * predicate. */
#include "lower/lower_element.h"
#include "lower/lower_flow.h"

/* Instructions of both arms, as scalar_cost counts them: more are worth a branch. */
enum { MOST_COST = 24, TOO_MUCH = 1 << 20 };

/* --- which --- */

/* Returns whether each thread does the operation for itself, without effects and barriers. It may be a load. */
static bool is_light_op(const struct expr *e)
{
    bool tile = e->type.rank > 0;
    switch (e->op) {
    case OP_REF: return tile ? e->sym->storage == ST_ARRAY : e->sym->storage != ST_REG;
    case OP_ACCESS: return e->sym->storage != ST_REG;
    case OP_SELECT: return !tile;
    case OP_LITERAL:
    case OP_BLOCK:
    case OP_GRID:
    case OP_THREAD:
    case OP_CAST:
    case OP_BITS:
    case OP_WHERE:
    case OP_BROADCAST: return true;
    default: return op_is_elementwise(e->op);
    }
}

static bool is_light(const struct expr *e)
{
    if (!e)
        return true;
    if (!is_light_op(e) || !is_light(e->otherwise))
        return false;
    for (int i = 0; i < e->count; i++)
        if (!is_light(e->args[i]))
            return false;
    for (int i = 0; i < e->indices; i++)
        if (!is_light(e->index[i].value))
            return false;
    return true;
}

static int64_t cost_of_assignment(const struct sym *s, const struct type *type,
                                  const struct stmt *by)
{
    bool held = s->storage == ST_SCALAR || s->storage == ST_ARRAY;
    if (!held || !is_light(by->value) || !is_light(by->target))
        return TOO_MUCH;
    return type_elements(type) * (1 + scalar_cost(by->value)) + scalar_cost(by->target);
}

static int64_t cost_of_arm(const struct stmt *first)
{
    int64_t cost = 0;
    for (const struct stmt *s = first; s && cost < TOO_MUCH; s = s->next)
        switch (s->kind) {
        case STMT_DECL: cost += cost_of_assignment(s->sym, &s->sym->type, s); break;
        case STMT_ASSIGN: cost += cost_of_assignment(s->target->sym, &s->target->type, s); break;
        case STMT_BLOCK: cost += cost_of_arm(s->body); break;
        case STMT_IF:
            cost += is_light(s->condition) ? 1 + scalar_cost(s->condition) : TOO_MUCH;
            cost += cost_of_arm(s->body) + cost_of_arm(s->otherwise);
            break;
        default: return TOO_MUCH;
        }
    return cost;
}

/* --- how --- */

static void emit_arm_when(struct lower *l, const struct value *condition, const struct stmt *arm)
{
    const struct value *outer = l->bodies->lazy;
    l->bodies->lazy = outer ? value_apply2(l, OP_LAND, DT_BOOL, outer, condition) : condition;
    body_emit(l, arm);
    l->bodies->lazy = outer;
}

bool emit_if_when(struct lower *l, const struct stmt *s, const struct value *condition)
{
    if (!kernel_thread_level(l->kernel) ||
        (!l->bodies->lazy && cost_of_arm(s->body) + cost_of_arm(s->otherwise) > MOST_COST))
        return false;
    if (value_is_fleeting(condition)) /* the arms may change what it is made of */
        condition = value_of_register(l, DT_BOOL, value_copy(l, condition));
    l->bodies->depth++;
    if (s->body)
        emit_arm_when(l, condition, s->body);
    if (s->otherwise)
        emit_arm_when(l, value_apply1(l, OP_NOT, DT_BOOL, condition), s->otherwise);
    l->bodies->depth--;
    return true;
}

bool load_into_when(struct lower *l, const struct sym *s, const struct ptx_operand *reg,
                    const struct expr *value, struct guard when)
{
    return value->op == OP_ACCESS && value->type.dtype == s->type.dtype &&
           type_same_shape(&value->type, &s->type) && !expr_mentions(value, s) &&
           own_load_into(l, value, reg, when);
}

void variable_assign_when(struct lower *l, struct variable *v, const struct expr *value)
{
    enum dtype t = v->sym->type.dtype;
    struct guard when = guard_of_lazy(l);
    if (when.never)
        return;
    if (when.always || !load_into_when(l, v->sym, &v->reg, value, when))
        move_when(l, t, v->reg, value_operand(l, scalar_cast(l, scalar_eval(l, value), t)), when);
    variable_refresh(l, v);
}
