/* A learner's progress: a file of the user, with a line a puzzle. It is written as a whole, so
 * that a killed process leaves either the old or the new file. A change locks the file and reads
 * it again, so that no process overwrites what another has recorded meanwhile. */
#ifndef TW_LEARN_PROGRESS_H
#define TW_LEARN_PROGRESS_H

#include <stdbool.h>

struct step {
    char *puzzle; /* "14_single_block_matmul" */
    bool passed;
    bool at_solution; /* passed, with no counter worse than the solution's */
    bool cuda;        /* passed in CUDA C */
    bool solution;    /* it was shown */
    int tries, hints; /* hints that were given */
};

struct learnt {
    char *path; /* $TILEWRIGHT_LEARN, else tilewright/learn in $XDG_DATA_HOME or ~/.local/share;
               * NULL: none of them is known */
    struct step *list;
    int count;
    int lock;     /* the file, locked; -1: not */
    char *target; /* if locked: path with links resolved */
    unsigned mode;
};

void learnt_read(struct learnt *l); /* no file, nothing learnt */
void learnt_free(struct learnt *l);
/* Returns the step of a puzzle, and adds it if there is none; valid until the next call. */
struct step *learnt_step(struct learnt *l, const char *puzzle);
/* Forgets a puzzle; NULL: all. */
void learnt_forget(struct learnt *l, const char *puzzle);
/* Locks the file before a change: waits for another process that changes it, and reads the file
 * again, which frees earlier steps. If the file cannot be locked, prints a message to standard
 * error and returns false. */
bool learnt_lock(struct learnt *l);
/* Writes the file after a change, and unlocks it; on failure, acts as learnt_lock does. Writes
 * nothing without a lock, or to /dev/null. */
bool learnt_write(struct learnt *l);

#endif
