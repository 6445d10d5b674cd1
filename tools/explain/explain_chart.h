/* Draws a roofline diagram (Williams, Waterman, Patterson 2009) as SVG: speed over intensity,
 * both logarithmic, with a roof for each level of memory and a point for each kernel and level. */
#ifndef TW_EXPLAIN_CHART_H
#define TW_EXPLAIN_CHART_H

#include "cli/svg.h"
#include "tilewright.h"
#include "tilewright_model.h"

/* Roof of the diagram. Speeds are in FLOP/s, intensities in FLOP/B. The caller owns the texts. */
struct chart_roof {
    const char *name; /* "HBM" */
    double bandwidth; /* B/s */
};
struct chart_ceiling {
    const char *name; /* "f32" */
    double speed;
};
enum { CHART_LEVELS = SVG_LEVELS, CHART_CEILINGS = 4 };
struct chart_kernel {
    const char *name;
    char *why_not;   /* not NULL: drawn without points, with this text at its name */
    tw_range speed;  /* predicted */
    double measured; /* 0: not measured */
    double allowed;  /* with why_not: the speed that the first roof allows, drawn hollow; 0: not
                  * drawn */
    double intensity[CHART_LEVELS]; /* for each roof; 0: does not use that level */
};
struct chart {
    const char *title, *subtitle;
    int roof_count;
    struct chart_roof roofs[CHART_LEVELS];
    int ceiling_count;
    struct chart_ceiling ceilings[CHART_CEILINGS];
    int kernel_count;
    struct chart_kernel *kernels;
};

/* Writes the whole diagram, or no file if that fails. Returns NULL, or a message; the caller
 * frees. */
char *chart_write(const char *path, const struct chart *c);

#endif
