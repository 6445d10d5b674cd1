#include "random_tiles.h"

#include "test_layout_random.h"

#include <stdio.h>
#include <string.h>

/* Each body is compiled with M, N, WARPS and the types T (of the data) and S (of sums). Some also
 * use SEED, and tables of K elements: ORDER (indices of such tables), PICK of T, WEIGHT[2][K]. */
static const char *const bodies[] = {
    /* reductions along each axis and over everything */
    "kernel t(const T *a, S *c, T *d, S *e, T *f) grid(1) warps(WARPS)\n"
    "{\n"
    "    global T A[M][N] = a, D[1][N] = d, F[1] = f;\n"
    "    global S C[M][1] = c, E[1] = e;\n"
    "    reg T x[M][N] = A;\n"
    "    C = sum(x, axis = 1);\n"
    "    D = min(x, axis = 0);\n"
    "    E[0] = sum(x);\n"
    "    F[0] = max(x);\n"
    "}\n",
    /* reads past the edge, and their values with `else` */
    "kernel t(const T *a, S *c, T *d, T *e) grid(1) warps(WARPS)\n"
    "{\n"
    "    global T A[M][N] = a, D[M][N] = d, E[1][N + 4] = e;\n"
    "    global S C[M + 3][1] = c;\n"
    "    reg T x[M + 3][N + 4] = A[-1 +: M + 3][-2 +: N + 4];\n"
    "    reg T y[M + 3][N + 4] = A[-1 +: M + 3][-2 +: N + 4] else 1;\n"
    "    C = sum(x, axis = 1);\n"
    "    D[-1 +: M + 3][-2 +: N + 4] = y;\n"
    "    E = max(y, axis = 0);\n"
    "}\n",
    /* truth */
    "kernel t(const T *a, bool *c, bool *d, i32 *e) grid(1) warps(WARPS)\n"
    "{\n"
    "    global T A[M][N] = a;\n"
    "    global bool C[M][1] = c, D[1][N] = d;\n"
    "    global i32 E[2] = e;\n"
    "    reg bool x[M][N] = A > 0;\n"
    "    C = any(x, axis = 1);\n"
    "    D = all(x || iota(M, 1) > 1, axis = 0);\n"
    "    E[0] = any(A == 5) ? 1 : 2;\n"
    "    E[1] = all(x) ? 1 : 2;\n"
    "}\n",
    /* scans */
    "kernel t(const T *a, S *c, S *d, T *e) grid(1) warps(WARPS)\n"
    "{\n"
    "    global T A[M][N] = a, E[M][N] = e;\n"
    "    global S C[M][N] = c, D[M][N] = d;\n"
    "    reg T x[M][N] = A;\n"
    "    C = scan(add, x, axis = 1);\n"
    "    D = scan(add, x, axis = 0, exclusive = true);\n"
    "    E = scan(max, x, axis = 0);\n"
    "}\n",
    /* shapes */
    "kernel t(const T *a, T *c, T *d, T *e, T *f) grid(1) warps(WARPS)\n"
    "{\n"
    "    global T A[M][N] = a, C[N][M] = c, D[M * N] = d, E[2 * M][3 * N] = e, F[2 * M][N] = f;\n"
    "    reg T x[M][N] = A;\n"
    "    C = trans(x);\n"
    "    D = reshape(x, M * N);\n"
    "    E = repeat(x, 2, 3);\n"
    "    F = repeat_interleave(x, 2, 1);\n"
    "}\n",
    /* tiles reshaped several times, and sums of moved tiles */
    "kernel t(const T *a, S *c, T *d, T *e) grid(1) warps(WARPS)\n"
    "{\n"
    "    global T A[M][N] = a, D[N][M] = d, E[M][N] = e;\n"
    "    global S C[1][M] = c;\n"
    "    reg T x[M][N] = A, y[N][M] = reshape(x, N, M);\n"
    "    C = sum(y + trans(x), axis = 0);\n"
    "    D = max(y, trans(x));\n"
    "    E = trans(y) - x;\n"
    "}\n",
    /* parts, masks, index arithmetic */
    "kernel t(const T *a, T *c, T *d, i32 *e) grid(1) warps(WARPS)\n"
    "{\n"
    "    global T A[M + 2][N + 1] = a, C[M][N] = c, D[M][1] = d;\n"
    "    global i32 E[M][N] = e;\n"
    "    reg T x[M + 2][N + 1] = A;\n"
    "    reg i32 row[M][1] = iota(), column[1][N] = iota();\n"
    "    C = where(column < N - 1 && row >= column - 3, x[2 +: M][0 +: N], x[0 +: M][1 +: N]);\n"
    "    D = x[1 +: M][N +: 1];\n"
    "    E = (row * 3 + column) % 7;\n"
    "}\n",
    /* choices with a scalar; assignment in a loop */
    "kernel t(const T *a, T *c, S *d) grid(1) warps(WARPS)\n"
    "{\n"
    "    global T A[M][N] = a, C[M][N] = c;\n"
    "    global S D[M][1] = d;\n"
    "    reg T x[M][N] = A;\n"
    "    reg S total[M][1] = 0;\n"
    "    for (i32 i = 0; i < 3; i++) {\n"
    "        total += i == 1 ? sum(x, axis = 1) : total + 1;\n"
    "        x = i == 0 ? max(x, 1) : min(x, 2);\n"
    "    }\n"
    "    C = x;\n"
    "    D = total;\n"
    "}\n",
    /* casts, pairs of halves */
    "kernel t(const T *a, f16 *c, bf16 *d, f32 *e, u8 *f) grid(1) warps(WARPS)\n"
    "{\n"
    "    global T A[M][N] = a;\n"
    "    global f16 C[M][N] = c;\n"
    "    global bf16 D[M][N] = d;\n"
    "    global f32 E[M][N] = e;\n"
    "    global u8 F[M][N] = f;\n"
    "    reg T x[M][N] = A;\n"
    "    reg f16 h[M][N] = (f16) x;\n"
    "    C = where(h > 1, h * 2, max(h, trans(reshape(h, N, M))));\n"
    "    D = (bf16) x + 1;\n"
    "    E = (f32) x * 0.5;\n"
    "    F = (u8) x;\n"
    "}\n",
    /* through shared memory, broadcast */
    "kernel t(const T *a, T *c, T *d) grid(1) warps(WARPS)\n"
    "{\n"
    "    global T A[M][N] = a, C[M][N] = c, D[2][M][N] = d;\n"
    "    shared T s[M][N];\n"
    "    s = A;\n"
    "    sync();\n"
    "    reg T x[M][N] = s, y[1][N] = s[M - 1 +: 1];\n"
    "    C = min(x, y);\n"
    "    D = broadcast(y, 2, M, N);\n"
    "}\n",
    /* tables, indexed by tiles, by scalars and by elements of tables */
    "kernel t(const T *a, T *c, f32 *d, S *e, i32 *f) grid(1) warps(WARPS)\n"
    "{\n"
    "    global T A[M][N] = a, C[M][N] = c;\n"
    "    global f32 D[M][N] = d;\n"
    "    global S E[M][1] = e;\n"
    "    global i32 F[M] = f;\n"
    "    reg T x[M][N] = A;\n"
    "    reg i32 place[M][N] = abs((i32) x * 5 + iota(1, N) - iota(M, 1)) % K;\n"
    "    C = PICK[place] + x;\n"
    "    D = WEIGHT[place & 1][ORDER[place]];\n"
    "    E = sum(PICK[place], axis = 1);\n"
    "    i32 at = 0;\n"
    "    for (i32 i = 0; i < M; i++) {\n"
    "        at = ORDER[(at + i) % K];\n"
    "        F[i] = at + (WEIGHT[i % 2][at] > 0.5 ? 1 : 0);\n"
    "    }\n"
    "}\n",
    /* random numbers, of tiles and of scalars */
    "kernel t(const T *a, f32 *c, T *d, i32 *e, u32 *f) grid(1) warps(WARPS)\n"
    "{\n"
    "    global T A[M][N] = a, D[M][N] = d;\n"
    "    global f32 C[M][N] = c;\n"
    "    global i32 E[M][N] = e;\n"
    "    global u32 F[M] = f;\n"
    "    reg T x[M][N] = A;\n"
    "    reg i32 i[M][N] = iota(M, 1) * N + iota(1, N);\n"
    "    C = rand(SEED, i);\n"
    "    D = where(rand(SEED + 1, i) < 0.5, x, x + 1);\n"
    "    E = randint(SEED, i + (i32) x, -N, M + 1);\n"
    "    for (i32 j = 0; j < M; j++)\n"
    "        F[j] = randint(SEED, j) + (u32) randint(j, SEED, 0, 1 + j) + (rand(j, 3) < 0.25 ? 1 : "
    "0);\n"
    "}\n",
};
_Static_assert(sizeof bodies / sizeof *bodies == TILE_BODIES, "as the header says");

struct types {
    const char *data, *sum;
};
static const struct types types[] = {{"f32", "f32"}, {"f16", "f32"}, {"bf16", "f32"},
                                     {"f64", "f64"}, {"i32", "i32"}, {"i8", "i32"},
                                     {"u16", "i32"}, {"i64", "i64"}};
_Static_assert(sizeof types / sizeof *types == TILE_TYPES, "as the header says");

double tile_kernel_number(enum dtype t, int param, uint64_t *seed)
{
    (void)t, (void)param;
    return random_below(seed, 4);
}

enum { MOST_IN_TABLE = 40 };

/* Appends `= {…}` with `count` elements below `most`, each times the scale. */
static size_t write_elements(char *text, size_t size, int count, int most, double scale,
                             uint64_t *seed)
{
    size_t length = 0;
    for (int i = 0; i < count; i++)
        length += (size_t)snprintf(text + length, size - length, "%s%g", i ? ", " : "{",
                                   random_below(seed, most) * scale);
    return length + (size_t)snprintf(text + length, size - length, "}");
}

static size_t write_tables(char *text, size_t size, uint64_t seed)
{
    int k = 1 + random_below(&seed, MOST_IN_TABLE);
    size_t length =
        (size_t)snprintf(text, size, "const i32 K = %d, SEED = %d;\nconst i32 ORDER[K] = ", k,
                         random_below(&seed, 1000));
    length += write_elements(text + length, size - length, k, k, 1, &seed);
    length += (size_t)snprintf(text + length, size - length, ";\nconst f32 WEIGHT[2][K] = {");
    length += write_elements(text + length, size - length, k, 9, 0.125, &seed);
    length += (size_t)snprintf(text + length, size - length, ", ");
    length += write_elements(text + length, size - length, k, 9, 0.125, &seed);
    length += (size_t)snprintf(text + length, size - length, "};\nconst T PICK[K] = ");
    length += write_elements(text + length, size - length, k, 4, 1, &seed);
    return length + (size_t)snprintf(text + length, size - length, ";\n");
}

const char *tile_kernel_write(char *text, size_t size, int body, int type, int m, int n, int warps)
{
    size_t length = (size_t)snprintf(
        text, size, "const i32 M = %d, N = %d, WARPS = %d;\ntype T = {%s};\ntype S = {%s};\n", m, n,
        warps, types[type].data, types[type].sum);
    int seed = ((m * 64 + n) * 64 + warps) * TILE_TYPES + type;
    if (strstr(bodies[body], "SEED") || strstr(bodies[body], "ORDER"))
        length += write_tables(text + length, size - length, (uint64_t)seed * 0x9e3779b97f4a7c15U);
    snprintf(text + length, size - length, "%s", bodies[body]);
    return text;
}

const char *tile_kernel_random(char *text, size_t size, uint64_t *seed)
{
    static const int extents[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 20, 31, 32, 33, 48, 64};
    static const int warps[] = {1, 2, 3, 4, 8};
    int m = extents[random_below(seed, 16)], n = extents[random_below(seed, 16)];
    int body = random_below(seed, TILE_BODIES), type = random_below(seed, TILE_TYPES);
    return tile_kernel_write(text, size, body, type, m, n, warps[random_below(seed, 5)]);
}
