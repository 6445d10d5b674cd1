/* Times the thread-level kernels and the same kernels in CUDA C on one GPU. Prints one JSON
 * object a line.
 *
 *     cc -O2 -Iinclude bench/against_nvcc.c build/libtilewright.a -lm -lpthread -ldl -o against_nvcc
 *     nvcc -O3 -arch=native -cubin bench/cuda/sgemm.cu -o sgemm.cubin
 *     ./against_nvcc sgemm.cubin [M N K [MS]]
 *
 * Run it from the repository's root; bench/gpu.py builds and runs it. Sizes are 2048 by default.
 * The two kernels of a pair run in turn on the same arrays, for MS milliseconds (20) a turn;
 * times are medians, by the GPU's clock. Status 1: a call failed. */
#include "tilewright.h"
#include "tilewright_gpu.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- failing --- */

static tw_context *ctx;

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\n%s", ctx ? tw_context_messages(ctx) : "");
    exit(1);
}

static void must(tw_status s, const char *what)
{
    if (s != TW_OK)
        die("%s: %s", what, tw_status_text(s));
}

/* --- the driver, called directly: CUDA Driver API --- */

static struct {
    int (*device_get)(int *, int);
    int (*context_retain)(void **, int);
    int (*context_set)(void *);
    int (*load)(void **, const void *, unsigned, int *, void **);
    int (*function)(void **, void *, const char *);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **);
} cu;

static void find_call(void *library, const char *name, void *place)
{
    void *found = dlsym(library, name);
    if (!found)
        die("the driver has no %s", name);
    memcpy(place, &found, sizeof found);
}

/* Makes the primary context of the GPU that `ctx` has current. */
static void open_driver(void)
{
    const char *named = getenv("TILEWRIGHT_CUDA_DRIVER");
    void *library = dlopen(named && *named ? named : "libcuda.so.1", RTLD_NOW);
    int device;
    void *context;
    if (!library)
        die("there is no CUDA driver: %s", dlerror());
    find_call(library, "cuDeviceGet", &cu.device_get);
    find_call(library, "cuDevicePrimaryCtxRetain", &cu.context_retain);
    find_call(library, "cuCtxSetCurrent", &cu.context_set);
    find_call(library, "cuModuleLoadDataEx", &cu.load);
    find_call(library, "cuModuleGetFunction", &cu.function);
    find_call(library, "cuLaunchKernel", &cu.launch);
    if (cu.device_get(&device, 0) || cu.context_retain(&context, device) || cu.context_set(context))
        die("the driver refuses the GPU's context");
}

static void *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        die("%s cannot be read", path);
    fseek(f, 0, SEEK_END);
    long length = ftell(f);
    rewind(f);
    char *data = calloc((size_t)length + 1, 1);
    if (!data || fread(data, 1, (size_t)length, f) != (size_t)length)
        die("%s cannot be read", path);
    fclose(f);
    return data;
}

static void *load_function(const void *image, const char *name)
{
    void *module, *function;
    int error = cu.load(&module, image, 0, NULL, NULL);
    if (error || cu.function(&function, module, name))
        die("%s does not load (CUDA error %d)", name, error);
    return function;
}

/* --- medians --- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int count)
{
    qsort(v, (size_t)count, sizeof *v, compare_doubles);
    return (v[count / 2] + v[(count - 1) / 2]) / 2;
}

/* --- ours --- */

static tw_kernel *open_kernel(const char *path)
{
    tw_module *module;
    tw_kernel *k;
    must(tw_module_from_file(ctx, path, &module), path);
    must(tw_kernel_for_target(tw_module_kernel_at(module, 0), "cuda", &k), path);
    return k;
}

struct operands {
    void *a, *b, *c;
    int64_t m, n, k;
};

static void give_array(tw_launch *l, const char *name, void *data, int64_t rows, int64_t columns)
{
    tw_array x = tw_device_array(data, TW_F32, rows, columns);
    must(tw_launch_array(l, name, &x), name);
}

static tw_launch *new_product(tw_kernel *k, const struct operands *x)
{
    tw_launch *l;
    must(tw_launch_new(k, &l), tw_kernel_name(k));
    give_array(l, "a", x->a, x->m, x->k);
    give_array(l, "b", x->b, x->k, x->n);
    give_array(l, "c", x->c, x->m, x->n);
    return l;
}

static void *new_matrix(int64_t rows, int64_t columns, unsigned seed)
{
    size_t count = (size_t)(rows * columns);
    float *host = malloc(count * sizeof *host);
    void *device;
    if (!host)
        die("no memory");
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u; /* Numerical Recipes */
        host[i] = ((float)(seed >> 8) / (float)(1 << 24) - 0.5f) / 32;
    }
    must(tw_device_allocate(ctx, count * sizeof *host, &device), "memory of the GPU");
    must(tw_device_copy_in(ctx, device, host, count * sizeof *host, NULL), "copying");
    free(host);
    return device;
}

static struct operands new_operands(int64_t m, int64_t n, int64_t k)
{
    return (struct operands){
        new_matrix(m, k, 1), new_matrix(k, n, 2), new_matrix(m, n, 3), m, n, k};
}

static void free_operands(struct operands *x)
{
    tw_device_free(ctx, x->a);
    tw_device_free(ctx, x->b);
    tw_device_free(ctx, x->c);
}

/* --- the kernels of nvcc --- */

/* The thread-level ladder, and the tile and block of each kernel's twin in CUDA C. */
static const struct twin {
    const char *name;
    unsigned tile, x, y;
} twins[] = {{"naive", 32, 32, 32},           {"tiled", 32, 32, 32},
             {"padded", 32, 32, 32},          {"transposed", 32, 32, 32},
             {"double_buffered", 32, 32, 32}, {"register_tiled", 64, 16, 16},
             {"vector_load", 32, 8, 32}};
enum { TWINS = sizeof twins / sizeof *twins, ROUNDS = 9 };

struct pair {
    const struct twin *twin;
    tw_launch *ours;
    void *theirs;
    struct operands x;
    void *stream, *from, *to;
};

static void start_theirs(const struct pair *p)
{
    unsigned tile = p->twin->tile;
    int m = (int)p->x.m, n = (int)p->x.n, k = (int)p->x.k;
    void *a = p->x.a, *b = p->x.b, *c = p->x.c;
    void *arguments[] = {&m, &n, &k, &a, &b, &c};
    if (cu.launch(p->theirs, ((unsigned)n + tile - 1) / tile, ((unsigned)m + tile - 1) / tile, 1,
                  p->twin->x, p->twin->y, 1, 0, p->stream, arguments, NULL))
        die("cuLaunchKernel fails");
}

/* Returns the mean time of a run in milliseconds, over `runs` runs. */
static double time_runs(const struct pair *p, bool ours, int runs)
{
    double ms = 0;
    must(tw_event_record(ctx, p->from, p->stream), "an event");
    for (int i = 0; i < runs; i++) {
        if (ours)
            must(tw_launch_start(p->ours, p->stream), p->twin->name);
        else
            start_theirs(p);
    }
    must(tw_event_record(ctx, p->to, p->stream), "an event");
    must(tw_event_elapsed(ctx, p->from, p->to, &ms), p->twin->name);
    return ms / runs;
}

static void time_pair(const struct pair *p, double turn_ms)
{
    double times[2][ROUNDS], ratio[ROUNDS];
    time_runs(p, true, 1);
    time_runs(p, false, 1);
    double one = time_runs(p, true, 1);
    double turn_runs = turn_ms / (one > 0.001 ? one : 0.001);
    int runs = turn_runs < 1 ? 1 : (int)turn_runs;
    for (int r = 0; r < ROUNDS; r++) {
        for (int ours = 1; ours >= 0; ours--)
            times[ours][r] = time_runs(p, ours != 0, runs);
        ratio[r] = times[1][r] / times[0][r];
    }
    printf("{\"kernel\": \"sgemm_%s\", \"m\": %lld, \"n\": %lld, \"k\": %lld, \"ms\": %.6g, "
           "\"nvcc_ms\": %.6g, \"time_over_nvcc\": %.4f, \"limit\": 1.03}\n",
           p->twin->name, (long long)p->x.m, (long long)p->x.n, (long long)p->x.k,
           median(times[1], ROUNDS), median(times[0], ROUNDS), median(ratio, ROUNDS));
    fflush(stdout);
}

static void compare_kernels(const char *sgemm, int64_t m, int64_t n, int64_t k, double turn_ms)
{
    void *image = read_file(sgemm);
    struct pair p = {.x = new_operands(m, n, k)};
    must(tw_stream_new(ctx, &p.stream), "a stream");
    must(tw_event_new(ctx, &p.from), "an event");
    must(tw_event_new(ctx, &p.to), "an event");
    for (int i = 0; i < TWINS; i++) {
        char path[64], name[64];
        snprintf(path, sizeof path, "kernels/sgemm/%s.tile", twins[i].name);
        snprintf(name, sizeof name, "sgemm_%s", twins[i].name);
        p.twin = &twins[i];
        p.ours = new_product(open_kernel(path), &p.x);
        must(tw_launch_ready(p.ours, p.stream), path);
        p.theirs = load_function(image, name);
        time_pair(&p, turn_ms);
        tw_launch_free(p.ours);
    }
    free_operands(&p.x);
    free(image);
}

int main(int argc, char **argv)
{
    void *first;
    if (argc != 2 && argc != 5 && argc != 6)
        die("usage: against_nvcc SGEMM [M N K [MS]], where SGEMM is a cubin or PTX of "
            "bench/cuda/sgemm.cu");
    must(tw_context_new(NULL, &ctx), "a context");
    must(tw_device_allocate(ctx, 1, &first), "the GPU");
    open_driver();
    int64_t sizes[3] = {2048, 2048, 2048};
    for (int i = 0; i < 3 && argc > 2; i++)
        sizes[i] = atoll(argv[2 + i]);
    compare_kernels(argv[1], sizes[0], sizes[1], sizes[2], argc == 6 ? atof(argv[5]) : 20);
    tw_context_free(ctx);
    return 0;
}
