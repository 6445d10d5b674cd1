/* The constant texts, which the library keeps packed: byte 128 + i means word i of aot_words
 * (cmake/aot_words.cmake). They take half of their size. */
#include "aot/aot.h"

#include <string.h>

extern const char aot_words[]; /* a 0 ends each, and the list */

struct text aot_unpack(struct arena *a, const unsigned char *packed, size_t length)
{
    enum { FIRST = 128, MOST = 128 };
    const char *word[MOST] = {NULL}, *at = aot_words;
    struct text out;
    text_init(&out, a);
    for (int i = 0; i < MOST && *at; i++, at += strlen(at) + 1)
        word[i] = at;
    for (size_t i = 0; i < length; i++)
        if (packed[i] >= FIRST)
            text_add(&out, word[packed[i] - FIRST]);
        else
            text_add_char(&out, (char)packed[i]);
    return out;
}
