/* The blocks of a product of integers in groups of 4 bytes (dot_integers.h): included with NAME, FUSED,
 * and what else of routines_dot_block.h the product has. */
#define T uint32_t
#define SUM int32_t
#define VECTOR vector
#define LANES SUM_LANES
#define MASK lane_mask
#define LOAD get_sums
#define STORE put_sums
#define LOAD_MASKED get_some
#define STORE_MASKED put_some
#define OPERAND vector
#define GET get_groups
#define GET_MASKED get_some
#define BROADCAST repeat_group
#define UNROLLS_LINES 0
#include "cpu/routines/routines_dot_block.h"
