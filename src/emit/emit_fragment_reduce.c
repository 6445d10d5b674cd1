/* Reductions of fragments. A thread combines its registers as a tree, then lanes exchange with their neighbours, then
 * warps through scratch. Every holder of a result combines the same operands in the same order, so all have the same bits,
 * in every run. */
#include "emit/emit_fragment.h"
#include "plan/plan_layouts.h"

struct scalar emit_combine(struct emit *m, const struct reduction *r, struct scalar a,
                           struct scalar b)
{
    if (!emit_counts(a))
        return b;
    return emit_counts(b) ? emit_pair(m, r->op, r->t, a, b) : a;
}

/* Combines all values, neighbours first. */
static struct scalar tree(struct emit *m, const struct reduction *r, struct scalar *v,
                          int32_t count)
{
    for (; count > 1; count = (count + 1) / 2)
        for (int32_t i = 0; 2 * i < count; i++)
            v[i] = 2 * i + 1 < count ? emit_combine(m, r, v[2 * i], v[2 * i + 1]) : v[2 * i];
    return v[0];
}

struct scalar *emit_inside_elements(struct emit *m, const struct reduction *r,
                                    const struct fragment *x, bool *masked)
{
    const struct spots s = emit_spots(m, x->layout);
    struct scalar *v = arena_array(m->arena, struct scalar, x->count + 1);
    *masked = false;
    for (int32_t i = 0; i < x->count; i++) {
        const struct scalar inside = emit_spot_inside(m, &s, i, r->axes);
        *masked |= inside.o.kind == THREAD_VALUE || !inside.o.integer;
        v[i] = emit_as(m, x->v[i], r->t);
        if (inside.o.kind != THREAD_VALUE && !inside.o.integer)
            v[i] = (struct scalar){.dtype = DT_NONE};
        if (inside.o.kind == THREAD_VALUE)
            v[i] = emit_select(m, inside, v[i], emit_idle(r->op, r->t));
    }
    return v;
}

/* Combines elements of 16 bits two at a time, as words: words whose elements go to the same two results. Returns how many
 * values are left. */
static int32_t combine_words(struct emit *m, const struct reduction *r, struct scalar *v,
                             int32_t *to, int32_t count)
{
    bool *taken = arena_array(m->arena, bool, count + 1);
    struct scalar *one[2] = {arena_array(m->arena, struct scalar, count),
                             arena_array(m->arena, struct scalar, count)};
    int32_t left = 0;
    for (int32_t w = 0; w < count; w += 2) {
        int32_t n = 0, first = to[w], second = to[w + 1];
        for (int32_t i = w; i < count && !taken[w]; i += 2)
            if (!taken[i] && to[i] == first && to[i + 1] == second) {
                taken[i] = i > w;
                one[0][n] = v[i];
                one[1][n++] = v[i + 1];
            }
        for (int k = 0; k < 2 && n > 0; k++) {
            v[left] = tree(m, r, one[k], n);
            to[left++] = k ? second : first;
        }
    }
    return left;
}

static struct scalar *within_thread(struct emit *m, const struct reduction *r,
                                    const struct scalar *v, const int32_t *to, int32_t count,
                                    int32_t results)
{
    struct scalar *out = arena_array(m->arena, struct scalar, results + 1);
    struct scalar *of_one = arena_array(m->arena, struct scalar, count + 1);
    for (int32_t i = 0; i < results; i++) {
        int32_t n = 0;
        for (int32_t k = 0; k < count; k++)
            if (to[k] == i)
                of_one[n++] = v[k];
        out[i] = n > 0 ? tree(m, r, of_one, n) : (struct scalar){.dtype = DT_NONE};
        if (!emit_counts(out[i]))
            out[i] = emit_idle(r->op, r->t);
    }
    return out;
}

/* --- lanes and warps --- */

static bool moves(const struct layout *l, int d, int axis)
{
    bool any = false;
    for (int j = 0; j < l->out_count; j++)
        any |= (axis < 0 || j == axis) && (l->digits[d].xor [j] || l->digits[d].add[j]);
    return any;
}

/* Returns the operation that reduces integers of all lanes; THREAD_OPS: there is none. */
static enum thread_opcode of_lanes(const struct reduction *r)
{
    if (r->t != DT_I32 && r->t != DT_U32)
        return THREAD_OPS;
    switch (r->op) {
    case OP_ADD: return THREAD_WARP_ADD;
    case OP_MIN: return THREAD_WARP_MIN;
    case OP_MAX: return THREAD_WARP_MAX;
    case OP_AND: return THREAD_WARP_AND;
    case OP_OR: return THREAD_WARP_OR;
    default: return THREAD_OPS;
    }
}

static void across_lanes(struct emit *m, const struct reduction *r, const struct layout *l,
                         struct scalar *v, int32_t count)
{
    const int in = layout_in_index(l, AXIS_LANE);
    int32_t mask = 0;
    for (int d = 0; d < l->digit_count; d++)
        if (l->digits[d].in == in && moves(l, d, r->axis))
            mask |= layout_weight(l, d);
    const enum thread_opcode whole = of_lanes(r);
    if (mask == WARP_LANES - 1 && whole != THREAD_OPS) {
        for (int32_t i = 0; i < count; i++)
            v[i].o = thread_use(THREAD_ADD_OP(&m->b, whole, r->t, DT_NONE,
                                              emit_value_of(m, (struct scalar){v[i].o, r->t}).o));
        return;
    }
    for (int32_t bit = WARP_LANES / 2; bit > 0; bit /= 2)
        for (int32_t i = 0; mask & bit && i < count; i++) {
            const struct thread_operand x = emit_value_of(m, (struct scalar){v[i].o, r->t}).o;
            struct scalar other = {thread_use(THREAD_ADD_OP(&m->b, THREAD_SHUFFLE_XOR, r->t,
                                                            DT_NONE, x, thread_integer(bit))),
                                   r->t};
            v[i] = emit_combine(m, r, (struct scalar){x, r->t}, other);
        }
}

struct fragment emit_of_warps(struct emit *m, const struct warp_totals *w, enum dtype t,
                              const struct scalar *v)
{
    struct fragment f = emit_fragment_new(m, t, plan_keep(m->layouts, &w->totals));
    for (int32_t i = 0; i < f.count; i++)
        f.v[i] = v[w->registers[i]];
    return emit_fragment_convert(m, &f, &w->all);
}

/* Combines the values of the warps. to: the result of each register of l. */
static void across_warps(struct emit *m, const struct reduction *r, const struct layout *l,
                         const int32_t *to, struct scalar *v)
{
    struct warp_totals w;
    if (!plan_warp_totals(m->layouts, l, r->axis, INT32_MAX, &w))
        return;
    const int32_t count = emit_registers(l);
    struct scalar *of_register = arena_array(m->arena, struct scalar, count + 1);
    for (int32_t i = 0; i < count; i++)
        of_register[i] = v[to[i]];
    const struct fragment all = emit_of_warps(m, &w, r->t, of_register);
    for (int32_t i = emit_registers(&w.totals) - 1; i >= 0 && !m->failed; i--)
        v[to[w.registers[i]]] = tree(m, r, all.v + i * w.warps, w.warps);
}

/* --- the whole --- */

/* Returns the type in which the reduction is computed: a bool is computed as a number. */
static enum dtype computed_in(const struct expr *e)
{
    const enum dtype t = e->type.dtype;
    return t == DT_BOOL ? DT_U32 : t;
}

static struct fragment reduce(struct emit *m, const struct reduction *r, const struct fragment *x)
{
    const struct layout *left = plan_reduced_layout(m->layouts, x->layout, r->axis);
    struct type type = {.rank = r->axis < 0 ? 0 : x->layout->out_count};
    for (int i = 0; i < type.rank; i++)
        type.extent[i] = left->outs[i].extent;
    int32_t *to = arena_copy(m->arena, plan_operand_registers(m->layouts, x->layout, left, &type),
                             (size_t)x->count * sizeof *to);
    int32_t *of = arena_copy(m->arena, to, (size_t)x->count * sizeof *of);
    bool masked;
    struct fragment out = emit_fragment_new(m, r->t, left);
    struct scalar *v = emit_inside_elements(m, r, x, &masked);
    int32_t count = x->count;
    const bool halves = x->dtype == r->t && dtype_is_float(r->t) && dtype_size(r->t) == 2;
    if (halves && count % 2 == 0 && !masked)
        count = combine_words(m, r, v, of, count);
    out.v = within_thread(m, r, v, of, count, out.count);
    across_lanes(m, r, x->layout, out.v, out.count);
    across_warps(m, r, x->layout, to, out.v);
    return out;
}

struct fragment emit_fragment_reduce(struct emit *m, const struct expr *e)
{
    struct reduction r = {.op = op_of_reduction(e->op),
                          .t = computed_in(e),
                          .axis = e->axis,
                          .axes = e->axis < 0 ? ~0u : 1u << e->axis};
    struct fragment x = emit_fragment_natural(m, e->args[0]);
    if (m->failed)
        return x;
    const struct layout *left = plan_reduced_layout(m->layouts, x.layout, e->axis);
    if (e->axis >= 0 && plan_axis_mixed(x.layout, e->axis)) {
        struct type type = e->args[0]->type;
        x = emit_fragment_convert(m, &x, plan_blocked(m->layouts, &type, 0));
    }
    struct fragment sum = reduce(m, &r, &x);
    for (int32_t i = 0; i < sum.count; i++)
        sum.v[i] = emit_as(m, sum.v[i], e->type.dtype);
    sum.dtype = e->type.dtype;
    return emit_fragment_convert(m, &sum, left);
}
