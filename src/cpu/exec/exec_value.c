/* Steps that compute values from values: rows with broadcasting, copies, conversions,
 * reductions. */
#include "cpu/program.h"

#include <stdio.h>

/* Runs an operation on dense operands of the same shape. */
void step_flat(struct frame *f, const struct instr *in)
{
    unsigned char *m = f->memory;
    in->kernel(m + in->dst, m + in->a, m + in->b, m + in->c, in->n);
}

/* --- rows --- */

/* An operand of one row in the computed type: in place, converted, or one value spread. */
struct row_source {
    const unsigned char *at;
    const struct row_operand *operand;
    bool spread; /* the chunk's buffer holds the one value already */
    _Alignas(SLOT_ALIGNMENT) unsigned char buffer[CHUNK * 8];
};

static const void *row_chunk(struct row_source *s, const struct routine_set *set, int64_t stride,
                             size_t first, size_t count)
{
    const struct row_operand *o = s->operand;
    if (stride == 0) {
        if (!s->spread) {
            unsigned char value[8];
            if (o->convert)
                o->convert(value, s->at, 1);
            else
                memcpy(value, s->at, o->size);
            set->memory->fill[bytes_index(o->computed)](s->buffer, value, CHUNK);
            s->spread = true;
        }
        return s->buffer;
    }
    const unsigned char *from = s->at + first * o->size;
    if (!o->convert)
        return from;
    o->convert(s->buffer, from, count);
    return s->buffer;
}

static void row_run(const struct routine_set *set, const struct instr *in, unsigned char *dst,
                    struct row_source *sources)
{
    const struct rows_detail *d = in->detail;
    const struct row_operand *to = &d->operand[0];
    _Alignas(SLOT_ALIGNMENT) unsigned char result[CHUNK * 8];
    int last = d->rank - 1;
    size_t n = (size_t)d->extent[last];
    for (size_t first = 0; first < n; first += CHUNK) {
        size_t count = n - first < CHUNK ? n - first : CHUNK;
        const void *x[MOST_OPERANDS] = {NULL};
        for (int i = 1; i < d->operands; i++)
            x[i] = row_chunk(&sources[i], set, d->operand[i].stride[last], first, count);
        unsigned char *out = dst + first * to->size;
        if (!to->convert) {
            in->kernel(out, x[1], x[2], x[3], count);
        } else {
            in->kernel(result, x[1], x[2], x[3], count);
            to->convert(out, result, count);
        }
    }
}

/* Runs an operation row by row. Rows of the result are dense; an operand's row is dense or one
 * value. */
void step_rows(struct frame *f, const struct instr *in)
{
    const struct rows_detail *d = in->detail;
    struct row_source sources[MOST_OPERANDS];
    int64_t at[NEST_RANK] = {0};
    int64_t offset[MOST_OPERANDS] = {0};
    for (int i = 1; i < d->operands; i++)
        sources[i].operand = &d->operand[i];
    for (;;) {
        for (int i = 1; i < d->operands; i++) {
            const struct row_operand *o = &d->operand[i];
            sources[i].at = f->memory + o->at + offset[i] * (int64_t)o->size;
            sources[i].spread = false;
        }
        row_run(f->program->set, in,
                f->memory + d->operand[0].at + offset[0] * (int64_t)d->operand[0].size, sources);
        int axis = d->rank - 2;
        for (; axis >= 0; axis--) {
            for (int i = 0; i < d->operands; i++)
                offset[i] += d->operand[i].stride[axis];
            if (++at[axis] < d->extent[axis])
                break;
            for (int i = 0; i < d->operands; i++)
                offset[i] -= d->operand[i].stride[axis] * d->extent[axis];
            at[axis] = 0;
        }
        if (axis < 0)
            return;
    }
}

/* --- moving --- */

void step_copy(struct frame *f, const struct instr *in)
{
    const struct copy_detail *d = in->detail;
    d->copy(f->memory + in->dst, f->memory + in->a, &d->nest);
}

void step_convert(struct frame *f, const struct instr *in)
{
    const struct convert_detail *d = in->detail;
    d->convert(f->memory + in->dst, f->memory + in->a, in->n);
}

/* Computes dst = a where the mask runs. */
void step_blend(struct frame *f, const struct instr *in)
{
    const struct blend_detail *d = in->detail;
    const uint8_t *mask = frame_mask(f, in->mask);
    size_t row = (size_t)d->size * f->program->lanes;
    if (!mask) {
        memcpy(f->memory + in->dst, f->memory + in->a, row * d->rows);
        return;
    }
    for (uint32_t i = 0; i < d->rows; i++)
        d->blend(f->memory + in->dst + i * row, f->memory + in->a + i * row, mask,
                 f->program->lanes);
}

/* Sets in->n bytes to 0. */
void step_zero(struct frame *f, const struct instr *in)
{
    memset(f->memory + in->dst, 0, in->n);
}

/* Sets all bits: NaN in every float type. */
void step_poison(struct frame *f, const struct instr *in)
{
    memset(f->memory + in->dst, 0xff, in->n);
}

/* --- axes --- */

void step_reduce(struct frame *f, const struct instr *in)
{
    const struct reduce_detail *d = in->detail;
    d->reduce(f->memory + in->dst, f->memory + in->a, d->outer, d->n, d->inner);
}

void step_scan(struct frame *f, const struct instr *in)
{
    const struct reduce_detail *d = in->detail;
    d->scan(f->memory + in->dst, f->memory + in->a, d->outer, d->n, d->inner,
            d->exclusive ? &d->start : NULL);
}

void step_iota(struct frame *f, const struct instr *in)
{
    const struct iota_detail *d = in->detail;
    int32_t *out = frame_at(f, in->dst);
    for (size_t o = 0; o < d->outer; o++, out += d->n * d->inner) {
        if (d->inner == 1) {
            f->program->set->memory->count(out, d->n);
            continue;
        }
        for (size_t k = 0; k < d->n; k++)
            for (size_t i = 0; i < d->inner; i++)
                out[k * d->inner + i] = (int32_t)k;
    }
}

/* Finds the first value of the lane (-1: there is one) that is outside the axis. */
static bool find_outside(struct frame *f, const struct lookup_place *p, int lane, int64_t *index)
{
    const void *values = frame_at(f, p->at);
    size_t step = p->lanes, first = step > 1 && lane > 0 ? (size_t)lane : 0;
    for (size_t i = first; i < (size_t)p->count * step; i += step) {
        *index = p->dtype == DT_I64 ? ((const int64_t *)values)[i] : ((const int32_t *)values)[i];
        if (*index < 0 || *index >= p->extent)
            return true;
    }
    return false;
}

/* Reports the index of a table that is outside; `at` is the one of all axes. */
static void report_index(struct frame *f, const struct instr *in, int lane, int32_t at)
{
    const struct lookup_detail *d = in->detail;
    if (!d->combined) {
        frame_fault(f, CPU_BOUNDS, in->loc, lane, "index %d is outside %s", (int)at,
                    d->places[0].text);
        return;
    }
    for (int i = 0; i < d->count; i++) {
        const struct lookup_place *p = &d->places[i];
        int64_t index;
        if (p->at == NO_SLOT || !find_outside(f, p, lane, &index))
            continue;
        frame_fault(f, CPU_BOUNDS, in->loc, lane, "index %lld is outside %s", (long long)index,
                    p->text);
        return;
    }
    if (d->count == 1)
        frame_fault(f, CPU_BOUNDS, in->loc, lane, "an index is outside %s", d->places[0].text);
    else
        frame_fault(f, CPU_BOUNDS, in->loc, lane, "an index is outside the table %s (%lld values)",
                    d->table->name, (long long)d->table->type.extent[0]);
}

/* Computes dst[i] = table[a[i]], with i32 indices; in->n rows of in->c lanes. */
void step_lookup(struct frame *f, const struct instr *in)
{
    const struct lookup_detail *d = in->detail;
    const int32_t *index = frame_at(f, in->a);
    const uint8_t *mask = in->c > 1 ? frame_mask(f, in->mask) : NULL;
    unsigned char *out = frame_at(f, in->dst);
    const int64_t extent = d->table->type.extent[0];
    for (size_t i = 0; i < (size_t)in->n * in->c; i++) {
        int32_t at = index[i];
        if (mask && !mask[i % in->c])
            at = 0;
        if (at < 0 || at >= extent) {
            report_index(f, in, in->c > 1 ? (int)(i % in->c) : -1, at);
            return;
        }
        memcpy(out + i * d->size, d->bytes + (size_t)at * d->size, d->size);
    }
}
