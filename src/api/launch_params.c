#include "api/launch_params.h"

#include "base/grid.h"
#include "tile/clean.h"

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

static uint64_t *aligned_code(struct arena *a)
{
    char *room = arena_alloc(a, MAP_WORDS * sizeof(uint64_t) + MAP_ALIGNMENT);
    return (uint64_t *)(void *)(room + (MAP_ALIGNMENT - (uintptr_t)room % MAP_ALIGNMENT));
}

static bool find_map(const tw_launch *l, struct arena *a, const struct lowered_param *p,
                     struct launch_param *out)
{
    struct launch_map *m = out->map = arena_new(a, struct launch_map);
    m->form = lowered_map_form(p, tensor_map_type(p->sym->type.dtype));
    m->code = aligned_code(a);
    return launch_view(l, p->sym, &m->sizes);
}

static bool find_param(const tw_launch *l, struct arena *a, const struct cpu_argument *given,
                       const struct lowered_param *p, struct launch_param *out)
{
    *out = (struct launch_param){.kind = p->kind, .sym = p->sym};
    switch (p->kind) {
    case LOWERED_SCALAR:
        out->value = scalar_bytes(p->sym->type.dtype, l->choice.values[p->sym->index]);
        return true;
    case LOWERED_POINTER:
        out->data = given[p->sym->index].data;
        out->bytes = given[p->sym->index].bytes;
        out->written = !p->sym->is_const;
        out->on_device = l->arrays[p->sym->index].place == TW_ON_DEVICE || !out->data;
        return true;
    case LOWERED_TICKET:
        out->bytes = sizeof(uint32_t);
        out->zeroed = out->clean = true; /* the last block's draw makes it 0 */
        return true;
    case LOWERED_MAP: return find_map(l, a, p, out);
    case LOWERED_WORKSPACE: break;
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
        int along = l->variant ? l->variant->ir->cluster[i] : 0;
        if (along > 0 && grid[i] % along != 0) {
            snprintf(
                why, CUDA_WHY,
                "its grid has %lld blocks along %c, and its clusters have %d: round the extent "
                "up, cdiv(…, %d) * %d",
                (long long)grid[i], "xyz"[i], along, along, along);
            return false;
        }
        if (grid[i] > grid_limits[i]) {
            snprintf(why, CUDA_WHY, "a grid of %lld blocks along %c: GPUs have %lld at most",
                     (long long)grid[i], "xyz"[i], (long long)grid_limits[i]);
            return false;
        }
    }
    return true;
}

bool launch_left_dirty(tw_launch *l, const struct launch_param *p, const void *data)
{
    struct diag *d = &l->ctx->diag;
    char message[CLEAN_TEXT];
    if (!p->sym || !p->clean || !p->bytes || !clean_is_dirty(p->sym, p->shape, data, message))
        return false;
    diag_error(d, p->sym->loc, "%s", message);
    diag_code(d, CODE_FAULT);
    diag_note(d, p->sym->loc, "%s", clean_way_out);
    return true;
}

/* Returns the list's index of the memory that a view is in; -1: the list does not have it. */
static int memory_of(const struct launch_params *params, const struct sym *view)
{
    const struct sym *memory = view->base ? view->base : view;
    for (int i = 0; i < params->held; i++)
        if (params->list[i].kind != LOWERED_MAP && params->list[i].sym == memory)
            return i;
    return -1;
}

/* Adds the memory of views that only maps reach. */
static bool find_map_memory(const tw_launch *l, struct arena *a, const struct cpu_argument *given,
                            struct launch_params *out)
{
    bool known = true;
    for (int i = 0; i < out->count && known; i++) {
        const struct launch_param *p = &out->list[i];
        if (p->kind != LOWERED_MAP)
            continue;
        p->map->memory = memory_of(out, p->sym);
        if (p->map->memory >= 0)
            continue;
        struct lowered_param memory = {.kind = p->sym->base ? LOWERED_POINTER : LOWERED_WORKSPACE,
                                       .sym = p->sym->base ? p->sym->base : p->sym};
        known = find_param(l, a, given, &memory, &out->list[out->held]);
        p->map->memory = out->held++;
    }
    return known;
}

bool launch_params_find(tw_launch *l, struct arena *a, const struct cpu_argument *given,
                        struct launch_params *out, char why[CUDA_WHY])
{
    const struct lowered *lowered = l->variant->lowered;
    bool known = true;
    why[0] = '\0';
    if (!launch_find_grid(l, out->grid, why))
        return false;
    out->count = out->held = (int)lowered->params.count;
    out->list = arena_array(a, struct launch_param, 2 * out->count + 1);
    for (int i = 0; i < out->count; i++)
        known = known && find_param(l, a, given, &lowered->params.data[i], &out->list[i]);
    if (!known || !find_map_memory(l, a, given, out))
        strcpy(why, "the extents of its workspace cannot be known before it runs");
    return !why[0];
}
