/* Reports deadlocks: threads that poll memory which no thread will change, lanes that wait for
 * lanes that do not come, and any other. */
#include "sim/sim_mbarrier.h"
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

/* Returns true if two warps, the second one above the first, wait at one place for one mbarrier. */
static bool waits_alike(const struct sim_wait *a, const struct sim_wait *b)
{
    return b->what == SIM_FOR_MBARRIER && a->at.block == b->at.block && a->at.ins == b->at.ins &&
           a->address == b->address && a->mask == b->mask;
}

/* Returns "warps 4 to 7 wait in k.tile:17:13 for full[0], whose phase lacks 1 of 1 arrival". */
static const char *mbarrier_wait_text(struct sim_report *r, const struct sim_wait *first,
                                      const struct sim_wait *last)
{
    struct text t;
    int64_t bytes = 0;
    uint32_t expected = 0,
             arrivals = first->bytes == 8 ? sim_mbarrier_lacks(first->value, &expected, &bytes) : 0;
    const char *name = sim_report_element(r, first->space, first->address, 8);
    text_init(&t, r->arena);
    if (first == last)
        text_printf(&t, "warp %d waits", first->at.warp);
    else
        text_printf(&t, "warps %d to %d wait", first->at.warp, last->at.warp);
    text_printf(&t, " in %s for %s", sim_place_text(r, first->at.ins, first->at.where),
                name ? name
                     : arena_printf(r->arena, "the mbarrier at 0x%llx",
                                    (unsigned long long)first->address));
    if (arrivals || bytes)
        text_add(&t, ", whose phase lacks ");
    if (arrivals)
        text_printf(&t, "%u of %u arrival%s%s", arrivals, expected, expected > 1 ? "s" : "",
                    bytes ? " and " : "");
    if (bytes)
        text_printf(&t, "%lld bytes", (long long)bytes);
    if (!arrivals && !bytes && first->bytes == 8)
        text_add(&t, ", for a phase of the other parity");
    return t.data;
}

bool sim_report_mbarriers(struct sim_report *r, const struct sim_standstill *s)
{
    struct sim_finding f = {.kind = SIM_FOUND_DEADLOCK,
                            .message =
                                "the threads that still run wait for phases of mbarriers that "
                                "will not complete"};
    for (size_t i = 0, last; i < s->wait_count; i = last + 1) {
        const struct sim_wait *w = &s->waits[i];
        last = i;
        if (w->what != SIM_FOR_MBARRIER || f.step_count == SIM_FINDING_STEPS)
            continue;
        while (last + 1 < s->wait_count && waits_alike(w, &s->waits[last + 1]))
            last++;
        if (!f.access_count)
            f.access[f.access_count++] = (struct sim_finding_access){
                .at = w->at, .lane = __builtin_ctz(w->mask), .does = "wait"};
        f.steps[f.step_count++] = mbarrier_wait_text(r, w, &s->waits[last]);
    }
    if (!f.access_count)
        return false;
    if (!sim_report_again(r, SIM_FOUND_DEADLOCK, &f.access[0].at, NULL))
        sim_report_add(r, &f);
    return true;
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
