/* Global views: extents, strides and offset over parameters and constants; workspace. */
#include "lang/check_internal.h"

#include <string.h>

/* --- values that a launch knows --- */

/* Returns true for the indices of `ensures` and for elements of views, which `ensures` reads
 * after the launch. */
static bool known_after_launch(struct checker *c, const struct expr *e)
{
    bool index =
        e->op == OP_REF && e->sym->storage == ST_SCALAR && check_sym_info(c, e->sym)->ensures_index;
    return c->in_ensures && (index || (e->op == OP_ACCESS && e->sym->storage == ST_VIEW));
}

/* Reports e. at: the use of a constant whose value is e; without a place, the report points at e
 * itself. */
static void not_at_launch(struct checker *c, const struct expr *e, const char *what, struct loc at)
{
    diag_error(c->diag, at.source ? at : e->loc, "%s must follow from parameters and constants",
               what);
    if (e->op == OP_REF)
        diag_note(c->diag, e->sym->loc, "`%s` is %s of the running kernel", e->sym->name,
                  check_storage_text(e->sym));
    else if (e->op == OP_BLOCK || e->op == OP_THREAD)
        diag_note(c->diag, e->loc, "it differs from %s to %s", op_table[e->op].text,
                  op_table[e->op].text);
    else
        diag_note(c->diag, e->loc, "this is known only when the kernel runs");
    if (e->op == OP_BLOCK && strcmp(what, "the offset of a view") == 0)
        diag_note(c->diag, e->loc,
                  "give the view an axis for it, and choose with an index: `A[block.z][i +: N]`");
}

static struct expr *known_at_launch(struct checker *c, struct expr *e, const char *what,
                                    struct loc at)
{
    const struct sym *s = e->op == OP_REF ? e->sym : NULL;
    if (s && s->storage == ST_SCALAR && check_sym_info(c, s)->init)
        return known_at_launch(c, expr_copy(c->kernel, check_sym_info(c, s)->init), what,
                               at.source ? at : e->loc);
    if ((s && (s->storage == ST_PARAM || s->storage == ST_CONST)) || known_after_launch(c, e))
        return e;
    if (s || (op_table[e->op].form == FORM_LEAF && e->op != OP_LITERAL) || op_is_atomic(e->op)) {
        not_at_launch(c, e, what, at);
        return NULL;
    }
    for (int i = 0; i < e->count; i++) {
        e->args[i] = known_at_launch(c, e->args[i], what, at);
        if (!e->args[i])
            return NULL;
    }
    return e;
}

struct expr *check_launch_known(struct checker *c, struct expr *e, const char *what)
{
    return known_at_launch(c, e, what, LOC_NONE);
}

/* Limits the depth of e, because each launch evaluates it on the caller's stack. */
static bool not_too_deep(struct checker *c, const struct expr *e, struct loc at, const char *what)
{
    if (check_expr_depth(e) <= MAX_LAUNCH_DEPTH)
        return true;
    diag_error(c->diag, at, "%s is more than %d levels deep", what, MAX_LAUNCH_DEPTH);
    diag_note(c->diag, at,
              "each term of a sum is a level, and a constant counts with all levels of its value: "
              "make it a parameter of the kernel");
    return false;
}

struct expr *check_launch_whole(struct checker *c, const struct node *n, const char *what)
{
    bool hoistable = c->hoistable;
    c->hoistable = false;
    struct expr *e = check_scalar_int(c, n, what);
    c->hoistable = hoistable;
    e = e ? check_launch_known(c, e, what) : NULL;
    if (e && !not_too_deep(c, e, n->loc, what))
        return NULL;
    const struct expr *overflow = e ? eval_overflow(e, NULL, true) : NULL;
    if (overflow) {
        diag_error(c->diag, overflow->loc, "%s", overflow_text(c->arena, overflow));
        return NULL;
    }
    return e;
}

struct expr *check_launch_int(struct checker *c, const struct node *n, const char *what)
{
    struct expr *e = check_launch_whole(c, n, what);
    if (e && e->type.dtype != DT_I32 && e->type.dtype != DT_I64)
        e = check_cast_to(c, e, DT_I64);
    return e;
}

/* --- the viewed memory --- */

/* Returns the leftmost operand of a + x + y, which is the pointer; the rest is added up as the
 * offset. */
static const struct node *leftmost(const struct node *n)
{
    while (n->kind == N_BINARY && n->op == OP_ADD)
        n = n->a;
    return n;
}

static struct expr *view_offset(struct checker *c, const struct node *n)
{
    if (n->kind != N_BINARY)
        return NULL;
    struct expr *last = check_launch_int(c, n->b, "the offset of a view");
    if (n->a->kind != N_BINARY || !last)
        return last;
    struct expr *before = view_offset(c, n->a);
    return before ? check_make_binary(c, OP_ADD, n->loc, before, last) : NULL;
}

static bool view_pointer(struct checker *c, const struct node *n, struct sym *view)
{
    const struct node *name = leftmost(n->init);
    if (name->kind != N_NAME) {
        diag_error(c->diag, n->init->loc, "a view is of a pointer parameter");
        diag_note(c->diag, n->init->loc,
                  "write `= a`, `= a + offset`; workspace is `= 0` or nothing");
        return false;
    }
    const struct binding *b = check_lookup_name(c, name->text);
    if (!b || b->kind != BIND_SYM || !b->sym->is_pointer) {
        if (!b)
            check_unknown_name(c, name->text, name->loc);
        else if (b->kind != BIND_POISON) {
            diag_error(c->diag, name->loc, "`%s` is not a pointer parameter", name->text);
            diag_note(c->diag, b->loc, "declared here");
        }
        return false;
    }
    if (b->sym->type.dtype != view->type.dtype) {
        diag_error(c->diag, name->loc, "`%s` points to %s, and the view has elements of type %s",
                   name->text, dtype_table[b->sym->type.dtype].name,
                   dtype_table[view->type.dtype].name);
        diag_note(c->diag, b->loc, "`%s` is declared here", name->text);
        return false;
    }
    view->base = b->sym;
    view->is_const = b->sym->is_const;
    if (n->init->kind != N_BINARY)
        return true;
    view->base_offset = view_offset(c, n->init);
    return view->base_offset &&
           not_too_deep(c, view->base_offset, n->init->loc, "the offset of a view");
}

static bool view_source(struct checker *c, const struct node *n, struct sym *view)
{
    if (!n->init)
        return true;
    if (n->init->kind != N_INT && n->is_clean) {
        diag_error(c->diag, n->loc, "`clean` is for workspace that the kernel leaves 0");
        diag_note(c->diag, n->loc, "write `global %s %s[…] = 0 clean;`",
                  dtype_table[view->type.dtype].name, n->text);
        return false;
    }
    if (n->init->kind != N_INT)
        return view_pointer(c, n, view);
    if (n->init->i != 0) {
        diag_error(c->diag, n->init->loc, "workspace starts as 0 or without a value");
        return false;
    }
    view->zeroed = true;
    view->clean = n->is_clean;
    return true;
}

/* --- extents and strides --- */

static bool view_extents(struct checker *c, const struct node *n, struct sym *view)
{
    bool good = true;
    if (!n->dims) {
        diag_error(c->diag, n->loc, "the view `%s` has no extents", n->text);
        diag_note(c->diag, n->loc, "write `global %s %s[…] = …;`",
                  n->type->text ? n->type->text : "T", n->text);
        return false;
    }
    for (const struct node *d = n->dims; d; d = d->next) {
        int axis = view->type.rank;
        if (axis == MAX_RANK) {
            diag_error(c->diag, d->loc, "`%s` has more than %d axes", n->text, MAX_RANK);
            return false;
        }
        struct expr *e = check_launch_int(c, d, "the extent of a view");
        good = good && e;
        view->dims[axis] = e;
        if (!e || !eval_int(e, NULL, &view->type.extent[axis])) {
            view->type.extent[axis] = EXTENT_RUNTIME;
        } else if (view->type.extent[axis] < 0) {
            diag_error(c->diag, d->loc, "axis %d of `%s` has an extent of %lld", axis, n->text,
                       (long long)view->type.extent[axis]);
            good = false;
        }
        view->type.rank++;
    }
    return good;
}

static bool view_strides(struct checker *c, const struct node *n, struct sym *view)
{
    int count = 0;
    bool good = true;
    for (const struct node *s = n->strides; s; s = s->next, count++) {
        struct expr *e = count < MAX_RANK ? check_launch_int(c, s, "a stride") : NULL;
        good = good && e;
        if (count < MAX_RANK)
            view->strides[count] = e;
    }
    if (n->strides && count != view->type.rank) {
        diag_error(c->diag, n->strides->loc, "`%s` has %d %s, and %d stride%s given", n->text,
                   view->type.rank, view->type.rank == 1 ? "axis" : "axes", count,
                   count == 1 ? " is" : "s are");
        diag_note(c->diag, n->strides->loc,
                  "strides count elements, one for each axis: `strides(lda, 1)`");
        return false;
    }
    if (n->strides && !view->base && good) {
        diag_error(c->diag, n->strides->loc, "workspace is contiguous: it has no strides");
        return false;
    }
    return good;
}

void check_view(struct checker *c, const struct node *n)
{
    enum dtype t = check_dtype(c, n->type);
    struct sym view = {.type = type_scalar(t), .offset = -1};
    bool good = t != DT_NONE && view_extents(c, n, &view);
    good = good && view_source(c, n, &view) && view_strides(c, n, &view);
    if (!good) {
        check_poison_name(c, n->text, n->loc);
        return;
    }
    struct sym *s = check_declare_sym(c, n->text, ST_VIEW, view.type, n->loc);
    if (!s)
        return;
    s->base = view.base;
    s->base_offset = view.base_offset;
    s->zeroed = view.zeroed;
    s->clean = view.clean;
    s->is_const = view.is_const;
    for (int i = 0; i < MAX_RANK; i++) {
        s->dims[i] = view.dims[i];
        s->strides[i] = view.strides[i];
    }
    check_emit(c, STMT_DECL, n->loc)->sym = s;
}
