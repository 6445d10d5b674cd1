/* The rules of the facts about integers against the meaning of programs (tile/eval.c): of numbers of 4 bits, all
 * facts and all operands; of 8 to 64 bits, random ones at and around the ends. Rules that are wrong are found. */
#include "facts/facts.h"
#include "tile/tile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

typedef struct facts rule_fn(enum facts_op op, struct facts_type t, const struct facts *x);

static const enum op meaning[FACTS_OPS] = {
#define FACTS_OP(name, operands, rule) [FACTS_##name] = OP_##name,
#include "facts/facts_ops.def"
#undef FACTS_OP
};
static const char *const names[FACTS_OPS] = {
#define FACTS_OP(name, operands, rule) #name,
#include "facts/facts_ops.def"
#undef FACTS_OP
};

static const struct facts_type narrow[] = {{4, false}, {4, true}};

/* --- values of a type --- */

static int64_t wrapped(struct facts_type t, int64_t v)
{
    uint64_t sign = (uint64_t)1 << (t.bits - 1), low = (uint64_t)v & (sign | (sign - 1));
    return t.is_signed ? (int64_t)((low ^ sign) - sign) : (int64_t)low;
}

/* Computes in 64 bits and wraps. Returns false for a division by 0. */
static bool computed(enum facts_op op, struct facts_type t, const int64_t *v, int64_t *out)
{
    struct literal x[3] = {{.i = v[0]}, {.i = v[1]}, {.i = v[2]}}, r;
    bool shifts = op == FACTS_SHL || op == FACTS_SHR;
    if (shifts && v[1] >= t.bits)
        x[1].i = 64;
    if (!eval_op(meaning[op], t.is_signed ? DT_I64 : DT_U64, x, facts_operands(op), &r))
        return false;
    *out = wrapped(t, r.i);
    return true;
}

static void show(enum facts_op op, struct facts_type t, const struct facts *x,
                 const struct facts *f, const int64_t *v, int64_t r)
{
    print_message("%s of %d bits%s: ", names[op], t.bits, t.is_signed ? " with a sign" : "");
    for (int i = 0; i < facts_operands(op); i++)
        print_message("%lld in [%lld, %lld] = %lld mod %lld, ones %llx; ", (long long)v[i],
                      (long long)x[i].least, (long long)x[i].greatest, (long long)x[i].rest,
                      (long long)x[i].modulus, (unsigned long long)x[i].ones);
    print_message("%lld is not in [%lld, %lld] = %lld mod %lld, ones %llx\n", (long long)r,
                  (long long)f->least, (long long)f->greatest, (long long)f->rest,
                  (long long)f->modulus, (unsigned long long)f->ones);
}

/* --- all facts of 4 bits --- */

enum { MOST_FACTS = 4096, VALUES = 16 };

struct space {
    struct facts_type type;
    struct facts list[MOST_FACTS];
    uint16_t has[MOST_FACTS]; /* the values that have the facts: bit i is the value wrapped(i) */
    int count;
};

static uint16_t values_with(struct facts_type t, const struct facts *f)
{
    uint16_t all = 0;
    for (int i = 0; i < VALUES; i++)
        all |= (uint16_t)(facts_contain(f, wrapped(t, i)) << i);
    return all;
}

static void add(struct space *s, struct facts f)
{
    uint16_t has = values_with(s->type, &f);
    for (int i = 0; i < s->count; i++)
        if (facts_same(&s->list[i], &f))
            return;
    assert_true(s->count < MOST_FACTS);
    s->list[s->count] = f;
    s->has[s->count++] = has;
}

/* All limits with all congruences of small moduli, and what single bits say. */
static struct space *all_facts(struct facts_type t)
{
    static const int64_t moduli[] = {1, 2, 3, 4, 6, 8};
    struct space *s = calloc(1, sizeof *s);
    s->type = t;
    struct facts any = facts_any(t), two[2];
    for (int64_t least = any.least; least <= any.greatest; least++)
        for (int64_t greatest = least; greatest <= any.greatest; greatest++)
            for (size_t m = 0; m < sizeof moduli / sizeof moduli[0]; m++)
                for (int64_t rest = 0; rest < moduli[m]; rest++) {
                    struct facts multiple = facts_multiple(moduli[m]), shift = facts_exactly(rest);
                    two[0] = facts_between(least, greatest);
                    two[1] = facts_sum(&multiple, &shift);
                    if (!facts_apart(&two[0], &two[1]))
                        add(s, facts_meet(&two[0], &two[1]));
                }
    for (int64_t mask = 0; mask < VALUES / 2; mask++) {
        two[0] = any;
        two[1] = facts_exactly(mask);
        add(s, facts_of(FACTS_AND, t, two));
    }
    return s;
}

/* Returns the values that the operation gives of values in a and b. */
static uint16_t image(uint16_t of[VALUES][VALUES], uint16_t a, uint16_t b)
{
    uint16_t all = 0;
    for (int i = 0; i < VALUES; i++)
        for (int k = 0; k < VALUES && a >> i & 1; k++)
            all |= b >> k & 1 ? of[i][k] : 0;
    return all;
}

static void tabulate(enum facts_op op, struct facts_type t, uint16_t of[VALUES][VALUES])
{
    memset(of, 0, sizeof(uint16_t) * VALUES * VALUES);
    for (int i = 0; i < VALUES; i++)
        for (int k = 0; k < VALUES; k++) {
            int64_t r, v[3] = {wrapped(t, i), wrapped(t, k)};
            if (computed(op, t, v, &r))
                of[i][k] = (uint16_t)(1 << (r & (VALUES - 1)));
        }
}

/* Returns the number of facts for which the rule is wrong. `each`: every each-th fact is a second operand. */
static size_t faults_of(rule_fn *rule, enum facts_op op, const struct space *s, int each)
{
    static uint16_t of[VALUES][VALUES];
    size_t faults = 0;
    int seconds = facts_operands(op) == 2 ? s->count : 1;
    tabulate(op, s->type, of);
    for (int a = 0; a < s->count; a++)
        for (int b = seconds > 1 ? a % each : 0; b < seconds; b += each) {
            struct facts x[2] = {s->list[a], s->list[b]}, f = rule(op, s->type, x);
            uint16_t second = facts_operands(op) == 2 ? s->has[b] : 1;
            uint16_t result = image(of, s->has[a], second);
            faults += (result & ~values_with(s->type, &f)) != 0;
        }
    return faults;
}

static size_t narrow_faults(rule_fn *rule, int each)
{
    size_t faults = 0;
    for (int i = 0; i < 2; i++) {
        struct space *s = all_facts(narrow[i]);
        for (int op = 0; op < FACTS_OPS; op++) {
            size_t found = facts_operands(op) < 3 ? faults_of(rule, (enum facts_op)op, s, each) : 0;
            if (found && rule == facts_of)
                print_message("%s of %d bits: %zu faults\n", names[op], s->type.bits, found);
            faults += found;
        }
        free(s);
    }
    return faults;
}

static void rules_hold_for_all_facts_of_4_bits(void **state)
{
    (void)state;
    assert_int_equal(narrow_faults(facts_of, 1), 0);
}

/* join, meet, widen, casts and comparisons that hold */
static void combinations_hold_for_all_facts_of_4_bits(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct space *s = all_facts(narrow[i]);
        const struct facts_type t = s->type, other = narrow[1 - i];
        for (int a = 0; a < s->count; a++) {
            struct facts cast = facts_cast(&s->list[a], other);
            assert_int_equal(s->has[a] & ~values_with(other, &cast), 0); /* the same last bits */
            for (int b = 0; b < s->count; b++) {
                struct facts join = facts_join(&s->list[a], &s->list[b]);
                struct facts wide = facts_widen(&s->list[a], &s->list[b], t);
                struct facts meet = facts_meet(&s->list[a], &s->list[b]);
                uint16_t either = s->has[a] | s->has[b], both = s->has[a] & s->has[b];
                assert_int_equal(either & ~values_with(t, &join), 0);
                assert_int_equal(either & ~values_with(t, &wide), 0);
                assert_int_equal(both & ~values_with(t, &meet), 0);
                assert_true(!facts_apart(&s->list[a], &s->list[b]) || both == 0);
            }
        }
        free(s);
    }
}

static void comparisons_limit_their_operands(void **state)
{
    static uint16_t of[VALUES][VALUES];
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct space *s = all_facts(narrow[i]);
        for (enum facts_op op = FACTS_LT; op <= FACTS_NE; op++) {
            tabulate(op, s->type, of);
            for (int a = 0; a < s->count; a++)
                for (int b = 0; b < s->count; b += 3) {
                    struct facts f = facts_where(op, s->type, &s->list[a], &s->list[b]);
                    uint16_t holds = 0;
                    for (int x = 0; x < VALUES; x++)
                        if (s->has[a] >> x & 1 && image(of, (uint16_t)(1 << x), s->has[b]) & 2)
                            holds |= (uint16_t)(1 << x);
                    assert_int_equal(holds & ~values_with(s->type, &f), 0);
                }
        }
        free(s);
    }
}

/* --- 8 to 64 bits --- */

enum { MEMBERS = 3 };

static uint64_t random_state;

static uint64_t random_number(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* A value near 0, near an end of the type, near a power of two, or any. */
static int64_t random_value(struct facts_type t)
{
    int64_t near = (int64_t)(random_number() % 9) - 4;
    uint64_t power = (uint64_t)1 << random_number() % t.bits;
    switch (random_number() % 5) {
    case 0: return wrapped(t, near);
    case 1: return wrapped(t, (int64_t)(((uint64_t)1 << (t.bits - 1)) + (uint64_t)near));
    case 2: return wrapped(t, (int64_t)(power + (uint64_t)near));
    case 3: return wrapped(t, (int64_t)(power * (random_number() % 7)));
    default: return wrapped(t, (int64_t)random_number());
    }
}

/* Facts that the members have: their join, or parts of it. */
static struct facts random_facts(struct facts_type t, int64_t *members)
{
    struct facts f = {0}, any = facts_any(t);
    int count = 1 + (int)(random_number() % MEMBERS), form = (int)(random_number() % 4);
    for (int i = 0; i < MEMBERS; i++) {
        members[i] = i < count ? random_value(t) : members[0];
        struct facts one = facts_exactly(members[i]);
        f = i == 0 ? one : facts_join(&f, &one);
    }
    if (form == 0)
        f = facts_between(f.least, any.greatest);
    else if (form == 1)
        f = facts_between(any.least, f.greatest);
    else if (form == 2)
        f = facts_widen(&f, &any, t);
    return f;
}

static size_t wide_faults(rule_fn *rule, int turns)
{
    size_t faults = 0;
    random_state = 88172645463325252u;
    for (int n = 0; n < turns; n++) {
        struct facts_type t = {(uint8_t)(8 << random_number() % 4), random_number() % 2};
        enum facts_op op = (enum facts_op)(random_number() % FACTS_OPS);
        struct facts x[3];
        int64_t members[3][MEMBERS];
        for (int i = 0; i < 3; i++)
            x[i] = random_facts(t, members[i]);
        struct facts f = rule(op, t, x);
        for (int i = 0; i < MEMBERS * MEMBERS * MEMBERS; i++) {
            int64_t r, v[3] = {members[0][i % 3], members[1][i / 3 % 3], members[2][i / 9]};
            if (!computed(op, t, v, &r) || facts_contain(&f, r))
                continue;
            if (rule == facts_of && faults < 10)
                show(op, t, x, &f, v, r);
            faults++;
        }
    }
    return faults;
}

static void rules_hold_for_random_facts(void **state)
{
    (void)state;
    assert_int_equal(wide_faults(facts_of, 400000), 0);
}

static void combinations_hold_for_random_facts(void **state)
{
    (void)state;
    random_state = 2463534242;
    for (int n = 0; n < 200000; n++) {
        struct facts_type t = {(uint8_t)(8 << random_number() % 4), random_number() % 2};
        struct facts_type to = {(uint8_t)(8 << random_number() % 4), random_number() % 2};
        int64_t a[MEMBERS], b[MEMBERS];
        struct facts x = random_facts(t, a), y = random_facts(t, b);
        struct facts join = facts_join(&x, &y), meet = facts_meet(&x, &y),
                     cast = facts_cast(&x, to);
        struct facts wide = facts_widen(&x, &y, t);
        for (int i = 0; i < MEMBERS; i++) {
            assert_true(facts_contain(&join, a[i]) && facts_contain(&join, b[i]));
            assert_true(facts_contain(&wide, a[i]) && facts_contain(&wide, b[i]));
            assert_true(facts_contain(&cast, wrapped(to, a[i])));
            assert_true(facts_contain(&meet, a[i]) || !facts_contain(&y, a[i]));
        }
    }
}

/* --- rules that are wrong --- */

static struct facts i64_never_wraps(enum facts_op op, struct facts_type t, const struct facts *x)
{
    return op == FACTS_ADD && t.bits == 64 ? facts_sum(&x[0], &x[1]) : facts_of(op, t, x);
}

static struct facts magnitudes_are_positive(enum facts_op op, struct facts_type t,
                                            const struct facts *x)
{
    return op == FACTS_ABS ? facts_between(0, facts_any(t).greatest) : facts_of(op, t, x);
}

static struct facts powers_are_positive(enum facts_op op, struct facts_type t,
                                        const struct facts *x)
{
    return op == FACTS_POW2_CEIL ? facts_between(1, facts_any(t).greatest) : facts_of(op, t, x);
}

static struct facts divisors_survive(enum facts_op op, struct facts_type t, const struct facts *x)
{
    struct facts f = facts_of(op, t, x), multiple = facts_product(&x[0], &x[1]);
    return op == FACTS_MUL
               ? (struct facts){f.least, f.greatest, multiple.modulus, multiple.rest, f.ones}
               : f;
}

static void wrong_rules_are_found(void **state)
{
    (void)state;
    assert_true(wide_faults(i64_never_wraps, 100000) > 0);
    assert_true(narrow_faults(magnitudes_are_positive, 64) > 0);
    assert_true(wide_faults(magnitudes_are_positive, 100000) > 0);
    assert_true(narrow_faults(powers_are_positive, 64) > 0);
    assert_true(wide_faults(powers_are_positive, 100000) > 0);
    assert_true(narrow_faults(divisors_survive, 64) > 0);
}

/* --- rules say enough --- */

static struct facts of(enum facts_op op, enum dtype t, struct facts a, struct facts b)
{
    struct facts x[2] = {a, b};
    return facts_of(op, facts_type_of(t), x);
}

static void rules_keep_what_kernels_need(void **state)
{
    (void)state;
    /* 4 + 16 i < 100 is at most 84 */
    struct facts counter = {0, 99, 16, 4, UINT64_MAX};
    counter = facts_meet(&counter, &counter);
    assert_int_equal(counter.greatest, 84);
    struct facts lane = facts_between(0, 31), four = facts_exactly(4);
    struct facts first = of(FACTS_MUL, DT_I32, lane, four);
    assert_int_equal(first.greatest, 124);
    assert_int_equal(facts_divisor(&first), 4);
    /* of an i32 that may wrap, a power of two */
    struct facts row = of(FACTS_MUL, DT_I32, facts_any(facts_type_of(DT_I32)), facts_exactly(48));
    assert_int_equal(facts_divisor(&row), 16);
    /* (16 i + 4) % 16 is 4; the bits of two summands that do not meet */
    struct facts rest = of(FACTS_REM, DT_I32, counter, facts_exactly(16));
    assert_int_equal(rest.least, 4);
    assert_int_equal(rest.greatest, 4);
    struct facts apart = of(FACTS_ADD, DT_I32, of(FACTS_SHL, DT_I32, lane, facts_exactly(8)), lane);
    assert_int_equal(apart.ones, 0x1f1f);
    struct facts never =
        of(FACTS_EQ, DT_I32, counter, of(FACTS_MUL, DT_I32, lane, facts_exactly(8)));
    assert_int_equal(never.greatest, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_hold_for_all_facts_of_4_bits),
        cmocka_unit_test(combinations_hold_for_all_facts_of_4_bits),
        cmocka_unit_test(comparisons_limit_their_operands),
        cmocka_unit_test(rules_hold_for_random_facts),
        cmocka_unit_test(combinations_hold_for_random_facts),
        cmocka_unit_test(wrong_rules_are_found),
        cmocka_unit_test(rules_keep_what_kernels_need),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
