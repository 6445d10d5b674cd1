/* Evaluates one expression of an `ensures`: leaves here, the rest by op. Operands are evaluated
 * before their op; lazy ops evaluate only the operands they need. */
#include "oracle/ensures_internal.h"
#include "tile/lookup.h"

#include <math.h>
#include <string.h>

/* --- leaves --- */

/* Returns a literal as its type represents it. */
static struct number typed(enum dtype t, struct literal x)
{
    uint64_t element = 0;
    if (dtype_is_float(t)) {
        dtype_store_f64(t, &element, x.is_float ? x.f : (double)x.i);
        return (struct number){.v = dtype_load_f64(t, &element)};
    }
    return (struct number){.i = dtype_wrap(t, x.is_float ? (int64_t)x.f : x.i)};
}

static const struct stmt *declaration_of(const struct stmt *body, const struct sym *s)
{
    for (; body; body = body->next)
        if (body->kind == STMT_DECL && body->sym == s)
            return body;
    return NULL;
}

/* Evaluates a local variable. It is assigned once, so its value is that of its declaration. */
static bool eval_local(struct oracle *o, const struct sym *s, struct oracle_tile *out)
{
    const struct stmt *declaration = declaration_of(o->kernel->body, s);
    if (!s->is_const || !declaration || !declaration->value)
        return oracle_fail(o, "`%s` has no value after the launch", s->name);
    struct oracle_tile value;
    if (!oracle_eval(o, declaration->value, NULL, &value))
        return false;
    struct rule cast = oracle_rule_for(OP_CAST, s->type.dtype, &value.dtype, 1);
    return oracle_tile_elementwise(o, &cast, &value, 1, out);
}

static bool eval_ref(struct oracle *o, const struct expr *e, struct oracle_tile *out)
{
    const struct sym *s = e->sym;
    struct literal value;
    for (int i = 0; i < o->statement->overs; i++)
        if (o->statement->over[i] == s) {
            *out = oracle_tile_scalar(o, e->type.dtype,
                                      typed(e->type.dtype, (struct literal){.i = o->over[i]}));
            return true;
        }
    if (s->storage == ST_CONST || (s->storage == ST_PARAM && s->has_value))
        value = s->value;
    else if (s->storage == ST_PARAM && !s->is_pointer)
        value = o->args[s->index].scalar;
    else
        return eval_local(o, s, out);
    *out = oracle_tile_scalar(o, e->type.dtype, typed(e->type.dtype, value));
    return true;
}

static bool eval_access(struct oracle *o, const struct expr *e, struct oracle_tile *out)
{
    struct ensures_access access;
    struct number otherwise = {0};
    if (!oracle_access_resolve(o, e, &access))
        return false;
    if (e->op == OP_ACCESS && e->otherwise) {
        struct oracle_tile value;
        if (!oracle_eval(o, e->otherwise, NULL, &value))
            return false;
        if (value.count != 1)
            return oracle_fail(o, "`else` takes one value here, not %s",
                               oracle_tile_shape_text(o, &value));
        otherwise = oracle_number_cast(access.dtype, value.dtype, oracle_tile_get(&value, 0));
        oracle_tile_free(o, &value);
    }
    bool done = oracle_access_load(o, &access, otherwise, out);
    oracle_access_free(o, &access);
    return done;
}

/* --- ops --- */

static bool eval_operands(struct oracle *o, const struct expr *e, const struct hint *hint,
                          struct oracle_tile *args)
{
    for (int i = 0; i < e->count; i++)
        if (!oracle_eval(o, e->args[i], hint, &args[i]))
            return false;
    return true;
}

static bool apply(struct oracle *o, const struct expr *e, struct oracle_tile *args, int count,
                  struct oracle_tile *out)
{
    enum dtype from[RULE_OPERANDS] = {DT_NONE, DT_NONE, DT_NONE};
    for (int i = 0; i < count; i++)
        from[i] = args[i].dtype;
    struct rule r = oracle_rule_for(e->op, e->type.dtype, from, count);
    r.is_root = e == o->root;
    return oracle_tile_elementwise(o, &r, args, count, out);
}

static bool eval_elementwise(struct oracle *o, const struct expr *e, const struct hint *hint,
                             struct oracle_tile *out)
{
    struct oracle_tile args[RULE_OPERANDS];
    if (e->count < 1 || e->count > RULE_OPERANDS)
        return oracle_fail(o, "`%s` with %d operands", op_table[e->op].text, e->count);
    return eval_operands(o, e, hint, args) && apply(o, e, args, e->count, out);
}

/* Evaluates && || ?: of scalars: the other operands only if the first one does not decide. */
static bool eval_lazy(struct oracle *o, const struct expr *e, const struct hint *hint,
                      struct oracle_tile *out)
{
    struct oracle_tile args[RULE_OPERANDS];
    if (!oracle_eval(o, e->args[0], hint, &args[0]))
        return false;
    if (args[0].rank == 0) {
        enum truth first = oracle_number_truth(args[0].dtype, oracle_tile_get(&args[0], 0));
        if (e->op == OP_SELECT && first != MAYBE) {
            oracle_tile_free(o, &args[0]);
            if (!oracle_eval(o, e->args[first == YES ? 1 : 2], hint, &args[0]))
                return false;
            struct rule cast = oracle_rule_for(OP_CAST, e->type.dtype, &args[0].dtype, 1);
            cast.is_root = e == o->root;
            return oracle_tile_elementwise(o, &cast, args, 1, out);
        }
        if ((e->op == OP_LAND && first == NO) || (e->op == OP_LOR && first == YES)) {
            oracle_tile_free(o, &args[0]);
            *out = oracle_tile_scalar(o, DT_BOOL, (struct number){.i = first == YES});
            return true;
        }
    }
    for (int i = 1; i < e->count; i++)
        if (!oracle_eval(o, e->args[i], hint, &args[i]))
            return false;
    return apply(o, e, args, e->count, out);
}

/* Evaluates philox(seed, offset [, word]). */
static bool eval_philox(struct oracle *o, const struct expr *e, const struct hint *hint,
                        struct oracle_tile *out)
{
    struct oracle_tile args[RULE_OPERANDS];
    if (e->count < 2 || e->count > RULE_OPERANDS || !eval_operands(o, e, hint, args))
        return oracle_fail(o, "philox with %d operands", e->count);
    if (e->count == 2)
        args[2] = oracle_tile_scalar(o, DT_U32, (struct number){0});
    return apply(o, e, args, RULE_OPERANDS, out);
}

static bool eval_dot(struct oracle *o, const struct expr *e, struct oracle_tile *out)
{
    struct oracle_tile args[RULE_OPERANDS];
    if (e->count < 2 || e->count > RULE_OPERANDS || !eval_operands(o, e, NULL, args))
        return oracle_fail(o, "dot with %d operands", e->count);
    return oracle_tile_dot(o, e, &args[0], &args[1], e->count == 3 ? &args[2] : NULL, out);
}

static bool eval_moving(struct oracle *o, const struct expr *e, const struct hint *hint,
                        struct oracle_tile *out)
{
    struct oracle_tile x;
    if (e->op == OP_IOTA)
        return oracle_tile_iota(o, e, hint, out);
    if (!oracle_eval(o, e->args[0], NULL, &x))
        return false;
    switch (e->op) {
    case OP_TRANS: return oracle_tile_trans(o, &x, out);
    case OP_RESHAPE: return oracle_tile_reshape(o, e, &x, out);
    case OP_BROADCAST: return oracle_tile_broadcast(o, e, hint, &x, out);
    case OP_SCAN: return oracle_tile_scan(o, e, &x, out);
    case OP_REPEAT:
    case OP_REPEAT_INTERLEAVE: return oracle_tile_repeat(o, e, &x, out);
    default: return oracle_tile_reduce(o, e, &x, out);
    }
}

/* Reports the first index of the look-up that is outside. */
static bool index_outside(struct oracle *o, const struct expr *e, const struct hint *hint)
{
    struct lookup_index list[MAX_RANK];
    int count = lookup_indices(e, list);
    for (int k = 0; k < count; k++) {
        struct oracle_tile x;
        if (!oracle_eval(o, list[k].value, hint, &x))
            return false;
        for (int64_t i = 0; i < x.count; i++) {
            int64_t at = oracle_tile_get(&x, i).i;
            if (at >= 0 && at < list[k].extent)
                continue;
            oracle_tile_free(o, &x);
            oracle_outside(o);
            return oracle_fail(o, "index %lld is outside %s", (long long)at,
                               lookup_place(o->arena, e, &list[k]));
        }
        oracle_tile_free(o, &x);
    }
    oracle_outside(o);
    return oracle_fail(o, "an index is outside the table %s", e->sym->name);
}

/* Evaluates a table look-up. If an index is uncertain, the element may have any value. */
static bool eval_lookup(struct oracle *o, const struct expr *e, const struct hint *hint,
                        struct oracle_tile *out)
{
    struct oracle_tile index;
    const int64_t extent = e->sym->type.extent[0];
    if (!oracle_eval(o, e->args[1], hint, &index))
        return false;
    *out = oracle_tile_new(o, e->type.dtype, index.rank, index.extent, index.error != NULL);
    for (int64_t i = 0; i < index.count; i++) {
        struct number at = oracle_tile_get(&index, i);
        bool inside = at.i >= 0 && at.i < extent;
        if (!inside && at.error == 0) {
            oracle_tile_free(o, &index);
            return index_outside(o, e, hint);
        }
        struct number x = typed(e->type.dtype, e->sym->table[inside ? at.i : 0]);
        x.error = at.error == 0 ? 0 : INFINITY;
        oracle_tile_put(out, i, x);
    }
    oracle_tile_free(o, &index);
    return true;
}

/* --- twins --- */

enum { MOST_TWINS = 256 }; /* finding them takes time quadratic in their number */

static bool is_costly(const struct expr *e)
{
    enum op_class class = op_table[e->op].class;
    return e->op == OP_DOT || e->op == OP_SCAN || class == CLASS_REDUCE || class == CLASS_FLOAT;
}

static int count_costly(const struct expr *e)
{
    int count = is_costly(e);
    for (int i = 0; i < e->count; i++)
        count += count_costly(e->args[i]);
    return count;
}

static void list_costly(struct oracle *o, const struct expr *e)
{
    if (is_costly(e)) {
        int at = o->twin_count++, first = 0;
        while (first < at && !(o->twins[first].first == first && expr_same(o->twins[first].e, e)))
            first++;
        o->twins[at] = (struct twin){.e = e, .first = first};
        o->twins[first].count++;
    }
    for (int i = 0; i < e->count; i++)
        list_costly(o, e->args[i]);
}

void oracle_find_twins(struct oracle *o, const struct expr *e)
{
    int count = count_costly(e);
    o->twin_count = 0;
    if (count < 2 || count > MOST_TWINS)
        return;
    o->twins = arena_array(o->arena, struct twin, count);
    list_costly(o, e);
}

void oracle_forget_twins(struct oracle *o)
{
    for (int i = 0; i < o->twin_count; i++) {
        if (o->twins[i].has_value)
            oracle_tile_free(o, &o->twins[i].value);
        o->twins[i].has_value = false;
    }
}

/* Returns the twin that keeps the value of e; NULL: e has no equal in the statement. */
static struct twin *twin_of(struct oracle *o, const struct expr *e)
{
    for (int i = 0; i < o->twin_count; i++)
        if (o->twins[i].e == e) {
            struct twin *first = &o->twins[o->twins[i].first];
            return first->count > 1 ? first : NULL;
        }
    return NULL;
}

/* --- parts that do not depend on the `over` indices --- */

/* Returns whether e is an iota() or broadcast() that takes its shape from the target; that shape
 * may change with the indices. */
static bool takes_shape(const struct expr *e)
{
    bool open = e->op == OP_BROADCAST || (e->op == OP_IOTA && e->count == 0);
    for (int i = 0; open && i < e->type.rank; i++)
        if (e->type.extent[i] == EXTENT_RUNTIME)
            return true;
    return false;
}

/* Lists the largest fixed tiles in e, and returns whether all of e is fixed. */
static bool list_fixed(struct oracle *o, const struct expr *e)
{
    const struct stmt *s = o->statement;
    int before = o->fixed_count;
    bool fixed = !takes_shape(e);
    for (int i = 0; i < s->overs; i++)
        fixed = fixed && !(e->op == OP_REF && e->sym == s->over[i]);
    for (int i = 0; i < expr_children(e); i++)
        if (expr_child(e, i))
            fixed = list_fixed(o, expr_child(e, i)) && fixed;
    if (!fixed || e->type.rank == 0 || e == o->root)
        return fixed;
    o->fixed_count = before; /* e contains its parts */
    if (before < MOST_FIXED)
        o->fixed[o->fixed_count++] = (struct fixed_part){.e = e};
    return true;
}

void oracle_find_fixed(struct oracle *o)
{
    o->fixed_count = 0;
    o->root = o->statement->value;
    if (o->statement->overs > 0)
        list_fixed(o, o->statement->value);
}

void oracle_forget_fixed(struct oracle *o)
{
    for (int i = 0; i < o->fixed_count; i++)
        if (o->fixed[i].has_value)
            oracle_tile_free(o, &o->fixed[i].value);
    o->fixed_count = 0;
}

static struct fixed_part *fixed_of(struct oracle *o, const struct expr *e)
{
    for (int i = 0; i < o->fixed_count; i++)
        if (o->fixed[i].e == e)
            return &o->fixed[i];
    return NULL;
}

static bool eval_once(struct oracle *o, const struct expr *e, const struct hint *hint,
                      struct oracle_tile *out)
{
    switch (e->op) {
    case OP_LITERAL:
        *out = oracle_tile_scalar(o, e->type.dtype, typed(e->type.dtype, e->literal));
        return true;
    case OP_REF: return e->sym->storage == ST_VIEW ? eval_access(o, e, out) : eval_ref(o, e, out);
    case OP_ACCESS: return eval_access(o, e, out);
    case OP_LAND:
    case OP_LOR:
    case OP_SELECT: return eval_lazy(o, e, hint, out);
    case OP_DOT: return eval_dot(o, e, out);
    case OP_PHILOX: return eval_philox(o, e, hint, out);
    case OP_LOOKUP: return eval_lookup(o, e, hint, out);
    case OP_SCAN:
    case OP_IOTA: return eval_moving(o, e, hint, out);
    case OP_CAST:
    case OP_BITS:
    case OP_WHERE: return eval_elementwise(o, e, hint, out);
    default: break;
    }
    switch (op_table[e->op].class) {
    case CLASS_ARITH:
    case CLASS_COMPARE:
    case CLASS_LOGIC:
    case CLASS_FLOAT:
    case CLASS_BITWISE: return eval_elementwise(o, e, hint, out);
    case CLASS_REDUCE:
    case CLASS_SHAPE: return eval_moving(o, e, hint, out);
    default: return oracle_fail(o, "`%s` has no meaning in `ensures`", op_table[e->op].text);
    }
}

bool oracle_eval_expr(struct oracle *o, const struct expr *e, const struct hint *hint,
                      struct oracle_tile *out)
{
    struct twin *twin = is_costly(e) ? twin_of(o, e) : NULL;
    struct fixed_part *fixed = fixed_of(o, e);
    bool is_twin = twin && twin->has_value, is_fixed = fixed && fixed->has_value;
    if (is_twin || is_fixed) {
        *out = oracle_tile_copy(o, is_fixed ? &fixed->value : &twin->value);
        return true;
    }
    if (!eval_once(o, e, hint, out))
        return false;
    if (fixed && out->count <= MOST_FIXED_ELEMENTS) {
        fixed->value = oracle_tile_copy(o, out);
        fixed->has_value = true;
    }
    if (twin && e != o->root) {
        twin->value = oracle_tile_copy(o, out);
        twin->has_value = true;
    }
    return true;
}
