#include "target/target_copiers.h"

#include <string.h>

static const struct copier copiers[] = {
#define COPIER(name, unit, from, to, bytes, issued, done, since)                                   \
    {name, unit, COPIER_##from, COPIER_##to, bytes, COPIER_##issued, COPIER_##done, since},
#include "target/copiers.def"
#undef COPIER
};

const struct copier *copier_at(int index)
{
    int count = (int)(sizeof copiers / sizeof *copiers);
    return index >= 0 && index < count ? &copiers[index] : NULL;
}

/* Reads the number at the end of the text: ".16". Returns -1 if that is not a number. */
static int read_number(const char *text)
{
    enum { MOST = 10000 };
    int n = 0;
    if (*text++ != '.' || !text_is_digit(*text))
        return -1;
    for (; text_is_digit(*text) && n < MOST; text++)
        n = 10 * n + (*text - '0');
    return *text ? -1 : n;
}

bool copier_read(const struct target *t, const char *text, struct copier_width *out)
{
    for (int i = 0; copier_at(i); i++) {
        const struct copier *c = copier_at(i);
        size_t length = strlen(c->name);
        int bits = strncmp(text, c->name, length) == 0 ? read_number(text + length) : -1;
        bits = bits > 0 ? bits * c->unit_bits : 0;
        *out = (struct copier_width){c, bits / 8};
        if (t->ptx.number >= c->since && bits % 8 == 0 && out->bytes > 0 &&
            (out->bytes & (out->bytes - 1)) == 0 && (c->bytes & out->bytes))
            return true;
    }
    return false;
}

const char *copier_text(struct arena *a, struct copier_width w)
{
    return arena_printf(a, "%s.%d", w.copier->name, w.bytes * 8 / w.copier->unit_bits);
}

bool copier_find(const struct target *t, enum copier_memory from, enum copier_memory to, int most,
                 struct copier_width *out)
{
    enum { WIDEST = 16 };
    for (int i = 0; copier_at(i); i++) {
        const struct copier *c = copier_at(i);
        if (c->from != from || c->to != to || t->ptx.number < c->since)
            continue;
        *out = (struct copier_width){c, WIDEST};
        while (out->bytes > most || (out->bytes > 0 && !(c->bytes & out->bytes)))
            out->bytes /= 2;
        if (out->bytes > 0)
            return true;
    }
    return false;
}
