/* Claims of the program, which the simulator checks. If a claim is false, the simulator gets its message and the values in
 * it. */
#include "emit/emit_fragment.h"
#include "tile/claims.h"

/* Returns a scalar as an i64, or as the bits of an f64: a u64. */
static struct thread_operand word_of(struct emit *m, const struct expr *e)
{
    const struct scalar v = emit_scalar(m, e);
    if (!dtype_is_float(v.dtype))
        return emit_as(m, emit_as(m, v, DT_I64), DT_U64).o;
    return thread_use(THREAD_ADD_OP(&m->b, THREAD_BITS, DT_U64, DT_F64,
                                    emit_value_of(m, emit_as(m, v, DT_F64)).o));
}

/* Computes all values before the branch: values that one thread computes within it cannot be used after it. */
void emit_claim(struct emit *m, const struct stmt *s)
{
    const struct claim *claim = s->claim;
    const struct scalar holds = emit_as(m, emit_scalar(m, s->value->args[0]), DT_BOOL);
    struct thread_operand o[2 + CLAIM_VALUES] = {thread_integer(claim->is_inside),
                                                 thread_text(claim->text)};
    for (int i = 0; i < CLAIM_VALUES; i++)
        o[2 + i] = i < claim->count ? word_of(m, claim->values[i]) : thread_integer(0);
    if (m->failed || (holds.o.kind != THREAD_VALUE && holds.o.integer))
        return;
    struct thread_region *outer = emit_open_if(m, emit_not(m, holds));
    thread_add_counted(&m->b, THREAD_CLAIM, DT_U64, DT_NONE, 0, o, 2 + CLAIM_VALUES);
    m->b.region = outer;
}
