/* Folding: computes known values now, and removes code that can never run.
 *
 * It keeps every bit of every result: integers wrap and floats are rounded as they will be at
 * run time, x + 0.0 stays (it turns -0 into +0) and i * 16 / 16 stays (the product may wrap). A
 * read of memory is never dropped or moved, because it may report a fault. `ensures` is
 * evaluated in another precision, so only values that are exact in every precision are folded
 * there. Products are contracted with the sums that they feed before folding (contract.c). */
#include "tile/numbering.h"
#include "tile/passes.h"

#include <math.h>

struct folder {
    struct kernel *kernel;
    struct numbering numbers;
    int *assigned;          /* by symbol: number of statements that assign it */
    struct expr **constant; /* by symbol: the literal that is a scalar's only value, or NULL */
    struct expr **indices;  /* by symbol: the iota that is a tile's only value, or NULL */
    bool *declared;         /* by symbol: it is still declared after folding */
};

/* --- expressions --- */

static bool is_int_literal(const struct expr *e, int64_t v)
{
    return e->op == OP_LITERAL && !dtype_is_float(e->type.dtype) && e->literal.i == v;
}

/* Returns true if e is exactly v: -0.0 is not 0.0. */
static bool is_float_literal(const struct expr *e, double v)
{
    return e->op == OP_LITERAL && dtype_is_float(e->type.dtype) && e->literal.f == v &&
           signbit(e->literal.f) == signbit(v);
}

/* Returns true if e is the number v, 0 or 1, of any type. */
static bool is_number(const struct expr *e, int v)
{
    return is_int_literal(e, v) || is_float_literal(e, v);
}

static bool may_divide_by_zero(const struct expr *e)
{
    return op_divides(e->op) && !dtype_is_float(e->type.dtype) &&
           (e->args[1]->op != OP_LITERAL || e->args[1]->literal.i == 0);
}

/* Returns true if e can be dropped: it has no effect, and no access or division that could
 * fault. */
static bool is_droppable(const struct expr *e)
{
    if (!(op_table[e->op].flags & OP_PURE) || may_divide_by_zero(e))
        return false;
    for (int i = 0; i < e->count; i++)
        if (!is_droppable(e->args[i]))
            return false;
    return true;
}

static struct expr *truth(struct folder *f, const struct expr *e, bool value)
{
    return expr_int(f->kernel, DT_BOOL, value, e->loc);
}

/* Returns the operand that is left of x + 0, x - 0, x * 1, x / 1, x << 0, …, or NULL. */
static struct expr *identity(const struct expr *e)
{
    struct expr *a = e->args[0], *b = e->args[1];
    bool is_float = dtype_is_float(e->type.dtype);
    switch (e->op) {
    case OP_ADD:
        if (is_float ? is_float_literal(b, -0.0) : is_int_literal(b, 0))
            return a;
        return (is_float ? is_float_literal(a, -0.0) : is_int_literal(a, 0)) ? b : NULL;
    case OP_SUB: return is_number(b, 0) ? a : NULL;
    case OP_MUL: return is_number(b, 1) ? a : is_number(a, 1) ? b : NULL;
    case OP_DIV:
    case OP_CDIV: return is_number(b, 1) ? a : NULL;
    case OP_SHL:
    case OP_SHR: return is_int_literal(b, 0) ? a : NULL;
    case OP_OR:
    case OP_XOR: return is_int_literal(b, 0) ? a : is_int_literal(a, 0) ? b : NULL;
    default: return NULL;
    }
}

/* Makes x + 7 of (x + 3) + 4, for integers that wrap. */
static struct expr *join_summands(struct folder *f, const struct expr *e)
{
    const struct expr *inner = e->args[0], *c = e->args[1];
    enum dtype t = e->type.dtype;
    if (dtype_is_float(t) || c->op != OP_LITERAL || (inner->op != OP_ADD && inner->op != OP_SUB) ||
        inner->args[1]->op != OP_LITERAL || inner->type.dtype != t || c->type.dtype != t ||
        inner->args[1]->type.dtype != t || inner->args[0]->type.dtype != t)
        return NULL;
    uint64_t outer_part = (uint64_t)c->literal.i, inner_part = (uint64_t)inner->args[1]->literal.i;
    uint64_t sum = (e->op == OP_ADD ? outer_part : 0 - outer_part) +
                   (inner->op == OP_ADD ? inner_part : 0 - inner_part);
    int64_t wrapped = dtype_wrap(t, (int64_t)sum);
    bool minus = wrapped < 0 && dtype_wrap(t, -wrapped) == -wrapped && wrapped != INT64_MIN;
    if (wrapped == 0)
        return inner->args[0];
    return expr_binary(f->kernel, minus ? OP_SUB : OP_ADD, e->type, e->loc, inner->args[0],
                       expr_int(f->kernel, t, minus ? -wrapped : wrapped, c->loc));
}

/* Folds && and || with an operand of known value. If the left operand of scalars decides, the
 * right one never runs; in tiles the other operand must be droppable. */
static struct expr *fold_logic(struct folder *f, const struct expr *e)
{
    bool absorbing = e->op == OP_LOR;
    for (int i = 0; i < 2; i++) {
        struct expr *known = e->args[i], *other = e->args[1 - i];
        if (known->op != OP_LITERAL || known->type.dtype != DT_BOOL)
            continue;
        bool value = known->literal.i != 0;
        if (value != absorbing)
            return other->type.dtype == DT_BOOL ? other : NULL;
        bool dropped = (i == 0 && e->type.rank == 0) || is_droppable(other);
        return dropped && e->type.rank == 0 ? truth(f, e, value) : NULL;
    }
    return NULL;
}

/* Returns the greatest index of a tile of indices 0, 1, …; -1: the tile is not one. */
static int64_t greatest_index(const struct folder *f, const struct expr *e)
{
    int number = e->op == OP_REF ? numbering_of(&f->numbers, e->sym) : -1;
    int64_t greatest = 0;
    if (number >= 0 && f->indices[number])
        e = f->indices[number];
    if (e->op != OP_IOTA)
        return -1;
    for (int i = 0; i < e->type.rank; i++)
        if (e->type.extent[i] > 1)
            greatest = e->type.extent[i] - 1; /* the indices count along the last such axis */
    return greatest;
}

/* Returns true if a condition has the same value for all elements, such as `column < 1024` with
 * 1024 columns, or `true || row < column`, whose other operand can be dropped. */
static bool known_everywhere(const struct folder *f, const struct expr *e, bool *value)
{
    if (e->op == OP_LITERAL && !dtype_is_float(e->type.dtype)) {
        *value = e->literal.i != 0;
        return true;
    }
    if (e->op == OP_LAND || e->op == OP_LOR)
        for (int i = 0; i < 2; i++)
            if (known_everywhere(f, e->args[i], value) && *value == (e->op == OP_LOR) &&
                is_droppable(e->args[1 - i]))
                return true;
    if (e->op != OP_LT && e->op != OP_LE && e->op != OP_GT && e->op != OP_GE)
        return false;
    const struct expr *limit = e->args[1];
    int64_t greatest = greatest_index(f, e->args[0]);
    if (greatest < 0 || limit->op != OP_LITERAL || limit->type.dtype != DT_I32)
        return false;
    bool open = e->op == OP_LT || e->op == OP_GE; /* i < edge or its opposite; else the edge is
                                                   * one further */
    int64_t edge = limit->literal.i + !open;
    bool below = e->op == OP_LT || e->op == OP_LE;
    *value = (greatest < edge) == below;
    return greatest < edge || edge <= 0;
}

/* Leaves out an operand of a tile's condition that is true in each element of `&&`, or false in each of
 * `||`. The condition may then be one row for all rows of the result, if another operand still has
 * the result's shape. */
static struct expr *narrow_condition(struct folder *f, const struct expr *e)
{
    const struct expr *c = e->args[0];
    bool value;
    if ((c->op != OP_LAND && c->op != OP_LOR) || (!type_same_shape(&e->args[1]->type, &e->type) &&
                                                  !type_same_shape(&e->args[2]->type, &e->type)))
        return NULL;
    for (int i = 0; i < 2; i++)
        if (known_everywhere(f, c->args[i], &value) && value == (c->op == OP_LAND) &&
            is_droppable(c->args[i]) && c->args[1 - i]->type.dtype == DT_BOOL) {
            struct expr *narrow = expr_copy(f->kernel, e);
            narrow->args[0] = c->args[1 - i];
            return narrow;
        }
    return NULL;
}

static struct expr *fold_choice(struct folder *f, const struct expr *e)
{
    bool value;
    if (!known_everywhere(f, e->args[0], &value))
        return e->op == OP_WHERE ? narrow_condition(f, e) : NULL;
    int chosen = value ? 1 : 2;
    bool eager = e->op == OP_WHERE;
    return eager && !is_droppable(e->args[3 - chosen]) ? NULL : e->args[chosen];
}

/* Returns a simpler form of e; NULL: none. */
static struct expr *simpler(struct folder *f, const struct expr *e)
{
    struct expr *result;
    switch (e->op) {
    case OP_SELECT:
    case OP_WHERE: return fold_choice(f, e);
    case OP_LAND:
    case OP_LOR: return fold_logic(f, e);
    case OP_CAST: return e->args[0];
    case OP_NEG:
    case OP_INVERT:
    case OP_NOT: return e->args[0]->op == e->op ? e->args[0]->args[0] : NULL;
    case OP_MUL:
    case OP_AND:
        result = identity(e);
        if (!result && e->type.rank == 0 &&
            ((is_int_literal(e->args[1], 0) && is_droppable(e->args[0])) ||
             (is_int_literal(e->args[0], 0) && is_droppable(e->args[1]))))
            return expr_int(f->kernel, e->type.dtype, 0, e->loc);
        return result;
    case OP_ADD:
    case OP_SUB: result = identity(e); return result ? result : join_summands(f, e);
    default: return e->count == 2 ? identity(e) : NULL;
    }
}

/* Returns true if all operands are literals and the result can be one. */
static bool is_constant_op(const struct expr *e)
{
    if (!(op_table[e->op].flags & OP_PURE) || e->type.rank != 0 || e->count == 0 ||
        (op_table[e->op].flags & OP_APPROX))
        return false;
    for (int i = 0; i < e->count; i++)
        if (e->args[i]->op != OP_LITERAL)
            return false;
    return true;
}

/* Adds a cast to a product that became an operand of the sum e by folding. The product is
 * rounded before the sum, and the cast to its own type keeps that when the printed program is
 * compiled again. */
static void keep_apart(struct folder *f, struct expr *e)
{
    int product = expr_contracted(e);
    for (int i = 0; i < 2; i++) {
        struct expr *x = e->args[i];
        bool dot = e->op == OP_ADD && x->op == OP_DOT && x->count == 2 &&
                   dtype_is_float(x->type.dtype) && x->type.dtype == e->args[1 - i]->type.dtype &&
                   type_same_shape(&x->type, &e->args[1 - i]->type);
        if (i == product || dot)
            e->args[i] = expr_unary(f->kernel, OP_CAST, x->type, x->loc, x);
    }
}

static void fold_expr(void *user, struct expr **at)
{
    struct folder *f = user;
    struct expr *e = *at;
    struct literal value;
    int number = e->op == OP_REF ? numbering_of(&f->numbers, e->sym) : -1;
    if (number >= 0 && f->constant[number]) {
        *at = expr_copy(f->kernel, f->constant[number]);
        (*at)->loc = e->loc;
        return;
    }
    if ((e->op == OP_ADD || e->op == OP_SUB) && f->kernel->contracted)
        keep_apart(f, e);
    /* A literal cannot hold the payload of a NaN. */
    if (is_constant_op(e) && eval_scalar(e, NULL, &value) &&
        !(e->op == OP_BITS && value.is_float && isnan(value.f))) {
        *at = value.is_float ? expr_float(f->kernel, e->type.dtype, value.f, e->loc)
                             : expr_int(f->kernel, e->type.dtype, value.i, e->loc);
        return;
    }
    struct expr *other = op_table[e->op].flags & OP_PURE ? simpler(f, e) : NULL;
    if (other && other->type.dtype == e->type.dtype && type_same_shape(&other->type, &e->type))
        *at = other;
}

/* Folds in `ensures`, only if the result is exact in any precision. */
static void fold_exact(void *user, struct expr **at)
{
    const struct expr *e = *at;
    bool exact = !dtype_is_float(e->type.dtype);
    for (int i = 0; i < e->count; i++)
        exact = exact && !dtype_is_float(e->args[i]->type.dtype);
    if (exact || e->op == OP_REF)
        fold_expr(user, at);
}

static void fold_root(void *user, struct expr **root, bool is_target)
{
    (void)is_target;
    expr_walk(root, fold_expr, user);
}

static void fold_exact_root(void *user, struct expr **root, bool is_target)
{
    (void)is_target;
    expr_walk(root, fold_exact, user);
}

/* --- statements --- */

static void fold_list(struct folder *f, struct stmt **first);

static bool has_declaration(const struct stmt *first)
{
    for (const struct stmt *s = first; s; s = s->next)
        if (s->kind == STMT_DECL)
            return true;
    return false;
}

/* Returns the statements of a body, to replace s. If the body has declarations, a block keeps
 * their scope. */
static struct stmt *as_statements(struct folder *f, const struct stmt *s, struct stmt *body)
{
    if (!has_declaration(body))
        return body;
    struct stmt *block = stmt_new(f->kernel, STMT_BLOCK, s->loc);
    block->body = body;
    return block;
}

static bool known_truth(const struct expr *condition, bool *value)
{
    if (!condition || condition->op != OP_LITERAL || dtype_is_float(condition->type.dtype))
        return false;
    *value = condition->literal.i != 0;
    return true;
}

static struct stmt *fold_if(struct folder *f, struct stmt *s)
{
    bool value;
    fold_list(f, &s->body);
    fold_list(f, &s->otherwise);
    if (known_truth(s->condition, &value))
        return as_statements(f, s, value ? s->body : s->otherwise);
    return s->body || s->otherwise || !is_droppable(s->condition) ? s : NULL;
}

/* Folds a loop. A loop that never runs leaves its initialisation, if that has an effect. */
static struct stmt *fold_for(struct folder *f, struct stmt *s)
{
    bool value, only_pure = true;
    fold_list(f, &s->body);
    fold_list(f, &s->step);
    if (!known_truth(s->condition, &value) || value)
        return s;
    for (const struct stmt *i = s->init; i; i = i->next)
        only_pure &= i->kind == STMT_DECL && (!i->value || is_droppable(i->value));
    return only_pure ? NULL : as_statements(f, s, s->init);
}

static struct stmt *fold_while(struct folder *f, struct stmt *s)
{
    bool value;
    fold_list(f, &s->body);
    return !s->is_do && known_truth(s->condition, &value) && !value ? NULL : s;
}

/* Folds a declaration. A scalar with only one, known, value is replaced by that value, and its
 * declaration is dropped. */
static struct stmt *fold_decl(struct folder *f, struct stmt *s)
{
    const struct sym *sym = s->sym;
    if (sym->storage == ST_REG && s->value && s->value->op == OP_IOTA) {
        int tile = numbering_of(&f->numbers, sym);
        if (tile >= 0 && f->assigned[tile] == 0)
            f->indices[tile] = s->value;
        return s;
    }
    if (sym->storage != ST_SCALAR || !s->value || s->value->op != OP_LITERAL)
        return s;
    int number = numbering_of(&f->numbers, sym);
    if (number < 0 || f->assigned[number] > 0)
        return s;
    f->constant[number] = s->value;
    return NULL;
}

/* Removes assume(true), which says nothing. */
static struct stmt *fold_effect(struct stmt *s)
{
    bool value;
    return s->value->op == OP_ASSUME && known_truth(s->value->args[0], &value) && value ? NULL : s;
}

/* Returns the statements that replace s; NULL: none. */
static struct stmt *fold_statement(struct folder *f, struct stmt *s)
{
    if (s->kind == STMT_ENSURES) {
        stmt_expressions(s, fold_exact_root, f);
        return s;
    }
    fold_list(f, &s->init); /* the condition may use values declared there */
    stmt_expressions(s, fold_root, f);
    switch (s->kind) {
    case STMT_DECL: return fold_decl(f, s);
    case STMT_EFFECT: return fold_effect(s);
    case STMT_IF: return fold_if(f, s);
    case STMT_FOR: return fold_for(f, s);
    case STMT_WHILE: return fold_while(f, s);
    case STMT_BLOCK: fold_list(f, &s->body); return s->body ? s : NULL;
    case STMT_ROLE:
    case STMT_ONE_THREAD: fold_list(f, &s->body); return s;
    default: return s;
    }
}

static void fold_list(struct folder *f, struct stmt **first)
{
    struct stmt **at = first;
    while (*at) {
        struct stmt *s = *at, *next = s->next;
        s->next = NULL;
        struct stmt *folded = fold_statement(f, s);
        *at = folded;
        while (*at)
            at = &(*at)->next;
        *at = next;
    }
}

/* --- indices that are no longer read --- */

static void drop_unread(struct folder *f, struct stmt **at)
{
    while (*at) {
        struct stmt *s = *at;
        int number = s->kind == STMT_DECL ? numbering_of(&f->numbers, s->sym) : -1;
        drop_unread(f, &s->body);
        drop_unread(f, &s->otherwise);
        if (number >= 0 && f->indices[number] && !stmt_mentions(f->kernel->body, s->sym))
            *at = s->next;
        else
            at = &s->next;
    }
}

/* --- symbols --- */

static void note_declared(void *user, struct stmt *s)
{
    struct folder *f = user;
    int number = s->kind == STMT_DECL ? numbering_of(&f->numbers, s->sym) : -1;
    if (s->kind == STMT_ROLE && s->role->replica)
        number = numbering_of(&f->numbers, s->role->replica);
    if (number >= 0)
        f->declared[number] = true;
    if (s->role && s->role->replica && (number = numbering_of(&f->numbers, s->role->replica)) >= 0)
        f->declared[number] = true;
    for (int i = 0; i < s->overs; i++)
        if ((number = numbering_of(&f->numbers, s->over[i])) >= 0)
            f->declared[number] = true;
    if (s->kind == STMT_ROLE && s->role->replica &&
        (number = numbering_of(&f->numbers, s->role->replica)) >= 0)
        f->declared[number] = true;
}

/* Removes symbols that were declared only in dead code. */
static void drop_undeclared(struct folder *f)
{
    struct kernel *k = f->kernel;
    stmt_walk(k->body, note_declared, f);
    struct sym **at = &k->symbols;
    while (*at) {
        struct sym *s = *at;
        bool local = s->storage != ST_PARAM && s->storage != ST_CONST && s->storage != ST_TABLE &&
                     s->storage != ST_VIEW;
        if (local && !f->declared[numbering_of(&f->numbers, s)])
            *at = s->next;
        else
            at = &s->next;
    }
    k->last_symbol = at;
}

static void count_assignment(void *user, struct stmt *s)
{
    struct folder *f = user;
    int number = s->kind == STMT_ASSIGN ? numbering_of(&f->numbers, s->target->sym) : -1;
    if (number >= 0)
        f->assigned[number]++;
}

void pass_fold(struct pass_context *c)
{
    struct kernel *k = c->kernel;
    struct folder f = {.kernel = k};
    numbering_init(&f.numbers, k->arena, k);
    f.constant = arena_array(k->arena, struct expr *, f.numbers.count + 1);
    f.assigned = arena_array(k->arena, int, f.numbers.count + 1);
    f.indices = arena_array(k->arena, struct expr *, f.numbers.count + 1);
    f.declared = arena_array(k->arena, bool, f.numbers.count + 1);
    for (int axis = 0; axis < 3; axis++)
        expr_walk(&k->grid[axis], fold_expr, &f);
    stmt_walk(k->body, count_assignment, &f);
    fold_list(&f, &k->body);
    drop_unread(&f, &k->body);
    for (struct sym *s = k->symbols; s; s = s->next) {
        if (s->storage != ST_VIEW)
            continue;
        for (int i = 0; i < s->type.rank; i++) {
            expr_walk(&s->dims[i], fold_expr, &f);
            expr_walk(&s->strides[i], fold_expr, &f);
        }
        expr_walk(&s->base_offset, fold_expr, &f);
    }
    drop_undeclared(&f);
}
