/* Measured times in memory: groups by device and types, with a column for each variant and a row
 * for each choice of sizes. */
#include "api/family.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int family_member_named(const tw_family *f, const char *name)
{
    for (int i = 0; i < f->member_count; i++)
        if (strcmp(f->members[i].kernel->info->name, name) == 0)
            return i;
    return -1;
}

/* --- groups --- */

/* Returns the length of "T=f16" at the start of a list; 0: it is damaged. */
static size_t type_length(const char *at)
{
    size_t length = strcspn(at, ","), name = strcspn(at, "=,");
    const char *type = at + name + 1;
    return name > 0 && name < length && dtype_by_name(type, (size_t)(at + length - type)) != DT_NONE
               ? length
               : 0;
}

/* Returns the place of a variable's "T=f16" in a list; NULL: it is not there. */
static const char *type_in(const char *types, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = types; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ','))
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at;
    return NULL;
}

const char *family_types_text(tw_family *f, const char *types)
{
    const struct lang_kernel *first = f->members[0].kernel->info;
    struct text out;
    text_init(&out, &f->arena);
    text_add(&out, "");
    for (const char *at = types; *at;) {
        size_t length = type_length(at);
        if (length == 0 || (at[length] && !at[length + 1]))
            return NULL;
        at += length + (at[length] == ',');
    }
    for (int t = 0; t < first->type_count; t++) {
        const char *at = type_in(types, first->types[t].name);
        if (at)
            text_printf(&out, "%s%.*s", out.length ? "," : "", (int)type_length(at), at);
    }
    return out.data;
}

struct family_group *family_group(tw_family *f, const char *device, const char *types)
{
    struct family_group **at = &f->groups;
    for (; *at; at = &(*at)->next)
        if (strcmp((*at)->device, device) == 0 && strcmp((*at)->types, types) == 0)
            return *at;
    struct family_group *g = *at = arena_new(&f->arena, struct family_group);
    g->device = arena_string(&f->arena, device, strlen(device));
    g->types = types;
    name_table_init(&g->row_of, &f->arena);
    name_table_init(&g->column_of, &f->arena);
    return g;
}

/* --- columns --- */

/* Returns the variant's tuned values in the order of the kernel's names; NULL: they are not the
 * kernel's. */
static const char *ordered(tw_family *f, const struct lang_kernel *info, const char *tune)
{
    struct stored_value *values =
        arena_array(&f->ctx->scratch, struct stored_value, info->tune_count);
    struct text out;
    if (!tunes_read(info, tune, values))
        return NULL;
    text_init(&out, &f->arena);
    text_add(&out, "");
    for (int t = 0; t < info->tune_count; t++) {
        if (!values[t].given)
            continue;
        text_printf(&out, "%s%s=", out.length ? "," : "", info->tunes[t].name);
        resolve_add_literal(&out, values[t].value);
    }
    return out.data;
}

static int variant_of(tw_family *f, int member, const char *tune)
{
    const struct lang_kernel *info = f->members[member].kernel->info;
    tune = ordered(f, info, tune);
    if (!tune)
        return -1;
    const char *name = arena_printf(&f->arena, "%s%s%s", info->name, *tune ? " " : "", tune);
    const struct name_entry *found = name_table_find(&f->variant_of, name, strlen(name));
    if (found)
        return (int)found->number;
    struct family_variant *v = arena_new(&f->arena, struct family_variant);
    *v = (struct family_variant){.member = member, .tune = tune, .name = name};
    name_table_add(&f->variant_of, name, strlen(name))->number = (uint32_t)f->variants.count;
    vec_push(&f->arena, &f->variants, v);
    return (int)f->variants.count - 1;
}

int family_column(tw_family *f, struct family_group *g, int member, const char *tune, int resident)
{
    int variant = variant_of(f, member, tune);
    if (variant < 0)
        return -1;
    const char *name = f->variants.data[variant]->name;
    struct name_entry *e = name_table_find(&g->column_of, name, strlen(name));
    if (!e) {
        e = name_table_add(&g->column_of, name, strlen(name));
        e->number = (uint32_t)g->columns.count;
        vec_push(&f->arena, &g->columns, variant);
        vec_push(&f->arena, &g->resident, 0);
    }
    if (resident > 0)
        g->resident.data[e->number] = resident;
    return (int)e->number;
}

/* --- rows --- */

static const char *sizes_text(tw_family *f, const int64_t *sizes)
{
    const struct lang_kernel *info = f->members[0].kernel->info;
    struct text out;
    text_init(&out, &f->arena);
    text_add(&out, "");
    for (int i = 0; i < f->size_count; i++)
        text_printf(&out, "%s%s=%" PRId64, i ? "," : "", info->params[f->size_param[i]].name,
                    sizes[i]);
    return out.data;
}

bool family_is_time(double us)
{
    return us >= (double)FLT_MIN && us <= (double)FLT_MAX;
}

void family_add_time(tw_family *f, struct family_group *g, const int64_t *sizes, int column,
                     double us)
{
    size_t bytes = (size_t)f->size_count * sizeof *sizes;
    const char *name = (const char *)sizes;
    struct name_entry *e = name_table_find(&g->row_of, name, bytes);
    if (!e) {
        struct family_row row = {.sizes = arena_copy(&f->arena, sizes, bytes),
                                 .text = sizes_text(f, sizes)};
        e = name_table_add(&g->row_of, (const char *)row.sizes, bytes);
        e->number = (uint32_t)g->rows.count;
        vec_push(&f->arena, &g->rows, row);
    }
    struct family_row *row = &g->rows.data[e->number];
    while ((int)row->us.count <= column)
        vec_push(&f->arena, &row->us, 0);
    row->us.data[column] = (float)us;
}

/* --- a store --- */

/* Reads "m=4096,n=4096,k=4096" for the family's sizes. Returns false if one is missing. */
static bool read_sizes(const tw_family *f, const char *text, int64_t *sizes)
{
    const struct lang_kernel *info = f->members[0].kernel->info;
    for (int i = 0; i < f->size_count; i++) {
        const char *name = info->params[f->size_param[i]].name, *at = text;
        size_t length = strlen(name);
        char *end;
        while (at && (strncmp(at, name, length) != 0 || at[length] != '='))
            at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL;
        if (!at)
            return false;
        errno = 0;
        sizes[i] = strtoll(at + length + 1, &end, 10);
        if (end == at + length + 1 || errno != 0 || (*end && *end != ','))
            return false;
    }
    return true;
}

/* Adds a row of a store, unless it has no time, or was measured for another signature. */
static void add_row(tw_family *f, int member, const char *device, const tw_tuned *row)
{
    int64_t sizes[ENTRY_PARAMS];
    const char *types = family_types_text(f, row->types);
    if (row->status != TW_OK || row->samples == 0 || !family_is_time(row->milliseconds * 1000) ||
        !types || !read_sizes(f, row->sizes, sizes))
        return;
    struct family_group *g = family_group(f, device, types);
    int column = family_column(f, g, member, row->tune, 0);
    if (column >= 0)
        family_add_time(f, g, sizes, column, row->milliseconds * 1000);
}

struct add_call {
    tw_family *family;
    tw_store *store;
    const char *device;
};

void family_take_device(tw_family *f, const char *device)
{
    if (!f->device && device)
        f->device = arena_string(&f->arena, device, strlen(device));
}

static tw_status add_store(void *user)
{
    const struct add_call *c = user;
    tw_family *f = c->family;
    const char *device = c->device ? c->device : f->device, *own = f->device ? f->device : device;
    if (!device) {
        diag_error(&f->ctx->diag, LOC_NONE,
                   "the family `%s` is for %s, and no such device is here: name the device whose "
                   "results it takes",
                   f->name, f->members[0].kernel->target);
        return TW_UNSUPPORTED;
    }
    for (int i = 0; i < f->member_count; i++) {
        tw_tuned *rows, filter = {.size = sizeof filter,
                                  .device = device,
                                  .kernel = f->members[i].kernel->info->name,
                                  .program = f->members[i].program};
        int count;
        tw_status status = tuning_store_rows(c->store, &f->loading, &filter, &rows, &count);
        if (status != TW_OK)
            return status;
        for (int r = 0; r < count; r++)
            add_row(f, i, own, &rows[r]);
        arena_free(&f->loading);
    }
    family_take_device(f, c->device);
    return TW_OK;
}

static tw_status refuse_started(void *user)
{
    const tw_family *f = user;
    diag_error(&f->ctx->diag, LOC_NONE,
               "the family `%s` was started: its types and results do not change any more",
               f->name);
    return TW_UNSUPPORTED;
}

tw_status family_change(tw_family *f, tw_status (*body)(void *call), void *call)
{
    platform_lock(f->lock);
    tw_status status;
    if (f->started)
        status = context_call(f->ctx, refuse_started, f);
    else {
        status = context_call(f->ctx, body, call);
        f->has_view = false; /* also after a failure, which may have added some results */
    }
    platform_unlock(f->lock);
    return status;
}

tw_status tw_family_add_store(tw_family *f, tw_store *store, const char *device)
{
    REFUSE_IF(f, f->ctx, !store || tuning_store_context(store) != f->ctx,
              "tw_family_add_store: `store` is NULL, or another context's");
    return family_change(f, add_store, &(struct add_call){f, store, device});
}
