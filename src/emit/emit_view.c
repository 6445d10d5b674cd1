/* Views: the threads that hold a register tile load and store it, without the elements outside of the view. Two neighbours of a
 * thread move together if by(…) of the part allows that. If it allows 8 in a store, the four lanes of a quad, which have two of
 * each eight columns, exchange these pairs. Each lane then stores 8 neighbours: 16 bytes, for elements of 2 bytes. */
#include "emit/emit_own.h"
#include "plan/plan.h"

#include <string.h>

enum { MOST_AXES = MAX_RANK };

/* The rows or the columns of a part of a view. */
struct view_axis {
    struct scalar start, extent; /* i64: of the part's first in the view; of the view */
    struct scalar step;          /* bytes, i64 */
    struct tile list;            /* i64, of a gather: the index of each; dtype DT_NONE: none */
};

/* The part of a view that an access chooses: its element (0, 0) and its last two axes. */
struct view_part {
    struct scalar base; /* address of the element (0, 0) of the part, u64; it may lie outside */
    struct view_axis axis[2];
    struct scalar inside; /* the element indices are within the view: bool */
};

static struct scalar wide(struct emit *m, const struct expr *e)
{
    return emit_as(m, emit_scalar(m, e), DT_I64);
}

static struct scalar add(struct emit *m, struct scalar a, struct scalar b)
{
    return emit_op2(m, THREAD_ADD, DT_I64, a, b);
}

static struct scalar times(struct emit *m, struct scalar a, struct scalar b)
{
    return emit_op2(m, THREAD_MUL, DT_I64, a, b);
}

static struct scalar wide_constant(int64_t v)
{
    return emit_constant(DT_I64, v);
}

static void find_steps(struct emit *m, const struct sym *s, struct scalar *steps)
{
    struct scalar step = wide_constant((int64_t)dtype_size(s->type.dtype));
    for (int i = s->type.rank - 1; i >= 0; i--) {
        steps[i] = s->strides[0] ? times(m, wide(m, s->strides[i]),
                                         wide_constant((int64_t)dtype_size(s->type.dtype)))
                                 : step;
        if (!s->strides[0] && i > 0)
            step = times(m, step, wide(m, s->dims[i]));
    }
}

/* Returns whether the index is in [0, extent): as a number without a sign, a negative one is large. */
static struct scalar within(struct emit *m, struct scalar index, struct scalar extent)
{
    struct scalar limit = emit_as(m, extent, DT_U64);
    return emit_op2(m, THREAD_LT, DT_U64, emit_as(m, index, DT_U64), limit);
}

/* Returns the indices of a gather: of rows, as a tile of one column has them. */
static struct tile find_list(struct emit *m, struct expr *indices, bool of_rows)
{
    struct expr column = {
        .op = OP_RESHAPE,
        .type = {.dtype = indices->type.dtype, .rank = 2, .extent = {indices->type.extent[0], 1}},
        .loc = indices->loc,
        .count = 1,
        .args = &indices};
    return emit_tile_cast(m, emit_tile(m, of_rows ? &column : indices), DT_I64);
}

static bool find_part(struct emit *m, const struct expr *e, struct view_part *out)
{
    const struct sym *s = e->sym;
    const struct scalar zero = wide_constant(0);
    struct scalar steps[MOST_AXES], at = zero;
    int rank = e->type.rank, seen = 0;
    *out = (struct view_part){.inside = emit_constant(DT_BOOL, 1)};
    for (int i = 0; i < 2; i++)
        out->axis[i] = (struct view_axis){zero, wide_constant(1), zero, {.dtype = DT_NONE}};
    find_steps(m, s, steps);
    for (int i = 0; i < s->type.rank; i++) {
        enum index_kind kind = i < e->indices ? e->index[i].kind : IX_ALL;
        struct scalar start =
            kind == IX_ELEMENT || kind == IX_SLICE ? wide(m, e->index[i].value) : wide_constant(0);
        struct scalar extent = wide(m, s->dims[i]);
        bool in_row = kind != IX_ELEMENT && seen++ >= rank - 2; /* others have one element */
        if (kind == IX_GATHER && !in_row)
            start = (struct scalar){
                emit_tile_cast(m, emit_tile(m, e->index[i].value), DT_I64).part[0], DT_I64};
        at = add(m, at, times(m, start, steps[i]));
        if (!in_row && rank > 0) {
            emit_and(m, &out->inside, within(m, start, extent));
        } else if (in_row) {
            const bool is_row = rank >= 2 && seen == rank - 1;
            struct view_axis *a = &out->axis[!is_row];
            a->start = start;
            a->extent = extent;
            a->step = steps[i];
            if (kind == IX_GATHER)
                a->list = find_list(m, e->index[i].value, is_row);
        }
    }
    out->base = (struct scalar){emit_base(m, s), DT_U64};
    out->base = emit_op2(m, THREAD_ADD, DT_U64, out->base, emit_as(m, at, DT_U64));
    return true;
}

/* Returns whether a tile of that form has several rows, or several columns. */
static bool has_axis(enum tile_form form, int axis)
{
    return form == TILE_WHOLE || form == (axis ? TILE_COLUMNS : TILE_ROWS);
}

/* Makes the part's `inside` false if the part lies outside along an axis of which the tile has only one element. */
static void check_alone(struct emit *m, struct view_part *p, enum tile_form form)
{
    for (int i = 0; i < 2; i++)
        if (!has_axis(form, i))
            emit_and(m, &p->inside, within(m, p->axis[i].start, p->axis[i].extent));
}

/* An element's address, and whether it is inside. */
struct element {
    struct scalar address, inside;
};

static struct element element_at(struct emit *m, const struct view_part *p, enum tile_form form,
                                 struct held at, int part, int i)
{
    struct element e = {p->base, emit_op2(m, THREAD_AND, DT_BOOL, p->inside, at.real)};
    const bool whole = form == TILE_WHOLE;
    for (int axis = 0; axis < 2; axis++) {
        const struct view_axis *a = &p->axis[axis];
        struct scalar step = emit_as(m, axis ? at.column : at.row, DT_I64), index;
        if (!has_axis(form, axis))
            continue;
        if (a->list.dtype != DT_NONE) {
            int row = whole ? 2 * part + i / 2 % 2 : part, column = whole ? i / 4 * 2 + i % 2 : i;
            step.o = emit_element(m, &a->list, axis ? 0 : row, axis ? column : 0);
            index = step;
        } else
            index = add(m, step, a->start);
        step = emit_as(m, times(m, step, a->step), DT_U64);
        e.address = emit_op2(m, THREAD_ADD, DT_U64, e.address, step);
        emit_and(m, &e.inside, within(m, index, a->extent));
    }
    return e;
}

/* --- several elements --- */

enum { PAIR = 2, QUAD = 4, PIECE = PAIR * QUAD, EXCHANGED = 2 * PIECE };

/* Returns how many neighbours a thread moves together at most: 1, PAIR or `piece`. */
static int together(struct emit *m, const struct expr *e, enum tile_form form, int piece)
{
    const int most = plan_copier_of(m->options->target, e).bytes / (int)dtype_size(e->type.dtype);
    if (!has_axis(form, 1) || e->type.dtype == DT_BOOL || most < PAIR)
        return 1;
    return form == TILE_WHOLE && most >= piece ? piece : PAIR;
}

/* Returns how many neighbours move together from element i on. A PIECE takes EXCHANGED elements of a thread; elements after the
 * last whole EXCHANGED move in pairs. */
static int width_at(int together, int i, int elements)
{
    return together == PIECE && i / EXCHANGED == elements / EXCHANGED ? PAIR : together;
}

static void note(struct emit *m, const struct expr *e, const struct tile *t, int together,
                 bool store)
{
    int elements, parts = emit_parts(t->form, t->blocks, t->columns, &elements);
    int apart = together == PIECE ? elements % EXCHANGED : 0;
    emit_note_global(m, e, together, parts * (elements - apart), store);
    emit_note_global(m, e, PAIR, parts * apart, store);
}

/* Finds the place of element i of the part. If whole pieces move, it is the place of the piece that the thread stores in place
 * of its own pairs. */
static struct element place_at(struct emit *m, const struct view_part *p, const struct tile *t,
                               const struct type *type, int part, int i, int width)
{
    struct held h = emit_held(m, t, type, part, i);
    struct scalar quad = emit_by(m, THREAD_AND, m->place.lane, QUAD - 1);
    if (width == PIECE)
        h.column = emit_by(m, THREAD_ADD, emit_by(m, THREAD_MUL, quad, PIECE), i / 4 * 8);
    return element_at(m, p, t->form, h, part, i);
}

static struct thread_operand select_group(struct emit *m, enum dtype t, struct scalar condition,
                                          struct thread_operand a, struct thread_operand b)
{
    return thread_use(THREAD_ADD_OP(&m->b, THREAD_SELECT, t, DT_NONE, condition.o, a, b));
}

/* Exchanges groups among the four lanes of each quad: lane i gets group i of all four lanes, in the order of the lanes. */
static void exchange(struct emit *m, enum dtype t, struct thread_operand *group)
{
    for (int bit = 1; bit < QUAD; bit *= 2) {
        struct scalar odd = emit_by(m, THREAD_NE, emit_by(m, THREAD_AND, m->place.lane, bit), 0);
        for (int i = 0; i < QUAD; i++) {
            struct thread_operand a = group[i], b = group[i ^ bit];
            if (i & bit)
                continue;
            struct thread_operand gets =
                thread_use(THREAD_ADD_OP(&m->b, THREAD_SHUFFLE_XOR, t, DT_NONE,
                                         select_group(m, t, odd, a, b), thread_integer(bit)));
            group[i] = select_group(m, t, odd, gets, a);
            group[i ^ bit] = select_group(m, t, odd, b, gets);
        }
    }
}

/* --- loads --- */

/* Loads `count` elements. If they are outside, nothing is loaded, and they are `otherwise`. */
static struct thread_operand load(struct emit *m, enum dtype t, int count, struct element at,
                                  struct scalar otherwise)
{
    struct thread_operand from[] = {at.inside.o, at.address.o, thread_integer(0), thread_integer(0),
                                    otherwise.o};
    const struct thread_type type = {.dtype = t, .count = (uint16_t)count};
    const bool known = at.inside.o.kind != THREAD_VALUE;
    struct scalar v = otherwise;
    if (count > 1)
        otherwise.o = emit_splat(m, t, otherwise.o, count);
    if (known && at.inside.o.integer == 0)
        return otherwise.o;
    if (known)
        return thread_use(
            thread_add_counted(&m->b, THREAD_LOAD, t, DT_NONE, type.count, from + 1, 3));
    if (count == 1) {
        if (t == DT_BOOL)
            from[4] = emit_predicate(m, otherwise);
        return thread_use(thread_add_counted(&m->b, THREAD_LOAD_IF, t, DT_NONE, 1, from, 5));
    }
    const struct choice choice = emit_choice(m, at.inside);
    emit_choice_arm(m, &choice);
    v.o = thread_use(thread_add_counted(&m->b, THREAD_LOAD, t, DT_NONE, type.count, from + 1, 3));
    emit_choice_give(m, &v, 1);
    emit_choice_arm(m, &choice);
    emit_choice_give(m, &otherwise, 1);
    emit_choice_end(m, &choice, type, &v, 1);
    return v.o;
}

struct tile emit_view_load(struct emit *m, const struct expr *e)
{
    struct view_part p;
    struct tile t = emit_tile_like(&e->type, emit_blocks(m, &e->type, e->loc));
    if (!t.blocks || !find_part(m, e, &p))
        return t;
    check_alone(m, &p, t.form);
    struct scalar otherwise = e->otherwise ? emit_as(m, emit_scalar(m, e->otherwise), t.dtype)
                                           : emit_constant(t.dtype, 0);
    const int width = together(m, e, t.form, PAIR);
    note(m, e, &t, width, false);
    int elements, parts = emit_parts(t.form, t.blocks, t.columns, &elements);
    struct thread_operand *loaded = arena_array(m->arena, struct thread_operand, elements);
    for (int i = 0; i < parts; i++) {
        for (int j = 0; j < elements; j += width)
            loaded[j / width] =
                load(m, t.dtype, width, place_at(m, &p, &t, &e->type, i, j, width), otherwise);
        t.part[i] = emit_join(m, t.dtype, loaded, elements / width);
    }
    return t;
}

/* --- stores --- */

/* Emits the store of a value, or of a group of neighbours, where the elements are inside. */
static void store(struct emit *m, enum dtype t, struct element at, struct thread_operand v)
{
    if (at.inside.o.kind != THREAD_VALUE && at.inside.o.integer == 0)
        return;
    struct thread_region *outer = emit_open_if(m, at.inside);
    THREAD_ADD_OP(&m->b, THREAD_STORE, t, DT_NONE, at.address.o, thread_integer(0),
                  thread_integer(0), v);
    m->b.region = outer;
}

/* Returns the elements that the thread stores together, from element i of the part on. */
static struct thread_operand stored(struct emit *m, const struct tile *t, int part, int i,
                                    int width)
{
    struct thread_operand group[QUAD];
    if (width == 1)
        return emit_element(m, t, part, i);
    if (t->form == TILE_UNIFORM)
        return emit_splat(m, t->dtype, t->part[0], width);
    if (width == PAIR)
        return emit_part(m, t->dtype, t->part[part], i, PAIR, 1);
    for (int k = 0; k < QUAD; k++)
        group[k] = emit_part(m, t->dtype, t->part[part], i + QUAD * k, PAIR, 1);
    exchange(m, t->dtype, group);
    return emit_join(m, t->dtype, group, QUAD);
}

void emit_view_store(struct emit *m, const struct expr *target, const struct tile *value)
{
    struct view_part p;
    const struct tile t = emit_tile_like(&target->type, emit_blocks(m, &target->type, target->loc));
    if (!t.blocks || !find_part(m, target, &p))
        return;
    check_alone(m, &p, t.form);
    emit_and(m, &p.inside, emit_holds_first(m, t.form));
    const int most = together(m, target, t.form, PIECE);
    note(m, target, &t, most, true);
    struct tile from = *value;
    if (from.form != TILE_UNIFORM)
        from = emit_spread(m, value, &target->type, target->loc);
    int elements, parts = emit_parts(t.form, t.blocks, t.columns, &elements);
    for (int i = 0; i < parts; i++)
        for (int j = 0, width; j < elements; j += width == PIECE ? EXCHANGED : width) {
            width = width_at(most, j, elements);
            for (int row = 0; row < (width == PIECE ? 2 : 1); row++) {
                struct element at = place_at(m, &p, &t, &target->type, i, j + PAIR * row, width);
                store(m, t.dtype, at, stored(m, &from, i, j + PAIR * row, width));
            }
        }
}

/* --- elements --- */

struct scalar emit_view_element(struct emit *m, const struct expr *e)
{
    struct view_part p;
    if (!find_part(m, e, &p))
        return emit_constant(e->type.dtype, 0);
    struct element at = {p.base, emit_constant(DT_BOOL, 1)};
    return (struct scalar){load(m, e->type.dtype, 1, at, emit_constant(e->type.dtype, 0)),
                           e->type.dtype};
}

/* Stores one element, once for the role: by its one thread. */
void emit_view_store_element(struct emit *m, const struct expr *target, struct scalar value)
{
    struct view_part p;
    if (!find_part(m, target, &p))
        return;
    struct element at = {p.base, emit_constant(DT_BOOL, 1)};
    if (!m->place.one_thread)
        at.inside = emit_elected(m);
    store(m, target->type.dtype, at, value.o);
}

/* --- semaphores --- */

void emit_lock(struct emit *m, const struct expr *e)
{
    const bool locks = e->op == OP_LOCK;
    const enum dtype t = e->args[0]->type.dtype;
    struct thread_operand o[4] = {{0}, thread_integer(0), thread_integer(0)};
    struct view_part p;
    if (!m->kernel->cooperative && !m->ticket) {
        emit_missing(m, e->loc,
                     arena_printf(m->arena, "`%s` without `cooperative`", op_table[e->op].text),
                     "write `cooperative` in the kernel's head: all blocks run at the same time");
        return;
    }
    const struct loc before = emit_at(m, e->loc);
    o[3] = emit_as(m, emit_scalar(m, e->args[1]), t).o;
    if (!find_part(m, e->args[0], &p))
        return;
    o[0] = p.base.o;
    if (!locks) /* after what all threads wrote */
        emit_sync(m);
    struct thread_region *outer = emit_open_if(m, emit_elected(m));
    thread_add_counted(&m->b, locks ? THREAD_LOCK : THREAD_UNLOCK, t, DT_NONE, 0, o, 4);
    m->b.region = outer;
    if (locks)
        emit_sync(m);
    emit_at(m, before);
}

/* --- atomics --- */

enum thread_opcode emit_atomic_opcode(enum op op)
{
    if (op == OP_ARRIVE)
        return THREAD_ATOMIC_ARRIVE;
    return thread_opcode_of(op_table[op].text, strlen(op_table[op].text));
}

bool emit_has_atomic(struct emit *m, const struct expr *e)
{
    const enum dtype t = e->args[0]->type.dtype;
    const bool least = e->op == OP_ATOMIC_MIN || e->op == OP_ATOMIC_MAX;
    if (e->op == OP_ATOMIC_ADD || e->op == OP_ARRIVE || dtype_size(t) >= 4 ||
        (least && dtype_is_float(t)))
        return true;
    emit_missing(m, e->loc,
                 arena_printf(m->arena, "`%s` of %s", op_table[e->op].text, dtype_table[t].name),
                 "take elements of 32 or 64 bits");
    return false;
}

/* The part of a view or of a shared tile that an atomic changes. */
struct atomic_part {
    bool is_shared;
    struct view_part view;
    struct shared_place shared;
};

static bool find_atomic(struct emit *m, const struct expr *target, struct atomic_part *p)
{
    p->is_shared = target->sym->storage == ST_SHARED;
    return p->is_shared ? emit_shared_find(m, target, &p->shared) : find_part(m, target, &p->view);
}

/* Returns the element of the part that the thread holds at `at`. *inside: whether the view or tile has it. */
static struct thread_operand atomic_at(struct emit *m, const struct atomic_part *p,
                                       enum tile_form form, struct held at, int part, int i,
                                       struct scalar *inside)
{
    if (p->is_shared)
        return emit_shared_held(m, &p->shared, at, inside);
    struct element e = element_at(m, &p->view, form, at, part, i);
    *inside = e.inside;
    return e.address.o;
}

/* at: an element of shared memory, or an address */
static struct thread_operand change(struct emit *m, const struct expr *e, struct thread_operand at,
                                    const struct thread_operand *values)
{
    struct thread_operand o[] = {at, thread_integer(0), thread_integer(0), values[0], values[1]};
    return thread_use(thread_add_counted(&m->b, emit_atomic_opcode(e->op), e->args[0]->type.dtype,
                                         DT_NONE, 0, o, (size_t)e->count + 2));
}

static struct scalar one_atomic(struct emit *m, const struct expr *e, bool wanted)
{
    const enum dtype t = e->args[0]->type.dtype;
    struct scalar none = emit_constant(t, 0);
    struct thread_operand values[2] = {none.o, none.o};
    struct atomic_part p;
    if (!emit_has_atomic(m, e))
        return none;
    for (int i = 1; i < e->count; i++)
        values[i - 1] = emit_as(m, emit_scalar(m, e->args[i]), t).o;
    if (!find_atomic(m, e->args[0], &p))
        return none;
    struct scalar inside, zero = emit_constant(DT_U32, 0);
    struct held first = {zero, zero, emit_constant(DT_BOOL, 1)};
    struct thread_operand at =
        p.is_shared ? emit_shared_held(m, &p.shared, first, &inside) : p.view.base.o;
    if (e->op == OP_ARRIVE) /* after what all threads of the role wrote */
        emit_sync(m);
    if (m->place.one_thread)
        return (struct scalar){change(m, e, at, values), t};
    struct scratch s = {0};
    if (wanted)
        s = emit_scratch(m, t, 1);
    struct thread_region *outer = emit_open_if(m, emit_elected(m));
    struct thread_operand old = change(m, e, at, values);
    if (!wanted) {
        m->b.region = outer;
        return none;
    }
    THREAD_ADD_OP(&m->b, THREAD_STORE_SHARED, t, DT_NONE,
                  emit_scratch_at(m, &s, emit_constant(DT_U32, 0)), old);
    m->b.region = outer;
    emit_sync(m);
    old = emit_from_scratch(m, &s, emit_constant(DT_U32, 0));
    emit_was_read(m, &s);
    return (struct scalar){old, t};
}

struct scalar emit_view_atomic(struct emit *m, const struct expr *e, bool wanted)
{
    const struct loc before = emit_at(m, e->loc);
    const struct scalar old = one_atomic(m, e, wanted);
    emit_at(m, before);
    return old;
}

void emit_view_atomics(struct emit *m, const struct expr *e)
{
    const struct expr *target = e->args[0];
    struct tile t = {.form = emit_form(&target->type), .dtype = target->type.dtype},
                args[2] = {t, t};
    struct atomic_part p;
    if (!emit_has_atomic(m, e))
        return;
    t.blocks = emit_blocks(m, &target->type, target->loc);
    t.columns = emit_columns(&target->type);
    for (int i = 1; i < e->count && !m->failed; i++) {
        args[i - 1] = emit_tile_cast(m, emit_tile(m, e->args[i]), t.dtype);
        if (!m->failed && args[i - 1].form != TILE_UNIFORM)
            args[i - 1] = emit_spread(m, &args[i - 1], &target->type, e->loc);
    }
    if (m->failed || !find_atomic(m, target, &p))
        return;
    if (!p.is_shared)
        check_alone(m, &p.view, t.form);
    struct scalar first = emit_holds_first(m, t.form);
    int elements, parts = emit_parts(t.form, t.blocks, t.columns, &elements);
    for (int i = 0; i < parts; i++)
        for (int j = 0; j < elements; j++) {
            struct scalar inside;
            struct held h = emit_held(m, &t, &target->type, i, j);
            struct thread_operand at = atomic_at(m, &p, t.form, h, i, j, &inside);
            emit_and(m, &inside, first);
            if (inside.o.kind != THREAD_VALUE && inside.o.integer == 0)
                continue;
            struct thread_region *outer = emit_open_if(m, inside);
            struct thread_operand values[2] = {thread_integer(0), thread_integer(0)};
            for (int k = 0; k < e->count - 1; k++)
                values[k] = emit_element(m, &args[k], i, j);
            change(m, e, at, values);
            m->b.region = outer;
        }
}
