/* What the explained kernels are in a roofline diagram. */
#include "explained.h"
#include "explain_chart.h"

#include <stdlib.h>
#include <string.h>

/* The levels that have a roof, from memory up to shared memory. */
static const struct {
    const char *roof;
    int traffic;
} levels[] = {{"HBM", TW_AT_HBM}, {"L2", TW_AT_L2}, {"shared", TW_AT_SHARED}};
enum { LEVELS = sizeof levels / sizeof *levels };

static double bandwidth_of(const tw_gpu *g, int level)
{
    return level == 0   ? g->memory_bandwidth
           : level == 1 ? g->l2_bandwidth.middle
                        : g->shared_bandwidth;
}

/* Useful FLOPs a byte at that level as the hardware moves it: of shared memory wavefronts of 128
 * bytes, conflicts and all. */
static double intensity_at(const tw_explanation *e, int level)
{
    const tw_traffic *t = &e->traffic[levels[level].traffic];
    double moved = levels[level].traffic == TW_AT_SHARED ? t->by_request : t->moved.middle;
    return moved > 0 ? e->flops / moved : 0;
}

static void fill_kernel(struct chart_kernel *k, const struct explain_row *r)
{
    tw_range speed = explain_speed(&r->e);
    *k = (struct chart_kernel){.name = r->name,
                               .launches = r->e.launches && speed.low > 0,
                               .low = speed.low,
                               .high = speed.high,
                               .measured = r->measured > 0 ? r->e.flops / r->measured : 0};
    for (int i = 0; i < LEVELS && k->launches; i++)
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
        c.roofs[i] = (struct chart_roof){i == 0 ? x->gpu.memory[0] == 'H' ? "HBM" : x->gpu.memory
                                                : levels[i].roof,
                                         bandwidth_of(&x->gpu, i)};
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
