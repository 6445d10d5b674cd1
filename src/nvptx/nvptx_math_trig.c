/* sin and cos: the polynomials; the reduction is in nvptx_math_reduce.c. */
#include "nvptx/nvptx_math.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* The quadrant of a cosine is one more than that of the sine; is it odd, is the result negative. */
struct turn {
    struct ptx_operand odd, sign; /* predicate; .b32 with the sign in the highest bit */
};

static struct turn turn_of(struct nvptx_scalars *out, struct ptx_operand quadrant, bool cosine)
{
    if (cosine)
        quadrant = NEW(out, MOD_B32, "add.s32", quadrant, ptx_int(1));
    struct ptx_operand last = NEW(out, MOD_B32, "and.b32", quadrant, ptx_int(1));
    struct ptx_operand high = NEW(out, MOD_B32, "shl.b32", quadrant, ptx_int(30));
    struct ptx_operand odd = NEW(out, MOD_PRED, "setp.ne.b32", last, ptx_int(0));
    return (struct turn){odd, NEW(out, MOD_B32, "and.b32", high, ptx_int(0x80000000))};
}

/* Returns cos r where `odd`, else sin r: sin r = r + r^3 P(r^2), cos r = 1 - r^2 / 2 + r^4 P(r^2). Each
 * P has `count` terms. */
static struct ptx_operand sine_or_cosine(struct nvptx_scalars *out, enum ptx_mod t,
                                         struct ptx_operand r, struct ptx_operand odd,
                                         const double *sin_terms, const double *cos_terms,
                                         int count)
{
    struct ptx_operand square = math_mul(out, t, r, r);
    struct ptx_operand p = math_poly(out, t, square, sin_terms, count);
    struct ptx_operand sine = math_fma(out, t, math_mul(out, t, square, p), r, r);
    p = math_poly(out, t, square, cos_terms, count);
    p = math_fma(out, t, p, square, math_number(t, -0.5));
    struct ptx_operand cosine = math_fma(out, t, p, square, math_number(t, 1));
    return nvptx_select(out, t, odd, cosine, sine);
}

/* Errors: sine 2^-27.9, cosine 2^-33. */
struct ptx_operand math_sin_f32(struct nvptx_scalars *out, struct ptx_operand x, bool cosine,
                                bool huge)
{
    static const double sin_terms[] = {-0x1.555546p-3f, 0x1.110778p-7f, -0x1.9953fep-13f};
    static const double cos_terms[] = {0x1.55554ap-5f, -0x1.6c0c28p-10f, 0x1.99e80cp-16f};
    enum ptx_mod t = MOD_F32;
    struct math_angle angle = math_reduce_f32(out, x, huge);
    struct turn turn = turn_of(out, angle.quadrant, cosine);
    struct ptx_operand y =
        sine_or_cosine(out, t, angle.rest, turn.odd, sin_terms, cos_terms, COUNT(sin_terms));
    struct ptx_operand bits = NEW(out, MOD_B32, "mov.b32", y);
    return NEW(out, t, "mov.b32", NEW(out, MOD_B32, "xor.b32", bits, turn.sign));
}

/* Errors: sine 2^-57.9, cosine 2^-63.9. */
struct ptx_operand math_sin_f64(struct nvptx_scalars *out, struct ptx_operand x, bool cosine)
{
    static const double sin_terms[] = {-0x1.5555555555548p-3,  0x1.111111110f73p-7,
                                       -0x1.a01a019be9217p-13, 0x1.71de35552b51ep-19,
                                       -0x1.ae5e4b83e252bp-26, 0x1.5d8b5593597b8p-33};
    static const double cos_terms[] = {0x1.555555555554bp-5,  -0x1.6c16c16c15013p-10,
                                       0x1.a01a019c8ed07p-16, -0x1.27e4f7f1410d9p-22,
                                       0x1.1ee9db8e2eb74p-29, -0x1.8fa65e90dfdf8p-37};
    enum ptx_mod t = MOD_F64;
    struct ptx_operand word[2];
    struct math_angle angle = math_reduce_f64(out, x);
    struct turn turn = turn_of(out, angle.quadrant, cosine);
    struct ptx_operand y =
        sine_or_cosine(out, t, angle.rest, turn.odd, sin_terms, cos_terms, COUNT(sin_terms));
    math_words(out, y, word);
    return math_of_words(out, word[0], NEW(out, MOD_B32, "xor.b32", word[1], turn.sign));
}
