/* Groups: several values of a thread that are one value of thread IR. */
#include "emit/emit_own.h"

struct thread_operand emit_part(struct emit *m, enum dtype t, struct thread_operand v, int first,
                                int count, int step)
{
    return thread_use(THREAD_ADD_OP(&m->b, THREAD_PART, t, DT_NONE, v, thread_integer(first),
                                    thread_integer(count), thread_integer(step)));
}

static struct thread_operand join_all(struct emit *m, enum dtype t,
                                      const struct thread_operand *values, int count)
{
    enum { EACH = 4 };
    struct thread_operand joined[EACH];
    int parts = count < EACH ? count : EACH, done = 0;
    if (count == 1)
        return values[0];
    for (int i = 0; i < parts; i++) {
        int next = (int)((int64_t)count * (i + 1) / parts);
        joined[i] = join_all(m, t, values + done, next - done);
        done = next;
    }
    return thread_use(thread_add_counted(&m->b, THREAD_JOIN, t, DT_NONE, 0, joined, (size_t)parts));
}

/* The elements that a region has taken out of a group. */
struct apart {
    const struct thread_region *region;
    size_t at; /* index of the operation that took the first one, unless the region was cut since */
    int count;
    struct thread_operand *elements;
};

/* Returns the operation that took this element out of a group; NULL: it is none. */
static const struct thread_operation *taken_of(const struct emit *m, const struct thread_operand *o)
{
    const struct thread_operation *by = thread_definition(&m->b, o);
    return by && by->op == THREAD_PART && o->value->type.count == 1 ? by : NULL;
}

/* Joins values. Neighbours that were taken out of one group become a part of that group. */
struct thread_operand emit_join(struct emit *m, enum dtype t, const struct thread_operand *values,
                                int count)
{
    struct thread_operand *pieces = arena_room(m->arena, (size_t)count * sizeof *pieces);
    int all = 0;
    for (int i = 0, n; i < count; i += n) {
        const struct thread_operation *first = taken_of(m, &values[i]), *next;
        const struct thread_operand *from = first ? first->operands.data : NULL;
        for (n = 1; first && i + n < count; n++) {
            next = taken_of(m, &values[i + n]);
            if (!next || next->operands.data[0].value != from[0].value ||
                next->operands.data[1].integer != from[1].integer + n)
                break;
        }
        pieces[all] = values[i];
        if (n > 1 && n == from[0].value->type.count)
            pieces[all] = from[0];
        else if (n > 1)
            pieces[all] = emit_part(m, t, from[0], (int)from[1].integer, n, 1);
        all++;
    }
    return join_all(m, t, pieces, all);
}

/* Returns a group of `count` equal elements. */
struct thread_operand emit_splat(struct emit *m, enum dtype t, struct thread_operand v, int count)
{
    enum { MOST = 256 };
    struct thread_operand all[MOST];
    if (dtype_is_half(t) && v.kind == THREAD_VALUE)
        return emit_cast(m, t, DT_F32,
                         emit_splat(m, DT_F32, emit_as(m, (struct scalar){v, t}, DT_F32).o, count));
    if (t == DT_BOOL)
        v = emit_predicate(m, (struct scalar){v, t});
    for (int i = 0; i < count; i++)
        all[i] = v;
    return emit_join(m, t, all, count);
}

/* Gives the elements if this region has taken the group apart before. */
static bool is_apart(const struct emit *m, const struct apart *p, struct scalar *v, int count)
{
    const struct thread_region *r = m->b.region;
    if (p->region != r || p->count != count || p->at >= r->operations.count ||
        r->operations.data[p->at]->results.count != 1 ||
        r->operations.data[p->at]->results.data[0] != p->elements[0].value)
        return false;
    const enum dtype t = v[0].dtype;
    for (int i = 0; i < count; i++)
        v[i] = (struct scalar){p->elements[i], t};
    return true;
}

/* Takes apart a group that was joined of values: into these values. */
static void take_joined(struct emit *m, struct scalar *v, const struct thread_operation *join)
{
    const enum dtype t = v->dtype;
    int count = 0;
    for (size_t i = 0; i < join->operands.count; i++) {
        const struct thread_operand *o = &join->operands.data[i];
        const int each = o->kind == THREAD_VALUE ? o->value->type.count : 1;
        v[count] = (struct scalar){*o, t};
        emit_take_apart(m, &v[count], each);
        count += each;
    }
}

void emit_take_apart(struct emit *m, struct scalar *v, int count)
{
    const struct scalar all = v[0];
    const struct thread_operation *by = thread_definition(&m->b, &all.o);
    bool added;
    if (all.o.kind != THREAD_VALUE || all.o.value->type.count == 1)
        return;
    if (by && by->op == THREAD_JOIN) {
        take_joined(m, v, by);
        return;
    }
    struct number_entry *known =
        number_map_entry(m->arena, &m->apart, (uintptr_t)all.o.value, &added);
    if (!added && is_apart(m, (const struct apart *)(uintptr_t)known->value, v, count))
        return;
    struct apart *apart = arena_new(m->arena, struct apart);
    *apart = (struct apart){m->b.region, m->b.region->operations.count, count,
                            arena_room(m->arena, (size_t)count * sizeof *apart->elements)};
    known->value = (uintptr_t)apart;
    for (int i = 0; i < count; i++) {
        apart->elements[i] = emit_part(m, all.dtype, all.o, i, 1, 1);
        v[i] = (struct scalar){apart->elements[i], all.dtype};
    }
}
