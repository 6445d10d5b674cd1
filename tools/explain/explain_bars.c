/* Draws bars of explained kernels as SVG: the ladder of their speeds, and their traffic counted
 * in six ways. */
#include "explain/explained.h"
#include "cli/figures.h"
#include "cli/part_file.h"
#include "cli/svg.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 960, LABELS = 300, ROOM = 350, TOP = 84, BAR = 20, GAP = 16, FIGURES = 12 };

static double bar_length(double value, double least, double most, bool logarithmic)
{
    if (!(value > 0) || !(most > 0))
        return 0;
    return logarithmic ? ROOM * (log10(value / least) / log10(most / least)) : ROOM * value / most;
}

static void draw_bar(FILE *out, double y, const char *label, double length, int level,
                     const char *figures)
{
    fprintf(out, "<g role=\"listitem\">");
    svg_text(out, LABELS - FIGURES, y + 14, "small end", label);
    fprintf(out, "<rect class=\"l%d\" x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>\n", level,
            LABELS, y, length, BAR - 4);
    svg_text(out, LABELS + length + FIGURES, y + 14, "small", figures);
    fputs("</g>\n", out);
}

static void begin(FILE *out, const char *title, const char *subtitle, int height)
{
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" role=\"img\">\n<title>",
            WIDTH, height, WIDTH, height);
    svg_escaped(out, title);
    fputs("</title>\n", out);
    svg_style(out);
    fprintf(out, "<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n", WIDTH, height);
    svg_text(out, 24, 34, "title", title);
    svg_text(out, 24, 58, "small", subtitle);
}

/* --- ladder: a bar for each row, as long as it is fast --- */

static char *ladder_figures(const struct explain_row *r, double peak)
{
    tw_range speed = explain_speed(&r->e);
    if (r->why_not || !r->e.launches)
        return need_text("%s", r->why_not ? "does not compile" : r->e.why_not);
    return need_text("%s, %.3g %% of peak", figure_range(speed, "FLOP/s").text,
                     peak > 0 ? 100 * speed.middle / peak : 0);
}

static void draw_ladder(const struct explain *x, FILE *out)
{
    double most = 0, y = TOP;
    for (int i = 0; i < x->row_count; i++)
        most = fmax(most, explain_speed(&x->rows[i].e).middle);
    char *title = need_text("Predicted speed on the %s", x->gpu.name),
         *sizes = explain_same_sizes(x);
    begin(out, title, sizes ? sizes : "", TOP + x->row_count * (BAR + GAP) + GAP);
    for (int i = 0; i < x->row_count; i++, y += BAR + GAP) {
        const struct explain_row *r = &x->rows[i];
        char *figures = ladder_figures(r, explain_peak(r));
        double speed = r->e.launches ? explain_speed(&r->e).middle : 0;
        draw_bar(out, y, r->name, bar_length(speed, 0, most, false), 1, figures);
        free(figures);
    }
    free(sizes);
    free(title);
}

/* --- traffic: six bars for each row, on a logarithmic scale --- */

static void draw_row_of_traffic(const struct explain_row *r, FILE *out, double *y, double least,
                                double most)
{
    struct explain_way ways[EXPLAIN_WAYS];
    int count = explain_ways(&r->e, ways);
    svg_text(out, 24, *y + 14, "head", r->name);
    *y += BAR;
    for (int i = 0; i < count; i++, *y += BAR) {
        char *figures = ways[i].bytes > 0
                            ? need_text("%s, %s FLOP/B", figure_unit(ways[i].bytes, "B").text,
                                        figure_plain(ways[i].intensity).text)
                            : need_text("not known: it cannot be launched");
        draw_bar(out, *y, ways[i].title, bar_length(ways[i].bytes, least, most, true),
                 i < 3 ? 2 : 0, figures);
        free(figures);
    }
    *y += GAP;
}

static void draw_traffic(const struct explain *x, FILE *out)
{
    double least = INFINITY, most = 0, y = TOP;
    struct explain_way ways[EXPLAIN_WAYS];
    for (int i = 0; i < x->row_count; i++)
        for (int w = explain_ways(&x->rows[i].e, ways); w-- > 0;) {
            most = fmax(most, ways[w].bytes);
            least = ways[w].bytes > 0 ? fmin(least, ways[w].bytes) : least;
        }
    begin(out, "Traffic of global memory, counted in six ways",
          "bytes of the whole launch, on a logarithmic scale, and FLOPs a byte",
          TOP + x->row_count * ((EXPLAIN_WAYS + 1) * BAR + GAP));
    for (int i = 0; i < x->row_count; i++)
        draw_row_of_traffic(&x->rows[i], out, &y, least / 2, most);
}

int explain_bars(struct explain *x, const char *path, bool ladder)
{
    struct part_file part = part_file_open(path, "w");
    if (part.file) {
        (ladder ? draw_ladder : draw_traffic)(x, part.file);
        fputs("</svg>\n", part.file);
    }
    if (part_file_close(&part, part.file && !ferror(part.file)))
        return STATUS_OK;
    complain(&x->complaints, "cannot write `%s`: %s", path, strerror(errno));
    return STATUS_FAILED;
}
