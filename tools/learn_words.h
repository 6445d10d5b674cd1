/* Examines an answer's text before it is compiled: forbidden words (`without` in docs/learn.md),
 * its prints, its `ensures`, and whether it has any content. */
#ifndef TW_LEARN_WORDS_H
#define TW_LEARN_WORDS_H

#include "learn_answer.h"

/* Blanks and comments alone. */
bool words_empty(const char *text, enum language language);
/* Adds problems for forbidden words outside of comments and quotes. */
void words_check(const struct answer *a, const struct cases *cases, struct problems *problems);
/* Returns the text, with the same lines, without its calls of print or printf. The caller frees. */
char *words_without_prints(const char *text, enum language language);
/* Returns whether the two kernels' `ensures` differ, apart from blanks and comments. */
bool words_ensures_differ(const char *text, const char *other);

#endif
