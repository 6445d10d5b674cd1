/* bench: kernels timed in turn with OpenBLAS, and their values checked. */
#include "bench.h"
#include "blas.h"
#include "commands.h"
#include "operands.h"
#include "target.h"
#include "progress.h"
#include "tensor.h"

#include <glob.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LEAST_RUNS = 3 }; /* measured even when the time limit is over */

struct size {
    int64_t m, n, k;
};
static const struct size usual_sizes[] = {
    {512, 512, 512}, {1024, 1024, 1024}, {256, 640, 384}, {511, 1025, 513}};

/* A kernel to be timed. Its program stays open. */
struct entry {
    struct program *program;
    tw_kernel *kernel;
    bool is_product; /* has scalar parameters m, n and k */
};

/* The operands of sgemm for one size. */
struct product {
    struct size size;
    float *a, *b, *c;
    double *seconds; /* of its runs, beside all kernels of this size */
    int runs, room;
};

struct bench {
    const struct command *self;
    const struct options *given;
    struct program *programs;
    int program_count;
    struct entry *entries;
    int entry_count;
    struct size *sizes;
    int size_count;
    int64_t warmup, repeat, threads;
    double time_limit;
    bool to_json, failed;
    int name_width;
    struct blas blas;
    bool has_blas;
    struct progress progress;
    struct json json;
};

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, compare_doubles);
    return n ? (v[n / 2] + v[(n - 1) / 2]) / 2 : 0;
}

/* --- what to time --- */

static bool is_product(tw_kernel *k)
{
    int found = 0;
    tw_param p;
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++)
        found += !p.is_pointer && strlen(p.name) == 1 && strchr("mnk", p.name[0]);
    return found == 3;
}

static void add_entry(struct bench *b, struct program *p, tw_kernel *k)
{
    b->entries = need_more_memory(b->entries, (size_t)(b->entry_count + 1) * sizeof *b->entries);
    b->entries[b->entry_count++] =
        (struct entry){.program = p, .kernel = k, .is_product = is_product(k)};
    int width = (int)strlen(tw_kernel_name(k));
    if (width > b->name_width)
        b->name_width = width;
}

static int add_target(struct bench *b, const char *target)
{
    struct program *p = &b->programs[b->program_count++];
    int status = program_open(
        p, target,
        &(struct program_config){.threads = (int)b->threads, .colour = on_terminal(stderr)});
    if (status != STATUS_OK)
        return status;
    if (p->kernel) {
        tw_kernel *k = program_kernel(p, b->self);
        if (!k)
            return STATUS_USAGE;
        add_entry(b, p, k);
        return STATUS_OK;
    }
    for (int i = 0; i < tw_module_kernel_count(p->module); i++)
        add_entry(b, p, tw_module_kernel_at(p->module, i));
    return STATUS_OK;
}

/* kernels/matmul here, or beside the folder that the program was built in. */
static bool find_kernels(glob_t *found)
{
    char program[PATH_MAX];
    if (glob("kernels/matmul/*.tile", 0, NULL, found) == 0)
        return true;
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(program, '/');
    if (!slash)
        return false;
    *slash = '\0';
    char *pattern = need_text("%s/../kernels/matmul/*.tile", program);
    bool ok = glob(pattern, 0, NULL, found) == 0;
    free(pattern);
    return ok;
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(tw_kernel_name(((const struct entry *)a)->kernel),
                  tw_kernel_name(((const struct entry *)b)->kernel));
}

/* In the order in which they are named; all of kernels/matmul by name, so that the ladder stands step below step. */
static int gather_entries(struct bench *b)
{
    const char *const *targets = b->given->words;
    size_t count = (size_t)b->given->word_count;
    glob_t found = {0};
    if (count == 0) {
        if (!find_kernels(&found))
            return usage_error(b->self, "which FILE? (there is no kernels/matmul here)");
        targets = (const char *const *)found.gl_pathv;
        count = found.gl_pathc;
    }
    int status = STATUS_OK;
    b->programs = need_memory(count * sizeof *b->programs);
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = add_target(b, targets[i]);
    if (found.gl_pathc > 0 && b->entry_count > 0)
        qsort(b->entries, (size_t)b->entry_count, sizeof *b->entries, compare_entries);
    globfree(&found);
    return status;
}

static int add_size(struct bench *b, int64_t m, int64_t n, int64_t k)
{
    if (m < 1 || n < 1 || k < 1 || m > 65536 || n > 65536 || k > 65536)
        return usage_error(b->self, "sizes go from 1 to 65536");
    b->sizes = need_more_memory(b->sizes, (size_t)(b->size_count + 1) * sizeof *b->sizes);
    b->sizes[b->size_count++] = (struct size){m, n, k};
    return STATUS_OK;
}

static int gather_sizes(struct bench *b)
{
    int status = STATUS_OK;
    const struct options *o = b->given;
    for (int i = 0; i < o->use_count && status == STATUS_OK; i++) {
        const struct option_use *u = &o->uses[i];
        int64_t v[3];
        if (strcmp(u->spec->name, "size") == 0)
            status = parse_integer(u->values[0], &v[0])
                         ? add_size(b, v[0], v[0], v[0])
                         : usage_error(b->self, "--size needs an integer");
        else if (strcmp(u->spec->name, "dims") == 0)
            status = parse_integer(u->values[0], &v[0]) && parse_integer(u->values[1], &v[1]) &&
                             parse_integer(u->values[2], &v[2])
                         ? add_size(b, v[0], v[2], v[1])
                         : usage_error(b->self, "--dims needs three integers, M K N");
        else if (strcmp(u->spec->name, "all-sizes") == 0)
            for (size_t s = 0; s < sizeof usual_sizes / sizeof *usual_sizes; s++)
                add_size(b, usual_sizes[s].m, usual_sizes[s].n, usual_sizes[s].k);
    }
    if (status == STATUS_OK && b->size_count == 0)
        status = add_size(b, 512, 512, 512);
    return status;
}

/* --- timing --- */

static void product_open(struct product *x, const struct bench *b, struct size size)
{
    *x = (struct product){.size = size, .room = (int)b->repeat * (b->entry_count + 1)};
    if (!b->has_blas)
        return;
    x->a = need_memory((size_t)(size.m * size.k) * sizeof(float));
    x->b = need_memory((size_t)(size.k * size.n) * sizeof(float));
    x->c = need_memory((size_t)(size.m * size.n) * sizeof(float));
    x->seconds = need_memory((size_t)x->room * sizeof(double));
    struct fill_options random = {.kind = FILL_RAND, .seed = 1, .scale = 1 / sqrt((double)size.k)};
    tensor_fill(&(tw_array){x->a, TW_F32, 2, {size.m, size.k}}, &random);
    random.seed = 2;
    tensor_fill(&(tw_array){x->b, TW_F32, 2, {size.k, size.n}}, &random);
}

static void product_close(struct product *x)
{
    free(x->a);
    free(x->b);
    free(x->c);
    free(x->seconds);
}

/* The first call wakes its workers, the second is timed; then they are left the time to go to sleep again (blas.c), so
 * that neither side pays for the other. */
static double time_blas(const struct bench *b, struct product *x)
{
    blas_multiply(&b->blas, x->size.m, x->size.n, x->size.k, x->a, x->b, x->c);
    double start = seconds_now();
    blas_multiply(&b->blas, x->size.m, x->size.n, x->size.k, x->a, x->b, x->c);
    double taken = seconds_now() - start;
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    return taken;
}

/* Warm-up, then runs of the kernel and of BLAS in turn, so that both see the machine in the same state. */
static tw_status time_kernel(struct bench *b, tw_launch *l, struct product *x,
                             struct bench_row *row)
{
    double *kernel = need_memory((size_t)b->repeat * sizeof(double));
    double *blas = need_memory((size_t)b->repeat * sizeof(double));
    double begin = seconds_now();
    tw_status s = TW_OK;
    for (int64_t i = 0; i < b->warmup + b->repeat && s == TW_OK; i++) {
        bool warm = i<b->warmup, late = seconds_now() - begin> b->time_limit;
        progress_step(&b->progress, "%s: %s %lld", row->kernel, warm ? "warm-up" : "run",
                      (long long)(warm ? i + 1 : i + 1 - b->warmup));
        if (late && (warm ? i > 0 : row->runs >= LEAST_RUNS))
            continue;
        double start = seconds_now();
        s = tw_launch_run(l);
        double taken = seconds_now() - start, other = x && b->has_blas ? time_blas(b, x) : 0;
        if (warm || s != TW_OK)
            continue;
        kernel[row->runs] = taken;
        blas[row->runs++] = other;
        if (x && b->has_blas && x->runs < x->room)
            x->seconds[x->runs++] = other;
    }
    if (s == TW_OK) {
        row->ms = 1e3 * median(kernel, row->runs);
        row->blas_ms = 1e3 * median(blas, row->runs);
        row->blas_percent = row->blas_ms > 0 ? 100 * row->blas_ms / row->ms : 0;
    }
    free(kernel);
    free(blas);
    return s;
}

static void explain(struct bench_row *row, const tw_context *ctx, tw_status s)
{
    tw_message m;
    snprintf(row->why, sizeof row->why, "%s",
             tw_context_message(ctx, 0, &m) ? m.text : tw_status_text(s));
}

/* What the kernel does not take is no failure; a fault in the run is one. */
static void judge_failure(struct bench_row *row, const tw_context *ctx, tw_status s)
{
    explain(row, ctx, s);
    bool refused = s == TW_BAD_ARGUMENT || s == TW_UNSUPPORTED || s == TW_BAD_PROGRAM ||
                   s == TW_NO_MEMORY || (s == TW_FAULT && strstr(row->why, "assume"));
    row->result = refused ? BENCH_SKIPPED : BENCH_FAIL;
}

static void verify_row(struct bench_row *row, const struct entry *e, tw_launch *l)
{
    tw_verdict v;
    if (!tw_kernel_has_ensures(e->kernel)) {
        row->result = BENCH_UNCHECKED;
        return;
    }
    tw_status s = tw_launch_verify(l, &v);
    if (s != TW_OK && s != TW_WRONG_VALUES) {
        row->result = BENCH_FAIL;
        explain(row, e->program->ctx, s);
        return;
    }
    row->result = v.ok ? BENCH_PASS : BENCH_FAIL;
    row->error = v.max_error;
    row->allowed = v.tolerance;
}

/* The sizes of a kernel that is no product, for its row. */
static void describe_sizes(struct bench_row *row, const struct entry *e, tw_launch *l)
{
    tw_param p;
    tw_scalar v;
    size_t at = 0;
    for (int i = 0; tw_kernel_param(e->kernel, i, &p) == TW_OK; i++) {
        char value[32];
        if (p.is_pointer || tw_launch_value(l, p.name, &v) != TW_OK || at >= sizeof row->sizes)
            continue;
        format_scalar(value, sizeof value, v);
        at += (size_t)snprintf(row->sizes + at, sizeof row->sizes - at, "%s%s = %s", at ? ", " : "",
                               p.name, value);
    }
}

static int set_up(struct bench *b, const struct entry *e, tw_launch *l, const struct size *size)
{
    if (size) {
        tw_launch_set(l, "m", (tw_scalar){.i = size->m});
        tw_launch_set(l, "n", (tw_scalar){.i = size->n});
        tw_launch_set(l, "k", (tw_scalar){.i = size->k});
    }
    return apply_settings(l, e->kernel, e->program, b->given, true);
}

/* Fills the row of a launch whose sizes are set. */
static void measure(struct bench *b, const struct entry *e, tw_launch *l, struct product *x,
                    struct bench_row *row)
{
    struct operands arrays = {0};
    tw_status s = tw_launch_prepare(l);
    if (s == TW_OK)
        s = operands_make(&arrays, l, e->kernel, 1, x ? 1 / sqrt((double)x->size.k) : 1);
    if (s == TW_OK)
        s = time_kernel(b, l, x, row);
    if (s ==
        TW_OK) { /* once more on clean outputs: kernels that add to them are judged by one run */
        operands_reset(&arrays);
        s = tw_launch_run(l);
    }
    if (s != TW_OK) {
        judge_failure(row, e->program->ctx, s);
    } else {
        double flops = x ? 2.0 * (double)row->m * (double)row->n * (double)row->k : 0;
        row->gflops = flops / row->ms * 1e-6;
        row->gbytes = operands_bytes(&arrays) / row->ms * 1e-6;
        describe_sizes(row, e, l);
        progress_step(&b->progress, "%s: comparing values", row->kernel);
        verify_row(row, e, l);
    }
    b->failed |= row->result == BENCH_FAIL;
    operands_free(&arrays);
}

static int bench_entry(struct bench *b, const struct entry *e, struct product *x,
                       struct bench_row *row)
{
    *row = (struct bench_row){
        .kernel = tw_kernel_name(e->kernel), .file = e->program->path, .is_product = e->is_product};
    if (x) {
        row->m = x->size.m;
        row->n = x->size.n;
        row->k = x->size.k;
    }
    tw_launch *l;
    tw_status s = tw_launch_new(e->kernel, &l);
    if (s != TW_OK) {
        judge_failure(row, e->program->ctx, s);
        return STATUS_OK;
    }
    int status = set_up(b, e, l, x ? &x->size : NULL);
    char *missing = status == STATUS_OK ? missing_scalars(l, e->kernel) : NULL;
    if (missing) {
        snprintf(row->why, sizeof row->why, "needs --set %s", missing);
        row->result = BENCH_SKIPPED;
    } else if (status == STATUS_OK) {
        measure(b, e, l, x, row);
    }
    free(missing);
    tw_launch_free(l);
    return status;
}

static void put_row(struct bench *b, const struct bench_row *row)
{
    progress_clear(&b->progress);
    if (b->to_json)
        bench_json(row, &b->json);
    else
        bench_print(row, b->name_width);
    progress_start(&b->progress);
}

static void put_blas(struct bench *b, struct product *x)
{
    struct bench_row row = {.kernel = b->blas.name,
                            .is_product = true,
                            .is_blas = true,
                            .m = x->size.m,
                            .n = x->size.n,
                            .k = x->size.k,
                            .runs = x->runs,
                            .blas_percent = 100};
    row.ms = 1e3 * median(x->seconds, x->runs);
    if (row.ms > 0)
        row.gflops = 2.0 * (double)row.m * (double)row.n * (double)row.k / row.ms * 1e-6;
    put_row(b, &row);
}

/* All products of one size, then BLAS; or (size NULL) all kernels that are no products. */
static int bench_group(struct bench *b, const struct size *size)
{
    struct product x;
    int status = STATUS_OK, count = 0;
    for (int i = 0; i < b->entry_count; i++)
        count += b->entries[i].is_product == (size != NULL);
    if (!count)
        return STATUS_OK;
    if (size)
        product_open(&x, b, *size);
    for (int i = 0; i < b->entry_count && status == STATUS_OK; i++) {
        struct bench_row row;
        if (b->entries[i].is_product != (size != NULL))
            continue;
        status = bench_entry(b, &b->entries[i], size ? &x : NULL, &row);
        if (status == STATUS_OK)
            put_row(b, &row);
    }
    if (size) {
        if (b->has_blas && x.runs && status == STATUS_OK)
            put_blas(b, &x);
        product_close(&x);
    }
    return status;
}

/* --- the whole --- */

static int thread_count(const struct bench *b)
{
    tw_device d;
    return b->threads ? (int)b->threads : tw_device_at(0, &d) ? d.cores : 1;
}

static void print_preamble(const struct bench *b)
{
    tw_device d;
    if (tw_device_at(0, &d))
        printf("%s: %s; %d thread%s\n", d.name, d.description, thread_count(b),
               thread_count(b) == 1 ? "" : "s");
    printf("median of %lld runs after %lld to warm up (fewer past %g s), inputs (rand - "
           "0.5)/sqrt(K)\n",
           (long long)b->repeat, (long long)b->warmup, b->time_limit);
    if (b->has_blas)
        printf("%%blas: of the speed of %s's sgemm in f32 on as many threads, run in turn with the "
               "kernel\n",
               b->blas.name);
    else
        printf("%%blas: OpenBLAS is not found here; TILEWRIGHT_BLAS=PATH names it\n");
    putchar('\n');
}

static void json_preamble(struct bench *b)
{
    tw_device d;
    json_open(&b->json, '{');
    json_key(&b->json, "device");
    json_string(&b->json, tw_device_at(0, &d) ? d.description : "cpu");
    json_key(&b->json, "threads");
    json_integer(&b->json, thread_count(b));
    json_key(&b->json, "warmup");
    json_integer(&b->json, b->warmup);
    json_key(&b->json, "repeat");
    json_integer(&b->json, b->repeat);
    json_key(&b->json, "blas");
    json_string(&b->json, b->has_blas ? b->blas.name : NULL);
    json_key(&b->json, "rows");
    json_open(&b->json, '[');
}

static bool has_kind(const struct bench *b, bool products)
{
    for (int i = 0; i < b->entry_count; i++)
        if (b->entries[i].is_product == products)
            return true;
    return false;
}

static int bench_all(struct bench *b)
{
    int status = STATUS_OK;
    bool products = has_kind(b, true), others = has_kind(b, false);
    if (b->to_json)
        json_preamble(b);
    else
        print_preamble(b);
    progress_start(&b->progress);
    if (products && !b->to_json)
        bench_header(true, b->name_width);
    for (int i = 0; i < b->size_count && status == STATUS_OK; i++)
        status = bench_group(b, &b->sizes[i]);
    if (others && status == STATUS_OK) {
        if (!b->to_json) {
            fputs(products ? "\n" : "", stdout);
            bench_header(false, b->name_width);
        }
        status = bench_group(b, NULL);
    }
    progress_clear(&b->progress);
    if (b->to_json) {
        json_close(&b->json, ']');
        json_close(&b->json, '}');
        json_end(&b->json);
    }
    return status == STATUS_OK && b->failed ? STATUS_FAILED : status;
}

static int bench_run(const struct command *self, const struct options *given)
{
    struct bench b = {.self = self,
                      .given = given,
                      .warmup = 5,
                      .repeat = 20,
                      .time_limit = 10,
                      .json = {.out = stdout},
                      .to_json = options_has(given, "json"),
                      .name_width = 15};
    if (!options_integer(given, "warmup", 0, 1000000, &b.warmup) ||
        !options_integer(given, "repeat", 1, 100000, &b.repeat) ||
        !options_integer(given, "threads", 0, 4096, &b.threads) ||
        !options_seconds(given, "time-limit", &b.time_limit))
        return STATUS_USAGE;
    int status = gather_sizes(&b);
    if (status == STATUS_OK)
        status = gather_entries(&b);
    if (status == STATUS_OK) {
        b.has_blas = has_kind(&b, true) && blas_open(&b.blas, thread_count(&b));
        status = bench_all(&b);
    }
    for (int i = 0; i < b.program_count; i++)
        program_close(&b.programs[i]);
    free(b.programs);
    free(b.entries);
    free(b.sizes);
    return status;
}

static const struct option_spec bench_options[] = {
    {.name = "size",
     .letter = 's',
     .values = 1,
     .value = "N",
     .help = "m = n = k = N (default 512); may be repeated"},
    {.name = "dims", .values = 3, .value = "M K N", .help = "three sizes"},
    {.name = "all-sizes",
     .letter = 'a',
     .help = "512×512×512, 1024×1024×1024, 256×384×640, 511×513×1025 (M×K×N)"},
    {.name = "warmup", .values = 1, .value = "N", .help = "runs before measuring (default 5)"},
    {.name = "repeat",
     .values = 1,
     .value = "N",
     .help = "runs measured (default 20); their median is shown"},
    {.name = "time-limit",
     .values = 1,
     .value = "SECONDS",
     .help = "a kernel past this is measured less often, at least 3 times (default 10)"},
    OPTION_SET,
    OPTION_TUNE,
    OPTION_TYPE,
    OPTION_THREADS,
    OPTION_JSON,
    OPTION_END,
};

const struct command command_bench = {
    .name = "bench",
    .arguments = "[FILE[:KERNEL]…] [OPTIONS]",
    .summary = "time kernels beside OpenBLAS, values checked",
    .about =
        "Times kernels (default: kernels/matmul) and compares every value with `ensures`.\n"
        "Kernels with parameters m, n and k are timed as products, in turn with OpenBLAS's sgemm, "
        "at the\n"
        "sizes asked for; others at sizes given by --set, and rated by the bytes of their arrays.\n"
        "A kernel that does not take a size is skipped, and the table says why.\n"
        "Status 1: a value was wrong, or a kernel failed.",
    .options = bench_options,
    .examples = "  tilewright bench -s 256\n"
                "  tilewright bench kernels/sgemm/*.tile --dims 256 384 640 --json\n"
                "  tilewright bench kernels/fused/softmax.tile --set rows=1024,cols=1000\n",
    .run = bench_run,
};
