/* Finds the inputs that an output may overlay. An output may also be an input if each of its
 * elements is read only by the block, or thread, that writes it. This holds for two arrays, one of
 * them written, if
 *
 *     C[i +: BM][j] = f(A[i +: BM][j])      each axis of both accesses has the same index,
 *     Y[r][p +: W]  = f(X[r][q +: W])       or neither index depends on the block or thread;
 *
 * and if the equal indices differ between all blocks of the grid: each axis of the grid occurs in
 * one of them, or in the quotient and the remainder in two. An axis need not occur if only one
 * block along it gets to both accesses (`if (block.y == 0)`, grid(n, 1)).
 *
 * It does not hold for neighbours (A[i - 1]), transposed tiles, sums over another axis, and
 * elements that several blocks read. Operands of `dot` are always kept apart, because an executor
 * may keep them in another form for all blocks. The order of accesses within a block is not
 * checked. The caller decides about views with strides or an offset, since arrays may be
 * interleaved through them.
 *
 * Before: a kernel. After: for each array that it writes, the arrays that must lie elsewhere. */
#include "tile/overlay.h"
#include "base/name_table.h"
#include "tile/numbering.h"

#include <string.h>

/* Facts about the value of a symbol or an expression. */
struct origin {
    uint64_t from; /* the arrays whose elements may be in it */
    bool moves;    /* it may differ between blocks or threads */
    /* Axes of the grid, a bit each. Blocks that differ only along a `full` axis have different
     * values. Along a `partial` axis, as in block.x / 4, some of them do. */
    uint8_t full, partial;
};

enum { AXES = 3, ALL_AXES = (1 << AXES) - 1 };

/* By axis of the grid: the condition of an `if` that only one block along the axis passes; NULL:
 * none. */
struct pins {
    const struct expr *condition[AXES];
};

struct place {
    const struct expr *access;
    int param;
    int age; /* number of assignments so far to the variables of its indices */
    bool stores, loads;
    struct pins pins;
    bool moves[MAX_RANK]; /* by index: it may differ between blocks or threads */
    uint64_t hash;        /* of everything that distinguishes it; equal places are listed once */
    struct place *same_hash;
};

struct finder {
    struct arena *arena;
    struct overlay *out;
    struct numbering numbers;
    struct origin *origin;     /* by symbol */
    const struct expr **means; /* by symbol: the value of its declaration */
    int *depth;                /* by symbol: number of conditions around its declaration that differ
                       * between blocks */
    bool *varies;              /* by symbol: it is also given another value */
    int *assigned;    /* by symbol: number of assignments, without those in the steps of loops */
    struct pins pins; /* pins of the present statement */
    uint8_t several;  /* axes of the grid that may have more than one block */
    VEC(struct place *) of[OVERLAY_PARAMS]; /* places by parameter */
    VEC(struct place *) stores;
    struct name_table by_hash; /* object: a struct place */
    bool changed, listing, in_step;
};

static int param_of(const struct sym *s)
{
    bool counts = s && s->storage == ST_VIEW && s->base && s->base->index < OVERLAY_PARAMS;
    return counts ? s->base->index : -1;
}

static bool is_strided(const struct sym *view)
{
    for (int i = 0; i < view->type.rank; i++)
        if (view->strides[i])
            return true;
    return view->base_offset != NULL;
}

/* --- origins --- */

static uint8_t axes_in(const struct origin *o)
{
    return (uint8_t)(o->full | o->partial);
}

static void add_axes(struct origin *o, const struct origin *of)
{
    o->full |= of->full;
    o->partial |= of->partial;
}

/* Computes the axes of an op's value from the joined axes of its operands in *o. `twice`: axes
 * that are partial in several operands, as in block.x % 4 * 2 + block.x / 4. `common`: axes that
 * are full in both sides of a selection. */
static void axes_of_op(const struct expr *e, struct origin *o, uint8_t twice, uint8_t common)
{
    switch ((int)e->op) {
    case OP_BLOCK: o->full = (uint8_t)(1 << e->axis); break;
    case OP_ADD:
    case OP_SUB:
    case OP_XOR:
    case OP_OR: o->full |= twice; break;
    case OP_LITERAL:
    case OP_REF:
    case OP_ACCESS:
    case OP_NEG:
    case OP_INVERT:
    case OP_MUL:
    case OP_FMA:
    case OP_SHL:
    case OP_CAST:
    case OP_BITS: break;
    default: /* a selection differs along the axes along which both sides differ */
        o->partial = axes_in(o);
        o->full = e->op == OP_SELECT || e->op == OP_WHERE ? common : 0;
        if (op_is_atomic(e->op)) /* a ticket: no two blocks get the same */
            o->full = ALL_AXES;
    }
}

static struct origin origin_of(struct finder *f, const struct expr *e)
{
    struct origin o = {0};
    uint8_t twice = 0, common = ALL_AXES;
    if (!e)
        return o;
    for (int i = 0; i < e->count; i++) {
        struct origin of = origin_of(f, e->args[i]);
        o.from |= of.from;
        o.moves |= of.moves;
        twice |= o.partial & of.partial;
        common &= i > 0 ? of.full : ALL_AXES; /* of a selection: without its condition */
        add_axes(&o, &of);
        if (e->op == OP_DOT && i < 2)
            f->out->multiplied |= of.from;
    }
    for (int i = 0; i < e->indices; i++) {
        struct origin of = origin_of(f, e->index[i].value);
        o.moves |= of.moves;
        add_axes(&o, &of);
    }
    o.from |= origin_of(f, e->otherwise).from;
    int number = e->sym ? numbering_of(&f->numbers, e->sym) : -1, param = param_of(e->sym);
    if (number >= 0) {
        o.from |= f->origin[number].from;
        o.moves |= f->origin[number].moves;
        add_axes(&o, &f->origin[number]);
    }
    axes_of_op(e, &o, twice, common);
    if (param >= 0)
        o.from |= UINT64_C(1) << param;
    o.moves |= e->op == OP_BLOCK || e->op == OP_THREAD || op_is_atomic(e->op) ||
               (e->sym && e->sym->storage == ST_VIEW);
    return o;
}

static void assign(struct finder *f, const struct sym *s, struct origin o)
{
    int number = numbering_of(&f->numbers, s);
    if (number < 0 || s->storage == ST_VIEW)
        return;
    struct origin *known = &f->origin[number];
    f->changed |= (o.from & ~known->from) != 0 || (o.moves && !known->moves) ||
                  (o.full & ~known->full) || (o.partial & ~known->partial);
    known->from |= o.from;
    known->moves |= o.moves;
    add_axes(known, &o);
}

/* --- places --- */

static int age_of(const struct finder *f, const struct expr *e)
{
    if (!e)
        return 0;
    int number = e->sym ? numbering_of(&f->numbers, e->sym) : -1;
    int age = number < 0 ? 0 : f->assigned[number];
    for (int i = 0; i < e->count; i++)
        age += age_of(f, e->args[i]);
    for (int i = 0; i < e->indices; i++)
        age += age_of(f, e->index[i].value);
    return age;
}

static void add_place(struct finder *f, struct place *p);

static void list_places(struct finder *f, const struct expr *e, bool stores, bool loads)
{
    if (!e)
        return;
    bool atomic = op_is_atomic(e->op) || e->op == OP_LOCK || e->op == OP_UNLOCK;
    for (int i = 0; i < expr_children(e); i++)
        list_places(f, expr_child(e, i), atomic && i == 0, true);
    int param = param_of(e->sym);
    if (param < 0)
        return;
    struct place p = {
        .access = e, .param = param, .stores = stores, .loads = loads, .pins = f->pins};
    p.age = age_of(f, e);
    add_place(f, &p);
    f->out->used |= UINT64_C(1) << param;
    if (is_strided(e->sym))
        f->out->strided |= UINT64_C(1) << param;
}

/* --- the walk --- */

static void visit(struct finder *f, const struct stmt *s, int depth)
{
    struct origin o = origin_of(f, s->value);
    const struct sym *target = s->kind == STMT_DECL ? s->sym : s->target ? s->target->sym : NULL;
    int number = target ? numbering_of(&f->numbers, target) : -1;
    if (number >= 0 && s->kind == STMT_DECL)
        f->depth[number] = depth;
    if (number >= 0) {
        o.moves |= depth > f->depth[number]; /* declared where only some blocks get to */
        assign(f, target, o);
    }
    if (number >= 0 && s->kind == STMT_DECL)
        f->means[number] = s->value;
    else if (number >= 0)
        f->varies[number] = true;
    if (!f->listing)
        return;
    list_places(f, s->condition, false, true);
    list_places(f, s->value, false, true);
    list_places(f, s->target, true, false);
    if (number >= 0 && s->kind == STMT_ASSIGN && !f->in_step)
        f->assigned[number]++;
}

/* Pins the axes along which only one block gets to the code where the condition is `truth`. */
static void pin(struct finder *f, const struct expr *condition, bool truth)
{
    if (condition->op == (truth ? OP_LAND : OP_LOR)) {
        pin(f, condition->args[0], truth);
        pin(f, condition->args[1], truth);
    }
    if (condition->op != (truth ? OP_EQ : OP_NE))
        return;
    struct origin a = origin_of(f, condition->args[0]), b = origin_of(f, condition->args[1]);
    uint8_t full = a.full | b.full;
    bool fixed = !a.moves || !b.moves;
    for (int axis = 0; fixed && !a.partial && !b.partial && axis < AXES; axis++)
        if (full == 1 << axis)
            f->pins.condition[axis] = condition;
}

static bool ends_with_return(const struct stmt *s)
{
    while (s && (s->next || s->kind == STMT_BLOCK))
        s = s->next ? s->next : s->body;
    return s && s->kind == STMT_RETURN;
}

static void walk(struct finder *f, const struct stmt *first, int depth);

/* Walks the branches of an `if`, or the body of a loop. */
static void walk_inside(struct finder *f, const struct stmt *s, int depth)
{
    struct pins before = f->pins;
    bool branches = s->kind == STMT_IF;
    if (branches)
        pin(f, s->condition, true);
    walk(f, s->body, depth);
    f->pins = before;
    if (branches)
        pin(f, s->condition, false);
    walk(f, s->otherwise, depth);
    if (!branches || s->otherwise || !ends_with_return(s->body))
        f->pins = before;
}

static void walk(struct finder *f, const struct stmt *first, int depth)
{
    struct pins before = f->pins;
    for (const struct stmt *s = first; s; s = s->next) {
        if (s->kind == STMT_ENSURES)
            continue;
        for (const struct stmt *i = s->init; i; i = i->next)
            visit(f, i, depth);
        visit(f, s, depth);
        int inner = depth + origin_of(f, s->condition).moves;
        walk_inside(f, s, inner);
        for (const struct stmt *i = s->step; i; i = i->next) {
            f->in_step = true; /* the next iteration has the same indices */
            visit(f, i, inner);
            f->in_step = false;
        }
    }
    f->pins = before;
}

/* --- places that meet --- */

/* Returns the value of a local that has only one value, in place of the local. */
static const struct expr *meaning(const struct finder *f, const struct expr *e)
{
    while (e && e->op == OP_REF && e->sym->storage == ST_SCALAR) {
        int number = numbering_of(&f->numbers, e->sym);
        if (number < 0 || !f->means[number] || f->varies[number])
            break;
        e = f->means[number];
    }
    return e;
}

static bool same(const struct finder *f, const struct expr *a, const struct expr *b)
{
    a = meaning(f, a);
    b = meaning(f, b);
    if (!a || !b)
        return a == b;
    if (a->op != b->op || a->sym != b->sym || a->count != b->count || a->axis != b->axis ||
        a->type.dtype != b->type.dtype || a->indices || b->indices ||
        (a->op == OP_LITERAL && !literal_same(a->literal, b->literal)))
        return false;
    for (int i = 0; i < a->count; i++)
        if (!same(f, a->args[i], b->args[i]))
            return false;
    return true;
}

/* Returns true if element (i, j, …) has the same address in both views, given that both arrays
 * begin at the same address. */
static bool alike(const struct finder *f, const struct sym *x, const struct sym *y)
{
    bool is_alike =
        x->type.rank == y->type.rank && dtype_size(x->type.dtype) == dtype_size(y->type.dtype);
    for (int i = 1; i < x->type.rank && is_alike; i++)
        is_alike = same(f, x->dims[i], y->dims[i]);
    return is_alike;
}

/* Returns true if an index before this one has the same value. */
static bool is_repeated(const struct finder *f, const struct expr *access, int index)
{
    for (int i = 0; i < index; i++)
        if (same(f, access->index[i].value, access->index[index].value))
            return true;
    return false;
}

/* Returns the axes along which only one block, the same one, gets to both places. */
static uint8_t pinned(const struct place *x, const struct place *y)
{
    uint8_t axes = 0;
    for (int axis = 0; axis < AXES; axis++)
        if (x->pins.condition[axis] && x->pins.condition[axis] == y->pins.condition[axis])
            axes |= (uint8_t)(1 << axis);
    return axes;
}

static bool same_index(const struct finder *f, const struct place *x, const struct place *y, int i)
{
    const struct index *at = &x->access->index[i], *by = &y->access->index[i];
    return at->kind == by->kind && at->extent == by->extent && x->age == y->age &&
           same(f, at->value, by->value);
}

static bool may_meet(struct finder *f, const struct place *x, const struct place *y)
{
    const struct expr *a = x->access, *b = y->access;
    if (is_strided(a->sym) || is_strided(b->sym))
        return true;
    if (!alike(f, a->sym, b->sym) || a->indices != b->indices)
        return false;
    uint8_t told = pinned(x, y), partial = 0; /* axes along which the indices differ between all
                                               * blocks */
    for (int i = 0; i < a->indices; i++) {
        if (!x->moves[i] && !y->moves[i])
            continue;
        if (!same_index(f, x, y, i))
            return false;
        if (is_repeated(f, a, i))
            continue;
        struct origin of = origin_of(f, a->index[i].value);
        told |= of.full | (partial & of.partial);
        partial |= of.partial;
    }
    return !(f->several & ~told);
}

/* --- each place once --- */

static uint64_t mix(uint64_t hash, uint64_t x)
{
    return (hash ^ x) * 1099511628211u;
}

static uint64_t hash_of(const struct finder *f, uint64_t hash, const struct expr *e)
{
    e = meaning(f, e);
    if (!e)
        return mix(hash, 1);
    hash = mix(mix(hash, (uint64_t)e->op), (uint64_t)e->literal.i);
    if (e->sym)
        hash = mix(hash, (uint64_t)numbering_of(&f->numbers, e->sym));
    for (int i = 0; i < e->count; i++)
        hash = hash_of(f, hash, e->args[i]);
    return hash;
}

/* Returns true if both places meet the same places of other arrays. An index that does not move
 * is not compared, because it does not differ between blocks. */
static bool same_place(const struct finder *f, const struct place *x, const struct place *y)
{
    const struct expr *a = x->access, *b = y->access;
    bool equal = x->param == y->param && is_strided(a->sym) == is_strided(b->sym) &&
                 a->indices == b->indices && alike(f, a->sym, b->sym) &&
                 memcmp(&x->pins, &y->pins, sizeof x->pins) == 0;
    for (int i = 0; i < a->indices && equal; i++)
        equal = x->moves[i] == y->moves[i] && (!x->moves[i] || same_index(f, x, y, i));
    return equal;
}

static void keep_place(struct finder *f, const struct place *p)
{
    struct place *kept = arena_copy(f->arena, p, sizeof *p);
    struct name_entry *entry =
        name_table_find(&f->by_hash, (const char *)&kept->hash, sizeof kept->hash);
    if (!entry)
        entry = name_table_add(&f->by_hash, (const char *)&kept->hash, sizeof kept->hash);
    kept->same_hash = entry->object;
    entry->object = kept;
    vec_push(f->arena, &f->of[p->param], kept);
    if (p->stores)
        vec_push(f->arena, &f->stores, kept);
}

static void add_place(struct finder *f, struct place *p)
{
    const struct expr *e = p->access;
    p->hash = mix((uint64_t)p->param, (uint64_t)e->indices);
    for (int i = 0; i < e->indices; i++) {
        p->moves[i] = origin_of(f, e->index[i].value).moves;
        p->hash = p->moves[i] ? hash_of(f, mix(p->hash, (uint64_t)p->age), e->index[i].value)
                              : mix(p->hash, 2);
    }
    const struct name_entry *found =
        name_table_find(&f->by_hash, (const char *)&p->hash, sizeof p->hash);
    for (struct place *at = found ? found->object : NULL; at; at = at->same_hash)
        if (at->stores == p->stores && same_place(f, at, p)) {
            at->loads = at->loads || p->loads;
            return;
        }
    keep_place(f, p);
}

/* --- pairs --- */

static void find_pairs(struct finder *f)
{
    struct overlay *out = f->out;
    for (size_t i = 0; i < f->stores.count; i++) {
        const struct place *w = f->stores.data[i];
        for (int param = 0; param < OVERLAY_PARAMS; param++) {
            uint64_t other = UINT64_C(1) << param;
            for (size_t j = 0; j < f->of[param].count && w->param != param; j++) {
                const struct place *r = f->of[param].data[j];
                if (out->apart[w->param] & other)
                    break;
                if ((r->loads && (out->multiplied & other)) || !may_meet(f, w, r))
                    out->apart[w->param] |= other;
            }
        }
    }
}

void overlay_find(struct arena *a, const struct kernel *k, struct overlay *out)
{
    struct finder f = {.arena = a, .out = out};
    *out = (struct overlay){0};
    for (int axis = 0; axis < AXES; axis++) {
        int64_t blocks = 1;
        if (k->grid[axis] && (!eval_int(k->grid[axis], NULL, &blocks) || blocks != 1))
            f.several |= (uint8_t)(1 << axis);
    }
    numbering_init(&f.numbers, a, k);
    name_table_init(&f.by_hash, a);
    f.origin = arena_array(a, struct origin, f.numbers.count);
    f.means = arena_array(a, const struct expr *, f.numbers.count);
    f.depth = arena_array(a, int, f.numbers.count);
    f.varies = arena_array(a, bool, f.numbers.count);
    f.assigned = arena_array(a, int, f.numbers.count);
    do {
        f.changed = false;
        walk(&f, k->body, 0);
    } while (f.changed);
    f.listing = true;
    walk(&f, k->body, 0);
    find_pairs(&f);
}
