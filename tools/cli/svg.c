/* Classes give the colours: one set for light and one for dark backgrounds. The colours of the
 * levels follow four of Okabe and Ito's, which colour-blind readers can tell apart. Text has an
 * outline in the paper's colour, so that it is legible where it crosses a line. */
#include "cli/svg.h"

#include <stdbool.h>

/* Returns the length of the UTF-8 character at `text`, or 0 if XML does not allow the character. */
static int character_length(const unsigned char *text)
{
    if (*text < 0x80)
        return *text >= 0x20 && *text != 0x7f;
    int length = *text >= 0xf0 && *text < 0xf5   ? 4
                 : *text >= 0xe0 && *text < 0xf0 ? 3
                 : *text >= 0xc2 && *text < 0xe0 ? 2
                                                 : 0;
    for (int i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    bool surrogate = length == 3 && text[0] == 0xed && text[1] >= 0xa0;
    bool overlong = (text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xf0 && text[1] < 0x90);
    bool beyond = (text[0] == 0xef && text[1] == 0xbf && text[2] >= 0xbe) ||
                  (text[0] == 0xf4 && text[1] >= 0x90);
    return surrogate || overlong || beyond ? 0 : length;
}

void svg_escaped(FILE *out, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        int length = character_length(c);
        if (length == 0)
            fputc('?', out);
        else if (*c == '<' || *c == '>' || *c == '&' || *c == '"')
            fprintf(out, "&#%d;", *c);
        else
            fwrite(c, 1, (size_t)length, out);
        c += length ? length : 1;
    }
}

void svg_text_turned(FILE *out, double x, double y, double turned, const char *class,
                     const char *text)
{
    for (int pass = 0; pass < 2; pass++) {
        fprintf(out, "<text class=\"%s%s\" x=\"%.1f\" y=\"%.1f\"", class, pass ? "" : " halo", x,
                y);
        if (turned != 0)
            fprintf(out, " transform=\"rotate(%.1f %.1f %.1f)\"", turned, x, y);
        fputs(pass ? ">" : " aria-hidden=\"true\">", out);
        svg_escaped(out, text);
        fputs("</text>\n", out);
    }
}

void svg_text(FILE *out, double x, double y, const char *class, const char *text)
{
    svg_text_turned(out, x, y, 0, class, text);
}

void svg_style(FILE *out)
{
    /* paper, text, small text, grid, levels */
    static const char *const inks[] = {
        "#ffffff", "#1b1f24", "#5b6470", "#d5dae1", "#b94b00", "#0069ad", "#007a5a", "#a8518a",
        "#14181d", "#e8ecf1", "#a3adb9", "#39424d", "#ff9352", "#62b8f5", "#3fd0a4", "#ea9bd0"};
    fputs(
        "<style>\ntext { font: 13px system-ui, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif }\n"
        ".title { font-size: 18px; font-weight: 600 }\n.head { font-weight: 600 }\n"
        ".small { font-size: 12px }\n.middle { text-anchor: middle }\n"
        ".end { text-anchor: end }\n.grid, .roof, .ceiling, .reach, .join { fill: none }\n"
        ".roof { stroke-width: 2.5 }\n.ceiling { stroke-width: 2 }\n"
        ".join { stroke-width: 1; stroke-dasharray: 2 3 }\n.reach { stroke-width: 3 }\n"
        ".mark { stroke-width: 1.5; fill-rule: evenodd }\n.ring { fill: none; stroke-width: 1.8; "
        "vector-effect: non-scaling-stroke }\n.measured { fill: none; stroke-width: 2 "
        "}\n"
        ".hollow { fill: none; stroke-width: 2; stroke-dasharray: 3 2 }\n"
        ".halo { stroke-width: 5; stroke-linejoin: round }\n",
        out);
    for (int dark = 0; dark < 2; dark++) {
        const char *const *ink = inks + 8 * dark;
        fputs(dark ? "@media (prefers-color-scheme: dark) {\n" : "", out);
        fprintf(out,
                ".paper { fill: %s }\n.halo { stroke: %s; fill: %s }\ntext { fill: %s }\n"
                ".small { fill: %s }\n.grid { stroke: %s }\n"
                ".ceiling, .measured { stroke: %s }\n.join { stroke: %s }\n.mark { stroke: %s }\n",
                ink[0], ink[0], ink[0], ink[1], ink[2], ink[3], ink[1], ink[2], ink[0]);
        for (int level = 0; level < SVG_LEVELS; level++)
            fprintf(out, ".l%d { fill: %s }\n.r%d { stroke: %s }\n", level, ink[4 + level], level,
                    ink[4 + level]);
        fprintf(out, ".neutral { fill: %s }\n%s", ink[1], dark ? "}\n" : "");
    }
    fputs("</style>\n", out);
}
