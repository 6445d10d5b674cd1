/* run: one kernel, on arrays from files or made here. */
#include "commands.h"
#include "json.h"
#include "npy.h"
#include "operands.h"
#include "target.h"
#include "tensor.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN_ELEMENTS = 64 };

/* One pointer parameter of the kernel. */
struct given_array {
    tw_param param;
    tw_array array;
    const char *in, *out; /* files, or NULL */
    enum fill fill;
    void *before; /* what it held before the first run, when the kernel may write it */
    bool is_given;
};

struct run {
    const struct options *given;
    struct program program;
    tw_kernel *kernel;
    tw_launch *launch;
    struct given_array *arrays;
    int array_count;
    int64_t seed, repeat;
    bool json, verify;
    double *seconds; /* of each run */
    tw_verdict verdict;
    tw_status verified;
};

static struct given_array *array_by_name(struct run *r, const char *name)
{
    tw_param param;
    for (int i = 0; i < r->array_count; i++)
        if (strcmp(r->arrays[i].param.name, name) == 0)
            return &r->arrays[i];
    if (find_param(r->kernel, name, &param) >= 0)
        complain("`%s` is no array; give it with --set %s=VALUE", name, name);
    return NULL;
}

/* "a=FILE" of --in and --out. */
static int take_file(struct run *r, const struct option_use *use, bool is_in)
{
    const char *text = use->values[0];
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1])
        return usage_error(r->given->command, "--%s %s: expected NAME=FILE", use->spec->name, text);
    char *name = need_text("%.*s", (int)(equals - text), text);
    struct given_array *o = array_by_name(r, name);
    free(name);
    if (!o)
        return STATUS_USAGE;
    if (!is_in && o->param.is_const)
        return usage_error(r->given->command,
                           "--out %s: `%s` is const, the kernel does not write it", text,
                           o->param.name);
    *(is_in ? &o->in : &o->out) = equals + 1;
    return STATUS_OK;
}

/* "rand" for every array that is given no other way, "a=iota" for one. */
static int take_fill(struct run *r, const struct option_use *use)
{
    const char *text = use->values[0];
    const char *equals = strchr(text, '=');
    enum fill kind = fill_from_name(equals ? equals + 1 : text);
    if (kind == FILL_NONE)
        return usage_error(r->given->command, "--fill %s: expected [NAME=]rand, zero, iota or ones",
                           text);
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
        if (r->arrays[i].param.is_const && r->arrays[i].fill == FILL_NONE)
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
            status = take_file(r, &given->uses[i], name[0] == 'i');
    }
    /* one array's own --fill counts before the general one */
    for (int named = 1; named >= 0; named--)
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

/* NumPy has no bf16: where the kernel takes it, f32 files are converted. Any other difference is the caller's to mend. */
static int fit_type(struct run *r, struct given_array *o)
{
    tw_dtype wanted = o->param.dtype;
    if (wanted == TW_DTYPE_NONE && o->param.type_name)
        wanted = chosen_type(r, o->param.type_name);
    if (wanted == TW_DTYPE_NONE || wanted == o->array.dtype)
        return STATUS_OK;
    if (wanted == TW_BF16 && o->array.dtype == TW_F32) {
        tw_array converted;
        bool ok = tensor_convert(&o->array, TW_BF16, &converted);
        free(o->array.data);
        o->array = converted;
        if (!ok)
            complain("%s: no memory to convert it", o->in);
        return ok ? STATUS_OK : STATUS_FAILED;
    }
    complain("%s holds %s, but `%s` of %s takes %s", o->in, tw_dtype_name(o->array.dtype),
             o->param.name, tw_kernel_name(r->kernel), tw_dtype_name(wanted));
    const char *numpy = wanted == TW_BF16 ? "f4" : tw_dtype_numpy(wanted);
    fprintf(stderr, "  numpy.save(\"%s\", x.astype(\"%s\")) writes what it takes\n", o->in, numpy);
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
        complain("%s (%s) does not fit `%s`:", o->in, type, o->param.name);
    }
    complain_library(r->program.ctx, s);
    return STATUS_USAGE;
}

static int read_inputs(struct run *r)
{
    char why[256];
    for (int i = 0; i < r->array_count; i++) {
        struct given_array *o = &r->arrays[i];
        if (!o->in) {
            if (o->param.is_const && o->fill == FILL_NONE)
                return usage_error(r->given->command,
                                   "`%s` is not given: --in %s=FILE.npy, or --fill rand",
                                   o->param.name, o->param.name);
            continue;
        }
        const char *wrong = npy_read(o->in, &o->array, why);
        if (wrong) {
            complain("%s", wrong);
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
        complain_library(r->program.ctx, s);
    bool unset = s == TW_BAD_ARGUMENT && strstr(tw_context_messages(r->program.ctx), "is not set");
    char *missing = unset ? missing_scalars(r->launch, r->kernel) : NULL;
    if (missing)
        fprintf(stderr, "    give it with --set %s\n", missing);
    free(missing);
    return s == TW_OK ? STATUS_OK : STATUS_USAGE;
}

/* Arrays that no file gives, once the sizes are known. */
static int make_arrays(struct run *r)
{
    int64_t limit = 8;
    for (int i = 0; i < r->array_count; i++) {
        struct given_array *o = &r->arrays[i];
        tw_status s = o->is_given ? TW_OK : tw_launch_shape(r->launch, o->param.name, &o->array);
        if (s != TW_OK) {
            complain_library(r->program.ctx, s);
            return STATUS_USAGE;
        }
        limit = index_limit(&o->array, limit);
    }
    for (int i = 0; i < r->array_count; i++) {
        struct given_array *o = &r->arrays[i];
        if (o->is_given)
            continue;
        if (!tensor_allocate(&o->array)) {
            complain("no memory for `%s`", o->param.name);
            return STATUS_FAILED;
        }
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

static int launch_once(struct run *r, int64_t turn)
{
    for (int i = 0; i < r->array_count; i++) {
        struct given_array *o = &r->arrays[i];
        if (o->param.is_const || r->repeat == 1)
            continue;
        size_t bytes = tensor_bytes(&o->array);
        if (turn == 0) {
            o->before = need_memory(bytes);
            memcpy(o->before, o->array.data, bytes);
        } else {
            memcpy(o->array.data, o->before, bytes);
        }
    }
    double start = seconds_now();
    tw_status s = tw_launch_run(r->launch);
    r->seconds[turn] = seconds_now() - start;
    fflush(stdout);
    if (s == TW_OK)
        return STATUS_OK;
    complain_library(r->program.ctx, s);
    return s == TW_FAULT || s == TW_NO_MEMORY || s == TW_CANCELLED ? STATUS_FAILED : STATUS_USAGE;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_ms(const struct run *r)
{
    double *sorted = need_memory((size_t)r->repeat * sizeof *sorted);
    memcpy(sorted, r->seconds, (size_t)r->repeat * sizeof *sorted);
    qsort(sorted, (size_t)r->repeat, sizeof *sorted, compare_doubles);
    double median = (sorted[r->repeat / 2] + sorted[(r->repeat - 1) / 2]) / 2;
    free(sorted);
    return 1e3 * median;
}

static int write_outputs(struct run *r)
{
    char why[256];
    for (int i = 0; i < r->array_count; i++) {
        struct given_array *o = &r->arrays[i];
        if (!o->out)
            continue;
        tw_array written = o->array;
        bool widen = o->array.dtype == TW_BF16; /* NumPy has no bf16 */
        if (widen && !tensor_convert(&o->array, TW_F32, &written)) {
            complain("%s: no memory to convert it", o->out);
            return STATUS_FAILED;
        }
        const char *wrong = npy_write(o->out, &written, why);
        if (widen)
            free(written.data);
        if (wrong) {
            complain("%s", wrong);
            return STATUS_USAGE;
        }
    }
    return STATUS_OK;
}

/* --- results --- */

static void report_arrays(const struct run *r)
{
    char type[128];
    for (int i = 0; i < r->array_count; i++) {
        const struct given_array *o = &r->arrays[i];
        if (o->param.is_const || o->out)
            continue;
        printf("%s: ", o->param.name);
        if (tensor_elements(&o->array) <= SHOWN_ELEMENTS) {
            tensor_print(stdout, &o->array);
            putchar('\n');
            continue;
        }
        struct tensor_summary s = tensor_summarise(&o->array);
        format_array_type(type, sizeof type, &o->array);
        printf("%s from %.6g to %.6g, mean %.6g", type, s.least, s.most, s.mean);
        if (s.not_numbers)
            printf(", %lld not a number", (long long)s.not_numbers);
        printf(" (--out %s=FILE.npy keeps it)\n", o->param.name);
    }
}

static void report_verdict(const struct run *r)
{
    const tw_verdict *v = &r->verdict;
    if (v->ok) {
        printf("verified: %lld elements, largest error %.3g (allowed there: %.3g)\n",
               (long long)v->checked, v->max_error, v->tolerance);
        return;
    }
    char place[128] = "";
    int at = 0;
    for (int i = 0; i < v->rank && at < (int)sizeof place - 24; i++)
        at += snprintf(place + at, sizeof place - (size_t)at, "[%lld]", (long long)v->at[i]);
    complain("wrong values: %s%s is %.9g, `ensures` says %.9g (error %.3g, allowed %.3g)",
             v->view ? v->view : "", place, v->got, v->want, v->max_error, v->tolerance);
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
        json_open_row(j);
        for (int64_t i = 0; i < count; i++) {
            const char *at =
                (const char *)o->array.data + (size_t)i * tw_dtype_size(o->array.dtype);
            json_real(j, tw_dtype_load(o->array.dtype, at));
        }
        json_close(j, ']');
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

static void json_verdict(struct json *j, const struct run *r)
{
    json_key(j, "verified");
    json_bool(j, r->verdict.ok);
    json_key(j, "max_error");
    json_real(j, r->verdict.max_error);
    json_key(j, "tolerance");
    json_real(j, r->verdict.tolerance);
    json_key(j, "checked");
    json_integer(j, r->verdict.checked);
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
    json_string(&j, "cpu");
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
    json_key(&j, "arrays");
    json_open(&j, '{');
    for (int i = 0; i < r->array_count; i++)
        json_array(&j, &r->arrays[i]);
    json_close(&j, '}');
    json_key(&j, "milliseconds");
    json_real(&j, median_ms(r));
    json_key(&j, "runs");
    json_integer(&j, r->repeat);
    if (r->verify)
        json_verdict(&j, r);
    json_close(&j, '}');
    json_end(&j);
}

static int report(struct run *r)
{
    if (r->verify && r->verified == TW_UNSUPPORTED) {
        complain_library(r->program.ctx, r->verified);
        return STATUS_USAGE;
    }
    if (r->verify && r->verified != TW_OK && r->verified != TW_WRONG_VALUES) {
        complain_library(r->program.ctx, r->verified);
        return STATUS_FAILED;
    }
    if (r->json) {
        report_json(r);
    } else {
        report_arrays(r);
        if (r->repeat > 1)
            printf("time: %.4g ms, median of %lld runs\n", median_ms(r), (long long)r->repeat);
        if (r->verify)
            report_verdict(r);
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
        status = prepare(r);
    if (status == STATUS_OK)
        status = make_arrays(r);
    for (int64_t turn = 0; turn < r->repeat && status == STATUS_OK; turn++)
        status = launch_once(r, turn);
    if (status != STATUS_OK)
        return status;
    if (r->verify)
        r->verified = tw_launch_verify(r->launch, &r->verdict);
    status = write_outputs(r);
    return status == STATUS_OK ? report(r) : status;
}

static int run_run(const struct command *self, const struct options *given)
{
    struct run r = {.given = given, .seed = 1, .repeat = 1};
    int64_t threads = 0;
    if (given->word_count != 1)
        return usage_error(self, given->word_count ? "one FILE at a time" : "which FILE?");
    if (!options_integer(given, "threads", 0, 4096, &threads) ||
        !options_integer(given, "seed", INT64_MIN / 2, INT64_MAX / 2, &r.seed) ||
        !options_integer(given, "repeat", 1, 1000000, &r.repeat))
        return STATUS_USAGE;
    r.json = options_has(given, "json");
    r.verify = options_has(given, "verify");
    r.seconds = need_memory((size_t)r.repeat * sizeof *r.seconds);
    struct program_config config = {
        .threads = (int)threads, .colour = on_terminal(stderr), .print = r.json ? stderr : stdout};
    int status = program_open(&r.program, given->words[0], &config);
    if (status == STATUS_OK) {
        r.kernel = program_kernel(&r.program, self);
        status = r.kernel ? STATUS_OK : STATUS_USAGE;
    }
    if (status == STATUS_OK) {
        tw_status s = tw_launch_new(r.kernel, &r.launch);
        if (s != TW_OK)
            complain_library(r.program.ctx, s);
        status = s == TW_OK ? run_steps(&r) : STATUS_FAILED;
    }
    for (int i = 0; i < r.array_count; i++) {
        free(r.arrays[i].array.data);
        free(r.arrays[i].before);
    }
    free(r.arrays);
    free(r.seconds);
    program_close(&r.program);
    return status;
}

static const struct option_spec run_options[] = {
    {.name = "in", .values = 1, .value = "NAME=FILE", .help = "array parameter from a .npy file"},
    {.name = "out",
     .values = 1,
     .value = "NAME=FILE",
     .help = "keeps an array the kernel writes as .npy"},
    OPTION_SET,
    OPTION_TUNE,
    OPTION_TYPE,
    {.name = "fill",
     .values = 1,
     .value = "[NAME=]KIND",
     .help = "for arrays without --in: rand (uniform in ±0.5, integers 0 to 7),\nzero, iota (0, 1, "
             "2, …) or ones"},
    {.name = "seed", .values = 1, .value = "N", .help = "for --fill rand (default 1)"},
    {.name = "verify", .help = "compare with what `ensures` says; status 1 if values are wrong"},
    {.name = "repeat", .values = 1, .value = "N", .help = "run N times and print the median time"},
    OPTION_THREADS,
    OPTION_JSON,
    OPTION_END,
};

const struct command command_run = {
    .name = "run",
    .arguments = "FILE[:KERNEL] [OPTIONS]",
    .summary = "run a kernel on .npy files or generated data",
    .about = "Compiles a kernel and runs it. Sizes that are not set are inferred from the arrays. "
             "Arrays\n"
             "that the kernel writes start as zeros, unless --in gives them; without --out, small "
             "ones are\n"
             "printed and large ones summed up. A file with one kernel needs no :KERNEL.\n"
             "bf16 arrays are read from and written to files of f4, since NumPy has no bf16.",
    .options = run_options,
    .examples =
        "  tilewright run kernels/matmul/shared.tile --in a=A.npy --in b=B.npy --out c=C.npy\n"
        "  tilewright run kernels/matmul/tuned.tile --set m=512,n=512,k=512 --fill rand --type f16 "
        "--verify\n"
        "  tilewright run kernels/fused/softmax.tile --set rows=4,cols=10 --fill iota --tune "
        "WARPS=4\n",
    .run = run_run,
};
