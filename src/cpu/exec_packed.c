/* Packed tiles (packed.h) at run time: fills that are noted, packing when `dot` asks, the caches of
 * a launch, products that wait for more depth. */
#include "cpu/program.h"

/* Depth of a product at which sums are added: columns of b for one block of registers and as much
 * depth stay in the first cache. */
#define MOST_DEPTH ((size_t)256)
/* Rows so far apart begin in the same set of the first cache: 64 sets of lines in most. */
enum { SETS_BYTES = 64 * CACHE_LINE };
/* All caches of a launch at most; what does not fit is packed by each block for itself. */
#define MOST_CACHE_BYTES ((size_t)1 << 30)

/* --- states --- */

static struct packed_state *states(const struct frame *f)
{
    return frame_at(f, f->program->packed_at);
}

void packed_start(struct frame *f)
{
    for (uint32_t i = 0; i < f->program->packed_states; i++)
        states(f)[i].kind = PACKED_NOTHING;
}

/* The stage that `to` names now; NULL: a fault was noted. */
static struct packed_state *state_of(struct frame *f, const struct packed_tile *tile,
                                     const struct access *to, struct loc loc)
{
    struct box box;
    if (!access_box(f, to, loc, &box) || !async_leaves_box(f, to, &box, loc))
        return NULL;
    return packed_stage(f, tile, to, &box);
}

struct packed_state *packed_stage(struct frame *f, const struct packed_tile *tile,
                                  const struct access *to, const struct box *box)
{
    int64_t stage = 0;
    for (int i = 0; i + 2 < to->rank; i++)
        stage = stage * to->extent[i] + box->start[i];
    return states(f) + tile->states + stage;
}

void packed_note(struct packed_state *state, const struct packed_fill *fill, const struct box *box)
{
    state->kind = PACKED_WANTED;
    state->fill = fill;
    state->box = *box;
}

void step_packed_fill(struct frame *f, const struct instr *in)
{
    const struct packed_fill *fill = in->detail;
    struct packed_state *state = state_of(f, fill->tile, fill->to, in->loc);
    struct box box;
    if (state && access_box(f, fill->from, in->loc, &box))
        packed_note(state, fill, &box);
}

/* What the other tile shows, wherever that was packed to: its memory may get something else while
 * this one still has it. */
void step_packed_copy(struct frame *f, const struct instr *in)
{
    const struct packed_fill *fill = in->detail;
    const struct packed_state *from = state_of(f, fill->source, fill->from, in->loc);
    struct packed_state *to = state_of(f, fill->tile, fill->to, in->loc);
    if (!from || !to)
        return;
    *to = *from;
    if (to->kind == PACKED_OWN)
        to->kind = PACKED_WANTED;
}

/* The declaration of a tile without a value. */
void step_packed_clear(struct frame *f, const struct instr *in)
{
    const struct packed_fill *fill = in->detail;
    struct box box;
    if (!access_box(f, fill->to, in->loc, &box) || !async_leaves_box(f, fill->to, &box, in->loc))
        return;
    for (int64_t i = 0; i < fill->tile->stages; i++)
        states(f)[fill->tile->states + i].kind = PACKED_NOTHING;
}

/* --- packing --- */

/* A part of a view on its way: of `lines` × `depth` elements those from `low` to `high` are
 * inside. */
struct packing {
    const struct packed_form *form;
    const struct routine_set *set;
    int64_t depth;             /* of this part: one tile's or more */
    const unsigned char *from; /* the first element inside */
    int64_t line, deep;        /* steps in the view, in elements */
    int64_t low[2], high[2];   /* inside: lines, depth */
    unsigned char *to;
    int64_t step, width;     /* struct packed_state, of a panel */
    int64_t size, size_from; /* bytes of an element */
    convert_fn *convert;     /* NULL: the types are the same */
};

/* Elements that are `step` apart, dense. */
static void gather_row(const struct packing *w, unsigned char *to, const unsigned char *from,
                       int64_t n, int64_t step)
{
    struct nest nest = {1, {n}, {1}, {step}};
    w->set->memory->copy[size_index(w->form->from)](to, from, &nest);
}

/* A row of n elements, `step` apart, to dense ones of the type computed in. */
static void pack_row(const struct packing *w, unsigned char *to, const unsigned char *from,
                     int64_t n, int64_t step)
{
    _Alignas(SLOT_ALIGNMENT) unsigned char row[CHUNK * 8];
    if (!w->convert) {
        gather_row(w, to, from, n, step);
        return;
    }
    for (int64_t k = 0; k < n; k += CHUNK) {
        const unsigned char *piece = from + k * step * w->size_from;
        int64_t count = n - k < CHUNK ? n - k : CHUNK;
        if (step != 1) {
            gather_row(w, row, piece, count, step);
            piece = row;
        }
        w->convert(to + k * w->size, piece, (size_t)count);
    }
}

/* The two floats of a pair change places. */
static void swap_floats(unsigned char *at, int64_t pairs)
{
    for (int64_t i = 0; i < pairs; i++) {
        uint64_t pair;
        memcpy(&pair, at + i * 8, 8);
        pair = pair << 32 | pair >> 32;
        memcpy(at + i * 8, &pair, 8);
    }
}

/* The same of rows of `row` bytes. */
static void swap_pairs(unsigned char *at, int64_t pairs, int64_t row)
{
    unsigned char earlier[CACHE_LINE];
    for (; pairs > 0; pairs--, at += 2 * row)
        for (int64_t i = 0; i < row; i += CACHE_LINE) {
            size_t some = row - i < CACHE_LINE ? (size_t)(row - i) : CACHE_LINE;
            memcpy(earlier, at + i, some);
            memcpy(at + i, at + row + i, some);
            memcpy(at + row + i, earlier, some);
        }
}

/* Elements of two rows in turn. */
static void interleave(uint16_t *to, const uint16_t *first, const uint16_t *second, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        to[2 * i] = first[i];
        to[2 * i + 1] = second[i];
    }
}

/* `depth` rows of a panel become rows of pairs, or the rows of each pair change places. */
static void pair_rows(const struct packing *w, unsigned char *panel)
{
    int64_t row = w->width * w->size;
    uint16_t both[2 * CHUNK];
    if (w->form->to != DT_BF16) {
        swap_pairs(panel, w->depth / 2, row);
        return;
    }
    for (int64_t p = 0; p + 1 < w->depth; p += 2, panel += 2 * row) {
        uint16_t *at = (uint16_t *)(void *)panel;
        interleave(both, at, at + w->width, w->width);
        memcpy(panel, both, (size_t)(2 * row));
    }
}

static void pack_left(const struct packing *w)
{
    int64_t lines = w->high[0] - w->low[0], depth = w->high[1] - w->low[1];
    int64_t row = w->step * w->size;
    if (lines < w->form->lines || depth < w->depth)
        for (int64_t i = 0; i < w->form->lines; i++)
            memset(w->to + i * row, 0, (size_t)(w->depth * w->size));
    unsigned char *to = w->to + w->low[0] * row + w->low[1] * w->size;
    int64_t from_row = w->line * w->size_from;
    if (!w->convert && w->deep == 1)
        w->set->pack->rows(to, row, 0, w->from, from_row, (size_t)lines, 1,
                           (size_t)(depth * w->size));
    else
        for (int64_t i = 0; i < lines; i++)
            pack_row(w, to + i * row, w->from + i * from_row, depth, w->deep);
    for (int64_t i = 0; i < w->form->lines && w->form->paired && w->convert; i++)
        swap_floats(w->to + i * row, w->depth / 2);
}

/* Columns `first` to `end` of the part, all in one panel. */
static void pack_columns(const struct packing *w, int64_t first, int64_t end)
{
    unsigned char *to =
        w->to + (first / w->width * w->step + w->low[1] * w->width + first % w->width) * w->size;
    const unsigned char *from = w->from + (first - w->low[0]) * w->line * w->size_from;
    for (int64_t p = w->low[1]; p < w->high[1]; p++) {
        pack_row(w, to, from, end - first, w->line);
        to += w->width * w->size;
        from += w->deep * w->size_from;
    }
}

static void pack_right(const struct packing *w)
{
    int64_t width = w->width, row = width * w->size, panel = w->step * w->size;
    int64_t first = w->low[0], end = w->high[0], depth = w->high[1] - w->low[1];
    if (end - first < w->form->lines || depth < w->depth)
        for (int64_t j = 0; j < w->form->lines; j += width)
            memset(w->to + j / width * panel, 0, (size_t)(w->depth * row));
    if (!w->convert && w->line == 1 && first % width == 0 && end - first >= width) {
        int64_t panels = (end - first) / width;
        w->set->pack->rows(w->to + first / width * panel + w->low[1] * row, row, panel, w->from,
                           w->deep * w->size_from, (size_t)depth, (size_t)panels, (size_t)row);
        first += panels * width;
    }
    for (; first < end; first = (first / width + 1) * width) {
        int64_t next = (first / width + 1) * width;
        pack_columns(w, first, next < end ? next : end);
    }
    for (int64_t j = 0; j < w->form->lines && w->form->paired; j += width)
        pair_rows(w, w->to + j / width * panel);
}

/* Packs `depth` of what the fill reads, where the box has it, to `to`. */
static void pack(const struct frame *f, const struct packed_fill *fill, const struct box *box,
                 int64_t depth, unsigned char *to, int64_t step)
{
    const struct access *a = fill->from;
    const struct packed_form *form = &fill->tile->form;
    const struct packed_plan *plan = &f->program->packed[fill->cache];
    const struct view_binding *view = &f->launch->views[a->view];
    int axis[2] = {plan->lines_axis, plan->depth_axis};
    struct packing w = {form, f->program->set, depth, .to = to, .step = step};
    w.size = (int64_t)dtype_size(form->to);
    w.size_from = (int64_t)dtype_size(form->from);
    w.width = (int64_t)w.set->dot->width[compute_of(form->to)];
    w.convert = form->from == form->to ? NULL : w.set->convert->convert[form->to][form->from];
    int64_t offset = 0;
    for (int i = 0; i < a->rank; i++)
        offset += box->low[i] * view->stride[i];
    for (int i = 0; i < 2; i++) {
        w.low[i] = box->empty ? 0 : box->low[axis[i]] - box->start[axis[i]];
        w.high[i] = box->empty ? 0 : box->high[axis[i]] - box->start[axis[i]];
    }
    w.line = view->stride[axis[0]];
    w.deep = view->stride[axis[1]];
    w.from = box->empty ? NULL : view->base + offset * w.size_from;
    if (form->side == PACKED_LEFT)
        pack_left(&w);
    else
        pack_right(&w);
}

static void pack_own(const struct frame *f, const struct packed_tile *tile,
                     struct packed_state *state)
{
    size_t stage = (size_t)(state - states(f)) - tile->states;
    unsigned char *to = frame_at(f, tile->at + (uint32_t)(stage * tile->bytes));
    const struct packed_form *form = &tile->form;
    size_t width = f->program->set->dot->width[compute_of(form->to)];
    int64_t step = form->side == PACKED_LEFT ? form->depth : form->depth * (int64_t)width;
    if (state->kind == PACKED_NOTHING)
        memset(to, 0xff, tile->bytes);
    else
        pack(f, state->fill, &state->box, form->depth, to, step);
    state->kind = PACKED_OWN;
    state->data = to;
    state->step = step;
}

/* A dense left operand, in->n pairs in one row after the other: they change places. */
void step_pair_columns(struct frame *f, const struct instr *in)
{
    swap_floats(frame_at(f, in->dst), in->n);
}

/* A dense right operand of in->n pairs of rows, of detail->n columns: as the left one's, or, bf16,
 * interleaved. */
void step_pair_rows(struct frame *f, const struct instr *in)
{
    const struct dot_detail *d = in->detail;
    if (!d->in_pairs) {
        swap_pairs(frame_at(f, in->dst), in->n, (int64_t)(d->n * sizeof(float)));
        return;
    }
    const uint16_t *from = frame_at(f, in->a);
    uint16_t *to = frame_at(f, in->dst);
    for (uint32_t i = 0; i < in->n; i++, from += 2 * d->n, to += 2 * d->n)
        interleave(to, from, from + d->n, (int64_t)d->n);
}

/* --- the caches of a launch --- */

/* Which tile of the view this is, by axis; false: it does not begin where tiles do. */
static bool tile_index(const struct packed_cache *cache, const struct access *a,
                       const struct box *box, int64_t *index)
{
    for (int i = 0; i < a->rank; i++) {
        index[i] = box->start[i];
        if (a->axis[i].kind == IX_SLICE) {
            if (index[i] % a->axis[i].extent != 0)
                return false;
            index[i] /= a->axis[i].extent;
        }
        if (index[i] < 0 || index[i] >= cache->count[i])
            return false;
    }
    return true;
}

/* The tiles' number without the axis of depth: which row of parts they are in. */
static int64_t line_of(const struct packed_cache *cache, const struct packed_plan *plan,
                       const int64_t *index)
{
    int64_t line = 0;
    for (int i = 0; i < plan->access->rank; i++)
        if (i != plan->lines_axis && i != plan->depth_axis)
            line = line * cache->count[i] + index[i];
    return line * cache->count[plan->lines_axis] + index[plan->lines_axis];
}

static unsigned char *cached_at(const struct packed_cache *cache, const struct packed_plan *plan,
                                int64_t line, int64_t depth)
{
    int64_t size = (int64_t)dtype_size(plan->form.to), width = (int64_t)cache->width;
    if (plan->form.side == PACKED_LEFT)
        return cache->memory + (line * plan->form.lines * cache->step + depth) * size;
    int64_t panels = (plan->form.lines + width - 1) / width;
    return cache->memory + (line * panels * cache->step + depth * width) * size;
}

/* Packs a whole part: the tile that the box is, and those beside it along the depth. */
static void pack_part(const struct frame *f, const struct packed_state *state, int64_t line,
                      int64_t part)
{
    const struct packed_cache *cache = &f->launch->packed[state->fill->cache];
    const struct packed_plan *plan = &f->program->packed[state->fill->cache];
    int axis = plan->depth_axis;
    struct box box = state->box;
    int64_t extent = f->launch->views[plan->access->view].extent[axis];
    int64_t first = part * cache->part_depth, depth = cache->depth - first;
    if (depth > cache->part_depth)
        depth = cache->part_depth;
    box.start[axis] = box.low[axis] = first;
    box.high[axis] = first + depth < extent ? first + depth : extent;
    pack(f, state->fill, &box, depth, cached_at(cache, plan, line, first), cache->step);
}

/* Rows of the left operand that lie in the view as the routine reads them need no packing, unless
 * too many of those that it reads together fall into one set of the first cache. */
static bool read_in_place(const struct frame *f, struct packed_state *state)
{
    const struct access *a = state->fill->from;
    const struct packed_form *form = &state->fill->tile->form;
    const struct packed_plan *plan = &f->program->packed[state->fill->cache];
    const struct view_binding *view = &f->launch->views[a->view];
    const struct box *box = &state->box;
    int lines = plan->lines_axis, depth = plan->depth_axis;
    int64_t size = (int64_t)dtype_size(form->to), step = view->stride[lines];
    if (form->side != PACKED_LEFT || form->from != form->to || view->stride[depth] != 1 ||
        box->empty || step < 0 || (form->paired && step % 2 != 0) || step * size % SETS_BYTES == 0)
        return false;
    if (box->low[lines] > box->start[lines] || box->low[depth] > box->start[depth] ||
        box->high[lines] - box->low[lines] < form->lines ||
        box->high[depth] - box->low[depth] < form->depth)
        return false;
    int64_t offset = 0;
    for (int i = 0; i < a->rank; i++)
        offset += box->low[i] * view->stride[i];
    state->kind = PACKED_SHARED;
    state->cached = false;
    state->data = view->base + offset * size;
    state->step = step;
    return true;
}

/* Found in the launch's cache, or put there; false: it is none of that, or another block is at it
 * right now. */
static bool find_part(const struct frame *f, struct packed_state *state)
{
    struct packed_cache *cache = &f->launch->packed[state->fill->cache];
    const struct packed_plan *plan = &f->program->packed[state->fill->cache];
    int64_t index[MAX_RANK];
    if (!cache->usable || !tile_index(cache, state->fill->from, &state->box, index))
        return false;
    int64_t line = line_of(cache, plan, index);
    int64_t depth = index[plan->depth_axis] * plan->form.depth, part = depth / cache->part_depth;
    _Atomic unsigned char *at = &cache->done[line * cache->parts + part];
    unsigned char done = atomic_load_explicit(at, memory_order_acquire);
    if (done == PACKED_EMPTY && atomic_compare_exchange_strong(at, &done, PACKED_BUSY)) {
        pack_part(f, state, line, part);
        atomic_store_explicit(at, PACKED_READY, memory_order_release);
        done = PACKED_READY;
    }
    if (done != PACKED_READY)
        return false;
    state->kind = PACKED_SHARED;
    state->cached = true;
    state->line = line;
    state->depth = depth;
    state->data = cached_at(cache, plan, line, depth);
    state->step = cache->step;
    return true;
}

static bool is_shared(const struct launch_state *l, const struct packed_plan *plan)
{
    for (int i = 0; i < 3; i++)
        if (!(plan->block_axes & 1u << i) && l->grid[i] > 1)
            return true;
    return false;
}

static bool multiply(int64_t *n, int64_t by)
{
    return !__builtin_mul_overflow(*n, by, n);
}

/* The cache's shape for this launch's views, in rows of parts and in elements; false: it would be
 * too large. */
static bool plan_shape(const struct launch_state *l, const struct packed_plan *plan,
                       struct packed_cache *cache, int64_t *rows, int64_t *elements)
{
    const struct access *a = plan->access;
    const struct view_binding *view = &l->views[a->view];
    int64_t together = (int64_t)MOST_DEPTH / plan->form.depth;
    *rows = 1;
    for (int i = 0; i < a->rank; i++) {
        int64_t extent = a->axis[i].kind == IX_SLICE ? a->axis[i].extent : 1;
        cache->count[i] = view->extent[i] / extent + (view->extent[i] % extent != 0);
        if (view->extent[i] > (int64_t)MOST_CACHE_BYTES ||
            (i != plan->depth_axis && !multiply(rows, cache->count[i])))
            return false;
    }
    cache->width = l->program->set->dot->width[compute_of(plan->form.to)];
    cache->depth = cache->count[plan->depth_axis] * plan->form.depth;
    cache->part_depth = plan->form.depth * (together > 1 ? together : 1);
    cache->parts = (cache->depth + cache->part_depth - 1) / cache->part_depth;
    int64_t width = (int64_t)cache->width, lines = plan->form.lines;
    if (plan->form.side == PACKED_LEFT) {
        cache->step = cache->depth + SLOT_ALIGNMENT / 4; /* rows do not all begin in one set */
    } else {
        cache->step = cache->depth * width;
        lines = (lines + width - 1) / width;
    }
    *elements = *rows;
    return *rows > 0 && multiply(elements, lines) && multiply(elements, cache->step) &&
           *elements <= (int64_t)(MOST_CACHE_BYTES / dtype_size(plan->form.to));
}

/* Memory for the caches that pay: whose parts several blocks read. */
void packed_open(struct arena *a, struct launch_state *l)
{
    size_t left = MOST_CACHE_BYTES;
    l->packed = arena_array(a, struct packed_cache, l->program->packed_count);
    for (uint32_t i = 0; i < l->program->packed_count; i++) {
        struct packed_cache *cache = &l->packed[i];
        const struct packed_plan *plan = &l->program->packed[i];
        int64_t rows, elements;
        if (!is_shared(l, plan) || !plan_shape(l, plan, cache, &rows, &elements))
            continue;
        size_t bytes = (size_t)elements * dtype_size(plan->form.to) + SLOT_ALIGNMENT;
        if (bytes > left)
            continue;
        cache->done = arena_alloc(a, (size_t)(rows * cache->parts));
        cache->block = kept_take(l, bytes);
        if (!cache->block.memory)
            continue; /* each block packs for itself */
        left -= bytes;
        size_t skip = SLOT_ALIGNMENT - (uintptr_t)cache->block.memory % SLOT_ALIGNMENT;
        cache->memory = (unsigned char *)cache->block.memory + skip;
        cache->usable = true;
    }
}

void packed_close(const struct launch_state *l)
{
    for (uint32_t i = 0; i < l->program->packed_count; i++)
        if (l->packed[i].block.memory)
            kept_give(l, l->packed[i].block);
}

/* --- what the next product will read --- */

enum { MOST_LISTED = 16 };
struct ahead_list {
    struct dot_ahead item[MOST_LISTED];
    size_t count, depth; /* of the product under way: so many lines can be asked for meanwhile */
};

/* Rows of memory; more of them than are asked for at a time in several pieces. */
static void ahead_add(struct ahead_list *list, const unsigned char *from, int64_t rows,
                      int64_t bytes, int64_t apart)
{
    int64_t most = (int64_t)list->depth / 2, misses = (int64_t)((uintptr_t)from % CACHE_LINE);
    for (int64_t row = 0; row < rows && most > 1; row += most) {
        if (list->count == MOST_LISTED)
            return;
        int64_t some = rows - row < most ? rows - row : most;
        struct dot_ahead *a = &list->item[list->count++];
        *a = (struct dot_ahead){from + row * apart - misses, (size_t)some,
                                (size_t)(misses + bytes + CACHE_LINE - 1) / CACHE_LINE,
                                (size_t)apart, NULL};
        if (list->count > 1)
            list->item[list->count - 2].next = a;
    }
}

/* A part that is packed. */
static void ahead_packed(struct ahead_list *list, const struct packed_cache *cache,
                         const struct packed_plan *plan, int64_t line, int64_t first, int64_t depth)
{
    int64_t size = (int64_t)dtype_size(plan->form.to), width = (int64_t)cache->width;
    const unsigned char *from = cached_at(cache, plan, line, first);
    if (plan->form.side == PACKED_LEFT) {
        ahead_add(list, from, plan->form.lines, depth * size, cache->step * size);
        return;
    }
    for (int64_t j = 0; j < plan->form.lines; j += width) {
        int64_t bytes = depth * width * size, rows = (int64_t)list->depth / 2;
        ahead_add(list, from + j / width * cache->step * size, rows, bytes / rows, bytes / rows);
    }
}

/* A part that will be packed from the view. */
static void ahead_view(struct ahead_list *list, const struct frame *f,
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
        ahead_add(list, from, rows, depth * size, view->stride[lines] * size);
    else if (view->stride[lines] == 1)
        ahead_add(list, from, depth, rows * size, view->stride[deep] * size);
}

/* The tiles beyond that along the depth, as many as are multiplied at once. */
static void look_ahead(struct ahead_list *list, const struct frame *f,
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
            ahead_view(list, f, state, first,
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
        ahead_packed(list, cache, plan, state->line, first, depth);
    else if (!state->box.empty)
        ahead_view(list, f, state, first, depth);
}

/* --- products --- */

/* An operand where it lies; *state: if it is a packed tile that other blocks read too. false: a
 * fault was noted. */
static bool find_operand(struct frame *f, const struct dot_operand *o, struct loc loc,
                         const unsigned char **at, size_t *step, const struct packed_state **shared)
{
    *at = frame_at(f, o->at);
    *step = o->step;
    *shared = NULL;
    if (!o->tile)
        return true;
    struct packed_state *state = state_of(f, o->tile, o->access, loc);
    if (!state)
        return false;
    if (state->kind == PACKED_NOTHING ||
        (state->kind == PACKED_WANTED && !read_in_place(f, state) && !find_part(f, state)))
        pack_own(f, o->tile, state);
    *at = state->data;
    *step = (size_t)state->step;
    *shared = state->kind == PACKED_SHARED ? state : NULL;
    return true;
}

static void add_product(struct frame *f, const struct instr *in, const struct dot_pending *p,
                        const struct dot_ahead *ahead)
{
    const struct dot_detail *d = in->detail;
    size_t pair = d->in_pairs ? 2 : 1, row = d->b.tile ? d->width : d->n;
    struct dot_strides s = {d->n, p->a_step / pair, row, p->b_step / pair, ahead};
    d->dot(frame_at(f, in->dst), p->a, p->b, d->m, d->n, p->depth / pair, &s);
}

static void finish(struct frame *f, const struct instr *in, struct dot_pending *p)
{
    if (p->depth > 0)
        add_product(f, in, p, NULL);
    p->depth = 0;
}

void step_dot_finish(struct frame *f, const struct instr *in)
{
    const struct dot_detail *d = in->detail;
    finish(f, in, frame_at(f, d->pending));
}

/* Whether the next product goes on where the waiting one ends. */
static bool follows(const struct dot_detail *d, const struct dot_pending *p,
                    const struct dot_pending *next)
{
    return p->depth > 0 && p->depth + next->depth <= MOST_DEPTH && next->a_step == p->a_step &&
           next->b_step == p->b_step && next->a == p->a + p->depth * d->size &&
           next->b == p->b + p->depth * d->width * d->size;
}

/* Adds the product that waits, if it cannot get deeper. */
static void finish_deep(struct frame *f, const struct instr *in, struct dot_pending *p,
                        const struct packed_state *a, const struct packed_state *b)
{
    const struct dot_detail *d = in->detail;
    struct ahead_list list = {.depth = p->depth};
    if (p->depth + d->k <= MOST_DEPTH)
        return;
    look_ahead(&list, f, a);
    look_ahead(&list, f, b);
    add_product(f, in, p, list.count > 0 ? list.item : NULL);
    p->depth = 0;
}

/* dst += a · b */
void step_dot(struct frame *f, const struct instr *in)
{
    const struct dot_detail *d = in->detail;
    struct dot_pending next = {.depth = d->k};
    const struct packed_state *a, *b;
    if (!find_operand(f, &d->a, in->loc, &next.a, &next.a_step, &a) ||
        !find_operand(f, &d->b, in->loc, &next.b, &next.b_step, &b))
        return;
    if (d->pending == NO_SLOT) {
        add_product(f, in, &next, NULL);
        return;
    }
    struct dot_pending *p = frame_at(f, d->pending);
    if (a && b && follows(d, p, &next)) {
        p->depth += next.depth;
    } else {
        finish(f, in, p);
        *p = next;
    }
    if (a && b)
        finish_deep(f, in, p, a, b);
    else /* the block's own memory may get something else before long */
        finish(f, in, p);
}
