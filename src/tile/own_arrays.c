#include "tile/own_arrays.h"

#include "base/number_map.h"

enum { MOST_SEARCHED = 16 }; /* elements among which an index is looked for */

struct own_arrays {
    struct arena *arena;
    struct number_map assigned;  /* symbols that a statement other than their declaration assigns */
    struct number_map steady;    /* scalars that are constants once loops are unrolled */
    struct number_map wandering; /* arrays with an index that is not */
};

static bool has(const struct number_map *map, const struct sym *s)
{
    return number_map_find(map, (uintptr_t)s) != NULL;
}

static bool is_steady(const struct own_arrays *all, const struct expr *e)
{
    if (e->op == OP_REF)
        return e->sym->storage == ST_CONST || e->sym->has_value || has(&all->steady, e->sym);
    if (e->op == OP_LITERAL)
        return true;
    if (op_table[e->op].form == FORM_LEAF || !(op_table[e->op].flags & OP_PURE))
        return false;
    for (int i = 0; i < e->count; i++)
        if (!is_steady(all, e->args[i]))
            return false;
    return true;
}

static void note_assigned(void *user, struct stmt *s)
{
    struct own_arrays *all = user;
    if (s->kind == STMT_ASSIGN && s->target->sym)
        number_map_add_object(all->arena, &all->assigned, s->target->sym);
}

static void find_access(void *user, struct expr **at)
{
    struct own_arrays *all = user;
    const struct expr *e = *at;
    if (e->op != OP_ACCESS || e->sym->storage != ST_ARRAY)
        return;
    for (int i = 0; i < e->indices; i++)
        if (e->index[i].value && !is_steady(all, e->index[i].value))
            number_map_add_object(all->arena, &all->wandering, e->sym);
}

static void find_in_root(void *user, struct expr **root, bool is_target)
{
    (void)is_target;
    expr_walk(root, find_access, user);
}

static void look(void *user, struct stmt *s)
{
    struct own_arrays *all = user;
    if (s->kind == STMT_FOR && s->unroll == UNROLL_FULL)
        for (const struct stmt *i = s->init; i; i = i->next)
            if (i->kind == STMT_DECL)
                number_map_add_object(all->arena, &all->steady, i->sym);
    if (s->kind == STMT_DECL && s->sym->storage == ST_SCALAR && s->value &&
        !has(&all->assigned, s->sym) && is_steady(all, s->value))
        number_map_add_object(all->arena, &all->steady, s->sym);
    stmt_expressions(s, find_in_root, all);
}

struct own_arrays *own_arrays_find(struct arena *a, const struct kernel *k)
{
    struct own_arrays *all = arena_new(a, struct own_arrays);
    all->arena = a;
    stmt_walk(k->body, note_assigned, all);
    stmt_walk(k->body, look, all);
    return all;
}

bool own_arrays_in_memory(const struct own_arrays *all, const struct sym *s)
{
    const int64_t elements = type_elements(&s->type);
    return elements > ARRAY_MOST_REGISTERS || (elements > MOST_SEARCHED && has(&all->wandering, s));
}
