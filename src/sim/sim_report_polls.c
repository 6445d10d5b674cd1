/* A deadlock of threads that look again and again at memory that nobody will change. */
#include "sim/sim_report.h"

/* "turn[0][0]", or else where the bytes are. */
static const char *place_text(struct sim_report *r, const struct sim_wait *w)
{
    const char *element = sim_report_element(r, w->space, w->address, w->bytes);
    const char *name = sim_report_memory_name(r, w->space, w->address);
    if (element)
        return element;
    return arena_printf(
        r->arena, "%s address 0x%llx%s%s%s", w->space == SIM_SHARED ? "shared" : "global",
        (unsigned long long)w->address, name ? " in '" : "", name ? name : "", name ? "'" : "");
}

/* ", but it is 1"; "" where that is not known. */
static const char *value_text(struct sim_report *r, const struct sim_wait *w)
{
    int unused = 64 - 8 * w->bytes;
    if (w->bytes == 0)
        return "";
    if (ptx_mods[ptx_type(w->at.ins, 0)].class == PTX_CLASS_UNSIGNED)
        return arena_printf(r->arena, ", but it is %llu", (unsigned long long)w->value);
    int64_t value = (int64_t)(w->value << unused) >> unused;
    return arena_printf(r->arena, ", but it is %lld", (long long)value);
}

/* Others that wait so. */
static const char *others_text(struct sim_report *r, const struct sim_standstill *s, size_t first)
{
    enum { NAMED = 3 };
    struct text out, names;
    int threads = __builtin_popcount(s->waits[first].mask) - 1, named = 0;
    text_init(&out, r->arena);
    text_init(&names, r->arena);
    for (size_t i = 0; i < s->wait_count; i++) {
        const struct sim_wait *w = &s->waits[i];
        if (i == first || w->what != SIM_FOR_MEMORY)
            continue;
        threads += __builtin_popcount(w->mask);
        if (named++ < NAMED)
            text_printf(&names, "%s%s", named > 1 ? ", " : "", sim_thread_text(r, &w->at, w->lane));
    }
    if (threads == 0)
        return NULL;
    text_printf(&out, "%d more thread%s wait%s for memory%s%s%s", threads, threads == 1 ? "" : "s",
                threads == 1 ? "s" : "", named ? ": " : "", named ? names.data : "",
                named > NAMED ? ", …" : "");
    return out.data;
}

static const char *at_barriers_text(struct sim_report *r, const struct sim_standstill *s)
{
    const struct sim_wait *first = NULL;
    int threads = 0;
    for (size_t i = 0; i < s->wait_count; i++)
        if (s->waits[i].what == SIM_FOR_BARRIER) {
            first = first ? first : &s->waits[i];
            threads += __builtin_popcount(s->waits[i].mask);
        }
    return first ? arena_printf(r->arena, "%d of the others wait at barriers, as at %s", threads,
                                sim_place_text(r, first->at.ins, first->at.where))
                 : NULL;
}

static void add_step(struct sim_finding *f, const char *text)
{
    if (text)
        f->steps[f->step_count++] = text;
}

static void add_poll(struct sim_report *r, const struct sim_standstill *s, size_t i)
{
    const struct sim_wait *w = &s->waits[i];
    struct sim_finding f = {.kind = SIM_FOUND_DEADLOCK, .access_count = 1};
    f.message = arena_printf(r->arena, "this waits for %s to change%s, and nobody will change it",
                             place_text(r, w), value_text(r, w));
    f.access[0] =
        (struct sim_finding_access){.at = w->at,
                                    .lane = w->lane,
                                    .does = "wait",
                                    .memory = w->bytes > 0,
                                    .space = w->space,
                                    .address = w->address,
                                    .bytes = w->bytes,
                                    .memory_name = sim_report_memory_name(r, w->space, w->address)};
    add_step(&f, others_text(r, s, i));
    add_step(&f, at_barriers_text(r, s));
    if (s->begun < s->blocks)
        add_step(&f, arena_printf(r->arena, "blocks from %lld on have not begun: %d run at a time",
                                  (long long)s->begun, s->resident));
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
            add_poll(r, s, i);
    }
    return found;
}
