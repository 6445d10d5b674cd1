/* Finds facts about scalars before the program runs: constants, counters of loops that are
 * unrolled, and values that are affine in the thread's index.
 *
 * An affine value needs no lanes. It is its value in the first lane (which is uniform;
 * `thread.x` counts as 0 in it) and a constant step along each axis of the block. Accesses with
 * such indices are nests of strides (exec_strided.c). A variable is affine if its declaration
 * gives it such a value and it is never assigned again. Its lanes are computed nevertheless, and
 * its value in the first lane is read from the first of them. */
#include "cpu/compile/compile.h"

/* --- constants --- */

static bool constant_operation(const struct compiler *c, const struct expr *e, struct literal *out)
{
    enum op_class class = op_table[e->op].class;
    struct literal args[2];
    enum dtype t = e->type.dtype;
    if (e->count < 1 || e->count > 2 || e->op == OP_SHL || e->op == OP_SHR ||
        (class != CLASS_ARITH && class != CLASS_COMPARE && class != CLASS_BITWISE))
        return false;
    if (class == CLASS_COMPARE)
        t = dtype_join(e->args[0]->type.dtype, e->args[e->count - 1]->type.dtype);
    for (int i = 0; i < e->count; i++) {
        if (!compile_expr_constant(c, e->args[i], &args[i]))
            return false;
        args[i] = eval_cast(t, e->args[i]->type.dtype, &args[i]);
    }
    return eval_op(e->op, t, args, e->count, out);
}

static bool is_integer(const struct expr *e)
{
    return e->type.rank == 0 && !dtype_is_float(e->type.dtype);
}

bool compile_expr_constant(const struct compiler *c, const struct expr *e, struct literal *out)
{
    if (eval_scalar(e, NULL, out))
        return true;
    if (!e || (c->unrolling == 0 && !c->first_lane) || !is_integer(e))
        return false;
    for (int i = 0; i < e->count; i++)
        if (!is_integer(e->args[i]))
            return false;
    if (e->op == OP_THREAD) {
        *out = (struct literal){0};
        return c->first_lane;
    }
    if (e->op == OP_REF) {
        const struct slot *s = compile_slot_of(c, e->sym);
        *out = s->is_known ? s->known : s->first;
        return s->is_known || (c->first_lane && s->first_is_known);
    }
    if (e->op == OP_CAST) {
        struct literal from;
        if (!compile_expr_constant(c, e->args[0], &from))
            return false;
        *out = eval_cast(e->type.dtype, e->args[0]->type.dtype, &from);
        return true;
    }
    return constant_operation(c, e, out);
}

bool compile_known(struct compiler *c, const struct expr *e, struct value *out)
{
    struct literal v;
    if (!is_integer(e))
        return false;
    if (compile_expr_constant(c, e, &v)) {
        *out = compile_value_constant(c, e->type.dtype, v);
        return true;
    }
    if (e->op != OP_ADD)
        return false;
    for (int i = 0; i < 2; i++)
        if (compile_expr_constant(c, e->args[i], &v) && v.i == 0 &&
            e->args[1 - i]->type.dtype == e->type.dtype) {
            *out = compile_expr(c, e->args[1 - i], NULL);
            return true;
        }
    return false;
}

bool compile_expr_harmless(const struct compiler *c, const struct expr *e)
{
    struct literal divisor;
    if (!e)
        return true;
    if (e->op == OP_ACCESS || !(op_table[e->op].flags & OP_PURE))
        return false;
    if (op_divides(e->op) && !dtype_is_float(e->type.dtype) &&
        !(compile_expr_constant(c, e->args[1], &divisor) && divisor.i != 0))
        return false;
    if (e->op == OP_REF && (e->sym->storage == ST_SHARED || e->sym->storage == ST_VIEW))
        return false;
    for (int i = 0; i < e->count; i++)
        if (!compile_expr_harmless(c, e->args[i]))
            return false;
    return true;
}

bool compile_needs_divisor_check(const struct compiler *c, const struct expr *e)
{
    struct literal constant;
    return op_divides(e->op) &&
           !dtype_is_float(routine_compute_dtype(routine_compute_of(e->type.dtype))) &&
           !(compile_expr_constant(c, e->args[1], &constant) && constant.i != 0);
}

/* --- affine values --- */

/* Limit of steps: larger ones are useless, and sums of steps below it do not overflow. */
#define MOST_STEP ((int64_t)1 << 31)

/* Computes step = a * x + b * y; false: a step is too large. */
static bool combine(int64_t *step, int64_t a, const int64_t *x, int64_t b, const int64_t *y)
{
    bool fits = a >= -MOST_STEP && a <= MOST_STEP;
    for (int i = 0; i < 3 && fits; i++) {
        step[i] = a * x[i] + b * y[i];
        fits = step[i] >= -MOST_STEP / 2 && step[i] <= MOST_STEP / 2;
    }
    return fits;
}

/* Returns whether e is thread.x, or a variable that is declared as thread.x (it may be assigned
 * later). */
static bool is_thread_x(const struct compiler *c, const struct expr *e)
{
    return (e->op == OP_THREAD && e->axis == 0) ||
           (e->op == OP_REF && compile_slot_of(c, e->sym)->is_thread);
}

int64_t compile_thread_divisor(const struct compiler *c, const struct expr *e)
{
    bool power = e->op == OP_SHR || e->op == OP_AND;
    struct literal n;
    if ((!power && e->op != OP_DIV && e->op != OP_REM) || e->type.dtype != DT_I32 ||
        !is_thread_x(c, e->args[0]) || !compile_expr_constant(c, e->args[1], &n) || n.i < 1 ||
        n.i > MAX_THREADS)
        return 0;
    if (!power)
        return n.i;
    if (e->op == OP_SHR)
        return n.i < 10 ? (int64_t)1 << n.i : 0; /* a block has at most 2^10 threads */
    return (n.i & (n.i + 1)) == 0 ? n.i + 1 : 0;
}

/* Returns the axis of lanes that e is: 1 (y) for thread.x / split, 0 (x) for thread.x % split;
 * -1: neither. */
static int split_axis(const struct compiler *c, const struct expr *e)
{
    const struct expr *thread = e->args[0];
    if (c->split == 0 || compile_thread_divisor(c, e) != c->split ||
        (thread->op == OP_REF && !compile_slot_of(c, thread->sym)->affine))
        return -1;
    return e->op == OP_DIV || e->op == OP_SHR ? 1 : 0;
}

bool compile_expr_affine(const struct compiler *c, const struct expr *e, int64_t *step)
{
    static const int64_t none[3] = {0};
    int64_t x[3], y[3];
    struct literal factor;
    memset(step, 0, sizeof x);
    if (!compile_expr_varying(c, e))
        return true;
    if (e->type.dtype != DT_I32 || e->type.rank > 0)
        return false;
    switch (e->op) {
    case OP_THREAD:
        step[e->axis] = 1;
        step[1] += e->axis == 0 ? c->split : 0;
        return true;
    case OP_REF: {
        const struct slot *s = compile_slot_of(c, e->sym);
        memcpy(step, s->step, sizeof s->step);
        return s->affine;
    }
    case OP_NEG: return compile_expr_affine(c, e->args[0], x) && combine(step, -1, x, 0, none);
    case OP_ADD:
    case OP_SUB:
        return compile_expr_affine(c, e->args[0], x) && compile_expr_affine(c, e->args[1], y) &&
               combine(step, 1, x, e->op == OP_ADD ? 1 : -1, y);
    case OP_MUL:
        for (int i = 0; i < 2; i++)
            if (compile_expr_constant(c, e->args[i], &factor))
                return compile_expr_affine(c, e->args[1 - i], x) &&
                       combine(step, factor.i, x, 0, none);
        return false;
    case OP_DIV:
    case OP_REM:
    case OP_SHR:
    case OP_AND: {
        int axis = split_axis(c, e);
        if (axis >= 0)
            step[axis] = 1;
        return axis >= 0;
    }
    default: return false;
    }
}

struct value compile_first_lane(struct compiler *c, const struct expr *e)
{
    bool outer = c->first_lane;
    c->first_lane = true;
    struct value v = compile_expr(c, e, NULL);
    c->first_lane = outer;
    return v;
}

void compile_note_affine(struct compiler *c, const struct stmt *s)
{
    struct slot *slot = compile_slot_of(c, s->sym);
    slot->affine = slot->first_is_known = false;
    if (c->plain || slot->assigned || !s->value || slot->value.lanes == 1 ||
        s->sym->type.dtype != DT_I32 || s->sym->storage != ST_SCALAR ||
        s->value->type.dtype != DT_I32)
        return;
    slot->affine = compile_expr_affine(c, s->value, slot->step);
    c->first_lane = true;
    slot->first_is_known = slot->affine && compile_expr_constant(c, s->value, &slot->first);
    c->first_lane = false;
}

/* --- loops with a known counter --- */

struct loop_survey {
    const struct sym *counter;
    struct compiler *c;
    size_t nodes;
    bool assigned;
};

static void count_expr(void *user, struct expr **at)
{
    struct loop_survey *s = user;
    (void)at;
    s->nodes++;
}

static void count_root(void *user, struct expr **root, bool is_target)
{
    (void)is_target;
    expr_walk(root, count_expr, user);
}

/* Counts the nodes of a body; nodes of inner loops count once for each turn. */
static void survey_body(struct loop_survey *s, const struct stmt *first)
{
    for (const struct stmt *st = first; st; st = st->next) {
        struct stmt own = *st;
        stmt_expressions(&own, count_root, s);
        s->nodes++;
        s->assigned |= st->kind == STMT_ASSIGN && st->target->sym == s->counter;
        size_t before = s->nodes, made;
        survey_body(s, st->init);
        survey_body(s, st->step);
        survey_body(s, st->body);
        survey_body(s, st->otherwise);
        int64_t turns = st->kind == STMT_FOR ? compile_loop_known_turns(s->c, st, &made) : 0;
        if (turns > 1)
            s->nodes = before + (s->nodes - before) * (size_t)turns;
    }
}

void compile_counter_start(struct compiler *c, const struct stmt *s)
{
    struct slot *slot = compile_slot_of(c, s->init->sym);
    slot->is_known = compile_expr_constant(c, s->init->value, &slot->known);
    slot->known = eval_cast(s->init->sym->type.dtype, s->init->value->type.dtype, &slot->known);
}

void compile_counter_step(struct compiler *c, const struct stmt *s)
{
    struct slot *slot = compile_slot_of(c, s->init->sym);
    struct literal next;
    slot->is_known = slot->is_known && compile_expr_constant(c, s->step->value, &next);
    if (slot->is_known)
        slot->known = eval_cast(s->init->sym->type.dtype, s->step->value->type.dtype, &next);
}

/* Returns whether s is a loop `for (int i = …; …; i = …)` that is to be unrolled. */
static bool is_counting(const struct compiler *c, const struct stmt *s)
{
    const struct stmt *init = s->init, *step = s->step;
    return !c->plain && !c->seldom && s->kind == STMT_FOR && s->unroll == UNROLL_FULL &&
           s->condition && init && !init->next && init->kind == STMT_DECL &&
           init->sym->storage == ST_SCALAR && !dtype_is_float(init->sym->type.dtype) &&
           init->value && is_integer(init->value) && step && !step->next &&
           step->kind == STMT_ASSIGN && step->target->op == OP_REF &&
           step->target->sym == init->sym && is_integer(step->value);
}

int64_t compile_loop_known_turns(struct compiler *c, const struct stmt *s, size_t *nodes)
{
    if (!is_counting(c, s))
        return 0;
    struct slot *slot = compile_slot_of(c, s->init->sym);
    struct literal goes_on = {0};
    int64_t turns = 0;
    bool known = false;
    c->unrolling++;
    for (compile_counter_start(c, s); slot->is_known; compile_counter_step(c, s)) {
        known = compile_expr_constant(c, s->condition, &goes_on);
        if (!known || !goes_on.i || ++turns > MOST_UNROLLED_LOOP)
            break;
    }
    known = known && slot->is_known && !goes_on.i;
    slot->is_known = false;
    c->unrolling--;
    struct loop_survey survey = {.c = c, .counter = s->init->sym};
    if (known)
        survey_body(&survey, s->body);
    *nodes = survey.nodes * (size_t)turns;
    bool small = *nodes <= MOST_UNROLLED_LOOP && c->unrolled + *nodes <= MOST_UNROLLED;
    return known && small && !survey.assigned ? turns : 0;
}
