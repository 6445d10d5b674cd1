/* Weights at run time (packed.h): computes rows of a right operand from bytes and scales. */
#include "cpu/exec/exec_packed.h"

/* --- views --- */

static void open_view(const struct frame *f, const struct access *a, int64_t every,
                      struct weight_view *v)
{
    const struct view_binding *view = &f->launch->views[a->view];
    const int last = a->rank - 1;
    *v = (struct weight_view){.base = view->base, .every = every, .dtype = a->sym->type.dtype};
    v->extent[0] = last > 0 ? view->extent[0] : 1;
    v->stride[0] = last > 0 ? view->stride[0] : 0;
    v->extent[1] = view->extent[last];
    v->stride[1] = view->stride[last];
}

void exec_weights_open(const struct frame *f, const struct packed_fill *fill,
                       const struct packed_state *state, struct weight_source *source)
{
    const struct packed_weights *w = fill->weights;
    source->weights = w;
    source->set = f->program->set;
    open_view(f, fill->from, w->repeat, &source->codes);
    for (int i = 0; i < w->scales; i++)
        open_view(f, w->scale[i], w->every[i], &source->scale[i]);
    if (!state)
        return;
    memcpy(source->codes.origin, state->box.start, sizeof source->codes.origin);
    for (int i = 0; i < w->scales; i++)
        memcpy(source->scale[i].origin, state->scale_start[i], sizeof source->scale[i].origin);
}

/* Returns n elements of a row from column j on. They are in the view, or in `room`, with 0 for those
 * that the view does not have. */
static const void *view_piece(const struct weight_source *s, const struct weight_view *v,
                              int64_t row, int64_t j, size_t n, void *room)
{
    const size_t size = dtype_size(v->dtype);
    const int64_t y = v->origin[0] + row, x = v->origin[1] + j;
    const bool inside = y >= 0 && y < v->extent[0];
    if (inside && x >= 0 && x + (int64_t)n <= v->extent[1] && v->stride[1] == 1)
        return v->base + (y * v->stride[0] + x) * (int64_t)size;
    memset(room, 0, n * size);
    int64_t low = x > 0 ? x : 0,
            high = x + (int64_t)n < v->extent[1] ? x + (int64_t)n : v->extent[1];
    if (!inside || low >= high)
        return room;
    const struct nest nest = {1, {high - low}, {1}, {v->stride[1]}};
    s->set->memory->copy[bytes_index(size)](
        (unsigned char *)room + (size_t)(low - x) * size,
        v->base + (y * v->stride[0] + low * v->stride[1]) * (int64_t)size, &nest);
    return room;
}

/* --- rows --- */

static void round_row(const struct routine_set *set, float *x, enum dtype to, size_t n)
{
    uint16_t room[WEIGHT_COLUMNS];
    if (to == DT_F32)
        return;
    set->convert->convert[to][DT_F32](room, x, n);
    set->convert->convert[DT_F32][to](x, room, n);
}

/* The scales of the rows that are computed. */
struct scale_rows {
    _Alignas(SLOT_ALIGNMENT) float value[MOST_SCALES][WEIGHT_COLUMNS];
    int64_t row[MOST_SCALES]; /* of the view; -1: none */
};

static void take_scales(const struct weight_source *s, struct scale_rows *scales, int64_t k,
                        int64_t j, size_t n)
{
    uint32_t room[WEIGHT_COLUMNS];
    for (int i = 0; i < s->weights->scales; i++) {
        const struct weight_view *v = &s->scale[i];
        int64_t row = v->every > 0 ? k / v->every : 0;
        if (row == scales->row[i])
            continue;
        scales->row[i] = row;
        const void *from = view_piece(s, v, row, j, n, room);
        if (v->dtype == DT_F32)
            memcpy(scales->value[i], from, n * sizeof(float));
        else
            s->set->convert->convert[DT_F32][v->dtype](scales->value[i], from, n);
    }
}

/* Applies the steps from `first` on. */
static void apply_steps(const struct weight_source *s, float *x, const struct scale_rows *scales,
                        int first, size_t n)
{
    for (int i = first; i < s->weights->steps; i++) {
        const struct weight_step *step = &s->weights->step[i];
        if (step->op != OP_CAST) {
            const float *by = scales->value[step->scale];
            elementwise_fn *apply = routine_elementwise(s->set, step->op, COMPUTE_F32);
            apply(x, step->turned ? by : x, step->turned ? x : by, NULL, n);
        }
        round_row(s->set, x, step->round, n);
    }
}

static void weights_row(const struct weight_source *s, float *to, const uint8_t *codes, int64_t k,
                        const struct scale_rows *scales, size_t n)
{
    const struct packed_weights *w = s->weights;
    const struct weight_table *t = &w->table[k % w->repeat];
    const bool scaled = w->steps > 0 && w->step[0].op == OP_MUL;
    if (scaled && t->shift >= 0 && s->set->pack->unpack_scaled) {
        s->set->pack->unpack_scaled(to, codes, t->value, t->shift, scales->value[w->step[0].scale],
                                    w->step[0].round, n);
        apply_steps(s, to, scales, 1, n);
        return;
    }
    if (t->same == DT_F32)
        s->set->pack->unpack(to, codes, t->value, t->shift, n);
    else
        s->set->convert->convert[DT_F32][t->same](to, codes, n);
    apply_steps(s, to, scales, 0, n);
}

void exec_weights_rows(const struct weight_source *source, float *to, size_t step, int64_t k,
                       size_t rows, int64_t j, size_t n, bool swaps)
{
    struct scale_rows scales;
    unsigned char room[WEIGHT_COLUMNS];
    for (int i = 0; i < MOST_SCALES; i++)
        scales.row[i] = -1;
    for (size_t u = 0; u < rows; u++) {
        const int64_t p = k + (int64_t)u;
        take_scales(source, &scales, p, j, n);
        const uint8_t *codes =
            view_piece(source, &source->codes, p / source->weights->repeat, j, n, room);
        weights_row(source, to + (swaps ? u ^ 1 : u) * step, codes, p, &scales, n);
    }
}

/* --- one row of a --- */

/* The scales of step k from column j on; `step` bytes further are those of the next group of steps. */
struct scale_group {
    const unsigned char *at;
    size_t step, left; /* steps from k on that have these scales */
};

static APART struct scale_group scale_group_of(const struct weight_view *v, int64_t k, int64_t j)
{
    const size_t size = dtype_size(v->dtype);
    struct scale_group g = {.at = v->base + j * (int64_t)size, .left = SIZE_MAX};
    if (v->every > 0) {
        g.step = (size_t)v->stride[0] * size;
        g.at += (size_t)(k / v->every) * g.step;
        g.left = (size_t)(v->every - k % v->every);
    }
    return g;
}

size_t exec_weights_add(const struct weight_source *source, float *sum, const float *a, int64_t k,
                        size_t *steps, int64_t j, size_t n, size_t ahead, bool swaps)
{
    const struct packed_weights *w = source->weights;
    const struct weight_table *t = w->table;
    const struct weight_view *codes = &source->codes;
    if (n < HALVES_COLUMNS || k % 2 != 0 || *steps < 2)
        return 0;
    const int first = swaps ? 1 : 0, last = w->steps - 1;
    const size_t row = (size_t)codes->stride[0];
    const struct weight_view *scale = &source->scale[w->step[last].scale];
    const struct weight_view *zero = &source->scale[w->step[0].scale]; /* or the scale again */
    const struct scale_group scales = scale_group_of(scale, k, j),
                             zeros = scale_group_of(zero, k, j);
    const size_t left = scales.left < zeros.left ? scales.left : zeros.left;
    struct weight_halves halves = {.table = {t[first].value, t[1 - first].value},
                                   .shift = {t[first].shift, t[1 - first].shift},
                                   .scale = scales.at,
                                   .zero = last > 0 ? zeros.at : NULL,
                                   .scale_type = scale->dtype,
                                   .zero_type = zero->dtype,
                                   .round = w->step[last].round,
                                   .row = row,
                                   .group = left / 2,
                                   .scale_step = scales.step,
                                   .zero_step = zeros.step,
                                   .ahead = ahead};
    /* A call takes several groups if the first one is whole and all scales change together. */
    if (*steps > left && ((size_t)scale->every != left || scale->every != zero->every))
        *steps = left;
    *steps -= *steps % 2;
    return source->set->few_halves(sum, a, codes->base + (size_t)(k / 2) * row + j, &halves,
                                   *steps / 2, n / HALVES_COLUMNS * HALVES_COLUMNS);
}

/* --- packing --- */

void exec_weights_pack(const struct frame *f, const struct packed_state *state,
                       const struct box *box, int64_t depth, unsigned char *to, int64_t step)
{
    enum { ROWS = 8 };
    _Alignas(SLOT_ALIGNMENT) float room[ROWS * WEIGHT_COLUMNS];
    _Alignas(SLOT_ALIGNMENT) uint16_t halves[2 * WEIGHT_COLUMNS];
    const struct packed_form *form = &state->fill->tile->form;
    const struct packed_plan *plan = &f->program->packed[state->fill->cache];
    const struct routine_set *set = f->program->set;
    const int64_t width = (int64_t)dot_panel_width(set, form), size = (int64_t)dtype_size(form->to);
    const int64_t all = (form->lines + width - 1) / width * width;
    const bool pairs = form->group == 2 && form->to == DT_BF16, swaps = form->group == 2 && !pairs;
    const int64_t most = WEIGHT_COLUMNS / width * width;
    int64_t k = 0, column = 0;
    struct weight_source source;
    exec_weights_open(f, state->fill, state->mapped ? NULL : state, &source);
    if (state->mapped) {
        k = box->start[plan->depth_axis] * form->repeat;
        column = box->start[plan->lines_axis];
    }
    for (int64_t p = 0; p < depth; p += ROWS)
        for (int64_t j = 0, n; j < all; j += n) {
            const int64_t rows = depth - p < ROWS ? depth - p : ROWS;
            n = all - j < most ? all - j : most;
            exec_weights_rows(&source, room, WEIGHT_COLUMNS, k + p, (size_t)rows, column + j,
                              (size_t)n, swaps);
            unsigned char *at = to + (j / width * step + p * width) * size;
            for (int64_t u = 0; u < rows && pairs; u += 2, at += 2 * width * size) {
                for (int i = 0; i < 2; i++)
                    set->convert->convert[DT_BF16][DT_F32](
                        halves + i * WEIGHT_COLUMNS, room + (u + i) * WEIGHT_COLUMNS, (size_t)n);
                set->pack->interleave_pairs(at, step, halves, WEIGHT_COLUMNS, (size_t)n,
                                            (size_t)width, 0);
            }
            for (int64_t u = 0; u < rows && !pairs; u++, at += width * size)
                for (int64_t i = 0; i < n; i += width)
                    memcpy(at + i / width * step * size, room + u * WEIGHT_COLUMNS + i,
                           (size_t)(width * size));
        }
}

/* --- fills --- */

/* Returns the columns of the box that are in the view, next to each other, if all its rows are. */
static int64_t whole_columns(const struct frame *f, const struct access *a, const struct box *box)
{
    const struct view_binding *view = &f->launch->views[a->view];
    const int last = a->rank - 1;
    const bool rows = last == 0 || box->high[0] - box->low[0] == a->axis[0].extent;
    return rows && view->stride[last] == 1 && box->low[last] == box->start[last]
               ? box->high[last] - box->low[last]
               : 0;
}

bool exec_weights_note(struct frame *f, const struct packed_fill *fill, struct loc loc,
                       struct packed_state *state)
{
    const struct packed_weights *w = fill->weights;
    const struct packed_plan *plan = &f->program->packed[fill->cache];
    const int64_t depth = state->box.start[plan->depth_axis] * w->repeat;
    const int64_t column = state->box.start[plan->lines_axis];
    const struct view_binding *codes = &f->launch->views[fill->from->view];
    state->mapped = plan->depth_axis == 0 && depth >= 0;
    state->columns =
        codes->stride[0] >= codes->extent[1] ? whole_columns(f, fill->from, &state->box) : 0;
    for (int i = 0; i < w->scales; i++) {
        struct box box;
        const int last = w->scale[i]->rank - 1;
        if (!exec_access_box(f, w->scale[i], loc, &box))
            return false;
        state->scale_start[i][0] = last > 0 ? box.start[0] : 0;
        state->scale_start[i][1] = box.start[last];
        state->mapped &= box.start[last] == column;
        if (last > 0)
            state->mapped &= box.start[0] * w->every[i] == depth;
        const int64_t columns = whole_columns(f, w->scale[i], &box);
        state->columns = columns < state->columns ? columns : state->columns;
    }
    return true;
}

/* --- few rows --- */

bool exec_weights_in_place(const struct packed_state *state, size_t columns)
{
    return state->mapped && (int64_t)columns <= state->columns;
}

const unsigned char *exec_weights_address(const struct frame *f, const struct packed_state *state)
{
    const struct view_binding *view = &f->launch->views[state->fill->from->view];
    return view->base + state->box.start[0] * state->fill->weights->repeat * view->stride[0] +
           state->box.start[1];
}

bool exec_weights_overlap(const struct frame *f, const struct packed_fill *fill,
                          const unsigned char *to, size_t bytes)
{
    bool found = false;
    for (int i = -1; i < fill->weights->scales && !found; i++) {
        const struct access *a = i < 0 ? fill->from : fill->weights->scale[i];
        const struct view_binding *view = &f->launch->views[a->view];
        found =
            (uintptr_t)to < (uintptr_t)view->end && (uintptr_t)to + bytes > (uintptr_t)view->first;
    }
    return found;
}

bool exec_weights_stay(const struct frame *f, const struct packed_fill *fill)
{
    bool stays = true;
    for (int i = 0; i < fill->weights->scales; i++)
        stays &= !f->launch->views[fill->weights->scale[i]->view].is_overlaid;
    return stays;
}
