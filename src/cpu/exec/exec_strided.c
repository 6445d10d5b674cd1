/* Varying accesses whose indices are affine in the thread's index: the places of the lanes'
 * elements form a nest of strides. If all lanes run, or a rectangle of them, and the extremes of
 * their indices are inside, the nest copies the elements. Otherwise they are copied lane by lane
 * (exec_lanes.c), which finds the lane at fault. */
#include "cpu/program.h"

#include <stdlib.h>

static void add_axis(struct nest *nest, bool store, int64_t extent, int64_t data, int64_t memory)
{
    exec_nest_add(nest, extent, store ? memory : data, store ? data : memory, true);
}

/* Returns whether the nest writes each of its elements to a different place. In order of their
 * steps, each axis must step past the reach of the axes before it. */
static bool writes_once(const struct nest *nest)
{
    bool taken[NEST_RANK] = {false};
    int64_t reach = 0;
    for (int n = 0; n < nest->rank; n++) {
        int next = -1;
        for (int i = 0; i < nest->rank; i++)
            if (!taken[i] && (next < 0 || llabs(nest->dst[i]) < llabs(nest->dst[next])))
                next = i;
        int64_t step = llabs(nest->dst[next]), more;
        taken[next] = true;
        if (step <= reach || __builtin_mul_overflow(step, nest->extent[next] - 1, &more) ||
            __builtin_add_overflow(reach, more, &reach))
            return false;
    }
    return true;
}

void exec_strided_nest(const struct cpu_program *p, const struct strided *s, const int64_t *stride,
                       struct strided_nest *n)
{
    const struct access *a = s->access;
    int64_t data[MAX_RANK], memory[MAX_RANK], lane = (int64_t)p->lanes, step = lane;
    *n = (struct strided_nest){.usable = true};
    for (int i = a->rank - 1; i >= 0; i--) {
        data[i] = step;
        memory[i] = stride_times(stride[i], a->local_lanes);
        step *= a->axis[i].extent;
    }
    for (int i = 0; i < a->rank; i++)
        if (a->axis[i].kind != IX_ELEMENT)
            add_axis(&n->elements, s->store, a->axis[i].extent, data[i], memory[i]);
    n->all = n->elements;
    for (int t = 2; t >= 0; t--) {
        lane /= p->threads[t];
        n->step[t] = a->local_lanes > 1 ? lane : 0;
        for (int i = 0; i < a->rank; i++)
            n->step[t] += stride_times(a->axis[i].step[t], memory[i]);
        add_axis(&n->all, s->store, p->threads[t], lane, n->step[t]);
        /* If lanes store to the same element, the last one must win, but a nest has no such
         * order. */
        n->usable = n->usable && !(s->store && n->step[t] == 0 && p->threads[t] > 1);
    }
    n->once = !s->store || writes_once(&n->all);
    if (n->once)
        exec_nest_settle(&n->all);
}

/* Computes the reach of the lanes of a box along an axis, from the first lane: the least and the
 * most. */
static void box_reach(const struct access_axis *axis, const struct lane_box *box, int64_t *low,
                      int64_t *high)
{
    *low = *high = 0;
    for (int t = 0; t < 2; t++) {
        int64_t reach = axis->step[t] * (box->high[t] - box->low[t] - 1);
        *(reach < 0 ? low : high) += reach;
    }
}

/* Returns the address of the first lane's first element (with a box: that of the first lane in
 * it), if all elements of the lanes are inside; else NULL. */
static unsigned char *strided_start(const struct frame *f, const struct access *a,
                                    const struct lane_box *box)
{
    const int64_t *extent = exec_access_extents(f, a), *stride = exec_access_strides(f, a);
    int64_t start = 0;
    for (int i = 0; i < a->rank; i++) {
        const struct access_axis *axis = &a->axis[i];
        int64_t index = 0, low = axis->low, high = axis->high;
        if (axis->kind != IX_ALL && axis->wide)
            memcpy(&index, frame_at(f, axis->at), sizeof index);
        else if (axis->kind != IX_ALL)
            index = *(const int32_t *)frame_at(f, axis->at);
        if (axis->affine && box) {
            index += axis->step[0] * box->low[0] + axis->step[1] * box->low[1];
            box_reach(axis, box, &low, &high);
        }
        /* If an index wraps as i32 it is already outside, except with the largest axes. */
        if (index < -low || index > extent[i] - axis->extent - high ||
            (axis->affine && index + high > INT32_MAX))
            return NULL;
        start += index * stride[i];
    }
    return exec_access_base(f, a) + start * a->local_lanes * (int64_t)a->size;
}

static copy_fn *strided_copy(const struct frame *f, const struct access *a,
                             const struct strided_nest *n)
{
    const struct memory_routines *routines = f->program->set->memory;
    return (n->once ? routines->copy_once : routines->copy)[a->size_index];
}

/* Moves the elements of the lanes in the box. false: the nest cannot be used. */
static bool move_box(struct frame *f, const struct access *a, const struct strided_nest *n,
                     const struct lane_box *box, unsigned char *data, bool store)
{
    if (box->high[0] == 0)
        return false;
    unsigned char *memory = strided_start(f, a, box);
    if (!memory)
        return false;
    int64_t width = f->program->threads[0], first = box->low[1] * width + box->low[0];
    struct nest nest = n->elements;
    if (a->local_lanes > 1)
        memory += first * (int64_t)a->size;
    data += first * (int64_t)a->size;
    add_axis(&nest, store, box->high[1] - box->low[1], width, n->step[1]);
    add_axis(&nest, store, box->high[0] - box->low[0], 1, n->step[0]);
    if (n->once)
        exec_nest_settle(&nest);
    copy_fn *copy = strided_copy(f, a, n);
    copy(store ? memory : data, store ? data : memory, &nest);
    return true;
}

/* Moves elements between the lanes' values and the memory. false: the nest cannot be used. */
static bool strided_move(struct frame *f, const struct instr *in, unsigned char *data, bool store)
{
    const struct access *a = in->detail;
    const struct strided_nest *n = &f->launch->nests[a->strided];
    if (!n->usable || f->copy_count > 0)
        return false;
    if (frame_mask(f, in->mask)) {
        struct lane_box box = frame_mask_header(f, in->mask).box;
        return move_box(f, a, n, &box, data, store);
    }
    unsigned char *memory = strided_start(f, a, NULL);
    if (memory)
        strided_copy(f, a, n)(store ? memory : data, store ? data : memory, &n->all);
    return memory != NULL;
}

void step_load_strided(struct frame *f, const struct instr *in)
{
    if (!strided_move(f, in, frame_at(f, in->dst), false))
        step_load_lanes(f, in);
}

/* Loads the lanes that run. The others keep their values, or get the value that the access
 * names. */
void step_load_masked(struct frame *f, const struct instr *in)
{
    const struct access *a = in->detail;
    const struct memory_routines *routines = f->program->set->memory;
    unsigned char *dst = frame_at(f, in->dst);
    const uint8_t *mask = frame_mask(f, in->mask);
    size_t row = f->program->lanes * a->size;
    if (!mask) {
        step_load_strided(f, in);
        return;
    }
    if (a->rest != NO_SLOT)
        routines->fill[a->size_index](dst, frame_at(f, a->rest),
                                      (size_t)a->elements * f->program->lanes);
    if (frame_mask_header(f, in->mask).running == 0 || strided_move(f, in, dst, false))
        return;
    struct instr aside = *in;
    aside.dst = a->spare;
    step_load_lanes(f, &aside);
    for (int64_t i = 0; i < a->elements && f->state == FRAME_READY; i++)
        routines->blend[a->size_index](dst + (size_t)i * row,
                                       (unsigned char *)frame_at(f, a->spare) + (size_t)i * row,
                                       mask, f->program->lanes);
}

void step_store_strided(struct frame *f, const struct instr *in)
{
    if (!strided_move(f, in, frame_at(f, in->a), true))
        step_store_lanes(f, in);
}

/* --- from memory to memory --- */

/* Finds the box of lanes that run (NULL: all of them); `room` is memory for it. false: they do
 * not form a box, or no lane runs. */
static bool lanes_box(const struct frame *f, uint32_t mask, struct lane_box *room,
                      const struct lane_box **box)
{
    *box = NULL;
    if (!frame_mask(f, mask))
        return true;
    *room = frame_mask_header(f, mask).box;
    *box = room;
    return room->high[0] > 0;
}

/* Makes the nest of the elements of some lanes in the memories of two accesses. */
static void move_nest(const struct frame *f, const struct access *to, const struct access *from,
                      const struct lane_box *box, struct nest *nest)
{
    const int64_t *to_step = exec_access_strides(f, to), *from_step = exec_access_strides(f, from);
    const struct strided_nest *n = f->launch->nests;
    nest->rank = 0;
    for (int i = 0, j = 0; i < to->rank; i++) {
        if (to->axis[i].kind == IX_ELEMENT)
            continue;
        while (from->axis[j].kind == IX_ELEMENT)
            j++;
        exec_nest_add(nest, to->axis[i].extent, to_step[i], from_step[j++], true);
    }
    for (int t = 2; t >= 0; t--) {
        int64_t count = f->program->threads[t];
        if (box && t < 2)
            count = box->high[t] - box->low[t];
        exec_nest_add(nest, count, n[to->strided].step[t], n[from->strided].step[t], true);
    }
    exec_nest_settle(nest);
}

static bool is_none(const struct frame *f, uint32_t mask)
{
    return mask != NO_SLOT && frame_mask_header(f, mask).running == 0;
}

void step_move(struct frame *f, const struct instr *in)
{
    const struct move_detail *d = in->detail;
    uint32_t yes = d->yes == NO_SLOT ? in->mask : d->yes;
    const struct strided_nest *n = &f->launch->nests[d->to->strided];
    copy_fn *copy = f->program->set->memory->copy_once[d->to->size_index];
    struct lane_box room[2];
    const struct lane_box *all, *some = NULL;
    const unsigned char *from = NULL;
    bool loads = !is_none(f, yes);
    if (!n->usable || !n->once || f->copy_count > 0 || !lanes_box(f, in->mask, &room[0], &all) ||
        (loads && !lanes_box(f, yes, &room[1], &some)))
        return;
    unsigned char *to = strided_start(f, d->to, all);
    if (loads)
        from = strided_start(f, d->from, some);
    if (!to || (loads && !from))
        return;
    struct nest nest;
    if (!loads || (some && (!all || memcmp(some, all, sizeof *some) != 0))) {
        move_nest(f, d->to, d->from, all, &nest);
        memset(nest.src, 0, sizeof nest.src);
        copy(to, frame_at(f, d->rest), &nest);
    }
    if (loads) {
        move_nest(f, d->to, d->from, some, &nest);
        copy(some ? strided_start(f, d->to, some) : to, from, &nest);
    }
    f->pc = in->n;
}
