/* The names of kernels as C++ sources write them: "ns::scale<float, 4>" of _ZN2ns5scaleIfLi4EEEvPT_. */
#ifndef TW_KERNEL_NAME_H
#define TW_KERNEL_NAME_H

#include <stdbool.h>

/* Returns a symbol's name with its namespaces and template arguments, without its parameters (the
 * Itanium C++ ABI, "Mangling"). Returns NULL if the symbol is no such name, or has a part that is not
 * known here. The caller frees. */
char *kernel_name(const char *symbol);
/* Tells whether a text names the function of such a name: with or without its first namespaces, its
 * template arguments, its parameters and the `void` before it. Blanks do not count. */
bool kernel_name_is(const char *name, const char *text);
/* Tells whether two such names are the same. Blanks do not count. */
bool kernel_names_equal(const char *a, const char *b);

#endif
