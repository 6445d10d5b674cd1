/* Steps that load and store: views, shared tiles, and arrays in the frame.
 *
 * A uniform access is a box: a range along each axis, clipped to the memory, which a nest of
 * loops copies. A varying access has an offset for each lane (exec_lanes.c). An element outside
 * is a fault; a slice that reaches past the edge is not. */
#include "cpu/exec/exec_access.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

unsigned char *exec_access_base(const struct frame *f, const struct access *a)
{
    switch (a->space) {
    case SPACE_VIEW: return f->launch->views[a->view].base;
    case SPACE_SHARED: return access_frame(f, a)->memory + f->program->shared_at + a->at;
    default: return f->memory + a->at;
    }
}

const int64_t *exec_access_extents(const struct frame *f, const struct access *a)
{
    return a->space == SPACE_VIEW ? f->launch->views[a->view].extent : a->extent;
}

const int64_t *exec_access_strides(const struct frame *f, const struct access *a)
{
    return a->space == SPACE_VIEW ? f->launch->views[a->view].stride : a->stride;
}

/* --- faults --- */

/* Returns the text of a place if it is one short line, "" if not. */
static const char *short_text(struct loc at, int *length)
{
    *length = 0;
    if (!at.source || at.length == 0 || at.length > 60)
        return "";
    const char *text = at.source->text + at.offset;
    *length = memchr(text, '\n', at.length) ? 0 : (int)at.length;
    return text;
}

/* Returns the extent of an axis as written in the declaration, `name[…][…]`; "": the declaration
 * does not have it in this form. */
static const char *declared_extent(const struct sym *s, int axis, int *length)
{
    size_t name = strlen(s->name);
    struct loc at = s->loc;
    *length = 0;
    if (!at.source || at.offset + name > at.source->length ||
        memcmp(at.source->text + at.offset, s->name, name) != 0)
        return "";
    const char *text = at.source->text + at.offset + name;
    for (int i = 0; *text == '['; i++) {
        const char *from = ++text;
        for (int depth = 1; *text && *text != '\n' && depth > 0; text++)
            depth += *text == '[' ? 1 : *text == ']' ? -1 : 0;
        if (i == axis && text[-1] == ']')
            return short_text((struct loc){at.source, (uint32_t)(from - at.source->text),
                                           (uint32_t)(text - 1 - from)},
                              length);
    }
    return "";
}

/* Asks whether the index that a guard keeps below the extent is meant: `Down[y]` for `Down[x]`. */
static void ask_for_other(struct frame *f, const struct access *a, int axis, int limit_length,
                          const char *limit)
{
    const char *name = a->axis[axis].below->name;
    char meant[96];
    size_t used = (size_t)snprintf(meant, sizeof meant, "%s", a->sym->name);
    for (int i = 0; i < a->rank && used < sizeof meant; i++) {
        int length;
        const char *text = short_text(a->axis[i].loc, &length);
        if (i == axis)
            used += (size_t)snprintf(meant + used, sizeof meant - used, "[%s]", name);
        else
            used += (size_t)snprintf(meant + used, sizeof meant - used, "[%.*s]",
                                     length ? length : 1, length ? text : ":");
    }
    snprintf(f->fault.way_out, sizeof f->fault.way_out,
             "`%s` is below `%.*s` here: is it meant to be `%s`?", name, limit_length, limit,
             used < sizeof meant ? meant : name);
}

/* A part of a text, without blanks around it. */
struct part {
    const char *text;
    int length;
};

static struct part part_of(const char *from, const char *to)
{
    while (from < to && *from == ' ')
        from++;
    while (to > from && to[-1] == ' ')
        to--;
    return (struct part){from, (int)(to - from)};
}

/* Splits a text at an operator that is not in parentheses. Returns the number of parts; 0: more
 * than `most`. */
static int split(struct part whole, char operator, struct part * out, int most)
{
    const char *from = whole.text, *end = whole.text + whole.length;
    int count = 0, depth = 0;
    for (const char *at = from; at <= end; at++) {
        if (at < end)
            depth += (*at == '(' || *at == '[') - (*at == ')' || *at == ']');
        if (at < end && (depth || *at != operator))
            continue;
        if (count == most)
            return 0;
        out[count++] = part_of(from, at);
        from = at + 1;
    }
    return count;
}

static bool same_part(struct part a, struct part b)
{
    return a.length == b.length && memcmp(a.text, b.text, (size_t)a.length) == 0;
}

/* Writes the way out for two axes in one: `row*k + p` in an array of `m*k` elements. A guard of
 * the whole index would let it reach into the next row. Returns false if the texts have another
 * form. */
static bool advise_axes(struct cpu_fault *fault, const struct access *a, struct part index,
                        struct part limit)
{
    enum { MOST = 4 };
    struct part extent[2], term[MOST], factor[2], row = {0};
    char column[64] = "";
    int terms = split(index, '+', term, MOST);
    if (a->rank != 1 || terms < 2 || split(limit, '*', extent, 2) != 2 ||
        memchr(index.text, '-', (size_t)index.length))
        return false;
    for (int i = 0; i < terms; i++) {
        bool product = !row.text && split(term[i], '*', factor, 2) == 2;
        size_t used = strlen(column);
        if (product && (same_part(factor[1], extent[1]) || same_part(factor[0], extent[1])))
            row = factor[same_part(factor[1], extent[1]) ? 0 : 1];
        else
            snprintf(column + used, sizeof column - used, "%s%.*s", used ? " + " : "",
                     term[i].length, term[i].text);
    }
    if (!row.text)
        return false;
    const char *name = a->sym->name;
    int written =
        snprintf(fault->way_out, sizeof fault->way_out,
                 "guard both parts: `if (%.*s < %.*s && %s < %.*s)`; or give `%s` two axes, "
                 "`%s[%.*s][%.*s]`, and write `%s[%.*s][%s]`",
                 row.length, row.text, extent[0].length, extent[0].text, column, extent[1].length,
                 extent[1].text, name, name, extent[0].length, extent[0].text, extent[1].length,
                 extent[1].text, name, row.length, row.text, column);
    return written < (int)sizeof fault->way_out;
}

/* Writes the condition under which an element may be accessed, in the program's own words. The
 * text offers two ways out, because this code cannot tell whether a guard is missing or the
 * index is wrong. */
static void add_guard(struct frame *f, const struct access *a, int axis, int64_t index)
{
    int length, limit_length = 0;
    char number[24];
    const char *text = short_text(a->axis[axis].loc, &length), *limit;
    struct cpu_fault *fault = &f->fault;
    if (a->sym->dims[axis])
        limit = short_text(a->sym->dims[axis]->loc, &limit_length);
    else
        limit = declared_extent(a->sym, axis, &limit_length);
    if (!a->sym->dims[axis] && !limit_length) {
        limit_length = snprintf(number, sizeof number, "%" PRId64, exec_access_extents(f, a)[axis]);
        limit = number;
    }
    if (length == 0 || limit_length == 0)
        return;
    if (index < 0)
        snprintf(fault->way_out, sizeof fault->way_out,
                 "guard it: `if (%.*s >= 0)`; or is it the wrong index?", length, text);
    else if (length == limit_length && memcmp(text, limit, (size_t)length) == 0)
        snprintf(fault->way_out, sizeof fault->way_out,
                 "is it the wrong index? The last one is `%.*s - 1`", length, text);
    else if (advise_axes(fault, a, (struct part){text, length}, (struct part){limit, limit_length}))
        return;
    else if (a->axis[axis].below)
        ask_for_other(f, a, axis, limit_length, limit);
    else
        snprintf(fault->way_out, sizeof fault->way_out,
                 "guard it: `if (%.*s < %.*s)`; or is it the wrong index?", length, text,
                 limit_length, limit);
}

void exec_element_outside(struct frame *f, const struct access *a, int axis, int64_t index,
                          struct loc loc, int lane)
{
    frame_fault(f, CPU_BOUNDS, loc, lane,
                "index %" PRId64 " is outside axis %d of %s (extent %" PRId64 ")", index, axis,
                a->sym->name, exec_access_extents(f, a)[axis]);
    add_guard(f, a, axis, index);
}

void exec_slice_outside(struct frame *f, const struct access *a, int axis, int64_t start,
                        struct loc loc, int lane)
{
    frame_fault(f, CPU_BOUNDS, loc, lane,
                "the slice %" PRId64 " +: %" PRId64 " is marked `inside` but reaches outside axis "
                "%d of %s (extent %" PRId64 ")",
                start, a->axis[axis].extent, axis, a->sym->name, exec_access_extents(f, a)[axis]);
}

/* --- boxes --- */

/* Clips [start, start + count) to [0, extent), without overflow. */
static void clip(int64_t start, int64_t count, int64_t extent, int64_t *low, int64_t *high)
{
    if (count <= 0 || start >= extent || start <= -count) {
        *low = *high = 0;
        return;
    }
    *low = start > 0 ? start : 0;
    *high = count < extent - *low + (*low - start) ? start + count : extent;
}

int64_t exec_access_start(const struct frame *f, const struct access *a, int axis)
{
    return index_value(frame_at(f, a->axis[axis].at), a->axis[axis].wide, 0);
}

bool exec_access_box(struct frame *f, const struct access *a, struct loc loc, struct box *box)
{
    const int64_t *extent = exec_access_extents(f, a);
    box->empty = false;
    if (a->peer != NO_SLOT && !f->program->roles->peer(f, a, loc))
        return false;
    for (int i = 0; i < a->rank; i++) {
        const struct access_axis *axis = &a->axis[i];
        const bool gathers = axis->kind == IX_GATHER;
        const void *values = frame_at(f, axis->at);
        box->gather[i] = gathers ? values : NULL;
        int64_t start = gathers || axis->kind == IX_ALL ? 0 : index_value(values, axis->wide, 0);
        box->start[i] = start;
        bool fits = !gathers && start >= 0 && axis->extent <= extent[i] - start;
        if (fits) { /* in nearly all cases */
            box->low[i] = start;
            box->high[i] = start + axis->extent;
            box->empty |= axis->extent <= 0;
            continue;
        }
        if (gathers) {
            box->low[i] = 0;
            box->high[i] = extent[i];
        } else {
            clip(start, axis->extent, extent[i], &box->low[i], &box->high[i]);
        }
        bool outside = box->high[i] - box->low[i] < axis->extent;
        if (axis->kind == IX_ELEMENT && outside && !a->guarded) {
            exec_element_outside(f, a, i, start, loc, -1);
            return false;
        }
        if (axis->kind == IX_SLICE && axis->inside && outside) {
            exec_slice_outside(f, a, i, start, loc, -1);
            return false;
        }
        box->empty |= box->high[i] <= box->low[i];
    }
    return true;
}

/* Describes how a box's elements are arranged. The nest covers the axes that are neither
 * elements nor gathers; dst is the dense data, src the memory. */
struct box_walk {
    const struct access *access;
    const struct box *box;
    struct frame *frame;
    struct nest nest;
    int64_t data_stride[MAX_RANK];
    int gathers, gather[MAX_RANK];
    const uint8_t *mask; /* of a store into varying memory; else NULL */
    bool store;
};

/* Indices may have any value: steps wrap, and a start is checked against the view before it is
 * fetched. */
void exec_note_tile(struct tile_prefetch *tile, const struct access *a, const struct box *box)
{
    for (int i = 0; i < a->rank; i++) {
        tile->step[i] = 0;
        if (tile->access == a)
            (void)__builtin_sub_overflow(box->start[i], tile->start[i], &tile->step[i]);
        tile->start[i] = box->start[i];
    }
    tile->access = a;
}

void exec_nest_add(struct nest *nest, int64_t extent, int64_t dst, int64_t src, bool merge)
{
    if (extent == 1 && merge)
        return;
    int last = nest->rank - 1;
    if (merge && last >= 0 && nest->dst[last] == dst * extent && nest->src[last] == src * extent) {
        nest->extent[last] *= extent;
        nest->dst[last] = dst;
        nest->src[last] = src;
        return;
    }
    nest->extent[nest->rank] = extent;
    nest->dst[nest->rank] = dst;
    nest->src[nest->rank++] = src;
}

/* Moves the axis to the last place but one; the others stay in order. */
static void put_before_last(struct nest *nest, int axis)
{
    int64_t extent = nest->extent[axis], dst = nest->dst[axis], src = nest->src[axis];
    int to = nest->rank - 2;
    for (int i = axis; i < to; i++) {
        nest->extent[i] = nest->extent[i + 1];
        nest->dst[i] = nest->dst[i + 1];
        nest->src[i] = nest->src[i + 1];
    }
    nest->extent[to] = extent;
    nest->dst[to] = dst;
    nest->src[to] = src;
}

void exec_nest_settle(struct nest *nest)
{
    int last = nest->rank - 1;
    if (last < 2 || (nest->dst[last] == 1) == (nest->src[last] == 1))
        return;
    const int64_t *other = nest->dst[last] == 1 ? nest->src : nest->dst;
    for (int i = 0; i < last - 1; i++)
        if (other[i] == 1) {
            put_before_last(nest, i);
            return;
        }
}

/* Computes where the nest starts, in elements: *data and *memory. */
static void box_begin(struct box_walk *w, int64_t *data, int64_t *memory)
{
    const struct access *a = w->access;
    const struct box *box = w->box;
    const int64_t *stride = exec_access_strides(w->frame, a);
    int64_t lanes = a->local_lanes, step = lanes;
    for (int i = a->rank - 1; i >= 0; i--) {
        w->data_stride[i] = step;
        step *= a->axis[i].extent;
    }
    *data = *memory = 0;
    for (int i = 0; i < a->rank; i++) {
        if (a->axis[i].kind == IX_GATHER) {
            w->gather[w->gathers++] = i;
            continue;
        }
        *memory += box->low[i] * stride[i] * lanes;
        if (a->axis[i].kind == IX_ELEMENT)
            continue;
        *data += (box->low[i] - box->start[i]) * w->data_stride[i];
        exec_nest_add(&w->nest, box->high[i] - box->low[i], w->data_stride[i], stride[i] * lanes,
                      true);
    }
    if (lanes > 1)
        exec_nest_add(&w->nest, lanes, 1, 1, !w->mask);
}

/* Stores rows of lanes, in the lanes where the mask runs. */
static void store_masked(const struct box_walk *w, const unsigned char *data, unsigned char *memory,
                         int axis)
{
    const struct nest *nest = &w->nest;
    size_t size = w->access->size;
    if (axis == nest->rank - 1) {
        w->frame->program->set->memory->blend[w->access->size_index](memory, data, w->mask,
                                                                     w->access->local_lanes);
        return;
    }
    for (int64_t i = 0; i < nest->extent[axis]; i++)
        store_masked(w, data + i * nest->dst[axis] * (int64_t)size,
                     memory + i * nest->src[axis] * (int64_t)size, axis + 1);
}

static void box_move(const struct box_walk *w, unsigned char *data, unsigned char *memory)
{
    copy_fn *copy = w->frame->program->set->memory->copy[w->access->size_index];
    if (!w->store) {
        copy(data, memory, &w->nest);
    } else if (w->mask) {
        store_masked(w, data, memory, 0);
    } else if (w->nest.rank == 2 && w->nest.src[1] == 1 && w->nest.dst[1] == 1) {
        int64_t size = (int64_t)w->access->size;
        w->frame->program->set->pack->rows(
            memory, (ptrdiff_t)(w->nest.src[0] * size), 0, data, (ptrdiff_t)(w->nest.dst[0] * size),
            (size_t)w->nest.extent[0], 1, (size_t)(w->nest.extent[1] * size));
    } else {
        struct nest turned = w->nest;
        memcpy(turned.dst, w->nest.src, sizeof turned.dst);
        memcpy(turned.src, w->nest.dst, sizeof turned.src);
        copy(memory, data, &turned);
    }
}

static void box_gather(const struct box_walk *w, int level, unsigned char *data,
                       unsigned char *memory)
{
    if (level == w->gathers) {
        box_move(w, data, memory);
        return;
    }
    int i = w->gather[level];
    const struct access *a = w->access;
    int64_t extent = exec_access_extents(w->frame, a)[i];
    int64_t stride = exec_access_strides(w->frame, a)[i] * a->local_lanes * (int64_t)a->size;
    int64_t step = w->data_stride[i] * (int64_t)a->size;
    for (int64_t k = 0; k < a->axis[i].extent; k++) {
        int64_t index = index_value(w->box->gather[i], a->axis[i].wide, (size_t)k);
        if (index >= 0 && index < extent)
            box_gather(w, level + 1, data + k * step, memory + index * stride);
    }
}

static void box_walk(struct box_walk *w, void *data)
{
    if (w->box->empty)
        return;
    int64_t from, to, size = (int64_t)w->access->size;
    box_begin(w, &from, &to);
    box_gather(w, 0, (unsigned char *)data + from * size,
               exec_access_base(w->frame, w->access) + to * size);
}

static bool box_full(const struct access *a, const struct box *box)
{
    for (int i = 0; i < a->rank; i++)
        if (box->gather[i] || box->high[i] - box->low[i] < a->axis[i].extent)
            return false;
    return true;
}

/* Returns how many elements at the start of the data will be loaded for certain: if a row
 * reaches past the end of its axis, those before the end. */
static int64_t box_loaded_first(const struct access *a, const struct box *box)
{
    int last = a->rank - 1;
    for (int i = 0; i < last; i++)
        if (box->gather[i] || a->axis[i].extent != 1)
            return 0;
    if (box->empty || a->local_lanes > 1 || last < 0 || box->gather[last] ||
        box->low[last] != box->start[last])
        return 0;
    return box->high[last] - box->low[last];
}

unsigned char *exec_box_start(const struct frame *f, const struct access *a, const struct box *box)
{
    const int64_t *stride = exec_access_strides(f, a);
    int64_t offset = 0;
    for (int i = 0; i < a->rank; i++)
        offset += box->low[i] * stride[i];
    return exec_access_base(f, a) + offset * (int64_t)a->size;
}

void exec_box_load(struct frame *f, const struct access *a, const struct box *box, void *data,
                   const void *otherwise)
{
    static const uint64_t zero = 0;
    int64_t first = box_loaded_first(a, box);
    if (!a->keep && !box_full(a, box))
        f->program->set->memory->fill[a->size_index](
            (char *)data + first * (int64_t)a->size, otherwise ? otherwise : &zero,
            (size_t)(a->elements * a->local_lanes - first));
    if (first > 0 && exec_access_strides(f, a)[a->rank - 1] == 1) {
        memcpy(data, exec_box_start(f, a, box), (size_t)first * a->size); /* there are no others */
        return;
    }
    struct box_walk w = {.access = a, .box = box, .frame = f};
    box_walk(&w, data);
}

void exec_box_store(struct frame *f, const struct access *a, const struct box *box,
                    const void *data, const uint8_t *mask)
{
    struct box_walk w = {.access = a, .box = box, .frame = f, .store = true};
    w.mask = a->local_lanes > 1 ? mask : NULL;
    box_walk(&w, (void *)(uintptr_t)data);
}

/* Does the same as exec_access_box when only some lanes run: a fault is then reported for the first
 * running lane. */
static bool access_box_under(struct frame *f, const struct access *a, const struct instr *in,
                             struct box *box)
{
    const uint8_t *mask = frame_mask(f, in->mask);
    if (exec_access_box(f, a, in->loc, box))
        return true;
    if (!mask)
        return false;
    const int *threads = f->program->kernel->threads;
    int lane = 0, x = threads[0], y = threads[1] > 0 ? threads[1] : 1;
    while (!mask[lane])
        lane++;
    f->fault.thread[0] = lane % x;
    f->fault.thread[1] = lane / x % y;
    f->fault.thread[2] = lane / x / y;
    return false;
}

void step_load(struct frame *f, const struct instr *in)
{
    const struct access *a = in->detail;
    struct box box;
    if (!access_box_under(f, a, in, &box) || !exec_async_leaves_box(f, a, &box, in->loc))
        return;
    exec_box_load(f, a, &box, frame_at(f, in->dst),
                  a->otherwise == NO_SLOT ? NULL : frame_at(f, a->otherwise));
    if (a->prefetch != NO_SLOT && !box.empty)
        exec_note_row(f, a->prefetch, exec_box_start(f, a, &box), (size_t)a->elements * a->size);
}

void step_store(struct frame *f, const struct instr *in)
{
    const struct access *a = in->detail;
    struct box box;
    if (!access_box_under(f, a, in, &box) || !exec_async_leaves_box(f, a, &box, in->loc))
        return;
    exec_box_store(f, a, &box, frame_at(f, in->a), frame_mask(f, in->mask));
    if (f->program->packed_count > 0 && a->space == SPACE_VIEW && a->rank >= 2)
        exec_note_tile(&f->store_prefetch, a, &box);
}

/* Poisons a shared tile that has no value, each time its declaration is reached. */
void step_shared_poison(struct frame *f, const struct instr *in)
{
    const struct access *a = in->detail;
    struct box box;
    if (exec_access_box(f, a, in->loc, &box) && exec_async_leaves_box(f, a, &box, in->loc))
        memset(exec_access_base(f, a), 0xff, (size_t)a->elements * a->size);
}
