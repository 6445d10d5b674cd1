#include "bench/bench_settings.h"
#include "bench/product.h"
#include "cli/settings.h"
#include "tilewright_tuning.h"

#include <math.h>
#include <string.h>

/* --- types --- */

static const tw_dtype every_type[] = {TW_F16, TW_BF16, TW_F32, TW_TF32, TW_I8, TW_E4M3};
static const struct {
    const char *name;
    tw_dtype type;
} type_names[] = {{"int8", TW_I8}, {"fp8", TW_E4M3}, {"fp16", TW_F16}, {"fp32", TW_F32}};

static int put_type(struct bench_types *x, const struct command *self, tw_dtype type)
{
    if (x->count == TYPES_MOST)
        return usage_error(NULL, self, "--type: at most %d types", TYPES_MOST);
    x->list[x->count++] = type;
    return STATUS_OK;
}

static int add_type(struct bench_types *x, const struct command *self, const char *name)
{
    tw_dtype type = tw_dtype_from_name(name);
    for (size_t i = 0; i < sizeof type_names / sizeof *type_names; i++)
        if (strcmp(name, type_names[i].name) == 0)
            type = type_names[i].type;
    if (type == TW_DTYPE_NONE)
        return usage_error(NULL, self,
                           "unknown type '%s'; there are f16, bf16, f32, "
                           "tf32, int8, fp8, …, and all",
                           name);
    return put_type(x, self, type);
}

/* Adds the types of --type f16,bf16 or --type all. */
static int add_types(struct bench_types *x, const struct command *self, const char *text)
{
    int status = STATUS_OK;
    if (strcmp(text, "all") == 0) {
        for (size_t i = 0; i < sizeof every_type / sizeof *every_type && status == STATUS_OK; i++)
            status = put_type(x, self, every_type[i]);
        return status;
    }
    for (; *text && status == STATUS_OK; text += *text == ',') {
        char name[24];
        size_t length = strcspn(text, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, text);
        status = add_type(x, self, name);
        text += length;
    }
    return status;
}

int bench_split_types(struct bench_types *types, struct options *rest, const struct command *self,
                      const struct options *given)
{
    *rest = *given;
    rest->uses = need_memory((size_t)(given->use_count + 1) * sizeof *rest->uses);
    rest->use_count = 0;
    int status = STATUS_OK;
    for (int i = 0; i < given->use_count && status == STATUS_OK; i++) {
        const struct option_use *u = &given->uses[i];
        if (strcmp(u->spec->name, "type") == 0 && !strchr(u->values[0], '='))
            status = add_types(types, self, u->values[0]);
        else
            rest->uses[rest->use_count++] = *u;
    }
    if (types->count == 0)
        types->list[types->count++] = TW_DTYPE_NONE;
    return status;
}

bool bench_takes_type(tw_kernel *k, tw_dtype dtype)
{
    tw_param p = tw_param_init();
    tw_type t = tw_type_init();
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++) {
        if (!p.is_pointer || !p.is_const)
            continue;
        if (!p.type_name)
            return p.dtype == dtype;
        for (int v = 0; tw_kernel_type(k, v, &t) == TW_OK; v++)
            for (int c = 0; strcmp(t.name, p.type_name) == 0 && c < t.count; c++)
                if (t.choices[c] == dtype)
                    return true;
        return false;
    }
    return false;
}

static void set_types(tw_launch *l, tw_kernel *k, tw_dtype dtype)
{
    tw_type t = tw_type_init();
    for (int i = 0; tw_kernel_type(k, i, &t) == TW_OK; i++)
        for (int c = 0; c < t.count; c++)
            if (t.choices[c] == dtype)
                tw_launch_type(l, t.name, dtype);
}

/* --- a launch --- */

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

/* Does not shrink 8-bit floats with K, because they hold few values below 1/100. */
double bench_scale(int64_t k, tw_dtype dtype)
{
    return k > 0 && tw_dtype_size(dtype) > 1 ? 1 / sqrt((double)k) : 1;
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
