/* Which names of the module a piece of the tree reaches. Scopes count: a local `T` hides a tuned
 * `T`. */
#include "lang/check_internal.h"

#include <string.h>

static void visit_list(const struct node *list, void (*visit)(void *user, const struct node *child),
                       void *user)
{
    for (; list; list = list->next)
        visit(user, list);
}

void visit_children(const struct node *n, void (*visit)(void *user, const struct node *child),
                    void *user)
{
    const struct node *const lists[] = {
        n->result, n->params,  n->attributes, n->type,      n->over,   n->names, n->dims,
        n->at,     n->strides, n->init,       n->unroll,    n->stages, n->list,  n->a,
        n->b,      n->c,       n->body,       n->otherwise, n->step,
    };
    enum { LISTS = sizeof lists / sizeof lists[0] };
    const struct node *done[LISTS];
    int count = 0;
    for (int i = 0; i < LISTS; i++) {
        bool seen = !lists[i]; /* a block's body is its list too, a result's type its a */
        for (int k = 0; !seen && k < count; k++)
            seen = done[k] == lists[i];
        if (seen)
            continue;
        done[count++] = lists[i];
        visit_list(lists[i], visit, user);
    }
}

/* --- reaching --- */

/* A local name that hides one of the module. */
struct local {
    const struct entry *entry;
    struct local *next;
};

struct uses {
    struct arena *arena;
    const struct module *module;
    bool *used;
    struct local *locals;
    VEC(const struct entry *) pending; /* used, but not looked into yet */
};

static void visit_use(void *user, const struct node *n);

static void reach(struct uses *u, const char *name)
{
    const struct entry *e = module_entry(u->module, name);
    if (!e || u->used[e->index])
        return;
    for (const struct local *l = u->locals; l; l = l->next)
        if (l->entry == e)
            return;
    u->used[e->index] = true;
    if (e->kind == ENTRY_CONST || e->kind == ENTRY_FN)
        vec_push(u->arena, &u->pending, e);
}

static void add_local(struct uses *u, const char *name)
{
    const struct entry *e = module_entry(u->module, name);
    if (!e)
        return;
    struct local *l = arena_new(u->arena, struct local);
    l->entry = e;
    l->next = u->locals;
    u->locals = l;
}

static bool opens_scope(const struct node *n)
{
    return n->kind == N_BLOCK || n->kind == N_FOR || n->kind == N_WHILE || n->kind == N_IF ||
           n->kind == N_ENSURES;
}

static void visit_use(void *user, const struct node *n)
{
    struct uses *u = user;
    struct local *locals = u->locals;
    switch (n->kind) {
    case N_MEMBER: return;
    case N_NAME:
    case N_TYPE:
    case N_CALL:
        if (n->text)
            reach(u, n->text);
        break;
    case N_DESTRUCT: /* its list holds new names */
        if (n->type)
            visit_use(u, n->type);
        visit_use(u, n->a);
        for (const struct node *name = n->list; name; name = name->next)
            add_local(u, name->text);
        return;
    default: break;
    }
    visit_children(n, visit_use, u);
    if (n->kind == N_DECL || n->kind == N_PARAM)
        add_local(u, n->text);
    else if (opens_scope(n))
        u->locals = locals;
}

bool *module_uses(struct arena *a, const struct module *m, const struct node *list)
{
    struct uses u = {.arena = a, .module = m};
    u.used = arena_array(a, bool, m->entry_count + 1);
    visit_children(list, visit_use, &u);
    while (u.pending.count > 0) { /* no recursion: a chain of names may be long */
        u.locals = NULL;
        visit_children(u.pending.data[--u.pending.count]->node, visit_use, &u);
    }
    return u.used;
}
