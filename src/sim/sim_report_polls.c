/* Reports deadlocks: threads that poll memory which no thread will change, lanes that wait for
 * lanes that do not come, and any other. */
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

/* Returns the wait of lanes of the same warp that `w` waits for; NULL: there is none. */
static const struct sim_wait *wait_of_missing(const struct sim_standstill *s,
                                              const struct sim_wait *w)
{
    for (size_t i = 0; i < s->wait_count; i++) {
        const struct sim_wait *other = &s->waits[i];
        if (other->at.block == w->at.block && other->at.warp == w->at.warp &&
            other->mask & w->members & ~w->mask)
            return other;
    }
    return NULL;
}

static void add_lanes(struct sim_report *r, const struct sim_wait *w, const struct sim_wait *other)
{
    uint32_t missing = w->members & ~w->mask;
    const char *name = w->at.ins ? ptx_ops[w->at.ins->op].name : "an instruction";
    struct sim_finding f = {.kind = SIM_FOUND_DEADLOCK, .access_count = other ? 2 : 1};
    f.access[0] = (struct sim_finding_access){
        .at = w->at, .lane = __builtin_ctz(w->mask), .does = "wait for lanes of the warp"};
    if (other)
        f.access[1] = (struct sim_finding_access){
            .at = other->at, .lane = __builtin_ctz(other->mask & missing), .does = "wait"};
    f.message = arena_printf(
        r->arena, "lanes 0x%08x of a warp wait in %s for lanes 0x%08x, which do not come", w->mask,
        name, missing);
    f.steps[f.step_count++] =
        "all lanes of the mask must execute it, and those that have not left are waited for: move "
        "it out of the branch, or give the lanes that come, as __ballot_sync() before the branch "
        "gives them";
    sim_report_add(r, &f);
}

bool sim_report_lanes(struct sim_report *r, const struct sim_standstill *s)
{
    const struct sim_wait *last =
        NULL; /* one finding a warp: groups of lanes wait for each other */
    for (size_t i = 0; i < s->wait_count; i++) {
        const struct sim_wait *w = &s->waits[i];
        if (w->what != SIM_FOR_LANES || !(w->members & ~w->mask) ||
            (last && last->at.block == w->at.block && last->at.warp == w->at.warp))
            continue;
        last = w;
        const struct sim_wait *other = wait_of_missing(s, w);
        if (!sim_report_again(r, SIM_FOUND_DEADLOCK, &w->at, other ? &other->at : NULL))
            add_lanes(r, w, other);
    }
    return last;
}

void sim_report_standstill(struct sim_report *r, const struct sim_standstill *s)
{
    struct sim_finding f = {.kind = SIM_FOUND_DEADLOCK, .message = s->why};
    const struct sim_wait *first = s->wait_count ? s->waits : NULL;
    if (first) {
        f.access_count = 1;
        f.access[0] = (struct sim_finding_access){
            .at = first->at, .lane = __builtin_ctz(first->mask), .does = "wait"};
    }
    if (first && first->what == SIM_FOR_BARRIER)
        f.steps[f.step_count++] =
            "a barrier opens when all its threads have come: each path of the "
            "program must lead them to the same barriers";
    sim_report_add(r, &f);
}
