/* NVIDIA GPUs through the driver library, which is looked for at run time: nothing of CUDA is
 * needed to build or to start.
 *
 * One struct cuda is one device of one process, in its primary context, so memory and streams are
 * shared with whatever else of the process uses the device. Calls push that context and pop it
 * again. Used by one thread at a time.
 */
#ifndef TW_CUDA_H
#define TW_CUDA_H

#include "base/arena.h"

#include <stddef.h>
#include <stdint.h>

enum { CUDA_WHY = 512 }; /* bytes of a message */

struct cuda_device {
    char name[96];
    int capability; /* 90: compute capability 9.0 */
    int multiprocessors;
    int shared_bytes; /* of one block, opted in */
    size_t memory;
    int driver; /* 13000: CUDA 13.0 */
};

struct cuda;
struct cuda_module;

/* Opens device `ordinal`. NULL: why says what is missing, in a sentence; "": the allocator had no
 * memory. */
struct cuda *cuda_open(const struct allocator *allocator, int ordinal, char why[CUDA_WHY]);
void cuda_close(struct cuda *c); /* NULL is fine */
const struct cuda_device *cuda_describe(const struct cuda *c);

/* Assembles PTX (or loads a cubin) and finds its kernel. NULL: why has the assembler's log; "": no
 * memory. */
struct cuda_module *cuda_load(struct cuda *c, const char *image, const char *kernel,
                              char why[CUDA_WHY]);
void cuda_unload(struct cuda *c, struct cuda_module *m);

/* Device memory. Each returns false and says why when the driver refuses. */
bool cuda_allocate(struct cuda *c, size_t bytes, uint64_t *address, char why[CUDA_WHY]);
void cuda_free(struct cuda *c, uint64_t address);
bool cuda_copy_in(struct cuda *c, uint64_t to, const void *from, size_t bytes, char why[CUDA_WHY]);
bool cuda_copy_out(struct cuda *c, void *to, uint64_t from, size_t bytes, char why[CUDA_WHY]);
bool cuda_zero(struct cuda *c, uint64_t to, size_t bytes, char why[CUDA_WHY]);

struct cuda_launch {
    int64_t grid[3]; /* 0 along an axis: nothing is started; else within grid_limits */
    int block[3];
    int64_t shared_bytes;
    void **arguments; /* a pointer to each parameter's value */
    bool cooperative; /* all blocks at the same time: refused if the device cannot hold them */
};
/* Starts the kernel on the default stream. */
bool cuda_start(struct cuda *c, struct cuda_module *m, const struct cuda_launch *launch,
                char why[CUDA_WHY]);
/* Waits for everything started; a fault of a kernel is reported here. */
bool cuda_wait(struct cuda *c, char why[CUDA_WHY]);

/* Two marks on the stream: milliseconds of the GPU between them. */
bool cuda_mark(struct cuda *c, int mark, char why[CUDA_WHY]); /* 0: from, 1: to */
bool cuda_elapsed(struct cuda *c, double *milliseconds, char why[CUDA_WHY]);

#endif
