/* Runs bench on the CPU: chooses the kernels with their sizes and types, and prints the results. */
#include "bench/bench_cpu.h"
#include "cli/commands.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_SIZE = 512 };

/* Kernel to time at one size and type. */
struct work {
    const struct bench_entry *entry;
    const struct shape *shape; /* NULL: --set gives the sizes */
    tw_dtype dtype;
};

/* Times of the libraries in comparison with kernels of one size and type. */
struct beside {
    struct bench_row like;
    double *ms[PEERS];
    int count;
};

struct bench {
    struct cpu_bench common;
    const struct options *given;
    struct bench_set set;
    struct work *works;
    int work_count;
    bool to_json, failed;
    int row_count;
    char *skipped;          /* first skipped: "matmul_v5: why"; NULL: some row is of another kind */
    bool headed[2];         /* heads of the tables of others and of products are printed */
    struct beside *besides; /* of the rows since the last new size or type */
    int beside_count;
    const struct work *last; /* printed */
    struct bench_columns columns;
    struct json json;
};

/* --- what to time --- */

static void widen(struct bench *b, int width)
{
    if (width > b->columns.name_width)
        b->columns.name_width = width;
}

static void add_works(struct bench *b, const struct shape *s, tw_dtype type, bool products)
{
    for (int i = 0; i < b->set.entry_count; i++) {
        const struct bench_entry *e = &b->set.entries[i];
        if (e->is_product != products || !bench_set_has(&b->set, e, s, type))
            continue;
        ADD_TO(b->works, b->work_count, (struct work){e, s, type});
    }
}

/* Collects the works: first the products, by type and then by size, then the other kernels. */
static void gather_works(struct bench *b)
{
    const struct bench_set *x = &b->set;
    for (int products = 1; products >= 0; products--)
        for (int t = 0; t < x->types.count; t++) {
            for (int s = 0; s < x->shapes.count; s++)
                add_works(b, &x->shapes.list[s], x->types.list[t], products);
            add_works(b, NULL, x->types.list[t], products);
        }
}

/* Returns whether there are products (`products`) or other kernels. */
static bool has_works(const struct bench *b, bool products)
{
    for (int i = 0; i < b->work_count; i++)
        if (b->works[i].entry->is_product == products)
            return true;
    return false;
}

static int open_peers(struct bench *b)
{
    struct peers *x = &b->common.peers;
    const char *bad;
    if (!has_works(b, true))
        return STATUS_OK;
    if (peers_open(x, options_value(b->given, "peers"), b->common.threads, &bad)) {
        for (int i = 0; i < x->count; i++)
            widen(b, (int)strlen(x->list[i].name));
        return STATUS_OK;
    }
    return usage_error(NULL, b->set.self,
                       "--peers: there is no '%.*s'; there are openblas, blis and onednn, or none",
                       (int)strcspn(bad, ","), bad);
}

/* --- rows --- */

static bool same_size(const struct bench_row *a, const struct bench_row *b)
{
    return a->dtype == b->dtype && a->m == b->m && a->n == b->n && a->k == b->k &&
           a->batch == b->batch;
}

/* After the last row of a size, prints the speed of the libraries in comparison with those
 * kernels. */
static void flush_besides(struct bench *b)
{
    for (struct beside *x = b->besides; x < b->besides + b->beside_count; x++)
        for (int i = 0; i < PEERS; i++) {
            struct library_row *l = &x->like.peers[i];
            l->ms = median_of(x->ms[i], x->count);
            if (l->tried && !b->to_json)
                bench_print_library(&x->like, l, &b->columns);
            free(x->ms[i]);
        }
    free(b->besides);
    b->besides = NULL;
    b->beside_count = 0;
}

/* Finds the library times for a row's size and type. One size can have several entries, because
 * kernels may differ in their default type. */
static struct beside *find_beside(struct bench *b, const struct bench_row *row)
{
    for (struct beside *x = b->besides; x < b->besides + b->beside_count; x++)
        if (same_size(&x->like, row))
            return x;
    NEED_ROOM(b->besides, b->beside_count);
    b->besides[b->beside_count] = (struct beside){.like = *row};
    return &b->besides[b->beside_count++];
}

static void keep_beside(struct bench *b, const struct bench_row *row)
{
    if (row->ms <= 0 || !row->is_product)
        return;
    struct beside *x = find_beside(b, row);
    for (int i = 0; i < PEERS; i++) {
        NEED_ROOM(x->ms[i], x->count);
        x->ms[i][x->count] = row->peers[i].ms;
    }
    x->count++;
}

static void count_row(struct bench *b, const struct bench_row *row)
{
    if (b->row_count++ == 0 && row->result == BENCH_SKIPPED)
        b->skipped = need_text("%s: %s", row->kernel, row->why);
    if (row->result == BENCH_SKIPPED)
        return;
    free(b->skipped);
    b->skipped = NULL;
}

static void put_row(struct bench *b, const struct work *w, const struct bench_row *row)
{
    count_row(b, row);
    progress_clear(&b->common.progress);
    if (b->last && (b->last->shape != w->shape || b->last->dtype != w->dtype ||
                    b->last->entry->is_product != w->entry->is_product))
        flush_besides(b);
    b->last = w;
    keep_beside(b, row);
    if (!b->to_json && !b->headed[row->is_product]) {
        fputs(b->headed[!row->is_product] ? "\n" : "", stdout);
        bench_header(row->is_product, &b->columns);
        b->headed[row->is_product] = true;
    }
    if (b->to_json)
        bench_json(row, &b->json);
    else
        bench_print(row, &b->columns);
    b->failed |= row->result == BENCH_FAIL;
    for (int i = 0; i < PEERS; i++)
        b->failed |= row->peers[i].wrong;
    progress_start(&b->common.progress);
}

/* Times works in the same rounds. */
static int bench_group(struct bench *b, const struct work *works, int count)
{
    struct cpu_job *jobs = need_memory((size_t)count * sizeof *jobs);
    int opened = 0, status = STATUS_OK;
    while (opened < count && status == STATUS_OK) {
        const struct work *w = &works[opened];
        progress_step(&b->common.progress, "%s: compiling", tw_kernel_name(w->entry->kernel));
        status = cpu_job_open(&jobs[opened++], &b->common, w->entry, w->shape, w->dtype);
    }
    if (status == STATUS_OK)
        cpu_jobs_run(&b->common, jobs, count);
    for (int i = 0; i < opened; i++) {
        if (status == STATUS_OK)
            put_row(b, &works[i], &jobs[i].row);
        cpu_job_close(&jobs[i]);
    }
    free(jobs);
    return status;
}

/* --- the whole --- */

static void print_peers(const struct bench *b)
{
    const struct peers *x = &b->common.peers;
    const char *before =
        "/peer: the time of the fastest of these over the kernel's within each round, the median; "
        "each on as many threads: ";
    for (int i = 0; i < x->count; i++)
        if (x->list[i].handle) {
            printf("%s%s", before, x->list[i].name);
            before = ", ";
        }
    fputs(peers_any(x) ? "\n" : "", stdout);
    for (int i = 0; i < x->count; i++)
        if (!x->list[i].handle)
            printf("%s: %s\n", x->list[i].name, x->list[i].why);
}

/* Names the contenders in the rounds of the kernels. */
static const char *others_in_turn(const struct bench *b)
{
    bool libraries = peers_any(&b->common.peers), copy = has_works(b, false);
    return libraries && copy ? ", kernel and libraries, or a copy, in turn"
           : libraries       ? ", kernel and libraries in turn"
           : copy            ? ", kernel and a copy in turn"
                             : "";
}

static void print_preamble(const struct bench *b)
{
    const struct cpu_bench *c = &b->common;
    tw_device d = tw_device_init();
    if (tw_device_at(0, &d))
        printf("%s: %s; %d thread%s\n", d.name, d.description, c->threads,
               c->threads == 1 ? "" : "s");
    printf("median of %lld round%s after %lld to warm up (fewer past %g s)%s; inputs %s\n",
           (long long)c->repeat, c->repeat == 1 ? "" : "s", (long long)c->warmup, c->time_limit,
           others_in_turn(b), b->set.sized ? "(rand - 0.5)/sqrt(K)" : "rand - 0.5");
    print_peers(b);
    if (has_works(b, false))
        printf(
            "/copy: the time of a copy of as many bytes as the arrays have, by memcpy on as many "
            "threads, over the kernel's within each round, the median\n");
    putchar('\n');
    fflush(stdout);
}

static void json_peers(struct bench *b)
{
    struct json *j = &b->json;
    json_open_list(j, "peers");
    for (int i = 0; i < b->common.peers.count; i++) {
        const struct peer *p = &b->common.peers.list[i];
        json_open(j, '{');
        json_put_text(j, "name", p->name);
        if (!p->handle)
            json_put_text(j, "missing", p->why);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void json_preamble(struct bench *b)
{
    struct json *j = &b->json;
    tw_device d = tw_device_init();
    json_open(j, '{');
    json_put_text(j, "device", tw_device_at(0, &d) ? d.description : "cpu");
    json_put_integer(j, "threads", b->common.threads);
    json_put_integer(j, "warmup", b->common.warmup);
    json_put_integer(j, "repeat", b->common.repeat);
    json_peers(b);
    json_open_list(j, "rows");
}

/* Returns the exit status. A bench that measured nothing fails. */
static int judge(const struct bench *b)
{
    if (b->work_count == 0)
        complain(NULL, "nothing was measured: no kernel takes these types and sizes");
    else if (b->skipped)
        complain(NULL, "nothing was measured: %s", b->skipped);
    return b->failed || b->skipped || b->work_count == 0 ? STATUS_FAILED : STATUS_OK;
}

static int bench_all(struct bench *b)
{
    int status = STATUS_OK;
    int group = options_has(b->given, "together") && b->work_count > 0 ? b->work_count : 1;
    if (b->to_json)
        json_preamble(b);
    else
        print_preamble(b);
    progress_start(&b->common.progress);
    for (int i = 0; i < b->work_count && status == STATUS_OK; i += group)
        status = bench_group(b, b->works + i, group);
    progress_clear(&b->common.progress);
    flush_besides(b);
    if (b->to_json) {
        json_close(&b->json, ']');
        json_close(&b->json, '}');
        json_end(&b->json);
    }
    return status == STATUS_OK ? judge(b) : status;
}

static int read_numbers(struct cpu_bench *b, const struct options *given)
{
    int64_t threads = 0;
    tw_device d = tw_device_init();
    if (!options_integer(given, "warmup", 0, 1000000, &b->warmup) ||
        !options_integer(given, "repeat", 1, 100000, &b->repeat) ||
        !options_threads(given, &threads) || !options_duration(given, "budget", &b->time_limit) ||
        !options_duration(given, "timeout", &b->timeout))
        return STATUS_USAGE;
    b->threads = threads ? (int)threads : tw_device_at(0, &d) ? d.cores : 1;
    return STATUS_OK;
}

static void close_all(struct bench *b)
{
    peers_close(&b->common.peers);
    bench_set_close(&b->set);
    free(b->works);
    free(b->skipped);
}

int bench_on_cpu(const struct command *self, const struct options *given)
{
    struct bench b = {.common = {.rest = &b.set.rest,
                                 .warmup = 5,
                                 .repeat = 20,
                                 .time_limit = 10,
                                 .timeout = 10,
                                 .all_ensures = options_has(given, "ensures")},
                      .given = given,
                      .set = {.self = self, .given = given, .default_size = DEFAULT_SIZE},
                      .json = {.out = stdout},
                      .to_json = options_has(given, "json"),
                      .columns = {.name_width = 15}};
    int status = read_numbers(&b.common, given);
    if (status == STATUS_OK)
        status = bench_set_open(
            &b.set, &(struct program_config){.threads = b.common.threads,
                                             .bind = options_value(given, "bind"),
                                             .machine_bits = options_has(given, "machine-bits"),
                                             .colour = on_terminal(stderr),
                                             .deadline = &b.common.deadline});
    b.columns.batched = b.set.shapes.batched;
    widen(&b, b.set.name_width);
    if (status == STATUS_OK) {
        gather_works(&b);
        status = open_peers(&b);
    }
    status = status == STATUS_OK ? bench_all(&b) : status;
    close_all(&b);
    return status;
}
