/* Thread IR → PTX.
 *
 * Instructions of values are rows of nvptx_select.def; each operation on memory, barriers and matrix units has
 * a function in nvptx_memory.c. Values get registers of their own, except that groups which follow each other
 * (the sums of products, arguments of loops) share theirs where no two of them are needed at the same time
 * (nvptx_registers.c). */
#ifndef TW_NVPTX_H
#define TW_NVPTX_H

#include "thread/thread.h"

/* Returns the function as a module; NULL: an operation has no instruction on the target, and d has the errors.
 * f is verified. */
struct ptx_module *nvptx_emit(struct arena *a, const struct thread_function *f, struct diag *d);

/* Returns the bytes of dynamic shared memory that a launch gives. */
uint32_t nvptx_shared_bytes(const struct thread_function *f);

#endif
