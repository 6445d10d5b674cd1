/* bench --device cuda. */
#include "bench/bench_gpu_report.h"
#include "cli/commands.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_SIZE = 4096, ROUNDS = 5 };
static const size_t workspace_bytes = (size_t)64 << 20;

struct cuda_bench {
    struct gpu_bench common;
    const struct options *given;
    struct bench_set set;
    struct slab workspace;
    struct gpu_row *rows;
    int row_count;
    struct gpu_columns columns;
    struct json json;
    bool to_json;
    const char *name; /* "cuda", "cuda:1" */
    tw_device device;
};

/* --- the device --- */

static int open_device(struct cuda_bench *b)
{
    struct timing_gpu *g = &b->common.gpu;
    g->ctx = b->set.programs[0].ctx;
    int ordinal = b->name[4] == ':' ? atoi(b->name + 5) : 0;
    b->device = tw_device_init();
    if (!device_named(b->name, &b->device))
        return usage_error(NULL, b->set.self,
                           "--device %s: `tilewright devices` lists those that there are", b->name);
    int status = gpu_open(g, ordinal);
    if (status != STATUS_OK)
        return status;
    g->l2_bytes = b->device.l2_bytes;
    if (b->common.only_load)
        return STATUS_OK;
    b->common.has_cublas = cublas_open(&b->common.cublas, g->stream);
    b->common.workspace = &b->workspace;
    if (b->common.has_cublas && !slab_open(&b->workspace, g, 1, workspace_bytes, NULL)) {
        complain_library(NULL, g->ctx, TW_NO_MEMORY);
        return STATUS_FAILED;
    }
    if (b->common.has_cublas)
        b->common.has_cublas =
            cublas_set_workspace(&b->common.cublas, b->workspace.base, workspace_bytes);
    return STATUS_OK;
}

static void close_all(struct cuda_bench *b)
{
    cublas_close(&b->common.cublas);
    slab_close(&b->workspace, &b->common.gpu);
    gpu_close(&b->common.gpu);
    bench_set_close(&b->set);
    free(b->rows);
}

/* --- the whole --- */

/* Returns whether the row is the last one with times of its libraries. */
static bool has_last_turn(const struct gpu_row *rows, int count, int i)
{
    for (int later = i + 1; later < count; later++)
        if (rows[later].turns == rows[i].turns && rows[later].common.ms > 0)
            return false;
    return rows[i].common.ms > 0;
}

static void put_rows(struct cuda_bench *b, const struct gpu_row *rows, int count)
{
    progress_clear(&b->common.progress);
    for (int i = 0; i < count; i++)
        if (b->to_json) {
            gpu_json(&rows[i], &b->json);
        } else {
            gpu_print(&rows[i], &b->columns);
            if (has_last_turn(rows, count, i))
                gpu_print_libraries(&rows[i], &b->columns);
        }
    fflush(stdout);
    progress_start(&b->common.progress);
    b->rows = need_more_memory(b->rows, (size_t)(b->row_count + count) * sizeof *b->rows);
    memcpy(b->rows + b->row_count, rows, (size_t)count * sizeof *b->rows);
    b->row_count += count;
}

/* Times all kernels of one size and type. */
static int bench_size(struct cuda_bench *b, const struct shape *s, tw_dtype type)
{
    const struct bench_entry **entries =
        need_memory((size_t)b->set.entry_count * sizeof(struct bench_entry *));
    struct gpu_row *rows = need_memory((size_t)b->set.entry_count * sizeof *rows);
    int count = 0;
    for (int i = 0; i < b->set.entry_count; i++)
        if (bench_set_has(&b->set, &b->set.entries[i], s, type))
            entries[count++] = &b->set.entries[i];
    int status = gpu_measure(&b->common, entries, count, s, type, rows);
    if (status == STATUS_OK)
        put_rows(b, rows, count);
    free(entries);
    free(rows);
    return status;
}

/* Times every type at every size, then the kernels without the sizes m, n and k. */
static int bench_every(struct cuda_bench *b)
{
    const struct bench_set *x = &b->set;
    int status = STATUS_OK;
    for (int t = 0; t < x->types.count && status == STATUS_OK; t++) {
        for (int i = 0; i < x->shapes.count && status == STATUS_OK; i++)
            status = bench_size(b, &x->shapes.list[i], x->types.list[t]);
        if (status == STATUS_OK)
            status = bench_size(b, NULL, x->types.list[t]);
    }
    return status;
}

static bool has_products(const struct bench_set *x)
{
    for (int i = 0; i < x->entry_count; i++)
        if (x->entries[i].is_product)
            return true;
    return false;
}

static void print_preamble(const struct cuda_bench *b)
{
    const struct timing_gpu *g = &b->common.gpu;
    bool beside = b->common.has_cublas && has_products(&b->set);
    printf("cuda: %s\n", b->device.description);
    if (b->common.only_load) {
        printf("compiled and loaded, not run; blocks at a time: of a multiprocessor\n\n");
        return;
    }
    printf("median of %d round%s of %g s%s, arrays rotated beyond %lld MB of cache, short runs as "
           "graphs;\n"
           "inputs (rand - 0.5)/sqrt(K), of 8-bit floats rand - 0.5, of int8 -127 … 127\n",
           g->rounds, g->rounds == 1 ? "" : "s", g->round_seconds,
           beside ? ", kernel and libraries in turn" : "", (long long)(g->l2_bytes >> 20));
    if (beside)
        printf("/cuBLAS, /cuBLASLt: the library's time over the kernel's within each round, the "
               "median; %s, and the best of the first %d answers of %s\n\n",
               b->common.cublas.name, CUBLASLT_WAYS, b->common.cublas.lt_name);
    else
        printf("%s\n\n", has_products(&b->set) ? b->common.cublas.why
                                               : "compared with no library: none has such kernels");
}

static void json_preamble(struct cuda_bench *b)
{
    const struct timing_gpu *g = &b->common.gpu;
    struct json *j = &b->json;
    json_open(j, '{');
    json_put_text(j, "device", b->device.description);
    json_put_integer(j, "rounds", g->rounds);
    json_put_real(j, "round_seconds", g->round_seconds);
    json_put_integer(j, "l2_bytes", g->l2_bytes);
    json_put_text(j, "blas", b->common.has_cublas ? b->common.cublas.name : NULL);
    if (*b->common.cublas.why && !b->common.has_cublas)
        json_put_text(j, "blas_missing", b->common.cublas.why);
    json_open_list(j, "rows");
}

/* Returns the exit status. A bench that measured nothing fails. */
static int judge(const struct cuda_bench *b)
{
    int skipped = 0, failed = 0;
    for (int i = 0; i < b->row_count; i++) {
        skipped += b->rows[i].common.result == BENCH_SKIPPED;
        failed += b->rows[i].common.result == BENCH_FAIL;
    }
    if (b->row_count == 0)
        complain(NULL, "nothing was measured: no kernel takes these types and sizes");
    else if (skipped == b->row_count)
        complain(NULL, "nothing was measured: %s: %s", b->rows[0].common.kernel,
                 b->rows[0].common.why);
    return failed || skipped == b->row_count ? STATUS_FAILED : STATUS_OK;
}

static int bench_and_report(struct cuda_bench *b)
{
    if (b->to_json) {
        json_preamble(b);
    } else {
        print_preamble(b);
        gpu_header(&b->columns);
    }
    progress_start(&b->common.progress);
    int status = bench_every(b);
    progress_clear(&b->common.progress);
    struct gpu_mean *means = gpu_means(b->rows, b->row_count);
    if (b->to_json) {
        json_close(&b->json, ']');
        gpu_json_means(means, &b->json);
        json_close(&b->json, '}');
        json_end(&b->json);
    } else {
        gpu_print_means(means);
    }
    free(means);
    return status == STATUS_OK ? judge(b) : status;
}

int bench_on_cuda(const struct command *self, const struct options *given)
{
    static const char *const others[] = {"warmup",       "budget", "timeout",  "threads", "bind",
                                         "machine-bits", "peers",  "together", NULL};
    struct cuda_bench b = {.common = {.rest = &b.set.rest,
                                      .all_ensures = options_has(given, "ensures"),
                                      .only_load = options_has(given, "load"),
                                      .triton = options_has(given, "triton")},
                           .given = given,
                           .set = {.self = self,
                                   .given = given,
                                   .target = "cuda",
                                   .default_size = DEFAULT_SIZE,
                                   .name_width = 16},
                           .name = options_value(given, "device"),
                           .json = {.out = stdout},
                           .to_json = options_has(given, "json")};
    int64_t rounds = ROUNDS;
    b.common.gpu.round_seconds = 0.2;
    if (options_any(given, others))
        return usage_error(NULL, self, "--%s is not for --device cuda", options_any(given, others));
    if (!options_integer(given, "repeat", 1, ROUNDS_MOST, &rounds) ||
        !options_duration(given, "seconds", &b.common.gpu.round_seconds))
        return STATUS_USAGE;
    b.common.gpu.rounds = (int)rounds;
    int status = bench_set_open(
        &b.set, &(struct program_config){.colour = on_terminal(stderr), .device = b.name});
    b.columns = (struct gpu_columns){.batched = b.set.shapes.batched,
                                     .grouped = options_has(given, "suite"),
                                     .name_width = b.set.name_width};
    status = status == STATUS_OK ? open_device(&b) : status;
    status = status == STATUS_OK ? bench_and_report(&b) : status;
    close_all(&b);
    return status;
}
