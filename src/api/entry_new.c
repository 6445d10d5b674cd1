/* Makes entries of launches, and frees them. */
#include "api/entry.h"

/* Finds the range of an integer type, as values of tw_value.i. */
static void find_range(struct entry_param *p)
{
    int bits = p->dtype == DT_BOOL ? 1 : dtype_table[p->dtype].bits;
    bool is_signed = dtype_table[p->dtype].kind == DK_SINT || bits == 64;
    p->span = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    p->least = is_signed ? (int64_t)(~(uint64_t)0 << (bits - 1)) : 0;
}

static void describe_params(tw_entry *e, const tw_launch *l)
{
    const struct lang_kernel *info = l->kernel->info;
    e->param_count = info->param_count;
    for (int i = 0; i < info->param_count; i++) {
        const struct lang_param *from = &info->params[i];
        struct entry_param *p = &e->params[i];
        p->dtype = from->type_variable >= 0 ? l->choice.types[from->type_variable] : from->dtype;
        p->kind = from->is_pointer ? TW_POINTER : dtype_is_float(p->dtype) ? TW_FLOAT : TW_INTEGER;
        p->below = dtype_size(p->dtype) - 1;
        p->single = from->has_value;
        if (p->kind == TW_INTEGER)
            find_range(p);
        uint64_t value = (uint64_t)(from->device ? launch_device_number(l, i) : from->value.i);
        if (lang_follows_sms(info, i))
            p->cluster = launch_cluster_blocks(l);
        if (dtype_is_float(p->dtype))
            entry_float_bits(p->dtype, from->value.is_float ? from->value.f : (double)from->value.i,
                             &value);
        p->only = p->preset = value;
        p->is_static = from->is_static && !p->single;
        e->counted[0] |= (uint64_t)(p->kind != TW_FLOAT) << i;
        e->counted[1] |= (uint64_t)(p->kind == TW_INTEGER) << i;
        if (from->derived)
            e->derived[e->derived_count++] = (unsigned char)i;
        else
            e->argument_of[e->argument_count++] = (unsigned char)i;
        if (!from->derived && !from->has_default)
            e->least_arguments = e->argument_count;
    }
}

static tw_status resolve(void *user)
{
    tw_launch *l = user;
    if (l->kernel->info->param_count > ENTRY_PARAMS) {
        diag_error(&l->ctx->diag, l->kernel->info->loc,
                   "kernel `%s` has %d parameters; an entry's kernel has %d at most",
                   l->kernel->info->name, l->kernel->info->param_count, ENTRY_PARAMS);
        return TW_UNSUPPORTED;
    }
    tw_status status = launch_resolve(l, false);
    if (status == TW_OK && !launch_check_declarations(l))
        status = TW_BAD_PROGRAM;
    return status;
}

/* Makes the kernel again, in a context of the entry's own. */
static tw_status open_own(tw_entry *e, const tw_launch *l)
{
    const tw_context *owner = l->ctx;
    tw_module *module;
    tw_kernel *kernel;
    tw_status status = context_again(owner, &e->ctx);
    if (status == TW_OK)
        status = modules_again(e->ctx, l->kernel->module, &module);
    if (status == TW_OK)
        status = tw_kernel_for_target(tw_module_kernel_at(module, l->kernel->index),
                                      l->kernel->target, &kernel);
    if (status == TW_OK)
        status = tw_launch_new(kernel, &e->launch);
    e->executor = l->kernel->executor;
    if (status == TW_OK)
        status = tw_launch_allow_overlap(e->launch, l->allows_overlap);
    if (status == TW_OK)
        e->options = host_options(e->ctx);
    return status;
}

/* Compiles the derived parameters of the module in the entry's own context. */
static tw_status compile_derived(void *user)
{
    tw_entry *e = user;
    const struct lang_kernel *info = e->launch->kernel->info;
    struct derived_param params[ENTRY_PARAMS];
    for (int i = 0; i < e->param_count; i++)
        params[i] = (struct derived_param){e->params[i].dtype, info->params[i].derived};
    launch_derived_compile(&e->derive, &e->launch->arena, params, e->param_count);
    return TW_OK;
}

static void take_choice(tw_entry *e, const tw_launch *l)
{
    const struct lang_kernel *info = l->kernel->info;
    struct choice *own = &e->launch->choice;
    for (int t = 0; t < info->tune_count; t++)
        own->tunes[t] = l->choice.tunes[t];
    for (int t = 0; t < info->type_count; t++)
        own->types[t] = l->choice.types[t];
}

static void entry_destroy(tw_entry *e)
{
    tw_context *owner = e->owner;
    if (e->ctx)
        entry_drop_unfinished(e);
    while (e->variants) {
        struct entry_variant *v = e->variants;
        e->variants = v->next;
        variant_free(e->ctx, v->variant);
    }
    tw_context_free(e->ctx);
    platform_lock_free(&owner->allocator, e->lock);
    context_object_free(owner, e, sizeof *e);
}

tw_status tw_entry_new(tw_launch *l, tw_entry **out)
{
    if (out)
        *out = NULL;
    REFUSE_IF(l, l->ctx, !out, "tw_entry_new: `out` is NULL");
    tw_status status = context_call(l->ctx, resolve, l);
    if (status != TW_OK)
        return status;
    tw_entry *e = context_object(l->ctx, sizeof *e);
    if (!e)
        return context_no_memory(l->ctx);
    e->owner = l->ctx;
    e->made_ready_by = "tw_entry_ready";
    e->lock = platform_lock_new(&l->ctx->allocator);
    describe_params(e, l);
    status = e->lock ? open_own(e, l) : TW_NO_MEMORY;
    if (status == TW_OK && e->derived_count > 0)
        status = context_call(e->ctx, compile_derived, e);
    if (status != TW_OK) { /* the text compiled before, so no other message applies */
        entry_destroy(e);
        return context_no_memory(l->ctx);
    }
    take_choice(e, l);
    e->next = l->ctx->entries;
    l->ctx->entries = e;
    l->ctx->frees.entry = tw_entry_free;
    *out = e;
    return TW_OK;
}

void entry_made_ready_by(tw_entry *e, const char *call)
{
    e->made_ready_by = call;
}

void tw_entry_free(tw_entry *e)
{
    if (!e)
        return;
    UNLINK(tw_entry, e->owner->entries, e);
    entry_destroy(e);
}
