/* Modules and kernels: takes text, and describes the parameters of its kernels. */
#include "api/source_object.h"

#include <string.h>

static void module_destroy(tw_module *m)
{
    tw_context *ctx = m->ctx;
    for (int i = 0; i < m->kernel_count; i++)
        tw_kernel_forget(&m->kernels[i]);
    arena_free(&m->arena);
    context_object_free(ctx, m, sizeof *m);
}

void tw_module_free(tw_module *m)
{
    if (!m || m->released)
        return;
    UNLINK(tw_module, m->ctx->modules, m);
    m->released = true;
    if (m->launches == 0)
        module_destroy(m);
}

void modules_launch_gone(tw_module *m)
{
    m->launches--;
    if (m->released && m->launches == 0)
        module_destroy(m);
}

static void describe_kernel(tw_module *m, tw_kernel *k, int index, const char *target)
{
    k->module = m;
    k->index = index;
    k->target = target;
    k->executor = k->device ? &executor_gpu : &executor_host;
    k->info = lang_kernel(&m->arena, m->parsed, index, target);
    const struct lang_kernel *info = k->info;
    k->tune_values = arena_array(&m->arena, const tw_value *, info->tune_count);
    for (int t = 0; t < info->tune_count; t++) {
        tw_value *values = arena_array(&m->arena, tw_value, info->tunes[t].count);
        for (int i = 0; i < info->tunes[t].count; i++)
            values[i] = value_of(info->tunes[t].values[i]);
        k->tune_values[t] = values;
    }
    k->type_choices = arena_array(&m->arena, const tw_dtype *, info->type_count);
    for (int t = 0; t < info->type_count; t++) {
        tw_dtype *choices = arena_array(&m->arena, tw_dtype, info->types[t].count);
        for (int i = 0; i < info->types[t].count; i++)
            choices[i] = (tw_dtype)info->types[t].choices[i];
        k->type_choices[t] = choices;
    }
}

static void open_module(void *object, tw_context *ctx)
{
    tw_module *m = object;
    m->ctx = ctx;
    context_arena(ctx, &m->arena);
    m->sync.arena = &m->arena;
    m->sync.steps_left = &ctx->config.check_steps;
}

static tw_status read_module(void *object, const struct source_given *given)
{
    tw_module *m = object;
    struct diag *d = &m->ctx->diag;
    tw_status status = source_object_read(given, &m->arena, d, &m->source);
    if (status != TW_OK)
        return status;
    const struct lang_search search = {.path = m->ctx->import_path,
                                       .known = given->imports ? given->imports->data : NULL,
                                       .known_count =
                                           given->imports ? (int)given->imports->count : 0};
    m->parsed = lang_parse_with(&m->arena, d, &m->source, &search);
    if (!m->parsed || d->errors)
        return TW_BAD_PROGRAM;
    /* A module that is made again has its texts, but not the files of its families. */
    for (int i = 0; i < lang_family_count(m->parsed) && !given->imports; i++) {
        struct lang_family family = lang_family(&m->ctx->scratch, m->parsed, i);
        lang_find_members(&m->ctx->scratch, d, &m->source, &search, &family);
    }
    if (d->errors)
        return TW_BAD_PROGRAM;
    int count = lang_kernel_count(m->parsed);
    m->kernels = arena_array(&m->arena, tw_kernel, count);
    for (int i = 0; i < count; i++)
        describe_kernel(m, &m->kernels[i], i, "cpu");
    m->kernel_count = count;
    return TW_OK;
}

static void destroy_module(void *object)
{
    module_destroy(object);
}

static tw_status module_new(tw_context *ctx, const struct source_given *given, tw_module **out)
{
    static const struct source_kind kind = {sizeof(tw_module), open_module, read_module,
                                            destroy_module};
    tw_status status;
    tw_module *m = source_object(ctx, &kind, given, &status);
    if (out)
        *out = m;
    if (!m)
        return status;
    m->next = ctx->modules;
    ctx->modules = m;
    ctx->frees.module = tw_module_free;
    return TW_OK;
}

tw_status modules_again(tw_context *ctx, const tw_module *m, tw_module **out)
{
    const struct source_given given = {"tw_module_from_text",  m->source.name, m->source.text,
                                       m->source.length,       false,          out,
                                       lang_program(m->parsed)};
    return module_new(ctx, &given, out);
}

tw_status tw_module_from_text(tw_context *ctx, const char *name, const char *text, size_t length,
                              tw_module **out)
{
    const struct source_given given = {"tw_module_from_text", name, text, length, false, out, NULL};
    return module_new(ctx, &given, out);
}

tw_status tw_module_from_file(tw_context *ctx, const char *path, tw_module **out)
{
    const struct source_given given = {"tw_module_from_file", path, NULL, 0, true, out, NULL};
    return module_new(ctx, &given, out);
}

/* --- kernels --- */

int tw_module_kernel_count(const tw_module *m)
{
    return m ? m->kernel_count : 0;
}

tw_kernel *tw_module_kernel_at(tw_module *m, int index)
{
    return m && index >= 0 && index < m->kernel_count ? &m->kernels[index] : NULL;
}

struct find_call {
    tw_module *module;
    const char *name;
    tw_kernel *found;
};

static tw_status find_kernel(void *user)
{
    struct find_call *call = user;
    tw_module *m = call->module;
    tw_context *ctx = m->ctx;
    const char **names = arena_array(&ctx->scratch, const char *, m->kernel_count);
    for (int i = 0; i < m->kernel_count; i++)
        names[i] = m->kernels[i].info->name;
    int index = context_name_find(call->name, names, m->kernel_count);
    if (index >= 0) {
        call->found = &m->kernels[index];
        return TW_OK;
    }
    diag_error(&ctx->diag, LOC_NONE, "%s has no kernel `%s`", m->source.name, call->name);
    context_suggest(&ctx->diag, &ctx->scratch, call->name, names, m->kernel_count);
    return TW_NOT_FOUND;
}

tw_kernel *tw_module_kernel(tw_module *m, const char *name)
{
    if (!m)
        return NULL;
    if (!name) {
        context_refuse(m->ctx, "tw_module_kernel: `name` is NULL");
        return NULL;
    }
    struct find_call call = {.module = m, .name = name};
    context_call(m->ctx, find_kernel, &call);
    return call.found;
}

/* --- targets --- */

const char *tw_target_at(int index)
{
    const struct target *t = target_at(index - 1);
    return index == 0 ? "cpu" : t ? t->name : NULL;
}

const char *tw_kernel_target(const tw_kernel *k)
{
    return k ? k->target : NULL;
}

struct target_call {
    tw_kernel *kernel;
    const char *name;
    tw_kernel *found;
};

static tw_status unknown_target(tw_context *ctx, const char *name)
{
    VEC(const char *) names = {0};
    vec_push(&ctx->scratch, &names, "cuda");
    /* A caller that names a GPU does not want the host, which not every command takes. */
    for (int i = strncmp(name, "sm", 2) == 0; tw_target_at(i); i++)
        vec_push(&ctx->scratch, &names, tw_target_at(i));
    diag_error(&ctx->diag, LOC_NONE, "there is no target `%s`", name);
    if (strlen(name) > 3) /* a short name is near every other */
        context_suggest(&ctx->diag, &ctx->scratch, name, names.data, (int)names.count);
    diag_note(&ctx->diag, LOC_NONE, "kernels are made for GPUs from %s on", target_at(0)->name);
    return TW_NOT_FOUND;
}

/* Returns true for "cuda", or for "cuda:1" if that is the context's GPU. */
static bool is_gpu(const char *name)
{
    return strcmp(name, "cuda") == 0 || strncmp(name, "cuda:", 5) == 0;
}

static tw_status check_ordinal(tw_context *ctx, const char *name)
{
    int own = ctx->config.device;
    if (strcmp(name, "cuda") == 0 || strcmp(name, arena_printf(&ctx->scratch, "cuda:%d", own)) == 0)
        return TW_OK;
    diag_error(&ctx->diag, LOC_NONE,
               "`%s` is not the GPU of this context, which is `cuda:%d` (tw_config.device)", name,
               own);
    return TW_BAD_ARGUMENT;
}

/* Returns the target that the kernel's head names, if it is one; NULL: none. */
static const struct target *own_target(const tw_kernel *k)
{
    struct ptx_target ptx;
    const char *name = k->info->target;
    return name && ptx_target_parse(name, strlen(name), &ptx) ? target_find(ptx) : NULL;
}

bool modules_kernel_takes_target(const tw_kernel *k)
{
    const struct target *own = own_target(k);
    return !k->device || !own || own == k->device;
}

/* Returns the target whose code the kernel becomes: sm_90a if its head names that and sm_90 is asked
 * for. */
static const struct target *code_for(const tw_kernel *k, const struct target *asked)
{
    const struct target *own = own_target(k);
    bool narrower = own && own->ptx.suffix && !asked->ptx.suffix;
    return narrower && own->ptx.number == asked->ptx.number ? own : asked;
}

static tw_status find_target(void *user)
{
    struct target_call *call = user;
    tw_module *m = call->kernel->module;
    int index = call->kernel->index;
    if (strcmp(call->name, "cpu") == 0) {
        call->found = &m->kernels[index];
        return TW_OK;
    }
    if (is_gpu(call->name)) {
        struct cuda *gpu;
        tw_status status = check_ordinal(m->ctx, call->name);
        if (status == TW_OK)
            status = context_gpu(m->ctx, &gpu);
        if (status != TW_OK)
            return status;
        const struct cuda_device *d = cuda_describe(gpu);
        const struct target *own = target_for_gpu(d->capability), *first = target_at(0);
        if (!own) {
            diag_error(&m->ctx->diag, LOC_NONE,
                       "%s has compute capability %d.%d; kernels are made for %d.%d (%s) and up",
                       d->name, d->capability / 10, d->capability % 10, first->ptx.number / 10,
                       first->ptx.number % 10, first->name);
            return TW_UNSUPPORTED;
        }
        const struct target *wanted = own_target(call->kernel);
        call->name = wanted && target_runs_on(wanted, d->capability) ? wanted->name : own->name;
    } else if (strcmp(call->name, "sim") == 0) {
        const struct target *wanted = own_target(call->kernel);
        call->name = wanted ? wanted->name : target_at(0)->name;
    }
    for (tw_kernel *k = m->kernels[index].targeted; k; k = k->next)
        if (strcmp(k->asked->name, call->name) == 0) {
            call->found = k;
            return TW_OK;
        }
    struct ptx_target ptx;
    const struct target *device = NULL;
    if (ptx_target_parse(call->name, strlen(call->name), &ptx))
        device = target_find(ptx);
    if (!device)
        return unknown_target(m->ctx, call->name);
    tw_kernel *k = arena_new(&m->arena, tw_kernel);
    k->asked = device;
    k->device = code_for(call->kernel, device);
    describe_kernel(m, k, index, k->device->name);
    k->next = m->kernels[index].targeted;
    m->kernels[index].targeted = k;
    call->found = k;
    return TW_OK;
}

tw_status tw_kernel_for_target(tw_kernel *k, const char *target, tw_kernel **out)
{
    if (out)
        *out = NULL;
    if (!k)
        return TW_NOT_FOUND;
    if (!target || !out)
        return context_refuse(k->module->ctx, "tw_kernel_for_target: `target` or `out` is NULL");
    struct target_call call = {.kernel = k, .name = target};
    tw_status status = context_call(k->module->ctx, find_target, &call);
    *out = call.found;
    return status;
}

void tw_kernel_forget(tw_kernel *k)
{
    if (!k)
        return;
    tw_kernel *host = &k->module->kernels[k->index];
    variant_free_all(host);
    for (tw_kernel *other = host->targeted; other; other = other->next)
        variant_free_all(other);
}

const char *tw_kernel_name(const tw_kernel *k)
{
    return k ? k->info->name : NULL;
}

bool tw_kernel_has_ensures(const tw_kernel *k)
{
    return k ? k->info->has_ensures : false;
}

bool tw_kernel_thread_level(const tw_kernel *k)
{
    return k ? k->info->thread_level : false;
}

int tw_kernel_param_count(const tw_kernel *k)
{
    return k ? k->info->param_count : 0;
}

tw_status tw_kernel_param(const tw_kernel *k, int index, tw_param *out)
{
    if (!k || (out && index == k->info->param_count))
        return TW_BAD_ARGUMENT;
    if (!out || index < 0 || index > k->info->param_count)
        return context_refuse(k->module->ctx, out ? "tw_kernel_param: there is no such index"
                                                  : "tw_kernel_param: `out` is NULL");
    if (!SIZED_FITS(k->module->ctx, tw_param, out))
        return TW_BAD_ARGUMENT;
    const struct lang_param *p = &k->info->params[index];
    tw_param found = {
        .name = p->name,
        .is_pointer = p->is_pointer,
        .is_const = p->is_const,
        .is_static = p->is_static,
        .is_ensured = p->is_ensured,
        .dtype = p->type_variable >= 0 ? TW_DTYPE_NONE : (tw_dtype)p->dtype,
        .default_value =
            p->has_value || (p->has_default && !p->device) ? value_of(p->value) : (tw_value){0},
        .derived = p->device ? op_device_number_text(p->device) : p->derived_text,
        .type_name = p->type_variable >= 0 ? k->info->types[p->type_variable].name : NULL,
        .rank = p->rank,
        .view = p->view_name,
    };
    for (int i = 0; i < p->rank; i++)
        found.dims[i] = p->dim_text[i];
    FILL_SIZED(out, found);
    return TW_OK;
}

int tw_kernel_tune_count(const tw_kernel *k)
{
    return k ? k->info->tune_count : 0;
}

tw_status tw_kernel_tune(const tw_kernel *k, int index, tw_tune *out)
{
    if (!k || (out && index == k->info->tune_count))
        return TW_BAD_ARGUMENT;
    if (!out || index < 0 || index > k->info->tune_count)
        return context_refuse(k->module->ctx, out ? "tw_kernel_tune: there is no such index"
                                                  : "tw_kernel_tune: `out` is NULL");
    if (!SIZED_FITS(k->module->ctx, tw_tune, out))
        return TW_BAD_ARGUMENT;
    const struct lang_tune *t = &k->info->tunes[index];
    tw_tune found = {
        .name = t->name, .group = t->group, .count = t->count, .values = k->tune_values[index]};
    FILL_SIZED(out, found);
    return TW_OK;
}

int tw_kernel_type_count(const tw_kernel *k)
{
    return k ? k->info->type_count : 0;
}

tw_status tw_kernel_type(const tw_kernel *k, int index, tw_type *out)
{
    if (!k || (out && index == k->info->type_count))
        return TW_BAD_ARGUMENT;
    if (!out || index < 0 || index > k->info->type_count)
        return context_refuse(k->module->ctx, out ? "tw_kernel_type: there is no such index"
                                                  : "tw_kernel_type: `out` is NULL");
    if (!SIZED_FITS(k->module->ctx, tw_type, out))
        return TW_BAD_ARGUMENT;
    const struct lang_type *t = &k->info->types[index];
    tw_type found = {.name = t->name, .count = t->count, .choices = k->type_choices[index]};
    FILL_SIZED(out, found);
    return TW_OK;
}

struct allows_call {
    tw_kernel *kernel;
    const tw_value *tuned;
    bool allowed;
    int decided;
    const char *violated;
};

static tw_status ask_allowed(void *user)
{
    struct allows_call *call = user;
    tw_kernel *k = call->kernel;
    tw_context *ctx = k->module->ctx;
    int count = k->info->tune_count;
    struct literal *tunes = arena_array(&ctx->scratch, struct literal, count);
    for (int t = 0; t < count; t++)
        if (!launch_tune_value_read(&ctx->diag, &k->info->tunes[t], call->tuned[t], &tunes[t]))
            return TW_BAD_ARGUMENT;
    struct loc violated = LOC_NONE;
    call->allowed =
        lang_tune_rules_allow(modules_kernel_rules(k), tunes, &call->decided, &violated);
    if (violated.source)
        call->violated = arena_string(&ctx->message_memory, violated.source->text + violated.offset,
                                      violated.length);
    return TW_OK;
}

bool tw_kernel_allows(const tw_kernel *k, const tw_value *tuned, const char **violated)
{
    if (violated)
        *violated = NULL;
    if (!k || (!tuned && k->info->tune_count > 0))
        return false;
    struct allows_call call = {.kernel = (tw_kernel *)(uintptr_t)k, .tuned = tuned};
    if (context_call(k->module->ctx, ask_allowed, &call) != TW_OK)
        return false;
    if (violated && !call.allowed)
        *violated = call.violated ? call.violated : "";
    return call.allowed;
}

tw_status tw_kernel_decides(tw_kernel *k, const tw_value *tuned, bool *allowed, int *decided)
{
    if (!k || !allowed || !decided || (!tuned && k->info->tune_count > 0))
        return TW_BAD_ARGUMENT;
    struct allows_call call = {.kernel = k, .tuned = tuned};
    tw_status status = context_call(k->module->ctx, ask_allowed, &call);
    *allowed = call.allowed;
    *decided = call.decided;
    return status;
}
