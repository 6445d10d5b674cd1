/* Verifies expressions: types, shapes, operands and their symbols. */
#include "tile/verify.h"

bool verifier_fail(struct verifier *v, const struct expr *e, const char *what)
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

bool verifier_check(struct verifier *v, const struct expr *e, bool holds, const char *what)
{
    return holds || verifier_fail(v, e, what);
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

bool verifier_fits(const struct type *to, const struct type *from)
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
            return verifier_fail(v, e, "operands do not broadcast");
    return verifier_check(v, e, same_extents(&shape, &e->type),
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
    return verifier_check(v, e, e->type.dtype == joined,
                          "type is not the join of its operands' types") &&
           check_broadcast(v, e, 0);
}

static bool check_compare(struct verifier *v, const struct expr *e)
{
    return verifier_check(v, e, e->type.dtype == DT_BOOL, "a comparison gives bool") &&
           check_broadcast(v, e, 0);
}

static bool check_logic(struct verifier *v, const struct expr *e)
{
    for (int i = 0; i < e->count; i++)
        if (!is_int_or_bool(e->args[i]->type.dtype))
            return verifier_fail(v, e, "operand of a logic op is a float");
    return verifier_check(v, e, e->type.dtype == DT_BOOL, "a logic op gives bool") &&
           check_broadcast(v, e, 0);
}

static bool check_bitwise(struct verifier *v, const struct expr *e)
{
    for (int i = 0; i < e->count; i++)
        if (!is_int_or_bool(e->args[i]->type.dtype))
            return verifier_fail(v, e, "operand of a bitwise op is a float");
    enum dtype a = e->args[0]->type.dtype, b = e->args[e->count - 1]->type.dtype;
    bool typed = e->type.dtype == dtype_join(a, b) || (a == b && e->type.dtype == a) ||
                 (is_shift(e->op) && (e->type.dtype == a || e->type.dtype == dtype_join(a, a)));
    return verifier_check(v, e, typed, "type is not that of its operands") &&
           check_broadcast(v, e, 0);
}

static bool check_float(struct verifier *v, const struct expr *e)
{
    enum dtype t = e->args[0]->type.dtype;
    return verifier_check(v, e, e->type.dtype == (dtype_is_float(t) ? t : DT_F32),
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
        return verifier_fail(v, e, "a reduction of this type gives another type");
    struct type want = *from;
    if (e->axis < 0)
        want.rank = 0;
    else if (e->axis < from->rank)
        want.extent[e->axis] = 1;
    else
        return verifier_fail(v, e, "axis beyond the rank");
    return verifier_check(v, e, same_extents(&want, &e->type),
                          "a reduced axis becomes 1, all a scalar");
}

static bool check_shape_op(struct verifier *v, const struct expr *e)
{
    const struct type *from = &e->args[0]->type, *to = &e->type;
    struct type want = *from;
    bool fits = true;
    switch (e->op) {
    case OP_TRANS:
        if (from->rank < 2)
            return verifier_fail(v, e, "trans needs two axes");
        want.extent[from->rank - 1] = from->extent[from->rank - 2];
        want.extent[from->rank - 2] = from->extent[from->rank - 1];
        fits = same_extents(&want, to);
        break;
    case OP_RESHAPE: fits = v->in_ensures || type_elements(from) == type_elements(to); break;
    case OP_BROADCAST: fits = verifier_fits(to, from); break;
    default: /* repeat and repeat_interleave */
        fits = to->rank >= from->rank;
        for (int i = 1; fits && !v->in_ensures && i <= from->rank; i++)
            fits = to->extent[to->rank - i] % from->extent[from->rank - i] == 0;
        break;
    }
    return verifier_check(v, e, from->dtype == to->dtype, "moving elements changes no type") &&
           verifier_check(v, e, fits, "shape does not follow from the operand's");
}

/* --- leaves --- */

bool verifier_sees(const struct verifier *v, const struct sym *s)
{
    if (s->storage == ST_PARAM || s->storage == ST_CONST)
        return true;
    int number = numbering_of(&v->numbers, s);
    return number >= 0 && v->visible[number];
}

void verifier_open(struct verifier *v, const struct sym *s)
{
    int number = numbering_of(&v->numbers, s);
    if (number < 0) {
        verifier_fail(v, NULL, arena_printf(v->arena, "%s is not a symbol of the kernel", s->name));
        return;
    }
    v->visible[number] = true;
    vec_push(v->arena, &v->scope, s);
}

void verifier_close_scope(struct verifier *v, size_t outer)
{
    while (v->scope.count > outer)
        v->visible[numbering_of(&v->numbers, v->scope.data[--v->scope.count])] = false;
}

static bool check_literal(struct verifier *v, const struct expr *e)
{
    enum dtype t = e->type.dtype;
    return verifier_check(v, e, e->type.rank == 0, "a literal is a scalar") &&
           verifier_check(v, e, e->literal.is_float == dtype_is_float(t),
                          "literal stored as another kind") &&
           verifier_check(v, e, e->literal.is_float || dtype_wrap(t, e->literal.i) == e->literal.i,
                          "literal beyond its type's range");
}

static bool check_ref(struct verifier *v, const struct expr *e)
{
    const struct sym *s = e->sym;
    if (!s)
        return verifier_fail(v, NULL, "REF without a symbol");
    return verifier_check(v, e, verifier_sees(v, s), "used where it is not declared") &&
           verifier_check(v, e, s->storage != ST_VIEW && s->storage != ST_SHARED && !s->is_pointer,
                          "memory needs an ACCESS") &&
           verifier_check(v, e, e->type.dtype == s->type.dtype && same_extents(&e->type, &s->type),
                          "type differs from its symbol's");
}

static bool check_place(struct verifier *v, const struct expr *e)
{
    return verifier_check(v, e,
                          e->type.rank == 0 && e->type.dtype == DT_I32 && e->axis >= 0 &&
                              e->axis < 3 + (e->op == OP_CLUSTER),
                          "not an i32 with an axis of 0 to 2, or a rank") &&
           verifier_check(v, e, e->op != OP_THREAD || kernel_thread_level(v->kernel),
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
    if (!verifier_check(v, e, (index->kind == IX_ALL) == !index->value, "index without its value"))
        return false;
    if (index->value &&
        !verifier_check(v, e,
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
            return verifier_fail(v, e, "slice without a positive extent");
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
        return verifier_fail(v, NULL, "ACCESS without a symbol");
    if (!verifier_check(v, e, verifier_sees(v, s), "used where it is not declared") ||
        !verifier_check(v, e,
                        s->storage == ST_VIEW || s->storage == ST_SHARED ||
                            s->storage == ST_ARRAY || s->storage == ST_REG ||
                            s->storage == ST_MBARRIER,
                        "a scalar has no elements") ||
        !verifier_check(v, e, e->indices <= s->type.rank, "more indices than axes"))
        return false;
    struct type shape = {.dtype = s->type.dtype};
    for (int i = 0; i < e->indices; i++)
        if (!check_index(v, e, i, &shape))
            return false;
    for (int i = e->indices; i < s->type.rank; i++)
        shape.extent[shape.rank++] = axis_extent(s, i);
    const struct expr *otherwise = e->otherwise, *peer = access_peer(e);
    return verifier_check(v, e,
                          !peer || (peer->type.rank == 0 && peer->type.dtype == DT_I32 &&
                                    v->kernel->cluster[0] > 0 &&
                                    (s->storage == ST_SHARED || s->storage == ST_MBARRIER)),
                          "a peer's memory is shared memory of a block of the cluster") &&
           verifier_check(v, e, e->type.dtype == shape.dtype && same_extents(&e->type, &shape),
                          "type does not follow from the indices") &&
           verifier_check(v, e,
                          !otherwise || (otherwise->type.dtype == e->type.dtype &&
                                         verifier_fits(&e->type, &otherwise->type)),
                          "`else` has another type or shape");
}

/* --- ops with a rule of their own --- */

static bool check_choice(struct verifier *v, const struct expr *e)
{
    const struct type *c = &e->args[0]->type;
    return verifier_check(v, e, is_int_or_bool(c->dtype), "the condition is a float") &&
           verifier_check(v, e, e->op != OP_SELECT || c->rank == 0,
                          "the condition of ?: is a scalar") &&
           verifier_check(v, e,
                          e->args[1]->type.dtype == e->type.dtype &&
                              e->args[2]->type.dtype == e->type.dtype,
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
        return verifier_fail(v, e, "wrong number of operands");
    const struct type *a = &e->args[0]->type, *b = &e->args[1]->type;
    if (a->rank < 2 || b->rank != a->rank || e->type.rank != a->rank)
        return verifier_fail(v, e, "operands are not matrices of one rank");
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
    return verifier_check(v, e, dtype_is_float(a->dtype) == dtype_is_float(b->dtype),
                          "an integer and a float operand") &&
           verifier_check(v, e, same_extents(&inner_a, &inner_b), "inner extents differ") &&
           verifier_check(v, e, same_extents(&want, &e->type), "shape does not follow") &&
           verifier_check(v, e, typed, "sums in another type") &&
           verifier_check(v, e,
                          e->count == 2 || (e->args[2]->type.dtype == e->type.dtype &&
                                            verifier_fits(&e->type, &e->args[2]->type)),
                          "the summand has another type or shape");
}

static bool check_iota(struct verifier *v, const struct expr *e)
{
    int counted = 0;
    for (int i = 0; i < e->type.rank; i++)
        counted += e->type.extent[i] != 1;
    return verifier_check(v, e, e->type.dtype == DT_I32 && counted <= 1,
                          "counts along one axis, in i32");
}

static bool check_atomic(struct verifier *v, const struct expr *e)
{
    const struct expr *place = e->args[0];
    if (place->op != OP_ACCESS ||
        (place->sym->storage != ST_VIEW && place->sym->storage != ST_SHARED))
        return verifier_fail(v, e, "the first operand is not an element of memory");
    for (int i = 1; i < e->count; i++)
        if (e->args[i]->type.dtype != place->type.dtype ||
            !verifier_fits(&place->type, &e->args[i]->type))
            return verifier_fail(v, e, "operand has another type or shape than the element");
    return verifier_check(
        v, e, e->type.dtype == place->type.dtype && same_extents(&e->type, &place->type),
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
    case OP_CAST:
        return verifier_check(v, e, same_extents(first, &e->type), "a cast keeps the shape");
    case OP_BITS:
        return verifier_check(v, e,
                              same_extents(first, &e->type) &&
                                  dtype_size(first->dtype) == dtype_size(e->type.dtype),
                              "bits of another shape or width");
    case OP_SCAN:
        return verifier_check(
            v, e, same_extents(first, &e->type) && e->axis >= 0 && e->axis < first->rank,
            "a scan keeps the shape and needs an axis");
    case OP_DOT: return check_dot(v, e);
    case OP_IOTA: return check_iota(v, e);
    case OP_LOOKUP:
        return verifier_check(v, e,
                              e->sym && e->sym->storage == ST_TABLE && e->sym->type.rank == 1 &&
                                  e->args[0]->op == OP_LITERAL &&
                                  e->args[0]->literal.i == e->sym->index,
                              "looks up in no table") &&
               verifier_check(v, e,
                              e->args[1]->type.dtype == DT_I32 &&
                                  e->type.dtype == e->sym->type.dtype &&
                                  same_extents(&e->args[1]->type, &e->type),
                              "an i32 for each element is looked up");
    case OP_ARRIVE:
        return verifier_check(v, e,
                              e == v->whole && e->type.rank == 0 && e->args[0]->op == OP_ACCESS &&
                                  e->args[0]->sym->storage == ST_VIEW,
                              "arrives at no element of global memory, or within an expression") &&
               check_atomic(v, e);
    case OP_PHILOX:
        return verifier_check(v, e, (e->count == 2 || e->count == 3) && e->type.dtype == DT_U32,
                              "philox(seed, offset [, word]) gives u32");
    default: return check_atomic(v, e);
    }
}

/* --- expressions --- */

bool verifier_is_part(const struct expr *e, enum storage storage)
{
    return e->op == OP_ACCESS && e->sym->storage == storage;
}

bool verifier_is_mbarrier(const struct expr *e)
{
    return verifier_is_part(e, ST_MBARRIER) && e->type.rank == 0;
}

static bool check_effect(struct verifier *v, const struct expr *e)
{
    switch (e->op) {
    case OP_LOCK:
    case OP_UNLOCK:
        return verifier_check(v, e, e->args[0]->op == OP_ACCESS && e->args[0]->type.rank == 0,
                              "locks an element of memory");
    case OP_ASYNC_WAIT:
        return verifier_check(v, e,
                              is_int_or_bool(e->args[0]->type.dtype) && e->args[0]->type.rank == 0,
                              "waits for an integer number of groups");
    case OP_WAIT:
    case OP_EXPECT:
    case OP_MBARRIER_ARRIVE:
        return verifier_check(v, e,
                              e->count >= 1 && e->count <= 2 && verifier_is_mbarrier(e->args[0]),
                              "names no mbarrier");
    case OP_DOT_WAIT:
    case OP_STORE_WAIT:
        return verifier_check(v, e, e->args[0]->op == OP_LITERAL,
                              "waits for a number that is not known");
    case OP_DOT_ASYNC: return verifier_fail(v, e, "a product in the background is an assignment");
    case OP_ASSUME:
        return verifier_check(v, e, is_int_or_bool(e->args[0]->type.dtype),
                              "assumes a truth value");
    case OP_FREE: {
        const struct sym *s = e->sym ? e->sym : e->count > 0 ? e->args[0]->sym : NULL;
        return verifier_check(v, e, s && s->storage == ST_SHARED, "frees a shared tile");
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
    return verifier_fail(v, e, "no class");
}

bool verifier_expr(struct verifier *v, const struct expr *e, bool is_statement)
{
    if (!e)
        return verifier_fail(v, NULL, "an operand is missing");
    if ((int)e->op < 0 || e->op >= OP_COUNT)
        return verifier_fail(v, NULL, "no such op");
    const struct op_info *info = &op_table[e->op];
    if (info->class == CLASS_EFFECT && !is_statement)
        return verifier_fail(v, e, "a statement is used as an expression");
    if (e->by && (!may_have_by(v, e) || !by_reads_back(e->by)))
        return verifier_fail(v, e, "by(…) cannot be printed");
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
        return verifier_fail(v, e, "wrong number of operands");
    if (info->class != CLASS_EFFECT && ((int)e->type.dtype < 0 || e->type.dtype >= DT_COUNT ||
                                        e->type.rank < 0 || e->type.rank > MAX_RANK))
        return verifier_fail(v, e, "no type");
    for (int i = 0; i < e->count; i++)
        if (!verifier_expr(v, e->args[i], false))
            return false;
    for (int i = 0; i < e->indices; i++)
        if (e->index[i].value && !verifier_expr(v, e->index[i].value, false))
            return false;
    if (e->otherwise && !verifier_expr(v, e->otherwise, false))
        return false;
    return check_rules(v, e);
}
