/* The slow path of entries: starts that the fast path (entry.c) does not take, under the entry's
 * lock, with the machinery of launches and its messages. */
#include "api/entry.h"

#include <stdio.h>
#include <string.h>

/* --- refused arguments --- */

static const char *kind_text(const tw_entry *e, tw_value_kind kind)
{
    switch (kind) {
    case TW_INTEGER: return "an integer";
    case TW_FLOAT: return "a float";
    case TW_POINTER: return e->executor->streams ? "an address on the device" : "an address";
    }
    return "a value without a kind";
}

static tw_status refuse_count(const struct entry_call *c)
{
    const struct lang_kernel *info = c->entry->launch->kernel->info;
    tw_context *ctx = c->entry->ctx;
    struct text names;
    text_init(&names, &ctx->scratch);
    const tw_entry *e = c->entry;
    for (int i = 0; i < e->argument_count; i++)
        text_printf(&names, "%s%s", i ? ", " : "", info->params[e->argument_of[i]].name);
    diag_error(&ctx->diag, info->loc, "kernel `%s` takes %d arguments (%s); %d were given",
               info->name, e->argument_count, names.data, c->count);
    for (int i = 0; i < e->derived_count && c->count > e->argument_count; i++)
        diag_note(&ctx->diag, info->params[e->derived[i]].loc,
                  "`%s` takes no argument: the launch computes it",
                  info->params[e->derived[i]].name);
    if (e->least_arguments < e->argument_count)
        diag_note(&ctx->diag, info->loc, "those from `%s` on have defaults and may be left out",
                  info->params[e->argument_of[e->least_arguments]].name);
    return TW_BAD_ARGUMENT;
}

/* Reports an error in argument i. Returns true if there is none. */
static bool check_argument(const struct entry_call *c, int i)
{
    tw_entry *e = c->entry;
    struct diag *d = &e->ctx->diag;
    int param = e->argument_of[i];
    const struct entry_param *p = &e->params[param];
    const tw_value *a = &c->arguments[i];
    const char *name = e->launch->kernel->info->params[param].name;
    const char *type = dtype_table[p->dtype].name;
    if (a->kind != p->kind) {
        diag_error(d, LOC_NONE, "argument %d, `%s` (%s%s): %s was given, expected %s", i + 1, name,
                   type, p->kind == TW_POINTER ? " *" : "", kind_text(e, a->kind),
                   kind_text(e, p->kind));
        return false;
    }
    uint64_t address = (uintptr_t)a->pointer;
    if (p->kind == TW_POINTER && address & p->below)
        diag_error(
            d, LOC_NONE,
            "argument %d, `%s`: the address %#llx is not a multiple of %d, so no %s can be there",
            i + 1, name, (unsigned long long)address, (int)p->below + 1, type);
    else if (p->kind == TW_INTEGER)
        resolve_value_fits(e->launch, param, p->dtype, tw_int(a->i));
    else if (p->kind == TW_FLOAT)
        resolve_value_fits(e->launch, param, p->dtype, tw_float(a->f));
    return !d->errors;
}

/* Reports a wrong value for a static parameter whose program is for one value. */
static void refuse_value(const struct entry_call *c, int i)
{
    const tw_entry *e = c->entry;
    const struct lang_param *param = &e->launch->kernel->info->params[e->argument_of[i]];
    const tw_value *a = &c->arguments[i];
    double wanted = param->value.is_float ? param->value.f : (double)param->value.i;
    diag_error(&e->ctx->diag, LOC_NONE,
               "argument %d, `%s` is %g, but this program is for `%s = %g`", i + 1, param->name,
               a->kind == TW_FLOAT ? a->f : (double)a->i, param->name, wanted);
}

static tw_status check_arguments(const struct entry_call *c, struct given *g)
{
    tw_entry *e = c->entry;
    if (!entry_count_fits(e, c->count))
        return refuse_count(c);
    for (int i = 0; i < c->count; i++)
        check_argument(c, i);
    if (e->ctx->diag.errors)
        return TW_BAD_ARGUMENT;
    if (entry_take_arguments(e, c->arguments, c->count, g))
        return TW_OK;
    for (int i = 0; i < e->argument_count; i++) {
        const struct entry_param *p = &e->params[e->argument_of[i]];
        if (p->single && g->value[e->argument_of[i]] != p->only) {
            refuse_value(c, i);
            return TW_BAD_ARGUMENT;
        }
    }
    entry_fill_choice(e, g); /* a derived parameter cannot be computed */
    for (int i = 0; i < e->derived_count; i++)
        launch_derive(e->launch, e->derived[i], false);
    return TW_BAD_ARGUMENT;
}

/* --- starts --- */

void entry_fill_launch(tw_entry *e, const struct given *g, const struct entry_variant *v)
{
    tw_launch *l = e->launch;
    entry_fill_choice(e, g);
    l->variant = v->variant;
    l->prepared = true;
    l->gpu = NULL;
    for (int i = 0; i < e->param_count; i++)
        l->array_set[i] = false;
}

tw_status entry_check_nulls(tw_entry *e, const struct given *g)
{
    tw_status status = TW_OK;
    for (int i = 0; i < e->param_count && status == TW_OK; i++)
        if (e->params[i].kind == TW_POINTER && !g->value[i])
            status = launch_check_null(e->launch, i);
    return status;
}

/* Enqueues the launch as if the caller had set all arguments by name. */
static tw_status enqueue(const struct entry_call *c, const struct given *g,
                         const struct entry_variant *v)
{
    tw_entry *e = c->entry;
    tw_launch *l = e->launch;
    entry_fill_launch(e, g, v);
    tw_status status = launch_check_sizes(l);
    if (status == TW_OK && c->start)
        status = entry_check_nulls(e, g);
    if (status != TW_OK)
        return status;
    for (int i = 0; i < e->param_count; i++) {
        l->array_set[i] = e->params[i].kind == TW_POINTER;
        l->arrays[i] = (tw_array){.data = (void *)(uintptr_t)g->value[i],
                                  .dtype = (tw_dtype)e->params[i].dtype,
                                  .place = TW_ON_DEVICE};
    }
    return launch_enqueue(l, c->stream, c->start);
}

static tw_status slow_body(void *user)
{
    const struct entry_call *c = user;
    struct given g;
    const struct entry_variant *v;
    entry_drop_unfinished(c->entry);
    struct diag *d = &c->entry->ctx->diag;
    d->code = CODE_ARGUMENT;
    tw_status status = check_arguments(c, &g);
    d->code = CODE_OTHER;
    if (status == TW_OK)
        status = entry_variant_of(c, &g, &v);
    const unsigned char *pair = status == TW_OK ? entry_shared_pair(v, &g) : NULL;
    if (pair) {
        entry_fill_launch(c->entry, &g, v);
        launch_refuse_overlap(c->entry->launch, pair[0], pair[1]);
        return TW_BAD_ARGUMENT;
    }
    if (status == TW_OK && c->entry->executor->streams)
        status = enqueue(c, &g, v);
    if (status != TW_OK || !c->needs)
        return status;
    return launch_occupancy(c->entry->launch, &c->needs->occupancy, &c->needs->workspace_bytes);
}

void context_fill_error(const tw_context *ctx, tw_status status, tw_error *error)
{
    tw_error found = {.status = status};
    const tw_message *first = ctx->message_count ? ctx->messages : NULL;
    if (first) {
        found.code = first->code;
        found.line = first->line;
        found.column = first->column;
        snprintf(found.file, sizeof found.file, "%s", first->file ? first->file : "");
    }
    snprintf(found.text, sizeof found.text, "%s", ctx->rendered);
    FILL_SIZED(error, found);
}

tw_status entry_call_locked(tw_entry *e, tw_error *error, tw_status (*body)(void *call), void *call)
{
    platform_lock(e->lock);
    tw_status status = context_call(e->ctx, body, call);
    if (status != TW_OK && error)
        context_fill_error(e->ctx, status, error);
    platform_unlock(e->lock);
    return status;
}

tw_status entry_start_slowly(struct entry_call *c)
{
    return entry_call_locked(c->entry, c->error, slow_body, c);
}
