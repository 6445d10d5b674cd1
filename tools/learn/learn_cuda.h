/* Answers in CUDA C. */
#ifndef TW_LEARN_CUDA_H
#define TW_LEARN_CUDA_H

#include "learn/learn_answer.h"

/* Implements answer_take for CUDA C. Tuned values of cases become macros; `cases` gives the
 * launch. */
int cuda_answer_take(struct answer *a, const struct case_at_hand *c, struct problems *problems);

#endif
