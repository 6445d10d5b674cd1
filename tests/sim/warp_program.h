/* Kernels of one warp that work on the test's own arrays, and random numbers: for tests of whole
 * warps. */
#ifndef WARP_PROGRAM_H
#define WARP_PROGRAM_H

#include "sim_helper.h"

/* An array for the kernel's next parameter, a .u64 pointer; the kernel works on it in place. */
struct warp_array {
    void *data;
    size_t bytes;
};

/* Runs the kernel `k` of a program in one block of `threads` threads. If `c` is given, the
 * program is open already, perhaps with observers, and stays open. */
enum sim_end warp_launch(struct sim_case *c, int threads, const struct warp_array *arrays,
                         int count);
/* Opens, runs and closes; fails the test if the kernel does not end well. */
void warp_run(const char *program, int threads, const struct warp_array *arrays, int count);

/* Returns random numbers, the same in each run. */
uint32_t warp_draw(uint32_t below);
uint32_t warp_bits(void);

#endif
