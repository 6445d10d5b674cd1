/* Packs operands of `dot` into the form that its routines read (packed.h): parts of views, and
 * dense values whose steps are added in pairs. */
#include "cpu/exec/exec_packed.h"

/* --- parts of views --- */

/* A part of a view that is being packed: of `lines` × `depth` elements those from `low` to
 * `high` are inside. */
struct packing {
    const struct packed_form *form;
    const struct routine_set *set;
    int64_t lines, depth;      /* of this part, which is a piece of a tile, or one tile or more */
    const unsigned char *from; /* the first element inside */
    int64_t line, deep;        /* steps in the view, in elements */
    int64_t low[2], high[2];   /* inside: lines, depth */
    unsigned char *to;
    int64_t step, width;     /* step: see struct packed_state; width: of a panel */
    int64_t size, size_from; /* bytes of an element */
    convert_fn *convert;     /* NULL: both types are the same */
    bool swapped;            /* `convert` swaps the elements of pairs */
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

/* Returns whether pairs of bf16 become pairs of f32, which change places. */
static bool swaps(const struct packed_form *form)
{
    return form->group == 2 && form->to == DT_F32;
}

void exec_swap_floats(unsigned char *at, int64_t pairs)
{
    for (int64_t i = 0; i < pairs; i++) {
        uint64_t pair;
        memcpy(&pair, at + i * 8, 8);
        pair = pair << 32 | pair >> 32;
        memcpy(at + i * 8, &pair, 8);
    }
}

/* Returns the place of row p of those inside: the two rows of a pair of bf16 change places. */
static int64_t place_of_row(const struct packing *w, int64_t p)
{
    return (w->low[1] + p) ^ swaps(w->form);
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

/* Returns the rows of `bytes` bytes that PACK_LINES_AHEAD lines of the cache hold. Loops over rows
 * compute it before they begin, because a division takes as long as packing a row of a panel. */
static int64_t rows_ahead(int64_t bytes)
{
    return PACK_LINES_AHEAD * CACHE_LINE / (bytes > 0 ? bytes : 1) + 1;
}

/* Fetches ahead while rows are converted: the row that is `ahead` rows after the one at `row`. There
 * are `left` rows, `step` bytes apart. */
static void fetch_row(const unsigned char *row, int64_t ahead, int64_t left, int64_t step,
                      int64_t bytes)
{
    if (ahead >= left)
        return;
    row += ahead * step;
    for (int64_t at = 0; at < bytes; at += CACHE_LINE)
        PREFETCH_SECOND(row + at);
}

static void pack_left(const struct packing *w)
{
    int64_t lines = w->high[0] - w->low[0], depth = w->high[1] - w->low[1];
    int64_t row = w->step * w->size;
    if (lines < w->lines || depth < w->depth)
        for (int64_t i = 0; i < w->lines; i++)
            memset(w->to + i * row, 0, (size_t)(w->depth * w->size));
    unsigned char *to = w->to + w->low[0] * row + w->low[1] * w->size;
    int64_t from_row = w->line * w->size_from, ahead = rows_ahead(depth * w->size_from);
    if (!w->convert && w->deep == 1)
        w->set->pack->rows(to, (ptrdiff_t)row, 0, w->from, (ptrdiff_t)from_row, (size_t)lines, 1,
                           (size_t)(depth * w->size));
    else
        for (int64_t i = 0; i < lines; i++) {
            const unsigned char *from = w->from + i * from_row;
            if (w->deep == 1)
                fetch_row(from, ahead, lines - i, from_row, depth * w->size_from);
            pack_row(w, to + i * row, from, depth, w->deep);
        }
    for (int64_t i = w->low[0]; i < w->high[0] && swaps(w->form) && !w->swapped; i++)
        exec_swap_floats(w->to + i * row, w->depth / 2);
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
    const int64_t row = w->width * w->size;
    unsigned char *to = w->to + (first / w->width * w->step + first % w->width) * w->size;
    const unsigned char *from = w->from + (first - w->low[0]) * w->line * w->size_from;
    if (!w->convert) {
        gather_rows(w, to + w->low[1] * row, w->width, from, rows, n);
        return;
    }
    for (int64_t p = 0, some; p < rows; p += some, from += some * w->deep * w->size_from) {
        some = rows - p < ROOM / dense ? rows - p : ROOM / dense;
        gather_rows(w, room, n, from, some, n);
        for (int64_t i = 0; i < some; i++)
            w->convert(to + place_of_row(w, p + i) * row, room + i * dense, (size_t)n);
    }
}

/* Packs whole panels of rows that are dense in the view, beginning with column `first`. */
static void pack_panels(const struct packing *w, int64_t first, int64_t panels)
{
    int64_t row = w->width * w->size, panel = w->step * w->size;
    int64_t rows = w->high[1] - w->low[1], from_row = w->deep * w->size_from;
    unsigned char *all = w->to + first / w->width * panel;
    const unsigned char *from = w->from + (first - w->low[0]) * w->size_from;
    if (!w->convert) {
        w->set->pack->rows(all + w->low[1] * row, (ptrdiff_t)row, (ptrdiff_t)panel, from,
                           (ptrdiff_t)from_row, (size_t)rows, (size_t)panels, (size_t)row);
        return;
    }
    const int64_t bytes = panels * w->width * w->size_from, ahead = rows_ahead(bytes);
    for (int64_t p = 0; p < rows; p++, from += from_row) {
        unsigned char *to = all + place_of_row(w, p) * row;
        fetch_row(from, ahead, rows - p, from_row, bytes);
        for (int64_t j = 0; j < panels; j++)
            w->convert(to + j * panel, from + j * w->width * w->size_from, (size_t)w->width);
    }
}

/* --- groups of steps of a right operand --- */

enum { GROUP_BYTES = 4 };

/* Returns the bits that are flipped in each group. */
static uint32_t flipped_bits(const struct packed_form *form)
{
    return form->flipped ? 0x80808080u : 0;
}

/* Fills the tile with zeros if some of its elements are not inside. */
static void clear_panels(const struct packing *w)
{
    int64_t lines = w->high[0] - w->low[0], depth = w->high[1] - w->low[1];
    if (lines == w->lines && depth == w->depth)
        return;
    for (int64_t j = 0; j < w->lines; j += w->width)
        memset(w->to + j / w->width * w->step * w->size, flipped_bits(w->form) & 0xff,
               (size_t)(w->depth * w->width * w->size));
}

/* Copies steps of depth from `p` on, one group, to dense rows of columns `first` to `first` + n;
 * elements outside are 0. */
static void gather_group(const struct packing *w, unsigned char *room, int64_t p, int64_t first,
                         int64_t n)
{
    int64_t low = first > w->low[0] ? first : w->low[0];
    int64_t high = first + n < w->high[0] ? first + n : w->high[0], row = n * w->size;
    if (high - low < n || p < w->low[1] || p + w->form->group > w->high[1])
        memset(room, 0, (size_t)(w->form->group * row));
    for (int64_t r = 0; r < w->form->group && low < high; r++, p++) {
        if (p < w->low[1] || p >= w->high[1])
            continue;
        int64_t from = (p - w->low[1]) * w->deep + (low - w->low[0]) * w->line;
        pack_row(w, room + r * row + (low - first) * w->size, w->from + from * w->size_from,
                 high - low, w->line);
    }
}

/* Packs groups of rows one after the other, all columns of each. */
static void pack_row_groups(const struct packing *w)
{
    enum { COLUMNS = 512 };
    _Alignas(SLOT_ALIGNMENT) unsigned char room[GROUP_BYTES * COLUMNS];
    const struct pack_routines *pack = w->set->pack;
    int64_t group = w->form->group, whole = w->high[0] - w->high[0] % w->width;
    int64_t all = (w->lines + w->width - 1) / w->width * w->width, some;
    const int64_t ahead = rows_ahead((all < COLUMNS ? all : COLUMNS) * w->size);
    for (int64_t p = 0; p < w->depth; p += group)
        for (int64_t j = 0; j < all; j += some) {
            int64_t end = w->low[0] == 0 && j < whole ? whole : all;
            some = end - j < COLUMNS ? end - j : COLUMNS;
            unsigned char *to = w->to + (j / w->width * w->step + p * w->width) * w->size;
            const unsigned char *from = room;
            int64_t row = some;
            if (!w->convert && w->line == 1 && end == whole && p >= w->low[1] &&
                p + group <= w->high[1]) {
                row = w->deep;
                from = w->from + ((p - w->low[1]) * row + j) * w->size;
                for (int64_t r = 0; r < group; r++)
                    fetch_row(from + r * row * w->size, ahead, w->high[1] - p - r, row * w->size,
                              some * w->size);
            } else {
                gather_group(w, room, p, j, some);
            }
            interleave_fn *interleave =
                group == 4 ? pack->interleave_fours : pack->interleave_pairs;
            interleave(to, (ptrdiff_t)w->step, from, (ptrdiff_t)row, (size_t)some, (size_t)w->width,
                       flipped_bits(w->form));
        }
}

/* Packs columns first to `end` of one panel, whose steps are contiguous in the view. A group is
 * then a value of 4 bytes, and the groups are transposed. */
static void turn_columns(const struct packing *w, int64_t first, int64_t end)
{
    enum { WIDEST = 32, STEPS = ROOM / WIDEST / sizeof(uint16_t) }; /* steps converted at a time */
    _Alignas(SLOT_ALIGNMENT) unsigned char room[ROOM];
    int64_t lines = end - first, depth = w->high[1] - w->low[1], line = w->line * w->size_from;
    int64_t group = w->form->group, row = w->width * GROUP_BYTES, some;
    const unsigned char *from = w->from + (first - w->low[0]) * line;
    unsigned char *to = w->to + (first / w->width * w->step + w->low[1] * w->width) * w->size +
                        first % w->width * GROUP_BYTES;
    const uint32_t flip = flipped_bits(w->form);
    for (int64_t p = 0; p < depth; p += some, to += some / group * row) {
        const unsigned char *piece = from + p * w->size_from;
        ptrdiff_t apart = (ptrdiff_t)line;
        some = depth - p - (depth - p) % group;
        if (w->convert || some == 0) { /* also the last steps, if they are less than a group */
            some = some == 0 ? group : some < STEPS ? some : STEPS;
            int64_t inside = depth - p < some ? depth - p : some;
            apart = (ptrdiff_t)(some * w->size);
            memset(room, 0, (size_t)(inside < some ? lines * apart : 0));
            for (int64_t i = 0; i < lines; i++)
                pack_row(w, room + i * apart, piece + i * line, inside, 1);
            piece = room;
        }
        w->set->pack->transpose_groups(to, row, piece, apart, (size_t)lines, (size_t)(some / group),
                                       flip);
    }
}

/* Packs a right operand in groups of steps. */
static void pack_groups(const struct packing *w)
{
    if (w->deep != 1 || w->low[1] % w->form->group != 0) {
        pack_row_groups(w);
        return;
    }
    clear_panels(w);
    int64_t next;
    for (int64_t j = w->low[0]; j < w->high[0]; j = next) {
        next = (j / w->width + 1) * w->width;
        next = next < w->high[0] ? next : w->high[0];
        turn_columns(w, j, next);
    }
}

static void pack_right(const struct packing *w)
{
    int64_t width = w->width;
    int64_t first = w->low[0], end = w->high[0];
    if (w->form->group > 1 && !swaps(w->form)) {
        pack_groups(w);
        return;
    }
    clear_panels(w);
    if (w->line == 1 && first % width == 0 && end - first >= width) {
        int64_t panels = (end - first) / width;
        pack_panels(w, first, panels);
        first += panels * width;
    }
    for (; first < end; first = (first / width + 1) * width) {
        int64_t next = (first / width + 1) * width;
        pack_columns(w, first, next < end ? next : end);
    }
}

static void pack_either(const struct packing *w)
{
    if (w->form->side == PACKED_LEFT)
        pack_left(w);
    else
        pack_right(w);
}

static struct packing packing_of(const struct frame *f, const struct packed_fill *fill,
                                 const struct box *box, int64_t lines, int64_t depth,
                                 unsigned char *to, int64_t step)
{
    const struct access *a = fill->from;
    const struct packed_form *form = &fill->tile->form;
    const struct packed_plan *plan = &f->program->packed[fill->cache];
    const struct view_binding *view = &f->launch->views[a->view];
    int axis[2] = {plan->lines_axis, plan->depth_axis};
    struct packing w = {form, f->program->set, lines, depth, .to = to, .step = step};
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
    w.swapped =
        swaps(form) && form->side == PACKED_LEFT && form->from == DT_BF16 && w.low[1] % 2 == 0;
    if (w.swapped)
        w.convert = w.set->pack->swapped_bf16;
    w.from = box->empty ? NULL : exec_box_start(f, a, box);
    return w;
}

void exec_pack_box(const struct frame *f, const struct packed_fill *fill, const struct box *box,
                   int64_t lines, int64_t depth, unsigned char *to, int64_t step)
{
    const struct packing w = packing_of(f, fill, box, lines, depth, to, step);
    pack_either(&w);
}

bool exec_packs_in_product(const struct frame *f, const struct packed_fill *fill,
                           const struct box *box, int64_t depth, size_t *step)
{
    const struct packing w = packing_of(f, fill, box, fill->tile->form.lines, depth, NULL, 0);
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
    exec_swap_floats(frame_at(f, in->dst), in->n);
}

/* Groups the rows of a dense right operand, which has in->n groups of rows of detail->n columns:
 * interleaves them, or swaps two rows of f32. */
void step_group_rows(struct frame *f, const struct instr *in)
{
    const struct dot_detail *d = in->detail;
    if (d->group == 1) {
        swap_pairs(frame_at(f, in->dst), in->n, (int64_t)(d->n * sizeof(float)));
        return;
    }
    const struct pack_routines *pack = f->program->set->pack;
    interleave_fn *interleave = d->group == 4 ? pack->interleave_fours : pack->interleave_pairs;
    const unsigned char *from = frame_at(f, in->a);
    unsigned char *to = frame_at(f, in->dst);
    const size_t bytes = GROUP_BYTES * d->n;
    for (uint32_t i = 0; i < in->n; i++, from += bytes, to += bytes)
        interleave(to, 0, from, (ptrdiff_t)d->n, d->n, d->n, d->flipped ? 0x80808080u : 0);
}
