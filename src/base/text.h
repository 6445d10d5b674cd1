/* Text that grows, in an arena. */
#ifndef TW_TEXT_H
#define TW_TEXT_H

#include "base/arena.h"

#include <stdarg.h>
#include <stdbool.h>

struct text {
    struct arena *arena;
    char *data; /* always ends with '\0' */
    size_t length, capacity;
};

void text_init(struct text *t, struct arena *arena);
void text_add(struct text *t, const char *s);
void text_add_n(struct text *t, const char *s, size_t length);
void text_add_char(struct text *t, char c);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void text_printf(struct text *t, const char *format, ...);
void text_vprintf(struct text *t, const char *format, va_list args);
/* Adds the text as a JSON string, with its quotes (RFC 8259, section 7). */
void text_add_json(struct text *t, const char *s);

/* Adds the shortest decimal text that reads back as exactly `v` (as float if `single`); "inf",
 * "-inf" and "nan" for the rest. It always has a '.', an exponent or a letter, so it never reads as
 * an integer. */
void text_add_double(struct text *t, double v, bool single);

/* ASCII letters, digits and blanks, whatever the host program's locale says about other bytes. */
static inline bool text_is_digit(char c)
{
    return c >= '0' && c <= '9';
}
static inline bool text_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
static inline bool text_is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Returns the part of a path after its last '/'. */
const char *text_base_name(const char *path);

/* Returns the number of edits (insert, delete, replace, swap neighbours) that turn a into b, for
 * "did you mean". */
int text_distance(const char *a, const char *b);

#endif
