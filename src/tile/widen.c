#include "tile/widen.h"

bool widen_is_base(const struct widening *w, const struct expr *e)
{
    return e->op == OP_REF && w->base && e->sym == w->base;
}

bool widen_names_base(const struct widening *w, const struct expr *e)
{
    if (!e)
        return false;
    bool names = (w->base && e->sym == w->base) ||
                 ((e->op == OP_BLOCK || e->op == OP_GRID) && e->axis == w->block_axis);
    for (int i = 0; i < expr_children(e) && !names; i++)
        names = widen_names_base(w, expr_child(e, i));
    return names;
}

void widen_begin(struct widening *w, enum widen_phase phase)
{
    w->phase = phase;
    w->seen = (struct number_map){0};
    w->changed = false;
}

static void fail_if(struct widening *w, bool condition)
{
    w->fails |= condition && w->phase == WIDEN_CHECK;
}

static bool is_wide(unsigned mask, int axis)
{
    return mask >> axis & 1u;
}

static unsigned of_symbol(const struct widening *w, const struct sym *s)
{
    const struct number_entry *known = number_map_find(&w->wide, (uintptr_t)s);
    return known ? (unsigned)known->value : 0;
}

static int64_t new_extent(const struct widening *w, int64_t extent)
{
    return extent * w->factor / (w->divisor > 1 ? w->divisor : 1);
}

static void multiply_extents(const struct widening *w, struct type *t, unsigned mask)
{
    for (int i = 0; i < t->rank; i++)
        if (is_wide(mask, i))
            t->extent[i] = new_extent(w, t->extent[i]);
}

/* --- accesses --- */

/* Returns whether the slice starts at the base, or at the same distance from it in every step. */
static bool starts_at_base(const struct widening *w, const struct index *index)
{
    const struct expr *e = index->value;
    if (index->extent != w->step)
        return false;
    if (widen_is_base(w, e))
        return true;
    if ((e->op != OP_ADD && e->op != OP_SUB) || e->type.rank > 0)
        return false;
    return (widen_is_base(w, e->args[0]) && !widen_names_base(w, e->args[1])) ||
           (e->op == OP_ADD && widen_is_base(w, e->args[1]) && !widen_names_base(w, e->args[0]));
}

/* Blocks beyond the grid are joined to those at its end, so a slice that lies inside for each
 * block may reach past the edge for a joined one. */
static void widen_slice(struct widening *w, struct index *index)
{
    if (w->phase != WIDEN_APPLY)
        return;
    index->extent = new_extent(w, index->extent);
    index->inside &= w->deepens;
}

static unsigned of_index(struct widening *w, const struct expr *e, int i, unsigned own, int axis)
{
    struct index *index = &e->index[i];
    bool of_view = e->sym->storage == ST_VIEW;
    unsigned bit = 1u << axis;
    if (index->kind == IX_ALL)
        return is_wide(own, i) ? bit : 0;
    if (index->kind == IX_SLICE && of_view && starts_at_base(w, index)) {
        fail_if(w, index->promised); /* a fault would name another slice */
        widen_slice(w, index);
        return bit;
    }
    fail_if(w, is_wide(own, i) || widen_expr(w, index->value) != 0);
    return 0;
}

static unsigned of_access(struct widening *w, struct expr *e)
{
    unsigned own = of_symbol(w, e->sym), mask = 0;
    int axis = 0, rest = e->type.rank;
    for (int i = 0; i < e->indices; i++) {
        mask |= of_index(w, e, i, own, axis);
        axis += e->index[i].kind != IX_ELEMENT;
    }
    for (int i = e->indices; axis < rest; i++, axis++)
        mask |= is_wide(own, i) ? 1u << axis : 0;
    if (e->otherwise)
        fail_if(w, e->otherwise->type.rank > 0 || widen_expr(w, e->otherwise) != 0);
    return mask;
}

/* --- operations --- */

/* Returns the mask of an operand in the axes of the result, which its own are the last of. */
static unsigned aligned(const struct expr *e, const struct expr *operand, unsigned mask)
{
    return mask << (e->type.rank - operand->type.rank);
}

/* Fails unless an operand that is not stretched along a wide axis of the result is wide there. */
static void check_operand(struct widening *w, const struct expr *e, const struct expr *operand,
                          unsigned mine, unsigned mask)
{
    int skipped = e->type.rank - operand->type.rank;
    for (int i = 0; i < operand->type.rank; i++)
        fail_if(w, operand->type.extent[i] > 1 && is_wide(mask, i + skipped) && !is_wide(mine, i));
}

enum { MOST_ARGS = 4 };

static unsigned of_elementwise(struct widening *w, const struct expr *e)
{
    unsigned each[MOST_ARGS] = {0}, mask = 0;
    for (int i = 0; i < e->count; i++) {
        each[i] = widen_expr(w, e->args[i]);
        mask |= aligned(e, e->args[i], each[i]);
    }
    for (int i = 0; i < e->count; i++)
        check_operand(w, e, e->args[i], each[i], mask);
    return mask;
}

/* The columns of a are the rows of b. If they are wide, the sum takes the products of several
 * steps at once, in the order of the steps; widen_assignment checks that it may. */
static unsigned of_dot(struct widening *w, const struct expr *e)
{
    unsigned a = widen_expr(w, e->args[0]), b = widen_expr(w, e->args[1]);
    unsigned mask = (a & 1u) | (b & 2u), sum = e->count > 2 ? widen_expr(w, e->args[2]) : mask;
    bool along = is_wide(a, 1) || is_wide(b, 0);
    fail_if(w, e->type.rank != 2 || is_wide(a, 1) != is_wide(b, 0));
    fail_if(w, along && (!w->deepens || e->count != 3));
    fail_if(w, e->count > 2 && sum != mask && e->args[2]->op != OP_LITERAL);
    return mask;
}

static unsigned of_reduction(struct widening *w, const struct expr *e)
{
    unsigned mask = widen_expr(w, e->args[0]);
    fail_if(w, mask != 0 && (e->axis < 0 || is_wide(mask, e->axis)));
    return e->axis < 0 ? 0 : mask & ~(1u << e->axis);
}

static unsigned of_trans(struct widening *w, const struct expr *e)
{
    int last = e->type.rank - 1;
    unsigned mask = widen_expr(w, e->args[0]), both = 3u << (last - 1);
    unsigned swapped = (mask >> 1 & 1u << (last - 1)) | (mask << 1 & 1u << last);
    return (mask & ~both) | swapped;
}

/* Returns the axis of the type that holds the axis `own` of an operand whose shape only differs in
 * axes of one element; -1: the shapes differ otherwise. */
static int axis_kept(const struct type *from, const struct type *to, int own)
{
    int at = -1;
    for (int i = 0, k = 0; i < from->rank || k < to->rank;) {
        if (i < from->rank && from->extent[i] == 1) {
            i++;
        } else if (k < to->rank && to->extent[k] == 1) {
            k++;
        } else {
            if (i == from->rank || k == to->rank || from->extent[i] != to->extent[k])
                return -1;
            at = i == own ? k : at;
            i++;
            k++;
        }
    }
    return at;
}

/* A reshape that only adds or removes axes of one element moves no element along another axis. */
static unsigned of_reshape(struct widening *w, struct expr *e)
{
    struct type from = e->args[0]->type; /* before it is widened */
    unsigned own = widen_expr(w, e->args[0]), mask = 0;
    for (int i = 0; i < from.rank; i++) {
        int axis = is_wide(own, i) ? axis_kept(&from, &e->type, i) : 0;
        fail_if(w, axis < 0);
        mask |= is_wide(own, i) && axis >= 0 ? 1u << axis : 0;
    }
    return mask;
}

static bool is_iota_at_base(const struct widening *w, const struct expr *e)
{
    if (e->op != OP_ADD)
        return false;
    for (int i = 0; i < 2; i++)
        if (e->args[i]->op == OP_IOTA && widen_is_base(w, e->args[1 - i]))
            return true;
    return false;
}

/* Returns the wide axis of `base + iota()`: the one along which iota counts the step's elements. */
static unsigned of_iota_at_base(struct widening *w, const struct expr *e)
{
    struct expr *iota = e->args[e->args[0]->op == OP_IOTA ? 0 : 1];
    unsigned mask = 0;
    for (int i = 0; i < iota->type.rank; i++)
        if (iota->type.extent[i] > 1)
            mask |= iota->type.extent[i] == w->step ? 1u << i : 0;
    fail_if(w, mask == 0);
    if (w->phase == WIDEN_APPLY)
        multiply_extents(w, &iota->type, mask);
    return mask;
}

static bool is_elementwise(const struct expr *e)
{
    enum op_class class = op_table[e->op].class;
    return class == CLASS_ARITH || class == CLASS_COMPARE || class == CLASS_LOGIC ||
           class == CLASS_FLOAT || class == CLASS_BITWISE || e->op == OP_WHERE ||
           e->op == OP_CAST || e->op == OP_BITS || e->op == OP_SELECT;
}

/* Any other operation may move elements along the axis, so its operands must not have it. */
static unsigned of_other(struct widening *w, const struct expr *e)
{
    bool pure = op_table[e->op].flags & OP_PURE;
    fail_if(w, !pure || ((e->op == OP_BLOCK || e->op == OP_GRID) && e->axis == w->block_axis));
    for (int i = 0; i < e->count; i++)
        fail_if(w, widen_expr(w, e->args[i]) != 0);
    return 0;
}

static unsigned of_reference(struct widening *w, const struct expr *e)
{
    fail_if(w, widen_is_base(w, e));
    return of_symbol(w, e->sym);
}

static unsigned of_expr(struct widening *w, struct expr *e)
{
    if (e->op == OP_REF)
        return of_reference(w, e);
    if (e->op == OP_ACCESS)
        return of_access(w, e);
    if (e->op == OP_DOT)
        return of_dot(w, e);
    if (e->op == OP_TRANS)
        return of_trans(w, e);
    if (is_iota_at_base(w, e))
        return of_iota_at_base(w, e);
    if (e->op == OP_RESHAPE)
        return of_reshape(w, e);
    if (e->op == OP_REPEAT_INTERLEAVE) /* repeats of joined tiles are joined repeats */
        return widen_expr(w, e->args[0]);
    if (op_is_reduction(e->op))
        return of_reduction(w, e);
    return is_elementwise(e) && e->count <= MOST_ARGS ? of_elementwise(w, e) : of_other(w, e);
}

unsigned widen_expr(struct widening *w, struct expr *e)
{
    const struct number_entry *known = number_map_find(&w->seen, (uintptr_t)e);
    if (known)
        return (unsigned)known->value;
    unsigned mask = of_expr(w, e);
    bool added;
    number_map_entry(w->kernel->arena, &w->seen, (uintptr_t)e, &added)->value = mask;
    if (w->phase == WIDEN_APPLY)
        multiply_extents(w, &e->type, mask);
    return mask;
}

/* --- assignments --- */

static void add_to_symbol(struct widening *w, const struct sym *s, unsigned mask)
{
    struct number_entry *known = number_map_find(&w->wide, (uintptr_t)s);
    if (known && w->phase == WIDEN_FIND) {
        w->changed |= (known->value | mask) != known->value;
        known->value |= mask;
    }
}

/* Returns whether the assignment adds a product to a sum that all steps share. */
static bool adds_to_sum(const struct widening *w, const struct stmt *s)
{
    const struct expr *v = s->value;
    return v->op == OP_DOT && v->count == 3 && s->target->op == OP_REF &&
           v->args[2]->op == OP_REF && v->args[2]->sym == s->target->sym &&
           !number_map_find(&w->wide, (uintptr_t)s->target->sym);
}

static bool has_dot_along(const struct widening *w, const struct expr *e)
{
    const struct number_entry *a =
        e->op == OP_DOT ? number_map_find(&w->seen, (uintptr_t)e->args[0]) : NULL;
    bool has = a && is_wide((unsigned)a->value, 1);
    for (int i = 0; i < e->count && !has; i++)
        has = has_dot_along(w, e->args[i]);
    return has;
}

/* A value without a wide axis is stretched along it if it is one element long there. */
static void check_value(struct widening *w, const struct type *target, unsigned to,
                        const struct expr *value, unsigned from)
{
    int skipped = target->rank - value->type.rank;
    fail_if(w, skipped < 0);
    for (int i = 0; i < target->rank && skipped >= 0; i++) {
        int own = i - skipped;
        bool one = own < 0 || value->type.extent[own] == 1;
        bool wide = own >= 0 && is_wide(from, own);
        fail_if(w, is_wide(to, i) ? !wide && !one : wide);
    }
}

static void widen_declaration(struct widening *w, const struct stmt *s)
{
    struct sym *sym = s->sym;
    bool added, is_base = sym == w->base;
    if (sym->storage == ST_REG || sym->storage == ST_SHARED || sym->storage == ST_ARRAY)
        number_map_entry(w->kernel->arena, &w->wide, (uintptr_t)sym, &added);
    if (!s->value || is_base)
        return;
    unsigned mask = widen_expr(w, s->value);
    add_to_symbol(w, sym, mask);
    check_value(w, &sym->type, of_symbol(w, sym), s->value, mask);
    fail_if(w, w->alone > 0 && mask != 0);
    fail_if(w, has_dot_along(w, s->value));
}

/* Returns the number of leading axes of a tile that the target selects an element of: sa[stage]. */
static int leading_elements(const struct expr *target)
{
    int i = 0;
    while (i < target->indices && target->index[i].kind == IX_ELEMENT)
        i++;
    return i;
}

void widen_assignment(struct widening *w, struct stmt *s)
{
    if (s->kind == STMT_DECL) {
        widen_declaration(w, s);
        return;
    }
    unsigned mask = widen_expr(w, s->value);
    struct expr *target = s->target;
    if (target->sym->storage != ST_VIEW)
        add_to_symbol(w, target->sym, mask << leading_elements(target));
    unsigned to = widen_expr(w, target);
    /* a joined tile would also have what is off the diagonal */
    fail_if(w, target->sym->storage == ST_VIEW && (to & (to - 1)) != 0);
    check_value(w, &target->type, to, s->value, mask);
    /* all joined blocks would see a variable that only one of them assigns */
    fail_if(w, w->alone > 0 && (to != 0 || mask != 0 || target->sym->storage != ST_VIEW));
    if (w->phase != WIDEN_CHECK)
        return;
    bool sum = adds_to_sum(w, s);
    fail_if(w, !sum && has_dot_along(w, s->value));
    for (int i = 0; i < 2 && sum; i++)
        fail_if(w, has_dot_along(w, s->value->args[i]));
}

void widen_symbols(struct widening *w)
{
    for (struct sym *s = w->kernel->symbols; s; s = s->next)
        multiply_extents(w, &s->type, of_symbol(w, s));
}
