/* Functions of <math.h> as sequences of instructions: the parts that their files share.
 *
 * No library is linked in. Each function is a reduction of its argument to a small interval, a
 * polynomial there, and a reconstruction, as in Muller, "Elementary Functions", 3rd ed., 2016, and
 * Cody and Waite, "Software Manual for the Elementary Functions", 1980; where the special function
 * unit is good to 1 or 2 units in the last place (ex2, rcp, rsqrt) it is used. Polynomials are
 * minimax in the relative error of the function, their coefficients rounded to the type
 * (scripts/minimax.c); the comment at each says how good it is.
 */
#ifndef TW_NVPTX_MATH_H
#define TW_NVPTX_MATH_H

#include "nvptx/nvptx_scalars_own.h"

/* One instruction on operands of PTX type t, rounded to nearest. */
struct ptx_operand math_fma(struct nvptx_scalars *out, enum ptx_mod t, struct ptx_operand a,
                            struct ptx_operand b, struct ptx_operand c);
struct ptx_operand math_mul(struct nvptx_scalars *out, enum ptx_mod t, struct ptx_operand a,
                            struct ptx_operand b);
struct ptx_operand math_add(struct nvptx_scalars *out, enum ptx_mod t, struct ptx_operand a,
                            struct ptx_operand b);
struct ptx_operand math_sub(struct nvptx_scalars *out, enum ptx_mod t, struct ptx_operand a,
                            struct ptx_operand b);
struct ptx_operand math_abs(struct nvptx_scalars *out, enum ptx_mod t, struct ptx_operand x);
struct ptx_operand math_neg(struct nvptx_scalars *out, enum ptx_mod t, struct ptx_operand x);

/* A number of PTX type t, which must have that value exactly. */
struct ptx_operand math_number(enum ptx_mod t, double value);
/* c[0] + c[1] x + … + c[count - 1] x^(count - 1), by Horner's rule; the numbers are exact in type t. */
struct ptx_operand math_poly(struct nvptx_scalars *out, enum ptx_mod t, struct ptx_operand x,
                             const double *c, int count);
/* Returns far if a = |x| is at least `bound`, else near, with the sign of x. */
struct ptx_operand math_join_odd(struct nvptx_scalars *out, enum ptx_mod t, struct ptx_operand x,
                                 struct ptx_operand a, struct ptx_operand bound,
                                 struct ptx_operand far, struct ptx_operand near);

/* The two words of an f64, the low one first, and back. */
void math_words(struct nvptx_scalars *out, struct ptx_operand x, struct ptx_operand word[2]);
struct ptx_operand math_of_words(struct nvptx_scalars *out, struct ptx_operand low,
                                 struct ptx_operand high);
/* 2^n for an i32 n within the exponents of normal numbers. */
struct ptx_operand math_power_f64(struct nvptx_scalars *out, struct ptx_operand n);

struct ptx_operand math_exp_f32(struct nvptx_scalars *out, struct ptx_operand x);
struct ptx_operand math_exp2_f32(struct nvptx_scalars *out, struct ptx_operand x);
struct ptx_operand math_log_f32(struct nvptx_scalars *out, struct ptx_operand x, bool base2);
struct ptx_operand math_tanh_f32(struct nvptx_scalars *out, struct ptx_operand x);
struct ptx_operand math_erf_f32(struct nvptx_scalars *out, struct ptx_operand x);
struct ptx_operand math_erfc_f32(struct nvptx_scalars *out, struct ptx_operand x);
struct ptx_operand math_expm1_f32(struct nvptx_scalars *out, struct ptx_operand x);
struct ptx_operand math_log1p_f32(struct nvptx_scalars *out, struct ptx_operand x);
struct ptx_operand math_sigmoid_f32(struct nvptx_scalars *out, struct ptx_operand x);

struct ptx_operand math_exp_f64(struct nvptx_scalars *out, struct ptx_operand x, bool base2);
struct ptx_operand math_log_f64(struct nvptx_scalars *out, struct ptx_operand x, bool base2);
struct ptx_operand math_tanh_f64(struct nvptx_scalars *out, struct ptx_operand x);
struct ptx_operand math_erf_f64(struct nvptx_scalars *out, struct ptx_operand x);
struct ptx_operand math_erfc_f64(struct nvptx_scalars *out, struct ptx_operand x);
struct ptx_operand math_expm1_f64(struct nvptx_scalars *out, struct ptx_operand x);
struct ptx_operand math_log1p_f64(struct nvptx_scalars *out, struct ptx_operand x);
struct ptx_operand math_sigmoid_f64(struct nvptx_scalars *out, struct ptx_operand x);

/* x = 2^e (1 + f), of subnormal x too; what logarithms are made of. In f32 1 + f is from 2/3 to
 * 4/3, in f64 from sqrt(1/2) to sqrt(2). */
struct math_split {
    struct ptx_operand f, e;    /* .f32 or .f64 */
    struct ptx_operand x, bits; /* x, scaled if it was subnormal; its bits, of f64 the upper word */
};
struct math_split math_split_f32(struct nvptx_scalars *out, struct ptx_operand x);
struct math_split math_split_f64(struct nvptx_scalars *out, struct ptx_operand x);
/* Returns y, the logarithm of s->x > 0, or what the logarithm is elsewhere: of 0 -inf, of inf inf, of
 * negative numbers and NaN NaN. */
struct ptx_operand math_special_log(struct nvptx_scalars *out, enum ptx_mod t,
                                    const struct math_split *s, struct ptx_operand y);
/* Returns erfc x: near if a = |x| is below 1/2 or NaN, else from tail = erfc a. */
struct ptx_operand math_join_erfc(struct nvptx_scalars *out, enum ptx_mod t, struct ptx_operand x,
                                  struct ptx_operand a, struct ptx_operand tail,
                                  struct ptx_operand near);
/* 1 / d for a normal f64 d; 0 where that is subnormal. */
struct ptx_operand math_reciprocal_f64(struct nvptx_scalars *out, struct ptx_operand d);
/* e^(x + low), |low| below 2^-40 |x|. */
struct ptx_operand math_exp_of_sum_f64(struct nvptx_scalars *out, struct ptx_operand x,
                                       struct ptx_operand low);

struct ptx_operand math_sin_f64(struct nvptx_scalars *out, struct ptx_operand x, bool cosine);

/* x = r + (pi/2) quadrant (mod 2 pi), |r| up to a little more than pi/4: nvptx_math_reduce.c */
struct math_angle {
    struct ptx_operand rest, quadrant; /* .f32 or .f64; .b32, of which the last two bits count */
};
struct math_angle math_reduce_f32(struct nvptx_scalars *out, struct ptx_operand x,
                                  bool may_be_huge);
struct math_angle math_reduce_f64(struct nvptx_scalars *out, struct ptx_operand x);

#endif
