/* Accesses that each thread does for itself: elements and slices of views, shared tiles and
 * arrays.
 *
 * A slice is taken apart into pieces: neighbours along the last axis that one instruction moves, 16
 * bytes at most. Where a piece may reach past the edge it has a condition; by divisibility a piece
 * lies whole inside or whole outside.
 */
#ifndef TW_LOWER_ELEMENT_H
#define TW_LOWER_ELEMENT_H

#include "lower/lower_body.h"

enum { OWN_VECTOR = 16 }; /* elements of a piece at most */

struct own_piece {
    int64_t first;               /* its first element in the tile, row-major */
    int count;                   /* elements: 1, 2, 4, 8 or 16 */
    const struct value *address; /* in bytes; NULL of an array in registers */
    const struct value *at;      /* arrays: row-major number of the element (i64) */
    const struct value *inside;  /* NULL: surely */
};
struct own_place {
    const struct expr *access;
    int rank; /* of the symbol */
    struct own_axis {
        enum index_kind kind;
        const struct value *start;       /* i32 if the program has it so, else i64 */
        const struct value *const *rows; /* IX_GATHER: the same */
        int64_t extent;                  /* 1 of an element */
        int64_t step;              /* in the tile, elements from one index of it to the next */
        const struct value *limit; /* extent of the symbol's axis, i64 */
        const struct value *narrow_limit; /* in i32, where the program has it so; else NULL */
        bool guarded;                     /* may reach past the edge */
    } axis[MAX_RANK];
    int64_t elements;
    int64_t run; /* neighbours along the last axis, if they are neighbours in memory; else 1 */
};
/* Evaluates the indices. */
struct own_place own_place_of(struct lower *l, const struct expr *access);
/* The piece that begins with element `first`, of `most` elements or less. */
struct own_piece own_piece_at(struct lower *l, const struct own_place *p, int64_t first, int most);

/* One value an element, row-major. Of rank 0: one. */
const struct value **own_load(struct lower *l, const struct expr *access);
void own_store(struct lower *l, const struct expr *access, const struct value *const *v,
               struct guard when);

/* Into these registers, one an element, where `when` holds; elsewhere they stay as they are. False,
 * and nothing emitted, if elements do not move one to a register. The access does not depend on the
 * registers. */
bool own_load_into(struct lower *l, const struct expr *access, const struct ptx_operand *reg,
                   struct guard when);

/* One element of shared memory, at an address in bytes (i32). */
const struct value *own_load_shared(struct lower *l, enum dtype t, const struct value *address);
void own_store_shared(struct lower *l, enum dtype t, const struct value *address,
                      const struct value *v, struct guard when);

/* when, and where the condition holds too (NULL: no condition). */
struct guard guard_and(struct lower *l, struct guard when, const struct value *condition);
/* The thread that acts for the block in a warps kernel (Meaning 5); all at thread level. */
struct guard guard_of_effect(struct lower *l);

/* The condition under which expressions are being evaluated (bodies->lazy). */
struct guard guard_of_lazy(struct lower *l);

/* --- lower_recent.c --- */

/* Returns the value that a recent load of this name ("ld.shared", one pointer each), type and address has; NULL: there is
 * none. */
const struct value *recent_find(struct lower *l, const char *name, enum ptx_mod type,
                                const struct value *address);
/* A load just emitted, of one element of `size` bytes; `constant`: the kernel does not write
 * there. It may be joined with others. */
void recent_add(struct lower *l, const char *name, enum ptx_mod type, int size, bool constant,
                const struct value *address, struct ptx_operand at, struct ptx_instruction *ins,
                const struct value *v);

/* --- lower_array.c --- */

/* Does the array lie in .local memory? Then the address of an element, i64; else NULL. */
bool array_in_memory(struct lower *l, const struct sym *s);
const struct value *array_address(struct lower *l, const struct sym *s, const struct value *number);
/* All elements of an array, as they are now. */
const struct value **array_elements(struct lower *l, const struct sym *s);
/* The element of that row-major number, known or not; where `inside` (NULL: surely) does not hold:
 * otherwise (NULL: 0). */
const struct value *array_get(struct lower *l, const struct sym *s, const struct value *number,
                              const struct value *inside, const struct value *otherwise);
void array_put(struct lower *l, const struct sym *s, const struct value *number,
               const struct value *v, struct guard when);

/* to = from, where `when` holds, which is not never. */
void move_when(struct lower *l, enum dtype t, struct ptx_operand to, struct ptx_operand from,
               struct guard when);

/* --- lower_when.c --- */

/* s = value, by loads right into its registers; false, and nothing emitted, if it is more. */
bool load_into_when(struct lower *l, const struct sym *s, const struct ptx_operand *reg,
                    const struct expr *value, struct guard when);

/* --- lower_array_eval.c --- */

/* Elements of `from` spread over the shape `to`. */
const struct value **array_broadcast(struct lower *l, const struct value *const *v,
                                     const struct type *from, const struct type *to);

#endif
