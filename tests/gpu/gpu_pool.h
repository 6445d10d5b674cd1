/* Items of work over processes: a driver assembles one program after the other in a process, and a
 * fault of a kernel ends all work of a process with the GPU. */
#ifndef GPU_POOL_H
#define GPU_POOL_H

#include <stdbool.h>

enum { POOL_TARGET = 16 };

enum outcome {
    OUTCOME_SAME,    /* as the CPU engine has it */
    OUTCOME_WITHIN,  /* not the same, but within the bounds of the kernel's `ensures` */
    OUTCOME_REFUSED, /* the target lacks something that the host has: registers, shared memory */
    OUTCOME_WRONG,
    OUTCOMES
};

struct pool {
    int count;   /* items, numbered from 0 */
    int grain;   /* neighbours that one process takes, since they have something in common */
    int jobs;    /* processes; 0: none but this one, as debuggers and sanitizers want it */
    int seconds; /* that an item may take */
    /* Called in the processes. What it prints is shown if the outcome is OUTCOME_WRONG, and the
     * process is then replaced by another. */
    enum outcome (*run)(int item);
    void (*print_name)(int item);
};

/* Does all of them, and prints what went wrong, each with its name. */
void pool_run(const struct pool *p, int counts[OUTCOMES]);

/* The target of the GPU that is here, "sm_90"; false, and why in a sentence on standard output:
 * there is none. With jobs, asked by a process of its own: this one could not be forked any
 * more. */
bool pool_target(int jobs, char target[POOL_TARGET]);

/* What a test program ends with: 0; 1 if something is wrong, or more than a twentieth was refused.
 * Prints the counts; `what` has been done. */
int pool_verdict(const int counts[OUTCOMES], const char *what);

/* Without a GPU: ctest's SKIP_RETURN_CODE. */
enum { POOL_SKIPPED = 77 };

#endif
