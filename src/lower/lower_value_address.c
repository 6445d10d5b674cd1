/* Addresses: [register + constant]. Those that differ by a constant share a register; in a loop
 * it follows the counter. One that differs from another by factor * (something of 32 bits) is
 * had from it with one instruction. */
#include "lower/lower_value_graph.h"

/* Immediate offsets are 24 bits, signed; those of asynchronous copies 12: the assembler adds the
 * rest in instructions. */
enum { OFFSET_UNIT = 1 << 23, OFFSET_SMALL = 1 << 11 };

static int64_t far_part(int64_t offset)
{
    if (offset >= -OFFSET_UNIT && offset < OFFSET_UNIT)
        return 0;
    return (int64_t)(((uint64_t)offset + OFFSET_UNIT / 2) & ~((uint64_t)OFFSET_UNIT - 1));
}

/* v - anchor, if it takes one instruction. */
static const struct value *near_step(struct lower *l, const struct value *v,
                                     const struct value *anchor)
{
    if (!anchor->placed || anchor == v || anchor->dtype != v->dtype || anchor->level != v->level)
        return NULL;
    const struct value *step = value_sub(l, v, anchor);
    if (anchor->fleeting && step->fleeting) /* of a variable that may have changed since */
        return NULL;
    return sum_is_near(step) ? step : NULL;
}

static bool from_anchor(struct lower *l, const struct value *v, struct ptx_operand *reg)
{
    size_t count = l->values->anchors.count;
    for (size_t i = count; i > 0 && count - i < MOST_ANCHORS; i--) {
        const struct value *anchor = l->values->anchors.data[i - 1];
        const struct value *step = near_step(l, v, anchor);
        if (!step)
            continue;
        *reg = op_register(l, v->dtype);
        sum_step(l, v->dtype, *reg, anchor->place, step);
        return true;
    }
    return false;
}

/* v has a constant too large for an instruction. */
static struct ptx_operand far_address(struct lower *l, const struct value *v)
{
    struct poly p = v->sum;
    p.constant = 0;
    struct ptx_operand base = address_register(l, value_of_poly(l, v->dtype, &p));
    return sum_plus(l, v->dtype, base, v->sum.constant);
}

static struct ptx_operand make_address(struct lower *l, const struct value *v)
{
    struct ptx_operand reg;
    struct poly p = poly_of(l, v), followed, rest;
    if (from_anchor(l, v, &reg))
        return reg;
    frame_split(l, &p, &followed, &rest);
    if (p.constant != 0 && followed.count > 0 && rest.count == 0)
        return frame_stream(l, v);
    if (p.constant != 0)
        return far_address(l, v);
    if (followed.count == 0)
        return value_operand(l, v);
    if (rest.count == 0)
        return frame_stream(l, v);
    reg = address_register(l, value_of_poly(l, v->dtype, &followed));
    return sum_chain(l, v->dtype, &reg, &rest);
}

struct ptx_operand address_register(struct lower *l, const struct value *v)
{
    if (v->kind != VALUE_SUM)
        return value_register(l, v);
    if (v->placed)
        return v->place;
    struct detour d = detour_to(l, v->level);
    struct ptx_operand reg = make_address(l, v);
    if (!v->placed)
        value_place(l, v, reg);
    vec_push(l->arena, &l->values->anchors, v);
    detour_end(l, &d);
    return reg;
}

/* The constant that the register for p is to have in it. One that follows a loop begins where it
 * is first asked for, if that is far from where it would be otherwise. */
static int64_t constant_of_register(struct lower *l, enum dtype t, const struct poly *p)
{
    struct poly bare = *p, followed, rest;
    bare.constant = 0;
    const struct value *base = value_of_poly(l, t, &bare);
    bool small = p->constant > -OFFSET_SMALL && p->constant < OFFSET_SMALL;
    for (struct stream *s = l->frame ? l->frame->streams : NULL; s; s = s->next) {
        int64_t constant = s->key->kind == VALUE_SUM ? s->key->sum.constant : 0;
        if (constant != 0 && value_affine(l, base, 1, constant) == s->key)
            return constant + far_part(p->constant - constant);
    }
    if (small || base->placed || !value_wide(t))
        return far_part(p->constant);
    frame_split(l, &bare, &followed, &rest);
    return followed.count > 0 && rest.count == 0 ? p->constant : far_part(p->constant);
}

struct ptx_operand value_address(struct lower *l, const struct value *v)
{
    struct poly p = poly_of(l, v);
    int64_t offset = p.constant;
    p.constant = constant_of_register(l, v->dtype, &p);
    offset -= p.constant;
    return ptx_at(address_register(l, value_of_poly(l, v->dtype, &p)), offset);
}
