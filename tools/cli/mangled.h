/* Reads the types of a function's parameters from its symbol (the Itanium C++ ABI, "Mangling",
 * which clang and nvcc follow). */
#ifndef TW_MANGLED_H
#define TW_MANGLED_H

#include <stdbool.h>
#include <stddef.h>

struct c_type {
    const char *name; /* "float", without const; NULL: not a number type of C */
    size_t bytes;     /* of one */
    bool is_float, is_pointer;
};

/* Finds the type of a parameter. Returns false if the symbol does not have it, or has parts that
 * this function does not know. */
bool mangled_param(const char *symbol, int index, struct c_type *out);
/* "float *" */
char *c_type_text(const struct c_type *t);
/* Returns the number type of a letter, or NULL. */
const char *c_number_of(char letter);
/* Returns C's name for a number of that size, or NULL if it has none. */
const char *c_number_name(size_t bytes, bool is_float);

#endif
