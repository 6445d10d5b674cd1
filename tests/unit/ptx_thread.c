#include "ptx_thread.h"

#include "base/arithmetic.h"
#include "base/dtype.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

void ptx_thread_init(struct ptx_thread *t, struct arena *a, const struct ptx_function *f)
{
    *t = (struct ptx_thread){.function = f};
    t->registers = arena_array(a, uint64_t, f->registers.count + 1);
    t->shared = arena_array(a, uint8_t, PTX_THREAD_SHARED);
}

/* --- bits --- */

static float f32_of(uint64_t bits)
{
    uint32_t word = (uint32_t)bits;
    float v;
    memcpy(&v, &word, sizeof v);
    return v;
}

static uint64_t of_f32(float v)
{
    uint32_t word;
    memcpy(&word, &v, sizeof word);
    return word;
}

static double f64_of(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static uint64_t of_f64(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static uint64_t cut(uint64_t x, int bits)
{
    return bits >= 64 ? x : x & (((uint64_t)1 << bits) - 1);
}

static int64_t extended(uint64_t x, int bits)
{
    return bits >= 64 ? (int64_t)x : (int64_t)(x << (64 - bits)) >> (64 - bits);
}

static bool is_float(enum ptx_mod t)
{
    return t == MOD_F16 || t == MOD_BF16 || t == MOD_F32 || t == MOD_F64;
}

static bool is_signed(enum ptx_mod t)
{
    return ptx_mods[t].class == PTX_CLASS_SIGNED;
}

/* Reads a float of any format as a double; of_real rounds one back as the mode says. */
static double real_of(enum ptx_mod t, uint64_t x)
{
    switch ((int)t) {
    case MOD_F16: return (double)f16_to_f32((uint16_t)x);
    case MOD_BF16: return (double)bf16_to_f32((uint16_t)x);
    case MOD_F32: return (double)f32_of(x);
    default: return f64_of(x);
    }
}

static uint64_t of_real(enum ptx_mod t, double v)
{
    volatile double wide = v;
    switch ((int)t) {
    case MOD_F16: return f64_to_f16(v);
    case MOD_BF16: return f64_to_bf16(v);
    case MOD_F32: {
        volatile float narrow = (float)wide;
        return of_f32(narrow);
    }
    default: return of_f64(v);
    }
}

/* --- operands --- */

static uint64_t value_of(const struct ptx_thread *t, const struct ptx_operand *o)
{
    switch (o->kind) {
    case PTX_REGISTER: return t->registers[o->reg] ^ (o->negated ? 1 : 0);
    case PTX_SPECIAL: return o->special == PTX_SREG_TID_X ? t->index : 0;
    case PTX_SYMBOL: /* read through read_constant; shared memory begins at 0 */
        return o->variable->space == MOD_SHARED ? 0 : (uint64_t)(uintptr_t)o->variable;
    default: return o->bits;
    }
}

static void write(struct ptx_thread *t, const struct ptx_operand *o, uint64_t x)
{
    int bits = ptx_mods[ptx_register_type(t->function, o->reg)].bits;
    t->registers[o->reg] = cut(x, bits);
}

static uint64_t argument(const struct ptx_thread *t, const struct ptx_variable *v)
{
    size_t i = 0;
    while (t->function->signature.parameters.data[i] != v)
        i++;
    return t->arguments[i];
}

/* Returns whether a word at this address, the variable's own plus an offset, is in its table. */
static bool has_word(const struct ptx_variable *v, uint64_t address, size_t bytes)
{
    const uint64_t at = address - (uint64_t)(uintptr_t)v;
    return v->initial && at < v->initial->list.count && at + bytes <= v->initial->list.count;
}

/* Reads a word of a table of the module. */
static uint64_t read_constant(const struct ptx_thread *t, uint64_t address, size_t bytes)
{
    const struct ptx_variable *v = NULL;
    const struct ptx_function *f = t->function;
    for (size_t i = 0; i < f->body.count && !v; i++) {
        const struct ptx_instruction *ins = f->body.data[i].instruction;
        if (f->body.data[i].kind == PTX_AT_INSTRUCTION && ins->op == PTX_MOV &&
            ins->operands[1].kind == PTX_SYMBOL &&
            has_word(ins->operands[1].variable, address, bytes))
            v = ins->operands[1].variable;
    }
    uint64_t x = 0;
    for (size_t i = 0; v && i < bytes; i++)
        x |= v->initial->list.data[address - (uint64_t)(uintptr_t)v + i].bits << 8 * i;
    return x;
}

/* --- integers --- */

static uint64_t multiply_high(uint64_t a, uint64_t b)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t mid = a1 * b0 + (a0 * b0 >> 32), low = a0 * b1 + (uint32_t)mid;
    return a1 * b1 + (mid >> 32) + (low >> 32);
}

static uint64_t product(const struct ptx_instruction *ins, enum ptx_mod type, uint64_t a,
                        uint64_t b)
{
    int bits = ptx_mods[type].bits;
    if (!ptx_has(ins, MOD_HI))
        return a * b;
    if (bits == 64)
        return multiply_high(a, b);
    return is_signed(type) ? (uint64_t)(extended(a, bits) * extended(b, bits)) >> bits
                           : cut(a, bits) * cut(b, bits) >> bits;
}

static uint64_t shift(const struct ptx_instruction *ins, enum ptx_mod type, uint64_t a, uint64_t n)
{
    int bits = ptx_mods[type].bits;
    n = cut(n, 32);
    if (ins->op == PTX_SHL)
        return n >= (uint64_t)bits ? 0 : a << n;
    if (is_signed(type))
        return (uint64_t)(extended(a, bits) >> (n >= (uint64_t)bits ? bits - 1 : (int)n));
    return n >= (uint64_t)bits ? 0 : cut(a, bits) >> n;
}

static uint64_t highest_bit(uint64_t x)
{
    uint64_t n = UINT32_MAX;
    for (; x; x >>= 1)
        n = cut(n + 1, 32);
    return n;
}

static uint64_t field(enum ptx_mod type, uint64_t a, uint64_t from, uint64_t count)
{
    uint64_t x = cut(cut(a, ptx_mods[type].bits) >> from, (int)count);
    return is_signed(type) ? (uint64_t)extended(x, (int)count) : x;
}

static uint64_t pick_bytes(uint64_t a, uint64_t b, uint64_t which)
{
    uint64_t both = cut(a, 32) | b << 32, x = 0;
    for (int i = 0; i < 4; i++)
        x |= (both >> 8 * (which >> 4 * i & 7) & 0xff) << 8 * i;
    return x;
}

static int64_t divided(enum ptx_mod type, uint64_t a, uint64_t b, bool rest)
{
    int bits = ptx_mods[type].bits;
    if (is_signed(type)) {
        int64_t x = extended(a, bits), y = extended(b, bits);
        if (y == 0 || y == -1)
            return rest || y == 0 ? 0 : (int64_t)(0 - (uint64_t)x);
        return rest ? x % y : x / y;
    }
    uint64_t x = cut(a, bits), y = cut(b, bits);
    return y == 0 ? 0 : (int64_t)(rest ? x % y : x / y);
}

static bool less(enum ptx_mod type, uint64_t a, uint64_t b)
{
    int bits = ptx_mods[type].bits;
    return is_signed(type) ? extended(a, bits) < extended(b, bits) : cut(a, bits) < cut(b, bits);
}

static bool integer_op(struct ptx_thread *t, const struct ptx_instruction *ins, enum ptx_mod type,
                       const uint64_t *x, uint64_t *r)
{
    int bits = ptx_mods[type].bits;
    switch (ins->op) {
    case PTX_ADD: *r = x[0] + x[1]; break;
    case PTX_SUB: *r = x[0] - x[1]; break;
    case PTX_MUL:
        *r = ptx_has(ins, MOD_WIDE) ? cut(x[0], bits) * cut(x[1], bits)
                                    : product(ins, type, x[0], x[1]);
        break;
    case PTX_MAD:
        *r = ptx_has(ins, MOD_WIDE) ? cut(x[0], bits) * cut(x[1], bits) + x[2]
                                    : product(ins, type, x[0], x[1]) + x[2];
        if (ptx_has(ins, MOD_CC))
            t->carry = *r < x[2];
        break;
    case PTX_MADC: *r = product(ins, type, x[0], x[1]) + x[2] + t->carry; break;
    case PTX_DIV: *r = (uint64_t)divided(type, x[0], x[1], false); break;
    case PTX_REM: *r = (uint64_t)divided(type, x[0], x[1], true); break;
    case PTX_NEG: *r = 0 - x[0]; break;
    case PTX_ABS: *r = extended(x[0], bits) < 0 ? 0 - x[0] : x[0]; break;
    case PTX_MIN: *r = less(type, x[1], x[0]) ? x[1] : x[0]; break;
    case PTX_MAX: *r = less(type, x[0], x[1]) ? x[1] : x[0]; break;
    case PTX_AND: *r = x[0] & x[1]; break;
    case PTX_OR: *r = x[0] | x[1]; break;
    case PTX_XOR: *r = x[0] ^ x[1]; break;
    case PTX_NOT: *r = ~x[0]; break;
    case PTX_SHL:
    case PTX_SHR: *r = shift(ins, type, x[0], x[1]); break;
    case PTX_BFE: *r = field(type, x[0], x[1], x[2]); break;
    case PTX_BFIND: *r = highest_bit(cut(x[0], bits)); break;
    case PTX_CLZ: *r = (uint64_t)bits - 1 - (uint32_t)highest_bit(cut(x[0], bits)); break;
    case PTX_PRMT: *r = pick_bytes(x[0], x[1], x[2]); break;
    default: return false;
    }
    if (ins->op == PTX_CLZ)
        *r = cut(*r, 32);
    return true;
}

/* --- floats --- */

static uint64_t moved(enum ptx_mod type, uint64_t x, int slip)
{
    uint64_t most = type == MOD_F32 ? 0x7f7fffff : 0x7fefffffffffffff;
    uint64_t sign = x & (type == MOD_F32 ? 0x80000000 : (uint64_t)1 << 63), rest = x ^ sign;
    int64_t by =
        slip ? (int64_t)((x * 0x9e3779b97f4a7c15u >> 33) % (uint64_t)(2 * slip + 1)) - slip : 0;
    if (rest == 0 || rest > most || (int64_t)rest + by <= 0 || rest + (uint64_t)by > most)
        return x;
    return sign | (rest + (uint64_t)by);
}

/* Returns the lesser or greater number: -0 is below +0, and a number wins over NaN. */
static double extreme(double a, double b, bool least)
{
    if (isnan(a) || isnan(b))
        return isnan(a) ? b : a;
    if (a == b)
        return (signbit(a) != 0) == least ? a : b;
    return (a < b) == least ? a : b;
}

static double flushed(const struct ptx_instruction *ins, double x)
{
    return ptx_has(ins, MOD_FTZ) && fabs(x) < 0x1p-126 ? copysign(0, x) : x;
}

static uint64_t special_unit(const struct ptx_thread *t, const struct ptx_instruction *ins,
                             enum ptx_mod type, double x)
{
    double y;
    x = type == MOD_F32 ? flushed(ins, x) : x;
    switch (ins->op) {
    case PTX_EX2: y = exp2(x); break;
    case PTX_RCP: y = 1 / x; break;
    case PTX_RSQRT: y = (double)(1 / sqrtl((long double)x)); break;
    default: y = log2(x); break;
    }
    if (type == MOD_F64 && ins->op == PTX_RCP) /* the upper word alone counts */
        return of_f64(y) & 0xffffffff00000000;
    uint64_t r = moved(type, of_real(type, y), t->slip);
    return type == MOD_F32 ? of_f32((float)flushed(ins, (double)f32_of(r))) : r;
}

/* Returns a * b + c rounded once: products of two f32 (or less) are exact in double, and sums
 * are rounded to odd. */
static uint64_t sum_of(const struct ptx_instruction *ins, enum ptx_mod type, double a, double b,
                       double c)
{
    int mode = ptx_has(ins, MOD_RM)   ? FE_DOWNWARD
               : ptx_has(ins, MOD_RZ) ? FE_TOWARDZERO
                                      : FE_TONEAREST;
    if (type == MOD_F64)
        return of_f64(fma(a, b, c));
    volatile double exact = add_to_odd(a * b, c); /* computed before the mode changes */
    fesetround(mode);
    uint64_t r = of_real(type, exact);
    fesetround(FE_TONEAREST);
    double v = real_of(type, r);
    if (ptx_has(ins, MOD_SAT))
        r = of_real(type, isnan(v) || v < 0 ? 0 : v > 1 ? 1 : v);
    return r;
}

static bool float_op(struct ptx_thread *t, const struct ptx_instruction *ins, enum ptx_mod type,
                     const uint64_t *x, uint64_t *r)
{
    double a = real_of(type, x[0]), b = ins->operand_count > 2 ? real_of(type, x[1]) : 0;
    uint64_t sign = (uint64_t)1 << (ptx_mods[type].bits - 1);
    switch (ins->op) {
    case PTX_ADD: *r = sum_of(ins, type, a, 1, b); break;
    case PTX_SUB: *r = sum_of(ins, type, a, 1, -b); break;
    case PTX_MUL: *r = of_real(type, a * b); break;
    case PTX_FMA: *r = sum_of(ins, type, a, b, real_of(type, x[2])); break;
    case PTX_DIV: *r = type == MOD_F32 ? of_f32(f32_of(x[0]) / f32_of(x[1])) : of_f64(a / b); break;
    case PTX_SQRT: *r = type == MOD_F32 ? of_f32(sqrtf(f32_of(x[0]))) : of_f64(sqrt(a)); break;
    case PTX_NEG: *r = x[0] ^ sign; break;
    case PTX_ABS: *r = x[0] & ~sign; break;
    case PTX_MIN: *r = of_real(type, extreme(a, b, true)); break;
    case PTX_MAX: *r = of_real(type, extreme(a, b, false)); break;
    case PTX_COPYSIGN: *r = (x[1] & ~sign) | (x[0] & sign); break;
    case PTX_EX2:
    case PTX_RCP:
    case PTX_RSQRT:
    case PTX_LG2: *r = special_unit(t, ins, type, a); break;
    default: return false;
    }
    return true;
}

/* --- comparison, conversion --- */

static bool compared(const struct ptx_instruction *ins, enum ptx_mod type, const uint64_t *x)
{
    if (is_float(type)) {
        double a = real_of(type, x[0]), b = real_of(type, x[1]);
        if (ptx_has(ins, MOD_IS_NAN))
            return isnan(a) || isnan(b);
        if (ptx_has(ins, MOD_NUM))
            return !isnan(a) && !isnan(b);
        if (ptx_has(ins, MOD_NEU))
            return !(a == b);
        return ptx_has(ins, MOD_NE)   ? a < b || a > b
               : ptx_has(ins, MOD_LT) ? a < b
               : ptx_has(ins, MOD_LE) ? a <= b
               : ptx_has(ins, MOD_GT) ? a > b
               : ptx_has(ins, MOD_GE) ? a >= b
                                      : a == b;
    }
    int bits = ptx_mods[type].bits;
    bool equal = cut(x[0], bits) == cut(x[1], bits), below = less(type, x[0], x[1]);
    return ptx_has(ins, MOD_EQ)   ? equal
           : ptx_has(ins, MOD_NE) ? !equal
           : ptx_has(ins, MOD_LT) ? below
           : ptx_has(ins, MOD_LE) ? below || equal
           : ptx_has(ins, MOD_GT) ? !below && !equal
                                  : !below;
}

static double integral(const struct ptx_instruction *ins, double v)
{
    return ptx_has(ins, MOD_RZI)   ? trunc(v)
           : ptx_has(ins, MOD_RMI) ? floor(v)
           : ptx_has(ins, MOD_RPI) ? ceil(v)
           : ptx_has(ins, MOD_RNI) ? rint(v)
                                   : v;
}

static uint64_t to_integer(enum ptx_mod to, enum ptx_mod from, double v)
{
    int bits = ptx_mods[to].bits;
    double high = ldexp(1, is_signed(to) ? bits - 1 : bits), low = is_signed(to) ? -high : 0;
    uint64_t least = is_signed(to) ? (uint64_t)1 << (bits - 1) : 0;
    if (isnan(v))
        return bits == 64 || from == MOD_F64 ? (uint64_t)1 << (bits - 1) : 0;
    if (v >= high)
        return cut(least - 1, bits);
    if (v <= low)
        return least;
    return v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v;
}

/* Converts an integer to a double that later rounds as the integer itself does: cut values are
 * made odd. */
static uint64_t from_integer(const struct ptx_instruction *ins, enum ptx_mod to, enum ptx_mod from,
                             uint64_t x)
{
    int bits = ptx_mods[from].bits;
    bool negative = is_signed(from) && extended(x, bits) < 0;
    uint64_t magnitude = negative ? 0 - (uint64_t)extended(x, bits) : cut(x, bits);
    if (to == MOD_F64)
        return of_f64(negative ? -(double)magnitude : (double)magnitude);
    if (magnitude >> 53)
        magnitude = (magnitude & ~(uint64_t)0xfff) | (magnitude & 0xfff ? 0x1000 : 0);
    double v = negative ? -(double)magnitude : (double)magnitude;
    fesetround(ptx_has(ins, MOD_RZ) ? FE_TOWARDZERO : FE_TONEAREST);
    uint64_t r = of_real(to, v);
    fesetround(FE_TONEAREST);
    return r;
}

static uint64_t converted(const struct ptx_instruction *ins, uint64_t x)
{
    enum ptx_mod to = ptx_type(ins, 0), from = ptx_type(ins, 1);
    int bits = ptx_mods[from].bits;
    if (!is_float(from) && !is_float(to)) {
        uint64_t v = is_signed(from) ? (uint64_t)extended(x, bits) : cut(x, bits);
        int room = ptx_mods[to].bits;
        return is_signed(to) ? (uint64_t)extended(v, room) : cut(v, room);
    }
    if (!is_float(from))
        return from_integer(ins, to, from, x);
    double v = integral(ins, real_of(from, x));
    if (!is_float(to)) {
        uint64_t r = to_integer(to, from, v);
        return is_signed(to) ? (uint64_t)extended(r, ptx_mods[to].bits) : r;
    }
    fesetround(ptx_has(ins, MOD_RZ) ? FE_TOWARDZERO : FE_TONEAREST);
    uint64_t r = of_real(to, v);
    fesetround(FE_TONEAREST);
    return r;
}

/* --- one instruction --- */

static bool load_or_store(struct ptx_thread *t, const struct ptx_instruction *ins)
{
    const bool stores = ins->op == PTX_ST;
    const struct ptx_operand *at = &ins->operands[stores ? 0 : 1], *o = &ins->operands[stores];
    const enum ptx_mod type = ptx_type(ins, 0);
    const size_t bytes = ptx_mods[type].bits / 8, count = o->kind == PTX_VECTOR ? o->count : 1;
    for (size_t i = 0; i < count; i++) {
        const struct ptx_operand *each = o->kind == PTX_VECTOR ? &o->elements[i] : o;
        uint64_t address = t->registers[at->reg] + (uint64_t)ptx_offset(at) + i * bytes;
        if (ptx_has(ins, MOD_SHARED)) {
            address = cut(address, 32);
            if (address % (bytes * count) != i * bytes % (bytes * count) ||
                address + bytes > PTX_THREAD_SHARED)
                return false;
            address += (uint64_t)(uintptr_t)t->shared;
        }
        uint64_t x = stores ? value_of(t, each) : 0;
        if (stores)
            memcpy((void *)(uintptr_t)address, &x, bytes);
        else if (ptx_has(ins, MOD_PARAM))
            x = cut(argument(t, at->variable), ptx_mods[type].bits);
        else if (ptx_has(ins, MOD_CONST))
            x = read_constant(t, address, bytes);
        else
            memcpy(&x, (void *)(uintptr_t)address, bytes);
        if (!stores)
            write(t, each, is_signed(type) ? (uint64_t)extended(x, ptx_mods[type].bits) : x);
    }
    return true;
}

/* Gives the old value to the first operand of atom, and sets memory to old op value. */
static bool atomic(struct ptx_thread *t, const struct ptx_instruction *ins)
{
    int first = ins->op == PTX_ATOM;
    enum ptx_mod type = ptx_type(ins, 0);
    size_t bytes = ptx_mods[type].bits / 8;
    const struct ptx_operand *at = &ins->operands[first];
    void *memory = (void *)(uintptr_t)(t->registers[at->reg] + (uint64_t)ptx_offset(at));
    uint64_t x[2] = {0, value_of(t, &ins->operands[first + 1])}, r = x[1];
    struct ptx_instruction plain = {.mods = {(uint16_t)type}, .mod_count = 1, .operand_count = 3};
    memcpy(&x[0], memory, bytes);
    plain.op = ptx_has(ins, MOD_ADD)   ? PTX_ADD
               : ptx_has(ins, MOD_MIN) ? PTX_MIN
               : ptx_has(ins, MOD_MAX) ? PTX_MAX
               : ptx_has(ins, MOD_AND) ? PTX_AND
               : ptx_has(ins, MOD_OR)  ? PTX_OR
                                       : PTX_XOR;
    if (ptx_has(ins, MOD_CAS))
        r = x[0] == cut(x[1], ptx_mods[type].bits) ? value_of(t, &ins->operands[3]) : x[0];
    else if (!ptx_has(ins, MOD_EXCH) && !(is_float(type) ? float_op(t, &plain, type, x, &r)
                                                         : integer_op(t, &plain, type, x, &r)))
        return false;
    memcpy(memory, &r, bytes);
    if (first && ins->operands[0].kind == PTX_REGISTER)
        write(t, &ins->operands[0], x[0]);
    return true;
}

static bool move(struct ptx_thread *t, const struct ptx_instruction *ins)
{
    const struct ptx_operand *to = &ins->operands[0], *from = &ins->operands[1];
    int bits = ptx_mods[ptx_type(ins, 0)].bits;
    if (to->kind == PTX_VECTOR) {
        uint64_t x = value_of(t, from);
        for (uint32_t i = 0; i < to->count; i++)
            write(t, &to->elements[i], x >> (bits / (int)to->count * (int)i));
    } else if (from->kind == PTX_VECTOR) {
        int part = bits / (int)from->count;
        uint64_t x = 0;
        for (uint32_t i = 0; i < from->count; i++)
            x |= cut(value_of(t, &from->elements[i]), part) << part * (int)i;
        write(t, to, x);
    } else {
        write(t, to, value_of(t, from));
    }
    return true;
}

/* Applies the op to each half of a word. */
static bool pair_op(struct ptx_thread *t, const struct ptx_instruction *ins, enum ptx_mod type,
                    const uint64_t *x, uint64_t *r)
{
    uint64_t half[3], part;
    enum ptx_mod single = type == MOD_F16X2 ? MOD_F16 : MOD_BF16;
    *r = 0;
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < 3; i++)
            half[i] = x[i] >> 16 * side & 0xffff;
        if (!float_op(t, ins, single, half, &part))
            return false;
        *r |= cut(part, 16) << 16 * side;
    }
    return true;
}

static uint64_t byte_of(enum ptx_mod type, uint64_t x)
{
    return type == MOD_E4M3X2 ? f32_to_e4m3(f32_of(x)) : f32_to_e5m2(f32_of(x));
}

static uint64_t half_of_byte(enum ptx_mod type, uint64_t x)
{
    float v = type == MOD_E4M3X2 ? e4m3_to_f32((uint8_t)x) : e5m2_to_f32((uint8_t)x);
    return f32_to_f16(v);
}

/* Executes cvt to or from packed elements, the first source highest, and to tf32. */
static bool packed(const struct ptx_instruction *ins, const uint64_t *x, uint64_t *r)
{
    enum ptx_mod to = ptx_type(ins, 0), from = ptx_type(ins, 1);
    if (to == MOD_TF32) {
        *r = of_f32(f32_to_tf32(f32_of(x[0])));
    } else if (to == MOD_E4M3X2 || to == MOD_E5M2X2) {
        *r = byte_of(to, x[0]) << 8 | byte_of(to, x[1]);
    } else if (to == MOD_F16X2 && from != MOD_F32) {
        *r = half_of_byte(from, x[0] >> 8) << 16 | half_of_byte(from, x[0]);
    } else if (to == MOD_F16X2 || to == MOD_BF16X2) {
        enum ptx_mod single = to == MOD_F16X2 ? MOD_F16 : MOD_BF16;
        *r = of_real(single, real_of(MOD_F32, x[0])) << 16;
        *r |= cut(of_real(single, real_of(MOD_F32, x[1])), 16);
    } else {
        return false;
    }
    return true;
}

static bool arithmetic(struct ptx_thread *t, const struct ptx_instruction *ins)
{
    uint64_t x[4] = {0}, r = 0;
    enum ptx_mod type = ptx_type(ins, 0);
    for (int i = 1; i < ins->operand_count && i < 5; i++)
        x[i - 1] = value_of(t, &ins->operands[i]);
    switch (ins->op) {
    case PTX_CVT:
        if (!packed(ins, x, &r))
            r = converted(ins, x[0]);
        break;
    case PTX_SELP: r = x[2] & 1 ? x[0] : x[1]; break;
    case PTX_SETP:
        r = compared(ins, type, x);
        if (ptx_has(ins, MOD_AND))
            r &= x[2];
        break;
    default:
        if (type == MOD_F16X2 || type == MOD_BF16X2 ? !pair_op(t, ins, type, x, &r)
            : is_float(type)                        ? !float_op(t, ins, type, x, &r)
                                                    : !integer_op(t, ins, type, x, &r))
            return false;
    }
    write(t, &ins->operands[0], r);
    return true;
}

static bool step(struct ptx_thread *t, const struct ptx_instruction *ins, size_t *next)
{
    if (ins->guarded && (t->registers[ins->guard] & 1) == ins->guard_negated)
        return true;
    switch (ins->op) {
    case PTX_BRA: *next = ins->operands[0].label->statement; return true;
    case PTX_RET: *next = t->function->body.count; return true;
    case PTX_LD:
    case PTX_ST: return load_or_store(t, ins);
    case PTX_MOV: return move(t, ins);
    case PTX_ATOM:
    case PTX_RED: return atomic(t, ins);
    case PTX_CVTA: write(t, &ins->operands[0], value_of(t, &ins->operands[1])); return true;
    default: return arithmetic(t, ins);
    }
}

const char *ptx_thread_run(struct ptx_thread *t)
{
    const struct ptx_function *f = t->function;
    size_t next;
    for (size_t i = 0; i < f->body.count; i = next) {
        next = i + 1;
        if (f->body.data[i].kind != PTX_AT_INSTRUCTION)
            continue;
        const struct ptx_instruction *ins = f->body.data[i].instruction;
        if (!step(t, ins, &next))
            return ptx_ops[ins->op].name;
    }
    return NULL;
}
