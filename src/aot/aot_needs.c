/* Questions about what is built: its targets, and what its launches need. */
#include "aot/aot.h"

#include <string.h>

static const struct target cpu_target = {.name = "cpu"};
const struct target *const aot_cpu = &cpu_target;

int aot_target_index(const struct target *const *targets, const struct target *t)
{
    int i = 0;
    while (targets[i] != t)
        i++;
    return i;
}

int aot_clusters_param(const struct aot_build *b, const struct aot_function *f)
{
    bool has = false;
    for (size_t i = 0; i < f->rows.count; i++)
        has = has || b->versions.data[f->rows.data[i].version].of_cluster[0];
    for (int p = 0; p < f->param_count && has; p++)
        if (f->params[p].device == DEVICE_CLUSTERS)
            return p;
    return -1;
}

bool aot_asks_clusters(const struct aot_build *b)
{
    bool asks = false;
    for (size_t i = 0; i < b->functions.count; i++)
        asks = asks || aot_clusters_param(b, &b->functions.data[i]) >= 0;
    return asks;
}

size_t aot_rows_without(const struct aot_function *f, int param)
{
    size_t count = 0;
    for (size_t i = 0; i < f->rows.count; i++)
        count += f->rows.data[i].is_static[param] || f->rows.data[i].absent[param];
    return count;
}

bool aot_takes_workspace(const struct aot_function *f)
{
    bool takes = f->rooms > 0;
    for (size_t i = 0; f->family && i < f->rows.count && !takes; i++)
        takes = f->rows.data[i].target != aot_cpu;
    return takes;
}

int aot_least_alignment(const struct aot_function *f)
{
    int least = 16;
    bool gpu = false;
    for (size_t i = 0; i < f->rows.count; i++) {
        if (f->rows.data[i].target == aot_cpu)
            continue;
        gpu = true;
        if (f->rows.data[i].alignment < least)
            least = f->rows.data[i].alignment;
    }
    return gpu ? least : 1; /* a CPU needs the alignment of the elements */
}

bool aot_has_cpu(const struct aot_build *b)
{
    for (size_t i = 0; i < b->images.count; i++)
        if (b->images.data[i].target == aot_cpu)
            return true;
    return false;
}

bool aot_has_hopper(const struct aot_build *b)
{
    bool has = false;
    for (size_t i = 0; i < b->versions.count; i++)
        has = has || b->versions.data[i].cluster || b->versions.data[i].sizes.map_count;
    return has;
}

bool aot_has_attributes(const struct aot_build *b)
{
    bool has = aot_has_hopper(b) || aot_asks_clusters(b);
    for (size_t i = 0; i < b->versions.count; i++)
        has = has || b->versions.data[i].early;
    return has;
}

bool aot_has_gpu(const struct aot_build *b)
{
    for (size_t i = 0; i < b->images.count; i++)
        if (b->images.data[i].target != aot_cpu)
            return true;
    return false;
}

/* Ranks targets: the more features of its own a target has, the better it suits a GPU that runs
 * it. */
static int target_rank(const struct target *t)
{
    int own = t->ptx.suffix == 'a' ? 2 : t->ptx.suffix == 'f' ? 1 : 0;
    return t->ptx.number * 4 + own;
}

static void add_codes(const struct aot_build *b, const struct target **list, int most, int *all)
{
    for (size_t i = 0; i < b->images.count; i++) {
        int at = 0;
        while (at < *all && list[at] != b->images.data[i].code)
            at++;
        if (at == *all && at < most)
            list[(*all)++] = b->images.data[i].code;
    }
}

bool aot_is_narrow(const struct aot_build *b, int version)
{
    const struct aot_image *image = &b->images.data[b->versions.data[version].image];
    return image->code != image->target;
}

int aot_targets(const struct aot_build *b, const struct target **list, int most, int *all)
{
    int count = 0;
    for (size_t i = 0; i < b->images.count; i++) {
        const struct target *t = b->images.data[i].target;
        int at = 0;
        while (at < count && target_rank(list[at]) > target_rank(t))
            at++;
        if ((at < count && list[at] == t) || count == most)
            continue;
        memmove(&list[at + 1], &list[at], (size_t)(count - at) * sizeof *list);
        list[at] = t;
        count++;
    }
    *all = count;
    add_codes(b, list, most, all);
    return count;
}

bool aot_ships_ptx(const struct aot_build *b, const struct aot_image *image)
{
    const struct target *targets[AOT_MOST_TARGETS];
    int all, count = aot_targets(b, targets, AOT_MOST_TARGETS, &all);
    if (count > 1 && targets[count - 1] == aot_cpu) /* ranks last */
        count--;
    return image->ptx && (!image->cubin || image->target == targets[count - 1]);
}
