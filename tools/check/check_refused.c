/* Configurations that the CPU engine runs but a GPU target refuses: too many registers, too much
 * shared memory, missing instructions. -v and --json report each target. A default configuration
 * that both simulated targets refuse is simulated for another one, with a warning. One
 * that every target refuses gets a warning, because such a kernel runs on no GPU. It is an error if the
 * kernel's head names the target, or if parameters are beyond the limit of all GPUs. */
#include "check/check.h"
#include "tilewright_look.h"

#include <stdlib.h>
#include <string.h>

static struct check_default *default_at_hand(struct check *c)
{
    if (!space_is_default(&c->space))
        return NULL;
    int types = space_types(&c->space);
    for (int i = 0; i < c->default_count; i++)
        if (c->defaults[i].types == types)
            return &c->defaults[i];
    NEED_ROOM(c->defaults, c->default_count);
    c->defaults[c->default_count] = (struct check_default){.types = types};
    return &c->defaults[c->default_count++];
}

void check_target_takes(struct check *c)
{
    struct check_default *d = default_at_hand(c);
    if (d)
        d->taken = true;
}

void check_target_refuses(struct check *c, const char *sizes, bool of_sizes)
{
    const tw_context *ctx = c->program->ctx;
    tw_message m = tw_message_init();
    if (!tw_context_message(ctx, 0, &m))
        return;
    char *where = sizes ? need_text("%s", sizes) : space_text(&c->space);
    char *line = need_text("%s does not take it: %s", tw_kernel_target(c->kernel), m.text);
    remarks_add(&c->not_simulated, line, where);
    struct check_default *d = default_at_hand(c);
    if (d && !d->only) {
        findings_free(&d->refusal);
        findings_take(&d->refusal, ctx, c->name, NULL, where);
        d->of_sizes = of_sizes;
    }
    free(where);
}

/* Returns whether the default configuration of the types compiles for the target. */
static bool compiles_for(struct check *c, const char *target, int types)
{
    tw_kernel *kernel;
    tw_launch *launch = NULL;
    struct space space = {0};
    const char *ptx;
    bool compiles = false;
    if (tw_kernel_for_target(c->kernel, target, &kernel) == TW_OK &&
        tw_launch_new(kernel, &launch) == TW_OK &&
        apply_settings(launch, kernel, c->program, c->given, true) == STATUS_OK &&
        space_open(&space, kernel, c->given) == STATUS_OK)
        for (bool more = space_next(&space, true); more && !compiles;
             more = space_next(&space, false))
            compiles = space_is_default(&space) && space_types(&space) == types &&
                       space_apply(&space, launch) == TW_OK &&
                       tw_launch_show_stage(launch, TW_STAGE_PTX, &ptx) == TW_OK;
    space_close(&space);
    tw_launch_free(launch);
    return compiles;
}

/* From the CUDA C++ Programming Guide, "__global__ Function Parameters". The limit is the same
 * on all GPUs, so exceeding it is a mistake, not the sign of a kernel for the CPU alone. */
enum { MOST_PARAMETER_BYTES = 32764 };

static size_t parameter_bytes(tw_kernel *k)
{
    size_t bytes = 0;
    tw_param p = tw_param_init();
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++) {
        size_t size = p.is_pointer ? 8 : p.dtype == TW_DTYPE_NONE ? 1 : tw_dtype_size(p.dtype);
        if (!p.is_static)
            bytes = (bytes + size - 1) / size * size + size;
    }
    return bytes;
}

const char *check_other_target(struct check *c)
{
    const char *other = NULL;
    for (int i = 0; i < c->default_count; i++) {
        struct check_default *d = &c->defaults[i];
        if (d->taken || d->of_sizes || !d->refusal.count)
            continue;
        const char *target;
        for (int t = 1; !d->only && (target = tw_target_at(t)); t++) /* 0: the CPU */
            d->only = compiles_for(c, target, d->types) ? target : NULL;
        other = other ? other : d->only;
    }
    return other;
}

void check_warn_of_refused(struct check *c, bool names_target)
{
    for (int i = 0; i < c->default_count; i++) {
        struct check_default *d = &c->defaults[i];
        if (!d->refusal.count || (d->only ? !d->taken : d->taken || (d->of_sizes && !names_target)))
            continue;
        bool never =
            !d->only && (names_target || parameter_bytes(c->kernel) > MOST_PARAMETER_BYTES);
        char *before = d->only ? need_text("simulated for %s alone: ", d->only)
                               : need_text("no GPU takes %s simulated: ",
                                           d->of_sizes ? "these sizes, and they are not"
                                                       : "this, and it is not");
        c->warned_of_refused = true;
        findings_again(&c->findings, &d->refusal.list[0], never ? TW_ERROR : TW_WARNING, before);
        free(before);
        if (never)
            check_worse(c, STATUS_USAGE, TW_BAD_PROGRAM);
    }
}

void check_forget_refused(struct check *c)
{
    for (int i = 0; i < c->default_count; i++)
        findings_free(&c->defaults[i].refusal);
    free(c->defaults);
    remarks_free(&c->not_simulated);
    c->defaults = NULL;
    c->default_count = 0;
}
