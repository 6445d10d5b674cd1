/* Statements: variables, assignments, conditions. Loops are in lower_loop.c. */
#include "lower/lower_flow.h"
#include "lower/lower_memory.h"
#include "plan/plan_limits.h"

#include <assert.h>

/* --- variables --- */

static void note_assigned(void *user, struct stmt *s)
{
    struct lower *l = user;
    if (s->kind == STMT_ASSIGN && s->target->sym)
        pointer_map_put(l->arena, &l->bodies->assigned, s->target->sym, s->target->sym);
}

void bodies_init(struct lower *l)
{
    l->bodies = arena_new(l->arena, struct bodies);
    stmt_walk(l->kernel->body, note_assigned, l);
}

bool is_assigned(const struct lower *l, const struct sym *s)
{
    return pointer_map_get(&l->bodies->assigned, s) != NULL;
}

struct variable *variable_of(struct lower *l, const struct sym *s)
{
    struct variable *v = pointer_map_get(&l->bodies->variables, s);
    if (v)
        return v;
    v = arena_new(l->arena, struct variable);
    *v = (struct variable){.sym = s, .assigned = is_assigned(l, s)};
    pointer_map_put(l->arena, &l->bodies->variables, s, v);
    return v;
}

void variable_refresh(struct lower *l, struct variable *v)
{
    if (!v->has_register)
        return;
    v->value = value_of_variable(l, v->sym->type.dtype, v->reg);
    if (v->limited)
        value_learn(l, v->value, 1, v->least, v->greatest);
}

void variables_refresh(struct lower *l, const struct variable_set *set)
{
    for (size_t i = 0; i < set->list.count; i++)
        variable_refresh(l, set->list.data[i]);
}

struct collecting {
    struct lower *l;
    struct variable_set *set;
};

static void collect_assigned(void *user, struct stmt *s)
{
    struct collecting *c = user;
    if (s->kind != STMT_ASSIGN || s->target->op != OP_REF || s->target->sym->storage != ST_SCALAR)
        return;
    struct variable *v = pointer_map_get(&c->l->bodies->variables, s->target->sym);
    if (!v || !v->has_register)
        return;
    for (size_t i = 0; i < c->set->list.count; i++)
        if (c->set->list.data[i] == v)
            return;
    vec_push(c->l->arena, &c->set->list, v);
}

void variables_assigned(struct lower *l, const struct stmt *first, struct variable_set *set)
{
    struct collecting c = {l, set};
    stmt_walk((struct stmt *)(uintptr_t)first, collect_assigned, &c); /* changes nothing */
}

static void keep_facts(struct lower *l, const struct value *of, const struct value *from)
{
    if (!dtype_is_float(value_dtype(from)))
        value_learn(l, of, value_divisor(from), value_least(from), value_greatest(from));
}

/* To the register, if it has one. */
static void variable_assign(struct lower *l, struct variable *v, const struct value *value)
{
    struct literal known;
    if (!v->has_register) {
        v->value = value;
        return;
    }
    value_into(l, value, v->reg);
    if (value_known_literal(value, &known)) {
        v->value = value;
        return;
    }
    variable_refresh(l, v);
    keep_facts(l, v->value, value);
}

static void declare_scalar(struct lower *l, const struct stmt *s)
{
    struct variable *v = variable_of(l, s->sym);
    enum dtype t = s->sym->type.dtype;
    const struct value *value = NULL;
    if (s->value)
        value = scalar_cast(l, scalar_eval(l, s->value), t);
    if (v->assigned) {
        if (!v->has_register)
            v->reg = ptx_reg(&l->b, lower_register_type(t));
        v->has_register = true;
        if (value)
            variable_assign(l, v, value);
        else
            variable_refresh(l, v);
        return;
    }
    v->value = value;
    if (value && value_is_fleeting(value)) {
        v->value = value_of_register(l, t, value_copy(l, value));
        keep_facts(l, v->value, value);
    }
}

/* --- register tiles --- */

static void assign_tile(struct lower *l, const struct sym *s, const struct expr *e);

/* s = dot(a, b, c): in s's own registers, as a rule. */
static bool assign_dot(struct lower *l, const struct sym *s, const struct expr *e)
{
    if (e->op != OP_DOT || e->count != 3 || expr_mentions(e->args[0], s) ||
        expr_mentions(e->args[1], s))
        return false;
    const struct dot_plan *plan = plan_dot(&l->layouts, e);
    if (!plan || plan->c != plan_symbol(&l->layouts, s) || plan->sum != s->type.dtype)
        return false;
    const struct expr *c = e->args[2];
    if (c->op != OP_REF || c->sym != s)
        assign_tile(l, s, c);
    dot_accumulate(l, e, tile_of_symbol(l, s));
    return true;
}

static void assign_tile(struct lower *l, const struct sym *s, const struct expr *e)
{
    if (!assign_dot(l, s, e))
        tile_assign(l, s, e);
}

static void declare_tile(struct lower *l, const struct stmt *s)
{
    if (lower_ragged_block(l)) {
        plan_limits_ragged(&l->layouts, s->loc, "a register tile");
        return;
    }
    if (plan_reads_again(&l->layouts, s->value))
        return;
    if (!is_assigned(l, s->sym))
        tile_declare(l, s->sym, s->value);
    else if (s->value)
        assign_tile(l, s->sym, s->value);
}

/* --- memory --- */

static bool is_slice_of_view(const struct expr *e)
{
    return e->op == OP_ACCESS && e->sym->storage == ST_VIEW;
}

static void store_element(struct lower *l, const struct expr *target, const struct expr *value)
{
    const struct value *v = scalar_cast(l, scalar_eval(l, value), target->sym->type.dtype);
    if (target->sym->storage == ST_VIEW && !kernel_thread_level(l->kernel))
        sync_view(l, target, NULL, true);
    element_store(l, target, v);
}

static void store_to_view(struct lower *l, const struct expr *target, const struct expr *value)
{
    if (lower_ragged_block(l)) {
        copy_elements(l, target, value);
        return;
    }
    struct regtile t = tile_eval_shaped(l, value, &target->type);
    const struct layout *layout = plan_view(&l->layouts, target, t.layout, true);
    if (layout && layout != t.layout)
        t = tile_convert(l, &t, layout);
    view_store(l, target, &t);
}

static void store_to_shared(struct lower *l, const struct stmt *s, const struct expr *target,
                            const struct expr *value)
{
    if (is_slice_of_view(value) && value->type.dtype == target->type.dtype &&
        type_same_shape(&value->type, &target->type)) {
        copy_to_shared(l, s, target, value);
        return;
    }
    if (lower_ragged_block(l)) {
        copy_elements(l, target, value);
        return;
    }
    struct regtile t = tile_eval_shaped(l, value, &target->type);
    shared_store(l, target, &t);
}

static void store_tile(struct lower *l, const struct stmt *s, const struct expr *target,
                       const struct expr *value)
{
    if (expr_is_own(l->kernel, target) ||
        (expr_is_own(l->kernel, value) && kernel_thread_level(l->kernel)))
        array_assign(l, s);
    else if (target->sym->storage == ST_SHARED)
        store_to_shared(l, s, target, value);
    else
        store_to_view(l, target, value);
}

static void assign_scalar(struct lower *l, const struct sym *to, const struct expr *e)
{
    const struct value *value = scalar_cast(l, scalar_eval(l, e), to->type.dtype);
    variable_assign(l, variable_of(l, to), value);
}

static void emit_assignment(struct lower *l, const struct stmt *s)
{
    const struct expr *target = s->target;
    switch (target->sym->storage) {
    case ST_SCALAR:
        if (l->bodies->lazy) {
            variable_assign_when(l, variable_of(l, target->sym), s->value);
            break;
        }
        assign_scalar(l, target->sym, s->value);
        break;
    case ST_ARRAY: array_assign(l, s); break;
    case ST_REG: assign_tile(l, target->sym, s->value); break;
    default:
        if (target->type.rank == 0)
            store_element(l, target, s->value);
        else
            store_tile(l, s, target, s->value);
        break;
    }
}

/* The whole of a shared tile. */
static struct expr *whole_tile(struct lower *l, const struct stmt *s)
{
    struct expr *e = expr_access(l->kernel, s->sym, 0, s->loc);
    e->type = s->sym->type;
    return e;
}

static void emit_declaration(struct lower *l, const struct stmt *s)
{
    switch (s->sym->storage) {
    case ST_SCALAR: declare_scalar(l, s); break;
    case ST_ARRAY: array_assign(l, s); break;
    case ST_REG: declare_tile(l, s); break;
    case ST_SHARED:
        if (s->value)
            store_to_shared(l, s, s->target ? s->target : whole_tile(l, s), s->value);
        break;
    default: break;
    }
}

/* --- values as their targets want them --- */

static void normalise(void *user, struct stmt *s)
{
    struct lower *l = user;
    bool stores = s->kind == STMT_DECL || s->kind == STMT_ASSIGN;
    const struct sym *sym = s->kind == STMT_DECL ? s->sym : s->target ? s->target->sym : NULL;
    if (!stores || !s->value || !sym || sym->storage == ST_SCALAR || sym->storage == ST_ARRAY)
        return;
    const struct type *to = s->kind == STMT_DECL ? &s->sym->type : &s->target->type;
    if (to->rank == 0)
        return;
    bool varying = s->value->type.varying;
    s->value = expr_cast(l->kernel, s->value, to->dtype);
    if (s->value->type.rank > 0 && !type_same_shape(&s->value->type, to)) {
        struct type t = *to;
        t.varying = varying;
        s->value = expr_unary(l->kernel, OP_BROADCAST, t, s->value->loc, s->value);
    }
}

void normalise_assignments(struct lower *l)
{
    stmt_walk(l->kernel->body, normalise, l);
}

/* --- what is taken for granted --- */

/* One value, which the body uses. */
static bool is_leaf(const struct lower *l, const struct expr *e)
{
    if (e->op == OP_REF && e->sym->storage == ST_PARAM)
        return pointer_map_get(&l->bodies->fixed, e->sym) != NULL;
    return e->op == OP_REF || e->op == OP_BLOCK || e->op == OP_GRID || e->op == OP_THREAD;
}

static enum op mirrored(enum op op)
{
    switch (op) {
    case OP_LT: return OP_GT;
    case OP_LE: return OP_GE;
    case OP_GT: return OP_LT;
    case OP_GE: return OP_LE;
    default: return op;
    }
}

static void learn_range(struct lower *l, enum op op, const struct expr *x, int64_t n)
{
    int64_t number, least = INT64_MIN, greatest = INT64_MAX;
    enum dtype t = x->type.dtype;
    if (!is_leaf(l, x) || (t != DT_I32 && t != DT_I64) || n == INT64_MIN || n == INT64_MAX)
        return;
    if (op == OP_EQ || op == OP_GE || op == OP_GT)
        least = op == OP_GT ? n + 1 : n;
    if (op == OP_EQ || op == OP_LE || op == OP_LT)
        greatest = op == OP_LT ? n - 1 : n;
    const struct value *v = scalar_eval(l, x);
    if (!value_known(v, &number))
        value_learn(l, v, 1, least, greatest);
}

static void learn_comparison(struct lower *l, const struct expr *e)
{
    const struct expr *a = e->args[0], *b = e->args[1];
    int64_t n, number;
    if (e->op == OP_EQ && a->op == OP_REM && is_leaf(l, a->args[0]) && eval_int(b, NULL, &n) &&
        n == 0 && eval_int(a->args[1], NULL, &n) && n > 0) {
        const struct value *v = scalar_eval(l, a->args[0]);
        if (!value_known(v, &number))
            value_learn(l, v, n, INT64_MIN, INT64_MAX);
        return;
    }
    bool is_signed = dtype_is_signed(dtype_join(a->type.dtype, b->type.dtype));
    if (is_signed && eval_int(b, NULL, &n))
        learn_range(l, e->op, a, n);
    else if (is_signed && eval_int(a, NULL, &n))
        learn_range(l, mirrored(e->op), b, n);
}

void assume_learn(struct lower *l, const struct expr *e)
{
    switch (e->op) {
    case OP_LAND:
        assume_learn(l, e->args[0]);
        assume_learn(l, e->args[1]);
        break;
    case OP_EQ:
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE: learn_comparison(l, e); break;
    default: break;
    }
}

/* --- effects --- */

static void emit_wait(struct lower *l, const struct expr *e)
{
    int64_t groups = 0;
    if (e->count > 0)
        eval_int(e->args[0], NULL, &groups);
    copy_wait(l, (int)(groups > INT32_MAX ? INT32_MAX : groups));
}

static void emit_effect(struct lower *l, const struct stmt *s)
{
    const struct expr *e = s->value;
    switch (e->op) {
    case OP_SYNC: barrier_emit(l); break;
    case OP_ASYNC_COMMIT: copy_commit(l); break;
    case OP_ASYNC_WAIT: emit_wait(l, e); break;
    case OP_LOCK: lock_emit(l, s); break;
    case OP_UNLOCK: unlock_emit(l, s); break;
    case OP_ARRIVE: arrive_emit(l, e, false); break;
    case OP_PRINT: print_emit(l, s); break;
    case OP_ASSUME:
        if (s->claim)
            claim_emit(l, s);
        else if (l->bodies->depth == 0)
            assume_learn(l, e->args[0]);
        break;
    case OP_FREE: break;
    default:
        if (op_is_atomic(e->op) && e->args[0]->type.rank == 0)
            atomic_scalar(l, e, false);
        else if (op_is_atomic(e->op) && array_is_own(l, e))
            array_atomic(l, e, false);
        else if (op_is_atomic(e->op))
            atomic_tile(l, e, NULL, false);
        break;
    }
}

/* --- branches --- */

static struct ptx_operand target_of(struct lower *l, struct ptx_label **to, const char *name)
{
    if (!*to)
        *to = ptx_new_label(&l->b, name);
    return (struct ptx_operand){.kind = PTX_LABEL, .label = *to};
}

void branch_always(struct lower *l, struct ptx_label **to, const char *name)
{
    ptx_emit(&l->b, "bra.uni", target_of(l, to, name));
}

void branch_on(struct lower *l, const struct value *condition, bool uniform, struct ptx_label **to,
               const char *name)
{
    struct guard g = guard_of(l, condition);
    const char *bra = uniform || g.always ? "bra.uni" : "bra";
    if (!g.never)
        guard_apply(ptx_emit(&l->b, bra, target_of(l, to, name)), g);
}

void place_label(struct lower *l, struct ptx_label *label)
{
    if (label)
        ptx_place(&l->b, label);
}

/* Returns the label to which break or continue goes. */
static struct ptx_label **escape_target(struct lower *l, enum stmt_kind kind)
{
    struct loop_target *loop = l->bodies->loop;
    assert(loop && "break or continue outside a loop");
    return kind == STMT_BREAK ? loop->exit : &loop->next;
}

static const char *escape_name(enum stmt_kind kind)
{
    return kind == STMT_BREAK ? "exit" : "next";
}

static void emit_escape(struct lower *l, const struct stmt *s)
{
    if (s->kind == STMT_RETURN)
        ptx_emit_plain(&l->b, "ret");
    else
        branch_always(l, escape_target(l, s->kind), escape_name(s->kind));
}

static bool is_escape(const struct stmt *s)
{
    return s->kind == STMT_BREAK || s->kind == STMT_CONTINUE || s->kind == STMT_RETURN;
}

/* The one statement of a list, through blocks. */
static const struct stmt *only_statement(const struct stmt *s)
{
    while (s && s->kind == STMT_BLOCK && !s->next)
        s = s->body;
    return s && !s->next ? s : NULL;
}

/* Does control surely not come to the end of this list? */
static bool leaves(const struct stmt *first)
{
    for (const struct stmt *s = first; s; s = s->next)
        if (is_escape(s) || (s->kind == STMT_BLOCK && leaves(s->body)))
            return true;
    return false;
}

/* if (condition) break; */
static bool emit_conditional_escape(struct lower *l, const struct stmt *s)
{
    const struct stmt *only = only_statement(s->body);
    if (s->otherwise || !only || !is_escape(only))
        return false;
    const struct value *condition = scalar_truth(l, s->condition);
    lower_line(l, only->loc);
    if (only->kind != STMT_RETURN) {
        branch_on(l, condition, !expr_is_varying(l->kernel, s->condition),
                  escape_target(l, only->kind), escape_name(only->kind));
        return true;
    }
    struct guard g = guard_of(l, condition);
    if (!g.never)
        guard_apply(ptx_emit_plain(&l->b, "ret"), g);
    return true;
}

static void emit_arm(struct lower *l, const struct stmt *body)
{
    struct scope scope;
    scope_open(l, &scope);
    l->bodies->depth++;
    body_emit(l, body);
    l->bodies->depth--;
    scope_close(l, &scope);
}

/* Saves the values of the variables for the other arm. */
static const struct value **save_values(struct lower *l, const struct variable_set *set)
{
    const struct value **saved = arena_array(l->arena, const struct value *, set->list.count + 1);
    for (size_t i = 0; i < set->list.count; i++)
        saved[i] = set->list.data[i]->value;
    return saved;
}

static void emit_arms(struct lower *l, const struct stmt *s, const struct value *condition)
{
    struct variable_set assigned = {0};
    struct ptx_label *otherwise = NULL, *end = NULL;
    variables_assigned(l, s->body, &assigned);
    variables_assigned(l, s->otherwise, &assigned);
    const struct value **before = save_values(l, &assigned);
    struct sync_arms arms;
    sync_enter_arms(l, &arms);
    branch_on(l, value_apply1(l, OP_NOT, DT_BOOL, condition),
              !expr_is_varying(l->kernel, s->condition), &otherwise,
              s->otherwise ? "else" : "endif");
    emit_arm(l, s->body);
    if (s->otherwise) {
        if (!leaves(s->body))
            branch_always(l, &end, "endif");
        place_label(l, otherwise);
        sync_next_arm(l, &arms);
        for (size_t i = 0; i < assigned.list.count; i++)
            assigned.list.data[i]->value = before[i];
        emit_arm(l, s->otherwise);
    } else {
        end = otherwise;
    }
    place_label(l, end);
    variables_refresh(l, &assigned);
    sync_leave_arms(l, &arms);
}

static void emit_if(struct lower *l, const struct stmt *s)
{
    int64_t known;
    if (emit_conditional_escape(l, s))
        return;
    const struct value *condition = scalar_truth(l, s->condition);
    if (value_known(condition, &known))
        body_emit(l, known ? s->body : s->otherwise);
    else if (!s->body && !s->otherwise)
        return;
    else if (!emit_if_when(l, s, condition))
        emit_arms(l, s, condition);
}

/* --- all of them --- */

void statement_emit(struct lower *l, const struct stmt *s)
{
    lower_line(l, s->loc);
    sync_statement(l, s);
    switch (s->kind) {
    case STMT_DECL: emit_declaration(l, s); break;
    case STMT_ASSIGN: emit_assignment(l, s); break;
    case STMT_ASYNC_COPY: copy_async(l, s); break;
    case STMT_EFFECT: emit_effect(l, s); break;
    case STMT_IF: emit_if(l, s); break;
    case STMT_FOR:
    case STMT_WHILE: loop_emit(l, s); break;
    case STMT_BLOCK: body_emit(l, s->body); break;
    case STMT_BREAK:
    case STMT_CONTINUE:
    case STMT_RETURN: emit_escape(l, s); break;
    case STMT_ROLE:
    case STMT_ONE_THREAD: /* refused by plan_limits_of_kernel */
    case STMT_ENSURES: break;
    }
}

void body_emit(struct lower *l, const struct stmt *first)
{
    for (const struct stmt *s = first; s && !l->failed; s = s->next) {
        statement_emit(l, s);
        if (is_escape(s))
            return; /* statements after it are unreachable */
    }
}
