/* Copies and fills. */
#include "driver/driver.h"

#include "driver/driver_order.h"
#include "sim/sim_own.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum side { HOST, DEVICE, EITHER };

/* One side of a copy: rows of bytes. */
struct rows {
    enum side side;
    uint64_t address;
    size_t pitch; /* from row to row */
};

static const char *const reads = "a copy reads", *const writes = "a copy writes";

static bool is_on_device(uint64_t address)
{
    const struct driver_memory *m = driver_memory_at(address);
    return (m && m->type != DRIVER_PINNED_MEMORY) || !driver_is_shared(address) ||
           sim_bytes(driver_machine(), address, 0);
}

/* Reports an address of the device that was given as the host's. */
static int wrong_side(uint64_t address, const char *what)
{
    const struct driver_memory *m = driver_memory_at(address);
    driver_refuse("wrong-direction", m,
                  arena_printf(&driver.arena, "%s %s as memory of the host, but it is the device's",
                               what, m ? m->name : "an address"));
    return DRIVER_INVALID_VALUE;
}

/* Returns true if the host has these pages. */
static bool is_mapped(uint64_t address, size_t bytes)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), from = address / page * page;
    return address && address + bytes >= address &&
           msync((void *)(uintptr_t)from, (size_t)(address + bytes - from), MS_ASYNC) == 0;
}

static int not_mapped(uint64_t address, const char *what)
{
    driver_refuse("not-host-memory", NULL,
                  arena_printf(&driver.arena, "%s 0x%llx, which the host has not mapped", what,
                               (unsigned long long)address));
    return DRIVER_INVALID_VALUE;
}

/* Finds the host address of one side. Returns an error if it is not there. */
static int find_side(const struct rows *r, size_t bytes, const char *what, unsigned char **host)
{
    const struct driver_memory *m = driver_memory_at(r->address);
    bool of_device = r->side == DEVICE || (r->side == EITHER && is_on_device(r->address));
    bool shared = m && m->type != DRIVER_DEVICE_MEMORY;
    if (r->side == HOST && !shared && is_on_device(r->address))
        return wrong_side(r->address, what);
    if (of_device || shared) {
        *host = driver_bytes(r->address, bytes, what);
        return *host ? DRIVER_SUCCESS : DRIVER_INVALID_VALUE;
    }
    *host = (unsigned char *)(uintptr_t)r->address;
    return is_mapped(r->address, bytes) ? DRIVER_SUCCESS : not_mapped(r->address, what);
}

static void note_written(uint64_t address, size_t bytes)
{
    if (bytes && sim_bytes(driver_machine(), address, bytes))
        sim_wrote(driver_machine(), address, bytes);
}

/* Returns true if the machine knows the memory; other memory is the host's alone. */
static bool is_known(uint64_t address)
{
    return sim_bytes(driver_machine(), address, 0);
}

/* Notes the rows of one side. */
static void touch_rows(struct driver_work *w, const struct rows *r, size_t width, size_t height,
                       unsigned touch)
{
    if (!is_known(r->address))
        return;
    if (r->pitch == width || height == 1) {
        driver_work_touches(w, r->address, width * height, touch);
        return;
    }
    for (size_t y = 0; y < height; y++)
        driver_work_touches(w, r->address + y * r->pitch, width, touch);
}

struct copy {
    struct rows to, from;
    size_t width, height;
    void *stream;
    bool waits; /* the call returns when the copy is done */
};

static int do_copy(void *user)
{
    enum { BYTES_A_MICROSECOND = 10000 };
    const struct copy *c = user;
    unsigned char *to, *from;
    struct driver_stream *stream = driver_stream_of(c->stream);
    if (!stream)
        return DRIVER_INVALID_HANDLE;
    if (!c->width || !c->height)
        return DRIVER_SUCCESS;
    size_t to_bytes = (c->height - 1) * c->to.pitch + c->width;
    size_t from_bytes = (c->height - 1) * c->from.pitch + c->width;
    int result = find_side(&c->from, from_bytes, reads, &from);
    if (result == DRIVER_SUCCESS)
        result = find_side(&c->to, to_bytes, writes, &to);
    if (result != DRIVER_SUCCESS)
        return result;
    driver_trace("%zu x %zu bytes, 0x%llx from 0x%llx, stream %d", c->width, c->height,
                 (unsigned long long)c->to.address, (unsigned long long)c->from.address,
                 stream->number);
    struct driver_work *w = driver_work_begin(stream, NULL);
    touch_rows(w, &c->from, c->width, c->height, DRIVER_READS);
    touch_rows(w, &c->to, c->width, c->height, DRIVER_WRITES);
    for (size_t y = 0; y < c->height; y++) {
        memmove(to + y * c->to.pitch, from + y * c->from.pitch, c->width);
        note_written(c->to.address + y * c->to.pitch, c->width);
    }
    driver_work_end(w);
    if (c->waits || !is_known(c->to.address)) /* a copy to pageable memory waits, too */
        driver_order_host(stream);
    driver_clock += 1 + (double)(c->width * c->height) / BYTES_A_MICROSECOND;
    return DRIVER_SUCCESS;
}

static int copy(enum side to_side, uint64_t to, enum side from_side, uint64_t from, size_t bytes,
                void *stream, bool waits)
{
    struct copy c = {.to = {to_side, to, bytes},
                     .from = {from_side, from, bytes},
                     .width = bytes,
                     .height = 1,
                     .stream = stream,
                     .waits = waits};
    return driver_guard(do_copy, &c);
}

int cuMemcpy(uint64_t to, uint64_t from, size_t bytes)
{
    IN_CONTEXT;
    return copy(EITHER, to, EITHER, from, bytes, NULL, true);
}

int cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, void *stream)
{
    IN_CONTEXT;
    return copy(EITHER, to, EITHER, from, bytes, stream, false);
}

int cuMemcpyPeer(uint64_t to, void *to_context, uint64_t from, void *from_context, size_t bytes)
{
    IN_CONTEXT;
    (void)to_context, (void)from_context;
    return copy(DEVICE, to, DEVICE, from, bytes, NULL, true);
}

int cuMemcpyPeerAsync(uint64_t to, void *to_context, uint64_t from, void *from_context,
                      size_t bytes, void *stream)
{
    IN_CONTEXT;
    (void)to_context, (void)from_context;
    return copy(DEVICE, to, DEVICE, from, bytes, stream, false);
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
    IN_CONTEXT;
    return copy(DEVICE, to, HOST, (uintptr_t)from, bytes, NULL, true);
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
    IN_CONTEXT;
    return copy(HOST, (uintptr_t)to, DEVICE, from, bytes, NULL, true);
}

int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes)
{
    IN_CONTEXT;
    return copy(DEVICE, to, DEVICE, from, bytes, NULL, false);
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
    IN_CONTEXT;
    return copy(DEVICE, to, HOST, (uintptr_t)from, bytes, stream, false);
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
    IN_CONTEXT;
    return copy(HOST, (uintptr_t)to, DEVICE, from, bytes, stream, false);
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream)
{
    IN_CONTEXT;
    return copy(DEVICE, to, DEVICE, from, bytes, stream, false);
}

/* --- copies of rows --- */

static bool rows_of(int kind, uint64_t host, uint64_t device, size_t x, size_t y, size_t pitch,
                    struct rows *out)
{
    static const enum side sides[] = {[DRIVER_MEMORY_HOST] = HOST,
                                      [DRIVER_MEMORY_DEVICE] = DEVICE,
                                      [DRIVER_MEMORY_UNIFIED] = EITHER};
    if (kind < DRIVER_MEMORY_HOST || kind > DRIVER_MEMORY_UNIFIED || kind == DRIVER_MEMORY_ARRAY)
        return false;
    uint64_t base = kind == DRIVER_MEMORY_HOST ? host : device;
    *out = (struct rows){sides[kind], base + y * pitch + x, pitch};
    return true;
}

static int copy_rows(const struct driver_copy_2d *p, void *stream, bool waits)
{
    if (!p)
        return DRIVER_INVALID_VALUE;
    struct copy c = {.width = p->width, .height = p->height, .stream = stream, .waits = waits};
    if (!rows_of(p->from_kind, (uintptr_t)p->from_host, p->from_device, p->from_x, p->from_y,
                 p->from_pitch, &c.from) ||
        !rows_of(p->to_kind, (uintptr_t)p->to_host, p->to_device, p->to_x, p->to_y, p->to_pitch,
                 &c.to))
        return DRIVER_NOT_SUPPORTED; /* arrays of textures */
    if (p->height > 1 && (p->from_pitch < p->width || p->to_pitch < p->width))
        return DRIVER_INVALID_VALUE;
    return driver_guard(do_copy, &c);
}

int cuMemcpy2D_v2(const struct driver_copy_2d *p)
{
    IN_CONTEXT;
    return copy_rows(p, NULL, true);
}

int cuMemcpy2DUnaligned_v2(const struct driver_copy_2d *p)
{
    IN_CONTEXT;
    return copy_rows(p, NULL, true);
}

int cuMemcpy2DAsync_v2(const struct driver_copy_2d *p, void *stream)
{
    IN_CONTEXT;
    return copy_rows(p, stream, false);
}

/* --- fills --- */

struct fill {
    uint64_t to;
    size_t pitch, width, height; /* values of a row, rows */
    unsigned value;
    int bytes; /* of a value */
    void *stream;
    bool waits; /* the call is not one of the asynchronous ones */
};

static void fill_row(unsigned char *to, const struct fill *f)
{
    if (f->bytes == 1) {
        memset(to, (int)f->value, f->width);
        return;
    }
    for (size_t i = 0; i < f->width; i++)
        memcpy(to + i * (size_t)f->bytes, &f->value, (size_t)f->bytes);
}

static int do_fill(void *user)
{
    const struct fill *f = user;
    size_t row = f->width * (size_t)f->bytes;
    struct driver_stream *stream = driver_stream_of(f->stream);
    if (!stream)
        return DRIVER_INVALID_HANDLE;
    if (f->to % (size_t)f->bytes)
        return DRIVER_INVALID_VALUE;
    if (!f->width || !f->height)
        return DRIVER_SUCCESS;
    size_t bytes = (f->height - 1) * f->pitch + row;
    unsigned char *to = driver_bytes(f->to, bytes, "a fill writes");
    if (!to)
        return DRIVER_INVALID_VALUE;
    driver_trace("%zu bytes at 0x%llx, stream %d", bytes, (unsigned long long)f->to,
                 stream->number);
    struct driver_work *w = driver_work_begin(stream, NULL);
    touch_rows(w, &(struct rows){DEVICE, f->to, f->pitch}, row, f->height, DRIVER_WRITES);
    for (size_t y = 0; y < f->height; y++) {
        fill_row(to + y * f->pitch, f);
        sim_wrote(driver_machine(), f->to + y * f->pitch, row);
    }
    driver_work_end(w);
    if (f->waits && driver_is_shared(f->to)) /* of memory of the host, it is synchronous */
        driver_order_host(stream);
    driver_clock += 1;
    return DRIVER_SUCCESS;
}

static int fill(uint64_t to, unsigned value, int bytes, size_t count, void *stream, bool waits)
{
    struct fill f = {.to = to,
                     .width = count,
                     .height = 1,
                     .value = value,
                     .bytes = bytes,
                     .stream = stream,
                     .waits = waits};
    return driver_guard(do_fill, &f);
}

int cuMemsetD8_v2(uint64_t to, unsigned char value, size_t count)
{
    IN_CONTEXT;
    return fill(to, value, 1, count, NULL, true);
}

int cuMemsetD16_v2(uint64_t to, unsigned short value, size_t count)
{
    IN_CONTEXT;
    return fill(to, value, 2, count, NULL, true);
}

int cuMemsetD32_v2(uint64_t to, unsigned value, size_t count)
{
    IN_CONTEXT;
    return fill(to, value, 4, count, NULL, true);
}

int cuMemsetD8Async(uint64_t to, unsigned char value, size_t count, void *stream)
{
    IN_CONTEXT;
    return fill(to, value, 1, count, stream, false);
}

int cuMemsetD16Async(uint64_t to, unsigned short value, size_t count, void *stream)
{
    IN_CONTEXT;
    return fill(to, value, 2, count, stream, false);
}

int cuMemsetD32Async(uint64_t to, unsigned value, size_t count, void *stream)
{
    IN_CONTEXT;
    return fill(to, value, 4, count, stream, false);
}

static int fill_rows(uint64_t to, size_t pitch, unsigned value, size_t width, size_t height,
                     void *stream, bool waits)
{
    struct fill f = {to, pitch, width, height, value, 1, stream, waits};
    return height > 1 && pitch < width ? DRIVER_INVALID_VALUE : driver_guard(do_fill, &f);
}

int cuMemsetD2D8_v2(uint64_t to, size_t pitch, unsigned char value, size_t width, size_t height)
{
    IN_CONTEXT;
    return fill_rows(to, pitch, value, width, height, NULL, true);
}

int cuMemsetD2D8Async(uint64_t to, size_t pitch, unsigned char value, size_t width, size_t height,
                      void *stream)
{
    IN_CONTEXT;
    return fill_rows(to, pitch, value, width, height, stream, false);
}
