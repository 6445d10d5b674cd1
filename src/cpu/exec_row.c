/* Rows of views: read where they lie, and chains over one row, in whose order all that moves lies,
 * so that little is to be looked up. */
#include "cpu/exec_access.h"
#include "cpu/strips.h"

#include <string.h>

/* --- rows of views --- */

unsigned char *row_in_view(const struct frame *f, const struct access *a)
{
    const struct view_binding *view = &f->launch->views[a->view];
    int64_t offset = 0;
    for (int i = 0; i < a->rank; i++) {
        const struct access_axis *axis = &a->axis[i];
        int64_t start =
            axis->kind == IX_ALL ? 0 : index_value(frame_at(f, axis->at), axis->wide, 0);
        if (start < 0 || axis->extent <= 0 || axis->extent > view->extent[i] - start)
            return NULL;
        offset += start * view->stride[i];
    }
    return view->stride[a->rank - 1] == 1 ? view->base + offset * (int64_t)a->size : NULL;
}

void step_show_row(struct frame *f, const struct instr *in)
{
    const struct access *a = in->detail;
    unsigned char **row = frame_at(f, in->a), *own = frame_at(f, in->dst), *there;
    struct box box;
    *row = there = row_in_view(f, a);
    if (!there) {
        if (!access_box(f, a, in->loc, &box))
            return;
        box_load(f, a, &box, own, a->otherwise == NO_SLOT ? NULL : frame_at(f, a->otherwise));
        *row = own;
        there = box.empty ? NULL : box_start(f, a, &box);
    }
    if (a->prefetch != NO_SLOT && there)
        note_row(f, a->prefetch, there, (size_t)a->elements * a->size);
}

void step_row_load(struct frame *f, const struct instr *in)
{
    const unsigned char **row = frame_at(f, in->a), *own = frame_at(f, in->dst);
    if (*row != own)
        memcpy(frame_at(f, in->dst), *row, in->n);
    *row = own;
}

/* --- a chain --- */

/* Where the chain's rows of views lie. false: not all of them are there as a whole. */
static bool find_rows(const struct frame *f, const struct strip_detail *d, unsigned char **p)
{
    for (int i = 0; i < d->rows; i++) {
        const struct strip_leaf *leaf = &d->leaf[i];
        unsigned char *row;
        if (leaf->shown)
            memcpy(&row, frame_at(f, leaf->at), sizeof row);
        else if (!(row = row_in_view(f, leaf->load)))
            return false;
        p[leaf->slot] = row;
    }
    return true;
}

static void fill_spread(const struct frame *f, const struct strip_detail *d,
                        unsigned char *const *p, size_t n)
{
    for (int i = d->moving; i < d->leaves; i++) {
        const struct strip_leaf *leaf = &d->leaf[i];
        if (leaf->way == LEAF_FIXED)
            leaf->fill(p[leaf->slot], frame_at(f, leaf->at), n);
    }
}

void step_row(struct frame *f, const struct instr *in)
{
    const struct strip_detail *d = in->detail;
    _Alignas(SLOT_ALIGNMENT) unsigned char part[REDUCTION_PARTS * 8];
    unsigned char *p[STRIP_SLOTS], *to = frame_at(f, in->dst);
    unsigned char *target = d->late ? row_in_view(f, d->store) : NULL;
    size_t n = (size_t)d->extent[0], count;
    for (int i = 1; i < d->slots; i++)
        p[i] = frame_at(f, d->at[i]);
    if ((d->late && !target) || !find_rows(f, d, p)) {
        step_strips(f, in);
        return;
    }
    if (d->moving < d->leaves)
        fill_spread(f, d, p, n < STRIP ? n : STRIP);
    p[0] = to;
    for (size_t first = 0; first < n; first += STRIP) {
        count = n - first < STRIP ? n - first : STRIP;
        if (d->late)
            settle_up_to(f, p[0] + count * d->size);
        run_ops(f, d, p, count);
        if (d->reduce && n < STRIP)
            d->reduce(to, p[d->last], 1, n, 1);
        else if (d->reduce)
            reduce_row(f, d, p, &(struct row_part){n, first, count, part}, to);
        else
            p[0] += count * d->size;
        for (int i = 0; i < d->moving; i++)
            p[d->leaf[i].slot] += count * d->leaf[i].size;
    }
    if (target && d->stream && f->launch->views[d->store->view].large)
        store_beside(f, target, to, n * d->size);
    else if (target)
        memcpy(target, to, n * d->size);
}
