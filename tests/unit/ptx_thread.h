/* Executes one thread of a kernel, to test the code that the compiler emits: arithmetic,
 * conversions, branches, loads and stores. There are no other threads. Shared memory has
 * PTX_THREAD_SHARED bytes, 0 at first.
 *
 * Results of the special function unit are the correctly rounded ones, moved by up to `slip`
 * units in the last place. */
#ifndef PTX_THREAD_H
#define PTX_THREAD_H

#include "ptx/ptx.h"

enum { PTX_THREAD_SHARED = 1024 };

struct ptx_thread {
    const struct ptx_function *function;
    const uint64_t *arguments; /* by parameter; pointers are addresses of the host */
    uint32_t index;            /* %tid.x; the block is 0 */
    int slip;
    /* the executor's own */
    uint64_t *registers;
    uint8_t *shared;
    bool carry;
};

void ptx_thread_init(struct ptx_thread *t, struct arena *a, const struct ptx_function *f);
/* Returns NULL, or the mnemonic of an instruction that it cannot execute. */
const char *ptx_thread_run(struct ptx_thread *t);

#endif
