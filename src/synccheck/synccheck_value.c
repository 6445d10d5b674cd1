/* Values of scalars in the synchronisation check.
 *
 * Equal values have equal numbers, so comparing values is comparing numbers. Integers count as
 * unbounded here: the check does not decide kernels whose index arithmetic overflows. */
#include "base/arithmetic.h"
#include "synccheck/synccheck_core.h"

#include <string.h>

/* --- interning --- */

void sync_interner_init(struct interner *t, struct arena *a)
{
    *t = (struct interner){.arena = a, .slots = 64};
    t->slot = arena_array(a, uint32_t, t->slots);
}

static uint64_t hash_bytes(const void *data, size_t size)
{
    const unsigned char *p = data;
    uint64_t h = 0x9e3779b97f4a7c15u ^ size;
    for (; size >= 32; p += 32, size -= 32) {
        uint64_t word[4];
        memcpy(word, p, 32);
        h = (h ^ word[0]) * 0xff51afd7ed558ccdu + word[1] * 0xc4ceb9fe1a85ec53u;
        h = (h ^ h >> 32 ^ word[2]) * 0x9fb21c651e98df25u + word[3] * 0xd6e8feb86659fd93u;
        h ^= h >> 32;
    }
    for (; size >= 8; p += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        h = (h ^ word) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    for (; size; p++, size--)
        h = (h ^ *p) * 0x100000001b3u;
    return h ^ h >> 29;
}

static void interner_grow(struct interner *t)
{
    t->slots *= 4;
    t->slot = arena_array(t->arena, uint32_t, t->slots);
    for (size_t i = 0; i < t->item.count; i++) {
        size_t at = t->hash.data[i] & (t->slots - 1);
        while (t->slot[at])
            at = (at + 1) & (t->slots - 1);
        t->slot[at] = (uint32_t)i + 1;
    }
}

int sync_intern(struct interner *t, const void *blob, size_t size, bool *is_new)
{
    uint64_t h = hash_bytes(blob, size);
    size_t at = h & (t->slots - 1);
    for (; t->slot[at]; at = (at + 1) & (t->slots - 1)) {
        uint32_t i = t->slot[at] - 1;
        if (t->hash.data[i] == h && t->size.data[i] == size &&
            memcmp(t->item.data[i], blob, size) == 0) {
            if (is_new)
                *is_new = false;
            return (int)i;
        }
    }
    if (is_new)
        *is_new = true;
    t->slot[at] = (uint32_t)t->item.count + 1;
    vec_push(t->arena, &t->item, arena_copy(t->arena, blob, size));
    vec_push(t->arena, &t->hash, h);
    vec_push(t->arena, &t->size, size);
    if (t->item.count * 2 > t->slots)
        interner_grow(t);
    return (int)t->item.count - 1;
}

/* --- making --- */

void sync_values_init(struct sync_check *k)
{
    k->recent_slots = arena_array(k->arena, size_t, RECENT_SLOTS);
    sync_interner_init(&k->values, k->arena);
    sync_interner_init(&k->atoms, k->arena);
    sync_interner_init(&k->lanes, k->arena);
    sync_interner_init(&k->lane_ops, k->arena);
    struct sync_value top = {.kind = VALUE_TOP, .lanes = -1};
    for (int i = 0; i < 3; i++)
        k->thread_values[i] = -1;
    k->lane_scratch = arena_array(k->arena, int64_t, k->threads);
    k->top = sync_intern(&k->values, &top, sizeof top, NULL);
    k->zero = sync_value_int(k, 0);
    k->one = sync_value_int(k, 1);
}

const struct sync_value *sync_value_at(const struct sync_check *k, int v)
{
    return k->values.item.data[v];
}

const struct atom *sync_atom_at(const struct sync_check *k, int a)
{
    return k->atoms.item.data[a];
}

const int64_t *sync_value_lanes_at(const struct sync_check *k, const struct sync_value *v)
{
    return v->kind == VALUE_LANES ? k->lanes.item.data[v->lanes] : NULL;
}

bool sync_value_number(const struct sync_check *k, int v, int64_t *out)
{
    const struct sync_value *x = sync_value_at(k, v);
    if (x->kind != VALUE_SUM || x->terms)
        return false;
    *out = x->c;
    return true;
}

int sync_value_int(struct sync_check *k, int64_t c)
{
    int *recent = &k->recent_int[(uint64_t)c % RECENT_INTS];
    int64_t number;
    if (*recent && sync_value_number(k, *recent, &number) && number == c)
        return *recent;
    struct sync_value v = {.kind = VALUE_SUM, .lanes = -1, .c = c};
    return *recent = sync_intern(&k->values, &v, sizeof v, NULL);
}

int sync_value_modular(struct sync_check *k, int64_t c, int64_t step)
{
    if (c < 0 || step < 1)
        return k->top;
    struct sync_value v = {.kind = VALUE_MODULAR, .lanes = -1, .c = c, .step = step};
    return sync_intern(&k->values, &v, sizeof v, NULL);
}

/* --- leaves: few bits, which several may share --- */

static uint64_t block_leaf(const struct kernel *kernel, int axis);

static uint64_t param_leaf(const struct sym *s)
{
    return UINT64_C(1) << (s->index & 31);
}

static uint64_t view_leaf(const struct sym *s)
{
    return UINT64_C(1) << (36 + s->index % 28);
}

static uint64_t leaves_below(const struct kernel *kernel, const struct expr *e)
{
    uint64_t leaves = 0;
    if (!e)
        return 0;
    if (e->op == OP_REF && e->sym->storage == ST_PARAM)
        leaves |= param_leaf(e->sym);
    if (e->op == OP_BLOCK || e->op == OP_GRID || (e->op == OP_CLUSTER && e->axis < CLUSTER_RANK))
        leaves |= block_leaf(kernel, e->axis);
    if (e->op == OP_ACCESS)
        leaves |= view_leaf(e->sym);
    for (int i = 0; i < expr_children(e); i++)
        leaves |= leaves_below(kernel, expr_child(e, i));
    return leaves;
}

/* Returns the leaf of a block index, which is below the grid's extent. */
static uint64_t block_leaf(const struct kernel *kernel, int axis)
{
    return UINT64_C(1) << (32 + axis) | leaves_below(kernel, kernel->grid[axis]);
}

uint64_t sync_expr_leaves(const struct sync_check *k, const struct expr *e)
{
    return leaves_below(k->kernel, e);
}

uint64_t sync_value_leaves(const struct sync_check *k, int v)
{
    uint64_t leaves = 0;
    const struct sync_value *x = sync_value_at(k, v);
    for (int i = 0; i < x->terms; i++)
        leaves |= sync_atom_at(k, x->atom[i])->leaves;
    return leaves;
}

int sync_value_atom(struct sync_check *k, struct atom *a)
{
    a->sites = 0;
    if (a->kind == ATOM_FRESH || a->kind == ATOM_WIDE)
        a->sites = UINT64_C(1) << (a->site & 63);
    a->leaves = a->kind == ATOM_PARAM   ? param_leaf(a->sym)
                : a->kind == ATOM_BLOCK ? block_leaf(k->kernel, a->axis)
                : a->kind == ATOM_LOAD  ? view_leaf(a->sym)
                                        : 0;
    for (int i = 0; atom_is_made(a) && i < a->count; i++) {
        a->sites |= sync_value_at(k, a->arg[i])->sites;
        a->leaves |= sync_value_leaves(k, a->arg[i]);
    }
    const int atom = sync_intern(&k->atoms, a, sizeof *a, NULL);
    while (k->made_at.count <= (size_t)atom) {
        vec_push(k->arena, &k->made_at, 0);
        vec_push(k->arena, &k->alone, 0);
    }
    int *made = &k->made_at.data[atom], *alone = &k->alone.data[atom];
    *made = k->at > *made ? k->at : *made;
    if (!*alone) {
        struct sync_value v = {.kind = VALUE_SUM, .terms = 1, .lanes = -1, .sites = a->sites};
        v.atom[0] = atom;
        v.factor[0] = 1;
        *alone = sync_intern(&k->values, &v, sizeof v, NULL);
    }
    return *alone;
}

/* Returns v with lanes from `lanes`, which include c. If all are equal, it is a sum. */
static int with_lanes(struct sync_check *k, struct sync_value *v, const int64_t *lanes)
{
    bool equal = true, unknown = true;
    for (int t = 0; t < k->threads; t++) {
        equal = equal && lanes[t] == lanes[0];
        unknown = unknown && lanes[t] == LANE_UNKNOWN;
    }
    if (unknown)
        return k->top;
    if (equal) {
        v->kind = VALUE_SUM;
        v->lanes = -1;
        v->c = lanes[0];
    } else {
        v->kind = VALUE_LANES;
        v->c = 0;
        v->lanes = sync_intern(&k->lanes, lanes, sizeof *lanes * (size_t)k->threads, NULL);
    }
    return sync_intern(&k->values, v, sizeof *v, NULL);
}

int sync_value_from_lanes(struct sync_check *k, const int64_t *lanes)
{
    struct sync_value v = {.lanes = -1};
    return with_lanes(k, &v, lanes);
}

int sync_value_thread(struct sync_check *k, int axis)
{
    if (k->thread_values[axis] >= 0)
        return k->thread_values[axis];
    int64_t *lanes = k->lane_scratch;
    int x = k->kernel->threads[0], y = k->kernel->threads[1] > 0 ? k->kernel->threads[1] : 1;
    for (int t = 0; t < k->threads; t++)
        lanes[t] = axis == 0 ? t % x : axis == 1 ? t / x % y : t / x / y;
    return k->thread_values[axis] = sync_value_from_lanes(k, lanes);
}

/* The key of an op on lanes. Such ops take long, and loops repeat the same ones. */
struct lane_op {
    int op, type, arg[3], unused;
    int64_t factor;
};

/* Returns the place of the result; if *is_new, the caller puts the result there. */
static int *lane_result(struct sync_check *k, struct lane_op key, bool *is_new)
{
    int number = sync_intern(&k->lane_ops, &key, sizeof key, is_new);
    if (*is_new)
        vec_push(k->arena, &k->lane_results, -1);
    return &k->lane_results.data[number];
}

/* --- sums --- */

int64_t sync_add_saturated(int64_t a, int64_t b)
{
    if (a == FACT_NONE || a == FACT_MANY)
        return a;
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return b < 0 ? FACT_NONE : FACT_MANY;
    return sum;
}

int64_t sync_sub_saturated(int64_t a, int64_t b)
{
    return b == INT64_MIN ? sync_add_saturated(sync_add_saturated(a, INT64_MAX), 1)
                          : sync_add_saturated(a, -b);
}

int64_t sync_mul_saturated(int64_t a, int64_t b)
{
    int64_t product;
    if (!__builtin_mul_overflow(a, b, &product))
        return product;
    return (a < 0) == (b < 0) ? FACT_MANY : FACT_NONE;
}

/* Numbers stay far from the ends of the range, so that a sum of two never overflows. */
#define LARGEST (INT64_MAX / 8)
static bool large(int64_t x)
{
    return x > LARGEST || x < -LARGEST;
}

/* Joins the terms of a with `sign` times those of b. Returns false if there are too many. */
static bool merge_terms(const struct sync_value *a, const struct sync_value *b, int64_t sign,
                        struct sync_value *out)
{
    int i = 0, j = 0;
    while (i < a->terms || j < b->terms) {
        bool from_a = j == b->terms || (i < a->terms && a->atom[i] <= b->atom[j]);
        bool from_b = i == a->terms || (j < b->terms && b->atom[j] <= a->atom[i]);
        int atom = from_a ? a->atom[i] : b->atom[j];
        int64_t factor = 0;
        if (from_a)
            factor += a->factor[i++];
        if (from_b)
            factor += sign * b->factor[j++];
        if (factor == 0)
            continue;
        if (out->terms == MAX_TERMS || factor > INT32_MAX || factor < -(int64_t)INT32_MAX)
            return false;
        out->atom[out->terms] = atom;
        out->factor[out->terms++] = factor;
    }
    return true;
}

static uint64_t sites_of(const struct sync_check *k, const struct sync_value *v)
{
    uint64_t sites = 0;
    for (int i = 0; i < v->terms; i++)
        sites |= sync_atom_at(k, v->atom[i])->sites;
    return sites;
}

/* Returns the lanes of the sum, in scratch memory; NULL if neither operand has any. */
static const int64_t *add_lanes(struct sync_check *k, const struct sync_value *a,
                                const struct sync_value *b, int64_t sign)
{
    const int64_t *la = sync_value_lanes_at(k, a), *lb = sync_value_lanes_at(k, b);
    if (!la && !lb)
        return NULL;
    int64_t *sum = k->lane_scratch;
    for (int t = 0; t < k->threads; t++) {
        int64_t x = la ? la[t] : a->c, y = lb ? lb[t] : b->c;
        bool known = x != LANE_UNKNOWN && y != LANE_UNKNOWN && !large(x) && !large(y);
        sum[t] = known ? x + sign * y : LANE_UNKNOWN;
    }
    return sum;
}

static int add_values(struct sync_check *k, int va, int vb, int64_t sign)
{
    const struct sync_value *pa = sync_value_at(k, va), *pb = sync_value_at(k, vb);
    if (pa->kind == VALUE_TOP || pb->kind == VALUE_TOP)
        return k->top;
    if (large(pa->c) || large(pb->c))
        return k->top;
    if (vb == k->zero)
        return va;
    int64_t x, y;
    bool number_a = sync_value_number(k, va, &x), number_b = sync_value_number(k, vb, &y);
    if (number_a && number_b)
        return sync_value_int(k, x + sign * y);
    struct sync_value a = *pa, b = *pb;
    if (a.kind == VALUE_MODULAR && number_b)
        return sync_value_modular(k, a.c + sign * b.c, a.step);
    if (b.kind == VALUE_MODULAR && number_a && sign > 0)
        return sync_value_modular(k, a.c + b.c, b.step);
    if (a.kind == VALUE_MODULAR || b.kind == VALUE_MODULAR)
        return k->top;

    struct sync_value v = {.kind = VALUE_SUM, .lanes = -1};
    if (!merge_terms(&a, &b, sign, &v)) {
        if (a.kind != VALUE_SUM || b.kind != VALUE_SUM)
            return k->top;
        struct atom op = {.kind = ATOM_OP,
                          .op = sign > 0 ? OP_ADD : OP_SUB,
                          .dtype = DT_I64,
                          .count = 2,
                          .arg = {va, vb},
                          .low = FACT_NONE,
                          .high = FACT_MANY};
        return sync_value_atom(k, &op);
    }
    v.sites = sites_of(k, &v);
    const int64_t *lanes = add_lanes(k, &a, &b, sign);
    if (lanes)
        return with_lanes(k, &v, lanes);
    v.c = a.c + sign * b.c;
    return sync_intern(&k->values, &v, sizeof v, NULL);
}

static bool is_lanes(const struct sync_check *k, int v)
{
    return sync_value_at(k, v)->kind == VALUE_LANES;
}

int sync_value_add(struct sync_check *k, int a, int b, int64_t sign)
{
    bool is_new;
    if (!is_lanes(k, a) && !is_lanes(k, b))
        return add_values(k, a, b, sign);
    struct lane_op key = {.op = OP_ADD, .type = -1, .arg = {a, b}, .factor = sign};
    int *result = lane_result(k, key, &is_new);
    if (is_new)
        *result = add_values(k, a, b, sign);
    return *result;
}

static int scale_value(struct sync_check *k, int a, int64_t factor)
{
    struct sync_value v = *sync_value_at(k, a);
    if (factor == 0)
        return k->zero;
    if (v.kind == VALUE_TOP || factor > INT32_MAX || factor < -INT32_MAX || v.c > INT32_MAX ||
        v.c < -(int64_t)INT32_MAX)
        return k->top;
    if (v.kind == VALUE_MODULAR)
        return factor > 0 && v.step <= INT32_MAX
                   ? sync_value_modular(k, v.c * factor, v.step * factor)
                   : k->top;
    for (int i = 0; i < v.terms; i++) {
        v.factor[i] *= factor; /* both are below 2^31 */
        if (v.factor[i] > INT32_MAX || v.factor[i] < -(int64_t)INT32_MAX)
            return k->top;
    }
    if (v.kind == VALUE_LANES) {
        const int64_t *from = sync_value_lanes_at(k, &v);
        int64_t *lanes = k->lane_scratch;
        for (int t = 0; t < k->threads; t++) {
            bool known = from[t] != LANE_UNKNOWN && from[t] < INT32_MAX && from[t] > -INT32_MAX;
            lanes[t] = known ? from[t] * factor : LANE_UNKNOWN;
        }
        return with_lanes(k, &v, lanes);
    }
    v.c *= factor;
    return sync_intern(&k->values, &v, sizeof v, NULL);
}

static int value_scale(struct sync_check *k, int a, int64_t factor)
{
    bool is_new;
    if (!is_lanes(k, a))
        return scale_value(k, a, factor);
    struct lane_op key = {.op = OP_MUL, .type = -1, .arg = {a}, .factor = factor};
    int *result = lane_result(k, key, &is_new);
    if (is_new)
        *result = scale_value(k, a, factor);
    return *result;
}

int sync_value_form(struct sync_check *k, int v, int64_t *scale)
{
    struct sync_value x = *sync_value_at(k, v);
    int64_t divisor = 0;
    for (int i = 0; i < x.terms; i++)
        divisor = greatest_common_divisor(divisor, x.factor[i]);
    if (x.factor[0] < 0)
        divisor = -divisor;
    for (int i = 0; i < x.terms; i++)
        x.factor[i] /= divisor;
    x.kind = VALUE_SUM;
    x.lanes = -1;
    x.c = 0;
    *scale = divisor;
    return sync_intern(&k->values, &x, sizeof x, NULL);
}

int sync_value_renew(struct sync_check *k, int v, int site, bool known, int64_t shift)
{
    struct sync_value x = *sync_value_at(k, v);
    if (!(x.sites >> (site & 63) & 1))
        return v;
    if (!known)
        return k->top;
    int64_t change = 0, part;
    uint64_t left = 0;
    for (int i = 0; i < x.terms; i++) {
        const struct atom *a = sync_atom_at(k, x.atom[i]);
        if (a->kind == ATOM_WIDE && a->site == site)
            change = __builtin_mul_overflow(x.factor[i], shift, &part)
                         ? FACT_MANY
                         : sync_sub_saturated(change, part);
        else
            left |= a->sites;
    }
    if (left >> (site & 63) & 1) /* the atom is inside an op, or another site has the same bit */
        return k->top;
    return sync_value_add(k, v, sync_value_int(k, change), 1); /* TOP if the change is too large */
}

/* --- ops --- */

static bool op_numbers(enum op op, enum dtype t, const int64_t *x, int count, int64_t *out)
{
    bool plain = t == DT_I32 || t == DT_I64;
    if (plain && count == 2) {
        switch (op) {
        case OP_ADD: *out = dtype_wrap(t, (int64_t)((uint64_t)x[0] + (uint64_t)x[1])); return true;
        case OP_SUB: *out = dtype_wrap(t, (int64_t)((uint64_t)x[0] - (uint64_t)x[1])); return true;
        case OP_MUL: *out = dtype_wrap(t, (int64_t)((uint64_t)x[0] * (uint64_t)x[1])); return true;
        case OP_LT: *out = x[0] < x[1]; return true;
        case OP_LE: *out = x[0] <= x[1]; return true;
        case OP_GT: *out = x[0] > x[1]; return true;
        case OP_GE: *out = x[0] >= x[1]; return true;
        case OP_EQ: *out = x[0] == x[1]; return true;
        case OP_NE: *out = x[0] != x[1]; return true;
        default: break;
        }
    }
    if (op == OP_LAND || op == OP_LOR) {
        *out = op == OP_LAND ? x[0] && x[1] : x[0] || x[1];
        return true;
    }
    struct literal args[3] = {0}, result;
    for (int i = 0; i < count; i++)
        args[i].i = x[i];
    if (count > 3 || !eval_op(op, t, args, count, &result) || result.is_float)
        return false;
    *out = result.i;
    return true;
}

/* Returns false && unknown = false, true || unknown = true, 0 * unknown = 0; otherwise unknown. */
static int64_t op_unknown(enum op op, const int64_t *x)
{
    bool falsy = x[0] == 0 || x[1] == 0;
    bool truthy = (x[0] != 0 && x[0] != LANE_UNKNOWN) || (x[1] != 0 && x[1] != LANE_UNKNOWN);
    if ((op == OP_LAND || op == OP_AND || op == OP_MUL) && falsy)
        return 0;
    if (op == OP_LOR && truthy)
        return 1;
    return LANE_UNKNOWN;
}

static int op_each_lane(struct sync_check *k, enum op op, enum dtype t, const int *args, int count)
{
    const int64_t *from[3] = {NULL};
    int64_t c[3] = {0};
    for (int i = 0; i < count; i++) {
        const struct sync_value *v = sync_value_at(k, args[i]);
        from[i] = v->terms ? NULL : sync_value_lanes_at(k, v);
        c[i] = v->kind == VALUE_SUM && !v->terms ? v->c : LANE_UNKNOWN;
    }
    int64_t *lanes = k->lane_scratch;
    for (int lane = 0; lane < k->threads; lane++) {
        int64_t x[3] = {0};
        bool known = true;
        for (int i = 0; i < count; i++) {
            x[i] = from[i] ? from[i][lane] : c[i];
            known = known && x[i] != LANE_UNKNOWN;
        }
        if (op == OP_SELECT && x[0] != LANE_UNKNOWN)
            lanes[lane] = x[0] ? x[1] : x[2];
        else if (!known)
            lanes[lane] = count == 2 ? op_unknown(op, x) : LANE_UNKNOWN;
        else if (!op_numbers(op, t, x, count, &lanes[lane]))
            lanes[lane] = LANE_UNKNOWN;
    }
    return sync_value_from_lanes(k, lanes);
}

static int op_lanes(struct sync_check *k, enum op op, enum dtype t, const int *args, int count)
{
    struct lane_op key = {.op = (int)op, .type = (int)t, .arg = {-1, -1, -1}};
    bool is_new;
    for (int i = 0; i < count; i++)
        key.arg[i] = args[i];
    int *result = lane_result(k, key, &is_new);
    if (is_new)
        *result = op_each_lane(k, op, t, args, count);
    return *result;
}

/* Computes x / d and x % d, and their forms with bit operations, for x = c + step * t. */
static int op_modular(struct sync_check *k, enum op op, const struct sync_value *x, int64_t d)
{
    if (op == OP_SHR && d >= 0 && d < 32) {
        op = OP_DIV;
        d = INT64_C(1) << d;
    }
    if (op == OP_AND && d > 0 && d < INT32_MAX && (d & (d + 1)) == 0) {
        op = OP_REM;
        d = d + 1;
    }
    if (d < 1 || x->step % d)
        return k->top;
    if (op == OP_DIV)
        return sync_value_modular(k, x->c / d, x->step / d);
    if (op == OP_REM)
        return sync_value_int(k, x->c % d);
    return k->top;
}

/* Computes an op whose result is a sum. Returns false for other ops. */
static bool op_sum(struct sync_check *k, enum op op, const int *args, int *out)
{
    int64_t c;
    switch (op) {
    case OP_ADD: *out = sync_value_add(k, args[0], args[1], 1); return true;
    case OP_SUB: *out = sync_value_add(k, args[0], args[1], -1); return true;
    case OP_NEG: *out = value_scale(k, args[0], -1); return true;
    case OP_MUL:
        if (sync_value_number(k, args[1], &c)) {
            *out = value_scale(k, args[0], c);
            return true;
        }
        if (sync_value_number(k, args[0], &c)) {
            *out = value_scale(k, args[1], c);
            return true;
        }
        return false;
    case OP_SHL:
        if (!sync_value_number(k, args[1], &c) || c < 0 || c > 30)
            return false;
        *out = value_scale(k, args[0], INT64_C(1) << c);
        return true;
    default: return false;
    }
}

static bool gives_bool(enum op op)
{
    return op_table[op].class == CLASS_COMPARE || op_table[op].class == CLASS_LOGIC;
}

static int op_atom(struct sync_check *k, enum op op, enum dtype t, const int *args, int count)
{
    struct atom a = {.kind = ATOM_OP,
                     .op = (int)op,
                     .dtype = (int)t,
                     .count = count,
                     .low = FACT_NONE,
                     .high = FACT_MANY};
    if (gives_bool(op)) {
        a.low = 0;
        a.high = 1;
    } else if (dtype_is_int(t) && !dtype_is_signed(t)) {
        a.low = 0;
        a.high = dtype_table[t].bits < 63 ? (INT64_C(1) << dtype_table[t].bits) - 1 : FACT_MANY;
    }
    for (int i = 0; i < count; i++)
        a.arg[i] = args[i];
    return sync_value_atom(k, &a);
}

int sync_value_wrapped(struct sync_check *k, enum op op, enum dtype t, const int *args, int count)
{
    bool lanes = false, terms = false, unknown = false;
    for (int i = 0; i < count; i++) {
        const struct sync_value *v = sync_value_at(k, args[i]);
        lanes = lanes || v->kind == VALUE_LANES;
        terms = terms || v->terms;
        unknown = unknown || v->kind == VALUE_TOP || v->kind == VALUE_MODULAR;
    }
    if (unknown || (lanes && terms))
        return k->top;
    if (lanes)
        return op_lanes(k, op, t, args, count);
    return terms ? op_atom(k, op, t, args, count) : sync_value_op(k, op, t, args, count);
}

int sync_value_op(struct sync_check *k, enum op op, enum dtype t, const int *args, int count)
{
    bool numbers = true, lanes = false, unknown = false;
    int64_t x[3] = {0}, c;
    if (count < 1 || count > 3)
        return k->top;
    for (int i = 0; i < count; i++) {
        const struct sync_value *v = sync_value_at(k, args[i]);
        numbers = numbers && sync_value_number(k, args[i], &x[i]);
        lanes = lanes || v->kind == VALUE_LANES;
        unknown = unknown || v->kind == VALUE_TOP || v->kind == VALUE_MODULAR;
    }
    int out;
    if (numbers && !dtype_is_float(t) && op_numbers(op, t, x, count, &c))
        return sync_value_int(k, c);
    if (!dtype_is_float(t) && op_sum(k, op, args, &out) && out != k->top)
        return out;
    if ((op == OP_MIN || op == OP_MAX) && args[0] == args[1])
        return args[0];
    const struct sync_value *first = sync_value_at(k, args[0]);
    if (first->kind == VALUE_MODULAR && count == 2 && sync_value_number(k, args[1], &c))
        return op_modular(k, op, first, c);
    if (lanes && !dtype_is_float(t))
        return op_lanes(k, op, t, args, count);
    if (lanes || unknown)
        return k->top;
    return op_atom(k, op, t, args, count);
}
