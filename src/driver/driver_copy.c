/* Copies and fills. */
#include "driver/driver.h"

#include "driver/driver_task.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const reads = "a copy reads", *const writes = "a copy writes";

/* Returns true if the machine knows the memory; other memory is the host's alone. */
static bool is_known(uint64_t address)
{
    return sim_bytes(driver_machine(), address, 0);
}

static bool is_on_device(uint64_t address)
{
    const struct driver_memory *m = driver_memory_at(address);
    return (m && m->type != DRIVER_PINNED_MEMORY) || !driver_is_shared(address) ||
           is_known(address);
}

/* Reports an address of the device that was given as the host's. */
static int wrong_side(uint64_t address, const char *what)
{
    const struct driver_memory *m = driver_memory_at(address);
    driver_refuse("wrong-direction", m, "%s %s as memory of the host, but it is the device's", what,
                  m ? m->name : "an address");
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
    driver_refuse("not-host-memory", NULL, "%s 0x%llx, which the host has not mapped", what,
                  (unsigned long long)address);
    return DRIVER_INVALID_VALUE;
}

/* Finds the host address of one side. Returns an error if it is not there. */
static int find_side(const struct driver_rows *r, size_t bytes, const char *what,
                     unsigned char **host)
{
    const struct driver_memory *m = driver_memory_at(r->address);
    bool of_device = r->side == DRIVER_DEVICE_SIDE ||
                     (r->side == DRIVER_EITHER_SIDE && is_on_device(r->address));
    bool shared = m && m->type != DRIVER_DEVICE_MEMORY;
    if (r->side == DRIVER_HOST_SIDE && !shared && is_on_device(r->address))
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

/* Notes the rows of one side. */
static void touch_rows(struct driver_work *w, const struct driver_rows *r,
                       const struct driver_copy *c, unsigned touch)
{
    bool whole = r->pitch == c->width || c->height == 1;
    if (!is_known(r->address))
        return;
    for (size_t z = 0; z < c->depth; z++)
        for (size_t y = 0; y < (whole ? 1 : c->height); y++)
            driver_work_touches(w, r->address + z * r->plane + y * r->pitch,
                                whole ? c->width * c->height : c->width, touch);
}

/* Returns a product or a sum; SIZE_MAX, which no memory has, if it is too large. */
static size_t times(size_t a, size_t b)
{
    size_t product;
    return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

static size_t plus(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

/* Returns the bytes from the first to the last one of a side. */
static size_t bytes_of(const struct driver_rows *r, const struct driver_copy *c)
{
    size_t planes = times(c->depth - 1, r->plane), rows = times(c->height - 1, r->pitch);
    return plus(plus(planes, rows), c->width);
}

static void move(const struct driver_copy *c, unsigned char *to, const unsigned char *from)
{
    for (size_t z = 0; z < c->depth; z++)
        for (size_t y = 0; y < c->height; y++) {
            size_t at = z * c->to.plane + y * c->to.pitch;
            memmove(to + at, from + z * c->from.plane + y * c->from.pitch, c->width);
            note_written(c->to.address + at, c->width);
        }
}

/* Returns the side by the address of the device if it is registered memory of the host. */
static struct driver_rows as_registered(struct driver_rows r)
{
    const struct driver_memory *m = r.side == DRIVER_DEVICE_SIDE
                                        ? NULL
                                        : driver_registered_at((const void *)(uintptr_t)r.address);
    if (m)
        r.address = m->address + (r.address - (uintptr_t)m->host);
    return r;
}

int driver_copy_run(const struct driver_copy *asked, struct driver_stream *s)
{
    enum { BYTES_A_MICROSECOND = 10000 };
    unsigned char *to, *from;
    struct driver_copy copied = *asked;
    const struct driver_copy *c = &copied;
    copied.to = as_registered(asked->to);
    copied.from = as_registered(asked->from);
    if (!c->width || !c->height || !c->depth)
        return DRIVER_SUCCESS;
    int result = find_side(&c->from, bytes_of(&c->from, c), reads, &from);
    if (result == DRIVER_SUCCESS)
        result = find_side(&c->to, bytes_of(&c->to, c), writes, &to);
    if (result != DRIVER_SUCCESS)
        return result;
    size_t rows = c->height * c->depth;
    driver_trace("%zu x %zu bytes, 0x%llx from 0x%llx, stream %d", c->width, rows,
                 (unsigned long long)c->to.address, (unsigned long long)c->from.address, s->number);
    struct driver_work *w = driver_work_begin(s, NULL);
    touch_rows(w, &c->from, c, DRIVER_READS);
    touch_rows(w, &c->to, c, DRIVER_WRITES);
    move(c, to, from);
    driver_work_end(w);
    /* a copy to pageable memory waits, too, unless it is in a graph */
    if (c->waits || (!is_known(c->to.address) && !s->node))
        driver_order_host(s);
    driver_clock += 1 + (double)(c->width * rows) / BYTES_A_MICROSECOND;
    return DRIVER_SUCCESS;
}

/* --- copies of rows --- */

static bool rows_of(const struct driver_copy_end *d, struct driver_rows *out)
{
    static const enum driver_side sides[] = {[DRIVER_MEMORY_HOST] = DRIVER_HOST_SIDE,
                                             [DRIVER_MEMORY_DEVICE] = DRIVER_DEVICE_SIDE,
                                             [DRIVER_MEMORY_UNIFIED] = DRIVER_EITHER_SIDE};
    if (d->kind < DRIVER_MEMORY_HOST || d->kind > DRIVER_MEMORY_UNIFIED ||
        d->kind == DRIVER_MEMORY_ARRAY)
        return false;
    uint64_t base = d->kind == DRIVER_MEMORY_HOST ? d->host : d->device;
    size_t plane = times(d->pitch, d->height);
    *out = (struct driver_rows){sides[d->kind], base + d->z * plane + d->y * d->pitch + d->x,
                                d->pitch, plane};
    return true;
}

int driver_copy_between(const struct driver_copy_end *to, const struct driver_copy_end *from,
                        struct driver_copy *out)
{
    if (!rows_of(from, &out->from) || !rows_of(to, &out->to))
        return driver_unsupported(
            "a copy of an array of textures is not supported; use memory of cudaMalloc");
    bool narrow = from->pitch < out->width || to->pitch < out->width;
    bool low = from->height < out->height || to->height < out->height;
    bool several = out->height > 1 || out->depth > 1;
    return (several && narrow) || (out->depth > 1 && low) ? DRIVER_INVALID_VALUE : DRIVER_SUCCESS;
}

int driver_copy_of(const struct driver_copy_3d *p, struct driver_copy *out)
{
    const struct driver_copy_end to = {
        p->to_kind, (uintptr_t)p->to_host, p->to_device, p->to_x, p->to_y,
        p->to_z,    p->to_pitch,           p->to_height};
    const struct driver_copy_end from = {
        p->from_kind, (uintptr_t)p->from_host, p->from_device, p->from_x, p->from_y,
        p->from_z,    p->from_pitch,           p->from_height};
    *out = (struct driver_copy){.width = p->width, .height = p->height, .depth = p->depth};
    return driver_copy_between(&to, &from, out);
}

/* --- fills --- */

static void fill_row(unsigned char *to, const struct driver_fill *f)
{
    if (f->bytes == 1) {
        memset(to, (int)f->value, f->width);
        return;
    }
    for (size_t i = 0; i < f->width; i++)
        memcpy(to + i * (size_t)f->bytes, &f->value, (size_t)f->bytes);
}

int driver_fill_run(const struct driver_fill *f, struct driver_stream *s)
{
    size_t row = times(f->width, (size_t)f->bytes);
    if (f->to % (size_t)f->bytes)
        return DRIVER_INVALID_VALUE;
    if (!f->width || !f->height)
        return DRIVER_SUCCESS;
    size_t bytes = plus(times(f->height - 1, f->pitch), row);
    unsigned char *to = driver_bytes(f->to, bytes, "a fill writes");
    if (!to)
        return DRIVER_INVALID_VALUE;
    driver_trace("%zu bytes at 0x%llx, stream %d", bytes, (unsigned long long)f->to, s->number);
    struct driver_work *w = driver_work_begin(s, NULL);
    const struct driver_copy shape = {.width = row, .height = f->height, .depth = 1};
    touch_rows(w, &(struct driver_rows){DRIVER_DEVICE_SIDE, f->to, f->pitch, 0}, &shape,
               DRIVER_WRITES);
    for (size_t y = 0; y < f->height; y++) {
        fill_row(to + y * f->pitch, f);
        sim_wrote(driver_machine(), f->to + y * f->pitch, row);
    }
    driver_work_end(w);
    if (f->waits && driver_is_shared(f->to)) /* of memory of the host, it is synchronous */
        driver_order_host(s);
    driver_clock += 1;
    return DRIVER_SUCCESS;
}
