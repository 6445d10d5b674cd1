/* Distributes items of work over processes, because the driver assembles one program at a time
 * in a process, and a kernel's fault ends all GPU work of its process. */
#ifndef GPU_POOL_H
#define GPU_POOL_H

#include <stdbool.h>

enum { POOL_TARGET = 16 };

enum outcome {
    OUTCOME_SAME,    /* the same as on the CPU engine */
    OUTCOME_WITHIN,  /* different, but within the bounds of the kernel's `ensures` */
    OUTCOME_REFUSED, /* the target lacks a resource that the host has: registers, shared memory */
    OUTCOME_WRONG,
    OUTCOMES
};

struct pool {
    int count;   /* items, numbered from 0 */
    int grain;   /* neighbours that one process takes, because they share work */
    int jobs;    /* processes; 0: none but this one, for debuggers and sanitizers */
    int seconds; /* limit for an item */
    /* Runs in the processes. Its output is shown if the outcome is OUTCOME_WRONG, and another
     * process then replaces this one. */
    enum outcome (*run)(int item);
    void (*print_name)(int item);
};

/* Runs all items, and prints each failure with its name. */
void pool_run(const struct pool *p, int counts[OUTCOMES]);

/* Gives the target of this machine's GPU, "sm_90". Returns false, with the reason in a sentence
 * on standard output, if there is none. With jobs, a process of its own asks the driver, because
 * this one could not be forked afterwards. */
bool pool_target(int jobs, char target[POOL_TARGET]);

/* Returns the exit status of a test program: 0; 1 if something is wrong, or more than a
 * twentieth was refused. Prints the counts; `what` names the work. */
int pool_verdict(const int counts[OUTCOMES], const char *what);

/* Without a GPU: ctest's SKIP_RETURN_CODE. */
enum { POOL_SKIPPED = 77 };

#endif
