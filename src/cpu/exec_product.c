/* Sums of products over the turns of loops, elements and lanes (compile_product.c), as products of
 * matrices.
 *
 * Each axis moves the sum or not, and each operand or not. An axis of the sum along which the left
 * operand stays is one of columns, one along which the right one stays one of rows, and an axis
 * along which the sum stays is that of the product. So the whole is c[rows][columns] += a[rows][k] ·
 * b[k][columns], by the routine for tiles, if each of these three lies as that wants it: else it is
 * packed first. Axes that do not fit are loops around it. Where both operands move with the lanes
 * there is no product of matrices, and rows of lanes are multiplied and added.
 *
 * It is done only if all that is read lies inside, so nothing can fail once it has begun.
 */
#include "cpu/program.h"

#include <stdlib.h>

enum { TURNS_AT_ONCE = 4096, LONG_ROW = 64 /* bytes */, MANY_ROWS = 6 };

/* An axis, as steps in elements of the sum and the operands. */
struct axis {
    int64_t extent, sum, x[2];
};

/* One product, all of whose places are known. */
struct product_run {
    struct frame *f;
    const struct products_detail *detail;
    const struct product *product;
    const struct product_operand *operand[2]; /* of rows, of columns */
    struct axis outer[PRODUCT_AXES], row[PRODUCT_AXES], column[PRODUCT_AXES];
    int outers, rows, columns;
    struct axis k;
    int64_t m, n;
    bool pack_sum, pack[2];
    bool lanewise;
};

struct product_start {
    unsigned char *sum;
    const unsigned char *x[2];
};

/* --- where everything lies --- */

/* The box of lanes that run. false: they are no box. */
static bool running_box(const struct frame *f, uint32_t mask, struct lane_box *box)
{
    const uint32_t *threads = f->program->threads;
    struct mask_header header;
    *box = (struct lane_box){{0, 0}, {(uint16_t)threads[0], (uint16_t)threads[1]}};
    if (!frame_mask(f, mask))
        return true;
    memcpy(&header, f->memory + mask, sizeof header);
    *box = header.box;
    return box->high[0] > 0;
}

/* How often the loop turns; -1: its counter would wrap. */
static int64_t loop_turns(const struct frame *f, const struct product_loop *l)
{
    int64_t start = *(const int32_t *)frame_at(f, l->start);
    int64_t reach = *(const int32_t *)frame_at(f, l->bound) - start + (l->inclusive ? 1 : 0);
    int64_t turns = reach <= 0 ? 0 : (reach + l->step - 1) / l->step;
    return start + turns * l->step > INT32_MAX ? -1 : turns;
}

/* The operand's steps along the axes and its first element; false: some element lies outside. */
static bool find_operand(const struct frame *f, const struct product *p,
                         const struct product_operand *o, const int64_t *low, int which,
                         struct axis *axes, const unsigned char **start)
{
    const struct access *a = o->access;
    int64_t at = 0;
    if (!a) {
        for (int j = 0; j < p->axes; j++) {
            axes[j].x[which] = o->step[0][j];
            at += low[j] * o->step[0][j];
        }
        *start = f->memory + o->at + at * o->size;
        return true;
    }
    const int64_t *extent = access_extents(f, a), *stride = access_strides(f, a);
    int64_t lane_step[3] = {(int64_t)f->program->threads[0] * f->program->threads[1],
                            f->program->threads[0], 1};
    for (int j = 0; j < p->axes; j++)
        axes[j].x[which] = j >= p->axes - 3 && a->local_lanes > 1 ? lane_step[j - p->axes + 3] : 0;
    for (int i = 0; i < a->rank; i++) {
        int64_t index = a->axis[i].kind == IX_ALL ? 0 : *(int32_t *)frame_at(f, a->axis[i].at);
        int64_t least, most;
        for (int j = 0; j < p->axes; j++)
            index += o->step[i][j] * low[j];
        least = most = index;
        for (int j = 0; j < p->axes; j++) {
            int64_t reach = o->step[i][j] * (axes[j].extent - 1);
            *(reach < 0 ? &least : &most) += reach;
        }
        if (least < 0 || most >= extent[i] || most > INT32_MAX)
            return false;
        at += index * stride[i] * a->local_lanes;
        for (int j = 0; j < p->axes; j++)
            if (axes[j].extent > 1) /* a step that is never made may be too large */
                axes[j].x[which] += o->step[i][j] * stride[i] * a->local_lanes;
    }
    if (a->local_lanes > 1)
        for (int j = 0; j < 3; j++)
            at += low[p->axes - 3 + j] * lane_step[j];
    *start = access_base(f, a) + at * o->size;
    return true;
}

enum found { FOUND_NOTHING, FOUND_OUTSIDE, FOUND_ALL };

static enum found find_product(const struct frame *f, const struct products_detail *d,
                               const struct product *p, const struct lane_box *box,
                               struct axis *axes, struct product_start *start)
{
    int64_t low[PRODUCT_AXES] = {0}, at = 0;
    for (int j = 0; j < p->axes; j++) {
        axes[j].extent = p->extent[j];
        axes[j].sum = p->sum_step[j];
        if (j < p->loops)
            axes[j].extent = loop_turns(f, &d->loop[p->loop[j]]);
        if (axes[j].extent < 0)
            return FOUND_OUTSIDE;
        if (axes[j].extent == 0)
            return FOUND_NOTHING;
    }
    for (int t = 0; t < 2; t++) {
        int j = p->axes - 1 - t;
        low[j] = box->low[t];
        axes[j].extent = box->high[t] - box->low[t];
        at += low[j] * p->sum_step[j];
    }
    start->sum = f->memory + p->sum + at * p->size;
    for (int i = 0; i < 2; i++)
        if (!find_operand(f, p, &p->operand[i], low, i, axes, &start->x[i]))
            return FOUND_OUTSIDE;
    return FOUND_ALL;
}

/* --- which product of matrices it is --- */

/* The last axes that are one axis of the sum: from which on. */
static int dense_from(const struct axis *axes, int count)
{
    int from = count > 0 ? count - 1 : 0;
    while (from > 0 && axes[from - 1].sum == axes[from].sum * axes[from].extent)
        from--;
    return from;
}

/* Do the axes move x as one axis with this innermost step (0: any)? */
static bool is_dense(const struct axis *axes, int count, int which, int64_t innermost)
{
    for (int i = count - 1; i > 0; i--)
        if (axes[i - 1].x[which] != axes[i].x[which] * axes[i].extent)
            return false;
    return count == 0 || innermost == 0 || axes[count - 1].x[which] == innermost;
}

static int64_t extents(const struct axis *axes, int count)
{
    int64_t n = 1;
    for (int i = 0; i < count; i++)
        n *= axes[i].extent;
    return n;
}

static void move_out(struct product_run *r, struct axis *axes, int *count, int from)
{
    if (from == 0)
        return;
    memcpy(&r->outer[r->outers], axes, (size_t)from * sizeof *axes);
    r->outers += from;
    memmove(axes, axes + from, (size_t)(*count - from) * sizeof *axes);
    *count -= from;
}

/* A sum that is packed may as well have its axes in the operand's order. */
static void sort_by_operand(struct axis *axes, int count, int which)
{
    for (int i = 1; i < count; i++)
        for (int j = i; j > 0 && llabs(axes[j - 1].x[which]) < llabs(axes[j].x[which]); j--) {
            struct axis swapped = axes[j];
            axes[j] = axes[j - 1];
            axes[j - 1] = swapped;
        }
}

/* Axes that the sum does not cross evenly are loops around, or the sum is packed. */
static void settle_sum(struct product_run *r)
{
    int row = dense_from(r->row, r->rows), column = dense_from(r->column, r->columns);
    int64_t m = extents(r->row + row, r->rows - row);
    int64_t n = extents(r->column + column, r->columns - column);
    bool unit = r->columns == 0 || r->column[r->columns - 1].sum == 1;
    bool wide = column == 0 || n * r->product->size >= LONG_ROW, tall = row == 0 || m >= MANY_ROWS;
    r->pack_sum = !(unit && wide && tall);
    if (!r->pack_sum) {
        move_out(r, r->row, &r->rows, row);
        move_out(r, r->column, &r->columns, column);
    } else {
        sort_by_operand(r->row, r->rows, 0);
        sort_by_operand(r->column, r->columns, 1);
    }
    r->m = extents(r->row, r->rows);
    r->n = extents(r->column, r->columns);
}

/* The axes of extent 1 are none. Which operand has the columns is up to the last axis. */
static void sort_axes(struct product_run *r, const struct axis *axes, int count)
{
    int last = count - 1, k = -1;
    while (last > 0 && axes[last].extent == 1)
        last--;
    bool swapped = axes[last].x[0] != 0 && axes[last].x[1] == 0;
    for (int j = 0; j < r->product->loops; j++)
        if (axes[j].sum == 0 && axes[j].extent > 1)
            k = j;
    r->k = (struct axis){.extent = 1};
    for (int i = 0; i < 2; i++)
        r->operand[i] = &r->product->operand[swapped ? 1 - i : i];
    for (int j = 0; j < count; j++) {
        struct axis axis = axes[j];
        if (swapped) {
            axis.x[0] = axes[j].x[1];
            axis.x[1] = axes[j].x[0];
        }
        if (axis.extent == 1)
            continue;
        if (j == k)
            r->k = axis;
        else if (axis.sum == 0 || (axis.x[0] != 0 && axis.x[1] != 0))
            r->outer[r->outers++] = axis;
        else if (axis.x[0] == 0)
            r->column[r->columns++] = axis;
        else
            r->row[r->rows++] = axis;
        r->lanewise |= j == last && axis.sum != 0 && axis.x[0] != 0 && axis.x[1] != 0;
    }
}

static void settle_operands(struct product_run *r)
{
    bool backward = r->rows > 0 && r->row[r->rows - 1].x[0] < 0;
    r->pack[0] = r->operand[0]->convert || (r->k.extent > 1 && r->k.x[0] != 1) || backward ||
                 !is_dense(r->row, r->rows, 0, 0);
    r->pack[1] = r->operand[1]->convert || r->k.x[1] < 0 || !is_dense(r->column, r->columns, 1, 1);
}

/* --- doing it --- */

/* dst dense [axes] and src by steps, or the other way. */
static void nest_of_sum(struct nest *nest, const struct product_run *r)
{
    int64_t at = r->m * r->n;
    nest->rank = 0;
    for (int group = 0; group < 2; group++)
        for (int i = 0; i < (group ? r->columns : r->rows); i++) {
            const struct axis *axis = group ? &r->column[i] : &r->row[i];
            at /= axis->extent;
            nest_add(nest, axis->extent, at, axis->sum, true);
        }
    nest_settle(nest);
}

static void move_sum(const struct product_run *r, unsigned char *sum, unsigned char *panel,
                     bool out)
{
    copy_fn *copy = r->f->program->set->memory->copy_once[r->product->size_index];
    struct nest nest;
    nest_of_sum(&nest, r);
    if (out) {
        struct nest turned = nest;
        memcpy(turned.dst, nest.src, sizeof turned.dst);
        memcpy(turned.src, nest.dst, sizeof turned.src);
        copy(sum, panel, &turned);
    } else {
        copy(panel, sum, &nest);
    }
}

/* An operand's elements for `turns` of k, dense: rows [m][turns], columns [turns][n]. */
static const unsigned char *pack(const struct product_run *r, int which, const unsigned char *from,
                                 int64_t turns)
{
    const struct product_operand *o = r->operand[which];
    struct frame *f = r->f;
    unsigned char *panel = frame_at(f, r->detail->panel[which]);
    unsigned char *raw = o->convert ? frame_at(f, r->detail->panel[3]) : panel;
    const struct axis *axes = which ? r->column : r->row;
    int count = which ? r->columns : r->rows;
    int64_t all = (which ? r->n : r->m) * turns, at = which ? r->n : all;
    struct nest nest;
    nest.rank = 0;
    if (which)
        nest_add(&nest, turns, r->n, r->k.x[1], true);
    for (int i = 0; i < count; i++) {
        at /= axes[i].extent;
        nest_add(&nest, axes[i].extent, at, axes[i].x[which], true);
    }
    if (!which)
        nest_add(&nest, turns, 1, r->k.x[0], true);
    nest_settle(&nest);
    f->program->set->memory->copy_once[o->size_index](raw, from, &nest);
    if (o->convert)
        o->convert(panel, raw, (size_t)all);
    return panel;
}

/* Turns of k that the panels have room for. */
static int64_t turns_at_once(const struct product_run *r)
{
    int64_t most = TURNS_AT_ONCE, room = r->detail->room;
    if (r->pack[0] && room / r->m < most)
        most = room / r->m;
    if (r->pack[1] && room / r->n < most)
        most = room / r->n;
    return most;
}

static void multiply(const struct product_run *r, const struct product_start *s)
{
    struct frame *f = r->f;
    unsigned char *sum = r->pack_sum ? frame_at(f, r->detail->panel[2]) : s->sum;
    int64_t ldc = r->pack_sum || r->rows == 0 ? r->n : r->row[r->rows - 1].sum;
    int64_t most = turns_at_once(r);
    if (r->pack_sum)
        move_sum(r, s->sum, sum, false);
    for (int64_t p = 0; p < r->k.extent && f->state == FRAME_READY; p += most) {
        int64_t turns = r->k.extent - p < most ? r->k.extent - p : most;
        const unsigned char *a = s->x[0] + p * r->k.x[0] * r->operand[0]->size;
        const unsigned char *b = s->x[1] + p * r->k.x[1] * r->operand[1]->size;
        int64_t lda = r->rows > 0 ? r->row[r->rows - 1].x[0] : 0, ldb = r->k.x[1];
        if (r->pack[0]) {
            a = pack(r, 0, a, turns);
            lda = turns;
        }
        if (r->pack[1]) {
            b = pack(r, 1, b, turns);
            ldb = r->n;
        }
        const struct dot_strides strides = {(size_t)ldc, (size_t)lda, (size_t)ldb,
                                            r->product->width};
        r->product->dot(sum, a, b, (size_t)r->m, (size_t)r->n, (size_t)turns, &strides);
        if (--f->until_poll <= 0)
            frame_poll(f);
    }
    if (r->pack_sum)
        move_sum(r, s->sum, sum, true);
}

/* Both operands move along the last axis: rows of lanes. */
static const unsigned char *lane_row(const struct product_run *r, int which,
                                     const unsigned char *from, const struct axis *last)
{
    const struct product_operand *o = r->operand[which];
    struct frame *f = r->f;
    if (last->x[which] == 1 && !o->convert)
        return from;
    unsigned char *panel = frame_at(f, r->detail->panel[which]);
    unsigned char *raw = o->convert ? frame_at(f, r->detail->panel[3]) : panel;
    struct nest nest = {1, {last->extent}, {1}, {last->x[which]}};
    f->program->set->memory->copy[o->size_index](raw, from, &nest);
    if (o->convert)
        o->convert(panel, raw, (size_t)last->extent);
    return panel;
}

static void multiply_lanes(const struct product_run *r, const struct product_start *s,
                           const struct axis *last)
{
    const unsigned char *a = s->x[0], *b = s->x[1];
    copy_fn *copy = r->f->program->set->memory->copy[r->product->size_index];
    struct nest in = {1, {last->extent}, {1}, {last->sum}};
    struct nest out = {1, {last->extent}, {last->sum}, {1}};
    unsigned char *sum = last->sum == 1 ? s->sum : frame_at(r->f, r->detail->panel[2]);
    if (sum != s->sum)
        copy(sum, s->sum, &in);
    for (int64_t p = 0; p < r->k.extent; p++) {
        r->product->fma(sum, lane_row(r, 0, a, last), lane_row(r, 1, b, last), sum,
                        (size_t)last->extent);
        a += r->k.x[0] * r->operand[0]->size;
        b += r->k.x[1] * r->operand[1]->size;
    }
    if (sum != s->sum)
        copy(s->sum, sum, &out);
}

/* The loops around, the outermost first. */
static void run_outer(const struct product_run *r, int level, struct product_start s)
{
    int loops = r->lanewise ? r->outers - 1 : r->outers;
    if (level == loops) {
        if (r->lanewise)
            multiply_lanes(r, &s, &r->outer[loops]);
        else
            multiply(r, &s);
        return;
    }
    const struct axis *axis = &r->outer[level];
    for (int64_t i = 0; i < axis->extent; i++) {
        run_outer(r, level + 1, s);
        s.sum += axis->sum * r->product->size;
        for (int x = 0; x < 2; x++)
            s.x[x] += axis->x[x] * r->operand[x]->size;
    }
}

static void run_product(struct frame *f, const struct products_detail *d, const struct product *p,
                        const struct axis *axes, const struct product_start *start)
{
    struct product_run r; /* most of it is never touched */
    r.f = f;
    r.detail = d;
    r.product = p;
    r.outers = r.rows = r.columns = 0;
    r.lanewise = false;
    sort_axes(&r, axes, p->axes);
    struct product_start s = *start;
    if (r.operand[0] != &p->operand[0]) {
        s.x[0] = start->x[1];
        s.x[1] = start->x[0];
    }
    if (r.lanewise) {
        /* rows and columns are loops around, too */
        struct axis last = r.outer[--r.outers];
        move_out(&r, r.row, &r.rows, r.rows);
        move_out(&r, r.column, &r.columns, r.columns);
        r.outer[r.outers++] = last;
    } else {
        settle_sum(&r);
        settle_operands(&r);
    }
    run_outer(&r, 0, s);
}

enum { MOST_PRODUCTS = 8 };

void step_products(struct frame *f, const struct instr *in)
{
    const struct products_detail *d = in->detail;
    struct axis axes[MOST_PRODUCTS][PRODUCT_AXES];
    struct product_start start[MOST_PRODUCTS];
    enum found found[MOST_PRODUCTS];
    struct lane_box box;
    if (f->copy_count > 0 || !running_box(f, in->mask, &box))
        return;
    for (int i = 0; i < d->count; i++) {
        found[i] = find_product(f, d, &d->product[i], &box, axes[i], &start[i]);
        if (found[i] == FOUND_OUTSIDE)
            return;
    }
    for (int i = 0; i < d->count; i++)
        if (found[i] == FOUND_ALL)
            run_product(f, d, &d->product[i], axes[i], &start[i]);
    f->pc = in->n;
}
