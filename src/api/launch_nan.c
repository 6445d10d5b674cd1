/* A note that says what may have made a wrong NaN. */
#include "api/objects.h"
#include "tile/passes.h"

#include <math.h>
#include <string.h>

/* Returns whether the NaN has the bits of memory without a value on the CPU engine, all of them 1.
 * Arithmetic makes other ones: x86 and Arm clear most of the bits below the first, NVIDIA's GPUs the
 * sign. Only the 7 bits that bf16 has are compared. */
static bool is_poison(double v)
{
    const uint64_t ones = UINT64_C(0xffff) << 48 | UINT64_C(7) << 45;
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return (bits & ones) == ones;
}

static void note_unset(tw_launch *l, const struct expr *read)
{
    const struct sym *s = read->sym;
    bool in_text = s->loc.source != NULL;
    diag_note(&l->ctx->diag, read->loc,
              "`%.*s` may have no value here, and is NaN then: give it one where it is declared, "
              "such as `= 0`",
              in_text ? (int)s->loc.length : (int)strlen(s->name),
              in_text ? s->loc.source->text + s->loc.offset : s->name);
}

/* Notes the first NaN in an input. Returns false if there is none. */
static bool note_input(tw_launch *l, const struct cpu_argument *args)
{
    const struct lang_kernel *info = l->kernel->info;
    for (int p = 0; p < info->param_count; p++) {
        const tw_array *x = &l->arrays[p];
        if (!info->params[p].is_const || !args[p].data || !dtype_is_float((enum dtype)x->dtype))
            continue;
        size_t size = tw_dtype_size(x->dtype), count = args[p].bytes / size;
        for (size_t i = 0; i < count; i++) {
            if (!isnan(tw_dtype_load(x->dtype, (const char *)args[p].data + i * size)))
                continue;
            diag_note(
                &l->ctx->diag, LOC_NONE,
                "the input `%s` has a NaN, in element %zu of the array: `ensures` passes over "
                "it, or masks it",
                info->params[p].name, i);
            return true;
        }
    }
    return false;
}

static const char *text_of(tw_launch *l, const struct expr *e)
{
    struct text out;
    text_init(&out, &l->ctx->scratch);
    expr_print(&out, e);
    return out.data;
}

static void note_shifted(tw_launch *l, const struct expr *e)
{
    diag_note(&l->ctx->diag, e->loc,
              "`%s` is NaN where the maximum is -inf, as in a row that is all -inf: subtract "
              "`where(m == -inf, 0, m)` in place of such a maximum m",
              text_of(l, e));
}

static void note_undefined(tw_launch *l, const struct expr *e)
{
    const char *where = e->op == OP_DIV     ? "both are 0, or both are infinite"
                        : e->op == OP_LOG1P ? "its operand is below -1"
                        : e->op == OP_POW   ? "the base is negative and the exponent is not whole"
                                            : "its operand is negative";
    diag_note(&l->ctx->diag, e->loc, "`%s` is NaN where %s", text_of(l, e), where);
}

void launch_note_nan(tw_launch *l, const struct ensures_report *r, const struct cpu_argument *args)
{
    if (!isnan(r->got) || isnan(r->want))
        return;
    struct scalar_env env = launch_env(l);
    struct nan_causes causes;
    nans_causes_find(&l->ctx->scratch, l->variant->ir, &env, &causes);
    bool poison = is_poison(r->got), other = causes.shifted || causes.undefined;
    if (causes.unset && (poison || !other))
        note_unset(l, causes.unset);
    else if (poison || note_input(l, args)) /* poison: never written */
        return;
    else if (causes.shifted)
        note_shifted(l, causes.shifted);
    else if (causes.undefined)
        note_undefined(l, causes.undefined);
}
