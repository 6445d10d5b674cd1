/* Runs kernels from text on the CPU engine. */
#ifndef CPU_HELPER_H
#define CPU_HELPER_H

#include "cpu/program.h"

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
    struct cpu_program *program;
    const char *why; /* when there is no program */
    struct cpu_argument args[MOST_ARRAYS];
    struct cpu_options options;
    struct platform_pool *pool; /* of the latest cpu_go */
    struct cpu_fault fault;
    char printed[4096];
    size_t printed_length;
    int line; /* of the fault */
};

/* The first kernel of the text, through all passes but the synchronisation check, with that set of
 * routines (NULL: the best). Static parameters are compiled in. Anything wrong with the text fails
 * the test. */
void cpu_open_with(struct cpu_run *r, const char *text, const struct given *given,
                   const struct routine_set *set);
void cpu_open(struct cpu_run *r, const char *text, const struct given *given);
/* The same, `plain`: without the engine's short cuts (program.h). */
void cpu_open_plain(struct cpu_run *r, const char *text, const struct given *given,
                    const struct routine_set *set, bool plain);
/* cpu_open with nothing but the variance pass. */
void cpu_open_raw(struct cpu_run *r, const char *text, const struct given *given);
void cpu_close(struct cpu_run *r);

/* An array for a pointer parameter; `bytes` are zero. One of whole lines of the cache begins with
 * one. */
void *cpu_array(struct cpu_run *r, const char *name, size_t bytes);
/* Launches on `threads` workers. */
enum cpu_fault_kind cpu_go(struct cpu_run *r, int threads);

/* The next random number, 0 to below - 1. */
uint32_t cpu_draw(uint32_t *seed, uint32_t below);

#endif
