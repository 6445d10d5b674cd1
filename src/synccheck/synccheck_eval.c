/* Expressions as values, and conditions as intervals of the forms that they depend on. */
#include "synccheck/synccheck_core.h"

#include <string.h>

/* --- leaves --- */

static bool is_size(const struct kernel *kernel, const struct sym *param)
{
    for (const struct sym *s = kernel->symbols; s; s = s->next)
        for (int i = 0; s->storage == ST_VIEW && i < MAX_RANK; i++)
            if (s->dims[i] && s->dims[i]->op == OP_REF && s->dims[i]->sym == param)
                return true;
    return false;
}

static void type_range(enum dtype t, int64_t *low, int64_t *high)
{
    *low = FACT_NONE;
    *high = FACT_MANY;
    if (t == DT_BOOL) {
        *low = 0;
        *high = 1;
    } else if (dtype_is_int(t)) {
        int bits = dtype_table[t].bits - (dtype_is_signed(t) ? 1 : 0);
        if (bits < 63) {
            *high = (INT64_C(1) << bits) - 1;
            *low = dtype_is_signed(t) ? -*high - 1 : 0;
        } else if (!dtype_is_signed(t)) {
            *low = 0;
        }
    }
}

static int eval_param(struct sync_check *k, const struct sym *p)
{
    struct atom a = {.kind = ATOM_PARAM, .dtype = (int)p->type.dtype, .sym = p};
    type_range(p->type.dtype, &a.low, &a.high);
    if (a.low < 0 && is_size(k->kernel, p))
        a.low = 0;
    return sync_value_atom(k, &a);
}

/* Returns the place in the grid of a block, or if there are clusters, of its cluster. */
static int eval_block(struct sync_check *k, int axis)
{
    const struct expr *grid = k->kernel->grid[axis];
    int64_t extent = 1;
    int along = k->kernel->cluster[0] > 0 ? k->kernel->cluster[axis] : 1;
    if (!grid || (eval_int(grid, NULL, &extent) && extent <= along))
        return k->zero;
    struct atom a = {
        .kind = ATOM_BLOCK, .dtype = DT_I32, .axis = axis, .low = 0, .high = INT32_MAX};
    if (eval_int(grid, NULL, &extent))
        a.high = extent / along - 1;
    return sync_value_atom(k, &a);
}

/* The same for a block of a cluster, whose rank is known. */
static int eval_block_of_cluster(struct sync_check *k, int axis)
{
    const int *size = k->kernel->cluster;
    int within = axis == 0   ? k->rank % size[0]
                 : axis == 1 ? k->rank / size[0] % size[1]
                             : k->rank / size[0] / size[1];
    return sync_value_add(k, sync_value_int(k, within), eval_block(k, axis), size[axis]);
}

static int fresh_site(struct sync_check *k, const struct expr *e)
{
    for (size_t i = 0; i < k->sites.count; i++)
        if (k->sites.data[i] == e)
            return (int)i;
    vec_push(k->arena, &k->sites, e);
    return (int)k->sites.count - 1;
}

/* Returns a value about which nothing is known, except that it does not change while it is held. */
static int eval_fresh(struct sync_check *k, struct sync_state *s, const struct expr *e)
{
    if (e->type.varying || e->type.rank)
        return k->top;
    struct atom a = {.kind = ATOM_FRESH, .dtype = (int)e->type.dtype, .site = fresh_site(k, e)};
    type_range(e->type.dtype, &a.low, &a.high);
    if (k->exact)
        a.count = s->fresh++;
    else
        sync_state_renew(k, s, a.site, false, 0);
    return sync_value_atom(k, &a);
}

static int eval_load(struct sync_check *k, struct sync_state *s, const struct expr *e)
{
    struct atom a = {.kind = ATOM_LOAD, .dtype = (int)e->type.dtype, .sym = e->sym};
    int filling = e->sym->storage == ST_SHARED ? sync_tracked_slot(k, e->sym) : -1;
    if (filling >= 0 && s->slot[filling] >= 0)
        a.arg[a.count++] = s->slot[filling];
    else if (!e->sym->is_const)
        return eval_fresh(k, s, e);
    if (a.count + e->indices > 4 || e->type.varying || e->type.rank)
        return eval_fresh(k, s, e);
    for (int i = 0; i < e->indices; i++) {
        if (e->index[i].kind != IX_ELEMENT)
            return eval_fresh(k, s, e);
        int at = sync_eval_value(k, s, e->index[i].value);
        if (sync_value_at(k, at)->kind != VALUE_SUM)
            return eval_fresh(k, s, e);
        a.arg[a.count++] = at;
    }
    type_range(e->type.dtype, &a.low, &a.high);
    return sync_value_atom(k, &a);
}

int sync_eval_filling(struct sync_check *k, struct sync_state *s, bool plain)
{
    struct atom a = {.kind = ATOM_FRESH, .dtype = DT_I64, .site = -1, .axis = plain};
    a.low = FACT_NONE;
    a.high = FACT_MANY;
    a.count = s->fresh++;
    return sync_value_atom(k, &a);
}

static int eval_ref(struct sync_check *k, struct sync_state *s, const struct expr *e)
{
    const struct sym *sym = e->sym;
    if (sym->storage == ST_CONST || (sym->storage == ST_PARAM && sym->has_value)) {
        if (!sym->value.is_float)
            return sync_value_int(k, sym->value.i);
        struct atom a = {.kind = ATOM_LITERAL, .dtype = (int)sym->type.dtype, .low = 0, .high = 0};
        memcpy(&a.low, &sym->value.f, sizeof a.low);
        return sync_value_atom(k, &a);
    }
    if (sym->storage == ST_PARAM)
        return eval_param(k, sym);
    int slot = sync_tracked_slot(k, sym);
    return slot >= 0 && s->slot[slot] >= 0 ? s->slot[slot] : k->top;
}

/* --- ops --- */

/* Returns whether form * scale + c, for a form in [low, high], has the relation to 0: 1, 0, or
 * LANE_UNKNOWN. */
static int64_t decide(enum op op, int64_t low, int64_t high, int64_t scale, int64_t c)
{
    int64_t a = low, b = high;
    if (scale < 0) {
        a = high == FACT_MANY ? FACT_NONE : high;
        b = low == FACT_NONE ? FACT_MANY : low;
    }
    /* The values at the ends of the interval. Bounds that are far away are not used. */
    bool a_known = a != FACT_NONE && a > -INT32_MAX && a < INT32_MAX;
    bool b_known = b != FACT_MANY && b < INT32_MAX && b > -INT32_MAX;
    int64_t least = a_known ? sync_add_saturated(a * scale, c) : FACT_NONE;
    int64_t most = b_known ? sync_add_saturated(b * scale, c) : FACT_MANY;
    switch (op) {
    case OP_LT: return most < 0 ? 1 : least >= 0 ? 0 : LANE_UNKNOWN;
    case OP_LE: return most <= 0 ? 1 : least > 0 ? 0 : LANE_UNKNOWN;
    case OP_GT: return least > 0 ? 1 : most <= 0 ? 0 : LANE_UNKNOWN;
    case OP_GE: return least >= 0 ? 1 : most < 0 ? 0 : LANE_UNKNOWN;
    case OP_EQ: return least == 0 && most == 0 ? 1 : least > 0 || most < 0 ? 0 : LANE_UNKNOWN;
    case OP_NE: return least == 0 && most == 0 ? 0 : least > 0 || most < 0 ? 1 : LANE_UNKNOWN;
    default: return LANE_UNKNOWN;
    }
}

static bool below_zero(struct sync_check *k, const struct sync_state *s, int v)
{
    int64_t scale, low, high;
    struct sync_value x = *sync_value_at(k, v);
    if (x.kind == VALUE_SUM && !x.terms)
        return x.c < 0;
    if (x.kind == VALUE_MODULAR)
        return false;
    if (x.kind != VALUE_SUM)
        return true;
    sync_fact_interval(k, s, sync_value_form(k, v, &scale), &low, &high);
    return decide(OP_GE, low, high, scale, x.c) != 1;
}

static int eval_converted(struct sync_check *k, struct sync_state *s, const struct expr *e)
{
    enum dtype to = e->type.dtype, from = e->args[0]->type.dtype;
    int v = sync_eval_value(k, s, e->args[0]);
    int64_t c;
    if (dtype_is_float(to) || dtype_is_float(from))
        return sync_value_op(k, OP_CAST, DT_F64, &v, 1);
    if (to == DT_BOOL && from != DT_BOOL) {
        int args[2] = {v, k->zero};
        return sync_value_op(k, OP_NE, from, args, 2);
    }
    if (sync_value_number(k, v, &c))
        return sync_value_int(k, dtype_wrap(to, c));
    bool turns = dtype_is_signed(from) && !dtype_is_signed(to) && below_zero(k, s, v);
    if (turns)
        return sync_value_wrapped(k, OP_CAST, to, &v, 1);
    if (dtype_table[to].bits >= dtype_table[from].bits || dtype_table[to].bits >= 32)
        return v; /* the result without overflow */
    return sync_value_op(k, OP_CAST, to, &v, 1);
}

static int compare_lanes(struct sync_check *k, enum op op, int difference, int64_t low,
                         int64_t high)
{
    int64_t scale = 1;
    const struct sync_value *d = sync_value_at(k, difference);
    if (d->terms)
        sync_value_form(k, difference, &scale);
    d = sync_value_at(k, difference);
    const int64_t *from = sync_value_lanes_at(k, d);
    int64_t *lanes = k->lane_scratch;
    for (int t = 0; t < k->threads; t++)
        lanes[t] = from[t] == LANE_UNKNOWN ? LANE_UNKNOWN
                   : d->terms              ? decide(op, low, high, scale, from[t])
                                           : decide(op, 0, 0, 1, from[t]);
    return sync_value_from_lanes(k, lanes);
}

static bool is_compare(const struct expr *e)
{
    return op_table[e->op].class == CLASS_COMPARE && e->args[0]->type.rank == 0 &&
           e->args[1]->type.rank == 0 && !dtype_is_float(e->args[0]->type.dtype) &&
           !dtype_is_float(e->args[1]->type.dtype);
}

static int eval_compare(struct sync_check *k, struct sync_state *s, const struct expr *e)
{
    int args[2] = {sync_eval_value(k, s, e->args[0]), sync_eval_value(k, s, e->args[1])};
    int difference = sync_value_add(k, args[0], args[1], -1);
    const struct sync_value *d = sync_value_at(k, difference);
    int64_t low = 0, high = 0, scale;
    if (d->kind == VALUE_SUM && !d->terms)
        return sync_value_int(k, decide(e->op, 0, 0, 1, d->c));
    if (d->kind != VALUE_SUM && d->kind != VALUE_LANES)
        return k->top;
    if (d->terms) {
        int64_t c = d->c;
        bool is_sum = d->kind == VALUE_SUM;
        sync_fact_interval(k, s, sync_value_form(k, difference, &scale), &low, &high);
        if (is_sum) {
            int64_t known = decide(e->op, low, high, scale, c);
            return known == LANE_UNKNOWN ? sync_value_op(k, e->op, e->args[0]->type.dtype, args, 2)
                                         : sync_value_int(k, known);
        }
    }
    return compare_lanes(k, e->op, difference, low, high);
}

static int eval_select(struct sync_check *k, struct sync_state *s, const struct expr *e)
{
    int args[3];
    int64_t c;
    args[0] = sync_eval_value(k, s, e->args[0]);
    if (sync_value_number(k, args[0], &c))
        return sync_eval_value(k, s, e->args[c ? 1 : 2]);
    args[1] = sync_eval_value(k, s, e->args[1]);
    args[2] = sync_eval_value(k, s, e->args[2]);
    if (args[1] == args[2])
        return args[1];
    return sync_value_op(k, OP_SELECT, e->type.dtype, args, 3);
}

/* Returns (WIDE + c) / d and % d as a VALUE_MODULAR, from the known remainder of the counter;
 * else v itself. */
static int counter_modular(struct sync_check *k, struct sync_state *s, int v)
{
    const struct sync_value *x = sync_value_at(k, v);
    if (x->kind != VALUE_SUM || x->terms != 1 || x->factor[0] < 1 || !k->code.modulus)
        return v;
    int64_t scale = x->factor[0], c = x->c, residue;
    struct fact *f = sync_fact_find(s, sync_value_form(k, v, &scale));
    if (!f || f->residue < 0 || scale > INT32_MAX)
        return v;
    int64_t step = k->code.modulus * scale;
    residue = f->residue * scale + c;
    if (residue < 0 && f->low > -INT32_MAX && f->low < INT32_MAX && f->low * scale + c >= 0)
        residue = (residue % step + step) % step; /* a condition keeps it from being negative */
    return residue < 0 ? v : sync_value_modular(k, residue, step);
}

/* Returns true if an unsigned result may wrap around below 0; it is then not a sum. */
static bool may_wrap(struct sync_check *k, const struct sync_state *s, enum op op, enum dtype t,
                     const int *args)
{
    if (!dtype_is_int(t) || dtype_is_signed(t))
        return false;
    if (op == OP_SUB)
        return below_zero(k, s, sync_value_add(k, args[0], args[1], -1));
    return op == OP_NEG;
}

/* Computes x / d or x % d if x is a multiple of d plus a number, as block.x is in a cluster of d blocks.
 * Returns -1 if it is not. */
static int divide_place(struct sync_check *k, enum op op, int v, int64_t d)
{
    const struct sync_value x = *sync_value_at(k, v);
    if (x.kind != VALUE_SUM || x.c < 0 || d < 1 || (op != OP_DIV && op != OP_REM))
        return -1;
    for (int i = 0; i < x.terms; i++)
        if (sync_atom_at(k, x.atom[i])->kind != ATOM_BLOCK || x.factor[i] < 0 || x.factor[i] % d)
            return -1;
    int out = sync_value_int(k, op == OP_DIV ? x.c / d : x.c % d);
    for (int i = 0; i < x.terms && op == OP_DIV; i++) {
        struct atom a = *sync_atom_at(k, x.atom[i]);
        out = sync_value_add(k, out, sync_value_atom(k, &a), x.factor[i] / d);
    }
    return out;
}

static int eval_plain_op(struct sync_check *k, struct sync_state *s, const struct expr *e)
{
    int args[3];
    if (e->count < 1 || e->count > 3 || !(op_table[e->op].flags & OP_PURE))
        return eval_fresh(k, s, e);
    for (int i = 0; i < e->count; i++)
        if (e->args[i]->type.rank)
            return eval_fresh(k, s, e);
    for (int i = 0; i < e->count; i++)
        args[i] = sync_eval_value(k, s, e->args[i]);
    int64_t d;
    int place = e->count == 2 && sync_value_number(k, args[1], &d)
                    ? divide_place(k, e->op, args[0], d)
                    : -1;
    if (place >= 0)
        return place;
    bool divides = e->op == OP_DIV || e->op == OP_REM || e->op == OP_SHR || e->op == OP_AND;
    if (divides)
        args[0] = counter_modular(k, s, args[0]);
    enum dtype t = e->args[0]->type.dtype;
    if (may_wrap(k, s, e->op, t, args))
        return sync_value_wrapped(k, e->op, t, args, e->count);
    return sync_value_op(k, e->op, t, args, e->count);
}

int sync_eval_value(struct sync_check *k, struct sync_state *s, const struct expr *e)
{
    if (e->type.rank)
        return k->top;
    switch (e->op) {
    case OP_LITERAL:
        if (!dtype_is_float(e->type.dtype))
            return sync_value_int(k, e->literal.i);
        struct atom a = {.kind = ATOM_LITERAL, .dtype = (int)e->type.dtype};
        double f = e->literal.is_float ? e->literal.f : (double)e->literal.i;
        memcpy(&a.low, &f, sizeof a.low);
        return sync_value_atom(k, &a);
    case OP_REF: return eval_ref(k, s, e);
    case OP_BLOCK:
        return k->kernel->cluster[0] > 0 ? eval_block_of_cluster(k, e->axis)
                                         : eval_block(k, e->axis);
    case OP_CLUSTER:
        return e->axis == CLUSTER_RANK ? sync_value_int(k, k->rank) : eval_block(k, e->axis);
    case OP_GRID:
        return k->kernel->grid[e->axis] ? sync_eval_value(k, s, k->kernel->grid[e->axis]) : k->one;
    case OP_THREAD: return sync_value_thread(k, e->axis);
    case OP_ACCESS: return eval_load(k, s, e);
    case OP_CAST: return eval_converted(k, s, e);
    case OP_SELECT: return eval_select(k, s, e);
    default: return is_compare(e) ? eval_compare(k, s, e) : eval_plain_op(k, s, e);
    }
}

/* The axis in FRESH atoms that name rows. */
enum { NAMED_ROWS = 8 };

int sync_eval_rows_set(struct sync_check *k, struct sync_state *s, const struct expr *e)
{
    bool contiguous;
    int v = sync_eval_rows(k, s, e, &contiguous);
    if (v != k->top)
        return v;
    struct atom a = {.kind = ATOM_FRESH,
                     .dtype = DT_I64,
                     .axis = NAMED_ROWS,
                     .site = fresh_site(k, e),
                     .low = FACT_NONE,
                     .high = FACT_MANY};
    if (k->exact)
        a.count = s->fresh++;
    else
        sync_state_renew(k, s, a.site, false, 0);
    return sync_value_atom(k, &a);
}

int sync_eval_rows(struct sync_check *k, struct sync_state *s, const struct expr *e,
                   bool *contiguous)
{
    int slot = e->op == OP_REF ? sync_tracked_slot(k, e->sym) : -1;
    *contiguous = false;
    if (slot >= 0) {
        int v = s->slot[slot] >= 0 ? s->slot[slot] : k->top;
        const struct sync_value *x = sync_value_at(k, v);
        *contiguous = v != k->top && !(x->terms && sync_atom_at(k, x->atom[0])->axis == NAMED_ROWS);
        return v;
    }
    if (e->op == OP_IOTA && e->type.rank == 1) {
        *contiguous = true;
        return k->zero;
    }
    if (e->op != OP_ADD && e->op != OP_SUB)
        return k->top;
    int scalar = e->op == OP_ADD && e->args[0]->type.rank == 0 ? 0 : 1;
    const struct expr *rows = e->args[1 - scalar];
    if (rows->op != OP_IOTA || rows->type.rank != 1 || e->args[scalar]->type.rank)
        return k->top;
    *contiguous = true;
    return sync_value_add(k, k->zero, sync_eval_value(k, s, e->args[scalar]),
                          e->op == OP_ADD ? 1 : -1);
}

/* --- conditions --- */

static int64_t floor_divide(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return a % b && (a < 0) != (b < 0) ? q - 1 : q;
}

static int64_t ceil_divide(int64_t a, int64_t b)
{
    return -floor_divide(-a, b);
}

static void part(int *parts, int64_t *lows, int64_t *highs, int64_t low, int64_t high)
{
    if (low > high)
        return;
    lows[*parts] = low;
    highs[*parts] = high;
    ++*parts;
}

/* Splits by scale * form + c <= 0: the form is at most, or at least, a bound. */
static void split_at_most(struct sync_split *out, int64_t scale, int64_t c)
{
    if (scale > 0) {
        int64_t bound = floor_divide(-c, scale);
        part(&out->true_parts, out->true_low, out->true_high, FACT_NONE, bound);
        part(&out->false_parts, out->false_low, out->false_high, bound + 1, FACT_MANY);
    } else {
        int64_t bound = ceil_divide(-c, scale);
        part(&out->true_parts, out->true_low, out->true_high, bound, FACT_MANY);
        part(&out->false_parts, out->false_low, out->false_high, FACT_NONE, bound - 1);
    }
}

static void split_equal(struct sync_split *out, int64_t scale, int64_t c)
{
    if (c % scale) {
        part(&out->false_parts, out->false_low, out->false_high, FACT_NONE, FACT_MANY);
        return;
    }
    int64_t at = -c / scale;
    part(&out->true_parts, out->true_low, out->true_high, at, at);
    part(&out->false_parts, out->false_low, out->false_high, FACT_NONE, at - 1);
    part(&out->false_parts, out->false_low, out->false_high, at + 1, FACT_MANY);
}

static void split_swap(struct sync_split *x)
{
    struct sync_split old = *x;
    x->true_parts = old.false_parts;
    x->false_parts = old.true_parts;
    memcpy(x->true_low, old.false_low, sizeof x->true_low);
    memcpy(x->true_high, old.false_high, sizeof x->true_high);
    memcpy(x->false_low, old.true_low, sizeof x->false_low);
    memcpy(x->false_high, old.true_high, sizeof x->false_high);
}

/* Splits the form of `difference`, which has terms, by its relation to 0. */
static void split_form(struct sync_check *k, enum op op, int difference, struct sync_split *out)
{
    int64_t scale, c = sync_value_at(k, difference)->c;
    out->form = sync_value_form(k, difference, &scale);
    switch (op) {
    case OP_LT: split_at_most(out, scale, c + 1); break;
    case OP_LE: split_at_most(out, scale, c); break;
    case OP_GT: split_at_most(out, -scale, 1 - c); break;
    case OP_GE: split_at_most(out, -scale, -c); break;
    default: split_equal(out, scale, c); break;
    }
    if (op == OP_NE)
        split_swap(out);
}

/* Cuts the parts to the values that the facts allow. If a side has no values left, the condition
 * is decided. */
static void split_cut(struct sync_check *k, const struct sync_state *s, struct sync_split *out)
{
    int64_t low, high;
    struct sync_split cut = {.form = out->form};
    sync_fact_interval(k, s, out->form, &low, &high);
    for (int i = 0; i < out->true_parts; i++)
        part(&cut.true_parts, cut.true_low, cut.true_high,
             out->true_low[i] > low ? out->true_low[i] : low,
             out->true_high[i] < high ? out->true_high[i] : high);
    for (int i = 0; i < out->false_parts; i++)
        part(&cut.false_parts, cut.false_low, cut.false_high,
             out->false_low[i] > low ? out->false_low[i] : low,
             out->false_high[i] < high ? out->false_high[i] : high);
    cut.decided = !cut.true_parts || !cut.false_parts;
    cut.truth = cut.true_parts > 0;
    *out = cut;
}

/* Replaces the value of a comparison by the comparison: `bool more = p + 16 < n; if (more)`
 * decides as `if (p + 16 < n)` does. */
static void unfold_comparison(struct sync_check *k, enum op *op, int *difference)
{
    static const enum op opposite[] = {OP_GE, OP_LE, OP_GT, OP_LT, OP_NE, OP_EQ};
    for (;;) {
        const struct sync_value *d = sync_value_at(k, *difference);
        if ((*op != OP_NE && *op != OP_EQ) || d->kind != VALUE_SUM || d->terms != 1 || d->c)
            return;
        const struct atom *a = sync_atom_at(k, d->atom[0]);
        if (a->kind != ATOM_OP || dtype_is_float((enum dtype)a->dtype))
            return;
        bool negated = *op == OP_EQ;
        if (a->op == OP_NOT) {
            *op = negated ? OP_NE : OP_EQ;
            *difference = a->arg[0];
        } else if (op_table[a->op].class == CLASS_COMPARE) {
            int kept = sync_value_add(k, a->arg[0], a->arg[1], -1);
            if (sync_value_at(k, kept)->kind != VALUE_SUM || !sync_value_at(k, kept)->terms)
                return;
            *op = negated ? opposite[a->op - OP_LT] : (enum op)a->op;
            *difference = kept;
            return;
        } else {
            return;
        }
    }
}

void sync_eval_condition(struct sync_check *k, struct sync_state *s, const struct expr *e,
                         struct sync_split *out)
{
    *out = (struct sync_split){.form = -1};
    enum op op = is_compare(e) ? e->op : OP_NE;
    int difference;
    if (is_compare(e)) {
        int left = sync_eval_value(k, s, e->args[0]);
        difference = sync_value_add(k, left, sync_eval_value(k, s, e->args[1]), -1);
    } else {
        difference = sync_eval_value(k, s, e);
        unfold_comparison(k, &op, &difference);
    }
    const struct sync_value *d = sync_value_at(k, difference);
    if (d->kind != VALUE_SUM)
        return;
    if (!d->terms) {
        out->decided = true;
        out->truth = decide(op, 0, 0, 1, d->c) == 1;
        return;
    }
    split_form(k, op, difference, out);
    split_cut(k, s, out);
}

void sync_eval_assume(struct sync_check *k, struct sync_state *s, const struct expr *e,
                      bool *possible)
{
    if (e->op == OP_LAND) {
        sync_eval_assume(k, s, e->args[0], possible);
        sync_eval_assume(k, s, e->args[1], possible);
        return;
    }
    struct sync_split split;
    if (e->type.varying || e->type.rank)
        return;
    sync_eval_condition(k, s, e, &split);
    if (split.decided)
        *possible = *possible && split.truth;
    else if (split.form >= 0 && split.true_parts == 1)
        *possible =
            *possible && sync_fact_add(k, s, split.form, split.true_low[0], split.true_high[0]);
}

static bool never_negative(struct sync_check *k, struct sync_state *s, const struct expr *e)
{
    int64_t d;
    if ((e->op == OP_CDIV || e->op == OP_DIV) && eval_int(e->args[1], NULL, &d) && d > 0)
        return never_negative(k, s, e->args[0]);
    if (e->op == OP_MUL || e->op == OP_ADD)
        return never_negative(k, s, e->args[0]) && never_negative(k, s, e->args[1]);
    return !below_zero(k, s, sync_eval_value(k, s, e));
}

/* Learns from e >= low. */
static void assume_least(struct sync_check *k, struct sync_state *s, const struct expr *e,
                         int64_t low)
{
    int64_t d, scale;
    bool number = e->count == 2 && eval_int(e->args[1], NULL, &d) && d > 0 && d <= INT32_MAX;
    if (number && e->op == OP_CDIV) {
        assume_least(k, s, e->args[0], (low - 1) * d + 1);
    } else if (number && e->op == OP_DIV) {
        assume_least(k, s, e->args[0], low * d);
    } else if (e->op == OP_MUL && low == 1 && never_negative(k, s, e)) {
        assume_least(k, s, e->args[0], 1);
        assume_least(k, s, e->args[1], 1);
    } else if (e->op == OP_CAST && dtype_is_int(e->args[0]->type.dtype)) {
        assume_least(k, s, e->args[0], low);
    } else {
        int v = sync_eval_value(k, s, e);
        struct sync_value x = *sync_value_at(k, v);
        if (x.kind != VALUE_SUM || !x.terms)
            return;
        int form = sync_value_form(k, v, &scale);
        if (scale > 0)
            sync_fact_add(k, s, form, ceil_divide(low - x.c, scale), FACT_MANY);
        else
            sync_fact_add(k, s, form, FACT_NONE, floor_divide(low - x.c, scale));
    }
}

void sync_eval_grid_facts(struct sync_check *k, struct sync_state *s)
{
    for (int axis = 0; axis < 3; axis++)
        if (k->kernel->grid[axis])
            assume_least(k, s, k->kernel->grid[axis], 1);
}

static bool loads(const struct expr *e)
{
    if (e->op == OP_ACCESS || e->type.rank)
        return true;
    for (int i = 0; i < e->count; i++)
        if (loads(e->args[i]))
            return true;
    return !(op_table[e->op].flags & OP_PURE);
}

bool sync_eval_ends_by_numbers(struct sync_check *k, struct sync_state *s,
                               const struct expr *condition)
{
    if (!condition || loads(condition))
        return false;
    if (condition->type.varying) {
        const struct sync_value *v = sync_value_at(k, sync_eval_value(k, s, condition));
        const int64_t *lanes = sync_value_lanes_at(k, v);
        for (int t = 0; lanes && t < k->threads; t++)
            if (lanes[t] == LANE_UNKNOWN)
                return false;
        return !v->terms && v->kind != VALUE_TOP;
    }
    struct sync_split split;
    sync_eval_condition(k, s, condition, &split);
    return split.decided && split.form < 0;
}

/* --- masks --- */

int sync_eval_mask(struct sync_check *k, struct sync_state *s, int mask, const struct expr *e,
                   bool negate)
{
    if (!e)
        return mask;
    int v = sync_eval_value(k, s, e);
    if (negate) {
        v = sync_value_op(k, OP_NOT, DT_BOOL, &v, 1);
    } else if (e->type.dtype != DT_BOOL) {
        int args[2] = {v, k->zero};
        v = sync_value_op(k, OP_NE, e->type.dtype, args, 2);
    }
    if (mask == k->one && (v == k->zero || v == k->one))
        return v;
    if (mask == k->zero || v == k->zero)
        return k->zero;
    if (sync_value_at(k, v)->kind == VALUE_SUM && sync_value_at(k, v)->terms)
        v = k->top;
    int args[2] = {mask, v};
    return sync_value_op(k, OP_LAND, DT_BOOL, args, 2);
}

/* Adds a fact under which scale * form + lane has the relation to 0 in every lane. */
static bool force_compare(struct sync_check *k, struct sync_state *s, const struct expr *e,
                          bool negate)
{
    static const enum op opposite[] = {OP_GE, OP_LE, OP_GT, OP_LT, OP_NE, OP_EQ};
    enum op op = e->op;
    if (negate)
        op = opposite[e->op - OP_LT];
    int left = sync_eval_value(k, s, e->args[0]);
    int difference = sync_value_add(k, left, sync_eval_value(k, s, e->args[1]), -1);
    struct sync_value d = *sync_value_at(k, difference);
    const int64_t *lanes = sync_value_lanes_at(k, &d);
    int64_t least = d.c, most = d.c;
    if ((d.kind != VALUE_LANES && d.kind != VALUE_SUM) || !d.terms)
        return false;
    for (int t = 0; lanes && t < k->threads; t++) {
        if (lanes[t] == LANE_UNKNOWN)
            return false;
        least = t == 0 || lanes[t] < least ? lanes[t] : least;
        most = t == 0 || lanes[t] > most ? lanes[t] : most;
    }
    bool below = op == OP_LT || op == OP_LE;
    if (!below && op != OP_GT && op != OP_GE && least != most)
        return false;
    struct sync_split split = {.form = -1};
    d.kind = VALUE_SUM;
    d.lanes = -1;
    d.c = below ? most : least;
    split_form(k, op, sync_intern(&k->values, &d, sizeof d, NULL), &split);
    return split.true_parts == 1 &&
           sync_fact_add(k, s, split.form, split.true_low[0], split.true_high[0]);
}

bool sync_force_condition(struct sync_check *k, struct sync_state *s, const struct expr *e,
                          bool negate)
{
    if (e->op == OP_NOT)
        return sync_force_condition(k, s, e->args[0], !negate);
    if (e->op == (negate ? OP_LOR : OP_LAND))
        return sync_force_condition(k, s, e->args[0], negate) &&
               sync_force_condition(k, s, e->args[1], negate);
    int64_t c;
    int v = sync_eval_value(k, s, e);
    if (sync_value_number(k, v, &c))
        return (c != 0) != negate;
    if (e->op == (negate ? OP_LAND : OP_LOR))
        return sync_force_condition(k, s, e->args[0], negate);
    return is_compare(e) && force_compare(k, s, e, negate);
}
