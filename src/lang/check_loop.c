/* Loops. */
#include "lang/check_internal.h"

#include <string.h>

/* --- for --- */

/* Checks `i = 0` as the init of a `for`. If i is unknown, a note says to declare it with a type. */
static void check_init_assign(struct checker *c, const struct node *n)
{
    bool unknown = n->a && n->a->kind == N_NAME && !check_lookup_name(c, n->a->text) &&
                   !module_entry(c->module, n->a->text);
    int errors = c->diag->errors;
    c->hoistable = true;
    check_assign(c, n);
    if (unknown && c->diag->errors > errors)
        diag_note(c->diag, n->a->loc, "declare it: `for (i32 %s; …`",
                  check_source_snippet(c, n->loc));
}

static void check_init(struct checker *c, const struct node *init)
{
    if (init->kind == N_DECLS && init->list && (init->list->i != DECL_PLAIN || init->list->dims)) {
        diag_error(c->diag, init->loc, "a loop begins with scalars");
        diag_note(c->diag, init->loc, "declare it before the loop");
        for (const struct node *d = init->list; d; d = d->next)
            check_poison_name(c, d->text, d->loc);
    } else if (init->kind == N_DECLS) {
        check_decls(c, init);
    } else if (init->kind == N_DESTRUCT) {
        check_destructure(c, init);
    } else {
        for (const struct node *n = init; n; n = n->next)
            check_init_assign(c, n);
    }
}

static bool fits_init(const struct stmt *list)
{
    const enum dtype t = list && list->sym ? list->sym->type.dtype : DT_NONE;
    for (const struct stmt *s = list; s; s = s->next) {
        if (s->kind != STMT_ASSIGN && (s->kind != STMT_DECL || s->sym->storage != ST_SCALAR))
            return false;
        if (s->kind == STMT_DECL && (s->sym->type.dtype != t || s->sym->is_const))
            return false;
        if (s->kind != list->kind)
            return false;
    }
    return true;
}

static void check_steps(struct checker *c, const struct node *steps, struct stmt *loop)
{
    struct stmt **tail = c->tail;
    c->tail = &loop->step;
    for (const struct node *n = steps; n; n = n->next) {
        c->hoistable = false;
        check_assign(c, n);
    }
    c->tail = tail;
}

static void check_marks(struct checker *c, const struct node *n, struct stmt *loop)
{
    int64_t value;
    if (n->has_unroll && !n->unroll)
        loop->unroll = UNROLL_FULL;
    else if (n->unroll &&
             check_constant_in(c, n->unroll, "the factor of `unroll`", 1, 1024, &value))
        loop->unroll = (int)value;
    if (n->stages && check_constant_in(c, n->stages, "the number of stages", 1, 64, &value))
        loop->stages = (int)value;
    if (n->stages && c->pipeline_level > 0)
        diag_error(c->diag, n->loc, "a pipeline within a pipeline");
}

static struct stmt *check_loop_body(struct checker *c, const struct node *n)
{
    c->loops++;
    c->loop_depth++;
    struct stmt *body = check_body(c, n->body);
    c->loops--;
    c->loop_depth--;
    return body;
}

static void check_for_body(struct checker *c, const struct node *n, struct stmt *loop)
{
    int pipeline_level = c->pipeline_level;
    if (n->stages)
        c->pipeline_level = c->level + 1;
    loop->block = check_block_of(n->body);
    loop->body = check_loop_body(c, n);
    c->pipeline_level = pipeline_level;
}

/* Emits a loop. If an initial value needs statements, they and the loop's declarations go before
 * the loop, in a block around it. */
static struct stmt *emit_loop(struct checker *c, const struct node *n, struct stmt *init)
{
    if (fits_init(init)) {
        struct stmt *loop = check_emit(c, STMT_FOR, n->loc);
        loop->init = init;
        return loop;
    }
    struct stmt *block = check_emit(c, STMT_BLOCK, n->loc), **last = &block->body;
    block->body = init;
    while (*last)
        last = &(*last)->next;
    *last = stmt_new(c->kernel, STMT_FOR, n->loc);
    (*last)->start = c->start;
    return *last;
}

/* --- loops that are written out --- */

enum { MOST_WRITTEN = 64, MOST_OF_KERNEL = 4000 }; /* iterations */

/* A search through the body of a loop. */
struct body_search {
    const struct checker *c;
    const struct node *body;
    const char *variable;
    const char *tile;   /* a name that search_tile looks for */
    bool declares_tile; /* the body declares it in shared or global memory */
    bool in_start;      /* of a slice of a register tile */
    bool has_part;      /* a slice of a register tile begins at an expression with the variable */
    const struct node *left_early; /* a `break` or `continue` of this loop, or NULL */
};

static void search_tile(void *user, const struct node *n)
{
    struct body_search *s = user;
    s->declares_tile |= n->kind == N_DECL && (n->i == DECL_SHARED || n->i == DECL_GLOBAL) &&
                        strcmp(n->text, s->tile) == 0;
    module_visit_children(n, search_tile, s);
}

/* Returns true if a name in the body is that of a register tile, or may be. */
static bool may_be_in_registers(struct body_search *s, const char *name)
{
    const struct binding *b = check_lookup_name(s->c, name);
    if (b)
        return b->kind == BIND_SYM && b->sym->storage == ST_REG;
    s->tile = name;
    s->declares_tile = false;
    for (const struct node *n = s->body; n; n = n->next)
        search_tile(s, n);
    return !s->declares_tile;
}

static void search_body(void *user, const struct node *n)
{
    struct body_search *s = user;
    if (n->kind == N_NAME)
        s->has_part |= s->in_start && strcmp(n->text, s->variable) == 0;
    if (n->kind == N_BREAK || n->kind == N_CONTINUE)
        s->left_early = n;
    bool of_name = n->kind == N_ACCESS && n->a->kind == N_NAME;
    for (const struct node *i = of_name ? n->list : NULL; i; i = i->next)
        if (i->i == INDEX_SLICE && i->a && may_be_in_registers(s, n->a->text)) {
            s->in_start = true;
            search_body(s, i->a);
            s->in_start = false;
        }
    const struct node *before = s->left_early;
    module_visit_children(n, search_body, s);
    if (n->kind == N_FOR || n->kind == N_WHILE)
        s->left_early = before; /* those of an inner loop */
}

/* Returns the declaration of the variable of `for (i32 q = …; q < …; q += …)`, or NULL if the loop has
 * another form. */
static const struct node *counted(const struct node *n)
{
    const struct node *d = n->init && n->init->kind == N_DECLS ? n->init->list : NULL;
    if (!d || d->next || d->i != DECL_PLAIN || d->dims || !d->init || !n->a || !n->step)
        return NULL;
    if (!d->type->text || strcmp(d->type->text, "i32") != 0)
        return NULL;
    bool ends = n->a->kind == N_BINARY && n->a->op == OP_LT && n->a->a->kind == N_NAME &&
                strcmp(n->a->a->text, d->text) == 0;
    bool goes_on = n->step->kind == N_ASSIGN && !n->step->next && n->step->op == OP_ADD &&
                   n->step->a->kind == N_NAME && strcmp(n->step->a->text, d->text) == 0;
    return ends && goes_on ? d : NULL;
}

/* Checks the body once for each value of the variable, which is a constant there: so `acc[:][q * 32 +: 32]`
 * is a slice at a constant. Returns false, and does nothing, for loops that stay loops. */
static bool write_out(struct checker *c, const struct node *n)
{
    const struct node *d = n->has_unroll && !n->unroll ? counted(n) : NULL;
    int64_t first, end, step, least = -(1 << 24), most = 1 << 24;
    if (!d)
        return false;
    struct body_search search = {.c = c, .body = n->body, .variable = d->text};
    for (const struct node *s = n->body; s; s = s->next)
        search_body(&search, s);
    if (!search.has_part)
        return false;
    if (search.left_early)
        diag_error(c->diag, search.left_early->loc,
                   "`%s` in a loop that is written out, because slices of register tiles begin at "
                   "`%s`; put the rest into an `if`",
                   search.left_early->kind == N_BREAK ? "break" : "continue", d->text);
    if (!check_constant_in(c, d->init, "the start of this loop", least, most, &first) ||
        !check_constant_in(c, n->a->b, "the end of this loop", least, most, &end) ||
        !check_constant_in(c, n->step->b, "the step of this loop", 1, most, &step) ||
        search.left_early)
        return true;
    if (end > first)
        c->written += (end - first + step - 1) / step;
    if (end - first > MOST_WRITTEN * step || c->written > MOST_OF_KERNEL) {
        diag_error(c->diag, n->loc,
                   "this loop is written out, because slices of register tiles begin at `%s`; it "
                   "may have up to %d iterations, and all such loops together %d",
                   d->text, MOST_WRITTEN, MOST_OF_KERNEL);
        return true;
    }
    for (int64_t value = first; value < end; value += step) {
        struct stmt *block = check_emit(c, STMT_BLOCK, n->loc), **after = c->tail;
        int outer = check_scope_open(c);
        struct binding *b = check_bind_name(c, d->text, d->loc, BIND_VALUE);
        if (b)
            b->value = expr_int(c->kernel, DT_I32, value, d->loc);
        block->body = check_loop_body(c, n);
        check_scope_close(c, outer);
        c->tail = after;
    }
    return true;
}

void check_for(struct checker *c, const struct node *n)
{
    if (write_out(c, n))
        return;
    int outer = check_scope_open(c);
    struct stmt *init = NULL, **before = c->tail;
    c->tail = &init;
    if (n->init)
        check_init(c, n->init);
    c->tail = before;
    struct stmt *loop = emit_loop(c, n, init), **after = c->tail;
    c->hoistable = false;
    if (n->a)
        loop->condition = check_condition(c, n->a);
    check_marks(c, n, loop);
    check_for_body(c, n, loop);
    check_steps(c, n->step, loop);
    if (loop->stages > 0)
        check_pipeline(c, loop);
    c->tail = after;
    check_scope_close(c, outer);
}

void check_while(struct checker *c, const struct node *n)
{
    struct stmt *s = check_emit(c, STMT_WHILE, n->loc), **after = c->tail;
    s->is_do = n->is_do;
    c->hoistable = false;
    s->condition = check_condition(c, n->a);
    s->block = check_block_of(n->body);
    s->body = check_loop_body(c, n);
    c->tail = after;
}
