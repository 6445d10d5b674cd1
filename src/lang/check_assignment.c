/* Assignments. */
#include "lang/check_internal.h"

static bool index_has_effect(const struct expr *e)
{
    for (int i = 0; i < e->indices; i++)
        if (e->index[i].value && expr_has_atomic(e->index[i].value))
            return true;
    return false;
}

static const char *target_name(struct checker *c, const struct node *n)
{
    return n->a->kind == N_NAME ? n->a->text : check_source_snippet(c, n->a->loc);
}

/* Checks the value of x op= e, which is x = x op e. */
static struct expr *compound_value(struct checker *c, const struct node *n,
                                   const struct expr *target)
{
    struct type shape = target->type;
    shape.dtype = DT_NONE;
    struct expr *e = check_expr(c, n->b, &shape);
    if (!e || !check_value_shape_fits(c, e, &target->type, target_name(c, n), target->sym->loc))
        return NULL;
    if (index_has_effect(target)) {
        diag_error(c->diag, n->a->loc, "the index has an effect, and `%s=` would evaluate it twice",
                   op_table[n->op].text);
        diag_note(c->diag, n->a->loc, "keep it in a variable before: `i32 i = …;`");
        return NULL;
    }
    struct expr *old = expr_copy(c->kernel, target);
    old->by = NULL; /* by(…) of the target is about the store */
    struct expr *value = check_make_binary(c, n->op, n->loc, old, e);
    if (!value || dtype_holds(target->type.dtype, value->type.dtype))
        return value;
    const char *have = dtype_table[target->type.dtype].name;
    diag_error(c->diag, n->b->loc, "`%s` is %s, and with `%s` this gives %s",
               check_source_snippet(c, n->a->loc), have, check_source_snippet(c, n->b->loc),
               dtype_table[value->type.dtype].name);
    diag_note(c->diag, n->b->loc, "write the cast: `%s = (%s) (%s %s …)`",
              check_source_snippet(c, n->a->loc), have, check_source_snippet(c, n->a->loc),
              op_table[n->op].text);
    return NULL;
}

void check_assign(struct checker *c, const struct node *n)
{
    struct expr *target = check_target(c, n->a, "assigned to");
    if (!target) {
        check_expr(c, n->b, NULL);
        return;
    }
    struct expr *value =
        n->op == OP_COUNT ? check_expr(c, n->b, &target->type) : compound_value(c, n, target);
    value = value ? check_fit_value(c, value, &target->type, target_name(c, n), target->sym->loc)
                  : NULL;
    if (!value)
        return;
    if (target->op == OP_REF && target->sym->storage == ST_SCALAR && check_expr_varies(c, value))
        check_sym_info(c, target->sym)->varying = true;
    struct stmt *s = check_emit(c, STMT_ASSIGN, n->loc);
    s->target = target;
    s->value = value;
}
