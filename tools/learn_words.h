/* What an answer's text has, before anything compiles it: words that it may not use (`without` in
 * docs/learn.md), what it prints, its `ensures`, anything at all. */
#ifndef TW_LEARN_WORDS_H
#define TW_LEARN_WORDS_H

#include "learn_answer.h"

/* Blanks and comments alone. */
bool words_empty(const char *text, enum language language);
/* Words that may not be used, outside of comments and quotes. */
void words_check(const struct answer *a, const struct cases *cases, struct problems *problems);
/* The text, line by line, without its calls of print, or printf. The caller frees. */
char *words_without_prints(const char *text, enum language language);
/* Whether the two kernels' `ensures` say something else, blanks and comments aside. */
bool words_ensures_differ(const char *text, const char *other);

#endif
