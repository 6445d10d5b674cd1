/* bench: kernels timed in turn with OpenBLAS, and their values checked. */
#include "bench.h"
#include "bench_shapes.h"
#include "blas.h"
#include "commands.h"
#include "operands.h"
#include "progress.h"
#include "settings.h"
#include "tensor.h"
#include "tuned.h"
#include "verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SIZE_MOST = 65536,
    LEAST_RUNS = 3,   /* measured even when the time limit is over */
    LIMIT_FACTOR = 10 /* a single run that takes this many time limits is ended */
};

struct size {
    int64_t m, n, k;
};
static const struct size usual_sizes[] = {
    {512, 512, 512}, {1024, 1024, 1024}, {256, 640, 384}, {511, 1025, 513}};

/* A kernel to be timed. Its program stays open. */
struct entry {
    struct program *program;
    tw_kernel *kernel;
    bool takes_sizes; /* has integer parameters m, n and k */
    bool is_product;  /* and a product of matrices of these sizes is its work */
};

/* The operands of sgemm for one size: the first that a kernel ran with. */
struct product {
    struct size size;
    bool is_open;
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
    bool sized;     /* some kernel takes m, n and k */
    bool sizes_set; /* m, n, k come from --set: one round, without sizes here */
    struct deadline deadline;
    int64_t warmup, repeat, threads;
    double time_limit;
    bool to_json, failed;
    int name_width;
    struct blas blas;
    bool has_blas;
    struct progress progress;
    struct json json;
};

/* --- what to time --- */

static bool is_size(const char *name)
{
    return strlen(name) == 1 && strchr("mnk", name[0]);
}

static bool takes_sizes(tw_kernel *k)
{
    int found = 0;
    tw_param p;
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++)
        found += !p.is_pointer && !is_float_type(p.dtype) && is_size(p.name);
    return found == 3;
}

/* Whether the axes of a matrix are these two, in either order. */
static bool has_axes(const tw_param *p, char a, char b)
{
    if (p->rank != 2 || !is_size(p->dims[0]) || !is_size(p->dims[1]))
        return false;
    return (p->dims[0][0] == a && p->dims[1][0] == b) || (p->dims[0][0] == b && p->dims[1][0] == a);
}

/* C[m][n] from A[m][k] and B[k][n], vectors besides; 2·m·n·k operations. A batch of them, say, is
 * none. */
static bool is_product(tw_kernel *k)
{
    int left = 0, right = 0, result = 0;
    tw_param p;
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++) {
        if (!p.is_pointer)
            continue;
        if (p.rank > 2)
            return false;
        left += p.is_const && has_axes(&p, 'm', 'k');
        right += p.is_const && has_axes(&p, 'k', 'n');
        result += !p.is_const && has_axes(&p, 'm', 'n');
        for (int d = 0; d < p.rank; d++)
            if (!is_size(p.dims[d]))
                return false;
    }
    return left == 1 && right == 1 && result == 1;
}

static void add_entry(struct bench *b, struct program *p, tw_kernel *k)
{
    b->entries = need_more_memory(b->entries, (size_t)(b->entry_count + 1) * sizeof *b->entries);
    bool sizes = takes_sizes(k);
    b->entries[b->entry_count++] = (struct entry){
        .program = p, .kernel = k, .takes_sizes = sizes, .is_product = sizes && is_product(k)};
    int width = (int)strlen(tw_kernel_name(k));
    if (width > b->name_width)
        b->name_width = width;
}

static int add_target(struct bench *b, const char *target)
{
    struct program *p = &b->programs[b->program_count++];
    int status = program_open(p, target,
                              &(struct program_config){.threads = (int)b->threads,
                                                       .colour = on_terminal(stderr),
                                                       .deadline = &b->deadline});
    if (status != STATUS_OK)
        return status;
    if (tw_module_kernel_count(p->module) == 0) {
        complain(NULL, "%s has no kernel", p->path);
        return STATUS_USAGE;
    }
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

bool bench_find_kernels(glob_t *found)
{
    char *pattern = source_path("kernels/matmul/*.tile");
    bool ok = glob(pattern, 0, NULL, found) == 0;
    free(pattern);
    return ok;
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(tw_kernel_name(((const struct entry *)a)->kernel),
                  tw_kernel_name(((const struct entry *)b)->kernel));
}

/* In the order in which they are named; all of kernels/matmul by name, so that the ladder stands
 * step below step. */
static int gather_entries(struct bench *b)
{
    const char *const *targets = b->given->words;
    size_t count = (size_t)b->given->word_count;
    glob_t found = {0};
    if (count == 0) {
        if (!bench_find_kernels(&found))
            return usage_error(NULL, b->self, "which FILE? (there is no kernels/matmul here)");
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
    if (m < 1 || n < 1 || k < 1 || m > SIZE_MOST || n > SIZE_MOST || k > SIZE_MOST)
        return usage_error(NULL, b->self, "sizes go from 1 to %d", SIZE_MOST);
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
                         : usage_error(NULL, b->self, "--size needs an integer");
        else if (strcmp(u->spec->name, "dims") == 0)
            status = parse_integer(u->values[0], &v[0]) && parse_integer(u->values[1], &v[1]) &&
                             parse_integer(u->values[2], &v[2])
                         ? add_size(b, v[0], v[2], v[1])
                         : usage_error(NULL, b->self, "--dims needs three integers, M K N");
        else if (strcmp(u->spec->name, "all-sizes") == 0)
            for (size_t s = 0; s < sizeof usual_sizes / sizeof *usual_sizes; s++)
                add_size(b, usual_sizes[s].m, usual_sizes[s].n, usual_sizes[s].k);
    }
    return status;
}

/* After the kernels are known: names that none has; sizes given twice or not at all. */
static int check_settings(struct bench *b)
{
    const struct options *o = b->given;
    struct known_kernel *known = need_memory((size_t)b->entry_count * sizeof *known);
    for (int i = 0; i < b->entry_count; i++) {
        known[i] = (struct known_kernel){b->entries[i].program, b->entries[i].kernel};
        b->sized |= b->entries[i].takes_sizes;
    }
    int status = settings_known(known, b->entry_count, o);
    free(known);
    if (status != STATUS_OK)
        return status;
    b->sizes_set =
        b->sized && (settings_set(o, "m") || settings_set(o, "n") || settings_set(o, "k"));
    if (b->sizes_set && b->size_count)
        return usage_error(NULL, b->self,
                           "m, n and k are given twice: by --set, and by -s, --dims or -a");
    return b->size_count ? STATUS_OK : add_size(b, 512, 512, 512);
}

/* --- timing --- */

static void product_open(struct product *x, const struct bench *b, struct size size)
{
    *x = (struct product){
        .size = size, .is_open = true, .room = (int)b->repeat * (b->entry_count + 1)};
    x->a = need_memory((size_t)(size.m * size.k) * sizeof(float));
    x->b = need_memory((size_t)(size.k * size.n) * sizeof(float));
    x->c = need_memory((size_t)(size.m * size.n) * sizeof(float));
    x->seconds = need_memory((size_t)x->room * sizeof(double));
    struct fill_options random = {.kind = FILL_RAND, .seed = 1, .scale = 1 / sqrt((double)size.k)};
    tensor_fill(&(tw_array){.data = x->a, .dtype = TW_F32, .rank = 2, .shape = {size.m, size.k}},
                &random);
    random.seed = 2;
    tensor_fill(&(tw_array){.data = x->b, .dtype = TW_F32, .rank = 2, .shape = {size.k, size.n}},
                &random);
}

/* x, with operands of the row's size, or NULL when OpenBLAS cannot be timed beside the row. */
static struct product *peer_of(const struct bench *b, struct product *x, const struct bench_row *r)
{
    int64_t most = r->m > r->n ? r->m : r->n;
    if (!b->has_blas || !r->is_product || r->m < 1 || r->n < 1 || r->k < 1 || most > SIZE_MOST ||
        r->k > SIZE_MOST)
        return NULL;
    if (!x->is_open)
        product_open(x, b, (struct size){r->m, r->n, r->k});
    return x->size.m == r->m && x->size.n == r->n && x->size.k == r->k ? x : NULL;
}

static void product_close(struct product *x)
{
    free(x->a);
    free(x->b);
    free(x->c);
    free(x->seconds);
}

/* The first call wakes its workers, the second is timed; then they are left the time to go to sleep
 * again (blas.c), so that neither side pays for the other. */
static double time_blas(const struct bench *b, struct product *x)
{
    blas_multiply(&b->blas, x->size.m, x->size.n, x->size.k, x->a, x->b, x->c);
    double start = seconds_now();
    blas_multiply(&b->blas, x->size.m, x->size.n, x->size.k, x->a, x->b, x->c);
    double taken = seconds_now() - start;
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    return taken;
}

static tw_status run_once(struct bench *b, tw_launch *l)
{
    b->deadline.at = seconds_now() + LIMIT_FACTOR * b->time_limit;
    tw_status s = tw_launch_run(l);
    b->deadline.at = 0;
    return s;
}

/* Warm-up, then runs of the kernel and of BLAS in turn, so that both see the machine in the same
 * state. */
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
        s = run_once(b, l);
        double taken = seconds_now() - start, other = x && s == TW_OK ? time_blas(b, x) : 0;
        if (warm || s != TW_OK)
            continue;
        kernel[row->runs] = taken;
        blas[row->runs++] = other;
        if (x && x->runs < x->room)
            x->seconds[x->runs++] = other;
    }
    if (s == TW_OK) {
        row->ms = 1e3 * median_of(kernel, row->runs);
        row->blas_ms = 1e3 * median_of(blas, row->runs);
        row->blas_percent = row->blas_ms > 0 ? 100 * row->blas_ms / row->ms : 0;
    }
    free(kernel);
    free(blas);
    return s;
}

/* "FILE:LINE: text", one line. */
static void explain(struct bench_row *row, const tw_context *ctx, tw_status s)
{
    tw_message m = {.text = tw_status_text(s)};
    tw_context_message(ctx, 0, &m);
    if (m.file)
        snprintf(row->why, sizeof row->why, "%s:%d: %s", m.file, m.line, m.text);
    else
        snprintf(row->why, sizeof row->why, "%s", m.text);
}

/* What the kernel does not take is no failure; a fault in the run is one. */
static void judge_failure(const struct bench *b, struct bench_row *row, const tw_context *ctx,
                          tw_status s)
{
    explain(row, ctx, s);
    if (s == TW_CANCELLED)
        snprintf(row->why, sizeof row->why, "did not end within %g s (%d times --time-limit)",
                 LIMIT_FACTOR * b->time_limit, LIMIT_FACTOR);
    bool refused = s == TW_BAD_ARGUMENT || s == TW_UNSUPPORTED || s == TW_BAD_PROGRAM ||
                   s == TW_NO_MEMORY || s == TW_NOT_ASSUMED;
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
    row->result = s == TW_OK ? BENCH_PASS : BENCH_FAIL;
    if (s != TW_OK)
        explain(row, e->program->ctx, s);
    if (s != TW_OK && s != TW_WRONG_VALUES)
        return;
    row->compared = true;
    row->error = v.max_error;
    row->worst_error = verdict_worst_error(&v);
    row->allowed = v.tolerance;
}

/* m, n and k as the launch has them; what is not known stays. */
static void read_sizes(struct bench_row *row, tw_launch *l)
{
    tw_scalar v;
    if (tw_launch_value(l, "m", &v) == TW_OK)
        row->m = v.i;
    if (tw_launch_value(l, "n", &v) == TW_OK)
        row->n = v.i;
    if (tw_launch_value(l, "k", &v) == TW_OK)
        row->k = v.i;
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
    struct product *peer = NULL;
    double scale = e->takes_sizes && row->k > 0 ? 1 / sqrt((double)row->k) : 1;
    tw_status s = tw_launch_prepare(l);
    if (s == TW_OK)
        s = operands_make(&arrays, l, e->kernel, 1, scale);
    if (s == TW_OK) {
        peer = peer_of(b, x, row);
        s = time_kernel(b, l, peer, row);
    }
    if (s == TW_OK) { /* again on clean outputs: kernels that add to them are judged by one run */
        operands_reset(&arrays);
        s = run_once(b, l);
    }
    if (s != TW_OK) {
        judge_failure(b, row, e->program->ctx, s);
    } else {
        double flops = e->is_product ? 2.0 * (double)row->m * (double)row->n * (double)row->k : 0;
        row->gflops = flops / row->ms * 1e-6;
        row->gbytes = operands_bytes(&arrays) / row->ms * 1e-6;
        progress_step(&b->progress, "%s: comparing values", row->kernel);
        verify_row(row, e, l);
    }
    b->failed |= row->result == BENCH_FAIL;
    operands_free(&arrays);
}

static int bench_entry(struct bench *b, const struct entry *e, const struct size *size,
                       struct product *x, struct bench_row *row)
{
    *row = (struct bench_row){
        .kernel = tw_kernel_name(e->kernel), .file = e->program->path, .is_product = e->is_product};
    tw_launch *l;
    tw_status s = tw_launch_new(e->kernel, &l);
    if (s != TW_OK) {
        judge_failure(b, row, e->program->ctx, s);
        return STATUS_OK;
    }
    int status = set_up(b, e, l, size);
    char *missing = status == STATUS_OK ? missing_scalars(l, e->kernel) : NULL;
    read_sizes(row, l);
    describe_sizes(row, e, l);
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
    row.ms = 1e3 * median_of(x->seconds, x->runs);
    if (row.ms > 0)
        row.gflops = 2.0 * (double)row.m * (double)row.n * (double)row.k / row.ms * 1e-6;
    put_row(b, &row);
}

/* The size of a round, or NULL when --set gives it. */
static const struct size *size_of_round(const struct bench *b, int round)
{
    return b->sizes_set ? NULL : &b->sizes[round];
}

/* All products of one round, then BLAS. */
static int bench_products(struct bench *b, int round)
{
    struct product x = {0};
    int status = STATUS_OK;
    for (int i = 0; i < b->entry_count && status == STATUS_OK; i++) {
        struct bench_row row;
        if (!b->entries[i].is_product)
            continue;
        status = bench_entry(b, &b->entries[i], size_of_round(b, round), &x, &row);
        if (status == STATUS_OK)
            put_row(b, &row);
    }
    if (x.runs && status == STATUS_OK)
        put_blas(b, &x);
    product_close(&x);
    return status;
}

/* All that are no products, once or at each size that they take. */
static int bench_others(struct bench *b)
{
    int status = STATUS_OK;
    for (int i = 0; i < b->entry_count && status == STATUS_OK; i++) {
        const struct entry *e = &b->entries[i];
        int rounds = e->takes_sizes && !b->sizes_set ? b->size_count : 1;
        for (int r = 0; r < rounds && !e->is_product && status == STATUS_OK; r++) {
            struct bench_row row;
            status = bench_entry(b, e, e->takes_sizes ? size_of_round(b, r) : NULL, NULL, &row);
            if (status == STATUS_OK)
                put_row(b, &row);
        }
    }
    return status;
}

/* --- the whole --- */

static int thread_count(const struct bench *b)
{
    tw_device d;
    return b->threads ? (int)b->threads : tw_device_at(0, &d) ? d.cores : 1;
}

static bool has_kind(const struct bench *b, bool products)
{
    for (int i = 0; i < b->entry_count; i++)
        if (b->entries[i].is_product == products)
            return true;
    return false;
}

static void print_preamble(const struct bench *b)
{
    tw_device d;
    if (tw_device_at(0, &d))
        printf("%s: %s; %d thread%s\n", d.name, d.description, thread_count(b),
               thread_count(b) == 1 ? "" : "s");
    bool products = has_kind(b, true);
    printf("median of %lld runs after %lld to warm up (fewer past %g s), inputs %s\n",
           (long long)b->repeat, (long long)b->warmup, b->time_limit,
           b->sized ? "(rand - 0.5)/sqrt(K)" : "rand - 0.5");
    if (b->has_blas)
        printf("%%blas: of the speed of %s's sgemm in f32 on as many threads, run in turn with the "
               "kernel\n",
               b->blas.name);
    else if (products)
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
    int rounds = !products ? 0 : b->sizes_set ? 1 : b->size_count;
    for (int i = 0; i < rounds && status == STATUS_OK; i++)
        status = bench_products(b, i);
    if (others && status == STATUS_OK) {
        if (!b->to_json) {
            fputs(products ? "\n" : "", stdout);
            bench_header(false, b->name_width);
        }
        status = bench_others(b);
    }
    progress_clear(&b->progress);
    if (b->to_json) {
        json_close(&b->json, ']');
        json_close(&b->json, '}');
        json_end(&b->json);
    }
    return status == STATUS_OK && b->failed ? STATUS_FAILED : status;
}

/* Options of bench --device cuda alone. */
static const char *const of_cuda[] = {"m",       "n",      "k",       "batch", "suite",
                                      "seconds", "rounds", "ensures", "load",  "triton",
                                      "tuned",   "store",  NULL};

static bool is_of_simulator(const struct options *given)
{
    return given->word_count > 0 && strcmp(given->words[0], "sim") == 0;
}

static int bench_run(const struct command *self, const struct options *given)
{
    const char *device = options_value(given, "device");
    if (is_of_simulator(given))
        return bench_simulator(self, given);
    if (device && (strcmp(device, "cuda") == 0 || strncmp(device, "cuda:", 5) == 0))
        return bench_on_cuda(self, given);
    if (device && strcmp(device, "cpu") != 0)
        return usage_error(NULL, self, "--device %s: bench knows cpu and cuda (cuda:1 …)", device);
    if (options_any(given, of_cuda))
        return usage_error(NULL, self, "--%s needs --device cuda", options_any(given, of_cuda));
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
    if (status == STATUS_OK)
        status = check_settings(&b);
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
     .help = "m = n = k = N (default 512, on a GPU 4096); may be repeated"},
    {.name = "dims", .values = 3, .value = "M K N", .help = "three sizes"},
    {.name = "all-sizes",
     .letter = 'a',
     .help = "CPU: 512×512×512, 1024×1024×1024, 256×384×640, 511×513×1025 (M×K×N)"},
    {.name = "warmup", .values = 1, .value = "N", .help = "CPU: runs before measuring (default 5)"},
    {.name = "repeat",
     .values = 1,
     .value = "N",
     .help = "CPU: runs measured (default 20); their median is shown"},
    {.name = "time-limit",
     .values = 1,
     .value = "SECONDS",
     .help = "CPU: a kernel past this is measured less often, at least 3 times (default\n10); a "
             "single run of ten times as long is ended and fails"},
    {.name = "device",
     .values = 1,
     .value = "DEVICE",
     .help = "cpu (default), or cuda: beside cuBLAS and cuBLASLt on a GPU (cuda:1: the second);\n"
             "what is marked CPU or GPU goes with that one alone, and so do --threads (CPU),\n"
             "--tuned and --store (GPU)"},
    OPTION_EXTENT('m', "m"),
    OPTION_EXTENT('n', "n"),
    OPTION_EXTENT('k', "k"),
    {.name = "batch",
     .values = 1,
     .value = "LIST",
     .help = "GPU: how many such products (default 1)"},
    OPTION_SUITE,
    {.name = "rounds",
     .values = 1,
     .value = "N",
     .help = "GPU: turns of kernel and libraries (default 5)"},
    {.name = "seconds", .values = 1, .value = "S", .help = "GPU: of a turn (default 0.2)"},
    {.name = "ensures",
     .help = "GPU: values by `ensures` at every size; without, beyond 512 x 512 x 512\n"
             "beside the library's, and 4096 elements in double precision"},
    {.name = "triton",
     .help = "GPU: beside an autotuned product in Triton too, where `python3` has it"},
    {.name = "load",
     .help = "GPU: compile and load only, and say what each kernel takes: registers,\n"
             "spills, shared memory, blocks that a multiprocessor runs at a time"},
    OPTION_SET,
    OPTION_TUNE,
    OPTION_TUNED,
    OPTION_STORE,
    OPTION_TYPE,
    OPTION_THREADS,
    OPTION_JSON,
    OPTION_END,
};

const struct command command_bench = {
    .name = "bench",
    .arguments = "[FILE[:KERNEL]…] [OPTIONS]",
    .summary = "time kernels beside OpenBLAS or cuBLAS, values checked",
    .about =
        "Times kernels (default: kernels/matmul) and compares every value with `ensures`.\n"
        "Kernels with parameters m, n and k are timed at the sizes asked for (or at those of "
        "--set), and those\n"
        "that make C[m][n] from A[m][k] and B[k][n] in turn with OpenBLAS's sgemm. Others are "
        "timed "
        "at sizes\n"
        "given by --set, and rated by the bytes of their arrays.\n"
        "With --device cuda they run on a GPU, beside cuBLAS and cuBLASLt where those are found: "
        "several rounds of\n"
        "kernel and libraries in turn, over copies of the arrays that are larger than the "
        "cache (docs/bench.md).\n"
        "`bench sim [FILE]` times the simulator instead: a product's PTX (default: "
        "kernels/sgemm/tiled.tile,\n"
        "256 x 256 x 256), alone and with each of the checks of `check`, in warp instructions "
        "a second on one core.\n"
        "A kernel that does not take a size is skipped, and the table says why.\n"
        "Status 1: a value was wrong, or a kernel failed.",
    .options = bench_options,
    .examples = "  tilewright bench -s 256\n"
                "  tilewright bench kernels/sgemm/*.tile --dims 256 384 640 --json\n"
                "  tilewright bench kernels/fused/softmax.tile --set rows=1024,cols=1000\n"
                "  tilewright bench --device cuda --type f16 -m 16,64 -n 8192 -k 28672\n"
                "  tilewright bench --device cuda --type all --suite squares --json\n",
    .run = bench_run,
};
