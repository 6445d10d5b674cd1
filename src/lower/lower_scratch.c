/* Room in shared memory for the compiler's own exchanges.
 *
 * A shared tile is dead behind its last use in program order, behind the outermost loop around
 * that use, and behind the last wait if copies bring it. Scratch lies where no tile that lives
 * or is yet to live does, or behind all of them. A stretch that threads may still be reading
 * wants a barrier first; a little more memory is better than one.
 */
#include "lower/lower_memory_own.h"

#include <assert.h>

enum {
    ALIGNMENT = 128,
    LITTLE = 2048,        /* bytes that are added to those of the tiles rather than waited for */
    LITTLE_IN_ALL = 4096, /* … in all */
    FEW_IN_ALL = 16384    /* up to so many a block may have where a loop would wait else */
};

/* --- lives --- */

struct statement_numbers {
    struct lower *l;
    int last;
    int waits; /* the last wait for copies */
    VEC(const struct sym *) copied;
};

static struct live *life_of(struct lower *l, const struct sym *s)
{
    for (size_t i = 0; i < l->memory->lives.count; i++)
        if (l->memory->lives.data[i].sym == s)
            return &l->memory->lives.data[i];
    return NULL;
}

struct use_walk {
    struct lower *l;
    int at;
};

static void use_symbol(struct use_walk *w, const struct sym *s)
{
    struct live *live = s && s->storage == ST_SHARED ? life_of(w->l, s) : NULL;
    if (live && live->end < w->at)
        live->end = w->at;
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
        n += 1 + count_list(s->body) + count_list(s->otherwise);
    return n;
}

/* end: the number of the outermost loop's last statement, 0 outside of loops. */
static void number_list(struct statement_numbers *n, struct stmt *first, int end)
{
    for (struct stmt *s = first; s; s = s->next) {
        int number = ++n->last, inner = end;
        bool loops = s->kind == STMT_FOR || s->kind == STMT_WHILE;
        map_put(n->l->arena, &n->l->memory->numbers, s, (void *)(uintptr_t)(unsigned)number);
        if (loops && end == 0)
            inner = number + count_list(s->body);
        struct use_walk w = {n->l, inner ? inner : number};
        statement_expressions(s, use_expr, &w);
        if (s->kind == STMT_DECL && s->value)
            use_symbol(&w, s->sym);
        if (s->kind == STMT_EFFECT && s->value->op == OP_ASYNC_WAIT)
            n->waits = w.at;
        if (s->kind == STMT_ASYNC_COPY)
            vec_push(n->l->arena, &n->copied, (const struct sym *)s->target->sym);
        number_list(n, s->body, inner);
        number_list(n, s->otherwise, inner);
    }
}

void scratch_init(struct lower *l)
{
    struct statement_numbers n = {.l = l};
    for (const struct sym *s = l->kernel->symbols; s; s = s->next) {
        if (s->storage != ST_SHARED || s->offset < 0)
            continue;
        int64_t bytes = type_bytes(&s->type);
        struct live live = {.sym = s, .from = s->offset, .to = s->offset + bytes, .end = -1};
        vec_push(l->arena, &l->memory->lives, live);
    }
    number_list(&n, l->kernel->body, 0);
    for (size_t i = 0; i < n.copied.count; i++) {
        struct live *live = life_of(l, n.copied.data[i]);
        if (live && live->end < n.waits)
            live->end = n.waits;
    }
}

void sync_statement(struct lower *l, const struct stmt *s)
{
    int number = (int)(uintptr_t)map_get(&l->memory->numbers, s);
    l->memory->statement = s;
    l->memory->views.count = 0;
    l->memory->reads.count = 0;
    if (number > 0)
        l->memory->now = number;
}

/* --- finding room --- */

static bool overlap(int64_t from, int64_t to, int64_t other_from, int64_t other_to)
{
    return from < other_to && other_from < to;
}

/* Where tiles lie that live or are yet to live, and scratch that is in use: nothing else may. */
static bool is_taken(const struct memory *m, int64_t from, int64_t to, int64_t *until)
{
    for (size_t i = 0; i < m->lives.count; i++) {
        const struct live *live = &m->lives.data[i];
        bool dead = live->end < m->now;
        if (!dead && overlap(from, to, live->from, live->to)) {
            *until = live->to;
            return true;
        }
    }
    for (size_t i = 0; i < m->scratches.count; i++) {
        const struct scratch *s = &m->scratches.data[i];
        if (s->open && overlap(from, to, s->from, s->to)) {
            *until = s->to;
            return true;
        }
    }
    return false;
}

/* May threads still be at work there? */
static bool is_dirty(const struct memory *m, int64_t from, int64_t to)
{
    for (size_t i = 0; i < m->lives.count; i++)
        if (m->tiles_used == m->barriers &&
            overlap(from, to, m->lives.data[i].from, m->lives.data[i].to))
            return true;
    for (size_t i = 0; i < m->scratches.count; i++) {
        const struct scratch *s = &m->scratches.data[i];
        if (s->done == m->barriers && overlap(from, to, s->from, s->to))
            return true;
    }
    return false;
}

static int64_t aligned(int64_t offset)
{
    return (offset + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Returns the lowest free place below the limit; -1: there is none. clean: the place is not dirty. */
static int64_t lowest(const struct memory *m, int64_t bytes, int64_t limit, bool clean)
{
    int64_t at = 0, until = 0;
    while (at + bytes <= limit) {
        if (is_taken(m, at, at + bytes, &until))
            at = aligned(until);
        else if (clean && is_dirty(m, at, at + bytes))
            at += ALIGNMENT;
        else
            return at;
    }
    return -1;
}

/* Returns the lowest free place, without a limit. */
static int64_t behind(const struct memory *m, int64_t bytes)
{
    int64_t at = 0, until = 0;
    while (is_taken(m, at, at + bytes, &until))
        at = aligned(until);
    return at;
}

/* A little more memory at the end; -1: it would not be little. */
static int64_t grown(const struct lower *l, int64_t bytes)
{
    int64_t end = aligned(l->out->shared_bytes) + bytes;
    bool small = bytes <= LITTLE && end <= aligned(l->kernel->shared_bytes) + LITTLE_IN_ALL;
    bool few = l->memory->loops.count > 0 && end <= FEW_IN_ALL;
    if ((!small && !few) || end > l->target->shared_bytes)
        return -1;
    return end - bytes;
}

int64_t scratch_take(struct lower *l, int64_t bytes)
{
    struct memory *m = l->memory;
    int64_t size = l->out->shared_bytes, at = lowest(m, bytes, size, true);
    if (at < 0)
        at = grown(l, bytes);
    if (at < 0)
        at = lowest(m, bytes, size, false);
    if (at < 0)
        at = behind(m, bytes);
    if (is_dirty(m, at, at + bytes))
        barrier_emit(l);
    if (at + bytes > size)
        l->out->shared_bytes = at + bytes;
    struct scratch s = {
        .from = at, .to = at + bytes, .open = true, .taken = m->barriers, .done = -1};
    vec_push(l->arena, &m->scratches, s);
    return at;
}

void scratch_done(struct lower *l)
{
    struct memory *m = l->memory;
    for (size_t i = m->scratches.count; i-- > 0;)
        if (m->scratches.data[i].open) {
            m->scratches.data[i].open = false;
            m->scratches.data[i].done = m->barriers;
            return;
        }
}

/* --- loops, and code that may not have run --- */

void scratch_forget(struct lower *l)
{
    struct memory *m = l->memory;
    for (size_t i = 0; i < m->scratches.count; i++)
        m->scratches.data[i].done = m->barriers;
    for (size_t i = 0; i < m->loops.count; i++)
        m->loops.data[i].barriers = m->barriers;
    if (m->tiles_used >= 0)
        m->tiles_used = m->barriers;
}

void scratch_enter_loop(struct lower *l, bool jumps)
{
    struct loop_mark mark = {l->memory->barriers, l->memory->scratches.count, jumps};
    vec_push(l->arena, &l->memory->loops, mark);
}

/* Might the next iteration write what this one's threads are still reading? Every stretch must
 * meet a barrier between its last reading and the next writing. */
static bool meets_itself(const struct memory *m, const struct loop_mark *mark)
{
    for (size_t i = mark->scratches; i < m->scratches.count; i++)
        for (size_t j = mark->scratches; j < m->scratches.count; j++) {
            const struct scratch *read = &m->scratches.data[i], *written = &m->scratches.data[j];
            int64_t after_read = m->barriers - read->done;
            int64_t before_write = written->taken - mark->barriers;
            bool apart = !mark->jumps && (after_read > 0 || before_write > 0);
            if (!apart && overlap(read->from, read->to, written->from, written->to))
                return true;
        }
    return false;
}

void sync_leave_loop(struct lower *l)
{
    struct memory *m = l->memory;
    assert(m->loops.count > 0);
    struct loop_mark mark = m->loops.data[--m->loops.count];
    if (meets_itself(m, &mark))
        barrier_emit(l);
}
