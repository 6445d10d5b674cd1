/* Global memory: what divides its addresses, and which layout it is best read and written in.
 *
 * At this time there are no values yet (lower_value.h), so what divides a scalar is found from the
 * program itself: constants, assume(n % 16 == 0), counters by what they start at and step by.
 */
#include "lower/lower_plan_own.h"

#include "layout/layout_convert.h"

enum { ROUNDS = 8, VECTOR_BYTES = 16, LARGEST = 1 << 20 };

/* --- Divisors; 0 is divided by everything --- */

static int64_t common(int64_t a, int64_t b)
{
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a < 0 ? -a : a;
}

static int64_t product(int64_t a, int64_t b)
{
    if (a > LARGEST || b > LARGEST) { /* powers of two are what counts */
        a = common(a, LARGEST);
        b = common(b, LARGEST);
    }
    return a * b;
}

static int64_t divisor_of_symbol(struct lower *l, const struct sym *s)
{
    const struct planned_scalar *p = map_get(&l->plan->scalar_of, s);
    if (s->has_value && !s->value.is_float)
        return s->value.i < 0 ? -s->value.i : s->value.i;
    return p && s->type.rank == 0 ? p->divisor : 1;
}

static int64_t divisor_of_quotient(int64_t a, const struct expr *by)
{
    int64_t n;
    if (a == 0)
        return 0;
    return eval_int(by, NULL, &n) && n > 0 && a % n == 0 ? a / n : 1;
}

/* Returns the divisor that survives in the quotient or remainder of a value that may have wrapped:
 * its power of two. */
static int64_t divisor_kept(struct lower *l, const struct expr *e)
{
    int64_t n = plan_divisor(l, e);
    bool certain = e->op == OP_LITERAL || (e->op == OP_REF && e->sym->storage == ST_PARAM);
    return certain ? n : n & -n;
}

int64_t plan_divisor(struct lower *l, const struct expr *e)
{
    int64_t n;
    if (e->type.rank > 0 || dtype_is_float(e->type.dtype))
        return 1;
    switch (e->op) {
    case OP_LITERAL: return e->literal.i < 0 ? -e->literal.i : e->literal.i;
    case OP_REF: return divisor_of_symbol(l, e->sym);
    case OP_NEG: return plan_divisor(l, e->args[0]);
    case OP_CAST:
        if (!dtype_is_int(e->args[0]->type.dtype))
            return 1;
        n = plan_divisor(l, e->args[0]);
        return dtype_holds(e->type.dtype, e->args[0]->type.dtype) ? n : n & -n;
    case OP_REM: return common(divisor_kept(l, e->args[0]), divisor_kept(l, e->args[1]));
    case OP_MIN:
    case OP_MAX:
    case OP_ADD:
    case OP_SUB: return common(plan_divisor(l, e->args[0]), plan_divisor(l, e->args[1]));
    case OP_SELECT: return common(plan_divisor(l, e->args[1]), plan_divisor(l, e->args[2]));
    case OP_MUL: return product(plan_divisor(l, e->args[0]), plan_divisor(l, e->args[1]));
    case OP_SHL:
        if (!eval_int(e->args[1], NULL, &n) || n < 0 || n > 20)
            return 1;
        return product(plan_divisor(l, e->args[0]), (int64_t)1 << n);
    case OP_DIV: return divisor_of_quotient(divisor_kept(l, e->args[0]), e->args[1]);
    case OP_AND:
        for (int i = 0; i < 2; i++)
            if (eval_int(e->args[i], NULL, &n) && n > 0)
                return n & -n;
        return 1;
    default: return 1;
    }
}

bool plan_is_fixed(struct lower *l, const struct expr *e)
{
    int64_t n;
    if (eval_int(e, NULL, &n))
        return true;
    if (e->op == OP_REF) {
        const struct planned_scalar *p = map_get(&l->plan->scalar_of, e->sym);
        return p && p->unrolled;
    }
    if (!(op_table[e->op].flags & OP_PURE) || (e->count == 0 && e->op != OP_LITERAL))
        return false;
    for (int i = 0; i < e->count; i++)
        if (!plan_is_fixed(l, e->args[i]))
            return false;
    return true;
}

static struct planned_scalar *scalar_of(struct lower *l, const struct sym *s, int64_t divisor)
{
    struct planned_scalar *p = map_get(&l->plan->scalar_of, s);
    if (!p) {
        p = arena_new(l->arena, struct planned_scalar);
        *p = (struct planned_scalar){.sym = s, .divisor = divisor};
        map_put(l->arena, &l->plan->scalar_of, s, p);
    }
    return p;
}

/* assume(x % 16 == 0), alone or with others. */
static void learn(struct lower *l, const struct expr *e)
{
    int64_t by, zero;
    if (e->op == OP_LAND)
        for (int i = 0; i < 2; i++)
            learn(l, e->args[i]);
    if (e->op != OP_EQ || e->args[0]->op != OP_REM || !eval_int(e->args[1], NULL, &zero) || zero)
        return;
    const struct expr *x = e->args[0]->args[0];
    if (x->op == OP_CAST && dtype_holds(x->type.dtype, x->args[0]->type.dtype))
        x = x->args[0];
    if (x->op == OP_REF && x->sym->storage == ST_PARAM &&
        eval_int(e->args[0]->args[1], NULL, &by) && by > 0)
        scalar_of(l, x->sym, 1)->divisor = by;
}

static const struct sym *scalar_assigned(const struct stmt *s)
{
    const struct sym *sym = s->kind == STMT_DECL                                ? s->sym
                            : s->kind == STMT_ASSIGN && s->target->op == OP_REF ? s->target->sym
                                                                                : NULL;
    return sym && sym->storage == ST_SCALAR && dtype_is_int(sym->type.dtype) ? sym : NULL;
}

static void note_unrolled(struct lower *l, const struct stmt *init)
{
    for (; init; init = init->next)
        if (scalar_assigned(init))
            scalar_of(l, scalar_assigned(init), 0)->unrolled = true;
}

/* All variables begin as divided by everything; each assignment takes away until nothing
 * changes. */
void plan_scalars(struct lower *l)
{
    struct plan *p = l->plan;
    bool changed = true;
    for (size_t i = 0; i < p->stmts.count; i++) {
        const struct stmt *s = p->stmts.data[i].s;
        if (s->kind == STMT_EFFECT && s->value->op == OP_ASSUME && !s->claim)
            learn(l, s->value->args[0]);
        if (scalar_assigned(s))
            scalar_of(l, scalar_assigned(s), 0);
        if (s->kind == STMT_FOR && s->unroll == UNROLL_FULL)
            note_unrolled(l, s->init);
    }
    for (int n = 0; changed; n++) {
        changed = false;
        for (size_t i = 0; i < p->stmts.count; i++) {
            const struct stmt *s = p->stmts.data[i].s;
            const struct sym *sym = scalar_assigned(s);
            if (!sym)
                continue;
            struct planned_scalar *scalar = scalar_of(l, sym, 0);
            int64_t by = s->value ? common(scalar->divisor, plan_divisor(l, s->value)) : 1;
            by = n < ROUNDS ? by : 1;
            changed |= by != scalar->divisor;
            scalar->divisor = by;
        }
    }
}

/* --- Rows of views --- */

/* Elements from one step of the axis to the next, as a divisor. */
static int64_t stride_divisor(struct lower *l, const struct sym *view, int axis)
{
    if (view->strides[axis])
        return plan_divisor(l, view->strides[axis]);
    int64_t by = 1;
    for (int i = axis + 1; i < view->type.rank; i++)
        by = product(by, plan_divisor(l, view->dims[i]));
    return by;
}

static int64_t start_divisor(struct lower *l, const struct expr *access, int axis)
{
    if (axis >= access->indices || access->index[axis].kind == IX_ALL)
        return 0;
    const struct index *x = &access->index[axis];
    return x->kind == IX_GATHER ? 1 : plan_divisor(l, x->value);
}

static int64_t base_bytes(struct lower *l, const struct sym *view)
{
    int64_t bytes = VECTOR_BYTES;
    if (view->base && l->options && l->options->alignment)
        bytes = l->options->alignment[view->base->index];
    if (view->base_offset)
        bytes = common(bytes, product(plan_divisor(l, view->base_offset),
                                      (int64_t)dtype_size(view->type.dtype)));
    return bytes;
}

int plan_alignment(struct lower *l, const struct expr *access)
{
    const struct sym *view = access->sym;
    int last = view->type.rank - 1;
    int64_t size = (int64_t)dtype_size(view->type.dtype), by = 0, one;
    bool whole = last >= access->indices;
    enum index_kind kind = whole ? IX_ALL : access->index[last].kind;
    if (kind == IX_ELEMENT || kind == IX_GATHER ||
        (view->strides[last] && !(eval_int(view->strides[last], NULL, &one) && one == 1)))
        return (int)size;
    by = start_divisor(l, access, last);
    if (!whole && !access->index[last].inside) /* a row may end within a vector */
        by = common(by, plan_divisor(l, view->dims[last]));
    for (int i = 0; i < last; i++) {
        int64_t start = 1;
        if (i < access->indices && access->index[i].kind == IX_ELEMENT)
            start = start_divisor(l, access, i);
        by = common(by, product(start, stride_divisor(l, view, i)));
    }
    int64_t bytes = common(product(by, size), base_bytes(l, view));
    return (int)common(bytes, VECTOR_BYTES);
}

int plan_copy_vector(struct lower *l, const struct expr *access, const struct type *t)
{
    int32_t last = (int32_t)t->extent[t->rank - 1];
    int widest = layout_widest_vector(&last, 1, dtype_table[t->dtype].bits);
    if (access->sym->storage != ST_VIEW)
        return widest;
    int aligned = plan_alignment(l, access) / (int)dtype_size(t->dtype);
    return aligned < 1 ? 1 : aligned < widest ? aligned : widest;
}

/* --- Through another layout, or straight? --- */

/* Half cycles of a multiprocessor, as convert_costs_usual counts. */
enum { SECTOR = 2, INSTRUCTION = 4, WAVEFRONT = 2, WAVEFRONT_BYTES = 128, BARRIER = 60 };

static int64_t access_cost(const struct layout *regs, const struct type *t)
{
    int64_t strides[MAX_RANK], instructions, step = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        strides[i] = step;
        step *= i == t->rank - 1 ? 1 << 12 : t->extent[i];
    }
    int64_t sectors = layout_sectors(regs, strides, dtype_table[t->dtype].bits, &instructions);
    return SECTOR * sectors + INSTRUCTION * instructions;
}

/* Through shared memory. */
static int64_t exchange_cost(const struct layout *natural, const struct type *t)
{
    int64_t bits = dtype_table[t->dtype].bits;
    int64_t held = layout_size_in(natural) * bits / 8 / WAVEFRONT_BYTES;
    int64_t once = type_elements(t) * bits / 8 / WAVEFRONT_BYTES;
    return WAVEFRONT * (held + once) + BARRIER;
}

/* By shuffles; -1: they do not do it. */
static int64_t shuffle_cost(struct lower *l, const struct layout *from, const struct layout *to,
                            const struct type *t)
{
    struct convert_plan plan;
    struct convert_wish wish = {.from = from, .to = to, .bits = dtype_table[t->dtype].bits};
    return layout_plan_conversion(&wish, l->arena, &plan) ? plan.cost : -1;
}

static const struct layout *widened(struct lower *l, const struct layout *natural, int rank,
                                    int vector)
{
    struct layout out;
    return layout_widen(natural, rank - 1, vector, &out) ? layout_keep(l, &out) : NULL;
}

/* The widest vectors, `widest` at most, with which all threads have a part of the tile. */
static int vector_for_all(const struct lower *l, const struct type *t, int widest)
{
    int vector = widest;
    while (vector > 1 && (int64_t)vector * l->warps * WARP_LANES > type_elements(t))
        vector /= 2;
    return vector;
}

/* Accesses are of 16 bytes wherever rows allow it and a thread makes more than one; narrower ones
 * are as wide as is worth the way. blocked: of `vector` elements an access. */
static const struct layout *choose_way(struct lower *l, const struct type *t,
                                       const struct layout *natural, const struct layout *blocked,
                                       int widest, int vector)
{
    int32_t weights[ACCESS_VECTOR_BITS];
    int bits, own = layout_vector(natural, t->rank - 1, widest, weights, &bits);
    if (own >= vector && layout_size_in(natural) <= layout_size_in(blocked))
        return natural;
    bool could_be_whole = widest * (int)dtype_size(t->dtype) == VECTOR_BYTES && own < widest &&
                          layout_in_extent(natural, AXIS_REG) > own;
    bool too_small = vector < widest; /* for all threads: with wider vectors each warp has it all */
    const struct layout *wide = could_be_whole ? widened(l, natural, t->rank, widest) : NULL;
    int64_t by_shuffles = wide ? shuffle_cost(l, natural, wide, t) : -1;
    int64_t through_shared = access_cost(blocked, t) + exchange_cost(natural, t);
    if (by_shuffles >= 0 && (too_small || access_cost(wide, t) + by_shuffles < through_shared))
        return wide;
    if (could_be_whole && !too_small)
        return blocked;
    return through_shared < access_cost(natural, t) ? blocked : natural;
}

static const struct layout *choose_view(struct lower *l, const struct expr *access,
                                        const struct layout *natural)
{
    const struct type *t = &access->type;
    int widest = plan_copy_vector(l, access, t), vector = vector_for_all(l, t, widest);
    const struct layout *blocked = plan_blocked(l, t, vector);
    if (!natural || !plan_fits(natural, t)) /* of a value that is yet to be broadcast */
        return blocked;
    if (!blocked || natural == blocked)
        return natural;
    return choose_way(l, t, natural, blocked, widest, vector);
}

const struct layout *plan_view(struct lower *l, const struct expr *access,
                               const struct layout *natural, bool store)
{
    struct plan *p = l->plan;
    if (!plan_is_tile(&access->type))
        return natural;
    struct view_made *first = map_get(&p->view_of, access);
    for (struct view_made *v = first; v; v = v->next)
        if (v->natural == natural && v->store == store)
            return v->layout;
    struct view_made *made = arena_new(l->arena, struct view_made);
    *made = (struct view_made){access, natural, choose_view(l, access, natural), store, first};
    map_put(l->arena, &p->view_of, access, made);
    return made->layout;
}
