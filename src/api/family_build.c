/* Families in builds: the chosen variants as versions of one function, and the table by which it
 * chooses.
 *
 *   choose variants       family_ship.c
 *   compile each of them  family_versions.c; one that is refused is left out, and the choice starts
 *                         again
 *   add the table         sizes, and the order of the variants there */
#include "api/family_build.h"
#include "target/gpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_VARIANTS = 8, MOST_VARIANTS = 64 };

/* --- the arguments --- */

static tw_status refuse_range(struct diag *d, const tw_family *f, const tw_size_range *r)
{
    diag_error(d, LOC_NONE, "the family `%s` has no integer parameter `%s`", f->name, r->param);
    return TW_BAD_ARGUMENT;
}

static bool is_integer(const struct lang_kernel *info, const char *name)
{
    for (int p = 0; p < info->param_count; p++)
        if (strcmp(info->params[p].name, name) == 0)
            return !info->params[p].is_pointer && info->params[p].type_variable < 0 &&
                   dtype_is_int(info->params[p].dtype);
    return false;
}

static tw_status check_sets(const struct family_build *c)
{
    const tw_family *f = c->family;
    struct diag *d = &f->ctx->diag;
    for (int i = 0; i < c->how.set_count; i++)
        for (int r = 0; r < c->how.sets[i].count; r++) {
            const tw_size_range *range = &c->how.sets[i].ranges[r];
            if (!is_integer(f->members[0].kernel->info, range->param))
                return refuse_range(d, f, range);
            if (range->least > range->most) {
                diag_error(d, LOC_NONE, "no value of `%s` is at least %lld and at most %lld",
                           range->param, (long long)range->least, (long long)range->most);
                return TW_BAD_ARGUMENT;
            }
        }
    return TW_OK;
}

/* Checks the arguments and names the function. */
static tw_status begin_call(void *user)
{
    struct family_build *c = user;
    tw_family *f = c->family;
    struct arena *a = &c->build->arena;
    int variants = c->how.variants ? c->how.variants : USUAL_VARIANTS;
    if (variants < 1 || variants > MOST_VARIANTS) {
        diag_error(&f->ctx->diag, LOC_NONE, "%d variants: expected 1 to %d", variants,
                   MOST_VARIANTS);
        return TW_BAD_ARGUMENT;
    }
    tw_status status = check_sets(c);
    const struct lang_kernel *info = f->members[0].kernel->info;
    enum dtype *types = arena_array(a, enum dtype, info->type_count + 1);
    for (int t = 0; t < info->type_count; t++)
        types[t] = (enum dtype)f->types[t];
    c->function.name = f->name;
    c->function.file = f->source.name ? f->source.name : f->members[0].path;
    ahead_build_types(a, info, types, &c->function.types, &c->function.suffix);
    c->ship = (struct family_ship){.family = f,
                                   .arena = a,
                                   .sets = c->how.sets,
                                   .set_count = c->how.set_count,
                                   .most = variants};
    return status;
}

/* --- all variants --- */

static tw_status choose_call(void *user)
{
    struct family_build *c = user;
    family_ship(&c->ship);
    return TW_OK;
}

/* Returns true if a set of the caller's, or none, gives all values that the kernel has compiled in. */
static bool has_values(const struct family_build *c, const struct lang_kernel *info)
{
    bool has = false;
    for (int i = -1; i < c->how.set_count; i++)
        has = has || family_ship_set_serves(&c->ship, info, i);
    return has;
}

struct refused_call {
    struct family_build *build;
    const char *variant;
    char why[512];
};

static tw_status leave_out(void *user)
{
    struct refused_call *r = user;
    struct arena *a = &r->build->build->arena;
    struct left_out *l = arena_new(a, struct left_out);
    *l = (struct left_out){r->build->left_out, arena_string(a, r->variant, strlen(r->variant)),
                           arena_string(a, r->why, strlen(r->why))};
    r->build->left_out = l;
    return TW_OK;
}

/* Copies the first message of the context's latest call. */
static void take_message(const tw_context *ctx, char *text, size_t bytes)
{
    tw_message m = tw_message_init();
    if (tw_context_message(ctx, 0, &m))
        snprintf(text, bytes, "%s", m.text);
}

/* Estimates the members, by which the model chooses. */
static tw_status estimate_members(struct family_build *c)
{
    tw_family *f = c->family;
    tw_status status = TW_OK;
    for (int m = 0; m < f->member_count && !f->view.group; m++) {
        const struct lang_kernel *info = f->members[m].kernel->info;
        struct family_sizes sizes = {0};
        if (f->members[m].refused || !family_takes(f, m) || !has_values(c, info))
            continue;
        for (int i = 0; i < f->size_count; i++)
            sizes.size[i] = family_ship_usual_size(&c->ship, info, i);
        family_derive(f, &sizes);
        status = family_estimate(f, m, &sizes);
        if (status == TW_NO_MEMORY || status == TW_CANCELLED)
            return status;
        if (status == TW_OK)
            continue;
        struct refused_call r = {c, info->name, ""};
        take_message(f->own, r.why, sizeof r.why);
        status = context_call(f->ctx, leave_out, &r); /* it has the build's arena */
        if (status != TW_OK)
            return status;
    }
    return TW_OK;
}

/* Leaves the variant out if it was refused. Returns the status: TW_OK if it was. */
static tw_status take_refusal(struct family_build *c, struct family_variant *v, tw_status status)
{
    tw_context *ctx = c->family->ctx;
    struct refused_call r = {c, v->name, ""};
    bool not_here = status == TW_UNSUPPORTED && !c->family->executor->lowers;
    if (status != TW_BAD_PROGRAM && status != TW_UNSYNCHRONISED && !not_here)
        return status;
    v->refused = true;
    take_message(ctx, r.why, sizeof r.why);
    return context_call(ctx, leave_out, &r);
}

/* Compiles each chosen variant once, then all of their versions. Returns false if one was refused and
 * left out, or an error came, in *status. */
static bool add_chosen(struct family_build *c, tw_status *status)
{
    const struct family_ship *s = &c->ship;
    *status = TW_OK;
    for (int step = 0; step < 2; step++)
        for (int i = 0; i < s->chosen_count; i++) {
            struct family_variant *v = s->variants[s->chosen[i]];
            if (step == 0 && !v->accepted)
                *status = family_try_variant(c, i);
            else if (step == 1)
                *status = family_add_variant(c, i);
            v->accepted = *status == TW_OK;
            if (*status == TW_OK)
                continue;
            *status = take_refusal(c, v, *status);
            return false;
        }
    return true;
}

/* --- the end --- */

static void add_table(struct family_build *c)
{
    const struct family_ship *s = &c->ship;
    const tw_family *f = c->family;
    struct arena *scratch = &f->ctx->scratch;
    const char **variants = arena_array(scratch, const char *, s->chosen_count);
    struct aot_point *points = arena_array(scratch, struct aot_point, s->points.list.count);
    for (int i = 0; i < s->chosen_count; i++)
        variants[i] = s->variants[s->chosen[i]]->name;
    for (size_t i = 0; i < s->points.list.count; i++)
        points[i] = (struct aot_point){s->points.list.data[i].sizes, s->points.list.data[i].order};
    const struct aot_given_table table = {
        .family = c->function.name,
        .file = c->function.file,
        .types = c->function.types,
        .target = f->members[0].kernel->asked ? f->members[0].kernel->asked : aot_cpu,
        .device = f->view.group ? f->view.group->device : NULL,
        .measured = f->view.table.row_count,
        .size_count = f->size_count,
        .sizes = f->size_param,
        .variant_count = s->chosen_count,
        .variants = variants,
        .compared = s->buildable,
        .mean = s->measured ? s->mean : 0,
        .point_count = (int)s->points.list.count,
        .points = points,
    };
    aot_add_table(&c->build->build, &table);
}

/* Says by whose results the function chooses, unless they are those of the device that was asked. */
static void warn_of_results(const struct family_build *c)
{
    const tw_family *f = c->family;
    struct diag *d = &f->ctx->diag;
    const char *device = f->device ? f->device : f->members[0].kernel->target;
    const char *types = c->function.types;
    const char *with = *types ? arena_printf(&f->ctx->scratch, " with %s", types) : "";
    const char *by =
        f->view.of_twins ? arena_printf(&f->ctx->scratch, " with %s", f->view.group->types) : "";
    const struct gpu *gpu = f->view.group ? target_gpu_find(f->view.group->device) : NULL;
    if (!f->view.group && !f->executor->has_model)
        diag_warning(d, LOC_NONE,
                     "there are no results of the family `%s`%s for a CPU: the first kernel that "
                     "takes the sizes runs, with its default values (`tilewright tune` measures "
                     "others)",
                     f->name, with);
    else if (!f->view.group)
        diag_warning(d, LOC_NONE,
                     "there are no results of the family `%s`%s: the model chooses among the "
                     "default values of its kernels, at powers of two of the sizes",
                     f->name, with);
    else if (*by || (f->device ? !f->view.is_own : !gpu || gpu->capability != f->capability))
        diag_warning(d, LOC_NONE,
                     "there are no results of the family `%s`%s for %s: those of %s%s choose",
                     f->name, with, device, f->view.group->device, by);
    if (f->view.group && c->how.set_count && c->ship.measured == 0)
        diag_warning(d, LOC_NONE,
                     "no sizes of --set were measured: the choice among the variants of `%s` is "
                     "predicted from the nearest ones",
                     f->name);
}

static void warn_of_left_out(const struct family_build *c)
{
    const tw_family *f = c->family;
    struct diag *d = &f->ctx->diag;
    for (int m = 0; m < f->member_count; m++) {
        const struct lang_kernel *info = f->members[m].kernel->info;
        if (!has_values(c, info))
            diag_warning(d, info->loc,
                         "`%s` is left out: it has static parameters, and no set of sizes has a "
                         "value for each",
                         info->name);
    }
    for (const struct left_out *l = c->left_out; l; l = l->next)
        diag_warning(d, LOC_NONE, "`%s` is left out: %s", l->variant, l->why);
}

/* Reports that no variant can be built. warn_of_left_out adds the reasons. */
static void report_none(const struct family_build *c)
{
    const tw_family *f = c->family;
    bool asks = false;
    for (int m = 0; m < f->member_count; m++)
        asks = asks || !has_values(c, f->members[m].kernel->info);
    diag_error(&f->ctx->diag, LOC_NONE, "no kernel of the family `%s` can be built for %s%s",
               f->name, f->members[0].kernel->target,
               asks ? "; give each static parameter a value by a set of sizes "
                      "(`tilewright build FAMILY --set NAME=VALUE`)"
                    : "");
}

static tw_status end_call(void *user)
{
    struct family_build *c = user;
    if (c->ship.chosen_count == 0)
        report_none(c);
    else
        add_table(c);
    if (c->ship.chosen_count)
        warn_of_results(c);
    warn_of_left_out(c);
    return c->ship.chosen_count ? TW_OK : TW_BAD_PROGRAM;
}

/* --- the call --- */

struct own_failure {
    tw_context *ctx;
    const tw_family *family;
    tw_status status;
};

/* Reports the failure of a call on the own context in the caller's. */
static tw_status pass_on(void *user)
{
    const struct own_failure *f = user;
    bool says = f->family->own && f->status != TW_NO_MEMORY;
    const char *why = says ? f->family->own->rendered : tw_status_text(f->status);
    diag_error(&f->ctx->diag, LOC_NONE, "the family `%s` cannot choose: %s", f->family->name, why);
    return f->status;
}

static tw_status build_locked(struct family_build *c)
{
    tw_family *f = c->family;
    tw_status status = context_call(f->ctx, begin_call, c);
    if (status != TW_OK)
        return status;
    status = family_open_own(f);
    if (status == TW_OK)
        status = family_make_view(f);
    if (status == TW_OK && !f->view.group && !f->device)
        f->device = c->usual; /* for the model */
    if (status == TW_OK)
        status = estimate_members(c);
    if (status != TW_OK)
        return context_call(f->ctx, pass_on, &(struct own_failure){f->ctx, f, status});
    do
        status = context_call(f->ctx, choose_call, c);
    while (status == TW_OK && !add_chosen(c, &status) && status == TW_OK);
    return status == TW_OK ? context_call(f->ctx, end_call, c) : status;
}

/* Forgets the GPU that is here, because a build for GPUs does not depend on the machine that makes
 * it. Takes the number of multiprocessors of the first GPU of the model's table that the target is for.
 * Returns the name of that GPU; NULL: there is none. */
static const char *take_usual_device(tw_family *f, int capability)
{
    const struct gpu *gpu;
    int i = 0;
    while ((gpu = target_gpu_at(i)) && gpu->capability != capability)
        i++;
    f->device = NULL;
    f->capability = capability;
    f->multiprocessors = gpu ? gpu->multiprocessors : 0;
    f->has_view = false;
    return gpu ? gpu->name : NULL;
}

tw_status tw_build_family(tw_build *b, tw_family *f, const tw_shipment *shipment)
{
    REFUSE_IF(b, b->ctx, !f || f->ctx != b->ctx,
              "tw_build_family: `f` is NULL or of another context");
    struct family_build c = {.build = b, .family = f};
    tw_status status = shipment ? READ_SIZED(b->ctx, tw_shipment, &c.how, shipment) : TW_OK;
    if (status != TW_OK)
        return status;
    platform_lock(f->lock);
    const char *device = f->device;
    int capability = f->capability, multiprocessors = f->multiprocessors;
    if (f->executor->lowers && !f->is_named)
        c.usual = take_usual_device(f, f->members[0].kernel->device->ptx.number);
    status = build_locked(&c);
    f->has_view = false;
    f->device = device;
    f->capability = capability;
    f->multiprocessors = multiprocessors;
    platform_unlock(f->lock);
    return status;
}
