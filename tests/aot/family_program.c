/* A family in a program: for sizes m,n,k of the command line, the grid of the kernel that was
 * started, its workspace, and whether the values are right. Linked with --wrap=cuLaunchKernel. */
#include "products.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int cuCtxPushCurrent_v2(void *context);
extern int cuDevicePrimaryCtxRetain(void **context, int device);
extern int cuMemAlloc_v2(uint64_t *address, size_t bytes);
extern int cuMemFree_v2(uint64_t address);
extern int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream);
extern int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream);
extern int cuStreamSynchronize(void *stream);
extern int __real_cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                 unsigned by, unsigned bz, unsigned shared, void *stream,
                                 void **arguments, void **extra);
extern int __wrap_cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                 unsigned by, unsigned bz, unsigned shared, void *stream,
                                 void **arguments, void **extra);

/* The first member of CUlaunchConfig is the grid. */
extern int __real_cuLaunchKernelEx(const unsigned *config, void *function, void **arguments,
                                   void **extra);
extern int __wrap_cuLaunchKernelEx(const unsigned *config, void *function, void **arguments,
                                   void **extra);

static unsigned grid[3];

int __wrap_cuLaunchKernelEx(const unsigned *config, void *function, void **arguments, void **extra)
{
    if (getenv("FAKE_CUDA_VERSION")) /* older than CUDA 12.3 */
        return 801;                  /* CUDA_ERROR_NOT_SUPPORTED */
    memcpy(grid, config, sizeof grid);
    return __real_cuLaunchKernelEx(config, function, arguments, extra);
}

int __wrap_cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, void *stream, void **arguments,
                          void **extra)
{
    grid[0] = gx;
    grid[1] = gy;
    grid[2] = gz;
    return __real_cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, arguments,
                                 extra);
}

static void need(int good, const char *what)
{
    if (good)
        return;
    printf("%s\n", what);
    exit(1);
}

static float *on_gpu(const float *from, size_t count)
{
    uint64_t address;
    need(cuMemAlloc_v2(&address, count * sizeof *from + 64) == 0, "cuMemAlloc");
    need(!from || cuMemcpyHtoDAsync_v2(address, from, count * sizeof *from, NULL) == 0,
         "to the GPU");
    return (float *)(uintptr_t)address;
}

static float *numbers(size_t count, unsigned step)
{
    float *list = malloc((count + 1) * sizeof *list);
    need(list != NULL, "out of memory");
    for (size_t i = 0; i < count; i++)
        list[i] = (float)((i * step + 11) % 64) / 64 - 0.5f;
    return list;
}

static int right(int m, int n, int k, const float *a, const float *b, const float *c)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int p = 0; p < k; p++)
                sum += (double)a[i * k + p] * (double)b[p * n + j];
            if (!(fabs(sum - (double)c[i * n + j]) < 1e-3))
                return 0;
        }
    return 1;
}

/* offset: elements of `a` past an aligned address */
static void run(const products_module *module, int m, int n, int k, size_t offset)
{
    size_t in_a = m > 0 ? (size_t)m * (size_t)k : 0, in_b = (size_t)k * (size_t)n;
    size_t in_c = m > 0 ? (size_t)m * (size_t)n : 0;
    size_t bytes = products_f32_workspace(module, m, n, k);
    float *a = numbers(in_a, 37), *b = numbers(in_b, 53), *c = numbers(in_c, 1);
    float *gpu[] = {on_gpu(NULL, in_a + offset), on_gpu(b, in_b), on_gpu(NULL, in_c),
                    on_gpu(NULL, bytes / 4)};
    float *start = gpu[0] + offset;
    memset(grid, 0, sizeof grid);
    need(cuMemcpyHtoDAsync_v2((uint64_t)(uintptr_t)start, a, in_a * sizeof *a, NULL) == 0,
         "to the GPU");
    products_status status =
        products_f32(module, NULL, m, n, k, start, gpu[1], gpu[2], gpu[3], bytes);
    printf("%d,%d,%d: grid %u %u %u, %zu bytes: ", m, n, k, grid[0], grid[1], grid[2], bytes);
    if (status != PRODUCTS_OK) {
        printf("%s: %s\n", products_status_text(status), products_message());
    } else {
        need(cuMemcpyDtoHAsync_v2(c, (uint64_t)(uintptr_t)gpu[2], in_c * sizeof *c, NULL) == 0 &&
                 cuStreamSynchronize(NULL) == 0,
             "the kernel failed");
        puts(right(m, n, k, a, b, c) ? "PASS" : "FAIL");
    }
    for (int i = 0; i < 4; i++)
        cuMemFree_v2((uint64_t)(uintptr_t)gpu[i]);
    free(a);
    free(b);
    free(c);
}

/* --- choices of several threads --- */

enum { THREADS = 4, SIZES = 300 };

static const products_module *shared_module;
static size_t expected[SIZES];

static void *choose_all(void *user)
{
    for (int turn = 0; turn < 5; turn++)
        for (int i = 0; i < SIZES; i++)
            need(products_f32_workspace(shared_module, 1 + i, 64, 64) == expected[i],
                 "a thread chose otherwise");
    return user;
}

static void test_threads(const products_module *module)
{
    pthread_t threads[THREADS];
    shared_module = module;
    for (int i = 0; i < SIZES; i++)
        expected[i] = products_f32_workspace(module, 1 + i, 64, 64);
    for (int i = 0; i < THREADS; i++)
        need(pthread_create(&threads[i], NULL, choose_all, NULL) == 0, "no thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    puts("threads: PASS");
}

int main(int argc, char **argv)
{
    products_module *module;
    void *context;
    int m, n, k, offset = 0;
    if (products_load(0, &module) != PRODUCTS_OK) {
        printf("%s\n", products_message());
        return 1;
    }
    need(cuDevicePrimaryCtxRetain(&context, 0) == 0 && cuCtxPushCurrent_v2(context) == 0,
         "no context");
    for (int i = 1; i < argc; i++) {
        offset = 0;
        need(sscanf(argv[i], "%d,%d,%d+%d", &m, &n, &k, &offset) >= 3, "expected m,n,k");
        run(module, m, n, k, (size_t)offset);
    }
    test_threads(module);
    products_unload(module);
    return 0;
}
