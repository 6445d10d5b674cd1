/* Values that streams write to memory and wait for (CUDA Driver API, "Stream Memory Operations"). A
 * stream that has waited for a value comes after the work before the write of it. Each operation runs
 * when it is enqueued, so a wait needs a value that is there, or that another thread of the host is
 * about to write. */
#include "driver/driver_graph.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum kind { WAIT_32 = 1, WRITE_32 = 2, FLUSH = 3, WAIT_64 = 4, WRITE_64 = 5, BARRIER = 6 };
enum { WAIT_AT_LEAST, WAIT_EQUAL, WAIT_AND, WAIT_NOR, WAIT_KINDS = 3, WAIT_FLUSH = 1 << 30 };
enum { WRITE_NO_BARRIER = 1 }; /* CUstreamWriteValue_flags */

/* A value that a stream wrote. */
struct written {
    struct written *older; /* at the same address */
    uint64_t value;
    int bytes, slot;
    bool barrier; /* the earlier work of its stream comes before the value */
    uint64_t time;
    struct driver_clock before; /* the work before the write, and the write */
};
enum { KEPT = 16 };             /* values of an address; older ones are forgotten */
static struct number_map notes; /* by address: struct written, the newest */

static struct written *written_at(uint64_t address)
{
    const struct number_entry *found = number_map_find(&notes, address);
    return found ? (struct written *)(uintptr_t)found->value : NULL;
}

/* Returns room for a value of an address: new, or that of the oldest one. */
static struct written *room_at(uint64_t address)
{
    struct written *w = written_at(address), *newer = NULL;
    int count = 1;
    for (; w && w->older; w = w->older, count++)
        newer = w;
    if (count < KEPT)
        return arena_new(&driver.arena, struct written);
    newer->older = NULL;
    return w;
}

/* Notes a value that a stream has written. */
static void note(uint64_t address, uint64_t value, int bytes, bool barrier,
                 const struct driver_stream *s)
{
    struct written *w = room_at(address);
    bool added;
    driver_clock_copy(&w->before, &s->clock);
    w->value = value;
    w->bytes = bytes;
    w->barrier = barrier;
    w->slot = s->slot;
    w->time = driver_clock_time(&s->clock, s->slot);
    struct number_entry *newest = number_map_entry(&driver.arena, &notes, address, &added);
    w->older = added ? NULL : (struct written *)(uintptr_t)newest->value;
    newest->value = (uintptr_t)w;
}

static uint64_t read_value(const void *host, int bytes)
{
    uint32_t small;
    uint64_t value;
    memcpy(&small, host, sizeof small);
    if (bytes == (int)sizeof small)
        return small;
    memcpy(&value, host, sizeof value);
    return value;
}

static bool suits(uint64_t there, uint64_t asked, int bytes, unsigned how)
{
    uint64_t all_bits = bytes == 4 ? UINT32_MAX : UINT64_MAX;
    switch (how) {
    case WAIT_EQUAL: return there == asked;
    case WAIT_AND: return there & asked;
    case WAIT_NOR: return ~(there | asked) & all_bits;
    default: /* cyclic: the difference is not negative */
        return bytes == 4 ? (int32_t)(uint32_t)(there - asked) >= 0 : (int64_t)(there - asked) >= 0;
    }
}

/* --- operations --- */

struct operation {
    struct driver_stream *stream;
    uint64_t address, value;
    int bytes;
    unsigned flags;
};

static int write_value(void *user)
{
    const struct operation *o = user;
    struct driver_work *w = driver_work_begin(o->stream, NULL);
    void *host = driver_bytes(o->address, (size_t)o->bytes, "a stream writes a value to");
    if (host) {
        uint32_t small = (uint32_t)o->value;
        driver_work_touches(w, o->address, (uint64_t)o->bytes, DRIVER_WRITES_ATOMICALLY);
        memcpy(host, o->bytes == 4 ? (const void *)&small : &o->value, (size_t)o->bytes);
        sim_wrote(driver_machine(), o->address, (size_t)o->bytes);
    }
    driver_work_end(w);
    if (host)
        note(o->address, o->value, o->bytes, !(o->flags & WRITE_NO_BARRIER), o->stream);
    driver_clock += 1;
    return host ? DRIVER_SUCCESS : DRIVER_ILLEGAL_ADDRESS;
}

/* Returns true if another value has taken the place of this one before the stream's next work. */
static bool is_overwritten(const struct written *w, const struct written *newest,
                           const struct driver_stream *s)
{
    for (const struct written *v = newest; v != w; v = v->older)
        if (w->time <= driver_clock_time(&v->before, w->slot) &&
            v->time <= driver_clock_time(&s->clock, v->slot))
            return true;
    return false;
}

/* Orders the stream after what comes before each of the values that may have ended the wait: which of
 * them did depends on the device. */
static void follow_values(const struct operation *o)
{
    const struct written *newest = written_at(o->address);
    struct driver_clock common = {NULL, 0};
    bool first = true;
    driver_order_begin(o->stream);
    for (const struct written *w = newest; w; w = w->older) {
        bool comparable = w->bytes == o->bytes;
        if ((comparable && !suits(w->value, o->value, o->bytes, o->flags & WAIT_KINDS)) ||
            is_overwritten(w, newest, o->stream))
            continue;
        if (first)
            driver_clock_copy(&common, &w->before);
        first = false;
        for (int i = 0; i < common.count; i++) {
            uint64_t time = w->barrier ? driver_clock_time(&w->before, i) : 0;
            common.times[i] = time < common.times[i] ? time : common.times[i];
        }
    }
    driver_order_wait(o->stream, &common);
    free(common.times);
}

/* Orders the stream after the work that may have written the value. */
static void follow(const struct operation *o)
{
    follow_values(o);
    for (int i = 0; i < driver_order_slots(); i++)
        for (const struct driver_work *w = driver_work_live(i); w; w = w->next) {
            const struct driver_stream *s = driver_order_stream_at(i);
            if (!w->kernel || !driver_writes_atomically(w, o->address))
                continue;
            driver_clock_advance(&o->stream->clock, i, w->time);
            if (s && driver_clock_time(&s->clock, i) == w->time)
                driver_order_wait(o->stream, &s->clock);
        }
}

/* Reads the value. Returns DRIVER_NOT_READY if it is not the one that the stream waits for. */
static int try_value(void *user)
{
    const struct operation *o = user;
    unsigned how = o->flags & WAIT_KINDS;
    driver_guard_lift();
    const void *host = driver_bytes(o->address, (size_t)o->bytes, "a stream waits for a value of");
    bool suitable = host && suits(read_value(host, o->bytes), o->value, o->bytes, how);
    if (suitable) {
        follow(o);
        struct driver_work *w = driver_work_begin(o->stream, NULL);
        driver_work_touches(w, o->address, (uint64_t)o->bytes, DRIVER_READS_ATOMICALLY);
        driver_work_end(w);
        driver_clock += 1;
    }
    driver_guard_close();
    return suitable ? DRIVER_SUCCESS : host ? DRIVER_NOT_READY : DRIVER_ILLEGAL_ADDRESS;
}

static bool has_other_threads(void)
{
    int count = 0;
    DIR *threads = opendir("/proc/self/task");
    for (const struct dirent *d = threads ? readdir(threads) : NULL; d; d = readdir(threads))
        count += d->d_name[0] != '.';
    if (threads)
        closedir(threads);
    return count > 1;
}

static int report_wait(void *user)
{
    static const char *const names[] = {"of at least ", "of ", "with a bit of ",
                                        "that lacks a bit outside of "};
    const struct operation *o = user;
    const void *host = driver_bytes(o->address, (size_t)o->bytes, "a stream waits for a value of");
    driver_refuse("deadlock", driver_memory_at(o->address),
                  "%s waits for a value %s%llu, and the value is %llu: nothing that was enqueued "
                  "before has written it. Each operation runs when it is enqueued, so enqueue the "
                  "write before the wait",
                  driver_stream_text(&driver.arena, o->stream->number, 0),
                  names[o->flags & WAIT_KINDS], (unsigned long long)o->value,
                  host ? (unsigned long long)read_value(host, o->bytes) : 0);
    return DRIVER_SUCCESS;
}

/* Waits while other threads of the host may write the value. */
static int wait_value(struct operation *o)
{
    enum { MILLISECONDS = 10000 };
    int result = driver_guard(try_value, o);
    driver_stream_keep(o->stream);
    for (int i = 0; i < MILLISECONDS && result == DRIVER_NOT_READY && has_other_threads(); i++) {
        driver_pause();
        result = driver_guard(try_value, o);
    }
    if (result == DRIVER_NOT_READY) {
        driver_guard(report_wait, o);
        driver_fail(DRIVER_LAUNCH_TIMEOUT);
        result = DRIVER_LAUNCH_TIMEOUT;
    }
    driver_stream_leave(o->stream);
    return result;
}

/* Runs one operation. */
static int run(struct operation *o, enum kind kind)
{
    bool waits = kind == WAIT_32 || kind == WAIT_64;
    unsigned known = waits ? WAIT_KINDS : WRITE_NO_BARRIER; /* the flag to flush is not supported */
    o->bytes = kind == WAIT_64 || kind == WRITE_64 ? 8 : 4;
    if (o->bytes == 4)
        o->value = (uint32_t)o->value;
    if (o->flags & ~known || o->address % (uint64_t)o->bytes)
        return o->flags & WAIT_FLUSH ? DRIVER_NOT_SUPPORTED : DRIVER_INVALID_VALUE;
    driver_trace("stream %d, value %llu at 0x%llx", o->stream->number, (unsigned long long)o->value,
                 (unsigned long long)o->address);
    return waits ? wait_value(o) : driver_guard(write_value, o);
}

/* Finds the stream. */
static int begin(struct operation *o, void *stream)
{
    o->stream = driver_stream_of(stream);
    if (!o->stream)
        return DRIVER_INVALID_HANDLE;
    if (o->stream->capture)
        return driver_unsupported("values in captured streams are not supported; use events, or a "
                                  "kernel that writes the value");
    return driver_capture_forbids(o->stream);
}

static int run_one(void *stream, uint64_t address, uint64_t value, unsigned flags, enum kind kind)
{
    struct operation o = {.address = address, .value = value, .flags = flags};
    int result = begin(&o, stream);
    return result == DRIVER_SUCCESS ? run(&o, kind) : result;
}

/* --- calls --- */

/* Defines a call for one value. */
#define VALUE(name, bits, kind)                                                                    \
    int name(void *stream, uint64_t address, uint##bits##_t value, unsigned flags)                 \
    {                                                                                              \
        IN_CONTEXT;                                                                                \
        return run_one(stream, address, value, flags, kind);                                       \
    }
VALUE(cuStreamWaitValue32, 32, WAIT_32)
VALUE(cuStreamWaitValue32_v2, 32, WAIT_32)
VALUE(cuStreamWaitValue64, 64, WAIT_64)
VALUE(cuStreamWaitValue64_v2, 64, WAIT_64)
VALUE(cuStreamWriteValue32, 32, WRITE_32)
VALUE(cuStreamWriteValue32_v2, 32, WRITE_32)
VALUE(cuStreamWriteValue64, 64, WRITE_64)
VALUE(cuStreamWriteValue64_v2, 64, WRITE_64)

/* Runs the operations in the order of the list, which is one that the device may choose. A call of one
 * version by the other would hold the lock twice, which driver_pause does not allow. */
static int run_batch(void *stream, unsigned count, const struct driver_value_operation *list,
                     unsigned flags)
{
    enum { MOST = 256 };
    struct operation o = {.stream = NULL};
    int result = begin(&o, stream);
    if (result == DRIVER_SUCCESS && (!list || !count || count > MOST || flags))
        return DRIVER_INVALID_VALUE;
    for (unsigned i = 0; i < count && result == DRIVER_SUCCESS; i++) {
        enum kind kind = (enum kind)list[i].kind;
        o.address = list[i].address;
        o.value = list[i].value;
        o.flags = list[i].flags;
        if (kind < WAIT_32 || kind > BARRIER)
            return DRIVER_INVALID_VALUE;
        if (kind != BARRIER && kind != FLUSH) /* writes are never delayed */
            result = run(&o, kind);
    }
    return result;
}

CONTEXT_ENTRY(cuStreamBatchMemOp,
              (void *stream, unsigned count, const struct driver_value_operation *list,
               unsigned flags),
              run_batch(stream, count, list, flags))
CONTEXT_ENTRY(cuStreamBatchMemOp_v2,
              (void *stream, unsigned count, const struct driver_value_operation *list,
               unsigned flags),
              run_batch(stream, count, list, flags))
