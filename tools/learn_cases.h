/* `cases` of a puzzle: what answers are tried on, and limits (docs/learn.md, "Cases and limits"). */
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
    char *why;       /* what is said to who goes beyond it; "" */
    bool by_default; /* not of `cases`: one that every puzzle has */
};

struct forbidden {
    char *word, *why;
};

struct cases {
    char *grid, *block; /* expressions with commas between them; NULL: not given */
    bool launch_free;
    bool same; /* outputs are to be the same to the bit in all orders */
    struct puzzle_case *list;
    int count;
    struct counter_limit *limits;
    int limit_count;
    struct forbidden *without; /* words that an answer may not use */
    int without_count;
};

/* NULL, or what is wrong, with the line; the caller frees it. cases_free in either case. seed: of
 * the sizes of random cases. */
char *cases_read(struct cases *c, const char *text, uint64_t seed);
void cases_free(struct cases *c);

/* What the case says of the name; NULL: nothing. */
const char *case_value(const struct puzzle_case *c, const char *name);
/* Gives the name a value, in place of the case's own. */
void case_bind(struct puzzle_case *c, const char *name, const char *text);
/* Whether some case gives the name a value. */
bool cases_bind(const struct cases *c, const char *name);
/* Whether the puzzle limits the counter. */
bool cases_have_limit(const struct cases *c, const char *counter);

#endif
