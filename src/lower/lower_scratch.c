/* Shared memory for the compiler's own exchanges (plan/plan_room.h), with the barriers that it needs. */
#include "lower/lower_memory_own.h"

#include <assert.h>

void sync_statement(struct lower *l, const struct stmt *s)
{
    plan_room_statement(&l->memory->room, s);
    l->memory->statement = s;
    l->memory->views.count = 0;
    l->memory->reads.count = 0;
}

int64_t scratch_take(struct lower *l, int64_t bytes)
{
    struct room *r = &l->memory->room;
    bool dirty;
    int64_t at = plan_room_find(r, bytes, l->memory->loops.count > 0, &dirty);
    if (dirty)
        barrier_emit(l);
    plan_room_take(r, at, bytes);
    l->out->shared_bytes = r->bytes;
    return at;
}

void scratch_done(struct lower *l)
{
    plan_room_done(&l->memory->room, -1);
}

/* --- loops, and code that may not have run --- */

void scratch_forget(struct lower *l)
{
    struct memory *m = l->memory;
    for (size_t i = 0; i < m->room.stretches.count; i++)
        m->room.stretches.data[i].done = m->room.barriers;
    for (size_t i = 0; i < m->loops.count; i++)
        m->loops.data[i].barriers = m->room.barriers;
    if (m->room.tiles_used >= 0)
        m->room.tiles_used = m->room.barriers;
}

void scratch_enter_loop(struct lower *l, bool jumps)
{
    struct loop_mark mark = {l->memory->room.barriers, l->memory->room.stretches.count, jumps};
    vec_push(l->arena, &l->memory->loops, mark);
}

/* Might the next iteration write what this one's threads are still reading? Every stretch must
 * meet a barrier between its last reading and the next writing. */
static bool meets_itself(const struct memory *m, const struct loop_mark *mark)
{
    for (size_t i = mark->scratches; i < m->room.stretches.count; i++)
        for (size_t j = mark->scratches; j < m->room.stretches.count; j++) {
            const struct room_stretch *read = &m->room.stretches.data[i];
            const struct room_stretch *written = &m->room.stretches.data[j];
            int64_t after_read = m->room.barriers - read->done;
            int64_t before_write = written->taken - mark->barriers;
            bool apart = !mark->jumps && (after_read > 0 || before_write > 0);
            if (!apart && read->from < written->to && written->from < read->to)
                return true;
        }
    return false;
}

void sync_leave_loop(struct lower *l)
{
    struct memory *m = l->memory;
    assert(m->loops.count > 0);
    struct loop_mark mark = m->loops.data[--m->loops.count];
    if (meets_itself(m, &mark))
        barrier_emit(l);
}
