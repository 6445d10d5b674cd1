/* Compiles loops of thread-level code that only sum products, as tile/products.c finds them: one
 * step executes all turns and lanes (exec_product.c).
 *
 * The lanes of the block are axes of the product, too. So indices must be affine in the thread's
 * index, and the elements of the target that a turn adds to must be known at compile time. The step
 * tests at run time that all elements it reads are inside. If some are not, the loops run as
 * written, up to the fault. */
#include "cpu/compile/compile.h"
#include "cpu/routines/lane_product.h"

/* --- checks --- */

/* Notes why the loop is not one step. Returns false. */
static bool refuse(struct compiler *c, enum cpu_slow slow, const struct stmt *s,
                   const struct expr *target)
{
    compile_note_slow(c, slow, s->loc, target ? target->loc : s->loc,
                      target ? target->sym->written : NULL);
    return false;
}

static bool is_uniform(const struct compiler *c, const struct products *p)
{
    bool uniform = true;
    for (int i = 0; i < p->loops; i++)
        uniform &= !compile_expr_varying(c, p->loop[i].start) &&
                   !compile_expr_varying(c, p->loop[i].bound);
    return uniform;
}

static bool is_affine(const struct compiler *c, const struct expr *e)
{
    int64_t lanes[3];
    for (int i = 0; e && i < e->indices; i++)
        if (e->index[i].value && !compile_expr_affine(c, e->index[i].value, lanes))
            return false;
    return true;
}

/* Returns whether each lane has a sum of its own, of a type that is computed as it is stored. */
static bool is_target(const struct compiler *c, const struct expr *e)
{
    enum dtype t = e->type.dtype;
    return compile_slot_of(c, e->sym)->value.lanes == c->lanes && t != DT_BOOL &&
           routine_compute_dtype(routine_compute_of(t)) == t &&
           c->set->dot->dot[routine_compute_of(t)];
}

static bool is_in_lanes(struct compiler *c, const struct stmt *s)
{
    const struct products *p = s->products;
    if (!is_uniform(c, p))
        return refuse(c, CPU_SLOW_LOOP_COUNTER, s, NULL);
    for (int i = 0; i < p->sums; i++) {
        const struct product_sum *sum = &p->sum[i];
        if (!is_target(c, sum->target))
            return refuse(c, CPU_SLOW_LOOP_SUM, s, sum->target);
        if (!is_affine(c, sum->factor[0].load) || !is_affine(c, sum->factor[1].load))
            return refuse(c, CPU_SLOW_LOOP_FACTOR, s, sum->target);
    }
    return true;
}

/* Returns the number of turns of a loop; -1: not known at compile time, or the counter would
 * wrap. */
static int64_t constant_turns(const struct compiler *c, const struct product_counter *l)
{
    struct literal start, bound;
    if (!compile_expr_constant(c, l->start, &start) || !compile_expr_constant(c, l->bound, &bound))
        return -1;
    return counted_turns(start.i, bound.i, l->step, l->inclusive);
}

/* --- the step --- */

/* Computes where the sum of the first turn is and the steps to the others. Each counter must
 * move the sum to another element at each turn, or not move it at all. */
static bool lay_sum(const struct compiler *c, const struct products *p, const struct product_sum *s,
                    struct lane_product *out)
{
    const struct value *v = &compile_slot_of(c, s->target->sym)->value;
    const struct expr *e = s->target;
    int64_t stride[MAX_RANK], at = 0;
    bool moved[PRODUCT_LOOPS] = {false};
    compile_dense_strides(v->rank, v->extent, v->lanes, stride);
    for (int i = 0; i < e->indices; i++) {
        const int64_t *step = s->steps.of[i];
        struct literal first;
        int moves = 0;
        if (compile_expr_varying(c, e->index[i].value) ||
            !compile_expr_constant(c, e->index[i].value, &first))
            return false;
        int64_t last = first.i;
        for (int l = 0; l < s->loops; l++) {
            int64_t turns = constant_turns(c, &p->loop[s->loop[l]]);
            if (step[l] == 0)
                continue;
            if (turns < 0 || turns > v->extent[i] || moved[l] || moves++ > 0)
                return false;
            moved[l] = true;
            last += step[l] * (turns > 0 ? turns - 1 : 0);
            out->sum_step[l] = step[l] * stride[i];
        }
        if (first.i < 0 || last < 0 || first.i >= v->extent[i] || last >= v->extent[i])
            return false;
        at += first.i * stride[i];
    }
    for (int i = e->indices; i < v->rank; i++)
        out->sum_step[s->loops + i - e->indices] = stride[i];
    out->sum = v->at + (uint32_t)((size_t)at * dtype_size(v->dtype));
    return true;
}

static void lay_value(struct compiler *c, const struct expr *e, const struct lane_product *to,
                      int loops, struct product_operand *o)
{
    struct value v = compile_value_convert(c, compile_expr(c, e, NULL), e->type.dtype);
    int lanes = to->axes - 3, elements = lanes - loops;
    int64_t stride[MAX_RANK];
    compile_dense_strides(v.rank, v.extent, v.lanes, stride);
    for (int i = 0; i < v.rank; i++)
        o->step[0][loops + elements - v.rank + i] = v.extent[i] > 1 ? stride[i] : 0;
    if (v.lanes > 1)
        lane_steps(c->program, &o->step[0][lanes]);
    o->at = v.at;
}

static void lay_access(struct compiler *c, const struct unconverted_factor *f,
                       const struct lane_product *to, struct product_operand *o)
{
    const struct expr *e = f->load;
    struct access *a = compile_access_new(c, e);
    int lanes = to->axes - 3, element = lanes - e->type.rank;
    for (int i = 0; i < a->rank; i++) {
        memcpy(o->step[i], f->steps.of[i], sizeof f->steps.of[i]);
        if (a->axis[i].kind != IX_ELEMENT)
            o->step[i][element++] = a->axis[i].extent > 1 ? 1 : 0;
        for (int t = 0; t < 3; t++)
            o->step[i][lanes + t] = a->axis[i].step[2 - t];
    }
    o->access = a;
}

static void lay_product(struct compiler *c, const struct product_sum *s, struct lane_product *out)
{
    const struct type *t = &s->target->type;
    out->loops = s->loops;
    out->axes = s->loops + t->rank + 3;
    memcpy(out->loop, s->loop, sizeof out->loop);
    for (int i = 0; i < t->rank; i++)
        out->extent[s->loops + i] = t->extent[i];
    for (int i = 0; i < 3; i++)
        out->extent[out->axes - 3 + i] = c->program->threads[2 - i];
    lane_steps(c->program, &out->sum_step[out->axes - 3]);
    out->size = (uint32_t)dtype_size(t->dtype);
    out->size_index = size_index(t->dtype);
    out->dot = c->set->dot->dot[routine_compute_of(t->dtype)];
    out->width = c->set->dot->width[routine_compute_of(t->dtype)];
    out->fma = routine_elementwise(c->set, OP_FMA, routine_compute_of(t->dtype));
    for (int i = 0; i < 2; i++) {
        struct product_operand *o = &out->operand[i];
        const struct unconverted_factor *f = &s->factor[i];
        enum dtype own = f->load ? f->load->type.dtype : t->dtype;
        if (f->load)
            lay_access(c, f, out, o);
        else
            lay_value(c, f->value, out, s->loops, o);
        o->size = (uint32_t)dtype_size(own);
        o->size_index = size_index(own);
        o->convert = own == t->dtype ? NULL : c->set->convert->convert[t->dtype][own];
    }
}

/* Gives all counters their first value as a known constant; with known == false makes them
 * unknown again. */
static void set_counters(struct compiler *c, const struct products *p, bool known)
{
    for (int i = 0; i < p->loops; i++) {
        struct slot *slot = compile_slot_of(c, p->loop[i].sym);
        slot->is_known = known && compile_expr_constant(c, p->loop[i].start, &slot->known);
    }
    c->unrolling += known ? 1 : -1;
}

static struct product_loop *lay_loops(struct compiler *c, const struct products *p)
{
    struct product_loop *out = arena_array(c->arena, struct product_loop, p->loops);
    for (int i = 0; i < p->loops; i++) {
        const struct product_counter *l = &p->loop[i];
        struct value start = compile_expr(c, l->start, NULL);
        compile_slot_of(c, l->sym)->value = start;
        out[i].start = start.at;
        out[i].bound = compile_expr(c, l->bound, NULL).at;
        out[i].step = l->step;
        out[i].inclusive = l->inclusive;
    }
    return out;
}

static void lay_panels(struct compiler *c, struct products_detail *d)
{
    size_t size = 0, raw = 0;
    d->room = PRODUCT_PANEL;
    for (int i = 0; i < d->count; i++) {
        int64_t n = 1;
        for (int axis = d->product[i].loops; axis < d->product[i].axes; axis++)
            n *= d->product[i].extent[axis];
        for (int l = 0; l < d->product[i].loops; l++)
            n *= d->product[i].sum_step[l] != 0 ? d->product[i].extent[l] : 1;
        d->room = n > d->room ? n : d->room;
        size = d->product[i].size > size ? d->product[i].size : size;
        for (int o = 0; o < 2; o++)
            if (d->product[i].operand[o].convert && d->product[i].operand[o].size > raw)
                raw = d->product[i].operand[o].size;
    }
    for (int i = 0; i < 4; i++)
        d->panel[i] = compile_memory_new(c, (size_t)d->room * (i < 3 ? size : raw));
}

/* Emits the step, whose sums are laid. */
static void emit_products(struct compiler *c, const struct products *p,
                          struct lane_product *products, struct label *end)
{
    struct products_detail *d = arena_new(c->arena, struct products_detail);
    d->loops = p->loops;
    d->loop = lay_loops(c, p);
    d->product = products;
    d->count = p->sums;
    for (int i = 0; i < p->sums; i++) {
        lay_product(c, &p->sum[i], &products[i]);
        products[i].number = (uint32_t)c->products.count;
        vec_push(c->arena, &c->products, &products[i]);
    }
    lay_panels(c, d);
    compile_add_jump(c, step_products, c->mask, end);
    struct instr *in = &c->code.data[c->code.count - 1];
    in->detail = d;
    in->mask = c->mask;
}

bool compile_products(struct compiler *c, const struct stmt *s, struct label *end)
{
    const struct products *p = s->products;
    if (c->plain || c->seldom || c->lanes == 1 || s->kind != STMT_FOR)
        return false;
    if (!p)
        return compile_slow_is_sum_of_products(s) && refuse(c, CPU_SLOW_LOOP_FORM, s, NULL);
    if (!is_in_lanes(c, s))
        return false;
    struct lane_product *products = arena_array(c->arena, struct lane_product, p->sums);
    uint32_t top = c->top;
    bool fits = true;
    set_counters(c, p, true);
    for (int i = 0; i < p->sums; i++) {
        for (int l = 0; l < p->sum[i].loops; l++) {
            int64_t turns = constant_turns(c, &p->loop[p->sum[i].loop[l]]);
            products[i].extent[l] = turns > 0 ? turns : 0;
        }
        fits = fits && lay_sum(c, p, &p->sum[i], &products[i]);
    }
    if (fits)
        emit_products(c, p, products, end);
    else
        refuse(c, CPU_SLOW_LOOP_SUM, s, p->sum[0].target);
    set_counters(c, p, false);
    c->top = top;
    return fits;
}
