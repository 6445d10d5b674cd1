/* From one register layout to another of the same tile: the cheapest plan of
 *
 *     nothing        every thread has its elements in the right registers
 *     moves          every thread has its elements, in other registers
 *     shuffles       every warp has its elements: selects within lanes, shfl, selects again
 *     shared memory  a scratch tile without conflicts, with a barrier between store and load
 *
 * If no element changes warps, the barrier is one of the warp.
 *
 * A register here is an element. Elements of less than 32 bits share 32-bit words in the order
 * of their registers: 16-bit elements r and r + 1, r even. One shuffle moves a word. */
#ifndef TW_LAYOUT_CONVERT_H
#define TW_LAYOUT_CONVERT_H

#include "layout/layout_swizzle.h"

enum convert_kind { CONVERT_NOTHING, CONVERT_MOVES, CONVERT_SHUFFLES, CONVERT_SHARED };
extern const char *const layout_convert_kind_names[4];

/* Costs of one warp's instruction, in half cycles of a multiprocessor, for comparing plans. */
struct convert_costs {
    int permute; /* combining bytes of two words into one (prmt) */
    int select;
    int shuffle;
    int wavefront;
    int barrier, warp_barrier; /* including the way through memory that they end */
};
extern const struct convert_costs layout_convert_costs_usual;

struct convert_wish {
    const struct layout *from, *to;
    int bits;                          /* of an element */
    unsigned store_kinds, load_kinds;  /* 1 << ACCESS_… for each kind that the target has */
    int64_t shared_bytes;              /* room for the scratch tile; 0: none */
    const struct convert_costs *costs; /* NULL: layout_convert_costs_usual */
};

/* A number that a lane computes from its own number: constant ^ (xor of basis[b] over the lane's
 * set bits b). */
struct lane_map {
    int32_t constant, basis[5];
};
static inline int32_t lane_map_at(const struct lane_map *m, int32_t lane)
{
    int32_t v = m->constant;
    for (int b = 0; b < 5; b++)
        v ^= lane >> b & 1 ? m->basis[b] : 0;
    return v;
}

enum { CONVERT_BITS = 16 };

/* A choice of registers: bit b of a number represents weight[b]. */
struct register_bits {
    int count;
    int32_t weight[CONVERT_BITS];
};
static inline int32_t register_of(const struct register_bits *r, int32_t number)
{
    int32_t reg = 0;
    for (int b = 0; b < r->count; b++)
        reg += (number >> b & 1) * r->weight[b];
    return reg;
}

/* Shuffles. In every round each lane gives one register and takes one. Numbers of registers are
 * over old, new:
 *
 *     round n, for each outer o:
 *         value = register old_outer[o] + old(give[n](lane)), shuffled from lane from[n](lane)
 *         register new_outer[o] + new(take[n](lane)) = value
 *
 * The parts of give and take that depend on the lane are the same in all rounds. So they are
 * exchanges of registers before and after all rounds: for bit b of give, where basis b is not 0,
 * the lanes with that bit set swap registers of numbers n and n ^ (1 << b); a select for each
 * register. */
struct convert_shuffles {
    struct register_bits old, new;
    int rounds; /* a power of two: the number of numbers over new */
    struct lane_map *give, *from, *take;
    int outers;
    int32_t *old_outer, *new_outer;
    bool stays; /* from(lane) = lane: only exchanges */
    /* Elements that share a word: their weights, which are not among those of old and new.
     * pack_bits is 0 with elements smaller than a word if each has a word of its own. */
    int pack_bits;
    int32_t old_pack[3], new_pack[3];
    int permutes; /* total prmt instructions that pack and unpack the elements of words */
};

struct convert_plan {
    enum convert_kind kind;
    int64_t cost;
    int32_t *source; /* moves: new register r is old register source[r] of the same thread */
    int permutes;    /* moves: words that are not whole old words */
    struct convert_shuffles shuffles;
    /* Shared memory: access[0] stores the old layout, access[1] loads the new. A tile that is
     * too large takes several passes through the same scratch tile: pass p moves [p * part, (p +
     * 1) * part) of axis part_axis (layout_slice_out of both layouts). Registers that hold the
     * same element as another are copied, not loaded. */
    struct shared_choice scratch;
    bool within_warps;
    int passes, part_axis;
    int32_t part;
    int barriers; /* 2 * passes - 1 */
};

/* Returns false if no plan fits within shared_bytes. */
bool layout_plan_conversion(const struct convert_wish *wish, struct arena *arena,
                            struct convert_plan *out);

/* For layout_convert.c: plans moves or shuffles. `travel` maps (reg, lane, warp) of the new
 * layout to those of the old. Returns false if elements change warps, or if exchanges and
 * shuffles cannot do it. */
bool layout_plan_shuffles(const struct layout *travel, const struct convert_wish *wish,
                          struct arena *arena, struct convert_plan *out);

#endif
