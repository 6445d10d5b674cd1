/* Streams by handle, and the lanes in which nodes of graphs run. */
#include "driver/driver_order.h"

#include <stdlib.h>

static struct driver_stream default_stream = {.slot = -1};
static _Thread_local struct driver_stream *thread_stream; /* NULL: not used so far */
static struct driver_stream *free_lanes[64];
static int free_lane_count;

/* Returns the default stream; NULL: no memory. It takes part in the order from the first use of any stream on. */
static struct driver_stream *in_order(void)
{
    return default_stream.slot >= 0 || driver_order_stream(&default_stream) ? &default_stream
                                                                            : NULL;
}

/* Returns a new stream of the driver's own; NULL: no memory. */
static struct driver_stream *new_stream(struct driver_stream as)
{
    struct driver_stream *s = in_order() ? malloc(sizeof *s) : NULL;
    if (s)
        *s = as;
    if (!s || driver_order_stream(s))
        return s;
    free(s);
    return NULL;
}

/* Returns the thread's own default stream; NULL: no memory. It outlives the thread. */
static struct driver_stream *of_thread(void)
{
    if (!thread_stream)
        thread_stream = new_stream((struct driver_stream){.number = -1});
    return thread_stream;
}

struct driver_stream *driver_stream_of(void *handle)
{
    enum { LEGACY = 1, PER_THREAD = 2 }; /* CU_STREAM_LEGACY, CU_STREAM_PER_THREAD */
    if ((uintptr_t)handle <= LEGACY)
        return in_order();
    if ((uintptr_t)handle == PER_THREAD)
        return of_thread();
    return driver_object(handle, DRIVER_STREAM);
}

/* A lane counts as a stream that does not wait for the default stream: its graph does. It is used again
 * after the host has waited for its work: it would order the work of two graphs that nothing orders. */
struct driver_stream *driver_lane_take(void)
{
    for (int i = 0; i < free_lane_count; i++) {
        struct driver_stream *lane = free_lanes[i];
        if (!driver_order_is_past(lane))
            continue;
        free_lanes[i] = free_lanes[--free_lane_count];
        return lane;
    }
    return new_stream((struct driver_stream){.flags = DRIVER_NON_BLOCKING});
}

struct driver_stream *driver_lane_after(const struct driver_clock *c)
{
    for (int i = 0; i < free_lane_count; i++) {
        struct driver_stream *lane = free_lanes[i];
        if (driver_clock_time(c, lane->slot) < driver_clock_time(&lane->clock, lane->slot))
            continue;
        free_lanes[i] = free_lanes[--free_lane_count];
        return lane;
    }
    return driver_lane_take();
}

void driver_lane_return(struct driver_stream *lane)
{
    if (free_lane_count < (int)(sizeof free_lanes / sizeof free_lanes[0])) {
        free_lanes[free_lane_count++] = lane;
        return;
    }
    driver_order_forget(lane);
    free(lane);
}
