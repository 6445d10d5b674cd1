/* Reads of variables that no statement gave a value.
 *
 * The check refuses a read if no assignment can come before it on any path: when the program first
 * gets there, the variable holds nothing. The walk goes in program order and tracks which variables
 * may have a value. After an `if`, a variable that either branch assigned counts as assigned; after
 * a loop, so does one that its body assigned. Within a loop, an assignment further down may come
 * before a read further up: an earlier iteration may have skipped the read and run the assignment.
 * That is possible if the read is in a branch, in an inner loop or in an operand that is not always
 * evaluated, and the assignment is outside of that.
 *
 * Shared tiles are left out, because other threads write them. Assigning one element of a tile
 * or array counts as assigning all of it. */
#include "lang/check_internal.h"

#include <string.h>

/* Code within a loop's body that does not run in every iteration: a branch, an inner loop or an
 * operand. */
struct branch {
    const struct stmt *loop; /* the innermost loop around it; NULL: none */
    const struct stmt *body; /* NULL: the code is an operand */
    const struct branch *outer;
};

struct assigned {
    struct checker *c;
    size_t *number;                  /* by sym->index: from 1 on, the number of a variable
                                      * declared without a value; 0: others */
    bool *has;                       /* by number: the variable may have a value here */
    size_t count;                    /* number of numbers, 0 included */
    const struct inlining **inlined; /* by number: the call that declared it */
    const struct stmt *loop;         /* the innermost loop around the code */
    const struct stmt *beyond;       /* the next loop outwards while a loop's condition is read,
                                      * else NULL */
    const struct branch *branches;
};

static size_t number_of(const struct assigned *w, const struct sym *s)
{
    bool local = s && (s->storage == ST_SCALAR || s->storage == ST_REG || s->storage == ST_ARRAY);
    return local ? w->number[s->index] : 0;
}

/* --- assignments in earlier iterations of a loop --- */

/* Returns true if the list `first`, or a list below it, has a statement of that kind for s. The
 * list `skip` is left out. */
static bool speaks_of(const struct stmt *first, const struct stmt *skip, enum stmt_kind kind,
                      const struct sym *s)
{
    for (const struct stmt *at = first; at && first != skip; at = at->next) {
        if (at->kind == kind && (kind == STMT_DECL ? at->sym : at->target->sym) == s)
            return true;
        if (speaks_of(at->init, skip, kind, s) || speaks_of(at->body, skip, kind, s) ||
            speaks_of(at->otherwise, skip, kind, s) || speaks_of(at->step, skip, kind, s))
            return true;
    }
    return false;
}

static bool earlier_turn(const struct assigned *w, const struct sym *s)
{
    for (const struct branch *b = w->branches; b; b = b->outer) {
        const struct stmt *loop = b->loop;
        /* Variables of a loop's body start without a value in each iteration. */
        if (!loop || speaks_of(loop->body, NULL, STMT_DECL, s))
            continue;
        if (speaks_of(loop->body, b->body, STMT_ASSIGN, s) ||
            speaks_of(loop->step, b->body, STMT_ASSIGN, s))
            return true;
    }
    return false;
}

/* --- reads --- */

static void without_value(struct assigned *w, const struct expr *e)
{
    struct checker *c = w->c;
    const struct sym *s = e->sym;
    const char *name = s->loc.source ? check_source_snippet(c, s->loc) : s->name;
    diag_error(c->diag, e->loc, "`%s` is read before it has a value", name);
    diag_note(c->diag, s->loc, "declared here without a value: `= 0` starts from zero");
    for (const struct inlining *i = w->inlined[w->number[s->index]]; i; i = i->outer)
        diag_note(c->diag, i->call, "in this call of `%s`", i->name);
}

enum evaluation { ALWAYS, SOMETIMES, NEVER };

static enum evaluation evaluation(struct checker *c, const struct expr *e, int arg)
{
    bool chooses = e->op == OP_SELECT || e->op == OP_WHERE;
    if (arg == 0 || !(chooses || e->op == OP_LAND || e->op == OP_LOR))
        return ALWAYS;
    bool truth = chooses ? arg == 1 : e->op == OP_LAND;
    return check_rules_out(c, e->args[0], truth) ? NEVER : SOMETIMES;
}

static void read_values(struct assigned *w, const struct expr *e);

/* Reads the index values and the `else` value of an access. */
static void read_indices(struct assigned *w, const struct expr *e)
{
    for (int i = 0; i < e->indices; i++)
        read_values(w, e->index[i].value);
    read_values(w, e->otherwise);
}

static void read_values(struct assigned *w, const struct expr *e)
{
    if (!e)
        return;
    const struct branch *outer = w->branches, beyond = {w->beyond, NULL, outer},
                        operand = {w->loop, NULL, &beyond};
    for (int i = 0; i < e->count; i++) {
        enum evaluation when = evaluation(w->c, e, i);
        w->branches = when == SOMETIMES ? &operand : outer;
        if (when != NEVER)
            read_values(w, e->args[i]);
    }
    w->branches = outer;
    read_indices(w, e);
    size_t number = e->op == OP_REF || e->op == OP_ACCESS ? number_of(w, e->sym) : 0;
    if (number == 0 || w->has[number])
        return;
    if (!earlier_turn(w, e->sym))
        without_value(w, e);
    w->has[number] = true; /* reported: no second error for it */
}

/* --- statements --- */

static void walk(struct assigned *w, const struct stmt *first);

static void walk_branch(struct assigned *w, const struct stmt *body)
{
    const struct branch branch = {w->loop, body, w->branches};
    w->branches = &branch;
    walk(w, body);
    w->branches = branch.outer;
}

static void walk_if(struct assigned *w, const struct stmt *s)
{
    read_values(w, s->condition);
    bool *before = NULL, *then = w->has;
    if (s->otherwise)
        before = arena_copy(w->c->arena, w->has, w->count * sizeof *before);
    if (!check_rules_out(w->c, s->condition, true))
        walk_branch(w, s->body);
    if (!before)
        return;
    w->has = before;
    if (!check_rules_out(w->c, s->condition, false))
        walk_branch(w, s->otherwise);
    for (size_t i = 0; i < w->count; i++)
        w->has[i] = w->has[i] || then[i];
}

/* Evaluates e as it is when the loop begins: a constant, or the initial value of the loop's
 * counter. Returns false if it is not known. */
static bool at_first(const struct stmt *loop, const struct expr *e, struct literal *out)
{
    const struct stmt *init = loop->init;
    bool counter = init && init->kind == STMT_DECL && e->op == OP_REF && e->sym == init->sym;
    return eval_scalar(counter ? init->value : e, NULL, out);
}

/* Returns true if the condition is known to be false when the loop begins. */
static bool never_turns(struct checker *c, const struct stmt *loop)
{
    const struct expr *e = loop->condition;
    struct literal side[2], holds;
    if (!e || e->count != 2 || op_table[e->op].class != CLASS_COMPARE)
        return check_rules_out(c, e, true);
    return at_first(loop, e->args[0], &side[0]) && at_first(loop, e->args[1], &side[1]) &&
           eval_op(e->op, e->args[0]->type.dtype, side, 2, &holds) && holds.i == 0;
}

static void walk_loop(struct assigned *w, const struct stmt *s)
{
    const struct stmt *outer = w->loop;
    walk(w, s->init);
    w->loop = s;
    w->beyond = outer; /* an earlier iteration of either loop may have skipped an operand of the
                        * condition */
    if (!s->is_do)
        read_values(w, s->condition);
    w->beyond = NULL;
    if (!s->is_do && never_turns(w->c, s)) {
        w->loop = outer;
        return;
    }
    /* `continue` may reach the step without passing the reads in the body. */
    for (const struct stmt *step = s->step; step; step = step->next)
        if (step->kind == STMT_ASSIGN)
            w->has[number_of(w, step->target->sym)] = true;
    const struct branch branch = {outer, s->body, w->branches};
    w->branches = &branch;
    walk(w, s->body);
    walk(w, s->step);
    if (s->is_do)
        read_values(w, s->condition);
    w->branches = branch.outer;
    w->loop = outer;
}

static void walk(struct assigned *w, const struct stmt *first)
{
    for (const struct stmt *s = first; s && !diag_full(w->c->diag); s = s->next) {
        switch (s->kind) {
        case STMT_IF: walk_if(w, s); break;
        case STMT_FOR:
        case STMT_WHILE: walk_loop(w, s); break;
        case STMT_BLOCK:
        case STMT_ROLE:
        case STMT_ONE_THREAD: walk(w, s->body); break;
        case STMT_ENSURES: break; /* reads only parameters and views */
        default:
            read_values(w, s->value);
            if (s->target)
                read_indices(w, s->target);
        }
        if (s->kind == STMT_DECL)
            w->has[number_of(w, s->sym)] = false;
        else if (s->kind == STMT_ASSIGN)
            w->has[number_of(w, s->target->sym)] = true;
    }
}

/* Numbers a variable that is declared without a value. The second walk records the call that
 * declared it. */
static void add_number(void *user, struct stmt *s)
{
    struct assigned *w = user;
    if (s->kind != STMT_DECL || s->value)
        return;
    if (w->inlined)
        w->inlined[w->number[s->sym->index]] = s->inlined;
    else
        w->number[s->sym->index] = w->count++;
}

void check_assigned(struct checker *c)
{
    struct assigned w = {.c = c, .count = 1};
    w.number = arena_array(c->arena, size_t, c->kernel->symbol_count + 1);
    stmt_walk(c->kernel->body, add_number, &w);
    if (w.count == 1)
        return;
    w.has = arena_array(c->arena, bool, w.count);
    w.inlined = arena_array(c->arena, const struct inlining *, w.count);
    stmt_walk(c->kernel->body, add_number, &w);
    walk(&w, c->kernel->body);
}
