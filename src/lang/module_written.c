/* Finds the arrays in shared memory and the named numbers of a kernel's text, for programs that
 * change the text. A name counts for the whole kernel, without scopes; a name that is declared
 * twice is left out. */
#include "lang/check_internal.h"

#include <string.h>

struct reader {
    struct arena *arena;
    struct name_table declared; /* number: declarations of the name; object: its lang_shared */
    struct lang_written written;
};

static struct name_entry *entry_of(struct reader *r, const char *name)
{
    return name ? name_table_entry(&r->declared, name, strlen(name)) : NULL;
}

static void count_declared(void *user, const struct node *n)
{
    struct reader *r = user;
    if (n->kind == N_DECL || n->kind == N_PARAM)
        entry_of(r, n->text)->number++;
    for (const struct node *name = n->kind == N_DESTRUCT ? n->list : NULL; name; name = name->next)
        entry_of(r, name->text)->number++;
    module_visit_children(n, count_declared, user);
}

static void add_number(struct reader *r, const struct node *n, uint32_t declared)
{
    if (n->init && n->init->kind == N_INT && entry_of(r, n->text)->number == declared)
        vec_push(r->arena, &r->written.numbers, n);
}

static void gather_declared(void *user, const struct node *n)
{
    struct reader *r = user;
    if (n->kind == N_DECL && n->is_const && !n->dims)
        add_number(r, n, 1);
    if (n->kind == N_DECL && n->i == DECL_SHARED && n->dims && entry_of(r, n->text)->number == 1)
        vec_push(r->arena, &r->written.shared,
                 ((struct lang_shared){.declared = n, .by_element = !n->at}));
    module_visit_children(n, gather_declared, user);
}

static struct lang_shared *shared_of(struct reader *r, const char *name)
{
    const struct name_entry *e = name ? name_table_find(&r->declared, name, strlen(name)) : NULL;
    return e ? e->object : NULL;
}

static bool is_element(const struct node *access, const struct node *declared)
{
    const struct node *index = access->list, *extent = declared->dims;
    for (; index && extent; index = index->next, extent = extent->next)
        if (index->i != INDEX_VALUE)
            return false;
    return !index && !extent;
}

static void gather_uses(void *user, const struct node *n)
{
    struct reader *r = user;
    bool access = n->kind == N_ACCESS;
    const char *name = access ? n->a->text : n->kind == N_NAME ? n->text : NULL;
    struct lang_shared *s = shared_of(r, name);
    if (s && access && is_element(n, s->declared))
        vec_push(r->arena, &s->elements, n);
    else if (s)
        s->by_element = false;
    if (!access) {
        module_visit_children(n, gather_uses, user);
        return;
    }
    for (const struct node *index = n->list; index; index = index->next)
        module_visit_children(index, gather_uses, user);
    if (n->b)
        gather_uses(user, n->b);
}

struct lang_written lang_written(struct arena *a, const struct module *m, int index)
{
    struct reader r = {.arena = a};
    const struct node *kernel = m->entries[m->kernels[index]].node;
    name_table_init(&r.declared, a);
    module_visit_children(kernel, count_declared, &r);
    for (const struct node *n = m->items; n; n = n->next)
        if (n->kind == N_CONST)
            add_number(&r, n, 0);
    module_visit_children(kernel, gather_declared, &r);
    for (size_t i = 0; i < r.written.shared.count; i++) {
        struct lang_shared *s = &r.written.shared.data[i];
        entry_of(&r, s->declared->text)->object = s;
    }
    module_visit_children(kernel, gather_uses, &r);
    return r.written;
}
