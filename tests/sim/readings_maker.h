/* Shared declarations of the files that make the program of readings. */
#ifndef READINGS_MAKER_H
#define READINGS_MAKER_H

#include "base/text.h"
#include "readings_program.h"

/* Kinds of operands, 64 bits each: pairs of f32, four halves (the same bits for f16 and bf16), … */
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

/* One combination of a form's modifiers. */
struct maker {
    struct readings *r;
    struct ptx_target target;
    const struct ptx_form *form;
    const uint16_t *mods;
    size_t count;
    const char *head;     /* the instruction without operands */
    int choice;           /* its number among the form's combinations */
    int immediate;        /* its constant operand; -1: none */
    int names;            /* number of registers that this kernel uses */
    int in_group;         /* instructions of this kernel */
    int sources, results; /* operands loaded so far, readings so far */
    bool memory;          /* this kernel has the places of readings_memory.c */
    bool spoilt;          /* the combination cannot be read */
    /* of mma: registers of the sum */
    char sum[16][MOST_NAME];
    int sums, sum_bits;
    enum ptx_mod sum_type;
    struct text body; /* of the kernel */
};

bool maker_has(const struct maker *m, enum ptx_mod mod);
enum ptx_mod maker_type(const struct maker *m, int nth);
/* Returns the n-th modifier of a class. */
enum ptx_mod maker_find(const struct maker *m, int class, int nth);
int maker_bits(const struct maker *m, uint16_t type); /* bits of a type or a TYPE_NTH */
/* Names a new register of `bits` bits; 128 and up to 8: in kernels with memory only. */
void maker_register(struct maker *m, int bits, char name[MOST_NAME]);
/* Loads the next operand of a class into a register. */
void maker_load(struct maker *m, int class, int bits, char name[MOST_NAME]);
/* Sets a predicate to the next operand's bit. */
void maker_predicate(struct maker *m, char name[MOST_NAME]);
/* Returns the class of a matrix's elements. */
int maker_factor_class(enum ptx_mod type);
/* Adds a reading and returns its place among all; %dat becomes the thread's place minus it. */
size_t maker_reading(struct maker *m, const char *suffix, int bytes, enum ptx_mod type);
/* Adds a reading of a register. */
void maker_keep(struct maker *m, const char *suffix, int bits, const char *reg, enum ptx_mod type);
/* Ends the instruction's line, with its operands. */
void maker_line(struct maker *m, const char *operands);

/* --- readings_memory.c --- */

/* If the combination is of an instruction that moves data and can be read, adds its readings, in
 * a kernel with places, and returns true. */
bool maker_is_memory(const struct maker *m);
void maker_take_memory(struct maker *m);
/* Writes the places that its instructions work on: those at a kernel's start, and those outside
 * of kernels. */
void maker_places(struct text *out);
void maker_constants(struct text *out);

#endif
