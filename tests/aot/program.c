/* Three built modules in one program, linked with a driver library: values, refused sizes, loads
 * by several threads. */
#include "odd.h"
#include "scores.h"
#include "sgemm_tiled.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int cuCtxPushCurrent_v2(void *context);
extern int cuDevicePrimaryCtxRetain(void **context, int device);
extern int cuMemAlloc_v2(uint64_t *address, size_t bytes);
extern int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream);
extern int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream);
extern int cuStreamSynchronize(void *stream);

static int failures;

static void expect(int good, const char *what)
{
    if (!good) {
        printf("%s\n", what);
        failures++;
    }
}

#define EXPECT(condition) expect(condition, #condition)
/* Checks the status, and that the message contains this text. */
#define EXPECT_STATUS(call, status, said)                                                          \
    do {                                                                                           \
        int got = (int)(call);                                                                     \
        if (got != (int)(status) || !strstr(odd_message(), said)) {                                \
            printf("%s: %d, \"%s\"; expected %s, \"%s\"\n", #call, got, odd_message(), #status,    \
                   said);                                                                          \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

static void *device(const void *from, size_t bytes)
{
    uint64_t address = 0;
    EXPECT(cuMemAlloc_v2(&address, bytes + 256) == 0);
    if (from)
        EXPECT(cuMemcpyHtoDAsync_v2(address, from, bytes, NULL) == 0);
    return (void *)(uintptr_t)address;
}

static void fetch(void *to, const void *from, size_t bytes)
{
    EXPECT(cuMemcpyDtoHAsync_v2(to, (uint64_t)(uintptr_t)from, bytes, NULL) == 0);
    EXPECT(cuStreamSynchronize(NULL) == 0);
}

static void test_names(const odd_module *m)
{
    float out[20][16] = {{0}};
    float *there = device(out, sizeof out);
    EXPECT(odd_names(m, NULL, 20, 30, 12, 16, there) == ODD_OK);
    fetch(out, there, sizeof out);
    for (int i = 0; i < 20; i++)
        for (int j = 0; j < 16; j++)
            EXPECT(out[i][j] == 42);
    EXPECT_STATUS(odd_names(m, NULL, 20, 30, 12, 16, NULL), ODD_BAD_ARGUMENT, "is NULL");
    EXPECT(odd_names(m, NULL, 0, 30, 12, 16, NULL) == ODD_OK);
    EXPECT_STATUS(odd_names(m, NULL, 20, 30, 12, 17, there), ODD_NOT_BUILT,
                  "int = 20, p = 30, stream = 12, workspace = 17; there is workspace = 16");
}

static void test_scalars(const odd_module *m)
{
    double out[20] = {0};
    double *there = device(out, sizeof out);
    EXPECT(odd_scalars(m, NULL, 0.5, 0.25f, 0x3c00, 0x3f80, -5, -6, -7, 8, 9, 10, 11, true, 1.5f,
                       true, 1024, 20, there) == ODD_OK);
    fetch(out, there, sizeof out);
    for (int i = 0; i < 20; i++)
        EXPECT(out[i] == 0.5 + 0.25 + 1 + 1 - 5 - 6 - 7 + 8 + 9 + 10 + 11 + 1.5 + 1024);
    EXPECT_STATUS(
        odd_scalars(m, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, true, 1.5f, false, 1024, 20, there),
        ODD_NOT_BUILT, "on = 0");
}

static size_t padded(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

static void test_arithmetic(const odd_module *m)
{
    enum { M = 20, N = 8, U = 4, W = 2, V = 2 };
    size_t scratch = 4 * (100 - M + 1) * 8, other = 4 * M * (N + 1) * (W << 1),
           last = 4 * (V + 1) * 2;
    size_t bytes = padded(scratch) + padded(other) + padded(last);
    float *x = device(NULL, 32 * 8 * 4);
    void *room = device(NULL, bytes);
    EXPECT(odd_arithmetic_workspace(m, M, N, U, W, V, true) == bytes);
    EXPECT(odd_arithmetic(m, NULL, M, N, U, W, V, true, x, room, bytes) == ODD_OK);
    EXPECT(cuStreamSynchronize(NULL) == 0);
    EXPECT_STATUS(odd_arithmetic(m, NULL, M, N, U, W, V, true, x, room, bytes - 1),
                  ODD_SMALL_WORKSPACE, "bytes, it needs");
    EXPECT_STATUS(odd_arithmetic(m, NULL, M, N, U, W, V, true, x, NULL, bytes), ODD_SMALL_WORKSPACE,
                  "the workspace has 0 bytes");
    EXPECT_STATUS(odd_arithmetic(m, NULL, M, N, U, W, V, true, x, (char *)room + 16, bytes),
                  ODD_MISALIGNED, "`workspace`");
    EXPECT_STATUS(
        odd_arithmetic(m, NULL, M, N, U, W, V, true, (float *)(void *)((char *)x + 2), room, bytes),
        ODD_MISALIGNED, "the kernel needs an address that 4 divides");
    EXPECT_STATUS(odd_arithmetic(m, NULL, 21, N, U, W, V, true, x, room, bytes), ODD_NOT_ASSUMED,
                  "`m % 2 == 0`");
    EXPECT_STATUS(odd_arithmetic(m, NULL, -100, N, U, W, V, true, x, room, bytes), ODD_BAD_SIZE,
                  "negative (-80)");
    EXPECT_STATUS(odd_arithmetic(m, NULL, INT32_MAX - 1, N, U, W, V, true, x, room, bytes),
                  ODD_BAD_SIZE, "`(m + 15) / 16 * 16` overflows");
    EXPECT_STATUS(odd_arithmetic(m, NULL, M, N, U, W, UINT64_MAX, true, x, room, bytes),
                  ODD_BAD_SIZE, "overflows");
    EXPECT_STATUS(odd_arithmetic(m, NULL, M, N, U, INT64_MAX, V, true, x, room, bytes),
                  ODD_BAD_SIZE, "`w << 1` overflows");
    EXPECT_STATUS(odd_arithmetic(m, NULL, M, N, U, INT64_MAX / 64, V, true, x, room, bytes),
                  ODD_BAD_SIZE, "`Other` overflows");
    EXPECT_STATUS(odd_arithmetic(m, NULL, M, N, 1u << 20, W, V, true, x, room, bytes), ODD_BAD_SIZE,
                  "blocks are more than GPUs take");
    EXPECT(odd_arithmetic_workspace(m, 21, N, U, W, V, true) == 0);
    EXPECT(odd_arithmetic_workspace(NULL, M, N, U, W, V, true) == 0);
}

/* The caller gives neither `rows` nor `last`. */
static void test_derived(const odd_module *m)
{
    enum { H = 40 };
    float a[H], c[H / 2];
    for (int i = 0; i < H; i++)
        a[i] = (float)i;
    float *from = device(a, sizeof a), *to = device(NULL, sizeof c);
    EXPECT(odd_derived(m, NULL, H, 2, 1.5f, from, to) == ODD_OK);
    fetch(c, to, sizeof c);
    for (int i = 0; i < H / 2; i++)
        EXPECT(c[i] == a[2 * i] * 1.5f + 20 * H - 1);
    EXPECT_STATUS(odd_derived(m, NULL, 42, 2, 1.5f, from, to), ODD_NOT_BUILT, "rows = 21");
    EXPECT_STATUS(odd_derived(m, NULL, H, 0, 1.5f, from, to), ODD_BAD_SIZE,
                  "`rows` divides by zero for these sizes");
}

/* Small integers: exact in f16, sums too. */
static uint16_t half(int v)
{
    int exponent = 0, magnitude = v < 0 ? -v : v;
    if (v == 0)
        return 0;
    while (magnitude >> (exponent + 1))
        exponent++;
    unsigned fraction = ((unsigned)magnitude << 10 >> exponent) & 0x3ff;
    return (uint16_t)((v < 0 ? 0x8000u : 0) | (unsigned)(exponent + 15) << 10 | fraction);
}

enum { SIDE = 64 };
static int value_a(int i, int p)
{
    return (i * 3 + p * 5) % 7 - 3;
}
static int value_b(int p, int j)
{
    return (p * 2 + j * 3) % 5 - 2;
}

/* The arrays begin `shift` elements after an address that 16 divides. */
static void test_product(const odd_module *module, int m, int n, int k, int shift)
{
    static uint16_t a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE];
    for (int i = 0; i < m * k; i++)
        a[i + shift] = half(value_a(i / k, i % k));
    for (int i = 0; i < k * n; i++)
        b[i + shift] = half(value_b(i / n, i % n));
    memset(c, 0xff, sizeof c);
    uint16_t *on_a = device(a, sizeof a), *on_b = device(b, sizeof b), *on_c = device(c, sizeof c);
    EXPECT(odd_product_f16(module, NULL, m, n, k, on_a + shift, on_b + shift, on_c + shift) ==
           ODD_OK);
    fetch(c, on_c, sizeof c);
    int wrong = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            int sum = 0;
            for (int p = 0; p < k; p++)
                sum += value_a(i, p) * value_b(p, j);
            wrong += c[i * n + j + shift] != half(sum);
        }
    for (int i = 0; i < SIDE * SIDE; i++)
        wrong += (i < shift || i >= m * n + shift) && c[i] != 0xffff;
    if (wrong)
        printf("product of %d x %d x %d, shifted by %d: %d elements wrong\n", m, n, k, shift,
               wrong);
    failures += wrong > 0;
}

static void *load(void *out)
{
    expect(odd_load(0, out) == ODD_OK, odd_message());
    EXPECT(*odd_message() == 0); /* nor one about machine code that the driver refused */
    return NULL;
}

static void test_loads(void)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    odd_module *modules[THREADS] = {NULL}, *again;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, load, &modules[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 1; i < THREADS; i++)
        EXPECT(modules[i] && modules[i] == modules[0]);
    for (int i = 0; i < THREADS; i++)
        odd_unload(modules[i]);
    EXPECT_STATUS(odd_load(99, &again), ODD_NO_DEVICE, "there is no GPU 99: the driver sees ");
    EXPECT(!again);
    EXPECT_STATUS(odd_load(0, NULL), ODD_BAD_ARGUMENT, "`module` is NULL");
    EXPECT_STATUS(odd_names(NULL, NULL, 1, 1, 1, 16, NULL), ODD_BAD_ARGUMENT, "`module` is NULL");
    for (int s = 0; s <= ODD_DRIVER_ERROR; s++)
        EXPECT(strcmp(odd_status_text((odd_status)s), "no such status") != 0);
}

int main(void)
{
    static const int sizes[] = {16, 17, 32, 40, 48};
    odd_module *odd = NULL;
    scores_module *scores = NULL;
    sgemm_tiled_module *sgemm = NULL;
    void *context;
    test_loads();
    expect(odd_load(0, &odd) == ODD_OK, odd_message());
    EXPECT(strstr(odd_message(), "`module` is NULL") != NULL); /* of the failed call before */
    expect(scores_load(0, &scores) == SCORES_OK, scores_message());
    expect(sgemm_tiled_load(0, &sgemm) == SGEMM_TILED_OK, sgemm_tiled_message());
    if (failures)
        return 1;
    EXPECT(cuDevicePrimaryCtxRetain(&context, 0) == 0 && cuCtxPushCurrent_v2(context) == 0);
    test_names(odd);
    test_scalars(odd);
    test_arithmetic(odd);
    test_derived(odd);
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 5; j++)
            test_product(odd, sizes[i], sizes[j], sizes[(i + j) % 5], (i + j) % 3);
    float one[1] = {3}, *x = device(one, sizeof one), *y = device(NULL, sizeof one);
    EXPECT(sgemm_tiled_launch(sgemm, NULL, 1, 1, 1, x, x, y) == SGEMM_TILED_OK);
    fetch(one, y, sizeof one);
    EXPECT(one[0] == 9);
    EXPECT(sgemm_tiled_launch(sgemm, NULL, 1, 1, 1, x + 1, x, y) == SGEMM_TILED_MISALIGNED);
    EXPECT(sgemm_tiled_launch(sgemm, NULL, 0, 1, 1, NULL, NULL, NULL) == SGEMM_TILED_OK);
    odd_unload(odd);
    scores_unload(scores);
    sgemm_tiled_unload(sgemm);
    printf("%s\n", failures ? "FAIL" : "PASS");
    return failures != 0;
}
