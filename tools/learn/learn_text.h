/* Examines an answer's text before it is compiled: forbidden words (`without` in docs/learn.md),
 * its prints, its `ensures`, and whether it has any content. */
#ifndef TW_LEARN_TEXT_H
#define TW_LEARN_TEXT_H

#include "learn/learn_answer.h"

/* Blanks and comments alone. */
bool answer_text_is_blank(const char *text, enum language language);
/* Adds problems for forbidden words outside of comments and quotes. */
void answer_text_check(const struct answer *a, const struct cases *cases,
                       struct problems *problems);
/* Returns the text, with the same lines, without its calls of print or printf. The caller frees. */
char *answer_text_without_prints(const char *text, enum language language);
/* Returns whether the two kernels' `ensures` differ, apart from blanks and comments. */
bool answer_text_ensures_differ(const char *text, const char *other);

#endif
