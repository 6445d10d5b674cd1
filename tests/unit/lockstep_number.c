/* The instructions of a single thread, except those on memory. */
#include "lockstep_own.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- numbers --- */

float bits_as_f32(uint64_t v)
{
    uint32_t w = (uint32_t)v;
    float f;
    memcpy(&f, &w, sizeof f);
    return f;
}

uint64_t bits_of_f32(float f)
{
    uint32_t w;
    memcpy(&w, &f, sizeof w);
    return w;
}

double bits_as_f64(uint64_t v)
{
    double d;
    memcpy(&d, &v, sizeof d);
    return d;
}

uint64_t bits_of_f64(double d)
{
    uint64_t v;
    memcpy(&v, &d, sizeof v);
    return v;
}

/* Reads a float of type t as a double; bits_store rounds once on the way back. */
double bits_load(enum ptx_mod t, uint64_t v)
{
    switch ((int)t) {
    case PTX_F16: return (double)f16_to_f32((uint16_t)v);
    case PTX_BF16: return (double)bf16_to_f32((uint16_t)v);
    case PTX_F32: return (double)bits_as_f32(v);
    default: return bits_as_f64(v);
    }
}

uint64_t bits_store(enum ptx_mod t, double d)
{
    switch ((int)t) {
    case PTX_F16: return f64_to_f16(d);
    case PTX_BF16: return f64_to_bf16(d);
    case PTX_F32: return bits_of_f32((float)d);
    default: return bits_of_f64(d);
    }
}

/* Extends an integer of type t to 64 bits. */
uint64_t bits_extend(enum ptx_mod t, uint64_t v)
{
    int bits = bits_of(t);
    if (bits >= 64)
        return v;
    v &= ((uint64_t)1 << bits) - 1;
    if (is_signed(t) && v >> (bits - 1))
        v |= ~(uint64_t)0 << bits;
    return v;
}

/* --- arithmetic --- */

static uint64_t halves(struct machine *m, uint64_t a, uint64_t b, uint64_t c, enum ptx_mod t,
                       double (*f)(double, double, double))
{
    enum ptx_mod half = t == PTX_F16X2 ? PTX_F16 : PTX_BF16;
    uint64_t r = 0;
    (void)m;
    for (int i = 0; i < 32; i += 16)
        r |= bits_store(half, f(bits_load(half, a >> i & 0xffff), bits_load(half, b >> i & 0xffff),
                                bits_load(half, c >> i & 0xffff)))
             << i;
    return r;
}

static double lesser(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : a < b || (a == b && signbit(a)) ? a : b;
}

static double f_add(double a, double b, double c)
{
    (void)c;
    return a + b;
}
static double f_sub(double a, double b, double c)
{
    (void)c;
    return a - b;
}
static double f_mul(double a, double b, double c)
{
    (void)c;
    return a * b;
}
static double f_div(double a, double b, double c)
{
    (void)c;
    return a / b;
}
static double f_min(double a, double b, double c)
{
    (void)c;
    return lesser(a, b);
}
static double f_max(double a, double b, double c)
{
    (void)c;
    return -lesser(-a, -b);
}
static double f_fma(double a, double b, double c)
{
    return fma(a, b, c);
}
static double f_neg(double a, double b, double c)
{
    (void)b, (void)c;
    return -a;
}
static double f_abs(double a, double b, double c)
{
    (void)b, (void)c;
    return fabs(a);
}

static void floats(struct machine *m, int thread, enum ptx_mod t,
                   double (*f)(double, double, double))
{
    int count = m->ins->operand_count;
    uint64_t v[3] = {0};
    for (int i = 1; i < count; i++)
        v[i - 1] = machine_arg(m, thread, i, t);
    if (t == PTX_F16X2 || t == PTX_BF16X2) {
        machine_result(m, thread, halves(m, v[0], v[1], v[2], t, f));
        return;
    }
    double r = f(bits_load(t, v[0]), bits_load(t, v[1]), bits_load(t, v[2]));
    if (t == PTX_F32 && f == f_fma)
        r = (double)fmaf(bits_as_f32(v[0]), bits_as_f32(v[1]), bits_as_f32(v[2]));
    if (t == PTX_F32 && ptx_has(m->ins, MOD_RM) && f == f_fma) { /* towards minus infinity */
        double exact =
            (double)bits_as_f32(v[0]) * (double)bits_as_f32(v[1]) + (double)bits_as_f32(v[2]);
        float near = (float)exact;
        r = (double)((double)near > exact ? nextafterf(near, -INFINITY) : near);
    }
    if (ptx_has(m->ins, MOD_SAT))
        r = isnan(r) || r < 0 ? 0 : r > 1 ? 1 : r;
    machine_result(m, thread, bits_store(t, r));
}

static bool is_real(enum ptx_mod t)
{
    return is_float(t) || t == PTX_F16X2 || t == PTX_BF16X2;
}

/* Returns the upper 64 bits of a product. */
static uint64_t high_half(enum ptx_mod t, uint64_t a, uint64_t b)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (uint32_t)middle;
    uint64_t high = a1 * b1 + (middle >> 32) + (other >> 32);
    if (is_signed(t))
        high -= ((int64_t)a < 0 ? b : 0) + ((int64_t)b < 0 ? a : 0);
    return high;
}

static void multiply(struct machine *m, int thread, bool add)
{
    enum ptx_mod t = ptx_type(m->ins, 0);
    uint64_t a = machine_arg(m, thread, 1, t), b = machine_arg(m, thread, 2, t), r = a * b;
    if (ptx_has(m->ins, MOD_HI))
        r = bits_of(t) == 64 ? high_half(t, a, b) : r >> bits_of(t);
    if (add)
        r += machine_value(m, thread, &m->ins->operands[3], t);
    machine_result(m, thread, r);
}

static bool compared(enum ptx_mod op, enum ptx_mod t, uint64_t a, uint64_t b)
{
    if (is_float(t)) {
        double x = bits_load(t, a), y = bits_load(t, b);
        switch ((int)op) {
        case MOD_EQ: return x == y;
        case MOD_NE: return x < y || x > y;
        case MOD_LT: return x < y;
        case MOD_LE: return x <= y;
        case MOD_GT: return x > y;
        case MOD_GE: return x >= y;
        case MOD_NEU: return !(x == y);
        case MOD_EQU: return !(x < y || x > y);
        case MOD_NUM: return !isnan(x) && !isnan(y);
        default: return isnan(x) || isnan(y);
        }
    }
    bool less = is_signed(t) ? (int64_t)a < (int64_t)b : a < b;
    switch ((int)op) {
    case MOD_EQ: return a == b;
    case MOD_NE: return a != b;
    case MOD_LT: return less;
    case MOD_LE: return less || a == b;
    case MOD_GT: return !less && a != b;
    default: return !less;
    }
}

static void setp(struct machine *m, int thread)
{
    enum ptx_mod t = ptx_type(m->ins, 0);
    bool p = compared(ptx_find(m->ins, PTX_CLASS_COMPARE, 0), t, machine_arg(m, thread, 1, t),
                      machine_arg(m, thread, 2, t));
    enum ptx_mod with = ptx_find(m->ins, PTX_CLASS_OPERATION, 0);
    if (with && m->ins->operand_count > 3) {
        bool q = machine_value(m, thread, &m->ins->operands[3], PTX_PRED) & 1;
        p = with == MOD_AND ? p && q : with == MOD_OR ? p || q : p != q;
    }
    machine_result(m, thread, p);
}

static double rounded(const struct ptx_instruction *ins, double d)
{
    if (ptx_has(ins, MOD_RNI))
        return nearbyint(d);
    if (ptx_has(ins, MOD_RZI))
        return trunc(d);
    if (ptx_has(ins, MOD_RMI))
        return floor(d);
    return ptx_has(ins, MOD_RPI) ? ceil(d) : d;
}

static bool is_bytes(enum ptx_mod t)
{
    return t == MOD_E4M3X2 || t == MOD_E5M2X2;
}

static uint64_t to_byte(enum ptx_mod t, double d)
{
    return t == MOD_E4M3X2 ? f32_to_e4m3((float)d) : f32_to_e5m2((float)d);
}

/* Converts two floats to or from 8 bits each. */
static void convert_bytes(struct machine *m, int thread)
{
    enum ptx_mod to = ptx_type(m->ins, 0), from = ptx_type(m->ins, 1);
    uint64_t v = machine_arg(m, thread, 1, from), r = 0;
    for (int i = 0; i < 2 && is_bytes(from); i++) {
        uint8_t byte = (uint8_t)(v >> (8 * i));
        float f = from == MOD_E4M3X2 ? e4m3_to_f32(byte) : e5m2_to_f32(byte);
        r |= bits_store(PTX_F16, (double)f) << (16 * i);
    }
    if (from == PTX_F16X2)
        r = to_byte(to, bits_load(PTX_F16, v >> 16)) << 8 | to_byte(to, bits_load(PTX_F16, v));
    else if (!is_bytes(from))
        r = to_byte(to, bits_load(from, v)) << 8 |
            to_byte(to, bits_load(from, machine_arg(m, thread, 2, from)));
    machine_result(m, thread, r);
}

static void convert(struct machine *m, int thread)
{
    enum ptx_mod to = ptx_type(m->ins, 0), from = ptx_type(m->ins, 1);
    if (is_bytes(to) || is_bytes(from)) {
        convert_bytes(m, thread);
        return;
    }
    if (to == PTX_F16X2 || to == PTX_BF16X2) {
        enum ptx_mod half = to == PTX_F16X2 ? PTX_F16 : PTX_BF16;
        uint64_t high = machine_arg(m, thread, 1, from), low = machine_arg(m, thread, 2, from);
        machine_result(m, thread,
                       bits_store(half, bits_load(from, high)) << 16 |
                           bits_store(half, bits_load(from, low)));
        return;
    }
    uint64_t v = machine_arg(m, thread, 1, from);
    if (to == PTX_TF32) { /* ties away from zero, or to even */
        uint64_t half = ptx_has(m->ins, MOD_RNA) ? 0x1000 : 0xfff + (v >> 13 & 1);
        machine_result(m, thread, (v + half) & 0xffffe000u);
        return;
    }
    if (!is_float(from) && !is_float(to)) {
        machine_result(m, thread, bits_extend(to, v));
        return;
    }
    if (!is_float(from)) {
        float direct = is_signed(from) ? (float)(int64_t)v : (float)v;
        double d = is_signed(from) ? (double)(int64_t)v : (double)v;
        machine_result(m, thread, to == PTX_F32 ? bits_of_f32(direct) : bits_store(to, d));
        return;
    }
    double d = rounded(m->ins, bits_load(from, v));
    if (is_float(to)) {
        machine_result(m, thread, bits_store(to, d));
        return;
    }
    int bits = bits_of(to);
    double top = ldexp(1, is_signed(to) ? bits - 1 : bits), bottom = is_signed(to) ? -top : 0;
    uint64_t r = isnan(d)        ? 0
                 : d >= top      ? (is_signed(to) ? ((uint64_t)1 << (bits - 1)) - 1
                                    : bits == 64  ? UINT64_MAX
                                                  : ((uint64_t)1 << bits) - 1)
                 : d <= bottom   ? (is_signed(to) ? (uint64_t)1 << (bits - 1) : 0)
                 : is_signed(to) ? (uint64_t)(int64_t)d
                                 : (uint64_t)d;
    machine_result(m, thread, r);
}

static void move(struct machine *m, int thread)
{
    const struct ptx_operand *to = &m->ins->operands[0], *from = &m->ins->operands[1];
    enum ptx_mod t = ptx_type(m->ins, 0);
    if (to->kind == PTX_VECTOR) {
        uint64_t v = machine_value(m, thread, from, t);
        int bits = bits_of(t) / (int)to->count;
        for (uint32_t i = 0; i < to->count; i++)
            machine_set(m, thread, &to->elements[i],
                        v >> (bits * (int)i) & (((uint64_t)1 << bits) - 1));
    } else if (from->kind == PTX_VECTOR) {
        uint64_t v = 0;
        int bits = bits_of(t) / (int)from->count;
        for (uint32_t i = 0; i < from->count; i++)
            v |= (machine_value(m, thread, &from->elements[i], t) & (((uint64_t)1 << bits) - 1))
                 << (bits * (int)i);
        machine_set(m, thread, to, v);
    } else {
        machine_set(m, thread, to, machine_value(m, thread, from, t));
    }
}

static void shift(struct machine *m, int thread)
{
    enum ptx_mod t = ptx_type(m->ins, 0);
    uint64_t v = machine_arg(m, thread, 1, t), by = machine_arg(m, thread, 2, PTX_U32);
    int bits = bits_of(t);
    if (m->ins->op == PTX_SHL)
        v = by >= (uint64_t)bits ? 0 : v << by;
    else if (is_signed(t))
        v = (uint64_t)((int64_t)v >> (by >= (uint64_t)bits ? 63 : by));
    else
        v = by >= (uint64_t)bits ? 0 : v >> by;
    machine_result(m, thread, v);
}

static void bit_field(struct machine *m, int thread)
{
    enum ptx_mod t = ptx_type(m->ins, 0);
    uint64_t v = machine_arg(m, thread, 1, t), low = machine_arg(m, thread, 2, PTX_U32),
             count = machine_arg(m, thread, 3, PTX_U32);
    v >>= low;
    if (count < 64) {
        v &= ((uint64_t)1 << count) - 1;
        if (is_signed(t) && count && v >> (count - 1))
            v |= ~(uint64_t)0 << count;
    }
    machine_result(m, thread, v);
}

static void permute(struct machine *m, int thread)
{
    uint64_t both = machine_arg(m, thread, 1, PTX_U32) | machine_arg(m, thread, 2, PTX_U32) << 32,
             r = 0;
    uint64_t how = machine_arg(m, thread, 3, PTX_U32);
    for (int i = 0; i < 4; i++)
        r |= (both >> (8 * (how >> (4 * i) & 7)) & 0xff) << (8 * i);
    machine_result(m, thread, r);
}

static void divide(struct machine *m, int thread, bool rest)
{
    enum ptx_mod t = ptx_type(m->ins, 0);
    uint64_t a = machine_arg(m, thread, 1, t), b = machine_arg(m, thread, 2, t);
    if (b == 0) {
        machine_result(m, thread, UINT64_MAX);
        return;
    }
    if (is_signed(t))
        machine_result(m, thread,
                       (uint64_t)((int64_t)b == -1 ? (rest ? 0 : -(int64_t)a)
                                  : rest           ? (int64_t)a % (int64_t)b
                                                   : (int64_t)a / (int64_t)b));
    else
        machine_result(m, thread, rest ? a % b : a / b);
}

static void function(struct machine *m, int thread)
{
    enum ptx_mod t = ptx_type(m->ins, 0);
    double x = bits_load(t, machine_arg(m, thread, 1, t)), r;
    switch (m->ins->op) {
    case PTX_EX2: r = exp2(x); break;
    case PTX_LG2: r = log2(x); break;
    case PTX_RCP: r = 1 / x; break;
    case PTX_SQRT: r = sqrt(x); break;
    case PTX_RSQRT: r = 1 / sqrt(x); break;
    case PTX_SIN: r = sin(x); break;
    case PTX_COS: r = cos(x); break;
    default: r = tanh(x); break;
    }
    machine_result(m, thread, bits_store(t, r));
}

/* --- the table of instructions --- */

static void sign(struct machine *m, int thread)
{
    enum ptx_mod t = ptx_type(m->ins, 0);
    uint64_t from = machine_arg(m, thread, 1, t), v = machine_arg(m, thread, 2, t);
    uint64_t top = (uint64_t)1 << (bits_of(t) - 1);
    machine_result(m, thread, (v & ~top) | (from & top));
}

static void table_of_three(struct machine *m, int thread)
{
    uint64_t a = machine_arg(m, thread, 1, PTX_B32), b = machine_arg(m, thread, 2, PTX_B32);
    uint64_t c = machine_arg(m, thread, 3, PTX_B32), table = m->ins->operands[4].bits, r = 0;
    for (int i = 0; i < 32; i++)
        r |= (table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i;
    machine_result(m, thread, r);
}

static void funnel(struct machine *m, int thread)
{
    uint64_t both = machine_arg(m, thread, 1, PTX_U32) | machine_arg(m, thread, 2, PTX_U32) << 32;
    uint64_t by = machine_arg(m, thread, 3, PTX_U32) & 31;
    machine_result(m, thread, ptx_has(m->ins, MOD_RIGHT) ? both >> by : (both << by) >> 32);
}

static void leading_zeros(struct machine *m, int thread)
{
    enum ptx_mod t = ptx_type(m->ins, 0);
    uint64_t v = machine_arg(m, thread, 1, t), n = 0;
    for (int i = bits_of(t) - 1; i >= 0 && !(v >> i & 1); i--)
        n++;
    machine_result(m, thread, n);
}

static void choose(struct machine *m, int thread)
{
    bool p = machine_value(m, thread, &m->ins->operands[3], PTX_PRED) & 1;
    machine_result(m, thread, machine_arg(m, thread, p ? 1 : 2, ptx_type(m->ins, 0)));
}

/* Executes operations on floats. */
static bool real(struct machine *m, int thread)
{
    enum ptx_mod t = ptx_type(m->ins, 0);
    switch (m->ins->op) {
    case PTX_ADD: floats(m, thread, t, f_add); return true;
    case PTX_SUB: floats(m, thread, t, f_sub); return true;
    case PTX_MUL: floats(m, thread, t, f_mul); return true;
    case PTX_DIV: floats(m, thread, t, f_div); return true;
    case PTX_FMA: floats(m, thread, t, f_fma); return true;
    case PTX_MIN: floats(m, thread, t, f_min); return true;
    case PTX_MAX: floats(m, thread, t, f_max); return true;
    case PTX_NEG: floats(m, thread, t, f_neg); return true;
    case PTX_ABS: floats(m, thread, t, f_abs); return true;
    case PTX_COPYSIGN: sign(m, thread); return true;
    case PTX_EX2:
    case PTX_LG2:
    case PTX_RCP:
    case PTX_SQRT:
    case PTX_RSQRT:
    case PTX_SIN:
    case PTX_COS:
    case PTX_TANH: function(m, thread); return true;
    default: return false;
    }
}

static bool whole(struct machine *m, int thread)
{
    enum ptx_mod t = ptx_type(m->ins, 0);
    uint64_t a, b;
    switch (m->ins->op) {
    case PTX_MUL: multiply(m, thread, false); return true;
    case PTX_MAD: multiply(m, thread, true); return true;
    case PTX_DIV: divide(m, thread, false); return true;
    case PTX_REM: divide(m, thread, true); return true;
    case PTX_SHL:
    case PTX_SHR: shift(m, thread); return true;
    case PTX_BFE: bit_field(m, thread); return true;
    case PTX_CLZ: leading_zeros(m, thread); return true;
    case PTX_NEG: machine_result(m, thread, -machine_arg(m, thread, 1, t)); return true;
    case PTX_ABS:
        machine_result(m, thread, (uint64_t)llabs((int64_t)machine_arg(m, thread, 1, t)));
        return true;
    case PTX_NOT:
        a = machine_arg(m, thread, 1, t);
        machine_result(m, thread, t == PTX_PRED ? !(a & 1) : ~a);
        return true;
    default: break;
    }
    if (m->ins->op != PTX_ADD && m->ins->op != PTX_SUB && m->ins->op != PTX_MIN &&
        m->ins->op != PTX_MAX && m->ins->op != PTX_AND && m->ins->op != PTX_OR &&
        m->ins->op != PTX_XOR)
        return false;
    a = machine_arg(m, thread, 1, t);
    b = machine_arg(m, thread, 2, t);
    switch (m->ins->op) {
    case PTX_ADD: a += b; break;
    case PTX_SUB: a -= b; break;
    case PTX_MIN: a = machine_combined(MOD_MIN, t, a, b); break;
    case PTX_MAX: a = machine_combined(MOD_MAX, t, a, b); break;
    case PTX_AND: a &= b; break;
    case PTX_OR: a |= b; break;
    default: a ^= b; break;
    }
    machine_result(m, thread, a);
    return true;
}

bool machine_number(struct machine *m, int thread)
{
    enum ptx_mod t = ptx_type(m->ins, 0);
    switch (m->ins->op) {
    case PTX_MOV: move(m, thread); return true;
    case PTX_CVTA:
        machine_result(m, thread, machine_value(m, thread, &m->ins->operands[1], t));
        return true;
    case PTX_CVT: convert(m, thread); return true;
    case PTX_SETP: setp(m, thread); return true;
    case PTX_SELP: choose(m, thread); return true;
    case PTX_LOP3: table_of_three(m, thread); return true;
    case PTX_SHF: funnel(m, thread); return true;
    case PTX_PRMT: permute(m, thread); return true;
    default: return is_real(t) ? real(m, thread) : whole(m, thread);
    }
}
