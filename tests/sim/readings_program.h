/* A program that runs instructions, each with every choice of its modifiers, on generated
 * operands, and writes down what they give: run on a GPU it makes the readings that the
 * simulator is held to. Value, lane, atomic and matrix instructions (readings_program.c), and
 * those that move data (readings_memory.c). */
#ifndef READINGS_PROGRAM_H
#define READINGS_PROGRAM_H

#include "ptx/ptx.h"

enum {
    READING_THREADS = 256,
    READING_CLASSES = 10,  /* kinds of operands, see readings_program.c */
    READING_OPERANDS = 12, /* of an instruction */
    READING_GROUP = 40,    /* instructions of a kernel */
    READING_WORDS = 32     /* bytes of a kernel's third parameter */
};

/* One result of one instruction, of every thread: `bytes` each, one after the other. */
struct reading {
    /* The instruction as PTX, and behind it what tells its readings apart: "lop3.b32 27",
     * "shfl.sync.up.b32 #1". */
    const char *key;
    enum ptx_op op;
    int bytes;
    bool approximate; /* .approx, .full, sums of matrix units: PTX gives a bound or nothing */
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
    VEC(const char *) instructions; /* that are read, as PTX without operands */
};

/* For a target: all forms that it has. */
void readings_make(struct readings *r, struct arena *a, struct ptx_target target);
/* [class][operand][thread]; the kernels' third parameter are the first bytes of it. */
void readings_operands(uint64_t *operands);

#endif
