/* Products of few rows, in which each element of the right operand is used only a few times. So the
 * operand is not packed: it is read once, in its view, and what is converted or transposed stays in
 * the first-level cache. The sums are the same as those of other products: one fused multiply-add
 * for each step of k, in order, or the later step of each pair first (packed.h). */
#include "cpu/exec/exec_packed.h"

enum {
    MOST_FEW = 4 * DOT_FEW_ROWS, /* rows; more of them keep the multiplying units busy */
    SOME_DEPTH = 512,       /* steps of k for which MOST_FEW rows of a are converted at a time */
    STRIP_SUMS = 4096,      /* sums of a strip: a third of the first-level cache */
    STEPS = 64,             /* steps of k that are transposed at a time */
    TURNED = 32,            /* columns that are transposed at a time */
    PIECE = STEPS * TURNED, /* elements of the right operand that are converted at a time */
    AHEAD = 8192            /* bytes */
};

struct few {
    const struct frame *frame;
    const struct routine_set *set;
    float *sum;
    size_t a_step, c_step, rows, columns;
    struct dot_view view;
    size_t size;    /* bytes of an element of b */
    enum dtype raw; /* the type of rows of a that are not packed (few_part.raw) */
    bool pairs;     /* a is bf16, and becomes f32 with the steps of each pair swapped */
    bool swaps;     /* the steps of each pair of b are swapped */
    const struct weight_source *weights; /* b consists of weights; NULL: it does not */
    convert_fn *convert;                 /* NULL: b is f32 */
    /* How routines read rows of b, and pairs and fours of its steps; FEW_F32: after a conversion */
    enum few_kind in_rows, in_pairs, in_fours;
    dot_turned_fn *turned; /* NULL: columns are transposed in pieces */
};

bool exec_multiplies_few(const struct frame *f, const struct dot_detail *d, size_t rows)
{
    const struct packed_tile *a = d->a.tile, *b = d->b.tile;
    return rows <= MOST_FEW && a && b && a->form.group <= 2 && f->program->set->dot->few[FEW_F32] &&
           routine_compute_of(b->form.to) == COMPUTE_F32 &&
           routine_compute_of(a->form.to) == COMPUTE_F32;
}

bool exec_multiplies_raw(const struct dot_detail *d)
{
    const enum dtype from = d->a.tile->form.from;
    return from == DT_F16 || from == DT_BF16;
}

/* Adds k steps of some columns of b, whose rows are `step` apart. */
static void add_steps(const struct few *w, enum few_kind kind, const float *a, const void *b,
                      size_t step, size_t column, size_t columns, size_t k, size_t ahead)
{
    for (size_t r = 0, rows; r < w->rows; r += rows) {
        rows = dot_few_rows(w->rows - r);
        const struct dot_few_strides s = {w->c_step, w->a_step, step, ahead};
        w->set->dot->few[kind](w->sum + r * w->c_step + column, a + r * w->a_step, b, rows, columns,
                               k, &s);
    }
}

static void fetch(const unsigned char *from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += CACHE_LINE)
        PREFETCH_SECOND(from + at);
}

/* Adds k steps of a view whose rows are contiguous; converts four rows at a time. */
static void add_rows(const struct few *w, const float *a, const unsigned char *b, size_t k)
{
    _Alignas(SLOT_ALIGNMENT) float room[PIECE];
    const size_t most = PIECE / 4, row = (size_t)w->view.deep * w->size;
    const size_t bytes = w->columns * w->size;
    const size_t ahead = (AHEAD / bytes + 8) / 4 * 4 * row;
    for (size_t p = 0; p < k; p += 4, b += 4 * row)
        for (size_t j = 0; j < w->columns; j += most) {
            size_t n = w->columns - j < most ? w->columns - j : most, steps = k - p < 4 ? k - p : 4;
            for (size_t u = 0; u < steps; u++) {
                const unsigned char *from = b + u * row + j * w->size;
                fetch(from + ahead, n * w->size);
                w->convert(room + (w->swaps ? u ^ 1 : u) * most, from, n);
            }
            add_steps(w, FEW_F32, a + p, room, most, j, n, steps, 0);
        }
}

/* Transposes some steps of n columns; returns the form in which `to` has them. */
static enum few_kind turn_piece(const struct few *w, float *to, const unsigned char *from, size_t n,
                                size_t some)
{
    _Alignas(SLOT_ALIGNMENT) float room[PIECE];
    const size_t column = (size_t)w->view.line * w->size, row = TURNED * sizeof *to;
    transpose_groups_fn *turn = w->set->pack->transpose_groups;
    if (w->in_pairs != FEW_F32 && some % 2 == 0) {
        turn(to, row, from, (ptrdiff_t)column, n, some / 2, 0);
        return w->in_pairs;
    }
    if (w->in_fours != FEW_F32 && some % 4 == 0) {
        turn(to, row, from, (ptrdiff_t)column, n, some / 4, 0);
        return w->in_fours;
    }
    if (!w->convert) {
        turn(to, row, from, (ptrdiff_t)column, n, some, 0);
        return FEW_F32;
    }
    for (size_t i = 0; i < n; i++) {
        w->convert(room + i * STEPS, from + i * column, some);
        if (w->swaps)
            exec_swap_floats((unsigned char *)(room + i * STEPS), (int64_t)some / 2);
    }
    turn(to, row, (unsigned char *)room, STEPS * sizeof *room, n, some, 0);
    return FEW_F32;
}

/* Adds k steps of n columns from column j on, which are transposed in pieces. */
static void add_pieces(const struct few *w, const float *a, const unsigned char *b, size_t j,
                       size_t n, size_t k)
{
    _Alignas(SLOT_ALIGNMENT) float turned[PIECE];
    const size_t column = (size_t)w->view.line * w->size;
    for (size_t end = j + n; j < end; j += TURNED)
        for (size_t p = 0; p < k; p += STEPS) {
            const unsigned char *from = b + j * column + p * w->size;
            const size_t some = end - j < TURNED ? end - j : TURNED;
            const size_t steps = k - p < STEPS ? k - p : STEPS;
            for (size_t i = 0; i < some; i++)
                fetch(from + i * column + 2 * STEPS * w->size, STEPS * w->size);
            enum few_kind kind = turn_piece(w, turned, from, some, steps);
            add_steps(w, kind, a + p, turned, TURNED, j, some, steps, 0);
        }
}

/* Adds k steps of a view whose columns are contiguous: whole lines of TURNED columns by a routine
 * that transposes them in registers, if the set has it. */
static void add_columns(const struct few *w, const float *a, const unsigned char *b, size_t k)
{
    const size_t column = (size_t)w->view.line * w->size, line = CACHE_LINE / w->size;
    const size_t n = w->turned ? w->columns / TURNED * TURNED : 0, whole = k / line * line;
    const struct dot_few_strides s = {w->c_step, w->a_step, column, 0};
    if (w->turned)
        w->turned(w->sum, a, b, w->rows, n, whole, &s);
    add_pieces(w, a + whole, b + whole * w->size, 0, n, k - whole);
    add_pieces(w, a, b, n, w->columns - n, k);
}

/* Returns the bytes ahead of a line at which routines fetch another one: some rows of `bytes` bytes,
 * `step` apart; 0: they fetch none. */
static size_t bytes_ahead(const struct few *w, size_t bytes, size_t step)
{
    enum { LONG_ROW = 1024 };
    return w->set->fetches_rows && bytes >= LONG_ROW ? 0 : (AHEAD / bytes + 8) / 4 * 4 * step;
}

/* Adds steps of rows that a routine reads in place, as many at a time as the first-level cache
 * keeps for all rows of a. */
static void add_in_place(const struct few *w, const float *a, const unsigned char *b, size_t k)
{
    const size_t bytes = w->columns * w->size, step = (size_t)w->view.deep * w->size;
    const size_t ahead = bytes_ahead(w, bytes, step);
    const size_t most = w->rows == dot_few_rows(w->rows) ? k : AHEAD / bytes / 4 * 4 + 4;
    for (size_t p = 0; p < k; p += most)
        add_steps(w, w->in_rows, a + p, b + p * step, (size_t)w->view.deep, 0, w->columns,
                  k - p < most ? k - p : most, ahead);
}

/* Adds k steps of n columns of weights, from a step and a column of their views on, to the sums from
 * column j on. */
static void add_unpacked(const struct few *w, const float *a, int64_t step, int64_t column,
                         size_t j, size_t n, size_t k)
{
    enum { ROWS = PIECE / WEIGHT_COLUMNS };
    _Alignas(SLOT_ALIGNMENT) float room[PIECE];
    const struct weight_view *codes = &w->weights->codes;
    const int64_t row = codes->stride[0];
    const size_t ahead = (AHEAD / w->columns + 4) * (size_t)row;
    for (size_t p = 0; p < k; p += ROWS, step += ROWS) {
        size_t rows = k - p < ROWS ? k - p : ROWS;
        for (size_t u = 0; u < rows; u += (size_t)codes->every)
            fetch(codes->base + (step + (int64_t)u) / codes->every * row + column + ahead, n);
        exec_weights_rows(w->weights, room, WEIGHT_COLUMNS, step, rows, column, n, w->swaps);
        add_steps(w, FEW_F32, a + p, room, WEIGHT_COLUMNS, j, n, rows, 0);
    }
}

/* Does the same for one row with a routine that computes weights in registers, if it takes them. */
static void add_halves(const struct few *w, const float *a, int64_t step, int64_t column, size_t j,
                       size_t n, size_t k, size_t ahead)
{
    for (size_t done = 0, steps; done < k; done += steps) {
        steps = k - done;
        for (size_t i = 0, some; i < n; i += some) {
            const int64_t at = column + (int64_t)i, first = step + (int64_t)done;
            some = exec_weights_add(w->weights, w->sum + j + i, a + done, first, &steps, at, n - i,
                                    ahead, w->swaps);
            if (some > 0)
                continue;
            some = n - i < WEIGHT_COLUMNS ? n - i : WEIGHT_COLUMNS;
            add_unpacked(w, a + done, first, at, j + i, some, steps);
        }
    }
}

/* Adds k steps of n columns of weights in the same way. If a routine computes them in registers, two or
 * three rows take turns; more rows share weights that are unpacked. */
static void add_weight_columns(const struct few *w, const float *a, int64_t step, int64_t column,
                               size_t j, size_t n, size_t k, size_t ahead)
{
    if (w->rows < DOT_FEW_ROWS && weights_have_routine(w->weights)) {
        struct few row = *w;
        row.rows = 1;
        for (size_t r = 0; r < w->rows; r++, row.sum += w->c_step)
            add_halves(&row, a + r * w->a_step, step, column, j, n, k, ahead);
        return;
    }
    for (size_t i = 0; i < n; i += WEIGHT_COLUMNS)
        add_unpacked(w, a, step, column + (int64_t)i, j + i,
                     n - i < WEIGHT_COLUMNS ? n - i : WEIGHT_COLUMNS, k);
}

/* Adds k steps of weights; b is an address by exec_weights_address. The codes of the next call are
 * fetched meanwhile. A call takes few long rows, because processors fetch ahead in some 16 pages by
 * themselves. */
static void add_weights(const struct few *w, const float *a, const unsigned char *b, size_t k)
{
    enum {
        SOME = 32,
        MANY = 128,   /* steps at a time, of rows longer than COLUMNS and of others */
        COLUMNS = 512 /* whose codes stay in the first-level cache for all rows */
    };
    const struct weight_view *codes = &w->weights->codes;
    const size_t row = (size_t)codes->stride[0], from = (size_t)(b - codes->base);
    const size_t most = w->columns > COLUMNS ? SOME : MANY;
    for (size_t p = 0, some; p < k; p += some) {
        const size_t step = from / row + p;
        some = most - step % most;
        some += some % 2; /* whole pairs of steps */
        some = k - p < some ? k - p : some;
        for (size_t j = 0, n; j < w->columns; j += n) {
            n = w->columns - j < COLUMNS ? w->columns - j : COLUMNS;
            const size_t ahead = j + n < w->columns ? n : most / (size_t)codes->every * row - j;
            add_weight_columns(w, a + p, (int64_t)step, (int64_t)(from % row + j), j, n, some,
                               ahead);
        }
    }
}

static void add_f32(const struct few *w, const float *a, const unsigned char *b, size_t k)
{
    if (w->weights)
        add_weights(w, a, b, k);
    else if (w->view.line != 1)
        add_columns(w, a, b, k);
    else if (w->convert && w->in_rows == FEW_F32)
        add_rows(w, a, b, k);
    else
        add_in_place(w, a, b, k);
}

/* Adds one product to the sums. */
static void add_part(const struct few *all, const struct few_part *part)
{
    _Alignas(SLOT_ALIGNMENT) float room[MOST_FEW * SOME_DEPTH];
    struct few w = *all;
    struct weight_source source;
    if (part->fill) {
        exec_weights_open(w.frame, part->fill, NULL, &source);
        w.weights = &source;
    }
    const size_t step = (size_t)part->view.deep * w.size;
    w.view = part->view;
    w.a_step = part->a_step;
    if (!w.pairs && !part->raw) {
        add_f32(&w, (const float *)(const void *)part->a, part->b, part->depth);
        return;
    }
    const size_t most = MOST_FEW * SOME_DEPTH / w.rows / SOME_DEPTH * SOME_DEPTH;
    const enum dtype from = w.pairs ? DT_BF16 : w.raw;
    w.a_step = most;
    for (size_t p = 0; p < part->depth; p += most) {
        size_t some = part->depth - p < most ? part->depth - p : most;
        for (size_t r = 0; r < w.rows; r++) {
            w.set->convert->convert[DT_F32][from](
                room + r * most, part->a + (r * part->a_step + p) * sizeof(uint16_t), some);
            if (w.swaps)
                exec_swap_floats((unsigned char *)(room + r * most), (int64_t)some / 2);
        }
        add_f32(&w, room, part->b + p * step, some);
    }
}

/* A product whose columns are divided among workers. */
struct few_run {
    const struct few *all;
    const struct few_part *part;
    size_t columns; /* of a piece */
};

static void add_piece(const void *user, size_t piece)
{
    const struct few_run *run = user;
    struct few w = *run->all;
    struct few_part part = *run->part;
    const size_t j = piece * run->columns;
    w.sum += j;
    w.columns = w.columns - j < run->columns ? w.columns - j : run->columns;
    part.b += j * (size_t)part.view.line * w.size;
    add_part(&w, &part);
}

/* Does the same as add_part. If workers are idle, they take pieces of the columns: a core reads memory at
 * a fraction of the machine's speed, and the others' last products would go on alone. */
static void add_part_shared(const struct few *w, const struct dot_detail *d,
                            const struct few_part *part)
{
    enum { PIECES = 8, ROW = 256, LEAST = 1 << 16 }; /* ROW, LEAST: bytes */
    struct shared_product *shared = w->frame->shared;
    const size_t unit = part->view.line == 1 ? ROW / w->size : TURNED;
    const size_t columns = (w->columns / PIECES + unit - 1) / unit * unit;
    const struct few_run run = {w, part, columns > unit ? columns : unit};
    const size_t count = (w->columns + run.columns - 1) / run.columns;
    if (!shared || !d->shares || part->fill || count < 2 ||
        w->columns * part->depth * w->size < LEAST || atomic_load(shared->idle) == 0) {
        add_part(w, part);
        return;
    }
    shared->run = &run;
    shared->is_ready = NULL;
    shared->multiply = add_piece;
    exec_pieces_offer(shared, d, count);
    for (size_t i = 0; i < count; i++)
        if (exec_piece_claim(&shared->pieces, i))
            add_piece(&run, i);
    exec_wait_for_helpers(shared);
}

/* Returns `kind` if the elements have the type, and their steps the order, that it requires, and
 * the set has a routine for it; otherwise FEW_F32. */
static enum few_kind kind_for(const struct routine_set *set, const struct packed_form *form,
                              enum few_kind f16, enum few_kind bf16)
{
    const bool swaps = form->group == 2;
    enum few_kind kind = form->from == DT_F16 && !swaps   ? f16
                         : form->from == DT_BF16 && swaps ? bf16
                                                          : FEW_F32;
    return set->dot->few[kind] ? kind : FEW_F32;
}

static struct few few_of(const struct frame *f, const struct dot_detail *d, float *sum,
                         size_t c_step, size_t rows, size_t columns)
{
    const struct packed_form *form = &d->b.tile->form;
    const struct routine_set *set = f->program->set;
    const bool fours = form->from == DT_I8 && form->group == 1 && set->dot->few[FEW_I8_FOURS];
    return (struct few){
        .frame = f,
        .set = set,
        .sum = sum,
        .c_step = c_step,
        .rows = rows,
        .columns = columns,
        .size = dtype_size(form->from),
        .raw = d->a.tile->form.from,
        .pairs = d->a.tile->form.to == DT_BF16,
        .swaps = form->group == 2,
        .convert = form->from == DT_F32 ? NULL : set->convert->convert[DT_F32][form->from],
        .in_rows = kind_for(set, form, FEW_F16, FEW_BF16),
        .in_pairs = kind_for(set, form, FEW_F16_PAIRS, FEW_BF16_PAIRS),
        .in_fours = fours ? FEW_I8_FOURS : FEW_F32,
        .turned = form->from == DT_F32                        ? set->dot->turned_f32
                  : form->from == DT_F16 && form->group == 1  ? set->dot->turned_f16
                  : form->from == DT_BF16 && form->group == 2 ? set->dot->turned_bf16
                                                              : NULL};
}

static struct few_part part_of(const struct dot_deferred *p)
{
    const struct packed_fill *fill = p->states[1] ? p->states[1]->fill : NULL;
    return (struct few_part){fill && fill->weights ? fill : NULL,
                             p->a,
                             p->b,
                             p->a_step,
                             p->depth,
                             p->b_view,
                             p->ragged,
                             p->raw};
}

static void clear(float *sum, size_t step, size_t rows, size_t columns)
{
    for (size_t r = 0; r < rows; r++, sum += step)
        memset(sum, 0, columns * sizeof *sum);
}

/* Stores sums where they are needed. */
static void put_sums(const struct frame *f, const float *from, size_t from_step, float *sum,
                     size_t step, const struct dot_target *out)
{
    const enum dtype type = out->type == OUT_BF16 ? DT_BF16 : DT_F16;
    convert_fn *convert = f->program->set->convert->convert[type][DT_F32];
    size_t bytes = out->columns * sizeof *sum;
    for (size_t r = 0; r < out->rows; r++, from += from_step, sum += step)
        if (out->to && out->type != OUT_SUMS)
            convert((uint16_t *)out->to + r * out->step, from, out->columns);
        else if (out->to)
            memcpy((float *)out->to + r * out->step, from, bytes);
        else if (from != sum)
            memcpy(sum, from, bytes);
}

/* Turns sums of -0 into 0. */
static void settle(float *sum, size_t step, size_t rows, size_t columns)
{
    for (size_t r = 0; r < rows; r++, sum += step)
        for (size_t j = 0; j < columns; j++)
            sum[j] += 0;
}

/* --- the strip --- */

/* Returns the number of columns that are worth computing together, at least the block's own: those
 * of the blocks that the worker has taken, up to the view's edge, if the first-level cache has room
 * for the sums. */
static size_t strip_columns(const struct frame *f, const struct dot_detail *d,
                            const struct dot_deferred *p, const struct dot_target *out)
{
    const struct packed_state *right = p->states[1];
    const struct packed_plan *plan = &f->program->packed[right->fill->cache];
    const int axis = plan->lines_axis;
    int64_t inside = f->launch->views[right->fill->from->view].extent[axis];
    size_t size = dtype_size(d->b.tile->form.from), most = FEW_ROW / size;
    inside -= right->box.start[axis];
    if (most > STRIP_SUMS / out->rows)
        most = STRIP_SUMS / out->rows;
    if (most > (size_t)f->turns_left * d->n)
        most = (size_t)f->turns_left * d->n;
    if (most > (size_t)inside)
        most = (size_t)inside;
    return most / d->n * d->n > out->columns ? most : out->columns;
}

/* Returns whether both operands lie in views or in memory of the launch that keep their values
 * during the launch, so that equal addresses are equal values. */
static bool stay(const struct frame *f, const struct dot_deferred *p)
{
    for (int i = 0; i < 2; i++)
        if (!p->states[i] || f->launch->views[p->states[i]->fill->from->view].is_overlaid)
            return false;
    return !p->states[1]->fill->weights || exec_weights_stay(f, p->states[1]->fill);
}

/* Begins the strip with this product, if that gives several blocks' sums. */
static bool begin_strip(const struct frame *f, const struct dot_detail *d, struct dot_deferred *p,
                        const struct dot_target *out)
{
    struct few_strip *s = f->strip;
    if (!p->fresh || p->ragged || p->b_view.line != 1)
        return false;
    size_t columns = strip_columns(f, d, p, out);
    if (columns == out->columns)
        return false;
    if (!s->memory.memory)
        s->memory = kept_take(
            f->launch, STRIP_SUMS * sizeof(float) + SLOT_ALIGNMENT + STRIP_PARTS * sizeof *s->part,
            0);
    if (!s->memory.memory)
        return false;
    uintptr_t past = (uintptr_t)s->memory.memory % SLOT_ALIGNMENT;
    s->sums = (float *)(void *)((char *)s->memory.memory + SLOT_ALIGNMENT - past);
    s->part = (struct few_part *)(void *)(s->sums + STRIP_SUMS);
    s->detail = d;
    s->rows = out->rows;
    s->columns = columns;
    s->count = 0;
    clear(s->sums, columns, s->rows, columns);
    p->column = 0;
    return true;
}

static bool same_part(const struct few_part *x, const struct few_part *y, size_t bytes)
{
    return x->fill == y->fill && x->a == y->a && x->b == y->b + bytes && x->a_step == y->a_step &&
           x->depth == y->depth && x->view.line == y->view.line && x->view.deep == y->view.deep &&
           x->ragged == y->ragged && x->raw == y->raw;
}

/* Returns whether the strip has this product, which follows p->parts others; for the first one,
 * finds its column. */
static bool strip_has(const struct few_strip *s, const struct dot_detail *d, struct dot_deferred *p,
                      const struct dot_target *out)
{
    const struct few_part part = part_of(p);
    const size_t size = dtype_size(d->b.tile->form.from);
    if (s->detail != d || p->parts >= s->count || out->rows > s->rows || p->b_view.line != 1)
        return false;
    if (p->parts == 0) {
        uintptr_t bytes = (uintptr_t)part.b - (uintptr_t)s->part[0].b;
        if (!p->fresh || bytes >= s->columns * size || bytes % size != 0)
            return false;
        p->column = bytes / size;
    }
    return p->column + out->columns <= s->columns &&
           same_part(&part, &s->part[p->parts], p->column * size);
}

/* Adds a product to the strip, or finds it there. */
static bool add_to_strip(const struct frame *f, const struct dot_detail *d, struct dot_deferred *p,
                         const struct dot_target *out)
{
    struct few_strip *s = f->strip;
    if (!s || !stay(f, p))
        return false;
    if (strip_has(s, d, p, out)) {
        p->parts++;
        return true;
    }
    bool appends = p->parts > 0 && p->column == 0 && p->parts == s->count && s->detail == d &&
                   s->count < STRIP_PARTS && p->b_view.line == 1 && !s->part[s->count - 1].ragged;
    if (!appends && (p->parts > 0 || !begin_strip(f, d, p, out)))
        return false;
    struct few w = few_of(f, d, s->sums, s->columns, s->rows, s->columns);
    s->part[s->count] = part_of(p);
    add_part_shared(&w, d, &s->part[s->count++]);
    p->parts++;
    return true;
}

void exec_end_few(const struct frame *f, float *sum, const struct dot_detail *d,
                  struct dot_deferred *p, struct dot_target out)
{
    const struct few_strip *s = f->strip;
    const size_t size = dtype_size(d->b.tile->form.from);
    const float *from = s->sums + p->column;
    size_t step = s->columns;
    const bool goes_on = p->parts < s->count, ragged = s->part[p->parts - 1].ragged;
    if (goes_on || ragged) {
        from = sum;
        step = d->n;
    }
    if (goes_on) { /* add the parts that the block has, again */
        clear(sum, d->n, out.rows, out.columns);
        const struct few w = few_of(f, d, sum, d->n, out.rows, out.columns);
        for (size_t i = 0; i < p->parts; i++) {
            struct few_part part = s->part[i];
            part.b += p->column * size;
            add_part(&w, &part);
        }
    } else if (ragged) {
        const struct dot_target own = {.rows = out.rows, .columns = out.columns};
        put_sums(f, s->sums + p->column, s->columns, sum, d->n, &own);
    }
    if (ragged)
        settle(sum, d->n, out.rows, out.columns);
    put_sums(f, from, step, sum, d->n, &out);
    p->parts = 0;
}

void exec_multiply_few(const struct frame *f, const struct dot_detail *d, float *sum,
                       struct dot_deferred *p, struct dot_target out)
{
    if (add_to_strip(f, d, p, &out)) {
        p->fresh = false;
        if (out.to)
            exec_end_few(f, sum, d, p, out);
        return;
    }
    if (p->parts > 0)
        exec_end_few(f, sum, d, p, (struct dot_target){.rows = out.rows, .columns = out.columns});
    if (p->fresh)
        clear(sum, d->n, out.rows, out.columns);
    const struct few w = few_of(f, d, sum, d->n, out.rows, out.columns);
    const struct few_part part = part_of(p);
    add_part_shared(&w, d, &part);
    if (p->ragged)
        settle(sum, d->n, out.rows, out.columns);
    if (out.to)
        put_sums(f, sum, d->n, sum, d->n, &out);
}
