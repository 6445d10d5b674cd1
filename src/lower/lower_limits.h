/* Refuses kernels that the target cannot run, and says what needs the missing feature. */
#ifndef TW_LOWER_LIMITS_H
#define TW_LOWER_LIMITS_H

#include "lower/lower_state.h"

/* Each reports, and returns false. Before anything is emitted: element types, threads, blocks,
 * shared tiles. */
bool limits_of_kernel(struct lower *l);
/* After the parameters are declared: the bytes that they take. */
bool limits_of_parameters(struct lower *l);
/* After the plan: do the register tiles that are live together fit a thread's registers? */
bool limits_of_registers(struct lower *l);
/* After the plan: how much is written out for the elements of tiles, and for products. */
bool limits_of_code(struct lower *l);
/* After all is emitted: the shared memory, the compiler's own included. */
bool limits_of_shared(struct lower *l);
/* Refuses: a tile changes hands, and these bytes for it find no room beside the shared tiles. */
void limits_no_room(struct lower *l, int64_t bytes);
/* Refuses if these arrays of a thread take more memory than a thread has. */
void limits_of_local(struct lower *l, const struct sym *const *arrays, size_t count);
/* Refuses, for a block that is no whole warps (lower_ragged_block). */
void limits_ragged(struct lower *l, struct loc loc, const char *what);

#endif
