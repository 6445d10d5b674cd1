/* A product of two matrices that the program owns, with the kernel in the program's text. */
#include <stdio.h>
#include <string.h>
#include <tilewright.h>

static const char text[] =
    "kernel matmul(i32 m, static i32 n, static i32 k, const f32 *a, const f32 *b, f32 *c)\n"
    "    grid(cdiv(m, 32), cdiv(n, 32)) warps(4)\n"
    "{\n"
    "    global f32 A[m][k] = a, B[k][n] = b, C[m][n] = c;\n"
    "    i32 i = block.x * 32, j = block.y * 32;\n"
    "    reg f32 acc[32][32] = 0;\n"
    "    for (i32 p = 0; p < k; p += 16) {\n"
    "        reg f32 ra[32][16] = A[i +: 32][p +: 16], rb[16][32] = B[p +: 16][j +: 32];\n"
    "        acc += dot(ra, rb);\n"
    "    }\n"
    "    C[i +: 32][j +: 32] = acc;\n"
    "}\n";

enum { M = 50, N = 40, K = 30 };
static float a[M][K], b[K][N], c[M][N];

static void fill(void)
{
    for (int i = 0; i < K; i++) {
        for (int j = 0; j < M; j++)
            a[j][i] = (float)(i + j);
        b[i][i] = 2; /* c is twice a in the columns that b has, */
    }
    b[0][N - 1] = 1; /* and a's first column in the last one */
}

int main(void)
{
    tw_context *ctx;
    tw_module *module;
    tw_launch *launch = NULL;
    fill();
    tw_status status = tw_context_new(NULL, &ctx);
    if (status != TW_OK)
        return puts(tw_status_text(status)), 1;
    status = tw_module_from_text(ctx, "matmul", text, strlen(text), &module);
    if (status == TW_OK)
        status = tw_launch_new(tw_module_kernel(module, "matmul"), &launch);
    if (status == TW_OK) { /* m, n and k follow from the arrays */
        tw_launch_array(launch, "a", &tw_host_array(a, TW_F32, M, K));
        tw_launch_array(launch, "b", &tw_host_array(b, TW_F32, K, N));
        tw_launch_array(launch, "c", &tw_host_array(c, TW_F32, M, N));
        status = tw_launch_run(launch);
    }
    if (status == TW_OK)
        printf("c[3][4] = %g, c[49][39] = %g\n", c[3][4], c[49][39]);
    else
        fputs(tw_context_messages(ctx), stderr);
    tw_context_free(ctx); /* also frees all that was made from it */
    return status != TW_OK;
}
