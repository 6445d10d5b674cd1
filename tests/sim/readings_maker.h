/* What the files that make the program of readings share. */
#ifndef READINGS_MAKER_H
#define READINGS_MAKER_H

#include "base/text.h"
#include "readings_program.h"

/* Kinds of operands, 64 bits each: pairs of f32, four halves (f16 and bf16 alike), … */
enum {
    INTEGERS,
    ANY_F32,
    ANY_F64,
    ANY_HALF,
    SMALL, /* of shifts, lanes */
    MODERATE_F16,
    MODERATE_BF16,
    MODERATE_F32,
    MODERATE_F64,
    MODERATE_BYTES
};

enum { MOST_NAME = 16 };

/* One choice of a form's modifiers. */
struct maker {
    struct readings *r;
    struct ptx_target target;
    const struct ptx_form *form;
    const uint16_t *mods;
    size_t count;
    const char *head;     /* the instruction without operands */
    int choice;           /* its number among the form's */
    int immediate;        /* its constant operand; -1: it has none */
    int names;            /* of registers: so many were taken in this kernel */
    int in_group;         /* instructions of this kernel */
    int sources, results; /* operands so far that were loaded, readings so far */
    bool memory;          /* this kernel has the places of readings_memory.c */
    bool spoilt;          /* it turned out to be none of these */
    /* of mma: registers of the sum */
    char sum[16][MOST_NAME];
    int sums, sum_bits;
    enum ptx_mod sum_type;
    struct text body; /* of the kernel */
};

bool maker_has(const struct maker *m, enum ptx_mod mod);
enum ptx_mod maker_type(const struct maker *m, int nth);
/* The n-th modifier of a class. */
enum ptx_mod maker_find(const struct maker *m, int class, int nth);
int maker_bits(const struct maker *m, uint16_t type); /* of a type or a TYPE_NTH */
/* A new register of so many bits; 128 and up to 8: kernels with memory only. */
void maker_register(struct maker *m, int bits, char name[MOST_NAME]);
/* A register with the next operand of a class in it. */
void maker_load(struct maker *m, int class, int bits, char name[MOST_NAME]);
/* A predicate with the next operand's bit. */
void maker_predicate(struct maker *m, char name[MOST_NAME]);
/* The class of a matrix's elements. */
int maker_factor_class(enum ptx_mod type);
/* A new reading, its place among all; %dat becomes the thread's place less that. */
size_t maker_reading(struct maker *m, const char *suffix, int bytes, enum ptx_mod type);
/* A reading of a register. */
void maker_keep(struct maker *m, const char *suffix, int bits, const char *reg, enum ptx_mod type);
/* The instruction's line is complete, with its operands. */
void maker_line(struct maker *m, const char *operands);

/* --- readings_memory.c --- */

/* Is the choice one of an instruction that moves data, and of those that are taken? Then takes
 * it, in a kernel with places. */
bool maker_is_memory(const struct maker *m);
void maker_take_memory(struct maker *m);
/* The places that its instructions work on, at a kernel's start; outside of kernels. */
void maker_places(struct text *out);
void maker_constants(struct text *out);

#endif
