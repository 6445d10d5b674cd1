/* Finds the names of the module that a part of the tree reaches. It follows scopes: a local `T`
 * hides a tuned `T`. */
#include "lang/check_internal.h"

#include <stdlib.h>
#include <string.h>

static void visit_list(const struct node *list, void (*visit)(void *user, const struct node *child),
                       void *user)
{
    for (; list; list = list->next)
        visit(user, list);
}

void module_visit_children(const struct node *n,
                           void (*visit)(void *user, const struct node *child), void *user)
{
    if (n->kind == N_NAME || n->kind == N_INT) { /* most nodes */
        visit_list(n->peer, visit, user);
        return;
    }
    /* Two fields of a node may be one list: `type` and `a` of a result, `list` and `body` of a block. */
    const struct node *own_a = n->a == n->type ? NULL : n->a;
    const struct node *own_body = n->body == n->list ? NULL : n->body;
    const struct node *const lists[] = {
        n->result, n->params,  n->attributes, n->type,      n->over,   n->names, n->dims,
        n->at,     n->strides, n->init,       n->unroll,    n->stages, n->list,  own_a,
        n->b,      n->c,       own_body,      n->otherwise, n->step,   n->peer,
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        visit_list(lists[i], visit, user);
}

/* --- reaching --- */

static void visit_use(void *user, const struct node *n);

void module_reach_entry(struct module_reach *r, int index)
{
    if (r->reached[index])
        return;
    r->reached[index] = true;
    vec_push(r->arena, &r->found, index);
}

static void reach(struct module_reach *r, const char *name)
{
    const struct entry *e = module_entry(r->module, name);
    if (!e || e->kind == ENTRY_KERNEL || r->reached[e->index] || r->hidden[e->index])
        return;
    module_reach_entry(r, e->index);
    if (e->kind == ENTRY_CONST || e->kind == ENTRY_FN)
        vec_push(r->arena, &r->entered, e->index);
}

/* Adds a local name that hides one of the module. */
static void add_local(struct module_reach *r, const char *name)
{
    const struct entry *e = module_entry(r->module, name);
    if (!e || e->kind == ENTRY_KERNEL)
        return;
    r->hidden[e->index]++;
    vec_push(r->arena, &r->locals, e->index);
}

static void close_scope(struct module_reach *r, size_t locals)
{
    while (r->locals.count > locals)
        r->hidden[r->locals.data[--r->locals.count]]--;
}

static bool opens_scope(const struct node *n)
{
    return n->kind == N_BLOCK || n->kind == N_FOR || n->kind == N_WHILE || n->kind == N_IF ||
           n->kind == N_ROLE || n->kind == N_ENSURES;
}

static void visit_use(void *user, const struct node *n)
{
    struct module_reach *r = user;
    size_t locals = r->locals.count;
    switch (n->kind) {
    case N_MEMBER: return;
    case N_NAME:
    case N_TYPE:
    case N_CALL:
        if (n->text)
            reach(r, n->text);
        break;
    case N_DESTRUCT: /* its list holds new names */
        if (n->type)
            visit_use(r, n->type);
        visit_use(r, n->a);
        for (const struct node *name = n->list; name; name = name->next)
            add_local(r, name->text);
        return;
    default: break;
    }
    module_visit_children(n, visit_use, r);
    if (n->kind == N_DECL || n->kind == N_PARAM)
        add_local(r, n->text);
    else if (opens_scope(n))
        close_scope(r, locals);
}

void module_reach_init(struct module_reach *r, struct arena *a, const struct module *m)
{
    *r = (struct module_reach){.arena = a, .module = m};
    r->reached = arena_array(a, bool, m->known_count + 1);
    r->hidden = arena_array(a, int, m->known_count + 1);
}

/* Visits constants and fns one after the other, each with no local names in scope. */
void module_reach_add(struct module_reach *r, const struct node *n)
{
    module_visit_children(n, visit_use, r);
    close_scope(r, 0);
    while (r->entered.count) {
        module_visit_children(r->module->entries[r->entered.data[--r->entered.count]].node,
                              visit_use, r);
        close_scope(r, 0);
    }
}

static int compare_indices(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

void module_sort_indices(struct index_list *list)
{
    if (list->count)
        qsort(list->data, list->count, sizeof(int), compare_indices);
}

struct index_list module_reach_take(struct module_reach *r)
{
    struct index_list taken = {.count = r->found.count, .capacity = r->found.count};
    taken.data = arena_copy(r->arena, r->found.data, r->found.count * sizeof(int));
    module_sort_indices(&taken);
    for (size_t i = 0; i < taken.count; i++)
        r->reached[taken.data[i]] = false;
    r->found.count = 0;
    return taken;
}

bool module_is_tuned(struct arena *a, const struct module *m, const struct node *n)
{
    struct module_reach r;
    module_reach_init(&r, a, m);
    module_reach_add(&r, n);
    for (size_t i = 0; i < r.found.count; i++) {
        enum entry_kind kind = m->entries[r.found.data[i]].kind;
        if (kind == ENTRY_TUNE || kind == ENTRY_TYPE)
            return true;
    }
    return false;
}
