/* Register tiles: a layout, and registers for the elements that a thread holds.
 *
 * Elements of 32 and 64 bits and predicates (bool) have a register each. Two elements of 16 bits
 * (f16 bf16 i16 u16), four of 8 (i8 u8) share a .b32 word, in order of the layout's register
 * counter, the first lowest: as fragments of matrix instructions and vectors in memory have them.
 *
 * Layouts are interned (plan_keep), so equal ones are one pointer.
 */
#ifndef TW_LOWER_TILE_H
#define TW_LOWER_TILE_H

#include "lower/lower_op.h"

struct regtile {
    enum dtype dtype;
    const struct layout *layout; /* reg, lane, warp -> d0, d1, … */
    int elements;                /* extent of the reg counter */
    int words;                   /* registers: elements / elements of a word, rounded up */
    struct ptx_operand *word;
};

/* Registers new and not yet written. */
struct regtile tile_new(struct lower *l, enum dtype t, const struct layout *layout);
/* element: one operand for each of the layout's registers; packs them. */
struct regtile tile_of_elements(struct lower *l, enum dtype t, const struct layout *layout,
                                const struct ptx_operand *element);
/* All elements, unpacked (a register each as lower_value.h says); for loops over registers. */
struct ptx_operand *tile_elements(struct lower *l, const struct regtile *t);
struct regtile tile_fill(struct lower *l, enum dtype t, const struct layout *layout,
                         struct ptx_operand value);
void tile_move(struct lower *l, const struct regtile *to, const struct regtile *from);

/* The value of a tile expression in that layout. e may also be a scalar: then it is spread. The
 * registers may be those of a symbol, or one for several words: they are to be read only. */
struct regtile tile_eval(struct lower *l, const struct expr *e, const struct layout *wanted);
/* In whatever layout is best for e itself (plan_natural, else a coalesced one). */
struct regtile tile_eval_natural(struct lower *l, const struct expr *e);
/* The same, broadcast to the shape of `type`: for what is stored there. */
struct regtile tile_eval_shaped(struct lower *l, const struct expr *e, const struct type *type);
/* The register tile that holds a ST_REG symbol (or, in warps kernels, ST_ARRAY is not one). */
struct regtile *tile_of_symbol(struct lower *l, const struct sym *s);
/* The declaration of a ST_REG symbol that nothing else assigns: it is its value's registers; index
 * arithmetic (iota and scalars) has none until it is used. value NULL: not initialised. */
void tile_declare(struct lower *l, const struct sym *s, const struct expr *value);
/* s = value, for all others: evaluated in the symbol's layout, then moved into its registers. */
void tile_assign(struct lower *l, const struct sym *s, const struct expr *value);

/* --- lower_convert.c --- */
/* The same tile in another layout: nothing, moves, shuffles, or through scratch, whichever is
 * cheapest. */
struct regtile tile_convert(struct lower *l, const struct regtile *t, const struct layout *to);

/* --- lower_reduce.c: REDUCE_*, SCAN --- */
const struct value *tile_reduce_all(struct lower *l, enum op op, const struct regtile *x,
                                    enum dtype result);
struct regtile scan_eval(struct lower *l, const struct expr *e, const struct layout *wanted);

/* --- coordinates --- */
/* Coordinate `axis` of what this thread holds in register 0, as a value (of lane and warp); and how
 * far register r is from it. additive false: some register bit is xored into lane bits: take
 * tile_coordinate_of. */
const struct value *tile_coordinate(struct lower *l, const struct layout *layout, int axis,
                                    bool *additive);
int32_t tile_coordinate_offset(const struct layout *layout, int axis, int32_t reg);
const struct value *tile_coordinate_of(struct lower *l, const struct layout *layout, int axis,
                                       int32_t reg);
/* Does this thread hold elements that others hold as well (free digits of lane or warp)? The
 * condition under which it is the first holder; NULL: always. For stores and atomics. Masked
 * elements (outside the extents): tile_inside_of. */
const struct value *tile_is_first_holder(struct lower *l, const struct layout *layout);
/* The same of whole warps, for what the lanes of a warp do together: lanes may hold the same. */
const struct value *tile_is_first_warp(struct lower *l, const struct layout *layout);
const struct value *tile_inside_of(struct lower *l, const struct layout *layout,
                                   int32_t reg); /* NULL: surely inside */

#endif
