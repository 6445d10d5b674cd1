/* Compares a kernel that reads large weights once with a loop that only reads as many bytes.
 *
 *     cc -O3 -march=native -Iinclude bench/stream_cpu.c build/libtilewright.a -lm -ldl -lpthread \
 *         -o stream_cpu
 *     ./stream_cpu kernels/matmul/direct.tile 1 T=f32 m=1 n=4096 k=4096 \
 *         b:f32:4096x4096 a:f32:1x4096 c:f32:1x4096
 *
 * FILE THREADS, then the words of launch_words.h in any order, but the array with the weights
 * before the other arrays. Kernel and loop take turns, 40 of each (RUNS=N: N of each). It prints
 * the least milliseconds of the kernel and of the loop: on one thread the processor time, on
 * several the time that has passed. */
#include "launch_words.h"

#include <pthread.h>

enum { MOST_THREADS = 64 };

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
            give_array(ctx, &launch, 1, argv[i], &others);
        else
            weights = give_array(ctx, &launch, 1, argv[i], &bytes);
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
