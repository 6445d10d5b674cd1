/* A launch that is prepared once and runs often: the cost of a launch when the work is small. */
#include <stdio.h>
#include <string.h>
#include <tilewright.h>
#include <time.h>

static const char text[] =
    "kernel axpy(i32 n, f32 alpha, const f32 *x, f32 *y) grid(cdiv(n, 256)) warps(4)\n"
    "{\n"
    "    global f32 X[n] = x, Y[n] = y;\n"
    "    i32 i = block.x * 256;\n"
    "    Y[i +: 256] = Y[i +: 256] + alpha * X[i +: 256];\n"
    "}\n";

enum { N = 256, TIMES = 10000 };
static float x[2][N], y[N];

static double seconds(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static tw_status run(tw_launch *l)
{
    tw_launch_set(l, "alpha", tw_float(0.5));
    tw_launch_array(l, "x", &tw_host_array(x[0], TW_F32, N));
    tw_launch_array(l, "y", &tw_host_array(y, TW_F32, N));
    tw_status status = tw_launch_prepare(l); /* compiles, so later runs need not */
    double from = seconds();
    for (int i = 0; i < TIMES && status == TW_OK; i++) {
        /* what changes */
        tw_launch_array(l, "x", &tw_host_array(x[i % 2], TW_F32, N));
        status = tw_launch_run(l);
    }
    printf("%.2f microseconds a launch\n", (seconds() - from) / TIMES * 1e6);
    return status;
}

int main(void)
{
    tw_context *ctx;
    tw_module *module;
    tw_launch *launch = NULL;
    if (tw_context_new(&(tw_config){.size = sizeof(tw_config), .threads = 1}, &ctx) != TW_OK)
        return 1;
    for (int i = 0; i < N; i++)
        x[0][i] = 2, x[1][i] = 4;
    tw_status status = tw_module_from_text(ctx, "axpy", text, strlen(text), &module);
    if (status == TW_OK)
        status = tw_launch_new(tw_module_kernel_at(module, 0), &launch);
    if (status == TW_OK)
        status = run(launch);
    fputs(tw_context_messages(ctx), stderr);
    printf("y[255] = %g\n", y[255]); /* 10000 · (2 + 4) / 2 · 0.5 */
    tw_context_free(ctx);
    return status != TW_OK;
}
