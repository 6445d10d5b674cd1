/* Launches: takes the caller's values, and checks each as well as it can be checked alone. */
#include "api/objects.h"

#include <stdint.h>
#include <string.h>

struct choice choice_new(struct arena *a, const struct lang_kernel *info)
{
    return (struct choice){
        .tunes = arena_array(a, struct literal, info->tune_count),
        .types = arena_array(a, enum dtype, info->type_count),
        .values = arena_array(a, struct literal, info->param_count),
        .known = arena_array(a, bool, info->param_count),
        .divisor = arena_array(a, int, info->param_count),
    };
}

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
    k->module->launches++;
    *out = l;
    return TW_OK;
}

void tw_launch_free(tw_launch *l)
{
    if (!l)
        return;
    for (tw_launch **at = &l->ctx->launches; *at; at = &(*at)->next)
        if (*at == l) {
            *at = l->next;
            break;
        }
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

/* Refuses an address, and a value that was not made by a helper such as tw_int. */
static bool is_number(struct diag *d, const char *name, bool is_float, tw_value v)
{
    if (v.kind == TW_INTEGER || v.kind == TW_FLOAT)
        return true;
    diag_error(d, LOC_NONE, "`%s` is given %s: make the value with %s", name,
               v.kind == TW_POINTER ? "an address" : "a value without a kind",
               is_float ? "tw_float()" : "tw_int()");
    return false;
}

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
    if (!is_number(&l->ctx->diag, call->name, varies || dtype_is_float(param->dtype),
                   call->value) ||
        (!varies && !resolve_value_fits(l, p, param->dtype, call->value)))
        return TW_BAD_ARGUMENT;
    l->values[p] = call->value;
    l->value_set[p] = true;
    l->prepared = l->resolved = false;
    return TW_OK;
}

tw_status tw_launch_set(tw_launch *l, const char *param, tw_value value)
{
    if (!l)
        return TW_BAD_ARGUMENT;
    if (!param)
        return context_refuse(l->ctx, "tw_launch_set: `param` is NULL");
    return context_call(l->ctx, set_value,
                        &(struct set_call){.launch = l, .name = param, .value = value});
}

bool launch_tune_value_read(struct diag *d, const struct lang_tune *tune, tw_value given,
                            struct literal *out)
{
    bool is_float = dtype_is_float(tune->dtype);
    if (!is_number(d, tune->name, is_float, given))
        return false;
    if (is_float) {
        *out = (struct literal){.is_float = true, .f = value_number(given)};
        return true;
    }
    *out = (struct literal){.i = given.i};
    if (given.kind == TW_INTEGER && dtype_wrap(tune->dtype, given.i) == given.i)
        return true;
    diag_error(d, LOC_NONE, "tuned value `%s` takes %s", tune->name,
               tune->dtype == DT_BOOL ? "false or true" : "a 32-bit integer");
    return false;
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
    if (!l)
        return TW_BAD_ARGUMENT;
    if (!name)
        return context_refuse(l->ctx, "tw_launch_tune: `name` is NULL");
    return context_call(l->ctx, set_tune,
                        &(struct set_call){.launch = l, .name = name, .value = value});
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
    if (!l)
        return TW_BAD_ARGUMENT;
    if (!name)
        return context_refuse(l->ctx, "tw_launch_type: `name` is NULL");
    return context_call(l->ctx, set_type,
                        &(struct set_call){.launch = l, .name = name, .type = type});
}

/* --- arrays --- */

const char *launch_array_text(struct arena *a, enum dtype t, int rank, const int64_t *shape)
{
    struct text out;
    text_init(&out, a);
    text_add(&out, dtype_table[t].name);
    for (int i = 0; i < rank; i++)
        text_printf(&out, "[%lld]", (long long)shape[i]);
    return out.data;
}

const char *launch_param_text(struct arena *a, const struct lang_kernel *info, int param)
{
    const struct lang_param *p = &info->params[param];
    struct text out;
    text_init(&out, a);
    text_add(&out, p->type_variable >= 0 ? info->types[p->type_variable].name
                                         : dtype_table[p->dtype].name);
    for (int i = 0; i < p->rank; i++)
        text_printf(&out, "[%s]", p->dim_text[i]);
    return out.data;
}

const char *launch_array_fault(struct arena *a, const tw_array *x)
{
    if ((int)x->dtype < 0 || (int)x->dtype >= (int)DT_COUNT)
        return "has no valid element type";
    if (x->place != TW_ON_HOST && x->place != TW_ON_DEVICE)
        return "has no valid place";
    if (x->rank < 1 || x->rank > TW_MAX_RANK)
        return "must have 1 to 6 axes";
    size_t bytes = tw_dtype_size(x->dtype);
    bool empty = false;
    for (int i = 0; i < x->rank; i++) {
        if (x->shape[i] < 0)
            return "has a negative extent";
        empty = empty || x->shape[i] == 0;
    }
    for (int i = 0; i < x->rank && !empty; i++) {
        if ((uint64_t)x->shape[i] > (uint64_t)PTRDIFF_MAX / bytes)
            return "is larger than memory";
        bytes *= (size_t)x->shape[i];
    }
    if (!empty && !x->data)
        return "has no data";
    if (!empty && x->bytes && x->bytes < bytes)
        return a ? arena_printf(a, "has %zu bytes, %s needs %zu", x->bytes,
                                launch_array_text(a, (enum dtype)x->dtype, x->rank, x->shape),
                                bytes)
                 : "has fewer bytes than its shape needs";
    if ((uintptr_t)x->data % tw_dtype_size(x->dtype) != 0)
        return "is not aligned to its element type";
    return NULL;
}

/* Returns why an array cannot be given for a parameter, in scratch memory; NULL: it can. */
static const char *array_refusal(const tw_launch *l, int p, const tw_array *x)
{
    struct arena *a = &l->ctx->scratch;
    const struct lang_kernel *info = l->kernel->info;
    const struct lang_param *param = &info->params[p];
    const char *expected = launch_param_text(a, info, p), *fault = launch_array_fault(a, x);
    if (fault)
        return arena_printf(a, "the array given for `%s` (%s) %s", param->name, expected, fault);
    bool rank_fits =
        param->rank == 0 || param->rank == x->rank || (param->views > 1 && x->rank == 1);
    bool type_fits = param->type_variable >= 0 || (int)param->dtype == (int)x->dtype;
    if (!rank_fits || !type_fits)
        return arena_printf(a, "`%s` is %s, expected %s", param->name,
                            launch_array_text(a, (enum dtype)x->dtype, x->rank, x->shape),
                            expected);
    if (x->place == TW_ON_DEVICE && !l->kernel->executor->lowers)
        return arena_printf(a,
                            "`%s` is on a GPU, but kernel `%s` is for the host: ask "
                            "tw_kernel_for_target for \"cuda\"",
                            param->name, info->name);
    return NULL;
}

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
    const char *refusal = array_refusal(l, p, x);
    *(refusal ? &l->refused[p] : &l->arrays[p]) = *x;
    l->array_set[p] = !refusal;
    l->array_refused[p] = refusal;
    if (refusal)
        diag_error(&l->ctx->diag, LOC_NONE, "%s", refusal);
    return refusal ? TW_BAD_ARGUMENT : TW_OK;
}

void launch_note_refused(tw_launch *l)
{
    for (int p = 0; p < l->kernel->info->param_count; p++)
        if (l->array_refused[p])
            diag_note(&l->ctx->diag, LOC_NONE, "tw_launch_array refused one: %s",
                      array_refusal(l, p, &l->refused[p]));
}

tw_status tw_launch_array(tw_launch *l, const char *param, const tw_array *array)
{
    if (!l)
        return TW_BAD_ARGUMENT;
    if (!param)
        return context_refuse(l->ctx, "tw_launch_array: `param` is NULL");
    tw_array own;
    tw_status status = array ? READ_SIZED(l->ctx, tw_array, &own, array) : TW_OK;
    if (status != TW_OK)
        return status;
    return context_call(
        l->ctx, set_array,
        &(struct set_call){.launch = l, .name = param, .array = array ? &own : NULL});
}
