/* A launch takes the version for its own bits: 0.0 and -0.0 are equal, and 1 / s tells them apart. */
#include "signs.h"

#include <math.h>
#include <stdio.h>

extern int cuCtxPushCurrent_v2(void *context);
extern int cuDevicePrimaryCtxRetain(void **context, int device);
extern int cuMemAlloc_v2(uint64_t *address, size_t bytes);
extern int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream);
extern int cuStreamSynchronize(void *stream);

static float value_of(const signs_module *m, float s, double d)
{
    uint64_t there = 0;
    float here = 0;
    signs_status status;
    cuMemAlloc_v2(&there, 256);
    status = signs_launch(m, NULL, s, d, (float *)(uintptr_t)there);
    cuMemcpyDtoHAsync_v2(&here, there, sizeof here, NULL);
    cuStreamSynchronize(NULL);
    if (status != SIGNS_OK)
        printf("%g, %g: %s\n", (double)s, d, signs_message());
    return here;
}

int main(void)
{
    static const float values[] = {0.0f, -0.0f};
    signs_module *m;
    void *context;
    if (signs_load(0, &m) != SIGNS_OK) {
        puts(signs_message());
        return 1;
    }
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxPushCurrent_v2(context);
    for (int i = 0; i < 4; i++)
        printf("%g ", (double)value_of(m, values[i / 2], values[i % 2]));
    printf("%g\n", (double)value_of(m, NAN, 0.0));
    value_of(m, -NAN, 0.0);
    signs_unload(m);
    return 0;
}
