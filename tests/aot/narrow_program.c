/* narrow.tile on the GPU that its narrow kernel is for, and with an argument on another. */
#include "narrow.h"

#include <stdio.h>
#include <string.h>

extern int cuCtxPushCurrent_v2(void *context);
extern int cuDevicePrimaryCtxRetain(void **context, int device);
extern int cuMemAlloc_v2(uint64_t *address, size_t bytes);
extern int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream);
extern int cuStreamSynchronize(void *stream);

static int has(uint64_t address, float expected)
{
    float c[32];
    int good =
        cuMemcpyDtoHAsync_v2(c, address, sizeof c, NULL) == 0 && cuStreamSynchronize(NULL) == 0;
    for (int i = 0; i < 32; i++)
        good = good && c[i] == expected;
    return good;
}

int main(int argc, char **argv)
{
    narrow_module *m;
    void *context;
    uint64_t c;
    (void)argv;
    if (narrow_load(0, &m) != NARROW_OK || cuDevicePrimaryCtxRetain(&context, 0) != 0 ||
        cuCtxPushCurrent_v2(context) != 0 || cuMemAlloc_v2(&c, 128) != 0) {
        puts(narrow_message());
        return 1;
    }
    float *address = (float *)(uintptr_t)c;
    int good = narrow_any(m, NULL, 32, address) == NARROW_OK && has(c, 2);
    narrow_status status = narrow_own(m, NULL, 32, address);
    if (argc > 1)
        good = good && status == NARROW_NOT_BUILT &&
               strstr(narrow_message(), "its code is for sm_90a") != NULL;
    else
        good = good && status == NARROW_OK && has(c, 1);
    puts(good ? "PASS" : narrow_message());
    narrow_unload(m);
    return !good;
}
