/* Combines loads of neighbouring elements into one of 16 or 8 bytes, at the place of the first, and stores, at the place of the
 * last. Nothing between loads may write memory or wait, and nothing between stores may read or write it or wait. */
#include "thread/thread_build.h"
#include "thread/thread_facts.h"

#include <string.h>

enum { MOST_BYTES = 16, WORD_BYTES = 4 };

struct combining {
    struct thread_builder build;
    VEC(int64_t)
    divisors; /* of the bytes of the indices without the constants, at most MOST_BYTES; in the order of the accesses */
    size_t next; /* of these */
};

/* The place of an access: in a shared array, or, without an object, at an address. */
struct place {
    const struct thread_object *object;
    const struct thread_value *value; /* the index, or the address */
    int64_t number;                   /* elements after it */
};

static bool is_store(enum thread_opcode op)
{
    return op == THREAD_STORE || op == THREAD_STORE_SHARED || op == THREAD_STORE_LOCAL;
}

static struct place place_of(const struct thread_operation *op)
{
    const struct thread_operand *o = op->operands.data;
    return thread_is_shared_access(op->op) ? (struct place){o[0].object, o[0].value, o[0].integer}
                                           : (struct place){NULL, o[0].value, o[2].integer};
}

/* Returns the offset of element 0 in shared memory; 0 for an address. */
static int64_t start_of(const struct place *p)
{
    return p->object ? p->object->at : 0;
}

static bool is_candidate(const struct thread_operation *op)
{
    const struct thread_operand *o = op->operands.data;
    if (op->types[0] == DT_BOOL || op->types[0] == DT_NONE || dtype_size(op->types[0]) < WORD_BYTES)
        return false;
    if (thread_is_addressed(op->op) && (o[1].kind != THREAD_INTEGER || o[1].integer != 0))
        return false;
    if (is_store(op->op)) {
        const struct thread_operand *v = &o[op->operands.count - 1];
        return v->kind != THREAD_VALUE || v->value->type.count == 1;
    }
    return (op->op == THREAD_LOAD_SHARED || thread_is_addressed(op->op)) &&
           op->results.data[0]->type.count == 1;
}

static bool same_memory(const struct thread_operation *a, const struct thread_operation *b)
{
    const struct place p = place_of(a), q = place_of(b);
    return a->op == b->op && a->types[0] == b->types[0] && p.object == q.object &&
           p.value == q.value;
}

/* Returns whether some region has accesses that may be neighbours: if not, their facts are not needed. */
static bool any_pair(const struct thread_region *r)
{
    enum { MOST = 32 };
    const struct thread_operation *seen[MOST];
    int count = 0;
    for (size_t i = 0; i < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        for (size_t j = 0; j < op->regions.count; j++)
            if (any_pair(op->regions.data[j]))
                return true;
        if (!is_candidate(op))
            continue;
        for (int j = 0; j < count; j++)
            if (same_memory(seen[j], op))
                return true;
        if (count == MOST)
            return true;
        seen[count++] = op;
    }
    return false;
}

static void note_divisor(void *user, const struct thread_operation *op, const struct facts *facts)
{
    struct combining *c = user;
    if (!is_candidate(op))
        return;
    const struct place p = place_of(op);
    const int64_t known = p.value ? facts_divisor(&facts[p.value->number]) % MOST_BYTES : 0,
                  size = p.object ? thread_element_bytes(p.object) : 1;
    int64_t divisor = MOST_BYTES;
    while (known * size % divisor != 0)
        divisor /= 2;
    vec_push(c->build.arena, &c->divisors, divisor);
}

/* Elements that are neighbours, from an aligned one on. */
struct neighbours {
    size_t count;
    int64_t first;                      /* the constant of the first one's index */
    size_t at[MOST_BYTES / WORD_BYTES]; /* the accesses' places */
};

/* Returns whether the operation, or one in its regions, jumps or may write. constant: writes do not matter, because nothing
 * writes the memory that is loaded. */
static bool interferes(const struct thread_operation *op, bool constant)
{
    const enum thread_effects effects = thread_op_table[op->op].effects;
    bool found = effects > (constant ? THREAD_SYNC : THREAD_READS) && op->op != THREAD_IF &&
                 op->op != THREAD_YIELD;
    for (size_t i = 0; i < op->regions.count; i++)
        for (size_t j = 0; j < op->regions.data[i]->operations.count && !found; j++)
            found = interferes(op->regions.data[i]->operations.data[j], constant);
    return found;
}

/* Returns whether an operation between two accesses keeps them from being combined. */
static bool stops(const struct thread_operation *op, const struct thread_operation *between,
                  bool similar)
{
    if (thread_op_table[between->op].effects == THREAD_PURE || between->op == THREAD_LOAD_CONST)
        return false;
    return is_store(op->op) ? !similar : interferes(between, op->op == THREAD_LOAD_CONST);
}

/* Finds the accesses after that at place `from` to the others of these elements. If one of two stores to an element would
 * move past the other, there are none. */
static bool find_others(const struct thread_region *r, size_t from, const bool *taken,
                        struct neighbours *n)
{
    const struct thread_operation *op = r->operations.data[from];
    const struct place own = place_of(op);
    const bool stores = is_store(op->op);
    size_t left = n->count - 1;
    uint32_t seen = 1u << (own.number - n->first);
    n->at[own.number - n->first] = from;
    for (size_t i = from + 1; i < r->operations.count && left > 0; i++) {
        const struct thread_operation *other = r->operations.data[i];
        const bool similar = other->op == op->op && is_candidate(other) && same_memory(op, other);
        if (stops(op, other, similar))
            return false;
        const int64_t away = similar ? place_of(other).number - n->first : -1;
        if (away < 0 || away >= (int64_t)n->count)
            continue;
        if (stores && (taken[i] || seen >> away & 1))
            return false;
        if (taken[i] || seen >> away & 1)
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
    const struct thread_operation *op = r->operations.data[from];
    const struct place p = place_of(op);
    const int64_t size = (int64_t)dtype_size(op->types[0]), start = start_of(&p);
    struct neighbours n = {0};
    for (n.count = (size_t)(divisor / size); n.count > 1; n.count /= 2) {
        n.first = p.number - ((start / size + p.number) & (int64_t)(n.count - 1));
        if (start % size == 0 && n.first >= 0 && find_others(r, from, taken, &n))
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
    *op = (struct thread_operation){
        .op = THREAD_PART, .where = load->where, .turn = c->build.turn}; /* that of the group */
    memcpy(op->types, load->types, sizeof op->types);
    for (size_t i = 0; i < 4; i++)
        vec_push(c->build.arena, &op->operands, operands[i]);
    vec_push(c->build.arena, &op->results, load->results.data[0]);
    return op;
}

/* The stored value of an access. */
static struct thread_operand stored_by(const struct thread_operation *op)
{
    return op->operands.data[op->operands.count - 1];
}

/* Adds the store of all, at the place of the last. */
static void add_store(struct combining *c, struct thread_region *to, const struct thread_region *r,
                      const struct neighbours *n, size_t last)
{
    const struct thread_operation *first = r->operations.data[n->at[0]];
    struct thread_operand values[MOST_BYTES / WORD_BYTES];
    for (size_t i = 0; i < n->count; i++)
        values[i] = stored_by(r->operations.data[n->at[i]]);
    c->build.region = to;
    c->build.where = r->operations.data[last]->where;
    c->build.turn = r->operations.data[last]->turn;
    struct thread_value *group =
        thread_add_counted(&c->build, THREAD_JOIN, first->types[0], DT_NONE, 0, values, n->count);
    struct thread_operand all[4];
    memcpy(all, first->operands.data, first->operands.count * sizeof *all);
    all[first->operands.count - 1] = thread_use(group);
    thread_add_counted(&c->build, first->op, first->types[0], DT_NONE, 0, all,
                       first->operands.count);
}

/* Adds the load of all, at the place of the first. */
static void add_load(struct combining *c, struct thread_region *to, const struct thread_region *r,
                     const struct neighbours *n, const struct thread_operation *op)
{
    const enum dtype t = op->types[0];
    c->build.region = to;
    c->build.where = op->where;
    c->build.turn = op->turn;
    const struct thread_operation *first = r->operations.data[n->at[0]];
    struct thread_value *group =
        thread_add_counted(&c->build, op->op, t, DT_NONE, (uint16_t)n->count, first->operands.data,
                           first->operands.count);
    for (size_t i = 0; i < n->count; i++)
        vec_push(c->build.arena, &to->operations,
                 part_of(c, group, r->operations.data[n->at[i]], (int64_t)i));
}

static bool any_value(const struct thread_region *r, const struct neighbours *n)
{
    for (size_t i = 0; i < n->count; i++)
        if (stored_by(r->operations.data[n->at[i]]).kind == THREAD_VALUE)
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
        const int64_t divisor = is_candidate(op) ? c->divisors.data[c->next++] : 0;
        struct neighbours n = {.count = 1};
        for (size_t j = 0; j < op->regions.count; j++)
            combine_region(c, op->regions.data[j]);
        if (taken[i]) {
            for (size_t j = 0; j < later.count; j++)
                if (last_of(&later.data[j]) == i)
                    add_store(c, &to, r, &later.data[j], i);
            continue;
        }
        const bool stores = is_store(op->op);
        if (divisor)
            n = find_neighbours(r, i, taken, divisor);
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
    if (!any_pair(f->body))
        return;
    thread_facts_walk(a, f, is_candidate, note_divisor, &c);
    combine_region(&c, f->body);
}
