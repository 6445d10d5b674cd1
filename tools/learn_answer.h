/* A program that answers a puzzle, a learner's or ours: opened, held against the starter's signature,
 * run on a case. */
#ifndef TW_LEARN_ANSWER_H
#define TW_LEARN_ANSWER_H

#include "learn_arrays.h"
#include "learn_problems.h"
#include "learn_puzzle.h"
#include "tilewright_sim.h"

struct cuda_program {
    char *defines; /* "-DSIZE=4 -DTPB=3": what it was compiled with */
    tw_ptx *ptx;
    const char *kernel;
};

struct answer {
    enum language language;
    char *path, *text; /* as messages call it; what is in it */
    tw_context *ctx;   /* not its own */
    /* .tile */
    bool simulated_only; /* never run on the CPU engine */
    tw_module *module;
    tw_kernel *kernel, *gpu_kernel;
    tw_launch *launch, *gpu_launch; /* for the case at hand */
    /* CUDA C */
    const char *compiler; /* NULL: the one that is found */
    bool embedded;        /* it is in no file of the user's */
    char *said;           /* by the compiler of a program that it took; NULL: nothing */
    char *folder;         /* where the text had to be written to; NULL: nowhere */
    struct cuda_program *programs;
    int program_count;
    const struct cuda_program *program; /* for the case at hand, as what follows */
    tw_ptx_argument *arguments;
    uint64_t *values;
    tw_ptx_launch ptx_launch;
};

/* A case, with sizes and arrays as the solution's kernel has them. */
struct case_at_hand {
    const struct cases *cases;
    const struct puzzle_case *at;
    tw_kernel *kernel; /* of solution.tile */
    tw_launch *launch; /* prepared */
    struct case_arrays arrays;
};

/* How it is run. On the CPU engine (.tile), or simulated. */
struct answer_run {
    bool on_cpu;
    unsigned watch;
    uint64_t seed;
    bool late;
    int64_t step_limit;
};

/* Takes the text; path is where it is, NULL: it is ours. */
void answer_begin(struct answer *a, enum language language, const char *path, char *text,
                  tw_context *ctx);
void answer_end(struct answer *a);
/* Compiles a .tile file and finds the kernel of that name (NULL: its first). false: with
 * problems. */
bool answer_open(struct answer *a, const char *kernel, struct problems *problems);
/* Whether a .tile file's kernel has the other's parameters, and the tuned values of cases. */
bool answer_fits(const struct answer *a, tw_kernel *other, const struct cases *cases,
                 struct problems *problems);
/* Gives it sizes and arrays, and compiles it for them. STATUS_OK, with problems or without;
 * STATUS_USAGE after a message: there is no compiler. */
int answer_take(struct answer *a, const struct case_at_hand *c, struct problems *problems);
/* Whether it says what a thread does; else, what a block does with tiles. */
bool answer_by_thread(const struct answer *a);
/* Whether it came to its end, with problems or without. result: of a simulation, valid until the
 * next. */
bool answer_run(struct answer *a, const struct answer_run *how, tw_sim_result *result,
                struct problems *problems);
/* Returns how many of its warps a multiprocessor of an A100 holds at the same time, in the case at hand; 0: not known. */
int64_t answer_resident_warps(struct answer *a);
/* Blocks of the grid and threads of a block of a .tile kernel. */
bool answer_launch(struct answer *a, int64_t *blocks, int *threads);

/* "FILE:LINE: error: MESSAGE" and the source line; line 0: without a place. The caller frees. */
char *answer_message(const struct answer *a, int line, const char *message);

/* --- learn_sizes.c --- */

struct judged_case;
/* Lists the sizes, tuned values and types that cases give. */
void case_list_sizes(const struct case_at_hand *c, struct judged_case *to);
/* "n = 67, TPB = 32": those, and of hidden cases data that is listed. The caller frees. */
char *case_sizes(const struct case_at_hand *c, const struct judged_case *judged);
/* The value of an expression over those; NULL or what is wrong. `solution`: of that name. */
const char *case_formula(const struct case_at_hand *c, const char *text, double solution,
                         double *out);

#endif
