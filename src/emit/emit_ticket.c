/* Numbers of blocks that wait for other blocks, by locks.
 *
 * A block must not start before those for which it waits. So the blocks number themselves in the order in which they start: the
 * first thread of a block draws the number, and all its threads read it. The last draw makes the counter 0 again, for the next
 * launch. */
#include "emit/emit_own.h"

static void note_lock(void *user, struct stmt *s)
{
    if (s->kind == STMT_EFFECT)
        *(bool *)user |= s->value->op == OP_LOCK || s->value->op == OP_UNLOCK;
}

bool emit_draws(const struct emit *m)
{
    bool locks = false;
    stmt_walk(m->kernel->body, note_lock, &locks);
    return locks && !m->kernel->cooperative;
}

static struct scalar grid_extent(struct emit *m, int axis)
{
    const struct expr *e = m->kernel->grid[axis];
    int64_t known = 1;
    if (!e || eval_int(e, NULL, &known))
        return emit_constant(DT_U32, known);
    return emit_place(m, (enum thread_opcode)((int)THREAD_NCTAID_X + axis));
}

/* Returns, in all threads, the number that the first thread draws. */
static struct scalar draw(struct emit *m)
{
    struct scalar blocks = grid_extent(m, 0);
    for (int axis = 1; axis < 3; axis++)
        blocks = emit_op2(m, THREAD_MUL, DT_U32, blocks, grid_extent(m, axis));
    const struct scratch s = emit_scratch(m, DT_U32, 1);
    const struct scalar zero = emit_constant(DT_U32, 0), last = emit_by(m, THREAD_SUB, blocks, 1);
    struct thread_region *outer = emit_open_if(m, emit_elected(m));
    struct thread_value *old =
        THREAD_ADD_OP(&m->b, THREAD_ATOMIC_INC, DT_U32, DT_NONE, thread_use(m->ticket),
                      thread_integer(0), thread_integer(0), last.o);
    THREAD_ADD_OP(&m->b, THREAD_STORE_SHARED, DT_U32, DT_NONE, emit_scratch_at(m, &s, zero),
                  thread_use(old));
    m->b.region = outer;
    emit_sync(m);
    emit_was_read(m, &s);
    emit_settle_later(m);
    return (struct scalar){emit_from_scratch(m, &s, zero), DT_U32};
}

void emit_draw_block(struct emit *m)
{
    if (!m->ticket)
        return;
    m->place.role = -1;
    struct scalar rest = draw(m);
    for (int axis = 0; axis < 3; axis++) {
        const struct scalar extent = grid_extent(m, axis);
        const bool more = (axis < 2 && m->kernel->grid[2]) || (axis < 1 && m->kernel->grid[1]);
        struct scalar index = rest;
        if (more) {
            index = emit_op2(m, THREAD_REM, DT_U32, rest, extent);
            rest = emit_op2(m, THREAD_DIV, DT_U32, rest, extent);
        }
        m->block[axis] = emit_as(m, index, DT_I32);
    }
}

bool emit_drawn_block(const struct emit *m, const struct expr *e, struct scalar *out)
{
    if (m->ticket)
        *out = m->block[e->axis];
    return m->ticket != NULL;
}
