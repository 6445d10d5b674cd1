/* The machine code of a PTX program, for counters as assembled. */
#ifndef TW_ASSEMBLER_H
#define TW_ASSEMBLER_H

#include "ptx_file.h"

/* Assembles it for the target of --device, or for what it says it is for, where there is a ptxas that takes it, and
 * gives it to the library. Says nothing: without it counters come with wider bounds. */
void assemble(const struct ptx_file *f, const struct options *o);

#endif
