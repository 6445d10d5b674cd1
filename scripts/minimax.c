/* Computes the coefficients of the polynomials in src/nvptx/nvptx_math*.c and
 * src/cpu/routines/routines_math.c.
 *
 *     gcc -O2 -o minimax scripts/minimax.c -lquadmath && ./minimax [NAME]
 *
 * For each function it finds the polynomial whose greatest error is least, by Remez's second
 * algorithm in 113 bits. Weights make the error relative to the function. The coefficients are
 * rounded to the type in two ways: one after another, lowest first, with the others adapted to
 * each rounding ("greedy"), and all at once. The better result is printed with its error. */
#include <quadmath.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef __float128 real;
enum { GRID = 6000, MOST = 24 };

/* p(u) = g(x) for x from low to high, u = x or x * x; the error is weight(x) * (p(u) - g(x)). x
 * counts from `edge`, where the piece of a function begins. */
struct fit {
    const char *name;
    real (*g)(real), (*weight)(real);
    real low, high;
    int count; /* coefficients */
    bool even, f64;
    real edge;
};

static real at[GRID], value[GRID], weight[GRID];
static real edge; /* edge of the fit in progress */

/* --- the functions --- */

static real log_rest(real x)
{
    return (log1pq(x) - x) / (x * x);
}
static real log_weight(real x)
{
    return fabsq(x * x / log1pq(x));
}
static real log2_rest(real x)
{
    return log1pq(x) / M_LN2q / x - (real)(float)1.4426950408889634;
}
static real log2_weight(real x)
{
    return fabsq(x * M_LN2q / log1pq(x));
}
static real sin_rest(real x)
{
    return (sinq(x) - x) / (x * x * x);
}
static real sin_weight(real x)
{
    return x * x * x / sinq(x);
}
static real cos_rest(real x)
{
    return (cosq(x) - 1 + x * x / 2) / (x * x * x * x);
}
static real cos_weight(real x)
{
    return x * x * x * x / cosq(x);
}
static real tanh_rest(real x)
{
    return (tanhq(x) - x) / (x * x * x);
}
static real tanh_weight(real x)
{
    return x * x * x / tanhq(x);
}
/* tanh x = x + x^2 p(x) */
static real tanh_first(real x)
{
    return (tanhq(x) - x) / (x * x);
}
static real tanh_first_weight(real x)
{
    return x * x / tanhq(x);
}
static real tanh_piece(real x)
{
    return tanhq(edge + x);
}
static real tanh_piece_weight(real x)
{
    return 1 / tanhq(edge + x);
}
static real erf_rest(real x)
{
    return erfq(x) / x - 1;
}
static real erf_weight(real x)
{
    return x / erfq(x);
}
static real log2_of_erfc(real x)
{
    return log2q(erfcq(x));
}
static real log_of_erfc(real x)
{
    return logq(erfcq(x));
}
static real exp_rest(real x)
{
    return (expm1q(x) - x) / (x * x);
}
static real exp_weight(real x)
{
    return fabsq(x * x / expm1q(x));
}
static real exp_of_rest_weight(real x)
{
    return x * x / expq(x);
}
/* 2^x = 1 + x p(x) */
static real exp2_rest(real x)
{
    return expm1q(x * M_LN2q) / x;
}
static real exp2_weight(real x)
{
    return fabsq(x / exp2q(x));
}
static real atanh_rest(real x)
{
    return (2 * atanhq(x) - 2 * x) / (x * x * x);
}
static real atanh_weight(real x)
{
    return x * x * x / (2 * atanhq(x));
}

#define THIRD (1 / 3.0Q)
#define EIGHTH_TURN (M_PI_4q * 1.0001Q)
/* erfc a e^(a^2) (1 + 2a) of x = (a - 2) / (a + 2) */
static real scaled_erfc(real x)
{
    real a = 2 * (1 + x) / (1 - x);
    return erfcq(a) * expq(a * a) * (1 + 2 * a);
}
static real scaled_erfc_weight(real x)
{
    return 1 / scaled_erfc(x);
}
/* atanh x = x (1 + x^2 / 3 + x^4 p(x^2)) */
static real atanh_far_rest(real x)
{
    real u = x * x, sum = 0, power = 1;
    for (int k = 5; k < 80; k += 2, power *= u)
        sum += power / k;
    return sum;
}
static real atanh_far_weight(real x)
{
    return x * x * x * x * x / atanhq(x);
}
static real power_of_two_weight(real x)
{
    return exp2q(-x);
}

#define TANH_PIECE(from, width)                                                                    \
    {                                                                                              \
        "tanh f32 from " #from, tanh_piece, tanh_piece_weight, 0, width, 6, false, false, from     \
    }
static const struct fit fits[] = {
    {"log f32", log_rest, log_weight, -THIRD, THIRD, 9, false, false},
    {"log2 f32", log2_rest, log2_weight, -THIRD, THIRD, 10, false, false},
    {"sin f32", sin_rest, sin_weight, 0, EIGHTH_TURN, 3, true, false},
    {"cos f32", cos_rest, cos_weight, 0, EIGHTH_TURN, 3, true, false},
    {"tanh f32 from 0", tanh_first, tanh_first_weight, 0, 0.125Q, 4, false, false},
    TANH_PIECE(0.125, 0.125),
    TANH_PIECE(0.25, 0.125),
    TANH_PIECE(0.375, 0.25),
    TANH_PIECE(0.625, 0.25),
    TANH_PIECE(0.875, 0.25),
    TANH_PIECE(1.125, 0.25),
    TANH_PIECE(1.375, 0.5),
    TANH_PIECE(1.875, 0.5),
    TANH_PIECE(2.375, 0.5),
    TANH_PIECE(2.875, 0.5),
    TANH_PIECE(3.375, 1),
    TANH_PIECE(4.375, 1),
    TANH_PIECE(5.375, 1),
    TANH_PIECE(6.375, 1),
    TANH_PIECE(7.375, 2),
    {"erf f32", erf_rest, erf_weight, 0, 1, 7, true, false},
    {"erfc f32", log2_of_erfc, erfcq, 1, 4, 7, false, false},
    {"exp f32", exp_rest, exp_of_rest_weight, -M_LN2q / 16 * 1.001Q, M_LN2q / 16 * 1.001Q, 2, false,
     false},
    {"exp2 f32", exp2_rest, exp2_weight, -0.0625Q, 0.0625Q, 3, false, false},
    {"sin of f32 in f64", sin_rest, sin_weight, 0, EIGHTH_TURN, 4, true, true},
    {"cos of f32 in f64", cos_rest, cos_weight, 0, EIGHTH_TURN, 4, true, true},
    {"exp f64", exp_rest, exp_weight, -0.3467Q, 0.3467Q, 11, false, true},
    {"atanh f64", atanh_rest, atanh_weight, 0, 0.1715728752538099Q * 1.0001Q, 7, true, true},
    {"sin f64", sin_rest, sin_weight, 0, EIGHTH_TURN, 6, true, true},
    {"cos f64", cos_rest, cos_weight, 0, EIGHTH_TURN, 6, true, true},
    {"tanh f64", tanh_rest, tanh_weight, 0, 0.55Q, 10, true, true},
    {"erf f64", erf_rest, erf_weight, 0, 1, 13, true, true},
    {"erfc f64", log_of_erfc, erfcq, 1, 6, 18, false, true},
    {"scaled erfc f32", scaled_erfc, scaled_erfc_weight, -0.6Q, 0.67Q, 10, false, false},
    {"scaled erfc f64", scaled_erfc, scaled_erfc_weight, -0.6Q, 0.8635Q, 23, false, true},
    {"expm1 f32", exp_rest, exp_weight, -0.3467Q, 0.3467Q, 5, false, false},
    {"pow f32", atanh_far_rest, atanh_far_weight, 0, 0.2001Q, 3, true, false},
    {"pow f64", atanh_far_rest, atanh_far_weight, 0, 0.1717Q, 8, true, true},
    {"pow of f32 in f64, log", atanh_far_rest, atanh_far_weight, 0, 0.1717Q, 4, true, true},
    {"pow of f32 in f64, power", exp2q, power_of_two_weight, -0.5Q, 0.5Q, 8, false, true},
};

/* --- Remez's algorithm --- */

static real variable(const struct fit *f, real x)
{
    return f->even ? x * x : x;
}

static real polynomial(const real *c, int count, real u)
{
    real y = 0;
    for (int i = count - 1; i >= 0; i--)
        y = y * u + c[i];
    return y;
}

static real error_at(const struct fit *f, const real *c, int i)
{
    return weight[i] * (polynomial(c, f->count, variable(f, at[i])) - value[i]);
}

static real greatest_error(const struct fit *f, const real *c)
{
    real most = 0;
    for (int i = 0; i < GRID; i++)
        most = fmaxq(most, fabsq(error_at(f, c, i)));
    return most;
}

/* Solves n equations with the right side in column n, by Gauss and Jordan. */
static void solve(real m[MOST][MOST + 1], int n, real *x)
{
    for (int c = 0; c < n; c++) {
        int pivot = c;
        for (int r = c; r < n; r++)
            pivot = fabsq(m[r][c]) > fabsq(m[pivot][c]) ? r : pivot;
        for (int k = 0; k <= n; k++) {
            real other = m[c][k];
            m[c][k] = m[pivot][k];
            m[pivot][k] = other;
        }
        for (int r = 0; r < n; r++)
            for (int k = n; r != c && k >= c; k--)
                m[r][k] -= m[r][c] / m[c][c] * m[c][k];
    }
    for (int i = 0; i < n; i++)
        x[i] = m[i][n] / m[i][i];
}

/* Sets c[fixed …] so that the errors at the `points` have one size and alternate in sign. */
static void level(const struct fit *f, real *c, int fixed, const int *points)
{
    real m[MOST][MOST + 1], x[MOST];
    int n = f->count - fixed;
    for (int i = 0; i <= n; i++) {
        real u = variable(f, at[points[i]]), power = powq(u, fixed);
        for (int k = 0; k < n; k++, power *= u)
            m[i][k] = power;
        m[i][n] = (i & 1 ? 1 : -1) / weight[points[i]];
        m[i][n + 1] = value[points[i]] - polynomial(c, fixed, u);
    }
    solve(m, n + 1, x);
    memcpy(c + fixed, x, (size_t)n * sizeof *x);
}

/* Takes one extremum from each stretch of one sign, until it has `wanted`. Returns false if
 * there are fewer. */
static bool exchange(const struct fit *f, const real *c, int wanted, int *points)
{
    int found[GRID], count = 0, first = 0;
    for (int i = 0; i < GRID;) {
        bool sign = error_at(f, c, i) >= 0;
        int best = i;
        for (; i < GRID && (error_at(f, c, i) >= 0) == sign; i++)
            best = fabsq(error_at(f, c, i)) > fabsq(error_at(f, c, best)) ? i : best;
        found[count++] = best;
    }
    for (; count - first > wanted; count -= 1) /* drops the lesser of the two ends */
        if (fabsq(error_at(f, c, found[first])) < fabsq(error_at(f, c, found[count - 1]))) {
            first++;
            count++;
        }
    if (count - first < wanted)
        return false;
    memcpy(points, found + first, (size_t)wanted * sizeof *points);
    return true;
}

static void remez(const struct fit *f, real *c, int fixed)
{
    int points[MOST], wanted = f->count - fixed + 1;
    real best[MOST], least = HUGE_VALQ;
    for (int i = 0; i < wanted && wanted > 1; i++)
        points[i] = (int)((double)i / (wanted - 1) * (GRID - 1) + 0.5);
    for (int turn = 0; turn < 40 && wanted > 1; turn++) {
        level(f, c, fixed, points);
        real error = greatest_error(f, c);
        if (error < least) {
            least = error;
            memcpy(best, c, sizeof best);
        }
        if (!exchange(f, c, wanted, points))
            break;
    }
    if (wanted > 1)
        memcpy(c, best, (size_t)f->count * sizeof *c);
}

static real rounded(const struct fit *f, real x)
{
    return f->f64 ? (real)(double)x : (real)(float)x;
}

static void show(const struct fit *f)
{
    real greedy[MOST] = {0}, once[MOST] = {0};
    edge = f->edge;
    for (int i = 0; i < GRID;
         i++) { /* spaced like Chebyshev's points; the quotients are inaccurate near 0 */
        real x = f->low + (f->high - f->low) * (1 - cosq(M_PIq * i / (GRID - 1))) / 2;
        at[i] = fabsq(x) < 1e-4Q ? (x < 0 ? -1e-4Q : 1e-4Q) : x;
        value[i] = f->g(at[i]);
        weight[i] = f->weight(at[i]);
    }
    remez(f, greedy, 0);
    printf("%s: best 2^%.2f", f->name, (double)log2q(greatest_error(f, greedy)));
    for (int k = 0; k < f->count; k++)
        once[k] = rounded(f, greedy[k]);
    for (int k = 0; k < f->count; k++) {
        greedy[k] = rounded(f, greedy[k]);
        remez(f, greedy, k + 1);
    }
    const real *c = greatest_error(f, greedy) < greatest_error(f, once) ? greedy : once;
    printf(", rounded 2^%.2f\n", (double)log2q(greatest_error(f, c)));
    for (int k = 0; k < f->count; k++)
        printf("    %a%s,\n", (double)c[k], f->f64 ? "" : "f");
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof fits / sizeof fits[0]; i++)
        if (argc < 2 || strcmp(argv[1], fits[i].name) == 0)
            show(&fits[i]);
    return 0;
}
