/* Notifies observers of accesses and synchronisation: those that may hear later, then the others. */
#include "sim/sim_machine.h"

/* Notifies each observer that asked for such events; `ready` makes the event fit for it. */
#define NOTIFY(linkage, name, type, list, hook, ready)                                             \
    static bool name##_to(struct sim_warp *w, struct sim_observer *const *o, size_t count,         \
                          type *event)                                                             \
    {                                                                                              \
        for (; count; o++, count--) {                                                              \
            if (!w->sim->alike && !sim_hears(*o, w))                                               \
                continue;                                                                          \
            ready;                                                                                 \
            if ((*o)->hook((*o)->user, event))                                                     \
                continue;                                                                          \
            sim_over(w->sim, SIM_ASKED, "an observer asked to stop");                              \
            w->state = SIM_CHOOSES;                                                                \
            return false;                                                                          \
        }                                                                                          \
        return true;                                                                               \
    }                                                                                              \
    linkage void name##_later(struct sim_warp *w, type *event)                                     \
    {                                                                                              \
        if (w->sim->hears_later)                                                                   \
            sim_later_##hook(w, event);                                                            \
        else                                                                                       \
            name##_to(w, w->sim->list.later.data, w->sim->list.later.count, event);                \
    }                                                                                              \
    linkage bool name##_now(struct sim_warp *w, type *event)                                       \
    {                                                                                              \
        w->sim->notifications++;                                                                   \
        return name##_to(w, w->sim->list.now.data, w->sim->list.now.count, event);                 \
    }                                                                                              \
    bool name(struct sim_warp *w, type *event)                                                     \
    {                                                                                              \
        if (w->block->unheard)                                                                     \
            return true;                                                                           \
        name##_later(w, event);                                                                    \
        return name##_now(w, event);                                                               \
    }
NOTIFY(, sim_notify_access, const struct sim_access, on_access, access,
       (*o)->spreads ? (void)0 : sim_spread(event))
NOTIFY(static, sim_notify_sync, struct sim_sync_event, on_sync, sync, (void)0)
NOTIFY(static, sim_notify_async, struct sim_async_event, on_async, async, (void)0)

bool sim_needs(struct sim_warp *w, enum sim_space space)
{
    const struct sim *sim = w->sim;
    uint64_t *needless = &w->block->needless[space];
    bool needs = false;
    if (*needless == sim->notifications + 1)
        return false;
    for (size_t i = 0; i < sim->on_access.now.count && !needs; i++) {
        const struct sim_observer *o = sim->on_access.now.data[i];
        needs = !o->needs || o->needs(o->user, space, w->block->number);
    }
    *needless = needs ? 0 : sim->notifications + 1;
    return needs;
}

void sim_spread(const struct sim_access *access)
{
    struct sim_access *a = (struct sim_access *)access; /* accesses are made on stacks */
    if (!a->sparse)
        return;
    a->sparse = false;
    for (uint64_t i = 0; i < SIM_LANES; i++) {
        const uint64_t half = i / (SIM_LANES / 2) * (SIM_LANES / 2), from = (i - half) * a->stride;
        a->address[i] = a->address[half] + from;
        a->before[i] = a->before[half] ? a->before[half] + from : NULL;
        a->value[i] = a->value[0] ? a->value[0] + i * (uint64_t)a->bytes : NULL;
    }
}
