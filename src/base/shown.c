#include "base/shown.h"

#include <stdio.h>
#include <string.h>

/* Decodes the well-formed UTF-8 character at p (RFC 3629). Returns its bytes, or 0 if it is not
 * well formed. */
static size_t decode(const char *p, const char *end, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *c = (const unsigned char *)p;
    size_t length = *c < 0x80   ? 1
                    : *c < 0xc0 ? 0
                    : *c < 0xe0 ? 2
                    : *c < 0xf0 ? 3
                    : *c < 0xf8 ? 4
                                : 0;
    if ((size_t)(end - p) < length)
        return 0;
    *code = length < 2 ? *c : *c & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((c[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (c[i] & 0x3f);
    }
    return *code < least[length] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000)
               ? 0
               : length;
}

/* Returns true for characters that Unicode Standard Annex 9 lists as marks, embeddings, overrides
 * and isolates of direction, and for the separators of lines and paragraphs. */
static bool is_harmful(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

size_t shown_character(const char *p, const char *end, enum shown how)
{
    uint32_t code;
    size_t length = decode(p, end, &code);
    if (length && is_harmful(code))
        return how == SHOWN_LINES && (*p == '\n' || *p == '\t') ? 1 : 0;
    return how == SHOWN_JSON && (*p == '"' || *p == '\\') ? 0 : length;
}

size_t shown_piece(const char **at, const char *end, enum shown how, char piece[SHOWN_PIECE])
{
    const char *p = *at;
    uint32_t code;
    size_t bytes = shown_character(p, end, how);
    if (bytes) {
        memcpy(piece, p, bytes);
        *at += bytes;
        return bytes;
    }
    bytes = decode(p, end, &code);
    *at += bytes ? bytes : 1;
    if (how != SHOWN_JSON && bytes < 2)
        return (size_t)snprintf(piece, SHOWN_PIECE, "\\x%02x", (unsigned char)*p);
    if (bytes == 1 && (*p == '"' || *p == '\\'))
        return (size_t)snprintf(piece, SHOWN_PIECE, "\\%c", *p);
    return (size_t)snprintf(piece, SHOWN_PIECE, "\\u%04x",
                            bytes ? (unsigned)code & 0xffff : 0xfffdu);
}

static void text_add_shown(struct text *t, const char *s, size_t length, enum shown how)
{
    char piece[SHOWN_PIECE];
    for (const char *end = s + length; s < end;) {
        size_t bytes = shown_piece(&s, end, how, piece);
        text_add_n(t, piece, bytes);
    }
}

const char *text_shown(struct arena *a, const char *s, enum shown how)
{
    struct text t;
    size_t length = strlen(s), at = 0;
    for (size_t bytes = 1; at < length && bytes; at += bytes)
        bytes = shown_character(s + at, s + length, how);
    if (at == length)
        return s;
    text_init(&t, a);
    text_add_shown(&t, s, length, how);
    return t.data;
}

void text_add_json(struct text *t, const char *s)
{
    text_add_char(t, '"');
    text_add_shown(t, s, strlen(s), SHOWN_JSON);
    text_add_char(t, '"');
}
