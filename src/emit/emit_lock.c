/* Semaphores, and which atomics a target has. */
#include "emit/emit_own.h"

#include <string.h>

/* --- semaphores --- */

void emit_lock(struct emit *m, const struct expr *e)
{
    const bool locks = e->op == OP_LOCK;
    const enum dtype t = e->args[0]->type.dtype;
    struct thread_operand o[4] = {{0}, thread_integer(0), thread_integer(0)};
    struct part_access p;
    struct scalar index[MAX_RANK];
    if (!m->kernel->cooperative && !m->ticket) {
        emit_missing(m, e->loc,
                     arena_printf(m->arena, "`%s` without `cooperative`", op_table[e->op].text),
                     "write `cooperative` in the kernel's head: all blocks run at the same time");
        return;
    }
    const struct loc before = emit_at(m, e->loc);
    o[3] = emit_as(m, emit_scalar(m, e->args[1]), t).o;
    if (!emit_find_part(m, e->args[0], &p))
        return;
    emit_element_of(m, &p, 0, index);
    emit_memory_at(m, e->args[0]->sym, index, o);
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
