/* ensures: the result that the kernel must compute, as a formula over whole views. It is not
 * part of the computation: nothing in it runs with the kernel, so it may only use values that a
 * launch knows (parameters, constants, views) and its own indices. */
#include "lang/check_internal.h"

/* Checks the indices of `for (i32 h < heads, …)`. */
static bool check_indices(struct checker *c, const struct node *over, struct stmt *s)
{
    for (const struct node *n = over; n; n = n->next) {
        if (s->overs == MAX_RANK) {
            diag_error(c->diag, n->loc, "`ensures` ranges over at most %d indices", MAX_RANK);
            return false;
        }
        enum dtype t = check_dtype(c, n->type);
        struct expr *bound = check_launch_int(c, n->init, "the bound of an index");
        if (t == DT_NONE || !bound) {
            check_poison_name(c, n->text, n->loc);
            return false;
        }
        if (!dtype_is_int(t)) {
            diag_error(c->diag, n->loc, "the index `%s` is an integer, not %s", n->text,
                       dtype_table[t].name);
            return false;
        }
        struct sym *index = check_declare_sym(c, n->text, ST_SCALAR, type_scalar(t), n->loc);
        if (!index)
            return false;
        check_sym_info(c, index)->ensures_index = true;
        s->over[s->overs] = index;
        s->bound[s->overs++] = bound;
    }
    return true;
}

static struct expr *check_ensured(struct checker *c, const struct node *n)
{
    struct binding *b = check_place_binding(c, n);
    if (!b || b->kind == BIND_POISON)
        return NULL;
    struct expr *e = check_operand(c, n);
    if (!e)
        return NULL;
    if (e->op != OP_ACCESS || e->sym->storage != ST_VIEW) {
        diag_error(c->diag, n->loc, "`ensures` speaks of a view; `%s` is %s",
                   check_source_snippet(c, n->loc),
                   b->kind == BIND_SYM ? check_storage_text(b->sym) : "none");
        return NULL;
    }
    if (!e->sym->base) {
        diag_error(c->diag, n->loc, "`%s` is workspace: it ends with the launch", e->sym->name);
        diag_note(c->diag, e->sym->loc, "declared here");
        return NULL;
    }
    if (e->sym->is_const) {
        diag_error(c->diag, n->loc, "`%s` is const: the kernel does not compute it", e->sym->name);
        diag_note(c->diag, e->sym->base->loc, "declared here");
        return NULL;
    }
    return e;
}

/* Explains one axis too many: a sum over an axis keeps that axis with extent 1. */
static void note_axis_too_many(struct checker *c, const struct node *n, const struct stmt *s)
{
    const struct type *to = &s->target->type, *from = &s->value->type;
    const struct sym *view = s->target->sym;
    bool has_one = false;
    for (int i = 0; i < from->rank; i++)
        has_one = has_one || from->extent[i] == 1;
    if (!has_one || from->rank != to->rank + 1 || s->target->indices > 0)
        return;
    struct text shape;
    text_init(&shape, c->arena);
    for (int i = 0; i < view->type.rank; i++)
        text_printf(&shape, ", %s", check_source_snippet(c, view->dims[i]->loc));
    const char *value = n->b->loc.length > 40 ? "…" : check_source_snippet(c, n->b->loc);
    diag_note(c->diag, n->b->loc,
              "a reduction keeps its axis with extent 1; to drop it: `reshape(%s%s)`", value,
              shape.data);
}

static void check_body_of(struct checker *c, const struct node *n, struct stmt *s)
{
    c->in_ensures = true;
    s->target = check_indices(c, n->over, s) ? check_ensured(c, n->a) : NULL;
    s->value = s->target ? check_expr(c, n->b, &s->target->type) : NULL;
    if (s->value && check_is_untyped(s->value)) {
        bool as_float = s->value->literal.is_float && !dtype_is_float(s->target->type.dtype);
        s->value = as_float ? check_settle_literal(c, s->value)
                            : check_adapt_literal(c, s->value, s->target->type.dtype);
    }
    c->in_ensures = false;
    if (!s->target || !s->value || check_broadcasts_to(&s->target->type, &s->value->type))
        return;
    check_shape_error(c, n->loc, arena_printf(c->arena, "`%s`", check_source_snippet(c, n->a->loc)),
                      &s->target->type,
                      arena_printf(c->arena, "`%s`", check_source_snippet(c, n->b->loc)),
                      &s->value->type);
    diag_note(c->diag, s->target->sym->loc, "`%s` is declared here", s->target->sym->name);
    note_axis_too_many(c, n, s);
}

void check_ensures(struct checker *c, const struct node *n)
{
    if (c->frames || c->level != 1) {
        diag_error(c->diag, n->loc,
                   "`ensures` is at the top level of a kernel, outside other statements");
        return;
    }
    int outer = check_scope_open(c);
    c->hoistable = false;
    struct stmt *s = stmt_new(c->kernel, STMT_ENSURES, n->loc);
    s->start = c->start;
    check_body_of(c, n, s);
    check_scope_close(c, outer);
    if (s->target && s->value) {
        *c->tail = s;
        c->tail = &s->next;
    }
}

/* --- memory that the kernel writes cannot be an input --- */

struct written {
    struct checker *c;
    bool *params; /* by index: the kernel writes to the parameter */
};

static void note_written(struct written *w, const struct sym *view)
{
    if (view && view->storage == ST_VIEW && view->base)
        w->params[view->base->index] = true;
}

static void note_atomic(void *user, struct expr **at)
{
    if (op_is_atomic((*at)->op) || (*at)->op == OP_UNLOCK)
        note_written(user, (*at)->args[0]->sym);
}

static void note_root(void *user, struct expr **root, bool is_target)
{
    if (is_target)
        note_written(user, (*root)->sym);
    expr_walk(root, note_atomic, user);
}

static void note_writes(void *user, struct stmt *s)
{
    if (s->kind != STMT_ENSURES)
        stmt_expressions(s, note_root, user);
}

static void refuse_written(void *user, struct expr **at)
{
    struct written *w = user;
    const struct expr *e = *at;
    bool is_view = (e->op == OP_ACCESS || e->op == OP_REF) && e->sym->storage == ST_VIEW;
    if (!is_view || !e->sym->base || !w->params[e->sym->base->index])
        return;
    diag_error(
        w->c->diag, e->loc,
        "the kernel writes `%s`: `ensures` may read only arrays that the kernel does not write",
        e->sym->name);
    diag_note(w->c->diag, e->sym->base->loc,
              "`%s` is declared here; write the formula with parameters that the kernel only reads",
              e->sym->base->name);
}

static void refuse_reads(void *user, struct stmt *s)
{
    if (s->kind != STMT_ENSURES)
        return;
    expr_walk(&s->value, refuse_written, user);
    for (int i = 0; i < s->overs; i++)
        expr_walk(&s->bound[i], refuse_written, user);
    for (int i = 0; i < s->target->indices; i++)
        expr_walk(&s->target->index[i].value, refuse_written, user);
}

void check_ensured_inputs(struct checker *c)
{
    struct written w = {.c = c};
    w.params = arena_array(c->arena, bool, c->kernel->param_count + 1);
    stmt_walk(c->kernel->body, note_writes, &w);
    stmt_walk(c->kernel->body, refuse_reads, &w);
}
