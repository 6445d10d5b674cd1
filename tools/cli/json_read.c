#include "cli/json_read.h"
#include "cli/tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LEVELS = 128 };

struct reader {
    const char *at, *end;
    int levels;
};

static struct json_value *read_value(struct reader *r);

static void skip_blanks(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
        r->at++;
}

/* Skips the character if it is next. */
static bool accept(struct reader *r, char c)
{
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static bool accept_word(struct reader *r, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0)
        return false;
    r->at += length;
    return true;
}

/* --- strings --- */

int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Reads four hexadecimal digits; returns -1 if there are none. */
static long read_unit(struct reader *r)
{
    long unit = 0;
    for (int i = 0; i < 4; i++) {
        int digit = r->at < r->end ? hex_digit(*r->at) : -1;
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
        r->at++;
    }
    return unit;
}

static char *put_utf8(char *out, unsigned long code)
{
    if (code < 0x80) {
        *out++ = (char)code;
        return out;
    }
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned lead[] = {0, 0xC0, 0xE0, 0xF0};
    *out++ = (char)(lead[more] | code >> 6 * more);
    while (more-- > 0)
        *out++ = (char)(0x80 | (code >> 6 * more & 0x3F));
    return out;
}

/* Reads the rest of \uXXXX; returns NULL if it is malformed. */
static char *read_escaped_unit(struct reader *r, char *out)
{
    long unit = read_unit(r), low;
    if (unit < 0)
        return NULL;
    if (unit < 0xD800 || unit > 0xDFFF)
        return put_utf8(out, (unsigned long)unit);
    const char *before = r->at;
    if (unit < 0xDC00 && accept_word(r, "\\u")) {
        low = read_unit(r);
        if (low < 0)
            return NULL;
        if (low >= 0xDC00 && low <= 0xDFFF)
            return put_utf8(out, 0x10000 + ((unsigned long)(unit - 0xD800) << 10) +
                                     (unsigned long)(low - 0xDC00));
        r->at = before;
    }
    return put_utf8(out, 0xFFFD);
}

/* Reads a string from its opening quote on. Returns NULL if it is malformed. The caller frees. */
static char *read_string(struct reader *r, size_t *length)
{
    static const char escapes[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    if (!accept(r, '"'))
        return NULL;
    const char *close = r->at; /* decoded text is never longer than the source */
    while (close < r->end && *close != '"')
        close += *close == '\\' ? 2 : 1;
    if (close >= r->end)
        return NULL;
    char *text = need_memory((size_t)(close - r->at) + 1), *out = text;
    while (out && r->at < close) {
        unsigned char c = (unsigned char)*r->at++;
        const char *escape;
        if (c < 0x20)
            out = NULL;
        else if (c != '\\')
            *out++ = (char)c;
        else if (*r->at == 'u') {
            r->at++;
            out = read_escaped_unit(r, out);
        } else if (*r->at && (escape = strchr(escapes, *r->at))) {
            *out++ = meant[escape - escapes];
            r->at++;
        } else
            out = NULL;
    }
    if (!out || r->at != close) {
        free(text);
        return NULL;
    }
    r->at++;
    *out = '\0';
    *length = (size_t)(out - text);
    return text;
}

/* --- numbers --- */

static bool skip_digits(struct reader *r)
{
    const char *start = r->at;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9')
        r->at++;
    return r->at > start;
}

static bool read_number(struct reader *r, double *out)
{
    const char *start = r->at;
    accept(r, '-');
    if (!accept(r, '0') && !skip_digits(r))
        return false;
    if (accept(r, '.') && !skip_digits(r))
        return false;
    if (accept(r, 'e') || accept(r, 'E')) {
        if (!accept(r, '+'))
            accept(r, '-');
        if (!skip_digits(r))
            return false;
    }
    char *text = need_text("%.*s", (int)(r->at - start), start);
    *out = strtod(text, NULL);
    free(text);
    return true;
}

/* --- lists --- */

/* Reads a member's key and colon. */
static char *read_key(struct reader *r)
{
    size_t length;
    char *key = read_string(r, &length);
    skip_blanks(r);
    if (key && accept(r, ':'))
        return key;
    free(key);
    return NULL;
}

/* Reads elements or members up to the closing bracket. */
static bool read_list(struct reader *r, struct json_value *list, char close)
{
    struct json_value **tail = &list->first;
    skip_blanks(r);
    if (accept(r, close))
        return true;
    do {
        skip_blanks(r);
        char *key = close == '}' ? read_key(r) : NULL;
        if (close == '}' && !key)
            return false;
        *tail = read_value(r);
        if (!*tail) {
            free(key);
            return false;
        }
        (*tail)->key = key;
        tail = &(*tail)->next;
        skip_blanks(r);
    } while (accept(r, ','));
    return accept(r, close);
}

static bool read_into(struct reader *r, struct json_value *v)
{
    if (accept(r, '{')) {
        v->kind = JSON_OBJECT;
        return read_list(r, v, '}');
    }
    if (accept(r, '[')) {
        v->kind = JSON_ARRAY;
        return read_list(r, v, ']');
    }
    if (r->at < r->end && *r->at == '"') {
        v->kind = JSON_STRING;
        v->text = read_string(r, &v->length);
        return v->text != NULL;
    }
    v->boolean = accept_word(r, "true");
    if (v->boolean || accept_word(r, "false")) {
        v->kind = JSON_BOOL;
        return true;
    }
    if (accept_word(r, "null"))
        return true;
    v->kind = JSON_NUMBER;
    return read_number(r, &v->number);
}

static struct json_value *read_value(struct reader *r)
{
    struct json_value *v = need_memory(sizeof *v);
    skip_blanks(r);
    v->raw = r->at;
    bool good = ++r->levels <= MOST_LEVELS && read_into(r, v);
    r->levels--;
    v->raw_length = (size_t)(r->at - v->raw);
    if (good)
        return v;
    json_free(v);
    return NULL;
}

struct json_value *json_read(const char *text, size_t length)
{
    struct reader r = {text, text + length, 0};
    struct json_value *v = read_value(&r);
    skip_blanks(&r);
    if (r.at == r.end)
        return v;
    json_free(v);
    return NULL;
}

void json_free(struct json_value *v)
{
    while (v) {
        struct json_value *next = v->next;
        json_free(v->first);
        free(v->key);
        free(v->text);
        free(v);
        v = next;
    }
}

const struct json_value *json_member(const struct json_value *v, const char *key)
{
    const struct json_value *m = v && v->kind == JSON_OBJECT ? v->first : NULL;
    while (m && strcmp(m->key, key) != 0)
        m = m->next;
    return m;
}

const char *json_member_text(const struct json_value *v, const char *key)
{
    const struct json_value *m = json_member(v, key);
    return m && m->kind == JSON_STRING ? m->text : NULL;
}

bool json_member_is_true(const struct json_value *v, const char *key)
{
    const struct json_value *m = json_member(v, key);
    return m && m->kind == JSON_BOOL && m->boolean;
}

bool json_member_count(const struct json_value *v, const char *key, int *out)
{
    const struct json_value *m = json_member(v, key);
    if (!m || m->kind != JSON_NUMBER || !(m->number >= 0 && m->number < 2147483648.0) ||
        m->number != floor(m->number))
        return false;
    *out = (int)m->number;
    return true;
}
