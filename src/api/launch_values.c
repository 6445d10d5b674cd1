/* Values, arrays and views of a launch, as the launch holds them. */
#include "api/objects.h"

#include <inttypes.h>
#include <math.h>

void launch_settle(tw_launch *l)
{
    if (l->begun.variant)
        platform_queue_wait(l->ctx->queue, &l->begun.job);
}

struct scalar_env launch_env(const tw_launch *l)
{
    return (struct scalar_env){.values = l->choice.values,
                               .known = l->choice.known,
                               .count = l->kernel->info->param_count};
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

int64_t launch_view_reach(const tw_launch *l, const struct sym *view)
{
    struct view_sizes sizes;
    int64_t row_major = 1, end, step;
    if (!launch_view(l, view, &sizes))
        return INT64_MIN;
    int64_t first = sizes.offset;
    bool fits = !__builtin_add_overflow(first, 1, &end);
    for (int i = view->type.rank - 1; i >= 0; i--) {
        const int64_t stride = view->strides[i] ? sizes.stride[i] : row_major;
        int64_t *limit = stride < 0 ? &first : &end;
        if (sizes.extent[i] <= 0)
            return 0;
        fits &=
            !__builtin_mul_overflow(sizes.extent[i] - 1, stride, &step) &&
            !__builtin_add_overflow(*limit, step, limit) &&
            (view->strides[i] || !__builtin_mul_overflow(row_major, sizes.extent[i], &row_major));
    }
    return !fits ? INT64_MIN : first < 0 ? first : end;
}

int64_t launch_array_bytes(const tw_launch *l, int param)
{
    const struct view_list *views = &l->variant->views[param];
    int64_t most = 0;
    for (size_t i = 0; i < views->all.count; i++) {
        const struct sym *s = views->all.data[i];
        int64_t reach = launch_view_reach(l, s);
        if (reach < 0 || __builtin_mul_overflow(reach, (int64_t)dtype_size(s->type.dtype), &reach))
            return -1;
        most = reach > most ? reach : most;
    }
    return most;
}

int64_t launch_array_length(const tw_array *x)
{
    uint64_t n = 1;
    for (int i = 0; i < x->rank; i++)
        n *= (uint64_t)x->shape[i];
    return (int64_t)n;
}

bool launch_is_number(struct diag *d, const char *name, bool is_float, tw_value v)
{
    if (v.kind == TW_INTEGER || v.kind == TW_FLOAT)
        return true;
    diag_error(d, LOC_NONE, "`%s` is given %s: make the value with %s", name,
               v.kind == TW_POINTER ? "an address" : "a value without a kind",
               is_float ? "tw_float()" : "tw_int()");
    return false;
}

bool launch_tune_value_read(struct diag *d, const struct lang_tune *tune, tw_value given,
                            struct literal *out)
{
    bool is_float = dtype_is_float(tune->dtype);
    if (!launch_is_number(d, tune->name, is_float, given))
        return false;
    if (is_float) {
        *out = (struct literal){.is_float = true, .f = value_number(given)};
        return true;
    }
    *out = (struct literal){.i = given.i};
    if (given.kind == TW_INTEGER && dtype_wrap(tune->dtype, given.i) == given.i)
        return true;
    diag_error(d, LOC_NONE, "tuned value `%s` takes %s", tune->name,
               tune->dtype == DT_BOOL ? "false or true" : "a 32-bit integer");
    return false;
}

const char *launch_array_text(struct arena *a, enum dtype t, int rank, const int64_t *shape)
{
    struct text out;
    text_init(&out, a);
    text_add(&out, dtype_table[t].name);
    for (int i = 0; i < rank; i++)
        text_printf(&out, "[%lld]", (long long)shape[i]);
    return out.data;
}

const char *launch_param_text(struct arena *a, const struct lang_kernel *info, int param)
{
    const struct lang_param *p = &info->params[param];
    struct text out;
    text_init(&out, a);
    text_add(&out, p->type_variable >= 0 ? info->types[p->type_variable].name
                                         : dtype_table[p->dtype].name);
    for (int i = 0; i < p->rank; i++)
        text_printf(&out, "[%s]", p->dim_text[i]);
    return out.data;
}

const char *launch_array_fault(struct arena *a, const tw_array *x)
{
    if ((int)x->dtype < 0 || (int)x->dtype >= (int)DT_COUNT)
        return "has no valid element type";
    if (x->place != TW_ON_HOST && x->place != TW_ON_DEVICE)
        return "has no valid place";
    if (x->rank < 1 || x->rank > TW_MAX_RANK)
        return "must have 1 to 6 axes";
    size_t bytes = tw_dtype_size(x->dtype);
    bool empty = false;
    for (int i = 0; i < x->rank; i++) {
        if (x->shape[i] < 0)
            return "has a negative extent";
        empty = empty || x->shape[i] == 0;
    }
    for (int i = 0; i < x->rank && !empty; i++) {
        if ((uint64_t)x->shape[i] > (uint64_t)PTRDIFF_MAX / bytes)
            return "is larger than memory";
        bytes *= (size_t)x->shape[i];
    }
    if (!empty && !x->data)
        return "has no data";
    if (!empty && x->bytes && x->bytes < bytes)
        return a ? arena_printf(a, "has %zu bytes, %s needs %zu", x->bytes,
                                launch_array_text(a, (enum dtype)x->dtype, x->rank, x->shape),
                                bytes)
                 : "has fewer bytes than its shape needs";
    if ((uintptr_t)x->data % tw_dtype_size(x->dtype) != 0)
        return "is not aligned to its element type";
    return NULL;
}

const char *launch_array_refusal(const tw_launch *l, int p, const tw_array *x)
{
    struct arena *a = &l->ctx->scratch;
    const struct lang_kernel *info = l->kernel->info;
    const struct lang_param *param = &info->params[p];
    const char *expected = launch_param_text(a, info, p), *fault = launch_array_fault(a, x);
    if (fault)
        return arena_printf(a, "the array given for `%s` (%s) %s", param->name, expected, fault);
    bool rank_fits =
        param->rank == 0 || param->rank == x->rank || (param->views > 1 && x->rank == 1);
    bool type_fits = param->type_variable >= 0 || (int)param->dtype == (int)x->dtype;
    if (!rank_fits || !type_fits)
        return arena_printf(a, "`%s` is %s, expected %s", param->name,
                            launch_array_text(a, (enum dtype)x->dtype, x->rank, x->shape),
                            expected);
    if (x->place == TW_ON_DEVICE && !l->kernel->executor->lowers)
        return arena_printf(a,
                            "`%s` is on a GPU, but kernel `%s` is for the host: ask "
                            "tw_kernel_for_target for \"cuda\"",
                            param->name, info->name);
    return NULL;
}

void launch_note_refused(tw_launch *l)
{
    for (int p = 0; p < l->kernel->info->param_count; p++)
        if (l->array_refused[p])
            diag_note(&l->ctx->diag, LOC_NONE, "tw_launch_array refused one: %s",
                      launch_array_refusal(l, p, &l->refused[p]));
}

void resolve_add_literal(struct text *out, struct literal v)
{
    if (v.is_float)
        text_add_double(out, v.f, true);
    else
        text_printf(out, "%" PRId64, v.i);
}

enum dtype launch_param_dtype(const tw_launch *l, int p)
{
    const struct lang_param *param = &l->kernel->info->params[p];
    return param->type_variable >= 0 ? l->choice.types[param->type_variable] : param->dtype;
}

/* Returns the value rounded to the float type of a parameter. */
static double rounded(enum dtype t, tw_value v)
{
    _Alignas(8) unsigned char element[8];
    dtype_store_f64(t, element, value_number(v));
    return dtype_load_f64(t, element);
}

bool resolve_value_fits(tw_launch *l, int p, enum dtype t, tw_value v)
{
    struct diag *d = &l->ctx->diag;
    const char *name = l->kernel->info->params[p].name, *type = dtype_table[t].name;
    if (dtype_is_float(t)) {
        double f = value_number(v);
        if (!isfinite(f) || isfinite(rounded(t, v)))
            return true;
        diag_error(d, LOC_NONE, "`%s` = %g is beyond the range of %s", name, f, type);
        return false;
    }
    if (v.kind == TW_FLOAT) {
        struct text given;
        text_init(&given, &l->ctx->scratch);
        text_add_double(&given, v.f, false);
        diag_error(d, LOC_NONE, "`%s` is %s; %s is a float: use tw_int()", name, type, given.data);
        return false;
    }
    if (t != DT_BOOL ? dtype_wrap(t, v.i) == v.i : v.i == 0 || v.i == 1)
        return true;
    diag_error(d, LOC_NONE, "`%s` = %lld does not fit %s", name, (long long)v.i, type);
    return false;
}

void launch_take_value(tw_launch *l, int p, tw_value v)
{
    enum dtype t = launch_param_dtype(l, p);
    l->choice.known[p] = resolve_value_fits(l, p, t, v);
    if (!l->choice.known[p])
        return;
    launch_keep_value(l, p,
                      dtype_is_float(t) ? (struct literal){.is_float = true, .f = rounded(t, v)}
                                        : (struct literal){.i = v.i});
}

void launch_keep_value(tw_launch *l, int p, struct literal v)
{
    l->choice.values[p] = v;
    l->size_values[p] = size_param(launch_param_dtype(l, p), v);
}
