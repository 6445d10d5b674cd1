/* Tasks: run now, or kept by a graph. */
#include "driver/driver_graph.h"

#include <stdlib.h>

static int run_host(const struct driver_task *t, const struct driver_stream *s)
{
    driver_guard_lift(); /* what came before in the stream is done for this code of the host */
    driver_order_tell(s);
    t->function(t->user);
    driver_guard_close();
    return DRIVER_SUCCESS;
}

/* --- work of other libraries --- */

static void note_region(struct driver_work *w, const struct driver_region *r)
{
    for (size_t y = 0; y < r->height; y++) {
        uint64_t at = r->address + y * r->pitch;
        driver_work_touches(w, at, r->width, r->writes ? DRIVER_WRITES : DRIVER_READS);
        if (r->writes)
            sim_wrote(driver_machine(), at, r->width);
    }
}

static int run_stub(const struct driver_stub *s, struct driver_stream *stream)
{
    void **hosts = calloc((size_t)s->count + 1, sizeof *hosts);
    bool good = hosts;
    for (int i = 0; good && i < s->count; i++) {
        const struct driver_region *r = &s->regions[i];
        if (!r->width || !r->height)
            continue;
        hosts[i] = driver_bytes(r->address, (r->height - 1) * r->pitch + r->width, r->what);
        good = hosts[i];
    }
    if (good) {
        struct driver_work *w = driver_work_begin(stream, NULL);
        for (int i = 0; i < s->count; i++)
            note_region(w, &s->regions[i]);
        s->function((void *)(uintptr_t)s->user, hosts);
        driver_work_end(w);
    }
    free(hosts);
    return good ? DRIVER_SUCCESS : DRIVER_ILLEGAL_ADDRESS;
}

static int run_kind(struct driver_task *t, struct driver_stream *s)
{
    switch (t->kind) {
    case TASK_KERNEL: return driver_run_launch(&t->launched, s);
    case TASK_COPY: return driver_copy_run(&t->copy, s);
    case TASK_FILL: return driver_fill_run(&t->fill, s);
    case TASK_HOST: return run_host(t, s);
    case TASK_GRAPH: return driver.run_graph(t->graph, s);
    case TASK_STUB: return run_stub(&t->stub, s);
    case TASK_ALLOCATE: return driver_graph_allocate(t->memory, s);
    case TASK_FREE: return driver_graph_release(t->memory, s);
    case TASK_CONDITIONAL: return driver_conditional_run(t, s);
    case TASK_EMPTY: break;
    case TASK_WAIT:
    case TASK_RECORD:
        if (!driver_object(t->event, DRIVER_EVENT))
            return DRIVER_INVALID_HANDLE;
        if (t->kind == TASK_WAIT)
            driver_order_wait(s, &t->event->clock);
        else
            driver_event_record(t->event, &s->clock);
        break;
    }
    return DRIVER_SUCCESS;
}

/* A task of a graph: reports name the call that made it, and its place. */
int driver_task_run(struct driver_task *t, struct driver_stream *s)
{
    const struct driver_task *before = driver.replayed;
    driver.replayed = t->call ? t : before;
    if (t->kind != TASK_KERNEL)
        s->kernel_last = false;
    int result = run_kind(t, s);
    driver.replayed = before;
    return result;
}

struct run_call {
    struct driver_task *task;
    struct driver_stream *stream;
};

static int run(void *user)
{
    const struct run_call *call = user;
    return driver_task_run(call->task, call->stream);
}

int driver_enqueue(void *stream, struct driver_task *t)
{
    struct run_call call = {t, driver_stream_of(stream)};
    if (!call.stream)
        return DRIVER_INVALID_HANDLE;
    if (call.stream->capture)
        return driver_capture_add(call.stream, t);
    int result = driver_capture_forbids(call.stream);
    return result == DRIVER_SUCCESS ? driver_guard(run, &call) : result;
}

int cuLaunchHostFunc(void *stream, void (*function)(void *), void *user)
{
    IN_CONTEXT;
    struct driver_task t = {.kind = TASK_HOST, .function = function, .user = user};
    return function ? driver_enqueue(stream, &t) : DRIVER_INVALID_VALUE;
}

int cuStreamAddCallback(void *stream, void (*function)(void *, int, void *), void *user,
                        unsigned flags)
{
    IN_CONTEXT;
    const struct driver_stream *s = driver_stream_of(stream);
    if (!function || flags || !s)
        return function && !flags ? DRIVER_INVALID_HANDLE : DRIVER_INVALID_VALUE;
    int forbidden = driver_capture_forbids_uncaptured(s);
    if (forbidden != DRIVER_SUCCESS)
        return forbidden;
    driver_guard_lift();
    driver_order_tell(s);
    function(stream, DRIVER_SUCCESS, user);
    driver_guard_close();
    return DRIVER_SUCCESS;
}
