/* Streams and events. */
#include "driver/driver.h"

#include <stddef.h>

double driver_clock;

static struct driver_stream default_stream, thread_stream = {.number = -1};
static int streams; /* so far */

struct event {
    unsigned flags;
    bool recorded;
    double at; /* microseconds of the device */
};
enum { EVENT_NO_TIME = 2 };

struct driver_stream *driver_stream_of(void *handle)
{
    enum { LEGACY = 1, PER_THREAD = 2 }; /* CU_STREAM_LEGACY, CU_STREAM_PER_THREAD */
    if ((uintptr_t)handle <= LEGACY)
        return &default_stream;
    if ((uintptr_t)handle == PER_THREAD)
        return &thread_stream;
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
    driver_delete(s);
    return DRIVER_SUCCESS;
}

int cuStreamSynchronize(void *stream)
{
    IN_CONTEXT;
    return driver_stream_of(stream) ? DRIVER_SUCCESS : DRIVER_INVALID_HANDLE;
}

int cuStreamQuery(void *stream)
{
    IN_CONTEXT;
    return driver_stream_of(stream) ? DRIVER_SUCCESS : DRIVER_INVALID_HANDLE;
}

int cuCtxSynchronize(void)
{
    IN_CONTEXT;
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
    function(user);
    return DRIVER_SUCCESS;
}

int cuStreamAddCallback(void *stream, void (*function)(void *, int, void *), void *user,
                        unsigned flags)
{
    IN_CONTEXT;
    if (!function || flags || !driver_stream_of(stream))
        return function && !flags ? DRIVER_INVALID_HANDLE : DRIVER_INVALID_VALUE;
    function(stream, DRIVER_SUCCESS, user);
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
    return driver_object(event, DRIVER_EVENT) ? DRIVER_SUCCESS : DRIVER_INVALID_HANDLE;
}

int cuEventQuery(void *event)
{
    IN_CONTEXT;
    return driver_object(event, DRIVER_EVENT) ? DRIVER_SUCCESS : DRIVER_INVALID_HANDLE;
}

int cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    IN_CONTEXT;
    const struct event *e = driver_object(event, DRIVER_EVENT);
    if (!e || !driver_stream_of(stream))
        return DRIVER_INVALID_HANDLE;
    return flags > 1 ? DRIVER_INVALID_VALUE : DRIVER_SUCCESS;
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
