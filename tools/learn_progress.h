/* How far a learner is: a file of the user's, a line a puzzle. It is written as a whole, so that
 * whoever is killed leaves the old one or the new one, and under a lock, in which it is read again,
 * so that nobody writes over what another has passed meanwhile. */
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
    char *
        path; /* $TILEWRIGHT_LEARN, else tilewright/learn in $XDG_DATA_HOME or ~/.local/share; NULL:
                 * none of them is known */
    struct step *list;
    int count;
    int lock;     /* the file, locked; -1: not */
    char *target; /* then: where links lead to */
    unsigned mode;
};

void learnt_read(struct learnt *l); /* no file, nothing learnt */
void learnt_free(struct learnt *l);
/* The step of a puzzle, made if there is none; valid until the next call. */
struct step *learnt_step(struct learnt *l, const char *puzzle);
/* Forgets a puzzle; NULL: all. */
void learnt_forget(struct learnt *l, const char *puzzle);
/* Before a change: waits for whoever changes it, and reads it again; steps from before are gone.
 * Says on standard error if it cannot be kept; false then. */
bool learnt_lock(struct learnt *l);
/* After it; the same. Nothing is kept without a lock, or in /dev/null. */
bool learnt_write(struct learnt *l);

#endif
