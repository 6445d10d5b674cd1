/* The family of copies.tile: COLUMNS ADDED … are the columns of launches and which number their kernel adds. */
#include "copies.h"

#include <stdio.h>
#include <stdlib.h>

extern int cuCtxPushCurrent_v2(void *context);
extern int cuDevicePrimaryCtxRetain(void **context, int device);
extern int cuMemAlloc_v2(uint64_t *address, size_t bytes);
extern int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream);
extern int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream);
extern int cuStreamSynchronize(void *stream);

enum { ROWS = 70, LENGTH = ROWS * 32 };

static int launch(const copies_module *m, uint64_t a, uint64_t c, int columns, float added)
{
    static float got[LENGTH];
    if (copies_launch(m, NULL, ROWS, columns, (const float *)(uintptr_t)a, (float *)(uintptr_t)c,
                      NULL, 0) != COPIES_OK ||
        cuMemcpyDtoHAsync_v2(got, c, sizeof got, NULL) != 0 || cuStreamSynchronize(NULL) != 0)
        return 0;
    for (int i = 0; i < ROWS * columns; i++)
        if (got[i] != (float)(i % 97) + added) {
            printf("%d columns, element %d: %g\n", columns, i, (double)got[i]);
            return 0;
        }
    return 1;
}

int main(int argc, char **argv)
{
    static float values[LENGTH];
    copies_module *m;
    void *context;
    uint64_t a, c;
    for (int i = 0; i < LENGTH; i++)
        values[i] = (float)(i % 97);
    int good = copies_load(0, &m) == COPIES_OK && cuDevicePrimaryCtxRetain(&context, 0) == 0 &&
               cuCtxPushCurrent_v2(context) == 0 && cuMemAlloc_v2(&a, sizeof values) == 0 &&
               cuMemAlloc_v2(&c, sizeof values) == 0 &&
               cuMemcpyHtoDAsync_v2(a, values, sizeof values, NULL) == 0;
    for (int i = 1; i + 1 < argc && good; i += 2)
        good = launch(m, a, c, atoi(argv[i]), (float)atoi(argv[i + 1]));
    puts(good ? "PASS" : copies_message());
    return !good;
}
