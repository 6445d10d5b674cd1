/* Streams, whose work is done when a call waits for it; events; captures and graphs. */
#include "fake_cuda.h"

#include <stdlib.h>
#include <string.h>

struct fake_list {
    struct fake_work *first, *last;
};
struct fake_stream {
    struct fake_object object;
    bool blocking; /* with the default stream */
    bool capturing, invalid;
    int capture_mode;
    const void *capturer; /* the thread that began it */
    struct fake_list queue, captured;
};
/* A graph, or an instantiated one. */
struct fake_graph {
    struct fake_object object;
    struct fake_list list;
};
static struct fake_stream defaults[FAKE_DEVICES];

/* --- work --- */

struct fake_work *fake_work_new(enum fake_work_kind kind)
{
    struct fake_work *w = calloc(1, sizeof *w);
    if (w)
        w->kind = kind;
    return w;
}

void fake_work_free(struct fake_work *w)
{
    if (w->kind == WORK_COPY_IN)
        free(w->data);
    for (int i = 0; w->arguments && i < w->launch.argument_count; i++)
        free(w->arguments[i]);
    free(w->arguments);
    free(w);
}

void *fake_copy(const void *data, size_t bytes)
{
    void *copy = malloc(bytes + 1);
    return copy ? memcpy(copy, data, bytes) : NULL;
}

bool fake_take_arguments(struct fake_work *w, void *const *from)
{
    const struct ptx_signature *s = &w->kernel->function->signature;
    w->launch.argument_count = (int)s->parameters.count;
    w->arguments = calloc(s->parameters.count + 1, sizeof *w->arguments);
    for (size_t i = 0; w->arguments && i < s->parameters.count; i++) {
        w->arguments[i] = fake_copy(from[i], ptx_variable_size(s->parameters.data[i]));
        if (!w->arguments[i])
            return false;
    }
    w->launch.arguments = (const void *const *)w->arguments;
    return w->arguments;
}

static struct fake_work *clone(const struct fake_work *w)
{
    struct fake_work *copy = fake_copy(w, sizeof *w);
    if (!copy)
        return NULL;
    copy->next = NULL;
    copy->arguments = NULL;
    if (w->kind == WORK_COPY_IN)
        copy->data = fake_copy(w->data, w->bytes);
    if ((w->kind != WORK_COPY_IN || copy->data) &&
        (w->kind != WORK_LAUNCH || fake_take_arguments(copy, w->arguments)))
        return copy;
    fake_work_free(copy);
    return NULL;
}

static void append(struct fake_list *l, struct fake_work *w)
{
    w->next = NULL;
    if (l->last)
        l->last->next = w;
    else
        l->first = w;
    l->last = w;
}

static void clear(struct fake_list *l)
{
    while (l->first) {
        struct fake_work *next = l->first->next;
        fake_work_free(l->first);
        l->first = next;
    }
    l->last = NULL;
}

static int perform(const struct fake_work *w)
{
    enum { BYTES_A_MICROSECOND = 10000 };
    if (w->kind == WORK_RECORD) {
        w->event->at = fake_clock();
        w->event->done = true;
        return GOOD;
    }
    if (w->kind == WORK_LAUNCH)
        return fake_run(w);
    void *bytes = fake_bytes(w->address, w->bytes);
    void *source = w->kind == WORK_COPY ? fake_bytes(w->source, w->bytes) : w->data;
    if (!bytes || (w->kind == WORK_COPY && !source)) {
        fake_fault(ILLEGAL_ADDRESS, "a copy or fill outside of device memory");
        return ILLEGAL_ADDRESS;
    }
    bool idle = fake_setting("FAKE_CUDA_IDLE", 0);
    if (w->kind == WORK_COPY_OUT)
        memcpy(w->data, bytes, w->bytes);
    else if (w->kind == WORK_COPY_IN)
        memcpy(bytes, source, w->bytes);
    else if (w->kind == WORK_COPY && !idle)
        memcpy(bytes, source, w->bytes);
    else if (!idle)
        memset(bytes, w->value, w->bytes);
    fake_clock_add(1 + (double)w->bytes / BYTES_A_MICROSECOND);
    return GOOD;
}

static int drain(struct fake_stream *s)
{
    int result = GOOD;
    while (s->queue.first && !result) {
        struct fake_work *w = s->queue.first;
        s->queue.first = w->next;
        if (!w->next)
            s->queue.last = NULL;
        result = perform(w);
        fake_work_free(w);
    }
    clear(&s->queue); /* after a fault no work is done */
    return result;
}

static struct fake_stream *next_stream(struct fake_stream *after)
{
    struct fake_object *o = fake_next(after ? &after->object : NULL, FAKE_STREAM);
    while (o && o->device != fake_current_device())
        o = fake_next(o, FAKE_STREAM);
    return (struct fake_stream *)o;
}

static int drain_blocking(void)
{
    int result = GOOD;
    for (struct fake_stream *s = NULL; !result && (s = next_stream(s));)
        if (s->blocking)
            result = drain(s);
    return result;
}

int fake_drain(void)
{
    int result = drain_blocking();
    if (!result)
        result = drain(&defaults[fake_current_device()]);
    for (struct fake_stream *s = NULL; !result && (s = next_stream(s));)
        result = drain(s);
    return result;
}

/* --- captures --- */

/* CUstreamCaptureMode */
enum { MODE_GLOBAL, MODE_THREAD_LOCAL, MODE_RELAXED };
static _Thread_local int thread_mode = MODE_GLOBAL; /* its address identifies the thread */

/* The rules of CUDA Driver API, cuThreadExchangeStreamCaptureMode. */
static bool forbids(const struct fake_stream *s)
{
    if (!s->capturing || thread_mode == MODE_RELAXED || s->capture_mode == MODE_RELAXED)
        return false;
    bool all_global = thread_mode == MODE_GLOBAL && s->capture_mode == MODE_GLOBAL;
    return all_global || s->capturer == &thread_mode;
}

bool fake_capture_forbids(void)
{
    bool any = false;
    for (struct fake_stream *s = NULL; (s = next_stream(s));)
        if (forbids(s))
            any = s->invalid = true;
    return any;
}

#ifndef FAKE_CUDA_OLD
API int cuThreadExchangeStreamCaptureMode(int *mode)
{
    FAKE;
    int before = thread_mode;
    if (fake_current_device() < 0)
        return INVALID_CONTEXT;
    if (*mode < MODE_GLOBAL || *mode > MODE_RELAXED)
        return INVALID_VALUE;
    thread_mode = *mode;
    *mode = before;
    return GOOD;
}
#endif

/* Returns true if the default stream would wait for one that is being captured. */
static bool implicit(const struct fake_stream *s)
{
    bool any = false;
    if (s != &defaults[fake_current_device()])
        return false;
    for (struct fake_stream *o = NULL; (o = next_stream(o));)
        if (o->capturing && o->blocking)
            any = o->invalid = true;
    return any;
}

/* Returns CU_STREAM_PER_THREAD: it exists from its first use until the context is destroyed. */
static struct fake_stream *own_stream(void)
{
    static _Thread_local struct fake_stream *own[FAKE_DEVICES];
    struct fake_stream **at = &own[fake_current_device()];
    if (!fake_object(*at, FAKE_STREAM))
        *at = fake_new(FAKE_STREAM, sizeof **at);
    if (*at)
        (*at)->blocking = true;
    return *at;
}

static struct fake_stream *stream_of(const void *handle)
{
    enum { LEGACY = 1, PER_THREAD = 2 };
    if (handle == (void *)(uintptr_t)PER_THREAD)
        return own_stream();
    return handle && handle != (void *)(uintptr_t)LEGACY ? fake_object(handle, FAKE_STREAM)
                                                         : &defaults[fake_current_device()];
}

static int accept(struct fake_stream *s)
{
    if (!s)
        return INVALID_HANDLE;
    if (implicit(s))
        return CAPTURE_IMPLICIT;
    if (s->capturing)
        return s->invalid ? CAPTURE_INVALIDATED : GOOD;
    if (s == &defaults[fake_current_device()])
        return drain_blocking();
    return s->blocking ? drain(&defaults[fake_current_device()]) : GOOD;
}

int fake_enqueue(void *stream, struct fake_work *w)
{
    struct fake_stream *s = stream_of(stream);
    int result = accept(s);
    if (result)
        fake_work_free(w);
    else
        append(s->capturing ? &s->captured : &s->queue, w);
    return result;
}

/* --- streams --- */

API int cuStreamCreate(void **stream, unsigned flags)
{
    enum { NON_BLOCKING = 1 };
    FAKE_CONTEXT;
    struct fake_stream *s = fake_new(FAKE_STREAM, sizeof *s);
    if (!s)
        return NO_MEMORY;
    s->blocking = !(flags & NON_BLOCKING);
    *stream = s;
    return GOOD;
}

void fake_stream_free(void *stream)
{
    struct fake_stream *s = stream;
    clear(&s->queue);
    clear(&s->captured);
    fake_delete(s);
}

void fake_default_clear(int device)
{
    clear(&defaults[device].queue);
}

API int cuStreamDestroy_v2(void *stream)
{
    FAKE_RELEASE;
    struct fake_stream *s = stream ? fake_object(stream, FAKE_STREAM) : NULL;
    if (fake_current_device() < 0 || !s)
        return s ? INVALID_CONTEXT : INVALID_HANDLE;
    int result = fake_state() ? fake_state() : drain(s);
    fake_stream_free(s);
    return entered ? entered : result;
}

API int cuStreamSynchronize(void *stream)
{
    FAKE_CONTEXT;
    struct fake_stream *s = stream_of(stream);
    if (!s)
        return INVALID_HANDLE;
    if (s->capturing) {
        s->invalid = true;
        return CAPTURE_UNSUPPORTED;
    }
    int result = accept(s);
    return result ? result : drain(s);
}

API int cuStreamIsCapturing(void *stream, int *status)
{
    FAKE_CONTEXT;
    struct fake_stream *s = stream_of(stream);
    *status = 0;
    if (!s)
        return INVALID_HANDLE;
    for (struct fake_stream *o = NULL; !stream && (o = next_stream(o));)
        if (o->capturing && o->blocking)
            return CAPTURE_IMPLICIT;
    *status = s->capturing + s->invalid;
    return GOOD;
}

/* --- events --- */

API int cuEventCreate(void **event, unsigned flags)
{
    FAKE_CONTEXT;
    (void)flags;
    *event = fake_new(FAKE_EVENT, sizeof(struct fake_event));
    return *event ? GOOD : NO_MEMORY;
}

API int cuEventDestroy_v2(void *event)
{
    FAKE_RELEASE;
    if (fake_current_device() < 0 || !fake_object(event, FAKE_EVENT))
        return INVALID_HANDLE;
    int result = fake_state() ? fake_state() : fake_drain();
    fake_delete(event);
    return entered ? entered : result;
}

API int cuEventRecord(void *event, void *stream)
{
    FAKE_CONTEXT;
    struct fake_event *e = fake_object(event, FAKE_EVENT);
    struct fake_work *w = e ? fake_work_new(WORK_RECORD) : NULL;
    if (!w)
        return e ? NO_MEMORY : INVALID_HANDLE;
    w->event = e;
    int result = fake_enqueue(stream, w);
    if (!result) {
        e->recorded = true;
        e->done = false;
    }
    return result;
}

API int cuEventSynchronize(void *event)
{
    FAKE_CONTEXT;
    const struct fake_event *e = fake_object(event, FAKE_EVENT);
    if (!e)
        return INVALID_HANDLE;
    return e->recorded && !e->done ? fake_drain() : GOOD;
}

/* Returns the next of FAKE_CUDA_TIMES; false: it is not set. */
static bool told_time(float *milliseconds)
{
    static size_t next; /* in the text */
    const char *times = getenv("FAKE_CUDA_TIMES");
    if (!times)
        return false;
    *milliseconds = strtof(times + next, NULL);
    size_t length = strcspn(times + next, ",");
    next += times[next + length] ? length + 1 : 0;
    return true;
}

API int cuEventElapsedTime(float *milliseconds, void *from, void *to)
{
    FAKE_CONTEXT;
    const struct fake_event *a = fake_object(from, FAKE_EVENT), *b = fake_object(to, FAKE_EVENT);
    if (!a || !b || !a->recorded || !b->recorded)
        return INVALID_HANDLE;
    if (!a->done || !b->done)
        return NOT_READY;
    if (!told_time(milliseconds))
        *milliseconds = (float)((b->at - a->at) / 1000);
    return GOOD;
}

/* --- graphs --- */

API int cuStreamBeginCapture_v2(void *stream, int mode)
{
    FAKE_CONTEXT;
    struct fake_stream *s = stream ? fake_object(stream, FAKE_STREAM) : NULL;
    if (!s)
        return stream ? INVALID_HANDLE : CAPTURE_UNSUPPORTED;
    if (mode < MODE_GLOBAL || mode > MODE_RELAXED)
        return INVALID_VALUE;
    if (s->capturing)
        return ILLEGAL_STATE;
    s->capturing = true;
    s->capture_mode = mode;
    s->capturer = &thread_mode;
    return GOOD;
}

API int cuStreamEndCapture(void *stream, void **graph)
{
    FAKE_CONTEXT;
    struct fake_stream *s = stream ? fake_object(stream, FAKE_STREAM) : NULL;
    *graph = NULL;
    if (!s || !s->capturing)
        return s ? ILLEGAL_STATE : INVALID_HANDLE;
    bool lost = s->invalid;
    s->capturing = s->invalid = false;
    struct fake_graph *g = lost ? NULL : fake_new(FAKE_GRAPH, sizeof *g);
    if (!g) {
        clear(&s->captured);
        return lost ? CAPTURE_INVALIDATED : NO_MEMORY;
    }
    g->list = s->captured;
    s->captured = (struct fake_list){0};
    *graph = g;
    return GOOD;
}

void fake_graph_free(void *graph)
{
    struct fake_graph *g = graph;
    clear(&g->list);
    fake_delete(g);
}

API int cuGraphInstantiateWithFlags(void **out, void *graph, unsigned long long flags)
{
    FAKE_CONTEXT;
    (void)flags;
    const struct fake_graph *g = fake_object(graph, FAKE_GRAPH);
    if (!g)
        return INVALID_HANDLE;
    struct fake_graph *made = fake_new(FAKE_GRAPH_EXEC, sizeof *made);
    for (const struct fake_work *w = g->list.first; made && w; w = w->next) {
        struct fake_work *copy = clone(w);
        if (!copy)
            return NO_MEMORY;
        append(&made->list, copy);
    }
    *out = made;
    return made ? GOOD : NO_MEMORY;
}

API int cuGraphLaunch(void *graph, void *stream)
{
    FAKE_CONTEXT;
    const struct fake_graph *g = fake_object(graph, FAKE_GRAPH_EXEC);
    if (!g)
        return INVALID_HANDLE;
    int result = GOOD;
    for (const struct fake_work *w = g->list.first; w && !result; w = w->next) {
        struct fake_work *copy = clone(w);
        result = copy ? fake_enqueue(stream, copy) : NO_MEMORY;
    }
    return result;
}

static int destroy(void *graph, enum fake_kind kind)
{
    if (!fake_object(graph, kind))
        return INVALID_HANDLE;
    fake_graph_free(graph);
    return GOOD;
}

API int cuGraphDestroy(void *graph)
{
    FAKE_RELEASE;
    int result = destroy(graph, FAKE_GRAPH);
    return entered ? entered : result;
}

API int cuGraphExecDestroy(void *graph)
{
    FAKE_RELEASE;
    int result = destroy(graph, FAKE_GRAPH_EXEC);
    return entered ? entered : result;
}
