/* Kernels and families that ship with the program, by their names: "matmul", "waves". */
#ifndef TW_SHIPPED_H
#define TW_SHIPPED_H

#include <stdbool.h>

/* Returns whether a word has the form of a name, "matmul" or "waves:matmul_v7", and is not a file. */
bool is_shipped_name(const char *word);
/* Returns the path of what ships with that name, "kernels/matmul/waves.tile:matmul_v7", or NULL if
 * nothing does. A family comes before a kernel. The caller frees. */
char *shipped_path(const char *word);
/* Returns "; did you mean 'waves'?" for a name that nothing has, else "". The caller frees. */
char *shipped_hint(const char *word);

#endif
