/* Shared memory of the compiler's own, through which threads exchange elements. Each role has some for each element type
 * that it exchanges, and each replica its own elements of it. */
#include "emit/emit_own.h"

/* Finds scratch. at: the byte at which it begins, of a role's scratch or of the block's shared memory */
static struct scratch_object *find(const struct emit *m, enum dtype t, uint32_t at)
{
    for (size_t i = 0; i < m->scratch.count; i++) {
        struct scratch_object *s = &m->scratch.data[i];
        if (s->role == m->place.role && s->object->dtype == t && s->object->at == at)
            return s;
    }
    return NULL;
}

void emit_was_read(struct emit *m, const struct scratch *s)
{
    plan_room_done(&m->room, s->object->at);
}

/* Takes room for the elements where no shared tile is in use. Returns its place. */
static uint32_t take_room(struct emit *m, int64_t bytes)
{
    bool dirty;
    if (m->loop && m->loop->start == LOOP_NOTHING)
        m->loop->start = LOOP_SCRATCH;
    m->room.tiles_used = m->place.touched ? m->room.barriers : -1;
    const int64_t at = plan_room_find(&m->room, bytes, m->loop != NULL, &dirty);
    if (dirty)
        emit_sync(m);
    plan_room_take(&m->room, at, bytes);
    return (uint32_t)at;
}

struct scratch emit_scratch(struct emit *m, enum dtype t, int64_t elements)
{
    const uint32_t at = take_room(m, elements * (int64_t)dtype_size(t));
    struct scratch_object *found = find(m, t, at);
    struct scalar first = emit_constant(DT_U32, 0);
    if (!found) {
        struct scratch_object s = {.role = m->place.role};
        const char *name = arena_printf(m->arena, "scratch%d", (int)m->scratch.count);
        s.object = thread_new_object(&m->b, kernel_unused_name(m->kernel, name), t, 0, at);
        vec_push(m->arena, &m->scratch, s);
        found = &m->scratch.data[m->scratch.count - 1];
    }
    if (elements > found->object->count)
        found->object->count = (uint32_t)elements;
    if (m->place.scratch_step)
        first = emit_by(m, THREAD_MUL, m->place.scratch,
                        EMIT_SCRATCH_ALIGNMENT / (int64_t)dtype_size(t));
    return (struct scratch){found->object, first, 0};
}

struct scratch emit_scratch_rows(struct emit *m, enum dtype t, int64_t rows, int64_t columns)
{
    enum { APART = 16 }; /* bytes between the banks of neighbouring rows */
    int64_t each = (int64_t)dtype_size(t);
    int64_t more = (APART - columns * each % EMIT_PANEL + EMIT_PANEL) % EMIT_PANEL;
    columns += more % each == 0 ? more / each : 0;
    struct scratch s = emit_scratch(m, t, rows * columns);
    s.columns = columns;
    return s;
}

struct thread_operand emit_scratch_at(struct emit *m, const struct scratch *s, struct scalar index)
{
    return thread_element(s->object, emit_op2(m, THREAD_ADD, DT_U32, s->first, index).o, 0);
}

/* --- places --- */

void emit_mark_overlays(struct emit *m)
{
    struct thread_function *f = m->b.function;
    for (size_t i = 0; i < f->objects.count; i++)
        for (size_t j = 0; j < i; j++)
            f->objects.data[i]->overlays |=
                thread_objects_overlap(f->objects.data[i], f->objects.data[j]);
}

/* Makes the place of a replica's scratch a value. How many bytes a replica has is known when the role ends. */
static void find_replica(struct emit *m)
{
    struct thread_operation *step = thread_add_control(&m->b, THREAD_MUL);
    struct thread_value *v =
        thread_new_value(&m->b, (struct thread_type){.dtype = DT_U32, .count = 1});
    step->types[0] = DT_U32;
    vec_push(m->arena, &step->operands, m->place.replica.o);
    vec_push(m->arena, &step->operands, thread_integer(0));
    vec_push(m->arena, &step->results, v);
    m->place.scratch = emit_of_value(v, DT_U32);
    m->place.scratch_step = step;
}

/* The scratch only grows where a stretch of it is too short, because the tiles of such kernels take most of the shared memory. */
void emit_open_room(struct emit *m)
{
    m->room =
        (struct room){.arena = m->arena, .tiles_used = -1, .alignment = EMIT_SCRATCH_ALIGNMENT};
    if (m->place.replicas > 1)
        find_replica(m);
}

static int64_t aligned(int64_t bytes)
{
    return (bytes + EMIT_SCRATCH_ALIGNMENT - 1) / EMIT_SCRATCH_ALIGNMENT * EMIT_SCRATCH_ALIGNMENT;
}

void emit_close_room(struct emit *m)
{
    const int64_t at = aligned(m->shared_bytes), each = aligned(m->room.bytes);
    for (size_t i = 0; i < m->scratch.count; i++) {
        struct thread_object *o = m->scratch.data[i].object;
        if (m->scratch.data[i].role != m->place.role)
            continue;
        o->at += (uint32_t)at;
        o->count += (uint32_t)((m->place.replicas - 1) * each / thread_element_bytes(o));
    }
    if (each > 0)
        m->shared_bytes = at + each * m->place.replicas;
    if (m->place.scratch_step)
        m->place.scratch_step->operands.data[1].integer = each / EMIT_SCRATCH_ALIGNMENT;
}

/* Emits a store of v by the threads of the predicate. */
static void store_if(struct emit *m, struct scalar predicate, enum dtype t,
                     struct thread_operand to, struct thread_operand v)
{
    struct thread_region *outer = emit_open_if(m, predicate);
    THREAD_ADD_OP(&m->b, THREAD_STORE_SHARED, t, DT_NONE, to, v);
    m->b.region = outer;
}

/* --- whole tiles --- */

/* Returns whether index - start is below the extent. *index becomes the difference. */
static struct scalar narrow(struct emit *m, struct scalar *index, int64_t start, int64_t extent,
                            int64_t all)
{
    if (start == 0 && extent == all)
        return emit_constant(DT_BOOL, 1);
    *index = emit_by(m, THREAD_SUB, *index, start);
    return emit_by(m, THREAD_LT, *index, extent);
}

void emit_to_scratch(struct emit *m, const struct scratch *s, const struct tile *t,
                     const struct type *type, const struct window *w)
{
    int elements, parts = emit_parts(t->form, t->blocks, t->columns, &elements);
    const int64_t all[2] = {type->rank > 1 ? type->extent[type->rank - 2] : 1,
                            type->rank > 0 ? type->extent[type->rank - 1] : 1};
    const struct window whole = {{0, 0}, {all[0], all[1]}}, *part = w ? w : &whole;
    struct scalar columns = emit_constant(DT_U32, s->columns ? s->columns : part->extent[1]);
    struct scalar first = emit_holds_first(m, t->form);
    for (int p = 0; p < parts; p++)
        for (int i = 0; i < elements; i++) {
            struct held h = emit_held(m, t, type, p, i);
            struct scalar inside = narrow(m, &h.column, part->start[1], part->extent[1], all[1]);
            emit_and(m, &h.real, inside);
            inside = narrow(m, &h.row, part->start[0], part->extent[0], all[0]);
            emit_and(m, &h.real, inside);
            struct scalar index = emit_op2(m, THREAD_MUL, DT_U32, h.row, columns);
            index = emit_op2(m, THREAD_ADD, DT_U32, index, h.column);
            struct thread_operand element = emit_element(m, t, p, i);
            struct thread_operand to = emit_scratch_at(m, s, index);
            store_if(m, emit_op2(m, THREAD_AND, DT_BOOL, h.real, first), t->dtype, to, element);
        }
}

struct thread_operand emit_from_scratch(struct emit *m, const struct scratch *s,
                                        struct scalar index)
{
    struct thread_operand from = emit_scratch_at(m, s, index);
    return thread_use(
        thread_add_counted(&m->b, THREAD_LOAD_SHARED, s->object->dtype, DT_NONE, 1, &from, 1));
}

/* --- a value of each warp --- */

struct scratch emit_warps_to_scratch(struct emit *m, enum dtype t, struct thread_operand v,
                                     int columns)
{
    struct scratch s = emit_scratch(m, t, (int64_t)m->place.warps * columns);
    struct tile of_warp = {.form = columns > 1 ? TILE_COLUMNS : TILE_UNIFORM,
                           .dtype = t,
                           .blocks = 1,
                           .columns = columns,
                           .part = {v}};
    int elements, lanes = columns > 1 ? 4 : 1;
    emit_parts(of_warp.form, 1, columns, &elements);
    const struct type type = {.rank = 1, .extent = {columns}};
    struct scalar first = emit_by(m, THREAD_LT, m->place.lane, lanes);
    struct scalar base = emit_by(m, THREAD_MUL, m->place.warp, columns);
    for (int i = 0; i < elements; i++) {
        struct held h = emit_held(m, &of_warp, &type, 0, i);
        struct thread_operand element = emit_element(m, &of_warp, 0, i);
        struct scalar at = emit_op2(m, THREAD_ADD, DT_U32, base, h.column);
        store_if(m, first, t, emit_scratch_at(m, &s, at), element);
    }
    return s;
}
