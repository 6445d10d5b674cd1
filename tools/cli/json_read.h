/* Reads JSON, strictly by RFC 8259, from other programs. */
#ifndef TW_JSON_READ_H
#define TW_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_value {
    enum json_kind kind;
    char *key; /* of a member of an object, else NULL */
    bool boolean;
    double number;
    char *text; /* of a string: UTF-8 with a final 0; an unpaired surrogate becomes U+FFFD */
    size_t length;
    const char *raw; /* its place in the text that was read, */
    size_t raw_length;
    struct json_value *first, *next; /* elements or members; the next one of the same list */
};

/* Returns the value in the text, or NULL if the text is not valid JSON or is nested too deeply.
 * The caller frees it with json_free; `raw` points into the text. */
struct json_value *json_read(const char *text, size_t length);
void json_free(struct json_value *v); /* NULL is fine */

int hex_digit(char c); /* -1: it is none */
/* Returns the member of that name, or NULL if there is none, or if `v` is NULL or not an object. */
const struct json_value *json_member(const struct json_value *v, const char *key);
/* Returns the text of a member that is a string, else NULL. */
const char *json_member_text(const struct json_value *v, const char *key);
bool json_member_is_true(const struct json_value *v, const char *key);
/* Reads a member that is an integer from 0 to 2^31-1. Returns false if there is no such member. */
bool json_member_count(const struct json_value *v, const char *key, int *out);

#endif
