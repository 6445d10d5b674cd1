/* A kernel that states its result with `ensures`: the library checks its values, and finds a
 * wrong one. */
#include <stdio.h>
#include <string.h>
#include <tilewright.h>

/* The mean of each row; the broken kernel divides by one too many. */
static const char text[] =
    "kernel means(i32 n, static i32 m, static bool broken, const f32 *x, f32 *y) grid(n) warps(1)\n"
    "{\n"
    "    global f32 X[n][m] = x, Y[n] = y;\n"
    "    reg f32 row[m] = X[block.x][0 +: m];\n"
    "    Y[block.x] = sum(row) / (broken ? m + 1 : m);\n"
    "    ensures for (i32 i < n) Y[i] == sum(X[i]) / m;\n"
    "}\n";

enum { N = 20, M = 300 };
static float x[N][M], y[N];

static void report(tw_context *ctx, tw_launch *l, bool broken)
{
    tw_verdict v = tw_verdict_init();
    tw_launch_set(l, "broken", tw_int(broken));
    tw_status status = tw_launch_run(l);
    if (status == TW_OK)
        status = tw_launch_verify(l, &v);
    if (status == TW_OK)
        printf("%d values are right: %d\n", (int)v.checked, v.max_error <= v.tolerance);
    else if (status == TW_WRONG_VALUES)
        printf("%s[%d] is %.4f, expected %.4f\n", v.view, (int)v.at[0], v.got, v.want);
    else
        fputs(tw_context_messages(ctx), stderr);
}

int main(void)
{
    tw_context *ctx;
    tw_module *module;
    tw_launch *l;
    tw_context_new(NULL, &ctx);
    if (tw_module_from_text(ctx, "means", text, strlen(text), &module) != TW_OK)
        return fputs(tw_context_messages(ctx), stderr), 1;
    for (int i = 0; i < N * M; i++)
        x[i / M][i % M] = (float)(i / M);
    tw_launch_new(tw_module_kernel_at(module, 0), &l);
    tw_launch_array(l, "x", &tw_host_array(x, TW_F32, N, M));
    tw_launch_array(l, "y", &tw_host_array(y, TW_F32, N));
    report(ctx, l, false);
    report(ctx, l, true);
    tw_context_free(ctx);
    return 0;
}
