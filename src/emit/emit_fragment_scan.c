/* Scans of fragments. The digits of the layout that move along the axis are taken in order, the shortest step first. Each digit
 * joins blocks of elements to larger blocks: registers one after the other; lanes by shuffles, in as many rounds as the digit
 * has bits (Hillis and Steele 1986); warps through shared memory. Each level leaves a carry for each block: the combined
 * elements before it in the larger block. At the end, the carries are handed down to the elements. */
#include "emit/emit_fragment.h"

/* Blocks of one size. A block is named by its least register. */
struct level {
    struct scalar *carry; /* by register */
    int spanned;          /* digits before this level */
};

struct scan {
    struct emit *m;
    struct reduction r;
    const struct expr *e;
    const struct layout *layout;
    struct scan_digits digits;
    int32_t registers;
    struct scalar *total; /* of the blocks so far */
    struct scalar *local; /* elements; inclusive: combined with those before in level 0 */
    struct level level[LAYOUT_DIGITS];
    int levels;
};

static struct scalar combine(const struct scan *s, struct scalar a, struct scalar b)
{
    return emit_combine(s->m, &s->r, a, b);
}

/* Returns the carry of an element that has none before it. */
static struct scalar first_of(const struct scan *s)
{
    return emit_scan_start(s->e, s->r.t);
}

static struct scalar choose(const struct scan *s, struct thread_value *p, struct scalar yes,
                            struct scalar no)
{
    return emit_select(s->m, (struct scalar){thread_use(p), DT_BOOL}, yes, no);
}

/* --- levels --- */

static struct level *new_level(struct scan *s, int spanned)
{
    struct level *level = &s->level[s->levels++];
    level->carry = arena_array(s->m->arena, struct scalar, s->registers);
    for (int32_t r = 0; r < s->registers; r++)
        level->carry[r].dtype = DT_NONE;
    level->spanned = spanned;
    return level;
}

/* Leaves the results of a block. before: the elements before it, combined; with: the same together with the block's. */
static void leave(struct scan *s, struct level *level, int at, int32_t block, struct scalar before,
                  struct scalar with)
{
    if (at == 0 && !s->e->exclusive)
        s->local[block] = with;
    else
        level->carry[block] = before;
}

static void scan_registers(struct scan *s, int at)
{
    const struct scan_digit *d = &s->digits.of[at];
    struct level *level = new_level(s, at);
    for (int32_t r = 0; r < s->registers; r++) {
        if (!plan_is_block(&s->digits, r, at + 1))
            continue;
        struct scalar so_far = s->total[r];
        for (int32_t v = 1; v < d->extent; v++) {
            const int32_t block = r + v * d->weight;
            const struct scalar before = so_far;
            so_far = combine(s, so_far, s->total[block]);
            leave(s, level, at, block, before, so_far);
        }
        s->total[r] = so_far;
    }
}

/* Returns the element of the lane `by` below. *there: whether that lane is one of the same `width` lanes. */
static struct scalar lane_below(const struct scan *s, struct scalar x, int32_t by, int32_t width,
                                struct thread_value **there)
{
    struct thread_builder *b = &s->m->b;
    const struct thread_operand from = emit_value_of(s->m, x).o;
    struct thread_value *v = THREAD_ADD_OP(b, THREAD_SHUFFLE_UP, s->r.t, DT_NONE, from,
                                           thread_integer(by), thread_integer(width));
    const struct thread_operation *op = b->region->operations.data[b->region->operations.count - 1];
    *there = op->results.data[1];
    return (struct scalar){thread_use(v), s->r.t};
}

/* Returns the running total over the lanes of a digit, this lane included. */
static struct scalar lanes_inclusive(const struct scan *s, const struct scan_digit *d,
                                     struct scalar x)
{
    const int32_t width = d->weight * d->extent;
    for (int32_t by = d->weight; by < width; by *= 2) {
        struct thread_value *there;
        const struct scalar below = lane_below(s, x, by, width, &there);
        x = choose(s, there, combine(s, below, x), x);
    }
    return x;
}

static void scan_lanes(struct scan *s, int at)
{
    struct emit *m = s->m;
    const struct scan_digit *d = &s->digits.of[at];
    struct level *level = new_level(s, at);
    const int32_t width = d->weight * d->extent;
    const struct scalar last = emit_by(m, THREAD_OR, m->place.lane, width - d->weight);
    for (int32_t r = 0; r < s->registers; r++) {
        if (!plan_is_block(&s->digits, r, at + 1))
            continue;
        struct thread_value *there;
        struct scalar before = {.dtype = DT_NONE}, all = lanes_inclusive(s, d, s->total[r]);
        if (at > 0 || s->e->exclusive) {
            before = lane_below(s, all, d->weight, width, &there);
            before = choose(s, there, before, first_of(s));
        }
        leave(s, level, at, r, before, all);
        if (at + 1 < s->digits.count)
            s->total[r].o = thread_use(THREAD_ADD_OP(&m->b, THREAD_SHUFFLE, s->r.t, DT_NONE,
                                                     emit_value_of(m, all).o, last.o));
    }
}

static void scan_warps(struct scan *s, int at)
{
    struct emit *m = s->m;
    struct level *level = new_level(s, at);
    struct warp_totals w;
    if (!plan_warp_totals(m->layouts, s->layout, s->r.axis, s->digits.of[at].step, &w))
        return;
    const struct layout *totals = plan_keep(m->layouts, &w.totals);
    const struct spots spots = emit_spots(m, totals);
    const struct coordinate mine = emit_spot(m, &spots, s->r.axis, 0);
    const struct fragment all = emit_of_warps(m, &w, s->r.t, s->total);
    for (int32_t i = 0; i < emit_registers(totals) && !m->failed; i++) {
        const int32_t r = w.registers[i];
        const struct scalar *of_warp = all.v + i * w.warps;
        if (!plan_is_block(&s->digits, r, at + 1))
            continue;
        struct scalar so_far = of_warp[0], carry = first_of(s);
        for (int32_t k = 1; k < w.warps; k++) {
            const struct scalar after =
                emit_op2(m, THREAD_GE, DT_I32, mine.thread, emit_constant(DT_I32, k - mine.more));
            carry = choose(s, after.o.value, so_far, carry);
            so_far = combine(s, so_far, of_warp[k]);
        }
        leave(s, level, at, r, carry, at > 0 ? carry : combine(s, carry, s->total[r]));
        s->total[r] = so_far;
    }
}

/* Hands the carries down, from the largest blocks to the elements. A larger block has the number of its lowest register. */
static void hand_down(struct scan *s, struct scalar *before)
{
    for (int32_t r = 0; r < s->registers; r++)
        before[r] = (struct scalar){.dtype = DT_NONE};
    for (int k = s->levels - 1; k >= 0; k--) {
        const struct level *level = &s->level[k];
        for (int32_t r = s->registers - 1; r >= 0; r--) {
            if (!plan_is_block(&s->digits, r, level->spanned))
                continue;
            struct scalar of_above = {.dtype = DT_NONE};
            if (k + 1 < s->levels)
                of_above = before[plan_block_of(&s->digits, r, s->level[k + 1].spanned)];
            before[r] = combine(s, of_above, level->carry[r]);
        }
    }
    for (int32_t r = 0; r < s->registers; r++) {
        if (!s->e->exclusive)
            before[r] = combine(s, before[r], s->local[r]);
        if (!emit_counts(before[r]))
            before[r] = first_of(s);
    }
}

/* --- the whole --- */

/* An exclusive scan begins with the neutral element. Combining it with the first element changes NaN and -0. */
static struct scalar *elements_of(struct scan *s, const struct fragment *x)
{
    bool masked;
    struct scalar *v = emit_inside_elements(s->m, &s->r, x, &masked);
    const bool from_neutral = s->e->exclusive && dtype_is_float(s->r.t) && s->r.op != OP_MUL;
    for (int32_t r = 0; r < s->registers; r++)
        if (!emit_counts(v[r]))
            v[r] = emit_idle(s->r.op, s->r.t);
        else if (from_neutral && plan_is_block(&s->digits, r, s->digits.count))
            v[r] = combine(s, first_of(s), v[r]);
    return v;
}

struct fragment emit_fragment_scan(struct emit *m, const struct expr *e,
                                   const struct layout *wanted)
{
    const enum dtype t = e->type.dtype;
    struct scan s = {.m = m, .e = e};
    s.r = (struct reduction){
        .op = e->scan_op, .t = t == DT_BOOL ? DT_I32 : t, .axis = e->axis, .axes = 1u << e->axis};
    s.layout = plan_scan_layout(m->layouts, &e->type, e->axis, wanted, &s.digits);
    s.registers = emit_registers(s.layout);
    const struct fragment x = emit_fragment(m, e->args[0], s.layout);
    struct fragment out = emit_fragment_new(m, s.r.t, s.layout);
    if (m->failed)
        return out;
    s.local = elements_of(&s, &x);
    s.total = arena_copy(m->arena, s.local, (size_t)s.registers * sizeof *s.local);
    for (int i = 0; i < s.digits.count && !m->failed; i++)
        switch ((int)s.digits.of[i].in) {
        case AXIS_REG: scan_registers(&s, i); break;
        case AXIS_LANE: scan_lanes(&s, i); break;
        default: scan_warps(&s, i); break;
        }
    if (!m->failed)
        hand_down(&s, out.v);
    return emit_fragment_cast(m, &out, t);
}
