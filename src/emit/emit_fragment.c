/* Tile-level kernels: expressions and statements on register tiles, in the layouts of the plan. An operation on tiles is
 * one operation for each register. */
#include "emit/emit_fragment.h"
#include "plan/plan_layouts.h"

#include <assert.h>
#include <string.h>

/* --- operations --- */

static struct fragment operate(struct emit *m, const struct expr *e, const struct layout *wanted)
{
    struct fragment args[EMIT_MOST_ARGS], out = emit_fragment_new(m, e->type.dtype, wanted);
    if (!emit_is_of_elements(e)) {
        emit_missing(m, e->loc, arena_printf(m->arena, "`%s` of tiles", op_table[e->op].text),
                     NULL);
        return out;
    }
    for (int i = 0; i < e->count; i++)
        args[i] = emit_fragment(m, e->args[i], wanted);
    if (e->op == OP_CAST && !m->failed)
        return emit_fragment_cast(m, &args[0], e->type.dtype);
    for (int32_t r = 0; r < out.count && !m->failed; r++) {
        struct scalar one[EMIT_MOST_ARGS] = {0};
        for (int i = 0; i < e->count; i++)
            one[i] = args[i].v[r];
        out.v[r] = emit_of_elements(m, e, one);
    }
    return out;
}

/* Chooses between two tiles by one condition. */
static struct fragment choose(struct emit *m, const struct expr *e, const struct layout *wanted)
{
    const enum dtype t = e->type.dtype;
    struct scalar c = emit_as(m, emit_scalar(m, e->args[0]), DT_BOOL);
    if (c.o.kind != THREAD_VALUE) {
        const struct fragment known = emit_fragment(m, e->args[c.o.integer ? 1 : 2], wanted);
        return emit_fragment_cast(m, &known, t);
    }
    struct fragment out = emit_fragment_new(m, t, wanted);
    emit_settle(m);
    const struct choice choice = emit_choice(m, c);
    for (int i = 1; i <= 2; i++) {
        emit_choice_arm(m, &choice);
        const struct fragment arm = emit_fragment(m, e->args[i], wanted);
        for (int32_t r = 0; r < out.count; r++)
            out.v[r] = emit_as(m, arm.v[r], t);
        emit_settle(m);
        emit_choice_give(m, out.v, out.count);
    }
    emit_choice_end(m, &choice, (struct thread_type){.dtype = t, .count = 1}, out.v, out.count);
    return out;
}

static struct fragment count(struct emit *m, const struct expr *e, const struct layout *wanted)
{
    struct fragment f = emit_fragment_new(m, e->type.dtype, wanted);
    const struct spots s = emit_spots(m, wanted);
    int axis = 0;
    while (axis + 1 < e->type.rank && e->type.extent[axis] == 1)
        axis++;
    for (int32_t r = 0; r < f.count; r++) {
        const struct coordinate c = emit_spot(m, &s, axis, r);
        f.v[r] = emit_as(
            m, emit_op2(m, THREAD_ADD, DT_I32, c.thread, emit_constant(DT_I32, c.more)), f.dtype);
    }
    return f;
}

/* --- leaves --- */

/* An array, or a part of it, which each thread has whole. */
static struct fragment of_array(struct emit *m, const struct expr *e)
{
    struct fragment f = emit_fragment_new(m, e->type.dtype, plan_everywhere(m->layouts, &e->type));
    const struct scalar *x = emit_elements(m, e);
    for (int32_t r = 0; r < f.count; r++)
        f.v[r] = x[r];
    return f;
}

static struct fragment of_symbol(struct emit *m, const struct expr *e)
{
    if (e->sym->storage == ST_ARRAY)
        return of_array(m, e);
    const struct variable *v = emit_variable(m, e->sym);
    struct fragment f = {.dtype = e->sym->type.dtype, .layout = plan_symbol(m->layouts, e->sym)};
    f.count = emit_registers(f.layout);
    f.each = emit_registers_of_slot(m, e->sym);
    assert(v && v->count * f.each == f.count);
    f.groups = arena_room(m->arena, ((size_t)v->count + 1) * sizeof *f.groups);
    for (int i = 0; i < v->count; i++)
        f.groups[i] = v->slots[i].o;
    if (f.each == 1)
        emit_fragment_apart(m, &f);
    return f;
}

/* A constant part of a register tile, axis by axis. */
static struct fragment part(struct emit *m, const struct expr *e)
{
    struct fragment f = of_symbol(m, e);
    for (int i = 0; i < e->indices && !m->failed; i++) {
        struct layout l;
        int64_t start = 0;
        if (e->index[i].kind != IX_SLICE)
            continue;
        emit_fragment_apart(m, &f);
        if (!eval_int(e->index[i].value, NULL, &start) ||
            !layout_slice_out(f.layout, AXIS_DIM(i), (int32_t)start, (int32_t)e->index[i].extent,
                              &l)) {
            emit_error(m, e->loc, "a slice of a register tile begins at a constant");
            return f;
        }
        struct fragment out = emit_fragment_new(m, f.dtype, plan_keep(m->layouts, &l));
        int32_t *source = arena_array(m->arena, int32_t, out.count + 1);
        layout_slice_registers(f.layout, plan_register_places(m->layouts, f.layout), &l,
                               AXIS_DIM(i), (int32_t)start, source);
        for (int32_t r = 0; r < out.count; r++)
            out.v[r] = source[r] >= 0 ? f.v[source[r]] : out.v[r];
        f = out;
    }
    return f;
}

static struct fragment access(struct emit *m, const struct expr *e, const struct layout *wanted)
{
    const struct layout *own = wanted;
    if (e->sym->storage == ST_REG)
        return part(m, e);
    if (e->sym->storage == ST_VIEW)
        own = plan_keep(m->layouts, plan_view(m->layouts, e, wanted, false));
    else if (e->sym->storage != ST_SHARED)
        return of_symbol(m, e);
    return emit_fragment_load(m, e, own, false);
}

/* --- shapes --- */

static struct fragment shape(struct emit *m, const struct expr *e, const struct layout *wanted)
{
    const struct expr *arg = e->args[0];
    struct layout memory, from;
    if (arg->type.rank == 0)
        return emit_fragment(m, arg, wanted);
    const struct layout *source = plan_shape_source(m->layouts, e, wanted);
    struct fragment f = source ? emit_fragment(m, arg, source) : emit_fragment_natural(m, arg);
    if (source) {
        f.layout = wanted;
        return f;
    }
    plan_shape_through_memory(e, &memory, &from);
    return m->failed ? emit_fragment_new(m, f.dtype, wanted)
                     : emit_fragment_through(m, &f, &memory, &from, wanted);
}

/* --- any expression --- */

static struct fragment own(struct emit *m, const struct expr *e, const struct layout *wanted)
{
    const struct expr *again = emit_index_value(m, e);
    if (again && plan_symbol(m->layouts, e->sym) != wanted)
        return emit_fragment(m, again, wanted);
    struct fragment f;
    switch (e->op) {
    case OP_REF: f = of_symbol(m, e); break;
    case OP_ACCESS: f = access(m, e, wanted); break;
    case OP_SELECT: return choose(m, e, wanted);
    case OP_IOTA: return count(m, e, wanted);
    case OP_BROADCAST: return emit_fragment(m, e->args[0], wanted);
    case OP_SCAN: f = emit_fragment_scan(m, e, wanted); break;
    case OP_DOT: f = emit_fragment_dot(m, e); break;
    case OP_REDUCE_SUM:
    case OP_REDUCE_MAX:
    case OP_REDUCE_MIN:
    case OP_REDUCE_ANY:
    case OP_REDUCE_ALL: f = emit_fragment_reduce(m, e); break;
    case OP_TRANS:
    case OP_RESHAPE:
    case OP_REPEAT:
    case OP_REPEAT_INTERLEAVE: return shape(m, e, wanted);
    default:
        if (op_is_atomic(e->op))
            return emit_fragment_atomic(m, e, wanted);
        return operate(m, e, wanted);
    }
    return emit_fragment_convert(m, &f, wanted);
}

struct fragment emit_fragment_expr(struct emit *m, const struct expr *e,
                                   const struct layout *layout)
{
    const struct layout *wanted = plan_keep(m->layouts, layout);
    const bool is_scalar = e->type.rank == 0;
    const struct layout *of_own =
        m->failed || is_scalar ? wanted : plan_operand_layout(m->layouts, wanted, &e->type);
    struct fragment x = {0};
    if (!m->failed && !is_scalar)
        x = own(m, e, of_own);
    if (!m->failed && !is_scalar && of_own == wanted)
        return x;
    struct fragment out = emit_fragment_new(m, e->type.dtype, wanted);
    if (m->failed)
        return out;
    const struct scalar one = is_scalar ? emit_scalar(m, e) : emit_constant(out.dtype, 0);
    const int32_t *registers =
        is_scalar ? NULL : plan_operand_registers(m->layouts, wanted, of_own, &e->type);
    emit_fragment_apart(m, &x);
    for (int32_t r = 0; r < out.count; r++)
        out.v[r] = is_scalar ? one : x.v[registers[r]];
    return out;
}

/* --- statements --- */

static void store_element(struct emit *m, const struct expr *target, const struct expr *value)
{
    const struct scalar v = emit_as(m, emit_scalar(m, value), target->sym->type.dtype);
    const struct loc before = emit_at(m, target->loc);
    struct scalar index[MAX_RANK];
    struct part_access p;
    if (!emit_find_part(m, target, &p))
        return;
    struct scalar inside = emit_element_of(m, &p, 0, index);
    if (target->sym->storage != ST_ARRAY && !m->place.one_thread) {
        emit_and(m, &inside, emit_elected(m));
        if (emit_reads_memory(m, value, target, EMIT_ANY_THREAD, NULL))
            emit_sync(m);
    }
    emit_store_if(m, target, index, inside, v);
    emit_note_elements(m, target, 1, true);
    emit_at(m, before);
}

/* Returns whether the store copies a part of a view to a shared tile without a change, in the layout that the plan gives such
 * copies. */
static bool copies(const struct expr *target, const struct expr *value)
{
    return target->sym->storage == ST_SHARED && value->op == OP_ACCESS &&
           value->sym->storage == ST_VIEW && value->type.dtype == target->type.dtype &&
           type_same_shape(&value->type, &target->type);
}

static void store(struct emit *m, const struct expr *target, const struct expr *value)
{
    if (target->type.rank == 0) {
        store_element(m, target, value);
        return;
    }
    if (target->sym->storage == ST_ARRAY) {
        emit_by_threads.store(m, target, value);
        return;
    }
    struct fragment f =
        copies(target, value)
            ? emit_fragment_load(m, value, plan_copy(m->layouts, target, value), true)
            : emit_fragment_shaped(m, value, &target->type);
    f = emit_fragment_cast(m, &f, target->sym->type.dtype);
    if (m->failed)
        return;
    if (target->sym->storage == ST_VIEW)
        f = emit_fragment_convert(
            m, &f, plan_keep(m->layouts, plan_view(m->layouts, target, f.layout, true)));
    if (emit_reads_memory(m, value, target, EMIT_BY_LAYOUT, f.layout))
        emit_sync(m);
    emit_fragment_store(m, target, &f);
}

/* Gives a register tile its value; NULL: zeros. */
static void give(struct emit *m, const struct sym *s, const struct expr *value)
{
    const struct layout *l = plan_symbol(m->layouts, s);
    struct fragment f =
        value ? emit_fragment_grouped(m, value, l) : emit_fragment_new(m, s->type.dtype, l);
    if (f.dtype != s->type.dtype)
        f = emit_fragment_cast(m, &f, s->type.dtype);
    struct variable *v = emit_variable(m, s);
    const int32_t each = emit_registers_of_slot(m, s);
    const struct thread_type type = {.dtype = s->type.dtype, .count = (uint16_t)each};
    if (!v || v->count * each != f.count)
        v = emit_declare(m, s, f.count / each);
    if (f.each % each)
        emit_fragment_apart(m, &f);
    for (int32_t r = 0; r < f.count && !m->failed; r += each)
        v->slots[r / each] = (struct slot){emit_fragment_part(m, &f, r, each), type};
}

static void declare(struct emit *m, const struct stmt *s)
{
    if (plan_reads_again(m->layouts, s->value))
        return;
    if (s->sym->storage == ST_REG) {
        give(m, s->sym, s->value);
        emit_note_index(m, s->sym, s->value);
    } else {
        emit_by_threads.declare(m, s);
    }
}

static void assign(struct emit *m, struct variable *v, const struct stmt *s)
{
    if (v->sym->storage == ST_REG)
        give(m, v->sym, s->value);
    else
        emit_by_threads.assign(m, v, s);
}

static void note_tile(void *user, struct expr **at)
{
    *(bool *)user |= (*at)->type.rank > 0;
}

/* Returns whether tiles occur in a value or an index of an atomic, so that all threads must compute it. */
static bool needs_block(const struct expr *e)
{
    struct expr *root = (struct expr *)e;
    bool found = false;
    expr_walk(&root, note_tile, &found);
    return found;
}

/* Computes the index and the values of an atomic of one element, in all threads. */
static bool find_atomic(struct emit *m, const struct expr *e, struct scalar *index,
                        struct scalar *values, struct scalar *inside)
{
    const struct expr *target = e->args[0];
    struct part_access p;
    bool waits = false;
    for (int i = 1; i < e->count; i++) {
        values[i - 1] = emit_as(m, emit_scalar(m, e->args[i]), target->sym->type.dtype);
        waits |= emit_reads_memory(m, e->args[i], target, EMIT_ANY_THREAD, NULL);
    }
    if (m->failed || !emit_has_atomic(m, e) || !emit_find_part(m, target, &p))
        return false;
    *inside = emit_element_of(m, &p, 0, index);
    if (waits)
        emit_sync(m);
    return true;
}

/* An atomic of one element, by one thread. Returns its old value, which all threads have if `wanted`. */
static struct scalar one_atomic(struct emit *m, const struct expr *e, bool wanted)
{
    const enum dtype t = e->type.dtype;
    if (e->op == OP_ARRIVE)
        return emit_view_atomic(m, e, wanted);
    if (m->place.one_thread)
        return emit_atomic(m, e)[0];
    struct scalar index[MAX_RANK], values[2], inside, zero = emit_constant(DT_U32, 0);
    const bool collective = needs_block(e);
    if (collective && !find_atomic(m, e, index, values, &inside))
        return emit_constant(t, 0);
    struct scratch s = {0};
    if (wanted)
        s = emit_scratch(m, t, 0, 1);
    struct thread_region *outer = emit_open_if(m, emit_elected(m));
    struct scalar old =
        collective ? emit_atomic_at(m, e, index, values, inside, wanted) : emit_atomic(m, e)[0];
    if (!wanted) {
        m->b.region = outer;
        return emit_constant(t, 0);
    }
    THREAD_ADD_OP(&m->b, THREAD_STORE_SHARED, t, DT_NONE, emit_scratch_at(m, &s, zero), old.o);
    m->b.region = outer;
    emit_sync(m);
    old = (struct scalar){emit_from_scratch(m, &s, zero), t};
    emit_was_read(m, &s);
    return old;
}

static bool scalar(struct emit *m, const struct expr *e, struct scalar *out)
{
    switch (e->op) {
    case OP_BLOCK: return emit_drawn_block(m, e, out);
    case OP_ACCESS: *out = emit_load_part(m, e)[0]; return true;
    case OP_REDUCE_SUM:
    case OP_REDUCE_MAX:
    case OP_REDUCE_MIN:
    case OP_REDUCE_ANY:
    case OP_REDUCE_ALL: *out = emit_fragment_reduce(m, e).v[0]; return true;
    default:
        if (op_is_atomic(e->op))
            *out = one_atomic(m, e, true);
        return op_is_atomic(e->op);
    }
}

static bool effect(struct emit *m, const struct stmt *s)
{
    const struct expr *e = s->value;
    if (!op_is_atomic(e->op))
        return emit_by_threads.effect(m, s);
    if (e->args[0]->type.rank == 0)
        one_atomic(m, e, false);
    else
        emit_fragment_atomic(m, e, NULL);
    return true;
}

void emit_use_fragments(struct emit *m, struct scalar thread)
{
    m->fragments = true;
    m->place.warps = kernel_block_threads(m->kernel) / WARP_LANES;
    m->place.number = m->place.lane = thread;
    m->place.warp = emit_constant(DT_U32, 0);
    if (m->place.warps > 1) { /* as digits of the thread's number, which layouts have, too */
        m->place.lane = emit_by(m, THREAD_REM, thread, WARP_LANES);
        m->place.warp = emit_by(m, THREAD_DIV, thread, WARP_LANES);
    }
}

static void enter(struct emit *m)
{
    struct scalar zero = emit_constant(DT_U32, 0), thread = emit_place(m, THREAD_TID_X);
    m->place = (struct position){.replicas = 1, .group = zero, .replica = zero};
    emit_use_fragments(m, thread);
    m->place.elected = emit_by(m, THREAD_EQ, thread, 0).o.value;
    emit_note_dots(m);
    emit_draw_block(m);
}

const struct by_threads emit_by_tiles = {
    .heads = "`warps(…)`",
    .enter = enter,
    .scalar = scalar,
    .store = store,
    .declare = declare,
    .assign = assign,
    .effect = effect,
    .copy_async = emit_planned_copy,
    .place_in_shared = emit_planned_place,
};
