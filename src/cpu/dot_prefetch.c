/* What the next product will read, to be fetched while one is under way. */
#include "cpu/exec_packed.h"

/* Rows of memory; more of them than are asked for at a time in several pieces. */
static void add_rows(struct prefetch_list *list, const unsigned char *from, int64_t rows,
                     int64_t bytes, int64_t apart)
{
    int64_t most = (int64_t)list->depth / 2, misses = (int64_t)((uintptr_t)from % CACHE_LINE);
    for (int64_t row = 0; row < rows && most > 1; row += most) {
        if (list->count == MOST_PREFETCHES)
            return;
        int64_t some = rows - row < most ? rows - row : most;
        struct dot_prefetch *p = &list->item[list->count++];
        *p = (struct dot_prefetch){from + row * apart - misses, (size_t)some,
                                   (size_t)(misses + bytes + CACHE_LINE - 1) / CACHE_LINE,
                                   (size_t)apart, NULL};
        if (list->count > 1)
            list->item[list->count - 2].next = p;
    }
}

/* A part that is packed. */
static void add_packed(struct prefetch_list *list, const struct packed_cache *cache,
                       const struct packed_plan *plan, int64_t line, int64_t first, int64_t depth)
{
    int64_t size = (int64_t)dtype_size(plan->form.to), width = (int64_t)cache->width;
    const unsigned char *from = packed_cache_at(cache, plan, line, first);
    if (plan->form.side == PACKED_LEFT) {
        add_rows(list, from, plan->form.lines, depth * size, cache->step * size);
        return;
    }
    for (int64_t j = 0; j < plan->form.lines; j += width) {
        int64_t bytes = depth * width * size, rows = (int64_t)list->depth / 2;
        add_rows(list, from + j / width * cache->step * size, rows, bytes / rows, bytes / rows);
    }
}

/* A part that will be packed from the view. */
static void add_view(struct prefetch_list *list, const struct frame *f,
                     const struct packed_state *state, int64_t first, int64_t depth)
{
    const struct packed_plan *plan = &f->program->packed[state->fill->cache];
    const struct view_binding *view = &f->launch->views[plan->access->view];
    int64_t size = (int64_t)dtype_size(plan->form.from), offset = 0;
    int lines = plan->lines_axis, deep = plan->depth_axis;
    for (int i = 0; i < plan->access->rank; i++)
        offset += (i == deep ? first : state->box.low[i]) * view->stride[i];
    const unsigned char *from = view->base + offset * size;
    int64_t rows = state->box.high[lines] - state->box.low[lines];
    if (first + depth > view->extent[deep])
        depth = view->extent[deep] - first;
    if (view->stride[deep] == 1)
        add_rows(list, from, rows, depth * size, view->stride[lines] * size);
    else if (view->stride[lines] == 1)
        add_rows(list, from, depth, rows * size, view->stride[deep] * size);
}

void prefetch_beyond(struct prefetch_list *list, const struct frame *f,
                     const struct packed_state *state)
{
    if (!state)
        return;
    const struct packed_cache *cache = &f->launch->packed[state->fill->cache];
    const struct packed_plan *plan = &f->program->packed[state->fill->cache];
    if (!state->cached) {
        int axis = plan->depth_axis;
        int64_t first = state->box.high[axis],
                rest = f->launch->views[plan->access->view].extent[axis] - first;
        if (rest > 0)
            add_view(list, f, state, first,
                     rest < (int64_t)list->depth ? rest : (int64_t)list->depth);
        return;
    }
    int64_t part = state->depth / cache->part_depth + 1, first = part * cache->part_depth;
    int64_t depth =
        cache->depth - first < cache->part_depth ? cache->depth - first : cache->part_depth;
    if (part >= cache->parts)
        return;
    if (atomic_load_explicit(&cache->done[state->line * cache->parts + part],
                             memory_order_acquire) == PACKED_READY)
        add_packed(list, cache, plan, state->line, first, depth);
    else if (!state->box.empty)
        add_view(list, f, state, first, depth);
}
