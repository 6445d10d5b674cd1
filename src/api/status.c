/* Status codes and element types, read from tables. */
#include "tilewright.h"

#include "base/diag_code.h"
#include "base/dtype.h"
#include "base/shown.h"

#include <string.h>

_Static_assert((int)TW_DTYPE_COUNT == (int)DT_COUNT && (int)TW_BOOL == (int)DT_BOOL &&
                   (int)TW_F64 == (int)DT_F64 && (int)TW_BF16 == (int)DT_BF16 &&
                   (int)TW_I64 == (int)DT_I64 && (int)TW_U8 == (int)DT_U8,
               "tw_dtype follows base/dtype.def");

const char *tw_status_name(tw_status s)
{
    switch (s) {
#define TW_STATUS_NAME(name, value, text)                                                          \
    case name: return #name;
        TW_STATUS_LIST(TW_STATUS_NAME)
#undef TW_STATUS_NAME
    }
    return "unknown status";
}

const char *tw_status_text(tw_status s)
{
    switch (s) {
#define TW_STATUS_TEXT(name, value, text)                                                          \
    case name: return text;
        TW_STATUS_LIST(TW_STATUS_TEXT)
#undef TW_STATUS_TEXT
    }
    return "unknown status";
}

#define CODE_AGREES(name)                                                                          \
    _Static_assert((int)TW_CODE_##name == (int)CODE_##name,                                        \
                   "TW_CODE_LIST follows base/diag_code.h");
DIAG_CODES(CODE_AGREES)
#undef CODE_AGREES

const char *tw_code_name(tw_code code)
{
    static const char *const names[] = {
#define CODE_NAME(name, text, about) text,
        TW_CODE_LIST(CODE_NAME)
#undef CODE_NAME
    };
    return (unsigned)code < sizeof names / sizeof *names ? names[code] : "unknown code";
}

const char *tw_version(void)
{
    return TW_VERSION;
}

int tw_version_number(void)
{
    return TW_VERSION_NUMBER;
}

static bool valid(tw_dtype t)
{
    return (int)t >= 0 && (int)t < (int)TW_DTYPE_COUNT;
}

const char *tw_dtype_name(tw_dtype t)
{
    return valid(t) ? dtype_table[t].name : "none";
}

size_t tw_dtype_size(tw_dtype t)
{
    return valid(t) ? dtype_size((enum dtype)t) : 0;
}

tw_dtype tw_dtype_from_name(const char *name)
{
    return name ? (tw_dtype)dtype_by_name(name, strlen(name)) : TW_DTYPE_NONE;
}

const char *tw_dtype_numpy(tw_dtype t)
{
    return valid(t) ? dtype_table[t].numpy : "";
}

double tw_dtype_load(tw_dtype t, const void *element)
{
    return valid(t) ? dtype_load_f64((enum dtype)t, element) : 0;
}

void tw_dtype_store(tw_dtype t, void *element, double value)
{
    if (valid(t))
        dtype_store_f64((enum dtype)t, element, value);
}

_Static_assert((int)TW_SHOWN_LINES == (int)SHOWN_LINES && (int)TW_SHOWN_JSON == (int)SHOWN_JSON,
               "tw_shown follows base/shown.h");

size_t tw_text_shown(const char *text, size_t length, tw_shown how, char *out, size_t room)
{
    size_t end = 0;
    bool fits = room > 0; /* so far; no piece is written in part */
    char piece[SHOWN_PIECE];
    for (const char *at = text; text && at < text + length;) {
        size_t bytes = shown_piece(&at, text + length, (enum shown)how, piece);
        fits = fits && end + bytes < room;
        if (fits)
            memcpy(out + end, piece, bytes);
        else if (end < room)
            out[end] = 0;
        end += bytes;
    }
    if (fits)
        out[end] = 0;
    return end;
}
