/* The part of a tile that an access touches, and whether two parts meet. */
#include "synccheck/synccheck_core.h"

#include <string.h>

/* --- making --- */

/* Computes the part along one axis. Returns false if all of it is outside. */
static bool make_axis(struct sync_check *k, struct sync_access *a, int axis, int start, int64_t n,
                      int64_t extent)
{
    int64_t first, end;
    if (sync_value_number(k, start, &first)) {
        end = sync_add_saturated(first, n);
        end = end < extent ? end : extent;
        first = first > 0 ? first : 0;
        if (first >= end)
            return false;
        start = sync_value_int(k, first);
        n = end - first;
    }
    a->start[axis] = start;
    a->extent[axis] = (int)(n < INT32_MAX ? n : INT32_MAX);
    return true;
}

int sync_access_make(struct sync_check *k, struct sync_state *s, int site)
{
    const struct touch *t = &k->code.touches.data[site];
    const struct sym *tile = k->code.tiles.data[t->tile];
    const struct expr *e = t->access;
    struct sync_access a = {.site = site,
                            .tile = t->tile,
                            .kind = (int)t->kind,
                            .mask = t->collective ? k->one : s->slot[t->mask],
                            .stored = -1,
                            .rank = tile->type.rank};
    if (!t->collective && a.mask == k->zero)
        return -1;
    for (int i = 0; i < a.rank; i++) {
        int64_t extent = tile->type.extent[i], n = 1;
        int start = k->zero;
        const struct index *x = e && i < e->indices ? &e->index[i] : NULL;
        if (!x || x->kind == IX_ALL) {
            n = extent;
        } else if (x->kind == IX_GATHER) {
            bool contiguous;
            n = x->extent;
            start = sync_eval_rows(k, s, x->value, &contiguous);
            a.gathers |= contiguous ? 0 : 1 << i;
        } else {
            start = sync_eval_value(k, s, x->value);
            n = x->kind == IX_SLICE ? x->extent : 1;
        }
        if (a.gathers >> i & 1) {
            a.start[i] = start;
            a.extent[i] = 1;
        } else if (!make_axis(k, &a, i, start, n, extent))
            return -1;
    }
    if (t->stored)
        a.stored = sync_eval_value(k, s, t->stored);
    if (a.stored == k->top)
        a.stored = -1;
    return sync_intern(&k->accesses, &a, sizeof a, NULL);
}

/* --- boxes of the whole block --- */

static void constrain(struct meeting_at *out, int form, int64_t scale, int64_t low, int64_t high)
{
    struct fact *f = &out->constraint[out->constraints++];
    *f = (struct fact){.form = form, .residue = -1};
    /* low <= scale * form <= high, with bounds rounded inwards */
    int64_t a = scale > 0 ? low : high, b = scale > 0 ? high : low;
    f->low = a / scale + (a % scale && (a < 0) == (scale < 0) ? 1 : 0);
    f->high = b / scale - (b % scale && (b < 0) != (scale < 0) ? 1 : 0);
}

/* Checks that v is in [low, high]. */
static enum meeting require(struct sync_check *k, const struct sync_state *s, int v, int64_t low,
                            int64_t high, struct meeting_at *out)
{
    struct sync_value x = *sync_value_at(k, v);
    if (x.kind == VALUE_SUM && !x.terms)
        return x.c >= low && x.c <= high ? MEET_SURE : MEET_NEVER;
    if (x.kind == VALUE_MODULAR) /* a number of low … high has the remainder, or none has */
        return x.step > high - low && ((x.c - low) % x.step + x.step) % x.step > high - low
                   ? MEET_NEVER
                   : MEET_MAYBE;
    if (x.kind != VALUE_SUM)
        return MEET_MAYBE;
    int64_t scale, known_low, known_high;
    int form = sync_value_form(k, v, &scale);
    sync_fact_interval(k, s, form, &known_low, &known_high);
    constrain(out, form, scale, low - x.c, high - x.c);
    const struct fact *f = &out->constraint[out->constraints - 1];
    if (f->low > f->high || f->low > known_high || f->high < known_low)
        return MEET_NEVER;
    return k->exact ? MEET_SURE : MEET_MAYBE;
}

static enum meeting least(enum meeting a, enum meeting b)
{
    return a < b ? a : b;
}

/* Returns true if one access takes the whole axis, so that it meets any rows that a gather names. */
static bool covers_gather(const struct sync_check *k, const struct sync_access *whole,
                          const struct sync_access *gather, int axis)
{
    int64_t extent = k->code.tiles.data[whole->tile]->type.extent[axis];
    return whole->start[axis] == k->zero && whole->extent[axis] == extent &&
           !(whole->gathers >> axis & 1) && (gather->gathers >> axis & 1);
}

/* Returns whether rows that data names meet: they surely do if the names are the same. */
static enum meeting gathers_meet(const struct sync_check *k, const struct sync_access *a,
                                 const struct sync_access *b, int axis)
{
    bool same = (a->gathers & b->gathers) >> axis & 1 && a->start[axis] == b->start[axis] &&
                a->start[axis] != k->top;
    return same || covers_gather(k, a, b, axis) || covers_gather(k, b, a, axis) ? MEET_SURE
                                                                                : MEET_MAYBE;
}

static enum meeting axis_meet(struct sync_check *k, const struct sync_state *s,
                              const struct sync_access *a, const struct sync_access *b, int axis,
                              struct meeting_at *out)
{
    if ((a->gathers | b->gathers) >> axis & 1)
        return gathers_meet(k, a, b, axis);
    int64_t first, second;
    if (sync_value_number(k, a->start[axis], &first) &&
        sync_value_number(k, b->start[axis], &second))
        return first < second + b->extent[axis] && second < first + a->extent[axis] ? MEET_SURE
                                                                                    : MEET_NEVER;
    int difference = sync_value_add(k, a->start[axis], b->start[axis], -1);
    enum meeting met = require(k, s, difference, 1 - a->extent[axis], b->extent[axis] - 1, out);
    int64_t c, extent = k->code.tiles.data[a->tile]->type.extent[axis];
    const struct sync_access *both[2] = {a, b};
    for (int i = 0; i < 2 && met != MEET_NEVER; i++) /* and both must be inside the tile */
        if (!sync_value_number(k, both[i]->start[axis], &c))
            met = least(
                met, require(k, s, both[i]->start[axis], 0, extent - both[i]->extent[axis], out));
    return met;
}

static enum meeting boxes_meet(struct sync_check *k, const struct sync_state *s,
                               const struct sync_access *a, const struct sync_access *b,
                               struct meeting_at *out)
{
    enum meeting met = MEET_SURE;
    for (int i = 0; i < a->rank && met != MEET_NEVER; i++)
        met = least(met, axis_meet(k, s, a, b, i, out));
    return met;
}

/* --- threads --- */

/* One access by each thread: the first element along each axis, relative to unknowns that both
 * accesses share. */
struct per_thread {
    const struct sync_access *access;
    const int64_t *lane[MAX_RANK], *mask;
    int64_t c[MAX_RANK];
    int64_t mask_c;
};

static bool per_thread_make(const struct sync_check *k, const struct sync_access *a,
                            struct per_thread *out)
{
    *out = (struct per_thread){.access = a};
    for (int i = 0; i < a->rank; i++) {
        const struct sync_value *v = sync_value_at(k, a->start[i]);
        if (v->kind == VALUE_TOP || v->kind == VALUE_MODULAR || a->gathers)
            return false;
        out->lane[i] = sync_value_lanes_at(k, v);
        out->c[i] = v->c;
    }
    const struct sync_value *m = sync_value_at(k, a->mask);
    out->mask = sync_value_lanes_at(k, m);
    out->mask_c = m->kind == VALUE_SUM ? m->c : LANE_UNKNOWN;
    return true;
}

/* Returns the thread's mask bit: 1, 0, or LANE_UNKNOWN. An unknown start also makes it unknown. */
static int64_t thread_comes(const struct per_thread *p, int t)
{
    int64_t m = p->mask ? p->mask[t] : p->mask_c;
    for (int i = 0; m != 0 && i < p->access->rank; i++)
        if (p->lane[i] && p->lane[i][t] == LANE_UNKNOWN)
            return LANE_UNKNOWN;
    return m;
}

static int64_t thread_start(const struct per_thread *p, int axis, int t)
{
    return p->lane[axis] ? p->lane[axis][t] : p->c[axis];
}

/* The elements that both accesses may touch, as an origin and extents. window_make returns false
 * if there are too many. */
struct window {
    int rank;
    int64_t origin[MAX_RANK], extent[MAX_RANK], size;
};

static bool window_make(const struct sync_check *k, const struct per_thread *a,
                        const struct per_thread *b, struct window *w)
{
    const struct per_thread *both[2] = {a, b};
    *w = (struct window){.rank = a->access->rank, .size = 1};
    for (int i = 0; i < w->rank; i++) {
        int64_t low = INT64_MAX, high = INT64_MIN;
        for (int j = 0; j < 2; j++)
            for (int t = 0; t < k->threads; t++) {
                int64_t x = thread_start(both[j], i, t);
                if (x == LANE_UNKNOWN)
                    continue;
                low = x < low ? x : low;
                int64_t end = sync_add_saturated(x, both[j]->access->extent[i]);
                high = end > high ? end : high;
            }
        if (low > high)
            return false;
        w->origin[i] = low;
        w->extent[i] = sync_sub_saturated(high, low);
        if (w->extent[i] < 0 || w->extent[i] > (1 << 20) || w->size * w->extent[i] > (1 << 20))
            return false;
        w->size *= w->extent[i];
    }
    return true;
}

/* each_element visits each element of thread t's box and stops at the first for which visit
 * returns true. */
typedef bool element_fn(struct sync_check *k, int64_t element, int thread);
static bool each_element(struct sync_check *k, const struct window *w, const struct per_thread *p,
                         int t, element_fn *visit, int64_t *where)
{
    int64_t at[MAX_RANK] = {0};
    for (;;) {
        int64_t element = 0;
        for (int i = 0; i < w->rank; i++)
            element = element * w->extent[i] + thread_start(p, i, t) + at[i] - w->origin[i];
        if (visit(k, element, t)) {
            for (int i = 0; i < w->rank; i++)
                where[i] = thread_start(p, i, t) + at[i];
            return true;
        }
        int i = w->rank - 1;
        while (i >= 0 && ++at[i] == p->access->extent[i])
            at[i--] = 0;
        if (i < 0)
            return false;
    }
}

static bool mark_owner(struct sync_check *k, int64_t element, int thread)
{
    if (k->owner_stamp[element] != k->owner_now) {
        k->owner_stamp[element] = k->owner_now;
        k->owner_first[element] = thread;
        k->owner_second[element] = -1;
    } else if (k->owner_first[element] != thread) {
        k->owner_second[element] = thread;
    }
    return false;
}

static bool owned_by_other(struct sync_check *k, int64_t element, int thread)
{
    return k->owner_stamp[element] == k->owner_now &&
           (k->owner_first[element] != thread || k->owner_second[element] >= 0);
}

static int other_owner(const struct sync_check *k, const struct window *w, const int64_t *where,
                       int thread)
{
    int64_t element = 0;
    for (int i = 0; i < w->rank; i++)
        element = element * w->extent[i] + where[i] - w->origin[i];
    return k->owner_first[element] != thread ? k->owner_first[element] : k->owner_second[element];
}

static void owner_room(struct sync_check *k, int64_t size)
{
    if (size > k->owner_size) {
        k->owner_size = size;
        k->owner_stamp = arena_array(k->arena, int, size);
        k->owner_first = arena_array(k->arena, int, size);
        k->owner_second = arena_array(k->arena, int, size);
        k->owner_now = 0;
    }
    k->owner_now++;
}

/* Returns true if two different threads meet: either among those that surely get here, or among
 * all that may. */
static bool threads_meet(struct sync_check *k, const struct per_thread *a,
                         const struct per_thread *b, bool surely, struct meeting_at *out)
{
    struct window w;
    int64_t ignored[MAX_RANK];
    if (!window_make(k, a, b, &w))
        return !surely;
    owner_room(k, w.size);
    k->steps += k->threads / 16;
    for (int t = 0; t < k->threads; t++) {
        int64_t comes = thread_comes(a, t);
        if (comes == 0 || (surely && comes == LANE_UNKNOWN))
            continue;
        each_element(k, &w, a, t, mark_owner, ignored);
    }
    for (int t = 0; t < k->threads; t++) {
        int64_t comes = thread_comes(b, t);
        if (comes == 0 || (surely && comes == LANE_UNKNOWN))
            continue;
        if (each_element(k, &w, b, t, owned_by_other, out->at)) {
            out->thread[0] = other_owner(k, &w, out->at, t);
            out->thread[1] = t;
            return true;
        }
    }
    return false;
}

static bool unknown_starts(const struct sync_check *k, const struct per_thread *p)
{
    for (int i = 0; i < p->access->rank; i++)
        for (int t = 0; p->lane[i] && t < k->threads; t++)
            if (p->lane[i][t] == LANE_UNKNOWN && (p->mask ? p->mask[t] : p->mask_c) != 0)
                return true;
    return false;
}

static bool same_terms(struct sync_check *k, int a, int b)
{
    const struct sync_value *x = sync_value_at(k, a), *y = sync_value_at(k, b);
    return x->terms == y->terms && memcmp(x->atom, y->atom, sizeof x->atom) == 0 &&
           memcmp(x->factor, y->factor, sizeof x->factor) == 0;
}

static enum meeting per_thread_meet(struct sync_check *k, const struct sync_access *a,
                                    const struct sync_access *b, struct meeting_at *out)
{
    struct per_thread pa, pb;
    if (k->threads == 1)
        return MEET_NEVER;
    if (!per_thread_make(k, a, &pa) || !per_thread_make(k, b, &pb))
        return MEET_MAYBE;
    bool terms = false;
    for (int i = 0; i < a->rank; i++) /* most pairs differ in a stage */
        if (!pa.lane[i] && !pb.lane[i] && same_terms(k, a->start[i], b->start[i]) &&
            (pa.c[i] + a->extent[i] <= pb.c[i] || pb.c[i] + b->extent[i] <= pa.c[i]))
            return MEET_NEVER;
    for (int i = 0; i < a->rank; i++) {
        if (!same_terms(k, a->start[i], b->start[i]))
            return MEET_MAYBE;
        terms = terms || sync_value_at(k, a->start[i])->terms;
    }
    if (unknown_starts(k, &pa) || unknown_starts(k, &pb))
        return MEET_MAYBE;
    if (threads_meet(k, &pa, &pb, true, out)) {
        if (terms) /* the element is known relative to an unknown */
            out->thread[0] = out->thread[1] = -1;
        return MEET_SURE;
    }
    out->thread[0] = out->thread[1] = -1;
    return threads_meet(k, &pa, &pb, false, out) ? MEET_MAYBE : MEET_NEVER;
}

/* --- a tile operation of the whole block meets single threads --- */

static enum meeting block_meets_threads(struct sync_check *k, const struct sync_access *block,
                                        const struct sync_access *threads)
{
    struct per_thread p, q;
    if (!per_thread_make(k, threads, &p) || !per_thread_make(k, block, &q))
        return MEET_MAYBE;
    for (int i = 0; i < block->rank; i++)
        if (sync_value_at(k, block->start[i])->terms || sync_value_at(k, threads->start[i])->terms)
            return MEET_MAYBE;
    enum meeting met = MEET_NEVER;
    for (int t = 0; t < k->threads; t++) {
        int64_t comes = thread_comes(&p, t);
        bool inside = comes != 0;
        for (int i = 0; inside && i < block->rank; i++) {
            int64_t x = thread_start(&p, i, t);
            inside = x == LANE_UNKNOWN || (x < q.c[i] + block->extent[i] &&
                                           q.c[i] < sync_add_saturated(x, threads->extent[i]));
        }
        if (inside && comes == 1)
            return MEET_SURE;
        if (inside)
            met = MEET_MAYBE;
    }
    return met;
}

/* --- whether two accesses meet --- */

bool sync_access_has_lanes(struct sync_check *k, int access)
{
    while (k->access_lanes.count <= (size_t)access) {
        const struct sync_access *a = access_at(k, (int)k->access_lanes.count);
        bool lanes = sync_value_at(k, a->mask)->kind != VALUE_SUM;
        for (int i = 0; i < a->rank; i++)
            lanes = lanes || sync_value_at(k, a->start[i])->kind == VALUE_LANES;
        vec_push(k->arena, &k->access_lanes, lanes);
    }
    return k->access_lanes.data[access];
}

struct pair {
    int a, b;
};

/* Returns how threads meet, and keeps the result, because it takes long and does not depend on
 * the state. */
static enum meeting threads_meet_once(struct sync_check *k, int a, int b, bool collective,
                                      struct meeting_at *out)
{
    struct pair pair = {a, b};
    bool is_new;
    int number = sync_intern(&k->pairs, &pair, sizeof pair, &is_new);
    if (is_new) {
        const struct sync_access *x = access_at(k, a), *y = access_at(k, b);
        enum meeting met;
        if (!collective)
            met = per_thread_meet(k, x, y, out);
        else if (k->code.touches.data[x->site].collective)
            met = block_meets_threads(k, x, y);
        else
            met = block_meets_threads(k, y, x);
        vec_push(k->arena, &k->pair_results, met);
        vec_push(k->arena, &k->pair_places, *out);
        if (k->pair_places.count * sizeof *out > k->store_limit)
            k->gave_up = "too many pairs of accesses";
    }
    *out = k->pair_places.data[number];
    return k->pair_results.data[number];
}

enum meeting sync_access_meet(struct sync_check *k, const struct sync_state *s, int a, int b,
                              bool in_flight, struct meeting_at *out)
{
    const struct sync_access *x = access_at(k, a), *y = access_at(k, b);
    *out = (struct meeting_at){.thread = {-1, -1}};
    bool collective = k->code.touches.data[x->site].collective ||
                      k->code.touches.data[y->site].collective || in_flight;
    if (collective && !sync_access_has_lanes(k, a) && !sync_access_has_lanes(k, b))
        return k->threads == 1 && !in_flight ? MEET_NEVER : boxes_meet(k, s, x, y, out);
    return threads_meet_once(k, a, b, collective, out);
}
