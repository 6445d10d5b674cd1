/* The cost of an access, computed from the maps: the width of its vectors, its wavefronts of shared
 * memory, its sectors of global memory.
 *
 * Shared memory has 32 banks of 4 bytes. A warp's access is served in phases (32-bit: all lanes;
 * 64-bit: two halves; 128-bit: four quarters; ldmatrix and stmatrix: the eight rows of a
 * matrix). A phase takes one wavefront for each different word of the bank that serves the most
 * (CUDA C++ Programming Guide, "Shared Memory"; CUTLASS, implicit_gemm_convolution). */
#ifndef TW_LAYOUT_ACCESS_H
#define TW_LAYOUT_ACCESS_H

#include "layout/layout.h"

/* --- From the lanes' addresses, in bytes --- */

/* Returns the wavefronts of one access. active: a bit for each lane; bytes of a lane: 1, 2, 4, 8
 * or 16. Returns 0 if no lane is active. */
int layout_shared_wavefronts(const uint32_t address[LAYOUT_LANES], uint32_t active, int bytes);
/* Returns the wavefronts without conflicts: one for each phase that has an active lane. */
int layout_shared_wavefronts_least(uint32_t active, int bytes);
/* Returns the wavefronts of rows of 16 bytes; the rows of matrix i are [8 i, 8 i + 8). */
int layout_matrix_wavefronts(const uint32_t rows[LAYOUT_LANES], int matrices);
/* Returns the number of different aligned pieces of 32 bytes that the active lanes touch. */
int layout_global_sectors(const uint64_t address[LAYOUT_LANES], uint32_t active, int bytes);

/* --- From the maps --- */

enum access_kind {
    ACCESS_LANES,       /* ld, st: consecutive elements a lane */
    ACCESS_MATRIX,      /* ldmatrix, stmatrix */
    ACCESS_MATRIX_TRANS /* as ACCESS_MATRIX, with .trans */
};

enum { ACCESS_VECTOR_BITS = 7 };

/* One kind of instruction between a register tile and memory. An instruction moves, for a base
 * register, the registers base + w, for all sums w of the weights in vector[] (and, for a matrix
 * access, matrix[]). */
struct access {
    enum access_kind kind;
    int bytes;    /* bytes of a lane's vector; for matrices, of a row (16) */
    int elements; /* elements of a lane's vector; for matrices, of a 32-bit register */
    int vector_bits;
    bool single; /* no two registers of a thread hold the same element; false: not known */
    int32_t vector[ACCESS_VECTOR_BITS]; /* weights in reg of the 1st, 2nd, 4th, … next element in
                                     * memory */
    int matrices;                       /* matrices of an instruction: 1, 2 or 4 */
    int32_t matrix[2];                  /* weights in reg that distinguish the matrices */
    int64_t instructions;               /* of all warps, for the whole tile */
    int64_t wavefronts, least;          /* of all warps; least: without conflicts */
};

/* Finds digits of reg that run over 1, 2, 4, … consecutive, aligned values of result j, at most
 * `most` values. weights: their weights in reg. For global accesses pass the register layout
 * itself and its last axis. */
int layout_vector(const struct layout *l, int j, int most, int32_t *weights, int *bits);
/* Returns true if the digit is a bit that moves result j by `value` and nothing else. */
bool layout_moves_only(const struct layout *l, const struct layout_digit *d, int j, int32_t value);
/* Gives the register layout with vectors of `vector` values along result j; each warp holds the
 * same elements as before (layout_widen.c). Returns false if there is none. */
bool layout_widen(const struct layout *l, int j, int vector, struct layout *out);

/* The share of one counter's value in a place. */
struct place_share {
    int32_t xor, add;
};
/* Returns the share of a value of the counter `axis` in result j. */
struct place_share layout_share(const struct layout *l, int j, enum layout_axis axis,
                                int32_t value);

/* The lanes' shares in a coordinate that some registers have outside of the tile. */
struct layout_mask {
    int result;
    int32_t xors, least, most; /* all bits that they xor; the least and the most that they add */
    struct place_share lane[LAYOUT_LANES];
};

/* A register tile and a shared layout, combined once for all the ways of moving elements between
 * them. Points to `regs` and `memory`. */
struct layout_meeting {
    const struct layout *regs, *memory;
    int bits;    /* of an element */
    bool linear; /* composed is there */
    bool single; /* no two registers of a thread hold the same element */
    int masks;   /* 0: all registers of all lanes hold elements */
    struct layout composed;
    struct place_share lane[LAYOUT_LANES];
    struct layout_mask mask[LAYOUT_OUTS];
};
void layout_meet(struct layout_meeting *m, const struct layout *regs, const struct layout *memory,
                 int bits);
/* See layout_access_lanes and layout_access_matrix below. */
void layout_meeting_lanes(const struct layout_meeting *m, int most, struct access *out);
bool layout_meeting_matrix(const struct layout_meeting *m, bool trans, struct access *out);

/* Plans the store of a register tile to shared memory at `memory`, or the load from it, in the
 * widest vectors of at most `most` bytes. bits: of an element, at least 1. Registers that hold
 * the same element are moved once. */
void layout_access_lanes(const struct layout *regs, const struct layout *memory, int bits, int most,
                         struct access *out);
/* Plans the same by ldmatrix or stmatrix. Returns false if the fragment is not theirs, if rows
 * are not 16 consecutive bytes, or if a mask cuts a matrix. If masks leave an instruction out
 * for a warp, all of its elements are masked. */
bool layout_access_matrix(const struct layout *regs, const struct layout *memory, int bits,
                          bool trans, struct access *out);

/* Gives the byte addresses of one instruction of an access in the order in which the lanes give
 * them. reg: a base register. Returns the active lanes. */
uint32_t layout_access_addresses(const struct layout *regs, const struct layout *memory, int bits,
                                 const struct access *access, int32_t reg, int32_t warp,
                                 uint32_t address[LAYOUT_LANES]);
/* Returns true if `reg` is the base register of an instruction. */
bool layout_access_base(const struct layout *regs, const struct access *access, int32_t reg);

/* Returns the sectors of a global access of a register tile: place = sum of coordinate * stride
 * (in elements) in an array that starts at a multiple of 32 bytes. The vectors are those that
 * layout_vector finds along the last axis, at most 16 bytes. */
int64_t layout_sectors(const struct layout *regs, const int64_t *strides, int bits,
                       int64_t *instructions);

/* --- Addresses as instructions compute them --- */

/* A composed layout (reg, lane, warp -> at) as a few pointers that lanes compute once, and a
 * constant for each register:
 *
 *     place = ((lane's and warp's bits ^ variant) + lane's and warp's additions) +
 *             constant */
struct address_split {
    int32_t touched; /* bits of the place that lane, warp or flip may set */
    int variants;    /* pointers needed; 17 for more than 16 */
    int32_t variant[16];
};
void layout_split_addresses(const struct layout *composed, struct address_split *out);
/* Returns the constant of a register, in elements, and gives the number of its pointer. */
int32_t layout_split_constant(const struct layout *composed, const struct address_split *split,
                              int32_t reg, int *variant);

/* --- layout_pointers.c --- */

/* Gives, from a composed layout, that of the rows of 16 bytes whose addresses the lanes supply to a
 * matrix access: lane i supplies row i % 8 of matrix i / 8. */
void layout_access_rows(const struct layout *composed, const struct access *how,
                        struct layout *out);
/* Leaves, of a demoted layout, the digits of counter `in` by which the start of a part moves all of
 * the part's places alike: coordinates in the part stay below `length`. divisor: a number that
 * divides the start; 0: the start is 0. Returns false if the start does more than add. */
bool layout_own_digits(struct layout *demoted, int in, int64_t length, int64_t divisor);

#endif
