#include "cuda_helper.h"
#include "tilewright_gpu.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

struct driver driver;

const char cuda_total[] = "kernel total(i32 n, const f32 *a, f32 *c) grid(4) warps(1)\n"
                          "{\n"
                          "    global f32 A[n] = a, C[1] = c;\n"
                          "    global f32 sums[1] = 0;\n"
                          "    global i32 turn[1] = 0;\n"
                          "    reg f32 t[16] = A[block.x * 16 +: 16];\n"
                          "    lock(turn[0], block.x);\n"
                          "    reg f32 s[1] = sums[0 +: 1] + sum(t);\n"
                          "    sums[0 +: 1] = s;\n"
                          "    C[0 +: 1] = s;\n"
                          "    unlock(turn[0], block.x + 1);\n"
                          "}\n";

const char cuda_clean_total[] = "kernel total(i32 n, const f32 *a, f32 *c) grid(4) warps(1)\n"
                                "{\n"
                                "    global f32 A[n] = a, C[1] = c;\n"
                                "    global f32 sums[1] = 0 clean;\n"
                                "    global i32 turn[1] = 0 clean;\n"
                                "    reg f32 t[16] = A[block.x * 16 +: 16];\n"
                                "    lock(turn[0], block.x);\n"
                                "    reg f32 s[1] = sums[0 +: 1] + sum(t);\n"
                                "    sums[0 +: 1] = block.x < 3 ? s : s - s;\n"
                                "    C[0 +: 1] = s;\n"
                                "    unlock(turn[0], (block.x + 1) % 4);\n"
                                "}\n";

static void find_driver(void)
{
    void *library = dlopen(TW_FAKE_CUDA, RTLD_NOW), *found;
    assert_non_null(library);
#define DRIVER_CALL(result, name, parameters)                                                      \
    found = dlsym(library, #name);                                                                 \
    assert_non_null(found);                                                                        \
    memcpy(&driver.name, &found, sizeof found);
    DRIVER_CALLS(DRIVER_CALL)
#undef DRIVER_CALL
}

int cuda_setup(void **state)
{
    static const char *const settings[] = {"FAKE_CUDA_SM", "FAKE_CUDA_VERSION",
                                           "FAKE_CUDA_DEVICES"};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        unsetenv(settings[i]); /* left over from the test before */
    setenv("TILEWRIGHT_CUDA_DRIVER", TW_FAKE_CUDA, 1);
    setenv("TILEWRIGHT_CACHE", "", 1);
    if (!driver.fake_cuda_live)
        find_driver();
    driver.fake_cuda_fail("", 0, 0);
    return api_setup(state);
}

int cuda_teardown(void **state)
{
    int result = api_teardown(state);
    assert_int_equal(driver.fake_cuda_live(-1), 0);
    return result;
}

void aim_at_gpu(struct fixture *f)
{
    tw_kernel *k;
    tw_launch_free(f->launch);
    f->launch = NULL;
    succeed(f, tw_kernel_for_target(tw_module_kernel_at(f->module, 0), "cuda", &k));
    succeed(f, tw_launch_new(k, &f->launch));
}

tw_array on_device(struct fixture *f, const void *data, tw_dtype t, int64_t rows, int64_t columns)
{
    tw_array a = {
        .size = sizeof a, .dtype = t, .rank = 2, .shape = {rows, columns}, .place = TW_ON_DEVICE};
    size_t bytes = (size_t)(rows * columns) * tw_dtype_size(t);
    succeed(f, tw_device_allocate(f->ctx, bytes, &a.data));
    succeed(f, tw_device_copy_in(f->ctx, a.data, data, bytes, NULL));
    return a;
}
