/* Arrays of a run: reads them from .npy files or creates and fills them, and writes the ones to
 * keep. */
#include "cli/npy.h"
#include "cli/operands.h"
#include "cli/part_file.h"
#include "run/run.h"
#include "cli/settings.h"
#include "cli/tensor.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct given_array *array_by_name(struct run *r, const char *name)
{
    tw_param param = tw_param_init();
    for (int i = 0; i < r->array_count; i++)
        if (strcmp(r->arrays[i].param.name, name) == 0)
            return &r->arrays[i];
    if (find_param(&r->program, r->kernel, name, true, &param) >= 0)
        complain(&r->complaints, "`%s` is not an array; give it with --set %s=VALUE", name, name);
    return NULL;
}

/* Returns the comma that ends FILE in "a=A.npy,b=B.npy", or the end of the text. A comma belongs
 * to the file's name unless NAME= follows it. */
static const char *end_of_file(const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c != ',' || (!isalpha((unsigned char)c[1]) && c[1] != '_'))
            continue;
        const char *name = c + 1;
        while (isalnum((unsigned char)*name) || *name == '_')
            name++;
        if (*name == '=')
            return c;
    }
    return text + strlen(text);
}

/* Returns another array that would be written to the same file, even if by another path, or
 * NULL. A device such as /dev/null may receive any number of arrays. */
static const char *other_out(const struct run *r, const struct given_array *o, const char *file)
{
    const char *other = NULL;
    char *target = part_file_target(file);
    for (int i = 0; i < r->array_count && target && !other; i++) {
        const struct given_array *x = &r->arrays[i];
        char *taken = x != o && x->out ? part_file_target(x->out) : NULL;
        if (taken && strcmp(taken, target) == 0)
            other = x->param.name;
        free(taken);
    }
    free(target);
    return other;
}

/* Reads one "a=FILE" of --in or --out. Takes ownership of `file`. */
static int take_file(struct run *r, const char *option, const char *name, char *file)
{
    bool is_in = option[0] == 'i';
    char why[256];
    const char *wrong, *other;
    struct given_array *o = array_by_name(r, name);
    char **place = o ? is_in ? &o->in : &o->out : NULL;
    int status = STATUS_OK;
    if (!o)
        status = STATUS_USAGE;
    else if (strcmp(file, "-") == 0)
        status = usage_error(&r->complaints, r->given->command,
                             "--%s %s=-: arrays are files here, not standard %s", option, name,
                             is_in ? "input" : "output");
    else if (!is_in && o->param.is_const)
        status = usage_error(&r->complaints, r->given->command,
                             "--out %s=%s: `%s` is const, the kernel does not write it", name, file,
                             name);
    else if (!is_in && (other = other_out(r, o, file)))
        status = usage_error(&r->complaints, r->given->command,
                             "--out %s=%s: `%s` goes to the same file, and one of them would be "
                             "lost",
                             name, file, other);
    else if (!is_in && (wrong = npy_may_write(file, why))) {
        complain(&r->complaints, "%s", wrong);
        status = STATUS_USAGE;
    }
    if (status != STATUS_OK) {
        free(file);
        return status;
    }
    free(*place);
    *place = file;
    return STATUS_OK;
}

/* Reads "a=FILE,b=FILE" of --in or --out. */
static int take_files(struct run *r, const struct option_use *use)
{
    int status = STATUS_OK;
    for (const char *text = use->values[0]; *text && status == STATUS_OK;) {
        const char *equals = strchr(text, '=');
        const char *end = end_of_file(text);
        if (!equals || equals == text || equals + 1 >= end)
            return usage_error(&r->complaints, r->given->command, "--%s %s: expected NAME=FILE",
                               use->spec->name, text);
        char *name = need_text("%.*s", (int)(equals - text), text);
        char *file = need_text("%.*s", (int)(end - equals - 1), equals + 1);
        status = take_file(r, use->spec->name, name, file);
        free(name);
        text = *end ? end + 1 : end;
    }
    return status;
}

/* Reads a fill: "rand" applies to every array without other data, "a=iota" to one array. */
static int take_fill(struct run *r, const char *text)
{
    const char *equals = strchr(text, '=');
    enum fill kind = fill_from_name(equals ? equals + 1 : text);
    if (kind == FILL_NONE)
        return usage_error(&r->complaints, r->given->command,
                           "--fill %s: expected [NAME=]" FILL_NAMES, text);
    if (equals) {
        char *name = need_text("%.*s", (int)(equals - text), text);
        struct given_array *o = array_by_name(r, name);
        free(name);
        if (!o)
            return STATUS_USAGE;
        o->fill = kind;
        return STATUS_OK;
    }
    for (int i = 0; i < r->array_count; i++)
        if (r->arrays[i].param.is_const)
            r->arrays[i].fill = kind;
    return STATUS_OK;
}

/* Reads the fills of --fill that have a NAME, or those that have none. */
static int take_fills(struct run *r, const struct option_use *use, bool named)
{
    char *list = need_text("%s", use->values[0]);
    int status = STATUS_OK;
    for (char *text = strtok(list, ","); text && status == STATUS_OK; text = strtok(NULL, ","))
        if ((strchr(text, '=') != NULL) == named)
            status = take_fill(r, text);
    free(list);
    return status;
}

int run_gather(struct run *r)
{
    int count = tw_kernel_param_count(r->kernel);
    r->arrays = need_memory((size_t)count * sizeof *r->arrays);
    for (int i = 0; i < count; i++) {
        struct given_array *o = &r->arrays[r->array_count];
        o->param = tw_param_init();
        o->array = tw_array_init();
        tw_kernel_param(r->kernel, i, &o->param);
        r->array_count += o->param.is_pointer;
    }
    int status = STATUS_OK;
    const struct options *given = r->given;
    for (int i = 0; i < given->use_count && status == STATUS_OK; i++) {
        const char *name = given->uses[i].spec->name;
        if (strcmp(name, "in") == 0 || strcmp(name, "out") == 0)
            status = take_files(r, &given->uses[i]);
    }
    /* An array's own --fill takes precedence over the general one; otherwise the last one wins. */
    for (int named = 0; named <= 1; named++)
        for (int i = 0; i < given->use_count && status == STATUS_OK; i++)
            if (strcmp(given->uses[i].spec->name, "fill") == 0)
                status = take_fills(r, &given->uses[i], named);
    for (int i = 0; i < r->array_count && r->explains; i++)
        if (r->arrays[i].param.is_const && r->arrays[i].fill == FILL_NONE)
            r->arrays[i].fill = FILL_RAND;
    return status;
}

/* Returns whether the type variable may take the type. Writes its choices to `text`: "T = {f32,
 * f16}". */
static bool is_choice(const struct run *r, const char *variable, tw_dtype t, char *text,
                      size_t size)
{
    tw_type type = tw_type_init();
    bool found = false;
    for (int i = 0; tw_kernel_type(r->kernel, i, &type) == TW_OK; i++) {
        if (strcmp(type.name, variable) != 0)
            continue;
        int at = snprintf(text, size, "%s = {", variable);
        for (int c = 0; c < type.count && (size_t)at < size; c++) {
            at += snprintf(text + at, size - (size_t)at, "%s%s", c ? ", " : "",
                           tw_dtype_name(type.choices[c]));
            found |= type.choices[c] == t;
        }
        if ((size_t)at < size)
            snprintf(text + at, size - (size_t)at, "}");
    }
    return found;
}

/* Returns the type that the parameter needs in place of the array's type, or TW_DTYPE_NONE if
 * the array's type fits. Writes all types that the parameter accepts to `text`. */
static tw_dtype type_wanted(const struct run *r, const struct given_array *o, char *text,
                            size_t size)
{
    tw_dtype wanted = o->param.dtype;
    const char *variable = o->param.type_name;
    tw_type type = tw_type_init();
    text[0] = '\0';
    if (wanted == TW_DTYPE_NONE && variable)
        wanted = settings_type(r->given, variable);
    if (wanted != TW_DTYPE_NONE) {
        snprintf(text, size, "%s", tw_dtype_name(wanted));
        return wanted == o->array.dtype ? TW_DTYPE_NONE : wanted;
    }
    if (!variable || is_choice(r, variable, o->array.dtype, text, size))
        return TW_DTYPE_NONE;
    if (is_choice(r, variable, TW_F32, text, size)) /* the usual type of arrays */
        return TW_F32;
    for (int i = 0; tw_kernel_type(r->kernel, i, &type) == TW_OK; i++)
        if (strcmp(type.name, variable) == 0)
            wanted = type.choices[0];
    return wanted;
}

/* Converts f32 files if the kernel takes bf16, tf32, e4m3 or e5m2, which NumPy does not have.
 * Reports any other difference, because only the caller can resolve it. */
static int fit_type(struct run *r, struct given_array *o)
{
    char taken[128];
    tw_dtype wanted = type_wanted(r, o, taken, sizeof taken);
    if (wanted == TW_DTYPE_NONE)
        return STATUS_OK;
    bool in_numpy = *tw_dtype_numpy(wanted);
    if (!in_numpy && o->array.dtype == TW_F32) {
        tw_array converted = tw_array_init();
        bool ok = tensor_convert(&o->array, wanted, &converted);
        free(o->array.data);
        o->array = converted;
        if (!ok)
            complain(&r->complaints, "%s: no memory to convert it", o->in);
        return ok ? STATUS_OK : STATUS_FAILED;
    }
    complain(&r->complaints, "%s holds %s, but `%s` of %s takes %s", o->in,
             tw_dtype_name(o->array.dtype), o->param.name, tw_kernel_name(r->kernel), taken);
    complain_more(&r->complaints, "numpy.save(\"%s\", %s.astype(\"%s\")) writes what it takes",
                  o->in, o->param.name, in_numpy ? tw_dtype_numpy(wanted) : "f4");
    return STATUS_USAGE;
}

static int give_array(struct run *r, struct given_array *o)
{
    o->is_given = true;
    tw_status s = tw_launch_array(r->launch, o->param.name, &o->array);
    if (s == TW_OK)
        return STATUS_OK;
    if (o->in) {
        char type[128];
        format_array_type(type, sizeof type, &o->array);
        complain(&r->complaints, "%s (%s) does not fit `%s`:", o->in, type, o->param.name);
    }
    complain_library(&r->complaints, r->program.ctx, s);
    return STATUS_USAGE;
}

static bool is_missing(const struct given_array *o)
{
    return !o->in && o->param.is_const && o->fill == FILL_NONE;
}

/* Names all arrays that the kernel reads and that have no file and no fill. */
static int say_missing(struct run *r)
{
    char *names = NULL, *files = NULL;
    int count = 0;
    for (int i = 0; i < r->array_count; i++) {
        const char *name = r->arrays[i].param.name;
        if (!is_missing(&r->arrays[i]))
            continue;
        append_text(&names, "%s`%s`", count ? ", " : "", name);
        append_text(&files, "%s--in %s=FILE.npy", count ? " " : "", name);
        count++;
    }
    int status =
        usage_error(&r->complaints, r->given->command, "%s %s not given: %s, or --fill rand", names,
                    count == 1 ? "is" : "are", files);
    free(names);
    free(files);
    return status;
}

int run_read_inputs(struct run *r)
{
    char why[256];
    for (int i = 0; i < r->array_count; i++) {
        struct given_array *o = &r->arrays[i];
        if (!o->in) {
            if (is_missing(o))
                return say_missing(r);
            continue;
        }
        const char *wrong = npy_read(o->in, &o->array, why);
        if (wrong) {
            complain(&r->complaints, "%s", wrong);
            if (access(o->in, F_OK) != 0)
                r->complaints.status = TW_NO_FILE;
            return STATUS_USAGE;
        }
        int status = fit_type(r, o);
        if (status == STATUS_OK)
            status = give_array(r, o);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

int run_give_inputs(struct run *r)
{
    int status = STATUS_OK;
    for (int i = 0, at = 0; status == STATUS_OK && at < r->array_count; i++) {
        tw_param param = tw_param_init();
        tw_kernel_param(r->kernel, i, &param);
        if (!param.is_pointer)
            continue;
        struct given_array *o = &r->arrays[at++]; /* in the order of the parameters */
        o->param = param;
        status = o->is_given ? give_array(r, o) : STATUS_OK;
    }
    return status;
}

static int say_no_memory(struct run *r, const struct given_array *o, double all)
{
    tensor_say_no_memory(&o->array, o->param.name, all, &r->complaints);
    r->complaints.status = TW_NO_MEMORY;
    return STATUS_USAGE;
}

static int find_shapes(struct run *r, int64_t *limit)
{
    for (int i = 0; i < r->array_count; i++) {
        struct given_array *o = &r->arrays[i];
        tw_status s = o->is_given ? TW_OK : tw_launch_shape(r->launch, o->param.name, &o->array);
        if (s != TW_OK) {
            complain_library(&r->complaints, r->program.ctx, s);
            if (s == TW_UNSUPPORTED)
                complain_more(&r->complaints, "--in %s=FILE.npy gives it", o->param.name);
            return STATUS_USAGE;
        }
        *limit = index_limit(&o->array, *limit);
    }
    return STATUS_OK;
}

/* Allocates memory for all arrays before the program writes to any of them. */
static int allocate_arrays(struct run *r)
{
    double bytes = 0;
    for (int i = 0; i < r->array_count; i++)
        if (!tensor_fits(&r->arrays[i].array, &bytes))
            return say_no_memory(r, &r->arrays[i], bytes);
    for (int i = 0; i < r->array_count; i++)
        if (!r->arrays[i].is_given && !tensor_allocate(&r->arrays[i].array))
            return say_no_memory(r, &r->arrays[i], bytes);
    return STATUS_OK;
}

int run_make_arrays(struct run *r)
{
    int64_t limit = INT64_MAX;
    int found = find_shapes(r, &limit);
    if (found == STATUS_OK)
        found = allocate_arrays(r);
    if (found != STATUS_OK)
        return found;
    for (int i = 0; i < r->array_count; i++) {
        struct given_array *o = &r->arrays[i];
        if (o->is_given)
            continue;
        o->is_atomic = is_output(&o->param) && has_atomic(r->launch, o->param.name);
        o->unwritten = is_output(&o->param) && o->fill == FILL_NONE;
        struct fill_options fill = {.kind = o->fill, .seed = (uint64_t)(r->seed + i), .scale = 1};
        if (o->fill != FILL_NONE) {
            limit_integers(&fill, r->launch, &o->param, limit);
            tensor_fill(&o->array, &fill);
        }
        int status = give_array(r, o);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

int run_write_outputs(struct run *r)
{
    char why[256];
    for (int i = 0; i < r->array_count; i++) {
        const struct given_array *o = &r->arrays[i];
        const char *wrong = o->out ? tensor_write(&o->array, o->out, why) : NULL;
        if (wrong) {
            complain(&r->complaints, "%s", wrong);
            return STATUS_FAILED;
        }
    }
    return STATUS_OK;
}

bool run_any_unwritten(const struct run *r)
{
    bool any = false;
    for (int i = 0; i < r->array_count; i++)
        any = any || r->arrays[i].unwritten;
    return any;
}
