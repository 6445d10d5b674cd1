/* A fragment in another layout, as layout_plan_conversion says: moves, shuffles with selects around them, or a way through
 * scratch. */
#include "emit/emit_fragment.h"
#include "layout/layout_convert.h"
#include "plan/plan_limits.h"
#include "plan/plan_layouts.h"

#include <assert.h>

enum { LANE_BITS = 5, MOST_PACKED = 4 };

/* Returns registers in another order: register r is register source[r]. */
static struct fragment pick(struct emit *m, const struct fragment *f, const struct layout *to,
                            const int32_t *source)
{
    struct fragment out = emit_fragment_new(m, f->dtype, to);
    for (int32_t r = 0; r < out.count; r++)
        out.v[r] =
            source[r] >= 0 && source[r] < f->count ? f->v[source[r]] : emit_constant(f->dtype, 0);
    return out;
}

/* --- numbers that a lane computes from its own --- */

static struct scalar combine(struct emit *m, enum thread_opcode op, struct scalar a,
                             struct scalar b)
{
    return emit_op2(m, op, DT_U32, a, b);
}

/* Returns `count` bits of the lane, from bit `first` on, as bits from bit `to` on. */
static struct scalar lane_field(struct emit *m, int first, int count, int to)
{
    struct scalar v = emit_by(m, THREAD_DIV, m->place.lane, (int64_t)1 << first);
    if (first + count < LANE_BITS)
        v = emit_by(m, THREAD_REM, v, (int64_t)1 << count);
    return emit_by(m, THREAD_MUL, v, (int64_t)1 << to);
}

/* Returns the part of the map that depends on the lane: fields of the lane's bits, each shifted to its place in the map. */
static struct scalar lane_part(struct emit *m, const struct lane_map *map)
{
    struct scalar sum = emit_constant(DT_U32, 0);
    uint32_t left[LANE_BITS];
    for (int b = 0; b < LANE_BITS; b++)
        left[b] = (uint32_t)map->basis[b];
    for (int b = 0; b < LANE_BITS; b++)
        for (int to = 0; to < LANE_BITS; to++) {
            int count = 0;
            while (b + count < LANE_BITS && left[b + count] >> (to + count) & 1) {
                left[b + count] &= ~(1u << (to + count));
                count++;
            }
            if (count > 0)
                sum = combine(m, THREAD_XOR, sum, lane_field(m, b, count, to));
        }
    return sum;
}

/* Returns whether the lane sets bit `bit` of the map's number. NULL: the bit does not depend on the lane. */
static struct thread_value *lane_decides(struct emit *m, const struct lane_map *map, int bit)
{
    struct scalar sum = emit_constant(DT_U32, 0);
    bool any = false;
    for (int b = 0; b < LANE_BITS; b++)
        if (map->basis[b] >> bit & 1) {
            sum = combine(m, THREAD_XOR, sum, lane_field(m, b, 1, 0));
            any = true;
        }
    return any ? emit_by(m, THREAD_NE, sum, 0).o.value : NULL;
}

static bool is_butterfly(const struct lane_map *from)
{
    for (int b = 0; b < LANE_BITS; b++)
        if (from->basis[b] != 1 << b)
            return false;
    return true;
}

/* --- shuffles --- */

/* Words numbered 0 … 2^bits - 1. Each lane wants number n ^ (its own part). Lanes exchange words bit by bit, and only those
 * that are asked for. A word is a scalar, or a group of elements that share a register. */
struct exchange {
    struct emit *m;
    enum dtype dtype;
    int bits;
    struct thread_value *decides[CONVERT_BITS];
    struct scalar *given;       /* [1 << bits] */
    struct thread_value **made; /* [bits + 1][1 << bits]; NULL: not yet */
};

static void exchange_open(struct emit *m, struct exchange *x, enum dtype t,
                          const struct lane_map *map, int bits)
{
    *x = (struct exchange){.m = m, .dtype = t, .bits = bits};
    for (int b = 0; b < bits; b++)
        x->decides[b] = lane_decides(m, map, b);
    x->given = arena_array(m->arena, struct scalar, (size_t)1 << bits);
    x->made = arena_array(m->arena, struct thread_value *, (size_t)(bits + 1) << bits);
}

static struct scalar exchanged(struct exchange *x, int level, int32_t n)
{
    while (level > 0 && !x->decides[level - 1])
        level--;
    struct thread_value **made = &x->made[(level << x->bits) + n];
    if (level == 0)
        return x->given[n];
    if (!*made) {
        const struct scalar stays = exchanged(x, level - 1, n),
                            comes = exchanged(x, level - 1, n ^ 1 << (level - 1));
        *made = THREAD_ADD_OP(&x->m->b, THREAD_SELECT, x->dtype, DT_NONE,
                              thread_use(x->decides[level - 1]), comes.o, stays.o);
    }
    return (struct scalar){thread_use(*made), x->dtype};
}

/* Returns the elements that travel together, beginning with register `reg`. */
static struct scalar travelling(struct emit *m, const struct fragment *f,
                                const struct convert_shuffles *s, int32_t reg)
{
    struct thread_operand e[MOST_PACKED];
    for (int p = 0; p < 1 << s->pack_bits; p++) {
        int32_t r = reg;
        for (int b = 0; b < s->pack_bits; b++)
            r += (p >> b & 1) * s->old_pack[b];
        if (r < 0 || r >= f->count) /* no thread holds it: any value */
            r = 0;
        e[p] = emit_value_of(m, f->v[r]).o;
    }
    return (struct scalar){emit_join(m, f->dtype, e, 1 << s->pack_bits), f->dtype};
}

static struct scalar shuffled(struct emit *m, enum dtype t, const struct lane_map *from,
                              struct scalar word)
{
    const bool butterfly = is_butterfly(from);
    if (butterfly && from->constant == 0)
        return word;
    const struct scalar lane = butterfly ? emit_constant(DT_U32, from->constant)
                                         : combine(m, THREAD_XOR, lane_part(m, from),
                                                   emit_constant(DT_U32, from->constant));
    return (struct scalar){
        thread_use(THREAD_ADD_OP(&m->b, butterfly ? THREAD_SHUFFLE_XOR : THREAD_SHUFFLE, t, DT_NONE,
                                 word.o, lane.o)),
        t};
}

/* Takes apart a word that arrived, into the registers that it is for. */
static void arrive(struct emit *m, struct fragment *to, const struct convert_shuffles *s,
                   struct scalar word, int32_t reg)
{
    struct scalar e[MOST_PACKED] = {word};
    emit_take_apart(m, e, 1 << s->pack_bits);
    for (int p = 0; p < 1 << s->pack_bits; p++) {
        int32_t r = reg;
        for (int b = 0; b < s->pack_bits; b++)
            r += (p >> b & 1) * s->new_pack[b];
        to->v[r] = e[p];
    }
}

static struct fragment by_shuffles(struct emit *m, const struct fragment *f,
                                   const struct layout *to, const struct convert_shuffles *s)
{
    struct fragment out = emit_fragment_new(m, f->dtype, to);
    for (int o = 0; o < s->outers; o++) {
        struct exchange give, take;
        exchange_open(m, &give, f->dtype, &s->give[0], s->old.count);
        exchange_open(m, &take, f->dtype, &s->take[0], s->new.count);
        for (int32_t n = 0; n < 1 << s->old.count; n++)
            give.given[n] = travelling(m, f, s, s->old_outer[o] + register_of(&s->old, n));
        for (int n = 0; n < s->rounds; n++) {
            const struct scalar word = exchanged(&give, give.bits, s->give[n].constant);
            take.given[s->take[n].constant] = shuffled(m, f->dtype, &s->from[n], word);
        }
        for (int n = 0; n < s->rounds; n++)
            arrive(m, &out, s, exchanged(&take, take.bits, n),
                   s->new_outer[o] + register_of(&s->new, n));
    }
    return out;
}

/* --- through scratch, a part of the tile in each pass --- */

/* Cuts a part of a layout. Returns which register of the whole each one is. */
static int32_t *cut(struct emit *m, const struct layout *whole, const struct convert_plan *p,
                    int pass, const struct layout **part)
{
    const enum layout_axis axis = whole->outs[p->part_axis].axis;
    const int32_t start = pass * p->part;
    struct layout slice;
    const bool can_cut = layout_slice_out(whole, axis, start, p->part, &slice);
    assert(can_cut && "the plan has parts that can be cut");
    (void)can_cut;
    *part = plan_keep_normal(m->layouts, &slice);
    int32_t *source = arena_array(m->arena, int32_t, emit_registers(*part) + 1);
    layout_slice_registers(whole, plan_register_places(m->layouts, whole), *part, axis, start,
                           source);
    return source;
}

static struct fragment in_passes(struct emit *m, const struct fragment *f, const struct layout *to,
                                 const struct convert_plan *p)
{
    struct fragment out = emit_fragment_new(m, f->dtype, to);
    for (int pass = 0; pass < p->passes && !m->failed; pass++) {
        const struct layout *stored, *loaded;
        const int32_t *from = cut(m, f->layout, p, pass, &stored),
                      *back = cut(m, to, p, pass, &loaded);
        const struct fragment part = pick(m, f, stored, from);
        struct fragment got = pick(m, &out, loaded, back);
        emit_fragment_pass(m, &part, &p->scratch.layout, &p->scratch.layout, &got);
        const struct spots s = emit_spots(m, loaded);
        for (int32_t r = 0; r < got.count; r++) {
            const struct scalar inside = emit_spot_inside(m, &s, r, ~0u);
            if (back[r] >= 0 && (inside.o.kind == THREAD_VALUE || inside.o.integer))
                out.v[back[r]] = got.v[r];
        }
    }
    return out;
}

/* --- any way --- */

static struct fragment convert(struct emit *m, const struct fragment *f, const struct layout *to)
{
    const int bits = f->dtype == DT_BOOL ? 8 : dtype_table[f->dtype].bits;
    const bool stores_matrices = emit_stores_matrices(m, f->layout);
    const struct conversion *c = plan_conversion(m->layouts, f->layout, to, bits, stores_matrices);
    const struct convert_plan *p = &c->plan;
    if (!c->possible) {
        plan_limits_no_room(m->layouts, layout_size_out(to) * bits / 8);
        m->failed = true;
        return emit_fragment_new(m, f->dtype, to);
    }
    if (p->kind <= CONVERT_MOVES)
        return pick(m, f, to, p->source);
    if (f->dtype == DT_BOOL) {
        struct fragment bytes = emit_fragment_cast(m, f, DT_U8);
        bytes = convert(m, &bytes, to);
        return emit_fragment_cast(m, &bytes, DT_BOOL);
    }
    if (p->kind == CONVERT_SHUFFLES)
        return by_shuffles(m, f, to, &p->shuffles);
    return p->passes == 1 ? emit_fragment_through(m, f, &p->scratch.layout, &p->scratch.layout, to)
                          : in_passes(m, f, to, p);
}

/* Returns the layout without the registers that repeat the elements of another one. */
static const struct layout *without_copies(struct emit *m, const struct layout *l,
                                           const int32_t **registers)
{
    struct type same = {.rank = l->out_count};
    for (int i = 0; i < same.rank; i++)
        same.extent[i] = l->outs[i].extent;
    const struct layout *single = plan_operand_layout(m->layouts, l, &same);
    *registers = plan_operand_registers(m->layouts, l, single, &same);
    return single;
}

struct fragment emit_fragment_convert(struct emit *m, const struct fragment *f,
                                      const struct layout *layout)
{
    const struct layout *to = plan_keep(m->layouts, layout);
    const int32_t *of_from, *of_to;
    if (f->layout == to || m->failed)
        return *f;
    const struct layout *from_single = without_copies(m, f->layout, &of_from);
    const struct layout *to_single = without_copies(m, to, &of_to);
    struct fragment x = *f;
    emit_fragment_apart(m, &x);
    if (from_single != f->layout) {
        int32_t *source = arena_array(m->arena, int32_t, emit_registers(from_single) + 1);
        for (int32_t r = f->count - 1; r >= 0; r--)
            source[of_from[r]] = r;
        x = pick(m, &x, from_single, source);
    }
    if (from_single != to_single)
        x = convert(m, &x, to_single);
    return to_single == to ? x : pick(m, &x, to, of_to);
}
