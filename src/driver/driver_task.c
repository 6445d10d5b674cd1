/* Tasks: run now, or kept by a graph. */
#include "driver/driver_graph.h"

#include "sim/sim_own.h"

#include <stdlib.h>
#include <string.h>

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

/* Copies the caller's regions and data. */
static bool keep_stub(struct driver_stub *s)
{
    size_t bytes = (size_t)s->count * sizeof *s->regions;
    struct driver_region *regions = malloc(bytes + s->user_bytes + 1);
    if (!regions)
        return false;
    if (bytes)
        memcpy(regions, s->regions, bytes);
    s->user = memcpy((char *)regions + bytes, s->user, s->user_bytes);
    s->regions = regions;
    return true;
}

static int run_kind(struct driver_task *t, struct driver_stream *s)
{
    switch (t->kind) {
    case TASK_KERNEL: return driver_dependent_launch(&t->launched, s);
    case TASK_COPY: return driver_copy_run(&t->copy, s);
    case TASK_FILL: return driver_fill_run(&t->fill, s);
    case TASK_HOST: return run_host(t, s);
    case TASK_GRAPH: return driver_graph_run(t->graph, s);
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

/* --- tasks that a graph keeps --- */

/* Copies the arguments of a launch into memory of the task. */
static bool keep_arguments(struct driver_task *t)
{
    struct sim_launch *l = &t->launched.launch;
    const struct ptx_function *f = t->launched.kernel->function;
    size_t count = (size_t)l->argument_count, bytes = count * sizeof(void *), at = bytes;
    for (size_t i = 0; i < count; i++)
        bytes += (size_t)ptx_variable_size(f->signature.parameters.data[i]);
    const void **list = malloc(bytes + 1);
    if (!list)
        return false;
    for (size_t i = 0; i < count; i++) {
        size_t size = (size_t)ptx_variable_size(f->signature.parameters.data[i]);
        list[i] = memcpy((char *)list + at, l->arguments[i], size);
        at += size;
    }
    l->arguments = list;
    return true;
}

static void drop_bodies(struct driver_task *t)
{
    for (unsigned i = 0; t->bodies && i < t->body_count; i++)
        driver_graph_free(t->bodies[i]);
    free(t->bodies);
}

/* Gives the task copies of its bodies. */
static bool keep_bodies(struct driver_task *t)
{
    struct driver_graph **from = t->bodies;
    t->bodies = calloc(t->body_count, sizeof(struct driver_graph *));
    bool good = t->bodies;
    for (unsigned i = 0; good && i < t->body_count; i++) {
        t->bodies[i] = driver_graph_copy(from[i]);
        good = t->bodies[i];
        if (good)
            t->bodies[i]->owned = true;
    }
    if (!good)
        drop_bodies(t);
    return good;
}

bool driver_task_keep(struct driver_task *t)
{
    if (!t->call) {
        t->call = driver_call_name();
        driver_site_here(&t->site);
    }
    if (t->kind == TASK_KERNEL)
        return keep_arguments(t);
    if (t->kind == TASK_STUB)
        return keep_stub(&t->stub);
    bool moves = t->moves;
    t->moves = false; /* copies of the node have copies of the graph */
    if (t->kind == TASK_CONDITIONAL)
        return moves || keep_bodies(t);
    if (t->kind != TASK_GRAPH)
        return true;
    if (!moves)
        t->graph = driver_graph_copy(t->graph);
    if (t->graph)
        t->graph->owned = true;
    return t->graph;
}

void driver_task_drop(struct driver_task *t)
{
    if (t->kind == TASK_KERNEL)
        free((void *)(uintptr_t)t->launched.launch.arguments);
    if (t->kind == TASK_STUB)
        free((void *)(uintptr_t)t->stub.regions);
    if (t->kind == TASK_GRAPH)
        driver_graph_free(t->graph);
    if (t->kind == TASK_CONDITIONAL)
        drop_bodies(t);
    t->kind = TASK_EMPTY;
}
