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
        divisors; /* by load: what divides its address in shared memory, at most MOST_BYTES */
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
    const struct thread_operand *o = &op->operands.data[0];
    const int64_t size = thread_element_bytes(o->object), at = o->object->at + o->integer * size;
    struct facts index = o->value ? facts[o->value->number] : facts_exactly(0),
                 each = facts_exactly(size), first = facts_exactly(at),
                 bytes = facts_product(&index, &each);
    bytes = facts_sum(&bytes, &first);
    int64_t divisor = MOST_BYTES, known = facts_divisor(&bytes);
    while (known % divisor != 0)
        divisor /= 2;
    number_map_entry(c->build.arena, &c->divisors, (uintptr_t)op, &added)->value =
        (uintptr_t)divisor;
}

/* Returns the place of the access to the element `distance` after that of operation `from`; 0: there is none. A store
 * to one of the `count` elements that comes a second time is none, because it has to come last. */
static size_t find_neighbour(const struct thread_region *r, size_t from, int64_t distance,
                             size_t count, const bool *taken)
{
    uint32_t seen = 1;
    const struct thread_operation *first = r->operations.data[from];
    const struct thread_operand *o = &first->operands.data[0];
    for (size_t i = from + 1; i < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        const enum thread_effects effects = thread_op_table[op->op].effects;
        const bool stores = first->op == THREAD_STORE_SHARED;
        const struct thread_operand *at = op->operands.count ? &op->operands.data[0] : NULL;
        const bool sister =
            stores && op->op == first->op && at->object == o->object && at->value == o->value;
        if (effects != THREAD_PURE && !sister && (stores || effects != THREAD_READS))
            return 0;
        if (op->op != first->op || at->object != o->object || at->value != o->value)
            continue;
        const int64_t away = at->integer - o->integer;
        if (stores && !is_candidate(op))
            return 0;
        if (stores && (away < 0 || away >= (int64_t)count))
            continue;
        if (stores && (taken[i] || seen >> away & 1))
            return 0;
        if (away == distance && !taken[i] && op->types[0] == first->types[0] && is_candidate(op))
            return i;
        if (stores)
            seen |= 1u << away;
    }
    return 0;
}

static bool find_neighbours(const struct thread_region *r, size_t from, size_t count,
                            const bool *taken, size_t *at)
{
    at[0] = from;
    for (size_t i = 1; i < count; i++) {
        at[i] = find_neighbour(r, from, (int64_t)i, count, taken);
        if (!at[i])
            return false;
    }
    return true;
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
                      const size_t *at, size_t count, size_t last)
{
    const struct thread_operation *first = r->operations.data[at[0]];
    struct thread_operand values[MOST_BYTES / WORD_BYTES];
    for (size_t i = 0; i < count; i++)
        values[i] = r->operations.data[at[i]]->operands.data[1];
    c->build.region = to;
    c->build.where = r->operations.data[last]->where;
    struct thread_value *group =
        thread_add_counted(&c->build, THREAD_JOIN, first->types[0], DT_NONE, 0, values, count);
    THREAD_ADD_OP(&c->build, THREAD_STORE_SHARED, first->types[0], DT_NONE, first->operands.data[0],
                  thread_use(group));
}

static bool any_value(const struct thread_region *r, const size_t *at, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (r->operations.data[at[i]]->operands.data[1].kind == THREAD_VALUE)
            return true;
    return false;
}

struct later {
    size_t last, count, at[MOST_BYTES / WORD_BYTES];
};

static void combine_region(struct combining *c, struct thread_region *r)
{
    VEC(struct later) later = {0};
    struct thread_region to = {0};
    bool *taken = arena_array(c->build.arena, bool, r->operations.count + 1);
    for (size_t i = 0; i < r->operations.count; i++) {
        struct thread_operation *op = r->operations.data[i];
        const struct number_entry *e = number_map_find(&c->divisors, (uintptr_t)op);
        size_t at[MOST_BYTES / WORD_BYTES] = {0}, count = 1;
        for (size_t j = 0; j < op->regions.count; j++)
            combine_region(c, op->regions.data[j]);
        for (size_t j = 0; j < later.count; j++)
            if (later.data[j].last == i)
                add_store(c, &to, r, later.data[j].at, later.data[j].count, i);
        if (taken[i])
            continue;
        if (e && is_candidate(op))
            for (count = e->value / dtype_size(op->types[0]);
                 count > 1 && !find_neighbours(r, i, count, taken, at); count /= 2)
                ;
        if (count <= 1) {
            vec_push(c->build.arena, &to.operations, op);
            continue;
        }
        if (op->op == THREAD_STORE_SHARED) {
            struct later store = {.count = count};
            if (!any_value(r, at, count)) {
                vec_push(c->build.arena, &to.operations, op);
                continue;
            }
            for (size_t j = 0; j < count; j++) {
                taken[at[j]] = true;
                store.at[j] = at[j];
                store.last = at[j] > store.last ? at[j] : store.last;
            }
            vec_push(c->build.arena, &later, store);
            continue;
        }
        struct thread_value *group = thread_new_value(
            &c->build, (struct thread_type){.dtype = op->types[0], .count = (uint16_t)count});
        struct thread_operation *load = arena_new(c->build.arena, struct thread_operation);
        *load = *op;
        load->results.data = NULL;
        load->results.count = load->results.capacity = 0;
        vec_push(c->build.arena, &load->results, group);
        vec_push(c->build.arena, &to.operations, load);
        for (size_t j = 0; j < count; j++) {
            taken[at[j]] = true;
            vec_push(c->build.arena, &to.operations,
                     part_of(c, group, r->operations.data[at[j]], (int64_t)j));
        }
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
