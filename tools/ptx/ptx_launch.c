#include "ptx/ptx_launch.h"
#include "cli/npy.h"
#include "cli/part_file.h"
#include "ptx/ptx_params.h"
#include "cli/target.h"

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
    g->launch = tw_ptx_launch_init();
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
    g->launch.cooperative = options_has(o, "cooperative");
    for (int i = 0; i < 3; i++) {
        g->launch.block[i] = (int)block[i];
        g->launch.cluster[i] = (int)cluster[i];
    }
    return STATUS_OK;
}

/* --- arguments --- */

/* Refuses a float for an integer, and an integer for a float; .b32 accepts both. */
static int check_value(const struct ptx_argument *a, const tw_ptx_param *param,
                       const struct ptx_param_found *found, const struct options *o)
{
    if (a->kind != PTX_VALUE || !param->bytes)
        return STATUS_OK;
    const char *type = found && found->type ? found->type : param->type;
    bool is_unsigned = type == param->type ? param->type[1] == 'u' : *type == 'u';
    bool is_float = is_float_type(a->type), wants_float = param->type[1] == 'f';
    bool wants_integer = param->type[1] == 'u' || param->type[1] == 's';
    if ((is_float && wants_integer) || (!is_float && wants_float))
        return usage_error(o->complaints, o->command, "%s is %s, and %s is given: --arg %c%d:…",
                           a->name, type, tw_dtype_name(a->type),
                           wants_float   ? 'f'
                           : is_unsigned ? 'u'
                                         : 'i',
                           (int)param->bytes * 8);
    return STATUS_OK;
}

/* Refuses a value of another size than the parameter's. `found`: the parameter; NULL: none. */
static int check_size(const struct ptx_argument *a, int index, const struct ptx_param_found *found,
                      const struct ptx_file *f, const struct options *o)
{
    if (a->kind != PTX_VALUE || !found || !found->bytes || a->bytes == found->bytes)
        return STATUS_OK;
    char *name = a->named ? need_text("`%s`", a->name) : need_text("it");
    complain(o->complaints, "argument %d of %s: %s has %zu bytes (%s), the value given has %zu",
             index, f->shown, name, found->bytes, found->type ? found->type : found->ptx, a->bytes);
    free(name);
    return STATUS_USAGE;
}

/* Warns of an array whose elements have another type than the parameter's. Arrays of u8 are bytes of
 * any type; integers may differ in their sign. */
static void compare_elements(const struct ptx_given *g, const struct ptx_argument *a,
                             const struct ptx_param_found *p, const struct options *o)
{
    const char *wanted = a->kind == PTX_ARRAY && p ? ptx_param_element(p) : NULL;
    if (!wanted)
        return;
    tw_dtype want = tw_dtype_from_name(wanted);
    tw_dtype given = g->arrays.list[a->first_array].array.dtype;
    if (given == TW_U8 || given == want)
        return;
    bool integers = !is_float_type(given) && !is_float_type(want);
    if (integers && tw_dtype_size(given) == tw_dtype_size(want))
        return;
    complain_warning(o->complaints, "%s is %s, and its array has elements of %s: --arg %s[…]",
                     a->name, p->type, tw_dtype_name(given), wanted);
}

/* found: the parameter; NULL: there is none at that index */
static int read_one(struct ptx_given *g, int index, const char *text, const struct ptx_file *f,
                    const struct options *o, uint64_t seed, const struct ptx_param_found *found)
{
    const char *name = found ? found->name : NULL;
    struct ptx_argument *a = &g->list[index];
    tw_ptx_param param = tw_ptx_param_init();
    char *why;
    a->named = name && *name;
    a->name = a->named ? need_text("%s", name) : need_text("argument %d", index);
    if (index >= tw_ptx_param_count(f->ptx, f->kernel) ||
        tw_ptx_param_at(f->ptx, f->kernel, index, &param) != TW_OK)
        param = tw_ptx_param_init();
    if (ptx_argument_read(a, index, text, &param, &g->arrays, seed + (uint64_t)index, &why)) {
        compare_elements(g, a, found, o);
        return check_size(a, index, found, f, o) == STATUS_OK ? check_value(a, &param, found, o)
                                                              : STATUS_USAGE;
    }
    usage_error(o->complaints, o->command, "--arg %s: %s", text, why);
    free(why);
    return STATUS_USAGE;
}

static void describe_array(const struct ptx_array *a, tw_ptx_argument *out)
{
    *out = (tw_ptx_argument){.name = a->name,
                             .data = a->array.data,
                             .bytes = tensor_bytes(&a->array),
                             .is_array = true,
                             .uninitialised = a->uninitialised,
                             .initialised = a->initialised,
                             .structs = a->array.dtype == TW_U8};
}

/* Describes an argument for the library, once all are read and no longer move in memory. */
static void describe(struct ptx_given *g, int index)
{
    struct ptx_argument *a = &g->list[index];
    tw_ptx_argument *out = &g->arguments[index];
    const struct ptx_array *arrays = g->arrays.list + a->first_array;
    if (a->kind == PTX_ARRAY) {
        describe_array(arrays, out);
        return;
    }
    a->pointers = need_memory(((size_t)a->array_count + 1) * sizeof *a->pointers);
    for (int i = 0; i < a->array_count; i++) {
        tw_ptx_argument one;
        describe_array(&arrays[i], &one);
        a->pointers[i] = (tw_ptx_pointer){.offset = arrays[i].at,
                                          .name = one.name,
                                          .data = one.data,
                                          .bytes = one.bytes,
                                          .uninitialised = one.uninitialised,
                                          .initialised = one.initialised,
                                          .structs = one.structs};
    }
    *out = (tw_ptx_argument){.name = a->name,
                             .data = a->value,
                             .bytes = a->bytes,
                             .unwritten = a->unwritten,
                             .pointers = a->pointers,
                             .pointer_count = a->array_count};
}

static int read_arguments(struct ptx_given *g, const struct ptx_file *f, const struct options *o,
                          uint64_t seed)
{
    struct ptx_params params;
    int count = options_count(o, "arg"), status = STATUS_OK;
    bool has_block = g->launch.block[0] || tw_ptx_block(f->ptx, f->kernel, g->launch.block);
    ptx_params_find(&params, f);
    g->list = need_memory(((size_t)count + 1) * sizeof *g->list);
    g->arguments = need_memory(((size_t)count + 1) * sizeof *g->arguments);
    for (const struct option_use *u = NULL; status == STATUS_OK && (u = options_next(o, "arg", u));
         g->count++)
        status = read_one(g, g->count, u->values[0], f, o, seed,
                          g->count < params.count ? &params.list[g->count] : NULL);
    if (status == STATUS_OK && (!has_block || (params.count > 0 && params.count != count)))
        status = ptx_params_refuse(&params, f, o, has_block);
    ptx_params_free(&params);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i < g->count; i++)
        describe(g, i);
    g->launch.arguments = g->arguments;
    g->launch.argument_count = g->count;
    return STATUS_OK;
}

static bool same_target(const char *a, const char *b)
{
    char *x = part_file_target(a), *y = part_file_target(b);
    bool same = x && y && strcmp(x, y) == 0;
    free(x);
    free(y);
    return same;
}

/* "2=C.npy", "out=C.npy" */
static int read_outs(struct ptx_given *g, const struct options *o)
{
    char why[256];
    for (const struct option_use *u = NULL; (u = options_next(o, "out", u));) {
        const char *text = u->values[0], *equals = strchr(text, '=');
        if (!equals || equals == text || !equals[1])
            return usage_error(o->complaints, o->command,
                               "--out %s: expected INDEX=FILE; arguments count from 0", text);
        char *which = need_text("%.*s", (int)(equals - text), text);
        struct ptx_array *a = ptx_array_find(&g->arrays, which);
        bool digits = which[strspn(which, "0123456789")] == 0;
        if (!a)
            usage_error(o->complaints, o->command, "--out %s: %s%s is not an array", text,
                        digits ? "argument " : "", which);
        free(which);
        if (!a)
            return STATUS_USAGE;
        for (int i = 0; i < g->arrays.count; i++) {
            const struct ptx_array *other = &g->arrays.list[i];
            if (other != a && other->out && same_target(other->out, equals + 1))
                return usage_error(o->complaints, o->command,
                                   "--out %s: %s%s goes to the same file, and one of them would "
                                   "be lost",
                                   text, other->is_field || other->named ? "" : "argument ",
                                   other->named ? other->name : other->path);
        }
        const char *bad = npy_may_write(equals + 1, why);
        if (bad) {
            complain(o->complaints, "%s", bad);
            return STATUS_USAGE;
        }
        free(a->out);
        a->out = need_text("%s", equals + 1);
    }
    return STATUS_OK;
}

int ptx_given_read(struct ptx_given *g, const struct ptx_file *f, const struct options *o,
                   uint64_t seed)
{
    *g = (struct ptx_given){0};
    int status = read_launch(g, f, o);
    if (status == STATUS_OK)
        status = read_arguments(g, f, o, seed);
    return status == STATUS_OK ? read_outs(g, o) : status;
}

void ptx_given_free(struct ptx_given *g)
{
    int count = g->list ? g->count : 0;
    for (int i = 0; i < count; i++) {
        free(g->list[i].value);
        free(g->list[i].unwritten);
        free(g->list[i].name);
        free(g->list[i].pointers);
    }
    free(g->list);
    free(g->arguments);
    ptx_arrays_free(&g->arrays);
    *g = (struct ptx_given){0};
}

void ptx_given_restore(struct ptx_given *g)
{
    for (int i = 0; i < g->arrays.count; i++) {
        struct ptx_array *a = &g->arrays.list[i];
        if (a->before)
            memcpy(a->array.data, a->before, tensor_bytes(&a->array));
    }
}

bool ptx_array_changed(const struct ptx_array *a)
{
    return a->before && memcmp(a->array.data, a->before, tensor_bytes(&a->array)) != 0;
}

int ptx_given_write(const struct ptx_given *g, struct complaints *c)
{
    char why[256];
    for (int i = 0; i < g->arrays.count; i++) {
        const struct ptx_array *a = &g->arrays.list[i];
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
    json_put_integers(j, "grid", 3, g->launch.grid);
    json_put_axes(j, "block", g->launch.block[0], g->launch.block[1], g->launch.block[2]);
    json_put_integer(j, "shared", g->launch.shared_bytes);
    json_put_bool(j, "cooperative", g->launch.cooperative);
}
