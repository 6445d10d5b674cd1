/* Scans: each element combined with those before it along an axis.
 *
 * The digits of the layout that move the axis are taken in the order of how far they move it. At
 * each, blocks of elements become larger blocks: registers one after the other, lanes by shuffles
 * in as many steps as there are bits (Hillis, Steele 1986), warps through shared memory. Each level
 * leaves, for each block, a carry: the elements before it in the larger block, combined. In the end
 * carries are handed down, from the largest blocks to elements. The order of combining is always the same.
 */
#include "lower/lower_tile_own.h"

#include "layout/gf2.h"

/* Blocks of one size. A block is named by its least register: all digits that it spans are 0. */
struct scan_level {
    struct ptx_operand *carry; /* by register; PTX_NOTHING: none */
    int spanned;               /* digits before this level */
};

struct scan {
    struct lower *l;
    enum op op;
    enum dtype type; /* of what is combined */
    bool exclusive;
    const struct layout *layout;
    int axis;
    struct scan_digits digits;
    int32_t registers;
    struct ptx_operand *total; /* of the blocks so far */
    /* Elements; after the first level, unless exclusive, combined with those before them in it. */
    struct ptx_operand *local;
    struct scan_level level[LAYOUT_DIGITS];
    int levels;
};

/* --- Levels --- */

static struct ptx_operand combine(const struct scan *s, struct ptx_operand a, struct ptx_operand b)
{
    return reduce_combine(s->l, s->op, s->type, a, b);
}

static struct ptx_operand idle(const struct scan *s)
{
    if (!s->exclusive)
        return reduce_idle(s->l, s->op, s->type);
    return op_constant(s->l, s->type, op_neutral(s->op, s->type));
}

static struct scan_level *new_level(struct scan *s, int spanned)
{
    struct scan_level *level = &s->level[s->levels++];
    level->carry = arena_array(s->l->arena, struct ptx_operand, s->registers);
    level->spanned = spanned;
    return level;
}

/* before: the elements before the block, combined; with: the same with the block's. */
static void leave(struct scan *s, struct scan_level *level, int at, int32_t block,
                  struct ptx_operand before, struct ptx_operand with)
{
    if (at == 0 && !s->exclusive)
        s->local[block] = with;
    else
        level->carry[block] = before;
}

static void scan_registers(struct scan *s, int at)
{
    const struct scan_digit *d = &s->digits.of[at];
    struct scan_level *level = new_level(s, at);
    for (int32_t r = 0; r < s->registers; r++) {
        if (!plan_is_block(&s->digits, r, at + 1))
            continue;
        struct ptx_operand so_far = s->total[r];
        for (int32_t v = 1; v < d->extent; v++) {
            int32_t block = r + v * d->weight;
            struct ptx_operand before = so_far;
            so_far = combine(s, so_far, s->total[block]);
            leave(s, level, at, block, before, so_far);
        }
        s->total[r] = so_far;
    }
}

/* The running total over the lanes of a digit, this lane included. */
static struct ptx_operand lanes_inclusive(const struct scan *s, const struct scan_digit *d,
                                          struct ptx_operand x)
{
    int32_t width = d->weight * d->extent;
    for (int32_t by = d->weight; by < width; by *= 2) {
        struct ptx_operand there, below = tile_shuffle_up(s->l, s->type, x, by, width, &there);
        x = tile_select(s->l, s->type, there, combine(s, below, x), x);
    }
    return x;
}

static void scan_lanes(struct scan *s, int at)
{
    struct lower *l = s->l;
    const struct scan_digit *d = &s->digits.of[at];
    struct scan_level *level = new_level(s, at);
    int32_t width = d->weight * d->extent;
    const struct value *last =
        value_apply2(l, OP_OR, DT_I32, value_lane(l), value_int(l, DT_I32, width - d->weight));
    for (int32_t r = 0; r < s->registers; r++) {
        if (!plan_is_block(&s->digits, r, at + 1))
            continue;
        struct ptx_operand there, before = {0}, all = lanes_inclusive(s, d, s->total[r]);
        if (at > 0 || s->exclusive) {
            before = tile_shuffle_up(l, s->type, all, d->weight, width, &there);
            before = tile_select(l, s->type, there, before, op_in_register(l, s->type, idle(s)));
        }
        leave(s, level, at, r, before, all);
        if (at + 1 < s->digits.count)
            s->total[r] = tile_shuffle(l, s->type, false, all, SHUFFLE_IDX, value_operand(l, last));
    }
}

static void scan_warps(struct scan *s, int at)
{
    struct lower *l = s->l;
    const struct value *mine;
    int32_t warps;
    struct scan_level *level = new_level(s, at);
    struct ptx_operand *all = tile_of_warps(l, s->layout, s->axis, s->digits.of[at].step, s->type,
                                            s->total, &warps, &mine);
    for (int32_t r = 0; all && r < s->registers; r++) {
        if (!plan_is_block(&s->digits, r, at + 1))
            continue;
        struct ptx_operand so_far = all[r * warps], carry = op_in_register(l, s->type, idle(s));
        for (int32_t w = 1; w < warps; w++) {
            const struct value *after =
                value_apply2(l, OP_GE, DT_BOOL, mine, value_int(l, DT_I32, w));
            carry = tile_select(l, s->type, value_operand(l, after), so_far, carry);
            so_far = combine(s, so_far, all[r * warps + w]);
        }
        leave(s, level, at, r, carry, at > 0 ? carry : combine(s, carry, s->total[r]));
        s->total[r] = so_far;
    }
}

/* Carries from the largest blocks down to elements. */
static struct ptx_operand *hand_down(struct scan *s)
{
    struct lower *l = s->l;
    struct ptx_operand *before = arena_array(l->arena, struct ptx_operand, s->registers);
    for (int k = s->levels - 1; k >= 0; k--) {
        const struct scan_level *level = &s->level[k];
        for (int32_t r = s->registers - 1; r >= 0;
             r--) { /* larger blocks are named by lower registers */
            if (!plan_is_block(&s->digits, r, level->spanned))
                continue;
            int32_t above =
                k + 1 < s->levels ? plan_block_of(&s->digits, r, s->level[k + 1].spanned) : r;
            struct ptx_operand of_above =
                k + 1 < s->levels ? before[above] : (struct ptx_operand){0};
            before[r] = combine(s, of_above, level->carry[r]);
        }
    }
    for (int32_t r = 0; r < s->registers; r++) {
        if (!s->exclusive)
            before[r] = combine(s, before[r], s->local[r]);
        if (before[r].kind == PTX_NOTHING)
            before[r] = op_in_register(l, s->type, idle(s));
    }
    return before;
}

/* --- The whole --- */

static struct ptx_operand *elements_of(struct lower *l, struct scan *s, const struct regtile *x)
{
    struct ptx_operand *e = tile_inside_elements(l, s->op, x, 1u << s->axis);
    for (int r = 0; r < x->elements; r++) {
        if (e[r].kind == PTX_NOTHING)
            e[r] = op_in_register(l, x->dtype, reduce_idle(l, s->op, x->dtype));
        if (x->dtype != s->type)
            e[r] = op_cast(l, s->type, x->dtype, e[r]);
    }
    return e;
}

struct regtile scan_eval(struct lower *l, const struct expr *e, const struct layout *wanted)
{
    struct scan s = {.l = l, .op = e->scan_op, .axis = e->axis, .exclusive = e->exclusive};
    enum dtype t = e->type.dtype;
    s.type = t == DT_BOOL ? DT_I32 : t;
    s.layout = plan_scan_layout(&l->layouts, &e->type, e->axis, wanted, &s.digits);
    s.registers = plan_registers(s.layout);
    struct regtile x = tile_eval(l, e->args[0], s.layout);
    s.local = elements_of(l, &s, &x);
    s.total = arena_copy(l->arena, s.local, (size_t)s.registers * sizeof *s.local);
    for (int i = 0; i < s.digits.count; i++)
        switch ((int)s.digits.of[i].in) {
        case AXIS_REG: scan_registers(&s, i); break;
        case AXIS_LANE: scan_lanes(&s, i); break;
        default: scan_warps(&s, i); break;
        }
    struct ptx_operand *out = hand_down(&s);
    for (int32_t r = 0; r < s.registers && t == DT_BOOL; r++)
        out[r] = op_cast(l, DT_BOOL, s.type, out[r]);
    struct regtile scanned = tile_of_elements(l, t, s.layout, out);
    return tile_convert(l, &scanned, wanted);
}
