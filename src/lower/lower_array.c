/* Arrays of a thread: where their elements are.
 *
 * A register each, if every index is a constant once loops are unrolled, or the array is small: an
 * index known only at run time is then looked for among the elements. An array that is never
 * assigned after its declaration is just the values that it was given. What is large and indexed
 * freely lies in .local memory.
 */
#include "lower/lower_element.h"

#include "lower/lower_flow.h"
#include "lower/lower_memory.h"
#include "plan/plan_limits.h"

#include "tile/own_arrays.h"

enum { LOCAL_ALIGNMENT = 16 };

enum home { HOME_NONE, HOME_REGISTERS, HOME_VALUES, HOME_LOCAL };

struct array {
    const struct sym *sym;
    enum home home;
    int64_t elements;
    struct ptx_operand *reg;
    const struct value **value;
    const struct value *base; /* HOME_LOCAL: address, i64 */
};

struct arrays {
    struct pointer_map by_sym;
    const struct own_arrays *uses;
    VEC(const struct sym *) local; /* those in .local memory */
    struct lower *l;
};

static struct array *array_of(struct arrays *all, const struct sym *s)
{
    struct array *array = pointer_map_get(&all->by_sym, s);
    if (array)
        return array;
    array = arena_new(all->l->arena, struct array);
    array->sym = s;
    array->elements = type_elements(&s->type);
    pointer_map_put(all->l->arena, &all->by_sym, s, array);
    return array;
}

static struct arrays *arrays_of(struct lower *l)
{
    if (!l->arrays) {
        l->arrays = arena_new(l->arena, struct arrays);
        l->arrays->l = l;
        l->arrays->uses = own_arrays_find(l->arena, l->kernel);
    }
    return l->arrays;
}

/* --- homes --- */

static enum home home_for(const struct lower *l, const struct array *a)
{
    if (own_arrays_in_memory(l->arrays->uses, a->sym))
        return HOME_LOCAL;
    return is_assigned(l, a->sym) ? HOME_REGISTERS : HOME_VALUES;
}

static void make_local(struct lower *l, struct array *a)
{
    uint64_t bytes = (uint64_t)a->elements * dtype_size(a->sym->type.dtype);
    struct ptx_variable *v =
        ptx_array(&l->b, MOD_LOCAL, MOD_B8, a->sym->name, bytes, LOCAL_ALIGNMENT);
    struct ptx_operand base = ptx_reg(&l->b, MOD_B64);
    ptx_emit(&l->b, "mov.b64", base, ptx_address_of(v, 0));
    vec_push(l->arena, &l->arrays->local, a->sym);
    plan_limits_of_local(&l->layouts, l->arrays->local.data, l->arrays->local.count);
    a->base = value_of_register(l, DT_I64, base);
    value_learn(l, a->base, LOCAL_ALIGNMENT, 0, INT64_MAX);
}

static void make_registers(struct lower *l, struct array *a)
{
    a->reg = arena_array(l->arena, struct ptx_operand, a->elements);
    for (int64_t i = 0; i < a->elements; i++)
        a->reg[i] = op_register(l, a->sym->type.dtype);
}

/* At its declaration. */
static struct array *settle(struct lower *l, const struct sym *s)
{
    struct array *a = array_of(arrays_of(l), s);
    if (a->home != HOME_NONE)
        return a;
    a->home = home_for(l, a);
    if (a->home == HOME_LOCAL)
        make_local(l, a);
    else if (a->home == HOME_REGISTERS)
        make_registers(l, a);
    return a;
}

const struct value *array_address(struct lower *l, const struct sym *s, const struct value *number)
{
    struct array *a = settle(l, s);
    if (a->home != HOME_LOCAL)
        return NULL;
    return value_add(l, a->base, value_affine(l, number, (int64_t)dtype_size(s->type.dtype), 0));
}

bool array_in_memory(struct lower *l, const struct sym *s)
{
    return settle(l, s)->home == HOME_LOCAL;
}

/* --- elements --- */

static const struct value *zero(struct lower *l, enum dtype t)
{
    return value_literal(l, t, (struct literal){.is_float = dtype_is_float(t)});
}

/* As it is now, of one in registers. */
static const struct value *element(struct lower *l, const struct array *a, int64_t i)
{
    if (a->home == HOME_REGISTERS)
        return value_of_variable(l, a->sym->type.dtype, a->reg[i]);
    return a->value ? a->value[i] : zero(l, a->sym->type.dtype);
}

/* The array as an access, which goes to memory. */
static struct expr *whole_array(struct lower *l, const struct sym *s, struct loc loc)
{
    struct expr *whole = expr_access(l->kernel, (struct sym *)s, 0, loc);
    whole->type = s->type;
    return whole;
}

const struct value **array_elements(struct lower *l, const struct sym *s)
{
    const struct array *a = settle(l, s);
    if (a->home == HOME_LOCAL)
        return own_load(l, whole_array(l, s, s->loc));
    const struct value **v = arena_array(l->arena, const struct value *, a->elements);
    for (int64_t i = 0; i < a->elements; i++)
        v[i] = element(l, a, i);
    return v;
}

static const struct value *choose(struct lower *l, const struct value *condition,
                                  const struct value *a, const struct value *b)
{
    const struct value *args[] = {condition, a, b};
    return value_apply(l, OP_WHERE, value_dtype(a), args, 3);
}

static const struct value *is_number(struct lower *l, const struct value *number, int64_t i)
{
    return value_apply2(l, OP_EQ, DT_BOOL, number, value_int(l, value_dtype(number), i));
}

/* v[number], of a number known only at run time. */
static const struct value *pick(struct lower *l, const struct value *const *v, int64_t count,
                                const struct value *number)
{
    const struct value *found = v[0];
    for (int64_t i = 1; i < count; i++)
        found = choose(l, is_number(l, number, i), v[i], found);
    return value_of_register(l, value_dtype(found), value_copy(l, found));
}

const struct value *array_get(struct lower *l, const struct sym *s, const struct value *number,
                              const struct value *inside, const struct value *otherwise)
{
    const struct array *a = settle(l, s);
    int64_t i, holds = inside == NULL;
    bool known = value_known(number, &i), sure = !inside || value_known(inside, &holds);
    if (!otherwise)
        otherwise = zero(l, s->type.dtype);
    if ((sure && !holds) || (known && (i < 0 || i >= a->elements)))
        return otherwise;
    const struct value *v =
        known ? element(l, a, i) : pick(l, array_elements(l, s), a->elements, number);
    return sure ? v : choose(l, inside, v, otherwise);
}

void move_when(struct lower *l, enum dtype t, struct ptx_operand to, struct ptx_operand from,
               struct guard when)
{
    if (t == DT_BOOL)
        guard_apply(ptx_emit(&l->b, "mov.pred", to, from), when);
    else
        guard_apply(
            ptx_emit_for(&l->b, PTX_TYPES((uint16_t)lower_register_type(t)), "mov.*", to, from),
            when);
}

void array_put(struct lower *l, const struct sym *s, const struct value *number,
               const struct value *v, struct guard when)
{
    const struct array *a = settle(l, s);
    int64_t i;
    if (when.never || a->home != HOME_REGISTERS)
        return;
    bool known = value_known(number, &i);
    if (known && when.always) {
        if (i >= 0 && i < a->elements)
            value_into(l, v, a->reg[i]);
        return;
    }
    struct ptx_operand from = value_register(l, v);
    for (int64_t j = 0; j < a->elements; j++)
        if (!known || i == j) {
            struct guard here = known ? when : guard_and(l, when, is_number(l, number, j));
            if (!here.never)
                move_when(l, s->type.dtype, a->reg[j], from, here);
        }
}

/* --- assignments --- */

/* How an expression uses the array that it is assigned to. */
enum self_use { SELF_UNUSED, SELF_IN_PLACE, SELF_MIXED };

/* In place: each element depends on that same element only. */
static enum self_use use_of(const struct expr *e, const struct sym *s)
{
    enum self_use use = SELF_UNUSED;
    if ((e->op == OP_REF || e->op == OP_ACCESS) && e->sym == s)
        use = e->op == OP_REF ? SELF_IN_PLACE : SELF_MIXED;
    for (int i = 0; i < e->indices; i++)
        if (e->index[i].value && use_of(e->index[i].value, s) != SELF_UNUSED)
            use = SELF_MIXED;
    if (e->otherwise && use_of(e->otherwise, s) != SELF_UNUSED)
        use = SELF_MIXED;
    for (int i = 0; i < e->count; i++) {
        enum self_use part = use_of(e->args[i], s);
        bool kept = op_keeps_place(e->op) && type_same_shape(&e->args[i]->type, &s->type);
        if (part != SELF_UNUSED)
            use = kept && part == SELF_IN_PLACE && use != SELF_MIXED ? SELF_IN_PLACE : SELF_MIXED;
    }
    return use;
}

/* Values that stay when what they were made of is written again. */
static void keep_values(struct lower *l, const struct value **v, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (value_is_fleeting(v[i]))
            v[i] = value_of_register(l, value_dtype(v[i]), value_copy(l, v[i]));
}

/* The value, converted and spread, one for each element of the target's shape. */
static const struct value **assigned_values(struct lower *l, const struct expr *value,
                                            const struct type *to)
{
    const struct value **v = array_values(l, value);
    int64_t count = type_elements(&value->type);
    if (value->type.dtype != to->dtype)
        for (int64_t i = 0; i < count; i++)
            v[i] = value_apply1(l, OP_CAST, to->dtype, v[i]);
    return array_broadcast(l, v, &value->type, to);
}

/* Assigns if `when` is true; a declaration always assigns. */
static void assign_whole(struct lower *l, struct array *a, const struct expr *value,
                         struct guard when)
{
    if (when.never || (!when.always && load_into_when(l, a->sym, a->reg, value, when)))
        return;
    const struct value **v = assigned_values(l, value, &a->sym->type);
    if (a->home == HOME_VALUES) { /* the declaration: nothing else assigns it */
        keep_values(l, v, a->elements);
        a->value = v;
        return;
    }
    if (use_of(value, a->sym) == SELF_MIXED)
        keep_values(l, v, a->elements);
    for (int64_t i = 0; i < a->elements; i++)
        if (when.always)
            value_into(l, v[i], a->reg[i]);
        else
            move_when(l, a->sym->type.dtype, a->reg[i], value_operand(l, v[i]), when);
}

static void assign_part(struct lower *l, const struct expr *target, const struct expr *value,
                        struct guard when)
{
    const struct value **v = assigned_values(l, value, &target->type);
    if (type_elements(&target->type) > 1 && use_of(value, target->sym) != SELF_UNUSED)
        keep_values(l, v, type_elements(&target->type));
    own_store(l, target, v, when);
}

void array_assign(struct lower *l, const struct stmt *s)
{
    const struct sym *sym = s->kind == STMT_DECL ? s->sym : s->target->sym;
    bool whole = s->kind == STMT_DECL || s->target->op == OP_REF;
    if (sym->storage != ST_ARRAY) {
        assign_part(l, s->target, s->value, guard_of_effect(l));
        return;
    }
    struct array *a = settle(l, sym);
    struct guard when = s->kind == STMT_DECL ? guard_always() : guard_of_lazy(l);
    if (!s->value)
        return;
    if (whole && a->home != HOME_LOCAL) {
        assign_whole(l, a, s->value, when);
        return;
    }
    assign_part(l, whole ? whole_array(l, sym, s->loc) : s->target, s->value, when);
}
