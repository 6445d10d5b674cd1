/* One kernel as a whole: the parameters of a launch, and the code before the body. */
#include "lower/lower.h"

#include "lower/lower_flow.h"
#include "lower/lower_memory.h"
#include "plan/plan_limits.h"
#include "plan/plan_layouts.h"

#include "base/arithmetic.h"
#include "plan/plan.h"
#include "tile/own_arrays.h"

#include <assert.h>

/* --- parameters --- */

/* The type of a parameter, and of the load that brings it. */
static enum ptx_mod parameter_type(enum dtype t)
{
    switch (t) {
    case DT_F64: return PTX_F64;
    case DT_F32: return PTX_F32;
    case DT_F16:
    case DT_BF16: return PTX_B16;
    case DT_I64:
    case DT_U64: return PTX_U64;
    case DT_I16: return PTX_S16;
    case DT_U16: return PTX_U16;
    case DT_I8: return PTX_S8;
    case DT_U8:
    case DT_BOOL: return PTX_U8;
    default: return PTX_U32;
    }
}

static struct ptx_operand load_parameter(struct lower *l, enum dtype t, struct ptx_variable *p)
{
    enum ptx_mod register_type = t == DT_BOOL ? PTX_U32 : lower_register_type(t);
    struct ptx_operand reg = ptx_reg(&l->b, register_type);
    ptx_emit_for(&l->b, PTX_TYPES((uint16_t)parameter_type(t)), "ld.param.*", reg,
                 ptx_at_variable(p, 0));
    if (t != DT_BOOL)
        return reg;
    struct ptx_operand truth = ptx_reg(&l->b, PTX_PRED);
    ptx_emit(&l->b, "setp.ne.u32", truth, reg, ptx_int(0));
    return truth;
}

/* Loads a pointer parameter, and returns its address in .global. */
static const struct value *load_address(struct lower *l, struct ptx_variable *p, int alignment)
{
    struct ptx_operand generic = load_parameter(l, DT_U64, p);
    struct ptx_operand reg = ptx_reg(&l->b, PTX_U64);
    ptx_emit(&l->b, "cvta.to.global.u64", reg, generic);
    const struct value *v = value_of_register(l, DT_I64, reg);
    value_learn(l, v, alignment, 0, INT64_MAX);
    return v;
}

enum { POINTER_ALIGNMENT = 16, WORKSPACE_ALIGNMENT = 256 };

static int alignment_of(const struct lower *l, const struct lower_param *p)
{
    if (p->kind == LOWER_WORKSPACE)
        return WORKSPACE_ALIGNMENT;
    if (p->kind == LOWER_TICKET)
        return (int)sizeof(uint32_t);
    const int *given = l->options->alignment;
    return given ? given[p->sym->index] : POINTER_ALIGNMENT;
}

static void add_parameter(struct lower *l, enum lower_param_kind kind, const struct sym *s)
{
    struct lower_param p = {.kind = kind, .sym = s};
    vec_push(l->arena, &l->out->params, p);
}

static bool has_op(const struct stmt *first, enum op one, enum op other)
{
    for (const struct stmt *s = first; s; s = s->next) {
        if (s->kind == STMT_EFFECT && (s->value->op == one || s->value->op == other))
            return true;
        if (has_op(s->body, one, other) || has_op(s->otherwise, one, other))
            return true;
    }
    return false;
}

static void list_parameters(struct lower *l)
{
    const struct kernel *k = l->kernel;
    for (const struct param *p = k->params; p; p = p->next)
        if (!(p->sym->is_static && p->sym->has_value))
            add_parameter(l, p->sym->is_pointer ? LOWER_POINTER : LOWER_SCALAR, p->sym);
    for (const struct sym *s = k->symbols; s; s = s->next)
        if (s->storage == ST_VIEW && !s->base)
            add_parameter(l, LOWER_WORKSPACE, s);
    if (has_op(k->body, OP_LOCK, OP_UNLOCK) && !k->cooperative)
        add_parameter(l, LOWER_TICKET, NULL);
}

static struct ptx_variable *declare_parameter(struct lower *l, const struct lower_param *p)
{
    enum ptx_mod type = p->kind == LOWER_SCALAR ? parameter_type(p->sym->type.dtype) : PTX_U64;
    struct ptx_variable *v = ptx_parameter(&l->b, type, p->sym ? p->sym->name : "$ticket");
    if (p->kind != LOWER_SCALAR) {
        v->pointer = true;
        v->pointer_space = MOD_GLOBAL;
        v->pointer_alignment = (uint32_t)alignment_of(l, p);
    }
    return v;
}

/* --- what the body uses --- */

struct uses {
    struct arena *arena;
    struct pointer_map symbols; /* sym -> sym */
};

static void note_symbol(void *user, struct expr **at)
{
    struct uses *u = user;
    struct sym *s = (*at)->sym;
    if (!s || pointer_map_get(&u->symbols, s))
        return;
    pointer_map_put(u->arena, &u->symbols, s, s);
    if (s->storage != ST_VIEW)
        return;
    for (int i = 0; i < s->type.rank; i++) {
        expr_walk(&s->dims[i], note_symbol, u);
        expr_walk(&s->strides[i], note_symbol, u);
    }
    expr_walk(&s->base_offset, note_symbol, u);
    if (s->base)
        pointer_map_put(u->arena, &u->symbols, s->base, s->base);
}

static void note_statement(void *user, struct stmt *s)
{
    bool is_assume = s->kind == STMT_EFFECT && s->value->op == OP_ASSUME && !s->claim;
    if (s->kind != STMT_ENSURES && !is_assume)
        stmt_own_expressions(s, note_symbol, user);
}

/* --- block index by ticket --- */

static const struct value *grid_extent(struct lower *l, int axis)
{
    const struct expr *e = l->kernel->grid[axis];
    int64_t known = 1;
    if (!e || eval_int(e, NULL, &known))
        return value_int(l, DT_U32, known);
    const struct value *n = value_special(l, PTX_SREG_NCTAID_X + (unsigned)axis);
    return value_apply1(l, OP_CAST, DT_U32, n);
}

/* The number of the last block. */
static const struct value *last_number(struct lower *l)
{
    const struct value *blocks = grid_extent(l, 0);
    for (int axis = 1; axis < 3; axis++)
        if (l->kernel->grid[axis])
            blocks = value_apply2(l, OP_MUL, DT_U32, blocks, grid_extent(l, axis));
    return value_apply2(l, OP_SUB, DT_U32, blocks, value_int(l, DT_U32, 1));
}

/* A block that waits for others must not be started before them. So the blocks number themselves in
 * the order in which they start: the first thread draws, all threads read. The last draw makes the
 * counter 0 again, for the next launch. */
static void draw_block_index(struct lower *l, const struct value *counter)
{
    int64_t at = scratch_take(l, (int64_t)sizeof(uint32_t));
    struct ptx_operand shared = value_address(l, scratch_address(l, at));
    struct ptx_operand drawn = ptx_reg(&l->b, PTX_U32), linear = ptx_reg(&l->b, PTX_U32);
    const struct value *first =
        value_apply2(l, OP_EQ, DT_BOOL, value_thread_linear(l), value_int(l, DT_I32, 0));
    struct guard one = guard_of(l, first);
    struct ptx_operand last = value_operand(l, last_number(l));
    guard_apply(
        ptx_emit(&l->b, "atom.relaxed.gpu.global.inc.u32", drawn, value_address(l, counter), last),
        one);
    guard_apply(ptx_emit(&l->b, "st.shared.u32", shared, drawn), one);
    barrier_emit(l);
    ptx_emit(&l->b, "ld.shared.u32", linear, shared);
    scratch_done(l);
    const struct value *rest = value_of_register(l, DT_U32, linear);
    for (int axis = 0; axis < 3; axis++) {
        const struct value *extent = grid_extent(l, axis), *index = rest;
        bool more = false;
        for (int outer = axis + 1; outer < 3; outer++)
            more = more || l->kernel->grid[outer];
        if (more) {
            index = value_apply2(l, OP_REM, DT_U32, rest, extent);
            rest = value_apply2(l, OP_DIV, DT_U32, rest, extent);
        }
        const struct value *v = value_apply1(l, OP_CAST, DT_I32, index);
        l->bodies->block[axis] = value_of_register(l, DT_I32, value_copy(l, v));
        value_learn(l, l->bodies->block[axis], 1, 0, INT32_MAX);
    }
}

/* --- ahead of the body --- */

static void make_prologue(struct lower *l, struct ptx_variable *const *variables,
                          const struct value **ticket)
{
    struct uses uses = {.arena = l->arena};
    stmt_walk(l->kernel->body, note_statement, &uses);
    for (size_t i = 0; i < l->out->params.count; i++) {
        const struct lower_param *p = &l->out->params.data[i];
        const struct value *v;
        if (p->sym && !pointer_map_get(&uses.symbols, p->sym))
            continue;
        if (p->kind == LOWER_SCALAR)
            v = value_of_register(l, p->sym->type.dtype,
                                  load_parameter(l, p->sym->type.dtype, variables[i]));
        else
            v = load_address(l, variables[i], alignment_of(l, p));
        if (p->sym)
            pointer_map_put(l->arena, &l->bodies->fixed, p->sym, (void *)(uintptr_t)v);
        else
            *ticket = v;
    }
}

/* Waits for the earlier kernels of the stream, with which the code before may overlap. The next kernel may not begin
 * before the blocks of this one end: its blocks would gather on the multiprocessors that are free first (H200, products
 * with k split: up to 19 % slower). */
static void wait_for_kernels(struct lower *l)
{
    l->out->begins_early = lowered_begins_early(l->kernel, l->target);
    if (l->out->begins_early)
        ptx_emit_plain(&l->b, "griddepcontrol.wait");
}

/* assume() at the top of the body, ahead of everything else, holds everywhere. Where it is checked,
 * it holds after the check. */
static void learn_facts(struct lower *l)
{
    if (l->kernel->has_claims)
        return;
    for (const struct stmt *s = l->kernel->body; s; s = s->next)
        if (s->kind == STMT_EFFECT && s->value->op == OP_ASSUME)
            assume_learn(l, s->value->args[0]);
        else if (s->kind != STMT_DECL && s->kind != STMT_ENSURES)
            return;
}

/* --- the whole --- */

static void start(struct lower *l)
{
    struct kernel *k = l->kernel;
    struct lowered *out = l->out;
    l->threads = kernel_block_threads(k);
    l->warps = divide_up(l->threads, WARP_LANES);
    for (int axis = 0; axis < 3; axis++)
        out->block[axis] = kernel_thread_level(k) && k->threads[axis] > 0 ? k->threads[axis] : 1;
    if (!kernel_thread_level(k))
        out->block[0] = l->threads;
    out->shared_bytes = k->shared_bytes;
    roll_assignments(l->kernel);
    bodies_init(l);
    ptx_build_start(&l->b, l->arena, l->target->ptx);
    nvptx_print_start(&l->bodies->printer, &l->b);
    if (l->options->lines && k->loc.source)
        lower_source(l, k->loc.source);
    l->shared = ptx_dynamic_shared(&l->b, "$smem", SHARED_ALIGNMENT);
    ptx_begin_kernel(&l->b, k->name);
    out->module = l->b.module;
    out->function = l->b.function;
    ptx_limit(&l->b, PTX_REQNTID, 3, (uint32_t)out->block[0], (uint32_t)out->block[1],
              (uint32_t)out->block[2]);
}

/* The number of a multiprocessor has no highest bit, which the assembler does not know. */
static void make_hidden_zero(struct lower *l)
{
    l->has_hidden_zero = plan_multiplies_elements(&l->layouts);
    if (!l->has_hidden_zero)
        return;
    struct ptx_operand here = ptx_reg(&l->b, PTX_U32);
    l->hidden_zero = ptx_reg(&l->b, MOD_B32);
    ptx_emit(&l->b, "mov.u32", here, ptx_special(PTX_SREG_SMID));
    ptx_emit(&l->b, "shr.b32", l->hidden_zero, here, ptx_int(31));
}

static void emit_kernel(struct lower *l)
{
    const struct value *ticket = NULL;
    list_parameters(l);
    struct ptx_variable **variables =
        arena_array(l->arena, struct ptx_variable *, l->out->params.count + 1);
    for (size_t i = 0; i < l->out->params.count; i++)
        variables[i] = declare_parameter(l, &l->out->params.data[i]);
    if (!plan_limits_of_parameters(&l->layouts))
        return;
    values_init(l);
    lower_line(l, l->kernel->loc);
    make_prologue(l, variables, &ticket);
    wait_for_kernels(l);
    learn_facts(l);
    normalise_assignments(l);
    if (!plan_make(&l->layouts) || !plan_limits_of_registers(&l->layouts) ||
        !plan_limits_of_code(&l->layouts))
        return;
    memory_init(l);
    make_hidden_zero(l);
    if (ticket)
        draw_block_index(l, ticket);
    body_emit(l, l->kernel->body);
    lower_line(l, l->kernel->loc);
    ptx_emit_plain(&l->b, "ret");
}

static void drop_unused_shared(struct lower *l)
{
    struct ptx_module *m = l->out->module;
    size_t kept = 0;
    for (size_t i = 0; i < m->items.count; i++)
        if (l->out->shared_bytes > 0 || m->items.data[i].kind != PTX_ITEM_VARIABLE ||
            m->items.data[i].variable != l->shared)
            m->items.data[kept++] = m->items.data[i];
    m->items.count = kept;
}

static void check_module(const struct lower *l)
{
#if !defined(NDEBUG) && !defined(LOWER_UNCHECKED)
    struct diag found;
    diag_init(&found, l->arena);
    bool good = ptx_verify(l->out->module, &found);
    assert(good && "the compiler made PTX that is wrong");
    (void)good;
#endif
    (void)l;
}

bool lower_kernel(struct arena *a, struct kernel *k, const struct lower_options *options,
                  struct diag *diag, struct lowered *out)
{
    *out = (struct lowered){0};
    struct lower l = {.arena = a,
                      .kernel = k,
                      .options = options,
                      .target = options->target,
                      .diag = diag,
                      .out = out};
    struct plan_context plan = {
        .kernel = k, .target = options->target, .diag = diag, .alignment = options->alignment};
    if (!plan_run(&plan, NULL))
        return false;
    start(&l);
    if (plan_limits_of_kernel(&l.layouts))
        emit_kernel(&l);
    if (l.failed || !plan_limits_of_shared(&l.layouts))
        return false;
    note_held(&l);
    ptx_end(&l.b);
    drop_unused_shared(&l);
    out->registers = ptx_estimate_registers(a, out->function);
    plan_ask_for_registers(&l.layouts);
    check_module(&l);
    return true;
}
