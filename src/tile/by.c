/* by(…) of an expression. */
#include "base/text.h"
#include "tile/tile.h"

#include <string.h>

bool by_same(const struct by *a, const struct by *b)
{
    if (!a || !b)
        return a == b;
    if (strcmp(a->name, b->name) != 0 || a->count != b->count)
        return false;
    for (int i = 0; i < a->count; i++)
        if (strcmp(a->words[i], b->words[i]) != 0)
            return false;
    return true;
}

static bool is_word(const char *text, bool blanks)
{
    for (const char *c = text; *c; c++)
        if (!text_is_letter(*c) && !text_is_digit(*c) && *c != '_' && *c != '.' &&
            !(blanks && *c == ' '))
            return false;
    return *text != '\0';
}

bool by_reads_back(const struct by *by)
{
    bool good = is_word(by->name, false);
    for (int i = 0; i < by->count; i++)
        good = good && is_word(by->words[i], true);
    return good;
}

void by_print(struct text *out, const struct by *by)
{
    text_printf(out, " by(%s", by->name);
    for (int i = 0; i < by->count; i++)
        text_printf(out, ", %s", by->words[i]);
    text_add_char(out, ')');
}
