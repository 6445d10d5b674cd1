/* Splitting: a tile that is read only in parts becomes one tile for each part, for the CPU engine.
 *
 *     shared T sa[3][M][64];                        shared T sa_0[3][M][32], sa_1[3][M][32];
 *     async sa[s] = A[i +: M][p +: 64];        =>   async sa_0[s] = A[i +: M][p +: 32];
 *                                                   async sa_1[s] = A[i +: M][p + 32 +: 32];
 *     reg T r[M][32] = sa[s][0 +: M][32 +: 32];     reg T r[M][32] = sa_1[s];
 *
 * On a GPU such a tile saves barriers. The engine does not fill a tile that products read whole: it
 * packs the part of the view. So it must know which tile shows which part. A tile is split if
 *
 *   - it is filled whole, or stage by stage, from parts of read-only views alone;
 *   - all reads take parts of one width along one of its two last axes, at constant places that are
 *     multiples of this width. */
#include "base/number_map.h"
#include "tile/passes.h"

enum { MOST_PARTS = 8 };

struct tile {
    struct sym *sym;
    bool refused;
    int axis; /* the parts' axis, if width > 0 */
    int64_t width;
    struct sym *part[MOST_PARTS];
};

struct splitting {
    struct kernel *kernel;
    struct number_map tiles; /* struct tile, by symbol */
};

static struct tile *tile_of(const struct splitting *s, const struct sym *sym)
{
    const struct number_entry *known = sym ? number_map_find(&s->tiles, (uintptr_t)sym) : NULL;
    return known ? (struct tile *)(uintptr_t)known->value : NULL;
}

static void note_dot(void *user, struct expr **at)
{
    bool *found = user;
    *found |= (*at)->op == OP_DOT;
}

static void find_dot(void *user, struct stmt *st)
{
    expr_walk(&st->value, note_dot, user);
}

static void find_tiles(struct splitting *s)
{
    struct arena *a = s->kernel->arena;
    bool added;
    for (struct sym *sym = s->kernel->symbols; sym; sym = sym->next) {
        bool is_tile = sym->storage == ST_SHARED || sym->storage == ST_REG;
        if (!is_tile || sym->type.rank < 2 || sym->offset >= 0)
            continue;
        struct tile *t = arena_new(a, struct tile);
        t->sym = sym;
        number_map_entry(a, &s->tiles, (uintptr_t)sym, &added)->value = (uintptr_t)t;
    }
}

/* --- how the kernel uses the tiles --- */

/* Returns whether `count` elements select a stage of the tile. */
static bool selects_stage(const struct expr *e, int count)
{
    for (int i = 0; i < count; i++)
        if (e->index[i].kind != IX_ELEMENT)
            return false;
    return count == e->sym->type.rank - 2;
}

/* Returns whether e has two slices of a read-only view, and single elements along its other axes. */
static bool is_view_part(const struct expr *e)
{
    int slices = 0;
    if (e->op != OP_ACCESS || e->sym->storage != ST_VIEW || !e->sym->is_const || e->otherwise)
        return false;
    for (int i = 0; i < e->indices; i++) {
        const struct index *index = &e->index[i];
        slices += index->kind == IX_SLICE && !index->promised;
        if (index->kind != IX_ELEMENT && index->kind != IX_SLICE)
            return false;
    }
    return slices == 2 && e->type.rank == 2;
}

static bool fills(const struct expr *target, const struct expr *value)
{
    return selects_stage(target, target->indices) && is_view_part(value) &&
           type_same_shape(&target->type, &value->type) && target->type.dtype == value->type.dtype;
}

static int64_t literal_start(const struct index *index)
{
    bool known = index->kind == IX_SLICE && index->value->op == OP_LITERAL;
    return known ? index->value->literal.i : -1;
}

/* Notes a read of the part along one axis; refuses any other read. */
static void note_read(struct tile *t, const struct expr *e)
{
    int rank = t->sym->type.rank, axis = -1;
    const int64_t *extent = &t->sym->type.extent[rank - 2];
    bool alike =
        e->op == OP_ACCESS && e->indices == rank && !e->otherwise && selects_stage(e, rank - 2);
    for (int i = 0; alike && i < 2; i++) {
        const struct index *index = &e->index[rank - 2 + i];
        int64_t start = literal_start(index), width = index->extent;
        if (index->kind == IX_ALL || (start == 0 && width == extent[i]))
            continue;
        alike = axis < 0 && start >= 0 && start % width == 0 && start + width <= extent[i] &&
                extent[i] % width == 0 && extent[i] / width <= MOST_PARTS;
        axis = i;
    }
    t->refused |= !alike || axis < 0 || (t->width > 0 && t->axis != axis) ||
                  (t->width > 0 && e->index[rank - 2 + axis].extent != t->width);
    if (t->refused)
        return;
    t->axis = axis;
    t->width = e->index[rank - 2 + axis].extent;
}

static void survey_value(struct splitting *s, const struct expr *e)
{
    if (!e)
        return;
    struct tile *t = tile_of(s, e->sym);
    if (t)
        note_read(t, e);
    for (int i = 0; i < expr_children(e); i++)
        survey_value(s, expr_child(e, i));
}

static void survey_target(struct splitting *s, const struct stmt *st)
{
    struct tile *t = tile_of(s, st->target->sym);
    if (t)
        t->refused |= !fills(st->target, st->value);
    for (int i = 0; i < st->target->indices; i++)
        survey_value(s, st->target->index[i].value);
}

static void survey(void *user, struct stmt *st)
{
    struct splitting *s = user;
    if (st->kind == STMT_ENSURES)
        return;
    struct tile *t = st->kind == STMT_DECL && st->value ? tile_of(s, st->sym) : NULL;
    if (t)
        t->refused |= t->sym->type.rank != 2 || !is_view_part(st->value) ||
                      !type_same_shape(&t->sym->type, &st->value->type) ||
                      t->sym->type.dtype != st->value->type.dtype;
    survey_value(s, st->value);
    survey_value(s, st->condition);
    if (st->target)
        survey_target(s, st);
}

/* --- the parts --- */

static int64_t parts_of(const struct tile *t)
{
    return t->refused || t->width == 0
               ? 1
               : t->sym->type.extent[t->sym->type.rank - 2 + t->axis] / t->width;
}

static void make_parts(struct splitting *s, struct tile *t)
{
    struct kernel *k = s->kernel;
    for (int i = 0; i < parts_of(t); i++) {
        struct type type = t->sym->type;
        type.extent[type.rank - 2 + t->axis] = t->width;
        const char *name = kernel_unused_name(k, arena_printf(k->arena, "%s_%d", t->sym->name, i));
        t->part[i] = sym_new(k, name, t->sym->storage, type, t->sym->loc);
        t->part[i]->written = t->sym->written;
        t->part[i]->is_const = t->sym->is_const;
        t->part[i]->staged = t->sym->staged;
    }
}

/* Returns a part of a part of a view. */
static struct expr *view_part(struct kernel *k, const struct tile *t, const struct expr *value,
                              int part)
{
    struct expr *e = expr_copy(k, value);
    int axis = 0;
    e->type.extent[t->axis] = t->width;
    for (int i = 0; i < e->indices; i++) {
        struct index *index = &e->index[i];
        if (index->kind != IX_SLICE || axis++ != t->axis)
            continue;
        struct loc loc = index->value->loc;
        index->extent = t->width;
        if (part > 0)
            index->value =
                expr_binary(k, OP_ADD, type_scalar(DT_I64), loc, expr_cast(k, index->value, DT_I64),
                            expr_int(k, DT_I64, part * t->width, loc));
    }
    return e;
}

/* Returns the statement, which declares or fills the tile, for one of its parts. */
static struct stmt *statement_of_part(struct splitting *s, const struct stmt *st,
                                      const struct tile *t, int part)
{
    struct kernel *k = s->kernel;
    struct stmt *own = arena_copy(k->arena, st, sizeof *st);
    if (st->kind == STMT_DECL)
        own->sym = t->part[part];
    if (st->value)
        own->value = view_part(k, t, st->value, part);
    if (st->target) {
        own->target = expr_copy(k, st->target);
        own->target->sym = t->part[part];
        own->target->type.extent[t->axis] = t->width;
    }
    return own;
}

static void replace_read(void *user, struct expr **at)
{
    struct splitting *s = user;
    struct expr *e = *at;
    struct tile *t = e->op == OP_ACCESS ? tile_of(s, e->sym) : NULL;
    if (!t || parts_of(t) == 1)
        return;
    int stages = t->sym->type.rank - 2;
    struct sym *part = t->part[literal_start(&e->index[stages + t->axis]) / t->width];
    struct expr *own = stages > 0 || part->storage == ST_SHARED
                           ? expr_access(s->kernel, part, stages, e->loc)
                           : expr_ref(s->kernel, part, e->loc);
    for (int i = 0; i < stages; i++)
        own->index[i] = e->index[i];
    own->type = e->type;
    *at = own;
}

/* Replaces reads of tiles, but not the tile that a statement fills. */
static void replace_reads(void *user, struct expr **root, bool is_target)
{
    struct splitting *s = user;
    struct expr *e = *root;
    struct tile *t = is_target ? tile_of(s, e->sym) : NULL;
    if (!t || parts_of(t) == 1)
        expr_walk(root, replace_read, s);
    for (int i = 0; t && parts_of(t) > 1 && i < e->indices; i++)
        expr_walk(&e->index[i].value, replace_read, s);
}

static void split_list(struct splitting *s, struct stmt **at)
{
    for (; *at; at = &(*at)->next) {
        struct stmt *st = *at, *rest = st->next;
        if (st->kind == STMT_ENSURES)
            continue;
        stmt_expressions(st, replace_reads, s);
        split_list(s, &st->init);
        split_list(s, &st->body);
        split_list(s, &st->otherwise);
        split_list(s, &st->step);
        const struct tile *t = tile_of(s, st->kind == STMT_DECL ? st->sym
                                          : st->target          ? st->target->sym
                                                                : NULL);
        for (int i = 0; t && parts_of(t) > 1 && i < parts_of(t); i++) {
            *at = statement_of_part(s, st, t, i);
            (*at)->next = rest;
            at = i + 1 < parts_of(t) ? &(*at)->next : at;
        }
    }
}

/* Removes the symbols of split tiles: no statement declares them any more, so they get no place. */
static void remove_split(struct splitting *s)
{
    struct kernel *k = s->kernel;
    struct sym **at = &k->symbols;
    while (*at) {
        const struct tile *t = tile_of(s, *at);
        if (t && parts_of(t) > 1)
            *at = (*at)->next;
        else
            at = &(*at)->next;
    }
    k->last_symbol = at;
}

void pass_split(struct pass_context *c)
{
    struct splitting s = {.kernel = c->kernel};
    bool splits = false, multiplies = false;
    if (c->sm != 0 || kernel_thread_level(c->kernel))
        return;
    stmt_walk(c->kernel->body, find_dot, &multiplies);
    if (!multiplies)
        return;
    find_tiles(&s);
    stmt_walk(c->kernel->body, survey, &s);
    for (struct sym *sym = c->kernel->symbols; sym; sym = sym->next) {
        struct tile *t = tile_of(&s, sym);
        splits |= t && parts_of(t) > 1;
        if (t && parts_of(t) > 1)
            make_parts(&s, t);
    }
    if (!splits)
        return;
    split_list(&s, &c->kernel->body);
    remove_split(&s);
}
