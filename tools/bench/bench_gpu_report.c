#include "bench/bench_gpu_report.h"
#include "cli/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const result_names[] = {"PASS", "FAIL", "not checked", "skipped"};

/* --- the table --- */

static void add_sizes(struct cells *c, const struct shape *s, const struct gpu_columns *w)
{
    if (w->grouped)
        cells_add(c, "class", 8, true, s->group);
    if (w->batched)
        cells_add_number(c, "batch", 5, 0, (double)s->batch);
    cells_add_number(c, "m", 5, 0, (double)s->m);
    cells_add_number(c, "n", 5, 0, (double)s->n);
    cells_add_number(c, "k", 5, 0, (double)s->k);
}

static void write_config(const struct gpu_row *r, char *out, size_t size)
{
    const char *why = r->common.why, *config = r->common.config;
    char origin[200];
    size_t at = 0;
    out[0] = '\0';
    bench_origin(&r->common, origin, sizeof origin);
    if ((*config || r->common.choice.family) && (!*why || r->common.result == BENCH_UNCHECKED))
        at = (size_t)snprintf(out, size, "%s%s%s%s", config, *config ? " " : "", origin,
                              *why ? ": " : "");
    snprintf(out + at, size - at, "%s", why);
}

static void make_cells(struct cells *c, const struct gpu_row *r, const struct gpu_columns *w)
{
    char text[CELL_BYTES] = "-";
    const struct bench_row *b = &r->common;
    c->count = 0;
    cells_add(c, "type", 4, true, r->dtype == TW_DTYPE_NONE ? "" : tw_dtype_name(r->dtype));
    add_sizes(c, &r->shape, w);
    cells_add(c, "name", w->name_width, true, b->kernel);
    cells_add_number(c, "latency (ms)", 12, b->ms < 0.1 ? 5 : 4, b->ms);
    cells_add_number(c, "tflops", 7, 2, b->is_product ? r->tflops : 0);
    cells_add_number(c, "GB/s", 5, 0, b->gbytes);
    cells_add_number(c, "/cuBLAS", 7, 3, r->libraries[0].ratio);
    cells_add_number(c, "/cuBLASLt", 7, 3, r->libraries[1].ratio);
    cells_add(c, "check", 5, true, result_names[b->result]);
    if (b->compared)
        snprintf(text, sizeof text, "%.1e", b->error);
    cells_add(c, "error", 7, true, text);
    write_config(r, text, sizeof text);
    cells_add(c, "configuration", 0, true, text);
}

void gpu_header(const struct gpu_columns *w)
{
    struct cells c;
    struct gpu_row empty = {.common.kernel = "", .dtype = TW_DTYPE_NONE};
    make_cells(&c, &empty, w);
    cells_header(stdout, &c);
}

/* Prints a library's row: its own time, from the measurement with this kernel. */
static void print_library(const struct gpu_row *r, const struct library_row *l,
                          const struct gpu_columns *w)
{
    struct cells c;
    struct gpu_row row = {.dtype = r->dtype, .shape = r->shape};
    row.common = (struct bench_row){
        .kernel = l->name, .is_product = true, .ms = l->ms, .result = BENCH_UNCHECKED};
    if (l->ms > 0) {
        row.tflops = r->tflops * r->common.ms / l->ms;
        row.common.gbytes = r->common.gbytes * r->common.ms / l->ms;
    }
    snprintf(row.common.why, sizeof row.common.why, "%s", l->note);
    make_cells(&c, &row, w);
    c.texts[c.count - 3][0] = c.texts[c.count - 2][0] = '\0'; /* its values are not checked */
    cells_row(stdout, &c);
}

void gpu_print(const struct gpu_row *r, const struct gpu_columns *w)
{
    struct cells c;
    make_cells(&c, r, w);
    cells_row(stdout, &c);
}

void gpu_print_libraries(const struct gpu_row *r, const struct gpu_columns *w)
{
    for (int i = 0; i < LIBRARIES; i++)
        if (*r->libraries[i].name)
            print_library(r, &r->libraries[i], w);
    if (*r->triton.name)
        print_library(r, &r->triton, w);
}

/* --- JSON --- */

static void put_sizes(const struct gpu_row *r, struct json *j)
{
    if (*r->shape.group)
        json_put_text(j, "class", r->shape.group);
    json_put_integer(j, "m", r->shape.m);
    json_put_integer(j, "n", r->shape.n);
    json_put_integer(j, "k", r->shape.k);
    json_put_integer(j, "batch", r->shape.batch);
}

static void put_library(const struct library_row *l, struct json *j)
{
    json_open(j, '{');
    json_put_text(j, "name", l->name);
    if (l->ms > 0) {
        json_put_real(j, "ms", l->ms);
        json_put_real(j, "ratio", l->ratio);
    }
    if (*l->note)
        json_put_text(j, "note", l->note);
    json_close(j, '}');
}

static void put_libraries(const struct gpu_row *r, struct json *j)
{
    const struct library_row *best = NULL;
    json_open_list(j, "libraries");
    for (int i = 0; i < LIBRARIES; i++) {
        const struct library_row *l = &r->libraries[i];
        if (!*l->name)
            continue;
        put_library(l, j);
        if (l->ms > 0)
            best = !best || l->ratio < best->ratio ? l : best;
    }
    json_close(j, ']');
    if (*r->triton.name) {
        json_key(j, "triton");
        put_library(&r->triton, j);
    }
    if (!best)
        return;
    json_put_text(j, "peer", best->name);
    json_put_real(j, "peer_ms", best->ms);
    json_put_real(j, "ratio", best->ratio);
}

static void put_occupancy(const tw_occupancy *o, struct json *j)
{
    json_put_integer(j, "threads", o->threads);
    json_put_integer(j, "registers", o->registers);
    json_put_integer(j, "local_bytes", o->local_bytes);
    json_put_integer(j, "shared_bytes", o->shared_bytes);
    json_put_integer(j, "blocks_at_a_time", o->blocks);
}

void gpu_json(const struct gpu_row *r, struct json *j)
{
    const struct bench_row *b = &r->common;
    json_open(j, '{');
    json_put_text(j, "kernel", b->kernel);
    json_put_text(j, "file", b->file);
    json_put_text(j, "device", "cuda");
    json_put_text(j, "target", r->target);
    if (r->dtype != TW_DTYPE_NONE)
        json_put_text(j, "dtype", tw_dtype_name(r->dtype));
    put_sizes(r, j);
    json_put_text(j, "config", r->common.config);
    json_put_text(j, "config_from", bench_from_names[r->common.from]);
    bench_json_choice(b, j);
    if (b->ms > 0) {
        json_put_real(j, "ms", b->ms);
        json_put_integer(j, "runs", b->runs);
        json_put_integer(j, "copies", r->copies);
        json_put_text(j, "started_as", r->graphs ? "graph" : "launches");
        if (b->is_product)
            json_put_real(j, "tflops", r->tflops);
        json_put_real(j, "gbytes_per_second", b->gbytes);
    }
    if (r->occupancy.threads > 0)
        put_occupancy(&r->occupancy, j);
    put_libraries(r, j);
    bench_json_values(b, result_names[b->result], j);
    json_close(j, '}');
}

/* --- means --- */

static bool same_size(const struct gpu_row *a, const struct gpu_row *b)
{
    return a->dtype == b->dtype && memcmp(&a->shape, &b->shape, sizeof a->shape) == 0;
}

/* Returns 0 if the row is not the first of its size, or if there is no library to compare with. */
static double best_of_size(const struct gpu_row *rows, int count, int first)
{
    double best = 0;
    for (int i = 0; i < count; i++) {
        if (!same_size(&rows[i], &rows[first]))
            continue;
        if (i < first)
            return 0;
        if (rows[i].best_ratio > best && rows[i].common.result != BENCH_FAIL)
            best = rows[i].best_ratio;
    }
    return best;
}

static struct gpu_mean *find_mean(struct gpu_mean *means, const struct gpu_row *r)
{
    struct gpu_mean *m = means;
    while (m->sizes && (m->dtype != r->dtype || strcmp(m->group, r->shape.group) != 0))
        m++;
    return m;
}

struct gpu_mean *gpu_means(const struct gpu_row *rows, int count)
{
    struct gpu_mean *means = need_memory(((size_t)count + 1) * sizeof *means);
    for (int i = 0; i < count; i++) {
        double best = best_of_size(rows, count, i);
        if (best <= 0)
            continue;
        struct gpu_mean *m = find_mean(means, &rows[i]);
        m->group = rows[i].shape.group;
        m->dtype = rows[i].dtype;
        m->sizes++;
        m->ratio += log(best);
    }
    for (struct gpu_mean *m = means; m->sizes; m++)
        m->ratio = exp(m->ratio / m->sizes);
    return means;
}

void gpu_print_means(const struct gpu_mean *means)
{
    if (means->sizes)
        printf(
            "\ngeometric means of the fastest kernel's speed, compared with the faster library:\n");
    for (const struct gpu_mean *m = means; m->sizes; m++)
        printf("  %-8s  %-4s  %.3f  of %d size%s\n", *m->group ? m->group : "all",
               tw_dtype_name(m->dtype), m->ratio, m->sizes, m->sizes == 1 ? "" : "s");
}

void gpu_json_means(const struct gpu_mean *means, struct json *j)
{
    json_open_list(j, "means");
    for (const struct gpu_mean *m = means; m->sizes; m++) {
        json_open(j, '{');
        json_put_text(j, "class", *m->group ? m->group : "all");
        json_put_text(j, "dtype", tw_dtype_name(m->dtype));
        json_put_integer(j, "sizes", m->sizes);
        json_put_real(j, "ratio", m->ratio);
        json_close(j, '}');
    }
    json_close(j, ']');
}
