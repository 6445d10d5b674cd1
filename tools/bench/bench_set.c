#include "bench/bench_set.h"
#include "cli/chosen.h"
#include "cli/settings.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

/* --- kernels --- */

/* Adds a kernel that is compiled for the target. */
static void add_entry(struct bench_set *x, const struct bench_entry *like)
{
    struct bench_entry e = *like;
    tw_kernel *k = e.kernel;
    e.takes_sizes = takes_extent(k, "m") && takes_extent(k, "n") && takes_extent(k, "k");
    e.is_product = e.takes_sizes && find_product(k, &e.product);
    ADD_TO(x->entries, x->entry_count, e);
    x->sized |= e.takes_sizes;
}

static void take_width(struct bench_set *x, tw_kernel *k)
{
    int width = (int)strlen(tw_kernel_name(k));
    x->name_width = width > x->name_width ? width : x->name_width;
}

static int add_kernel(struct bench_set *x, const struct program *p, tw_kernel *k)
{
    struct bench_entry e = {.program = p, .kernel = k, .file = p->path};
    tw_status s = x->target ? tw_kernel_for_target(k, x->target, &e.kernel) : TW_OK;
    if (s != TW_OK) {
        complain_library(NULL, p->ctx, s);
        return STATUS_USAGE; /* as `run` does when there is no GPU */
    }
    take_width(x, k);
    add_entry(x, &e);
    return STATUS_OK;
}

/* Adds the kernels of a family, or the family in place of them (--best). */
static int add_family(struct bench_set *x, const struct program *p)
{
    struct bench_entry e = {.program = p, .family = p->family, .best = x->best, .file = p->path};
    tw_status s = x->target ? tw_family_from_file(p->ctx, p->path, tw_family_name(p->family),
                                                  x->target, &e.family)
                            : TW_OK;
    if (s != TW_OK) {
        complain_library(NULL, p->ctx, s);
        return STATUS_USAGE;
    }
    for (int i = 0; i < tw_family_kernel_count(e.family); i++) {
        e.kernel = tw_family_kernel(e.family, i);
        e.file = x->best ? p->path : tw_family_file(e.family, i);
        take_width(x, e.kernel);
        if (i == 0 || !x->best)
            add_entry(x, &e);
    }
    return x->best ? chosen_add_store(e.family, p, x->given) : STATUS_OK;
}

static int add_target(struct bench_set *x, const char *target, const struct program_config *config)
{
    struct program *p = &x->programs[x->program_count++];
    int status = program_open(p, target, config);
    if (status != STATUS_OK)
        return status;
    if (p->family || (x->best && program_is_family(p)))
        return add_family(x, p);
    if (p->kernel || tw_module_kernel_count(p->module) == 0) {
        tw_kernel *k = program_kernel(p, x->self);
        return k ? add_kernel(x, p, k) : STATUS_USAGE;
    }
    for (int i = 0; i < tw_module_kernel_count(p->module) && status == STATUS_OK; i++)
        status = add_kernel(x, p, tw_module_kernel_at(p->module, i));
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
    bool any_family = false;
    x->programs = need_memory(count * sizeof *x->programs);
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = add_target(x, targets[i], config);
    for (int i = 0; i < x->entry_count; i++)
        any_family |= x->entries[i].family != NULL;
    if (status == STATUS_OK && x->best && !any_family)
        status = usage_error(NULL, x->self, "--best is the choice of a family, and none is given");
    if (!x->files_given && x->entry_count > 0)
        qsort(x->entries, (size_t)x->entry_count, sizeof *x->entries, compare_entries);
    globfree(&found);
    return status;
}

/* --- sizes --- */

/* Returns the number of kernels of which one is timed, and kernel number `index`. */
static int kernels_of(const struct bench_entry *e)
{
    return e->best ? tw_family_kernel_count(e->family) : 1;
}

static tw_kernel *kernel_of(const struct bench_entry *e, int index)
{
    return e->best ? tw_family_kernel(e->family, index) : e->kernel;
}

static bool takes_type(const struct bench_entry *e, tw_dtype type)
{
    for (int i = 0; i < kernels_of(e); i++)
        if (type == TW_DTYPE_NONE || kernel_takes_type(kernel_of(e, i), type))
            return true;
    return false;
}

/* Checks the settings once the kernels are known: reports names that no kernel has, and sizes
 * that are given twice or not at all. */
static int check_settings(struct bench_set *x)
{
    const struct options *o = &x->rest;
    struct known_kernel *known = NULL;
    int count = 0;
    for (const struct bench_entry *e = x->entries; e < x->entries + x->entry_count; e++)
        for (int i = 0; i < kernels_of(e); i++) {
            ADD_TO(known, count, (struct known_kernel){e->program, kernel_of(e, i)});
        }
    int status = settings_known(known, count, o);
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
    if (!takes_type(e, type))
        return false;
    bool batched = takes_extent(e->kernel, "batch");
    return !shape || (shape->batch > 1 ? batched : !batched || x->files_given);
}

static bool any_takes(const struct bench_set *x, tw_dtype type)
{
    for (int i = 0; i < x->entry_count; i++)
        if (takes_type(&x->entries[i], type))
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
    x->best = options_has(x->given, "best");
    if (status == STATUS_OK)
        status = type_list_split(&x->types, &x->rest, x->self, x->given);
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
