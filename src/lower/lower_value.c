/* The graph: equal values are one. Literals, leaves, ops; sums are made in lower_value_poly.c. */
#include "lower/lower_value_graph.h"

#include <assert.h>
#include <string.h>

void values_init(struct lower *l)
{
    l->values = arena_new(l->arena, struct values);
    l->values->bucket_count = FIRST_BUCKETS;
    l->values->buckets = arena_array(l->arena, struct value *, FIRST_BUCKETS);
    struct region outermost = {0};
    vec_push(l->arena, &l->values->regions, outermost);
}

/* --- one of each --- */

/* Literals that are floats differ in their upper bits alone: these come down twice. */
static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    h = (h ^ (h >> 32)) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

static uint64_t literal_bits(const struct literal *x)
{
    uint64_t bits = (uint64_t)x->i;
    if (x->is_float)
        memcpy(&bits, &x->f, sizeof bits);
    return bits;
}

static uint64_t hash_of(const struct value *v)
{
    uint64_t h = mix((uint64_t)v->kind + 1, (uint64_t)v->dtype);
    switch (v->kind) {
    case VALUE_LITERAL: return mix(h, literal_bits(&v->literal));
    case VALUE_OP:
        h = mix(h, (uint64_t)v->op);
        for (int i = 0; i < v->count; i++)
            h = mix(h, v->args[i]->id);
        return h;
    case VALUE_SUM:
        h = mix(h, (uint64_t)v->sum.constant);
        for (int i = 0; i < v->sum.count; i++) {
            const struct monomial *m = &v->sum.terms[i];
            h = mix(h, (uint64_t)m->factor);
            for (int k = 0; k < m->count; k++)
                h = mix(h, m->atom[k]->id);
        }
        return h;
    default: return h;
    }
}

static bool same_terms(const struct poly *p, const struct poly *q)
{
    if (p->count != q->count || p->constant != q->constant)
        return false;
    for (int i = 0; i < p->count; i++) {
        const struct monomial *m = &p->terms[i], *n = &q->terms[i];
        if (m->factor != n->factor || m->count != n->count)
            return false;
        for (int k = 0; k < m->count; k++)
            if (m->atom[k] != n->atom[k])
                return false;
    }
    return true;
}

static bool same_args(const struct value *a, const struct value *b)
{
    if (a->op != b->op || a->count != b->count)
        return false;
    for (int i = 0; i < a->count; i++)
        if (a->args[i] != b->args[i])
            return false;
    return true;
}

static bool same(const struct value *a, const struct value *b)
{
    if (a->hash != b->hash || a->kind != b->kind || a->dtype != b->dtype)
        return false;
    switch (a->kind) {
    case VALUE_LITERAL:
        return a->literal.is_float == b->literal.is_float &&
               literal_bits(&a->literal) == literal_bits(&b->literal);
    case VALUE_OP: return same_args(a, b);
    case VALUE_SUM: return same_terms(&a->sum, &b->sum);
    default: return false;
    }
}

static struct value *keep(struct lower *l, const struct value *v)
{
    struct value *kept = arena_copy(l->arena, v, sizeof *v);
    kept->id = (uint32_t)l->values->all.count;
    vec_push(l->arena, &l->values->all, kept);
    return kept;
}

static struct value **bucket_of(const struct values *all, const struct value *v)
{
    return &all->buckets[v->hash & (all->bucket_count - 1)];
}

/* Leaves are in no bucket: each is the only one of its kind. */
static void grow_buckets(struct lower *l)
{
    struct values *all = l->values;
    all->bucket_count *= 4;
    all->buckets = arena_array(l->arena, struct value *, (int64_t)all->bucket_count);
    for (size_t i = 0; i < all->all.count; i++) {
        struct value *v = all->all.data[i];
        if (v->kind == VALUE_LEAF)
            continue;
        v->next = *bucket_of(all, v);
        *bucket_of(all, v) = v;
    }
}

struct value *value_intern(struct lower *l, struct value *v, bool *made)
{
    if (l->values->all.count > l->values->bucket_count)
        grow_buckets(l);
    v->hash = hash_of(v);
    struct value **bucket = bucket_of(l->values, v);
    for (struct value *at = *bucket; at; at = at->next)
        if (same(at, v)) {
            *made = false;
            return at;
        }
    struct value *kept = keep(l, v);
    if (v->kind == VALUE_OP) /* the caller's arrays may be on its stack, or still grow */
        kept->args = arena_copy(l->arena, v->args, (size_t)v->count * sizeof *v->args);
    if (v->kind == VALUE_SUM)
        kept->sum.terms =
            arena_copy(l->arena, v->sum.terms, (size_t)v->sum.count * sizeof *v->sum.terms);
    kept->next = *bucket;
    *made = true;
    return *bucket = kept;
}

/* --- literals --- */

const struct value *value_literal(struct lower *l, enum dtype t, struct literal v)
{
    struct value literal = {.kind = VALUE_LITERAL, .dtype = t, .exact = true};
    literal.literal.is_float = dtype_is_float(t);
    if (literal.literal.is_float) {
        literal.literal.f = v.is_float ? v.f : (double)v.i;
        literal.facts = facts_of_type(t);
    } else {
        literal.literal.i = dtype_wrap(t, v.is_float ? (int64_t)v.f : v.i);
        literal.facts = t == DT_U64 && literal.literal.i < 0 ? facts_of_type(t)
                                                             : facts_exactly(literal.literal.i);
    }
    bool made;
    return value_intern(l, &literal, &made);
}

const struct value *value_int(struct lower *l, enum dtype t, int64_t v)
{
    bool small = (t == DT_I32 || t == DT_I64) && v >= 0 && v < SMALL_NUMBERS;
    const struct value **known = small ? &l->values->small[t == DT_I64][v] : NULL;
    if (known && *known)
        return *known;
    const struct value *made = value_literal(l, t, (struct literal){.i = v});
    if (known)
        *known = made;
    return made;
}

/* --- leaves --- */

struct value *value_new_leaf(struct lower *l, enum dtype t, struct ptx_operand reg, int level)
{
    struct value leaf = {.kind = VALUE_LEAF,
                         .dtype = t,
                         .level = level,
                         .reg = reg,
                         .exact = true,
                         .facts = facts_of_type(t)};
    return keep(l, &leaf);
}

const struct value *value_of_register(struct lower *l, enum dtype t, struct ptx_operand reg)
{
    assert(reg.kind == PTX_REGISTER);
    return value_new_leaf(l, t, reg, value_depth(l));
}

const struct value *value_of_variable(struct lower *l, enum dtype t, struct ptx_operand reg)
{
    assert(reg.kind == PTX_REGISTER);
    struct value *leaf = value_new_leaf(l, t, reg, value_depth(l));
    leaf->fleeting = true;
    return leaf;
}

bool value_is_fleeting(const struct value *v)
{
    return v->fleeting;
}

/* Facts of what a value is made of may have become better since it was made. */
bool value_facts_stale(const struct lower *l, const struct value *v, bool made)
{
    return made || v->learned != l->values->learned;
}

void value_set_facts(struct lower *l, struct value *v, struct facts f, bool made)
{
    v->facts = made ? f : facts_meet(&v->facts, &f);
    v->learned = l->values->learned;
}

const struct value *value_of_op(struct lower *l, enum op op, enum dtype t,
                                const struct value *const *args, int count)
{
    struct value v = {.kind = VALUE_OP,
                      .dtype = t,
                      .op = op,
                      .count = count,
                      .args = (const struct value **)args,
                      .exact = true};
    bool made;
    struct value *kept = value_intern(l, &v, &made);
    for (int i = 0; made && i < count; i++) {
        kept->level = args[i]->level > kept->level ? args[i]->level : kept->level;
        kept->fleeting = kept->fleeting || args[i]->fleeting;
    }
    if (value_facts_stale(l, kept, made))
        value_set_facts(l, kept, facts_of_op(op, t, args, count), made);
    return kept;
}

/* --- special registers, threads --- */

static int special_axis(enum ptx_special special, enum ptx_special first)
{
    return (int)special - (int)first;
}

static bool one_of_three(enum ptx_special special, enum ptx_special first)
{
    return special >= first && (int)special < (int)first + 3;
}

/* Threads of the block along an axis. */
static int64_t block_extent(const struct lower *l, int axis)
{
    const struct kernel *k = l->kernel;
    if (!kernel_thread_level(k))
        return axis == 0 ? (int64_t)k->warps * WARP_LANES : 1;
    return k->threads[axis] > 0 ? k->threads[axis] : 1;
}

static struct facts special_facts(const struct lower *l, enum ptx_special special)
{
    if (one_of_three(special, PTX_SREG_TID_X))
        return facts_between(0, block_extent(l, special_axis(special, PTX_SREG_TID_X)) - 1);
    if (one_of_three(special, PTX_SREG_NTID_X))
        return facts_exactly(block_extent(l, special_axis(special, PTX_SREG_NTID_X)));
    if (one_of_three(special, PTX_SREG_CTAID_X))
        return facts_between(0, facts_grid(l, special_axis(special, PTX_SREG_CTAID_X)) - 1);
    if (one_of_three(special, PTX_SREG_NCTAID_X))
        return facts_between(1, facts_grid(l, special_axis(special, PTX_SREG_NCTAID_X)));
    if (special == PTX_SREG_LANEID)
        return facts_between(0, WARP_LANES - 1);
    return facts_of_type(DT_I32);
}

const struct value *value_special(struct lower *l, enum ptx_special special)
{
    const struct value **known = &l->values->specials[special];
    if (*known)
        return *known;
    struct facts f = special_facts(l, special);
    if (f.least == f.greatest)
        return *known = value_int(l, DT_I32, f.least);
    struct value *leaf = value_new_leaf(l, DT_I32, ptx_special(special), 0);
    leaf->facts = f;
    return *known = leaf;
}

const struct value *value_thread(struct lower *l, int axis)
{
    return value_special(l, (enum ptx_special)(PTX_SREG_TID_X + axis));
}

const struct value *value_thread_linear(struct lower *l)
{
    const struct value *linear = value_int(l, DT_I32, 0);
    for (int axis = 2; axis >= 0; axis--) {
        linear = value_affine(l, linear, block_extent(l, axis), 0);
        linear = value_add(l, linear, value_thread(l, axis));
    }
    return linear;
}

const struct value *value_lane(struct lower *l)
{
    const struct value **lane = &l->values->lane;
    return *lane ? *lane : (*lane = value_bits(l, value_thread_linear(l), 0, 5));
}

const struct value *value_warp(struct lower *l)
{
    const struct value **warp = &l->values->warp, *five = value_int(l, DT_I32, 5);
    if (!*warp)
        *warp = value_apply2(l, OP_SHR, DT_I32, value_thread_linear(l), five);
    return *warp;
}

/* --- facts, as asked --- */

enum dtype value_dtype(const struct value *v)
{
    return v->dtype;
}

bool value_known(const struct value *v, int64_t *number)
{
    if (!value_is_literal(v) || v->literal.is_float)
        return false;
    *number = v->literal.i;
    return true;
}

bool value_known_literal(const struct value *v, struct literal *number)
{
    if (!value_is_literal(v))
        return false;
    *number = v->literal;
    return true;
}

int64_t value_divisor(const struct value *v)
{
    int64_t divisor = facts_divisor(&v->facts);
    return divisor ? divisor : INT64_MAX;
}

int64_t value_least(const struct value *v)
{
    return v->facts.least;
}

int64_t value_greatest(const struct value *v)
{
    return v->facts.greatest;
}

void value_learn(struct lower *l, const struct value *leaf, int64_t divisor, int64_t least,
                 int64_t greatest)
{
    struct value *v = l->values->all.data[leaf->id];
    if (v->kind == VALUE_LITERAL)
        return;
    struct facts within = facts_between(least, greatest);
    struct facts multiple = divisor == INT64_MAX ? facts_exactly(0) : facts_multiple(divisor);
    struct facts more = facts_meet(&within, &multiple);
    v->facts = facts_meet(&v->facts, &more);
    v->learned = ++l->values->learned;
}
