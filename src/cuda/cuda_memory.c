/* Memory, streams and events. All objects handed out are in one list, so that they are freed
 * with the device, and so that only objects of this list are freed. */
#include "cuda/cuda_own.h"

#include "base/platform.h"

#include <stdio.h>

/* --- the list --- */

static struct cuda_object *add(struct cuda *c, enum cuda_kind kind)
{
    struct cuda_object *o = cuda_take(c, sizeof *o);
    if (!o)
        return NULL;
    *o = (struct cuda_object){.next = c->objects, .kind = kind};
    c->objects = o;
    return o;
}

static struct cuda_object **find(struct cuda *c, enum cuda_kind kind, uint64_t handle)
{
    struct cuda_object **at = &c->objects;
    while (*at && ((*at)->kind != kind || (*at)->handle != handle))
        at = &(*at)->next;
    return at;
}

static int destroy(struct cuda *c, const struct cuda_object *o)
{
    switch (o->kind) {
    case CUDA_STREAM: return c->driver.stream_free((void *)(uintptr_t)o->handle);
    case CUDA_EVENT: return c->driver.event_free((void *)(uintptr_t)o->handle);
    case CUDA_MEMORY:
    case CUDA_WORKSPACE:
    case CUDA_CLEAN: break;
    }
    return c->driver.memory_free(o->handle);
}

static void forget(struct cuda *c, struct cuda_object **at)
{
    struct cuda_object *o = *at;
    *at = o->next;
    cuda_give(c, o, sizeof *o);
}

/* Removes the object, whatever the driver returns, which may be the error of an earlier call.
 * Only during a capture it stays, because the driver does not release it. */
static int remove_at(struct cuda *c, struct cuda_object **at)
{
    enum { STREAM_CAPTURE_UNSUPPORTED = 900 };
    int result = destroy(c, *at);
    if (result != STREAM_CAPTURE_UNSUPPORTED)
        forget(c, at);
    return result;
}

void cuda_free_objects(struct cuda *c)
{
    while (c->objects) {
        destroy(c, c->objects);
        forget(c, &c->objects);
    }
}

/* Keeps the object added last if it was made, otherwise removes it. */
static bool made(struct cuda *c, int result, const char *what, char why[CUDA_WHY])
{
    bool good = cuda_good(c, result, what, why);
    if (!good)
        forget(c, &c->objects);
    return good;
}

/* Makes a stream or an event in *out. */
static bool new_object(struct cuda *c, enum cuda_kind kind, int (*create)(void **, unsigned),
                       const char *what, void **out, char why[CUDA_WHY])
{
    *out = NULL;
    if (!cuda_enter(c, why))
        return false;
    struct cuda_object *o = add(c, kind);
    bool done = o && made(c, create(out, 0), what, why);
    if (done)
        o->handle = (uintptr_t)*out;
    cuda_leave(c);
    return done;
}

static bool free_object(struct cuda *c, enum cuda_kind kind, uint64_t handle, const char *what,
                        char why[CUDA_WHY])
{
    char doing[64];
    struct cuda_object **at = find(c, kind, handle);
    c->result = 0;
    if (!*at) {
        snprintf(why, CUDA_WHY, "%s 0x%llx is not of this context", what,
                 (unsigned long long)handle);
        return false;
    }
    if (!cuda_enter_to_free(c, why))
        return false;
    snprintf(doing, sizeof doing, "freeing %s", what);
    bool good = cuda_good(c, remove_at(c, at), doing, why);
    cuda_leave(c);
    return good;
}

/* --- memory --- */

/* In the context. */
static bool allocate(struct cuda *c, enum cuda_kind kind, size_t bytes, struct cuda_object **out,
                     char why[CUDA_WHY])
{
    char what[96];
    size_t unused = 0, all = 0;
    struct cuda_object *o = add(c, kind);
    *out = o;
    if (!o)
        return false;
    o->bytes = bytes;
    int result = c->driver.memory_allocate(&o->handle, bytes ? bytes : 1);
    int used = snprintf(what, sizeof what, "allocating %zu bytes", bytes);
    if (result && c->driver.memory_info(&unused, &all) == 0)
        snprintf(what + used, sizeof what - (size_t)used, ", of %zu that are free", unused);
    return made(c, result, what, why);
}

bool cuda_allocate(struct cuda *c, size_t bytes, uint64_t *address, char why[CUDA_WHY])
{
    struct cuda_object *o;
    *address = 0;
    if (!cuda_enter_to_make(c, why))
        return false;
    bool done = allocate(c, CUDA_MEMORY, bytes, &o, why);
    if (done)
        *address = o->handle;
    cuda_leave(c);
    return done;
}

bool cuda_free(struct cuda *c, uint64_t address, char why[CUDA_WHY])
{
    return free_object(c, CUDA_MEMORY, address, "device memory", why);
}

bool cuda_copy_in(struct cuda *c, uint64_t to, const void *from, size_t bytes, void *stream,
                  char why[CUDA_WHY])
{
    static const char what[] = "copying to the GPU";
    if (!bytes)
        return true;
    if (!cuda_enter(c, why))
        return false;
    bool done = cuda_good(c, c->driver.copy_in(to, from, bytes, stream), what, why) &&
                cuda_good(c, c->driver.stream_wait(stream), what, why);
    cuda_leave(c);
    return done;
}

bool cuda_copy_out(struct cuda *c, void *to, uint64_t from, size_t bytes, void *stream,
                   char why[CUDA_WHY])
{
    static const char what[] = "copying from the GPU";
    if (!bytes)
        return true;
    if (!cuda_enter(c, why))
        return false;
    bool done = cuda_good(c, c->driver.copy_out(to, from, bytes, stream), what, why) &&
                cuda_good(c, c->driver.stream_wait(stream), what, why);
    cuda_leave(c);
    return done;
}

bool cuda_fill(struct cuda *c, uint64_t to, int byte, size_t bytes, void *stream,
               char why[CUDA_WHY])
{
    if (!bytes)
        return true;
    if (!cuda_enter(c, why))
        return false;
    bool done = cuda_good(c, c->driver.fill(to, (unsigned char)byte, bytes, stream),
                          "filling memory of the GPU", why);
    cuda_leave(c);
    return done;
}

/* --- memory that leaves --- */

struct cuda_given {
    struct cuda_driver driver;
    void *context; /* retained once more */
    int device;
    uint64_t address;
};

struct cuda_given *cuda_give_away(struct cuda *c, uint64_t address, size_t bytes,
                                  char why[CUDA_WHY])
{
    struct cuda_object **at = find(c, CUDA_MEMORY, address);
    why[0] = '\0';
    c->result = 0;
    if (!*at || (*at)->bytes < bytes) {
        snprintf(why, CUDA_WHY, "0x%llx is not the beginning of %zu bytes of this context's memory",
                 (unsigned long long)address, bytes);
        return NULL;
    }
    struct cuda_given *g = cuda_take(c, sizeof *g);
    if (!g)
        return NULL;
    *g = (struct cuda_given){.driver = c->driver, .device = c->handle, .address = address};
    if (cuda_good(c, c->driver.context_retain(&g->context, c->handle), "cuDevicePrimaryCtxRetain",
                  why)) {
        forget(c, at);
        return g;
    }
    cuda_give(c, g, sizeof *g);
    return NULL;
}

/* Errors are ignored, because no caller is left to report them to. */
void cuda_given_free(const struct allocator *allocator, struct cuda_given *g)
{
    void *popped;
    if (g->driver.context_push(g->context) == 0) {
        g->driver.memory_free(g->address);
        g->driver.context_pop(&popped);
    }
    g->driver.context_release(g->device);
    allocator->resize(allocator->user, g, sizeof *g, 0);
}

/* --- workspace --- */

/* Returns the stream itself: each thread has its own CU_STREAM_PER_THREAD. */
static void *stream_of(void *stream)
{
    enum { PER_THREAD = 2 };
    return stream == (void *)(uintptr_t)PER_THREAD ? platform_thread() : stream;
}

/* Returns the newest workspace of a stream, which is its largest. */
static struct cuda_object *workspace_of(const struct cuda *c, enum cuda_kind kind,
                                        const void *stream)
{
    struct cuda_object *o = c->objects;
    while (o && (o->kind != kind || o->stream != stream))
        o = o->next;
    return o;
}

/* Grows in powers of two, so that all outgrown workspaces together are not larger. In the
 * context. */
static bool grow(struct cuda *c, enum cuda_kind kind, void *stream, size_t bytes,
                 struct cuda_object **out, char why[CUDA_WHY])
{
    int capturing = 0;
    if (!cuda_good(c, c->driver.stream_capturing(stream, &capturing), "cuStreamIsCapturing", why))
        return false;
    if (capturing) {
        snprintf(why, CUDA_WHY,
                 "it needs %zu bytes of workspace, which this stream does not have and cannot get "
                 "while it is captured: before the capture, launch once in this stream, or call "
                 "tw_launch_ready with it",
                 bytes);
        return false;
    }
    size_t room = 1 << 16;
    while (room < bytes)
        room *= 2;
    if (!allocate(c, kind, room, out, why))
        return false;
    (*out)->stream = stream_of(stream);
    if (kind == CUDA_WORKSPACE || cuda_good(c, c->driver.fill((*out)->handle, 0, room, stream),
                                            "filling memory of the GPU", why))
        return true;
    remove_at(c, find(c, kind, (*out)->handle));
    return false;
}

bool cuda_workspace(struct cuda *c, void *stream, size_t bytes, bool clean, uint64_t *address,
                    char why[CUDA_WHY])
{
    enum cuda_kind kind = clean ? CUDA_CLEAN : CUDA_WORKSPACE;
    *address = 0;
    if (!bytes)
        return true;
    struct cuda_object *o = workspace_of(c, kind, stream_of(stream));
    bool found = o && o->bytes >= bytes;
    if (!found && cuda_enter_to_make(c, why)) {
        found = grow(c, kind, stream, bytes, &o, why);
        cuda_leave(c);
    }
    if (found)
        *address = o->handle;
    return found;
}

bool cuda_keeps_clean(const struct cuda *c, uint64_t address)
{
    const struct cuda_object *o = c->objects;
    while (o && (o->kind != CUDA_CLEAN || o->handle != address))
        o = o->next;
    return o != NULL;
}

static void free_workspaces(struct cuda *c, const void *stream)
{
    for (struct cuda_object **at = &c->objects; *at;) {
        struct cuda_object *o = *at;
        if ((o->kind == CUDA_WORKSPACE || o->kind == CUDA_CLEAN) && o->stream == stream)
            remove_at(c, at);
        if (*at == o)
            at = &o->next;
    }
}

/* --- streams --- */

bool cuda_stream_new(struct cuda *c, void **stream, char why[CUDA_WHY])
{
    return new_object(c, CUDA_STREAM, c->driver.stream_new, "cuStreamCreate", stream, why);
}

bool cuda_stream_free(struct cuda *c, void *stream, char why[CUDA_WHY])
{
    if (*find(c, CUDA_STREAM, (uintptr_t)stream) && cuda_enter_to_free(c, why)) {
        free_workspaces(c, stream);
        cuda_leave(c);
    }
    return free_object(c, CUDA_STREAM, (uintptr_t)stream, "stream", why);
}

bool cuda_stream_wait(struct cuda *c, void *stream, char why[CUDA_WHY])
{
    if (!cuda_enter(c, why))
        return false;
    bool done = cuda_good(c, c->driver.stream_wait(stream), "running the kernel", why);
    cuda_leave(c);
    return done;
}

bool cuda_stream_capturing(struct cuda *c, void *stream, bool *capturing, char why[CUDA_WHY])
{
    int status = 0;
    if (!cuda_enter(c, why))
        return false;
    bool done =
        cuda_good(c, c->driver.stream_capturing(stream, &status), "cuStreamIsCapturing", why);
    cuda_leave(c);
    *capturing = status != 0;
    return done;
}

/* --- events --- */

bool cuda_event_new(struct cuda *c, void **event, char why[CUDA_WHY])
{
    return new_object(c, CUDA_EVENT, c->driver.event_new, "cuEventCreate", event, why);
}

bool cuda_event_free(struct cuda *c, void *event, char why[CUDA_WHY])
{
    return free_object(c, CUDA_EVENT, (uintptr_t)event, "event", why);
}

bool cuda_event_record(struct cuda *c, void *event, void *stream, char why[CUDA_WHY])
{
    if (!cuda_enter(c, why))
        return false;
    bool done = cuda_good(c, c->driver.event_record(event, stream), "cuEventRecord", why);
    cuda_leave(c);
    return done;
}

bool cuda_event_elapsed(struct cuda *c, void *from, void *to, double *milliseconds,
                        char why[CUDA_WHY])
{
    float elapsed = 0;
    if (!cuda_enter(c, why))
        return false;
    bool done =
        cuda_good(c, c->driver.event_wait(to), "running the kernel", why) &&
        cuda_good(c, c->driver.event_elapsed(&elapsed, from, to), "cuEventElapsedTime", why);
    cuda_leave(c);
    *milliseconds = (double)elapsed;
    return done;
}
