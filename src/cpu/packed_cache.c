/* The caches of a launch (packed.h): parts of views, packed once for all blocks that read them. */
#include "cpu/exec/exec_packed.h"

#include "base/platform.h"

#include <assert.h>

/* Most bytes of all caches of a launch; a part that does not fit is packed by each block for
 * itself. */
#define MOST_CACHE_BYTES ((size_t)1 << 30)

/* Most bytes of a cache that has the parts of each block apart. */
#define MOST_OWN_BYTES ((int64_t)64 << 20)

/* --- parts --- */

bool packed_cache_line(const struct frame *f, const struct packed_fill *fill, const int64_t *start,
                       int64_t *line, int64_t *depth)
{
    const struct packed_cache *cache = &f->launch->packed[fill->cache];
    const struct packed_plan *plan = &f->program->packed[fill->cache];
    const struct access *a = fill->from;
    *line = cache->own ? f->turn : 0;
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
    assert(line >= 0 && depth >= 0);
    int64_t size = (int64_t)dtype_size(plan->form.to), width = (int64_t)cache->width;
    if (plan->form.side == PACKED_LEFT)
        return cache->memory + (line * plan->form.lines * cache->step + depth) * size;
    int64_t panels = (plan->form.lines + width - 1) / width;
    return cache->memory + (line * panels * cache->step + depth * width) * size;
}

struct packed_source packed_cache_part(const struct frame *f, const struct packed_fill *fill,
                                       int64_t line, int64_t depth)
{
    const struct packed_cache *cache = &f->launch->packed[fill->cache];
    const int64_t part = depth / cache->part_depth, first = part * cache->part_depth;
    const int64_t left = cache->depth - first;
    assert(line >= 0 && depth >= 0 && left > 0 && part < cache->parts);
    return (struct packed_source){
        .done = &cache->done[line / cache->rows * cache->turn_states +
                             (line % cache->rows * cache->parts + part) * cache->pieces],
        .fill = fill,
        .line = line,
        .first = first,
        .part = packed_cache_at(cache, &f->program->packed[fill->cache], line, first),
        .part_depth = (size_t)(left < cache->part_depth ? left : cache->part_depth)};
}

/* Returns the box of `lines` lines of a part, from line `from` on. */
static struct box part_box(const struct frame *f, const struct packed_source *source, int64_t from,
                           int64_t lines)
{
    const struct packed_cache *cache = &f->launch->packed[source->fill->cache];
    const struct packed_plan *plan = &f->program->packed[source->fill->cache];
    const struct access *a = source->fill->from;
    const int64_t *inside = f->launch->views[a->view].extent, repeat = plan->form.repeat;
    int64_t line = source->line / cache->count[plan->lines_axis];
    struct box box = {.empty = false};
    for (int i = a->rank - 1; i >= 0; i--) {
        int64_t extent = a->axis[i].extent;
        if (i == plan->depth_axis) {
            box.start[i] = source->first / repeat;
            extent = (int64_t)source->part_depth / repeat;
        } else if (i == plan->lines_axis) {
            box.start[i] = source->line % cache->count[i] * extent + from;
            extent = lines;
        } else {
            box.start[i] = line % cache->count[i] * extent;
            line /= cache->count[i];
        }
        const int64_t left = inside[i] - box.start[i];
        box.low[i] = box.start[i];
        box.high[i] = box.start[i] + (left < extent ? left : extent);
        box.empty |= left <= 0;
    }
    return box;
}

bool packed_piece_take(_Atomic unsigned char *done)
{
    unsigned char empty = PACKED_EMPTY;
    return atomic_load_explicit(done, memory_order_relaxed) == PACKED_EMPTY &&
           atomic_compare_exchange_strong(done, &empty, PACKED_BUSY);
}

void packed_piece_done(_Atomic unsigned char *done)
{
    assert(atomic_load_explicit(done, memory_order_relaxed) == PACKED_BUSY);
    atomic_store_explicit(done, PACKED_READY, memory_order_release);
}

bool packed_piece_ready(const _Atomic unsigned char *done)
{
    return atomic_load_explicit(done, memory_order_acquire) == PACKED_READY;
}

void packed_piece_wait(const _Atomic unsigned char *done)
{
    enum { LOOKS = 1000 };
    for (int i = 0; !packed_piece_ready(done); i++)
        if (i < LOOKS)
            platform_pause();
        else
            platform_yield();
}

void packed_piece_pack(const struct frame *f, const struct packed_source *source, size_t piece)
{
    const struct packed_cache *cache = &f->launch->packed[source->fill->cache];
    const struct packed_form *form = &f->program->packed[source->fill->cache].form;
    const int64_t from = (int64_t)piece * cache->piece_lines, left = form->lines - from;
    assert(piece < (size_t)cache->pieces && left > 0);
    const int64_t lines = left < cache->piece_lines ? left : cache->piece_lines;
    const struct box box = part_box(f, source, from, lines);
    const int64_t panel = from / (int64_t)cache->width * cache->step;
    exec_pack_box(f, source->fill, &box, lines, (int64_t)source->part_depth,
                  source->part + panel * (int64_t)dtype_size(form->to), cache->step);
    packed_piece_done(&source->done[piece]);
}

/* Returns the number of pieces that have the first n lines. */
static size_t pieces_of(const struct frame *f, const struct packed_source *source, size_t n)
{
    const size_t lines = (size_t)f->launch->packed[source->fill->cache].piece_lines;
    return (n + lines - 1) / lines;
}

bool packed_lines_ready(const struct frame *f, const struct packed_source *source, size_t n)
{
    const size_t pieces = pieces_of(f, source, n);
    size_t ready = 0;
    while (ready < pieces && packed_piece_ready(&source->done[ready]))
        ready++;
    return ready == pieces;
}

/* Packs the pieces that have the first n lines. false: another block is packing a left operand,
 * perhaps while it multiplies. */
static bool pack_lines(const struct frame *f, const struct packed_source *source, size_t n)
{
    const size_t pieces = pieces_of(f, source, n);
    for (size_t i = 0; i < pieces; i++)
        if (packed_piece_take(&source->done[i]))
            packed_piece_pack(f, source, i);
    if (source->fill->tile->form.side == PACKED_LEFT)
        return packed_lines_ready(f, source, n);
    for (size_t i = 0; i < pieces; i++)
        packed_piece_wait(&source->done[i]);
    return true;
}

/* Packs a part of weights. false: another block is packing it. */
static bool pack_weights(const struct frame *f, const struct packed_state *state,
                         const struct packed_source *source)
{
    const struct packed_cache *cache = &f->launch->packed[source->fill->cache];
    if (!packed_piece_take(source->done))
        return packed_piece_ready(source->done);
    const struct box box = part_box(f, source, 0, source->fill->tile->form.lines);
    exec_weights_pack(f, state, &box, (int64_t)source->part_depth, source->part, cache->step);
    packed_piece_done(source->done);
    return true;
}

/* Returns whether the product that reads the tile at `depth` will read the whole part: the part
 * is one tile, or the product begins at its start, or it continues products that read this part. */
static bool gets_whole(const struct packed_source *part, const struct packed_form *form,
                       int64_t depth, const struct dot_deferred *waiting)
{
    if ((int64_t)part->part_depth == form->depth)
        return true;
    if (!waiting)
        return false;
    const struct packed_source *from =
        form->side == PACKED_LEFT ? &waiting->a_source : &waiting->b_source;
    return depth == part->first || (waiting->depth > 0 && from->done == part->done);
}

/* Returns whether the product can pack the part, and then notes how. */
static bool leaves_to_product(const struct frame *f, const struct packed_state *state,
                              struct packed_source *source)
{
    const struct packed_form *form = &source->fill->tile->form;
    const struct box box = part_box(f, source, 0, form->lines);
    source->on_the_way = exec_packs_in_product(f, source->fill, &box, (int64_t)source->part_depth,
                                               &source->view.step);
    source->view.halves = form->from != form->to;
    source->view.from = exec_box_start(f, source->fill->from, &state->box);
    return source->on_the_way || form->side == PACKED_RIGHT;
}

bool packed_cache_find(const struct frame *f, struct packed_state *state,
                       const struct dot_need *need, const struct dot_deferred *waiting)
{
    const struct packed_cache *cache = &f->launch->packed[state->fill->cache];
    const struct packed_plan *plan = &f->program->packed[state->fill->cache];
    int64_t line, depth;
    if (!cache->usable || !packed_cache_line(f, state->fill, state->box.start, &line, &depth) ||
        (plan->weights && !state->mapped))
        return false;
    struct packed_source source = packed_cache_part(f, state->fill, line, depth);
    const size_t lines = plan->form.side == PACKED_LEFT ? (size_t)plan->form.lines : need->columns;
    state->source.done = NULL;
    if (plan->weights) {
        if (!pack_weights(f, state, &source))
            return false;
    } else if (!packed_lines_ready(f, &source, lines)) {
        if (!need->few && gets_whole(&source, &plan->form, depth, waiting) &&
            leaves_to_product(f, state, &source))
            state->source = source;
        else if (!pack_lines(f, &source, lines))
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
    cache->pieces = 1;
    cache->piece_lines = lines;
    if (plan->form.side == PACKED_LEFT) {
        cache->step = LEFT_STEP(cache->depth);
    } else {
        cache->step = cache->depth * width;
        lines = (lines + width - 1) / width;
    }
    if (plan->form.side == PACKED_RIGHT && !plan->weights && l->workers > 1 &&
        lines <= MOST_PIECES) {
        cache->pieces = lines;
        cache->piece_lines = width;
    }
    cache->rows = *elements = *rows;
    return *rows > 0 && multiply(elements, lines) && multiply(elements, cache->step) &&
           *elements <= (int64_t)(MOST_CACHE_BYTES / dtype_size(plan->form.to));
}

/* Returns whether each block should pack a right operand of `bytes` bytes for itself. If each worker
 * has one block, all blocks need the same panels at the same time. Then it takes longer to get a
 * panel from the cache of the core that has just packed it than to interleave pairs of rows. Later
 * launches find the rows and the packed panels in the core's own cache. Products of f32 need not wait
 * for a whole panel, and interleaving four rows of bytes takes longer: these are packed once. */
static bool packs_own(const struct launch_state *l, const struct packed_plan *plan, int64_t bytes)
{
    const struct packed_form *form = &plan->form;
    return l->workers > 1 && l->blocks <= l->workers && !l->program->roles &&
           form->side == PACKED_RIGHT && form->from == form->to && form->group == 2 &&
           !form->turned && !plan->weights && bytes <= MOST_OWN_BYTES / l->blocks;
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
        cache->own = packs_own(l, plan, (int64_t)bytes);
        const int64_t turns = cache->own ? l->blocks : 1;
        const int64_t states = rows * cache->parts * cache->pieces;
        cache->turn_states = (states + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
        bytes *= (size_t)turns;
        if (bytes >= LARGE_PAGE / 2) {
            alignment = LARGE_PAGE;
            bytes = (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
        }
        bytes += alignment;
        if (bytes > left)
            continue;
        cache->done = arena_alloc(a, (size_t)(turns * cache->turn_states));
        cache->block = kept_take(l, bytes, 0);
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
