/* The synchronisation skeleton: flat code in program order, made once for each kernel.
 *
 * Conditions that all threads share are branches, with && and || split up. Conditions that
 * differ between threads divide masks: both sides are walked, and a touch carries the mask of
 * the threads that get to it. */
#include "tile/numbering.h"
#include "synccheck/synccheck_core.h"

/* A loop around the statement being emitted. */
struct around {
    int again, out; /* labels of continue and break */
    int mask;  /* slot of the threads still in the loop; in a uniform loop, of the threads around
                * it */
    int depth; /* scopes around it */
    int masks; /* masks around it */
};

struct emitter {
    struct sync_check *k;
    VEC(int) labels; /* label -> instruction */
    VEC(int) masks;  /* slots, the innermost last; the first is that of all threads */
    VEC(const struct stmt *) scopes; /* first statement of each list around */
    VEC(struct around) loops;
    VEC(int) open_loops; /* numbers of the loops around, which record the slots assigned in them */
    size_t emitted;      /* number of touches that instructions have */
    int pipeline;        /* number of the pipeline around; 0: none */
    int pipelines;
    const struct stmt *stmt; /* the present statement; NULL: none */
    struct numbering numbers;
    int *tile_of; /* by number of the symbol: its tile + 1; 0: none yet */
};

static int emit(struct emitter *m, struct sync_instr in)
{
    in.mask = in.kind == I_MASK || in.kind == I_SKIP ? in.mask : m->masks.data[m->masks.count - 1];
    vec_push(m->k->arena, &m->k->code.code, in);
    return (int)m->k->code.code.count - 1;
}

static int new_label(struct emitter *m)
{
    vec_push(m->k->arena, &m->labels, -1);
    return (int)m->labels.count - 1;
}

static void place(struct emitter *m, int label)
{
    m->labels.data[label] = (int)m->k->code.code.count;
}

static int current_mask(const struct emitter *m)
{
    return m->masks.data[m->masks.count - 1];
}

static int new_mask(struct emitter *m)
{
    struct tracked mask = {0};
    vec_push(m->k->arena, &m->k->code.slots, mask);
    return (int)m->k->code.slots.count - 1;
}

static int tile_number(struct emitter *m, const struct sym *s)
{
    int *tile = &m->tile_of[numbering_of(&m->numbers, s)];
    if (*tile == 0) {
        vec_push(m->k->arena, &m->k->code.tiles, s);
        *tile = (int)m->k->code.tiles.count;
    }
    return *tile - 1;
}

/* --- touches --- */

static bool per_thread(const struct emitter *m, const struct expr *e)
{
    if (!kernel_thread_level(m->k->kernel))
        return false;
    if (e->type.rank == 0 || e->type.varying)
        return true;
    for (int i = 0; i < e->indices; i++)
        if (e->index[i].value && e->index[i].value->type.varying)
            return true;
    return false;
}

static void add_touch(struct emitter *m, enum touch_kind kind, const struct expr *e,
                      const struct sym *tile, struct loc loc)
{
    struct touch t = {.kind = kind,
                      .access = e,
                      .tile = tile_number(m, tile),
                      .mask = current_mask(m),
                      .pipeline = m->pipeline,
                      .element = kind == TOUCH_READ && e->type.rank == 0,
                      .collective = !e || !per_thread(m, e),
                      .loc = loc,
                      .stmt = m->stmt,
                      .inlined = m->stmt ? m->stmt->inlined : NULL};
    vec_push(m->k->arena, &m->k->code.touches, t);
}

static void emit_lazy(struct emitter *m, const struct expr *e);

/* Adds the read of a part, once for each statement. */
static void add_read(struct emitter *m, const struct expr *e)
{
    for (size_t i = m->emitted; i < m->k->code.touches.count; i++) {
        const struct touch *t = &m->k->code.touches.data[i];
        if (t->kind == TOUCH_READ && t->mask == current_mask(m) && expr_same(t->access, e))
            return;
    }
    add_touch(m, TOUCH_READ, e, e->sym, e->loc);
}

/* Adds the reads of e, operands first. Operands that && || ?: may skip get code of their own. */
static void add_reads(struct emitter *m, const struct expr *e)
{
    if (!e || !sync_touches_shared(e))
        return;
    bool lazy = (op_table[e->op].flags & OP_LAZY) && e->type.rank == 0;
    for (int i = 0; i < e->count; i++) {
        if (lazy && i > 0)
            break;
        if (i == 0 && op_is_atomic(e->op)) {
            for (int j = 0; j < e->args[0]->indices; j++)
                add_reads(m, e->args[0]->index[j].value);
            continue;
        }
        add_reads(m, e->args[i]);
    }
    if (lazy)
        emit_lazy(m, e);
    for (int i = 0; i < e->indices; i++)
        add_reads(m, e->index[i].value);
    add_reads(m, e->otherwise);
    if (e->op == OP_ACCESS && sync_is_checked_tile(e->sym))
        add_read(m, e);
    if (op_is_atomic(e->op) && sync_is_checked_tile(e->args[0]->sym))
        add_touch(m, TOUCH_ATOMIC, e->args[0], e->args[0]->sym, e->loc);
}

/* Emits the touches added since the last call, as those of one statement. */
static void emit_touches(struct emitter *m)
{
    size_t first = m->emitted, count = m->k->code.touches.count - first;
    m->emitted = m->k->code.touches.count;
    if (count)
        emit(m, (struct sync_instr){.kind = I_TOUCH, .first = (int)first, .count = (int)count});
    for (size_t i = first; i < first + count; i++) {
        const struct touch *t = &m->k->code.touches.data[i];
        int slot = sync_tracked_slot(m->k, m->k->code.tiles.data[t->tile]);
        if (t->kind != TOUCH_READ && slot >= 0)
            emit(m, (struct sync_instr){.kind = I_FILL, .slot = slot, .negate = t->plain});
    }
}

static void emit_reads(struct emitter *m, const struct expr *e)
{
    add_reads(m, e);
    emit_touches(m);
}

/* --- conditions --- */

static void emit_branch(struct emitter *m, const struct expr *e, int if_true, int if_false);

/* Makes a mask of the threads of the present mask for which e is true (negate: false); it
 * becomes the present mask. If there are no such threads, the code jumps to the label `none`. */
static int enter_mask(struct emitter *m, const struct expr *e, bool negate, int none)
{
    int slot = new_mask(m), mask = current_mask(m);
    emit(m, (struct sync_instr){
                .kind = I_MASK, .slot = slot, .mask = mask, .expr = e, .negate = negate});
    emit(m, (struct sync_instr){.kind = I_SKIP, .mask = slot, .target = none});
    vec_push(m->k->arena, &m->masks, slot);
    return slot;
}

static void emit_operand_if(struct emitter *m, const struct expr *condition, bool negate,
                            const struct expr *operand)
{
    int out = new_label(m), in = new_label(m);
    if (!sync_touches_shared(operand))
        return;
    if (condition->type.varying) {
        int slot = enter_mask(m, condition, negate, out);
        emit_reads(m, operand);
        m->masks.count--;
        place(m, out);
        emit(m, (struct sync_instr){.kind = I_FORGET, .slot = slot});
    } else {
        emit_branch(m, condition, negate ? out : in, negate ? in : out);
        place(m, in);
        emit_reads(m, operand);
        place(m, out);
    }
    emit(m, (struct sync_instr){.kind = I_JOIN});
}

static void emit_lazy(struct emitter *m, const struct expr *e)
{
    emit_touches(m); /* reads before it */
    if (e->op == OP_SELECT) {
        emit_operand_if(m, e->args[0], false, e->args[1]);
        emit_operand_if(m, e->args[0], true, e->args[2]);
    } else {
        emit_operand_if(m, e->args[0], e->op == OP_LOR, e->args[1]);
    }
}

/* Emits a uniform condition that jumps to one of two labels. The code after it is reached only
 * through a label. */
static void emit_branch(struct emitter *m, const struct expr *e, int if_true, int if_false)
{
    if (e->op == OP_NOT) {
        emit_branch(m, e->args[0], if_false, if_true);
        return;
    }
    if (e->op == OP_LAND || e->op == OP_LOR) {
        int next = new_label(m);
        emit_branch(m, e->args[0], e->op == OP_LAND ? next : if_true,
                    e->op == OP_LAND ? if_false : next);
        place(m, next);
        emit_branch(m, e->args[1], if_true, if_false);
        return;
    }
    emit_reads(m, e);
    emit(m, (struct sync_instr){.kind = I_BRANCH, .expr = e, .target = if_false, .loc = e->loc});
    emit(m, (struct sync_instr){.kind = I_JUMP, .target = if_true});
}

/* --- scopes --- */

static void emit_list(struct emitter *m, const struct stmt *s);

/* Ends the scope that begins with `s`, and the tiles that it declares. */
static void emit_scope_end(struct emitter *m, const struct stmt *s, bool forget)
{
    for (; s; s = s->next) {
        if (s->kind != STMT_DECL)
            continue;
        int slot = sync_tracked_slot(m->k, s->sym);
        if (sync_is_checked_tile(s->sym))
            emit(m, (struct sync_instr){
                        .kind = I_DEAD, .tile = tile_number(m, s->sym), .loc = s->loc});
        else if (forget && slot >= 0)
            emit(m, (struct sync_instr){.kind = I_FORGET, .slot = slot});
    }
}

static void emit_scope(struct emitter *m, const struct stmt *s)
{
    vec_push(m->k->arena, &m->scopes, s);
    emit_list(m, s);
    m->scopes.count--;
    if (m->scopes.count) /* I_END checks the end of the kernel itself */
        emit_scope_end(m, s, true);
}

/* --- control flow --- */

static bool varying_jump(const struct stmt *s, bool under_varying)
{
    for (; s; s = s->next) {
        if (s->kind == STMT_BREAK || s->kind == STMT_CONTINUE)
            if (under_varying)
                return true;
        bool varying = under_varying || (s->kind == STMT_IF && s->condition->type.varying);
        if (s->kind == STMT_IF || s->kind == STMT_BLOCK)
            if (varying_jump(s->body, varying) || varying_jump(s->otherwise, varying))
                return true;
    }
    return false;
}

static void emit_if(struct emitter *m, const struct stmt *s)
{
    int otherwise = new_label(m), then = new_label(m), end = new_label(m);
    if (s->condition->type.varying) {
        emit_reads(m, s->condition);
        int outer = current_mask(m), other = new_mask(m);
        /* Both masks come first: the body may change values in the condition. */
        emit(m, (struct sync_instr){.kind = I_MASK,
                                    .slot = other,
                                    .mask = outer,
                                    .expr = s->condition,
                                    .negate = true});
        int slot = enter_mask(m, s->condition, false, otherwise);
        emit_scope(m, s->body);
        m->masks.count--;
        place(m, otherwise);
        emit(m, (struct sync_instr){.kind = I_FORGET, .slot = slot});
        emit(m, (struct sync_instr){.kind = I_SKIP, .mask = other, .target = end});
        vec_push(m->k->arena, &m->masks, other);
        emit_scope(m, s->otherwise);
        m->masks.count--;
        place(m, end);
        emit(m, (struct sync_instr){.kind = I_FORGET, .slot = other});
    } else {
        emit_branch(m, s->condition, then, otherwise);
        place(m, then);
        emit_scope(m, s->body);
        emit(m, (struct sync_instr){.kind = I_JUMP, .target = end});
        place(m, otherwise);
        emit_scope(m, s->otherwise);
        place(m, end);
    }
    emit(m, (struct sync_instr){.kind = I_JOIN});
}

static int open_loop(struct emitter *m, const struct expr *condition)
{
    struct sync_loop loop = {.condition = condition, .counter = -1};
    int number = (int)m->k->code.loops.count;
    vec_push(m->k->arena, &m->k->code.loops, loop);
    vec_push(m->k->arena, &m->open_loops, number);
    emit(m, (struct sync_instr){.kind = I_ENTER, .loop = number});
    return number;
}

/* Emits the body and the step of a loop, each after its label. */
static void emit_iteration(struct emitter *m, const struct stmt *s, int body, int again, int out)
{
    struct around loop = {.again = again,
                          .out = out,
                          .mask = current_mask(m),
                          .depth = (int)m->scopes.count,
                          .masks = (int)m->masks.count};
    place(m, body);
    vec_push(m->k->arena, &m->loops, loop);
    emit_scope(m, s->body);
    m->loops.count--;
    place(m, again);
    emit_list(m, s->step);
}

/* Emits a loop whose threads all run it together. */
static void emit_uniform_loop(struct emitter *m, const struct stmt *s)
{
    int again = new_label(m), out = new_label(m), body = new_label(m), head = new_label(m);
    int number = open_loop(m, s->condition);
    m->k->code.loops.data[number].steps = s->kind == STMT_FOR;
    place(m, head);
    emit(m, (struct sync_instr){.kind = I_HEAD, .loop = number, .loc = s->loc});
    if (s->condition && !s->is_do)
        emit_branch(m, s->condition, body, out);
    emit_iteration(m, s, body, again, out);
    if (s->is_do && s->condition)
        emit_branch(m, s->condition, head, out);
    else
        emit(m, (struct sync_instr){.kind = I_JUMP, .target = head});
    place(m, out);
    m->open_loops.count--;
}

/* Emits a loop that threads leave one by one: its mask shrinks. */
static void emit_varying_loop(struct emitter *m, const struct stmt *s)
{
    int again = new_label(m), out = new_label(m), head = new_label(m), first = new_label(m);
    int number = open_loop(m, s->condition), slot = new_mask(m);
    emit(m, (struct sync_instr){.kind = I_MASK, .slot = slot, .mask = current_mask(m)});
    vec_push(m->k->arena, &m->masks, slot);
    if (s->is_do)
        emit(m, (struct sync_instr){.kind = I_JUMP, .target = first});
    place(m, head);
    emit(m, (struct sync_instr){.kind = I_HEAD, .loop = number, .loc = s->loc});
    if (s->condition) {
        emit_reads(m, s->condition);
        emit(m,
             (struct sync_instr){.kind = I_MASK, .slot = slot, .mask = slot, .expr = s->condition});
    }
    emit(m, (struct sync_instr){.kind = I_SKIP, .mask = slot, .target = out});
    emit_iteration(m, s, first, again, out);
    emit(m, (struct sync_instr){.kind = I_JUMP, .target = head});
    m->masks.count--;
    place(m, out);
    emit(m, (struct sync_instr){.kind = I_FORGET, .slot = slot});
    m->open_loops.count--;
}

static void emit_loop(struct emitter *m, const struct stmt *s)
{
    vec_push(m->k->arena, &m->scopes, s->init);
    emit_list(m, s->init);
    bool varying = s->condition && s->condition->type.varying;
    int around = m->pipeline;
    if (s->stages > 0)
        m->pipeline = ++m->pipelines;
    if (varying || varying_jump(s->body, false))
        emit_varying_loop(m, s);
    else
        emit_uniform_loop(m, s);
    m->pipeline = around;
    emit(m, (struct sync_instr){.kind = I_JOIN});
    m->scopes.count--;
    emit_scope_end(m, s->init, true);
}

/* Marks the masks from `from` on: it is no longer known which of their threads continue. */
static void emit_murky(struct emitter *m, size_t from)
{
    for (size_t i = from; i < m->masks.count; i++)
        emit(m, (struct sync_instr){.kind = I_MURKY, .slot = m->masks.data[i]});
}

static void emit_jump(struct emitter *m, const struct stmt *s)
{
    const struct around *loop = &m->loops.data[m->loops.count - 1];
    if (m->masks.count > (size_t)loop->masks) { /* only some threads jump */
        emit_murky(m, (size_t)loop->masks - 1);
        return;
    }
    for (size_t i = m->scopes.count; i-- > (size_t)loop->depth;)
        emit_scope_end(m, m->scopes.data[i], true);
    emit(m, (struct sync_instr){.kind = I_JUMP,
                                .target = s->kind == STMT_BREAK ? loop->out : loop->again});
}

static void emit_return(struct emitter *m, struct loc loc)
{
    if (m->masks.count > 1)
        emit_murky(m, 0);
    else
        emit(m, (struct sync_instr){.kind = I_END, .negate = true, .loc = loc});
}

/* --- statements --- */

static void note_assigned(struct emitter *m, int slot)
{
    for (size_t i = 0; i < m->open_loops.count; i++) {
        struct sync_loop *loop = &m->k->code.loops.data[m->open_loops.data[i]];
        bool known = false;
        for (size_t j = 0; j < loop->slots.count; j++)
            known = known || loop->slots.data[j] == slot;
        if (!known)
            vec_push(m->k->arena, &loop->slots, slot);
    }
}

static void emit_set(struct emitter *m, const struct sym *s, const struct expr *value,
                     bool declares)
{
    int slot = sync_tracked_slot(m->k, s);
    if (slot < 0 || !s)
        return;
    if (!declares)
        note_assigned(m, slot);
    emit(m, (struct sync_instr){
                .kind = value ? I_SET : I_FORGET, .slot = slot, .expr = value, .negate = declares});
}

/* Records whether the latest touch fills its whole tile with elements of a const view. */
static void note_plain(struct emitter *m, const struct expr *value)
{
    if (value && value->op == OP_ACCESS && value->sym->storage == ST_VIEW && value->sym->is_const)
        m->k->code.touches.data[m->k->code.touches.count - 1].plain = true;
}

static void emit_decl(struct emitter *m, const struct stmt *s)
{
    emit_reads(m, s->value);
    if (stmt_arrives(s))
        emit(m, (struct sync_instr){.kind = I_SYNC, .loc = s->loc});
    if (sync_is_checked_tile(s->sym)) {
        if (s->value)
            add_touch(m, TOUCH_WRITE, NULL, s->sym, s->loc);
        note_plain(m, s->value);
        emit_touches(m);
    } else {
        emit_set(m, s->sym, s->value, true);
    }
}

/* Emits the reads of the value and the write as one statement, so that they do not meet (at tile
 * level). */
static void emit_store(struct emitter *m, const struct stmt *s, enum touch_kind kind)
{
    const struct expr *target = s->target;
    add_reads(m, s->value);
    for (int i = 0; i < target->indices; i++)
        add_reads(m, target->index[i].value);
    add_touch(m, kind, target, target->sym, target->loc);
    struct touch *write = &m->k->code.touches.data[m->k->code.touches.count - 1];
    if (!write->collective && sync_stores_shared_value(s))
        write->stored = s->value;
    if (type_elements(&target->type) == type_elements(&target->sym->type))
        note_plain(m, s->value);
    emit_touches(m);
}

static void emit_effect(struct emitter *m, const struct stmt *s)
{
    const struct expr *e = s->value;
    struct sync_instr in = {.loc = s->loc};
    switch (e->op) {
    case OP_LOCK:
    case OP_UNLOCK:
    case OP_ARRIVE:
        emit_reads(m, e);
        /* fall through */
    case OP_SYNC: in.kind = I_SYNC; break;
    case OP_ASYNC_COMMIT: in.kind = I_COMMIT; break;
    case OP_ASYNC_WAIT: in.kind = I_WAIT; break;
    case OP_ASSUME: in.kind = I_ASSUME; break;
    case OP_FREE: in.kind = I_FREE; break;
    default:
        if (!s->added) /* probe.c guards its prints with barriers of its own */
            emit_reads(m, e);
        return;
    }
    if (e->op == OP_ASYNC_WAIT || e->op == OP_ASSUME)
        in.expr = e->args[0];
    if (e->op == OP_FREE) {
        const struct sym *tile = e->sym ? e->sym : e->args[0]->sym;
        if (!sync_is_checked_tile(tile))
            return;
        in.tile = tile_number(m, tile);
        in.first = (int)m->k->code.frees.count;
        vec_push(m->k->arena, &m->k->code.frees, s->loc);
    }
    if (!s->uncredited)
        emit(m, in);
}

static void emit_stmt(struct emitter *m, const struct stmt *s)
{
    switch (s->kind) {
    case STMT_DECL: emit_decl(m, s); break;
    case STMT_ASSIGN:
        if (s->target->op == OP_ACCESS && sync_is_checked_tile(s->target->sym)) {
            emit_store(m, s, TOUCH_WRITE);
        } else {
            emit_reads(m, s->value);
            emit_reads(m, s->target);
            if (s->target->op == OP_REF)
                emit_set(m, s->target->sym, s->value, false);
        }
        break;
    case STMT_ASYNC_COPY:
        if (sync_is_checked_tile(s->target->sym))
            emit_store(m, s, TOUCH_COPY);
        break;
    case STMT_EFFECT: emit_effect(m, s); break;
    case STMT_IF: emit_if(m, s); break;
    case STMT_FOR:
    case STMT_WHILE: emit_loop(m, s); break;
    case STMT_BLOCK: emit_scope(m, s->body); break;
    case STMT_BREAK:
    case STMT_CONTINUE: emit_jump(m, s); break;
    case STMT_RETURN: emit_return(m, s->loc); break;
    case STMT_ROLE: /* synccheck_roles.h */
    case STMT_ONE_THREAD:
    case STMT_ENSURES: break;
    }
}

static void emit_list(struct emitter *m, const struct stmt *s)
{
    const struct stmt *outer = m->stmt;
    for (; s; s = s->next) {
        m->stmt = s;
        if (sync_relevant_stmt(m->k, s, m->loops.count > 0))
            emit_stmt(m, s);
    }
    m->stmt = outer;
}

/* --- the whole --- */

static bool has_tiles(const struct stmt *s)
{
    for (; s; s = s->next) {
        if (s->kind == STMT_DECL && sync_is_checked_tile(s->sym))
            return true;
        if (has_tiles(s->body) || has_tiles(s->otherwise))
            return true;
    }
    return false;
}

static void resolve(struct emitter *m)
{
    struct skeleton *code = &m->k->code;
    for (size_t i = 0; i < code->code.count; i++) {
        struct sync_instr *in = &code->code.data[i];
        if (in->kind == I_BRANCH || in->kind == I_JUMP || in->kind == I_SKIP)
            in->target = m->labels.data[in->target];
        if (in->kind == I_WAIT) {
            int64_t n = 0;
            if (!eval_int(in->expr, NULL, &n))
                m->k->gave_up = "an async_wait with an unknown number";
            code->deepest = n > code->deepest ? n : code->deepest;
        }
    }
}

/* --- leaves that are needed later --- */

static uint64_t leaves_of(const struct sync_check *k, const struct sync_instr *in)
{
    uint64_t leaves = in->expr ? sync_expr_leaves(k, in->expr) : 0;
    const struct expr *condition =
        in->kind == I_HEAD ? k->code.loops.data[in->loop].condition : NULL;
    leaves |= condition ? sync_expr_leaves(k, condition) : 0;
    for (int i = in->first; in->kind == I_TOUCH && i < in->first + in->count; i++) {
        const struct touch *t = &k->code.touches.data[i];
        for (int j = 0; t->access && j < t->access->indices; j++)
            leaves |=
                t->access->index[j].value ? sync_expr_leaves(k, t->access->index[j].value) : 0;
        leaves |= t->stored ? sync_expr_leaves(k, t->stored) : 0;
    }
    return leaves;
}

static int lesser(int a, int b)
{
    return a < b ? a : b;
}

static void find_live(struct sync_check *k)
{
    struct skeleton *code = &k->code;
    for (size_t i = 0; i < code->code.count; i++) {
        code->code.data[i].live = leaves_of(k, &code->code.data[i]);
        code->code.data[i].earliest = (int)i;
    }
    for (bool again = true; again;) {
        again = false;
        for (size_t i = code->code.count; i-- > 0;) {
            struct sync_instr *in = &code->code.data[i];
            uint64_t live = in->live;
            int earliest = in->earliest;
            if (in->kind == I_BRANCH || in->kind == I_JUMP || in->kind == I_SKIP) {
                live |= code->code.data[in->target].live;
                earliest = lesser(earliest, code->code.data[in->target].earliest);
            }
            if (in->kind != I_END && in->kind != I_JUMP) {
                live |= code->code.data[i + 1].live;
                earliest = lesser(earliest, code->code.data[i + 1].earliest);
            }
            again = again || live != in->live || earliest != in->earliest;
            in->live = live;
            in->earliest = earliest;
        }
    }
}

/* --- loops that only count --- */

/* Finds the counter of a loop: i in i < N, with i = i + c as its only assignment and no other
 * use. */
static void find_counter(struct sync_check *k, struct sync_loop *loop)
{
    const struct expr *c = loop->condition;
    if (!loop->steps || !c || c->op != OP_LT || c->args[0]->op != OP_REF ||
        !eval_int(c->args[1], NULL, &loop->bound))
        return;
    const struct sym *i = c->args[0]->sym;
    int slot = sync_tracked_slot(k, i), uses = 0, sets = 0;
    for (size_t n = 0; n < k->code.code.count; n++) {
        const struct sync_instr *in = &k->code.code.data[n];
        uses += expr_mentions(in->expr, i);
        if (in->kind != I_SET || in->slot != slot || in->negate)
            continue;
        const struct expr *e = in->expr;
        bool adds = e->op == OP_ADD && expr_mentions(e->args[0], i) && e->args[0]->op == OP_REF;
        sets += adds && eval_int(e->args[1], NULL, &loop->step) && loop->step > 0 ? 1 : 2;
    }
    for (size_t n = 0; n < k->code.touches.count; n++)
        uses += expr_mentions(k->code.touches.data[n].access, i) +
                expr_mentions(k->code.touches.data[n].stored, i);
    if (uses == 2 && sets == 1)
        loop->counter = slot;
}

bool sync_skeleton_make(struct sync_check *k)
{
    if (!has_tiles(k->kernel->body))
        return false;
    struct emitter m = {.k = k};
    numbering_init(&m.numbers, k->arena, k->kernel);
    m.tile_of = arena_array(k->arena, int, m.numbers.count + 1);
    struct tracked all = {0};
    vec_push(k->arena, &k->code.slots, all);
    vec_push(k->arena, &m.masks, 0);
    sync_relevant_scalars(k);
    emit_scope(&m, k->kernel->body);
    emit(&m, (struct sync_instr){.kind = I_END, .loc = k->kernel->loc});
    resolve(&m);
    find_live(k);
    for (size_t i = 0; i < k->code.loops.count; i++)
        find_counter(k, &k->code.loops.data[i]);
    if (k->code.slots.count > MAX_SLOTS || k->code.loops.count > MAX_LOOPS)
        k->gave_up = "the kernel is very large";
    return true;
}
