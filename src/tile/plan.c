/* Assigns each shared tile its place in memory.
 *
 * A tile lives from its declaration to the end of its scope, or to a free() in the same list of
 * statements. Tiles whose lives do not overlap may lie on the same bytes if a barrier separates the
 * last use of the earlier tile from the first use of the later one, on every path, also around
 * loops. If the program has no such barrier, the pass adds `sync() added` before the later tile's
 * declaration, or before the pipeline with that declaration. If that is not possible, the tiles are
 * kept apart: not all threads would get to the barrier, it would be in a pipeline, or a copy into
 * the earlier tile may still be in flight.
 *
 * Tiles are placed in the order of their declarations, each at the lowest free offset. at(…) is
 * kept as written. A tile that a pipeline stages lives as long as the pipeline, because the
 * copies for the next iteration run during this one. */
#include "base/name_table.h"
#include "base/text.h"
#include "tile/passes.h"

#include <stdlib.h>

enum {
    ALIGNMENT = 128,   /* bytes: required by bulk copies; also a row of all banks */
    SWIZZLED = 1024,   /* bytes after which the swizzles of tensor copies and products repeat */
    MOST_OVERLAID = 64 /* tiles after the first 64 are kept apart from all others */
};

/* A set of tiles among the first MOST_OVERLAID. */
typedef uint64_t tile_set;

/* A statement and the statement around it. */
struct place {
    struct stmt *stmt, **link; /* link: the pointer to stmt in the list */
    const struct place *outer; /* NULL: stmt is in the kernel's own list */
    int number;                /* in program order, from 1 */
};

struct tile {
    struct sym *sym;
    int64_t bytes, alignment;
    bool fixed;                /* at(…) */
    int begin, end;            /* lives in statements begin <= n < end; end 0: still alive */
    const struct place *place; /* its declaration */
    tile_set apart;            /* must not lie on the same bytes */
    tile_set shares;           /* lies on some of the same bytes, with the present offsets */
    tile_set unordered;        /* those of `shares` that were used before, with no barrier since */
    tile_set under_way;        /* those of `shares` into which a copy may still be in flight */
};

/* Tiles used since the last barrier, and tiles into which a copy may be in flight. */
struct state {
    tile_set used, copied;
};

/* The state after one iteration of a loop that starts with an empty state. */
struct turn {
    const struct stmt *loop;
    struct state state;
};

struct plan {
    struct kernel *kernel;
    int *number_of; /* by sym->index: number of the tile + 1 */
    int *order;     /* storage for the numbers of all tiles */
    VEC(struct tile) tiles;
    struct name_table turns; /* by the address of the loop; object: a struct turn */
    struct state *state;     /* at the expression being visited */
    bool recording;          /* record unordered tiles */
    int statements;          /* number of statements so far */
    bool returns;            /* the kernel has a `return` */
    bool roles;              /* tiles live as long as the block, because roles run side by side */
};

static tile_set bit(int tile)
{
    return tile >= 0 && tile < MOST_OVERLAID ? (tile_set)1 << tile : 0;
}

static int tile_of(const struct plan *p, const struct sym *s)
{
    return s->storage == ST_SHARED ? p->number_of[s->index] - 1 : -1;
}

static bool is_pipeline(const struct stmt *s)
{
    return s->kind == STMT_FOR && s->stages > 0;
}

/* --- lives --- */

static int64_t alignment_of(const struct plan *p, const struct sym *s)
{
    return p->roles && s->storage == ST_SHARED ? SWIZZLED : ALIGNMENT;
}

static void begin_life(struct plan *p, const struct place *place)
{
    struct sym *s = place->stmt->sym;
    bool staged = s->staged && place->outer && is_pipeline(place->outer->stmt);
    struct tile tile = {.sym = s,
                        .bytes = type_bytes(&s->type),
                        .alignment = alignment_of(p, s),
                        .fixed = s->offset >= 0,
                        .begin = staged ? place->outer->number : place->number,
                        .place = place};
    vec_push(p->kernel->arena, &p->tiles, tile);
    p->number_of[s->index] = (int)p->tiles.count;
}

static void end_life(struct plan *p, size_t i)
{
    struct tile *tile = &p->tiles.data[i];
    if (tile->end == 0)
        tile->end = p->statements + 1;
}

/* Ends the life of the tile of s, which began in this list. The tiles of the list are those from
 * `first` on. */
static void end_freed(struct plan *p, size_t first, const struct sym *s)
{
    int i = tile_of(p, s);
    if (i >= 0 && (size_t)i >= first && !s->staged)
        end_life(p, (size_t)i);
}

static const struct sym *freed(const struct stmt *s)
{
    if (s->kind != STMT_EFFECT || s->value->op != OP_FREE)
        return NULL;
    return s->value->count > 0 ? s->value->args[0]->sym : s->value->sym;
}

static void find_lives(struct plan *p, struct stmt **first, const struct place *outer)
{
    size_t first_tile = p->tiles.count;
    for (struct stmt **link = first; *link; link = &(*link)->next) {
        struct stmt *s = *link;
        struct place *place = arena_new(p->kernel->arena, struct place);
        *place = (struct place){s, link, outer, ++p->statements};
        if (s->kind == STMT_DECL &&
            (s->sym->storage == ST_SHARED || s->sym->storage == ST_MBARRIER))
            begin_life(p, place);
        if (freed(s))
            end_freed(p, first_tile, freed(s));
        p->returns |= s->kind == STMT_RETURN;
        find_lives(p, &s->body, place);
        find_lives(p, &s->otherwise, place);
    }
    for (size_t i = first_tile; i < p->tiles.count; i++)
        end_life(p, i);
}

/* --- placing --- */

static bool meet(const struct tile *a, const struct tile *b)
{
    return a->begin < b->end && b->begin < a->end;
}

static bool overlap(const struct tile *a, const struct tile *b)
{
    return a->sym->offset < b->sym->offset + b->bytes && b->sym->offset < a->sym->offset + a->bytes;
}

static bool may_share(const struct plan *p, int a, int b)
{
    const struct tile *first = &p->tiles.data[a];
    return !p->roles && bit(a) && bit(b) && !(first->apart & bit(b)) &&
           !meet(first, &p->tiles.data[b]);
}

static int64_t aligned(int64_t offset, int64_t alignment)
{
    return (offset + alignment - 1) / alignment * alignment;
}

/* Tiles in the order of their offsets. The first `packed` of them leave no bytes free below
 * packed_end. */
struct placed {
    int *tiles;
    int count, packed;
    int64_t packed_end;
};

/* Returns the lowest place for the tile among those already placed. The search ends at the first
 * gap that fits: no tile after it can be in the way. */
static int64_t lowest_place(const struct plan *p, int tile, const struct placed *placed)
{
    bool shares = bit(tile) != 0;
    int64_t alignment = p->tiles.data[tile].alignment;
    int64_t offset = shares ? 0 : aligned(placed->packed_end, alignment);
    for (int i = shares ? 0 : placed->packed; i < placed->count; i++) {
        const struct tile *other = &p->tiles.data[placed->tiles[i]];
        if (may_share(p, tile, placed->tiles[i]) || other->sym->offset + other->bytes <= offset)
            continue;
        if (offset + p->tiles.data[tile].bytes <= other->sym->offset)
            break;
        offset = aligned(other->sym->offset + other->bytes, alignment);
    }
    return offset;
}

static void insert_by_offset(const struct plan *p, struct placed *placed, int tile)
{
    int at = placed->count++, *tiles = placed->tiles;
    for (; at > 0 && p->tiles.data[tiles[at - 1]].sym->offset > p->tiles.data[tile].sym->offset;
         at--)
        tiles[at] = tiles[at - 1];
    tiles[at] = tile;
    if (at < placed->packed) { /* the new tile shares bytes with the packed ones */
        placed->packed = 0;
        placed->packed_end = 0;
    }
}

static void count_packed(const struct plan *p, struct placed *placed)
{
    for (; placed->packed < placed->count; placed->packed++) {
        const struct tile *next = &p->tiles.data[placed->tiles[placed->packed]];
        int64_t end = aligned(next->sym->offset + next->bytes, ALIGNMENT);
        if (next->sym->offset > placed->packed_end)
            break;
        placed->packed_end = end > placed->packed_end ? end : placed->packed_end;
    }
}

static void place_tiles(struct plan *p)
{
    int tiles = (int)p->tiles.count;
    struct placed placed = {.tiles = p->order};
    for (int i = 0; i < tiles; i++)
        if (p->tiles.data[i].fixed)
            insert_by_offset(p, &placed, i);
    for (int i = 0; i < tiles; i++) {
        struct tile *tile = &p->tiles.data[i];
        if (tile->fixed)
            continue;
        count_packed(p, &placed);
        tile->sym->offset = lowest_place(p, i, &placed);
        insert_by_offset(p, &placed, i);
    }
    for (int i = 0; i < tiles; i++) {
        struct tile *tile = &p->tiles.data[i];
        tile->shares = 0;
        for (int j = 0; j < tiles && j < MOST_OVERLAID; j++)
            if (i != j && overlap(tile, &p->tiles.data[j]))
                tile->shares |= bit(j);
    }
}

/* --- tiles used since the last barrier --- */

static void touch(struct plan *p, const struct sym *s)
{
    int i = tile_of(p, s);
    if (i < 0)
        return;
    struct tile *tile = &p->tiles.data[i];
    if (p->recording) {
        tile->unordered |= tile->shares & p->state->used;
        tile->under_way |= tile->shares & p->state->copied;
    }
    p->state->used |= bit(i);
}

static void touch_expr(void *user, struct expr **at)
{
    if ((*at)->op == OP_ACCESS && (*at)->sym->storage == ST_SHARED)
        touch(user, (*at)->sym);
}

static void touch_root(void *user, struct expr **root, bool is_target)
{
    (void)is_target;
    expr_walk(root, touch_expr, user);
}

/* Begins the life of a tile. Tiles that are still being copied must not share its bytes, even if
 * a wait follows. */
static void begin_use(struct plan *p, struct stmt *s, const struct state *state)
{
    struct tile *tile = &p->tiles.data[tile_of(p, s->sym)];
    if (p->recording)
        tile->under_way |= tile->shares & state->copied;
    if (s->value)
        touch(p, s->sym);
}

static void flow_list(struct plan *p, struct stmt *first, struct state *state);

static struct state either(struct state a, struct state b)
{
    return (struct state){a.used | b.used, a.copied | b.copied};
}

static void flow_effect(struct plan *p, struct stmt *s, struct state *state)
{
    int64_t groups;
    if (s->value->op == OP_SYNC) {
        state->used = 0;
    } else if (s->value->op == OP_ASYNC_WAIT && eval_int(s->value->args[0], NULL, &groups) &&
               groups == 0) {
        state->used |= state->copied; /* other threads still need a barrier */
        state->copied = 0;
    } else if (s->value->op != OP_FREE) {
        stmt_expressions(s, touch_root, p);
    }
}

static void flow_condition(struct plan *p, struct stmt *s, struct state *state)
{
    p->state = state;
    stmt_expressions(s, touch_root, p);
}

static void flow_turn(struct plan *p, struct stmt *s, struct state *state)
{
    if (!s->is_do)
        flow_condition(p, s, state);
    flow_list(p, s->body, state);
    flow_list(p, s->step, state);
    if (s->is_do)
        flow_condition(p, s, state);
}

struct mentions {
    struct plan *plan;
    struct state all;
    bool jumps; /* break or continue: they may skip barriers */
};

static void mention(void *user, struct stmt *s)
{
    struct mentions *m = user;
    struct state *outer = m->plan->state;
    m->plan->state = &m->all;
    stmt_expressions(s, touch_root, m->plan);
    m->plan->state = outer;
    if (s->kind == STMT_DECL)
        m->all.used |= bit(tile_of(m->plan, s->sym));
    if (s->kind == STMT_ASYNC_COPY)
        m->all.copied |= bit(tile_of(m->plan, s->target->sym));
    m->jumps |= s->kind == STMT_BREAK || s->kind == STMT_CONTINUE;
}

/* Returns the state after one iteration that starts with an empty state. It is computed once in
 * a run for each loop, inner loops first, so the cost of a nest grows only with its depth. */
static struct state turn_from_nothing(struct plan *p, struct stmt *s)
{
    const struct name_entry *found = name_table_find(&p->turns, (const char *)&s, sizeof s);
    if (found)
        return ((const struct turn *)found->object)->state;
    bool recording = p->recording;
    struct turn *turn = arena_new(p->kernel->arena, struct turn);
    turn->loop = s;
    p->recording = false;
    flow_turn(p, s, &turn->state);
    struct mentions m = {.plan = p};
    stmt_walk(s->body, mention, &m);
    if (m.jumps)
        turn->state = either(turn->state, m.all);
    p->recording = recording;
    name_table_add(&p->turns, (const char *)&turn->loop, sizeof turn->loop)->object = turn;
    return turn->state;
}

/* Follows a loop. Each iteration begins with the state before the loop or the state that an
 * earlier iteration left. An iteration adds to that state or removes from it; but a wait may
 * turn a copy in flight into a use, so tiles of both kinds count as used from the start. After
 * the last iteration the condition is evaluated once more. */
static void flow_loop(struct plan *p, struct stmt *s, struct state *state)
{
    flow_list(p, s->init, state);
    *state = either(*state, turn_from_nothing(p, s));
    state->used |= state->copied;
    struct state end = *state;
    flow_turn(p, s, &end);
    *state = either(*state, end);
    flow_condition(p, s, state);
}

static void flow_statement(struct plan *p, struct stmt *s, struct state *state)
{
    p->state = state;
    switch (s->kind) {
    case STMT_EFFECT: flow_effect(p, s, state); break;
    case STMT_FOR:
    case STMT_WHILE: flow_loop(p, s, state); break;
    case STMT_BLOCK: flow_list(p, s->body, state); break;
    case STMT_IF: {
        stmt_expressions(s, touch_root, p);
        struct state second = *state;
        flow_list(p, s->body, state);
        flow_list(p, s->otherwise, &second);
        *state = either(*state, second);
        break;
    }
    default:
        stmt_expressions(s, touch_root, p);
        if (s->kind == STMT_DECL && s->sym->storage == ST_SHARED)
            begin_use(p, s, state);
        if (s->kind == STMT_ASYNC_COPY)
            state->copied |= bit(tile_of(p, s->target->sym));
        break;
    }
}

static void flow_list(struct plan *p, struct stmt *first, struct state *state)
{
    for (struct stmt *s = first; s; s = s->next)
        flow_statement(p, s, state);
}

/* Sets `unordered` and `under_way` of every tile. */
static void find_unordered(struct plan *p)
{
    if (p->tiles.count == 0)
        return;
    for (size_t i = 0; i < p->tiles.count; i++)
        p->tiles.data[i].unordered = p->tiles.data[i].under_way = 0;
    struct state state = {0};
    name_table_init(&p->turns, p->kernel->arena);
    p->recording = true;
    flow_list(p, p->kernel->body, &state);
}

/* --- barriers --- */

static void note_jump(void *user, struct stmt *s)
{
    bool *jumps = user;
    *jumps |= s->kind == STMT_BREAK || s->kind == STMT_CONTINUE;
}

/* Returns true if a barrier inside s could be one that not all threads reach, or one in a
 * pipeline. */
static bool bars_barriers(const struct plan *p, const struct stmt *s)
{
    bool jumps = false;
    if (is_pipeline(s))
        return true;
    if (!kernel_thread_level(p->kernel))
        return false;
    if (s->kind == STMT_FOR || s->kind == STMT_WHILE)
        stmt_walk(s->body, note_jump, &jumps);
    return jumps || (s->condition && s->condition->type.varying);
}

static bool stands_in(const struct place *inner, const struct place *outer)
{
    for (const struct place *p = inner->outer; p; p = p->outer)
        if (p == outer)
            return true;
    return false;
}

/* Returns the statement before which a barrier can separate the tile from those of `before`;
 * NULL: none. */
static const struct place *barrier_place(const struct plan *p, const struct tile *tile,
                                         tile_set before)
{
    const struct place *at = tile->place;
    if (p->returns && kernel_thread_level(p->kernel))
        return NULL;
    for (const struct place *outer = at->outer; outer; outer = outer->outer)
        if (bars_barriers(p, outer->stmt))
            at = outer;
    for (int i = 0; at != tile->place && i < (int)p->tiles.count; i++)
        if (before & bit(i) && stands_in(p->tiles.data[i].place, at))
            return NULL;
    return at;
}

static void add_barrier(struct plan *p, const struct place *at)
{
    struct stmt *sync = stmt_effect(p->kernel, OP_SYNC, LOC_NONE, NULL);
    sync->uncredited = true;
    sync->next = *at->link;
    *at->link = sync;
}

/* --- conflicts --- */

/* Reports two tiles that the user put on the same bytes. */
static void report_fixed(struct diag *d, const struct tile *a, const struct tile *b,
                         const char *why)
{
    diag_error(d, b->sym->loc, "`%s` lies on bytes of `%s`, %s", b->sym->name, a->sym->name, why);
    diag_note(d, a->sym->loc, "`%s` takes the bytes from %lld to %lld", a->sym->name,
              (long long)a->sym->offset, (long long)(a->sym->offset + a->bytes - 1));
    diag_note(d, b->sym->loc, "without `at(…)` the compiler finds a place for it");
}

static void check_fixed(struct plan *p, struct diag *d)
{
    for (size_t i = 0; i < p->tiles.count; i++) {
        const struct tile *a = &p->tiles.data[i];
        size_t size = dtype_size(a->sym->type.dtype);
        if (a->fixed && a->sym->offset % (int64_t)size != 0)
            diag_error(d, a->sym->loc, "at(%lld) is not a multiple of the %zu bytes of an element",
                       (long long)a->sym->offset, size);
        for (size_t j = i + 1; a->fixed && j < p->tiles.count; j++) {
            const struct tile *b = &p->tiles.data[j];
            if (b->fixed && overlap(a, b) && meet(a, b))
                report_fixed(d, a, b, "which is still alive");
        }
    }
}

/* Keeps tile i apart from `others`. Returns false if the user placed both. */
static bool keep_apart(struct plan *p, struct diag *d, int i, tile_set others, const char *why)
{
    struct tile *tile = &p->tiles.data[i];
    for (int j = 0; j < (int)p->tiles.count; j++) {
        struct tile *other = &p->tiles.data[j];
        if (!(others & bit(j)))
            continue;
        if (tile->fixed && other->fixed) {
            report_fixed(d, other, tile, why);
            return false;
        }
        tile->apart |= bit(j);
        other->apart |= bit(i);
    }
    return true;
}

/* Places tiles until every pair on the same bytes has a barrier between it, or can get one. */
static bool settle(struct plan *p, struct diag *d)
{
    bool again = true, good = true;
    while (again && good) {
        again = false;
        place_tiles(p);
        find_unordered(p);
        for (int i = 0; good && i < (int)p->tiles.count; i++) {
            const struct tile *tile = &p->tiles.data[i];
            if (tile->under_way) {
                good = keep_apart(p, d, i, tile->under_way,
                                  "into which a copy may still be under way");
                again = true;
            } else if (tile->unordered && !barrier_place(p, tile, tile->unordered)) {
                good = keep_apart(p, d, i, tile->unordered, "and no barrier can be between");
                again = true;
            }
        }
    }
    return good;
}

/* Adds the barriers. One barrier may serve several tiles, so the need for each next one is
 * computed after the previous one is added. */
static void add_barriers(struct plan *p)
{
    for (int i = 0; i < MOST_OVERLAID && i < (int)p->tiles.count; i++) {
        const struct tile *tile = &p->tiles.data[i];
        if (!tile->unordered)
            continue;
        add_barrier(p, barrier_place(p, tile, tile->unordered));
        find_unordered(p);
    }
}

/* --- more bytes than a GPU has --- */

static int by_size(const void *a, const void *b)
{
    const struct tile *x = *(const struct tile *const *)a, *y = *(const struct tile *const *)b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->begin - y->begin;
}

/* Returns the tuned values of the kernel as text; NULL: it has none. */
static const char *tuned_text(const struct plan *p)
{
    struct text t;
    text_init(&t, p->kernel->arena);
    for (const struct sym *s = p->kernel->symbols; s; s = s->next)
        if (s->storage == ST_CONST && s->is_tuned && !s->value.is_float)
            text_printf(&t, "%s`%s = %lld`", t.length ? ", " : "", s->name, (long long)s->value.i);
    return t.length ? t.data : NULL;
}

static void warn_of_size(const struct plan *p, struct diag *d, int32_t most)
{
    enum { NAMED = 8 };
    const struct kernel *k = p->kernel;
    if (most == 0 || k->shared_bytes <= most)
        return;
    size_t count = p->tiles.count;
    const struct tile **tiles = arena_array(k->arena, const struct tile *, count);
    for (size_t i = 0; i < count; i++)
        tiles[i] = &p->tiles.data[i];
    qsort(tiles, count, sizeof tiles[0], by_size);
    diag_warning(
        d, k->loc,
        "kernel `%s` takes %lld bytes of shared memory a block; GPUs give up to %d (%d KB)",
        k->name, (long long)k->shared_bytes, most, most / 1024);
    for (size_t i = 0; i < count && i < NAMED; i++)
        diag_note(d, tiles[i]->sym->loc, "`%s` takes %lld bytes%s", tiles[i]->sym->name,
                  (long long)tiles[i]->bytes,
                  tiles[i]->sym->staged ? ", and those of each further stage" : "");
    const char *tuned = tuned_text(p);
    if (tuned)
        diag_note(d, LOC_NONE,
                  "tuned are %s: take smaller ones, or keep these away with `require(…)`", tuned);
}

void pass_plan(struct pass_context *c)
{
    struct kernel *k = c->kernel;
    struct plan p = {.kernel = k, .roles = kernel_uses_roles(k)};
    p.number_of = arena_array(k->arena, int, k->symbol_count + 1);
    find_lives(&p, &k->body, NULL);
    p.order = arena_array(k->arena, int, p.tiles.count + 1);
    int errors = c->diag->errors;
    check_fixed(&p, c->diag);
    if (c->diag->errors > errors || !settle(&p, c->diag))
        return;
    add_barriers(&p);
    k->shared_bytes = 0;
    for (size_t i = 0; i < p.tiles.count; i++) {
        const struct tile *tile = &p.tiles.data[i];
        if (tile->sym->offset + tile->bytes > k->shared_bytes)
            k->shared_bytes = tile->sym->offset + tile->bytes;
    }
    k->planned = true;
    if (c->sm == 0) /* the limit of one GPU is checked when the kernel is compiled for it */
        warn_of_size(&p, c->diag, c->shared_most);
}
