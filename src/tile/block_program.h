/* For block_work.c and block_copies.c: a program whose scalars can be followed for one block. */
#ifndef TW_BLOCK_PROGRAM_H
#define TW_BLOCK_PROGRAM_H

#include "tile/block_work.h"

struct block_program {
    struct kernel *kernel;
    struct sym *block[3], *grid[3];
};

static inline bool block_scalar(const struct sym *s)
{
    return s->type.rank == 0 && (s->storage == ST_SCALAR || s->storage == ST_CONST);
}

/* Makes a scalar a constant of a value, or one whose value is not known. */
static inline void block_set_scalar(struct sym *s, bool known, struct literal value)
{
    s->storage = known ? ST_CONST : ST_SCALAR;
    s->value = value;
}

/* Evaluates an expression as type t. Returns false if it needs a value that is not known. */
static inline bool block_evaluate(const struct scalar_env *values, const struct expr *e,
                                  enum dtype t, struct literal *out)
{
    if (!eval_scalar(e, values, out))
        return false;
    *out = eval_cast(t, e->type.dtype, out);
    return true;
}

/* Assigns a value to a scalar; NULL: the value is not known. */
static inline void block_assign(const struct scalar_env *values, struct sym *s,
                                const struct expr *value)
{
    struct literal v = {0};
    bool known = value && !value->type.varying && block_evaluate(values, value, s->type.dtype, &v);
    block_set_scalar(s, known, v);
}

/* Prepares a walk through the block at a place of the grid: scalars that an earlier walk has made
 * constants are variables again. block_work.c */
void block_program_start(struct block_program *p, const int64_t grid[3], const int64_t at[3]);

#endif
