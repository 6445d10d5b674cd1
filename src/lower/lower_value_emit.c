/* Emitting values: once, where they belong. A value of level n does not change in the loops of
 * depth n + 1 and more: it is emitted in front of the one of depth n + 1. What its parts are
 * made of belongs there or further out, so it stands before it in any case. */
#include "lower/lower_value_graph.h"

#include <assert.h>

/* --- where to --- */

struct detour detour_to(struct lower *l, int level)
{
    struct detour d = {.frame = l->frame, .region = l->values->region};
    if (level >= value_depth(l))
        return d;
    struct frame *f = l->frame;
    while (f->depth > level + 1)
        f = f->outer;
    d.made = true;
    d.code = ptx_divert(&l->b, &f->before);
    l->frame = f->outer;
    l->values->region = f->region;
    return d;
}

void detour_end(struct lower *l, const struct detour *d)
{
    if (!d->made)
        return;
    ptx_divert(&l->b, d->code);
    l->frame = d->frame;
    l->values->region = d->region;
}

void value_place(struct lower *l, const struct value *v, struct ptx_operand at)
{
    struct value *placed = l->values->all.data[v->id];
    placed->placed = true;
    placed->place = at;
    vec_push(l->arena, &l->values->regions.data[l->values->region].placed, placed);
}

void values_forget(struct lower *l, size_t region)
{
    struct values *vs = l->values;
    for (size_t r = region; r < vs->regions.count; r++) {
        struct region *ending = &vs->regions.data[r];
        for (size_t i = 0; i < ending->placed.count; i++)
            ending->placed.data[i]->placed = false;
        ending->placed.count = 0;
    }
}

/* --- what --- */

static bool is_immediate(const struct value *v)
{
    if (!value_is_literal(v))
        return false;
    return v->dtype != DT_F16 && v->dtype != DT_BF16 && v->dtype != DT_BOOL;
}

static struct ptx_operand immediate(struct lower *l, const struct value *v)
{
    if (dtype_is_float(v->dtype))
        return op_constant(l, v->dtype, v->literal);
    return ptx_int(v->literal.i);
}

static struct ptx_operand emit_special(struct lower *l, const struct value *v)
{
    struct ptx_operand reg = op_register(l, v->dtype);
    ptx_emit(&l->b, "mov.u32", reg, v->reg);
    return reg;
}

/* op_emit takes immediates of 32 and 64 bits. */
static struct ptx_operand argument(struct lower *l, const struct value *v)
{
    return dtype_table[v->dtype].bits >= 32 ? value_operand(l, v) : value_register(l, v);
}

/* The types that op_emit is told. */
static enum dtype argument_type(const struct value *v)
{
    return v->op == OP_WHERE || v->count == 0 ? v->dtype : v->args[0]->dtype;
}

enum { MOST_ARGS = 4 };

/* a % n of 0 <= a < 2 n: a - n wraps round where a is less, and then is the greater one. */
static bool turns_once(const struct value *v)
{
    return v->op == OP_REM && (v->dtype == DT_I32 || v->dtype == DT_U32) &&
           value_is_literal(v->args[1]) && v->args[0]->facts.least >= 0 &&
           v->args[0]->facts.greatest < 2 * v->args[1]->literal.i;
}

static struct ptx_operand emit_turn(struct lower *l, const struct value *v)
{
    struct ptx_operand back = ptx_reg(&l->b, MOD_B32), reg = ptx_reg(&l->b, MOD_B32);
    struct ptx_operand a = value_register(l, v->args[0]);
    ptx_emit(&l->b, "add.s32", back, a, ptx_int(-v->args[1]->literal.i));
    ptx_emit(&l->b, "min.u32", reg, back, a);
    return reg;
}

static struct ptx_operand emit_op(struct lower *l, const struct value *v)
{
    struct ptx_operand args[MOST_ARGS];
    assert(v->count <= MOST_ARGS);
    if (turns_once(v))
        return emit_turn(l, v);
    for (int i = 0; i < v->count; i++)
        args[i] = argument(l, v->args[i]);
    if (v->op == OP_BITS)
        return op_bits(l, v->dtype, v->args[0]->dtype, args[0]);
    if (v->op != OP_CAST)
        return op_emit(l, v->op, v->dtype, argument_type(v), args, v->count);
    enum dtype from = v->args[0]->dtype;
    bool same_bits =
        value_sums(from) && value_sums(v->dtype) && value_wide(from) == value_wide(v->dtype);
    return same_bits ? args[0] : op_cast(l, v->dtype, from, args[0]);
}

static struct ptx_operand emit(struct lower *l, const struct value *v)
{
    switch (v->kind) {
    case VALUE_LITERAL: return op_constant(l, v->dtype, v->literal);
    case VALUE_LEAF: return emit_special(l, v);
    case VALUE_OP: return emit_op(l, v);
    default: return sum_emit(l, v);
    }
}

/* The counter of a loop is in its register as long as the loop has not stepped it. */
static void check_counter(const struct value *v)
{
    const struct counter *c = v->counter;
    assert(!c || !c->frame || !c->frame->latched || v == c->stepped);
    (void)c;
}

struct ptx_operand value_operand(struct lower *l, const struct value *v)
{
    if (v->kind == VALUE_LEAF && v->reg.kind == PTX_REGISTER) {
        check_counter(v);
        return v->reg;
    }
    if (is_immediate(v))
        return immediate(l, v);
    if (v->placed)
        return v->place;
    struct detour d = detour_to(l, v->level);
    struct ptx_operand made = emit(l, v);
    value_place(l, v, made);
    detour_end(l, &d);
    return made;
}

struct ptx_operand value_register(struct lower *l, const struct value *v)
{
    if (!is_immediate(v))
        return value_operand(l, v);
    if (v->placed)
        return v->place;
    struct detour d = detour_to(l, 0);
    struct ptx_operand reg = op_register(l, v->dtype);
    op_move(l, v->dtype, reg, immediate(l, v));
    value_place(l, v, reg);
    detour_end(l, &d);
    return reg;
}

struct ptx_operand value_copy(struct lower *l, const struct value *v)
{
    struct ptx_operand reg = op_register(l, v->dtype);
    value_into(l, v, reg);
    return reg;
}

/* The instruction just emitted, if it is what made the register, for itself alone. */
static struct ptx_instruction *maker_of(struct lower *l, struct ptx_operand reg)
{
    const struct ptx_statement *all =
        l->b.code ? l->b.code->statements.data : l->b.function->body.data;
    size_t count = l->b.code ? l->b.code->statements.count : l->b.function->body.count;
    while (count > 0 && all[count - 1].kind == PTX_AT_MARK)
        count--;
    const struct ptx_statement *s = count > 0 ? &all[count - 1] : NULL;
    if (!s || s->kind != PTX_AT_INSTRUCTION || s->instruction->guarded)
        return NULL;
    const struct ptx_operand *to = s->instruction->operands;
    bool made = s->instruction->operand_count > 1 && to->kind == PTX_REGISTER &&
                to->reg == reg.reg && !s->instruction->operands[1].joined;
    return made ? s->instruction : NULL;
}

/* Forgets all values in that register: v, and values of which v is only another type. They were
 * placed after the first `before` values of the region. */
static void forget_register(struct lower *l, struct ptx_operand reg, size_t before)
{
    struct region *r = &l->values->regions.data[l->values->region];
    for (size_t i = before; i < r->placed.count; i++) {
        struct value *v = r->placed.data[i];
        if (v->placed && v->place.kind == PTX_REGISTER && v->place.reg == reg.reg)
            v->placed = false;
    }
}

/* What changes when the register does is made in it right away, and is then not to be asked for
 * again. */
void value_into(struct lower *l, const struct value *v, struct ptx_operand reg)
{
    size_t registers = l->b.function->registers.count;
    size_t placed = l->values->regions.data[l->values->region].placed.count;
    struct ptx_operand from = value_operand(l, v);
    if (from.kind == PTX_REGISTER && from.reg == reg.reg)
        return;
    struct ptx_instruction *maker = NULL;
    if (v->fleeting && from.kind == PTX_REGISTER && !from.negated && from.reg >= registers)
        maker = maker_of(l, from);
    if (!maker) {
        op_move(l, v->dtype, reg, from);
        return;
    }
    maker->operands[0] = reg;
    forget_register(l, from, placed);
}
