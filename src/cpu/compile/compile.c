/* Compiles a kernel: lays out the memory that every frame has, then compiles its statements.
 *
 * The frame's memory holds, in this order: constants and thread indices (the image, which is the
 * same in each frame), parameters, block and grid indices, lane scratch, the buffer of
 * asynchronous copies, shared memory; then a stack of variables and temporaries. */
#include "cpu/compile/compile.h"
#include "cpu/strips.h"

#include "base/text.h"

#include <stdlib.h>

/* --- survey of the kernel --- */

struct survey {
    struct compiler *c;
    size_t nodes;
    int64_t async_bytes;
    bool serial, locks, waits; /* waits: a block may see stores of other blocks while it runs */
    bool is_effect;            /* the root expression's own result is not used */
    const struct expr *root;
    struct loc serial_at; /* the first root expression that makes the kernel serial */
};

/* Returns the array that a view shows; a workspace view is its own array. */
static const struct sym *array_of(const struct sym *view)
{
    return view->base ? view->base : view;
}

/* Notes that blocks touch a global array by `op`; ACCESS means plain reads and writes, and arrivals,
 * which order the blocks as locks do. The
 * result is independent of the order of blocks only if every touch of the array is by the same
 * op. */
static void note_touch(struct survey *s, const struct sym *view, enum op op)
{
    struct slot *slot = compile_slot_of(s->c, array_of(view));
    s->serial |=
        slot->touched && slot->touch != op && (op_is_atomic(op) || op_is_atomic(slot->touch));
    slot->touched = true;
    slot->touch = op;
}

static void survey_touches(struct survey *s, const struct expr *e)
{
    if (!e)
        return;
    bool is_view = (e->op == OP_ACCESS || e->op == OP_REF) && e->sym->storage == ST_VIEW;
    const struct expr *target = op_is_atomic(e->op) ? e->args[0] : NULL;
    if (is_view)
        note_touch(s, e->sym, OP_ACCESS);
    if (target && target->sym->storage == ST_VIEW)
        note_touch(s, target->sym, e->op == OP_ARRIVE ? OP_ACCESS : e->op);
    for (int i = target ? 1 : 0; i < e->count; i++)
        survey_touches(s, e->args[i]);
    const struct expr *indexed = target ? target : e;
    for (int i = 0; i < indexed->indices; i++)
        survey_touches(s, indexed->index[i].value);
    survey_touches(s, indexed->otherwise);
}

/* Returns whether blocks may execute the atomic e in any order: it is an integer atomic and its
 * old value is not used. */
static bool commutes(const struct survey *s, const struct expr *e)
{
    bool used = !(s->is_effect && e == s->root);
    return !used && !dtype_is_float(e->args[0]->type.dtype) && e->op != OP_ATOMIC_EXCHANGE &&
           e->op != OP_ATOMIC_CAS;
}

/* --- how the lanes of a block with one axis are arranged --- */

struct splits {
    struct compiler *c;
    int64_t weight; /* sum over its mentions; a mention in a loop weighs more */
    int64_t found;  /* the divisor in the expression visited last */
    struct {
        int64_t by, weight;
    } by[8];
};

static void weigh_expr(void *user, struct expr **at)
{
    struct splits *s = user;
    const struct expr *e = *at;
    int64_t lanes = s->c->lanes, by = compile_thread_divisor(s->c, e);
    if (e->op == OP_REF)
        by = compile_slot_of(s->c, e->sym)->split_by;
    if (by <= 1 || by >= lanes || lanes % by != 0)
        return;
    s->found = by;
    for (size_t i = 0; i < sizeof s->by / sizeof *s->by; i++)
        if (s->by[i].by == by || s->by[i].by == 0) {
            s->by[i].by = by;
            s->by[i].weight += s->weight;
            return;
        }
}

static void weigh_root(void *user, struct expr **root, bool is_target)
{
    (void)is_target;
    expr_walk(root, weigh_expr, user);
}

/* Adds up the weights of divisors in a list. Each division of thread.x, or mention of a variable
 * declared from one, counts eight times as much for each loop around it. */
static void weigh_list(struct splits *s, const struct stmt *first)
{
    for (const struct stmt *st = first; st; st = st->next) {
        struct stmt own = *st;
        int64_t weight = s->weight;
        bool loop = st->kind == STMT_FOR || st->kind == STMT_WHILE;
        s->found = 0;
        stmt_expressions(&own, weigh_root, s);
        if (st->kind == STMT_DECL)
            compile_slot_of(s->c, st->sym)->split_by = s->found;
        s->weight *= loop && weight < INT32_MAX ? 8 : 1;
        weigh_list(s, st->body);
        weigh_list(s, st->otherwise);
        s->weight = weight;
    }
}

/* Returns the n by which the kernel divides thread.x: the lanes are then arranged as [y][x] with
 * y = thread.x / n and x = thread.x % n. 0: the kernel does not divide thread.x. */
static int64_t choose_split(struct compiler *c)
{
    const int *threads = c->kernel->threads;
    struct splits s = {.c = c, .weight = 1};
    int64_t best = 0, weight = 0;
    if (c->plain || c->lanes == 1 || threads[1] > 1 || threads[2] > 1)
        return 0;
    weigh_list(&s, c->kernel->body);
    for (size_t i = 0; i < sizeof s.by / sizeof *s.by; i++)
        if (s.by[i].weight > weight) {
            best = s.by[i].by;
            weight = s.by[i].weight;
        }
    return best;
}

static void survey_expr(void *user, struct expr **at)
{
    struct survey *s = user;
    const struct expr *e = *at;
    s->nodes++;
    s->locks |= e->op == OP_LOCK;
    s->waits |= e->op == OP_LOCK || e->op == OP_UNLOCK || op_is_atomic(e->op);
    s->serial |= e->op == OP_PRINT;
    if (op_is_atomic_of_thread(e->op) && e->args[0]->sym->storage == ST_VIEW)
        s->serial |= !commutes(s, e);
}

static void survey_root(void *user, struct expr **root, bool is_target)
{
    struct survey *s = user;
    bool before = s->serial;
    (void)is_target;
    s->root = *root;
    expr_walk(root, survey_expr, s);
    survey_touches(s, *root);
    if (s->serial && !before)
        s->serial_at = s->root->loc;
}

static void survey_stmt(void *user, struct stmt *st)
{
    struct survey *s = user;
    if (st->kind == STMT_ENSURES)
        return;
    s->c->has_unrolled |= st->kind == STMT_FOR && st->unroll == UNROLL_FULL;
    if (st->kind == STMT_DECL && st->value && st->value->op == OP_THREAD && st->value->axis == 0)
        compile_slot_of(s->c, st->sym)->is_thread = true;
    if (st->kind == STMT_DECL && st->value && st->value->op == OP_BLOCK && st->sym->type.rank == 0)
        compile_slot_of(s->c, st->sym)->block_axis = 1 + st->value->axis;
    if (st->kind == STMT_ASSIGN && st->target->op == OP_REF)
        compile_slot_of(s->c, st->target->sym)->assigned = true;
    if (st->kind == STMT_DECL || (st->kind == STMT_ASSIGN && st->target->op == OP_REF)) {
        const struct sym *to = st->kind == STMT_DECL ? st->sym : st->target->sym;
        compile_slot_of(s->c, to)->gets_dot |= st->value && st->value->op == OP_DOT;
    }
    s->is_effect = st->kind == STMT_EFFECT;
    stmt_expressions(st, survey_root, s);
    if (st->kind != STMT_ASYNC_COPY || st->target->sym->storage == ST_VIEW)
        return;
    compile_slot_of(s->c, st->target->sym)->async = true;
    int64_t bytes = type_elements(&st->value->type) * (int64_t)dtype_size(st->value->type.dtype);
    if (bytes > s->async_bytes)
        s->async_bytes = bytes;
}

/* --- the layout of a frame --- */

static void lay_index(struct compiler *c, const uint32_t *at, int lane, int x, int y)
{
    int32_t index[3] = {lane % x, lane / x % y, lane / x / y};
    for (int i = 0; i < 3; i++)
        memcpy(c->image + at[i] + (size_t)lane * sizeof *index, &index[i], sizeof *index);
}

/* Lays the image: constants (at most two for each node, and a few more), then thread indices. */
static void lay_image(struct compiler *c, size_t nodes)
{
    if (c->has_unrolled && !c->plain)
        nodes += MOST_UNROLLED;
    compile_memory_new(c, (2 * nodes + 64) * sizeof(uint64_t));
    c->constants_end = c->top;
    for (int i = 0; i < 3; i++)
        c->thread_at[i] = compile_memory_new(c, c->lanes * sizeof(int32_t));
    for (int i = 0; i < 3; i++)
        c->program->lane_at[i] =
            c->split > 0 ? compile_memory_new(c, c->lanes * sizeof(int32_t)) : c->thread_at[i];
    c->image = arena_alloc(c->arena, c->top);
    c->program->image = c->image;
    c->program->image_bytes = c->top;
    int x = c->kernel->threads[0] > 0 ? c->kernel->threads[0] : 1;
    int y = c->kernel->threads[1] > 0 ? c->kernel->threads[1] : 1;
    uint32_t *threads = c->program->threads;
    threads[0] = c->split > 0 ? (uint32_t)c->split : (uint32_t)x;
    threads[1] = c->split > 0 ? (uint32_t)(x / c->split) : (uint32_t)y;
    threads[2] = c->lanes / (threads[0] * threads[1]);
    for (int lane = 0; lane < (int)c->lanes; lane++) {
        lay_index(c, c->thread_at, lane, x, y);
        lay_index(c, c->program->lane_at, lane, (int)threads[0], (int)threads[1]);
    }
}

static void lay_params(struct compiler *c)
{
    struct cpu_program *p = c->program;
    p->params = arena_array(c->arena, struct scalar_slot, c->kernel->param_count);
    for (const struct param *param = c->kernel->params; param; param = param->next) {
        const struct sym *s = param->sym;
        struct scalar_slot *out = &p->params[s->index];
        *out = (struct scalar_slot){NO_SLOT, s->type.dtype};
        if (s->is_pointer)
            continue;
        struct value v = compile_value_new(c, s->type.dtype, 0, NULL, 1);
        compile_slot_of(c, s)->value = v;
        out->at = v.at;
    }
}

static size_t tile_bytes(const struct sym *s)
{
    return (size_t)type_elements(&s->type) * dtype_size(s->type.dtype);
}

/* Lays shared memory: tiles go where the plan or the program put them; others follow one after
 * another. */
static void lay_shared(struct compiler *c)
{
    size_t end = c->kernel->planned ? (size_t)c->kernel->shared_bytes : 0;
    for (const struct sym *s = c->kernel->symbols; s; s = s->next)
        if (s->storage == ST_SHARED && s->offset >= 0 && (size_t)s->offset + tile_bytes(s) > end)
            end = (size_t)s->offset + tile_bytes(s);
    for (const struct sym *s = c->kernel->symbols; s; s = s->next) {
        if (s->storage != ST_SHARED)
            continue;
        if (s->offset >= 0) {
            compile_slot_of(c, s)->shared_at = (uint32_t)s->offset;
            continue;
        }
        end = (end + 15) / 16 * 16;
        if (end > MOST_FRAME_BYTES)
            break;
        compile_slot_of(c, s)->shared_at = (uint32_t)end;
        end += tile_bytes(s);
    }
    c->program->shared_at = compile_memory_new(c, end);
}

static void lay_frame(struct compiler *c, const struct survey *s)
{
    struct cpu_program *p = c->program;
    lay_image(c, s->nodes);
    lay_params(c);
    p->block_at = compile_memory_new(c, 3 * sizeof(int32_t));
    p->grid_at = compile_memory_new(c, 3 * sizeof(int32_t));
    if (c->kernel->cluster[0] > 0)
        p->cluster_at = compile_memory_new(c, 4 * sizeof(int32_t));
    p->scratch_at = compile_memory_new(c, (size_t)c->lanes * 17);
    c->async_buffer = compile_memory_new(c, (size_t)s->async_bytes);
    lay_shared(c);
    packed_survey(c);
    compile_slow_operands(c);
}

struct cpu_program *cpu_compile(struct arena *a, const struct kernel *k, bool any_bits,
                                const char **why)
{
    return cpu_compile_with(a, k, routine_set_choose(any_bits), false, why);
}

void cpu_add_joined(struct arena *a, struct cpu_program *p, const struct kernel *joined,
                    const int64_t joins[3])
{
    const char *why;
    while (p->joined)
        p = (struct cpu_program *)p->joined;
    p->joined = cpu_compile_with(a, joined, p->set, false, &why);
    memcpy(p->joins, joins, sizeof p->joins);
}

struct cpu_program *cpu_compile_with(struct arena *a, const struct kernel *k,
                                     const struct routine_set *set, bool plain, const char **why)
{
    struct cpu_program *p = arena_new(a, struct cpu_program);
    struct compiler c = {.arena = a, .kernel = k, .program = p, .mask = NO_SLOT, .plain = plain};
    name_table_init(&c.constants, a);
    c.varying = arena_new(a, struct number_map);
    c.seen_budget = MOST_SURVEYED;
    c.set = p->set = set;
    c.lanes = p->lanes = kernel_thread_level(k) ? (uint32_t)kernel_block_threads(k) : 1;
    c.loc = k->loc;
    p->kernel = k;
    compile_slots_make(&c);
    struct survey s = {.c = &c};
    stmt_walk(k->body, survey_stmt, &s);
    p->serial = s.serial;
    if (s.serial)
        compile_note_slow(&c, CPU_SLOW_ONE_WORKER, s.serial_at, s.serial_at, NULL);
    p->has_locks = s.locks;
    p->streams = !s.waits;
    c.split = choose_split(&c);
    lay_frame(&c, &s);
    compile_body(&c);
    compile_sizes(&c);
    p->by_columns = !s.serial && !s.locks && !s.waits && packed_by_columns(&c);
    p->code = c.code.data;
    p->count = c.code.count;
    p->frame_bytes = c.high;
    for (size_t i = 0; i < c.row_chains.count; i++) {
        c.row_chains.data[i]->slots_at = (uint32_t)p->frame_bytes;
        p->frame_bytes += (size_t)c.row_chains.data[i]->slots * sizeof(void *);
    }
    p->row_chains = c.row_chains.data;
    p->row_chain_count = (uint32_t)c.row_chains.count;
    p->row_blocks_at = p->frame_bytes;
    p->row_blocks_bytes = plain ? 0 : row_blocks_bytes(p->code);
    p->frame_bytes += p->row_blocks_bytes;
    p->rows = c.rows.data;
    p->row_count = (uint32_t)c.rows.count;
    p->strided = c.strided.data;
    p->strided_count = (uint32_t)c.strided.count;
    p->products = c.products.data;
    p->product_count = (uint32_t)c.products.count;
    p->packed = c.packed.data;
    p->packed_count = (uint32_t)c.packed.count;
    compile_slow_program(&c);
    if (!c.why)
        return p;
    *why = c.why;
    return NULL;
}
