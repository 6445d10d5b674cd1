#include "base/json_parse.h"

#include "base/number.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

enum { MOST_LEVELS = 16 };

struct reader {
    struct arena *arena;
    const char *text;
    size_t at, end;
    int levels;
};

static bool read_value(struct reader *r, struct json_value *out);

static char here(const struct reader *r)
{
    return r->at < r->end ? r->text[r->at] : '\0';
}

static void skip_blanks(struct reader *r)
{
    while (here(r) == ' ' || here(r) == '\t' || here(r) == '\n' || here(r) == '\r')
        r->at++;
}

static bool accept(struct reader *r, const char *word)
{
    size_t length = strlen(word);
    if (r->end - r->at < length || memcmp(r->text + r->at, word, length) != 0)
        return false;
    r->at += length;
    return true;
}

/* --- strings --- */

/* Reads four hexadecimal digits; -1: there are none. */
static long read_unit(struct reader *r)
{
    long unit = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        char c = here(r);
        int digit = text_is_digit(c)       ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static void add_utf8(struct text *out, unsigned long code)
{
    int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned lead[] = {0, 0xC0, 0xE0, 0xF0};
    text_add_char(out, (char)(lead[more] | code >> 6 * more));
    while (more-- > 0)
        text_add_char(out, (char)(0x80 | (code >> 6 * more & 0x3F)));
}

/* Reads the digits after \u, and a second unit if the first is half of a pair. */
static bool read_escaped_unit(struct reader *r, struct text *out)
{
    long unit = read_unit(r);
    if (unit <= 0) /* \u0000 would end the string */
        return false;
    size_t before = r->at;
    if (unit >= 0xD800 && unit < 0xDC00 && accept(r, "\\u")) {
        long low = read_unit(r);
        if (low >= 0xDC00 && low <= 0xDFFF) {
            add_utf8(out, 0x10000 + ((unsigned long)(unit - 0xD800) << 10) +
                              (unsigned long)(low - 0xDC00));
            return true;
        }
        r->at = before;
    }
    add_utf8(out, unit >= 0xD800 && unit <= 0xDFFF ? 0xFFFD : (unsigned long)unit);
    return true;
}

static bool read_escape(struct reader *r, struct text *out)
{
    static const char escapes[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char *escape = here(r) ? strchr(escapes, here(r)) : NULL;
    if (accept(r, "u"))
        return read_escaped_unit(r, out);
    if (!escape)
        return false;
    text_add_char(out, meant[escape - escapes]);
    r->at++;
    return true;
}

static bool read_string(struct reader *r, const char **out)
{
    struct text t;
    if (!accept(r, "\""))
        return false;
    text_init(&t, r->arena);
    text_add(&t, "");
    while (!accept(r, "\"")) {
        if ((unsigned char)here(r) < 0x20)
            return false;
        if (!accept(r, "\\"))
            text_add_char(&t, r->text[r->at++]);
        else if (!read_escape(r, &t))
            return false;
    }
    *out = t.data;
    return true;
}

/* --- numbers --- */

static bool skip_digits(struct reader *r)
{
    size_t start = r->at;
    while (text_is_digit(here(r)))
        r->at++;
    return r->at > start;
}

static bool read_number(struct reader *r, double *out)
{
    size_t start = r->at;
    accept(r, "-");
    if (!accept(r, "0") && !skip_digits(r))
        return false;
    if (accept(r, ".") && !skip_digits(r))
        return false;
    if (accept(r, "e") || accept(r, "E")) {
        if (!accept(r, "+"))
            accept(r, "-");
        if (!skip_digits(r))
            return false;
    }
    *out = number_read(arena_string(r->arena, r->text + start, r->at - start), NULL);
    return isfinite(*out);
}

/* --- lists --- */

/* Reads the rest of an array or object, up to its closing bracket. */
static bool read_list(struct reader *r, struct json_value *out, const char *close)
{
    struct json_value **tail = &out->first;
    skip_blanks(r);
    if (accept(r, close))
        return true;
    do {
        struct json_value *one = arena_new(r->arena, struct json_value);
        skip_blanks(r);
        if (out->kind == JSON_OBJECT) {
            if (!read_string(r, &one->key))
                return false;
            skip_blanks(r);
            if (!accept(r, ":"))
                return false;
        }
        if (!read_value(r, one))
            return false;
        *tail = one;
        tail = &one->next;
        out->count++;
        skip_blanks(r);
    } while (accept(r, ","));
    return accept(r, close);
}

static bool read_rest(struct reader *r, struct json_value *out)
{
    if (accept(r, "null"))
        return true;
    out->kind = JSON_BOOL;
    out->boolean = here(r) == 't';
    if (accept(r, "true") || accept(r, "false"))
        return true;
    out->kind = JSON_STRING;
    if (here(r) == '"')
        return read_string(r, &out->string);
    out->kind = JSON_OBJECT;
    if (accept(r, "{"))
        return read_list(r, out, "}");
    out->kind = JSON_ARRAY;
    if (accept(r, "["))
        return read_list(r, out, "]");
    out->kind = JSON_NUMBER;
    return read_number(r, &out->number);
}

static bool read_value(struct reader *r, struct json_value *out)
{
    skip_blanks(r);
    out->offset = r->at;
    if (++r->levels > MOST_LEVELS || !read_rest(r, out))
        return false;
    r->levels--;
    out->length = r->at - out->offset;
    return true;
}

struct json_value *json_parse(struct arena *a, const char *text, size_t begin, size_t end,
                              size_t *fault)
{
    struct reader r = {.arena = a, .text = text, .at = begin, .end = end};
    struct json_value *v = arena_new(a, struct json_value);
    bool read = read_value(&r, v);
    if (read)
        skip_blanks(&r);
    *fault = r.at;
    return read && r.at == end ? v : NULL;
}

const struct json_value *json_find(const struct json_value *v, const char *key)
{
    if (!v || v->kind != JSON_OBJECT)
        return NULL;
    for (const struct json_value *m = v->first; m; m = m->next)
        if (strcmp(m->key, key) == 0)
            return m;
    return NULL;
}
