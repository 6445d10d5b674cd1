/* Names of kernels as C++ sources write them: "ns::scale<float, 4>" for
 * _ZN2ns5scaleIfLi4EEEvPT_. */
#ifndef TW_KERNEL_NAME_H
#define TW_KERNEL_NAME_H

#include <stdbool.h>

/* Returns a symbol's name with its namespaces and template arguments, without its parameters
 * (the Itanium C++ ABI, "Mangling"). Returns NULL if the symbol is not such a name, or has a
 * part that this function does not know. The caller frees. */
char *kernel_name(const char *symbol);
/* Returns the types of a symbol's parameters as C++ writes them, "const float*", template
 * parameters replaced. Returns NULL if the symbol does not have exactly `count` parameters, or if a
 * part of it is not known. The caller frees each text and the list. */
char **kernel_parameters(const char *symbol, int count);
/* Returns whether a text names the function that kernel_name returned. The text may omit the
 * first namespaces, the template arguments, the parameters and the `void` before the name.
 * Blanks do not matter. */
bool kernel_name_is(const char *name, const char *text);
/* Returns whether two names are the same. Blanks do not matter. */
bool kernel_names_equal(const char *a, const char *b);

#endif
