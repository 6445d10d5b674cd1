/* Tile IR -> PTX: one kernel, for one choice of types, tuned values, statics and facts about sizes.
 *
 *   lower.c            the kernel as a whole: parameters, prologue
 *   lower_state.c      errors, places in the source
 *   lower_stmt.c …     statements, loops, unrolling; lower_when.c: short ifs as predicates
 *   lower_value*.c     scalars: a graph of values, each computed once and as far out of the loops
 *     as it can be
 *   lower_op.c         one elementwise op on registers, which src/nvptx emits
 *   lower_tile*.c      register tiles: elementwise, reductions, shapes, conversions of layout
 *   lower_view*.c …    global and shared memory, asynchronous copies, atomics, barriers
 *   lower_dot*.c       dot: matrix units, or fused multiply-adds
 *   lower_element*.c   thread level: elements, arrays of a thread
 *   lower_held.c       which registers hold the program's scalars and tiles
 */
#ifndef TW_LOWER_H
#define TW_LOWER_H

#include "plan/lowered.h"

/* After all passes ran for the target. Reports what the target lacks; false then. */
bool lower_kernel(struct arena *a, struct kernel *k, const struct lower_options *options,
                  struct diag *diag, struct lowered *out);

#endif
