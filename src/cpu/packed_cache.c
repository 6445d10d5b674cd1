/* The caches of a launch (packed.h): parts of views, packed once for all blocks that read them. */
#include "cpu/exec_packed.h"

#include "base/platform.h"

/* Most bytes of all caches of a launch; a part that does not fit is packed by each block for
 * itself. */
#define MOST_CACHE_BYTES ((size_t)1 << 30)

/* --- parts --- */

bool packed_cache_line(const struct packed_cache *cache, const struct packed_plan *plan,
                       const struct access *a, const int64_t *start, int64_t *line, int64_t *depth)
{
    *line = 0;
    for (int i = 0; i < a->rank; i++) {
        int64_t index = start[i], extent = a->axis[i].extent;
        if (index % extent != 0 || index < 0 || index / extent >= cache->count[i])
            return false;
        if (i == plan->depth_axis)
            *depth = index / extent * plan->form.depth;
        else if (i != plan->lines_axis)
            *line = *line * cache->count[i] + index / extent;
    }
    int i = plan->lines_axis;
    *line = *line * cache->count[i] + start[i] / a->axis[i].extent;
    return true;
}

unsigned char *packed_cache_at(const struct packed_cache *cache, const struct packed_plan *plan,
                               int64_t line, int64_t depth)
{
    int64_t size = (int64_t)dtype_size(plan->form.to), width = (int64_t)cache->width;
    if (plan->form.side == PACKED_LEFT)
        return cache->memory + (line * plan->form.lines * cache->step + depth) * size;
    int64_t panels = (plan->form.lines + width - 1) / width;
    return cache->memory + (line * panels * cache->step + depth * width) * size;
}

/* Returns the part that contains the tile shown by the box, and the tiles next to it along the
 * depth. */
struct packed_part packed_cache_part(const struct frame *f, const struct packed_fill *fill,
                                     const struct box *box, int64_t line, int64_t first)
{
    const struct packed_cache *cache = &f->launch->packed[fill->cache];
    const struct packed_plan *plan = &f->program->packed[fill->cache];
    int axis = plan->depth_axis;
    int64_t extent = f->launch->views[plan->access->view].extent[axis];
    int64_t part = first / cache->part_depth;
    struct packed_part out = {.done = &cache->done[line * cache->parts + part],
                              .first = part * cache->part_depth,
                              .box = *box};
    out.depth = cache->depth - out.first;
    if (out.depth > cache->part_depth)
        out.depth = cache->part_depth;
    const int64_t start = out.first / plan->form.repeat;
    const int64_t end = start + out.depth / plan->form.repeat;
    out.box.start[axis] = out.box.low[axis] = start;
    out.box.high[axis] = end < extent ? end : extent;
    out.to = packed_cache_at(cache, plan, line, out.first);
    return out;
}

bool packed_part_take(_Atomic unsigned char *done)
{
    unsigned char empty = PACKED_EMPTY;
    return atomic_load_explicit(done, memory_order_relaxed) == PACKED_EMPTY &&
           atomic_compare_exchange_strong(done, &empty, PACKED_BUSY);
}

void packed_part_done(_Atomic unsigned char *done)
{
    atomic_store_explicit(done, PACKED_READY, memory_order_release);
}

/* Returns whether the product that reads the tile at `depth` will read the whole part: the part
 * is one tile, or the product begins at its start, or it continues products that read this part. */
static bool gets_whole(const struct packed_part *part, const struct packed_form *form,
                       int64_t depth, const struct dot_deferred *waiting)
{
    if (part->depth == form->depth)
        return true;
    if (!waiting)
        return false;
    const struct packed_source *from =
        form->side == PACKED_LEFT ? &waiting->a_source : &waiting->b_source;
    return depth == part->first || (waiting->depth > 0 && from->done == part->done);
}

bool packed_cache_find(const struct frame *f, struct packed_state *state, bool on_the_way,
                       const struct dot_deferred *waiting)
{
    struct packed_cache *cache = &f->launch->packed[state->fill->cache];
    const struct packed_plan *plan = &f->program->packed[state->fill->cache];
    int64_t line, depth;
    if (!cache->usable ||
        !packed_cache_line(cache, plan, state->fill->from, state->box.start, &line, &depth) ||
        (plan->weights && !state->mapped))
        return false;
    struct packed_part part = packed_cache_part(f, state->fill, &state->box, line, depth);
    state->source.done = NULL;
    if (on_the_way && gets_whole(&part, &plan->form, depth, waiting) &&
        packs_in_product(f, state->fill, &part.box, part.depth, &state->source.view.step)) {
        state->source.done = part.done;
        state->source.view.halves = plan->form.from != plan->form.to;
        state->source.view.from = box_start(f, state->fill->from, &state->box);
        state->source.part = part.to;
        state->source.part_depth = (size_t)part.depth;
    } else if (packed_part_take(part.done)) {
        if (plan->weights)
            weights_pack(f, state, &part.box, part.depth, part.to, cache->step);
        else
            pack_box(f, state->fill, &part.box, part.depth, part.to, cache->step);
        packed_part_done(part.done);
    } else if (atomic_load_explicit(part.done, memory_order_acquire) != PACKED_READY) {
        return false;
    }
    state->kind = PACKED_SHARED;
    state->cached = true;
    state->line = line;
    state->depth = depth;
    state->data = packed_cache_at(cache, plan, line, depth);
    state->step = cache->step;
    return true;
}

/* --- memory for a launch --- */

static bool is_shared(const struct launch_state *l, const struct packed_plan *plan)
{
    for (int i = 0; i < 3; i++)
        if (!(plan->block_axes & 1u << i) && l->grid[i] > 1)
            return true;
    return false;
}

/* Returns whether tiles should be packed next to each other, because no product is as deep as it
 * should be and their rows cannot be read in the view. */
static bool is_shallow(const struct packed_plan *plan)
{
    const struct packed_form *form = &plan->form;
    return form->side == PACKED_LEFT && (form->from != form->to || form->turned) &&
           2 * (size_t)form->depth <= dot_most_depth(dtype_size(form->to));
}

static bool multiply(int64_t *n, int64_t by)
{
    return !__builtin_mul_overflow(*n, by, n);
}

/* Computes the cache's shape for this launch's views, in rows of parts and in elements; false:
 * it would be too large. */
static bool plan_shape(const struct launch_state *l, const struct packed_plan *plan,
                       struct packed_cache *cache, int64_t *rows, int64_t *elements)
{
    const struct access *a = plan->access;
    const struct view_binding *view = &l->views[a->view];
    int64_t together = (int64_t)dot_most_depth(dtype_size(plan->form.to)) / plan->form.depth;
    *rows = 1;
    for (int i = 0; i < a->rank; i++) {
        int64_t extent = a->axis[i].extent;
        cache->count[i] = view->extent[i] / extent + (view->extent[i] % extent != 0);
        if (view->extent[i] > (int64_t)MOST_CACHE_BYTES ||
            (i != plan->depth_axis && !multiply(rows, cache->count[i])))
            return false;
    }
    cache->width = dot_panel_width(l->program->set, &plan->form);
    cache->depth = cache->count[plan->depth_axis] * plan->form.depth;
    cache->part_depth = plan->form.depth * (together > 1 ? together : 1);
    cache->parts = (cache->depth + cache->part_depth - 1) / cache->part_depth;
    int64_t width = (int64_t)cache->width, lines = plan->form.lines;
    if (plan->form.side == PACKED_LEFT) {
        cache->step = LEFT_STEP(cache->depth);
    } else {
        cache->step = cache->depth * width;
        lines = (lines + width - 1) / width;
    }
    *elements = *rows;
    return *rows > 0 && multiply(elements, lines) && multiply(elements, cache->step) &&
           *elements <= (int64_t)(MOST_CACHE_BYTES / dtype_size(plan->form.to));
}

/* Returns the number of blocks that together read long pieces of rows of a right operand which no
 * other blocks read. */
static int64_t blocks_together(const struct packed_plan *plan)
{
    int64_t bytes = plan->form.lines * (int64_t)dtype_size(plan->form.from);
    bool along = plan->block_axes == 1 || plan->block_axes == 2;
    return along && plan->form.side == PACKED_RIGHT && !plan->form.turned ? FEW_ROW / bytes : 1;
}

void packed_caches_open(struct arena *a, struct launch_state *l)
{
    size_t left = MOST_CACHE_BYTES;
    l->packed = arena_array(a, struct packed_cache, l->program->packed_count);
    for (uint32_t i = 0; i < l->program->packed_count; i++) {
        struct packed_cache *cache = &l->packed[i];
        const struct packed_plan *plan = &l->program->packed[i];
        int64_t rows, elements, together = is_shared(l, plan) ? 1 : blocks_together(plan);
        if (together > l->turns_together)
            l->turns_together = together;
        if (!(is_shared(l, plan) || is_shallow(plan)) ||
            !plan_shape(l, plan, cache, &rows, &elements))
            continue;
        size_t bytes = (size_t)elements * dtype_size(plan->form.to), alignment = SLOT_ALIGNMENT;
        if (bytes >= LARGE_PAGE / 2) {
            alignment = LARGE_PAGE;
            bytes = (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
        }
        bytes += alignment;
        if (bytes > left)
            continue;
        cache->done = arena_alloc(a, (size_t)(rows * cache->parts));
        cache->block = kept_take(l, bytes);
        if (!cache->block.memory)
            continue; /* each block packs for itself */
        left -= bytes;
        size_t skip = alignment - (uintptr_t)cache->block.memory % alignment;
        cache->memory = (unsigned char *)cache->block.memory + skip;
        cache->usable = true;
    }
}

void packed_caches_close(const struct launch_state *l)
{
    for (uint32_t i = 0; i < l->program->packed_count; i++)
        if (l->packed[i].block.memory)
            kept_give(l, l->packed[i].block);
}
