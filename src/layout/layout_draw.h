/* Pictures of layouts as text: the holder of each element, or its place. */
#ifndef TW_LAYOUT_DRAW_H
#define TW_LAYOUT_DRAW_H

#include "base/text.h"
#include "layout/layout.h"

struct draw_limits {
    int rows, columns; /* the most that are shown; 0: all */
};

/* Draws a register layout of a tile of one or two axes (of a tile of more, the part where the slow
 * axes are 0). Each element appears as T<lane>:R<register> of its first holder, with a frame around
 * each warp's part:
 *
 *          0      1      2      3
 *        +-warp 0------+-warp 1------
 *      0 | T0:R0  T0:R1| T0:R0  T0:R1 */
void layout_draw(struct text *out, const struct layout *regs, struct draw_limits limits);

/* Draws a shared layout: the place of each element, in elements, and its first bank. bits: of an
 * element. */
void layout_draw_places(struct text *out, const struct layout *memory, int bits,
                        struct draw_limits limits);

#endif
