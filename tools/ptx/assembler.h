/* Assembles a PTX program to machine code, for counters that describe the assembled code. */
#ifndef TW_ASSEMBLER_H
#define TW_ASSEMBLER_H

#include "ptx/ptx_file.h"

/* Assembles the program with ptxas for the target of --device, or else for the program's own
 * target, and gives the result to the library. Reports no error: without the machine code,
 * counters have wider bounds. */
void assemble(const struct ptx_file *f, const struct options *o);

#endif
