/* Values that share registers.
 *
 * A product adds to the registers of its sums, so its result has to have the same ones; and each iteration of a
 * loop should begin with its sums where the last iteration left them. So groups that follow each other share
 * registers, unless one of them is written while another is live; so do the scalars that loops and branches
 * pass. A walk from the last operation to the first finds these pairs (Chaitin, "Register Allocation & Spilling
 * via Graph Coloring", 1982). Loops need no second walk: a value from outside that a loop uses is live in all of
 * the loop.
 *
 * A product in flight reads its factors until the wait, so they are live as long as its sums are in flight. */
#include "nvptx/nvptx_own.h"

#include <string.h>

enum { WORD = 64 };
static const uint32_t none = UINT32_MAX; /* the value has registers of its own */
static const uint32_t alone =
    UINT32_MAX - 1; /* and so have those whose registers it has: known once it was included */

/* Factors that a group in flight reads. */
struct factor {
    const struct thread_value *value;
    const struct factor *next;
};

/* A group that fma makes. */
struct sum {
    const struct thread_region *made_in; /* NULL: it is another value */
    uint32_t uses;                       /* one in another region counts twice */
};

struct liveness {
    struct nvptx *n;
    uint32_t groups;
    size_t words;      /* of a set of groups */
    uint32_t *group;   /* by number: its place in a set */
    uint64_t *clashes; /* by group: a set */
    uint32_t *next;    /* by number: the next value that shares the registers; a ring */
    /* by number of the value whose registers are shared: the set of all that have them, and the set of what clashes with these;
     * NULL: no other value has them */
    uint64_t **shared;
    const struct factor **factors; /* by number */
    struct sum *sums;              /* by number */
};

/* Targets of the jumps out of a region. */
struct exits {
    const uint64_t *after_branch, *after_loop, *again; /* groups live there */
};

/* --- sets of groups --- */

static uint64_t *new_set(struct liveness *l)
{
    return arena_array(l->n->arena, uint64_t, l->words);
}

static uint64_t *copy_set(struct liveness *l, const uint64_t *from)
{
    return memcpy(new_set(l), from, l->words * sizeof *from);
}

static void unite(const struct liveness *l, uint64_t *set, const uint64_t *with)
{
    for (size_t i = 0; i < l->words; i++)
        set[i] |= with[i];
}

/* Groups share registers, and so do the scalars that loops and branches pass. */
static bool may_share(const struct liveness *l, const struct thread_value *v)
{
    return l->group[v->number] < alone;
}

static bool include(struct liveness *l, uint64_t *set, const struct thread_value *v);

/* The same for a value that has the registers of the operation's operands. */
static bool include_operands(struct liveness *l, uint64_t *set, const struct thread_operation *same)
{
    bool any = false;
    for (size_t i = 0; i < same->operands.count; i++)
        if (same->operands.data[i].value)
            any |= include(l, set, same->operands.data[i].value);
    return any;
}

/* Returns whether the value, or one whose registers it has, is in a group. */
static bool include(struct liveness *l, uint64_t *set, const struct thread_value *v)
{
    const uint32_t g = l->group[v->number];
    if (g < alone) {
        set[g / WORD] |= (uint64_t)1 << g % WORD;
        return true;
    }
    if (g == alone)
        return false;
    if (l->n->same[v->number] && include_operands(l, set, l->n->same[v->number]))
        return true;
    l->group[v->number] = alone;
    return false;
}

static void exclude(struct liveness *l, uint64_t *set, const struct thread_value *v)
{
    const uint32_t g = l->group[v->number];
    if (may_share(l, v))
        set[g / WORD] &= ~((uint64_t)1 << g % WORD);
}

/* --- liveness --- */

static void use(struct liveness *l, uint64_t *live, const struct thread_operation *op)
{
    for (size_t i = 0; i < op->operands.count; i++) {
        const struct thread_value *v = op->operands.data[i].value;
        if (!v)
            continue;
        include(l, live, v);
        for (const struct factor *f = l->factors[v->number]; f; f = f->next)
            include(l, live, f->value);
    }
}

/* Writes values, at a place after which `live` are live: each clashes with them and with the others. */
static void write(struct liveness *l, uint64_t *live, struct thread_value *const *values,
                  size_t count)
{
    for (size_t i = 0; i < count; i++)
        include(l, live, values[i]);
    for (size_t i = 0; i < count; i++)
        if (may_share(l, values[i]))
            unite(l, l->clashes + l->group[values[i]->number] * l->words, live);
    for (size_t i = 0; i < count; i++)
        exclude(l, live, values[i]);
}

static void use_all(struct liveness *l, uint64_t *live, const struct thread_region *r)
{
    for (size_t i = 0; i < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        use(l, live, op);
        for (size_t j = 0; j < op->regions.count; j++)
            use_all(l, live, op->regions.data[j]);
    }
}

/* Removes the values that the region defines. */
static void exclude_all(struct liveness *l, uint64_t *live, const struct thread_region *r)
{
    for (size_t i = 0; i < r->arguments.count; i++)
        exclude(l, live, r->arguments.data[i]);
    for (size_t i = 0; i < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        for (size_t j = 0; j < op->results.count; j++)
            exclude(l, live, op->results.data[j]);
        for (size_t j = 0; j < op->regions.count; j++)
            exclude_all(l, live, op->regions.data[j]);
    }
}

static void walk(struct liveness *l, const struct thread_region *r, uint64_t *live,
                 const struct exits *exits);

/* Changes the groups live after the loop to those live before it. */
static void walk_loop(struct liveness *l, const struct thread_operation *op, uint64_t *live,
                      const struct exits *exits)
{
    const struct thread_region *r = op->regions.data[0];
    const uint64_t *after = copy_set(l, live);
    use_all(l, live, r);
    exclude_all(l, live, r);
    struct exits inner = {exits->after_branch, after, copy_set(l, live)};
    walk(l, r, new_set(l), &inner);
    write(l, live, r->arguments.data, r->arguments.count);
}

/* The same for an `if` whose arms are done one after the other. */
static void walk_guarded(struct liveness *l, const struct thread_operation *op, int last,
                         uint64_t *live, const struct exits *exits)
{
    const uint64_t *after = copy_set(l, live);
    uint64_t *before = copy_set(l, after), *first = copy_set(l, after);
    /* Each instruction of both arms reads the condition. */
    include(l, before, op->operands.data[0].value);
    include(l, first, op->operands.data[0].value);
    uint64_t *with_condition = copy_set(l, before);
    struct exits inner = {with_condition, exits->after_loop, exits->again};
    walk(l, op->regions.data[last], before, &inner);
    unite(l, live, before);
    write(l, before, op->results.data, op->results.count); /* they are written by the other arm */
    unite(l, before, after);
    inner.after_branch = before;
    walk(l, op->regions.data[!last], first, &inner);
    unite(l, live, first);
}

/* The same for an `if` with branches, and for roles. */
static void walk_alternatives(struct liveness *l, const struct thread_operation *op, uint64_t *live,
                              const struct exits *exits)
{
    const uint64_t *after = copy_set(l, live);
    const struct exits inner = {after, exits->after_loop, exits->again};
    for (size_t i = 0; i < op->regions.count; i++) {
        uint64_t *before = copy_set(l, after);
        walk(l, op->regions.data[i], before, &inner);
        unite(l, live, before);
    }
}

static void walk_operation(struct liveness *l, const struct thread_operation *op, uint64_t *live,
                           const struct exits *exits)
{
    const int last = nvptx_last_arm(l->n->function, op);
    write(l, live, op->results.data, op->results.count);
    switch (op->op) {
    case THREAD_LOOP: walk_loop(l, op, live, exits); break;
    case THREAD_IF:
        if (last >= 0)
            walk_guarded(l, op, last, live, exits);
        else
            walk_alternatives(l, op, live, exits);
        break;
    case THREAD_ROLES: walk_alternatives(l, op, live, exits); break;
    case THREAD_BREAK_IF: unite(l, live, exits->after_loop); break;
    case THREAD_BREAK: memcpy(live, exits->after_loop, l->words * sizeof *live); break;
    case THREAD_CONTINUE: memcpy(live, exits->again, l->words * sizeof *live); break;
    case THREAD_YIELD: memcpy(live, exits->after_branch, l->words * sizeof *live); break;
    case THREAD_RETURN: memset(live, 0, l->words * sizeof *live); break;
    default: break;
    }
    use(l, live, op);
}

static void walk(struct liveness *l, const struct thread_region *r, uint64_t *live,
                 const struct exits *exits)
{
    for (size_t i = r->operations.count; i-- > 0;)
        walk_operation(l, r->operations.data[i], live, exits);
}

static void number_value(struct liveness *l, const struct thread_value *v)
{
    if (l->group[v->number] == none && !l->n->same[v->number])
        l->group[v->number] = l->groups++;
}

static void number_passed(struct liveness *l, const struct thread_operation *op)
{
    const bool passes = op->op == THREAD_LOOP || op->op == THREAD_CONTINUE ||
                        op->op == THREAD_BREAK || op->op == THREAD_BREAK_IF ||
                        op->op == THREAD_YIELD;
    for (size_t i = op->op == THREAD_BREAK_IF; passes && i < op->operands.count; i++)
        if (op->operands.data[i].kind == THREAD_VALUE)
            number_value(l, op->operands.data[i].value);
}

/* Numbers the values that may share registers, and notes the factors of groups in flight. */
static void number(struct liveness *l, const struct thread_region *r)
{
    for (size_t i = 0; i < r->arguments.count; i++)
        number_value(l, r->arguments.data[i]);
    for (size_t i = 0; i < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        const int added_to = nvptx_added_to(op->op);
        for (size_t j = 0; j < op->results.count && (added_to >= 0 || op->regions.count > 0); j++)
            number_value(l, op->results.data[j]);
        if (added_to >= 0 && op->operands.data[added_to].kind == THREAD_VALUE)
            number_value(l, op->operands.data[added_to].value);
        number_passed(l, op);
        for (size_t j = 0; j < op->regions.count; j++)
            number(l, op->regions.data[j]);
        if (op->results.count != 1 || !op->results.data[0]->type.in_flight || op->regions.count)
            continue;
        const struct factor **to = &l->factors[op->results.data[0]->number];
        *to = l->factors[op->operands.data[0].value->number];
        if (op->op != THREAD_PRODUCT_FROM)
            continue;
        struct factor *f = arena_new(l->n->arena, struct factor);
        *f = (struct factor){op->operands.data[1].value, *to};
        *to = f;
    }
}

/* --- chains --- */

static bool adds_groups(const struct thread_operation *op)
{
    return op->op == THREAD_FMA && op->results.data[0]->type.count > 1;
}

/* Returns the group that the fma adds to if another fma of its region made it and nothing else uses it: the result has its
 * registers. NULL: it is another value. */
static const struct thread_value *continued(const struct liveness *l,
                                            const struct thread_operation *op)
{
    const struct thread_value *v = adds_groups(op) ? op->operands.data[2].value : NULL;
    const bool once = v && l->sums[v->number].uses == 1 && l->sums[v->number].made_in;
    return once && v->type.count == op->results.data[0]->type.count ? v : NULL;
}

static void count_uses(struct liveness *l, const struct thread_region *r)
{
    for (size_t i = 0; i < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        for (size_t j = 0; j < op->operands.count; j++) {
            const struct thread_value *v = op->operands.data[j].value;
            if (v)
                l->sums[v->number].uses += l->sums[v->number].made_in == r ? 1 : 2;
        }
        if (adds_groups(op))
            l->sums[op->results.data[0]->number].made_in = r;
        for (size_t j = 0; j < op->regions.count; j++)
            count_uses(l, op->regions.data[j]);
    }
}

/* Gives the sums of a chain one place in the sets. */
static void number_chains(struct liveness *l, const struct thread_region *r)
{
    for (size_t i = 0; i < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        const struct thread_value *from = continued(l, op);
        if (from)
            l->group[op->results.data[0]->number] = l->group[from->number];
        else if (adds_groups(op))
            number_value(l, op->results.data[0]);
        for (size_t j = 0; j < op->regions.count; j++)
            number_chains(l, op->regions.data[j]);
    }
}

/* Gives the sums of a chain the registers of the last one. */
static void share_chains(struct liveness *l, const struct thread_region *r)
{
    for (size_t i = r->operations.count; i-- > 0;) {
        const struct thread_operation *op = r->operations.data[i];
        const struct thread_value *from = continued(l, op);
        if (from)
            l->n->shares[from->number] = l->n->shares[op->results.data[0]->number];
        for (size_t j = 0; j < op->regions.count; j++)
            share_chains(l, op->regions.data[j]);
    }
}

/* --- sharing --- */

/* Returns whether what shares registers with a is written while what shares them with b is live. */
static bool meets(const struct liveness *l, uint32_t a, uint32_t b)
{
    const uint32_t g = l->group[b];
    const uint64_t *live = l->shared[b], *own = l->shared[a];
    const uint64_t *clashes = own ? own + l->words : l->clashes + l->group[a] * l->words;
    if (!live)
        return clashes[g / WORD] >> g % WORD & 1;
    for (size_t i = 0; i < l->words; i++)
        if (clashes[i] & live[i])
            return true;
    return false;
}

/* Adds what shares registers with b to a set, and what clashes with it to the set after that one. */
static void join(const struct liveness *l, uint64_t *set, uint32_t b)
{
    const uint32_t g = l->group[b];
    const uint64_t *from = l->shared[b];
    if (from)
        unite(l, set, from);
    else
        set[g / WORD] |= (uint64_t)1 << g % WORD;
    unite(l, set + l->words, from ? from + l->words : l->clashes + g * l->words);
}

static void share(struct liveness *l, const struct thread_operand *from,
                  const struct thread_value *to)
{
    if (from->kind != THREAD_VALUE || !may_share(l, from->value) || !may_share(l, to) ||
        from->value->type.count != to->type.count)
        return;
    uint32_t *shares = l->n->shares, a = shares[from->value->number], b = shares[to->number];
    if (a == b || meets(l, a, b) || meets(l, b, a))
        return;
    if (!l->shared[a]) {
        uint64_t *both = arena_array(l->n->arena, uint64_t, 2 * l->words);
        join(l, both, a);
        l->shared[a] = both;
    }
    join(l, l->shared[a], b);
    uint32_t x = b;
    do {
        shares[x] = a;
        x = l->next[x];
    } while (x != b);
    uint32_t after = l->next[a];
    l->next[a] = l->next[b];
    l->next[b] = after;
}

int nvptx_added_to(enum thread_opcode op)
{
    switch (op) {
    case THREAD_PRODUCT:
    case THREAD_PRODUCT_FROM:
    case THREAD_PRODUCT_BEGIN:
    case THREAD_PRODUCT_COMMIT:
    case THREAD_PRODUCT_WAIT:
    case THREAD_MMA: return 0;
    default: return -1;
    }
}

/* Shares what products must, or what is passed to arguments and results. */
static void share_region(struct liveness *l, const struct thread_region *r, bool products,
                         const struct thread_operation *loop, const struct thread_operation *branch)
{
    for (size_t i = 0; i < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        const struct thread_operand *o = op->operands.data;
        if (products && nvptx_added_to(op->op) >= 0)
            share(l, &o[nvptx_added_to(op->op)], op->results.data[0]);
        for (size_t j = 0; !products && j < op->operands.count; j++) {
            if (op->op == THREAD_LOOP)
                share(l, &o[j], op->regions.data[0]->arguments.data[j]);
            else if (op->op == THREAD_CONTINUE)
                share(l, &o[j], loop->regions.data[0]->arguments.data[j]);
            else if (op->op == THREAD_BREAK || (op->op == THREAD_BREAK_IF && j > 0))
                share(l, &o[j], loop->results.data[j - (op->op == THREAD_BREAK_IF)]);
            else if (op->op == THREAD_YIELD)
                share(l, &o[j], branch->results.data[j]);
        }
        for (size_t j = 0; j < op->regions.count; j++)
            share_region(l, op->regions.data[j], products, op->op == THREAD_LOOP ? op : loop,
                         op->op == THREAD_IF ? op : branch);
    }
}

void nvptx_share(struct nvptx *n)
{
    const uint32_t count = n->function->values + 1;
    struct liveness l = {.n = n,
                         .group = arena_room(n->arena, count * sizeof *l.group),
                         .next = arena_room(n->arena, count * sizeof *l.next),
                         .shared = arena_room(n->arena, count * sizeof *l.shared),
                         .factors = arena_array(n->arena, const struct factor *, count)};
    for (uint32_t i = 0; i < count; i++) {
        n->shares[i] = l.next[i] = i;
        l.group[i] = none;
        l.shared[i] = NULL;
    }
    l.sums = arena_array(n->arena, struct sum, count);
    count_uses(&l, n->function->body);
    number(&l, n->function->body);
    number_chains(&l, n->function->body);
    l.words = l.groups / WORD + 1;
    l.clashes = arena_array(n->arena, uint64_t, l.groups * l.words);
    const struct exits outside = {0};
    walk(&l, n->function->body, new_set(&l), &outside);
    share_region(&l, n->function->body, true, NULL, NULL);
    share_region(&l, n->function->body, false, NULL, NULL);
    share_chains(&l, n->function->body);
}
