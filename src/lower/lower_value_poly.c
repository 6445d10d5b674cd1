/* Integer sums and products as polynomials: the algebra, and the values made by it. */
#include "base/arithmetic.h"
#include "lower/lower_value_graph.h"

#include <string.h>

enum { MOST_TERMS = 48 };

static int64_t wrapping_mul(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

static int64_t wrapping_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* --- monomials --- */

static int monomial_compare(const struct monomial *m, const struct monomial *n)
{
    for (int i = 0; i < m->count && i < n->count; i++)
        if (m->atom[i] != n->atom[i])
            return m->atom[i]->id < n->atom[i]->id ? -1 : 1;
    return m->count - n->count;
}

struct monomial monomial_without(const struct monomial *m, int at)
{
    struct monomial left = *m;
    for (int i = at; i + 1 < m->count; i++)
        left.atom[i] = m->atom[i + 1];
    left.atom[--left.count] = NULL;
    return left;
}

int monomial_level(const struct monomial *m)
{
    int level = 0;
    for (int i = 0; i < m->count; i++)
        level = m->atom[i]->level > level ? m->atom[i]->level : level;
    return level;
}

int monomial_find(const struct monomial *m, const struct value *atom)
{
    for (int i = 0; i < m->count; i++)
        if (m->atom[i] == atom)
            return i;
    return -1;
}

static bool monomial_mul(const struct monomial *m, const struct monomial *n, struct monomial *out)
{
    if (m->count + n->count > MOST_ATOMS)
        return false;
    struct monomial product = {.factor = wrapping_mul(m->factor, n->factor)};
    int i = 0, k = 0;
    while (i < m->count || k < n->count) {
        bool first = k == n->count || (i < m->count && m->atom[i]->id <= n->atom[k]->id);
        product.atom[product.count++] = first ? m->atom[i++] : n->atom[k++];
    }
    *out = product;
    return true;
}

/* --- polynomials --- */

struct poly poly_of(struct lower *l, const struct value *v)
{
    struct poly p = {0};
    if (v->kind == VALUE_SUM)
        return v->sum;
    if (v->kind == VALUE_LITERAL) {
        p.constant = v->literal.i;
        return p;
    }
    struct monomial one = {.factor = 1, .count = 1, .atom = {v}};
    p.terms = arena_copy(l->arena, &one, sizeof one);
    p.count = 1;
    return p;
}

/* The terms of a kept value are never written to: a polynomial that grows has room of its own. */
static void poly_room(struct lower *l, struct poly *p)
{
    if (p->count < p->capacity)
        return;
    p->capacity = p->count < 2 ? 4 : 2 * p->count;
    struct monomial *terms = arena_array(l->arena, struct monomial, p->capacity);
    if (p->count)
        memcpy(terms, p->terms, (size_t)p->count * sizeof *terms);
    p->terms = terms;
}

void poly_add_term(struct lower *l, struct poly *p, struct monomial m)
{
    if (m.factor == 0)
        return;
    if (m.count == 0) {
        p->constant = wrapping_add(p->constant, m.factor);
        return;
    }
    int at = 0, order = 1;
    while (at < p->count && (order = monomial_compare(&p->terms[at], &m)) < 0)
        at++;
    if (at < p->count && order == 0)
        m.factor = wrapping_add(m.factor, p->terms[at].factor);
    bool there = at < p->count && order == 0;
    if (!p->capacity)
        p->capacity = p->count; /* borrowed: the next line copies */
    if (!there || p->capacity == p->count)
        poly_room(l, p);
    size_t behind = (size_t)(p->count - at) * sizeof m;
    if (there && m.factor == 0) {
        memmove(&p->terms[at], &p->terms[at + 1], behind - sizeof m);
        p->count--;
        return;
    }
    if (!there) {
        if (behind)
            memmove(&p->terms[at + 1], &p->terms[at], behind);
        p->count++;
    }
    p->terms[at] = m;
}

void poly_add(struct lower *l, struct poly *p, const struct poly *q, int64_t factor)
{
    p->constant = wrapping_add(p->constant, wrapping_mul(q->constant, factor));
    if (p->count == 0 && q->count > 0) { /* as they come, with room for one more */
        p->capacity = q->count + 1;
        p->terms = arena_array(l->arena, struct monomial, p->capacity);
    }
    for (int i = 0; i < q->count; i++) {
        struct monomial m = q->terms[i];
        m.factor = wrapping_mul(m.factor, factor);
        poly_add_term(l, p, m);
    }
}

bool poly_mul(struct lower *l, const struct poly *p, const struct poly *q, struct poly *out)
{
    struct poly product = {0};
    if ((p->count + 1) * (q->count + 1) > MOST_TERMS)
        return false;
    poly_add(l, &product, p, q->constant);
    for (int k = 0; k < q->count; k++) {
        struct monomial scaled = q->terms[k];
        scaled.factor = wrapping_mul(scaled.factor, p->constant);
        poly_add_term(l, &product, scaled);
        for (int i = 0; i < p->count; i++) {
            struct monomial m;
            if (!monomial_mul(&p->terms[i], &q->terms[k], &m))
                return false;
            poly_add_term(l, &product, m);
        }
    }
    *out = product;
    return true;
}

void poly_split_multiples(struct lower *l, const struct poly *p, int64_t n, struct poly *multiples,
                          struct poly *rest)
{
    *multiples = *rest = (struct poly){0};
    for (int i = 0; i < p->count; i++) {
        struct poly one = {.terms = &p->terms[i], .count = 1};
        struct facts f = facts_of_poly(&one);
        bool whole = facts_divisor(&f) % n == 0;
        poly_add_term(l, whole ? multiples : rest, p->terms[i]);
    }
    int64_t below = p->constant % n; /* in 0 … n - 1 */
    below = below < 0 ? below + n : below;
    rest->constant = below;
    multiples->constant = wrapping_add(p->constant, -below);
}

void poly_split_level(struct lower *l, const struct poly *p, int level, struct poly *inner,
                      struct poly *outer)
{
    *inner = *outer = (struct poly){0};
    outer->constant = p->constant;
    for (int i = 0; i < p->count; i++)
        poly_add_term(l, monomial_level(&p->terms[i]) >= level ? inner : outer, p->terms[i]);
}

bool poly_narrow(const struct poly *p)
{
    for (int i = 0; i < p->count; i++)
        for (int k = 0; k < p->terms[i].count; k++)
            if (dtype_table[p->terms[i].atom[k]->dtype].bits > 32)
                return false;
    return true;
}

/* --- values --- */

/* One atom of 64 bits, in another type: its limits are numbers, not limits of what was computed. */
static bool is_renamed(const struct poly *p)
{
    const struct monomial *m = &p->terms[0];
    return p->count == 1 && p->constant == 0 && m->factor == 1 && m->count == 1 &&
           value_wide(m->atom[0]->dtype);
}

static struct facts facts_renamed(const struct value *atom, enum dtype t, bool *exact)
{
    bool looks_negative = atom->dtype == DT_U64 && atom->facts.least < 0;
    *exact = !looks_negative && facts_fit(&atom->facts, facts_type_of(t));
    return facts_cast(&atom->facts, facts_type_of(t));
}

const struct value *value_of_poly(struct lower *l, enum dtype t, const struct poly *p)
{
    if (p->count == 0)
        return value_int(l, t, p->constant);
    const struct monomial *first = &p->terms[0];
    if (p->count == 1 && p->constant == 0 && first->factor == 1 && first->count == 1 &&
        first->atom[0]->dtype == t)
        return first->atom[0];
    struct value v = {.kind = VALUE_SUM, .dtype = t, .sum = *p};
    v.sum.capacity = 0;
    bool made;
    struct value *kept = value_intern(l, &v, &made);
    if (!value_facts_stale(l, kept, made))
        return kept;
    for (int i = 0; made && i < p->count; i++)
        for (int k = 0; k < p->terms[i].count; k++) {
            const struct value *atom = p->terms[i].atom[k];
            kept->level = atom->level > kept->level ? atom->level : kept->level;
            kept->fleeting = kept->fleeting || atom->fleeting;
        }
    bool exact;
    struct facts whole = facts_of_poly(p);
    struct facts f = is_renamed(p) ? facts_renamed(first->atom[0], t, &exact)
                                   : facts_wrap(&whole, facts_type_of(t), &exact);
    value_set_facts(l, kept, f, made);
    kept->exact = kept->exact || exact;
    return kept;
}

static const struct value *combine(struct lower *l, enum op op, const struct value *a,
                                   const struct value *b, int64_t factor)
{
    struct poly p = poly_of(l, a), q = poly_of(l, b), product;
    if (op == OP_ADD) {
        if (p.count + q.count > MOST_TERMS)
            return NULL;
        poly_add(l, &p, &q, factor);
        return value_of_poly(l, a->dtype, &p);
    }
    if (!poly_mul(l, &p, &q, &product))
        return NULL;
    return value_of_poly(l, a->dtype, &product);
}

static const struct value *arithmetic(struct lower *l, enum op op, const struct value *a,
                                      const struct value *b)
{
    const struct value *args[2] = {a, b}, *made = NULL;
    if (value_sums(a->dtype) && a->dtype == b->dtype)
        made = combine(l, op == OP_MUL ? OP_MUL : OP_ADD, a, b, op == OP_SUB ? -1 : 1);
    return made                   ? made
           : value_sums(a->dtype) ? value_of_op(l, op, a->dtype, args, 2)
                                  : value_apply(l, op, a->dtype, args, 2);
}

const struct value *value_add(struct lower *l, const struct value *a, const struct value *b)
{
    return arithmetic(l, OP_ADD, a, b);
}

const struct value *value_sub(struct lower *l, const struct value *a, const struct value *b)
{
    return arithmetic(l, OP_SUB, a, b);
}

const struct value *value_mul(struct lower *l, const struct value *a, const struct value *b)
{
    return arithmetic(l, OP_MUL, a, b);
}

const struct value *value_affine(struct lower *l, const struct value *a, int64_t factor,
                                 int64_t addend)
{
    if (!value_sums(a->dtype) || (a->kind == VALUE_SUM && a->sum.count >= MOST_TERMS)) {
        const struct value *scaled = value_mul(l, a, value_int(l, a->dtype, factor));
        return value_add(l, scaled, value_int(l, a->dtype, addend));
    }
    struct poly p = poly_of(l, a), product = {0}; /* the same without what lies between */
    if (factor == 1)
        product = p;
    else
        poly_add(l, &product, &p, dtype_wrap(a->dtype, factor));
    product.constant = wrapping_add(product.constant, dtype_wrap(a->dtype, addend));
    return value_of_poly(l, a->dtype, &product);
}

/* A sum of u32 is taken apart only where no difference in it can have gone below 0: wrapping
 * there is arithmetic as the program means it. */
static bool may_distribute(const struct value *v)
{
    if (v->kind != VALUE_SUM || v->exact || v->dtype != DT_U32)
        return true;
    for (int i = 0; i < v->sum.count; i++)
        if (v->sum.terms[i].factor < 0)
            return false;
    return v->sum.constant >= 0 && v->sum.constant < ((int64_t)1 << 31);
}

const struct value *value_index(struct lower *l, const struct value *a)
{
    if (a->dtype == DT_I64)
        return a;
    if (!dtype_is_int(a->dtype) || !may_distribute(a))
        return value_apply1(l, OP_CAST, DT_I64, a);
    struct poly p = poly_of(l, a);
    return value_of_poly(l, DT_I64, &p);
}
