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

/* old: what is believed to be there; afterwards what was there when it was replaced by old op
 * value. */
static void compare_and_swap(struct lower *l, enum op combine, enum dtype t, int space,
                             struct ptx_operand address, struct ptx_operand value,
                             struct ptx_operand old)
{
    static const char *const swap[2] = {"atom.global.cas.*", "atom.shared.cas.*"};
    enum ptx_mod reg = lower_register_type(t);
    const uint16_t *bits = is_half(t)   ? PTX_TYPES(MOD_B16)
                           : is_wide(t) ? PTX_TYPES(MOD_B64)
                                        : PTX_TYPES(MOD_B32);
    struct ptx_operand found = ptx_reg(&l->b, reg), failed = ptx_reg(&l->b, MOD_PRED);
    struct ptx_label *again = ptx_new_label(&l->b, "again");
    ptx_place(&l->b, again);
    struct ptx_operand wanted = op_emit2(l, combine, t, t, old, value);
    ptx_emit_for(&l->b, bits, swap[space], found, address, old, wanted);
    ptx_emit_for(&l->b, bits, "setp.ne.*", failed, found, old);
    op_move(l, t, old, found);
    ptx_when(ptx_branch(&l->b, again), failed);
}

/* f16 and bf16 where the target has no instruction. */
static void half_loop(struct lower *l, enum op combine, enum dtype t, int space,
                      struct ptx_operand address, struct ptx_operand value, struct guard guard,
                      const struct ptx_operand *result)
{
    static const char *const load[2] = {"ld.relaxed.gpu.global.b16", "ld.relaxed.cta.shared.b16"};
    struct ptx_label *over = skip_unless(l, guard);
    struct ptx_operand old = NEW(l, MOD_B16, load[space], address);
    compare_and_swap(l, combine, t, space, address, value, old);
    if (result)
        op_move(l, t, *result, old);
    if (over)
        ptx_place(&l->b, over);
}

/* --- least and greatest of f32 and f64 --- */

/* Floats without a sign are ordered as their bits are as signed integers, those with one the other
 * way round as unsigned ones, and above all without. So the least of memory and a value without a
 * sign is that of signed integers, and with a value that has one it is the greatest of unsigned
 * ones; the greatest likewise. Only NaN in memory may be out of order: it gives way to the value in
 * a loop, which hardly ever runs. A value that is NaN becomes the one of its kind that changes
 * nothing.
 */
static void float_extreme(struct lower *l, enum op op, enum dtype t, int space,
                          struct ptx_operand address, struct ptx_operand value, struct guard guard,
                          const struct ptx_operand *result)
{
    static const char *const load[2] = {"ld.relaxed.gpu.global.*", "ld.relaxed.cta.shared.*"};
    bool wide = is_wide(t), least = op == OP_ATOMIC_MIN;
    enum ptx_mod type = lower_register_type(t), reg = wide ? MOD_B64 : MOD_B32;
    enum ptx_mod is_signed = wide ? MOD_S64 : MOD_S32, no_sign = wide ? MOD_U64 : MOD_U32;
    struct ptx_label *over = skip_unless(l, guard), *done = ptx_new_label(&l->b, "done");
    struct ptx_operand idle = ptx_int(!least ? -1 : wide ? INT64_MAX : INT32_MAX);
    struct ptx_operand number = NEW_OF(l, MOD_PRED, type, "setp.num.*", value, value);
    struct ptx_operand bits =
        emit_select(l, reg, number, NEW_OF(l, reg, reg, "mov.*", value), idle);
    struct ptx_operand negative = NEW_OF(l, MOD_PRED, is_signed, "setp.lt.*", bits, ptx_int(0));
    struct ptx_operand found = ptx_reg(&l->b, reg);
    struct guard no = {.predicate = ptx_not(negative)}, yes = {.predicate = negative};
    single(l, op, t, is_signed, space, address, &bits, no, &found);
    single(l, least ? OP_ATOMIC_MAX : OP_ATOMIC_MIN, t, no_sign, space, address, &bits, yes,
           &found);
    struct ptx_operand old = NEW_OF(l, type, reg, "mov.*", found);
    if (result)
        op_move(l, t, *result, old);
    struct ptx_operand late = NEW_OF(l, MOD_PRED, type, "setp.nan.and.*", old, old, number);
    ptx_when(ptx_branch(&l->b, done), ptx_not(late));
    struct ptx_operand now = NEW_OF(l, type, type, load[space], address);
    compare_and_swap(l, least ? OP_MIN : OP_MAX, t, space, address, value, now);
    ptx_place(&l->b, done);
    if (over)
        ptx_place(&l->b, over);
}

/* --- all --- */

static bool is_extreme(enum op op)
{
    return op == OP_ATOMIC_MIN || op == OP_ATOMIC_MAX;
}

/* *result: a register, which keeps what it had where the guard does not hold. */
void atomic_emit(struct lower *l, enum op op, enum dtype t, bool shared, struct ptx_operand address,
                 const struct ptx_operand *args, struct guard guard, struct ptx_operand *result)
{
    int space = shared ? SHARED : GLOBAL;
    if (guard.never)
        return;
    if (is_half(t)) {
        enum op combine = op == OP_ATOMIC_ADD ? OP_ADD : op == OP_ATOMIC_MIN ? OP_MIN : OP_MAX;
        if (is_extreme(op) || (t == DT_BF16 && !lower_has(l, TARGET_BF16_ARITHMETIC))) {
            half_loop(l, combine, t, space, address, args[0], guard, result);
            return;
        }
    } else if (dtype_is_float(t) && is_extreme(op)) {
        float_extreme(l, op, t, space, address, args[0], guard, result);
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
