/* Compares a kernel that reads large weights once with a loop that only reads as many bytes.
 *
 *     cc -O3 -march=native -Iinclude bench/stream_cpu.c build/libtilewright.a -lm -ldl -lpthread \
 *         -o stream_cpu
 *     ./stream_cpu kernels/matmul/direct.tile 1 T=f32 m=1 n=4096 k=4096 \
 *         b:f32:4096x4096 a:f32:1x4096 c:f32:1x4096
 *
 * FILE THREADS, then the words of launch_words.h in any order, but the array with the weights
 * before the other arrays. Kernel and loop take turns, 40 of each (RUNS=N: N of each). It prints
 * the least milliseconds of the kernel and of the loop: of the kernel on one thread the processor
 * time, else the time that has passed. The loop's threads are awake before its time begins. */
#include "launch_words.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { MOST_THREADS = 64 };

/* --- the loop --- */

/* A thread that reads a part of the weights. It sleeps while the kernel runs. All begin at the same time: when the
 * last one has said that it is awake. */
struct reader {
    pthread_t thread;
    const unsigned *from;
    size_t count;
    unsigned sum;
    double end;
};

static struct reader readers[MOST_THREADS];
static int reader_count;
static pthread_barrier_t woken, finished;
static atomic_int awake;
static double begin;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void read_part(struct reader *r)
{
    unsigned sum = 0;
    if (atomic_fetch_add(&awake, 1) == reader_count - 1) {
        begin = now();
        atomic_fetch_add(&awake, 1);
    }
    while (atomic_load(&awake) <= reader_count)
        ;
    for (size_t i = 0; i < r->count; i++)
        sum += r->from[i];
    r->sum = sum;
    r->end = now();
}

static void *read_in_turn(void *user)
{
    for (;;) {
        pthread_barrier_wait(&woken);
        read_part(user);
        pthread_barrier_wait(&finished);
    }
    return NULL;
}

static void start_readers(const unsigned *from, size_t bytes, int threads)
{
    size_t count = bytes / sizeof *from / (size_t)threads;
    reader_count = threads;
    pthread_barrier_init(&woken, NULL, (unsigned)threads);
    pthread_barrier_init(&finished, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        readers[i] = (struct reader){.from = from + (size_t)i * count, .count = count};
        if (i > 0 && pthread_create(&readers[i].thread, NULL, read_in_turn, &readers[i]))
            exit(1);
    }
}

/* Reads all; returns the milliseconds from the begin of all parts to the end of the last one. */
static double read_all(volatile unsigned *sum)
{
    double end = 0;
    atomic_store(&awake, 0);
    pthread_barrier_wait(&woken);
    read_part(&readers[0]);
    pthread_barrier_wait(&finished);
    for (int i = 0; i < reader_count; i++) {
        *sum += readers[i].sum;
        end = readers[i].end > end ? readers[i].end : end;
    }
    return end - begin;
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
    start_readers(weights, bytes, threads);
    double kernel = 1e9, loop = 1e9;
    volatile unsigned sum = 0;
    for (int i = 0; i < count; i++) {
        double start = milliseconds(threads);
        need(ctx, tw_launch_run(launch));
        double took = milliseconds(threads) - start, read = read_all(&sum);
        kernel = took < kernel ? took : kernel;
        loop = read < loop ? read : loop;
    }
    printf("%.6f %.6f\n", kernel, loop);
    tw_launch_free(launch);
    tw_context_free(ctx);
    return 0;
}
