/* The types of a function's parameters, as its symbol has them (the Itanium C++ ABI, "Mangling",
 * which clang and nvcc keep to). */
#ifndef TW_LEARN_MANGLED_H
#define TW_LEARN_MANGLED_H

#include <stdbool.h>
#include <stddef.h>

struct c_type {
    const char *name; /* "float", without const; NULL: none of C's numbers */
    size_t bytes;     /* of one */
    bool is_float, is_pointer;
};

/* false: the symbol does not say, or not in words that are known here. */
bool mangled_param(const char *symbol, int index, struct c_type *out);
/* "float *" */
char *c_type_text(const struct c_type *t);
/* Returns the number type of a letter, or NULL. */
const char *c_number_of(char letter);
/* C's name for such a number; NULL: it has none. */
const char *c_number_name(size_t bytes, bool is_float);

#endif
