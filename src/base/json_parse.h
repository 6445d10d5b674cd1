/* Reads JSON, strictly by RFC 8259, into an arena. Strings with \u0000, which RFC 8259 allows, are
 * refused, because they are C strings here. */
#ifndef TW_JSON_PARSE_H
#define TW_JSON_PARSE_H

#include "base/arena.h"

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_value {
    enum json_kind kind;
    const char *key; /* of a member of an object, else NULL */
    bool boolean;
    double number;
    const char *string;              /* UTF-8; an unpaired surrogate becomes U+FFFD */
    struct json_value *first, *next; /* elements or members; the next one of the same list */
    int count;                       /* of elements or members */
    size_t offset, length;           /* its place in the text */
};

/* Reads the value in text[begin … end). Returns NULL if that is not one JSON value, or it is nested
 * too deeply; *fault is then the offset of the first byte that is wrong. */
struct json_value *json_parse(struct arena *a, const char *text, size_t begin, size_t end,
                              size_t *fault);
/* Returns the member of that name; NULL: `v` is not an object, or has none. */
const struct json_value *json_find(const struct json_value *v, const char *key);

#endif
