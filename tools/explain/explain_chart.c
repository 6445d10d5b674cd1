/* The plot is on the left; the legend of its lines and points is on the right. */
#include "explain/explain_chart.h"
#include "cli/figures.h"
#include "cli/part_file.h"
#include "cli/tool.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 1060, LEFT = 84, TOP = 84, PLOT_WIDTH = 576, PLOT_HEIGHT = 440, LEGEND = 690 };
enum { BOTTOM = TOP + PLOT_HEIGHT, RIGHT = LEFT + PLOT_WIDTH };
enum { ROW = 20, KERNEL_ROWS = 56, MEASURED_ROW = 15, LABEL_GAP = 18 };

enum { NEAR = 9, NAMED = 12, NAME_HEIGHT = 14, NAME_LETTER = 7 };

/* Visible range: intensities from 10^x0 to 10^x1, speeds from 10^y0 to 10^y1. */
struct view {
    FILE *out;
    double x0, x1, y0, y1;
};

static double at_x(const struct view *v, double intensity)
{
    return LEFT + (log10(intensity) - v->x0) / (v->x1 - v->x0) * PLOT_WIDTH;
}

static double at_y(const struct view *v, double speed)
{
    return BOTTOM - (log10(speed) - v->y0) / (v->y1 - v->y0) * PLOT_HEIGHT;
}

static char *with_unit(double value, const char *unit)
{
    static const struct {
        double one;
        const char *prefix;
    } scales[] = {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {0, ""}};
    int i = 0;
    while (value < scales[i].one * 0.9995)
        i++;
    return need_text("%.3g %s%s", value / (scales[i].one > 0 ? scales[i].one : 1), scales[i].prefix,
                     unit);
}

/* --- the frame --- */

static void grid_line(FILE *out, double x0, double y0, double x1, double y1)
{
    fprintf(out, "<path class=\"grid\" d=\"M%.1f %.1f L%.1f %.1f\"/>\n", x0, y0, x1, y1);
}

/* Draws lines at the powers of ten. */
static void axes(const struct view *v)
{
    char number[32];
    for (int decade = (int)ceil(v->x0); decade <= (int)floor(v->x1); decade++) {
        double x = at_x(v, pow(10, decade));
        grid_line(v->out, x, TOP, x, BOTTOM);
        snprintf(number, sizeof number, "%g", pow(10, decade));
        svg_text(v->out, x, BOTTOM + 20, "middle", number);
    }
    for (int decade = (int)ceil(v->y0); decade <= (int)floor(v->y1); decade++) {
        double y = at_y(v, pow(10, decade));
        grid_line(v->out, LEFT, y, RIGHT, y);
        char *speed = with_unit(pow(10, decade), "");
        svg_text(v->out, LEFT - 8, y + 4, "end", speed);
        free(speed);
    }
    svg_text(v->out, LEFT + PLOT_WIDTH / 2.0, BOTTOM + 44, "middle",
             "intensity, FLOP per byte moved at that level");
    svg_text_turned(v->out, 22, TOP + PLOT_HEIGHT / 2.0, -90, "middle", "FLOP/s");
}

/* --- lines --- */

static double highest(const struct chart *c)
{
    double speed = 0;
    for (int i = 0; i < c->ceiling_count; i++)
        speed = fmax(speed, c->ceilings[i].speed);
    return speed;
}

/* Finds the visible part of a roof: from where it enters the plot to the highest ceiling or the
 * plot's edge. Returns false if it is outside. */
static bool roof_ends(const struct view *v, const struct chart *c, const struct chart_roof *r,
                      double *px, double *py, double *qx, double *qy)
{
    double x0 = fmax(pow(10, v->x0), pow(10, v->y0) / r->bandwidth);
    double x1 = fmin(pow(10, v->x1), fmin(highest(c), pow(10, v->y1)) / r->bandwidth);
    *px = at_x(v, x0), *py = at_y(v, x0 * r->bandwidth);
    *qx = at_x(v, x1), *qy = at_y(v, x1 * r->bandwidth);
    return x1 > x0;
}

static void draw_roof(const struct view *v, const struct chart *c, int index)
{
    double px, py, qx, qy;
    if (!roof_ends(v, c, &c->roofs[index], &px, &py, &qx, &qy))
        return;
    fprintf(v->out, "<path class=\"roof r%d\" d=\"M%.1f %.1f L%.1f %.1f\"/>\n", index, px, py, qx,
            qy);
}

/* Writes the label along the roof, if the roof is long enough. */
static void label_roof(const struct view *v, const struct chart *c, int index)
{
    const struct chart_roof *r = &c->roofs[index];
    double px, py, qx, qy;
    if (!roof_ends(v, c, r, &px, &py, &qx, &qy))
        return;
    double angle = atan2(qy - py, qx - px), length = hypot(qx - px, qy - py);
    char *rate = with_unit(r->bandwidth, "B/s");
    char *label = need_text("%s %s", r->name, rate);
    double start = 14 + 0.06 * length;
    if (length > start + 9.0 * (double)strlen(label))
        svg_text_turned(v->out, px + start * cos(angle) + 6 * sin(angle),
                        py + start * sin(angle) - 6 * cos(angle), angle * 180 / acos(-1.0), "",
                        label);
    free(label);
    free(rate);
}

/* Draws the ceiling to the right of the steepest roof. */
static void draw_ceiling(const struct view *v, const struct chart *c, int index)
{
    double steepest = 0, speed = c->ceilings[index].speed, y = at_y(v, speed);
    for (int i = 0; i < c->roof_count; i++)
        steepest = fmax(steepest, c->roofs[i].bandwidth);
    double x = steepest > 0 ? fmax(pow(10, v->x0), speed / steepest) : pow(10, v->x0);
    if (x < pow(10, v->x1))
        fprintf(v->out, "<path class=\"ceiling\" d=\"M%.1f %.1f L%d %.1f\"/>\n", at_x(v, x), y,
                RIGHT, y);
}

/* Writes the label above the ceiling's line, or below it if that place is taken. */
static void label_ceiling(const struct view *v, const struct chart *c, int index)
{
    double speed = c->ceilings[index].speed, y = at_y(v, speed);
    bool below = false;
    for (int i = 0; i < c->ceiling_count; i++) {
        double gap = y - at_y(v, c->ceilings[i].speed);
        below |= i != index && gap >= 0 && gap < LABEL_GAP && (gap > 0 || i < index);
    }
    char *rate = with_unit(speed, "FLOP/s");
    char *label = need_text("%s %s", c->ceilings[index].name, rate);
    svg_text(v->out, RIGHT - 6, below ? y + 16 : y - 6, "end", label);
    free(label);
    free(rate);
}

/* --- points --- */

/* Shapes around (0, 0), of about equal area. */
static const char *const shapes[] = {
    "M-6 0 A6 6 0 1 1 6 0 A6 6 0 1 1 -6 0 Z",
    "M-5.3 -5.3 H5.3 V5.3 H-5.3 Z",
    "M0 -7.5 L7.5 0 L0 7.5 L-7.5 0 Z",
    "M0 -7 L7 5.5 H-7 Z",
    "M0 7 L7 -5.5 H-7 Z",
    "M-2.5 -7 H2.5 V-2.5 H7 V2.5 H2.5 V7 H-2.5 V2.5 H-7 V-2.5 H-2.5 Z",
    "M0 -7 L6.7 -2.2 L4.1 5.7 H-4.1 L-6.7 -2.2 Z",
    "M-7 0 L-3.5 -6 H3.5 L7 0 L3.5 6 H-3.5 Z",
};
/* Holes that mark the repetitions once all shapes are used. */
static const char *const holes[] = {"", " M-2 0 A2 2 0 1 1 2 0 A2 2 0 1 1 -2 0 Z",
                                    " M-3 -0.8 H3 V0.8 H-3 Z", " M-0.8 -3 V3 H0.8 V-3 Z"};
enum {
    SHAPES = sizeof shapes / sizeof *shapes,
    HOLES = sizeof holes / sizeof *holes,
    MARKS = SHAPES * HOLES
};

static void mark(FILE *out, int kernel, double x, double y, double size, const char *class)
{
    fprintf(out, "<path class=\"%s\" transform=\"translate(%.1f %.1f)", class, x, y);
    if (size != 1)
        fprintf(out, " scale(%.2f)", size);
    fprintf(out, "\" d=\"%s%s\"", shapes[kernel % SHAPES], holes[kernel / SHAPES % HOLES]);
}

static bool has_points(const struct chart_kernel *k)
{
    bool some = false;
    for (int i = 0; i < CHART_LEVELS && !k->why_not; i++)
        some = some || k->intensity[i] > 0;
    return some;
}

/* Counts the earlier kernels with a point of that level at nearly the same place. */
static int covered(const struct view *v, const struct chart *c, int index, int level)
{
    const struct chart_kernel *k = &c->kernels[index];
    int count = 0;
    for (int i = 0; i < index; i++) {
        const struct chart_kernel *o = &c->kernels[i];
        if (o->why_not || !(o->intensity[level] > 0))
            continue;
        count += fabs(at_x(v, o->intensity[level]) - at_x(v, k->intensity[level])) < NEAR &&
                 fabs(at_y(v, o->speed.middle) - at_y(v, k->speed.middle)) < NEAR;
    }
    return count;
}

/* Draws one level of a kernel: the point, the measured value, and the text that the pointer
 * shows. */
static void draw_point(const struct view *v, const struct chart *c, int index, int level)
{
    const struct chart_kernel *k = &c->kernels[index];
    double x = at_x(v, k->intensity[level]);
    char class[24];
    int below = covered(v, c, index, level); /* if any: a line around those points */
    snprintf(class, sizeof class, below ? "ring r%d" : "mark l%d", level);
    mark(v->out, index, x, at_y(v, k->speed.middle), 1 + 0.6 * below, class);
    char *tip =
        need_text("%s, %s: %s FLOP/B, %s", k->name, c->roofs[level].name,
                  figure_plain(k->intensity[level]).text, figure_range(k->speed, "FLOP/s").text);
    fputs("><title>", v->out);
    svg_escaped(v->out, tip);
    fputs("</title></path>\n", v->out);
    if (k->measured > 0) {
        mark(v->out, index, x, at_y(v, k->measured), 1, "measured");
        fputs("/>\n", v->out);
    }
    free(tip);
}

/* Draws the intervals' extent, and a line that joins the levels. */
static void draw_reach(const struct view *v, const struct chart *c, int index)
{
    const struct chart_kernel *k = &c->kernels[index];
    double least = INFINITY, most = 0;
    for (int i = 0; i < c->roof_count; i++)
        if (k->intensity[i] > 0) {
            least = fmin(least, k->intensity[i]);
            most = fmax(most, k->intensity[i]);
        }
    if (k->why_not || !(most > 0))
        return;
    fprintf(v->out, "<path class=\"join\" d=\"M%.1f %.1f H%.1f\"/>\n", at_x(v, least),
            at_y(v, k->speed.middle), at_x(v, most));
    for (int i = 0; i < c->roof_count; i++)
        if (k->intensity[i] > 0)
            fprintf(v->out, "<path class=\"reach r%d\" d=\"M%.1f %.1f V%.1f\"/>\n", i,
                    at_x(v, k->intensity[i]), at_y(v, k->speed.low), at_y(v, k->speed.high));
}

/* Draws a kernel that cannot be launched, at the speed that the roof would allow. */
static void draw_hollow(const struct view *v, const struct chart *c, int index)
{
    const struct chart_kernel *k = &c->kernels[index];
    double x = at_x(v, k->intensity[0]), y = at_y(v, k->allowed);
    mark(v->out, index, x, y, 1, "hollow r0");
    fputs("><title>", v->out);
    svg_escaped(v->out, k->why_not);
    fputs("</title></path>\n", v->out);
    svg_text(v->out, x + 12, y + 4, "small", k->name);
}

static void draw_points(const struct view *v, const struct chart *c, int index)
{
    if (c->kernels[index].why_not && c->kernels[index].allowed > 0)
        draw_hollow(v, c, index);
    for (int i = 0; i < c->roof_count; i++)
        if (!c->kernels[index].why_not && c->kernels[index].intensity[i] > 0)
            draw_point(v, c, index, i);
}

struct name_place {
    double left, right, y;
};

/* Places a name to the right of the kernel's points, or to the left if there is no room; lower
 * if another name is there. */
static struct name_place place_name(const struct view *v, const struct chart_kernel *k,
                                    const struct name_place *taken, int count)
{
    double least = INFINITY, most = 0, width = NAME_LETTER * (double)strlen(k->name);
    for (int i = 0; i < CHART_LEVELS; i++)
        if (k->intensity[i] > 0) {
            least = fmin(least, k->intensity[i]);
            most = fmax(most, k->intensity[i]);
        }
    double right = at_x(v, most) + 14, left = at_x(v, least) - 14 - width;
    bool fits = right + width < RIGHT || left < LEFT;
    struct name_place p = {.left = fits ? right : left, .y = at_y(v, k->speed.middle) + 4};
    p.right = p.left + width;
    for (int i = 0; i < count; i++)
        if (p.left < taken[i].right && p.right > taken[i].left &&
            fabs(p.y - taken[i].y) < NAME_HEIGHT) {
            p.y = taken[i].y + NAME_HEIGHT;
            i = -1; /* start again below it */
        }
    return p;
}

/* Writes the names if there are few kernels; many have their marks alone. */
static void draw_names(const struct view *v, const struct chart *c)
{
    struct name_place places[NAMED];
    int count = 0;
    for (int i = 0; i < c->kernel_count && c->kernel_count <= NAMED; i++) {
        const struct chart_kernel *k = &c->kernels[i];
        if (!has_points(k))
            continue;
        places[count] = place_name(v, k, places, count);
        svg_text(v->out, places[count].left, places[count].y, "small", k->name);
        count++;
    }
}

/* --- what they are --- */

/* Returns at most `most` characters and replaces the rest by "…". The caller frees. */
static char *shortened(const char *text, int most)
{
    int shown = 0;
    const char *end = text;
    for (; *end && shown < most; end++)
        shown += ((unsigned char)end[1] & 0xc0) != 0x80;
    return need_text("%.*s%s", (int)(end - text), text, *end ? "…" : "");
}

static double legend_kernel(const struct view *v, const struct chart *c, int index, double y)
{
    const struct chart_kernel *k = &c->kernels[index];
    char *name = shortened(k->name, 40), *levels = NULL;
    char *speed = need_text("%s", k->why_not ? k->why_not : figure_range(k->speed, "FLOP/s").text);
    for (int i = 0; i < c->roof_count; i++)
        if (k->intensity[i] > 0)
            append_text(&levels, "%s%s %s", levels ? ", " : "FLOP/B: ", c->roofs[i].name,
                        figure_plain(k->intensity[i]).text);
    append_text(&levels, "%s", "");
    mark(v->out, index, LEGEND + 14, y - 5, 1, "mark neutral");
    fputs("/>\n", v->out);
    svg_text(v->out, LEGEND + 32, y, "", name);
    svg_text(v->out, LEGEND + 32, y + 16, "small", speed);
    svg_text(v->out, LEGEND + 32, y + 31, "small", levels);
    if (k->measured > 0) {
        char *rate = with_unit(k->measured, "FLOP/s"), *measured = need_text("measured %s", rate);
        svg_text(v->out, LEGEND + 32, y + 46, "small", measured);
        free(measured);
        free(rate);
        y += MEASURED_ROW;
    }
    free(levels);
    free(speed);
    free(name);
    return y + KERNEL_ROWS;
}

static void legend(const struct view *v, const struct chart *c)
{
    double y = TOP + 12;
    svg_text(v->out, LEGEND, y, "head", "Roofs");
    for (int i = 0; i < c->roof_count; i++) {
        char *rate = with_unit(c->roofs[i].bandwidth, "B/s");
        char *label = need_text("%s, %s", c->roofs[i].name, rate);
        y += ROW;
        fprintf(v->out, "<path class=\"roof r%d\" d=\"M%d %.1f H%d\"/>\n", i, LEGEND, y - 4,
                LEGEND + 26);
        svg_text(v->out, LEGEND + 32, y, "", label);
        free(label);
        free(rate);
    }
    if (!c->kernel_count)
        return;
    y += 1.8 * ROW;
    svg_text(v->out, LEGEND, y, "head",
             c->kernel_count > MARKS ? "Kernels, speed as predicted; marks repeat"
                                     : "Kernels, speed as predicted");
    y += 1.2 * ROW;
    for (int i = 0; i < c->kernel_count; i++)
        y = legend_kernel(v, c, i, y);
}

/* --- all of it --- */

/* Chooses the range that shows all points, the highest ceiling, and the places where the roofs
 * reach it. */
static void choose_view(struct view *v, const struct chart *c)
{
    double top = highest(c), x0 = 1, x1 = 10, y0 = top / 100, y1 = top;
    for (int i = 0; i < c->roof_count; i++) {
        x0 = fmin(x0, top / c->roofs[i].bandwidth / 10); /* room for its label */
        x1 = fmax(x1, top / c->roofs[i].bandwidth * 1.5);
    }
    for (int k = 0; k < c->kernel_count; k++) {
        const struct chart_kernel *kernel = &c->kernels[k];
        if (kernel->allowed > 0)
            x1 = fmax(x1, kernel->intensity[0] * 1.3);
        if (kernel->why_not)
            continue;
        y0 = fmin(y0, kernel->speed.low / 1.5);
        y1 = fmax(y1, kernel->speed.high);
        if (kernel->measured > 0)
            y0 = fmin(y0, kernel->measured / 1.5);
        for (int i = 0; i < c->roof_count; i++)
            if (kernel->intensity[i] > 0) {
                x0 = fmin(x0, kernel->intensity[i] / 1.3);
                x1 = fmax(x1, kernel->intensity[i] * 1.3);
            }
    }
    v->x0 = log10(x0 / 1.2);
    v->x1 = log10(x1 * 2);
    v->y0 = log10(y0 / 1.2);
    v->y1 = log10(y1 * 2);
}

static int chart_height(const struct chart *c)
{
    int plot = BOTTOM + 64;
    int beside = TOP + 12 + ROW * (c->roof_count + 4) + KERNEL_ROWS * c->kernel_count;
    for (int i = 0; i < c->kernel_count; i++)
        beside += c->kernels[i].measured > 0 ? MEASURED_ROW : 0;
    return plot > beside ? plot : beside;
}

static void draw_each(const struct view *v, const struct chart *c, int count,
                      void (*draw)(const struct view *, const struct chart *, int index))
{
    for (int i = 0; i < count; i++)
        draw(v, c, i);
}

/* Draws from bottom to top: later elements cover earlier ones, so points are above labels and
 * labels above lines. */
static void draw_plot(const struct view *v, const struct chart *c)
{
    axes(v);
    draw_each(v, c, c->roof_count, draw_roof);
    draw_each(v, c, c->ceiling_count, draw_ceiling);
    draw_each(v, c, c->kernel_count, draw_reach);
    draw_each(v, c, c->roof_count, label_roof);
    draw_each(v, c, c->ceiling_count, label_ceiling);
    draw_each(v, c, c->kernel_count, draw_points);
    draw_names(v, c);
}

static void chart_draw(FILE *out, const struct chart *c)
{
    struct view v = {.out = out};
    int height = chart_height(c);
    choose_view(&v, c);
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" role=\"img\">\n<title>",
            WIDTH, height, WIDTH, height);
    svg_escaped(out, c->title);
    fputs("</title>\n<desc>", out);
    svg_escaped(out, c->subtitle);
    fputs("</desc>\n", out);
    svg_style(out);
    fprintf(out, "<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n", WIDTH, height);
    char *title = shortened(c->title, 90), *subtitle = shortened(c->subtitle, 130);
    svg_text(out, 24, 34, "title", title);
    svg_text(out, 24, 58, "small", subtitle);
    free(subtitle);
    free(title);
    draw_plot(&v, c);
    legend(&v, c);
    fputs("</svg>\n", out);
}

char *chart_write(const char *path, const struct chart *c)
{
    struct part_file part = part_file_open(path, "w");
    if (part.file)
        chart_draw(part.file, c);
    bool good = part.file && !ferror(part.file);
    if (part_file_close(&part, good))
        return NULL;
    return need_text("cannot write `%s`: %s", path, strerror(errno));
}
