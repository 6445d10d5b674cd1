/* Lists the memory that is read and written after a product, so that it is fetched while the
 * product runs. */
#include "cpu/exec/exec_packed.h"

/* --- rows of memory --- */

static void add_rows(struct prefetch_list *list, const unsigned char *from, int64_t rows,
                     int64_t bytes, int64_t apart)
{
    int64_t misses = (int64_t)((uintptr_t)from % CACHE_LINE);
    if (list->count == MOST_PREFETCHES || rows <= 0 || bytes <= 0)
        return;
    struct dot_prefetch *p = &list->item[list->count++];
    *p = (struct dot_prefetch){.from = from - misses,
                               .rows = (size_t)rows,
                               .lines = (size_t)(misses + bytes + CACHE_LINE - 1) / CACHE_LINE,
                               .apart = (ptrdiff_t)apart};
    if (list->last)
        list->last->next = p;
    else
        list->first = p;
    list->last = p;
}

/* Adds a part of a view: a matrix along two of its axes. */
static void add_box(struct prefetch_list *list, const struct view_binding *view, int64_t size,
                    const int64_t *start, int rank, const int axis[2], const int64_t extent[2])
{
    int64_t offset = 0, count[2];
    for (int i = 0; i < rank; i++)
        offset += start[i] * view->stride[i];
    for (int i = 0; i < 2; i++) {
        int64_t inside = view->extent[axis[i]] - start[axis[i]];
        count[i] = inside < extent[i] ? inside : extent[i];
    }
    int across = view->stride[axis[1]] == 1 ? 0 : 1;
    if (view->stride[axis[1 - across]] == 1)
        add_rows(list, view->base + offset * size, count[across], count[1 - across] * size,
                 view->stride[axis[across]] * size);
}

/* --- packed tiles --- */

/* Adds packed parts, or the memory that they will be packed to: rows of a left operand, panels
 * of columns of a right operand. */
static void add_packed(struct prefetch_list *list, const struct packed_cache *cache,
                       const struct packed_plan *plan, int64_t line, int64_t first, int64_t depth,
                       int64_t lines)
{
    int64_t size = (int64_t)dtype_size(plan->form.to), width = (int64_t)cache->width;
    const unsigned char *from = packed_cache_at(cache, plan, line, first);
    if (plan->form.side == PACKED_LEFT)
        add_rows(list, from, lines, depth * size, cache->step * size);
    else
        add_rows(list, from, (lines + width - 1) / width, depth * width * size, cache->step * size);
}

/* Returns the number of lines that the product reads first. For a right operand it is one panel
 * of columns: the others can be fetched during the product (dot_prefetch_panels), or the product
 * asks for them itself if it packs them on its way. */
static int64_t lines_read_first(const struct packed_tile *tile, const struct packed_cache *cache,
                                bool ready)
{
    int64_t lines = tile->form.lines, width = (int64_t)cache->width;
    bool by_panels = tile->form.side == PACKED_RIGHT && (ready || tile->on_the_way);
    return by_panels && lines > width ? width : lines;
}

/* Adds the memory that a product reads first if it begins at `start`; `state` is the
 * corresponding tile of the current product. */
static void add_tiles(struct prefetch_list *list, const struct frame *f,
                      const struct packed_state *state, const int64_t *start)
{
    const struct packed_cache *cache = &f->launch->packed[state->fill->cache];
    const struct packed_plan *plan = &f->program->packed[state->fill->cache];
    const struct packed_tile *tile = state->fill->tile;
    const struct access *a = state->fill->from;
    const struct view_binding *view = &f->launch->views[a->view];
    int64_t size = (int64_t)dtype_size(plan->form.from), line = 0, first = 0, depth = list->depth;
    int64_t lines = plan->form.lines, repeat = plan->form.repeat;
    for (int i = 0; i < a->rank; i++)
        if (start[i] < 0 || start[i] >= view->extent[i])
            return;
    if (state->cached) {
        if (!packed_cache_line(f, state->fill, start, &line, &first))
            return;
        const struct packed_source part = packed_cache_part(f, state->fill, line, first);
        bool ready = packed_piece_ready(part.done);
        depth = part.first + (int64_t)part.part_depth - first;
        lines = lines_read_first(tile, cache, ready);
        add_packed(list, cache, plan, line, first, depth, lines);
        if (ready)
            return;
    }
    add_box(list, view, size, start, a->rank, (int[2]){plan->lines_axis, plan->depth_axis},
            (int64_t[2]){lines, depth / repeat});
}

void dot_prefetch_panels(struct prefetch_list *list, const struct dot_detail *d,
                         const struct dot_deferred *p)
{
    if (d->b.tile && p->b_view.deep == 0 && d->n > d->width)
        add_rows(list, p->b + p->b_step * d->size, (int64_t)((d->n - 1) / d->width),
                 (int64_t)(p->depth * d->width * d->size), (int64_t)(p->b_step * d->size));
}

/* --- the next block --- */

static void next_start(const struct tile_prefetch *tile, int64_t *start)
{
    for (int i = 0; i < tile->access->rank; i++)
        (void)__builtin_add_overflow(tile->start[i], tile->step[i], &start[i]);
}

/* Adds the tiles that follow the state's tile along the depth. false: there are none. */
static bool add_beyond(struct prefetch_list *list, const struct frame *f,
                       const struct packed_state *state)
{
    int64_t start[MAX_RANK];
    const struct packed_cache *cache = &f->launch->packed[state->fill->cache];
    const struct packed_plan *plan = &f->program->packed[state->fill->cache];
    const struct access *a = state->fill->from;
    int axis = plan->depth_axis;
    memcpy(start, state->box.start, sizeof start);
    const int64_t depth = state->cached ? (state->depth / cache->part_depth + 1) * cache->part_depth
                                        : start[axis] * plan->form.repeat + plan->form.depth;
    start[axis] = depth / plan->form.repeat;
    if (start[axis] >= f->launch->views[a->view].extent[axis])
        return false;
    add_tiles(list, f, state, start);
    return true;
}

/* Computes where a tile that moves with one axis of the grid starts in the next block. */
static void start_in_next(const struct frame *f, const struct packed_state *state,
                          const struct packed_plan *plan, int axis, int64_t *start)
{
    int64_t place[3], lines;
    frame_block_place(f->launch, frame_block_of_turn(f->launch, f->turn + 1), place);
    lines = (place[axis] - f->block[axis]) * plan->form.lines;
    memcpy(start, state->box.start, sizeof state->box.start);
    (void)__builtin_add_overflow(start[plan->lines_axis], lines, &start[plan->lines_axis]);
}

/* Returns whether the product under way begins at `start`. */
static bool reads_now(const struct prefetch_list *list, const struct packed_state *state,
                      const struct packed_plan *plan, const int64_t *start)
{
    for (int i = 0; i < state->fill->from->rank; i++) {
        int64_t first = state->box.start[i];
        if (i == plan->depth_axis)
            first -= (list->depth - 1) / plan->form.depth * plan->form.depth / plan->form.repeat;
        if (first != start[i])
            return false;
    }
    return true;
}

/* Adds the tiles with which the next block begins. `state` is the last tile of this block; if it
 * now shows another part or none, nothing is added. */
static void add_next(struct prefetch_list *list, struct frame *f, const struct packed_state *state)
{
    int64_t start[MAX_RANK];
    if (state->kind != PACKED_SHARED)
        return;
    uint32_t cache = state->fill->cache;
    const struct packed_plan *plan = &f->program->packed[cache];
    if (plan->block_axes == 1 || plan->block_axes == 2) {
        start_in_next(f, state, plan, (int)plan->block_axes - 1, start);
    } else if (cache < MOST_TILE_PREFETCHES) {
        exec_note_tile(&f->packed_prefetch[cache], state->fill->from, &state->box);
        next_start(&f->packed_prefetch[cache], start);
    } else {
        return;
    }
    start[plan->depth_axis] = 0;
    if (!reads_now(list, state, plan, start))
        add_tiles(list, f, state, start);
}

bool dot_prefetch_beyond(struct prefetch_list *list, const struct frame *f,
                         const struct packed_state *const states[2])
{
    bool left = add_beyond(list, f, states[0]), right = add_beyond(list, f, states[1]);
    return left || right;
}

void dot_prefetch_next(struct prefetch_list *list, struct frame *f,
                       const struct packed_state *const states[2])
{
    for (int i = 0; i < 2; i++)
        add_next(list, f, states[i]);
}

void dot_prefetch_store(struct prefetch_list *list, const struct frame *f, const struct box *box)
{
    const struct tile_prefetch *tile = &f->store_prefetch;
    const struct access *a = tile->access;
    int64_t start[MAX_RANK];
    if (!a)
        return;
    const struct view_binding *view = &f->launch->views[a->view];
    int axis[2] = {a->rank - 2, a->rank - 1};
    if (box)
        memcpy(start, box->start, sizeof start);
    else
        next_start(tile, start);
    for (int i = 0; i < a->rank; i++)
        if (start[i] < 0 || start[i] >= view->extent[i])
            return;
    add_box(list, view, (int64_t)a->size, start, a->rank, axis,
            (int64_t[2]){a->axis[axis[0]].extent, a->axis[axis[1]].extent});
}
