/* f32, f64, f16 and bf16 arithmetic compared with exact values rounded digit by digit
 * (value_reference.h). */
#include "value_decoder.h"
#include "value_reference.h"

#include <math.h>

/* The operation that the reference computes. */
static struct {
    const struct value_format *f;
    char op, rounding;
    bool ftz, sat, relu;
} now;

static uint64_t nan_result(void)
{
    return now.f == &value_f32 ? 0x7fffffff : now.f == &value_f64 ? 0xfff8000000000000 : 0x7fff;
}
static uint64_t one(const struct value_format *f)
{
    return (uint64_t)(1 - f->least) << f->fraction;
}

static uint64_t computed(uint64_t a, uint64_t b, uint64_t c)
{
    const struct value_format *f = now.f;
    uint64_t v[3] = {a, b, c}, mask = f->bits == 64 ? UINT64_MAX : ((uint64_t)1 << f->bits) - 1;
    int count = now.op == 'f' ? 3 : now.op == 's' ? 1 : 2;
    uint64_t nan = 0, r;
    bool tiny = false;
    for (int i = 0; i < count; i++) {
        v[i] &= mask;
        if (now.ftz && value_subnormal(f, v[i]))
            v[i] = value_zero(f, value_minus(f, v[i]));
        /* f64 passes a NaN on, the second operand's first except in divisions */
        if (value_nan(f, v[i]) && (!nan || (i == 1 && now.op != '/')))
            nan = f == &value_f64 ? v[i] | 1ull << 51 : nan_result();
    }
    r = nan ? nan
            : value_compute(f, now.op, now.rounding, v[0], count > 1 ? v[1] : 0,
                            count > 2 ? v[2] : 0, nan_result(), &tiny);
    if (now.ftz && tiny)
        r = value_zero(f, value_minus(f, r));
    if (now.relu && value_minus(f, r) && !value_nan(f, r))
        r = 0;
    if (now.sat)
        r = value_nan(f, r) || value_minus(f, r) ? 0 : r > one(f) ? one(f) : r;
    return r;
}
static void alone(uint64_t *r, const uint64_t *x)
{
    r[0] = computed(x[0], x[1], x[2]);
}
static void halves(uint64_t *r, const uint64_t *x)
{
    r[0] = computed(x[0], x[1], x[2]) | computed(x[0] >> 16, x[1] >> 16, x[2] >> 16) << 16;
}
static void words(uint64_t *r, const uint64_t *x)
{
    r[0] = computed(x[0], x[1], x[2]) | computed(x[0] >> 32, x[1] >> 32, x[2] >> 32) << 32;
}
static void reciprocal(uint64_t *r, const uint64_t *x)
{
    r[0] = computed(one(now.f), x[0], 0);
}

/* name, then the operands that op has after the type. */
static void check(const char *name, char op, const char *modifiers, const char *type,
                  char registers, value_reference *reference, int rounds)
{
    char text[128];
    int count = op == 'f' ? 4 : op == 's' || op == 'r' ? 2 : 3;
    int n = snprintf(text, sizeof text, "%s%s.%s ", name, modifiers, type);
    for (int i = 0; i < count; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%%%c%d", i ? ", " : "", registers, i);
    snprintf(text + n, sizeof text - (size_t)n, ";");
    const char *rounding = strstr(modifiers, ".r");
    now.op = op == 'r' ? '/' : op;
    now.rounding = rounding && rounding[2] != 'e' ? rounding[2] : 'n';
    now.ftz = strstr(modifiers, ".ftz");
    now.sat = strstr(modifiers, ".sat");
    now.relu = strstr(modifiers, ".relu");
    value_check_rounds(text, reference, rounds);
}

static const struct {
    const char *name;
    char op;
    bool saturates;
} operations[] = {{"add", '+', true},   {"sub", '-', true}, {"mul", '*', true},
                  {"fma", 'f', true},   {"mad", 'f', true}, {"div", '/', false},
                  {"sqrt", 's', false}, {"rcp", 'r', false}};
static const char *const roundings[] = {".rn", ".rz", ".rm", ".rp"};

static void f32_all_roundings(void **state)
{
    (void)state;
    now.f = &value_f32;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        for (int way = 0; way < 16; way++) {
            char modifiers[32];
            bool sat = way & 8;
            if (sat && !operations[i].saturates)
                continue;
            snprintf(modifiers, sizeof modifiers, "%s%s%s", roundings[way & 3],
                     way & 4 ? ".ftz" : "", sat ? ".sat" : "");
            check(operations[i].name, operations[i].op, modifiers, "f32", 'r',
                  operations[i].op == 'r' ? reciprocal : alone, 40);
        }
    for (int i = 0; i < 3; i++)
        check(operations[i].name, operations[i].op, "", "f32", 'r', alone, 20);
}

static void f32_in_pairs(void **state)
{
    (void)state;
    now.f = &value_f32;
    for (int i = 0; i < 4; i++)
        for (int way = 0; way < 8; way++) {
            char modifiers[32];
            snprintf(modifiers, sizeof modifiers, "%s%s", roundings[way & 3],
                     way & 4 ? ".ftz" : "");
            check(operations[i].name, operations[i].op, modifiers, "f32x2", 'd', words, 15);
        }
}

static void f64_all_roundings(void **state)
{
    (void)state;
    now.f = &value_f64;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        for (int way = 0; way < 4; way++)
            check(operations[i].name, operations[i].op, roundings[way], "f64", 'd',
                  operations[i].op == 'r' ? reciprocal : alone, 40);
}

static void halves_rounded_once(void **state)
{
    (void)state;
    static const char *const f16_ways[] = {".rn", ".rn.ftz", ".rn.sat", ".rn.ftz.sat"};
    for (int i = 0; i < 4; i++) {
        const char *name = operations[i].name;
        char op = operations[i].op;
        now.f = &value_f16;
        for (int way = 0; way < 4; way++) {
            check(name, op, f16_ways[way], "f16", 'h', alone, 200);
            check(name, op, f16_ways[way], "f16x2", 'r', halves, 100);
        }
        now.f = &value_bf16;
        check(name, op, ".rn", "bf16", 'h', alone, 300);
        check(name, op, ".rn", "bf16x2", 'r', halves, 150);
    }
    now.f = &value_f16;
    check("fma", 'f', ".rn.relu", "f16", 'h', alone, 60);
    check("fma", 'f', ".rn.ftz.relu", "f16x2", 'r', halves, 60);
    now.f = &value_bf16;
    check("fma", 'f', ".rn.relu", "bf16", 'h', alone, 60);
    check("fma", 'f', ".rn.relu", "bf16x2", 'r', halves, 60);
}

/* Rounding twice would show: products at a tie, with an addend below all their digits. */
static void ties_are_broken(void **state)
{
    (void)state;
    memset(&now, 0, sizeof now);
    now.op = 'f';
    now.rounding = 'n';
    now.f = &value_bf16;
    value_check_on("fma.rn.bf16 %h0, %h1, %h2, %h3;", alone, 0x3f81, 0x3f82, 0x0001);
    value_check_on("fma.rn.bf16 %h0, %h1, %h2, %h3;", alone, 0x3f81, 0x3f82, 0x8001);
    value_check_on("fma.rn.bf16 %h0, %h1, %h2, %h3;", alone, 0x4008, 0x3f90, 0x0080);
    now.f = &value_f16;
    value_check_on("fma.rn.f16 %h0, %h1, %h2, %h3;", alone, 0x3c01, 0x3c01, 0x0001);
    value_check_on("fma.rn.f16 %h0, %h1, %h2, %h3;", alone, 0x3e00, 0x3c01, 0x8001);
    value_check_on("fma.rn.f16 %h0, %h1, %h2, %h3;", alone, 0x3800, 0x3c03, 0x0001);
}

/* .ftz depends on the result before rounding: a result just below 2^-126 rounds up to it, and is
 * flushed nevertheless. */
static void flushed_before_rounding(void **state)
{
    (void)state;
    memset(&now, 0, sizeof now);
    now.f = &value_f32;
    now.rounding = 'n';
    now.ftz = true;
    now.op = '*';
    value_check_on("mul.ftz.f32 %r0, %r1, %r2;", alone, 0x3f7fffff, 0x00800000, 0);
    value_check_on("mul.ftz.f32 %r0, %r1, %r2;", alone, 0xbf7fffff, 0x00800000, 0);
    value_check_on("mul.ftz.f32 %r0, %r1, %r2;", alone, 0x3f800000, 0x00800000, 0);
    now.op = 'f';
    value_check_on("fma.rn.ftz.f32 %r0, %r1, %r2, %r3;", alone, 0x3f7fffff, 0x80800000, 0);
    value_check_on("fma.rn.ftz.f32 %r0, %r1, %r2, %r3;", alone, 0x1f800000, 0x1f800000, 0x00800000);
    value_check_on("fma.rn.ftz.f32 %r0, %r1, %r2, %r3;", alone, 0x9e800000, 0x1e800000, 0x00800000);
    now.op = '/';
    value_check_on("div.rn.ftz.f32 %r0, %r1, %r2;", alone, 0x00ffffff, 0x40000000, 0);
}

/* --- mixed precision --- */

static uint64_t widened(const struct value_format *from, uint64_t v)
{
    v &= 0xffff;
    uint32_t bits;
    float f = from == &value_f16 ? f16_to_f32((uint16_t)v) : bf16_to_f32((uint16_t)v);
    memcpy(&bits, &f, sizeof bits);
    return bits;
}
static const struct value_format *half_format;
static void mixed2(uint64_t *r, const uint64_t *x)
{
    r[0] = computed(widened(half_format, x[0]), x[1], 0);
}
static void mixed3(uint64_t *r, const uint64_t *x)
{
    r[0] = computed(widened(half_format, x[0]), widened(half_format, x[1]), x[2]);
}
static void mixed_precision(void **state)
{
    (void)state;
    now.f = &value_f32;
    now.ftz = now.relu = false;
    for (int way = 0; way < 16; way++) {
        char text[96];
        half_format = way & 4 ? &value_f16 : &value_bf16;
        now.sat = way & 8;
        now.rounding = roundings[way & 3][2];
        for (int i = 0; i < 4; i++) {
            if (operations[i].op == '*')
                continue;
            now.op = operations[i].op;
            snprintf(text, sizeof text, "%s%s%s.f32.%s %%r0, %%h1, %s;", operations[i].name,
                     roundings[way & 3], now.sat ? ".sat" : "", way & 4 ? "f16" : "bf16",
                     now.op == 'f' ? "%h2, %r3" : "%r3");
            value_check_rounds(text, now.op == 'f' ? mixed3 : mixed2, 15);
        }
    }
}

/* --- extremes, signs, properties --- */

static struct {
    bool max, nan, abs, xorsign, ftz;
} extreme;
/* Orders values as doubles; -0 is distinguished below. */
static bool before(const struct value_format *f, uint64_t a, uint64_t b)
{
    bool am = value_minus(f, a), bm = value_minus(f, b);
    uint64_t sign = (uint64_t)1 << (f->bits - 1);
    a &= sign - 1;
    b &= sign - 1;
    return am != bm ? am : am ? a > b : a < b;
}
static uint64_t of_two(const struct value_format *f, uint64_t a, uint64_t b)
{
    uint64_t sign = (uint64_t)1 << (f->bits - 1), mask = sign | (sign - 1);
    uint64_t product = (a ^ b) & sign, canonical = f == &value_f32 ? 0x7fffffff : 0x7fff, r;
    a &= mask;
    b &= mask;
    if (extreme.ftz) {
        a = value_subnormal(f, a) ? a & sign : a;
        b = value_subnormal(f, b) ? b & sign : b;
    }
    if (extreme.abs) {
        a &= sign - 1;
        b &= sign - 1;
    }
    bool an = value_nan(f, a), bn = value_nan(f, b);
    if (an && bn)
        return f == &value_f64 ? b | 1ull << 51 : canonical;
    if (an || bn) {
        if (extreme.nan)
            return canonical;
        r = an ? b : a;
    } else {
        r = before(f, a, b) != extreme.max ? a : b;
    }
    return extreme.xorsign ? r | product : r;
}
static const struct value_format *format;
static void extreme2(uint64_t *r, const uint64_t *x)
{
    r[0] = of_two(format, x[0], x[1]);
}
static void extreme3(uint64_t *r, const uint64_t *x)
{
    r[0] = of_two(format, of_two(format, x[0], x[1]), x[2]);
}
static void extreme_pairs(uint64_t *r, const uint64_t *x)
{
    r[0] = of_two(format, x[0], x[1]) | of_two(format, x[0] >> 16, x[1] >> 16) << 16;
}

static void extremes(void **state)
{
    (void)state;
    char text[96];
    for (int way = 0; way < 16; way++) {
        memset(&extreme, 0, sizeof extreme);
        extreme.max = way & 1;
        const char *name = extreme.max ? "max" : "min";
        format = &value_f64;
        snprintf(text, sizeof text, "%s.f64 %%d0, %%d1, %%d2;", name);
        value_check_rounds(text, extreme2, 20);
        extreme.ftz = way & 2;
        extreme.nan = way & 4;
        extreme.xorsign = extreme.abs = way & 8;
        const char *ftz = extreme.ftz ? ".ftz" : "", *nan = extreme.nan ? ".NaN" : "",
                   *sign = extreme.xorsign ? ".xorsign.abs" : "";
        format = &value_f32;
        snprintf(text, sizeof text, "%s%s%s%s.f32 %%r0, %%r1, %%r2;", name, ftz, nan, sign);
        value_check(text, extreme2);
        format = &value_f16;
        snprintf(text, sizeof text, "%s%s%s%s.f16 %%h0, %%h1, %%h2;", name, ftz, nan, sign);
        value_check(text, extreme2);
        snprintf(text, sizeof text, "%s%s%s%s.f16x2 %%r0, %%r1, %%r2;", name, ftz, nan, sign);
        value_check(text, extreme_pairs);
        extreme.xorsign = false;
        format = &value_f32;
        snprintf(text, sizeof text, "%s%s%s%s.f32 %%r0, %%r1, %%r2, %%r3;", name, ftz, nan,
                 extreme.abs ? ".abs" : "");
        value_check(text, extreme3);
        extreme.xorsign = extreme.abs;
        extreme.ftz = false;
        format = &value_bf16;
        snprintf(text, sizeof text, "%s%s%s.bf16 %%h0, %%h1, %%h2;", name, nan, sign);
        value_check(text, extreme2);
        snprintf(text, sizeof text, "%s%s%s.bf16x2 %%r0, %%r1, %%r2;", name, nan, sign);
        value_check(text, extreme_pairs);
    }
}

static float f32_of(uint64_t bits)
{
    return f32_from_bits((uint32_t)bits);
}
static double f64_of(uint64_t bits)
{
    return f64_from_bits(bits);
}
#define REF(name, value)                                                                           \
    static void name(uint64_t *r, const uint64_t *x)                                               \
    {                                                                                              \
        r[0] = (uint64_t)(value);                                                                  \
    }
/* Returns the canonical NaN for a NaN; for f64 it remains, made quiet. */
static uint64_t number_or_nan(const struct value_format *f, uint64_t a, uint64_t r)
{
    if (!value_nan(f, a))
        return r;
    return f == &value_f64 ? a | 1ull << 51 : f == &value_f32 ? 0x7fffffff : 0x7fff;
}
static uint64_t pair_or_nan(const struct value_format *f, uint64_t a, uint64_t r)
{
    return number_or_nan(f, a & 0xffff, r & 0xffff) |
           number_or_nan(f, a >> 16 & 0xffff, r >> 16 & 0xffff) << 16;
}
REF(abs_f32, number_or_nan(&value_f32, x[0] & UINT32_MAX, x[0] & 0x7fffffff))
REF(neg_f32, number_or_nan(&value_f32, x[0] & UINT32_MAX, x[0] ^ 0x80000000))
REF(abs_ftz,
    number_or_nan(&value_f32, x[0] & UINT32_MAX, x[0] & 0x7f800000 ? x[0] & 0x7fffffff : 0))
REF(neg_ftz, number_or_nan(&value_f32, x[0] & UINT32_MAX,
                           (x[0] & 0x7f800000 ? x[0] : x[0] & 0x80000000) ^ 0x80000000))
REF(abs_f64, number_or_nan(&value_f64, x[0], x[0] & INT64_MAX))
REF(neg_f64, number_or_nan(&value_f64, x[0], x[0] ^ 1ull << 63))
REF(neg_f16x2, pair_or_nan(&value_f16, x[0], x[0] ^ 0x80008000))
REF(neg_bf16x2, pair_or_nan(&value_bf16, x[0], x[0] ^ 0x80008000))
REF(abs_bf16x2, pair_or_nan(&value_bf16, x[0], x[0] & 0x7fff7fff))
REF(neg_f16_ftz,
    number_or_nan(&value_f16, x[0] & 0xffff, (x[0] & 0x7c00 ? x[0] : x[0] & 0x8000) ^ 0x8000))
REF(copysign_f32, (x[0] & 0x80000000) | (x[1] & 0x7fffffff))
REF(copysign_f64, (x[0] & 1ull << 63) | (x[1] & INT64_MAX))
REF(finite_f32, (bool)(f32_of(x[0]) - f32_of(x[0]) == 0))
REF(infinite_f32, (bool)(fpclassify(f32_of(x[0])) == FP_INFINITE))
REF(number_f32, (bool)(fpclassify(f32_of(x[0])) != FP_NAN))
REF(nan_f64, (bool)(fpclassify(f64_of(x[0])) == FP_NAN))
/* zeros too */
REF(normal_f32, (bool)(fpclassify(f32_of(x[0])) == FP_NORMAL || f32_of(x[0]) == 0))
REF(normal_f64, (bool)(fpclassify(f64_of(x[0])) == FP_NORMAL || f64_of(x[0]) == 0))
REF(subnormal_f32, (bool)(fpclassify(f32_of(x[0])) == FP_SUBNORMAL))
REF(subnormal_f64, (bool)(fpclassify(f64_of(x[0])) == FP_SUBNORMAL))

static void signs_and_properties(void **state)
{
    (void)state;
    value_check("abs.f32 %r0, %r1;", abs_f32);
    value_check("neg.f32 %r0, %r1;", neg_f32);
    value_check("abs.ftz.f32 %r0, %r1;", abs_ftz);
    value_check("neg.ftz.f32 %r0, %r1;", neg_ftz);
    value_check("abs.f64 %d0, %d1;", abs_f64);
    value_check("neg.f64 %d0, %d1;", neg_f64);
    value_check("neg.f16x2 %r0, %r1;", neg_f16x2);
    value_check("neg.bf16x2 %r0, %r1;", neg_bf16x2);
    value_check("abs.bf16x2 %r0, %r1;", abs_bf16x2);
    value_check("neg.ftz.f16 %h0, %h1;", neg_f16_ftz);
    value_check("copysign.f32 %r0, %r1, %r2;", copysign_f32);
    value_check("copysign.f64 %d0, %d1, %d2;", copysign_f64);
    value_check("testp.finite.f32 %p0, %r1;", finite_f32);
    value_check("testp.infinite.f32 %p0, %r1;", infinite_f32);
    value_check("testp.number.f32 %p0, %r1;", number_f32);
    value_check("testp.notanumber.f64 %p0, %d1;", nan_f64);
    value_check("testp.normal.f32 %p0, %r1;", normal_f32);
    value_check("testp.normal.f64 %p0, %d1;", normal_f64);
    value_check("testp.subnormal.f32 %p0, %r1;", subnormal_f32);
    value_check("testp.subnormal.f64 %p0, %d1;", subnormal_f64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_all_roundings),    cmocka_unit_test(f32_in_pairs),
        cmocka_unit_test(f64_all_roundings),    cmocka_unit_test(halves_rounded_once),
        cmocka_unit_test(ties_are_broken),      cmocka_unit_test(flushed_before_rounding),
        cmocka_unit_test(mixed_precision),      cmocka_unit_test(extremes),
        cmocka_unit_test(signs_and_properties),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
