/* Products of tiles: the steps of `dot`. Those that follow each other along the depth are deferred
 * and taken at once (struct dot_deferred). */
#include "cpu/exec_packed.h"

/* --- uniform products --- */

/* An operand where it lies; *shared: if it is a packed tile that other blocks read too. false: a
 * fault was noted. */
static bool find_operand(struct frame *f, const struct dot_operand *o, struct loc loc,
                         const unsigned char **at, size_t *step, const struct packed_state **shared)
{
    *at = frame_at(f, o->at);
    *step = o->step;
    *shared = NULL;
    if (!o->tile)
        return true;
    struct packed_state *state = packed_state_of(f, o->tile, o->access, loc);
    if (!state)
        return false;
    *at = packed_place(f, o->tile, state);
    *step = (size_t)state->step;
    *shared = state->kind == PACKED_SHARED ? state : NULL;
    return true;
}

static void add_product(struct frame *f, const struct instr *in, struct dot_deferred *p,
                        const struct dot_prefetch *prefetch)
{
    const struct dot_detail *d = in->detail;
    size_t pair = d->in_pairs ? 2 : 1, row = d->b.tile ? d->width : d->n;
    struct dot_strides s = {d->n, p->a_step / pair, row, p->b_step / pair, prefetch, p->fresh};
    d->dot(frame_at(f, in->dst), p->a, p->b, d->m, d->n, p->depth / pair, &s);
    p->fresh = false;
}

static void flush(struct frame *f, const struct instr *in, struct dot_deferred *p)
{
    if (p->depth > 0)
        add_product(f, in, p, NULL);
    p->depth = 0;
}

/* in->n: bytes of the sum */
void step_dot_flush(struct frame *f, const struct instr *in)
{
    const struct dot_detail *d = in->detail;
    struct dot_deferred *p = frame_at(f, d->deferred);
    flush(f, in, p);
    if (p->fresh)
        memset(frame_at(f, in->dst), 0, in->n);
}

void step_dot_fresh(struct frame *f, const struct instr *in)
{
    *(struct dot_deferred *)frame_at(f, in->dst) = (struct dot_deferred){.fresh = true};
}

/* Whether the next product goes on where the deferred one ends. */
static bool continues(const struct dot_detail *d, const struct dot_deferred *p,
                      const struct dot_deferred *next)
{
    return p->depth > 0 && p->depth + next->depth <= DOT_MOST_DEPTH && next->a_step == p->a_step &&
           next->b_step == p->b_step && next->a == p->a + p->depth * d->size &&
           next->b == p->b + p->depth * d->width * d->size;
}

/* Adds the deferred product if it cannot get deeper. */
static void flush_if_deep(struct frame *f, const struct instr *in, struct dot_deferred *p,
                          const struct packed_state *a, const struct packed_state *b)
{
    const struct dot_detail *d = in->detail;
    struct prefetch_list list = {.depth = (int64_t)p->depth};
    if (p->depth + d->k <= DOT_MOST_DEPTH)
        return;
    prefetch_beyond(&list, f, a, b);
    add_product(f, in, p, list.count > 0 ? list.item : NULL);
    p->depth = 0;
}

/* dst += a · b */
void step_dot(struct frame *f, const struct instr *in)
{
    const struct dot_detail *d = in->detail;
    struct dot_deferred next = {.depth = d->k};
    const struct packed_state *a, *b;
    if (!find_operand(f, &d->a, in->loc, &next.a, &next.a_step, &a) ||
        !find_operand(f, &d->b, in->loc, &next.b, &next.b_step, &b))
        return;
    if (d->deferred == NO_SLOT) {
        add_product(f, in, &next, NULL);
        return;
    }
    struct dot_deferred *p = frame_at(f, d->deferred);
    if (a && b && continues(d, p, &next)) {
        p->depth += next.depth;
    } else {
        flush(f, in, p);
        next.fresh = p->fresh;
        *p = next;
    }
    if (a && b)
        flush_if_deep(f, in, p, a, b);
    else /* the block's own memory may get something else before long */
        flush(f, in, p);
}

/* --- a small product for each lane --- */

static const void *lane_row(const struct frame *f, const unsigned char *base, size_t element,
                            uint32_t lanes, const struct dot_detail *d, uint32_t spread)
{
    const unsigned char *at = base + element * lanes * d->size;
    if (lanes > 1 || d->lanes == 1)
        return at;
    unsigned char *to = frame_at(f, spread);
    f->program->set->memory->fill[bytes_index(d->size)](to, at, d->lanes);
    return to;
}

void step_dot_lanes(struct frame *f, const struct instr *in)
{
    const struct dot_detail *d = in->detail;
    unsigned char *c = frame_at(f, in->dst);
    const unsigned char *a = frame_at(f, in->a), *b = frame_at(f, in->b);
    uint32_t second = d->spread + (uint32_t)d->size * d->lanes;
    for (size_t i = 0; i < d->m; i++)
        for (size_t p = 0; p < d->k; p++) {
            const void *x = lane_row(f, a, i * d->k + p, d->a_lanes, d, d->spread);
            for (size_t j = 0; j < d->n; j++) {
                const void *y = lane_row(f, b, p * d->n + j, d->b_lanes, d, second);
                unsigned char *to = c + (i * d->n + j) * d->lanes * d->size;
                d->fma(to, x, y, to, d->lanes);
            }
        }
}
