#include "bench.h"
#include "table.h"

static const char *const result_names[] = {"PASS", "FAIL", "no ensures", "skipped"};

/* Products: sizes, name, time, speed, per cent of BLAS, verdict. Others: bytes a second instead. */
static int product_columns(struct column *c, int name_width)
{
    const struct column columns[] = {{"m", 5, false},
                                     {"n", 5, false},
                                     {"k", 5, false},
                                     {"name", name_width, true},
                                     {"latency(ms)", 11, false},
                                     {"gflops", 8, false},
                                     {"%blas", 6, false},
                                     {"check", 5, true},
                                     {"error", 0, true}};
    for (int i = 0; i < 9; i++)
        c[i] = columns[i];
    return 9;
}

static int other_columns(struct column *c, int name_width)
{
    const struct column columns[] = {{"name", name_width, true}, {"latency(ms)", 11, false},
                                     {"GB/s", 8, false},         {"check", 5, true},
                                     {"error", 8, true},         {"sizes", 0, true}};
    for (int i = 0; i < 6; i++)
        c[i] = columns[i];
    return 6;
}

void bench_header(bool products, int name_width)
{
    struct column c[9];
    int count = products ? product_columns(c, name_width) : other_columns(c, name_width);
    table_header(stdout, c, count);
}

struct cells {
    char m[24], n[24], k[24], ms[24], gflops[24], percent[24], error[480];
};

static void format_cells(const struct bench_row *r, struct cells *t)
{
    bool timed = r->ms > 0;
    snprintf(t->m, sizeof t->m, r->m ? "%lld" : "-", (long long)r->m);
    snprintf(t->n, sizeof t->n, r->n ? "%lld" : "-", (long long)r->n);
    snprintf(t->k, sizeof t->k, r->k ? "%lld" : "-", (long long)r->k);
    snprintf(t->ms, sizeof t->ms, timed ? "%.3f" : "-", r->ms);
    snprintf(t->gflops, sizeof t->gflops, timed ? "%.2f" : "-",
             r->is_product ? r->gflops : r->gbytes);
    snprintf(t->percent, sizeof t->percent, r->blas_percent > 0 ? "%.1f" : "-", r->blas_percent);
    if (r->compared)
        snprintf(t->error, sizeof t->error, "%.1e%s%s", r->error, r->why[0] ? "  " : "", r->why);
    else
        snprintf(t->error, sizeof t->error, "%s", r->why);
}

void bench_print(const struct bench_row *r, int name_width)
{
    struct column c[9];
    struct cells t;
    format_cells(r, &t);
    const char *check = r->is_blas ? "" : result_names[r->result];
    if (r->is_product) {
        const char *cells[] = {t.m, t.n, t.k, r->kernel, t.ms, t.gflops, t.percent, check, t.error};
        table_row(stdout, c, product_columns(c, name_width), cells);
    } else {
        const char *cells[] = {r->kernel, t.ms, t.gflops, check, t.error, r->sizes};
        table_row(stdout, c, other_columns(c, name_width), cells);
    }
    fflush(stdout);
}

void bench_json(const struct bench_row *r, struct json *j)
{
    json_open(j, '{');
    json_key(j, "kernel");
    json_string(j, r->kernel);
    json_key(j, "device");
    json_string(j, "cpu");
    json_key(j, "file");
    json_string(j, r->file);
    if (r->is_product) {
        json_key(j, "m");
        json_integer(j, r->m);
        json_key(j, "n");
        json_integer(j, r->n);
        json_key(j, "k");
        json_integer(j, r->k);
    } else {
        json_key(j, "sizes");
        json_string(j, r->sizes);
    }
    if (r->ms > 0) {
        json_key(j, "ms");
        json_real(j, r->ms);
        json_key(j, "runs");
        json_integer(j, r->runs);
        json_key(j, r->is_product ? "gflops" : "gbytes_per_second");
        json_real(j, r->is_product ? r->gflops : r->gbytes);
    }
    if (r->blas_ms > 0 && !r->is_blas) {
        json_key(j, "peer");
        json_string(j, "OpenBLAS");
        json_key(j, "peer_ms");
        json_real(j, r->blas_ms);
        json_key(j, "ratio");
        json_real(j, r->blas_ms / r->ms);
    }
    if (!r->is_blas) {
        json_key(j, "ok");
        json_bool(j, r->result == BENCH_PASS);
        json_key(j, "result");
        json_string(j, result_names[r->result]);
    }
    if (r->compared) {
        json_key(j, "max_error");
        json_real(j, r->error);
        json_key(j, "worst_error");
        json_real(j, r->worst_error);
        json_key(j, "tolerance");
        json_real(j, r->allowed);
    }
    if (r->why[0]) {
        json_key(j, "why");
        json_string(j, r->why);
    }
    json_close(j, '}');
}
