/* Draws tables of holders and of places. */
#include "layout/layout_draw.h"

#include <stdio.h>
#include <string.h>

enum { CELL = 24, BANKS = 32, WORD_BITS = 32 };

/* The two axes that are drawn, of a tile of `rank` axes; a tile of one axis is one row. */
struct frame {
    int rank;
    int32_t rows, columns;             /* of the tile */
    int32_t shown_rows, shown_columns; /* of these */
};

static struct frame frame_of(const struct layout_dim *dims, int rank, struct draw_limits limits)
{
    struct frame f = {.rank = rank};
    f.columns = rank > 0 ? dims[rank - 1].extent : 1;
    f.rows = rank > 1 ? dims[rank - 2].extent : 1;
    f.shown_rows = limits.rows && limits.rows < f.rows ? limits.rows : f.rows;
    f.shown_columns = limits.columns && limits.columns < f.columns ? limits.columns : f.columns;
    return f;
}

static void add_spaces(struct text *out, int count)
{
    while (count-- > 0)
        text_add_char(out, ' ');
}

/* Adds a column's number or a cell, right-aligned in `width`. */
static void add_right(struct text *out, const char *s, int width)
{
    add_spaces(out, width - (int)strlen(s));
    text_add(out, s);
}

static void add_header(struct text *out, const struct frame *f, int width, int between)
{
    char number[CELL];
    add_spaces(out, 6);
    for (int32_t c = 0; c < f->shown_columns; c++) {
        snprintf(number, sizeof number, "%d", (int)c);
        add_spaces(out, between);
        add_right(out, number, width);
    }
    text_add(out, f->shown_columns < f->columns ? " ...\n" : "\n");
}

static void add_footer(struct text *out, const struct frame *f)
{
    if (f->shown_rows < f->rows)
        text_add(out, "  ...\n");
    if (f->shown_rows < f->rows || f->shown_columns < f->columns)
        text_printf(out, "%d x %d of %d x %d elements\n", (int)f->shown_rows, (int)f->shown_columns,
                    (int)f->rows, (int)f->columns);
}

/* --- Holders --- */

struct holder {
    int32_t reg, lane, warp;
    int32_t count; /* of holders; 0: none */
};

struct holders {
    struct frame frame;
    struct holder *cells; /* of the shown part */
};

static bool in_picture(const struct frame *f, const int32_t *at, int32_t *row, int32_t *column)
{
    for (int j = 0; j + 2 < f->rank; j++)
        if (at[j])
            return false;
    *column = at[f->rank - 1];
    *row = f->rank > 1 ? at[f->rank - 2] : 0;
    return *row < f->shown_rows && *column < f->shown_columns;
}

static void find_holders(const struct layout *regs, struct arena *arena, struct holders *h)
{
    int32_t at[LAYOUT_OUTS], row, column;
    h->cells = arena_array(arena, struct holder, h->frame.shown_rows * h->frame.shown_columns);
    for (int32_t warp = 0; warp < layout_in_extent(regs, AXIS_WARP); warp++)
        for (int32_t lane = 0; lane < layout_in_extent(regs, AXIS_LANE); lane++)
            for (int32_t reg = 0; reg < layout_in_extent(regs, AXIS_REG); reg++) {
                if (!layout_element(regs, reg, lane, warp, at) ||
                    !in_picture(&h->frame, at, &row, &column))
                    continue;
                struct holder *cell = &h->cells[row * h->frame.shown_columns + column];
                if (cell->count++ == 0)
                    *cell = (struct holder){reg, lane, warp, 1};
            }
}

static const struct holder *holder_at(const struct holders *h, int32_t row, int32_t column)
{
    return &h->cells[row * h->frame.shown_columns + column];
}

static int32_t warp_at(const struct holders *h, int32_t row, int32_t column)
{
    const struct holder *cell = holder_at(h, row, column);
    return cell->count ? cell->warp : -1;
}

/* Returns true if a warp's part begins above this row. */
static bool border_above(const struct holders *h, int32_t row)
{
    bool border = row == 0;
    for (int32_t c = 0; c < h->frame.shown_columns && !border; c++)
        border = warp_at(h, row, c) != warp_at(h, row - 1, c);
    return border;
}

static bool border_left(const struct holders *h, int32_t row, int32_t column)
{
    return column == 0 || warp_at(h, row, column) != warp_at(h, row, column - 1);
}

static void add_border(struct text *out, const struct holders *h, int32_t row, int width)
{
    char label[CELL] = "";
    size_t left = 0;
    add_spaces(out, 6);
    for (int32_t c = 0; c < h->frame.shown_columns; c++) {
        bool begins = border_left(h, row, c);
        if (begins) {
            int32_t warp = warp_at(h, row, c);
            snprintf(label, sizeof label, warp < 0 ? "nobody" : "warp %d", (int)warp);
            left = 0;
        }
        text_add(out, begins ? "+-" : "--");
        for (int i = 0; i < width; i++)
            text_add_char(out, left < strlen(label) ? label[left++] : '-');
    }
    text_add_char(out, '\n');
}

static int cell_text(const struct holder *cell, char text[CELL])
{
    if (cell->count == 0)
        return snprintf(text, CELL, ".");
    return snprintf(text, CELL, "T%d:R%d", (int)cell->lane, (int)cell->reg);
}

static int widest_cell(const struct holders *h)
{
    int width = 3;
    char text[CELL];
    for (int32_t i = 0; i < h->frame.shown_rows * h->frame.shown_columns; i++) {
        int n = cell_text(&h->cells[i], text);
        width = n > width ? n : width;
    }
    return width;
}

void layout_draw(struct text *out, const struct layout *regs, struct draw_limits limits)
{
    struct holders h = {.frame = frame_of(regs->outs, regs->out_count, limits)};
    char text[CELL];
    int32_t most = 0;
    find_holders(regs, out->arena, &h);
    int width = widest_cell(&h);
    add_header(out, &h.frame, width, 2);
    for (int32_t row = 0; row < h.frame.shown_rows; row++) {
        if (border_above(&h, row))
            add_border(out, &h, row, width);
        text_printf(out, "%5d ", (int)row);
        for (int32_t c = 0; c < h.frame.shown_columns; c++) {
            const struct holder *cell = holder_at(&h, row, c);
            cell_text(cell, text);
            text_add(out, border_left(&h, row, c) ? "| " : "  ");
            add_right(out, text, width);
            most = cell->count > most ? cell->count : most;
        }
        text_add_char(out, '\n');
    }
    add_footer(out, &h.frame);
    if (most > 1)
        text_printf(out,
                    "an element is held up to %d times, by as many threads or registers; the first "
                    "is shown\n",
                    (int)most);
}

/* --- Places --- */

void layout_draw_places(struct text *out, const struct layout *memory, int bits,
                        struct draw_limits limits)
{
    struct frame f = frame_of(memory->ins, memory->in_count, limits);
    int32_t in[LAYOUT_INS] = {0}, at[LAYOUT_OUTS], least, greatest;
    char text[CELL];
    layout_range(memory, 0, &least, &greatest);
    int width = snprintf(text, sizeof text, "%d b31", (int)greatest);
    add_header(out, &f, width, 2);
    for (int32_t row = 0; row < f.shown_rows; row++) {
        text_printf(out, "%5d ", (int)row);
        for (int32_t c = 0; c < f.shown_columns; c++) {
            if (f.rank > 1)
                in[f.rank - 2] = row;
            in[f.rank - 1] = c;
            layout_apply(memory, in, at);
            snprintf(text, sizeof text, "%d b%02d", (int)at[0],
                     (int)((int64_t)at[0] * bits / WORD_BITS % BANKS));
            add_spaces(out, 2);
            add_right(out, text, width);
        }
        text_add_char(out, '\n');
    }
    add_footer(out, &f);
}
