#include "plan/plan_room.h"

enum {
    LITTLE = 2048,        /* bytes that are added to those of the tiles rather than waited for */
    LITTLE_IN_ALL = 4096, /* … in all */
    FEW_IN_ALL = 16384    /* the most of a block in whose loop an exchange would wait otherwise */
};

/* --- lives --- */

struct numbering {
    struct room *room;
    int last;
    int waits; /* the last wait for copies */
    VEC(const struct sym *) copied;
};

static struct room_tile *tile_of(struct room *r, const struct sym *s)
{
    for (size_t i = 0; i < r->tiles.count; i++)
        if (r->tiles.data[i].sym == s)
            return &r->tiles.data[i];
    return NULL;
}

struct use_walk {
    struct room *room;
    int at;
};

static void use_symbol(struct use_walk *w, const struct sym *s)
{
    struct room_tile *t = s && s->storage == ST_SHARED ? tile_of(w->room, s) : NULL;
    if (t && t->end < w->at)
        t->end = w->at;
}

static void use_expr(void *user, struct expr **at)
{
    if ((*at)->op == OP_ACCESS || (*at)->op == OP_REF)
        use_symbol(user, (*at)->sym);
}

static int count_list(const struct stmt *first)
{
    int n = 0;
    for (const struct stmt *s = first; s; s = s->next)
        n += 1 + count_list(s->body) + count_list(s->otherwise) + count_list(s->init) +
             count_list(s->step);
    return n;
}

/* end: the number of the outermost loop's last statement, 0 outside of loops. */
static void number_list(struct numbering *n, struct stmt *first, int end)
{
    struct room *r = n->room;
    for (struct stmt *s = first; s; s = s->next) {
        int number = ++n->last, inner = end;
        bool loops = s->kind == STMT_FOR || s->kind == STMT_WHILE, added;
        number_map_entry(r->arena, &r->numbers, (uintptr_t)s, &added)->value = (uintptr_t)number;
        if (loops && end == 0)
            inner = number + count_list(s->init) + count_list(s->body) + count_list(s->step);
        struct use_walk w = {r, inner ? inner : number};
        stmt_own_expressions(s, use_expr, &w);
        if (s->kind == STMT_DECL && s->value)
            use_symbol(&w, s->sym);
        if (s->kind == STMT_EFFECT && s->value->op == OP_ASYNC_WAIT)
            n->waits = w.at;
        if (s->kind == STMT_ASYNC_COPY)
            vec_push(r->arena, &n->copied, (const struct sym *)s->target->sym);
        number_list(n, s->init, inner);
        number_list(n, s->body, inner);
        number_list(n, s->step, inner);
        number_list(n, s->otherwise, inner);
    }
}

void plan_room_start(struct room *r, struct arena *a, struct kernel *k, int64_t most,
                     int64_t alignment)
{
    struct numbering n = {.room = r};
    *r = (struct room){.arena = a,
                       .tiles_used = -1,
                       .own = k->shared_bytes,
                       .bytes = k->shared_bytes,
                       .most = most,
                       .alignment = alignment};
    for (const struct sym *s = k->symbols; s; s = s->next) {
        if (s->storage != ST_SHARED || s->offset < 0)
            continue;
        int64_t bytes = type_bytes(&s->type);
        struct room_tile t = {.sym = s, .from = s->offset, .to = s->offset + bytes, .end = -1};
        vec_push(a, &r->tiles, t);
    }
    number_list(&n, k->body, 0);
    for (size_t i = 0; i < n.copied.count; i++) {
        struct room_tile *t = tile_of(r, n.copied.data[i]);
        if (t && t->end < n.waits)
            t->end = n.waits;
    }
}

void plan_room_statement(struct room *r, const struct stmt *s)
{
    const struct number_entry *found = number_map_find(&r->numbers, (uintptr_t)s);
    if (found)
        r->now = (int)found->value;
}

/* --- finding room --- */

static bool overlap(int64_t from, int64_t to, int64_t other_from, int64_t other_to)
{
    return from < other_to && other_from < to;
}

/* Returns whether the stretch has bytes of tiles that live or are yet to live, or of an open stretch. */
static bool is_taken(const struct room *r, int64_t from, int64_t to, int64_t *until)
{
    for (size_t i = 0; i < r->tiles.count; i++) {
        const struct room_tile *t = &r->tiles.data[i];
        bool dead = t->end < r->now;
        if (!dead && overlap(from, to, t->from, t->to)) {
            *until = t->to;
            return true;
        }
    }
    for (size_t i = 0; i < r->stretches.count; i++) {
        const struct room_stretch *s = &r->stretches.data[i];
        if (s->open && overlap(from, to, s->from, s->to)) {
            *until = s->to;
            return true;
        }
    }
    return false;
}

/* Returns whether threads may still be at work there. */
static bool is_dirty(const struct room *r, int64_t from, int64_t to, int64_t *until)
{
    for (size_t i = 0; i < r->tiles.count; i++) {
        const struct room_tile *t = &r->tiles.data[i];
        if (r->tiles_used == r->barriers && overlap(from, to, t->from, t->to)) {
            *until = t->to;
            return true;
        }
    }
    for (size_t i = 0; i < r->stretches.count; i++) {
        const struct room_stretch *s = &r->stretches.data[i];
        if (s->done == r->barriers && overlap(from, to, s->from, s->to)) {
            *until = s->to;
            return true;
        }
    }
    return false;
}

static int64_t aligned(const struct room *r, int64_t offset)
{
    return (offset + r->alignment - 1) / r->alignment * r->alignment;
}

/* Returns the lowest free place below the limit; -1: there is none. clean: the place is not dirty. */
static int64_t lowest(const struct room *r, int64_t bytes, int64_t limit, bool clean)
{
    int64_t at = 0, until = 0;
    while (at + bytes <= limit) {
        if (!is_taken(r, at, at + bytes, &until) && !(clean && is_dirty(r, at, at + bytes, &until)))
            return at;
        at = aligned(r, until);
    }
    return -1;
}

/* Returns the place of a little more memory at the end; -1: it would not be little. */
static int64_t grown(const struct room *r, int64_t bytes, bool in_loop)
{
    int64_t end = aligned(r, r->bytes) + bytes;
    bool small = bytes <= LITTLE && end <= aligned(r, r->own) + LITTLE_IN_ALL;
    bool few = in_loop && end <= FEW_IN_ALL;
    if ((!small && !few) || end > r->most)
        return -1;
    return end - bytes;
}

int64_t plan_room_find(const struct room *r, int64_t bytes, bool in_loop, bool *dirty)
{
    int64_t until, at = lowest(r, bytes, r->bytes, true);
    if (at < 0)
        at = grown(r, bytes, in_loop);
    if (at < 0)
        at = lowest(r, bytes, r->bytes, false);
    if (at < 0)
        at = lowest(r, bytes, INT64_MAX, false);
    *dirty = is_dirty(r, at, at + bytes, &until);
    return at;
}

void plan_room_take(struct room *r, int64_t at, int64_t bytes)
{
    const struct room_stretch s = {
        .from = at, .to = at + bytes, .open = true, .taken = r->barriers, .done = -1};
    if (s.to > r->bytes)
        r->bytes = s.to;
    vec_push(r->arena, &r->stretches, s);
}

void plan_room_done(struct room *r, int64_t at)
{
    for (size_t i = r->stretches.count; i-- > 0;) {
        struct room_stretch *s = &r->stretches.data[i];
        if (!s->open || (at >= 0 && s->from != at))
            continue;
        s->open = false;
        s->done = r->barriers;
        return;
    }
}

void plan_room_bury(struct room *r)
{
    for (size_t i = 0; i < r->stretches.count; i++) {
        struct room_stretch *s = &r->stretches.data[i];
        const struct room_tile t = {.from = s->from, .to = s->to, .end = -1};
        if (s->done == r->barriers) {
            s->done = -1;
            vec_push(r->arena, &r->tiles, t);
        }
    }
}

bool plan_room_meets(const struct room *r, size_t first, int64_t barriers)
{
    for (size_t i = first; i < r->stretches.count; i++) {
        const struct room_stretch *s = &r->stretches.data[i];
        for (size_t j = 0; s->taken == barriers && j < r->stretches.count; j++) {
            const struct room_stretch *read = &r->stretches.data[j];
            if (read->done == r->barriers && overlap(s->from, s->to, read->from, read->to))
                return true;
        }
    }
    return false;
}

bool plan_room_is_read(const struct room *r)
{
    bool found = false;
    for (size_t i = 0; i < r->stretches.count; i++)
        found |= r->stretches.data[i].done == r->barriers;
    return found;
}
