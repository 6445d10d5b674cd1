/* Checks of thread IR: operands and types by the table of operations, results of regions, roles, shared memory,
 * and groups in flight. The parser has already seen that every value is defined before it is used. */
#include "thread/thread_facts.h"
#include "target/targets.h"

#include <string.h>

enum {
    WARP_THREADS = 32,
    WARPGROUP = 4,
    LEAST_REGISTERS = 24,
    MOST_REGISTERS = 240,
    MOST_ARRIVALS = (1 << 20) - 1
};

/* Facts about a value. */
struct fate {
    bool taken;      /* by a product, or as a value in flight: it must not be used again */
    bool open;       /* in flight, and not committed */
    bool factors;    /* in flight, and its products read registers of factors */
    uint32_t loops;  /* loops around its definition */
    uint32_t commit; /* commits before it was committed, and this one */
};

struct checks {
    struct arena *arena;
    struct diag *diag;
    const struct thread_function *function;
    struct fate *fates;
    VEC(uint32_t) taken;                      /* numbers of values, in the order of the text */
    VEC(const struct thread_value *) flights; /* groups in flight that are defined here */
    size_t loop_flights;                      /* of them, before the innermost loop */
    uint32_t loops, roles;
    uint32_t commits;      /* that every run to this place has done */
    uint32_t exit_commits; /* the same for every run that leaves the innermost loop */
    const struct thread_operation *loop, *branch; /* innermost; the `if` whose region this is */
    bool ok;
    bool faulty; /* the operands of the latest operation are not those of the table */
};

static void fault(struct checks *c, struct loc at, const char *text)
{
    diag_error(c->diag, at, "%s", text);
    c->ok = false;
}

static struct fate *fate_of(const struct checks *c, const struct thread_value *v)
{
    return &c->fates[v->number];
}

static void define(struct checks *c, const struct thread_value *v)
{
    *fate_of(c, v) = (struct fate){.loops = c->loops, .commit = c->commits};
    if (v->type.in_flight)
        vec_push(c->arena, &c->flights, v);
}

static void use(struct checks *c, const struct thread_operand *o)
{
    if (o->value && fate_of(c, o->value)->taken)
        fault(c, o->where,
              "the registers of this value belong to a later one: a product has taken it");
}

static void check_turn(struct checks *c, const struct thread_operand *o)
{
    if (fate_of(c, o->value)->loops < c->loops)
        fault(
            c, o->where,
            "this value would be taken in each turn of the loop: make it an argument of the loop");
}

/* Uses a value for the last time. */
static void take(struct checks *c, const struct thread_operand *o)
{
    use(c, o);
    check_turn(c, o);
    fate_of(c, o->value)->taken = true;
    vec_push(c->arena, &c->taken, o->value->number);
}

/* --- operands by the table --- */

static bool is_value(const struct thread_operand *o)
{
    return o->kind == THREAD_VALUE;
}

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

static bool is_scalar_of(const struct thread_operand *o, enum dtype t)
{
    if (o->kind == THREAD_INTEGER)
        return has_integer(t, o->integer);
    return is_value(o) && o->value->type.dtype == t && o->value->type.count == 1 &&
           !o->value->type.in_flight;
}

static bool fits(const struct thread_operand *o, enum dtype t)
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
    ['a'] = "expected a group of sums of the operation's type",
    ['w'] = "expected a group in flight",
    ['p'] = "expected a predicate (bool)",
    ['c'] = "expected a predicate (bool), or a group of them",
    ['q'] = "expected a predicate (bool), or 0 or 1",
    ['i'] = "expected a u32",
    ['k'] = "expected a u32, or a group of them",
    ['x'] = "expected an index: a u32, a u64 or an i64",
    ['d'] = "expected a u64",
    ['n'] = "expected a constant that is not negative",
    ['m'] = "expected a tensor map",
    ['o'] = "expected an element of a shared array, of the operation's type",
    ['b'] = "expected an mbarrier",
};

static bool takes(const struct thread_operation *op, char kind, const struct thread_operand *o)
{
    switch (kind) {
    case 'v': return fits(o, op->types[0]);
    case 'f': return is_value(o) && fits(o, op->types[1]);
    case 'g': return fits(o, op->types[1]);
    case 'a':
        return is_value(o) && o->value->type.dtype == op->types[0] && o->value->type.count > 1;
    case 'w':
        return is_value(o) && o->value->type.in_flight && o->value->type.dtype == op->types[0];
    case 'p': return is_value(o) && is_scalar_of(o, DT_BOOL);
    case 'c': return is_value(o) && o->value->type.dtype == DT_BOOL;
    case 'q': return is_scalar_of(o, DT_BOOL);
    case 'x':
        return is_scalar_of(o, DT_U32) ||
               (is_value(o) && (is_scalar_of(o, DT_U64) || is_scalar_of(o, DT_I64)));
    case 'i': return is_scalar_of(o, DT_U32);
    case 'k': return fits(o, DT_U32);
    case 'd':
        return is_value(o) ? is_scalar_of(o, DT_U64)
                           : o->kind == THREAD_ELEMENT && thread_is_atomic(op->op) &&
                                 o->object->dtype == op->types[0];
    case 'n': return o->kind == THREAD_INTEGER && o->integer >= 0;
    case 'm': return is_value(o) && o->value->type.dtype == DT_NONE;
    case 'o':
        return o->kind == THREAD_ELEMENT && o->object->dtype != DT_NONE &&
               (thread_op_table[op->op].types == 0 || o->object->dtype == op->types[0]);
    case 'b': return o->kind == THREAD_ELEMENT && o->object->dtype == DT_NONE;
    default: return false;
    }
}

static void check_index(struct checks *c, const struct thread_operand *o)
{
    if (o->kind != THREAD_ELEMENT)
        return;
    if (o->value && !(o->value->type.dtype == DT_U32 && o->value->type.count == 1))
        fault(c, o->where, "an index is a u32");
    if (o->integer < 0 || o->integer >= o->object->count)
        fault(c, o->where, "this element is outside of the array");
}

/* Returns the letter of operand i; 0: there is none. */
static char letter(const char *pattern, size_t i)
{
    size_t length = strlen(pattern);
    if (length > 0 && pattern[length - 1] == '+' && i + 2 >= length)
        return i < length + 3 ? pattern[length - 2] : '\0';
    return i < length ? pattern[i] : '\0';
}

static void check_operands(struct checks *c, const struct thread_operation *op)
{
    c->faulty = true;
    const char *pattern = thread_op_table[op->op].operands;
    size_t least = strlen(pattern);
    least -= least > 0 && pattern[least - 1] == '+';
    for (size_t i = 0; i < op->operands.count; i++) {
        const struct thread_operand *o = &op->operands.data[i];
        char kind = letter(pattern, i);
        if (!kind || !takes(op, kind, o)) {
            fault(c, o->where, kind ? expected[(int)kind] : "there are too many operands");
            return;
        }
        check_index(c, o);
        if (kind == 'a' || kind == 'w')
            take(c, o);
        else
            use(c, o);
    }
    if (op->operands.count < least)
        fault(c, op->where, "there are too few operands");
    else
        c->faulty = false;
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
    {THREAD_PART, 1, 0, 255, 1},
    {THREAD_PART, 2, 1, 256, 1},
    {THREAD_PART, 3, 0, 255, 1},
    {THREAD_LOAD, 2, 0, (1 << 28) - 1, 1},
    {THREAD_LOAD_IF, 3, 0, (1 << 28) - 1, 1},
    {THREAD_LOAD_CONST, 2, 0, (1 << 28) - 1, 1},
    {THREAD_LOAD_MATRIX, 1, 0, 1, 1},
    {THREAD_COPY_ASYNC, 3, 0, (1 << 28) - 1, 1},
    {THREAD_COPY_ASYNC_WAIT, 0, 0, 4095, 1},
    {THREAD_STORE, 2, 0, (1 << 28) - 1, 1},
    {THREAD_BARRIER, 0, 0, 15, 1},
    {THREAD_BARRIER, 1, 0, 1024, WARP_THREADS},
    {THREAD_BARRIER_ARRIVE, 0, 0, 15, 1},
    {THREAD_BARRIER_ARRIVE, 1, WARP_THREADS, 1024, WARP_THREADS},
    {THREAD_MBARRIER_INIT, 1, 1, MOST_ARRIVALS, 1},
    {THREAD_MBARRIER_EXPECT, 1, 0, MOST_ARRIVALS, 1},
    {THREAD_MBARRIER_WAIT, 1, 0, 1, 1},
    {THREAD_COPY_OUT_WAIT_READ, 0, 0, 4095, 1},
    {THREAD_COPY_OUT_WAIT, 0, 0, 4095, 1},
    {THREAD_DESCRIPTOR, 1, 0, 0x3fff0, 16},
    {THREAD_DESCRIPTOR, 2, 0, 0x3fff0, 16},
    {THREAD_PRODUCT, 4, 0, 3, 1},
    {THREAD_PRODUCT_FROM, 4, 0, 1, 1},
    {THREAD_PRODUCT_WAIT, 1, 0, 7, 1},
    {THREAD_PRODUCT_WAIT_READ, 0, 0, 7, 1},
};

static void check_limit(struct checks *c, const struct limit *l, const struct thread_operand *o)
{
    if (o->kind != THREAD_INTEGER ||
        (o->integer >= l->least && o->integer <= l->most && o->integer % l->step == 0))
        return;
    c->faulty = true;
    const char *text =
        arena_printf(c->arena, "expected a constant from %d to %d", l->least, l->most);
    fault(c, o->where,
          l->step > 1 ? arena_printf(c->arena, "%s, a multiple of %d", text, l->step) : text);
}

static void check_limits(struct checks *c, const struct thread_operation *op)
{
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].op == op->op && limits[i].operand < op->operands.count)
            check_limit(c, &limits[i], &op->operands.data[limits[i].operand]);
    if ((op->op == THREAD_BARRIER || op->op == THREAD_BARRIER_ARRIVE) &&
        op->operands.data[1].integer > c->function->threads)
        fault(c, op->where, "the barrier waits for more threads than the block has");
}

static void check_woven(struct checks *c, const struct thread_operation *op)
{
    for (size_t i = 0; i < op->operands.count; i++) {
        const struct thread_operand *o = &op->operands.data[i], *first = &op->operands.data[0];
        if (!is_value(o) || !is_value(first) || o->value->type.count != first->value->type.count)
            fault(c, o->where, "the groups have different lengths");
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
            fault(c, o->where, "the groups have different lengths");
    }
}

static void check_types(struct checks *c, const struct thread_operation *op)
{
    if (op->op == THREAD_BITS && dtype_size(op->types[0]) != dtype_size(op->types[1]))
        fault(c, op->where, "the types have different sizes");
    if (op->op == THREAD_PHILOX && (op->types[0] != DT_U32 || op->types[1] != DT_U64))
        fault(c, op->where, "the types are u32 and u64: philox.u32.u64");
}

static void check_part(struct checks *c, const struct thread_operation *op)
{
    const struct thread_operand *o = op->operands.data;
    if (is_value(o) && o[1].integer + (o[2].integer - 1) * o[3].integer >= o->value->type.count)
        fault(c, op->where, "the part ends after the group");
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
        fault(c, op->where, "no unit of warpgroups has this product");
        return;
    }
    if (!target_warpgroup_has_n(u, 2 * o[0].value->type.count))
        fault(c, op->where,
              arena_printf(c->arena,
                           "the unit has 4 to 128 sums of a thread, a multiple of %d above 16",
                           u->step / 2));
    if (op->op == THREAD_PRODUCT_FROM && is_value(&o[1]) && o[1].value->type.count != u->k / 2)
        fault(c, o[1].where,
              arena_printf(c->arena, "a thread has %d elements of the left operand", u->k / 2));
    if (op->op == THREAD_PRODUCT_FROM && u->a == DT_TF32)
        fault(c, o[1].where, "a left factor of tf32 is in shared memory");
    if (u->right == TARGET_RIGHT_K && o[4].integer)
        fault(c, o[4].where, "only factors of 16 bits are read across their rows");
}

/* Fragments of m16n8k16: 4 sums, 8 elements of the left factor, 4 of the right one. */
static void check_mma(struct checks *c, const struct thread_operation *op)
{
    static const uint16_t counts[] = {4, 8, 4};
    if (op->types[0] != DT_F32 || (op->types[1] != DT_F16 && op->types[1] != DT_BF16))
        fault(c, op->where, "no unit has this product: sums of f32 have factors of f16 or bf16");
    for (size_t i = 0; i < op->operands.count && i < 3; i++)
        if (!is_value(&op->operands.data[i]) || op->operands.data[i].value->type.count != counts[i])
            fault(c, op->operands.data[i].where,
                  "a thread has 4 sums, 8 elements of the left factor and 4 of the right one");
}

/* A scalar, or a vector of 2, 4, 8 or 16 bytes; a lane's part of 1, 2 or 4 matrices. */
static void check_vector(struct checks *c, const struct thread_operation *op)
{
    const struct thread_operand *last = &op->operands.data[op->operands.count - 1];
    struct thread_type t = {.dtype = op->types[0], .count = 1};
    if (op->results.count)
        t = op->results.data[0]->type;
    else if (is_value(last))
        t = last->value->type;
    const size_t bytes = t.count * dtype_size(t.dtype);
    const bool matrices = op->op == THREAD_LOAD_MATRIX || op->op == THREAD_STORE_MATRIX;
    if (bytes != 4 && bytes != 8 && bytes != 16 && (matrices || (bytes != 1 && bytes != 2)))
        fault(c, op->where,
              matrices ? "one instruction moves 4, 8 or 16 bytes of a lane"
                       : "one instruction moves 1, 2, 4, 8 or 16 bytes");
}

static void check_copy(struct checks *c, const struct thread_operation *op)
{
    int64_t bytes = op->operands.data[4].integer;
    if (bytes != 4 && bytes != 8 && bytes != 16)
        fault(c, op->operands.data[4].where, "one copy has 4, 8 or 16 bytes");
}

static void check_memory(struct checks *c, const struct thread_operation *op)
{
    if (thread_is_atomic(op->op) && op->results.data[0]->type.count > 1)
        fault(c, op->where, "an atomic has one element");
    switch (op->op) {
    case THREAD_LOAD:
    case THREAD_LOAD_CONST:
    case THREAD_STORE:
    case THREAD_LOAD_SHARED:
    case THREAD_STORE_SHARED:
    case THREAD_LOAD_PEER:
    case THREAD_STORE_PEER:
    case THREAD_LOAD_MATRIX:
    case THREAD_STORE_MATRIX: check_vector(c, op); break;
    case THREAD_LOAD_IF:
    case THREAD_LOAD_SHARED_IF:
        if (op->results.data[0]->type.count > 1)
            fault(c, op->where, "a load under a predicate has one element");
        break;
    case THREAD_COPY_ASYNC: check_copy(c, op); break;
    default: break;
    }
}

static void check_wait(struct checks *c, const struct thread_operation *op)
{
    if (op->op == THREAD_PRODUCT_COMMIT) {
        c->commits++;
    } else if (op->op == THREAD_PRODUCT_WAIT) {
        const struct fate *fate = fate_of(c, op->operands.data[0].value);
        uint32_t later = c->commits - fate->commit;
        if (fate->open)
            fault(c, op->where, "these products are not committed: product_commit comes first");
        if (op->operands.data[1].integer > later)
            fault(c, op->where,
                  "these products may still be under way: fewer groups were committed after them");
    }
}

/* --- regions --- */

static void check_region(struct checks *c, const struct thread_region *r);

/* break_if takes nothing, because the operations after it run only if the loop goes on. */
static void pass_flight(struct checks *c, const struct thread_operation *op, size_t i)
{
    const struct thread_operand *o = &op->operands.data[i];
    const struct fate *fate = fate_of(c, o->value);
    if (fate->open)
        fault(c, o->where, "these products are not committed: product_commit comes first");
    if (fate->factors)
        fault(c, o->where,
              "these products read registers that may be written here: product_wait comes first");
    if (op->op != THREAD_BREAK_IF) {
        take(c, o);
        return;
    }
    use(c, o);
    check_turn(c, o);
    for (size_t j = 0; j < i; j++)
        if (op->operands.data[j].value == o->value)
            fault(c, o->where, "a group in flight has one destination");
}

static void pass_values(struct checks *c, const struct thread_operation *op)
{
    for (size_t i = 0; i < op->operands.count; i++)
        if (is_value(&op->operands.data[i]) && op->operands.data[i].value->type.in_flight)
            pass_flight(c, op, i);
        else
            use(c, &op->operands.data[i]);
}

/* Checks that values go to others of their types. */
static void check_passed(struct checks *c, const struct thread_operation *op, size_t from,
                         struct thread_value *const *to, size_t count)
{
    if (op->operands.count - from != count) {
        fault(c, op->where, "the number of values is not that of their destinations");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const struct thread_operand *o = &op->operands.data[from + i];
        const enum dtype t = to[i]->type.dtype;
        bool same = is_value(o) ? thread_same_type(o->value->type, to[i]->type)
                                : !to[i]->type.in_flight &&
                                      (t == DT_BOOL ? is_scalar_of(o, t) : fits(o, t));
        if (!same)
            fault(c, o->where, "the value's type is not that of its destination");
    }
}

static enum thread_opcode last_of(const struct thread_region *r)
{
    return r->operations.count ? r->operations.data[r->operations.count - 1]->op : THREAD_OPS;
}

/* Returns whether no run goes on after the region that the operation ends. */
static bool leaves(enum thread_opcode op)
{
    return op == THREAD_CONTINUE || op == THREAD_BREAK || op == THREAD_RETURN;
}

static bool is_end(enum thread_opcode op)
{
    return leaves(op) || op == THREAD_YIELD;
}

static void set_taken(struct checks *c, size_t from, bool taken)
{
    for (size_t i = from; i < c->taken.count; i++)
        c->fates[c->taken.data[i]].taken = taken;
}

/* Checks regions of which a thread executes one. Values that one of them takes are taken after it, unless no run goes
 * from there to the operations after it. The least number of groups that one of them commits counts after it. */
static void check_alternatives(struct checks *c, const struct thread_operation *op)
{
    const size_t before = c->taken.count;
    const uint32_t commits = c->commits;
    uint32_t after = op->op == THREAD_IF && op->regions.count > 1 ? UINT32_MAX : commits;
    for (size_t i = 0; i < op->regions.count; i++) {
        const size_t from = c->taken.count;
        check_region(c, op->regions.data[i]);
        set_taken(c, from, false);
        if (leaves(last_of(op->regions.data[i])))
            c->taken.count = from;
        else if (c->commits < after)
            after = c->commits;
        c->commits = commits;
    }
    c->commits = after == UINT32_MAX ? commits : after;
    set_taken(c, before, true);
}

static void check_if(struct checks *c, const struct thread_operation *op)
{
    const struct thread_operation *outer = c->branch;
    if (op->operands.count != 1 || !takes(op, 'p', op->operands.data))
        fault(c, op->where, expected['p']);
    c->branch = op;
    check_alternatives(c, op);
    c->branch = outer;
    for (size_t i = 0; i < op->regions.count && op->results.count; i++)
        if (!is_end(last_of(op->regions.data[i])))
            fault(c, op->where, "a region gives no results: it has to end with `yield`");
    if (op->results.count && op->regions.count != 2)
        fault(c, op->where, "an `if` with results needs an `else`");
}

static void check_flights(struct checks *c, struct thread_value *const *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (values[i]->type.in_flight && !fate_of(c, values[i])->taken)
            fault(c, values[i]->where, "nothing waits for these products");
}

static void check_unrolled(struct checks *c, const struct thread_operation *op)
{
    const struct thread_operation *last = op->unroll ? thread_only_continue(op) : NULL;
    bool values = last != NULL;
    for (size_t i = 0; last && i < last->operands.count; i++)
        values &= last->operands.data[i].kind == THREAD_VALUE;
    if (op->unroll && !values)
        fault(c, op->where,
              "a loop that is unrolled ends with its only `continue`, which passes values");
}

static void check_loop(struct checks *c, const struct thread_operation *op)
{
    const struct thread_operation *outer = c->loop, *branch = c->branch;
    const struct thread_region *r = op->regions.data[0];
    const uint32_t commits = c->commits, exit_commits = c->exit_commits;
    const size_t flights = c->flights.count, loop_flights = c->loop_flights;
    check_passed(c, op, 0, r->arguments.data, r->arguments.count);
    pass_values(c, op);
    c->loop = op;
    c->branch = NULL;
    c->loops++;
    c->exit_commits = UINT32_MAX;
    c->loop_flights = flights;
    for (size_t i = 0; i < r->arguments.count; i++)
        define(c, r->arguments.data[i]);
    check_region(c, r);
    if (!is_end(last_of(r)))
        fault(c, op->where, "the loop's region has to end with `continue`, `break` or `return`");
    check_unrolled(c, op);
    check_flights(c, r->arguments.data, r->arguments.count);
    c->loops--;
    c->flights.count = flights;
    c->loop_flights = loop_flights;
    c->commits = c->exit_commits == UINT32_MAX ? commits : c->exit_commits;
    c->exit_commits = exit_commits;
    c->loop = outer;
    c->branch = branch;
}

static void check_role(struct checks *c, const struct thread_operation *op, size_t index)
{
    const struct thread_region *r = op->regions.data[index];
    if ((r->first_warp + r->warps) * WARP_THREADS > c->function->threads)
        fault(c, op->where, "a role's warps are not warps of the block");
    for (size_t i = 0; i < index; i++) {
        const struct thread_region *other = op->regions.data[i];
        if (r->first_warp < other->first_warp + other->warps &&
            other->first_warp < r->first_warp + r->warps)
            fault(c, op->where, "two roles have the same warp");
    }
    if (r->registers == 0)
        return;
    if (r->registers % 8 != 0 || r->registers < LEAST_REGISTERS || r->registers > MOST_REGISTERS)
        fault(c, op->where, "a role's registers are a multiple of 8 from 24 to 240");
    if (r->first_warp % WARPGROUP != 0 || r->warps % WARPGROUP != 0)
        fault(c, op->where, "registers are given to whole warpgroups of 4 warps");
    if (c->roles > 0)
        fault(c, op->where, "roles in a role do not have registers of their own");
}

static void check_roles(struct checks *c, const struct thread_operation *op)
{
    for (size_t i = 0; i < op->regions.count; i++)
        check_role(c, op, i);
    c->roles++;
    check_alternatives(c, op);
    c->roles--;
    c->ok &= thread_registers_fit(c->arena, c->function, op, c->diag);
}

/* Checks that no group is in flight where a run leaves a loop or the function. */
static void check_left(struct checks *c, const struct thread_operation *op)
{
    for (size_t i = op->op == THREAD_RETURN ? 0 : c->loop_flights; i < c->flights.count; i++) {
        bool passed = fate_of(c, c->flights.data[i])->taken;
        for (size_t j = 0; j < op->operands.count; j++)
            passed |= op->operands.data[j].value == c->flights.data[i];
        if (!passed)
            fault(c, op->where,
                  "products are in flight where the run leaves: product_wait comes first");
    }
}

static void check_end(struct checks *c, const struct thread_operation *op)
{
    static const char *const none = "nothing takes these values";
    size_t from = op->op == THREAD_BREAK_IF;
    const struct thread_region *r = c->loop ? c->loop->regions.data[0] : NULL;
    if (from && (op->operands.count == 0 || !takes(op, 'p', op->operands.data))) {
        fault(c, op->where, expected['p']);
        return;
    }
    switch (op->op) {
    case THREAD_CONTINUE: check_passed(c, op, 0, r->arguments.data, r->arguments.count); break;
    case THREAD_BREAK:
    case THREAD_BREAK_IF:
        c->exit_commits = c->commits < c->exit_commits ? c->commits : c->exit_commits;
        check_passed(c, op, from, c->loop->results.data, c->loop->results.count);
        break;
    case THREAD_YIELD:
        check_passed(c, op, 0, c->branch->results.data, c->branch->results.count);
        break;
    default:
        if (op->operands.count)
            fault(c, op->where, none);
        break;
    }
    pass_values(c, op);
    if (op->op != THREAD_YIELD)
        check_left(c, op);
}

/* Checks an operation whose operands are those of the table. */
static void check_values(struct checks *c, const struct thread_operation *op)
{
    check_lengths(c, op);
    check_types(c, op);
    check_product(c, op);
    check_wait(c, op);
    check_memory(c, op);
    if (op->op == THREAD_PART)
        check_part(c, op);
    if (op->op == THREAD_MMA)
        check_mma(c, op);
}

static void define_flight(struct checks *c, const struct thread_operation *op)
{
    struct fate *fate = fate_of(c, op->results.data[0]);
    const struct thread_value *sums = op->operands.count ? op->operands.data[0].value : NULL;
    fate->open = op->op != THREAD_PRODUCT_COMMIT && op->op != THREAD_PRODUCT_BEGIN;
    fate->factors = op->op == THREAD_PRODUCT_FROM || (sums && fate_of(c, sums)->factors);
}

static void check_operation(struct checks *c, const struct thread_operation *op)
{
    switch (op->op) {
    case THREAD_IF: check_if(c, op); break;
    case THREAD_LOOP: check_loop(c, op); break;
    case THREAD_ROLES: check_roles(c, op); break;
    case THREAD_BREAK_IF:
    case THREAD_CONTINUE:
    case THREAD_BREAK:
    case THREAD_YIELD:
    case THREAD_RETURN: check_end(c, op); break;
    default:
        check_operands(c, op);
        if (!c->faulty)
            check_limits(c, op);
        if (!c->faulty)
            check_values(c, op);
        break;
    }
    for (size_t i = 0; i < op->results.count; i++)
        define(c, op->results.data[i]);
    if (op->regions.count == 0 && op->results.count == 1 && op->results.data[0]->type.in_flight)
        define_flight(c, op);
}

static void check_region(struct checks *c, const struct thread_region *r)
{
    const size_t flights = c->flights.count;
    for (size_t i = 0; i < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        if (i > 0 && is_end(r->operations.data[i - 1]->op))
            fault(c, op->where, "this operation is never reached");
        check_operation(c, op);
    }
    for (size_t i = 0; i < r->operations.count; i++)
        check_flights(c, r->operations.data[i]->results.data, r->operations.data[i]->results.count);
    c->flights.count = flights;
}

/* --- shared memory --- */

static void check_objects(struct checks *c, const struct thread_function *f)
{
    const int32_t most = target_most_shared();
    for (size_t i = 0; i < f->objects.count; i++) {
        const struct thread_object *o = f->objects.data[i];
        uint64_t end = o->at + (uint64_t)o->count * thread_element_bytes(o);
        if (o->at % thread_element_bytes(o) != 0)
            fault(c, o->where, "the array does not begin at a multiple of its elements' size");
        if (end > (uint64_t)most)
            fault(c, o->where,
                  arena_printf(c->arena,
                               "the array ends after the shared memory of a block, %d bytes",
                               most));
        for (size_t j = 0; j < i; j++) {
            const struct thread_object *other = f->objects.data[j];
            if (o->at < other->at + (uint64_t)other->count * thread_element_bytes(other) &&
                other->at < end)
                fault(c, o->where, arena_printf(c->arena, "the array lies on `%s`", other->name));
        }
    }
}

/* --- alignment in shared memory --- */

/* Bytes that divide the place of the operation's element: vectors by their size; PTX ISA, "ldmatrix", "stmatrix",
 * "cp.async", "cp.async.bulk.tensor", "Matrix Descriptor Format". */
static int64_t alignment_of(const struct thread_operation *op, size_t operand)
{
    const struct thread_operand *o = op->operands.data;
    struct thread_type t = {.dtype = op->types[0], .count = 1};
    switch (op->op) {
    case THREAD_LOAD_SHARED:
    case THREAD_LOAD_SHARED_IF:
    case THREAD_LOAD_PEER:
        t = op->results.data[0]->type;
        return (int64_t)dtype_size(t.dtype) * t.count;
    case THREAD_STORE_SHARED:
        t = is_value(&o[1]) ? o[1].value->type : t;
        return (int64_t)dtype_size(t.dtype) * t.count;
    case THREAD_STORE_PEER:
        t = is_value(&o[2]) ? o[2].value->type : t;
        return (int64_t)dtype_size(t.dtype) * t.count;
    case THREAD_LOAD_MATRIX:
    case THREAD_STORE_MATRIX:
    case THREAD_DESCRIPTOR: return 16;
    case THREAD_COPY_ASYNC: return o[4].integer;
    case THREAD_COPY_IN:
    case THREAD_COPY_IN_MULTICAST:
    case THREAD_COPY_OUT: return operand == 1 ? 128 : 1;
    default: return 1;
    }
}

/* Refuses elements that certainly do not begin where the operation needs them to. */
static void check_alignment(void *user, const struct thread_operation *op,
                            const struct facts *facts)
{
    struct checks *c = user;
    for (size_t i = 0; i < op->operands.count; i++) {
        const struct thread_operand *o = &op->operands.data[i];
        if (o->kind != THREAD_ELEMENT)
            continue;
        const int64_t size = thread_element_bytes(o->object), needed = alignment_of(op, i);
        struct facts index = o->value ? facts[o->value->number] : facts_exactly(0);
        struct facts each = facts_exactly(size), multiple = facts_multiple(needed);
        struct facts first = facts_exactly(o->object->at + o->integer * size);
        struct facts bytes = facts_product(&index, &each);
        bytes = facts_sum(&bytes, &first);
        if (facts_apart(&bytes, &multiple))
            fault(c, o->where,
                  arena_printf(c->arena, "this element does not begin at a multiple of %d bytes",
                               (int)needed));
    }
}

static void check_parameters(struct checks *c, const struct thread_function *f)
{
    for (size_t i = 0; i < f->parameters.count; i++) {
        const struct thread_type t = f->parameters.data[i]->type;
        if (t.dtype != DT_NONE && (t.count > 1 || t.in_flight))
            fault(c, f->parameters.data[i]->where, "a parameter is a map, or a scalar");
    }
}

bool thread_verify(struct arena *a, const struct thread_function *f, struct diag *d)
{
    struct checks c = {.arena = a, .diag = d, .function = f, .ok = true};
    c.fates = arena_array(a, struct fate, f->values + 1);
    check_parameters(&c, f);
    check_objects(&c, f);
    check_region(&c, f->body);
    if (c.ok)
        thread_facts_walk(a, f, check_alignment, &c);
    return c.ok;
}
