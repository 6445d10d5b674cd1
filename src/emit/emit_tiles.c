/* Tile-level kernels, with and without roles: their scalars and statements, on register tiles in the layouts of the plan. */
#include "emit/emit_fragment.h"

#include <math.h>

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
        emit_store_part(m, target, emit_elements_as(m, value, &target->type));
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
    emit_fragment_apart(m, &f);
    for (int32_t r = 0; f.dtype == DT_BOOL && r < f.count; r++)
        f.v[r].o = emit_predicate(m, f.v[r]);
    if (emit_reads_memory(m, value, target, EMIT_BY_LAYOUT, f.layout))
        emit_sync(m);
    emit_fragment_store(m, target, &f);
}

static bool is_zero(const struct fragment *f)
{
    const struct thread_operand *o = f->v ? &f->v[0].o : NULL;
    return o && emit_fragment_is_uniform(f) &&
           ((o->kind == THREAD_INTEGER && o->integer == 0) ||
            (o->kind == THREAD_FLOAT && o->real == 0 && !signbit(o->real)));
}

/* Returns registers [first, first + each) as a value of a slot. Groups have no constants of type bool. */
static struct thread_operand part_of(struct emit *m, struct fragment *f, int32_t first,
                                     int32_t each)
{
    for (int32_t r = first; each > 1 && !f->groups && f->dtype == DT_BOOL && r < first + each; r++)
        f->v[r].o = emit_predicate(m, f->v[r]);
    return emit_fragment_part(m, f, first, each);
}

/* Returns whether a product may still add to the variable, which is reported. */
static bool is_in_flight(struct emit *m, const struct variable *v, struct loc loc)
{
    if (v->flight == 0)
        return false;
    emit_error(m, loc, "`%s` is assigned while a product may still add to it", v->sym->name);
    diag_note(m->diag, loc, "wait for the product before: `dot_wait(0)`");
    return true;
}

/* Gives a register tile its value; NULL: zeros. Sums of products that begin at zero have any value, and do not count. */
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
    if (!v || (v->count - v->sums) * each != f.count)
        v = emit_declare(m, s, f.count / each);
    if (m->failed || is_in_flight(m, v, value ? value->loc : m->b.where))
        return;
    const bool zero = v->sums && is_zero(&f);
    if (f.each % each)
        emit_fragment_apart(m, &f);
    for (int32_t r = 0; r < f.count && !m->failed; r += each)
        v->slots[r / each] =
            (struct slot){zero ? thread_use(thread_add_counted(&m->b, THREAD_UNDEFINED, type.dtype,
                                                               DT_NONE, type.count, NULL, 0))
                               : part_of(m, &f, r, each),
                          type};
    if (v->sums)
        v->slots[v->count - 1] =
            (struct slot){thread_integer(!zero), {.dtype = DT_BOOL, .count = 1}};
}

/* Declares a register tile of a role. Products may add to it. */
static void declare_of_role(struct emit *m, const struct sym *s, struct loc loc)
{
    const bool sums = number_map_find(&m->sums, (uintptr_t)s) != NULL;
    if (!plan_role_holds(m->layouts, &s->type, loc)) {
        m->failed = true;
        return;
    }
    const int32_t count = emit_registers(plan_symbol(m->layouts, s));
    emit_note_tile(m, s);
    emit_declare(m, s, count / emit_registers_of_slot(m, s) + sums)->sums = sums;
}

static void declare(struct emit *m, const struct stmt *s)
{
    if (plan_reads_again(m->layouts, s->value))
        return;
    if (m->roles)
        declare_of_role(m, s->sym, s->loc);
    if (m->failed)
        return;
    if (s->sym->storage == ST_REG) {
        give(m, s->sym, s->value);
        emit_note_index(m, s->sym, s->value);
    } else {
        emit_declare_array(m, s);
    }
}

static void assign(struct emit *m, struct variable *v, const struct stmt *s)
{
    if (v->sym->storage == ST_REG)
        give(m, v->sym, s->value);
    else
        emit_give_elements(m, v, s->value);
}

/* --- atomics and scalars --- */

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
    if (waits || e->op == OP_ARRIVE) /* after what all threads wrote */
        emit_sync(m);
    return true;
}

static struct scalar one_atomic(struct emit *m, const struct expr *e, bool wanted)
{
    const enum dtype t = e->type.dtype;
    if (m->place.one_thread && e->op != OP_ARRIVE)
        return emit_atomic(m, e)[0];
    struct scalar index[MAX_RANK], values[2], inside, zero = emit_constant(DT_U32, 0);
    const bool collective = needs_block(e) || e->op == OP_ARRIVE;
    if (collective && !find_atomic(m, e, index, values, &inside))
        return emit_constant(t, 0);
    struct scratch s = {0};
    if (wanted)
        s = emit_scratch(m, t, 1);
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

struct scalar emit_atomic_once(struct emit *m, const struct expr *e, bool wanted)
{
    const struct loc before = emit_at(m, e->loc);
    const struct scalar old = one_atomic(m, e, wanted);
    emit_at(m, before);
    return old;
}

static void atomic(struct emit *m, const struct expr *e)
{
    if (e->args[0]->type.rank == 0)
        emit_atomic_once(m, e, false);
    else
        emit_fragment_atomic(m, e, NULL);
}

static bool scalar(struct emit *m, const struct expr *e, struct scalar *out)
{
    if (e->op == OP_BLOCK)
        return emit_drawn_block(m, e, out);
    if (e->op == OP_ACCESS)
        *out = emit_load_part(m, e)[0];
    else if (op_is_reduction(e->op))
        *out = emit_fragment_reduce(m, e).v[0];
    else if (op_is_atomic(e->op))
        *out = emit_atomic_once(m, e, true);
    else
        return false;
    return true;
}

/* Copies in the background of a role are done at once. */
static void store_at_once(struct emit *m, const struct stmt *s)
{
    store(m, s->target, s->value);
}

/* --- the kernel --- */

void emit_use_fragments(struct emit *m, struct scalar thread)
{
    m->fragments = true;
    m->place.warps = kernel_block_threads(m->kernel) / WARP_LANES;
    m->place.number = m->place.lane = thread;
    m->place.warp = emit_constant(DT_U32, 0);
    if (m->place.warps > 1) { /* as digits of the thread's number, which layouts have, too */
        m->place.lane = emit_thread_digit(m, 1, WARP_LANES);
        m->place.warp = emit_thread_digit(m, WARP_LANES, m->place.warps);
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

const struct by_threads emit_by_roles = {
    .heads = "roles or mbarriers",
    .scalar = scalar,
    .store = store,
    .declare = declare,
    .assign = assign,
    .atomic = atomic,
    .copy_async = store_at_once,
    .place_in_shared = emit_planned_place,
};

const struct by_threads emit_by_tiles = {
    .heads = "`warps(…)`",
    .enter = enter,
    .scalar = scalar,
    .store = store,
    .declare = declare,
    .assign = assign,
    .atomic = atomic,
    .copy_async = emit_planned_copy,
    .place_in_shared = emit_planned_place,
};
