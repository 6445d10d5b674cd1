/* The family's own context, for calls from any thread: under the lock, one at a time. It has copies
 * of the kernels, so that calls on the context that made the family never interfere. */
#include "api/family_cache.h"
#include "api/family.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- opening --- */

static tw_status copy_kernels(tw_family *f)
{
    tw_status status = TW_OK;
    for (int i = 0; i < f->member_count && status == TW_OK; i++) {
        const tw_kernel *k = f->members[i].kernel;
        tw_module *m = NULL;
        for (int e = 0; e < i && !m; e++)
            if (f->members[e].kernel->module == k->module)
                m = f->members[e].own->module;
        if (!m)
            status = modules_again(f->own, k->module, &m);
        if (status == TW_OK)
            status =
                tw_kernel_for_target(tw_module_kernel_at(m, k->index),
                                     k->asked ? k->asked->name : k->target, &f->members[i].own);
    }
    return status;
}

tw_status family_open_own(tw_family *f)
{
    const tw_context *owner = f->ctx;
    if (f->own)
        return TW_OK;
    tw_status status = context_again(owner, &f->own);
    if (status == TW_OK)
        status = copy_kernels(f);
    if (status == TW_OK) {
        context_arena(f->own, &f->kept);
        context_arena(f->own, &f->viewed);
        return TW_OK;
    }
    tw_context_free(f->own); /* the texts compiled before, so only memory can be missing */
    f->own = NULL;
    return TW_NO_MEMORY;
}

void family_close_own(tw_family *f)
{
    if (!f->own)
        return;
    struct family_cache *cache = atomic_load(&f->cache);
    context_object_free(f->own, cache, cache ? cache->bytes : 0);
    arena_free(&f->kept);
    arena_free(&f->viewed);
    tw_context_free(f->own);
}

/* --- errors --- */

struct refusal {
    tw_context *ctx;
    tw_status status;
    char text[sizeof(tw_error)];
};

static tw_status say(void *user)
{
    const struct refusal *r = user;
    diag_error(&r->ctx->diag, LOC_NONE, "%s", r->text);
    diag_code(&r->ctx->diag, CODE_ARGUMENT);
    return r->status;
}

tw_status family_refuse(tw_family *f, tw_status status, const char *format, ...)
{
    struct refusal r = {.ctx = f->own, .status = status};
    va_list args;
    va_start(args, format);
    vsnprintf(r.text, sizeof r.text, format, args);
    va_end(args);
    return context_call(f->own, say, &r);
}

void family_note_refusal(tw_family *f, const tw_error *error)
{
    if (f->refusal.status == TW_OK)
        f->refusal = *error;
}

/* --- what is given --- */

static const char *kind_text(tw_value_kind kind)
{
    switch (kind) {
    case TW_INTEGER: return "an integer";
    case TW_FLOAT: return "a float";
    case TW_POINTER: return "an address";
    }
    return "a value without a kind";
}

static bool fits(enum dtype t, int64_t v)
{
    return t == DT_BOOL ? v == 0 || v == 1 : t == DT_U64 || dtype_wrap(t, v) == v;
}

void family_derive(const tw_family *f, struct family_sizes *s)
{
    struct size_fault ignored;
    memset(s->value, 0, sizeof s->value);
    for (int i = 0; i < f->size_count; i++)
        s->value[f->size_param[i]] = (uint64_t)s->size[i];
    if (f->derives && !launch_derived_run(&f->derive, s->value, &ignored))
        s->underivable = true;
}

void family_values(const tw_family *f, const struct family_variant *v, const struct family_sizes *s,
                   int multiprocessors, uint64_t values[ENTRY_PARAMS])
{
    const tw_kernel *k = f->members[v->member].kernel;
    int64_t sms = multiprocessors > 0 ? multiprocessors : k->executor->processors(k, 1);
    memcpy(values, s->value, sizeof s->value);
    for (int p = lang_caller_params(k->info); p < k->info->param_count; p++) {
        int blocks = k->info->params[p].device == DEVICE_CLUSTERS ? v->cluster : 1;
        values[p] = (uint64_t)(sms > blocks ? sms / blocks : 1);
    }
}

tw_status family_take(tw_family *f, const tw_value *arguments, int count, struct family_sizes *s)
{
    const struct lang_kernel *info = f->members[0].kernel->info;
    if (count < f->least_arguments || count > f->argument_count)
        return family_refuse(f, TW_BAD_ARGUMENT,
                             "the family `%s` takes %d arguments; %d were given", f->name,
                             f->argument_count, count);
    for (int i = 0; i < f->size_count; i++) {
        int at = f->size_argument[i];
        const struct lang_param *p = &info->params[f->size_param[i]];
        if (at < count && arguments[at].kind != TW_INTEGER)
            return family_refuse(
                f, TW_BAD_ARGUMENT, "argument %d, `%s` (%s): %s was given, expected an integer",
                at + 1, p->name, dtype_table[p->dtype].name, kind_text(arguments[at].kind));
        s->size[i] = at < count ? arguments[at].i : f->preset[i];
        if (!fits(p->dtype, s->size[i]))
            return family_refuse(f, TW_BAD_ARGUMENT, "argument %d, `%s`: %s cannot hold %lld",
                                 at + 1, p->name, dtype_table[p->dtype].name,
                                 (long long)s->size[i]);
    }
    family_derive(f, s);
    return TW_OK;
}

/* --- calls --- */

void family_fill_error(const tw_family *f, tw_status status, tw_error *error)
{
    if (f->own) {
        context_fill_error(f->own, status, error);
        return;
    }
    tw_error found = {.status = status};
    snprintf(found.text, sizeof found.text, "error: %s\n", tw_status_text(status));
    FILL_SIZED(error, found);
}

tw_status family_check_call(const tw_family *f, const tw_value *arguments, int count,
                            tw_error *error, const char *call)
{
    return f && (count <= 0 || arguments) ? TW_OK
                                          : sized_error_of_null(error, call, f ? "arguments" : "f");
}
