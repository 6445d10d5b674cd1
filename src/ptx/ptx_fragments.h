/* Matrices in registers: the number and the type of the registers of one thread. */
#ifndef TW_PTX_FRAGMENTS_H
#define TW_PTX_FRAGMENTS_H

#include "ptx/ptx_table.h"

struct ptx_fragment {
    uint16_t type; /* of each register: PTX_B32, PTX_F32, PTX_F64, PTX_S32 */
    uint16_t count;
};

/* Returns the fragment of an instruction with these modifiers; its count is 0 if they make none.
 * `which` is the matrix: of mma, wmma.mma and wgmma 'a' and 'b' (factors), 'c' (addend) or 'd'
 * (sum); 'r' of ldmatrix and stmatrix; 'w' of wmma.load and wmma.store; 't' of tcgen05.ld and
 * tcgen05.st. */
struct ptx_fragment ptx_fragment_of(enum ptx_op op, const uint16_t *mods, size_t count, char which);

#endif
