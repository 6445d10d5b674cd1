#include "emit/emit.h"

#include "emit/emit_fragment.h"
#include "nvptx/nvptx.h"
#include "plan/plan.h"
#include "plan/plan_limits.h"
#include "tile/own_arrays.h"

#include <string.h>

/* --- shared memory --- */

static bool shared_fits(struct emit *m)
{
    const struct target *t = m->options->target;
    m->out->shared_bytes = m->shared_bytes;
    if (!m->roles)
        return plan_limits_of_shared(m->layouts);
    if (m->shared_bytes <= t->shared_bytes)
        return true;
    m->out->excess = LOWERED_MANY_BYTES;
    emit_error(m, m->kernel->loc, "`%s` takes %lld bytes of shared memory a block; %s has %d",
               m->kernel->name, (long long)m->shared_bytes, t->name, t->shared_bytes);
    if (m->shared_bytes > m->kernel->shared_bytes)
        diag_note(
            m->diag, m->kernel->loc,
            "%lld bytes are for threads to exchange elements of register tiles: do it by parts, "
            "or take smaller tiles",
            (long long)(m->shared_bytes - m->kernel->shared_bytes));
    return false;
}

/* --- roles --- */

/* Makes the layouts of a role's tiles. */
static struct layouts *layouts_of_role(struct emit *m, int warps)
{
    struct layouts *l = arena_new(m->arena, struct layouts);
    *l = (struct layouts){.arena = m->arena,
                          .kernel = m->kernel,
                          .target = m->options->target,
                          .diag = m->diag,
                          .out = m->out,
                          .warps = warps,
                          .threads = warps * WARP_LANES,
                          .facts = m->facts};
    plan_make_role(l, m->layouts);
    return l;
}

/* Finds where the thread is in a role. */
static void enter_place(struct emit *m, int first, int warps, int replicas)
{
    struct scalar warp = emit_by(m, THREAD_SUB, emit_place(m, THREAD_WARP), first);
    m->place = (struct position){.first = first, .warps = warps, .replicas = replicas};
    m->place.lane = emit_place(m, THREAD_LANE);
    m->place.replica = emit_constant(DT_U32, 0);
    m->place.warp = warp;
    if (replicas > 1) {
        m->place.replica = emit_by(m, THREAD_DIV, warp, warps);
        m->place.warp = emit_by(m, THREAD_REM, warp, warps);
    }
    m->place.group = emit_by(m, THREAD_SHR, m->place.warp, 2);
    if (warps <= EMIT_WARPGROUP || warps % EMIT_WARPGROUP != 0)
        m->place.group = emit_constant(DT_U32, 0);
    struct scalar thread =
        emit_op2(m, THREAD_OR, DT_U32, emit_by(m, THREAD_SHL, m->place.warp, 5), m->place.lane);
    m->place.number = thread;
    m->place.elected =
        THREAD_ADD_OP(&m->b, THREAD_EQ, DT_U32, DT_NONE, thread.o, thread_integer(0));
    m->layouts = layouts_of_role(m, warps);
    m->begun = 1;
    emit_open_room(m);
}

/* Finds where the thread is in the block of a kernel with roles. */
static void enter_block(struct emit *m)
{
    m->fragments = true;
    enter_place(m, 0, m->kernel->warps, 1);
    plan_note_shared(m->layouts);
}

static void emit_role(struct emit *m, const struct stmt *s, struct thread_operation *roles)
{
    enum { BARRIERS = 16 };
    const struct role *role = s->role;
    const struct position outer_place = m->place;
    const struct room outer_room = m->room;
    struct layouts *outer_layouts = m->layouts;
    struct thread_region *outer = m->b.region, *r = arena_new(m->arena, struct thread_region);
    r->first_warp = (uint32_t)role->first;
    r->warps = (uint32_t)(role->warps * role->replicas);
    r->registers = (uint32_t)role->registers;
    vec_push(m->arena, &roles->regions, r);
    m->b.region = r;
    m->b.where = s->loc;
    enter_place(m, role->first, role->warps, role->replicas);
    m->place.role = role->first;
    m->place.barrier = role->warps == 1 ? EMIT_OF_WARP : m->barriers;
    m->barriers += role->warps == 1 ? 0 : role->replicas;
    if (m->barriers > BARRIERS) {
        emit_error(m, s->loc,
                   "the roles of several warps, with their replicas, are more than the %d barriers "
                   "of a block",
                   BARRIERS - 1);
        diag_note(m->diag, s->loc, "let fewer replicas have more warps each, or one warp each");
    }
    if (role->replica) {
        struct variable *v = emit_declare(m, role->replica, 1);
        v->slots[0] =
            (struct slot){emit_as(m, m->place.replica, DT_I32).o, {.dtype = DT_I32, .count = 1}};
    }
    emit_phases(m, s->body);
    m->ended = false;
    emit_list(m, s->body);
    m->ended = false;
    emit_close_room(m);
    m->b.region = outer;
    m->place = outer_place;
    m->room = outer_room;
    m->layouts = outer_layouts;
}

static void emit_roles(struct emit *m, const struct stmt *first)
{
    m->b.where = first->loc;
    struct thread_operation *roles = thread_add_control(&m->b, THREAD_ROLES);
    for (const struct stmt *s = first; s && !m->failed; s = s->next)
        if (s->kind == STMT_ROLE)
            emit_role(m, s, roles);
}

/* --- the kernel --- */

static bool check_target(struct emit *m)
{
    const struct target *t = m->options->target;
    if ((t->ptx.number == 90 && t->ptx.suffix == 'a') || !m->roles)
        return true;
    bool named = m->kernel->target && strcmp(m->kernel->target, "sm_90a") == 0;
    emit_error(
        m, m->kernel->loc,
        "`%s` has roles, clusters, mbarriers or tensor copies, which are for sm_90a%s; this is %s",
        m->kernel->name, named ? "" : " and need `target(sm_90a)` in the kernel's head", t->name);
    if (named)
        diag_note(m->diag, m->kernel->loc,
                  "take a GPU of compute capability 9.0, or `--device sim`");
    return false;
}

static void add_plain(struct emit *m, enum thread_opcode op)
{
    thread_add_counted(&m->b, op, DT_NONE, DT_NONE, 0, NULL, 0);
}

/* Initialises mbarriers; the block waits for that. *once: the region in which one thread does it; without mbarriers it stays
 * NULL. */
static void prologue(struct emit *m, struct thread_region **once)
{
    bool any = false;
    for (const struct sym *s = m->kernel->symbols; s; s = s->next)
        any |= s->storage == ST_MBARRIER;
    if (!any)
        return;
    struct thread_region *outer = emit_open_if(m, emit_elected(m));
    emit_init_mbarriers(m);
    add_plain(m, THREAD_FENCE_MBARRIER_INIT);
    *once = m->b.region;
    m->b.region = outer;
    emit_sync(m);
}

static void note_impure(void *user, struct expr **at)
{
    bool *impure = user;
    *impure |= !(op_table[(*at)->op].flags & OP_PURE);
}

/* True if the statement reads and writes no memory: a declaration, an assumption, the barrier of a cluster. */
static bool only_prepares(struct stmt *s)
{
    bool impure = s->kind != STMT_DECL;
    expr_walk(&s->value, note_impure, &impure);
    return !impure || (s->kind == STMT_EFFECT &&
                       (s->value->op == OP_CLUSTER_SYNC || s->value->op == OP_ASSUME));
}

/* Waits for the earlier kernels of the stream; the code before the wait may overlap with them. A kernel with roles then lets
 * the next kernel begin. Its blocks fill one multiprocessor each, so a block of the next kernel begins wherever one of its own
 * has ended. Other kernels do not: the blocks of the next kernel would gather on the multiprocessors that are free first (H200,
 * products with k split: up to 19 % slower). */
static void wait_for_kernels(struct emit *m)
{
    m->out->begins_early = lowered_begins_early(m->kernel, m->options->target);
    if (m->out->begins_early)
        add_plain(m, THREAD_GRID_WAIT);
    if (m->out->begins_early && m->roles)
        add_plain(m, THREAD_GRID_LAUNCH);
}

/* Emits the prefetches of the tensor maps. It runs after the body, because emitting the body finds the maps. */
static void prefetch_maps(struct emit *m, struct thread_region *once)
{
    if (!once)
        return;
    m->b.region = once;
    m->b.where = m->kernel->loc;
    for (size_t i = 0; i < m->map_list.count; i++)
        THREAD_ADD_OP(&m->b, THREAD_PREFETCH_MAP, DT_NONE, DT_NONE,
                      thread_use(m->map_list.data[i].value));
}

static void emit_body(struct emit *m)
{
    const struct kernel *k = m->kernel;
    m->b.where = k->loc;
    if (m->roles)
        enter_block(m);
    else
        m->by_threads->enter(m);
    m->place.role = -1;
    m->barriers = 1;
    struct thread_region *once = NULL, *body = m->b.region;
    prologue(m, &once);
    emit_phases(m, k->body);
    bool waits = false;
    for (struct stmt *s = k->body; s && !m->failed && !m->ended; s = s->next) {
        if (!waits && !only_prepares(s)) {
            m->b.where = k->loc;
            wait_for_kernels(m);
            waits = true;
        }
        if (s->kind != STMT_ROLE) {
            emit_statement(m, s);
            continue;
        }
        emit_roles(m, s);
        for (; s->next && s->next->kind == STMT_ROLE;) /* sync_cluster_sync() may come after them */
            s = s->next;
    }
    prefetch_maps(m, once);
    m->b.region = body;
    if (m->roles)
        emit_close_room(m);
    else
        m->shared_bytes = m->room.bytes;
    emit_mark_overlays(m);
}

/* Plans the layouts of a kernel without roles, and checks what it needs of the target. facts: as long as the kernel stays the
 * same */
static bool make_plan(struct emit *m, struct tile_facts *facts)
{
    struct layouts *l = arena_new(m->arena, struct layouts);
    const int threads = kernel_block_threads(m->kernel);
    *l = (struct layouts){.arena = m->arena,
                          .kernel = m->kernel,
                          .target = m->options->target,
                          .diag = m->diag,
                          .out = m->out,
                          .warps = divide_up(threads, WARP_LANES),
                          .threads = threads};
    l->facts = roll_assignments(m->kernel) ? NULL : facts;
    m->layouts = l;
    m->own_arrays = own_arrays_find(m->arena, m->kernel);
    m->out->shared_bytes = m->kernel->shared_bytes;
    plan_room_start(&m->room, m->arena, m->kernel, m->options->target->shared_bytes,
                    EMIT_SCRATCH_ALIGNMENT);
    if (!plan_limits_of_kernel(l) || !plan_make(l))
        return false;
    m->facts = l->facts;
    return plan_limits_of_registers(l) && plan_limits_of_code(l);
}

static struct thread_function *make_function(struct emit *m)
{
    const struct kernel *k = m->kernel;
    struct plan_context plan = {.kernel = m->kernel,
                                .target = m->options->target,
                                .diag = m->diag,
                                .alignment = m->options->alignment};
    struct thread_function *f;
    thread_build_start(&m->b, m->arena, k->name, m->options->target->ptx);
    f = m->b.function;
    f->where = k->loc;
    f->lines = m->options->lines;
    f->threads = (uint32_t)kernel_block_threads(k);
    f->blocks = k->resident > 0 ? (uint32_t)k->resident : m->roles;
    for (int i = 0; i < 3; i++) {
        f->cluster[i] = (uint32_t)k->cluster[i];
        f->shape[i] = m->roles ? 0 : (uint32_t)k->threads[i];
    }
    if (!m->roles && !f->shape[0]) { /* tile-level: the threads along x */
        f->shape[0] = f->threads;
        f->shape[1] = f->shape[2] = 1;
    }
    m->shared_bytes = k->shared_bytes;
    if (m->roles && (!check_target(m) || !shared_fits(m)))
        return NULL;
    if (!plan_run(&plan, NULL) || (!m->roles && !make_plan(m, plan.facts)))
        return NULL;
    if (m->roles)
        m->facts = plan.facts;
    emit_list_parameters(m);
    emit_list_objects(m);
    emit_note_order(m);
    m->copies_stores = kernel_copies_stores(m->kernel);
    emit_find_sums(m, k->body);
    if (!m->failed)
        emit_body(m);
    emit_note_last_values(m);
    if (!m->failed)
        shared_fits(m);
    for (size_t i = 0; i < m->function_parameters.count; i++)
        vec_push(m->arena, &f->parameters, m->function_parameters.data[i]);
    return m->failed ? NULL : f;
}

/* Checks the registers of an emitted function's roles. In builds with assertions, verifies the function, too: other faults are
 * mistakes of this compiler. *fixed: whether a role states its registers, which makes the number at the launch a fixed one. */
static bool is_right(struct arena *a, const struct thread_function *f, struct diag *diag,
                     bool *fixed)
{
    *fixed = false;
    for (size_t i = 0; f && i < f->body->operations.count; i++) {
        const struct thread_operation *op = f->body->operations.data[i];
        for (size_t j = 0; op->op == THREAD_ROLES && j < op->regions.count; j++)
            *fixed |= op->regions.data[j]->registers > 0;
        if (op->op == THREAD_ROLES && !thread_registers_fit(a, f, op, diag))
            return false;
    }
#ifdef NDEBUG
    return f != NULL;
#else
    return f && thread_verify(a, f, diag);
#endif
}

/* Returns the kernel of a module. PTX may not allow its name of the program; then it has another one. */
static struct ptx_function *entry_of(const struct ptx_module *m)
{
    for (size_t i = 0; i < m->items.count; i++) {
        const struct ptx_item *item = &m->items.data[i];
        if (item->kind == PTX_ITEM_FUNCTION && item->function->entry)
            return item->function;
    }
    return NULL;
}

/* Makes the module of thread IR after its passes. */
static bool make_module(struct arena *a, const struct kernel *k, const struct thread_function *f,
                        struct diag *diag, bool fixed, struct lowered *out)
{
    out->thread = f;
    out->module = nvptx_emit(a, f, diag);
    if (!out->module)
        return false;
    out->function = entry_of(out->module);
    emit_list_held(a, k, f, out);
    out->block[0] = (int)f->threads;
    out->block[1] = out->block[2] = 1;
    for (int i = 0; i < 3 && f->shape[0]; i++)
        out->block[i] = (int)f->shape[i];
    out->shared_bytes = nvptx_shared_bytes(f);
    const int most = (int)thread_launch_registers(f);
    const int estimate = fixed ? most : ptx_estimate_registers(a, out->function);
    /* A kernel with roles is assembled for `most` registers. For other kernels, the estimate says how many are spilled. */
    out->registers = kernel_uses_roles(k) && most < estimate ? most : estimate;
    return true;
}

static const struct emit_tree tree = {.list = emit_statements,
                                      .scalar = emit_scalar_expr,
                                      .elements = emit_array_expr,
                                      .fragment = emit_fragment_expr};

bool emit_kernel(struct arena *a, struct kernel *k, const struct lowered_options *options,
                 struct diag *diag, struct lowered *out)
{
    struct emit *m = arena_new(a, struct emit);
    bool fixed;
    *out = (struct lowered){0};
    *m = (struct emit){
        .arena = a, .tree = &tree, .kernel = k, .options = options, .diag = diag, .out = out};
    m->roles = kernel_uses_roles(k);
    m->by_threads = m->roles                 ? &emit_by_roles
                    : kernel_thread_level(k) ? &emit_by_threads
                                             : &emit_by_tiles;
    struct thread_function *f = make_function(m);
    if (!is_right(a, f, diag, &fixed))
        return false;
    thread_optimise(a, f);
    if (!make_module(a, k, f, diag, fixed, out))
        return false;
    if (m->roles)
        return true;
    if (!f->blocks)
        plan_ask_for_registers(m->layouts);
    return plan_limits_of_parameters(m->layouts);
}
