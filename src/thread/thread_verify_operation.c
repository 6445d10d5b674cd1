/* Checks of thread IR, each operation by itself: operands and types by the table of operations, constants, lengths of groups,
 * fragments of products. */
#include "target/targets.h"
#include "thread/thread_verify_own.h"

#include <string.h>

enum { WARP_THREADS = 32, MOST_ARRIVALS = (1 << 20) - 1 };

/* --- operands by the table --- */

/* Returns whether the type has the integer. A negative one means the bits of its complement, also without a sign. */
static bool has_integer(enum dtype t, int64_t integer)
{
    if (t == DT_NONE || t == DT_BOOL)
        return t == DT_BOOL && (integer == 0 || integer == 1);
    const int bits = dtype_table[t].bits;
    if (dtype_is_float(t) || bits == 64)
        return true;
    return integer >= -((int64_t)1 << (bits - 1)) &&
           integer < (int64_t)1 << (dtype_is_signed(t) ? bits - 1 : bits);
}

static bool is_shared(const struct thread_object *o)
{
    return !o->values && !o->is_local;
}

bool thread_verify_is_scalar(const struct thread_operand *o, enum dtype t)
{
    if (o->kind == THREAD_INTEGER)
        return has_integer(t, o->integer);
    return is_value(o) && o->value->type.dtype == t && o->value->type.count == 1 &&
           !o->value->type.in_flight;
}

bool thread_verify_fits(const struct thread_operand *o, enum dtype t)
{
    switch (o->kind) {
    case THREAD_VALUE: return o->value->type.dtype == t && !o->value->type.in_flight;
    case THREAD_INTEGER: return t != DT_BOOL && has_integer(t, o->integer);
    case THREAD_FLOAT: return t != DT_NONE && dtype_is_float(t);
    default: return false;
    }
}

static const char *const expected[] = {
    ['v'] = "expected a value or a constant of the operation's type",
    ['f'] = "expected a value of the operation's second type",
    ['g'] = "expected a value or a constant of the operation's second type",
    ['h'] = "expected a value of the operation's third type",
    ['a'] = "expected a group of sums of the operation's type",
    ['w'] = "expected a group in flight",
    ['p'] = "expected a predicate (bool)",
    ['c'] = "expected a predicate (bool), or a group of them",
    ['t'] = "expected the first element of a table, such as levels[0]",
    ['l'] = "expected the first element of a local array, such as seen[0]",
    ['q'] = "expected a predicate (bool), or 0 or 1",
    ['s'] = "expected a text, such as \"sum = \"",
    ['i'] = "expected a u32",
    ['k'] = "expected a u32, or a group of them",
    ['x'] = "expected an index: a u32, a u64 or an i64",
    ['d'] = "expected a u64; an atomic takes an element of a shared array of its type, too",
    ['n'] = "expected a constant that is not negative",
    ['m'] = "expected a tensor map",
    ['o'] = "expected an element of a shared array, of the operation's type",
    ['b'] = "expected an mbarrier",
};

/* Returns whether the operand is a constant that is stored as a predicate. */
static bool is_stored_bool(const struct thread_operation *op, const struct thread_operand *o)
{
    return op->types[0] == DT_BOOL && thread_op_table[op->op].effects == THREAD_WRITES &&
           o->kind == THREAD_INTEGER && (o->integer == 0 || o->integer == 1);
}

static bool takes(const struct thread_operation *op, char kind, const struct thread_operand *o)
{
    switch (kind) {
    case 'v': return thread_verify_fits(o, op->types[0]) || is_stored_bool(op, o);
    case 'f': return is_value(o) && thread_verify_fits(o, op->types[1]);
    case 'g': return thread_verify_fits(o, op->types[1]);
    case 'h': return is_value(o) && thread_verify_fits(o, op->types[2]);
    case 'a':
        return is_value(o) && o->value->type.dtype == op->types[0] && o->value->type.count > 1;
    case 'w':
        return is_value(o) && o->value->type.in_flight && o->value->type.dtype == op->types[0];
    case 'p': return is_value(o) && thread_verify_is_scalar(o, DT_BOOL);
    case 'c': return is_value(o) && o->value->type.dtype == DT_BOOL;
    case 'q': return thread_verify_is_scalar(o, DT_BOOL);
    case 'x':
        return thread_verify_is_scalar(o, DT_U32) ||
               (is_value(o) &&
                (thread_verify_is_scalar(o, DT_U64) || thread_verify_is_scalar(o, DT_I64)));
    case 'i': return thread_verify_is_scalar(o, DT_U32);
    case 'k': return thread_verify_fits(o, DT_U32);
    case 'd':
        return is_value(o) ? thread_verify_is_scalar(o, DT_U64)
                           : o->kind == THREAD_ELEMENT && thread_is_atomic(op->op) &&
                                 o->object->dtype == op->types[0] && is_shared(o->object);
    case 'n': return o->kind == THREAD_INTEGER && o->integer >= 0;
    case 'm': return is_value(o) && o->value->type.dtype == DT_NONE;
    case 'o':
        return o->kind == THREAD_ELEMENT && o->object->dtype != DT_NONE && is_shared(o->object) &&
               (thread_op_table[op->op].types == 0 || o->object->dtype == op->types[0]);
    case 'l':
        return o->kind == THREAD_ELEMENT && o->object->is_local && !o->value && o->integer == 0;
    case 't': return o->kind == THREAD_ELEMENT && o->object->values && !o->value && o->integer == 0;
    case 's': return o->kind == THREAD_TEXT;
    case 'b': return o->kind == THREAD_ELEMENT && o->object->dtype == DT_NONE;
    default: return false;
    }
}

static void check_index(struct checks *c, const struct thread_operand *o)
{
    if (o->kind != THREAD_ELEMENT)
        return;
    if (o->value && !(o->value->type.dtype == DT_U32 && o->value->type.count == 1))
        thread_verify_refuse(c, o, "an index is a u32");
    if (o->integer < 0 || o->integer >= o->object->count)
        thread_verify_refuse(c, o, "this element is outside of the array");
}

/* Returns '+' or '?' if the pattern ends with it; else 0. */
static char ending(const char *pattern)
{
    const size_t length = strlen(pattern);
    const char last = length ? pattern[length - 1] : '\0';
    return last == '+' || last == '?' ? last : '\0';
}

/* Returns the letter of operand i; 0: there is none. */
static char letter(const char *pattern, size_t i)
{
    enum { MOST_OF_LAST = 5 };
    const char end = ending(pattern);
    const size_t letters = strlen(pattern) - (end != '\0');
    if (end == '+' && i >= letters)
        return i + 1 < letters + MOST_OF_LAST ? pattern[letters - 1] : '\0';
    return i < letters ? pattern[i] : '\0';
}

static bool check_operands(struct checks *c, const struct thread_operation *op)
{
    const char *pattern = thread_op_table[op->op].operands;
    const char end = ending(pattern);
    const size_t least = strlen(pattern) - (end == '?' ? 2 : end == '+');
    for (size_t i = 0; i < op->operands.count; i++) {
        const struct thread_operand *o = &op->operands.data[i];
        char kind = letter(pattern, i);
        if (!kind || !takes(op, kind, o)) {
            thread_verify_refuse(c, o, kind ? expected[(int)kind] : "there are too many operands");
            return false;
        }
        check_index(c, o);
        if (kind == 'a' || kind == 'w')
            thread_verify_take(c, o);
        else
            thread_verify_use(c, o);
    }
    if (op->operands.count < least)
        thread_verify_fault(c, op->where, "there are too few operands");
    return op->operands.count >= least;
}

/* --- constants --- */

/* Ranges of constants: PTX ISA, at the instructions that the operations become. A load's constant is a distance of
 * less than 2^31 bytes. */
static const struct limit {
    enum thread_opcode op;
    uint8_t operand;
    int32_t least, most, step;
} limits[] = {
    {THREAD_SHUFFLE_XOR, 1, 0, 31, 1},
    {THREAD_SHUFFLE_UP, 1, 0, 31, 1},
    {THREAD_SHUFFLE_UP, 2, 1, 32, 1},
    {THREAD_PART, 1, 0, 255, 1},
    {THREAD_PART, 2, 1, 256, 1},
    {THREAD_PART, 3, 0, 255, 1},
    {THREAD_LOAD, 2, 0, (1 << 28) - 1, 1},
    {THREAD_LOAD_IF, 3, 0, (1 << 28) - 1, 1},
    {THREAD_LOAD_CONST, 2, 0, (1 << 28) - 1, 1},
    {THREAD_LOAD_LOCAL, 2, 0, (1 << 28) - 1, 1},
    {THREAD_STORE_LOCAL, 2, 0, (1 << 28) - 1, 1},
    {THREAD_LOAD_MATRIX, 1, 0, 1, 1},
    {THREAD_COPY_ASYNC, 3, 0, (1 << 28) - 1, 1},
    {THREAD_COPY_ASYNC_WAIT, 0, 0, 4095, 1},
    {THREAD_STORE, 2, 0, (1 << 28) - 1, 1},
    {THREAD_LOCK, 2, 0, (1 << 28) - 1, 1},
    {THREAD_UNLOCK, 2, 0, (1 << 28) - 1, 1},
    {THREAD_BARRIER, 0, 0, 15, 1},
    {THREAD_BARRIER, 1, 0, 1024, WARP_THREADS},
    {THREAD_BARRIER_ARRIVE, 0, 0, 15, 1},
    {THREAD_BARRIER_ARRIVE, 1, WARP_THREADS, 1024, WARP_THREADS},
    {THREAD_MBARRIER_INIT, 1, 1, MOST_ARRIVALS, 1},
    {THREAD_MBARRIER_EXPECT, 1, 0, MOST_ARRIVALS, 1},
    {THREAD_MBARRIER_WAIT, 1, 0, 1, 1},
    {THREAD_MBARRIER_ACQUIRE, 1, 0, 1, 1},
    {THREAD_COPY_OUT_WAIT_READ, 0, 0, 4095, 1},
    {THREAD_COPY_OUT_WAIT, 0, 0, 4095, 1},
    {THREAD_DESCRIPTOR, 1, 0, 0x3fff0, 16},
    {THREAD_DESCRIPTOR, 2, 0, 0x3fff0, 16},
    {THREAD_CLAIM, 0, 0, 1, 1},
    {THREAD_PRINT_ROW, 0, 16, 1 << 18, 16},
    {THREAD_PRINT_STORE, 1, 0, 31, 1},
    {THREAD_PRODUCT, 4, 0, 3, 1},
    {THREAD_PRODUCT_FROM, 4, 0, 1, 1},
    {THREAD_PRODUCT_WAIT, 1, 0, 7, 1},
    {THREAD_PRODUCT_WAIT_READ, 0, 0, 7, 1},
};

static bool check_limit(struct checks *c, const struct limit *l, const struct thread_operand *o)
{
    if (o->kind != THREAD_INTEGER ||
        (o->integer >= l->least && o->integer <= l->most && o->integer % l->step == 0))
        return true;
    const char *text =
        arena_printf(c->arena, "expected a constant from %d to %d", l->least, l->most);
    thread_verify_refuse(
        c, o, l->step > 1 ? arena_printf(c->arena, "%s, a multiple of %d", text, l->step) : text);
    return false;
}

static bool check_limits(struct checks *c, const struct thread_operation *op)
{
    bool within = true;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].op == op->op && limits[i].operand < op->operands.count)
            within &= check_limit(c, &limits[i], &op->operands.data[limits[i].operand]);
    if ((op->op == THREAD_BARRIER || op->op == THREAD_BARRIER_ARRIVE) &&
        op->operands.data[1].integer > c->function->threads)
        thread_verify_fault(c, op->where, "the barrier waits for more threads than the block has");
    return within;
}

static void check_woven(struct checks *c, const struct thread_operation *op)
{
    for (size_t i = 0; i < op->operands.count; i++) {
        const struct thread_operand *o = &op->operands.data[i], *first = &op->operands.data[0];
        if (!is_value(o) || !is_value(first) || o->value->type.count != first->value->type.count)
            thread_verify_refuse(c, o, "the groups have different lengths");
    }
}

static bool is_conversion(enum thread_opcode op)
{
    return op == THREAD_CONVERT || op == THREAD_INDEX || op == THREAD_BITS;
}

/* Checks that groups of an elementwise operation are equally long. */
static void check_lengths(struct checks *c, const struct thread_operation *op)
{
    if (op->op == THREAD_JOIN || op->op == THREAD_PART || op->results.count != 1)
        return;
    if (op->op == THREAD_WEAVE) {
        check_woven(c, op);
        return;
    }
    const struct thread_type type = op->results.data[0]->type;
    for (size_t i = 0; i < op->operands.count; i++) {
        const struct thread_operand *o = &op->operands.data[i];
        char kind = letter(thread_op_table[op->op].operands, i);
        const bool each = (kind && strchr("vckg", kind)) || (kind == 'f' && is_conversion(op->op));
        if (is_value(o) && each && o->value->type.count > 1 && type.count > 1 &&
            o->value->type.count != type.count)
            thread_verify_refuse(c, o, "the groups have different lengths");
    }
}

static void check_types(struct checks *c, const struct thread_operation *op)
{
    if (op->op == THREAD_BITS && dtype_size(op->types[0]) != dtype_size(op->types[1]))
        thread_verify_fault(c, op->where, "the types have different sizes");
    if (op->op == THREAD_PHILOX &&
        (op->types[0] != DT_U32 || (op->types[1] != DT_U64 && op->types[1] != DT_U32)))
        thread_verify_fault(c, op->where, "the types are u32 and u64 or u32: philox.u32.u64");
}

static void check_part(struct checks *c, const struct thread_operation *op)
{
    const struct thread_operand *o = op->operands.data;
    if (is_value(o) && o[1].integer + (o[2].integer - 1) * o[3].integer >= o->value->type.count)
        thread_verify_fault(c, op->where, "the part ends after the group");
}

/* The units of warpgroups: a thread has n / 2 sums, and 16 bytes of a left factor in registers. */
static void check_product(struct checks *c, const struct thread_operation *op)
{
    if (op->op != THREAD_PRODUCT && op->op != THREAD_PRODUCT_FROM)
        return;
    const struct thread_operand *o = op->operands.data;
    const struct target_warpgroup_unit *u =
        target_warpgroup_unit_of(op->types[1], op->types[2], op->types[0]);
    if (!u) {
        thread_verify_fault(c, op->where, "no unit of warpgroups has this product");
        return;
    }
    if (!target_warpgroup_has_n(u, 2 * o[0].value->type.count))
        thread_verify_fault(
            c, op->where,
            arena_printf(c->arena,
                         "the unit has 4 to 128 sums of a thread, a multiple of %d above 16",
                         u->step / 2));
    if (op->op == THREAD_PRODUCT_FROM && is_value(&o[1]) && o[1].value->type.count != u->k / 2)
        thread_verify_refuse(
            c, &o[1],
            arena_printf(c->arena, "a thread has %d elements of the left operand", u->k / 2));
    if (op->op == THREAD_PRODUCT_FROM && u->a == DT_TF32)
        thread_verify_refuse(c, &o[1], "a left factor of tf32 is in shared memory");
    if (u->right == TARGET_RIGHT_K && o[4].integer)
        thread_verify_refuse(c, &o[4], "only factors of 16 bits are read across their rows");
}

/* Fragments of a unit. */
static void check_mma(struct checks *c, const struct thread_operation *op)
{
    const struct thread_operand *o = op->operands.data;
    uint16_t counts[3];
    for (int i = 0; i < 3; i++)
        counts[i] = is_value(&o[i]) ? o[i].value->type.count : 0;
    if (!target_unit_of_fragments(op->types, counts))
        thread_verify_fault(
            c, op->where,
            "no unit has this product: by its types, and by the numbers of a thread's sums "
            "and elements of the factors");
}

/* A scalar, or a vector of 2, 4, 8 or 16 bytes; a lane's part of 1, 2 or 4 matrices. */
static void check_vector(struct checks *c, const struct thread_operation *op)
{
    const struct thread_type t = thread_moved_type(op);
    const size_t bytes = t.count * dtype_size(t.dtype);
    const bool matrices = op->op == THREAD_LOAD_MATRIX || op->op == THREAD_STORE_MATRIX;
    if (bytes != 4 && bytes != 8 && bytes != 16 && (matrices || (bytes != 1 && bytes != 2)))
        thread_verify_fault(c, op->where,
                            matrices ? "one instruction moves 4, 8 or 16 bytes of a lane"
                                     : "one instruction moves 1, 2, 4, 8 or 16 bytes");
}

static void check_policy(struct checks *c, const struct thread_operation *op)
{
    const char *name = op->operands.data[0].text;
    if (strcmp(name, "evict_first") != 0 && strcmp(name, "evict_last") != 0 &&
        strcmp(name, "evict_normal") != 0)
        thread_verify_refuse(c, &op->operands.data[0],
                             "the policies are evict_first, evict_last and evict_normal");
}

static void check_copy(struct checks *c, const struct thread_operation *op)
{
    int64_t bytes = op->operands.data[4].integer;
    if (bytes != 4 && bytes != 8 && bytes != 16)
        thread_verify_refuse(c, &op->operands.data[4], "one copy has 4, 8 or 16 bytes");
}

/* Returns whether one instruction adds the vector's elements in global memory. */
static bool adds_vector(const struct thread_operation *op)
{
    const enum dtype t = op->types[0];
    const int count = op->results.data[0]->type.count, most = t == DT_F32        ? 4
                                                              : dtype_is_half(t) ? 8
                                                                                 : 1;
    return op->op == THREAD_ATOMIC_ADD && op->operands.data[0].kind != THREAD_ELEMENT &&
           count <= most && (count & (count - 1)) == 0;
}

static void check_memory(struct checks *c, const struct thread_operation *op)
{
    if (thread_is_atomic(op->op) && op->results.data[0]->type.count > 1 && !adds_vector(op))
        thread_verify_fault(c, op->where, "an atomic has one element");
    const struct thread_operand *o = op->operands.data;
    for (size_t i = 1; thread_is_atomic(op->op) && o[0].kind == THREAD_ELEMENT && i <= 2; i++)
        if (o[i].kind != THREAD_INTEGER || o[i].integer != 0)
            thread_verify_refuse(c, &o[i], "expected 0, because the element has its index");
    if (thread_is_guarded_load(op->op) && op->results.data[0]->type.count > 1)
        thread_verify_fault(c, op->where, "a load under a predicate has one element");
    else if (thread_is_access(op->op))
        check_vector(c, op);
    if (op->op == THREAD_COPY_ASYNC)
        check_copy(c, op);
    if (op->op == THREAD_CACHE_POLICY)
        check_policy(c, op);
}

/* A row has one value after the other; those of a format and of a claim have 8 bytes each. */
static void check_printed(struct checks *c, const struct thread_operation *op)
{
    const bool formats = op->op == THREAD_PRINT_STORE, claims = op->op == THREAD_CLAIM;
    for (size_t i = 0; i < op->operands.count; i++) {
        const struct thread_operand *o = &op->operands.data[i];
        if ((formats || claims || op->op == THREAD_PRINT_VALUE) && is_value(o) &&
            o->value->type.count > 1)
            thread_verify_refuse(c, o, "one element is printed at a time");
    }
    if (formats && op->types[0] != DT_F64 && op->types[0] != DT_I64 && op->types[0] != DT_U64)
        thread_verify_fault(c, op->where, "a format's values are f64, i64 or u64");
    if (claims && op->types[0] != DT_U64)
        thread_verify_fault(c, op->where, "the values of a claim are u64: claim.u64");
}

static void check_values(struct checks *c, const struct thread_operation *op)
{
    check_lengths(c, op);
    check_types(c, op);
    check_product(c, op);
    check_memory(c, op);
    check_printed(c, op);
    if (op->op == THREAD_PART)
        check_part(c, op);
    if (op->op == THREAD_MMA)
        check_mma(c, op);
}

bool thread_verify_operation(struct checks *c, const struct thread_operation *op)
{
    if (!check_operands(c, op) || !check_limits(c, op))
        return false;
    check_values(c, op);
    return true;
}

bool thread_verify_condition(struct checks *c, const struct thread_operation *op)
{
    const bool right = op->operands.count > 0 && takes(op, 'p', op->operands.data);
    if (!right)
        thread_verify_fault(c, op->where, expected['p']);
    return right;
}
