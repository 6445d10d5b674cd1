#include "bench_set.h"
#include "settings.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

/* --- kernels --- */

static int add_entry(struct bench_set *x, const struct program *p, tw_kernel *k)
{
    struct bench_entry e = {.program = p, .kernel = k};
    tw_status s = x->target ? tw_kernel_for_target(k, x->target, &e.kernel) : TW_OK;
    if (s != TW_OK) {
        complain_library(NULL, p->ctx, s);
        return STATUS_USAGE; /* as `run` does when there is no GPU */
    }
    e.takes_sizes = takes_extent(k, "m") && takes_extent(k, "n") && takes_extent(k, "k");
    e.is_product = e.takes_sizes && find_product(e.kernel, &e.product);
    x->entries = need_more_memory(x->entries, (size_t)(x->entry_count + 1) * sizeof *x->entries);
    x->entries[x->entry_count++] = e;
    x->sized |= e.takes_sizes;
    int width = (int)strlen(tw_kernel_name(k));
    x->name_width = width > x->name_width ? width : x->name_width;
    return STATUS_OK;
}

static int add_target(struct bench_set *x, const char *target, const struct program_config *config)
{
    struct program *p = &x->programs[x->program_count++];
    int status = program_open(p, target, config);
    if (status != STATUS_OK)
        return status;
    if (p->kernel || tw_module_kernel_count(p->module) == 0) {
        tw_kernel *k = program_kernel(p, x->self);
        return k ? add_entry(x, p, k) : STATUS_USAGE;
    }
    for (int i = 0; i < tw_module_kernel_count(p->module) && status == STATUS_OK; i++)
        status = add_entry(x, p, tw_module_kernel_at(p->module, i));
    return status;
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(tw_kernel_name(((const struct bench_entry *)a)->kernel),
                  tw_kernel_name(((const struct bench_entry *)b)->kernel));
}

/* Finds kernels/matmul in the current folder, else in the checkout or installed copy to which
 * the program belongs. */
static bool find_kernels(glob_t *found)
{
    char *pattern = source_path("kernels/matmul/*.tile");
    bool ok = glob(pattern, 0, NULL, found) == 0;
    free(pattern);
    return ok;
}

/* Collects the kernels in the order of the command line. All kernels of kernels/matmul are
 * sorted by name, so that the ladder's steps follow each other. */
static int gather_entries(struct bench_set *x, const struct program_config *config)
{
    const char *const *targets = x->given->words;
    size_t count = (size_t)x->given->word_count;
    glob_t found = {0};
    x->files_given = count > 0;
    if (!x->files_given) {
        if (!find_kernels(&found))
            return usage_error(NULL, x->self, "which FILE? (there is no kernels/matmul here)");
        targets = (const char *const *)found.gl_pathv;
        count = found.gl_pathc;
    }
    int status = STATUS_OK;
    x->programs = need_memory(count * sizeof *x->programs);
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = add_target(x, targets[i], config);
    if (!x->files_given && x->entry_count > 0)
        qsort(x->entries, (size_t)x->entry_count, sizeof *x->entries, compare_entries);
    globfree(&found);
    return status;
}

/* --- sizes --- */

/* Checks the settings once the kernels are known: reports names that no kernel has, and sizes
 * that are given twice or not at all. */
static int check_settings(struct bench_set *x)
{
    const struct options *o = &x->rest;
    struct known_kernel *known = need_memory((size_t)x->entry_count * sizeof *known);
    for (int i = 0; i < x->entry_count; i++)
        known[i] = (struct known_kernel){x->entries[i].program, x->entries[i].kernel};
    int status = settings_known(known, x->entry_count, o);
    free(known);
    if (status != STATUS_OK)
        return status;
    x->sizes_set = x->sized && (settings_give(o, "set", "m") || settings_give(o, "set", "n") ||
                                settings_give(o, "set", "k"));
    if (x->sizes_set && x->shapes.count)
        return usage_error(NULL, x->self,
                           "m, n and k are given twice: by --set, and by -s, -m, --dims, -a or "
                           "--suite");
    if (!x->shapes.count) {
        x->shapes.list = need_memory(sizeof *x->shapes.list);
        x->shapes.list[x->shapes.count++] = (struct shape){
            .m = x->default_size, .n = x->default_size, .k = x->default_size, .batch = 1};
    }
    return STATUS_OK;
}

/* Batched kernels are timed at batched sizes only, unless the command line names them. */
bool bench_set_has(const struct bench_set *x, const struct bench_entry *e,
                   const struct shape *shape, tw_dtype type)
{
    bool by_shape = e->takes_sizes && !x->sizes_set;
    if (by_shape != (shape != NULL))
        return false;
    if (type != TW_DTYPE_NONE && !bench_takes_type(e->kernel, type))
        return false;
    bool batched = takes_extent(e->kernel, "batch");
    return !shape || (shape->batch > 1 ? batched : !batched || x->files_given);
}

static bool any_takes(const struct bench_set *x, tw_dtype type)
{
    for (int i = 0; i < x->entry_count; i++)
        if (type == TW_DTYPE_NONE || bench_takes_type(x->entries[i].kernel, type))
            return true;
    return false;
}

/* Reports the types that --type names but that get no row. */
static void say_untaken(const struct bench_set *x)
{
    const char *type = options_value(x->given, "type");
    const char *who = x->entry_count == 1 ? tw_kernel_name(x->entries[0].kernel) : "no kernel here";
    for (int t = 0; t < x->types.count; t++)
        if (!any_takes(x, x->types.list[t]) && strcmp(type, "all") != 0)
            complain(NULL, "--type %s: %s %s elements of that type",
                     tw_dtype_name(x->types.list[t]), who,
                     x->entry_count == 1 ? "takes no" : "takes");
}

/* --- the whole --- */

int bench_set_open(struct bench_set *x, const struct program_config *config)
{
    int status = shapes_gather(&x->shapes, x->self, x->given);
    if (status == STATUS_OK)
        status = bench_split_types(&x->types, &x->rest, x->self, x->given);
    if (status == STATUS_OK)
        status = gather_entries(x, config);
    if (status == STATUS_OK)
        status = check_settings(x);
    if (status == STATUS_OK)
        say_untaken(x);
    return status;
}

void bench_set_close(struct bench_set *x)
{
    for (int i = 0; i < x->program_count; i++)
        program_close(&x->programs[i]);
    free(x->programs);
    free(x->entries);
    free(x->shapes.list);
    free(x->rest.uses);
}
