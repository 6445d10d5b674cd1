#include "base/text.h"

#include "base/number.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_init(struct text *t, struct arena *arena)
{
    *t = (struct text){.arena = arena, .capacity = 64};
    t->data = arena_alloc(arena, t->capacity);
}

static void grow(struct text *t, size_t more)
{
    while (t->capacity - t->length <= more)
        t->data = vec_room(t->arena, t->data, t->capacity, &t->capacity, 1);
}

/* Makes room for `more` bytes and the final '\0'. */
static inline void text_room(struct text *t, size_t more)
{
    assert(t->length < t->capacity);
    if (more >= t->capacity - t->length)
        grow(t, more);
}

void text_add_n(struct text *t, const char *s, size_t length)
{
    if (length == 0)
        return;
    text_room(t, length);
    memcpy(t->data + t->length, s, length);
    t->length += length;
    t->data[t->length] = '\0';
}

/* Most pieces are a few letters, so copying and counting go together. */
void text_add(struct text *t, const char *s)
{
    assert(t->length < t->capacity);
    size_t room = t->capacity - t->length, n = 0;
    char *to = t->data + t->length;
    while (n < room && (to[n] = s[n]))
        n++;
    if (n < room) {
        t->length += n;
        return;
    }
    t->data[t->length] = '\0';
    text_add_n(t, s, strlen(s));
}

void text_add_char(struct text *t, char c)
{
    text_room(t, 1);
    t->data[t->length++] = c;
    t->data[t->length] = '\0';
}

void text_printf(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_vprintf(t, format, args);
    va_end(args);
}

void text_vprintf(struct text *t, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = number_vformat(t->data + t->length, t->capacity - t->length, format, args);
    if (length > 0 && (size_t)length >= t->capacity - t->length) {
        text_room(t, (size_t)length);
        number_vformat(t->data + t->length, t->capacity - t->length, format, again);
    }
    va_end(again);
    if (length > 0)
        t->length += (size_t)length;
    t->data[t->length] = '\0';
}

/* --- numbers --- */

enum { MOST_DIGITS = 17 };

struct decimal {
    char digits[MOST_DIGITS + 1];
    int count;
    int exponent; /* of the first digit */
};

/* Returns the fewest significant digits that read back as v (> 0). */
static struct decimal shortest(double v, bool single)
{
    char buffer[64];
    for (int precision = 0; precision < MOST_DIGITS; precision++) {
        number_format(buffer, sizeof buffer, "%.*e", precision, v);
        double back = single ? number_read_single(buffer, NULL) : number_read(buffer, NULL);
        if (back == v)
            break;
    }
    struct decimal d = {.count = 0};
    const char *p = buffer;
    for (; *p && *p != 'e'; p++)
        if (*p >= '0' && *p <= '9' && d.count < MOST_DIGITS)
            d.digits[d.count++] = *p;
    if (*p == 'e')
        d.exponent = (int)strtol(p + 1, NULL, 10);
    return d;
}

static void add_positional(struct text *t, const struct decimal *d)
{
    if (d->exponent < 0) {
        text_add(t, "0.");
        for (int i = d->exponent; i < -1; i++)
            text_add_char(t, '0');
        text_add_n(t, d->digits, (size_t)d->count);
        return;
    }
    for (int i = 0; i <= d->exponent; i++)
        text_add_char(t, i < d->count ? d->digits[i] : '0');
    text_add_char(t, '.');
    if (d->count > d->exponent + 1)
        text_add_n(t, d->digits + d->exponent + 1, (size_t)(d->count - d->exponent - 1));
    else
        text_add_char(t, '0');
}

void text_add_double(struct text *t, double v, bool single)
{
    if (isnan(v)) {
        text_add(t, "nan");
        return;
    }
    if (signbit(v))
        text_add_char(t, '-');
    v = fabs(single ? (double)(float)v : v);
    if (isinf(v)) {
        text_add(t, "inf");
    } else if (v == 0) {
        text_add(t, "0.0");
    } else {
        struct decimal d = shortest(v, single);
        if (d.exponent >= -5 && d.exponent < 16) {
            add_positional(t, &d);
            return;
        }
        text_add_char(t, d.digits[0]);
        if (d.count > 1) {
            text_add_char(t, '.');
            text_add_n(t, d.digits + 1, (size_t)d.count - 1);
        }
        text_printf(t, "e%d", d.exponent);
    }
}

/* --- names --- */

const char *text_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* --- edit distance --- */

enum { LONGEST = 127 };

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Optimal string alignment: each piece of the text is edited at most once. Names that are longer
 * than the rows, without their common ends, count as wholly different. */
int text_distance(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    size_t m = strlen(a), n = strlen(b);
    while (m && n && a[m - 1] == b[n - 1]) {
        m--;
        n--;
    }
    if (m > LONGEST || n > LONGEST)
        return (int)(m > n ? m : n);
    int rows[3][LONGEST + 1]; /* row i of the table is rows[i % 3] */
    for (size_t j = 0; j <= n; j++)
        rows[0][j] = (int)j;
    for (size_t i = 1; i <= m; i++) {
        int *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = (int)i;
        for (size_t j = 1; j <= n; j++) {
            int edits = above[j - 1] + (a[i - 1] != b[j - 1]);
            edits = least(edits, least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                edits = least(edits, second[j - 2] + 1);
            row[j] = edits;
        }
    }
    return rows[m % 3][n];
}
