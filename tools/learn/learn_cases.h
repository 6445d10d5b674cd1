/* `cases` of a puzzle: the cases for answers, and limits (docs/learn.md, "Cases and limits"). */
#ifndef TW_LEARN_CASES_H
#define TW_LEARN_CASES_H

#include <stdbool.h>
#include <stdint.h>

struct binding {
    char *name, *text; /* n, "67"; a, "[0,1,2,3]" */
};

struct puzzle_case {
    bool shown;
    struct binding *list;
    int count;
};

struct counter_limit {
    char *counter; /* "global_sectors" */
    bool at_least; /* >=, else <= */
    char *formula;
    char *why;       /* explanation for learners who exceed it; "" */
    bool by_default; /* a limit of every puzzle, not of `cases` */
};

struct forbidden {
    char *word, *why;
};

struct cases {
    char *grid, *block; /* expressions separated by commas; NULL: not given */
    bool launch_free;
    bool same; /* outputs must be bitwise equal in all orders */
    struct puzzle_case *list;
    int count;
    struct counter_limit *limits;
    int limit_count;
    struct forbidden *without; /* words that an answer may not use */
    int without_count;
};

/* Reads `cases`. `seed` determines the sizes of random cases. Returns NULL, or a message with
 * the line, which the caller frees. The caller calls cases_free in either case. */
char *cases_read(struct cases *c, const char *text, uint64_t seed);
void cases_free(struct cases *c);

/* Returns the case's value of the name, or NULL. */
const char *case_value(const struct puzzle_case *c, const char *name);
/* Gives the name a value, which replaces the case's own. */
void case_bind(struct puzzle_case *c, const char *name, const char *text);
/* Returns whether some case gives the name a value. */
bool cases_bind(const struct cases *c, const char *name);
/* Returns whether the puzzle limits the counter. */
bool cases_have_limit(const struct cases *c, const char *counter);

#endif
