/* Packed tiles (packed.h) at run time: notes their fills, and finds or makes the packed elements
 * for `dot`. */
#include "cpu/exec/exec_packed.h"

#include "base/platform.h"

/* --- the part that a tile shows --- */

static struct packed_state *states(const struct frame *f)
{
    return frame_at(f, f->program->packed_at);
}

void packed_start(struct frame *f)
{
    for (uint32_t i = 0; i < f->program->packed_states; i++)
        states(f)[i].kind = PACKED_NOTHING;
}

/* Returns the stage that `to` names; NULL: a fault was noted. */
static APART struct packed_state *find_stage(struct frame *f, const struct packed_tile *tile,
                                             const struct access *to, struct loc loc)
{
    struct box box;
    if (!exec_access_box(f, to, loc, &box) || !exec_async_leaves_box(f, to, &box, loc))
        return NULL;
    return packed_stage(f, tile, to, &box);
}

struct packed_state *packed_state_of(struct frame *f, const struct packed_tile *tile,
                                     const struct access *to, struct loc loc)
{
    if (to->rank == 2 && f->copy_count == 0) /* the whole tile, which no copy under way writes */
        return states(f) + tile->states;
    return find_stage(f, tile, to, loc);
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
    state->source.done = NULL;
    state->fill = fill;
    state->box = *box;
}

void step_packed_fill(struct frame *f, const struct instr *in)
{
    const struct packed_fill *fill = in->detail;
    struct packed_state *state = packed_state_of(f, fill->tile, fill->to, in->loc);
    if (!state)
        return;
    state->kind = PACKED_NOTHING;
    state->source.done = NULL;
    state->fill = fill;
    if (exec_access_box(f, fill->from, in->loc, &state->box) &&
        (!fill->weights || exec_weights_note(f, fill, in->loc, state)))
        state->kind = PACKED_WANTED;
}

/* Copies the other tile's state. If that tile was packed in its own memory, this tile is packed
 * again when it is read, because that memory may be overwritten while this tile still needs the
 * elements. */
void step_packed_copy(struct frame *f, const struct instr *in)
{
    const struct packed_fill *fill = in->detail;
    const struct packed_state *from = packed_state_of(f, fill->source, fill->from, in->loc);
    struct packed_state *to = packed_state_of(f, fill->tile, fill->to, in->loc);
    if (!from || !to)
        return;
    *to = *from;
    if (to->kind == PACKED_OWN)
        to->kind = PACKED_WANTED;
}

/* Declares a tile without a value. */
void step_packed_clear(struct frame *f, const struct instr *in)
{
    const struct packed_fill *fill = in->detail;
    struct box box;
    if (!exec_access_box(f, fill->to, in->loc, &box) ||
        !exec_async_leaves_box(f, fill->to, &box, in->loc))
        return;
    for (int64_t i = 0; i < fill->tile->stages; i++)
        states(f)[fill->tile->states + i].kind = PACKED_NOTHING;
}

/* --- places of tiles --- */

/* Returns whether rows of the left operand that are `bytes` apart fit well in the caches. */
static bool is_good_step(int64_t bytes)
{
    return bytes % SETS_BYTES != 0 ||
           (bytes % FAR_BYTES != 0 && platform_cache_ways() >= ROWS_OF_A_SET);
}

/* Returns whether the view has this number of lines of the tile, and of steps of its depth. */
static bool has_lines(const struct packed_state *state, const struct packed_plan *plan,
                      size_t lines_read, size_t depth_read)
{
    const struct box *box = &state->box;
    int lines = plan->lines_axis, depth = plan->depth_axis;
    return !box->empty && box->low[lines] == box->start[lines] &&
           box->low[depth] == box->start[depth] &&
           box->high[lines] - box->low[lines] >= (int64_t)lines_read &&
           box->high[depth] - box->low[depth] >= (int64_t)depth_read;
}

const unsigned char *packed_in_view(const struct frame *f, const struct packed_state *state,
                                    size_t lines, size_t depth)
{
    const struct packed_plan *plan = &f->program->packed[state->fill->cache];
    return has_lines(state, plan, lines, depth) ? exec_box_start(f, state->fill->from, &state->box)
                                                : NULL;
}

/* Returns whether the product can read the rows of the left operand directly in the view. */
static bool reads_rows(const struct packed_form *form, const struct dot_view *view,
                       const struct dot_need *need)
{
    const int64_t size = (int64_t)dtype_size(form->from);
    return (need->raw || form->from == form->to) && view->deep == 1 && view->line >= 0 &&
           view->line % form->group == 0 &&
           (need->rows <= DOT_FEW_ROWS || is_good_step(view->line * size));
}

/* Returns whether the product can read a right operand directly in the view: few rows read it
 * once; other products read panels of columns, once for each block of rows. */
static bool reads_columns(const struct frame *f, const struct packed_form *form,
                          const struct dot_view *view, const struct dot_need *need)
{
    int64_t size = (int64_t)dtype_size(form->to);
    if (view->line < 0 || view->deep <= 0)
        return false;
    if (need->few)
        return view->line == 1 || view->deep == 1;
    bool once = need->rows <= f->program->set->dot->rows;
    return form->from == form->to && form->group == 1 && view->line == 1 &&
           (once || is_good_step(view->deep * size));
}

/* Lets the product read the operand directly in the view, if it can and no other block reads the
 * same part of a right operand. */
static bool read_in_place(const struct frame *f, struct packed_state *state,
                          const struct dot_need *need)
{
    const struct access *a = state->fill->from;
    const struct packed_form *form = &state->fill->tile->form;
    const struct packed_plan *plan = &f->program->packed[state->fill->cache];
    const int64_t *stride = f->launch->views[a->view].stride;
    struct dot_view view = {stride[plan->lines_axis], stride[plan->depth_axis]};
    bool left = form->side == PACKED_LEFT, weights = state->fill->weights;
    if (weights ? !need->few || !exec_weights_in_place(state, need->columns)
                : !has_lines(state, plan, left ? need->rows : need->columns, need->depth))
        return false;
    if (left ? !reads_rows(form, &view, need)
             : (f->launch->packed[state->fill->cache].usable ||
                !reads_columns(f, form, &view, need)))
        return false;
    state->kind = PACKED_SHARED;
    state->cached = false;
    state->source.done = NULL;
    state->data = weights ? exec_weights_address(f, state) : exec_box_start(f, a, &state->box);
    state->step = left ? view.line : view.deep;
    if (!left)
        state->view = view;
    return true;
}

static void pack_own(const struct frame *f, const struct packed_tile *tile,
                     struct packed_state *state)
{
    size_t stage = (size_t)(state - states(f)) - tile->states;
    unsigned char *to = frame_at(f, tile->at + (uint32_t)(stage * tile->bytes));
    const struct packed_form *form = &tile->form;
    size_t width = dot_panel_width(f->program->set, form);
    int64_t step = form->side == PACKED_LEFT ? form->depth : form->depth * (int64_t)width;
    if (state->kind == PACKED_NOTHING) { /* there is no box, and the kind does not change */
        memset(to, 0xff, tile->bytes);
    } else if (state->fill->weights) {
        exec_weights_pack(f, state, &state->box, form->depth, to, step);
        state->kind = PACKED_OWN;
    } else {
        exec_pack_box(f, state->fill, &state->box, form->lines, form->depth, to, step);
        state->kind = PACKED_OWN;
    }
    state->source.done = NULL;
    state->data = to;
    state->step = step;
}

size_t packed_depth(const struct frame *f, const struct packed_tile *tile,
                    const struct packed_state *state)
{
    if (state->kind == PACKED_NOTHING ||
        state->fill->weights) /* beyond an edge they need not be 0 */
        return (size_t)tile->form.depth;
    int axis = f->program->packed[state->fill->cache].depth_axis;
    return state->box.empty ? 0 : (size_t)(state->box.high[axis] - state->box.start[axis]);
}

const unsigned char *packed_place(struct frame *f, const struct packed_tile *tile,
                                  struct packed_state *state, const struct dot_need *need,
                                  const struct dot_deferred *waiting)
{
    if (state->kind == PACKED_SHARED && !state->cached)
        state->kind = PACKED_WANTED; /* an earlier product may have read less of it */
    if (state->kind == PACKED_NOTHING ||
        (state->kind == PACKED_WANTED && !read_in_place(f, state, need) &&
         !packed_cache_find(f, state, need, waiting)))
        pack_own(f, tile, state);
    return state->data;
}
