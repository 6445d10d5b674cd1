/* Computes the roofline diagram of the explained kernels. */
#include "explain/explained.h"
#include "explain/explain_chart.h"
#include "cli/figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Levels with a roof, from memory up. The roof of shared memory and L1 is in wavefronts, which
 * include bank conflicts. */
static const struct {
    const char *name, *roof;
    double bytes; /* of one unit of the roof's work */
} levels[] = {{"HBM", "HBM", 1}, {"L2", "L2", 1}, {"L1/shared", "shared", 128}};
enum { LEVELS = sizeof levels / sizeof *levels };

/* Returns a roof's bandwidth. It depends on the clock at which each kernel runs; returns the
 * greatest. */
static double bandwidth_of(const struct explain *x, int level)
{
    const tw_gpu *g = &x->gpu;
    double most = 0;
    for (int i = 0; i < x->row_count; i++) {
        const tw_roof *r = explain_roof(&x->rows[i].e, levels[level].roof);
        if (r && r->rate * levels[level].bytes > most)
            most = r->rate * levels[level].bytes;
    }
    if (most > 0)
        return most;
    return level == 0   ? g->memory_bandwidth
           : level == 1 ? g->l2_bandwidth.high
                        : g->shared_bandwidth;
}

/* Returns useful FLOPs per byte that the hardware moves at that level. */
static double intensity_at(const tw_explanation *e, int level)
{
    const tw_roof *r = explain_roof(e, levels[level].roof);
    double moved = r ? r->work.middle * levels[level].bytes : 0;
    return moved > 0 ? e->flops / moved : 0;
}

/* Returns NULL if it has points. */
static char *why_no_points(const struct explain_row *r)
{
    const tw_explanation *e = &r->e;
    if (r->refused == TW_BAD_PROGRAM || r->refused == TW_UNSYNCHRONISED)
        return need_text("does not compile");
    if (!e->launches)
        return need_text("cannot launch");
    if (e->flops > 0 && e->seconds.low > 0)
        return NULL;
    return e->seconds.low > 0 ? need_text("no FLOPs; %s", figure_range_seconds(e->seconds).text)
                              : need_text("no FLOPs");
}

static void fill_kernel(struct chart_kernel *k, const struct explain_row *r)
{
    tw_range speed = explain_speed(&r->e);
    *k = (struct chart_kernel){.name = r->name,
                               .why_not = why_no_points(r),
                               .speed = speed,
                               .measured = r->measured > 0 ? r->e.flops / r->measured : 0};
    for (int i = 0; i < LEVELS && !k->why_not; i++)
        k->intensity[i] = intensity_at(&r->e, i);
}

/* Adds the distinct peak rates of a GPU alone, the fastest first. */
static void fill_all_ceilings(struct chart *c, const tw_gpu *g)
{
    const struct chart_ceiling all[] = {{"fp8, i8 tensor", fmax(g->tensor_fp8, g->tensor_i8)},
                                        {"f16 tensor", g->tensor_f16},
                                        {"tf32 tensor", g->tensor_tf32},
                                        {"f32", g->f32}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].speed > 0)
            c->ceilings[c->ceiling_count++] = all[i];
}

/* Adds the rates of the units that execute the kernels' FLOPs, or those for f32 if no kernel can
 * be launched. */
static void fill_ceilings(struct chart *c, const struct explain *x)
{
    for (int i = 0; i < x->row_count; i++) {
        double peak;
        const char *units = explain_units(&x->rows[i], &peak);
        bool listed = !units || !(peak > 0) || c->ceiling_count == CHART_CEILINGS;
        for (int j = 0; j < c->ceiling_count && !listed; j++)
            listed = c->ceilings[j].speed == peak;
        if (!listed)
            c->ceilings[c->ceiling_count++] = (struct chart_ceiling){units, peak};
    }
    if (!x->row_count)
        fill_all_ceilings(c, &x->gpu);
    if (!c->ceiling_count)
        c->ceilings[c->ceiling_count++] = (struct chart_ceiling){"f32", x->gpu.f32};
}

/* Reduces the diagram to memory's roof and one intensity a kernel. A kernel that cannot be
 * launched is drawn at the speed that this roof would allow. */
static void count_by(struct chart *c, const struct explain *x, const char *by)
{
    c->roof_count = 1;
    for (int i = 0; i < x->row_count; i++) {
        struct explain_way ways[EXPLAIN_WAYS];
        struct chart_kernel *k = &c->kernels[i];
        const struct explain_way *way =
            explain_way_named(ways, explain_ways(&x->rows[i].e, ways), by);
        memset(k->intensity, 0, sizeof k->intensity);
        k->intensity[0] = way ? way->intensity : 0;
        if (k->why_not && k->intensity[0] > 0)
            k->allowed = fmin(k->intensity[0] * c->roofs[0].bandwidth, c->ceilings[0].speed);
    }
}

int explain_svg(struct explain *x, const char *path, const char *by)
{
    char *title = need_text("Roofline of the %s", x->gpu.name), *subtitle = NULL;
    struct chart c = {.roof_count = LEVELS,
                      .kernel_count = x->row_count,
                      .kernels = need_memory((size_t)(x->row_count + 1) * sizeof *c.kernels)};
    for (int i = 0; i < LEVELS; i++)
        c.roofs[i] =
            (struct chart_roof){explain_level_name(&x->gpu, levels[i].name), bandwidth_of(x, i)};
    for (int i = 0; i < x->row_count; i++)
        fill_kernel(&c.kernels[i], &x->rows[i]);
    fill_ceilings(&c, x);
    if (by)
        count_by(&c, x, by);
    char *sizes = explain_same_sizes(x);
    if (!x->row_count)
        append_text(&subtitle, "%s, rates as data sheets have them", x->gpu.target);
    else if (sizes)
        append_text(&subtitle, "all kernels: %s", sizes);
    else
        append_text(&subtitle, "%s: %s%s", x->rows[0].name,
                    x->rows[0].choice ? x->rows[0].choice : "",
                    x->row_count > 1 ? "; other rows have sizes of their own" : "");
    free(sizes);
    if (by)
        append_text(&subtitle, "; bytes counted by %s", by);
    c.title = title;
    c.subtitle = subtitle;
    char *why = chart_write(path, &c);
    if (why)
        complain(&x->complaints, "%s", why);
    for (int i = 0; i < x->row_count; i++)
        free(c.kernels[i].why_not);
    free(c.kernels);
    free(subtitle);
    free(title);
    int status = why ? STATUS_FAILED : STATUS_OK;
    free(why);
    return status;
}
