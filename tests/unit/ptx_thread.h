/* Executes what one thread of a kernel does, for tests of what the compiler emits: arithmetic,
 * conversions, branches, loads and stores. No other threads, no shared memory.
 *
 * The results of the special function unit are the right ones, rounded, moved by up to `slip`
 * units in the last place.
 */
#ifndef PTX_THREAD_H
#define PTX_THREAD_H

#include "ptx/ptx.h"

struct ptx_thread {
    const struct ptx_function *function;
    const uint64_t *arguments; /* by parameter; pointers as addresses of the host */
    uint32_t index;            /* %tid.x; the block is 0 */
    int slip;
    /* the executor's own */
    uint64_t *registers;
    bool carry;
};

void ptx_thread_init(struct ptx_thread *t, struct arena *a, const struct ptx_function *f);
/* NULL, or the mnemonic of what it cannot do. */
const char *ptx_thread_run(struct ptx_thread *t);

#endif
