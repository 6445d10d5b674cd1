/* Register tiles of index arithmetic: integers computed from coordinates and scalars. If such a tile is wanted in another
 * layout than its own, it is computed again, since that takes fewer instructions than an exchange (Briggs, Cooper, Torczon,
 * "Rematerialization", 1992). */
#include "emit/emit_fragment.h"

/* A scalar in a tile's definition, and its value there. */
struct index_leaf {
    const struct sym *sym;
    struct thread_operand was;
};

struct index_tile {
    const struct expr *value;
    VEC(struct index_leaf) leaves;
};

static const struct index_tile *definition_of(const struct emit *m, const struct sym *s)
{
    const struct number_entry *found = number_map_find(&m->index_tiles, (uintptr_t)s);
    return found ? (const struct index_tile *)(uintptr_t)found->value : NULL;
}

/* Gives the operand of a scalar symbol that the program can change. Returns false if the symbol has none. */
static bool scalar_of(struct emit *m, const struct sym *s, struct thread_operand *o)
{
    const struct variable *v = emit_variable(m, s);
    if (v && v->count == 1)
        *o = v->slots[0].o;
    return v && v->count == 1;
}

static bool is_current(struct emit *m, const struct index_tile *t)
{
    for (size_t i = 0; i < t->leaves.count; i++) {
        struct thread_operand now;
        if (!scalar_of(m, t->leaves.data[i].sym, &now) ||
            !thread_same_operand(&now, &t->leaves.data[i].was))
            return false;
    }
    return true;
}

/* Finds the scalars in index arithmetic. Returns false if the expression is none. */
static bool find_leaves(struct emit *m, const struct expr *e, struct index_tile *t)
{
    const struct index_tile *inner;
    struct index_leaf leaf = {.sym = e->sym};
    const enum dtype d = e->type.dtype;
    if (!dtype_is_int(d) && d != DT_BOOL)
        return false;
    switch (e->op) {
    case OP_LITERAL:
    case OP_BLOCK:
    case OP_GRID:
    case OP_IOTA: return true;
    case OP_REF:
        if (e->sym->storage == ST_REG) {
            inner = definition_of(m, e->sym);
            if (!inner || !is_current(m, inner))
                return false;
            for (size_t i = 0; i < inner->leaves.count; i++)
                vec_push(m->arena, &t->leaves, inner->leaves.data[i]);
            return true;
        }
        if (scalar_of(m, e->sym, &leaf.was))
            vec_push(m->arena, &t->leaves, leaf);
        return e->type.rank == 0;
    case OP_BROADCAST:
    case OP_CAST:
    case OP_WHERE: break;
    default:
        if (!op_is_elementwise(e->op))
            return false;
    }
    for (int i = 0; i < e->count; i++)
        if (!find_leaves(m, e->args[i], t))
            return false;
    return true;
}

static void note_assigned(void *user, struct stmt *s)
{
    struct emit *m = user;
    bool added;
    if (s->kind == STMT_ASSIGN)
        number_map_entry(m->arena, &m->assigned, (uintptr_t)s->target->sym, &added);
}

/* Returns whether a statement assigns to the symbol. */
static bool is_assigned(struct emit *m, const struct sym *s)
{
    if (!m->knows_assigned)
        stmt_walk(m->kernel->body, note_assigned, m);
    m->knows_assigned = true;
    return number_map_find(&m->assigned, (uintptr_t)s) != NULL;
}

void emit_note_index(struct emit *m, const struct sym *s, const struct expr *value)
{
    struct index_tile *t = arena_new(m->arena, struct index_tile);
    bool added;
    if (!value || is_assigned(m, s) || value->type.rank == 0 || !find_leaves(m, value, t))
        t = NULL;
    else
        t->value = value;
    number_map_entry(m->arena, &m->index_tiles, (uintptr_t)s, &added)->value = (uintptr_t)t;
}

const struct expr *emit_index_value(struct emit *m, const struct expr *e)
{
    const bool names = e->op == OP_REF || e->op == OP_ACCESS;
    const struct index_tile *t =
        names && e->sym->storage == ST_REG ? definition_of(m, e->sym) : NULL;
    for (int i = 0; i < e->indices; i++)
        if (e->index[i].kind != IX_ALL)
            return NULL;
    return t && is_current(m, t) && type_same_shape(&t->value->type, &e->type) &&
                   t->value->type.dtype == e->type.dtype
               ? t->value
               : NULL;
}
