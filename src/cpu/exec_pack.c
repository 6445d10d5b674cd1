/* Packs operands of `dot` into the form that its routines read (packed.h): parts of views, and
 * dense values whose steps are added in pairs. */
#include "cpu/exec_packed.h"

/* --- parts of views --- */

/* A part of a view that is being packed: of `lines` × `depth` elements those from `low` to
 * `high` are inside. */
struct packing {
    const struct packed_form *form;
    const struct routine_set *set;
    int64_t depth;             /* of this part, which is one tile or more */
    const unsigned char *from; /* the first element inside */
    int64_t line, deep;        /* steps in the view, in elements */
    int64_t low[2], high[2];   /* inside: lines, depth */
    unsigned char *to;
    int64_t step, width;     /* step: see struct packed_state; width: of a panel */
    int64_t size, size_from; /* bytes of an element */
    convert_fn *convert;     /* NULL: both types are the same */
};

/* Copies elements that are `step` apart to dense ones. */
static void gather_row(const struct packing *w, unsigned char *to, const unsigned char *from,
                       int64_t n, int64_t step)
{
    struct nest nest = {1, {n}, {1}, {step}};
    w->set->memory->copy[size_index(w->form->from)](to, from, &nest);
}

/* Copies a row of n elements, `step` apart, to dense ones of the computed type. */
static void pack_row(const struct packing *w, unsigned char *to, const unsigned char *from,
                     int64_t n, int64_t step)
{
    _Alignas(SLOT_ALIGNMENT) unsigned char row[CHUNK * 8];
    if (!w->convert) {
        gather_row(w, to, from, n, step);
        return;
    }
    for (int64_t k = 0; k < n; k += CHUNK) {
        const unsigned char *piece = from + k * step * w->size_from;
        int64_t count = n - k < CHUNK ? n - k : CHUNK;
        if (step != 1) {
            gather_row(w, row, piece, count, step);
            piece = row;
        }
        w->convert(to + k * w->size, piece, (size_t)count);
    }
}

/* Swaps the two floats of each pair. */
static void swap_floats(unsigned char *at, int64_t pairs)
{
    for (int64_t i = 0; i < pairs; i++) {
        uint64_t pair;
        memcpy(&pair, at + i * 8, 8);
        pair = pair << 32 | pair >> 32;
        memcpy(at + i * 8, &pair, 8);
    }
}

/* Swaps the two rows of each pair; a row has `row` bytes. */
static void swap_pairs(unsigned char *at, int64_t pairs, int64_t row)
{
    unsigned char earlier[CACHE_LINE];
    for (; pairs > 0; pairs--, at += 2 * row)
        for (int64_t i = 0; i < row; i += CACHE_LINE) {
            size_t some = row - i < CACHE_LINE ? (size_t)(row - i) : CACHE_LINE;
            memcpy(earlier, at + i, some);
            memcpy(at + i, at + row + i, some);
            memcpy(at + row + i, earlier, some);
        }
}

/* Interleaves each group of four of the `depth` rows of a panel. */
static void interleave_fours(const struct packing *w, unsigned char *panel)
{
    uint8_t all[4 * CHUNK];
    size_t row = (size_t)w->width;
    for (int64_t p = 0; p + 3 < w->depth; p += 4, panel += 4 * row) {
        w->set->pack->interleave_bytes(all, panel, row, row, w->form->flipped ? 0x80 : 0);
        memcpy(panel, all, 4 * row);
    }
}

/* Interleaves the rows of each group of a panel's rows; in f32, swaps the two rows of each pair. */
static void group_rows(const struct packing *w, unsigned char *panel)
{
    if (w->form->group == 4) {
        interleave_fours(w, panel);
        return;
    }
    int64_t row = w->width * w->size;
    uint16_t both[2 * CHUNK];
    if (w->form->to != DT_BF16) {
        swap_pairs(panel, w->depth / 2, row);
        return;
    }
    for (int64_t p = 0; p + 1 < w->depth; p += 2, panel += 2 * row) {
        uint16_t *at = (uint16_t *)(void *)panel;
        w->set->pack->interleave(both, at, at + w->width, (size_t)w->width);
        memcpy(panel, both, (size_t)(2 * row));
    }
}

/* Fetches ahead while rows are converted: the row that is PACK_LINES_AHEAD lines of the cache
 * after the one at `row`. There are `left` rows, `step` bytes apart. */
static void fetch_row(const unsigned char *row, int64_t left, int64_t step, int64_t bytes)
{
    int64_t rows = PACK_LINES_AHEAD * CACHE_LINE / bytes + 1;
    if (rows >= left)
        return;
    row += rows * step;
    for (int64_t at = 0; at < bytes; at += CACHE_LINE)
        PREFETCH_SECOND(row + at);
}

static void pack_left(const struct packing *w)
{
    int64_t lines = w->high[0] - w->low[0], depth = w->high[1] - w->low[1];
    int64_t row = w->step * w->size;
    if (lines < w->form->lines || depth < w->depth)
        for (int64_t i = 0; i < w->form->lines; i++)
            memset(w->to + i * row, 0, (size_t)(w->depth * w->size));
    unsigned char *to = w->to + w->low[0] * row + w->low[1] * w->size;
    int64_t from_row = w->line * w->size_from;
    if (!w->convert && w->deep == 1)
        w->set->pack->rows(to, (ptrdiff_t)row, 0, w->from, (ptrdiff_t)from_row, (size_t)lines, 1,
                           (size_t)(depth * w->size));
    else
        for (int64_t i = 0; i < lines; i++) {
            const unsigned char *from = w->from + i * from_row;
            if (w->deep == 1)
                fetch_row(from, lines - i, from_row, depth * w->size_from);
            pack_row(w, to + i * row, from, depth, w->deep);
        }
    for (int64_t i = 0; i < w->form->lines && w->form->group == 2 && w->convert; i++)
        swap_floats(w->to + i * row, w->depth / 2);
}

enum { ROOM = 8192 }; /* bytes of the rows converted at a time */

/* Copies `rows` rows of n elements, which are `deep` and `line` apart in the view, to dense rows
 * `to_row` apart. */
static void gather_rows(const struct packing *w, unsigned char *to, int64_t to_row,
                        const unsigned char *from, int64_t rows, int64_t n)
{
    struct nest nest = {2, {rows, n}, {to_row, 1}, {w->deep, w->line}};
    w->set->memory->copy_once[size_index(w->form->from)](to, from, &nest);
}

/* Packs columns `first` to `end` of the part, which are all in one panel. */
static void pack_columns(const struct packing *w, int64_t first, int64_t end)
{
    _Alignas(SLOT_ALIGNMENT) unsigned char room[ROOM];
    int64_t n = end - first, rows = w->high[1] - w->low[1], dense = n * w->size_from;
    unsigned char *to =
        w->to + (first / w->width * w->step + w->low[1] * w->width + first % w->width) * w->size;
    const unsigned char *from = w->from + (first - w->low[0]) * w->line * w->size_from;
    if (!w->convert) {
        gather_rows(w, to, w->width, from, rows, n);
        return;
    }
    for (int64_t p = 0, some; p < rows; p += some, from += some * w->deep * w->size_from) {
        some = rows - p < ROOM / dense ? rows - p : ROOM / dense;
        gather_rows(w, room, n, from, some, n);
        for (int64_t i = 0; i < some; i++, to += w->width * w->size)
            w->convert(to, room + i * dense, (size_t)n);
    }
}

/* Packs whole panels of rows that are dense in the view, beginning with column `first`. */
static void pack_panels(const struct packing *w, int64_t first, int64_t panels)
{
    int64_t row = w->width * w->size, panel = w->step * w->size;
    int64_t rows = w->high[1] - w->low[1], from_row = w->deep * w->size_from;
    unsigned char *to = w->to + first / w->width * panel + w->low[1] * row;
    const unsigned char *from = w->from + (first - w->low[0]) * w->size_from;
    if (!w->convert) {
        w->set->pack->rows(to, (ptrdiff_t)row, (ptrdiff_t)panel, from, (ptrdiff_t)from_row,
                           (size_t)rows, (size_t)panels, (size_t)row);
        return;
    }
    for (int64_t p = 0; p < rows; p++, from += from_row, to += row) {
        fetch_row(from, rows - p, from_row, panels * w->width * w->size_from);
        for (int64_t j = 0; j < panels; j++)
            w->convert(to + j * panel, from + j * w->width * w->size_from, (size_t)w->width);
    }
}

/* Packs a right operand whose groups of four steps are contiguous in the view. */
static void pack_fours(const struct packing *w)
{
    const uint32_t flip = w->form->flipped ? 0x80808080u : 0;
    int64_t width = w->width, fours = (w->high[1] - w->low[1]) / 4;
    for (int64_t j = w->low[0]; j < w->high[0]; j++) {
        const unsigned char *from = w->from + (j - w->low[0]) * w->line;
        unsigned char *to = w->to + j / width * w->step + w->low[1] * width + j % width * 4;
        fetch_row(from, w->high[0] - j, w->line, 4 * fours);
        for (int64_t i = 0; i < fours; i++, from += 4, to += 4 * width) {
            uint32_t four;
            memcpy(&four, from, sizeof four);
            four ^= flip;
            memcpy(to, &four, sizeof four);
        }
    }
}

static void pack_right(const struct packing *w)
{
    int64_t width = w->width, row = width * w->size, panel = w->step * w->size;
    int64_t first = w->low[0], end = w->high[0], depth = w->high[1] - w->low[1];
    bool fours = w->form->group == 4 && w->deep == 1 && w->low[1] % 4 == 0 && depth % 4 == 0;
    if (end - first < w->form->lines || depth < w->depth)
        for (int64_t j = 0; j < w->form->lines; j += width)
            memset(w->to + j / width * panel, fours && w->form->flipped ? 0x80 : 0,
                   (size_t)(w->depth * row));
    if (fours) {
        pack_fours(w);
        return;
    }
    if (w->line == 1 && first % width == 0 && end - first >= width) {
        int64_t panels = (end - first) / width;
        pack_panels(w, first, panels);
        first += panels * width;
    }
    for (; first < end; first = (first / width + 1) * width) {
        int64_t next = (first / width + 1) * width;
        pack_columns(w, first, next < end ? next : end);
    }
    for (int64_t j = 0; j < w->form->lines && w->form->group > 1; j += width)
        group_rows(w, w->to + j / width * panel);
}

static struct packing packing_of(const struct frame *f, const struct packed_fill *fill,
                                 const struct box *box, int64_t depth, unsigned char *to,
                                 int64_t step)
{
    const struct access *a = fill->from;
    const struct packed_form *form = &fill->tile->form;
    const struct packed_plan *plan = &f->program->packed[fill->cache];
    const struct view_binding *view = &f->launch->views[a->view];
    int axis[2] = {plan->lines_axis, plan->depth_axis};
    struct packing w = {form, f->program->set, depth, .to = to, .step = step};
    w.size = (int64_t)dtype_size(form->to);
    w.size_from = (int64_t)dtype_size(form->from);
    w.width = (int64_t)dot_panel_width(w.set, form);
    w.convert = form->from == form->to ? NULL : w.set->convert->convert[form->to][form->from];
    for (int i = 0; i < 2; i++) {
        w.low[i] = box->empty ? 0 : box->low[axis[i]] - box->start[axis[i]];
        w.high[i] = box->empty ? 0 : box->high[axis[i]] - box->start[axis[i]];
    }
    w.line = view->stride[axis[0]];
    w.deep = view->stride[axis[1]];
    w.from = box->empty ? NULL : box_start(f, a, box);
    return w;
}

void pack_box(const struct frame *f, const struct packed_fill *fill, const struct box *box,
              int64_t depth, unsigned char *to, int64_t step)
{
    struct packing w = packing_of(f, fill, box, depth, to, step);
    if (w.form->side == PACKED_LEFT)
        pack_left(&w);
    else
        pack_right(&w);
}

bool packs_in_product(const struct frame *f, const struct packed_fill *fill, const struct box *box,
                      int64_t depth, size_t *step)
{
    const struct packing w = packing_of(f, fill, box, depth, NULL, 0);
    const struct packed_form *form = w.form;
    const bool left = form->side == PACKED_LEFT;
    const int64_t view_step = left ? w.line : w.deep;
    *step = (size_t)view_step;
    return fill->tile->on_the_way && view_step > 0 && view_step <= INT32_MAX &&
           (left ? w.deep : w.line) == 1 && w.low[0] == 0 && w.low[1] == 0 &&
           w.high[0] == form->lines && w.high[1] == depth;
}

/* --- dense values --- */

/* Swaps the elements of each pair in a dense left operand, which has in->n pairs in one row
 * after the other. */
void step_pair_columns(struct frame *f, const struct instr *in)
{
    swap_floats(frame_at(f, in->dst), in->n);
}

/* Groups the rows of a dense right operand, which has in->n groups of rows of detail->n columns:
 * interleaves them, or swaps two rows of f32. */
void step_group_rows(struct frame *f, const struct instr *in)
{
    const struct dot_detail *d = in->detail;
    if (d->group == 4) {
        const uint8_t *bytes = frame_at(f, in->a);
        uint8_t *out = frame_at(f, in->dst);
        for (uint32_t i = 0; i < in->n; i++, bytes += 4 * d->n, out += 4 * d->n)
            f->program->set->pack->interleave_bytes(out, bytes, d->n, d->n, d->flipped ? 0x80 : 0);
        return;
    }
    if (d->group == 1) {
        swap_pairs(frame_at(f, in->dst), in->n, (int64_t)(d->n * sizeof(float)));
        return;
    }
    const uint16_t *from = frame_at(f, in->a);
    uint16_t *to = frame_at(f, in->dst);
    for (uint32_t i = 0; i < in->n; i++, from += 2 * d->n, to += 2 * d->n)
        f->program->set->pack->interleave(to, from, from + d->n, d->n);
}
