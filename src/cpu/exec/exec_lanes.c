/* Steps that load and store with different places for different lanes. They compute an offset
 * for each lane, axis by axis, then gather or scatter. (Accesses that are nests of strides are
 * copied as such: exec_strided.c.) */
#include "cpu/exec/exec_access.h"

/* --- an offset for each lane --- */

struct lane_scratch {
    void *off, *row;
    uint8_t *valid;
};

static struct lane_scratch lane_scratch(const struct frame *f)
{
    size_t lanes = f->program->lanes;
    unsigned char *at = f->memory + f->program->scratch_at;
    return (struct lane_scratch){at, at + lanes * 8, at + lanes * 16};
}

struct lane_walk {
    struct frame *f;
    const struct access *a;
    struct loc loc;
    const uint8_t *mask;
    struct lane_scratch scratch;
    struct lane_offsets *out;
    int64_t base; /* the uniform part of all offsets, in elements */
    size_t lanes;
};

static const void *affine_indices(struct lane_walk *w, const struct access_axis *axis,
                                  int64_t coordinate)
{
    const int32_t *thread[3];
    uint32_t step[3], first = (uint32_t)index_value(frame_at(w->f, axis->at), false, 0);
    for (int i = 0; i < 3; i++) {
        thread[i] = frame_at(w->f, w->f->program->lane_at[i]);
        step[i] = (uint32_t)axis->step[i];
    }
    int32_t *narrow = w->scratch.row;
    int64_t *wide = w->scratch.row;
    for (size_t i = 0; i < w->lanes; i++) {
        uint32_t index = first + step[0] * (uint32_t)thread[0][i] +
                         step[1] * (uint32_t)thread[1][i] + step[2] * (uint32_t)thread[2][i];
        if (w->out->narrow)
            narrow[i] = (int32_t)(index + (uint32_t)coordinate);
        else
            wide[i] = (int32_t)index + coordinate;
    }
    return w->scratch.row;
}

/* Returns the index values of a varying axis for one coordinate, in the form that offsets32 or
 * offsets64 need. */
static const void *axis_indices(struct lane_walk *w, const struct access_axis *axis,
                                int64_t coordinate)
{
    const unsigned char *at = frame_at(w->f, axis->at);
    size_t size = axis->wide ? 8 : 4, n = w->lanes;
    if (axis->affine)
        return affine_indices(w, axis, coordinate);
    if (axis->kind == IX_GATHER) {
        at += (size_t)coordinate * n * size;
        coordinate = 0;
    }
    if (coordinate == 0 && axis->wide == !w->out->narrow)
        return at;
    if (w->out->narrow && !axis->wide) {
        int32_t *row = w->scratch.row;
        const int32_t *from = (const int32_t *)(const void *)at;
        for (size_t i = 0; i < n;
             i++) /* an index that is so large that it wraps is outside, and so is the wrapped
                   * one */
            row[i] = (int32_t)((uint32_t)from[i] + (uint32_t)coordinate);
        return row;
    }
    if (w->out->narrow) {
        int32_t *row = w->scratch.row;
        for (size_t i = 0; i < n; i++) {
            int64_t index = index_value(at, true, i);
            index = index > INT64_MAX - coordinate ? -1 : index + coordinate;
            row[i] = index < 0 || index > INT32_MAX ? -1 : (int32_t)index;
        }
        return row;
    }
    int64_t *row = w->scratch.row;
    for (size_t i = 0; i < n; i++)
        row[i] = (int64_t)((uint64_t)index_value(at, axis->wide, i) + (uint64_t)coordinate);
    return row;
}

/* Returns the index of a lane along a varying axis. */
static int64_t lane_index(const struct frame *f, const struct access_axis *axis, size_t lane)
{
    const void *values = frame_at(f, axis->at);
    if (!axis->affine)
        return index_value(values, axis->wide, lane);
    int64_t index = index_value(values, false, 0);
    for (int i = 0; i < 3; i++)
        index += axis->step[i] * index_value(frame_at(f, f->program->lane_at[i]), false, lane);
    return (int32_t)(uint32_t)index;
}

/* Handles lanes whose index is outside: notes a fault (false), or marks the lanes as not valid. */
static bool lanes_outside(struct lane_walk *w, int i, const void *indices)
{
    const struct access_axis *axis = &w->a->axis[i];
    int64_t extent = exec_access_extents(w->f, w->a)[i];
    bool fault = axis->kind == IX_ELEMENT ? !w->a->guarded
                 : axis->kind == IX_SLICE ? axis->inside
                                          : false;
    if (!w->out->valid && w->mask)
        memcpy(w->scratch.valid, w->mask, w->lanes);
    else if (!w->out->valid)
        memset(w->scratch.valid, 1, w->lanes);
    w->out->valid = w->scratch.valid;
    for (size_t lane = 0; lane < w->lanes; lane++) {
        int64_t index = index_value(indices, !w->out->narrow, lane);
        if (index >= 0 && index < extent)
            continue;
        if (fault && w->scratch.valid[lane]) {
            int64_t start = lane_index(w->f, axis, lane);
            if (axis->kind == IX_ELEMENT)
                exec_element_outside(w->f, w->a, i, start, w->loc, (int)lane);
            else
                exec_slice_outside(w->f, w->a, i, start, w->loc, (int)lane);
            return false;
        }
        w->scratch.valid[lane] = 0;
    }
    return true;
}

static bool varying_axis(struct lane_walk *w, int i, int64_t coordinate)
{
    const struct memory_routines *routines = w->f->program->set->memory;
    int64_t extent = exec_access_extents(w->f, w->a)[i];
    int64_t stride = exec_access_strides(w->f, w->a)[i] * w->a->local_lanes;
    const void *indices = axis_indices(w, &w->a->axis[i], coordinate);
    const uint8_t *mask = w->out->valid ? w->out->valid : w->mask;
    bool outside =
        w->out->narrow
            ? routines->offsets32(w->scratch.off, indices, (int32_t)stride, extent, mask, w->lanes)
            : routines->offsets64(w->scratch.off, indices, stride, extent, mask, w->lanes);
    return !outside || lanes_outside(w, i, indices);
}

static bool uniform_axis(struct lane_walk *w, int i, int64_t coordinate)
{
    const struct access_axis *axis = &w->a->axis[i];
    int64_t extent = exec_access_extents(w->f, w->a)[i], index = coordinate;
    if (axis->kind == IX_GATHER)
        index = index_value(frame_at(w->f, axis->at), axis->wide, (size_t)coordinate);
    else if (axis->kind != IX_ALL)
        index = index_value(frame_at(w->f, axis->at), axis->wide, 0);
    if (axis->kind == IX_SLICE) /* an index far beyond the edge stays outside */
        index = index > extent ? extent : index + coordinate;
    if (index >= 0 && index < extent) {
        w->base += index * exec_access_strides(w->f, w->a)[i] * w->a->local_lanes;
        return true;
    }
    if (axis->kind == IX_ELEMENT && !w->a->guarded) {
        exec_element_outside(w->f, w->a, i, index, w->loc, -1);
        return false;
    }
    if (axis->kind == IX_SLICE && axis->inside) {
        exec_slice_outside(w->f, w->a, i, index - coordinate, w->loc, -1);
        return false;
    }
    w->out->none = true;
    return true;
}

/* Sets the offsets of lanes that are not valid to 0, which is inside if any offset is. */
static void settle(struct lane_walk *w)
{
    const uint8_t *valid = w->out->valid;
    uint32_t any = 0;
    if (w->out->narrow) {
        int32_t *off = w->scratch.off;
        for (size_t i = 0; i < w->lanes; i++) {
            any |= valid[i];
            off[i] = off[i] & -(int32_t)valid[i];
        }
    } else {
        int64_t *off = w->scratch.off;
        for (size_t i = 0; i < w->lanes; i++) {
            any |= valid[i];
            off[i] = off[i] & -(int64_t)valid[i];
        }
    }
    if (!any)
        w->out->none = true;
}

static void begin_offsets(struct lane_walk *w)
{
    size_t size = w->out->narrow ? 4 : 8;
    memset(w->scratch.off, 0, w->lanes * size);
    if (w->a->local_lanes == 1)
        return;
    int32_t *off = w->scratch.off; /* local memory always has narrow offsets */
    for (size_t i = 0; i < w->lanes; i++)
        off[i] = (int32_t)i;
}

bool exec_access_lane_offsets(struct frame *f, const struct access *a, const struct instr *in,
                              const int64_t *coordinate, struct lane_offsets *out)
{
    struct lane_walk w = {.f = f, .a = a, .loc = in->loc, .out = out, .lanes = f->program->lanes};
    w.mask = frame_mask(f, in->mask);
    w.scratch = lane_scratch(f);
    *out = (struct lane_offsets){.off = w.scratch.off};
    out->narrow = a->space != SPACE_VIEW || f->launch->views[a->view].narrow;
    begin_offsets(&w);
    for (int i = 0; i < a->rank; i++) {
        const struct access_axis *axis = &a->axis[i];
        if (!(axis->varying ? varying_axis : uniform_axis)(&w, i, coordinate[i]))
            return false;
    }
    if (!out->valid)
        out->valid = w.mask;
    if (out->valid)
        settle(&w);
    out->memory = out->none ? NULL : exec_access_base(f, a) + w.base * (int64_t)a->size;
    return true;
}

bool exec_access_next(const struct access *a, int64_t *coordinate)
{
    for (int i = a->rank - 1; i >= 0; i--) {
        if (++coordinate[i] < a->axis[i].extent)
            return true;
        coordinate[i] = 0;
    }
    return false;
}

/* --- the steps --- */

static void gather(const struct frame *f, const struct access *a, void *dst,
                   const struct lane_offsets *lanes)
{
    const struct memory_routines *routines = f->program->set->memory;
    if (lanes->narrow)
        routines->gather32[a->size_index](dst, lanes->memory, lanes->off, f->program->lanes);
    else
        routines->gather64[a->size_index](dst, lanes->memory, lanes->off, f->program->lanes);
}

/* Loads one row of the result in which some lanes are outside; these get `otherwise`. */
static void load_partly(struct frame *f, const struct access *a, unsigned char *dst,
                        const struct lane_offsets *lanes)
{
    static const uint64_t zero = 0;
    const struct memory_routines *routines = f->program->set->memory;
    size_t n = f->program->lanes;
    if (!a->keep && a->otherwise != NO_SLOT && a->otherwise_lanes > 1)
        memcpy(dst, frame_at(f, a->otherwise), n * a->size);
    else if (!a->keep)
        routines->fill[a->size_index](
            dst, a->otherwise == NO_SLOT ? &zero : frame_at(f, a->otherwise), n);
    if (lanes->none)
        return;
    void *row = lane_scratch(f).row;
    gather(f, a, row, lanes);
    routines->blend[a->size_index](dst, row, lanes->valid, n);
}

void step_load_lanes(struct frame *f, const struct instr *in)
{
    const struct access *a = in->detail;
    int64_t coordinate[MAX_RANK] = {0};
    unsigned char *dst = frame_at(f, in->dst);
    bool may_miss = a->guarded || a->elements != 1 || a->keep;
    for (int i = 0; i < a->rank; i++)
        may_miss |= a->axis[i].kind != IX_ELEMENT;
    do {
        struct lane_offsets lanes;
        if (!exec_access_lane_offsets(f, a, in, coordinate, &lanes) ||
            !exec_async_leaves_lanes(f, a, &lanes, in->loc))
            return;
        if (lanes.none || (may_miss && lanes.valid))
            load_partly(f, a, dst, &lanes);
        else
            gather(f, a, dst, &lanes);
        dst += f->program->lanes * a->size;
    } while (exec_access_next(a, coordinate));
}

void step_store_lanes(struct frame *f, const struct instr *in)
{
    const struct access *a = in->detail;
    const struct memory_routines *routines = f->program->set->memory;
    int64_t coordinate[MAX_RANK] = {0};
    const unsigned char *data = frame_at(f, in->a);
    size_t n = f->program->lanes;
    do {
        struct lane_offsets lanes;
        if (!exec_access_lane_offsets(f, a, in, coordinate, &lanes) ||
            !exec_async_leaves_lanes(f, a, &lanes, in->loc))
            return;
        if (lanes.none)
            ;
        else if (lanes.narrow)
            routines->scatter32[a->size_index](lanes.memory, data, lanes.off, lanes.valid, n);
        else
            routines->scatter64[a->size_index](lanes.memory, data, lanes.off, lanes.valid, n);
        data += n * a->size;
    } while (exec_access_next(a, coordinate));
}
