/* Copies by all threads: assignments to parts of shared arrays and of views that no thread of a thread-level kernel does for
 * itself. The block's warps divide the elements as layout_blocked says, in vectors as wide as by(…) of the part of a view says.
 * In a block whose threads are not whole warps, thread i takes the elements i, i + threads, … All elements are read before the
 * first one is written. */
#include "emit/emit_copy.h"
#include "layout/layout_named.h"
#include "plan/plan.h"
#include "tile/parts.h"

#include <string.h>

enum { VECTOR_BYTES = 16, MOST_ROUNDS = 8, MOST_REGISTERS = 512 };

/* How the threads divide a tile. */
struct deal {
    const struct type *type; /* the target's */
    bool in_turn;            /* thread i takes the elements i, i + threads, …; else: */
    struct layout layout;
    struct scalar thread[MAX_RANK]; /* coordinates of the thread's first element: i32 */
    int64_t most[MAX_RANK];         /* the greatest of these in the block */
    struct scalar first;            /* bool: no thread before this one has the same elements */
    int vector;                     /* elements that a thread moves together */
    int64_t pieces;                 /* vectors of a thread */
    struct scalar number;           /* of the thread in its block: i32 */
};

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

/* A digit of the thread's number in its block: number / weight % extent. One step of the digit moves the thread's elements by
 * `step` along an axis. */
struct digit {
    int64_t weight, extent;
    int64_t step; /* 0: threads that differ only in the digit have the same elements */
    int axis;
};

/* Computes the digit: from the thread's place along one axis, if it depends on no other axis. */
static struct scalar digit_of(struct emit *m, const struct deal *d, const struct digit *r)
{
    int64_t below = 1, end = kernel_block_threads(m->kernel), weight = r->weight;
    struct scalar v = d->number;
    for (int i = 0; i < 3; i++) {
        const int64_t above = below * threads_along(m, i);
        if (weight % below == 0 && above % (weight * r->extent) == 0) {
            v = place_of_thread(m, i);
            weight /= below;
            end = threads_along(m, i);
            break;
        }
        below = above;
    }
    v = emit_by(m, THREAD_DIV, emit_as(m, v, DT_U32), weight);
    if (weight * r->extent < end)
        v = emit_by(m, THREAD_REM, v, r->extent);
    return emit_as(m, v, DT_I32);
}

/* Finds the digits of lanes and warps in a layout, and merges neighbours. Returns their number; -1: a digit does not add to the
 * coordinates, or moves elements along two axes. */
static int find_digits(const struct layout *l, struct digit *digits)
{
    int count = 0;
    for (int i = 0; i < l->digit_count; i++) {
        const struct layout_digit *g = &l->digits[i];
        const enum layout_axis in = l->ins[g->in].axis;
        struct digit r = {.extent = g->extent, .weight = layout_weight(l, i)};
        if (in == AXIS_REG || g->extent == 1)
            continue;
        r.weight *= in == AXIS_WARP ? WARP_LANES : 1;
        for (int j = 0; j < l->out_count; j++) {
            if (g->xor [j] || (g->add[j] && r.step))
                return -1;
            if (g->add[j])
                r.step = g->add[j], r.axis = j;
        }
        struct digit *last = count ? &digits[count - 1] : NULL;
        if (last && last->axis == r.axis && last->weight * last->extent == r.weight &&
            last->step * last->extent == r.step && r.step)
            last->extent *= r.extent;
        else
            digits[count++] = r;
    }
    return count;
}

static bool deal_to_warps(struct emit *m, struct deal *d)
{
    const struct type *t = d->type;
    const int warps = (int)(kernel_block_threads(m->kernel) / WARP_LANES);
    int32_t extents[MAX_RANK];
    for (int i = 0; i < t->rank; i++)
        extents[i] = (int32_t)t->extent[i];
    if (!layout_blocked(extents, t->rank, dtype_table[t->dtype].bits, d->vector, warps, &d->layout))
        return false;
    layout_runs(&d->layout);
    struct digit digits[LAYOUT_DIGITS];
    const int count = find_digits(&d->layout, digits);
    for (int i = 0; i < count; i++) {
        const struct digit *r = &digits[i];
        struct scalar v = digit_of(m, d, r);
        if (!r->step) {
            d->first = both(m, d->first, emit_op2(m, THREAD_EQ, DT_I32, v, number(0)));
            continue;
        }
        v = emit_op2(m, THREAD_MUL, DT_I32, v, number(r->step));
        d->thread[r->axis] = plus(m, v, d->thread[r->axis]);
        d->most[r->axis] += (r->extent - 1) * r->step;
    }
    d->pieces = layout_in_extent(&d->layout, AXIS_REG) / d->vector;
    return count >= 0 && d->pieces * d->vector <= MOST_REGISTERS;
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

static struct piece piece_at(struct emit *m, const struct deal *d, int64_t i)
{
    int32_t in[LAYOUT_INS] = {0}, out[LAYOUT_OUTS];
    if (d->in_turn)
        return emit_piece_in_turn(m, d->type,
                                  plus(m, d->number, number(i * kernel_block_threads(m->kernel))));
    struct piece p = {.mine = d->first};
    in[layout_in_index(&d->layout, AXIS_REG)] = (int32_t)(i * d->vector);
    layout_apply(&d->layout, in, out);
    for (int j = 0; j < d->type->rank; j++) {
        const int64_t extent = d->type->extent[j];
        p.at[j] = (struct coordinate){d->thread[j], out[j], d->most[j] + 1};
        if (d->most[j] + out[j] >= extent)
            p.mine = both(m, p.mine,
                          emit_op2(m, THREAD_LT, DT_I32, d->thread[j], number(extent - out[j])));
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

/* --- copies --- */

static bool is_slice(const struct expr *e, enum storage storage)
{
    return e->op == OP_ACCESS && e->sym->storage == storage && e->type.rank > 0;
}

/* Returns whether the copy does not change elements: no cast, no broadcast, no operation. */
static bool is_plain(const struct expr *target, const struct expr *value)
{
    return value->op == OP_ACCESS && type_same_shape(&value->type, &target->type) &&
           value->sym->type.dtype == target->sym->type.dtype && value->type.dtype != DT_BOOL;
}

struct narrowest {
    struct emit *m;
    const struct expr *target;
    int vector;
};

static int widest_of(struct emit *m, const struct expr *e)
{
    return plan_copier_of(m->options->target, e).bytes / (int)dtype_size(e->type.dtype);
}

static void note_copy(void *user, struct stmt *s)
{
    struct narrowest *n = user;
    const struct expr *to = n->target;
    struct expr whole = {.op = OP_ACCESS, .sym = s->sym};
    const struct expr *target = s->target;
    if (s->kind == STMT_DECL && s->value) {
        whole.type = s->sym->type;
        target = &whole;
    }
    const bool stores =
        s->kind == STMT_ASSIGN || s->kind == STMT_ASYNC_COPY || (s->kind == STMT_DECL && s->value);
    if (!stores || target->sym != to->sym || !is_slice(s->value, ST_VIEW) ||
        !type_same_shape(&target->type, &to->type) || !is_plain(target, s->value))
        return;
    int vector = widest_of(n->m, s->value);
    if (target->sym->storage == ST_SHARED)
        vector = emit_access_width(n->m, target, vector);
    n->vector = vector < n->vector ? vector : n->vector;
}

/* Returns how many elements a thread moves together. All copies to an array use the same number, so that a thread waits for the
 * elements that it copied itself. */
static int choose_vector(struct emit *m, const struct expr *target, const struct expr *value)
{
    const struct type *t = &target->type;
    const bool copies = is_slice(value, ST_VIEW) && is_plain(target, value);
    const int64_t last = t->extent[t->rank - 1], threads = kernel_block_threads(m->kernel);
    int vector = VECTOR_BYTES / (int)dtype_size(t->dtype);
    if (target->sym->storage == ST_VIEW) {
        vector = widest_of(m, target);
    } else if (copies) {
        struct narrowest n = {m, target, vector};
        stmt_walk(m->kernel->body, note_copy, &n);
        vector = n.vector;
    }
    while (vector > 1 && (last % vector != 0 || (!(copies && target->sym->storage == ST_SHARED) &&
                                                 vector * threads > type_elements(t))))
        vector /= 2;
    return vector > 1 ? vector : 1;
}

static bool deal(struct emit *m, const struct expr *target, const struct expr *value,
                 struct deal *d)
{
    const int64_t threads = kernel_block_threads(m->kernel);
    *d = (struct deal){.type = &target->type, .in_turn = threads % WARP_LANES != 0, .vector = 1};
    d->number = emit_thread_number(m);
    d->first = emit_constant(DT_BOOL, 1);
    for (int i = 0; i < MAX_RANK; i++)
        d->thread[i] = number(0);
    d->pieces = (type_elements(d->type) + threads - 1) / threads;
    if (!d->in_turn)
        d->vector = choose_vector(m, target, value);
    if (d->in_turn || deal_to_warps(m, d))
        return true;
    emit_missing(m, target->loc, "a copy of more than 512 elements of a thread",
                 "copy parts of it in a loop");
    return false;
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

static bool moves_vectors(struct emit *m, const struct deal *d, const struct expr *target,
                          const struct expr *value)
{
    return d->vector > 1 && is_plain(target, value) &&
           emit_access_width(m, value, d->vector) == d->vector &&
           emit_access_width(m, target, d->vector) == d->vector;
}

/* Reads the value for a piece: v has one scalar for each element, or the first one is a group of all. */
static void read(struct emit *m, const struct deal *d, const struct expr *target,
                 const struct expr *value, const struct piece *p, struct scalar *v)
{
    const struct type *t = &target->type;
    const int vector = d->vector;
    struct coordinate own[MAX_RANK];
    if (moves_vectors(m, d, target, value)) {
        v[0] = read_memory(m, value, p->at, p->mine, vector);
        return;
    }
    for (int i = 0; i < vector; i++) {
        broadcast_coordinates(&value->type, t, p->at, own);
        if (value->type.rank > 0 && value->type.extent[value->type.rank - 1] > 1)
            own[value->type.rank - 1].more += i;
        v[i] = emit_as(m, emit_value_at(m, value, own, p->mine), target->sym->type.dtype);
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

/* --- notes --- */

/* Notes the access of a copy, whose vectors have `vector` elements. */
static void note_access(struct emit *m, const struct deal *d, const struct expr *e, int vector,
                        bool store)
{
    if (d->in_turn)
        emit_note_elements(m, e, 1, store);
    else if (e->sym->storage == ST_VIEW)
        emit_note_vectors(m, e, vector, d->pieces * (d->vector / vector), store);
    else if (e->sym->storage == ST_SHARED)
        emit_note_part(m, e, &d->layout, vector, store);
}

static void note_reads(struct emit *m, const struct deal *d, const struct expr *target,
                       const struct expr *value)
{
    for (int i = 0; i < value->count; i++)
        note_reads(m, d, target, value->args[i]);
    if (value->op == OP_ACCESS)
        note_access(m, d, value, moves_vectors(m, d, target, value) ? d->vector : 1, false);
}

/* --- the copy --- */

/* Copies in a loop, one piece in each iteration. */
static void copy_in_loop(struct emit *m, const struct deal *d, const struct expr *target,
                         const struct expr *value)
{
    const int64_t threads = kernel_block_threads(m->kernel);
    const struct open_loop loop = emit_open_loop(m);
    const struct thread_type type = {.dtype = DT_I32, .count = 1};
    struct scalar v, at = {emit_loop_argument(m, &loop, d->number.o, type), DT_I32};
    const struct piece p = emit_piece_in_turn(m, d->type, at);
    read(m, d, target, value, &p, &v);
    if (emit_reads_memory(m, value, target, EMIT_SAME_THREAD, NULL))
        emit_missing(m, target->loc, "a large copy of an array to itself", NULL);
    emit_access_store(m, target, &p, 1, &v, NULL);
    struct scalar next = plus(m, at, number(threads));
    struct scalar turned = emit_op2(m, THREAD_SUB, DT_I32, next, d->number);
    struct scalar done = emit_op2(m, THREAD_GE, DT_I32, turned, number(d->pieces * threads));
    emit_loop_leave(m, done);
    emit_close_loop(m, &loop, &next.o, 1);
}

void emit_copy(struct emit *m, const struct expr *target, const struct expr *value)
{
    struct deal d;
    if (!deal(m, target, value, &d))
        return;
    note_reads(m, &d, target, value);
    note_access(m, &d, target, emit_access_width(m, target, d.vector), true);
    if (d.in_turn && d.pieces > MOST_ROUNDS) {
        copy_in_loop(m, &d, target, value);
        return;
    }
    struct scalar *v = arena_array(m->arena, struct scalar, d.pieces * d.vector + 1);
    struct piece *p = arena_array(m->arena, struct piece, d.pieces + 1);
    for (int64_t i = 0; i < d.pieces && !m->failed; i++) {
        p[i] = piece_at(m, &d, i);
        read(m, &d, target, value, &p[i], &v[i * d.vector]);
    }
    if (emit_reads_memory(m, value, target, EMIT_SAME_THREAD, NULL))
        emit_sync(m);
    const struct loc before = emit_at(m, target->loc);
    for (int64_t i = 0; i < d.pieces && !m->failed; i++)
        emit_access_store(m, target, &p[i], d.vector, &v[i * d.vector], NULL);
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

static bool can_copy_async(struct emit *m, const struct stmt *s, const struct deal *d)
{
    const int bytes = d->vector * (int)dtype_size(s->target->type.dtype);
    return plan_copier_of(m->options->target, s->value).copier->to == COPIER_SHARED &&
           is_plain(s->target, s->value) && plan_is_zero(s->value->otherwise) &&
           (bytes == 4 || bytes == 8 || bytes == 16) &&
           emit_access_width(m, s->target, d->vector) == d->vector && !d->in_turn;
}

void emit_copy_async(struct emit *m, const struct stmt *s)
{
    struct deal d;
    if (!deal(m, s->target, s->value, &d))
        return;
    if (!can_copy_async(m, s, &d)) {
        emit_copy(m, s->target, s->value);
        return;
    }
    const int64_t bytes = (int64_t)d.vector * (int64_t)dtype_size(s->target->type.dtype);
    emit_note_copy(m, s, &d.layout, d.vector);
    const struct thread_operand policy = emit_cache_policy(m, s);
    for (int64_t i = 0; i < d.pieces; i++) {
        const struct piece p = piece_at(m, &d, i);
        const struct scalar all = emit_constant(DT_BOOL, 1);
        const struct element from = emit_access_at(m, s->value, p.at, all, NULL);
        const struct element to = emit_access_at(m, s->target, p.at, p.mine, NULL);
        struct thread_region *outer = emit_open_if(m, to.inside);
        emit_piece_async(m, emit_shared_at(m, s->target->sym, to.index), s->value->sym, &from,
                         bytes, policy);
        m->b.region = outer;
    }
}
