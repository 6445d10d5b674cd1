/* map_builder FOLDER: builds `maps.c` and `pairs.c` of a kernel whose parameters are tensor maps (unit/map_helper.h),
 * for a GPU and for the CPU; `pairs` starts in clusters of two blocks. */
#include "map_helper.h"

#include "tilewright_build.h"

#include <stdio.h>
#include <string.h>

static const char text[] =
    "kernel move(i32 m, i32 n, i32 step, static i32 pad, i32 blocks, const f16 *a, f16 *c, u8 "
    "*codes)\n"
    "    grid(blocks) warps(1)\n"
    "{\n"
    "    global f16 A[m][n] = a + 8 strides(step, 1), C[m][n] = c, W[64][64 + pad];\n"
    "    global u8 Codes[384] = codes;\n"
    "    W[0 +: 16][0 +: 16] = A[0 +: 16][0 +: 16];\n"
    "    C[0 +: 16][0 +: 16] = W[0 +: 16][0 +: 16];\n"
    "    Codes[0 +: 32] = 0;\n"
    "}\n";

static const struct {
    const char *name;
    struct map_program program;
} builds[] = {
    {"maps", {.map = {"A", "W", "C"}, .scalar = "n", .box = {16, 64}, .swizzle = 128}},
    {"pairs", {.map = {"A", "W", "C"}, .box = {8, 32}, .swizzle = 64, .cluster = 2}},
};

static tw_status add(tw_build *b, tw_module *m, const char *target, int pad)
{
    tw_kernel *k;
    tw_launch *l;
    tw_status status = tw_kernel_for_target(tw_module_kernel_at(m, 0), target, &k);
    if (status == TW_OK)
        status = tw_launch_new(k, &l);
    if (status == TW_OK)
        status = tw_launch_set(l, "pad", tw_int(pad));
    return status == TW_OK ? tw_build_add(b, l, NULL) : status;
}

static tw_status build(tw_context *ctx, int i, const char *folder)
{
    static const char *const targets[] = {"sm_80", "cpu"};
    tw_module *m;
    tw_build *b;
    map_programs(&builds[i].program);
    tw_status status = tw_module_from_text(ctx, "move.tile", text, strlen(text), &m);
    if (status == TW_OK)
        status = tw_build_new(ctx, builds[i].name, &b);
    for (int t = 0; t < 4 && status == TW_OK; t++)
        status = add(b, m, targets[t / 2], t % 2 ? 8 : 16);
    return status == TW_OK ? tw_build_write(b, folder) : status;
}

int main(int argc, char **argv)
{
    tw_context *ctx;
    tw_status status = argc == 2 ? tw_context_new(NULL, &ctx) : TW_BAD_ARGUMENT;
    if (status != TW_OK)
        return 1;
    for (int i = 0; i < 2 && status == TW_OK; i++)
        status = build(ctx, i, argv[1]);
    fputs(tw_context_messages(ctx), stderr);
    tw_context_free(ctx);
    return status != TW_OK;
}
