/* Sums of products over the turns of loops, elements and lanes (compile_product.c), as products of
 * matrices.
 *
 * Each axis moves the sum or not, and each operand or not. An axis of the sum that does not move
 * the left operand is an axis of columns; one that does not move the right operand is an axis of
 * rows; an axis that does not move the sum is the axis k of the product. So the whole is
 *   c[rows][columns] += a[rows][k] · b[k][columns],
 * by the routine for tiles. Each of the three is packed first unless it is laid out as the routine
 * requires. Axes that do not fit are loops around the product. If both operands move with the lanes
 * there is no product of matrices, and rows of lanes are multiplied and added.
 *
 * The step does the work only if all elements it reads are inside, so nothing can fail once it has
 * begun. */
#include "cpu/routines/lane_product.h"

#include <stdlib.h>

enum { TURNS_AT_ONCE = 4096, LONG_ROW = 64 /* bytes */, MANY_ROWS = 6 };
enum { FEW_COLUMNS = 64, AHEAD = 8192 /* bytes */ };

/* An axis: its extent, and the steps of the sum and the operands in elements. */
struct axis {
    int64_t extent, sum, x[2];
};

/* The product of matrices that a sum becomes. It is the same for all blocks of a launch, except
 * for the turns of k and for boxes of fewer lanes. */
struct product_plan {
    const struct lane_product *product;
    const struct product_operand *operand[2]; /* the operand of rows, that of columns */
    struct axis outer[PRODUCT_AXES], row[PRODUCT_AXES], column[PRODUCT_AXES], k;
    int outers, rows, columns;
    int64_t m, n;
    bool pack_sum, pack[2];
    bool lanewise;
    /* Only in plans of a launch: */
    bool usable;
    int k_axis;                                  /* -1: none */
    int64_t low[2][MAX_RANK], high[2][MAX_RANK]; /* for each operand, the reach of its indices
                                                  * along all axes except k */
};

/* A plan while it runs. */
struct product_run {
    struct frame *f;
    const struct products_detail *detail;
    const struct product_plan *plan;
    int64_t turns; /* turns of k */
};

struct product_start {
    unsigned char *sum;
    const unsigned char *x[2];
};

/* --- places of the sum and the operands --- */

/* Finds the box of lanes that run. false: they do not form a box. */
static bool running_box(const struct frame *f, uint32_t mask, struct lane_box *box)
{
    const uint32_t *threads = f->program->threads;
    *box = (struct lane_box){{0, 0}, {(uint16_t)threads[0], (uint16_t)threads[1]}};
    if (!frame_mask(f, mask))
        return true;
    *box = frame_mask_header(f, mask).box;
    return box->high[0] > 0;
}

/* Returns the number of turns, as counted_turns does. */
static int64_t loop_turns(const struct frame *f, const struct product_loop *l)
{
    return counted_turns(*(const int32_t *)frame_at(f, l->start),
                         *(const int32_t *)frame_at(f, l->bound), l->step, l->inclusive);
}

/* Computes the operand's steps along the axes. */
static void lay_steps(const struct launch_state *l, const struct lane_product *p, int which,
                      struct axis *axes)
{
    const struct product_operand *o = &p->operand[which];
    const struct access *a = o->access;
    int64_t lanes[3];
    lane_steps(l->program, lanes);
    for (int j = 0; j < p->axes; j++)
        axes[j].x[which] = a ? 0 : o->step[0][j];
    for (int j = 0; a && j < 3 && a->local_lanes > 1; j++)
        axes[p->axes - 3 + j].x[which] = lanes[j];
    for (int i = 0; a && i < a->rank; i++) {
        int64_t stride = a->space == SPACE_VIEW ? l->views[a->view].stride[i] : a->stride[i];
        for (int j = 0; j < p->axes; j++)
            if (axes[j].extent != 1) /* a step that is never taken may be too large */
                axes[j].x[which] += (int64_t)((uint64_t)o->step[i][j] * (uint64_t)stride *
                                              (uint64_t)a->local_lanes);
    }
}

static int64_t index_now(const struct frame *f, const struct access *a, int i)
{
    return a->axis[i].kind == IX_ALL ? 0 : *(const int32_t *)frame_at(f, a->axis[i].at);
}

static bool lies_inside(int64_t least, int64_t most, int64_t extent)
{
    return least >= 0 && most < extent && most <= INT32_MAX;
}

/* Computes the reach of index i from its value at the first element, along all axes except one
 * (-1: along all). */
static void reach(const struct lane_product *p, const struct product_operand *o, int i,
                  const struct axis *axes, int but, int64_t *low, int64_t *high)
{
    *low = *high = 0;
    for (int j = 0; j < p->axes; j++) {
        int64_t far = j == but ? 0 : o->step[i][j] * (axes[j].extent - 1);
        *(far < 0 ? low : high) += far;
    }
}

/* Returns the operand's first element, if the lanes begin at `first`; NULL: some element is
 * outside. */
static const unsigned char *find_operand(const struct frame *f, const struct lane_product *p,
                                         const struct product_operand *o, const int64_t *first,
                                         const struct axis *axes)
{
    const struct access *a = o->access;
    int64_t at = 0, lanes[3];
    for (int j = 0; !a && j < 3; j++)
        at += first[j] * o->step[0][p->axes - 3 + j];
    if (!a)
        return f->memory + o->at + at * o->size;
    const int64_t *extent = exec_access_extents(f, a), *stride = exec_access_strides(f, a);
    lane_steps(f->program, lanes);
    for (int i = 0; i < a->rank; i++) {
        int64_t index = index_now(f, a, i), low, high;
        for (int j = 0; j < 3; j++)
            index += o->step[i][p->axes - 3 + j] * first[j];
        reach(p, o, i, axes, -1, &low, &high);
        if (!lies_inside(index + low, index + high, extent[i]))
            return NULL;
        at += index * stride[i] * a->local_lanes;
    }
    for (int j = 0; j < 3 && a->local_lanes > 1; j++)
        at += first[j] * lanes[j];
    return exec_access_base(f, a) + at * o->size;
}

enum found { FOUND_NOTHING, FOUND_OUTSIDE, FOUND_ALL };

static enum found find_product(const struct frame *f, const struct products_detail *d,
                               const struct lane_product *p, const struct lane_box *box,
                               struct axis *axes, struct product_start *start)
{
    int64_t first[3] = {0, box->low[1], box->low[0]}, at = 0;
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
        axes[j].extent = box->high[t] - box->low[t];
        at += box->low[t] * p->sum_step[j];
    }
    start->sum = f->memory + p->sum + at * p->size;
    for (int i = 0; i < 2; i++) {
        start->x[i] = find_operand(f, p, &p->operand[i], first, axes);
        if (!start->x[i])
            return FOUND_OUTSIDE;
        lay_steps(f->launch, p, i, axes);
    }
    return FOUND_ALL;
}

/* --- from axes to a product of matrices --- */

/* Returns the first of the last axes that together are one axis of the sum. */
static int dense_from(const struct axis *axes, int count)
{
    int from = count > 0 ? count - 1 : 0;
    while (from > 0 && axes[from - 1].sum == axes[from].sum * axes[from].extent)
        from--;
    return from;
}

/* Returns whether the axes move operand `which` like one axis with this innermost step (0: any). */
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

static void move_out(struct product_plan *r, struct axis *axes, int *count, int from)
{
    if (from == 0)
        return;
    memcpy(&r->outer[r->outers], axes, (size_t)from * sizeof *axes);
    r->outers += from;
    memmove(axes, axes + from, (size_t)(*count - from) * sizeof *axes);
    *count -= from;
}

/* Puts the axes in the operand's order; the order is free if the sum is packed. */
static void sort_by_operand(struct axis *axes, int count, int which)
{
    for (int i = 1; i < count; i++)
        for (int j = i; j > 0 && llabs(axes[j - 1].x[which]) < llabs(axes[j].x[which]); j--) {
            struct axis swapped = axes[j];
            axes[j] = axes[j - 1];
            axes[j - 1] = swapped;
        }
}

/* Decides about axes that the sum does not cross evenly: they become loops around the product,
 * or the sum is packed. */
static void settle_sum(struct product_plan *r)
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

/* Sorts the axes into rows, columns, k and outer loops; axes of extent 1 are dropped. The last
 * axis decides which operand has the columns. */
static void sort_axes(struct product_plan *r, const struct axis *axes, int count)
{
    int last = count - 1;
    while (last > 0 && axes[last].extent == 1)
        last--;
    bool swapped = axes[last].x[0] != 0 && axes[last].x[1] == 0;
    for (int j = 0; j < r->product->loops; j++)
        if (axes[j].sum == 0 && axes[j].extent != 1)
            r->k_axis = j;
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
        if (j == r->k_axis)
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

static void settle_operands(struct product_plan *r)
{
    bool backward = r->rows > 0 && r->row[r->rows - 1].x[0] < 0;
    r->pack[0] = r->operand[0]->convert || (r->k.extent != 1 && r->k.x[0] != 1) || backward ||
                 !is_dense(r->row, r->rows, 0, 0);
    r->pack[1] = r->operand[1]->convert || r->k.x[1] < 0 || !is_dense(r->column, r->columns, 1, 1);
}

/* Makes the plan. An extent of 0 in `axes` means that it is not known; only k may have it. */
static void make_plan(struct product_plan *r, const struct lane_product *p, const struct axis *axes)
{
    r->product = p;
    r->outers = r->rows = r->columns = 0;
    r->k_axis = -1;
    r->lanewise = r->usable = false;
    sort_axes(r, axes, p->axes);
    if (r->lanewise) { /* rows and columns are outer loops, too */
        struct axis last = r->outer[--r->outers];
        move_out(r, r->row, &r->rows, r->rows);
        move_out(r, r->column, &r->columns, r->columns);
        r->outer[r->outers++] = last;
    } else {
        settle_sum(r);
        settle_operands(r);
    }
}

/* --- doing it --- */

/* Makes the nest that copies between the sum and a dense panel [axes]: dst is the panel, src the
 * sum; the caller may exchange them. */
static void nest_of_sum(struct nest *nest, const struct product_run *r)
{
    int64_t at = r->plan->m * r->plan->n;
    nest->rank = 0;
    for (int group = 0; group < 2; group++)
        for (int i = 0; i < (group ? r->plan->columns : r->plan->rows); i++) {
            const struct axis *axis = group ? &r->plan->column[i] : &r->plan->row[i];
            at /= axis->extent;
            exec_nest_add(nest, axis->extent, at, axis->sum, true);
        }
    exec_nest_settle(nest);
}

static void move_sum(const struct product_run *r, unsigned char *sum, unsigned char *panel,
                     bool out)
{
    copy_fn *copy = r->f->program->set->memory->copy_once[r->plan->product->size_index];
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

/* Copies the n elements of a nest, dense and converted to the sum's type, to the operand's
 * panel. */
static const unsigned char *gather(const struct product_run *r, int which,
                                   const unsigned char *from, const struct nest *nest, int64_t n)
{
    const struct product_operand *o = r->plan->operand[which];
    unsigned char *panel = frame_at(r->f, r->detail->panel[which]);
    unsigned char *raw = o->convert ? frame_at(r->f, r->detail->panel[3]) : panel;
    r->f->program->set->memory->copy_once[o->size_index](raw, from, nest);
    if (o->convert)
        o->convert(panel, raw, (size_t)n);
    return panel;
}

/* Copies an operand's elements for `turns` turns of k: rows to [m][turns], columns to
 * [turns][n]. */
static const unsigned char *gather_turns(const struct product_run *r, int which,
                                         const unsigned char *from, int64_t turns)
{
    const struct axis *axes = which ? r->plan->column : r->plan->row;
    int count = which ? r->plan->columns : r->plan->rows;
    int64_t all = (which ? r->plan->n : r->plan->m) * turns, at = which ? r->plan->n : all;
    struct nest nest;
    nest.rank = 0;
    if (which)
        exec_nest_add(&nest, turns, r->plan->n, r->plan->k.x[1], true);
    for (int i = 0; i < count; i++) {
        at /= axes[i].extent;
        exec_nest_add(&nest, axes[i].extent, at, axes[i].x[which], true);
    }
    if (!which)
        exec_nest_add(&nest, turns, 1, r->plan->k.x[0], true);
    exec_nest_settle(&nest);
    return gather(r, which, from, &nest, all);
}

/* Finds a routine for few rows that reads rows of columns in place, whole, converted from f16 if
 * necessary. The routine for tiles reads pieces of them, one panel after another, which is slow if
 * the rows are in memory. NULL: there is none. */
static dot_few_fn *few_in_place(const struct product_run *r)
{
    const struct product_plan *plan = r->plan;
    const struct routine_set *set = r->f->program->set;
    convert_fn *convert = plan->operand[1]->convert;
    if (plan->m != (int64_t)dot_few_rows((size_t)plan->m) || plan->n < FEW_COLUMNS ||
        plan->product->dot != set->dot->dot[COMPUTE_F32] || plan->k.x[1] < 0 ||
        !is_dense(plan->column, plan->columns, 1, 1))
        return NULL;
    if (convert)
        return convert == set->convert->convert[DT_F32][DT_F16] ? set->dot->few[FEW_F16] : NULL;
    return set->dot->few[FEW_F32];
}

/* Returns the number of turns of k that the panels have room for. */
static int64_t turns_at_once(const struct product_run *r, bool pack_columns)
{
    int64_t most = TURNS_AT_ONCE, room = r->detail->room;
    if (r->plan->pack[0] && room / r->plan->m < most)
        most = room / r->plan->m;
    if (pack_columns && room / r->plan->n < most)
        most = room / r->plan->n;
    return most;
}

static void multiply_few_rows(const struct product_run *r, dot_few_fn *few, void *sum, int64_t ldc,
                              const void *a, int64_t lda, const unsigned char *b, int64_t turns)
{
    const size_t n = (size_t)r->plan->n, size = r->plan->operand[1]->size;
    const size_t step = (size_t)r->plan->k.x[1];
    const struct dot_few_strides strides = {(size_t)ldc, (size_t)lda, step,
                                            (AHEAD / (n * size) + 8) / 4 * 4 * step * size};
    few(sum, a, b, (size_t)r->plan->m, n, (size_t)turns, &strides);
}

static void multiply(const struct product_run *r, const struct product_start *s)
{
    struct frame *f = r->f;
    unsigned char *sum = r->plan->pack_sum ? frame_at(f, r->detail->panel[2]) : s->sum;
    int64_t ldc =
        r->plan->pack_sum || r->plan->rows == 0 ? r->plan->n : r->plan->row[r->plan->rows - 1].sum;
    dot_few_fn *few = few_in_place(r);
    const bool pack_columns = r->plan->pack[1] && !few;
    int64_t most = turns_at_once(r, pack_columns);
    if (r->plan->pack_sum)
        move_sum(r, s->sum, sum, false);
    for (int64_t p = 0; p < r->turns && f->state == FRAME_READY; p += most) {
        int64_t turns = r->turns - p < most ? r->turns - p : most;
        const unsigned char *a = s->x[0] + p * r->plan->k.x[0] * r->plan->operand[0]->size;
        const unsigned char *b = s->x[1] + p * r->plan->k.x[1] * r->plan->operand[1]->size;
        int64_t lda = r->plan->rows > 0 ? r->plan->row[r->plan->rows - 1].x[0] : 0,
                ldb = r->plan->k.x[1];
        if (r->plan->pack[0]) {
            a = gather_turns(r, 0, a, turns);
            lda = turns;
        }
        if (pack_columns) {
            b = gather_turns(r, 1, b, turns);
            ldb = r->plan->n;
        }
        if (few)
            multiply_few_rows(r, few, sum, ldc, a, lda, b, turns);
        const struct dot_strides strides = {
            .c = (size_t)ldc, .a = (size_t)lda, .b = (size_t)ldb, .panel = r->plan->product->width};
        if (!few)
            r->plan->product->dot(sum, a, b, (size_t)r->plan->m, (size_t)r->plan->n, (size_t)turns,
                                  &strides);
        if (--f->until_poll <= 0)
            frame_poll(f);
    }
    if (r->plan->pack_sum)
        move_sum(r, s->sum, sum, true);
}

/* Returns a row of lanes of an operand; both operands move along the last axis. */
static const unsigned char *lane_row(const struct product_run *r, int which,
                                     const unsigned char *from, const struct axis *last)
{
    if (last->x[which] == 1 && !r->plan->operand[which]->convert)
        return from;
    struct nest nest = {1, {last->extent}, {1}, {last->x[which]}};
    return gather(r, which, from, &nest, last->extent);
}

static void multiply_lanes(const struct product_run *r, const struct product_start *s,
                           const struct axis *last)
{
    const unsigned char *a = s->x[0], *b = s->x[1];
    copy_fn *copy = r->f->program->set->memory->copy[r->plan->product->size_index];
    struct nest in = {1, {last->extent}, {1}, {last->sum}};
    struct nest out = {1, {last->extent}, {last->sum}, {1}};
    unsigned char *sum = last->sum == 1 ? s->sum : frame_at(r->f, r->detail->panel[2]);
    if (sum != s->sum)
        copy(sum, s->sum, &in);
    for (int64_t p = 0; p < r->turns; p++) {
        r->plan->product->fma(sum, lane_row(r, 0, a, last), lane_row(r, 1, b, last), sum,
                              (size_t)last->extent);
        a += r->plan->k.x[0] * r->plan->operand[0]->size;
        b += r->plan->k.x[1] * r->plan->operand[1]->size;
    }
    if (sum != s->sum)
        copy(s->sum, sum, &out);
}

/* Runs the outer loops, the outermost first. */
static void run_outer(const struct product_run *r, int level, struct product_start s)
{
    int loops = r->plan->lanewise ? r->plan->outers - 1 : r->plan->outers;
    if (level == loops) {
        if (r->plan->lanewise)
            multiply_lanes(r, &s, &r->plan->outer[loops]);
        else
            multiply(r, &s);
        return;
    }
    const struct axis *axis = &r->plan->outer[level];
    for (int64_t i = 0; i < axis->extent; i++) {
        run_outer(r, level + 1, s);
        s.sum += axis->sum * r->plan->product->size;
        for (int x = 0; x < 2; x++)
            s.x[x] += axis->x[x] * r->plan->operand[x]->size;
    }
}

static void run_plan(struct frame *f, const struct products_detail *d,
                     const struct product_plan *plan, const struct product_start *start,
                     int64_t turns)
{
    const struct product_run r = {f, d, plan, turns};
    bool swapped = plan->operand[0] != &plan->product->operand[0];
    struct product_start s = {start->sum, {start->x[swapped], start->x[!swapped]}};
    run_outer(&r, 0, s);
}

static bool run_found(struct frame *f, const struct products_detail *d, const struct lane_box *box)
{
    struct axis axes[MOST_PRODUCTS][PRODUCT_AXES];
    struct product_start start[MOST_PRODUCTS];
    enum found found[MOST_PRODUCTS];
    for (int i = 0; i < d->count; i++) {
        found[i] = find_product(f, d, &d->product[i], box, axes[i], &start[i]);
        if (found[i] == FOUND_OUTSIDE)
            return false;
    }
    for (int i = 0; i < d->count; i++) {
        struct product_plan plan; /* large, but most of it is never touched */
        if (found[i] != FOUND_ALL)
            continue;
        make_plan(&plan, &d->product[i], axes[i]);
        run_plan(f, d, &plan, &start[i], plan.k.extent);
    }
    return true;
}

/* --- plans of a launch --- */

/* Plans a product for all lanes and for loops whose turns are known, except those of k. */
static void plan_launch(const struct launch_state *l, const struct lane_product *p,
                        struct product_plan *plan)
{
    struct axis axes[PRODUCT_AXES];
    int unknown = -1;
    for (int j = 0; j < p->axes; j++) {
        axes[j] = (struct axis){.extent = p->extent[j], .sum = p->sum_step[j]};
        if (axes[j].extent == 0 && (unknown >= 0 || axes[j].sum != 0))
            return;
        unknown = axes[j].extent == 0 ? j : unknown;
    }
    for (int i = 0; i < 2; i++)
        lay_steps(l, p, i, axes);
    make_plan(plan, p, axes);
    for (int o = 0; o < 2; o++)
        for (int i = 0; i < MAX_RANK; i++)
            reach(p, &p->operand[o], i, axes, plan->k_axis, &plan->low[o][i], &plan->high[o][i]);
    plan->usable = unknown < 0 || unknown == plan->k_axis;
}

void exec_plan_products(struct arena *a, struct launch_state *l)
{
    const struct cpu_program *p = l->program;
    l->plans = arena_array(a, struct product_plan, p->product_count);
    for (uint32_t i = 0; i < p->product_count; i++)
        plan_launch(l, p->products[i], &l->plans[i]);
}

static const unsigned char *find_planned(const struct frame *f, const struct product_plan *plan,
                                         int which, int64_t turns)
{
    const struct product_operand *o = &plan->product->operand[which];
    const struct access *a = o->access;
    if (!a)
        return f->memory + o->at;
    const int64_t *extent = exec_access_extents(f, a), *stride = exec_access_strides(f, a);
    int64_t at = 0;
    for (int i = 0; i < a->rank; i++) {
        int64_t index = index_now(f, a, i);
        int64_t far = plan->k_axis < 0 ? 0 : o->step[i][plan->k_axis] * (turns - 1);
        if (!lies_inside(index + plan->low[which][i] + (far < 0 ? far : 0),
                         index + plan->high[which][i] + (far > 0 ? far : 0), extent[i]))
            return NULL;
        at += index * stride[i];
    }
    return exec_access_base(f, a) + at * a->local_lanes * (int64_t)o->size;
}

/* Runs the products if all lanes run and every product has a plan. */
static bool run_planned(struct frame *f, const struct products_detail *d)
{
    struct product_start start[MOST_PRODUCTS];
    int64_t turns[MOST_PRODUCTS];
    for (int i = 0; i < d->count; i++) {
        const struct lane_product *p = &d->product[i];
        const struct product_plan *plan = &f->launch->plans[p->number];
        if (!plan->usable)
            return false;
        turns[i] = plan->k_axis < 0 ? 1 : loop_turns(f, &d->loop[p->loop[plan->k_axis]]);
        start[i].sum = f->memory + p->sum;
        for (int o = 0; o < 2 && turns[i] > 0; o++) {
            start[i].x[o] = find_planned(f, plan, o, turns[i]);
            if (!start[i].x[o])
                return false;
        }
        if (turns[i] < 0)
            return false;
    }
    for (int i = 0; i < d->count; i++)
        if (turns[i] > 0)
            run_plan(f, d, &f->launch->plans[d->product[i].number], &start[i], turns[i]);
    return true;
}

void step_products(struct frame *f, const struct instr *in)
{
    const struct products_detail *d = in->detail;
    struct lane_box box;
    if (f->copy_count > 0 || !running_box(f, in->mask, &box))
        return;
    bool all = !frame_mask(f, in->mask);
    if ((all && run_planned(f, d)) || run_found(f, d, &box))
        f->pc = in->n;
}
