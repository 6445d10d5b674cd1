/* A trace as trace events, which Perfetto (ui.perfetto.dev) and chrome://tracing show: a track
 * for each warp, in which a warp instruction of the block is a microsecond; asynchronous copies
 * are events of their own, from issue to landing. "Trace Event Format", Google 2016. */
#include "sim/sim_trace_own.h"

static const char *name_of(const struct sim_trace *t, const struct trace_event *e)
{
    struct trace_text at = sim_trace_text(t, t->sites.data[e->site].ins, (enum trace_kind)e->kind);
    const char *kind = sim_trace_kinds[e->kind];
    return at.text ? arena_printf(t->arena, "%s %s", kind, at.text) : kind;
}

static void add_event(struct text *out, const struct sim_trace *t, const struct trace_event *e)
{
    const struct trace_site *s = &t->sites.data[e->site];
    const char *phase = sim_trace_phase(s);
    uint32_t line, column;
    sim_trace_place(t, s->ins, &line, &column);
    text_add(out, ",\n{\"ph\": \"X\", \"pid\": 0, \"dur\": 1, \"name\": ");
    text_add_json(out, name_of(t, e));
    text_printf(out, ", \"cat\": \"%s\", \"ts\": %u, \"tid\": %d, \"args\": {\"line\": %u",
                phase ? phase : "control", e->time, e->warp, line);
    text_printf(out, ", \"lanes\": %d", __builtin_popcount(e->mask));
    if (s->memory)
        text_printf(out, ", \"address\": %u, \"%s\": %d, \"least\": %d", e->base,
                    s->space == SIM_SHARED ? "wavefronts" : "sectors", e->units, e->least);
    if (e->kind == TRACE_COMPUTE || e->kind == TRACE_MMA)
        text_printf(out, ", \"flops\": %u", e->base);
    text_add(out, "}}");
}

static void add_end(struct text *out, const struct sim_trace *t, size_t copy, uint32_t event,
                    const char *phase)
{
    const struct trace_copy *c = &t->copies.data[copy];
    if (event == TRACE_NO_EVENT)
        return;
    text_printf(
        out,
        ",\n{\"ph\": \"%s\", \"cat\": \"copy\", \"name\": \"copy\", \"id\": %zu, \"pid\": 0, "
        "\"tid\": %d, \"ts\": %u, \"args\": {\"group\": %u, \"bytes\": %u}}",
        phase, copy, c->warp, t->events.data[event].time, c->group, c->bytes);
}

void sim_trace_write_chrome(const struct sim_trace *t, struct text *out)
{
    const int64_t *b = t->settings.block;
    text_add(out, "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n{\"ph\": \"M\", \"pid\": 0, "
                  "\"name\": \"process_name\", \"args\": {\"name\": ");
    text_add_json(out, arena_printf(t->arena, "%s, block %lld,%lld,%lld", t->settings.kernel,
                                    (long long)b[0], (long long)b[1], (long long)b[2]));
    text_add(out, "}}");
    for (int i = 0; i < t->warps; i++)
        text_printf(out,
                    ",\n{\"ph\": \"M\", \"pid\": 0, \"tid\": %d, \"name\": \"thread_name\", "
                    "\"args\": {\"name\": \"warp %d\"}}",
                    i, i);
    for (size_t i = 0; i < t->events.count; i++)
        add_event(out, t, &t->events.data[i]);
    for (size_t i = 0; i < t->copies.count; i++) {
        add_end(out, t, i, t->copies.data[i].issue, "b");
        add_end(out, t, i, t->copies.data[i].land, "e");
    }
    text_add(out, "\n]}\n");
}
