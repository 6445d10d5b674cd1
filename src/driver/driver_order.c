#include "driver/driver_order.h"

#include "sim/sim_own.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Pages of live work in all; beyond it the oldest work is forgotten. */
enum { MOST_PAGES = 1 << 15 };
enum { NOTIFIERS = 64 }; /* threads of the host that enqueue functions of the host */

static struct {
    struct driver_slot {
        struct driver_stream *stream; /* NULL: destroyed */
        struct driver_work *live;     /* newest first */
    } * slots;
    int count, room;
    struct driver_clock host;    /* what the host has waited for */
    struct driver_clock orphans; /* the work of destroyed streams */
    struct {
        pid_t thread; /* of the host, that enqueued functions of the host; 0: several */
        struct driver_clock clock; /* what comes before those functions */
    } told[NOTIFIERS];
    int told_count;
    uint64_t works;               /* so far */
    size_t pages;                 /* of live work */
    struct driver_work *observed; /* the launch that runs */
    struct driver_work *early;    /* its work before griddepcontrol.wait; NULL: it has none */
    bool overlaps;                /* kernels of one stream may overlap */
    struct sim_observer observer;
} order;

/* --- clocks --- */

uint64_t driver_clock_time(const struct driver_clock *c, int slot)
{
    return slot < c->count ? c->times[slot] : 0;
}

/* Makes room for a slot. Without memory the clock stays as it is: then too much is reported as
 * unordered, never too little. */
static bool reach(struct driver_clock *c, int slot)
{
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
    if (reach(c, slot) && c->times[slot] < time)
        c->times[slot] = time;
}

void driver_clock_join(struct driver_clock *to, const struct driver_clock *from)
{
    if (!from->count || !reach(to, from->count - 1))
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

void driver_order_stream(struct driver_stream *s)
{
    if (order.count == order.room) {
        int room = order.room ? 2 * order.room : 16;
        void *slots = realloc(order.slots, (size_t)room * sizeof *order.slots);
        if (!slots)
            return;
        order.slots = slots;
        order.room = room;
    }
    s->slot = order.count;
    order.slots[order.count++] = (struct driver_slot){.stream = s};
}

void driver_order_forget(struct driver_stream *s)
{
    driver_clock_join(&order.orphans, &s->clock);
    order.slots[s->slot].stream = NULL;
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
        if (s->clock.times[i] > driver_clock_time(&order.host, i))
            return false;
    return true;
}

struct driver_stream *driver_order_stream_at(int slot)
{
    return order.slots[slot].stream;
}

/* --- work that the host has waited for --- */

static void free_work(struct driver_work *w)
{
    for (int i = 0; i < w->used_count; i++)
        driver_guard_use(&w->used[i], -1);
    for (size_t i = 0; i < w->page_room; i++)
        free(w->pages[i]);
    order.pages -= w->page_count;
    free(w->pages);
    free(w->spans);
    free(w->used);
    free(w);
}

/* Frees the work of a stream from this one on to the oldest. */
static void free_from(struct driver_work **at)
{
    for (struct driver_work *w = *at, *next; w; w = next) {
        next = w->next;
        free_work(w);
    }
    *at = NULL;
}

static void retire(void)
{
    driver_guard_lift();
    for (int i = 0; i < order.count; i++) {
        struct driver_work **at = &order.slots[i].live;
        while (*at && (*at)->time > driver_clock_time(&order.host, i))
            at = &(*at)->next;
        free_from(at);
    }
    driver_guard_renew();
    driver_guard_close();
}

void driver_order_host_event(const struct driver_clock *event)
{
    driver_clock_join(&order.host, event);
    retire();
}

void driver_order_host(struct driver_stream *s)
{
    driver_order_host_event(&s->clock);
}

void driver_order_host_all(void)
{
    for (int i = 0; i < order.count; i++)
        if (order.slots[i].stream)
            driver_clock_join(&order.host, &order.slots[i].stream->clock);
    driver_clock_join(&order.host, &order.orphans);
    retire();
}

/* Returns the clock of the work before the functions that a thread of the host enqueued. If there are
 * more threads than NOTIFIERS, the last ones share a clock, and each counts as told by the others. */
static struct driver_clock *told_by(pid_t thread)
{
    int i = 0;
    while (i < order.told_count && order.told[i].thread != thread)
        i++;
    if (i == NOTIFIERS)
        order.told[--i].thread = 0;
    else if (i == order.told_count)
        order.told[order.told_count++].thread = thread;
    return &order.told[i].clock;
}

bool driver_order_is_before_host(const struct driver_work *w)
{
    pid_t thread = gettid();
    bool before = w->time <= driver_clock_time(&order.host, w->slot);
    for (int i = 0; i < order.told_count && !before; i++)
        before = order.told[i].thread != thread &&
                 w->time <= driver_clock_time(&order.told[i].clock, w->slot);
    return before;
}

void driver_order_seen(const struct driver_work *w)
{
    driver_clock_advance(&order.host, w->slot, w->time);
}

const struct driver_work *driver_work_live(int slot)
{
    return order.slots[slot].live;
}

int driver_order_slots(void)
{
    return order.count;
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
    pid_t thread = order.told_count ? gettid() : 0;
    driver_clock_join(to, &order.host);
    for (int i = 0; i < order.told_count; i++)
        if (order.told[i].thread != thread)
            driver_clock_join(to, &order.told[i].clock);
    for (int i = 0; i < order.count; i++) {
        const struct driver_stream *other = order.slots[i].stream;
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

struct driver_work *driver_work_begin(struct driver_stream *s, const struct driver_launched *l)
{
    if (!driver.settings.checks)
        return NULL;
    driver_guard_lift();
    driver_order_begin(s);
    struct driver_work *w = calloc(1, sizeof *w);
    if (!w || !reach(&s->clock, s->slot)) {
        free(w);
        return NULL;
    }
    w->slot = s->slot;
    w->stream = s->number;
    w->node = s->node;
    w->time = ++s->clock.times[s->slot];
    w->call = driver_call_name();
    if (l) {
        w->kernel = l->kernel;
        w->launch = l->number;
    } else {
        s->kernel_last = false;
        s->awaited.count = 0;
    }
    driver_site_here(&w->site);
    return w;
}

void driver_work_touches(struct driver_work *w, uint64_t address, uint64_t bytes, unsigned touch)
{
    if (!w || !bytes)
        return;
    if (w->span_count == w->span_room) {
        int room = w->span_room ? 2 * w->span_room : 4;
        void *spans = realloc(w->spans, (size_t)room * sizeof *w->spans);
        if (!spans)
            return;
        w->spans = spans;
        w->span_room = room;
    }
    w->spans[w->span_count++] = (struct driver_span){address, bytes, touch};
}

static void use(struct driver_work *w, uint64_t address, uint64_t bytes, unsigned touch)
{
    struct driver_memory *m = driver_memory_of_host(address);
    struct driver_used *u = w->used;
    for (; m && u < w->used + w->used_count; u++)
        if (u->memory == m) {
            u->touch |= touch;
            u->low = address < u->low ? address : u->low;
            u->high = address + bytes > u->high ? address + bytes : u->high;
            return;
        }
    void *more = m ? realloc(w->used, (size_t)(w->used_count + 1) * sizeof *w->used) : NULL;
    if (!more)
        return;
    w->used = more;
    w->used[w->used_count++] = (struct driver_used){m, touch, address, address + bytes};
}

/* Finds the memory of the host that the work used. */
static void find_used(struct driver_work *w)
{
    for (int i = 0; i < w->span_count; i++)
        use(w, w->spans[i].address, w->spans[i].bytes, w->spans[i].touch);
    for (size_t i = 0; i < w->page_room; i++)
        if (w->pages[i])
            use(w, w->pages[i]->address, DRIVER_PAGE, w->pages[i]->touch);
}

/* If the pages are too many, forgets the older half of each stream's work. */
static void drop_oldest(void)
{
    for (int i = 0; order.pages > MOST_PAGES && i < order.count; i++) {
        struct driver_work **middle = &order.slots[i].live;
        for (const struct driver_work *w = *middle; w && w->next; w = w->next->next)
            middle = &(*middle)->next;
        free_from(middle);
    }
}

/* Compares with the work of other streams that this one is not ordered after. */
static void find_races(const struct driver_work *w)
{
    const struct driver_clock *now = &order.slots[w->slot].stream->clock;
    struct driver_overlap overlap;
    for (int i = 0; i < order.count; i++) {
        const struct driver_work *o = i == w->slot ? NULL : order.slots[i].live;
        for (; o && o->time > driver_clock_time(now, i); o = o->next)
            if (driver_overlaps(o, w, &overlap))
                driver_report_race(o, w, &overlap);
    }
}

void driver_work_end(struct driver_work *w)
{
    if (!w)
        return;
    if (!w->span_count && !w->page_count) { /* nothing that another stream or the host sees */
        free_work(w);
    } else {
        find_races(w);
        find_used(w);
        for (int i = 0; i < w->used_count; i++)
            driver_guard_use(&w->used[i], 1);
        w->next = order.slots[w->slot].live;
        order.slots[w->slot].live = w;
        order.pages += w->page_count;
        drop_oldest();
    }
    driver_guard_close();
}

/* --- what a launch touches --- */

static unsigned touch_of(const struct sim_access *a)
{
    bool atomic = a->order != SIM_WEAK &&
                  (a->scope == SIM_GPU || a->scope == SIM_SYS || a->order == SIM_VOLATILE);
    unsigned touch = 0;
    if (a->kind & SIM_READ)
        touch |= atomic ? DRIVER_READS_ATOMICALLY : DRIVER_READS;
    if (a->kind & SIM_WRITE)
        touch |= atomic ? DRIVER_WRITES_ATOMICALLY : DRIVER_WRITES;
    return touch;
}

/* Returns true if another actor may touch this memory at the same time: another stream, or the host
 * if it can see it. */
static bool is_seen_elsewhere(uint64_t address)
{
    return order.count > 1 || order.overlaps || driver_is_shared(address);
}

static void touch_bytes(struct driver_work *w, uint64_t address, int bytes, unsigned touch,
                        unsigned number)
{
    struct driver_page *page = NULL;
    for (int i = 0; i < bytes; i++, address++) {
        if (!page || address % DRIVER_PAGE == 0)
            page = driver_work_page(w, address);
        if (!page)
            return;
        uint16_t *byte = &page->bytes[address % DRIVER_PAGE];
        bool writes = touch & (DRIVER_WRITES | DRIVER_WRITES_ATOMICALLY);
        if (!*byte || (writes && !(*byte & (DRIVER_WRITES | DRIVER_WRITES_ATOMICALLY))))
            *byte = (uint16_t)((*byte & DRIVER_TOUCH_MASK) | number << DRIVER_TOUCHES);
        *byte = (uint16_t)(*byte | touch);
        page->touch |= touch;
    }
}

static bool accessed(void *user, const struct sim_access *a)
{
    (void)user;
    if (!order.observed || a->space != SIM_GLOBAL)
        return true;
    if (a->pattern != SIM_UNSORTED && !is_seen_elsewhere(a->address[0])) /* in one allocation */
        return true;
    sim_spread(a);
    unsigned touch = touch_of(a), number = driver_instruction_number(a->at.ins);
    uint32_t late = order.early ? driver_dependent_late(a) : UINT32_MAX;
    for (uint32_t rest = a->mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        if (is_seen_elsewhere(a->address[lane]))
            touch_bytes(late >> lane & 1 ? order.observed : order.early, a->address[lane], a->bytes,
                        touch, number);
    }
    return true;
}

static bool needs(void *user, enum sim_space space, int64_t block)
{
    (void)user, (void)block;
    return space == SIM_GLOBAL;
}

struct sim_observer *driver_work_observer(void)
{
    order.observer = (struct sim_observer){.needs = needs, .spreads = true, .access = accessed};
    return &order.observer;
}

void driver_work_observe(struct driver_work *w, struct driver_work *early)
{
    order.observed = w;
    order.early = early;
}

void driver_order_expect_overlaps(void)
{
    order.overlaps = true;
}
