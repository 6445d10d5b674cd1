/* Writes JSON: values in order; commas and indentation are added here. */
#ifndef TW_JSON_H
#define TW_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
    FILE *out;
    char *held; /* text so far, after json_hold */
    size_t held_bytes;
    int depth;
    bool started; /* this depth has a value already */
    bool after_key;
    bool in_row; /* values follow each other on one line */
};

/* Begins a text that stays in memory until json_end prints it to standard output. */
void json_hold(struct json *j);
/* Returns the text so far; the next value changes it. */
const char *json_held(struct json *j);
/* Ends the text without printing it, and returns it; the caller frees. */
char *json_take(struct json *j);
void json_open(struct json *j, char bracket); /* '{' or '[' */
void json_close(struct json *j, char bracket);
void json_open_row(struct json *j); /* list of numbers on one line; json_close(j, ']') ends it */
void json_key(struct json *j, const char *key);
void json_string(struct json *j, const char *text); /* NULL: null */
/* Writes the bytes of the text unchanged, for a reader that writes them to a file; json_string
 * spells out characters that a terminal would obey. Malformed UTF-8 becomes U+FFFD. */
void json_exact(struct json *j, const char *text, size_t length);
void json_integer(struct json *j, int64_t v);
/* Writes the shortest text that reads back the same; "nan", "inf" and "-inf" as strings. */
void json_real(struct json *j, double v);
void json_number(struct json *j, const char *text); /* as it is written */
/* Adds the members of an object that is already text: {"a": 1} adds "a": 1 to the open object. */
void json_members(struct json *j, const char *object);
void json_bool(struct json *j, bool v);
/* Write a key, and begin its value: an object, a list, a list of numbers on one line. */
void json_open_object(struct json *j, const char *key);
void json_open_list(struct json *j, const char *key);
void json_open_numbers(struct json *j, const char *key);
/* Write a key and its value. */
void json_put_text(struct json *j, const char *key, const char *text);
void json_put_integer(struct json *j, const char *key, int64_t v);
void json_put_index(struct json *j, const char *key, int64_t v); /* negative: null */
void json_put_real(struct json *j, const char *key, double v);
void json_put_bool(struct json *j, const char *key, bool v);
void json_put_integers(struct json *j, const char *key, int count, const int64_t *values);
void json_put_axes(struct json *j, const char *key, int64_t x, int64_t y, int64_t z);
/* Writes the keys file, line, column and text; file NULL: no place. */
void json_place(struct json *j, const char *file, int line, int column, const char *text);
/* Returns whether any JSON was begun for standard output. */
bool json_begun(void);
void json_end(struct json *j); /* writes the final newline */

#endif
