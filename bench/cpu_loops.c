/* Compares kernels written for threads, as the CPU engine runs them, with the same loops in C,
 * as a C compiler vectorises them.
 *
 *     cc -O3 -march=native -Iinclude bench/cpu_loops.c build/libtilewright.a -lm -ldl -lpthread \
 *         -o cpu_loops
 *     ./cpu_loops [N [RUNS]]
 *
 * Run it from the repository's root. For C[N][N] = A · B of floats (N: 512) on one thread, it
 * prints the least time of RUNS (10) runs in milliseconds of processor time, and GFLOP/s;
 * kernels and loops take turns. Status 1: the values of a kernel differ from those of the plain
 * loops by more than a sum of N products in another order may. */
#include "tilewright.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { T = 32, KERNELS = 7, LOOPS = 2 };

static const char *const files[KERNELS] = {
    "naive", "tiled", "padded", "transposed", "double_buffered", "vector_load", "register_tiled"};

struct product {
    int n;
    const float *a, *b;
    float *c;
};

static double milliseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* not counting other work of the machine */
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* --- the loops --- */

/* kernels/sgemm/naive.tile: one element of c at a time. */
static void naive(const struct product *x)
{
    int n = x->n;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int p = 0; p < n; p++)
                sum += x->a[i * n + p] * x->b[p * n + j];
            x->c[i * n + j] = sum;
        }
}

static void load(float to[T][T], const float *from, int n, int row, int col)
{
    for (int y = 0; y < T; y++)
        for (int x = 0; x < T; x++)
            to[y][x] = row + y < n && col + x < n ? from[(row + y) * n + col + x] : 0;
}

/* kernels/sgemm/tiled.tile: a block of T × T elements of c from tiles of a and b. */
static void tiled(const struct product *x)
{
    int n = x->n;
    for (int row = 0; row < n; row += T)
        for (int col = 0; col < n; col += T) {
            float as[T][T], bs[T][T], sum[T][T] = {{0}};
            for (int p = 0; p < n; p += T) {
                load(as, x->a, n, row, p);
                load(bs, x->b, n, p, col);
                for (int y = 0; y < T; y++)
                    for (int i = 0; i < T; i++)
                        for (int q = 0; q < T; q++)
                            sum[y][i] += as[y][q] * bs[q][i];
            }
            for (int y = 0; y < T && row + y < n; y++)
                for (int i = 0; i < T && col + i < n; i++)
                    x->c[(row + y) * n + col + i] = sum[y][i];
        }
}

/* --- the kernels --- */

static void need(tw_context *ctx, tw_status status)
{
    if (status == TW_OK)
        return;
    fprintf(stderr, "%s", tw_context_messages(ctx));
    exit(1);
}

static tw_launch *open_kernel(tw_context *ctx, const char *name, const struct product *x)
{
    char path[64];
    tw_module *module;
    tw_launch *launch;
    tw_array array = {.size = sizeof array, .dtype = TW_F32, .rank = 2, .shape = {x->n, x->n}};
    snprintf(path, sizeof path, "kernels/sgemm/%s.tile", name);
    need(ctx, tw_module_from_file(ctx, path, &module));
    need(ctx, tw_launch_new(tw_module_kernel_at(module, 0), &launch));
    array.data = (void *)(uintptr_t)x->a;
    need(ctx, tw_launch_array(launch, "a", &array));
    array.data = (void *)(uintptr_t)x->b;
    need(ctx, tw_launch_array(launch, "b", &array));
    array.data = x->c;
    need(ctx, tw_launch_array(launch, "c", &array));
    need(ctx, tw_launch_prepare(launch));
    return launch;
}

static float *numbers(int n, unsigned seed)
{
    float *x = malloc((size_t)n * (size_t)n * sizeof *x);
    for (size_t i = 0; x && i < (size_t)n * (size_t)n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) / (float)(1 << 24) - 0.5f;
    }
    if (!x)
        exit(1);
    return x;
}

static float difference(const float *x, const float *y, int n)
{
    float most = 0;
    for (int i = 0; i < n * n; i++)
        most = fmaxf(most, fabsf(x[i] - y[i]));
    return most;
}

static void report(const char *what, const char *name, int n, double ms)
{
    printf("%-7s %-16s %9.3f ms %8.2f GFLOP/s\n", what, name, ms, 2e-6 * n * n * n / ms);
}

int main(int argc, char **argv)
{
    static void (*const loops[LOOPS])(const struct product *) = {naive, tiled};
    int n = argc > 1 ? atoi(argv[1]) : 512, runs = argc > 2 ? atoi(argv[2]) : 10, status = 0;
    struct product x = {n, numbers(n, 1), numbers(n, 2), numbers(n, 3)}, y = x;
    tw_config config = {.size = sizeof config, .threads = 1};
    tw_context *ctx;
    tw_launch *launch[KERNELS];
    double least[LOOPS + KERNELS];
    if (tw_context_new(&config, &ctx) != TW_OK)
        return 1;
    y.c = numbers(n, 4);
    for (int i = 0; i < KERNELS; i++)
        launch[i] = open_kernel(ctx, files[i], &y);
    for (int run = 0; run < runs; run++)
        for (int i = 0; i < LOOPS + KERNELS; i++) {
            double start = milliseconds();
            if (i < LOOPS)
                loops[i](&x);
            else
                need(ctx, tw_launch_run(launch[i - LOOPS]));
            double ms = milliseconds() - start;
            least[i] = run == 0 || ms < least[i] ? ms : least[i];
            if (i >= LOOPS && difference(x.c, y.c, n) > 1e-6f * (float)n)
                status = 1;
        }
    for (int i = 0; i < LOOPS + KERNELS; i++)
        report(i < LOOPS ? "C" : "kernel", files[i < LOOPS ? i : i - LOOPS], n, least[i]);
    if (status)
        fprintf(stderr, "a kernel's values are wrong\n");
    for (int i = 0; i < KERNELS; i++)
        tw_launch_free(launch[i]);
    tw_context_free(ctx);
    free((void *)(uintptr_t)x.a);
    free((void *)(uintptr_t)x.b);
    free(x.c);
    free(y.c);
    return status;
}
