/* The calls that copy and fill. */
#include "driver/driver_task.h"

static int copy(enum driver_side to_side, uint64_t to, enum driver_side from_side, uint64_t from,
                size_t bytes, void *stream, bool waits)
{
    struct driver_task t = {.kind = TASK_COPY,
                            .copy = {.to = {to_side, to, bytes, bytes},
                                     .from = {from_side, from, bytes, bytes},
                                     .width = bytes,
                                     .height = 1,
                                     .depth = 1,
                                     .waits = waits}};
    return driver_enqueue(stream, &t);
}

CONTEXT_ENTRY(cuMemcpy, (uint64_t to, uint64_t from, size_t bytes),
              copy(DRIVER_EITHER_SIDE, to, DRIVER_EITHER_SIDE, from, bytes, NULL, true))
CONTEXT_ENTRY(cuMemcpyAsync, (uint64_t to, uint64_t from, size_t bytes, void *stream),
              copy(DRIVER_EITHER_SIDE, to, DRIVER_EITHER_SIDE, from, bytes, stream, false))

int cuMemcpyPeer(uint64_t to, void *to_context, uint64_t from, void *from_context, size_t bytes)
{
    IN_CONTEXT;
    (void)to_context, (void)from_context;
    return copy(DRIVER_DEVICE_SIDE, to, DRIVER_DEVICE_SIDE, from, bytes, NULL, true);
}

int cuMemcpyPeerAsync(uint64_t to, void *to_context, uint64_t from, void *from_context,
                      size_t bytes, void *stream)
{
    IN_CONTEXT;
    (void)to_context, (void)from_context;
    return copy(DRIVER_DEVICE_SIDE, to, DRIVER_DEVICE_SIDE, from, bytes, stream, false);
}

CONTEXT_ENTRY(cuMemcpyHtoD_v2, (uint64_t to, const void *from, size_t bytes),
              copy(DRIVER_DEVICE_SIDE, to, DRIVER_HOST_SIDE, (uintptr_t)from, bytes, NULL, true))
CONTEXT_ENTRY(cuMemcpyDtoH_v2, (void *to, uint64_t from, size_t bytes),
              copy(DRIVER_HOST_SIDE, (uintptr_t)to, DRIVER_DEVICE_SIDE, from, bytes, NULL, true))
CONTEXT_ENTRY(cuMemcpyDtoD_v2, (uint64_t to, uint64_t from, size_t bytes),
              copy(DRIVER_DEVICE_SIDE, to, DRIVER_DEVICE_SIDE, from, bytes, NULL, false))
CONTEXT_ENTRY(cuMemcpyHtoDAsync_v2, (uint64_t to, const void *from, size_t bytes, void *stream),
              copy(DRIVER_DEVICE_SIDE, to, DRIVER_HOST_SIDE, (uintptr_t)from, bytes, stream, false))
CONTEXT_ENTRY(cuMemcpyDtoHAsync_v2, (void *to, uint64_t from, size_t bytes, void *stream),
              copy(DRIVER_HOST_SIDE, (uintptr_t)to, DRIVER_DEVICE_SIDE, from, bytes, stream, false))
CONTEXT_ENTRY(cuMemcpyDtoDAsync_v2, (uint64_t to, uint64_t from, size_t bytes, void *stream),
              copy(DRIVER_DEVICE_SIDE, to, DRIVER_DEVICE_SIDE, from, bytes, stream, false))

static int copy_rows(const struct driver_copy_2d *p, void *stream, bool waits)
{
    if (!p)
        return DRIVER_INVALID_VALUE;
    const struct driver_copy_end to = {
        p->to_kind, (uintptr_t)p->to_host, p->to_device, p->to_x, p->to_y, 0, p->to_pitch, 0};
    const struct driver_copy_end from = {p->from_kind,   (uintptr_t)p->from_host,
                                         p->from_device, p->from_x,
                                         p->from_y,      0,
                                         p->from_pitch,  0};
    struct driver_task t = {
        .kind = TASK_COPY,
        .copy = {.width = p->width, .height = p->height, .depth = 1, .waits = waits}};
    int result = driver_copy_between(&to, &from, &t.copy);
    return result == DRIVER_SUCCESS ? driver_enqueue(stream, &t) : result;
}

static int copy_planes(const struct driver_copy_3d *p, void *stream, bool waits)
{
    struct driver_task t = {.kind = TASK_COPY};
    int result = p ? driver_copy_of(p, &t.copy) : DRIVER_INVALID_VALUE;
    t.copy.waits = waits;
    return result == DRIVER_SUCCESS ? driver_enqueue(stream, &t) : result;
}

CONTEXT_ENTRY(cuMemcpy3D_v2, (const struct driver_copy_3d *p), copy_planes(p, NULL, true))
CONTEXT_ENTRY(cuMemcpy3DAsync_v2, (const struct driver_copy_3d *p, void *stream),
              copy_planes(p, stream, false))

/* Between contexts of the one device; their fields are the reserved ones of the copies above. */
CONTEXT_ENTRY(cuMemcpy3DPeer, (const struct driver_copy_3d *p), copy_planes(p, NULL, true))
CONTEXT_ENTRY(cuMemcpy3DPeerAsync, (const struct driver_copy_3d *p, void *stream),
              copy_planes(p, stream, false))
CONTEXT_ENTRY(cuMemcpy2D_v2, (const struct driver_copy_2d *p), copy_rows(p, NULL, true))
CONTEXT_ENTRY(cuMemcpy2DUnaligned_v2, (const struct driver_copy_2d *p), copy_rows(p, NULL, true))
CONTEXT_ENTRY(cuMemcpy2DAsync_v2, (const struct driver_copy_2d *p, void *stream),
              copy_rows(p, stream, false))

static int fill_rows(uint64_t to, size_t pitch, unsigned value, int bytes, size_t width,
                     size_t height, void *stream, bool waits)
{
    struct driver_task t = {.kind = TASK_FILL,
                            .fill = {to, pitch, width, height, value, bytes, waits}};
    return height > 1 && pitch / (size_t)bytes < width ? DRIVER_INVALID_VALUE
                                                       : driver_enqueue(stream, &t);
}

static int fill(uint64_t to, unsigned value, int bytes, size_t count, void *stream, bool waits)
{
    return fill_rows(to, 0, value, bytes, count, 1, stream, waits);
}

/* Defines the calls that fill elements of a number of bits: one row or several, at once or in a stream. */
#define FILLS(bits, type)                                                                          \
    int cuMemsetD##bits##_v2(uint64_t to, type value, size_t count)                                \
    {                                                                                              \
        IN_CONTEXT;                                                                                \
        return fill(to, value, (bits) / 8, count, NULL, true);                                     \
    }                                                                                              \
    int cuMemsetD##bits##Async(uint64_t to, type value, size_t count, void *stream)                \
    {                                                                                              \
        IN_CONTEXT;                                                                                \
        return fill(to, value, (bits) / 8, count, stream, false);                                  \
    }                                                                                              \
    int cuMemsetD2D##bits##_v2(uint64_t to, size_t pitch, type value, size_t width, size_t height) \
    {                                                                                              \
        IN_CONTEXT;                                                                                \
        return fill_rows(to, pitch, value, (bits) / 8, width, height, NULL, true);                 \
    }                                                                                              \
    int cuMemsetD2D##bits##Async(uint64_t to, size_t pitch, type value, size_t width,              \
                                 size_t height, void *stream)                                      \
    {                                                                                              \
        IN_CONTEXT;                                                                                \
        return fill_rows(to, pitch, value, (bits) / 8, width, height, stream, false);              \
    }
FILLS(8, unsigned char)
FILLS(16, unsigned short)
FILLS(32, unsigned)
