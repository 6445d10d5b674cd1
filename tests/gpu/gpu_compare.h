/* Compares a launch on a GPU with the same launch on the CPU engine. */
#ifndef GPU_COMPARE_H
#define GPU_COMPARE_H

#include "gpu_pool.h"

#include "base/dtype.h"
#include "tilewright.h"

#include <stddef.h>
#include <stdint.h>

/* Returns an element of type t for the array of parameter `param`; random numbers come from the
 * seed. */
typedef double (*compare_element)(enum dtype t, int param, uint64_t *seed);

enum { COMPARED_ARRAYS = 16 };

/* The arguments of a launch, and the CPU engine's results. */
struct compared {
    int count;
    struct compared_array {
        const char *name;
        tw_array array; /* data: of the running launch */
        size_t elements, bytes;
        void *given, *wanted;
    } list[COMPARED_ARRAYS];
};

/* Runs a launch of `k` on the host, in which everything but the arrays is set. Returns false
 * after printing the reason; then there is nothing to close. */
bool compared_open(struct compared *c, tw_context *ctx, tw_kernel *k, tw_launch *host,
                   compare_element element, uint64_t seed);
void compared_close(struct compared *c);

/* Launches on the GPU with the same arrays, and prints errors. If elements differ, the kernel's
 * `ensures`, if it has one, decides. */
enum outcome compared_run(struct compared *c, tw_context *ctx, tw_kernel *k, tw_launch *gpu);

#endif
