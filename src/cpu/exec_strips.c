/* The step of a chain of elementwise operations: all of its routines over one strip of the result,
 * then over the next. A strip is a part of a long row, or several short rows. */
#include "cpu/program.h"

/* Where a step is. */
struct strips {
    struct frame *frame;
    const struct strip_detail *detail;
    unsigned char *p[STRIP_SLOTS]; /* of each slot, for this strip */
    size_t n;                      /* elements of a row */
    size_t row, rows;              /* the strip's first row, and how many: 1 of long ones */
    size_t first, count;           /* its first element in the row, and how many in all */
};

/* A leaf's element at the start of a row, from the leaf's first. */
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

/* Puts `rows` rows from `row` on into the leaf's buffer. */
static void fill_leaf(const struct strips *s, const struct strip_leaf *leaf, size_t row,
                      size_t rows, size_t n)
{
    const unsigned char *base = frame_at(s->frame, leaf->at);
    unsigned char *to = s->p[leaf->slot];
    bool spread = leaf->stride[s->detail->rank - 1] == 0;
    for (size_t i = 0; i < rows; i++, to += n * leaf->size) {
        const unsigned char *from = base + row_offset(s->detail, leaf, row + i) * leaf->size;
        if (spread)
            leaf->fill(to, from, n);
        else
            memcpy(to, from, n * leaf->size);
    }
}

static void place_leaf(struct strips *s, const struct strip_leaf *leaf)
{
    unsigned char *base = frame_at(s->frame, leaf->at);
    switch (leaf->way) {
    case LEAF_FIXED: return;
    case LEAF_FLAT: s->p[leaf->slot] = base + (s->row * s->n + s->first) * leaf->size; return;
    case LEAF_ROW:
        s->p[leaf->slot] = base + (row_offset(s->detail, leaf, s->row) + s->first) * leaf->size;
        return;
    default:
        if (s->first == 0)
            fill_leaf(s, leaf, s->row, s->rows, s->n < STRIP ? s->n : STRIP);
        return;
    }
}

static void run_ops(const struct strips *s)
{
    const struct strip_detail *d = s->detail;
    for (int i = 0; i < d->ops; i++) {
        const struct strip_op *op = &d->op[i];
        unsigned char *const *p = s->p;
        if (op->kernel)
            op->kernel(p[op->dst], p[op->x[0]], p[op->x[1]], p[op->x[2]], s->count);
        else
            op->convert(p[op->dst], p[op->x[0]], s->count);
    }
}

static void run_strip(struct strips *s)
{
    for (int i = 0; i < s->detail->leaves; i++)
        place_leaf(s, &s->detail->leaf[i]);
    run_ops(s);
}

/* What is the same in all strips is spread once. */
static void fill_fixed(const struct strips *s, size_t rows)
{
    for (int i = 0; i < s->detail->leaves; i++) {
        const struct strip_leaf *leaf = &s->detail->leaf[i];
        if (leaf->way != LEAF_FIXED)
            continue;
        if (leaf->stride[s->detail->rank - 1] != 0) {
            for (size_t row = 0; row < rows; row++)
                memcpy(s->p[leaf->slot] + row * s->n * leaf->size, frame_at(s->frame, leaf->at),
                       s->n * leaf->size);
        } else {
            size_t count = s->n < STRIP ? rows * s->n : STRIP;
            leaf->fill(s->p[leaf->slot], frame_at(s->frame, leaf->at), count);
        }
    }
}

void step_strips(struct frame *f, const struct instr *in)
{
    const struct strip_detail *d = in->detail;
    struct strips s = {.frame = f, .detail = d, .n = (size_t)d->extent[d->rank - 1]};
    size_t all_rows = 1, most = s.n < STRIP ? STRIP / s.n : 1;
    unsigned char *to = frame_at(f, in->dst);
    for (int axis = 0; axis < d->rank - 1; axis++)
        all_rows *= (size_t)d->extent[axis];
    for (int i = 1; i < d->slots; i++)
        s.p[i] = frame_at(f, d->at[i]);
    fill_fixed(&s, most < all_rows ? most : all_rows);
    for (; s.row < all_rows; s.row += s.rows) {
        s.rows = all_rows - s.row < most ? all_rows - s.row : most;
        for (s.first = 0; s.first < s.n; s.first += STRIP) {
            size_t left = s.n - s.first;
            s.count = s.rows * (left < STRIP ? left : STRIP);
            s.p[0] = to + (s.row * s.n + s.first) * d->size;
            run_strip(&s);
        }
    }
}
