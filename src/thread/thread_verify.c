/* Checks of thread IR: results of regions, roles, and groups in flight. The parser has already seen that every value is defined
 * before it is used. */
#include "thread/thread_verify_own.h"

enum { WARP_THREADS = 32, WARPGROUP = 4, LEAST_REGISTERS = 24, MOST_REGISTERS = 240 };

static void define(struct checks *c, const struct thread_value *v)
{
    *fate_of(c, v) = (struct fate){.loops = c->loops, .commit = c->commits};
    if (v->type.in_flight)
        vec_push(c->arena, &c->flights, v);
}

static void check_wait(struct checks *c, const struct thread_operation *op)
{
    if (op->op == THREAD_PRODUCT_COMMIT) {
        c->commits++;
    } else if (op->op == THREAD_PRODUCT_WAIT) {
        const struct fate *fate = fate_of(c, op->operands.data[0].value);
        uint32_t later = c->commits - fate->commit;
        if (fate->open)
            thread_verify_fault(c, op->where,
                                "these products are not committed: product_commit comes first");
        if (op->operands.data[1].integer > later)
            thread_verify_fault(
                c, op->where,
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
        thread_verify_refuse(c, o, "these products are not committed: product_commit comes first");
    if (fate->factors)
        thread_verify_refuse(
            c, o,
            "these products read registers that may be written here: product_wait comes first");
    if (op->op != THREAD_BREAK_IF) {
        thread_verify_take(c, o);
        return;
    }
    thread_verify_use(c, o);
    thread_verify_iteration(c, o);
    for (size_t j = 0; j < i; j++)
        if (op->operands.data[j].value == o->value)
            thread_verify_refuse(c, o, "a group in flight has one destination");
}

static void pass_values(struct checks *c, const struct thread_operation *op)
{
    for (size_t i = 0; i < op->operands.count; i++)
        if (is_value(&op->operands.data[i]) && op->operands.data[i].value->type.in_flight)
            pass_flight(c, op, i);
        else
            thread_verify_use(c, &op->operands.data[i]);
}

/* Checks that values go to others of their types. */
static void check_passed(struct checks *c, const struct thread_operation *op, size_t from,
                         struct thread_value *const *to, size_t count)
{
    if (op->operands.count - from != count) {
        thread_verify_fault(c, op->where, "the number of values is not that of their destinations");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const struct thread_operand *o = &op->operands.data[from + i];
        const enum dtype t = to[i]->type.dtype;
        bool same = is_value(o)
                        ? thread_same_type(o->value->type, to[i]->type)
                        : !to[i]->type.in_flight && (t == DT_BOOL ? thread_verify_is_scalar(o, t)
                                                                  : thread_verify_fits(o, t));
        if (!same)
            thread_verify_refuse(c, o, "the value's type is not that of its destination");
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
    if (thread_verify_condition(c, op) && op->operands.count > 1)
        thread_verify_fault(c, op->where, "there are too many operands");
    c->branch = op;
    check_alternatives(c, op);
    c->branch = outer;
    for (size_t i = 0; i < op->regions.count && op->results.count; i++)
        if (!is_end(last_of(op->regions.data[i])))
            thread_verify_fault(c, op->where,
                                "a region gives no results: it has to end with `yield`");
    if (op->results.count && op->regions.count != 2)
        thread_verify_fault(c, op->where, "an `if` with results needs an `else`");
}

static void check_flights(struct checks *c, struct thread_value *const *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (values[i]->type.in_flight && !fate_of(c, values[i])->taken)
            thread_verify_fault(c, values[i]->where, "nothing waits for these products");
}

static void check_unrolled(struct checks *c, const struct thread_operation *op)
{
    const struct thread_operation *last = op->unroll ? thread_only_continue(op) : NULL;
    bool values = last != NULL;
    for (size_t i = 0; last && i < last->operands.count; i++)
        values &= last->operands.data[i].kind == THREAD_VALUE;
    if (op->unroll && !values)
        thread_verify_fault(
            c, op->where,
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
        thread_verify_fault(c, op->where,
                            "the loop's region has to end with `continue`, `break` or `return`");
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
        thread_verify_fault(c, op->where, "a role's warps are not warps of the block");
    for (size_t i = 0; i < index; i++) {
        const struct thread_region *other = op->regions.data[i];
        if (r->first_warp < other->first_warp + other->warps &&
            other->first_warp < r->first_warp + r->warps)
            thread_verify_fault(c, op->where, "two roles have the same warp");
    }
    if (r->registers == 0)
        return;
    if (r->registers % 8 != 0 || r->registers < LEAST_REGISTERS || r->registers > MOST_REGISTERS)
        thread_verify_fault(c, op->where, "a role's registers are a multiple of 8 from 24 to 240");
    if (r->first_warp % WARPGROUP != 0 || r->warps % WARPGROUP != 0)
        thread_verify_fault(c, op->where, "registers are given to whole warpgroups of 4 warps");
    if (c->roles > 0)
        thread_verify_fault(c, op->where, "roles in a role do not have registers of their own");
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
            thread_verify_fault(
                c, op->where,
                "products are in flight where the run leaves: product_wait comes first");
    }
}

static void check_end(struct checks *c, const struct thread_operation *op)
{
    size_t from = op->op == THREAD_BREAK_IF;
    const struct thread_region *r = c->loop ? c->loop->regions.data[0] : NULL;
    if (from && !thread_verify_condition(c, op))
        return;
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
            thread_verify_fault(c, op->where, "nothing takes these values");
        break;
    }
    pass_values(c, op);
    if (op->op != THREAD_YIELD)
        check_left(c, op);
}

/* Notes the state of the group in flight that the operation returns. */
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
        if (thread_verify_operation(c, op))
            check_wait(c, op);
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
            thread_verify_fault(c, op->where, "this operation is never reached");
        c->where = op->where;
        check_operation(c, op);
    }
    for (size_t i = 0; i < r->operations.count; i++)
        check_flights(c, r->operations.data[i]->results.data, r->operations.data[i]->results.count);
    c->flights.count = flights;
}

static void check_parameters(struct checks *c, const struct thread_function *f)
{
    for (size_t i = 0; i < f->parameters.count; i++) {
        const struct thread_type t = f->parameters.data[i]->type;
        if (t.dtype != DT_NONE && (t.count > 1 || t.in_flight))
            thread_verify_fault(c, f->parameters.data[i]->where,
                                "a parameter is a map, or a scalar");
    }
}

bool thread_verify(struct arena *a, const struct thread_function *f, struct diag *d)
{
    struct checks c = {.arena = a, .diag = d, .function = f, .ok = true};
    c.fates = arena_array(a, struct fate, f->values + 1);
    check_parameters(&c, f);
    thread_verify_objects(&c, f);
    check_region(&c, f->body);
    if (c.ok)
        thread_verify_alignment(&c, f);
    return c.ok;
}
