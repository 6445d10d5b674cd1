/* Implements `run` and `check` of PTX and CUDA C: k.ptx, k.cu. */
#ifndef TW_CMD_PTX_H
#define TW_CMD_PTX_H

#include "cli/tool.h"

int run_ptx(const struct command *self, const struct options *given);
int check_ptx(const struct command *self, const struct options *given);

/* Returns whether an option for PTX and CUDA C only is given; prints a message if so. */
bool has_ptx_options(const struct options *o, const char *file);

#endif
