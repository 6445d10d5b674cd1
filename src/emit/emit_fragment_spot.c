/* The spots of a fragment: where the elements of a thread are in their tile. */
#include "emit/emit_fragment.h"

static struct scalar number(int64_t v)
{
    return emit_constant(DT_I32, v);
}

static struct scalar combine(struct emit *m, enum thread_opcode op, struct scalar a,
                             struct scalar b)
{
    return emit_op2(m, op, DT_I32, a, b);
}

/* Returns the weight of a digit in the thread's number in its block, or in its role. */
static int64_t thread_weight(const struct layout *l, int d)
{
    const bool of_warp = l->ins[l->digits[d].in].axis == AXIS_WARP;
    return (int64_t)layout_weight(l, d) * (of_warp ? WARP_LANES : 1);
}

struct scalar emit_thread_digit(struct emit *m, int64_t weight, int64_t extent)
{
    int64_t below = 1, end = m->layouts->threads;
    struct scalar v = m->place.number;
    for (int i = 0; i < 3 && m->kernel->threads[i] > 0; i++) {
        const int64_t along = m->kernel->threads[i];
        if (weight % below == 0 && below * along % (weight * extent) == 0) {
            v = emit_place(m, (enum thread_opcode)((int)THREAD_TID_X + i));
            weight /= below;
            end = along;
            break;
        }
        below *= along;
    }
    v = emit_by(m, THREAD_DIV, v, weight);
    return weight * extent < end ? emit_by(m, THREAD_REM, v, extent) : v;
}

static struct scalar digit(struct emit *m, int64_t weight, int64_t extent)
{
    return emit_as(m, emit_thread_digit(m, weight, extent), DT_I32);
}

static bool is_power_of_2(int64_t n)
{
    return (n & (n - 1)) == 0;
}

/* Computes whether a digit of the thread's number is 0. */
static struct scalar digit_is_0(struct emit *m, int64_t weight, int64_t extent)
{
    const struct scalar thread = m->place.number;
    if (weight * extent >= m->layouts->threads)
        return emit_by(m, THREAD_LT, thread, weight);
    if (is_power_of_2(weight) && is_power_of_2(extent))
        return emit_by(m, THREAD_EQ, emit_by(m, THREAD_AND, thread, (extent - 1) * weight), 0);
    return emit_by(m, THREAD_EQ, emit_as(m, digit(m, weight, extent), DT_U32), 0);
}

/* Returns whether digit d + 1 continues digit d, so that the two are one digit of the thread's number. */
static bool continues(const struct layout *l, int d)
{
    if (d + 1 == l->digit_count)
        return false;
    const struct layout_digit *x = &l->digits[d], *y = x + 1;
    bool same = thread_weight(l, d) * x->extent == thread_weight(l, d + 1);
    for (int j = 0; j < l->out_count; j++)
        same &= !x->xor [j] && !y->xor [j] && (int64_t)x->add[j] * x->extent == y->add[j];
    return same;
}

static void add_thread_digits(struct emit *m, struct spots *s)
{
    struct layout *l = &s->layout;
    for (int d = 0; d < l->digit_count; d++) {
        const struct layout_digit *g = &l->digits[d];
        const int64_t weight = thread_weight(l, d);
        int64_t extent = g->extent;
        if (l->ins[g->in].axis == AXIS_REG || extent == 1)
            continue;
        for (; continues(l, d); d++)
            extent *= l->digits[d + 1].extent;
        bool moves = false;
        for (int j = 0; j < l->out_count; j++)
            moves |= g->add[j] || g->xor [j];
        if (!moves) {
            emit_and(m, &s->first, digit_is_0(m, weight, extent));
            continue;
        }
        const struct scalar v = digit(m, weight, extent);
        for (int j = 0; j < l->out_count; j++) {
            if (g->add[j])
                s->added[j] = combine(m, THREAD_ADD, s->added[j],
                                      combine(m, THREAD_MUL, v, number(g->add[j])));
            s->most[j] += (extent - 1) * g->add[j];
            if (!g->xor [j])
                continue;
            s->xored[j] =
                combine(m, THREAD_XOR, s->xored[j], combine(m, THREAD_MUL, v, number(g->xor [j])));
            s->xors[j] = true;
        }
    }
}

/* Returns how many neighbouring registers have consecutive values of the last result; the first value is a multiple of their
 * number. */
static int vector_of(const struct layout *l)
{
    const int last = l->out_count - 1;
    const struct layout_digit *g = l->digit_count ? &l->digits[0] : NULL;
    if (!g || l->ins[g->in].axis != AXIS_REG || g->add[last] != 1)
        return 1;
    for (int j = 0; j < l->out_count; j++)
        if (g->xor [j] || (j != last && g->add[j]))
            return 1;
    int vector = g->extent & -g->extent;
    for (int d = 1; d < l->digit_count; d++)
        while (l->digits[d].add[last] % vector || l->digits[d].xor [last] % vector)
            vector /= 2;
    while (l->offset[last] % vector || l->flip[last] % vector)
        vector /= 2;
    return vector;
}

struct spots emit_spots(struct emit *m, const struct layout *l)
{
    struct spots s; /* large, so only what is read is set */
    const struct layout *runs = plan_kept_runs(m->layouts, l);
    s.first = emit_constant(DT_BOOL, 1);
    layout_copy(&s.layout, runs ? runs : l);
    if (!runs)
        layout_runs(&s.layout);
    for (int j = 0; j < LAYOUT_OUTS; j++) {
        s.added[j] = s.xored[j] = number(0);
        s.xors[j] = false;
        s.most[j] = s.least[j] = s.greatest[j] = 0;
    }
    for (int j = 0; j < s.layout.out_count; j++)
        layout_range(&s.layout, j, &s.least[j], &s.greatest[j]);
    add_thread_digits(m, &s);
    s.vector = vector_of(&s.layout);
    return s;
}

struct coordinate emit_spot(struct emit *m, const struct spots *s, int out, int32_t reg)
{
    const struct layout *l = &s->layout;
    int32_t flip = l->flip[out];
    int64_t more = l->offset[out];
    for (int d = 0; d < l->digit_count; d++) {
        const struct layout_digit *g = &l->digits[d];
        if (l->ins[g->in].axis != AXIS_REG)
            continue;
        int32_t value = reg / layout_weight(l, d) % g->extent;
        more += (int64_t)value * g->add[out];
        flip ^= value * g->xor [out];
    }
    if (!s->xors[out])
        return (struct coordinate){s->added[out], more + flip, s->most[out] + 1};
    struct scalar v = combine(m, THREAD_XOR, s->xored[out], number(flip));
    return (struct coordinate){combine(m, THREAD_ADD, v, s->added[out]), more, 0};
}

/* Returns whether the thread's part of a result may be below 0. */
static bool may_be_negative(const struct spots *s, int out)
{
    bool negative = s->xors[out];
    for (int d = 0; d < s->layout.digit_count; d++) {
        const struct layout_digit *g = &s->layout.digits[d];
        negative |= s->layout.ins[g->in].axis != AXIS_REG && g->add[out] < 0;
    }
    return negative;
}

struct scalar emit_spot_inside(struct emit *m, const struct spots *s, int32_t reg, unsigned axes)
{
    struct scalar inside = emit_constant(DT_BOOL, 1);
    for (int j = 0; j < s->layout.out_count; j++) {
        const int32_t extent = s->layout.outs[j].extent;
        if (!(axes >> j & 1) || (s->least[j] >= 0 && s->greatest[j] < extent))
            continue;
        const struct coordinate c = emit_spot(m, s, j, reg);
        const bool negative = may_be_negative(s, j),
                   upper = s->xors[j] ? s->greatest[j] >= extent : s->most[j] + c.more >= extent;
        if (!negative && (c.more >= extent || s->most[j] + c.more < 0))
            return emit_constant(DT_BOOL, 0);
        if (upper)
            emit_and(m, &inside, combine(m, THREAD_LT, c.thread, number(extent - c.more)));
        if (s->least[j] < 0 && (negative || c.more < 0))
            emit_and(m, &inside, combine(m, THREAD_GE, c.thread, number(-c.more)));
    }
    return inside;
}

bool emit_spot_repeats(const struct spots *s, int32_t reg)
{
    const struct layout *l = &s->layout;
    for (int d = 0; d < l->digit_count; d++) {
        const struct layout_digit *g = &l->digits[d];
        bool moves = l->ins[g->in].axis != AXIS_REG;
        for (int j = 0; j < l->out_count; j++)
            moves |= g->add[j] || g->xor [j];
        if (!moves && reg / layout_weight(l, d) % g->extent)
            return true;
    }
    return false;
}

struct gathers emit_find_gathers(struct emit *m, const struct expr *e, const struct layout *layout)
{
    struct gathers g = {0};
    int axis = 0;
    for (int i = 0; i < e->sym->type.rank; i++) {
        const struct index *x = i < e->indices ? &e->index[i] : NULL;
        if (x && x->kind == IX_GATHER) {
            int32_t *source;
            const struct layout *line = plan_axis_layout(m->layouts, layout, e->type.rank, axis,
                                                         e->type.extent[axis], &source);
            const struct fragment f = emit_fragment(m, x->value, line);
            const int32_t registers = emit_registers(layout);
            g.of[i] = arena_array(m->arena, struct scalar, registers + 1);
            for (int32_t r = 0; r < registers && !m->failed; r++)
                g.of[i][r] = f.v[source[r]];
            g.any = true;
        }
        axis += !x || x->kind != IX_ELEMENT;
    }
    return g;
}

const struct scalar *emit_gathered_at(const struct gathers *g, int32_t reg, struct scalar *index)
{
    for (int i = 0; i < MAX_RANK; i++)
        if (g->of[i])
            index[i] = g->of[i][reg];
    return g->any ? index : NULL;
}
