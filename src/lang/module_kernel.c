/* Queries of a kernel that need no check: its parameters, tuned names and types. */
#include "lang/check_internal.h"

#include <string.h>

/* --- parameters --- */

/* The state of searching a body for uses of the kernel's parameters. */
struct param_search {
    struct arena *arena;
    struct name_table params;  /* number: the parameter's position */
    struct name_table ensured; /* names that an `ensures` of the body uses */
    struct lang_param *described;
};

/* Returns the name at the root of `a[i]`, `a[i][j +: n]`, `a + offset`; NULL: none. */
static const char *root_name(const struct node *n)
{
    while (n->kind != N_NAME && n->a)
        n = n->a;
    return n->kind == N_NAME ? n->text : NULL;
}

static const struct name_entry *find_name(const struct name_table *names, const char *name)
{
    return name ? name_table_find(names, name, strlen(name)) : NULL;
}

static void gather_names(struct param_search *s, const struct node *kernel)
{
    uint32_t index = 0;
    name_table_init(&s->params, s->arena);
    name_table_init(&s->ensured, s->arena);
    for (const struct node *p = kernel->params; p; p = p->next, index++)
        if (!find_name(&s->params, p->text))
            name_table_add(&s->params, p->text, strlen(p->text))->number = index;
    for (const struct node *n = kernel->body->body; n; n = n->next) {
        const char *name = n->kind == N_ENSURES ? root_name(n->a) : NULL;
        if (name)
            name_table_entry(&s->ensured, name, strlen(name));
    }
}

static void describe_extents(struct param_search *s, struct lang_param *p, const struct node *dims)
{
    for (const struct node *d = dims; d && p->rank < MAX_RANK; d = d->next) {
        const struct name_entry *param = find_name(&s->params, d->kind == N_NAME ? d->text : NULL);
        const struct loc at = d->loc;
        p->dim_param[p->rank] = param ? (int)param->number : -1;
        p->dim_text[p->rank++] = arena_string(s->arena, at.source->text + at.offset, at.length);
    }
}

/* Describes a pointer by its first view, anywhere in the body, that is whole, has no offset and
 * no strides. */
static void describe_view(void *user, const struct node *n)
{
    struct param_search *s = user;
    bool is_view = n->kind == N_DECL && n->i == DECL_GLOBAL && n->init;
    const struct name_entry *pointer = is_view ? find_name(&s->params, root_name(n->init)) : NULL;
    struct lang_param *p = pointer ? &s->described[pointer->number] : NULL;
    if (p && p->is_pointer) {
        p->views++;
        if (p->rank == 0 && !n->strides && n->init->kind == N_NAME) {
            describe_extents(s, p, n->dims);
            p->view_name = n->text;
        }
        p->is_ensured = p->is_ensured || find_name(&s->ensured, n->text);
    }
    if (n->kind >= N_DECL) /* an expression has no declaration */
        module_visit_children(n, describe_view, user);
}

static struct lang_param *describe_params(struct arena *a, const struct node *kernel,
                                          struct lang_kernel *k)
{
    struct lang_param *params = arena_array(a, struct lang_param, k->param_count + 1);
    struct name_table types;
    name_table_init(&types, a);
    for (int t = 0; t < k->type_count; t++)
        name_table_add(&types, k->types[t].name, strlen(k->types[t].name))->number = (uint32_t)t;
    int i = 0;
    for (const struct node *n = kernel->params; n; n = n->next, i++) {
        struct lang_param *p = &params[i];
        *p = (struct lang_param){.name = n->text,
                                 .loc = n->loc,
                                 .is_pointer = n->is_pointer,
                                 .is_const = n->is_const,
                                 .is_static = n->is_static,
                                 .device = n->device,
                                 .has_default = n->device != DEVICE_NONE,
                                 .dtype = DT_NONE,
                                 .type_variable = -1};
        if (n->type->text)
            p->dtype = dtype_by_name(n->type->text, strlen(n->type->text));
        const struct name_entry *type = find_name(&types, n->type->text);
        if (type)
            p->type_variable = (int)type->number;
        if (p->dtype == DT_NONE && p->type_variable < 0)
            p->dtype = DT_I32; /* the type does not exist; the check will report it */
    }
    struct param_search search = {.arena = a, .described = params};
    gather_names(&search, kernel);
    module_visit_children(kernel->body, describe_view, &search);
    k->params = params;
    k->param_names = search.params;
    return params;
}

/* Describes the values after the `=` of parameters. */
static void describe_values(struct arena *a, const struct module *m, int index,
                            struct lang_kernel *k, struct lang_param *params)
{
    const struct node *n = module_kernel_entry(m, index)->node->params;
    bool has_values = false;
    for (const struct node *p = n; p; p = p->next)
        has_values = has_values || p->init;
    if (!has_values)
        return;
    for (const struct param *p = check_params_alone(a, m, index, &k->has_wrong_params); p;
         p = p->next, n = n->next) {
        struct lang_param *out = &params[p->sym->index];
        out->has_value = n->init && p->sym->has_value;
        out->has_default = p->sym->has_default;
        out->value = p->sym->value;
        out->derived = p->sym->derived;
        if (out->derived)
            out->derived_text = arena_string(a, n->init->loc.source->text + n->init->loc.offset,
                                             n->init->loc.length);
    }
}

/* --- tuned names and types --- */

static void describe_tunes(struct arena *a, const struct module *m, int index, const char *target,
                           struct lang_kernel *k)
{
    int *entries = arena_array(a, int, module_kernel_entry(m, index)->uses.count + 1);
    k->tune_count = module_kernel_tunes(m, index, entries);
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

static void describe_types(struct arena *a, const struct module *m, const struct index_list *uses,
                           struct lang_kernel *k)
{
    struct lang_type *types = arena_array(a, struct lang_type, uses->count + 1);
    for (size_t i = 0; i < uses->count; i++) {
        const struct entry *e = &m->entries[uses->data[i]];
        if (e->kind == ENTRY_TYPE)
            types[k->type_count++] = (struct lang_type){e->name, e->choice_count, e->choices};
    }
    k->types = types;
}

static void describe_ensures(const struct node *kernel, struct lang_kernel *k)
{
    for (const struct node *n = kernel->body->body; n && !k->has_ensures; n = n->next) {
        k->has_ensures = n->kind == N_ENSURES;
        k->ensures = n->loc;
    }
}

int lang_param_find(const struct lang_kernel *k, const char *name)
{
    const struct name_entry *found = find_name(&k->param_names, name);
    return found ? (int)found->number : -1;
}

const struct lang_kernel *lang_kernel(struct arena *a, const struct module *m, int index,
                                      const char *target)
{
    const struct entry *e = module_kernel_entry(m, index);
    struct lang_kernel *k = arena_new(a, struct lang_kernel);
    k->name = e->name;
    k->loc = e->loc;
    for (const struct node *n = e->node->attributes; n; n = n->next) {
        k->thread_level = k->thread_level || strcmp(n->text, "threads") == 0;
        if (strcmp(n->text, "target") == 0 && n->list && n->list->kind == N_NAME &&
            strncmp(n->list->text, "sm_", 3) == 0)
            k->target = n->list->text;
    }
    for (const struct node *p = e->node->params; p; p = p->next)
        k->param_count++;
    describe_types(a, m, &e->uses, k);
    describe_values(a, m, index, k, describe_params(a, e->node, k));
    describe_tunes(a, m, index, target, k);
    describe_ensures(e->node, k);
    return k;
}
