/* Finds how much of a register tile is seen. Suppose that each element of a tile only ever moves,
 * unmixed with others, to its own place in other such tiles and in views. Then the elements beyond
 * the views' edges are never seen, and the products that are added to the tile leave them out
 * (exec_dot.c); their values are then arbitrary.
 *
 * The survey covers every statement of the list that declares the tile, and of the lists in it,
 * because no other statement can name it. The order of the statements does not matter, except
 * for the indices of the stores: these are computed before the first statement that may add to
 * the tile. */
#include "cpu/compile/compile.h"

enum { MOST_TILES = 8 };

struct survey {
    struct compiler *c;
    const struct sym *tile[MOST_TILES]; /* the first is the surveyed tile; its elements may move
                                         * to the others */
    bool declared[MOST_TILES];          /* the tile is declared in the list */
    int tiles;
    const struct expr *target[MOST_SEEN]; /* views that the elements are stored to */
    const struct stmt *stored[MOST_SEEN]; /* the statement of the list that contains each store */
    int targets;
    const struct stmt *at; /* the statement of the list that the walk is in */
    bool adds;             /* some product is added to the first tile */
    bool refused;
};

static bool names(const struct survey *v, const struct expr *e)
{
    int count = 0;
    for (int i = 0; i < v->tiles; i++)
        count += expr_mentions(e, v->tile[i]);
    return count > 0;
}

/* Returns whether each element of the tiles contributes only to its own place in e, and no
 * element value makes e fault. */
static bool stays(const struct survey *v, const struct expr *e)
{
    struct operation o;
    if (!names(v, e) || e->op == OP_REF)
        return true;
    bool each = e->op == OP_CAST ||
                (compile_describe_operation(v->c, e, &o) && !compile_needs_divisor_check(v->c, e));
    bool adds = e->op == OP_DOT && e->count == 3;
    if (!each && !adds)
        return false;
    for (int i = 0; i < e->count; i++) {
        const struct expr *x = e->args[i];
        if (names(v, x) &&
            !((each || i == 2) && type_same_shape(&x->type, &e->type) && stays(v, x)))
            return false;
    }
    return true;
}

static void survey_tile(struct survey *v, const struct sym *tile, const struct expr *value)
{
    int i = 0;
    while (i < v->tiles && v->tile[i] != tile)
        i++;
    v->adds |= i == 0 && value && value->op == OP_DOT;
    if (!value || !names(v, value))
        return;
    if (i == MOST_TILES || !type_same_shape(&tile->type, &value->type) || !stays(v, value)) {
        v->refused = true;
    } else if (i == v->tiles) {
        v->declared[i] = false;
        v->tile[v->tiles++] = tile;
    }
}

static bool is_slice_of_view(const struct expr *e)
{
    if (e->op != OP_ACCESS || e->sym->storage != ST_VIEW || e->type.rank != 2)
        return false;
    for (int i = 0; i < e->indices; i++)
        if (e->index[i].kind != (i < e->indices - 2 ? IX_ELEMENT : IX_SLICE))
            return false;
    return e->indices >= 2;
}

static void survey_store(struct survey *v, const struct expr *target, const struct expr *value)
{
    if (names(v, target))
        v->refused = true;
    if (!names(v, value))
        return;
    if (v->targets == MOST_SEEN || !is_slice_of_view(target) ||
        !type_same_shape(&target->type, &value->type) || !stays(v, value)) {
        v->refused = true;
    } else {
        v->target[v->targets] = target;
        v->stored[v->targets++] = v->at;
    }
}

static void survey_other(void *user, struct expr **root, bool is_target)
{
    struct survey *v = user;
    (void)is_target;
    v->refused |= names(v, *root);
}

static void survey_stmt(void *user, struct stmt *s)
{
    struct survey *v = user;
    const struct expr *value = s->value;
    v->refused |= v->c->seen_budget-- <= 0;
    if (v->refused)
        return;
    for (int i = 0; i < v->tiles; i++)
        v->declared[i] |= s->kind == STMT_DECL && s->sym == v->tile[i];
    if (s->kind == STMT_DECL && s->sym->storage == ST_REG)
        survey_tile(v, s->sym, value);
    else if (s->kind == STMT_ASSIGN && s->target->op == OP_REF && s->target->sym->storage == ST_REG)
        survey_tile(v, s->target->sym, value);
    else if (s->kind == STMT_ASSIGN)
        survey_store(v, s->target, value);
    else if (s->kind == STMT_EFFECT && op_is_atomic(value->op) && value->count == 2)
        survey_store(v, value->args[0], value->args[1]);
    else
        stmt_expressions(s, survey_other, v);
}

/* Calls visit on the statement and those nested in it, not on those that follow it. */
static void walk_one(const struct stmt *s, void (*visit)(void *user, struct stmt *s), void *user)
{
    struct stmt one = *s;
    one.next = NULL;
    stmt_walk(&one, visit, user);
}

/* Surveys a list. false: all of the tile is seen, or no product is added to it. */
static bool survey_list(struct survey *v, const struct stmt *list)
{
    int known = 0;
    while (known < v->tiles && !v->refused) { /* until no more tiles join */
        known = v->tiles;
        v->targets = 0;
        for (v->at = list; v->at && !v->refused; v->at = v->at->next)
            walk_one(v->at, survey_stmt, v);
    }
    for (int i = 0; i < v->tiles; i++)
        v->refused |= !v->declared[i];
    return v->adds && !v->refused;
}

/* --- indices of stores --- */

struct change {
    const struct sym *sym;
    bool found;
};

static void find_change(void *user, struct stmt *s)
{
    struct change *change = user;
    change->found |= (s->kind == STMT_DECL && s->sym == change->sym) ||
                     (s->kind == STMT_ASSIGN && s->target->sym == change->sym);
}

/* Returns whether e cannot fault and has the same value before `from` as in all statements up to
 * `end`. */
static bool is_fixed(const struct expr *e, const struct stmt *from, const struct stmt *end)
{
    struct change change = {.sym = e->sym};
    switch (e->op) {
    case OP_LITERAL:
    case OP_BLOCK:
    case OP_GRID: return true;
    case OP_REF:
        for (const struct stmt *s = from; s; s = s == end ? NULL : s->next)
            walk_one(s, find_change, &change);
        return !change.found;
    case OP_ADD:
    case OP_SUB:
    case OP_MUL: return is_fixed(e->args[0], from, end) && is_fixed(e->args[1], from, end);
    case OP_CAST: return is_fixed(e->args[0], from, end);
    default: return false;
    }
}

static bool has_fixed_places(const struct survey *v, const struct stmt *from)
{
    for (int i = 0; i < v->targets; i++)
        for (int axis = 0; axis < v->target[i]->indices; axis++)
            if (!is_fixed(v->target[i]->index[axis].value, from, v->stored[i]))
                return false;
    return true;
}

/* --- the whole --- */

void compile_seen_survey(struct compiler *c, const struct stmt *s)
{
    struct survey v = {.c = c, .tile = {s->sym}, .tiles = 1};
    struct slot *slot = compile_slot_of(c, s->sym);
    slot->seen = NULL;
    if (c->plain || c->lanes > 1 || !slot->gets_dot || s->sym->storage != ST_REG ||
        s->sym->type.rank != 2)
        return;
    const struct stmt *from =
        s->value && s->value->op == OP_DOT ? s : compile_next_mention(s, s->sym);
    if (!from || !survey_list(&v, c->list) || !has_fixed_places(&v, from))
        return;
    struct pending_seen p = {.from = from, .tile = s->sym, .count = v.targets};
    memcpy(p.target, v.target, sizeof p.target);
    vec_push(c->arena, &c->pending, p);
    compile_seen_place(c, s);
}

void compile_seen_place(struct compiler *c, const struct stmt *s)
{
    for (size_t i = c->pending.count; i-- > 0;) {
        const struct pending_seen *p = &c->pending.data[i];
        if (p->from != s)
            continue;
        struct tile_seen *seen = arena_new(c->arena, struct tile_seen);
        seen->count = p->count;
        for (int t = 0; t < p->count; t++)
            seen->to[t] = compile_access_new(c, p->target[t]);
        compile_slot_of(c, p->tile)->seen = seen;
        c->pending.data[i] = c->pending.data[--c->pending.count];
    }
}
