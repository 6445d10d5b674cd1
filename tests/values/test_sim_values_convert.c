/* cvt of every pair of types, and approximations within their bounds. References:
 * value_reference.h, the host's libm. */
#include "value_decoder.h"
#include "value_reference.h"

#include <math.h>

struct type {
    const char *name;
    int bits;
    bool is_signed;
    const struct value_format *f; /* NULL: an integer */
};
static const struct type types[] = {
    {"u8", 8, false, NULL},          {"u16", 16, false, NULL},      {"u32", 32, false, NULL},
    {"u64", 64, false, NULL},        {"s8", 8, true, NULL},         {"s16", 16, true, NULL},
    {"s32", 32, true, NULL},         {"s64", 64, true, NULL},       {"f16", 16, true, &value_f16},
    {"bf16", 16, true, &value_bf16}, {"f32", 32, true, &value_f32}, {"f64", 64, true, &value_f64}};
enum { TYPES = sizeof types / sizeof *types, INTEGERS = 8 };

/* The conversion that the reference executes. */
static struct {
    const struct type *to, *from;
    char rounding; /* 0: exact */
    bool integral, ftz, sat, relu, satfinite;
} now;

static uint64_t ones(int bits)
{
    return bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}
/* Returns the value as a register of 64 bits holds it. */
static uint64_t extended(const struct type *t, uint64_t v)
{
    v &= ones(t->bits);
    bool minus = t->is_signed && !t->f && (v >> (t->bits - 1) & 1);
    return minus ? v | ~ones(t->bits) : v;
}

/* Gives the value of a finite operand. */
static void number_of(const struct type *t, uint64_t v, struct value_number *x)
{
    memset(x, 0, sizeof *x);
    if (t->f) {
        uint64_t digits;
        int exponent;
        value_split(t->f, v, &digits, &exponent);
        x->negative = value_minus(t->f, v);
        value_add(x, x->negative, digits, exponent);
        return;
    }
    v = extended(t, v);
    x->negative = t->is_signed && v >> 63;
    value_add(x, x->negative, x->negative ? 0 - v : v, 0);
}
static bool digit_at(const struct value_number *x, int exponent)
{
    int at = exponent - VALUE_LOWEST;
    return x->d[at / 32] >> at % 32 & 1;
}
/* Rounds to a multiple of 1. */
static void to_integral(struct value_number *x, char rounding)
{
    const int zero = -VALUE_LOWEST; /* the digit of 1; a multiple of 32 */
    bool half = digit_at(x, -1), below = false, odd = digit_at(x, 0);
    for (int i = 0; i < zero / 32; i++) {
        below = below || (i == zero / 32 - 1 ? x->d[i] & 0x7fffffff : x->d[i]);
        x->d[i] = 0;
    }
    if (rounding == 'n'   ? half && (below || odd)
        : rounding == 'm' ? x->negative && (half || below)
        : rounding == 'p' ? !x->negative && (half || below)
                          : false)
        value_add(x, x->negative, 1, 0);
}
static uint64_t to_integer(const struct value_number *x, bool saturates)
{
    const int zero = -VALUE_LOWEST;
    const struct type *t = now.to;
    uint64_t v = (uint64_t)x->d[zero / 32 + 1] << 32 | x->d[zero / 32];
    bool beyond = false;
    for (int i = zero / 32 + 2; i < VALUE_WORDS; i++)
        beyond = beyond || x->d[i];
    uint64_t limit = t->is_signed  ? ones(t->bits - 1) + x->negative
                     : x->negative ? 0
                                   : ones(t->bits);
    if (saturates && (beyond || v > limit))
        v = limit;
    return extended(t, x->negative ? 0 - v : v);
}

static uint64_t converted_nan(uint64_t v)
{
    const struct value_format *f = now.from->f, *t = now.to->f;
    if (!t) {
        bool wide = f == &value_f64 || now.to->bits == 64;
        return wide ? extended(now.to, 1ull << (now.to->bits - 1)) : 0;
    }
    if (now.sat)
        return 0;
    if (now.ftz && (f == &value_f32 || t == &value_f32) && f != &value_f64)
        v = ones(f->bits - 1);
    if (f == t && f->bits >= 32 && !now.integral && !now.ftz)
        return v;
    if (f == &value_bf16 && t == &value_f32 && !now.ftz)
        return v << 16;
    if (f != &value_f64 && t != &value_f64)
        return ones(t->bits - 1);
    uint64_t fraction = (v & ones(f->fraction)) << (63 - f->fraction) << 1;
    return value_infinity(t, value_minus(f, v)) | fraction >> (64 - t->fraction) |
           (uint64_t)1 << (t->fraction - 1);
}

/* Returns true if the number, rounded as if the exponent had no limit, is below the least normal
 * value of f32. */
static bool tiny_after(const struct value_number *x, char rounding)
{
    static const struct value_format endless = {23, -1500, 127, 64};
    uint64_t r = value_round(&endless, x, rounding) & INT64_MAX;
    return r < (uint64_t)(1500 - 126 + 1) << 23;
}

static uint64_t converted(uint64_t v)
{
    static struct value_number x;
    const struct value_format *f = now.from->f, *t = now.to->f;
    v &= ones(now.from->bits);
    if (now.ftz && f == &value_f32 && t != &value_f16 && value_subnormal(f, v))
        v &= 0x80000000;
    bool minus = f && value_minus(f, v);
    if (f && value_nan(f, v))
        return converted_nan(v);
    if (f && value_infinite(f, v)) {
        memset(&x, 0, sizeof x);
        value_add(&x, false, 1, 2000); /* beyond all */
        x.negative = minus;
        if (!t)
            return to_integer(&x, true);
        v = value_infinity(t, minus);
    } else {
        number_of(now.from, v, &x);
        char rounding = now.rounding ? now.rounding : 'n';
        if (now.integral)
            to_integral(&x, rounding);
        if (!t)
            return to_integer(&x, f || now.sat);
        v = value_zero(t, f ? minus : false);
        if (!value_is_zero(&x)) {
            v = value_round(t, &x, rounding);
            if (now.ftz && t == &value_f32 && tiny_after(&x, rounding))
                v &= 0x80000000;
        }
    }
    uint64_t unit = (uint64_t)(1 - t->least) << t->fraction;
    if (now.satfinite && value_infinite(t, v))
        v--;
    if (now.relu && value_minus(t, v))
        v = 0;
    if (now.sat)
        v = value_minus(t, v) ? 0 : v > unit ? unit : v;
    return v;
}
static void alone(uint64_t *r, const uint64_t *x)
{
    r[0] = converted(x[0]);
}
static void packed(uint64_t *r, const uint64_t *x)
{
    r[0] = converted(x[0]) << 16 | converted(x[1]);
}

static char letter(int bits)
{
    return bits <= 16 ? 'h' : bits == 32 ? 'r' : 'd';
}
/* Tries registers of the types' widths, and, if that is allowed, of 64 bits. */
static void check(const char *modifiers, bool wide)
{
    char text[96];
    snprintf(text, sizeof text, "cvt%s.%s.%s %%%c0, %%%c1;", modifiers, now.to->name,
             now.from->name, letter(now.to->bits), letter(now.from->bits));
    value_check_rounds(text, alone, 25);
    if (!wide)
        return;
    snprintf(text, sizeof text, "cvt%s.%s.%s %%d0, %%d1;", modifiers, now.to->name, now.from->name);
    value_check_rounds(text, alone, 4);
}

static void set_up(const struct type *to, const struct type *from, const char *modifiers)
{
    memset(&now, 0, sizeof now);
    now.to = to;
    now.from = from;
    now.integral = modifiers[0] && modifiers[3] == 'i';
    now.rounding =
        modifiers[0] == '.' && modifiers[1] == 'r' && modifiers[2] != 'e' ? modifiers[2] : 0;
    now.ftz = strstr(modifiers, ".ftz");
    now.sat = strstr(modifiers, ".sat") && !strstr(modifiers, ".satfinite");
    now.satfinite = strstr(modifiers, ".satfinite");
    now.relu = strstr(modifiers, ".relu");
}

static void integers_to_integers(void **state)
{
    (void)state;
    for (int i = 0; i < INTEGERS; i++)
        for (int k = 0; k < INTEGERS; k++) {
            set_up(&types[i], &types[k], "");
            check("", true);
            bool holds = types[i].is_signed == types[k].is_signed
                             ? types[i].bits >= types[k].bits
                             : types[i].is_signed && types[i].bits > types[k].bits;
            if (holds)
                continue;
            set_up(&types[i], &types[k], ".sat");
            check(".sat", true);
        }
}

static void integers_and_floats(void **state)
{
    (void)state;
    static const char *const to_integer_ways[] = {".rni", ".rzi", ".rmi", ".rpi"};
    static const char *const to_float_ways[] = {".rn", ".rz", ".rm", ".rp"};
    for (int i = 0; i < INTEGERS; i++)
        for (int k = INTEGERS; k < TYPES; k++)
            for (int way = 0; way < 16; way++) {
                char modifiers[32];
                bool ftz = way & 4, sat = way & 8, bf16 = types[k].f == &value_bf16;
                if ((ftz && types[k].f != &value_f32) || (sat && bf16))
                    continue;
                snprintf(modifiers, sizeof modifiers, "%s%s%s", to_integer_ways[way & 3],
                         ftz ? ".ftz" : "", sat ? ".sat" : "");
                set_up(&types[i], &types[k], modifiers);
                check(modifiers, true);
                snprintf(modifiers, sizeof modifiers, "%s%s%s", to_float_ways[way & 3],
                         ftz ? ".ftz" : "", sat ? ".sat" : "");
                set_up(&types[k], &types[i], modifiers);
                check(modifiers, true);
            }
}

static const struct type *type_of(const char *name)
{
    for (int i = 0; i < TYPES; i++)
        if (!strcmp(types[i].name, name))
            return &types[i];
    fail();
    return NULL;
}

static void floats_to_floats(void **state)
{
    (void)state;
    /* to, from, modifiers except the rounding; rounded: 'f' in one of four ways, 'i' to an
     * integral value or not at all */
    static const struct {
        const char *to, *from, *more;
        char rounded;
    } rows[] = {
        {"f16", "f32", "", 'f'},     {"f16", "f32", ".ftz", 'f'},     {"f16", "f32", ".sat", 'f'},
        {"f16", "f64", "", 'f'},     {"f16", "f64", ".sat", 'f'},     {"f32", "f64", "", 'f'},
        {"f32", "f64", ".ftz", 'f'}, {"f32", "f64", ".sat", 'f'},     {"bf16", "f16", "", 'f'},
        {"bf16", "f64", "", 'f'},    {"f16", "bf16", "", 'f'},        {"f32", "f16", "", 0},
        {"f32", "f16", ".ftz", 0},   {"f32", "f16", ".sat", 0},       {"f64", "f16", "", 0},
        {"f64", "f16", ".sat", 0},   {"f64", "f32", "", 0},           {"f64", "f32", ".ftz", 0},
        {"f64", "f32", ".sat", 0},   {"f32", "bf16", "", 0},          {"f32", "bf16", "", 'f'},
        {"f32", "bf16", ".ftz", 0},  {"f64", "bf16", "", 0},          {"f16", "f16", "", 'i'},
        {"f16", "f16", ".sat", 'i'}, {"f32", "f32", "", 'i'},         {"f32", "f32", ".ftz", 'i'},
        {"f32", "f32", ".sat", 'i'}, {"f32", "f32", ".ftz.sat", 'i'}, {"f64", "f64", "", 'i'},
        {"f64", "f64", ".sat", 'i'}, {"bf16", "bf16", "", 'i'}};
    static const char *const ways[] = {".rn", ".rz", ".rm", ".rp", ".rni", ".rzi", ".rmi", ".rpi"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int way = -1; way < 4; way++) {
            char modifiers[32];
            if (way >= 0 ? !rows[i].rounded : rows[i].rounded == 'f')
                continue;
            snprintf(modifiers, sizeof modifiers, "%s%s",
                     way < 0 ? "" : ways[rows[i].rounded == 'i' ? way + 4 : way], rows[i].more);
            set_up(type_of(rows[i].to), type_of(rows[i].from), modifiers);
            check(modifiers, false);
        }
}

static void to_halves(void **state)
{
    (void)state;
    for (int way = 0; way < 16; way++) {
        char modifiers[48], text[96];
        const char *type = way & 8 ? "bf16" : "f16";
        snprintf(modifiers, sizeof modifiers, "%s%s%s", way & 1 ? ".rz" : ".rn",
                 way & 2 ? ".relu" : "", way & 4 ? ".satfinite" : "");
        set_up(type_of(type), type_of("f32"), modifiers);
        check(modifiers, false);
        snprintf(text, sizeof text, "cvt%s.%sx2.f32 %%r0, %%r1, %%r2;", modifiers, type);
        value_check(text, packed);
    }
}

/* --- formats of matrix units --- */

static float f32_of(uint64_t bits)
{
    return f32_from_bits((uint32_t)bits);
}
static void tf32_away(uint64_t *r, const uint64_t *x)
{
    uint64_t rest = (x[0] & 0x7fffffff) + 0x1000;
    r[0] = (x[0] & 0x80000000) | (rest > 0x7fffe000 ? 0x7fffe000 : rest & 0x7fffe000);
}
/* tf32 has f32's exponents and ten bits of fraction. */
static const struct value_format tf32 = {10, -126, 127, 19};
static bool tf32_relu;
static char tf32_rounding;
static void tf32_rounded(uint64_t *r, const uint64_t *x)
{
    static struct value_number v;
    uint64_t a = x[0] & UINT32_MAX, result = a >> 13;
    if (value_nan(&value_f32, a)) {
        r[0] = 0x7fffe000;
        return;
    }
    if (!value_infinite(&value_f32, a)) {
        number_of(type_of("f32"), a, &v);
        result = value_is_zero(&v) ? a >> 31 << 18 : value_round(&tf32, &v, tf32_rounding);
    }
    r[0] = tf32_relu && a >> 31 ? 0 : result << 13;
}

/* Finds the small float nearest to v, ties to even, by trying all; too large or infinite: the
 * largest. */
static bool small_relu;
static uint64_t smallest_distance(double v, int count, double (*value)(int))
{
    int best = 0;
    double magnitude = fabs(v);
    if (magnitude >= value(count - 1))
        return (uint64_t)(count - 1);
    for (int i = 1; i < count; i++) {
        double d = fabs(value(i) - magnitude), e = fabs(value(best) - magnitude);
        if (d < e || (d == e && i % 2 == 0))
            best = i;
    }
    return (uint64_t)best;
}
static double e4m3_value(int i)
{
    return (double)e4m3_to_f32((uint8_t)i);
}
static double e5m2_value(int i)
{
    return (double)e5m2_to_f32((uint8_t)i);
}
static double e2m1_value(int i)
{
    static const double v[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    return v[i];
}
static double e2m3_value(int i)
{
    return i < 8 ? i / 8.0 : ldexp(1 + i % 8 / 8.0, i / 8 - 1);
}
static double e3m2_value(int i)
{
    return i < 4 ? i / 16.0 : ldexp(1 + i % 4 / 4.0, i / 4 - 3);
}
static struct {
    int count, bits, sign;
    double (*value)(int);
    uint64_t nan;
} narrow;
static uint64_t narrowed(double v)
{
    if (isnan(v))
        return narrow.nan;
    if (small_relu && signbit(v))
        return 0;
    uint64_t r = smallest_distance(v, narrow.count, narrow.value);
    return r | (signbit(v) ? 1ull << narrow.sign : 0);
}
static void narrow_pair(uint64_t *r, const uint64_t *x)
{
    r[0] = narrowed((double)f32_of(x[0])) << narrow.bits | narrowed((double)f32_of(x[1]));
}
static void narrow_halves(uint64_t *r, const uint64_t *x)
{
    r[0] = narrowed((double)f16_to_f32((uint16_t)(x[0] >> 16))) << narrow.bits |
           narrowed((double)f16_to_f32((uint16_t)x[0]));
}
static uint64_t widened(uint64_t v)
{
    uint64_t field = v & ((1ull << narrow.bits) - 1), rest = field & ((1ull << narrow.sign) - 1);
    bool minus = field >> narrow.sign & 1;
    double value = narrow.value((int)rest);
    if (isnan(value))
        return 0x7fff;
    if (small_relu && minus)
        return 0;
    return f64_to_f16(value) | (minus ? 0x8000u : 0u);
}
static void widen_pair(uint64_t *r, const uint64_t *x)
{
    r[0] = widened(x[0] >> narrow.bits) << 16 | widened(x[0]);
}

static void small_formats(void **state)
{
    (void)state;
    value_check("cvt.rna.tf32.f32 %r0, %r1;", tf32_away);
    for (int way = 0; way < 4; way++) {
        char text[96];
        tf32_rounding = way & 1 ? 'z' : 'n';
        tf32_relu = way & 2;
        snprintf(text, sizeof text, "cvt.%s%s.tf32.f32 %%r0, %%r1;", way & 1 ? "rz" : "rn",
                 tf32_relu ? ".relu" : "");
        value_check(text, tf32_rounded);
    }
    static const struct {
        const char *name;
        int count, bits, sign;
        double (*value)(int);
        uint64_t nan;
        bool of_halves;
    } formats[] = {{"e4m3x2", 127, 8, 7, e4m3_value, 0x7f, true},
                   {"e5m2x2", 124, 8, 7, e5m2_value, 0x7f, true},
                   {"e2m1x2", 8, 4, 3, e2m1_value, 7, false},
                   {"e2m3x2", 32, 8, 5, e2m3_value, 31, false},
                   {"e3m2x2", 32, 8, 5, e3m2_value, 31, false}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        for (int relu = 0; relu < 2; relu++) {
            char text[96];
            const char *name = formats[i].name;
            narrow.count = formats[i].count;
            narrow.bits = formats[i].bits;
            narrow.sign = formats[i].sign;
            narrow.value = formats[i].value;
            narrow.nan = formats[i].nan;
            small_relu = relu;
            const char *more = relu ? ".relu" : "";
            snprintf(text, sizeof text, "cvt.rn.satfinite%s.%s.f32 %%h0, %%r1, %%r2;", more, name);
            value_check(text, narrow_pair);
            if (formats[i].of_halves) {
                snprintf(text, sizeof text, "cvt.rn.satfinite%s.%s.f16x2 %%h0, %%r1;", more, name);
                value_check(text, narrow_halves);
                snprintf(text, sizeof text, "cvt.rn%s.f16x2.%s %%r0, %%h1;", more, name);
                value_check(text, widen_pair);
            }
        }
}

/* --- cvt.pack --- */

static struct {
    int bits;
    bool is_signed;
} element;
static void pack(uint64_t *r, const uint64_t *x)
{
    int64_t most = (int64_t)ones(element.bits - element.is_signed);
    int64_t least = element.is_signed ? -most - 1 : 0;
    r[0] = 0;
    for (int i = 0; i < 2; i++) {
        int64_t v = (int32_t)x[i];
        v = v < least ? least : v > most ? most : v;
        r[0] = r[0] << element.bits | ((uint64_t)v & ones(element.bits));
    }
    if (element.bits < 16)
        r[0] |= x[2] << 2 * element.bits;
}
static void packing(void **state)
{
    (void)state;
    static const int bits[] = {2, 4, 8, 16};
    for (int i = 0; i < 8; i++) {
        char text[96];
        element.bits = bits[i / 2];
        element.is_signed = i & 1;
        snprintf(text, sizeof text, "cvt.pack.sat.%c%d.s32%s %%r0, %%r1, %%r2%s;",
                 element.is_signed ? 's' : 'u', element.bits, element.bits < 16 ? ".b32" : "",
                 element.bits < 16 ? ", %r3" : "");
        value_check(text, pack);
    }
}

/* --- approximations --- */

/* Runs a unary instruction on one value. */
static uint64_t run_on(const char *text, uint64_t a, uint64_t b, int variant)
{
    struct value_program p;
    struct sim_op op;
    value_open(&p, text);
    assert_true(value_choose(&p.d, p.ins, variant, &op));
    for (int i = 1; i < p.ins->operand_count; i++) {
        uint32_t source = p.ins->operands[i].reg;
        value_fill_with(p.before, source * VALUE_SLOT_BYTES, p.d.width[source], i == 1 ? a : b);
    }
    struct sim_warp w = {.file = p.before};
    assert_true(op.run(&w, &op, SIM_ALL));
    uint32_t reg = p.ins->operands[0].reg;
    uint64_t r = value_get(p.before, reg * VALUE_SLOT_BYTES, p.d.width[reg], 5);
    value_close(&p);
    return r;
}
static double rcp(double v)
{
    return 1 / v;
}
static double rsqrt(double v)
{
    return 1 / sqrt(v);
}
static void approximations(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double (*f)(double);
        double low, high;
    } rows[] = {{"rcp.approx.f32 %r0, %r1;", rcp, 1e-30, 1e30},
                {"rcp.approx.ftz.f32 %r0, %r1;", rcp, -1e30, -1e-30},
                {"sqrt.approx.f32 %r0, %r1;", sqrt, 1e-30, 1e30},
                {"rsqrt.approx.f32 %r0, %r1;", rsqrt, 1e-30, 1e30},
                {"sin.approx.f32 %r0, %r1;", sin, 0.1, 3},
                {"cos.approx.f32 %r0, %r1;", cos, -1.5, 1.5},
                {"lg2.approx.f32 %r0, %r1;", log2, 2.1, 1e30},
                {"ex2.approx.f32 %r0, %r1;", exp2, -100, 100},
                {"tanh.approx.f32 %r0, %r1;", tanh, -5, 5}};
    const double bound = 0x1.01p-24; /* the error of an f32: less than PTX's bound */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int k = 0; k < 50; k++) {
            double t = (double)(value_random() >> 11) * 0x1p-53;
            float x = (float)(rows[i].low + (rows[i].high - rows[i].low) * t);
            double want = rows[i].f((double)x);
            double got = (double)f32_of(run_on(rows[i].text, f32_bits(x), 0, k % value_variants()));
            if (fabs(got - want) > bound * fabs(want))
                fail_msg("%s of %g: %g, should be %g", rows[i].text, (double)x, got, want);
        }
}

static void special_approximations(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t a, b, want;
    } rows[] = {
        {"rcp.approx.f32 %r0, %r1;", 0x80000000, 0, 0xff800000},
        {"rsqrt.approx.f32 %r0, %r1;", 0x80000000, 0, 0xff800000},
        {"sqrt.approx.f32 %r0, %r1;", 0xbf800000, 0, 0x7fffffff},
        {"lg2.approx.f32 %r0, %r1;", 0, 0, 0xff800000},
        {"lg2.approx.ftz.f32 %r0, %r1;", 5, 0, 0xff800000},
        {"ex2.approx.ftz.f32 %r0, %r1;", 0xc3000000, 0, 0},
        {"sin.approx.f32 %r0, %r1;", 0x7f800000, 0, 0x7fffffff},
        {"div.approx.f32 %r0, %r1, %r2;", 0x40c00000, 0x40000000, 0x40400000},
        {"div.approx.f32 %r0, %r1, %r2;", 0x7f000000, 0x7f000000, 0},
        {"div.approx.f32 %r0, %r1, %r2;", 0x7f800000, 0x7f000000, 0x7fffffff},
        {"div.full.f32 %r0, %r1, %r2;", 0x7f000000, 0x7f000000, 0x3f800000},
        {"ex2.approx.f16 %h0, %h1;", 0x4000, 0, 0x4400},
        {"ex2.approx.f16x2 %r0, %r1;", 0x40003c00, 0, 0x44004000},
        {"ex2.approx.ftz.bf16x2 %r0, %r1;", 0x3f80bf80, 0, 0x40003f00},
        {"tanh.approx.bf16 %h0, %h1;", 0x7f80, 0, 0x3f80},
        {"rcp.approx.ftz.f64 %d0, %d1;", 0x4000000012345678, 0, 0x3fe0000000000000},
        {"rsqrt.approx.ftz.f64 %d0, %d1;", 0x7ff8000000000000, 0, 0x7fffffff00000000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(run_on(rows[i].text, rows[i].a, rows[i].b, 0), rows[i].want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_to_integers), cmocka_unit_test(integers_and_floats),
        cmocka_unit_test(floats_to_floats),     cmocka_unit_test(to_halves),
        cmocka_unit_test(small_formats),        cmocka_unit_test(packing),
        cmocka_unit_test(approximations),       cmocka_unit_test(special_approximations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
