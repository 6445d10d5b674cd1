/* Early `return` in fns.
 *
 * The body of a fn replaces its call, and a kernel's statements cannot return. So the returns of a
 * fn become one of two things:
 *
 *   a choice        if (x < 0) return a;  return b;      x < 0 ? a : b
 *                   if the fn has nothing else, and one scalar as its result
 *   statements      if (x < 0) return a;                 if (x < 0) f = a;
 *                   rest                                 else { rest }
 *                   for (…) { if (c) return a; … }       for (…) { if (c) { f = a; returned = true; break; } … }
 *                   rest                                 if (!returned) { rest }
 *
 * The checker makes the statements while it checks them: check_stmts passes each statement that
 * returns on some paths to this file. */
#include "lang/check_internal.h"

/* --- paths through statements --- */

static void find_return(void *user, const struct node *n)
{
    const struct node **found = user;
    if (n->kind == N_RETURN && !*found)
        *found = n;
    module_visit_children(n, find_return, user);
}

/* Returns the first `return` in the statement; NULL: none. */
static const struct node *return_in(const struct node *n)
{
    const struct node *found = NULL;
    find_return(&found, n);
    return found;
}

static bool statement_returns(const struct node *n);

/* Returns true if every path through the statements returns. */
static bool list_returns(const struct node *list)
{
    for (const struct node *n = list; n; n = n->next)
        if (statement_returns(n))
            return true;
    return false;
}

static bool statement_returns(const struct node *n)
{
    switch (n->kind) {
    case N_RETURN: return true;
    case N_BLOCK: return list_returns(n->body);
    case N_IF: return n->otherwise && statement_returns(n->body) && statement_returns(n->otherwise);
    default: return false;
    }
}

bool check_fn_has_return(const struct node *fn)
{
    return list_returns(fn->body->body);
}

static bool is_loop(const struct node *n)
{
    return n->kind == N_FOR || n->kind == N_WHILE;
}

/* Returns true if paths that have returned and paths that have not join before the end. */
static bool paths_meet(const struct node *list)
{
    for (const struct node *n = list; n; n = n->next) {
        const struct node *arms[2] = {n->body, n->otherwise};
        if (n->kind == N_RETURN || !return_in(n))
            continue;
        if (is_loop(n))
            return true;
        bool one_side = n->kind == N_IF && (statement_returns(n->body) ||
                                            (n->otherwise && statement_returns(n->otherwise)));
        if (n->next && !one_side && !statement_returns(n))
            return true;
        if (n->kind == N_BLOCK && paths_meet(n->body))
            return true;
        for (int i = 0; i < 2 && n->kind == N_IF; i++) {
            struct node alone = arms[i] ? *arms[i] : (struct node){.kind = N_EMPTY};
            alone.next = NULL;
            if (paths_meet(&alone))
                return true;
        }
    }
    return false;
}

bool check_fn_returns_early(const struct node *fn)
{
    for (const struct node *n = fn->body->body; n; n = n->next)
        if (return_in(n) && (n->kind != N_RETURN || n->next))
            return true;
    return false;
}

/* Notes the place where a path ends without `return`, and why. */
static void note_end(struct diag *d, const struct node *list, struct loc end)
{
    const struct node *last = list;
    while (last && last->next)
        last = last->next;
    if (last && last->kind == N_BLOCK)
        note_end(d, last->body, last->loc);
    else if (last && last->kind == N_IF && !last->otherwise)
        diag_note(d, last->a->loc, "if this is false, nothing is returned");
    else if (last && last->kind == N_IF)
        note_end(d, statement_returns(last->body) ? last->otherwise : last->body, last->loc);
    else if (last && is_loop(last))
        diag_note(d, last->loc, "after this loop, nothing is returned");
    else
        diag_note(d, last ? last->loc : end, "its last statement is `return …;`");
}

/* Returns a statement that no path reaches because every path before it returns; NULL: none. */
static const struct node *unreached(const struct node *list)
{
    for (const struct node *n = list; n; n = n->next) {
        const struct node *inside = n->kind == N_BLOCK ? unreached(n->body) : NULL;
        if (n->next && statement_returns(n))
            return n->next;
        if (n->body && n->body->kind == N_BLOCK && (is_loop(n) || n->kind == N_IF))
            inside = unreached(n->body->body);
        if (!inside && n->kind == N_IF && n->otherwise && n->otherwise->kind == N_BLOCK)
            inside = unreached(n->otherwise->body);
        if (inside)
            return inside;
    }
    return NULL;
}

static void find_valueless(void *user, const struct node *n)
{
    const struct node **found = user;
    if (n->kind == N_RETURN && !n->a && !*found)
        *found = n;
    module_visit_children(n, find_valueless, user);
}

/* Returns the first `return;` without a value in the body; NULL: none. */
static const struct node *valueless(const struct node *body)
{
    const struct node *found = NULL;
    find_valueless(&found, body);
    return found;
}

void check_fn_returns(struct diag *d, const struct node *fn)
{
    const struct node *list = fn->body ? fn->body->body : NULL;
    const struct node *some = fn->body ? return_in(fn->body) : NULL;
    if (!fn->result || !fn->body)
        return;
    if (list_returns(list) && valueless(fn->body)) {
        diag_error(d, fn->loc, "the fn `%s` returns without a value", fn->text);
        diag_note(d, valueless(fn->body)->loc, "write `return …;`");
    } else if (!list_returns(list)) {
        diag_error(d, fn->loc,
                   some ? "not every path through the fn `%s` returns a value"
                        : "the fn `%s` does not end with the value it returns",
                   fn->text);
        note_end(d, list, fn->loc);
    } else if (unreached(list)) {
        diag_error(d, unreached(list)->loc, "this is never reached: each path before it returns");
    }
}

/* --- a choice --- */

/* Returns the statements after n; at the end of its list, `rest` follows. Sets *good to false if
 * both exist. */
static const struct node *after(const struct node *n, const struct node *rest, bool *good)
{
    *good = *good && !(n->next && rest);
    return n->next ? n->next : rest;
}

/* Returns the statements of a body. alone: storage for the copy of a statement without braces. */
static const struct node *body_of(const struct node *n, struct node *alone)
{
    *alone = *n;
    alone->next = NULL;
    return n->kind == N_BLOCK ? n->body : alone;
}

/* Returns true if the statements, followed by `rest`, only choose the value to return. */
static bool is_choice(const struct node *n, const struct node *rest)
{
    struct node then, other;
    bool good = true;
    if (!n)
        return rest && is_choice(rest, NULL);
    const struct node *next = after(n, rest, &good);
    switch (n->kind) {
    case N_RETURN: return n->a && n->a->kind != N_TUPLE;
    case N_BLOCK: return good && is_choice(n->body, next);
    case N_IF:
        return good && is_choice(body_of(n->body, &then), NULL) &&
               (n->otherwise ? is_choice(body_of(n->otherwise, &other), next)
                             : next && is_choice(next, NULL));
    default: return false;
    }
}

bool check_fn_is_choice(const struct node *fn)
{
    const struct node *first = fn->body->body, *result = fn->result;
    if (first && first->kind == N_RETURN && !first->next)
        return true;
    return result && !result->list && !result->dims && is_choice(first, NULL);
}

/* Checks the returned value and converts it to the result type. There must be one. NULL: reported. */
static struct expr *returned_value(struct checker *c, const struct entry *fn, const struct node *n,
                                   const struct type *type)
{
    struct expr *value = check_expr(c, n, type);
    const char *name = arena_printf(c->arena, "%s", fn->name);
    value = value ? check_fit_value(c, value, type, name, fn->loc) : NULL;
    return value ? check_stretch(c, value, type) : NULL;
}

static struct expr *choose(struct checker *c, const struct entry *fn, const struct node *n,
                           const struct node *rest, const struct type *type)
{
    struct node then, other;
    bool good = true;
    if (!n)
        return choose(c, fn, rest, NULL, type);
    if (n->kind == N_RETURN)
        return returned_value(c, fn, n->a, type);
    const struct node *next = after(n, rest, &good);
    if (!check_deeper(c, n->loc))
        return NULL;
    struct expr *e = NULL;
    if (n->kind == N_BLOCK) {
        e = choose(c, fn, n->body, next, type);
        c->depth--;
        return e;
    }
    struct expr *condition = check_condition(c, n->a), *arms[2];
    bool hoistable = c->hoistable;
    bool never = check_rules_out(c, condition, true),
         never_else = check_rules_out(c, condition, false);
    c->hoistable = false;
    c->never += never;
    arms[0] = choose(c, fn, body_of(n->body, &then), NULL, type);
    c->never += never_else - never;
    arms[1] = choose(c, fn, n->otherwise ? body_of(n->otherwise, &other) : next,
                     n->otherwise ? next : NULL, type);
    c->never -= never_else;
    c->hoistable = hoistable;
    c->depth--;
    if (!condition || !arms[0] || !arms[1])
        return NULL;
    e = expr_new(c->kernel, OP_SELECT, *type, n->loc, 3);
    e->args[0] = condition;
    e->args[1] = arms[0];
    e->args[2] = arms[1];
    return e;
}

struct expr *check_choice(struct checker *c, const struct entry *fn, const struct type *type)
{
    return choose(c, fn, fn->node->body->body, NULL, type);
}

/* --- statements --- */

static void set_scalar(struct checker *c, struct sym *s, struct expr *value, struct loc loc)
{
    struct stmt *assign = check_emit(c, STMT_ASSIGN, loc);
    assign->target = expr_ref(c->kernel, s, loc);
    assign->value = value;
}

static struct expr *truth(struct checker *c, bool value, struct loc loc)
{
    return expr_int(c->kernel, DT_BOOL, value, loc);
}

void check_early_return(struct checker *c, const struct node *n)
{
    const struct early *early = c->frames->early;
    struct fn_results values = {.count = 0};
    c->hoistable = true;
    if (!check_returned_values(c, c->frames->fn, n, early->types, &values))
        return;
    for (int i = 0; i < values.count; i++) {
        struct expr *value = values.value[i];
        if (value->type.rank == 0 && check_expr_varies(c, value))
            check_sym_info(c, early->kept[i])->varying = true;
        set_scalar(c, early->kept[i], value, n->loc);
    }
    if (early->returned)
        set_scalar(c, early->returned, truth(c, true, n->loc), n->loc);
    if (c->loops > 0)
        check_emit(c, STMT_BREAK, n->loc);
}

/* Checks statements as a list of their own, in a scope of their own. */
static struct stmt *check_rest(struct checker *c, const struct node *rest)
{
    struct stmt *first = NULL, **tail = c->tail;
    int outer = check_scope_open(c);
    c->tail = &first;
    check_stmts(c, rest, NULL);
    check_scope_close(c, outer);
    c->tail = tail;
    return first;
}

static struct stmt *check_if_returned(struct checker *c, bool truth, struct loc loc)
{
    struct stmt *s = check_emit(c, STMT_IF, loc);
    s->condition = expr_ref(c->kernel, c->frames->early->returned, loc);
    if (!truth) {
        struct expr *negated = expr_new(c->kernel, OP_NOT, type_scalar(DT_BOOL), loc, 1);
        negated->args[0] = s->condition;
        s->condition = negated;
    }
    return s;
}

bool check_returns_within(const struct checker *c, const struct node *n)
{
    return c->frames && c->frames->early && n->kind != N_RETURN && return_in(n);
}

bool check_returning(struct checker *c, const struct node *n)
{
    bool body = n->kind == N_IF && statement_returns(n->body);
    bool other = n->kind == N_IF && n->otherwise && statement_returns(n->otherwise);
    struct stmt **tail;
    if (c->loops == 0 && n->next && body != other) {
        check_if_and(c, n, n->next, !body);
        return true;
    }
    check_statement(c, n);
    if (c->loops > 0 && is_loop(n)) {
        struct stmt *s = check_if_returned(c, true, n->loc);
        tail = c->tail;
        c->tail = &s->body;
        check_emit(c, STMT_BREAK, n->loc);
        c->tail = tail;
    }
    if (c->loops > 0 || !n->next || statement_returns(n))
        return false;
    struct stmt *s = check_if_returned(c, false, n->loc);
    tail = c->tail;
    s->body = check_rest(c, n->next);
    c->tail = tail;
    return true;
}

struct stmt *check_arm_and(struct checker *c, const struct node *arm, const struct node *rest)
{
    struct stmt *first = arm ? check_body(c, arm) : NULL, **last = &first;
    while (*last)
        last = &(*last)->next;
    *last = rest ? check_rest(c, rest) : NULL;
    return first;
}

bool check_inline_early(struct checker *c, const struct entry *fn, const struct result_types *types,
                        struct fn_results *out)
{
    struct early early = {.types = types};
    struct type flag = type_scalar(DT_BOOL);
    struct loc loc = fn->loc;
    for (int i = 0; i < types->count; i++)
        early.kept[i] = check_keep_value(c, fn->name, &types->type[i], NULL, loc);
    if (paths_meet(fn->node->body->body))
        early.returned = check_keep_value(c, "returned", &flag, truth(c, false, loc), loc);
    struct stmt *block = check_emit(c, STMT_BLOCK, loc), **tail = c->tail;
    int errors = c->diag->errors;
    c->frames->early = &early;
    c->tail = &block->body;
    check_stmts(c, fn->node->body->body, NULL);
    c->frames->early = NULL;
    c->tail = tail;
    c->hoistable = true;
    for (int i = 0; i < types->count; i++)
        out->value[i] = expr_ref(c->kernel, early.kept[i], loc);
    out->count = types->count;
    return c->diag->errors == errors;
}

struct expr *check_stretch(struct checker *c, struct expr *e, const struct type *to)
{
    struct type type = *to;
    type.dtype = e->type.dtype;
    for (int i = 0; i < to->rank; i++)
        if (to->extent[i] == EXTENT_RUNTIME)
            return e;
    return type_same_shape(&e->type, to) ? e : expr_unary(c->kernel, OP_BROADCAST, type, e->loc, e);
}

bool check_returned_values(struct checker *c, const struct entry *fn, const struct node *ret,
                           const struct result_types *types, struct fn_results *out)
{
    const struct node *values = ret->a && ret->a->kind == N_TUPLE ? ret->a->list : ret->a;
    bool tuple = ret->a && ret->a->kind == N_TUPLE;
    int given = 0;
    for (const struct node *v = values; v; v = tuple ? v->next : NULL)
        given++;
    if (given != types->count) {
        diag_error(c->diag, ret->loc, "`%s` has %d result%s, and returns %d", fn->name,
                   types->count, types->count == 1 ? "" : "s", given);
        diag_note(c->diag, fn->loc, "declared here");
        return false;
    }
    bool good = true;
    for (const struct node *v = values; v; v = tuple ? v->next : NULL) {
        out->value[out->count] = returned_value(c, fn, v, &types->type[out->count]);
        good = good && out->value[out->count];
        out->count++;
    }
    return good;
}
