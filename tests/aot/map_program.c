/* Kernels built with tensor maps (map_builder.c), on a driver and on the CPU: the maps that they get, how
 * often they are encoded, refused views, clusters. With an argument, on a driver too old for maps. */
#include "maps.h"
#include "pairs.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

extern int cuCtxPushCurrent_v2(void *context);
extern int cuDevicePrimaryCtxRetain(void **context, int device);
extern int cuInit(unsigned flags);
extern int cuMemAlloc_v2(uint64_t *address, size_t bytes);
extern int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream);
extern int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream);
extern int cuStreamSynchronize(void *stream);
extern int cuTensorMapEncodeTiled(void *code, int type, unsigned rank, uint64_t address,
                                  const uint64_t *extents, const uint64_t *strides,
                                  const uint32_t *box, const uint32_t *steps, int interleave,
                                  int swizzle, int promotion, int fill);
/* Only the driver of the tests has it. */
__attribute__((weak)) extern long fake_cuda_calls(const char *name);

static int failures;

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("line %d: %s; %s\n", __LINE__, #condition, maps_message());                     \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)
#define EXPECT_SAID(message, text)                                                                 \
    do {                                                                                           \
        if (!strstr(message, text)) {                                                              \
            printf("line %d: \"%s\" is not in: %s\n", __LINE__, text, message);                    \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

enum { CODE = 128, BYTES = 1 << 16 };

static char *device(void)
{
    uint64_t address = 0;
    EXPECT(cuMemAlloc_v2(&address, BYTES) == 0);
    EXPECT(cuMemsetD8Async(address, 1, BYTES, NULL) == 0);
    return (char *)(uintptr_t)address;
}

static void fetch(unsigned char *codes, const void *from)
{
    EXPECT(cuMemcpyDtoHAsync_v2(codes, (uint64_t)(uintptr_t)from, 3 * CODE, NULL) == 0);
    EXPECT(cuStreamSynchronize(NULL) == 0);
}

/* Returns whether the code is what the driver makes of such a matrix of f16. */
static int is_code(const unsigned char *code, const void *address, int rows, int columns, int step,
                   int swizzle)
{
    enum { F16 = 6, PROMOTE_256_BYTES = 3 };
    _Alignas(64) unsigned char expected[CODE];
    const uint64_t extents[] = {(uint64_t)columns, (uint64_t)rows},
                   strides[] = {2 * (uint64_t)step};
    const uint32_t box[] = {16u << swizzle >> 1, swizzle == 3 ? 16 : 8}, steps[] = {1, 1};
    EXPECT(cuTensorMapEncodeTiled(expected, F16, 2, (uint64_t)(uintptr_t)address, extents, strides,
                                  box, steps, 0, swizzle, PROMOTE_256_BYTES, 0) == 0);
    return memcmp(code, expected, CODE) == 0;
}

static long encoded(void)
{
    return fake_cuda_calls ? fake_cuda_calls("cuTensorMapEncodeTiled") : 0;
}

struct arrays {
    char *a, *c, *codes, *workspace;
};

static maps_status start(const maps_module *m, const struct arrays *x, int rows, int columns,
                         int step, int pad)
{
    return maps_move(m, NULL, rows, columns, step, pad, 1, (const uint16_t *)x->a, (uint16_t *)x->c,
                     (uint8_t *)x->codes, x->workspace, BYTES);
}

static void test_maps(const maps_module *m, const struct arrays *x)
{
    unsigned char codes[3 * CODE], zeros[CODE] = {0};
    EXPECT(start(m, x, 20, 64, 80, 8) == MAPS_OK);
    fetch(codes, x->codes);
    EXPECT(is_code(codes, x->a + 16, 20, 64, 80, 3));
    EXPECT(is_code(codes + CODE, x->workspace, 64, 72, 72, 3));
    EXPECT(is_code(codes + 2 * CODE, x->c, 20, 64, 64, 3));
    long before = encoded();
    for (int i = 0; i < 5; i++)
        EXPECT(start(m, x, 20, 64, 80, 8) == MAPS_OK);
    EXPECT(encoded() == before);
    EXPECT(start(m, x, 20, 64, 80, 16) == MAPS_OK); /* the workspace has longer rows */
    EXPECT(encoded() == before + (fake_cuda_calls ? 1 : 0));
    fetch(codes, x->codes);
    EXPECT(is_code(codes + CODE, x->workspace, 64, 80, 80, 3));
    EXPECT(start(m, x, 0, 17, 80, 16) == MAPS_OK); /* A and C have no elements */
    fetch(codes, x->codes);
    EXPECT(memcmp(codes, zeros, CODE) == 0 && memcmp(codes + 2 * CODE, zeros, CODE) == 0);
}

static void test_refused(const maps_module *m, const struct arrays *x)
{
    EXPECT(start(m, x, 20, 17, 80, 8) == MAPS_BAD_ARGUMENT);
    EXPECT_SAID(maps_message(), "maps_move: `C` has rows of 34 bytes along axis 0; tensor copies "
                                "need rows of a multiple of 16 bytes: pad the rows, or take a "
                                "kernel without tensor copies");
    EXPECT(start(m, x, 20, 64, 65, 8) == MAPS_BAD_ARGUMENT);
    EXPECT_SAID(maps_message(), "`A` has rows of 130 bytes along axis 0");
    EXPECT(start(m, x, 1, 17, 65, 8) == MAPS_OK); /* a single row has no next one */
}

static pairs_status start_pairs(const pairs_module *m, const struct arrays *x, int blocks)
{
    return pairs_move(m, NULL, 20, 64, 80, 8, blocks, (const uint16_t *)x->a, (uint16_t *)x->c,
                      (uint8_t *)x->codes, x->workspace, BYTES);
}

static void test_clusters(const pairs_module *m, const struct arrays *x)
{
    unsigned char codes[3 * CODE];
    EXPECT(start_pairs(m, x, 4) == PAIRS_OK);
    fetch(codes, x->codes);
    EXPECT(is_code(codes, x->a + 16, 20, 64, 80, 2));
    EXPECT(is_code(codes + 2 * CODE, x->c, 20, 64, 64, 2));
    EXPECT(start_pairs(m, x, 3) == PAIRS_BAD_SIZE);
    EXPECT_SAID(pairs_message(), "3 blocks along x are not a multiple of the cluster's 2");
}

static void test_old_driver(const maps_module *m, const pairs_module *pairs)
{
    char *somewhere = (char *)(uintptr_t)4096; /* not reached */
    struct arrays x = {somewhere, somewhere, somewhere, somewhere};
    EXPECT(start(m, &x, 20, 64, 80, 8) == MAPS_DRIVER_ERROR);
    EXPECT_SAID(maps_message(), "those need a driver for CUDA 12.0");
    EXPECT(start_pairs(pairs, &x, 2) == PAIRS_DRIVER_ERROR);
}

static void test_cpu(void)
{
    static uint16_t a[16 * 24 + 8], c[16 * 16];
    static uint8_t codes[384] = {1};
    maps_module *m;
    EXPECT(maps_load_cpu(NULL, &m) == MAPS_OK);
    for (int i = 0; i < 16 * 24; i++)
        a[i + 8] = (uint16_t)i;
    EXPECT(maps_move(m, NULL, 16, 16, 24, 16, 1, a, c, codes, NULL, 0) == MAPS_OK);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++)
            EXPECT(c[16 * i + j] == 24 * i + j);
    EXPECT(codes[0] == 0);
    maps_unload(m);
}

int main(int argc, char **argv)
{
    maps_module *m;
    pairs_module *pairs;
    void *context;
    (void)argv;
    EXPECT(maps_load(0, &m) == MAPS_OK && pairs_load(0, &pairs) == PAIRS_OK);
    if (failures)
        return 1;
    if (argc > 1) {
        test_old_driver(m, pairs);
    } else {
        EXPECT(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&context, 0) == 0);
        EXPECT(cuCtxPushCurrent_v2(context) == 0);
        struct arrays x = {device(), device(), device(), device()};
        test_maps(m, &x);
        test_refused(m, &x);
        test_clusters(pairs, &x);
        test_cpu();
    }
    maps_unload(m);
    pairs_unload(pairs);
    if (!failures)
        printf("PASS\n");
    return failures > 0;
}
