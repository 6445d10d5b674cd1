/* Compares the cost of a launch with the driver's own, and times the way from a text to a loaded
 * kernel.
 *
 *     cc -O2 -Iinclude bench/launch_cost.c build/libtilewright.a -lm -ldl -lpthread -o launch_cost
 *     ./launch_cost [FILE.tile…]
 *
 * Launches: microseconds of host time for cuLaunchKernel, tw_entry_start and tw_launch_start of
 * one small kernel with the same arguments; on compute capability 9.0 also for tw_entry_start of a
 * kernel with three tensor maps, which the thread has kept, and with other maps at each start.
 * Times are medians of batches of 100 that take turns; the GPU is idle before each batch. Files:
 * milliseconds from text to PTX, and from PTX to a loaded kernel: by the driver alone, with an empty
 * cache, and with the filled cache; the time
 * of `ptxas -O3` for the same PTX, if it is installed, and the time from text to loaded kernel
 * with an empty cache as a multiple of it. Each is the least of five runs after one that warms
 * up. */
#include "tilewright.h"
#include "tilewright_entry.h"
#include "tilewright_gpu.h"
#include "tilewright_look.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 100, BATCHES = 101, LENGTH = 1 << 12, TIMES = 5 };

static const char small_text[] =
    "kernel small(i32 m, i32 n, f32 by, const f32 *a, f32 *c) grid(cdiv(m * n, 4096)) warps(1)\n"
    "{\n"
    "    global f32 A[m][n] = a, C[m][n] = c;\n"
    "    C[0 +: 8][0 +: 32] = A[0 +: 8][0 +: 32] * by;\n"
    "}\n";

static const char mapped_text[] =
    "kernel mapped(i32 m, i32 n, const f32 *a, f32 *c) grid(1) warps(4) target(sm_90a)\n"
    "{\n"
    "    global f32 A[m][n] = a, C[m][n] = c, D[m][n] = c + 256;\n"
    "    shared f32 s[8][32];\n"
    "    mbarrier full(1);\n"
    "    warps(0 +: 4) {\n"
    "        one_thread {\n"
    "            expect(full, bytes(s));\n"
    "            async(full) s = A[0 +: 8][0 +: 32];\n"
    "            wait(full);\n"
    "            async C[0 +: 8][0 +: 32] = s;\n"
    "            async D[0 +: 8][0 +: 32] = s;\n"
    "            store_wait(0);\n"
    "        }\n"
    "    }\n"
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
    fprintf(stderr, "%s\n%s", tw_status_text(status), tw_context_messages(ctx));
    exit(1);
}

/* --- launches --- */

struct raw {
    int (*load)(void **module, const void *image, unsigned count, int *options, void **values);
    int (*find)(void **function, void *module, const char *name);
    int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                  unsigned bz, unsigned shared, void *stream, void **params, void **extra);
    void *module, *function;
};

static void find(void *library, const char *name, void *function, size_t size)
{
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) {
        fprintf(stderr, "the driver has no %s\n", name);
        exit(1);
    }
    memcpy(function, &found, size);
}

/* Loads the PTX into the context that earlier calls made current. */
static struct raw load_raw(const char *ptx)
{
    struct raw r;
    const char *named = getenv("TILEWRIGHT_CUDA_DRIVER");
    void *library = dlopen(named && *named ? named : "libcuda.so.1", RTLD_NOW);
    find(library, "cuModuleLoadDataEx", &r.load, sizeof r.load);
    find(library, "cuModuleGetFunction", &r.find, sizeof r.find);
    find(library, "cuLaunchKernel", &r.launch, sizeof r.launch);
    if (r.load(&r.module, ptx, 0, NULL, NULL) || r.find(&r.function, r.module, "small")) {
        fprintf(stderr, "the driver does not load the small kernel\n");
        exit(1);
    }
    return r;
}

struct bench {
    tw_context *ctx;
    tw_launch *launch;
    tw_entry *entry, *mapped; /* mapped: NULL if the GPU has no tensor maps */
    struct raw raw;
    void *stream, *a, *c;
    int rows; /* counts the starts with other maps */
};

enum { WAYS = 5 };
static const char *const ways[WAYS] = {"cuLaunchKernel", "tw_entry_start", "tw_launch_start",
                                       "3_tensor_maps", "3_other_maps"};

static void start(struct bench *b, int way)
{
    int m = 8, n = 32;
    float by = 2;
    void *params[] = {&m, &n, &by, &b->a, &b->c};
    tw_value args[] = {tw_int(m), tw_int(n), tw_float((double)by), tw_pointer(b->a),
                       tw_pointer(b->c)};
    if (way == 0 &&
        b->raw.launch(b->raw.function, 1, 1, 1, 32, 1, 1, 0, b->stream, params, NULL) != 0)
        exit(1);
    if (way == 1)
        need(b->ctx, tw_entry_start(b->entry, args, 5, b->stream, NULL));
    if (way == 2)
        need(b->ctx, tw_launch_start(b->launch, b->stream));
    /* With other numbers of rows, all maps are new. */
    tw_value maps[] = {tw_int(way == 4 ? 32 + 16 * (++b->rows % 1024) : 32), tw_int(n),
                       tw_pointer(b->a), tw_pointer(b->c)};
    if (way > 2)
        need(b->ctx, tw_entry_start(b->mapped, maps, 4, b->stream, NULL));
}

static int by_value(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static void open_bench(struct bench *b)
{
    tw_module *m;
    tw_kernel *k;
    tw_launch *l;
    const char *ptx;
    need(b->ctx, tw_module_from_text(b->ctx, "small.tile", small_text, strlen(small_text), &m));
    need(b->ctx, tw_kernel_for_target(tw_module_kernel_at(m, 0), "cuda", &k));
    need(b->ctx, tw_launch_new(k, &b->launch));
    need(b->ctx, tw_stream_new(b->ctx, &b->stream));
    need(b->ctx, tw_device_allocate(b->ctx, LENGTH, &b->a));
    need(b->ctx, tw_device_allocate(b->ctx, LENGTH, &b->c));
    need(b->ctx, tw_entry_new(b->launch, &b->entry));
    tw_array a = tw_device_array(b->a, TW_F32, 8, 32);
    need(b->ctx, tw_launch_array(b->launch, "a", &a));
    a.data = b->c;
    need(b->ctx, tw_launch_array(b->launch, "c", &a));
    need(b->ctx, tw_launch_set(b->launch, "by", tw_float(2)));
    need(b->ctx, tw_launch_ready(b->launch, b->stream));
    need(b->ctx, tw_launch_show_stage(b->launch, TW_STAGE_PTX, &ptx));
    b->raw = load_raw(ptx);
    tw_device here = tw_device_init();
    for (int i = 1; tw_device_at(i, &here) && here.ordinal != 0; i++)
        ;
    if (here.capability != 90)
        return;
    need(b->ctx, tw_module_from_text(b->ctx, "mapped.tile", mapped_text, strlen(mapped_text), &m));
    need(b->ctx, tw_kernel_for_target(tw_module_kernel_at(m, 0), "cuda", &k));
    need(b->ctx, tw_launch_new(k, &l));
    need(b->ctx, tw_entry_new(l, &b->mapped));
}

static void compare_launches(tw_context *ctx)
{
    static double taken[WAYS][BATCHES];
    struct bench b = {.ctx = ctx};
    open_bench(&b);
    int count = b.mapped ? WAYS : 3;
    for (int batch = -1; batch < BATCHES; batch++) /* the first batch warms up */
        for (int way = 0; way < count; way++) {
            need(ctx, tw_stream_wait(ctx, b.stream));
            double from = microseconds();
            for (int i = 0; i < BATCH; i++)
                start(&b, way);
            if (batch >= 0)
                taken[way][batch] = (microseconds() - from) / BATCH;
        }
    need(ctx, tw_stream_wait(ctx, b.stream));
    for (int way = 0; way < count; way++) {
        qsort(taken[way], BATCHES, sizeof **taken, by_value);
        printf("%-16s %7.3f us %+7.3f\n", ways[way], taken[way][BATCHES / 2],
               taken[way][BATCHES / 2] - taken[0][BATCHES / 2]);
    }
}

/* --- text to loaded kernel --- */

/* Sets sizes that every kernel that ships accepts. */
static void set_sizes(tw_context *ctx, tw_kernel *k, tw_launch *l)
{
    tw_param p = tw_param_init();
    for (int i = 0; i < tw_kernel_param_count(k); i++) {
        need(ctx, tw_kernel_param(k, i, &p));
        bool is_float = p.dtype <= TW_E5M2;
        if (!p.is_pointer)
            need(ctx,
                 tw_launch_set(l, p.name,
                               is_float ? tw_float(0.5) : tw_int(p.dtype == TW_BOOL ? 1 : 64)));
    }
}

struct stages {
    double ptx, loaded; /* both in microseconds: text to PTX, PTX to loaded kernel */
};

/* Times one file. Does not empty the cache's folder. The caller frees *ptx. */
static struct stages load_file(const char *path, const char *cache, char **ptx)
{
    tw_config config = {.size = sizeof config, .cache = cache};
    struct stages s;
    tw_context *ctx;
    tw_module *m;
    tw_kernel *k;
    tw_launch *l;
    tw_occupancy o = tw_occupancy_init();
    void *opened;
    const char *text;
    need(NULL, tw_context_new(&config, &ctx));
    need(ctx, tw_device_allocate(ctx, 1, &opened)); /* the GPU is open now */
    double from = microseconds();
    need(ctx, tw_module_from_file(ctx, path, &m));
    need(ctx, tw_kernel_for_target(tw_module_kernel_at(m, 0), "cuda", &k));
    need(ctx, tw_launch_new(k, &l));
    set_sizes(ctx, k, l);
    need(ctx, tw_launch_prepare(l));
    s.ptx = microseconds() - from;
    from = microseconds();
    need(ctx, tw_launch_occupancy(l, &o));
    s.loaded = microseconds() - from;
    need(ctx, tw_launch_show_stage(l, TW_STAGE_PTX, &text));
    *ptx = strdup(text);
    tw_context_free(ctx);
    return s;
}

static void empty(const char *folder)
{
    char command[256];
    snprintf(command, sizeof command, "rm -f %s/*", folder);
    if (system(command) != 0)
        exit(1);
}

/* Returns the milliseconds of `ptxas -O3`; 0 if it is not installed. */
static double assemble(const char *folder, const char *ptx)
{
    char path[128], command[512], target[32] = "sm_80";
    const char *at = strstr(ptx, ".target ");
    if (at)
        sscanf(at, ".target %31[a-z0-9_]", target);
    snprintf(path, sizeof path, "%s/k.ptx", folder);
    FILE *f = fopen(path, "w");
    if (!f)
        return 0;
    fputs(ptx, f);
    fclose(f);
    snprintf(command, sizeof command, "ptxas -O3 -arch=%s %s -o %s/k.cubin 2>%s/log", target, path,
             folder, folder);
    double from = microseconds();
    int status = system(command);
    double taken = microseconds() - from;
    empty(folder);
    return status == 0 ? taken / 1e3 : 0;
}

static double least(double a, double b)
{
    return a == 0 || b < a ? b : a;
}

static void compare_loads(const char *path)
{
    char folder[] = "/tmp/launch-cost-XXXXXX", *ptx;
    if (!mkdtemp(folder))
        exit(1);
    double text = 0, alone = 0, missed = 0, found = 0, ptxas = 0;
    for (int i = -1; i < TIMES; i++) {
        struct stages plain = load_file(path, "", &ptx);
        free(ptx);
        struct stages first = load_file(path, folder, &ptx);
        free(ptx);
        struct stages second = load_file(path, folder, &ptx);
        empty(folder);
        if (i >= 0) {
            text = least(text, plain.ptx / 1e3);
            alone = least(alone, plain.loaded / 1e3);
            missed = least(missed, first.loaded / 1e3);
            found = least(found, second.loaded / 1e3);
            ptxas = least(ptxas, assemble(folder, ptx));
        }
        free(ptx);
    }
    rmdir(folder);
    printf("%-40s %8.2f %8.2f %8.2f %8.2f ", path, text, alone, missed, found);
    if (ptxas > 0)
        printf("%8.2f %6.2f\n", ptxas, (text + missed) / ptxas);
    else
        printf("%8s %6s\n", "-", "-");
}

int main(int argc, char **argv)
{
    tw_context *ctx;
    setenv("CUDA_CACHE_DISABLE", "1", 1); /* before the driver is loaded */
    need(NULL, tw_context_new(&(tw_config){.size = sizeof(tw_config), .cache = ""}, &ctx));
    compare_launches(ctx);
    if (argc > 1)
        printf("\n%-40s %8s %8s %8s %8s %8s %6s\n", "ms", "to PTX", "driver", "+ cache", "cached",
               "ptxas", "ratio");
    for (int i = 1; i < argc; i++)
        compare_loads(argv[i]);
    tw_context_free(ctx);
    return 0;
}
