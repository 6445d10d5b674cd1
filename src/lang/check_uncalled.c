/* The names in fns that no kernel calls.
 *
 * The types of a fn are known only in a call, because the call brings them. So the compiler checks
 * a fn where it is inlined. If a fn is never inlined, the compiler checks its names alone: each
 * name must be declared, and each function and type must exist. */
#include "lang/check_internal.h"

#include <string.h>

static void visit(void *user, const struct node *n);

static void visit_all(struct checker *c, const struct node *list)
{
    for (; list; list = list->next)
        visit(c, list);
}

static void declare(struct checker *c, const struct node *n)
{
    if (*n->text)
        check_bind_name(c, n->text, n->loc, BIND_EXTENT);
}

/* Declares a name that a call would bind to an extent or a type, unless it is known. */
static void bind_by_argument(struct checker *c, const struct node *n)
{
    if (n->text && dtype_by_name(n->text, strlen(n->text)) == DT_NONE &&
        !module_entry(c->module, n->text) && !check_lookup_name(c, n->text))
        declare(c, n);
}

static void declare_params(struct checker *c, const struct node *fn)
{
    for (const struct node *p = fn->params; p; p = p->next) {
        if (p->type)
            bind_by_argument(c, p->type);
        for (const struct node *d = p->dims; d; d = d->next) {
            if (d->kind == N_NAME)
                bind_by_argument(c, d);
            visit(c, d);
        }
        declare(c, p);
    }
}

static void visit_name(struct checker *c, const struct node *n)
{
    const struct entry *e = module_entry(c->module, n->text);
    if (*n->text && !check_lookup_name(c, n->text) &&
        !(e && (e->kind == ENTRY_CONST || e->kind == ENTRY_TUNE)))
        check_unknown_name(c, n->text, n->loc);
}

static void visit_type(struct checker *c, const struct node *n)
{
    const struct entry *e = n->text ? module_entry(c->module, n->text) : NULL;
    if (n->text && *n->text && dtype_by_name(n->text, strlen(n->text)) == DT_NONE &&
        !(e && e->kind == ENTRY_TYPE) && !check_lookup_name(c, n->text))
        check_unknown_type(c, n->text, n->loc);
    module_visit_children(n, visit, c);
}

static void visit_call(struct checker *c, const struct node *n)
{
    const struct entry *e = module_entry(c->module, n->text);
    enum op op = op_by_text(n->text, FORM_CALL, -1);
    if (op == OP_COUNT && !(e && e->kind == ENTRY_FN) && strcmp(n->text, "bytes") != 0)
        check_unknown_call(c, n);
    /* the first argument of a scan is an operation */
    visit_all(c, op == OP_SCAN && n->list ? n->list->next : n->list);
}

static void visit_scope(struct checker *c, const struct node *n)
{
    int outer = check_scope_open(c);
    module_visit_children(n, visit, c);
    check_scope_close(c, outer);
}

static void visit(void *user, const struct node *n)
{
    struct checker *c = user;
    switch (n->kind) {
    case N_MEMBER: return;
    case N_NAME: visit_name(c, n); return;
    case N_TYPE: visit_type(c, n); return;
    case N_CALL: visit_call(c, n); return;
    case N_NAMED: visit(c, n->a); return;
    case N_BLOCK:
    case N_IF:
    case N_FOR:
    case N_ROLE:
    case N_WHILE: visit_scope(c, n); return;
    case N_DECL:
        module_visit_children(n, visit, c);
        declare(c, n);
        return;
    case N_DESTRUCT:
        visit_all(c, n->type);
        visit(c, n->a);
        for (const struct node *name = n->list; name; name = name->next)
            declare(c, name);
        return;
    default: module_visit_children(n, visit, c); return;
    }
}

void check_uncalled(struct checker *c, const struct node *fn)
{
    int outer = check_scope_open(c);
    declare_params(c, fn);
    visit_all(c, fn->result);
    visit_scope(c, fn->body);
    check_scope_close(c, outer);
}
