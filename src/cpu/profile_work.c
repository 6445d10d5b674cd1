/* The work of steps, for profiles: operations on floats, and bytes of global memory. It follows
 * from what a step is compiled to and from the indices that the frame holds, so no step counts by
 * itself. */
#include "cpu/exec/exec_access.h"
#include "cpu/routines/lane_product.h"
#include "cpu/profile.h"
#include "cpu/strips.h"

#include "base/text.h"

/* --- routines --- */

/* A routine of the set: the op that it computes, and its FLOPs for each element. */
struct routine_facts {
    enum op op;
    double flops;     /* 0: not of floats */
    bool found, less; /* less: it subtracts one value first */
};

static double flops_of(enum op op, enum compute compute)
{
    enum op_class class = op_table[op].class;
    bool counts = class == CLASS_ARITH || class == CLASS_FLOAT;
    if ((compute != COMPUTE_F32 && compute != COMPUTE_F64) || !counts)
        return 0;
    return op == OP_FMA ? 2 : 1;
}

static bool find_in(const struct elementwise_routines *family, elementwise_fn *kernel,
                    struct routine_facts *out)
{
    for (size_t i = 0; i < family->count; i++) {
        const struct elementwise_row *row = &family->rows[i];
        bool function = op_table[row->op].class == CLASS_FLOAT;
        if (row->f32_by_one == kernel) {
            *out = (struct routine_facts){row->op, function ? 2 : flops_of(row->op, COMPUTE_F32),
                                          true, function};
            return true;
        }
        for (int c = 0; c < COMPUTE_COUNT; c++)
            if (row->of[c] == kernel) {
                *out = (struct routine_facts){row->op, flops_of(row->op, (enum compute)c), true,
                                              false};
                return true;
            }
    }
    return false;
}

static struct routine_facts facts_of(const struct routine_set *set, elementwise_fn *kernel)
{
    struct routine_facts facts = {.op = OP_REF};
    if (!kernel)
        return facts;
    if (kernel == set->elementwise->fma_f16 || kernel == set->elementwise->fma_bf16)
        return (struct routine_facts){OP_FMA, 2, true, false};
    if (!find_in(set->elementwise, kernel, &facts) && !find_in(set->math, kernel, &facts) &&
        set->elementwise->other_types)
        find_in(set->elementwise->other_types, kernel, &facts);
    return facts;
}

static double op_flops(const struct routine_set *set, const struct strip_op *op)
{
    if (op->scaled)
        return op->scaled == set->elementwise->f32_scaled_fma ? 3 : 2;
    return facts_of(set, op->kernel).flops;
}

/* Returns the type of a reduction of floats, and which it is. */
static bool is_float_reduction(const struct routine_set *set, reduce_fn *reduce,
                               enum reduction *which)
{
    for (int r = 0; r < REDUCTION_COUNT; r++)
        for (int c = COMPUTE_F32; c <= COMPUTE_F64; c++)
            if (routine_reductions(set, (enum compute)c)->reduce[r][c] == reduce) {
                *which = (enum reduction)r;
                return true;
            }
    return false;
}

static double chain_flops(const struct routine_set *set, const struct strip_detail *d)
{
    enum reduction which;
    double flops = 0;
    for (int i = 0; i < d->ops; i++)
        flops += op_flops(set, &d->op[i]);
    if (d->products)
        flops += 2;
    else if (d->reduce && is_float_reduction(set, d->reduce, &which))
        flops += 1;
    return flops;
}

double step_flops(const struct cpu_program *p, const struct instr *in)
{
    enum reduction which;
    if (in->step == step_flat || in->step == step_rows)
        return facts_of(p->set, in->kernel).flops;
    if (in->step == step_strips || in->step == step_row)
        return chain_flops(p->set, in->detail);
    if (in->step == step_row_map) /* and the sum of the row, or of its squares */
        return chain_flops(p->set, in->detail) + (in->b == ROW_POWERS ? 1 : 2);
    if (in->step == step_reduce || in->step == step_reduce_row) {
        const struct reduce_detail *d = in->detail;
        return is_float_reduction(p->set, d->reduce, &which) ? 1 : 0;
    }
    return 0;
}

/* --- bytes --- */

/* Returns the lanes that run under the mask. */
static double lanes_running(const struct frame *f, uint32_t mask)
{
    if (mask == NO_SLOT)
        return f->program->lanes;
    return (double)frame_mask_header(f, mask).running;
}

/* Returns how many of an axis's elements lie inside. An axis whose indices differ from lane to
 * lane counts as inside: loads out of bounds are faults unless the program masks them. */
static double inside_axis(const struct frame *f, const struct access *a, int i)
{
    const struct access_axis *axis = &a->axis[i];
    int64_t extent = exec_access_extents(f, a)[i], n = axis->extent, count = 0;
    if (axis->kind == IX_ALL)
        return (double)extent;
    if (axis->varying || (axis->affine && a->lanes > 1))
        return (double)n;
    if (axis->kind == IX_GATHER) {
        for (int64_t j = 0; j < n; j++) {
            int64_t index = index_value(frame_at(f, axis->at), axis->wide, (size_t)j);
            count += index >= 0 && index < extent;
        }
        return (double)count;
    }
    int64_t start = exec_access_start(f, a, i);
    int64_t low = start > 0 ? start : 0, end = extent - start < n ? extent : start + n;
    return end > low ? (double)(end - low) : 0;
}

/* Returns the elements that an access reads or writes, for each lane that runs. */
static double elements_inside(const struct frame *f, const struct access *a, uint32_t mask,
                              bool whole)
{
    double n = a->lanes > 1 ? lanes_running(f, mask) : 1;
    if (whole)
        return n * (double)a->elements;
    for (int i = 0; i < a->rank; i++)
        n *= inside_axis(f, a, i);
    return n;
}

/* Returns the bytes of global memory; 0: the access is to other memory. */
static double bytes_inside(const struct frame *f, const struct access *a, uint32_t mask, bool whole)
{
    return a->space == SPACE_VIEW ? elements_inside(f, a, mask, whole) * (double)a->size : 0;
}

/* --- products over lanes --- */

/* Returns the number of turns of a loop of a product. */
static double turns_of(const struct frame *f, const struct products_detail *d, int loop)
{
    const struct product_loop *l = &d->loop[loop];
    int32_t start = *(const int32_t *)frame_at(f, l->start),
            bound = *(const int32_t *)frame_at(f, l->bound);
    int64_t turns = counted_turns(start, bound, l->step, l->inclusive);
    return turns > 0 ? (double)turns : 0;
}

/* Returns whether an operand differs along the axis, so that each place of it is another
 * element. */
static bool moves_along(const struct product_operand *o, int axis)
{
    for (int i = 0; i < MAX_RANK; i++)
        if (o->step[i][axis] != 0)
            return true;
    return false;
}

static struct cpu_work products_work(const struct frame *f, const struct instr *in)
{
    const struct products_detail *d = in->detail;
    struct cpu_work work = {0};
    double share = lanes_running(f, in->mask) / f->program->lanes;
    for (int i = 0; i < d->count; i++) {
        const struct lane_product *p = &d->product[i];
        double all = 2 * share, read[2] = {1, 1};
        for (int axis = 0; axis < p->axes; axis++) {
            double n = axis < p->loops ? turns_of(f, d, p->loop[axis]) : (double)p->extent[axis];
            all *= n;
            for (int o = 0; o < 2; o++)
                read[o] *= moves_along(&p->operand[o], axis) || n == 0 ? n : 1;
        }
        work.flops += all;
        for (int o = 0; o < 2; o++) {
            const struct access *a = p->operand[o].access;
            if (a && a->space == SPACE_VIEW)
                work.read += share * read[o] * p->operand[o].size;
        }
    }
    return work;
}

/* --- steps --- */

static double extents(int rank, const int64_t *extent)
{
    double n = 1;
    for (int i = 0; i < rank; i++)
        n *= (double)extent[i];
    return n;
}

static struct cpu_work chain_work(const struct frame *f, const struct instr *in, double flops,
                                  bool whole)
{
    const struct strip_detail *d = in->detail;
    struct cpu_work work = {.flops = flops * extents(d->rank, d->extent)};
    for (int i = 0; i < d->leaves; i++)
        if (d->leaf[i].load && !d->leaf[i].shown)
            work.read += bytes_inside(f, d->leaf[i].load, NO_SLOT, whole);
    if (d->store) {
        double stored = elements_inside(f, d->store, NO_SLOT, whole);
        work.flops = flops * stored;
        work.written = d->store->space == SPACE_VIEW ? stored * d->size : 0;
    }
    return work;
}

bool step_reads_row(const struct instr *in, uint32_t at)
{
    if (in->step == step_reduce_row || in->step == step_row_load)
        return in->a == at;
    if (in->step != step_strips && in->step != step_row && in->step != step_row_map)
        return false;
    const struct strip_detail *d = in->detail;
    for (int i = 0; i < d->leaves; i++)
        if (d->leaf[i].shown && d->leaf[i].at == at)
            return true;
    return false;
}

/* Returns the bytes of a part that is packed: of the view's elements, and of the scales of weights. */
static double fill_bytes(const struct frame *f, const struct packed_fill *fill, bool whole)
{
    double bytes = bytes_inside(f, fill->from, NO_SLOT, whole);
    for (int i = 0; fill->weights && i < fill->weights->scales; i++)
        bytes += bytes_inside(f, fill->weights->scale[i], NO_SLOT, whole);
    return bytes;
}

/* Returns the work of steps that load or store. */
static struct cpu_work access_work(const struct frame *f, const struct instr *in, bool whole)
{
    const void *detail = in->detail;
    struct cpu_work work = {0};
    step_fn *s = in->step;
    if (s == step_load || s == step_load_lanes || s == step_load_strided || s == step_load_masked ||
        s == step_show_row) {
        work.read = bytes_inside(f, detail, in->mask, whole);
    } else if (s == step_store || s == step_store_lanes || s == step_store_strided) {
        work.written = bytes_inside(f, detail, in->mask, whole);
    } else if (s == step_packed_fill) {
        const struct packed_fill *fill = detail;
        work.read = fill->source ? 0 : fill_bytes(f, fill, whole);
    } else if (s == step_async_copy) {
        const struct async_detail *copy = detail;
        work.read = bytes_inside(f, copy->from, NO_SLOT, whole);
    } else if (s == step_dot_store) {
        const struct dot_store_detail *store = detail;
        work.written = bytes_inside(f, store->to, NO_SLOT, whole);
    } else if (s == step_move) {
        const struct move_detail *move = detail;
        work.read = bytes_inside(f, move->from, move->yes != NO_SLOT ? move->yes : in->mask, whole);
        work.written = bytes_inside(f, move->to, in->mask, whole);
    } else if (s == step_atomic || s == step_atomic_lanes) {
        const struct atomic_detail *atomic = detail;
        work.read = work.written = bytes_inside(f, atomic->access, in->mask, whole);
    }
    return work;
}

struct cpu_work step_work(const struct frame *f, const struct instr *in, double flops, bool whole)
{
    step_fn *s = in->step;
    if (s == step_strips || s == step_row || s == step_row_map)
        return chain_work(f, in, flops, whole);
    if (s == step_flat)
        return (struct cpu_work){.flops = flops * in->n};
    if (s == step_rows) {
        const struct rows_detail *d = in->detail;
        return (struct cpu_work){.flops = flops * extents(d->rank, d->extent)};
    }
    if (s == step_reduce || s == step_reduce_row) {
        const struct reduce_detail *d = in->detail;
        return (struct cpu_work){.flops =
                                     flops * (double)d->outer * (double)d->n * (double)d->inner};
    }
    if (s == step_dot_lanes) {
        const struct dot_detail *d = in->detail;
        return (struct cpu_work){.flops =
                                     2.0 * d->lanes * (double)d->m * (double)d->n * (double)d->k};
    }
    if (s == step_products)
        return products_work(f, in);
    return access_work(f, in, whole);
}

/* --- words --- */

static void add_word(struct text *out, const char *word)
{
    text_printf(out, "%s%s", out->length ? ", " : "", word);
}

static void add_routine(struct text *out, const struct routine_set *set, elementwise_fn *kernel)
{
    struct routine_facts facts = facts_of(set, kernel);
    if (facts.less)
        add_word(out, "-");
    if (facts.found)
        add_word(out, op_table[facts.op].text);
}

static void add_reduction(struct text *out, const struct routine_set *set, reduce_fn *reduce)
{
    enum reduction which;
    if (is_float_reduction(set, reduce, &which))
        add_word(out, op_table[OP_REDUCE_SUM + which].text);
    else if (reduce)
        add_word(out, "reduce");
}

static void add_chain(struct text *out, const struct routine_set *set, const struct strip_detail *d)
{
    for (int i = 0; i < d->ops; i++)
        if (d->op[i].scaled)
            add_word(out, d->op[i].scaled == set->elementwise->f32_scaled_fma ? "*, fma" : "*, *");
        else if (d->op[i].convert)
            add_word(out, "cast");
        else
            add_routine(out, set, d->op[i].kernel);
    if (d->products)
        add_word(out, "*, sum");
    else if (d->reduce)
        add_reduction(out, set, d->reduce);
}

const char *step_operation(struct arena *a, const struct cpu_program *p, const struct instr *in)
{
    struct text out;
    text_init(&out, a);
    if (in->step == step_flat || in->step == step_rows)
        add_routine(&out, p->set, in->kernel);
    else if (in->step == step_strips || in->step == step_row)
        add_chain(&out, p->set, in->detail);
    else if (in->step == step_convert)
        add_word(&out, "cast");
    else if (in->step == step_row_map) {
        add_chain(&out, p->set, in->detail);
        add_word(&out, in->b == ROW_POWERS ? "sum" : "*, sum");
    } else if (in->step == step_reduce || in->step == step_reduce_row)
        add_reduction(&out, p->set, ((const struct reduce_detail *)in->detail)->reduce);
    return out.length ? out.data : "";
}
