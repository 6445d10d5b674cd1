/* Statements: assignments, copies, calls, if. Loops are in check_loop.c, declarations in
 * check_decl.c. */
#include "lang/check_internal.h"

#include <string.h>

/* --- copies in the background --- */

static const char *check_hint(struct checker *c, const struct node *n)
{
    static const char *const hints[] = {"evict_first", "evict_last", "evict_normal", "no_allocate"};
    enum { HINTS = sizeof hints / sizeof hints[0] };
    if (!n->text)
        return NULL;
    for (size_t i = 0; i < HINTS; i++)
        if (strcmp(hints[i], n->text) == 0)
            return hints[i];
    const char *near = text_nearest(n->text, hints, HINTS);
    diag_error(c->diag, n->loc, "there is no hint `%s`", n->text);
    diag_note(c->diag, n->loc, "%s`%s`",
              near ? "did you mean "
                   : "there are evict_first, evict_last, "
                     "evict_normal and ",
              near ? near : hints[HINTS - 1]);
    return NULL;
}

/* Checks the places of `async C[…][…] = sc;`, a store in the background. */
static bool store_places(struct checker *c, const struct node *n, const struct expr *to,
                         const struct expr *from)
{
    if (from->op != OP_ACCESS || from->sym->storage != ST_SHARED) {
        diag_error(c->diag, n->b->loc, "`async` stores a shared tile, as it is; `%s` is none",
                   check_source_snippet(c, n->b->loc));
        diag_note(c->diag, n->loc, "without `async` any value may be stored");
        return false;
    }
    if (!n->c)
        return true;
    diag_error(c->diag, n->c->loc, "a store completes on no mbarrier");
    diag_note(c->diag, n->loc, "write `async %s = …;`, and wait with `store_wait(n)`",
              to->sym->name);
    return false;
}

static bool async_places(struct checker *c, const struct node *n, const struct expr *to,
                         const struct expr *from)
{
    bool stores = to->op == OP_ACCESS && to->sym->storage == ST_VIEW;
    if (stores && !store_places(c, n, to, from))
        return false;
    if (!stores && (to->op != OP_ACCESS || to->sym->storage != ST_SHARED)) {
        diag_error(c->diag, n->a->loc, "`async` fills a shared tile; `%s` is %s", to->sym->name,
                   check_storage_text(to->sym));
        return false;
    }
    if (stores) {
    } else if (from->op != OP_ACCESS || from->sym->storage != ST_VIEW) {
        diag_error(c->diag, n->b->loc,
                   "`async` copies from global memory, as it is; `%s` is computed",
                   check_source_snippet(c, n->b->loc));
        diag_note(c->diag, n->loc, "without `async` any value may be stored");
        return false;
    }
    if (to->type.rank == 0) {
        diag_error(c->diag, n->loc, "`async` copies tiles, and this is one element");
        diag_note(c->diag, n->loc, "write slices `[i +: n]`, or leave `async` out");
        return false;
    }
    if (!type_same_shape(&to->type, &from->type)) {
        check_shape_error(
            c, n->b->loc, arena_printf(c->arena, "`%s`", check_source_snippet(c, n->a->loc)),
            &to->type, arena_printf(c->arena, "`%s`", check_source_snippet(c, n->b->loc)),
            &from->type);
        diag_note(c->diag, to->sym->loc, "`%s` is declared here", to->sym->name);
        return false;
    }
    if (to->type.dtype == from->type.dtype)
        return true;
    diag_error(c->diag, n->b->loc, "`async` copies bytes: `%s` is %s, `%s` is %s",
               check_source_snippet(c, n->a->loc), dtype_table[to->type.dtype].name,
               check_source_snippet(c, n->b->loc), dtype_table[from->type.dtype].name);
    diag_note(c->diag, n->loc, "leave `async` out to convert on the way");
    return false;
}

static void check_async(struct checker *c, const struct node *n)
{
    bool allowed = check_allowed_in_pipeline(c, n->loc, "async");
    if (!check_is_own_place(c, n->c, "the mbarrier of a copy") ||
        !check_is_own_place(c, n->a, "the tile of a copy") ||
        !check_is_own_place(c, n->b, "the tile of a copy"))
        return;
    struct expr *barrier = n->c ? check_mbarrier_place(c, n->c) : NULL;
    struct expr *multicast = n->peer ? check_multicast(c, n) : NULL;
    struct expr *to = check_target(c, n->a, "assigned to");
    struct expr *from = check_operand(c, n->b);
    const char *hint = check_hint(c, n);
    if (c->thread_level && to && (n->c || to->sym->storage == ST_VIEW)) {
        diag_error(c->diag, n->loc, "a tensor copy in a kernel with `threads(…)`");
        diag_note(c->diag, c->kernel->loc, "tensor copies are for kernels with `warps(n)`");
        return;
    }
    if (!allowed || !to || !from || (n->c && !barrier) || (n->peer && !multicast) ||
        !async_places(c, n, to, from))
        return;
    struct stmt *s = check_emit(c, STMT_ASYNC_COPY, n->loc);
    s->target = to;
    s->value = from;
    s->hint = hint;
    s->barrier = barrier;
    s->multicast = multicast;
}

/* --- calls --- */

/* Emits a value that is not used: only its effects are kept. */
static void emit_value(struct checker *c, struct expr *e)
{
    if (!expr_has_atomic(e))
        return;
    if (op_is_atomic(e->op)) {
        check_emit(c, STMT_EFFECT, e->loc)->value = e;
        return;
    }
    check_keep_value(c, "unused", &e->type, e, e->loc);
}

static void check_call_statement(struct checker *c, const struct node *n)
{
    const struct node *call = n->a;
    enum op op = op_by_text(call->text, FORM_CALL, -1);
    if (op == OP_ARRIVE && check_names_mbarrier(c, check_call_argument(call, 0)))
        op = OP_MBARRIER_ARRIVE;
    if (n->is_added && !stmt_may_be_uncredited(op)) {
        diag_error(c->diag, n->loc, "`added` marks a barrier or a wait, and `%s` is neither",
                   call->text);
        diag_note(
            c->diag, n->loc,
            "write it after `sync()`, `async_wait(n)` or `async_commit()`, if the static check "
            "must not rely on them");
        return;
    }
    const struct entry *fn = module_entry(c->module, call->text);
    if (fn && fn->kind == ENTRY_FN) {
        struct fn_results results = {.count = 0};
        if (check_inline_fn(c, call, fn, &results))
            for (int i = 0; i < results.count; i++)
                emit_value(c, results.value[i]);
        return;
    }
    if (op != OP_COUNT && op_table[op].class == CLASS_EFFECT) {
        struct stmt **at = c->tail;
        check_effect_call(c, call, op);
        if (*at)
            (*at)->uncredited = n->is_added;
        return;
    }
    c->whole = call;
    struct expr *e = check_call(c, call, NULL);
    if (e && !expr_has_atomic(e))
        diag_error(c->diag, n->loc, "the value of `%s` is not used",
                   check_source_snippet(c, call->loc));
    else if (e)
        emit_value(c, e);
}

/* --- if --- */

/* Sets or clears the marks of freed tiles: a tile freed in one branch is still usable in the
 * other. */
static void set_freed(struct checker *c, size_t from, size_t to, bool freed)
{
    for (size_t i = from; i < to; i++)
        check_sym_info(c, c->freed.data[i])->freed = freed;
}

static void if_and(struct checker *c, const struct node *n, const struct node *rest, bool in_body)
{
    struct expr *condition = check_condition(c, n->a);
    if (n->body && n->body->kind == N_EMPTY && !n->otherwise) {
        diag_warning(c->diag, n->body->loc, "this `;` is the whole body of the `if`");
        diag_note(c->diag, n->body->loc,
                  "remove it, so that the next statement depends on the condition");
    }
    struct stmt *s = check_emit(c, STMT_IF, n->loc), **after = c->tail;
    s->condition = condition;
    size_t before = c->freed.count;
    bool never = check_rules_out(c, condition, true),
         never_else = check_rules_out(c, condition, false);
    c->never += never;
    s->block = check_block_of(n->body);
    s->body = check_arm_and(c, n->body, in_body ? rest : NULL);
    c->never += never_else - never;
    size_t then = c->freed.count;
    set_freed(c, before, then, false);
    if (n->otherwise)
        s->other_block = check_block_of(n->otherwise);
    s->otherwise = check_arm_and(c, n->otherwise, in_body ? NULL : rest);
    c->never -= never_else;
    set_freed(c, before, then, true);
    c->tail = after;
}

/* --- any statement --- */

static void check_return(struct checker *c, const struct node *n)
{
    if (c->frames) {
        check_early_return(c, n);
    } else if (n->a) {
        diag_error(c->diag, n->a->loc, "a kernel returns no value");
        diag_note(c->diag, n->loc, "store it in a view, and write `return;`");
    } else {
        check_emit(c, STMT_RETURN, n->loc);
    }
}

static void check_jump(struct checker *c, const struct node *n)
{
    if (c->loops == 0)
        diag_error(c->diag, n->loc, "`%s` outside of a loop",
                   n->kind == N_BREAK ? "break" : "continue");
    else
        check_emit(c, n->kind == N_BREAK ? STMT_BREAK : STMT_CONTINUE, n->loc);
}

static void check_block(struct checker *c, const struct node *n)
{
    struct stmt *s = check_emit(c, STMT_BLOCK, n->loc), **after = c->tail;
    s->block = check_block_of(n);
    s->body = check_body(c, n);
    c->tail = after;
}

static void statement_by_kind(struct checker *c, const struct node *n)
{
    if (!check_allowed_after_roles(c, n))
        return;
    switch (n->kind) {
    case N_DECLS: check_decls(c, n); break;
    case N_DESTRUCT: check_destructure(c, n); break;
    case N_ASSIGN: check_assign(c, n); break;
    case N_ASYNC: check_async(c, n); break;
    case N_EXPR: check_call_statement(c, n); break;
    case N_IF: check_if_and(c, n, NULL, false); break;
    case N_FOR: check_for(c, n); break;
    case N_WHILE: check_while(c, n); break;
    case N_BLOCK: check_block(c, n); break;
    case N_ROLE: check_role(c, n); break;
    case N_ONE_THREAD: check_one_thread(c, n); break;
    case N_BREAK:
    case N_CONTINUE: check_jump(c, n); break;
    case N_RETURN: check_return(c, n); break;
    case N_ENSURES: check_ensures(c, n); break;
    case N_STATIC_ASSERT:
    case N_REQUIRE: check_stated(c, n, true); break;
    case N_EMPTY: break;
    default: diag_error(c->diag, n->loc, "this is not a statement"); break;
    }
}

static void stmts_of_list(struct checker *c, const struct node *list, const struct node *stop)
{
    bool done = false;
    for (const struct node *n = list; n && n != stop && !diag_full(c->diag) && !done; n = n->next) {
        struct loc outer = c->start;
        c->hoistable = true;
        c->start = (struct loc){n->loc.source, n->start, 0};
        if (check_deeper(c, n->loc) && check_returns_within(c, n))
            done = check_returning(c, n);
        else if (c->depth <= MAX_DEPTH)
            check_statement(c, n);
        c->start = outer;
        c->depth--;
    }
}

static struct stmt *body_in_scope(struct checker *c, const struct node *n)
{
    struct stmt *first = NULL, **tail = c->tail;
    int outer = check_scope_open(c);
    c->tail = &first;
    if (n->kind == N_BLOCK)
        check_stmts(c, n->body, NULL);
    else {
        struct node alone = *n; /* an `if` in an else chain has no statement after it */
        alone.next = NULL;
        check_stmts(c, &alone, NULL);
    }
    check_scope_close(c, outer);
    c->tail = tail;
    return first;
}

void check_set_up(struct checker *c, struct arena *a, struct diag *d, const struct module *m,
                  const char *name, struct loc loc)
{
    static const struct check_parts parts = {check_expr_by_kind, stmts_of_list, body_in_scope,
                                             statement_by_kind, if_and};
    *c = (struct checker){.parts = &parts, .arena = a, .diag = d, .module = m};
    c->kernel = kernel_new(a, name, loc);
    c->consts = arena_array(a, struct const_slot, m->known_count + 1);
    name_table_init(&c->unique, a);
    name_table_init(&c->numbered, a);
    name_table_init(&c->own, a);
    c->tail = &c->kernel->body;
}
