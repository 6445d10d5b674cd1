/* NAME.c: images, the tables that describe them, and the functions. */
#include "aot/aot.h"

#include <inttypes.h>
#include <string.h>

extern const unsigned char aot_module_c[];
extern const size_t aot_module_c_length;

/* --- images --- */

/* C11 asks compilers for string literals of 4095 bytes, so long texts are split. */
enum { PIECE = 3500, BYTES_OF_LINE = 24 };

static void write_ptx(struct text *out, const struct aot_image *image, int index)
{
    size_t piece = 0;
    text_printf(out, "static const char *const aot_ptx_%d[] = {", index);
    for (const char *line = image->ptx; *line;) {
        size_t length = strcspn(line, "\n");
        length += line[length] == '\n';
        text_add(out, piece > 0 && piece + length > PIECE ? ",\n    " : "\n    ");
        piece = piece > 0 && piece + length > PIECE ? length : piece + length;
        aot_quote(out, line, length);
        line += length;
    }
    text_add(out, ",\n    NULL};\n");
}

static void write_cubin(struct text *out, const struct aot_image *image, int index)
{
    text_printf(out, "static const unsigned char aot_cubin_%d[] = {", index);
    for (size_t i = 0; i < image->cubin_length; i++)
        text_printf(out, "%s%d,", i % BYTES_OF_LINE ? "" : "\n    ", image->cubin[i]);
    text_add(out, "\n};\n");
}

static int target_index(const struct lower_target *const *targets, const struct lower_target *t)
{
    int i = 0;
    while (targets[i] != t)
        i++;
    return i;
}

static void write_images(struct text *out, const struct aot_build *b,
                         const struct lower_target *const *targets)
{
    for (size_t i = 0; i < b->images.count; i++) {
        const struct aot_image *image = &b->images.data[i];
        text_printf(out, "/* For %s, as %s%s. */\n", image->target->name,
                    aot_ships_ptx(b, image) ? "PTX" : "machine code",
                    !aot_ships_ptx(b, image) ? ""
                    : image->cubin           ? " and machine code"
                                             : ", which the driver assembles when it is loaded");
        if (aot_ships_ptx(b, image))
            write_ptx(out, image, (int)i);
        if (image->cubin)
            write_cubin(out, image, (int)i);
        text_add(out, "\n");
    }
    text_add(out, "static const struct aot_image aot_images[] = {\n");
    for (size_t i = 0; i < b->images.count; i++) {
        const struct aot_image *image = &b->images.data[i];
        text_printf(out, "    {%d, ", target_index(targets, image->target));
        text_printf(out, aot_ships_ptx(b, image) ? "aot_ptx_%zu, " : "NULL, ", i);
        text_printf(out, image->cubin ? "aot_cubin_%zu},\n" : "NULL},\n", i);
    }
    text_add(out, "};\n");
}

/* --- tables --- */

static void write_targets(struct text *out, const struct lower_target *const *targets, int count)
{
    text_add(out, "static const struct aot_target aot_targets[] = {\n");
    for (int i = 0; i < count; i++) {
        char suffix = targets[i]->ptx.suffix;
        char own[4] = {'\'', suffix, '\'', '\0'};
        text_printf(out, "    {\"%s\", %d, %s},\n", targets[i]->name, targets[i]->ptx.number,
                    suffix ? own : "0");
    }
    text_add(out, "};\n");
}

static void write_versions(struct text *out, const struct aot_build *b)
{
    text_add(out, "static const struct aot_version aot_versions[] = {\n");
    for (size_t i = 0; i < b->versions.count; i++) {
        const struct aot_version *v = &b->versions.data[i];
        text_printf(out, "    {\"%s\", %d, {%d, %d, %d}, %" PRId64 ", %d, %d},\n", v->entry,
                    v->image, v->block[0], v->block[1], v->block[2], v->shared_bytes,
                    v->cooperative, v->alignment);
    }
    text_add(out, "};\n");
}

static void write_devices(struct text *out, const struct aot_build *b)
{
    text_add(out, "/* GPUs that something was tuned for. */\n"
                  "static const char *const aot_devices[] = {");
    for (size_t i = 0; i < b->devices.count; i++) {
        aot_quote(out, b->devices.data[i], strlen(b->devices.data[i]));
        text_add(out, ", ");
    }
    text_add(out, "NULL};\n");
}

static int most_rooms(const struct aot_build *b)
{
    int most = 0;
    for (size_t i = 0; i < b->functions.count; i++)
        if (b->functions.data[i].rooms > most)
            most = b->functions.data[i].rooms;
    return most;
}

static void write_tables(struct text *out, const struct aot_build *b,
                         const struct lower_target *const *targets, int target_count)
{
    write_targets(out, targets, target_count);
    write_images(out, b, targets);
    write_versions(out, b);
    write_devices(out, b);
    text_printf(out,
                "enum {\n    AOT_TARGETS = %d,\n    AOT_IMAGES = %zu,\n    AOT_VERSIONS = %zu,\n"
                "    AOT_DEVICES = %zu,\n    AOT_ROOMS = %d /* views of a workspace, at most */\n"
                "};\n",
                target_count, b->images.count, b->versions.count, b->devices.count, most_rooms(b));
}

/* --- which version a launch takes --- */

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
    for (size_t i = 0; r->device && i < b->devices.count; i++)
        if (b->devices.data[i] == r->device)
            add_condition(&t, arena_printf(a, "aot_m->is_device[%zu]", i));
    for (int i = 0; i < f->param_count; i++)
        if (f->params[i].is_static)
            add_condition(&t, static_condition(a, &f->params[i], r->values[i]));
    for (int i = 0; i < r->range_count; i++)
        add_range(a, &t, &f->params[r->ranges[i].param], &r->ranges[i]);
    if (aot_least_alignment(f) < r->alignment)
        add_condition(&t, arena_printf(a, "aot_low %% %d == 0", r->alignment));
    for (int i = 0; i < f->param_count; i++)
        if (r->divisible[i])
            add_condition(&t, arena_printf(a, "%s %% 16 == 0", f->params[i].c_name));
    return t.data;
}

static void write_rows(struct text *out, const struct aot_build *b, const struct aot_function *f,
                       const struct lower_target *target)
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

/* Prints ", int32_t m, …" for all scalar parameters. */
static void write_scalars(struct text *out, const struct aot_function *f)
{
    for (int i = 0; i < f->param_count; i++)
        if (!f->params[i].is_pointer)
            text_printf(out, ", %s %s", aot_c_type(f->params[i].dtype), f->params[i].c_name);
    text_add(out, ")\n{\n");
    for (int i = 0; i < f->param_count; i++)
        if (!f->params[i].is_pointer)
            text_printf(out, "    (void)%s;\n", f->params[i].c_name);
}

static void write_pick(struct text *out, const struct aot_build *b, int index,
                       const struct lower_target *const *targets, int target_count)
{
    const struct aot_function *f = &b->functions.data[index];
    text_printf(out,
                "\n/* Which version; -1: none. aot_low: the bits of all addresses. */\n"
                "static int aot_pick_%d(const %s_module *aot_m, uintptr_t aot_low",
                index, b->name);
    write_scalars(out, f);
    text_add(out, "    (void)aot_low;\n");
    text_add(out, "    switch (aot_m->target) {\n");
    for (int t = 0; t < target_count; t++) {
        text_printf(out, "    case %d: /* %s */\n", t, targets[t]->name);
        write_rows(out, b, f, targets[t]);
    }
    text_add(out, "    }\n    return -1;\n}\n");
}

/* --- what follows from the sizes --- */

static bool has_version(const struct aot_function *f, int version)
{
    for (size_t i = 0; i < f->rows.count; i++)
        if (f->rows.data[i].version == version)
            return true;
    return false;
}

static void write_plan(struct text *out, const struct aot_build *b, int index)
{
    const struct aot_function *f = &b->functions.data[index];
    int count = (int)b->versions.count;
    text_printf(out, "\nstatic void aot_plan_%d(struct aot_plan *aot_p", index);
    write_scalars(out, f);
    text_add(out, "    switch (aot_p->version) {\n");
    bool *done = arena_array(b->arena, bool, count + 1);
    for (int v = 0; v < count; v++) {
        if (done[v] || !has_version(f, v))
            continue;
        for (int w = v; w < count; w++)
            if (has_version(f, w) &&
                strcmp(b->versions.data[v].plan, b->versions.data[w].plan) == 0) {
                text_printf(out, "    case %d:\n", w);
                done[w] = true;
            }
        text_printf(out, "%s        break;\n", b->versions.data[v].plan);
    }
    text_add(out, "    }\n}\n");
}

/* --- the functions --- */

static bool is_real(enum dtype t)
{
    return dtype_is_float(t) && dtype_size(t) >= 4;
}

/* Returns printf's conversion for a scalar. */
static const char *scalar_form(enum dtype t)
{
    return is_real(t) ? "%s" : t == DT_U64 ? "%llu" : "%lld";
}

static void write_scalar(struct text *out, const struct aot_param *p)
{
    if (is_real(p->dtype))
        text_printf(out, ", aot_real((char[32]){0}, %s)", p->c_name);
    else
        text_printf(out, ", (%s)%s", p->dtype == DT_U64 ? "unsigned long long" : "long long",
                    p->c_name);
}

/* Prints the error for a launch without a version: its values, and the values that were built. */
static void write_not_built(struct text *out, const struct aot_build *b,
                            const struct aot_function *f)
{
    struct text form, built;
    text_init(&form, b->arena);
    text_init(&built, b->arena);
    for (int i = 0; i < f->param_count; i++)
        if (!f->params[i].is_pointer)
            text_printf(&form, "%s%s = %s", form.length ? ", " : "", f->params[i].name,
                        scalar_form(f->params[i].dtype));
    for (size_t i = 0; i < f->rows.count; i++) {
        const char *statics = aot_statics(b->arena, f, &f->rows.data[i]);
        if (!strstr(built.data, statics))
            text_printf(&built, "%s%s", built.length ? "; " : "; there is ", statics);
    }
    text_printf(out, "        return aot_fail(%s_NOT_BUILT, \"%s\", \"nothing was built for %s%s\"",
                aot_upper(b), f->name, form.data, built.data);
    for (int i = 0; i < f->param_count; i++)
        if (!f->params[i].is_pointer)
            write_scalar(out, &f->params[i]);
    text_add(out, ");\n");
}

static void write_call(struct text *out, const struct aot_function *f, const char *function,
                       int index, const char *first)
{
    text_printf(out, "%s_%d(%s", function, index, first);
    for (int i = 0; i < f->param_count; i++)
        if (!f->params[i].is_pointer)
            text_printf(out, ", %s", f->params[i].c_name);
    text_add(out, ")");
}

/* Returns the low bits of all addresses, which the choice of a version needs. */
static const char *low_bits(struct arena *a, const struct aot_function *f)
{
    struct text t;
    text_init(&t, a);
    for (int i = 0; i < f->param_count; i++)
        if (f->params[i].is_pointer)
            text_printf(&t, "%s(uintptr_t)%s", t.length ? " | " : "module, ", f->params[i].c_name);
    return t.length ? t.data : "module, 0";
}

/* Prints locals for the derived parameters; the function returns `failed` if one cannot be
 * computed. */
static void write_derived(struct text *out, const struct aot_build *b, const struct aot_function *f,
                          const char *failed)
{
    bool any = false;
    for (int i = 0; i < f->param_count; i++) {
        const struct aot_param *p = &f->params[i];
        if (!p->derived)
            continue;
        any = true;
        text_printf(out, "    %s %s = (%s)aot_value(aot_p, \"%s\", %s);\n", aot_c_type(p->dtype),
                    p->c_name, aot_c_type(p->dtype), p->name, p->value);
    }
    if (any)
        text_printf(out, "    if (aot_p->status != %s_OK)\n        return %s;\n", aot_upper(b),
                    failed);
}

/* first: the arguments before the scalars; failed: the result if sizes cannot be computed */
static void write_start_of_body(struct text *out, const struct aot_build *b, int index,
                                const char *first, const char *failed)
{
    const struct aot_function *f = &b->functions.data[index];
    text_printf(out,
                "    struct aot_plan aot_made = {.who = \"%s\", .grid = {1, 1, 1}}, *aot_p = "
                "&aot_made;\n",
                f->name);
    write_derived(out, b, f, failed);
    text_add(out, "    aot_p->version = module ? ");
    write_call(out, f, "aot_pick", index, first);
    text_add(out, " : -1;\n");
}

/* Returns true if the kernel takes the parameter, an 8-bit float, in 32 bits. */
static bool is_widened(const struct aot_param *p)
{
    return !p->is_pointer && (p->dtype == DT_E4M3 || p->dtype == DT_E5M2);
}

static int write_arguments(struct text *out, const struct aot_function *f)
{
    int count = 0;
    for (int i = 0; i < f->param_count; i++)
        if (is_widened(&f->params[i]) && !f->params[i].is_static)
            text_printf(out, "    uint32_t aot_of_%s = %s;\n", f->params[i].c_name,
                        f->params[i].c_name);
    text_add(out, "    void *aot_arguments[] = {");
    for (int i = 0; i < f->param_count; i++)
        if (!f->params[i].is_static) {
            text_printf(out, "(void *)&%s%s, ", is_widened(&f->params[i]) ? "aot_of_" : "",
                        f->params[i].c_name);
            count++;
        }
    for (int i = 0; i < f->rooms; i++)
        text_add(out, "NULL, ");
    text_add(out, "NULL};\n");
    return count;
}

static void write_function(struct text *out, const struct aot_build *b, int index)
{
    const struct aot_function *f = &b->functions.data[index];
    text_add(out, "\n");
    aot_prototype(out, b, f);
    text_add(out, "\n{\n");
    write_start_of_body(out, b, index, low_bits(b->arena, f), "aot_p->status");
    text_printf(out,
                "    if (!module)\n        return aot_fail(%s_BAD_ARGUMENT, \"%s\", \"`module` is "
                "NULL\");\n    if (aot_p->version < 0)\n",
                aot_upper(b), f->name);
    write_not_built(out, b, f);
    text_add(out, "    ");
    write_call(out, f, "aot_plan", index, "aot_p");
    text_add(out, ";\n");
    for (int i = 0; i < f->param_count; i++)
        if (f->params[i].is_pointer)
            text_printf(out, "    aot_array(aot_p, %d, \"%s\", %s, sizeof *%s);\n", i,
                        f->params[i].name, f->params[i].c_name, f->params[i].c_name);
    int count = write_arguments(out, f);
    text_printf(out, "    return aot_start(module, aot_p, stream, aot_arguments, %d, %s);\n}\n",
                count, f->rooms ? "workspace, workspace_bytes" : "NULL, 0");
}

static void write_workspace(struct text *out, const struct aot_build *b, int index)
{
    const struct aot_function *f = &b->functions.data[index];
    text_add(out, "\n");
    aot_workspace_prototype(out, b, f);
    text_add(out, "\n{\n");
    write_start_of_body(out, b, index, "module, 0", "0");
    text_add(out, "    if (aot_p->version < 0)\n        return 0;\n    ");
    write_call(out, f, "aot_plan", index, "aot_p");
    text_add(out, ";\n    return aot_workspace(aot_p);\n}\n");
}

/* Returns "sm_90 and sm_80", for a message. */
static const char *targets_text(struct arena *a, const struct lower_target *const *targets,
                                int count)
{
    struct text t;
    text_init(&t, a);
    for (int i = 0; i < count; i++)
        text_printf(&t, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " and ", targets[i]->name);
    return t.data;
}

void aot_source(struct text *out, struct aot_build *b)
{
    const struct lower_target *targets[AOT_MOST_TARGETS];
    int target_count = aot_targets(b, targets, AOT_MOST_TARGETS);
    struct text tables, all, functions;
    text_init(&tables, b->arena);
    text_init(&all, b->arena);
    text_init(&functions, b->arena);
    write_tables(&tables, b, targets, target_count);
    for (int i = 0; i < (int)b->functions.count; i++) {
        write_pick(&all, b, i, targets, target_count);
        write_plan(&all, b, i);
        write_function(&all, b, i);
        if (b->functions.data[i].rooms)
            write_workspace(&all, b, i);
    }
    aot_wrap(&functions, all.data);
    struct aot_slot slots[] = {{"name", b->name},
                               {"NAME", aot_upper(b)},
                               {"about", aot_about(b)},
                               {"images", tables.data},
                               {"targets", targets_text(b->arena, targets, target_count)},
                               {"functions", functions.data}};
    aot_fill(out, aot_module_c, aot_module_c_length, slots, sizeof slots / sizeof *slots);
}
