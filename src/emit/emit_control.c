/* Branches and loops that an expression, a copy or an exchange needs. */
#include "emit/emit_own.h"

struct thread_region *emit_open_if(struct emit *m, struct scalar predicate)
{
    struct thread_region *outer = m->b.region;
    if (predicate.o.kind != THREAD_VALUE && predicate.o.integer)
        return outer;
    struct thread_region *body = arena_new(m->arena, struct thread_region);
    if (predicate.o.kind == THREAD_VALUE) {
        struct thread_operation *o = thread_add_control(&m->b, THREAD_IF);
        vec_push(m->arena, &o->operands, predicate.o);
        vec_push(m->arena, &o->regions, body);
    }
    m->b.region = body;
    return outer;
}

struct open_loop emit_open_loop(struct emit *m)
{
    emit_settle(m);
    struct open_loop l = {thread_add_control(&m->b, THREAD_LOOP), m->b.region};
    m->b.region = arena_new(m->arena, struct thread_region);
    vec_push(m->arena, &l.operation->regions, m->b.region);
    return l;
}

struct thread_operand emit_loop_argument(struct emit *m, const struct open_loop *l,
                                         struct thread_operand first, struct thread_type type)
{
    struct thread_value *v = thread_new_value(&m->b, type);
    vec_push(m->arena, &l->operation->operands, first);
    vec_push(m->arena, &l->operation->regions.data[0]->arguments, v);
    return thread_use(v);
}

struct thread_operation *emit_loop_leave(struct emit *m, struct scalar predicate)
{
    emit_settle(m);
    struct thread_operation *leave = thread_add_control(&m->b, THREAD_BREAK_IF);
    vec_push(m->arena, &leave->operands, predicate.o);
    return leave;
}

void emit_close_loop(struct emit *m, const struct open_loop *l, const struct thread_operand *values,
                     int count)
{
    emit_settle(m);
    struct thread_operation *again = thread_add_control(&m->b, THREAD_CONTINUE);
    for (int i = 0; i < count; i++)
        vec_push(m->arena, &again->operands, values[i]);
    m->b.region = l->outer;
}

struct choice emit_choice(struct emit *m, struct scalar predicate)
{
    struct choice c = {thread_add_control(&m->b, THREAD_IF), m->b.region, m->place.touched};
    vec_push(m->arena, &c.operation->operands, predicate.o);
    return c;
}

void emit_choice_arm(struct emit *m, const struct choice *c)
{
    m->place.touched |= c->touched;
    m->b.region = arena_new(m->arena, struct thread_region);
    vec_push(m->arena, &c->operation->regions, m->b.region);
}

void emit_choice_give(struct emit *m, const struct scalar *values, int64_t count)
{
    struct thread_operation *yield = thread_add_control(&m->b, THREAD_YIELD);
    for (int64_t i = 0; i < count; i++)
        vec_push(m->arena, &yield->operands, values[i].o);
}

void emit_choice_end(struct emit *m, const struct choice *c, struct thread_type type,
                     struct scalar *results, int64_t count)
{
    m->place.touched |= c->touched;
    m->b.region = c->outer;
    for (int64_t i = 0; i < count; i++) {
        struct thread_value *v = thread_new_value(&m->b, type);
        vec_push(m->arena, &c->operation->results, v);
        results[i] = (struct scalar){thread_use(v), type.dtype};
    }
}
