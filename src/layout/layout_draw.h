/* Pictures of layouts, as text: who holds what, where what sits. */
#ifndef TW_LAYOUT_DRAW_H
#define TW_LAYOUT_DRAW_H

#include "base/text.h"
#include "layout/layout.h"

struct draw_limits {
    int rows, columns; /* at most so many are shown; 0: all */
};

/* A register layout of a tile of one or two axes (of more: where the slow ones are 0). Each element
 * as T<lane>:R<register> of its first holder, a frame around each warp's part:
 *
 *          0      1      2      3
 *        +-warp 0------+-warp 1------
 *      0 | T0:R0  T0:R1| T0:R0  T0:R1
 */
void layout_draw(struct text *out, const struct layout *regs, struct draw_limits limits);

/* A shared layout: the place of each element, in elements, and the bank that it begins in. bits: of
 * an element. */
void layout_draw_places(struct text *out, const struct layout *memory, int bits,
                        struct draw_limits limits);

#endif
