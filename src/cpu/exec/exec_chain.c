/* Functions that the steps of chains share: fetching the rows that the next block will read,
 * operations (during which these rows are fetched), and the reduction of a row. */
#include "cpu/strips.h"

#include <string.h>

/* --- rows of the next block --- */

enum {
    LINES = 32, /* lines fetched at a time: before a cheap operation */
    PART = 256, /* and before each part of this many elements of a costly one */
    SHORTEST_AHEAD = 1024,
    FARTHEST = 1 << 26,   /* bytes */
    PARTS_AHEAD = 8 << 10 /* bytes that are fetched ahead in a row that is read in parts */
};

static inline void fetch_lines(const unsigned char *from, size_t bytes)
{
    for (const unsigned char *at = from; at < from + bytes; at += CACHE_LINE)
        PREFETCH_SECOND(at);
}

void exec_note_row(struct frame *f, uint32_t index, const unsigned char *from, size_t bytes)
{
    struct row_prefetch *row = &f->row_prefetch[index];
    ptrdiff_t step = (ptrdiff_t)((uintptr_t)from - (uintptr_t)row->last);
    bool known = row->last && step != 0 && step < FARTHEST && step > -FARTHEST;
    row->last = from;
    if (row->turn == f->turn && step == (ptrdiff_t)bytes) { /* the next part of the same row */
        fetch_lines(from + PARTS_AHEAD, bytes);
        row->left = 0;
        return;
    }
    row->turn = f->turn;
    row->next = (const unsigned char *)((uintptr_t)from + (uintptr_t)step);
    row->left = known && bytes >= SHORTEST_AHEAD ? bytes : 0;
    f->has_ahead |= row->left > 0;
}

void exec_fetch_ahead(struct frame *f)
{
    enum { AT_ONCE = 8 };
    size_t left = 0;
    for (uint32_t i = 0; i < f->program->row_prefetch_count; i++) {
        struct row_prefetch *row = &f->row_prefetch[i];
        size_t part = row->left < LINES * CACHE_LINE ? row->left : LINES * CACHE_LINE;
        const unsigned char *at = row->next, *end = at + part;
        for (; at < end; at += AT_ONCE * CACHE_LINE)
            UNROLLED for (int line = 0; line < AT_ONCE; line++)
                PREFETCH_SECOND(at + line * CACHE_LINE);
        row->next = end;
        row->left -= part;
        left += row->left;
    }
    f->has_ahead = left > 0;
}

const void *exec_take_ahead(struct frame *f, size_t bytes)
{
    const void *from = NULL;
    bool more = false;
    for (uint32_t i = 0; i < f->program->row_prefetch_count; i++) {
        struct row_prefetch *row = &f->row_prefetch[i];
        if (row->left > 0 && !from) {
            from = row->next;
            row->next += bytes;
            row->left -= row->left < bytes ? row->left : bytes;
        }
        more |= row->left > 0;
    }
    f->has_ahead = more;
    return from;
}

/* --- operations --- */

static inline void call_routine(const struct strip_op *op, unsigned char *const *at, const void *by,
                                size_t n)
{
    if (op->kernel)
        op->kernel(at[0], at[1], at[2], at[3], n);
    else if (op->scaled)
        op->scaled(at[0], at[1], at[2], at[3], by, n);
    else
        op->convert(at[0], at[1], n);
}

/* Runs an operation on a strip while rows of the next block are fetched. A costly operation
 * takes the strip in parts, and some lines are fetched before each part: memory then has no more
 * requests at a time than it answers well, and the end of a row should arrive before the next
 * block begins. */
static APART void run_in_parts(struct frame *f, const struct strip_op *op, unsigned char **at,
                               const void *by, size_t n)
{
    for (size_t part; n > 0; n -= part) {
        part = f->has_ahead && op->costly && n > PART ? PART : n;
        if (f->has_ahead)
            exec_fetch_ahead(f);
        call_routine(op, at, by, part);
        UNROLLED for (int i = 0; i < MOST_OPERANDS; i++) at[i] += part * op->size[i];
    }
}

/* Runs an operation on n elements at `at`; the pointers may be advanced. */
static inline void run_op(struct frame *f, const struct strip_op *op, unsigned char **at,
                          const void *by, size_t n)
{
    if (op->fetches) {
        const void *ahead = f->has_ahead ? exec_take_ahead(f, n * op->size[0]) : NULL;
        op->kernel(at[0], at[1], at[2], ahead, n);
    } else if (f->has_ahead) {
        run_in_parts(f, op, at, by, n);
    } else {
        call_routine(op, at, by, n);
    }
}

/* Runs an operation on the n elements of short rows; each row has its own value of x[1]. */
static APART void run_by_rows(struct frame *f, const struct strip_op *op, unsigned char *const *at,
                              size_t n)
{
    const float *value = (const float *)(const void *)at[2];
    if (f->has_ahead)
        exec_fetch_ahead(f);
    for (size_t row = op->row * sizeof(float), i = 0, end = n * sizeof(float); i < end; i += row)
        op->kernel(at[0] + i, at[1] + i, value++, NULL, op->row);
}

void exec_run_ops(struct frame *f, const struct strip_detail *d, int ops, unsigned char *const *p,
                  size_t count)
{
    const struct strip_op *end = d->op + ops;
    for (const struct strip_op *op = d->op; op < end; op++) {
        unsigned char *at[MOST_OPERANDS] = {p[op->dst], p[op->x[0]], p[op->x[1]], p[op->x[2]]};
        if (op->row > 0)
            run_by_rows(f, op, at, count);
        else
            run_op(f, op, at, p[op->by], count);
    }
}

/* Runs the last operation past the caches. Elements before the first and after the last whole
 * line of the cache are written in the usual way. */
static APART void run_past(struct frame *f, const struct strip_detail *d, unsigned char **at,
                           const void *by, size_t n)
{
    const struct strip_op *op = &d->op[d->ops - 1];
    const size_t line = CACHE_LINE / d->size,
                 before = (CACHE_LINE - (uintptr_t)at[0] % CACHE_LINE) % CACHE_LINE / d->size;
    size_t first = before < n ? before : n, whole = (n - first) / line * line;
    const size_t parts[] = {first, whole, n - first - whole};
    PREFETCH_TO_WRITE(at[0] + n * d->size - 1); /* so that the stores before it do not wait for
                                                 * this line */
    for (int i = 0; i < 3; i++) {
        unsigned char *here[MOST_OPERANDS];
        memcpy(here, at, sizeof here);
        if (parts[i] > 0)
            run_op(f, i == 1 ? &d->past : op, here, by, parts[i]);
        for (int k = 0; k < MOST_OPERANDS; k++)
            at[k] += parts[i] * op->size[k];
    }
}

void exec_run_last(struct frame *f, const struct strip_detail *d, unsigned char *const *p,
                   const struct strip_part *part)
{
    const struct strip_op *op = &d->op[d->ops - 1];
    unsigned char *at[MOST_OPERANDS] = {part->to};
    UNROLLED for (int i = 1; i < MOST_OPERANDS; i++) at[i] =
        p[op->x[i - 1]] + part->first * op->size[i];
    if (op->row > 0)
        at[2] += part->first / op->row * sizeof(float);
    if (part->past && ((uintptr_t)part->to | part->count * d->size) % CACHE_LINE > 0)
        run_past(f, d, at, p[op->by], part->count);
    else
        run_op(f, part->past ? &d->past : op, at, p[op->by], part->count);
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

void exec_reduce_row(struct frame *f, const struct strip_detail *d, unsigned char *const *p,
                     const struct row_part *r, unsigned char *to)
{
    const unsigned char *x = p[d->last], *y = p[d->last_by];
    if (f->has_ahead)
        exec_fetch_ahead(f);
    if (r->count == r->n && d->products)
        d->sum_of_products(to, x, y, r->n);
    else if (r->count == r->n)
        d->reduce(to, x, 1, r->n, 1);
    else
        reduce_part(d, x, y, r, to);
}
