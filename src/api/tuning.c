/* Tuning: the key of a launch, its estimated cost, and expected values to judge variants by. */
#include "api/objects.h"
#include "emit/emit.h"

#include "model/occupancy.h"
#include "store/model.h"
#include "store/ship.h"

#include <inttypes.h>
#include <string.h>

/* --- keys --- */

static void add_value(struct text *out, const char *name, struct literal v)
{
    text_printf(out, "%s%s=", out->length ? "," : "", name);
    resolve_add_literal(out, v);
}

const char *launch_tunes_text(struct arena *a, const tw_launch *l)
{
    const struct lang_kernel *info = l->kernel->info;
    struct text out;
    text_init(&out, a);
    for (int t = 0; t < info->tune_count; t++)
        add_value(&out, info->tunes[t].name, l->choice.tunes[t]);
    return out.data;
}

static const char *types_text(struct arena *a, const tw_launch *l)
{
    const struct lang_kernel *info = l->kernel->info;
    struct text out;
    text_init(&out, a);
    for (int t = 0; t < info->type_count; t++)
        text_printf(&out, "%s%s=%s", t ? "," : "", info->types[t].name,
                    dtype_table[l->choice.types[t]].name);
    return out.data;
}

/* Writes the sizes of the key. Statics are part of the program, also floats; of the other
 * parameters, integers give the amount of work. */
static void shape_texts(struct arena *a, const tw_launch *l, tw_tuned *key)
{
    const struct lang_kernel *info = l->kernel->info;
    struct text shape, sizes;
    text_init(&shape, a);
    text_init(&sizes, a);
    for (int p = 0; p < info->param_count; p++) {
        const struct lang_param *param = &info->params[p];
        struct literal v = l->choice.values[p];
        if (param->is_pointer || (v.is_float && !param->is_static) || lang_follows_sms(info, p))
            continue;
        add_value(&sizes, param->name, v);
        if (v.is_float)
            add_value(&shape, param->name, v);
        else
            tune_size_range_add(&shape, param->name, tune_size_range_of(v.i, param->is_static));
    }
    key->shape = shape.data;
    key->sizes = sizes.data;
}

const char *host_device(struct arena *a, tw_context *ctx)
{
    tw_device host = tw_device_init();
    int threads = ctx->config.threads;
    tw_device_at(0, &host);
    return threads > 0 && threads != host.cores
               ? arena_printf(a, "%s, on %d thread%s", host.description, threads,
                              threads == 1 ? "" : "s")
               : arena_string(a, host.description, strlen(host.description));
}

const char *gpu_device(struct arena *a, tw_context *ctx)
{
    (void)a;
    struct cuda *gpu;
    return context_gpu(ctx, &gpu) == TW_OK ? cuda_describe(gpu)->name : NULL;
}

const char *tuning_kernel_program(struct arena *a, struct arena *scratch, const tw_kernel *k)
{
    const struct lang_sources *texts = lang_program(k->module->parsed);
    return arena_printf(a, "%016" PRIx64,
                        program_id(scratch, texts->data, texts->count, k->info->name));
}

tw_status launch_key(tw_launch *l, const char *device, tw_tuned *out)
{
    struct arena *a = &l->key;
    tw_status status = l->prepared ? TW_OK : launch_resolve(l, true);
    if (status != TW_OK)
        return status;
    arena_free(a);
    const char *name = l->kernel->info->name;
    *out = (tw_tuned){
        .size = sizeof *out,
        .device = device ? arena_string(a, device, strlen(device))
                         : l->kernel->executor->device(a, l->ctx),
        .kernel = name,
        .types = types_text(a, l),
        .tune = launch_tunes_text(a, l),
        .why = "",
        .version = TW_VERSION,
    };
    out->program = tuning_kernel_program(a, &l->ctx->scratch, l->kernel);
    shape_texts(a, l, out);
    return out->device ? TW_OK : TW_UNSUPPORTED;
}

struct tuning_call {
    tw_launch *launch;
    const char *device;
    int multiprocessors;
    tw_tuned key;
    tw_estimate estimate;
};

static tw_status key_call(void *user)
{
    struct tuning_call *call = user;
    return launch_key(call->launch, call->device, &call->key);
}

tw_status tw_launch_tuning_key(tw_launch *l, const char *device, tw_tuned *out)
{
    if (!l)
        return TW_BAD_ARGUMENT;
    if (!SIZED_FITS(l->ctx, tw_tuned, out))
        return TW_BAD_ARGUMENT;
    struct tuning_call call = {.launch = l, .device = device};
    tw_status status = context_call(l->ctx, key_call, &call);
    if (status == TW_OK)
        FILL_SIZED(out, call.key);
    return status;
}

bool tw_shape_next(const char **at, char name[64], int64_t *low, int64_t *high, int *divisor)
{
    struct size_range r;
    if (!at || !*at || !**at || !tune_size_range_read(at, name, 64, &r))
        return false;
    *low = r.low;
    *high = r.high;
    *divisor = r.divisor;
    return true;
}

/* --- estimates --- */

static uint64_t hash_of(uint64_t hash, const void *data, size_t length)
{
    for (const unsigned char *c = data; length > 0; c++, length--)
        hash = (hash ^ *c) * 1099511628211u; /* FNV-1a */
    return hash;
}

/* The latest estimate of a launch. Other sizes of the same program change only its grid. */
struct estimate {
    struct choice key;       /* selects the program */
    const struct kernel *ir; /* after all passes: has the grid */
    uint64_t text;           /* hash of the program's text */
    tw_estimate needs;       /* of a block */
};

/* Hashes the program as it would run: its text and the size of the launch. */
static uint64_t program_hash(const struct estimate *kept, const int64_t grid[3])
{
    const tw_estimate *e = &kept->needs;
    uint64_t hash = hash_of(kept->text, &e->shared_bytes, sizeof e->shared_bytes);
    hash = hash_of(hash, &e->threads, sizeof e->threads);
    return hash_of(hash, grid, 3 * sizeof *grid);
}

tw_status gpu_estimate(tw_launch *l, struct kernel *ir, struct text *text, tw_estimate *e)
{
    const tw_kernel *k = l->kernel;
    struct lowered_options options = {.target = k->device};
    struct lowered lowered;
    if (!emit_kernel(&l->ctx->scratch, ir, &options, &l->ctx->diag, &lowered))
        return TW_BAD_PROGRAM;
    ptx_print(text, lowered.module);
    e->shared_bytes = lowered.shared_bytes;
    e->registers = lowered.registers < k->device->register_limit ? lowered.registers
                                                                 : k->device->register_limit;
    return TW_OK;
}

/* The CPU engine runs a block's tiles whole, so the number of warps has no effect. */
tw_status host_estimate(tw_launch *l, struct kernel *ir, struct text *text, tw_estimate *e)
{
    (void)l;
    (void)e;
    if (!kernel_thread_level(ir))
        ir->warps = 1;
    kernel_print(text, ir);
    return TW_OK;
}

static void find_occupancy(const struct tuning_call *call, tw_estimate *e)
{
    const struct target *t = call->launch->kernel->device;
    struct occupancy_limits has = model_occupancy_limits_of(t, call->multiprocessors);
    struct block_needs needs = {e->shared_bytes, e->registers, e->threads, e->blocks};
    e->resident = model_occupancy_blocks(&has, &needs);
    e->cost = model_occupancy_cost(&has, &needs);
}

static void find_grid(const tw_launch *l, const struct kernel *ir, int64_t grid[3], tw_estimate *e)
{
    e->blocks = launch_grid_of(l, ir, grid);
    for (int i = 0; i < 3; i++) {
        if (grid[i] < 0 || __builtin_mul_overflow(e->blocks, grid[i], &e->blocks))
            e->blocks = 0;
    }
}

/* Compiles the program of the launch, whose choice is known, into l->estimate. */
static tw_status compile_estimate(tw_launch *l)
{
    l->estimate = NULL;
    arena_free(&l->estimated);
    struct arena *a = &l->estimated;
    struct estimate *kept = arena_new(a, struct estimate);
    kept->key = choice_copy(a, l->kernel->info, &l->choice);
    struct kernel *ir = choice_check(a, &l->ctx->diag, l->kernel, &l->choice, kept->key.known);
    tw_status status =
        ir ? choice_passes(l->kernel, ir, &l->choice, kept->key.known, NULL) : TW_BAD_PROGRAM;
    if (status != TW_OK)
        return status;
    struct text text;
    text_init(&text, &l->ctx->scratch);
    status = l->kernel->executor->estimate(l, ir, &text, &kept->needs);
    if (status != TW_OK)
        return status;
    kept->needs.threads = kernel_block_threads(ir);
    kept->ir = ir;
    kept->text = hash_of(14695981039346656037u, text.data, text.length);
    l->estimate = kept;
    return TW_OK;
}

static tw_status estimate_call(void *user)
{
    struct tuning_call *call = user;
    tw_launch *l = call->launch;
    tw_status status = l->prepared ? TW_OK : launch_resolve(l, true);
    bool same = status == TW_OK && l->estimate &&
                choice_same(l->kernel->info, &l->estimate->key, &l->choice);
    if (status == TW_OK && !same)
        status = compile_estimate(l);
    if (status != TW_OK)
        return status;
    int64_t grid[3];
    call->estimate = l->estimate->needs;
    find_grid(l, l->estimate->ir, grid, &call->estimate);
    if (l->kernel->executor->has_model)
        find_occupancy(call, &call->estimate);
    call->estimate.program = program_hash(l->estimate, grid);
    return TW_OK;
}

tw_status tw_launch_estimate(tw_launch *l, int multiprocessors, tw_estimate *out)
{
    if (!l)
        return TW_BAD_ARGUMENT;
    if (!SIZED_FITS(l->ctx, tw_estimate, out))
        return TW_BAD_ARGUMENT;
    struct tuning_call call = {.launch = l, .multiprocessors = multiprocessors};
    tw_status status = context_call(l->ctx, estimate_call, &call);
    FILL_SIZED(out, call.estimate);
    return status;
}

/* --- variants for a table --- */

int tw_choose_variants(const float *times, int sizes, int variants, int most, int *chosen,
                       double *loss)
{
    double mean = 1;
    int count = times && chosen && most > 0
                    ? ship_choose_few(times, sizes, variants, most, chosen, &mean)
                    : 0;
    if (loss)
        *loss = mean;
    return count;
}

/* --- expected values --- */

struct tw_expected {
    tw_context *ctx;
    tw_expected *next;
    struct arena arena;
    struct ensures_kept *kept; /* NULL: not begun */
};

tw_status tw_expected_new(tw_context *ctx, tw_expected **out)
{
    if (out)
        *out = NULL;
    REFUSE_IF(ctx, ctx, !out, "tw_expected_new: `out` is NULL");
    tw_expected *e = context_object(ctx, sizeof *e);
    if (!e)
        return context_no_memory(ctx);
    e->ctx = ctx;
    context_arena(ctx, &e->arena);
    e->next = ctx->expected;
    ctx->expected = e;
    ctx->frees.expected = tw_expected_free;
    *out = e;
    return TW_OK;
}

void tw_expected_free(tw_expected *e)
{
    if (!e)
        return;
    UNLINK(tw_expected, e->ctx->expected, e);
    arena_free(&e->arena);
    context_object_free(e->ctx, e, sizeof *e);
}

static tw_status begin_expected(void *user)
{
    tw_expected *e = user;
    e->kept = ensures_kept_new(&e->arena);
    return TW_OK;
}

tw_status tw_launch_verify_by(tw_launch *l, tw_expected *e, tw_verdict *verdict)
{
    REFUSE_IF(l, l->ctx, !e || e->ctx != l->ctx,
              "tw_launch_verify_by: `e` is NULL, or another context's");
    tw_status status = e->kept ? TW_OK : context_call(l->ctx, begin_expected, e);
    return status == TW_OK ? launch_verify(l, e->kept, verdict) : status;
}
