/* The tuned values of a kernel: lists them, times each value of one name, keeps the fastest. */
#include <stdio.h>
#include <string.h>
#include <tilewright.h>

static const char text[] =
    "type T = {f32, f16};\n"
    "tune BM = {1, 8, 64};\n"
    "tune (WARPS, WIDE) = {(1, false), (4, true)};\n"
    "kernel sums(static i32 n, static i32 m, const T *x, f32 *y) grid(cdiv(n, BM)) warps(WARPS)\n"
    "{   require(BM <= n);\n"
    "    global T X[n][m] = x;\n"
    "    global f32 Y[n] = y;\n"
    "    i32 i = block.x * BM;\n"
    "    reg f32 s[BM] = reshape(sum(X[i +: BM][0 +: m], axis = 1), BM);\n"
    "    Y[i +: BM] = WIDE ? s : s + 0;\n"
    "}\n";

enum { N = 32, M = 1000 };
static float x[N][M], y[N];

static void try_each(tw_launch *l, const tw_tune *tune)
{
    double best = 1e9, ms;
    int64_t chosen = 0;
    for (int i = 0; i < tune->count; i++) {
        tw_launch_tune(l, tune->name, tune->values[i]);
        if (tw_launch_time(l, 100, &ms) != TW_OK) /* 64: more than N */
            printf("%s = %d is not allowed\n", tune->name, (int)tune->values[i].i);
        else if (ms < best)
            best = ms, chosen = tune->values[i].i;
    }
    tw_launch_tune(l, tune->name, tw_int(chosen));
}

int main(void)
{
    tw_context *ctx;
    tw_module *module;
    tw_launch *l;
    tw_tune tune = tw_tune_init();
    tw_context_new(NULL, &ctx);
    if (tw_module_from_text(ctx, "sums", text, strlen(text), &module) != TW_OK)
        return fputs(tw_context_messages(ctx), stderr), 1;
    tw_kernel *kernel = tw_module_kernel(module, "sums");
    for (int i = 0; tw_kernel_tune(kernel, i, &tune) == TW_OK; i++)
        printf("%s: %d values, group %d\n", tune.name, tune.count, tune.group);
    for (int i = 0; i < N * M; i++)
        x[i / M][i % M] = 1;
    tw_launch_new(kernel, &l);
    tw_launch_array(l, "x", &tw_host_array(x, TW_F32, N, M)); /* this makes T f32 */
    tw_launch_array(l, "y", &tw_host_array(y, TW_F32, N));
    tw_kernel_tune(kernel, 0, &tune);
    try_each(l, &tune);
    tw_status status = tw_launch_run(l);
    printf("%sy[31] = %g\n", tw_context_messages(ctx), y[31]);
    tw_context_free(ctx);
    return status != TW_OK;
}
