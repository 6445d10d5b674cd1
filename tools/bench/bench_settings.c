#include "bench/bench_settings.h"
#include "cli/product.h"
#include "cli/settings.h"
#include "tilewright_tuning.h"

#include <string.h>

static void set_types(tw_launch *l, tw_kernel *k, tw_dtype dtype)
{
    tw_type t = tw_type_init();
    for (int i = 0; tw_kernel_type(k, i, &t) == TW_OK; i++)
        for (int c = 0; c < t.count; c++)
            if (t.choices[c] == dtype)
                tw_launch_type(l, t.name, dtype);
}

int bench_set_up(tw_launch *l, tw_kernel *k, const struct program *p, const struct options *rest,
                 const struct shape *shape, tw_dtype dtype)
{
    if (shape) {
        tw_launch_set(l, "m", tw_int(shape->m));
        tw_launch_set(l, "n", tw_int(shape->n));
        tw_launch_set(l, "k", tw_int(shape->k));
    }
    if (shape && takes_extent(k, "batch"))
        tw_launch_set(l, "batch", tw_int(shape->batch));
    if (dtype != TW_DTYPE_NONE)
        set_types(l, k, dtype);
    return apply_settings(l, k, p, rest, true);
}

int bench_take_tuned(tw_launch *l, tw_kernel *k, const struct program *p,
                     const struct options *rest, enum bench_from *from)
{
    tw_store *store;
    tw_tuned key = tw_tuned_init();
    tw_tuned taken = tw_tuned_init();
    *from = options_has(rest, "tune") ? BENCH_GIVEN : BENCH_DEFAULT;
    if (!options_has(rest, "tuned"))
        return STATUS_OK;
    tw_status s = tw_store_open_existing(p->ctx, options_value(rest, "store"), &store);
    if (s == TW_OK)
        s = tw_launch_tuned(l, store, NULL, true, &taken);
    if (s == TW_OK && tw_launch_tuning_key(l, NULL, &key) == TW_OK)
        *from = strcmp(key.shape, taken.shape) == 0 ? BENCH_TUNED : BENCH_TUNED_NEAR;
    bool failed = s != TW_OK && s != TW_NOT_FOUND;
    if (s != TW_OK && (failed || tw_kernel_tune_count(k) > 0))
        complain_library(NULL, p->ctx, s);
    if (s == TW_NOT_FOUND && tw_kernel_tune_count(k) > 0)
        complain_more(NULL, "here it runs with %s",
                      options_has(rest, "tune") ? "what --tune says" : "its default values");
    tw_store_close(store);
    return failed ? STATUS_USAGE : STATUS_OK;
}

int64_t bench_size_of(tw_launch *l, const char *name, int64_t otherwise)
{
    tw_value v;
    return tw_launch_value(l, name, &v) == TW_OK ? v.i : otherwise;
}

tw_dtype bench_type_read(tw_launch *l, tw_kernel *k)
{
    tw_param p = tw_param_init();
    tw_array a = tw_array_init();
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++)
        if (p.is_pointer && p.is_const)
            return tw_launch_shape(l, p.name, &a) == TW_OK ? a.dtype : TW_DTYPE_NONE;
    return TW_DTYPE_NONE;
}

void bench_write_config(char *out, size_t size, tw_launch *l, tw_kernel *k)
{
    tw_tune t = tw_tune_init();
    tw_value v;
    size_t at = 0;
    out[0] = '\0';
    for (int i = 0; tw_kernel_tune(k, i, &t) == TW_OK; i++) {
        char value[32];
        if (at >= size || tw_launch_value(l, t.name, &v) != TW_OK)
            continue;
        format_scalar(value, sizeof value, v, TW_DTYPE_NONE);
        at += (size_t)snprintf(out + at, size - at, "%s%s=%s", at ? "," : "", t.name, value);
    }
}
