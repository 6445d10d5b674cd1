/* Launches: prepare, run, verify. */
#include "api/objects.h"
#include "tile/passes.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- arrays against views --- */

bool launch_grid_of(const tw_launch *l, const struct kernel *ir, int64_t grid[3])
{
    struct launch_sizes s;
    launch_sizes_compile_all(&s, &l->ctx->scratch, ir, NULL, 0);
    return launch_sizes_grid(&s, l->size_values, grid);
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
        if (launch_view_reach(l, view) <= 0 || !kernel_uses(l->variant->ir, view))
            continue;
        diag_error(&l->ctx->diag, LOC_NONE,
                   "argument %d, `%s` is NULL, but view `%s` reaches over %lld elements",
                   argument_number(l->kernel->info, p), l->kernel->info->params[p].name, view->name,
                   (long long)launch_view_reach(l, view));
        diag_code(&l->ctx->diag, CODE_ARGUMENT);
        return TW_BAD_ARGUMENT;
    }
    return TW_OK;
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
    REFUSE_IF(l, l->ctx, !name || !out, "tw_launch_value: `name` or `out` is NULL");
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
    out->dtype = (tw_dtype)launch_param_dtype(l, p);
    const struct sym *view = launch_array_shape(l, p);
    if (view && launch_view_shape(l, view, out->shape)) {
        out->rank = view->type.rank;
        return TW_OK;
    }
    view = launch_view_of(l, p);
    int64_t bytes = view ? launch_array_bytes(l, p) : -1; /* of the view that reaches farthest */
    int64_t reach = bytes >= 0 ? bytes / (int64_t)dtype_size((enum dtype)out->dtype)
                    : view     ? launch_view_reach(l, view)
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
    REFUSE_IF(l, l->ctx, !param || !out, "tw_launch_shape: `param` or `out` is NULL");
    if (!SIZED_FITS(l->ctx, tw_array, out))
        return TW_BAD_ARGUMENT;
    struct value_call call = {.launch = l, .name = param};
    tw_status status = context_call(l->ctx, shape_call, &call);
    if (status == TW_OK)
        FILL_SIZED(out, call.array);
    return status;
}

/* --- running --- */

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
    REFUSE_IF(l, l->ctx, runs < 1 || !milliseconds,
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
    REFUSE_IF(l, l->ctx, !each, "tw_launch_each_wrong: `each` is NULL");
    tw_verdict ignored;
    struct value_call call = {.launch = l, .verdict = &ignored, .each = each, .user = user};
    return context_call(l->ctx, verify_call, &call);
}
