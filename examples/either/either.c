/* One program for machines with and without a GPU: softmax of rows, on the first GPU or else on the
 * CPU. The kernel is in rows.h and rows.c, for both (either.sh). */
#include "rows.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 5, COLUMNS = 64, COUNT = ROWS * COLUMNS };

static void need(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "either: %s\n", what);
    exit(1);
}

/* --- memory of the GPU, by the driver --- */

static struct {
    int (*init)(unsigned flags);
    int (*device_get)(int *device, int ordinal);
    int (*context_retain)(void **context, int device);
    int (*context_push)(void *context);
    int (*allocate)(uint64_t *address, size_t bytes);
    int (*copy_in)(uint64_t to, const void *from, size_t bytes, void *stream);
    int (*copy_out)(void *to, uint64_t from, size_t bytes, void *stream);
    int (*synchronize)(void *stream);
} cuda;

static void find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    need(found != NULL, name);
    memcpy(function, &found, sizeof found);
}

static void open_driver(void)
{
    const char *given = getenv("TILEWRIGHT_CUDA_DRIVER");
    void *library = dlopen(given && *given ? given : "libcuda.so.1", RTLD_NOW), *context;
    int device;
    need(library != NULL, "there is no NVIDIA driver");
    find(library, "cuInit", &cuda.init);
    find(library, "cuDeviceGet", &cuda.device_get);
    find(library, "cuDevicePrimaryCtxRetain", &cuda.context_retain);
    find(library, "cuCtxPushCurrent_v2", &cuda.context_push);
    find(library, "cuMemAlloc_v2", &cuda.allocate);
    find(library, "cuMemcpyHtoDAsync_v2", &cuda.copy_in);
    find(library, "cuMemcpyDtoHAsync_v2", &cuda.copy_out);
    find(library, "cuStreamSynchronize", &cuda.synchronize);
    need(cuda.init(0) == 0 && cuda.device_get(&device, 0) == 0 &&
             cuda.context_retain(&context, device) == 0 && cuda.context_push(context) == 0,
         "there is no GPU");
}

/* --- the kernel, there or here --- */

static void on_gpu(const rows_module *kernels, const float *x, float *y)
{
    uint64_t from, to;
    open_driver();
    need(cuda.allocate(&from, COUNT * sizeof *x) == 0 &&
             cuda.allocate(&to, COUNT * sizeof *y) == 0 &&
             cuda.copy_in(from, x, COUNT * sizeof *x, NULL) == 0,
         "there is no memory on the GPU");
    need(rows_softmax(kernels, NULL, ROWS, COLUMNS, (const float *)(uintptr_t)from,
                      (float *)(uintptr_t)to) == ROWS_OK,
         rows_message());
    need(cuda.copy_out(y, to, COUNT * sizeof *y, NULL) == 0 && cuda.synchronize(NULL) == 0,
         "the kernel did not end well");
}

static void on_cpu(const rows_module *kernels, const float *x, float *y)
{
    need(rows_softmax(kernels, NULL, ROWS, COLUMNS, x, y) == ROWS_OK, rows_message());
}

/* The largest difference to the same in double. */
static double difference(const float *x, const float *y)
{
    double worst = 0;
    for (int r = 0; r < ROWS; r++) {
        const float *row = x + r * COLUMNS;
        double sum = 0;
        for (int c = 0; c < COLUMNS; c++)
            sum += exp((double)row[c]);
        for (int c = 0; c < COLUMNS; c++)
            worst = fmax(worst, fabs((double)y[r * COLUMNS + c] - exp((double)row[c]) / sum));
    }
    return worst;
}

int main(void)
{
    static float x[COUNT], y[COUNT];
    rows_module *kernels;
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)((i * 37 + 11) % 64) / 16 - 2;
    int gpu = rows_load(0, &kernels) == ROWS_OK;
    if (gpu)
        on_gpu(kernels, x, y);
    else if (rows_load_cpu(NULL, &kernels) == ROWS_OK)
        on_cpu(kernels, x, y);
    else
        need(0, rows_message());
    int good = difference(x, y) < 1e-6;
    printf("on the %s: %s\n", gpu ? "GPU" : "CPU", good ? "PASS" : "FAIL");
    rows_unload(kernels);
    return !good;
}
