/* Draws a profile as a flame graph: the kernel, below it its lines, below each line its kinds of
 * steps, and below these the operations. A part is as wide as its time. Each has a title, which
 * browsers show under the pointer. */
#include "cli/figures.h"
#include "cli/part_file.h"
#include "cli/svg.h"
#include "run/profiled.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 1060, SIDE = 24, TOP = 96, LEVEL = 30, LETTER = 7, LEVELS = 4, KEY_ROW = 22 };

struct flame {
    FILE *out;
    const tw_profile *profile;
};

/* Colours of kinds on light and on dark paper; the last one is that of the kernel and of lines. */
static const struct {
    const char *kind, *light, *dark;
} inks[] = {{"product", "#f2b38f", "#a8521f"},
            {"packing", "#f4dc9a", "#7d6414"},
            {"elementwise", "#a9d3f2", "#1f6091"},
            {"reduction", "#a5dcc6", "#1d6e54"},
            {"load", "#c9c3ef", "#5a4f9c"},
            {"store", "#e8b9d8", "#8a3f73"},
            {"", "#dfe4ea", "#3c4550"}};
enum { INKS = sizeof inks / sizeof *inks };

static int ink_of(const char *kind)
{
    int i = 0;
    while (i < INKS - 1 && (!kind || strcmp(inks[i].kind, kind) != 0))
        i++;
    return i;
}

static void draw_style(FILE *out)
{
    svg_style(out);
    fputs("<style>\n.part { stroke-width: 1 }\n.label { font-size: 12px }\n", out);
    for (int dark = 0; dark < 2; dark++) {
        fputs(dark ? "@media (prefers-color-scheme: dark) {\n" : "", out);
        fprintf(out, ".part { stroke: %s }\n", dark ? "#14181d" : "#ffffff");
        for (int i = 0; i < INKS; i++)
            fprintf(out, ".k%d { fill: %s }\n", i, dark ? inks[i].dark : inks[i].light);
        fputs(dark ? "}\n" : "", out);
    }
    fputs("</style>\n", out);
}

/* Draws the letters that fit. */
static void draw_label(FILE *out, double x, double y, double width, const char *text)
{
    size_t room = width > 2 * LETTER ? (size_t)((width - LETTER) / LETTER) : 0;
    if (room < 3)
        return;
    size_t length = strlen(text);
    if (length > room) {
        length = room - 1;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
            length--;
    }
    char *shown = need_text("%.*s%s", (int)length, text, text[length] ? "…" : "");
    fprintf(out, "<text class=\"label\" x=\"%.1f\" y=\"%.1f\">", x + 5, y + 19);
    svg_escaped(out, shown);
    fputs("</text>\n", out);
    free(shown);
}

/* A rectangle of the graph; `share` of the whole width. */
static void draw_part(const struct flame *f, double from, double share, int level, const char *kind,
                      const char *label, const char *title)
{
    double x = SIDE + from * (WIDTH - 2 * SIDE), width = share * (WIDTH - 2 * SIDE);
    double y = TOP + level * LEVEL;
    fprintf(f->out,
            "<g><rect class=\"part k%d\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\"/>",
            ink_of(kind), x, y, width, LEVEL - 1);
    fputs("<title>", f->out);
    svg_escaped(f->out, title);
    fputs("</title>\n", f->out);
    draw_label(f->out, x, y, width, label);
    fputs("</g>\n", f->out);
}

static bool is_of_line(const tw_profile_part *step, const tw_profile_part *line)
{
    return step->line == line->line && step->file == line->file;
}

static char *title_of(const tw_profile_part *part, const char *name)
{
    char *title = need_text("%s: %s", name, figure_seconds(part->seconds).text);
    append_text(&title, ", %s of the time", figure_percent(part->share).text);
    append_text(&title, ", %lld run%s", (long long)part->runs, part->runs == 1 ? "" : "s");
    if (part->flops > 0 && part->seconds > 0)
        append_text(&title, ", %s", figure_unit(part->flops / part->seconds, "FLOP/s").text);
    if (part->read + part->written > 0)
        append_text(&title, ", %s of arrays", figure_unit(part->read + part->written, "B").text);
    return title;
}

/* Draws the steps of one kind in a line, and their operations below. Returns their share. */
static double draw_kind(const struct flame *f, const tw_profile_part *line, const char *kind,
                        double from)
{
    const tw_profile *p = f->profile;
    tw_profile_part sum = {0};
    double at = from;
    for (int i = 0; i < p->step_count; i++) {
        const tw_profile_part *step = &p->steps[i];
        if (!is_of_line(step, line) || step->kind != kind)
            continue;
        sum.runs += step->runs;
        sum.seconds += step->seconds;
        sum.share += step->share;
        sum.flops += step->flops;
        sum.read += step->read;
        sum.written += step->written;
        if (step->operation && *step->operation) {
            char *title = title_of(step, step->operation);
            draw_part(f, at, step->share, 3, kind, step->operation, title);
            free(title);
        }
        at += step->share;
    }
    char *title = title_of(&sum, kind);
    draw_part(f, from, sum.share, 2, kind, kind, title);
    free(title);
    return sum.share;
}

static void draw_line(const struct flame *f, const tw_profile_part *line, double from)
{
    const tw_profile *p = f->profile;
    char *name = line->line ? need_text("%d: %s", line->line, line->text ? line->text : "")
                            : need_text("no line");
    char *shown = need_shown(name), *title = title_of(line, shown);
    draw_part(f, from, line->share, 1, NULL, shown, title);
    for (int k = 0; k < p->kind_count; k++) {
        bool any = false;
        for (int i = 0; i < p->step_count && !any; i++)
            any = is_of_line(&p->steps[i], line) && p->steps[i].kind == p->kinds[k].kind;
        if (any)
            from += draw_kind(f, line, p->kinds[k].kind, from);
    }
    free(title);
    free(shown);
    free(name);
}

/* Draws the kinds with their colours and shares. */
static void draw_key(const struct flame *f)
{
    const tw_profile *p = f->profile;
    double y = TOP + LEVELS * LEVEL + KEY_ROW;
    for (int i = 0; i < p->kind_count; i++, y += KEY_ROW) {
        const tw_profile_part *kind = &p->kinds[i];
        char *text =
            need_text("%s  %s: %s", figure_percent(kind->share).text, kind->kind, kind->title);
        fprintf(f->out,
                "<rect class=\"part k%d\" x=\"%d\" y=\"%.1f\" width=\"16\" height=\"14\"/>\n",
                ink_of(kind->kind), SIDE, y - 11);
        svg_text(f->out, SIDE + 24, y, "small", text);
        free(text);
    }
}

static void draw_head(const struct flame *f)
{
    const tw_profile *p = f->profile;
    char *name = need_shown(p->kernel);
    char *title = need_text("Time of kernel %s by line and step", name);
    char *more = need_text("%s on %d thread%s (%s), %lld blocks", figure_seconds(p->seconds).text,
                           p->thread_count, p->thread_count == 1 ? "" : "s", p->instructions,
                           (long long)p->blocks);
    append_text(&more, ": %s", figure_unit(p->flops, "FLOP").text);
    append_text(&more, ", %s read", figure_unit(p->read, "B").text);
    append_text(&more, ", %s written by the blocks", figure_unit(p->written, "B").text);
    svg_text(f->out, SIDE, 36, "title", title);
    svg_text(f->out, SIDE, 58, "small", more);
    svg_text(f->out, SIDE, 78, "small",
             "Widths are times, summed over the threads. From above: the kernel, its lines, the "
             "kinds of their steps, the operations.");
    free(more);
    free(title);
    free(name);
}

static void draw(FILE *out, const tw_profile *p)
{
    struct flame f = {out, p};
    int height = TOP + LEVELS * LEVEL + (p->kind_count + 1) * KEY_ROW + SIDE;
    tw_profile_part all = {.seconds = p->thread_seconds,
                           .share = 1,
                           .runs = p->launches,
                           .flops = p->flops,
                           .read = p->read,
                           .written = p->written};
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" role=\"img\">\n<title>",
            WIDTH, height, WIDTH, height);
    svg_escaped(out, p->kernel);
    fputs(": time by line and step</title>\n", out);
    draw_style(out);
    fputs("<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n", out);
    draw_head(&f);
    char *title = title_of(&all, p->kernel);
    draw_part(&f, 0, 1, 0, NULL, title, title);
    free(title);
    double from = 0;
    for (int i = 0; i < p->line_count; i++) {
        draw_line(&f, &p->lines[i], from);
        from += p->lines[i].share;
    }
    draw_key(&f);
    fputs("</svg>\n", out);
}

int profile_draw(const struct profile *p, struct complaints *complaints)
{
    if (!p->svg || !p->result.kernel)
        return STATUS_OK;
    struct part_file part = part_file_open(p->svg, "w");
    if (part.file)
        draw(part.file, &p->result);
    bool good = part.file && !ferror(part.file);
    if (part_file_close(&part, good))
        return STATUS_OK;
    complain(complaints, "cannot write `%s`: %s", p->svg, strerror(errno));
    return STATUS_FAILED;
}
