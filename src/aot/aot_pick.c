/* The version that a launch takes, as a function of C: the first row whose conditions hold. */
#include "aot/aot.h"

#include <inttypes.h>

static void add_condition(struct text *out, const char *text)
{
    text_printf(out, "%s%s", out->length ? " &&\n            " : "", text);
}

/* Compares by bits: 0.0 and -0.0 are equal, but give different programs. */
static const char *float_condition(struct arena *a, const struct aot_param *p, double v)
{
    uint64_t bits = 0;
    dtype_store_f64(p->dtype, &bits, v);
    if (dtype_size(p->dtype) < 4) /* given as bits */
        return arena_printf(a, "%s == %" PRIu64, p->c_name, bits);
    const char *form = p->dtype == DT_F64 ? "aot_f64_bits(%s) == UINT64_C(0x%" PRIx64 ") /* %s */"
                                          : "aot_f32_bits(%s) == UINT32_C(0x%" PRIx64 ") /* %s */";
    struct text shown;
    text_init(&shown, a);
    aot_show_float(&shown, p->dtype, v);
    return arena_printf(a, form, p->c_name, bits, shown.data);
}

/* Returns a constant of C. The least i64 is an expression, because C reads its minus separately. */
static const char *integer(struct arena *a, enum dtype t, int64_t v)
{
    if (t == DT_U64)
        return arena_printf(a, "UINT64_C(%" PRIu64 ")", (uint64_t)v);
    return v == INT64_MIN ? "INT64_MIN" : arena_printf(a, "INT64_C(%" PRId64 ")", v);
}

static const char *static_condition(struct arena *a, const struct aot_param *p, struct literal v)
{
    if (p->dtype == DT_BOOL)
        return arena_printf(a, "%s%s", v.i ? "" : "!", p->c_name);
    return dtype_is_float(p->dtype)
               ? float_condition(a, p, v.f)
               : arena_printf(a, "%s == %s", p->c_name, integer(a, p->dtype, v.i));
}

/* The range of an integer type: bounds of a row outside it need no test. */
static bool asks_least(enum dtype t, int64_t least)
{
    return least != INT64_MIN && dtype_wrap(t, least) == least &&
           (dtype_table[t].kind != DK_UINT || least > 0);
}

static bool asks_most(enum dtype t, int64_t most)
{
    return most != INT64_MAX && dtype_wrap(t, most) == most;
}

static void add_range(struct arena *a, struct text *out, const struct aot_param *p,
                      const struct aot_range *r)
{
    enum dtype t = p->dtype;
    if (asks_least(t, r->least))
        add_condition(out, arena_printf(a, "%s >= %s", p->c_name, integer(a, t, r->least)));
    if (asks_most(t, r->most))
        add_condition(out, arena_printf(a, "%s <= %s", p->c_name, integer(a, t, r->most)));
}

static const char *row_condition(const struct aot_build *b, const struct aot_function *f,
                                 const struct aot_row *r)
{
    struct arena *a = b->arena;
    struct text t;
    text_init(&t, a);
    if (f->family)
        add_condition(&t, arena_printf(a, "aot_variant == %d", r->variant));
    for (size_t i = 0; r->device && i < b->devices.count; i++)
        if (b->devices.data[i] == r->device)
            add_condition(&t, arena_printf(a, "aot_m->is_device[%zu]", i));
    if (aot_is_narrow(b, r->version))
        add_condition(&t, arena_printf(a, "aot_m->images[%d]", b->versions.data[r->version].image));
    for (int i = 0; i < f->param_count; i++)
        if (r->is_static[i])
            add_condition(&t, static_condition(a, &f->params[i], r->values[i]));
    for (int i = 0; i < r->range_count; i++)
        add_range(a, &t, &f->params[r->ranges[i].param], &r->ranges[i]);
    if (aot_least_alignment(f) < r->alignment)
        add_condition(&t, arena_printf(a, "aot_low %% %d == 0", r->alignment));
    for (int i = 0; i < f->param_count; i++)
        if (r->divisor[i] > 1)
            add_condition(&t, arena_printf(a, "%s %% %d == 0", f->params[i].c_name, r->divisor[i]));
    return t.data;
}

static void write_rows(struct text *out, const struct aot_build *b, const struct aot_function *f,
                       const struct target *target)
{
    for (size_t i = 0; i < f->rows.count; i++) {
        const struct aot_row *r = &f->rows.data[i];
        if (r->target != target)
            continue;
        const char *condition = row_condition(b, f, r);
        if (!*condition) {
            text_printf(out, "        return %d;\n", r->version);
            return;
        }
        text_printf(out, "        if (%s)\n            return %d;\n", condition, r->version);
    }
    text_add(out, "        break;\n");
}

void aot_pick(struct text *out, const struct aot_build *b, int index,
              const struct target *const *targets, int target_count)
{
    const struct aot_function *f = &b->functions.data[index];
    text_printf(out,
                "\n/* Which version%s; -1: none. aot_low: the bits of all addresses. */\n"
                "static int aot_%s_%d(const %s_module *aot_m, uintptr_t aot_low%s",
                f->family ? " of a variant" : "", f->family ? "version" : "pick", index, b->name,
                f->family ? ", int aot_variant" : "");
    aot_scalars(out, f);
    text_add(out, "    (void)aot_low;\n");
    text_add(out, "    switch (aot_m->target) {\n");
    for (int t = 0; t < target_count; t++) {
        text_printf(out, "    case %d: /* %s */\n", t, targets[t]->name);
        write_rows(out, b, f, targets[t]);
    }
    text_add(out, "    }\n    return -1;\n}\n");
}
