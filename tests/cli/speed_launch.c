/* What one launch costs through the C interface: a product of 16 x 16 x 16, f32, on the host.
 *
 *     speed_launch
 *
 * A line for each way: the least of many microseconds, "tw_launch_run" or "tw_entry_start". */
#include "tilewright.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIZE = 16, RUNS = 20000 };

static const char text[] =
    "kernel product(i32 m, i32 n, i32 k, const f32 *a, const f32 *b, f32 *c)\n"
    "    grid(cdiv(m, 16), cdiv(n, 16)) warps(1)\n"
    "{\n"
    "    global f32 A[m][k] = a, B[k][n] = b, C[m][n] = c;\n"
    "    i32 i = block.x * 16, j = block.y * 16;\n"
    "    reg f32 acc[16][16] = 0;\n"
    "    for (i32 p = 0; p < k; p += 16) {\n"
    "        reg f32 ra[16][16] = A[i +: 16][p +: 16], rb[16][16] = B[p +: 16][j +: 16];\n"
    "        acc += dot(ra, rb);\n"
    "    }\n"
    "    C[i +: 16][j +: 16] = acc;\n"
    "}\n";

static double microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static void expect_ok(tw_context *ctx, tw_status status)
{
    if (status == TW_OK)
        return;
    fprintf(stderr, "%s: %s\n", tw_status_name(status), tw_context_messages(ctx));
    exit(1);
}

static float a[SIZE][SIZE], b[SIZE][SIZE], c[SIZE][SIZE];

static void give(tw_context *ctx, tw_launch *l, const char *name, void *data)
{
    tw_array x = {.data = data, .dtype = TW_F32, .rank = 2, .shape = {SIZE, SIZE}};
    expect_ok(ctx, tw_launch_array(l, name, &x));
}

/* The least time of a call; `entry` NULL: of the launch. */
static double least(tw_context *ctx, tw_launch *l, tw_entry *entry, int runs)
{
    const tw_argument args[] = {tw_integer(SIZE), tw_integer(SIZE), tw_integer(SIZE),
                                tw_pointer(a),    tw_pointer(b),    tw_pointer(c)};
    double best = 1e9;
    for (int i = 0; i < runs; i++) {
        double from = microseconds();
        expect_ok(ctx, entry ? tw_entry_start(entry, args, 6, NULL) : tw_launch_run(l));
        double took = microseconds() - from;
        best = took < best ? took : best;
    }
    return best;
}

int main(int argc, char **argv)
{
    tw_context *ctx;
    tw_module *module;
    tw_launch *l;
    tw_entry *entry;
    int runs = argc > 1 ? atoi(argv[1]) : RUNS;
    if (tw_context_new(NULL, &ctx) != TW_OK)
        return 1;
    expect_ok(ctx, tw_module_from_text(ctx, "product", text, strlen(text), &module));
    expect_ok(ctx, tw_launch_new(tw_module_kernel_at(module, 0), &l));
    give(ctx, l, "a", a);
    give(ctx, l, "b", b);
    give(ctx, l, "c", c);
    expect_ok(ctx, tw_entry_new(l, &entry));
    least(ctx, l, NULL, 100);
    printf("%.3f tw_launch_run\n", least(ctx, l, NULL, runs));
    printf("%.3f tw_entry_start\n", least(ctx, l, entry, runs));
    tw_context_free(ctx);
    return 0;
}
