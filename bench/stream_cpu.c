/* Compares a kernel that reads large weights once with a loop that only reads as many bytes.
 *
 *     cc -O3 -march=native -Iinclude bench/stream_cpu.c build/libtilewright.a -lm -ldl -lpthread \
 *         -o stream_cpu
 *     ./stream_cpu kernels/matmul/direct.tile 1 T=f32 m=1 n=4096 k=4096 \
 *         b:f32:4096x4096 a:f32:1x4096 c:f32:1x4096
 *
 * FILE THREADS, then in any order: NAME=VALUE, a type variable, a tuned value or a scalar
 * parameter; NAME:TYPE:SHAPE, an array, first the one with the weights. Kernel and loop take
 * turns, 40 of each (RUNS=N: N of each). It prints the least milliseconds of the kernel and of
 * the loop: on one thread the processor time, on several the time that has passed. */
#include "tilewright.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_THREADS = 64, LINE = 64 };

static double milliseconds(int threads)
{
    struct timespec t;
    clock_gettime(threads > 1 ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void need(tw_context *ctx, tw_status status)
{
    if (status == TW_OK)
        return;
    fprintf(stderr, "%s\n%s", tw_status_text(status), ctx ? tw_context_messages(ctx) : "");
    exit(1);
}

/* --- the loop --- */

struct part {
    const unsigned *from;
    size_t count;
    unsigned sum;
};

static void *read_part(void *user)
{
    struct part *p = user;
    unsigned sum = 0;
    for (size_t i = 0; i < p->count; i++)
        sum += p->from[i];
    p->sum = sum;
    return NULL;
}

static unsigned read_all(const unsigned *from, size_t bytes, int threads)
{
    struct part part[MOST_THREADS] = {0};
    pthread_t thread[MOST_THREADS];
    size_t count = bytes / sizeof *from / (size_t)threads;
    unsigned sum = 0;
    for (int i = 0; i < threads; i++)
        part[i] = (struct part){from + (size_t)i * count, count, 0};
    for (int i = 1; i < threads; i++)
        if (pthread_create(&thread[i], NULL, read_part, &part[i]))
            exit(1);
    read_part(&part[0]);
    for (int i = 0; i < threads; i++) {
        if (i > 0)
            pthread_join(thread[i], NULL);
        sum += part[i].sum;
    }
    return sum;
}

/* --- the kernel --- */

static tw_dtype type_of(const char *name)
{
    static const struct {
        const char *name;
        tw_dtype type;
    } types[] = {{"f32", TW_F32}, {"f16", TW_F16}, {"bf16", TW_BF16}, {"f64", TW_F64},
                 {"i8", TW_I8},   {"u8", TW_U8},   {"i32", TW_I32}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0)
            return types[i].type;
    return (tw_dtype)0;
}

/* Gives an array of small values: bytes and integers of all kinds; floats about 1. */
static void *give_array(tw_context *ctx, tw_launch *l, char *spec, size_t *bytes)
{
    char *type = strchr(spec, ':') + 1, *count = strchr(type, ':') + 1;
    type[-1] = count[-1] = 0;
    tw_array array = {.size = sizeof array, .dtype = type_of(type)};
    size_t n = 1, size = tw_dtype_size(array.dtype);
    for (char *end = count; *count && array.rank < 4; count = end + (*end == 'x')) {
        array.shape[array.rank] = strtoll(count, &end, 10);
        n *= (size_t)array.shape[array.rank++];
    }
    *bytes = n * size;
    unsigned char *data = aligned_alloc(LINE, (*bytes + LINE - 1) / LINE * LINE);
    if (!data)
        exit(1);
    for (size_t i = 0; i < *bytes; i++)
        data[i] = (unsigned char)(i * 37 >> 3);
    for (size_t i = 0; i < n && type[0] != 'u' && type[0] != 'i'; i++)
        data[i * size + size - 1] = array.dtype == TW_F16 ? 0x3c : 0x3f;
    array.data = data;
    need(ctx, tw_launch_array(l, spec, &array));
    return data;
}

static void give_value(tw_context *ctx, tw_launch *l, char *spec)
{
    char *value = strchr(spec, '=') + 1;
    value[-1] = 0;
    if (value[0] < '0' || value[0] > '9') {
        need(ctx, tw_launch_type(l, spec, type_of(value)));
        return;
    }
    tw_value number = tw_int(strtoll(value, NULL, 10));
    if (tw_launch_set(l, spec, number) != TW_OK)
        need(ctx, tw_launch_tune(l, spec, number));
}

int main(int argc, char **argv)
{
    const char *runs = getenv("RUNS");
    int threads = argc > 2 ? atoi(argv[2]) : 0, count = runs ? atoi(runs) : 40;
    void *weights = NULL;
    size_t bytes = 0, others;
    tw_context *ctx;
    tw_module *module;
    tw_launch *launch;
    if (threads < 1 || threads > MOST_THREADS || argc < 4)
        return 2;
    need(NULL, tw_context_new(&(tw_config){.size = sizeof(tw_config), .threads = threads}, &ctx));
    need(ctx, tw_module_from_file(ctx, argv[1], &module));
    need(ctx, tw_launch_new(tw_module_kernel_at(module, 0), &launch));
    for (int i = 3; i < argc; i++) {
        if (!strchr(argv[i], ':'))
            give_value(ctx, launch, argv[i]);
        else if (weights)
            give_array(ctx, launch, argv[i], &others);
        else
            weights = give_array(ctx, launch, argv[i], &bytes);
    }
    need(ctx, tw_launch_prepare(launch));
    double kernel = 1e9, loop = 1e9;
    volatile unsigned sum = 0;
    for (int i = 0; i < count; i++) {
        double start = milliseconds(threads);
        need(ctx, tw_launch_run(launch));
        double middle = milliseconds(threads);
        sum += read_all(weights, bytes, threads);
        double end = milliseconds(threads);
        kernel = middle - start < kernel ? middle - start : kernel;
        loop = end - middle < loop ? end - middle : loop;
    }
    printf("%.4f %.4f\n", kernel, loop);
    tw_launch_free(launch);
    tw_context_free(ctx);
    return 0;
}
