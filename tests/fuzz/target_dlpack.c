/* A tensor of another library, described by the bytes; its data and lists are real. */
#include "fuzz_target.h"

#include "../unit/dlpack_structs.h"
#include "tilewright_gpu.h"

static const char text[] = "type T = {f32, f16, i32, u8, bool, f64};\n"
                           "kernel copy(i32 m, i32 n, const T *a, T *c) grid(cdiv(m, 4)) warps(1)\n"
                           "{\n"
                           "    global T A[m][n] = a, C[m][n] = c;\n"
                           "    C[block.x * 4 +: 4][0 +: 8] = A[block.x * 4 +: 4][0 +: 8];\n"
                           "}\n";

enum { LENGTH = 1024, MOST_RANK = 8 };

static _Alignas(64) unsigned char memory[2][LENGTH];

static int64_t extent(struct target_bytes *in)
{
    uint32_t v = target_take(in, 1);
    return v == 255 ? INT64_MAX : v == 254 ? -1 : v == 253 ? (int64_t)1 << 40 : (int64_t)(v % 9);
}

static void give(struct target_bytes *in, tw_launch *l, const char *name, void *data)
{
    int64_t shape[MOST_RANK], strides[MOST_RANK];
    struct dl_tensor t = {.data = target_take(in, 1) % 8 ? data : NULL,
                          .device_type = (int32_t)(target_take(in, 1) % 15),
                          .device_id = (int32_t)(target_take(in, 1) % 3),
                          .rank = (int32_t)(target_take(in, 1) % MOST_RANK),
                          .code = (uint8_t)target_take(in, 1),
                          .bits = (uint8_t)target_take(in, 1),
                          .lanes = (uint16_t)(target_take(in, 1) % 3),
                          .shape = shape,
                          .byte_offset = target_take(in, 1) % 16};
    for (int i = 0; i < MOST_RANK; i++) {
        shape[i] = extent(in);
        strides[i] = extent(in);
    }
    t.strides = target_take(in, 1) % 2 ? strides : NULL;
    tw_launch_dlpack(l, name, &t);
}

/* Returns true if the arrays that the tensors describe lie in the available memory. */
static bool is_small(tw_launch *l)
{
    tw_array x = tw_array_init();
    int64_t elements = 1;
    if (tw_launch_shape(l, "a", &x) != TW_OK)
        return false;
    for (int i = 0; i < x.rank; i++)
        if (x.shape[i] > 8 || (elements *= x.shape[i]) > 64)
            return false;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct target_limits limits;
    struct target_bytes in = {data, data + size};
    tw_context *ctx;
    tw_module *m;
    tw_launch *l;
    if (target_context(&limits, &ctx) != TW_OK)
        return 0;
    if (tw_module_from_text(ctx, "copy", text, sizeof text - 1, &m) == TW_OK &&
        tw_launch_new(tw_module_kernel_at(m, 0), &l) == TW_OK) {
        give(&in, l, "a", memory[0]);
        give(&in, l, "c", memory[1]);
        if (is_small(l))
            tw_launch_run(l);
    }
    tw_context_free(ctx);
    return 0;
}
