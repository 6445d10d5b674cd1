/* A program that answers a puzzle, the learner's or the solution: opens it, compares it with the
 * starter's signature, and runs it on a case. */
#ifndef TW_LEARN_ANSWER_H
#define TW_LEARN_ANSWER_H

#include "learn/learn_arrays.h"
#include "learn/learn_problems.h"
#include "learn/learn_puzzle.h"
#include "tilewright_sim.h"

struct cuda_program {
    char *defines; /* "-DSIZE=4 -DTPB=3": its macros */
    tw_ptx *ptx;
    const char *kernel;
};

struct answer {
    enum language language;
    char *path, *text; /* name in messages; content */
    tw_context *ctx;   /* not its own */
    /* .tile */
    bool simulated_only; /* never run on the CPU engine */
    tw_module *module;
    tw_kernel *kernel, *gpu_kernel;
    tw_launch *launch, *gpu_launch; /* for the present case */
    /* CUDA C */
    const char *compiler; /* NULL: the one that is found */
    bool embedded;        /* not from a file of the user */
    char *said;           /* compiler's messages about a valid program; NULL: none */
    char *folder;         /* temporary folder with the text; NULL: none */
    struct cuda_program *programs;
    int program_count;
    const struct cuda_program *program; /* for the present case, like the next fields */
    tw_ptx_argument *arguments;
    uint64_t *values;
    tw_ptx_launch ptx_launch;
};

/* Present case, with sizes and arrays for the solution's kernel. */
struct case_at_hand {
    const struct cases *cases;
    const struct puzzle_case *at;
    tw_kernel *kernel; /* of solution.tile */
    tw_launch *launch; /* prepared */
    struct case_arrays arrays;
};

/* Settings of a run: on the CPU engine (.tile), or simulated. */
struct answer_run {
    bool on_cpu;
    unsigned watch;
    uint64_t seed;
    bool late;
    int64_t step_limit;
};

/* Begins an answer; takes ownership of the text. `path` is its file; NULL: the program's own
 * text. */
void answer_begin(struct answer *a, enum language language, const char *path, char *text,
                  tw_context *ctx);
void answer_end(struct answer *a);
/* Compiles a .tile file and finds the kernel of that name (NULL: its first). Returns false after
 * adding problems. */
bool answer_open(struct answer *a, const char *kernel, struct problems *problems);
/* Returns whether a .tile file's kernel has the other's parameters, and the tuned values of
 * `cases`. */
bool answer_fits(const struct answer *a, tw_kernel *other, const struct cases *cases,
                 struct problems *problems);
/* Gives the answer sizes and arrays, and compiles it for them. Returns STATUS_OK, with or
 * without problems. Returns STATUS_USAGE after printing a message if there is no compiler. */
int answer_take(struct answer *a, const struct case_at_hand *c, struct problems *problems);
/* Returns whether the answer is written for a thread, rather than for a block with tiles. */
bool answer_by_thread(const struct answer *a);
/* Runs the answer. Returns whether it finished, with or without problems. `result` describes a
 * simulation; it is valid until the next. */
bool answer_run(struct answer *a, const struct answer_run *how, tw_sim_result *result,
                struct problems *problems);
/* Returns how many of the answer's warps reside on a multiprocessor of an A100 at the same time,
 * in the present case; 0: not known. */
int64_t answer_resident_warps(struct answer *a);
/* Returns the blocks of the grid and the threads of a block of a .tile kernel. */
bool answer_launch(struct answer *a, int64_t *blocks, int *threads);

/* Returns "FILE:LINE: error: MESSAGE" and the source line; line 0: no place. The caller frees. */
char *answer_message(const struct answer *a, int line, const char *message);

/* --- learn_sizes.c --- */

struct judged_case;
/* Lists the sizes, tuned values and types that a case gives. */
void case_list_sizes(const struct case_at_hand *c, struct judged_case *to);
/* Returns those values as text: "n = 67, TPB = 32"; for a hidden case, adds listed data. The
 * caller frees. */
char *case_sizes(const struct case_at_hand *c, const struct judged_case *judged);
/* Evaluates an expression over those values; the name `solution` has the given value. Returns
 * NULL or a message. */
const char *case_formula(const struct case_at_hand *c, const char *text, double solution,
                         double *out);

#endif
