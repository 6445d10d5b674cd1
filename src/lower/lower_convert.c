/* The same tile in another layout, as layout_plan_conversion says: moves, shuffles with selects
 * around them, or a way through shared memory.
 */
#include "lower/lower_tile_own.h"

#include "lower/lower_memory.h"
#include "plan/plan_limits.h"

#include "layout/layout_named.h"

#include <assert.h>

/* --- Shuffles --- */

/* A number computed from the lane: constant ^ (basis of its set bits). The part without the
 * constant. */
static const struct value *lane_part(struct lower *l, const struct lane_map *m)
{
    const struct value *sum = value_int(l, DT_I32, 0), *lane = value_lane(l);
    uint32_t left[5];
    for (int b = 0; b < 5; b++)
        left[b] = (uint32_t)m->basis[b];
    for (int b = 0; b < 5; b++)
        for (int to = 0; to < 5; to++) {
            int count = 0;
            while (b + count < 5 && left[b + count] >> (to + count) & 1) {
                left[b + count] &= ~(1u << (to + count));
                count++;
            }
            if (count > 0)
                sum = value_xor(l, sum, value_affine(l, value_bits(l, lane, b, count), 1 << to, 0));
        }
    return sum;
}

/* Is bit `bit` of the map's number set, as far as the lane decides? NULL: it does not. */
static const struct value *lane_decides(struct lower *l, const struct lane_map *m, int bit)
{
    const struct value *lane = value_lane(l), *sum = NULL;
    for (int b = 0; b < 5; b++)
        if (m->basis[b] >> bit & 1) {
            const struct value *v = value_bits(l, lane, b, 1);
            sum = sum ? value_xor(l, sum, v) : v;
        }
    return sum ? value_apply2(l, OP_NE, DT_BOOL, sum, value_int(l, DT_I32, 0)) : NULL;
}

/* Returns a word that is exchanged: 2^pack_bits elements of the old layout, beginning with `reg`. */
static struct ptx_operand travelling(struct lower *l, const struct regtile *t,
                                     const struct convert_shuffles *s, int32_t reg)
{
    int32_t e[4]; /* an element that no thread holds has an arbitrary source */
    if (tile_per_word(t->dtype) == 1)
        return t->word[reg >= 0 && reg < t->elements ? reg : 0];
    for (int p = 0; p < 1 << s->pack_bits; p++) {
        e[p] = reg;
        for (int b = 0; b < s->pack_bits; b++)
            e[p] += (p >> b & 1) * s->old_pack[b];
        e[p] = e[p] >= 0 && e[p] < t->elements ? e[p] : -1;
    }
    return tile_word(l, t, e, 1 << s->pack_bits);
}

/* Words numbered 0 … 2^bits - 1 of which a lane wants number n ^ (its own part): exchanges, bit by
 * bit, of only those that are asked for. */
struct exchange {
    struct lower *l;
    enum dtype type; /* of a word */
    int bits;
    const struct value *decides[CONVERT_BITS];
    struct ptx_operand *given; /* [1 << bits] */
    /* not NULL: what is given is taken from there, when it is asked for */
    const struct regtile *tile;
    const struct convert_shuffles *shuffles;
    int32_t outer;
    struct ptx_operand *made; /* [bits + 1][1 << bits]; a kind of PTX_NOTHING: not yet */
};

static void exchange_open(struct lower *l, struct exchange *x, enum dtype type,
                          const struct lane_map *m, int bits)
{
    *x = (struct exchange){.l = l, .type = type, .bits = bits};
    for (int b = 0; b < bits; b++)
        x->decides[b] = lane_decides(l, m, b);
    x->given = arena_array(l->arena, struct ptx_operand, 1 << bits);
    x->made = arena_array(l->arena, struct ptx_operand, (bits + 1) << bits);
}

static struct ptx_operand exchanged(struct exchange *x, int level, int32_t n)
{
    while (level > 0 && !x->decides[level - 1])
        level--;
    if (level == 0 && x->tile && x->given[n].kind == PTX_NOTHING)
        x->given[n] =
            travelling(x->l, x->tile, x->shuffles, x->outer + register_of(&x->shuffles->old, n));
    if (level == 0)
        return x->given[n];
    struct ptx_operand *made = &x->made[(level << x->bits) + n];
    if (made->kind != PTX_NOTHING)
        return *made;
    struct ptx_operand stays = exchanged(x, level - 1, n);
    struct ptx_operand comes = exchanged(x, level - 1, n ^ 1 << (level - 1));
    struct ptx_operand p = value_operand(x->l, x->decides[level - 1]);
    *made = tile_select(x->l, x->type, p, comes, stays);
    return *made;
}

/* The words that have arrived, and the places of elements in them. */
struct arrival {
    struct regtile words; /* all that arrived, as a tile of words */
    int32_t *source;      /* for each new register: element of `words` */
};

static struct arrival arrival_of(struct lower *l, const struct regtile *t,
                                 const struct convert_shuffles *s, int32_t registers)
{
    int per_word = tile_per_word(t->dtype);
    struct arrival a = {.words = {.dtype = t->dtype, .words = s->rounds * s->outers}};
    a.words.elements = a.words.words * per_word;
    a.words.word = arena_array(l->arena, struct ptx_operand, a.words.words);
    a.source = arena_array(l->arena, int32_t, registers);
    return a;
}

static void arrive(struct arrival *a, const struct convert_shuffles *s, int word, int32_t reg)
{
    int per_word = tile_per_word(a->words.dtype);
    for (int p = 0; p < 1 << s->pack_bits; p++) {
        int32_t r = reg;
        for (int b = 0; b < s->pack_bits; b++)
            r += (p >> b & 1) * s->new_pack[b];
        a->source[r] = word * per_word + p;
    }
}

/* A lane's neighbour n ^ lane is asked by bfly. */
static bool is_butterfly(const struct lane_map *from)
{
    for (int b = 0; b < 5; b++)
        if (from->basis[b] != 1 << b)
            return false;
    return true;
}

static struct ptx_operand shuffled(struct lower *l, enum dtype t, const struct lane_map *from,
                                   struct ptx_operand word)
{
    if (is_butterfly(from))
        return from->constant
                   ? tile_shuffle(l, t, true, word, SHUFFLE_BFLY, ptx_int(from->constant))
                   : word;
    const struct value *lane = lane_part(l, from);
    if (from->constant)
        lane = value_xor(l, lane, value_int(l, DT_I32, from->constant));
    return tile_shuffle(l, t, true, word, SHUFFLE_IDX, value_operand(l, lane));
}

static struct regtile by_shuffles(struct lower *l, const struct regtile *t, const struct layout *to,
                                  const struct convert_shuffles *s)
{
    enum dtype word_type = tile_per_word(t->dtype) > 1 ? DT_U32 : t->dtype;
    struct arrival a = arrival_of(l, t, s, plan_registers(to));
    for (int o = 0; o < s->outers; o++) {
        struct exchange give, take;
        exchange_open(l, &give, word_type, &s->give[0], s->old.count);
        exchange_open(l, &take, word_type, &s->take[0], s->new.count);
        give.tile = t;
        give.shuffles = s;
        give.outer = s->old_outer[o];
        for (int n = 0; n < s->rounds; n++) {
            struct ptx_operand word = exchanged(&give, give.bits, s->give[n].constant);
            take.given[s->take[n].constant] = shuffled(l, t->dtype, &s->from[n], word);
        }
        for (int n = 0; n < s->rounds; n++) {
            int word = o * s->rounds + n;
            a.words.word[word] = exchanged(&take, take.bits, n);
            arrive(&a, s, word, s->new_outer[o] + register_of(&s->new, n));
        }
    }
    return tile_pick(l, &a.words, to, a.source);
}

/* --- Through memory --- */

/* If several warps hold the same elements, one of them stores them for all. */
static void barrier(struct lower *l, const struct convert_plan *p, const struct layout *from)
{
    if (p->within_warps && !tile_is_first_warp(l, from))
        ptx_emit(&l->b, "bar.warp.sync", ptx_int(-1));
    else
        barrier_emit(l);
}

/* The part of a pass, and which of its registers is which of the whole. Of the whole tile too some
 * registers may hold nothing. */
static int32_t *cut(struct lower *l, const struct layout *whole, const int32_t *places,
                    const struct convert_plan *p, int pass, struct layout *part)
{
    enum layout_axis axis = whole->outs[p->part_axis].axis;
    int32_t start = pass * p->part;
    if (!layout_slice_out(whole, axis, start, p->part, part))
        assert(false && "the plan has parts that can be cut");
    int32_t registers = plan_registers(part);
    int32_t *source = arena_array(l->arena, int32_t, registers);
    for (int32_t r = 0; r < registers; r++)
        source[r] = r;
    if (p->passes > 1 || registers != plan_registers(whole))
        layout_slice_registers(whole, places, part, axis, start, source);
    return source;
}

/* The part's tile made of words of the whole's: what a thread does not have of the part stays as it
 * is. False: words of several elements are cut otherwise. */
static bool words_of_whole(struct lower *l, const struct regtile *whole, const int32_t *registers,
                           struct regtile *part)
{
    int per_word = tile_per_word(part->dtype);
    struct ptx_operand *word = arena_array(l->arena, struct ptx_operand, part->words);
    for (int r = 0; r < part->elements; r++) {
        if (registers[r] % per_word != r % per_word ||
            registers[r] / per_word != registers[r - r % per_word] / per_word)
            return false;
        word[r / per_word] = whole->word[registers[r] / per_word];
    }
    part->word = word;
    return true;
}

/* Puts this thread's elements of the part into the whole. */
static void merge(struct lower *l, struct regtile *whole, const struct regtile *part,
                  const int32_t *registers)
{
    struct ptx_operand *new = tile_elements(l, part), *all = tile_elements(l, whole);
    for (int r = 0; r < part->elements; r++) {
        const struct value *inside = tile_inside_of(l, part->layout, r);
        struct guard g = guard_of(l, inside);
        if (g.always)
            all[registers[r]] = new[r];
        else if (!g.never)
            all[registers[r]] = tile_select(l, part->dtype, g.predicate, new[r], all[registers[r]]);
    }
    *whole = tile_of_elements(l, whole->dtype, whole->layout, all);
}

static void load_part(struct lower *l, const struct value *base, const struct convert_plan *p,
                      const struct layout *layout, const int32_t *registers, struct regtile *whole)
{
    struct regtile part = tile_new(l, whole->dtype, layout);
    bool direct = words_of_whole(l, whole, registers, &part);
    shared_get(l, base, &p->scratch.layout, &p->scratch.access[1], &part);
    if (!direct)
        merge(l, whole, &part, registers);
}

static struct regtile through_memory(struct lower *l, const struct regtile *t,
                                     const struct layout *to, const struct convert_plan *p)
{
    struct regtile out = tile_new(l, t->dtype, to);
    int64_t at = scratch_take(l, p->scratch.bytes);
    const struct value *base = scratch_address(l, at);
    const int32_t *from_places = plan_register_places(&l->layouts, t->layout);
    const int32_t *to_places = plan_register_places(&l->layouts, to);
    for (int pass = 0; pass < p->passes; pass++) {
        struct layout from_part, to_part;
        int32_t *from_registers = cut(l, t->layout, from_places, p, pass, &from_part);
        int32_t *to_registers = cut(l, to, to_places, p, pass, &to_part);
        struct regtile stored = tile_pick(l, t, &from_part, from_registers);
        if (pass > 0) /* the places have been other warps' */
            barrier_emit(l);
        shared_put(l, base, &p->scratch.layout, &p->scratch.access[0], &stored);
        barrier(l, p, t->layout);
        load_part(l, base, p, &to_part, to_registers, &out);
    }
    scratch_done(l);
    return out;
}

/* --- Any way --- */

static struct regtile convert_bool(struct lower *l, const struct regtile *t,
                                   const struct layout *to)
{
    struct regtile bytes = tile_as_bytes(l, t);
    bytes = tile_convert(l, &bytes, to);
    return tile_as_bool(l, &bytes);
}

/* The layout without registers that hold what another holds, and which of its own each was. */
static const struct layout *without_copies(struct lower *l, const struct layout *layout,
                                           const int32_t **registers)
{
    struct type same = {.rank = layout->out_count};
    for (int i = 0; i < same.rank; i++)
        same.extent[i] = layout->outs[i].extent;
    const struct layout *single = plan_operand_layout(&l->layouts, layout, &same);
    *registers = plan_operand_registers(&l->layouts, layout, single, &same);
    return single;
}

/* Returns the tile in the new layout. Elements that it masks are arbitrary. */
static struct regtile moved(struct lower *l, const struct regtile *t, const struct layout *to,
                            const int32_t *source)
{
    int32_t *from = arena_copy(l->arena, source, (size_t)plan_registers(to) * sizeof *source);
    for (int32_t r = 0; r < plan_registers(to); r++)
        from[r] = from[r] >= 0 && from[r] < t->elements ? from[r] : -1;
    return tile_pick(l, t, to, from);
}

static struct regtile convert_single(struct lower *l, const struct regtile *t,
                                     const struct layout *to)
{
    const struct conversion *c = plan_conversion(
        &l->layouts, t->layout, to, dtype_table[t->dtype].bits, lower_has(l, TARGET_STMATRIX));
    if (!c->possible) {
        int64_t bytes = layout_size_out(to) * dtype_table[t->dtype].bits / 8;
        plan_limits_no_room(&l->layouts, bytes);
        return tile_new(l, t->dtype, to);
    }
    if (c->plan.kind <= CONVERT_MOVES)
        return moved(l, t, to, c->plan.source);
    if (t->dtype == DT_BOOL)
        return convert_bool(l, t, to);
    return c->plan.kind == CONVERT_SHUFFLES ? by_shuffles(l, t, to, &c->plan.shuffles)
                                            : through_memory(l, t, to, &c->plan);
}

struct regtile tile_convert(struct lower *l, const struct regtile *t, const struct layout *layout)
{
    const struct layout *to = plan_keep(&l->layouts, layout);
    const int32_t *of_from, *of_to;
    if (t->layout == to)
        return *t;
    const struct layout *from_single = without_copies(l, t->layout, &of_from);
    const struct layout *to_single = without_copies(l, to, &of_to);
    struct regtile x = *t;
    if (from_single != t->layout) {
        int32_t *source = arena_array(l->arena, int32_t, plan_registers(from_single));
        for (int32_t r = plan_registers(t->layout) - 1; r >= 0; r--)
            source[of_from[r]] = r;
        x = tile_pick(l, t, from_single, source);
    }
    if (from_single != to_single)
        x = convert_single(l, &x, to_single);
    return to_single == to ? x : tile_pick(l, &x, to, of_to);
}
