#include "cli/rounds.h"
#include "cli/tool.h"
#include "tilewright_gpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_MOST = 1 << 16, GRAPH_MOST = 1024 };
enum { LONGER = 4 }; /* a sample that needs this many graphs gets a graph with more runs */
static const double short_ms = 0.03; /* starting a run costs the host some microseconds */

/* Milliseconds of a batch. */
static double batch_ms(const struct timing_gpu *g)
{
    return 1e3 * g->round_seconds / ROUND_BATCHES;
}

int gpu_open(struct timing_gpu *g, int ordinal)
{
    tw_status s = tw_stream_new(g->ctx, &g->stream);
    for (int i = 0; i <= ROUND_BATCHES && s == TW_OK; i++)
        s = tw_event_new(g->ctx, &g->events[i]);
    if (s != TW_OK) {
        complain_library(NULL, g->ctx, s);
        return STATUS_FAILED;
    }
    g->has_graphs = graphs_open(&g->graphs, ordinal);
    if (!g->has_graphs)
        complain(NULL, "the driver has no graphs: CUDA 10.1 and later have them");
    return g->has_graphs ? STATUS_OK : STATUS_FAILED;
}

void gpu_close(struct timing_gpu *g)
{
    for (int i = 0; i <= ROUND_BATCHES; i++)
        if (g->events[i])
            tw_event_free(g->ctx, g->events[i]);
    if (g->stream)
        tw_stream_free(g->ctx, g->stream);
    g->stream = NULL;
    if (g->has_graphs)
        graphs_close(&g->graphs);
    g->has_graphs = false;
}

/* --- batches --- */

/* Removes a contender after a fault. A fault is noticed when the host waits for the GPU, and
 * belongs to the contender that ran. */
static bool give_up(struct timing_gpu *g, struct contender *c)
{
    tw_message m = {.size = sizeof m, .text = ""};
    tw_context_message(g->ctx, 0, &m);
    snprintf(c->why, sizeof c->why, "%s", *m.text ? m.text : "the GPU reports a fault");
    return false;
}

static bool start_graphs(struct timing_gpu *g, struct contender *c)
{
    for (int64_t i = 0; i < c->batch; i += c->graph_runs)
        if (g->graphs.launch(c->graph, g->stream) != 0)
            return give_up(g, c);
    return true;
}

static bool start_runs(struct contender *c, int64_t runs)
{
    for (int64_t i = 0; i < runs; i++) {
        if (!c->start(c, c->next))
            return false;
        c->next = (c->next + 1) % c->copies;
    }
    return true;
}

/* Times `batches` batches of c->batch runs each, without a pause. ms[i] is the time of one run
 * of batch i. */
static bool time_batches(struct timing_gpu *g, struct contender *c, int batches, double *ms)
{
    if (tw_event_record(g->ctx, g->events[0], g->stream) != TW_OK)
        return give_up(g, c);
    for (int i = 0; i < batches; i++) {
        if (!(c->graph ? start_graphs(g, c) : start_runs(c, c->batch)))
            return false;
        if (tw_event_record(g->ctx, g->events[i + 1], g->stream) != TW_OK)
            return give_up(g, c);
    }
    if (tw_stream_wait(g->ctx, g->stream) != TW_OK)
        return give_up(g, c);
    for (int i = 0; i < batches; i++) {
        if (tw_event_elapsed(g->ctx, g->events[i], g->events[i + 1], &ms[i]) != TW_OK)
            return give_up(g, c);
        ms[i] /= (double)c->batch;
    }
    return true;
}

/* Returns the number of runs in `ms` milliseconds, at least 1. */
static int64_t runs_in(double ms, double of_one)
{
    double runs = of_one > 0 ? ceil(ms / of_one) : BATCH_MOST;
    return runs < 1 ? 1 : runs > BATCH_MOST ? BATCH_MOST : (int64_t)runs;
}

/* --- graphs --- */

void contender_close(struct timing_gpu *g, struct contender *c)
{
    if (c->graph)
        g->graphs.free_ready(c->graph);
    c->graph = NULL;
}

/* Records the contender's runs as a graph and rounds the batch up to a multiple of the graph's
 * runs. Returns false if the runs cannot be recorded. */
static bool capture(struct timing_gpu *g, struct contender *c)
{
    contender_close(g, c);
    c->graph_runs = c->batch < GRAPH_MOST ? c->batch : GRAPH_MOST;
    if (!graph_begin(&g->graphs, g->stream))
        return false;
    bool started = start_runs(c, c->graph_runs);
    void *graph = graph_end(&g->graphs, g->stream);
    c->why[0] = '\0'; /* single runs still work */
    if (graph && !started)
        g->graphs.free_ready(graph);
    c->graph = started ? graph : NULL;
    if (c->graph)
        c->batch = (c->batch + c->graph_runs - 1) / c->graph_runs * c->graph_runs;
    return c->graph != NULL;
}

/* --- timing --- */

static double estimate_plain(struct timing_gpu *g, struct contender *c)
{
    double ms[2] = {0};
    contender_close(g, c);
    c->batch = 1;
    if (!time_batches(g, c, 2, ms)) /* the first loads its code */
        return -1;
    c->batch = runs_in(batch_ms(g) / 2, ms[1]);
    if (c->batch > 1 && !time_batches(g, c, 2, ms))
        return -1;
    return ms[1];
}

double contender_estimate(struct timing_gpu *g, struct contender *c)
{
    double ms[2], plain = estimate_plain(g, c);
    if (plain < 0 || plain >= short_ms || !capture(g, c))
        return plain;
    return time_batches(g, c, 2, ms) ? ms[1] : -1;
}

int contender_sample(struct timing_gpu *g, struct contender *c, double known, double ms, int count,
                     double *out)
{
    double one = known;
    if (known <= 0 && c->graph)
        contender_close(g, c);
    c->batch = 1;
    if (one <= 0 && !time_batches(g, c, 1, &one))
        return 0;
    if (known <= 0 && one >= ms) {
        out[0] = one;
        return 1;
    }
    c->batch = runs_in(ms, one);
    bool is_short = one < short_ms;
    if (!is_short)
        contender_close(g, c);
    else if (c->graph && c->batch < LONGER * c->graph_runs)
        c->batch = (c->batch + c->graph_runs - 1) / c->graph_runs * c->graph_runs;
    else
        capture(g, c);
    return time_batches(g, c, count, out) ? count : 0;
}

/* Records all contenders as graphs. Returns whether all that take part are graphs now. */
static bool capture_all(struct timing_gpu *g, struct contender *const *list, int count)
{
    for (int i = 0; i < count; i++)
        if (!*list[i]->why && !capture(g, list[i]))
            return false;
    return true;
}

/* Times one round. It lasts equally long for every contender, whatever one run takes. */
static void time_round(struct timing_gpu *g, struct contender *c, int round)
{
    double ms[ROUND_BATCHES];
    double each = c->ms[round] * (double)c->batch;
    int64_t batches = runs_in(1e3 * g->round_seconds, each);
    if (batches > ROUND_BATCHES)
        batches = ROUND_BATCHES;
    if (!time_batches(g, c, (int)batches, ms))
        return;
    c->ms[round] = median_of(ms, (int)batches);
    c->runs += batches * c->batch;
}

void contenders_time(struct timing_gpu *g, struct contender *const *list, int count)
{
    bool is_short = false;
    for (int i = 0; i < count; i++) {
        struct contender *c = list[i];
        double estimate = *c->why ? 0 : contender_estimate(g, c);
        is_short |= !*c->why && estimate < short_ms;
        c->batch = runs_in(batch_ms(g), estimate);
        for (int r = 0; r < g->rounds; r++)
            c->ms[r] = estimate;
    }
    if (!is_short || !capture_all(g, list, count))
        for (int i = 0; i < count; i++)
            contender_close(g, list[i]);
    for (int r = 0; r < g->rounds; r++)
        for (int i = 0; i < count; i++)
            if (!*list[i]->why)
                time_round(g, list[i], r);
}

double contender_ms(const struct timing_gpu *g, const struct contender *c)
{
    return median_of(c->ms, g->rounds);
}

double contender_ratio(const struct timing_gpu *g, const struct contender *a,
                       const struct contender *b)
{
    double ratio[ROUNDS_MOST];
    for (int r = 0; r < g->rounds; r++)
        ratio[r] = a->ms[r] > 0 ? b->ms[r] / a->ms[r] : 0;
    return median_of(ratio, g->rounds);
}
