/* Shared memory of the compiler's own, through which threads exchange elements. Each role has some for each element type
 * that it exchanges, and each replica its own elements of it. */
#include "emit/emit_own.h"

/* Finds scratch. at: the byte at which it begins; 0 in a kernel with roles, whose scratch gets its place at the end. */
static struct scratch_object *find(const struct emit *m, enum dtype t, int slot, uint32_t at)
{
    for (size_t i = 0; i < m->scratch.count; i++) {
        struct scratch_object *s = &m->scratch.data[i];
        if (s->role == m->place.role && s->object->dtype == t && s->slot == slot &&
            s->object->at == at)
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

struct scratch emit_scratch(struct emit *m, enum dtype t, int slot, int64_t elements)
{
    const uint32_t at = m->by_threads ? take_room(m, elements * (int64_t)dtype_size(t)) : 0;
    struct scratch_object *found = find(m, t, slot, at);
    if (!found) {
        struct scratch_object s = {.role = m->place.role, .slot = slot};
        const char *name = arena_printf(m->arena, "scratch%d", (int)m->scratch.count);
        s.object = thread_new_object(&m->b, kernel_unused_name(m->kernel, name), t, 0, at);
        vec_push(m->arena, &m->scratch, s);
        found = &m->scratch.data[m->scratch.count - 1];
    }
    uint32_t count = (uint32_t)(elements * m->place.replicas);
    if (count > found->object->count)
        found->object->count = count;
    return (struct scratch){found->object, m->place.replicas, 0};
}

struct scratch emit_scratch_rows(struct emit *m, enum dtype t, int slot, int64_t rows,
                                 int64_t columns)
{
    enum { APART = 16 }; /* bytes between the banks of neighbouring rows */
    int64_t each = (int64_t)dtype_size(t) * m->place.replicas;
    int64_t more = (APART - columns * each % EMIT_PANEL + EMIT_PANEL) % EMIT_PANEL;
    columns += more % each == 0 ? more / each : 0;
    struct scratch s = emit_scratch(m, t, slot, rows * columns);
    s.columns = columns;
    return s;
}

/* Returns element `index`. Elements of the replicas alternate, because the number of elements is not known before the end. */
struct thread_operand emit_scratch_at(struct emit *m, const struct scratch *s, struct scalar index)
{
    struct scalar each = emit_by(m, THREAD_MUL, index, s->replicas);
    each = emit_op2(m, THREAD_ADD, DT_U32, each, m->place.replica);
    return thread_element(s->object, each.o, 0);
}

/* Marks the arrays that lie on arrays before them. */
static void overlay(struct thread_function *f)
{
    for (size_t i = 0; i < f->objects.count; i++)
        for (size_t j = 0; j < i; j++)
            f->objects.data[i]->overlays |=
                thread_objects_overlap(f->objects.data[i], f->objects.data[j]);
}

void emit_place_scratch(struct emit *m)
{
    enum { ALIGNMENT = EMIT_SCRATCH_ALIGNMENT };
    int64_t at = m->by_threads ? m->room.bytes : m->kernel->shared_bytes;
    for (size_t i = 0; !m->by_threads && i < m->scratch.count; i++) {
        struct thread_object *o = m->scratch.data[i].object;
        at = (at + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        o->at = (uint32_t)at;
        at += (int64_t)o->count * thread_element_bytes(o);
    }
    m->shared_bytes = at;
    if (m->by_threads)
        overlay(m->b.function);
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
    struct scratch s = emit_scratch(m, t, 0, (int64_t)m->place.warps * columns);
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
