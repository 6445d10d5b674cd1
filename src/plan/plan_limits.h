/* Refuses kernels that the target cannot run, and says what needs the missing feature. */
#ifndef TW_PLAN_LIMITS_H
#define TW_PLAN_LIMITS_H

#include "plan/plan_layouts.h"

/* Each reports, and returns false. Before anything is emitted: element types, threads, blocks,
 * shared tiles. */
bool plan_limits_of_kernel(struct layouts *l);
/* After the parameters are declared: the bytes that they take. */
bool plan_limits_of_parameters(struct layouts *l);
/* Returns, after the plan, whether the register tiles that are live together fit a thread's
 * registers. */
bool plan_limits_of_registers(struct layouts *l);
/* After the plan: how much is written out for the elements of tiles, and for products. */
bool plan_limits_of_code(struct layouts *l);
/* After all is emitted: the shared memory, the compiler's own included. */
bool plan_limits_of_shared(struct layouts *l);
/* Reports that an exchange of a tile needs these bytes, for which shared memory has no room. */
void plan_limits_no_room(struct layouts *l, int64_t bytes);
/* Refuses if these arrays of a thread take more memory than a thread has. */
void plan_limits_of_local(struct layouts *l, const struct sym *const *arrays, size_t count);
/* Refuses a block whose last warp is not full (plan_ragged_block). */
void plan_limits_ragged(struct layouts *l, struct loc loc, const char *what);
/* After the kernel is made: says how many of its blocks are meant to be on a multiprocessor, if ptxas's own choice is
 * not good. */
void plan_ask_for_registers(struct layouts *l);

#endif
