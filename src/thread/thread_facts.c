/* Facts about scalars of thread IR. A loop's arguments join what its operands and `continue` give, until nothing changes;
 * limits of a counter, and those that still move after some rounds, become those of the type. The walks go only through
 * operations on which exits, branches, arguments of loops, and what is to be visited depend. */
#include "thread/thread_facts.h"

#include <string.h>

enum { ROUNDS = 4, MOST_ROUNDS = 64, WARP_THREADS = 32, MOST_THREADS = 1024, LOCAL_ALIGNMENT = 16 };

/* The rounds of loops, and the walk that visits operations. */
enum walks { ROUND = 1, VISIT = 2 };

struct learned {
    uint32_t number;
    struct facts before;
};

struct finding {
    struct arena *arena;
    const struct thread_function *function;
    struct facts *facts;                         /* by number of a value */
    bool *reached;                               /* of results of regions: something gave a value */
    uint8_t *needed;                             /* by number: walks that read its facts */
    const struct thread_operation **definitions; /* of scalars; NULL: an argument, a parameter */
    VEC(struct learned) learned;
    const struct thread_operation *loop, *branch; /* innermost */
    struct facts *next;                           /* of the innermost loop's arguments */
    bool (*wants)(const struct thread_operation *op);
    void (*visit)(void *user, const struct thread_operation *op, const struct facts *facts);
    void *user;
    bool visiting;
    bool dead; /* no run reaches the present place, because one before it always leaves */
};

static struct facts any(enum dtype t)
{
    return facts_any(facts_type_of(t == DT_NONE || dtype_is_float(t) ? DT_I64 : t));
}

static bool is_number(struct thread_type t)
{
    return t.count == 1 && t.dtype != DT_NONE && !dtype_is_float(t.dtype);
}

struct facts thread_facts_of(const struct facts *facts, const struct thread_operand *o,
                             enum dtype t)
{
    if (o->kind == THREAD_INTEGER)
        return facts_exactly(dtype_wrap(t, o->integer));
    return o->kind == THREAD_VALUE && is_number(o->value->type) ? facts[o->value->number] : any(t);
}

/* --- operations --- */

static bool rule_of(enum thread_opcode op, enum facts_op *out)
{
    switch (op) {
#define RULE(name)                                                                                 \
    case THREAD_##name: *out = FACTS_##name; return true;
        RULE(ADD)
        RULE(SUB)
        RULE(MUL)
        RULE(DIV)
        RULE(REM)
        RULE(MIN)
        RULE(MAX)
        RULE(AND)
        RULE(OR)
        RULE(XOR)
        RULE(SHL)
        RULE(SHR)
        RULE(NEG)
        RULE(FMA)
        RULE(SELECT)
        RULE(EQ)
        RULE(NE)
        RULE(LT)
        RULE(LE)
        RULE(GT)
        RULE(GE)
        RULE(ABS)
        RULE(SQUARE)
        RULE(CLIP)
        RULE(CDIV)
        RULE(POW2_CEIL)
#undef RULE
    case THREAD_NOT: *out = FACTS_INVERT; return true;
    case THREAD_MUL_WIDE: *out = FACTS_MUL; return true;
    case THREAD_MAD_WIDE: *out = FACTS_FMA; return true;
    default: return false;
    }
}

static struct facts of_rule(const struct finding *g, const struct thread_operation *op,
                            enum facts_op rule)
{
    struct facts x[3];
    const enum dtype t = op->types[0];
    if (dtype_is_float(t))
        return any(op->results.data[0]->type.dtype);
    for (size_t i = 0; i < op->operands.count && i < 3; i++) {
        bool amount = i == 1 && (rule == FACTS_SHL || rule == FACTS_SHR);
        bool condition = i == 0 && rule == FACTS_SELECT;
        x[i] = thread_facts_of(g->facts, &op->operands.data[i],
                               amount      ? DT_U32
                               : condition ? DT_BOOL
                                           : t);
    }
    return facts_of(rule, facts_type_of(t), x);
}

static struct facts of_operation(const struct finding *g, const struct thread_operation *op)
{
    const int64_t threads = g->function->threads;
    const enum dtype t = op->results.data[0]->type.dtype;
    enum facts_op rule;
    switch (op->op) {
    case THREAD_TID_X:
    case THREAD_TID_Y:
    case THREAD_TID_Z: {
        int64_t most = g->function->shape[op->op - THREAD_TID_X];
        return facts_between(0, (most                     ? most
                                 : op->op == THREAD_TID_X ? threads
                                                          : MOST_THREADS) -
                                    1);
    }
    case THREAD_LANE: return facts_between(0, WARP_THREADS - 1);
    case THREAD_WARP: return facts_between(0, (threads - 1) / WARP_THREADS);
    case THREAD_CLUSTER_RANK: {
        const uint32_t *size = g->function->cluster;
        return facts_between(0, size[0] ? (int64_t)size[0] * size[1] * size[2] - 1 : 0);
    }
    case THREAD_CLUSTERID_X:
    case THREAD_CLUSTERID_Y:
    case THREAD_CLUSTERID_Z:
    case THREAD_CTAID_X:
    case THREAD_CTAID_Y:
    case THREAD_CTAID_Z: return facts_between(0, INT32_MAX - 1);
    case THREAD_LOCAL: return facts_multiple(LOCAL_ALIGNMENT);
    case THREAD_INDEX:
    case THREAD_CONVERT: {
        bool number = is_number((struct thread_type){.dtype = op->types[1], .count = 1});
        struct facts from = thread_facts_of(g->facts, &op->operands.data[0], op->types[1]);
        return number ? facts_cast(&from, facts_type_of(t)) : any(t);
    }
    default: return rule_of(op->op, &rule) ? of_rule(g, op, rule) : any(t);
    }
}

/* --- conditions --- */

static void set(struct finding *g, const struct thread_value *v, struct facts f)
{
    struct learned l = {v->number, g->facts[v->number]};
    vec_push(g->arena, &g->learned, l);
    g->facts[v->number] = f;
}

static void forget(struct finding *g, size_t known)
{
    while (g->learned.count > known) {
        const struct learned *l = &g->learned.data[--g->learned.count];
        g->facts[l->number] = l->before;
    }
}

/* Learns that the predicate is true, or false. */
static void learn(struct finding *g, const struct thread_operand *o, bool holds)
{
    const struct thread_operation *op = o->value ? g->definitions[o->value->number] : NULL;
    enum facts_op rule;
    if (!op || !thread_is_comparison(op->op) || dtype_is_float(op->types[0]) ||
        !rule_of(op->op, &rule))
        return;
    rule = holds ? rule : facts_negated(rule);
    for (int i = 0; i < 2; i++) {
        const struct thread_operand *side = &op->operands.data[i];
        if (side->kind != THREAD_VALUE || !is_number(side->value->type))
            continue;
        struct facts other = thread_facts_of(g->facts, &op->operands.data[1 - i], op->types[0]);
        set(g, side->value,
            facts_where(i ? facts_exchanged(rule) : rule, facts_type_of(op->types[0]),
                        &g->facts[side->value->number], &other));
    }
}

static bool always_holds(const struct finding *g, const struct thread_operand *o)
{
    const struct facts f = thread_facts_of(g->facts, o, DT_BOOL);
    int64_t known;
    return facts_known(&f, &known) && known != 0;
}

/* --- regions --- */

static void walk_region(struct finding *g, const struct thread_region *r);

/* Joins operands from `from` on to the results of a region's operation. */
static void give(struct finding *g, const struct thread_operation *to,
                 const struct thread_operation *op, size_t from)
{
    for (size_t i = 0; i < to->results.count && !g->dead; i++) {
        const struct thread_value *v = to->results.data[i];
        if (!is_number(v->type))
            continue;
        struct facts f = thread_facts_of(g->facts, &op->operands.data[from + i], v->type.dtype);
        g->facts[v->number] = g->reached[v->number] ? facts_join(&g->facts[v->number], &f) : f;
        g->reached[v->number] = true;
    }
}

static void begin(struct finding *g, const struct thread_operation *op)
{
    for (size_t i = 0; i < op->results.count; i++) {
        const struct thread_value *v = op->results.data[i];
        if (!is_number(v->type))
            continue;
        g->facts[v->number] = any(v->type.dtype);
        g->reached[v->number] = false;
    }
}

/* --- what matters --- */

static struct thread_region *part_for(struct finding *g, const struct thread_region *r,
                                      enum walks walk);

/* Returns the operation for such walks, and notes the values that it reads; NULL: they do not need it. */
static struct thread_operation *needed(struct finding *g, struct thread_operation *op,
                                       enum walks walk)
{
    struct thread_operation *own = op;
    bool need =
        thread_op_table[op->op].effects == THREAD_CONTROL || (walk == VISIT && g->wants(op));
    for (size_t i = 0; i < op->results.count; i++)
        need |= (g->needed[op->results.data[i]->number] & walk) != 0;
    if (!need)
        return NULL;
    if (op->regions.count) {
        own = arena_new(g->arena, struct thread_operation);
        *own = *op;
        memset(&own->regions, 0, sizeof own->regions);
        for (size_t i = 0; i < op->regions.count; i++)
            vec_push(g->arena, &own->regions, part_for(g, op->regions.data[i], walk));
    }
    for (size_t i = 0; i < op->operands.count; i++)
        if (op->operands.data[i].value && is_number(op->operands.data[i].value->type))
            g->needed[op->operands.data[i].value->number] |= (uint8_t)walk;
    return own;
}

/* Returns the region with the operations that such walks need: branches, exits, what is visited, and what computes numbers of
 * these. */
static struct thread_region *part_for(struct finding *g, const struct thread_region *r,
                                      enum walks walk)
{
    struct thread_region *part = arena_new(g->arena, struct thread_region);
    size_t first = r->operations.count;
    part->operations.data = arena_array(g->arena, struct thread_operation *, first + 1);
    part->arguments.data = r->arguments.data;
    part->arguments.count = r->arguments.count;
    for (size_t i = r->operations.count; i-- > 0;) {
        struct thread_operation *op = needed(g, r->operations.data[i], walk);
        if (op)
            part->operations.data[--first] = op;
    }
    part->operations.data += first;
    part->operations.count = r->operations.count - first;
    return part;
}

/* --- loops --- */

/* Walks through the loop's region, whose arguments have the facts `now`; g->next then has those of `start`, joined with what
 * `continue` gives. */
static void go_through(struct finding *g, const struct thread_region *r, const struct facts *start,
                       const struct facts *now)
{
    const size_t known = g->learned.count;
    const bool dead = g->dead;
    for (size_t i = 0; i < r->arguments.count; i++)
        if (is_number(r->arguments.data[i]->type)) {
            g->facts[r->arguments.data[i]->number] = now[i];
            g->next[i] = start[i];
        }
    walk_region(g, r);
    g->dead = dead;
    forget(g, known);
}

/* Returns whether each iteration adds to the argument: its limits move until an exit or the type stops them. */
static bool is_counter(const struct finding *g, const struct thread_region *r, size_t argument)
{
    const struct thread_operation *last = r->operations.data[r->operations.count - 1];
    const struct thread_value *v =
        last->op == THREAD_CONTINUE ? last->operands.data[argument].value : NULL;
    const struct thread_operation *op = v ? g->definitions[v->number] : NULL;
    return op && op->op == THREAD_ADD && op->operands.data[0].value == r->arguments.data[argument];
}

/* Walks through the loop's region; returns whether the arguments have other facts after it. */
static bool go_round(struct finding *g, const struct thread_region *r, struct facts *now, int round,
                     bool *widened)
{
    bool changed = false;
    go_through(g, r, now, now);
    for (size_t i = 0; i < r->arguments.count; i++) {
        const struct facts_type t = facts_type_of(r->arguments.data[i]->type.dtype);
        if (!is_number(r->arguments.data[i]->type) || facts_same(&g->next[i], &now[i]))
            continue;
        changed = true;
        const bool widens = round >= ROUNDS || is_counter(g, r, i);
        *widened |= widens;
        now[i] = widens ? facts_widen(&now[i], &g->next[i], t) : g->next[i];
        if (round >= MOST_ROUNDS)
            now[i] = facts_any(t);
    }
    return changed;
}

/* Limits that were widened come back to what an iteration with the wide ones gives. */
static void narrow(struct finding *g, const struct thread_operation *op,
                   const struct thread_region *r, const struct facts *first, struct facts *now)
{
    begin(g, op);
    go_through(g, r, first, now);
    for (size_t i = 0; i < r->arguments.count; i++)
        now[i] = g->next[i];
}

static void walk_loop(struct finding *g, const struct thread_operation *op)
{
    const bool visiting = g->visiting, dead = g->dead;
    const struct thread_region *r = op->regions.data[0],
                               *few = visiting ? part_for(g, r, ROUND) : r;
    const struct thread_operation *loop = g->loop;
    struct facts *outer = g->next,
                 *first = arena_array(g->arena, struct facts, r->arguments.count + 1),
                 *now = arena_array(g->arena, struct facts, r->arguments.count + 1);
    g->next = arena_array(g->arena, struct facts, r->arguments.count + 1);
    g->loop = op;
    g->visiting = false;
    for (size_t i = 0; i < r->arguments.count; i++)
        if (is_number(r->arguments.data[i]->type))
            first[i] = now[i] =
                thread_facts_of(g->facts, &op->operands.data[i], r->arguments.data[i]->type.dtype);
    bool widened = false;
    int round = 0;
    do
        begin(g, op);
    while (go_round(g, few, now, round++, &widened));
    if (widened)
        narrow(g, op, few, first, now);
    g->visiting = visiting;
    if (visiting || widened) {
        begin(g, op);
        go_through(g, r, now, now);
    }
    g->loop = loop;
    g->next = outer;
    g->dead = dead;
}

static void walk_if(struct finding *g, const struct thread_operation *op)
{
    const struct thread_operation *outer = g->branch;
    const bool dead = g->dead;
    bool leaves = op->op == THREAD_IF && op->regions.count > 1; /* other warps may have no role */
    g->branch = op;
    begin(g, op);
    for (size_t i = 0; i < op->regions.count; i++) {
        const size_t known = g->learned.count;
        g->dead = dead;
        if (op->op == THREAD_IF)
            learn(g, &op->operands.data[0], i == 0);
        walk_region(g, op->regions.data[i]);
        leaves &= g->dead;
        forget(g, known);
    }
    g->dead = dead || leaves;
    g->branch = outer;
}

static void walk_operation(struct finding *g, const struct thread_operation *op)
{
    switch (op->op) {
    case THREAD_IF:
    case THREAD_ROLES: walk_if(g, op); return;
    case THREAD_LOOP: walk_loop(g, op); return;
    case THREAD_YIELD: give(g, g->branch, op, 0); return;
    case THREAD_BREAK:
        give(g, g->loop, op, 0);
        g->dead = true;
        return;
    case THREAD_RETURN: g->dead = true; return;
    case THREAD_BREAK_IF:
        give(g, g->loop, op, 1);
        g->dead |= always_holds(g, &op->operands.data[0]);
        learn(g, &op->operands.data[0], false);
        return;
    case THREAD_CONTINUE: {
        const struct thread_region *r = g->loop->regions.data[0];
        for (size_t i = 0; i < r->arguments.count && !g->dead; i++) {
            const struct thread_type t = r->arguments.data[i]->type;
            if (!is_number(t))
                continue;
            struct facts f = thread_facts_of(g->facts, &op->operands.data[i], t.dtype);
            g->next[i] = facts_join(&g->next[i], &f);
        }
        g->dead = true;
        return;
    }
    default: break;
    }
    for (size_t i = 0; i < op->results.count; i++) {
        const struct thread_value *v = op->results.data[i];
        if (!is_number(v->type))
            continue;
        g->facts[v->number] = i == 0 ? of_operation(g, op) : any(v->type.dtype);
        g->definitions[v->number] = op;
    }
    if (g->visiting)
        g->visit(g->user, op, g->facts);
}

static void walk_region(struct finding *g, const struct thread_region *r)
{
    for (size_t i = 0; i < r->operations.count; i++)
        walk_operation(g, r->operations.data[i]);
}

void thread_facts_walk(struct arena *a, const struct thread_function *f,
                       bool (*wants)(const struct thread_operation *op),
                       void (*visit)(void *user, const struct thread_operation *op,
                                     const struct facts *facts),
                       void *user)
{
    const size_t values = f->values + 1;
    struct finding g = {.arena = a, .function = f, .wants = wants, .visit = visit, .user = user};
    g.facts = arena_room(a, values * sizeof *g.facts); /* a walk sets what it reads */
    g.reached = arena_array(a, bool, values);
    g.needed = arena_array(a, uint8_t, values);
    g.definitions = arena_array(a, const struct thread_operation *, values);
    g.visiting = true;
    for (size_t i = 0; i < f->parameters.count; i++) {
        const struct thread_value *v = f->parameters.data[i];
        const struct facts all = any(v->type.dtype), multiple = facts_multiple(v->divisor);
        g.facts[v->number] = v->divisor ? facts_meet(&all, &multiple) : all;
    }
    walk_region(&g, part_for(&g, f->body, VISIT));
}
