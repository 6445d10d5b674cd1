/* Families for `build`: the sizes of --set, the results by which variants are chosen, the types. */
#include "build.h"
#include "tilewright_tuning.h"

#include <stdlib.h>
#include <string.h>

/* --- sizes --- */

/* Reads a value of --set: "4096", or "1..128", both included; "64.." has no upper end. */
static bool read_range(const char *text, tw_size_range *out)
{
    const char *dots = strstr(text, "..");
    char *low = need_text("%.*s", dots ? (int)(dots - text) : (int)strlen(text), text);
    const char *high = dots ? dots + 2 : low;
    out->least = INT64_MIN;
    out->most = INT64_MAX;
    bool good = (dots && !*low && *high) || parse_integer(low, &out->least);
    good = good && ((dots && !*high) || parse_integer(high, &out->most));
    free(low);
    return good && out->least <= out->most;
}

static int make_set(tw_size_set *set, const struct point *p, const struct options *o)
{
    tw_size_range *ranges = need_memory(((size_t)p->count + 1) * sizeof *ranges);
    *set = (tw_size_set){p->count, ranges};
    for (int i = 0; i < p->count; i++) {
        ranges[i].param = p->list[i].name;
        if (!read_range(p->list[i].value, &ranges[i]))
            return usage_error(NULL, o->command,
                               "--set %s=%s: expected an integer, or a range LEAST..MOST",
                               p->list[i].name, p->list[i].value);
    }
    return STATUS_OK;
}

static void sets_free(tw_size_set *sets, int count)
{
    for (int i = 0; i < count; i++)
        free((void *)sets[i].ranges);
    free(sets);
}

/* --- results --- */

static int add_store(const struct family_request *r, tw_family *f)
{
    const char *path = options_value(r->options, "store");
    tw_store *store;
    if (!path)
        return STATUS_OK;
    tw_status s = tw_store_open_existing(r->ctx, path, &store);
    if (s == TW_OK)
        s = tw_family_add_store(f, store, NULL);
    if (s != TW_OK)
        complain_library(NULL, r->ctx, s);
    tw_store_close(store);
    return s == TW_OK ? STATUS_OK : STATUS_USAGE;
}

/* Adds the results of --table and --store to those that are next to the family's file. */
static int add_results(const struct family_request *r, tw_family *f)
{
    for (const struct option_use *u = NULL; (u = options_next(r->options, "table", u));) {
        tw_status s = tw_family_add_table(f, u->values[0], NULL);
        if (s == TW_OK)
            continue;
        complain_library(NULL, r->ctx, s);
        return STATUS_USAGE;
    }
    return add_store(r, f);
}

/* --- types --- */

enum { MOST_CHOICES = 32 };

/* A type variable, with the types that any kernel of the family lists. */
struct variable {
    char name[64];
    int count, at;
    tw_dtype choices[MOST_CHOICES];
};

static void add_choices(struct variable *v, const tw_type *type)
{
    for (int i = 0; i < type->count; i++) {
        int same = 0;
        while (same < v->count && v->choices[same] != type->choices[i])
            same++;
        if (same == v->count && v->count < MOST_CHOICES)
            v->choices[v->count++] = type->choices[i];
    }
}

/* Returns the type variables of the first kernel; the caller frees. */
static struct variable *find_variables(tw_family *f, int *count)
{
    tw_kernel *first = tw_family_kernel(f, 0);
    *count = tw_kernel_type_count(first);
    struct variable *list = need_memory(((size_t)*count + 1) * sizeof *list);
    for (int v = 0; v < *count; v++) {
        tw_type own = tw_type_init();
        tw_kernel_type(first, v, &own);
        snprintf(list[v].name, sizeof list[v].name, "%s", own.name);
        for (int k = 0; k < tw_family_kernel_count(f); k++) {
            tw_type type = tw_type_init();
            for (int t = 0; tw_kernel_type(tw_family_kernel(f, k), t, &type) == TW_OK; t++)
                if (strcmp(type.name, list[v].name) == 0)
                    add_choices(&list[v], &type);
        }
    }
    return list;
}

/* Goes to the next choice of types. Returns false after the last. */
static bool next_choice(struct variable *list, int count)
{
    for (int v = count - 1; v >= 0; v--) {
        if (++list[v].at < list[v].count)
            return true;
        list[v].at = 0;
    }
    return false;
}

/* Gives the family the present choice. Returns false if --type does not ask for it. */
static bool take_choice(tw_family *f, const struct variable *list, int count,
                        const struct options *o)
{
    for (int v = 0; v < count; v++) {
        tw_dtype type = list[v].choices[list[v].at];
        tw_type variable = tw_type_init();
        variable.name = list[v].name;
        variable.count = list[v].count;
        variable.choices = list[v].choices;
        if (!type_asked(o, &variable, tw_dtype_name(type)))
            return false;
        tw_family_type(f, list[v].name, type);
    }
    return true;
}

/* --- one GPU --- */

static int open_for(const struct family_request *r, const struct built_gpu *gpu, tw_family **f)
{
    tw_status s = tw_family_from_file(r->ctx, r->program->path, tw_family_name(r->program->family),
                                      gpu->target, f);
    if (s == TW_OK && gpu->device)
        s = tw_family_device(*f, gpu->device);
    if (s == TW_OK && options_has(r->options, "same-bits"))
        s = tw_family_same_bits(*f, true);
    if (s == TW_OK)
        return add_results(r, *f);
    complain_library(NULL, r->ctx, s);
    return STATUS_USAGE;
}

static int build_for(const struct family_request *r, const struct built_gpu *gpu,
                     const tw_shipment *shipment)
{
    tw_family *f = NULL;
    int count, status = open_for(r, gpu, &f);
    if (status != STATUS_OK)
        return status;
    struct variable *list = find_variables(f, &count);
    do {
        if (!take_choice(f, list, count, r->options))
            continue;
        tw_status s = tw_build_family(r->build, f, shipment);
        if (s != TW_OK || *tw_context_messages(r->ctx)) /* also warnings */
            complain_library(NULL, r->ctx, s);
        status = s == TW_OK ? STATUS_OK : s == TW_BAD_PROGRAM ? STATUS_USAGE : STATUS_FAILED;
    } while (status == STATUS_OK && next_choice(list, count));
    free(list);
    return status;
}

int family_build(const struct family_request *r)
{
    struct points points;
    tw_shipment shipment = tw_shipment_init();
    int64_t variants = 0;
    if (!options_integer(r->options, "variants", 1, 64, &variants))
        return STATUS_USAGE;
    int status = points_find(&points, tw_family_kernel(r->program->family, 0), r->options, true);
    tw_size_set *sets = need_memory(((size_t)points.count + 1) * sizeof *sets);
    shipment.variants = (int)variants;
    shipment.sets = sets;
    shipment.unaligned = options_has(r->options, "unaligned");
    for (int i = 0; i < points.count && status == STATUS_OK; i++)
        if (points.list[i].count > 0)
            status = make_set(&sets[shipment.set_count++], &points.list[i], r->options);
    for (int i = 0; i < r->gpu_count && status == STATUS_OK; i++)
        status = build_for(r, &r->gpus[i], &shipment);
    sets_free(sets, shipment.set_count);
    points_free(&points);
    return status;
}
