/* Launches. cuLaunchKernelEx is for launches with more attributes than a grid. */
#include "cuda/cuda_own.h"

#include "base/grid.h"
#include "target/targets.h"

#include <assert.h>
#include <stdio.h>

/* Describes the launch, for the message to the person who must change it. */
static void describe(struct cuda *c, const struct cuda_module *m, const struct cuda_launch *launch,
                     char *out, size_t size)
{
    const int *b = launch->block;
    int registers = 0;
    c->driver.function_attribute(&registers, FUNCTION_REGISTERS, m->function);
    snprintf(out, size,
             "starting %s (%lld x %lld x %lld blocks of %d threads with %d registers each and %lld "
             "bytes of shared memory)",
             m->name, (long long)launch->grid[0], (long long)launch->grid[1],
             (long long)launch->grid[2], b[0] * b[1] * b[2], registers,
             (long long)launch->shared_bytes);
}

static int at_least_1(int n)
{
    return n > 1 ? n : 1;
}

static int cluster_size(const struct cuda_launch *l)
{
    return at_least_1(l->cluster[0]) * at_least_1(l->cluster[1]) * at_least_1(l->cluster[2]);
}

/* The first driver whose graphs have edges between kernels that begin early: CUDA 12.3. A capture by an older one cannot
 * hold such a launch. */
enum { EARLY_IN_GRAPHS = 12030 };

/* True if this GPU and driver let the launch begin early. */
static bool overlaps(const struct cuda *c, const struct cuda_launch *l)
{
    return l->overlap && c->driver.launch_with && c->device.driver >= EARLY_IN_GRAPHS &&
           target_number_has(c->device.capability, TARGET_EARLY_LAUNCH);
}

/* Lists the attributes that this GPU supports. */
static unsigned list_attributes(const struct cuda *c, const struct cuda_launch *l,
                                struct cuda_launch_attribute out[4])
{
    unsigned n = 0;
    if (l->cooperative)
        out[n++] = (struct cuda_launch_attribute){.id = LAUNCH_COOPERATIVE, .value.number = 1};
    if (cluster_size(l) > 1) {
        out[n] = (struct cuda_launch_attribute){.id = LAUNCH_CLUSTER};
        for (int i = 0; i < 3; i++)
            out[n].value.cluster[i] = (unsigned)at_least_1(l->cluster[i]);
        n++;
    }
    if (l->priority)
        out[n++] =
            (struct cuda_launch_attribute){.id = LAUNCH_PRIORITY, .value.number = l->priority};
    if (overlaps(c, l))
        out[n++] = (struct cuda_launch_attribute){.id = LAUNCH_OVERLAP, .value.number = 1};
    return n;
}

/* Checks that the GPU and the driver have such clusters. */
static bool check_cluster(struct cuda *c, struct cuda_module *m, const struct cuda_launch *l,
                          char why[CUDA_WHY])
{
    int size = cluster_size(l);
    if (size == 1)
        return true;
    if (!target_number_has(c->device.capability, TARGET_CLUSTERS) || !c->driver.launch_with) {
        int first = target_first_with(TARGET_CLUSTERS);
        int length = snprintf(why, CUDA_WHY, "it is to run in clusters of %d blocks: ", size);
        char *rest = why + length;
        size_t room = CUDA_WHY - (size_t)length;
        if (c->driver.launch_with)
            snprintf(rest, room, "those need a GPU of compute capability %d.%d", first / 10,
                     first % 10);
        else
            snprintf(rest, room, "those need a driver for CUDA 11.8");
        return false;
    }
    for (int i = 0; i < 3; i++) {
        long long blocks = l->grid[i];
        int along = at_least_1(l->cluster[i]);
        if (blocks % along == 0)
            continue;
        snprintf(why, CUDA_WHY, "%lld blocks along %c are not a multiple of the cluster's %d",
                 blocks, "xyz"[i], along);
        return false;
    }
    return size <= GPU_CLUSTER ||
           cuda_good(c, c->driver.function_set(m->function, FUNCTION_LARGE_CLUSTERS, 1),
                     "asking for clusters of more than 8 blocks", why);
}

static bool is_plain(const struct cuda *c, const struct cuda_launch *l)
{
    return !c->driver.launch_with || (!l->priority && !overlaps(c, l) && cluster_size(l) == 1);
}

static int launch_plain(const struct cuda *c, const struct cuda_module *m,
                        const struct cuda_launch_config *to, const struct cuda_launch *l)
{
    const unsigned *g = to->grid, *b = to->block;
    if (l->cooperative)
        return c->driver.launch_together(m->function, g[0], g[1], g[2], b[0], b[1], b[2],
                                         to->shared_bytes, to->stream, l->arguments);
    return c->driver.launch(m->function, g[0], g[1], g[2], b[0], b[1], b[2], to->shared_bytes,
                            to->stream, l->arguments, NULL);
}

static int launch_with(const struct cuda *c, const struct cuda_module *m,
                       struct cuda_launch_config *to, const struct cuda_launch *l)
{
    struct cuda_launch_attribute attributes[4];
    to->attributes = attributes;
    to->count = list_attributes(c, l, attributes);
    return c->driver.launch_with(to, m->function, l->arguments, NULL);
}

/* In the context. */
static bool start(struct cuda *c, struct cuda_module *m, const struct cuda_launch *launch,
                  void *stream, char why[CUDA_WHY])
{
    char what[256];
    struct cuda_launch_config to = {.shared_bytes = (unsigned)launch->shared_bytes,
                                    .stream = stream};
    for (int i = 0; i < 3; i++) {
        assert(launch->grid[i] <= grid_limits[i]);
        to.grid[i] = (unsigned)launch->grid[i];
        to.block[i] = (unsigned)launch->block[i];
    }
    if (!check_cluster(c, m, launch, why))
        return false;
    int result =
        is_plain(c, launch) ? launch_plain(c, m, &to, launch) : launch_with(c, m, &to, launch);
    c->started = m;
    if (result == 0)
        return true;
    describe(c, m, launch, what, sizeof what);
    return cuda_good(c, result, what, why);
}

bool cuda_start(struct cuda *c, struct cuda_module *m, const struct cuda_launch *launch,
                void *stream, char why[CUDA_WHY])
{
    const int64_t *g = launch->grid;
    if (g[0] <= 0 || g[1] <= 0 || g[2] <= 0)
        return true; /* no blocks */
    if (!cuda_enter(c, why))
        return false;
    bool done = start(c, m, launch, stream, why);
    cuda_leave(c);
    return done;
}

struct cuda_quick cuda_quick(const struct cuda *c, const struct cuda_module *m,
                             const struct cuda_launch *l)
{
    struct cuda_quick q = {.function = m->function,
                           .cluster = (unsigned)at_least_1(l->cluster[0]),
                           .shared_bytes = (unsigned)l->shared_bytes,
                           .overlap = overlaps(c, l)};
    q.launch = c->driver.launch;
    q.launch_with = c->driver.launch_with;
    for (int i = 0; i < 3; i++)
        q.block[i] = (unsigned)l->block[i];
    return q;
}

/* --- clusters at the same time --- */

/* Asks for a kernel with the most shared memory, of which a multiprocessor holds one block. */
static int ask_clusters(struct cuda *c, int blocks)
{
    static const char name[] = "clusters";
    static const char ptx[] = ".version 7.8\n.target sm_90\n.address_size 64\n"
                              ".visible .entry clusters()\n{\nret;\n}\n";
    char why[CUDA_WHY];
    int found = 0;
    if (!c->driver.clusters || !target_number_has(c->device.capability, TARGET_CLUSTERS))
        return 0;
    struct cuda_module *m = cuda_load(c, ptx, name, why);
    if (m && cuda_allow_shared(c, m, c->device.shared_bytes, why) && cuda_enter(c, why)) {
        unsigned size = (unsigned)blocks;
        struct cuda_launch_attribute cluster = {.id = LAUNCH_CLUSTER,
                                                .value.cluster = {size, 1, 1}};
        struct cuda_launch_config as = {.grid = {size, 1, 1},
                                        .block = {1, 1, 1},
                                        .shared_bytes = (unsigned)c->device.shared_bytes,
                                        .attributes = &cluster,
                                        .count = 1};
        if (c->driver.clusters(&found, m->function, &as) != 0)
            found = 0;
        cuda_leave(c);
    }
    cuda_unload(c, m);
    return found > 0 ? found : 0;
}

int cuda_clusters(struct cuda *c, int blocks)
{
    int *known = &c->clusters[blocks];
    if (!*known)
        *known = 1 + ask_clusters(c, blocks);
    return *known - 1;
}

bool cuda_quick_start_with(const struct cuda_quick *q, const int64_t grid[3], void *stream,
                           void **arguments)
{
    struct cuda_launch_attribute attributes[2];
    struct cuda_launch_config to = {
        .shared_bytes = q->shared_bytes, .stream = stream, .attributes = attributes};
    if (!q->launch_with || grid[0] % q->cluster)
        return false;
    if (q->cluster > 1)
        attributes[to.count++] = (struct cuda_launch_attribute){
            .id = LAUNCH_CLUSTER, .value.cluster = {q->cluster, 1, 1}};
    if (q->overlap)
        attributes[to.count++] =
            (struct cuda_launch_attribute){.id = LAUNCH_OVERLAP, .value.number = 1};
    for (int i = 0; i < 3; i++) {
        to.grid[i] = (unsigned)grid[i];
        to.block[i] = q->block[i];
    }
    return q->launch_with(&to, q->function, arguments, NULL) == 0;
}
