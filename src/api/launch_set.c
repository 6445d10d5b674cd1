/* Launches: takes the caller's values, and checks each as well as it can be checked alone. */
#include "api/objects.h"

#include <stdint.h>
#include <string.h>

static tw_status launch_make(void *user)
{
    tw_launch *l = user;
    const struct lang_kernel *info = l->kernel->info;
    struct arena *a = &l->arena;
    l->value_set = arena_array(a, bool, info->param_count);
    l->values = arena_array(a, tw_value, info->param_count);
    l->array_set = arena_array(a, bool, info->param_count);
    l->array_refused = arena_array(a, bool, info->param_count);
    l->refused = arena_array(a, tw_array, info->param_count);
    l->arrays = arena_array(a, tw_array, info->param_count);
    l->tune_set = arena_array(a, bool, info->tune_count);
    l->tunes = arena_array(a, struct literal, info->tune_count);
    l->type_set = arena_array(a, bool, info->type_count);
    l->types = arena_array(a, enum dtype, info->type_count);
    l->choice = choice_new(a, info);
    l->size_values = arena_array(a, uint64_t, info->param_count);
    l->begun.args = arena_array(a, struct cpu_argument, info->param_count);
    return TW_OK;
}

static void launch_destroy(tw_launch *l)
{
    tw_context *ctx = l->ctx;
    arena_free(&l->shown);
    arena_free(&l->simulated);
    arena_free(&l->explained);
    arena_free(&l->profiled);
    arena_free(&l->estimated);
    arena_free(&l->kept_memory);
    arena_free(&l->started);
    arena_free(&l->key);
    arena_free(&l->arena);
    context_object_free(ctx, l, sizeof *l);
}

tw_status tw_launch_new(tw_kernel *k, tw_launch **out)
{
    if (out)
        *out = NULL;
    if (!k)
        return TW_NOT_FOUND;
    if (!out)
        return context_refuse(k->module->ctx, "tw_launch_new: `out` is NULL");
    tw_context *ctx = k->module->ctx;
    tw_launch *l = context_object(ctx, sizeof *l);
    if (!l)
        return context_no_memory(ctx);
    l->ctx = ctx;
    l->kernel = k;
    context_arena(ctx, &l->arena);
    context_arena(ctx, &l->shown);
    context_arena(ctx, &l->simulated);
    context_arena(ctx, &l->explained);
    context_arena(ctx, &l->profiled);
    context_arena(ctx, &l->estimated);
    context_arena(ctx, &l->kept_memory);
    context_arena(ctx, &l->started);
    context_arena(ctx, &l->key);
    tw_status status = context_call(ctx, launch_make, l);
    if (status != TW_OK) {
        launch_destroy(l);
        return status;
    }
    l->next = ctx->launches;
    ctx->launches = l;
    ctx->frees.launch = tw_launch_free;
    k->module->launches++;
    *out = l;
    return TW_OK;
}

void tw_launch_free(tw_launch *l)
{
    if (!l)
        return;
    UNLINK(tw_launch, l->ctx->launches, l);
    tw_module *m = l->kernel->module;
    launch_settle(l);
    launch_destroy(l);
    modules_launch_gone(m);
}

/* --- names --- */

struct set_call {
    tw_launch *launch;
    const char *name;
    tw_value value;
    tw_dtype type;
    const tw_array *array;
};

static const char *const *param_names(tw_launch *l, bool pointers, int *count)
{
    const struct lang_kernel *info = l->kernel->info;
    const char **names = arena_array(&l->ctx->scratch, const char *, info->param_count);
    *count = 0;
    for (int i = 0; i < info->param_count; i++)
        if (info->params[i].is_pointer == pointers)
            names[(*count)++] = info->params[i].name;
    return names;
}

static const char *const *tune_names(tw_launch *l)
{
    const struct lang_kernel *info = l->kernel->info;
    const char **names = arena_array(&l->ctx->scratch, const char *, info->tune_count);
    for (int i = 0; i < info->tune_count; i++)
        names[i] = info->tunes[i].name;
    return names;
}

static const char *const *type_names(tw_launch *l)
{
    const struct lang_kernel *info = l->kernel->info;
    const char **names = arena_array(&l->ctx->scratch, const char *, info->type_count);
    for (int i = 0; i < info->type_count; i++)
        names[i] = info->types[i].name;
    return names;
}

static int param_find(const tw_launch *l, const char *name)
{
    return lang_param_find(l->kernel->info, name);
}

/* Reports the kind of `name`, when it is not the `wanted` kind. */
static tw_status wrong_name(tw_launch *l, const char *name, const char *wanted,
                            const char *const *names, int count)
{
    const struct lang_kernel *info = l->kernel->info;
    struct diag *d = &l->ctx->diag;
    int p = param_find(l, name);
    if (p >= 0 || context_name_find(name, tune_names(l), info->tune_count) >= 0 ||
        context_name_find(name, type_names(l), info->type_count) >= 0) {
        const char *is = p >= 0 ? info->params[p].is_pointer ? "an array" : "a scalar parameter"
                         : context_name_find(name, tune_names(l), info->tune_count) >= 0
                             ? "a tuned value"
                             : "a type variable";
        diag_error(d, LOC_NONE, "`%s` of kernel `%s` is %s, not %s", name, info->name, is, wanted);
        return TW_BAD_ARGUMENT;
    }
    diag_error(d, LOC_NONE, "kernel `%s` has no %s `%s`", info->name, strchr(wanted, ' ') + 1,
               name);
    context_suggest(d, &l->ctx->scratch, name, names, count);
    return TW_NOT_FOUND;
}

/* --- scalars, tuned values, types --- */

static tw_status set_value(void *user)
{
    struct set_call *call = user;
    tw_launch *l = call->launch;
    int p = param_find(l, call->name);
    if (p < 0 || l->kernel->info->params[p].is_pointer) {
        int count;
        const char *const *names = param_names(l, false, &count);
        return wrong_name(l, call->name, "a scalar parameter", names, count);
    }
    const struct lang_param *param = &l->kernel->info->params[p];
    bool varies = param->type_variable >= 0;
    if (!launch_is_number(&l->ctx->diag, call->name, varies || dtype_is_float(param->dtype),
                          call->value) ||
        (!varies && !resolve_value_fits(l, p, param->dtype, call->value)))
        return TW_BAD_ARGUMENT;
    l->values[p] = call->value;
    l->value_set[p] = true;
    l->prepared = l->resolved = false;
    return TW_OK;
}

/* Runs the call if it names something; refusal: the message if it does not. */
static tw_status set_named(tw_launch *l, tw_status (*set)(void *user), const char *refusal,
                           const struct set_call *call)
{
    REFUSE_IF(l, l->ctx, !call->name, refusal);
    struct set_call of_launch = *call;
    of_launch.launch = l;
    return context_call(l->ctx, set, &of_launch);
}

tw_status tw_launch_set(tw_launch *l, const char *param, tw_value value)
{
    return set_named(l, set_value, "tw_launch_set: `param` is NULL",
                     &(struct set_call){.name = param, .value = value});
}

static tw_status set_tune(void *user)
{
    struct set_call *call = user;
    tw_launch *l = call->launch;
    const struct lang_kernel *info = l->kernel->info;
    const char *const *names = tune_names(l);
    int t = context_name_find(call->name, names, info->tune_count);
    struct literal v;
    if (t < 0)
        return wrong_name(l, call->name, "a tuned value", names, info->tune_count);
    if (!launch_tune_value_read(&l->ctx->diag, &info->tunes[t], call->value, &v))
        return TW_BAD_ARGUMENT;
    l->tunes[t] = v;
    l->tune_set[t] = true;
    l->prepared = l->resolved = false;
    return TW_OK;
}

tw_status tw_launch_tune(tw_launch *l, const char *name, tw_value value)
{
    return set_named(l, set_tune, "tw_launch_tune: `name` is NULL",
                     &(struct set_call){.name = name, .value = value});
}

static tw_status set_type(void *user)
{
    struct set_call *call = user;
    tw_launch *l = call->launch;
    const struct lang_kernel *info = l->kernel->info;
    const char *const *names = type_names(l);
    int t = context_name_find(call->name, names, info->type_count);
    if (t < 0)
        return wrong_name(l, call->name, "a type variable", names, info->type_count);
    const struct lang_type *variable = &info->types[t];
    bool listed = false;
    struct text choices;
    text_init(&choices, &l->ctx->scratch);
    for (int i = 0; i < variable->count; i++) {
        listed = listed || (int)variable->choices[i] == (int)call->type;
        text_printf(&choices, "%s%s", i ? ", " : "", dtype_table[variable->choices[i]].name);
    }
    if (!listed) {
        diag_error(&l->ctx->diag, LOC_NONE, "%s is none of %s = {%s}", tw_dtype_name(call->type),
                   call->name, choices.data);
        return TW_BAD_ARGUMENT;
    }
    l->types[t] = (enum dtype)call->type;
    l->type_set[t] = true;
    l->prepared = l->resolved = false;
    return TW_OK;
}

tw_status tw_launch_type(tw_launch *l, const char *name, tw_dtype type)
{
    return set_named(l, set_type, "tw_launch_type: `name` is NULL",
                     &(struct set_call){.name = name, .type = type});
}

/* --- arrays --- */

static tw_status set_array(void *user)
{
    struct set_call *call = user;
    tw_launch *l = call->launch;
    int p = param_find(l, call->name);
    if (p < 0 || !l->kernel->info->params[p].is_pointer) {
        int count;
        const char *const *names = param_names(l, true, &count);
        return wrong_name(l, call->name, "an array", names, count);
    }
    const tw_array *x = call->array;
    l->prepared = l->resolved = false;
    l->array_set[p] = l->array_refused[p] = false;
    l->kept = NULL;
    if (!x)
        return TW_OK;
    const char *refusal = launch_array_refusal(l, p, x);
    *(refusal ? &l->refused[p] : &l->arrays[p]) = *x;
    l->array_set[p] = !refusal;
    l->array_refused[p] = refusal;
    if (refusal)
        diag_error(&l->ctx->diag, LOC_NONE, "%s", refusal);
    return refusal ? TW_BAD_ARGUMENT : TW_OK;
}

tw_status tw_launch_array(tw_launch *l, const char *param, const tw_array *array)
{
    REFUSE_IF(l, l->ctx, !param, "tw_launch_array: `param` is NULL");
    tw_array own;
    tw_status status = array ? READ_SIZED(l->ctx, tw_array, &own, array) : TW_OK;
    if (status != TW_OK)
        return status;
    return context_call(
        l->ctx, set_array,
        &(struct set_call){.launch = l, .name = param, .array = array ? &own : NULL});
}
