/* Claims, for the simulator: where one is false, a function of its own is called, with what to say and
 * the values. */
#include "lower/lower_element.h"
#include "lower/lower_flow.h"
#include "tile/claims.h"

/* As i64, or the bits of an f64. */
static struct ptx_operand word_of(struct lower *l, const struct expr *e)
{
    const struct value *v = scalar_eval(l, e);
    if (!dtype_is_float(value_dtype(v)))
        return value_register(l, scalar_cast(l, v, DT_I64));
    struct ptx_operand word = ptx_reg(&l->b, MOD_B64);
    ptx_emit(&l->b, "mov.b64", word, value_register(l, scalar_cast(l, v, DT_F64)));
    return word;
}

/* Everything is computed ahead of the branch: what one thread alone computes is of no use to the
 * others. */
void claim_emit(struct lower *l, const struct stmt *s)
{
    const struct claim *claim = s->claim;
    const struct expr *condition = s->value->args[0];
    const struct value *holds = scalar_truth(l, condition);
    struct ptx_operand values[CLAIM_VALUES];
    struct ptx_label *over = NULL;
    int64_t known;
    if (value_known(holds, &known) && known)
        return;
    const struct ptx_operand none = value_register(l, value_int(l, DT_I64, 0));
    for (int i = 0; i < CLAIM_VALUES; i++)
        values[i] = i < claim->count ? word_of(l, claim->values[i]) : none;
    branch_on(l, holds, !expr_is_varying(l->kernel, condition), &over, "claimed");
    nvptx_print_claim(&l->bodies->printer, claim->is_inside, claim->text, values);
    place_label(l, over);
}
