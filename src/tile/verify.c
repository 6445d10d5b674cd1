/* The verifier: checks that a kernel keeps the invariants of tile.h. Debug builds run it after
 * each pass. It trusts nothing, reads everything, and stops at the first fault. verify_expr.c has
 * the expressions. */
#include "tile/verify.h"

#include <stdlib.h>
#include <string.h>

static bool check_list(struct verifier *v, const struct stmt *first, bool top);

static bool check_stored(struct verifier *v, const struct expr *value, const struct type *to,
                         const char *name)
{
    if (!verifier_expr(v, value, false))
        return false;
    if (value->type.dtype == to->dtype && verifier_fits(to, &value->type))
        return true;
    return verifier_fail(v, NULL,
                         arena_printf(v->arena, "%s is %s, and what is stored there %s", name,
                                      type_text(v->arena, to), type_text(v->arena, &value->type)));
}

static bool check_view(struct verifier *v, const struct sym *s)
{
    for (int i = 0; i < s->type.rank; i++) {
        if (!verifier_expr(v, s->dims[i], false))
            return false;
        if (s->strides[i] && !verifier_expr(v, s->strides[i], false))
            return false;
    }
    return !s->base_offset || verifier_expr(v, s->base_offset, false);
}

static bool check_decl(struct verifier *v, const struct stmt *s)
{
    const struct sym *sym = s->sym;
    if (!sym || sym->storage == ST_PARAM || sym->storage == ST_CONST)
        return verifier_fail(v, NULL, "a declaration of nothing that can be declared");
    if (sym->storage == ST_VIEW && !check_view(v, sym))
        return false;
    v->whole = sym->storage == ST_SCALAR ? s->value : NULL;
    if (s->value && !check_stored(v, s->value, &sym->type, sym->name))
        return false;
    if (verifier_sees(v, sym))
        return verifier_fail(v, NULL, arena_printf(v->arena, "%s is declared twice", sym->name));
    verifier_open(v, sym);
    return !v->problem;
}

static bool assignable(const struct expr *target)
{
    const struct sym *s = target->sym;
    if (target->op == OP_REF)
        return s->storage == ST_SCALAR || s->storage == ST_ARRAY || s->storage == ST_REG;
    return target->op == OP_ACCESS && !target->otherwise &&
           (s->storage != ST_VIEW || !s->is_const) && s->storage != ST_REG;
}

static bool check_assign(struct verifier *v, const struct stmt *s)
{
    return verifier_expr(v, s->target, false) &&
           verifier_check(v, s->target, assignable(s->target), "cannot be assigned to") &&
           check_stored(v, s->value, &s->target->type, s->target->sym->name);
}

static bool check_async(struct verifier *v, const struct stmt *s)
{
    bool stores = verifier_is_part(s->target, ST_VIEW);
    return check_assign(v, s) &&
           verifier_check(v, s->target, stores || verifier_is_part(s->target, ST_SHARED),
                          "a copy in the background fills shared memory or a view") &&
           verifier_check(v, s->value, verifier_is_part(s->value, stores ? ST_SHARED : ST_VIEW),
                          "a copy in the background reads the other memory") &&
           verifier_check(v, s->target,
                          !s->barrier || (!stores && verifier_expr(v, s->barrier, false) &&
                                          verifier_is_mbarrier(s->barrier)),
                          "a copy completes on something else than an mbarrier") &&
           verifier_check(v, s->target,
                          !s->multicast ||
                              (s->barrier && verifier_expr(v, s->multicast, false) &&
                               s->multicast->type.rank == 0 && s->multicast->type.dtype == DT_I32),
                          "a copy to several blocks has an mbarrier and an i32");
}

static bool check_promoted(struct verifier *v, const struct stmt *s)
{
    return verifier_check(v, s->value,
                          s->promoted == 0 || (expr_product_is_small(s) &&
                                               (s->promoted == SUM_IN_UNIT ||
                                                (s->promoted > 0 && s->promoted % SUM_STEP == 0))),
                          "these sums have no such promotion");
}

static bool check_product(struct verifier *v, const struct stmt *s)
{
    const struct expr *e = s->value;
    return check_promoted(v, s) &&
           verifier_check(v, e,
                          e->op == OP_DOT && e->count == 3 && s->target->op == OP_REF &&
                              s->target->sym->storage == ST_REG && expr_same(s->target, e->args[2]),
                          "a product in the background is not c = dot(a, b, c)");
}

static bool check_condition(struct verifier *v, const struct expr *e)
{
    return verifier_expr(v, e, false) &&
           verifier_check(v, e, !dtype_is_float(e->type.dtype) && e->type.rank == 0,
                          "a condition is a scalar truth value");
}

static bool check_body(struct verifier *v, const struct stmt *body)
{
    size_t outer = v->scope.count;
    bool good = check_list(v, body, false);
    verifier_close_scope(v, outer);
    return good;
}

static bool check_loop_body(struct verifier *v, const struct stmt *s)
{
    v->loops++;
    bool good = check_body(v, s->body);
    v->loops--;
    return good;
}

static bool check_for(struct verifier *v, const struct stmt *s)
{
    size_t outer = v->scope.count;
    bool good = true;
    for (const struct stmt *i = s->init; good && i; i = i->next)
        good = i->kind == STMT_DECL     ? check_decl(v, i)
               : i->kind == STMT_ASSIGN ? check_assign(v, i)
                                        : verifier_fail(v, NULL, "a loop begins with declarations");
    good = good && (!s->condition || check_condition(v, s->condition)) && check_loop_body(v, s);
    for (const struct stmt *i = s->step; good && i; i = i->next)
        good = i->kind == STMT_ASSIGN ? check_assign(v, i)
                                      : verifier_fail(v, NULL, "a loop steps with assignments");
    verifier_close_scope(v, outer);
    return good;
}

static bool check_ensures(struct verifier *v, const struct stmt *s)
{
    size_t outer = v->scope.count;
    bool good = true;
    for (int i = 0; good && i < s->overs; i++) {
        good = s->over[i] && verifier_expr(v, s->bound[i], false);
        verifier_open(v, s->over[i]);
    }
    v->in_ensures = true;
    good = good && verifier_expr(v, s->target, false) && verifier_expr(v, s->value, false) &&
           verifier_check(v, s->target,
                          s->target->op == OP_ACCESS && s->target->sym->storage == ST_VIEW,
                          "ensures speaks of a view") &&
           verifier_check(v, s->target, verifier_fits(&s->target->type, &s->value->type),
                          "ensures compares two shapes");
    v->in_ensures = false;
    verifier_close_scope(v, outer);
    return good;
}

static bool check_role(struct verifier *v, const struct stmt *s, bool top)
{
    size_t outer = v->scope.count;
    if (!top || !s->role)
        return verifier_fail(v, NULL, "a role within a statement");
    if (s->role->replica)
        verifier_open(v, s->role->replica);
    bool good = check_list(v, s->body, false);
    verifier_close_scope(v, outer);
    return good;
}

static bool check_statement(struct verifier *v, const struct stmt *s, bool top)
{
    switch (s->kind) {
    case STMT_DECL: return check_decl(v, s);
    case STMT_ASSIGN: return check_assign(v, s) && (!s->in_background || check_product(v, s));
    case STMT_ASYNC_COPY: return check_async(v, s);
    case STMT_EFFECT:
        v->whole = s->value;
        return verifier_expr(v, s->value, true) &&
               verifier_check(v, s->value, !s->uncredited || stmt_may_be_uncredited(s->value->op),
                              "an op that cannot be `added`");
    case STMT_IF:
        return check_condition(v, s->condition) && check_body(v, s->body) &&
               check_body(v, s->otherwise);
    case STMT_FOR: return check_for(v, s);
    case STMT_WHILE: return check_condition(v, s->condition) && check_loop_body(v, s);
    case STMT_BLOCK:
    case STMT_ONE_THREAD: return check_body(v, s->body);
    case STMT_ROLE: return check_role(v, s, top);
    case STMT_BREAK:
    case STMT_CONTINUE:
        return v->loops > 0 || verifier_fail(v, NULL, "break or continue outside a loop");
    case STMT_RETURN: return true;
    case STMT_ENSURES:
        return top ? check_ensures(v, s) : verifier_fail(v, NULL, "ensures inside a statement");
    }
    return verifier_fail(v, NULL, "no such statement");
}

static bool check_list(struct verifier *v, const struct stmt *first, bool top)
{
    for (const struct stmt *s = first; s; s = s->next)
        if (!check_statement(v, s, top))
            return false;
    return true;
}

/* --- kernels --- */

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct sym *const *)a)->name, (*(const struct sym *const *)b)->name);
}

/* Checks that names are unique in the kernel: printing and parsing again need that. */
static bool check_names(struct verifier *v)
{
    VEC(const struct sym *) all = {0};
    for (const struct sym *s = v->kernel->symbols; s; s = s->next)
        vec_push(v->arena, &all, s);
    if (all.count == 0)
        return true;
    qsort(all.data, all.count, sizeof *all.data, by_name);
    for (size_t i = 1; i < all.count; i++)
        if (strcmp(all.data[i - 1]->name, all.data[i]->name) == 0)
            return verifier_fail(
                v, NULL, arena_printf(v->arena, "two symbols are called %s", all.data[i]->name));
    return true;
}

/* Returns true if e depends only on constants and the parameters before index `below`. */
static bool follows(const struct expr *e, int below)
{
    const struct sym *s = e->op == OP_REF ? e->sym : NULL;
    bool good = !s || s->storage == ST_CONST || (s->storage == ST_PARAM && s->index < below);
    for (int i = 0; i < e->count; i++)
        good = good && follows(e->args[i], below);
    return good;
}

static bool check_params(struct verifier *v)
{
    int index = 0;
    for (const struct param *p = v->kernel->params; p; p = p->next, index++) {
        if (p->sym->storage != ST_PARAM || p->sym->index != index)
            return verifier_fail(v, NULL,
                                 arena_printf(v->arena, "parameter %d is out of order", index));
        const struct expr *derived = p->sym->derived;
        if (derived && (derived->type.rank > 0 || derived->type.dtype != p->sym->type.dtype ||
                        !follows(derived, index)))
            return verifier_fail(v, derived,
                                 arena_printf(v->arena,
                                              "parameter %d does not follow from those "
                                              "before it",
                                              index));
    }
    return index == v->kernel->param_count || verifier_fail(v, NULL, "parameters are miscounted");
}

static bool check_plan(struct verifier *v)
{
    const struct kernel *k = v->kernel;
    for (const struct sym *s = k->planned ? k->symbols : NULL; s; s = s->next) {
        if (s->storage != ST_SHARED && s->storage != ST_MBARRIER)
            continue;
        int64_t bytes = type_bytes(&s->type);
        if (s->offset < 0 || s->offset + bytes > k->shared_bytes)
            return verifier_fail(v, NULL,
                                 arena_printf(v->arena, "%s lies outside shared memory", s->name));
    }
    return true;
}

static bool check_launch(struct verifier *v)
{
    const struct kernel *k = v->kernel;
    if ((k->warps > 0) == kernel_thread_level(k))
        return verifier_fail(v, NULL, "neither warps nor threads, or both");
    if (!k->grid[0])
        return verifier_fail(v, NULL, "no grid");
    for (int axis = 0; axis < 3; axis++)
        if (k->grid[axis] && !verifier_expr(v, k->grid[axis], false))
            return false;
    return true;
}

const char *kernel_verify(struct arena *a, const struct kernel *k)
{
    struct verifier v = {.arena = a, .kernel = k};
    numbering_init(&v.numbers, a, k);
    v.visible = arena_array(a, bool, v.numbers.count + 1);
    bool good = check_names(&v) && check_params(&v) && check_launch(&v) &&
                check_list(&v, k->body, true) && check_plan(&v);
    (void)good;
    return v.problem;
}
