/* Loops. */
#include "lang/check_internal.h"

#include <string.h>

/* --- for --- */

/* Checks `i = 0` as the init of a `for`. If i is unknown, a note says to declare it with a type. */
static void check_init_assign(struct checker *c, const struct node *n)
{
    bool unknown = n->a && n->a->kind == N_NAME && !lookup_name(c, n->a->text) &&
                   !module_entry(c->module, n->a->text);
    int errors = c->diag->errors;
    c->hoistable = true;
    check_assign(c, n);
    if (unknown && c->diag->errors > errors)
        diag_note(c->diag, n->a->loc, "declare it: `for (i32 %s; …`", source_snippet(c, n->loc));
}

static void check_init(struct checker *c, const struct node *init)
{
    if (init->kind == N_DECLS && init->list && (init->list->i != DECL_PLAIN || init->list->dims)) {
        diag_error(c->diag, init->loc, "a loop begins with scalars");
        diag_note(c->diag, init->loc, "declare it before the loop");
        for (const struct node *d = init->list; d; d = d->next)
            poison_name(c, d->text, d->loc);
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
    else if (n->unroll && constant_in(c, n->unroll, "the factor of `unroll`", 1, 1024, &value))
        loop->unroll = (int)value;
    if (n->stages && constant_in(c, n->stages, "the number of stages", 1, 64, &value))
        loop->stages = (int)value;
    if (n->stages && c->pipeline_level > 0)
        diag_error(c->diag, n->loc, "a pipeline within a pipeline");
}

static void check_for_body(struct checker *c, const struct node *n, struct stmt *loop)
{
    int pipeline_level = c->pipeline_level;
    if (n->stages)
        c->pipeline_level = c->level + 1;
    c->loops++;
    c->loop_depth++;
    loop->block = block_of(n->body);
    loop->body = check_body(c, n->body);
    c->loops--;
    c->loop_depth--;
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

void check_for(struct checker *c, const struct node *n)
{
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
    c->loops++;
    c->loop_depth++;
    s->block = block_of(n->body);
    s->body = check_body(c, n->body);
    c->loops--;
    c->loop_depth--;
    c->tail = after;
}
