#include "cli/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int decimals(double v)
{
    v = fabs(v);
    return v < 9.995 ? 2 : v < 99.95 ? 1 : 0;
}

struct scale {
    double one;
    const char *prefix;
};
static const struct scale scales[] = {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
static const struct scale times[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}};

/* Returns the largest scale in which the rounded value is at least 1, else the last scale. */
static const struct scale *scale_of(const struct scale *list, int count, double v)
{
    int i = 0;
    while (i < count - 1 && fabs(v) < list[i].one * 0.9995)
        i++;
    return &list[i];
}

static const struct scale *scale_of_unit(double v)
{
    static const struct scale one = {1, ""};
    enum { SCALES = sizeof scales / sizeof *scales };
    return fabs(v) < 999.5 ? &one : scale_of(scales, SCALES, v);
}

static const struct scale *scale_of_time(double v)
{
    return scale_of(times, sizeof times / sizeof *times, v);
}

struct figure figure_plain(double v)
{
    struct figure f;
    int digits = fabs(v) < 0.995 && v != 0 ? 3 : decimals(v);
    snprintf(f.text, sizeof f.text, "%.*f", digits, v);
    if (digits == 3 && f.text[strlen(f.text) - 1] == '0')
        f.text[strlen(f.text) - 1] = '\0'; /* 0.25 */
    return f;
}

struct figure figure_unit(double v, const char *unit)
{
    struct figure f;
    const struct scale *s = scale_of_unit(v);
    double shown = v / s->one;
    bool whole = s->one == 1 && shown == floor(shown);
    snprintf(f.text, sizeof f.text, "%.*f%s%s%s", whole ? 0 : decimals(shown), shown,
             *unit || *s->prefix ? " " : "", s->prefix, unit);
    return f;
}

static struct figure binary(double v, const char *unit)
{
    struct figure f;
    snprintf(f.text, sizeof f.text, "%.*f %s", v == floor(v) ? 0 : decimals(v), v, unit);
    return f;
}

struct figure figure_kib(double bytes)
{
    return binary(bytes / 1024, "KiB");
}

struct figure figure_mib(double bytes)
{
    return binary(bytes / 1048576, "MiB");
}

struct figure figure_seconds(double v)
{
    struct figure f;
    const struct scale *s = scale_of_time(v);
    snprintf(f.text, sizeof f.text, "%.*f %s", decimals(v / s->one), v / s->one, s->prefix);
    return f;
}

struct figure figure_percent(double part)
{
    struct figure f;
    snprintf(f.text, sizeof f.text, "%.*f %%", part == 1 ? 0 : decimals(100 * part), 100 * part);
    return f;
}

struct figure figure_change(double part)
{
    struct figure f;
    snprintf(f.text, sizeof f.text, "%+.0f %%", fabs(part) < 0.005 ? 0 : 100 * part);
    return f;
}

/* Returns "middle unit (low to high)"; leaves out the ends if they look the same as the middle. */
static struct figure range_text(tw_range r, const struct scale *s, const char *unit)
{
    struct figure f;
    char middle[24], low[24], high[24];
    double m = r.middle / s->one;
    bool whole = s->one == 1 && m == floor(m);
    snprintf(middle, sizeof middle, "%.*f", whole ? 0 : decimals(m), m);
    snprintf(low, sizeof low, "%.*f", decimals(r.low / s->one), r.low / s->one);
    snprintf(high, sizeof high, "%.*f", decimals(r.high / s->one), r.high / s->one);
    const char *gap = *unit || *s->prefix ? " " : "";
    if (fabs(r.high - r.low) <= 0.0005 * fabs(r.middle) || strcmp(low, high) == 0)
        snprintf(f.text, sizeof f.text, "%s%s%s%s", middle, gap, s->prefix, unit);
    else
        snprintf(f.text, sizeof f.text, "%s%s%s%s (%s to %s)", middle, gap, s->prefix, unit, low,
                 high);
    return f;
}

struct figure figure_range(tw_range r, const char *unit)
{
    return range_text(r, scale_of_unit(r.middle), unit);
}

struct figure figure_range_seconds(tw_range r)
{
    return range_text(r, scale_of_time(r.middle), "");
}

double three_digits(double v)
{
    char text[32];
    snprintf(text, sizeof text, "%.2e", v);
    return strtod(text, NULL);
}
