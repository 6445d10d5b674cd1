/* Unrolls the loops that ask for it: the region is copied, and what `continue` passed becomes the next copy's
 * arguments. */
#include "thread/thread.h"

#include "base/name_table.h"

#include <string.h>

struct unrolling {
    struct arena *arena;
    struct thread_function *function;
    struct name_table names;
};

/* A copy of a region under way: by the number of an old value, the new one; NULL: it is defined outside. */
struct copying {
    struct unrolling *u;
    struct thread_value **new;
    uint32_t values;
    uint32_t copy;
};

static void note_name(struct unrolling *u, const struct thread_value *v)
{
    if (v->name)
        name_table_entry(&u->names, v->name, strlen(v->name));
}

static void note_names(struct unrolling *u, const struct thread_region *r)
{
    for (size_t i = 0; i < r->arguments.count; i++)
        note_name(u, r->arguments.data[i]);
    for (size_t i = 0; i < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        for (size_t j = 0; j < op->results.count; j++)
            note_name(u, op->results.data[j]);
        for (size_t j = 0; j < op->regions.count; j++)
            note_names(u, op->regions.data[j]);
    }
}

/* Returns a name that no value has: that of the old value with the number of the copy. */
static const char *new_name(struct unrolling *u, const char *old, uint32_t copy)
{
    const char *name = arena_printf(u->arena, "%s_copy%u", old, copy);
    while (name_table_find(&u->names, name, strlen(name)))
        name = arena_printf(u->arena, "%s_", name);
    name_table_entry(&u->names, name, strlen(name));
    return name;
}

static struct thread_value *copy_value(struct copying *c, const struct thread_value *v)
{
    struct thread_value *new = arena_new(c->u->arena, struct thread_value);
    *new = *v;
    if (v->name)
        new->name = new_name(c->u, v->name, c->copy);
    new->number = c->u->function->values++;
    c->new[v->number] = new;
    return new;
}

static struct thread_region *copy_region(struct copying *c, const struct thread_region *r);

static struct thread_operation *copy_operation(struct copying *c, const struct thread_operation *op)
{
    struct arena *a = c->u->arena;
    struct thread_operation *new = arena_new(a, struct thread_operation);
    new->op = op->op;
    memcpy(new->types, op->types, sizeof new->types);
    new->where = op->where;
    new->turn = op->turn;
    new->unroll = op->unroll;
    for (size_t i = 0; i < op->operands.count; i++) {
        struct thread_operand o = op->operands.data[i];
        if (o.value && o.value->number < c->values && c->new[o.value->number])
            o.value = c->new[o.value->number];
        vec_push(a, &new->operands, o);
    }
    for (size_t i = 0; i < op->regions.count; i++)
        vec_push(a, &new->regions, copy_region(c, op->regions.data[i]));
    for (size_t i = 0; i < op->results.count; i++)
        vec_push(a, &new->results, copy_value(c, op->results.data[i]));
    return new;
}

static struct thread_region *copy_region(struct copying *c, const struct thread_region *r)
{
    struct thread_region *new = arena_new(c->u->arena, struct thread_region);
    new->first_warp = r->first_warp;
    new->warps = r->warps;
    new->registers = r->registers;
    for (size_t i = 0; i < r->arguments.count; i++)
        vec_push(c->u->arena, &new->arguments, copy_value(c, r->arguments.data[i]));
    for (size_t i = 0; i < r->operations.count; i++)
        vec_push(c->u->arena, &new->operations, copy_operation(c, r->operations.data[i]));
    return new;
}

/* Returns whether a region has a `continue` of the loop around it. */
static bool continues(const struct thread_region *r)
{
    for (size_t i = 0; i < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        if (op->op == THREAD_CONTINUE)
            return true;
        for (size_t j = 0; op->op != THREAD_LOOP && j < op->regions.count; j++)
            if (continues(op->regions.data[j]))
                return true;
    }
    return false;
}

const struct thread_operation *thread_only_continue(const struct thread_operation *loop)
{
    struct thread_region before = *loop->regions.data[0];
    if (before.operations.count == 0)
        return NULL;
    const struct thread_operation *last = before.operations.data[--before.operations.count];
    return last->op == THREAD_CONTINUE && !continues(&before) ? last : NULL;
}

static void unroll_loop(struct unrolling *u, struct thread_operation *loop)
{
    struct thread_region *r = loop->regions.data[0];
    const size_t count = r->operations.count - 1;
    const uint32_t values = u->function->values;
    struct thread_operation *first = r->operations.data[count], *last = first;
    r->operations.count = count;
    for (uint32_t copy = 1; copy < loop->unroll; copy++) {
        struct copying c = {u, arena_array(u->arena, struct thread_value *, values), values, copy};
        for (size_t i = 0; i < r->arguments.count; i++)
            c.new[r->arguments.data[i]->number] = last->operands.data[i].value;
        for (size_t i = 0; i < count; i++)
            vec_push(u->arena, &r->operations, copy_operation(&c, r->operations.data[i]));
        last = copy_operation(&c, first);
    }
    vec_push(u->arena, &r->operations, last);
    loop->unroll = 0;
}

static void unroll_region(struct unrolling *u, struct thread_region *r)
{
    for (size_t i = 0; i < r->operations.count; i++) {
        struct thread_operation *op = r->operations.data[i];
        for (size_t j = 0; j < op->regions.count; j++)
            unroll_region(u, op->regions.data[j]);
        if (op->unroll > 1)
            unroll_loop(u, op);
    }
}

static bool asks(const struct thread_region *r)
{
    for (size_t i = 0; i < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        if (op->unroll > 1)
            return true;
        for (size_t j = 0; j < op->regions.count; j++)
            if (asks(op->regions.data[j]))
                return true;
    }
    return false;
}

void thread_unroll(struct arena *a, struct thread_function *f)
{
    if (!asks(f->body))
        return;
    struct unrolling u = {.arena = a, .function = f};
    name_table_init(&u.names, a);
    for (size_t i = 0; i < f->parameters.count; i++)
        note_name(&u, f->parameters.data[i]);
    note_names(&u, f->body);
    unroll_region(&u, f->body);
}
