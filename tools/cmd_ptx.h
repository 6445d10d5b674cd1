/* `run` and `check` of PTX and CUDA C: k.ptx, k.cu. */
#ifndef TW_CMD_PTX_H
#define TW_CMD_PTX_H

#include "tool.h"

int run_ptx(const struct command *self, const struct options *given);
int check_ptx(const struct command *self, const struct options *given);

/* Whether an option that is for PTX and CUDA C alone is given; then after a message. */
bool has_ptx_options(const struct options *o, const char *file);

#endif
