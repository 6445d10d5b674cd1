/* A launch on a GPU against the same launch on the CPU engine. */
#ifndef GPU_COMPARE_H
#define GPU_COMPARE_H

#include "gpu_pool.h"

#include "base/dtype.h"
#include "tilewright.h"

#include <stddef.h>
#include <stdint.h>

/* An element of type t of the array of parameter `param`; random numbers from the seed. */
typedef double (*compare_element)(enum dtype t, int param, uint64_t *seed);

enum { COMPARED_ARRAYS = 16 };

/* What a launch was given, and what the CPU engine made of it. */
struct compared {
    int count;
    struct compared_array {
        const char *name;
        tw_array array; /* data: of the launch that runs */
        size_t elements, bytes;
        void *given, *wanted;
    } list[COMPARED_ARRAYS];
};

/* Runs a launch of the host's, of `k`, for which everything but the arrays is set. false: printed
 * why; nothing is to be closed. */
bool compared_open(struct compared *c, tw_context *ctx, tw_kernel *k, tw_launch *host,
                   compare_element element, uint64_t seed);
void compared_close(struct compared *c);

/* The launch of a GPU's on the same arrays: what is wrong is printed. Where elements differ, by
 * `ensures` if the kernel has one. */
enum outcome compared_run(struct compared *c, tw_context *ctx, tw_kernel *k, tw_launch *gpu);

#endif
