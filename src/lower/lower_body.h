/* Statements, scalar expressions, and the thread level. */
#ifndef TW_LOWER_BODY_H
#define TW_LOWER_BODY_H

#include "lower/lower_dot.h"

void bodies_init(struct lower *l);
void body_emit(struct lower *l, const struct stmt *first); /* a list of statements */

/* --- lower_scalar.c --- */
/* The value of a scalar expression; emits what has effects or reads memory (loads, atomics) on the
 * way. */
const struct value *scalar_eval(struct lower *l, const struct expr *e);
/* ST_PARAM (of a pointer: its address in .global, i64), ST_CONST, ST_SCALAR; ST_VIEW that is
 * workspace: its address. */
const struct value *symbol_value(struct lower *l, const struct sym *s);
/* block.x, .y, .z: where blocks draw their index, what was drawn. */
const struct value *block_index(struct lower *l, int axis);

/* --- lower_element.c: one element of a view, shared tile or array, for this thread. Warps kernels
 * use them too. --- */
/* Loads where `when` holds; elsewhere the result is `otherwise` (NULL: anything). Indices are
 * evaluated in any case. */
const struct value *element_load_if(struct lower *l, const struct expr *access, struct guard when,
                                    const struct value *otherwise);
/* The same, always. */
const struct value *element_load(struct lower *l, const struct expr *access);
void element_store(struct lower *l, const struct expr *access, const struct value *v);

/* --- lower_array*.c: arrays of a thread (ST_ARRAY), and tile expressions over them --- */
/* Is the tile e (rank > 0) one that each thread has for itself: made of arrays, or of slices that
 * differ between threads? Else it is the block's: tile_eval. Atomics: by where they go. */
bool array_is_own(const struct lower *l, const struct expr *e);
/* Every DECL of a ST_ARRAY and every ASSIGN to one (element, slice or whole); and ASSIGN of an own
 * tile to a slice of a view or shared tile. */
void array_assign(struct lower *l, const struct stmt *s);
/* One value an element, row-major; of own tiles, and of small ones of the block, which then each
 * thread has whole. */
const struct value **array_values(struct lower *l, const struct expr *e);
struct ptx_operand *array_eval(struct lower *l, const struct expr *e); /* the same in registers */
/* An atomic on a slice, by each thread for itself: its target differs between threads, or the
 * kernel is at thread level (Meaning 5). NULL unless the old values are wanted. */
const struct value **array_atomic(struct lower *l, const struct expr *e, bool result_wanted);

void print_emit(struct lower *l, const struct stmt *s); /* lower_print.c */
void claim_emit(struct lower *l, const struct stmt *s); /* lower_claim.c: an assume with a claim */

#endif
