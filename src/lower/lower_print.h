/* print() and claims: texts, and functions that the module has of its own. */
#ifndef TW_LOWER_PRINT_H
#define TW_LOWER_PRINT_H

#include "lower/lower_body.h"

/* The function of that name. If the module does not have it yet, the module gets the items of
 * `items`, up to a NULL. */
struct ptx_function *module_function(struct lower *l, const char *name, const char *const *items);
/* Calls it; result NULL: none. */
void module_call(struct lower *l, struct ptx_function *f, const struct ptx_operand *result,
                 const struct ptx_operand *args, size_t count);
/* The generic address of a constant text. */
struct ptx_operand constant_text(struct lower *l, const char *text);

/* Items of a PTX module, up to a NULL: $print_show, $print_text, $print_digits, $print_signed,
 * $print_float. */
extern const char *const print_ptx[];

#endif
