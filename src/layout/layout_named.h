/* Layouts with a name: fragments of the matrix instructions, coalesced accesses, shared memory.
 *
 * Register layouts have the counters reg, lane and warp. A register here is one element (a
 * 32-bit register has two f16), numbered as the PTX ISA numbers the fragment's elements, lowest
 * bits of the first register first. */
#ifndef TW_LAYOUT_NAMED_H
#define TW_LAYOUT_NAMED_H

#include "layout/layout.h"

/* --- Fragments (layout_fragments.c) --- */

enum matrix_operand { MATRIX_A, MATRIX_B, MATRIX_C }; /* C: the summand, and the sum D */

/* mma.sync m·n·k with factors of `bits` each: A is [m][k], B [k][n], C and D [m][n]. */
struct mma_shape {
    int m, n, k, bits;
};
/* Returns false if mma.sync has no such shape for any type of that width. The m8n8k4 of f16 is
 * left out too, because its fragments are those of the first matrix units. */
bool layout_mma(struct mma_shape shape, enum matrix_operand operand, struct layout *out);

/* A tile divided among warps_m x warps_n warps, each running mma over its part. The factor that
 * a warp shares with others has free bits of warp. Warps count along n fastest. If the
 * instruction's shape times warps does not divide the tile, the last instructions are masked. */
struct mma_tiling {
    struct mma_shape shape;
    int warps_m, warps_n;
    bool scattered; /* a warp's instructions are warps_m * m rows apart; otherwise its part of
                     * the tile is one block */
};
/* extents: of the operand's tile. Registers run within the fragment, then along d1, then along
 * d0. */
bool layout_mma_tile(const struct mma_tiling *tiling, enum matrix_operand operand,
                     const int32_t extents[2], struct layout *out);

/* A product without matrix instructions. Thread (i, j) of a warp's lanes_m x lanes_n (32
 * together, in the order of layout_fma.c) has blocks of vector_m x vector_n elements of the sum,
 * one of every lanes_m * vector_m rows and lanes_n * vector_n columns. A is [m][k], B [k][n]:
 * each thread has the factors of its elements, along the whole of k. */
struct fma_tiling {
    int lanes_m, lanes_n, vector_m, vector_n, warps_m, warps_n;
};
/* Registers of the sum run through a block row by row, then along d1, then along d0; those of a
 * factor through a vector, then further vectors, then k. */
bool layout_fma_tile(const struct fma_tiling *tiling, enum matrix_operand operand,
                     const int32_t extents[2], struct layout *out);

/* ldmatrix, stmatrix .m8n8.b16 of 1, 2 or 4 matrices, one above the other: [8 * count][8] elements
 * of 16 bits. With .trans a lane holds elements of a column. */
bool layout_ldmatrix(int count, bool trans, struct layout *out);
/* Maps a lane to the row whose address it supplies: lane -> [8 * count]; lanes past 8 * count
 * are masked. */
bool layout_ldmatrix_rows(int count, struct layout *out);

/* wgmma m64·n·k by the four warps of a warpgroup: the sum, and the left factor when it is in
 * registers. */
bool layout_wgmma(int n, struct layout *out);
bool layout_wgmma_a(int bits, struct layout *out); /* [64][256 / bits] */

/* --- Accesses spread evenly (layout_blocked.c) --- */

/* Spreads a tile over `warps` warps so that each access of a warp has `vector` consecutive
 * elements a lane along the last axis; neighbouring lanes go along the last axis first, as many
 * as are a power of two; warps go along the slow axes. Elements that the threads do not divide
 * evenly are masked; an element is held twice only if there is no other way. bits: of an
 * element. */
bool layout_blocked(const int32_t *extents, int rank, int bits, int vector, int warps,
                    struct layout *out);
/* Spreads a tile in the same way, with `along` lanes (a power of two) along the last axis. */
bool layout_blocked_lanes(const int32_t *extents, int rank, int vector, int warps, int along,
                          struct layout *out);
/* Returns the widest vector (in elements, at most 16 bytes) that divides the last extent. */
int layout_widest_vector(const int32_t *extents, int rank, int bits);

/* --- Shared memory (layout_shared.c): d0, d1, ... -> at, in elements --- */

/* Last axis fastest. pad: elements after each row (innermost axis). */
bool layout_rows(const int32_t *extents, int rank, int pad, struct layout *out);
/* `order` lists the axes from fastest to slowest. */
bool layout_ordered(const int32_t *extents, int rank, const int *order, int pad,
                    struct layout *out);
/* The last axis cut into panels of `width` elements; panels one after the other, each row-major. */
bool layout_panels(const int32_t *extents, int rank, int width, struct layout *out);
/* Applies Swizzle<bits, base, shift> (CuTe): bits [base + shift, base + shift + bits) of each
 * place are xored into [base, base + bits). Returns false if the places there are not powers of
 * two apart. */
bool layout_swizzled(const struct layout *l, int bits, int base, int shift, struct layout *out);
/* Gives the layout of bulk tensor copies into boxes whose rows are `span` bytes long (32, 64,
 * 128; CU_TENSOR_MAP_SWIZZLE_…): the last two axes are cut into panels of that width, with 16-byte
 * chunks swizzled within 256, 512 or 1024 bytes. span 0: rows of the whole width, not swizzled. */
bool layout_tensor_box(const int32_t *extents, int rank, int element_bits, int span,
                       struct layout *out);

#endif
