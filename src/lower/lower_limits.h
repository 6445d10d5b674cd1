/* What a thread can hold. */
#ifndef TW_LOWER_LIMITS_H
#define TW_LOWER_LIMITS_H

#include "lower/lower_state.h"

/* After the plan: do the register tiles that are live together fit a thread's registers? Reports. */
bool limits_registers(struct lower *l);

#endif
