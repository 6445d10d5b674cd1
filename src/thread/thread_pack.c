/* Computes scalars that are joined to a group as groups: join(a * c, b * d) is join(a, b) * join(c, d). Elements of 8 and 16 bits
 * then share words, and a group that a matrix instruction adds to gets its elements without moves (Larsen & Amarasinghe,
 * "Exploiting Superword Level Parallelism with Multimedia Instruction Sets", 2000, from joins in place of stores). */
#include "thread/thread_build.h"

#include <string.h>

enum { MOST_LEVEL = 8, MOST_OPERANDS = 3, MOST_JOINED = 4, WORD_BYTES = 4, NEVER = -(1 << 20) };

struct packing {
    struct thread_builder build;
    const struct thread_operation **definitions; /* by number of a value */
    const struct thread_region **home;           /* by number: the region of its definition */
    uint32_t *uses;
    const struct thread_operation **user; /* by number: an operation that uses it */
    bool *kept; /* by number: a group whose registers are written again, or a passed scalar */
    const struct thread_region *region;
    size_t joins;
};

/* The elements of a group to be. */
struct lanes {
    const struct thread_operand *o;
    uint16_t count;
    enum dtype dtype;
};

/* How they become one operand. */
enum how { UNIFORM, PART, OPERATION, JOINED };

/* --- what is known of values --- */

static bool is_passed(const struct thread_operation *op, size_t i)
{
    const bool tests = (op->op == THREAD_IF || op->op == THREAD_BREAK_IF) && i == 0;
    return (thread_op_table[op->op].effects == THREAD_CONTROL && !tests) ||
           (op->op == THREAD_MMA && i == 0);
}

static void note_region(struct packing *g, const struct thread_region *r)
{
    for (size_t i = 0; i < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        for (size_t j = 0; j < op->operands.count; j++) {
            const struct thread_value *v = op->operands.data[j].value;
            if (!v)
                continue;
            g->uses[v->number]++;
            g->user[v->number] = op;
            g->kept[v->number] |= is_passed(op, j);
        }
        g->joins += op->op == THREAD_JOIN;
        for (size_t j = 0; j < op->results.count; j++) {
            g->definitions[op->results.data[j]->number] = op;
            g->home[op->results.data[j]->number] = r;
        }
        for (size_t j = 0; j < op->regions.count; j++)
            note_region(g, op->regions.data[j]);
    }
}

/* Returns the operation that defines an operand; NULL: it is a constant, a parameter or an argument of a loop. */
static const struct thread_operation *definition(const struct packing *g,
                                                 const struct thread_operand *o)
{
    return o->kind == THREAD_VALUE ? g->definitions[o->value->number] : NULL;
}

/* Returns the group that an operand is an element of; NULL: there is none. */
static const struct thread_value *group_of(const struct packing *g, const struct thread_operand *o)
{
    const struct thread_operation *op = definition(g, o);
    return op && op->op == THREAD_PART && op->operands.data[0].kind == THREAD_VALUE
               ? op->operands.data[0].value
               : NULL;
}

static uint16_t per_word(enum dtype t)
{
    return (uint16_t)(t == DT_NONE || t == DT_BOOL || dtype_size(t) >= WORD_BYTES
                          ? 1
                          : WORD_BYTES / dtype_size(t));
}

static int words_of(const struct lanes *l)
{
    return (l->count + per_word(l->dtype) - 1) / per_word(l->dtype);
}

/* Returns whether an instruction computes the elements of a word at once; of a word with one element, whether the operation is
 * elementwise. */
static bool computes_words(const struct thread_operation *op)
{
    const enum dtype t = op->types[0];
    const bool shares = per_word(t) > 1;
    switch (op->op) {
    case THREAD_AND:
    case THREAD_OR:
    case THREAD_XOR:
    case THREAD_NOT: return t != DT_BOOL;
    case THREAD_ADD:
    case THREAD_SUB:
    case THREAD_MUL:
    case THREAD_FMA:
    case THREAD_NEG:
    case THREAD_ABS:
    case THREAD_SQUARE:
    case THREAD_MIN:
    case THREAD_MAX:
    case THREAD_CLIP: return t != DT_BOOL && (!shares || dtype_is_half(t));
    case THREAD_SELECT: return t != DT_BOOL;
    case THREAD_CONVERT: return dtype_is_half(t) && op->types[1] == DT_F32;
    default: return false;
    }
}

/* Returns operand i of each of the operations that define the lanes. */
static struct lanes operands_of(struct packing *g, const struct lanes *l, size_t i)
{
    struct thread_operand *o = arena_array(g->build.arena, struct thread_operand, l->count);
    const struct thread_operation *first = definition(g, &l->o[0]);
    const char letter = thread_op_table[first->op].operands[i];
    for (uint16_t k = 0; k < l->count; k++)
        o[k] = definition(g, &l->o[k])->operands.data[i];
    return (struct lanes){o, l->count,
                          letter == 'c'   ? DT_BOOL
                          : letter == 'f' ? first->types[1]
                                          : first->types[0]};
}

/* --- how lanes become one operand --- */

static bool is_uniform(const struct packing *g, const struct lanes *l)
{
    const struct thread_value *group = group_of(g, &l->o[0]);
    for (uint16_t i = 1; i < l->count; i++)
        if (!thread_same_operand(&l->o[0], &l->o[i]))
            return false;
    return !group || group->type.count == 1;
}

/* Returns whether the lanes are neighbours in a group, in whole words. */
static bool is_part(const struct packing *g, const struct lanes *l)
{
    const struct thread_value *group = group_of(g, &l->o[0]);
    const uint16_t each = per_word(l->dtype);
    if (!group || l->count % each != 0)
        return false;
    const int64_t first = definition(g, &l->o[0])->operands.data[1].integer;
    for (uint16_t i = 0; i < l->count; i++)
        if (group_of(g, &l->o[i]) != group || l->o[i].value->type.count > 1 ||
            definition(g, &l->o[i])->operands.data[1].integer != first + i)
            return false;
    return first % each == 0;
}

/* Returns whether the lanes are results, without another use, of operations of one kind in the region. */
static bool is_operation(const struct packing *g, const struct lanes *l)
{
    const struct thread_operation *first = definition(g, &l->o[0]);
    if (!first || !computes_words(first))
        return false;
    for (uint16_t i = 0; i < l->count; i++) {
        const struct thread_operation *op = definition(g, &l->o[i]);
        if (!op || op->op != first->op || op->types[0] != first->types[0] ||
            op->types[1] != first->types[1] || g->uses[l->o[i].value->number] != 1 ||
            g->home[l->o[i].value->number] != g->region)
            return false;
    }
    return true;
}

static enum how how_of(const struct packing *g, const struct lanes *l)
{
    return is_uniform(g, l)     ? UNIFORM
           : is_part(g, l)      ? PART
           : is_operation(g, l) ? OPERATION
                                : JOINED;
}

/* Returns how many moves fewer it takes to join the lanes: a word that is part of a group need not be taken apart. Words of one
 * element are not moved, unless their registers are written again: by the operation itself, if the lanes are parts of a group. */
static int gain_of_joining(const struct packing *g, const struct lanes *l)
{
    const uint16_t each = per_word(l->dtype);
    int gain = 0;
    for (uint16_t i = 0; each > 1 && i < l->count; i += each) {
        const uint16_t left = l->count - i;
        const struct lanes word = {l->o + i, left < each ? left : each, l->dtype};
        gain += is_part(g, &word) ? 1 : -1;
    }
    for (uint16_t i = 0; each == 1 && i < l->count; i++)
        if (l->o[i].kind != THREAD_VALUE || g->kept[l->o[i].value->number] || group_of(g, &l->o[i]))
            return NEVER;
    return gain;
}

/* Returns how many instructions fewer it takes to have the lanes as one operand. */
static int gain_of(struct packing *g, const struct lanes *l, int level)
{
    const bool shares = per_word(l->dtype) > 1;
    const enum how how = how_of(g, l);
    int gain = 0;
    if (l->dtype == DT_BOOL && how != UNIFORM)
        return NEVER;
    switch (how) {
    case UNIFORM: return !shares ? 0 : l->o[0].kind == THREAD_VALUE ? -1 : l->count - words_of(l);
    case PART: {
        const struct thread_value *group = group_of(g, &l->o[0]);
        return shares ? words_of(l)
                      : (g->kept[group->number] && group->type.count == l->count) * l->count;
    }
    case JOINED: return gain_of_joining(g, l);
    case OPERATION: break;
    }
    if (level == MOST_LEVEL)
        return NEVER;
    const struct thread_operation *op = definition(g, &l->o[0]);
    bool has_group = false; /* an operation of scalars gives no group */
    for (size_t i = 0; i < op->operands.count; i++) {
        const struct lanes operands = operands_of(g, l, i);
        const enum how as = how_of(g, &operands);
        has_group |= as != UNIFORM;
        /* the registers of what is added to are written again */
        const bool moves =
            op->op == THREAD_FMA && i == 2 && !shares && (as == PART || as == JOINED);
        gain += moves ? NEVER : gain_of(g, &operands, level + 1);
    }
    return has_group ? gain + l->count - words_of(l) : NEVER;
}

/* --- packing --- */

static struct thread_operand packed(struct packing *g, const struct lanes *l);

static void set_operands(struct packing *g, struct thread_operation *to, const struct lanes *l)
{
    const struct thread_operation *op = definition(g, &l->o[0]);
    struct thread_operand o[MOST_OPERANDS];
    for (size_t i = 0; i < op->operands.count; i++) {
        const struct lanes operands = operands_of(g, l, i);
        o[i] = packed(g, &operands);
    }
    to->op = op->op;
    memcpy(to->types, op->types, sizeof to->types);
    to->operands.count = 0;
    for (size_t i = 0; i < op->operands.count; i++)
        vec_push(g->build.arena, &to->operands, o[i]);
}

/* Returns lanes that are neighbours in a group. */
static struct thread_operand part_of(struct packing *g, const struct lanes *l)
{
    const struct thread_operand *o = definition(g, &l->o[0])->operands.data;
    if (o[0].value->type.count == l->count)
        return o[0];
    return thread_use(THREAD_ADD_OP(&g->build, THREAD_PART, l->dtype, DT_NONE, o[0], o[1],
                                    thread_integer(l->count), thread_integer(1)));
}

/* Joins words, each of which is joined or a part of a group. */
static struct thread_operand joined(struct packing *g, const struct lanes *l)
{
    struct thread_operand some[MOST_JOINED];
    size_t count = 0;
    uint16_t each = l->count > per_word(l->dtype) ? per_word(l->dtype) : 1;
    while (each * MOST_JOINED < l->count)
        each *= MOST_JOINED;
    for (uint16_t from = 0; from < l->count; from += each) {
        const uint16_t left = l->count - from;
        const struct lanes x = {l->o + from, left < each ? left : each, l->dtype};
        some[count++] = x.count == 1 ? *x.o : is_part(g, &x) ? part_of(g, &x) : joined(g, &x);
    }
    return thread_use(
        thread_add_counted(&g->build, THREAD_JOIN, l->dtype, DT_NONE, 0, some, count));
}

/* Returns the lanes as one operand. */
static struct thread_operand packed(struct packing *g, const struct lanes *l)
{
    const enum how how = how_of(g, l);
    if (how == UNIFORM)
        return l->o[0];
    if (how == OPERATION) {
        struct thread_operation *op = arena_new(g->build.arena, struct thread_operation);
        op->where = g->build.where;
        set_operands(g, op, l);
        struct thread_value *v =
            thread_new_value(&g->build, (struct thread_type){.dtype = l->dtype, .count = l->count});
        vec_push(g->build.arena, &op->results, v);
        vec_push(g->build.arena, &g->build.region->operations, op);
        return thread_use(v);
    }
    if (how == JOINED)
        return joined(g, l);
    return part_of(g, l);
}

/* Adds the scalars that a join, or joins that only it uses, take. Returns false if they take groups. */
static bool add_lanes(struct packing *g, const struct thread_operation *join,
                      struct thread_operand *o, uint16_t *count)
{
    for (size_t i = 0; i < join->operands.count; i++) {
        const struct thread_operand *x = &join->operands.data[i];
        const struct thread_operation *op = definition(g, x);
        if (x->kind != THREAD_VALUE || x->value->type.count == 1)
            o[(*count)++] = *x;
        else if (!op || op->op != THREAD_JOIN || g->uses[x->value->number] > 1 ||
                 !add_lanes(g, op, o, count))
            return false;
    }
    return true;
}

/* Returns whether an operation on groups is better than a join. l: its scalars */
static bool is_better(struct packing *g, const struct thread_operation *join, struct lanes *l)
{
    const struct thread_value *v = join->results.data[0];
    struct thread_operand *o = arena_array(g->build.arena, struct thread_operand, v->type.count);
    *l = (struct lanes){o, 0, join->types[0]};
    if (!add_lanes(g, join, o, &l->count) || how_of(g, l) != OPERATION)
        return false;
    const int moves = per_word(l->dtype) > 1 || g->kept[v->number] ? words_of(l) : 0;
    return gain_of(g, l, 0) + moves > 0;
}

/* Returns whether a join that only this one's user takes will be an operation, with this one's scalars. */
static bool is_taken(struct packing *g, const struct thread_operation *join)
{
    const uint32_t number = join->results.data[0]->number;
    const struct thread_operation *user = g->uses[number] == 1 ? g->user[number] : NULL;
    struct lanes l;
    return user && user->op == THREAD_JOIN && g->home[user->results.data[0]->number] == g->region &&
           (is_better(g, user, &l) || is_taken(g, user));
}

/* Makes a join the operation on groups, if that is fewer instructions. */
static void pack(struct packing *g, struct thread_operation *join)
{
    struct lanes l;
    if (is_taken(g, join) || !is_better(g, join, &l))
        return;
    struct thread_operation with = *join;
    g->build.where = join->where;
    memset(&with.operands, 0, sizeof with.operands);
    set_operands(g, &with, &l);
    *join = with;
}

static void pack_region(struct packing *g, struct thread_region *r)
{
    struct thread_region to = {0};
    for (size_t i = 0; i < r->operations.count; i++) {
        struct thread_operation *op = r->operations.data[i];
        for (size_t j = 0; j < op->regions.count; j++)
            pack_region(g, op->regions.data[j]);
        g->region = r;
        g->build.region = &to;
        if (op->op == THREAD_JOIN)
            pack(g, op);
        vec_push(g->build.arena, &to.operations, op);
    }
    r->operations.data = to.operations.data;
    r->operations.count = to.operations.count;
    r->operations.capacity = to.operations.capacity;
}

void thread_pack(struct arena *a, struct thread_function *f)
{
    const uint32_t values = f->values + 1;
    struct packing g = {.build = {.arena = a, .function = f, .where = f->where}};
    g.definitions = arena_array(a, const struct thread_operation *, values);
    g.home = arena_array(a, const struct thread_region *, values);
    g.uses = arena_array(a, uint32_t, values);
    g.user = arena_array(a, const struct thread_operation *, values);
    g.kept = arena_array(a, bool, values);
    note_region(&g, f->body);
    if (g.joins)
        pack_region(&g, f->body);
}
