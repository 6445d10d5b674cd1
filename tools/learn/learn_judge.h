/* Judges answers to puzzles: runs an answer on all cases, on the CPU engine and in the simulator
 * with all its checks, and compares the results by the solution's `ensures`. */
#ifndef TW_LEARN_JUDGE_H
#define TW_LEARN_JUDGE_H

#include "learn/learn_answer.h"

/* Array of a case. */
struct shown_array {
    char *name;
    tw_array array, expected; /* owned copies; `expected` for outputs only: rank -1 elsewhere */
    bool known;               /* `array` of an output: the answer ran */
    bool given;               /* the case gives its initial content */
    bool *wrong, *unwritten;  /* of each element */
};

/* Name to which a case gives a value: a parameter, a tuned name, a type variable. */
struct case_size {
    enum size_kind { SIZE_SET, SIZE_TUNE, SIZE_TYPE } kind;
    char *name, *value;
};

extern const char *const size_options[]; /* option of `run` for each kind: "set" */

struct judged_case {
    bool shown;
    enum case_state { CASE_NOT_TRIED, CASE_PASSED, CASE_FAILED } state;
    struct case_size *sizes;
    int size_count;
    struct shown_array *arrays; /* of shown cases, and of the failed one */
    int array_count;
};

/* Counts of the answer's runs and of the solution's. */
struct counts {
    int64_t answer, solution;
    double limit; /* HUGE_VAL: none, because the solution's count is 0 */
};
struct counted {
    char *counter, *why;
    bool at_least;      /* the limit is a lower one */
    bool by_default;    /* a limit of every puzzle */
    bool known;         /* of one case at least */
    bool beyond;        /* exceeded in the latest case */
    struct counts all;  /* joined over all counted cases */
    struct counts here; /* of the latest counted case */
};

struct judgement {
    bool passed;
    int cases, tried;           /* if one failed, it is the last tried one */
    bool shown;                 /* that one */
    char *sizes;                /* of the last one, or "" before the first */
    struct problems problems;   /* of that one */
    bool ran, right;            /* the first run finished; all finished runs had right values */
    char *wrong_values;         /* sentence about the wrong values; NULL: none */
    struct judged_case *judged; /* `cases` of them */
    char *warnings;             /* of the compiler; NULL: none */
    char *printed;              /* by print() in the first case; NULL: nothing */
    bool prints;                /* in any case */
    bool prints_count;          /* prints count towards limits: the answer does not run without
                                 * them */
    struct counted *counters;   /* that have limits */
    int counter_count;
    bool is_starter;  /* unchanged starter */
    bool own_ensures; /* its `ensures` differs from the starter's and was ignored */
};

struct judge_options {
    const struct puzzle *puzzle;
    enum language language;
    const char *path, *text; /* of the answer */
    const char *compiler;    /* for CUDA C; NULL: the one that is found */
    bool colour;             /* in messages */
    bool all_cases;          /* also prepares cases that are not tried */
};

/* Judges an answer. Returns STATUS_OK, and the caller calls judgement_free; otherwise prints a
 * message and returns another status. */
int judge(const struct judge_options *o, struct judgement *out);
/* Prepares the case of that number, from 1, with its arrays as before a run. The hash of o->text
 * determines the sizes of a random case; `sizes` replace those of the case. *cases is the number
 * of cases. Returns STATUS_OK, and the caller calls judged_case_free; otherwise prints a message
 * and returns another status. */
int judge_lay_out(const struct judge_options *o, int number, const struct puzzle_case *sizes,
                  struct judged_case *out, int *cases);
void judgement_free(struct judgement *x);

/* Returns the last tried case, or NULL if there is none. */
struct judged_case *judgement_case(const struct judgement *x);
/* Returns whether the answer passes with no counter worse than the solution's, over all cases. */
bool judgement_at_solution(const struct judgement *x);

#endif
