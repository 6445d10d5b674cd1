/* The choice of a variant for given sizes, under the family's lock.
 *
 *   results of the own device  the fastest at these sizes, else as predicted from the nearest
 *   those of another device,   the same; its variants may be too large for this one, so each is
 *   or with f16 for bf16       compiled up to the assembler before it is taken for the first time
 *   none                       the members with their default values, by the model, or by occupancy
 *                              on a GPU that the model does not know */
#include "api/family.h"
#include "api/launch_params.h"

#include "target/gpus.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the results for the family's types --- */

/* Returns the number before " core" in the description of a CPU; 0: it is a GPU's name. */
static int cores_of(const char *device)
{
    const char *end = strstr(device, " core"), *at = end;
    while (at && at > device && text_is_digit(at[-1]))
        at--;
    return at && at < end ? atoi(at) : 0;
}

/* The differences are of 10 for another kind of processor, and the octaves between the numbers of
 * processors. */
double host_difference(const tw_family *f, const char *device)
{
    int cores = cores_of(device), own = f->device ? cores_of(f->device) : 0;
    const char *routines = strrchr(device, ','),
               *own_routines = f->device ? strrchr(f->device, ',') : NULL;
    bool same = routines && own_routines && strcmp(routines, own_routines) == 0;
    if (cores <= 0)
        return -1;
    return (own ? fabs(log2((double)cores / own)) : 0) + (same ? 0 : 10);
}

double gpu_difference(const tw_family *f, const char *device)
{
    const struct gpu *other = target_gpu_find(device);
    if (cores_of(device) > 0)
        return -1;
    if (!other)
        return 20;
    return (f->multiprocessors ? fabs(log2((double)other->multiprocessors / f->multiprocessors))
                               : 0) +
           (other->capability == f->capability ? 0 : 10);
}

/* Returns the results of the family's types to choose by: the own device's, else those of the most
 * similar one; NULL: there are none. twins: as for family_is_of_types. */
static const struct family_group *group_for(const tw_family *f, bool twins, bool *is_own)
{
    const struct family_group *best = NULL;
    double least = 0;
    *is_own = false;
    for (const struct family_group *g = f->groups; g; g = g->next) {
        if (!family_is_of_types(f, g->types, twins) || g->rows.count == 0)
            continue;
        *is_own = f->device && strcmp(g->device, f->device) == 0;
        if (*is_own)
            return g;
        double d = f->executor->difference(f, g->device);
        if (d < 0 || (best && d >= least))
            continue;
        best = g;
        least = d;
    }
    return best;
}

/* Takes the results with f16 for bf16 only if they are nearer than those of the types. */
static void find_group(tw_family *f)
{
    struct family_view *view = &f->view;
    bool is_own = false;
    view->group = group_for(f, false, &view->is_own);
    if (view->is_own || !f->executor->has_model)
        return;
    const struct family_group *twins = group_for(f, true, &is_own);
    if (twins && (is_own || !view->group) && twins != view->group) {
        view->group = twins;
        view->is_own = is_own;
        view->of_twins = true;
    }
}

/* Compiles the grid of a variant and, for a GPU that the model knows, its program. Tuned values
 * that it does not name have their defaults. */
static void compile_variant(tw_family *f, struct family_variant *v, struct arena *a)
{
    const tw_kernel *k = f->members[v->member].own;
    const struct lang_kernel *info = k->info;
    struct arena *scratch = &f->own->scratch;
    struct literal *tunes = arena_array(scratch, struct literal, info->tune_count + 1);
    struct stored_value *values = arena_array(scratch, struct stored_value, info->tune_count);
    enum dtype *types = arena_array(scratch, enum dtype, info->type_count + 1);
    struct diag quiet;
    diag_init(&quiet, scratch);
    v->has_grid = false;
    v->copied = (struct copied_views){.count = 0};
    v->program = NULL;
    for (int t = 0; t < info->type_count; t++) {
        int own = family_type_named(f->members[0].kernel->info, info->types[t].name);
        types[t] = own < 0 ? info->types[t].choices[0] : (enum dtype)f->types[own];
    }
    if (!lang_default_tunes(scratch, &quiet, k->module->parsed, k->index, k->target, tunes) ||
        !tunes_read(info, v->tune, values))
        return;
    for (int t = 0; t < info->tune_count; t++)
        if (values[t].given)
            tunes[t] = values[t].value;
    const struct lang_choice choice = {.target = k->target, .tunes = tunes, .types = types};
    const struct kernel *grid = lang_grid(a, &quiet, k->module->parsed, k->index, &choice);
    v->has_grid = grid != NULL;
    if (!grid)
        return;
    launch_sizes_compile(&v->grid, a, grid);
    v->cluster = kernel_cluster_blocks(grid);
    struct kernel *ir =
        k->executor->has_model ? lang_check(a, &quiet, k->module->parsed, k->index, &choice) : NULL;
    if (!ir || quiet.errors)
        return;
    v->program = block_program_new(a, ir);
    launch_copied_views_find(&v->copied, a, ir);
}

/* Returns the number of blocks; 0: it is not known; negative: no GPU takes this grid, or the copy engine
 * does not take a view at these sizes. */
static int64_t blocks_of(const tw_family *f, const struct family_variant *v,
                         const struct family_sizes *s)
{
    uint64_t values[ENTRY_PARAMS];
    int64_t grid[3], blocks = 1;
    if (!v->has_grid)
        return 0;
    family_values(f, v, s, f->multiprocessors, values);
    if (s->underivable || !launch_sizes_run(&v->grid, values, grid) ||
        !launch_copied_views_fit(&v->copied, values))
        return -1;
    for (int i = 0; i < 3; i++)
        if (grid[i] < 0 || __builtin_mul_overflow(blocks, grid[i], &blocks))
            return -1;
    return blocks;
}

static struct family_variant *variant_at(const tw_family *f, int column)
{
    return f->variants.data[f->view.group->columns.data[column]];
}

static void view_rows(tw_family *f, const struct family_group *g)
{
    struct arena *a = &f->viewed;
    int columns = (int)g->columns.count, rows = (int)g->rows.count;
    struct predict_row *list = arena_array(a, struct predict_row, rows);
    for (int r = 0; r < rows; r++) {
        const struct family_row *from = &g->rows.data[r];
        float *us = arena_array(a, float, columns);
        memcpy(us, from->us.data, from->us.count * sizeof *us);
        list[r] = (struct predict_row){.sizes = from->sizes, .us = us};
    }
    f->view.table = (struct predict_table){
        .size_count = f->size_count, .variant_count = columns, .row_count = rows, .rows = list};
}

/* Compiles the variants, and computes their times by the model at the sizes of the rows. */
static void view_facts(tw_family *f, const struct family_group *g)
{
    struct arena *a = &f->viewed;
    const struct gpu *measured = target_gpu_find(g->device);
    int columns = (int)g->columns.count, rows = (int)g->rows.count;
    f->view.facts = arena_array(a, struct predict_facts, columns + 1);
    for (int c = 0; c < columns; c++) {
        struct family_variant *v = variant_at(f, c);
        double *models = arena_array(a, double, rows);
        compile_variant(f, v, a);
        for (int r = 0; r < rows; r++) {
            struct family_sizes s = {0};
            memcpy(s.size, g->rows.data[r].sizes, (size_t)f->size_count * sizeof *s.size);
            family_derive(f, &s);
            models[r] = family_model_time(f, v, &s, measured, g->resident.data[c]);
        }
        f->view.facts[c].models = models;
    }
}

static tw_status make_view(void *user)
{
    tw_family *f = user;
    arena_free(&f->viewed);
    f->view = (struct family_view){0};
    find_group(f);
    if (f->view.group) {
        view_rows(f, f->view.group);
        view_facts(f, f->view.group);
    }
    for (int i = 0; i < f->member_count; i++) {
        f->members[i].estimated = f->members[i].listed_compiled = false;
        f->members[i].refused = f->members[i].varies = f->same_bits && family_varies(f, i);
        if (f->members[i].plain)
            f->members[i].plain->accepted = f->members[i].plain->refused = false;
    }
    for (size_t i = 0; i < f->variants.count; i++) {
        f->variants.data[i]->accepted = false;
        f->variants.data[i]->refused = f->members[f->variants.data[i]->member].refused;
    }
    f->refusal = (tw_error){.size = sizeof f->refusal};
    f->has_view = true;
    return TW_OK;
}

static bool has_statics(const struct lang_kernel *info)
{
    bool found = false;
    for (int p = 0; p < info->param_count && !found; p++)
        found = info->params[p].is_static;
    return found;
}

void family_forget_refusals(tw_family *f)
{
    bool forgot = false;
    for (int i = 0; i < f->member_count && f->has_view; i++) {
        struct family_member *m = &f->members[i];
        if (!has_statics(m->kernel->info))
            continue;
        m->refused = m->varies;
        if (m->plain)
            m->plain->refused = m->varies;
        for (int v = 0; v < m->listed_count; v++)
            m->listed[v].refused = false;
        for (size_t v = 0; v < f->variants.count; v++)
            if (f->variants.data[v]->member == i)
                f->variants.data[v]->refused = m->varies;
        forgot = true;
    }
    if (forgot)
        f->refusal = (tw_error){.size = sizeof f->refusal};
}

/* --- launches of the own context --- */

struct own_launch {
    tw_family *family;
    int member;
    const char *tune;
    const struct family_sizes *sizes;
    tw_launch *launch;
};

/* Sets all scalars: sizes as asked, others to a value that every type has. */
static tw_status set_scalars(void *user)
{
    const struct own_launch *o = user;
    tw_launch *l = o->launch;
    const struct lang_kernel *info = l->kernel->info;
    tw_status status = family_set_up(o->family, l, o->tune);
    for (int p = 0; p < info->param_count; p++) {
        const struct lang_param *param = &info->params[p];
        bool is_float = param->type_variable >= 0 ? dtype_is_float(l->types[param->type_variable])
                                                  : dtype_is_float(param->dtype);
        if (param->is_pointer || param->derived || param->has_value || param->has_default)
            continue;
        l->values[p] = is_float ? tw_float(1) : tw_int(1);
        l->value_set[p] = true;
    }
    for (int i = 0; i < o->family->size_count; i++) {
        int p = o->family->size_param[i];
        l->values[p] = tw_int(o->sizes->size[i]);
        l->value_set[p] = true;
    }
    return status;
}

/* Estimates a variant for these sizes. */
static tw_status estimate(tw_family *f, int member, const char *tune, const struct family_sizes *s,
                          tw_launch **l, tw_estimate *e)
{
    struct own_launch o = {f, member, tune, s, NULL};
    tw_status status = tw_launch_new(f->members[member].own, &o.launch);
    *l = o.launch;
    if (status == TW_OK)
        status = context_call(f->own, set_scalars, &o);
    if (status == TW_OK)
        status = tw_launch_estimate(o.launch, f->multiprocessors, e);
    return status;
}

/* Keeps the reason of a refusal, which is the latest message of the own context. Returns true if
 * the status is one. */
static bool note_refusal(tw_family *f, tw_status status)
{
    tw_error error = tw_error_init();
    if (!family_is_refusal(status))
        return false;
    family_fill_error(f, status, &error);
    family_note_refusal(f, &error);
    return true;
}

/* Returns true if the target takes the variant. Other errors than a refusal come back in *status. */
static bool accepts(tw_family *f, struct family_variant *v, const struct family_sizes *s,
                    tw_status *status)
{
    tw_launch *l;
    tw_estimate e = tw_estimate_init();
    if (v->accepted)
        return true;
    *status = estimate(f, v->member, v->tune, s, &l, &e);
    tw_launch_free(l);
    v->accepted = *status == TW_OK;
    v->refused = note_refusal(f, *status);
    return v->accepted;
}

/* --- by results --- */

void family_mark(tw_family *f, const struct family_sizes *s, const int *asked)
{
    struct family_view *view = &f->view;
    const struct gpu *gpu = f->device ? target_gpu_find(f->device) : NULL;
    if (!gpu)
        gpu = target_gpu_find(view->group->device);
    for (int c = 0; c < view->table.variant_count; c++) {
        const struct family_variant *v = variant_at(f, c);
        struct predict_facts *facts = &view->facts[c];
        facts->usable = (!asked || asked[c] >= 0) && !v->refused && blocks_of(f, v, s) >= 0 &&
                        family_takes(f, v->member);
        facts->model =
            !facts->usable ? 0 : family_model_time(f, v, s, gpu, view->group->resident.data[c]);
    }
}

static void fill(const tw_family *f, const struct family_variant *v, tw_choice *out)
{
    out->kernel = f->members[v->member].kernel;
    out->variant = v->name;
    out->tune = v->tune;
}

static bool has_results(const tw_family *f, int member)
{
    bool found = false;
    for (int c = 0; c < f->view.table.variant_count && !found; c++)
        found = variant_at(f, c)->member == member;
    return found;
}

/* The part by which the model's time of a kernel without results must be less than a time from
 * results: the model is not exact. */
static const double model_margin = 1.3;

/* The same for a listed value compared with the default of the same kernel, which its author chose. */
static const double listed_margin = 1.1;

/* Writes the kernel's tuned values: row `row` of the names declared together as `group`, the default of the others. */
static const char *listed_values(struct arena *a, const struct lang_kernel *info, int group,
                                 int row)
{
    struct text out;
    text_init(&out, a);
    for (int t = 0; t < info->tune_count; t++) {
        const struct lang_tune *tune = &info->tunes[t];
        text_printf(&out, "%s%s=", t ? "," : "", tune->name);
        resolve_add_literal(&out, tune->values[tune->group == group ? row : 0]);
    }
    return out.data;
}

struct list_call {
    tw_family *family;
    int member;
};

/* Makes the variants with a listed value, or row of values, other than the default, and compiles them for the view. */
static tw_status list_variants(void *user)
{
    const struct list_call *c = user;
    tw_family *f = c->family;
    struct family_member *m = &f->members[c->member];
    const struct lang_kernel *info = m->kernel->info;
    bool made = m->listed != NULL;
    int rows = 1;
    for (int t = 0; t < info->tune_count; t++)
        rows += info->tunes[t].count;
    if (!made)
        m->listed = arena_array(&f->kept, struct family_variant, rows);
    for (int t = 0; t < info->tune_count && !made; t++) {
        const struct lang_tune *tune = &info->tunes[t];
        if (t > 0 && tune->group == info->tunes[t - 1].group)
            continue;
        for (int row = 1; row < tune->count; row++) {
            const char *values = listed_values(&f->kept, info, tune->group, row);
            m->listed[m->listed_count++] = (struct family_variant){
                .member = c->member,
                .tune = values,
                .name = arena_printf(&f->kept, "%s %s", info->name, values)};
        }
    }
    for (int v = 0; v < m->listed_count; v++) {
        m->listed[v].accepted = m->listed[v].refused = false;
        compile_variant(f, &m->listed[v], &f->viewed);
    }
    m->listed_compiled = true;
    return TW_OK;
}

/* Returns the listed variant of an estimated member that the model finds faster than *us, its new value, and that the
 * target takes; NULL: none. */
static struct family_variant *faster_listed(tw_family *f, int member, const struct family_sizes *s,
                                            double *us)
{
    struct family_member *m = &f->members[member];
    const struct gpu *gpu = f->device ? target_gpu_find(f->device) : NULL;
    if (!m->listed_compiled && context_call(f->own, list_variants, &(struct list_call){f, member}))
        return NULL;
    for (;;) {
        struct family_variant *best = NULL;
        double least = *us;
        for (int i = 0; i < m->listed_count; i++) {
            struct family_variant *v = &m->listed[i];
            /* These kernels fill a multiprocessor with a block. */
            double model =
                v->refused || blocks_of(f, v, s) < 0 ? 0 : family_model_time(f, v, s, gpu, 1);
            if (model > 0 && model < least) {
                least = model;
                best = v;
            }
        }
        tw_status status;
        if (!best || accepts(f, best, s, &status)) {
            *us = least;
            return best;
        }
        if (!best->refused)
            return NULL;
    }
}

/* Returns a variant of a member without results that the model finds faster than *us, its new value; NULL: none. A
 * table has the variants that win. Members for one target alone are compared, with all values that they list: a table of
 * a similar device, or an older one, cannot have them. With same_bits, the winners may be left out, so the other members
 * are compared, too, with their default values. */
static struct family_variant *faster_unmeasured(tw_family *f, const struct family_sizes *s,
                                                double *us)
{
    struct family_variant *best = NULL;
    double limit = *us / model_margin;
    for (int i = 0; i < f->member_count; i++) {
        const struct family_member *m = &f->members[i];
        double model = 0;
        bool for_one = f->executor->lowers && m->kernel->info->target;
        if (m->refused || (m->plain && m->plain->refused) || (!f->same_bits && !for_one) ||
            has_results(f, i) || !family_takes(f, i) || family_estimate(f, i, s) != TW_OK ||
            family_cost(f, i, s, &model) < 0)
            continue;
        if (model > 0 && model < limit) {
            *us = limit = model;
            best = m->plain;
        }
        double least = fmin(limit, model / listed_margin);
        struct family_variant *other = for_one ? faster_listed(f, i, s, &least) : NULL;
        if (other) {
            *us = limit = least;
            best = other;
        }
    }
    return best;
}

/* Chooses by results. Returns false if none of them tells. */
static bool choose_by_results(tw_family *f, const struct family_sizes *s, tw_choice *out,
                              struct family_variant **variant, tw_status *status)
{
    const struct family_view *view = &f->view;
    *status = TW_OK;
    while (view->group) {
        family_mark(f, s, NULL);
        struct predicted p = predict_best(&view->table, s->size, view->facts);
        if (p.variant < 0)
            return false;
        struct family_variant *v = *variant = variant_at(f, p.variant);
        if ((!view->is_own || view->of_twins) && !accepts(f, v, s, status)) {
            if (!v->refused)
                return false;
            continue;
        }
        double us = p.us;
        struct family_variant *other = faster_unmeasured(f, s, &us);
        if (other) {
            *variant = other;
            *out = (tw_choice){.by = TW_BY_MODEL, .milliseconds = us / 1000};
            out->compared = p.compared + 1;
            fill(f, other, out);
            *status = TW_OK;
            return true;
        }
        fill(f, v, out);
        out->by = !view->is_own ? TW_BY_MODEL : p.exact ? TW_BY_RESULT : TW_BY_NEAREST;
        out->device = view->group->device;
        out->types = view->of_twins ? view->group->types : NULL;
        out->nearest = view->group->rows.data[p.nearest].text;
        out->distance = p.distance;
        out->milliseconds = p.us / 1000;
        out->compared = p.compared;
        *status = TW_OK;
        return true;
    }
    return false;
}

/* --- by occupancy --- */

struct plain_call {
    tw_family *family;
    struct family_member *member;
    const tw_launch *launch;
    const tw_estimate *estimate;
};

/* Describes the variant of a member with its default values, from a launch that is resolved. */
static tw_status describe_plain(void *user)
{
    const struct plain_call *c = user;
    tw_family *f = c->family;
    struct family_member *m = c->member;
    const char *tune = launch_tunes_text(&f->kept, c->launch), *name = m->kernel->info->name;
    if (!m->plain) {
        m->plain = arena_new(&f->kept, struct family_variant);
        m->plain->member = (int)(m - f->members);
        m->plain->tune = tune;
        m->plain->name = arena_printf(&f->kept, "%s%s%s", name, *tune ? " " : "", tune);
    }
    compile_variant(f, m->plain, &f->viewed);
    m->needs = (struct block_needs){.shared = c->estimate->shared_bytes,
                                    .registers = c->estimate->registers,
                                    .threads = c->estimate->threads};
    m->estimated = true;
    return TW_OK;
}

tw_status family_estimate(tw_family *f, int member, const struct family_sizes *s)
{
    struct family_member *m = &f->members[member];
    tw_launch *l;
    tw_estimate e = tw_estimate_init();
    if (m->estimated)
        return TW_OK;
    tw_status status = estimate(f, member, "", s, &l, &e);
    if (status == TW_OK)
        status = context_call(f->own, describe_plain, &(struct plain_call){f, m, l, &e});
    tw_launch_free(l);
    m->refused = note_refusal(f, status);
    return status;
}

double family_cost(const tw_family *f, int member, const struct family_sizes *s, double *model)
{
    const struct family_member *m = &f->members[member];
    const struct gpu *gpu = f->device ? target_gpu_find(f->device) : NULL;
    struct block_needs needs = m->needs;
    int64_t blocks = m->estimated ? blocks_of(f, m->plain, s) : -1;
    if (blocks < 0)
        return -1;
    if (!f->executor->has_model)
        return 0;
    struct occupancy_limits has = model_occupancy_limits_of(m->kernel->device, f->multiprocessors);
    *model = family_model_time(f, m->plain, s, gpu, model_occupancy_blocks(&has, &needs));
    needs.blocks = blocks;
    return *model > 0 ? *model : model_occupancy_cost(&has, &needs);
}

/* Finds why a kernel cannot run at these sizes with its default values. Returns false if it can. */
static bool find_fault(tw_family *f, int member, const struct family_sizes *s, char why[CUDA_WHY],
                       tw_status *status)
{
    struct own_launch o = {f, member, "", s, NULL};
    tw_message m = tw_message_init();
    int64_t grid[3];
    bool found = false;
    *status = tw_launch_new(f->members[member].own, &o.launch);
    if (*status == TW_OK)
        *status = context_call(f->own, set_scalars, &o);
    if (*status == TW_OK)
        *status = tw_launch_prepare(o.launch);
    if (*status == TW_OK)
        found = !launch_find_grid(o.launch, grid, why);
    else if ((found = tw_context_message(f->own, 0, &m)))
        snprintf(why, CUDA_WHY, "%s", m.text);
    tw_launch_free(o.launch);
    return found;
}

/* Reports that no kernel takes the types and sizes, with the reason of the first that lists the
 * types. */
static tw_status refuse_sizes(tw_family *f, const struct family_sizes *s, const char *bits)
{
    const struct lang_kernel *info = NULL;
    const char *name = f->name, *target = f->members[0].kernel->target;
    char why[CUDA_WHY];
    tw_status status = TW_OK;
    bool found = false;
    for (int i = 0; i < f->member_count && !found; i++) {
        info = f->members[i].kernel->info;
        found = !f->members[i].varies && family_takes(f, i) && find_fault(f, i, s, why, &status);
        if (status == TW_NO_MEMORY || status == TW_CANCELLED)
            return status;
    }
    if (found)
        return family_refuse(f, TW_BAD_ARGUMENT,
                             "no kernel of the family `%s` takes these types and sizes on %s%s; "
                             "`%s`: %s",
                             name, target, bits, info->name, why);
    return family_refuse(f, TW_BAD_ARGUMENT,
                         "no kernel of the family `%s` takes these types and sizes on %s%s", name,
                         target, bits);
}

/* Refuses a negative size that is the length of an axis. */
static tw_status check_extents(tw_family *f, const struct family_sizes *s)
{
    const struct lang_kernel *info = f->members[0].kernel->info;
    for (int p = 0; p < info->param_count; p++)
        for (int axis = 0; info->params[p].is_pointer && axis < info->params[p].rank; axis++)
            for (int i = 0; i < f->size_count; i++)
                if (f->size_param[i] == info->params[p].dim_param[axis] && s->size[i] < 0)
                    return family_refuse(
                        f, TW_BAD_ARGUMENT, "`%s` is %lld, but the length of an axis is at least 0",
                        info->params[f->size_param[i]].name, (long long)s->size[i]);
    return TW_OK;
}

/* Chooses among the members with their default values. */
static tw_status choose_plain(tw_family *f, const struct family_sizes *s, tw_choice *out,
                              struct family_variant **variant)
{
    tw_status status = TW_OK;
    struct family_variant *best = NULL;
    double least = 0;
    *out = (tw_choice){.by = TW_BY_MODEL};
    for (int i = 0; i < f->member_count; i++) {
        struct family_member *m = &f->members[i];
        if (!family_takes(f, i) || m->refused || (m->plain && m->plain->refused))
            continue;
        status = family_estimate(f, i, s);
        if (status == TW_NO_MEMORY || status == TW_CANCELLED)
            return status;
        double model = 0, cost = status == TW_OK ? family_cost(f, i, s, &model) : -1;
        if (cost < 0)
            continue;
        out->compared++;
        if (best && cost >= least)
            continue;
        best = m->plain;
        least = cost;
        out->milliseconds = model / 1000;
    }
    *variant = best;
    if (best) {
        fill(f, best, out);
        return TW_OK;
    }
    if (status != TW_OK && !family_is_refusal(status))
        return status;
    const char *target = f->members[0].kernel->target,
               *bits = f->same_bits ? " with the same bits in each run" : "";
    if (f->refusal.status == TW_OK)
        return refuse_sizes(f, s, bits);
    return family_refuse(f, f->refusal.status,
                         "no kernel of the family `%s` takes these types and sizes on %s%s; "
                         "the first that was refused: %s",
                         f->name, target, bits, f->refusal.text);
}

tw_status family_make_view(tw_family *f)
{
    return f->has_view ? TW_OK : context_call(f->own, make_view, f);
}

tw_status family_choose(tw_family *f, const struct family_sizes *s, tw_choice *out,
                        struct family_variant **variant)
{
    tw_status status = check_extents(f, s);
    if (status == TW_OK)
        status = family_make_view(f);
    if (status != TW_OK)
        return status;
    if (choose_by_results(f, s, out, variant, &status))
        return TW_OK;
    return status == TW_NO_MEMORY || status == TW_CANCELLED ? status
                                                            : choose_plain(f, s, out, variant);
}

tw_status tw_family_choose(tw_family *f, const tw_value *arguments, int count, tw_choice *out,
                           tw_error *error)
{
    struct family_sizes s = {0};
    struct family_variant *v;
    tw_choice made = {0};
    error = sized_error_to_fill(error);
    tw_status status = family_check_call(f, arguments, count, error, "tw_family_choose");
    if (status != TW_OK)
        return status;
    if (!out || !SIZED_FITS(NULL, tw_choice, out))
        return TW_BAD_ARGUMENT;
    platform_lock(f->lock);
    status = family_open_own(f);
    if (status == TW_OK)
        status = family_take(f, arguments, count, &s);
    family_forget_refusals(f);
    if (status == TW_OK)
        status = family_choose(f, &s, &made, &v);
    if (status != TW_OK && error)
        family_fill_error(f, status, error);
    platform_unlock(f->lock);
    if (status == TW_OK)
        FILL_SIZED(out, made);
    return status;
}

/* --- for a launch --- */

struct launch_call {
    tw_family *family;
    tw_launch *launch;
    struct family_sizes sizes;
    const char *why; /* the own context's messages */
    tw_status status;
};

/* Takes the integers of a launch by the names of the family's. */
static tw_status take_launch(void *user)
{
    struct launch_call *c = user;
    tw_launch *l = c->launch;
    const tw_family *f = c->family;
    tw_status status = l->prepared ? TW_OK : launch_resolve(l, true);
    for (int i = 0; i < f->size_count && status == TW_OK; i++)
        c->sizes.size[i] = l->choice.values[f->size_param[i]].i;
    return status;
}

static tw_status pass_on(void *user)
{
    const struct launch_call *c = user;
    struct diag *d = &c->launch->ctx->diag;
    diag_error(d, LOC_NONE, "the family `%s` has no choice for this launch: %s", c->family->name,
               c->why);
    return c->status;
}

tw_status tw_family_choose_for(tw_family *f, tw_launch *l, tw_choice *out)
{
    struct family_variant *v;
    tw_choice made = {0};
    if (!f || !l)
        return TW_BAD_ARGUMENT;
    if (!SIZED_FITS(l->ctx, tw_choice, out))
        return TW_BAD_ARGUMENT;
    if (!family_has_kernel(f, l->kernel))
        return context_refuse(l->ctx, "tw_family_choose_for: the launch is not one of this family");
    struct launch_call call = {.family = f, .launch = l};
    call.status = context_call(l->ctx, take_launch, &call);
    if (call.status != TW_OK)
        return call.status;
    family_derive(f, &call.sizes);
    platform_lock(f->lock);
    call.status = family_open_own(f);
    family_forget_refusals(f);
    if (call.status == TW_OK)
        call.status = family_choose(f, &call.sizes, &made, &v);
    call.why = f->own ? f->own->rendered : "out of memory";
    if (call.status != TW_OK)
        context_call(l->ctx, pass_on, &call);
    platform_unlock(f->lock);
    if (call.status == TW_OK)
        FILL_SIZED(out, made);
    return call.status;
}
