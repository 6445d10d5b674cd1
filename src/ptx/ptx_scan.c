#include "ptx/ptx_scan.h"

#include "base/number.h"

#include <stdlib.h>
#include <string.h>

void ptx_scan_start(struct ptx_scanner *s, const struct source *source, struct diag *diag)
{
    *s = (struct ptx_scanner){.source = source, .diag = diag};
}

/* Returns the character `ahead` after the position, '\0' at the end. */
static int peek(const struct ptx_scanner *s, size_t ahead)
{
    size_t at = s->position + ahead;
    return at < s->source->length ? (unsigned char)s->source->text[at] : '\0';
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static int hex_digit(int c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool is_letter(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

static struct loc place(const struct ptx_scanner *s, size_t from, size_t length)
{
    return (struct loc){s->source, (uint32_t)from, (uint32_t)length};
}

struct loc ptx_token_loc(const struct ptx_scanner *s, const struct ptx_token *token)
{
    size_t end = token->text ? (size_t)(token->text - s->source->text) + token->length : 0;
    return place(s, token->offset, end > token->offset ? end - token->offset : 0);
}

static void skip_line(struct ptx_scanner *s)
{
    while (s->position < s->source->length && s->source->text[s->position] != '\n')
        s->position++;
}

static void skip_comment(struct ptx_scanner *s)
{
    size_t start = s->position;
    s->position += 2;
    while (s->position < s->source->length) {
        if (peek(s, 0) == '*' && peek(s, 1) == '/') {
            s->position += 2;
            return;
        }
        s->position++;
    }
    diag_error(s->diag, place(s, start, 2), "this comment has no end");
}

/* Skips blanks, comments, and the lines that a preprocessor leaves (# 1 "file"). */
static void skip_blanks(struct ptx_scanner *s)
{
    while (s->position < s->source->length) {
        int c = peek(s, 0);
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v')
            s->position++;
        else if (c == '/' && peek(s, 1) == '/')
            skip_line(s);
        else if (c == '/' && peek(s, 1) == '*')
            skip_comment(s);
        else if (c == '#')
            skip_line(s);
        else
            return;
    }
}

static void fail(struct ptx_scanner *s, struct ptx_token *t, const char *message)
{
    t->kind = PTX_TOKEN_ERROR;
    t->length = s->position - t->offset;
    diag_error(s->diag, place(s, t->offset, t->length), "%s", message);
}

/* --- numbers --- */

/* Scans 0f and eight hexadecimal digits, or 0d and sixteen. */
static void scan_float_bits(struct ptx_scanner *s, struct ptx_token *t, int digits)
{
    t->kind = digits == 8 ? PTX_TOKEN_FLOAT : PTX_TOKEN_DOUBLE;
    s->position += 2;
    int count = 0;
    for (int digit; (digit = hex_digit(peek(s, 0))) >= 0; s->position++, count++)
        t->bits = t->bits << 4 | (uint64_t)digit;
    if (count != digits || is_letter(peek(s, 0)))
        fail(s, t,
             digits == 8 ? "expected 8 hexadecimal digits after 0f"
                         : "expected 16 hexadecimal digits after 0d");
}

static void scan_decimal_float(struct ptx_scanner *s, struct ptx_token *t)
{
    char text[128];
    size_t length = 0;
    const char *const start = s->source->text + s->position;
    while (s->position < s->source->length) {
        int c = peek(s, 0), before = length ? start[length - 1] : 0;
        bool sign = (c == '+' || c == '-') && (before == 'e' || before == 'E');
        if (!is_digit(c) && c != '.' && c != 'e' && c != 'E' && !sign)
            break;
        s->position++;
        length++;
    }
    if (length >= sizeof text) {
        fail(s, t, "this number is too long");
        return;
    }
    memcpy(text, start, length);
    text[length] = '\0';
    char *end;
    double value = number_read(text, &end);
    t->kind = PTX_TOKEN_DOUBLE;
    memcpy(&t->bits, &value, sizeof value);
    if (*end || is_letter(peek(s, 0)))
        fail(s, t, "this is not a number");
}

static bool is_exponent(const struct ptx_scanner *s, size_t at)
{
    int c = peek(s, at), next = peek(s, at + 1);
    return (c == 'e' || c == 'E') && (is_digit(next) || next == '+' || next == '-');
}

static bool looks_like_float(const struct ptx_scanner *s)
{
    size_t i = 0;
    while (is_digit(peek(s, i)))
        i++;
    if (peek(s, i) == '.' && !is_letter(peek(s, i + 1)))
        return true;
    if (i && peek(s, i) == '.') /* 1.e3, but not the dot of 8.b32 */
        i++;
    return is_exponent(s, i);
}

static void scan_integer(struct ptx_scanner *s, struct ptx_token *t)
{
    unsigned base = 10;
    int c = peek(s, 1);
    t->kind = PTX_TOKEN_INTEGER;
    if (peek(s, 0) == '0' && (c == 'x' || c == 'X')) {
        base = 16;
        s->position += 2;
    } else if (peek(s, 0) == '0' && (c == 'b' || c == 'B')) {
        base = 2;
        s->position += 2;
    } else if (peek(s, 0) == '0') {
        base = 8;
    }
    size_t first = s->position;
    bool overflow = false;
    for (int digit; (digit = hex_digit(peek(s, 0))) >= 0 && (unsigned)digit < base; s->position++) {
        overflow |= t->bits > (UINT64_MAX - (uint64_t)digit) / base;
        t->bits = t->bits * base + (uint64_t)digit;
    }
    bool digits = s->position > first;
    t->is_unsigned = t->bits > INT64_MAX;
    if (peek(s, 0) == 'U' || peek(s, 0) == 'u') {
        t->is_unsigned = true;
        s->position++;
    }
    if (!digits || is_letter(peek(s, 0)) || is_digit(peek(s, 0))) {
        while (is_letter(peek(s, 0)) || is_digit(peek(s, 0)))
            s->position++;
        fail(s, t, "this is not a number");
    } else if (overflow) {
        fail(s, t, "this number does not fit 64 bits");
    }
}

static void scan_number(struct ptx_scanner *s, struct ptx_token *t)
{
    int c = peek(s, 1);
    if (peek(s, 0) == '0' && (c == 'f' || c == 'F'))
        scan_float_bits(s, t, 8);
    else if (peek(s, 0) == '0' && (c == 'd' || c == 'D'))
        scan_float_bits(s, t, 16);
    else if (looks_like_float(s))
        scan_decimal_float(s, t);
    else
        scan_integer(s, t);
}

/* Returns true for .5 and .5e3. But .2d, .16x64b and their like are words. */
static bool is_fraction(const struct ptx_scanner *s)
{
    size_t i = 1;
    while (is_digit(peek(s, i)))
        i++;
    return i > 1 && (is_exponent(s, i) || !is_letter(peek(s, i)));
}

/* --- the rest --- */

static void scan_name(struct ptx_scanner *s, struct ptx_token *t)
{
    t->kind = PTX_TOKEN_NAME;
    s->position++; /* a letter or % */
    while (is_letter(peek(s, 0)) || is_digit(peek(s, 0)))
        s->position++;
}

static void scan_dot(struct ptx_scanner *s, struct ptx_token *t)
{
    t->kind = PTX_TOKEN_DOT;
    s->position++;
    for (;;) {
        if (is_letter(peek(s, 0)) || is_digit(peek(s, 0)))
            s->position++;
        else if (peek(s, 0) == ':' && peek(s, 1) == ':')
            s->position += 2;
        else
            break;
    }
    if (s->position == t->offset + 1u)
        fail(s, t, "expected a word after the dot");
}

static void scan_string(struct ptx_scanner *s, struct ptx_token *t)
{
    t->kind = PTX_TOKEN_STRING;
    s->position++;
    while (s->position < s->source->length && peek(s, 0) != '"' && peek(s, 0) != '\n')
        s->position += peek(s, 0) == '\\' && peek(s, 1) != '\n' ? 2 : 1;
    if (peek(s, 0) != '"') {
        fail(s, t, "this text has no closing quote");
        return;
    }
    s->position++;
}

static void scan_punctuation(struct ptx_scanner *s, struct ptx_token *t)
{
    static const char pairs[][3] = {"<<", ">>", "==", "!=", "<=", ">=", "&&", "||"};
    t->kind = PTX_TOKEN_PUNCTUATION;
    t->punctuation = peek(s, 0);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][0] == peek(s, 0) && pairs[i][1] == peek(s, 1))
            t->punctuation = PTX_TWO(pairs[i][0], pairs[i][1]);
    s->position += t->punctuation > 255 ? 2 : 1;
    bool known = t->punctuation > 255 ||
                 (t->punctuation && strchr("()[]{}<>,;:+-*/%!~&|^?=@", t->punctuation));
    if (!known)
        fail(s, t, "this character has no place in PTX");
}

/* Returns true if % begins a register: %0 is one, but 7%4 is a remainder. */
static bool names_register(const struct ptx_scanner *s)
{
    return is_digit(peek(s, 1)) && !s->after_value;
}

void ptx_scan_next(struct ptx_scanner *s, struct ptx_token *t)
{
    skip_blanks(s);
    *t = (struct ptx_token){.offset = (uint32_t)s->position, .text = s->source->text + s->position};
    if (s->position >= s->source->length) {
        t->kind = PTX_TOKEN_END;
        return;
    }
    int c = peek(s, 0);
    if (is_digit(c))
        scan_number(s, t);
    else if (is_letter(c) || (c == '%' && (is_letter(peek(s, 1)) || names_register(s))))
        scan_name(s, t);
    else if (c == '.' && is_fraction(s))
        scan_decimal_float(s, t);
    else if (c == '.')
        scan_dot(s, t);
    else if (c == '"')
        scan_string(s, t);
    else
        scan_punctuation(s, t);
    t->length = s->position - t->offset;
    if (t->kind == PTX_TOKEN_DOT) {
        t->text++;
        t->length--;
    } else if (t->kind == PTX_TOKEN_STRING) {
        t->text++;
        t->length -= 2;
    }
    s->after_value =
        ptx_token_is_number(t) || (t->kind == PTX_TOKEN_PUNCTUATION && t->punctuation == ')');
}
