/* Parts of pictures in SVG: texts, and the styles of light and dark backgrounds. */
#ifndef TW_SVG_H
#define TW_SVG_H

#include <stdio.h>

enum { SVG_LEVELS = 4 }; /* colours: .l0 to .l3 fill, .r0 to .r3 draw lines */

void svg_escaped(FILE *out, const char *text);
/* Draws a text with a class. */
void svg_text(FILE *out, double x, double y, const char *class, const char *text);
/* Like svg_text, turned by `turned` degrees. */
void svg_text_turned(FILE *out, double x, double y, double turned, const char *class,
                     const char *text);
void svg_style(FILE *out);

#endif
