/* The function of a family: its tables, and the choice of a version by them. The constant part is
 * aot_choice.c.in. */
#include "aot/aot.h"
#include "base/octaves.h"

#include <inttypes.h>

extern const unsigned char aot_choice_c[];
extern const size_t aot_choice_c_length;

void aot_choice(struct text *out, const struct aot_build *b)
{
    int sizes = 1, order = 0;
    for (size_t i = 0; i < b->functions.count; i++) {
        const struct aot_family *family = b->functions.data[i].family;
        for (size_t t = 0; family && t < family->tables.count; t++) {
            int variants = family->tables.data[t].variant_count;
            sizes = family->size_count > sizes ? family->size_count : sizes;
            order = variants > order ? variants : order;
        }
    }
    if (order == 0)
        return;
    struct aot_slot slots[] = {{"name", b->name},
                               {"sizes", arena_printf(b->arena, "%d", sizes)},
                               {"order", arena_printf(b->arena, "%d", order)}};
    struct text form;
    text_init(&form, b->arena);
    aot_choose_lines(&form, b, aot_choice_c, aot_choice_c_length);
    aot_fill(out, (const unsigned char *)form.data, form.length, slots,
             sizeof slots / sizeof *slots);
}

static void write_size(struct text *out, int64_t size)
{
    text_printf(out, size > INT32_MAX ? "INT64_C(%" PRId64 ")" : "%" PRId64, size);
}

/* Prints the point; a table without sizes has one 0 in their place. */
static void write_point(struct text *out, const struct aot_family *family,
                        const struct aot_table *table, const struct aot_point *point)
{
    int sizes = family->size_count;
    text_add(out, sizes ? "    {{" : "    {{0");
    for (int s = 0; s < sizes; s++) {
        text_add(out, s ? ", " : "");
        write_size(out, point->sizes[s]);
    }
    text_add(out, sizes ? "}, {" : "}, {0");
    for (int s = 0; s < sizes; s++)
        text_printf(out, "%s%d", s ? ", " : "", octaves_256(point->sizes[s]));
    text_add(out, "}, {");
    for (int v = 0; v < table->variant_count; v++)
        text_printf(out, "%s%d", v ? ", " : "", point->order[v]);
    text_add(out, sizes ? "}, {" : "}, {0");
    for (int s = 0; s < sizes; s++)
        text_printf(out, "%s%d", s ? ", " : "", size_divisor(point->sizes[s]));
    text_add(out, "}},\n");
}

/* Prints the sizes of a table in words: "m, n, k". */
static void write_names(struct text *out, const struct aot_function *f)
{
    for (int s = 0; s < f->family->size_count; s++)
        text_printf(out, "%s%s", s ? ", " : "", f->params[f->family->sizes[s]].c_name);
}

static int device_index(const struct aot_build *b, const char *device)
{
    int i = 0;
    while (i < (int)b->devices.count && b->devices.data[i] != device)
        i++;
    return i;
}

static void write_points(struct text *out, const struct aot_function *f, int index, int number)
{
    const struct aot_table *table = &f->family->tables.data[number];
    text_add(out, "\n/* ");
    write_names(out, f);
    text_printf(out, "%s, the fastest first%s%s. */\n",
                f->family->size_count ? ", their octaves, the variants" : "no sizes; the variants",
                table->device ? ", on " : "", table->device ? table->device : "");
    text_printf(out, "static const struct aot_point aot_points_%d_%d[] = {\n", index, number);
    for (size_t i = 0; i < table->points.count; i++)
        write_point(out, f->family, table, &table->points.data[i]);
    text_add(out, "};\n");
}

static void write_list(struct text *out, const struct aot_build *b, int index,
                       const struct target *const *targets)
{
    const struct aot_family *family = b->functions.data[index].family;
    text_printf(out, "static const struct aot_table aot_tables_%d[] = {\n", index);
    for (size_t i = 0; i < family->tables.count; i++) {
        const struct aot_table *table = &family->tables.data[i];
        text_printf(out, "    {%d, %d, %d, %d, %zu, aot_points_%d_%zu},\n",
                    aot_target_index(targets, table->target), device_index(b, table->device),
                    family->size_count, table->variant_count, table->points.count, index, i);
    }
    text_add(out, "};\n");
}

/* Prints the loop over the variants. If all plans fail, the first variant reports why. */
static void write_loop(struct text *out, const struct aot_build *b, const struct aot_function *f,
                       int index)
{
    text_add(out, "    for (int aot_i = 0; aot_t && aot_i < aot_t->variants; aot_i++) {\n"
                  "        int aot_v = ");
    aot_call(out, f, "aot_version", index, "aot_m, aot_low, aot_by[aot_i]");
    text_add(out, ";\n"
                  "        if (aot_v < 0)\n"
                  "            continue;\n"
                  "        aot_first = aot_first < 0 ? aot_v : aot_first;\n"
                  "        aot_begin(aot_p, aot_v);\n");
    aot_take_clusters(out, b, f, "        ", "aot_m", "aot_v");
    text_add(out, "        aot_plan(aot_p, aot_values);\n"
                  "        if (aot_p->status == 0 && aot_has(aot_m, aot_v)");
    text_add(out, aot_has_hopper(b) ? " && aot_fits(aot_p, aot_low))\n" : ")\n");
    text_add(out, "            return;\n"
                  "    }\n"
                  "    aot_begin(aot_p, aot_first);\n"
                  "    if (aot_first < 0)\n"
                  "        return;\n");
    aot_take_clusters(out, b, f, "    ", "aot_m", "aot_first");
    text_add(out, "    aot_plan(aot_p, aot_values);\n}\n");
}

void aot_take(struct text *out, const struct aot_build *b, int index,
              const struct target *const *targets)
{
    const struct aot_function *f = &b->functions.data[index];
    for (size_t i = 0; i < f->family->tables.count; i++)
        write_points(out, f, index, (int)i);
    write_list(out, b, index, targets);
    text_printf(
        out,
        "\n/* Chooses a version and plans the launch: the first variant, in the order of the "
        "nearest sizes,\n"
        " * that takes the sizes and fits the device. The version is -1 if nothing was built for "
        "the launch. */\n"
        "static void aot_take_%d(struct aot_plan *aot_p, uint64_t *aot_values,\n"
        "    const %s_module *aot_m, uintptr_t aot_low",
        index, b->name);
    aot_scalars(out, f);
    text_add(out, "    const int64_t aot_asked[] = {");
    for (int s = 0; s < f->family->size_count; s++)
        text_printf(out, "%s(int64_t)%s", s ? ", " : "", f->params[f->family->sizes[s]].c_name);
    text_printf(out,
                "%s};\n"
                "    const struct aot_table *aot_t = aot_table_of(aot_m, aot_tables_%d, %zu);\n"
                "    const unsigned short *aot_by = aot_t ? aot_order(aot_t, aot_asked) : NULL;\n"
                "    int aot_first = -1;\n",
                f->family->size_count ? "" : "0", index, f->family->tables.count);
    write_loop(out, b, f, index);
}
