/* Derives the values that the page, the table, the diagram and JSON share from an explanation. */
#include "explain/explained.h"

#include <ctype.h>
#include <string.h>

const tw_roof *explain_roof(const tw_explanation *e, const char *name)
{
    for (int i = 0; i < e->roof_count; i++)
        if (strcmp(e->roofs[i].name, name) == 0)
            return &e->roofs[i];
    return NULL;
}

/* Names the level that all wavefronts belong to: shared memory, L1, or both. */
static const char *shared_name(const tw_explanation *e)
{
    const tw_roof *r = explain_roof(e, "shared");
    double own = e->shared_wavefronts - e->copy_wavefronts;
    bool all = r && r->work.middle <= own;
    return !(own > 0) ? "L1" : all ? "shared" : "L1, shared";
}

const char *explain_roof_name(const tw_explanation *e, const char *name)
{
    return !name                         ? "nothing"
           : strcmp(name, "shared") == 0 ? shared_name(e)
                                         : explain_level_name(&e->gpu, name);
}

double explain_last_wave(const tw_explanation *e)
{
    long long places = (long long)e->resident_blocks * e->gpu.multiprocessors;
    long long last = places ? e->blocks % places : 0;
    return last ? (double)last / (double)places : 1;
}

double explain_bandwidth(const tw_explanation *e)
{
    return e->seconds.middle > 0 ? e->traffic[TW_AT_HBM].compulsory / e->seconds.middle : 0;
}

const char *explain_level_name(const tw_gpu *g, const char *name)
{
    return strcmp(name, "HBM") == 0 && strncmp(g->memory, "HBM", 3) != 0 ? g->memory : name;
}

char *explain_same_sizes(const struct explain *x)
{
    const struct explain_row *a = x->rows;
    bool same = x->row_count > 1 && a->sizes;
    for (int i = 1; i < x->row_count && same; i++) {
        const struct explain_row *b = &x->rows[i];
        same = b->sizes == a->sizes && memcmp(a->choice, b->choice, a->sizes) == 0;
    }
    return same ? need_text("%.*s", (int)a->sizes, a->choice) : NULL;
}

/* Returns the element type of the products' factors: that of the first array that the kernel
 * reads. */
static tw_dtype factor_type(const struct explain_row *r)
{
    tw_param p = tw_param_init();
    tw_array a = tw_array_init();
    for (int i = 0; tw_kernel_param(r->kernel, i, &p) == TW_OK; i++)
        if (p.is_pointer && p.is_const && tw_launch_shape(r->launch, p.name, &a) == TW_OK)
            return a.dtype;
    return TW_DTYPE_NONE;
}

static double tensor_peak(const tw_gpu *g, tw_dtype t)
{
    switch (t) {
    case TW_F64: return g->tensor_f64 > 0 ? g->tensor_f64 : g->f64;
    case TW_F32:
    case TW_TF32: return g->tensor_tf32;
    case TW_E4M3:
    case TW_E5M2: return g->tensor_fp8;
    case TW_I8:
    case TW_U8: return g->tensor_i8;
    default: return g->tensor_f16;
    }
}

const char *explain_units(const struct explain_row *r, double *peak)
{
    const tw_roof *f32 = explain_roof(&r->e, "fma"), *f64 = explain_roof(&r->e, "f64");
    const tw_gpu *g = &r->e.gpu;
    if (explain_roof(&r->e, "tensor")) {
        *peak = tensor_peak(g, factor_type(r));
        return "tensor";
    }
    if (f64 && (!f32 || f64->seconds.middle > f32->seconds.middle)) {
        *peak = g->f64;
        return "f64";
    }
    *peak = f32 ? g->f32 : 0;
    return f32 ? "f32" : NULL;
}

double explain_peak(const struct explain_row *r)
{
    double peak;
    explain_units(r, &peak);
    return peak;
}

tw_range explain_speed(const tw_explanation *e)
{
    if (!(e->seconds.low > 0))
        return (tw_range){0};
    return (tw_range){e->flops / e->seconds.high, e->flops / e->seconds.middle,
                      e->flops / e->seconds.low};
}

static const char *line_start(const struct explain_row *r, int line)
{
    const char *at = r->program.text;
    for (; at && line > 1; line--) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    return at;
}

char *explain_source_line(const struct explain_row *r, int line)
{
    const char *at = line_start(r, line);
    if (!at)
        return NULL;
    at += strspn(at, " \t");
    size_t length = strcspn(at, "\r\n");
    for (size_t i = 1; i < length; i++)
        if (at[i] == '/' && at[i - 1] == '/')
            length = i - 1;
    while (length && (at[length - 1] == ' ' || at[length - 1] == '\t'))
        length--;
    return need_text("%.*s", (int)length, at);
}

char *explain_source_access(const struct explain_row *r, int line, int column)
{
    const char *at = line_start(r, line);
    size_t length = at ? strcspn(at, "\r\n") : 0, from = (size_t)column - 1, end = from;
    if (column < 1 || from >= length)
        return NULL;
    while (end < length && (isalnum((unsigned char)at[end]) || at[end] == '_'))
        end++;
    for (int depth = 0; end > from && end < length && (depth || at[end] == '['); end++)
        depth += (at[end] == '[') - (at[end] == ']');
    return end > from ? need_text("%.*s", (int)(end - from), at + from) : NULL;
}
