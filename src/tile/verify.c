/* The verifier: checks that a kernel keeps the invariants of tile.h. Debug builds run it after
 * each pass. It trusts nothing, reads everything, and stops at the first fault. */
#include "tile/numbering.h"

#include <stdlib.h>
#include <string.h>

struct verifier {
    struct arena *arena;
    const struct kernel *kernel;
    const char *problem; /* NULL: none so far */
    struct numbering numbers;
    bool *visible;                 /* by number: declared and in scope */
    VEC(const struct sym *) scope; /* declared symbols in scope, the latest last */
    int loops;                     /* number of loops around the present statement */
    bool in_ensures;
    const struct expr *whole; /* the value of the present statement or scalar declaration */
};

static bool fail(struct verifier *v, const struct expr *e, const char *what)
{
    if (v->problem)
        return false;
    struct text text;
    text_init(&text, v->arena);
    if (e) {
        text_printf(&text, "%s: ", op_table[e->op].id);
        /* Printing follows pointers that an ill-formed node may lack; naming a reference is
         * safe. */
        if (e->sym)
            text_printf(&text, "%s: ", e->sym->name);
    }
    text_add(&text, what);
    v->problem = text.data;
    return false;
}

static bool check(struct verifier *v, const struct expr *e, bool holds, const char *what)
{
    return holds || fail(v, e, what);
}

/* --- types --- */

static bool is_int_or_bool(enum dtype t)
{
    return !dtype_is_float(t);
}

/* Returns true if the extents agree on every axis whose extent both types know. */
static bool same_extents(const struct type *a, const struct type *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->extent[i] != b->extent[i] && a->extent[i] != EXTENT_RUNTIME &&
            b->extent[i] != EXTENT_RUNTIME)
            return false;
    return true;
}

/* Returns true if a value of shape `from` broadcasts to exactly `to`. */
static bool fits_shape(const struct type *to, const struct type *from)
{
    struct type both;
    return type_broadcast(to, from, &both) && same_extents(&both, to);
}

/* Checks that the broadcast of the operands from `first` on gives e's shape. */
static bool check_broadcast(struct verifier *v, const struct expr *e, int first)
{
    struct type shape = e->args[first]->type;
    for (int i = first + 1; i < e->count; i++)
        if (!type_broadcast(&shape, &e->args[i]->type, &shape))
            return fail(v, e, "operands do not broadcast");
    return check(v, e, same_extents(&shape, &e->type),
                 "result has another shape than its operands");
}

static bool is_shift(enum op op)
{
    return op == OP_SHL || op == OP_SHR;
}

static bool check_arith(struct verifier *v, const struct expr *e)
{
    enum dtype joined = e->args[0]->type.dtype;
    joined = dtype_join(joined, joined);
    for (int i = 1; i < e->count; i++)
        joined = dtype_join(joined, e->args[i]->type.dtype);
    return check(v, e, e->type.dtype == joined, "type is not the join of its operands' types") &&
           check_broadcast(v, e, 0);
}

static bool check_compare(struct verifier *v, const struct expr *e)
{
    return check(v, e, e->type.dtype == DT_BOOL, "a comparison gives bool") &&
           check_broadcast(v, e, 0);
}

static bool check_logic(struct verifier *v, const struct expr *e)
{
    for (int i = 0; i < e->count; i++)
        if (!is_int_or_bool(e->args[i]->type.dtype))
            return fail(v, e, "operand of a logic op is a float");
    return check(v, e, e->type.dtype == DT_BOOL, "a logic op gives bool") &&
           check_broadcast(v, e, 0);
}

static bool check_bitwise(struct verifier *v, const struct expr *e)
{
    for (int i = 0; i < e->count; i++)
        if (!is_int_or_bool(e->args[i]->type.dtype))
            return fail(v, e, "operand of a bitwise op is a float");
    enum dtype a = e->args[0]->type.dtype, b = e->args[e->count - 1]->type.dtype;
    bool typed = e->type.dtype == dtype_join(a, b) || (a == b && e->type.dtype == a) ||
                 (is_shift(e->op) && (e->type.dtype == a || e->type.dtype == dtype_join(a, a)));
    return check(v, e, typed, "type is not that of its operands") && check_broadcast(v, e, 0);
}

static bool check_float(struct verifier *v, const struct expr *e)
{
    enum dtype t = e->args[0]->type.dtype;
    return check(v, e, e->type.dtype == (dtype_is_float(t) ? t : DT_F32),
                 "a float function keeps a float type and makes f32 of others") &&
           check_broadcast(v, e, 0);
}

static bool check_reduce(struct verifier *v, const struct expr *e)
{
    const struct type *from = &e->args[0]->type;
    enum dtype t = from->dtype, r = e->type.dtype;
    bool typed;
    switch (e->op) {
    case OP_REDUCE_ANY:
    case OP_REDUCE_ALL: typed = r == DT_BOOL; break;
    case OP_REDUCE_ARGMAX:
    case OP_REDUCE_ARGMIN: typed = r == DT_I32 && v->in_ensures; break;
    case OP_REDUCE_SUM:
        typed = dtype_is_float(t) == dtype_is_float(r) && dtype_size(r) >= dtype_size(t) &&
                (!dtype_is_float(t) || dtype_size(r) >= 4);
        break;
    default: typed = r == t; break;
    }
    if (!typed)
        return fail(v, e, "a reduction of this type gives another type");
    struct type want = *from;
    if (e->axis < 0)
        want.rank = 0;
    else if (e->axis < from->rank)
        want.extent[e->axis] = 1;
    else
        return fail(v, e, "axis beyond the rank");
    return check(v, e, same_extents(&want, &e->type), "a reduced axis becomes 1, all a scalar");
}

static bool check_shape_op(struct verifier *v, const struct expr *e)
{
    const struct type *from = &e->args[0]->type, *to = &e->type;
    struct type want = *from;
    bool fits = true;
    switch (e->op) {
    case OP_TRANS:
        if (from->rank < 2)
            return fail(v, e, "trans needs two axes");
        want.extent[from->rank - 1] = from->extent[from->rank - 2];
        want.extent[from->rank - 2] = from->extent[from->rank - 1];
        fits = same_extents(&want, to);
        break;
    case OP_RESHAPE: fits = v->in_ensures || type_elements(from) == type_elements(to); break;
    case OP_BROADCAST: fits = fits_shape(to, from); break;
    default: /* repeat and repeat_interleave */
        fits = to->rank >= from->rank;
        for (int i = 1; fits && !v->in_ensures && i <= from->rank; i++)
            fits = to->extent[to->rank - i] % from->extent[from->rank - i] == 0;
        break;
    }
    return check(v, e, from->dtype == to->dtype, "moving elements changes no type") &&
           check(v, e, fits, "shape does not follow from the operand's");
}

/* --- leaves --- */

static bool visible(const struct verifier *v, const struct sym *s)
{
    if (s->storage == ST_PARAM || s->storage == ST_CONST)
        return true;
    int number = numbering_of(&v->numbers, s);
    return number >= 0 && v->visible[number];
}

static void open_symbol(struct verifier *v, const struct sym *s)
{
    int number = numbering_of(&v->numbers, s);
    if (number < 0) {
        fail(v, NULL, arena_printf(v->arena, "%s is not a symbol of the kernel", s->name));
        return;
    }
    v->visible[number] = true;
    vec_push(v->arena, &v->scope, s);
}

static void close_scope(struct verifier *v, size_t outer)
{
    while (v->scope.count > outer)
        v->visible[numbering_of(&v->numbers, v->scope.data[--v->scope.count])] = false;
}

static bool check_literal(struct verifier *v, const struct expr *e)
{
    enum dtype t = e->type.dtype;
    return check(v, e, e->type.rank == 0, "a literal is a scalar") &&
           check(v, e, e->literal.is_float == dtype_is_float(t),
                 "literal stored as another kind") &&
           check(v, e, e->literal.is_float || dtype_wrap(t, e->literal.i) == e->literal.i,
                 "literal beyond its type's range");
}

static bool check_ref(struct verifier *v, const struct expr *e)
{
    const struct sym *s = e->sym;
    if (!s)
        return fail(v, NULL, "REF without a symbol");
    return check(v, e, visible(v, s), "used where it is not declared") &&
           check(v, e, s->storage != ST_VIEW && s->storage != ST_SHARED && !s->is_pointer,
                 "memory needs an ACCESS") &&
           check(v, e, e->type.dtype == s->type.dtype && same_extents(&e->type, &s->type),
                 "type differs from its symbol's");
}

static bool check_place(struct verifier *v, const struct expr *e)
{
    return check(v, e,
                 e->type.rank == 0 && e->type.dtype == DT_I32 && e->axis >= 0 &&
                     e->axis < 3 + (e->op == OP_CLUSTER),
                 "not an i32 with an axis of 0 to 2, or a rank") &&
           check(v, e, e->op != OP_THREAD || kernel_thread_level(v->kernel),
                 "thread index in a warps kernel");
}

/* Returns the extent of an axis; EXTENT_RUNTIME if only the launch knows it. */
static int64_t axis_extent(const struct sym *s, int axis)
{
    if (s->storage != ST_VIEW)
        return s->type.extent[axis];
    int64_t extent;
    return eval_int(s->dims[axis], NULL, &extent) ? extent : EXTENT_RUNTIME;
}

static bool check_index(struct verifier *v, const struct expr *e, int axis, struct type *shape)
{
    const struct index *index = &e->index[axis];
    if (!check(v, e, (index->kind == IX_ALL) == !index->value, "index without its value"))
        return false;
    if (index->value && !check(v, e,
                               is_int_or_bool(index->value->type.dtype) &&
                                   index->value->type.rank == (index->kind == IX_GATHER ? 1 : 0),
                               "index is not an integer of the right rank"))
        return false;
    int64_t extent = axis_extent(e->sym, axis);
    switch (index->kind) {
    case IX_ELEMENT: return true;
    case IX_SLICE:
        extent = index->extent;
        if (extent <= 0)
            return fail(v, e, "slice without a positive extent");
        break;
    case IX_GATHER: extent = index->value->type.extent[0]; break;
    case IX_ALL: break;
    }
    shape->extent[shape->rank++] = extent;
    return true;
}

static bool check_access(struct verifier *v, const struct expr *e)
{
    const struct sym *s = e->sym;
    if (!s)
        return fail(v, NULL, "ACCESS without a symbol");
    if (!check(v, e, visible(v, s), "used where it is not declared") ||
        !check(v, e,
               s->storage == ST_VIEW || s->storage == ST_SHARED || s->storage == ST_ARRAY ||
                   s->storage == ST_REG || s->storage == ST_MBARRIER,
               "a scalar has no elements") ||
        !check(v, e, e->indices <= s->type.rank, "more indices than axes"))
        return false;
    struct type shape = {.dtype = s->type.dtype};
    for (int i = 0; i < e->indices; i++)
        if (!check_index(v, e, i, &shape))
            return false;
    for (int i = e->indices; i < s->type.rank; i++)
        shape.extent[shape.rank++] = axis_extent(s, i);
    const struct expr *otherwise = e->otherwise, *peer = access_peer(e);
    return check(v, e,
                 !peer || (peer->type.rank == 0 && peer->type.dtype == DT_I32 &&
                           v->kernel->cluster[0] > 0 &&
                           (s->storage == ST_SHARED || s->storage == ST_MBARRIER)),
                 "a peer's memory is shared memory of a block of the cluster") &&
           check(v, e, e->type.dtype == shape.dtype && same_extents(&e->type, &shape),
                 "type does not follow from the indices") &&
           check(v, e,
                 !otherwise || (otherwise->type.dtype == e->type.dtype &&
                                fits_shape(&e->type, &otherwise->type)),
                 "`else` has another type or shape");
}

/* --- ops with a rule of their own --- */

static bool check_choice(struct verifier *v, const struct expr *e)
{
    const struct type *c = &e->args[0]->type;
    return check(v, e, is_int_or_bool(c->dtype), "the condition is a float") &&
           check(v, e, e->op != OP_SELECT || c->rank == 0, "the condition of ?: is a scalar") &&
           check(v, e,
                 e->args[1]->type.dtype == e->type.dtype && e->args[2]->type.dtype == e->type.dtype,
                 "the branches have another type") &&
           check_broadcast(v, e, e->op == OP_SELECT ? 1 : 0);
}

/* Returns true if the program may say who does e: a product, or a part of a view. */
static bool may_have_by(const struct verifier *v, const struct expr *e)
{
    bool part = e->op == OP_ACCESS && e->sym && e->sym->storage == ST_VIEW && e->type.rank > 0;
    return (e->op == OP_DOT || part) && !v->in_ensures;
}

static bool check_dot(struct verifier *v, const struct expr *e)
{
    if (e->count != 2 && e->count != 3)
        return fail(v, e, "wrong number of operands");
    const struct type *a = &e->args[0]->type, *b = &e->args[1]->type;
    if (a->rank < 2 || b->rank != a->rank || e->type.rank != a->rank)
        return fail(v, e, "operands are not matrices of one rank");
    int m = a->rank - 2, n = a->rank - 1;
    struct type inner_a = {.rank = 1, .extent = {a->extent[n]}};
    struct type inner_b = {.rank = 1, .extent = {b->extent[m]}};
    struct type want = *a;
    want.extent[n] = b->extent[n];
    enum dtype t = dtype_join(a->dtype, b->dtype);
    enum dtype sum = dtype_is_float(t)    ? (t == DT_F64 ? DT_F64 : DT_F32)
                     : dtype_size(t) == 8 ? t
                                          : DT_I32;
    bool typed = e->type.dtype == sum || (!dtype_is_float(t) && dtype_is_int(e->type.dtype) &&
                                          dtype_size(e->type.dtype) >= 4);
    return check(v, e, dtype_is_float(a->dtype) == dtype_is_float(b->dtype),
                 "an integer and a float operand") &&
           check(v, e, same_extents(&inner_a, &inner_b), "inner extents differ") &&
           check(v, e, same_extents(&want, &e->type), "shape does not follow") &&
           check(v, e, typed, "sums in another type") &&
           check(v, e,
                 e->count == 2 || (e->args[2]->type.dtype == e->type.dtype &&
                                   fits_shape(&e->type, &e->args[2]->type)),
                 "the summand has another type or shape");
}

static bool check_iota(struct verifier *v, const struct expr *e)
{
    int counted = 0;
    for (int i = 0; i < e->type.rank; i++)
        counted += e->type.extent[i] != 1;
    return check(v, e, e->type.dtype == DT_I32 && counted <= 1, "counts along one axis, in i32");
}

static bool check_atomic(struct verifier *v, const struct expr *e)
{
    const struct expr *place = e->args[0];
    if (place->op != OP_ACCESS ||
        (place->sym->storage != ST_VIEW && place->sym->storage != ST_SHARED))
        return fail(v, e, "the first operand is not an element of memory");
    for (int i = 1; i < e->count; i++)
        if (e->args[i]->type.dtype != place->type.dtype ||
            !fits_shape(&place->type, &e->args[i]->type))
            return fail(v, e, "operand has another type or shape than the element");
    return check(v, e, e->type.dtype == place->type.dtype && same_extents(&e->type, &place->type),
                 "the result has another type than the element");
}

static bool check_own(struct verifier *v, const struct expr *e)
{
    const struct type *first = e->count > 0 ? &e->args[0]->type : NULL;
    switch (e->op) {
    case OP_LITERAL: return check_literal(v, e);
    case OP_REF: return check_ref(v, e);
    case OP_BLOCK:
    case OP_GRID:
    case OP_CLUSTER:
    case OP_THREAD: return check_place(v, e);
    case OP_ACCESS: return check_access(v, e);
    case OP_SELECT:
    case OP_WHERE: return check_choice(v, e);
    case OP_CAST: return check(v, e, same_extents(first, &e->type), "a cast keeps the shape");
    case OP_BITS:
        return check(v, e,
                     same_extents(first, &e->type) &&
                         dtype_size(first->dtype) == dtype_size(e->type.dtype),
                     "bits of another shape or width");
    case OP_SCAN:
        return check(v, e, same_extents(first, &e->type) && e->axis >= 0 && e->axis < first->rank,
                     "a scan keeps the shape and needs an axis");
    case OP_DOT: return check_dot(v, e);
    case OP_IOTA: return check_iota(v, e);
    case OP_LOOKUP:
        return check(v, e,
                     e->sym && e->sym->storage == ST_TABLE && e->sym->type.rank == 1 &&
                         e->args[0]->op == OP_LITERAL && e->args[0]->literal.i == e->sym->index,
                     "looks up in no table") &&
               check(v, e,
                     e->args[1]->type.dtype == DT_I32 && e->type.dtype == e->sym->type.dtype &&
                         same_extents(&e->args[1]->type, &e->type),
                     "an i32 for each element is looked up");
    case OP_ARRIVE:
        return check(v, e,
                     e == v->whole && e->type.rank == 0 && e->args[0]->op == OP_ACCESS &&
                         e->args[0]->sym->storage == ST_VIEW,
                     "arrives at no element of global memory, or within an expression") &&
               check_atomic(v, e);
    case OP_PHILOX:
        return check(v, e, (e->count == 2 || e->count == 3) && e->type.dtype == DT_U32,
                     "philox(seed, offset [, word]) gives u32");
    default: return check_atomic(v, e);
    }
}

/* --- expressions --- */

static bool is_part_of(const struct expr *e, enum storage storage)
{
    return e->op == OP_ACCESS && e->sym->storage == storage;
}

static bool is_mbarrier(const struct expr *e)
{
    return is_part_of(e, ST_MBARRIER) && e->type.rank == 0;
}

static bool check_effect(struct verifier *v, const struct expr *e)
{
    switch (e->op) {
    case OP_LOCK:
    case OP_UNLOCK:
        return check(v, e, e->args[0]->op == OP_ACCESS && e->args[0]->type.rank == 0,
                     "locks an element of memory");
    case OP_ASYNC_WAIT:
        return check(v, e, is_int_or_bool(e->args[0]->type.dtype) && e->args[0]->type.rank == 0,
                     "waits for an integer number of groups");
    case OP_WAIT:
    case OP_EXPECT:
    case OP_MBARRIER_ARRIVE:
        return check(v, e, e->count >= 1 && e->count <= 2 && is_mbarrier(e->args[0]),
                     "names no mbarrier");
    case OP_DOT_WAIT:
    case OP_STORE_WAIT:
        return check(v, e, e->args[0]->op == OP_LITERAL, "waits for a number that is not known");
    case OP_DOT_ASYNC: return fail(v, e, "a product in the background is an assignment");
    case OP_ASSUME:
        return check(v, e, is_int_or_bool(e->args[0]->type.dtype), "assumes a truth value");
    case OP_FREE: {
        const struct sym *s = e->sym ? e->sym : e->count > 0 ? e->args[0]->sym : NULL;
        return check(v, e, s && s->storage == ST_SHARED, "frees a shared tile");
    }
    default: return true;
    }
}

static bool check_rules(struct verifier *v, const struct expr *e)
{
    switch (op_table[e->op].class) {
    case CLASS_ARITH: return check_arith(v, e);
    case CLASS_COMPARE: return check_compare(v, e);
    case CLASS_LOGIC: return check_logic(v, e);
    case CLASS_FLOAT: return check_float(v, e);
    case CLASS_BITWISE: return check_bitwise(v, e);
    case CLASS_REDUCE: return check_reduce(v, e);
    case CLASS_SHAPE: return check_shape_op(v, e);
    case CLASS_OWN: return check_own(v, e);
    case CLASS_EFFECT: return check_effect(v, e);
    }
    return fail(v, e, "no class");
}

static bool check_expr(struct verifier *v, const struct expr *e, bool is_statement)
{
    if (!e)
        return fail(v, NULL, "an operand is missing");
    if ((int)e->op < 0 || e->op >= OP_COUNT)
        return fail(v, NULL, "no such op");
    const struct op_info *info = &op_table[e->op];
    if (info->class == CLASS_EFFECT && !is_statement)
        return fail(v, e, "a statement is used as an expression");
    if (e->by && (!may_have_by(v, e) || !by_reads_back(e->by)))
        return fail(v, e, "by(…) cannot be printed");
    /* free() names its tile by symbol; in `ensures`, iota, reshape and the repeats have numbers as
     * operands. */
    bool free_by_symbol = e->op == OP_FREE && e->count == 0;
    bool at_launch =
        v->in_ensures &&
        ((e->op == OP_IOTA && e->count == e->type.rank) ||
         ((e->op == OP_RESHAPE || e->op == OP_REPEAT || e->op == OP_REPEAT_INTERLEAVE) &&
          e->count == 1 + e->type.rank));
    bool peer = e->op == OP_ACCESS && e->count == 1;
    if (info->arity >= 0 && e->count != info->arity && !peer && !free_by_symbol && !at_launch)
        return fail(v, e, "wrong number of operands");
    if (info->class != CLASS_EFFECT && ((int)e->type.dtype < 0 || e->type.dtype >= DT_COUNT ||
                                        e->type.rank < 0 || e->type.rank > MAX_RANK))
        return fail(v, e, "no type");
    for (int i = 0; i < e->count; i++)
        if (!check_expr(v, e->args[i], false))
            return false;
    for (int i = 0; i < e->indices; i++)
        if (e->index[i].value && !check_expr(v, e->index[i].value, false))
            return false;
    if (e->otherwise && !check_expr(v, e->otherwise, false))
        return false;
    return check_rules(v, e);
}

/* --- statements --- */

static bool check_list(struct verifier *v, const struct stmt *first, bool top);

static bool check_stored(struct verifier *v, const struct expr *value, const struct type *to,
                         const char *name)
{
    if (!check_expr(v, value, false))
        return false;
    if (value->type.dtype == to->dtype && fits_shape(to, &value->type))
        return true;
    return fail(v, NULL,
                arena_printf(v->arena, "%s is %s, and what is stored there %s", name,
                             type_text(v->arena, to), type_text(v->arena, &value->type)));
}

static bool check_view(struct verifier *v, const struct sym *s)
{
    for (int i = 0; i < s->type.rank; i++) {
        if (!check_expr(v, s->dims[i], false))
            return false;
        if (s->strides[i] && !check_expr(v, s->strides[i], false))
            return false;
    }
    return !s->base_offset || check_expr(v, s->base_offset, false);
}

static bool check_decl(struct verifier *v, const struct stmt *s)
{
    const struct sym *sym = s->sym;
    if (!sym || sym->storage == ST_PARAM || sym->storage == ST_CONST)
        return fail(v, NULL, "a declaration of nothing that can be declared");
    if (sym->storage == ST_VIEW && !check_view(v, sym))
        return false;
    v->whole = sym->storage == ST_SCALAR ? s->value : NULL;
    if (s->value && !check_stored(v, s->value, &sym->type, sym->name))
        return false;
    if (visible(v, sym))
        return fail(v, NULL, arena_printf(v->arena, "%s is declared twice", sym->name));
    open_symbol(v, sym);
    return !v->problem;
}

static bool assignable(const struct expr *target)
{
    const struct sym *s = target->sym;
    if (target->op == OP_REF)
        return s->storage == ST_SCALAR || s->storage == ST_ARRAY || s->storage == ST_REG;
    return target->op == OP_ACCESS && !target->otherwise &&
           (s->storage != ST_VIEW || !s->is_const) && s->storage != ST_REG;
}

static bool check_assign(struct verifier *v, const struct stmt *s)
{
    return check_expr(v, s->target, false) &&
           check(v, s->target, assignable(s->target), "cannot be assigned to") &&
           check_stored(v, s->value, &s->target->type, s->target->sym->name);
}

static bool check_async(struct verifier *v, const struct stmt *s)
{
    bool stores = is_part_of(s->target, ST_VIEW);
    return check_assign(v, s) &&
           check(v, s->target, stores || is_part_of(s->target, ST_SHARED),
                 "a copy in the background fills shared memory or a view") &&
           check(v, s->value, is_part_of(s->value, stores ? ST_SHARED : ST_VIEW),
                 "a copy in the background reads the other memory") &&
           check(v, s->target,
                 !s->barrier ||
                     (!stores && check_expr(v, s->barrier, false) && is_mbarrier(s->barrier)),
                 "a copy completes on something else than an mbarrier") &&
           check(v, s->target,
                 !s->multicast ||
                     (s->barrier && check_expr(v, s->multicast, false) &&
                      s->multicast->type.rank == 0 && s->multicast->type.dtype == DT_I32),
                 "a copy to several blocks has an mbarrier and an i32");
}

static bool check_promoted(struct verifier *v, const struct stmt *s)
{
    return check(v, s->value,
                 s->promoted == 0 ||
                     (product_is_small(s) && (s->promoted == SUM_IN_UNIT ||
                                              (s->promoted > 0 && s->promoted % SUM_STEP == 0))),
                 "these sums have no such promotion");
}

static bool check_product(struct verifier *v, const struct stmt *s)
{
    const struct expr *e = s->value;
    return check_promoted(v, s) &&
           check(v, e,
                 e->op == OP_DOT && e->count == 3 && s->target->op == OP_REF &&
                     s->target->sym->storage == ST_REG && expr_same(s->target, e->args[2]),
                 "a product in the background is not c = dot(a, b, c)");
}

static bool check_condition(struct verifier *v, const struct expr *e)
{
    return check_expr(v, e, false) &&
           check(v, e, is_int_or_bool(e->type.dtype) && e->type.rank == 0,
                 "a condition is a scalar truth value");
}

static bool check_body(struct verifier *v, const struct stmt *body)
{
    size_t outer = v->scope.count;
    bool good = check_list(v, body, false);
    close_scope(v, outer);
    return good;
}

static bool check_loop_body(struct verifier *v, const struct stmt *s)
{
    v->loops++;
    bool good = check_body(v, s->body);
    v->loops--;
    return good;
}

static bool check_for(struct verifier *v, const struct stmt *s)
{
    size_t outer = v->scope.count;
    bool good = true;
    for (const struct stmt *i = s->init; good && i; i = i->next)
        good = i->kind == STMT_DECL     ? check_decl(v, i)
               : i->kind == STMT_ASSIGN ? check_assign(v, i)
                                        : fail(v, NULL, "a loop begins with declarations");
    good = good && (!s->condition || check_condition(v, s->condition)) && check_loop_body(v, s);
    for (const struct stmt *i = s->step; good && i; i = i->next)
        good = i->kind == STMT_ASSIGN ? check_assign(v, i)
                                      : fail(v, NULL, "a loop steps with assignments");
    close_scope(v, outer);
    return good;
}

static bool check_ensures(struct verifier *v, const struct stmt *s)
{
    size_t outer = v->scope.count;
    bool good = true;
    for (int i = 0; good && i < s->overs; i++) {
        good = s->over[i] && check_expr(v, s->bound[i], false);
        open_symbol(v, s->over[i]);
    }
    v->in_ensures = true;
    good = good && check_expr(v, s->target, false) && check_expr(v, s->value, false) &&
           check(v, s->target, s->target->op == OP_ACCESS && s->target->sym->storage == ST_VIEW,
                 "ensures speaks of a view") &&
           check(v, s->target, fits_shape(&s->target->type, &s->value->type),
                 "ensures compares two shapes");
    v->in_ensures = false;
    close_scope(v, outer);
    return good;
}

static bool check_role(struct verifier *v, const struct stmt *s, bool top)
{
    size_t outer = v->scope.count;
    if (!top || !s->role)
        return fail(v, NULL, "a role within a statement");
    if (s->role->replica)
        open_symbol(v, s->role->replica);
    bool good = check_list(v, s->body, false);
    close_scope(v, outer);
    return good;
}

static bool check_statement(struct verifier *v, const struct stmt *s, bool top)
{
    switch (s->kind) {
    case STMT_DECL: return check_decl(v, s);
    case STMT_ASSIGN: return check_assign(v, s) && (!s->in_background || check_product(v, s));
    case STMT_ASYNC_COPY: return check_async(v, s);
    case STMT_EFFECT:
        v->whole = s->value;
        return check_expr(v, s->value, true) &&
               check(v, s->value, !s->uncredited || may_be_uncredited(s->value->op),
                     "an op that cannot be `added`");
    case STMT_IF:
        return check_condition(v, s->condition) && check_body(v, s->body) &&
               check_body(v, s->otherwise);
    case STMT_FOR: return check_for(v, s);
    case STMT_WHILE: return check_condition(v, s->condition) && check_loop_body(v, s);
    case STMT_BLOCK:
    case STMT_ONE_THREAD: return check_body(v, s->body);
    case STMT_ROLE: return check_role(v, s, top);
    case STMT_BREAK:
    case STMT_CONTINUE: return v->loops > 0 || fail(v, NULL, "break or continue outside a loop");
    case STMT_RETURN: return true;
    case STMT_ENSURES:
        return top ? check_ensures(v, s) : fail(v, NULL, "ensures inside a statement");
    }
    return fail(v, NULL, "no such statement");
}

static bool check_list(struct verifier *v, const struct stmt *first, bool top)
{
    for (const struct stmt *s = first; s; s = s->next)
        if (!check_statement(v, s, top))
            return false;
    return true;
}

/* --- kernels --- */

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct sym *const *)a)->name, (*(const struct sym *const *)b)->name);
}

/* Checks that names are unique in the kernel: printing and parsing again need that. */
static bool check_names(struct verifier *v)
{
    VEC(const struct sym *) all = {0};
    for (const struct sym *s = v->kernel->symbols; s; s = s->next)
        vec_push(v->arena, &all, s);
    if (all.count == 0)
        return true;
    qsort(all.data, all.count, sizeof *all.data, by_name);
    for (size_t i = 1; i < all.count; i++)
        if (strcmp(all.data[i - 1]->name, all.data[i]->name) == 0)
            return fail(v, NULL,
                        arena_printf(v->arena, "two symbols are called %s", all.data[i]->name));
    return true;
}

/* Returns true if e depends only on constants and the parameters before index `below`. */
static bool follows(const struct expr *e, int below)
{
    const struct sym *s = e->op == OP_REF ? e->sym : NULL;
    bool good = !s || s->storage == ST_CONST || (s->storage == ST_PARAM && s->index < below);
    for (int i = 0; i < e->count; i++)
        good = good && follows(e->args[i], below);
    return good;
}

static bool check_params(struct verifier *v)
{
    int index = 0;
    for (const struct param *p = v->kernel->params; p; p = p->next, index++) {
        if (p->sym->storage != ST_PARAM || p->sym->index != index)
            return fail(v, NULL, arena_printf(v->arena, "parameter %d is out of order", index));
        const struct expr *derived = p->sym->derived;
        if (derived && (derived->type.rank > 0 || derived->type.dtype != p->sym->type.dtype ||
                        !follows(derived, index)))
            return fail(v, derived,
                        arena_printf(v->arena,
                                     "parameter %d does not follow from those "
                                     "before it",
                                     index));
    }
    return index == v->kernel->param_count || fail(v, NULL, "parameters are miscounted");
}

static bool check_plan(struct verifier *v)
{
    const struct kernel *k = v->kernel;
    for (const struct sym *s = k->planned ? k->symbols : NULL; s; s = s->next) {
        if (s->storage != ST_SHARED && s->storage != ST_MBARRIER)
            continue;
        int64_t bytes = type_bytes(&s->type);
        if (s->offset < 0 || s->offset + bytes > k->shared_bytes)
            return fail(v, NULL, arena_printf(v->arena, "%s lies outside shared memory", s->name));
    }
    return true;
}

static bool check_launch(struct verifier *v)
{
    const struct kernel *k = v->kernel;
    if ((k->warps > 0) == kernel_thread_level(k))
        return fail(v, NULL, "neither warps nor threads, or both");
    if (!k->grid[0])
        return fail(v, NULL, "no grid");
    for (int axis = 0; axis < 3; axis++)
        if (k->grid[axis] && !check_expr(v, k->grid[axis], false))
            return false;
    return true;
}

const char *kernel_verify(struct arena *a, const struct kernel *k)
{
    struct verifier v = {.arena = a, .kernel = k};
    numbering_init(&v.numbers, a, k);
    v.visible = arena_array(a, bool, v.numbers.count + 1);
    bool good = check_names(&v) && check_params(&v) && check_launch(&v) &&
                check_list(&v, k->body, true) && check_plan(&v);
    (void)good;
    return v.problem;
}
