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

static void write_images(struct text *out, const struct aot_build *b,
                         const struct target *const *targets)
{
    for (size_t i = 0; i < b->images.count; i++) {
        const struct aot_image *image = &b->images.data[i];
        if (image->target == aot_cpu)
            continue;
        text_printf(out, "/* For %s, as %s%s. */\n", image->code->name,
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
        text_printf(out, "    {%d, %d, ", aot_target_index(targets, image->target),
                    aot_target_index(targets, image->code));
        text_printf(out, aot_ships_ptx(b, image) ? "aot_ptx_%zu, " : "NULL, ", i);
        text_printf(out, image->cubin ? "aot_cubin_%zu},\n" : "NULL},\n", i);
    }
    text_add(out, "};\n");
}

/* --- tables --- */

static void write_targets(struct text *out, const struct target *const *targets, int count)
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
        text_printf(out, "    {\"%s\", %d, {%d, %d, %d}, %" PRId64 ", %d, %d", v->entry, v->image,
                    v->block[0], v->block[1], v->block[2], v->shared_bytes, v->cooperative,
                    v->alignment);
        if (aot_has_attributes(b))
            text_printf(out, ", %d, %d", v->cluster, v->early);
        if (aot_asks_clusters(b))
            text_printf(out, ", {%d, %d, %d}", v->of_cluster[0], v->of_cluster[1],
                        v->of_cluster[2]);
        text_add(out, "},\n");
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

/* Prints how many maps, and how many parameters, a kernel has at most. */
static void write_mosts(struct text *out, const struct aot_build *b)
{
    int maps = 0, passed = 0;
    for (size_t i = 0; i < b->versions.count; i++) {
        const struct aot_sizes *s = &b->versions.data[i].sizes;
        maps = s->map_count > maps ? s->map_count : maps;
        passed = s->passed_count > passed ? s->passed_count : passed;
    }
    text_printf(out, "enum { AOT_MAPS = %d, AOT_PASSED = %d }; /* of a kernel, at most */\n", maps,
                passed);
}

static void write_tables(struct text *out, const struct aot_build *b,
                         const struct target *const *targets, int target_count, int all_targets)
{
    if (aot_has_gpu(b)) {
        write_targets(out, targets, all_targets);
        write_images(out, b, targets);
    }
    if (aot_has_cpu(b))
        aot_cpu_programs(out, b);
    write_versions(out, b);
    aot_write_sizes(out, b);
    if (aot_has_gpu(b))
        write_devices(out, b);
    text_printf(out,
                "enum {\n    AOT_TARGETS = %d,\n    AOT_IMAGES = %zu,\n    AOT_VERSIONS = %zu,\n"
                "    AOT_DEVICES = %zu,\n    AOT_ROOMS = %d /* views of a workspace, at most */\n"
                "};\n",
                target_count, b->images.count, b->versions.count, b->devices.count, most_rooms(b));
    if (aot_has_hopper(b))
        write_mosts(out, b);
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
    if (f->rows.count && aot_is_narrow(b, f->rows.data[0].version))
        text_printf(&built, "; its code is for %s",
                    b->images.data[b->versions.data[f->rows.data[0].version].image].code->name);
    text_printf(out, "        return aot_fail(%s_NOT_BUILT, \"%s\", \"nothing was built for %s%s\"",
                aot_upper(b), f->name, form.data, built.data);
    for (int i = 0; i < f->param_count; i++)
        if (!f->params[i].is_pointer)
            write_scalar(out, &f->params[i]);
    text_add(out, ");\n");
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

/* Prints the program that computes the derived parameters, and their names. */
static void write_derive(struct text *out, const struct aot_function *f, int index)
{
    if (f->derive_count == 0)
        return;
    text_printf(out,
                "\nstatic const struct aot_size_step aot_derive_%d[] = {%s\n};\n"
                "static const char *const aot_derived_%d[] = {",
                index, f->derive, index);
    for (int i = 0; i < f->param_count; i++)
        if (f->params[i].derived)
            text_printf(out, "\"%s\", ", f->params[i].name);
    text_add(out, "};\n");
}

/* Prints the list of the integers by parameter, and what the module knows of its GPU; with 0 for
 * other parameters, and for derived ones, which are computed. */
static void write_values(struct text *out, const struct aot_function *f)
{
    text_add(out, "    uint64_t aot_values[] = {");
    for (int i = 0; i < f->param_count; i++) {
        const struct aot_param *p = &f->params[i];
        bool given = !p->is_pointer && !dtype_is_float(p->dtype) && !aot_is_computed(p);
        if (p->device) /* `device.clusters` follows when the version is known */
            text_add(out, "module ? (uint64_t)module->multiprocessors : 0, ");
        else
            text_printf(out, given ? "(uint64_t)%s, " : "0, ", p->c_name);
    }
    text_add(out, f->param_count ? "};\n" : "0};\n");
}

/* Prints locals for the derived parameters; the function returns `failed` if one cannot be
 * computed. */
static void write_derived(struct text *out, const struct aot_build *b, int index,
                          const char *failed)
{
    const struct aot_function *f = &b->functions.data[index];
    if (f->derive_count > 0)
        text_printf(out,
                    "    aot_derive(aot_p, aot_derive_%d, %d, aot_derived_%d, aot_values);\n"
                    "    if (aot_p->status != %s_OK)\n        return %s;\n",
                    index, f->derive_count, index, aot_upper(b), failed);
    for (int i = 0; i < f->param_count; i++) {
        const struct aot_param *p = &f->params[i];
        if (aot_is_computed(p))
            text_printf(out, "    %s %s = (%s)aot_values[%d];\n", aot_c_type(p->dtype), p->c_name,
                        aot_c_type(p->dtype), i);
    }
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
    write_values(out, f);
    write_derived(out, b, index, failed);
    if (f->family) {
        text_add(out, "    aot_p->version = -1;\n    if (module)\n        ");
        aot_call(out, f, "aot_take", index, arena_printf(b->arena, "aot_p, aot_values, %s", first));
        text_add(out, ";\n");
        return;
    }
    text_add(out, "    aot_p->version = module ? ");
    aot_call(out, f, "aot_pick", index, first);
    text_add(out, " : -1;\n");
}

/* Prints the call that plans the launch, if the choice of a family has not planned it. */
static void write_plan_call(struct text *out, const struct aot_build *b, int index)
{
    const struct aot_function *f = &b->functions.data[index];
    if (!f->family) {
        aot_take_clusters(out, b, f, "    ", "module", "aot_p->version");
        text_add(out, "    aot_plan(aot_p, aot_values);\n");
    }
}

/* Returns true if the kernel takes the parameter, an 8-bit float, in 32 bits. */
static bool is_widened(const struct aot_param *p)
{
    return !p->is_pointer && dtype_is_byte_float(p->dtype);
}

/* Returns "&m" as the driver takes it. */
static const char *address_of(struct arena *a, const struct aot_param *p)
{
    return arena_printf(a, "(void *)&%s%s", is_widened(p) ? "aot_of_" : "", p->c_name);
}

/* Returns true if the kernels take the parameter, or some of them. */
static bool is_passed(const struct aot_function *f, int param)
{
    return aot_rows_without(f, param) < f->rows.count;
}

static bool is_mixed(const struct aot_function *f, int param)
{
    return is_passed(f, param) && aot_rows_without(f, param) > 0;
}

/* Prints the list of arguments where kernels differ in the parameters that are compiled in. */
static void write_mixed_arguments(struct text *out, const struct aot_function *f)
{
    text_printf(out, "    void *aot_arguments[%d] = {NULL};\n    int aot_given = 0;\n",
                f->param_count + f->rooms + 1);
    for (int i = 0; i < f->param_count; i++) {
        if (!is_passed(f, i))
            continue;
        if (is_mixed(f, i))
            text_printf(out, "    if (!(aot_p->compiled_in >> %d & 1))\n    ", i);
        text_printf(out, "    aot_arguments[aot_given++] = %s;\n",
                    address_of(out->arena, &f->params[i]));
    }
}

static void write_all_arguments(struct text *out, const struct aot_function *f)
{
    int count = 0;
    text_add(out, "    void *aot_arguments[] = {");
    for (int i = 0; i < f->param_count; i++)
        if (is_passed(f, i)) {
            text_printf(out, "%s, ", address_of(out->arena, &f->params[i]));
            count++;
        }
    for (int i = 0; i < f->rooms; i++)
        text_add(out, "NULL, ");
    text_printf(out, "NULL};\n    int aot_given = %d;\n", count);
}

/* Prints the list of all parameters, of which each kernel takes its own. */
static void write_every_argument(struct text *out, const struct aot_function *f)
{
    text_add(out, "    void *aot_arguments[] = {");
    for (int i = 0; i < f->param_count; i++)
        text_printf(out, "%s, ", address_of(out->arena, &f->params[i]));
    text_printf(out, "NULL};\n    int aot_given = %d;\n", f->param_count);
}

static void write_arguments(struct text *out, const struct aot_build *b,
                            const struct aot_function *f)
{
    bool mixed = false;
    for (int i = 0; i < f->param_count; i++) {
        mixed = mixed || is_mixed(f, i);
        if (is_widened(&f->params[i]) && (is_passed(f, i) || aot_has_hopper(b)))
            text_printf(out, "    uint32_t aot_of_%s = %s;\n", f->params[i].c_name,
                        f->params[i].c_name);
    }
    if (aot_has_hopper(b))
        write_every_argument(out, f);
    else if (mixed)
        write_mixed_arguments(out, f);
    else
        write_all_arguments(out, f);
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
    write_plan_call(out, b, index);
    int clusters = aot_clusters_param(b, f);
    if (clusters >= 0)
        text_printf(out, "    %s = (int32_t)aot_values[%d];\n", f->params[clusters].c_name,
                    clusters);
    for (int i = 0; i < f->param_count; i++)
        if (f->params[i].is_pointer)
            text_printf(out, "    aot_array(aot_p, %d, \"%s\", %s, sizeof *%s);\n", i,
                        f->params[i].name, f->params[i].c_name, f->params[i].c_name);
    write_arguments(out, b, f);
    text_printf(out,
                "    return aot_start(module, aot_p, stream, aot_arguments, aot_given, %s);\n}\n",
                aot_takes_workspace(f) ? "workspace, workspace_bytes" : "NULL, 0");
}

static void write_workspace(struct text *out, const struct aot_build *b, int index)
{
    const struct aot_function *f = &b->functions.data[index];
    text_add(out, "\n");
    aot_workspace_prototype(out, b, f);
    text_add(out, "\n{\n");
    write_start_of_body(out, b, index, "module, 0", "0");
    text_add(out, "    if (aot_p->version < 0)\n        return 0;\n");
    write_plan_call(out, b, index);
    text_add(out, "    return aot_workspace(aot_p);\n}\n");
}

/* Returns "sm_90 and sm_80", for a message. */
static const char *targets_text(struct arena *a, const struct target *const *targets, int count)
{
    struct text t;
    text_init(&t, a);
    for (int i = 0; i < count; i++)
        text_printf(&t, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " and ", targets[i]->name);
    return t.data;
}

/* Returns the CPU's index in the list; -1: it is not in the list. */
static int cpu_index(const struct target *const *targets, int count)
{
    int i = count - 1;
    while (i >= 0 && targets[i] != aot_cpu)
        i--;
    return i;
}

void aot_source(struct text *out, struct aot_build *b)
{
    const struct target *targets[AOT_MOST_TARGETS];
    int all, target_count = aot_targets(b, targets, AOT_MOST_TARGETS, &all);
    struct text evaluator, tables, choice, body, functions;
    text_init(&evaluator, b->arena);
    aot_evaluator(&evaluator, b);
    text_init(&tables, b->arena);
    text_init(&choice, b->arena);
    text_init(&body, b->arena);
    text_init(&functions, b->arena);
    write_tables(&tables, b, targets, target_count, all);
    aot_choice(&choice, b);
    for (int i = 0; i < (int)b->functions.count; i++) {
        aot_pick(&body, b, i, targets, target_count);
        write_derive(&body, &b->functions.data[i], i);
        if (b->functions.data[i].family)
            aot_take(&body, b, i, targets);
        write_function(&body, b, i);
        if (aot_takes_workspace(&b->functions.data[i]))
            write_workspace(&body, b, i);
    }
    aot_wrap(&functions, body.data);
    struct aot_slot slots[] = {
        {"name", b->name},
        {"NAME", aot_upper(b)},
        {"about", aot_about(b)},
        {"evaluator", evaluator.data},
        {"images", tables.data},
        {"choice", choice.data},
        {"cpu_target", arena_printf(b->arena, "%d", cpu_index(targets, target_count))},
        {"targets", targets_text(b->arena, targets, target_count)},
        {"functions", functions.data}};
    struct text form;
    text_init(&form, b->arena);
    aot_choose_lines(&form, b, aot_module_c, aot_module_c_length);
    aot_fill(out, (const unsigned char *)form.data, form.length, slots,
             sizeof slots / sizeof *slots);
}
