/* The rules: what is known of an operation's result, from facts about its operands. */
#include "facts/facts_own.h"

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static struct facts fitted(struct facts_type t, struct facts f)
{
    bool exact;
    return facts_wrap(&f, t, &exact);
}

/* --- the order of a type --- */

/* Returns whether it may be a u64 of 2^63 or more. */
static bool may_be_large(struct facts_type t, const struct facts *f)
{
    return t.bits == 64 && !t.is_signed && f->least < 0;
}

enum certainty { NO, YES, UNSURE };

static enum certainty surely_less(struct facts_type t, const struct facts *a, const struct facts *b)
{
    if (may_be_large(t, a) || may_be_large(t, b)) {
        if ((a->least < 0 && a->greatest >= 0) || (b->least < 0 && b->greatest >= 0))
            return UNSURE;
        if ((a->least < 0) != (b->least < 0))
            return b->least < 0 ? YES : NO;
    }
    return a->greatest < b->least ? YES : a->least >= b->greatest ? NO : UNSURE;
}

static struct facts truth(enum certainty c)
{
    return c == UNSURE ? facts_between(0, 1) : facts_exactly(c == YES);
}

static struct facts opposite(enum certainty c)
{
    return truth(c == UNSURE ? UNSURE : c == YES ? NO : YES);
}

static struct facts less(struct facts_type t, const struct facts *x)
{
    return truth(surely_less(t, &x[0], &x[1]));
}

static struct facts greater(struct facts_type t, const struct facts *x)
{
    return truth(surely_less(t, &x[1], &x[0]));
}

static struct facts less_or_equal(struct facts_type t, const struct facts *x)
{
    return opposite(surely_less(t, &x[1], &x[0]));
}

static struct facts greater_or_equal(struct facts_type t, const struct facts *x)
{
    return opposite(surely_less(t, &x[0], &x[1]));
}

static enum certainty surely_equal(const struct facts *x)
{
    int64_t a, b;
    if (facts_known(&x[0], &a) && facts_known(&x[1], &b))
        return a == b ? YES : NO;
    return facts_apart(&x[0], &x[1]) ? NO : UNSURE;
}

static struct facts equal(struct facts_type t, const struct facts *x)
{
    (void)t;
    return truth(surely_equal(x));
}

static struct facts unequal(struct facts_type t, const struct facts *x)
{
    (void)t;
    return opposite(surely_equal(x));
}

/* --- sums and products --- */

/* Returns the fact f of a sum with limits that are those of the type, if 64 bits have room for them. Unlike limits
 * over the integers, those of a value may be the ends of the type. */
static struct facts summed(struct facts_type t, struct facts f, bool over, int64_t least,
                           int64_t greatest)
{
    if (over || t.bits < 64 || (!t.is_signed && least < 0))
        return fitted(t, f);
    f.least = least;
    f.greatest = greatest;
    facts_tighten(&f);
    return f;
}

static struct facts sum(struct facts_type t, const struct facts *x)
{
    int64_t least, greatest;
    bool below = __builtin_add_overflow(x[0].least, x[1].least, &least);
    bool above = __builtin_add_overflow(x[0].greatest, x[1].greatest, &greatest);
    return summed(t, facts_sum(&x[0], &x[1]), below || above, least, greatest);
}

static struct facts minus(const struct facts *x)
{
    struct facts minus_one = facts_exactly(-1);
    return facts_product(x, &minus_one);
}

static struct facts difference(struct facts_type t, const struct facts *x)
{
    int64_t least, greatest;
    struct facts second = minus(&x[1]);
    bool below = __builtin_sub_overflow(x[0].least, x[1].greatest, &least);
    bool above = __builtin_sub_overflow(x[0].greatest, x[1].least, &greatest);
    return summed(t, facts_sum(&x[0], &second), below || above, least, greatest);
}

static struct facts product(struct facts_type t, const struct facts *x)
{
    return fitted(t, facts_product(&x[0], &x[1]));
}

static struct facts product_and_sum(struct facts_type t, const struct facts *x)
{
    struct facts p = facts_product(&x[0], &x[1]);
    return fitted(t, facts_sum(&p, &x[2]));
}

static struct facts negation(struct facts_type t, const struct facts *x)
{
    return fitted(t, minus(x));
}

/* ~x = -1 - x; without a sign, all bits - x */
static struct facts inversion(struct facts_type t, const struct facts *x)
{
    struct facts all = facts_any(t), second = minus(x);
    struct facts first = facts_exactly(t.is_signed || t.bits == 64 ? -1 : all.greatest);
    return fitted(t, facts_sum(&first, &second));
}

/* The least number of a type stays as it is. */
static struct facts magnitude(struct facts_type t, const struct facts *x)
{
    struct facts negative = minus(x), either = facts_join(x, &negative);
    if (!t.is_signed || x->least >= 0)
        return *x;
    if (x->greatest <= 0)
        return fitted(t, negative);
    either.least = x->least == facts_any(t).least ? INT64_MIN : 0;
    either.ones = UINT64_MAX;
    facts_tighten(&either);
    return fitted(t, either);
}

static struct facts square(struct facts_type t, const struct facts *x)
{
    struct facts p = facts_product(x, x);
    p.least = larger(p.least, 0);
    facts_tighten(&p);
    return fitted(t, p);
}

/* Above the greatest power of two of its type it wraps. */
static struct facts power(struct facts_type t, const struct facts *x)
{
    int64_t most = (int64_t)1 << (t.bits == 64 ? 62 : t.bits - t.is_signed - 1), least = 1,
            greatest = 1;
    if (x->greatest > most || may_be_large(t, x))
        return facts_any(t);
    while (least < x->least)
        least *= 2;
    while (greatest < x->greatest)
        greatest *= 2;
    return facts_with_residue(facts_between(least, greatest), least, 0);
}

/* --- quotients; by 0 there are none --- */

static int64_t divided(int64_t a, int64_t b, bool up)
{
    return a / b + (up && a % b > 0);
}

/* Returns the limits of a divided by b, b >= 1. */
static struct facts quotient_limits(const struct facts *a, const struct facts *b, bool up)
{
    int64_t least = INT64_MAX, greatest = INT64_MIN;
    for (int i = 0; i < 4; i++) {
        int64_t q = divided(i & 1 ? a->greatest : a->least, i & 2 ? b->greatest : b->least, up);
        least = lesser(least, q);
        greatest = larger(greatest, q);
    }
    return facts_between(least, greatest);
}

static struct facts quotient_by(struct facts_type t, const struct facts *a, const struct facts *b,
                                bool up)
{
    int64_t n;
    if (may_be_large(t, a) || b->least < 1)
        return facts_any(t);
    struct facts f = quotient_limits(a, b, up);
    /* (r + n m i) / n = r / n + m i if it is rounded to the same side for every i */
    bool same_side = up || a->least >= 0 || (facts_known(b, &n) && a->rest % n == 0);
    if (facts_known(b, &n) && a->modulus % n == 0 && same_side && a->modulus > 0)
        f = facts_with_residue(f, a->modulus / n, divided(a->rest, n, up) % (a->modulus / n));
    return f;
}

static struct facts quotient(struct facts_type t, const struct facts *x)
{
    return quotient_by(t, &x[0], &x[1], false);
}

static struct facts quotient_up(struct facts_type t, const struct facts *x)
{
    return quotient_by(t, &x[0], &x[1], true);
}

static struct facts remainder_of(struct facts_type t, const struct facts *x)
{
    const struct facts *a = &x[0], *b = &x[1];
    if (may_be_large(t, a) || b->least < 1)
        return facts_any(t);
    if (a->greatest < b->least && a->least > -b->least)
        return *a;
    int64_t most = b->greatest - 1;
    struct facts f = facts_between(a->least >= 0 ? 0 : larger(-most, a->least),
                                   a->greatest <= 0 ? 0 : lesser(most, a->greatest));
    /* a - b q */
    struct facts multiple = facts_multiple(facts_divisor(b)), same = facts_sum(a, &multiple);
    return facts_with_residue(f, same.modulus, same.rest);
}

/* --- choices --- */

static struct facts extreme(struct facts_type t, const struct facts *a, const struct facts *b,
                            bool least)
{
    enum certainty c = surely_less(t, a, b);
    if (c != UNSURE)
        return (c == YES) == least ? *a : *b;
    struct facts either = facts_join(a, b);
    if (may_be_large(t, a) || may_be_large(t, b))
        return either;
    either.least = least ? either.least : larger(a->least, b->least);
    either.greatest = least ? lesser(a->greatest, b->greatest) : either.greatest;
    facts_tighten(&either);
    return either;
}

static struct facts minimum(struct facts_type t, const struct facts *x)
{
    return extreme(t, &x[0], &x[1], true);
}

static struct facts maximum(struct facts_type t, const struct facts *x)
{
    return extreme(t, &x[0], &x[1], false);
}

static struct facts clip(struct facts_type t, const struct facts *x)
{
    struct facts raised = extreme(t, &x[0], &x[1], false);
    return extreme(t, &raised, &x[2], true);
}

static struct facts selection(struct facts_type t, const struct facts *x)
{
    int64_t zero;
    (void)t;
    if (!facts_contain(&x[0], 0))
        return x[1];
    return facts_known(&x[0], &zero) ? x[2] : facts_join(&x[1], &x[2]);
}

/* --- bits --- */

static uint64_t ones_of(const struct facts *f)
{
    return f->least >= 0 ? f->ones & INT64_MAX : f->ones;
}

/* Returns what holds for bits of the type, of which the last ones are those of `known`. */
static struct facts bits_of(struct facts_type t, const struct facts *x, int64_t least,
                            uint64_t known, uint64_t ones)
{
    int64_t power = lesser(facts_power(&x[0]), facts_power(&x[1]));
    struct facts f = facts_any(t);
    if (least >= 0)
        f = facts_between(least, f.greatest);
    f = facts_with_residue(f, power, (int64_t)(known & (uint64_t)(power - 1)));
    return facts_with_ones(f, ones);
}

static struct facts both_bits(struct facts_type t, const struct facts *x)
{
    uint64_t ones = ones_of(&x[0]) & ones_of(&x[1]);
    bool positive = x[0].least >= 0 || x[1].least >= 0;
    struct facts f =
        bits_of(t, x, positive ? 0 : -1, (uint64_t)x[0].rest & (uint64_t)x[1].rest, ones);
    for (int i = 0; i < 2; i++)
        if (x[i].least >= 0)
            f.greatest = lesser(f.greatest, x[i].greatest);
    facts_tighten(&f);
    return f;
}

static struct facts either_bits(struct facts_type t, const struct facts *x)
{
    bool positive = x[0].least >= 0 && x[1].least >= 0;
    return bits_of(t, x, positive ? larger(x[0].least, x[1].least) : -1,
                   (uint64_t)x[0].rest | (uint64_t)x[1].rest, ones_of(&x[0]) | ones_of(&x[1]));
}

static struct facts other_bits(struct facts_type t, const struct facts *x)
{
    bool positive = x[0].least >= 0 && x[1].least >= 0;
    return bits_of(t, x, positive ? 0 : -1, (uint64_t)x[0].rest ^ (uint64_t)x[1].rest,
                   ones_of(&x[0]) | ones_of(&x[1]));
}

/* An amount that is negative, or at least the width, shifts all bits out. */
static struct facts shift_left(struct facts_type t, const struct facts *x)
{
    int64_t n = x[1].greatest;
    if (x[1].least >= t.bits || n < 0)
        return facts_exactly(0);
    if (x[1].least >= 0 && n < t.bits && n <= FACTS_MOST_MODULUS_LOG) {
        struct facts by = facts_between((int64_t)1 << x[1].least, (int64_t)1 << n);
        by = facts_with_residue(by, (int64_t)1 << x[1].least, 0);
        return fitted(t, facts_product(&x[0], &by));
    }
    return facts_with_residue(facts_any(t),
                              (int64_t)facts_lowest_bit((uint64_t)facts_divisor(&x[0])), 0);
}

static int64_t shifted(int64_t v, int64_t n)
{
    return v < 0 ? ~(~v >> n) : v >> n;
}

static struct facts shift_right_by(struct facts_type t, const struct facts *a, int64_t n)
{
    if (n == 0)
        return *a;
    if (may_be_large(t, a))
        return facts_between(0, (int64_t)(UINT64_MAX >> n));
    struct facts f = facts_between(shifted(a->least, n), shifted(a->greatest, n));
    if (n <= FACTS_MOST_MODULUS_LOG && a->modulus % ((int64_t)1 << n) == 0 && a->modulus > 0)
        f = facts_with_residue(f, a->modulus >> n, a->rest >> n);
    return a->least >= 0 ? facts_with_ones(f, ones_of(a) >> n) : f;
}

static struct facts shift_right(struct facts_type t, const struct facts *x)
{
    const struct facts *a = &x[0], *by = &x[1];
    int64_t n;
    if (by->least >= t.bits || by->greatest < 0)
        return t.is_signed ? facts_between(shifted(a->least, 63), shifted(a->greatest, 63))
                           : facts_exactly(0);
    if (facts_known(by, &n))
        return shift_right_by(t, a, n);
    if (may_be_large(t, a))
        return facts_any(t);
    return facts_between(lesser(a->least, 0), a->greatest < 0 ? -1 : a->greatest);
}

/* --- the table --- */

static const struct {
    int operands;
    struct facts (*rule)(struct facts_type t, const struct facts *x);
} rules[FACTS_OPS] = {
#define FACTS_OP(name, operands, rule) {operands, rule},
#include "facts/facts_ops.def"
#undef FACTS_OP
};

struct facts facts_of(enum facts_op op, struct facts_type t, const struct facts *x)
{
    return rules[op].rule(t, x);
}

int facts_operands(enum facts_op op)
{
    return rules[op].operands;
}

/* --- comparisons that hold --- */

enum facts_op facts_negated(enum facts_op comparison)
{
    static const enum facts_op not [] = {
        [FACTS_LT - FACTS_LT] = FACTS_GE, [FACTS_LE - FACTS_LT] = FACTS_GT,
        [FACTS_GT - FACTS_LT] = FACTS_LE, [FACTS_GE - FACTS_LT] = FACTS_LT,
        [FACTS_EQ - FACTS_LT] = FACTS_NE, [FACTS_NE - FACTS_LT] = FACTS_EQ};
    return not [comparison - FACTS_LT];
}

enum facts_op facts_exchanged(enum facts_op comparison)
{
    switch (comparison) {
    case FACTS_LT: return FACTS_GT;
    case FACTS_LE: return FACTS_GE;
    case FACTS_GT: return FACTS_LT;
    case FACTS_GE: return FACTS_LE;
    default: return comparison;
    }
}

static struct facts other_than(const struct facts *a, const struct facts *b)
{
    struct facts f = *a;
    int64_t v;
    if (!facts_known(b, &v) || a->least >= a->greatest)
        return f;
    f.least += f.least == v;
    f.greatest -= f.greatest == v;
    facts_tighten(&f);
    return f;
}

/* Returns f with the ends of 64 bits moved to the next numbers of the congruence. */
static struct facts within_ends(struct facts f)
{
    if (f.modulus == 0)
        return f;
    f.least += f.least == INT64_MIN ? (f.rest - f.least % f.modulus) % f.modulus : 0;
    f.greatest -=
        f.greatest == INT64_MAX ? (f.greatest % f.modulus + f.modulus - f.rest) % f.modulus : 0;
    return f;
}

struct facts facts_where(enum facts_op op, struct facts_type t, const struct facts *a,
                         const struct facts *other)
{
    struct facts limit = facts_any(t), side = within_ends(*other), *b = &side;
    bool below = op == FACTS_LT || op == FACTS_LE, strict = op == FACTS_LT || op == FACTS_GT;
    if (op == FACTS_EQ)
        return facts_meet(a, b);
    if (op == FACTS_NE)
        return other_than(a, b);
    if (may_be_large(t, b) || (!below && may_be_large(t, a)))
        return *a;
    if (strict && (below ? b->greatest == INT64_MIN : b->least == INT64_MAX))
        return *a;
    if (below)
        limit = facts_between(t.is_signed ? INT64_MIN : 0, b->greatest - strict);
    else
        limit = facts_between(b->least + strict, INT64_MAX);
    return facts_meet(a, &limit);
}
