/* Barriers that the program does not have but its meaning needs.
 *
 * Tile operations on global memory act in program order (Meaning 6): where one thread writes
 * what another read or wrote before, a barrier stands between. Uses since the last barrier are
 * kept; a new one that meets an old one, one of them writing, gets a barrier in front, unless
 * both touch surely different elements, or each element is the same thread's both times. Behind
 * code that may not have run nothing is known but which views were used; at the head of a loop
 * what its end leaves is added.
 *
 * Within one statement reads of shared tiles come before writes.
 */
#include "lower/lower_memory_own.h"

#include <limits.h>
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
    m->tiles_used = -1;
    scratch_init(l);
}

static bool same_access(const struct lower_access *a, const struct lower_access *b)
{
    return a->sym == b->sym && a->store == b->store && a->bytes == b->bytes &&
           strcmp(a->how, b->how) == 0 && (a->sym || a->instructions == b->instructions);
}

void memory_note(struct lower *l, struct lower_access access)
{
    struct map *noted = &l->memory->noted;
    const void *place = l; /* of what has none */
    if (access.loc.source)
        place = access.loc.source->text + access.loc.offset;
    struct note *first = map_get(noted, place);
    for (struct note *n = first; n; n = n->next)
        if (same_access(&l->out->accesses.data[n->number], &access))
            return;
    struct note *note = arena_new(l->arena, struct note);
    *note = (struct note){first, l->out->accesses.count};
    map_put(l->arena, noted, place, note);
    vec_push(l->arena, &l->out->accesses, access);
}

/* --- barriers --- */

void barrier_emit(struct lower *l)
{
    struct memory *m = l->memory;
    ptx_emit(&l->b, "bar.sync", ptx_int(0));
    m->barriers++;
    m->pending.count = 0;
    m->reads.count = 0;
}

static bool layout_is_exclusive(const struct layout *layout)
{
    return layout_free_extent(layout, AXIS_LANE) == 1 && layout_free_extent(layout, AXIS_WARP) == 1;
}

/* --- views --- */

static const struct sym *base_of(const struct sym *view)
{
    return view->base ? view->base : view;
}

static void touch(struct lower *l, const struct sym *base, bool write)
{
    struct memory *m = l->memory;
    for (size_t i = 0; i < m->touched.count; i++)
        if (m->touched.data[i].base == base) {
            m->touched.data[i].write |= write;
            m->touched.data[i].read |= !write;
            return;
        }
    struct touched t = {base, !write, write};
    vec_push(l->arena, &m->touched, t);
}

/* a - b where that is known. */
static bool distance(struct lower *l, const struct value *a, const struct value *b, int64_t *d)
{
    return a && b && value_known(value_sub(l, a, b), d);
}

static bool disjoint(struct lower *l, const struct pending *a, const struct pending *b)
{
    int64_t d;
    for (int i = 0; i < a->rank; i++)
        if (a->length[i] && b->length[i] && distance(l, a->start[i], b->start[i], &d) &&
            (d >= b->length[i] || d <= -a->length[i]))
            return true;
    return false;
}

static bool same_part(struct lower *l, const struct pending *a, const struct pending *b)
{
    int64_t d;
    for (int i = 0; i < a->rank; i++)
        if (a->length[i] == 0 || a->length[i] != b->length[i] ||
            !distance(l, a->start[i], b->start[i], &d) || d != 0)
            return false;
    return true;
}

/* With strides of its own, different indices may be one element. */
static bool may_overlap(const struct sym *view)
{
    bool given = false;
    for (int i = 0; i < view->type.rank; i++)
        given |= view->strides[i] != NULL;
    return given;
}

static bool conflict(struct lower *l, const struct pending *a, const struct pending *b)
{
    if (a->base != b->base || (!a->write && !b->write))
        return false;
    if (!a->view || a->view != b->view || may_overlap(a->view))
        return true;
    if (disjoint(l, a, b))
        return false;
    return !(a->layout && a->layout == b->layout && a->exclusive && same_part(l, a, b));
}

/* A new use is compared with all since the last barrier. One more barrier after so many costs
 * nothing to speak of, and long programs are looked through in a time that grows as they do. */
enum { MOST_PENDING = 256 };

static void add_use(struct lower *l, const struct pending *use)
{
    struct memory *m = l->memory;
    if (m->pending.count >= MOST_PENDING)
        barrier_emit(l);
    for (size_t i = 0; i < m->pending.count; i++)
        if (conflict(l, &m->pending.data[i], use)) {
            barrier_emit(l);
            break;
        }
    vec_push(l->arena, &m->pending, *use);
    touch(l, use->base, use->write);
}

void sync_for_view(struct lower *l, const struct sym *view, bool write, const struct layout *layout)
{
    struct pending use = {.base = base_of(view), .layout = layout, .write = write};
    if (!view->is_const)
        add_use(l, &use);
}

void sync_for_places(struct lower *l, const struct places *p, bool write)
{
    struct pending use = {.base = base_of(p->sym),
                          .view = p->sym,
                          .layout = p->layout,
                          .write = write,
                          .exclusive = layout_is_exclusive(p->layout),
                          .rank = p->place.rank};
    if (p->sym->is_const)
        return;
    for (int i = 0; i < use.rank; i++) {
        use.start[i] = p->place.axis[i].start;
        use.length[i] = p->place.axis[i].kind == IX_GATHER ? 0 : p->axis[i].length;
    }
    add_use(l, &use);
}

static void add_unknown(struct lower *l, const struct sym *base, bool write)
{
    struct memory *m = l->memory;
    struct pending use = {.base = base, .write = write};
    for (size_t i = 0; i < m->pending.count; i++)
        if (m->pending.data[i].base == base && !m->pending.data[i].view &&
            m->pending.data[i].write == write)
            return;
    vec_push(l->arena, &m->pending, use);
}

void sync_forget(struct lower *l)
{
    struct memory *m = l->memory;
    m->reads.count = 0;
    for (size_t i = 0; i < m->touched.count; i++) {
        if (m->touched.data[i].read)
            add_unknown(l, m->touched.data[i].base, false);
        if (m->touched.data[i].write)
            add_unknown(l, m->touched.data[i].base, true);
    }
    scratch_forget(l);
}

/* --- arms of an if --- */

struct sync_saved {
    struct pending *pending;
    size_t count;
    bool *dirty; /* by scratch: threads may be at work in it */
    size_t scratches;
    bool tiles_dirty;
    int64_t barriers;
};

static struct sync_saved *save(struct lower *l)
{
    const struct memory *m = l->memory;
    struct sync_saved *s = arena_new(l->arena, struct sync_saved);
    *s = (struct sync_saved){.count = m->pending.count,
                             .scratches = m->scratches.count,
                             .tiles_dirty = m->tiles_used == m->barriers,
                             .barriers = m->barriers};
    s->pending = arena_array(l->arena, struct pending, s->count + 1);
    for (size_t i = 0; i < s->count; i++)
        s->pending[i] = m->pending.data[i];
    s->dirty = arena_array(l->arena, bool, s->scratches + 1);
    for (size_t i = 0; i < s->scratches; i++)
        s->dirty[i] = m->scratches.data[i].done == m->barriers;
    return s;
}

/* What was under way then may be under way now. */
static void bring_back(struct lower *l, const struct sync_saved *s)
{
    struct memory *m = l->memory;
    for (size_t i = 0; i < s->count; i++)
        vec_push(l->arena, &m->pending, s->pending[i]);
    for (size_t i = 0; i < s->scratches; i++)
        if (s->dirty[i])
            m->scratches.data[i].done = m->barriers;
    if (s->tiles_dirty)
        m->tiles_used = m->barriers;
}

void sync_enter_arms(struct lower *l, struct sync_arms *a)
{
    *a = (struct sync_arms){.before = save(l)};
    l->memory->reads.count = 0;
}

void sync_next_arm(struct lower *l, struct sync_arms *a)
{
    a->first = save(l);
    l->memory->pending.count = 0;
    l->memory->reads.count = 0;
    bring_back(l, a->before);
}

void sync_leave_arms(struct lower *l, struct sync_arms *a)
{
    struct memory *m = l->memory;
    int64_t start = a->before->barriers, middle = a->first ? a->first->barriers : m->barriers;
    bool surely = a->first && middle > start && m->barriers > middle;
    m->reads.count = 0;
    if (a->first || m->barriers > start) /* else all that came before still stands there */
        bring_back(l, a->first ? a->first : a->before);
    for (size_t i = 0; !surely && i < m->loops.count; i++)
        m->loops.data[i].barriers += m->barriers - start;
}

/* --- loops --- */

/* Uses of views in a loop's body. */
struct body_use {
    const struct expr *access;
    bool write;
    bool late; /* no barrier that surely comes stands behind it */
};
struct body_uses {
    struct lower *l;
    VEC(struct body_use) list;
    bool writing; /* the access being visited is written */
};

static void note_use(void *user, struct expr **at)
{
    struct body_uses *u = user;
    struct expr *e = *at;
    if (op_is_atomic(e->op))
        for (size_t i = 0; i < u->list.count; i++)
            if (u->list.data[i].access == e->args[0])
                u->list.data[i].write = true;
    if (e->op != OP_ACCESS || e->sym->storage != ST_VIEW || e->sym->is_const)
        return;
    struct body_use use = {e, false, true};
    vec_push(u->l->arena, &u->list, use);
}

static void note_root(void *user, struct expr **root, bool is_target)
{
    struct body_uses *u = user;
    expr_walk(root, note_use, u);
    if (is_target && u->list.count > 0 && u->list.data[u->list.count - 1].access == *root)
        u->list.data[u->list.count - 1].write = true;
}

static void note_statement(void *user, struct stmt *s)
{
    stmt_expressions(s, note_root, user);
}

static bool is_barrier(const struct stmt *s)
{
    bool orders = s->kind == STMT_EFFECT &&
                  (s->value->op == OP_SYNC || s->value->op == OP_LOCK || s->value->op == OP_UNLOCK);
    return orders || stmt_arrives(s);
}

static void note_continue(void *user, struct stmt *s)
{
    bool *found = user;
    *found |= s->kind == STMT_CONTINUE;
}

static void find_uses(struct body_uses *u, const struct stmt *loop, bool jumps)
{
    for (struct stmt *s = loop->body; s; s = s->next) {
        struct stmt alone = *s;
        alone.next = NULL;
        stmt_walk(&alone, note_statement, u);
        for (size_t i = 0; is_barrier(s) && !jumps && i < u->list.count; i++)
            u->list.data[i].late = false;
    }
}

/* What is assigned in the loop, or what a declaration in it means. */
struct assigned {
    const struct sym *sym;
    const struct expr *value; /* of its one declaration */
    int count;
};

static void note_assigned(void *user, struct stmt *s)
{
    struct assigned *a = user;
    if (s->kind == STMT_DECL && s->sym == a->sym) {
        a->count++;
        a->value = s->value;
    } else if (s->kind == STMT_ASSIGN && s->target->op == OP_REF && s->target->sym == a->sym) {
        a->count += 2;
    }
}

/* e = *factor * counter + what the loop does not change. */
static bool affine_in(const struct expr *e, const struct sym *counter, const struct stmt *loop,
                      int64_t *factor)
{
    int64_t a, b, c;
    *factor = 0;
    switch (e->op) {
    case OP_LITERAL:
    case OP_BLOCK:
    case OP_GRID: return true;
    case OP_REF: {
        struct assigned as = {.sym = e->sym};
        if (e->sym == counter)
            *factor = 1;
        if (e->sym == counter || e->sym->storage == ST_PARAM || e->sym->storage == ST_CONST)
            return true;
        stmt_walk(loop->body, note_assigned, &as);
        if (as.count == 1 && as.value)
            return affine_in(as.value, counter, loop, factor);
        return as.count == 0 && e->type.rank == 0;
    }
    case OP_CAST: return affine_in(e->args[0], counter, loop, factor);
    case OP_ADD:
    case OP_SUB:
        if (!affine_in(e->args[0], counter, loop, &a) || !affine_in(e->args[1], counter, loop, &b))
            return false;
        *factor = e->op == OP_ADD ? a + b : a - b;
        return true;
    case OP_MUL:
        if (!affine_in(e->args[0], counter, loop, &a) || !affine_in(e->args[1], counter, loop, &b))
            return false;
        if (a == 0 && b == 0)
            return true;
        if (b == 0 && eval_int(e->args[1], NULL, &c))
            *factor = a * c;
        else if (a == 0 && eval_int(e->args[0], NULL, &c))
            *factor = b * c;
        else
            return false;
        return true;
    default: return false;
    }
}

/* The loop's counter and its constant step; NULL: none. */
static const struct sym *counter_of(const struct stmt *loop, int64_t *step)
{
    for (const struct stmt *s = loop->kind == STMT_FOR ? loop->step : NULL; s; s = s->next) {
        if (s->kind != STMT_ASSIGN || s->target->op != OP_REF || s->value->op != OP_ADD)
            continue;
        const struct expr *a = s->value->args[0], *b = s->value->args[1];
        struct assigned as = {.sym = s->target->sym};
        stmt_walk(loop->body, note_assigned, &as);
        if (a->op == OP_REF && a->sym == s->target->sym && as.count == 0 &&
            eval_int(b, NULL, step) && *step != 0)
            return a->sym;
    }
    return NULL;
}

/* Does each iteration touch elements of its own? */
static bool advances(const struct expr *access, const struct stmt *loop)
{
    int64_t step, factor;
    const struct sym *counter = counter_of(loop, &step);
    for (int i = 0; counter && i < access->indices; i++) {
        const struct index *x = &access->index[i];
        int64_t length = x->kind == IX_SLICE ? x->extent : 1;
        if ((x->kind != IX_SLICE && x->kind != IX_ELEMENT) ||
            !affine_in(x->value, counter, loop, &factor))
            continue;
        int64_t moved = factor * step;
        if (moved >= length || -moved >= length)
            return true;
    }
    return false;
}

/* Do all uses of that base in the loop touch one part, which moves on with each iteration? */
static bool keeps_apart(const struct body_uses *u, const struct sym *base, const struct stmt *loop)
{
    const struct expr *first = NULL;
    for (size_t i = 0; i < u->list.count; i++) {
        const struct expr *e = u->list.data[i].access;
        if (base_of(e->sym) != base)
            continue;
        if (may_overlap(e->sym))
            return false;
        bool same = !first || (e->sym == first->sym && e->indices == first->indices);
        for (int k = 0; first && same && k < e->indices; k++)
            same = e->index[k].kind == first->index[k].kind &&
                   e->index[k].extent == first->index[k].extent &&
                   (e->index[k].value == first->index[k].value ||
                    (e->index[k].value && first->index[k].value &&
                     expr_same(e->index[k].value, first->index[k].value)));
        if (!same)
            return false;
        first = first ? first : e;
    }
    return first && advances(first, loop);
}

void sync_enter_loop(struct lower *l, const struct stmt *loop)
{
    struct memory *m = l->memory;
    struct body_uses u = {.l = l};
    bool jumps = false;
    stmt_walk(loop->body, note_continue, &jumps);
    find_uses(&u, loop, jumps);
    m->reads.count = 0;
    scratch_enter_loop(l, jumps);
    for (size_t i = 0; i < u.list.count; i++) {
        const struct sym *base = base_of(u.list.data[i].access->sym);
        if (u.list.data[i].late && !keeps_apart(&u, base, loop))
            add_unknown(l, base, u.list.data[i].write);
    }
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
