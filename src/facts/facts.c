/* The domain: congruences and limits, and their combinations. */
#include "facts/facts_own.h"

#include <assert.h>
#include <string.h>

#define MOST_MODULUS ((int64_t)1 << FACTS_MOST_MODULUS_LOG)

/* --- congruences --- */

struct residue {
    int64_t modulus, rest; /* as in struct facts */
};

/* As greatest_common_divisor(), of numbers up to 2^64 - 1. */
static uint64_t common(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint64_t distance(int64_t a, int64_t b)
{
    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

static int64_t floor_remainder(int64_t v, int64_t n)
{
    assert(n > 0);
    int64_t rest = v % n;
    return rest < 0 ? rest + n : rest;
}

/* Returns the residue of v; of a modulus that is too large, its power of two. */
static struct residue residue_of(uint64_t modulus, int64_t v)
{
    if (modulus == 0)
        return (struct residue){0, v};
    if (modulus > (uint64_t)MOST_MODULUS)
        modulus = facts_lowest_bit(modulus);
    int64_t m = modulus > (uint64_t)MOST_MODULUS ? MOST_MODULUS : (int64_t)modulus;
    return (struct residue){m, floor_remainder(v, m)};
}

static struct residue residue_join(struct residue a, struct residue b)
{
    uint64_t m = common((uint64_t)a.modulus, (uint64_t)b.modulus);
    return residue_of(common(m, distance(a.rest, b.rest)), a.rest);
}

static struct residue residue_sum(struct residue a, struct residue b)
{
    int64_t sum, m = (int64_t)common((uint64_t)a.modulus, (uint64_t)b.modulus);
    if (m == 0) {
        bool over = __builtin_add_overflow(a.rest, b.rest, &sum);
        sum = (int64_t)((uint64_t)a.rest + (uint64_t)b.rest);
        return residue_of(over ? (uint64_t)MOST_MODULUS : 0, sum);
    }
    return residue_of((uint64_t)m, floor_remainder(a.rest, m) + floor_remainder(b.rest, m));
}

/* Trailing zeros; of 0, more than count. */
static int zeros_of(int64_t v)
{
    return v ? __builtin_ctzll((uint64_t)v) : 64;
}

static int least_of(int a, int b)
{
    return a < b ? a : b;
}

static uint64_t magnitude_of(int64_t v)
{
    return distance(v, 0);
}

/* (r + m i)(s + n j) = r s + r n j + s m i + m n i j */
static struct residue residue_product(struct residue a, struct residue b)
{
    const uint64_t r = magnitude_of(a.rest), s = magnitude_of(b.rest);
    const uint64_t m = (uint64_t)a.modulus, n = (uint64_t)b.modulus;
    uint64_t rn, sm, mn;
    int64_t rs;
    if (!__builtin_mul_overflow(r, n, &rn) && !__builtin_mul_overflow(s, m, &sm) &&
        !__builtin_mul_overflow(m, n, &mn) && !__builtin_mul_overflow(a.rest, b.rest, &rs))
        return residue_of(common(common(rn, sm), mn), rs);
    /* too large: its power of two, which wraps as the product does */
    int zeros =
        least_of(zeros_of(a.rest) + zeros_of(b.modulus), zeros_of(b.rest) + zeros_of(a.modulus));
    zeros = least_of(least_of(zeros, zeros_of(a.modulus) + zeros_of(b.modulus)),
                     FACTS_MOST_MODULUS_LOG);
    return residue_of((uint64_t)1 << zeros, (int64_t)((uint64_t)a.rest * (uint64_t)b.rest));
}

/* Returns x with a x = 1 modulo n, for a and n without a common divisor. */
static int64_t inverse(int64_t a, int64_t n)
{
    assert(n > 0);
    int64_t x = 0, next_x = 1, rest = n, next = floor_remainder(a, n);
    while (next) {
        int64_t q = rest / next, t = x - q * next_x;
        x = next_x;
        next_x = t;
        t = rest - q * next;
        rest = next;
        next = t;
    }
    return n == 1 ? 0 : floor_remainder(x, n);
}

/* Both hold: the Chinese remainder theorem. If the common modulus is too large, the larger one stays. */
static struct residue residue_meet(struct residue a, struct residue b, bool *possible)
{
    int64_t both, step;
    if (a.modulus == 0 || b.modulus == 0) {
        struct residue exact = a.modulus == 0 ? a : b, other = a.modulus == 0 ? b : a;
        *possible = other.modulus == 0 ? other.rest == exact.rest
                                       : floor_remainder(exact.rest, other.modulus) == other.rest;
        return exact;
    }
    int64_t g = (int64_t)common((uint64_t)a.modulus, (uint64_t)b.modulus), n = b.modulus / g;
    *possible = (b.rest - a.rest) % g == 0;
    if (__builtin_mul_overflow(a.modulus, n, &both) || both > MOST_MODULUS || !*possible)
        return a.modulus >= b.modulus ? a : b;
    int64_t difference = floor_remainder((b.rest - a.rest) / g, n);
    if (__builtin_mul_overflow(difference, inverse(a.modulus / g, n), &step))
        return a.modulus >= b.modulus ? a : b;
    return residue_of((uint64_t)both, a.rest + a.modulus * (step % n));
}

static struct residue residue_in(const struct facts *f)
{
    return (struct residue){f->modulus, f->rest};
}

/* --- normal forms --- */

struct facts facts_exactly(int64_t v)
{
    return (struct facts){v, v, 0, v, (uint64_t)v};
}

/* Moves the limits to the next numbers of the congruence. */
static void tighten_limits(struct facts *f)
{
    int64_t tighter;
    if (f->modulus <= 1) /* every number */
        return;
    int64_t up = floor_remainder(f->rest - floor_remainder(f->least, f->modulus), f->modulus);
    if (f->least != INT64_MIN && !__builtin_add_overflow(f->least, up, &tighter))
        f->least = tighter;
    int64_t down = floor_remainder(floor_remainder(f->greatest, f->modulus) - f->rest, f->modulus);
    if (f->greatest != INT64_MAX && !__builtin_sub_overflow(f->greatest, down, &tighter))
        f->greatest = tighter;
}

bool facts_tighten(struct facts *f)
{
    assert(f->modulus == 0 || (f->modulus > 0 && f->rest >= 0 && f->rest < f->modulus));
    if (f->modulus == 0) {
        bool possible =
            f->least <= f->rest && f->rest <= f->greatest && ((uint64_t)f->rest & ~f->ones) == 0;
        *f = facts_exactly(f->rest);
        return possible;
    }
    tighten_limits(f);
    if (f->least >= f->greatest) {
        bool possible = f->least == f->greatest &&
                        floor_remainder(f->least, f->modulus) == f->rest &&
                        ((uint64_t)f->least & ~f->ones) == 0;
        *f = facts_exactly(f->least);
        return possible;
    }
    if (f->least >= 0 && f->greatest != INT64_MAX)
        f->ones &= facts_filled((uint64_t)f->greatest);
    uint64_t low = facts_lowest_bit((uint64_t)f->modulus) - 1;
    f->ones &= ~low | (uint64_t)f->rest;
    return true;
}

struct facts facts_with_residue(struct facts f, int64_t modulus, int64_t rest)
{
    bool possible;
    struct residue both = residue_meet(residue_in(&f), (struct residue){modulus, rest}, &possible);
    f.modulus = both.modulus;
    f.rest = both.rest;
    facts_tighten(&f);
    return f;
}

struct facts facts_with_ones(struct facts f, uint64_t ones)
{
    f.ones &= ones;
    if (f.ones == 0)
        return facts_exactly(0);
    if (f.least >= 0 && f.ones <= (uint64_t)INT64_MAX && (int64_t)f.ones < f.greatest)
        f.greatest = (int64_t)f.ones;
    uint64_t bit = facts_lowest_bit(f.ones);
    return facts_with_residue(f, bit > (uint64_t)MOST_MODULUS ? MOST_MODULUS : (int64_t)bit, 0);
}

int64_t facts_power(const struct facts *f)
{
    return f->modulus ? (int64_t)facts_lowest_bit((uint64_t)f->modulus) : MOST_MODULUS;
}

/* --- making --- */

struct facts_type facts_type_of(enum dtype t)
{
    return (struct facts_type){t == DT_BOOL ? 1 : (uint8_t)dtype_table[t].bits, dtype_is_signed(t)};
}

struct facts facts_between(int64_t least, int64_t greatest)
{
    if (least >= greatest)
        return facts_exactly(least);
    bool filled = least >= 0 && greatest != INT64_MAX;
    return (struct facts){least, greatest, 1, 0,
                          filled ? facts_filled((uint64_t)greatest) : UINT64_MAX};
}

struct facts facts_any(struct facts_type t)
{
    assert(t.bits > 0 && t.bits <= 64);
    if (t.bits == 64)
        return facts_between(INT64_MIN, INT64_MAX);
    if (!t.is_signed)
        return facts_between(0, ((int64_t)1 << t.bits) - 1);
    return facts_between(-((int64_t)1 << (t.bits - 1)), ((int64_t)1 << (t.bits - 1)) - 1);
}

struct facts facts_multiple(int64_t n)
{
    assert(n >= 0);
    return facts_with_residue(facts_between(INT64_MIN, INT64_MAX), n > MOST_MODULUS ? 1 : n, 0);
}

/* --- asking --- */

bool facts_contain(const struct facts *f, int64_t v)
{
    bool divides = f->modulus ? floor_remainder(v, f->modulus) == f->rest : v == f->rest;
    return f->least <= v && v <= f->greatest && divides && ((uint64_t)v & ~f->ones) == 0;
}

bool facts_known(const struct facts *f, int64_t *v)
{
    if (f->modulus == 0)
        *v = f->rest;
    return f->modulus == 0;
}

int64_t facts_divisor(const struct facts *f)
{
    uint64_t d = common((uint64_t)f->modulus, magnitude_of(f->rest));
    return d > (uint64_t)INT64_MAX ? MOST_MODULUS : (int64_t)d;
}

bool facts_fit(const struct facts *f, struct facts_type t)
{
    if (t.bits == 64)
        return t.is_signed || f->least >= 0;
    struct facts all = facts_any(t);
    return f->least >= all.least && f->greatest <= all.greatest;
}

bool facts_same(const struct facts *a, const struct facts *b)
{
    return a->least == b->least && a->greatest == b->greatest && a->modulus == b->modulus &&
           a->rest == b->rest && a->ones == b->ones;
}

/* --- combining --- */

struct facts facts_join(const struct facts *a, const struct facts *b)
{
    struct residue r = residue_join(residue_in(a), residue_in(b));
    struct facts either = {a->least < b->least ? a->least : b->least,
                           a->greatest > b->greatest ? a->greatest : b->greatest, r.modulus, r.rest,
                           a->ones | b->ones};
    facts_tighten(&either);
    return either;
}

/* Returns what holds if both hold; *possible: some number has both. */
static struct facts both_of(const struct facts *a, const struct facts *b, bool *possible)
{
    bool divides;
    struct residue r = residue_meet(residue_in(a), residue_in(b), &divides);
    struct facts both = {a->least > b->least ? a->least : b->least,
                         a->greatest < b->greatest ? a->greatest : b->greatest, r.modulus, r.rest,
                         a->ones & b->ones};
    *possible = facts_tighten(&both) && divides;
    return both;
}

struct facts facts_meet(const struct facts *a, const struct facts *b)
{
    bool possible;
    struct facts both = both_of(a, b, &possible);
    return possible ? both : *a;
}

bool facts_apart(const struct facts *a, const struct facts *b)
{
    bool possible;
    both_of(a, b, &possible);
    return !possible;
}

struct facts facts_widen(const struct facts *before, const struct facts *now, struct facts_type t)
{
    struct facts all = facts_any(t), joined = facts_join(before, now);
    if (joined.least < before->least)
        joined.least = all.least;
    if (joined.greatest > before->greatest)
        joined.greatest = all.greatest;
    joined.ones = joined.ones == before->ones ? joined.ones : UINT64_MAX;
    facts_tighten(&joined);
    return joined;
}

/* --- over the integers --- */

static int64_t limit_sum(int64_t a, int64_t b, int64_t none)
{
    int64_t sum;
    bool over = facts_no_limit(a) || facts_no_limit(b) || __builtin_add_overflow(a, b, &sum);
    return over || facts_no_limit(sum) ? none : sum;
}

struct facts facts_sum(const struct facts *a, const struct facts *b)
{
    int64_t number;
    if (a->modulus == 0 && b->modulus == 0 && !__builtin_add_overflow(a->rest, b->rest, &number))
        return facts_exactly(number);
    if (a->modulus == 0 && a->rest == 0)
        return *b;
    struct residue r = residue_sum(residue_in(a), residue_in(b));
    struct facts sum = {limit_sum(a->least, b->least, INT64_MIN),
                        limit_sum(a->greatest, b->greatest, INT64_MAX), r.modulus, r.rest,
                        UINT64_MAX};
    /* without a bit in common, nothing is carried */
    if (a->least >= 0 && b->least >= 0 && (a->ones & b->ones) == 0)
        sum.ones = a->ones | b->ones;
    facts_tighten(&sum);
    return sum;
}

static void product_limits(const struct facts *a, const struct facts *b, struct facts *out)
{
    const int64_t x[2] = {a->least, a->greatest}, y[2] = {b->least, b->greatest};
    out->least = INT64_MAX;
    out->greatest = INT64_MIN;
    for (int i = 0; i < 4; i++) {
        int64_t p = x[i & 1], q = y[i >> 1], product;
        if (facts_no_limit(p) || facts_no_limit(q) || __builtin_mul_overflow(p, q, &product) ||
            facts_no_limit(product)) {
            bool positive = a->least >= 0 && b->least >= 0;
            out->least = positive ? 0 : INT64_MIN;
            out->greatest = INT64_MAX;
            return;
        }
        out->least = product < out->least ? product : out->least;
        out->greatest = product > out->greatest ? product : out->greatest;
    }
}

/* Returns the bits of a times a power of two; all if b is something else. */
static uint64_t shifted_ones(const struct facts *a, const struct facts *b)
{
    int64_t n;
    bool power = facts_known(b, &n) && n > 0 && (n & (n - 1)) == 0;
    return power ? a->ones * (uint64_t)n : UINT64_MAX;
}

struct facts facts_product(const struct facts *a, const struct facts *b)
{
    int64_t product;
    if (a->modulus == 0 && b->modulus == 0 && !__builtin_mul_overflow(a->rest, b->rest, &product))
        return facts_exactly(product);
    bool once = a->modulus == 0 && a->rest == 1;
    if (once && !facts_no_limit(b->least) && !facts_no_limit(b->greatest))
        return *b;
    struct residue r = residue_product(residue_in(a), residue_in(b));
    struct facts out = {.modulus = r.modulus, .rest = r.rest};
    product_limits(a, b, &out);
    out.ones = shifted_ones(a, b) & shifted_ones(b, a);
    facts_tighten(&out);
    return out;
}

/* Returns what is left of a number that may be cut to the type: its last bits. */
static struct facts cut(const struct facts *f, struct facts_type t)
{
    int64_t n, power = facts_power(f);
    if (facts_known(f, &n) && t.bits == 64)
        return *f;
    if (t.bits < FACTS_MOST_MODULUS_LOG && power > (int64_t)1 << t.bits)
        power = (int64_t)1 << t.bits;
    uint64_t mask = t.bits < 64 ? ((uint64_t)1 << t.bits) - 1 : UINT64_MAX;
    struct facts all = facts_with_residue(facts_any(t), power, floor_remainder(f->rest, power));
    return t.is_signed ? all : facts_with_ones(all, f->ones & mask);
}

struct facts facts_wrap(const struct facts *f, struct facts_type t, bool *exact)
{
    *exact = !facts_no_limit(f->least) && !facts_no_limit(f->greatest) && facts_fit(f, t);
    return *exact ? *f : cut(f, t);
}

struct facts facts_cast(const struct facts *f, struct facts_type t)
{
    if (t.bits == 1 && !t.is_signed)
        return !facts_contain(f, 0) ? facts_exactly(1)
               : f->modulus == 0    ? facts_exactly(0)
                                    : facts_any(t);
    return t.bits == 64 || facts_fit(f, t) ? *f : cut(f, t);
}
