/* Finds elements that a launch did not leave 0 in `clean` workspace. */
#include "tile/clean.h"

#include "base/number.h"

#include <stdio.h>
#include <string.h>

const char clean_way_out[] =
    "`clean` workspace is set to 0 once, when it is made: store 0 where the "
    "last block is done with it, or declare it `= 0`";

static void value_text(char *out, size_t room, enum dtype t, const void *element)
{
    if (dtype_is_float(t))
        number_format(out, room, "%g", dtype_load_f64(t, element));
    else
        snprintf(out, room, "%lld", (long long)dtype_load_i64(t, element));
}

static void describe(const struct sym *s, const int64_t *extent, int64_t at, const void *element,
                     char message[CLEAN_TEXT])
{
    int64_t index[MAX_RANK];
    char place[MAX_RANK * 24] = "", value[32];
    int used = 0;
    for (int i = s->type.rank - 1; i >= 0; i--) {
        index[i] = at % extent[i];
        at /= extent[i];
    }
    for (int i = 0; i < s->type.rank; i++)
        used += snprintf(place + used, sizeof place - (size_t)used, "[%lld]", (long long)index[i]);
    value_text(value, sizeof value, s->type.dtype, element);
    snprintf(message, CLEAN_TEXT, "`%.40s%.60s` is %s after the launch, and not 0", s->name, place,
             value);
}

bool clean_is_dirty(const struct sym *s, const int64_t *extent, const void *data,
                    char message[CLEAN_TEXT])
{
    static const char zeros[8];
    const char *element = data;
    size_t size = dtype_size(s->type.dtype);
    int64_t count = 1;
    for (int i = 0; i < s->type.rank; i++)
        count *= extent[i];
    for (int64_t at = 0; at < count; at++, element += size) {
        if (memcmp(element, zeros, size) == 0)
            continue;
        describe(s, extent, at, element, message);
        return true;
    }
    return false;
}
