/* Loops.
 *
 *       if (!condition) goto exit          unless the first trip is sure
 *       what does not change in the loop
 *   head:
 *       body                               `copies` times, with a test between two of them
 *   next:                                  where `continue` goes
 *       step
 *       if (condition) goto head
 *   exit:
 *
 * A variable of the loop is a counter, v = v + what does not change; or it goes round among a few
 * constants, s = (s + 1) % 3: then the body is repeated that often, with the constant in each copy,
 * unless that would be more than the instruction caches hold; or a variable as any other.
 *
 * `unroll for` repeats the body for each trip, with constants in place of the variables. unroll(n),
 * and short innermost loops at thread level, go n trips at a time while so many are left, then one
 * at a time:
 *
 *       while (v < bound - (n - 1) * step) { body(v) … body(v + (n - 1) * step); v += n * step; }
 *       while (v < bound) { body(v); v += step; }
 *
 * A loop whose body is repeated for constants, of which the trips are known, goes on without a test
 * between the copies while enough trips are left; the last ones are written out. If it fills
 * stages ahead, one fewer than it has copies, so many more are left to the end: before that no
 * copy reaches past what there is to be copied.
 */
#include "lower/lower_flow.h"

#include "base/arithmetic.h"

#include <assert.h>

enum { MOST_PERIOD = 8, MOST_VARIABLES = 8 };
enum { MOST_TRIPS = 1024, MOST_UNROLLED = 1 << 16 };
enum { MOST_COPIES = 1 << 14 }; /* of bodies, in a kernel: loops inside each other multiply */
/* The most instructions of products in a body that is repeated to make a variable a constant. */
enum { MOST_REPEATED = 2048 };
/* At thread level, without being asked. */
enum { OWN_BODY = 64, OWN_TRIPS = 32, OWN_WHOLE = 512 };

enum variable_role { ROLE_COUNTER, ROLE_CYCLE };

struct loop_variable {
    struct variable *variable;
    enum variable_role role;
    struct ptx_operand reg;                     /* counter */
    const struct value *start, *step, *base;    /* counter: base is the one in the frame */
    const struct value *constants[MOST_PERIOD]; /* cycle */
    int period;
};

struct loop {
    const struct stmt *s;
    struct loop_variable variables[MOST_VARIABLES];
    int count;
    struct variable_set assigned; /* others, in body and step */
    struct ptx_label *exit;       /* NULL: nobody leaves it but at its end */
    /* v op bound: NULL if the condition is another */
    struct loop_variable *counted;
    enum op op;
    const struct value *bound;
    int64_t trips; /* -1: not known */
};

/* --- what the body does --- */

struct found {
    const struct sym *sym;
    int assignments;
    bool loops, collective, escapes, continues, leaves;
    int depth; /* of loops */
    int64_t cost;
};

static void look(struct found *f, const struct stmt *first, bool own_loop)
{
    for (const struct stmt *s = first; s; s = s->next) {
        bool is_loop = s->kind == STMT_FOR || s->kind == STMT_WHILE;
        const struct expr *target = s->kind == STMT_ASSIGN ? s->target : NULL;
        int64_t elements = target                 ? type_elements(&target->type)
                           : s->kind == STMT_DECL ? type_elements(&s->sym->type)
                                                  : 1;
        f->assignments += target && target->sym == f->sym;
        f->loops = f->loops || is_loop;
        f->collective =
            f->collective || s->kind == STMT_ASYNC_COPY || stmt_arrives(s) ||
            (s->kind == STMT_EFFECT && !op_is_atomic(s->value->op) && s->value->op != OP_ASSUME) ||
            (s->kind == STMT_DECL && (s->sym->storage == ST_SHARED || s->sym->storage == ST_REG));
        f->escapes = f->escapes || s->kind == STMT_RETURN ||
                     (own_loop && (s->kind == STMT_BREAK || s->kind == STMT_CONTINUE));
        f->leaves = f->leaves || s->kind == STMT_RETURN || (own_loop && s->kind == STMT_BREAK);
        f->continues = f->continues || (own_loop && s->kind == STMT_CONTINUE);
        f->cost += 1 + elements * (1 + scalar_cost(s->value) + scalar_cost(target)) +
                   scalar_cost(s->condition);
        look(f, s->body, own_loop && !is_loop);
        look(f, s->otherwise, own_loop && !is_loop);
        look(f, s->step, own_loop && !is_loop);
        look(f, s->init, false);
    }
}

static struct found look_at(const struct stmt *first, const struct sym *sym)
{
    struct found f = {.sym = sym};
    look(&f, first, true);
    return f;
}

/* --- what does not change --- */

static bool assigned_in(const struct loop *p, const struct sym *s)
{
    for (int i = 0; i < p->count; i++)
        if (p->variables[i].variable->sym == s)
            return true;
    for (size_t i = 0; i < p->assigned.list.count; i++)
        if (p->assigned.list.data[i]->sym == s)
            return true;
    return look_at(p->s->body, s).assignments > 0 || look_at(p->s->step, s).assignments > 0;
}

static bool is_invariant(const struct loop *p, const struct expr *e)
{
    if (!(op_table[e->op].flags & OP_PURE) || e->type.rank > 0)
        return false;
    if (e->op == OP_REF && (e->sym->storage == ST_ARRAY || assigned_in(p, e->sym)))
        return false;
    for (int i = 0; i < e->count; i++)
        if (!is_invariant(p, e->args[i]))
            return false;
    return true;
}

static bool mentions_only(const struct expr *e, const struct sym *s)
{
    if (!(op_table[e->op].flags & OP_PURE) || e->type.rank > 0 || (e->sym && e->sym != s) ||
        e->op == OP_BLOCK || e->op == OP_GRID || e->op == OP_THREAD)
        return false;
    for (int i = 0; i < e->count; i++)
        if (!mentions_only(e->args[i], s))
            return false;
    return true;
}

/* --- the variables of a loop --- */

static const struct stmt *step_of(const struct stmt *loop, const struct sym *s)
{
    for (const struct stmt *step = loop->step; step; step = step->next)
        if (step->kind == STMT_ASSIGN && step->target->sym == s)
            return step;
    return NULL;
}

static bool is_ref(const struct expr *e, const struct sym *s)
{
    return e->op == OP_REF && e->sym == s;
}

/* The n of v = v + n, v = n + v; or, with *negative, of v = v - n. */
static const struct expr *amount_of_step(const struct loop *p, const struct sym *s, bool *negative)
{
    const struct expr *e = step_of(p->s, s)->value, *amount = NULL;
    *negative = e->op == OP_SUB;
    if ((e->op == OP_ADD || e->op == OP_SUB) && is_ref(e->args[0], s))
        amount = e->args[1];
    else if (e->op == OP_ADD && is_ref(e->args[1], s))
        amount = e->args[0];
    return amount && e->type.dtype == s->type.dtype && is_invariant(p, amount) ? amount : NULL;
}

/* The same in a register of its own, if it is made of variables that the loop may assign. */
static const struct value *steady(struct lower *l, const struct value *v)
{
    if (!value_is_fleeting(v))
        return v;
    const struct value *copy = value_of_register(l, value_dtype(v), value_copy(l, v));
    value_learn(l, copy, value_divisor(v), value_least(v), value_greatest(v));
    return copy;
}

static bool make_cycle(struct lower *l, const struct loop *p, struct loop_variable *v,
                       const struct value *start)
{
    const struct sym *s = v->variable->sym;
    const struct stmt *step = step_of(p->s, s);
    int64_t first, now;
    if (!value_known(start, &first) || !mentions_only(step->value, s))
        return false;
    v->variable->value = start;
    for (v->period = 0; v->period < MOST_PERIOD;) {
        v->constants[v->period++] = v->variable->value;
        v->variable->value = scalar_cast(l, scalar_eval(l, step->value), s->type.dtype);
        if (!value_known(v->variable->value, &now))
            return false;
        if (now == first)
            break;
    }
    v->role = ROLE_CYCLE;
    v->variable->value = start;
    return now == first;
}

static bool make_counter(struct lower *l, const struct loop *p, struct loop_variable *v,
                         const struct value *start)
{
    const struct sym *s = v->variable->sym;
    enum dtype t = s->type.dtype;
    bool negative, wide = t == DT_I32 || t == DT_I64 || t == DT_U32 || t == DT_U64;
    const struct expr *amount = wide ? amount_of_step(p, s, &negative) : NULL;
    if (!amount)
        return false;
    const struct value *step = scalar_cast(l, scalar_eval(l, amount), t);
    if (negative)
        step = value_apply1(l, OP_NEG, t, step);
    v->role = ROLE_COUNTER;
    v->start = v->variable->value = steady(l, start);
    v->step = steady(l, step);
    return true;
}

/* Where the body is too long to be repeated for it, a cycle is a variable as any other, of which
 * more is known. */
static bool worth_copies(struct lower *l, const struct loop *p, const struct loop_variable *v)
{
    if (p->s->kind == STMT_FOR && p->s->unroll == UNROLL_FULL)
        return true;
    if (v->period * plan_instructions_in(&l->layouts, p->s->body) <= MOST_REPEATED)
        return true;
    v->variable->limited = true;
    v->variable->least = INT64_MAX;
    v->variable->greatest = INT64_MIN;
    for (int i = 0; i < v->period; i++) {
        int64_t number;
        value_known(v->constants[i], &number);
        if (number < v->variable->least)
            v->variable->least = number;
        if (number > v->variable->greatest)
            v->variable->greatest = number;
    }
    return false;
}

/* One that is only stepped, once: false if it is to be a variable as any other. */
static bool add_variable(struct lower *l, struct loop *p, const struct stmt *decl)
{
    const struct sym *s = decl->sym;
    if (p->count == MOST_VARIABLES || decl->kind != STMT_DECL || !decl->value ||
        s->storage != ST_SCALAR || look_at(p->s->body, s).assignments > 0 ||
        look_at(p->s->step, s).assignments != 1)
        return false;
    struct loop_variable *v = &p->variables[p->count];
    *v = (struct loop_variable){.variable = variable_of(l, s)};
    v->variable->has_register = false;
    const struct value *start = scalar_cast(l, scalar_eval(l, decl->value), s->type.dtype);
    bool counts = make_counter(l, p, v, start);
    if (!counts && (!make_cycle(l, p, v, start) || !worth_copies(l, p, v)))
        return false;
    p->count++;
    return true;
}

/* A variable that is not among them is declared as any other. */
static void start_variables(struct lower *l, struct loop *p)
{
    for (const struct stmt *s = p->s->init; s; s = s->next)
        if (!add_variable(l, p, s))
            statement_emit(l, s);
    variables_assigned(l, p->s->body, &p->assigned);
    variables_assigned(l, p->s->step, &p->assigned);
}

static struct loop_variable *find_variable(struct loop *p, const struct sym *s)
{
    for (int i = 0; i < p->count; i++)
        if (p->variables[i].variable->sym == s)
            return &p->variables[i];
    return NULL;
}

/* --- how often --- */

static enum op mirrored(enum op op)
{
    return op == OP_LT ? OP_GT : op == OP_LE ? OP_GE : op == OP_GT ? OP_LT : OP_LE;
}

static bool match_bound(struct lower *l, struct loop *p, enum op op, const struct expr *v,
                        const struct expr *bound)
{
    struct loop_variable *counter = v->op == OP_REF ? find_variable(p, v->sym) : NULL;
    int64_t step;
    if (!counter || counter->role != ROLE_COUNTER || !is_invariant(p, bound) ||
        !value_known(counter->step, &step) || step == 0 ||
        (step > 0) != (op == OP_LT || op == OP_LE) || !dtype_is_signed(v->type.dtype) ||
        dtype_join(v->type.dtype, bound->type.dtype) != v->type.dtype)
        return false;
    p->counted = counter;
    p->op = op;
    p->bound = steady(l, scalar_cast(l, scalar_eval(l, bound), v->type.dtype));
    return true;
}

static int64_t count_trips(const struct loop *p)
{
    int64_t start, step, bound, trips = 0;
    if (!value_known(p->counted->start, &start) || !value_known(p->counted->step, &step) ||
        !value_known(p->bound, &bound) || start < INT32_MIN || start > INT32_MAX ||
        bound < INT32_MIN || bound > INT32_MAX)
        return -1;
    int64_t distance = step > 0 ? bound - start : start - bound, size = step > 0 ? step : -step;
    distance += p->op == OP_LE || p->op == OP_GE;
    if (distance > 0)
        trips = (distance + size - 1) / size;
    bool narrow = dtype_size(p->counted->variable->sym->type.dtype) < 8;
    int64_t behind = start + trips * step;
    return narrow && (behind < INT32_MIN || behind > INT32_MAX) ? -1 : trips;
}

static void find_trips(struct lower *l, struct loop *p)
{
    const struct expr *c = p->s->condition;
    p->trips = -1;
    if (!c || p->s->kind != STMT_FOR ||
        (c->op != OP_LT && c->op != OP_LE && c->op != OP_GT && c->op != OP_GE))
        return;
    if (match_bound(l, p, c->op, c->args[0], c->args[1]) ||
        match_bound(l, p, mirrored(c->op), c->args[1], c->args[0]))
        p->trips = count_trips(p);
}

/* --- one copy of the body --- */

static const struct value *after_steps(struct lower *l, const struct loop_variable *v,
                                       const struct value *base, int steps)
{
    if (steps == 0)
        return base;
    const struct value *many = value_int(l, value_dtype(v->step), steps);
    return value_add(l, base, value_mul(l, v->step, many));
}

/* The variables `steps` trips after `base`. */
static void set_variable(struct lower *l, const struct loop_variable *v, int steps)
{
    v->variable->value =
        v->role == ROLE_CYCLE ? v->constants[steps % v->period] : after_steps(l, v, v->base, steps);
}

static void set_variables(struct lower *l, const struct loop *p, int steps)
{
    for (int i = 0; i < p->count; i++)
        set_variable(l, &p->variables[i], steps);
}

/* Says for traces where the loop's turns are in the code. */
static void mark(struct lower *l, const struct loop *p, enum ptx_mark_kind kind, int copy)
{
    ptx_mark(&l->b, kind, p->s, copy);
}

static void emit_copy(struct lower *l, struct loop *p, int copy)
{
    struct loop_target target = {.outer = l->bodies->loop, .exit = &p->exit};
    struct scope scope;
    bool continues = look_at(p->s->body, NULL).continues;
    mark(l, p, PTX_COPY_BEGINS, copy);
    l->bodies->loop = &target;
    l->bodies->depth++;
    if (continues)
        scope_open(l, &scope);
    body_emit(l, p->s->body);
    if (continues)
        scope_close(l, &scope);
    if (target.next) {
        ptx_place(&l->b, target.next);
        variables_refresh(l, &p->assigned);
    }
    l->bodies->depth--;
    l->bodies->loop = target.outer;
}

/* The steps behind copy `copy`, in order. */
static void emit_steps(struct lower *l, struct loop *p, int copy)
{
    for (const struct stmt *s = p->s->step; s; s = s->next) {
        struct loop_variable *v = s->kind == STMT_ASSIGN ? find_variable(p, s->target->sym) : NULL;
        if (v)
            set_variable(l, v, copy + 1);
        else
            statement_emit(l, s);
    }
}

/* --- the loop around them --- */

static const struct value *condition_value(struct lower *l, const struct loop *p,
                                           const struct value *limit)
{
    if (limit)
        return value_apply2(l, p->op, DT_BOOL, p->counted->variable->value, limit);
    if (!p->s->condition)
        return value_int(l, DT_BOOL, 1);
    return scalar_truth(l, p->s->condition);
}

static bool is_uniform(const struct lower *l, const struct loop *p)
{
    return !p->s->condition || !expr_is_varying(l->kernel, p->s->condition);
}

static void leave_unless(struct lower *l, const struct loop *p, const struct value *condition,
                         struct ptx_label **to, const char *name)
{
    branch_on(l, value_apply1(l, OP_NOT, DT_BOOL, condition), is_uniform(l, p), to, name);
}

/* How often the body runs at most; INT64_MAX: not known. */
static int64_t most_trips(const struct loop *p)
{
    int64_t step;
    if (p->trips >= 0 || !p->counted)
        return p->trips >= 0 ? p->trips : INT64_MAX;
    bool up = p->op == OP_LT || p->op == OP_LE;
    int64_t least = value_least(up ? p->counted->start : p->bound);
    int64_t greatest = value_greatest(up ? p->bound : p->counted->start);
    if (!value_known(p->counted->step, &step) || least < INT32_MIN || greatest > INT32_MAX)
        return INT64_MAX;
    return greatest < least ? 1 : (greatest - least) / (step > 0 ? step : -step) + 1;
}

/* A step of this magnitude that takes the counted variable past the end of its type takes it round
 * for so long that only an endless loop does it. */
enum { SMALL_STEP = 4096 };

/* The counted variable is on its way to the bound. Past that, and past the end of its type, it goes
 * in a loop that does not end there: of one that may be left at another place it has to be certain
 * that it does not. */
static bool reaches_bound(const struct loop *p, enum dtype t)
{
    bool wide = dtype_size(t) == 8, up = p->op == OP_LT || p->op == OP_LE;
    bool open = p->op == OP_LT || p->op == OP_GT;
    int64_t step, last;
    if (!value_known(p->counted->step, &step))
        return false;
    if (!look_at(p->s->body, NULL).leaves && step >= -SMALL_STEP && step <= SMALL_STEP &&
        !value_known(p->bound, &last))
        return true;
    last = up ? value_greatest(p->bound) : value_least(p->bound);
    if (__builtin_add_overflow(last, step + (up ? -open : open), &last))
        return false;
    return wide || (last >= INT32_MIN && last <= INT32_MAX);
}

/* Integers wrap: is the variable sure not to, as long as the loop runs? */
static bool stays_in_type(const struct loop *p, const struct loop_variable *v)
{
    enum dtype t = v->variable->sym->type.dtype;
    bool wide = dtype_size(t) == 8;
    int64_t step, start_least = value_least(v->start), start_greatest = value_greatest(v->start);
    int64_t top = wide ? INT64_MAX : dtype_is_signed(t) ? INT32_MAX : UINT32_MAX;
    int64_t bottom = !dtype_is_signed(t) ? 0 : wide ? -INT64_MAX : INT32_MIN;
    if (v == p->counted)
        return reaches_bound(p, t);
    if (!value_known(v->step, &step) || step == INT64_MIN)
        return false;
    int64_t room = step > 0 ? top - (start_greatest > 0 ? start_greatest : 0)
                            : (start_least < 0 ? start_least : 0) - bottom;
    return step == 0 || most_trips(p) <= room / (step > 0 ? step : -step);
}

/* Within a trip the counted variable is within `bound`. */
static void learn_bound(struct lower *l, const struct loop *p, const struct value *bound)
{
    const struct loop_variable *v = p->counted;
    int64_t least = INT64_MIN, greatest = INT64_MAX;
    if (p->op == OP_LT || p->op == OP_LE) {
        greatest = value_greatest(bound);
        greatest -= p->op == OP_LT && greatest != INT64_MAX;
    } else {
        least = value_least(bound);
        least += p->op == OP_GT && least != INT64_MIN;
    }
    value_learn(l, v->base, 1, least, greatest);
}

static void open_counters(struct lower *l, struct loop *p, int copies, const struct value *bound)
{
    for (int i = 0; i < p->count; i++) {
        struct loop_variable *v = &p->variables[i];
        if (v->role != ROLE_COUNTER)
            continue;
        enum dtype t = v->variable->sym->type.dtype;
        const struct value *step = value_affine(l, v->step, copies, 0);
        v->base = frame_counter(l, t, v->reg, v->start, step, !stays_in_type(p, v));
    }
    if (p->counted)
        learn_bound(l, p, bound);
}

static void latch_counters(struct lower *l, struct loop *p, int copies)
{
    frame_latch(l);
    for (int i = 0; i < p->count; i++) {
        struct loop_variable *v = &p->variables[i];
        if (v->role == ROLE_COUNTER)
            v->variable->value = frame_counter_next(l, v->base);
        else
            set_variable(l, v, copies);
    }
}

/* The loop itself, without its guard. between: test between copies. limit: another bound, for the
 * first of two loops. */
static void emit_frame(struct lower *l, struct loop *p, int copies, bool between,
                       const struct value *limit)
{
    struct frame frame;
    struct ptx_label *head = ptx_new_label(&l->b, "loop");
    frame_open(l, &frame);
    variables_refresh(l, &p->assigned);
    open_counters(l, p, copies, limit ? limit : p->bound);
    sync_enter_loop(l, p->s);
    ptx_place(&l->b, head);
    for (int copy = 0; copy < copies && !l->failed; copy++) {
        set_variables(l, p, copy);
        emit_copy(l, p, copy);
        lower_line(l, p->s->loc);
        emit_steps(l, p, copy);
        if (between && copy + 1 < copies)
            leave_unless(l, p, condition_value(l, p, NULL), &p->exit, "exit");
    }
    sync_leave_loop(l);
    latch_counters(l, p, copies);
    /* Short loops the assembler may go on unrolling, as it does with nvcc's; bra.uni keeps it from
     * that. */
    bool whole = is_uniform(l, p) && !kernel_thread_level(l->kernel);
    const struct value *again = condition_value(l, p, limit);
    mark(l, p, PTX_BRANCH_NEXT, 0);
    branch_on(l, again, whole, &head, "loop");
    frame_close(l, &frame);
    variables_refresh(l, &p->assigned);
    sync_forget(l);
}

/* Registers of the counters, at their start. */
static void load_counters(struct lower *l, struct loop *p)
{
    for (int i = 0; i < p->count; i++) {
        struct loop_variable *v = &p->variables[i];
        v->base = v->start;
        if (v->role == ROLE_COUNTER)
            v->reg = value_copy(l, v->start);
    }
}

/* From now on the loop goes on from what the registers hold. Of them is known what holds of the
 * counters after any number of steps. */
static void resume_counters(struct lower *l, struct loop *p)
{
    for (int i = 0; i < p->count; i++) {
        struct loop_variable *v = &p->variables[i];
        if (v->role != ROLE_COUNTER)
            continue;
        const struct value *within = v->base;
        bool up = value_least(v->step) >= 0;
        v->start = v->base = value_of_variable(l, v->variable->sym->type.dtype, v->reg);
        value_learn(l, v->start, value_divisor(within), up ? value_least(within) : INT64_MIN,
                    INT64_MAX);
        v->variable->value = v->start;
    }
}

/* Trips `copies` at a time while so many are left, then one at a time. */
static void emit_two_loops(struct lower *l, struct loop *p, int copies)
{
    struct ptx_label *rest = NULL;
    int64_t step = 0;
    value_known(p->counted->step, &step);
    const struct value *limit = value_affine(l, p->bound, 1, -(copies - 1) * step);
    struct scope scope;
    leave_unless(l, p, condition_value(l, p, limit), &rest, "rest");
    scope_open(l, &scope);
    emit_frame(l, p, copies, false, limit);
    scope_close(l, &scope);
    place_label(l, rest);
    variables_refresh(l, &p->assigned);
    resume_counters(l, p);
    leave_unless(l, p, condition_value(l, p, NULL), &p->exit, "exit");
    emit_frame(l, p, 1, false, NULL);
}

/* --- all trips written out --- */

/* Does the value follow from the loop's variables and what the loop does not change? */
static bool follows_from_variables(struct loop *p, const struct expr *e)
{
    if (e->op == OP_REF && !find_variable(p, e->sym))
        return is_invariant(p, e);
    for (int i = 0; i < e->count; i++)
        if (!follows_from_variables(p, e->args[i]))
            return false;
    return true;
}

/* How many trips, if the variables are constants in all of them; else -1. */
static int64_t simulate(struct lower *l, struct loop *p, int64_t most)
{
    const struct expr *condition = p->s->condition;
    int64_t trips = 0, holds, number;
    if (!condition || !expr_is_pure(condition) || p->count == 0 ||
        !follows_from_variables(p, condition))
        return -1;
    for (const struct stmt *s = p->s->step; s; s = s->next)
        if (s->kind != STMT_ASSIGN || !find_variable(p, s->target->sym))
            return -1;
    for (int i = 0; i < p->count; i++) {
        struct loop_variable *v = &p->variables[i];
        v->base = v->start;
        if (v->role == ROLE_COUNTER &&
            (!value_known(v->start, &number) || !value_known(v->step, &number)))
            return -1;
    }
    for (;; trips++) {
        set_variables(l, p, (int)trips);
        if (trips > most || !value_known(scalar_truth(l, condition), &holds))
            trips = -2;
        if (trips < 0 || !holds)
            break;
    }
    set_variables(l, p, 0);
    return trips < 0 ? -1 : trips;
}

/* false: reported. */
static bool copies_allowed(struct lower *l, const struct loop *p, int64_t trips)
{
    l->bodies->copies += p->s->unroll == UNROLL_FULL ? trips : 0;
    if (l->bodies->copies <= MOST_COPIES)
        return true;
    lower_error(
        l, p->s->loc,
        "`unroll` makes more than %d copies of loop bodies in this kernel: loops inside each "
        "other multiply; leave `unroll` out of the outer ones, or write `unroll(2)`",
        MOST_COPIES);
    return false;
}

static void emit_written_out(struct lower *l, struct loop *p, int64_t trips)
{
    if (!copies_allowed(l, p, trips))
        return;
    bool escapes = look_at(p->s->body, NULL).escapes;
    struct scope scope;
    if (escapes)
        scope_open(l, &scope);
    for (int trip = 0; trip < trips && !l->failed; trip++) {
        set_variables(l, p, trip);
        emit_copy(l, p, trip);
    }
    if (escapes)
        scope_close(l, &scope);
    if (p->exit) {
        place_label(l, p->exit);
        variables_refresh(l, &p->assigned);
        sync_forget(l);
    }
}

static bool emit_unrolled(struct lower *l, struct loop *p)
{
    const struct stmt *s = p->s;
    bool own = s->unroll == UNROLL_NONE && kernel_thread_level(l->kernel);
    if (s->kind != STMT_FOR || (s->unroll != UNROLL_FULL && !own))
        return false;
    struct found f = look_at(s->body, NULL);
    if (own && (f.loops || f.collective || f.escapes))
        return false;
    int64_t trips = simulate(l, p, own ? OWN_TRIPS : MOST_TRIPS);
    if (trips < 0 || trips * f.cost > (own ? OWN_WHOLE : MOST_UNROLLED))
        return false;
    emit_written_out(l, p, trips);
    return true;
}

/* --- many trips with tests between none, then the last ones --- */

static bool fills_stages(const struct stmt *first)
{
    for (const struct stmt *s = first; s; s = s->next)
        if (s->kind == STMT_ASYNC_COPY || fills_stages(s->body) || fills_stages(s->otherwise))
            return true;
    return false;
}

/* Returns how many of the known trips the loop makes; 0: the loop is not split. */
static int64_t trips_in_loop(struct lower *l, const struct loop *p, int copies)
{
    enum { ROUNDS_LEAST = 2 };
    int64_t last = fills_stages(p->s->body) ? copies - 1 : 0;
    if (kernel_thread_level(l->kernel) || copies == 1 || copies > MOST_PERIOD ||
        p->trips > INT32_MAX || p->trips < ROUNDS_LEAST * copies + last ||
        look_at(p->s->body, NULL).loops)
        return 0;
    int64_t rest = (p->trips - last) % copies + last;
    bool brief = (copies + rest) * plan_instructions_in(&l->layouts, p->s->body) <= MOST_REPEATED;
    return brief && rest > 0 ? p->trips - rest : 0;
}

/* The limit that the counted variable is within at the start of trip `last`, and of no trip after it. */
static const struct value *limit_after(struct lower *l, const struct loop *p, int64_t last)
{
    int end = p->op == OP_LE ? -1 : p->op == OP_GE ? 1 : 0;
    return value_affine(l, after_steps(l, p->counted, p->counted->start, (int)last + 1), 1, end);
}

static void emit_split(struct lower *l, struct loop *p, int copies, int64_t in_loop)
{
    emit_frame(l, p, copies, false, limit_after(l, p, in_loop - copies));
    for (int i = 0; i < p->count; i++) {
        struct loop_variable *v = &p->variables[i];
        if (v->role == ROLE_COUNTER)
            v->base = after_steps(l, v, v->start, (int)in_loop);
    }
    for (int trip = 0; trip < p->trips - in_loop && !l->failed; trip++) {
        set_variables(l, p, trip);
        emit_copy(l, p, trip);
        lower_line(l, p->s->loc);
        emit_steps(l, p, trip);
    }
}

/* --- how many copies --- */

static int cycle_period(const struct loop *p)
{
    int64_t period = 1;
    for (int i = 0; i < p->count; i++)
        if (p->variables[i].role == ROLE_CYCLE)
            period *=
                p->variables[i].period / greatest_common_divisor(period, p->variables[i].period);
    return (int)period;
}

/* Returns the copies of a body of that cost that is repeated without being asked: a smaller body gets more, because the
 * loop's own instructions count more. */
static int own_factor(const struct loop *p, int64_t cost)
{
    int factor = cost <= OWN_BODY / 8 ? 16 : cost <= OWN_BODY / 4 ? 8 : 4;
    while (factor > 4 && p->trips > 0 && p->trips % factor != 0)
        factor /= 2;
    return factor;
}

/* Returns the copies of the body that the program asks for, or that are made without being asked. */
static int wanted_copies(const struct lower *l, const struct loop *p)
{
    const struct stmt *s = p->s;
    if (s->kind != STMT_FOR)
        return 1;
    if (s->unroll > 1)
        return s->unroll;
    struct found f = look_at(s->body, NULL);
    bool small = kernel_thread_level(l->kernel) && p->counted && !f.loops && !f.collective &&
                 !f.escapes && f.cost <= OWN_BODY;
    return small ? own_factor(p, f.cost) : 1;
}

/* Does bound - (copies - 1) * step stay in its type? Where the first trip is taken, bound is beyond
 * start. */
static bool limit_fits(const struct loop *p, int copies)
{
    int64_t step;
    if (!value_known(p->counted->step, &step) || step <= 0 || step > INT32_MAX / 2 / copies)
        return false;
    return value_least(p->counted->start) >= 0;
}

static void emit_loops(struct lower *l, struct loop *p)
{
    int period = cycle_period(p), copies = wanted_copies(l, p);
    bool two = copies > 1 && period == 1 && p->counted && limit_fits(p, copies) &&
               kernel_thread_level(l->kernel);
    copies = divide_up(copies, period) * period;
    bool even = p->trips > 0 && p->trips % copies == 0;
    if (two && p->trips >= 0 && p->trips < copies)
        two = even = false, copies = 1;
    int64_t in_loop = two || period == 1 ? 0 : trips_in_loop(l, p, copies);
    if (two && !even)
        emit_two_loops(l, p, copies);
    else if (in_loop > 0)
        emit_split(l, p, copies, in_loop);
    else
        emit_frame(l, p, copies, !even, NULL);
}

static void emit_guarded(struct lower *l, struct loop *p)
{
    struct found f = look_at(p->s->body, NULL);
    struct scope scope;
    if (!p->s->is_do) {
        int64_t known;
        const struct value *first = condition_value(l, p, NULL);
        if (value_known(first, &known) && !known)
            return;
        load_counters(l, p);
        leave_unless(l, p, first, &p->exit, "exit");
    }
    bool partly = p->exit || f.escapes || cycle_period(p) > 1 || wanted_copies(l, p) > 1;
    if (partly)
        scope_open(l, &scope);
    emit_loops(l, p);
    if (partly)
        scope_close(l, &scope);
    place_label(l, p->exit);
    variables_refresh(l, &p->assigned);
    sync_forget(l);
}

void loop_emit(struct lower *l, const struct stmt *s)
{
    struct loop *p = arena_new(l->arena, struct loop);
    *p = (struct loop){.s = s, .trips = -1};
    start_variables(l, p);
    find_trips(l, p);
    mark(l, p, PTX_LOOP_BEGINS, 0);
    if (!emit_unrolled(l, p))
        emit_guarded(l, p);
    mark(l, p, PTX_LOOP_ENDS, 0);
}
