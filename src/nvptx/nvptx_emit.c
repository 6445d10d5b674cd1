/* Functions, regions and operands. */
#include "nvptx/nvptx_own.h"
#include "target/targets.h"

enum { MAP_BYTES = 128, MAP_ALIGNMENT = 64, MEMORY_ALIGNMENT = 1024 };

/* A loop around the operation that is emitted. */
struct nvptx_loop {
    const struct thread_operation *operation;
    struct ptx_label *again, *end;
    size_t
        test; /* operations of the test at the start of an iteration, repeated at its end; 0: none */
    struct nvptx_loop *outer;
};

static void region_from(struct nvptx *n, const struct thread_region *r, size_t from, size_t to);

static void region(struct nvptx *n, const struct thread_region *r)
{
    region_from(n, r, 0, r->operations.count);
}

/* --- operands --- */

static bool has_registers_of(struct nvptx *n, const struct thread_operand *o,
                             const struct thread_value *v)
{
    return o->kind == THREAD_VALUE && nvptx_registers_of(n, o->value) == nvptx_registers_of(n, v);
}

/* Returns whether a move before that of value i writes the registers of value i. */
static bool is_overwritten(struct nvptx *n, const struct thread_operand *from,
                           struct thread_value *const *to, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (has_registers_of(n, &from[i], to[j]) && !has_registers_of(n, &from[j], to[j]))
            return true;
    return false;
}

static struct ptx_operand *copy_words(struct nvptx *n, const struct thread_value *v)
{
    const struct nvptx_registers *r = nvptx_registers_of(n, v);
    struct ptx_operand *copy = arena_array(n->arena, struct ptx_operand, r->words);
    for (uint16_t w = 0; w < r->words; w++) {
        copy[w] = ptx_reg(&n->build, nvptx_register_type(v->type));
        nvptx_set(n, nvptx_register_type(v->type), copy[w], r->word[w]);
    }
    return copy;
}

static void refuse_move(struct nvptx *n, struct loc where)
{
    if (!n->failed)
        diag_error(
            n->diag, where,
            "the registers of this group in flight would have to be moved: wait for it first");
    n->failed = true;
}

/* Passes values to others, all at once: a value that is overwritten before it is read goes through new
 * registers. */
static void pass(struct nvptx *n, const struct thread_operand *from, struct thread_value *const *to,
                 size_t count)
{
    struct ptx_operand **copies = arena_array(n->arena, struct ptx_operand *, count + 1);
    for (size_t i = 0; i < count; i++)
        if (!nvptx_passes_places(n, to[i]) && is_overwritten(n, from, to, i))
            copies[i] = copy_words(n, from[i].value);
    for (size_t i = 0; i < count; i++) {
        const struct nvptx_registers *r = nvptx_registers_of(n, to[i]);
        const struct thread_type t = to[i]->type;
        if (nvptx_passes_places(n, to[i]) || has_registers_of(n, &from[i], to[i]))
            continue;
        if (to[i]->type.in_flight)
            refuse_move(n, thread_place_of(&from[i], n->where));
        for (uint16_t w = 0; w < r->words; w++) {
            const struct ptx_operand x = copies[i]      ? copies[i][w]
                                         : t.count == 1 ? nvptx_scalar(n, &from[i], t.dtype)
                                                        : nvptx_word(n, &from[i], t.dtype, w);
            nvptx_give(n, nvptx_register_type(t), r->word[w], x, from[i].kind != THREAD_VALUE);
        }
    }
}

/* Passes the values for the next iteration. */
static void pass_on(struct nvptx *n, const struct thread_operation *again)
{
    const struct thread_operation *loop = n->loop->operation;
    pass(n, again->operands.data, loop->regions.data[0]->arguments.data, again->operands.count);
    nvptx_step_places(n, loop);
}

/* --- control --- */

/* Emits arm `last` under a predicate, after the other arm, which gave its values to the results' registers. */
static void emit_guarded_arms(struct nvptx *n, const struct thread_operation *op, int last,
                              struct ptx_operand condition)
{
    const struct thread_operation *outer = n->branch;
    const struct ptx_operand guard = n->guard;
    n->branch = op;
    if (!nvptx_only_yield(op->regions.data[!last]))
        n->guard = last ? condition : ptx_not(condition);
    region(n, op->regions.data[!last]);
    n->guard = last ? ptx_not(condition) : condition;
    region(n, op->regions.data[last]);
    n->guard = guard;
    n->branch = outer;
}

/* Returns whether an arm needs instructions. It needs none if it only yields values that are in the results' registers. */
static bool has_arm(struct nvptx *n, const struct thread_operation *op, size_t arm)
{
    if (op->regions.count <= arm)
        return false;
    const struct thread_region *r = op->regions.data[arm];
    if (r->operations.count == 0)
        return false;
    const struct thread_operation *only = nvptx_only_yield(r);
    bool any = !only;
    for (size_t i = 0; !any && i < only->operands.count; i++)
        any = !has_registers_of(n, &only->operands.data[i], op->results.data[i]);
    return any;
}

/* Emits arms, each of which is skipped by a jump. */
static void emit_arms(struct nvptx *n, const struct thread_operation *op,
                      struct ptx_operand condition)
{
    const bool first = has_arm(n, op, 0), second = has_arm(n, op, 1);
    struct ptx_label *end = ptx_new_label(&n->build, "end");
    if (first && second) {
        struct ptx_label *other = ptx_new_label(&n->build, "else");
        ptx_when(ptx_branch(&n->build, other), ptx_not(condition));
        region(n, op->regions.data[0]);
        ptx_branch(&n->build, end);
        ptx_place(&n->build, other);
        region(n, op->regions.data[1]);
    } else if (first || second) {
        ptx_when(ptx_branch(&n->build, end), first ? ptx_not(condition) : condition);
        region(n, op->regions.data[second]);
    }
    ptx_place(&n->build, end);
}

static void emit_if(struct nvptx *n, const struct thread_operation *op)
{
    struct ptx_operand condition = nvptx_scalar(n, &op->operands.data[0], DT_BOOL);
    const int last = nvptx_last_arm(n->function, op);
    if (last >= 0) {
        emit_guarded_arms(n, op, last, condition);
        return;
    }
    if (nvptx_can_guard(n, op)) {
        n->guard = condition;
        region(n, op->regions.data[0]);
        n->guard.kind = PTX_NOTHING;
        return;
    }
    const struct thread_operation *outer = n->branch;
    n->branch = op;
    emit_arms(n, op, condition);
    n->branch = outer;
}

/* Returns whether an operation that leaves the loop has to move values. */
static bool moves_results(struct nvptx *n, const struct thread_operation *op,
                          const struct thread_operation *loop)
{
    for (size_t i = 1; i < op->operands.count; i++)
        if (!has_registers_of(n, &op->operands.data[i], loop->results.data[i - 1]))
            return true;
    return false;
}

/* Returns the operations of a short test with which each iteration begins: it is emitted before the loop and at the end of an
 * iteration, so that an iteration has one jump. */
static size_t find_test(struct nvptx *n, const struct thread_operation *loop)
{
    enum { MOST = 4 };
    const struct thread_region *r = loop->regions.data[0];
    if (!thread_only_continue(loop))
        return 0;
    for (size_t i = 0; i < MOST && i + 1 < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        if (op->op == THREAD_BREAK_IF)
            return moves_results(n, op, loop) ? 0 : i + 1;
        if (thread_op_table[op->op].effects != THREAD_PURE || nvptx_is_long(op->op) ||
            nvptx_is_place(n, op)) /* whose address may need one that an iteration begins with */
            return 0;
    }
    return 0;
}

static void emit_loop(struct nvptx *n, const struct thread_operation *op)
{
    const struct thread_region *r = op->regions.data[0];
    struct nvptx_loop loop = {.operation = op, .outer = n->loop};
    loop.again = ptx_new_label(&n->build, "loop");
    loop.end = ptx_new_label(&n->build, "end");
    nvptx_enter_places(n, op);
    pass(n, op->operands.data, r->arguments.data, r->arguments.count);
    n->loop = &loop;
    loop.test = find_test(n, op);
    region_from(n, r, 0, loop.test);
    ptx_place(&n->build, loop.again);
    nvptx_reach(n, r->arguments.data, r->arguments.count);
    region_from(n, r, loop.test, r->operations.count);
    ptx_place(&n->build, loop.end);
    n->loop = loop.outer;
}

static void set_registers(struct nvptx *n, uint32_t registers)
{
    if (registers > thread_launch_registers(n->function))
        ptx_emit(&n->build, "setmaxnreg.inc.sync.aligned.u32", ptx_int(registers));
    else if (registers)
        ptx_emit(&n->build, "setmaxnreg.dec.sync.aligned.u32", ptx_int(registers));
}

static void emit_roles(struct nvptx *n, const struct thread_operation *op)
{
    struct ptx_operand warp = ptx_reg(&n->build, MOD_U32);
    struct ptx_label *end = ptx_new_label(&n->build, "end");
    nvptx_warp(n, warp);
    for (size_t i = 0; i < op->regions.count; i++) {
        const struct thread_region *r = op->regions.data[i];
        struct ptx_label *next = ptx_new_label(&n->build, "role");
        struct ptx_operand from_first = ptx_reg(&n->build, MOD_U32),
                           other = ptx_reg(&n->build, MOD_PRED);
        ptx_emit(&n->build, "sub.u32", from_first, warp, ptx_int(r->first_warp));
        ptx_emit(&n->build, "setp.ge.u32", other, from_first, ptx_int(r->warps));
        ptx_when(ptx_branch(&n->build, next), other);
        set_registers(n, r->registers);
        region(n, r);
        ptx_branch(&n->build, end);
        ptx_place(&n->build, next);
    }
    ptx_place(&n->build, end);
}

/* Leaves the loop if the predicate holds. */
static void emit_break_if(struct nvptx *n, const struct thread_operation *op)
{
    struct thread_value *const *to = n->loop->operation->results.data;
    struct ptx_operand condition = nvptx_scalar(n, &op->operands.data[0], DT_BOOL);
    if (!moves_results(n, op, n->loop->operation)) {
        ptx_when(ptx_branch(&n->build, n->loop->end), condition);
        return;
    }
    struct ptx_label *stays = ptx_new_label(&n->build, "stays");
    ptx_when(ptx_branch(&n->build, stays), ptx_not(condition));
    pass(n, op->operands.data + 1, to, op->operands.count - 1);
    ptx_branch(&n->build, n->loop->end);
    ptx_place(&n->build, stays);
}

/* Returns whether the values of `continue` may be passed before the test that precedes it, because that overwrites no register
 * that the test reads. */
static bool passes_first(struct nvptx *n, const struct thread_operation *test,
                         const struct thread_operation *again)
{
    const struct thread_region *r = n->loop->operation->regions.data[0];
    for (size_t i = 0; i < again->operands.count; i++)
        for (size_t j = 0; j < test->operands.count; j++)
            if (has_registers_of(n, &test->operands.data[j], r->arguments.data[i]) &&
                !has_registers_of(n, &again->operands.data[i], r->arguments.data[i]))
                return false;
    return true;
}

/* Emits the end of an iteration with the loop's test: one conditional jump back. */
static void end_with_test(struct nvptx *n, const struct thread_operation *test,
                          const struct thread_operation *again)
{
    const struct thread_operation *loop = n->loop->operation;
    pass_on(n, again);
    nvptx_goes_back(n, loop);
    const struct ptx_operand ends = nvptx_scalar(n, &test->operands.data[0], DT_BOOL);
    ptx_when(ptx_branch(&n->build, n->loop->again), ptx_not(ends));
    pass(n, test->operands.data + 1, loop->results.data, test->operands.count - 1);
}

/* Emits the test at the end of an iteration, or goes to the next one, which begins with it. */
static void end_iteration(struct nvptx *n)
{
    const struct nvptx_loop *loop = n->loop;
    const struct thread_region *r = loop->operation->regions.data[0];
    if (loop->test == 0) {
        nvptx_goes_back(n, loop->operation);
        ptx_branch(&n->build, loop->again);
        return;
    }
    region_from(n, r, 0, loop->test - 1);
    const struct thread_operand *leaves = &r->operations.data[loop->test - 1]->operands.data[0];
    nvptx_goes_back(n, loop->operation);
    const struct ptx_operand ends = nvptx_scalar(n, leaves, DT_BOOL);
    ptx_when(ptx_branch(&n->build, loop->again), ptx_not(ends));
}

static const struct thread_operation *last_of(const struct thread_region *r)
{
    return r->operations.count ? r->operations.data[r->operations.count - 1] : NULL;
}

static void control(struct nvptx *n, const struct thread_operation *op)
{
    switch (op->op) {
    case THREAD_IF: emit_if(n, op); break;
    case THREAD_LOOP: emit_loop(n, op); break;
    case THREAD_ROLES: emit_roles(n, op); break;
    case THREAD_BREAK_IF: emit_break_if(n, op); break;
    case THREAD_BREAK:
        pass(n, op->operands.data, n->loop->operation->results.data, op->operands.count);
        if (op != last_of(n->loop->operation->regions.data[0])) /* the end follows */
            ptx_branch(&n->build, n->loop->end);
        break;
    case THREAD_CONTINUE:
        pass_on(n, op);
        end_iteration(n);
        break;
    case THREAD_YIELD:
        pass(n, op->operands.data, n->branch->results.data, op->operands.count);
        break;
    default: nvptx_guarded(n, ptx_emit_plain(&n->build, "ret")); break;
    }
}

/* --- regions --- */

static bool sets_registers(const struct thread_operation *op)
{
    for (size_t i = 0; i < op->regions.count; i++)
        if (op->regions.data[i]->registers)
            return true;
    return false;
}

/* Returns whether the operation computes with elements, and does not just move them. */
static bool computes(enum thread_opcode op)
{
    return (op >= THREAD_ADD && op <= THREAD_CONVERT && op != THREAD_SELECT) ||
           (op >= THREAD_REDUCE_MAX && op <= THREAD_REDUCE_ADD);
}

/* Returns whether the target computes with the type. */
static bool has_type(struct ptx_target t, enum dtype type)
{
    if (type == DT_NONE)
        return true;
    if (dtype_is_byte_float(type))
        return target_number_has(t.number, TARGET_BYTE_FLOATS);
    return t.number >= 80 || !(dtype_is_half(type) || type == DT_TF32);
}

/* Returns whether the target has the operation's instructions: PTX ISA, "Target ISA Notes". */
static bool on_target(struct ptx_target t, const struct thread_operation *op)
{
    switch (op->op) {
    case THREAD_PRODUCT_FENCE:
    case THREAD_PRODUCT:
    case THREAD_PRODUCT_FROM:
    case THREAD_PRODUCT_BEGIN:
    case THREAD_PRODUCT_COMMIT:
    case THREAD_PRODUCT_WAIT:
    case THREAD_PRODUCT_WAIT_READ: return t.number == 90 && t.suffix == 'a';
    case THREAD_ROLES: return !sets_registers(op) || (t.number >= 90 && t.suffix);
    case THREAD_WARP_ADD:
    case THREAD_WARP_MIN:
    case THREAD_WARP_MAX:
    case THREAD_WARP_AND:
    case THREAD_WARP_OR:
    case THREAD_CACHE_POLICY:
    case THREAD_COPY_ASYNC:
    case THREAD_COPY_ASYNC_COMMIT:
    case THREAD_COPY_ASYNC_WAIT:
    case THREAD_MMA:
    case THREAD_MBARRIER_INIT:
    case THREAD_MBARRIER_ARRIVE: return t.number >= 80;
    case THREAD_LOAD_MATRIX: return t.number >= 75;
    case THREAD_GRID_WAIT:
    case THREAD_GRID_LAUNCH:
    case THREAD_FENCE_MBARRIER_INIT:
    case THREAD_MBARRIER_EXPECT:
    case THREAD_MBARRIER_WAIT:
    case THREAD_MBARRIER_ACQUIRE:
    case THREAD_FENCE_ASYNC:
    case THREAD_FENCE_ASYNC_GLOBAL:
    case THREAD_PREFETCH_MAP:
    case THREAD_CLUSTERID_X:
    case THREAD_CLUSTERID_Y:
    case THREAD_CLUSTERID_Z:
    case THREAD_CLUSTER_RANK:
    case THREAD_CLUSTER_SYNC:
    case THREAD_PEER:
    case THREAD_LOAD_PEER:
    case THREAD_STORE_PEER:
    case THREAD_MBARRIER_ARRIVE_PEER:
    case THREAD_MBARRIER_RELEASE_PEER:
    case THREAD_COPY_IN:
    case THREAD_COPY_IN_MULTICAST:
    case THREAD_COPY_OUT:
    case THREAD_COPY_OUT_COMMIT:
    case THREAD_COPY_OUT_WAIT_READ:
    case THREAD_COPY_OUT_WAIT:
    case THREAD_STORE_MATRIX: return t.number >= 90;
    default:
        for (int i = 0; i < thread_op_table[op->op].types && computes(op->op); i++)
            if (!has_type(t, op->types[i]))
                return false;
        return true;
    }
}

static struct nvptx_file *file_of(struct nvptx *n, const struct source *source)
{
    for (size_t i = 0; i < n->files.count; i++)
        if (n->files.data[i].source == source)
            return &n->files.data[i];
    struct nvptx_file file = {.source = source, .number = ptx_source_file(&n->build, source->name)};
    vec_push(n->arena, &n->files, file);
    return &n->files.data[n->files.count - 1];
}

/* The instructions to come belong to this place of the program (.loc). */
static void line(struct nvptx *n, struct loc where)
{
    int number, column;
    if (!n->function->lines || !where.source ||
        (where.source == n->line.source && where.offset == n->line.offset))
        return;
    n->line = where;
    struct nvptx_file *file = file_of(n, where.source);
    loc_line_starts_find(n->arena, &file->starts, where, &number, &column);
    ptx_source_line(&n->build, file->number, (uint32_t)number, (uint32_t)column);
}

/* Returns whether the loop ends with operation i, a test, and `continue`. */
static bool ends_loop(struct nvptx *n, const struct thread_region *r, size_t i)
{
    return r == n->loop->operation->regions.data[0] && i + 2 == r->operations.count &&
           r->operations.data[i + 1]->op == THREAD_CONTINUE && n->loop->test == 0 &&
           passes_first(n, r->operations.data[i], r->operations.data[i + 1]);
}

static void region_from(struct nvptx *n, const struct thread_region *r, size_t from, size_t to)
{
    for (size_t i = from; i < to && !n->failed; i++) {
        const struct thread_operation *op = r->operations.data[i];
        if (!on_target(n->function->target, op)) {
            nvptx_fail(n, op);
            return;
        }
        nvptx_enter(n, op->turn);
        n->where = op->where;
        line(n, op->where);
        if (op->op == THREAD_BREAK_IF && ends_loop(n, r, i)) {
            end_with_test(n, op, r->operations.data[i + 1]);
            return;
        }
        if (thread_op_table[op->op].effects == THREAD_CONTROL)
            control(n, op);
        else if (!nvptx_is_place(n, op))
            nvptx_act(n, op);
        nvptx_reach(n, op->results.data, op->results.count);
    }
}

/* --- the function --- */

static void map_parameter(struct nvptx *n, const struct thread_value *v, struct ptx_operand r)
{
    if (n->function->target.number < 90) {
        diag_error(n->diag, v->where, "sm_%d has no tensor maps", n->function->target.number);
        n->failed = true;
        return;
    }
    struct ptx_variable *map = ptx_parameter_bytes(&n->build, v->name, MAP_BYTES, MAP_ALIGNMENT);
    ptx_emit(&n->build, "mov.b64", r, ptx_address_of(map, 0));
    ptx_emit(&n->build, "cvta.param.u64", r, r);
}

static void find_used(const struct thread_region *r, bool *used)
{
    for (size_t i = 0; i < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        for (size_t j = 0; j < op->operands.count; j++)
            if (op->operands.data[j].value)
                used[op->operands.data[j].value->number] = true;
        for (size_t j = 0; j < op->regions.count; j++)
            find_used(op->regions.data[j], used);
    }
}

/* A predicate is a byte. Parameters that nothing uses are not loaded. */
static void parameter(struct nvptx *n, const struct thread_value *v, bool used)
{
    const struct ptx_operand r = nvptx_registers_of(n, v)->word[0];
    const bool is_bool = v->type.dtype == DT_BOOL;
    if (v->type.dtype == DT_NONE) {
        map_parameter(n, v, r);
        return;
    }
    const struct thread_type t = {.dtype = is_bool ? DT_U8 : v->type.dtype, .count = 1};
    const uint16_t type = (uint16_t)nvptx_moved_type(t);
    struct ptx_variable *p = ptx_parameter(&n->build, nvptx_moved_type(t), v->name);
    if (!used)
        return;
    const struct ptx_operand to = is_bool ? ptx_reg(&n->build, MOD_B32) : r;
    ptx_emit_for(&n->build, &type, "ld.param.*", to, ptx_at_variable(p, 0));
    if (is_bool)
        ptx_emit(&n->build, "setp.ne.b32", r, to, ptx_int(0));
}

static void find_defined(const struct thread_region *r, bool *defined)
{
    for (size_t i = 0; i < r->arguments.count; i++)
        defined[r->arguments.data[i]->number] = true;
    for (size_t i = 0; i < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        for (size_t j = 0; j < op->results.count; j++)
            defined[op->results.data[j]->number] = true;
        for (size_t j = 0; j < op->regions.count; j++)
            find_defined(op->regions.data[j], defined);
    }
}

/* Names the registers of the program's variables whose values are all there still. */
static void name_holders(struct nvptx *n, const struct thread_function *f)
{
    bool *defined = arena_array(n->arena, bool, f->values + 1);
    find_defined(f->body, defined);
    for (size_t i = 0; i < f->holders.count; i++) {
        struct thread_holder *h = f->holders.data[i];
        bool all = true;
        for (size_t j = 0; j < h->values.count; j++)
            all &= defined[h->values.data[j]->number];
        for (size_t j = 0; all && j < h->values.count; j++) {
            const struct nvptx_registers *r = nvptx_registers_of(n, h->values.data[j]);
            for (uint16_t w = 0; w < r->words; w++)
                vec_push(n->arena, &h->registers,
                         ptx_register_name(n->arena, n->build.function, r->word[w].reg));
        }
    }
}

uint32_t nvptx_shared_bytes(const struct thread_function *f)
{
    uint32_t bytes = 0;
    for (size_t i = 0; i < f->objects.count; i++) {
        const struct thread_object *o = f->objects.data[i];
        uint32_t end = (uint32_t)thread_object_end(o);
        bytes = end > bytes ? end : bytes;
    }
    return bytes;
}

struct ptx_module *nvptx_emit(struct arena *a, const struct thread_function *f, struct diag *d)
{
    struct nvptx n = {.arena = a, .diag = d, .function = f};
    n.registers = arena_array(a, struct nvptx_registers, f->values + 1);
    n.shares = arena_room(a, (f->values + 1) * sizeof *n.shares);
    n.same = arena_array(a, const struct thread_operation *, f->values + 1);
    n.scalars.build = &n.build;
    nvptx_find_same(&n);
    nvptx_share(&n);
    ptx_build_start(&n.build, a, f->target);
    nvptx_print_start(&n.printer, &n.build);
    ptx_begin_kernel(&n.build, f->name);
    if (f->shape[0])
        ptx_limit(&n.build, PTX_REQNTID, 3, f->shape[0], f->shape[1], f->shape[2]);
    else
        ptx_limit(&n.build, PTX_MAXNTID, 1, f->threads, 1, 1);
    if (f->blocks)
        ptx_limit(&n.build, PTX_MINNCTAPERSM, 1, f->blocks, 0, 0);
    if (f->cluster[0])
        ptx_limit(&n.build, PTX_REQNCTAPERCLUSTER, 3, f->cluster[0], f->cluster[1], f->cluster[2]);
    struct ptx_variable *memory = NULL;
    if (f->objects.count)
        memory = ptx_dynamic_shared(&n.build, "$smem", MEMORY_ALIGNMENT);
    line(&n, f->where);
    nvptx_find_places(&n);
    n.used = arena_array(a, bool, f->values + 1);
    find_used(f->body, n.used);
    for (size_t i = 0; i < f->parameters.count; i++)
        parameter(&n, f->parameters.data[i], n.used[f->parameters.data[i]->number]);
    if (memory) {
        n.memory = ptx_reg(&n.build, MOD_U32);
        ptx_emit(&n.build, "mov.u32", n.memory, ptx_address_of(memory, 0));
    }
    nvptx_reach(&n, f->parameters.data, f->parameters.count);
    region(&n, f->body);
    nvptx_enter(&n, &thread_outside);
    ptx_emit_plain(&n.build, "ret");
    name_holders(&n, f);
    ptx_end(&n.build);
    return n.failed ? NULL : n.build.module;
}
