/* Work of streams: what it touches, and when the host knows that it is done. */
#include "driver/driver_order.h"
#include "driver/driver_task.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

/* Pages of live work in all; beyond it the oldest work is forgotten. */
enum { MOST_PAGES = 1 << 15 };

static void free_work(struct driver_work *w)
{
    for (int i = 0; i < w->used_count; i++)
        driver_guard_use(&w->used[i], -1);
    for (size_t i = 0; i < w->page_room; i++)
        free(w->pages[i]);
    driver_order.pages -= w->page_count;
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
    for (int i = 0; i < driver_order.count; i++) {
        struct driver_work **at = &driver_order.slots[i].live;
        while (*at && (*at)->time > driver_clock_time(&driver_order.host, i))
            at = &(*at)->next;
        free_from(at);
    }
    driver_guard_renew();
    driver_guard_close();
}

void driver_order_host_event(const struct driver_clock *event)
{
    driver_clock_join(&driver_order.host, event);
    retire();
}

void driver_order_host(struct driver_stream *s)
{
    driver_order_host_event(&s->clock);
}

void driver_order_host_all(void)
{
    for (int i = 0; i < driver_order.count; i++)
        if (driver_order.slots[i].stream)
            driver_clock_join(&driver_order.host, &driver_order.slots[i].stream->clock);
    driver_clock_join(&driver_order.host, &driver_order.orphans);
    retire();
}

struct driver_work *driver_work_begin(struct driver_stream *s, const struct driver_launched *l)
{
    if (!driver.settings.checks)
        return NULL;
    driver_guard_lift();
    driver_order_begin(s);
    struct driver_work *w = calloc(1, sizeof *w);
    if (!w || !driver_clock_reach(&s->clock, s->slot)) {
        free(w);
        return NULL;
    }
    assert(s->slot < s->clock.count);
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
    for (int i = 0; driver_order.pages > MOST_PAGES && i < driver_order.count; i++) {
        struct driver_work **middle = &driver_order.slots[i].live;
        for (const struct driver_work *w = *middle; w && w->next; w = w->next->next)
            middle = &(*middle)->next;
        free_from(middle);
    }
}

/* Compares with the work of other streams that this one is not ordered after. */
static void find_races(const struct driver_work *w)
{
    assert(w->slot < driver_order.count && driver_order.slots[w->slot].stream);
    const struct driver_clock *now = &driver_order.slots[w->slot].stream->clock;
    struct driver_overlap overlap;
    for (int i = 0; i < driver_order.count; i++) {
        const struct driver_work *o = i == w->slot ? NULL : driver_order.slots[i].live;
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
        w->next = driver_order.slots[w->slot].live;
        driver_order.slots[w->slot].live = w;
        driver_order.pages += w->page_count;
        drop_oldest();
    }
    driver_guard_close();
}

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
    return driver_order.count > 1 || driver_order.overlaps || driver_is_shared(address);
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
    if (!driver_order.observed || a->space != SIM_GLOBAL)
        return true;
    if (a->pattern != SIM_UNSORTED && !is_seen_elsewhere(a->address[0])) /* in one allocation */
        return true;
    sim_spread(a);
    unsigned touch = touch_of(a), number = driver_instruction_number(a->at.ins);
    uint32_t late = driver_order.early ? driver_order.late(a) : UINT32_MAX;
    for (uint32_t rest = a->mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        if (is_seen_elsewhere(a->address[lane]))
            touch_bytes(late >> lane & 1 ? driver_order.observed : driver_order.early,
                        a->address[lane], a->bytes, touch, number);
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
    driver_order.observer =
        (struct sim_observer){.needs = needs, .spreads = true, .access = accessed};
    return &driver_order.observer;
}

void driver_work_observe(struct driver_work *w, struct driver_work *early,
                         uint32_t (*late)(const struct sim_access *a))
{
    driver_order.observed = w;
    driver_order.early = early;
    driver_order.late = late;
}

void driver_order_expect_overlaps(void)
{
    driver_order.overlaps = true;
}

void driver_touch_memory(struct driver_stream *s, const struct driver_memory *m, const char *verb)
{
    struct driver_work *w = driver_work_begin(s, NULL);
    if (!w)
        return;
    w->verb = verb;
    driver_work_touches(w, m->address, m->bytes, DRIVER_WRITES);
    driver_work_end(w);
}
