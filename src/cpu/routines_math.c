/* Functions of one float: the C library's, within 1 ulp in f32 (glibc's are), the same in every
 * set. */
#include "cpu/routines.h"

#include <math.h>

#define FUNCTION(name, T, call)                                                                    \
    static void name(void *dst, const void *a, const void *b, const void *c, size_t n)             \
    {                                                                                              \
        const T *x = a;                                                                            \
        T *out = dst;                                                                              \
        (void)b;                                                                                   \
        (void)c;                                                                                   \
        for (size_t i = 0; i < n; i++)                                                             \
            out[i] = call(x[i]);                                                                   \
    }

#define FUNCTIONS(X)                                                                               \
    X(EXP, exp)                                                                                    \
    X(EXP2, exp2)                                                                                  \
    X(LOG, log)                                                                                    \
    X(LOG2, log2)                                                                                  \
    X(SIN, sin)                                                                                    \
    X(COS, cos)                                                                                    \
    X(TANH, tanh)                                                                                  \
    X(ERF, erf)

#define BOTH_WIDTHS(OP, call)                                                                      \
    FUNCTION(f32_##call, float, call##f)                                                           \
    FUNCTION(f64_##call, double, call)
FUNCTIONS(BOTH_WIDTHS)

#define ROW(OP, call) [OP_##OP] = {[COMPUTE_F32] = f32_##call, [COMPUTE_F64] = f64_##call},

extern const struct elementwise_routines ROUTINE(routines_math);
const struct elementwise_routines ROUTINE(routines_math) = {.op = {FUNCTIONS(ROW)}};
