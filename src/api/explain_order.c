#include "api/explain_order.h"

enum { MOST_BLOCKS = 1 << 16 };

/* Returns the work of the block at a place of one axis, all others at 0. */
static double work_at(const struct sampling *s, int axis, int64_t at)
{
    const struct sample *below = NULL, *above = NULL;
    for (size_t i = 0; i < s->all.count; i++) {
        const struct sample *x = s->all.data[i];
        bool on_axis = true;
        for (int k = 0; k < 3; k++)
            on_axis = on_axis && (k == axis || x->at[k] == 0);
        if (on_axis && x->at[axis] <= at && (!below || x->at[axis] > below->at[axis]))
            below = x;
        if (on_axis && x->at[axis] >= at && (!above || x->at[axis] < above->at[axis]))
            above = x;
    }
    if (!below || !above)
        return 0;
    double gap = (double)(above->at[axis] - below->at[axis]);
    double share = gap > 0 ? (double)(at - below->at[axis]) / gap : 0;
    return below->sum + share * (above->sum - below->sum);
}

/* Gives the work along an axis, relative to that of the grid's first block. */
static double *work_along(const struct sampling *s, int axis)
{
    double *w = arena_array(s->arena, double, s->extent[axis]), first = work_at(s, axis, 0);
    for (int64_t i = 0; i < s->extent[axis]; i++)
        w[i] = first > 0 ? work_at(s, axis, i) / first : 1;
    return w;
}

/* Places a time in a heap, whose first is the least, instead of the first. */
static void replace_first(double *heap, int64_t count, double time)
{
    int64_t i = 0;
    for (int64_t child = 1; child < count; child = 2 * i + 1) {
        if (child + 1 < count && heap[child + 1] < heap[child])
            child++;
        if (heap[child] >= time)
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = time;
}

double explain_order(const struct sampling *s, const struct explain *e)
{
    int64_t places = (int64_t)e->out.resident_blocks * e->gpu->multiprocessors;
    int64_t blocks = s->extent[0] * s->extent[1] * s->extent[2];
    double *work[3], sum = 0, last = 0;
    if (places == 0 || blocks > MOST_BLOCKS)
        return 0;
    for (int axis = 0; axis < 3; axis++)
        work[axis] = work_along(s, axis);
    double *ends = arena_array(s->arena, double, places);
    for (int64_t b = 0; b < blocks; b++) {
        double time = work[0][b % s->extent[0]] * work[1][b / s->extent[0] % s->extent[1]] *
                      work[2][b / s->extent[0] / s->extent[1]];
        double end = ends[0] + time;
        sum += time;
        last = end > last ? end : last;
        replace_first(ends, places, end);
    }
    return sum > 0 ? last / (sum / (double)blocks) : 0;
}
