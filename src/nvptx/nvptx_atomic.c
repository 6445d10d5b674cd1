/* Atomics on floats that have no instruction: the least and the greatest, and sums of bf16 on targets without them. They are
 * relaxed, at the scope of the GPU. */
#include "nvptx/nvptx_scalars_own.h"

bool nvptx_atomic_loops(const struct nvptx_scalars *out, enum thread_opcode op, enum dtype t)
{
    const bool extreme = op == THREAD_ATOMIC_MIN || op == THREAD_ATOMIC_MAX;
    return t != DT_NONE && dtype_is_float(t) &&
           (extreme ||
            (op == THREAD_ATOMIC_ADD && t == DT_BF16 && !nvptx_has(out, TARGET_BF16_ARITHMETIC)));
}

static const char *const load[2] = {"ld.relaxed.gpu.global.*", "ld.relaxed.cta.shared.*"};

/* old: the value that memory is believed to have; afterwards the one that was replaced by old op value. */
static void compare_and_swap(struct nvptx_scalars *out, enum thread_opcode op, enum dtype t,
                             bool shared, struct ptx_operand at, struct ptx_operand value,
                             struct ptx_operand old)
{
    static const char *const swap[2] = {"atom.global.cas.*", "atom.shared.cas.*"};
    const enum thread_opcode combine = op == THREAD_ATOMIC_ADD   ? THREAD_ADD
                                       : op == THREAD_ATOMIC_MIN ? THREAD_MIN
                                                                 : THREAD_MAX;
    const uint16_t *bits = dtype_is_half(t) ? PTX_TYPES(MOD_B16)
                           : is_wide(t)     ? PTX_TYPES(MOD_B64)
                                            : PTX_TYPES(MOD_B32);
    const struct ptx_operand found = nvptx_new_register(out, t),
                             failed = ptx_reg(out->build, MOD_PRED);
    struct ptx_label *again = ptx_new_label(out->build, "again");
    ptx_place(out->build, again);
    const struct ptx_operand wanted =
        nvptx_op(out, combine, t, (struct ptx_operand[]){old, value}, 2);
    ptx_emit_for(out->build, bits, swap[shared], found, at, old, wanted);
    ptx_emit_for(out->build, bits, "setp.ne.*", failed, found, old);
    nvptx_move(out, t, old, found);
    ptx_when(ptx_branch(out->build, again), failed);
}

static void half_loop(struct nvptx_scalars *out, enum thread_opcode op, enum dtype t, bool shared,
                      struct ptx_operand at, struct ptx_operand value,
                      const struct ptx_operand *result)
{
    const struct ptx_operand old = NEW_OF(out, MOD_B16, MOD_B16, load[shared], at);
    compare_and_swap(out, op, t, shared, at, value, old);
    if (result)
        nvptx_move(out, t, *result, old);
}

/* The least or greatest of bits as integers of that type, under the predicate. */
static void single(struct nvptx_scalars *out, bool least, enum ptx_mod type, bool shared,
                   struct ptx_operand found, struct ptx_operand at, struct ptx_operand bits,
                   struct ptx_operand predicate)
{
    static const char *const names[2][2] = {{"atom.global.max.*", "atom.global.min.*"},
                                            {"atom.shared.max.*", "atom.shared.min.*"}};
    ptx_when(
        ptx_emit_for(out->build, PTX_TYPES((uint16_t)type), names[shared][least], found, at, bits),
        predicate);
}

/* Floats without a sign are ordered as their bits are as signed integers, those with one the other
 * way round as unsigned ones, and above all without. So the least of memory and a value without a
 * sign is that of signed integers, and with a value that has one it is the greatest of unsigned
 * ones; the greatest likewise. Only NaN in memory may be out of order: it gives way to the value in
 * a loop, which hardly ever runs. A value that is NaN becomes the one of its kind that changes
 * nothing. */
static void extreme(struct nvptx_scalars *out, enum thread_opcode op, enum dtype t, bool shared,
                    struct ptx_operand at, struct ptx_operand value,
                    const struct ptx_operand *result)
{
    const bool wide = is_wide(t), least = op == THREAD_ATOMIC_MIN;
    const enum ptx_mod type = nvptx_register_of(t), reg = wide ? MOD_B64 : MOD_B32;
    const enum ptx_mod is_signed = wide ? MOD_S64 : MOD_S32, no_sign = wide ? MOD_U64 : MOD_U32;
    struct ptx_label *done = ptx_new_label(out->build, "done");
    const struct ptx_operand idle = ptx_int(!least ? -1 : wide ? INT64_MAX : INT32_MAX);
    const struct ptx_operand number = NEW_OF(out, MOD_PRED, type, "setp.num.*", value, value);
    const struct ptx_operand bits =
        nvptx_select(out, reg, number, NEW_OF(out, reg, reg, "mov.*", value), idle);
    const struct ptx_operand negative =
        NEW_OF(out, MOD_PRED, is_signed, "setp.lt.*", bits, ptx_int(0));
    const struct ptx_operand found = ptx_reg(out->build, reg);
    single(out, least, is_signed, shared, found, at, bits, ptx_not(negative));
    single(out, !least, no_sign, shared, found, at, bits, negative);
    const struct ptx_operand old = NEW_OF(out, type, reg, "mov.*", found);
    if (result)
        nvptx_move(out, t, *result, old);
    const struct ptx_operand late = NEW_OF(out, MOD_PRED, type, "setp.nan.and.*", old, old, number);
    ptx_when(ptx_branch(out->build, done), ptx_not(late));
    const struct ptx_operand now = NEW_OF(out, type, type, load[shared], at);
    compare_and_swap(out, op, t, shared, at, value, now);
    ptx_place(out->build, done);
}

void nvptx_atomic_loop(struct nvptx_scalars *out, enum thread_opcode op, enum dtype t, bool shared,
                       struct ptx_operand at, struct ptx_operand value,
                       const struct ptx_operand *result)
{
    (dtype_is_half(t) ? half_loop : extreme)(out, op, t, shared, at, value, result);
}
