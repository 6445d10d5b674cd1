/* Accesses of bytes that a copy under way writes: they belong to the copy. */
#include "cpu/program.h"

const char *exec_async_wait_of(const struct copy_under_way *copy)
{
    return copy->detail->barrier ? "a wait for its mbarrier" : "async_wait";
}

static bool boxes_meet(const struct box *a, const struct box *b, int rank)
{
    if (a->empty || b->empty)
        return false;
    for (int i = 0; i < rank; i++)
        if (a->low[i] >= b->high[i] || b->low[i] >= a->high[i])
            return false;
    return true;
}

/* Computes the range of the box's bytes in shared memory: from *first up to, not including,
 * *end. */
static void box_bytes(const struct access *a, const struct box *box, int64_t *first, int64_t *end)
{
    int64_t low = 0, high = 0;
    for (int i = 0; i < a->rank; i++) {
        low += box->low[i] * a->stride[i];
        high += (box->high[i] - 1) * a->stride[i];
    }
    *first = a->at + low * (int64_t)a->size;
    *end = a->at + (high + 1) * (int64_t)a->size;
}

static bool copy_meets_box(const struct copy_under_way *copy, const struct access *a,
                           const struct box *box)
{
    const struct access *to = copy->detail->to;
    if (to->sym == a->sym)
        return boxes_meet(&copy->to, box, a->rank);
    if (copy->to.empty || box->empty)
        return false;
    int64_t first, end, copy_first, copy_end;
    box_bytes(a, box, &first, &end);
    box_bytes(to, &copy->to, &copy_first, &copy_end);
    return first < copy_end && copy_first < end;
}

static bool copy_has_byte(const struct copy_under_way *copy, int64_t byte)
{
    const struct access *to = copy->detail->to;
    int64_t at = byte - (int64_t)to->at;
    if (copy->to.empty || at < 0)
        return false;
    int64_t element = at / (int64_t)to->size;
    for (int i = 0; i < to->rank; i++) {
        int64_t index = element / to->stride[i];
        element %= to->stride[i];
        if (index < copy->to.low[i] || index >= copy->to.high[i])
            return false;
    }
    return true;
}

/* Returns whether the copy writes any of the bytes of an element, which may be wider than the
 * copy's elements. */
static bool copy_meets_bytes(const struct copy_under_way *copy, int64_t first, size_t count)
{
    size_t step = copy->detail->to->size < count ? copy->detail->to->size : count;
    for (size_t i = 0; i < count; i += step)
        if (copy_has_byte(copy, first + (int64_t)i))
            return true;
    return copy_has_byte(copy, first + (int64_t)count - 1);
}

static void touched(struct frame *f, const struct copy_under_way *copy, const struct access *a,
                    struct loc loc, int lane)
{
    int line = 0, column = 0;
    if (copy->loc.source)
        loc_line_column(copy->loc, &line, &column);
    frame_fault(f, CPU_ASYNC, loc, lane,
                "%s is used while the copy into %s that line %d started is under way; %s "
                "must come first",
                a->sym->name, copy->detail->to->sym->name, line, exec_async_wait_of(copy));
}

bool exec_async_leaves_box(struct frame *f, const struct access *a, const struct box *box,
                           struct loc loc)
{
    if (a->space != SPACE_SHARED)
        return true;
    const struct frame *of = access_frame(f, a);
    for (size_t i = 0; i < of->copy_count; i++)
        if (copy_meets_box(&of->copies[i], a, box)) {
            touched(f, &of->copies[i], a, loc, -1);
            return false;
        }
    return true;
}

bool exec_async_leaves_lanes(struct frame *f, const struct access *a,
                             const struct lane_offsets *lanes, struct loc loc)
{
    if (f->copy_count == 0 || a->space != SPACE_SHARED || lanes->none)
        return true;
    int64_t base = lanes->memory - (f->memory + f->program->shared_at);
    for (size_t lane = 0; lane < f->program->lanes; lane++) {
        if (lanes->valid && !lanes->valid[lane])
            continue;
        int64_t off = lanes->narrow ? ((const int32_t *)lanes->off)[lane]
                                    : ((const int64_t *)lanes->off)[lane];
        for (size_t i = 0; i < f->copy_count; i++)
            if (copy_meets_bytes(&f->copies[i], base + off * (int64_t)a->size, a->size)) {
                touched(f, &f->copies[i], a, loc, (int)lane);
                return false;
            }
    }
    return true;
}
