/* Launches on the host: at once, or in the background, one after the other on a thread of the
 * context. A launch in the background has its own copy of the arguments, and pins its variant. */
#include "api/objects.h"

#include "base/platform.h"
#include "tilewright_gpu.h"

#include <inttypes.h>
#include <string.h>

static bool varies(const int thread[3])
{
    return thread[0] >= 0 && thread[1] >= 0 && thread[2] >= 0;
}

static void report_fault(tw_context *ctx, const struct cpu_fault *f)
{
    static const enum diag_code codes[] = {
        [CPU_BAD_ARGUMENT] = CODE_ARGUMENT, [CPU_BOUNDS] = CODE_OUTSIDE,
        [CPU_ASYNC] = CODE_ASYNC_RACE,      [CPU_DEADLOCK] = CODE_DEADLOCK,
        [CPU_ENDLESS] = CODE_ENDLESS,       [CPU_ASSUME] = CODE_ASSUME,
        [CPU_DIVIDE] = CODE_FAULT,          [CPU_CANCELLED] = CODE_CANCELLED,
        [CPU_NO_MEMORY] = CODE_OTHER,       [CPU_DIRTY] = CODE_FAULT,
        [CPU_MBARRIER] = CODE_MBARRIER,
    };
    struct diag *d = &ctx->diag;
    diag_error(d, f->loc, "%s", f->message);
    diag_code(d, codes[f->kind]);
    if (f->kind == CPU_BAD_ARGUMENT)
        return;
    if (f->way_out[0])
        diag_note(d, f->loc, "%s", f->way_out);
    if (f->kind == CPU_DIRTY)
        return; /* of the whole launch */
    if (varies(f->thread))
        diag_note(d, LOC_NONE,
                  "in block (%" PRId64 ", %" PRId64 ", %" PRId64 "), thread (%d, %d, %d)",
                  f->block[0], f->block[1], f->block[2], f->thread[0], f->thread[1], f->thread[2]);
    else
        diag_note(d, LOC_NONE, "in block (%" PRId64 ", %" PRId64 ", %" PRId64 ")", f->block[0],
                  f->block[1], f->block[2]);
}

static tw_status status_of(enum cpu_fault_kind kind)
{
    switch (kind) {
    case CPU_OK: return TW_OK;
    case CPU_BAD_ARGUMENT: return TW_BAD_ARGUMENT;
    case CPU_NO_MEMORY: return TW_NO_MEMORY;
    case CPU_CANCELLED: return TW_CANCELLED;
    case CPU_ASSUME: return TW_NOT_ASSUMED;
    default: return TW_FAULT;
    }
}

tw_status host_outcome(tw_context *ctx, enum cpu_fault_kind kind, const struct cpu_fault *f)
{
    bool has_words = kind != CPU_OK && kind != CPU_NO_MEMORY && kind != CPU_CANCELLED;
    if (has_words)
        report_fault(ctx, f);
    return status_of(kind);
}

struct cpu_options host_options(tw_context *ctx)
{
    return (struct cpu_options){
        .allocator = &ctx->allocator,
        .kept = &ctx->kept,
        .parallel = ctx->parallel,
        .print = ctx->config.print,
        .print_user = ctx->config.print_user,
        .cancelled = ctx->config.cancelled,
        .cancelled_user = ctx->config.cancelled_user,
        .progress = ctx->config.progress,
        .progress_user = ctx->config.progress_user,
    };
}

struct runs {
    tw_launch *launch;
    const struct cpu_argument *args;
    int count;
    struct cpu_profile *profile; /* NULL: none */
    enum cpu_fault_kind kind;
    struct cpu_fault fault;
    double milliseconds; /* of one */
};

static void run_all(void *user)
{
    struct runs *r = user;
    struct cpu_options options = host_options(r->launch->ctx);
    options.profile = r->profile;
    double from = platform_seconds();
    for (int i = 0; i < r->count && r->kind == CPU_OK; i++)
        r->kind = cpu_launch(r->launch->variant->program, r->args, &options, &r->fault);
    r->milliseconds = 1e3 * (platform_seconds() - from) / r->count;
}

/* Runs on the caller's stack, because the run calls callbacks of the caller. */
tw_status host_run(struct run_call *call, struct cpu_argument *given)
{
    tw_launch *l = call->launch;
    struct runs r = {.launch = l, .args = given, .count = call->runs, .kind = CPU_OK};
    context_settle(l->ctx);
    context_outside(l->ctx, run_all, &r);
    call->milliseconds = r.milliseconds;
    return host_outcome(l->ctx, r.kind, &r.fault);
}

tw_status launch_on_host_profiled(tw_launch *l, const struct cpu_argument *args, int runs,
                                  struct cpu_profile *profile)
{
    struct runs r = {.launch = l, .args = args, .count = runs, .profile = profile, .kind = CPU_OK};
    context_outside(l->ctx, run_all, &r);
    return host_outcome(l->ctx, r.kind, &r.fault);
}

/* --- in the background --- */

void context_settle(tw_context *ctx)
{
    if (ctx->queue)
        platform_queue_wait(ctx->queue, NULL);
}

static void run_begun(void *user)
{
    tw_launch *l = user;
    struct begun *b = &l->begun;
    struct cpu_options options = host_options(l->ctx);
    b->kind = cpu_launch(b->variant->program, b->args, &options, &b->fault);
    if (b->done)
        b->done(b->user, l, status_of(b->kind));
}

static tw_status begin_call(void *user)
{
    tw_launch *l = user;
    tw_context *ctx = l->ctx;
    const struct lang_kernel *info = l->kernel->info;
    struct cpu_argument *args;
    tw_status status = launch_arguments(l, &args);
    if (status == TW_OK)
        status = launch_keep_inputs(l, args);
    if (status != TW_OK)
        return status;
    if (!ctx->queue)
        ctx->queue = platform_queue_new(&ctx->allocator);
    if (!ctx->queue)
        return TW_NO_MEMORY;
    memcpy(l->begun.args, args, (size_t)info->param_count * sizeof *args);
    l->begun.variant = l->variant;
    l->begun.kind = CPU_CANCELLED; /* stays so in a forked process */
    l->begun.job = (struct platform_job){.run = run_begun, .user = l};
    platform_queue_add(ctx->queue, &l->begun.job);
    return TW_OK;
}

tw_status tw_launch_begin(tw_launch *l, void (*done)(void *user, tw_launch *l, tw_status status),
                          void *user)
{
    tw_status status = launch_needs_host(l, "tw_launch_begin: the kernel is a GPU's: "
                                            "tw_launch_start does not wait either");
    if (status != TW_OK)
        return status;
    if (l->begun.variant && platform_job_waiting(l->ctx->queue, &l->begun.job))
        return context_refuse(l->ctx, "tw_launch_begin: the launch is under way: tw_launch_wait "
                                      "for it first, or make another of the same kernel");
    l->begun.variant = NULL;
    l->begun.done = done;
    l->begun.user = user;
    return context_call(l->ctx, begin_call, l);
}

static tw_status wait_call(void *user)
{
    tw_launch *l = user;
    if (!l->begun.variant)
        return TW_OK;
    launch_settle(l);
    l->begun.variant = NULL;
    return host_outcome(l->ctx, l->begun.kind, &l->begun.fault);
}

tw_status tw_launch_wait(tw_launch *l)
{
    return l ? context_call(l->ctx, wait_call, l) : TW_BAD_ARGUMENT;
}
