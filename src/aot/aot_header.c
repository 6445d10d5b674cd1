/* NAME.h: the parameters of each function, in words and as a prototype. */
#include "aot/aot.h"

#include <inttypes.h>
#include <string.h>

extern const unsigned char aot_module_h[];
extern const size_t aot_module_h_length;

/* --- texts --- */

/* Prints a text within a comment of C, so that it neither ends the comment nor starts another. */
static void add_comment(struct text *out, const char *s)
{
    for (; *s; s++) {
        text_add_char(out, *s);
        if ((s[0] == '*' && s[1] == '/') || (s[0] == '/' && s[1] == '*'))
            text_add_char(out, ' ');
    }
}

const char *aot_upper(const struct aot_build *b)
{
    char *upper = arena_string(b->arena, b->name, strlen(b->name));
    for (char *c = upper; *c; c++)
        *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    return upper;
}

const char *aot_about(struct aot_build *b)
{
    struct text about;
    text_init(&about, b->arena);
    text_printf(&about, "%s: made by tilewright %s of", b->name, b->version);
    for (size_t i = 0; i < b->functions.count; i++) {
        bool again = false;
        for (size_t j = 0; j < i; j++)
            again = again || strcmp(b->functions.data[j].file, b->functions.data[i].file) == 0;
        if (again)
            continue;
        text_add(&about, i ? ", " : " ");
        add_comment(&about, b->functions.data[i].file);
    }
    text_add(&about, ". Do not edit it: change the kernels and build it again.");
    return about.data;
}

/* --- prototypes --- */

void aot_prototype(struct text *out, const struct aot_build *b, const struct aot_function *f)
{
    text_printf(out, "%s_status %s(const %s_module *module, void *stream", b->name, f->name,
                b->name);
    for (int i = 0; i < f->param_count; i++) {
        const struct aot_param *p = &f->params[i];
        if (aot_is_computed(p))
            continue;
        text_printf(out, ", %s%s %s%s", p->is_pointer && p->is_const ? "const " : "",
                    aot_c_type(p->dtype), p->is_pointer ? "*" : "", p->c_name);
    }
    text_add(out, aot_takes_workspace(f) ? ", void *workspace, size_t workspace_bytes)" : ")");
}

void aot_workspace_prototype(struct text *out, const struct aot_build *b,
                             const struct aot_function *f)
{
    text_printf(out, "size_t %s_workspace(const %s_module *module", f->name, b->name);
    for (int i = 0; i < f->param_count; i++)
        if (!f->params[i].is_pointer && !aot_is_computed(&f->params[i]))
            text_printf(out, ", %s %s", aot_c_type(f->params[i].dtype), f->params[i].c_name);
    text_add(out, ")");
}

/* --- in words --- */

static void show_value(struct text *out, enum dtype t, struct literal v)
{
    if (dtype_is_float(t))
        aot_show_float(out, t, v.is_float ? v.f : (double)v.i);
    else if (t == DT_BOOL)
        text_add(out, v.i ? "true" : "false");
    else if (t == DT_U64)
        text_printf(out, "%" PRIu64, (uint64_t)v.i);
    else
        text_printf(out, "%" PRId64, v.i);
}

const char *aot_statics(struct arena *a, const struct aot_function *f, const struct aot_row *r)
{
    struct text t;
    text_init(&t, a);
    for (int i = 0; i < f->param_count; i++) {
        if (!r->is_static[i])
            continue;
        text_printf(&t, "%s%s = ", t.length ? ", " : "", f->params[i].name);
        show_value(&t, f->params[i].dtype, r->values[i]);
    }
    return t.data;
}

static void describe_range(struct text *out, const struct aot_function *f,
                           const struct aot_range *r)
{
    const char *name = f->params[r->param].name;
    if (r->least == r->most)
        text_printf(out, "; %s = %" PRId64, name, r->least);
    else if (r->most == INT64_MAX)
        text_printf(out, "; %s from %" PRId64, name, r->least);
    else if (r->least == INT64_MIN)
        text_printf(out, "; %s up to %" PRId64, name, r->most);
    else
        text_printf(out, "; %s from %" PRId64 " to %" PRId64, name, r->least, r->most);
}

static void describe_row(struct text *out, const struct aot_build *b, const struct aot_function *f,
                         const struct aot_row *r)
{
    text_printf(out, " *   %s", b->images.data[b->versions.data[r->version].image].code->name);
    if (r->device)
        text_printf(out, " (%s)", r->device);
    const char *statics = aot_statics(b->arena, f, r);
    const char *variant = f->family ? f->family->variants.data[r->variant] : "";
    text_printf(out, "%s%.*s", *variant ? "; " : "", (int)strcspn(variant, " "), variant);
    text_printf(out, "%s%s", *statics ? "; " : "", statics);
    for (int i = 0; i < r->range_count; i++)
        describe_range(out, f, &r->ranges[i]);
    for (int i = 0; i < f->param_count; i++)
        if (r->divisor[i] > 1)
            text_printf(out, "; %s divisible by %d", f->params[i].name, r->divisor[i]);
    if (aot_least_alignment(f) < r->alignment)
        text_printf(out, "; addresses divisible by %d", r->alignment);
    text_printf(out, "%s%s\n", *r->tuned ? ": " : "", r->tuned);
}

/* Returns true if all kernels copy the parameter's array with tensor maps. */
static bool is_mapped(const struct aot_build *b, const struct aot_function *f, int index)
{
    bool all = index < 64;
    for (size_t i = 0; i < f->rows.count && all; i++)
        all = b->versions.data[f->rows.data[i].version].sizes.mapped >> index & 1;
    return all;
}

static void describe_param(struct text *out, const struct aot_build *b,
                           const struct aot_function *f, int index)
{
    const struct aot_param *p = &f->params[index];
    int alignment = aot_least_alignment(f);
    int bytes = (int)dtype_size(p->dtype);
    bool bits = dtype_is_half(p->dtype) || dtype_is_byte_float(p->dtype);
    text_printf(out, " *   %-9s %s%s%s", p->c_name, dtype_table[p->dtype].name, p->shape,
                bits ? " (as bits)" : "");
    if (p->is_pointer)
        text_printf(out, ", %s; %d divides its address", p->is_const ? "read" : "written",
                    alignment > bytes ? alignment : bytes);
    if (is_mapped(b, f, index))
        text_add(out, "; rows of a multiple of 16 bytes");
    if (p->is_pointer && !*p->shape)
        text_add(out, "; laid out as the kernel's view of it");
    if (p->derived)
        text_printf(out, ", computed here: %s", p->derived_text);
    if (p->device)
        text_add(out, aot_clusters_param(b, f) == index
                          ? ", computed here: the clusters that the GPU runs at the same time"
                          : ", computed here: the GPU's multiprocessors");
    if (p->has_default) {
        text_add(out, "; default ");
        show_value(out, p->dtype, p->default_value);
    }
    bool in_all = !p->device && aot_rows_without(f, index) == f->rows.count;
    text_add(out, in_all ? ", one of the values below\n" : "\n");
}

static void describe_choice(struct text *out, const struct aot_function *f)
{
    text_add(out,
             " *\n * Takes the kernel that is the fastest at the sizes of the launch, or at the "
             "nearest in a table:\n");
    for (size_t i = 0; i < f->family->tables.count; i++) {
        const struct aot_table *table = &f->family->tables.data[i];
        text_printf(out, " *   %s, ", table->target->name);
        if (table->device)
            text_printf(out, "as measured on %s at %d sizes, and predicted from these at %zu more",
                        table->device, table->measured,
                        table->points.count - (size_t)table->measured);
        else if (table->target == aot_cpu)
            text_add(out, "without results: the first that takes the sizes");
        else
            text_printf(out, "by the model at %zu sizes", table->points.count);
        text_printf(out, ": %d of %d kernels with tuned values", table->variant_count,
                    table->compared);
        if (table->mean > 0)
            text_printf(out, "; in geometric mean %.3f times the least time", table->mean);
        text_add(out, "\n");
    }
    text_add(out,
             " * Programs. If several with the same tuned values fit a launch's sizes and its\n"
             " * device, the launch takes the first one:\n");
}

static void describe(struct text *out, const struct aot_build *b, const struct aot_function *f)
{
    text_printf(out, "%s `%s` of %s%s%s.\n *\n", f->family ? "Family" : "Kernel", f->kernel,
                f->file, *f->types ? " with " : "", f->types);
    for (int i = 0; i < f->param_count; i++)
        describe_param(out, b, f, i);
    if (aot_takes_workspace(f))
        text_printf(out,
                    " *   workspace %s_workspace(…) bytes of device memory; 256 divides its "
                    "address.\n"
                    " *             Its contents need not be kept; launches that may run at the "
                    "same\n"
                    " *             time each need their own.\n",
                    f->name);
    if (f->family)
        describe_choice(out, f);
    else
        text_add(
            out,
            " *\n * Programs. A launch takes the first one that fits its sizes and its device:\n");
    for (size_t i = 0; i < f->rows.count; i++)
        describe_row(out, b, f, &f->rows.data[i]);
}

static void declare(struct text *out, const struct aot_build *b, const struct aot_function *f)
{
    struct text words;
    text_init(&words, b->arena);
    describe(&words, b, f);
    text_add(out, "\n/* ");
    add_comment(out, words.data);
    text_add(out, " */\n");
    aot_prototype(out, b, f);
    text_add(out, ";\n");
    if (!aot_takes_workspace(f))
        return;
    text_printf(out, "/* Bytes; 0 where a launch would not return %s_OK either. */\n",
                aot_upper(b));
    aot_workspace_prototype(out, b, f);
    text_add(out, ";\n");
}

void aot_header(struct text *out, struct aot_build *b)
{
    struct text all, functions;
    text_init(&all, b->arena);
    text_init(&functions, b->arena);
    for (size_t i = 0; i < b->functions.count; i++)
        declare(&all, b, &b->functions.data[i]);
    aot_wrap(&functions, all.data);
    struct aot_slot slots[] = {{"name", b->name},
                               {"NAME", aot_upper(b)},
                               {"about", aot_about(b)},
                               {"functions", functions.data}};
    struct text form;
    text_init(&form, b->arena);
    aot_choose_lines(&form, b, aot_module_h, aot_module_h_length);
    aot_fill(out, (const unsigned char *)form.data, form.length, slots,
             sizeof slots / sizeof *slots);
}
