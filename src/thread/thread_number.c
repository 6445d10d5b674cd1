/* Numbers values: of operations that compute the same, the first one that dominates the others stays (Click, "Global
 * Code Motion, Global Value Numbering", 1995, with the structure of regions in place of a dominator tree). On the
 * way, operations on constants are computed, and operations that change nothing give their operand. */
#include "thread/thread.h"

#include <string.h>

enum { BUCKETS = 4096 };

/* A computed value that is visible here. */
struct entry {
    const struct thread_operation *operation;
    struct thread_value *value; /* its result, or what has its place */
    struct entry *next;         /* of the bucket */
    uint32_t hash;
};

struct numbering {
    struct arena *arena;
    const struct thread_operand **instead;       /* by number of a value; NULL: itself */
    const struct thread_operation **definitions; /* by number; NULL: no operation's result */
    struct entry *entries;                       /* room for two a value */
    size_t count;
    int loops; /* around the present operation */
    struct entry *first[BUCKETS];
};

/* Returns whether operand i may be a constant. Values that leave a loop or an `if` have to be values, because the
 * results' types are theirs. */
static bool takes_constant(const struct thread_operation *op, size_t i)
{
    switch (op->op) {
    case THREAD_LOOP:
    case THREAD_CONTINUE: return true;
    case THREAD_WARP_ADD:
    case THREAD_WARP_MIN:
    case THREAD_WARP_MAX:
    case THREAD_WARP_AND:
    case THREAD_WARP_OR:
    case THREAD_WEAVE:
    case THREAD_PART:
    case THREAD_REDUCE_MAX:
    case THREAD_REDUCE_MIN:
    case THREAD_REDUCE_ADD:
    case THREAD_REDUCE_AND:
    case THREAD_REDUCE_OR: return false;
    case THREAD_SHUFFLE:
    case THREAD_SHUFFLE_XOR:
    case THREAD_SHUFFLE_UP: return i > 0;
    default: break;
    }
    const char *pattern = thread_op_table[op->op].operands;
    if (i >= strlen(pattern) || pattern[i] == '+')
        return strchr(pattern, '+') && pattern[strlen(pattern) - 2] != 'b';
    return strchr("vixkqg", pattern[i]) != NULL;
}

/* Returns whether a condition may be a constant there. */
static bool takes_known(const struct thread_operation *op, size_t i)
{
    const char *pattern = thread_op_table[op->op].operands;
    return op->op == THREAD_LOOP || op->op == THREAD_CONTINUE ||
           (i < strlen(pattern) && pattern[i] == 'q');
}

/* Lets operand i, whose value has something in its place, be that. */
static void replace(struct numbering *g, const struct thread_operation *op, size_t i)
{
    struct thread_operand *o = &op->operands.data[i];
    const struct thread_operand *new = g->instead[o->value->number];
    if (new->kind != THREAD_VALUE && o->kind == THREAD_VALUE && !takes_constant(op, i))
        return;
    if (new->kind != THREAD_VALUE && o->value->type.dtype == DT_BOOL && !takes_known(op, i))
        return;
    if (o->kind == THREAD_VALUE) {
        const struct thread_operand before = *o;
        *o = *new;
        o->offset = before.offset;
        o->length = before.length;
    } else if (new->kind == THREAD_VALUE) {
        o->value = new->value;
    } else if (new->kind == THREAD_INTEGER &&new->integer >= 0 &&
               new->integer <= (int64_t)o->object->count - o->integer - 1) {
        o->value = NULL; /* an element with a constant index */
        o->integer += new->integer;
    }
}

/* --- constants and identities --- */

static bool is_integer(const struct thread_operand *o, int64_t value)
{
    return o->kind == THREAD_INTEGER && o->integer == value;
}

static bool compute(enum thread_opcode op, enum dtype t, int64_t a, int64_t b, int64_t *out)
{
    const bool shifts = op == THREAD_SHL || op == THREAD_SHR;
    const uint64_t x = (uint64_t)dtype_wrap(t, a), y = (uint64_t)dtype_wrap(shifts ? DT_U32 : t, b);
    const unsigned bits = (unsigned)dtype_table[t].bits;
    uint64_t r;
    switch (op) {
    case THREAD_ADD: r = x + y; break;
    case THREAD_SUB: r = x - y; break;
    case THREAD_MUL: r = x * y; break;
    case THREAD_AND: r = x & y; break;
    case THREAD_OR: r = x | y; break;
    case THREAD_XOR: r = x ^ y; break;
    case THREAD_SHL: r = y < bits ? x << y : 0; break;
    case THREAD_EQ: *out = x == y; return true;
    case THREAD_NE: *out = x != y; return true;
    case THREAD_DIV:
    case THREAD_REM:
    case THREAD_SHR:
        if (dtype_is_signed(t) || (op != THREAD_SHR && y == 0))
            return false;
        r = op == THREAD_DIV ? x / y : op == THREAD_REM ? x % y : y < bits ? x >> y : 0;
        break;
    default: return false;
    }
    *out = dtype_wrap(t, (int64_t)r);
    return true;
}

static struct thread_operand constant(int64_t value)
{
    return (struct thread_operand){.kind = THREAD_INTEGER, .integer = value};
}

/* Returns whether the operation gives *instead, an operand of it or a constant. Floats are left as they are. */
static bool simplify(const struct thread_operation *op, struct thread_operand *instead)
{
    const struct thread_operand *o = op->operands.data;
    if (op->operands.count != 2 || (o[0].kind != THREAD_INTEGER && o[1].kind != THREAD_INTEGER) ||
        !dtype_is_int(op->types[0]) || thread_op_table[op->op].types != 1)
        return false;
    int64_t value;
    if (o[0].kind == THREAD_INTEGER && o[1].kind == THREAD_INTEGER &&
        compute(op->op, op->types[0], o[0].integer, o[1].integer, &value)) {
        *instead = constant(value);
        return true;
    }
    const bool adds = op->op == THREAD_ADD || op->op == THREAD_OR || op->op == THREAD_XOR;
    const bool shifts = op->op == THREAD_SHL || op->op == THREAD_SHR || op->op == THREAD_SUB;
    if ((adds || shifts) && is_integer(&o[1], 0))
        *instead = o[0];
    else if ((adds && is_integer(&o[0], 0)) || (op->op == THREAD_MUL && is_integer(&o[0], 1)))
        *instead = o[1];
    else if ((op->op == THREAD_MUL || op->op == THREAD_DIV) && is_integer(&o[1], 1))
        *instead = o[0];
    else if (((op->op == THREAD_MUL || op->op == THREAD_AND) &&
              (is_integer(&o[0], 0) || is_integer(&o[1], 0))) ||
             (op->op == THREAD_REM && is_integer(&o[1], 1)))
        *instead = constant(0);
    else
        return false;
    return true;
}

/* Returns whether a conversion gives *instead: back to the type, of the same size, that the first one converted from. */
static bool converts_back(const struct numbering *g, const struct thread_operation *op,
                          struct thread_operand *instead)
{
    const struct thread_value *v = op->op == THREAD_CONVERT ? op->operands.data[0].value : NULL;
    const struct thread_operation *from = v ? g->definitions[v->number] : NULL;
    if (!from || from->op != THREAD_CONVERT || from->types[1] != op->types[0] ||
        from->types[0] != op->types[1] || !dtype_is_int(op->types[0]) ||
        !dtype_is_int(op->types[1]) || dtype_size(op->types[0]) != dtype_size(op->types[1]) ||
        from->operands.data[0].kind != THREAD_VALUE)
        return false;
    *instead = from->operands.data[0];
    return true;
}

/* --- the table --- */

bool thread_same_operand(const struct thread_operand *a, const struct thread_operand *b)
{
    if (a->kind != b->kind || a->value != b->value)
        return false;
    switch (a->kind) {
    case THREAD_VALUE: return true;
    case THREAD_FLOAT: return memcmp(&a->real, &b->real, sizeof a->real) == 0;
    case THREAD_ELEMENT: return a->object == b->object && a->integer == b->integer;
    case THREAD_TEXT: return strcmp(a->text, b->text) == 0;
    default: return a->integer == b->integer;
    }
}

bool thread_same_operation(const struct thread_operation *a, const struct thread_operation *b)
{
    const struct thread_operand *o = a->operands.data, *p = b->operands.data;
    if (a->op != b->op || a->operands.count != b->operands.count)
        return false;
    for (int i = 0; i < thread_op_table[a->op].types; i++)
        if (a->types[i] != b->types[i])
            return false;
    for (size_t left = a->operands.count; left > 0; left--)
        if (!thread_same_operand(o++, p++))
            return false;
    return true;
}

uint32_t thread_hash_operation(const struct thread_operation *op)
{
    uint32_t hash = (uint32_t)op->op * 31 + (uint32_t)op->types[0];
    const struct thread_operand *o = op->operands.data;
    for (size_t left = op->operands.count; left > 0; left--, o++)
        hash = hash * 31 + (o->value ? o->value->number : 0) +
               (o->kind == THREAD_TEXT ? 0 : (uint32_t)o->integer);
    return hash ^ hash >> 15;
}

static void forget(struct numbering *g, size_t from)
{
    while (g->count > from) {
        const struct entry *e = &g->entries[--g->count];
        g->first[e->hash % BUCKETS] = e->next;
    }
}

/* Groups are left alone, because a product may take the registers of one of them. */
static bool has_number(const struct thread_operation *op)
{
    const bool pure = thread_op_table[op->op].effects == THREAD_PURE || op->op == THREAD_LOAD_CONST;
    return pure && op->results.count == 1 && op->results.data[0]->type.count == 1 &&
           op->op != THREAD_UNDEFINED;
}

/* Adds a constant to what another constant was added to: (a + 1) + 1 is a + 2. */
static void join_constants(const struct numbering *g, struct thread_operation *op)
{
    struct thread_operand *o = op->operands.data;
    if (op->op != THREAD_ADD || !dtype_is_int(op->types[0]) || o[0].kind != THREAD_VALUE ||
        o[1].kind != THREAD_INTEGER)
        return;
    const struct thread_operation *inner = g->definitions[o[0].value->number];
    const struct thread_operand *p = inner ? inner->operands.data : NULL;
    if (!inner || inner->op != THREAD_ADD || o[0].value->wraps || p[0].kind != THREAD_VALUE ||
        p[1].kind != THREAD_INTEGER)
        return;
    o[0].value = p[0].value;
    compute(THREAD_ADD, op->types[0], o[1].integer, p[1].integer, &o[1].integer);
}

/* Lets an operand take the place of a value. */
static void set_instead(struct numbering *g, const struct thread_value *v, struct thread_operand o)
{
    if (o.value)
        o.value->wraps |= v->wraps;
    g->instead[v->number] = arena_copy(g->arena, &o, sizeof o);
}

static struct thread_operand use(struct thread_value *v)
{
    return (struct thread_operand){.kind = THREAD_VALUE, .value = v};
}

/* Returns the result of a visible operation that computes the same; NULL: there is none. */
static struct thread_value *find_same(const struct numbering *g, const struct thread_operation *op,
                                      uint32_t hash)
{
    for (const struct entry *e = g->first[hash % BUCKETS]; e; e = e->next)
        if (e->hash == hash && thread_same_operation(e->operation, op))
            return e->value;
    return NULL;
}

static void enter(struct numbering *g, const struct thread_operation *op,
                  struct thread_value *value, uint32_t hash)
{
    struct entry **first = &g->first[hash % BUCKETS], *own = &g->entries[g->count++];
    *own = (struct entry){op, value, *first, hash};
    *first = own;
}

/* Adds a constant to a known sum in place of a number to a number plus the constant: in a loop over j where c + j is known,
 * (c + 1) + j becomes (c + j) + 1, so that the loop keeps no register for c + 1. Returns a copy of the operation if it was
 * changed, or else NULL. */
static const struct thread_operation *add_to_known(const struct numbering *g,
                                                   struct thread_operation *op)
{
    struct thread_operand *o = op->operands.data;
    const bool adds = op->op == THREAD_ADD && dtype_is_int(op->types[0]);
    for (size_t i = 0; i < 2 && adds && g->loops > 0; i++) {
        const struct thread_operation *inner =
            o[i].value ? g->definitions[o[i].value->number] : NULL;
        if (!inner || inner->op != THREAD_ADD || inner->operands.data[1].kind != THREAD_INTEGER ||
            o[1 - i].kind != THREAD_VALUE)
            continue;
        struct thread_operand operands[2];
        operands[i] = inner->operands.data[0];
        operands[1 - i] = o[1 - i];
        struct thread_operation with = *op;
        with.operands.data = operands;
        struct thread_value *known = find_same(g, &with, thread_hash_operation(&with));
        if (!known)
            continue;
        with.operands.data = arena_copy(g->arena, o, 2 * sizeof *o);
        o[0] = use(known);
        o[1] = inner->operands.data[1];
        join_constants(g, op);
        return arena_copy(g->arena, &with, sizeof with);
    }
    return NULL;
}

/* Returns whether another value takes the place of the result everywhere. */
static bool number_operation(struct numbering *g, struct thread_operation *op)
{
    struct thread_operand instead;
    if (!has_number(op))
        return false;
    struct thread_value *v = op->results.data[0];
    join_constants(g, op);
    const struct thread_operation *before = add_to_known(g, op);
    g->definitions[v->number] = op;
    if (simplify(op, &instead) || converts_back(g, op, &instead)) {
        set_instead(g, v, instead);
        return instead.kind == THREAD_VALUE;
    }
    const uint32_t hash = thread_hash_operation(op);
    struct thread_value *same = find_same(g, op, hash);
    if (before)
        enter(g, before, same ? same : v, thread_hash_operation(before));
    if (same)
        set_instead(g, v, use(same));
    else
        enter(g, op, v, hash);
    return same != NULL;
}

/* --- loads under a predicate --- */

/* Returns the load of an `if` that gives an element of memory that nothing writes, or else another value; NULL: it is another
 * `if`. */
static const struct thread_operation *guarded_load(const struct thread_operation *op)
{
    if (op->op != THREAD_IF || op->regions.count != 2 || op->results.count != 1 ||
        op->results.data[0]->type.count > 1)
        return NULL;
    const struct thread_region *yes = op->regions.data[0], *no = op->regions.data[1];
    if (yes->operations.count != 2 || no->operations.count != 1)
        return NULL;
    const struct thread_operation *load = yes->operations.data[0], *gives = yes->operations.data[1];
    const bool good = load->op == THREAD_LOAD_CONST && gives->op == THREAD_YIELD &&
                      gives->operands.data[0].value == load->results.data[0] &&
                      no->operations.data[0]->op == THREAD_YIELD;
    return good ? load : NULL;
}

static void number_guarded_load(struct numbering *g, const struct thread_operation *op)
{
    const struct thread_operation *load = guarded_load(op);
    if (!load)
        return;
    const struct thread_operand *condition = op->operands.data;
    const uint32_t hash = thread_hash_operation(load) * 31 +
                          (condition->value ? condition->value->number : 0) + THREAD_IF;
    for (const struct entry *e = g->first[hash % BUCKETS]; e; e = e->next) {
        const struct thread_operation *known = e->operation;
        if (e->hash == hash && known->op == THREAD_IF &&
            thread_same_operand(known->operands.data, condition) &&
            thread_same_operation(guarded_load(known), load) &&
            thread_same_operand(known->regions.data[1]->operations.data[0]->operands.data,
                                op->regions.data[1]->operations.data[0]->operands.data)) {
            set_instead(g, op->results.data[0], use(known->results.data[0]));
            return;
        }
    }
    enter(g, op, op->results.data[0], hash);
}

/* --- arguments of loops --- */

static const struct thread_operand *constant_of(const struct numbering *g,
                                                const struct thread_operand *o)
{
    const struct thread_operand *instead =
        o->kind == THREAD_VALUE ? g->instead[o->value->number] : NULL;
    return instead && instead->kind != THREAD_VALUE ? instead : o;
}

/* Returns whether the value is now a constant. */
static bool set_constant(struct numbering *g, const struct thread_value *v,
                         const struct thread_operand *o)
{
    const bool constant =
        o && o->kind == THREAD_INTEGER && v->type.count == 1 && dtype_is_int(v->type.dtype);
    g->instead[v->number] = NULL;
    if (constant)
        set_instead(g, v, *o);
    return constant;
}

/* Computes the operations of a loop's region whose operands are constants. */
static void compute_region(struct numbering *g, const struct thread_region *r)
{
    for (size_t i = 0; i < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        if (op->operands.count != 2 || !has_number(op))
            continue;
        const struct thread_operand *x = constant_of(g, &op->operands.data[0]);
        const struct thread_operand *y = constant_of(g, &op->operands.data[1]);
        struct thread_operand instead;
        bool known = x->kind == THREAD_INTEGER || y->kind == THREAD_INTEGER;
        if (known) {
            struct thread_operand operands[2] = {*x, *y};
            struct thread_operation with = *op;
            with.operands.data = operands;
            known = simplify(&with, &instead);
        }
        set_constant(g, op->results.data[0], known ? &instead : NULL);
    }
}

/* Finds the arguments that keep the integer with which they begin: all are taken to do so, until no value that
 * `continue` passes, computed with the others, says otherwise. */
static void find_constant_arguments(struct numbering *g, const struct thread_operation *loop)
{
    const struct thread_region *r = loop->regions.data[0];
    const struct thread_operation *last = thread_only_continue(loop);
    if (!last)
        return;
    bool changed = false;
    for (size_t i = 0; i < r->arguments.count; i++)
        changed |= set_constant(g, r->arguments.data[i], &loop->operands.data[i]);
    while (changed) {
        changed = false;
        compute_region(g, r);
        for (size_t i = 0; i < r->arguments.count; i++) {
            const struct thread_value *v = r->arguments.data[i];
            const struct thread_operand *next = constant_of(g, &last->operands.data[i]);
            if (!g->instead[v->number] || is_integer(next, g->instead[v->number]->integer))
                continue;
            set_constant(g, v, NULL);
            changed = true;
        }
    }
}

static void number_region(struct numbering *g, struct thread_region *r)
{
    size_t left = 0;
    const size_t known = g->count;
    for (size_t i = 0; i < r->operations.count; i++) {
        struct thread_operation *op = r->operations.data[i];
        const struct thread_operand *o = op->operands.data;
        for (size_t j = 0; j < op->operands.count; j++, o++)
            if (o->value && g->instead[o->value->number])
                replace(g, op, j);
        if (number_operation(g, op))
            continue;
        r->operations.data[left++] = op;
        if (op->op == THREAD_LOOP)
            find_constant_arguments(g, op);
        g->loops += op->op == THREAD_LOOP;
        for (size_t j = 0; j < op->regions.count; j++)
            number_region(g, op->regions.data[j]);
        g->loops -= op->op == THREAD_LOOP;
        number_guarded_load(g, op);
    }
    r->operations.count = left;
    forget(g, known);
}

static void number_holders(const struct numbering *g, const struct thread_function *f)
{
    for (size_t i = 0; i < f->holders.count; i++)
        for (size_t j = 0; j < f->holders.data[i]->values.count; j++) {
            struct thread_value **v = &f->holders.data[i]->values.data[j];
            const struct thread_operand *instead = g->instead[(*v)->number];
            if (instead && instead->kind == THREAD_VALUE)
                *v = instead->value;
        }
}

void thread_number(struct arena *a, struct thread_function *f)
{
    struct numbering *g = arena_new(a, struct numbering);
    g->arena = a;
    g->instead = arena_array(a, const struct thread_operand *, f->values + 1);
    g->definitions = arena_array(a, const struct thread_operation *, f->values + 1);
    g->entries = arena_room(a, 2 * (f->values + 1) * sizeof *g->entries);
    number_region(g, f->body);
    number_holders(g, f);
}
