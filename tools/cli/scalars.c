/* Converts scalars and types from and to text. */
#include "cli/target.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool is_float_type(tw_dtype t)
{
    return t >= TW_F64 && t <= TW_E5M2;
}

bool parse_scalar(const char *text, tw_value *out)
{
    *out = tw_int(text[0] == 't');
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0 || parse_integer(text, &out->i))
        return true;
    *out = tw_float(0);
    return parse_real(text, &out->f);
}

static double as_type(tw_dtype t, double v)
{
    char store[8];
    tw_dtype_store(t, store, v);
    return tw_dtype_load(t, store);
}

void format_scalar(char *out, size_t size, tw_value v, tw_dtype t)
{
    if (v.kind != TW_FLOAT) {
        snprintf(out, size, "%lld", (long long)v.i);
        return;
    }
    if (isnan(v.f) || (v.f == 0 && signbit(v.f))) { /* never "-nan"; -0 is an integer */
        snprintf(out, size, isnan(v.f) ? "nan" : "-0.0");
        return;
    }
    if (!is_float_type(t))
        t = TW_F32;
    if (as_type(t, v.f) != v.f)
        t = TW_F64;
    int digits = 0;
    do
        snprintf(out, size, "%.*e", digits, v.f);
    while (as_type(t, strtod(out, NULL)) != v.f && ++digits < 17);
    const char *e = strchr(out, 'e'); /* of an infinity: none */
    int exponent = e ? atoi(e + 1) : 0;
    if (e && exponent >= -4 && exponent < 15)
        snprintf(out, size, "%.*f", digits > exponent ? digits - exponent : 0, v.f);
}

bool same_scalar(tw_value a, tw_value b)
{
    double x = a.kind == TW_FLOAT ? a.f : (double)a.i, y = b.kind == TW_FLOAT ? b.f : (double)b.i;
    return memcmp(&x, &y, sizeof x) == 0;
}

void format_array_type(char *out, size_t size, const tw_array *a)
{
    int at = snprintf(out, size, "%s", tw_dtype_name(a->dtype));
    for (int i = 0; i < a->rank && at > 0 && (size_t)at < size; i++)
        at += snprintf(out + at, size - (size_t)at, "[%lld]", (long long)a->shape[i]);
}

char *missing_scalars(tw_launch *l, tw_kernel *k)
{
    char *text = NULL;
    tw_param p = tw_param_init();
    tw_value v;
    if (tw_launch_value(l, "", &v) != TW_NOT_FOUND) /* what is set is wrong: no value is known */
        return NULL;
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++) {
        if (p.is_pointer || p.derived || tw_launch_value(l, p.name, &v) == TW_OK)
            continue;
        append_text(&text, "%s%s=…", text ? "," : "", p.name);
    }
    return text;
}

char *scalars_text(tw_launch *l, tw_kernel *k)
{
    char *text = need_text("%s", ""), value[32];
    tw_param p = tw_param_init();
    tw_value v;
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++) {
        if (p.is_pointer || tw_launch_value(l, p.name, &v) != TW_OK)
            continue;
        format_scalar(value, sizeof value, v, p.dtype);
        append_text(&text, "%s%s = %s", *text ? ", " : "", p.name, value);
    }
    return text;
}

char *set_options(tw_launch *l, tw_kernel *k)
{
    char *text = need_text("%s", ""), value[32];
    tw_param p = tw_param_init();
    tw_value v;
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++) {
        if (p.is_pointer || p.derived || tw_launch_value(l, p.name, &v) != TW_OK)
            continue;
        format_scalar(value, sizeof value, v, p.dtype);
        append_text(&text, "%s%s=%s", *text ? "," : " --set ", p.name, value);
    }
    return text;
}
