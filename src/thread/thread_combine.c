/* Combines loads of neighbouring elements of shared memory into one of 16 or 8 bytes, at the place of the first, and
 * stores, at the place of the last. Nothing between loads may write memory or wait, and nothing between stores may read
 * or write it or wait. */
#include "thread/thread_build.h"
#include "thread/thread_facts.h"

#include "base/number_map.h"

#include <string.h>

enum { MOST_BYTES = 16, WORD_BYTES = 4 };

struct combining {
    struct thread_builder build;
    struct number_map
        divisors; /* by access: of the bytes of its index without the constant, at most MOST_BYTES */
};

static bool is_candidate(const struct thread_operation *op)
{
    if (op->types[0] == DT_BOOL || op->types[0] == DT_NONE || dtype_size(op->types[0]) < WORD_BYTES)
        return false;
    if (op->op == THREAD_STORE_SHARED) {
        const struct thread_operand *v = &op->operands.data[1];
        return v->kind != THREAD_VALUE || v->value->type.count == 1;
    }
    return op->op == THREAD_LOAD_SHARED && op->results.data[0]->type.count == 1;
}

static void note_divisor(void *user, const struct thread_operation *op, const struct facts *facts)
{
    struct combining *c = user;
    bool added;
    if (!is_candidate(op))
        return;
    const struct thread_value *index = op->operands.data[0].value;
    int64_t divisor = MOST_BYTES, size = thread_element_bytes(op->operands.data[0].object),
            known = index ? facts_divisor(&facts[index->number]) % MOST_BYTES * size : 0;
    while (known % divisor != 0)
        divisor /= 2;
    number_map_entry(c->build.arena, &c->divisors, (uintptr_t)op, &added)->value =
        (uintptr_t)divisor;
}

/* Elements that are neighbours, from an aligned one on. */
struct neighbours {
    size_t count;
    int64_t first;                      /* the constant of the first one's index */
    size_t at[MOST_BYTES / WORD_BYTES]; /* the accesses' places */
};

/* Finds the accesses after that at place `from` to the others of these elements. If one of two stores to an element would
 * move past the other, there are none. */
static bool find_others(const struct thread_region *r, size_t from, const bool *taken,
                        struct neighbours *n)
{
    const struct thread_operation *op = r->operations.data[from];
    const struct thread_operand *o = &op->operands.data[0];
    const bool stores = op->op == THREAD_STORE_SHARED;
    size_t left = n->count - 1;
    uint32_t seen = 1u << (o->integer - n->first);
    n->at[o->integer - n->first] = from;
    for (size_t i = from + 1; i < r->operations.count && left > 0; i++) {
        const struct thread_operation *other = r->operations.data[i];
        const enum thread_effects effects = thread_op_table[other->op].effects;
        const struct thread_operand *at = other->operands.data;
        const bool sister = other->op == op->op && is_candidate(other) && at->object == o->object &&
                            at->value == o->value;
        if (effects != THREAD_PURE && !(sister && stores) && (stores || effects != THREAD_READS))
            return false;
        const int64_t away = sister ? at->integer - n->first : -1;
        if (away < 0 || away >= (int64_t)n->count)
            continue;
        if (stores && (taken[i] || seen >> away & 1))
            return false;
        if (taken[i] || seen >> away & 1 || other->types[0] != op->types[0])
            continue;
        seen |= 1u << away;
        n->at[away] = i;
        left--;
    }
    return left == 0;
}

/* Returns the neighbours that the access at place `from` is the first access to; their count is 1 if it has none. */
static struct neighbours find_neighbours(const struct thread_region *r, size_t from,
                                         const bool *taken, int64_t divisor)
{
    const struct thread_operand *o = &r->operations.data[from]->operands.data[0];
    const int64_t size = thread_element_bytes(o->object);
    struct neighbours n = {0};
    for (n.count = (size_t)(divisor / size); n.count > 1; n.count /= 2) {
        n.first = o->integer - ((o->object->at / size + o->integer) & (int64_t)(n.count - 1));
        if (o->object->at % size == 0 && n.first >= 0 && find_others(r, from, taken, &n))
            return n;
    }
    n.count = 1;
    return n;
}

static struct thread_operation *part_of(struct combining *c, struct thread_value *group,
                                        struct thread_operation *load, int64_t number)
{
    struct thread_operation *op = arena_new(c->build.arena, struct thread_operation);
    const struct thread_operand operands[] = {thread_use(group), thread_integer(number),
                                              thread_integer(1), thread_integer(1)};
    *op = (struct thread_operation){.op = THREAD_PART, .where = load->where};
    memcpy(op->types, load->types, sizeof op->types);
    for (size_t i = 0; i < 4; i++)
        vec_push(c->build.arena, &op->operands, operands[i]);
    vec_push(c->build.arena, &op->results, load->results.data[0]);
    return op;
}

/* Adds the store of all, at the place of the last. */
static void add_store(struct combining *c, struct thread_region *to, const struct thread_region *r,
                      const struct neighbours *n, size_t last)
{
    const struct thread_operation *first = r->operations.data[n->at[0]];
    struct thread_operand values[MOST_BYTES / WORD_BYTES];
    for (size_t i = 0; i < n->count; i++)
        values[i] = r->operations.data[n->at[i]]->operands.data[1];
    c->build.region = to;
    c->build.where = r->operations.data[last]->where;
    struct thread_value *group =
        thread_add_counted(&c->build, THREAD_JOIN, first->types[0], DT_NONE, 0, values, n->count);
    THREAD_ADD_OP(&c->build, THREAD_STORE_SHARED, first->types[0], DT_NONE, first->operands.data[0],
                  thread_use(group));
}

/* Adds the load of all, at the place of the first. */
static void add_load(struct combining *c, struct thread_region *to, const struct thread_region *r,
                     const struct neighbours *n, const struct thread_operation *op)
{
    const enum dtype t = op->types[0];
    c->build.region = to;
    c->build.where = op->where;
    struct thread_value *group =
        thread_add_counted(&c->build, THREAD_LOAD_SHARED, t, DT_NONE, (uint16_t)n->count,
                           &r->operations.data[n->at[0]]->operands.data[0], 1);
    for (size_t i = 0; i < n->count; i++)
        vec_push(c->build.arena, &to->operations,
                 part_of(c, group, r->operations.data[n->at[i]], (int64_t)i));
}

static bool any_value(const struct thread_region *r, const struct neighbours *n)
{
    for (size_t i = 0; i < n->count; i++)
        if (r->operations.data[n->at[i]]->operands.data[1].kind == THREAD_VALUE)
            return true;
    return false;
}

static size_t last_of(const struct neighbours *n)
{
    size_t last = n->at[0];
    for (size_t i = 1; i < n->count; i++)
        last = n->at[i] > last ? n->at[i] : last;
    return last;
}

static void combine_region(struct combining *c, struct thread_region *r)
{
    VEC(struct neighbours) later = {0}; /* stores */
    struct thread_region to = {0};
    bool *taken = arena_array(c->build.arena, bool, r->operations.count + 1);
    for (size_t i = 0; i < r->operations.count; i++) {
        struct thread_operation *op = r->operations.data[i];
        const struct number_entry *e = number_map_find(&c->divisors, (uintptr_t)op);
        struct neighbours n = {.count = 1};
        for (size_t j = 0; j < op->regions.count; j++)
            combine_region(c, op->regions.data[j]);
        for (size_t j = 0; j < later.count; j++)
            if (last_of(&later.data[j]) == i)
                add_store(c, &to, r, &later.data[j], i);
        if (taken[i])
            continue;
        const bool stores = op->op == THREAD_STORE_SHARED;
        if (e)
            n = find_neighbours(r, i, taken, (int64_t)e->value);
        if (n.count == 1 || (stores && !any_value(r, &n))) {
            vec_push(c->build.arena, &to.operations, op);
            continue;
        }
        for (size_t j = 0; j < n.count; j++)
            taken[n.at[j]] = true;
        if (stores)
            vec_push(c->build.arena, &later, n);
        else
            add_load(c, &to, r, &n, op);
    }
    r->operations.data = to.operations.data;
    r->operations.count = to.operations.count;
    r->operations.capacity = to.operations.capacity;
}

void thread_combine(struct arena *a, struct thread_function *f)
{
    struct combining c = {.build = {.arena = a, .function = f, .where = f->where}};
    thread_facts_walk(a, f, note_divisor, &c);
    combine_region(&c, f->body);
}
