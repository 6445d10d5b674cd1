/* Streams and events. */
#include "driver/driver_order.h"

#include <stdlib.h>

double driver_clock;

static struct driver_stream default_stream = {.slot = -1};
static _Thread_local struct driver_stream *thread_stream; /* NULL: not used so far */
static int streams;                                       /* so far */

struct event {
    unsigned flags;
    bool recorded;
    struct driver_clock clock; /* when it was recorded */
    double at;                 /* microseconds of the device */
};
enum { EVENT_NO_TIME = 2 };

/* Returns a stream that exists from the start; it takes part in the order from its first use on. */
static struct driver_stream *usual(struct driver_stream *s)
{
    if (s->slot < 0)
        driver_order_stream(s);
    return s;
}

/* Returns the thread's own default stream; NULL: no memory. It outlives the thread. */
static struct driver_stream *of_thread(void)
{
    if (thread_stream)
        return thread_stream;
    thread_stream = calloc(1, sizeof *thread_stream);
    if (!thread_stream)
        return NULL;
    thread_stream->number = -1;
    usual(&default_stream);
    driver_order_stream(thread_stream);
    return thread_stream;
}

struct driver_stream *driver_stream_of(void *handle)
{
    enum { LEGACY = 1, PER_THREAD = 2 }; /* CU_STREAM_LEGACY, CU_STREAM_PER_THREAD */
    if ((uintptr_t)handle <= LEGACY)
        return usual(&default_stream);
    if ((uintptr_t)handle == PER_THREAD)
        return of_thread();
    return driver_object(handle, DRIVER_STREAM);
}

/* --- streams --- */

int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority)
{
    IN_CONTEXT;
    if (!stream || flags > 1)
        return DRIVER_INVALID_VALUE;
    struct driver_stream *s = driver_new(DRIVER_STREAM, sizeof *s);
    if (!s)
        return DRIVER_OUT_OF_MEMORY;
    *s = (struct driver_stream){.number = ++streams, .flags = flags, .priority = priority};
    usual(&default_stream);
    driver_order_stream(s);
    driver_trace("stream %d", s->number);
    *stream = s;
    return DRIVER_SUCCESS;
}

int cuStreamCreate(void **stream, unsigned flags)
{
    ENTER;
    return cuStreamCreateWithPriority(stream, flags, 0);
}

int cuStreamDestroy_v2(void *stream)
{
    IN_CONTEXT;
    struct driver_stream *s = driver_object(stream, DRIVER_STREAM);
    if (!s)
        return DRIVER_INVALID_HANDLE;
    driver_order_forget(s);
    driver_delete(s);
    return DRIVER_SUCCESS;
}

int cuStreamSynchronize(void *stream)
{
    IN_CONTEXT;
    struct driver_stream *s = driver_stream_of(stream);
    if (!s)
        return DRIVER_INVALID_HANDLE;
    driver_trace("stream %d", s->number);
    driver_order_host(s);
    return DRIVER_SUCCESS;
}

/* The work of a stream is always done, so asking for that is the same as waiting for it. */
int cuStreamQuery(void *stream)
{
    ENTER;
    return cuStreamSynchronize(stream);
}

int cuCtxSynchronize(void)
{
    IN_CONTEXT;
    driver_order_host_all();
    return DRIVER_SUCCESS;
}

int cuStreamGetFlags(void *stream, unsigned *flags)
{
    IN_CONTEXT;
    const struct driver_stream *s = driver_stream_of(stream);
    if (!s || !flags)
        return s ? DRIVER_INVALID_VALUE : DRIVER_INVALID_HANDLE;
    *flags = s->flags;
    return DRIVER_SUCCESS;
}

int cuStreamGetPriority(void *stream, int *priority)
{
    IN_CONTEXT;
    const struct driver_stream *s = driver_stream_of(stream);
    if (!s || !priority)
        return s ? DRIVER_INVALID_VALUE : DRIVER_INVALID_HANDLE;
    *priority = s->priority;
    return DRIVER_SUCCESS;
}

int cuStreamGetCtx(void *stream, void **context)
{
    IN_CONTEXT;
    return driver_stream_of(stream) ? cuCtxGetCurrent(context) : DRIVER_INVALID_HANDLE;
}

int cuStreamIsCapturing(void *stream, int *status)
{
    IN_CONTEXT;
    if (!status || !driver_stream_of(stream))
        return status ? DRIVER_INVALID_HANDLE : DRIVER_INVALID_VALUE;
    *status = 0;
    return DRIVER_SUCCESS;
}

int cuLaunchHostFunc(void *stream, void (*function)(void *), void *user)
{
    IN_CONTEXT;
    if (!function || !driver_stream_of(stream))
        return function ? DRIVER_INVALID_HANDLE : DRIVER_INVALID_VALUE;
    driver_guard_lift(); /* what came before in the stream is done for this code of the host */
    function(user);
    driver_guard_close();
    return DRIVER_SUCCESS;
}

int cuStreamAddCallback(void *stream, void (*function)(void *, int, void *), void *user,
                        unsigned flags)
{
    IN_CONTEXT;
    if (!function || flags || !driver_stream_of(stream))
        return function && !flags ? DRIVER_INVALID_HANDLE : DRIVER_INVALID_VALUE;
    driver_guard_lift();
    function(stream, DRIVER_SUCCESS, user);
    driver_guard_close();
    return DRIVER_SUCCESS;
}

/* --- events --- */

int cuEventCreate(void **event, unsigned flags)
{
    IN_CONTEXT;
    if (!event || flags > 7)
        return DRIVER_INVALID_VALUE;
    struct event *e = driver_new(DRIVER_EVENT, sizeof *e);
    if (!e)
        return DRIVER_OUT_OF_MEMORY;
    e->flags = flags;
    *event = e;
    return DRIVER_SUCCESS;
}

int cuEventDestroy_v2(void *event)
{
    IN_CONTEXT;
    struct event *e = driver_object(event, DRIVER_EVENT);
    if (!e)
        return DRIVER_INVALID_HANDLE;
    free(e->clock.times);
    driver_delete(e);
    return DRIVER_SUCCESS;
}

int cuEventRecord(void *event, void *stream)
{
    IN_CONTEXT;
    struct event *e = driver_object(event, DRIVER_EVENT);
    const struct driver_stream *s = driver_stream_of(stream);
    if (!e || !s)
        return DRIVER_INVALID_HANDLE;
    driver_trace("event %p, stream %d", event, s->number);
    driver_order_record(s, &e->clock);
    e->recorded = true;
    e->at = driver_clock;
    return DRIVER_SUCCESS;
}

int cuEventRecordWithFlags(void *event, void *stream, unsigned flags)
{
    ENTER;
    return flags > 1 ? DRIVER_INVALID_VALUE : cuEventRecord(event, stream);
}

int cuEventSynchronize(void *event)
{
    IN_CONTEXT;
    const struct event *e = driver_object(event, DRIVER_EVENT);
    if (!e)
        return DRIVER_INVALID_HANDLE;
    driver_order_host_event(&e->clock);
    return DRIVER_SUCCESS;
}

int cuEventQuery(void *event)
{
    ENTER;
    return cuEventSynchronize(event);
}

int cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    IN_CONTEXT;
    const struct event *e = driver_object(event, DRIVER_EVENT);
    struct driver_stream *s = driver_stream_of(stream);
    if (!e || !s || flags > 1)
        return flags > 1 ? DRIVER_INVALID_VALUE : DRIVER_INVALID_HANDLE;
    driver_trace("event %p, stream %d", event, s->number);
    driver_order_wait(s, &e->clock);
    return DRIVER_SUCCESS;
}

int cuEventElapsedTime(float *ms, void *from, void *to)
{
    IN_CONTEXT;
    const struct event *a = driver_object(from, DRIVER_EVENT), *b = driver_object(to, DRIVER_EVENT);
    if (!a || !b || !ms)
        return ms ? DRIVER_INVALID_HANDLE : DRIVER_INVALID_VALUE;
    if (!a->recorded || !b->recorded || (a->flags | b->flags) & EVENT_NO_TIME)
        return DRIVER_INVALID_HANDLE;
    *ms = (float)((b->at - a->at) / 1000);
    return DRIVER_SUCCESS;
}

int cuEventElapsedTime_v2(float *ms, void *from, void *to)
{
    ENTER;
    return cuEventElapsedTime(ms, from, to);
}
