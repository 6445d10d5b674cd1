/* Derived parameters: the launch computes `i32 oh = (h + 2 * pad - r) / stride + 1`; and what it
 * knows of its device. */
#include "api/objects.h"

#include "target/gpus.h"

#include <inttypes.h>
#include <string.h>

/* Returns true if the launch knows all parameters that e needs. */
static bool is_known(const tw_launch *l, const struct expr *e, bool statics_alone)
{
    int p = e->op == OP_REF && e->sym->storage == ST_PARAM ? e->sym->index : -1;
    bool known =
        p < 0 || (l->choice.known[p] && (!statics_alone || l->kernel->info->params[p].is_static));
    for (int i = 0; i < e->count && known; i++)
        known = is_known(l, e->args[i], statics_alone);
    return known;
}

static void add_values(tw_launch *l, struct text *out, const struct expr *e, bool *named)
{
    if (e->op == OP_REF && e->sym->storage == ST_PARAM && !named[e->sym->index]) {
        named[e->sym->index] = true;
        text_printf(out, "%s%s = ", out->length ? ", " : " with ", e->sym->name);
        resolve_add_literal(out, l->choice.values[e->sym->index]);
    }
    for (int i = 0; i < e->count; i++)
        add_values(l, out, e->args[i], named);
}

const char *derive_values_text(tw_launch *l, const struct expr *e)
{
    struct text out;
    text_init(&out, &l->ctx->scratch);
    add_values(l, &out, e, arena_array(&l->ctx->scratch, bool, l->kernel->info->param_count));
    return out.length ? out.data : "";
}

/* Computes the value from inputs that are all known. Returns false after a report. */
static bool compute(tw_launch *l, const struct lang_param *param, int64_t *out)
{
    struct arena *a = &l->ctx->scratch;
    struct diag *d = &l->ctx->diag;
    const struct lang_kernel *info = l->kernel->info;
    struct derived_param *params = arena_array(a, struct derived_param, info->param_count);
    struct launch_sizes s;
    struct size_fault fault;
    uint64_t *values = arena_array(a, uint64_t, info->param_count);
    int number = (int)(param - info->params);
    memcpy(values, l->size_values, (size_t)info->param_count * sizeof *values);
    params[number] = (struct derived_param){param->dtype, param->derived};
    launch_derived_compile(&s, a, params, info->param_count);
    if (launch_derived_run(&s, values, &fault)) {
        *out = (int64_t)values[number];
        return true;
    }
    const struct expr *e = size_fault_place(&s, &fault);
    bool is_all = e == param->derived && dtype_size(param->dtype) < 8;
    if (fault.error == SIZE_OVERFLOWS)
        diag_error(d, e->loc, "%s", size_fault_text(a, &s, &fault, is_all ? param->name : NULL));
    else
        diag_error(d, e->loc, "%s%s", size_fault_text(a, &s, &fault, NULL),
                   derive_values_text(l, e));
    return false;
}

void launch_derive(tw_launch *l, int p, bool statics_alone)
{
    const struct lang_param *param = &l->kernel->info->params[p];
    const tw_value *given = &l->values[p];
    int64_t value;
    if (!is_known(l, param->derived, statics_alone)) {
        if (l->value_set[p])
            launch_take_value(l, p, *given);
        return;
    }
    if (!compute(l, param, &value))
        return;
    l->choice.known[p] = true;
    launch_keep_value(l, p, (struct literal){.i = value});
    if (l->value_set[p] && (given->kind == TW_FLOAT || given->i != value))
        diag_error(&l->ctx->diag, param->loc,
                   "`%s` is set to %" PRId64 ", but it is %" PRId64 " (`%s`%s): leave it out",
                   param->name, given->i, value, param->derived_text,
                   derive_values_text(l, param->derived));
}

/* --- numbers of the device --- */

static int64_t clusters_of(int64_t processors, int cluster)
{
    return processors > cluster ? processors / cluster : 1;
}

int64_t host_processors(const tw_kernel *k, int cluster)
{
    return clusters_of(k->module->ctx->parallel.threads, cluster);
}

/* Returns the number of multiprocessors. Without a GPU that runs the target, it is that of one in the
 * model's table. */
static int multiprocessors(const tw_kernel *k, const struct cuda_device *here)
{
    if (here)
        return here->multiprocessors;
    for (int i = 0; target_gpu_at(i); i++)
        if (target_runs_on(k->device, target_gpu_at(i)->capability))
            return target_gpu_at(i)->multiprocessors;
    return target_gpu_at(0)->multiprocessors;
}

/* A cluster's blocks run in one part of the GPU, whose number of multiprocessors need not be a multiple
 * of them. So without an answer of the driver the result may be too large. */
int64_t gpu_processors(const tw_kernel *k, int cluster)
{
    const struct cuda_device *here = context_look(k->module->ctx, k->device);
    int found = cluster > 1 && here ? context_clusters(k->module->ctx, cluster) : 0;
    return found ? found : clusters_of(multiprocessors(k, here), cluster);
}

int launch_cluster_blocks(const tw_launch *l)
{
    const struct choice *c = &l->choice;
    struct lang_choice choice = {l->kernel->target, c->tunes, c->types, c->values, c->known, false};
    return lang_cluster_blocks(&l->ctx->scratch, l->kernel->module->parsed, l->kernel->index,
                               &choice);
}

int64_t launch_device_number(const tw_launch *l, int p)
{
    const struct lang_kernel *info = l->kernel->info;
    int cluster = info->params[p].device == DEVICE_CLUSTERS ? launch_cluster_blocks(l) : 1;
    if (lang_follows_sms(info, p) && l->value_set[p - 1] && l->choice.known[p - 1])
        return clusters_of(l->choice.values[p - 1].i, cluster);
    return l->kernel->executor->processors(l->kernel, cluster);
}
