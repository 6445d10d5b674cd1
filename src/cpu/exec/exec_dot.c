/* Products of tiles: the steps of `dot`. Products that follow each other along the depth are
 * deferred and then added in one call (struct dot_deferred). */
#include "cpu/exec/exec_packed.h"
#include "cpu/profile.h"

/* --- uniform products --- */

/* Finds the tile of an operand; NULL: the operand is a dense value. false: a fault was noted. */
static bool find_tile(struct frame *f, const struct dot_operand *o, struct loc loc,
                      struct packed_state **state)
{
    *state = o->tile ? packed_state_of(f, o->tile, o->access, loc) : NULL;
    return *state || !o->tile;
}

/* Returns the depth that must be added. If both tiles end early, zeros follow in both, and they
 * are left out. */
static size_t depth_needed(const struct frame *f, const struct dot_detail *d,
                           const struct packed_state *a, const struct packed_state *b)
{
    if (!a || !b)
        return d->k;
    size_t left = packed_depth(f, d->a.tile, a), right = packed_depth(f, d->b.tile, b);
    size_t group = (size_t)d->a.tile->form.group, deeper = left > right ? left : right;
    size_t groups = deeper > group ? (deeper + group - 1) / group : 1;
    return groups * group;
}

/* Finds the place of an operand. Returns its tile if other blocks read that too, otherwise NULL. */
static const struct packed_state *place_operand(struct frame *f, const struct dot_operand *o,
                                                struct packed_state *state,
                                                const struct dot_need *need,
                                                const struct dot_deferred *waiting,
                                                const unsigned char **at, size_t *step)
{
    *at = frame_at(f, o->at);
    *step = o->step;
    if (!state)
        return NULL;
    *at = packed_place(f, o->tile, state, need, waiting);
    *step = (size_t)state->step;
    return state->kind == PACKED_SHARED ? state : NULL;
}

/* Lets the product pack its left operand on its way, if no block has packed it yet. Returns whether
 * the rows go to the cache, and a piece of it is taken. A part of which the product reads only some rows
 * or steps is packed before the product, because other blocks read that part, too. If another block
 * is packing the part, the rows go to memory of the block's own. */
static bool pack_rows_on_the_way(const struct frame *f, const struct dot_detail *d,
                                 struct dot_deferred *p, struct dot_target out,
                                 struct dot_strides *s)
{
    const struct packed_source *source = &p->a_source;
    if (!source->done || packed_piece_ready(source->done))
        return false;
    if (!packed_piece_take(source->done)) {
        s->a_unpacked = source->view;
        p->a = frame_at(f, f->program->own_left_at);
        s->a = LEFT_STEP(p->depth);
        return false;
    }
    if (out.rows < d->m || p->a != source->part || p->depth != source->part_depth) {
        packed_piece_pack(f, source, 0);
        return false;
    }
    s->a_unpacked = source->view;
    return true;
}

static void end_product(struct dot_deferred *p)
{
    p->fresh = p->ragged = false;
    p->depth = 0;
}

static void multiply_add(const struct frame *f, void *sum, const struct dot_detail *d,
                         struct dot_deferred *p, const struct prefetch_list *list,
                         struct dot_target out)
{
    bool in_view = p->b_view.deep > 0;
    if (out.rows == 0 || out.columns == 0) { /* it would take pieces, and pack nothing */
        end_product(p);
        return;
    }
    if (p->few) {
        exec_multiply_few(f, d, sum, p, out);
        end_product(p);
        return;
    }
    if (p->parts > 0)
        exec_end_few(f, sum, d, p, (struct dot_target){.rows = out.rows, .columns = out.columns});
    size_t row = in_view ? (size_t)p->b_view.deep : d->b.tile ? d->width : d->n;
    struct dot_strides s = {.c = d->n,
                            .a = p->a_step / d->group,
                            .b = row,
                            .panel = in_view ? d->width : p->b_step / d->group,
                            .prefetch = list ? list->first : NULL,
                            .fresh = p->fresh,
                            .settled = p->ragged,
                            .flipped = d->flipped,
                            .out = out.to,
                            .out_step = out.step,
                            .out_type = out.type};
    const bool packs_rows = pack_rows_on_the_way(f, d, p, out, &s);
    s.most_rows = s.a * d->group * d->size % SETS_BYTES == 0 ? ROWS_OF_A_SET : 0;
    if (p->b_source.done && !packed_lines_ready(f, &p->b_source, out.columns))
        exec_multiply_pieces(f, d, sum, p, out, &s);
    else
        exec_multiply_shared(f, d, sum, p, out, &s);
    if (packs_rows)
        packed_piece_done(p->a_source.done);
    end_product(p);
}

static void add_product(const struct frame *f, void *sum, const struct dot_detail *d,
                        struct dot_deferred *p, const struct prefetch_list *list,
                        struct dot_target out)
{
    struct profile_bucket *before = NULL;
    if (f->profile) {
        profile_product(f->profile, d, out.rows, out.columns, p->depth);
        before = profile_switch(f->profile, profile_of_product(f->profile, d));
    }
    multiply_add(f, sum, d, p, list, out);
    if (before)
        profile_switch(f->profile, before);
}

/* Returns how many of n lines are inside, counted from where the access starts along an axis; n
 * if it starts before the first line. */
static size_t lines_inside(const struct frame *f, const struct access *a, int axis, size_t n)
{
    int64_t start = exec_access_start(f, a, axis);
    if (start < 0)
        return n;
    int64_t inside = exec_access_extents(f, a)[axis] - start;
    if (inside >= (int64_t)n)
        return n;
    return inside > 0 ? (size_t)inside : 0;
}

/* Returns the part of the sum that later statements read. */
static struct dot_target seen_sum(const struct frame *f, const struct dot_detail *d)
{
    struct dot_target out = {.rows = d->m, .columns = d->n};
    if (!d->seen)
        return out;
    out.rows = out.columns = 0;
    for (int i = 0; i < d->seen->count; i++) {
        const struct access *to = d->seen->to[i];
        size_t rows = lines_inside(f, to, to->rank - 2, d->m);
        size_t columns = lines_inside(f, to, to->rank - 1, d->n);
        out.rows = rows > out.rows ? rows : out.rows;
        out.columns = columns > out.columns ? columns : out.columns;
    }
    return out;
}

static void flush(const struct frame *f, void *sum, const struct dot_detail *d,
                  struct dot_deferred *p)
{
    if (p->depth > 0)
        add_product(f, sum, d, p, NULL, seen_sum(f, d));
}

/* Adds what is still deferred after the last product of a loop, and sets a sum that got no
 * product to 0; the sum has `bytes` bytes. */
static void flush_last(const struct frame *f, void *sum, const struct dot_detail *d,
                       struct dot_deferred *p, size_t bytes)
{
    flush(f, sum, d, p);
    if (p->parts > 0)
        exec_end_few(f, sum, d, p, seen_sum(f, d));
    if (p->fresh)
        memset(sum, 0, bytes);
    p->fresh = false;
}

/* Ends a loop of products. in->n: bytes of the sum */
void step_dot_flush(struct frame *f, const struct instr *in)
{
    const struct dot_detail *d = in->detail;
    flush_last(f, frame_at(f, in->dst), d, frame_at(f, d->deferred), in->n);
}

void step_dot_fresh(struct frame *f, const struct instr *in)
{
    *(struct dot_deferred *)frame_at(f, in->dst) = (struct dot_deferred){.fresh = true};
}

static bool overlap(const unsigned char *x, size_t x_bytes, const unsigned char *y, size_t y_bytes)
{
    return (uintptr_t)x < (uintptr_t)y + y_bytes && (uintptr_t)y < (uintptr_t)x + x_bytes;
}

/* Returns whether a product can write directly to the box: it begins inside, its rows are dense,
 * and it overlaps no memory, such as a view, from which the operands are read. (A kernel must
 * not write where it reads. If it does, a block still gets the result of a store after its
 * loop.) */
static bool takes_sums(const struct frame *f, const struct dot_store_detail *store,
                       const struct dot_deferred *p, const struct box *box, struct dot_target *out)
{
    const struct dot_detail *d = store->dot;
    const struct access *a = store->to;
    const int64_t *stride = exec_access_strides(f, a);
    int row = a->rank - 2;
    int64_t rows = box->high[row] - box->low[row], columns = box->high[row + 1] - box->low[row + 1];
    for (int i = 0; i < a->rank; i++)
        if ((a->axis[i].kind == IX_SLICE) != (i >= row) || box->low[i] != box->start[i])
            return false;
    const enum out_type type = !store->convert                 ? OUT_SUMS
                               : a->sym->type.dtype == DT_BF16 ? OUT_BF16
                                                               : OUT_F16;
    /* Sums of pairs that are in the frame already are converted there as a whole: with AMX on 16 cores, 1024^3
     * takes 360 us so, and 490 us if each block of tiles reads its sums and writes bf16. */
    const bool kept = type != OUT_SUMS && d->group > 1 && !p->fresh;
    if (p->depth == 0 || kept || stride[row + 1] != 1 || stride[row] < columns)
        return false;
    unsigned char *to = exec_box_start(f, a, box);
    *out = (struct dot_target){(size_t)rows, (size_t)columns, to, (size_t)stride[row], type};
    size_t bytes = (out->rows * out->step + out->columns) * a->size;
    const struct packed_source *source[] = {&p->a_source, &p->b_source};
    for (int i = 0; i < 2; i++) /* a tile that is in the cache already is not read in its view */
        if (source[i]->done && f->launch->views[source[i]->fill->from->view].is_overlaid)
            return false;
    const struct packed_fill *weights = p->states[1]->fill->weights ? p->states[1]->fill : NULL;
    if (weights && p->b_view.deep > 0)
        return !overlap(to, bytes, p->a, (d->m * p->a_step + p->depth) * d->size) &&
               !exec_weights_overlap(f, weights, to, bytes);
    size_t in_view = (p->depth - 1) * (size_t)p->b_view.deep + d->n * (size_t)p->b_view.line;
    return !overlap(to, bytes, p->a, (d->m * p->a_step + p->depth) * d->size) &&
           (p->b_view.deep == 0 || !overlap(to, bytes, p->b, in_view * d->size));
}

/* Stores the sum, in->dst. If its last product is still deferred, the product itself writes to
 * the view. */
void step_dot_store(struct frame *f, const struct instr *in)
{
    const struct dot_store_detail *d = in->detail;
    struct dot_deferred *p = frame_at(f, d->dot->deferred);
    void *sum = frame_at(f, in->dst);
    struct dot_target out;
    struct box box;
    if (!exec_access_box(f, d->to, in->loc, &box) ||
        !exec_async_leaves_box(f, d->to, &box, in->loc))
        return;
    exec_note_tile(&f->store_prefetch, d->to, &box);
    if (!box.empty && takes_sums(f, d, p, &box, &out)) {
        struct prefetch_list list = {.depth = (int64_t)p->depth};
        dot_prefetch_store(&list, f, &box);
        dot_prefetch_panels(&list, d->dot, p);
        dot_prefetch_next(&list, f, p->states);
        add_product(f, sum, d->dot, p, &list, out);
        return;
    }
    flush_last(f, sum, d->dot, p, d->bytes);
    if (d->convert) {
        d->convert(frame_at(f, d->converted), sum, d->bytes / sizeof(float));
        sum = frame_at(f, d->converted);
    }
    exec_box_store(f, d->to, &box, sum, NULL);
}

/* Returns the bytes from one step of the right operand to the next. */
static size_t step_bytes(const struct dot_detail *d, const struct dot_deferred *p)
{
    if (p->b_view.deep > 0)
        return (size_t)p->b_view.deep * dtype_size(d->b.tile->form.from);
    return d->width * d->size;
}

static size_t most_depth(const struct dot_detail *d, const struct dot_deferred *p)
{
    return p->few && p->b_view.deep == 1 ? DOT_MOST_BYTES_TURNED / dtype_size(d->b.tile->form.from)
                                         : dot_most_depth(d->size);
}

/* Returns the bytes of an element of a. */
static size_t left_size(const struct dot_detail *d, const struct dot_deferred *p)
{
    return p->raw ? dtype_size(d->a.tile->form.from) : d->size;
}

/* Returns whether the next product begins where the deferred one ends. */
static bool continues(const struct dot_detail *d, const struct dot_deferred *p,
                      const struct dot_deferred *next)
{
    return p->depth > 0 && !p->ragged && p->depth + next->depth <= most_depth(d, p) &&
           next->few == p->few && next->raw == p->raw && next->a_source.done == p->a_source.done &&
           next->b_source.done == p->b_source.done && next->a_step == p->a_step &&
           next->b_step == p->b_step && next->b_view.deep == p->b_view.deep &&
           next->b_view.line == p->b_view.line && next->a == p->a + p->depth * left_size(d, p) &&
           next->b == p->b + p->depth * step_bytes(d, p);
}

/* Adds the deferred product if it cannot get deeper, unless the store that follows will take it. */
static void flush_if_deep(struct frame *f, const struct instr *in, struct dot_deferred *p)
{
    const struct dot_detail *d = in->detail;
    if (p->depth + d->k <= most_depth(d, p))
        return;
    struct prefetch_list list = {.depth = (int64_t)p->depth};
    dot_prefetch_panels(&list, d, p);
    bool is_last = !dot_prefetch_beyond(&list, f, p->states);
    if (!is_last || !d->stored) {
        if (is_last) {
            dot_prefetch_store(&list, f, NULL);
            dot_prefetch_next(&list, f, p->states);
        }
        add_product(f, frame_at(f, in->dst), d, p, &list, seen_sum(f, d));
    }
}

/* Adds tiles that few rows read in their views to the deferred product, if they begin where it ends, as
 * in all turns of a loop but the first. Such products are short, so they should look up little. */
static bool goes_on(struct frame *f, const struct dot_detail *d, struct dot_deferred *p,
                    struct packed_state *left, struct packed_state *right)
{
    if (!p->few || p->depth == 0 || p->ragged || p->b_view.deep == 0 || left != p->states[0] ||
        right != p->states[1] || left->fill != p->fills[0] || right->fill != p->fills[1] ||
        left->cached || left->kind != PACKED_WANTED || right->kind != PACKED_WANTED ||
        p->depth + d->k > most_depth(d, p))
        return false;
    left->data = packed_in_view(f, left, p->lines[0], d->k);
    right->data = !right->fill->weights ? packed_in_view(f, right, p->lines[1], d->k)
                  : exec_weights_in_place(right, p->lines[1]) ? exec_weights_address(f, right)
                                                              : NULL;
    if (left->data != p->a + p->depth * left_size(d, p) ||
        right->data != p->b + p->depth * step_bytes(d, p))
        return false;
    left->kind = right->kind = PACKED_SHARED;
    p->depth += d->k;
    return true;
}

/* Computes dst += a · b. */
void step_dot(struct frame *f, const struct instr *in)
{
    const struct dot_detail *d = in->detail;
    struct packed_state *left, *right;
    if (!find_tile(f, &d->a, in->loc, &left) || !find_tile(f, &d->b, in->loc, &right))
        return;
    struct dot_deferred *p = d->deferred == NO_SLOT ? NULL : frame_at(f, d->deferred);
    if (p && left && right && goes_on(f, d, p, left, right)) {
        if (f->profile)
            profile_operands(f->profile, in, left, right);
        flush_if_deep(f, in, p);
        return;
    }
    size_t depth = depth_needed(f, d, left, right);
    struct dot_deferred next = {.depth = depth, .ragged = depth < d->k};
    const struct dot_target seen = seen_sum(f, d);
    struct dot_need need = {seen.rows, seen.columns, depth, exec_multiplies_few(f, d, seen.rows),
                            false};
    const struct packed_state *b = place_operand(f, &d->b, right, &need, p, &next.b, &next.b_step);
    next.few = need.few && b && !b->cached;
    need.raw = next.few && exec_multiplies_raw(d);
    const struct packed_state *a = place_operand(f, &d->a, left, &need, p, &next.a, &next.a_step);
    next.raw = need.raw && a && !a->cached;
    void *sum = frame_at(f, in->dst);
    if (f->profile)
        profile_operands(f->profile, in, left, right);
    if (a && a->source.done)
        next.a_source = a->source;
    if (b && b->source.done)
        next.b_source = b->source;
    if (b && !b->cached)
        next.b_view = b->view;
    if (!p) {
        next.states[0] = a;
        next.states[1] = b;
        next.fresh = d->fresh && !next.few;
        if (d->fresh && next.few) /* alone, it begins no strip for later blocks */
            memset(sum, 0, d->m * d->n * d->size * d->group);
        flush(f, sum, d, &next);
        return;
    }
    if (a && b && continues(d, p, &next)) {
        p->depth += next.depth;
        p->ragged = next.ragged;
    } else {
        flush(f, sum, d, p);
        next.fresh = p->fresh;
        next.parts = p->parts;
        next.column = p->column;
        *p = next;
    }
    p->states[0] = a;
    p->states[1] = b;
    p->fills[0] = a ? a->fill : NULL;
    p->fills[1] = b ? b->fill : NULL;
    p->lines[0] = need.rows;
    p->lines[1] = need.columns;
    if (a && b)
        flush_if_deep(f, in, p);
    else /* the block's own memory may soon be overwritten */
        flush(f, sum, d, p);
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
