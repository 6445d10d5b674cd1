/* Element types and the conversions between their bit patterns. */
#ifndef TW_DTYPE_H
#define TW_DTYPE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dtype {
#define DTYPE(id, name, kind, bits, numpy, roundoff) DT_##id,
#include "base/dtype.def"
#undef DTYPE
    DT_COUNT,
    DT_NONE = -1
};

enum dtype_kind { DK_FLOAT, DK_SINT, DK_UINT, DK_BOOL };

struct dtype_info {
    const char *name;
    enum dtype_kind kind;
    int bits;
    const char *numpy; /* type code of a .npy header without byte order; "" if NumPy has no such
                        * type */
    double roundoff;   /* unit roundoff of round-to-nearest; 0 for exact types */
};

extern const struct dtype_info dtype_table[DT_COUNT];

/* Bytes of one element. */
static inline size_t dtype_size(enum dtype t)
{
    assert((unsigned)t < DT_COUNT);
    return (size_t)dtype_table[t].bits / 8;
}
static inline bool dtype_is_float(enum dtype t)
{
    assert((unsigned)t < DT_COUNT);
    return dtype_table[t].kind == DK_FLOAT;
}
/* Signed or unsigned integer; bool is neither. */
static inline bool dtype_is_int(enum dtype t)
{
    assert((unsigned)t < DT_COUNT);
    return dtype_table[t].kind == DK_SINT || dtype_table[t].kind == DK_UINT;
}
static inline bool dtype_is_signed(enum dtype t)
{
    assert((unsigned)t < DT_COUNT);
    return dtype_table[t].kind == DK_SINT || dtype_table[t].kind == DK_FLOAT;
}

/* Floats of 16 bits, floats of 8 bits, integers of 8 bits. */
static inline bool dtype_is_half(enum dtype t)
{
    return t == DT_F16 || t == DT_BF16;
}
static inline bool dtype_is_byte_float(enum dtype t)
{
    return t == DT_E4M3 || t == DT_E5M2;
}
static inline bool dtype_is_byte_int(enum dtype t)
{
    return t == DT_I8 || t == DT_U8;
}

/* Returns the type called `name` (of `length` bytes), or DT_NONE. */
enum dtype dtype_by_name(const char *name, size_t length);

/* Returns the type of a binary operation on a and b: a float beats an integer, the wider beats the
 * narrower, at equal width unsigned beats signed (as in C). tf32 with f32 and f16 with bf16 give
 * f32, e4m3 with e5m2 gives f16, bool counts as i32. */
enum dtype dtype_join(enum dtype a, enum dtype b);

/* Returns true if `to` can store every value of type `from` without leaving its range (f16 -> f32,
 * u8 -> i32, i32 -> f32; not f32 -> f16, i64 -> i32, i32 -> u32). Other conversions need a written
 * cast. */
bool dtype_holds(enum dtype to, enum dtype from);

/* An integer wrapped to the range of t (two's complement); for bool, v != 0. */
int64_t dtype_wrap(enum dtype t, int64_t v);

/* IEEE binary16 and bfloat16 as bit patterns; round to nearest even, NaN stays NaN (quiet). */
float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value);
uint16_t f64_to_f16(double value); /* one rounding, not two */
float bf16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float value);
uint16_t f64_to_bf16(double value);

/* The formats of matrix units, converted as in the PTX ISA (cvt). tf32 is an f32 whose last 13 bits
 * are zero, rounded to nearest, ties away from zero. e4m3 and e5m2 are rounded to nearest even;
 * larger values, infinity too, become the largest finite value, and NaN becomes 0x7f. Other types
 * are converted to f32 first. */
float f32_to_tf32(float value);
float e4m3_to_f32(uint8_t bits);
float e5m2_to_f32(uint8_t bits);
uint8_t f32_to_e4m3(float value);
uint8_t f32_to_e5m2(float value);

/* Converts one element of type t at p to and from double (rounds to nearest; for integers,
 * truncates toward zero and saturates, NaN becomes 0), and to and from int64 for integer types
 * (floats are truncated likewise). */
double dtype_load_f64(enum dtype t, const void *p);
void dtype_store_f64(enum dtype t, void *p, double v);
int64_t dtype_load_i64(enum dtype t, const void *p);
void dtype_store_i64(enum dtype t, void *p, int64_t v);

#endif
