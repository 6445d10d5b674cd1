/* Values of several elements that each thread of a thread-level kernel has for itself: its own arrays, and expressions of them.
 * A value is an array of scalars, one for each element, row-major. */
#include "emit/emit_fragment.h"
#include "plan/plan_layouts.h"

#include <string.h>

static struct scalar *new_values(struct emit *m, int64_t count)
{
    return arena_array(m->arena, struct scalar, count + 1);
}

/* --- shapes --- */

static void move(struct emit *m, const struct expr *e, struct scalar *v)
{
    const struct scalar *x = emit_elements(m, e->args[0]);
    int64_t at[MAX_RANK] = {0};
    for (int64_t i = 0; i < type_elements(&e->type); i++) {
        type_coordinates(&e->type, i, at);
        v[i] = emit_as(m, x[expr_moved_number(e, at)], e->type.dtype);
    }
}

/* --- along an axis --- */

static void reduce(struct emit *m, const struct expr *e, struct scalar *v)
{
    const struct scalar *x = emit_elements(m, e->args[0]);
    const struct line l = type_line(&e->args[0]->type, e->axis);
    const enum dtype t = e->type.dtype;
    for (int64_t i = 0; i < l.lines && !m->failed; i++) {
        const int64_t first = type_line_first(&l, i);
        v[i] = emit_as(m, x[first], t);
        for (int64_t k = 1; k < l.count; k++)
            v[i] =
                emit_pair(m, op_of_reduction(e->op), t, v[i], emit_as(m, x[first + k * l.step], t));
    }
}

static void scan(struct emit *m, const struct expr *e, struct scalar *v)
{
    const struct scalar *x = emit_elements(m, e->args[0]);
    const struct line l = type_line(&e->type, e->axis);
    const enum dtype t = e->type.dtype;
    for (int64_t i = 0; i < l.lines && !m->failed; i++) {
        int64_t at = type_line_first(&l, i);
        struct scalar sum = emit_scan_start(e, t);
        for (int64_t k = 0; k < l.count; k++, at += l.step) {
            const struct scalar one = emit_as(m, x[at], t), before = sum;
            sum = k == 0 && !e->exclusive ? one : emit_pair(m, e->scan_op, t, sum, one);
            v[at] = e->exclusive ? before : sum;
        }
    }
}

/* --- operations --- */

static void multiply(struct emit *m, const struct expr *e, struct scalar *v)
{
    const struct type *type = &e->type;
    const enum dtype t = type->dtype;
    const struct scalar *a = emit_elements(m, e->args[0]), *b = emit_elements(m, e->args[1]),
                        *c = NULL;
    const int64_t rows = type->extent[type->rank - 2], columns = type->extent[type->rank - 1],
                  steps = e->args[0]->type.extent[type->rank - 1];
    if (e->count > 2)
        c = emit_elements_as(m, e->args[2], type);
    for (int64_t i = 0; i < type_elements(type) && !m->failed; i++) {
        const int64_t batch = i / (rows * columns), row = i / columns % rows;
        v[i] = c ? emit_as(m, c[i], t) : emit_constant(t, 0);
        for (int64_t p = 0; p < steps; p++) {
            struct thread_operand args[] = {
                emit_as(m, a[(batch * rows + row) * steps + p], t).o, {0}, v[i].o};
            args[1] = emit_as(m, b[(batch * steps + p) * columns + i % columns], t).o;
            emit_apply(m, OP_FMA, t, args, 3, &v[i].o);
        }
    }
}

static void operate(struct emit *m, const struct expr *e, struct scalar *v)
{
    const struct scalar *args[EMIT_MOST_ARGS];
    if (!emit_is_of_elements(e)) {
        emit_missing(m, e->loc, arena_printf(m->arena, "`%s` of arrays", op_table[e->op].text),
                     NULL);
        return;
    }
    for (int i = 0; i < e->count; i++)
        args[i] = emit_elements_as(m, e->args[i], &e->type);
    for (int64_t i = 0; i < type_elements(&e->type) && !m->failed; i++) {
        struct scalar one[EMIT_MOST_ARGS] = {0};
        for (int j = 0; j < e->count; j++)
            one[j] = args[j][i];
        v[i] = emit_of_elements(m, e, one);
    }
}

/* Emits a branch, because the arm that is not taken may read outside a view. */
static void choose(struct emit *m, const struct expr *e, struct scalar *v)
{
    const int64_t count = type_elements(&e->type);
    struct scalar c = emit_as(m, emit_scalar(m, e->args[0]), DT_BOOL);
    if (c.o.kind != THREAD_VALUE) {
        const struct expr *arm = e->args[c.o.integer ? 1 : 2];
        memcpy(v, emit_elements_as(m, arm, &e->type), (size_t)count * sizeof *v);
        return;
    }
    emit_settle(m);
    const struct choice choice = emit_choice(m, c);
    for (int i = 1; i <= 2; i++) {
        emit_choice_arm(m, &choice);
        const struct scalar *x = emit_elements_as(m, e->args[i], &e->type);
        for (int64_t k = 0; k < count; k++)
            v[k] = emit_as(m, x[k], e->type.dtype);
        emit_settle(m);
        emit_choice_give(m, v, count);
    }
    emit_choice_end(m, &choice, (struct thread_type){.dtype = e->type.dtype, .count = 1}, v, count);
}

/* --- what the block does together --- */

bool emit_is_collective(const struct expr *e)
{
    return !e->type.varying && !expr_is_per_thread(e) &&
           !((e->op == OP_ACCESS || e->op == OP_REF) && e->sym->storage == ST_ARRAY);
}

bool emit_exchanges(const struct expr *e)
{
    return op_is_reduction(e->op) || e->op == OP_DOT || e->op == OP_SCAN;
}

static bool needs_layout(const struct expr *e)
{
    const bool of_symbol = e->op == OP_REF || e->op == OP_ACCESS;
    bool needs = emit_exchanges(e) || (of_symbol && e->sym->storage == ST_REG);
    for (int i = 0; i < e->count && !needs; i++)
        needs = needs_layout(e->args[i]);
    return needs && e->type.rank > 0;
}

bool emit_has_layout(const struct emit *m, const struct expr *e)
{
    return m->fragments && emit_is_collective(e) && needs_layout(e);
}

bool emit_is_reduced_by_block(const struct emit *m, const struct expr *e)
{
    return m->fragments && emit_is_collective(e->args[0]);
}

/* Returns the elements of a tile of the block, which each thread gets whole. */
static struct scalar *of_block(struct emit *m, const struct expr *e)
{
    return emit_fragment(m, e, plan_everywhere(m->layouts, &e->type)).v;
}

/* --- any expression --- */

struct scalar *emit_array_expr(struct emit *m, const struct expr *e)
{
    const int64_t count = type_elements(&e->type);
    struct scalar *v = new_values(m, count);
    for (int64_t i = 0; i < count; i++)
        v[i] = emit_constant(e->type.dtype, 0);
    if (m->failed)
        return v;
    if (emit_has_layout(m, e))
        return of_block(m, e);
    switch (e->op) {
    case OP_REF:
        if (e->type.rank == 0)
            v[0] = emit_scalar(m, e);
        else if (e->sym->storage == ST_ARRAY)
            return emit_own_elements(m, e->sym);
        else
            emit_missing(m, e->loc, "a register tile", NULL);
        break;
    case OP_ACCESS: return emit_load_part(m, e);
    case OP_TRANS:
    case OP_RESHAPE:
    case OP_REPEAT:
    case OP_REPEAT_INTERLEAVE:
    case OP_BROADCAST: move(m, e, v); break;
    case OP_IOTA:
        for (int64_t i = 0; i < count; i++)
            v[i] = emit_constant(e->type.dtype, i);
        break;
    case OP_SCAN: scan(m, e, v); break;
    case OP_DOT: multiply(m, e, v); break;
    default:
        if (op_is_atomic(e->op) && e->op != OP_ARRIVE)
            return emit_atomic(m, e);
        if (op_is_reduction(e->op) && !(e->type.rank == 0 && emit_is_reduced_by_block(m, e)))
            reduce(m, e, v);
        else if (e->type.rank == 0)
            v[0] = emit_scalar(m, e);
        else if (e->op == OP_SELECT)
            choose(m, e, v);
        else
            operate(m, e, v);
        break;
    }
    return v;
}

/* --- atomics --- */

/* Emits the atomic of one element. */
struct scalar emit_atomic_at(struct emit *m, const struct expr *e, const struct scalar *index,
                             const struct scalar *values, struct scalar inside, bool wanted)
{
    const struct sym *s = e->args[0]->sym;
    const enum dtype t = s->type.dtype;
    const bool guarded = inside.o.kind == THREAD_VALUE;
    struct scalar v = emit_constant(t, 0), none = v;
    struct thread_operand o[5];
    struct choice choice = {.outer = m->b.region};
    if (!guarded && !inside.o.integer)
        return none;
    emit_memory_at(m, s, index, o);
    for (int i = 0; i + 1 < e->count; i++)
        o[3 + i] = values[i].o;
    if (guarded) {
        choice = emit_choice(m, inside);
        emit_choice_arm(m, &choice);
    }
    v.o = thread_use(thread_add_counted(&m->b, emit_atomic_opcode(e->op), t, DT_NONE, 0, o,
                                        (size_t)e->count + 2));
    m->b.region = guarded && !wanted ? choice.outer : m->b.region;
    if (!guarded || !wanted)
        return v;
    emit_choice_give(m, &v, 1);
    emit_choice_arm(m, &choice);
    emit_choice_give(m, &none, 1);
    emit_choice_end(m, &choice, (struct thread_type){.dtype = t, .count = 1}, &v, 1);
    return v;
}

struct scalar *emit_atomic(struct emit *m, const struct expr *e)
{
    const struct expr *target = e->args[0];
    const int64_t count = type_elements(&target->type);
    const enum dtype t = target->type.dtype;
    const struct scalar *args[2] = {NULL, NULL};
    struct part_access p;
    struct scalar index[MAX_RANK], *old = new_values(m, count);
    for (int64_t i = 0; i < count; i++)
        old[i] = emit_constant(t, 0);
    for (int i = 1; i < e->count; i++)
        args[i - 1] = emit_elements_as(m, e->args[i], &target->type);
    const struct loc before = emit_at(m, e->loc);
    if (m->failed || !emit_has_atomic(m, e) || !emit_find_part(m, target, &p))
        return old;
    for (int64_t i = 0; i < count; i++) {
        struct scalar inside = emit_element_of(m, &p, i, index), values[2];
        for (int k = 0; k + 1 < e->count; k++)
            values[k] = emit_as(m, args[k][i], t);
        old[i] = emit_atomic_at(m, e, index, values, inside, true);
    }
    emit_at(m, before);
    return old;
}
