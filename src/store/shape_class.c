/* Classes of sizes that share results. */
#include "store/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    DIVISOR = 16
}; /* multiples of 16 are a class of their own; those of 8 count as other numbers */

struct size_range tune_size_range_of(int64_t v, bool is_static)
{
    if (is_static || v <= 0)
        return (struct size_range){v, v, 1};
    int64_t low = 1;
    while (low <= v / 2)
        low *= 2;
    return (struct size_range){low, low - 1 + low, v % DIVISOR == 0 ? DIVISOR : 1};
}

void tune_size_range_add(struct text *out, const char *name, struct size_range r)
{
    text_printf(out, "%s%s=%" PRId64, out->length ? "," : "", name, r.low);
    if (r.high != r.low)
        text_printf(out, "..%" PRId64, r.high);
    if (r.divisor > 1)
        text_printf(out, "/%d", r.divisor);
}

bool tune_size_range_read(const char **at, char *name, size_t room, struct size_range *out)
{
    const char *equals = strchr(*at, '=');
    if (!equals || (size_t)(equals - *at) >= room)
        return false;
    memcpy(name, *at, (size_t)(equals - *at));
    name[equals - *at] = '\0';
    char *end;
    out->low = out->high = strtoll(equals + 1, &end, 10);
    if (end == equals + 1)
        return false;
    out->divisor = 1;
    if (strncmp(end, "..", 2) == 0)
        out->high = strtoll(end + 2, &end, 10);
    if (*end == '/')
        out->divisor = (int)strtol(end + 1, &end, 10);
    if (*end && *end != ',')
        return false;
    *at = *end ? end + 1 : end;
    return true;
}

double tune_shape_distance(const char *a, const char *b)
{
    double distance = 0;
    while (*a && *b) {
        char x_name[64], y_name[64];
        struct size_range x, y;
        size_t length = strcspn(a, ",");
        if (length == strcspn(b, ",") && memcmp(a, b, length) == 0) { /* a static float, too */
            a += length + (a[length] == ',');
            b += length + (b[length] == ',');
            continue;
        }
        if (!tune_size_range_read(&a, x_name, sizeof x_name, &x) ||
            !tune_size_range_read(&b, y_name, sizeof y_name, &y) || strcmp(x_name, y_name) != 0)
            return -1;
        if (x.low > 0 && y.low > 0)
            distance += fabs(log2((double)x.low) - log2((double)y.low));
        else if (x.low != y.low)
            return -1;
        distance += x.divisor != y.divisor;
    }
    return *a || *b ? -1 : distance;
}
