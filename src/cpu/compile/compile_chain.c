/* Compiles chains of elementwise operations: one step runs all of them, strip by strip.
 *
 * A strip is a few hundred elements of the result. For each strip the step runs the chain's
 * routines one after another on buffers in the first-level cache, so no operation writes a whole
 * tile. An operand that is not an elementwise operation of the result's shape is a leaf: it is
 * computed before the chain, as a whole. A chain ends in a value, in memory (a store) or in a
 * reduction of its rows. */
#include "cpu/compile/compile.h"
#include "cpu/strips.h"

enum {
    SHORTEST_PART = 32,  /* elements of a row; a nest of loops copies shorter ones faster */
    SHORTEST_BY_ONE = 64 /* elements of a row; the values of shorter ones are spread */
};

/* A value inside the chain. */
struct link {
    uint8_t slot;
    enum dtype dtype;
    bool temporary; /* its slot is free again after it was read */
};

/* Selects how the axes of the result become loops. */
enum axes {
    AXES_MERGE,    /* merge neighbouring axes that all leaves cross evenly */
    AXES_KEEP_ROW, /* merge, except for the last axis */
    AXES_KEEP
};

struct chain {
    struct compiler *compiler;
    struct strip_detail *detail;
    const struct type *shape; /* of the result */
    struct value values[STRIP_SLOTS];
    struct strip_leaf leaves[STRIP_SLOTS];
    struct strip_op ops[STRIP_OPS];
    bool is_temporary[STRIP_SLOTS], busy[STRIP_SLOTS];
    size_t room[STRIP_SLOTS]; /* bytes for each element that a temporary has room for */
    bool sums;                /* it ends in a sum of f32 */
    bool full;                /* the chain needs more ops or slots than there are: discard it */
    size_t code;              /* number of instructions before the chain */
    uint32_t top;             /* top of the stack before the chain */
};

static bool is_costly(enum op op)
{
    return op_table[op].class == CLASS_FLOAT || op == OP_DIV || op == OP_POW;
}

/* --- slots --- */

/* Returns the bytes of a strip's buffer. The number is not a power of two, so that buffers do
 * not fall on the same sets of the cache. */
static size_t strip_bytes(size_t size)
{
    return ROW_STRIP * size + SLOT_ALIGNMENT;
}

static uint8_t new_slot(struct chain *ch)
{
    if (ch->detail->slots < STRIP_SLOTS)
        return (uint8_t)ch->detail->slots++;
    ch->full = true;
    return 0;
}

static struct link temporary(struct chain *ch, enum dtype t)
{
    size_t size = dtype_size(t) > 4 ? 8 : 4;
    int i = 1;
    while (i < ch->detail->slots && !(ch->is_temporary[i] && !ch->busy[i] && ch->room[i] == size))
        i++;
    if (i == ch->detail->slots) {
        if (new_slot(ch) == 0)
            return (struct link){0, t, false};
        ch->is_temporary[i] = true;
        ch->room[i] = size;
        ch->detail->at[i] = compile_memory_new(ch->compiler, strip_bytes(size));
    }
    ch->busy[i] = true;
    return (struct link){(uint8_t)i, t, true};
}

static void release(struct chain *ch, struct link l)
{
    if (l.temporary)
        ch->busy[l.slot] = false;
}

static struct strip_op *add_op(struct chain *ch, uint8_t dst)
{
    ch->full |= ch->detail->ops == STRIP_OPS;
    struct strip_op *op = &ch->ops[ch->full ? 0 : ch->detail->ops++];
    *op = (struct strip_op){.dst = dst, .op = OP_CAST};
    return op;
}

/* --- operations and leaves --- */

/* Returns whether e can be an operation of a chain, rather than a leaf. */
static bool is_link(const struct compiler *c, const struct expr *e)
{
    struct operation o;
    if (e->type.rank == 0 || compile_expr_varying(c, e) || compile_needs_divisor_check(c, e))
        return false;
    if (e->op != OP_CAST)
        return compile_describe_operation(c, e, &o) && o.kernel;
    const struct expr *from = e->args[0];
    return from->type.dtype != e->type.dtype ? from->type.rank > 0 : is_link(c, from);
}

static bool has_room(const struct chain *ch)
{
    return ch->detail->slots + MOST_OPERANDS < STRIP_SLOTS && ch->detail->ops + 8 < STRIP_OPS;
}

static struct link chain_expr(struct chain *ch, const struct expr *e, const struct link *into);

static struct link convert_link(struct chain *ch, struct link from, enum dtype t,
                                const struct link *into)
{
    if (from.dtype == t && !into)
        return from;
    struct link to = into ? *into : temporary(ch, t);
    struct strip_op *op = add_op(ch, to.slot);
    op->convert = ch->compiler->set->convert->convert[t][from.dtype];
    op->x[0] = from.slot;
    op->size[0] = (uint8_t)dtype_size(t);
    op->size[1] = (uint8_t)dtype_size(from.dtype);
    release(ch, from);
    return to;
}

/* Returns whether the access through this slice cannot fault. */
static bool is_safe_slice(const struct compiler *c, const struct sym *view, int axis,
                          const struct index *index)
{
    struct literal start, extent;
    if (index->kind == IX_ALL)
        return true;
    if (index->kind != IX_SLICE)
        return false;
    return !index->inside || (compile_expr_constant(c, index->value, &start) &&
                              compile_expr_constant(c, view->dims[axis], &extent) && start.i >= 0 &&
                              start.i + index->extent <= extent.i);
}

/* Returns whether e is a part of a view with as many rows as the result, which are long enough to
 * be worth reading where they are. */
static bool is_part(const struct chain *ch, const struct expr *e)
{
    return e->type.rank == 2 && type_same_shape(&e->type, ch->shape) &&
           e->type.extent[1] >= SHORTEST_PART;
}

/* Returns whether e is a row or a part of a view that can be read at any time: its access cannot
 * fault, and no part of the same expression changes memory. */
static bool is_in_view(const struct chain *ch, const struct expr *e)
{
    const struct compiler *c = ch->compiler;
    if (c->lanes > 1 || (e->op != OP_ACCESS && e->op != OP_REF) || e->sym->storage != ST_VIEW ||
        e->type.dtype != e->sym->type.dtype || (e->type.rank != 1 && !is_part(ch, e)) ||
        !c->program->streams)
        return false;
    for (int i = 0; i < e->indices; i++)
        if (!is_safe_slice(c, e->sym, i, &e->index[i]))
            return false;
    return !e->otherwise || e->otherwise->type.rank == 0;
}

static struct link view_leaf(struct chain *ch, const struct expr *e)
{
    struct compiler *c = ch->compiler;
    struct strip_detail *d = ch->detail;
    struct value v = compile_value_of_type(c, &e->type, 1);
    struct access *a = compile_access_new(c, e);
    if (e->otherwise)
        a->otherwise = compile_value_convert(c, compile_expr(c, e->otherwise, NULL), v.dtype).at;
    ch->values[d->leaves] = v;
    struct strip_leaf *leaf = &ch->leaves[d->leaves++];
    compile_note_row_access(c, a);
    if (v.rank > 1)
        a->prefetch = compile_row_prefetch_new(c);
    *leaf = (struct strip_leaf){.at = v.at, .slot = new_slot(ch), .load = a};
    leaf->part = v.rank > 1;
    leaf->size = (uint32_t)a->size;
    leaf->fill = c->set->memory->fill[a->size_index];
    return (struct link){leaf->slot, v.dtype, false};
}

static struct link chain_leaf(struct chain *ch, const struct expr *e, enum dtype wanted)
{
    struct compiler *c = ch->compiler;
    struct strip_detail *d = ch->detail;
    if (is_in_view(ch, e))
        return view_leaf(ch, e);
    bool repeats = type_elements(&e->type) < type_elements(ch->shape);
    const struct slot *row = repeats && e->type.dtype != wanted ? NULL : compile_row_as_shown(c, e);
    struct value v = row ? row->value : compile_expr(c, e, NULL);
    if (repeats)
        v = compile_value_convert(c, v, wanted); /* convert once, not for each strip */
    for (int i = 0; i < d->leaves; i++) {
        const struct value *known = &ch->values[i];
        if (known->at == v.at && known->dtype == v.dtype && compile_value_same_shape(known, &v))
            return (struct link){ch->leaves[i].slot, v.dtype, false};
    }
    ch->values[d->leaves] = v;
    struct strip_leaf *leaf = &ch->leaves[d->leaves++];
    *leaf = (struct strip_leaf){.at = row ? row->shown_at : v.at, .slot = new_slot(ch)};
    leaf->shown = row != NULL;
    leaf->size = (uint32_t)dtype_size(v.dtype);
    leaf->fill = c->set->memory->fill[size_index(v.dtype)];
    return (struct link){leaf->slot, v.dtype, false};
}

static struct link chain_operand(struct chain *ch, const struct expr *e, enum dtype wanted)
{
    ch->full |= ch->detail->slots == STRIP_SLOTS;
    if (ch->full)
        return (struct link){0, wanted, false};
    bool link = has_room(ch) && type_same_shape(&e->type, ch->shape) && is_link(ch->compiler, e);
    struct link l = link ? chain_expr(ch, e, NULL) : chain_leaf(ch, e, wanted);
    return convert_link(ch, l, wanted, NULL);
}

static struct link chain_operation(struct chain *ch, const struct expr *e, const struct link *into)
{
    struct operation o;
    struct link x[MOST_OPERANDS];
    compile_describe_operation(ch->compiler, e, &o);
    for (int i = 1; i < o.operands; i++)
        x[i] = chain_operand(ch, e->args[i - 1], o.types[i]);
    bool direct = into && o.types[0] == e->type.dtype;
    struct link to = direct ? *into : temporary(ch, o.types[0]);
    struct strip_op *op = add_op(ch, to.slot);
    op->op = e->op;
    op->form = STRIP_F32;
    op->kernel = o.kernel;
    op->costly = is_costly(e->op);
    for (int i = 0; i < o.operands; i++) {
        op->size[i] = (uint8_t)dtype_size(o.types[i]);
        if (o.types[i] != DT_F32)
            op->form = STRIP_OTHER;
    }
    for (int i = 1; i < o.operands; i++) {
        op->x[i - 1] = x[i].slot;
        release(ch, x[i]);
    }
    if (o.types[0] == e->type.dtype)
        return to;
    return convert_link(ch, to, e->type.dtype, into);
}

/* Adds the operations of a link expression and returns its value; the value is in *into if that
 * is given. */
static struct link chain_expr(struct chain *ch, const struct expr *e, const struct link *into)
{
    if (e->op != OP_CAST)
        return chain_operation(ch, e, into);
    const struct expr *from = e->args[0];
    if (from->type.dtype == e->type.dtype)
        return chain_expr(ch, from, into);
    return convert_link(ch, chain_operand(ch, from, from->type.dtype), e->type.dtype, into);
}

/* --- loops --- */

static bool merges(const struct chain *ch, int64_t stride[][NEST_RANK], int last, int axis,
                   int64_t extent)
{
    for (int i = 0; i < ch->detail->leaves; i++)
        if (stride[i][last] != stride[i][axis] * extent || ch->leaves[i].part)
            return false;
    return true;
}

/* Computes the strides of leaf i along the axes of the result. */
static void leaf_strides(const struct chain *ch, int i, int64_t *stride)
{
    const struct value *v = &ch->values[i];
    int64_t step = 1;
    for (int axis = ch->shape->rank - 1; axis >= 0; axis--) {
        int own = axis - (ch->shape->rank - v->rank);
        int64_t n = own >= 0 ? v->extent[own] : 1;
        stride[axis] = n > 1 ? step : 0;
        step *= n;
    }
}

static void lay_loops(struct chain *ch, enum axes axes)
{
    struct strip_detail *d = ch->detail;
    int64_t stride[STRIP_SLOTS][NEST_RANK];
    int rank = ch->shape->rank;
    for (int i = 0; i < d->leaves; i++)
        leaf_strides(ch, i, stride[i]);
    d->rank = 0;
    for (int axis = 0; axis < rank; axis++) {
        int64_t extent = ch->shape->extent[axis];
        bool keep = axes == AXES_KEEP || (axes == AXES_KEEP_ROW && axis == rank - 1);
        int last = d->rank - 1;
        if (extent == 1 && !keep)
            continue;
        bool merge = !keep && last >= 0 && merges(ch, stride, last, axis, extent);
        if (!merge)
            last = d->rank++;
        d->extent[last] = merge ? d->extent[last] * extent : extent;
        for (int i = 0; i < d->leaves; i++)
            ch->leaves[i].stride[last] = stride[i][axis];
    }
    if (d->rank == 0)
        d->extent[d->rank++] = 1; /* the result is one element */
}

/* Returns the operation's routine whose second operand is one value; NULL: there is none. */
static elementwise_fn *by_one(const struct chain *ch, const struct strip_op *op)
{
    const struct elementwise_row *row = routine_row(ch->compiler->set->elementwise, op->op);
    return op->form == STRIP_F32 && row ? row->f32_by_one : NULL;
}

/* Returns whether every operation that reads the slot has a routine that takes the slot's one
 * value without spreading it. */
static bool is_taken_as_one(const struct chain *ch, uint8_t slot)
{
    if (slot == ch->detail->last)
        return false;
    for (int i = 0; i < ch->detail->ops; i++) {
        const struct strip_op *op = &ch->ops[i];
        bool turned = op->x[0] == slot && op->op != OP_ADD && op->op != OP_MUL;
        bool read = op->x[0] == slot || op->x[1] == slot || op->x[2] == slot;
        if (read && (!by_one(ch, op) || turned || op->x[0] == op->x[1]))
            return false;
    }
    return true;
}

/* Lets operations take the slot's value without spreading it: one for each short row of `row`
 * elements; 0: one for the strip. */
static void take_as_one(struct chain *ch, uint8_t slot, uint16_t row)
{
    for (int i = 0; i < ch->detail->ops; i++) {
        struct strip_op *op = &ch->ops[i];
        if (op->x[0] != slot && op->x[1] != slot)
            continue;
        op->kernel = by_one(ch, op);
        op->form = STRIP_BY_ONE;
        op->row = row;
        op->x[0] = op->x[0] == slot ? op->x[1] : op->x[0];
        op->x[1] = slot;
        op->size[2] = 0;
    }
}

/* Joins a function with the difference it is applied to, if that subtracts one value from x: f(x
 * - one) becomes one operation. The difference has no other reader, because each operation's
 * result is read by exactly one operation. */
static void join_differences(struct chain *ch)
{
    const struct routine_set *set = ch->compiler->set;
    int kept = 0;
    for (int i = 0; i < ch->detail->ops; i++) {
        struct strip_op *op = &ch->ops[i];
        const struct strip_op *before = i > 0 ? &ch->ops[kept - 1] : NULL;
        const struct elementwise_row *row = routine_row(set->math, op->op);
        if (before && op->form == STRIP_F32 && row && row->f32_by_one &&
            before->form == STRIP_BY_ONE && before->op == OP_SUB && before->dst == op->x[0]) {
            op->kernel = row->f32_by_one;
            op->form = STRIP_DIFFERENCE;
            op->row = before->row;
            op->fetches = true;
            op->x[0] = before->x[0];
            op->x[1] = before->x[1];
            op->size[2] = 0;
            kept--;
        }
        ch->ops[kept++] = *op;
    }
    ch->detail->ops = kept;
}

/* Returns the index, below `count`, of the operation that multiplies by one value and writes to
 * the slot, if it may also run after all the others; else -1. */
static int scale_of(const struct chain *ch, int count, uint8_t slot)
{
    int i = count - 1;
    while (i >= 0 && ch->ops[i].dst != slot)
        i--;
    if (i < 0 || ch->ops[i].form != STRIP_BY_ONE || ch->ops[i].op != OP_MUL || ch->ops[i].row > 0)
        return -1;
    for (int k = i + 1; k < count; k++)
        if (ch->ops[k].dst == ch->ops[i].x[0] || ch->ops[k].dst == ch->ops[i].x[1])
            return -1;
    return i;
}

/* Joins x * s * y + z and x * s * y, where s is one value, to one operation. A product that the
 * reduction will take (take_product) is left alone. */
static void join_scaled(struct chain *ch)
{
    const struct elementwise_routines *r = ch->compiler->set->elementwise;
    int kept = 0, count = ch->detail->ops;
    for (int i = 0; i < count; i++) {
        struct strip_op op = ch->ops[i];
        bool f32 = op.form == STRIP_F32, sum = f32 && op.op == OP_FMA;
        bool last = ch->detail->reduce && i == count - 1;
        bool joins = sum || (f32 && op.op == OP_MUL && !last);
        for (int side = 0; joins && side < 2; side++) {
            uint8_t slot = op.x[side], other = op.x[1 - side];
            int scale = slot == other || (sum && slot == op.x[2]) ? -1 : scale_of(ch, kept, slot);
            if (scale < 0)
                continue;
            op.kernel = NULL;
            op.form = STRIP_SCALED;
            op.scaled = sum ? r->f32_scaled_fma : r->f32_scaled_product;
            op.x[0] = ch->ops[scale].x[0];
            op.x[1] = other;
            op.by = ch->ops[scale].x[1];
            memmove(&ch->ops[scale], &ch->ops[scale + 1],
                    (size_t)(--kept - scale) * sizeof *ch->ops);
            joins = false;
        }
        ch->ops[kept++] = op;
    }
    ch->detail->ops = kept;
}

/* Decides how each leaf is read, now that the loops are known. */
static void place_leaves(struct chain *ch)
{
    struct strip_detail *d = ch->detail;
    int row = d->rank - 1;
    bool short_rows = d->extent[row] < STRIP;
    for (int i = 0; i < d->leaves; i++) {
        struct strip_leaf *leaf = &ch->leaves[i];
        int64_t step = 1;
        bool flat = true, fixed = true;
        for (int axis = row; axis >= 0; step *= d->extent[axis--]) {
            flat &=
                (leaf->stride[axis] == step && !(leaf->part && axis < row)) || d->extent[axis] == 1;
            fixed &= axis == row || leaf->stride[axis] == 0;
        }
        bool spread = leaf->stride[row] == 0;
        const bool single = d->extent[row] > STRIP / 2 || fixed; /* a strip has one value */
        const bool of_rows = !single && row == 1 && leaf->stride[0] == 1 && !leaf->shown &&
                             d->extent[row] >= SHORTEST_BY_ONE;
        bool one = spread && !leaf->load && (single || of_rows) && is_taken_as_one(ch, leaf->slot);
        if (one)
            take_as_one(ch, leaf->slot, single ? 0 : (uint16_t)d->extent[row]);
        leaf->way = one                               ? LEAF_ONE
                    : flat                            ? LEAF_FLAT
                    : fixed && (spread || short_rows) ? LEAF_FIXED
                    : spread                          ? LEAF_SPREAD
                    : short_rows                      ? LEAF_COPIED
                                                      : LEAF_ROW;
        d->fills |= leaf->way == LEAF_FIXED;
        bool direct = leaf->way == LEAF_ONE || leaf->way == LEAF_FLAT || leaf->way == LEAF_ROW;
        d->at[leaf->slot] = !direct || leaf->load
                                ? compile_memory_new(ch->compiler, strip_bytes(leaf->size))
                                : leaf->at;
    }
}

/* Moves a product that is the chain's last operation into the reduction, if rows are long. If
 * there are several rows, each must fill a strip, so that it is reduced on its own. */
static void take_product(struct chain *ch)
{
    struct strip_detail *d = ch->detail;
    const struct routine_set *set = ch->compiler->set;
    if (!ch->sums || d->ops == 0 ||
        d->extent[d->rank - 1] < (d->rank == 1 ? REDUCTION_LONG : STRIP))
        return;
    const struct strip_op *last = &ch->ops[d->ops - 1];
    if (last->dst != d->last || last->form != STRIP_F32 || last->op != OP_MUL)
        return;
    d->products = set->reduce->f32_products;
    d->sum_of_products = set->reduce->f32_sum_of_products;
    d->multiply = last->kernel;
    d->last = last->x[0];
    d->last_by = last->x[1];
    d->ops--;
}

/* Returns whether the leaf's elements differ from strip to strip. */
static bool is_moving(const struct strip_detail *d, const struct strip_leaf *leaf)
{
    if (leaf->way != LEAF_ONE)
        return leaf->way != LEAF_FIXED;
    for (int axis = 0; axis < d->rank; axis++)
        if (leaf->stride[axis] != 0)
            return true;
    return false;
}

static bool is_of_view(const struct strip_leaf *leaf)
{
    return leaf->shown || leaf->load;
}

static void keep_leaves(struct chain *ch)
{
    struct strip_detail *d = ch->detail;
    struct strip_leaf *to = arena_array(ch->compiler->arena, struct strip_leaf, d->leaves);
    d->leaf = to;
    for (int i = 0; i < d->leaves; i++)
        if (is_moving(d, &ch->leaves[i]) && is_of_view(&ch->leaves[i]))
            to[d->rows++] = ch->leaves[i];
    d->moving = d->rows;
    for (int i = 0; i < d->leaves; i++)
        if (is_moving(d, &ch->leaves[i]) && !is_of_view(&ch->leaves[i]))
            to[d->moving++] = ch->leaves[i];
    to += d->moving;
    for (int i = 0; i < d->leaves; i++)
        if (!is_moving(d, &ch->leaves[i]))
            *to++ = ch->leaves[i];
}

/* Returns whether the chain computes one row, all its rows of views move from strip to strip,
 * and it ends in the frame or in a row of a view. */
static bool is_row(const struct strip_detail *d)
{
    const struct access *store = d->store;
    if (d->rank > 1 ||
        (store && (store->space != SPACE_VIEW || d->store_axis[0] != store->rank - 1)))
        return false;
    for (int i = d->moving; i < d->leaves; i++)
        if (is_of_view(&d->leaf[i]))
            return false;
    return true;
}

/* --- whole chains --- */

static void chain_begin(struct chain *ch, struct compiler *c, const struct type *shape)
{
    *ch = (struct chain){
        .compiler = c, .shape = shape, .detail = arena_new(c->arena, struct strip_detail)};
    ch->detail->slots = 1; /* slot 0 is the result's */
    ch->code = c->code.count;
    ch->top = c->top;
}

/* Undoes a chain that is too large for one step. false: the chain is not too large. */
static bool chain_undo_full(struct chain *ch)
{
    if (ch->full) {
        ch->compiler->code.count = ch->code;
        ch->compiler->top = ch->top;
    }
    return ch->full;
}

/* Stores in *past the operation with a routine that bypasses the caches; returns whether there
 * is one. */
static bool op_past_caches(const struct elementwise_routines *r, const struct strip_op *op,
                           struct strip_op *past)
{
    *past = *op;
    past->kernel = NULL;
    past->scaled = NULL;
    if (op->form == STRIP_SCALED)
        past->scaled = op->op == OP_FMA ? r->f32_scaled_fma_past : r->f32_scaled_product_past;
    for (const struct past_routine *p = r->past; p->whole || p->by_one; p++)
        if (p->op == op->op && (op->form == STRIP_F32 || op->form == STRIP_BY_ONE))
            past->kernel = op->form == STRIP_F32 ? p->whole : p->by_one;
    return past->kernel || past->scaled;
}

static void chain_lay(struct chain *ch)
{
    place_leaves(ch);
    join_differences(ch);
    join_scaled(ch);
    take_product(ch);
    keep_leaves(ch);
}

/* Emits the step, after the loops were laid; the caller sets its destination. */
static struct instr *chain_end(struct chain *ch)
{
    struct arena *a = ch->compiler->arena;
    struct strip_detail *d = ch->detail;
    struct strip_op *ops = arena_array(a, struct strip_op, d->ops);
    memcpy(ops, ch->ops, (size_t)d->ops * sizeof *ops);
    d->op = ops;
    if (d->stream && d->ops > 0)
        d->has_past = op_past_caches(ch->compiler->set->elementwise, &ops[d->ops - 1], &d->past);
    bool row = is_row(d);
    if (row)
        vec_push(a, &ch->compiler->row_chains, d);
    struct instr *in = compile_add_step(ch->compiler, row ? step_row : step_strips);
    in->detail = d;
    return in;
}

/* Returns whether the chain only replaces some elements of the value that it writes, by a mask that
 * is the same for each strip. */
static bool keeps_elements(const struct chain *ch, const struct value *to)
{
    const struct strip_detail *d = ch->detail;
    const struct strip_op *op = ch->ops;
    bool mask = false, kept = false;
    if (d->ops != 1 || op->op != OP_WHERE || op->size[1] != 1 || d->store)
        return false;
    for (int i = 0; i < d->leaves; i++) {
        mask |= ch->leaves[i].slot == op->x[0] && ch->leaves[i].way == LEAF_FIXED;
        kept |= ch->leaves[i].slot == op->x[1] && ch->leaves[i].way == LEAF_FLAT &&
                ch->leaves[i].at == to->at && ch->values[i].dtype == to->dtype;
    }
    return mask && kept;
}

bool compile_is_chain(const struct compiler *c, const struct expr *e)
{
    return !c->plain && !c->unchained && is_link(c, e);
}

struct value compile_chain(struct compiler *c, const struct expr *e, const struct value *into)
{
    struct chain ch;
    struct value to = compile_result_place(c, e, into);
    uint32_t top = c->top;
    chain_begin(&ch, c, &e->type);
    chain_expr(&ch, e, &(struct link){0, e->type.dtype, false});
    if (chain_undo_full(&ch)) { /* very deep: each operation becomes its own step */
        c->unchained++;
        to = compile_expr(c, e, &to);
        c->unchained--;
        return to;
    }
    ch.detail->size = (uint32_t)dtype_size(e->type.dtype);
    lay_loops(&ch, AXES_MERGE);
    chain_lay(&ch);
    ch.detail->keeps = keeps_elements(&ch, &to);
    chain_end(&ch)->dst = to.at;
    c->top = top;
    return to;
}

/* --- into memory --- */

enum { SHORT_ROW = 16 }; /* elements; rows that are shorter are better stored from a whole value */

bool compile_store_takes_chain(const struct compiler *c, const struct expr *target,
                               const struct expr *value)
{
    const struct type *t = &value->type;
    enum storage storage = target->sym->storage;
    if (c->plain || c->lanes > 1 || (storage != ST_VIEW && storage != ST_SHARED))
        return false;
    if (t->rank == 0 || !type_same_shape(t, &target->type) || t->extent[t->rank - 1] < SHORT_ROW)
        return false;
    for (int i = 0; i < target->indices; i++)
        if (target->index[i].kind == IX_GATHER)
            return false;
    bool row = value->op == OP_REF && value->sym->storage == ST_REG && t->rank == 1;
    return row || is_link(c, value);
}

/* Lets the chain's last operation write to slot 0. */
static void end_in_row(struct chain *ch)
{
    ch->ops[ch->detail->ops - 1].dst = 0;
    ch->detail->last = 0;
}

bool compile_chain_store(struct compiler *c, const struct expr *target, const struct expr *value)
{
    struct chain ch;
    enum dtype t = target->sym->type.dtype;
    uint32_t top = c->top;
    chain_begin(&ch, c, &value->type);
    struct strip_detail *d = ch.detail;
    d->last = chain_operand(&ch, value, t).slot;
    if (chain_undo_full(&ch))
        return false;
    d->size = (uint32_t)dtype_size(t);
    struct access *a = compile_access_new(c, target);
    if (a->space == SPACE_VIEW)
        compile_note_row_access(c, a);
    d->store = a;
    d->stream = c->program->streams && a->space == SPACE_VIEW;
    for (int axis = 0, i = 0; i < a->rank; i++)
        if (a->axis[i].kind != IX_ELEMENT)
            d->store_axis[axis++] = (uint8_t)i;
    if (d->ops > 0)
        end_in_row(&ch);
    d->at[0] = compile_memory_new(c, strip_bytes(d->size));
    lay_loops(&ch, AXES_KEEP);
    chain_lay(&ch);
    d->quotients = c->divides_powers && d->ops == 1;
    chain_end(&ch);
    c->top = top;
    return true;
}

/* --- into a reduction --- */

bool compile_reduce_takes_chain(const struct compiler *c, const struct expr *e)
{
    const struct expr *x = e->args[0];
    return !c->plain && e->op != OP_SCAN && (e->axis < 0 || e->axis == x->type.rank - 1) &&
           is_link(c, x);
}

bool compile_chain_reduce(struct compiler *c, const struct expr *e, const struct chain_reduction *r,
                          const struct value *to, struct value *x)
{
    struct chain ch;
    const struct type *t = &e->args[0]->type;
    *x = (struct value){.lanes = 1};
    chain_begin(&ch, c, t);
    struct strip_detail *d = ch.detail;
    d->last = chain_operand(&ch, e->args[0], to->dtype).slot;
    if (chain_undo_full(&ch)) {
        *x = compile_value_convert(c, compile_expr(c, e->args[0], NULL), to->dtype);
        return false;
    }
    d->size = (uint32_t)dtype_size(to->dtype);
    lay_loops(&ch, e->axis < 0 ? AXES_MERGE : AXES_KEEP_ROW);
    bool rows = e->axis >= 0 || d->rank == 1;
    ch.sums = rows && e->op == OP_REDUCE_SUM && to->dtype == DT_F32;
    if (rows) {
        d->reduce = r->reduce;
        d->reduce_add = r->add;
        d->reduce_end = r->end;
    } else { /* one result for many rows: compile the chain to a value after all */
        *x = compile_value_new(c, to->dtype, t->rank, t->extent, 1);
        end_in_row(&ch);
    }
    chain_lay(&ch);
    chain_end(&ch)->dst = rows ? to->at : x->at;
    return rows;
}
