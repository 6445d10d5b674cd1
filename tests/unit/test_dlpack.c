/* Arrays of other libraries in DLPack's structs, and ours exported in them. Compiled with the
 * real header if it is installed (libdlpack-dev). */
#include "cuda_helper.h"
#include "tilewright_gpu.h"

#if __has_include(<dlpack/dlpack.h>)

#include <dlpack/dlpack.h>

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const char double_text[] = "type T = {f32, f16, bf16, e4m3, e5m2, f64, i32, u8};\n"
                                  "kernel twice(i32 m, i32 n, const T *x, T *y) grid(1) warps(1)\n"
                                  "{\n"
                                  "    global T X[m][n] = x, Y[m][n] = y;\n"
                                  "    Y[0 +: 4][0 +: 8] = X[0 +: 4][0 +: 8] + X[0 +: 4][0 +: 8];\n"
                                  "}\n";

struct tensor {
    DLTensor dl;
    int64_t shape[8], strides[8];
};

/* 4 x 8 elements. */
static struct tensor *tensor(struct tensor *t, DLDeviceType device, void *data)
{
    *t = (struct tensor){.shape = {4, 8}, .strides = {8, 1}};
    t->dl = (DLTensor){.data = data,
                       .device = {device, 0},
                       .ndim = 2,
                       .dtype = {kDLFloat, 32, 1},
                       .shape = t->shape,
                       .strides = t->strides};
    return t;
}

static void *on_gpu(struct fixture *f, const float *data, size_t count)
{
    void *address;
    succeed(f, tw_device_allocate(f->ctx, count * sizeof *data, &address));
    succeed(f, tw_device_copy_in(f->ctx, address, data, count * sizeof *data, NULL));
    return address;
}

static void expect_twice(const struct fixture *f, const float *x)
{
    for (int i = 0; i < 32; i++)
        assert_true(f->c[i] == 2 * x[i]);
}

/* Takes memory in place on the device, from the middle of an allocation, in a DLManagedTensor;
 * copies it to the host. */
static void test_taken_in_place(void **state)
{
    struct fixture *f = *state;
    struct tensor x, y;
    load(f, double_text);
    aim_at_gpu(f);
    tensor(&x, kDLCUDA, on_gpu(f, f->a, 40));
    x.dl.byte_offset = 4 * sizeof(float);
    DLManagedTensor managed = {.dl_tensor = x.dl};
    tensor(&y, kDLCPU, f->c)->dl.strides = NULL;
    succeed(f, tw_launch_dlpack(f->launch, "x", &managed));
    succeed(f, tw_launch_dlpack(f->launch, "y", &y.dl));
    succeed(f, tw_launch_run(f->launch));
    expect_twice(f, f->a + 4);
}

/* A kernel of the host takes memory of the host, pinned and managed memory too. */
static void test_on_the_host(void **state)
{
    struct fixture *f = *state;
    struct tensor x, y;
    load(f, double_text);
    succeed(f, tw_launch_dlpack(f->launch, "x", &tensor(&x, kDLCUDAHost, f->a)->dl));
    succeed(f, tw_launch_dlpack(f->launch, "y", &tensor(&y, kDLCUDAManaged, f->c)->dl));
    succeed(f, tw_launch_run(f->launch));
    expect_twice(f, f->a);
}

static void refuse(struct fixture *f, const struct tensor *t, tw_status status, const char *text)
{
    refused(f, tw_launch_dlpack(f->launch, "x", &t->dl), status, text);
}

static void test_strides(void **state)
{
    struct fixture *f = *state;
    struct tensor x;
    load(f, double_text);
    tensor(&x, kDLCPU, f->a)->strides[0] = 9;
    refuse(f, &x, TW_BAD_ARGUMENT,
           "`x` has stride 9 along axis 0, and a compact row-major array of its shape has 8");
    x.strides[0] = 1;
    x.strides[1] = 4;
    refuse(f, &x, TW_BAD_ARGUMENT, "stride 4 along axis 1");
    x.shape[1] = 1; /* an axis of one element has any stride */
    succeed(f, tw_launch_dlpack(f->launch, "x", &x.dl));
    x.shape[1] = 0;
    x.dl.data = NULL;
    succeed(f, tw_launch_dlpack(f->launch, "x", &x.dl));
}

static void test_devices(void **state)
{
    struct fixture *f = *state;
    struct tensor x;
    load(f, double_text);
    aim_at_gpu(f);
    tensor(&x, kDLCUDA, on_gpu(f, f->a, 32))->dl.device.device_id = 1;
    refuse(f, &x, TW_BAD_ARGUMENT, "`x` is on cuda:1, and the GPU of this context is cuda:0");
    x.dl.device.device_type = kDLROCM;
    refuse(f, &x, TW_UNSUPPORTED, "a device of DLPack's type 10");
    x.dl.ndim = 0;
    x.dl.device = (DLDevice){kDLCPU, 0};
    refuse(f, &x, TW_BAD_ARGUMENT, "must have 1 to 6 axes");
    x.dl.ndim = 7;
    refuse(f, &x, TW_BAD_ARGUMENT, "must have 1 to 6 axes");
    refused(f, tw_launch_dlpack(f->launch, "z", &tensor(&x, kDLCPU, f->a)->dl), TW_NOT_FOUND,
            "has no array `z`");
    refused(f, tw_launch_dlpack(f->launch, "x", NULL), TW_BAD_ARGUMENT, "`tensor` is NULL");
}

/* Codes of types that headers of version 0.6 lack. */
enum { BOOLEAN = 6, E4M3FN = 10, E5M2 = 12 };

static void test_types(void **state)
{
    struct fixture *f = *state;
    static const struct {
        DLDataType type;
        const char *name;
    } types[] = {{{kDLFloat, 64, 1}, "f64"}, {{kDLFloat, 32, 1}, "f32"},
                 {{kDLFloat, 16, 1}, "f16"}, {{kDLBfloat, 16, 1}, "bf16"},
                 {{E4M3FN, 8, 1}, "e4m3"},   {{E5M2, 8, 1}, "e5m2"},
                 {{kDLInt, 32, 1}, "i32"},   {{kDLUInt, 8, 1}, "u8"}};
    struct tensor x;
    load(f, double_text);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        tw_array shape = tw_array_init();
        tensor(&x, kDLCPU, f->a)->dl.dtype = types[i].type;
        succeed(f, tw_launch_dlpack(f->launch, "x", &x.dl));
        succeed(f, tw_launch_shape(f->launch, "y", &shape));
        assert_string_equal(tw_dtype_name(shape.dtype), types[i].name);
    }
    x.dl.dtype = (DLDataType){BOOLEAN, 8, 1}; /* a known type, but not one of T */
    succeed(f, tw_launch_dlpack(f->launch, "x", &x.dl));
    refused(f, tw_launch_prepare(f->launch), TW_BAD_ARGUMENT, "bool");
    x.dl.dtype = (DLDataType){kDLComplex, 64, 1};
    refuse(f, &x, TW_UNSUPPORTED,
           "`x` has elements of DLPack's code 5 (complex), 64 bits, 1 lanes: there is");
    x.dl.dtype = (DLDataType){kDLFloat, 32, 4};
    refuse(f, &x, TW_UNSUPPORTED, "(float), 32 bits, 4 lanes");
    x.dl.dtype = (DLDataType){99, 8, 1};
    refuse(f, &x, TW_UNSUPPORTED, "code 99 (unknown)");
}

/* --- out --- */

static DLManagedTensor *handed_out(struct fixture *f)
{
    void *managed;
    tw_array a = tw_device_array(on_gpu(f, f->a, 32), TW_F32, 4, 8);
    succeed(f, tw_device_dlpack(f->ctx, &a, &managed));
    return managed;
}

static void test_handed_out(void **state)
{
    struct fixture *f = *state;
    struct tensor y;
    load(f, double_text);
    aim_at_gpu(f);
    DLManagedTensor *m = handed_out(f);
    const DLTensor *t = &m->dl_tensor;
    assert_int_equal(t->device.device_type, kDLCUDA);
    assert_true(t->ndim == 2 && t->shape[0] == 4 && t->shape[1] == 8);
    assert_true(t->strides[0] == 8 && t->strides[1] == 1 && t->byte_offset == 0);
    assert_true(t->dtype.code == kDLFloat && t->dtype.bits == 32 && t->dtype.lanes == 1);
    succeed(f, tw_launch_dlpack(f->launch, "x", t));
    succeed(f, tw_launch_dlpack(f->launch, "y", &tensor(&y, kDLCPU, f->c)->dl));
    succeed(f, tw_launch_run(f->launch));
    expect_twice(f, f->a);
    refused(f, tw_device_free(f->ctx, t->data), TW_BAD_ARGUMENT, "is not of this context");
    long frees = driver.fake_cuda_calls("cuMemFree_v2");
    m->deleter(m);
    assert_int_equal(driver.fake_cuda_calls("cuMemFree_v2"), frees + 1);
}

static void *delete_it(void *managed)
{
    DLManagedTensor *m = managed;
    m->deleter(m);
    return NULL;
}

/* Another thread frees it after the context. */
static void test_outlives_the_context(void **state)
{
    struct fixture *f = *state;
    pthread_t thread;
    load(f, double_text);
    DLManagedTensor *m = handed_out(f);
    tw_context_free(f->ctx);
    assert_true(driver.fake_cuda_live(-1) > 0);
    assert_int_equal(pthread_create(&thread, NULL, delete_it, m), 0);
    pthread_join(thread, NULL);
    assert_int_equal(driver.fake_cuda_live(-1), 0);
    assert_int_equal(f->memory.live, 0);
    assert_int_equal(tw_context_new(&f->config, &f->ctx), TW_OK);
}

static void test_only_whole_allocations(void **state)
{
    struct fixture *f = *state;
    void *managed;
    load(f, double_text);
    tw_array a = tw_device_array(on_gpu(f, f->a, 32), TW_F32, 4, 9);
    refused(f, tw_device_dlpack(f->ctx, &a, &managed), TW_BAD_ARGUMENT,
            "is not the beginning of 144 bytes of this context's memory");
    a = tw_device_array((float *)a.data + 1, TW_F32, 4);
    refused(f, tw_device_dlpack(f->ctx, &a, &managed), TW_BAD_ARGUMENT, "is not the beginning");
    assert_null(managed);
    a = array(f->a, TW_F32, 1, 4, 0);
    refused(f, tw_device_dlpack(f->ctx, &a, &managed), TW_BAD_ARGUMENT, "is on the host");
    a = tw_device_array(f->a, TW_F32, 4);
    a.rank = 9;
    refused(f, tw_device_dlpack(f->ctx, &a, &managed), TW_BAD_ARGUMENT, "not valid");
}

int main(void)
{
#define GPU_TEST(name) cmocka_unit_test_setup_teardown(name, cuda_setup, cuda_teardown)
    const struct CMUnitTest tests[] = {
        GPU_TEST(test_taken_in_place),
        GPU_TEST(test_on_the_host),
        GPU_TEST(test_strides),
        GPU_TEST(test_devices),
        GPU_TEST(test_types),
        GPU_TEST(test_handed_out),
        GPU_TEST(test_outlives_the_context),
        GPU_TEST(test_only_whole_allocations),
    };
    return cmocka_run_group_tests_name("dlpack", tests, NULL, NULL);
}

#else

int main(void)
{
    return 0;
}

#endif
