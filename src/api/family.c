/* Families: loading, their kernels and types, launches of a choice. */
#include "api/family.h"

#include "target/gpus.h"

#include <string.h>

/* --- loading --- */

struct load_call {
    tw_family *family;
    const char *path, *name;
};

static tw_status find_call(void *user)
{
    struct load_call *c = user;
    return family_find(c->family, c->path, c->name);
}

static tw_status members_call(void *user)
{
    tw_family *f = user;
    tw_status status = family_take_members(f);
    if (status == TW_OK)
        status = family_compare(f);
    if (status != TW_OK)
        return status;
    const struct lang_kernel *info = f->members[0].kernel->info;
    f->types = arena_array(&f->arena, tw_dtype, info->type_count + 1);
    for (int t = 0; t < info->type_count; t++)
        f->types[t] = (tw_dtype)info->types[t].choices[0];
    return TW_OK;
}

/* Reads each file once; files of several members have one module. */
static tw_status read_files(tw_family *f)
{
    for (int i = 0; i < f->file_count; i++) {
        struct family_file *file = &f->files[i];
        for (int k = 0; k < i && !file->module; k++)
            if (strcmp(f->files[k].path, file->path) == 0) {
                file->module = f->files[k].module;
                file->shares = true;
            }
        tw_status status =
            file->module ? TW_OK : tw_module_from_file(f->ctx, file->path, &file->module);
        if (status != TW_OK)
            return status;
    }
    return TW_OK;
}

/* Replaces the host's kernels by those for the target. "sim" and "cuda" become the target of the
 * first member, so that all members are for one machine. */
static tw_status aim(tw_family *f, const char *target)
{
    tw_status status = TW_OK;
    for (int i = 0; i < f->member_count && status == TW_OK; i++) {
        tw_kernel *host = f->members[i].kernel;
        status = tw_kernel_for_target(host, target, &f->members[i].kernel);
        target = status == TW_OK && f->members[0].kernel->asked ? f->members[0].kernel->asked->name
                                                                : target;
    }
    return status;
}

/* Describes the arguments of a start: the parameters that the caller gives, and the integers among
 * them, by which choices are made. */
static void describe_arguments(tw_family *f)
{
    const struct lang_kernel *info = f->members[0].kernel->info;
    struct derived_param *derived = arena_array(&f->arena, struct derived_param, info->param_count);
    for (int i = 0; i < info->param_count; i++) {
        const struct lang_param *p = &info->params[i];
        bool is_size = !p->is_pointer && p->type_variable < 0 && dtype_is_int(p->dtype);
        derived[i] = (struct derived_param){p->dtype, p->derived};
        f->derives = f->derives || p->derived;
        if (p->derived || p->device)
            continue;
        if (is_size) {
            f->size_argument[f->size_count] = f->argument_count;
            f->preset[f->size_count] = p->value.i;
            f->size_param[f->size_count++] = i;
        }
        f->argument_of[f->argument_count++] = i;
        if (!p->has_default)
            f->least_arguments = f->argument_count;
    }
    if (f->derives)
        launch_derived_compile(&f->derive, &f->arena, derived, info->param_count);
}

void host_find_device(tw_family *f)
{
    f->device = host_device(&f->arena, f->ctx);
}

/* Finds the GPU that the family's kernels run on, if it is here. */
void gpu_find_device(tw_family *f)
{
    const struct target *target = f->members[0].kernel->device;
    const struct cuda_device *d = context_look(f->ctx, target);
    f->capability = target->ptx.number;
    if (!d)
        return;
    f->device = arena_string(&f->arena, d->name, strlen(d->name));
    f->capability = d->capability;
    f->multiprocessors = d->multiprocessors;
}

struct device_call {
    tw_family *family;
    const char *device;
};

static tw_status set_device(void *user)
{
    const struct device_call *c = user;
    tw_family *f = c->family;
    struct diag *d = &f->ctx->diag;
    const struct target *target = f->members[0].kernel->device;
    const struct gpu *gpu = target_gpu_find(c->device);
    if (!f->executor->has_model || (gpu && !target_runs_on(target, gpu->capability))) {
        diag_error(d, LOC_NONE, "%s does not run the family `%s`, which is for %s",
                   gpu ? gpu->name : c->device, f->name,
                   f->executor->name ? f->executor->name : target->name);
        diag_code(d, CODE_ARGUMENT);
        return TW_BAD_ARGUMENT;
    }
    const char *driver = gpu ? strrchr(gpu->aliases, ',') : NULL; /* its name is the last one */
    const char *name = driver ? driver + 1 : gpu ? gpu->aliases : c->device;
    f->device = arena_string(&f->arena, name, strlen(name));
    f->capability = gpu ? gpu->capability : target->ptx.number;
    f->multiprocessors = gpu ? gpu->multiprocessors : 0;
    f->is_named = true;
    return TW_OK;
}

tw_status tw_family_device(tw_family *f, const char *device)
{
    REFUSE_IF(f, f->ctx, !device, "tw_family_device: `device` is NULL");
    return family_change(f, set_device, &(struct device_call){f, device});
}

struct bits_call {
    tw_family *family;
    bool always;
};

static tw_status set_bits(void *user)
{
    const struct bits_call *c = user;
    c->family->same_bits = c->always;
    return TW_OK;
}

tw_status tw_family_same_bits(tw_family *f, bool always)
{
    return f ? family_change(f, set_bits, &(struct bits_call){f, always}) : TW_BAD_ARGUMENT;
}

static tw_status describe_call(void *user)
{
    tw_family *f = user;
    tw_context *ctx = f->ctx;
    for (int i = 0; i < f->member_count; i++) {
        const struct lang_kernel *info = f->members[i].kernel->info;
        if (info->param_count <= ENTRY_PARAMS)
            continue;
        diag_error(&ctx->diag, info->loc,
                   "kernel `%s` has %d parameters; a family's kernel has %d at most", info->name,
                   info->param_count, ENTRY_PARAMS);
        return TW_UNSUPPORTED;
    }
    describe_arguments(f);
    f->executor = f->members[0].kernel->executor;
    f->executor->find_device(f);
    name_table_init(&f->variant_of, &f->arena);
    for (int i = 0; i < f->member_count; i++)
        f->members[i].program =
            tuning_kernel_program(&f->arena, &ctx->scratch, f->members[i].kernel);
    family_read_default_table(f);
    return TW_OK;
}

static void family_destroy(tw_family *f)
{
    family_close_own(f);
    platform_lock_free(&f->ctx->allocator, f->lock);
    for (int i = 0; i < f->file_count; i++)
        if (!f->files[i].shares)
            tw_module_free(f->files[i].module);
    arena_free(&f->arena);
    arena_free(&f->loading);
    context_object_free(f->ctx, f, sizeof *f);
}

tw_status tw_family_from_file(tw_context *ctx, const char *path, const char *name,
                              const char *target, tw_family **out)
{
    if (out)
        *out = NULL;
    REFUSE_IF(ctx, ctx, !path || !*path || !out,
              out ? "tw_family_from_file: `path` is NULL or empty"
                  : "tw_family_from_file: `out` is NULL");
    tw_family *f = context_object(ctx, sizeof *f);
    if (!f)
        return context_no_memory(ctx);
    f->ctx = ctx;
    context_arena(ctx, &f->arena);
    context_arena(ctx, &f->loading);
    f->lock = platform_lock_new(&ctx->allocator);
    struct load_call call = {f, path, name};
    tw_status status = f->lock ? context_call(ctx, find_call, &call) : context_no_memory(ctx);
    if (status == TW_OK)
        status = read_files(f);
    if (status == TW_OK)
        status = context_call(ctx, members_call, f);
    if (status == TW_OK)
        status = aim(f, target ? target : "cpu");
    if (status == TW_OK)
        status = context_call(ctx, describe_call, f);
    if (status != TW_OK) {
        family_destroy(f);
        return status;
    }
    f->next = ctx->families;
    ctx->families = f;
    ctx->frees.family = tw_family_free;
    *out = f;
    return TW_OK;
}

void tw_family_free(tw_family *f)
{
    if (!f)
        return;
    UNLINK(tw_family, f->ctx->families, f);
    family_destroy(f);
}

/* --- queries --- */

const char *tw_family_name(const tw_family *f)
{
    return f ? f->name : NULL;
}

int tw_family_kernel_count(const tw_family *f)
{
    return f ? f->member_count : 0;
}

tw_kernel *tw_family_kernel(const tw_family *f, int index)
{
    return f && index >= 0 && index < f->member_count ? f->members[index].kernel : NULL;
}

const char *tw_family_file(const tw_family *f, int index)
{
    return f && index >= 0 && index < f->member_count ? f->members[index].path : NULL;
}

/* --- types --- */

struct type_call {
    tw_family *family;
    const char *name;
    tw_dtype type;
};

static bool takes_type(const struct lang_type *list, tw_dtype type)
{
    for (int i = 0; i < list->count; i++)
        if (list->choices[i] == (enum dtype)type)
            return true;
    return false;
}

static tw_status set_type(void *user)
{
    struct type_call *c = user;
    tw_family *f = c->family;
    tw_context *ctx = f->ctx;
    const struct lang_kernel *info = f->members[0].kernel->info;
    int index = family_type_named(info, c->name);
    bool listed = false;
    ctx->diag.code = CODE_ARGUMENT;
    if (index < 0) {
        const char **names = arena_array(&ctx->scratch, const char *, info->type_count);
        for (int t = 0; t < info->type_count; t++)
            names[t] = info->types[t].name;
        diag_error(&ctx->diag, LOC_NONE, "the family `%s` has no type `%s`", f->name, c->name);
        context_suggest(&ctx->diag, &ctx->scratch, c->name, names, info->type_count);
        return TW_BAD_ARGUMENT;
    }
    for (int i = 0; i < f->member_count && !listed; i++) {
        const struct lang_kernel *own = f->members[i].kernel->info;
        int t = family_type_named(own, c->name);
        listed = t >= 0 && takes_type(&own->types[t], c->type);
    }
    if (!listed) {
        diag_error(&ctx->diag, LOC_NONE, "no kernel of the family `%s` lists %s for `%s`", f->name,
                   tw_dtype_name(c->type), c->name);
        return TW_BAD_ARGUMENT;
    }
    f->types[index] = c->type;
    return TW_OK;
}

tw_status tw_family_type(tw_family *f, const char *name, tw_dtype type)
{
    REFUSE_IF(f, f->ctx, !name, "tw_family_type: `name` is NULL");
    return family_change(f, set_type, &(struct type_call){f, name, type});
}

/* --- launches --- */

bool family_takes(const tw_family *f, int member)
{
    const struct lang_kernel *first = f->members[0].kernel->info;
    const tw_kernel *k = f->members[member].kernel;
    const struct lang_kernel *info = k->info;
    if (!modules_kernel_takes_target(k))
        return false;
    for (int t = 0; t < first->type_count; t++) {
        int index = family_type_named(info, first->types[t].name);
        if (index >= 0 && !takes_type(&info->types[index], f->types[t]))
            return false;
    }
    return true;
}

tw_status family_set_up(const tw_family *f, tw_launch *l, const char *tune)
{
    tw_context *ctx = l->ctx;
    const struct lang_kernel *info = l->kernel->info, *first = f->members[0].kernel->info;
    ctx->diag.code = CODE_ARGUMENT;
    for (int t = 0; t < first->type_count; t++) {
        int index = family_type_named(info, first->types[t].name);
        if (index < 0)
            continue;
        if (!takes_type(&info->types[index], f->types[t])) {
            diag_error(&ctx->diag, LOC_NONE, "`%s` does not list %s for `%s`", info->name,
                       tw_dtype_name(f->types[t]), first->types[t].name);
            return TW_BAD_ARGUMENT;
        }
        l->types[index] = (enum dtype)f->types[t];
        l->type_set[index] = true;
    }
    struct stored_value *values = arena_array(&ctx->scratch, struct stored_value, info->tune_count);
    if (!tunes_read(info, tune, values)) {
        diag_error(&ctx->diag, LOC_NONE, "the tuned values \"%s\" are not those of `%s`", tune,
                   info->name);
        return TW_BAD_ARGUMENT;
    }
    tunes_take(l, values);
    return TW_OK;
}

struct set_up_call {
    const tw_family *family;
    tw_launch *launch;
    const char *tune;
};

static tw_status set_up(void *user)
{
    struct set_up_call *c = user;
    return family_set_up(c->family, c->launch, c->tune);
}

bool family_has_kernel(const tw_family *f, const tw_kernel *k)
{
    for (int i = 0; i < f->member_count; i++)
        if (f->members[i].kernel == k)
            return true;
    return false;
}

tw_status tw_family_launch(tw_family *f, const tw_choice *choice, tw_launch **out)
{
    tw_choice own;
    tw_launch *l;
    if (out)
        *out = NULL;
    REFUSE_IF(f, f->ctx, !choice || !out, "tw_family_launch: `choice` or `out` is NULL");
    tw_status status = READ_SIZED(f->ctx, tw_choice, &own, choice);
    if (status == TW_OK && (!own.tune || !family_has_kernel(f, own.kernel)))
        return context_refuse(f->ctx, "tw_family_launch: `choice` is not one of this family");
    if (status == TW_OK)
        status = tw_launch_new(own.kernel, &l);
    if (status != TW_OK)
        return status;
    struct set_up_call call = {f, l, own.tune};
    status = context_call(f->ctx, set_up, &call);
    if (status == TW_OK)
        *out = l;
    else
        tw_launch_free(l);
    return status;
}

/* --- variants of the tables --- */

bool family_is_of_types(const tw_family *f, const char *types, bool twins)
{
    const struct lang_kernel *first = f->members[0].kernel->info;
    const char *at = types;
    for (int t = 0; t < first->type_count; t++) {
        tw_dtype own = twins && f->types[t] == TW_BF16 ? TW_F16 : f->types[t];
        const char *name = first->types[t].name, *type = tw_dtype_name(own);
        size_t length = strlen(name), rest = strlen(type);
        if (strncmp(at, name, length) != 0 || at[length] != '=' ||
            strncmp(at + length + 1, type, rest) != 0)
            return false;
        at += length + 1 + rest;
        at += *at == ',';
    }
    return !*at;
}

/* The results whose variants tw_family_variant lists. */
struct listing {
    const tw_family *family;
    bool all;   /* of any device */
    bool twins; /* with f16 for bf16, because none have the types */
};

static bool lists(const struct listing *l, const struct family_group *g)
{
    const tw_family *f = l->family;
    return (l->all || (f->device && strcmp(g->device, f->device) == 0)) &&
           family_is_of_types(f, g->types, l->twins);
}

static struct listing listing_of(const tw_family *f, bool all)
{
    struct listing l = {.family = f, .all = all};
    const struct family_group *g = f->groups;
    while (g && !lists(&l, g))
        g = g->next;
    l.twins = !g && f->executor->has_model;
    return l;
}

/* Returns true if a listed group before `end` has the variant. */
static bool listed_before(const struct listing *l, const struct family_group *end, int variant)
{
    for (const struct family_group *g = l->family->groups; g != end; g = g->next)
        for (size_t c = 0; c < g->columns.count && lists(l, g); c++)
            if (g->columns.data[c] == variant)
                return true;
    return false;
}

bool tw_family_variant(tw_family *f, int index, bool all, tw_choice *out)
{
    if (!f || index < 0 || !out || !SIZED_FITS(NULL, tw_choice, out))
        return false;
    const struct listing l = listing_of(f, all);
    for (const struct family_group *g = f->groups; g; g = g->next)
        for (size_t c = 0; c < g->columns.count && lists(&l, g); c++) {
            const struct family_variant *v = f->variants.data[g->columns.data[c]];
            if (listed_before(&l, g, g->columns.data[c]) || index-- > 0)
                continue;
            tw_choice found = {.kernel = f->members[v->member].kernel,
                               .variant = v->name,
                               .tune = v->tune,
                               .by = TW_BY_RESULT,
                               .device = g->device,
                               .types = l.twins ? g->types : NULL};
            FILL_SIZED(out, found);
            return true;
        }
    return false;
}
