/* Words that an answer may not use (`without` in docs/learn.md). */
#ifndef TW_LEARN_WORDS_H
#define TW_LEARN_WORDS_H

#include "learn_answer.h"

/* Those that its text has outside of comments and quotes. */
void words_check(const struct answer *a, const struct cases *cases, struct problems *problems);

#endif
