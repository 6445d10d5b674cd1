/* Kernels in every type, shape and configuration on this machine's GPU, compared with the CPU
 * engine.
 *
 *     gpu_kernels [-j PROCESSES] [-c all|few|default] [-s all|small] [-k TEXT] FILE.tile…
 *
 *   -c  configurations of tuned values: all; few: the first, the middle and the last, each with one
 *       shape, in turn; default: the first
 *   -s  small: shapes of few blocks, none of them even
 *   -k  only cases with this text in their name, "matmul_v4 T=f16 BM=64,… m=3,n=5,k=7"
 *
 * Elements are quarters of small numbers, so that every order of adding products gives the same
 * sum; other results that may differ keep within the bounds of the kernel's `ensures`. The CPU
 * engine runs the kernel's default configuration. */
#include "gpu_compare.h"

#include "api/objects.h"

#include "test_layout_random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SECONDS = 300, NAME = 512, VALUES = 16, GRAIN = 12, SHAPES = 10 };

/* Values of parameters, small ones first; names that a kernel does not have are left out. */
struct shapes {
    const char *kernel; /* NULL: all other kernels */
    int small;
    const char *list[SHAPES];
};
static const struct shapes shape_table[] = {
    {"attention",
     2,
     {"heads=2,nq=70,nk=33,d=32,causal=0,scale=0.125", "heads=1,nq=130,nk=77,d=64,causal=1,scale=1",
      "heads=2,nq=64,nk=64,d=64,causal=0,scale=0.125", "heads=1,nq=1,nk=200,d=32,causal=0,scale=1",
      "heads=2,nq=256,nk=256,d=128,causal=1,scale=0.125"}},
    {"attention_hopper",
     2,
     {"heads=2,nq=70,nk=33,causal=0,scale=0.125", "heads=1,nq=130,nk=77,causal=1,scale=1",
      "heads=1,nq=1,nk=200,causal=0,scale=1", "heads=2,nq=256,nk=256,causal=1,scale=0.125"}},
    {"linear_hopper",
     3,
     {"m=1,n=16,k=16,activate=0,residual=1", "m=3,n=48,k=80,activate=1,residual=0",
      "m=130,n=72,k=40,activate=1,residual=1", "m=65,n=136,k=32,activate=0,residual=0",
      "m=256,n=256,k=256,activate=1,residual=1"}},
    {"softmax", 3, {"rows=1,cols=1", "rows=5,cols=33", "rows=7,cols=1000", "rows=3,cols=4096"}},
    {"layer_norm", 3, {"rows=1,cols=2", "rows=5,cols=33", "rows=7,cols=1000", "rows=3,cols=4096"}},
    {"softmax_lengths", 2, {"rows=1,cols=1", "rows=13,cols=333", "rows=70,cols=1000"}},
    {"argmax", 2, {"rows=1,cols=1", "rows=13,cols=333", "rows=70,cols=1000"}},
    {"row_sums", 2, {"rows=1,cols=1", "rows=13,cols=333", "rows=70,cols=1000"}},
    {"column_sums", 2, {"rows=1,cols=1", "rows=13,cols=333", "rows=70,cols=1000"}},
    {"sum_all", 2, {"n=1", "n=30001", "n=300000"}},
    {"count_bytes", 2, {"n=1", "n=30001", "n=300000"}},
    {"grouped_products",
     2,
     {"groups=3,most=5,n=7,k=9", "groups=2,most=67,n=75,k=70", "groups=4,most=128,n=64,k=96"}},
    {"paged_attention",
     2,
     {"batch=3,heads=1,group=3,d=32,pages=5,most=3,scale=1",
      "batch=2,heads=2,group=8,d=64,pages=9,most=7,scale=0.125"}},
    {"convolution",
     2,
     {"n=1,h=5,w=7,c=3,r=3,s=2,f=5,pad=1", "n=2,h=9,w=8,c=40,r=3,s=3,f=70,stride=2,pad=1",
      "n=1,h=16,w=16,c=64,r=1,s=1,f=64"}},
    {"matmul_batched",
     3,
     {"batch=1,m=3,n=5,k=7", "batch=3,m=65,n=72,k=40", "batch=2,m=127,n=129,k=131"}},
    {"matmul_batched_waves",
     4,
     {"batch=1,m=3,n=5,k=7", "batch=300,m=5,n=16,k=48", "batch=3,m=65,n=72,k=40",
      "batch=2,m=127,n=129,k=131", "batch=9,m=512,n=384,k=160"}},
    {"matmul_batched_ahead",
     4,
     {"batch=1,m=3,n=5,k=7", "batch=300,m=5,n=16,k=48", "batch=3,m=65,n=72,k=40",
      "batch=2,m=127,n=129,k=131", "batch=9,m=512,n=384,k=160"}},
    {"matmul_nt_split",
     4,
     {"m=1,n=1,k=1", "m=3,n=5,k=700", "m=65,n=140,k=501", "m=16,n=48,k=2304", "m=1,n=257,k=4099",
      "m=256,n=256,k=256", "m=384,n=192,k=1024"}},
    {"matmul_split_sum",
     4,
     {"m=1,n=1,k=1", "m=3,n=5,k=700", "m=65,n=140,k=501", "m=16,n=48,k=2304", "m=1,n=257,k=4099",
      "m=256,n=256,k=256", "m=384,n=192,k=1024"}},
    {"matmul_split_ahead",
     4,
     {"m=1,n=1,k=1", "m=3,n=5,k=700", "m=65,n=140,k=501", "m=16,n=48,k=2304", "m=1,n=257,k=4099",
      "m=256,n=256,k=256", "m=384,n=192,k=1024"}},
    {"matmul_split_parts",
     4,
     {"m=1,n=1,k=1", "m=3,n=5,k=700", "m=65,n=140,k=501", "m=16,n=48,k=2304", "m=1,n=257,k=4099",
      "m=256,n=256,k=256", "m=384,n=192,k=1024"}},
    {"single_block", 1, {""}},
    {"tiled_3x3", 4, {"size=1", "size=3", "size=8", "size=9"}},
    {NULL,
     4,
     {"batch=3,m=1,n=1,k=1", "batch=2,m=3,n=5,k=7", "batch=2,m=130,n=72,k=40",
      "batch=1,m=65,n=140,k=33", "batch=2,m=64,n=1,k=300", "batch=3,m=1,n=257,k=16",
      "batch=1,m=127,n=129,k=131", "batch=2,m=256,n=256,k=256", "batch=1,m=384,n=192,k=1024"}},
};

/* The shapes of other kernels for one GPU: tensor copies need rows of a multiple of 16 bytes. */
static const struct shapes hopper_shapes = {NULL,
                                            4,
                                            {"m=1,n=16,k=16", "m=3,n=48,k=80", "m=130,n=80,k=48",
                                             "m=65,n=144,k=32", "m=127,n=272,k=16",
                                             "m=256,n=256,k=256", "m=384,n=192,k=1024"}};

/* A kernel with one choice of types and one shape: the common part of its configurations. */
struct unit {
    const char *path, *shape;
    int kernel; /* its number in the file */
    tw_dtype types[VALUES];
};
struct item {
    const struct unit *unit;
    int configuration;
};

static char target[POOL_TARGET];
static tw_context *ctx; /* of the process, because opening a GPU is slow */

/* --- values --- */

/* Gives the tuned values of configuration `number`: the last group of names changes fastest. */
static void tuned_values(tw_kernel *k, int number, tw_value values[VALUES])
{
    int group = -1, row = 0;
    for (int i = tw_kernel_tune_count(k) - 1; i >= 0; i--) {
        tw_tune t = tw_tune_init();
        tw_kernel_tune(k, i, &t);
        if (t.group != group) {
            row = number % t.count;
            number /= t.count;
        }
        group = t.group;
        values[i] = t.values[row];
    }
}

static int configuration_count(tw_kernel *k)
{
    int count = 1, group = -1;
    for (int i = 0; i < tw_kernel_tune_count(k); i++) {
        tw_tune t = tw_tune_init();
        tw_kernel_tune(k, i, &t);
        count *= t.group == group ? 1 : t.count;
        group = t.group;
    }
    return count;
}

static tw_status set_tuned(tw_kernel *k, tw_launch *l, int configuration)
{
    tw_value values[VALUES];
    tw_tune t = tw_tune_init();
    tw_status status = TW_OK;
    tuned_values(k, configuration, values);
    for (int i = 0; i < tw_kernel_tune_count(k) && status == TW_OK; i++)
        if ((status = tw_kernel_tune(k, i, &t)) == TW_OK)
            status = tw_launch_tune(l, t.name, values[i]);
    return status;
}

static tw_status set_types(tw_kernel *k, tw_launch *l, const tw_dtype *types)
{
    tw_type t = tw_type_init();
    tw_status status = TW_OK;
    for (int i = 0; i < tw_kernel_type_count(k) && status == TW_OK; i++)
        if ((status = tw_kernel_type(k, i, &t)) == TW_OK)
            status = tw_launch_type(l, t.name, types[i]);
    return status;
}

static bool find_parameter(tw_kernel *k, const char *name, tw_param *out)
{
    for (int i = 0; i < tw_kernel_param_count(k); i++)
        if (tw_kernel_param(k, i, out) == TW_OK && strcmp(out->name, name) == 0)
            return true;
    return false;
}

static tw_status set_shape(tw_kernel *k, tw_launch *l, const char *shape)
{
    char name[32];
    double value;
    int length;
    tw_param p = tw_param_init();
    tw_status status = TW_OK;
    while (status == TW_OK && sscanf(shape, "%31[^=]=%lf%n", name, &value, &length) == 2) {
        if (find_parameter(k, name, &p))
            status = tw_launch_set(l, name,
                                   dtype_is_float((enum dtype)p.dtype) ? tw_float(value)
                                                                       : tw_int((int64_t)value));
        shape += length;
        shape += *shape == ',';
    }
    return status;
}

static tw_status set_all(tw_kernel *k, tw_launch *l, const struct unit *u, int configuration)
{
    tw_status status = set_types(k, l, u->types);
    if (status == TW_OK)
        status = set_shape(k, l, u->shape);
    if (status == TW_OK && configuration >= 0)
        status = set_tuned(k, l, configuration);
    if (status != TW_OK)
        printf("%s: %s\n", tw_status_name(status), tw_context_messages(ctx));
    return status;
}

static double quarters(enum dtype t, int param, uint64_t *seed)
{
    (void)t, (void)param;
    return (random_below(seed, 9) - 4) * 0.25;
}

/* --- items --- */

static struct item *items;
static int item_count;

/* The process's state for its present unit. */
static struct {
    const struct unit *unit; /* NULL: no unit is open */
    tw_module *module;
    tw_kernel *host, *gpu;
    tw_launch *launch; /* of the host's */
    struct compared compared;
} now;

static void close_unit(void)
{
    if (now.unit)
        compared_close(&now.compared);
    tw_launch_free(now.launch);
    tw_module_free(now.module);
    memset(&now, 0, sizeof now);
}

static bool open_unit(const struct unit *u)
{
    if (now.unit == u)
        return true;
    close_unit();
    if (tw_module_from_file(ctx, u->path, &now.module) != TW_OK)
        return false;
    now.host = tw_module_kernel_at(now.module, u->kernel);
    if (tw_kernel_for_target(now.host, target, &now.gpu) != TW_OK ||
        tw_launch_new(now.host, &now.launch) != TW_OK || set_all(now.host, now.launch, u, -1) ||
        !compared_open(&now.compared, ctx, now.host, now.launch, quarters, 1))
        return false;
    now.unit = u;
    return true;
}

static enum outcome run(int number)
{
    const struct item *it = &items[number];
    tw_launch *gpu;
    if (!open_unit(it->unit) || tw_launch_new(now.gpu, &gpu) != TW_OK)
        return OUTCOME_WRONG;
    enum outcome outcome = OUTCOME_WRONG;
    if (set_all(now.gpu, gpu, it->unit, it->configuration) == TW_OK)
        outcome = compared_run(&now.compared, ctx, now.gpu, gpu);
    tw_launch_free(gpu);
    return outcome;
}

/* Writes "kernels/matmul/stages.tile:matmul_v4 T=f16 BM=64 BN=128 m=3,n=5,k=7". */
static void item_name(tw_kernel *k, const struct item *it, char name[NAME])
{
    tw_value values[VALUES];
    int at = snprintf(name, NAME, "%s:%s", it->unit->path, tw_kernel_name(k));
    for (int i = 0; i < tw_kernel_type_count(k); i++) {
        tw_type t = tw_type_init();
        tw_kernel_type(k, i, &t);
        at += snprintf(name + at, (size_t)(NAME - at), " %s=%s", t.name,
                       tw_dtype_name(it->unit->types[i]));
    }
    tuned_values(k, it->configuration, values);
    for (int i = 0; i < tw_kernel_tune_count(k); i++) {
        tw_tune t = tw_tune_init();
        tw_kernel_tune(k, i, &t);
        at += snprintf(name + at, (size_t)(NAME - at), " %s=%g", t.name,
                       values[i].kind == TW_FLOAT ? values[i].f : (double)values[i].i);
    }
    snprintf(name + at, (size_t)(NAME - at), " %s", it->unit->shape);
}

static void print_name(int number)
{
    const struct item *it = &items[number];
    char name[NAME];
    tw_module *m;
    tw_kernel *k;
    if (tw_module_from_file(ctx, it->unit->path, &m) != TW_OK)
        return;
    if (tw_kernel_for_target(tw_module_kernel_at(m, it->unit->kernel), target, &k) == TW_OK) {
        item_name(k, it, name);
        printf("%s", name);
    }
    tw_module_free(m);
}

/* --- which --- */

static bool few, only_default, small;
static const char *part = "";

static void *need(void *memory)
{
    if (!memory) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    return memory;
}

static const struct unit *new_unit(const char *path, int kernel, const char *shape,
                                   const tw_dtype *types)
{
    struct unit *u = need(malloc(sizeof *u)); /* kept until the program ends */
    *u = (struct unit){.path = path, .shape = shape, .kernel = kernel};
    memcpy(u->types, types, sizeof u->types);
    return u;
}

static void add_item(tw_kernel *k, const struct unit *unit, int configuration)
{
    struct item it = {unit, configuration};
    char name[NAME];
    item_name(k, &it, name);
    if (!strstr(name, part))
        return;
    if (item_count % 1024 == 0)
        items = need(realloc(items, (size_t)(item_count + 1024) * sizeof *items));
    items[item_count++] = it;
}

static const struct shapes *shapes_of(tw_kernel *k)
{
    const struct shapes *s = shape_table;
    while (s->kernel && strcmp(s->kernel, tw_kernel_name(k)) != 0)
        s++;
    return !s->kernel && k->info->target ? &hopper_shapes : s;
}

static int shape_count(const struct shapes *s)
{
    int n = 0;
    while (n < SHAPES && s->list[n])
        n++;
    return small || few ? s->small : n;
}

/* Writes the numbers of the configurations that `require` allows to `list`; returns their count. */
static int allowed(tw_kernel *k, int *list)
{
    tw_value values[VALUES];
    int n = 0;
    for (int i = 0; i < configuration_count(k); i++) {
        tuned_values(k, i, values);
        if (tw_kernel_tune_count(k) == 0 || tw_kernel_allows(k, values, NULL))
            list[n++] = i;
    }
    return n;
}

static int type_choices(tw_kernel *k)
{
    int n = 1;
    tw_type t = tw_type_init();
    for (int i = 0; i < tw_kernel_type_count(k); i++)
        n *= tw_kernel_type(k, i, &t) == TW_OK ? t.count : 1;
    return n;
}

static void choose_types(tw_kernel *k, int number, tw_dtype types[VALUES])
{
    tw_type t = tw_type_init();
    for (int i = 0; i < tw_kernel_type_count(k); i++)
        if (tw_kernel_type(k, i, &t) == TW_OK) {
            types[i] = t.choices[number % t.count];
            number /= t.count;
        }
}

/* Adds the first, the middle and the last configuration, with types and shapes in turn. */
static void add_few(const char *path, int number, tw_kernel *k, const int *list, int count)
{
    const struct shapes *s = shapes_of(k);
    int at[] = {0, count / 2, count - 1};
    for (int i = 0; i < 3 && i < count; i++) {
        tw_dtype types[VALUES] = {TW_F64};
        choose_types(k, i, types);
        const char *shape = s->list[(item_count + i) % shape_count(s)];
        add_item(k, new_unit(path, number, shape, types), list[at[i]]);
    }
}

static void add_all(const char *path, int number, tw_kernel *k, const int *list, int count)
{
    const struct shapes *s = shapes_of(k);
    for (int t = 0; t < type_choices(k); t++)
        for (int i = 0; i < shape_count(s); i++) {
            tw_dtype types[VALUES] = {TW_F64};
            choose_types(k, t, types);
            const struct unit *u = new_unit(path, number, s->list[i], types);
            for (int c = 0; c < count; c++)
                add_item(k, u, list[c]);
        }
}

static void die(const char *path)
{
    printf("%s: %s\n", path, tw_context_messages(ctx));
    exit(1);
}

static void add_file(const char *path)
{
    tw_module *m;
    tw_kernel *k;
    if (tw_module_from_file(ctx, path, &m) != TW_OK)
        die(path);
    for (int i = 0; i < tw_module_kernel_count(m); i++) {
        if (tw_kernel_for_target(tw_module_kernel_at(m, i), target, &k) != TW_OK)
            die(path);
        if (!modules_kernel_takes_target(k)) { /* Hopper's kernels on another GPU */
            printf("left out: %s:%s\n", path, tw_kernel_name(k));
            continue;
        }
        int *list = need(malloc((size_t)configuration_count(k) * sizeof *list));
        int count = allowed(k, list);
        if (few)
            add_few(path, i, k, list, count);
        else
            add_all(path, i, k, list, only_default ? 1 : count);
        free(list);
    }
    tw_module_free(m);
}

static bool read_options(int argc, char **argv, struct pool *pool)
{
    for (int option; (option = getopt(argc, argv, "j:c:s:k:")) != -1;)
        switch (option) {
        case 'j': pool->jobs = atoi(optarg); break;
        case 'c':
            few = strcmp(optarg, "few") == 0;
            only_default = strcmp(optarg, "default") == 0;
            break;
        case 's': small = strcmp(optarg, "small") == 0; break;
        case 'k': part = optarg; break;
        default: return false;
        }
    return optind < argc;
}

int main(int argc, char **argv)
{
    int counts[OUTCOMES];
    struct pool pool = {.grain = GRAIN,
                        .jobs = (int)sysconf(_SC_NPROCESSORS_ONLN),
                        .seconds = SECONDS,
                        .run = run,
                        .print_name = print_name};
    if (!read_options(argc, argv, &pool)) {
        fprintf(stderr, "gpu_kernels [-j PROCESSES] [-c all|few|default] [-s all|small] [-k TEXT] "
                        "FILE.tile...\n");
        return 2;
    }
    if (!pool_target(pool.jobs, target))
        return POOL_SKIPPED;
    if (tw_context_new(&(tw_config){.size = sizeof(tw_config), .threads = 1}, &ctx) != TW_OK)
        return 2;
    for (int i = optind; i < argc; i++)
        add_file(argv[i]);
    pool.count = item_count;
    pool_run(&pool, counts);
    return pool_verdict(counts, "launches of kernels");
}
