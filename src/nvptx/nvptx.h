/* Thread IR → PTX.
 *
 *   nvptx_emit.c       functions, regions, control
 *   nvptx_compute.c    operations on values, element by element or in whole words; nvptx_groups.c: on groups
 *   nvptx_memory.c     memory, barriers, the copy engine, matrix units
 *   nvptx_rows.c       text for the host
 *   nvptx_words.c      registers of values: elements, and the words that they share
 *   nvptx_guard.c      branches that are done in line
 *   nvptx_turns.c      marks of the program's loops, for traces
 *   nvptx_scalars.h    one elementwise operation on registers: nvptx_op.c, nvptx_cast.c, nvptx_packed.c, nvptx_math*.c …
 *
 * Values get registers of their own, except that groups which follow each other (the sums of products, arguments of loops)
 * share theirs where no two of them are needed at the same time (nvptx_registers.c). */
#ifndef TW_NVPTX_H
#define TW_NVPTX_H

#include "thread/thread.h"

/* Returns the function as a module; NULL: an operation has no instruction on the target, and d has the errors.
 * f is verified. */
struct ptx_module *nvptx_emit(struct arena *a, const struct thread_function *f, struct diag *d);

/* Returns the name of the instruction that a load or store of such a value becomes: "ld.global.nc.v4.f32". typed: false ends it
 * by `*` in place of the type. */
const char *nvptx_access_name(struct arena *a, enum thread_opcode op, struct thread_type t,
                              bool typed);

/* Returns the bytes of dynamic shared memory that a launch gives. */
uint32_t nvptx_shared_bytes(const struct thread_function *f);

#endif
