/* What the steps of chains share: where rows of views lie, the operations, beside which the rows
 * are fetched that the next block will read, and the reduction of a row. */
#include "cpu/exec_access.h"
#include "cpu/strips.h"

#include <string.h>

/* --- rows of views --- */

unsigned char *row_in_view(const struct frame *f, const struct access *a)
{
    const struct view_binding *view = &f->launch->views[a->view];
    int64_t offset = 0;
    for (int i = 0; i < a->rank; i++) {
        const struct access_axis *axis = &a->axis[i];
        int64_t start =
            axis->kind == IX_ALL ? 0 : index_value(frame_at(f, axis->at), axis->wide, 0);
        if (start < 0 || axis->extent <= 0 || axis->extent > view->extent[i] - start)
            return NULL;
        offset += start * view->stride[i];
    }
    return view->stride[a->rank - 1] == 1 ? view->base + offset * (int64_t)a->size : NULL;
}

/* --- rows that come --- */

enum {
    LINES = 32, /* that come at a time: before a cheap operation */
    PART = 256, /* and before so many elements of a costly one */
    SHORTEST_AHEAD = 1024,
    FARTHEST = 1 << 26 /* bytes */
};

void note_row(struct frame *f, uint32_t index, const unsigned char *from, size_t bytes)
{
    struct row_prefetch *row = &f->row_prefetch[index];
    ptrdiff_t step = (ptrdiff_t)((uintptr_t)from - (uintptr_t)row->last);
    bool known = row->last && step != 0 && step < FARTHEST && step > -FARTHEST;
    row->last = from;
    row->next = (const unsigned char *)((uintptr_t)from + (uintptr_t)step);
    row->left = known && bytes >= SHORTEST_AHEAD ? bytes : 0;
    f->has_ahead |= row->left > 0;
}

/* Some lines of rows that the next block will read. */
static void fetch_ahead(struct frame *f)
{
    size_t left = 0;
    for (uint32_t i = 0; i < f->program->row_prefetch_count; i++) {
        struct row_prefetch *row = &f->row_prefetch[i];
        size_t part = row->left < LINES * CACHE_LINE ? row->left : LINES * CACHE_LINE;
        if (part == LINES * CACHE_LINE)
            UNROLLED for (int at = 0; at < LINES; at++)
                PREFETCH_SECOND(row->next + at * CACHE_LINE);
        else
            ROLLED for (size_t at = 0; at < part; at += CACHE_LINE) PREFETCH_SECOND(row->next + at);
        row->next += part;
        row->left -= part;
        left += row->left;
    }
    f->has_ahead = left > 0;
}

/* --- operations --- */

/* How many of `left` elements are next. While rows come a costly operation takes a part of the
 * strip after another, some lines before each: no more are on their way at a time than memory
 * answers well, and the last of a row should be there before the next block begins. */
static inline size_t next_part(const struct frame *f, const struct strip_op *op, size_t left)
{
    return f->has_ahead && op->costly && left > PART ? PART : left;
}

/* Runs an operation on n elements and moves on to the next ones. */
static inline void run_part(struct frame *f, const struct strip_op *op, unsigned char **at,
                            const void *by, size_t n)
{
    if (f->has_ahead)
        fetch_ahead(f);
    if (op->kernel)
        op->kernel(at[0], at[1], at[2], at[3], n);
    else if (op->scaled)
        op->scaled(at[0], at[1], at[2], at[3], by, n);
    else
        op->convert(at[0], at[1], n);
    UNROLLED for (int i = 0; i < MOST_OPERANDS; i++) at[i] += n * op->size[i];
}

void run_ops(struct frame *f, const struct strip_detail *d, int ops, unsigned char *const *p,
             size_t count)
{
    const struct strip_op *end = d->op + ops;
    for (const struct strip_op *op = d->op; op < end; op++) {
        unsigned char *at[MOST_OPERANDS] = {p[op->dst], p[op->x[0]], p[op->x[1]], p[op->x[2]]};
        for (size_t left = count, n; left > 0; left -= n) {
            n = next_part(f, op, left);
            run_part(f, op, at, p[op->by], n);
        }
    }
}

/* Where the next line of the cache begins, in elements from `to` on. */
static size_t next_line(const unsigned char *to, size_t size)
{
    return (CACHE_LINE - (uintptr_t)to % CACHE_LINE) % CACHE_LINE / size;
}

void run_last(struct frame *f, const struct strip_detail *d, unsigned char *const *p,
              const struct strip_part *part)
{
    const struct strip_op *op = &d->op[d->ops - 1];
    const size_t line = part->past ? CACHE_LINE / d->size : 0;
    unsigned char *at[MOST_OPERANDS] = {part->to};
    for (int i = 1; i < MOST_OPERANDS; i++)
        at[i] = p[op->x[i - 1]] + part->first * op->size[i];
    for (size_t left = part->count, n; left > 0; left -= n) {
        size_t before = part->past ? next_line(at[0], d->size) : 0;
        n = before > 0 && before < left ? before : next_part(f, op, left);
        bool lines = part->past && before == 0 && n >= line;
        n = lines ? n / line * line : n;
        run_part(f, lines ? &d->past : op, at, p[op->by], n);
    }
}

/* --- a reduction of rows --- */

static void reduce_part(const struct strip_detail *d, const unsigned char *x,
                        const unsigned char *y, const struct row_part *r, unsigned char *to)
{
    size_t skip = r->first == 0 ? REDUCTION_PARTS : 0, offset = skip * d->size;
    if (d->products) {
        if (skip > 0)
            d->multiply(r->parts, x, y, NULL, skip);
        d->products(r->parts, x + offset, y + offset, r->count - skip);
    } else {
        if (skip > 0)
            memcpy(r->parts, x, offset);
        d->reduce_add(r->parts, x + offset, r->count - skip);
    }
    if (r->first + r->count == r->n) {
        d->reduce_end(r->parts);
        memcpy(to, r->parts, d->size);
    }
}

void reduce_row(struct frame *f, const struct strip_detail *d, unsigned char *const *p,
                const struct row_part *r, unsigned char *to)
{
    const unsigned char *x = p[d->last], *y = p[d->last_by];
    if (f->has_ahead)
        fetch_ahead(f);
    if (r->count == r->n && d->products)
        d->sum_of_products(to, x, y, r->n);
    else if (r->count == r->n)
        d->reduce(to, x, 1, r->n, 1);
    else
        reduce_part(d, x, y, r, to);
}
