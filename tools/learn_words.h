/* Words that an answer may not use (`without` in docs/learn.md). */
#ifndef TW_LEARN_WORDS_H
#define TW_LEARN_WORDS_H

#include "learn_answer.h"

/* Those that its text has outside of comments and quotes. */
void words_check(const struct answer *a, const struct cases *cases, struct problems *problems);
/* Whether the two kernels' `ensures` say something else, blanks and comments aside. */
bool words_ensures_differ(const char *text, const char *other);

#endif
