/* Rows of views that are read in place, and chains over one row. A chain's details are sorted
 * for this case: the leaves that move come first, so the step looks up little. */
#include "cpu/strips.h"

#include <string.h>

void step_show_row(struct frame *f, const struct instr *in)
{
    const struct access *a = in->detail;
    unsigned char **row = frame_at(f, in->a), *own = frame_at(f, in->dst), *there;
    struct box box;
    *row = there = exec_row_in_view(f, a);
    if (!there) {
        if (!exec_access_box(f, a, in->loc, &box))
            return;
        exec_box_load(f, a, &box, own, a->otherwise == NO_SLOT ? NULL : frame_at(f, a->otherwise));
        *row = own;
        there = box.empty ? NULL : exec_box_start(f, a, &box);
    }
    if (a->prefetch != NO_SLOT && there)
        exec_note_row(f, a->prefetch, there, (size_t)a->elements * a->size);
}

void step_row_load(struct frame *f, const struct instr *in)
{
    const unsigned char **row = frame_at(f, in->a), *own = frame_at(f, in->dst);
    if (*row != own)
        memcpy(frame_at(f, in->dst), *row, in->n);
    *row = own;
}

void step_reduce_row(struct frame *f, const struct instr *in)
{
    const struct reduce_detail *d = in->detail;
    const void *const *row = frame_at(f, in->a);
    if (f->has_ahead)
        exec_fetch_ahead(f);
    d->reduce(f->memory + in->dst, *row, d->outer, d->n, d->inner);
}

/* Finds the addresses of the chain's rows of views. false: some row is not complete, or overlaps
 * the memory that the chain stores to. */
static bool find_rows(const struct frame *f, const struct strip_detail *d, unsigned char **p)
{
    for (int i = 0; i < d->rows; i++) {
        const struct strip_leaf *leaf = &d->leaf[i];
        unsigned char *row;
        if (leaf->shown) {
            memcpy(&row, frame_at(f, leaf->at), sizeof row);
        } else {
            row = exec_row_in_view(f, leaf->load);
            if (!row || target_overlaps(f, d, row, (size_t)d->extent[0] * leaf->size))
                return false;
        }
        p[leaf->slot] = row;
    }
    return true;
}

/* Returns the address of the row that is stored, if it is complete and contiguous in memory and
 * the store has no other duty (noting tiles); else NULL. */
static unsigned char *find_target(const struct frame *f, const struct strip_detail *d)
{
    return f->program->packed_count > 0 ? NULL : exec_row_in_view(f, d->store);
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

/* Runs the operations on a strip that is stored. Slot 0 has a buffer; the strip's result goes
 * directly to memory if the last operation can write there. */
static void store_strip(struct frame *f, const struct strip_detail *d, unsigned char **p,
                        unsigned char *to, size_t count)
{
    bool past = d->stream && f->launch->views[d->store->view].large;
    if (d->ops > 0 && (d->has_past || !past)) {
        exec_run_ops(f, d, d->ops - 1, p, count);
        exec_run_last(f, d, p, &(struct strip_part){to, 0, count, past});
        return;
    }
    exec_run_ops(f, d, d->ops, p, count);
    if (past)
        f->program->set->stream->copy(to, p[d->last], count * d->size);
    else
        memcpy(to, p[d->last], count * d->size);
}

void exec_row_chain_open(struct frame *f, const struct strip_detail *d)
{
    unsigned char **p = frame_at(f, d->slots_at);
    for (int i = 0; i < d->slots; i++)
        p[i] = frame_at(f, d->at[i]);
}

void step_row(struct frame *f, const struct instr *in)
{
    const struct strip_detail *d = in->detail;
    _Alignas(SLOT_ALIGNMENT) unsigned char part[REDUCTION_PARTS * 8];
    unsigned char *to = d->store ? find_target(f, d) : frame_at(f, in->dst);
    unsigned char **p = frame_at(f, d->slots_at), *moved[STRIP_SLOTS];
    size_t n = (size_t)d->extent[0], count;
    if (!to || !find_rows(f, d, p)) {
        step_strips(f, in);
        return;
    }
    if (d->fills)
        fill_spread(f, d, p, n < ROW_STRIP ? n : ROW_STRIP);
    if (n > ROW_STRIP)
        p = memcpy(moved, p, (size_t)d->slots * sizeof *p);
    for (size_t first = 0; first < n; first += count) {
        count = n - first < ROW_STRIP ? n - first : ROW_STRIP;
        if (d->store) {
            store_strip(f, d, p, to + first * d->size, count);
        } else {
            p[0] = to + first * d->size;
            exec_run_ops(f, d, d->ops, p, count);
        }
        if (d->reduce)
            exec_reduce_row(f, d, p, &(struct row_part){n, first, count, part}, to);
        for (int i = 0; i < d->moving && count < n; i++)
            p[d->leaf[i].slot] += count * d->leaf[i].size;
    }
}

void step_row_map(struct frame *f, const struct instr *in)
{
    const struct strip_detail *d = in->detail;
    const struct routine_set *set = f->program->set;
    unsigned char **p = frame_at(f, d->slots_at), *row = frame_at(f, in->dst);
    void *sum = frame_at(f, in->a);
    size_t n = (size_t)d->extent[0];
    struct powers_seen seen;
    if (find_rows(f, d, p)) {
        const void *ahead = f->has_ahead ? exec_take_ahead(f, n * d->size) : NULL;
        routine_row_map(set, in->b, n)(sum, row, p[d->op->x[0]], p[d->op->x[1]], ahead, &seen, n);
        return;
    }
    step_strips(f, in);
    if (in->b == ROW_POWERS)
        set->reduce->reduce[REDUCTION_SUM][COMPUTE_F32](sum, row, 1, n, 1);
    else
        set->reduce->f32_sum_of_products(sum, row, row, n);
}
