/* Atomics on one element: the instruction, or a loop where there is none.
 *
 * All are relaxed, at the scope of the GPU: they order nothing but themselves. A sum of f32 in
 * global memory flushes subnormal numbers (PTX ISA, atom).
 */
#include "lower/lower_element.h"
#include "lower/lower_emit.h"
#include "lower/lower_flow.h"

#include <string.h>

enum { GLOBAL, SHARED };

/* --- one instruction --- */

static const char *text_of(struct lower *l, enum op op, enum dtype t, int space, bool result)
{
    const char *name = op_table[op].text + strlen("atomic_");
    return arena_printf(l->arena, "%s.%s.%s%s.*", result ? "atom" : "red",
                        space == SHARED ? "shared" : "global",
                        op == OP_ATOMIC_EXCHANGE ? "exch" : name,
                        op == OP_ATOMIC_ADD && is_half(t) ? ".noftz" : "");
}

/* The type that the instruction names. Sums wrap alike with and without a sign. */
static enum ptx_mod atomic_name(enum op op, enum dtype t)
{
    bool wide = is_wide(t);
    switch (op) {
    case OP_ATOMIC_ADD: return dtype_is_float(t) ? lower_type(t) : wide ? MOD_U64 : MOD_U32;
    case OP_ATOMIC_MIN:
    case OP_ATOMIC_MAX: return lower_type(t);
    default: return wide ? MOD_B64 : MOD_B32;
    }
}

/* result NULL: the old value is not used. */
static void single(struct lower *l, enum op op, enum dtype t, enum ptx_mod name, int space,
                   struct ptx_operand address, const struct ptx_operand *args, struct guard guard,
                   const struct ptx_operand *result)
{
    const bool swaps = op == OP_ATOMIC_CAS, found = result || swaps || op == OP_ATOMIC_EXCHANGE;
    struct ptx_operand all[4] = {result ? *result : ptx_sink(), address, args[0]};
    if (swaps)
        all[3] = args[1];
    struct ptx_instruction *ins =
        ptx_emit_list(&l->b, text_of(l, op, t, space, found), PTX_TYPES((uint16_t)name),
                      all + !found, (size_t)2 + found + swaps);
    guard_apply(ins, guard);
}

/* --- loops --- */

/* Beyond the label where the guard does not hold; NULL: it always does. */
static struct ptx_label *skip_unless(struct lower *l, struct guard guard)
{
    if (guard.always)
        return NULL;
    struct ptx_label *over = ptx_new_label(&l->b, "skip");
    ptx_when(ptx_branch(&l->b, over), ptx_not(guard.predicate));
    return over;
}

/* --- all --- */

/* *result: a register, which keeps what it had where the guard does not hold. */
void atomic_emit(struct lower *l, enum op op, enum dtype t, bool shared, struct ptx_operand address,
                 const struct ptx_operand *args, struct guard guard, struct ptx_operand *result)
{
    int space = shared ? SHARED : GLOBAL;
    if (guard.never)
        return;
    struct nvptx_scalars s = lower_scalars(l);
    const enum thread_opcode opcode = op == OP_ATOMIC_ADD   ? THREAD_ATOMIC_ADD
                                      : op == OP_ATOMIC_MIN ? THREAD_ATOMIC_MIN
                                      : op == OP_ATOMIC_MAX ? THREAD_ATOMIC_MAX
                                                            : THREAD_OPS;
    if (nvptx_atomic_loops(&s, opcode, t)) {
        struct ptx_label *over = skip_unless(l, guard);
        nvptx_atomic_loop(&s, opcode, t, shared, address, args[0], result);
        if (over)
            ptx_place(&l->b, over);
        return;
    }
    single(l, op, t, atomic_name(op, t), space, address, args, guard, result);
}

/* Gives the value of thread 0 to all threads. */
static const struct value *tell_all(struct lower *l, enum dtype t, const struct value *v)
{
    const struct value *at = scratch_address(l, scratch_take(l, (int64_t)dtype_size(t)));
    own_store_shared(l, t, at, v, guard_of_effect(l));
    barrier_emit(l);
    const struct value *told = own_load_shared(l, t, at);
    scratch_done(l);
    return told;
}

const struct value *atomic_scalar(struct lower *l, const struct expr *e, bool result_wanted)
{
    const struct expr *target = e->args[0];
    enum dtype t = target->type.dtype;
    bool shared = target->sym->storage == ST_SHARED;
    struct ptx_operand args[2] = {{0}}, result = {0};
    struct own_place place = own_place_of(l, target);
    struct own_piece piece = own_piece_at(l, &place, 0, 1);
    const struct value *given[2] = {NULL};
    for (int i = 1; i < e->count; i++)
        given[i - 1] = scalar_cast(l, scalar_eval(l, e->args[i]), t);
    lower_line(l, e->loc);
    if (!shared)
        sync_view(l, target, NULL, true);
    for (int i = 1; i < e->count; i++)
        args[i - 1] = value_register(l, given[i - 1]);
    struct guard guard = guard_and(l, guard_of_effect(l), piece.inside);
    if (result_wanted)
        result =
            value_copy(l, value_literal(l, t, (struct literal){.is_float = dtype_is_float(t)}));
    if (!guard.never)
        atomic_emit(l, e->op, t, shared, value_address(l, piece.address), args, guard,
                    result_wanted ? &result : NULL);
    if (!result_wanted)
        return NULL;
    const struct value *old = value_of_register(l, t, result);
    return kernel_thread_level(l->kernel) ? old : tell_all(l, t, old);
}
