/* Claims, for the simulator: where one is false, a function of its own is called, with what to say and
 * the values. */
#include "lower/lower_element.h"
#include "lower/lower_flow.h"
#include "tile/claims.h"

/* clang-format off */
static const char *const claim_ptx[] = {
    ".extern .func $claim_assume (.reg .b64 text, .reg .b64 a, .reg .b64 b, .reg .b64 c, .reg .b64 d);\n",
    ".extern .func $claim_inside (.reg .b64 text, .reg .b64 a, .reg .b64 b, .reg .b64 c, .reg .b64 d);\n",
    NULL};
/* clang-format on */

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
    struct ptx_operand args[1 + CLAIM_VALUES];
    struct ptx_label *over = NULL;
    int64_t known;
    if (value_known(holds, &known) && known)
        return;
    args[0] = nvptx_text(&l->bodies->printer, claim->text);
    for (int i = 0; i < CLAIM_VALUES; i++)
        args[1 + i] = i < claim->count ? word_of(l, claim->values[i]) : args[0];
    branch_on(l, holds, !lower_varying(l, condition), &over, "claimed");
    const char *name = claim->is_inside ? "$claim_inside" : "$claim_assume";
    nvptx_call(&l->b, nvptx_function(&l->b, name, claim_ptx), NULL, args, 1 + CLAIM_VALUES);
    place_label(l, over);
}
