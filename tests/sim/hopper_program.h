/* Runs the programs of tests/hopper, and mutants of them, on the simulator with all checks. */
#ifndef HOPPER_PROGRAM_H
#define HOPPER_PROGRAM_H

#include "sim/sim.h"
#include "sim/sim_counters.h"

#include <stdbool.h>

enum hopper_kind { HOPPER_MATMUL, HOPPER_ATTENTION };

/* A program of tests/hopper. */
struct hopper_program {
    const char *file; /* "matmul.ptx" */
    enum hopper_kind kind;
    const char *kernel;
    int64_t shared;         /* bytes */
    unsigned cluster, half; /* blocks of a cluster; 2: a copy brings half a tile of B */
};
extern const struct hopper_program hopper_programs[];
extern const int hopper_program_count;

/* Returns the program's PTX, made from thread IR for a .thread file; the caller frees it. */
char *hopper_text(const struct hopper_program *p);

/* How to run it. Sizes: m, n, k of the product; heads, nq, nk of the attention. */
struct hopper_run {
    int size[3];
    unsigned blocks; /* of the product's grid */
    struct sim_options options;
    bool unchecked, shown, traced;
};
struct hopper_outcome {
    enum sim_end end;
    bool right;   /* the values are right, and nothing else was written */
    int findings; /* that fail a check */
    int64_t steps;
    char first[32]; /* kind of the first finding */
    struct sim_counts counts;
    double operations; /* of the tensor cores */
    size_t trace;      /* bytes of the trace of block 0 */
    bool read;         /* the text is a program */
};
struct hopper_outcome hopper_run(const struct hopper_program *p, const char *text,
                                 const struct hopper_run *run);

#endif
