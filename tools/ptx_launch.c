#include "ptx_launch.h"
#include "npy.h"
#include "operands.h"
#include "target.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- shapes --- */

/* "32,8" */
static bool read_shape(const char *text, int64_t most, int64_t out[3])
{
    const char *at = text;
    for (int i = 0; i < 3; i++)
        out[i] = 1;
    for (int i = 0; i < 3; i++) {
        char *end;
        if (!isdigit((unsigned char)*at))
            return false;
        long long v = strtoll(at, &end, 10);
        if (v < 1 || v > most)
            return false;
        out[i] = v;
        if (!*end)
            return true;
        if (*end != ',')
            return false;
        at = end + 1;
    }
    return false;
}

static int take_shape(const struct options *o, const char *name, int64_t most, int64_t out[3])
{
    const char *text = options_value(o, name);
    if (!text || read_shape(text, most, out))
        return STATUS_OK;
    return usage_error(o->complaints, o->command,
                       "--%s %s: expected X, X,Y or X,Y,Z, each from 1 to %lld", name, text,
                       (long long)most);
}

static int read_launch(struct ptx_given *g, const struct ptx_file *f, const struct options *o)
{
    int64_t block[3] = {0}, cluster[3] = {1, 1, 1}, shared = 0;
    for (int i = 0; i < 3; i++)
        g->launch.grid[i] = 1;
    int status = take_shape(o, "grid", INT32_MAX, g->launch.grid);
    if (status == STATUS_OK)
        status = take_shape(o, "block", 1024, block);
    if (status == STATUS_OK)
        status = take_shape(o, "cluster", 16, cluster);
    if (status != STATUS_OK || !options_integer(o, "shared", 0, 1 << 20, &shared))
        return STATUS_USAGE;
    g->launch.kernel = f->kernel;
    g->launch.shared_bytes = shared;
    for (int i = 0; i < 3; i++) {
        g->launch.block[i] = (int)block[i];
        g->launch.cluster[i] = (int)cluster[i];
    }
    if (!block[0] && !tw_ptx_block(f->ptx, f->kernel, g->launch.block))
        return usage_error(o->complaints, o->command,
                           "how many threads has a block of %s? --block X, --block X,Y …",
                           f->shown);
    return STATUS_OK;
}

/* --- arguments --- */

static int wrong(const struct options *o, const char *text, const char *what)
{
    return usage_error(o->complaints, o->command, "--arg %s: %s", text, what);
}

/* "f32", "f32[64][64]"; the type and shape in front of ':'. NULL: fine; else what is wrong. */
static const char *read_type(const char *text, size_t length, struct ptx_argument *a)
{
    size_t name = 0;
    while (name < length && text[name] != '[')
        name++;
    char *type = need_text("%.*s", (int)name, text);
    a->array.dtype = tw_dtype_from_name(type);
    free(type);
    if (a->array.dtype == TW_DTYPE_NONE)
        return "there is no such type; known are f64 f32 tf32 f16 bf16 e4m3 e5m2, i8 to i64, u8 to "
               "u64, bool";
    const char *at = text + name, *end = text + length;
    double elements = 1;
    while (at < end) {
        char *close;
        long long extent =
            *at == '[' && isdigit((unsigned char)at[1]) ? strtoll(at + 1, &close, 10) : -1;
        if (extent < 0 || *close != ']')
            return "expected TYPE[ELEMENTS], as f32[4096] or f32[64][64]";
        elements *= (double)extent;
        if (a->array.rank == TW_MAX_RANK || elements > 1e12)
            return "that is too large";
        a->array.shape[a->array.rank++] = extent;
        a->is_array = true;
        at = close + 1;
    }
    return NULL;
}

static const char *read_value(const char *text, struct ptx_argument *a)
{
    tw_dtype t = a->array.dtype;
    tw_scalar v;
    if (!parse_scalar(text, &v) || (v.is_float && !is_float_type(t)))
        return is_float_type(t) ? "expected a number behind ':'" : "expected an integer behind ':'";
    if (is_float_type(t)) {
        tw_dtype_store(t, &a->bits, v.is_float ? v.f : (double)v.i);
        return NULL;
    }
    size_t bits = 8 * tw_dtype_size(t);
    bool is_signed = t == TW_I64 || t == TW_I32 || t == TW_I16 || t == TW_I8;
    int64_t most = bits == 64 ? INT64_MAX : ((int64_t)1 << (bits - is_signed)) - 1;
    if (t == TW_BOOL)
        most = 1;
    if (v.i > most || v.i < (is_signed ? -most - 1 : 0))
        return "the type does not hold that value";
    memcpy(&a->bits, &v.i, tw_dtype_size(t)); /* little-endian, as GPUs are */
    return NULL;
}

/* "=2.5": all elements. */
static const char *fill_value(const char *text, struct ptx_argument *a)
{
    size_t size = tw_dtype_size(a->array.dtype);
    const char *why = read_value(text, a);
    for (int64_t i = 0; !why && i < tensor_elements(&a->array); i++)
        memcpy((char *)a->array.data + (size_t)i * size, &a->bits, size);
    return why;
}

/* "@FILE", for the type and shape given if there is one. */
static const char *read_file(const char *path, struct ptx_argument *a, char why[256])
{
    tw_array held;
    const char *bad = npy_read(path, &held, why);
    if (bad)
        return bad;
    a->file = need_text("%s", path);
    bool typed = a->is_array;
    if (typed && !*tw_dtype_numpy(a->array.dtype) && held.dtype == TW_F32) {
        tw_array converted; /* NumPy has no bf16 … */
        bool ok = tensor_convert(&held, a->array.dtype, &converted);
        free(held.data);
        if (!ok)
            return "no memory to convert it";
        held = converted;
    }
    if (typed &&
        (held.dtype != a->array.dtype || tensor_elements(&held) != tensor_elements(&a->array))) {
        char type[128];
        format_array_type(type, sizeof type, &held);
        snprintf(why, 256, "%.100s holds %s", path, type);
        free(held.data);
        return why;
    }
    if (typed)
        a->array.data = held.data;
    else
        a->array = held;
    a->is_array = true;
    return NULL;
}

static const char *fill_array(const char *text, struct ptx_argument *a, uint64_t seed,
                              char why[256])
{
    if (*text == '@')
        return read_file(text + 1, a, why);
    enum fill kind = fill_from_name(text);
    a->uninitialised = strcmp(text, "none") == 0;
    a->changes = kind == FILL_ZERO || a->uninitialised;
    if (kind == FILL_NONE && !a->uninitialised && *text != '=')
        return "expected rand, zero, iota, ones, wide, none, =VALUE or @FILE.npy behind ':'";
    if (!tensor_allocate(&a->array))
        return "no memory for it";
    if (*text == '=')
        return fill_value(text + 1, a);
    if (kind != FILL_NONE)
        tensor_fill(&a->array, &(struct fill_options){.kind = kind,
                                                      .seed = seed,
                                                      .scale = 1,
                                                      .limit = index_limit(&a->array, 8)});
    return NULL;
}

static int read_argument(struct ptx_argument *a, const char *text, const struct options *o,
                         uint64_t seed)
{
    char why[256];
    const char *colon = strchr(text, ':'), *bad;
    if (*text == '@') {
        bad = read_file(text + 1, a, why);
    } else if (!colon) {
        bad = "expected TYPE:VALUE, TYPE[ELEMENTS]:FILL or @FILE.npy";
    } else {
        bad = read_type(text, (size_t)(colon - text), a);
        if (!bad && a->is_array)
            bad = fill_array(colon + 1, a, seed, why);
        else if (!bad)
            bad = read_value(colon + 1 + (colon[1] == '='), a);
    }
    return bad ? wrong(o, text, bad) : STATUS_OK;
}

static int read_arguments(struct ptx_given *g, const struct options *o, uint64_t seed)
{
    int count = 0;
    for (const struct option_use *u = NULL; (u = options_next(o, "arg", u));)
        count++;
    g->list = need_memory((size_t)count * sizeof *g->list);
    g->arguments = need_memory((size_t)count * sizeof *g->arguments);
    for (const struct option_use *u = NULL; (u = options_next(o, "arg", u));) {
        struct ptx_argument *a = &g->list[g->count];
        int status = read_argument(a, u->values[0], o, seed + (uint64_t)g->count);
        g->count++;
        if (status != STATUS_OK)
            return status;
        tw_ptx_argument *out = &g->arguments[g->count - 1];
        *out = (tw_ptx_argument){.data = &a->bits, .bytes = tw_dtype_size(a->array.dtype)};
        if (!a->is_array)
            continue;
        size_t bytes = tensor_bytes(&a->array);
        *out = (tw_ptx_argument){.data = a->array.data,
                                 .bytes = bytes,
                                 .is_array = true,
                                 .uninitialised = a->uninitialised};
        a->before = need_memory(bytes);
        memcpy(a->before, a->array.data, bytes);
    }
    g->launch.arguments = g->arguments;
    g->launch.argument_count = g->count;
    return STATUS_OK;
}

/* "2=C.npy" */
static int read_outs(struct ptx_given *g, const struct options *o)
{
    char why[256];
    for (const struct option_use *u = NULL; (u = options_next(o, "out", u));) {
        const char *text = u->values[0], *equals = strchr(text, '=');
        char *end;
        long index = isdigit((unsigned char)*text) ? strtol(text, &end, 10) : -1;
        if (index < 0 || end != equals || !equals[1])
            return usage_error(o->complaints, o->command,
                               "--out %s: expected INDEX=FILE; arguments count from 0", text);
        if (index >= g->count || !g->list[index].is_array)
            return usage_error(o->complaints, o->command, "--out %s: argument %ld is no array",
                               text, index);
        const char *bad = npy_may_write(equals + 1, why);
        if (bad) {
            complain(o->complaints, "%s", bad);
            return STATUS_USAGE;
        }
        free(g->list[index].out);
        g->list[index].out = need_text("%s", equals + 1);
    }
    return STATUS_OK;
}

/* "k_param_2" is what compilers call a parameter of k whose name is lost. */
static void name_arguments(struct ptx_given *g, const struct ptx_file *f)
{
    char *made_up = need_text("%s_param_", f->kernel);
    tw_ptx_param param;
    for (int i = 0; i < g->count; i++) {
        tw_status s = tw_ptx_param_at(f->ptx, f->kernel, i, &param);
        struct ptx_argument *a = &g->list[i];
        a->named = s == TW_OK && strncmp(param.name, made_up, strlen(made_up)) != 0;
        a->name = a->named ? need_text("%s", param.name) : need_text("argument %d", i);
        g->arguments[i].name = a->name;
    }
    free(made_up);
}

/* A float for an integer, or the other way round; of .b32 nobody knows. */
static int check_values(const struct ptx_given *g, const struct ptx_file *f,
                        const struct options *o)
{
    tw_ptx_param param;
    for (int i = 0; i < g->count; i++) {
        const tw_array *given = &g->list[i].array;
        if (g->list[i].is_array || tw_ptx_param_at(f->ptx, f->kernel, i, &param) != TW_OK)
            continue;
        bool is_float = is_float_type(given->dtype), wants_float = param.type[1] == 'f';
        bool wants_integer = param.type[1] == 'u' || param.type[1] == 's';
        if ((is_float && wants_integer) || (!is_float && wants_float))
            return usage_error(o->complaints, o->command, "%s is %s, and %s is given: --arg %c%d:…",
                               g->list[i].name, param.type, tw_dtype_name(given->dtype),
                               wants_float            ? 'f'
                               : param.type[1] == 'u' ? 'u'
                                                      : 'i',
                               (int)param.bytes * 8);
    }
    return STATUS_OK;
}

int ptx_given_read(struct ptx_given *g, const struct ptx_file *f, const struct options *o,
                   uint64_t seed)
{
    *g = (struct ptx_given){0};
    int status = read_launch(g, f, o);
    if (status == STATUS_OK)
        status = read_arguments(g, o, seed);
    if (status != STATUS_OK)
        return status;
    name_arguments(g, f);
    status = check_values(g, f, o);
    return status == STATUS_OK ? read_outs(g, o) : status;
}

void ptx_given_free(struct ptx_given *g)
{
    for (int i = 0; i < g->count; i++) {
        free(g->list[i].array.data);
        free(g->list[i].before);
        free(g->list[i].file);
        free(g->list[i].out);
        free(g->list[i].name);
    }
    free(g->list);
    free(g->arguments);
    *g = (struct ptx_given){0};
}

void ptx_given_restore(struct ptx_given *g)
{
    for (int i = 0; i < g->count; i++)
        if (g->list[i].is_array)
            memcpy(g->list[i].array.data, g->list[i].before, tensor_bytes(&g->list[i].array));
}

bool ptx_argument_changed(const struct ptx_argument *a)
{
    return a->is_array && memcmp(a->array.data, a->before, tensor_bytes(&a->array)) != 0;
}

int ptx_given_write(const struct ptx_given *g, struct complaints *c)
{
    char why[256];
    for (int i = 0; i < g->count; i++) {
        const struct ptx_argument *a = &g->list[i];
        const char *bad = a->out ? tensor_write(&a->array, a->out, why) : NULL;
        if (bad) {
            complain(c, "%s", bad);
            return STATUS_FAILED;
        }
    }
    return STATUS_OK;
}

void ptx_given_json(const struct ptx_given *g, struct json *j)
{
    json_key(j, "grid");
    json_open_row(j);
    for (int i = 0; i < 3; i++)
        json_integer(j, g->launch.grid[i]);
    json_close(j, ']');
    json_key(j, "block");
    json_open_row(j);
    for (int i = 0; i < 3; i++)
        json_integer(j, g->launch.block[i]);
    json_close(j, ']');
    json_key(j, "shared");
    json_integer(j, g->launch.shared_bytes);
}
