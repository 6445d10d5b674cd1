/* lock, unlock and arrive: semaphores in global memory (Meaning 3).
 *
 * One thread waits until the element has the value, by loads that acquire, and a barrier lets the
 * others go on. The release is behind a barrier too, so that it covers what all threads wrote:
 * barriers synchronise, and release and acquire are cumulative (PTX ISA, memory consistency model,
 * causality order).
 */
#include "lower/lower_element.h"
#include "lower/lower_emit.h"
#include "lower/lower_flow.h"

/* Nanoseconds between polls, at first and at most. */
enum { FIRST_NAP = 32, LONGEST_NAP = 1024 };

struct semaphore {
    struct ptx_operand address, value; /* [a]; a register */
    struct guard chosen;               /* the one thread that acts */
    enum ptx_mod bits;
};

static struct guard one_thread(struct lower *l)
{
    return guard_of(
        l, value_apply2(l, OP_EQ, DT_BOOL, value_thread_linear(l), value_int(l, DT_I32, 0)));
}

static struct semaphore semaphore_of(struct lower *l, const struct expr *e)
{
    const struct expr *place = e->args[0];
    enum dtype t = place->type.dtype;
    struct own_place at = own_place_of(l, place);
    struct own_piece piece = own_piece_at(l, &at, 0, 1);
    const struct value *v = scalar_cast(l, scalar_eval(l, e->args[1]), t);
    return (struct semaphore){.address = value_address(l, piece.address),
                              .value = value_register(l, v),
                              .chosen = one_thread(l),
                              .bits = lower_register_type(t)};
}

/* The nap doubles each time. */
static void poll(struct lower *l, const struct semaphore *s)
{
    uint16_t bits = (uint16_t)s->bits;
    struct ptx_label *again = ptx_new_label(&l->b, "poll"), *got = ptx_new_label(&l->b, "got");
    struct ptx_operand found = ptx_reg(&l->b, s->bits), equal = ptx_reg(&l->b, MOD_PRED);
    struct ptx_operand nap = NEW(l, MOD_B32, "mov.b32", ptx_int(FIRST_NAP));
    ptx_place(&l->b, again);
    ptx_emit_for(&l->b, PTX_TYPES(bits), "ld.acquire.gpu.global.*", found, s->address);
    ptx_emit_for(&l->b, PTX_TYPES(bits), "setp.eq.*", equal, found, s->value);
    ptx_when(ptx_branch(&l->b, got), equal);
    ptx_emit(&l->b, "nanosleep.u32", nap);
    ptx_emit(&l->b, "shl.b32", nap, nap, ptx_int(1));
    ptx_emit(&l->b, "min.u32", nap, nap, ptx_int(LONGEST_NAP));
    ptx_branch(&l->b, again);
    ptx_place(&l->b, got);
}

void lock_emit(struct lower *l, const struct stmt *s)
{
    struct semaphore semaphore = semaphore_of(l, s->value);
    struct ptx_label *others = ptx_new_label(&l->b, "locked");
    lower_line(l, s->loc);
    if (!semaphore.chosen.always)
        ptx_when(ptx_branch(&l->b, others), ptx_not(semaphore.chosen.predicate));
    poll(l, &semaphore);
    ptx_place(&l->b, others);
    barrier_emit(l);
}

void unlock_emit(struct lower *l, const struct stmt *s)
{
    struct semaphore semaphore = semaphore_of(l, s->value);
    lower_line(l, s->loc);
    barrier_emit(l);
    guard_apply(ptx_emit_for(&l->b, PTX_TYPES((uint16_t)semaphore.bits), "st.release.gpu.global.*",
                             semaphore.address, semaphore.value),
                semaphore.chosen);
}

/* Arriving is both: the add releases after the first barrier, and acquires before the second. */
const struct value *arrive_emit(struct lower *l, const struct expr *e, bool result_wanted)
{
    enum dtype t = e->type.dtype;
    enum ptx_mod type = dtype_size(t) == 8 ? MOD_U64 : MOD_U32;
    struct semaphore semaphore = semaphore_of(l, e);
    struct ptx_operand found = value_copy(l, value_literal(l, t, (struct literal){0}));
    const struct value *told = NULL, *before = NULL;
    lower_line(l, e->loc);
    barrier_emit(l);
    guard_apply(ptx_emit_for(&l->b, PTX_TYPES((uint16_t)type), "atom.acq_rel.gpu.global.add.*",
                             found, semaphore.address, semaphore.value),
                semaphore.chosen);
    if (result_wanted) {
        told = scratch_address(l, scratch_take(l, (int64_t)dtype_size(t)));
        own_store_shared(l, t, told, value_of_register(l, t, found), semaphore.chosen);
    }
    barrier_emit(l);
    if (result_wanted) {
        before = own_load_shared(l, t, told);
        scratch_done(l);
    }
    return before;
}
