/* Formats of print(): "%" { "-" | "+" | " " | "#" | "0" } [ width ] [ "." precision ] letter. */
#include "tile/print_format.h"

#include <string.h>

bool print_is_format(const char *label)
{
    return label && strchr(label, '%');
}

/* Returns how many characters of the set follow, at most `most`. */
static size_t span(const char *at, const char *set, size_t most)
{
    size_t n = strspn(at, set);
    return n < most ? n : most;
}

const char *print_piece_read(const char *at, struct print_piece *out)
{
    enum { MOST_FLAGS = 5, MOST_DIGITS = 2 };
    static const char digits[] = "0123456789";
    *out = (struct print_piece){.text = at};
    while (*at && (at[0] != '%' || at[1] == '%'))
        at += at[0] == '%' ? 2 : 1;
    out->length = (size_t)(at - out->text);
    out->from = at;
    if (!*at)
        return at;
    at++;
    at += span(at, "-+ #0", MOST_FLAGS);
    at += span(at, digits, MOST_DIGITS);
    if (*at == '.') {
        at++;
        at += span(at, digits, MOST_DIGITS);
    }
    size_t spec = (size_t)(at - out->from);
    out->size = spec + (*at != 0);
    if (!*at || !strchr("diuxXeEfgG", *at)) {
        while (*at && !strchr("diuxXeEfgGs %", *at)) /* passes lengths such as `l`, up to a
                                                      * letter that ends a conversion */
            at++;
        out->size = (size_t)(at - out->from) + (*at != 0);
        return NULL;
    }
    memcpy(out->spec, out->from, spec);
    out->spec[spec] = 0;
    out->letter = *at;
    return at + 1;
}

bool print_of_float(char letter)
{
    return strchr("eEfgG", letter) != NULL;
}

enum dtype print_type(char letter, enum dtype t)
{
    if (strchr("di", letter))
        return t;
    switch (t) {
    case DT_I8: return DT_U8;
    case DT_I16: return DT_U16;
    case DT_I32: return DT_U32;
    case DT_I64: return DT_U64;
    default: return t;
    }
}
