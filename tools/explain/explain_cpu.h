/* Explains kernels on the CPU of this machine, for explain --device cpu. */
#ifndef TW_EXPLAIN_CPU_H
#define TW_EXPLAIN_CPU_H

#include "cli/tool.h"

/* Runs a kernel and reports its profile and the roofs of this machine; without a file, the roofs
 * alone. Returns the exit status. */
int explain_cpu(const struct command *self, const struct options *given);

#endif
