/* What the explained kernels are in a roofline diagram. */
#include "explained.h"
#include "explain_chart.h"

#include <stdlib.h>
#include <string.h>

/* The levels that have a roof, from memory up. That of shared memory and L1 is in wavefronts, bank
 * conflicts and all. */
static const struct {
    const char *name, *roof;
    double bytes; /* of a unit of the roof's work */
} levels[] = {{"HBM", "HBM", 1}, {"L2", "L2", 1}, {"L1, shared", "shared", 128}};
enum { LEVELS = sizeof levels / sizeof *levels };

/* The roofs' own rates follow the clock that the kernel runs at: the greatest. */
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
           : level == 1 ? g->l2_bandwidth.middle
                        : g->shared_bandwidth;
}

/* Useful FLOPs a byte at that level, as the hardware moves them. */
static double intensity_at(const tw_explanation *e, int level)
{
    const tw_roof *r = explain_roof(e, levels[level].roof);
    double moved = r ? r->work.middle * levels[level].bytes : 0;
    return moved > 0 ? e->flops / moved : 0;
}

static const char *level_name(const struct explain *x, int level)
{
    bool other = level == 0 && strncmp(x->gpu.memory, "HBM", 3) != 0;
    return other ? x->gpu.memory : levels[level].name;
}

static void fill_kernel(struct chart_kernel *k, const struct explain_row *r)
{
    tw_range speed = explain_speed(&r->e);
    *k = (struct chart_kernel){.name = r->name,
                               .why_not = !r->e.launches     ? "cannot launch"
                                          : !(speed.low > 0) ? "no FLOPs"
                                                             : NULL,
                               .low = speed.low,
                               .middle = speed.middle,
                               .high = speed.high,
                               .measured = r->measured > 0 ? r->e.flops / r->measured : 0};
    for (int i = 0; i < LEVELS && !k->why_not; i++)
        k->intensity[i] = intensity_at(&r->e, i);
}

/* The units that the kernels' FLOPs are done in; where none can be launched, those for f32. */
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
    if (!c->ceiling_count)
        c->ceilings[c->ceiling_count++] = (struct chart_ceiling){"f32", x->gpu.f32};
}

int explain_svg(struct explain *x, const char *path)
{
    char *title = need_text("Roofline of the %s", x->gpu.name), *subtitle = NULL;
    struct chart c = {.roof_count = LEVELS,
                      .kernel_count = x->row_count,
                      .kernels = need_memory((size_t)x->row_count * sizeof *c.kernels)};
    for (int i = 0; i < LEVELS; i++)
        c.roofs[i] = (struct chart_roof){level_name(x, i), bandwidth_of(x, i)};
    for (int i = 0; i < x->row_count; i++)
        fill_kernel(&c.kernels[i], &x->rows[i]);
    fill_ceilings(&c, x);
    append_text(&subtitle, "%s: ", x->row_count > 1 ? "first kernel" : x->rows[0].name);
    append_text(&subtitle, "%s", x->rows[0].choice ? x->rows[0].choice : "");
    c.title = title;
    c.subtitle = subtitle;
    char *why = chart_write(path, &c);
    if (why)
        complain(&x->complaints, "%s", why);
    free(c.kernels);
    free(subtitle);
    free(title);
    int status = why ? STATUS_FAILED : STATUS_OK;
    free(why);
    return status;
}
