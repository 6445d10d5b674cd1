#include "driver/driver_order.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

struct driver_order driver_order;

/* --- clocks --- */

uint64_t driver_clock_time(const struct driver_clock *c, int slot)
{
    assert(slot >= 0);
    return slot < c->count ? c->times[slot] : 0;
}

/* Makes room for a slot. Without memory the clock stays as it is: then too much is reported as
 * unordered, never too little. */
bool driver_clock_reach(struct driver_clock *c, int slot)
{
    assert(slot >= 0 && (c->times || !c->count));
    if (slot < c->count)
        return true;
    uint64_t *times = realloc(c->times, (size_t)(slot + 1) * sizeof *times);
    if (!times)
        return false;
    for (int i = c->count; i <= slot; i++)
        times[i] = 0;
    c->times = times;
    c->count = slot + 1;
    return true;
}

void driver_clock_advance(struct driver_clock *c, int slot, uint64_t time)
{
    if (driver_clock_reach(c, slot) && c->times[slot] < time)
        c->times[slot] = time;
}

void driver_clock_join(struct driver_clock *to, const struct driver_clock *from)
{
    if (!from->count || !driver_clock_reach(to, from->count - 1))
        return;
    for (int i = 0; i < from->count; i++)
        if (from->times[i] > to->times[i])
            to->times[i] = from->times[i];
}

void driver_clock_copy(struct driver_clock *to, const struct driver_clock *from)
{
    to->count = 0;
    driver_clock_join(to, from);
}

void driver_moments_free(struct driver_moments *m)
{
    for (int i = 0; i < DRIVER_MOMENTS; i++)
        free(m->at[i].times);
}

bool driver_order_stream(struct driver_stream *s)
{
    if (driver_order.count == driver_order.room) {
        int room = driver_order.room ? 2 * driver_order.room : 16;
        void *slots = realloc(driver_order.slots, (size_t)room * sizeof *driver_order.slots);
        if (!slots)
            return false;
        driver_order.slots = slots;
        driver_order.room = room;
    }
    s->slot = driver_order.count;
    driver_order.slots[driver_order.count++] = (struct driver_slot){.stream = s};
    return true;
}

void driver_order_forget(struct driver_stream *s)
{
    driver_clock_join(&driver_order.orphans, &s->clock);
    driver_order.slots[s->slot].stream = NULL;
    free(s->clock.times);
    free(s->awaited.times);
    driver_moments_free(&s->last);
}

void driver_order_record(const struct driver_stream *s, struct driver_clock *event)
{
    driver_clock_copy(event, &s->clock);
}

void driver_order_wait(struct driver_stream *s, const struct driver_clock *event)
{
    driver_clock_join(&s->clock, event);
    for (int i = DRIVER_TRIGGERED; s->kernel_last && i < DRIVER_MOMENTS; i++)
        driver_clock_join(&s->last.at[i], event); /* the next kernel begins after both */
}

bool driver_order_is_past(const struct driver_stream *s)
{
    for (int i = 0; i < s->clock.count; i++)
        if (s->clock.times[i] > driver_clock_time(&driver_order.host, i))
            return false;
    return true;
}

struct driver_stream *driver_order_stream_at(int slot)
{
    assert(slot >= 0 && slot < driver_order.count);
    return driver_order.slots[slot].stream;
}

/* --- work that the host has waited for --- */

/* Returns the clock of the work before the functions that a thread of the host enqueued. If there are
 * more threads than DRIVER_NOTIFIERS, the last ones share a clock, and each counts as told by the others. */
static struct driver_clock *told_by(pid_t thread)
{
    int i = 0;
    while (i < driver_order.told_count && driver_order.told[i].thread != thread)
        i++;
    if (i == DRIVER_NOTIFIERS)
        driver_order.told[--i].thread = 0;
    else if (i == driver_order.told_count)
        driver_order.told[driver_order.told_count++].thread = thread;
    assert(i < driver_order.told_count && driver_order.told_count <= DRIVER_NOTIFIERS);
    return &driver_order.told[i].clock;
}

bool driver_order_is_before_host(const struct driver_work *w)
{
    pid_t thread = gettid();
    bool before = w->time <= driver_clock_time(&driver_order.host, w->slot);
    for (int i = 0; i < driver_order.told_count && !before; i++)
        before = driver_order.told[i].thread != thread &&
                 w->time <= driver_clock_time(&driver_order.told[i].clock, w->slot);
    return before;
}

void driver_order_seen(const struct driver_work *w)
{
    driver_clock_advance(&driver_order.host, w->slot, w->time);
}

const struct driver_work *driver_work_live(int slot)
{
    assert(slot >= 0 && slot < driver_order.count);
    return driver_order.slots[slot].live;
}

int driver_order_slots(void)
{
    return driver_order.count;
}

/* --- work --- */

static bool is_blocking(const struct driver_stream *s)
{
    return !(s->flags & DRIVER_NON_BLOCKING);
}

/* Orders new work after the work that the rules of streams put before it: earlier work of its
 * stream, what this thread of the host has waited for or may have been told of, and between the
 * default stream and blocking ones all earlier work of the other (CUDA Programming Guide, "Default
 * Stream"). */
void driver_order_rules(const struct driver_stream *s, struct driver_clock *to)
{
    pid_t thread = driver_order.told_count ? gettid() : 0;
    driver_clock_join(to, &driver_order.host);
    for (int i = 0; i < driver_order.told_count; i++)
        if (driver_order.told[i].thread != thread)
            driver_clock_join(to, &driver_order.told[i].clock);
    for (int i = 0; i < driver_order.count; i++) {
        const struct driver_stream *other = driver_order.slots[i].stream;
        if (other && other != s && is_blocking(s) && is_blocking(other) &&
            (s->number == 0 || other->number == 0))
            driver_clock_join(to, &other->clock);
    }
}

void driver_order_begin(struct driver_stream *s)
{
    driver_order_rules(s, &s->clock);
}

void driver_order_tell(const struct driver_stream *s)
{
    struct driver_clock *clock = told_by(gettid());
    driver_clock_join(clock, &s->clock);
    driver_order_rules(s, clock);
}
