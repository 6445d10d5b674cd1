/* Comparisons of integers. What varies most stands on one side, the rest, computed before the
 * loop, on the other; 32 bits are compared where that is enough. */
#include "lower/lower_value_graph.h"

/* a op b is b (turned op) a. */
static enum op turned(enum op op)
{
    switch (op) {
    case OP_LT: return OP_GT;
    case OP_GT: return OP_LT;
    case OP_LE: return OP_GE;
    case OP_GE: return OP_LE;
    default: return op;
    }
}

/* d op 0 as far as the facts tell: 1, 0, or -1. */
static int decided(enum op op, const struct facts *d)
{
    bool positive = d->least > 0, negative = d->greatest < 0,
         zero = d->least == 0 && d->greatest == 0;
    switch (op) {
    case OP_LT: return negative ? 1 : d->least >= 0 ? 0 : -1;
    case OP_LE: return d->greatest <= 0 ? 1 : positive ? 0 : -1;
    case OP_GT: return positive ? 1 : d->greatest <= 0 ? 0 : -1;
    case OP_GE: return d->least >= 0 ? 1 : negative ? 0 : -1;
    case OP_EQ: return zero ? 1 : positive || negative ? 0 : -1;
    default: return zero ? 0 : positive || negative ? 1 : -1;
    }
}

/* A sum whose congruence excludes 0 is not 0; of one that may be the difference less 2^64 only powers
 * of two tell. */
static bool never_zero(const struct facts *d, bool whole)
{
    int64_t modulus = whole ? d->modulus : d->modulus & -d->modulus;
    return modulus != 0 && d->rest % modulus != 0;
}

/* Is a - b, of numbers within these facts, within 64 bits, and so is the polynomial `d`? Then they
 * are one number; else they may differ by 2^64. */
static bool is_whole(const struct facts *a, const struct facts *b, const struct facts *d)
{
    int64_t ignored;
    return !facts_no_limit(d->least) && !facts_no_limit(d->greatest) &&
           !__builtin_sub_overflow(a->least, b->greatest, &ignored) &&
           !__builtin_sub_overflow(a->greatest, b->least, &ignored);
}

/* left op right, over the integers. */
struct sides {
    struct poly left, right;
};

/* What varies further in than the rest goes to the left. false: all varies in one loop. */
static bool sides_by_level(struct lower *l, const struct poly *d, int level, struct sides *s)
{
    struct poly outer;
    poly_split_level(l, d, level, &s->left, &outer);
    if (outer.count == 0)
        return false;
    s->right = (struct poly){0};
    poly_add(l, &s->right, &outer, -1);
    return true;
}

/* As the program has them, but what both have is gone, and the constant stands on one side. */
static void sides_as_written(struct lower *l, const struct poly *d, const struct poly *a,
                             struct sides *s, bool constant_left)
{
    *s = (struct sides){0};
    for (int i = 0; i < d->count; i++) {
        struct monomial m = d->terms[i];
        bool left = false;
        for (int k = 0; k < a->count && !left; k++)
            left = a->terms[k].factor == m.factor && a->terms[k].count == m.count &&
                   a->terms[k].atom[0] == m.atom[0];
        if (left) {
            poly_add_term(l, &s->left, m);
        } else {
            m.factor = (int64_t)(0 - (uint64_t)m.factor);
            poly_add_term(l, &s->right, m);
        }
    }
    if (constant_left)
        s->left.constant = d->constant;
    else
        s->right.constant = (int64_t)(0 - (uint64_t)d->constant);
}

static bool fits_32(const struct poly *p)
{
    struct facts f = facts_of_poly(p);
    return poly_narrow(p) && facts_fit(&f, facts_type_of(DT_I32));
}

/* -x op -y is y op x. */
static enum op without_minus(struct lower *l, enum op op, struct sides *s)
{
    for (int i = 0; i < s->left.count; i++)
        if (s->left.terms[i].factor > 0)
            return op;
    struct sides minus = {0};
    poly_add(l, &minus.left, &s->left, -1);
    poly_add(l, &minus.right, &s->right, -1);
    *s = minus;
    return turned(op);
}

static const struct value *compare_as(struct lower *l, enum op op, enum dtype t,
                                      const struct sides *s)
{
    const struct value *left = value_of_poly(l, t, &s->left);
    const struct value *right = value_of_poly(l, t, &s->right);
    if (!left->exact || !right->exact)
        return NULL;
    bool swap = value_is_literal(left);
    const struct value *args[2] = {swap ? right : left, swap ? left : right};
    return value_of_op(l, swap ? turned(op) : op, DT_BOOL, args, 2);
}

/* NULL: 32 bits are not enough. */
static const struct value *compare_short(struct lower *l, enum op op, struct sides *s)
{
    op = without_minus(l, op, s);
    return fits_32(&s->left) && fits_32(&s->right) ? compare_as(l, op, DT_I32, s) : NULL;
}

/* Is it x < y + c? Then x - c is one addition, and less than bringing y + c into range. */
static bool moves_constant(const struct sides *s)
{
    return s->left.count == 1 && s->left.terms[0].factor == 1 && s->right.count == 1 &&
           s->right.terms[0].factor == 1 && s->right.constant != 0;
}

/* The right side is computed once for many comparisons: it can as well be brought into the range
 * of 32 bits, where the left side lies and does not reach the ends. */
static const struct value *compare_clamped(struct lower *l, enum op op, struct sides *s)
{
    struct facts left = facts_of_poly(&s->left);
    if (op == OP_EQ || op == OP_NE || !fits_32(&s->left) || left.least == INT32_MIN ||
        left.greatest == INT32_MAX || moves_constant(s))
        return NULL;
    const struct value *right = value_of_poly(l, DT_I64, &s->right);
    if (!right->exact)
        return NULL;
    right = value_apply2(l, OP_MAX, DT_I64, right, value_int(l, DT_I64, INT32_MIN));
    right = value_apply2(l, OP_MIN, DT_I64, right, value_int(l, DT_I64, INT32_MAX));
    const struct value *args[2] = {value_of_poly(l, DT_I32, &s->left),
                                   value_apply1(l, OP_CAST, DT_I32, right)};
    return value_of_op(l, op, DT_BOOL, args, 2);
}

/* NULL: as the program has it. */
static const struct value *arranged(struct lower *l, enum op op, const struct poly *d,
                                    const struct value *a)
{
    struct poly left = poly_of(l, a);
    struct sides s;
    int level = 0;
    for (int i = 0; i < d->count; i++)
        if (monomial_level(&d->terms[i]) > level)
            level = monomial_level(&d->terms[i]);
    const struct value *made;
    if (level > 0 && sides_by_level(l, d, level, &s)) {
        op = without_minus(l, op, &s);
        if ((made = compare_short(l, op, &s)) || (made = compare_clamped(l, op, &s)))
            return made;
        return value_wide(a->dtype) ? compare_as(l, op, DT_I64, &s) : NULL;
    }
    sides_as_written(l, d, &left, &s, false);
    if ((made = compare_short(l, op, &s)))
        return made;
    sides_as_written(l, d, &left, &s, true);
    if ((made = compare_short(l, op, &s)))
        return made;
    if (!value_wide(a->dtype))
        return NULL;
    sides_as_written(l, d, &left, &s, false);
    return compare_as(l, op, DT_I64, &s);
}

const struct value *value_compare(struct lower *l, enum op op, const struct value *a,
                                  const struct value *b)
{
    if (!value_sums(a->dtype) || a->dtype != b->dtype || a->dtype == DT_U64 || !a->exact ||
        !b->exact)
        return NULL;
    struct poly d = {0}, p = poly_of(l, a), q = poly_of(l, b);
    poly_add(l, &d, &p, 1);
    poly_add(l, &d, &q, -1);
    struct facts f = facts_of_poly(&d);
    bool whole = is_whole(&a->facts, &b->facts, &f);
    const struct facts below = facts_exactly(-1), above = facts_exactly(1);
    int known = whole ? decided(op, &f) : -1;
    if (known < 0 && (op == OP_EQ || op == OP_NE) && never_zero(&f, whole))
        known = op == OP_NE;
    if (known < 0) /* each for itself may be known better than the difference */
        known = a->facts.greatest < b->facts.least   ? decided(op, &below)
                : b->facts.greatest < a->facts.least ? decided(op, &above)
                                                     : -1;
    if (known >= 0)
        return value_int(l, DT_BOOL, known);
    return whole ? arranged(l, op, &d, a) : NULL;
}
