/* Families for `build`: the sizes of --set, the results by which variants are chosen, the types. */
#include "build/build.h"
#include "cli/chosen.h"
#include "tilewright_tuning.h"
#include "cli/toolchain.h"
#include "cli/tuned.h"

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

static bool is_cpu(const char *target)
{
    return strcmp(target, "cpu") == 0;
}

/* Adds the results of --store. On this machine's CPU, the user's own store counts, too. */
static int add_store(const struct family_request *r, tw_family *f, bool cpu)
{
    const char *path = options_value(r->options, "store");
    tw_store *store;
    if (cpu)
        return chosen_add_store(f, r->program, r->options);
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

/* Returns whether the kernel's text is the one that was measured. Its hash depends on no size, but the
 * library returns it only for a launch with known sizes. */
static bool is_program(tw_kernel *k, const struct tuned_entry *e)
{
    tw_launch *l;
    tw_tuned key = tw_tuned_init();
    tw_param p = tw_param_init();
    if (!e->program || tw_launch_new(k, &l) != TW_OK)
        return true;
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++)
        if (!p.is_pointer && !p.derived && !p.default_value.kind)
            tw_launch_set(l, p.name, is_float_type(p.dtype) ? tw_float(1) : tw_int(1));
    bool is = tw_launch_tuning_key(l, "", &key) != TW_OK || strcmp(key.program, e->program) == 0;
    tw_launch_free(l);
    return is;
}

/* Adds a text in quotes. */
static void append_quoted(char **out, const char *text)
{
    append_text(out, "\"");
    for (; *text; text++)
        append_text(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    append_text(out, "\"");
}

/* Adds "NAME=VALUE,…" in quotes. */
static void append_list(char **out, const struct assignment *list, int count)
{
    append_text(out, "\"");
    for (int i = 0; i < count; i++)
        append_text(out, "%s%s=%s", i ? "," : "", list[i].name, list[i].value);
    append_text(out, "\"");
}

/* Adds a line of --tuned as two of a table. */
static void append_result(char **out, const char *family, const struct tuned_entry *e)
{
    double ms = 0;
    parse_real(e->ms, &ms);
    append_text(out, "{\"family\":\"%s\",\"device\":", family);
    append_quoted(out, e->device);
    append_text(out, ",\"types\":");
    append_list(out, e->types, e->type_count);
    append_text(out, ",\"sizes\":[");
    for (int i = 0; i < e->size_count; i++)
        append_text(out, "%s\"%s\"", i ? "," : "", e->sizes[i].name);
    append_text(out, "],\"variants\":[{\"kernel\":\"%s\",\"tune\":", e->kernel);
    append_list(out, e->tunes, e->tune_count);
    append_text(out, "}]}\n{\"at\":[");
    for (int i = 0; i < e->size_count; i++)
        append_text(out, "%s%s", i ? "," : "", e->sizes[i].value);
    append_text(out, "],\"us\":[%.9g]}\n", ms * 1000);
}

static enum tuned_fate fate_of(tw_family *f, const struct tuned_entry *e, bool cpu)
{
    double ms = 0;
    tw_kernel *k;
    int i = 0;
    while ((k = tw_family_kernel(f, i)) && strcmp(tw_kernel_name(k), e->kernel) != 0)
        i++;
    if (!k)
        return TUNED_NO_KERNEL;
    bool of_host = (e->target && is_cpu(e->target)) || (e->device && tuned_of_host(e->device));
    if (of_host && !cpu)
        return TUNED_OF_HOST;
    if (cpu && !of_host && (e->target || e->device))
        return TUNED_NO_TARGET;
    if (!is_program(k, e))
        return TUNED_OTHER_PROGRAM;
    bool has_time = e->device && e->size_count > 0 && parse_real(e->ms, &ms) && ms > 0;
    return has_time ? TUNED_BUILT : TUNED_NO_TIME;
}

/* Adds the lines of --tuned, as a table. */
static int add_tuned(const struct family_request *r, tw_family *f, bool cpu)
{
    char *text = NULL;
    for (int i = 0; i < r->tuned->count; i++) {
        struct tuned_entry *e = &r->tuned->list[i];
        enum tuned_fate fate = fate_of(f, e, cpu);
        tuned_reached(e, fate);
        if (fate == TUNED_BUILT)
            append_result(&text, tw_family_name(f), e);
    }
    char *folder = text ? folder_make(NULL) : NULL;
    int status = !text || folder ? STATUS_OK : STATUS_FAILED;
    if (folder && folder_write(folder, "tuned.table", text, strlen(text))) {
        char *path = need_text("%s/tuned.table", folder);
        tw_status s = tw_family_add_table(f, path, NULL);
        if (s != TW_OK)
            complain_library(NULL, r->ctx, s);
        status = s == TW_OK ? STATUS_OK : STATUS_USAGE;
        free(path);
    }
    folder_remove(folder);
    free(text);
    return status;
}

/* Adds the results of --table, a store and --tuned to those that are next to the family's file. */
static int add_results(const struct family_request *r, tw_family *f, bool cpu)
{
    for (const struct option_use *u = NULL; (u = options_next(r->options, "table", u));) {
        tw_status s = tw_family_add_table(f, u->values[0], NULL);
        if (s == TW_OK)
            continue;
        complain_library(NULL, r->ctx, s);
        return STATUS_USAGE;
    }
    int status = add_store(r, f, cpu);
    return status == STATUS_OK ? add_tuned(r, f, cpu) : status;
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

/* --- one device --- */

static int open_for(const struct family_request *r, const struct built_device *d, tw_family **f)
{
    tw_status s = tw_family_from_file(r->ctx, r->program->path, tw_family_name(r->program->family),
                                      d->target, f);
    if (s == TW_OK && d->device)
        s = tw_family_device(*f, d->device);
    if (s == TW_OK && options_has(r->options, "same-bits"))
        s = tw_family_same_bits(*f, true);
    if (s == TW_OK)
        return add_results(r, *f, is_cpu(d->target));
    complain_library(NULL, r->ctx, s);
    return STATUS_USAGE;
}

static int build_for(const struct family_request *r, const struct built_device *d,
                     const tw_shipment *shipment)
{
    tw_family *f = NULL;
    int count, status = open_for(r, d, &f);
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
    for (int i = 0; i < r->device_count && status == STATUS_OK; i++)
        status = build_for(r, &r->devices[i], &shipment);
    sets_free(sets, shipment.set_count);
    points_free(&points);
    return status;
}
