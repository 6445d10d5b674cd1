/* Programs of the CPU engine in NAME.c, as words; libtilewright_cpu.a loads them. */
#include "aot/aot.h"

#include <inttypes.h>
#include <string.h>

enum { WORDS_OF_LINE = 5 };

static void write_words(struct text *out, const struct aot_program *p, size_t image, size_t index)
{
    text_printf(out, "static const uint64_t aot_words_%zu_%zu[] = {", image, index);
    for (size_t i = 0; i < p->count; i++) {
        text_add(out, i % WORDS_OF_LINE ? " " : "\n    ");
        text_printf(out, p->words[i] < 1000 ? "%" PRIu64 "," : "0x%" PRIx64 ",", p->words[i]);
    }
    text_add(out, "\n};\n");
}

/* Returns the first program with the same words. */
static size_t first_equal(const struct aot_image *image, size_t index)
{
    const struct aot_program *of = &image->programs.data[index];
    for (size_t i = 0; i < index; i++) {
        const struct aot_program *p = &image->programs.data[i];
        if (p->count == of->count && memcmp(p->words, of->words, p->count * sizeof *p->words) == 0)
            return i;
    }
    return index;
}

static void write_image(struct text *out, const struct aot_image *image, size_t index)
{
    for (size_t i = 0; i < image->programs.count; i++)
        if (first_equal(image, i) == i)
            write_words(out, &image->programs.data[i], index, i);
    text_printf(out, "static const tw_cpu_program aot_programs_%zu[] = {\n", index);
    for (size_t i = 0; i < image->programs.count; i++)
        text_printf(out, "    {\"%s\", aot_words_%zu_%zu},\n", image->programs.data[i].set, index,
                    first_equal(image, i));
    text_add(out, "    {NULL, NULL}};\n");
}

void aot_cpu_programs(struct text *out, const struct aot_build *b)
{
    text_add(out, "/* For the CPU, for each set of instructions. */\n");
    for (size_t i = 0; i < b->images.count; i++)
        if (b->images.data[i].target == aot_cpu)
            write_image(out, &b->images.data[i], i);
    text_add(out, "static tw_cpu_kernel aot_kernels[] = {\n");
    for (size_t i = 0; i < b->images.count; i++)
        if (b->images.data[i].target == aot_cpu)
            text_printf(out, "    {\"%s\", aot_programs_%zu, NULL},\n", b->version, i);
        else
            text_add(out, "    {NULL, NULL, NULL}, /* of a GPU */\n");
    text_add(out, "};\n");
}

/* Returns whether the lines after "@if NAME@" stay. */
static bool stays(const struct aot_build *b, const char *name, size_t length)
{
    const struct {
        const char *name;
        bool holds;
    } all[] = {{"gpu", aot_has_gpu(b)},
               {"cpu", aot_has_cpu(b)},
               {"only_cpu", aot_has_cpu(b) && !aot_has_gpu(b)},
               {"attributes", aot_has_attributes(b)},
               {"clusters", aot_asks_clusters(b)},
               {"hopper", aot_has_hopper(b)},
               {"not_hopper", !aot_has_hopper(b)}};
    size_t i = 0;
    while (strlen(all[i].name) != length || memcmp(all[i].name, name, length) != 0)
        i++;
    return all[i].holds;
}

void aot_choose_lines(struct text *out, const struct aot_build *b, const unsigned char *form,
                      size_t length)
{
    static const char begin[] = "@if ", end[] = "@end@";
    const struct text all = aot_unpack(out->arena, form, length);
    const char *at = all.data, *stop = at + all.length;
    int left_out = 0; /* "@if" without "@end@", from the first that does not hold */
    while (at < stop) {
        const char *line_end = memchr(at, '\n', (size_t)(stop - at));
        const char *next = line_end ? line_end + 1 : stop;
        if (strncmp(at, begin, sizeof begin - 1) == 0) {
            const char *name = at + sizeof begin - 1;
            left_out += left_out > 0 || !stays(b, name, strcspn(name, "@"));
        } else if (strncmp(at, end, sizeof end - 1) == 0) {
            left_out -= left_out > 0;
        } else if (left_out == 0) {
            text_add_n(out, at, (size_t)(next - at));
        }
        at = next;
    }
}
