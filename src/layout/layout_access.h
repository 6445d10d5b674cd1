/* What an access costs, from the maps: how wide its vectors are, how many wavefronts of shared
 * memory, how many sectors of global memory.
 *
 * Shared memory has 32 banks of 4 bytes. A warp's access is served in phases (32-bit: all lanes;
 * 64-bit: two halves; 128-bit: four quarters; ldmatrix and stmatrix: the eight rows of a matrix). A
 * phase takes as many wavefronts as the bank that is asked for most different words (CUDA C++
 * Programming Guide, "Shared Memory"; CUTLASS, implicit_gemm_convolution).
 */
#ifndef TW_LAYOUT_ACCESS_H
#define TW_LAYOUT_ACCESS_H

#include "layout/layout.h"

/* --- From the lanes' addresses, in bytes --- */

/* active: a bit for each lane. bytes: 1, 2, 4, 8 or 16 a lane. 0 where no lane is active. */
int shared_wavefronts(const uint32_t address[LAYOUT_LANES], uint32_t active, int bytes);
/* The same without conflicts: one for each phase that has an active lane. */
int shared_wavefronts_least(uint32_t active, int bytes);
/* Rows of 16 bytes: those of matrix i at [8 i, 8 i + 8). */
int matrix_wavefronts(const uint32_t rows[LAYOUT_LANES], int matrices);
/* Different aligned pieces of 32 bytes that the active lanes touch. */
int global_sectors(const uint64_t address[LAYOUT_LANES], uint32_t active, int bytes);

/* --- From the maps --- */

enum access_kind {
    ACCESS_LANES,       /* ld, st: consecutive elements a lane */
    ACCESS_MATRIX,      /* ldmatrix, stmatrix */
    ACCESS_MATRIX_TRANS /* the same with .trans */
};
extern const char *const access_kind_names[3];

enum { ACCESS_VECTOR_BITS = 7 };

/* How a register tile meets memory. One instruction moves, for some base register, the registers
 * that the weights in vector[] (and, of a matrix access, matrix[]) span: base + weight, each taken
 * or not. */
struct access {
    enum access_kind kind;
    int bytes;    /* of a lane's vector; of a row (16) for matrices */
    int elements; /* of a lane's vector; of a 32-bit register for matrices */
    int vector_bits;
    int32_t
        vector[ACCESS_VECTOR_BITS]; /* weights in reg: 1st, 2nd, 4th, … next element in memory */
    int matrices;                   /* 1, 2 or 4 an instruction */
    int32_t matrix[2];              /* weights in reg that tell the matrices apart */
    int64_t instructions;           /* of all warps, for the tile */
    int64_t wavefronts, least;      /* of all warps; least: without conflicts */
};

/* Digits of reg that run over 1, 2, 4, … consecutive values of result j and are aligned: at most
 * `most` values. weights: theirs in reg. For global accesses take the register layout itself and
 * its last axis. */
int layout_vector(const struct layout *l, int j, int most, int32_t *weights, int *bits);
/* Is the digit a bit that moves result j by `value` and nothing else? */
bool layout_moves_only(const struct layout *l, const struct layout_digit *d, int j, int32_t value);
/* The register layout with vectors of `vector` values along result j, each warp holding what it did
 * (layout_widen.c). False: there is none. */
bool layout_widen(const struct layout *l, int j, int vector, struct layout *out);

/* One counter's share of a place, for one of its values. */
struct place_share {
    int32_t xor, add;
};

/* The same of all coordinates of a tile. */
struct coordinate_share {
    int32_t xor [LAYOUT_OUTS], add[LAYOUT_OUTS];
};

/* A register tile and a shared layout, put together once for all the ways of going from one to the
 * other. Points to `regs` and `memory`. */
struct layout_meeting {
    const struct layout *regs, *memory;
    int bits;    /* of an element */
    bool linear; /* composed is there */
    bool masked; /* registers of some lanes hold nothing */
    struct layout composed;
    struct place_share lane[LAYOUT_LANES];
    struct coordinate_share at[LAYOUT_LANES]; /* where masked */
};
void layout_meet(struct layout_meeting *m, const struct layout *regs, const struct layout *memory,
                 int bits);
/* As layout_access_lanes and layout_access_matrix, below. */
void layout_meeting_lanes(const struct layout_meeting *m, int most, struct access *out);
bool layout_meeting_matrix(const struct layout_meeting *m, bool trans, struct access *out);

/* A register tile stored to or loaded from shared memory at `memory`, in the widest vectors of at
 * most `most` bytes. bits: of an element, at least 1. Registers that hold the same are moved
 * once. */
void layout_access_lanes(const struct layout *regs, const struct layout *memory, int bits, int most,
                         struct access *out);
/* The same by ldmatrix or stmatrix. False where the fragment is not theirs, or rows are not 16
 * consecutive bytes, or a mask cuts a matrix. Where masks leave a warp without some instruction,
 * all of its elements are masked. */
bool layout_access_matrix(const struct layout *regs, const struct layout *memory, int bits,
                          bool trans, struct access *out);

/* The byte addresses of one instruction of an access: as the lanes give them. reg: a base register.
 * Returns the active lanes. */
uint32_t layout_access_addresses(const struct layout *regs, const struct layout *memory, int bits,
                                 const struct access *access, int32_t reg, int32_t warp,
                                 uint32_t address[LAYOUT_LANES]);
/* Is `reg` the base register of an instruction? */
bool layout_access_base(const struct layout *regs, const struct access *access, int32_t reg);

/* Sectors of a global access of a register tile: place = sum of coordinate * stride (in elements)
 * of an array that starts at a multiple of 32 bytes; vectors as layout_vector finds them along the
 * last axis, at most 16 bytes. */
int64_t layout_sectors(const struct layout *regs, const int64_t *strides, int bits,
                       int64_t *instructions);

/* --- Addresses as instructions compute them --- */

/* A composed layout (reg, lane, warp -> at) as a few pointers that lanes compute once and a
 * constant for each register:
 *
 *     place = ((lane's and warp's bits ^ variant) + lane's and warp's additions) +
 * constant */
struct address_split {
    int32_t touched; /* bits of the place that lane, warp or flip may set */
    int variants;    /* pointers needed; more than 16: kept at 17 */
    int32_t variant[16];
};
void layout_split_addresses(const struct layout *composed, struct address_split *out);
/* The constant of a register, in elements, and which pointer it belongs to. */
int32_t layout_split_constant(const struct layout *composed, const struct address_split *split,
                              int32_t reg, int *variant);

#endif
