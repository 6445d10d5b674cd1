#include "show/show_family.h"
#include "cli/json.h"
#include "show/show_kernels.h"

#include <stdlib.h>
#include <string.h>

/* Adds ", " between the parts of a line. */
static void add_part(char **line, const char *text)
{
    append_text(line, "%s%s", *line ? ", " : "", text);
}

/* Returns "static n, k; tune BM, WARPS; T = {f16, f32}", or NULL for a kernel without any. */
static char *differences(tw_kernel *k)
{
    tw_param p = tw_param_init();
    tw_tune tune = tw_tune_init();
    tw_type type = tw_type_init();
    char *fixed = NULL, *tuned = NULL, *all = NULL;
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++)
        if (p.is_static)
            add_part(&fixed, p.name);
    for (int i = 0; tw_kernel_tune(k, i, &tune) == TW_OK; i++)
        add_part(&tuned, tune.name);
    if (fixed)
        append_text(&all, "static %s", fixed);
    if (tuned)
        append_text(&all, "%stune %s", all ? "; " : "", tuned);
    for (int i = 0; tw_kernel_type(k, i, &type) == TW_OK; i++) {
        char *choices = NULL;
        for (int c = 0; c < type.count; c++)
            add_part(&choices, tw_dtype_name(type.choices[c]));
        append_text(&all, "%s%s = {%s}", all ? "; " : "", type.name, choices);
        free(choices);
    }
    free(fixed);
    free(tuned);
    return all;
}

int show_family_types(const struct program *p, const struct options *o)
{
    tw_type type = tw_type_init();
    tw_status s = TW_OK;
    for (int i = 0; s == TW_OK && tw_kernel_type(tw_family_kernel(p->family, 0), i, &type) == TW_OK;
         i++) {
        tw_dtype asked = settings_type(o, type.name);
        s = asked == TW_DTYPE_NONE ? TW_OK : tw_family_type(p->family, type.name, asked);
    }
    if (s != TW_OK)
        complain_library(p->complaints, p->ctx, s);
    return s == TW_OK ? STATUS_OK : STATUS_USAGE;
}

/* Lists the variants that have results for the family's types. */
static void show_variants(const struct program *p, const struct options *o)
{
    tw_choice c = tw_choice_init();
    tw_type type = tw_type_init();
    char *types = NULL;
    for (int i = 0; tw_kernel_type(tw_family_kernel(p->family, 0), i, &type) == TW_OK; i++) {
        tw_dtype asked = settings_type(o, type.name);
        append_text(&types, "%s %s=%s", types ? "," : " for", type.name,
                    tw_dtype_name(asked != TW_DTYPE_NONE ? asked : type.choices[0]));
    }
    for (int i = 0; tw_family_variant(p->family, i, true, &c); i++) {
        if (i == 0)
            print_text(stdout, "variants with results%s\n", types ? types : "");
        print_text(stdout, "  %s\n", c.variant);
    }
    free(types);
}

void show_family(const struct program *p, const struct options *o)
{
    tw_kernel *k;
    size_t width = 0, file_width = 0;
    tw_param param = tw_param_init();
    print_text(stdout, "family %s\n", tw_family_name(p->family));
    for (int i = 0; tw_kernel_param(tw_family_kernel(p->family, 0), i, &param) == TW_OK; i++) {
        param.is_static = false; /* may differ */
        show_param(&param);
    }
    for (int i = 0; (k = tw_family_kernel(p->family, i)); i++) {
        size_t name = strlen(tw_kernel_name(k)), file = strlen(tw_family_file(p->family, i));
        width = name > width ? name : width;
        file_width = file > file_width ? file : file_width;
    }
    puts("kernels");
    for (int i = 0; (k = tw_family_kernel(p->family, i)); i++) {
        char *rest = differences(k);
        print_text(stdout, rest ? "  %-*s  %-*s  %s\n" : "  %-*s  %*s%s\n", (int)width,
                   tw_kernel_name(k), rest ? (int)file_width : 0, tw_family_file(p->family, i),
                   rest ? rest : "");
        free(rest);
    }
    show_variants(p, o);
}

static void json_kernel(struct json *j, tw_kernel *k, const char *file)
{
    tw_param p = tw_param_init();
    tw_tune tune = tw_tune_init();
    json_open(j, '{');
    json_put_text(j, "kernel", tw_kernel_name(k));
    json_put_text(j, "file", file);
    json_open_numbers(j, "static");
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++)
        if (p.is_static)
            json_string(j, p.name);
    json_close(j, ']');
    json_open_numbers(j, "tune");
    for (int i = 0; tw_kernel_tune(k, i, &tune) == TW_OK; i++)
        json_string(j, tune.name);
    json_close(j, ']');
    json_types(j, k);
    json_close(j, '}');
}

void show_family_json(const struct program *p)
{
    struct json j = {.out = stdout};
    tw_kernel *k;
    json_open(&j, '{');
    json_put_text(&j, "family", tw_family_name(p->family));
    json_put_text(&j, "file", p->path);
    json_open_list(&j, "kernels");
    for (int i = 0; (k = tw_family_kernel(p->family, i)); i++)
        json_kernel(&j, k, tw_family_file(p->family, i));
    json_close(&j, ']');
    json_open_list(&j, "variants");
    tw_choice c = tw_choice_init();
    for (int i = 0; tw_family_variant(p->family, i, true, &c); i++) {
        json_open(&j, '{');
        json_put_text(&j, "kernel", tw_kernel_name(c.kernel));
        json_put_text(&j, "tune", c.tune);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
    json_end(&j);
}
