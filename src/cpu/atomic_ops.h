/* Applies an atomic to one element of memory. */
#ifndef TW_ATOMIC_OPS_H
#define TW_ATOMIC_OPS_H

#include "base/dtype.h"
#include "tile/ops.h"

/* Applies the op to *memory and stores the old value in *old. `value` is the operand; for cas it
 * is the expected value, and `desired` the new one. */
typedef void atomic_fn(void *memory, void *old, const void *value, const void *desired);

/* Returns the function for an op and a type; NULL: the type does not have this atomic. */
atomic_fn *cpu_atomic_op(enum op op, enum dtype t);

#endif
