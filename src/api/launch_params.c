#include "api/launch_params.h"

#include "base/grid.h"

#include <stdio.h>
#include <string.h>

static bool size_workspace(const tw_launch *l, const struct sym *view, struct launch_param *out)
{
    struct view_sizes sizes;
    bool known = launch_view(l, view, &sizes);
    for (int i = 0; i < view->type.rank; i++)
        known = known && sizes.extent[i] >= 0;
    memcpy(out->shape, sizes.extent, sizeof out->shape);
    out->bytes = (uint64_t)sizes.bytes;
    return known;
}

static uint64_t scalar_bytes(enum dtype t, struct literal v)
{
    uint64_t out = 0;
    if (dtype_is_float(t))
        dtype_store_f64(t, &out, v.f);
    else if (t == DT_BOOL)
        out = v.i != 0;
    else
        dtype_store_i64(t, &out, v.i);
    return out;
}

static bool find_param(const tw_launch *l, const struct cpu_argument *given,
                       const struct lower_param *p, struct launch_param *out)
{
    *out = (struct launch_param){.kind = p->kind, .sym = p->sym};
    switch (p->kind) {
    case LOWER_SCALAR:
        out->value = scalar_bytes(p->sym->type.dtype, l->choice.values[p->sym->index]);
        return true;
    case LOWER_POINTER:
        out->data = given[p->sym->index].data;
        out->bytes = given[p->sym->index].bytes;
        out->written = !p->sym->is_const;
        out->on_device = l->arrays[p->sym->index].place == TW_ON_DEVICE || !out->data;
        return true;
    case LOWER_TICKET:
        out->bytes = sizeof(uint32_t);
        out->zeroed = out->clean = true; /* the last block's draw makes it 0 */
        return true;
    case LOWER_MAP: return false; /* no launch encodes one yet */
    case LOWER_WORKSPACE: break;
    }
    out->zeroed = p->sym->zeroed;
    out->clean = p->sym->clean;
    return size_workspace(l, p->sym, out);
}

bool launch_find_grid(const tw_launch *l, int64_t grid[3], char why[CUDA_WHY])
{
    if (!launch_grid(l, grid)) {
        strcpy(why, "its grid cannot be known");
        return false;
    }
    for (int i = 0; i < 3; i++) {
        if (grid[i] > grid_limits[i]) {
            snprintf(why, CUDA_WHY, "a grid of %lld blocks along %c: GPUs have %lld at most",
                     (long long)grid[i], "xyz"[i], (long long)grid_limits[i]);
            return false;
        }
    }
    return true;
}

bool launch_params_find(tw_launch *l, struct arena *a, const struct cpu_argument *given,
                        struct launch_params *out, char why[CUDA_WHY])
{
    const struct lowered *lowered = l->variant->lowered;
    why[0] = '\0';
    if (!launch_find_grid(l, out->grid, why))
        return false;
    out->count = (int)lowered->params.count;
    out->list = arena_array(a, struct launch_param, out->count + 1);
    for (int i = 0; i < out->count; i++)
        if (!find_param(l, given, &lowered->params.data[i], &out->list[i])) {
            strcpy(why, "the extents of its workspace cannot be known before it runs");
            return false;
        }
    return true;
}
