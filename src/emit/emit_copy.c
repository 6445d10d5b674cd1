/* Accesses to elements of tiles that threads divide; and copies by a block whose threads are not whole warps: thread i takes the
 * elements i, i + threads, … All elements are read before the first one is written. */
#include "emit/emit_copy.h"
#include "layout/layout_named.h"
#include "plan/plan.h"
#include "tile/parts.h"

#include <string.h>

enum { VECTOR_BYTES = 16, MOST_ROUNDS = 8 };

static struct scalar number(int64_t v)
{
    return emit_constant(DT_I32, v);
}

static struct scalar plus(struct emit *m, struct scalar a, struct scalar b)
{
    return emit_op2(m, THREAD_ADD, DT_I32, a, b);
}

static struct scalar both(struct emit *m, struct scalar a, struct scalar b)
{
    return emit_op2(m, THREAD_AND, DT_BOOL, a, b);
}

/* --- which thread has what --- */

static struct scalar place_of_thread(struct emit *m, int axis)
{
    const struct expr e = {.op = OP_THREAD, .type = {.dtype = DT_I32}, .axis = axis};
    return emit_scalar(m, &e);
}

static struct scalar coordinate_value(struct emit *m, struct coordinate c)
{
    return plus(m, c.thread, number(c.more));
}

static int64_t threads_along(const struct emit *m, int axis)
{
    return m->kernel->threads[axis] > 0 ? m->kernel->threads[axis] : 1;
}

struct scalar emit_thread_number(struct emit *m)
{
    struct scalar at = place_of_thread(m, 0);
    int64_t step = 1;
    for (int i = 1; i < 3; i++) {
        step *= threads_along(m, i - 1);
        if (threads_along(m, i) > 1)
            at = plus(m, emit_op2(m, THREAD_MUL, DT_I32, place_of_thread(m, i), number(step)), at);
    }
    return at;
}

struct piece emit_piece_in_turn(struct emit *m, const struct type *t, struct scalar at)
{
    const int64_t count = type_elements(t);
    struct piece p = {.mine = emit_op2(m, THREAD_LT, DT_I32, at, number(count))};
    int64_t left = count;
    struct scalar rest = emit_as(m, at, DT_U32);
    for (int i = t->rank - 1; i >= 0; i--) {
        left /= t->extent[i];
        p.at[i].thread =
            emit_as(m, left > 1 ? emit_by(m, THREAD_REM, rest, t->extent[i]) : rest, DT_I32);
        rest = emit_by(m, THREAD_DIV, rest, t->extent[i]);
    }
    return p;
}

/* --- places of an access --- */

/* Returns what is known of an index or an extent. A fragment asks for each of its registers, so some answers are kept. */
static struct facts facts_remembered(struct emit *m, const struct expr *e)
{
    const struct stmt *loop = m->loop ? m->loop->s : NULL;
    const bool in_body = m->loop && m->loop->in_body;
    struct remembered *known = &m->remembered[(uintptr_t)e / sizeof *e % EMIT_REMEMBERED];
    if (known->e != e || known->loop != loop || known->in_body != in_body)
        *known = (struct remembered){e, loop, in_body, emit_facts_of(m, e)};
    return known->facts;
}

static struct facts facts_of_extent(struct emit *m, const struct sym *s, int axis)
{
    return s->storage == ST_VIEW ? facts_remembered(m, s->dims[axis])
                                 : facts_exactly(s->type.extent[axis]);
}

static bool divides(int64_t n, int64_t of)
{
    return of % n == 0;
}

/* Returns whether an index and an extent are the same value that never changes, or the same literal. */
static bool is_extent(const struct expr *index, const struct sym *s, int axis)
{
    return s->storage == ST_VIEW && index->type.dtype == s->dims[axis]->type.dtype &&
           expr_same(index, s->dims[axis]);
}

/* Returns start + at, in the order in which the index of an access is computed. */
static struct scalar sum_of(struct emit *m, enum dtype t, struct scalar start, struct scalar thread,
                            int64_t more)
{
    start = emit_as(m, start, t);
    start = emit_op2(m, THREAD_ADD, t, start, emit_as(m, thread, t));
    return emit_op2(m, THREAD_ADD, t, start, emit_constant(t, more));
}

static struct scalar within(struct emit *m, enum dtype t, struct scalar start, struct scalar thread,
                            int64_t more, struct scalar extent, bool below_0)
{
    enum { SMALL = 1 << 28 };
    const enum dtype as = t == DT_I32 ? DT_U32 : DT_U64;
    const bool known =
        start.o.kind == THREAD_INTEGER && start.o.integer > -SMALL && start.o.integer < SMALL;
    if (known) {
        more += start.o.integer;
        start = emit_constant(t, 0);
    }
    if (known && !below_0)
        return emit_op2(m, THREAD_LT, t, sum_of(m, t, start, thread, more), extent);
    if (!below_0) {
        struct scalar end = emit_op2(m, THREAD_SUB, t, extent, thread);
        end = emit_op2(m, THREAD_ADD, t, end, emit_constant(t, -more));
        return emit_op2(m, THREAD_LT, t, start, end);
    }
    start = sum_of(m, t, start, thread, more);
    start = emit_as(m, start, as);
    return emit_op2(m, THREAD_LT, as, start, emit_as(m, extent, as));
}

/* Returns whether start + at is within the axis. It compares `start` with the extent less `at`, so that nothing wraps, and a
 * loop compares its counter. If the sum may be below 0, it compares the sum without a sign. */
static struct scalar is_inside(struct emit *m, const struct expr *e, int axis, struct scalar start,
                               struct coordinate at, int64_t length)
{
    const struct expr *index = e->index[axis].value;
    const struct facts from = facts_remembered(m, index), limit = facts_of_extent(m, e->sym, axis);
    if (divides(length, facts_divisor(&from)) && divides(length, facts_divisor(&limit)))
        at = (struct coordinate){number(0), 0, 1};
    const struct facts place =
        facts_between(at.threads ? at.more : 0, at.threads ? at.more + at.threads - 1 : length - 1);
    const struct facts first = facts_sum(&from, &place);
    const bool below_0 = first.least < 0 && !emit_rises_from_0(m, index);
    const bool beyond = facts_no_limit(first.greatest) || first.greatest >= limit.least;
    if (first.greatest < 0 || first.least >= limit.greatest || from.least >= limit.greatest ||
        is_extent(index, e->sym, axis))
        return emit_constant(DT_BOOL, 0);
    struct scalar extent = emit_extent(m, e->sym, axis);
    const enum dtype t = start.dtype == DT_I32 && extent.dtype == DT_I32 ? DT_I32 : DT_I64;
    struct scalar thread = emit_as(m, at.thread, t);
    start = emit_as(m, start, t);
    extent = emit_as(m, extent, t);
    if (beyond)
        return within(m, t, start, thread, at.more, extent, below_0);
    if (!below_0)
        return emit_constant(DT_BOOL, 1);
    struct scalar least = emit_op2(m, THREAD_SUB, t, emit_constant(t, -at.more), thread);
    return emit_op2(m, THREAD_GE, t, start, least);
}

/* Returns whether an index is within the axis. Nothing is known about the index. */
static struct scalar is_index(struct emit *m, const struct sym *s, int axis, struct scalar index)
{
    struct scalar extent = emit_extent(m, s, axis);
    const enum dtype t = index.dtype == DT_I32 && extent.dtype == DT_I32 ? DT_U32 : DT_U64;
    index = emit_as(m, emit_as(m, index, t == DT_U32 ? DT_I32 : DT_I64), t);
    return emit_op2(m, THREAD_LT, t, index, emit_as(m, extent, t));
}

/* Finds the element of the access at the coordinates `at` of its tile. `inside` is true only in threads that move the element. */
struct element emit_access_at(struct emit *m, const struct expr *e, const struct coordinate *at,
                              struct scalar mine, const struct scalar *gathered)
{
    struct element x = {.inside = mine};
    int axis = 0;
    for (int i = 0; i < e->sym->type.rank; i++) {
        const struct index *index = i < e->indices ? &e->index[i] : NULL;
        const enum index_kind kind = index ? index->kind : IX_ALL;
        if (kind == IX_ALL) {
            x.index[i] = coordinate_value(m, at[axis++]);
            continue;
        }
        struct scalar start = kind == IX_GATHER && gathered ? gathered[i]
                              : kind == IX_GATHER ? emit_value_at(m, index->value, &at[axis], mine)
                              : kind == IX_SLICE  ? emit_start(m, index)
                                                  : emit_scalar(m, index->value);
        x.index[i] = start;
        if (kind == IX_SLICE)
            x.index[i] = sum_of(m, start.dtype, start, at[axis].thread, at[axis].more);
        if (kind == IX_SLICE && !index->inside)
            x.inside = both(m, x.inside, is_inside(m, e, i, start, at[axis], e->type.extent[axis]));
        if (kind == IX_GATHER)
            x.inside = both(m, x.inside, is_index(m, e->sym, i, start));
        axis += kind != IX_ELEMENT;
    }
    return x;
}

/* --- reading --- */

static struct scalar otherwise_of(struct emit *m, const struct expr *e)
{
    const enum dtype t = e->sym->type.dtype;
    return e->otherwise && e->otherwise->type.rank == 0
               ? emit_as(m, emit_scalar(m, e->otherwise), t)
               : emit_constant(t, 0);
}

/* Loads `count` neighbours; if they are outside, returns the value for elements outside. */
struct scalar emit_access_load(struct emit *m, const struct expr *e, const struct element *x,
                               int count)
{
    const enum dtype t = e->sym->type.dtype;
    struct scalar otherwise = otherwise_of(m, e);
    if (count > 1 && x->inside.o.kind == THREAD_VALUE && otherwise.o.kind == THREAD_VALUE)
        otherwise.o = emit_splat(m, t, otherwise.o, count);
    return emit_load_if(m, e, x->index, count, x->inside, otherwise);
}

static const struct coordinate origin = {.thread = {{.kind = THREAD_INTEGER}, DT_I32},
                                         .threads = 1};

/* Finds the coordinates in an operand that is broadcast to the type. */
static void broadcast_coordinates(const struct type *from, const struct type *to,
                                  const struct coordinate *at, struct coordinate *own)
{
    for (int i = 0; i < from->rank; i++)
        own[i] = from->extent[i] == 1 ? origin : at[to->rank - from->rank + i];
}

/* Finds the coordinates in the operand of a reshape. */
static void reshape_coordinates(struct emit *m, const struct type *from, const struct type *to,
                                const struct coordinate *at, struct coordinate *own)
{
    struct scalar place = number(0);
    for (int i = 0; i < to->rank; i++) {
        place = emit_op2(m, THREAD_MUL, DT_I32, place, number(to->extent[i]));
        place = plus(m, place, coordinate_value(m, at[i]));
    }
    place = emit_as(m, place, DT_U32);
    for (int i = from->rank - 1; i >= 0; i--) {
        own[i] = (struct coordinate){
            emit_as(m, emit_by(m, THREAD_REM, place, from->extent[i]), DT_I32), 0, from->extent[i]};
        place = emit_by(m, THREAD_DIV, place, from->extent[i]);
    }
}

static struct scalar operation_at(struct emit *m, const struct expr *e, const struct coordinate *at,
                                  struct scalar mine)
{
    struct scalar args[EMIT_MOST_ARGS] = {0};
    struct coordinate own[MAX_RANK];
    if (!emit_is_of_elements(e) && e->op != OP_SELECT && e->op != OP_BROADCAST) {
        emit_missing(m, e->loc, arena_printf(m->arena, "`%s` of tiles", op_table[e->op].text),
                     NULL);
        return emit_constant(e->type.dtype, 0);
    }
    for (int i = 0; i < e->count && !m->failed; i++) {
        broadcast_coordinates(&e->args[i]->type, &e->type, at, own);
        args[i] = emit_value_at(m, e->args[i], own, mine);
    }
    if (m->failed)
        return emit_constant(e->type.dtype, 0);
    return e->op == OP_BROADCAST ? emit_as(m, args[0], e->type.dtype)
                                 : emit_of_elements(m, e, args);
}

/* Loads `count` neighbours, the first one at the coordinates. */
static struct scalar read_memory(struct emit *m, const struct expr *e, const struct coordinate *at,
                                 struct scalar mine, int count)
{
    const struct loc before = emit_at(m, e->loc);
    const struct element x = emit_access_at(m, e, at, mine, NULL);
    const struct scalar v = emit_access_load(m, e, &x, count);
    emit_at(m, before);
    return v;
}

struct scalar emit_value_at(struct emit *m, const struct expr *e, const struct coordinate *at,
                            struct scalar mine)
{
    struct coordinate own[MAX_RANK];
    if (e->type.rank == 0)
        return emit_scalar(m, e);
    switch (e->op) {
    case OP_ACCESS: return read_memory(m, e, at, mine, 1);
    case OP_IOTA:
        for (int i = 0; i < e->type.rank; i++)
            if (e->type.extent[i] != 1)
                return emit_as(m, coordinate_value(m, at[i]), e->type.dtype);
        return emit_constant(e->type.dtype, 0);
    case OP_TRANS:
        for (int i = 0; i < e->type.rank; i++)
            own[i] = at[i < e->type.rank - 2 ? i : 2 * e->type.rank - 3 - i];
        return emit_value_at(m, e->args[0], own, mine);
    case OP_RESHAPE:
        reshape_coordinates(m, &e->args[0]->type, &e->type, at, own);
        return emit_value_at(m, e->args[0], own, mine);
    default: return operation_at(m, e, at, mine);
    }
}

void emit_access_store(struct emit *m, const struct expr *target, const struct piece *p, int vector,
                       const struct scalar *v, const struct scalar *gathered)
{
    const enum dtype t = target->sym->type.dtype;
    const int count = vector > 1 ? emit_access_width(m, target, vector) : 1;
    for (int i = 0; i < vector; i += count) {
        struct piece part = *p;
        struct thread_operand all[VECTOR_BYTES];
        part.at[target->type.rank - 1].more += i;
        const struct element x = emit_access_at(m, target, part.at, p->mine, gathered);
        for (int k = 0; k < count; k++)
            all[k] = v[i + k].o;
        struct scalar all_of = {v[0].o, t};
        if (v[0].o.kind != THREAD_VALUE || v[0].o.value->type.count != count || count == 1)
            all_of.o = emit_join(m, t, all, count);
        emit_store_if(m, target, x.index, x.inside, all_of);
    }
}

static const struct sym *memory_of(const struct sym *s)
{
    return s->storage == ST_VIEW && s->base ? s->base : s;
}

void emit_note_layout(struct emit *m, const struct expr *access, const struct layout *layout)
{
    bool added;
    number_map_entry(m->arena, &m->accessed, (uintptr_t)access, &added)->value = (uintptr_t)layout;
}

const struct layout *emit_accessed_in(const struct emit *m, const struct expr *access)
{
    const struct number_entry *entry = number_map_find(&m->accessed, (uintptr_t)access);
    return entry ? (const struct layout *)(uintptr_t)entry->value : NULL;
}

struct read_search {
    struct emit *m;
    const struct expr *target;
    enum emit_owner owner;
    const struct layout *layout;
    bool found;
};

static const struct parts *parts_of(struct emit *m)
{
    if (!m->parts) {
        m->parts = arena_new(m->arena, struct parts);
        parts_init(m->parts, m->arena, m->kernel);
    }
    return m->parts;
}

static void note_read(void *user, struct expr **at)
{
    struct read_search *r = user;
    const struct expr *e = *at;
    if (e == r->target || e->op != OP_ACCESS || memory_of(e->sym) != memory_of(r->target->sym))
        return;
    if (e->sym == r->target->sym && parts_disjoint(parts_of(r->m), e, r->target))
        return;
    const bool own = r->owner != EMIT_ANY_THREAD && expr_same(e, r->target) &&
                     (r->owner == EMIT_SAME_THREAD || emit_accessed_in(r->m, e) == r->layout);
    r->found |= !own;
}

/* Finds reads of the target's memory below operations that move elements to other places. */
static void note_moved(void *user, struct expr **at)
{
    struct read_search *r = user, all = *r;
    all.owner = EMIT_ANY_THREAD;
    if ((*at)->op != OP_ACCESS && !emit_is_of_elements(*at))
        expr_walk(at, note_read, &all);
    r->found |= all.found;
}

static bool has_gather(const struct expr *e)
{
    bool found = false;
    for (int i = 0; i < e->indices; i++)
        found |= e->index[i].kind == IX_GATHER;
    return found;
}

bool emit_reads_memory(struct emit *m, const struct expr *e, const struct expr *target,
                       enum emit_owner owner, const struct layout *layout)
{
    if (has_gather(target) || (layout && !layout_is_exclusive(layout)))
        owner = EMIT_ANY_THREAD;
    struct read_search r = {.m = m, .target = target, .owner = owner, .layout = layout};
    struct expr *root = (struct expr *)e, *to = (struct expr *)target;
    expr_walk(&root, note_read, &r);
    expr_walk(&to, note_read, &r); /* its indices */
    if (owner == EMIT_SAME_THREAD)
        expr_walk(&root, note_moved, &r);
    return r.found;
}

/* --- copies --- */

static void note_reads(struct emit *m, const struct expr *value)
{
    for (int i = 0; i < value->count; i++)
        note_reads(m, value->args[i]);
    if (value->op == OP_ACCESS)
        emit_note_elements(m, value, 1, false);
}

/* Reads the value for an element of the target. */
static struct scalar read(struct emit *m, const struct expr *target, const struct expr *value,
                          const struct piece *p)
{
    struct coordinate own[MAX_RANK];
    broadcast_coordinates(&value->type, &target->type, p->at, own);
    return emit_as(m, emit_value_at(m, value, own, p->mine), target->sym->type.dtype);
}

/* Copies in a loop, one element in each iteration. */
static void copy_in_loop(struct emit *m, const struct expr *target, const struct expr *value,
                         struct scalar thread, int64_t rounds)
{
    const int64_t threads = kernel_block_threads(m->kernel);
    const struct open_loop loop = emit_open_loop(m);
    const struct thread_type type = {.dtype = DT_I32, .count = 1};
    struct scalar at = {emit_loop_argument(m, &loop, thread.o, type), DT_I32};
    const struct piece p = emit_piece_in_turn(m, &target->type, at);
    const struct scalar v = read(m, target, value, &p);
    if (emit_reads_memory(m, value, target, EMIT_SAME_THREAD, NULL))
        emit_missing(m, target->loc, "a large copy of an array to itself", NULL);
    emit_access_store(m, target, &p, 1, &v, NULL);
    struct scalar next = plus(m, at, number(threads));
    struct scalar turned = emit_op2(m, THREAD_SUB, DT_I32, next, thread);
    struct scalar done = emit_op2(m, THREAD_GE, DT_I32, turned, number(rounds * threads));
    emit_loop_leave(m, done);
    emit_close_loop(m, &loop, &next.o, 1);
}

void emit_copy(struct emit *m, const struct expr *target, const struct expr *value)
{
    const int64_t threads = kernel_block_threads(m->kernel),
                  rounds = (type_elements(&target->type) + threads - 1) / threads;
    const struct scalar thread = emit_thread_number(m);
    note_reads(m, value);
    emit_note_elements(m, target, 1, true);
    if (rounds > MOST_ROUNDS) {
        copy_in_loop(m, target, value, thread, rounds);
        return;
    }
    struct scalar *v = arena_array(m->arena, struct scalar, rounds + 1);
    struct piece *p = arena_array(m->arena, struct piece, rounds + 1);
    for (int64_t i = 0; i < rounds && !m->failed; i++) {
        p[i] = emit_piece_in_turn(m, &target->type, plus(m, thread, number(i * threads)));
        v[i] = read(m, target, value, &p[i]);
    }
    if (emit_reads_memory(m, value, target, EMIT_SAME_THREAD, NULL))
        emit_sync(m);
    const struct loc before = emit_at(m, target->loc);
    for (int64_t i = 0; i < rounds && !m->failed; i++)
        emit_access_store(m, target, &p[i], 1, &v[i], NULL);
    emit_at(m, before);
}

/* --- in the background --- */

struct thread_operand emit_cache_policy(struct emit *m, const struct stmt *s)
{
    if (!s->hint || strcmp(s->hint, "no_allocate") == 0)
        return (struct thread_operand){0};
    return thread_use(
        THREAD_ADD_OP(&m->b, THREAD_CACHE_POLICY, DT_NONE, DT_NONE, thread_text(s->hint)));
}

void emit_piece_async(struct emit *m, struct thread_operand to, const struct sym *view,
                      const struct element *from, int64_t bytes, struct thread_operand policy)
{
    const struct thread_operand base = emit_base(m, view);
    const struct thread_operand all[] = {to,
                                         base,
                                         emit_view_at(m, view, from->index).o,
                                         thread_integer(0),
                                         thread_integer(bytes),
                                         from->inside.o,
                                         policy};
    thread_add_counted(&m->b, THREAD_COPY_ASYNC, DT_NONE, DT_NONE, 0, all, policy.value ? 7 : 6);
}
