/* NVIDIA GPUs through the driver library, which is loaded at run time: neither building nor
 * starting needs CUDA.
 *
 *   cuda_driver.c  the library and its functions
 *   cuda_error.c   its errors, in words
 *   cuda.c         a device in its primary context
 *   cuda_module.c  loaded programs and the resources they take of a multiprocessor
 *   cuda_assemble.c  PTX to machine code; cuda_cache.c stores that on disk
 *   cuda_memory.c  memory, streams and events; one workspace per stream
 *   cuda_launch.c  launches
 *   cuda_map.c     tensor maps
 *
 * One struct cuda is one device of one process, in its primary context, so it shares memory and
 * streams with everything else in the process that uses the device. If a thread has no current
 * context, a call makes that one current, as the CUDA runtime does; if another one is current, it
 * is current again after each call. One thread at a time may use it. Calls that can fail return
 * false (or NULL) and a sentence with the reason; an empty one means that the allocator had no
 * memory.
 *
 * A stream is a CUstream (or a cudaStream_t, which is the same); NULL is the default stream. */
#ifndef TW_CUDA_H
#define TW_CUDA_H

#include "base/tensor_map.h"
#include "cuda/cuda_cache.h"

#include <stddef.h>
#include <stdint.h>

enum { CUDA_WHY = 1024 }; /* bytes of a message */

struct cuda_device {
    char name[96];
    int ordinal;
    int capability; /* 90: compute capability 9.0 */
    int multiprocessors;
    int shared_bytes; /* most shared memory of one block, with the opt-in */
    int l2_bytes;
    size_t memory;
    int driver; /* 13000: CUDA 13.0 */
};

struct cuda;
struct cuda_module;

/* Describes device `ordinal` without making a context on it. */
bool cuda_look(int ordinal, struct cuda_device *out, char why[CUDA_WHY]);

struct cuda *cuda_open(const struct allocator *allocator, int ordinal, char why[CUDA_WHY]);
/* Frees memory, streams and events that were not freed. NULL is allowed. */
void cuda_close(struct cuda *c);
const struct cuda_device *cuda_describe(const struct cuda *c);

/* The kind of the latest failure. */
enum cuda_failure {
    CUDA_MISUSED, /* wrong arguments, found without asking the driver */
    CUDA_REFUSED, /* the driver did */
    CUDA_NO_ROOM, /* the GPU has no more memory */
    CUDA_LOST     /* a kernel failed: in this process only freeing works from now on */
};
enum cuda_failure cuda_failure(const struct cuda *c);
/* Returns false, with the reason, if an earlier call lost the context. Does not call the driver. */
bool cuda_usable(struct cuda *c, char why[CUDA_WHY]);

/* --- programs --- */

/* Assembles PTX (or loads a cubin) and finds its kernel, which can then be launched during a
 * capture. Returns NULL on failure; `why` has the assembler's log. */
struct cuda_module *cuda_load(struct cuda *c, const char *image, const char *kernel,
                              char why[CUDA_WHY]);
/* PTX, and the cache for its machine code. */
struct cuda_text {
    const char *ptx; /* ends with '\0' */
    size_t length;
    const char *compiler;     /* version of the compiler that made it: part of the cache's key */
    struct cuda_cache *cache; /* may be off */
    struct arena *scratch;    /* memory for the time of the call */
};
/* Does the same as cuda_load, but takes machine code from the cache if it is there, and stores
 * what it assembles. */
struct cuda_module *cuda_load_text(struct cuda *c, const struct cuda_text *t, const char *kernel,
                                   char why[CUDA_WHY]);
/* Assembles without loading: a later load finds the result in the cache. */
bool cuda_assemble(struct cuda *c, const struct cuda_text *t, const char *kernel,
                   char why[CUDA_WHY]);
void cuda_unload(struct cuda *c, struct cuda_module *m);
/* Call it before a launch with `bytes` bytes of dynamic shared memory. */
bool cuda_allow_shared(struct cuda *c, struct cuda_module *m, int64_t bytes, char why[CUDA_WHY]);

struct cuda_occupancy {
    int registers, local_bytes; /* of a thread */
    int shared_bytes;           /* of a block, without dynamic shared memory */
    int blocks;                 /* resident blocks of a multiprocessor */
};
bool cuda_occupancy(struct cuda *c, struct cuda_module *m, int threads, int64_t shared_bytes,
                    struct cuda_occupancy *out, char why[CUDA_WHY]);

/* Returns the clusters of that number of blocks, up to GPU_CLUSTER, that the GPU runs at the same
 * time with one block on a multiprocessor. Asks the driver once for each number; 0: the driver or the
 * GPU is too old for clusters, or the driver refused. */
int cuda_clusters(struct cuda *c, int blocks);

/* --- memory --- */

/* Allocates memory; zero bytes have an address too. cuda_free returns false for an address that
 * cuda_allocate did not return. */
bool cuda_allocate(struct cuda *c, size_t bytes, uint64_t *address, char why[CUDA_WHY]);
bool cuda_free(struct cuda *c, uint64_t address, char why[CUDA_WHY]);
/* Copies in the stream's order and waits until it is done. */
bool cuda_copy_in(struct cuda *c, uint64_t to, const void *from, size_t bytes, void *stream,
                  char why[CUDA_WHY]);
bool cuda_copy_out(struct cuda *c, void *to, uint64_t from, size_t bytes, void *stream,
                   char why[CUDA_WHY]);
/* Fills in the stream's order, without waiting. */
bool cuda_fill(struct cuda *c, uint64_t to, int byte, size_t bytes, void *stream,
               char why[CUDA_WHY]);

/* Takes memory of cuda_allocate, at least `bytes` bytes, out of c's ownership. The memory and
 * the device's context stay until cuda_given_free, which any thread may call, also after
 * cuda_close. Returns NULL on failure, with the reason. */
struct cuda_given;
struct cuda_given *cuda_give_away(struct cuda *c, uint64_t address, size_t bytes,
                                  char why[CUDA_WHY]);
void cuda_given_free(const struct allocator *allocator, struct cuda_given *g);

/* Gives at least `bytes` bytes, aligned to 256, that the launches of this stream share. The
 * workspace grows by a new allocation, which is not allowed during a capture; earlier memory
 * stays until the stream is freed, because a graph may use it. `clean`: another piece, which is
 * zeroed when it is allocated; launches leave it zero. */
bool cuda_workspace(struct cuda *c, void *stream, size_t bytes, bool clean, uint64_t *address,
                    char why[CUDA_WHY]);

/* Returns true if the address is a `clean` piece that was not freed. */
bool cuda_keeps_clean(const struct cuda *c, uint64_t address);

/* --- streams, events --- */

bool cuda_stream_new(struct cuda *c, void **stream, char why[CUDA_WHY]);
bool cuda_stream_free(struct cuda *c, void *stream, char why[CUDA_WHY]);
/* Waits until all work is done; reports a fault of a kernel. */
bool cuda_stream_wait(struct cuda *c, void *stream, char why[CUDA_WHY]);
bool cuda_stream_capturing(struct cuda *c, void *stream, bool *capturing, char why[CUDA_WHY]);

bool cuda_event_new(struct cuda *c, void **event, char why[CUDA_WHY]);
bool cuda_event_free(struct cuda *c, void *event, char why[CUDA_WHY]);
bool cuda_event_record(struct cuda *c, void *event, void *stream, char why[CUDA_WHY]);
/* Waits for `to`. */
bool cuda_event_elapsed(struct cuda *c, void *from, void *to, double *milliseconds,
                        char why[CUDA_WHY]);

/* --- tensor maps --- */

/* The driver's encoder of maps, for any thread; NULL: the driver is too old for them. */
struct cuda_encoder {
    int (*tensor_map)(void *code, int type, unsigned rank, uint64_t address,
                      const uint64_t *extents, const uint64_t *strides, const unsigned *box,
                      const unsigned *steps, int interleave, int swizzle, int promotion, int fill);
};
struct cuda_encoder cuda_encoder(const struct cuda *c);
/* Encodes a map, without interleaving; elements beyond the edge are read as zero, and L2 reads 256
 * bytes at a time. Returns false if tensor_map_check or the driver refuses it with *result. */
bool cuda_encode_map(const struct cuda_encoder *e, const struct tensor_map *map, int *result,
                     uint64_t code[MAP_WORDS]);
/* Writes why cuda_encode_map returned false. */
void cuda_say_map(struct cuda *c, const struct tensor_map *map, int result, char why[CUDA_WHY]);

/* --- launches --- */

struct cuda_launch {
    int64_t grid[3]; /* 0 along an axis: nothing is started; otherwise within grid_limits */
    int block[3];
    int64_t shared_bytes; /* dynamic; cuda_allow_shared was asked */
    void **arguments;     /* Ignored if the driver is too old for it, except for clusters: */
    bool cooperative;     /* all blocks resident at the same time; refused if the device cannot
                           * hold them */
    /* Ignored if the driver is too old, except for clusters: */
    int cluster[3]; /* blocks; 0 counts as 1 */
    int priority;   /* as for streams: a smaller number goes first */
    bool overlap;   /* need not wait for earlier work in the stream, or the kernel does so itself */
};
struct cuda_launch_config;
/* A prepared launch, for any thread: only grid, stream and arguments are missing. It takes one
 * call of the driver. */
struct cuda_quick {
    int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                  unsigned bz, unsigned shared, void *stream, void **params, void **extra);
    int (*launch_with)(const struct cuda_launch_config *config, void *function, void **params,
                       void **extra); /* NULL: the driver has no clusters */
    void *function;
    unsigned block[3], shared_bytes, cluster; /* blocks of a cluster along x */
    bool overlap;
};
/* Takes block, shared_bytes, cluster[0] and overlap of `l`. */
struct cuda_quick cuda_quick(const struct cuda *c, const struct cuda_module *m,
                             const struct cuda_launch *l);
bool cuda_quick_start_with(const struct cuda_quick *q, const int64_t grid[3], void *stream,
                           void **arguments);
/* Starts the kernel. The grid is at least 1 along each axis and within grid_limits. Returns
 * false if nothing was started: then cuda_start gives the reason, or starts it if only the
 * thread's context was missing. */
static inline bool cuda_quick_start(const struct cuda_quick *q, const int64_t grid[3], void *stream,
                                    void **arguments)
{
    if (q->cluster > 1 || q->overlap)
        return cuda_quick_start_with(q, grid, stream, arguments);
    return q->launch(q->function, (unsigned)grid[0], (unsigned)grid[1], (unsigned)grid[2],
                     q->block[0], q->block[1], q->block[2], q->shared_bytes, stream, arguments,
                     NULL) == 0;
}
/* Starts the kernel in the stream, without waiting. */
bool cuda_start(struct cuda *c, struct cuda_module *m, const struct cuda_launch *launch,
                void *stream, char why[CUDA_WHY]);

#endif
