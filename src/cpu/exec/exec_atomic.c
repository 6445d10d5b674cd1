/* Steps whose effects other blocks see: atomics, lock, unlock. */
#include "cpu/program.h"

#include <inttypes.h>
#include <stdio.h>

/* --- atomics: one element after another, lanes in order --- */

struct atomic_walk {
    struct frame *f;
    const struct atomic_detail *d;
    const unsigned char *value, *desired;
    unsigned char *old;
};

static void apply(struct atomic_walk *w, unsigned char *memory, size_t element, size_t lane)
{
    const struct atomic_detail *d = w->d;
    size_t size = d->access->size;
    size_t v = element * (size_t)d->value_step * d->value_lanes + (d->value_lanes > 1 ? lane : 0);
    size_t w_at =
        element * (size_t)d->desired_step * d->desired_lanes + (d->desired_lanes > 1 ? lane : 0);
    uint64_t old = 0;
    if (memory)
        d->apply(memory, &old, w->value + v * size, w->desired ? w->desired + w_at * size : NULL);
    if (w->old)
        memcpy(w->old + (element * d->access->lanes + lane) * size, &old, size);
}

static void atomic_begin(struct atomic_walk *w, struct frame *f, const struct instr *in)
{
    const struct atomic_detail *d = in->detail;
    *w = (struct atomic_walk){.f = f, .d = d, .value = frame_at(f, d->value)};
    if (d->desired != NO_SLOT)
        w->desired = frame_at(f, d->desired);
    if (d->old != NO_SLOT)
        w->old = frame_at(f, d->old);
}

/* Returns the element of a uniform access at a coordinate of its result; NULL: it is outside. */
static unsigned char *box_element(struct frame *f, const struct access *a, const struct box *box,
                                  const int64_t *coordinate)
{
    const int64_t *stride = exec_access_strides(f, a);
    int64_t at = 0;
    for (int i = 0; i < a->rank; i++) {
        /* past the largest integer the index wraps below zero, which is outside, too */
        int64_t index = (int64_t)((uint64_t)box->start[i] + (uint64_t)coordinate[i]);
        if (box->gather[i])
            index = a->axis[i].wide ? ((const int64_t *)box->gather[i])[coordinate[i]]
                                    : ((const int32_t *)box->gather[i])[coordinate[i]];
        if (index < box->low[i] || index >= box->high[i])
            return NULL;
        at += index * stride[i];
    }
    return exec_access_base(f, a) + at * (int64_t)a->size;
}

/* Returns whether the elements of the last axis are contiguous, and no number overflows. */
static bool has_rows(struct frame *f, const struct access *a, const struct box *box)
{
    int last = a->rank - 1;
    for (int i = 0; i < a->rank; i++)
        if (box->gather[i])
            return false;
    return last >= 0 && a->axis[last].kind != IX_ELEMENT && exec_access_strides(f, a)[last] == 1 &&
           box->start[last] <= INT64_MAX - a->axis[last].extent;
}

/* Applies the operation to a row at a time. */
static void apply_rows(struct atomic_walk *w, const struct box *box)
{
    const struct access *a = w->d->access;
    int last = a->rank - 1;
    int64_t coordinate[MAX_RANK] = {0}, extent = a->axis[last].extent, start = box->start[last];
    int64_t from = box->low[last] > start ? box->low[last] - start : 0;
    int64_t to = box->high[last] - start < extent ? box->high[last] - start : extent;
    const unsigned char *value = w->value;
    do {
        coordinate[last] = from;
        unsigned char *row = from < to ? box_element(w->f, a, box, coordinate) : NULL;
        if (row)
            w->d->row(row, row, value + from * (int64_t)a->size, NULL, (size_t)(to - from));
        value += extent * (int64_t)a->size;
        coordinate[last] = extent - 1;
    } while (exec_access_next(a, coordinate));
}

void step_atomic(struct frame *f, const struct instr *in)
{
    struct atomic_walk w;
    struct box box;
    int64_t coordinate[MAX_RANK] = {0};
    atomic_begin(&w, f, in);
    const struct access *a = w.d->access;
    if (!exec_access_box(f, a, in->loc, &box) || !exec_async_leaves_box(f, a, &box, in->loc))
        return;
    if (w.d->row && has_rows(f, a, &box)) {
        apply_rows(&w, &box);
        return;
    }
    size_t element = 0;
    do
        apply(&w, box_element(f, a, &box, coordinate), element++, 0);
    while (exec_access_next(a, coordinate));
}

void step_atomic_lanes(struct frame *f, const struct instr *in)
{
    struct atomic_walk w;
    int64_t coordinate[MAX_RANK] = {0};
    atomic_begin(&w, f, in);
    const struct access *a = w.d->access;
    size_t element = 0;
    do {
        struct lane_offsets lanes;
        if (!exec_access_lane_offsets(f, a, in, coordinate, &lanes) ||
            !exec_async_leaves_lanes(f, a, &lanes, in->loc))
            return;
        for (size_t lane = 0; lane < f->program->lanes; lane++) {
            if (lanes.none || (lanes.valid && !lanes.valid[lane])) {
                apply(&w, NULL, element, lane);
                continue;
            }
            int64_t off = lanes.narrow ? ((const int32_t *)lanes.off)[lane]
                                       : ((const int64_t *)lanes.off)[lane];
            apply(&w, lanes.memory + off * (int64_t)a->size, element, lane);
        }
        element++;
    } while (exec_access_next(a, coordinate));
}

/* --- lock and unlock --- */

static int64_t atomic_read(const void *memory, enum dtype t)
{
    if (dtype_size(t) == 8)
        return __atomic_load_n((const int64_t *)memory, __ATOMIC_ACQUIRE);
    int32_t value = __atomic_load_n((const int32_t *)memory, __ATOMIC_ACQUIRE);
    return t == DT_U32 ? (int64_t)(uint32_t)value : (int64_t)value;
}

static unsigned char *lock_element(struct frame *f, const struct lock_detail *d, struct loc loc,
                                   struct box *box)
{
    int64_t coordinate[MAX_RANK] = {0};
    if (!exec_access_box(f, d->access, loc, box) || !exec_async_leaves_box(f, d->access, box, loc))
        return NULL;
    return box_element(f, d->access, box, coordinate);
}

/* Takes the lock, if it is free. If not, the frame waits and runs this step again; f->fault then
 * describes the lock it waits for, in case no block can release it. */
void step_lock(struct frame *f, const struct instr *in)
{
    const struct lock_detail *d = in->detail;
    struct box box;
    const unsigned char *element = lock_element(f, d, in->loc, &box);
    if (!element)
        return;
    int64_t found = atomic_read(element, d->dtype),
            wanted = dtype_load_i64(d->dtype, f->memory + d->value);
    if (found == wanted)
        return;
    char place[96];
    int length = snprintf(place, sizeof place, "%s", d->access->sym->name);
    for (int i = 0; i < d->access->rank && length < (int)sizeof place; i++)
        length +=
            snprintf(place + length, sizeof place - (size_t)length, "[%" PRId64 "]", box.start[i]);
    frame_fault(f, CPU_DEADLOCK, in->loc, -1,
                "lock waits for %s to be %" PRId64 ", but it is %" PRId64
                " and no block that could change it is left",
                place, wanted, found);
    f->state = FRAME_WAITING;
    f->pc--;
}

void step_unlock(struct frame *f, const struct instr *in)
{
    const struct lock_detail *d = in->detail;
    struct box box;
    unsigned char *element = lock_element(f, d, in->loc, &box);
    if (!element)
        return;
    int64_t value = dtype_load_i64(d->dtype, f->memory + d->value);
    if (dtype_size(d->dtype) == 8)
        __atomic_store_n((int64_t *)(void *)element, value, __ATOMIC_RELEASE);
    else
        __atomic_store_n((int32_t *)(void *)element, (int32_t)value, __ATOMIC_RELEASE);
}
