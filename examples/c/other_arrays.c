/* Arrays of other libraries by DLPack: one goes in, and if there is a GPU, one comes out. */
#include <stdio.h>
#include <string.h>
#include <tilewright_gpu.h>

typedef struct DLTensor { /* as in dlpack.h, github.com/dmlc/dlpack */
    void *data;
    int32_t device_type, device_id, ndim;
    struct { uint8_t code, bits; uint16_t lanes; } dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensor {
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

static const char text[] =
    "kernel twice(i32 n, const f32 *x, f32 *y) grid(1) warps(1)\n"
    "{ global f32 X[n] = x, Y[n] = y; Y[0 +: 64] = 2 * X[0 +: 64]; }\n";

static tw_status run(tw_kernel *k, float *x, float *y)
{
    int64_t shape[] = {3};
    DLTensor in = {x, 1, 0, 1, {2, 32, 1}, shape, NULL, 0}, out = in;
    tw_launch *l;
    out.data = y;
    tw_status status = tw_launch_new(k, &l);
    if (status == TW_OK)
        status = tw_launch_dlpack(l, "x", &in);
    if (status == TW_OK)
        status = tw_launch_dlpack(l, "y", &out);
    return status == TW_OK ? tw_launch_run(l) : status;
}

int main(void)
{
    float x[] = {1, 2, 3}, y[3] = {0};
    tw_context *ctx;
    tw_module *m;
    void *memory, *managed;
    tw_context_new(NULL, &ctx);
    tw_module_from_text(ctx, "twice", text, strlen(text), &m);
    if (!m || run(tw_module_kernel_at(m, 0), x, y) != TW_OK)
        return fputs(tw_context_messages(ctx), stderr), 1;
    printf("in: y = %g %g %g\n", y[0], y[1], y[2]);
    if (tw_device_allocate(ctx, 64 * sizeof(float), &memory) != TW_OK)
        return printf("out: %s", tw_context_messages(ctx)), tw_context_free(ctx), 0;
    tw_array array = tw_device_array(memory, TW_F32, 8, 8);
    if (tw_device_dlpack(ctx, &array, &managed) != TW_OK)
        return fputs(tw_context_messages(ctx), stderr), 1;
    tw_context_free(ctx); /* the tensor outlives the context */
    const DLTensor *t = managed; /* the managed tensor begins with it */
    printf("out: %d x %d, on device %d of type %d\n", (int)t->shape[0], (int)t->shape[1],
           t->device_id, t->device_type);
    ((DLManagedTensor *)managed)->deleter(managed); /* the library that takes it calls this once */
    return 0;
}
