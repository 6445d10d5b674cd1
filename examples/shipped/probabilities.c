/* A program that ships kernels: rows of scores, as probabilities.
 *
 *     P = softmax(X · W), X: rows x inner, W: inner x 64
 *
 * scores.h and scores.c are made by `tilewright build` (build.sh); apart from them the
 * program only needs NVIDIA's driver. A program on the CUDA runtime would use cudaMalloc, cudaMemcpy
 * and its own streams in place of the functions under "memory" here.
 */
#include "scores.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 64 };

/* --- memory of the GPU, by the driver --- */

static struct {
    int (*init)(unsigned flags);
    int (*device_get)(int *device, int ordinal);
    int (*context_retain)(void **context, int device);
    int (*context_push)(void *context);
    int (*synchronize)(void *stream);
    int (*allocate)(uint64_t *address, size_t bytes);
    int (*release)(uint64_t address);
    int (*copy_in)(uint64_t to, const void *from, size_t bytes, void *stream);
    int (*copy_out)(void *to, uint64_t from, size_t bytes, void *stream);
} cuda;

static void need(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "scores: %s\n", what);
    exit(1);
}

static void find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    need(found != NULL, name);
    memcpy(function, &found, sizeof found);
}

static void open_gpu(void)
{
    const char *given = getenv("TILEWRIGHT_CUDA_DRIVER");
    void *library = dlopen(given && *given ? given : "libcuda.so.1", RTLD_NOW), *context;
    int device;
    need(library != NULL, "there is no NVIDIA driver");
    find(library, "cuInit", &cuda.init);
    find(library, "cuDeviceGet", &cuda.device_get);
    find(library, "cuDevicePrimaryCtxRetain", &cuda.context_retain);
    find(library, "cuCtxPushCurrent_v2", &cuda.context_push);
    find(library, "cuStreamSynchronize", &cuda.synchronize);
    find(library, "cuMemAlloc_v2", &cuda.allocate);
    find(library, "cuMemFree_v2", &cuda.release);
    find(library, "cuMemcpyHtoDAsync_v2", &cuda.copy_in);
    find(library, "cuMemcpyDtoHAsync_v2", &cuda.copy_out);
    need(cuda.init(0) == 0 && cuda.device_get(&device, 0) == 0 &&
             cuda.context_retain(&context, device) == 0 && cuda.context_push(context) == 0,
         "there is no GPU");
}

static float *on_gpu(const float *from, size_t count)
{
    uint64_t address;
    need(cuda.allocate(&address, count * sizeof *from + 1) == 0, "out of memory on the GPU");
    need(!from || cuda.copy_in(address, from, count * sizeof *from, NULL) == 0, "copying to the GPU");
    return (float *)(uintptr_t)address;
}

/* --- the kernels --- */

static void check(scores_status status)
{
    need(status == SCORES_OK, scores_message());
}

/* P on the host, of X and W there. */
static void probabilities(const scores_module *kernels, int rows, int inner, const float *x,
                          const float *w, float *p)
{
    size_t outputs = (size_t)rows * CLASSES;
    /* The product is a family: this is the need of the kernel that is the fastest at these sizes. */
    size_t bytes = scores_matmul_f32_workspace(kernels, rows, CLASSES, inner);
    float *gpu_x = on_gpu(x, (size_t)rows * (size_t)inner);
    float *gpu_w = on_gpu(w, (size_t)inner * CLASSES);
    float *product = on_gpu(NULL, outputs), *gpu_p = on_gpu(NULL, outputs);
    float *workspace = on_gpu(NULL, bytes / sizeof(float) + 1);
    void *stream = NULL; /* the default one; a cudaStream_t goes here */
    check(scores_matmul_f32(kernels, stream, rows, CLASSES, inner, gpu_x, gpu_w, product, workspace,
                            bytes));
    check(scores_softmax(kernels, stream, rows, CLASSES, product, gpu_p));
    need(cuda.copy_out(p, (uint64_t)(uintptr_t)gpu_p, outputs * sizeof *p, stream) == 0 &&
             cuda.synchronize(stream) == 0,
         "the kernels did not end well");
    float *all[] = {gpu_x, gpu_w, product, gpu_p, workspace};
    for (int i = 0; i < 5; i++)
        cuda.release((uint64_t)(uintptr_t)all[i]);
}

/* --- the same on the host, to compare --- */

static double expected(int inner, const float *x, const float *w, int column)
{
    double largest = -INFINITY, sum = 0, score[CLASSES] = {0};
    for (int j = 0; j < CLASSES; j++) {
        for (int i = 0; i < inner; i++)
            score[j] += (double)x[i] * (double)w[(size_t)i * CLASSES + (size_t)j];
        largest = fmax(largest, score[j]);
    }
    for (int j = 0; j < CLASSES; j++)
        sum += exp(score[j] - largest);
    return exp(score[column] - largest) / sum;
}

/* The largest difference. */
static double run(const scores_module *kernels, int rows, int inner)
{
    float *x = malloc((size_t)rows * (size_t)inner * sizeof *x);
    float *w = malloc((size_t)inner * CLASSES * sizeof *w);
    float *p = malloc((size_t)rows * CLASSES * sizeof *p);
    double worst = 0;
    need(x && w && p, "out of memory");
    for (int i = 0; i < rows * inner; i++)
        x[i] = (float)((i * 37 + 11) % 64) / 64 - 0.5f;
    for (int i = 0; i < inner * CLASSES; i++)
        w[i] = (float)((i * 53 + 7) % 128) / 128 - 0.5f;
    probabilities(kernels, rows, inner, x, w, p);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < CLASSES; c++) {
            double want = expected(inner, x + (size_t)r * (size_t)inner, w, c);
            worst = fmax(worst, fabs((double)p[(size_t)r * CLASSES + (size_t)c] - want));
        }
    free(x);
    free(w);
    free(p);
    return worst;
}

int main(void)
{
    scores_module *kernels;
    int good = 1;
    open_gpu();
    check(scores_load(0, &kernels));
    for (int rows = 1; rows <= 81; rows += 40)
        for (int inner = 256; inner <= 512; inner += 256) {
            double worst = run(kernels, rows, inner);
            good = good && worst < 1e-5;
            printf("%d rows of %d: %s\n", rows, inner, worst < 1e-5 ? "PASS" : "FAIL");
        }
    /* Sizes that were not built are refused with a message: */
    if (scores_softmax(kernels, NULL, 5, 100, NULL, NULL) != SCORES_OK)
        printf("%s\n", scores_message());
    scores_unload(kernels);
    return !good;
}
