/* The step of a chain of elementwise operations: runs all of its routines over one strip of the
 * result, then over the next. A strip is a part of a long row, or several short rows. */
#include "cpu/strips.h"

enum {
    SHORTEST_IN_PLACE = 64, /* elements; shorter rows are computed side by side, then copied */
    PARTS_AHEAD = 8 << 10,  /* bytes that are fetched ahead in a part of a view */
    FARTHEST = 1 << 26      /* bytes to the next part */
};

/* The place of a strip's rows in memory: the elements of the result that are inside. */
struct strip_target {
    const struct access *access;
    struct box box;
    unsigned char *memory; /* address where the indices are 0, except those of axes that are
                            * elements */
    const int64_t *stride;
    bool stream; /* store past the caches: the row will have left them before it is read */
    /* Address of the first row, if all elements are inside and rows are contiguous, `step` bytes
     * apart; else NULL. */
    unsigned char *first;
    int64_t step;
};

/* State of a step while it runs. */
struct strips {
    struct frame *frame;
    const struct strip_detail *detail;
    unsigned char *p[STRIP_SLOTS];    /* of each slot, for this strip */
    size_t n;                         /* elements of a row */
    size_t row, rows;                 /* first row of the strip; number of rows, 1 if rows are
                                       * long */
    size_t first, columns, count;     /* first element in a row, elements of each row, elements
                                       * of all rows */
    unsigned char *base[STRIP_SLOTS]; /* first element of each leaf */
    size_t valid[STRIP_SLOTS];        /* number of elements there, of each row; the rest gets
                                       * `otherwise` */
    int64_t step[STRIP_SLOTS];        /* of a part: elements from a row to the next */
    size_t valid_rows[STRIP_SLOTS];   /* of a part: rows that have elements there */
    ptrdiff_t next[STRIP_SLOTS];      /* of a part: bytes from it to the next one that the step is
                                       * expected to read; 0: not known */
    struct strip_target target;       /* detail->store; */
    bool into_rows;                   /* the last operation writes directly to the target */
};

/* --- leaves --- */

/* Returns the offset of a row's first element in a leaf, from the leaf's first element. */
static size_t row_offset(const struct strip_detail *d, const struct strip_leaf *leaf, size_t row)
{
    int64_t offset = 0;
    for (int axis = d->rank - 2; axis > 0; axis--) {
        size_t extent = (size_t)d->extent[axis];
        offset += (int64_t)(row % extent) * leaf->stride[axis];
        row /= extent;
    }
    if (d->rank > 1)
        offset += (int64_t)row * leaf->stride[0];
    return (size_t)offset;
}

static const void *other_value(const struct strips *s, const struct strip_leaf *leaf)
{
    static const uint64_t zero = 0;
    uint32_t otherwise = leaf->load->otherwise;
    return otherwise == NO_SLOT ? (const void *)&zero : frame_at(s->frame, otherwise);
}

/* Copies elements of a row, of which the first `there` exist, and completes them. */
static void copy_to_edge(const struct strips *s, const struct strip_leaf *leaf, unsigned char *to,
                         const unsigned char *from, size_t there, size_t n)
{
    memcpy(to, from, there * leaf->size);
    leaf->fill(to + there * leaf->size, other_value(s, leaf), n - there);
}

/* Returns the number of elements that exist in the part's row, of n from `first` on. */
static inline size_t part_there(const struct strips *s, int i, size_t row, size_t first, size_t n)
{
    if (row >= s->valid_rows[i] || first >= s->valid[i])
        return 0;
    return n < s->valid[i] - first ? n : s->valid[i] - first;
}

/* Copies rows of a part side by side to its buffer. */
static void fill_part(const struct strips *s, int i)
{
    const struct strip_leaf *leaf = &s->detail->leaf[i];
    const size_t bytes = s->n * leaf->size;
    const ptrdiff_t step = (ptrdiff_t)s->step[i] * (ptrdiff_t)leaf->size;
    const unsigned char *from = s->base[i] + (ptrdiff_t)s->row * step;
    unsigned char *to = s->p[leaf->slot];
    for (size_t row = s->row; row < s->row + s->rows; row++, to += bytes, from += step) {
        size_t there = part_there(s, i, row, 0, s->n);
        if (there == s->n)
            memcpy(to, from, bytes);
        else
            copy_to_edge(s, leaf, to, s->base[i] + (there > 0 ? (ptrdiff_t)row * step : 0), there,
                         s->n);
    }
}

/* Fetches a later strip of a part: of one of the next rows, or of the part that the step reads next.
 * Rows are far apart, so the processor does not predict them. */
static inline void fetch_part(const struct strips *s, int i)
{
    const size_t size = s->detail->leaf[i].size, bytes = s->count * size;
    size_t row = s->row, first = s->first + (PARTS_AHEAD / bytes) * STRIP;
    ptrdiff_t skipped = 0;
    for (; first >= s->n; row++)
        first -= (s->n + STRIP - 1) / STRIP * STRIP;
    if (row >= s->valid_rows[i]) {
        row -= s->valid_rows[i];
        skipped = s->next[i];
        if (skipped == 0 || row >= s->valid_rows[i])
            return;
    }
    skipped += ((int64_t)row * s->step[i] + (int64_t)first) * (int64_t)size;
    const unsigned char *from = s->base[i] + skipped;
    for (size_t at = 0; at < bytes; at += CACHE_LINE)
        PREFETCH_SECOND(from + at);
}

/* Returns the strip's elements of a part's row. */
static unsigned char *part_row(const struct strips *s, int i)
{
    const struct strip_leaf *leaf = &s->detail->leaf[i];
    size_t there = part_there(s, i, s->row, s->first, s->count);
    unsigned char *from = s->base[i];
    if (there > 0)
        from += ((int64_t)s->row * s->step[i] + (int64_t)s->first) * (int64_t)leaf->size;
    if (there == s->count) {
        fetch_part(s, i);
        return from;
    }
    unsigned char *buffer = frame_at(s->frame, s->detail->at[leaf->slot]);
    copy_to_edge(s, leaf, buffer, from, there, s->count);
    return buffer;
}

/* Copies `rows` rows, n elements of each, to the leaf's buffer, beginning with row `row`. */
static void fill_leaf(const struct strips *s, int i, size_t row, size_t rows, size_t n)
{
    const struct strip_leaf *leaf = &s->detail->leaf[i];
    const unsigned char *base = s->base[i];
    unsigned char *to = s->p[leaf->slot];
    bool spread = leaf->stride[s->detail->rank - 1] == 0;
    for (size_t end = row + rows; row < end; row++, to += n * leaf->size) {
        const unsigned char *from = base + row_offset(s->detail, leaf, row) * leaf->size;
        if (spread)
            leaf->fill(to, from, n);
        else
            memcpy(to, from, n * leaf->size);
    }
}

/* Fills the buffers of leaves that are the same in all strips. */
static void fill_fixed(struct strips *s, size_t rows)
{
    for (int i = s->detail->moving; i < s->detail->leaves; i++)
        if (s->detail->leaf[i].way == LEAF_ONE)
            s->p[s->detail->leaf[i].slot] = s->base[i];
        else
            fill_leaf(s, i, 0, rows, s->n < STRIP ? s->n : STRIP);
}

/* Copies a part of a row that reaches past its view's edge to a buffer, and completes it there. */
static unsigned char *part_at_edge(const struct strips *s, int i, size_t first)
{
    const struct strip_leaf *leaf = &s->detail->leaf[i];
    unsigned char *buffer = frame_at(s->frame, s->detail->at[leaf->slot]);
    size_t there = first < s->valid[i] ? s->valid[i] - first : 0;
    copy_to_edge(s, leaf, buffer, s->base[i] + first * leaf->size, there, s->count);
    return buffer;
}

/* Returns `count` elements from `first` on, in place if all exist, otherwise in a buffer. */
static inline unsigned char *leaf_part(const struct strips *s, int i, size_t first)
{
    return first + s->count <= s->valid[i] ? s->base[i] + first * s->detail->leaf[i].size
                                           : part_at_edge(s, i, first);
}

static inline void place_leaf(struct strips *s, int i)
{
    const struct strip_leaf *leaf = &s->detail->leaf[i];
    switch (leaf->way) {
    case LEAF_FIXED: return; /* it does not move */
    case LEAF_ONE:
        s->p[leaf->slot] = s->base[i] + row_offset(s->detail, leaf, s->row) * leaf->size;
        return;
    case LEAF_FLAT: s->p[leaf->slot] = leaf_part(s, i, s->row * s->n + s->first); return;
    case LEAF_ROW:
        if (leaf->part)
            s->p[leaf->slot] = part_row(s, i);
        else
            s->p[leaf->slot] = leaf_part(s, i, row_offset(s->detail, leaf, s->row) + s->first);
        return;
    default:
        if (leaf->part)
            fill_part(s, i);
        else if (s->first == 0)
            fill_leaf(s, i, s->row, s->rows, s->n < STRIP ? s->n : STRIP);
        return;
    }
}

/* --- rows of views --- */

/* Computes the range of bytes that an access may reach. */
static void access_span(const struct frame *f, const struct access *a, uintptr_t *low,
                        uintptr_t *high)
{
    const int64_t *extent = exec_access_extents(f, a), *stride = exec_access_strides(f, a);
    *low = (uintptr_t)exec_access_base(f, a);
    *high = *low + a->size;
    for (int i = 0; i < a->rank; i++) {
        int64_t reach = (extent[i] - 1) * stride[i] * (int64_t)a->size;
        *(reach < 0 ? low : high) += (uintptr_t)reach;
    }
}

bool exec_target_overlaps_memory(const struct frame *f, const struct access *a,
                                 const unsigned char *from, size_t bytes)
{
    uintptr_t low, high;
    access_span(f, a, &low, &high);
    return (uintptr_t)from < high && (uintptr_t)from + bytes > low;
}

/* Opens a row of a view in place, if its elements are contiguous, begin inside and do not
 * overlap the target; a leaf that is filled once also needs the whole row. Otherwise copies the
 * row. false: a fault. */
static bool open_row(struct strips *s, int i, struct loc loc)
{
    const struct strip_leaf *leaf = &s->detail->leaf[i];
    const struct access *a = leaf->load;
    struct frame *f = s->frame;
    struct box box;
    unsigned char *from = exec_row_in_view(f, a);
    if (from && !target_overlaps(f, s->detail, from, (size_t)a->elements * a->size)) {
        s->base[i] = from;
        return true;
    }
    if (!exec_access_box(f, a, loc, &box))
        return false;
    size_t there = (size_t)(box.high[0] - box.low[0]);
    from = exec_access_base(f, a) + box.low[0] * (int64_t)a->size;
    bool in_parts = leaf->way == LEAF_FLAT || leaf->way == LEAF_ROW;
    if (exec_access_strides(f, a)[0] == 1 && !box.empty && box.low[0] == box.start[0] && in_parts &&
        !target_overlaps(f, s->detail, from, there * a->size)) {
        s->base[i] = from;
        s->valid[i] = there;
        return true;
    }
    exec_box_load(f, a, &box, s->base[i],
                  a->otherwise == NO_SLOT ? NULL : frame_at(f, a->otherwise));
    return true;
}

/* Notes the place of a part, and returns the distance to the next one, if it is as far away as this
 * one is from the last one; 0: not known. */
static ptrdiff_t next_part(struct frame *f, const struct access *a, const unsigned char *from)
{
    if (a->prefetch == NO_SLOT)
        return 0;
    struct row_prefetch *p = &f->row_prefetch[a->prefetch];
    ptrdiff_t step = (ptrdiff_t)((uintptr_t)from - (uintptr_t)p->last);
    bool known = p->last && step < FARTHEST && step > -FARTHEST;
    p->last = from;
    return known ? step : 0;
}

/* Does the same for a part of a view, whose rows need not follow each other. */
static bool open_part(struct strips *s, int i, struct loc loc)
{
    const struct strip_leaf *leaf = &s->detail->leaf[i];
    const struct access *a = leaf->load;
    struct frame *f = s->frame;
    struct box box;
    unsigned char *from = exec_row_in_view(f, a);
    const int64_t *stride = exec_access_strides(f, a);
    int64_t rows = a->axis[0].extent, columns = a->axis[1].extent;
    bool in_place = from != NULL;
    if (!from) {
        if (!exec_access_box(f, a, loc, &box))
            return false;
        in_place = !box.empty && box.low[0] == box.start[0] && box.low[1] == box.start[1] &&
                   stride[1] == 1;
    }
    if (in_place && !from) {
        from = exec_box_start(f, a, &box);
        rows = box.high[0] - box.low[0];
        columns = box.high[1] - box.low[1];
    }
    const int64_t last = rows > 0 ? stride_times(stride[0], rows - 1) : 0;
    if (in_place && last >= 0 &&
        !target_overlaps(f, s->detail, from, (size_t)(last + columns) * a->size)) {
        s->base[i] = from;
        s->step[i] = stride[0];
        s->valid_rows[i] = (size_t)rows;
        s->valid[i] = (size_t)columns;
        s->next[i] = next_part(f, a, from);
        return true;
    }
    if (!exec_access_box(f, a, loc, &box))
        return false;
    s->next[i] = 0;
    exec_box_load(f, a, &box, s->base[i],
                  a->otherwise == NO_SLOT ? NULL : frame_at(f, a->otherwise));
    s->step[i] = a->axis[1].extent;
    s->valid_rows[i] = SIZE_MAX;
    return true;
}

static bool open_leaves(struct strips *s, struct loc loc)
{
    for (int i = 0; i < s->detail->leaves; i++) {
        const struct strip_leaf *leaf = &s->detail->leaf[i];
        s->base[i] = frame_at(s->frame, leaf->at);
        s->valid[i] = SIZE_MAX;
        if (leaf->shown)
            memcpy(&s->base[i], (const void *)s->base[i], sizeof(void *));
        else if (leaf->load && !(leaf->part ? open_part(s, i, loc) : open_row(s, i, loc)))
            return false;
    }
    return true;
}

/* --- to memory --- */

/* Opens the target. false: a fault, also if a copy under way touches it. */
static bool target_open(struct strips *s, const struct instr *in)
{
    const struct access *a = s->detail->store;
    struct strip_target *t = &s->target;
    t->access = a;
    t->stream = s->detail->stream && s->frame->launch->views[a->view].large;
    t->first = NULL;
    t->step = 0;
    if (!exec_access_box(s->frame, a, in->loc, &t->box) ||
        !exec_async_leaves_box(s->frame, a, &t->box, in->loc))
        return false;
    if (s->frame->program->packed_count > 0 && a->space == SPACE_VIEW && a->rank >= 2)
        exec_note_tile(&s->frame->store_prefetch, a, &t->box);
    t->memory = exec_access_base(s->frame, a);
    t->stride = exec_access_strides(s->frame, a);
    bool whole = s->detail->rank <= 2 && !t->box.empty;
    for (int i = 0; i < a->rank; i++) {
        if (a->axis[i].kind == IX_ELEMENT)
            t->memory += t->box.start[i] * t->stride[i] * (int64_t)a->size;
        whole &= t->box.high[i] - t->box.low[i] == a->axis[i].extent;
    }
    const uint8_t *axis = s->detail->store_axis;
    int last = s->detail->rank - 1;
    if (whole && t->stride[axis[last]] == 1) {
        t->first = exec_box_start(s->frame, a, &t->box);
        t->step = t->stride[axis[0]] * (int64_t)a->size;
    }
    return true;
}

/* Adds an axis's offset to *memory; false: the coordinate is outside. */
static bool target_axis(const struct strip_target *t, int axis, int64_t coordinate,
                        unsigned char **memory)
{
    int64_t index = t->box.start[axis] + coordinate;
    if (index < t->box.low[axis] || index >= t->box.high[axis])
        return false;
    *memory += index * t->stride[axis] * (int64_t)t->access->size;
    return true;
}

/* The place of elements low … high-1 of the strip's part of a row. target_row returns false if
 * none of them is stored. */
struct target_row {
    unsigned char *to;
    int64_t low, high;
};

static bool target_row(const struct strips *s, size_t row, struct target_row *out)
{
    const struct strip_detail *d = s->detail;
    const struct strip_target *t = &s->target;
    if (t->first) {
        *out = (struct target_row){t->first + (int64_t)row * t->step + s->first * d->size, 0,
                                   (int64_t)s->columns};
        return true;
    }
    unsigned char *to = t->memory;
    for (int axis = d->rank - 2; axis >= 0; axis--) {
        if (!target_axis(t, d->store_axis[axis], (int64_t)(row % (size_t)d->extent[axis]), &to))
            return false;
        row /= (size_t)d->extent[axis];
    }
    int axis = d->store_axis[d->rank - 1];
    int64_t start = t->box.start[axis] + (int64_t)s->first;
    int64_t end = start + (int64_t)s->columns;
    int64_t low = start > t->box.low[axis] ? start : t->box.low[axis];
    int64_t high = end < t->box.high[axis] ? end : t->box.high[axis];
    *out = (struct target_row){to + low * t->stride[axis] * (int64_t)d->size, low - start,
                               high - start};
    return low < high && !t->box.empty;
}

static void store_row(const struct strips *s, const struct target_row *r, const unsigned char *from)
{
    const struct strip_detail *d = s->detail;
    const struct strip_target *t = &s->target;
    const struct routine_set *set = s->frame->program->set;
    int64_t stride = t->stride[d->store_axis[d->rank - 1]];
    size_t bytes = (size_t)(r->high - r->low) * d->size;
    from += r->low * (int64_t)d->size;
    if (stride == 1 && t->stream)
        set->stream->copy(r->to, from, bytes);
    else if (stride == 1)
        memcpy(r->to, from, bytes);
    else
        set->memory->copy[t->access->size_index](
            r->to, from, &(struct nest){1, {r->high - r->low}, {stride}, {1}});
}

static void store_strip(const struct strips *s)
{
    const unsigned char *from = s->p[s->detail->last];
    size_t row_bytes = s->columns * s->detail->size;
    struct target_row r;
    for (size_t i = 0; i < s->rows; i++)
        if (target_row(s, s->row + i, &r))
            store_row(s, &r, from + i * row_bytes);
}

/* Fetches the lines that the strip is stored to, while the strip is computed. Rows of a tile are
 * far apart, so the processor does not predict them. */
static void fetch_target(const struct strips *s)
{
    const struct strip_detail *d = s->detail;
    struct target_row r;
    if (s->target.stream || s->target.stride[d->store_axis[d->rank - 1]] != 1)
        return;
    for (size_t i = 0; i < s->rows; i++)
        if (target_row(s, s->row + i, &r))
            for (size_t at = 0; at < (size_t)(r.high - r.low) * d->size; at += CACHE_LINE)
                PREFETCH_TO_WRITE(r.to + at);
}

/* --- to a reduction --- */

static void reduce_strip(const struct strips *s, unsigned char *to, void *part)
{
    const struct strip_detail *d = s->detail;
    to += s->row * d->size;
    if (s->n < STRIP && !d->products)
        d->reduce(to, s->p[d->last], s->rows, s->n, 1);
    else
        exec_reduce_row(s->frame, d, s->p, &(struct row_part){s->n, s->first, s->count, part}, to);
}

/* --- the step --- */

static void end_strip(struct strips *s, unsigned char *to, void *part)
{
    if (s->detail->store)
        store_strip(s);
    else if (s->detail->reduce)
        reduce_strip(s, to, part);
}

/* Runs the operations; the last one writes each row directly to the target. */
static void run_into_rows(struct strips *s)
{
    const struct strip_detail *d = s->detail;
    size_t n = s->columns;
    unsigned char *to = s->target.first + (int64_t)s->row * s->target.step + s->first * d->size;
    exec_run_ops(s->frame, d, d->ops - 1, s->p, s->count);
    for (size_t i = 0; i < s->rows; i++, to += s->target.step)
        exec_run_last(s->frame, d, s->p, &(struct strip_part){to, i * n, n, s->target.stream});
}

static void run_placed(struct strips *s, unsigned char *to, void *part)
{
    if (s->detail->store)
        fetch_target(s);
    else
        s->p[0] = to + (s->row * s->n + s->first) * s->detail->size;
    if (s->into_rows) {
        run_into_rows(s);
        return;
    }
    exec_run_ops(s->frame, s->detail, s->detail->ops, s->p, s->count);
    end_strip(s, to, part);
}

/* The rows that are needed: of a tile that is stored, those inside. */
struct row_range {
    size_t first, end;
};

static struct row_range rows_seen(const struct strips *s)
{
    const struct strip_detail *d = s->detail;
    struct row_range rows = {0, 1};
    for (int axis = 0; axis < d->rank - 1; axis++)
        rows.end *= (size_t)d->extent[axis];
    if (!d->store || d->rank != 2)
        return rows;
    const struct box *box = &s->target.box;
    int axis = d->store_axis[0];
    if (box->empty)
        return (struct row_range){0, 0};
    return (struct row_range){(size_t)(box->low[axis] - box->start[axis]),
                              (size_t)(box->high[axis] - box->start[axis])};
}

static void run_rows(struct strips *s, unsigned char *to, void *part)
{
    const struct strip_detail *d = s->detail;
    const struct row_range rows = rows_seen(s);
    size_t all_rows = rows.end - rows.first, most = s->n < STRIP ? STRIP / s->n : 1;
    fill_fixed(s, most < all_rows ? most : all_rows);
    if (d->keeps && !memchr(s->p[d->op->x[0]], 0, s->n < STRIP ? s->n : STRIP))
        return; /* as in all tiles except those at an edge */
    for (s->row = rows.first; s->row < rows.end; s->row += s->rows) {
        s->rows = rows.end - s->row < most ? rows.end - s->row : most;
        for (s->first = 0; s->first < s->n; s->first += STRIP) {
            size_t left = s->n - s->first;
            s->columns = left < STRIP ? left : STRIP;
            s->count = s->rows * s->columns;
            for (int i = 0; i < d->moving; i++)
                place_leaf(s, i);
            run_placed(s, to, part);
        }
    }
}

void step_strips(struct frame *f, const struct instr *in)
{
    const struct strip_detail *d = in->detail;
    struct strips s; /* large: fields that are not used are not set */
    s.frame = f;
    s.detail = d;
    s.n = (size_t)d->extent[d->rank - 1];
    _Alignas(SLOT_ALIGNMENT) unsigned char part[REDUCTION_PARTS * 8];
    unsigned char *to = frame_at(f, in->dst);
    if (!open_leaves(&s, in->loc) || (d->store && !target_open(&s, in)))
        return;
    for (int i = 0; i < d->slots; i++)
        s.p[i] = frame_at(f, d->at[i]);
    s.into_rows = d->store && s.target.first && d->ops > 0 && s.n >= SHORTEST_IN_PLACE &&
                  (d->has_past || !s.target.stream);
    run_rows(&s, to, part);
}
