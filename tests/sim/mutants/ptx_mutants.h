/* Functions in PTX with one instruction removed or changed:
 *
 *   barrier-removed, fence-removed, wait-removed, commit-removed
 *   wait-more       (cp.async.wait_group N -> N + 1)
 *   order-removed   (.acquire, .release, .acq_rel -> .relaxed)
 *   scope-narrowed  (.gpu, .sys -> .cta, of atomics, fences, and accesses with an order)
 *   swizzle-removed (xor in the computation of a shared address -> its first operand)
 *   padding-removed (a factor of a shared address that is not a power of two -> the next lower power)
 *   index           (an address, by one element; of vectors and copies, by one access)
 *
 * Mutations of a kind are numbered from 1 in the order of the text. */
#ifndef PTX_MUTANTS_H
#define PTX_MUTANTS_H

#include "ptx/ptx.h"

struct ptx_mutant {
    const char *kind;
    int number;
    int line;         /* line of the .loc in force, 0: none */
    const char *text; /* of the instruction */
    size_t statement;
    struct ptx_instruction *original, *changed; /* changed NULL: removed */
};
struct ptx_mutants {
    struct ptx_mutant *data;
    size_t count, capacity;
};
struct ptx_mutants *ptx_mutants_make(struct arena *a, const struct ptx_function *f);
void ptx_mutant_apply(struct ptx_function *f, const struct ptx_mutant *m);
void ptx_mutant_undo(struct ptx_function *f, const struct ptx_mutant *m);

#endif
