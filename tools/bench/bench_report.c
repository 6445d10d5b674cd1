/* Prints the table and the JSON of bench on the CPU. */
#include "bench/bench.h"
#include "cli/table.h"

#include <string.h>

static const char *const result_names[] = {"PASS", "FAIL", "no ensures", "skipped"};

static void add_type(struct cells *c, const struct bench_row *r)
{
    cells_add(c, "type", 4, true, r->dtype == TW_DTYPE_NONE ? "-" : tw_dtype_name(r->dtype));
}

/* Adds the largest error, a note about wrong values, and tuned values that differ from the
 * kernel's defaults. */
static void add_error(struct cells *c, const struct bench_row *r, int width)
{
    char text[840] = "", origin[200];
    size_t at = 0;
    if (r->compared)
        at = (size_t)snprintf(text, sizeof text, "%.1e", r->error);
    if (*r->why && at < sizeof text)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", at ? "  " : "", r->why);
    bench_origin(r, origin, sizeof origin);
    if ((*r->config || r->choice.family) && r->from != BENCH_DEFAULT && at < sizeof text)
        snprintf(text + at, sizeof text - at, "%s%s (%s)", at ? "  " : "", r->config, origin);
    cells_add(c, "error", width, true, text);
}

static const struct library_row *best_of(const struct bench_row *r)
{
    static const struct library_row none = {{0}, {0}, 0, 0, 0, false, false};
    return r->best >= 0 ? &r->peers[r->best] : &none;
}

static int digits_of(double ms)
{
    return ms < 0.1 ? 5 : 3;
}

/* Adds a product's cells: sizes, name, time, speed, the fastest library in comparison, verdict. */
static void add_product(struct cells *c, const struct bench_row *r, const struct bench_columns *w)
{
    const struct library_row *best = best_of(r);
    char word[24];
    add_type(c, r);
    if (w->batched)
        cells_add_number(c, "batch", 5, 0, (double)r->batch);
    cells_add_number(c, "m", 5, 0, (double)r->m);
    cells_add_number(c, "n", 5, 0, (double)r->n);
    cells_add_number(c, "k", 5, 0, (double)r->k);
    cells_add(c, "name", w->name_width, true, r->kernel);
    cells_add_number(c, "latency(ms)", 11, digits_of(r->ms), r->ms);
    cells_add_number(c, "gflops", 8, 2, r->gflops);
    cells_add_number(c, "/peer", 5, 3, best->ratio);
    snprintf(word, sizeof word, "%.*s", (int)strcspn(best->name, " "), best->name);
    cells_add(c, "peer", 8, true, word);
    cells_add(c, "check", 5, true, result_names[r->result]);
    add_error(c, r, 0);
}

/* Adds the cells of other kernels: bytes a second, in comparison with those of a copy. */
static void add_other(struct cells *c, const struct bench_row *r, const struct bench_columns *w)
{
    add_type(c, r);
    cells_add(c, "name", w->name_width, true, r->kernel);
    cells_add_number(c, "latency(ms)", 11, digits_of(r->ms), r->ms);
    cells_add_number(c, "GB/s", 8, 2, r->gbytes);
    cells_add_number(c, "/copy", 5, 3, best_of(r)->ratio);
    cells_add(c, "check", 5, true, result_names[r->result]);
    add_error(c, r, 8);
    cells_add(c, "sizes", 0, true, r->sizes);
}

static void make_cells(struct cells *c, const struct bench_row *r, const struct bench_columns *w)
{
    c->count = 0;
    if (r->is_product)
        add_product(c, r, w);
    else
        add_other(c, r, w);
}

void bench_header(bool products, const struct bench_columns *w)
{
    struct cells c;
    struct bench_row empty = {
        .kernel = "", .is_product = products, .dtype = TW_DTYPE_NONE, .best = -1};
    make_cells(&c, &empty, w);
    cells_header(stdout, &c);
}

void bench_print(const struct bench_row *r, const struct bench_columns *w)
{
    struct cells c;
    make_cells(&c, r, w);
    cells_row(stdout, &c);
    fflush(stdout);
}

void bench_print_library(const struct bench_row *like, const struct library_row *l,
                         const struct bench_columns *w)
{
    struct cells c;
    struct bench_row row = *like;
    row.kernel = l->name;
    row.gflops = l->ms > 0 ? like->gflops * like->ms / l->ms : 0;
    row.ms = l->ms;
    row.best = -1;
    row.compared = false;
    row.config[0] = '\0';
    row.choice = (struct bench_choice){0}; /* the family chose the kernel */
    snprintf(row.why, sizeof row.why, "%s", l->note);
    make_cells(&c, &row, w);
    c.texts[c.count - 4][0] = '\0'; /* no ratio and peer; PASS is for kernels */
    snprintf(c.texts[c.count - 2], CELL_BYTES, "%s", l->wrong ? "FAIL" : "");
    cells_row(stdout, &c);
    fflush(stdout);
}

/* --- JSON --- */

static void put_sizes(const struct bench_row *r, struct json *j)
{
    if (!r->is_product) {
        json_put_text(j, "sizes", r->sizes);
        return;
    }
    json_put_integer(j, "m", r->m);
    json_put_integer(j, "n", r->n);
    json_put_integer(j, "k", r->k);
    json_put_integer(j, "batch", r->batch);
}

static void put_speed(const struct bench_row *r, struct json *j)
{
    if (r->ms <= 0)
        return;
    json_put_real(j, "ms", r->ms);
    json_put_real(j, "least_ms", r->least_ms);
    json_put_integer(j, "runs", r->runs);
    if (r->is_product)
        json_put_real(j, "gflops", r->gflops);
    else
        json_put_real(j, "gbytes_per_second", r->gbytes);
}

static void put_peer(const struct bench_row *r, const struct library_row *l, struct json *j)
{
    json_open(j, '{');
    json_put_text(j, "name", l->name);
    if (l->ms > 0) {
        json_put_real(j, "ms", l->ms);
        json_put_real(j, "least_ms", l->least_ms);
        json_put_real(j, "ratio", l->ratio);
        if (r->is_product)
            json_put_real(j, "gflops", r->gflops * r->ms / l->ms);
        else
            json_put_real(j, "gbytes_per_second", r->gbytes * r->ms / l->ms);
        json_put_bool(j, "ok", !l->wrong);
    }
    if (*l->note)
        json_put_text(j, "note", l->note);
    json_close(j, '}');
}

static void put_peers(const struct bench_row *r, struct json *j)
{
    const struct library_row *best = best_of(r);
    json_open_list(j, "peers");
    for (int i = 0; i < PEERS && *r->peers[i].name; i++)
        put_peer(r, &r->peers[i], j);
    json_close(j, ']');
    if (best->ms <= 0)
        return;
    json_put_text(j, "peer", best->name);
    json_put_real(j, "peer_ms", best->ms);
    json_put_real(j, "ratio", best->ratio);
}

void bench_json_values(const struct bench_row *r, const char *result, struct json *j)
{
    json_put_bool(j, "ok", r->result == BENCH_PASS);
    json_put_text(j, "result", result);
    if (r->compared) {
        json_put_text(j, "compared", r->checked);
        json_put_real(j, "max_error", r->error);
        json_put_real(j, "worst_error", r->worst_error);
        json_put_real(j, "tolerance", r->allowed);
    }
    if (*r->why)
        json_put_text(j, "why", r->why);
}

void bench_json_choice(const struct bench_row *r, struct json *j)
{
    static const char *const ways[] = {
        [TW_BY_RESULT] = "result", [TW_BY_NEAREST] = "nearest", [TW_BY_MODEL] = "model"};
    const struct bench_choice *c = &r->choice;
    if (!c->family)
        return;
    json_put_text(j, "family", c->family);
    json_open_object(j, "chosen");
    json_put_text(j, "by", ways[c->by]);
    json_put_text(j, "device", *c->device ? c->device : NULL);
    json_put_text(j, "nearest", *c->nearest ? c->nearest : NULL);
    json_put_real(j, "distance", c->distance);
    json_put_real(j, "milliseconds", c->ms);
    json_put_integer(j, "compared", c->compared);
    json_close(j, '}');
}

void bench_json(const struct bench_row *r, struct json *j)
{
    json_open(j, '{');
    json_put_text(j, "kernel", r->kernel);
    json_put_text(j, "device", "cpu");
    json_put_text(j, "file", r->file);
    if (r->dtype != TW_DTYPE_NONE)
        json_put_text(j, "dtype", tw_dtype_name(r->dtype));
    put_sizes(r, j);
    if (*r->config) {
        json_put_text(j, "config", r->config);
        json_put_text(j, "config_from", bench_from_names[r->from]);
    }
    bench_json_choice(r, j);
    put_speed(r, j);
    put_peers(r, j);
    bench_json_values(r, result_names[r->result], j);
    json_close(j, '}');
}
