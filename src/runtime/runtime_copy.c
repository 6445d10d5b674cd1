/* Copies and fills. */
#include "runtime/runtime.h"

#include <stdio.h>

/* The kinds of memory of the two sides, for each kind of copy. */
static const struct {
    int to, from;
} sides[] = {
    [COPY_HOST_TO_HOST] = {DRIVER_MEMORY_HOST, DRIVER_MEMORY_HOST},
    [COPY_HOST_TO_DEVICE] = {DRIVER_MEMORY_DEVICE, DRIVER_MEMORY_HOST},
    [COPY_DEVICE_TO_HOST] = {DRIVER_MEMORY_HOST, DRIVER_MEMORY_DEVICE},
    [COPY_DEVICE_TO_DEVICE] = {DRIVER_MEMORY_DEVICE, DRIVER_MEMORY_DEVICE},
    [COPY_BY_ADDRESS] = {DRIVER_MEMORY_UNIFIED, DRIVER_MEMORY_UNIFIED},
};

struct rows {
    uint64_t address;
    size_t pitch;
};

/* stream NULL and `waits`: the call returns when the copy is done. */
static int copy(struct rows to, struct rows from, size_t width, size_t height, int kind, bool waits,
                void *stream)
{
    if (kind < COPY_HOST_TO_HOST || kind > COPY_BY_ADDRESS)
        return runtime_done(DRIVER_INVALID_DIRECTION);
    struct driver_copy_2d c = {.from_kind = sides[kind].from,
                               .from_host = (const void *)(uintptr_t)from.address,
                               .from_device = from.address,
                               .from_pitch = from.pitch,
                               .to_kind = sides[kind].to,
                               .to_host = (void *)(uintptr_t)to.address,
                               .to_device = to.address,
                               .to_pitch = to.pitch,
                               .width = width,
                               .height = height};
    return runtime_done(waits ? cuMemcpy2DUnaligned_v2(&c) : cuMemcpy2DAsync_v2(&c, stream));
}

static int copy_bytes(uint64_t to, uint64_t from, size_t bytes, int kind, bool waits, void *stream)
{
    return copy((struct rows){to, bytes}, (struct rows){from, bytes}, bytes, 1, kind, waits,
                stream);
}

int cudaMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    ENTER;
    return copy_bytes((uintptr_t)to, (uintptr_t)from, bytes, kind, true, NULL);
}

int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream)
{
    ENTER;
    return copy_bytes((uintptr_t)to, (uintptr_t)from, bytes, kind, false, stream);
}

int cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    ENTER;
    if (to_device || from_device)
        return runtime_done(DRIVER_INVALID_DEVICE);
    return copy_bytes((uintptr_t)to, (uintptr_t)from, bytes, COPY_DEVICE_TO_DEVICE, true, NULL);
}

int cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                        void *stream)
{
    ENTER;
    if (to_device || from_device)
        return runtime_done(DRIVER_INVALID_DEVICE);
    return copy_bytes((uintptr_t)to, (uintptr_t)from, bytes, COPY_DEVICE_TO_DEVICE, false, stream);
}

int cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                 size_t height, int kind)
{
    ENTER;
    return copy((struct rows){(uintptr_t)to, to_pitch}, (struct rows){(uintptr_t)from, from_pitch},
                width, height, kind, true, NULL);
}

int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                      size_t height, int kind, void *stream)
{
    ENTER;
    return copy((struct rows){(uintptr_t)to, to_pitch}, (struct rows){(uintptr_t)from, from_pitch},
                width, height, kind, false, stream);
}

/* --- planes --- */

int runtime_copy_of(const struct runtime_copy_3d *p, struct driver_copy_3d *out)
{
    if (!p || p->kind < COPY_HOST_TO_HOST || p->kind > COPY_BY_ADDRESS)
        return p ? DRIVER_INVALID_DIRECTION : DRIVER_INVALID_VALUE;
    *out = (struct driver_copy_3d){.from_x = p->from_at[0],
                                   .from_y = p->from_at[1],
                                   .from_z = p->from_at[2],
                                   .from_kind = sides[p->kind].from,
                                   .from_host = p->from.address,
                                   .from_device = (uintptr_t)p->from.address,
                                   .from_pitch = p->from.pitch,
                                   .from_height = p->from.height,
                                   .to_x = p->to_at[0],
                                   .to_y = p->to_at[1],
                                   .to_z = p->to_at[2],
                                   .to_kind = sides[p->kind].to,
                                   .to_host = p->to.address,
                                   .to_device = (uintptr_t)p->to.address,
                                   .to_pitch = p->to.pitch,
                                   .to_height = p->to.height,
                                   .width = p->extent[0],
                                   .height = p->extent[1],
                                   .depth = p->extent[2]};
    if (p->from_array)
        out->from_kind = DRIVER_MEMORY_ARRAY;
    if (p->to_array)
        out->to_kind = DRIVER_MEMORY_ARRAY;
    return DRIVER_SUCCESS;
}

int cudaMemcpy3D(const struct runtime_copy_3d *parameters)
{
    ENTER;
    struct driver_copy_3d c;
    int result = runtime_copy_of(parameters, &c);
    return runtime_done(result == DRIVER_SUCCESS ? cuMemcpy3D_v2(&c) : result);
}

/* Reads a copy between devices, of which there is one. */
static int peer_copy_of(const struct runtime_copy_3d_peer *p, struct driver_copy_3d *out)
{
    if (!p)
        return DRIVER_INVALID_VALUE;
    if (p->from_device || p->to_device)
        return DRIVER_INVALID_DEVICE;
    struct runtime_copy_3d c = {.from_array = p->from_array,
                                .from = p->from,
                                .to_array = p->to_array,
                                .to = p->to,
                                .kind = COPY_DEVICE_TO_DEVICE};
    for (int i = 0; i < 3; i++) {
        c.from_at[i] = p->from_at[i];
        c.to_at[i] = p->to_at[i];
        c.extent[i] = p->extent[i];
    }
    return runtime_copy_of(&c, out);
}

int cudaMemcpy3DPeer(const struct runtime_copy_3d_peer *parameters)
{
    ENTER;
    struct driver_copy_3d c;
    int result = peer_copy_of(parameters, &c);
    return runtime_done(result == DRIVER_SUCCESS ? cuMemcpy3DPeer(&c) : result);
}

int cudaMemcpy3DPeerAsync(const struct runtime_copy_3d_peer *parameters, void *stream)
{
    ENTER;
    struct driver_copy_3d c;
    int result = peer_copy_of(parameters, &c);
    return runtime_done(result == DRIVER_SUCCESS ? cuMemcpy3DPeerAsync(&c, stream) : result);
}

int cudaMemcpy3DAsync(const struct runtime_copy_3d *parameters, void *stream)
{
    ENTER;
    struct driver_copy_3d c;
    int result = runtime_copy_of(parameters, &c);
    return runtime_done(result == DRIVER_SUCCESS ? cuMemcpy3DAsync_v2(&c, stream) : result);
}

/* --- variables --- */

/* Finds bytes of a variable, which a copy `does` something to. */
static int part_of(const void *symbol, size_t bytes, size_t offset, const char *does,
                   uint64_t *address)
{
    size_t size = 0;
    char message[400];
    int result = runtime_variable_of(symbol, address, &size);
    if (result != DRIVER_SUCCESS)
        return result;
    *address += offset;
    if (offset <= size && bytes <= size - offset)
        return DRIVER_SUCCESS;
    snprintf(message, sizeof message, "a copy %s bytes %zu to %zu of `%s`, which has %zu bytes",
             does, offset, offset + bytes - 1, runtime_variable_name(symbol), size);
    runtime_fault("outside-copy", message);
    return DRIVER_INVALID_VALUE;
}

static int copy_to(const void *symbol, const void *from, size_t bytes, size_t offset, int kind,
                   bool waits, void *stream)
{
    uint64_t to;
    int result = part_of(symbol, bytes, offset, "writes", &to);
    if (result != DRIVER_SUCCESS)
        return runtime_done(result);
    return copy_bytes(to, (uintptr_t)from, bytes, kind, waits, stream);
}

static int copy_from(void *to, const void *symbol, size_t bytes, size_t offset, int kind,
                     bool waits, void *stream)
{
    uint64_t from;
    int result = part_of(symbol, bytes, offset, "reads", &from);
    if (result != DRIVER_SUCCESS)
        return runtime_done(result);
    return copy_bytes((uintptr_t)to, from, bytes, kind, waits, stream);
}

int cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, int kind)
{
    ENTER;
    return copy_to(symbol, from, bytes, offset, kind, true, NULL);
}

int cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset,
                            int kind, void *stream)
{
    ENTER;
    return copy_to(symbol, from, bytes, offset, kind, false, stream);
}

int cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, int kind)
{
    ENTER;
    return copy_from(to, symbol, bytes, offset, kind, true, NULL);
}

int cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset, int kind,
                              void *stream)
{
    ENTER;
    return copy_from(to, symbol, bytes, offset, kind, false, stream);
}

int cudaGetSymbolAddress(void **address, const void *symbol)
{
    ENTER;
    uint64_t found;
    if (!address)
        return runtime_done(DRIVER_INVALID_VALUE);
    int result = runtime_variable_of(symbol, &found, NULL);
    if (result == DRIVER_SUCCESS)
        *address = (void *)(uintptr_t)found;
    return runtime_done(result);
}

int cudaGetSymbolSize(size_t *bytes, const void *symbol)
{
    ENTER;
    uint64_t found;
    if (!bytes)
        return runtime_done(DRIVER_INVALID_VALUE);
    return runtime_done(runtime_variable_of(symbol, &found, bytes));
}

/* --- fills --- */

ENTRY(cudaMemset, (void *to, int value, size_t bytes),
      cuMemsetD8_v2((uintptr_t)to, (unsigned char)value, bytes))
ENTRY(cudaMemsetAsync, (void *to, int value, size_t bytes, void *stream),
      cuMemsetD8Async((uintptr_t)to, (unsigned char)value, bytes, stream))
ENTRY(cudaMemset2D, (void *to, size_t pitch, int value, size_t width, size_t height),
      cuMemsetD2D8_v2((uintptr_t)to, pitch, (unsigned char)value, width, height))
ENTRY(cudaMemset2DAsync,
      (void *to, size_t pitch, int value, size_t width, size_t height, void *stream),
      cuMemsetD2D8Async((uintptr_t)to, pitch, (unsigned char)value, width, height, stream))

/* Fills planes. A fill of the driver, and a node of a graph, has rows but no planes, so the box is one
 * piece if its planes follow each other, or if those are one row each. Otherwise each plane is one. */
static int fill_planes(struct runtime_pitched to, int value, struct runtime_extent extent,
                       bool waits, void *stream)
{
    size_t width = extent.size[0], height = extent.size[1], depth = extent.size[2];
    size_t plane, pitch = to.pitch, all;
    bool apart = !__builtin_mul_overflow(pitch, to.height, &plane);
    int result = DRIVER_SUCCESS;
    if (!width || !height)
        depth = 1; /* nothing is filled, but the stream is checked */
    if (depth > 1 && (!apart || to.height < height || width > pitch))
        return DRIVER_INVALID_VALUE;
    if (__builtin_mul_overflow(width > pitch ? width : pitch, height, &all) ||
        __builtin_mul_overflow(all, depth, &all))
        return DRIVER_INVALID_VALUE; /* more bytes than there are addresses */
    if (height == to.height) {
        height *= depth;
        depth = 1;
    } else if (depth > 1 && (height == 1 || width == pitch)) {
        width *= height;
        pitch = plane;
        height = depth;
        depth = 1;
    }
    for (size_t z = 0; z < depth && result == DRIVER_SUCCESS; z++) {
        uint64_t at = (uintptr_t)to.address + z * plane;
        unsigned char byte = (unsigned char)value;
        result = waits ? cuMemsetD2D8_v2(at, pitch, byte, width, height)
                       : cuMemsetD2D8Async(at, pitch, byte, width, height, stream);
    }
    return result;
}

ENTRY(cudaMemset3D, (struct runtime_pitched to, int value, struct runtime_extent extent),
      fill_planes(to, value, extent, true, NULL))
ENTRY(cudaMemset3DAsync,
      (struct runtime_pitched to, int value, struct runtime_extent extent, void *stream),
      fill_planes(to, value, extent, false, stream))
