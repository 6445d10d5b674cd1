/* What an atomic does to one element of memory. */
#ifndef TW_ATOMIC_OPS_H
#define TW_ATOMIC_OPS_H

#include "base/dtype.h"
#include "tile/ops.h"

/* Applies the op with *value (cas: the expected value; *desired the new one) and gives the old
 * value in *old. */
typedef void atomic_fn(void *memory, void *old, const void *value, const void *desired);

/* NULL: the type has no such atomic. */
atomic_fn *atomic_op(enum op op, enum dtype t);

#endif
