/* Links texts of PTX to one text, as nvlink links what `nvcc -rdc=true` compiled. */
#ifndef TW_PTX_LINK_H
#define TW_PTX_LINK_H

#include "base/arena.h"

/* Returns the text of one module that has what all of them define. Declarations (.extern) that another
 * module defines become prototypes, of .weak definitions the first is kept, and names that a module
 * has for itself are told apart. NULL: *why has the reason. */
char *driver_ptx_link(struct arena *a, const char *const *texts, size_t count, const char **why);

#endif
