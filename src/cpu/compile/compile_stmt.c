/* Compiles statements: scopes, control flow, masks.
 *
 * If a condition is uniform, control flow is jumps. If it differs between lanes, the lanes that
 * take a branch form a mask, and the code is skipped only when no lane takes it. A loop that
 * lanes leave one by one keeps two masks: the lanes still in the loop, and the lanes still in
 * this turn (`continue`). */
#include "cpu/compile/compile.h"

#include "base/text.h"

static void compile_list(struct compiler *c, const struct stmt *first);

/* --- lanes that leave one by one --- */

struct escapes {
    bool breaks, continues;
};

static struct escapes loop_escapes(const struct compiler *c, const struct stmt *s, bool varying);

/* Returns whether lanes leave this loop, or one of its turns, one by one. */
static bool loop_is_masked(const struct compiler *c, const struct stmt *s)
{
    if (s->condition && compile_expr_varying(c, s->condition))
        return true;
    struct escapes e = loop_escapes(c, s->body, false);
    return e.breaks || e.continues;
}

static bool is_loop(const struct stmt *s)
{
    return s->kind == STMT_FOR || s->kind == STMT_WHILE;
}

/* Finds break and continue of this loop under a condition that differs between lanes. */
static struct escapes loop_escapes(const struct compiler *c, const struct stmt *s, bool varying)
{
    struct escapes found = {false, false};
    for (; s; s = s->next) {
        found.breaks |= s->kind == STMT_BREAK && varying;
        found.continues |= s->kind == STMT_CONTINUE && varying;
        if (s->kind != STMT_IF && s->kind != STMT_BLOCK)
            continue;
        bool inner = varying || (s->kind == STMT_IF && compile_expr_varying(c, s->condition));
        struct escapes body = loop_escapes(c, s->body, inner);
        struct escapes otherwise = loop_escapes(c, s->otherwise, inner);
        found.breaks |= body.breaks || otherwise.breaks;
        found.continues |= body.continues || otherwise.continues;
    }
    return found;
}

/* Returns whether there is a return that only some lanes reach. */
static bool lanes_return(const struct compiler *c, const struct stmt *s, bool varying)
{
    for (; s; s = s->next) {
        if (s->kind == STMT_RETURN && varying)
            return true;
        bool inner = varying || (s->kind == STMT_IF && compile_expr_varying(c, s->condition)) ||
                     (is_loop(s) && loop_is_masked(c, s));
        if (s->kind == STMT_IF || s->kind == STMT_BLOCK || is_loop(s))
            if (lanes_return(c, s->body, inner) || lanes_return(c, s->otherwise, inner))
                return true;
    }
    return false;
}

static bool has_escape(const struct stmt *s)
{
    for (; s; s = s->next) {
        if (s->kind == STMT_BREAK || s->kind == STMT_CONTINUE || s->kind == STMT_RETURN)
            return true;
        bool nested = s->kind == STMT_IF || s->kind == STMT_BLOCK || is_loop(s);
        if (nested && (has_escape(s->body) || has_escape(s->otherwise)))
            return true;
    }
    return false;
}

/* --- scopes --- */

static void emit_scope_leave(struct compiler *c, const struct scope *scope)
{
    if (scope->tiles.count == 0)
        return;
    size_t count = scope->tiles.count;
    struct scope_detail *d = arena_alloc(c->arena, sizeof *d + count * sizeof d->tile[0]);
    d->count = (int)count;
    memcpy(d->tile, scope->tiles.data, count * sizeof d->tile[0]);
    compile_add_step(c, step_scope_leave)->detail = d;
}

static void scope_enter(struct compiler *c, struct scope *scope)
{
    *scope = (struct scope){.outer = c->scope};
    c->scope = scope;
}

static void scope_end(struct compiler *c, struct scope *scope, uint32_t top)
{
    emit_scope_leave(c, scope);
    c->scope = scope->outer;
    c->top = top;
}

static void scope_of_its_own(struct compiler *c, const struct stmt *body)
{
    struct scope scope;
    uint32_t top = c->top;
    scope_enter(c, &scope);
    compile_list(c, body);
    scope_end(c, &scope, top);
}

/* --- declarations and assignments --- */

static void compile_decl_shared(struct compiler *c, const struct stmt *s)
{
    const struct sym *sym = s->sym;
    if (compile_slot_of(c, sym)->async)
        vec_push(c->arena, &c->scope->tiles, sym);
    if (compile_packed_decl(c, s))
        return;
    struct expr whole = {.op = OP_REF, .type = sym->type, .loc = s->loc, .sym = s->sym};
    if (s->value)
        compile_store(c, &whole, s->value);
    else
        compile_shared_poison(c, &whole);
}

/* Compiles the value that s declares or assigns into its place. */
static void compile_tile(struct compiler *c, const struct stmt *s, const struct value *to)
{
    const struct sym *sym = s->kind == STMT_DECL ? s->sym : s->target->sym;
    c->dot_seen = s->value->op == OP_DOT ? compile_slot_of(c, sym)->seen : NULL;
    compile_into(c, s->value, to);
    c->dot_seen = NULL;
    if (s->row)
        compile_row_map(c, s, to);
}

/* Compiles a declaration. It may also write lanes that rest, because these never run again
 * within the variable's scope. */
static void compile_decl(struct compiler *c, const struct stmt *s)
{
    const struct sym *sym = s->sym;
    if (sym->storage == ST_SHARED) {
        compile_decl_shared(c, s);
        return;
    }
    if (sym->storage == ST_MBARRIER)
        compile_mbarrier(c, sym);
    if (sym->storage != ST_SCALAR && sym->storage != ST_ARRAY && sym->storage != ST_REG)
        return;
    if (compile_packed_decl(c, s))
        return;
    bool varying = sym->type.varying && sym->storage != ST_REG;
    struct value v = compile_value_of_type(c, &sym->type, varying ? c->lanes : 1);
    if (compile_shown_row(c, s, &v))
        return;
    compile_seen_survey(c, s);
    if (s->value) {
        if (!compile_sum_begins(c, s, &v))
            compile_tile(c, s, &v);
    } else {
        struct instr *in = compile_add_step(c, step_poison);
        in->dst = v.at;
        in->n = (uint32_t)compile_value_bytes(&v);
    }
    struct slot *slot = compile_slot_of(c, sym);
    slot->value = v;
    slot->mask = c->mask;
    compile_note_affine(c, s);
}

/* Counts how an expression mentions the assigned variable. */
struct mentions {
    const struct expr *target;
    int refs, others; /* just as the target has it; another part of it, or in another shape */
};

static void note_mention(void *user, struct expr **at)
{
    struct mentions *m = user;
    const struct expr *e = *at;
    bool mentioned = (e->op == OP_REF || e->op == OP_ACCESS) && e->sym == m->target->sym;
    bool same = mentioned && expr_same(e, m->target);
    m->refs += same;
    m->others += mentioned && !same;
    m->others += e->op == OP_RESHAPE || e->op == OP_BITS;
}

/* Returns whether the value may be computed directly in the variable (or part of one) that it is
 * assigned to, even if it reads the variable. Elementwise steps read an element before they
 * write it; dot adds to its third operand in place. */
static bool may_compute_in_place(const struct expr *target, const struct expr *value)
{
    struct expr *e = (struct expr *)(uintptr_t)value; /* the walk replaces nothing */
    struct mentions m = {.target = target};
    expr_walk(&e, note_mention, &m);
    if (m.refs == 0 && m.others == 0)
        return true;
    if (e->op == OP_DOT)
        return true; /* compile_dot itself checks that */
    enum op_class class = op_table[e->op].class;
    bool lazy = op_table[e->op].flags & OP_LAZY;
    return m.others == 0 && !lazy &&
           (class == CLASS_ARITH || class == CLASS_FLOAT || class == CLASS_BITWISE ||
            e->op == OP_WHERE);
}

/* Returns whether a store to the variable may also write lanes that do not run. It may if the
 * mask is still the one under which the variable was declared: lanes outside this mask do not
 * run again within the variable's scope. */
static bool lanes_need_no_mask(const struct compiler *c, const struct sym *s)
{
    return c->mask == NO_SLOT || (!c->plain && c->mask == compile_slot_of(c, s)->mask);
}

/* Compiles an assignment to an element of an array at a known place like one to a variable. */
static bool compile_part_in_place(struct compiler *c, const struct expr *target,
                                  const struct expr *value)
{
    struct value part;
    if (c->plain || !compile_access_alias(c, target, &part) ||
        !(part.lanes == 1 || lanes_need_no_mask(c, target->sym)) ||
        !may_compute_in_place(target, value))
        return false;
    compile_into(c, value, &part);
    return true;
}

static void assign_variable(struct compiler *c, const struct stmt *s)
{
    const struct expr *target = s->target;
    struct value variable = compile_slot_of(c, target->sym)->value;
    if (variable.lanes == 0) {
        compile_error(c, "%s is assigned before it is declared", target->sym->name);
        return;
    }
    bool whole = variable.lanes == 1 || lanes_need_no_mask(c, target->sym);
    if (whole && may_compute_in_place(target, s->value)) {
        c->defers_dot = compile_deferral_takes(c, s);
        c->starts_in_place = s->value->op == OP_DOT && s->value->count > 2 &&
                             may_compute_in_place(target, s->value->args[2]);
        compile_tile(c, s, &variable);
        c->defers_dot = c->starts_in_place = false;
        return;
    }
    if (!whole && compile_load_masked(c, s->value, c->mask, &variable, NULL))
        return;
    uint32_t top = c->top;
    struct value v = compile_expr(c, s->value, NULL);
    if (v.lanes > variable.lanes)
        compile_error(c, "%s gets a value that differs between threads", target->sym->name);
    else if (whole)
        compile_value_transfer(c, &variable, &v);
    else
        compile_value_assign(c, &variable, &v);
    c->top = top;
}

static void compile_assign(struct compiler *c, const struct stmt *s)
{
    const struct expr *target = s->target;
    if (compile_packed_fill(c, target, s->value))
        return;
    if (target->op == OP_ACCESS || target->sym->storage == ST_SHARED ||
        target->sym->storage == ST_VIEW) {
        c->divides_powers = s->row && compile_slot_of(c, s->value->args[0]->sym)->sum;
        if (!compile_part_in_place(c, target, s->value))
            compile_store(c, target, s->value);
        c->divides_powers = false;
        return;
    }
    assign_variable(c, s);
    compile_slot_of(c, target->sym)->is_shown = false;
}

/* --- effects --- */

static const char *expr_text(struct compiler *c, const struct expr *e)
{
    struct text text;
    text_init(&text, c->arena);
    expr_print(&text, e);
    return text.data;
}

/* Compiles the scalars that an expression names, for the message. */
static void add_assumed(struct compiler *c, struct assume_detail *d, const struct expr *e)
{
    bool is_named = e->op == OP_REF && e->sym->storage != ST_CONST && !e->sym->is_pointer;
    bool seen = d->count == ASSUME_VALUES || e->type.rank > 0;
    for (int i = 0; i < d->count; i++)
        seen |= expr_same(d->value[i].e, e);
    if (!seen && (is_named || e->op == OP_BLOCK || e->op == OP_THREAD || e->op == OP_GRID)) {
        struct value v = compile_expr(c, e, NULL);
        d->value[d->count++] =
            (struct assume_value){e, expr_text(c, e), v.at, (uint32_t)v.lanes, v.dtype};
    }
    for (int i = 0; i < e->count; i++)
        add_assumed(c, d, e->args[i]);
}

static void compile_assume(struct compiler *c, const struct expr *e)
{
    uint32_t top = c->top;
    struct value v = compile_value_convert(c, compile_expr(c, e->args[0], NULL), DT_BOOL);
    struct assume_detail *d = arena_new(c->arena, struct assume_detail);
    d->text = expr_text(c, e->args[0]);
    add_assumed(c, d, e->args[0]);
    struct instr *in = compile_add_step(c, step_assume);
    in->a = v.at;
    in->n = (uint32_t)compile_value_elements(&v);
    in->c = v.lanes;
    in->mask = v.lanes > 1 ? c->mask : NO_SLOT;
    in->detail = d;
    c->top = top;
}

static void compile_print(struct compiler *c, const struct expr *e)
{
    uint32_t top = c->top;
    size_t count = (size_t)e->count;
    struct print_detail *d = arena_alloc(c->arena, sizeof *d + count * sizeof d->item[0]);
    d->label = e->label;
    d->count = e->count;
    d->is_format = print_is_format(e->label);
    d->by_thread = kernel_thread_level(c->kernel);
    const char *format = e->label;
    for (int i = 0; i < e->count; i++) {
        struct value v = compile_expr(c, e->args[i], NULL);
        struct print_item *item = &d->item[i];
        *item = (struct print_item){.at = v.at, .dtype = v.dtype, .rank = v.rank, .lanes = v.lanes};
        memcpy(item->extent, v.extent, sizeof item->extent);
        item->text = e->label ? NULL : expr_text(c, e->args[i]);
        if (d->is_format)
            format = print_piece_read(format, &item->piece);
        item->window = i + 1 == e->count ? e->window : NULL;
        if (v.rank > 0 && !expr_is_per_thread(e->args[i]))
            d->by_thread = false; /* a tile of the block */
    }
    if (d->is_format)
        print_piece_read(format, &d->rest);
    struct instr *in = compile_add_step(c, step_print);
    in->detail = d;
    in->mask = c->mask;
    c->top = top;
}

static void compile_free(struct compiler *c, const struct sym *s)
{
    struct scope tile = {0};
    if (!compile_slot_of(c, s)->async)
        return;
    vec_push(c->arena, &tile.tiles, s);
    emit_scope_leave(c, &tile);
}

static void compile_wait(struct compiler *c, const struct expr *e)
{
    struct literal groups = {0};
    if (e->count > 0 && (!compile_expr_constant(c, e->args[0], &groups) || groups.i < 0))
        compile_error(c, "async_wait takes a constant");
    compile_add_step(c, step_async_wait)->n = groups.i > INT32_MAX ? INT32_MAX : (uint32_t)groups.i;
}

static void compile_effect(struct compiler *c, const struct expr *e)
{
    uint32_t top = c->top;
    switch (e->op) {
    case OP_SYNC: /* all lanes of a frame run together, and products and stores are done at once */
    case OP_DOT_WAIT:
    case OP_STORE_WAIT:
    case OP_FENCE_ASYNC: break;
    case OP_CLUSTER_SYNC: compile_add_step(c, step_cluster_sync); break;
    case OP_WAIT:
    case OP_EXPECT:
    case OP_MBARRIER_ARRIVE: compile_phase(c, e); break;
    case OP_ASYNC_COMMIT: compile_add_step(c, step_async_commit); break;
    case OP_ASYNC_WAIT: compile_wait(c, e); break;
    case OP_LOCK:
    case OP_UNLOCK: compile_lock(c, e); break;
    case OP_FREE: compile_free(c, e->sym ? e->sym : e->args[0]->sym); break;
    case OP_PRINT: compile_print(c, e); break;
    case OP_ASSUME: compile_assume(c, e); break;
    default:
        if (op_is_atomic(e->op))
            compile_atomic(c, e, false);
        else
            compile_expr(c, e, NULL);
        break;
    }
    c->top = top;
}

/* --- if --- */

static struct value compile_condition(struct compiler *c, const struct expr *e)
{
    return compile_value_convert(c, compile_expr(c, e, NULL), DT_BOOL);
}

/* Compiles what an `if` does when its condition holds. */
static void compile_held(struct compiler *c, const struct stmt *s)
{
    struct holds holds = {s->condition, c->holds};
    c->holds = &holds;
    compile_scope(c, s->body);
    c->holds = holds.outer;
}

static void compile_if_uniform(struct compiler *c, const struct stmt *s)
{
    struct label otherwise = {0}, end = {0};
    uint32_t top = c->top;
    struct value condition = compile_condition(c, s->condition);
    compile_add_jump(c, step_jump_unless, condition.at, &otherwise);
    c->top = top;
    compile_held(c, s);
    if (s->otherwise)
        compile_add_jump(c, step_jump, 0, &end);
    compile_label_place(c, &otherwise);
    compile_scope(c, s->otherwise);
    compile_label_place(c, &end);
}

/* Compiles one side of an `if` for the lanes of a mask. */
static void compile_branch(struct compiler *c, const struct stmt *s, bool holds, uint32_t mask)
{
    struct label end = {0};
    struct region region = {mask, &end, c->region};
    uint32_t outer = c->mask;
    compile_add_jump(c, step_jump_none, mask, &end);
    c->mask = mask;
    c->region = &region;
    if (holds)
        compile_held(c, s);
    else
        compile_scope(c, s->otherwise);
    c->mask = outer;
    c->region = region.outer;
    compile_label_place(c, &end);
}

static void compile_if_varying(struct compiler *c, const struct stmt *s)
{
    uint32_t top = c->top, yes, no;
    compile_masks(c, s->condition, &yes, s->otherwise ? &no : NULL);
    compile_branch(c, s, true, yes);
    if (s->otherwise)
        compile_branch(c, s, false, no);
    c->top = top;
}

static void compile_if(struct compiler *c, const struct stmt *s)
{
    if (compile_expr_varying(c, s->condition))
        compile_if_varying(c, s);
    else
        compile_if_uniform(c, s);
    if (has_escape(s->body) || has_escape(s->otherwise))
        compile_add_leave_if_none(c);
}

/* --- loops --- */

/* Returns whether a loop changes nothing. Such a loop never ends once one turn is complete: it
 * waits for memory that only other blocks could change, and none changes it while this block
 * runs. */
static bool changes_nothing(const struct stmt *s)
{
    for (; s; s = s->next) {
        if (s->kind == STMT_BREAK || s->kind == STMT_CONTINUE || s->kind == STMT_RETURN)
            continue;
        bool harmless = s->kind == STMT_IF || s->kind == STMT_BLOCK || s->kind == STMT_DECL;
        if (expr_has_atomic(s->condition) || expr_has_atomic(s->value))
            return false;
        if (s->kind == STMT_EFFECT)
            harmless = s->value->op == OP_SYNC;
        if (!harmless || !changes_nothing(s->body) || !changes_nothing(s->otherwise))
            return false;
    }
    return true;
}

static void mask_start(struct compiler *c, uint32_t mask, uint32_t from)
{
    struct instr *in = compile_add_step(c, from == NO_SLOT ? step_mask_all : step_mask_copy);
    in->dst = mask;
    in->a = from;
}

/* Emits the exit of a loop: lanes for which the condition fails leave it. */
static void compile_loop_test(struct compiler *c, const struct expr *condition, struct loop *loop)
{
    if (!condition)
        return;
    uint32_t top = c->top;
    struct value v = compile_condition(c, condition);
    if (v.lanes == 1) {
        compile_add_jump(c, step_jump_unless, v.at, loop->end);
    } else {
        compile_add_mask(c, step_mask_and, loop->loop_mask, loop->loop_mask, v.at);
        compile_add_jump(c, step_jump_none, loop->loop_mask, loop->end);
    }
    c->top = top;
}

static void compile_loop_body(struct compiler *c, const struct stmt *s, struct loop *loop)
{
    struct region *outer = c->region, region = {loop->body_mask, loop->next, outer};
    uint32_t mask = c->mask;
    loop->outer = c->loop;
    loop->scope = c->scope;
    c->loop = loop;
    if (loop->masked) {
        if (loop->body_mask != loop->loop_mask)
            mask_start(c, loop->body_mask, loop->loop_mask);
        c->mask = loop->body_mask;
        c->region = &region;
    }
    compile_scope(c, s->body);
    c->region = outer;
    c->mask = mask;
    c->loop = loop->outer;
    compile_label_place(c, loop->next);
}

/* Compiles a copy of the body for each turn, with the counter as a constant. */
static void compile_unrolled(struct compiler *c, const struct stmt *s, int64_t turns)
{
    struct scope scope;
    uint32_t top = c->top;
    struct deferral *deferral = c->deferral;
    c->deferral = NULL;
    scope_enter(c, &scope);
    c->unrolling++;
    compile_counter_start(c, s);
    for (int64_t i = 0; i < turns; i++) {
        compile_scope(c, s->body);
        compile_counter_step(c, s);
    }
    compile_slot_of(c, s->init->sym)->is_known = false;
    c->unrolling--;
    c->deferral = deferral;
    scope_end(c, &scope, top);
}

/* Compiles a loop as: init; top: condition; body; next: step; jump to top. A `do` loop tests
 * after the body instead. */
static void compile_turns(struct compiler *c, const struct stmt *s)
{
    size_t nodes;
    int64_t turns = has_escape(s->body) ? 0 : compile_loop_known_turns(c, s, &nodes);
    if (turns > 0) {
        c->unrolled += nodes;
        compile_sum_settle(c, s);
        compile_unrolled(c, s, turns);
        return;
    }
    struct label start = {0}, next = {0}, end = {0};
    struct loop loop = {.masked = loop_is_masked(c, s), .next = &next, .end = &end};
    struct scope scope;
    struct region *outer = c->region, region = {0, &end, outer};
    uint32_t top = c->top, mask = c->mask;
    scope_enter(c, &scope);
    compile_list(c, s->init);
    struct deferral deferral;
    compile_deferral_begin(c, s, &deferral);
    compile_sum_settle(c, s);
    if (loop.masked) {
        loop.loop_mask = region.mask = compile_mask_new(c);
        loop.body_mask =
            loop_escapes(c, s->body, false).continues ? compile_mask_new(c) : loop.loop_mask;
        mask_start(c, loop.loop_mask, c->mask);
        c->mask = loop.loop_mask;
        c->region = &region;
    }
    compile_label_place(c, &start);
    if (!s->is_do)
        compile_loop_test(c, s->condition, &loop);
    compile_loop_body(c, s, &loop);
    if (loop.masked && has_escape(s->body))
        compile_add_leave_if_none(c);
    compile_list(c, s->step);
    if (s->is_do)
        compile_loop_test(c, s->condition, &loop);
    c->loc = s->loc;
    if (!s->step && !expr_has_atomic(s->condition) && changes_nothing(s->body))
        compile_add_step(c, step_stuck);
    compile_add_jump(c, step_jump, 0, &start);
    compile_label_place(c, &end);
    compile_deferral_end(c, &deferral);
    c->mask = mask;
    c->region = outer;
    scope_end(c, &scope, top);
    if (has_escape(s->body))
        compile_add_leave_if_none(c);
}

static void compile_loop(struct compiler *c, const struct stmt *s)
{
    struct label end = {0};
    bool outer = c->seldom;
    c->seldom |= compile_products(c, s, &end);
    compile_turns(c, s);
    c->seldom = outer;
    compile_label_place(c, &end);
}

/* --- leaving --- */

/* Emits a step in which the running lanes leave every mask from the current one outward, up to
 * and including `last`. */
static void emit_mask_leave(struct compiler *c, uint32_t last)
{
    struct mask_list *list;
    int count = 0;
    for (const struct region *r = c->region; r; r = r->outer)
        count += 1;
    list = arena_alloc(c->arena, sizeof *list + (size_t)count * sizeof list->mask[0]);
    for (const struct region *r = c->region; r; r = r->outer) {
        bool again = r->mask == c->mask;
        for (int i = 0; i < list->count; i++)
            again |= list->mask[i] == r->mask;
        if (!again)
            list->mask[list->count++] = r->mask;
        if (r->mask == last)
            break;
    }
    struct instr *in = compile_add_step(c, step_mask_leave);
    in->detail = list;
    in->mask = c->mask;
    compile_add_jump(c, step_jump, 0, c->region->end);
}

static void compile_escape(struct compiler *c, const struct stmt *s)
{
    struct loop *loop = c->loop;
    if (!loop) {
        compile_error(c, "break or continue outside a loop");
        return;
    }
    for (const struct scope *scope = c->scope; scope != loop->scope; scope = scope->outer)
        emit_scope_leave(c, scope);
    bool breaks = s->kind == STMT_BREAK;
    if (loop->masked && (breaks || loop->body_mask != loop->loop_mask))
        emit_mask_leave(c, breaks ? loop->loop_mask : loop->body_mask);
    else
        compile_add_jump(c, step_jump, 0, breaks ? loop->end : loop->next);
}

/* Compiles a return. If surrounding masks may have other lanes, the running lanes leave these
 * masks; otherwise the kernel ends. */
static void compile_return(struct compiler *c)
{
    if (c->mask == NO_SLOT)
        compile_add_step(c, step_end);
    else
        emit_mask_leave(c, NO_SLOT);
}

/* --- all statements --- */

static void compile_stmt(struct compiler *c, const struct stmt *s)
{
    c->loc = s->loc;
    switch (s->kind) {
    case STMT_DECL: compile_decl(c, s); break;
    case STMT_ASSIGN: compile_assign(c, s); break;
    case STMT_ASYNC_COPY: compile_async(c, s); break;
    case STMT_EFFECT:
        if (!s->added || s->value->op != OP_ASSUME) /* facts that the compiler proved need no
                                                     * check */
            compile_effect(c, s->value);
        break;
    case STMT_IF: compile_if(c, s); break;
    case STMT_FOR:
    case STMT_WHILE: compile_loop(c, s); break;
    case STMT_BLOCK:
        compile_scope(c, s->body);
        if (has_escape(s->body))
            compile_add_leave_if_none(c);
        break;
    case STMT_BREAK:
    case STMT_CONTINUE: compile_escape(c, s); break;
    case STMT_RETURN: compile_return(c); break;
    case STMT_ROLE: compile_role(c, s); break;
    case STMT_ONE_THREAD: compile_one_thread(c, s); break;
    case STMT_ENSURES: break;
    }
}

static void compile_list(struct compiler *c, const struct stmt *first)
{
    const struct stmt *outer = c->list;
    c->list = first;
    for (const struct stmt *s = first; s && !c->why; s = s->next) {
        compile_seen_place(c, s);
        compile_stmt(c, s);
    }
    c->list = outer;
}

void compile_body(struct compiler *c)
{
    struct label end = {0};
    struct region root = {.end = &end};
    struct scope scope;
    c->emit_expr = compile_expr_by_op;
    c->emit_scope = scope_of_its_own;
    scope_enter(c, &scope);
    if (c->lanes > 1 && lanes_return(c, c->kernel->body, false)) {
        root.mask = c->mask = compile_mask_new(c);
        c->region = &root;
        mask_start(c, root.mask, NO_SLOT);
    }
    compile_roles_open(c);
    compile_list(c, c->kernel->body);
    compile_label_place(c, &end);
    c->loc = c->kernel->loc;
    compile_add_step(c, step_end);
}
