/* The judge of puzzles: an answer on all cases, on the CPU engine and in the simulator with all its
 * checks, compared with what the solution's `ensures` says. */
#ifndef TW_LEARN_JUDGE_H
#define TW_LEARN_JUDGE_H

#include "learn_answer.h"

/* An array of a shown case, or an output of a hidden one. */
struct shown_array {
    char *name;
    tw_array array, expected; /* owned copies; `expected` of outputs alone: rank -1 elsewhere */
    bool *wrong;              /* of each element */
};

/* What an answer's runs counted, and the solution's, over all cases that it passed. */
struct counted {
    char *counter;
    int64_t answer, solution;
    bool known;      /* of one case at least */
    bool by_default; /* a limit of every puzzle */
};

struct judgement {
    bool passed;
    int cases, tried;         /* tried: the last of them is the one that failed */
    bool shown;               /* that one */
    char *sizes;              /* of that one, or "" before the first */
    struct problems problems; /* of that one */
    bool ran, right;          /* its first run came to an end; all that did had the right values */
    char *wrong_values;       /* what is wrong with the values, a sentence; NULL: nothing */
    struct shown_array *arrays;
    int array_count;
    char *warnings;           /* of the compiler; NULL: none */
    char *printed;            /* by print() in the first case; NULL: nothing */
    bool prints;              /* in any case */
    bool prints_count;        /* towards limits: the answer could not be run without them */
    struct counted *counters; /* that have limits */
    int counter_count;
    bool is_starter;  /* nobody has changed it */
    bool own_ensures; /* its `ensures` is not the starter's, and was not asked */
};

struct judge_options {
    const struct puzzle *puzzle;
    enum language language;
    const char *path, *text; /* of the answer */
    const char *compiler;    /* of CUDA C; NULL: the one that is found */
    bool colour;             /* in messages */
};

/* STATUS_OK: judged, judgement_free. Else a status after a message. */
int judge(const struct judge_options *o, struct judgement *out);
void judgement_free(struct judgement *x);

#endif
