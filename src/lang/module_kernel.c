/* What callers may ask of a kernel without checking it: parameters, tuned names, types. */
#include "lang/check_internal.h"

#include <stdlib.h>
#include <string.h>

static const struct entry *kernel_entry(const struct module *m, int index)
{
    return &m->entries[m->kernels[index]];
}

int kernel_tunes(const struct module *m, int index, int *entries)
{
    const bool *uses = kernel_entry(m, index)->uses;
    int count = 0;
    for (int i = 0; i < m->entry_count; i++)
        if (m->entries[i].kind == ENTRY_TUNE && uses[i])
            entries[count++] = i;
    return count;
}

/* --- parameters --- */

static int param_index(const struct node *kernel, const char *name)
{
    int index = 0;
    for (const struct node *p = kernel->params; p; p = p->next, index++)
        if (strcmp(p->text, name) == 0)
            return index;
    return -1;
}

/* The name at the root of `a[i]`, `a[i][j +: n]`, `a + offset`. */
static bool is_rooted_in(const struct node *n, const char *name)
{
    while (n->kind != N_NAME && n->a)
        n = n->a;
    return n->kind == N_NAME && strcmp(n->text, name) == 0;
}

/* Of the views of a pointer, anywhere in the body: the first whole one, not shifted and without
 * strides; and whether an `ensures` speaks of one. */
struct view_search {
    const struct node *kernel;
    const char *pointer;
    const struct node *found;
    int count;
    bool is_ensured;
};

static void find_view(void *user, const struct node *n)
{
    struct view_search *s = user;
    if (n->kind == N_DECL && n->i == DECL_GLOBAL && n->init && is_rooted_in(n->init, s->pointer)) {
        s->count++;
        if (!s->found && !n->strides && n->init->kind == N_NAME)
            s->found = n;
        for (const struct node *e = s->kernel->body->body; e; e = e->next)
            s->is_ensured |= e->kind == N_ENSURES && is_rooted_in(e->a, n->text);
    }
    visit_children(n, find_view, user);
}

static void describe_view(struct arena *a, const struct node *kernel, struct lang_param *p)
{
    struct view_search search = {.kernel = kernel, .pointer = p->name};
    visit_children(kernel->body, find_view, &search);
    p->is_ensured = search.is_ensured;
    p->many_views = search.count > 1;
    for (const struct node *d = search.found ? search.found->dims : NULL; d && p->rank < MAX_RANK;
         d = d->next) {
        int param = d->kind == N_NAME ? param_index(kernel, d->text) : -1;
        const struct loc at = d->loc;
        p->dim_param[p->rank] = param;
        p->dim_text[p->rank++] = arena_string(a, at.source->text + at.offset, at.length);
    }
}

struct literal param_value(const struct node *literal)
{
    bool negative = literal->kind == N_UNARY;
    const struct node *n = negative ? literal->a : literal;
    if (n->kind == N_FLOAT)
        return (struct literal){.is_float = true, .f = negative ? -n->f : n->f};
    return (struct literal){.i = negative ? -n->i : n->i};
}

static void describe_params(struct arena *a, const struct module *m, const struct node *kernel,
                            struct lang_kernel *k)
{
    struct lang_param *params = arena_array(a, struct lang_param, k->param_count + 1);
    int i = 0;
    for (const struct node *n = kernel->params; n; n = n->next, i++) {
        struct lang_param *p = &params[i];
        const struct entry *e = n->type->text ? module_entry(m, n->type->text) : NULL;
        *p = (struct lang_param){.name = n->text,
                                 .loc = n->loc,
                                 .is_pointer = n->is_pointer,
                                 .is_const = n->is_const,
                                 .is_static = n->is_static,
                                 .dtype = DT_NONE,
                                 .type_variable = -1};
        if (n->type->text)
            p->dtype = dtype_by_name(n->type->text, strlen(n->type->text));
        for (int t = 0; e && e->kind == ENTRY_TYPE && t < k->type_count; t++)
            if (strcmp(k->types[t].name, e->name) == 0)
                p->type_variable = t;
        if (p->dtype == DT_NONE && p->type_variable < 0)
            p->dtype = DT_I32; /* there is no such type, as the check will say */
        p->has_value = n->init != NULL;
        if (p->has_value)
            p->value = param_value(n->init);
        if (n->is_pointer)
            describe_view(a, kernel, p);
    }
    k->params = params;
}

/* --- tuned names and types --- */

static void describe_tunes(struct arena *a, const struct module *m, int index, const char *target,
                           struct lang_kernel *k)
{
    int *entries = arena_array(a, int, m->entry_count + 1);
    k->tune_count = kernel_tunes(m, index, entries);
    struct lang_tune *tunes = arena_array(a, struct lang_tune, k->tune_count + 1);
    for (int i = 0; i < k->tune_count; i++) {
        const struct entry *e = &m->entries[entries[i]];
        const struct tune_list *list = module_tune_list(m, e->group, target);
        struct literal *values = arena_array(a, struct literal, list->count + 1);
        for (int v = 0; v < list->count; v++) {
            values[v] = list->values[v * list->names + e->member];
            if (e->dtype == DT_F32 && !values[v].is_float)
                values[v] = (struct literal){.is_float = true, .f = (double)values[v].i};
        }
        tunes[i] = (struct lang_tune){.name = e->name,
                                      .loc = e->loc,
                                      .group = e->group,
                                      .count = list->count,
                                      .values = values,
                                      .dtype = e->dtype};
    }
    k->tunes = tunes;
}

static void describe_types(struct arena *a, const struct module *m, const bool *uses,
                           struct lang_kernel *k)
{
    struct lang_type *types = arena_array(a, struct lang_type, m->entry_count + 1);
    for (int i = 0; i < m->entry_count; i++) {
        const struct entry *e = &m->entries[i];
        if (e->kind == ENTRY_TYPE && uses[i])
            types[k->type_count++] = (struct lang_type){e->name, e->choice_count, e->choices};
    }
    k->types = types;
}

static bool has_ensures(const struct node *kernel)
{
    for (const struct node *n = kernel->body->body; n; n = n->next)
        if (n->kind == N_ENSURES)
            return true;
    return false;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct lang_name *)a)->name, ((const struct lang_name *)b)->name);
}

static void sort_names(struct arena *a, struct lang_kernel *k)
{
    struct lang_name *names = arena_array(a, struct lang_name, k->param_count + 1);
    for (int i = 0; i < k->param_count; i++)
        names[i] = (struct lang_name){k->params[i].name, i};
    qsort(names, (size_t)k->param_count, sizeof *names, compare_names);
    k->param_names = names;
}

int lang_param_find(const struct lang_kernel *k, const char *name)
{
    const struct lang_name wanted = {name, -1};
    const struct lang_name *found =
        bsearch(&wanted, k->param_names, (size_t)k->param_count, sizeof wanted, compare_names);
    return found ? found->index : -1;
}

const struct lang_kernel *lang_kernel(struct arena *a, const struct module *m, int index,
                                      const char *target)
{
    const struct entry *e = kernel_entry(m, index);
    struct lang_kernel *k = arena_new(a, struct lang_kernel);
    k->name = e->name;
    k->loc = e->loc;
    for (const struct node *n = e->node->attributes; n; n = n->next)
        k->thread_level = k->thread_level || strcmp(n->text, "threads") == 0;
    for (const struct node *p = e->node->params; p; p = p->next)
        k->param_count++;
    describe_types(a, m, e->uses, k);
    describe_params(a, m, e->node, k);
    sort_names(a, k);
    describe_tunes(a, m, index, target, k);
    k->has_ensures = has_ensures(e->node);
    return k;
}
