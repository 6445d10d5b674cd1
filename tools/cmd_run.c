/* run: one kernel, on arrays from files or made here. */
#include "commands.h"
#include "cmd_ptx.h"
#include "ptx_launch.h"
#include "json.h"
#include "npy.h"
#include "operands.h"
#include "settings.h"
#include "sim_options.h"
#include "tensor.h"
#include "tuned.h"
#include "verdict.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One pointer parameter of the kernel. */
struct given_array {
    tw_param param;
    tw_array array;
    char *in, *out; /* files, or NULL */
    enum fill fill;
    void *before, *after; /* what it held before the first run and after the last, when the kernel
                             may write it */
    bool is_given;
    bool unwritten; /* nobody has said what it starts with, and `ensures` says what it ends with */
};

struct run {
    const struct options *given;
    struct complaints complaints;
    struct program program;
    tw_kernel *kernel;
    tw_launch *launch;
    struct given_array *arrays;
    int array_count;
    int64_t seed, repeat;
    double time_limit; /* seconds of one run; 0: none */
    struct deadline deadline;
    bool json, verify;
    double *seconds; /* of each run */
    tw_verdict verdict;
    tw_status verified;
    char *taken; /* by --tuned, in words */
    char *view;  /* the verdict's, kept */
    bool reported;
    bool simulated;
    bool again; /* it was right once, on outputs that held zeros */
    struct sim_options sim;
    tw_sim_result found;
    char *counters, *found_json; /* of the run that is reported, kept */
    FILE *print;                 /* of kernels; NULL: dropped */
};

static struct given_array *array_by_name(struct run *r, const char *name)
{
    tw_param param;
    for (int i = 0; i < r->array_count; i++)
        if (strcmp(r->arrays[i].param.name, name) == 0)
            return &r->arrays[i];
    if (find_param(&r->program, r->kernel, name, true, &param) >= 0)
        complain(&r->complaints, "`%s` is no array; give it with --set %s=VALUE", name, name);
    return NULL;
}

/* The comma in "a=A.npy,b=B.npy", or the end: a comma is one of the file's name unless NAME=
 * follows. */
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

/* "a=FILE" of --in and --out. `file` is taken. */
static int take_file(struct run *r, const char *option, const char *name, char *file)
{
    bool is_in = option[0] == 'i';
    char why[256];
    const char *wrong;
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

/* "a=FILE,b=FILE" of --in and --out. */
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

/* "rand" for every array that is given no other way, "a=iota" for one. */
static int take_fill(struct run *r, const struct option_use *use)
{
    const char *text = use->values[0];
    const char *equals = strchr(text, '=');
    enum fill kind = fill_from_name(equals ? equals + 1 : text);
    if (kind == FILL_NONE)
        return usage_error(&r->complaints, r->given->command,
                           "--fill %s: expected [NAME=]rand, zero, iota or ones", text);
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

static int gather_arrays(struct run *r)
{
    int count = tw_kernel_param_count(r->kernel);
    r->arrays = need_memory((size_t)count * sizeof *r->arrays);
    for (int i = 0; i < count; i++) {
        struct given_array *o = &r->arrays[r->array_count];
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
    /* one array's own --fill counts over the general one, else a later over an earlier */
    for (int named = 0; named <= 1; named++)
        for (int i = 0; i < given->use_count && status == STATUS_OK; i++)
            if (strcmp(given->uses[i].spec->name, "fill") == 0 &&
                (strchr(given->uses[i].values[0], '=') != NULL) == named)
                status = take_fill(r, &given->uses[i]);
    return status;
}

/* The type that `--type` chose for a variable, or none. */
static tw_dtype chosen_type(const struct run *r, const char *variable)
{
    tw_dtype t = TW_DTYPE_NONE;
    for (const struct option_use *u = NULL; (u = options_next(r->given, "type", u));) {
        const char *at = u->values[0];
        struct assignment a;
        bool bad;
        if (!strchr(at, '='))
            t = tw_dtype_from_name(at);
        while (next_assignment(&at, &a, &bad))
            if (strcmp(a.name, variable) == 0)
                t = tw_dtype_from_name(a.value);
    }
    return t;
}

/* Whether the variable may stand for the type; text: "T = {f32, f16}". */
static bool is_choice(const struct run *r, const char *variable, tw_dtype t, char *text,
                      size_t size)
{
    tw_type type;
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

/* What the parameter takes instead of the array's type; TW_DTYPE_NONE: nothing, it fits. `text`
 * says all that it takes. */
static tw_dtype type_wanted(const struct run *r, const struct given_array *o, char *text,
                            size_t size)
{
    tw_dtype wanted = o->param.dtype;
    const char *variable = o->param.type_name;
    tw_type type;
    text[0] = '\0';
    if (wanted == TW_DTYPE_NONE && variable)
        wanted = chosen_type(r, variable);
    if (wanted != TW_DTYPE_NONE) {
        snprintf(text, size, "%s", tw_dtype_name(wanted));
        return wanted == o->array.dtype ? TW_DTYPE_NONE : wanted;
    }
    if (!variable || is_choice(r, variable, o->array.dtype, text, size))
        return TW_DTYPE_NONE;
    if (is_choice(r, variable, TW_F32, text, size)) /* what most arrays are meant to be */
        return TW_F32;
    for (int i = 0; tw_kernel_type(r->kernel, i, &type) == TW_OK; i++)
        if (strcmp(type.name, variable) == 0)
            wanted = type.choices[0];
    return wanted;
}

/* NumPy has no bf16, tf32, e4m3, e5m2: where the kernel takes one, f32 files are converted. Any
 * other difference is the caller's to mend. */
static int fit_type(struct run *r, struct given_array *o)
{
    char taken[128];
    tw_dtype wanted = type_wanted(r, o, taken, sizeof taken);
    if (wanted == TW_DTYPE_NONE)
        return STATUS_OK;
    bool in_numpy = *tw_dtype_numpy(wanted);
    if (!in_numpy && o->array.dtype == TW_F32) {
        tw_array converted;
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

static int read_inputs(struct run *r)
{
    char why[256];
    for (int i = 0; i < r->array_count; i++) {
        struct given_array *o = &r->arrays[i];
        if (!o->in) {
            if (o->param.is_const && o->fill == FILL_NONE)
                return usage_error(&r->complaints, r->given->command,
                                   "`%s` is not given: --in %s=FILE.npy, or --fill rand",
                                   o->param.name, o->param.name);
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

static int prepare(struct run *r)
{
    tw_status s = tw_launch_prepare(r->launch);
    if (s != TW_OK || *tw_context_messages(r->program.ctx))
        complain_library(&r->complaints, r->program.ctx, s);
    bool unset = s == TW_BAD_ARGUMENT && strstr(tw_context_messages(r->program.ctx), "is not set");
    char *missing = unset ? missing_scalars(r->launch, r->kernel) : NULL;
    if (missing)
        complain_more(&r->complaints, "give it with --set %s", missing);
    free(missing);
    return s == TW_OK ? STATUS_OK : STATUS_USAGE;
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

/* Memory for all of them, before any is touched. */
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

/* Arrays that no file gives, once the sizes are known. */
static int make_arrays(struct run *r)
{
    int64_t limit = 8;
    int found = find_shapes(r, &limit);
    if (found == STATUS_OK)
        found = allocate_arrays(r);
    if (found != STATUS_OK)
        return found;
    for (int i = 0; i < r->array_count; i++) {
        struct given_array *o = &r->arrays[i];
        if (o->is_given)
            continue;
        o->unwritten = is_output(&o->param) && o->fill == FILL_NONE;
        if (o->fill != FILL_NONE)
            tensor_fill(&o->array, &(struct fill_options){.kind = o->fill,
                                                          .seed = (uint64_t)(r->seed + i),
                                                          .scale = 1,
                                                          .limit = limit});
        int status = give_array(r, o);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static tw_status launch(struct run *r, double *seconds)
{
    if (r->simulated) {
        tw_status s = tw_launch_simulate(r->launch, &r->sim.options, &r->found);
        *seconds = r->found.seconds;
        return s;
    }
    double milliseconds;
    tw_status s = tw_launch_time(r->launch, 1, &milliseconds);
    *seconds = 1e-3 * milliseconds;
    return s;
}

/* As long as --time-limit says. */
static tw_status launch_timed(struct run *r, double *seconds)
{
    if (r->time_limit > 0)
        r->deadline.at = seconds_now() + r->time_limit;
    tw_status s = launch(r, seconds);
    r->deadline.at = 0;
    return s;
}

/* A status other than TW_OK. */
static int say_failed(struct run *r, tw_status s)
{
    if (s == TW_CANCELLED)
        return complain_of_time(&r->complaints, tw_kernel_name(r->kernel), r->time_limit);
    complain_library(&r->complaints, r->program.ctx, s);
    bool failed = s == TW_FAULT || s == TW_NOT_ASSUMED || s == TW_NO_MEMORY;
    return failed ? STATUS_FAILED : STATUS_USAGE;
}

static bool any_unwritten(const struct run *r)
{
    bool any = false;
    for (int i = 0; i < r->array_count; i++)
        any = any || r->arrays[i].unwritten;
    return any;
}

static int launch_once(struct run *r, int64_t turn)
{
    bool again = r->verify && any_unwritten(r);
    for (int i = 0; i < r->array_count; i++) {
        struct given_array *o = &r->arrays[i];
        if (o->param.is_const || (r->repeat == 1 && !again))
            continue;
        size_t bytes = tensor_bytes(&o->array);
        if (turn == 0) {
            o->before = need_memory(bytes);
            memcpy(o->before, o->array.data, bytes);
        } else {
            memcpy(o->array.data, o->before, bytes);
        }
    }
    tw_status s = launch_timed(r, &r->seconds[turn]);
    fflush(stdout);
    return s == TW_OK ? STATUS_OK : say_failed(r, s);
}

static int write_outputs(struct run *r)
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

/* --- results --- */

static void report_arrays(const struct run *r)
{
    for (int i = 0; i < r->array_count; i++) {
        const struct given_array *o = &r->arrays[i];
        if (o->param.is_const || o->out)
            continue;
        printf("%s: ", o->param.name);
        tensor_report(&o->array, o->param.name);
    }
}

/* Where the kernel ran: "in matmul_v1 with m = 3, n = 4". The caller frees. */
static char *describe_run(const struct run *r)
{
    char *text = need_text("in %s", tw_kernel_name(r->kernel));
    tw_param p;
    tw_scalar v;
    const char *between = " with ";
    for (int i = 0; tw_kernel_param(r->kernel, i, &p) == TW_OK; i++) {
        char value[32];
        if (p.is_pointer || tw_launch_value(r->launch, p.name, &v) != TW_OK)
            continue;
        format_scalar(value, sizeof value, v);
        append_text(&text, "%s%s = %s", between, p.name, value);
        between = ", ";
    }
    return text;
}

/* Right behind the comparison: the library's message goes with the next call. */
static void report_wrong(struct run *r)
{
    complain_library(&r->complaints, r->program.ctx, r->verified);
    const char *hint = verdict_hint(&r->verdict);
    char *where = describe_run(r);
    complain_more(&r->complaints, "wrong values %s", where);
    if (hint && !r->again)
        complain_more(&r->complaints, "%s", hint);
    free(where);
}

static void verify(struct run *r)
{
    tw_verdict v = {0};
    r->verified = tw_launch_verify(r->launch, &v);
    if (r->verified == TW_OK && r->again) /* the first verdict is that on what is printed */
        return;
    r->verdict = v;
    free(r->view);
    r->view = NULL;
    if (r->verified == TW_OK || r->verified == TW_WRONG_VALUES)
        r->verdict.view = r->view = need_text("%s", r->verdict.view ? r->verdict.view : "");
    if (r->verified == TW_WRONG_VALUES)
        report_wrong(r);
    else if (r->verified != TW_OK)
        complain_library(&r->complaints, r->program.ctx, r->verified);
}

/* What outputs hold, aside: true; back from there. */
static void keep_outputs(struct run *r, bool aside)
{
    for (int i = 0; i < r->array_count; i++) {
        struct given_array *o = &r->arrays[i];
        if (o->param.is_const)
            continue;
        size_t bytes = tensor_bytes(&o->array);
        if (aside)
            o->after = need_memory(bytes);
        memcpy(aside ? o->after : o->array.data, aside ? o->array.data : o->after, bytes);
    }
}

static bool outputs_as_kept(const struct run *r)
{
    bool same = true;
    for (int i = 0; i < r->array_count && same; i++) {
        const struct given_array *o = &r->arrays[i];
        same = !o->unwritten || memcmp(o->array.data, o->after, tensor_bytes(&o->array)) == 0;
    }
    return same;
}

/* A simulation forgets what the one before it found. */
static void keep_found(struct run *r)
{
    if (!r->simulated)
        return;
    r->found.counters = r->counters = need_text("%s", r->found.counters);
    r->found.json = r->found_json = need_text("%s", r->found.json);
}

/* Every array as it was before the first run, but those of which nothing was said as memory is that
 * nobody has written. */
static void start_unwritten(struct run *r)
{
    for (int i = 0; i < r->array_count; i++) {
        struct given_array *o = &r->arrays[i];
        if (o->unwritten)
            tensor_fill_unwritten(&o->array, 0);
        else if (!o->param.is_const)
            memcpy(o->array.data, o->before, tensor_bytes(&o->array));
    }
}

static void say_on_zeros(struct run *r)
{
    const char **outputs = need_memory((size_t)r->array_count * sizeof *outputs);
    int count = 0;
    for (int i = 0; i < r->array_count; i++)
        if (r->arrays[i].unwritten)
            outputs[count++] = r->arrays[i].param.name;
    char *hint = output_hint(outputs, count);
    complain_more(&r->complaints, "%s", hint);
    free(hint);
    free(outputs);
}

/* A kernel that was right on outputs of zeros, once more on outputs that hold something else: what
 * it leaves unwritten, or reads before it writes it, shows. */
static void verify_unwritten(struct run *r)
{
    if (!any_unwritten(r) || r->verified != TW_OK)
        return;
    double seconds;
    keep_found(r);
    tw_sim_result found = r->found;
    keep_outputs(r, true);
    start_unwritten(r);
    r->print = NULL;
    r->again = true;
    tw_status s = launch_timed(r, &seconds);
    r->found = found;
    if (s != TW_OK)
        say_failed(r, r->verified = s);
    else if (!outputs_as_kept(r))
        verify(r);
    if (r->verified != TW_OK)
        say_on_zeros(r);
    keep_outputs(r, false);
}

/* Half the gap between 1 and the next element: 2^-24 of f32. */
static double roundoff(tw_dtype t)
{
    double unit = 1, store = 0;
    do {
        unit /= 2;
        tw_dtype_store(t, &store, 1 + unit);
    } while (tw_dtype_load(t, &store) > 1);
    return unit;
}

/* The error that is allowed at the worst element over the size of the outputs; 0 where it is no
 * more than a few roundings of their type, or a hundredth. A wrong value may be in it: where many
 * terms are added up, a term is less than the sum's rounding. */
static double wide_tolerance(const struct run *r)
{
    double size = fabs(r->verdict.want), least = 0.01;
    for (int i = 0; i < r->array_count; i++) {
        const struct given_array *o = &r->arrays[i];
        if (!is_output(&o->param) || !is_float_type(o->array.dtype))
            continue;
        size = fmax(size, tensor_root_mean_square(&o->array));
        least = fmax(least, 8 * roundoff(o->array.dtype));
    }
    return r->verdict.tolerance > least * size && size > 0 ? r->verdict.tolerance / size : 0;
}

static void report_verified(const struct run *r)
{
    char *text = verdict_text(&r->verdict);
    double wide = wide_tolerance(r);
    printf("verified: %s\n", text);
    if (wide > 0)
        printf("          the tolerance is %.2g%% of the values, as so many roundings add up: an "
               "error below it goes unseen; verify smaller sizes, too\n",
               100 * wide);
    free(text);
}

static void json_array(struct json *j, const struct given_array *o)
{
    json_key(j, o->param.name);
    json_open(j, '{');
    json_key(j, "type");
    json_string(j, tw_dtype_name(o->array.dtype));
    json_key(j, "shape");
    json_open_row(j);
    for (int i = 0; i < o->array.rank; i++)
        json_integer(j, o->array.shape[i]);
    json_close(j, ']');
    json_key(j, "file");
    json_string(j, o->param.is_const ? o->in : o->out);
    int64_t count = tensor_elements(&o->array);
    if (!o->param.is_const && !o->out && count <= SHOWN_ELEMENTS) {
        json_key(j, "values");
        tensor_json(j, &o->array);
    }
    json_close(j, '}');
}

static void json_scalar(struct json *j, const struct run *r, const char *name)
{
    tw_scalar v;
    if (tw_launch_value(r->launch, name, &v) != TW_OK)
        return;
    json_key(j, name);
    if (v.is_float)
        json_real(j, v.f);
    else
        json_integer(j, v.i);
}

static const char *device_name(const struct run *r)
{
    if (r->simulated)
        return "sim";
    return tw_kernel_target(r->kernel);
}

static void report_json(const struct run *r)
{
    struct json j = {.out = stdout};
    tw_param param;
    tw_tune tune;
    json_open(&j, '{');
    json_key(&j, "kernel");
    json_string(&j, tw_kernel_name(r->kernel));
    json_key(&j, "device");
    json_string(&j, device_name(r));
    json_key(&j, "parameters");
    json_open(&j, '{');
    for (int i = 0; tw_kernel_param(r->kernel, i, &param) == TW_OK; i++)
        if (!param.is_pointer)
            json_scalar(&j, r, param.name);
    json_close(&j, '}');
    json_key(&j, "tuned");
    json_open(&j, '{');
    for (int i = 0; tw_kernel_tune(r->kernel, i, &tune) == TW_OK; i++)
        json_scalar(&j, r, tune.name);
    json_close(&j, '}');
    if (r->taken) {
        json_key(&j, "tuned_from");
        json_string(&j, r->taken);
    }
    json_key(&j, "arrays");
    json_open(&j, '{');
    for (int i = 0; i < r->array_count; i++)
        json_array(&j, &r->arrays[i]);
    json_close(&j, '}');
    json_key(&j, "milliseconds");
    json_real(&j, 1e3 * median_of(r->seconds, (int)r->repeat));
    json_key(&j, "runs");
    json_integer(&j, r->repeat);
    if (r->verify)
        verdict_json(&r->verdict, &j);
    if (r->verify && wide_tolerance(r) > 0) {
        json_key(&j, "wide_tolerance");
        json_real(&j, wide_tolerance(r));
    }
    if (r->simulated) {
        json_key(&j, "target");
        json_string(&j, tw_kernel_target(r->kernel));
        json_members(&j, r->found.json);
    }
    json_key(&j, "ok");
    json_bool(&j, !r->verify || r->verdict.ok);
    if (r->complaints.count)
        complaints_json(&r->complaints, &j);
    json_close(&j, '}');
    json_end(&j);
}

/* A run that came to no result, in JSON. */
static void report_failure(const struct run *r)
{
    struct json j = {.out = stdout};
    json_open(&j, '{');
    json_key(&j, "file");
    json_string(&j, r->program.path);
    json_key(&j, "kernel");
    json_string(&j, r->kernel ? tw_kernel_name(r->kernel) : NULL);
    json_key(&j, "ok");
    json_bool(&j, false);
    complaints_json(&r->complaints, &j);
    json_close(&j, '}');
    json_end(&j);
}

static int report(struct run *r)
{
    if (r->verify && r->verified != TW_OK && r->verified != TW_WRONG_VALUES)
        return r->verified == TW_UNSUPPORTED ? STATUS_USAGE : STATUS_FAILED;
    r->reported = true;
    if (r->json) {
        report_json(r);
    } else {
        report_arrays(r);
        if (r->repeat > 1)
            printf("time: %.4g ms, median of %lld runs\n",
                   1e3 * median_of(r->seconds, (int)r->repeat), (long long)r->repeat);
        if (r->verify && r->verdict.ok)
            report_verified(r);
        if (r->simulated && *r->found.counters)
            printf("\n%s", r->found.counters);
    }
    return r->verify && !r->verdict.ok ? STATUS_FAILED : STATUS_OK;
}

/* --- the command --- */

static int run_steps(struct run *r)
{
    int status = gather_arrays(r);
    if (status == STATUS_OK)
        status = apply_settings(r->launch, r->kernel, &r->program, r->given, false);
    if (status == STATUS_OK)
        status = read_inputs(r);
    if (status == STATUS_OK)
        status = tuned_take(&r->program, r->launch, r->given, &r->taken);
    if (r->taken && !r->json)
        printf("tuned: %s\n", r->taken);
    if (status == STATUS_OK)
        status = prepare(r);
    if (status == STATUS_OK)
        status = make_arrays(r);
    for (int64_t turn = 0; turn < r->repeat && status == STATUS_OK; turn++)
        status = launch_once(r, turn);
    if (status != STATUS_OK)
        return status;
    if (r->verify) {
        verify(r);
        verify_unwritten(r);
    }
    status = write_outputs(r);
    return status == STATUS_OK ? report(r) : status;
}

static bool is_device(const char *name)
{
    return strcmp(name, "cpu") == 0 || strcmp(name, "sim") == 0 || names_gpu(name);
}

/* --device sim: the kernel is compiled for a GPU, and simulated. */
static int choose_device(struct run *r, const char **device)
{
    static const char *const of_simulator[] = {"counters", "copies", "step-limit",
                                               "suppress", "sm",     NULL};
    const struct options *o = r->given;
    r->simulated = *device && strcmp(*device, "sim") == 0;
    if (has_ptx_options(o, r->program.path))
        return STATUS_USAGE;
    if (*device && !is_device(*device))
        return usage_error(
            &r->complaints, o->command,
            "--device %s: there are cpu, sim, cuda (the GPU that is here; cuda:1 the second), "
            "sm_80 and up",
            *device);
    const char *other = options_any(o, of_simulator), *sm = options_value(o, "sm");
    if (r->time_limit > 0 && *device && names_gpu(*device))
        return usage_error(&r->complaints, o->command,
                           "--time-limit: what runs on a GPU cannot be ended");
    if (!r->simulated)
        return other ? usage_error(&r->complaints, o->command, "--%s is for --device sim", other)
                     : STATUS_OK;
    if (sm && !names_gpu(sm))
        return usage_error(
            &r->complaints, o->command,
            "--sm %s: the simulator runs what a GPU gets: sm_80 and up, or cuda (the "
            "GPU that is here)",
            sm);
    int status = sim_options_read(&r->sim, o);
    *device = sm ? sm : "sm_80";
    r->sim.options.watch = options_has(o, "counters") ? TW_WATCH_COUNTERS : 0;
    r->sim.options.seed = options_has(o, "seed") ? (uint64_t)r->seed : 0;
    return status;
}

static int open_and_run(struct run *r, const struct command *self)
{
    int64_t threads = 0;
    const struct options *given = r->given;
    if (given->word_count != 1)
        return usage_error(&r->complaints, self,
                           given->word_count ? "one FILE at a time" : "which FILE?");
    if (!options_integer(given, "threads", 0, 4096, &threads) ||
        !options_integer(given, "seed", 0, INT64_MAX / 2, &r->seed) ||
        !options_integer(given, "repeat", 1, 1000000, &r->repeat) ||
        !options_seconds(given, "time-limit", &r->time_limit))
        return STATUS_USAGE;
    r->verify = options_has(given, "verify");
    r->print = r->json ? stderr : stdout;
    r->seconds = need_memory((size_t)r->repeat * sizeof *r->seconds);
    struct program_config config = {.threads = (int)threads,
                                    .colour = on_terminal(stderr),
                                    .print = &r->print,
                                    .deadline = r->time_limit > 0 ? &r->deadline : NULL,
                                    .device = options_value(given, "device"),
                                    .complaints = &r->complaints};
    int status = program_open(&r->program, given->words[0], &config);
    if (status != STATUS_OK)
        return status;
    r->kernel = program_kernel(&r->program, self);
    if (!r->kernel)
        return STATUS_USAGE;
    const char *device = options_value(given, "device");
    status = choose_device(r, &device);
    if (status != STATUS_OK)
        return status;
    tw_status s = device ? tw_kernel_for_target(r->kernel, device, &r->kernel) : TW_OK;
    if (s != TW_OK) {
        complain_library(&r->complaints, r->program.ctx, s);
        return STATUS_USAGE;
    }
    s = tw_launch_new(r->kernel, &r->launch);
    if (s == TW_OK)
        return run_steps(r);
    complain_library(&r->complaints, r->program.ctx, s);
    return STATUS_FAILED;
}

static int run_run(const struct command *self, const struct options *given)
{
    if (given->word_count && is_ptx_file(given->words[0]))
        return run_ptx(self, given);
    struct options own = *given;
    struct run r = {.given = &own, .seed = 1, .repeat = 1, .json = options_has(given, "json")};
    own.complaints = &r.complaints;
    int status = open_and_run(&r, self);
    if (r.json && !r.reported)
        report_failure(&r);
    for (int i = 0; i < r.array_count; i++) {
        free(r.arrays[i].array.data);
        free(r.arrays[i].before);
        free(r.arrays[i].after);
        free(r.arrays[i].in);
        free(r.arrays[i].out);
    }
    free(r.arrays);
    free(r.seconds);
    free(r.view);
    free(r.taken);
    free(r.counters);
    free(r.found_json);
    sim_options_free(&r.sim);
    program_close(&r.program);
    complaints_free(&r.complaints);
    return status;
}

static const struct option_spec run_options[] = {
    {.name = "in",
     .values = 1,
     .value = "NAME=FILE",
     .help = "array parameter from a .npy file; several: a=A.npy,b=B.npy"},
    {.name = "out",
     .values = 1,
     .value = "NAME=FILE",
     .help = "keeps an array the kernel writes as .npy; PTX: INDEX=FILE"},
    OPTION_SET,
    OPTION_TUNE,
    OPTION_TYPE,
    {.name = "fill",
     .values = 1,
     .value = "[NAME=]KIND",
     .help = "for arrays without --in, without NAME for the const ones: rand (uniform in\n±0.5, "
             "integers 0 to 7), zero, iota (0, 1, 2, …) or ones"},
    {.name = "seed",
     .values = 1,
     .value = "N",
     .help = "for rand (default 1); if given, also of the order of warps on sim"},
    {.name = "verify",
     .help = "compare with what `ensures` says, once more with other values in the\narrays that it "
             "speaks of and --fill does not; status 1 if values are wrong"},
    {.name = "repeat", .values = 1, .value = "N", .help = "run N times and print the median time"},
    {.name = "time-limit",
     .values = 1,
     .value = "SECONDS",
     .help = "a run that takes longer is ended, status 1; not on a GPU (default: none is)"},
    {.name = "device",
     .values = 1,
     .value = "DEVICE",
     .help = "cpu (default); cuda: an NVIDIA GPU, where the driver is installed, cuda:1 the\n"
             "second; sm_80 …: there too, compiled for that target; sim: the simulator,\n"
             "which runs the PTX that a GPU would get (--sm TARGET)"},
    OPTION_TUNED,
    OPTION_STORE,
    OPTION_THREADS,
    OPTION_COUNTERS,
    OPTION_COPIES,
    OPTION_STEP_LIMIT,
    OPTION_SUPPRESS,
    OPTIONS_PTX_LAUNCH,
    OPTIONS_COMPILER,
    OPTION_JSON,
    OPTION_END,
};

const struct command command_run = {
    .name = "run",
    .arguments = "FILE[:KERNEL] [OPTIONS]",
    .summary = "run a kernel on .npy files or generated data",
    .about =
        "Compiles a kernel and runs it. Sizes that are not set are inferred from the arrays. "
        "Arrays\n"
        "that the kernel writes start as zeros, unless --in gives them; without --out, small "
        "ones are\n"
        "printed by rows and large ones summed up. A file with one kernel needs no :KERNEL.\n"
        "An option given again for the same name counts, the earlier does not; --fill of one "
        "array counts\n"
        "over the general one.\n"
        "bf16, tf32, e4m3 and e5m2 arrays are read from and written to files of f4, since NumPy\n"
        "has no such types.\n"
        "FILE may be PTX of any compiler, or CUDA C (k.cu), which nvcc or clang compiles first: "
        "then\n"
        "--grid and --block say the launch, and --arg each argument. It runs on the simulator, or "
        "with\n"
        "--device cuda on the GPU. What the kernel changed is printed.",
    .options = run_options,
    .examples =
        "  tilewright run kernels/matmul/shared.tile --in a=A.npy --in b=B.npy --out c=C.npy\n"
        "  tilewright run kernels/matmul/tuned.tile --set m=512,n=512,k=512 --fill rand --type f16 "
        "--verify\n"
        "  tilewright run kernels/matmul/tuned.tile --set m=64,n=64,k=64 --fill rand --tune "
        "BM=64,BN=64\n"
        "  tilewright run kernels/fused/softmax.tile --set rows=4,cols=10 --fill iota\n"
        "  tilewright run kernels/matmul/shared.tile --device sim --set m=64,n=64,k=64 --fill rand "
        "--counters\n"
        "  tilewright run kernels/cuda/block_sum.ptx --block 256 --arg f32[1000]:ones --arg "
        "f32[1]:none --arg i32:1000 --counters\n",
    .run = run_run,
};
