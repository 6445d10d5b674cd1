/* Random values in random loops: the emitted PTX, interpreted here, compared with plain
 * evaluation. TW_TEST_LONG: many more. */
#include "lower/lower_value.h"
#include "lower/lower_op.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jmp_buf failed;
static struct arena arena;
static struct lower lower;
static struct kernel *kernel;

static uint64_t seed;
static int below(int n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)n);
}

/* --- programs --- */

enum { PARAMS = 5, MOST_LOOPS = 3, MOST_STEPS = 256, MOST_EVENTS = 1 << 15, TID = 77, CTAID = 3 };

/* An expression: its meaning, and the value made for it. */
struct node {
    enum { LITERAL, PARAM, BASE, THREAD, BLOCK, COUNTER, VARIABLE, LOADED, OP, INDEX } kind;
    enum op op;
    enum dtype dtype;
    int64_t number; /* index of the parameter, loop … */
    int count;
    const struct node *args[3];
    const struct value *value;
};

struct step {
    enum { ADDRESS, NUMBER, LOOP, END_LOOP, IF, END_IF, ASSIGN, LOAD } kind;
    const struct node *node, *node2, *node3; /* of a loop: start, end, step */
    int number;
};

static struct step steps[MOST_STEPS];
static int step_count;
static int64_t params[PARAMS];
static struct ptx_variable *param_variables[PARAMS + 1];
static const struct value *param_values[PARAMS + 1];
static int depth;                                /* loops that are open */
static const struct value *counters[MOST_LOOPS]; /* of those */
static struct ptx_operand variable_register;
static const struct value *variable_value, *loaded_value;
static int loaded_by; /* the step that loaded it */

static struct node *new_node(enum dtype t, int kind)
{
    struct node *n = arena_new(&arena, struct node);
    n->kind = (unsigned)kind;
    n->dtype = t;
    return n;
}

static const struct node *leaf(int kind, int64_t number, const struct value *v)
{
    struct node *n = new_node(value_dtype(v), kind);
    n->number = number;
    n->value = v;
    return n;
}

static const struct node *literal(enum dtype t, int64_t v)
{
    struct node *n = new_node(t, LITERAL);
    n->number = v;
    n->value = value_int(&lower, t, v);
    return n;
}

static const struct node *apply(enum op op, enum dtype t, const struct node *a,
                                const struct node *b)
{
    struct node *n = new_node(t, OP);
    n->op = op;
    n->args[0] = a;
    n->args[1] = b;
    n->count = b ? 2 : 1;
    const struct value *args[2] = {a->value, b ? b->value : NULL};
    n->value = value_apply(&lower, op, t, args, n->count);
    return n;
}

static const struct node *any_leaf(void)
{
    switch (below(9)) {
    case 0: return literal(DT_I32, below(40) - 10);
    case 1:
    case 2: {
        int p = below(PARAMS);
        return leaf(PARAM, p, param_values[p]);
    }
    case 3: return leaf(THREAD, 0, value_thread_linear(&lower));
    case 4: return leaf(BLOCK, 0, value_special(&lower, PTX_SREG_CTAID_X));
    case 5: return leaf(VARIABLE, 0, variable_value);
    case 6:
        if (loaded_value)
            return leaf(LOADED, loaded_by, loaded_value);
        break;
    default: break;
    }
    if (depth == 0)
        return literal(DT_I32, 1 + below(4));
    int loop = depth - 1 - (below(3) ? 0 : below(depth));
    return leaf(COUNTER, loop, counters[loop]);
}

static const struct node *small_literal(void)
{
    return literal(DT_I32, below(3) ? (int64_t)1 << below(6) : 1 + below(40));
}

static const struct node *any_i32(int size)
{
    if (size <= 1)
        return any_leaf();
    const struct node *a = any_i32(size / 2);
    switch (below(15)) {
    case 0: return apply(OP_SUB, DT_I32, a, any_i32(size - size / 2));
    case 1:
    case 2: return apply(OP_MUL, DT_I32, a, any_i32(size - size / 2));
    case 3: return apply(OP_MUL, DT_I32, a, small_literal());
    case 4: return apply(OP_SHL, DT_I32, a, literal(DT_I32, below(5)));
    case 5: return apply(OP_SHR, DT_I32, a, literal(DT_I32, below(5)));
    case 6: return apply(OP_DIV, DT_I32, a, small_literal());
    case 7: return apply(OP_REM, DT_I32, a, small_literal());
    case 8: return apply(OP_AND, DT_I32, a, literal(DT_I32, below(64)));
    case 9: return apply(below(2) ? OP_XOR : OP_OR, DT_I32, a, any_i32(size - size / 2));
    case 10: return apply(below(2) ? OP_MIN : OP_MAX, DT_I32, a, any_i32(size - size / 2));
    case 11: return apply(OP_CDIV, DT_I32, a, small_literal());
    case 12: { /* through u32 */
        const struct node *u = apply(OP_CAST, DT_U32, a, NULL);
        u = apply(below(2) ? OP_SHR : OP_ADD, DT_U32, u, literal(DT_U32, 1 + below(5)));
        return apply(OP_CAST, DT_I32, u, NULL);
    }
    default: return apply(OP_ADD, DT_I32, a, any_i32(size - size / 2));
    }
}

static const struct node *index_node(const struct node *a)
{
    struct node *n = new_node(DT_I64, INDEX);
    n->args[0] = a;
    n->count = 1;
    n->value = value_index(&lower, a->value);
    return n;
}

static const struct node *any_index(int size)
{
    if (size <= 2)
        return index_node(any_i32(size));
    const struct node *a = any_index(size / 2), *b = any_index(size - size / 2);
    return apply(below(3) ? OP_ADD : below(3) ? OP_MUL : OP_SUB, DT_I64, a, b);
}

static const struct node *any_address(void)
{
    const struct node *at = leaf(BASE, 0, param_values[PARAMS]);
    const struct node *index = any_index(1 + below(6));
    at = apply(OP_ADD, DT_I64, at,
               apply(OP_MUL, DT_I64, index, literal(DT_I64, (int64_t)1 << below(4))));
    if (below(2))
        at = apply(OP_ADD, DT_I64, at,
                   literal(DT_I64, (below(200) - 100) * (below(5) ? 4 : 1 << 20)));
    return at;
}

static const struct node *any_condition(void)
{
    static const enum op ops[] = {OP_LT, OP_LE, OP_GT, OP_GE, OP_EQ, OP_NE};
    enum op op = ops[below(6)];
    if (below(2))
        return apply(op, DT_BOOL, any_i32(1 + below(3)), any_i32(1 + below(3)));
    return apply(op, DT_BOOL, any_index(1 + below(3)), any_index(1 + below(3)));
}

/* --- making programs --- */

static struct step *push_step(int kind, const struct node *n)
{
    assert_true(step_count < MOST_STEPS);
    steps[step_count] = (struct step){.kind = (unsigned)kind, .node = n, .number = step_count};
    return &steps[step_count++];
}

static void read_variable(void)
{
    variable_value = value_of_variable(&lower, DT_I32, variable_register);
}

static void emit_address(void)
{
    struct step *s = push_step(ADDRESS, any_address());
    ptx_emit(&lower.b, "st.global.u32", value_address(&lower, s->node->value), ptx_int(s->number));
}

/* Emits copies of a body, as an unrolled loop does. */
static void emit_unrolled(void)
{
    const struct node *step = leaf(PARAM, 1, param_values[1]), *other = index_node(any_leaf());
    const struct node *counter = leaf(COUNTER, depth - 1, counters[depth - 1]);
    for (int u = 0, n = 2 + below(4); u < n; u++) {
        const struct node *at = apply(OP_ADD, DT_I32, counter, literal(DT_I32, u));
        at = apply(OP_MUL, DT_I64, index_node(at), index_node(step));
        at = apply(OP_ADD, DT_I64, at, other);
        at = apply(OP_MUL, DT_I64, at, literal(DT_I64, 4));
        struct step *s =
            push_step(ADDRESS, apply(OP_ADD, DT_I64, leaf(BASE, 0, param_values[PARAMS]), at));
        ptx_emit(&lower.b, "st.global.u32", value_address(&lower, s->node->value),
                 ptx_int(s->number));
    }
}

static void emit_number(void)
{
    int kind = below(3);
    struct step *s = push_step(NUMBER, kind == 0   ? any_index(1 + below(5))
                                       : kind == 1 ? any_i32(1 + below(6))
                                                   : any_condition());
    struct ptx_operand at = {.kind = PTX_ADDRESS, .base = PTX_BASE_NONE, .bytes = s->number};
    struct ptx_operand v = value_operand(&lower, s->node->value);
    if (s->node->dtype == DT_BOOL) {
        struct ptx_operand word = ptx_reg(&lower.b, MOD_B32);
        ptx_emit(&lower.b, "selp.b32", word, ptx_int(1), ptx_int(0), v);
        v = word;
    }
    ptx_emit(&lower.b, s->node->dtype == DT_I64 ? "st.local.b64" : "st.local.b32", at, v);
}

static void emit_assign(void)
{
    struct step *s = push_step(ASSIGN, any_i32(1 + below(3)));
    value_into(&lower, s->node->value, variable_register);
    read_variable();
}

static void emit_load(void)
{
    struct step *s = push_step(LOAD, any_i32(2));
    loaded_value = value_of_register(&lower, DT_I32, value_copy(&lower, s->node->value));
    loaded_by = s->number;
}

static void emit_body(int size);

static void emit_loop(int size)
{
    struct frame f;
    struct step *s = push_step(LOOP, literal(DT_I32, below(3)));
    int p = below(PARAMS);
    s->node2 = literal(DT_I32, 4 + below(6));
    s->node3 = below(2) ? literal(DT_I32, 1 + below(4)) : leaf(PARAM, p, param_values[p]);
    struct ptx_operand reg = value_copy(&lower, s->node->value);
    const struct value *loaded = loaded_value;
    int by = loaded_by;
    frame_open(&lower, &f);
    struct ptx_label *head = ptx_new_label(&lower.b, "loop");
    ptx_place(&lower.b, head);
    counters[depth] = frame_counter(&lower, DT_I32, reg, s->node->value, s->node3->value, false);
    if (below(2))
        value_learn(&lower, counters[depth], 1, 0, value_greatest(s->node2->value));
    depth++;
    read_variable();
    emit_body(size);
    push_step(END_LOOP, NULL);
    frame_latch(&lower);
    const struct value *next = frame_counter_next(&lower, counters[--depth]);
    const struct value *more = value_apply2(&lower, OP_LT, DT_BOOL, next, s->node2->value);
    struct guard again = guard_of(&lower, more);
    guard_apply(ptx_branch(&lower.b, head), again);
    frame_close(&lower, &f);
    read_variable();
    loaded_value = loaded;
    loaded_by = by;
}

static void emit_if(int size)
{
    struct scope scope;
    const struct node *condition = any_condition();
    struct guard skip = guard_of(&lower, value_apply1(&lower, OP_NOT, DT_BOOL, condition->value));
    if (skip.always)
        return;
    push_step(IF, condition);
    const struct value *loaded = loaded_value;
    int by = loaded_by;
    struct ptx_label *end = ptx_new_label(&lower.b, "end");
    if (!skip.never)
        guard_apply(ptx_branch(&lower.b, end), skip);
    scope_open(&lower, &scope);
    emit_body(size);
    scope_close(&lower, &scope);
    ptx_place(&lower.b, end);
    push_step(END_IF, NULL);
    read_variable();
    loaded_value = loaded;
    loaded_by = by;
}

static void emit_body(int size)
{
    for (int i = 0; i < size; i++)
        switch (below(8)) {
        case 0:
        case 1:
        case 2:
            if (depth > 0 && below(5) == 0)
                emit_unrolled();
            else
                emit_address();
            break;
        case 3:
        case 4: emit_number(); break;
        case 5:
            if (below(2))
                emit_assign();
            else
                emit_load();
            break;
        case 6: emit_if(size / 2); break;
        default:
            if (depth < MOST_LOOPS)
                emit_loop(1 + size / 2);
        }
}

static void make_program(void)
{
    for (int i = 0; i <= PARAMS; i++) {
        enum ptx_mod type = i == PARAMS ? MOD_U64 : MOD_U32;
        enum dtype t = i == PARAMS ? DT_I64 : DT_I32;
        struct ptx_operand reg = ptx_reg(&lower.b, lower_register_type(t));
        param_variables[i] = ptx_parameter(&lower.b, type, arena_printf(&arena, "p%d", i));
        ptx_emit_for(&lower.b, PTX_TYPES((uint16_t)type), "ld.param.*", reg,
                     ptx_at_variable(param_variables[i], 0));
        param_values[i] = value_of_register(&lower, t, reg);
        if (i == PARAMS)
            break;
        params[i] = 1 + below(20);
        if (below(2))
            value_learn(&lower, param_values[i], 1, 0, 20);
        if (below(3) == 0) {
            params[i] = 16;
            value_learn(&lower, param_values[i], 16, 0, INT32_MAX);
        }
    }
    variable_register = value_copy(&lower, param_values[0]);
    read_variable();
    loaded_value = NULL;
    depth = step_count = 0;
    emit_body(6);
    ptx_emit_plain(&lower.b, "ret");
}

/* --- evaluating them --- */

struct event {
    int step;
    int64_t value;
    bool ignored; /* an i32 has wrapped in an index */
};
static struct event expected[MOST_EVENTS], seen[MOST_EVENTS];
static int expected_count, seen_count;

static int64_t counter_now[MOST_LOOPS], variable_now, loaded_now[MOST_STEPS];
static const int64_t base_address = (int64_t)1 << 40;

static int64_t eval(const struct node *n, bool *wrapped)
{
    struct literal x[2] = {0}, result;
    switch (n->kind) {
    case LITERAL: return n->number;
    case PARAM: return params[n->number];
    case BASE: return base_address;
    case THREAD: return TID;
    case BLOCK: return CTAID;
    case COUNTER: return counter_now[n->number];
    case VARIABLE: return variable_now;
    case LOADED: return loaded_now[n->number];
    case INDEX: return eval(n->args[0], wrapped);
    default: break;
    }
    for (int i = 0; i < n->count; i++)
        x[i].i = eval(n->args[i], wrapped);
    if (n->op == OP_CAST)
        return eval_cast(n->dtype, n->args[0]->dtype, &x[0]).i;
    assert_true(eval_op(n->op, n->args[0]->dtype, x, n->count, &result));
    if (n->dtype == DT_I32 || n->dtype == DT_U32) {
        struct literal wide;
        if (n->op != OP_AND && n->op != OP_OR && n->op != OP_XOR &&
            eval_op(n->op, DT_I64, x, n->count, &wide) && wide.i != result.i)
            *wrapped = true;
    }
    return result.i;
}

static bool has_index(const struct node *n)
{
    bool found = n->kind == INDEX;
    for (int i = 0; i < n->count; i++)
        found = found || has_index(n->args[i]);
    return found;
}

static bool full(void)
{
    return expected_count == MOST_EVENTS;
}

static void expect(const struct step *s)
{
    bool wrapped = false;
    int64_t v = eval(s->node, &wrapped);
    if (!full())
        expected[expected_count++] = (struct event){s->number, v, wrapped && has_index(s->node)};
}

static int skip_to(int at, int open, int close)
{
    int level = 0;
    do {
        if (steps[at].kind == (unsigned)open)
            level++;
        if (steps[at].kind == (unsigned)close)
            level--;
        at++;
    } while (level > 0);
    return at;
}

/* Runs steps from `at` to the end of their list; returns the index after it. */
static int run_steps(int at, int level)
{
    bool ignored = false;
    while (at < step_count && !full()) {
        const struct step *s = &steps[at];
        switch (s->kind) {
        case ADDRESS:
        case NUMBER: expect(s), at++; break;
        case ASSIGN: variable_now = eval(s->node, &ignored), at++; break;
        case LOAD: loaded_now[s->number] = eval(s->node, &ignored), at++; break;
        case IF:
            at = eval(s->node, &ignored) ? run_steps(at + 1, level) : skip_to(at, IF, END_IF);
            break;
        case LOOP: {
            int64_t step = eval(s->node3, &ignored), behind = at;
            if (level >= MOST_LOOPS) /* there are no deeper loops */
                return step_count;
            counter_now[level] = eval(s->node, &ignored);
            do {
                behind = run_steps(at + 1, level + 1);
                counter_now[level] += step;
            } while (counter_now[level] < eval(s->node2, &ignored) && !full());
            at = (int)behind;
            break;
        }
        default: return at + 1;
        }
    }
    return at;
}

/* Returns true if a condition has an index that wraps: its value is undefined, so such programs
 * are left out. */
static bool condition_wraps(int at)
{
    (void)at;
    for (int i = 0; i < step_count; i++)
        if (steps[i].kind == IF && has_index(steps[i].node))
            return true;
    return false;
}

/* --- a small machine --- */

struct machine {
    const struct ptx_function *f;
    uint64_t *reg;
};

static uint64_t read_operand(const struct machine *m, const struct ptx_operand *o)
{
    switch (o->kind) {
    case PTX_REGISTER: return m->reg[o->reg] ^ (o->negated ? 1 : 0);
    case PTX_IMMEDIATE: return o->bits;
    case PTX_SPECIAL: return o->special == PTX_SREG_TID_X ? TID : CTAID;
    default: fail_msg("operand of kind %d", o->kind); return 0;
    }
}

static int64_t as_type(enum ptx_mod t, uint64_t v)
{
    switch ((int)t) {
    case MOD_S32: return (int32_t)(uint32_t)v;
    case MOD_U32:
    case MOD_B32: return (int64_t)(uint32_t)v;
    case MOD_PRED: return (int64_t)(v & 1);
    default: return (int64_t)v;
    }
}

static bool compare(const struct ptx_instruction *ins, int64_t a, int64_t b)
{
    if (ptx_has(ins, MOD_LT))
        return a < b;
    if (ptx_has(ins, MOD_LE))
        return a <= b;
    if (ptx_has(ins, MOD_GT))
        return a > b;
    if (ptx_has(ins, MOD_GE))
        return a >= b;
    return ptx_has(ins, MOD_EQ) ? a == b : a != b;
}

static uint64_t shift_right(int64_t a, uint64_t by)
{
    return (uint64_t)(a >> (by > 63 ? 63 : by));
}

static uint64_t compute(const struct ptx_instruction *ins, const int64_t *x)
{
    uint64_t a = (uint64_t)x[0], b = (uint64_t)x[1], c = (uint64_t)x[2];
    switch ((int)ins->op) {
    case PTX_MOV:
    case PTX_CVT:
    case PTX_LD: return a;
    case PTX_ADD: return a + b;
    case PTX_SUB: return a - b;
    case PTX_MUL: return a * b;
    case PTX_MAD: return a * b + c;
    case PTX_NEG: return 0 - a;
    case PTX_NOT: return ptx_type(ins, 0) == MOD_PRED ? !a : ~a;
    case PTX_AND: return a & b;
    case PTX_OR: return a | b;
    case PTX_XOR: return a ^ b;
    case PTX_SHL: return b > 63 ? 0 : a << b;
    case PTX_SHR: return shift_right(x[0], b);
    case PTX_DIV: return (uint64_t)(x[0] / x[1]);
    case PTX_REM: return (uint64_t)(x[0] % x[1]);
    case PTX_MIN: return (uint64_t)(x[0] < x[1] ? x[0] : x[1]);
    case PTX_MAX: return (uint64_t)(x[0] > x[1] ? x[0] : x[1]);
    case PTX_SELP: return c ? a : b;
    case PTX_SETP:
        if (ptx_has(ins, MOD_AND)) /* setp.lt.and */
            return compare(ins, x[0], x[1]) && c;
        return compare(ins, x[0], x[1]);
    default: fail_msg("op %d", ins->op); return 0;
    }
}

static void note(int step, uint64_t value)
{
    if (seen_count < MOST_EVENTS)
        seen[seen_count++] = (struct event){step, (int64_t)value, false};
}

static void execute(const struct machine *m, const struct ptx_instruction *ins)
{
    const struct ptx_operand *o = ins->operands;
    enum ptx_mod t = ptx_type(ins, 0);
    if (ins->op == PTX_ST && ptx_has(ins, MOD_GLOBAL)) {
        note((int)o[1].bits, m->reg[o[0].reg] + (uint64_t)o[0].bytes);
        return;
    }
    if (ins->op == PTX_ST) {
        uint64_t v = read_operand(m, &o[1]);
        note((int)o[0].bytes, t == MOD_B64 ? v : (uint64_t)as_type(MOD_S32, v));
        return;
    }
    int64_t x[3] = {0};
    enum ptx_mod from = ins->op == PTX_CVT ? ptx_type(ins, 1) : t;
    for (int i = 1; i < ins->operand_count; i++) {
        bool wide = i == 3 && ptx_has(ins, MOD_WIDE);
        bool condition = i == 3 && (ins->op == PTX_SELP || ins->op == PTX_SETP);
        enum ptx_mod as = wide ? MOD_S64 : condition ? MOD_PRED : from;
        if (i == 2 && (ins->op == PTX_SHL || ins->op == PTX_SHR))
            as = MOD_U32;
        if (ins->op == PTX_LD) {
            bool base = o[1].variable == param_variables[PARAMS];
            for (int p = 0; p < PARAMS && !base; p++)
                if (o[1].variable == param_variables[p])
                    x[0] = params[p];
            x[0] = base ? base_address : x[0];
        } else {
            x[i - 1] = as_type(as, read_operand(m, &o[i]));
        }
    }
    m->reg[o[0].reg] = compute(ins, x);
}

static void run_code(void)
{
    const struct ptx_function *f = lower.b.function;
    struct machine m = {.f = f};
    m.reg = arena_array(&arena, uint64_t, f->registers.count + 1);
    seen_count = 0;
    for (size_t pc = 0, n = 0; pc < f->body.count && seen_count < MOST_EVENTS; pc++) {
        if (++n > 4000000)
            fail_msg("it does not end");
        const struct ptx_statement *s = &f->body.data[pc];
        if (s->kind != PTX_AT_INSTRUCTION)
            continue;
        const struct ptx_instruction *ins = s->instruction;
        if (ins->guarded && (m.reg[ins->guard] & 1) == (uint64_t)ins->guard_negated)
            continue;
        if (ins->op == PTX_RET)
            return;
        if (ins->op != PTX_BRA) {
            execute(&m, ins);
            continue;
        }
        for (size_t to = 0; to < f->body.count; to++)
            if (f->body.data[to].kind == PTX_AT_LABEL &&
                f->body.data[to].label == ins->operands[0].label)
                pc = to;
    }
}

/* --- both --- */

static void show(void)
{
    struct text t;
    text_init(&t, &arena);
    ptx_end(&lower.b);
    ptx_print(&t, lower.b.module);
    fputs(t.data, stderr);
}

static void one_program(uint64_t number)
{
    seed = number * 0x9e3779b97f4a7c15u + 1;
    arena_init(&arena, &allocator_libc, &failed);
    kernel = kernel_new(&arena, "k", LOC_NONE);
    kernel->warps = 4;
    kernel->grid[0] = expr_int(kernel, DT_I32, 1 << below(16), LOC_NONE);
    if (kernel->grid[0]->literal.i <= CTAID)
        kernel->grid[0]->literal.i = 4;
    lower = (struct lower){.arena = &arena, .kernel = kernel, .warps = 4, .threads = 128};
    lower.target = target_find((struct ptx_target){80, 0});
    ptx_build_start(&lower.b, &arena, (struct ptx_target){80, 0});
    ptx_begin_kernel(&lower.b, "k");
    values_init(&lower);
    make_program();
    expected_count = 0;
    variable_now = params[0];
    if (!condition_wraps(0)) {
        run_steps(0, 0);
        run_code();
        int count = expected_count < seen_count ? expected_count : seen_count;
        for (int i = 0; i < count; i++) {
            const struct event *e = &expected[i], *s = &seen[i];
            if (e->step == s->step && (e->ignored || e->value == s->value))
                continue;
            show();
            fail_msg("program %llu, event %d: step %d is %lld, expected step %d: %lld",
                     (unsigned long long)number, i, s->step, (long long)s->value, e->step,
                     (long long)e->value);
        }
        assert_int_equal(expected_count, seen_count);
    }
    arena_free(&arena);
}

static void random_programs(void **state)
{
    (void)state;
    const char *first = getenv("TW_TEST_FIRST");
    uint64_t from = first ? strtoull(first, NULL, 10) : 0;
    uint64_t count = getenv("TW_TEST_LONG") ? 200000 : 1500;
    for (uint64_t i = from; i < from + count; i++)
        one_program(i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
