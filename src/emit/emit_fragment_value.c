/* Fragments as values: their registers alone or in groups, as other types, in layouts that the plan prefers. */
#include "emit/emit_fragment.h"

struct fragment emit_fragment_new(struct emit *m, enum dtype t, const struct layout *layout)
{
    struct fragment f = {.dtype = t, .layout = layout, .count = emit_registers(layout)};
    f.v = arena_room(m->arena, ((size_t)f.count + 1) * sizeof *f.v);
    const struct scalar zero = emit_constant(t, 0);
    for (int32_t r = 0; r < f.count; r++)
        f.v[r] = zero;
    return f;
}

bool emit_fragment_is_uniform(const struct fragment *f)
{
    bool same = !f->groups;
    for (int32_t r = 1; same && r < f->count; r++)
        same = thread_same_operand(&f->v[r].o, &f->v[0].o);
    return same;
}

void emit_fragment_apart(struct emit *m, struct fragment *f)
{
    if (!f->groups)
        return;
    f->v = arena_room(m->arena, ((size_t)f->count + 1) * sizeof *f->v);
    for (int32_t r = 0; r < f->count; r += f->each) {
        f->v[r] = (struct scalar){f->groups[r / f->each], f->dtype};
        emit_take_apart(m, &f->v[r], f->each);
    }
    f->groups = NULL;
}

struct thread_operand emit_fragment_part(struct emit *m, const struct fragment *f, int32_t first,
                                         int32_t count)
{
    if (f->groups && f->each % count == 0) {
        const struct thread_operand group = f->groups[first / f->each];
        return f->each == count ? group : emit_part(m, f->dtype, group, first % f->each, count, 1);
    }
    struct fragment x = *f;
    struct thread_operand *all = arena_array(m->arena, struct thread_operand, count);
    emit_fragment_apart(m, &x);
    for (int32_t i = 0; i < count; i++)
        all[i] = x.v[first + i].o;
    return emit_join(m, f->dtype, all, count);
}

/* Returns how many elements one instruction converts: those of a word. */
static int32_t cast_together(enum dtype from, enum dtype to)
{
    if (from == DT_F32 && (dtype_is_byte_float(to) || dtype_is_half(to)))
        return (int32_t)(sizeof(float) / dtype_size(to));
    return dtype_is_byte_float(from) && to == DT_F16 ? 4 : 1;
}

/* Casts each group by one operation. */
static struct fragment cast_groups(struct emit *m, const struct fragment *f, enum dtype t)
{
    struct fragment out = *f;
    if (f->dtype == t)
        return out;
    out.dtype = t;
    out.groups = arena_array(m->arena, struct thread_operand, f->count / f->each + 1);
    for (int32_t g = 0; g < f->count / f->each; g++)
        out.groups[g] = emit_cast(m, t, f->dtype, f->groups[g]);
    return out;
}

struct fragment emit_fragment_cast(struct emit *m, const struct fragment *f, enum dtype t)
{
    enum { MOST = 4 };
    struct fragment x = *f;
    if (m->layouts->of_role && (x.groups || f->dtype == t))
        return cast_groups(m, f, t);
    emit_fragment_apart(m, &x);
    if (f->dtype == t)
        return x;
    struct fragment out = emit_fragment_new(m, t, f->layout);
    const int32_t each = f->count % cast_together(f->dtype, t) ? 1 : cast_together(f->dtype, t);
    for (int32_t r = 0; r < f->count; r += each) {
        struct thread_operand all[MOST];
        bool values = each > 1;
        for (int32_t i = 0; i < each; i++) {
            all[i] = x.v[r + i].o;
            values &= all[i].kind == THREAD_VALUE;
        }
        for (int32_t i = 0; i < each && !values; i++)
            out.v[r + i] = emit_as(m, x.v[r + i], t);
        if (!values)
            continue;
        out.v[r] = (struct scalar){emit_cast(m, t, f->dtype, emit_join(m, f->dtype, all, each)), t};
        emit_take_apart(m, &out.v[r], each);
    }
    return out;
}

struct fragment emit_fragment_grouped(struct emit *m, const struct expr *e,
                                      const struct layout *wanted)
{
    return m->tree->fragment(m, e, wanted);
}

struct fragment emit_fragment(struct emit *m, const struct expr *e, const struct layout *layout)
{
    struct fragment f = emit_fragment_grouped(m, e, layout);
    emit_fragment_apart(m, &f);
    return f;
}

struct fragment emit_fragment_natural(struct emit *m, const struct expr *e)
{
    const struct layout *natural = plan_natural(m->layouts, e);
    return emit_fragment(m, e, natural ? natural : plan_blocked(m->layouts, &e->type, 0));
}

struct fragment emit_fragment_shaped(struct emit *m, const struct expr *e, const struct type *t)
{
    struct type blocked = *t;
    if (type_same_shape(&e->type, t))
        return emit_fragment_natural(m, e);
    blocked.dtype = e->type.dtype;
    return emit_fragment(m, e, plan_blocked(m->layouts, &blocked, 0));
}
