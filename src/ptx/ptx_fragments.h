/* Matrices in registers: how many registers of what type a thread holds. */
#ifndef TW_PTX_FRAGMENTS_H
#define TW_PTX_FRAGMENTS_H

#include "ptx/ptx_table.h"

struct ptx_fragment {
    uint16_t type; /* of each register: PTX_B32, PTX_F32, PTX_F64, PTX_S32 */
    uint16_t count;
};

/* The fragment of an instruction with these modifiers. which: 'a', 'b' factors, 'c' what is added,
 * 'd' the sum of mma, wmma.mma, wgmma; 'r' of ldmatrix, stmatrix; 'w' of wmma.load, wmma.store; 't'
 * of tcgen05.ld, tcgen05.st. count 0 where the modifiers make no fragment. */
struct ptx_fragment ptx_fragment_of(enum ptx_op op, const uint16_t *mods, size_t count, char which);

#endif
