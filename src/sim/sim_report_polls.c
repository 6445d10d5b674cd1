/* Reports a deadlock of threads that poll memory which no thread will change. */
#include "sim/sim_report.h"

static void add_poll(struct sim_report *r, const struct sim_standstill *s, const struct sim_wait *w)
{
    struct sim_finding f = {.kind = SIM_FOUND_DEADLOCK, .access_count = 1};
    struct sim_finding_access *a = &f.access[0];
    *a = (struct sim_finding_access){.at = w->at,
                                     .lane = w->lane,
                                     .does = "wait",
                                     .memory = w->bytes > 0,
                                     .space = w->space,
                                     .address = w->address,
                                     .bytes = w->bytes};
    a->memory_name = sim_report_memory_name(r, w->space, w->address);
    const char *name = sim_report_element(r, w->space, w->address, w->bytes), *value = "";
    if (!name)
        name = a->memory_name ? a->memory_name : "memory";
    if (w->bytes > 0) { /* extends the sign of the value */
        int unused = 64 - 8 * w->bytes;
        value = arena_printf(r->arena, ", but it is %lld",
                             (long long)((int64_t)(w->value << unused) >> unused));
    }
    f.message = arena_printf(
        r->arena, "this waits for %s to change%s, and no thread will change it", name, value);
    int threads[SIM_FOR_MEMORY + 1] = {0};
    for (size_t i = 0; i < s->wait_count; i++)
        threads[s->waits[i].what] += __builtin_popcount(s->waits[i].mask);
    f.steps[f.step_count++] =
        arena_printf(r->arena, "threads that wait for memory: %d; at barriers: %d",
                     threads[SIM_FOR_MEMORY], threads[SIM_FOR_BARRIER]);
    if (s->begun < s->blocks)
        f.steps[f.step_count++] =
            arena_printf(r->arena, "blocks from %lld on have not begun: %d run at a time",
                         (long long)s->begun, s->resident);
    sim_report_add(r, &f);
}

bool sim_report_polls(struct sim_report *r, const struct sim_standstill *s)
{
    bool found = false;
    for (size_t i = 0; i < s->wait_count; i++) {
        const struct sim_wait *w = &s->waits[i];
        if (w->what != SIM_FOR_MEMORY)
            continue;
        found = true;
        if (!sim_report_again(r, SIM_FOUND_DEADLOCK, &w->at, NULL))
            add_poll(r, s, w);
    }
    return found;
}
