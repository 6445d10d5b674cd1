/* print(): what lower_print.c and the functions that it calls share. */
#ifndef TW_LOWER_PRINT_H
#define TW_LOWER_PRINT_H

/* Items of a PTX module, up to a NULL: $print_show, $print_text, $print_digits, $print_signed,
 * $print_float. */
extern const char *const print_ptx[];

#endif
