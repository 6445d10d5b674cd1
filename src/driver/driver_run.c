/* Runs launches, in a lane of their own if they overlap the kernel before them. */
#include "driver/driver_graph.h"
#include "driver/driver_order.h"

/* Returns a lane for a launch that may overlap the stream's last kernel; NULL: it does not. */
static struct driver_stream *overlapping_lane(const struct driver_launched *l,
                                              const struct driver_stream *s)
{
    enum { MOST_SLOTS = 256 }; /* each clock has as many times */
    const struct driver_clock *triggered = &s->last.at[DRIVER_TRIGGERED];
    if (!l->overlaps || !s->kernel_last || s->node || !driver.settings.checks ||
        driver_order_slots() >= MOST_SLOTS)
        return NULL;
    struct driver_stream *lane = driver_lane_after(triggered);
    if (!lane)
        return NULL;
    lane->number = s->number;
    lane->node = 0;
    lane->kernel_last = false;
    uint64_t own = driver_clock_time(&lane->clock, lane->slot);
    driver_clock_copy(&lane->clock, triggered);
    driver_clock_advance(&lane->clock, lane->slot, own);
    driver_order_rules(s, &lane->clock);
    driver_clock_copy(&lane->awaited, &s->last.at[DRIVER_DONE]);
    driver_clock_join(&lane->awaited, &s->awaited);
    return lane;
}

static void record_events(const struct driver_launched *l, const struct driver_moments *m)
{
    for (int i = 0; i < l->event_count; i++) {
        const struct driver_launch_event *e = &l->events[i];
        if (!driver_object(e->event, DRIVER_EVENT))
            continue;
        driver_nodes_clear(&e->event->before);
        e->event->capture = 0;
        driver_event_record(e->event, &m->at[e->at]);
        if (e->programmatic)
            driver_clock_copy(&e->event->awaited, &m->at[DRIVER_DONE]);
    }
}

static int run(struct driver_launched *l)
{
    l->number = ++driver.launches;
    driver_site_here(&l->site);
    return driver_machine_run(l);
}

int driver_run_launch(struct driver_launched *l, struct driver_stream *s)
{
    struct driver_stream *lane = overlapping_lane(l, s);
    l->stream = lane ? lane : s;
    int result = run(l);
    if (lane) {
        const struct driver_moments moments = s->last;
        driver_clock_join(&s->clock, &lane->clock);
        s->last = lane->last;
        lane->last = moments;
        s->kernel_last = true;
        s->awaited.count = 0;
        driver_lane_return(lane);
    }
    record_events(l, &s->last);
    return result;
}
