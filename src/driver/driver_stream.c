/* Streams and events. */
#include "driver/driver_graph.h"

#include <stdlib.h>

double driver_clock;

static int streams; /* so far */

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
    if (!driver_stream_of(NULL) || !driver_order_stream(s)) { /* the default stream comes first */
        driver_delete(s);
        return DRIVER_OUT_OF_MEMORY;
    }
    driver_trace("stream %d", s->number);
    *stream = s;
    return DRIVER_SUCCESS;
}

ENTRY(cuStreamCreate, (void **stream, unsigned flags), cuStreamCreateWithPriority(stream, flags, 0))

/* Frees a stream that the program has destroyed, unless a call waits in it. */
static void free_unused(struct driver_stream *s)
{
    if (!s->destroyed || s->waits)
        return;
    driver_order_forget(s);
    free(s);
}

void driver_stream_keep(struct driver_stream *s)
{
    s->waits++;
}

void driver_stream_leave(struct driver_stream *s)
{
    s->waits--;
    free_unused(s);
}

int cuStreamDestroy_v2(void *stream)
{
    IN_CONTEXT;
    struct driver_stream *s = driver_object(stream, DRIVER_STREAM);
    if (!s)
        return DRIVER_INVALID_HANDLE;
    driver_capture_leave(s);
    driver_retire(s);
    s->destroyed = true;
    free_unused(s);
    return DRIVER_SUCCESS;
}

int cuStreamSynchronize(void *stream)
{
    IN_CONTEXT;
    struct driver_stream *s = driver_stream_of(stream);
    if (!s)
        return DRIVER_INVALID_HANDLE;
    int forbidden = driver_capture_forbids_uncaptured(s);
    if (forbidden != DRIVER_SUCCESS)
        return forbidden;
    driver_trace("stream %d", s->number);
    driver_order_host(s);
    return DRIVER_SUCCESS;
}

/* The work of a stream is always done, so asking for that is the same as waiting for it. */
ENTRY(cuStreamQuery, (void *stream), cuStreamSynchronize(stream))

int cuCtxSynchronize(void)
{
    IN_CONTEXT;
    int forbidden = driver_capture_forbids_device();
    if (forbidden == DRIVER_SUCCESS)
        driver_order_host_all();
    return forbidden;
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

CONTEXT_ENTRY(cuStreamGetCtx, (void *stream, void **context),
              driver_stream_of(stream) ? cuCtxGetCurrent(context) : DRIVER_INVALID_HANDLE)

int cuStreamGetId(void *stream, uint64_t *id)
{
    IN_CONTEXT;
    const struct driver_stream *s = driver_stream_of(stream);
    if (!s || !id)
        return s ? DRIVER_INVALID_VALUE : DRIVER_INVALID_HANDLE;
    *id = (uintptr_t)s;
    return DRIVER_SUCCESS;
}

CONTEXT_ENTRY(cuStreamGetDevice, (void *stream, int *device),
              driver_stream_of(stream) ? cuCtxGetDevice(device) : DRIVER_INVALID_HANDLE)

/* --- events --- */

int cuEventCreate(void **event, unsigned flags)
{
    IN_CONTEXT;
    bool timed = !(flags & DRIVER_EVENT_NO_TIME);
    if (!event || flags > 7 || (flags & DRIVER_EVENT_INTERPROCESS && timed))
        return DRIVER_INVALID_VALUE;
    struct driver_event *e = driver_new(DRIVER_EVENT, sizeof *e);
    if (!e)
        return DRIVER_OUT_OF_MEMORY;
    e->flags = flags;
    *event = e;
    return DRIVER_SUCCESS;
}

int cuEventDestroy_v2(void *event)
{
    IN_CONTEXT;
    struct driver_event *e = driver_object(event, DRIVER_EVENT);
    if (!e)
        return DRIVER_INVALID_HANDLE;
    free(e->clock.times);
    free(e->awaited.times);
    driver_nodes_clear(&e->before);
    driver_delete(e);
    return DRIVER_SUCCESS;
}

void driver_event_record(struct driver_event *e, const struct driver_clock *done)
{
    driver_clock_copy(&e->clock, done);
    e->awaited.count = 0;
    e->recorded = true;
    e->at = driver_clock;
}

enum { EVENT_EXTERNAL = 1 }; /* CU_EVENT_RECORD_EXTERNAL, CU_EVENT_WAIT_EXTERNAL */

int cuEventRecordWithFlags(void *event, void *stream, unsigned flags)
{
    IN_CONTEXT;
    struct driver_event *e = driver_object(event, DRIVER_EVENT);
    struct driver_stream *s = driver_stream_of(stream);
    if (!e || !s || flags > EVENT_EXTERNAL)
        return flags > EVENT_EXTERNAL ? DRIVER_INVALID_VALUE : DRIVER_INVALID_HANDLE;
    driver_trace("event %p, stream %d", event, s->number);
    int forbidden = driver_capture_forbids(s);
    if (forbidden != DRIVER_SUCCESS)
        return forbidden;
    if (flags == EVENT_EXTERNAL && s->capture) {
        const struct driver_task t = {.kind = TASK_RECORD, .event = e};
        return driver_capture_add(s, &t);
    }
    if (!driver_capture_record(e, s))
        driver_event_record(e, &s->clock);
    return DRIVER_SUCCESS;
}

ENTRY(cuEventRecord, (void *event, void *stream), cuEventRecordWithFlags(event, stream, 0))

int cuEventSynchronize(void *event)
{
    IN_CONTEXT;
    const struct driver_event *e = driver_object(event, DRIVER_EVENT);
    if (!e)
        return DRIVER_INVALID_HANDLE;
    int forbidden = driver_capture_forbids_event(e);
    if (forbidden == DRIVER_SUCCESS)
        driver_order_host_event(&e->clock);
    return forbidden;
}

ENTRY(cuEventQuery, (void *event), cuEventSynchronize(event))

int cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    IN_CONTEXT;
    struct driver_event *e = driver_object(event, DRIVER_EVENT);
    struct driver_stream *s = driver_stream_of(stream);
    if (!e || !s || flags > EVENT_EXTERNAL)
        return flags > EVENT_EXTERNAL ? DRIVER_INVALID_VALUE : DRIVER_INVALID_HANDLE;
    driver_trace("event %p, stream %d", event, s->number);
    int result = driver_capture_forbids(s);
    if (result != DRIVER_SUCCESS)
        return result;
    if (flags == EVENT_EXTERNAL && s->capture) {
        const struct driver_task t = {.kind = TASK_WAIT, .event = e};
        return driver_capture_add(s, &t);
    }
    if (!driver_capture_wait(s, e, &result)) {
        driver_order_wait(s, &e->clock);
        driver_clock_join(&s->awaited, &e->awaited);
    }
    return result;
}

int cuEventElapsedTime(float *ms, void *from, void *to)
{
    IN_CONTEXT;
    const struct driver_event *a = driver_object(from, DRIVER_EVENT),
                              *b = driver_object(to, DRIVER_EVENT);
    if (!a || !b || !ms)
        return ms ? DRIVER_INVALID_HANDLE : DRIVER_INVALID_VALUE;
    if (a->capture || b->capture) /* the capture goes on */
        return DRIVER_CAPTURED_EVENT;
    if (!a->recorded || !b->recorded || (a->flags | b->flags) & DRIVER_EVENT_NO_TIME)
        return DRIVER_INVALID_HANDLE;
    *ms = (float)((b->at - a->at) / 1000);
    return DRIVER_SUCCESS;
}

ENTRY(cuEventElapsedTime_v2, (float *ms, void *from, void *to), cuEventElapsedTime(ms, from, to))
