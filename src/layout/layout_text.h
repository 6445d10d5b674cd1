/* The text of a layout, as the language spells it:
 *
 *     layout(reg(2:[0][1], 2:[8][0]), lane(4:[0][2], 8:[1][0]) -> [16][8])
 *     layout(d0(^72, ^144, ^288, 16:512), d1(8:1, ^8, ^16, ^32) -> 8192)
 *
 * A digit is `extent:step`, or `^bits` for a bit of the atom that shares bits with others
 * (`^bits+step` if it also adds). A step is a number for each result, each in `[..]`; a single
 * number if the result is a place in memory; 0 if it moves nothing. After the arrow come the
 * results' extents (preceded by the axis if the axes are not d0, d1, ... in order), then
 * `offset` and `flip` with a step each, if they are not 0. */
#ifndef TW_LAYOUT_TEXT_H
#define TW_LAYOUT_TEXT_H

#include "base/text.h"
#include "layout/layout.h"

/* Prints a layout. Layouts in normal form with the same digits give the same text, and the text
 * parses to the same layout. */
void layout_print(struct text *out, const struct layout *l);
/* Reads one layout from the start of `text`, which has `length` bytes. Returns the number of
 * bytes read, or 0 on failure; *why then says what was expected, and *at where. */
size_t layout_parse(const char *text, size_t length, struct layout *out, const char **why,
                    size_t *at);

#endif
