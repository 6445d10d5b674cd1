/* Measures the cost of a launch on the CPU through the C interface.
 *
 *     cc -O2 -Iinclude bench/launch_cpu.c build/libtilewright.a -lm -ldl -lpthread -o launch_cpu
 *     ./launch_cpu [BATCHES [WAY]]
 *
 * Times a prepared product of 16 × 16 × 16 in f32, in microseconds: tw_launch_run, tw_launch_run
 * after setting three arrays, and tw_entry_start, in a context of one thread and in one of all
 * cores. Batches of 100 calls of each take turns, after one batch of each to warm up; it prints
 * the median of 101 batches, and the least. The values are compared with plain loops. WAY: times
 * only the lines that begin with this text. */
#include "tilewright.h"
#include "tilewright_entry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH = 100, BATCHES = 101, SIZE = 16 };
enum way { RUN, RUN_ARRAYS_ANEW, START_ENTRY, WAYS };

static const char product_text[] =
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
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static void need(tw_context *ctx, tw_status status)
{
    if (status == TW_OK)
        return;
    fprintf(stderr, "%s\n%s", tw_status_text(status), ctx ? tw_context_messages(ctx) : "");
    exit(1);
}

struct product {
    tw_context *ctx;
    tw_launch *launch;
    tw_entry *entry;
    float a[SIZE * SIZE], b[SIZE * SIZE], c[SIZE * SIZE];
};

static void give_arrays(struct product *x)
{
    const char *const names[] = {"a", "b", "c"};
    float *const data[] = {x->a, x->b, x->c};
    for (int i = 0; i < 3; i++)
        need(x->ctx, tw_launch_array(x->launch, names[i],
                                     &(tw_array){.size = sizeof(tw_array),
                                                 .data = data[i],
                                                 .dtype = TW_F32,
                                                 .rank = 2,
                                                 .shape = {SIZE, SIZE}}));
}

static void open_product(struct product *x, int threads)
{
    const char *const sizes[] = {"m", "n", "k"};
    tw_module *m;
    need(NULL,
         tw_context_new(&(tw_config){.size = sizeof(tw_config), .threads = threads}, &x->ctx));
    need(x->ctx,
         tw_module_from_text(x->ctx, "product.tile", product_text, strlen(product_text), &m));
    need(x->ctx, tw_launch_new(tw_module_kernel_at(m, 0), &x->launch));
    for (int i = 0; i < SIZE * SIZE; i++) {
        x->a[i] = (float)(i % 7) - 3;
        x->b[i] = (float)(i % 5) - 2;
    }
    for (int i = 0; i < 3; i++)
        need(x->ctx, tw_launch_set(x->launch, sizes[i], tw_int(SIZE)));
    give_arrays(x);
    need(x->ctx, tw_launch_prepare(x->launch));
    need(x->ctx, tw_entry_new(x->launch, &x->entry));
}

/* Small integers: exact. */
static void check(const struct product *x)
{
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) {
            float sum = 0;
            for (int p = 0; p < SIZE; p++)
                sum += x->a[i * SIZE + p] * x->b[p * SIZE + j];
            if (fabsf(sum - x->c[i * SIZE + j]) > 0) {
                fprintf(stderr, "c[%d][%d] is %g, expected %g\n", i, j, (double)x->c[i * SIZE + j],
                        (double)sum);
                exit(1);
            }
        }
}

static tw_status launch(struct product *x, enum way way)
{
    const tw_value args[] = {tw_int(SIZE),     tw_int(SIZE),     tw_int(SIZE),
                             tw_pointer(x->a), tw_pointer(x->b), tw_pointer(x->c)};
    if (way == START_ENTRY)
        return tw_entry_start(x->entry, args, 6, NULL, NULL);
    if (way == RUN_ARRAYS_ANEW)
        give_arrays(x);
    return tw_launch_run(x->launch);
}

static double time_batch(struct product *x, enum way way)
{
    double from = microseconds();
    for (int i = 0; i < BATCH; i++)
        need(x->ctx, launch(x, way));
    return (microseconds() - from) / BATCH;
}

static int by_value(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static bool is_timed(const char *only, const char *name)
{
    return !only || strcmp(only, name) == 0;
}

int main(int argc, char **argv)
{
    static const char *const names[2 * WAYS] = {
        "1-thread",    "1-thread-arrays-anew",    "1-thread-entry",
        "all-threads", "all-threads-arrays-anew", "all-threads-entry"};
    static struct product products[2];
    static double times[2 * WAYS][BATCHES];
    const int asked = argc > 1 ? atoi(argv[1]) : BATCHES;
    const int batches = asked < 1 ? 1 : asked > BATCHES ? BATCHES : asked;
    const char *only = argc > 2 ? argv[2] : NULL;
    for (int i = 0; i < 2; i++)
        open_product(&products[i], i == 0);
    for (int i = 0; i < 2 * WAYS; i++)
        time_batch(&products[i / WAYS], (enum way)(i % WAYS));
    for (int batch = 0; batch < batches; batch++)
        for (int i = 0; i < 2 * WAYS; i++)
            if (is_timed(only, names[i]))
                times[i][batch] = time_batch(&products[i / WAYS], (enum way)(i % WAYS));
    for (int i = 0; i < 2 * WAYS; i++) {
        if (!is_timed(only, names[i]))
            continue;
        qsort(times[i], (size_t)batches, sizeof times[i][0], by_value);
        printf("%-24s %8.3f us, least %8.3f us\n", names[i], times[i][batches / 2], times[i][0]);
    }
    for (int i = 0; i < 2; i++) {
        check(&products[i]);
        tw_entry_free(products[i].entry);
        tw_launch_free(products[i].launch);
        tw_context_free(products[i].ctx);
    }
    return 0;
}
