/* Numbers as text, the same in every locale.
 *
 * A host program may call setlocale(): then strtod expects the locale's decimal point, often ',',
 * and printf prints it. Program texts, PTX, JSON and the store of results have '.'. The functions
 * here give strtod only digits and an exponent, and correct the output of printf. They neither read
 * nor change a locale, so a thread may call them while another thread calls setlocale(). The C
 * library still does the rounding. scripts/check_structure.py finds direct calls. */
#ifndef TW_NUMBER_H
#define TW_NUMBER_H

#include <stdarg.h>
#include <stddef.h>

/* Reads a number as strtod does in the C locale, except that hexadecimal text ends after its
 * leading 0. Sets *end (may be NULL) to the character after the number, or to `text` if there is
 * none. */
double number_read(const char *text, char **end);
/* The same, rounded once to a float. */
double number_read_single(const char *text, char **end);

/* snprintf and vsnprintf in the C locale. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
int number_format(char *out, size_t size, const char *format, ...);
int number_vformat(char *out, size_t size, const char *format, va_list args);

#endif
