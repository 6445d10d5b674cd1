/* The lines that the blocks of a grid touch in L2, derived from blocks that were run: for each
 * set, the pieces of its first block, and how they move along the axes of the grid. */
#include "model/caches.h"

#include <math.h>
#include <string.h>

void model_l2_pieces_take(struct l2_grid *g, const int64_t at[3], const struct l1_result *l1)
{
    int set = at[2] < g->sets ? (int)at[2] : g->sets - 1;
    int64_t from[3] = {at[0], at[1], at[2] - set};
    int axis = -1; /* axis between it and the first block of its set; -1: it is the first block */
    for (int i = 0; i < 3; i++) {
        if (from[i] && axis >= 0) /* several axes differ, so it does not tell the step of one */
            return;
        axis = from[i] ? i : axis;
    }
    for (int s = 0; s < TIME_SLICES; s++)
        for (int i = 0; i < MOST_ARRAYS; i++) {
            struct l2_piece *p = &g->pieces[set][s][i];
            const struct touched *t = &l1->touched[s][i];
            if (axis < 0)
                *p = (struct l2_piece){.base = t->base, .loaded = t->loaded, .stored = t->stored};
            else if (p->base && t->base)
                p->step[axis] = ((int64_t)t->base - (int64_t)p->base) / from[axis];
        }
}

/* Takes the steps along an axis from a set's own blocks, or else from the first set. */
static void share_steps(struct l2_grid *g)
{
    for (int set = 1; set < g->sets; set++)
        for (int s = 0; s < TIME_SLICES; s++)
            for (int i = 0; i < MOST_ARRAYS; i++)
                for (int axis = 0; axis < 2; axis++)
                    if (g->pieces[set][s][i].step[axis] == 0)
                        g->pieces[set][s][i].step[axis] = g->pieces[0][s][i].step[axis];
}

/* The lines of an array that a set's blocks touch in all of their slices. */
struct whole_piece {
    struct l2_piece all;
    int first_load, last_store; /* slices */
};

static struct whole_piece whole_piece(const struct l2_grid *g, int set, int array)
{
    struct whole_piece w = {.first_load = -1};
    for (int s = 0; s < TIME_SLICES; s++) {
        const struct l2_piece *x = &g->pieces[set][s][array];
        w.all.loaded += x->loaded;
        w.all.stored += x->stored;
        if (x->base && (!w.all.base || x->base < w.all.base))
            w.all.base = x->base;
        for (int axis = 0; axis < 3; axis++)
            w.all.step[axis] = w.all.step[axis] ? w.all.step[axis] : x->step[axis];
        w.first_load = w.first_load < 0 && x->loaded > 0 ? s : w.first_load;
        w.last_store = x->stored > 0 ? s : w.last_store;
    }
    return w;
}

static void put_whole(struct l2_grid *g, int set, int array, const struct whole_piece *w)
{
    for (int s = 0; s < TIME_SLICES; s++) {
        struct l2_piece *x = &g->pieces[set][s][array];
        *x = (struct l2_piece){0};
        if (s == w->first_load || (s == w->last_store && w->all.stored > 0))
            *x = w->all;
        x->loaded = s == w->first_load ? x->loaded : 0;
        x->stored = s == w->last_store ? x->stored : 0;
    }
}

/* Joins data that blocks pass on to others, such as partial sums, into one piece: each block
 * loads and stores it once, though in other slices than the next block loads it. The block that
 * loads it waits until it is stored. */
static void join_passed(struct l2_grid *g)
{
    for (int i = 0; i < MOST_ARRAYS; i++) {
        struct l2_piece most = {0}, first = whole_piece(g, 0, i).all;
        int last_store = 0;
        for (int set = 0; set < g->sets; set++) {
            struct whole_piece w = whole_piece(g, set, i);
            most.loaded = fmax(w.all.loaded, most.loaded);
            most.stored = fmax(w.all.stored, most.stored);
            last_store = w.last_store > last_store ? w.last_store : last_store;
        }
        if (most.loaded == 0 || most.stored == 0 || most.loaded > 1.5 * most.stored)
            continue;
        for (int set = 0; set < g->sets; set++) {
            struct whole_piece w = whole_piece(g, set, i);
            memcpy(w.all.step, first.step, sizeof first.step);
            if (w.first_load >= 0 && w.first_load < last_store)
                w.first_load = last_store;
            put_whole(g, set, i, &w);
        }
    }
}

void model_l2_pieces_finish(struct l2_grid *g)
{
    share_steps(g);
    join_passed(g);
}
