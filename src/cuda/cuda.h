/* NVIDIA GPUs through the driver library, which is looked for at run time: nothing of CUDA is
 * needed to build or to start.
 *
 *   cuda_driver.c  the library and its functions
 *   cuda_error.c   what they refuse, in words
 *   cuda.c         a device in its primary context
 *   cuda_module.c  programs loaded there, what they take of a multiprocessor
 *   cuda_assemble.c  PTX to machine code; cuda_cache.c keeps that on disk
 *   cuda_memory.c  memory, streams and events; workspace, one a stream
 *   cuda_launch.c  launches
 *
 * One struct cuda is one device of one process, in its primary context, so memory and streams are
 * shared with whatever else of the process uses the device. A thread that has no context current
 * gets that one, as from the CUDA runtime; where another is current it is so again after each call.
 * Used by one thread at a time. Calls that can fail return false (or NULL) and say why in a
 * sentence; an empty one means that the allocator had no memory.
 *
 * A stream is a CUstream (or a cudaStream_t, which is the same); NULL the default stream.
 */
#ifndef TW_CUDA_H
#define TW_CUDA_H

#include "cuda/cuda_cache.h"

#include <stddef.h>
#include <stdint.h>

enum { CUDA_WHY = 1024 }; /* bytes of a message */

struct cuda_device {
    char name[96];
    int ordinal;
    int capability; /* 90: compute capability 9.0 */
    int multiprocessors;
    int shared_bytes; /* of one block, opted in */
    int l2_bytes;
    size_t memory;
    int driver; /* 13000: CUDA 13.0 */
};

struct cuda;
struct cuda_module;

/* What device `ordinal` is, without a context on it. */
bool cuda_look(int ordinal, struct cuda_device *out, char why[CUDA_WHY]);

struct cuda *cuda_open(const struct allocator *allocator, int ordinal, char why[CUDA_WHY]);
/* NULL is fine. Frees memory, streams and events that were not freed. */
void cuda_close(struct cuda *c);
const struct cuda_device *cuda_describe(const struct cuda *c);

/* Why the latest call refused. */
enum cuda_failure {
    CUDA_MISUSED, /* what it was asked for, without asking the driver */
    CUDA_REFUSED, /* the driver did */
    CUDA_NO_ROOM, /* the GPU has no more memory */
    CUDA_LOST     /* a kernel failed: nothing works any more in this process but freeing */
};
enum cuda_failure cuda_failure(const struct cuda *c);
/* False, with the reason: the context was lost by an earlier call. Asks no driver. */
bool cuda_usable(struct cuda *c, char why[CUDA_WHY]);

/* --- programs --- */

/* Assembles PTX (or loads a cubin) and finds its kernel, which can then be launched during a
 * capture. NULL: why has the assembler's log. */
struct cuda_module *cuda_load(struct cuda *c, const char *image, const char *kernel,
                              char why[CUDA_WHY]);
/* PTX, and what keeps what is made of it. */
struct cuda_text {
    const char *ptx; /* '\0' behind it */
    size_t length;
    const char *compiler;     /* the version of what made it: for the cache */
    struct cuda_cache *cache; /* may be off */
    struct arena *scratch;    /* for the time of the call */
};
/* As cuda_load, but assembles nothing that the cache has, and gives it what was assembled. */
struct cuda_module *cuda_load_text(struct cuda *c, const struct cuda_text *t, const char *kernel,
                                   char why[CUDA_WHY]);
/* The same without loading it: whoever loads it later finds it in the cache. */
bool cuda_assemble(struct cuda *c, const struct cuda_text *t, const char *kernel,
                   char why[CUDA_WHY]);
void cuda_unload(struct cuda *c, struct cuda_module *m);
/* Before a launch with so much dynamic shared memory. */
bool cuda_allow_shared(struct cuda *c, struct cuda_module *m, int64_t bytes, char why[CUDA_WHY]);

struct cuda_occupancy {
    int registers, local_bytes; /* of a thread */
    int shared_bytes;           /* of a block, besides dynamic shared memory */
    int blocks;                 /* at the same time on a multiprocessor */
};
bool cuda_occupancy(struct cuda *c, struct cuda_module *m, int threads, int64_t shared_bytes,
                    struct cuda_occupancy *out, char why[CUDA_WHY]);

/* --- memory --- */

/* Zero bytes have an address, too. Frees what cuda_allocate gave; false: it is none of it. */
bool cuda_allocate(struct cuda *c, size_t bytes, uint64_t *address, char why[CUDA_WHY]);
bool cuda_free(struct cuda *c, uint64_t address, char why[CUDA_WHY]);
/* In the stream's order; done on return. */
bool cuda_copy_in(struct cuda *c, uint64_t to, const void *from, size_t bytes, void *stream,
                  char why[CUDA_WHY]);
bool cuda_copy_out(struct cuda *c, void *to, uint64_t from, size_t bytes, void *stream,
                   char why[CUDA_WHY]);
/* In the stream's order, not waited for. */
bool cuda_fill(struct cuda *c, uint64_t to, int byte, size_t bytes, void *stream,
               char why[CUDA_WHY]);

/* Memory of cuda_allocate, `bytes` bytes of it at least, that is no longer c's to free: it and the
 * device's context stay until cuda_given_free, which any thread may call, also after cuda_close.
 * NULL: why. */
struct cuda_given;
struct cuda_given *cuda_give_away(struct cuda *c, uint64_t address, size_t bytes,
                                  char why[CUDA_WHY]);
void cuda_given_free(const struct allocator *allocator, struct cuda_given *g);

/* At least `bytes` bytes that launches in this stream share, aligned to 256. They grow by being
 * allocated anew, which a capture does not allow; what was given out before stays until the stream
 * is freed, since a graph may have it. `clean`: another piece, which is set to 0 when it is
 * allocated; launches leave it 0. */
bool cuda_workspace(struct cuda *c, void *stream, size_t bytes, bool clean, uint64_t *address,
                    char why[CUDA_WHY]);

/* --- streams, events --- */

bool cuda_stream_new(struct cuda *c, void **stream, char why[CUDA_WHY]);
bool cuda_stream_free(struct cuda *c, void *stream, char why[CUDA_WHY]);
/* Until all of it is done; a fault of a kernel is reported here. */
bool cuda_stream_wait(struct cuda *c, void *stream, char why[CUDA_WHY]);
bool cuda_stream_capturing(struct cuda *c, void *stream, bool *capturing, char why[CUDA_WHY]);

bool cuda_event_new(struct cuda *c, void **event, char why[CUDA_WHY]);
bool cuda_event_free(struct cuda *c, void *event, char why[CUDA_WHY]);
bool cuda_event_record(struct cuda *c, void *event, void *stream, char why[CUDA_WHY]);
/* Waits for `to`. */
bool cuda_event_elapsed(struct cuda *c, void *from, void *to, double *milliseconds,
                        char why[CUDA_WHY]);

/* --- launches --- */

struct cuda_launch {
    int64_t grid[3]; /* 0 along an axis: nothing is started; else within grid_limits */
    int block[3];
    int64_t shared_bytes; /* dynamic; cuda_allow_shared was asked */
    void **arguments;     /* a pointer to each parameter's value */
    bool cooperative;     /* all blocks at the same time: refused if the device cannot hold them */
    /* Besides, of no weight where the driver is too old for it, but for clusters: */
    int cluster[3]; /* blocks; 0 counts as 1 */
    int priority;   /* as of streams: less goes first */
    bool overlap;   /* need not wait for what is in the stream before it */
};
/* A launch with all settled but grid, stream and arguments, for any thread: of the driver there is
 * one call. */
struct cuda_quick {
    int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                  unsigned bz, unsigned shared, void *stream, void **params, void **extra);
    void *function;
    unsigned block[3], shared_bytes;
};
struct cuda_quick cuda_quick(const struct cuda *c, const struct cuda_module *m, const int block[3],
                             int64_t shared_bytes);
/* The grid is 1 at least along each axis, and within grid_limits. False: nothing was started, and
 * cuda_start says why, or does it where only the context was not the thread's. */
static inline bool cuda_quick_start(const struct cuda_quick *q, const int64_t grid[3], void *stream,
                                    void **arguments)
{
    return q->launch(q->function, (unsigned)grid[0], (unsigned)grid[1], (unsigned)grid[2],
                     q->block[0], q->block[1], q->block[2], q->shared_bytes, stream, arguments,
                     NULL) == 0;
}
/* Starts the kernel in that stream; does not wait. */
bool cuda_start(struct cuda *c, struct cuda_module *m, const struct cuda_launch *launch,
                void *stream, char why[CUDA_WHY]);

#endif
