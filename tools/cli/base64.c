#include "cli/base64.h"
#include "cli/tool.h"

char *base64_text(const void *data, size_t length, bool for_address)
{
    static const char usual[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char address[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const char *digits = for_address ? address : usual;
    const unsigned char *bytes = data;
    char *text = need_memory(length / 3 * 4 + 5), *to = text;
    for (size_t i = 0; i < length; i += 3) {
        size_t left = length - i;
        unsigned word = (unsigned)bytes[i] << 16;
        word |= left > 1 ? (unsigned)bytes[i + 1] << 8 : 0;
        word |= left > 2 ? bytes[i + 2] : 0;
        *to++ = digits[word >> 18];
        *to++ = digits[word >> 12 & 63];
        if (left > 1)
            *to++ = digits[word >> 6 & 63];
        if (left > 2)
            *to++ = digits[word & 63];
    }
    for (; !for_address && (to - text) % 4; to++)
        *to = '=';
    *to = 0;
    return text;
}
