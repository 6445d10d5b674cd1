/* A program that runs instructions, each with every combination of its modifiers, on generated
 * operands, and stores their results. Run on a GPU, it makes the readings that the simulator is
 * compared with. It has value, lane, atomic and matrix instructions (readings_program.c), and
 * those that move data (readings_memory.c). */
#ifndef READINGS_PROGRAM_H
#define READINGS_PROGRAM_H

#include "ptx/ptx.h"

enum {
    READING_THREADS = 256,
    READING_CLASSES = 10,  /* kinds of operands, see readings_program.c */
    READING_OPERANDS = 12, /* of an instruction */
    READING_GROUP = 40,    /* most instructions of a kernel */
    READING_WORDS = 32     /* bytes of a kernel's third parameter */
};

/* One result of one instruction, for every thread: `bytes` each, one after the other. */
struct reading {
    /* The instruction as PTX, and after it a suffix if it has several readings: "lop3.b32 27",
     * "shfl.sync.up.b32 #1". */
    const char *key;
    enum ptx_op op;
    int bytes;
    bool approximate; /* .approx, .full, sums of matrix units: PTX gives a bound or none */
    enum ptx_mod type;
    size_t offset; /* in the readings */
    int kernel;
};

struct readings {
    struct arena *arena;
    struct text ptx; /* kernels group_0 … (u64 out, u64 operands, b8 words[READING_WORDS]) */
    int kernels;
    size_t bytes; /* of all readings */
    VEC(struct reading) list;
    VEC(const char *) instructions; /* those that are read, as PTX without operands */
};

/* Makes the program for a target: all forms that it has. */
void readings_make(struct readings *r, struct arena *a, struct ptx_target target);
/* Fills [class][operand][thread]; its first bytes are the kernels' third parameter. */
void readings_operands(uint64_t *operands);

#endif
