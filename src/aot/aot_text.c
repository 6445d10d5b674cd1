/* Pieces of C and of its comments, apart from what is built. */
#include "aot/aot.h"

#include <math.h>
#include <string.h>

enum { COLUMNS = 100 };

void aot_quote(struct text *out, const char *s, size_t length)
{
    text_add_char(out, '"');
    for (size_t i = 0; i < length; i++) {
        if (s[i] == '\n') {
            text_add(out, "\\n");
            continue;
        }
        if (s[i] == '"' || s[i] == '\\')
            text_add_char(out, '\\');
        text_add_char(out, s[i] == '\t' ? ' ' : s[i]);
    }
    text_add_char(out, '"');
}

/* Returns where a line that starts at s may end, with `room` columns left: after the last comma
 * or semicolon that a space follows, outside strings. 0: nowhere. */
static size_t break_at(const char *s, size_t length, size_t room)
{
    size_t at = 0;
    bool quoted = false;
    for (size_t i = 0; i + 1 < length && (i < room || at == 0); i++) {
        if (s[i] == '\\' && quoted)
            i++;
        else if (s[i] == '"')
            quoted = !quoted;
        else if (!quoted && (s[i] == ',' || s[i] == ';') && s[i + 1] == ' ')
            at = i + 1;
    }
    return at;
}

static void wrap_line(struct text *out, const char *line, size_t length)
{
    bool comment = strncmp(line, " * ", 3) == 0;
    int indent = (int)strspn(line, " ") + 4;
    size_t column = 0;
    while (column + length > COLUMNS) {
        size_t first = break_at(line, length, COLUMNS - column);
        if (!first)
            break;
        text_add_n(out, line, first);
        text_printf(out, "\n%s%*s", comment ? " *" : "", comment ? 5 : indent, "");
        column = comment ? 7 : (size_t)indent;
        line += first + 1;
        length -= first + 1;
    }
    text_add_n(out, line, length);
}

void aot_wrap(struct text *out, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        wrap_line(out, text, length);
        text += length;
        if (*text)
            text_add_char(out, *text++);
    }
}

/* Returns the slot whose "@key@" is at s, or NULL. */
static const struct aot_slot *slot_at(const char *s, size_t length, const struct aot_slot *slots,
                                      int count)
{
    for (int i = 0; i < count; i++) {
        size_t key = strlen(slots[i].key);
        if (length >= key + 2 && strncmp(s + 1, slots[i].key, key) == 0 && s[key + 1] == '@')
            return &slots[i];
    }
    return NULL;
}

void aot_fill(struct text *out, const unsigned char *form, size_t length,
              const struct aot_slot *slots, int count)
{
    const char *s = (const char *)form, *end = s + length;
    while (s < end) {
        const char *at = memchr(s, '@', (size_t)(end - s));
        const struct aot_slot *slot = at ? slot_at(at, (size_t)(end - at), slots, count) : NULL;
        const char *next = slot ? at : at ? at + 1 : end;
        text_add_n(out, s, (size_t)(next - s));
        s = next;
        if (slot) {
            text_add(out, slot->value);
            s += strlen(slot->key) + 2;
        }
    }
}

const char *aot_c_type(enum dtype t)
{
    switch (t) {
    case DT_F64: return "double";
    case DT_F32:
    case DT_TF32: return "float";
    case DT_F16:
    case DT_BF16:
    case DT_U16: return "uint16_t";
    case DT_I64: return "int64_t";
    case DT_I32: return "int32_t";
    case DT_I16: return "int16_t";
    case DT_I8: return "int8_t";
    case DT_U64: return "uint64_t";
    case DT_U32: return "uint32_t";
    case DT_BOOL: return "bool";
    default: return "uint8_t";
    }
}

void aot_show_float(struct text *out, enum dtype t, double v)
{
    text_add(out, isnan(v) && signbit(v) ? "-" : "");
    text_add_double(out, v, t != DT_F64);
}
