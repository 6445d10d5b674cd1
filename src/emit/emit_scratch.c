/* Shared memory of the compiler's own, through which threads exchange elements. Each role has a part, for all element types, and
 * each replica its own elements of it. */
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
    return (struct scratch){found->object, first};
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

struct thread_operand emit_from_scratch(struct emit *m, const struct scratch *s,
                                        struct scalar index)
{
    struct thread_operand from = emit_scratch_at(m, s, index);
    return thread_use(
        thread_add_counted(&m->b, THREAD_LOAD_SHARED, s->object->dtype, DT_NONE, 1, &from, 1));
}
