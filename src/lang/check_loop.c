/* Loops, and what a pipeline can stage. */
#include "lang/check_internal.h"

#include <string.h>

/* --- pipelines --- */

bool allowed_in_pipeline(struct checker *c, struct loc at, const char *what)
{
    if (c->pipeline_level == 0)
        return true;
    diag_error(c->diag, at, "`%s` in the body of a pipeline", what);
    diag_note(c->diag, at,
              "stages, waits and barriers are the compiler's there; by hand they are "
              "written in a plain `for`");
    return false;
}

/* A start that differs between threads, or a list of rows, cannot be fetched ahead as one tile. */
static const char *unstaged_index(struct checker *c, const struct expr *e)
{
    for (int i = 0; i < e->indices; i++) {
        if (e->index[i].kind == IX_GATHER)
            return "its rows are chosen one by one";
        if (expr_varies(c, e->index[i].value))
            return "its place differs between threads";
    }
    return NULL;
}

static const char *why_unstaged(struct checker *c, const struct expr *value, const struct sym *s)
{
    if (value->op != OP_ACCESS || value->sym->storage != ST_VIEW)
        return "it is filled with something computed, not with a part of a view";
    if (!value->sym->is_const)
        return "the view is not const: the kernel may write what is fetched ahead";
    if (!type_same_shape(&value->type, &s->type))
        return "the part of the view has another shape";
    return unstaged_index(c, value);
}

bool check_staged(struct checker *c, const struct node *n, const struct sym *s,
                  const struct expr *value)
{
    if (!n->init) {
        diag_error(c->diag, n->loc, "`%s` cannot be staged: it has no value to be filled with",
                   s->name);
        diag_note(c->diag, n->loc,
                  "write `shared … %s[…] = A[…][…];`, or declare it before the pipeline", s->name);
        return false;
    }
    const char *why = value ? why_unstaged(c, value, s) : NULL;
    if (!value || !why)
        return value != NULL;
    diag_error(c->diag, n->init->loc, "`%s` cannot be staged: %s", s->name, why);
    if (value->op == OP_ACCESS && value->sym->storage == ST_VIEW && !value->sym->is_const) {
        const struct sym *base = value->sym->base;
        if (base)
            diag_note(c->diag, base->loc, "if nobody writes it during the launch: `const %s *%s`",
                      dtype_table[base->type.dtype].name, base->name);
    } else if (value->op == OP_CAST)
        diag_note(c->diag, n->init->loc,
                  "stage it in the view's type, and convert in registers: "
                  "`reg … = (…) %s;`",
                  s->name);
    else
        diag_note(c->diag, n->init->loc, "staged are parts `A[i +: M][j +: N]` of const views");
    return false;
}

/* --- for --- */

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
        for (const struct node *n = init; n; n = n->next) {
            c->hoistable = true;
            check_assign(c, n);
        }
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
    loop->body = check_body(c, n->body);
    c->loops--;
    c->loop_depth--;
    c->pipeline_level = pipeline_level;
}

/* Statements that an initial value needs go in front; then the declarations do too, in a block around the loop. */
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
    return *last;
}

void check_for(struct checker *c, const struct node *n)
{
    int outer = scope_open(c);
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
    c->tail = after;
    scope_close(c, outer);
}

void check_while(struct checker *c, const struct node *n)
{
    struct stmt *s = check_emit(c, STMT_WHILE, n->loc), **after = c->tail;
    s->is_do = n->is_do;
    c->hoistable = false;
    s->condition = check_condition(c, n->a);
    c->loops++;
    c->loop_depth++;
    s->body = check_body(c, n->body);
    c->loops--;
    c->loop_depth--;
    c->tail = after;
}
