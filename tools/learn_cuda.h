/* An answer in CUDA C. */
#ifndef TW_LEARN_CUDA_H
#define TW_LEARN_CUDA_H

#include "learn_answer.h"

/* As answer_take. Macros are tuned values of cases, the launch is that of `cases`. */
int cuda_answer_take(struct answer *a, const struct case_at_hand *c, struct problems *problems);

#endif
