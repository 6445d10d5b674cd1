/* Launches: prepare, run, verify. */
#include "api/objects.h"
#include "tile/passes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- arrays against views --- */

/* Returns true if a view has no gaps and starts at the array's first element: the array then has
 * the view's shape. */
static bool is_plain(const struct sym *view)
{
    for (int i = 0; i < view->type.rank; i++)
        if (view->strides[i])
            return false;
    return !view->base_offset;
}

/* Returns the first view of a pointer parameter, a plain one if it has one; NULL: none. */
static const struct sym *view_of(const tw_launch *l, int param)
{
    const struct view_list *views = &l->variant->views[param];
    for (size_t i = 0; i < views->all.count; i++)
        if (is_plain(views->all.data[i]))
            return views->all.data[i];
    return views->all.count ? views->all.data[0] : NULL;
}

struct scalar_env launch_env(const tw_launch *l)
{
    return (struct scalar_env){.values = l->choice.values,
                               .known = l->choice.known,
                               .count = l->kernel->info->param_count};
}

static enum dtype param_dtype(const tw_launch *l, int p)
{
    const struct lang_param *param = &l->kernel->info->params[p];
    return param->type_variable >= 0 ? l->choice.types[param->type_variable] : param->dtype;
}

bool launch_grid_of(const tw_launch *l, const struct kernel *ir, int64_t grid[3])
{
    struct launch_sizes s;
    launch_sizes_compile_all(&s, &l->ctx->scratch, ir, NULL, 0);
    return launch_sizes_grid(&s, l->size_values, grid);
}

bool launch_grid(const tw_launch *l, int64_t grid[3])
{
    return launch_sizes_grid(&l->variant->sizes, l->size_values, grid);
}

bool launch_view(const tw_launch *l, const struct sym *view, struct view_sizes *out)
{
    int i = 0;
    while (l->variant->sized[i] != view)
        i++;
    return launch_sizes_view(&l->variant->sizes, i, l->size_values, out);
}

/* Gives the view's extents at this launch. Returns false if they cannot be computed. */
static bool view_shape(const tw_launch *l, const struct sym *view, int64_t *shape)
{
    struct view_sizes sizes;
    if (!launch_view(l, view, &sizes))
        return false;
    memcpy(shape, sizes.extent, sizeof sizes.extent);
    return true;
}

/* Returns the number of elements from the array's first to the end of the view's last; -1: not
 * known here. */
static int64_t view_reach(const tw_launch *l, const struct sym *view)
{
    struct view_sizes sizes;
    int64_t reach = 1, row_major = 1;
    if (!launch_view(l, view, &sizes))
        return -1;
    for (int i = view->type.rank - 1; i >= 0; i--) {
        int64_t extent = sizes.extent[i], step;
        int64_t stride = view->strides[i] ? sizes.stride[i] : row_major;
        if (extent <= 0)
            return 0;
        if (stride < 0 || __builtin_mul_overflow(extent - 1, stride, &step) ||
            __builtin_add_overflow(reach, step, &reach) ||
            __builtin_mul_overflow(row_major, extent, &row_major))
            return -1;
    }
    bool beyond = sizes.offset < 0 || __builtin_add_overflow(reach, sizes.offset, &reach);
    return beyond ? -1 : reach;
}

int64_t launch_array_bytes(const tw_launch *l, int param)
{
    const struct view_list *views = &l->variant->views[param];
    int64_t most = 0;
    for (size_t i = 0; i < views->all.count; i++) {
        const struct sym *s = views->all.data[i];
        int64_t reach = view_reach(l, s);
        if (reach < 0)
            return -1;
        reach *= (int64_t)dtype_size(s->type.dtype);
        most = reach > most ? reach : most;
    }
    return most;
}

/* Returns the view that gives the array's shape: a plain one that no other view reaches beyond.
 * Returns NULL if there is none; the array then has as many elements as the farthest view
 * reaches. */
static const struct sym *shape_of(const tw_launch *l, int param)
{
    const struct sym *view = view_of(l, param);
    int64_t shape[MAX_RANK];
    if (!view || !is_plain(view) || !view_shape(l, view, shape))
        return NULL;
    int64_t reach = view_reach(l, view), size = (int64_t)dtype_size(view->type.dtype);
    return reach >= 0 && launch_array_bytes(l, param) / size > reach ? NULL : view;
}

int64_t launch_array_length(const tw_array *x)
{
    int64_t n = 1;
    for (int i = 0; i < x->rank; i++)
        n *= x->shape[i];
    return n;
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
    if (!view_shape(l, view, shape))
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
    int64_t reach = view_reach(l, view);
    if (reach <= launch_array_length(&l->arrays[p]))
        return;
    diag_error(&l->ctx->diag, LOC_NONE, "`%s` has %lld elements, but view `%s` reaches over %lld",
               l->kernel->info->params[p].name, (long long)launch_array_length(&l->arrays[p]),
               view->name, (long long)reach);
}

/* Reports only the first wrong extent, because other views often have the same axis. */
static bool check_extents(tw_launch *l, const struct sym *view)
{
    int64_t shape[MAX_RANK];
    int i = 0;
    if (!view_shape(l, view, shape))
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
        shapes[p] = l->array_set[p] ? shape_of(l, p) : NULL;
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

static bool has_blocks(const tw_launch *l)
{
    int64_t grid[3];
    return !launch_grid(l, grid) || (grid[0] > 0 && grid[1] > 0 && grid[2] > 0);
}

/* Returns the position of parameter p among the arguments of a call; derived parameters do not
 * count. */
static int argument_number(const struct lang_kernel *info, int p)
{
    int number = p + 1;
    for (int i = 0; i < p; i++)
        number -= info->params[i].derived != NULL;
    return number;
}

tw_status launch_check_null(tw_launch *l, int p)
{
    if (!has_blocks(l))
        return TW_OK;
    const struct view_list *views = &l->variant->views[p];
    for (size_t i = 0; i < views->all.count; i++) {
        const struct sym *view = views->all.data[i];
        if (view_reach(l, view) <= 0 || !kernel_uses(l->variant->ir, view))
            continue;
        diag_error(&l->ctx->diag, LOC_NONE,
                   "argument %d, `%s` is NULL, but view `%s` reaches over %lld elements",
                   argument_number(l->kernel->info, p), l->kernel->info->params[p].name, view->name,
                   (long long)view_reach(l, view));
        diag_code(&l->ctx->diag, CODE_ARGUMENT);
        return TW_BAD_ARGUMENT;
    }
    return TW_OK;
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

static tw_status prepare_call(void *user)
{
    tw_status status = launch_prepare(user);
    return status == TW_OK ? launch_check_overlaps(user) : status;
}

tw_status tw_launch_prepare(tw_launch *l)
{
    return l ? context_call(l->ctx, prepare_call, l) : TW_BAD_ARGUMENT;
}

/* --- results --- */

struct value_call {
    tw_launch *launch;
    const char *name;
    tw_value value;
    tw_array array;
    tw_verdict *verdict;
    struct ensures_kept *kept; /* NULL: none */
    void (*each)(void *user, const tw_wrong *w);
    void *user;
};

static tw_status value_call(void *user)
{
    struct value_call *call = user;
    tw_launch *l = call->launch;
    const struct lang_kernel *info = l->kernel->info;
    struct diag *d = &l->ctx->diag;
    tw_status status = l->prepared || l->resolved ? TW_OK : launch_resolve(l, false);
    if (status != TW_OK)
        return status;
    const struct literal *found = NULL;
    int p = lang_param_find(info, call->name);
    if (p >= 0 && !info->params[p].is_pointer) {
        found = &l->choice.values[p];
        if (!l->choice.known[p]) {
            diag_error(d, LOC_NONE, "`%s` is not set, and no array given says it", call->name);
            return TW_BAD_ARGUMENT;
        }
    }
    for (int t = 0; t < info->tune_count; t++)
        if (strcmp(info->tunes[t].name, call->name) == 0)
            found = &l->choice.tunes[t];
    if (!found) {
        diag_error(d, LOC_NONE, "kernel `%s` has no scalar parameter or tuned value `%s`",
                   info->name, call->name);
        return TW_NOT_FOUND;
    }
    call->value = value_of(*found);
    return TW_OK;
}

tw_status tw_launch_value(tw_launch *l, const char *name, tw_value *out)
{
    if (!l)
        return TW_BAD_ARGUMENT;
    if (!name || !out)
        return context_refuse(l->ctx, "tw_launch_value: `name` or `out` is NULL");
    struct value_call call = {.launch = l, .name = name};
    tw_status status = context_call(l->ctx, value_call, &call);
    if (status == TW_OK)
        *out = call.value;
    return status;
}

static tw_status shape_call(void *user)
{
    struct value_call *call = user;
    tw_launch *l = call->launch;
    struct diag *d = &l->ctx->diag;
    const struct lang_kernel *info = l->kernel->info;
    tw_status status = launch_prepare(l);
    if (status != TW_OK)
        return status;
    int p = lang_param_find(info, call->name);
    if (p < 0 || !info->params[p].is_pointer) {
        diag_error(d, LOC_NONE, "kernel `%s` has no array `%s`", info->name, call->name);
        return TW_NOT_FOUND;
    }
    tw_array *out = &call->array;
    out->dtype = (tw_dtype)param_dtype(l, p);
    const struct sym *view = shape_of(l, p);
    if (view && view_shape(l, view, out->shape)) {
        out->rank = view->type.rank;
        return TW_OK;
    }
    view = view_of(l, p);
    int64_t bytes = view ? launch_array_bytes(l, p) : -1; /* of the view that reaches farthest */
    int64_t reach = bytes >= 0 ? bytes / (int64_t)dtype_size((enum dtype)out->dtype)
                    : view     ? view_reach(l, view)
                               : -1;
    if (reach >= 0) {
        out->rank = 1;
        out->shape[0] = reach;
        return TW_OK;
    }
    if (view)
        diag_error(d, view->loc, "the shape of `%s` does not follow from the parameters",
                   call->name);
    else
        diag_error(d, info->params[p].loc,
                   "`%s` has no `global` view, so its shape is not known: give the array, or drop "
                   "the parameter",
                   call->name);
    return TW_UNSUPPORTED;
}

tw_status tw_launch_shape(tw_launch *l, const char *param, tw_array *out)
{
    if (!l)
        return TW_BAD_ARGUMENT;
    if (!param || !out)
        return context_refuse(l->ctx, "tw_launch_shape: `param` or `out` is NULL");
    if (!SIZED_FITS(l->ctx, tw_array, out))
        return TW_BAD_ARGUMENT;
    struct value_call call = {.launch = l, .name = param};
    tw_status status = context_call(l->ctx, shape_call, &call);
    if (status == TW_OK)
        FILL_SIZED(out, call.array);
    return status;
}

/* --- running --- */

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
        if (info->params[p].is_pointer && !l->array_set[p] && view_of(l, p))
            diag_error(d, LOC_NONE, "no array was given for `%s` (%s)", info->params[p].name,
                       launch_param_text(&l->ctx->scratch, info, p));
    if (d->errors)
        launch_note_refused(l);
    return d->errors ? TW_BAD_ARGUMENT : launch_check_overlaps(l);
}

static tw_status run_call(void *user)
{
    struct run_call *call = user;
    return executor_run(call->launch->kernel->executor, call);
}

tw_status tw_launch_run(tw_launch *l)
{
    struct run_call call = {.launch = l, .runs = 1};
    return l ? context_call(l->ctx, run_call, &call) : TW_BAD_ARGUMENT;
}

tw_status tw_launch_time(tw_launch *l, int runs, double *milliseconds)
{
    if (milliseconds)
        *milliseconds = 0;
    if (!l)
        return TW_BAD_ARGUMENT;
    if (runs < 1 || !milliseconds)
        return context_refuse(l->ctx,
                              "tw_launch_time: `runs` is less than 1, or `milliseconds` NULL");
    struct run_call call = {.launch = l, .runs = runs};
    tw_status status = context_call(l->ctx, run_call, &call);
    *milliseconds = call.milliseconds;
    return status;
}

/* --- verification --- */

/* Drops the sign of a NaN, which means nothing. */
static double shown(double v)
{
    return isnan(v) ? fabs(v) : v;
}

/* Names the reduction that counts zeros from past an edge, a common cause of wrong values in the
 * view. */
static void note_edge_zeros(tw_launch *l, const char *view)
{
    struct edge_zeros z;
    struct scalar_env env = launch_env(l);
    if (!edges_zeros_find(&l->ctx->scratch, l->variant->ir, &env, view, &z))
        return;
    struct text slice;
    text_init(&slice, &l->ctx->scratch);
    expr_print(&slice, z.slice);
    int line, column;
    loc_line_column(z.use->loc, &line, &column);
    const char *op = op_table[z.use->op].text, *way = "mask them with `where` before it";
    if (z.use->op == OP_REDUCE_MIN)
        way = "write `else inf` after it";
    else if (z.powers || (z.use->op == OP_REDUCE_MAX && !z.changed))
        way = "write `else -inf` after it";
    diag_note(&l->ctx->diag, z.slice->loc,
              "where `%s` reaches past the edge it reads zeros, and the `%s` of line %d counts %s: "
              "%s",
              slice.data, op, line, z.changed ? "what becomes of them" : "them", way);
}

static void report_wrong(tw_launch *l, const struct ensures_report *r,
                         const struct cpu_argument *args)
{
    struct text at;
    text_init(&at, &l->ctx->scratch);
    text_add(&at, r->view ? r->view : "the view");
    for (int i = 0; i < r->rank; i++)
        text_printf(&at, "[%" PRId64 "]", r->at[i]);
    diag_error(&l->ctx->diag, r->loc, "%s is %.9g, expected %.9g (within %.3g)", at.data,
               shown(r->got), shown(r->want), shown(r->tolerance));
    note_edge_zeros(l, r->view);
    launch_note_nan(l, r, args);
}

static void take_wrong(void *user, const struct ensures_wrong *w)
{
    const struct value_call *call = user;
    tw_wrong given = {.view = w->view,
                      .rank = w->rank,
                      .param = w->param,
                      .element = w->element,
                      .got = w->got,
                      .want = w->want};
    for (int i = 0; i < w->rank; i++) {
        given.extent[i] = w->extent[i];
        given.at[i] = w->at[i];
    }
    call->each(call->user, &given);
}

static tw_status verify_call(void *user)
{
    struct value_call *call = user;
    tw_launch *l = call->launch;
    struct diag *d = &l->ctx->diag;
    if (!l->kernel->info->has_ensures) {
        diag_error(d, LOC_NONE, "kernel `%s` has no `ensures`", l->kernel->info->name);
        return TW_UNSUPPORTED;
    }
    struct cpu_argument *args;
    tw_status status = launch_arguments(l, &args);
    if (status == TW_OK)
        status = launch_fetch(l, args);
    if (status == TW_OK)
        status = launch_check_clean(l);
    if (status != TW_OK)
        return status;
    context_settle(l->ctx);
    for (int p = 0; l->kept && p < l->kernel->info->param_count; p++)
        if (l->kept[p])
            args[p].data = l->kept[p];
    struct ensures_report r = {.ok = false};
    struct ensures_listener listener = {.wrong = take_wrong, .user = call};
    if (!ensures_check_with(&l->ctx->scratch, l->variant->ir, args, l->ctx->parallel, call->kept,
                            call->each ? &listener : NULL, &r)) {
        diag_error(d, r.loc, "`ensures` cannot be evaluated: %s", r.message);
        if (r.outside)
            diag_code(d, CODE_OUTSIDE);
        return TW_UNSUPPORTED;
    }
    tw_verdict *v = call->verdict;
    *v = (tw_verdict){.ok = r.ok,
                      .max_error = r.max_error,
                      .tolerance = r.tolerance,
                      .got = r.got,
                      .want = r.want,
                      .rank = r.rank,
                      .checked = r.checked,
                      .undecided = r.undecided,
                      .nans = r.nans};
    v->view = r.view ? arena_string(&l->ctx->message_memory, r.view, strlen(r.view)) : "";
    for (int i = 0; i < r.rank; i++)
        v->at[i] = r.at[i];
    if (!r.ok) {
        report_wrong(l, &r, args);
        launch_note_overlaps(l);
    }
    return r.ok ? TW_OK : TW_WRONG_VALUES;
}

tw_status launch_verify(tw_launch *l, struct ensures_kept *kept, tw_verdict *verdict)
{
    tw_verdict found = {0};
    if (verdict && !SIZED_FITS(l->ctx, tw_verdict, verdict))
        return TW_BAD_ARGUMENT;
    struct value_call call = {.launch = l, .verdict = &found, .kept = kept};
    tw_status status = context_call(l->ctx, verify_call, &call);
    if (verdict && (status == TW_OK || status == TW_WRONG_VALUES))
        FILL_SIZED(verdict, found);
    return status;
}

tw_status tw_launch_verify(tw_launch *l, tw_verdict *verdict)
{
    return l ? launch_verify(l, NULL, verdict) : TW_BAD_ARGUMENT;
}

tw_status tw_launch_each_wrong(tw_launch *l, void (*each)(void *user, const tw_wrong *w),
                               void *user)
{
    if (!l)
        return TW_BAD_ARGUMENT;
    if (!each)
        return context_refuse(l->ctx, "tw_launch_each_wrong: `each` is NULL");
    tw_verdict ignored;
    struct value_call call = {.launch = l, .verdict = &ignored, .each = each, .user = user};
    return context_call(l->ctx, verify_call, &call);
}
