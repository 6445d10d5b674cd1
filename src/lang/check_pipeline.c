/* The tiles that a pipeline can stage (Meaning 16): the shared tiles that its body declares and
 * fills from const views, at addresses that are known iterations ahead. So an address may use
 * the loop's counters, values set before the loop, and scalars of the body that are set once
 * from these. It may use neither values that the body assigns nor memory that the kernel may
 * write. */
#include "lang/check_internal.h"

bool check_allowed_in_pipeline(struct checker *c, struct loc at, const char *what)
{
    if (c->pipeline_level == 0)
        return true;
    diag_error(c->diag, at, "`%s` in the body of a pipeline", what);
    diag_note(c->diag, at,
              "stages, waits and barriers are the compiler's there; by hand they are "
              "written in a plain `for`");
    return false;
}

/* Returns why an index cannot be fetched ahead as one tile: a start that differs between
 * threads, or a list of rows. NULL: it can be fetched. */
static const char *unstaged_index(struct checker *c, const struct expr *e)
{
    for (int i = 0; i < e->indices; i++) {
        if (e->index[i].kind == IX_GATHER)
            return "its rows are chosen one by one";
        if (check_expr_varies(c, e->index[i].value))
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
            diag_note(c->diag, base->loc, "if the kernel does not write it: `const %s *%s`",
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

/* --- checks after the whole body is known --- */

struct body {
    struct checker *c;
    struct stmt *loop;
    const struct sym *wanted; /* symbol that a search looks for */
    const struct stmt *found;
    const struct sym *staged; /* the tile whose address is being checked */
    int depth;
};

static void find_assignment(void *user, struct stmt *s)
{
    struct body *b = user;
    if (s->kind == STMT_ASSIGN && s->target->sym == b->wanted)
        b->found = s;
}

static void find_declaration(void *user, struct stmt *s)
{
    struct body *b = user;
    if (s->kind == STMT_DECL && s->sym == b->wanted)
        b->found = s;
}

static const struct stmt *search(struct body *b, const struct sym *wanted,
                                 void (*visit)(void *user, struct stmt *s))
{
    struct body one = {.wanted = wanted};
    stmt_walk(b->loop->body, visit, &one);
    return one.found;
}

static void refuse_address(struct body *b, struct loc at, const char *why, const char *name,
                           const struct stmt *place)
{
    struct diag *d = b->c->diag;
    diag_error(d, at, "`%s` cannot be staged: %s `%s`", b->staged->name, why, name);
    if (place)
        diag_note(d, place->loc,
                  "assigned here; a copy that is fetched ahead needs its place before that");
    else
        diag_note(d, at, "read it from a view of a `const` pointer");
}

static void check_address(void *user, struct expr **at)
{
    struct body *b = user;
    const struct expr *e = *at;
    const struct sym *s = e->sym;
    if (!s || s == b->staged)
        return;
    if (e->op == OP_ACCESS && !(s->storage == ST_VIEW && s->is_const) && s->storage != ST_ARRAY)
        refuse_address(b, e->loc, "its place is read from memory that may change,", s->name, NULL);
    if (e->op != OP_REF && s->storage != ST_ARRAY)
        return;
    const struct stmt *assigned = search(b, s, find_assignment);
    if (assigned) {
        refuse_address(b, e->loc, "its place depends on what the body assigns,", s->name, assigned);
        return;
    }
    const struct stmt *declared = search(b, s, find_declaration);
    if (declared && declared->value && b->depth < 64) {
        struct expr *value = declared->value;
        b->depth++;
        expr_walk(&value, check_address, b);
        b->depth--;
    }
}

static void check_fill(void *user, struct stmt *s)
{
    struct body *b = user;
    if (s->kind != STMT_DECL || !s->sym->staged || !s->value)
        return;
    b->staged = s->sym;
    for (int i = 0; i < s->value->indices; i++)
        expr_walk(&s->value->index[i].value, check_address, b);
}

static void refuse_atomic(void *user, struct expr **at)
{
    struct body *b = user;
    const struct expr *e = *at;
    if (!op_is_atomic(e->op) || !e->args[0]->sym || !e->args[0]->sym->staged)
        return;
    diag_error(b->c->diag, e->loc, "`%s` is staged: nothing is written to it",
               e->args[0]->sym->name);
    diag_note(b->c->diag, e->args[0]->sym->loc, "declare a tile before the pipeline for that");
}

static void check_root(void *user, struct expr **root, bool is_target)
{
    (void)is_target;
    expr_walk(root, refuse_atomic, user);
}

static void check_use(void *user, struct stmt *s)
{
    struct body *b = user;
    struct diag *d = b->c->diag;
    bool frees = s->kind == STMT_EFFECT && s->value->op == OP_FREE;
    const struct sym *written = s->kind == STMT_ASSIGN ? s->target->sym
                                : frees                ? s->value->sym
                                                       : NULL;
    stmt_expressions(s, check_root, b);
    if (written && written->staged && frees) {
        diag_error(d, s->loc, "`%s` is staged: it lives as long as its pipeline", written->name);
        diag_note(d, s->loc, "leave the `free` out");
    } else if (written && written->staged) {
        diag_error(d, s->loc, "`%s` is staged: nothing is written to it", written->name);
        diag_note(d, written->loc, "keep what is computed in registers: `reg … x[…] = %s;`",
                  written->name);
    }
    if (s->kind == STMT_RETURN) {
        diag_error(d, s->loc, "`return` in the body of a pipeline");
        diag_note(d, s->loc, "copies for later turns are under way: leave the loop with `break`");
    }
}

void check_pipeline(struct checker *c, struct stmt *loop)
{
    struct body b = {.c = c, .loop = loop};
    stmt_walk(loop->body, check_fill, &b);
    stmt_walk(loop->body, check_use, &b);
}
