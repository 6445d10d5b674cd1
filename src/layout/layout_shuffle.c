/* Converting within warps: exchanges of registers and shuffles.
 *
 * Over the bits of (new register, lane), the way of the elements is linear: travel(r, l) = (old
 * register, old lane). In a round every lane takes one element and gives one. The elements of a
 * round are { (D l ^ n, l) }: D chooses, for each lane, which of its new registers is filled; n
 * counts the rounds. No lane may be asked for two registers, so the map from l to the old lane must
 * lose nothing that the old register needs. Therefore D maps the directions of l that do not change
 * the old lane to registers that do change it (Linear Layouts, section 5.3, finds this common
 * complement by pairing). If there are none, another lane that holds the same element is asked, or
 * D makes it the same element (a broadcast). D has as few columns as that needs: each is an
 * exchange of registers after the shuffles. If the old register then depends on the lane, each such
 * bit is an exchange before them.
 *
 * Digits of the registers that are not bits (5 blocks of columns) must stay digits of registers:
 * they repeat the rounds. */
#include "layout/layout_convert.h"

#include "layout/gf2.h"

#include <assert.h>
#include <string.h>

enum { LANE_BITS = 5, LANE_MASK = 31, DIGIT_VALUES = 64 };

/* Positions of bits within a number: the lane's in 0..4, the register's from 5 up. */
struct exchange {
    struct register_bits old, new;
    uint32_t image[LANE_BITS + CONVERT_BITS]; /* images of the lane's bits, then of new's bits */
    uint32_t constant;
    int outers;
    int32_t *old_outer, *new_outer;
    uint32_t free_lanes[LANE_BITS]; /* bits of the old lane that do not matter */
    int free_count;
};

/* --- From the layout to bits --- */

static void to_old(const struct layout *travel, int32_t reg, int32_t lane, int32_t *old_reg,
                   int32_t *old_lane)
{
    int32_t out[LAYOUT_OUTS];
    int r = layout_out_index(travel, AXIS_REG), l = layout_out_index(travel, AXIS_LANE);
    assert(lane >= 0 && lane <= LANE_MASK);
    layout_element(travel, reg, lane, 0, out);
    *old_reg = r < 0 ? 0 : out[r];
    *old_lane = l < 0 ? 0 : out[l];
}

/* Gives the bits of old registers: digits of 2 of the counter reg of `from`. */
static bool find_bits(const struct layout *from, struct register_bits *bits)
{
    int i = layout_in_index(from, AXIS_REG);
    bits->count = 0;
    for (int d = 0; d < from->digit_count; d++)
        if (from->digits[d].in == i && from->digits[d].extent == 2) {
            if (bits->count == CONVERT_BITS)
                return false;
            bits->weight[bits->count++] = layout_weight(from, d);
        }
    return true;
}

/* Splits an old register into its bits, as a number, and the value of all other digits together. */
static uint32_t old_number(const struct layout *from, int32_t reg, int32_t *rest)
{
    uint32_t number = 0;
    int i = layout_in_index(from, AXIS_REG), b = 0;
    int32_t weight = 1;
    *rest = 0;
    for (int d = 0; d < from->digit_count; d++) {
        if (from->digits[d].in != i)
            continue;
        int32_t value = reg / weight % from->digits[d].extent;
        if (from->digits[d].extent == 2)
            number |= (uint32_t)value << b++;
        else
            *rest += value * weight;
        weight *= from->digits[d].extent;
    }
    return number;
}

/* Gives the source of (reg, lane) of the new layout as a number. Returns false if digits that
 * are not bits change. */
static bool number_of(const struct layout *travel, const struct layout *from, int32_t reg,
                      int32_t lane, uint32_t *number)
{
    int32_t old_reg, old_lane, rest;
    to_old(travel, reg, lane, &old_reg, &old_lane);
    if (old_lane < 0 || old_lane > LANE_MASK || old_reg < 0)
        return false;
    *number = (uint32_t)old_lane | old_number(from, old_reg, &rest) << LANE_BITS;
    return rest == 0;
}

/* Adds a digit of the new registers that is not a bit: all its values must lead to registers of
 * the same lane. Multiplies outers. */
static bool add_outer(const struct layout *travel, int32_t weight, int32_t extent,
                      struct arena *arena, struct exchange *x)
{
    int32_t *old = arena_array(arena, int32_t, x->outers * extent);
    int32_t *new = arena_array(arena, int32_t, x->outers * extent);
    int32_t base, lane, reg, at;
    to_old(travel, 0, 0, &base, &lane);
    for (int32_t v = 0; v < extent; v++) {
        to_old(travel, v * weight, 0, &reg, &at);
        if (at != lane)
            return false;
        for (int o = 0; o < x->outers; o++) {
            old[v * x->outers + o] = x->old_outer[o] + reg - base;
            new[v * x->outers + o] = x->new_outer[o] + v *weight;
        }
    }
    x->old_outer = old;
    x->new_outer = new;
    x->outers *= extent;
    return true;
}

static void find_free_lanes(const struct layout *from, struct exchange *x)
{
    int i = layout_in_index(from, AXIS_LANE);
    for (int d = 0; d < from->digit_count; d++) {
        bool moves = from->digits[d].in != i || from->digits[d].extent != 2;
        for (int j = 0; j < from->out_count; j++)
            moves |= from->digits[d].xor [j] || from->digits[d].add[j];
        if (!moves)
            x->free_lanes[x->free_count++] = (uint32_t)layout_weight(from, d);
    }
}

/* Sorts the digits of the new registers: bits if they lead to bits, otherwise outer digits. Old
 * bits that outer digits use are theirs alone. */
static bool find_exchange(const struct layout *travel, const struct layout *from,
                          struct arena *arena, struct exchange *x)
{
    int reg = layout_in_index(travel, AXIS_REG);
    uint32_t number;
    *x = (struct exchange){.outers = 1};
    x->old_outer = arena_new(arena, int32_t);
    x->new_outer = arena_new(arena, int32_t);
    if (!find_bits(from, &x->old) || !number_of(travel, from, 0, 0, &x->constant))
        return false;
    for (int b = 0; b < LANE_BITS; b++) {
        if (!number_of(travel, from, 0, 1 << b, &number))
            return false;
        x->image[b] = number ^ x->constant;
    }
    find_free_lanes(from, x);
    for (int d = 0; d < travel->digit_count; d++) {
        int32_t weight = layout_weight(travel, d), extent = travel->digits[d].extent;
        if (travel->digits[d].in != reg)
            continue;
        if (extent == 2 && x->new.count < CONVERT_BITS &&
            number_of(travel, from, weight, 0, &number)) {
            x->image[LANE_BITS + x->new.count] = number ^ x->constant;
            x->new.weight[x->new.count++] = weight;
        } else if (!add_outer(travel, weight, extent, arena, x)) {
            return false;
        }
    }
    return true;
}

/* Returns true if each bit of the new number leads to bits of the old one that no other bit
 * reaches. Then nothing carries, and exclusive or is addition. */
static bool bits_are_own(const struct exchange *x)
{
    uint32_t taken = x->constant;
    for (int b = 0; b < x->old.count; b++)
        if (x->old.weight[b] & (x->old.weight[b] - 1))
            return false;
    for (int b = 0; b < LANE_BITS + x->new.count; b++) {
        if (x->image[b] & taken)
            return false;
        taken |= x->image[b];
    }
    return true;
}

/* Returns true if the number of bits agrees with the layout everywhere. Digits that are not bits
 * could collide. */
static bool is_right(const struct layout *travel, const struct exchange *x)
{
    int32_t old_reg, old_lane;
    for (int o = 0; o < x->outers && !bits_are_own(x); o++)
        for (int32_t n = 0; n < 1 << x->new.count; n++)
            for (int32_t lane = 0; lane <= LANE_MASK; lane++) {
                uint32_t number = x->constant;
                for (int b = 0; b < LANE_BITS; b++)
                    number ^= lane >> b & 1 ? x->image[b] : 0;
                for (int b = 0; b < x->new.count; b++)
                    number ^= n >> b & 1 ? x->image[LANE_BITS + b] : 0;
                to_old(travel, register_of(&x->new, n) + x->new_outer[o], lane, &old_reg,
                       &old_lane);
                if (old_lane != (int32_t)(number & LANE_MASK) ||
                    old_reg !=
                        register_of(&x->old, (int32_t)(number >> LANE_BITS)) + x->old_outer[o])
                    return false;
            }
    return true;
}

/* Returns true if all warps move elements in the same way. */
static bool warps_agree(const struct layout *travel)
{
    int w = layout_in_index(travel, AXIS_WARP);
    for (int d = 0; d < travel->digit_count; d++)
        for (int o = 0; o < travel->out_count; o++)
            if (travel->digits[d].in == w && travel->outs[o].axis != AXIS_WARP &&
                (travel->digits[d].xor [o] || travel->digits[d].add[o]))
                return false;
    return true;
}

/* --- Moves --- */

static bool lanes_stay(const struct exchange *x)
{
    for (int b = 0; b < LANE_BITS + x->new.count; b++)
        if ((x->image[b] & LANE_MASK) != (b < LANE_BITS ? 1u << b : 0))
            return false;
    return (x->constant & LANE_MASK) == 0;
}

static bool registers_ignore_lanes(const struct exchange *x)
{
    for (int b = 0; b < LANE_BITS; b++)
        if (x->image[b] >> LANE_BITS)
            return false;
    return true;
}

/* Counts the words of the new layout whose elements are not, in order, those of one old word. */
static int words_to_permute(const int32_t *source, int32_t regs, int per_word)
{
    int count = 0;
    for (int32_t r = 0; r < regs; r += per_word) {
        bool same = source[r] % per_word == 0;
        for (int e = 1; e < per_word && r + e < regs; e++)
            same &= source[r + e] == source[r] + e;
        count += !same;
    }
    return count;
}

static int elements_per_word(int bits)
{
    return bits < 32 ? 32 / bits : 1;
}

static void plan_moves(const struct layout *travel, const struct convert_wish *wish,
                       struct arena *arena, struct convert_plan *out)
{
    int32_t regs = layout_in_extent(travel, AXIS_REG), lane;
    int64_t warps = layout_in_extent(travel, AXIS_WARP);
    bool moved = regs != layout_in_extent(wish->from, AXIS_REG);
    *out = (struct convert_plan){.source = arena_array(arena, int32_t, regs)};
    for (int32_t r = 0; r < regs; r++) {
        to_old(travel, r, 0, &out->source[r], &lane);
        moved |= out->source[r] != r;
    }
    out->kind = moved ? CONVERT_MOVES : CONVERT_NOTHING;
    out->permutes = words_to_permute(out->source, regs, elements_per_word(wish->bits));
    out->cost = warps * out->permutes * wish->costs->permute;
}

/* --- Shuffles --- */

/* D and the maps that follow from it, over numbers without the packed bits. */
struct round_shape {
    uint32_t fill[LANE_BITS];   /* D: new register bits, numbered as in image (from bit 5) */
    uint32_t source[LANE_BITS]; /* image of lane bit b with D: old lane and old register */
    uint32_t give[LANE_BITS];   /* old register by old lane */
};

static uint32_t image_of(const struct exchange *x, uint32_t registers)
{
    uint32_t v = 0;
    for (int b = 0; b < x->new.count; b++)
        v ^= registers >> (LANE_BITS + b) & 1 ? x->image[LANE_BITS + b] : 0;
    return v;
}

/* Gives new registers whose elements come exactly from old `number`. Returns false if there are
 * none. */
static bool registers_for(const struct exchange *x, uint32_t number, uint32_t *registers)
{
    struct gf2_space s;
    uint64_t tag;
    gf2_init(&s);
    for (int b = 0; b < x->new.count; b++)
        gf2_insert(&s, x->image[LANE_BITS + b], (uint64_t)1 << (LANE_BITS + b));
    if (!gf2_solve(&s, number, &tag))
        return false;
    *registers = (uint32_t)tag;
    return true;
}

/* Returns a new register bit that reaches an old lane not reached so far. */
static uint32_t fresh_register(const struct exchange *x, struct gf2_space *reached)
{
    for (int b = 0; b < x->new.count; b++)
        if (gf2_insert(reached, x->image[LANE_BITS + b] & LANE_MASK, 0))
            return 1u << (LANE_BITS + b);
    return 0;
}

/* Resolves a direction that would ask one old lane for two registers: asks another lane that
 * holds the same element for one of them. */
static bool ask_another(struct exchange *x, int bit, struct gf2_space *reached)
{
    for (int f = 0; f < x->free_count; f++)
        if (gf2_insert(reached, x->free_lanes[f], 0)) {
            x->image[bit] ^= x->free_lanes[f];
            return true;
        }
    return false;
}

static bool choose_fill(struct exchange *x, struct round_shape *shape)
{
    struct gf2_space reached;
    uint32_t stuck[LANE_BITS]; /* directions of the lane that do not change the old lane */
    int pivot[LANE_BITS], count = 0;
    gf2_init(&reached);
    memset(shape, 0, sizeof *shape);
    for (int b = 0; b < LANE_BITS; b++) {
        uint64_t lane = x->image[b] & LANE_MASK, tag = 0;
        if (gf2_solve(&reached, lane, &tag)) {
            pivot[count] = b; /* the direction has bit b, and earlier bits that are not pivots */
            stuck[count++] = (uint32_t)tag | 1u << b;
        } else {
            gf2_insert(&reached, lane, (uint64_t)1 << b);
        }
    }
    for (int i = 0; i < count; i++) {
        uint32_t fill = fresh_register(x, &reached), number = 0;
        for (int b = 0; b < LANE_BITS && !fill; b++)
            number ^= stuck[i] >> b & 1 ? x->image[b] : 0;
        if (!fill && number && !ask_another(x, pivot[i], &reached) &&
            !registers_for(x, number, &fill))
            return false;
        shape->fill[pivot[i]] = fill;
    }
    return true;
}

/* Computes source and give from fill. Returns false if a lane would be asked for two registers
 * at once. */
static bool finish_shape(const struct exchange *x, struct round_shape *shape)
{
    struct gf2_space lanes;
    gf2_init(&lanes);
    for (int b = 0; b < LANE_BITS; b++) {
        uint64_t tag = 0;
        shape->source[b] = x->image[b] ^ image_of(x, shape->fill[b]);
        uint64_t lane = shape->source[b] & LANE_MASK;
        if (gf2_insert(&lanes, lane, (uint64_t)1 << b))
            continue;
        uint32_t registers = shape->source[b] >> LANE_BITS;
        gf2_solve(&lanes, lane, &tag);
        for (int a = 0; a < LANE_BITS; a++)
            registers ^= tag >> a & 1 ? shape->source[a] >> LANE_BITS : 0;
        if (registers)
            return false;
    }
    for (int b = 0; b < LANE_BITS; b++) /* lanes that no lane asks: any register */
        gf2_insert(&lanes, (uint64_t)1 << b, 0);
    for (int l = 0; l < LANE_BITS; l++) {
        uint64_t tag = 0;
        gf2_solve(&lanes, (uint64_t)1 << l, &tag);
        shape->give[l] = 0;
        for (int b = 0; b < LANE_BITS; b++)
            shape->give[l] ^= tag >> b & 1 ? shape->source[b] >> LANE_BITS : 0;
    }
    return true;
}

/* --- Packing --- */

static void drop_bit(struct register_bits *bits, int b)
{
    for (int n = b; n + 1 < bits->count; n++)
        bits->weight[n] = bits->weight[n + 1];
    bits->count--;
}

static uint32_t without_bit(uint32_t number, int b)
{
    uint32_t low = number & ((1u << b) - 1);
    return low | (number >> (b + 1) << b);
}

/* Returns true if new bit n and the old bit it comes from can be the position within a word: no
 * other bit may touch that old bit. */
static bool can_pack(const struct exchange *x, int n, int *old)
{
    uint32_t image = x->image[LANE_BITS + n];
    if (image & LANE_MASK || gf2_count(image) != 1)
        return false;
    *old = gf2_highest(image) - LANE_BITS;
    for (int b = 0; b < LANE_BITS + x->new.count; b++)
        if (b != LANE_BITS + n && x->image[b] & image)
            return false;
    return !(x->constant & image);
}

static void pack(struct exchange *x, int n, int old, struct convert_shuffles *s)
{
    s->old_pack[s->pack_bits] = x->old.weight[old];
    s->new_pack[s->pack_bits++] = x->new.weight[n];
    drop_bit(&x->old, old);
    drop_bit(&x->new, n);
    for (int b = LANE_BITS + n; b < LANE_BITS + x->new.count; b++)
        x->image[b] = x->image[b + 1];
    for (int b = 0; b < LANE_BITS + x->new.count; b++)
        x->image[b] = without_bit(x->image[b], LANE_BITS + old);
    x->constant = without_bit(x->constant, LANE_BITS + old);
}

/* Packs elements that stay together into words: first those that share a word on both sides,
 * then any others. */
static void pack_words(struct exchange *x, int bits, struct convert_shuffles *s)
{
    int wanted = gf2_highest((uint64_t)elements_per_word(bits)), n, old;
    for (int pass = 0; pass < 2; pass++)
        for (n = 0; n < x->new.count && s->pack_bits < wanted; n++) {
            int32_t within = 1 << s->pack_bits;
            if (!can_pack(x, n, &old) ||
                (pass == 0 && (x->new.weight[n] != within || x->old.weight[old] != within)))
                continue;
            pack(x, n, old, s);
            n = -1;
        }
    /* partly within words: only whole words are shuffled */
    if (s->pack_bits < wanted)
        s->permutes = 1;
    for (int b = 0; b < s->pack_bits; b++)
        if (s->old_pack[b] != 1 << b || s->new_pack[b] != 1 << b)
            s->permutes = 1;
}

/* --- The plan --- */

static struct lane_map map_of(const uint32_t *basis, int shift, uint32_t mask, uint32_t constant)
{
    struct lane_map m = {.constant = (int32_t)(constant & mask)};
    for (int b = 0; b < LANE_BITS; b++)
        m.basis[b] = (int32_t)(basis[b] >> shift & mask);
    return m;
}

static void fill_rounds(const struct exchange *x, const struct round_shape *shape,
                        struct arena *arena, struct convert_shuffles *s)
{
    s->old = x->old;
    s->new = x->new;
    s->outers = x->outers;
    s->old_outer = x->old_outer;
    s->new_outer = x->new_outer;
    s->rounds = 1 << x->new.count;
    s->give = arena_array(arena, struct lane_map, s->rounds);
    s->from = arena_array(arena, struct lane_map, s->rounds);
    s->take = arena_array(arena, struct lane_map, s->rounds);
    s->stays = true;
    for (int n = 0; n < s->rounds; n++) {
        uint32_t start = x->constant ^ image_of(x, (uint32_t)n << LANE_BITS);
        s->from[n] = map_of(shape->source, 0, LANE_MASK, start);
        s->take[n] = map_of(shape->fill, LANE_BITS, UINT16_MAX, (uint32_t)n);
        /* give(old lane) is the register that the asking lane wants: source is linear, so the
         * constant shifts it to pass through 0 */
        uint32_t registers = start >> LANE_BITS;
        for (int l = 0; l < LANE_BITS; l++)
            registers ^= start >> l & 1 ? shape->give[l] : 0;
        s->give[n] = map_of(shape->give, 0, UINT16_MAX, registers);
        for (int b = 0; b < LANE_BITS; b++)
            s->stays &= s->from[n].basis[b] == 1 << b;
        s->stays &= s->from[n].constant == 0;
    }
}

/* Counts the bits of a register number that depend on the lane: each is an exchange. */
static int exchanges(const struct lane_map *m)
{
    int32_t bits = 0;
    for (int b = 0; b < LANE_BITS; b++)
        bits |= m->basis[b];
    return gf2_count((uint64_t)bits);
}

static int64_t cost_of(const struct convert_shuffles *s, const struct convert_wish *wish)
{
    int words = wish->bits > 32 ? wish->bits / 32 : 1; /* of an element */
    int64_t moved = (int64_t)s->rounds * s->outers * words;
    int64_t each = (s->stays ? 0 : wish->costs->shuffle) +
                   (exchanges(&s->give[0]) + exchanges(&s->take[0])) * wish->costs->select;
    return moved * each + (int64_t)s->permutes * wish->costs->permute;
}

bool layout_plan_shuffles(const struct layout *travel, const struct convert_wish *wish,
                          struct arena *arena, struct convert_plan *out)
{
    struct exchange x;
    struct round_shape shape;
    if (layout_in_extent(travel, AXIS_LANE) != LAYOUT_LANES ||
        layout_in_extent(wish->from, AXIS_LANE) != LAYOUT_LANES || !warps_agree(travel) ||
        !find_exchange(travel, wish->from, arena, &x) || !is_right(travel, &x))
        return false;
    if (lanes_stay(&x) && registers_ignore_lanes(&x)) {
        plan_moves(travel, wish, arena, out);
        return true;
    }
    *out = (struct convert_plan){.kind = CONVERT_SHUFFLES};
    struct convert_shuffles *s = &out->shuffles;
    pack_words(&x, wish->bits, s);
    if (!choose_fill(&x, &shape) || !finish_shape(&x, &shape))
        return false;
    fill_rounds(&x, &shape, arena, s);
    int32_t regs = layout_in_extent(travel, AXIS_REG) + layout_in_extent(wish->from, AXIS_REG);
    if (s->permutes) /* roughly: every word of both sides once */
        s->permutes = (regs + elements_per_word(wish->bits) - 1) / elements_per_word(wish->bits);
    out->cost = cost_of(s, wish) * layout_in_extent(travel, AXIS_WARP);
    return true;
}
