/* Runs kernels from text on the CPU engine. */
#ifndef CPU_HELPER_H
#define CPU_HELPER_H

#include "cpu/program.h"
#include "tile/passes.h"

/* A scalar parameter's value. */
struct given {
    const char *name;
    int64_t value;
};

enum { MOST_ARRAYS = 16 };

struct cpu_run {
    struct arena arena;
    struct diag diag;
    struct source source;
    struct kernel *kernel;
    struct joined_kernel joined[MOST_JOINED]; /* set by the pass `join` */
    int joined_count;
    struct cpu_program *program;
    const char *why; /* the reason, if there is no program */
    struct cpu_argument args[MOST_ARRAYS];
    struct cpu_options options;
    struct platform_pool *pool; /* the workers of the latest cpu_go */
    struct cpu_fault fault;
    char printed[4096];
    size_t printed_length;
    int line; /* of the fault */
};

/* Compiles the first kernel of the text, with all passes except the synchronisation check, for
 * that set of routines (NULL: the best). Static parameters are compiled in. Any error in the
 * text fails the test. */
void cpu_open_with(struct cpu_run *r, const char *text, const struct given *given,
                   const struct routine_set *set);
void cpu_open(struct cpu_run *r, const char *text, const struct given *given);
/* As cpu_open_with, but if `plain` without the engine's short cuts (program.h). */
void cpu_open_plain(struct cpu_run *r, const char *text, const struct given *given,
                    const struct routine_set *set, bool plain);
/* As cpu_open_plain, without the passes that change tiles for the host: the steps are those of the
 * text. */
void cpu_open_as_written(struct cpu_run *r, const char *text, const struct given *given);
/* As cpu_open, with the variance pass alone. */
void cpu_open_raw(struct cpu_run *r, const char *text, const struct given *given);
/* Replaces the program by one that is loaded from its image, as a program without the compiler
 * runs it. */
void cpu_take_image(struct cpu_run *r);
void cpu_close(struct cpu_run *r);

/* Gives a pointer parameter an array of `bytes` zeros. If it fills whole cache lines, it begins
 * at one. */
void *cpu_array(struct cpu_run *r, const char *name, size_t bytes);
/* Launches on `threads` workers. */
enum cpu_fault_kind cpu_go(struct cpu_run *r, int threads);

/* Runs the text with n rows of `a` and `c`, each role first in turn, with the short cuts and without
 * them, and calls `check` on the rows. */
enum { ORDER_WIDTH = 16 }; /* elements of a row */
void cpu_check_orders(const char *text, int n,
                      void (*check)(const int32_t *a, const int32_t *c, int n));

/* The outcome of a run: its fault, and the arrays that the kernel may write, by parameter. */
enum { OUTCOME_BYTES = 1 << 18 };
struct cpu_outcome {
    struct cpu_fault fault;
    unsigned char bytes[MOST_ARRAYS][OUTCOME_BYTES];
};
/* Keeps `bytes` bytes of each array. */
void cpu_keep_outcome(const struct cpu_run *r, size_t bytes, struct cpu_outcome *out);
/* Fails the test if two runs of the text ended in other ways or left other bits. */
void cpu_expect_same(const struct cpu_outcome *x, const struct cpu_outcome *y, const char *what,
                     int64_t n, const char *text);

/* Gives each pointer parameter an array, and fills those that are not written with small numbers; some
 * are -0. */
void cpu_fill(struct cpu_run *r, size_t bytes);
/* Fills arrays of OUTCOME_BYTES, launches, and keeps the outcome. */
void cpu_run_filled(struct cpu_run *r, int threads, struct cpu_outcome *out);
/* Runs the text as written, in the plain way, and with the passes that change tiles for the host, with
 * every set of routines; the joined blocks too, if there are any. Fails the test if they differ.
 * Returns whether there are joined blocks. */
bool cpu_expect_as_written(const char *text, int64_t n);

/* Returns the next random number, 0 to below - 1. */
uint32_t cpu_draw(uint32_t *seed, uint32_t below);

#endif
