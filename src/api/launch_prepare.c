/* Prepares a launch: checks its arrays and sizes, makes the arguments of its kernel. */
#include "api/objects.h"

#include <inttypes.h>
#include <string.h>

/* Returns true if a view has no gaps and starts at the array's first element: the array then has
 * the view's shape. */
static bool is_plain(const struct sym *view)
{
    for (int i = 0; i < view->type.rank; i++)
        if (view->strides[i])
            return false;
    return !view->base_offset;
}

const struct sym *launch_view_of(const tw_launch *l, int param)
{
    const struct view_list *views = &l->variant->views[param];
    for (size_t i = 0; i < views->all.count; i++)
        if (is_plain(views->all.data[i]))
            return views->all.data[i];
    return views->all.count ? views->all.data[0] : NULL;
}

bool launch_view_shape(const tw_launch *l, const struct sym *view, int64_t *shape)
{
    struct view_sizes sizes;
    if (!launch_view(l, view, &sizes))
        return false;
    memcpy(shape, sizes.extent, sizeof sizes.extent);
    return true;
}

const struct sym *launch_array_shape(const tw_launch *l, int param)
{
    const struct sym *view = launch_view_of(l, param);
    int64_t shape[MAX_RANK];
    if (!view || !is_plain(view) || !launch_view_shape(l, view, shape))
        return NULL;
    int64_t reach = launch_view_reach(l, view), size = (int64_t)dtype_size(view->type.dtype);
    return reach >= 0 && launch_array_bytes(l, param) / size > reach ? NULL : view;
}

/* Returns the parameters that the view's axes name: "m = 3, n = 4". */
static const char *sizes_text(tw_launch *l, const struct lang_param *param)
{
    const struct lang_kernel *info = l->kernel->info;
    struct text out;
    text_init(&out, &l->ctx->scratch);
    for (int i = 0; i < param->rank; i++) {
        int p = param->dim_param[i];
        if (p >= 0)
            text_printf(&out, "%s%s = %lld", out.length ? ", " : " with ", info->params[p].name,
                        (long long)l->choice.values[p].i);
    }
    return out.data;
}

static void check_shape(tw_launch *l, int p, const struct sym *view)
{
    const struct lang_param *param = &l->kernel->info->params[p];
    const tw_array *x = &l->arrays[p];
    struct arena *a = &l->ctx->scratch;
    int64_t shape[MAX_RANK];
    if (!launch_view_shape(l, view, shape))
        return;
    if (x->rank == view->type.rank && memcmp(shape, x->shape, (size_t)x->rank * sizeof *shape) == 0)
        return;
    diag_error(&l->ctx->diag, LOC_NONE, "`%s` is %s, expected %s (%s%s)", param->name,
               launch_array_text(a, (enum dtype)x->dtype, x->rank, x->shape),
               launch_array_text(a, (enum dtype)x->dtype, view->type.rank, shape),
               launch_param_text(a, l->kernel->info, p), sizes_text(l, param));
}

static void check_length(tw_launch *l, int p, const struct sym *view)
{
    struct diag *d = &l->ctx->diag;
    const char *name = l->kernel->info->params[p].name;
    const int64_t reach = launch_view_reach(l, view), length = launch_array_length(&l->arrays[p]);
    if (reach == INT64_MIN)
        diag_error(d, view->loc, "view `%s` is larger than memory", view->name);
    else if (reach < 0)
        diag_error(d, view->loc, "view `%s` begins %lld elements before `%s`", view->name,
                   -(long long)reach, name);
    else if (reach > length)
        diag_error(d, LOC_NONE, "`%s` has %lld elements, but view `%s` reaches over %lld", name,
                   (long long)length, view->name, (long long)reach);
}

/* Reports only the first wrong extent, because other views often have the same axis. */
static bool check_extents(tw_launch *l, const struct sym *view)
{
    int64_t shape[MAX_RANK];
    int i = 0;
    if (!launch_view_shape(l, view, shape))
        return true;
    while (i < view->type.rank && shape[i] >= 0)
        i++;
    if (i == view->type.rank)
        return true;
    struct loc at = view->dims[i]->loc;
    diag_error(&l->ctx->diag, at, "axis %d of `%s`, `%.*s`, is %lld elements long", i, view->name,
               (int)at.length, at.source->text + at.offset, (long long)shape[i]);
    return false;
}

/* Reports a size that cannot be computed, or a negative number of blocks. Others report negative
 * extents and grids that are too large. */
static void report_size(void *user, const struct size_fault *fault)
{
    tw_launch *l = user;
    if (fault->error == SIZE_NEGATIVE && fault->step->op == SIZE_GRID)
        diag_error(&l->ctx->diag, l->variant->ir->grid[fault->step->index]->loc,
                   "the grid of %s has %lld blocks along %c", l->kernel->info->name,
                   (long long)fault->a, "xyz"[fault->step->index]);
    const struct expr *e = size_fault_place(&l->variant->sizes, fault);
    if (!e || fault->error == SIZE_NEGATIVE || fault->error == SIZE_TOO_MANY)
        return;
    const char *values = fault->error == SIZE_OVERFLOWS ? "" : derive_values_text(l, e);
    diag_error(&l->ctx->diag, e->loc, "%s%s",
               size_fault_text(&l->ctx->scratch, &l->variant->sizes, fault, NULL), values);
}

static bool check_part(tw_launch *l, int part, const uint64_t *values)
{
    union {
        int64_t grid[3];
        struct view_sizes view;
    } ignored;
    return launch_sizes_part(&l->variant->sizes, part, values, ignored.grid, report_size, l);
}

tw_status launch_check_sizes(tw_launch *l)
{
    const struct kernel *ir = l->variant->ir;
    const struct sym **shapes =
        arena_array(&l->ctx->scratch, const struct sym *, ir->param_count + 1);
    bool extents = true;
    for (int p = 0; p < ir->param_count; p++)
        shapes[p] = l->array_set[p] ? launch_array_shape(l, p) : NULL;
    const uint64_t *values = l->size_values;
    check_part(l, 0, values);
    for (int i = 1; i < l->variant->sizes.parts; i++) {
        const struct sym *view = l->variant->sized[i - 1];
        if (!check_part(l, i, values))
            continue;
        extents = extents && check_extents(l, view);
        int p = view->base ? view->base->index : -1;
        if (p < 0 || !l->array_set[p])
            continue;
        if (view == shapes[p])
            check_shape(l, p, view);
        else
            check_length(l, p, view);
    }
    return l->ctx->diag.errors ? TW_BAD_ARGUMENT : TW_OK;
}

tw_status launch_prepare(tw_launch *l)
{
    if (l->prepared)
        return TW_OK;
    l->variant = NULL;
    l->gpu = NULL;
    tw_status status = launch_resolve(l, true);
    if (status != TW_OK)
        return status;
    l->choice.despite_races = l->despite_races;
    l->choice.probe = l->probe;
    status = variant_for(l->kernel, &l->choice, &l->variant);
    if (status != TW_OK)
        return status;
    status = launch_check_sizes(l);
    if (status == TW_OK)
        status = launch_check_probe(l);
    l->prepared = status == TW_OK;
    return status;
}

struct cpu_argument *launch_given(const tw_launch *l)
{
    const struct lang_kernel *info = l->kernel->info;
    struct cpu_argument *args =
        arena_array(&l->ctx->scratch, struct cpu_argument, info->param_count);
    for (int p = 0; p < info->param_count; p++) {
        const tw_array *x = &l->arrays[p];
        args[p].scalar = l->choice.values[p];
        if (!info->params[p].is_pointer || !l->array_set[p])
            continue;
        args[p].data = x->data;
        args[p].bytes = (size_t)launch_array_length(x) * tw_dtype_size(x->dtype);
    }
    return args;
}

tw_status launch_arguments(tw_launch *l, struct cpu_argument **given)
{
    const struct lang_kernel *info = l->kernel->info;
    struct diag *d = &l->ctx->diag;
    tw_status status = launch_prepare(l);
    if (status != TW_OK)
        return status;
    *given = launch_given(l);
    for (int p = 0; p < info->param_count; p++)
        if (info->params[p].is_pointer && !l->array_set[p] && launch_view_of(l, p))
            diag_error(d, LOC_NONE, "no array was given for `%s` (%s)", info->params[p].name,
                       launch_param_text(&l->ctx->scratch, info, p));
    if (d->errors)
        launch_note_refused(l);
    return d->errors ? TW_BAD_ARGUMENT : launch_check_overlaps(l);
}
