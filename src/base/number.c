#include "base/number.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* --- reading --- */

/* A double, or the point half way between two, has at most 767 significant digits. If a digit after
 * the 800th is not 0, the value lies just above that of the first 800. */
enum { KEPT = 800, EXPONENT_ROOM = 16, MOST_EXPONENT = 1000000 };

struct digits {
    char text[KEPT + 1 + EXPONENT_ROOM];
    int count;        /* kept digits, without leading zeros */
    int64_t exponent; /* power of ten that multiplies the kept digits */
    bool any;         /* the text had a digit, even if only a 0 */
};

/* Reads digits with a point: "12.50" gives "1250" and exponent -2. */
static const char *read_digits(struct digits *d, const char *at)
{
    bool point = false;
    for (; is_digit(*at) || (*at == '.' && !point); at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        d->any = true;
        bool kept = d->count < KEPT && (d->count || *at != '0');
        if (kept)
            d->text[d->count++] = *at;
        else if (d->count == KEPT && *at != '0')
            d->text[KEPT - 1] |= 1; /* '0' is even, so an odd digit marks that a nonzero digit was
                                     * left out */
        d->exponent += (d->count == KEPT && !kept) - point;
    }
    return at;
}

/* Reads "e-5" if it is an exponent; otherwise returns the place where the text began. */
static const char *read_exponent(struct digits *d, const char *at)
{
    if (*at != 'e' && *at != 'E')
        return at;
    const char *digit = at + 1 + (at[1] == '-' || at[1] == '+');
    if (!is_digit(*digit))
        return at;
    int64_t value = 0;
    for (; is_digit(*digit); digit++)
        value = value < MOST_EXPONENT ? value * 10 + (*digit - '0') : value;
    d->exponent += at[1] == '-' ? -value : value;
    return digit;
}

/* Rewrites a number to text that strtod reads alike in all locales: "1250e-2". Returns false for
 * "inf", "nan" and texts that are not numbers, which have no decimal point. */
static bool rewrite(struct digits *d, const char *text, const char **end)
{
    const char *at = text;
    while (*at == ' ' || (*at >= '\t' && *at <= '\r'))
        at++;
    at += *at == '-' || *at == '+';
    d->count = 0;
    d->exponent = 0;
    d->any = false;
    const char *behind = read_digits(d, at);
    if (!d->any)
        return false;
    *end = read_exponent(d, behind);
    if (d->count == 0)
        d->text[d->count++] = '0';
    int64_t e = d->exponent;
    e = e > 2 * MOST_EXPONENT ? 2 * MOST_EXPONENT : e < -2 * MOST_EXPONENT ? -2 * MOST_EXPONENT : e;
    snprintf(d->text + d->count, EXPONENT_ROOM, "e%d", (int)e);
    return true;
}

static bool is_negative(const char *text)
{
    return text[strspn(text, " \t\n\v\f\r")] == '-';
}

double number_read(const char *text, char **end)
{
    struct digits d;
    const char *behind;
    if (!rewrite(&d, text, &behind))
        return strtod(text, end);
    if (end)
        *end = (char *)(uintptr_t)behind;
    double v = strtod(d.text, NULL);
    return is_negative(text) ? -v : v;
}

double number_read_single(const char *text, char **end)
{
    struct digits d;
    const char *behind;
    if (!rewrite(&d, text, &behind))
        return (double)strtof(text, end);
    if (end)
        *end = (char *)(uintptr_t)behind;
    double v = (double)strtof(d.text, NULL);
    return is_negative(text) ? -v : v;
}

/* --- printing --- */

struct output {
    char *to;
    size_t size, length; /* length: of the whole text, even if it does not fit */
};

static void add(struct output *o, const char *text, size_t length)
{
    if (o->length < o->size) {
        size_t room = o->size - o->length;
        memcpy(o->to + o->length, text, length < room ? length : room);
    }
    o->length += length;
}

/* One conversion of a format. "%-*.3lld" is a '%', flags, width, precision, length and letter. */
struct conversion {
    char form[32]; /* width and precision as numbers, without the length and the letter */
    size_t used;
    char length; /* 'h', 'l', 'L' (ll), 'j', 'z', 't', or 0 */
    char letter;
};

static void add_form(struct conversion *c, const char *text, size_t length)
{
    if (c->used + length < sizeof c->form - 3) {
        memcpy(c->form + c->used, text, length);
        c->used += length;
    }
}

static const char *read_conversion(struct conversion *c, const char *at, va_list *args)
{
    char number[16];
    *c = (struct conversion){.form = "%", .used = 1};
    for (at++; *at && strchr("-+ #0123456789.*", *at); at++) {
        if (*at != '*')
            add_form(c, at, 1);
        else
            add_form(c, number, (size_t)snprintf(number, sizeof number, "%d", va_arg(*args, int)));
    }
    for (; *at && strchr("hljzt", *at); at++)
        c->length = c->length == 'l' ? 'L' : *at;
    c->letter = *at;
    return *at ? at + 1 : at;
}

/* Prints one value with printf. The bytes that are not a digit, a sign, a letter or a blank are the
 * locale's decimal point. */
static void add_float(struct output *o, struct conversion *c, double v)
{
    char text[512]; /* "%f" of the largest has 309 digits before the point */
    c->form[c->used] = c->letter;
    int length = snprintf(text, sizeof text, c->form, v);
    if (length >= (int)sizeof text)
        length = (int)sizeof text - 1;
    bool in_point = false;
    for (int i = 0; i < length; i++) {
        char b = text[i];
        bool plain = is_digit(b) || b == '-' || b == '+' || b == ' ' || (b >= 'A' && b <= 'z');
        if (plain || !in_point)
            add(o, plain ? &b : ".", 1);
        in_point = !plain;
    }
}

static intmax_t take_signed(char length, va_list *args)
{
    return length == 'l'                    ? va_arg(*args, long)
           : length == 'L'                  ? va_arg(*args, long long)
           : length == 'j'                  ? va_arg(*args, intmax_t)
           : length == 'z' || length == 't' ? va_arg(*args, ptrdiff_t)
                                            : va_arg(*args, int);
}

static uintmax_t take_unsigned(char length, va_list *args)
{
    return length == 'l'                    ? va_arg(*args, unsigned long)
           : length == 'L'                  ? va_arg(*args, unsigned long long)
           : length == 'j'                  ? va_arg(*args, uintmax_t)
           : length == 'z' || length == 't' ? va_arg(*args, size_t)
                                            : va_arg(*args, unsigned);
}

static void add_integer(struct output *o, struct conversion *c, va_list *args)
{
    char text[96];
    bool is_signed = c->letter == 'd' || c->letter == 'i';
    c->form[c->used] = 'j';
    c->form[c->used + 1] = c->letter;
    int length = is_signed ? snprintf(text, sizeof text, c->form, take_signed(c->length, args))
                           : snprintf(text, sizeof text, c->form, take_unsigned(c->length, args));
    add(o, text, length < (int)sizeof text ? (size_t)length : sizeof text - 1);
}

/* Prints strings with their width, and single letters. Texts may be long, so they are printed in
 * place. */
static void add_other(struct output *o, struct conversion *c, va_list *args)
{
    char *to = o->length < o->size ? o->to + o->length : NULL;
    size_t room = to ? o->size - o->length : 0;
    int length = 0;
    c->form[c->used] = c->letter;
    if (c->letter == 's')
        length = snprintf(to, room, c->form, va_arg(*args, const char *));
    else if (c->letter == 'c')
        length = snprintf(to, room, c->form, va_arg(*args, int));
    else if (c->letter == 'p')
        length = snprintf(to, room, c->form, va_arg(*args, void *));
    else
        add(o, "%", 1);
    o->length += length > 0 ? (size_t)length : 0;
}

static bool has_float(const char *format)
{
    for (const char *at = strchr(format, '%'); at; at = strchr(at + 1, '%')) {
        at += 1 + strspn(at + 1, "-+ #0123456789.*");
        if (*at && strchr("fFeEgG", *at))
            return true;
        if (!*at)
            break;
    }
    return false;
}

int number_vformat(char *out, size_t size, const char *format, va_list args)
{
    if (!has_float(format))
        return vsnprintf(out, size, format, args);
    struct output o = {out, size, 0};
    va_list rest;
    va_copy(rest, args);
    for (const char *at = format; *at;) {
        size_t plain = strcspn(at, "%");
        add(&o, at, plain);
        at += plain;
        if (!*at)
            break;
        struct conversion c;
        at = read_conversion(&c, at, &rest);
        if (c.letter && strchr("fFeEgG", c.letter))
            add_float(&o, &c, va_arg(rest, double));
        else if (c.letter && strchr("diuxXo", c.letter))
            add_integer(&o, &c, &rest);
        else
            add_other(&o, &c, &rest);
    }
    va_end(rest);
    if (size)
        out[o.length < size ? o.length : size - 1] = '\0';
    return (int)o.length;
}

int number_format(char *out, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = number_vformat(out, size, format, args);
    va_end(args);
    return length;
}
