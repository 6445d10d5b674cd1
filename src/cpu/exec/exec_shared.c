/* Products of tiles whose panels are divided among several workers: the worker of the block, and
 * workers that have no block left (workers.c). */
#include "cpu/exec/exec_packed.h"
#include "cpu/profile.h"

#include "base/platform.h"

/* least multiplications of a product that is divided: it takes a core at least some microseconds */
static const double worth_sharing = 1e6; /* multiplications */

void exec_wait_for_helpers(struct shared_product *p)
{
    enum { LOOKS = 1000 };
    for (int i = 0; atomic_load(&p->helpers) > 0; i++)
        if (i < LOOKS)
            platform_pause();
        else
            platform_yield();
}

/* Returns whether other workers may help. If rows of the left operand are packed, the first panel
 * needs to be complete before the others begin. */
static bool shares(const struct frame *f, const struct dot_detail *d, const struct dot_deferred *p,
                   struct dot_target out, const struct dot_strides *s)
{
    double size = (double)out.rows * (double)out.columns * (double)p->depth;
    return f->shared && d->shares && size >= worth_sharing && !s->a_unpacked.from;
}

void exec_multiply_shared(const struct frame *f, const struct dot_detail *d, void *sum,
                          const struct dot_deferred *p, struct dot_target out,
                          struct dot_strides *s)
{
    struct shared_product *shared = f->shared;
    size_t panels = (out.columns + d->width - 1) / d->width, k = p->depth / d->group;
    if (!shares(f, d, p, out, s) || panels < 2) {
        d->dot(sum, p->a, p->b, out.rows, out.columns, k, s);
        return;
    }
    s->untaken = &shared->untaken;
    shared->detail = d;
    shared->dot = d->dot;
    shared->sum = sum;
    shared->a = p->a;
    shared->b = p->b;
    shared->rows = out.rows;
    shared->columns = out.columns;
    shared->depth = k;
    shared->strides = *s;
    shared->strides.prefetch = NULL;
    atomic_store(&shared->untaken, (int)panels);
    d->dot(sum, p->a, p->b, out.rows, out.columns, k, s);
    exec_wait_for_helpers(shared);
}

/* --- pieces --- */

static uint64_t all_pieces(size_t count)
{
    return UINT64_MAX >> (MOST_PIECES - count);
}

void exec_pieces_offer(struct shared_product *shared, const struct dot_detail *d, size_t count)
{
    shared->detail = d;
    atomic_store(&shared->pieces, all_pieces(count));
}

bool exec_piece_claim(_Atomic uint64_t *pieces, size_t piece)
{
    const uint64_t bit = (uint64_t)1 << piece;
    return (atomic_fetch_and(pieces, ~bit) & bit) != 0;
}

/* A product that is computed piece by piece of its right operand. */
struct pieces_run {
    const struct frame *frame;
    const struct dot_detail *detail;
    void *sum;
    const struct dot_deferred *product;
    struct dot_target out;
    struct dot_strides strides;
    size_t columns; /* of a piece */
};

/* A part of a product: rows and columns of the sum. */
struct sum_part {
    size_t row, rows, column, columns;
};

static void multiply_part(const struct pieces_run *r, struct sum_part part, bool packs)
{
    const struct dot_detail *d = r->detail;
    const struct dot_deferred *p = r->product;
    const struct dot_unpacked *view = &p->b_source.view;
    struct dot_strides s = r->strides;
    const size_t group = (size_t)d->group, size = d->size * group;
    const size_t a_size = s.a_unpacked.halves ? sizeof(uint16_t) : d->size;
    const size_t out_size = s.out_type != OUT_SUMS ? sizeof(uint16_t) : size;
    if (s.a_unpacked.from)
        s.a_unpacked.from = (const char *)s.a_unpacked.from + part.row * s.a_unpacked.step * a_size;
    if (packs) {
        s.b_unpacked = *view;
        s.b_unpacked.from =
            (const char *)view->from + part.column * (view->halves ? sizeof(uint16_t) : d->size);
    }
    if (s.out)
        s.out = (char *)s.out + (part.row * s.out_step + part.column) * out_size;
    d->dot((char *)r->sum + (part.row * s.c + part.column) * size, p->a + part.row * s.a * size,
           p->b + part.column / d->width * s.panel * size, part.rows, part.columns,
           p->depth / group, &s);
}

/* Multiplies by a piece. packs: it is taken, and the product packs it: on the way in the first block of
 * rows, after which other blocks may read it, or else before. */
static void multiply_piece(const struct pieces_run *r, size_t piece, bool packs)
{
    const struct packed_source *source = &r->product->b_source;
    const size_t left = r->out.columns - piece * r->columns;
    struct sum_part part = {.rows = r->out.rows,
                            .column = piece * r->columns,
                            .columns = left < r->columns ? left : r->columns};
    const bool on_the_way = packs && source->on_the_way && r->product->b == source->part &&
                            r->product->depth == source->part_depth;
    if (packs && !on_the_way)
        packed_piece_pack(r->frame, source, piece);
    if (on_the_way) {
        const size_t own = r->frame->program->set->dot->rows, limit = r->strides.most_rows;
        const size_t most = limit > 0 && limit < own ? limit : own;
        if (r->frame->launch->workers > 1)
            part.rows /= (part.rows + most - 1) / most;
        multiply_part(r, part, true);
        packed_piece_done(&source->done[piece]);
        part.row = part.rows;
        part.rows = r->out.rows - part.row;
    }
    if (part.rows > 0)
        multiply_part(r, part, false);
}

static bool piece_is_ready(const void *run, size_t piece)
{
    return packed_piece_ready(&((const struct pieces_run *)run)->product->b_source.done[piece]);
}

static void multiply_ready(const void *run, size_t piece)
{
    multiply_piece(run, piece, false);
}

void exec_multiply_pieces(const struct frame *f, const struct dot_detail *d, void *sum,
                          const struct dot_deferred *p, struct dot_target out,
                          struct dot_strides *s)
{
    const struct packed_source *source = &p->b_source;
    const size_t columns = (size_t)f->launch->packed[source->fill->cache].piece_lines;
    const size_t count = (out.columns + columns - 1) / columns;
    const size_t first = (size_t)f->id; /* neighbours begin with different pieces */
    struct pieces_run run = {f, d, sum, p, out, *s, columns};
    struct pieces_run helped = run;
    const bool kept_apart = f->launch->packed[source->fill->cache].own; /* in this core's cache */
    struct shared_product *shared =
        count > 1 && !kept_apart && shares(f, d, p, out, s) ? f->shared : NULL;
    _Atomic uint64_t own, *pieces = shared ? &shared->pieces : &own;
    helped.strides.prefetch = NULL;
    atomic_init(&own, all_pieces(count));
    if (shared) {
        shared->run = &helped;
        shared->is_ready = piece_is_ready;
        shared->multiply = multiply_ready;
        exec_pieces_offer(shared, d, count);
    }
    for (size_t i = 0; i < 2 * count; i++) { /* the second time, waits for what others pack */
        const size_t piece = (first + i) % count;
        _Atomic unsigned char *done = &source->done[piece];
        const bool packs = packed_piece_take(done);
        if (!packs && i < count && !packed_piece_ready(done))
            continue;
        if (!exec_piece_claim(pieces, piece))
            continue;
        if (!packs)
            packed_piece_wait(done);
        multiply_piece(&run, piece, packs);
        run.strides.prefetch = NULL;
        run.strides.a_unpacked.from = NULL;
    }
    if (shared)
        exec_wait_for_helpers(shared);
}

/* --- helpers --- */

/* Multiplies by pieces that are ready and untaken. Returns whether there was one. */
static bool help_with_pieces(struct shared_product *p)
{
    bool helps = false;
    for (size_t i = 0; i < MOST_PIECES && atomic_load(&p->pieces) >> i != 0; i++)
        if ((atomic_load(&p->pieces) >> i & 1) != 0 && (!p->is_ready || p->is_ready(p->run, i)) &&
            exec_piece_claim(&p->pieces, i)) {
            p->multiply(p->run, i);
            helps = true;
        }
    return helps;
}

/* The worker that owns the product waits for helpers once no panel is untaken: either it sees
 * this helper, or this helper sees that no panel is left. */
bool exec_help_with_product(struct shared_product *p, struct frame_profile *profile)
{
    if (atomic_load(&p->untaken) <= 0 && atomic_load(&p->pieces) == 0)
        return false;
    atomic_fetch_add(&p->helpers, 1);
    const bool by_panels = atomic_load(&p->untaken) > 0;
    bool helps = by_panels || atomic_load(&p->pieces) != 0;
    struct profile_bucket *before =
        helps && profile ? profile_switch(profile, profile_of_product(profile, p->detail)) : NULL;
    if (by_panels)
        p->dot(p->sum, p->a, p->b, p->rows, p->columns, p->depth, &p->strides);
    else if (helps)
        helps = help_with_pieces(p);
    if (before)
        profile_switch(profile, before);
    atomic_fetch_sub(&p->helpers, 1);
    return helps;
}
