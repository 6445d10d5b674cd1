/* Barriers within one operation.
 *
 * The barriers between operations are statements: those of the program, and those that the passes
 * `barriers` and `plan` add. Within an operation, what a thread writes may be what another one reads
 * in the same operation, of a view or of a shared tile: a barrier is between, unless each element is
 * the same thread's both times. The same holds for the uses that the pass `barriers` leaves to the
 * operation (stmt->earlier): usually both layouts are one, and no barrier is needed.
 *
 * Scratch has barriers of its own: lower_scratch.c.
 */
#include "lower/lower_memory_own.h"

#include <string.h>

/* --- the start of the function --- */

void home_enter(struct lower *l, struct home *h)
{
    *h = (struct home){.code = {.statements = {0}}};
    h->before = ptx_divert(&l->b, &h->code);
}

void home_leave(struct lower *l, struct home *h)
{
    size_t count = h->code.statements.count, at = l->memory->home;
    struct ptx_statement none = {.kind = PTX_AT_INSTRUCTION};
    ptx_divert(&l->b, h->before);
    struct ptx_function *f = l->b.function;
    for (size_t i = 0; i < count; i++)
        vec_push(l->arena, &f->body, none);
    struct ptx_statement *body = f->body.data;
    memmove(body + at + count, body + at, (f->body.count - count - at) * sizeof *body);
    memcpy(body + at, h->code.statements.data, count * sizeof *body);
    l->memory->home += count;
}

void memory_init(struct lower *l)
{
    struct memory *m = l->memory = arena_new(l->arena, struct memory);
    m->home = l->b.function->body.count;
    m->window_register = ptx_reg(&l->b, MOD_U32);
    m->window = value_of_register(l, DT_I32, m->window_register);
    value_learn(l, m->window, SHARED_ALIGNMENT, 0, SHARED_WINDOW);
    parts_init(&m->parts, l->arena, l->kernel);
    plan_room_start(&m->room, l->arena, l->kernel, l->target->shared_bytes, ROOM_ALIGNMENT);
}

static bool same_access(const struct lower_access *a, const struct lower_access *b)
{
    return a->sym == b->sym && a->store == b->store && a->bytes == b->bytes &&
           strcmp(a->how, b->how) == 0 && (a->sym || a->instructions == b->instructions);
}

void memory_note(struct lower *l, struct lower_access access)
{
    struct pointer_map *noted = &l->memory->noted;
    const void *place = l; /* of what has none */
    if (access.loc.source)
        place = access.loc.source->text + access.loc.offset;
    struct note *first = pointer_map_get(noted, place);
    for (struct note *n = first; n; n = n->next)
        if (same_access(&l->out->accesses.data[n->number], &access))
            return;
    struct note *note = arena_new(l->arena, struct note);
    *note = (struct note){first, l->out->accesses.count};
    pointer_map_put(l->arena, noted, place, note);
    vec_push(l->arena, &l->out->accesses, access);
}

/* --- barriers --- */

void barrier_emit(struct lower *l)
{
    struct memory *m = l->memory;
    ptx_emit(&l->b, "bar.sync", ptx_int(0));
    m->room.barriers++;
    m->views.count = 0;
    m->reads.count = 0;
}

/* --- views --- */

static const struct sym *base_of(const struct sym *view)
{
    return view->base ? view->base : view;
}

/* Returns true if two uses with these layouts (NULL: by any thread) are of elements that each thread
 * has for itself. */
static bool each_its_own(const struct layout *a, const struct layout *b)
{
    return a && a == b && layout_is_exclusive(a);
}

static bool meet(const struct memory *m, const struct view_use *a, const struct view_use *b)
{
    const struct expr *x = a->access, *y = b->access;
    if (base_of(x->sym) != base_of(y->sym) || (!a->write && !b->write) ||
        parts_disjoint(&m->parts, x, y))
        return false;
    return !each_its_own(a->layout, b->layout) || !parts_same(&m->parts, x, y);
}

/* Returns true if other threads may have had the elements in an earlier statement. */
static bool had_by_others(const struct memory *m, const struct expr *access,
                          const struct layout *layout)
{
    const struct earlier *e = m->statement ? m->statement->earlier : NULL;
    while (e &&
           (e->access != access || each_its_own(pointer_map_get(&m->layouts, e->before), layout)))
        e = e->next;
    return e != NULL;
}

void sync_view(struct lower *l, const struct expr *access, const struct layout *layout, bool write)
{
    struct memory *m = l->memory;
    struct view_use use = {access, layout, write};
    if (access->sym->is_const)
        return;
    bool needed = had_by_others(m, access, layout);
    for (size_t i = 0; i < m->views.count && !needed; i++)
        needed = meet(m, &m->views.data[i], &use);
    if (needed)
        barrier_emit(l);
    if (layout)
        pointer_map_put(l->arena, &m->layouts, access, (void *)(uintptr_t)layout);
    vec_push(l->arena, &m->views, use);
}

static void forget_statement(struct memory *m)
{
    m->views.count = 0;
    m->reads.count = 0;
}

void sync_forget(struct lower *l)
{
    forget_statement(l->memory);
    scratch_forget(l);
}

/* --- arms of an if --- */

struct sync_saved {
    bool *dirty; /* by scratch: threads may be at work in it */
    size_t scratches;
    bool tiles_dirty;
    int64_t barriers;
};

static struct sync_saved *save(struct lower *l)
{
    const struct memory *m = l->memory;
    struct sync_saved *s = arena_new(l->arena, struct sync_saved);
    *s = (struct sync_saved){.scratches = m->room.stretches.count,
                             .tiles_dirty = m->room.tiles_used == m->room.barriers,
                             .barriers = m->room.barriers};
    s->dirty = arena_array(l->arena, bool, s->scratches + 1);
    for (size_t i = 0; i < s->scratches; i++)
        s->dirty[i] = m->room.stretches.data[i].done == m->room.barriers;
    return s;
}

/* Accesses that were under way when the state was saved may be under way now. */
static void bring_back(struct lower *l, const struct sync_saved *s)
{
    struct memory *m = l->memory;
    for (size_t i = 0; i < s->scratches; i++)
        if (s->dirty[i])
            m->room.stretches.data[i].done = m->room.barriers;
    if (s->tiles_dirty)
        m->room.tiles_used = m->room.barriers;
}

void sync_enter_arms(struct lower *l, struct sync_arms *a)
{
    *a = (struct sync_arms){.before = save(l)};
    forget_statement(l->memory);
}

void sync_next_arm(struct lower *l, struct sync_arms *a)
{
    a->first = save(l);
    forget_statement(l->memory);
    bring_back(l, a->before);
}

void sync_leave_arms(struct lower *l, struct sync_arms *a)
{
    struct memory *m = l->memory;
    int64_t start = a->before->barriers, middle = a->first ? a->first->barriers : m->room.barriers;
    bool surely = a->first && middle > start && m->room.barriers > middle;
    m->reads.count = 0;
    if (a->first || m->room.barriers > start) /* else all that came before still stands there */
        bring_back(l, a->first ? a->first : a->before);
    for (size_t i = 0; !surely && i < m->loops.count; i++)
        m->loops.data[i].barriers += m->room.barriers - start;
}

/* --- loops --- */

static void note_continue(void *user, struct stmt *s)
{
    bool *found = user;
    *found |= s->kind == STMT_CONTINUE;
}

void sync_enter_loop(struct lower *l, const struct stmt *loop)
{
    bool jumps = false;
    stmt_walk(loop->body, note_continue, &jumps);
    forget_statement(l->memory);
    scratch_enter_loop(l, jumps);
}

/* --- shared tiles within a statement --- */

void sync_shared_read(struct lower *l, const struct expr *access, const struct layout *layout)
{
    struct shared_read read = {access->sym, access, layout};
    vec_push(l->arena, &l->memory->reads, read);
}

static bool same_indices(const struct expr *a, const struct expr *b)
{
    bool same = a->indices == b->indices;
    for (int i = 0; same && i < a->indices; i++) {
        const struct expr *x = a->index[i].value, *y = b->index[i].value;
        same = a->index[i].kind == b->index[i].kind && a->index[i].extent == b->index[i].extent &&
               (x == y || (x && y && expr_same(x, y)));
    }
    return same;
}

void sync_shared_write(struct lower *l, const struct expr *access, const struct layout *layout)
{
    const struct memory *m = l->memory;
    for (size_t i = 0; i < m->reads.count; i++) {
        const struct shared_read *r = &m->reads.data[i];
        bool own = r->layout == layout && layout && layout_is_exclusive(layout) &&
                   same_indices(r->access, access);
        if (r->sym == access->sym && !own) {
            barrier_emit(l);
            return;
        }
    }
}
