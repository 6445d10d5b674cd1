/* Register tiles of roles: fragments whose registers are the parts of a tile, block by block. */
#include "emit/emit_fragment.h"

#include <math.h>

static const struct tile no_tile = {.form = TILE_UNIFORM, .dtype = DT_F32, .blocks = 1};

/* Returns part `part` of a tile: `count` registers as one value. */
static struct thread_operand part_of(struct emit *m, struct fragment *f, int part, int32_t count)
{
    for (int32_t r = part * count; !f->groups && f->dtype == DT_BOOL && r < (part + 1) * count; r++)
        f->v[r].o = emit_predicate(m, f->v[r]);
    return emit_fragment_part(m, f, part * count, count);
}

static struct tile from_fragment(struct emit *m, const struct expr *e)
{
    struct tile t = emit_tile_like(&e->type, emit_blocks(m, &e->type, e->loc));
    if (m->failed)
        return t;
    struct fragment f = emit_fragment_grouped(m, e, plan_blocked(m->layouts, &e->type, 0));
    if (m->failed)
        return t;
    t.dtype = f.dtype;
    if (emit_fragment_is_uniform(&f))
        return emit_uniform(f.v[0]);
    int elements, parts = emit_parts(t.form, t.blocks, t.columns, &elements);
    for (int i = 0; i < parts; i++)
        t.part[i] = part_of(m, &f, i, elements);
    return t;
}

struct fragment emit_fragment_of_role(struct emit *m, const struct expr *e)
{
    struct fragment f = emit_fragment_new(m, e->type.dtype, plan_blocked(m->layouts, &e->type, 0));
    struct tile t = emit_tile(m, e);
    if (!m->failed && t.form != TILE_UNIFORM)
        t = emit_spread(m, &t, &e->type, e->loc);
    if (m->failed)
        return f;
    f.dtype = t.dtype;
    int elements, parts = emit_parts(t.form, t.blocks, t.columns, &elements);
    if (t.form != TILE_UNIFORM && elements > 1) {
        f.each = elements;
        f.groups = arena_array(m->arena, struct thread_operand, parts);
        for (int i = 0; i < parts; i++)
            f.groups[i] = t.part[i];
        return f;
    }
    for (int32_t r = 0; r < f.count; r++)
        f.v[r] = (struct scalar){t.part[t.form == TILE_UNIFORM ? 0 : r], t.dtype};
    return f;
}

struct tile emit_tile_expr(struct emit *m, const struct expr *e)
{
    if (m->failed)
        return no_tile;
    if (e->type.rank == 0)
        return emit_uniform(emit_scalar(m, e));
    switch (e->op) {
    case OP_ACCESS:
        if (e->sym->storage == ST_SHARED)
            return emit_shared_load(m, e);
        if (e->sym->storage == ST_VIEW)
            return emit_view_load(m, e);
        break;
    case OP_DOT: return emit_dot(m, e);
    case OP_BROADCAST: return emit_tile(m, e->args[0]);
    default: break;
    }
    return from_fragment(m, e);
}

/* --- assignments --- */

static bool is_zero(const struct fragment *f)
{
    const struct thread_operand *o = f->v ? &f->v[0].o : NULL;
    return o && emit_fragment_is_uniform(f) &&
           ((o->kind == THREAD_INTEGER && o->integer == 0) ||
            (o->kind == THREAD_FLOAT && o->real == 0 && !signbit(o->real)));
}

void emit_tile_assign(struct emit *m, struct variable *v, const struct expr *value)
{
    const struct layout *l = plan_symbol(m->layouts, v->sym);
    const enum dtype t = v->sym->type.dtype;
    struct fragment f = value ? emit_fragment_grouped(m, value, l) : emit_fragment_new(m, t, l);
    const int parts = v->count - v->sums;
    if (m->failed)
        return;
    if (v->flight > 0) {
        emit_error(m, value ? value->loc : m->b.where,
                   "`%s` is assigned while a product may still add to it", v->sym->name);
        diag_note(m->diag, value ? value->loc : m->b.where,
                  "wait for the product before: `dot_wait(0)`");
        return;
    }
    f = emit_fragment_cast(m, &f, t);
    const bool zero = v->sums && is_zero(&f);
    for (int i = 0; zero && i < parts; i++)
        v->slots[i].o =
            thread_use(thread_add_counted(&m->b, THREAD_UNDEFINED, v->slots[i].type.dtype, DT_NONE,
                                          v->slots[i].type.count, NULL, 0));
    for (int i = 0; !zero && i < parts; i++)
        v->slots[i].o = part_of(m, &f, i, f.count / parts);
    if (v->sums)
        v->slots[parts].o = thread_integer(!zero);
}
