/* The operations of a chain, and rows that come and go beside them: what the next block will read is
 * fetched, what the last one made is stored past the caches. */
#include "cpu/strips.h"

#include <string.h>

/* --- rows that come and go --- */

enum {
    LINES = 11, /* that come and go at a time: before a cheap operation */
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
    f->has_beside |= row->left > 0;
}

/* The next lines; whether something is left. */
static bool fetch_ahead(struct frame *f)
{
    size_t left = 0;
    for (uint32_t i = 0; i < f->program->row_prefetch_count; i++) {
        struct row_prefetch *row = &f->row_prefetch[i];
        size_t part = row->left < LINES * CACHE_LINE ? row->left : LINES * CACHE_LINE;
        if (part == LINES * CACHE_LINE)
            UNROLLED for (int at = 0; at < LINES; at++) PREFETCH(row->next + at * CACHE_LINE);
        else
            ROLLED for (size_t at = 0; at < part; at += CACHE_LINE) PREFETCH(row->next + at);
        row->next += part;
        row->left -= part;
        left += row->left;
    }
    return left > 0;
}

/* All but the last piece end where a line does. */
static void store_behind(struct frame *f, size_t bytes)
{
    struct late_store *late = &f->late_store;
    if (late->left == 0)
        return;
    bytes -= (uintptr_t)late->to % CACHE_LINE;
    size_t part = late->left < bytes ? late->left : bytes;
    f->program->set->stream->copy(late->to, late->from, part);
    late->to += part;
    late->from += part;
    late->left -= part;
}

void move_beside(struct frame *f)
{
    bool fetches = fetch_ahead(f);
    store_behind(f, LINES * CACHE_LINE);
    f->has_beside = fetches || f->late_store.left > 0;
}

void frame_settle(struct frame *f)
{
    store_behind(f, SIZE_MAX);
}

void settle_up_to(struct frame *f, const unsigned char *end)
{
    while (f->late_store.left > 0 && f->late_store.from < end)
        store_behind(f, LINES * CACHE_LINE);
}

void store_beside(struct frame *f, void *to, const void *from, size_t bytes)
{
    f->late_store = (struct late_store){to, from, bytes};
    f->has_beside = true;
}

/* --- operations --- */

/* While rows come and go a costly operation takes a part of the strip after another, some lines
 * before each: a processor waits for a dozen at a time, not more, and the last of a row should be
 * there before the next block begins. */
static void run_parts(struct frame *f, const struct strip_op *op, unsigned char *const *p,
                      size_t count)
{
    unsigned char *at[MOST_OPERANDS] = {p[op->dst], p[op->x[0]], p[op->x[1]], p[op->x[2]]};
    for (size_t left = count, n; left > 0; left -= n) {
        n = left < PART ? left : PART;
        if (f->has_beside)
            move_beside(f);
        op->kernel(at[0], at[1], at[2], at[3], n);
        UNROLLED for (int i = 0; i < MOST_OPERANDS; i++) at[i] += n * op->size[i];
    }
}

void run_ops(struct frame *f, const struct strip_detail *d, unsigned char *const *p, size_t count)
{
    const struct strip_op *end = d->op + d->ops;
    for (const struct strip_op *op = d->op; op < end; op++) {
        if (f->has_beside && op->costly) {
            run_parts(f, op, p, count);
            continue;
        }
        if (f->has_beside)
            move_beside(f);
        if (op->kernel)
            op->kernel(p[op->dst], p[op->x[0]], p[op->x[1]], p[op->x[2]], count);
        else if (op->scaled)
            op->scaled(p[op->dst], p[op->x[0]], p[op->x[1]], p[op->x[2]], p[op->by], count);
        else
            op->convert(p[op->dst], p[op->x[0]], count);
    }
}

/* --- a reduction of rows --- */

void reduce_row(struct frame *f, const struct strip_detail *d, unsigned char *const *p,
                const struct row_part *r, unsigned char *to)
{
    const unsigned char *x = p[d->last], *y = p[d->last_by];
    size_t skip = r->first == 0 ? REDUCTION_PARTS : 0, offset = skip * d->size;
    if (d->products) {
        if (f->has_beside)
            move_beside(f);
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
