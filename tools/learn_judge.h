/* The judge of puzzles: an answer on all cases, on the CPU engine and in the simulator with all its
 * checks, compared with what the solution's `ensures` says. */
#ifndef TW_LEARN_JUDGE_H
#define TW_LEARN_JUDGE_H

#include "learn_answer.h"

/* An array of a case. */
struct shown_array {
    char *name;
    tw_array array, expected; /* owned copies; `expected` of outputs alone: rank -1 elsewhere */
    bool known;               /* `array` of an output: the answer ran */
    bool given;               /* the case says what it holds before a run */
    bool *wrong, *unwritten;  /* of each element */
};

/* A name that a case gives a value: a parameter, a tuned name, a type variable. */
struct case_size {
    enum size_kind { SIZE_SET, SIZE_TUNE, SIZE_TYPE } kind;
    char *name, *value;
};

extern const char *const size_options[]; /* of a kind, that of `run`: "set" */

struct judged_case {
    bool shown;
    enum case_state { CASE_NOT_TRIED, CASE_PASSED, CASE_FAILED } state;
    struct case_size *sizes;
    int size_count;
    struct shown_array *arrays; /* of shown cases, and of the one that failed */
    int array_count;
};

/* The counts of an answer's runs, and of the solution's. */
struct counts {
    int64_t answer, solution;
    double limit; /* HUGE_VAL: there is none, as the solution's count is 0 */
};
struct counted {
    char *counter, *why;
    bool at_least;      /* the limit is a lower one */
    bool by_default;    /* a limit of every puzzle */
    bool known;         /* of one case at least */
    bool beyond;        /* the limit is not kept in the latest case */
    struct counts all;  /* joined over all cases that were counted */
    struct counts here; /* of the latest of them */
};

struct judgement {
    bool passed;
    int cases, tried;         /* tried: the last of them is the one that failed */
    bool shown;               /* that one */
    char *sizes;              /* of that one, or "" before the first */
    struct problems problems; /* of that one */
    bool ran, right;          /* its first run came to an end; all that did had the right values */
    char *wrong_values;       /* what is wrong with the values, a sentence; NULL: nothing */
    struct judged_case *judged; /* `cases` of them */
    char *warnings;             /* of the compiler; NULL: none */
    char *printed;              /* by print() in the first case; NULL: nothing */
    bool prints;                /* in any case */
    bool prints_count;          /* towards limits: the answer could not be run without them */
    struct counted *counters;   /* that have limits */
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
    bool all_cases;          /* lays out the cases that are not tried, too */
};

/* STATUS_OK: judged, judgement_free. Else a status after a message. */
int judge(const struct judge_options *o, struct judgement *out);
/* Lays out the case of that number, from 1, with its arrays as they are before a run. The hash of o->text
 * draws the sizes of a random case; `sizes` replace those of the case. *cases is the number of cases.
 * STATUS_OK: judged_case_free. Else a status after a message. */
int judge_lay_out(const struct judge_options *o, int number, const struct puzzle_case *sizes,
                  struct judged_case *out, int *cases);
void judgement_free(struct judgement *x);

/* The case that was tried last; NULL: none was. */
struct judged_case *judgement_case(const struct judgement *x);
/* The answer passes, and no counter is worse than the solution's, over all cases. */
bool judgement_at_solution(const struct judgement *x);

#endif
