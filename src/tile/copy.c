/* Copies of statements and of whole kernels. A copy has its own symbols for all that it declares,
 * so a pass can change it and leave the original as it is. */
#include "tile/copy.h"

#include "base/number_map.h"

struct copier {
    struct kernel *to;
    struct number_map syms, exprs; /* copies by original; expressions may be shared */
};

static struct sym *sym_of(const struct copier *c, struct sym *s)
{
    const struct number_entry *known = number_map_find(&c->syms, (uintptr_t)s);
    return known ? (struct sym *)(uintptr_t)known->value : s;
}

static void add_sym(struct copier *c, const struct sym *s, struct sym *copy)
{
    bool added;
    number_map_entry(c->to->arena, &c->syms, (uintptr_t)s, &added)->value = (uintptr_t)copy;
}

static struct expr *copy_expr(struct copier *c, struct expr *e);

static void copy_children(struct copier *c, struct expr *copy)
{
    struct arena *a = c->to->arena;
    struct expr **args = copy->args;
    struct index *index = copy->index;
    if (copy->count > 0)
        copy->args = arena_array(a, struct expr *, copy->count);
    for (int i = 0; i < copy->count; i++)
        copy->args[i] = copy_expr(c, args[i]);
    if (copy->indices > 0)
        copy->index = arena_array(a, struct index, copy->indices);
    for (int i = 0; i < copy->indices; i++) {
        copy->index[i] = index[i];
        copy->index[i].value = copy_expr(c, index[i].value);
    }
    copy->otherwise = copy_expr(c, copy->otherwise);
}

static struct expr *copy_expr(struct copier *c, struct expr *e)
{
    bool added;
    if (!e)
        return NULL;
    struct number_entry *known = number_map_entry(c->to->arena, &c->exprs, (uintptr_t)e, &added);
    if (!added)
        return (struct expr *)(uintptr_t)known->value;
    struct expr *copy = arena_copy(c->to->arena, e, sizeof *e);
    known->value = (uintptr_t)copy;
    if (e->sym)
        copy->sym = sym_of(c, e->sym);
    copy_children(c, copy);
    return copy;
}

static struct sym *copy_sym(struct copier *c, const struct sym *s)
{
    struct kernel *k = c->to;
    struct sym *copy = arena_copy(k->arena, s, sizeof *s);
    copy->next = NULL;
    *k->last_symbol = copy;
    k->last_symbol = &copy->next;
    add_sym(c, s, copy);
    return copy;
}

static const struct role *copy_role(struct copier *c, const struct role *role)
{
    if (!role || !role->replica)
        return role;
    struct role *copy = arena_copy(c->to->arena, role, sizeof *role);
    copy->replica = sym_of(c, role->replica);
    return copy;
}

/* Copies a statement that a copy of a kernel or of a list needs. A symbol that the statement
 * declares gets a copy if it has none yet. */
static struct stmt *copy_stmt(struct copier *c, const struct stmt *s);

static struct stmt *copy_list(struct copier *c, const struct stmt *first)
{
    struct stmt *list = NULL, **at = &list;
    for (const struct stmt *s = first; s; s = s->next) {
        *at = copy_stmt(c, s);
        at = &(*at)->next;
    }
    return list;
}

static struct stmt *copy_stmt(struct copier *c, const struct stmt *s)
{
    struct stmt *copy = arena_copy(c->to->arena, s, sizeof *s);
    copy->next = NULL;
    if (s->kind == STMT_DECL && !number_map_find(&c->syms, (uintptr_t)s->sym)) {
        const char *name = kernel_unused_name(c->to, s->sym->name);
        struct sym *declared = copy_sym(c, s->sym);
        declared->name = name;
        declared->index = c->to->symbol_count++;
    }
    for (int i = 0; i < s->overs; i++)
        copy->over[i] = sym_of(c, s->over[i]);
    for (int i = 0; i < s->overs; i++)
        copy->bound[i] = copy_expr(c, s->bound[i]);
    if (s->sym)
        copy->sym = sym_of(c, s->sym);
    copy->barrier = copy_expr(c, s->barrier);
    copy->multicast = copy_expr(c, s->multicast);
    copy->role = copy_role(c, s->role);
    copy->init = copy_list(c, s->init);
    copy->target = copy_expr(c, s->target);
    copy->value = copy_expr(c, s->value);
    copy->condition = copy_expr(c, s->condition);
    copy->body = copy_list(c, s->body);
    copy->otherwise = copy_list(c, s->otherwise);
    copy->step = copy_list(c, s->step);
    return copy;
}

struct stmt *stmts_copy(struct kernel *k, const struct stmt *first)
{
    struct copier c = {.to = k};
    return copy_list(&c, first);
}

static void copy_view(struct copier *c, struct sym *s)
{
    for (int i = 0; i < MAX_RANK; i++) {
        s->dims[i] = copy_expr(c, s->dims[i]);
        s->strides[i] = copy_expr(c, s->strides[i]);
    }
    s->base_offset = copy_expr(c, s->base_offset);
    s->derived = copy_expr(c, s->derived);
    if (s->base)
        s->base = sym_of(c, s->base);
}

struct kernel *kernel_copy(const struct kernel *k)
{
    struct kernel *to = arena_copy(k->arena, k, sizeof *k);
    struct copier c = {.to = to};
    struct param **at = &to->params;
    to->symbols = NULL;
    to->last_symbol = &to->symbols;
    for (const struct sym *s = k->symbols; s; s = s->next)
        copy_sym(&c, s);
    for (struct sym *s = to->symbols; s; s = s->next)
        copy_view(&c, s);
    for (const struct param *p = k->params; p; p = p->next) {
        *at = arena_new(to->arena, struct param);
        (*at)->sym = sym_of(&c, p->sym);
        at = &(*at)->next;
    }
    for (int i = 0; i < 3; i++)
        to->grid[i] = copy_expr(&c, k->grid[i]);
    to->body = copy_list(&c, k->body);
    return to;
}
